//! `schedlab run` with traces, tables and snapshots, and the commands of perf, typed as users type
//! them.

use crate::support::{Scratch, command, schedlab};

const WORLD: &str = r#"{
    "global": { "duration": 1 },
    "tasks": {
        "hog": { "instance": 2, "loop": -1, "run": 10000 },
        "light": { "loop": -1, "run": 1000, "sleep": 19000 },
    },
}"#;

/// Returns the path of a file or directory in `scratch`.
fn place(scratch: &Scratch, name: &str) -> String {
    format!("{}/{name}", scratch.path())
}

/// Reads a file of a directory.
#[track_caller]
fn text(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns the numbers on the first line that begins with `begin`.
#[track_caller]
fn numbers(text: &str, begin: &str) -> Vec<f64> {
    let line = text.lines().find(|line| line.starts_with(begin));
    let line = line.unwrap_or_else(|| panic!("no line {begin} in:\n{text}"));
    line[begin.len()..].split([' ', ':']).filter_map(|word| word.parse().ok()).collect()
}

#[test]
fn every_ending_is_a_format_and_several_schedulers_have_a_file_each() {
    let scratch = Scratch::new("traces");
    let world = scratch.file("w.json", WORLD);
    let begins: [(&str, &[u8]); 5] = [
        ("a.pftrace", b"\x0a"),
        ("a.json", b"{\"displayTimeUnit\""),
        ("a.txt", b"# ========\n"),
        ("a.pftrace.gz", b"\x1f\x8b"),
        ("a.txt.zst", b"\x28\xb5\x2f\xfd"),
    ];
    for (name, begin) in begins {
        let path = place(&scratch, name);
        let plain = schedlab(&["run", &world, "--scheduler", "cfs"]).good();
        // Again, over the existing trace.
        for _ in 0..2 {
            let traced = schedlab(&["run", &world, "--scheduler", "cfs", "--trace", &path]).good();
            assert_eq!(traced, plain, "the report is the same");
            let bytes = std::fs::read(&path).expect("the file exists");
            assert!(bytes.starts_with(begin), "{name}");
        }
    }
    let path = place(&scratch, "b.txt");
    let two = ["run", &world, "--scheduler", "cfs,o_1", "--trace", &path];
    schedlab(&[&two[..], &["--trace-format", "ftrace"]].concat()).good();
    assert!(text(&path).starts_with("# tracer: nop"));
    assert!(text(&place(&scratch, "b-o_1@2.6.0.txt")).contains("o_1@2.6.0"));
}

#[test]
fn what_cannot_be_written_is_told_before_the_run() {
    let scratch = Scratch::new("unwritable");
    let world = scratch.file("w.json", WORLD);
    let run = |options: &[&str]| {
        schedlab(&[&["run", &world, "--scheduler", "cfs"][..], options].concat())
    };
    let error =
        run(&["--trace", &place(&scratch, "none/a.pftrace")]).error(&["--trace", "does not exist"]);
    assert!(!error.contains("light"), "nothing was run");
    run(&["--trace", &place(&scratch, "a.dat")]).error(&["its ending names no format", ".pftrace"]);
    // The workload itself, by mistake.
    run(&["--trace", &world]).error(&["is not a trace", "name another file"]);
    assert_eq!(text(&world), WORLD);
    let file = scratch.file("file", "x");
    run(&["--save", &file]).error(&["--save", "cannot be"]);
    run(&["--snapshot", "0.5", "--snapshot-dir", &file]).error(&["--snapshot", "cannot be"]);
    run(&["--snapshot", "soon"]).error(&["0.5s"]);
    run(&["--trace-format", "perf"]).error(&["--trace"]);
    if !cfg!(feature = "parquet") {
        let parquet = ["--save", &place(&scratch, "out"), "--save-format", "parquet"];
        run(&parquet).error(&["built without parquet", "--features parquet"]);
    }
    let other = scratch.file("v.json", WORLD);
    schedlab(&["run", &world, &other, "--scheduler", "cfs", "--trace", &place(&scratch, "a.txt")])
        .error(&["name one file"]);
}

#[test]
fn tables_are_saved_with_the_groups_paths() {
    let scratch = Scratch::new("tables");
    let out = place(&scratch, "out");
    let groups = ["--groups", "examples/nested-groups.groups", "--duration", "1"];
    let run = ["run", "examples/nested-groups.json", "--scheduler", "cfs", "--save", &out];
    schedlab(&[&run[..], &groups[..]].concat()).good();
    for table in ["slices", "wakeups", "migrations", "tasks", "groups"] {
        assert!(text(&format!("{out}/{table}.csv")).contains(','), "{table}");
    }
    let groups = text(&format!("{out}/groups.csv"));
    assert!(groups.contains("/alice"), "{groups}");
    let two = schedlab(
        &[
            &run[..1],
            &["examples/desktop.json", "--scheduler", "cfs,o_1", "--save", &place(&scratch, "two")],
        ]
        .concat(),
    );
    two.good();
    assert!(text(&place(&scratch, "two/o_1@2.6.0/tasks.csv")).contains("video-0"));
}

/// Sums in `/proc` match the report; each release has its own files.
#[test]
fn proc_is_that_of_the_release() {
    let scratch = Scratch::new("proc");
    let world = scratch.file("w.json", WORLD);
    let at = |scheduler: &str| {
        let dir = place(&scratch, &format!("snap-{scheduler}"));
        let args = ["run", &world, "--scheduler", scheduler, "--snapshot", "0.5s", "--snapshot"];
        schedlab(&[&args[..], &["900ms", "--snapshot-dir", &dir]].concat()).good();
        assert!(std::path::Path::new(&dir).join("0.9s").is_dir());
        move |name: &str| text(&format!("{dir}/0.5s/{name}"))
    };

    let file = at("cfs@2.6.32");
    let stat = file("proc/schedstat");
    assert!(stat.starts_with("version 15\n"), "{stat}");
    let cpu = numbers(&stat, "cpu0");
    assert_eq!(cpu.len(), 9);
    assert_eq!(cpu[6], 5e8, "the CPU was busy for half a second");
    let sums: f64 =
        (1..=3).map(|pid| numbers(&file(&format!("proc/{pid}/schedstat")), "")[0]).sum();
    assert_eq!(sums, 5e8, "the sum of its tasks' times");
    let debug = file("proc/sched_debug");
    assert!(debug.starts_with("Sched Debug Version: v0.09, 2.6.32 #1\nnow at 500.000000 msecs\n"));
    assert!(debug.contains("  .nr_running                    : "), "{debug}");
    assert!(debug.contains("cfs_rq[0]:/"), "{debug}");
    assert!(debug.lines().any(|line| line.starts_with('R')), "a task runs: {debug}");
    let sched = file("proc/1/sched");
    assert!(sched.starts_with("hog-0 (1, #threads: 3)\n-----"), "{sched}");
    let key = |key: &str| numbers(&sched, key)[0];
    assert_eq!(key("nr_switches"), key("nr_voluntary_switches") + key("nr_involuntary_switches"));
    assert_eq!(key("prio"), 120.0);

    let file = at("cfs@2.6.23");
    assert!(file("proc/schedstat").starts_with("version 14\n"));
    assert!(file("proc/sched_debug").starts_with("Sched Debug Version: v0.05-v20, 2.6.23 #1\n"));

    let file = at("eevdf@6.18");
    assert!(file("proc/schedstat").starts_with("version 17\n"));
    let debug = file("sys/kernel/debug/sched/debug");
    assert!(debug.contains("  .avg_vruntime                  : "), "{debug}");
    let row = debug.lines().find(|line| line.starts_with(">R")).expect("a running task");
    assert!(row.contains("   E   ") || row.contains("   N   "), "{row}");

    let file = at("o_1@2.6.22");
    let stat = file("proc/schedstat");
    assert!(stat.starts_with("version 14\n"));
    assert_eq!(numbers(&stat, "cpu0").len(), 12);

    // 2.4 shows only the remaining time slice of a task.
    let file = at("o_n");
    let fields: Vec<i64> = file("proc/1/stat")
        .trim()
        .split(' ')
        .skip(3)
        .filter_map(|field| field.parse().ok())
        .collect();
    assert_eq!(fields.len(), 36);
    assert!((0..=20).contains(&fields[14]), "the priority: {fields:?}");
    assert!(!std::path::Path::new(&place(&scratch, "snap-o_n/0.5s/proc/schedstat")).exists());

    let late = schedlab(&[
        "run",
        &world,
        "--scheduler",
        "cfs",
        "--snapshot",
        "5s",
        "--snapshot-dir",
        &place(&scratch, "late"),
    ]);
    assert!(late.stderr.contains("the run had ended before"), "{}", late.stderr);
}

#[test]
fn timehist_says_every_slice_of_a_run_and_of_its_trace() {
    let scratch = Scratch::new("timehist");
    let world = scratch.file("w.json", WORLD);
    let trace = place(&scratch, "a.txt");
    schedlab(&["run", &world, "--scheduler", "cfs", "--trace", &trace]).good();
    let options = ["-w", "-n", "--state", "-V", "-S"];
    let run = ["timehist", &world, "--scheduler", "cfs"];
    let of_run = schedlab(&[&run[..], &options].concat()).good();
    let of_text = schedlab(&[&["timehist", &trace][..], &options].concat()).good();
    // The text has no processes: `light-0[3/1]` is `light-0[3]`, and the columns move.
    let words = |text: &str| -> Vec<String> {
        let slices = text.lines().take_while(|line| !line.contains(" summary"));
        let plain = slices.map(|line| line.replace("/1]", "]"));
        plain.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    };
    assert_eq!(words(&of_run), words(&of_text));
    assert!(of_run.contains("awakened: light-0[3/1]") && of_run.contains("next: hog-1[2]"));
    let only = schedlab(&[&run[..], &["-t", "light"]].concat()).good();
    assert!(only.lines().skip(3).all(|line| line.contains("light-0[3/1]")), "{only}");
    assert!(only.lines().count() > 40);
    let none = schedlab(&[&run[..], &["--cpu", "3"]].concat()).good();
    assert_eq!(none.lines().count(), 3, "there is no CPU 3");
    let summary = schedlab(&[&run[..], &["-s"]].concat()).good();
    assert!(summary.starts_with("\nRuntime summary\n") && summary.contains("light-0[3/1]"));
    schedlab(&[&run[..], &["-t", "none"]].concat()).error(&["no task none", "light-0"]);
}

/// The summary of `timehist` matches the document of the run, to the microsecond that it shows,
/// even for CPUs that idle from the beginning or to the end, or go offline. The switches with which
/// a trace ends running tasks are not counted.
#[test]
fn the_summary_of_a_run_is_what_its_document_says() {
    let run = [
        "examples/server.json",
        "--scheduler",
        "cfs",
        "--cpus",
        "4",
        "--duration",
        "300ms",
        "--at",
        "50ms offline cpu 1-2",
        "--at",
        "150ms online cpu 2",
    ];
    let document = schedlab(&[&["run", "--format", "json"], &run[..]].concat()).good();
    let document: serde_json::Value = serde_json::from_str(&document).expect("valid JSON");
    let of_run = &document["runs"][0];
    let total = |name: &str| of_run["totals"][name].as_u64().expect("the entry exists");
    assert_eq!(total("busy_ns") + total("idle_ns"), 4 * 300_000_000 - 250_000_000 - 100_000_000);
    let summary = schedlab(&[&["timehist", "-s"], &run[..]].concat()).good();
    let behind = |words: &str| {
        let rest = summary.split(words).nth(1).unwrap_or_else(|| panic!("{words}: {summary}"));
        rest.split_whitespace().next().expect("a number").to_string()
    };
    assert_eq!(behind("Total number of context switches:"), total("switches").to_string());
    let ms = |ns: u64| format!("{}.{:03}", ns / 1_000_000, ns / 1_000 % 1_000);
    assert_eq!(behind("Total run time (msec):"), ms(total("busy_ns")));
    for (number, cpu) in of_run["cpus"].as_array().expect("there are CPUs").iter().enumerate() {
        let idle_ns = cpu["idle_ns"].as_u64().expect("the entry exists");
        assert_eq!(behind(&format!("CPU {number:>2} idle for")), ms(idle_ns), "CPU {number}");
    }
    let map = schedlab(&[&["map"], &run[..]].concat()).good();
    let lines = map.lines().count() as u64;
    assert_eq!(lines, total("switches"), "a line for each switch, without those at the end");
}

#[test]
fn latency_map_and_antagonists_agree_with_each_other() {
    let scratch = Scratch::new("latency");
    let world = scratch.file("w.json", WORLD);
    let run = |command: &str, options: &[&str]| {
        schedlab(&[&[command, &world, "--scheduler", "o_1"][..], options].concat()).good()
    };
    let latency = run("latency", &[]);
    assert!(latency.contains("  hog:(2) "), "{latency}");
    let by_runtime = run("latency", &["--pids", "--sort", "runtime"]);
    assert!(by_runtime.lines().nth(4).is_some_and(|row| row.contains("hog-")), "{by_runtime}");
    let map = run("map", &[]);
    assert!(map.lines().next().is_some_and(|line| line.starts_with("  *A0 ")), "{map}");
    assert!(map.contains("=> light-0:3"), "{map}");
    let compact = run("map", &["--compact"]);
    assert!(compact.lines().next().is_some_and(|line| line.ends_with(" (CPU 0)")), "{compact}");
    assert_eq!(compact.replace(" (CPU 0)", ""), map, "one CPU, and it switches");
    assert_eq!(run("latency", &["-C", "0"]), latency, "all is on the one CPU");
    let nothing = run("latency", &["-C", "1"]);
    assert!(!nothing.contains("hog"), "{nothing}");
    let seen = run("antagonists", &["--task", "hog-0"]);
    assert!(seen.contains("hog-1[2]") && seen.contains("light-0[3]"), "{seen}");
    // Two hogs and one CPU: while one waits, another task runs all the time.
    let waited = seen.split(" ms in all").next().and_then(|text| text.rsplit(' ').next());
    let waited: f64 = waited.and_then(|text| text.parse().ok()).expect("a time");
    let rows = seen.lines().skip(5).filter_map(|line| line.split_whitespace().nth(1));
    let ran: f64 = rows.filter_map(|number| number.parse::<f64>().ok()).sum();
    assert!((waited - ran).abs() < 0.01, "{waited} and {ran}\n{seen}");
}

#[test]
fn what_is_wrong_with_a_source_is_told() {
    let scratch = Scratch::new("sources");
    let world = scratch.file("w.json", WORLD);
    schedlab(&["timehist", &world, "--scheduler", "linux"])
        .error(&["only one can be shown at a time", "cfs@2.6.32"]);
    let text = scratch.file("t.txt", "a 1 [000] 1.0: sched:sched_switch: prev_comm=a prev_pid=1\n");
    schedlab(&["latency", &text]).error(&["t.txt: line 1: sched_switch", "next_prio"]);
    schedlab(&["map", &text, "--cpus", "2"]).error(&["--cpus applies"]);
    let text = scratch.file("e.txt", "hello\n");
    schedlab(&["map", &text]).error(&["no scheduler events", "perf script"]);
    schedlab(&["antagonists", &world, "--scheduler", "cfs", "--task", "x"]).error(&["no task x"]);
}

/// An interrupt closes the files, which contain the events so far.
#[cfg(unix)]
#[test]
fn an_interrupted_trace_can_be_read() {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};
    let scratch = Scratch::new("interrupt");
    let endless = WORLD.replace("\"duration\": 1", "\"duration\": 100000");
    let world = scratch.file("w.json", endless);
    let path = place(&scratch, "a.txt.gz");
    let mut child = command(&["run", &world, "--scheduler", "cfs", "--trace", &path])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let temporary = format!("{path}.{}.tmp", child.id());
    let since = Instant::now();
    while !std::fs::metadata(&temporary).is_ok_and(|there| there.len() > 100_000) {
        assert!(since.elapsed() < Duration::from_secs(60), "no output");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(!std::path::Path::new(&path).exists(), "the file is renamed when complete");
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(killed.is_ok_and(|status| status.success()));
    assert_eq!(child.wait().expect("the program ends").code(), Some(130));
    assert!(!std::path::Path::new(&temporary).exists());
    let latency = schedlab(&["latency", &path]).good();
    assert!(latency.contains("light"), "{latency}");
}

/// The figures of `trace stats` for a run's trace match the run's own.
#[test]
fn the_figures_of_a_trace_are_those_of_its_run() {
    let scratch = Scratch::new("trace-stats");
    let world = scratch.file("w.json", WORLD);
    // CPU times, times off the CPUs, and counts of every task.
    let figures = |json: &str| -> Vec<String> {
        let document: serde_json::Value = serde_json::from_str(json).expect("valid JSON");
        let tasks = document["runs"][0]["tasks"].as_array().expect("tasks").clone();
        let keys = ["cpu_ns", "wait_ns", "wakeups", "switches_in", "latency_max_ns"];
        let row = |task: &serde_json::Value| keys.map(|key| task[key].to_string()).join(" ");
        let mut rows: Vec<String> = tasks.iter().map(row).collect();
        rows.sort();
        rows
    };
    for name in ["a.txt", "a.pftrace", "b.txt.gz"] {
        let path = place(&scratch, name);
        let run = ["run", &world, "--scheduler", "cfs", "--cpus", "2", "--format", "json"];
        let run = schedlab(&[&run[..], &["--trace", &path]].concat()).good();
        let stats = schedlab(&["trace", "stats", &path, "--format", "json"]).good();
        assert_eq!(figures(&stats), figures(&run), "{name}");
        let table = schedlab(&["trace", "stats", &path, "--tasks"]).good();
        assert!(table.contains("wakeup latency max") && table.contains("light"), "{table}");
        assert!(
            schedlab(&["trace", "stats", &path, "--format", "csv"]).good().contains("recorded")
        );
    }
}

#[test]
fn a_trace_is_told_of_and_written_in_other_formats() {
    let scratch = Scratch::new("trace-info");
    let world = scratch.file("w.json", WORLD);
    let first = place(&scratch, "a.pftrace");
    schedlab(&["run", &world, "--scheduler", "cfs", "--cpus", "2", "--trace", &first]).good();
    let seen = |path: &str| -> serde_json::Value {
        let text = schedlab(&["trace", "info", path, "--format", "json"]).good();
        serde_json::from_str(&text).expect("valid JSON")
    };
    let expected = seen(&first);
    assert_eq!(expected["tasks"], 3);
    assert_eq!(expected["problems"], serde_json::json!([]));
    assert!(expected["wakeups"]["hard"].as_u64() > Some(10));
    for (name, format) in [("b.txt", "ftrace"), ("c.pftrace.zst", "perfetto"), ("d.txt", "perf")] {
        let path = place(&scratch, name);
        schedlab(&["trace", "convert", &first, &path, "--format", format]).good();
        let info = seen(&path);
        for key in ["kinds", "begin_ns", "end_ns", "tasks", "cpus", "by_cpu", "by_name"] {
            assert_eq!(info[key], expected[key], "{name} {key}");
        }
    }
    let table = schedlab(&["trace", "info", &first]).good();
    assert!(table.contains("yes  how long tasks waited") && table.contains("Perfetto"), "{table}");
    let text = place(&scratch, "b.txt");
    schedlab(&["trace", "convert", &text, &text]).error(&["this is the input trace"]);
    schedlab(&["trace", "convert", &text, &world]).error(&["w.json", "not a trace"]);
    let odd = place(&scratch, "e.odd");
    schedlab(&["trace", "convert", &text, &odd]).error(&["e.odd", "--format"]);
    schedlab(&["trace", "info", &odd]).error(&["e.odd: there is no such file"]);
    // The commands of perf also accept it.
    assert!(schedlab(&["latency", &first]).good().contains("light"));
}

/// All schedulers have the same measure: two equal loops on one CPU share it in the ideal machine,
/// so the lag of one is the excess of the other. Only eevdf has its own lags.
#[test]
fn lags_against_the_fluid_schedule_are_there_for_every_scheduler() {
    let scratch = Scratch::new("lags");
    let hogs = r#"{ "global": { "duration": 1 },
        "tasks": { "hog": { "instance": 2, "loop": -1, "run": 10000 } } }"#;
    let world = scratch.file("w.json", hogs);
    for scheduler in ["o_n", "o_1", "cfs", "bfs", "eevdf", "rr"] {
        let path = place(&scratch, &format!("{scheduler}.json"));
        let run = ["run", &world, "--scheduler", scheduler, "--trace", &path, "--trace-lag"];
        schedlab(&run).good();
        let trace: serde_json::Value = serde_json::from_str(&text(&path)).expect("valid JSON");
        let events = trace["traceEvents"].as_array().expect("events");
        let mut at = std::collections::BTreeMap::<u64, Vec<i64>>::new();
        let mut own = 0;
        for event in events.iter().filter(|event| event["ph"] == "C") {
            let name = event["name"].as_str().unwrap_or_default();
            if name.starts_with("Lag (fluid schedule), hog-") {
                let us = event["ts"].as_f64().expect("a time");
                let lag = event["args"]["ns"].as_i64().expect("a lag");
                at.entry((us * 1000.0).round() as u64).or_default().push(lag);
            }
            own += usize::from(name.starts_with("Lag (scheduler's own), "));
        }
        let pairs: Vec<_> = at.iter().filter(|(_, lags)| lags.len() == 2).collect();
        assert!(pairs.len() >= 3, "{scheduler}: {at:?}");
        for (at_ns, lags) in pairs {
            assert!((lags[0] + lags[1]).abs() <= 1, "{scheduler}: at {at_ns}: {lags:?}");
            assert!(lags[0].unsigned_abs() <= *at_ns, "{scheduler}: at {at_ns}: {lags:?}");
        }
        assert!(at.values().flatten().any(|lag| *lag > 0), "{scheduler}: no task lags");
        assert_eq!(own > 0, scheduler == "eevdf", "{scheduler}");
    }
}

#[test]
fn a_program_that_becomes_another_is_in_every_format() {
    let scratch = Scratch::new("exec");
    let world = scratch.file(
        "w.json",
        r#"{ "tasks": { "shell": { "loop": 3, "run": 1000, "exec": "", "sleep": 5000 } } }"#,
    );
    let trace = |name: &str, more: &[&str]| {
        let path = place(&scratch, name);
        let run = ["run", &world, "--scheduler", "cfs", "--trace", &path];
        schedlab(&[&run[..], more].concat()).good();
        std::fs::read(&path).expect("the file exists")
    };
    let count = |bytes: &[u8], part: &[u8]| {
        bytes.windows(part.len()).filter(|window| *window == part).count()
    };
    let line = b"sched_process_exec: filename=shell-0 pid=1 old_pid=1\n";
    assert_eq!(count(&trace("perf.txt", &[]), line), 3);
    assert_eq!(count(&trace("ftrace.txt", &["--trace-format", "ftrace"]), line), 3);
    assert_eq!(count(&trace("a.json", &[]), b"\"name\":\"exec\""), 3);
    // Field 237 of an event, of 13 bytes: file name, pid, old pid.
    let message = [&[0xea, 0x0e, 13, 0x0a, 7][..], b"shell-0", &[0x10, 1, 0x18, 1]].concat();
    assert_eq!(count(&trace("a.pftrace", &[]), &message), 3);
    // The written file is read again, and the run is the same.
    schedlab(&["timehist", &place(&scratch, "perf.txt"), "-s"]).good();
}
