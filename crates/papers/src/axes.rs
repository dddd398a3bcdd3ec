//! Values that a file lists once for many runs or criteria ([`For`]): `{name}` in a text is
//! replaced by each value of an axis in turn.

use crate::error::Error;
use std::collections::BTreeMap;
use toml::Value;

/// The values of each `{name}` in the texts of a run or a criterion. Every combination of one value
/// of each name is used.
///
/// A value is a number or a text, or a table that gives several names values at once.
pub type For = BTreeMap<String, Vec<Value>>;

/// One combination: the value of each name.
pub type Binding = BTreeMap<String, String>;

/// Formats a value as it is written in a text.
pub fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Maximum number of combinations.
const COMBINATIONS_MAX: usize = 10_000;

/// Checks that there are combinations, and not too many.
///
/// # Errors
/// The name without values, or the number of combinations.
pub fn check(axes: &For) -> Result<(), Error> {
    if let Some((name, _)) = axes.iter().find(|(_, values)| values.is_empty()) {
        return Err(format!("for.{name} is empty; give at least one value").into());
    }
    let count = axes.values().fold(1_usize, |count, values| count.saturating_mul(values.len()));
    if count > COMBINATIONS_MAX {
        return Err(format!(
            "for has {count} combinations; at most {COMBINATIONS_MAX} are allowed"
        )
        .into());
    }
    Ok(())
}

/// Returns all combinations, the last axis (in alphabetical order) changing fastest.
pub fn combinations(axes: &For) -> Vec<Binding> {
    let mut all = vec![Binding::new()];
    for (name, values) in axes {
        let mut longer = Vec::with_capacity(all.len() * values.len());
        for binding in &all {
            for value in values {
                let mut binding = binding.clone();
                match value {
                    Value::Table(several) => {
                        binding.extend(
                            several.iter().map(|(name, value)| (name.clone(), text_of(value))),
                        );
                    }
                    one => {
                        binding.insert(name.clone(), text_of(one));
                    }
                }
                longer.push(binding);
            }
        }
        all = longer;
    }
    all
}

/// Replaces every `{name}` of the binding in `text`. Other braces stay, because workloads contain
/// many.
pub fn fill(text: &str, binding: &Binding) -> String {
    let mut filled = text.to_string();
    for (name, value) in binding {
        filled = filled.replace(&format!("{{{name}}}"), value);
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axes(text: &str) -> For {
        toml::from_str(text).expect("the text is well formed")
    }

    #[test]
    fn every_combination_is_written_out() {
        let all = combinations(&axes(
            "n = [1, 2]\nk = [{ short = \"a\", long = \"aa\" }, { short = \"b\", long = \"bb\" }]",
        ));
        let texts: Vec<String> =
            all.iter().map(|binding| fill("{short}{n}{long} {\"run\": {n}}", binding)).collect();
        let expected =
            ["a1aa {\"run\": 1}", "a2aa {\"run\": 2}", "b1bb {\"run\": 1}", "b2bb {\"run\": 2}"];
        assert_eq!(texts, expected);
        assert_eq!(combinations(&For::new()).len(), 1);
        assert_eq!(check(&axes("n = [1, 2]")), Ok(()));
        assert!(
            check(&axes("n = []")).is_err_and(|error| error.message.starts_with("for.n is empty"))
        );
        let many: String =
            (0..20).map(|name| format!("n{name} = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]\n")).collect();
        assert!(
            check(&axes(&many))
                .is_err_and(|error| error.message.ends_with("at most 10000 are allowed"))
        );
    }
}
