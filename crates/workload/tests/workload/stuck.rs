//! Runs in which no thread can ever run again, and their diagnosis.

use crate::support::run_on;
use schedlab_machine::RunEnd;
use schedlab_workload::WaitsFor;

#[test]
fn threads_that_hold_what_the_others_want() {
    let ran = run_on(
        4,
        r#"{"tasks": {
        "a": {"loop": 1, "lock": "m", "run": 10, "lock1": "n", "unlock1": "n", "unlock": "m"},
        "b": {"loop": 1, "lock": "n", "run": 20, "lock1": "m", "unlock1": "m", "unlock": "n"},
        "c": {"delay": 30, "loop": 1, "phases": {"p": {"lock": "m", "unlock": "m"}}}
    }}"#,
    );
    assert_eq!(ran.end, Ok(RunEnd::Stuck));
    let expected = "\
3 threads wait for others:
  a-0 waits for mutex `n`, held by b-0 (`lock1`, since 0.000010000 s)
  b-0 waits for mutex `m`, held by a-0 (`lock1`, since 0.000020000 s)
  c-0 waits for mutex `m`, held by a-0 (`lock` in phase `p`, since 0.000030000 s)
in a cycle: a-0 -> `n` -> b-0 -> `m` -> a-0";
    let deadlock = ran.vm.wait_graph();
    assert_eq!(deadlock.to_string(), expected);
    assert_eq!(deadlock.circles, [vec![0, 1]]);
}

#[test]
fn the_same_with_inheritance_does_not_go_round_for_ever() {
    let ran = run_on(
        4,
        r#"{"global": {"pi_enabled": true}, "tasks": {
        "a": {"loop": 1, "lock": "m", "run": 10, "lock1": "n", "unlock1": "n", "unlock": "m"},
        "b": {"loop": 1, "lock": "n", "run": 20, "lock1": "m", "unlock1": "m", "unlock": "n"},
        "c": {"policy": "SCHED_FIFO", "delay": 30, "loop": 1, "lock": "m", "unlock": "m"}
    }}"#,
    );
    assert_eq!(ran.end, Ok(RunEnd::Stuck));
    assert_eq!(ran.attr_changes(), "30 c-0 a-0 is fifo 10, 30 c-0 b-0 is fifo 10");
}

#[test]
fn a_signal_that_came_too_early() {
    let ran = run_on(
        2,
        r#"{"tasks": {
        "w": {"loop": 1, "run": 50, "lock": "m", "wait": {"ref": "c", "mutex": "m"}, "unlock": "m"},
        "s": {"loop": 1, "run": 10, "signal": "c"}
    }}"#,
    );
    assert_eq!(ran.end, Ok(RunEnd::Stuck));
    let expected = "\
1 thread waits for others:
  w-0 waits for condition `c` (`wait`, since 0.000050000 s)";
    assert_eq!(ran.vm.wait_graph().to_string(), expected);
}

#[test]
fn barriers_semaphores_and_suspension() {
    let ran = run_on(
        2,
        r#"{"tasks": {
        "a": {"loop": 2, "run": 10, "barrier": "x"},
        "b": {"loop": 1, "run": 10, "barrier": "x"},
        "c": {"loop": 1, "run": 5, "sem_wait": "s"},
        "d": {"loop": 1, "run": 5, "suspend": "d"}
    }}"#,
    );
    assert_eq!(ran.end, Ok(RunEnd::Stuck));
    let waits: Vec<WaitsFor> =
        ran.vm.wait_graph().waiting.into_iter().map(|thread| thread.waits_for).collect();
    assert_eq!(
        waits,
        [
            WaitsFor::Barrier { name: "x".into(), come: 1, needed: 2 },
            WaitsFor::Semaphore { name: "s".into() },
            WaitsFor::Resume,
        ]
    );
}

#[test]
fn long_lists_are_cut() {
    let ran = run_on(1, r#"{"tasks": {"a": {"instance": 5000, "loop": 1, "sem_wait": "s"}}}"#);
    let text = ran.vm.wait_graph().to_string();
    assert_eq!(text.lines().count(), 22);
    assert!(text.ends_with("and 4980 more"), "{text}");
}
