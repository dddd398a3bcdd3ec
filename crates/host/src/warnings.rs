//! Conditions of the host that will disturb a run, known beforehand: [`warnings`].

use crate::facts::{Facts, format_cpus};
use crate::noise::Noise;
use schedlab_workload::model::{Action, Loops, Model};

/// Load of others above which is warned, a share of the CPUs.
const LOAD: f64 = 0.2;

/// What will disturb a run of `model`, with the load of others beforehand.
pub fn warnings(
    facts: &Facts,
    load: Noise,
    cpus: &[u32],
    model: &Model,
    heavy: bool,
) -> Vec<String> {
    let mut found = vec![];
    if load.foreign > LOAD {
        let remedy = if heavy { "" } else { ", and there is no group of great weight against it" };
        found.push(format!(
            "others have {:.0} % of CPUs {} now{remedy}",
            load.foreign * 100.0,
            format_cpus(cpus)
        ));
    }
    if load.steal > 0.0 {
        found.push(format!("the hypervisor gives {:.0} % to others now", load.steal * 100.0));
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
        found.push("this machine runs on its battery".into());
    }
    let busy = hogs(model);
    if busy < cpus.len() {
        found.push(format!(
            "{busy} threads compute all the time, on {} CPUs: others will fill those that idle",
            cpus.len()
        ));
    }
    found
}

/// Threads that never block: their last phase, or all of them, goes on for ever and only computes.
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
        let said = |facts: &Facts, foreign, cpus: &[u32]| {
            warnings(facts, Noise { foreign, steal: 0.0 }, cpus, &with.model, true).join("\n")
        };
        let mut facts = with.probe.facts.clone();
        assert_eq!(said(&facts, 0.2, &[0]), "");
        assert!(said(&facts, 0.21, &[0]).contains("others have 21 %"));
        assert!(said(&facts, 0.0, &[0, 1]).contains("1 threads compute all the time, on 2 CPUs"));
        facts.governors = vec!["powersave".into()];
        facts.on_battery = true;
        let both = said(&facts, 0.0, &[0]);
        assert!(both.contains("powersave") && both.contains("battery"), "{both}");
    }
}
