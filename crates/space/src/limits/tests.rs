//! Limits of small workloads whose answers can be worked out by hand.

use super::*;
use schedlab_lab::plan::{Load, Source};

/// A task that works 20 ms of every 100 ms.
const STEADY: &str = r#"{"global": {"duration": 4}, "tasks": {"a": {"taskgroup": "/box", "loop": -1,
    "run": 20000, "timer": {"ref": "unique", "period": 100000, "mode": "absolute"}}}}"#;

fn spec(text: &str, aims: &[&str]) -> LimitsSpec {
    let source = Source { file: "w.json".into(), text: text.into() };
    let plan = Plan {
        seed: Some(1),
        repeat: 3,
        ..Plan::new(Load::Workload(source), vec!["eevdf".into()])
    };
    LimitsSpec {
        work: Work::Workload(Box::new(plan)),
        group: "/box".into(),
        quotas: vec![],
        periods_us: vec![100_000],
        bursts_us: vec![0],
        cpus: vec![],
        threads: None,
        present: None,
        repeat: 3,
        first_seed: 1,
        aims: aims.iter().map(|text| Aim::parse(text).expect("good")).collect(),
    }
}

fn run(spec: &LimitsSpec) -> Result<Limits, String> {
    Limits::run(spec, NonZeroUsize::MIN, || ())
}

#[test]
fn the_least_limit_is_found_to_a_percent() {
    let limits = run(&spec(STEADY, &["throttled < 1%"])).expect("it runs");
    let (line, cell) = limits.best().expect("one holds");
    // Depending on the phase, the 20 ms lie in one period or in two. A CPU takes the quota in
    // slices, and a run uses what its CPU took.
    let percent = cell.limit.quota_us.expect("limited") / 1000;
    assert!((20..=30).contains(&percent), "{percent}");
    assert_eq!(line.cpus, 1);
    let p99 = line.unlimited.band(Figure::P99).expect("there are requests");
    assert_eq!((p99.min, p99.max), (20e6, 20e6));
    let percents: Vec<u64> =
        line.cells.iter().filter_map(|cell| Some(cell.limit.quota_us? / 1000)).collect();
    assert!(percents.is_sorted() && percents[0] == 14, "{percents:?}");
    let below = &line.cells[line.least.expect("found") - 1];
    assert_eq!(below.limit.quota_us.map(|us| us / 1000 + 1), Some(percent));
    // With a limit below its demand, the group falls behind.
    assert!(!line.keeps_up(&line.cells[0]) && line.keeps_up(cell));
}

#[test]
fn aims_that_no_limit_holds_are_held_by_none() {
    let limits = run(&spec(STEADY, &["p99 < 10ms"])).expect("it runs");
    assert!(limits.best().is_none());
}

#[test]
fn a_row_of_zeros_is_an_answer() {
    let hog = r#"{"global": {"duration": 1}, "tasks": {"a": {"taskgroup": "/box", "loop": -1,
        "run": 1000000}}}"#;
    let limits = run(&spec(hog, &[])).expect("it runs");
    assert_eq!(limits.criterion, Criterion::NeverThrottled);
    let (line, cell) = limits.best().expect("a whole CPU suffices");
    assert_eq!((cell.limit.quota_us, cell.band(Figure::P99)), (Some(100_000), None));
    assert_eq!(cell.band(Figure::Throttled).map(|band| band.max), Some(0.0));
    assert!(line.unlimited.band(Figure::Cpus).is_some_and(|band| band.median > 0.99));
}

#[test]
fn quotas_that_are_given_are_the_ones_that_run() {
    let mut spec = spec(STEADY, &[]);
    spec.quotas = ["50ms", "10ms", "0.5cpu"].map(|it| QuotaSize::parse(it).expect("good")).into();
    spec.periods_us = vec![50_000, 100_000];
    spec.bursts_us = vec![0, 20_000];
    let limits = run(&spec).expect("it runs");
    let quotas = |line: &Line| -> Vec<u64> {
        line.cells.iter().filter_map(|cell| cell.limit.quota_us).collect()
    };
    let lines: Vec<_> = limits.lines.iter().map(quotas).collect();
    assert_eq!(lines[0], [10_000, 25_000, 50_000]);
    assert_eq!(lines[1], [25_000, 50_000]);
    assert_eq!(lines[2], [10_000, 50_000]);
    assert!(limits.notes[0].contains("less than the burst"), "{:?}", limits.notes);
}

#[test]
fn what_cannot_run_is_refused() {
    let error = |change: fn(&mut LimitsSpec)| {
        let mut spec = spec(STEADY, &[]);
        change(&mut spec);
        run(&spec).expect_err("it is refused")
    };
    assert_eq!(
        error(|spec| spec.group = "/bx".into()),
        "--group: there is no group /bx; did you mean /box?"
    );
    assert!(error(|spec| spec.group = "/".into()).contains("the root group has no limit"));
    let no_quotas = error(|spec| {
        if let Work::Workload(plan) = &mut spec.work {
            plan.schedulers = vec!["cfs@2.6.32".into()];
        }
    });
    assert!(no_quotas.contains("limit"), "{no_quotas}");
}
