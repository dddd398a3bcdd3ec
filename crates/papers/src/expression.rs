//! Measured values by name, and the expressions over them in which paper files state demands.
//!
//! The language is that of [`schedlab_report::expression`]. A name is what a run's file calls a
//! value; with a `*` it is the list of all values whose names match, in the order in which they
//! were measured.

use crate::error::Error;
use schedlab_report::expression::{Expression, Input, Value, Vocabulary};
use std::collections::HashMap;

/// Named values, in the order in which they were measured.
#[derive(Clone, Debug, Default)]
pub struct ValuesByName {
    values: Vec<(String, f64)>,
    /// Place of each name. Only looked up, never iterated over.
    places: HashMap<String, usize>,
}

impl ValuesByName {
    /// Adds a value.
    ///
    /// # Errors
    /// There is a value of that name.
    pub fn add(&mut self, name: String, value: f64) -> Result<(), Error> {
        if self.places.insert(name.clone(), self.values.len()).is_some() {
            return Err(Error::new(format!("two values are called {name}")));
        }
        self.values.push((name, value));
        Ok(())
    }

    /// Returns all values, in the order in which they were measured.
    pub fn iter(&self) -> impl Iterator<Item = (&str, f64)> {
        self.values.iter().map(|(name, value)| (name.as_str(), *value))
    }

    /// Returns the value of that name.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.places.get(name).map(|&place| self.values[place].1)
    }

    /// Returns the value of a name, or the list of values whose names match a pattern.
    fn value_of(&self, name: &str) -> Result<Value, String> {
        if !name.contains('*') {
            let value = self.get(name).map(Value::Number);
            return value.ok_or_else(|| format!("no measured value is called {name}"));
        }
        let named = self.iter().filter(|(other, _)| matches(name, other));
        match named.map(|(_, value)| value).collect::<Vec<f64>>() {
            list if list.is_empty() => Err(format!("no measured value has a name like {name}")),
            list => Ok(Value::List(list)),
        }
    }
}

/// Whether `name` matches `pattern`, in which `*` stands for any part without a dot.
pub fn matches(pattern: &str, name: &str) -> bool {
    let (patterns, names) = (pattern.split('.'), name.split('.'));
    patterns.clone().count() == names.clone().count()
        && patterns.zip(names).all(|(pattern, name)| pattern == "*" || pattern == name)
}

/// Names of measured values.
struct MeasuredNames;

impl Vocabulary for MeasuredNames {
    type Name = String;

    fn read(&self, input: &mut Input<'_>) -> Result<String, String> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '@');
        let rest = input.rest();
        // A star belongs to a name if it stands right after a dot; elsewhere it multiplies.
        let is_inside =
            |(at, c): &(usize, char)| is_part(*c) || (*c == '*' && rest[..*at].ends_with('.'));
        let end: usize = rest.char_indices().take_while(is_inside).map(|(_, c)| c.len_utf8()).sum();
        if end == 0 {
            let wrong = rest.chars().next().map_or(String::new(), String::from);
            return Err(input.error(format!("`{wrong}` does not belong here")));
        }
        if rest[end..].trim_start().starts_with('(') {
            return Err(input.error(format!("there is no function {}", &rest[..end])));
        }
        Ok(input.take(end).into())
    }
}

/// Returns the names of values in `text`; none if `text` is not an expression.
pub fn names(text: &str) -> Vec<String> {
    let mut names = vec![];
    if let Ok(expression) = Expression::parse(text, &MeasuredNames) {
        expression.for_each_name(&mut |name: &String| names.push(name.clone()));
    }
    names
}

/// Evaluates a text whose value must be a number.
///
/// # Errors
/// The text is not an expression, or its value is not a number.
pub fn number(text: &str, values: &ValuesByName) -> Result<f64, Error> {
    evaluate(text, values)?.number().map_err(|error| Error::new(format!("`{text}`: {error}")))
}

/// Evaluates a text whose value must be true or false.
///
/// # Errors
/// The text is not an expression, or its value is neither true nor false.
pub fn truth(text: &str, values: &ValuesByName) -> Result<bool, Error> {
    evaluate(text, values)?.truth().map_err(|error| Error::new(format!("`{text}`: {error}")))
}

/// Evaluates a text.
///
/// # Errors
/// The text is not an expression, or it names a value that was not measured.
pub fn evaluate(text: &str, values: &ValuesByName) -> Result<Value, Error> {
    let expression = Expression::parse(text, &MeasuredNames).map_err(Error::new)?;
    let value = expression.evaluate(&|name: &String| values.value_of(name));
    value.map_err(|error| Error::new(format!("`{text}`: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values() -> ValuesByName {
        let mut values = ValuesByName::default();
        let times = [("50", 15.52), ("100", 37.63), ("150", 74.34), ("200", 110.62)];
        for (groups, time) in times {
            values.add(format!("time.o_n.{groups}"), time).unwrap();
        }
        values.add("a".into(), 2.0).unwrap();
        values
    }

    #[test]
    fn sums_and_comparisons() {
        let values = values();
        assert_eq!(number("1 + 2 * -3 - (4 - 6) / a", &values), Ok(-4.0));
        assert_eq!(truth("1 < a <= 2 and a == 2", &values), Ok(true));
        assert_eq!(truth("1 > a or 0 > 1", &values), Ok(false));
        assert_eq!(number("time.o_n.50 / 2", &values), Ok(7.76));
        assert_eq!(number("2*a", &values), Ok(4.0));
    }

    /// The published exponent of these times is 1.43.
    #[test]
    fn functions_of_lists() {
        let values = values();
        let slope = number("slope([50, 100, 150, 200], time.o_n.*)", &values).unwrap();
        assert!((slope - 1.429).abs() < 0.001, "{slope}");
        assert_eq!(truth("rising(time.o_n.*) and count(time.o_n.*) == 4", &values), Ok(true));
        assert_eq!(number("variance(1, 2, 3, 4)", &values), Ok(5.0 / 3.0));
        assert_eq!(number("ratio(2, 8)", &values), Ok(4.0));
        assert_eq!(number("r2([1, 2, 3], [2, 4, 6])", &values), Ok(1.0));
        assert_eq!(number("max(time.o_n.*, 500)", &values), Ok(500.0));
    }

    #[test]
    fn names_are_found_and_functions_are_none() {
        let text = "max(a.*, b.1) < 2 and ratio(c, 3) > 1 or (d) > 0";
        assert_eq!(names(text), ["a.*", "b.1", "c", "d"]);
        assert_eq!(names("a ; b"), Vec::<String>::new());
    }

    #[test]
    fn nonsense_is_told() {
        let values = values();
        for (text, part) in [
            ("b", "no measured value is called b"),
            ("b.*", "no measured value has a name like b.*"),
            ("1 +", "a value is missing"),
            ("(1", "a `)` is missing"),
            ("1 2", "`2` does not belong here"),
            ("nothing(1)", "there is no function nothing"),
            ("slope([1], [2])", "these have 1 and 1"),
            ("a ; b", "`; b` does not belong here"),
            ("1.2.3", "is not a number"),
            ("max()", "max() needs a value"),
            ("(1 < 2) + 1", "a number is needed"),
            ("1 and 2", "true or false is needed"),
        ] {
            let error = evaluate(text, &values).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
        assert!(truth("a", &values).is_err() && number("a < 1", &values).is_err());
    }
}
