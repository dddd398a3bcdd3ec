//! `schedlab replay`, as a user types it.

use std::path::PathBuf;
use std::process::{Command, Output};

fn replay(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_schedlab"))
        .arg("replay")
        .args(arguments)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .output()
        .expect("the program starts")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

const DESK: &str = "examples/traces/desk.xz";

#[test]
fn a_recording_under_other_schedulers() {
    let output = replay(&[DESK, "-s", "eevdf,cfs,bfs", "--change", "nice hog +10", "--seeds", "2"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = text(&output);
    for wanted in ["recorded", "replayed (eevdf@6.18)", "cfs@2.6.32", "bfs@0.404", "trust: "] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    assert!(text.contains("from the third column on: nice hog +10"), "{text}");
    // The groups are in a file that is called as the trace is.
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("groups as examples/traces/desk.groups says"), "{said}");
    assert!(!text.contains("C: cgroups are not in a trace"), "{text}");
    let without = replay(&[DESK, "--groups", "none", "--seeds", "2"]);
    assert_eq!(without.status.code(), Some(0), "{without:?}");
    assert!(String::from_utf8_lossy(&without.stdout).contains("C: cgroups are not in a trace"));
    assert!(without.stderr.is_empty(), "{without:?}");
}

#[test]
fn the_answer_as_json_and_the_work_as_a_file() {
    let output = replay(&[DESK, "--seeds", "2", "--format", "json", "--only", "hog,video"]);
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!(answer["columns"].as_array().map(Vec::len), Some(2));
    assert_eq!(answer["groups"].as_array().map(Vec::len), Some(2));
    assert_eq!(answer["e_cpu"], 0.0);
    let file: PathBuf = std::env::temp_dir().join(format!("replay-{}.json", std::process::id()));
    let name = file.display().to_string();
    let output = replay(&[DESK, "--write", &name, "--anonymize"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let written = std::fs::read_to_string(&file).expect("it is there");
    assert!(!written.contains("hog") && written.contains("sem_post"));
    std::fs::remove_file(&file).expect("it can be removed");
}

#[test]
fn mistakes_are_told() {
    for (arguments, wanted) in [
        (&["examples/desktop.json"][..], "sched_switch"),
        (&["no-such-file"], "no-such-file"),
        (&[DESK, "--only", "hogg"], "did you mean hog?"),
        (&[DESK, "--set", "nice:hog=5"], "--change"),
        (&[DESK, "--change", "renice hog 50"], "from -20 to 19"),
    ] {
        let output = replay(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(wanted), "{arguments:?}: {said}");
    }
}
