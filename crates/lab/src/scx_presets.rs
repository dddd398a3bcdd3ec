//! Settings and calls of the user space of well-known policies before it attaches them:
//! `crates/lab/presets`.
//!
//! The files were written from recollection of the policies' own loaders, and state this. Variables
//! and programs that an object lacks are skipped, since releases differ.

use schedlab_scx::{Image, Setting};
use serde::Deserialize;
use std::collections::BTreeMap;

/// The files.
const FILES: [(&str, &str); 6] = [
    ("bpfland", include_str!("../presets/bpfland.toml")),
    ("beerland", include_str!("../presets/beerland.toml")),
    ("cosmos", include_str!("../presets/cosmos.toml")),
    ("flash", include_str!("../presets/flash.toml")),
    ("nest", include_str!("../presets/nest.toml")),
    ("tickless", include_str!("../presets/tickless.toml")),
];

/// A value: a number, or a property of the machine.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(untagged)]
enum Value {
    Number(i64),
    Truth(bool),
    /// `cpus`: number of CPUs. `each`, as an argument of a call: one call for each CPU.
    Word(String),
}

/// A program to call.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    function: String,
    args: Vec<Value>,
}

/// A preset.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preset {
    /// `ops.name`, without the part behind a `_` or a `.`.
    policy: String,
    /// Purpose.
    pub about: String,
    /// Origin of the information.
    pub source: String,
    #[serde(default)]
    set: BTreeMap<String, Value>,
    #[serde(default)]
    call: Vec<Call>,
}

impl Preset {
    /// Returns the preset of the policy that has this `ops.name` (`bpfland`,
    /// `bpfland_1.0.17_x86_64`).
    pub fn of(name: &str) -> Option<Preset> {
        let is_it = |(policy, _): &&(&str, &str)| {
            let rest = name.strip_prefix(policy);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['_', '.']))
        };
        let (policy, text) = FILES.iter().find(is_it)?;
        // A test parses each of them.
        toml::from_str(text).ok().filter(|preset: &Preset| preset.policy == *policy)
    }

    /// Settings for `image` on a machine with `cpus` CPUs.
    pub fn settings(&self, image: &Image, cpus: u32) -> Vec<Setting> {
        let is_there = |name: &str| {
            name.starts_with("ops.") || image.variables.iter().any(|it| it.name == name)
        };
        let set = self.set.iter().filter(|(name, _)| is_there(name));
        let set = set.filter_map(|(name, value)| {
            let value = match value {
                Value::Number(number) => *number,
                Value::Truth(truth) => i64::from(*truth),
                Value::Word(_) => i64::from(cpus),
            };
            Setting::read(&format!("{name}={value}")).ok()
        });
        set.collect()
    }

    /// Calls for `image` on a machine with `cpus` CPUs.
    pub fn calls(&self, image: &Image, cpus: u32) -> Vec<(String, Vec<i32>)> {
        let mut calls = vec![];
        for call in self.call.iter().filter(|call| image.program(&call.function).is_ok()) {
            let is_each = |value: &Value| *value == Value::Word("each".into());
            let times = if call.args.iter().any(is_each) { cpus } else { 1 };
            for cpu in 0..times {
                let number = |value: &Value| match value {
                    Value::Number(number) => *number as i32,
                    Value::Truth(truth) => i32::from(*truth),
                    Value::Word(word) if word == "each" => cpu as i32,
                    Value::Word(_) => cpus as i32,
                };
                calls.push((call.function.clone(), call.args.iter().map(number).collect()));
            }
        }
        calls
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_in_order() {
        for (name, text) in FILES {
            let preset: Preset =
                toml::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(preset.policy, name);
            assert!(!preset.about.is_empty() && !preset.source.is_empty(), "{name}");
            let words = preset.set.values().chain(preset.call.iter().flat_map(|call| &call.args));
            for word in words {
                let Value::Word(word) = word else { continue };
                assert!(matches!(word.as_str(), "cpus" | "each"), "{name}: {word}");
            }
        }
    }

    #[test]
    fn presets_are_found_by_the_name_of_the_policy() {
        for name in ["bpfland", "bpfland_1.0.17_x86_64", "nest"] {
            assert!(Preset::of(name).is_some_and(|it| name.starts_with(&it.policy)), "{name}");
        }
        assert!(Preset::of("bpfland2").is_none() && Preset::of("vtime").is_none());
    }
}
