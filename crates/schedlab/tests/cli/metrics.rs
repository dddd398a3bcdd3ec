//! Meaning of figures: `explain-metric`, rt-app's logs as files, and figures of phases and periods.

use crate::support::{Scratch, schedlab};
use serde_json::Value;
use std::path::Path;

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("valid JSON")
}

#[test]
fn a_metric_is_explained_by_any_of_its_names() {
    let by_title = schedlab(&["explain-metric", "fairness", "lag", "p99"]).good();
    let by_id = schedlab(&["explain-metric", "burst_lag_p99"]).good();
    assert_eq!(by_title, by_id);
    for part in ["fairness lag p99 (burst_lag_p99)", "unit        ns", "better      less"] {
        assert!(by_id.contains(part), "{by_id}");
    }
    for label in ["definition", "shown in    JSON burst_lag; table", "example"] {
        assert!(by_id.contains(label), "{by_id}");
    }
    let all = schedlab(&["explain-metric"]).good();
    for id in ["wakeup_latency_STATISTIC", "jain_by_weight", "task_missed_periods", "group_usage"] {
        assert!(all.contains(id), "{all}");
    }
    schedlab(&["explain-metric", "wakeup_latencies"]).error(&[
        "there is no metric \"wakeup_latencies\"",
        "wakeup_latency",
        "explain-metric",
    ]);
}

/// Every row of the table can be explained by its title.
#[test]
fn every_row_of_the_table_is_explained() {
    let args = ["run", "examples/server.json", "--machine", "z800-2x6", "-s", "cfs"];
    let table = schedlab(&[&args[..], &["--duration", "0.1"]].concat()).good();
    let rows = table.lines().skip_while(|line| !line.starts_with('\u{2500}')).skip(1);
    let rows: Vec<&str> = rows.take_while(|line| line.contains("  ")).collect();
    assert!(rows.len() > 15, "{table}");
    for row in rows {
        let title = row.split("  ").next().expect("a label");
        let text = schedlab(&["explain-metric", title]).good();
        assert!(text.contains("  example"), "{title}: {text}");
    }
}

#[test]
fn rt_apps_log_is_a_file_a_thread() {
    let scratch = Scratch::new("rt-app-log");
    let file = scratch.file(
        "periods.json",
        r#"{"tasks": {
            "a": {"loop": 3, "run": 2000, "timer": {"ref": "unique", "period": 10000}},
            "../b": {"instance": 2, "loop": 1, "delay": 1000, "run": 500, "sleep": 100}}}"#,
    );
    let logs = format!("{}/logs", scratch.path());
    let args = ["run", &file, "-s", "cfs,o_n@2.4.19", "--rt-app-log", &logs];
    schedlab(&args).good();
    let read = |name: &str| std::fs::read_to_string(Path::new(&logs).join(name));
    let numbers = |line: &str| -> Vec<i64> {
        line.split_whitespace().map(|column| column.parse().expect("a number")).collect()
    };
    for scheduler in ["cfs@2.6.32", "o_n@2.4.19"] {
        let a = read(&format!("{scheduler}/rt-app-a-0.log")).expect("the file was written");
        let mut lines = a.lines();
        let head: Vec<&str> = lines.next().expect("a heading").split_whitespace().collect();
        assert_eq!((head[0], head[10]), ("idx", "wu_lat"));
        let rows: Vec<Vec<i64>> = lines.map(numbers).collect();
        assert_eq!(rows.len(), 3, "{a}");
        // idx, perf, run, period, start, end, rel_st, slack, c_duration, c_period, wu_lat.
        assert_eq!(rows[1], [0, 2000, 2000, 10_000, 10_000, 20_000, 10_000, 8000, 2000, 10_000, 0]);
        for number in [1, 2] {
            let b = read(&format!("{scheduler}/rt-app-_.._b-{number}.log"))
                .expect("the file was written");
            assert_eq!(b.lines().count(), 2, "{b}");
        }
    }
    // Its own files are overwritten, and no others.
    schedlab(&args).good();
    std::fs::write(Path::new(&logs).join("cfs@2.6.32/rt-app-a-0.log"), "my own")
        .expect("the file can be written");
    schedlab(&args).error(&["--rt-app-log", "rt-app-a-0.log", "not a log of rt-app"]);
    schedlab(&["run", &file, "-s", "cfs", "--rt-app-log", &file]).error(&["--rt-app-log", &file]);
}

#[test]
fn rounds_of_phases_that_loop_are_jobs_and_missed_periods_are_counted() {
    let scratch = Scratch::new("jobs");
    let file = scratch.file(
        "jobs.json",
        r#"{"global": {"duration": 1}, "tasks": {
            "forever": {"loop": 1, "phases": {
                "once": {"run": 1000},
                "on": {"loop": -1, "run": 1000, "timer": {"ref": "unique", "period": 10000}}}},
            "both": {"loop": 2, "phases": {
                "p": {"loop": 3, "run": 100}, "q": {"loop": 4, "run": 100}}},
            "plain": {"loop": 5, "run": 100},
            "late": {"loop": 4, "run": 20000, "timer": {"ref": "unique", "period": 10000}}}}"#,
    );
    let report =
        json(&schedlab(&["run", &file, "--cpus", "4", "-s", "cfs", "--format", "json"]).good());
    let run = &report["runs"][0];
    let figures = |field: &str| -> Vec<u64> {
        let tasks = run["tasks"].as_array().expect("there are tasks");
        tasks.iter().map(|task| task[field].as_u64().expect("a number")).collect()
    };
    // The first phase takes 1 ms of the first period.
    assert_eq!(figures("jobs"), [99, 14, 5, 4]);
    assert_eq!(figures("loops"), [0, 2, 5, 4]);
    assert_eq!((figures("periods")[0], figures("missed_periods")[0]), (100, 0));
    assert_eq!((figures("periods")[3], figures("missed_periods")[3]), (4, 4));
    assert_eq!(run["totals"]["jobs"], 122);
    assert_eq!(run["totals"]["missed_periods"], 4);
    let first = &run["tasks"][0];
    assert!(first["latency_p99_ns"].is_u64() && run["tasks"][2]["latency_p99_ns"].is_null());
}

#[test]
fn what_of_latencies_is_leaving_idle_states_is_said() {
    let args = ["run", "examples/server.json", "--machine", "z800-2x6", "-s", "cfs"];
    let table = schedlab(&args).good();
    assert!(
        table.contains("\nwakeup latency, of which leaving idle states (median, p99, max):\ncfs@2"),
        "{table}"
    );
    let report = json(&schedlab(&[&args[..], &["--format", "json"]].concat()).good());
    let run = &report["runs"][0];
    let ns = |pointer: &str| run.pointer(pointer).and_then(Value::as_u64).expect(pointer);
    let (part, whole) = (ns("/idle_exit_of/p50_ns"), ns("/wakeup_latency/p50_ns"));
    assert!(part > whole * 9 / 10 && part < whole, "{part} of {whole}");
    assert_eq!(ns("/idle_exit/count"), ns("/wakeup_latency/count"));
    assert!(ns("/idle_exit/sum_ns") < ns("/wakeup_latency/sum_ns"));
    // A machine without costs has no such row.
    let plain = schedlab(&["run", "examples/server.json", "-s", "cfs"]).good();
    assert!(!plain.contains("idle states"), "{plain}");
}
