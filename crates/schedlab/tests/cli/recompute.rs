//! Recomputes the metrics of a run by a script written from their definitions alone.
//!
//! `recompute/metrics.py` reads the JSON document as any user could, computes every figure that
//! follows from slices and spans, and compares. It needs python3. Without it these tests report
//! that they were skipped.

use crate::support::{Scratch, root, schedlab};
use std::io::Write;
use std::process::Command;

/// Returns the output of the script for a document, and whether all figures agree. `None`, with a
/// message: python3 is not installed.
fn recomputed(document: &str, options: &[&str]) -> Option<(bool, String)> {
    if !Command::new("python3").arg("--version").output().is_ok_and(|it| it.status.success()) {
        // Not with a macro: the test harness would capture the message.
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: python3 is not installed, so the metrics were not recomputed"
        );
        return None;
    }
    let script = root().join("crates/schedlab/tests/recompute/metrics.py");
    let ran = Command::new("python3").arg(script).arg(document).args(options).output();
    let ran = ran.expect("python3 starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Some((ran.status.success(), text(&ran.stdout) + &text(&ran.stderr)))
}

#[track_caller]
fn agrees(name: &str, run: &[&str], options: &[&str]) {
    let scratch = Scratch::new(name);
    let text = schedlab(&[&["run", "--format", "json"], run].concat()).good();
    let document = scratch.file("run.json", &text);
    if let Some((good, said)) = recomputed(&document, options) {
        assert!(good, "{said}");
        assert!(said.contains("0 do not agree"), "{said}");
    }
}

#[test]
fn of_a_desktop_on_one_cpu() {
    agrees("recompute-desktop", &["examples/desktop.json"], &[]);
}

#[test]
fn of_a_server_on_several_cpus() {
    agrees("recompute-server", &["examples/server.json", "--cpus", "3", "-s", "linux"], &[]);
}

#[test]
fn of_a_machine_whose_kernel_takes_time() {
    let args = ["examples/server.json", "--machine", "z800-2x6", "--cpus", "2", "-s", "linux"];
    agrees("recompute-modelled", &args, &[]);
}

#[test]
fn of_tasks_that_stand_outside() {
    agrees("recompute-rt", &["examples/realtime-mix.json", "--cpus", "2", "-s", "linux"], &[]);
}

#[test]
fn of_nested_groups() {
    let groups = "examples/nested-groups.groups";
    let args = ["examples/nested-groups.json", "--groups", groups, "-s", "cfs,eevdf"];
    agrees("recompute-groups", &args, &["--shares", "/alice=2048"]);
}

/// Zero demand, no bursts, bursts of zero length, a task that never runs, and one that ends.
#[test]
fn of_corner_cases() {
    let scratch = Scratch::new("recompute-corners");
    let file = scratch.file(
        "corners.json",
        r#"{"global": {"duration": 1}, "tasks": {
            "hog": {"loop": -1, "run": 1000},
            "asleep": {"loop": -1, "sleep": 700},
            "light": {"loop": 50, "run": 10, "sleep": 3000},
            "late": {"delay": 990000, "loop": 1, "run": 30000},
            "idle": {"policy": "SCHED_IDLE", "loop": -1, "run": 500, "sleep": 100},
            "never": {"policy": "SCHED_FIFO", "delay": 400000, "loop": 1, "run": 200000}}}"#,
    );
    agrees("recompute-corners-run", &[&file, "-s", "linux"], &[]);
    agrees("recompute-corners-two", &[&file, "-s", "linux", "--cpus", "2"], &[]);
}

/// The script finds wrong figures.
#[test]
fn a_document_that_is_wrong_is_found_out() {
    let scratch = Scratch::new("recompute-wrong");
    let args = ["run", "examples/desktop.json", "-s", "cfs", "--format", "json"];
    let text = schedlab(&args).good();
    let right: serde_json::Value = serde_json::from_str(&text).expect("valid JSON");
    let places = [
        "/runs/0/slowdown/p99",
        "/runs/0/burst_lag/max_ns",
        "/runs/0/fairness/jain_backlogged",
        "/runs/0/fairness/lag_max_ns",
        "/runs/0/wakeup_latency/p99_ns",
        "/runs/0/tasks/3/due_ns",
        "/runs/0/totals/wait_max_ns",
    ];
    for place in places {
        let mut wrong = right.clone();
        let value = wrong.pointer_mut(place).expect("the field is there");
        let number = value.as_f64().expect("a number");
        *value = serde_json::json!(number * 0.98);
        let document = scratch.file("wrong.json", wrong.to_string());
        if let Some((good, said)) = recomputed(&document, &[]) {
            let name = place.rsplit('/').next().expect("a name");
            assert!(!good && said.contains(name), "{place}: {said}");
        }
    }
}
