//! `schedlab limits`, as users type it.

use crate::support::{Scratch, schedlab};
use serde_json::Value;

const SERVER: &str = "examples/server-limited.json";

fn limits<'a>(options: &[&'a str]) -> Vec<&'a str> {
    [&["limits", SERVER, "--group", "/box", "--repeat", "3"], options].concat()
}

fn json(options: &[&str]) -> Value {
    let text = schedlab(&limits(&[options, &["--format", "json"]].concat())).good();
    serde_json::from_str(&text).expect("valid JSON")
}

#[test]
fn the_least_limit_that_holds_an_aim_is_found_and_said_in_the_words_of_each_place() {
    let text = schedlab(&limits(&["--aim", "p99 < 50ms"])).good();
    assert!(
        text.starts_with("examples/server-limited.json: limits of /box under eevdf@"),
        "{text}"
    );
    let marked: Vec<&str> = text.lines().filter(|line| line.starts_with("> ")).collect();
    assert!(marked.len() == 1 && marked[0].contains("3 of 3"), "{text}");
    let cpus: f64 = marked[0].split_whitespace().nth(1).expect("a limit").parse().expect("CPUs");
    let quota_us = (cpus * 100_000.0).round();
    for part in [
        "The smallest limit that meets p99 < 50ms in all 3 runs: 0.",
        &format!("cgroup v2    cpu.max: {quota_us} 100000"),
        "systemd      CPUQuota=",
        "Docker       --cpus 0.",
        "Kubernetes   resources.limits.cpu: ",
        "kubelet's default period",
    ] {
        assert!(text.contains(part), "no \"{part}\" in:\n{text}");
    }
}

#[test]
fn the_figures_are_there_for_programs() {
    let found = json(&["--quota", "0.4cpu,1cpu", "--period", "50ms,100ms", "--burst", "0,10ms"]);
    assert_eq!(
        (&found["schema"], &found["criterion"]),
        (&"schedlab-limits/1".into(), &"knee".into())
    );
    let lines = found["lines"].as_array().expect("lines");
    assert_eq!(lines.len(), 4);
    assert_eq!((&lines[3]["period_us"], &lines[3]["burst_us"]), (&100_000.into(), &10_000.into()));
    let tight = &lines[0]["limits"][0];
    assert_eq!((&tight["limit"]["quota_us"], &tight["keeps_up"]), (&20_000.into(), &false.into()));
    let at = |cell: &Value, figure: &str| cell["figures"][figure]["median"].as_f64().expect("one");
    let unlimited = &lines[0]["unlimited"];
    assert!(at(tight, "p99") > 5.0 * at(unlimited, "p99"), "{tight}");
    assert!(at(tight, "throttled") > 0.9 && at(unlimited, "throttled") == 0.0);
    assert!((0.3..0.7).contains(&at(unlimited, "cpus")), "{unlimited}");
    let csv = schedlab(&limits(&["--quota", "50ms", "--format", "csv"])).stdout;
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!(rows.len(), 3, "{csv}");
    assert!(rows[0].starts_with("cpus,period_us,burst_us,quota_us,limit_cpus,holds,keeps_up,p50,"));
    assert!(rows[2].starts_with("2,100000,0,50000,0.5,"), "{csv}");
}

#[test]
fn an_aim_that_no_limit_holds_is_status_1() {
    let options = ["--quota", "50ms", "--aim", "p99 < 1ms"];
    let outcome = schedlab(&limits(&options));
    assert_eq!((outcome.status, outcome.stderr.as_str()), (1, ""));
    let said = "No limit that was tried meets p99 < 1ms in all 3 runs.\n\
                Nor does the group without a limit.\n";
    assert!(outcome.stdout.ends_with(said), "{}", outcome.stdout);
    // Without an aim there is nothing to miss.
    let text = schedlab(&limits(&["--quota", "50ms"])).good();
    assert!(text.contains("No limit that was tried keeps the p99 within 10 %"), "{text}");
}

#[test]
fn runs_with_the_same_seed_are_the_same_on_any_number_of_cores() {
    let one = schedlab(&limits(&["--quota", "60ms", "--format", "csv", "--cores", "1"])).stdout;
    let two = schedlab(&limits(&["--quota", "60ms", "--format", "csv", "--cores", "2"])).stdout;
    assert_eq!(one, two);
}

#[test]
fn what_is_wrong_is_said_with_what_would_be_right() {
    let scratch = Scratch::new("limits-wrong");
    let line = "x-1 [000] d..2. 1.000000: sched_switch: prev_comm=x prev_pid=1 prev_prio=120 \
                prev_state=S ==> next_comm=y next_pid=2 next_prio=120\n";
    let trace = scratch.file("trace.txt", line.repeat(3));
    for (arguments, parts) in [
        (vec!["limits", SERVER, "--group", "/bx"], &["no group /bx", "did you mean /box?"][..]),
        (vec!["limits", SERVER, "--group", "/"], &["the root group has no limit", "/box"]),
        (vec!["limits", SERVER], &["--group"]),
        (limits(&["--aim", "p98 < 5ms"]), &["unknown figure \"p98\"", "p99 < 50ms"]),
        (limits(&["--quota", "20"]), &["\"20\" is not a quota", "0.5cpu"]),
        (limits(&["--period", "2s"]), &["1ms to 1s"]),
        (limits(&["-s", "o_1"]), &["o_1"]),
        (limits(&["-s", "cfs@2.6.32"]), &["limit"]),
        (vec!["limits", &trace, "--group", "/box"], &["recording", "schedlab replay", "cpu.max"]),
    ] {
        schedlab(&arguments).error(parts);
    }
}
