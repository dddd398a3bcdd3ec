//! `schedlab papers`, as users type it.

use crate::support::{Scratch, schedlab};
use std::fs;

const TARGETS: &str =
    "id,case,quantity,unit,low,high,published\nX-1,two hogs,ratio,,1.2,1.3,1.25\n";

/// Experiment with two loops.
const HOGS: &str = r#"id = "X-1"
title = "Two hogs"
source = "a test"

[[run]]
workload = '{"tasks": {"a": {"run": 10000, "loop": -1}, "b": {"run": 10000, "loop": -1, "priority": 1}}}'
scheduler = "cfs"
duration_s = 10
values = { ratio = "cpu-ratio a b" }

[[target]]
case = "two hogs"
quantity = "ratio"
value = "ratio"

[[figure]]
title = "The ratio"
x = "step"
y = "ratio"
series = [{ name = "simulated", x = [1], y = "ratio" }, { name = "published", x = [1], published = [1.25] }]
"#;

/// Makes a directory with one experiment, `text`.
fn directory(name: &str, text: &str) -> Scratch {
    let scratch = Scratch::new(name);
    scratch.file("hogs.toml", text);
    scratch.file("data/targets.csv", TARGETS);
    scratch
}

#[test]
fn experiments_are_listed_by_id_or_by_the_beginning_of_ids() {
    let all = schedlab(&["papers", "--list"]).good();
    assert!(all.contains("REL-1      One nice step\n") && all.contains("DIS-5.3 "), "{all}");
    let some = schedlab(&["papers", "--list", "dis-5"]).good();
    assert!(
        some.lines().count() >= 4 && some.lines().all(|line| line.starts_with("DIS-5.")),
        "{some}"
    );
}

#[test]
fn an_experiment_is_run_and_judged() {
    let text = schedlab(&["papers", "REL-1"]).good();
    for part in [
        "REL-1  One nice step",
        "CFS two hogs nice 0 and 1",
        "hard met",
        "30 conditions: phase of the first start against the tick",
        "1 experiment\nhard: 3 of 3 met (3 of them under every condition), 0 in part, 0 missed\n",
        "not counted: 0 by rule, 0 fitted, 0 empty, 0 not asked",
    ] {
        assert!(text.contains(part), "no \"{part}\" in:\n{text}");
    }
}

#[test]
fn a_missed_hard_demand_makes_the_exit_status_1() {
    let from = directory("papers-missed", &HOGS.replace("cpu-ratio a b", "cpu-ratio b a"));
    let ran = schedlab(&["papers", "--from", &from.path()]);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert!(
        ran.stdout.contains("hard: 0 of 1 met") && ran.stdout.contains("1 missed"),
        "{}",
        ran.stdout
    );
}

#[test]
fn contradictions_are_told() {
    let text = schedlab(&["papers", "--contradictions"]).good();
    let ids: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let expected: Vec<String> = (1..=19).map(|number| format!("C-{number}")).collect();
    assert_eq!(ids, expected);
}

#[test]
fn an_unknown_experiment_is_refused_and_the_known_ones_are_named() {
    schedlab(&["papers", "XX-1"]).error(&["there is no experiment \"XX-1\"", "REL-1"]);
    schedlab(&["papers", "--list", "DIS-5.33"]).error(&["there is no experiment \"DIS-5.33\""]);
}

#[test]
fn mistakes_in_files_are_told_with_file_and_place() {
    for (name, from, to, parts) in [
        ("papers-key", "title =", "tilte =", &["hogs.toml", "line 2", "tilte"][..]),
        ("papers-form", "duration_s = 10", "duration_s = = 10", &["hogs.toml", "line 8"]),
        ("papers-what", "cpu-ratio a b", "cpu-ration a b", &["X-1", "cpu-ration"]),
        ("papers-scheduler", "\"cfs\"", "\"cfx\"", &["X-1", "cfx"]),
        ("papers-workload", "\"run\": 10000", "\"walk\": 10000", &["X-1", "walk"]),
        (
            "papers-figure",
            "published = [1.25]",
            "published = [1, 2]",
            &["hogs.toml", "The ratio", "2 published numbers"],
        ),
        (
            "papers-curve",
            "y = \"ratio\" }",
            "y = \"ration\" }",
            &["X-1", "The ratio", "no measured value is called"],
        ),
        ("papers-id", "\"X-1\"", "\"../X-1\"", &["hogs.toml", "../X-1"]),
    ] {
        let text = HOGS.replacen(from, to, 1);
        assert_ne!(text, HOGS, "{name}");
        let scratch = directory(name, &text);
        schedlab(&["papers", "--from", &scratch.path()]).error(parts);
    }
    let scratch = directory("papers-targets", HOGS);
    scratch.file("data/targets.csv", TARGETS.replace("1.2,", "x,"));
    schedlab(&["papers", "--from", &scratch.path()]).error(&[
        "targets.csv",
        "line 2",
        "\"x\" is not a number",
    ]);
    let empty = Scratch::new("papers-empty");
    schedlab(&["papers", "--from", &empty.path()]).error(&["it contains no experiment"]);
    schedlab(&["papers", "--from", "/nonexistent"]).error(&["/nonexistent"]);
}

#[test]
fn a_report_is_a_page_with_figures_and_tables() {
    let from = directory("papers-from", HOGS);
    from.file(
        "data/contradictions.toml",
        "[[contradiction]]\nid = \"C-1\"\ntext = \"one thing\"\n",
    );
    let scratch = Scratch::new("papers-report");
    let write = |name: &str, threads: &str| {
        let report = format!("{}/new/{name}", scratch.path());
        let ran = schedlab(&[
            "papers",
            "--from",
            &from.path(),
            "--report",
            &report,
            "--threads",
            threads,
        ]);
        assert!(ran.stderr.contains("index.html"), "{}", ran.stderr);
        ran.good();
        let mut names: Vec<String> = fs::read_dir(&report)
            .expect("the directory was made")
            .map(|entry| {
                entry.expect("a readable entry").file_name().to_string_lossy().into_owned()
            })
            .collect();
        names.sort();
        assert_eq!(names, ["X-1.conditions.csv", "X-1.csv", "index.html", "verdicts.csv"]);
        names
            .iter()
            .map(|name| fs::read_to_string(format!("{report}/{name}")).expect("valid text"))
            .collect::<Vec<_>>()
    };
    let first = write("a", "1");
    assert_eq!(first, write("b", "2"), "the same results make the same bytes");
    assert!(first[0].starts_with("condition,phase,ticks\n1,0."), "{}", first[0]);
    assert_eq!(first[0].lines().count(), 31);
    assert!(first[1].starts_with("name,condition,value\nratio,1,1.2"), "{}", first[1]);
    assert_eq!(first[1].lines().count(), 31);
    for part in ["<svg", "hard met", "one thing", "<h2>X-1 Two hogs</h2>"] {
        assert!(first[2].contains(part), "no \"{part}\"");
    }
    assert!(first[3].contains("X-1,two hogs: ratio,1.25,"), "{}", first[3]);
    assert!(first[3].contains(",1.2,1.3,30,30,hard met,"), "{}", first[3]);
}

#[test]
fn an_experiment_that_fails_is_told_and_the_others_are_judged() {
    let from = directory("papers-one-fails", HOGS);
    from.file("broken.toml", HOGS.replace("X-1", "X-0").replace("\"cfs\"", "\"cfx\""));
    let ran = schedlab(&["papers", "--from", &from.path()]);
    assert_eq!(ran.status, 2, "{}", ran.stdout);
    assert!(ran.stderr.contains("X-0") && ran.stderr.contains("cfx"), "{}", ran.stderr);
    assert!(ran.stdout.contains("hard: 1 of 1 met"), "{}", ran.stdout);
}

#[test]
fn a_demand_that_holds_under_some_conditions_is_met_in_part() {
    let open = "[conditions]\npoints = 6\nfewer = \"a test\"\nfor.nice = [1, 2, 3]\n\n[[run]]";
    let text = HOGS.replacen("[[run]]", open, 1).replace("\"priority\": 1", "\"priority\": {nice}");
    let from = directory("papers-part", &text);
    let ran = schedlab(&["papers", "--from", &from.path()]);
    assert_eq!(ran.status, 1, "{}", ran.stdout);
    for part in ["hard in part (33 %)", "1 in part, 0 missed", "by nice: 1: median 1.2"] {
        assert!(ran.stdout.contains(part), "no \"{part}\" in:\n{}", ran.stdout);
    }
}

#[test]
fn a_report_that_cannot_be_written_is_told_and_leaves_nothing_behind() {
    let from = directory("papers-from-unwritable", HOGS);
    let scratch = Scratch::new("papers-unwritable");
    let file = scratch.file("file", "kept");
    schedlab(&["papers", "--from", &from.path(), "--report", &file]).error(&[&file]);
    assert_eq!(fs::read_to_string(&file).expect("the file exists"), "kept");
    scratch.file("report/index.html/in_the_way", "");
    let report = format!("{}/report", scratch.path());
    schedlab(&["papers", "--from", &from.path(), "--report", &report]).error(&["index.html"]);
    let names = fs::read_dir(&report)
        .expect("the directory exists")
        .map(|entry| entry.expect("a readable entry").file_name());
    assert!(names.into_iter().all(|name| !name.to_string_lossy().ends_with(".tmp")));
}
