//! Assumptions of a policy about the machine, and its promises: `--scx-expects`, `--scx-promise`.
//!
//! A policy cannot fail in a random world that violates its assumptions.

use schedlab_core::Promises;
use std::ops::RangeInclusive;

/// Assumptions that can be stated, as users write them.
const KNOWN: &str = "cpus=4, cpus=1..4, hz=250, hz=100..1000, smt=no, numa=no, hotplug=no, \
                     affinity=no, groups=no, limits=no, changes=no";

/// Promises that can be made, as users write them.
const PROMISES: &str = "wait_ns=N, idle_ns=N, hog_spread_ns=N";

/// Feature of a machine or workload that a policy may exclude.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Feature {
    /// Cores of several CPUs.
    Smt,
    /// Several memory nodes.
    Numa,
    /// CPUs that go offline.
    Hotplug,
    /// Tasks that are bound to CPUs.
    Affinity,
    /// Task groups.
    Groups,
    /// CPU limits of groups.
    Limits,
    /// Changes from outside during the run.
    Changes,
}

/// All features, with their names.
pub const FEATURES: [(&str, Feature); 7] = [
    ("smt", Feature::Smt),
    ("numa", Feature::Numa),
    ("hotplug", Feature::Hotplug),
    ("affinity", Feature::Affinity),
    ("groups", Feature::Groups),
    ("limits", Feature::Limits),
    ("changes", Feature::Changes),
];

/// Assumptions of a policy about machine and workload.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Expects {
    cpus: Option<RangeInclusive<u32>>,
    hz: Option<RangeInclusive<u32>>,
    without: Vec<Feature>,
}

impl Expects {
    /// Adds `NAME=VALUE`.
    ///
    /// # Errors
    /// There is no such feature.
    pub fn add(&mut self, name: &str, value: &str) -> Result<(), String> {
        let wrong = |what: String| format!("expects {name}={value}: {what}");
        match name {
            "cpus" | "hz" => {
                let range = range(value).ok_or_else(|| {
                    wrong("write a number or a range of them, from 1 up: 4 or 1..4".into())
                })?;
                let place = if name == "cpus" { &mut self.cpus } else { &mut self.hz };
                *place = Some(range);
            }
            _ => {
                let feature = FEATURES.iter().find(|(known, _)| *known == name);
                let feature =
                    feature.ok_or_else(|| wrong(format!("the assumptions are {KNOWN}")))?.1;
                match value {
                    "no" | "false" => self.without.push(feature),
                    _ => return Err(wrong(format!("write {name}=no"))),
                }
            }
        }
        Ok(())
    }

    /// Returns the CPU counts for which the policy is written. `None`: any.
    pub fn cpus(&self) -> Option<&RangeInclusive<u32>> {
        self.cpus.as_ref()
    }

    /// Returns the tick rates for which the policy is written, Hz. `None`: any.
    pub fn hz(&self) -> Option<&RangeInclusive<u32>> {
        self.hz.as_ref()
    }

    /// Features that must be absent, with their names.
    pub fn without(&self) -> impl Iterator<Item = (&'static str, Feature)> {
        FEATURES.into_iter().filter(|(_, feature)| self.without.contains(feature))
    }
}

/// Parses `4` or `1..4`.
fn range(text: &str) -> Option<RangeInclusive<u32>> {
    let number = |text: &str| text.trim().parse::<u32>().ok().filter(|&number| number > 0);
    let (first, last) = match text.split_once("..") {
        Some((first, last)) => (number(first)?, number(last)?),
        None => (number(text)?, number(text)?),
    };
    (first <= last).then_some(first..=last)
}

/// Adds `NAME=N` to the promises.
///
/// # Errors
/// There is no such promise.
pub fn promise(promises: &mut Promises, name: &str, value: &str) -> Result<(), String> {
    let wrong = |what: String| format!("promise {name}={value}: {what}");
    let place = match name {
        "wait_ns" => &mut promises.wait_ns,
        "idle_ns" => &mut promises.idle_beside_waiting_ns,
        "hog_spread_ns" => &mut promises.hog_spread_ns,
        _ => return Err(wrong(format!("the promises are {PROMISES}"))),
    };
    let ns = value.parse().ok().filter(|&ns| ns > 0);
    *place = Some(ns.ok_or_else(|| wrong(format!("write a time in ns, {name}=100000000")))?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_asked_for_or_promised_is_refused() {
        let wrong = |name, value| {
            Expects::default().add(name, value).expect_err("the assumption is invalid")
        };
        assert!(wrong("cpus", "0").contains("expects cpus=0: write a number or a range"));
        assert!(wrong("cpus", "4..2").contains("4 or 1..4"));
        assert!(wrong("cpus", "many").contains("4 or 1..4"));
        assert!(wrong("cpus", "99999999999").contains("4 or 1..4"));
        assert!(wrong("smt", "yes").contains("write smt=no"));
        assert!(wrong("cpu", "1").contains("the assumptions are cpus=4"));
        let wrong =
            |name, value| promise(&mut Promises::default(), name, value).expect_err("wrong");
        assert!(wrong("wait_ns", "5ms").contains("write a time in ns, wait_ns=100000000"));
        assert!(wrong("wait_ns", "0").contains("a time in ns"));
        assert!(wrong("wait", "5").contains("the promises are wait_ns=N"));
    }
}
