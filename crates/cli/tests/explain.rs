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

/// Whoever is said to run next by a pick now is the one that runs next, for whatever scheduler: at
/// 2 ms, in the middle of the first turns, where nothing is woken before the next pick.
#[test]
fn every_scheduler_explains_a_moment() {
    for scheduler in
        ["round_robin", "o_n", "o_1", "o_1@2.6.22", "rsdl", "sd", "bfs", "cfs", "cfs@6.1", "eevdf"]
    {
        let text = said(&[DESKTOP, "--scheduler", scheduler, "--at", "2ms"]);
        assert!(text.contains("CPU 0: "), "{scheduler}: {text}");
        assert!(text.contains("It was picked by `"), "{scheduler}: {text}");
        assert!(text.contains("If it picked now it would be "), "{scheduler}: {text}");
        assert!(text.contains("\nThen, at "), "{scheduler}: {text}");
    }
}

/// Two hogs of nice 0 on one CPU under 2.4, where the last to come is the first of the runqueue: it
/// runs for its 6 ticks of 10 ms, and the other waits so long.
#[test]
fn a_task_that_waits_is_told_behind_whom() {
    let file = std::env::temp_dir().join(format!("explain-{}.json", std::process::id()));
    let hogs = r#"{"tasks": {"hog": {"instance": 2, "loop": 5, "run": 100000}}}"#;
    std::fs::write(&file, hogs).unwrap();
    let file = file.to_str().unwrap();
    let text = said(&[file, "-s", "o_n", "--at", "1ms", "--task", "hog-0"]);
    assert!(text.contains("hog-0 waits for CPU 0, since 0 ms (1.00 ms)."), "{text}");
    assert!(text.contains("hog-1 has the CPU"), "{text}");
    assert!(text.contains("goodness"), "{text}");
    assert!(text.contains("It next got a CPU at "), "{text}");
    let text = said(&[file, "-s", "o_n", "--worst", "1"]);
    assert!(text.contains("1. hog-0 waited 60.0 ms, from 0 ms to 60 ms"), "{text}");
    assert!(text.contains("by these numbers they are equal"), "{text}");
    assert!(text.contains("Meanwhile the CPU that it waited for was with\n     hog-"), "{text}");
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
        (&[DESKTOP, "--at", "1ms"], "--scheduler"),
        (&[DESKTOP, "-s", "cfs", "--at", "soon"], "0.5s, 500ms"),
        (&[DESKTOP, "-s", "cfs", "--at", "-1"], "0.5s, 500ms"),
        (&[DESKTOP, "-s", "cfs", "--at", "100s"], "the run was over at"),
        (&[DESKTOP, "-s", "cfs", "--at", "1s", "--cpu", "4"], "CPUs are 0 to 0"),
        (&[DESKTOP, "-s", "cfs", "--at", "1s", "--task", "nobody"], "there is no task nobody"),
        (&[DESKTOP, "-s", "cfs", "--wakeup", "99999999"], "wakeups in this run"),
        (&[DESKTOP, "-s", "cfs", "--wakeup", "0"], "0 is not in 1.."),
        (&[DESKTOP, "-s", "linux", "--at", "1s"], "one is explained at a time"),
        (&["examples/none.json", "-s", "cfs", "--at", "1s"], "none.json"),
    ] {
        let errors = refused(arguments);
        assert!(errors.contains(message), "{arguments:?}: {errors}");
    }
}
