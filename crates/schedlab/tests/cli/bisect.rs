//! `schedlab bisect`, as users type it.

use crate::support::{Scratch, schedlab};
use serde_json::Value;

/// A workload made for the fork change of 6.19.
const FORKING: &str = "examples/forking.json";

const METRIC: &str = "turnaround_mean(helper)";

fn bisect<'a>(from: &'a str, to: &'a str) -> [&'a str; 8] {
    ["bisect", FORKING, "--metric", METRIC, "--from", from, "--to", to]
}

fn json(arguments: &[&str]) -> Value {
    let text = schedlab(&[arguments, &["--format", "json"]].concat()).good();
    serde_json::from_str(&text).expect("valid JSON")
}

#[test]
fn the_fork_change_of_6_19_is_found() {
    let text = schedlab(&bisect("6.12", "7.0")).good();
    assert!(text.starts_with(
        "examples/forking.json: turnaround_mean(helper) from eevdf@6.12 to eevdf@7.0\n"
    ));
    let marked: Vec<&str> = text.lines().filter(|line| line.starts_with("> eevdf")).collect();
    assert!(marked.len() == 1 && marked[0].starts_with("> eevdf@6.19"), "{text}");
    for part in [
        "1 step of 5 % or more",
        "eevdf@6.18 to eevdf@6.19: +200.0 %, worse",
        "By one rule, new in 6.19: a child with no shorter slice preempts nothing",
        "only_short_children_preempt      no    yes  1.50 ms  100 %",
        "The schedules part at 1 ms, after 3 equal steps, on CPU 0: server-0 has it since 0 ms.",
        "eevdf@6.18: helper-0 runs, by `earliest_eligible_deadline`",
        "eevdf@6.19: no such step; server-0 continues.",
        "preempt, by `no_shorter_slice`",
        "schedlab explain examples/forking.json -s 'eevdf@6.19' --at 1000000ns",
    ] {
        assert!(text.contains(part), "no \"{part}\" in:\n{text}");
    }
}

#[test]
fn the_same_is_there_for_programs() {
    let found = json(&bisect("6.12", "7.0"));
    assert_eq!(found["schema"], "schedlab-bisect/1");
    let points = found["points"].as_array().expect("points");
    assert_eq!(points.len(), 5);
    assert_eq!(points[3]["release"], "6.19");
    let step = &found["steps"][0];
    assert_eq!((&step["from"], &step["to"]), (&"eevdf@6.18".into(), &"eevdf@6.19".into()));
    assert_eq!((&step["verdict"], &step["cause"]), (&"one".into(), &"only_short_children_preempt".into()));
    assert_eq!(step["together"], points[3]["value"]);
    let parting = &step["parting"];
    assert_eq!((&parting["at_ns"], &parting["cpu"]), (&1_000_000.into(), &0.into()));
    assert_eq!(parting["sides"][0]["step"]["task"], "helper-0");
    assert!(parting["sides"][1]["step"].is_null());
}

#[test]
fn what_it_finds_can_be_switched_in_a_run() {
    let scheduler = "eevdf@6.19:rule.only_short_children_preempt=0,eevdf@6.18,eevdf@6.19";
    let csv = schedlab(&["run", FORKING, "-s", scheduler, "--format", "json"]).good();
    let runs: Value = serde_json::from_str(&csv).expect("valid JSON");
    let slices = |run: usize| &runs["runs"][run]["slices"];
    assert!(slices(0).is_array() || slices(0).is_object(), "slices are recorded");
    assert_eq!(slices(0), slices(1));
    assert_ne!(slices(0), slices(2));
}

#[test]
fn settings_are_switched_one_by_one() {
    let to = "eevdf@6.18:RUN_TO_PARITY=0,base_slice_ns=3ms";
    let found = json(&bisect("eevdf@6.18", to));
    let points: Vec<&Value> = found["points"].as_array().expect("points").iter().collect();
    assert_eq!(points.len(), 3);
    assert_eq!(points[1]["changed_setting"], "RUN_TO_PARITY");
    assert_eq!(points[2]["changed_setting"], "base_slice_ns");
    assert_eq!(found["steps"].as_array().map(Vec::len), Some(1));
    let text = schedlab(&bisect("eevdf@6.18", to)).good();
    assert!(text.contains("The setting `base_slice_ns` makes it."), "{text}");
}

#[test]
fn a_walk_without_a_change_ends_with_1() {
    let output = schedlab(&bisect("6.12", "6.18"));
    assert_eq!(output.status, 1, "{}", output.stderr);
    assert!(output.stdout.contains("No step changes it by 5 % or more"), "{}", output.stdout);
    // With no threshold every change counts.
    let all = [&bisect("6.18", "7.1")[..], &["--threshold", "0"]].concat();
    schedlab(&all).good();
}

#[test]
fn a_benchmark_is_compared_by_its_plan() {
    let scratch = Scratch::new("bisect-benchmark");
    let plan = format!("{}/plan.json", scratch.path());
    let bench = ["bench", "hackbench", "--groups", "1", "--fds", "2", "--loops", "5"];
    schedlab(&[&bench[..], &["--scheduler", "eevdf", "--plan-out", &plan]].concat()).good();
    let walk = ["--from", "6.18", "--to", "6.19"];
    let output = schedlab(&[&["bisect", &plan, "--metric", "figure(time)"], &walk[..]].concat());
    let start = "hackbench: figure(time) from eevdf@6.18";
    assert!(output.stdout.starts_with(start), "{}{}", output.stdout, output.stderr);
    let unknown = [&["bisect", &plan, "--metric", "figure(tim)"], &walk[..]].concat();
    schedlab(&unknown).error(&["there is no figure(tim]); did you mean time?");
    let changed = [&["bisect", &plan, "--metric", "figure(time)", "--cpus", "2"], &walk[..]].concat();
    schedlab(&changed).error(&["--cpus cannot change it"]);
}

#[test]
fn releases_that_cannot_run_it_are_named() {
    let scratch = Scratch::new("bisect-refused");
    let text = r#"{"global": {"duration": 1}, "tasks": {"hog": {"loop": -1, "run": 5000}}}"#;
    let file = scratch.file("w.json", text);
    let groups = ["--group", "/g:cpu.max=10000 20000"];
    let walk = ["bisect", &file, "--metric", "cpu(hog)", "--from", "2.6.32", "--to", "3.10"];
    schedlab(&[&walk[..], &groups].concat()).error(&["--from 2.6.32: cfs@2.6.32 cannot run"]);
}

#[test]
fn mistakes_are_found_before_anything_runs() {
    let refused = |metric: &str, from: &str, to: &str, part: &str| {
        let arguments = ["bisect", FORKING, "--metric", metric, "--from", from, "--to", to];
        schedlab(&arguments).error(&[part]);
    };
    refused("wiat(helper)", "6.6", "7.3", "there is no metric \"wiat\"; did you mean wait?");
    refused("wait(helpr)", "6.6", "7.3", "there is no task \"helpr\"; did you mean helper?");
    refused("figure(time)", "6.6", "7.3", "only a benchmark has figures");
    refused("jobs", "7.3", "6.6", "eevdf@7.3 is later than eevdf@6.6; exchange the two");
    refused("jobs", "6.18", "6.18", "nothing differs");
    refused("jobs", "6.6", "bfs", "not on one line of releases");
    refused("jobs", "six", "7.3", "--from: there is no scheduler \"six\"");
    refused("jobs", "eevdf@6.18", "eevdf@6.18:NO_SUCH=1", "NO_SUCH is no tunable of eevdf@6.18");
    let threshold = [&bisect("6.6", "7.3")[..], &["--threshold", "-1%"]].concat();
    schedlab(&threshold).error(&["it must be a percentage of at least 0"]);
    let rule = ["run", FORKING, "-s", "eevdf:rule.has_one_tree=1"];
    schedlab(&rule).error(&["rule.has_one_tree cannot be switched alone"]);
}
