//! Whether a random world violates the assumptions of a sched_ext policy, so that the policy cannot
//! fail in it.

use crate::stress::World;
use schedlab_lab::scx::expects_of;
use schedlab_lab::scx_expects::{Expects, Feature};
use schedlab_lab::select::Choice;
use std::ops::RangeInclusive;

/// Returns the assumption of a policy that `world` violates. `None`: it violates none, or `choice`
/// is not a policy.
pub fn broken_by(choice: &Choice, world: &World) -> Option<String> {
    violated(expects_of(choice)?, world)
}

fn violated(expects: &Expects, world: &World) -> Option<String> {
    let outside = |name: &str, range: Option<&RangeInclusive<u32>>, number: u32| {
        let range = range.filter(|range| !range.contains(&number))?;
        Some(format!("{name}={}..{}", range.start(), range.end()))
    };
    outside("cpus", expects.cpus(), world.cpus)
        .or_else(|| outside("hz", expects.hz(), world.hz))
        .or_else(|| {
            let present = expects.without().find(|(_, feature)| has(world, *feature));
            present.map(|(name, _)| format!("{name}=no"))
        })
}

fn has(world: &World, feature: Feature) -> bool {
    let changed = |word: &str| world.changes.iter().any(|line| line.contains(word));
    let set = |word: &str| world.group_settings.iter().any(|option| option.contains(word));
    match feature {
        Feature::Smt => {
            let topology = world.topology();
            let core = |cpu| topology.place(schedlab_core::CpuId(cpu)).core;
            let mut cores: Vec<u32> = (0..world.cpus).map(core).collect();
            cores.sort_unstable();
            cores.windows(2).any(|pair| pair[0] == pair[1])
        }
        Feature::Numa => world.topology().nodes() > 1,
        Feature::Hotplug => changed(" offline "),
        Feature::Affinity => {
            let bound = |task: &schedlab_workload::model::Task| {
                let phases = task.phases.iter().any(|phase| phase.properties.cpus.is_some());
                task.properties.cpus.is_some() || phases
            };
            world.model.tasks.iter().any(bound)
                || changed(" taskset ")
                || changed("cpuset.cpus")
                || set("cpuset.cpus")
        }
        Feature::Groups => !world.groups.is_empty(),
        Feature::Limits => world.limits,
        Feature::Changes => !world.changes.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_lab::scx_expects::FEATURES;
    use schedlab_lab::select::choose;

    fn expects(all: &[(&str, &str)]) -> Expects {
        let mut expects = Expects::default();
        all.iter()
            .for_each(|(name, value)| expects.add(name, value).expect("the items are well formed"));
        expects
    }

    #[test]
    fn worlds_break_what_is_asked_for() {
        let choice = choose(&["eevdf"]).expect("the scheduler exists")[0].choice.clone();
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..300 {
            let world = World::random(seed, &choice);
            let cpus = violated(&expects(&[("cpus", "2..4")]), &world).is_some();
            assert_eq!(cpus, !(2..=4).contains(&world.cpus), "{seed}");
            assert_eq!(violated(&expects(&[("hz", "250")]), &world).is_some(), world.hz != 250);
            for (name, feature) in FEATURES {
                let broken = violated(&expects(&[(name, "no")]), &world);
                assert_eq!(broken.is_some(), has(&world, feature));
                if let Some(what) = broken {
                    assert_eq!(what, format!("{name}=no"));
                    seen.insert(name);
                }
            }
            assert_eq!(violated(&Expects::default(), &world), None);
        }
        assert_eq!(seen.len(), FEATURES.len(), "worlds vary in all features: {seen:?}");
    }
}
