//! `schedlab sweep` and `schedlab tune`, as users type them.

use crate::support::{Scratch, command, schedlab};
use serde_json::Value;
use std::fs;
use std::path::Path;

const WORKLOAD: &str = r#"{"global": {"duration": 1}, "tasks": {
    "hog": {"instance": 2, "loop": -1, "run": 20000},
    "video": {"loop": -1, "run": 2000, "timer": {"ref": "t", "period": 20000}}}}"#;

const SWEEP: &str = r#"
workload = "w.json"
schedulers = ["cfs", "eevdf"]
repeat = 2
part_runs = 8
metrics = ["wakeup_latency_p99", "w = wait of hog", "throughput of video"]
axis = [
    { name = "set.sched_latency_ns", values = ["default", "24ms"] },
    { name = "workload.tasks.video.run", from = 1000, to = 3000, step = 1000 },
]
"#;

fn scratch(name: &str) -> (Scratch, String) {
    let scratch = Scratch::new(name);
    scratch.file("w.json", WORKLOAD);
    let file = scratch.file("s.toml", SWEEP);
    (scratch, file)
}

/// Returns the parts in a directory: names and bytes.
fn parts(directory: &str) -> Vec<(String, Vec<u8>)> {
    let mut parts: Vec<(String, Vec<u8>)> = fs::read_dir(directory)
        .expect("the directory exists")
        .filter_map(|entry| {
            let path = entry.expect("a readable entry").path();
            let name = path.file_name()?.to_string_lossy().into_owned();
            name.starts_with("part-").then(|| (name, fs::read(&path).expect("the file exists")))
        })
        .collect();
    parts.sort();
    parts
}

#[test]
fn table_csv_and_json_have_the_same_numbers() {
    let (_scratch, file) = scratch("sweep-forms");
    let table = schedlab(&["sweep", &file]).good();
    assert!(table.starts_with("w.json: 6 points, 2 seeds, 24 runs in 3 parts\n"), "{table}");
    assert!(table.contains("best wakeup_latency_p99: "), "{table}");
    let csv = schedlab(&["sweep", &file, "--format", "csv", "--threads", "1"]).good();
    assert_eq!(csv.lines().count(), 25);
    assert!(csv.starts_with(
        "point,repetition,seed,scheduler,set.sched_latency_ns,workload.tasks.video.run,end,error,"
    ));
    let json = schedlab(&["sweep", &file, "--format", "json"]).good();
    let json: Value = serde_json::from_str(&json).expect("valid JSON");
    assert_eq!(json["points"].as_array().map(Vec::len), Some(12));
    let throughput: Vec<f64> = csv
        .lines()
        .filter(|line| line.starts_with("5,") && line.contains("cfs@"))
        .map(|line| line.rsplit(',').next().and_then(|it| it.parse().ok()).expect("a number"))
        .collect();
    let cell = json["points"].as_array().into_iter().flatten().find(|cell| {
        cell["point"] == 5 && cell["scheduler"].as_str().is_some_and(|it| it.starts_with("cfs"))
    });
    let mean = cell.expect("the cell was run")["figures"]["throughput of video"]["mean"].as_f64();
    assert_eq!(mean, Some(throughput.iter().sum::<f64>() / 2.0));
    let chosen = schedlab(&["sweep", &file, "--metrics", "length", "--format", "csv"]).good();
    assert!(chosen.lines().nth(1).is_some_and(|line| line.ends_with(",1000000000")), "{chosen}");
}

#[test]
fn what_is_there_is_not_run_again_and_another_sweep_is_refused() {
    let (scratch, file) = scratch("sweep-resume");
    let out = format!("{}/out", scratch.path());
    let run = |threads: &str| {
        schedlab(&["sweep", &file, "-o", &out, "--parts", "csv", "--threads", threads])
    };
    run("4").good();
    let whole = parts(&out);
    assert_eq!(whole.len(), 3);
    fs::remove_file(Path::new(&out).join("part-00001.csv")).expect("the file was written");
    let again = command(&["sweep", &file, "-o", &out, "--parts", "csv", "--threads", "1"])
        .output()
        .expect("the program runs");
    let message = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(again.status.success() && message.contains("2 of 3 parts already exist"), "{message}");
    assert_eq!(parts(&out), whole);
    scratch.file("s.toml", SWEEP.replace("3000", "4000"));
    run("1").error(&["has results of another sweep"]);
    assert_eq!(parts(&out), whole);
    let other = format!("{}/w.json", scratch.path());
    schedlab(&["sweep", &file, "-o", &other]).error(&["w.json"]);
    assert_eq!(fs::read_to_string(other).expect("the file exists"), WORKLOAD);
}

#[test]
fn the_page_stands_alone() {
    let (scratch, file) = scratch("sweep-page");
    let page = format!("{}/page.html", scratch.path());
    schedlab(&["sweep", &file, "--report", &page]).good();
    let text = fs::read_to_string(&page).expect("the file was written");
    for part in ["<svg", "Pareto front", "Content-Security-Policy", "All points", "default-src"] {
        assert!(text.contains(part), "no {part}");
    }
    assert!(!text.contains("http://") || !text.contains("src=\"http"));
    let other = scratch.file("letter.html", "dear");
    schedlab(&["sweep", &file, "--report", &other]).error(&["not a page of this program"]);
}

#[test]
fn a_mistake_is_told_with_its_place() {
    let (scratch, _) = scratch("sweep-wrong");
    let cases = [
        ("axis = [", "axes = [", ":7:1: unknown field `axes`"),
        ("set.sched_latency_ns", "set.sched_latncy_ns", ":8:14: axis set.sched_latncy_ns"),
        ("tasks.video.run", "tasks.vido.run", "did you mean `video`"),
        ("\"24ms\"", "\"24 parsecs\"", "is not a whole number"),
        ("w.json", "v.json", "v.json"),
        ("wait of hog", "wait of hgo", "there is no task \"hgo\""),
        ("repeat = 2", "repeat = -2", ":4:10: "),
        ("repeat = 2", "repeat = ", ":4:10: "),
    ];
    for (from, to, message) in cases {
        let file = scratch.file("wrong.toml", SWEEP.replacen(from, to, 1));
        schedlab(&["sweep", &file]).error(&["wrong.toml", message]);
    }
    schedlab(&["sweep", "nowhere.toml"]).error(&["nowhere.toml"]);
}

#[test]
fn what_needs_python_says_what_to_install() {
    let (scratch, file) = scratch("sweep-python");
    scratch.file("t.toml", "workloads = \"w.json\"\nobjective = \"minimize wait_mean\"");
    let tuned = format!("{}/t.toml", scratch.path());
    let lists: [&[&str]; 2] = [&["sweep", &file, "--engine", "dask"], &["tune", &tuned]];
    for list in lists {
        let output = command(list)
            .env("SCHEDLAB_PYTHON", "/nowhere/python")
            .output()
            .expect("the program runs");
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(
            message.contains("pip install") && message.contains("/nowhere/python"),
            "{message}"
        );
    }
}
