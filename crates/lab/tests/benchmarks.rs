//! Benchmarks under schedulers: results that the specification and the publications state, and
//! properties that hold in any case.

use schedlab_bench::{ALL, Findings, Values};
use schedlab_lab::RunConfig;
use schedlab_lab::bench::Bench;
use schedlab_lab::select::{self, Choice};
use schedlab_lab::session::Session;

fn bench(name: &str, cpus: u32, set: &[(&str, &str)]) -> Bench {
    let benchmark = schedlab_bench::find(name).expect("the benchmark exists");
    let mut values = Values::defaults(benchmark.parameters());
    for (name, text) in set {
        values =
            values.with(benchmark.parameters(), name, text).expect("the parameter takes the value");
    }
    Bench { values, config: RunConfig::flat(cpus), ..Bench::new(benchmark) }
}

fn run_under(choice: &Choice, bench: &Bench) -> Findings {
    let run = bench
        .session(choice)
        .and_then(Session::finish)
        .unwrap_or_else(|error| panic!("{choice}: {error}"));
    assert_eq!(run.warning, None, "{choice}");
    run.findings
}

/// Returns the findings of a benchmark on `cpus` CPUs under `scheduler`.
fn run(name: &str, cpus: u32, scheduler: &str, set: &[(&str, &str)]) -> Findings {
    run_under(&select::find(scheduler).expect("the scheduler exists"), &bench(name, cpus, set))
}

fn figure(findings: &Findings, name: &str) -> f64 {
    findings
        .figure(name)
        .unwrap_or_else(|| panic!("no figure is called {name}: {:?}", findings.figures))
}

/// Returns all schedulers that can run the benchmark.
fn able(bench: &Bench) -> Vec<Choice> {
    let needs = bench.needs();
    select::all().into_iter().filter(|choice| choice.refuses(&needs).is_none()).collect()
}

/// Schedulers that let a task run until it blocks. While an endless loop runs, no other task makes
/// progress.
const COOPERATIVE: &[&str] = &["fcfs", "sjf", "srtf", "hrrn", "priority"];

#[test]
fn figures_have_names_of_their_own_and_every_benchmark_runs_under_every_linux() {
    for benchmark in ALL.iter().filter(|benchmark| benchmark.name() != "hackbench") {
        // As short as possible.
        let short = ["seconds", "runtime", "duration", "loops", "repetitions"];
        let mut values = Values::defaults(benchmark.parameters());
        for parameter in
            benchmark.parameters().iter().filter(|parameter| short.contains(&&*parameter.name))
        {
            values = values
                .with(benchmark.parameters(), &parameter.name, "1")
                .expect("the value is in range");
        }
        let bench = Bench { values, ..bench(benchmark.name(), 1, &[]) };
        for choice in
            select::linux().into_iter().filter(|choice| choice.refuses(&bench.needs()).is_none())
        {
            let findings = run_under(&choice, &bench);
            let mut names: Vec<&str> =
                findings.figures.iter().map(|figure| figure.name.as_str()).collect();
            assert!(!names.is_empty(), "{} under {choice}: {}", benchmark.name(), findings.printed);
            let values = findings.figures.iter().map(|figure| figure.value);
            assert!(values.into_iter().all(f64::is_finite), "{} under {choice}", benchmark.name());
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), findings.figures.len(), "{}", benchmark.name());
        }
    }
}

mod lat_ctx {
    use super::*;

    /// The check of the specification itself: where switches cost nothing, the time of a turn
    /// is 0 after the overhead is subtracted.
    #[test]
    fn nothing_is_printed_where_switches_cost_nothing() {
        for (cpus, sched) in [(1, "DEFAULT"), (2, "DEFAULT"), (2, "SINGLE")] {
            let set = [("processes", "3"), ("size", "16"), ("repetitions", "1"), ("sched", sched)];
            let bench = bench("lat_ctx", cpus, &set);
            for choice in able(&bench) {
                let findings = run_under(&choice, &bench);
                // A write and a read of 1 us each, and 16 KiB at 128 ns.
                assert_eq!(findings.printed, "\n\"size=16k ovr=4.05\n", "{choice}");
                assert_eq!(figure(&findings, "turn"), 3.0 * 4.048, "{choice}");
            }
        }
    }

    #[test]
    fn parallel_rings_share_the_cpus() {
        let turn = |parallelism, cpus, sched| {
            let set = [("parallelism", parallelism), ("repetitions", "3"), ("sched", sched)];
            figure(&run("lat_ctx", cpus, "cfs", &set), "turn")
        };
        assert_eq!(turn("1", 1, "DEFAULT"), 4.0);
        assert_eq!(turn("2", 2, "BALANCED"), 4.0, "a CPU each");
        let both_on_one = turn("2", 1, "DEFAULT");
        assert!((7.0..9.0).contains(&both_on_one), "{both_on_one}");
    }
}

mod latt {
    use super::*;

    #[test]
    fn without_load_only_the_calls_take_time() {
        let findings = run("latt", 1, "cfs", &[("hogs", "0"), ("seconds", "10")]);
        // The transfer of a byte: 1 us to write it and 1 us to read it.
        assert_eq!(figure(&findings, "mean wakeup delay"), 2.0);
        assert_eq!(figure(&findings, "largest work delay"), 3000.0);
        // Sleeps of 100 to 600 ms, 350 on average, and the work.
        let entries = figure(&findings, "entries");
        assert!((22.0..36.0).contains(&entries), "{entries}");
        assert!(
            findings
                .printed
                .starts_with("Parameters: min_wait=100ms, max_wait=500ms, clients=1\nEntries")
        );
    }

    #[test]
    fn the_draws_are_the_seeds() {
        let of = |seed| {
            let mut bench = bench("latt", 1, &[("seconds", "5")]);
            bench.config.seed = Some(seed);
            run_under(&select::find("cfs").expect("the scheduler exists"), &bench)
        };
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
    }

    #[test]
    fn no_work_is_no_delay() {
        let findings = run(
            "latt",
            2,
            "o_1",
            &[("clients", "4"), ("work", "0"), ("hogs", "0"), ("seconds", "5")],
        );
        assert_eq!(figure(&findings, "largest work delay"), 0.0);
    }
}

mod schbench {
    use super::*;

    #[test]
    fn alone_on_their_cpus_workers_take_their_sleep_and_their_work() {
        // 8 CPUs, 4 workers: 100 us of sleep, an attempt to take the lock, 5 multiplications of 104
        // x 104.
        let findings = run("schbench", 8, "eevdf", &[("threads", "4"), ("runtime", "3")]);
        assert_eq!(figure(&findings, "largest request latency"), 5100.1);
        assert_eq!(figure(&findings, "largest wakeup latency"), 0.0);
        let rate = figure(&findings, "requests a second");
        assert!((rate - 4e6 / 5100.1).abs() < 2.0, "{rate}");
        assert!(findings.printed.contains("\t* 99.0th: 5100 "), "{}", findings.printed);
    }

    #[test]
    fn work_is_as_large_as_its_matrices() {
        let latency = |kib, operations| {
            let set = [
                ("threads", "1"),
                ("runtime", "2"),
                ("cache_footprint", kib),
                ("operations", operations),
            ];
            figure(&run("schbench", 2, "cfs", &set), "largest request latency") - 100.1
        };
        // 1024 KiB: matrices of 209 x 209.
        let expected_us = 5000.0 * (209f64 / 104.0).powi(3);
        assert!((latency("1024", "5") - expected_us).abs() < 0.01, "{}", latency("1024", "5"));
        assert!((latency("256", "10") - 10_000.0).abs() < 0.01);
    }

    #[test]
    fn too_many_workers_meet_at_the_locks() {
        let p99 = |threads, locking: &str| {
            let set = [("threads", threads), ("runtime", "3"), ("no-locking", locking)];
            figure(&run("schbench", 2, "eevdf", &set), "99th percentile of request latency")
        };
        assert!(p99("4", "false") > p99("4", "true"), "spinning makes requests longer");
        assert!(p99("4", "true") > p99("2", "true"));
    }

    #[test]
    fn requests_come_at_the_rate_that_was_asked_for() {
        let findings = run("schbench", 4, "eevdf", &[("rps", "300"), ("runtime", "5")]);
        assert_eq!(figure(&findings, "requests a second"), 300.0);
        // 4 workers cannot do more than 4 / 5.1 ms; some of the excess requests are skipped.
        let findings = run("schbench", 4, "eevdf", &[("rps", "5000"), ("runtime", "3")]);
        let rate = figure(&findings, "requests a second");
        assert!((780.0..785.0).contains(&rate), "{rate}");
    }

    #[test]
    fn a_pipe_moves_bytes_and_asks_for_no_work() {
        let findings =
            run("schbench", 2, "cfs", &[("pipe", "65536"), ("threads", "1"), ("runtime", "1")]);
        // Worker and message thread access 64 KiB each, one after the other.
        let rate = figure(&findings, "transfers a second");
        assert!((rate - 1e9 / (2.0 * 64.0 * 128.0)).abs() < 20.0, "{rate}");
        assert!(
            findings.printed.contains("avg worker transfer:") && !findings.printed.contains("RPS")
        );
    }
}

mod cyclictest {
    use super::*;

    #[test]
    fn on_an_idle_cpu_nobody_is_late() {
        let bench = bench("cyclictest", 1, &[("duration", "1")]);
        for choice in able(&bench) {
            let findings = run_under(&choice, &bench);
            assert_eq!(figure(&findings, "largest latency"), 0.0, "{choice}");
            assert_eq!(
                figure(&findings, "samples"),
                999.0,
                "{choice}: it starts after a fork of 150 us"
            );
        }
    }

    #[test]
    fn a_real_time_priority_is_above_all_loops() {
        let bench = bench("cyclictest", 1, &[("duration", "2"), ("prio", "80"), ("hogs", "3")]);
        let able = able(&bench);
        assert!(able.len() > 15, "{able:?}");
        for choice in able {
            let findings = run_under(&choice, &bench);
            assert_eq!(figure(&findings, "largest latency"), 0.0, "{choice}");
            assert!(figure(&findings, "samples") > 500.0, "{choice}");
        }
    }

    #[test]
    fn without_one_loops_are_in_the_way() {
        let latency = |scheduler| {
            let findings = run("cyclictest", 1, scheduler, &[("duration", "2"), ("hogs", "3")]);
            figure(&findings, "mean latency")
        };
        assert!(
            latency("o_1") > latency("eevdf"),
            "2.6.0's interactive tasks gain their priority gradually"
        );
        assert!(latency("rr") > 10_000.0, "one turn of three slices");
    }

    /// A late thread skips no sample: a delay of d appears in about d / interval samples, each
    /// smaller by an interval.
    #[test]
    fn a_delay_shows_in_sample_after_sample() {
        let set = [("hogs", "1"), ("loops", "30"), ("duration", "0"), ("interval", "1000")];
        let findings = run("cyclictest", 1, "rr", &set);
        let (largest, mean) =
            (figure(&findings, "largest latency"), figure(&findings, "mean latency"));
        // Ten samples of one slice of 10 ms: 9 ms, 8 ms, ... 0.
        assert!((9_000.0..10_000.0).contains(&largest), "{largest}");
        assert!((mean - 4_500.0).abs() < 100.0, "{mean}");
        assert_eq!(figure(&findings, "samples"), 30.0);
    }

    #[test]
    fn threads_have_their_own_intervals_and_priorities() {
        let set = [
            ("threads", "3"),
            ("prio", "50"),
            ("priospread", "true"),
            ("duration", "1"),
            ("affinity", "true"),
        ];
        let findings = run("cyclictest", 3, "cfs", &set);
        let lines: Vec<&str> = findings.printed.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(
            lines[0].starts_with("T: 0 (") && lines[0].contains(" P:50 I:1000 C:    999 "),
            "{}",
            lines[0]
        );
        assert!(
            lines[2]
                .contains(" P:48 I:2000 C:    499 Min:      0 Act:    0 Avg:    0 Max:       0")
        );
    }

    #[test]
    fn options_that_do_not_go_together_are_refused() {
        let refused = |set: &[(&str, &str)]| {
            let choice = select::find("cfs").expect("the scheduler exists");
            bench("cyclictest", 1, set)
                .session(&choice)
                .and_then(Session::finish)
                .expect_err("the parameters are refused")
                .to_string()
        };
        assert_eq!(
            refused(&[("policy", "rr")]),
            "--policy: fifo and rr need a priority; give --prio 1 to 99"
        );
        assert!(refused(&[("policy", "batch"), ("prio", "5")]).contains("--prio"));
        assert!(refused(&[("duration", "0")]).contains("--loops"));
    }
}

mod massive_intr {
    use super::*;

    #[test]
    fn fair_schedulers_let_all_come_forward_alike() {
        let schedulers =
            ["cfs", "cfs@2.6.23", "cfs@3.2", "eevdf", "eevdf@6.6", "sd", "rsdl", "bfs"];
        for scheduler in schedulers {
            let findings = run("massive_intr", 1, scheduler, &[("runtime", "30")]);
            let spread = figure(&findings, "spread of rounds");
            assert!(spread < 5.0, "{scheduler}: {spread} %");
            assert_eq!(findings.printed.lines().count(), 200, "{scheduler}");
        }
    }

    /// Takeuchi, 2007, under 2.6.20: four processes take 98 % of a CPU, while the others wait
    /// indefinitely.
    #[test]
    fn under_o_1_four_take_nearly_all() {
        let findings = run("massive_intr", 1, "o_1@2.6.22", &[("nproc", "100")]);
        let luckiest = figure(&findings, "CPU time of the luckiest 4");
        assert!(luckiest > 95.0, "{luckiest} %");
        assert!(figure(&findings, "longest wait") > 55.0);
        // With twice as many processes, it takes half a minute until four have gained priority, and
        // then they keep it.
        let findings =
            run("massive_intr", 1, "o_1@2.6.22", &[("nproc", "200"), ("runtime", "120")]);
        assert!(figure(&findings, "CPU time of the luckiest 4") > 70.0);
        assert!(figure(&findings, "spread of rounds") > 500.0);
    }

    /// The same report: at nice 19 all processes get equal time.
    #[test]
    fn under_o_1_at_nice_19_all_is_even() {
        for cpus in [1, 2] {
            let findings = run("massive_intr", cpus, "o_1@2.6.22", &[("nice", "19")]);
            let spread = figure(&findings, "spread of rounds");
            assert!(spread < 5.0, "{cpus} CPUs: {spread} %");
        }
    }
}

mod estimator_busters {
    use super::*;

    const FAIR: &[&str] = &["cfs", "cfs@2.6.23", "eevdf", "sd", "bfs", "rr"];

    #[test]
    fn fiftyp_gets_equal_shares_where_shares_are_fair_and_not_under_o_1() {
        for scheduler in FAIR {
            let findings = run("fiftyp", 1, scheduler, &[("hogs", "1"), ("seconds", "30")]);
            let (spread, hog) = (
                figure(&findings, "spread of CPU time"),
                figure(&findings, "CPU time of the loops beside"),
            );
            assert!(spread < 1.0, "{scheduler}: {spread} %");
            assert!(
                (9.5..12.0).contains(&hog),
                "{scheduler}: the loop has {hog} % of one CPU for ten"
            );
        }
        for release in ["o_1@2.6.0", "o_1@2.6.22"] {
            let findings = run("fiftyp", 1, release, &[("hogs", "1"), ("seconds", "30")]);
            assert!(figure(&findings, "spread of CPU time") > 50.0, "{release}");
            assert!(figure(&findings, "CPU time of the loops beside") < 3.0, "{release}");
        }
    }

    #[test]
    fn fiftyp_with_cpus_enough_has_half_of_each() {
        let findings = run("fiftyp", 9, "cfs", &[("seconds", "10")]);
        let mean = figure(&findings, "mean CPU time");
        assert!((4.9..5.1).contains(&mean), "{mean}");
    }

    #[test]
    fn a_burst_of_thud_stops_the_others_under_o_1() {
        for release in ["o_1@2.6.0", "o_1@2.6.22"] {
            let waited = figure(&run("thud", 1, release, &[]), "longest wait of a loop beside");
            assert!(waited >= 1.0, "{release}: {waited} s");
        }
        for scheduler in ["cfs", "eevdf", "bfs", "rsdl", "rr"] {
            let waited = figure(&run("thud", 1, scheduler, &[]), "longest wait of a loop beside");
            assert!(waited < 0.1, "{scheduler}: {waited} s");
        }
    }

    #[test]
    fn the_ring_of_irman2_starves_a_loop_under_o_1() {
        let set = [("seconds", "60")];
        for release in ["o_1@2.6.0", "o_1@2.6.22"] {
            let findings = run("irman2", 1, release, &set);
            let percent = figure(&findings, "CPU time of the loop");
            assert!(percent < 10.0, "{release}: {percent} %");
            assert!(figure(&findings, "longest wait of the loop") > 2.0, "{release}");
        }
        for scheduler in ["cfs", "eevdf", "bfs"] {
            let percent = figure(&run("irman2", 1, scheduler, &set), "CPU time of the loop");
            assert!((48.0..52.0).contains(&percent), "{scheduler}: {percent} %");
        }
    }

    /// 40 turns of 300 ms are a round: every task gets its turn, at one time at most.
    #[test]
    fn a_turn_of_irman2_takes_300_ms_of_the_clock() {
        let findings = run("irman2", 2, "cfs", &[("seconds", "30")]);
        let turns = figure(&findings, "wakeups in the ring");
        assert!((98.0..=101.0).contains(&turns), "{turns}");
        assert!(figure(&findings, "CPU time of the loop") > 49.9, "it has a CPU of two to itself");
    }

    #[test]
    fn nobody_starves_beside_a_sleeper() {
        for choice in select::linux() {
            let findings = run_under(&choice, &bench("test-starve", 1, &[("seconds", "20")]));
            assert!(figure(&findings, "longest wait of the sleeper") < 0.5, "{choice}");
            assert!(figure(&findings, "sleeps") >= 19.0, "{choice}");
            assert!(figure(&findings, "CPU time of the partner") > 99.9, "{choice}");
        }
    }
}

mod loops {
    use super::*;

    #[test]
    fn chew_sees_the_slices_of_the_other() {
        // Two loops take turns: 10 ms of round robin, and 102 ms of 2.6.0.
        for (scheduler, slice_ms) in [("rr", 10.0), ("o_1@2.6.0", 102.0), ("bfs@0.404", 6.0)] {
            let findings = run("chew", 1, scheduler, &[]);
            assert_eq!(figure(&findings, "longest time off the CPU"), slice_ms, "{scheduler}");
            let on = figure(&findings, "mean time on the CPU");
            assert!((on - slice_ms).abs() < 0.1, "{scheduler}: {on}");
        }
        let findings = run("chew", 1, "rr", &[("seconds", "1")]);
        assert!(
            findings
                .printed
                .contains("pid 0, prio   0, out for   10 ms, ran for   10 ms, load  50%\n")
        );
        // With a CPU each, the loops are never off it.
        assert_eq!(figure(&run("chew", 2, "cfs", &[]), "times off the CPU"), 0.0);
    }

    #[test]
    fn a_hop_of_the_ring_costs_a_write_and_a_read() {
        for choice in select::linux() {
            let findings = run_under(&choice, &bench("ring-test", 1, &[("seconds", "1")]));
            assert_eq!(figure(&findings, "hops a second"), 500_000.0, "{choice}");
        }
    }

    /// A yield costs 0.5 us, and every yield under the O(1) scheduler is a switch.
    #[test]
    fn yields_are_counted() {
        let findings = run("yield", 2, "o_1", &[]);
        assert_eq!(figure(&findings, "yields a second"), 4e6);
        assert_eq!(figure(&findings, "switches a second"), 4e6);
        assert_eq!(figure(&findings, "spread of yields"), 0.0);
    }

    #[test]
    fn who_lets_run_until_the_end_lets_loops_have_everything() {
        for scheduler in COOPERATIVE {
            let findings = run("thud", 1, scheduler, &[("seconds", "20")]);
            assert_eq!(figure(&findings, "CPU time of the loops beside"), 100.0, "{scheduler}");
        }
    }
}
