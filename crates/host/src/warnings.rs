//! Conditions of the host that will disturb a run, known beforehand: [`warnings`].

use crate::facts::{Facts, format_cpus};
use crate::noise::Noise;
use schedlab_workload::model::{Action, Loops, Model};

/// Load of others that causes a warning, as a share of the CPUs.
const LOAD: f64 = 0.2;

/// Lists conditions that will disturb a run of `model`, with the load of others beforehand.
pub fn warnings(
    facts: &Facts,
    load: Noise,
    cpus: &[u32],
    model: &Model,
    heavy: bool,
) -> Vec<String> {
    let mut found = vec![];
    if load.foreign > LOAD {
        let remedy = if heavy { "" } else { ", and no heavily weighted group protects the run" };
        found.push(format!(
            "other processes now use {:.0} % of CPUs {}{remedy}",
            load.foreign * 100.0,
            format_cpus(cpus)
        ));
    }
    if load.steal > 0.0 {
        found.push(format!(
            "the hypervisor now gives {:.0} % of the CPUs to other machines",
            load.steal * 100.0
        ));
    }
    let other: Vec<&str> =
        facts.governors.iter().map(String::as_str).filter(|one| *one != "performance").collect();
    if !other.is_empty() {
        found.push(format!(
            "frequencies follow the governor {}; `performance` keeps them steady",
            other.join(", ")
        ));
    }
    if facts.on_battery {
        found.push("this machine runs on battery power".into());
    }
    let busy = hogs(model);
    if busy < cpus.len() {
        let compute = if busy == 1 { "thread computes" } else { "threads compute" };
        found.push(format!(
            "{busy} {compute} all the time, on {} CPUs: other tasks will use the idle ones",
            cpus.len()
        ));
    }
    found
}

/// Returns the number of threads that never block: their last phase, or all phases, repeat forever
/// and only compute.
fn hogs(model: &Model) -> usize {
    let computes = |action: &Action| {
        matches!(
            action,
            Action::Run(_)
                | Action::Runtime(_)
                | Action::Mem(_)
                | Action::MemRun(_)
                | Action::Yield
        )
    };
    let is_hog = |task: &&schedlab_workload::model::Task| {
        let endless: Vec<_> = match task.phases.iter().find(|p| p.loops == Loops::Forever) {
            Some(phase) => vec![phase],
            None if task.loops == Loops::Forever => task.phases.iter().collect(),
            None => return false,
        };
        endless.iter().flat_map(|phase| &phase.events).all(|event| computes(&event.action))
    };
    model.tasks.iter().filter(is_hog).map(|task| task.instances as usize).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;
    use crate::prepared::Prepared;
    use crate::prepared::tests::HOGS;
    use crate::refusals::tests::root;

    #[test]
    fn what_will_disturb_is_said_before() {
        let with = Prepared::new("a.json", HOGS, root(), Options::default()).unwrap();
        let message_of = |facts: &Facts, foreign, cpus: &[u32]| {
            warnings(facts, Noise { foreign, steal: 0.0 }, cpus, &with.model, true).join("\n")
        };
        let mut facts = with.probe.facts.clone();
        assert_eq!(message_of(&facts, 0.2, &[0]), "");
        assert!(message_of(&facts, 0.21, &[0]).contains("other processes now use 21 %"));
        assert!(
            message_of(&facts, 0.0, &[0, 1]).contains("1 thread computes all the time, on 2 CPUs")
        );
        facts.governors = vec!["powersave".into()];
        facts.on_battery = true;
        let both = message_of(&facts, 0.0, &[0]);
        assert!(both.contains("powersave") && both.contains("battery"), "{both}");
    }
}
