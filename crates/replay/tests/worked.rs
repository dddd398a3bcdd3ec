//! Small traces whose programs are known.

mod support;

use schedlab_replay::kinds::{self, has_clock, is_chance, is_wall_loop, passes};
use schedlab_replay::program::{self, EarlyTask};
use schedlab_replay::score::{Grade, Pair, Score};
use schedlab_replay::stats::TaskStats;
use schedlab_replay::trace::Burst;
use schedlab_replay::{Arrivals, Program, Step, Tokens, Workload, responses};
use schedlab_workload::model::Properties;
use support::{Line, programs, read};

/// The trace of one CPU in which a timer and a task wake others.
#[test]
fn a_timers_and_a_tasks_wakeups_are_told_apart() {
    let text = "\
 <idle>-0  [000] d..2. 0.001000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=hog next_pid=100 next_prio=120
 hog-100   [000] dNh3. 0.003000: sched_waking: comm=ui pid=200 prio=120 target_cpu=000
 hog-100   [000] d..2. 0.003010: sched_switch: prev_comm=hog prev_pid=100 prev_prio=120 prev_state=R ==> next_comm=ui next_pid=200 next_prio=120
 ui-200    [000] d..2. 0.003510: sched_waking: comm=srv pid=300 prio=120 target_cpu=000
 ui-200    [000] d..2. 0.004010: sched_switch: prev_comm=ui prev_pid=200 prev_prio=120 prev_state=S ==> next_comm=srv next_pid=300 next_prio=120
 srv-300   [000] d..2. 0.004110: sched_switch: prev_comm=srv prev_pid=300 prev_prio=120 prev_state=S ==> next_comm=hog next_pid=100 next_prio=120
 hog-100   [000] d..2. 0.006110: sched_switch: prev_comm=hog prev_pid=100 prev_prio=120 prev_state=Z ==> next_comm=swapper/0 next_pid=0 next_prio=120
";
    let trace = read(text);
    assert_eq!(
        programs(trace),
        [
            "hog.100: run 4010",
            "ui.200: timer 2000; run 500; post 0; run 500",
            "srv.300: wait 0; run 100",
        ]
    );
}

#[test]
fn fork_exec_disk_and_exit() {
    let (sh, cat) = (("sh", 10), ("cat", 11));
    let idle = ("swapper/0", 0);
    let trace = support::trace(&[
        Line::switch(0, 0, idle, "R", sh),
        Line::fork(0, 200, sh, ("sh", 11)),
        Line::new(0, 210, sh, '.', "sched_wakeup_new", ("sh", 11)),
        Line::switch(1, 220, idle, "R", ("sh", 11)),
        Line::switch(0, 300, sh, "S", idle),
        Line::exec(1, 320, ("sh", 11), "/bin/cat"),
        Line::switch(1, 420, cat, "D", idle),
        Line::new(1, 920, idle, 's', "sched_waking", cat),
        Line::switch(1, 930, idle, "R", cat),
        Line::exit(1, 1030, cat),
        Line::new(1, 1080, cat, '.', "sched_waking", sh),
        Line::switch(1, 1130, cat, "Z", idle),
        Line::switch(0, 1140, idle, "R", sh),
        Line::switch(0, 1240, sh, "Z", idle),
    ]);
    let waits: Vec<u64> =
        trace.tasks.iter().map(|task| TaskStats::of_task(&trace, task).wait_ns / 1000).collect();
    assert_eq!(waits, [60, 20]);
    assert_eq!(
        programs(trace),
        [
            "sh.10: run 210; fork cat.11; run 90; wait 0; run 100",
            "cat.11 (forked): run 200; sleep 500; run 150; post 0; run 50",
        ]
    );
}

/// A program file does not record where it executes another program.
#[test]
fn an_exec_stands_where_it_was() {
    let (sh, cat, idle) = (("sh", 11), ("cat", 11), ("swapper/0", 0));
    let mut trace = support::trace(&[
        Line::switch(0, 0, idle, "R", sh),
        Line::exec(0, 320, sh, "/bin/cat"),
        Line::switch(0, 420, cat, "Z", idle),
        Line::switch(0, 500, idle, "R", ("a", 1)),
    ]);
    let workload = support::workload(&mut trace);
    assert_eq!(support::steps(&workload)[0], "cat.11: run 320; exec; run 100");
    assert_eq!(support::steps(&workload.without_execs())[0], "cat.11: run 420");
}

#[test]
fn what_was_before_the_trace_goes_before_it() {
    let (hog, nap, child, idle) = (("hog", 1), ("nap", 2), ("child", 3), ("swapper/0", 0));
    let mut trace = support::trace(&[
        Line::switch(0, 0, idle, "R", hog),
        Line::new(0, 1000, hog, 'h', "sched_waking", nap),
        Line::switch(0, 1000, hog, "R", nap),
        Line::switch(0, 1500, nap, "Z", hog),
        Line::fork(0, 2000, hog, child),
        Line::new(0, 2000, hog, '.', "sched_wakeup_new", child),
        Line::switch(0, 3000, hog, "Z", child),
        Line::switch(0, 4000, child, "Z", idle),
    ]);
    let workload = support::workload(&mut trace);
    assert_eq!(
        support::steps(&workload),
        [
            "hog.1: run 1500; fork child.3; run 1000",
            "nap.2: timer 1000; run 500",
            "child.3 (forked): run 1000",
        ]
    );
    let running = workload.running_before(&trace);
    assert_eq!(running, [0], "a task that sleeps when the trace begins is not runnable");
    let early = [EarlyTask { place: 0, from_ns: 3_000_000, done_ns: 7_000_000 }];
    let led = workload.led(&trace, 10_000_000, &early, false);
    assert_eq!(led.tasks[0].delay_ns, 3_000_000);
    assert_eq!(
        support::steps(&led),
        [
            "hog.1: before 7000; run 1500; fork child.3; run 1000",
            "nap.2: timer 11000; run 500",
            "child.3 (forked): run 1000",
        ]
    );
    let alone = workload.led(&trace, 10_000_000, &early, true);
    assert_eq!(support::steps(&alone)[..2], ["hog.1: endless", "nap.2: timer 11000; run 500"]);
}

#[test]
fn a_gap_is_shared_half_and_half() {
    let (a, b, c, idle) = (("a", 1), ("b", 2), ("c", 3), ("swapper/0", 0));
    let trace = support::trace(&[
        Line::switch(0, 0, idle, "R", a),
        Line::switch(0, 1000, a, "S", b),
        Line::new(0, 3000, c, '.', "sched_waking", a),
        Line::switch(0, 3500, c, "S", a),
        Line::new(0, 3700, a, 'h', "sched_waking", b),
        Line::switch(0, 4000, a, "Z", b),
        Line::switch(0, 4500, b, "Z", idle),
    ]);
    assert_eq!((trace.gaps, trace.gap_ns), (1, 2_000_000));
    assert_eq!(
        programs(trace),
        [
            "a.1: run 1000; wait 0; run 500",
            "b.2: run 1000; sleep 1700; run 500",
            "c.3: timer 2000; run 1000; post 0; run 500",
        ]
    );
}

/// A task that was woken before it slept did not have to wait, and would have to in a replay.
#[test]
fn a_wakeup_before_the_sleep_is_a_token_or_that_sleeps_end() {
    let (a, b, idle) = (("a", 1), ("b", 2), ("swapper/0", 0));
    let begin = [
        Line::switch(0, 0, idle, "R", a),
        Line::switch(1, 0, idle, "R", b),
        Line::new(0, 400, a, '.', "sched_waking", b),
        Line::new(0, 410, a, '.', "sched_wakeup", b),
    ];
    let end = [Line::switch(0, 1000, a, "Z", idle), Line::switch(1, 1500, b, "Z", idle)];
    let mut goes_on = begin.to_vec();
    goes_on.push(Line::switch(1, 500, b, "R", idle));
    goes_on.push(Line::switch(1, 600, idle, "R", b));
    goes_on.extend(end.clone());
    assert_eq!(
        programs(support::trace(&goes_on)),
        ["a.1: run 400; post 0; run 600", "b.2: run 500; wait 0; run 900",]
    );
    let mut sleeps = begin.to_vec();
    sleeps.push(Line::switch(1, 500, b, "S", idle));
    sleeps.push(Line::new(1, 520, idle, '.', "sched_wakeup", b));
    sleeps.push(Line::switch(1, 600, idle, "R", b));
    sleeps.extend(end);
    assert_eq!(
        programs(support::trace(&sleeps)),
        ["a.1: run 400; post 0; run 600", "b.2: run 500; wait 0; run 900",]
    );
}

#[test]
fn a_number_that_is_used_again_is_another_task() {
    let (a, idle) = (("a", 1), ("swapper/0", 0));
    let trace = support::trace(&[
        Line::switch(0, 0, idle, "R", a),
        Line::switch(0, 100, a, "Z", idle),
        Line::fork(0, 200, ("p", 9), ("b", 1)),
        Line::new(0, 210, ("p", 9), '.', "sched_wakeup_new", ("b", 1)),
        Line::switch(0, 300, ("p", 9), "Z", ("b", 1)),
        Line::switch(0, 400, ("b", 1), "Z", idle),
    ]);
    // Task p came out of a gap.
    let keys: Vec<String> = trace.tasks.iter().map(|task| task.key()).collect();
    assert_eq!(keys, ["a.1", "p.9", "b.1.1"]);
}

#[test]
fn a_clock_is_known_by_its_grid() {
    let us = |all: &[u64]| -> Vec<u64> { all.iter().map(|us| us * 1000).collect() };
    let wakes = us(&[0, 5000, 10000, 15000, 20000, 25000, 30000]);
    assert!(has_clock(&wakes, &us(&[4700, 4300, 4700, 3800, 4700, 3000])));
    let sleeps = [20060, 20058, 20061, 20300, 20060, 20059];
    let bursts = [1000, 1400, 990, 2100, 1000, 1700];
    let mut wakes = vec![0];
    for (sleep, burst) in sleeps.iter().zip(bursts) {
        wakes.push(wakes[wakes.len() - 1] + sleep + burst);
    }
    assert!(!has_clock(&us(&wakes), &us(&sleeps)));
    assert!(!has_clock(&us(&[0, 5000, 10000, 15000, 20000]), &us(&[4700, 4300, 4700, 3800])));
}

#[test]
fn who_is_current_when_a_soft_interrupt_wakes_is_the_waker_only_if_often() {
    assert!(passes(60, 100, 20, 100));
    assert!(!passes(60, 100, 21, 100));
    assert!(!passes(2, 2, 1, 100));
    assert!(passes(25, 100, 1, 100) && !passes(24, 100, 1, 100));
    assert!(passes(90, 100, 99, 100) && !passes(89, 100, 99, 100));
}

/// Returns the trace of a client that soft interrupts wake `rounds` times, over five threads of a
/// server in turn.
fn client_of_five(rounds: u32) -> schedlab_replay::Trace {
    let (client, idle) = (("client", 10), ("swapper/0", 0));
    let mut lines = vec![];
    for round in 0..rounds {
        let (at, server) = (1000 * u64::from(round) + 1000, ("server", 20 + round % 5));
        lines.extend([
            Line::new(1, at, idle, 'h', "sched_waking", server),
            Line::switch(1, at + 10, idle, "R", server),
            Line::new(1, at + 410, server, 's', "sched_waking", client),
            Line::switch(0, at + 420, idle, "R", client),
            Line::switch(0, at + 460, client, "S", idle),
            Line::switch(1, at + 510, server, "S", idle),
        ]);
    }
    support::trace(&lines)
}

#[test]
fn a_client_waits_for_a_server_of_many_threads() {
    let mut trace = client_of_five(30);
    let in_model = vec![true; trace.tasks.len()];
    let counts = kinds::infer(&mut trace, &in_model, Arrivals::Closed);
    assert_eq!((counts.edge, counts.soft_edge), (30, 30));
    // Any of the threads may wake it, and each wakeup stays at its point of their work.
    let waits = |tokens: Tokens| -> Vec<u32> {
        let workload = program::programs(&trace, &in_model, tokens);
        let client = workload.tasks.iter().find(|it| it.name == "client").expect("it exists");
        let wait = |step: &Step| match *step {
            Step::Wait(number) => Some(number),
            _ => None,
        };
        client.steps.iter().filter_map(wait).collect()
    };
    let served = waits(Tokens::Served);
    assert_eq!(served.len(), 30);
    assert!(served.iter().all(|number| *number == served[0]), "{served:?}");
    let mut strict = waits(Tokens::Strict);
    strict.sort_unstable();
    strict.dedup();
    assert_eq!(strict.len(), 30);
}

/// A timer that wakes a task over whichever task is current is not blamed on it.
#[test]
fn a_client_does_not_wait_for_tasks_that_are_current_by_chance() {
    let mut trace = client_of_five(30);
    let client = trace.tasks.iter().position(|task| task.name == "client").expect("it exists");
    for (number, task) in trace.tasks.iter_mut().enumerate().filter(|(at, _)| *at != client) {
        task.name = format!("other-{number}");
    }
    let in_model = vec![true; trace.tasks.len()];
    // Six wakeups of 30 are not enough for any of the five.
    assert_eq!(kinds::infer(&mut trace, &in_model, Arrivals::Closed).edge, 0);
    assert!(is_chance(6, 30, 20_000, 100_000) && is_chance(13, 30, 20_000, 100_000));
    assert!(!is_chance(14, 30, 20_000, 100_000));
}

#[test]
fn responses_and_round_trips_are_followed() {
    let (a, b, idle) = (("a", 1), ("b", 2), ("swapper/0", 0));
    let trace = support::trace(&[
        Line::switch(0, 0, idle, "R", a),
        Line::switch(1, 0, idle, "R", b),
        Line::switch(1, 50, b, "S", idle),
        Line::new(0, 100, a, '.', "sched_waking", b),
        Line::switch(1, 110, idle, "R", b),
        Line::switch(0, 200, a, "S", idle),
        Line::new(1, 300, b, '.', "sched_waking", a),
        Line::switch(0, 320, idle, "R", a),
        Line::switch(1, 400, b, "S", idle),
        Line::switch(0, 500, a, "S", idle),
    ]);
    let mut trace = trace;
    let in_model = vec![true; 2];
    kinds::infer(&mut trace, &in_model, Arrivals::Closed);
    let recorded = responses::of_trace(&trace, &in_model);
    assert_eq!(
        (&recorded[0].served[..], &recorded[1].served[..]),
        (&[200_000][..], &[300_000][..])
    );
    // `a` wakes `b` at 100, and is woken at 300.
    assert_eq!((&recorded[0].round_trips[..], recorded[1].round_trips.len()), (&[200_000][..], 0));
    // A run in which `b` waits for its CPU for 60 µs longer.
    let workload = program::programs(&trace, &in_model, Tokens::Served);
    let us = |all: &[(u64, u64, u64)]| -> Vec<(u64, u64, u64)> {
        all.iter().map(|(from, to, before)| (from * 1000, to * 1000, before * 1000)).collect()
    };
    let of_a = us(&[(0, 200, 0), (360, 540, 200)]);
    let of_b = us(&[(0, 50, 0), (170, 460, 50)]);
    let run = |step: &Step| match *step {
        Step::Run(ns) => Some(ns),
        _ => None,
    };
    let lengths: Vec<u64> =
        workload.tasks.iter().flat_map(|it| it.steps.iter().filter_map(run)).collect();
    let replayed = responses::of_run(&responses::Run {
        workload: &workload,
        lengths: &lengths,
        stretches: vec![&of_a, &of_b],
    });
    assert_eq!(replayed[0].round_trips, [260_000]);
    assert_eq!(replayed[1].round_trips.len(), 0);
}

/// The timers of a forked task expire at times that count from its start.
#[test]
fn a_forked_tasks_requests_arrive_at_times_from_its_start() {
    let program = |name: &str, is_forked: bool, steps: &[Step]| Program {
        key: name.into(),
        name: name.into(),
        task: 0,
        is_forked,
        delay_ns: 0,
        prio: 120,
        steps: steps.into(),
        is_exhausted: false,
        set: Properties::default(),
        nice_by: 0,
    };
    let parent = [Step::Run(400), Step::Fork(1), Step::Run(100)];
    let child = [Step::Run(10), Step::Timer(1000), Step::Run(50), Step::Timer(1000)];
    let workload = Workload {
        tasks: vec![program("parent", false, &parent), program("child", true, &child)],
        ..Workload::default()
    };
    // The parent waits for 300 ns before it forks at 700, and the child's request of 1700 for 20.
    let (of_parent, of_child) = ([(300, 800, 0)], [(700, 710, 0), (1720, 1770, 10)]);
    let replayed = responses::of_run(&responses::Run {
        workload: &workload,
        lengths: &[400, 100, 10, 50],
        stretches: vec![&of_parent, &of_child],
    });
    assert_eq!(replayed[1].served, [70]);
}

#[test]
fn waiting_on_a_nearly_idle_machine_is_judged_by_its_length() {
    let ms = 1e6;
    let idle = Pair {
        cpu_ns: 50.0 * ms,
        end_ns: (5000.0 * ms, 5000.0 * ms),
        wait_ns: (6.0 * ms, 0.0),
        span_ns: 5000.0 * ms,
        ..Pair::default()
    };
    assert_eq!(idle.grade(), Grade::Close);
    assert_eq!(Score::of(&[idle, idle], Grade::Close).grade, Grade::Close);
    let busy = Pair { wait_ns: (600.0 * ms, 0.0), ..idle };
    assert_eq!(Score::of(&[busy], Grade::Close).grade, Grade::Poor);
}

#[test]
fn a_loop_by_wall_time_is_known_by_its_preempted_rounds() {
    let bursts = |both: &[(u64, u64)]| -> Vec<Burst> {
        let burst = |&(wall, cpu): &(u64, u64)| Burst {
            wake_ns: 0,
            is_woken: true,
            first_ns: Some(0),
            slices: 0..0,
            acts: 0..0,
            cpu_ns: cpu * 10_000,
            end_ns: wall * 10_000,
            state: Some(schedlab_trace::State::Interruptible),
        };
        both.iter().map(burst).collect()
    };
    let whole = (600, 600);
    let preempted = [whole, whole, (602, 400), whole, (598, 300), whole];
    assert!(is_wall_loop(bursts(&preempted).into_iter()));
    let longer = [whole, whole, (800, 600), whole, (900, 600), whole];
    assert!(!is_wall_loop(bursts(&longer).into_iter()));
}

#[test]
fn scores_are_sums_over_groups() {
    let ms = 1e6;
    let group = |cpu, end: (f64, f64), wait: (f64, f64)| Pair {
        cpu_ns: cpu * ms,
        end_ns: (end.0 * ms, end.1 * ms),
        wait_ns: (wait.0 * ms, wait.1 * ms),
        ..Pair::default()
    };
    let groups =
        [group(100.0, (200.0, 210.0), (30.0, 24.0)), group(50.0, (100.0, 100.0), (10.0, 12.0))];
    let score = Score::of(&groups, Grade::Close);
    assert!((score.e_end - 1.0 / 30.0).abs() < 1e-9, "{score:?}");
    assert!((score.e_wait - 0.2).abs() < 1e-9, "{score:?}");
    assert_eq!(score.grade, Grade::Close);
    assert_eq!(Score::of(&groups, Grade::of_record(0.03, 0.0)).grade, Grade::Fair);
    assert!((groups[0].err_end() - 0.05).abs() < 1e-9);
}

#[test]
fn percentiles_want_enough_wakeups() {
    let of = |count: u64| TaskStats {
        latencies: (0..count).map(|it| it * 10_000).collect(),
        ..TaskStats::default()
    };
    assert_eq!(
        (of(9).percentile(50), of(29).percentile(90), of(99).percentile(99)),
        (None, None, None)
    );
    assert_eq!(of(100).percentile(99), Some(980_000));
    assert_eq!(of(10).percentile(50), Some(50_000), "the floor is the wakeup time of an idle CPU");
}
