//! `schedlab run`, as users type it.

use crate::support::{Scratch, command, schedlab};
use serde_json::Value;

const HOGS: &str = r#"{
    // Two hogs and one that sleeps.
    "global": { "duration": 1 },
    "tasks": {
        "hog": { "instance": 2, "loop": -1, "run": 10000 },
        "light": { "loop": -1, "run": 1000, "sleep": 19000 },
    },
}"#;

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("valid JSON")
}

#[test]
fn the_main_line_is_compared_unless_told_otherwise() {
    let scratch = Scratch::new("default");
    let hogs = scratch.file("hogs.json", HOGS);
    let text = schedlab(&["run", &hogs]).good();
    for name in ["o_n", "o_1", "cfs", "bfs", "eevdf"] {
        assert!(text.contains(name), "no {name} in:\n{text}");
    }
    assert!(!text.contains("round_robin") && !text.contains("mlfq"), "{text}");
    let text = schedlab(&["run", &hogs, "-s", "linux,textbook"]).good();
    for name in ["round_robin", "o_n", "o_1", "cfs", "eevdf", "fcfs", "mlfq"] {
        assert!(text.contains(name), "no {name} in:\n{text}");
    }
    let text = schedlab(&["run", &hogs, "--scheduler", "linux"]).good();
    assert!(text.contains("eevdf") && !text.contains("fcfs"), "{text}");
    let text = schedlab(&["run", &hogs, "--scheduler", "fcfs,o_1@2.6.22"]).good();
    assert!(text.contains("fcfs") && text.contains("2.6.22") && !text.contains("cfs\n"), "{text}");
}

#[test]
fn every_example_runs() {
    schedlab(&["run", "examples/desktop.json"]).good();
    let on_two = schedlab(&["run", "examples/server.json", "--cpus", "2", "-s", "linux"]);
    assert!(
        on_two.stderr.contains("left out: round_robin@1.0 (it has only one CPU)"),
        "{}",
        on_two.stderr
    );
    on_two.good();
    let realtime = schedlab(&["run", "examples/realtime-mix.json", "-s", "linux,textbook"]);
    assert!(realtime.stderr.contains("(it does not support SCHED_FIFO)"), "{}", realtime.stderr);
    realtime.good();
    let groups =
        ["run", "examples/nested-groups.json", "--groups", "examples/nested-groups.groups"];
    schedlab(&groups).good();
}

#[test]
fn groups_get_what_the_side_file_and_the_options_say() {
    let share_of_alice = |options: &[&str]| {
        let mut args = vec!["run", "examples/nested-groups.json", "-s", "cfs", "--format", "json"];
        args.extend(options);
        let report = json(&schedlab(&args).good());
        let tasks = report["runs"][0]["tasks"].as_array().expect("there are tasks").clone();
        let alice = tasks.iter().find(|task| task["key"] == "alice").expect("a task of alice");
        alice["cpu_ns"].as_f64().expect("a number") / 10e9
    };
    let close = |share: f64, expected: f64| {
        assert!((share - expected).abs() < 0.01, "{share} is not {expected}")
    };
    close(share_of_alice(&[]), 0.5);
    close(share_of_alice(&["--groups", "examples/nested-groups.groups"]), 2.0 / 3.0);
    close(share_of_alice(&["--group", "/alice:cpu.shares=3072"]), 0.75);
}

#[test]
fn a_quota_is_kept_by_those_who_know_quotas() {
    let scratch = Scratch::new("quota");
    let text = r#"{"global": {"duration": 10}, "tasks": {
        "in": {"instance": 3, "loop": -1, "run": 1000, "taskgroup": "/limited"}, "out": {"loop": -1, "run": 1000}}}"#;
    let file = scratch.file("quota.json", text);
    let args = [
        "run",
        &file,
        "--cpus",
        "2",
        "--group",
        "/limited:cpu.max=20000 100000",
        "-f",
        "json",
        "-s",
    ];
    for scheduler in ["cfs@3.2", "eevdf", "eevdf@6.6"] {
        let report = json(&schedlab(&[&args[..], &[scheduler]].concat()).good());
        let tasks = report["runs"][0]["tasks"].as_array().expect("there are tasks").clone();
        let limited = tasks.iter().filter(|task| task["key"] == "in");
        let ms =
            limited.map(|task| task["cpu_ns"].as_u64().expect("a number")).sum::<u64>() / 1_000_000;
        // 100 periods of 20 ms, except for a slice of 5 ms.
        assert!((1995..=2005).contains(&ms), "{scheduler}: {ms} ms");
    }
    schedlab(&[&args[..], &["cfs"]].concat())
        .error(&["its groups cannot be limited", "cfs@3.2 and eevdf have quotas"]);
}

#[test]
fn json_and_csv_are_for_programs_and_always_the_same() {
    let scratch = Scratch::new("formats");
    let hogs = scratch.file("hogs.json", HOGS);
    let args = ["run", &hogs, "--scheduler", "linux", "--format", "json"];
    let first = schedlab(&args).good();
    assert_eq!(first, schedlab(&args).good(), "the same bytes each time");
    let report = json(&first);
    assert_eq!(report["schema"], "schedlab-run/1");
    assert_eq!(report["runs"][0]["scheduler"]["name"], "round_robin");
    assert_eq!(report["runs"][0]["end"]["at_ns"], 1_000_000_000);
    let both = json(&schedlab(&["run", &hogs, &hogs, "-s", "cfs", "-f", "json"]).good());
    assert_eq!(both.as_array().map(Vec::len), Some(2), "an array for several files");
    let csv = schedlab(&["run", &hogs, "-s", "cfs", "-f", "csv"]).good();
    assert_eq!(csv.lines().next(), Some("scheduler,release,metric,value,unit"));
    let csv = schedlab(&["run", &hogs, &hogs, "-s", "cfs", "-f", "csv", "--tasks"]).good();
    assert!(csv.starts_with("workload,scheduler,release,task,name"), "{csv}");
    assert_eq!(csv.lines().count(), 1 + 2 * 3);
}

#[test]
fn the_machine_is_as_asked_for() {
    let scratch = Scratch::new("machine");
    let hogs = scratch.file("hogs.json", HOGS);
    let args = [
        "run",
        &hogs,
        "-s",
        "cfs",
        "--cpus",
        "3",
        "--hz",
        "250",
        "--duration",
        "0.25",
        "-f",
        "json",
    ];
    let run = json(&schedlab(&args).good())["runs"][0].clone();
    assert_eq!((&run["machine"]["cpus"], &run["machine"]["hz"]), (&3.into(), &250.into()));
    assert_eq!(run["end"]["at_ns"], 250_000_000);
    // The number of CPUs that the workload names.
    let bound =
        scratch.file("bound.json", r#"{"tasks": {"a": {"loop": 2, "run": 1000, "cpus": [2]}}}"#);
    let run =
        json(&schedlab(&["run", &bound, "-s", "cfs", "-f", "json"]).good())["runs"][0].clone();
    assert_eq!(run["machine"]["cpus"], 3);
    schedlab(&["run", &bound, "-s", "cfs", "--cpus", "2"]).error(&["bound.json:1:", "CPU 2"]);
    // The seed determines the order of simultaneous events.
    let seeded = |seed| schedlab(&["run", &hogs, "-s", "o_1", "--seed", seed, "-f", "json"]).good();
    assert_eq!(seeded("7"), seeded("7"));
    assert!(json(&seeded("7"))["runs"][0]["seed"] == 7);
}

#[test]
fn a_tunable_is_set_where_it_is_known() {
    let scratch = Scratch::new("tunables");
    let hogs = scratch.file("hogs.json", HOGS);
    let set = ["--set", "sched_latency_ns=6000000"];
    let ran = schedlab(&["run", &hogs, "-s", "o_1,cfs", "-f", "json", set[0], set[1]]);
    assert!(
        ran.stderr.contains("note: sched_latency_ns is not a tunable of o_1@2.6.0"),
        "{}",
        ran.stderr
    );
    let report = json(&ran.good());
    let tunables = report["runs"][1]["tunables"].as_array().expect("a list").clone();
    let latency = tunables
        .iter()
        .find(|tunable| tunable["name"] == "sched_latency_ns")
        .expect("a tunable of cfs");
    assert_eq!(latency["value"], 6_000_000);
    let run = |set| schedlab(&["run", &hogs, "-s", "o_1,cfs", "--set", set]);
    run("sched_latency=1")
        .error(&["sched_latency is not a tunable", "did you mean sched_latency_ns?"]);
    run("sched_latency_ns=5").error(&["cfs@2.6.32: sched_latency_ns=5: it must be 100000 to "]);
    run("sched_latency_ns=many").error(&["\"many\" is not a whole number"]);
    run("sched_latency_ns").error(&["KEY=VALUE"]);
}

#[test]
fn what_cannot_be_run_is_said_before_anything_runs() {
    let scratch = Scratch::new("errors");
    let hogs = scratch.file("hogs.json", HOGS);
    schedlab(&["run"]).error(&["FILE", "Usage"]);
    schedlab(&["run", "nowhere.json"]).error(&["nowhere.json: there is no such file"]);
    schedlab(&["run", "examples"]).error(&["examples: it is a directory"]);
    let broken = scratch.file("broken.json", "{\"tasks\": {\"a\": {\"rum\": 5}}}");
    schedlab(&["run", &broken]).error(&["broken.json:1:", "rum", "did you mean `run`"]);
    let bytes = scratch.file("bytes.json", [0xff, 0xfe, 0x00]);
    schedlab(&["run", &bytes]).error(&["bytes.json: it is not text"]);
    let endless = scratch.file("endless.json", r#"{"tasks": {"a": {"loop": -1, "run": 1000}}}"#);
    schedlab(&["run", &endless]).error(&["endless.json"]);
    schedlab(&["run", &endless, "--duration", "0.1", "-s", "o_1"]).good();
    schedlab(&["run", &hogs, "-s", "o_2"]).error(&["no scheduler \"o_2\"", "did you mean"]);
    schedlab(&["run", &hogs, "-s", "o_1@2.5"]).error(&["no release \"2.5\" of o_1", "2.6.0"]);
    schedlab(&["run", &hogs, "-s", "round_robin", "--cpus", "2"])
        .error(&["round_robin@1.0 cannot run", "one CPU"]);
    schedlab(&["run", &hogs, "--cpus", "0"]).error(&["0", "1..=4096"]);
    schedlab(&["run", &hogs, "--duration", "-3"]).error(&["--duration", "a time such as"]);
    schedlab(&["run", &hogs, "--duration", "nan"]).error(&["a time such as"]);
    schedlab(&["run", &hogs, "--from", "1"]).error(&["--timeline"]);
    schedlab(&["run", &hogs, "--group", "/g:cpu.weight=0", "-s", "cfs"]).error(&["cpu.weight"]);
    schedlab(&["run", &hogs, "--groups", "nowhere"]).error(&["nowhere: there is no such file"]);
    let stuck = scratch.file("stuck.json", r#"{"tasks": {"a": {"loop": 1, "sem_wait": "never"}}}"#);
    schedlab(&["run", &stuck, "-s", "cfs"]).error(&["no task can ever run again", "a-0"]);
    let ran = schedlab(&["run", &stuck, "-s", "cfs", "--duration", "1"]);
    assert!(ran.stderr.contains("warning: "), "{}", ran.stderr);
    ran.good();
}

#[test]
fn timelines_are_drawn_in_a_window() {
    let scratch = Scratch::new("timeline");
    let hogs = scratch.file("hogs.json", HOGS);
    let window = ["run", &hogs, "-s", "cfs", "--timeline", "--from", "0.5", "--to", "0.6"];
    let text = schedlab(&window).good();
    assert!(text.contains("light-0") && text.contains("hog-1"), "{text}");
    schedlab(&["run", &hogs, "-s", "cfs", "--timeline", "--from", "3"])
        .error(&["--timeline: nothing to draw"]);
}

#[test]
fn text_fits_where_it_is_shown() {
    let scratch = Scratch::new("width");
    let hogs = scratch.file("hogs.json", HOGS);
    for columns in [60, 100] {
        let output = command(&["run", &hogs, "--tasks"])
            .env("COLUMNS", columns.to_string())
            .env("LC_ALL", "C")
            .output()
            .expect("the program starts");
        let text = String::from_utf8(output.stdout).expect("valid text");
        assert!(text.is_ascii(), "{text}");
        let widest = text.lines().skip(1).map(str::len).max();
        assert!(widest <= Some(columns), "{widest:?} in {columns}:\n{text}");
    }
}
