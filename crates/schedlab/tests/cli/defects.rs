//! Inputs that the program once mishandled, and their correct results (`tests/defects`).

use crate::support::{Outcome, schedlab};
use serde_json::Value;

/// Runs `schedlab run tests/defects/FILE ARGS`.
fn run(file: &str, args: &[&str]) -> Outcome {
    let file = format!("tests/defects/{file}");
    let mut all = vec!["run", file.as_str()];
    all.extend(args);
    schedlab(&all)
}

/// Asserts that `schedlab run tests/defects/FILE ARGS` fails with a message with all of `parts`.
#[track_caller]
fn run_error(file: &str, args: &[&str], parts: &[&str]) -> String {
    run(file, args).error(parts)
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("valid JSON")
}

/// Returns the first run of the document that it prints.
fn first_run(file: &str, args: &[&str]) -> Value {
    let mut all = vec!["--format", "json"];
    all.extend(args);
    json(&run(file, &all).good())["runs"][0].clone()
}

/// Returns the first slices: task, from, to, ms.
fn slices(run: &Value, count: usize) -> Vec<(u64, u64, u64)> {
    let row = |row: &Value| {
        let number = |at: usize| row[at].as_u64().expect("a number");
        (number(3), number(1) / 1_000_000, number(2) / 1_000_000)
    };
    run["slices"].as_array().expect("they are recorded").iter().take(count).map(row).collect()
}

#[test]
fn deadline_tasks_that_start_at_time_0_have_their_deadlines_at_once() {
    let run = first_run("dl-edf-from-0.json", &["-s", "eevdf"]);
    assert_eq!(slices(&run, 2), [(0, 0, 3), (1, 3, 7)]);
}

#[test]
fn deadline_tasks_that_start_at_time_0_have_their_budgets_at_once() {
    let of_d = |hz: &str, count: usize| {
        let run = first_run("dl-overrun-from-0.json", &["-s", "eevdf", "--hz", hz]);
        let all = slices(&run, 100);
        let of_d = all.into_iter().filter(|slice| slice.0 == 0);
        of_d.map(|(_, from, to)| (from, to)).take(count).collect::<Vec<_>>()
    };
    assert_eq!(of_d("1000", 3), [(0, 2), (10, 12), (20, 22)]);
    // Charged at ticks of 4 ms: an early overrun is paid back.
    assert_eq!(of_d("250", 3), [(0, 4), (10, 12), (30, 32)]);
}

#[test]
fn what_the_kernel_refuses_is_told_everywhere() {
    let cases: [(&str, &[&str], &str, &str, &str); 6] = [
        ("dl-over.json", &[], "SCHED_DEADLINE", "EBUSY", "a-0: EBUSY, continues as SCHED_OTHER"),
        ("dl-no-period.json", &[], "SCHED_DEADLINE", "EBUSY", "a-0: EBUSY, continues as"),
        ("dl-period-1us.json", &[], "SCHED_DEADLINE", "EINVAL", "a-0: EINVAL, continues as"),
        ("dl-affinity.json", &["-c", "2"], "SCHED_DEADLINE", "EPERM", "a-0: EPERM, continues as"),
        ("dl-fork.json", &[], "fork", "EAGAIN", "d-0: EAGAIN, there is no child"),
        (
            "cpuset-refused.json",
            &["-c", "2", "--group", "/g:cpuset.cpus=0"],
            "affinity",
            "EINVAL",
            "a-0: EINVAL, continues where it may run",
        ),
    ];
    for (file, args, asked, errno, warning) in cases {
        let mut args = args.to_vec();
        args.extend(["-s", "eevdf"]);
        let ran = run(file, &[&args[..], &["--tasks"]].concat());
        assert!(ran.stderr.contains(warning), "{file}: {}", ran.stderr);
        let table = ran.good();
        assert!(table.contains("an affinity ...):\neevdf@6.18 "), "{table}");
        assert!(table.contains("refused "), "{table}");
        let run = first_run(file, &args);
        assert_eq!(run["refusals"][0]["asked"], asked, "{file}");
        assert_eq!(run["refusals"][0]["errno"], errno, "{file}");
        let task = &run["tasks"][0];
        assert!(task["refused"].as_u64() > Some(0), "{file}");
        let in_force = if file == "dl-fork.json" { "SCHED_DEADLINE" } else { "SCHED_OTHER" };
        assert_eq!(task["policy"], in_force, "{file}");
    }
    // A task that is not forked does not exist.
    let run = first_run("dl-fork.json", &["-s", "eevdf"]);
    assert_eq!(run["tasks"].as_array().map(Vec::len), Some(1));
}

#[test]
fn what_a_timetable_is_refused_is_told_once() {
    let args = ["-s", "eevdf", "--at", "100ms chrt h deadline 96ms 100ms 100ms"];
    let ran = run("dl-over.json", &args);
    assert_eq!(ran.stderr.matches("h-0").count(), 1, "{}", ran.stderr);
    ran.good();
}

#[test]
fn memrun_counts_bytes_in_all() {
    let run = first_run("memrun-bytes.json", &["-s", "cfs"]);
    assert_eq!(run["tasks"][0]["cpu_ns"], 125);
    run_error("memrun-no-count.json", &["-s", "cfs"], &["`memrun` needs a `count`", "bytes"]);
}

#[test]
fn what_rt_app_runs_runs() {
    // Server: waits three times for three clients' hand-overs, and hands back.
    let run = first_run("sync-held.json", &["-s", "cfs"]);
    let cpu_ns = |task: usize| run["tasks"][task]["cpu_ns"].as_u64();
    assert_eq!((cpu_ns(0), cpu_ns(1)), (Some(900_000), Some(900_000)));
    assert_eq!(run["end"]["state"], "all-ended");
    // Woken every 5 ms, 1 ms of work each time.
    let run = first_run("suspend-no-value.json", &["-s", "eevdf"]);
    assert_eq!(run["tasks"][0]["wakeups"], 199);
}

#[test]
fn what_never_happens_is_told() {
    run_error(
        "two.json",
        &["-s", "cfs", "--timetable", "tests/defects/late.timetable"],
        &["late.timetable:2", "ends before its first occurrence, at 5 s"],
    );
    let ran = run("two.json", &["-s", "cfs", "--at", "5s renice a 5"]);
    assert!(ran.stderr.contains("`5s renice a 5` never takes effect"), "{}", ran.stderr);
    ran.good();
    let ran = run("never-starts.json", &["-s", "cfs"]);
    assert!(ran.stderr.contains("task `b` never starts: its `delay` is 5 s"), "{}", ran.stderr);
    assert!(ran.stderr.contains("task `c` never starts: its `instance` is 0"), "{}", ran.stderr);
    ran.good();
    let ran = run("ambiguous-names.json", &["-s", "cfs", "--at", "500ms kill a-0"]);
    assert!(ran.stderr.contains("`a-0` means two things"), "{}", ran.stderr);
    ran.good();
}

#[test]
fn what_takes_long_is_told_before() {
    use std::process::Command;
    let first_words = |args: &[&str]| {
        let mut child = Command::new(env!("CARGO_BIN_EXE_schedlab"))
            .current_dir(crate::support::root())
            .args(args)
            .stderr(std::process::Stdio::piped())
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("the program starts");
        let mut line = String::new();
        let stderr = child.stderr.take().expect("it is a pipe");
        let read = std::io::BufRead::read_line(&mut std::io::BufReader::new(stderr), &mut line);
        child.kill().expect("it has not ended");
        child.wait().expect("it is a child");
        read.expect("valid text");
        line
    };
    let line = first_words(&["run", "tests/defects/huge-times.json", "-s", "cfs"]);
    assert!(line.contains("lasts at least 18000000000 s"), "{line}");
    let often = "tests/defects/every-1ns.timetable";
    let two = "tests/defects/two.json";
    let line = first_words(&["run", two, "-s", "cfs", "--timetable", often]);
    assert!(line.contains("occurs 999999999 times"), "{line}");
}

#[test]
fn a_file_that_is_no_result_is_never_written_over() {
    let scratch = crate::support::Scratch::new("lost");
    let read = |path: &str| std::fs::read_to_string(path).expect("the file exists");
    let one_line = include_str!("../../../../tests/defects/one-line.json").trim_end();
    let two = include_str!("../../../../tests/defects/two.json");
    for text in [one_line, two, "{", "{\"schema\":", "{\"schema\":\"other/1\"", "note"] {
        let file = scratch.file("x.json", text);
        let args = ["bench", "yield", "--hogs=1", "--seconds=1", "--scheduler=o_1"];
        let ran = schedlab(&[&args[..], &["--resume", &file]].concat());
        if "{\"schema\":\"".starts_with(text) {
            // The beginning of a truncated first line.
            ran.good();
            continue;
        }
        ran.error(&["not a result of a sweep"]);
        assert_eq!(read(&file), text);
    }
    let file = scratch.file("y.json", two);
    let lost: [&[&str]; 3] = [
        &["stress", "--seed=5", "-s=rr", "--save", &file],
        &[
            "calibrate",
            "crates/papers/experiments/calibration/pentium3-1000x1.toml",
            "--write",
            &file,
        ],
        &["run", "tests/defects/two.json", "-s=cfs", "--plan-out", &file],
    ];
    for args in lost {
        schedlab(args).error(&["y.json exists and is not"]);
        assert_eq!(read(&file), two, "{args:?}");
    }
    let sweep = ["bench", "yield", "--hogs=1,2", "--seconds=1", "--scheduler=o_1", "--plot"];
    schedlab(&[&sweep[..], &[&file]].concat()).error(&["y.json: name a file that ends in .svg"]);
    assert_eq!(read(&file), two);
    let drawn = scratch.file("y.svg", two);
    schedlab(&[&sweep[..], &[&drawn]].concat()).error(&["y.svg exists and is not"]);
    assert_eq!(read(&drawn), two);
    let page = scratch.file("index.html", "<p>mine</p>");
    let directory = scratch.path();
    let ran = schedlab(&["papers", "IB-1", "--report", &directory]);
    ran.error(&["index.html exists and is not part of an earlier report"]);
    assert_eq!(read(&page), "<p>mine</p>");
}

#[test]
fn a_deadlock_under_one_scheduler_leaves_the_others_their_columns() {
    let ran = run("deadlock-under-one.json", &["-s", "fcfs,cfs"]);
    assert!(
        ran.stderr.contains("warning: cfs@2.6.32: from 0.100000 s on, no task"),
        "{}",
        ran.stderr
    );
    let table = ran.good();
    assert!(table.contains("fcfs") && table.contains("cfs\n"), "{table}");
    // If all schedulers fail it is an error, and other workloads still run.
    let file = "tests/defects/deadlock-under-one.json";
    schedlab(&["run", file, "-s", "cfs"]).error(&["no task can ever run again"]);
    let ran = schedlab(&["run", file, "tests/defects/two.json", "-s", "cfs"]);
    assert!(ran.stdout.contains("two.json on 1 CPU"), "{}", ran.stdout);
    ran.error(&["no task can ever run again"]);
}

#[test]
fn no_control_character_reaches_the_terminal() {
    let scratch = crate::support::Scratch::new("escapes");
    let evil = "\u{1b}[31mRED\u{1b}[2J\u{9b}5m\u{7f}\u{7}";
    let text = format!(
        r#"{{"tasks": {{"{evil}": {{"run": 1000}}, "b": {{"run": 5}}}}, "global": {{"duration": 1}}}}"#
    );
    let named = scratch.file("evil.json", &text);
    let file = scratch.file(&format!("{evil}.json"), &text);
    let missing = format!("{}/{evil}", scratch.path());
    let mix = scratch.file("evil.mix", format!("{evil} 3\n"));
    let bad_mix = scratch.file("evil2.mix", format!("hackbench --{evil} 3\n"));
    let groups = scratch.file("evil.groups", format!("/g cpu.{evil}=3\n"));
    let rules = scratch.file("evil.rules", format!("{evil} x y z\n"));
    let users = scratch.file("evil.users", format!("{evil} x\n"));
    let calibration = scratch.file("evil.toml", format!("title = \"{evil}\"\nx = 1\n"));
    let plan = scratch.file("plan.json", format!(r#"{{"schedlab_plan": 1, "{evil}": 1}}"#));
    let two = "tests/defects/two.json";
    let defects = |name: &str| format!("tests/defects/{name}");
    let commands: Vec<Vec<String>> = [
        format!("run {} -s cfs", defects("esc-task.json")),
        format!("run {} -s cfs", defects("esc-raw-key.json")),
        format!("run {} -s cfs", defects("esc-mutex.json")),
        format!("run {two} -s cfs --timetable {}", defects("esc.timetable")),
        format!("run {two} -s cfs --machine {}", defects("esc.machine.json")),
        format!("verify {}", defects("esc.golden.json")),
        format!("papers --from {}", defects("esc-paper")),
        format!("papers --from {} --list", defects("esc-paper")),
        format!("run {named} -s cfs,fcfs --tasks --timeline"),
        format!("run {named} -s cfs --format json"),
        format!("run {named} -s cfs --format csv --tasks"),
        format!("run {file} -s cfs"),
        format!("run {missing} -s cfs"),
        format!("run {two} -s {evil}"),
        format!("run {two} --{evil}"),
        evil.to_string(),
        format!("run {two} -s cfs --set {evil}=1"),
        format!("run {two} -s cfs --machine {evil}"),
        format!("run {two} -s cfs --group /g:{evil}=1"),
        format!("run {two} -s cfs --group /{evil}:cpu.shares=1"),
        format!("run {two} -s cfs --groups {groups}"),
        format!("run {two} -s cfs --cgrules {rules}"),
        format!("run {two} -s cfs --users {users}"),
        format!("run {plan}"),
        format!("calibrate {calibration}"),
        format!("bench mix --file {mix} --scheduler o_1"),
        format!("bench mix --file {bad_mix} --scheduler o_1"),
        format!("bench hackbench --groups {evil}"),
        format!("bench yield --hogs 1 --figure {evil} --scheduler o_1"),
        format!("verify {missing}"),
        format!("list {evil}"),
        format!("stress --scheduler {evil}"),
    ]
    .iter()
    .map(|line| line.split(' ').map(String::from).collect())
    .collect();
    for command in commands {
        let args: Vec<&str> = command.iter().map(String::as_str).collect();
        let Outcome { stdout, stderr, .. } = schedlab(&args);
        let control = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
        assert!(!stdout.contains(control), "{args:?}: {stdout:?}");
        assert!(!stderr.contains(control), "{args:?}: {stderr:?}");
        assert!(!stderr.contains("panicked"), "{args:?}: {stderr}");
    }
    // A name survives writing and reading a document.
    let document = json(&schedlab(&["run", &named, "-s", "cfs", "--format", "json"]).good());
    assert_eq!(document["runs"][0]["tasks"][0]["key"], evil);
}

#[test]
fn memory_stays_bounded_where_who_ran_when_is_recorded() {
    // At most 4,000,000 slices are kept. Here there would be more.
    let long = ["-s", "cfs", "-c", "2", "-d", "4.2"];
    let ran = run("many-slices.json", &[&long[..], &["--timeline"]].concat());
    assert!(ran.stdout.contains("CPU use"), "{}", ran.stdout);
    ran.error(&["slices were not recorded", "--from", "--timeline: the slices"]);
    // A part can be drawn.
    let part = ["-s", "cfs", "-c", "2", "--timeline", "--from", "0.5", "--to", "0.50001"];
    let picture = run("many-slices.json", &part).good();
    assert!(picture.contains("one column"), "{picture}");
    let ran = run("many-slices.json", &[&long[..], &["--format", "json"]].concat());
    assert!(ran.stderr.contains("slices were not recorded"), "{}", ran.stderr);
    let run = json(&ran.good())["runs"][0].clone();
    assert!(run["slices"].is_null() && run["spans"].is_null());
    assert_eq!(run["end"]["at_ns"], 4_200_000_000_u64);
}

#[test]
fn messages_of_other_files_are_as_good_as_those_of_workloads() {
    let machine = |file: &str, parts: &[&str]| {
        let file = format!("tests/defects/{file}.machine.json");
        run_error("two.json", &["-s", "cfs", "--machine", &file], parts);
    };
    machine("torn", &["topology.cpus: core 0 is in two packages: CPUs 0 and 1"]);
    machine(
        "bare-cost",
        &[r#"1:74: invalid type: integer `5`, expected a number with its source"#],
    );
    machine("empty", &["empty.machine.json: the file is empty"]);
    let mix = ["bench", "mix", "--file", "tests/defects/unfinished.mix", "--scheduler", "o_1"];
    let parts = ["unfinished.mix:1: a quote (') is not closed", "schedlab bench mix"];
    schedlab(&mix).error(&parts);
    let begun = std::time::Instant::now();
    schedlab(&["calibrate", "tests/defects/unknown-figure.calibration.toml"])
        .error(&["there is no figure \"foo\"; the figures are time, messages a second"]);
    assert!(begun.elapsed().as_secs() < 2, "the error is found before the simulation");
    let table = run("phases-only.json", &["-s", "cfs"]).good();
    // Its rounds are the rounds of a looping phase: 10 ms each, over 5 s.
    assert!(table.contains("throughput               99.8 /s"), "{table}");
}

#[test]
fn settings_of_one_scheduler_are_a_column_of_their_own() {
    let args = ["-s", "eevdf@6.6,eevdf,eevdf[DELAY_DEQUEUE=0,base_slice_ns=2800000]"];
    let table = run("naps.json", &args).good();
    assert!(table.contains("DELAY_DEQUEUE=0\n"), "{table}");
    let document = json(&run("naps.json", &[&args[..], &["--format", "json"]].concat()).good());
    let runs = document["runs"].as_array().expect("it is a list");
    assert_eq!(runs.len(), 3);
    assert_eq!(runs[2]["scheduler"]["set"][0]["name"], "DELAY_DEQUEUE");
    assert_ne!(runs[1]["tasks"], runs[2]["tasks"]);
    let ran = run("naps.json", &["-s", "eevdf,eevdf", "--set", "DELAY_DEQUEUE=0"]);
    assert!(ran.stderr.contains("eevdf@6.18 is named twice; it runs once"), "{}", ran.stderr);
    ran.good();
    run_error("naps.json", &["-s", "eevdf[x=1]"], &["x is not a tunable of eevdf@6.18"]);
    run_error("naps.json", &["-s", "eevdf[x"], &["there is no ] at the end"]);
    // A plan keeps the names.
    let scratch = crate::support::Scratch::new("settings");
    let plan = format!("{}/plan.json", scratch.path());
    let file = "tests/defects/naps.json";
    schedlab(&["run", file, "-s", "eevdf[DELAY_DEQUEUE=0]", "--plan-out", &plan]).good();
    let document = json(&schedlab(&["run", &plan, "--format", "json"]).good());
    assert_eq!(document["runs"][0]["scheduler"]["set"][0]["value"], 0);
}

/// A CPU whose real-time tasks had used up their runtime counted them as running; load balancing
/// moved its only ordinary task away, which was pushed back, and so on forever.
#[test]
fn real_time_tasks_without_runtime_do_not_make_balancing_endless() {
    for cpus in ["3", "4"] {
        let all = run("throttled-3cpu.json", &["-s", "cfs@6.1,cfs@5.10,eevdf@6.6", "-c", cpus]);
        assert!(all.good().contains("CPU use"));
    }
}

/// 1178 / 1179 is 0 in whole numbers.
#[test]
fn a_core_may_have_more_threads_than_its_power_has_parts() {
    let machine = ["--machine", "tests/defects/wide-core.machine.json"];
    for scheduler in ["cfs@2.6.32", "cfs@3.2", "cfs_interactive"] {
        run("naps.json", &[&["-s", scheduler, "-d", "0.05"], &machine[..]].concat()).good();
    }
}

/// Names are untrusted text.
#[test]
fn explanations_move_no_cursor() {
    let file = "tests/defects/names.json";
    for what in [["--worst", "3"], ["--at", "50ms"], ["--wakeup", "1"]] {
        let text = schedlab(&[&["explain", file, "-s", "eevdf"], &what[..]].concat()).good();
        let moves = |char: char| char.is_control() && char != '\n';
        assert!(!text.contains(moves) && !text.contains('\u{202e}'), "{what:?}: {text:?}");
    }
}
