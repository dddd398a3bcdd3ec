//! The accounting is consistent, whatever happens on a machine.

mod support;

use proptest::prelude::*;
use schedlab_core::{BlockReason, BuildConfig, Policy, SchedAttr, Scheduler, TaskAttr, TaskId};
use schedlab_machine::{Config, Machine, Op};
use schedlab_measure::{Fairness, SliceRecorder, SpanRecorder, Stats, Weights};
use schedlab_sched::registry;
use support::{OneQueue, Script};

fn weights() -> Weights {
    let mut by_nice = [0; 40];
    // Not the kernel's table, but as steep: 5/4 per step, and 1024 at nice 0.
    let mut weight = 88_818.0;
    for row in &mut by_nice {
        *row = weight as u64;
        weight /= 1.25;
    }
    by_nice[20] = 1024;
    Weights { by_nice, idle: 3 }
}

fn op() -> impl Strategy<Value = Op> {
    let reason = BlockReason::Interruptible;
    prop_oneof![
        4 => (1u64..30_000_000).prop_map(|ns| Op::Run { ns }),
        // Often whole ticks, so that many events fall on one nanosecond.
        2 => (1u64..4).prop_map(|ticks| Op::Run { ns: ticks * 10_000_000 }),
        2 => (0u64..40_000_000).prop_map(move |until_ns| Op::Sleep { until_ns, reason }),
        2 => (1u64..4).prop_map(move |ticks| Op::Sleep { until_ns: ticks * 10_000_000, reason }),
        1 => Just(Op::Block { reason }),
        1 => (0u32..8, any::<bool>())
            .prop_map(|(task, sync)| Op::Wake { task: TaskId(task), sync }),
        1 => Just(Op::Yield),
        1 => (0u64..2)
            .prop_map(|ticks| Op::Fork {
                    attr: Box::default(),
                    inherits: false,
                    delay_ns: ticks * 10_000_000,
                }),
        1 => (0u32..8, -20i32..20).prop_map(|(task, nice)| Op::SetAttr {
            task: TaskId(task),
            attr: SchedAttr::nice(nice),
        }),
        1 => (0u32..8).prop_map(|task| Op::SetAttr {
            task: TaskId(task),
            attr: SchedAttr::realtime(Policy::Fifo, 1),
        }),
    ]
}

fn script() -> impl Strategy<Value = Script> {
    let program = prop::collection::vec(op(), 0..12);
    let task = (0u64..5, -20i32..20, program).prop_map(|(ticks, nice, ops)| {
        let attr = TaskAttr { sched: SchedAttr::nice(nice), ..TaskAttr::default() };
        (ticks * 10_000_000, attr, ops)
    });
    let child = prop::collection::vec((1u64..20_000_000).prop_map(|ns| Op::Run { ns }), 0..3);
    (prop::collection::vec(task, 8..9), child).prop_map(|(tasks, child)| Script::new(tasks, child))
}

/// Runs the script and checks all sums.
fn check(cpus: u32, scheduler: impl Scheduler, script: Script) -> Result<(), TestCaseError> {
    let observer = (
        (Stats::new(cpus, &[0; 8]), Fairness::new(cpus, weights(), &[], 8)),
        (SliceRecorder::new(), SpanRecorder::new()),
    );
    let mut machine = Machine::new(Config::idealised(cpus, 100), scheduler, script, observer);
    let Ok(_) = machine.run(300_000_000);
    let (end_ns, counts) = (machine.now_ns(), machine.counts());
    let (_, _, ((stats, fairness), (slices, spans))) = machine.into_parts();
    let (slices, spans) = (slices.into_slices(), spans.into_spans());
    prop_assert_eq!(stats.end_ns(), end_ns);

    let busy_ns: u64 = stats.cpus().iter().map(|cpu| cpu.busy_ns).sum();
    for cpu in stats.cpus() {
        prop_assert_eq!(cpu.busy_ns + cpu.idle_ns, end_ns);
    }
    prop_assert_eq!(stats.tasks().map(|(_, task)| task.cpu_ns).sum::<u64>(), busy_ns);
    prop_assert_eq!(stats.cpus().iter().map(|cpu| cpu.switches).sum::<u64>(), counts.switches);
    prop_assert_eq!(stats.cpus().iter().map(|cpu| cpu.ticks).sum::<u64>(), counts.ticks);
    let started = stats.tasks().filter(|(_, task)| task.start_ns.is_some()).count() as u64;
    let wakeups: u64 = stats.tasks().map(|(_, task)| task.wakeups).sum();
    prop_assert_eq!(started + wakeups, counts.wakeups);

    let mut latencies = 0;
    for (id, task) in stats.tasks() {
        let Some(start_ns) = task.start_ns else { continue };
        let until_ns = task.end_ns.unwrap_or(end_ns);
        prop_assert_eq!(
            task.cpu_ns + task.wait_ns + task.blocked_ns,
            until_ns - start_ns,
            "{:?}: {:?}",
            id,
            task
        );
        prop_assert!(task.wait_max_ns <= task.wait_ns && task.wait_open_ns <= task.wait_max_ns);
        prop_assert!(task.latencies <= task.wakeups && task.latency_sum_ns <= task.wait_ns);
        // It leaves a CPU as often as it gets one, except the last time.
        let out = task.voluntary + task.involuntary;
        prop_assert!(task.switches_in == out || task.switches_in == out + 1);
        let in_slices: u64 =
            slices.iter().filter(|s| s.task == id).map(|s| s.end_ns - s.start_ns).sum();
        let in_spans: u64 =
            spans.iter().filter(|s| s.task == id).map(|s| s.end_ns - s.start_ns).sum();
        prop_assert_eq!(in_slices, task.cpu_ns);
        prop_assert_eq!(in_spans, task.cpu_ns + task.wait_ns);
        latencies += task.latencies;
    }
    prop_assert_eq!(stats.latency().moments().count, latencies);
    let of_keys: u64 = stats.keys().iter().map(|key| key.latency.count).sum();
    let delayed: u64 = stats
        .tasks()
        .filter(|&(id, _)| stats.key_of(id).is_none())
        .map(|(_, task)| task.latencies)
        .sum();
    prop_assert_eq!(of_keys + delayed, latencies);

    let report = fairness.report();
    let most_ns =
        report.owed_max.map_or(0, |(ns, _)| ns).max(report.ahead_max.map_or(0, |(ns, _)| ns));
    prop_assert_eq!(report.lag_max_ns, most_ns);
    for (id, task) in stats.tasks() {
        let Some(fared) = fairness.task(id) else { continue };
        prop_assert!(fared.cpu_ns <= task.cpu_ns);
        // No task is given more than the time that it wanted to run, nor (apart from rounding) owed
        // what it was given.
        prop_assert!(fared.share_ns <= task.cpu_ns + task.wait_ns + 1);
        prop_assert!(fared.lag_end_ns.abs_diff(fared.share_ns as i64 - fared.cpu_ns as i64) <= 1);
        prop_assert!(fared.lag_end_ns <= fared.owed_max_ns as i64);
        prop_assert!(-fared.lag_end_ns <= fared.ahead_max_ns as i64);
    }
    for index in [report.jain_by_share, report.jain_by_weight].into_iter().flatten() {
        prop_assert!((0.0..=1.0).contains(&index), "{}", index);
    }
    Ok(())
}

proptest! {
    #[test]
    fn with_one_queue_for_many_cpus(cpus in 1u32..5, script in script()) {
        check(cpus, OneQueue::new(cpus), script)?;
    }

    #[test]
    fn with_round_robin(script in script()) {
        let (_, release) = registry::find("round_robin").unwrap();
        let make = |config: &BuildConfig| release.build(config).expect("the release can be built");
        check(1, make(&BuildConfig::flat(1, 100)), script)?;
    }

    /// On one CPU that is never idle while there is work, the time that one task is owed is the
    /// time that another is ahead.
    #[test]
    fn on_one_cpu_the_lags_of_hogs_come_to_nothing(
        nices in prop::collection::vec(-20i32..20, 1..8),
        starts in prop::collection::vec(0u64..10, 8),
    ) {
        let tasks = nices.iter().zip(starts).map(|(&nice, start)| {
            let attr = TaskAttr { sched: SchedAttr::nice(nice), ..TaskAttr::default() };
            (start * 7_000_000, attr, vec![Op::Run { ns: u64::MAX }])
        });
        let script = Script::new(tasks.collect(), vec![]);
        let fairness = Fairness::new(1, weights(), &[], nices.len());
        let config = Config::idealised(1, 100);
        let mut machine = Machine::new(config, OneQueue::new(1), script, fairness);
        let Ok(_) = machine.run(1_234_567_890);
        let fairness = machine.observer();
        let lag = |task| fairness.task(TaskId(task as u32)).unwrap().lag_end_ns;
        let lags = (0..nices.len()).map(lag);
        // Each value is rounded to a ns.
        prop_assert!(lags.sum::<i64>().unsigned_abs() <= nices.len() as u64);
    }
}
