//! Options that change the names of policies: settings from options and files, and directories.

use super::spec::{PREFIX, parts, with_release};
use crate::scheduler_names::whole_names;
use std::path::Path;

/// Resolves files of policies relative to `file`, which names them. Names of other schedulers, and
/// of files that are not next to `file`, stay as they are: relative to the current directory.
pub fn beside(names: &[String], file: &str) -> Vec<String> {
    let Some(directory) = Path::new(file).parent().filter(|it| !it.as_os_str().is_empty()) else {
        return names.to_vec();
    };
    let named = |name: String| {
        let Some((object, _)) = parts(&name) else { return name };
        let (object, _) = with_release(object);
        let here = |file: &str| {
            let there = directory.join(file);
            let is_beside = Path::new(file).is_relative() && there.is_file();
            is_beside.then(|| there.display().to_string())
        };
        let mut named = match here(object) {
            Some(there) => name.replacen(object, &there, 1),
            None => name.clone(),
        };
        let script = parts(&name).map_or("", |(_, settings)| settings);
        let script = script.split(',').find_map(|item| item.trim().strip_prefix("user="));
        if let Some((script, there)) = script.and_then(|script| Some((script, here(script)?))) {
            named = named.replacen(&format!("user={script}"), &format!("user={there}"), 1);
        }
        named
    };
    whole_names(names).into_iter().map(named).collect()
}

/// Reads settings from a TOML file: `slice_ns = 5000000`, `weights = [1, 2]`, `"ops.flags" = 2`.
/// Returns them as they are written in brackets.
///
/// # Errors
/// The text is not TOML, or a value is not a number.
pub fn config(file: &str, text: &str) -> Result<Vec<String>, String> {
    let table: toml::Table = toml::from_str(text).map_err(|error| format!("{file}: {error}"))?;
    let mut settings = vec![];
    for (name, value) in &table {
        add_value(&mut settings, name, value).map_err(|what| format!("{file}: {what}"))?;
    }
    Ok(settings)
}

fn add_value(settings: &mut Vec<String>, name: &str, value: &toml::Value) -> Result<(), String> {
    match value {
        toml::Value::Integer(number) => settings.push(format!("{name}={number}")),
        toml::Value::Boolean(truth) => settings.push(format!("{name}={}", u8::from(*truth))),
        toml::Value::String(text) => settings.push(format!("{name}={text}")),
        toml::Value::Array(values) => {
            for (place, value) in values.iter().enumerate() {
                add_value(settings, &format!("{name}[{place}]"), value)?;
            }
        }
        toml::Value::Table(inner) => {
            for (part, value) in inner {
                add_value(settings, &format!("{name}.{part}"), value)?;
            }
        }
        other => {
            let kind = other.type_str();
            return Err(format!("{name} is a {kind}; a setting is a whole number, true or false"));
        }
    }
    Ok(())
}

/// Adds settings to the names that are policies.
///
/// # Errors
/// None of the names is a policy. The message names the option.
pub fn with_settings(
    names: Vec<String>,
    set: &[String],
    option: &str,
) -> Result<Vec<String>, String> {
    if set.is_empty() {
        return Ok(names);
    }
    let mut any = false;
    let add = |name: String| match parts(&name) {
        None => name,
        Some((file, before)) => {
            any = true;
            let before = Some(before).filter(|before| !before.is_empty());
            let all: Vec<&str> = before.into_iter().chain(set.iter().map(String::as_str)).collect();
            format!("{PREFIX}{file}[{}]", all.join(","))
        }
    };
    let names = whole_names(&names).into_iter().map(add).collect();
    match any {
        true => Ok(names),
        false => {
            Err(format!("{option}: no scheduler is a sched_ext policy (name one with -s scx:FILE)"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_go_to_policies_alone() {
        let names = || vec!["cfs".to_string(), "scx:b.o".into(), "scx:c.o[x=1]".into()];
        let set = ["y=2".to_string()];
        let expected = ["cfs", "scx:b.o[y=2]", "scx:c.o[x=1,y=2]"];
        let with = |names, set| with_settings(names, set, "--scx-set");
        assert_eq!(with(names(), &set).as_deref(), Ok(&expected.map(String::from)[..]));
        assert_eq!(with(names(), &[]), Ok(names()));
        assert!(with(vec!["cfs".into()], &set).is_err());
    }

    #[test]
    fn settings_are_read_from_files() {
        let text = "slice_ns = 5\nfifo = true\nweights = [1, -2]\n\"ops.flags\" = 2\n[map.q]\n\
                    max_entries = 7\n";
        let expected = [
            "fifo=1",
            "map.q.max_entries=7",
            "ops.flags=2",
            "slice_ns=5",
            "weights[0]=1",
            "weights[1]=-2",
        ];
        let mut read = config("c.toml", text).unwrap_or_default();
        read.sort();
        assert_eq!(read, expected);
        assert!(
            config("c.toml", "x = 1.5").is_err_and(|error| error.contains("c.toml: x is a float"))
        );
    }
}
