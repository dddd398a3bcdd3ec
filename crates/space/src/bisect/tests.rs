//! Tests of walks and of the causes of their steps.

use super::*;
use schedlab_lab::plan::{Load, Plan, Source};
use std::num::NonZeroUsize;

/// A parent that forks a short child and computes on, time after time.
const FORKS: &str = r#"{"global": {"duration": 1}, "tasks": {
    "parent": {"loop": -1, "run0": 1500, "fork": "child", "run1": 2500},
    "child": {"instance": 0, "loop": 1, "run": 200}
}}"#;

fn plan(text: &str) -> Plan {
    let load = Load::Workload(Source { file: "w.json".into(), text: text.into() });
    Plan::new(load, vec![])
}

fn names(walk: &Walk) -> Vec<String> {
    walk.points.iter().map(Point::to_string).collect()
}

fn one() -> NonZeroUsize {
    NonZeroUsize::MIN
}

#[test]
fn a_walk_goes_through_the_defaults_of_linux_in_the_order_of_kernels() {
    let walk = Walk::between(&plan(FORKS), "5.15", "6.12").unwrap();
    assert_eq!(
        names(&walk),
        ["cfs@5.15", "cfs@6.1", "eevdf@6.6", "eevdf@6.8", "eevdf@6.11", "eevdf@6.12"]
    );
    assert!(walk.notes.is_empty(), "{:?}", walk.notes);
    let walk = Walk::between(&plan(FORKS), "2.6.9", "2.6.24");
    let names = names(&walk.unwrap());
    assert!(names[0].starts_with("o_1@") && names.last().unwrap() == "cfs@2.6.24", "{names:?}");
    let walk = Walk::between(&plan(FORKS), "4.14", "5.4").unwrap();
    assert!(self::names(&walk).iter().all(|name| !name.contains("el8")));
}

#[test]
fn settings_are_switched_before_releases() {
    let (from, to) = ("eevdf@6.18", "eevdf@6.18:RUN_TO_PARITY=0,base_slice_ns=3ms");
    let walk = Walk::between(&plan(FORKS), from, to).unwrap();
    assert_eq!(
        names(&walk),
        [
            "eevdf@6.18",
            "eevdf@6.18[RUN_TO_PARITY=0]",
            "eevdf@6.18[RUN_TO_PARITY=0,base_slice_ns=3000000]"
        ]
    );
    assert_eq!(walk.points[1].way, Way::Setting("RUN_TO_PARITY".into()));
    // A setting that only later releases have comes with the first of them.
    let walk = Walk::between(&plan(FORKS), "6.11", "eevdf@6.14:PREEMPT_SHORT=0").unwrap();
    assert_eq!(
        names(&walk),
        ["eevdf@6.11", "eevdf@6.12[PREEMPT_SHORT=0]", "eevdf@6.14[PREEMPT_SHORT=0]"]
    );
}

#[test]
fn ends_that_make_no_walk_are_refused() {
    let refused = |from: &str, to: &str, part: &str| {
        let error = Walk::between(&plan(FORKS), from, to).err().expect("it is refused");
        assert!(error.contains(part), "no \"{part}\" in: {error}");
    };
    refused("7.0", "6.6", "eevdf@7.0 is later than eevdf@6.6; swap the two");
    refused("6.18", "eevdf", "there is no difference");
    refused("nothing", "6.6", "--from: there is no scheduler \"nothing\"");
    refused("6.6", "eevdf@5.0", "--to: there is no release \"5.0\"");
    refused("all", "6.6", "name one release");
    refused("6.6", "eevdf@6.18:NO_SUCH=1", "NO_SUCH is not a tunable");
}

#[test]
fn schedulers_without_releases_in_between_make_one_step() {
    let walk = Walk::between(&plan(FORKS), "bore", "eevdf@6.18:RUN_TO_PARITY=0").unwrap();
    assert_eq!(
        names(&walk),
        ["bore@6.7.3", "bore@6.7.3[RUN_TO_PARITY=0]", "eevdf@6.18[RUN_TO_PARITY=0]"]
    );
    assert!(walk.notes[0].contains("different schedulers"), "{:?}", walk.notes);
    let metric = metric_of("switches", &walk).unwrap();
    let [from, to] = [&walk.points[1], &walk.points[2]];
    let causes = causes::find(from, to, (1.0, 2.0), &metric, one(), || ());
    let names: Vec<&str> = causes.all.iter().map(|cause| cause.name.as_str()).collect();
    assert!(names.contains(&"sched_bore"), "{names:?}");
    // A scheduler of another kind shares no rules or settings.
    let walk = Walk::between(&plan(FORKS), "bfs", "eevdf").unwrap();
    let [from, to] = [&walk.points[0], &walk.points[1]];
    assert!(causes::find(from, to, (1.0, 2.0), &metric, one(), || ()).all.is_empty());
}

#[test]
fn the_fork_change_of_6_19_is_found() {
    let walk = Walk::between(&plan(FORKS), "6.14", "7.0").unwrap();
    let metric = metric_of("key_wait_mean(child)", &walk);
    let metric = metric.or_else(|_| metric_of("wait of child", &walk)).unwrap();
    let bisect = Bisect::run(walk, metric, 0.05, one(), || ()).unwrap();
    let steps: Vec<Step> = bisect.steps().into_iter().filter(|step| bisect.counts(step)).collect();
    let to: Vec<String> =
        steps.iter().map(|step| bisect.walk.points[step.to].to_string()).collect();
    assert!(to.contains(&"eevdf@6.19".to_string()), "{:?}", bisect.readings);
    let step = steps[to.iter().position(|name| name == "eevdf@6.19").unwrap()];
    let causes = bisect.causes(&step, one(), || ());
    let Verdict::One(cause) = causes.verdict() else { panic!("{causes:?}") };
    assert_eq!(cause.name, "only_short_children_preempt");
    assert!(bisect.parting(&step).unwrap().is_some());
}

#[test]
fn a_metric_is_checked_before_anything_runs() {
    let walk = Walk::between(&plan(FORKS), "6.6", "6.8").unwrap();
    let refused = |text: &str| metric_of(text, &walk).unwrap_err();
    assert!(refused("wakeup_latency_p98").contains("did you mean"));
    assert!(refused("wait of chld").contains("did you mean child?"), "{}", refused("wait of chld"));
    assert!(refused("figure(time)").contains("only a benchmark has figures"));
}

#[test]
fn changes_from_nothing_are_infinite() {
    let step = |from, to| Step { from: 0, to: 1, values: (from, to) };
    assert_eq!(step(0.0, 0.0).change(), 0.0);
    assert_eq!(step(0.0, 5.0).change(), f64::INFINITY);
    assert_eq!(step(4.0, 3.0).change(), -0.25);
}

#[test]
fn verdicts_follow_from_the_parts() {
    let cause = |name: &str, alone, without| Cause {
        name: name.into(),
        text: String::new(),
        values: (Some(0), Some(1)),
        is_rule: true,
        can_switch: true,
        alone: Some(alone),
        without: Some(without),
        error: None,
    };
    let causes = |all: Vec<Cause>, together| Causes { all, together, values: (10.0, 20.0) };
    let all = causes(vec![cause("a", 10.0, 19.0), cause("b", 19.0, 10.5)], Some(20.0));
    assert!(matches!(all.verdict(), Verdict::One(it) if it.name == "b"), "{:?}", all.verdict());
    let needed = causes(vec![cause("a", 10.0, 11.0)], Some(20.0));
    assert!(matches!(needed.verdict(), Verdict::Needed(_)));
    let suffices = causes(vec![cause("a", 18.0, 20.0)], Some(20.0));
    assert!(matches!(suffices.verdict(), Verdict::Suffices(_)));
    let several = causes(vec![cause("a", 13.0, 18.0)], Some(20.0));
    assert!(matches!(several.verdict(), Verdict::Several));
    let rest = causes(vec![cause("a", 13.0, 18.0)], Some(13.0));
    assert!(matches!(rest.verdict(), Verdict::NotSeparable));
}

/// Sleepers, hogs, forks, yields, idle tasks, groups and quotas on three CPUs.
const MIXED: &str = r#"{"global": {"duration": 1}, "tasks": {
    "hog": {"instance": 3, "loop": -1, "run": 7000, "taskgroup": "/a"},
    "capped": {"instance": 2, "loop": -1, "run": 5000, "taskgroup": "/b"},
    "sleeper": {"instance": 4, "loop": -1, "run": 900, "sleep": 2300},
    "nice": {"priority": 7, "loop": -1, "run": 3100, "sleep": 500},
    "idle": {"policy": "SCHED_IDLE", "instance": 2, "loop": -1, "run": 4000, "sleep": 1000},
    "yields": {"loop": -1, "run0": 400, "yield": "", "run1": 300, "sleep": 700},
    "parent": {"loop": -1, "run0": 1500, "fork": "child", "run1": 2500, "sleep": 5000},
    "child": {"instance": 0, "loop": 2, "run": 300, "sleep": 100}
}}"#;

fn mixed() -> Plan {
    let mut plan = plan(MIXED);
    plan.machine.cpus = Some(3);
    plan.groups.settings = vec!["/a:cpu.weight=300".into(), "/b:cpu.max=8000 20000".into()];
    plan
}

#[test]
fn releases_are_their_differences() {
    let walk = Walk::between(&mixed(), "4.14", "7.3").unwrap();
    let metric = metric_of("switches", &walk).unwrap();
    let mut whole = vec![];
    for pair in walk.points.windows(2) {
        let [from, to] = pair else { unreachable!("pairs") };
        let values = [from, to].map(|point| point.read(&metric).value.unwrap());
        let causes = causes::find(from, to, (values[0], values[1]), &metric, one(), || ());
        let broken: Vec<&Cause> = causes.all.iter().filter(|it| it.error.is_some()).collect();
        assert!(broken.is_empty(), "{from} to {to}: {broken:?}");
        if from.choice.entry.name == to.choice.entry.name && causes.fixed().is_empty() {
            // Nothing else differs: with all differences switched, one release is the other.
            let set = causes.all.iter().filter_map(Cause::adopted).collect::<Vec<_>>();
            let (prepared, scheduler) = from.side().unwrap();
            let mut switched = scheduler.clone();
            switched.tunables = set;
            let parting = explain::parting((prepared, &switched), to.side().unwrap()).unwrap();
            assert!(parting.is_none(), "{from} with all differences of {to}: {parting:?}");
            whole.push(to.to_string());
        }
    }
    assert_eq!(
        whole,
        ["cfs@6.1", "eevdf@6.11", "eevdf@6.14", "eevdf@6.19", "eevdf@7.0", "eevdf@7.2"]
    );
}
