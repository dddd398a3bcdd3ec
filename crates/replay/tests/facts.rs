//! Known totals of the recordings, computed by other means.

mod support;

use schedlab_replay::Trace;
use schedlab_replay::select;
use schedlab_replay::stats::TaskStats;
use support::example;

fn near(what: &str, got: f64, wanted: f64) {
    assert!((got - wanted).abs() <= 0.005 * wanted, "{what}: {got} should be {wanted}");
}

/// Returns the statistics of these tasks together.
fn of(trace: &Trace, who: &str) -> TaskStats {
    let found = select::tasks(trace, who).unwrap_or_else(|error| panic!("{error}"));
    let mut stats = TaskStats::default();
    for (task, _) in trace.tasks.iter().zip(found).filter(|(_, found)| *found) {
        stats.add(&TaskStats::of_task(trace, task));
    }
    stats
}

fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// Checks the CPU time, waiting and last end of the workload, ms.
fn check_all(file: &str, root: &str, cpu: f64, wait: f64, end: f64) -> (Trace, TaskStats) {
    let trace = example(file);
    let stats = of(&trace, &format!("descendants of {root}"));
    near(&format!("{file}: CPU"), ms(stats.cpu_ns), cpu);
    near(&format!("{file}: waiting"), ms(stats.wait_ns), wait);
    near(&format!("{file}: end"), ms(stats.end_ns), end);
    (trace, stats)
}

fn check_cpu(trace: &Trace, names: &[(&str, f64)]) {
    for (name, cpu) in names {
        near(name, ms(of(trace, name).cpu_ns), *cpu);
    }
}

/// Returns the latency that `percent` per cent of the wakeups do not exceed, µs.
fn percentile(stats: &TaskStats, percent: usize) -> f64 {
    let mut all = stats.latencies.clone();
    all.sort_unstable();
    all[(all.len() * percent).div_ceil(100) - 1] as f64 / 1e3
}

/// Checks the share of CPU time in gaps, per cent with one decimal.
fn check_gaps(trace: &Trace, percent: f64) {
    let all = f64::from(trace.cpus) * trace.span_ns as f64;
    let got = 100.0 * trace.gap_ns as f64 / all;
    assert!((got - percent).abs() <= 0.06, "{got} should be {percent}");
}

#[test]
fn desk() {
    let (trace, stats) = check_all("desk", "desk.sh", 1346.4, 786.6, 1018.2);
    check_cpu(&trace, &[("hog", 898.7), ("video", 330.6), ("audio", 63.5), ("typist", 46.7)]);
    assert_eq!(stats.wakeups, 317);
    near("median", percentile(&stats, 50), 15.4);
    near("90 %", percentile(&stats, 90), 2230.0);
    near("99 %", percentile(&stats, 99), 4190.0);
    assert_eq!((trace.gaps, trace.tasks.len()), (5, 52));
    check_gaps(&trace, 0.8);
}

#[test]
fn desk_on_one_cpu() {
    let (trace, stats) = check_all("desk-cpu1", "desk.sh", 1332.1, 2811.5, 1395.0);
    assert_eq!((stats.wakeups, trace.gaps, trace.tasks.len()), (262, 4, 82));
    near("median", percentile(&stats, 50), 11.6);
    near("90 %", percentile(&stats, 90), 3720.0);
    near("99 %", percentile(&stats, 99), 10_970.0);
    check_gaps(&trace, 0.5);
}

#[test]
fn build() {
    let (trace, _) = check_all("build", "build.sh", 4533.0, 5482.5, 2540.6);
    check_cpu(&trace, &[("cc1", 3801.1), ("hog", 600.4)]);
    assert_eq!((trace.gaps, trace.tasks.len()), (11, 106));
    check_gaps(&trace, 0.7);
    let (trace, _) = check_all("build-hog10", "build.sh", 4492.1, 5566.3, 2467.2);
    check_cpu(&trace, &[("cc1", 3759.9), ("hog", 600.3)]);
    assert_eq!((trace.gaps, trace.tasks.len()), (37, 108));
    check_gaps(&trace, 1.8);
}

#[test]
fn redis() {
    let (trace, stats) = check_all("redis", "redis.sh", 585.0, 89.8, 609.1);
    check_cpu(&trace, &[("redis-server", 33.8), ("redis-benchmark", 39.6), ("hog", 493.5)]);
    assert_eq!((trace.gaps, trace.tasks.len(), stats.wakeups), (3, 69, 4684));
    // The reference value has two digits.
    assert!((percentile(&stats, 50) - 1.1).abs() <= 0.05);
    near("99 %", percentile(&stats, 99), 21.2);
    check_gaps(&trace, 2.4);
}

#[test]
fn older_recordings() {
    let lua = example("lua");
    // Counted from switches alone: the time that ran in its 39 gaps was not counted.
    near("busy and idle", ms(lua.busy_ns() + lua.idle_ns), 2.0 * ms(lua.span_ns));
    let busy = ms(lua.busy_ns());
    assert!((3850.0..=3850.0 * 1.02).contains(&busy), "{busy}");
    assert_eq!(lua.gaps, 39);
    assert_eq!((lua.switches, lua.has_contexts), (2051, false));
    let messaging = example("messaging");
    assert_eq!(messaging.gaps, 91);
    // The sum of slices alone excludes the time that ran in gaps.
    let cpu = ms(of(&messaging, "sched-messaging").cpu_ns);
    assert!((505.0..=505.0 * 1.03).contains(&cpu), "{cpu}");
    let sleepers = example("sleepers");
    assert_eq!(sleepers.gaps, 3);
    check_cpu(&sleepers, &[("other-2", 1513.0)]);
    // Counted from switches alone, in whole milliseconds. Time that ran in gaps is added.
    for (name, cpu) in [("hog", 966.0), ("video", 82.0), ("audio", 31.0), ("typist", 25.0)] {
        let got = ms(of(&sleepers, name).cpu_ns);
        assert!((cpu - 0.5..=cpu * 1.03 + 0.5).contains(&got), "{name}: {got}");
    }
    assert_eq!(sleepers.switches, 7591);
}
