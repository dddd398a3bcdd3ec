//! Columns of `schedlab run`, as users type it: settings, repetitions, baselines, and which are
//! shown where.

use crate::support::{Scratch, command, ran, schedlab};
use serde_json::Value;

const SERVER: [&str; 6] = ["run", "examples/server.json", "--cpus", "4", "--duration", "0.5"];

/// Runs `schedlab run examples/server.json ... ARGS`.
fn server(args: &[&str]) -> crate::support::Outcome {
    schedlab(&[&SERVER[..], args].concat())
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("valid JSON")
}

/// Returns the scheduler, the release and the settings of each column.
fn columns(args: &[&str]) -> Vec<String> {
    let report = json(&server(&[args, &["-f", "json"]].concat()).good());
    let runs = report["runs"].as_array().expect("there are runs").clone();
    let set = |run: &Value| {
        let set = run["scheduler"]["set"].as_array().cloned().unwrap_or_default();
        let one = |one: &Value| format!(" {}={}", one["name"].as_str().unwrap(), one["value"]);
        set.iter().map(one).collect::<String>()
    };
    runs.iter()
        .map(|run| format!("{}{}", run["scheduler"]["name"].as_str().unwrap(), set(run)))
        .collect()
}

#[test]
fn all_forms_of_a_setting_mean_the_same() {
    let csv = |args: &[&str]| server(&[args, &["-f", "csv"]].concat()).good();
    let first = csv(&["-s", "cfs:sched_latency_ns=6000000,cfs"]);
    assert!(first.contains("\ncfs,2.6.32[sched_latency_ns=6000000],"), "{first}");
    for same in [
        &["-s", "cfs[sched_latency_ns=6000000],cfs"][..],
        &["-s", "cfs:sched_latency_ns=6e6", "-s", "cfs"],
        &["-s", "cfs", "--set", "sched_latency_ns=6ms,default"],
    ] {
        assert_eq!(csv(same), first, "{same:?}");
    }
}

#[test]
fn several_settings_of_one_scheduler_are_one_column() {
    let both = ["cfs sched_latency_ns=6000000 sched_min_granularity_ns=1000000", "o_1", "cfs"];
    let colon = "cfs:sched_latency_ns=6ms,sched_min_granularity_ns=1e6,o_1,cfs";
    assert_eq!(columns(&["-s", colon]), both);
    let brackets = "cfs[sched_latency_ns=6ms,sched_min_granularity_ns=1e6],o_1,cfs";
    assert_eq!(columns(&["-s", brackets]), both);
}

#[test]
fn lists_make_a_column_for_each_combination() {
    let a = ["--set", "sched_latency_ns=6e6,20e6"];
    let b = ["--set", "sched_wakeup_granularity_ns=default,2ms"];
    let expected = [
        "cfs sched_latency_ns=6000000",
        "cfs sched_latency_ns=6000000 sched_wakeup_granularity_ns=2000000",
        "cfs sched_latency_ns=20000000",
        "cfs sched_latency_ns=20000000 sched_wakeup_granularity_ns=2000000",
    ];
    assert_eq!(columns(&[&["-s", "cfs"][..], &a, &b].concat()), expected);
    // A scheduler without the tunable is left out, or is unchanged.
    let ran = server(&[&["-s", "o_1,bfs,cfs"][..], &a].concat());
    let note = "left out: o_1@2.6.0, bfs@0.404 (sched_latency_ns is not a tunable of them)";
    assert!(ran.stderr.contains(note), "{}", ran.stderr);
    ran.good();
    let as_is = ["-s", "o_1,cfs", "--set", "sched_latency_ns=default,6ms"];
    assert_eq!(columns(&as_is), ["o_1", "cfs", "cfs sched_latency_ns=6000000"]);
    // A single value applies to all schedulers, and makes no columns.
    let one = ["-s", "o_1,cfs", "--set", "sched_latency_ns=6ms"];
    assert_eq!(columns(&one), ["o_1", "cfs"]);
    let text = server(&one).good();
    assert!(text.starts_with("examples/server.json on 4 CPUs, 500 ms, sched_latency_ns=6000000\n"));
    // A setting that all columns share distinguishes no column: it is also above the table.
    let both = server(&["-s", "cfs:sched_latency_ns=6ms,cfs@2.6.24:sched_latency_ns=6ms"]).good();
    assert!(both.starts_with("examples/server.json on 4 CPUs, 500 ms, sched_latency_ns=6000000\n"));
    assert_eq!(both.matches("sched_latency_ns").count(), 1, "{both}");
}

#[test]
fn nice_values_weights_and_quotas_are_columns() {
    let run = |args: &[&str]| {
        let whole = [&["run", "examples/nested-groups.json", "-f", "json"][..], args].concat();
        json(&schedlab(&whole).good())
    };
    let share = |report: &Value, column: usize| {
        let groups = report["runs"][column]["groups"].as_array().expect("there are groups").clone();
        let alice = groups.iter().find(|group| group["path"] == "/alice").expect("one of them");
        alice["machine_share"].as_f64().expect("a number")
    };
    let close = |is: f64, expected: f64| assert!((is - expected).abs() < 0.01, "{is} {expected}");
    let shares = run(&["-s", "cfs", "--set", "shares:/alice=512,2048"]);
    close(share(&shares, 0), 1.0 / 3.0);
    close(share(&shares, 1), 2.0 / 3.0);
    assert_eq!(shares["runs"][0]["scheduler"]["set"][0]["name"], "shares:/alice");
    let weight = run(&["-s", "cfs:weight:/alice=50,cfs"]);
    close(share(&weight, 0), 1.0 / 3.0);
    close(share(&weight, 1), 0.5);
    let quota = run(&["-s", "eevdf", "--set", "quota:/alice=20ms/100ms,max"]);
    close(share(&quota, 0), 0.2);
    close(share(&quota, 1), 0.5);
    assert_eq!(quota["runs"][0]["scheduler"]["set"][0]["value"], "20ms/100ms");
    // Two hogs share a CPU. The weight of nice 5 is 335.
    let scratch = Scratch::new("nice");
    let hog = r#"{"loop": -1, "run": 100000}"#;
    let text = format!(r#"{{"global": {{"duration": 10}}, "tasks": {{"a": {hog}, "b": {hog}}}}}"#);
    let hogs = scratch.file("hogs.json", text);
    let nice = schedlab(&["run", &hogs, "-s", "cfs", "--set", "nice:a=0,5", "-f", "json"]).good();
    let nice = json(&nice);
    let a = |column: usize| {
        let task = &nice["runs"][column]["tasks"][0];
        (task["nice"].as_i64().unwrap(), task["cpu_ns"].as_f64().unwrap() / 10e9)
    };
    assert_eq!((a(0).0, a(1).0), (0, 5));
    close(a(0).1, 0.5);
    close(a(1).1, 335.0 / (1024.0 + 335.0));
    // A scheduler without the feature is left out: here 2.6.32, which has no quotas.
    let ran = schedlab(&[
        "run",
        "examples/nested-groups.json",
        "-s",
        "cfs,eevdf",
        "--set",
        "quota:/alice=20ms,max",
    ]);
    assert!(ran.stderr.contains("left out: cfs@2.6.32[quota:/alice=20ms/100ms]"), "{}", ran.stderr);
    ran.good();
}

#[test]
fn what_cannot_be_set_is_said_with_what_could() {
    let set = |value: &str, parts: &[&str]| {
        server(&["-s", "o_1,cfs", "--set", value]).error(parts);
    };
    set(
        "base_slice_ns=1e6,2e6",
        &["not a tunable of any of the schedulers; eevdf@6.18", "have it"],
    );
    set("sched_latenci_ns=1e6,2e6", &["did you mean sched_latency_ns?"]);
    set("sched_latency_ns=1e6,1ms", &["the value 1ms is given twice"]);
    set("sched_latency_ns=6x", &["\"6x\" is not a whole number such as 6000000 or 6e6, or a time"]);
    set("sched_latency_ns=6e6,5", &["cfs@2.6.32[sched_latency_ns=5]", "it must be 100000 to "]);
    set("nise:worker=3", &["\"nise:\" is not a kind of setting; the kinds are nice:KEY"]);
    set("nice:worcer=3", &["there is no task \"worcer\"; "]);
    set("nice:worker=30", &["-20 to 19"]);
    set("shares:/g=512", &["there is no group /g; no task is in a group"]);
    set("quota:g=20ms", &["quota:/g"]);
    set("quota:/g=20ms/5s", &["20ms/100ms", "or max"]);
    let many: Vec<String> = (1..=257).map(|value| format!("{value}00000")).collect();
    set(&format!("sched_latency_ns={}", many.join(",")), &["make 514 columns", "256"]);
    let twice = ["-s", "cfs", "--set", "sched_latency_ns=1e6,2e6", "--set", "sched_latency_ns=3e6"];
    server(&twice).error(&["sched_latency_ns is given twice"]);
    let own = |name: &str, parts: &[&str]| {
        server(&["-s", name]).error(parts);
    };
    own("cfs:base_slice_ns=5", &["base_slice_ns is not a tunable of cfs@2.6.32; eevdf@6.18"]);
    own(
        "cfs,sched_latency_ns=6ms",
        &["this setting names no scheduler", "cfs:sched_latency_ns=6ms"],
    );
    own("cfs:nice=6", &["the KEY is missing; write it as nice:KEY=6"]);
    own("cfs:sched_latency_ns", &["a setting has no =", "cfs:NAME=VALUE"]);
    own("cfs[sched_latency_ns=5", &["there is no ] at the end"]);
    own("cfs:sched_latency_ns=6e6,20e6", &["--set sched_latency_ns=6000000,20e6"]);
    own("cfs:sched_latency_ns=6e6,sched_latency_ns=2e6", &["sched_latency_ns is set twice"]);
    schedlab(&["bench", "hackbench", "1", "--set", "sched_latency_ns=6e6,20e6"])
        .error(&["a tunable can have one value"]);
}

#[test]
fn repeated_runs_show_median_and_spread() {
    let args = ["-s", "eevdf", "--set", "base_slice_ns=700000,2800000", "--repeat", "5"];
    let text = server(&args).good();
    assert!(text.contains("base_slice_ns=700000   base_slice_ns=2800000"), "{text}");
    assert!(text.contains(".."), "{text}");
    let about = "5 runs each, seeds 1 to 5: the median, and below it minimum..maximum.";
    assert!(text.contains(about), "{text}");
    let whole = [&args[..], &["-f", "json"]].concat();
    let bytes = server(&whole).good();
    assert_eq!(bytes, server(&whole).good(), "the same bytes each time");
    let report = json(&bytes);
    assert_eq!(report["workload"]["late_starts"], true);
    let run = &report["runs"][1];
    let seeds: Vec<u64> = run["repetitions"]
        .as_array()
        .expect("there are five")
        .iter()
        .map(|run| run["seed"].as_u64().expect("a number"))
        .collect();
    assert_eq!(seeds, [1, 2, 3, 4, 5]);
    let rows = run["summary"].as_array().expect("there are rows");
    let row = rows.iter().find(|row| row["metric"] == "wait_max").expect("it is one");
    let values = row["values"].as_array().expect("five");
    let mut values: Vec<u64> = values.iter().map(|value| value.as_u64().expect("ns")).collect();
    assert_eq!(values[0], run["totals"]["wait_max_ns"].as_u64().expect("of the first run"));
    values.sort_unstable();
    assert_eq!((row["median"].as_u64(), row["max"].as_u64()), (Some(values[2]), Some(values[4])));
    assert!(values[0] < values[4], "seeds make a difference");
    // One of the runs can be repeated alone. Its start differs from that of a run without a seed.
    let again = ["-s", "eevdf:base_slice_ns=2800000", "--repeat", "1", "--seed", "3", "-f", "json"];
    let again = json(&server(&again).good());
    assert_eq!(again["runs"][0]["totals"]["wait_max_ns"], row["values"][2]);
    assert_eq!(again["runs"][0]["summary"], Value::Null);
    let csv = server(&[&args[..], &["--rows", "wait_max", "-f", "csv"]].concat()).good();
    assert_eq!(csv.lines().next(), Some("scheduler,release,run,metric,value,unit"));
    assert_eq!(csv.lines().count(), 1 + 2 * (5 + 5));
    let median = format!("eevdf,6.18[base_slice_ns=2800000],median,wait_max,{},ns", values[2]);
    assert!(csv.lines().any(|line| line == median), "{csv}");
    // A failed run is reported with its seed, and other columns still run.
    let scratch = Scratch::new("repeat");
    let stuck = r#"{"tasks": {"a": {"loop": 1, "run": 1000, "sem_wait": "never"}}}"#;
    let stuck = scratch.file("stuck.json", stuck);
    schedlab(&["run", &stuck, "-s", "cfs", "--repeat", "2", "--seed", "4"])
        .error(&["seed 4: no task can ever run again"]);
    server(&["--repeat", "0"]).error(&["--repeat", "1..=10000"]);
}

#[test]
fn the_plan_of_repeated_columns_gives_the_same_bytes() {
    let scratch = Scratch::new("columns-plan");
    let plan = format!("{}/plan.json", scratch.path());
    let what = ["-s", "o_1,cfs", "--set", "sched_latency_ns=default,6ms", "--set", "nice:worker=3"];
    let args = [&what[..], &["--repeat", "2", "--seed", "9"]].concat();
    let keys =
        std::fs::read_to_string(crate::support::root().join("examples/server.json")).unwrap();
    assert!(keys.contains("\"worker\""), "the example has such a task");
    let direct = server(&[&args[..], &["-f", "json"]].concat()).good();
    server(&[&args[..], &["--plan-out", &plan]].concat()).good();
    assert_eq!(schedlab(&["run", &plan, "-f", "json"]).good(), direct);
    schedlab(&["run", &plan, "--repeat", "3"]).error(&["--repeat cannot change it"]);
}

#[test]
fn an_earlier_result_is_compared_with() {
    let scratch = Scratch::new("baseline");
    let before = format!("{}/before.json", scratch.path());
    server(&["-s", "cfs,o_1", "-o", &before]).good();
    let args = ["-s", "o_1,cfs", "--baseline", &before, "--rows", "throughput,wait_max"];
    let same = server(&args);
    assert_eq!(same.stderr, "");
    let text = same.good();
    assert_eq!(text.matches(" = ").count() + text.matches(" =\n").count(), 4, "{text}");
    let report = json(&server(&["-s", "cfs", "--baseline", &before, "-f", "json"]).good());
    assert_eq!(report["baseline"]["mismatches"], json("[]"));
    assert_eq!(report["baseline"]["columns"][0]["scheduler"], "cfs@2.6.32");
    // Another machine and a setting are noted, and the differences are shown.
    let one = format!("{}/one.json", scratch.path());
    server(&["-s", "cfs", "-o", &one]).good();
    let set = ["-s", "cfs:sched_latency_ns=60ms", "--baseline", &one, "--rows", "wait_max"];
    let other = schedlab(&[&SERVER[..2], &["--cpus", "2", "--duration", "0.5"], &set].concat());
    assert!(other.stderr.contains("CPUs: was 4, is 2"), "{}", other.stderr);
    assert!(
        other.stderr.contains("scheduler: was cfs@2.6.32, is cfs@2.6.32[sched_lat"),
        "{}",
        other.stderr
    );
    let text = other.good();
    assert!(text.contains(" ms, +") && text.contains(" %"), "{text}");
    let csv = server(&["-s", "o_1,cfs", "--baseline", &before, "-f", "csv"]).good();
    assert!(
        csv.starts_with("scheduler,release,metric,value,unit,was,difference,percent\n"),
        "{csv}"
    );
    for (content, part) in [
        ("{\"tasks\": {}}", "not a schedlab-run/1 document"),
        ("nonsense", "not a schedlab-run/1 document"),
        ("{\"schema\": \"schedlab-bench/1\"}", "this is a `schedlab-bench/1` document"),
        ("[]", "it contains no result"),
    ] {
        let file = scratch.file("wrong.json", content);
        server(&["-s", "cfs", "--baseline", &file]).error(&["--baseline: ", "wrong.json", part]);
    }
    server(&["-s", "cfs", "--baseline", &before, "-f", "csv", "--tasks"]).error(&["--baseline"]);
    server(&["-s", "cfs", "--baseline", "nowhere.json"]).error(&["nowhere.json: there is no such"]);
}

#[test]
fn a_result_is_written_in_whole_and_over_nothing_else() {
    let scratch = Scratch::new("output");
    let path = |name: &str| format!("{}/{name}", scratch.path());
    let direct = |format: &str| server(&["-s", "o_1", "-f", format]).good();
    for (name, format) in [("a.json", "json"), ("a.csv", "csv"), ("a.txt", "table")] {
        for _ in 0..2 {
            assert_eq!(server(&["-s", "o_1", "-o", &path(name)]).good(), "");
            assert_eq!(std::fs::read_to_string(path(name)).expect("written"), direct(format));
        }
    }
    let foreign = scratch.file("notes.txt", "mine\n");
    server(&["-s", "o_1", "-o", &foreign]).error(&["notes.txt exists and is not a result"]);
    assert_eq!(std::fs::read_to_string(&foreign).expect("the file exists"), "mine\n");
    server(&["-s", "o_1", "-o", &path("none/a.json")]).error(&["does not exist"]);
    server(&["-s", "o_1", "-o", &scratch.path()]).error(&["this is a directory"]);
    // A failure leaves no file behind.
    server(&["-s", "o_1", "--rows", "x", "-o", &path("b.txt")]).error(&["--rows"]);
    let mut names: Vec<_> = std::fs::read_dir(scratch.path())
        .expect("the directory exists")
        .map(|entry| entry.expect("readable").file_name().into_string().expect("plain"))
        .collect();
    names.sort();
    assert_eq!(names, ["a.csv", "a.json", "a.txt", "notes.txt"]);
}

#[test]
fn rows_and_columns_are_chosen_by_name() {
    let text = server(&["-s", "linux", "--columns", "eevdf,cfs", "--rows", "waiting longest,jobs"]);
    let text = text.good();
    let head = text.lines().nth(1).expect("a head").split_whitespace().collect::<Vec<_>>();
    assert_eq!(head, ["eevdf", "cfs"]);
    let labels: Vec<&str> = text.lines().skip(4).take(2).map(|line| &line[..12]).collect();
    assert!(labels[0].starts_with("waiting long") && labels[1].starts_with("jobs"), "{text}");
    let sets = ["-s", "cfs", "--set", "sched_latency_ns=6ms,20ms", "--columns"];
    let of = |column: &str| columns(&[&sets[..], &[column]].concat());
    for name in
        ["sched_latency_ns=6e6", "cfs:sched_latency_ns=6ms", "cfs@2.6.32[sched_latency_ns=6000000]"]
    {
        assert_eq!(of(name), ["cfs sched_latency_ns=6000000"], "{name}");
    }
    assert_eq!(of("cfs").len(), 2);
    assert_eq!(of("CFS, the Completely Fair Scheduler").len(), 2);
    let grouped = ["run", "examples/nested-groups.json", "-s", "cfs"];
    assert!(schedlab(&grouped).good().contains("/bob/build"));
    let rows = schedlab(&[&grouped[..], &["--rows", "jobs"]].concat()).good();
    assert!(!rows.contains("/bob/build"), "{rows}");
    let wrong = |args: &[&str], parts: &[&str]| {
        server(&[&["-s", "linux"][..], args].concat()).error(parts);
    };
    wrong(&["--columns", "eevd"], &["no column is eevd; did you mean eevdf?"]);
    wrong(&["--columns", "fcfs"], &["no column is fcfs; the columns are "]);
    wrong(&["--rows", "wait_mx"], &["no figure \"wait_mx\"; did you mean wait_max"]);
    wrong(&["--rows", "wakeup_latency"], &["is a distribution; name one of", "wakeup_latency_p99"]);
    wrong(&["--rows", "cpu_busy"], &["but of a CPU"]);
    wrong(&["--rows", "jobs", "-f", "json"], &["--rows: a JSON document contains all figures"]);
}

#[test]
fn the_main_line_is_shown_and_the_best_is_marked() {
    let head = |args: &[&str]| {
        let text = server(&[args, &["--rows", "wait_max"]].concat()).good();
        let line = text.lines().nth(1).expect("a head");
        line.split_whitespace().map(String::from).collect::<Vec<_>>()
    };
    assert_eq!(head(&[]), ["o_n", "o_1", "cfs", "bfs", "eevdf"]);
    assert_eq!(head(&["-s", "main"]), head(&[]));
    let text = server(&["--rows", "wait_max"]).good();
    assert!(text.contains('*') && text.contains("* best of the row"), "{text}");
    assert!(!text.contains('\x1b'), "{text}");
    let bold = server(&["--rows", "wait_max", "--color", "always"]).good();
    assert!(bold.contains("\x1b[1m") && !bold.contains('*'), "{bold}");
    let never = schedlab(&[&["--color", "never"][..], &SERVER, &["--rows", "wait_max"]].concat());
    assert_eq!(never.good(), text);
    server(&["--color", "blue"]).error(&["auto, always, never"]);
    // Explicitly requested colour is used nevertheless.
    let mut asked = command(&[&SERVER[..], &["--color", "always"]].concat());
    let asked = ran(asked.env("NO_COLOR", "1").output().expect("the program starts")).good();
    assert!(asked.contains('\x1b'), "{asked}");
}

#[test]
fn shells_get_what_they_read() {
    for (shell, part) in [
        ("bash", "complete -F _schedlab"),
        ("zsh", "#compdef schedlab"),
        ("fish", "complete -c schedlab"),
        ("elvish", "edit:completion"),
        ("powershell", "Register-ArgumentCompleter"),
    ] {
        let script = schedlab(&["completions", shell]).good();
        assert!(script.contains(part) && script.contains("repeat"), "{shell}");
    }
    schedlab(&["completions", "bahs"]).error(&["bash, elvish, fish"]);
}

/// A column's own setting, against `--set`, is in its heading, and the value of `--set` in the
/// other headings; neither is above the table.
#[test]
fn a_setting_stands_where_it_holds() {
    let text = server(&[
        "-s",
        "cfs:sched_latency_ns=6ms,cfs,eevdf",
        "--set",
        "sched_latency_ns=8ms",
        "--rows",
        "throughput",
    ])
    .good();
    assert!(text.starts_with("examples/server.json on 4 CPUs, 500 ms\n"), "{text}");
    let heads: Vec<&str> = text.lines().skip(1).take(4).collect();
    let words = |line: &str| line.split_whitespace().map(String::from).collect::<Vec<_>>();
    assert_eq!(words(heads[0]), ["cfs", "cfs", "eevdf"]);
    assert_eq!(words(heads[2]), ["sched_latency_ns", "sched_latency_ns"]);
    assert_eq!(words(heads[3]), ["=6000000", "=8000000"], "eevdf has no such tunable");
}

#[test]
fn a_baseline_without_runs_is_none() {
    let scratch = Scratch::new("empty-baseline");
    let text = server(&["-s", "cfs", "--format", "json"]).good();
    let mut document: Value = serde_json::from_str(&text).expect("valid JSON");
    document["runs"] = Value::Array(vec![]);
    for (name, text) in [("one.json", document.to_string()), ("list.json", format!("[{document}]"))]
    {
        let file = scratch.file(name, text);
        server(&["-s", "cfs", "--baseline", &file]).error(&[name, "`runs`", "is empty"]);
    }
}
