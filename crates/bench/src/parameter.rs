//! Parameters of a benchmark: [`Parameter`], and their values: [`Values`].
//!
//! A list is allowed wherever a number is: `50,100`, or `25..200:25` for 25, 50, ... 200. Each
//! value is then a separate run.

use std::borrow::Cow;
use std::fmt;

/// Longest list that is accepted.
const LIST_MAX: usize = 10_000;

/// Type of a parameter.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Kind {
    /// Whole number.
    Whole {
        /// Minimum.
        least: u64,
        /// Maximum.
        most: u64,
    },
    /// Number.
    Real {
        /// Minimum.
        least: f64,
        /// Maximum.
        most: f64,
    },
    /// One of these words.
    Word(&'static [&'static str]),
    /// CPUs and ranges of them joined by `+`, as 0+2+4-7, or [`ALL_CPUS`].
    Cpus,
    /// Flag, given or not.
    Flag,
}

/// Every CPU, for [`Kind::Cpus`].
pub const ALL_CPUS: &str = "all";

/// Parameter.
#[derive(Clone, PartialEq, Debug)]
pub struct Parameter {
    /// Name of the option: `groups` is set by `--groups`.
    pub name: Cow<'static, str>,
    /// One-letter option of the real program.
    pub short: Option<char>,
    /// Whether the real program accepts it without the name of an option.
    pub positional: bool,
    /// Type.
    pub kind: Kind,
    /// Default, as a user would write it. A flag's default is "".
    pub default: &'static str,
    /// Meaning, with its unit.
    pub about: &'static str,
}

/// Value of a parameter.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// Whole number.
    Whole(u64),
    /// Number.
    Real(f64),
    /// Word.
    Word(Cow<'static, str>),
    /// Whether a flag was given.
    Flag(bool),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Whole(value) => write!(f, "{value}"),
            Value::Real(value) => write!(f, "{value}"),
            Value::Word(value) => write!(f, "{value}"),
            Value::Flag(value) => write!(f, "{value}"),
        }
    }
}

/// Value that is not allowed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("--{parameter}: {message}")]
pub struct BadValue {
    /// Name of the parameter.
    pub parameter: String,
    /// Description of the error, and what would be right.
    pub message: String,
}

impl BadValue {
    /// Returns an error about the parameter called `parameter`.
    pub fn new(parameter: &str, message: impl Into<String>) -> BadValue {
        BadValue { parameter: parameter.into(), message: message.into() }
    }
}

impl Parameter {
    /// Returns a parameter for whole numbers from `least` to `most`.
    pub const fn whole(
        name: &'static str,
        (least, most): (u64, u64),
        default: &'static str,
        about: &'static str,
    ) -> Parameter {
        Parameter {
            name: Cow::Borrowed(name),
            short: None,
            positional: false,
            kind: Kind::Whole { least, most },
            default,
            about,
        }
    }

    /// Returns a parameter for numbers from `least` to `most`.
    pub const fn real(
        name: &'static str,
        (least, most): (f64, f64),
        default: &'static str,
        about: &'static str,
    ) -> Parameter {
        Parameter {
            name: Cow::Borrowed(name),
            short: None,
            positional: false,
            kind: Kind::Real { least, most },
            default,
            about,
        }
    }

    /// Returns a parameter for one of `words`.
    pub const fn word(
        name: &'static str,
        words: &'static [&'static str],
        default: &'static str,
        about: &'static str,
    ) -> Parameter {
        Parameter {
            name: Cow::Borrowed(name),
            short: None,
            positional: false,
            kind: Kind::Word(words),
            default,
            about,
        }
    }

    /// Returns a flag.
    pub const fn flag(name: &'static str, about: &'static str) -> Parameter {
        Parameter {
            name: Cow::Borrowed(name),
            short: None,
            positional: false,
            kind: Kind::Flag,
            default: "",
            about,
        }
    }

    /// Returns a parameter for CPUs. The default is every CPU.
    pub const fn cpus(name: &'static str, about: &'static str) -> Parameter {
        Parameter {
            name: Cow::Borrowed(name),
            short: None,
            positional: false,
            kind: Kind::Cpus,
            default: ALL_CPUS,
            about,
        }
    }

    /// Adds a one-letter option.
    pub const fn short(mut self, letter: char) -> Parameter {
        self.short = Some(letter);
        self
    }

    /// Allows the value without the name of the option.
    pub const fn positional(mut self) -> Parameter {
        self.positional = true;
        self
    }

    /// Parses one value.
    fn read_one(&self, text: &str) -> Result<Value, BadValue> {
        let bad = |message: String| BadValue::new(&self.name, message);
        match self.kind {
            Kind::Whole { least, most } => match text.parse::<u64>() {
                Ok(value) if (least..=most).contains(&value) => Ok(Value::Whole(value)),
                Ok(value) => Err(bad(format!("{value} is out of range; give {least} to {most}"))),
                Err(_) => {
                    Err(bad(format!("\"{text}\" is not a whole number; give {least} to {most}")))
                }
            },
            Kind::Real { least, most } => match text.parse::<f64>() {
                Ok(value) if (least..=most).contains(&value) => Ok(Value::Real(value)),
                Ok(value) => Err(bad(format!("{value} is out of range; give {least} to {most}"))),
                Err(_) => Err(bad(format!("\"{text}\" is not a number; give {least} to {most}"))),
            },
            Kind::Word(words) => match words.iter().find(|&&word| word == text) {
                Some(&word) => Ok(Value::Word(Cow::Borrowed(word))),
                None => {
                    Err(bad(format!("\"{text}\" is unknown; give one of {}", words.join(", "))))
                }
            },
            Kind::Cpus => match cpus(text) {
                Some(_) => Ok(Value::Word(Cow::Owned(text.into()))),
                None => Err(bad(format!(
                    "\"{text}\" names no CPUs; give {ALL_CPUS}, 3, 0-3 or 0+2+4-7"
                ))),
            },
            Kind::Flag => match text {
                "" | "false" => Ok(Value::Flag(false)),
                "true" => Ok(Value::Flag(true)),
                _ => Err(bad(format!("\"{text}\" is neither true nor false"))),
            },
        }
    }

    /// Parses the text of a user: a value, or a list of values.
    ///
    /// # Errors
    /// Description of what is wrong, and what would be right.
    pub fn read(&self, text: &str) -> Result<Vec<Value>, BadValue> {
        let mut values = vec![];
        for part in text.split(',') {
            match (part.split_once(".."), self.kind) {
                (Some((from, rest)), Kind::Whole { .. }) => {
                    values.extend(self.read_range(part, from, rest)?)
                }
                _ => values.push(self.read_one(part)?),
            }
            if values.len() > LIST_MAX {
                return Err(BadValue::new(&self.name, format!("more than {LIST_MAX} values")));
            }
        }
        Ok(values)
    }

    /// Parses `FROM..TO` or `FROM..TO:STEP`.
    fn read_range(&self, part: &str, from: &str, rest: &str) -> Result<Vec<Value>, BadValue> {
        let bad = |message: &str| {
            BadValue::new(
                &self.name,
                format!("\"{part}\" {message}; a range is FROM..TO:STEP, such as 25..200:25"),
            )
        };
        let (to, step) = rest.split_once(':').unwrap_or((rest, "1"));
        let (Value::Whole(from), Value::Whole(to)) = (self.read_one(from)?, self.read_one(to)?)
        else {
            return Err(bad("is not a range"));
        };
        let step: u64 = step.parse().map_err(|_| bad("must have a whole number as its step"))?;
        if step == 0 {
            return Err(bad("has the step 0"));
        }
        if from > to {
            return Err(bad("is descending"));
        }
        if (to - from) / step >= LIST_MAX as u64 {
            return Err(bad("has too many values"));
        }
        Ok((from..=to).step_by(step as usize).map(Value::Whole).collect())
    }
}

/// Returns the CPUs that `0+2+4-7` names, in ascending order within each part. `None`:
/// [`ALL_CPUS`].
pub(crate) fn cpus(text: &str) -> Option<Vec<u32>> {
    const CPUS_MAX: u32 = schedlab_core::topology::CPUS_MAX;
    if text == ALL_CPUS {
        return Some(vec![]);
    }
    let mut cpus = vec![];
    for part in text.split('+') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if first > last || last >= CPUS_MAX {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

/// Values of the parameters of a benchmark, one each.
#[derive(Clone, PartialEq, Debug)]
pub struct Values(Vec<(Cow<'static, str>, Value)>);

impl Values {
    /// Returns the defaults.
    ///
    /// # Panics
    /// If the default of a parameter is not allowed. A test checks that all are.
    pub fn defaults(parameters: &[Parameter]) -> Values {
        let default = |parameter: &Parameter| match parameter.read_one(parameter.default) {
            Ok(value) => (parameter.name.clone(), value),
            Err(error) => panic!("default: {error}"),
        };
        Values(parameters.iter().map(default).collect())
    }

    /// Returns the values with one of them changed.
    ///
    /// # Errors
    /// There is no such parameter, or it does not allow that value.
    pub fn with(
        mut self,
        parameters: &[Parameter],
        name: &str,
        text: &str,
    ) -> Result<Values, BadValue> {
        let Some(parameter) = parameters.iter().find(|parameter| parameter.name == name) else {
            return Err(BadValue::new(name, "there is no such parameter"));
        };
        let value = parameter.read_one(text)?;
        self.set(name, value);
        Ok(self)
    }

    /// Sets an existing parameter.
    pub fn set(&mut self, name: &str, value: Value) {
        if let Some(slot) = self.0.iter_mut().find(|(other, _)| *other == name) {
            slot.1 = value;
        }
    }

    /// Returns all values, in the order of the parameters.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (&**name, value))
    }

    /// Returns the value of a parameter.
    ///
    /// # Panics
    /// If there is no such parameter. The benchmark then reads a parameter that it has not
    /// declared.
    pub fn get(&self, name: &str) -> &Value {
        let found = self.0.iter().find(|(other, _)| *other == name);
        &found.unwrap_or_else(|| panic!("no parameter is called {name}")).1
    }

    /// Returns the value of a whole number.
    ///
    /// # Panics
    /// As [`get`](Values::get), or if it has another type.
    pub fn whole(&self, name: &str) -> u64 {
        match self.get(name) {
            Value::Whole(value) => *value,
            other => panic!("{name} is {other}, not a whole number"),
        }
    }

    /// Returns the value of a number.
    ///
    /// # Panics
    /// As [`get`](Values::get), or if it has another type.
    pub fn real(&self, name: &str) -> f64 {
        match self.get(name) {
            Value::Real(value) => *value,
            other => panic!("{name} is {other}, not a number"),
        }
    }

    /// Returns the value of a word.
    ///
    /// # Panics
    /// As [`get`](Values::get), or if it has another type.
    pub fn word(&self, name: &str) -> &str {
        match self.get(name) {
            Value::Word(value) => value,
            other => panic!("{name} is {other}, not a word"),
        }
    }

    /// Whether a flag was given.
    ///
    /// # Panics
    /// As [`get`](Values::get), or if it has another type.
    pub fn flag(&self, name: &str) -> bool {
        match self.get(name) {
            Value::Flag(value) => *value,
            other => panic!("{name} is {other}, not a flag"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUPS: Parameter = Parameter::whole("groups", (1, 1000), "10", "groups");

    fn whole(text: &str) -> Result<Vec<u64>, String> {
        let number = |value| match value {
            Value::Whole(number) => number,
            other => panic!("{other:?}"),
        };
        let values = GROUPS.read(text).map_err(|error| error.to_string())?;
        Ok(values.into_iter().map(number).collect())
    }

    #[test]
    fn a_list_is_written_out_or_stepped_through() {
        assert_eq!(whole("7"), Ok(vec![7]));
        assert_eq!(whole("50,100"), Ok(vec![50, 100]));
        assert_eq!(whole("25..200:25"), Ok(vec![25, 50, 75, 100, 125, 150, 175, 200]));
        assert_eq!(whole("1..3,10"), Ok(vec![1, 2, 3, 10]));
    }

    #[test]
    fn what_is_wrong_is_said_with_what_would_be_right() {
        let message = |text| whole(text).expect_err(text);
        assert_eq!(message("0"), "--groups: 0 is out of range; give 1 to 1000");
        assert_eq!(message("x"), "--groups: \"x\" is not a whole number; give 1 to 1000");
        assert!(message("9..3").contains("is descending"), "{}", message("9..3"));
        assert!(message("1..3:0").contains("has the step 0"));
        assert!(message("1..3:x").contains("step"));
        assert!(message("").contains("not a whole number"));
        const KIND: Parameter = Parameter::word("kind", &["a", "b"], "a", "");
        assert_eq!(
            KIND.read("c").expect_err("no").to_string(),
            "--kind: \"c\" is unknown; give one of a, b"
        );
        const SHARE: Parameter = Parameter::real("share", (0.0, 1.0), "0.5", "");
        assert!(SHARE.read("nan").is_err());
    }

    #[test]
    fn values_begin_with_the_defaults() {
        let parameters = [GROUPS, Parameter::flag("pipe", "pipes")];
        let values = Values::defaults(&parameters);
        assert_eq!((values.whole("groups"), values.flag("pipe")), (10, false));
        let values = values.with(&parameters, "groups", "20").expect("in range");
        assert_eq!(values.whole("groups"), 20);
        assert!(values.with(&parameters, "gruops", "20").is_err());
    }
}
