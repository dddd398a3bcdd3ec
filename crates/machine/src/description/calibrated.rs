//! Writes calibrated numbers into a description.

use super::{Description, DescriptionError};
use crate::costs::scheduler_and_cost;
use serde_json::{Value, json};

/// Returns the description in `text` with its numbers replaced by those in `fitted`, each marked as
/// calibrated on `on` (for example "hackbench of 50 and 200 groups, 1 CPU, 2.6.0"). `file` names it
/// in errors. The names are the same as in [`CostModel::set`](crate::costs::CostModel::set).
///
/// # Errors
/// If `text` is no description, or has no place for a name.
pub fn with_calibrated(
    file: &str,
    text: &str,
    fitted: &[(String, f64)],
    on: &str,
) -> Result<String, DescriptionError> {
    Description::parse(file, text)?;
    let error = |place: &str, message: String| DescriptionError {
        file: file.into(),
        place: place.into(),
        message,
    };
    let mut whole: Value =
        serde_json::from_str(text).map_err(|why| error("", format!("is not valid JSON: {why}")))?;
    for (name, value) in fitted {
        let place = place_of(&mut whole, name)
            .ok_or_else(|| error(name, "the description has no place for this number".into()))?;
        // As people write them: without a fraction if there is none.
        let number = (value.fract() == 0.0 && value.abs() < 1e15).then(|| json!(*value as i64));
        *place = json!({ "value": number.unwrap_or(json!(value)), "calibrated_on": on });
    }
    let mut text = String::new();
    write(&whole, 0, &mut text);
    text.push('\n');
    // Checks the names and the numbers.
    Description::parse(file, &text)?;
    Ok(text)
}

/// Writes `value` in the layout of the presets: a value that is nested at most one level stands on
/// one line.
fn write(value: &Value, depth: usize, to: &mut String) {
    let holds = |value: &Value| value.is_object() || value.is_array();
    let (open, close, entries): (_, _, Vec<(Option<&String>, &Value)>) = match value {
        Value::Object(map) => {
            ('{', '}', map.iter().map(|(key, value)| (Some(key), value)).collect())
        }
        Value::Array(list) => ('[', ']', list.iter().map(|value| (None, value)).collect()),
        single => return *to += &single.to_string(),
    };
    let flat = !entries.iter().any(|(_, value)| holds(value));
    let space = if value.is_object() && !entries.is_empty() { " " } else { "" };
    let line = |depth| format!("\n{}", "  ".repeat(depth));
    to.push(open);
    for (number, (key, value)) in entries.iter().enumerate() {
        let between = if number > 0 { "," } else { "" };
        let gap = match (flat, number) {
            (false, _) => line(depth + 1),
            (true, 0) => space.into(),
            (true, _) => " ".into(),
        };
        *to += between;
        *to += &gap;
        if let Some(key) = key {
            *to += &format!("{}: ", Value::String((*key).clone()));
        }
        write(value, depth + 1, to);
    }
    *to += &if flat { space.into() } else { line(depth) };
    to.push(close);
}

/// Returns the number of that name.
fn place_of<'a>(whole: &'a mut Value, name: &str) -> Option<&'a mut Value> {
    if let Some(call) = name.strip_prefix("call.") {
        return Some(&mut whole.get_mut("costs")?["calls"][call]);
    }
    if let Some(of) = name.strip_prefix("refill.") {
        let caches = whole.get_mut("caches")?.as_array_mut()?;
        return caches.iter_mut().find(|cache| cache["of"] == of)?.get_mut("refill_kib");
    }
    if let Some(part) = name.strip_prefix("power.") {
        return whole.get_mut("power")?.get_mut(part);
    }
    let costs = whole.get_mut("costs")?;
    Some(match scheduler_and_cost(name) {
        Some((scheduler, cost)) => &mut costs["by_scheduler"][scheduler][cost],
        None => &mut costs["kernel"][name],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description;

    fn calibrated(names: &[&str]) -> Result<Description, DescriptionError> {
        let text = description::preset_text("z800-2x6").expect("the preset exists");
        let fitted: Vec<(String, f64)> =
            names.iter().map(|name| (name.to_string(), 77.5)).collect();
        Description::parse("m", &with_calibrated("m", text, &fitted, "a test")?)
    }

    #[test]
    fn what_was_fitted_is_marked_and_all_else_stays() {
        let names = [
            "switch",
            "o_n@2.4.19.scan",
            "o_n.call.futex",
            "call.pipe_read",
            "refill.core",
            "power.base_watts",
        ];
        let machine = calibrated(&names).unwrap();
        let marked: Vec<_> =
            machine.numbers.iter().filter(|number| number.source == "a test").collect();
        let keys: Vec<&str> = marked.iter().map(|number| number.key.as_str()).collect();
        assert_eq!(
            keys,
            [
                "costs.kernel.switch",
                "costs.by_scheduler.o_n@2.4.19.scan",
                "costs.by_scheduler.o_n.call.futex",
                "costs.calls.pipe_read",
                "caches[0].refill_kib",
                "power.base_watts"
            ]
        );
        assert!(marked.iter().all(|number| number.value == 77.5 && number.calibrated));
        let before = description::find("z800-2x6").unwrap();
        let mut costs = before.costs.unwrap();
        for name in names {
            costs.set(name, 77.5).unwrap();
        }
        // In a file, the costs of one release follow the costs that apply to all releases. A call
        // takes whole nanoseconds.
        costs.by_scheduler.sort_by_key(|special| special.scheduler.contains('@'));
        assert_eq!(machine.costs.unwrap(), costs);
    }

    #[test]
    fn what_is_written_looks_as_the_presets_do() {
        for preset in ["pentium3-1000x1", "pentium3-700x8"] {
            let text = description::preset_text(preset).expect("the preset exists");
            assert_eq!(with_calibrated("m", text, &[], "a test").unwrap(), text);
        }
    }

    #[test]
    fn names_without_a_place_are_refused() {
        assert!(
            calibrated(&["swatch"]).unwrap_err().to_string().contains("there is no cost swatch")
        );
        assert!(calibrated(&["refill.node"]).unwrap_err().to_string().contains("no place"));
    }
}
