//! Benchmarks of programs under schedulers: results that their specification states for a machine
//! where switches cost nothing.

use schedlab_bench::{Benchmark, Findings, Values};
use schedlab_lab::RunConfig;
use schedlab_lab::bench::Bench;
use schedlab_lab::select;
use schedlab_lab::session::Session;

fn bench(benchmark: &str, set: &[(&str, &str)], cpus: u32) -> Bench {
    let benchmark: &'static dyn Benchmark =
        schedlab_bench::find(benchmark).expect("the benchmark exists");
    let mut values = Values::defaults(benchmark.parameters());
    for (name, text) in set {
        values =
            values.with(benchmark.parameters(), name, text).expect("the parameter takes the value");
    }
    Bench { values, config: RunConfig::flat(cpus), ..Bench::new(benchmark) }
}

/// Runs a benchmark with these parameters. No task may be left waiting.
fn run(benchmark: &str, set: &[(&str, &str)], cpus: u32, scheduler: &str) -> Findings {
    let bench = bench(benchmark, set, cpus);
    let run = bench
        .session(&select::find(scheduler).expect("the scheduler exists"))
        .and_then(Session::finish)
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
    // A burner of the same weight leaves it half a CPU, or more if the scheduler favours sleepers.
    let findings = run("interbench", &[("bench", "x"), ("load", "burn")], 1, "cfs");
    assert!(figure(&findings, "X/Burn max") <= 110.0);
    assert!((5.0..34.0).contains(&figure(&findings, "X/Burn mean")));
}

#[test]
fn every_load_of_interbench_runs_and_ends() {
    let findings =
        run("interbench", &[("bench", "audio"), ("time", "10"), ("hop", "100")], 2, "o_1");
    let table = findings.table("Audio").expect("the table exists");
    assert_eq!(table.rows.len(), 9);
    for row in &table.rows {
        assert_eq!(row.values[6], 200.0, "{}: 200 intervals of 50 ms in ten seconds", row.label);
    }
    assert!(
        findings
            .printed
            .contains("--- Benchmarking simulated cpu of Audio in the presence of simulated ---")
    );
}

/// O(1) leaves X nearly all of the CPU, CFS leaves it half, and CFS with the change for interactive
/// tasks two thirds.
#[test]
fn x_beside_a_burner_under_the_three_schedulers_of_the_published_experiment() {
    let x = |scheduler, what: &str| {
        let findings = run("interbench", &[("bench", "x"), ("load", "burn")], 1, scheduler);
        figure(&findings, &format!("X/Burn {what}"))
    };
    let (o_1, cfs, changed) = ("o_1@2.6.22", "cfs", "cfs_interactive");
    assert!(x(cfs, "max") > 5.0 * x(o_1, "max"));
    assert!(x(changed, "mean") < x(cfs, "mean"));
    assert!(x(changed, "max") <= 1.05 * x(cfs, "max"));
}

#[test]
fn a_load_beside_itself_is_refused() {
    let same = bench("interbench", &[("bench", "video"), ("load", "video")], 1);
    let error = same
        .session(&select::find("cfs").expect("the scheduler exists"))
        .and_then(Session::finish)
        .expect_err("the load is refused");
    assert_eq!(error.to_string(), "--load: video does not run next to itself; give another load");
}

/// A transaction takes 2.385 ms of CPU time.
#[test]
fn transactions_are_bounded_by_their_cpu_time() {
    let rate = |threads, cpus: u32, scheduler| {
        let set = [("threads", threads), ("time", "10"), ("warmup-time", "1")];
        figure(&run("oltp", &set, cpus, scheduler), "transactions a second")
    };
    for scheduler in ["o_1@2.6.22", "cfs", "eevdf"] {
        // On one CPU, only spinning is lost. One client never uses more than one CPU.
        let one = rate("1", 1, scheduler);
        assert!((one - 1000.0 / 2.385).abs() < 0.2, "{scheduler}: {one}");
        assert!((rate("1", 4, scheduler) - one).abs() < 0.2, "{scheduler}");
        let many = rate("16", 4, scheduler);
        assert!((3.0 * one..=4.0 * one + 0.5).contains(&many), "{scheduler}: {many}");
    }
}

#[test]
fn read_only_transactions_and_a_flushed_log() {
    let set = [("threads", "8"), ("time", "5"), ("warmup-time", "1"), ("flush", "4")];
    let flushed = figure(&run("oltp", &set, 4, "cfs"), "transactions a second");
    // At most eight clients in each write of 4 ms.
    assert!(flushed <= 8.0 / 0.004 && flushed > 300.0, "{flushed}");
    let set = [("threads", "1"), ("time", "5"), ("warmup-time", "1"), ("test", "read_only")];
    let read_only = figure(&run("oltp", &set, 1, "cfs"), "transactions a second");
    // 2.385 ms minus four changes of 380 us and their clients' 60 us.
    assert!((read_only - 1000.0 / 1.945).abs() < 0.3, "{read_only}");
}

/// Each delivery is a write and a read of 1.7 us, and a twentieth of such a pair on the way to the
/// server.
#[test]
fn chat_takes_as_long_as_its_messages() {
    for nice in ["0", "19"] {
        let findings = run("chat", &[("rooms", "2"), ("messages", "10"), ("nice", nice)], 1, "o_1");
        let rate = figure(&findings, "messages a second");
        assert!((rate - 1e6 / 3.57).abs() < 100.0, "{rate}");
    }
}

#[test]
fn a_game_draws_as_many_frames_as_its_share_allows() {
    let frames = |set: &[(&str, &str)], scheduler| {
        figure(&run("game", set, 1, scheduler), "frames a second")
    };
    // Game and display server together need 11.5 ms, and the ends of four messages 6.8 us.
    assert!((frames(&[], "cfs") - 1000.0 / 11.507).abs() < 0.8);
    for hogs in 1..=5 {
        let set = [("hogs", hogs.to_string()), ("display", "0".into())];
        let set: Vec<(&str, &str)> =
            set.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let rate = frames(&set, "cfs@2.6.23");
        let law = 100.0 / (f64::from(hogs) + 1.0);
        assert!((rate - law).abs() < 0.15 * law, "{hogs} hogs: {rate}");
    }
    assert!((frames(&[("vsync", "true")], "cfs") - 60.0).abs() < 1.0);
    let wine = frames(&[("wine", "true")], "cfs");
    assert!((wine - 1000.0 / 11.654).abs() < 0.8, "{wine}");
    let set = [("hogs", "2"), ("audio", "true"), ("time", "10")];
    assert!(run("game", &set, 1, "o_1").figure("audio latency max").is_some());
}

#[test]
fn a_compilation_uses_the_cpus_that_it_has_jobs_for() {
    let time = |jobs, cpus, pipe| {
        let set = [("jobs", jobs), ("objects", "40"), ("directories", "4"), ("pipe", pipe)];
        figure(&run("compile", &set, cpus, "cfs"), "time")
    };
    let one = time("1", 1, "false");
    // 40 files of 383 ms on average, drawn with a deviation of 229 ms each; four directories, 0.3 s
    // of parsing, 2.5 s at the end.
    assert!((13.0..24.0).contains(&one), "{one}");
    let (four, eight) = (time("4", 4, "false"), time("8", 4, "false"));
    assert!(four < one / 2.0 && eight < one / 2.0, "{one} {four} {eight}");
    assert!(time("1", 2, "true") < time("1", 2, "false"), "the assembler runs beside the compiler");
}

/// The published law of O(1): tasks that share a CPU stay there, and an idle CPU takes a task when
/// another CPU has two or more. Under CFS, all tasks end together.
#[test]
fn counting_loops_end_as_the_dissertation_found() {
    let set = |count| [("count", count), ("seconds", "10")];
    for (count, mean, variance) in [("3", 13.33, 8.333), ("5", 22.67, 6.389)] {
        let o_1 = run("cf", &set(count), 2, "o_1@2.6.22");
        assert!(
            (figure(&o_1, "mean") / mean - 1.0).abs() < 0.03,
            "{count}: {}",
            figure(&o_1, "mean")
        );
        let got = figure(&o_1, "variance");
        assert!((got / variance - 1.0).abs() < 0.2, "{count}: {got}");
        let cfs = run("cf", &set(count), 2, "cfs");
        assert!(figure(&cfs, "variance") < got / 3.0);
        let last = |findings: &Findings| figure(findings, "last end");
        assert!((last(&cfs) / last(&o_1) - 1.0).abs() < 0.03, "the work is the same");
    }
}

/// Variance 900 p (1 - p) n / (n - 1) with p = 2 (n - m) / n for n loops on m CPUs in 60 s.
#[test]
fn endless_loops_stay_where_they_are_under_o_1() {
    let set = [("count", "8"), ("time", "120"), ("interval", "60"), ("piece", "10")];
    let o_1 = run("li", &set, 6, "o_1@2.6.22");
    let (n, p) = (8.0, 0.5);
    let expected = 900.0 * p * (1.0 - p) * n / (n - 1.0);
    let got = figure(&o_1, "variance in the last interval");
    assert!((got / expected - 1.0).abs() < 0.02, "{got}, not {expected}");
    let all = o_1.table("CPU seconds of CPUs").expect("the table exists");
    for row in &all.rows {
        assert!(
            row.values.iter().all(|&seconds| (seconds - 60.0).abs() < 0.1),
            "{}: {:?}",
            row.label,
            row.values
        );
    }
    let cfs = run("li", &set, 6, "cfs");
    let cfs = figure(&cfs, "variance in the last interval");
    assert!(cfs < expected / 2.0, "{cfs}");
}

#[test]
fn a_shell_and_a_monitor_take_their_part() {
    let set = [
        ("count", "6"),
        ("time", "20"),
        ("shell", "true"),
        ("monitor", "true"),
        ("spacing", "1000"),
    ];
    let findings = run("li", &set, 2, "cfs");
    // The last one is forked at 5 s and 1.5 ms.
    let started = figure(&findings, "all started");
    assert!((5.0..5.1).contains(&started), "{started}");
    let cpus = findings.table("CPU seconds of CPUs").expect("the table exists");
    let last: f64 = cpus.rows[18].values.iter().sum();
    // The monitor takes 10 ms of two seconds.
    assert!((last - 1.99).abs() < 0.003, "{last}");
}

/// Threads of a server take 22 us a second on each CPU, and 307 us on any CPU; threads of a desktop
/// about 4.7 ms more. Lengths are drawn, with these means.
#[test]
fn kernel_threads_and_daemons_take_what_they_are_said_to() {
    let lost_us = |noise, seed: u64| {
        let set = [("count", "4"), ("time", "121"), ("spacing", "0"), ("noise", noise)];
        let mut bench = bench("li", &set, 4);
        bench.config.seed = Some(seed);
        let run = bench
            .session(&select::find("cfs").expect("the scheduler exists"))
            .and_then(Session::finish)
            .expect("the run succeeds");
        let cpus = run.findings.table("CPU seconds of CPUs").expect("the table exists");
        // Whole seconds, without the first one.
        let got: f64 = cpus.rows[1..121].iter().flat_map(|row| &row.values).sum();
        (4.0 - got / 120.0) * 1e6
    };
    // A piece of 1 ms of each loop may count in the next second.
    assert!(lost_us("none", 1).abs() < 40.0, "{}", lost_us("none", 1));
    let server = lost_us("server", 1);
    assert!((4.0 * 22.0 + 307.0 - server).abs() < 60.0, "{server}");
    assert_eq!(server, lost_us("server", 1), "the same seed draws the same");
    assert_ne!(server, lost_us("server", 2));
    let notebook = lost_us("notebook", 1);
    assert!((4_667.0 - (notebook - server)).abs() < 150.0, "{notebook}");
}

#[test]
fn small_mixes_tell_schedulers_apart() {
    // The editor preempts a hog immediately under O(1). Under first come, first served it never
    // gets the CPU.
    let response =
        |scheduler| run("editor", &[("time", "10")], 1, scheduler).figure("response mean");
    assert_eq!(response("o_1"), Some(3.0));
    assert_eq!(response("fcfs"), None);
    let findings = run("periodic", &[("hogs", "2"), ("time", "10")], 1, "cfs");
    assert_eq!(figure(&findings, "deadlines met"), 100.0);
    // Under CFS five nice levels are weights of 1024 and 335; under O(1) slices of 100 and 75 ms.
    let ladder = |scheduler| {
        let findings = run("nice_ladder", &[("time", "100")], 1, scheduler);
        figure(&findings, "share at nice 0") / figure(&findings, "share at nice 5")
    };
    assert!((ladder("cfs") / (1024.0 / 335.0) - 1.0).abs() < 0.1, "{}", ladder("cfs"));
    assert!((1.2..1.5).contains(&ladder("o_1@2.6.22")), "{}", ladder("o_1@2.6.22"));
    let findings = run("fork_storm", &[], 2, "cfs");
    assert!((190.0..205.0).contains(&figure(&findings, "children done")));
}

/// Every scheduler that can run a benchmark completes it and reports its first figure.
#[test]
fn every_scheduler_runs_every_benchmark() {
    let benches = [
        ("chat", &[("rooms", "1"), ("messages", "2")][..]),
        ("oltp", &[("threads", "3"), ("time", "1"), ("warmup-time", "0")]),
        ("game", &[("time", "1")]),
        ("compile", &[("jobs", "3"), ("objects", "4"), ("directories", "2"), ("pipe", "true")]),
        ("li", &[("count", "3"), ("time", "1"), ("interval", "0.5"), ("shell", "true")]),
        ("cf", &[("count", "3"), ("seconds", "0.1"), ("monitor", "true")]),
        ("cf", &[("count", "3"), ("seconds", "0.1"), ("noise", "notebook")]),
        ("editor", &[("hogs", "0"), ("time", "3")]),
        ("periodic", &[("hogs", "0"), ("time", "1")]),
        ("fork_storm", &[("hogs", "0"), ("time", "1")]),
        ("interbench", &[("bench", "x"), ("load", "ring"), ("time", "10"), ("hop", "100")]),
    ];
    for (benchmark, set) in benches {
        for (choice, cpus) in
            select::all().into_iter().flat_map(|choice| [(choice.clone(), 1), (choice, 3)])
        {
            let bench = bench(benchmark, set, cpus);
            if choice.refuses(&bench.needs()).is_some() {
                continue;
            }
            let run = bench
                .session(&choice)
                .and_then(Session::finish)
                .unwrap_or_else(|error| panic!("{benchmark} under {choice}: {error}"));
            assert_eq!(run.warning, None, "{benchmark} under {choice}");
            assert!(!run.findings.printed.is_empty(), "{benchmark} under {choice}");
            // A task that computes forever and is never preempted leaves no time for other tasks.
            let hog =
                benchmark == "li" || (benchmark == "interbench" && run.findings.figures.is_empty());
            assert!(
                hog || !run.findings.figures.is_empty(),
                "{benchmark} under {choice}: {}",
                run.findings.printed
            );
        }
    }
}
