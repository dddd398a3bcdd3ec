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
        "The cause is one rule, new in 6.19: a child with no shorter slice preempts nothing",
        "only_short_children_preempt      no    yes  1.50 ms  100 %",
        "The schedules diverge at 1 ms, after 3 equal steps, on CPU 0, which has run server-0 \
         since 0 ms.",
        "eevdf@6.18: helper-0 runs, by `earliest_eligible_deadline`",
        "eevdf@6.19: no such step; server-0 continues.",
        "preempt, by `no_shorter_slice`",
        "schedlab explain examples/forking.json --scheduler eevdf@6.19 --at 1000000ns",
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
    assert_eq!(
        (&step["verdict"], &step["cause"]),
        (&"one".into(), &"only_short_children_preempt".into())
    );
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
    let step = &found["steps"][0];
    assert_eq!((&step["verdict"], &step["cause"]), (&"setting".into(), &"base_slice_ns".into()));
    let text = schedlab(&bisect("eevdf@6.18", to)).good();
    assert!(text.contains("The cause is the setting `base_slice_ns`."), "{text}");
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
    schedlab(&unknown).error(&["there is no figure(tim); did you mean time or"]);
    let changed =
        [&["bisect", &plan, "--metric", "figure(time)", "--cpus", "2"], &walk[..]].concat();
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
fn other_schedulers_are_one_step() {
    let output = schedlab(&bisect("bfs", "bore"));
    assert_eq!(output.status, 0, "{}", output.stderr);
    assert!(output.stderr.contains("bfs@0.404 and bore@6.7.3 are different schedulers"));
    for part in [
        "bore replaces bfs: another scheduler.",
        "The differences between the two are not separable here.",
    ] {
        assert!(output.stdout.contains(part), "no \"{part}\" in:\n{}", output.stdout);
    }
    // CFS and EEVDF share rules and settings, which are tried.
    let text = schedlab(&bisect("6.1", "6.6")).good();
    assert!(text.contains("eevdf replaces cfs: another scheduler."), "{text}");
    assert!(text.contains("No effect here: forks_count_forbidden_cpus"), "{text}");
    // BORE is EEVDF with a patch, which can be switched off.
    let bore = "eevdf@6.18";
    let metric = ["--metric", "wakeup_latency_p99", "--from", "bore", "--to", bore];
    let found = json(&[&["bisect", "examples/desktop.json"], &metric[..], &["-d", "3"]].concat());
    let step = &found["steps"][0];
    let verdict = (&step["verdict"], &step["cause"]);
    assert_eq!(verdict, (&"suffices".into(), &"PREEMPT_SHORT_BORE".into()));
}

#[test]
fn tunables_are_set_where_they_exist() {
    let set = ["--set", "base_slice_ns=300us", "--set", "nice:helper=1"];
    let output = schedlab(&[&bisect("6.1", "6.6")[..], &set].concat());
    assert!(
        output.stderr.contains("base_slice_ns is not a tunable of cfs@6.1"),
        "{}",
        output.stderr
    );
    let command = "--set base_slice_ns=300000 --set nice:helper=1 --scheduler eevdf@6.6 --at";
    assert!(output.stdout.contains(command), "{}", output.stdout);
    assert!(output.stdout.contains("--set nice:helper=1 --scheduler cfs@6.1 --at"));
    let with = |set: &str, part: &str| {
        schedlab(&[&bisect("6.1", "6.6")[..], &["--set", set]].concat()).error(&[part]);
    };
    with("NO_SUCH=1", "--set: NO_SUCH is not a tunable of eevdf@6.6");
    with("RUN_TO_PARITY=0,1", "--set RUN_TO_PARITY=0,1: several values; give one");
    with("RUN_TO_PARITY=7", "RUN_TO_PARITY=7: it must be 0 to 1");
}

#[test]
fn the_work_of_a_trace_is_compared() {
    let trace = "examples/traces/desk.xz";
    let walk = ["--metric", "wakeup_latency_p99", "--from", "6.18", "--to", "7.1"];
    let advice = "this is a trace; write its work as a workload, `schedlab replay";
    schedlab(&[&["bisect", trace], &walk[..]].concat()).error(&[trace, advice]);
    let scratch = Scratch::new("bisect-trace");
    let file = format!("{}/work.json", scratch.path());
    schedlab(&["replay", trace, "--write", &file]).good();
    let of_work = [&["bisect", &file, "--cpus", "1", "--duration", "2"], &walk[..]].concat();
    let text = schedlab(&of_work).good();
    assert!(text.contains("(`HRTICK`). 7.0 does not have it."), "{text}");
}

#[test]
fn a_fault_of_the_file_is_not_one_of_a_release() {
    let scratch = Scratch::new("bisect-faults");
    let walk = ["--metric", "jobs", "--from", "6.18", "--to", "6.19"];
    for (text, part) in [("hello", "error: `hello` is not a value"), ("", "the file is empty")] {
        let file = scratch.file("w.json", text);
        let output = schedlab(&[&["bisect", &file], &walk[..]].concat());
        assert!(!output.stderr.contains("--from"), "{}", output.stderr);
        output.error(&[part, &file]);
    }
    schedlab(&[&["bisect", "no-such-file.json"], &walk[..]].concat())
        .error(&["no-such-file.json: there is no such file"]);
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
    refused("jobs", "7.3", "6.6", "eevdf@7.3 is later than eevdf@6.6; swap the two");
    refused("jobs", "6.18", "6.18", "there is no difference");
    refused("turnaround_mean(server)", "6.18", "6.19", "no event that it measures occurred");
    refused("jobs", "6.7", "6.10", "both are eevdf@6.8 (6.7: Linux 6.7 is not implemented");
    refused("jobs", "six", "7.3", "--from: there is no scheduler \"six\"");
    refused("jobs", "eevdf@6.18", "eevdf@6.18:NO_SUCH=1", "NO_SUCH is not a tunable of eevdf@6.18");
    let threshold = [&bisect("6.6", "7.3")[..], &["--threshold", "-1%"]].concat();
    schedlab(&threshold).error(&["it must be a percentage of at least 0"]);
    let rule = ["run", FORKING, "-s", "eevdf:rule.has_one_tree=1"];
    schedlab(&rule).error(&["rule.has_one_tree cannot be switched alone"]);
}
