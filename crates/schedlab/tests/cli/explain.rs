//! `schedlab explain`, as users type it.

use std::process::{Command, Output};

fn explain(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_schedlab"))
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .arg("explain")
        .args(arguments)
        .output()
        .unwrap()
}

fn said(arguments: &[&str]) -> String {
    let output = explain(arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

fn refused(arguments: &[&str]) -> String {
    let output = explain(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

const DESKTOP: &str = "examples/desktop.json";

/// The task that a pick now would choose is the one that runs next, under every scheduler: at 2 ms,
/// within the first turns, with no wakeup before the next pick.
#[test]
fn every_scheduler_explains_a_moment() {
    for scheduler in
        ["round_robin", "o_n", "o_1", "o_1@2.6.22", "rsdl", "sd", "bfs", "cfs", "cfs@6.1", "eevdf"]
    {
        let text = said(&[DESKTOP, "--scheduler", scheduler, "--at", "2ms"]);
        assert!(text.contains("CPU 0: "), "{scheduler}: {text}");
        assert!(text.contains("It was picked by `"), "{scheduler}: {text}");
        assert!(text.contains("If it picked now, the choice would be "), "{scheduler}: {text}");
        assert!(text.contains("\nThen, at "), "{scheduler}: {text}");
    }
}

/// Two hogs of nice 0 on one CPU under 2.4, where the last to come is the first of the runqueue: it
/// runs for its 6 ticks of 10 ms, while the other waits.
#[test]
fn a_task_that_waits_is_told_behind_whom() {
    let file = std::env::temp_dir().join(format!("explain-{}.json", std::process::id()));
    let hogs = r#"{"tasks": {"hog": {"instance": 2, "loop": 5, "run": 100000}}}"#;
    std::fs::write(&file, hogs).unwrap();
    let file = file.to_str().unwrap();
    let text = said(&[file, "-s", "o_n", "--at", "1ms", "--task", "hog-0"]);
    assert!(text.contains("hog-0 has been waiting for CPU 0 since 0 ms (1.00 ms)."), "{text}");
    assert!(text.contains("hog-1 has had the CPU since"), "{text}");
    assert!(text.contains("goodness"), "{text}");
    assert!(text.contains("It next got a CPU at "), "{text}");
    let text = said(&[file, "-s", "o_n", "--worst", "1"]);
    assert!(text.contains("1. hog-0 waited 60.0 ms, from 0 ms to 60 ms"), "{text}");
    assert!(text.contains("as these numbers are equal"), "{text}");
    assert!(text.contains("Meanwhile the CPU that it waited for ran\n     hog-"), "{text}");
    std::fs::remove_file(file).unwrap();
}

#[test]
fn a_wakeup_is_told_with_place_and_preemption() {
    let text = said(&[DESKTOP, "-s", "cfs", "--wakeup", "10"]);
    assert!(text.contains("Wakeup 10, at "), "{text}");
    assert!(text.contains("It is put on the runqueue of CPU 0, by `"), "{text}");
    assert!(text.contains("It ran at "), "{text}");
    let text = said(&[DESKTOP, "-s", "cfs", "--wakeup", "2", "--task", "video"]);
    assert!(text.contains("Wakeup 2 of video-0, at "), "{text}");
}

#[test]
fn what_cannot_be_explained_is_told() {
    for (arguments, message) in [
        (&[DESKTOP, "-s", "cfs"][..], "--at"),
        (&[DESKTOP, "-s", "cfs", "--at", "soon"], "0.5s, 500ms"),
        (&[DESKTOP, "-s", "cfs", "--at", "-1"], "0.5s, 500ms"),
        (&[DESKTOP, "-s", "cfs", "--at", "-1s"], "0.5s, 500ms"),
        (&[DESKTOP, "-s", "cfs", "--at", "1s", "--set", "sched_latency_ns=1ms,2ms"], "one value"),
        (
            &[DESKTOP, "-s", "cfs", "-c", "2", "--at", "1s", "--cpu", "9"],
            "the machine has CPUs 0 to 1",
        ),
        (&[DESKTOP, "-s", "cfs", "--at", "100s"], "the run ended at"),
        (&[DESKTOP, "-s", "cfs", "--at", "1s", "--cpu", "4"], "the machine has only CPU 0"),
        (&[DESKTOP, "-s", "cfs", "--at", "1s", "--task", "none"], "there is no task none"),
        (&[DESKTOP, "-s", "cfs", "--wakeup", "99999999"], "wakeups in this run"),
        (&[DESKTOP, "-s", "cfs", "--wakeup", "0"], "0 is not in 1.."),
        (&[DESKTOP, "-s", "linux", "--at", "1s"], "explained at a time"),
        (&["examples/none.json", "-s", "cfs", "--at", "1s"], "none.json"),
    ] {
        let errors = refused(arguments);
        assert!(errors.contains(message), "{arguments:?}: {errors}");
    }
}

#[test]
fn without_a_name_the_newest_is_explained() {
    let named = said(&[DESKTOP, "-s", "eevdf", "--at", "10ms"]);
    assert_eq!(said(&[DESKTOP, "--at", "10ms"]), named);
}

/// Between two ticks CFS has not charged the current task for its time since the last. A pick now
/// is explained with that time: cc-1 has run for 1.5 ms at nice 0 since it was picked with a
/// vruntime of 129946546.
#[test]
fn between_ticks_keys_are_those_of_the_moment() {
    let text = said(&[DESKTOP, "--scheduler", "cfs", "--at", "500.5ms"]);
    assert!(text.contains("CPU 0: cc-1 has run since 499 ms (1.50 ms)."), "{text}");
    assert!(text.contains("> cc-1    129946546"), "{text}");
    let (_, now) = text
        .split_once("If it picked now, the choice would be cc-0, among:")
        .expect("the pick is shown");
    assert!(now.contains("    cc-1    131446546"), "{text}");
    assert!(!text.contains("according to its accounts"), "{text}");
}

/// On a thousand CPUs not every nice value is tried: that would take hours.
#[test]
fn what_would_take_too_long_is_not_tried_and_said_so() {
    let file = std::env::temp_dir().join(format!("explain-many-{}.json", std::process::id()));
    let many = r#"{"tasks": {"x": {"instance": 2000, "loop": -1, "run": 900, "sleep": 300}},
        "global": {"duration": 1}}"#;
    std::fs::write(&file, many).unwrap();
    let text = said(&[file.to_str().unwrap(), "-s", "cfs", "-c", "1000", "--at", "4ms"]);
    std::fs::remove_file(file).unwrap();
    assert!(text.matches("\nCPU ").count() >= 900, "{}", text.len());
    assert!(text.contains("Other nice values were not tried, which would take too long"));
}

/// A name of 100,000 letters is shortened.
#[test]
fn very_long_names_are_cut() {
    let long = "x".repeat(100_000);
    let file = std::env::temp_dir().join(format!("explain-long-{}.json", std::process::id()));
    let text = format!(
        r#"{{"tasks": {{"{long}": {{"loop": 5, "run": 5000}}, "a\nb": {{"loop": 5, "run": 5000}}}}}}"#
    );
    std::fs::write(&file, text).unwrap();
    let name = file.to_str().unwrap();
    for arguments in [&["--at", "2ms"][..], &["--at", "2ms", "--task", "a\nb"], &["--worst", "2"]] {
        let text = said(&[&[name, "-s", "cfs"], arguments].concat());
        assert!(text.lines().all(|line| line.len() < 300), "{arguments:?}: {}", text.len());
        assert!(text.contains("a\\u{a}b"), "{arguments:?}: {text}");
    }
    let errors = refused(&[name, "-s", "cfs", "--at", "2ms", "--task", &long[1..]]);
    assert!(errors.len() < 500 && errors.lines().count() == 1, "{}", errors.len());
    std::fs::remove_file(file).unwrap();
}

/// Two hogs that may use 20 of each 100 ms, beside a task without a limit, on one CPU. The wait for
/// the next period is the limit's doing, whichever task has the CPU meanwhile.
#[test]
fn a_wait_of_a_throttled_task_names_the_group_and_its_limit() {
    let file = std::env::temp_dir().join(format!("explain-box-{}.json", std::process::id()));
    let box_and_free = r#"{"global": {"duration": 3}, "tasks": {
        "hog": {"taskgroup": "/box", "instance": 2, "loop": 3, "run": 50000},
        "free": {"loop": 10, "run": 20000, "sleep": 10000}}}"#;
    std::fs::write(&file, box_and_free).unwrap();
    let file = file.to_str().unwrap();
    let limit = ["--group", "/box:cpu.max=20000 100000"];
    for scheduler in ["cfs@3.2", "cfs@3.10", "cfs@6.1", "eevdf@6.18", "eevdf@7.3"] {
        let of = |what: &[&str]| said(&[&[file, "-s", scheduler], &limit[..], what].concat());
        let text = of(&["--worst", "1"]);
        let throttled = "Throttled for 80.0 ms, once: /box (at most 20.0 ms in each 100 ms) had \
                         used up its limit on CPU 0; it had runtime there again at ";
        assert!(text.contains(throttled), "{scheduler}: {text}");
        let (_, behind) = text.split_once("Otherwise the CPU that it waited for ran").unwrap();
        assert!(!behind.contains("free-0  "), "{scheduler}: free is innocent: {text}");
        assert!(!text.contains("had used up its runtime"), "{scheduler}: {text}");
        let text = of(&["--at", "70ms", "--task", "hog-1"]);
        let throttled = "Throttled: /box (at most 20.0 ms in each 100 ms) has used up its limit on \
                         CPU 0, since ";
        assert!(text.contains(throttled), "{scheduler}: {text}");
        assert!(text.contains("The next refill was due at 100 ms. It had runtime"), "{text}");
        assert!(!text.contains("has the CPU") && !text.contains("free-0"), "{scheduler}: {text}");
        let text = of(&["--at", "70ms"]);
        assert!(text.contains("It keeps hog-0, hog-1 from running."), "{scheduler}: {text}");
    }
    std::fs::remove_file(file).unwrap();
}
