//! Settings that users make before a policy is loaded: variables, numbers of its table, sizes of
//! its maps. User space normally makes them when it has opened the object.

use crate::error::ObjectError;

/// Item that a setting changes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SettingTarget {
    /// A variable, or an element of an array.
    Variable {
        /// Its name.
        name: String,
        /// Index of the element.
        index: Option<u32>,
    },
    /// `ops.FIELD`: a number of the table of callbacks.
    Ops(String),
    /// `map.NAME.max_entries`.
    MapEntries(String),
}

/// A setting.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setting {
    /// The item that is set.
    pub target: SettingTarget,
    /// Its value. Negative values are for signed variables.
    pub value: i128,
    /// The setting as the user wrote it, for messages.
    pub text: String,
}

impl Setting {
    /// Reads `NAME=VALUE`, `NAME[i]=VALUE`, `ops.FIELD=VALUE` or `map.NAME.max_entries=VALUE`.
    /// Values are decimal, hexadecimal with `0x`, `true` or `false`.
    ///
    /// # Errors
    /// If it has none of these forms.
    pub fn read(text: &str) -> Result<Setting, ObjectError> {
        let wrong = |what: String| ObjectError::new(format!("setting {text:?}"), what);
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| wrong("write NAME=VALUE, e.g. slice_ns=5000000".into()))?;
        let (name, value) = (name.trim(), value.trim());
        let value = number(value).ok_or_else(|| {
            wrong(format!(
                "{value:?} is not a value: write a number, 0x and a number, true or false"
            ))
        })?;
        let target = if let Some(field) = name.strip_prefix("ops.") {
            SettingTarget::Ops(field.into())
        } else if let Some(rest) = name.strip_prefix("map.") {
            let map = rest
                .strip_suffix(".max_entries")
                .ok_or_else(|| wrong("only max_entries of a map can be set".into()))?;
            SettingTarget::MapEntries(map.into())
        } else if let Some((name, rest)) = name.split_once('[') {
            let index = rest.strip_suffix(']').and_then(|index| index.parse().ok());
            let index = index.ok_or_else(|| wrong("write an element as NAME[3]".into()))?;
            SettingTarget::Variable { name: name.into(), index: Some(index) }
        } else {
            SettingTarget::Variable { name: name.into(), index: None }
        };
        Ok(Setting { target, value, text: text.into() })
    }

    /// Makes an error about this setting.
    pub(crate) fn fault(&self, what: impl Into<String>) -> ObjectError {
        ObjectError::new(format!("setting {:?}", self.text), what)
    }
}

fn number(text: &str) -> Option<i128> {
    match text {
        "true" => return Some(1),
        "false" => return Some(0),
        _ => (),
    }
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let value = match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some(if is_negative { -i128::from(value) } else { i128::from(value) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_users_write_them() {
        let read = |text| Setting::read(text).map(|setting| (setting.target, setting.value));
        let variable = |name: &str, index| SettingTarget::Variable { name: name.into(), index };
        assert_eq!(read("slice_ns=5000000"), Ok((variable("slice_ns", None), 5_000_000)));
        assert_eq!(read("mask = 0xff"), Ok((variable("mask", None), 255)));
        assert_eq!(read("smt_enabled=true"), Ok((variable("smt_enabled", None), 1)));
        assert_eq!(read("base=-7"), Ok((variable("base", None), -7)));
        assert_eq!(read("weights[3]=9"), Ok((variable("weights", Some(3)), 9)));
        assert_eq!(read("ops.flags=2"), Ok((SettingTarget::Ops("flags".into()), 2)));
        assert_eq!(
            read("map.queue0.max_entries=64"),
            Ok((SettingTarget::MapEntries("queue0".into()), 64))
        );
        assert_eq!(read("x=18446744073709551615").map(|(_, value)| value), Ok(u64::MAX.into()));
    }

    #[test]
    fn what_is_no_setting_is_refused_with_what_would_be_right() {
        let message = |text| Setting::read(text).expect_err("the setting is refused").to_string();
        assert!(message("slice_ns").contains("write NAME=VALUE"));
        assert_eq!(
            message("a=5ms"),
            "setting \"a=5ms\": \"5ms\" is not a value: write a number, 0x and a number, true or \
             false"
        );
        assert!(message("a[x]=1").contains("NAME[3]"));
        assert!(message("map.a.flags=1").contains("only max_entries"));
        assert!(message("a=99999999999999999999").contains("not a value"));
    }
}
