//! What a policy asks of the machine, and what it promises: `--scx-expects`, `--scx-promise`.
//!
//! A random world that breaks what a policy asks for is none in which it can fail.

use crate::stress::World;
use schedlab_core::Promises;
use std::ops::RangeInclusive;

/// What can be asked for, with how it is written.
const KNOWN: &str = "cpus=4, cpus=1..4, hz=250, hz=100..1000, smt=no, numa=no, hotplug=no, \
                     affinity=no, groups=no, limits=no, changes=no";

/// What can be promised.
const PROMISES: &str = "wait_ns=N, idle_ns=N, hog_spread_ns=N";

/// What can be there or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Thing {
    Smt,
    Numa,
    Hotplug,
    Affinity,
    Groups,
    Limits,
    Changes,
}

const THINGS: [(&str, Thing); 7] = [
    ("smt", Thing::Smt),
    ("numa", Thing::Numa),
    ("hotplug", Thing::Hotplug),
    ("affinity", Thing::Affinity),
    ("groups", Thing::Groups),
    ("limits", Thing::Limits),
    ("changes", Thing::Changes),
];

/// What a policy asks of the machine and of those who use it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Expects {
    cpus: Option<RangeInclusive<u32>>,
    hz: Option<RangeInclusive<u32>>,
    without: Vec<Thing>,
}

impl Expects {
    /// Adds `NAME=VALUE`.
    ///
    /// # Errors
    /// There is no such thing to be asked for.
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
                let thing = THINGS.iter().find(|(known, _)| *known == name);
                let thing = thing.ok_or_else(|| wrong(format!("there are {KNOWN}")))?.1;
                match value {
                    "no" | "false" => self.without.push(thing),
                    _ => return Err(wrong(format!("write {name}=no"))),
                }
            }
        }
        Ok(())
    }

    /// What of it a world breaks; none: nothing.
    pub fn broken_by(&self, world: &World) -> Option<String> {
        let outside = |name: &str, range: &Option<RangeInclusive<u32>>, number: u32| {
            let range = range.as_ref().filter(|range| !range.contains(&number))?;
            Some(format!("{name}={}..{}", range.start(), range.end()))
        };
        let numbers =
            outside("cpus", &self.cpus, world.cpus).or_else(|| outside("hz", &self.hz, world.hz));
        numbers.or_else(|| {
            let things = THINGS.iter().filter(|(_, thing)| self.without.contains(thing));
            let has = |(_, thing): &&(&str, Thing)| has(world, *thing);
            things.clone().find(has).map(|(name, _)| format!("{name}=no"))
        })
    }
}

/// `4` or `1..4`.
fn range(text: &str) -> Option<RangeInclusive<u32>> {
    let number = |text: &str| text.trim().parse::<u32>().ok().filter(|&number| number > 0);
    let (first, last) = match text.split_once("..") {
        Some((first, last)) => (number(first)?, number(last)?),
        None => (number(text)?, number(text)?),
    };
    (first <= last).then_some(first..=last)
}

fn has(world: &World, thing: Thing) -> bool {
    let changed = |word: &str| world.changes.iter().any(|line| line.contains(word));
    let set = |word: &str| world.group_settings.iter().any(|option| option.contains(word));
    match thing {
        Thing::Smt => {
            let topology = world.topology();
            let core = |cpu| topology.place(schedlab_core::CpuId(cpu)).core;
            let mut cores: Vec<u32> = (0..world.cpus).map(core).collect();
            cores.sort_unstable();
            cores.windows(2).any(|pair| pair[0] == pair[1])
        }
        Thing::Numa => world.topology().nodes() > 1,
        Thing::Hotplug => changed(" offline "),
        Thing::Affinity => {
            let bound = |task: &schedlab_workload::model::Task| {
                let phases = task.phases.iter().any(|phase| phase.properties.cpus.is_some());
                task.properties.cpus.is_some() || phases
            };
            world.model.tasks.iter().any(bound)
                || changed(" taskset ")
                || changed("cpuset.cpus")
                || set("cpuset.cpus")
        }
        Thing::Groups => !world.groups.is_empty(),
        Thing::Limits => world.limits,
        Thing::Changes => !world.changes.is_empty(),
    }
}

/// Adds `NAME=N` to what is promised.
///
/// # Errors
/// Nothing of the kind can be promised.
pub fn promise(promises: &mut Promises, name: &str, value: &str) -> Result<(), String> {
    let wrong = |what: String| format!("promise {name}={value}: {what}");
    let place = match name {
        "wait_ns" => &mut promises.wait_ns,
        "idle_ns" => &mut promises.idle_beside_waiting_ns,
        "hog_spread_ns" => &mut promises.hog_spread_ns,
        _ => return Err(wrong(format!("there are {PROMISES}"))),
    };
    let ns = value.parse().ok().filter(|&ns| ns > 0);
    *place = Some(ns.ok_or_else(|| wrong(format!("write a time in ns, {name}=100000000")))?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::choose;

    fn expects(all: &[(&str, &str)]) -> Expects {
        let mut expects = Expects::default();
        all.iter().for_each(|(name, value)| expects.add(name, value).expect("it is in order"));
        expects
    }

    #[test]
    fn worlds_break_what_is_asked_for() {
        let choice = choose(&["eevdf"]).expect("it is there")[0].choice.clone();
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..300 {
            let world = World::random(seed, &choice);
            let cpus = expects(&[("cpus", "2..4")]).broken_by(&world).is_some();
            assert_eq!(cpus, !(2..=4).contains(&world.cpus), "{seed}");
            assert_eq!(expects(&[("hz", "250")]).broken_by(&world).is_some(), world.hz != 250);
            for (name, thing) in THINGS {
                let broken = expects(&[(name, "no")]).broken_by(&world);
                assert_eq!(broken.is_some(), has(&world, thing));
                if let Some(what) = broken {
                    assert_eq!(what, format!("{name}=no"));
                    seen.insert(name);
                }
            }
            assert_eq!(Expects::default().broken_by(&world), None);
        }
        assert_eq!(seen.len(), THINGS.len(), "worlds vary in all of it: {seen:?}");
    }

    #[test]
    fn what_cannot_be_asked_for_or_promised_is_refused() {
        let wrong = |name, value| Expects::default().add(name, value).expect_err("it is wrong");
        assert!(wrong("cpus", "0").contains("expects cpus=0: write a number or a range"));
        assert!(wrong("cpus", "4..2").contains("4 or 1..4"));
        assert!(wrong("cpus", "many").contains("4 or 1..4"));
        assert!(wrong("cpus", "99999999999").contains("4 or 1..4"));
        assert!(wrong("smt", "yes").contains("write smt=no"));
        assert!(wrong("cpu", "1").contains("there are cpus=4"));
        let wrong =
            |name, value| promise(&mut Promises::default(), name, value).expect_err("wrong");
        assert!(wrong("wait_ns", "5ms").contains("write a time in ns, wait_ns=100000000"));
        assert!(wrong("wait_ns", "0").contains("a time in ns"));
        assert!(wrong("wait", "5").contains("there are wait_ns=N"));
    }
}
