//! `schedlab compare`, as users type it.

use crate::support::{Scratch, schedlab};

const MEASURED: &str = "examples/live/hog-vs-inter-1ms-9ms.json.xz";

#[test]
fn a_table_of_errors_with_a_verdict() {
    let text = schedlab(&["compare", MEASURED, "--runs", "3"]).good();
    for wanted in
        ["hog-vs-inter-1ms-9ms, cpu0", "eevdf@6.18", "H-0", "noise: ", "ceiling", "verdict: "]
    {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    assert!(text.contains("left out: hog-vs-inter-1ms-9ms, cpu0-cpuclock"), "{text}");
    let summary = schedlab(&["compare", MEASURED, "--runs", "3", "--summary"]).good();
    assert!(!summary.contains("H-0") && summary.contains("verdict: "), "{summary}");
    let markdown = schedlab(&["compare", MEASURED, "--runs", "3", "--format", "markdown"]).good();
    assert!(markdown.contains("| task | CPU % |"), "{markdown}");
}

#[test]
fn every_figure_for_programs() {
    let one = ["compare", MEASURED, "--runs", "3", "--placement", "cpu0", "--format"];
    let json = schedlab(&[&one[..], &["json"]].concat()).good();
    let answer: serde_json::Value = serde_json::from_str(&json).expect("valid JSON");
    assert_eq!(answer["format"], "schedlab-compare/1");
    assert_eq!(answer["placements"].as_array().map(Vec::len), Some(1));
    assert!(answer["placements"][0]["tasks"][0]["figures"][0]["real"][1].is_u64());
    let csv = schedlab(&[&one[..], &["csv"]].concat()).good();
    let mut lines = csv.lines();
    let heads = lines.next().expect("there are heads").split(',').count();
    assert!(lines.clone().count() > 5 && lines.all(|line| line.split(',').count() == heads));
}

#[test]
fn what_is_asked_is_checked() {
    let broken = ["compare", MEASURED, "--runs", "3", "--placement", "cpu0", "--hz", "1000"];
    assert!(schedlab(&broken).good().contains("MISSED"));
    assert_eq!(schedlab(&[&broken[..], &["--check"]].concat()).status, 1);
    let scratch = Scratch::new("compare-thresholds");
    let wide = r#"{"cpu_percent": 100, "waiting_percent": 100, "switches_percent": 1000,
        "latency_us": 1e9}"#;
    let wide = scratch.file("wide.json", wide);
    let all = [&broken[..], &["--check", "--thresholds", &wide]].concat();
    assert_eq!(schedlab(&all).status, 0);
}

#[test]
fn the_page_has_both_timelines() {
    let scratch = Scratch::new("compare-page");
    let page = format!("{}/r.html", scratch.path());
    let one = ["compare", MEASURED, "--runs", "2", "--placement", "cpu0", "--report", &page];
    schedlab(&one).good();
    let text = std::fs::read_to_string(&page).expect("the file was written");
    for wanted in ["Real and simulated", "Wakeup latencies", "Linux 6.18.44", "eevdf@6.18", "run-1"]
    {
        assert!(text.contains(wanted), "{wanted}");
    }
    schedlab(&["compare", MEASURED, "--runs", "2", "--report", &page])
        .error(&["--report: a page shows one placement", "cpu1"]);
}

#[test]
fn mistakes_are_told() {
    let scratch = Scratch::new("compare-mistakes");
    let none = scratch.file("none.json", "{}");
    let unknown = scratch.file("unknown.json", r#"{"cpu": 1}"#);
    for (arguments, wanted) in [
        (vec!["no-such-file.json"], "no-such-file.json"),
        (vec![none.as_str()], "live-schedule/1"),
        (vec!["examples/desktop.json"], "it is not JSON"),
        (vec![MEASURED, "--scheduler", "cfss"], "cfss"),
        (vec![MEASURED, "--machine", "flat-2"], "has no costs"),
        (vec![MEASURED, "--placement", "cpu9"], "cpu0"),
        (vec![MEASURED, "--set", "NO_SUCH=1"], "NO_SUCH"),
        (vec![MEASURED, "--set", "nice:H=5"], "only tunables"),
        (vec![MEASURED, "--cost", "swich=1"], "swich"),
        (vec![MEASURED, "--thresholds", unknown.as_str()], "unknown field"),
    ] {
        let all: Vec<&str> = ["compare", "--runs", "1"].into_iter().chain(arguments).collect();
        schedlab(&all).error(&[wanted]);
    }
}

#[test]
fn tasks_that_begin_by_waking_and_ticks_in_phase() {
    let scratch = Scratch::new("compare-start");
    let work = r#"{"global": {"duration": 0.1}, "tasks": {"a": {"loop": -1, "run": 5000, "sleep": 5000}}}"#;
    let work = scratch.file("w.json", work);
    let json = |arguments: &[&str]| -> serde_json::Value {
        let all = [&["run", &work, "-s", "eevdf", "--format", "json"][..], arguments].concat();
        serde_json::from_str(&schedlab(&all).good()).expect("valid JSON")
    };
    let (fork, wake) = (json(&[]), json(&["--start", "wake"]));
    assert_eq!(fork["runs"][0]["end"]["at_ns"], 100_000_000);
    assert_eq!(wake["runs"][0]["end"]["at_ns"], 180_000_000);
    json(&["--tick-phase", "300", "--machine", "laptop-2020s"]);
    schedlab(&["run", &work, "-s", "eevdf", "--hz", "250", "--tick-phase", "4ms"])
        .error(&["before 4000000 ns"]);
    schedlab(&["run", &work, "--start", "spoon"]).error(&["the starts are fork and wake"]);
}
