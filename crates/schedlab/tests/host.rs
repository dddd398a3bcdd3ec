//! `schedlab host`: refusals, dry runs, real runs where the host permits them, and removal of
//! everything it makes. Results that depend on the speed or load of the machine are not asserted.
#![cfg(all(feature = "host", target_os = "linux"))]

mod support;

use serde_json::Value;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use support::{Outcome, Scratch, ran, schedlab};

/// Lock that lets only one test run threads at a time.
static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

fn alone() -> std::sync::MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// All features of rt-app's language that need no capabilities.
const WORKLOAD: &str = r#"{
    "global": { "duration": 1 },
    "tasks": {
        "hog": { "loop": -1, "run": 5000 },
        "nice": { "priority": 5, "loop": -1, "run": 1000, "sleep": 1000 },
        "timer": { "loop": 10, "run": 100, "timer": { "ref": "unique", "period": 5000 } },
        "phases": { "loop": 2, "phases": {
            "a": { "loop": 2, "run": 200, "sleep": 300 },
            "b": { "policy": "SCHED_BATCH", "runtime": 500, "yield": "" } } },
        "one": { "loop": 20, "lock": "m", "run": 50, "wait": { "ref": "c", "mutex": "m" },
                 "unlock": "m", "sem_post": "s" },
        "two": { "loop": 20, "run": 20, "lock": "m", "signal": "c", "unlock": "m", "sleep": 2000 },
        "three": { "loop": 3, "barrier": "b", "run": 100 },
        "four": { "loop": 3, "barrier": "b", "run": 50 },
        "five": { "loop": 5, "sem_wait": "s", "run": 10 },
        "six": { "loop": 2, "run": 10, "suspend": "six" },
        "seven": { "loop": 5, "run": 10, "sleep": 20000, "resume": "six" },
        "eight": { "loop": 3, "run": 30, "fork": "nine", "sleep": 1000 },
        "nine": { "instance": 0, "loop": 1, "run": 40 },
        "short": { "delay": 10000, "loop": 1, "run": 20000 }
    }
}"#;

/// Reports a skipped test, even if the test's output is captured.
fn skipped(what: &str) {
    let said = format!("\nSKIPPED on this host, and not tested: {what}\n");
    std::io::stderr().write_all(said.as_bytes()).expect("there is a standard error");
}

/// Returns the rights of this user.
fn probed() -> Value {
    let text = schedlab(&["host", "--probe", "--format", "json"]).good();
    serde_json::from_str(&text).expect("JSON")
}

fn may(probe: &Value, what: &str) -> bool {
    let rights = probe["rights"].as_array().expect("rights");
    rights.iter().find(|right| right["what"] == what).expect(what)["yes"] == true
}

#[test]
fn the_probe_says_what_is_permitted() {
    let _alone = alone();
    let text = schedlab(&["host", "--probe"]).good();
    for what in ["SCHED_FIFO", "switches of own threads", "heavily weighted group", "base slice"] {
        assert!(text.contains(what), "{text}");
    }
    let probe = probed();
    assert_eq!(probe["format"], "schedlab-host-probe/1");
    assert!(may(&probe, "nice upwards"));
}

#[test]
fn what_is_wrong_is_refused_before_anything_runs() {
    let scratch = Scratch::new("host-refused");
    let hogs = scratch.file("hogs.json", r#"{"tasks": {"H": {"loop": -1, "run": 1000}}}"#);
    schedlab(&["host"]).error(&["FILE"]);
    schedlab(&["host", "no-such-file.json"]).error(&["no-such-file.json"]);
    schedlab(&["host", &hogs]).error(&["duration"]);
    schedlab(&["host", &hogs, "--duration", "1", "--cpus", "4095"]).error(&["CPU 4095"]);
    schedlab(&["host", &hogs, "--cpus", "0-"]).error(&["list of CPUs"]);
    schedlab(&["host", &hogs, "--noise-limit", "2"]).error(&["from 0 to 1"]);
    schedlab(&["host", &hogs, "--duration", "1", "--group", "/proc"])
        .error(&["not a control group"]);
    let far =
        scratch.file("far.json", r#"{"tasks": {"H": {"cpus": [4000], "loop": 1, "run": 1}}}"#);
    schedlab(&["host", &far]).error(&["task `H`, `cpus`", "CPU 4000 is not online"]);
    let disk = scratch.file("disk.json", r#"{"tasks": {"H": {"loop": 1, "iorun": 1}}}"#);
    schedlab(&["host", &disk]).error(&["task `H`, `iorun`", "--leave-out"]);
    schedlab(&["host", &disk, "--leave-out"]).error(&["no task of", "disk.json is left"]);
    schedlab(&["host", &hogs, "--duration", "0"]).error(&["hogs.json: a run of 0 s"]);
    schedlab(&["host", &hogs, "--duration", "1", "--runs", "3", "--tries", "2"])
        .error(&["--tries 2", "at least 3"]);
    // Options without effect are refused.
    for (alone, other) in [
        ("--probe", "--out=x.json"),
        ("--probe", "--runs=2"),
        ("--measure", "--trace=all"),
        ("--measure", "--noise-limit=1"),
    ] {
        schedlab(&["host", alone, other]).error(&["cannot be used with"]);
    }
    schedlab(&["host", &hogs, "--dry-run", "--out", "x.json"]).error(&["cannot be used with"]);
    let group =
        scratch.file("group.json", r#"{"tasks": {"H": {"taskgroup": "/g", "loop": 1, "run": 1}}}"#);
    schedlab(&["host", &group, "--group", "none"]).error(&["leave out --group none"]);
    let there = scratch.file("notes.txt", "mine");
    schedlab(&["host", &hogs, "--duration", "1", "--out", &there]).error(&["not overwritten"]);
    assert_eq!(fs::read_to_string(&there).expect("the file exists"), "mine");
}

#[test]
fn what_would_be_set_can_be_looked_at() {
    let scratch = Scratch::new("host-dry");
    let file = scratch.file("all.json", WORKLOAD);
    let text = schedlab(&["host", &file, "--dry-run", "--runs", "2", "--group", "none"]).good();
    for part in ["2 quiet runs of at most 6", "--group none", "task nice: 1 thread,", "priority 5"]
    {
        assert!(text.contains(part), "no {part} in: {text}");
    }
}

#[test]
fn names_do_not_break_lines() {
    let scratch = Scratch::new("host-names");
    let file = scratch.file("names.json", r#"{"tasks": {"a\nb": {"loop": 1, "run": 10}}}"#);
    let text = schedlab(&["host", &file, "--dry-run", "--group", "none"]).good();
    assert!(text.contains("task a\\nb: 1 thread,"), "{text}");
}

/// More threads than two CPUs could wake every ms can be made.
#[test]
fn a_thousand_threads_begin() {
    let _alone = alone();
    if !may(&probed(), "schedstat of threads") {
        skipped("this kernel keeps no schedstat of threads");
        return;
    }
    let scratch = Scratch::new("host-many");
    let file = scratch.file(
        "many.json",
        r#"{"tasks": {"T": {"instance": 1000, "loop": 1, "run": 10, "sleep": 100}}}"#,
    );
    let out = format!("{}/out.json", scratch.path());
    let args = ["host", &file, "--runs", "1", "--tries", "1", "--trace", "none", "--out", &out];
    let ran = schedlab(&args);
    if ran.stderr.contains("cannot be made: Resource temporarily unavailable") {
        skipped("this user may not have 1000 threads");
        return;
    }
    let result = result(ran, &out);
    assert_eq!(only_placement(&result)["tasks"].as_object().expect("tasks").len(), 1000);
}

/// Returns the result of a run, unless this host makes it impossible.
fn result(ran: Outcome, path: &str) -> Value {
    assert!(ran.status == 0 || ran.status == 3, "{}{}", ran.stdout, ran.stderr);
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    serde_json::from_str(&fs::read_to_string(path).expect("the file was written")).expect("JSON")
}

fn only_placement(result: &Value) -> &Value {
    let placements = result["placements"].as_object().expect("placements");
    assert_eq!(placements.len(), 1);
    placements.values().next().expect("one")
}

#[test]
fn a_workload_runs_on_the_host() {
    let _alone = alone();
    if !may(&probed(), "schedstat of threads") {
        skipped("this kernel keeps no schedstat of threads");
        return;
    }
    let scratch = Scratch::new("host-real");
    let (file, out) = (scratch.file("all.json", WORKLOAD), format!("{}/out.json", scratch.path()));
    let args = ["host", &file, "--runs", "1", "--tries", "1", "--duration", "0.4", "--out", &out];
    let result = result(schedlab(&args), &out);
    assert_eq!(result["format"], "live-schedule/1");
    assert_eq!(result["scenario"]["global"]["duration"], 0.4);
    let placement = only_placement(&result);
    let tasks = placement["tasks"].as_object().expect("tasks");
    // Includes forked threads.
    assert_eq!(tasks.len(), 16, "{:?}", tasks.keys());
    let times = |task: &str, figure: &str| {
        tasks[task][figure]["median"].as_u64().unwrap_or_else(|| panic!("{task} {figure}"))
    };
    // The CPU time of a finite task does not depend on when it runs. (System calls may add to it.)
    assert!(times("short-0", "cpu_ns") >= 20_000_000 * 99 / 100);
    assert!(times("hog-0", "phase_loops") > 0);
    if may(&probed(), "switches of own threads") {
        let slices = placement["trace"]["slices"].as_array().expect("slices");
        assert!(slices.iter().any(|slice| slice[3] == "hog-0"));
        for slice in slices {
            let at = |place: usize| slice[place].as_u64().expect("a number");
            assert!(at(1) <= at(2), "{slice}");
        }
        let ends = placement["trace"]["slice_ends"].as_str().expect("text");
        assert_eq!(ends.len(), slices.len());
    } else {
        skipped("slices, which this user may not record");
    }
}

#[test]
fn threads_can_begin_by_being_made() {
    let _alone = alone();
    if !may(&probed(), "schedstat of threads") {
        skipped("this kernel keeps no schedstat of threads");
        return;
    }
    let scratch = Scratch::new("host-fork");
    let text =
        r#"{"tasks": {"a": {"instance": 3, "delay": 1000, "loop": 2, "run": 100, "sleep": 100}}}"#;
    let (file, out) = (scratch.file("a.json", text), format!("{}/out.json", scratch.path()));
    let args = ["host", &file, "--runs", "1", "--tries", "1", "--start", "fork", "--out", &out];
    let result = result(schedlab(&args), &out);
    let placement = only_placement(&result);
    assert_eq!(placement["start"], "fork");
    assert_eq!(placement["tasks"].as_object().expect("tasks").len(), 3);
    assert_eq!(placement["tasks"]["a-2"]["phase_loops"]["median"], 2);
}

/// Returns the directories of groups that are named for this process number.
fn groups_of(process: u32) -> Vec<PathBuf> {
    fn look(directory: &Path, name: &str, depth: u32, found: &mut Vec<PathBuf>) {
        let Ok(entries) = fs::read_dir(directory) else { return };
        for entry in entries.flatten().filter(|e| e.file_type().is_ok_and(|kind| kind.is_dir())) {
            if entry.file_name() == name {
                found.push(entry.path());
            } else if depth > 0 {
                look(&entry.path(), name, depth - 1, found);
            }
        }
    }
    let mut found = vec![];
    look(Path::new("/sys/fs/cgroup"), &format!("schedlab-host-{process}"), 8, &mut found);
    found
}

/// Returns the child processes of a process.
fn children(process: u32) -> Vec<u32> {
    let path = format!("/proc/{process}/task/{process}/children");
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_ascii_whitespace().filter_map(|number| number.parse().ok()).collect()
}

/// Returns whether a process exists and is not a zombie.
fn lives(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
    state.is_some_and(|state| state != 'Z')
}

fn within(what: &str, patience: Duration, there: impl Fn() -> bool) {
    let begun = Instant::now();
    while !there() {
        assert!(begun.elapsed() < patience, "{what}: not within {patience:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Starts a long run, and returns it with its runner's process id.
fn started(file: &str) -> (Child, u32) {
    let mut command = support::command(&["host", file, "--runs", "1", "--tries", "1"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("the program starts");
    let process = child.id();
    let threads = |runner: u32| {
        fs::read_dir(format!("/proc/{runner}/task")).map_or(0, |entries| entries.count())
    };
    let runner = || children(process).into_iter().find(|&runner| threads(runner) >= 4);
    within("the threads exist", Duration::from_secs(60), || runner().is_some());
    (child, runner().expect("the runner exists"))
}

const LONG: &str = r#"{"global": {"duration": 300}, "tasks": {
    "H": {"instance": 3, "loop": -1, "run": 500, "sleep": 20000}}}"#;

fn kill(process: u32, signal: &str) {
    let status = Command::new("kill").args([signal, &process.to_string()]).status();
    assert!(status.expect("kill starts").success());
}

#[test]
fn nothing_is_left_when_the_runner_is_killed() {
    let _alone = alone();
    let scratch = Scratch::new("host-killed");
    let file = scratch.file("long.json", LONG);
    let (child, runner) = started(&file);
    let process = child.id();
    if groups_of(process).is_empty() {
        skipped("that groups are removed; this user may make none");
    }
    kill(runner, "-KILL");
    let ran = ran(child.wait_with_output().expect("the program ends"));
    ran.error(&["the runner was ended by signal 9"]);
    assert!(!lives(runner));
    assert_eq!(groups_of(process), [""; 0].map(PathBuf::from));
}

#[test]
fn nothing_is_left_after_an_interrupt() {
    let _alone = alone();
    let scratch = Scratch::new("host-interrupted");
    let file = scratch.file("long.json", LONG);
    for signal in ["-INT", "-TERM"] {
        let (child, runner) = started(&file);
        let process = child.id();
        kill(process, signal);
        let ran = ran(child.wait_with_output().expect("the program ends"));
        assert_eq!(ran.status, 130, "{}", ran.stderr);
        assert!(ran.stderr.contains("nothing is left behind"), "{}", ran.stderr);
        assert!(!lives(runner));
        assert_eq!(groups_of(process), [""; 0].map(PathBuf::from));
    }
}

#[test]
fn the_threads_end_with_the_program_whatever_ends_it() {
    let _alone = alone();
    let scratch = Scratch::new("host-parent");
    let file = scratch.file("long.json", LONG);
    let (mut child, runner) = started(&file);
    let process = child.id();
    kill(process, "-KILL");
    child.wait().expect("the program ends");
    within("the runner ends", Duration::from_secs(60), || !lives(runner));
    // The next run removes what this one could not.
    schedlab(&["host", "--probe"]).good();
    assert_eq!(groups_of(process), [""; 0].map(PathBuf::from));
}

#[test]
fn an_urgent_hog_does_not_hang_the_host() {
    let _alone = alone();
    let probe = probed();
    if !may(&probe, "SCHED_FIFO") || !may(&probe, "real-time tasks in it") {
        skipped("this user may not have real-time tasks");
        return;
    }
    let scratch = Scratch::new("host-urgent");
    let text = r#"{"global": {"duration": 1}, "tasks": {
        "F": {"instance": 4, "policy": "SCHED_FIFO", "priority": 95, "loop": -1, "run": 100000}}}"#;
    let (file, out) = (scratch.file("f.json", text), format!("{}/out.json", scratch.path()));
    let args = ["host", &file, "--runs", "1", "--tries", "1", "--duration", "0.3", "--out", &out];
    let result = result(schedlab(&args), &out);
    assert_eq!(only_placement(&result)["tasks"].as_object().expect("tasks").len(), 4);
}
