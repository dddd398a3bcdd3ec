//! Golden files: their format, and the conventions of their workloads.

use crate::support::{Ran, run_vm};
use schedlab_core::{GroupId, TaskId};
use schedlab_workload::{Conventions, GoldenFile};

fn text(scenario: &str) -> String {
    format!(
        r#"{{"format": "golden-schedule/1", "kernel": "1.0", "scheduler": "plain",
            "machine": {{"cpus": 1, "hz": 100, "topology": "flat"}},
            "tunables": {{"in_interrupt": 1, "x": -3}}, "groups": {{"/g": {{"shares": 2048}}, "/g/h": {{"shares": 512}}}},
            "scenario": {{"global": {{"duration": 1}}, "tasks": {{{scenario}}}}},
            "slices": [[0, 0, 10, "a-0"]],
            "tasks": {{"a-0": {{"runtime_ns": 10, "switches_in": 1, "wakeups": 2, "migrations": 3, "wait_ns": 4, "max_wait_ns": 5}}}},
            "end_ns": 1000000000, "notes": "none"}}"#
    )
}

fn run(scenario: &str, conventions: Conventions) -> Ran {
    let file =
        GoldenFile::parse("g.json", &text(scenario)).unwrap_or_else(|error| panic!("{error}"));
    let vm = file.workload(&[GroupId(1), GroupId(2)], conventions).unwrap();
    run_vm(1, vm)
}

#[test]
fn everything_in_the_file_is_read() {
    let file = GoldenFile::parse(
        "g.json",
        &text(r#""a": {"instance": 2, "taskgroup": "/g/h", "run": 5}"#),
    )
    .unwrap();
    assert_eq!((file.kernel.as_str(), file.scheduler.as_str()), ("1.0", "plain"));
    assert_eq!((file.cpus, file.hz, file.end_ns), (1, 100, 1_000_000_000));
    assert_eq!(file.tunables, [("in_interrupt".into(), 1), ("x".into(), -3)]);
    assert_eq!(file.threads, ["a-0", "a-1"]);
    assert_eq!((file.groups[1].parent, file.groups[1].shares), (Some(0), 512));
    assert_eq!((file.slices[0].end_ns, file.slices[0].task), (10, TaskId(0)));
    assert_eq!((file.figures[0].switches_in, file.figures[0].max_wait_ns), (1, 5));
    let vm = file.workload(&[GroupId(7), GroupId(9)], Conventions::default()).unwrap();
    let ran = run_vm(1, vm);
    assert_eq!(ran.born[0].attr.group, GroupId(9));
    assert_ne!(ran.born[0].attr.address_space, ran.born[1].attr.address_space);
    assert!(file.workload(&[], Conventions::default()).is_err());
}

#[test]
fn resumes_are_remembered_and_name_threads() {
    let ran = run(
        r#""a": {"instance": 2, "loop": 1, "phases": {"p": {"loop": 3, "suspend0": "a-0", "run0": 10}}},
           "r": {"loop": 1, "run0": 100, "resume0": "a-1", "run1": 100, "resume1": "a-1", "resume_sync2": "a-1"}"#,
        Conventions::default(),
    );
    // The resumes at 200 find a-1 awake already: it passes its next two suspends.
    assert_eq!(ran.ops(), "0 a-0 block, 0 a-1 block, 100 r-0 wake a-1");
    assert_eq!(ran.slices(), "r-0 0..200, a-1 200..230");
}

#[test]
fn a_program_that_ends_with_a_sleep() {
    let scenario = r#""a": {"loop": 1, "run": 10, "sleep": 10}, "b": {"loop": 1, "run": 100}"#;
    let ran = run(scenario, Conventions::default());
    assert_eq!(ran.now_ns, 110_000);
    let ran = run(scenario, Conventions { exit_from_sleep: true, ..Conventions::default() });
    assert_eq!((ran.now_ns, ran.slices().as_str()), (110_000, "a-0 0..10, b-0 10..110"));
    assert!(!ran.ops.iter().any(|(now, task, _)| *now > 10_000 && *task == TaskId(0)));
}

#[test]
fn three_ways_to_set_a_phases_priority_after_a_sleep() {
    let scenario = r#""a": {"loop": 2, "phases": {
        "p": {"priority": 1, "run": 10, "sleep": 10}, "q": {"priority": 2, "run": 10}, "r": {"priority": 3, "run": 10}
    }}, "b": {"loop": 1, "run": 100}"#;
    let changes = |conventions| run(scenario, conventions).attr_changes();
    assert_eq!(
        changes(Conventions::default()),
        "0 a-0 a-0 is other 1, 110 a-0 a-0 is other 2, 120 a-0 a-0 is other 3, 130 a-0 a-0 is other 1, \
         150 a-0 a-0 is other 2, 160 a-0 a-0 is other 3"
    );
    // At the start and after the sleep it is ignored.
    let cfs = Conventions { renice_only_running: true, ..Conventions::default() };
    assert_eq!(
        changes(cfs),
        "120 a-0 a-0 is other 3, 130 a-0 a-0 is other 1, 160 a-0 a-0 is other 3"
    );
    // There it is set before the task is queued, so it does not appear among the operations of a
    // running task.
    let eevdf = Conventions { renice_before_wake: true, ..Conventions::default() };
    assert_eq!(
        changes(eevdf),
        "120 a-0 a-0 is other 3, 130 a-0 a-0 is other 1, 160 a-0 a-0 is other 3"
    );
}

#[test]
fn yields_and_sleeps_as_told() {
    let scenario = r#""a": {"loop": 1, "run": 10, "yield": "", "sleep": 10, "run1": 1}"#;
    assert_eq!(run(scenario, Conventions::default()).ops(), "10 a-0 yield, 10 a-0 sleep 20");
    let conventions =
        Conventions { yield_goes_on: true, uninterruptible: true, ..Conventions::default() };
    let ran = run(scenario, conventions);
    assert_eq!(ran.ops(), "10 a-0 yield and continue, 10 a-0 sleep 20");
    assert!(format!("{:?}", ran.ops).contains("Uninterruptible"));
}

#[test]
fn files_that_are_not_as_they_should_be() {
    let good = text(r#""a": {"run": 5}"#);
    for (from, to, expected) in [
        ("golden-schedule/1", "golden-schedule/2", "the file's format is `golden-schedule/2`"),
        ("\"kernel\"", "\"kernal\"", "unknown key `kernal`"),
        (
            "\"hz\": 100",
            "\"hz\": 0",
            "`hz` must be a number of ticks per second from 1 to 10000, found 0",
        ),
        (
            "\"cpus\": 1",
            "\"cpus\": 5000",
            "`cpus` must be a number of CPUs from 1 to 4096, found 5000",
        ),
        ("\"flat\"", "\"round\"", "unknown topology `round`"),
        ("-3", "\"x\"", "`x` must be a whole number, found a string"),
        ("\"/g\":", "\"/f\":", "the group `/g` must come first"),
        ("\"shares\": 512", "\"share\": 512", "unknown key `share`"),
        ("[0, 0, 10, \"a-0\"]", "[0, 0, 10]", "a slice is [cpu, start_ns, end_ns, \"task\"]"),
        ("10, \"a-0\"", "10, \"a-1\"", "there is no thread `a-1`"),
        ("[0, 0, 10", "[1, 0, 10", "this must be a CPU's number from 0 to 0, found 1"),
        ("\"wakeups\": 2,", "", "`wakeups` is missing"),
        ("\"end_ns\": 1000000000,", "", "`end_ns` is missing"),
        ("\"run\": 5", "\"rum\": 5", "unknown key `rum` in task `a`"),
        ("\"run\": 5", "\"run\": 5, \"resume\": \"a\"", "there is no thread `a` to resume"),
        (
            "\"run\": 5",
            "\"run\": 5, \"taskgroup\": \"/z\"",
            "a task is in `/z`, which is missing from `groups`",
        ),
    ] {
        assert!(good.contains(from), "{from}");
        let error = GoldenFile::parse("g.json", &good.replacen(from, to, 1)).unwrap_err();
        assert_eq!(error.message(), expected, "{to}");
        assert!(error.line() > 0);
    }
}
