//! Errors found before a run, and their messages.

use crate::support::refusal;
use schedlab_workload::{Target, generate, rt_app};

/// Returns line, column, path and message of a refusal.
fn said(text: &str) -> String {
    let error = refusal(text);
    format!("{}:{} {}: {}", error.line(), error.column(), error.path(), error.message())
}

/// Returns the error of a task `a` with these members.
fn of_task(members: &str) -> String {
    let text = format!("{{\"tasks\": {{\"a\": {{\n{members}}}}}}}");
    let error = refusal(&text);
    format!("{} {}: {}", error.column(), error.path(), error.message())
}

/// Returns the error of an event in an otherwise valid task.
fn of_event(event: &str) -> String {
    of_task(&format!("{event}, \"loop\": 1, \"sleep\": 1"))
}

#[test]
fn a_whole_message() {
    let text = "{\n  \"tasks\": {\n    \"video\": {\n      \"phases\": {\n        \"decode\": {\"rum\": 2000}\n      }\n    }\n  }\n}";
    let expected = "\
error: unknown key `rum` in phase `decode` of task `video`
  --> test.json:5:20 (tasks.video.phases.decode.rum)
   |
 5 |         \"decode\": {\"rum\": 2000}
   |                    ^^^^^
   = help: did you mean `run`?";
    assert_eq!(refusal(text).to_string(), expected);
}

#[test]
fn the_file_as_a_whole() {
    for (text, expected) in [
        ("", "1:1 : the file is empty"),
        ("[]", "1:1 : this must be an object, found an array"),
        ("{}", "1:1 : `tasks` is missing from the file"),
        (r#"{"tasks": {}}"#, "1:11 tasks: there are no tasks"),
        (r#"{"tasks": 5}"#, "1:11 tasks: `tasks` must be an object, found 5"),
        (r#"{"task": {}}"#, "1:2 task: unknown section `task`"),
        (r#"{"tasks": {"a": {}}, "tasks": {}}"#, "1:22 tasks: `tasks` is repeated"),
        (r#"{"tasks": {"a": {"run": 1}, "a": {}}}"#, "1:29 tasks.a: task `a` is repeated"),
        (r#"{"tasks": {"": {}}}"#, "1:12 tasks: a task needs a name"),
        (r#"{"tasks": {"a": []}}"#, "1:17 tasks.a: `a` must be an object, found an array"),
        (
            r#"{"global": [], "tasks": {}}"#,
            "1:12 global: `global` must be an object, found an array",
        ),
        (
            r#"{"tasks": {"a": {"instance": 300000, "loop": 1}, "b": {"instance": 200001, "loop": 1}}}"#,
            "1:2 tasks: the run would begin with 500001 threads, more than 500000",
        ),
    ] {
        assert_eq!(said(text), expected, "{text}");
    }
}

#[test]
fn global_keys() {
    let of_global = |members: &str| {
        let error = refusal(&format!("{{\"global\": {{\n{members}}}, \"tasks\": {{}}}}"));
        format!("{} {}: {}", error.column(), error.path(), error.message())
    };
    for (members, expected) in [
        (
            r#""duration": "2""#,
            "13 global.duration: `duration` must be a number of seconds, or -1: until all tasks have ended",
        ),
        (
            r#""duration": -5"#,
            "13 global.duration: `duration` must be a number of seconds, or -1: until all tasks have ended",
        ),
        (
            r#""default_policy": "SCHED_FOO""#,
            "19 global.default_policy: unknown policy `SCHED_FOO`",
        ),
        (r#""pi_enabled": 1"#, "15 global.pi_enabled: `pi_enabled` must be true or false, found 1"),
        (
            r#""calibration": "GPU0""#,
            "16 global.calibration: `calibration` must be \"CPUn\" or a whole number of ns per loop",
        ),
        (r#""logdir": {}"#, "11 global.logdir: `logdir` must be a string, a number, true or false"),
        (r#""durations": 2"#, "1 global.durations: unknown key `durations` in `global`"),
    ] {
        assert_eq!(of_global(members), expected, "{members}");
    }
}

#[test]
fn task_and_phase_keys() {
    for (members, expected) in [
        (
            r#""instance": -1, "run": 1"#,
            "13 tasks.a.instance: `instance` must be a whole number of threads from 0 to 500000, found -1",
        ),
        (
            r#""delay": 1.0005, "run": 1"#,
            "10 tasks.a.delay: `delay` must be a number of microseconds from 0 to 9223372036854775 with at most three decimals, found 1.0005",
        ),
        (
            r#""loop": -2, "run": 1"#,
            "9 tasks.a.loop: `loop` must be a whole number of rounds from -1 up, found -2",
        ),
        (r#""prio": 5, "run": 1"#, "1 tasks.a.prio: unknown key `prio` in task `a`"),
        (
            r#""phases": {"p": {"instance": 3}}"#,
            "18 tasks.a.phases.p.instance: `instance` belongs to a task, not to a phase",
        ),
        (
            r#""phases": {"p": {"foo": 3}}"#,
            "18 tasks.a.phases.p.foo: unknown key `foo` in phase `p` of task `a`",
        ),
        (
            r#""run": 5, "phases": {"p": {}}"#,
            "1 tasks.a.run: task `a` has events next to its `phases`",
        ),
        (r#""phases": {}, "phases": {}"#, "15 tasks.a.phases: `phases` is repeated in this task"),
        (r#""policy": "sched_fifo""#, "11 tasks.a.policy: unknown policy `sched_fifo`"),
        (r#""cpus": []"#, "9 tasks.a.cpus: `cpus` must name at least one CPU"),
        (r#""cpus": [0, "1"]"#, "13 tasks.a.cpus: this must be a CPU's number, found a string"),
        (r#""cpus": [1, 2], "run": 1"#, "9 tasks.a.cpus: there is no CPU 2"),
        (
            r#""util_min": 1025"#,
            "13 tasks.a.util_min: `util_min` must be a utilisation from 0 to 1024, found 1025",
        ),
        (
            r#""util_min": 10, "util_max": 9"#,
            "13 tasks.a.util_min: `util_min` (10) is larger than `util_max` (9)",
        ),
        (r#""taskgroup": 5"#, "14 tasks.a.taskgroup: `taskgroup` must be a string, found 5"),
        (r#""taskgroup": "/a/.."#, "14 : this string is not closed"),
        (r#""taskgroup": "/a/..""#, "14 tasks.a.taskgroup: a group cannot be called `..`"),
        (
            r#""dl-runtime": 0, "run": 1"#,
            "15 tasks.a.dl-runtime: `dl-runtime` must be a whole number of microseconds from 1 to 9223372036854775, found 0",
        ),
    ] {
        assert_eq!(of_task(members), expected, "{members}");
    }
}

#[test]
fn priorities_outside_the_range_of_the_policy_in_force() {
    for (members, expected) in [
        (
            r#""priority": 20"#,
            "13 tasks.a.priority: the priority (nice value) of SCHED_OTHER must be from -20 to 19, found 20",
        ),
        (
            r#""policy": "SCHED_FIFO", "priority": 0"#,
            "37 tasks.a.priority: the priority of SCHED_FIFO must be from 1 to 99, found 0",
        ),
        (
            r#""phases": {"p": {"policy": "SCHED_RR"}, "q": {"priority": -3, "sleep": 1}}"#,
            "59 tasks.a.phases.q.priority: the priority of SCHED_RR must be from 1 to 99, found -3",
        ),
        // Only in the second round is p under SCHED_RR.
        (
            r#""phases": {"p": {"priority": -3, "sleep": 1}, "q": {"policy": "SCHED_RR"}}"#,
            "30 tasks.a.phases.p.priority: the priority of SCHED_RR must be from 1 to 99, found -3",
        ),
    ] {
        assert_eq!(of_task(members), expected, "{members}");
    }
    // With one round there is no second one.
    let once = r#"{"tasks": {"a": {"loop": 1, "phases": {"p": {"priority": -3}, "q": {"policy": "SCHED_RR"}}}}}"#;
    assert!(rt_app::load("t", once, &Target::new(1)).is_ok());
}

#[test]
fn deadline_figures() {
    for (members, expected) in [
        (
            r#""policy": "SCHED_DEADLINE", "dl-period": 5"#,
            "42 tasks.a.dl-period: SCHED_DEADLINE needs a `dl-runtime`",
        ),
        (r#""policy": "SCHED_DEADLINE""#, "11 tasks.a.policy: SCHED_DEADLINE needs a `dl-runtime`"),
        (
            r#""policy": "SCHED_DEADLINE", "dl-runtime": 6, "dl-deadline": 5"#,
            "43 tasks.a.dl-runtime: `dl-runtime` (6 µs) must not be longer than the deadline (5 µs)",
        ),
        (
            r#""policy": "SCHED_DEADLINE", "dl-runtime": 4, "dl-deadline": 6, "dl-period": 5"#,
            "61 tasks.a.dl-deadline: `dl-deadline` (6 µs) must not be longer than the period (5 µs)",
        ),
    ] {
        assert_eq!(of_task(members), expected, "{members}");
    }
}

#[test]
fn values_of_events() {
    for (event, expected) in [
        (
            r#""run0": "5""#,
            "9 tasks.a.run0: `run0` must be a whole number of microseconds, found a string",
        ),
        (
            r#""sleep": -1"#,
            "10 tasks.a.sleep: `sleep` must be a whole number of microseconds from 0 to 9223372036854775, found -1",
        ),
        (r#""lock": """#, "9 tasks.a.lock: `lock` must name something, found \"\""),
        (r#""lock": 5"#, "9 tasks.a.lock: `lock` must be a string, found 5"),
        (r#""timer": 5"#, "10 tasks.a.timer: `timer` must be an object, found 5"),
        (r#""timer": {"ref": "t"}"#, "10 tasks.a.timer: `timer` needs a `period`"),
        (r#""timer": {"period": 5}"#, "10 tasks.a.timer: `timer` needs a `ref`"),
        (
            r#""timer": {"ref": "t", "period": 5, "mod": "x"}"#,
            "36 tasks.a.timer.mod: unknown key `mod` in `timer`",
        ),
        (
            r#""timer": {"ref": "t", "period": 5, "mode": "x"}"#,
            "44 tasks.a.timer.mode: unknown mode `x`",
        ),
        (r#""wait": "c""#, "9 tasks.a.wait: `wait` must be an object, found a string"),
        (r#""sync": {"ref": "c"}"#, "9 tasks.a.sync: `sync` needs a `mutex`"),
        (r#""memrun": {"size": 5}"#, "11 tasks.a.memrun: `memrun` needs a `type`"),
        (
            r#""memrun": {"type": "dance", "size": 5}"#,
            "20 tasks.a.memrun.type: unknown type `dance`",
        ),
        (
            r#""memrun": {"type": "read", "size": 1048576}"#,
            "11 tasks.a.memrun: `memrun` needs a `count`",
        ),
        (r#""mem": true"#, "8 tasks.a.mem: `mem` must be a whole number of bytes, found true"),
        (
            r#""resume": "b""#,
            "11 tasks.a.resume: there is no task `b` to resume, and none suspends under that name",
        ),
        (r#""fork": "aa""#, "9 tasks.a.fork: there is no task `aa` to fork"),
        (
            r#""runn": 9223372036854775807"#,
            "9 tasks.a.runn: `runn` must be a whole number of microseconds from 0 to 9223372036854775, found 9223372036854775807",
        ),
        (
            r#""run": 1e3"#,
            "8 tasks.a.run: `run` must be a number of microseconds from 0 to 9223372036854775 with at most three decimals, found 1e3",
        ),
    ] {
        assert_eq!(of_event(event), expected, "{event}");
    }
    assert_eq!(
        refusal(r#"{"tasks": {"abc": {"run": 1, "fork": "abd"}}}"#).help(),
        Some("did you mean `abc`?")
    );
}

#[test]
fn mutexes_used_wrongly() {
    for (members, expected) in [
        (
            r#""lock": "m", "run": 1, "lock1": "m", "unlock": "m""#,
            "33 tasks.a.lock1: task `a` locks mutex `m`, which it already holds",
        ),
        // In the second round.
        (
            r#""lock": "m", "run": 1"#,
            "9 tasks.a.lock: task `a` locks mutex `m`, which it already holds",
        ),
        (
            r#""run": 1, "unlock": "m""#,
            "21 tasks.a.unlock: task `a` unlocks mutex `m`, which it does not hold",
        ),
        (
            r#""run": 1, "wait": {"ref": "c", "mutex": "m"}"#,
            "19 tasks.a.wait: task `a` waits with mutex `m`, which it does not hold",
        ),
        (
            r#""loop": 2, "sync": {"ref": "c", "mutex": "m"}, "lock": "m""#,
            "56 tasks.a.lock: task `a` locks mutex `m`, which it already holds",
        ),
        (
            r#""sync": {"ref": "c", "mutex": "m"}, "unlock": "m""#,
            "47 tasks.a.unlock: task `a` unlocks mutex `m`, which it does not hold",
        ),
        (
            r#""loop": 1, "lock": "n", "lock2": "m", "unlock": "n""#,
            "34 tasks.a.lock2: task `a` ends while it holds mutex `m`",
        ),
    ] {
        assert_eq!(of_task(members), expected, "{members}");
    }
    // Holding a mutex across phases, and across the end of the task's loop, is valid.
    let fine = r#"{"tasks": {"a": {"loop": 3, "phases": {
        "p": {"lock": "m"}, "q": {"loop": 5, "run": 1, "wait": {"ref": "c", "mutex": "m"}}, "r": {"unlock": "m"}}}}}"#;
    assert!(rt_app::load("t", fine, &Target::new(1)).is_ok());
}

#[test]
fn barriers_that_can_never_fill() {
    let of = |text: &str| said(text).split_once(' ').unwrap().1.to_string();
    assert_eq!(
        of(
            r#"{"tasks": {"a": {"loop": 1, "barrier": "x"}, "b": {"instance": 0, "loop": 1, "barrier": "x"}}}"#
        ),
        "tasks.b.barrier: task `b` has `instance` 0, so it must not use barriers"
    );
    assert_eq!(
        of(r#"{"tasks": {"a": {"loop": 1, "fork": "b"}, "b": {"loop": 1, "barrier": "x"}}}"#),
        "tasks.b.barrier: task `b` is forked, so it must not use barriers"
    );
    assert_eq!(
        of(r#"{"global": {"duration": 1}, "tasks": {"a": {"loop": 1, "barrier": "x"},
            "b": {"phases": {"p": {"loop": -1, "sleep": 1}, "q": {"barrier": "x"}}}}}"#),
        "tasks.b.phases.q.barrier: barrier `x` can never be complete: this event is never reached"
    );
}

#[test]
fn endless_loops_in_no_time() {
    for (members, expected) in [
        ("", "12 tasks.a: task `a` would loop forever while no time passes"),
        (
            r#""run": 0, "yield": """#,
            "12 tasks.a: task `a` would loop forever while no time passes",
        ),
        (
            r#""barrier": "b", "sem_post": "s""#,
            "12 tasks.a: task `a` would loop forever while no time passes",
        ),
        (
            r#""phases": {"p": {"loop": 0, "run": 5}, "q": {"resume": "a"}}"#,
            "12 tasks.a: task `a` would loop forever while no time passes",
        ),
        (
            r#""loop": 1, "phases": {"p": {"run": 5}, "q": {"loop": -1, "signal": "c", "memrun": {"type": "read", "size": 9, "count": 0}}}"#,
            "40 tasks.a.phases.q: phase `q` of task `a` would loop forever while no time passes",
        ),
    ] {
        assert_eq!(of_task(members), expected, "{members}");
    }
}

#[test]
fn endless_tasks_without_an_end_of_the_run() {
    for (members, expected) in [
        (r#""run": 5"#, "12 tasks.a: task `a` never ends, and the run has no `duration`"),
        (
            r#""loop": 1, "phases": {"p": {"loop": -1, "run": 5}}"#,
            "37 tasks.a.phases.p.loop: task `a` never ends, and the run has no `duration`",
        ),
    ] {
        assert_eq!(of_task(members), expected, "{members}");
    }
    let text = r#"{"tasks": {"a": {"run": 5}}}"#;
    let target = Target { cpus: 1, limited: true };
    assert!(rt_app::load("t", text, &target).is_ok());
    // A task that no task starts does not count.
    let text = r#"{"tasks": {"a": {"instance": 0, "run": 5}, "b": {"loop": 1, "run": 1}}}"#;
    assert!(rt_app::load("t", text, &Target::new(1)).is_ok());
}

#[test]
fn models_without_a_file_are_checked_too() {
    let error = rt_app::check(&generate::hogs(3, 0), &Target::new(1)).unwrap_err();
    let expected = "\
error: task `hog` never ends, and the run has no `duration`
 --> hogs (tasks.hog)
  = help: set `duration` in `global`, `loop` in the task, or a limit for the run";
    assert_eq!(error.to_string(), expected);
    let error = rt_app::check(&generate::hogs(3, 30), &Target::new(1)).unwrap_err();
    assert_eq!(error.path(), "tasks.hog.priority");
}
