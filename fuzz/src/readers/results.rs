//! Results of earlier runs: reports as JSON, and the lines of a sweep.

use super::{Reader, Shape, text};
use schedlab_lab::bench::Bench;
use schedlab_lab::sweep::{Sweep, read_finished};
use schedlab_report::bench::BenchReport;
use schedlab_report::{Style, csv, json, table};
use std::sync::LazyLock;

pub(super) const REPORT: Reader = Reader {
    name: "report",
    about: "results of `schedlab run --format json`: read, written, read again, shown",
    read: |input| match json::from_json(&text(input)) {
        Ok(report) => {
            let written = json::to_json(&report);
            let again = json::from_json(&written).expect("it was written by the program");
            assert!(json::to_json(&again) == written, "{written}");
            drop((table::comparison(&report, Style::plain(80)), csv::comparison(&report)));
            drop((table::groups(&report, Style::plain(80)), csv::tasks(&report)));
            Shape::taken(report.runs.len() as u64)
        }
        Err(error) => Shape::refused(error),
    },
    words: &[
        "\"schema\": \"schedlab-run/1\"",
        "\"runs\": [",
        "\"tasks\": [",
        "\"slices\": [[0,0,5,0]]",
        "\"spans\": [[0,5,0]]",
        "\"groups\": [",
        "\"machine\": {",
        "\"cpus\": ",
        "\"task\": ",
        "\"scheduler\": {",
        "\"name\": ",
        "\"release\": ",
        "\"count\": ",
        "\"cpu_ns\": ",
        "null",
    ],
    most: 6_000,
};

pub(super) const BENCH_REPORT: Reader = Reader {
    name: "bench_report",
    about: "results of `schedlab bench --format json`: read, written, read again, shown",
    read: |input| match BenchReport::from_json(&text(input)) {
        Ok(report) => {
            let written = report.to_json();
            let again = BenchReport::from_json(&written).expect("it was written by the program");
            assert!(again.to_json() == written, "{written}");
            drop(schedlab_report::bench::csv::figures(&report));
            for name in report.figure_names() {
                drop(schedlab_report::bench::table::sweep(&report, name, Style::plain(80)));
            }
            Shape::taken(report.points.len() as u64)
        }
        Err(error) => Shape::refused(error),
    },
    words: &[
        "\"schema\": \"schedlab-bench/1\"",
        "\"swept\": [0]",
        "\"parameters\": [",
        "\"points\": [",
        "\"schedulers\": [",
        "\"scheduler\": 0",
        "\"values\": [",
        "\"runs\": [",
        "\"figures\": [",
        "\"name\": ",
        "\"value\": ",
        "\"seed\": ",
        "null",
    ],
    most: 6_000,
};

/// The sweep whose results are read.
static PERIODIC: LazyLock<Sweep> = LazyLock::new(|| {
    let bench = Bench::new(schedlab_bench::find("periodic").expect("there is one"));
    let none: Vec<(&'static str, Vec<schedlab_bench::Value>)> = vec![];
    Sweep::new(bench, none, 1).expect("one run is not too many")
});

pub(super) const SWEEP: Reader = Reader {
    name: "sweep",
    about: "the results that `schedlab bench --save` keeps and `--resume` reads",
    read: |input| match read_finished("fuzz.results", input, &PERIODIC, "1") {
        Ok((whole, runs)) => {
            assert!(whole <= input.len());
            Shape::taken(runs as u64)
        }
        Err(error) => Shape::refused(error),
    },
    words: &[
        "{\"schema\":\"schedlab-bench-results/1\",",
        "\"program\":\"1\"",
        "\"benchmark\":\"periodic\"",
        "\"machine\":\"idealised\"",
        "\"cpus\":1",
        "\"hz\":null",
        "\"limit_ns\":null",
        "{\"run\":\"x\",\"result\":{",
        "\"seed\":1",
        "\"figures\":[]",
        "\n",
    ],
    most: 2_000,
};
