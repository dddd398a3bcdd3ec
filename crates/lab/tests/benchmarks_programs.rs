//! Benchmarks of programs under schedulers.

use schedlab_bench::{Findings, Values};
use schedlab_lab::bench::Bench;
use schedlab_lab::select;

/// Runs a benchmark with these parameters, which come to an end by themselves.
fn run(benchmark: &str, set: &[(&str, &str)], cpus: u32, scheduler: &str) -> Findings {
    let benchmark = schedlab_bench::find(benchmark).expect("there is such a benchmark");
    let mut values = Values::defaults(benchmark.parameters());
    for (name, text) in set {
        values = values.with(benchmark.parameters(), name, text).expect("it is a value");
    }
    let bench = Bench { values, cpus, ..Bench::new(benchmark) };
    let run = bench
        .run(&select::find(scheduler).expect("there is such a scheduler"))
        .unwrap_or_else(|error| panic!("{scheduler}: {error}"));
    assert_eq!(run.warning, None, "{scheduler}");
    run.findings
}

fn figure(findings: &Findings, name: &str) -> f64 {
    findings.figure(name).unwrap_or_else(|| panic!("no figure is called {name}"))
}

#[test]
fn x_undisturbed_meets_every_deadline_and_with_half_a_cpu_does_as_the_recurrence_says() {
    let findings = run("interbench", &[("bench", "x"), ("load", "none")], 1, "cfs");
    assert_eq!(figure(&findings, "X/None mean"), 0.0);
    assert_eq!(figure(&findings, "X/None deadlines met"), 100.0);
    // A burner of the same weight leaves it half a CPU, and more only as far as sleepers are favoured.
    let findings = run("interbench", &[("bench", "x"), ("load", "burn")], 1, "cfs");
    assert!(figure(&findings, "X/Burn max") <= 110.0);
    assert!((5.0..34.0).contains(&figure(&findings, "X/Burn mean")));
}

#[test]
fn every_load_of_interbench_runs_and_ends() {
    let findings = run("interbench", &[("bench", "audio"), ("time", "10"), ("hop", "100")], 2, "o_1");
    let table = findings.table("Audio").expect("Audio is measured");
    assert_eq!(table.rows.len(), 9);
    for row in &table.rows {
        assert_eq!(row.values[6], 200.0, "{}: 200 intervals of 50 ms in ten seconds", row.label);
    }
    assert!(
        findings.printed.contains("--- Benchmarking simulated cpu of Audio in the presence of simulated ---")
    );
}
