//! Reader of JSON, as small as the checks of this repository need: it has no dependencies.

/// Value of a JSON document.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `null`, `true` or `false`.
    Word(String),
    /// Number.
    Number(f64),
    /// Text, without its escapes replaced.
    Text(String),
    /// Array.
    List(Vec<Value>),
    /// Object, in the order of the document.
    Object(Vec<(String, Value)>),
}

impl Value {
    /// Parses a document. `None`: it is not JSON.
    pub fn parse(text: &str) -> Option<Value> {
        let mut rest = text;
        let value = value(&mut rest)?;
        rest.trim_start().is_empty().then_some(value)
    }

    /// Returns the value at a path of keys and indices, for example `columns.2.all`.
    pub fn at(&self, path: &str) -> Option<&Value> {
        path.split('.').try_fold(self, |value, step| match value {
            Value::Object(fields) => fields.iter().find(|(key, _)| key == step).map(|(_, v)| v),
            Value::List(values) => values.get(step.parse::<usize>().ok()?),
            _ => None,
        })
    }

    /// Returns the number at a path.
    pub fn number(&self, path: &str) -> Option<f64> {
        match self.at(path)? {
            Value::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns the text at a path.
    pub fn text(&self, path: &str) -> Option<&str> {
        match self.at(path)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Takes `token` off the beginning, after white space.
fn take(rest: &mut &str, token: char) -> Option<()> {
    *rest = rest.trim_start().strip_prefix(token)?;
    Some(())
}

fn value(rest: &mut &str) -> Option<Value> {
    *rest = rest.trim_start();
    match rest.chars().next()? {
        '{' => items(rest, ['{', '}'], |rest| {
            *rest = rest.trim_start();
            let key = text(rest)?;
            take(rest, ':')?;
            Some((key, value(rest)?))
        })
        .map(Value::Object),
        '[' => items(rest, ['[', ']'], value).map(Value::List),
        '"' => text(rest).map(Value::Text),
        _ => {
            let end = rest.find([',', ']', '}', ' ', '\n', '\r', '\t']).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            *rest = after;
            match word {
                "null" | "true" | "false" => Some(Value::Word(word.to_string())),
                _ => word.parse().ok().map(Value::Number),
            }
        }
    }
}

/// Reads items between two brackets.
fn items<T>(
    rest: &mut &str,
    [open, close]: [char; 2],
    item: impl Fn(&mut &str) -> Option<T>,
) -> Option<Vec<T>> {
    take(rest, open)?;
    let mut all = Vec::new();
    while take(rest, close).is_none() {
        if !all.is_empty() {
            take(rest, ',')?;
        }
        all.push(item(rest)?);
    }
    Some(all)
}

fn text(rest: &mut &str) -> Option<String> {
    let inner = rest.strip_prefix('"')?;
    let mut is_escaped = false;
    for (place, c) in inner.char_indices() {
        match c {
            '"' if !is_escaped => {
                *rest = &inner[place + 1..];
                return Some(inner[..place].to_string());
            }
            _ => is_escaped = c == '\\' && !is_escaped,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_their_paths() {
        let text = r#" {"a": [1, {"b": "x\"]y"}, null], "c": -2.5e3, "d": {}, "e": [] } "#;
        let value = Value::parse(text).expect("JSON");
        assert_eq!(value.number("a.0"), Some(1.0));
        assert_eq!(value.text("a.1.b"), Some("x\\\"]y"));
        assert_eq!(value.at("a.2"), Some(&Value::Word("null".into())));
        assert_eq!(value.number("c"), Some(-2500.0));
        assert_eq!(value.at("e"), Some(&Value::List(Vec::new())));
        assert_eq!(value.at("a.3"), None);
        for wrong in ["", "{", "[1 2]", "{\"a\" 1}", "\"a", "1 2", "[1,]x", "nul"] {
            assert_eq!(Value::parse(wrong), None, "{wrong}");
        }
    }
}
