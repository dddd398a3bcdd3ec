//! `schedlab calibrate`, as users type it.

use crate::support::{Scratch, schedlab};

/// Returns the time of hackbench under `o_1` with the given costs of a message on each side.
fn time_with(ns: &str) -> String {
    let (write, read) = (format!("call.socket_write={ns}"), format!("call.socket_read={ns}"));
    let costs = ["--machine", "pentium3-1000x1", "--cost", &write, "--cost", &read];
    let bench =
        ["bench", "hackbench", "1", "--loops", "5", "--scheduler", "o_1", "--format", "json"];
    let args: Vec<&str> = bench.iter().chain(&costs).copied().collect();
    let report = schedlab(&args).good();
    let report: serde_json::Value = serde_json::from_str(&report).expect("valid JSON");
    let figures =
        report["points"][0]["runs"][0]["figures"].as_array().expect("there are figures").clone();
    let time = figures.iter().find(|figure| figure["name"] == "time").expect("the figure exists");
    time["value"].to_string()
}

fn file(time: &str) -> String {
    format!(
        r#"
title = "a small one"
machine = "pentium3-1000x1"
calibrated_on = "a test"

[[parameter]]
costs = ["call.socket_write", "call.socket_read"]
start = 1700
least = 300
most = 10000

[[measurement]]
bench = "hackbench"
parameters = {{ groups = 1, loops = 5 }}
scheduler = "o_1"
figure = "time"
measured = {time}
source = "another simulation"
"#
    )
}

#[test]
fn a_known_cost_is_found_and_written() {
    let scratch = Scratch::new("calibrate");
    let measured = scratch.file("m.toml", file(&time_with("2950")));
    let to = format!("{}/m.json", scratch.path());
    let printed = schedlab(&["calibrate", &measured, "--write", &to]).good();
    for part in
        ["a small one", "call.socket_write = call.socket_read", "fitted to", "another simulation"]
    {
        assert!(printed.contains(part), "no \"{part}\" in: {printed}");
    }
    let machine: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&to).expect("the file was written"))
            .expect("valid JSON");
    for call in ["socket_write", "socket_read"] {
        let number = &machine["costs"]["calls"][call];
        assert_eq!(number["calibrated_on"], "a test");
        let value = number["value"].as_f64().expect("a number");
        // The preemption points of a small hackbench change with the cost, so that the time does
        // not follow it to the nanosecond.
        assert!((value / 2950.0 - 1.0).abs() < 0.03, "{value}");
    }
    schedlab(&["bench", "hackbench", "1", "--loops", "1", "--scheduler", "o_1", "--machine", &to])
        .good();
}

#[test]
fn mistakes_are_told() {
    let scratch = Scratch::new("calibrate-mistakes");
    schedlab(&["calibrate", "nowhere.toml"]).error(&["schedlab: nowhere.toml: "]);
    let wrong = scratch.file("wrong.toml", file("0"));
    schedlab(&["calibrate", &wrong])
        .error(&["wrong.toml: measurement 1: ", "it must be a number above 0"]);
    let wrong = scratch.file("syntax.toml", "title = ");
    schedlab(&["calibrate", &wrong]).error(&["syntax.toml: TOML parse error at line 1"]);
    let good = scratch.file("good.toml", file("0.01"));
    let nowhere = format!("{}/nowhere/m.json", scratch.path());
    schedlab(&["calibrate", &good, "--write", &nowhere]).error(&["nowhere/m.json: "]);
}
