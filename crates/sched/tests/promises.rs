//! The promises of schedulers, calculated by hand from their documentation. HZ is 1000, except for
//! round robin and O(n), where it is 100.

use schedlab_core::{BuildConfig, Load, Promises};
use schedlab_sched::registry;

const MS: u64 = 1_000_000;

/// The promises for `tasks` tasks with nice values from `nice_min` to `nice_max`.
fn promises(spec: &str, cpus: u32, tasks: u32, nice_min: i32, nice_max: i32) -> Promises {
    let (_, release) = registry::find(spec).expect("a registered release");
    let config = BuildConfig::flat(cpus, release.hz_default);
    let load = Load { tasks, cpus, nice_max, nice_min };
    release.build(&config).expect("a registered release").inspect().promises(&load)
}

fn of(idle: Option<u64>, wait_ms: Option<u64>, spread_ms: Option<u64>, rt: bool) -> Promises {
    Promises {
        idle_beside_waiting_ns: idle,
        wait_ns: wait_ms.map(|ms| ms * MS),
        hog_spread_ns: spread_ms.map(|ms| ms * MS),
        real_time_first: rt,
    }
}

#[test]
fn round_robin() {
    // Nice 0 is priority 15: 30 ticks at most. Three other tasks and the task itself, twice each.
    let expected = of(Some(0), Some(4 * 2 * 300), Some(2 * 300), false);
    assert_eq!(promises("round_robin", 1, 3, 0, 0), expected);
}

#[test]
fn o_n() {
    // At most 20 ticks at nice 0, and one as a margin: 21. Twice three times that, and a tick.
    let expected = of(Some(0), Some((2 * 3 * 21 + 1) * 10), Some(2 * 210), true);
    assert_eq!(promises("o_n", 1, 3, 0, 0), expected);
    assert_eq!(promises("o_n", 2, 3, 0, 0), Promises::default());
}

#[test]
fn o_1() {
    // 2.6.0: a sleep average of 1020 ms is used up at 1 ns per ns; two slices of 102 ms.
    assert_eq!(promises("o_1@2.6.0", 1, 3, 0, 0), of(Some(0), None, Some(1020 + 204), true));
    // Nice 19 is never interactive: two slices of 10 ms.
    assert_eq!(promises("o_1@2.6.0", 1, 3, 19, 19), of(Some(0), None, Some(20), true));
    // 2.6.22: 1000 ms used up at a tenth of that rate.
    assert_eq!(promises("o_1@2.6.22", 1, 1, 0, 0), of(Some(0), Some(0), Some(10_000 + 200), true));
    assert_eq!(promises("o_1@2.6.22", 2, 2, 0, 0).idle_beside_waiting_ns, None);
}

#[test]
fn bfs() {
    // A slice: 6 ms of 2^20 ns, and two ticks.
    let slice_ns = 6 * (1 << 20) + 2 * MS;
    let [two, three] = [2, 3].map(|tasks| promises("bfs", 1, tasks, 0, 0));
    assert_eq!(three.wait_ns.unwrap() - two.wait_ns.unwrap(), slice_ns);
    assert_eq!(two.hog_spread_ns, Some(2 * slice_ns));
    assert_eq!(two.idle_beside_waiting_ns, Some(0));
    // Tasks of different nice values are not equal; with several CPUs less is promised.
    assert_eq!(promises("bfs", 1, 2, 0, 1).hog_spread_ns, None);
    let several = promises("bfs", 2, 2, 0, 0);
    assert_eq!((several.hog_spread_ns, several.idle_beside_waiting_ns), (None, None));
    assert!(several.wait_ns > two.wait_ns);
}

#[test]
fn project_c() {
    for spec in ["bmq", "pds"] {
        let alone = promises(spec, 1, 3, 0, 0);
        assert_eq!(alone.hog_spread_ns, Some(3 * (4 << 20)));
        assert_eq!((alone.wait_ns, alone.idle_beside_waiting_ns), (None, Some(0)));
        assert_eq!(promises(spec, 1, 3, 0, 1).hog_spread_ns, None);
        assert_eq!(promises(spec, 2, 3, 0, 0), Promises::default());
    }
}

#[test]
fn muqss() {
    // The distance of nice 0, and three slices of 6 ms of 2^20 ns and two ticks.
    let slice_ns = 6 * (1 << 20) + 2 * MS;
    let alone = promises("muqss", 1, 2, 0, 0);
    assert_eq!(alone.wait_ns, Some(41_091_072 + 3 * slice_ns));
    assert_eq!((alone.idle_beside_waiting_ns, alone.hog_spread_ns), (Some(0), None));
    assert!(alone.real_time_first);
    // A flat machine has one queue. Nothing else is promised there.
    let expected = Promises { wait_ns: alone.wait_ns, ..Promises::default() };
    assert_eq!(promises("muqss", 2, 2, 0, 0), expected);
}

#[test]
fn cfs() {
    // Latency 5 ms, two ticks and a wakeup granularity of 1 ms make a turn of 8 ms. A sleeper may
    // be placed 5 ms early: 2 x 8 + 5 ms ahead. With two turns that is 37 ms for each of two tasks.
    let expected = promises("cfs@2.6.32", 1, 2, 0, 0);
    assert_eq!(expected.wait_ns, Some(2 * 37 * MS));
    assert!(expected.real_time_first);
    assert_eq!(promises("cfs@2.6.32", 2, 2, 0, 0), of(None, None, None, true));
}

#[test]
fn eevdf() {
    // A request of 0.7 ms and a tick: 1.7 ms. With two equal tasks a turn is 2 x 1.7 x 2 ms; the
    // wait is twice that and a request.
    for release in ["eevdf@6.6", "eevdf@6.12", "eevdf@6.18"] {
        let found = promises(release, 1, 2, 0, 0);
        assert_eq!(found.idle_beside_waiting_ns, Some(0));
        assert_eq!(found.wait_ns, Some(2 * 6_800_000 + 1_700_000));
        assert_eq!(found.hog_spread_ns, Some(6_800_000));
        assert!(found.real_time_first);
        // Nice 19 has weight 15 against 1024: 68 times as long, in integers.
        let found = promises(release, 1, 2, 0, 19);
        assert_eq!(found.wait_ns, Some(2 * (3_400_000 * 2048 / 15) + 1_700_000));
        assert_eq!(promises(release, 2, 2, 0, 0), of(None, None, None, true));
    }
}

#[test]
fn staircase() {
    for spec in ["sd", "rsdl"] {
        let [two, three] = [2, 3].map(|tasks| promises(spec, 1, tasks, 0, 0));
        // Every other task may have two rotations first.
        assert_eq!(two.wait_ns.unwrap() / 2, three.wait_ns.unwrap() / 3);
        assert_eq!(two.hog_spread_ns, Some(two.wait_ns.unwrap() / 2));
        assert_eq!((two.idle_beside_waiting_ns, two.real_time_first), (Some(0), true));
        assert_eq!(promises(spec, 1, 2, 0, 1).hog_spread_ns, None);
        assert_eq!(promises(spec, 2, 2, 0, 0), of(None, None, None, true));
    }
}

#[test]
fn textbook() {
    let quantum = promises("rr", 1, 1, 0, 0).wait_ns.expect("round robin has a quantum");
    assert_eq!(promises("rr", 1, 5, 0, 0).wait_ns, Some(5 * quantum));
    assert_eq!(promises("rr", 1, 5, 0, 0).hog_spread_ns, Some(quantum));
    for spec in ["fcfs", "sjf", "srtf", "hrrn", "priority"] {
        assert_eq!(promises(spec, 1, 5, 0, 0), of(Some(0), None, None, false), "{spec}");
    }
}

#[test]
fn the_most_that_can_be_saved_up_in_o_n() {
    // Nice -20 has slices of 11 ticks (2.2: 40): 2 x 11 - 1 may be left, and one as a margin.
    let expected = of(Some(0), Some((2 * 3 * 22 + 1) * 10), Some(2 * 220), true);
    assert_eq!(promises("o_n", 1, 3, -20, 0), expected);
}
