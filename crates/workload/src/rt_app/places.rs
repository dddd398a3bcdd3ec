//! Positions of values in the text of a workload. With them a value can be replaced without
//! changing the rest of the text: [`Place`].

use crate::diagnostic::{Diagnostic, Source, close_names};
use crate::json::{self, Kind, Member, Value};

/// A position in the text of a workload.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place {
    /// First byte of the text to replace ...
    pub start: usize,
    /// ... and one past its last. Equal to `start` if the value does not exist yet.
    pub end: usize,
    /// Text before the new value.
    before: String,
    /// Text after the new value.
    behind: &'static str,
}

impl Place {
    /// Whether both overlap, so that one of two values would be lost.
    pub fn overlaps(&self, other: &Place) -> bool {
        self.start < other.end && other.start < self.end
            || (self.start, self.end, &self.before) == (other.start, other.end, &other.before)
    }
}

/// A key may be followed by this and a number from 0: the index among keys of its name, or in a
/// list.
const INDEX: char = '[';

/// Finds the value at `path` (`tasks.video.run`, `tasks.shell.phases.typing.sleep`,
/// `tasks.video.run[1]` for the second `run`) in the workload `text`. `name` names the file in
/// messages.
///
/// # Errors
/// If the text is not JSON, or the value does not exist.
pub fn place_of(name: &str, text: &str, path: &str) -> Result<Place, Diagnostic> {
    let source = Source { name, text };
    let root = json::parse(source)?;
    let value = walk(source, &root, path, path)?;
    if matches!(value.kind, Kind::Object(_)) {
        let message = format!("`{path}` is an object; add the name of a value in it");
        return Err(source.error(value.span, path.into(), message));
    }
    let (start, end) = (value.span.start as usize, value.span.end as usize);
    Ok(Place { start, end, before: String::new(), behind: "" })
}

/// Finds the property `key` of the task `task`: its position, or where it can be inserted.
///
/// # Errors
/// If the text is not JSON, or the task does not exist.
pub fn place_of_property(
    name: &str,
    text: &str,
    task: &str,
    key: &str,
) -> Result<Place, Diagnostic> {
    let source = Source { name, text };
    let root = json::parse(source)?;
    let path = format!("tasks.{task}");
    let value = walk(source, &root, &path, &path)?;
    let Kind::Object(members) = &value.kind else {
        return Err(source.error(value.span, path, "a task must be an object"));
    };
    if let Some(member) = members.iter().find(|member| *member.key == *key) {
        let (start, end) = (member.value.span.start as usize, member.value.span.end as usize);
        return Ok(Place { start, end, before: String::new(), behind: "" });
    }
    let at = value.span.start as usize + 1;
    let behind = if members.is_empty() { "" } else { "," };
    Ok(Place { start: at, end: at, before: format!("\"{key}\":"), behind })
}

/// Returns `text` with each value (as JSON) at its position. The positions must not overlap.
pub fn replaced(text: &str, values: &[(&Place, &str)]) -> String {
    let mut values = values.to_vec();
    values.sort();
    let mut whole = String::with_capacity(text.len() + 16 * values.len());
    let mut at = 0;
    for (place, value) in values {
        whole.push_str(&text[at..place.start]);
        whole.push_str(&place.before);
        whole.push_str(value);
        whole.push_str(place.behind);
        at = place.end;
    }
    whole.push_str(&text[at..]);
    whole
}

/// Finds the value at `rest`, the end of `path`, in `value`.
fn walk<'a>(
    source: Source<'_>,
    value: &'a Value,
    rest: &str,
    path: &str,
) -> Result<&'a Value, Diagnostic> {
    if rest.is_empty() {
        return Ok(value);
    }
    let way = path[..path.len() - rest.len()].trim_end_matches('.').to_string();
    if let Some((number, behind)) = index(rest) {
        let Kind::Array(items) = &value.kind else {
            let message = format!("`{way}` is not a list, so it has no `{rest}`");
            return Err(source.error(value.span, way, message));
        };
        let Some(item) = items.get(number) else {
            let message = format!("`{way}` has {} values, numbered from [0]", items.len());
            return Err(source.error(value.span, way, message));
        };
        return walk(source, item, behind, path);
    }
    let Kind::Object(members) = &value.kind else {
        let message = format!("`{way}` is not an object, so it has no `{rest}`");
        return Err(source.error(value.span, way, message));
    };
    // Keys may contain dots: the longest match counts.
    let fits = |member: &&Member| {
        let behind = rest.strip_prefix(&*member.key);
        behind.is_some_and(|it| it.is_empty() || it.starts_with(['.', INDEX]))
    };
    let Some(first) = members.iter().filter(fits).max_by_key(|member| member.key.len()) else {
        let keys: Vec<&str> = members.iter().map(|member| &*member.key).collect();
        let key = rest.split(['.', INDEX]).next().unwrap_or(rest);
        let close = close_names(key, keys.iter().copied());
        let hint = match close.as_slice() {
            [] => format!("the keys are {}", keys.join(", ")),
            close => format!("did you mean `{}`?", close.join("` or `")),
        };
        let place = if way.is_empty() { "the workload".into() } else { format!("`{way}`") };
        let message = format!("there is no `{key}` in {place}, for `{path}`");
        return Err(source.error(value.span, way, message).with_help(hint));
    };
    let behind = &rest[first.key.len()..];
    let of_name: Vec<&Member> = members.iter().filter(|it| it.key == first.key).collect();
    let (member, behind) = match index(behind) {
        Some((number, after)) if !matches!(first.value.kind, Kind::Array(_)) => {
            let Some(member) = of_name.get(number) else {
                let message =
                    format!("there are {} `{}`, numbered from [0]", of_name.len(), first.key);
                return Err(source.error(first.key_span, way, message));
            };
            (*member, after)
        }
        _ if of_name.len() > 1 => {
            let message = format!(
                "there are {} `{}`; add a number: `{}[0]` is the first",
                of_name.len(),
                first.key,
                first.key
            );
            return Err(source.error(first.key_span, way, message));
        }
        _ => (first, behind),
    };
    walk(source, &member.value, behind.strip_prefix('.').unwrap_or(behind), path)
}

/// Splits `[2].rest` into the number and the rest.
fn index(text: &str) -> Option<(usize, &str)> {
    let (number, behind) = text.strip_prefix(INDEX)?.split_once(']')?;
    Some((number.parse().ok()?, behind.strip_prefix('.').unwrap_or(behind)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{ // two tasks
        "tasks": {
            "a.b": { "run": 1000, "sleep": 5, "run": 2000, "cpus": [0, 1], },
            "c": {},
        } }"#;

    fn at(path: &str) -> &str {
        let place = place_of("w.json", TEXT, path).unwrap_or_else(|error| panic!("{error}"));
        &TEXT[place.start..place.end]
    }

    #[test]
    fn values_are_found_where_they_stand() {
        assert_eq!(at("tasks.a.b.sleep"), "5");
        assert_eq!(at("tasks.a.b.run[1]"), "2000");
        assert_eq!(at("tasks.a.b.cpus"), "[0, 1]");
        assert_eq!(at("tasks.a.b.cpus[1]"), "1");
    }

    #[test]
    fn what_is_not_there_is_said_with_its_place() {
        let message_of = |path: &str| place_of("w.json", TEXT, path).expect_err(path).to_string();
        assert!(message_of("tasks.a.b.slep").contains("did you mean `sleep`?"));
        assert!(message_of("tasks.a.b.run").contains("add a number: `run[0]` is the first"));
        assert!(message_of("tasks.a.b.run[2]").contains("there are 2 `run`"));
        assert!(message_of("tasks.a.b.cpus[2]").contains("has 2 values"));
        assert!(message_of("tasks.c").contains("is an object"));
        assert!(message_of("tasks.a.b.sleep.x").contains("is not an object"));
        assert!(message_of("tsks").contains("w.json:1:1"));
    }

    #[test]
    fn replacing_leaves_the_rest_as_it_was() {
        let sleep = place_of("w.json", TEXT, "tasks.a.b.sleep").expect("the value exists");
        let policy = place_of_property("w.json", TEXT, "a.b", "policy")
            .expect("the property can be inserted");
        let other =
            place_of_property("w.json", TEXT, "c", "policy").expect("the property can be inserted");
        let batch = "\"SCHED_BATCH\"";
        let new = replaced(TEXT, &[(&sleep, "70"), (&policy, batch), (&other, batch)]);
        assert!(new.contains("\"sleep\": 70,"));
        assert!(new.contains("\"a.b\": {\"policy\":\"SCHED_BATCH\", \"run\": 1000"));
        assert!(new.contains("\"c\": {\"policy\":\"SCHED_BATCH\"}"));
        assert!(policy.overlaps(&policy) && !policy.overlaps(&sleep));
        assert!(place_of_property("w.json", TEXT, "d", "policy").is_err());
    }
}
