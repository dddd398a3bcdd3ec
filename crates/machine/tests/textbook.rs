//! Worked examples of textbooks.

use schedlab_core::{
    Administer, BlockReason, CpuId, Event, Policy, SchedAttr, Scheduler, TaskAttr, TaskId,
};
use schedlab_machine::{Config, Machine, NewTask, Observer, Op, Workload};
use schedlab_sched::textbook::*;

const MS: u64 = 1_000_000;

/// A task: it arrives, then runs and sleeps in turn (ms). Sleeps are between the runs.
#[derive(Clone)]
struct Job {
    name: &'static str,
    arrival: u64,
    run: u64,
    /// Sleep after each run. 0: one run only.
    sleep: u64,
    attr: SchedAttr,
}

fn job(name: &'static str, arrival: u64, run: u64) -> Job {
    Job { name, arrival, run, sleep: 0, attr: SchedAttr::default() }
}

fn with_priority(name: &'static str, arrival: u64, run: u64, priority: i32) -> Job {
    Job { attr: SchedAttr::nice(priority - 20), ..job(name, arrival, run) }
}

fn with_policy(name: &'static str, arrival: u64, run: u64, policy: Policy) -> Job {
    Job { attr: SchedAttr { policy, ..SchedAttr::default() }, ..job(name, arrival, run) }
}

struct Jobs {
    jobs: Vec<Job>,
    /// By task: whether it has taken its run.
    ran: Vec<bool>,
}

impl Workload for Jobs {
    type Error = std::convert::Infallible;

    fn initial_tasks(&mut self) -> Vec<NewTask> {
        self.ran = vec![false; self.jobs.len()];
        let task = |job: &Job| NewTask {
            attr: TaskAttr { sched: job.attr, ..TaskAttr::default() },
            start_ns: job.arrival * MS,
        };
        self.jobs.iter().map(task).collect()
    }

    fn next(&mut self, now_ns: u64, task: TaskId, _cpu: CpuId) -> Result<Op, Self::Error> {
        let job = &self.jobs[task.index()];
        let ran = std::mem::replace(&mut self.ran[task.index()], true);
        Ok(if !ran {
            Op::Run { ns: if job.run == u64::MAX { u64::MAX } else { job.run * MS } }
        } else if job.sleep == 0 {
            Op::Exit
        } else {
            self.ran[task.index()] = false;
            Op::Sleep { until_ns: now_ns + job.sleep * MS, reason: BlockReason::Interruptible }
        })
    }

    fn burst_ns(&self, task: TaskId) -> Option<u64> {
        let run = self.jobs[task.index()].run;
        Some(if run == u64::MAX { run } else { run * MS })
    }
}

/// Task and end of each run on CPU 0, in ms. Adjoining runs are merged.
#[derive(Default)]
struct Log {
    stretches: Vec<(TaskId, u64)>,
    running: Option<(TaskId, u64)>,
}

impl Log {
    fn close(&mut self, now_ns: u64) {
        if let Some((task, since_ns)) = self.running.take()
            && since_ns < now_ns
        {
            match self.stretches.last_mut() {
                Some(last) if last.0 == task => last.1 = now_ns / MS,
                _ => self.stretches.push((task, now_ns / MS)),
            }
        }
    }
}

impl Observer for Log {
    #[inline]
    fn on(&mut self, now_ns: u64, event: Event<'_>) {
        match event {
            Event::Switched { cpu, next, .. } => self.switched(now_ns, cpu, next),
            Event::Finished => self.finished(now_ns),
            _ => {}
        }
    }
}

impl Log {
    fn switched(&mut self, now_ns: u64, cpu: CpuId, next: Option<TaskId>) {
        assert_eq!(cpu, CpuId(0));
        self.close(now_ns);
        self.running = next.map(|task| (task, now_ns));
    }

    fn finished(&mut self, now_ns: u64) {
        self.close(now_ns);
    }
}

/// Runs `jobs` on one CPU for `until` ms and returns the tasks with the ends of their runs: "P4 3,
/// P1 9".
fn run(rules: Rules, tunables: &[(&str, u64)], jobs: &[Job], until: u64) -> String {
    let jobs = jobs.to_vec();
    let names: Vec<&str> = jobs.iter().map(|job| job.name).collect();
    let workload = Jobs { jobs, ran: vec![] };
    let mut machine =
        Machine::new(Config::idealised(1, 1000), Textbook::new(1, rules), workload, Log::default());
    for &(name, value) in tunables {
        machine.administer(|scheduler, platform| {
            scheduler.set_tunable(platform, name, value as i64).unwrap()
        });
    }
    let Ok(_) = machine.run(until * MS);
    machine.scheduler().inspect().audit().unwrap();
    let log = machine.into_parts().2;
    let stretch = |&(task, end): &(TaskId, u64)| format!("{} {end}", names[task.index()]);
    log.stretches.iter().map(stretch).collect::<Vec<_>>().join(", ")
}

const FOR_EVER: u64 = u64::MAX;

#[test]
fn example_1_first_come_first_served() {
    let jobs = [job("P1", 0, 24), job("P2", 0, 3), job("P3", 0, 3)];
    assert_eq!(run(FCFS_RULES, &[], &jobs, 100), "P1 24, P2 27, P3 30");
}

#[test]
fn example_2_shortest_job_first() {
    let jobs = [job("P1", 0, 6), job("P2", 0, 8), job("P3", 0, 7), job("P4", 0, 3)];
    assert_eq!(run(SJF_RULES, &[], &jobs, 100), "P4 3, P1 9, P3 16, P2 24");
}

#[test]
fn example_3_shortest_remaining_time() {
    let jobs = [job("P1", 0, 8), job("P2", 1, 4), job("P3", 2, 9), job("P4", 3, 5)];
    assert_eq!(run(SRTF_RULES, &[], &jobs, 100), "P1 1, P2 5, P4 10, P1 17, P3 26");
}

#[test]
fn example_4_priority() {
    let jobs = [
        with_priority("P1", 0, 10, 3),
        with_priority("P2", 0, 1, 1),
        with_priority("P3", 0, 2, 4),
        with_priority("P4", 0, 1, 5),
        with_priority("P5", 0, 5, 2),
    ];
    assert_eq!(run(PRIORITY_RULES, &[], &jobs, 100), "P2 1, P5 6, P1 16, P3 18, P4 19");
}

#[test]
fn example_5_round_robin() {
    let jobs = [job("P1", 0, 24), job("P2", 0, 3), job("P3", 0, 3)];
    assert_eq!(run(RR_RULES, &[("quantum_ns", 4 * MS)], &jobs, 100), "P1 4, P2 7, P3 10, P1 30");
}

#[test]
fn example_6_turnaround_is_not_monotone_in_the_quantum() {
    let jobs = [job("P1", 0, 6), job("P2", 0, 3), job("P3", 0, 1), job("P4", 0, 7)];
    let total = |quantum: u64| {
        let ends = run(RR_RULES, &[("quantum_ns", quantum * MS)], &jobs, 100);
        let last = |name: &str| -> u64 {
            let stretch = ends.split(", ").filter(|s| s.starts_with(name)).last().unwrap();
            stretch.split(' ').nth(1).unwrap().parse().unwrap()
        };
        ["P1", "P2", "P3", "P4"].map(last).iter().sum::<u64>()
    };
    assert_eq!([1, 2, 3, 4, 5, 6, 7].map(total), [44, 46, 43, 46, 49, 42, 42]);
}

#[test]
fn example_7_priority_with_round_robin() {
    let jobs = [
        with_priority("P1", 0, 4, 3),
        with_priority("P2", 0, 5, 2),
        with_priority("P3", 0, 8, 2),
        with_priority("P4", 0, 7, 1),
        with_priority("P5", 0, 3, 3),
    ];
    assert_eq!(
        run(PRIORITY_PREEMPTIVE_RULES, &[("quantum_ns", 2 * MS)], &jobs, 100),
        "P4 7, P2 9, P3 11, P2 13, P3 15, P2 16, P3 20, P1 22, P5 24, P1 26, P5 27"
    );
}

/// Returns the completion times of A to E, the five processes of example 8.
fn five_processes(rules: Rules, tunables: &[(&str, u64)]) -> [u64; 5] {
    let jobs = [job("A", 0, 3), job("B", 2, 6), job("C", 4, 4), job("D", 6, 5), job("E", 8, 2)];
    let ends = run(rules, tunables, &jobs, 100);
    ["A", "B", "C", "D", "E"].map(|name| {
        let stretch = ends.split(", ").filter(|s| s.starts_with(name)).last().unwrap();
        stretch.split(' ').nth(1).unwrap().parse().unwrap()
    })
}

#[test]
fn example_8_five_processes() {
    let quantum = |q: u64| [("quantum_ns", q * MS)];
    assert_eq!(five_processes(FCFS_RULES, &[]), [3, 9, 13, 18, 20]);
    assert_eq!(five_processes(RR_RULES, &quantum(1)), [4, 18, 17, 20, 15]);
    assert_eq!(five_processes(RR_RULES, &quantum(4)), [3, 17, 11, 20, 19]);
    assert_eq!(five_processes(SJF_RULES, &[]), [3, 9, 15, 20, 11]);
    assert_eq!(five_processes(SRTF_RULES, &[]), [3, 15, 8, 20, 10]);
    assert_eq!(five_processes(HRRN_RULES, &[]), [3, 9, 13, 20, 15]);
    assert_eq!(five_processes(FB1_RULES, &quantum(1)), [4, 20, 16, 19, 11], "FB(1)");
    assert_eq!(five_processes(FB_RULES, &quantum(1)), [4, 17, 18, 20, 14], "FB(2^i)");
}

#[test]
fn example_9_aging() {
    let mut jobs = vec![with_priority("L", 0, 2, 5)];
    for (number, name) in ["H1", "H2", "H3", "H4", "H5"].into_iter().enumerate() {
        jobs.push(with_priority(name, 4 * number as u64, 4, 1));
    }
    assert_eq!(
        run(PRIORITY_RULES, &[("aging_ns", 3 * MS)], &jobs, 100),
        "H1 4, H2 8, H3 12, L 14, H4 18, H5 22"
    );
    assert!(
        run(PRIORITY_RULES, &[], &jobs, 100).ends_with("L 22"),
        "without aging L waits to the end"
    );
}

#[test]
fn example_10_multilevel_queue() {
    let jobs = [
        with_policy("B1", 0, 6, Policy::Batch),
        with_policy("B2", 1, 2, Policy::Batch),
        job("F1", 2, 3),
        job("F2", 3, 3),
    ];
    assert_eq!(
        run(MLQ_RULES, &[("quantum_ns", 2 * MS)], &jobs, 100),
        "B1 2, F1 4, F2 6, F1 7, F2 8, B1 12, B2 14"
    );
}

#[test]
fn classes_take_turns_by_parts_of_a_cycle() {
    let jobs = [job("F", 0, FOR_EVER), with_policy("B", 0, FOR_EVER, Policy::Batch)];
    assert_eq!(run(MLQ_SLICED_RULES, &[], &jobs, 200), "F 80, B 100, F 180, B 200");
    // A class without runnable tasks passes its part on.
    assert_eq!(run(MLQ_SLICED_RULES, &[], &jobs[1..], 150), "B 150");
}

#[test]
fn example_11_multilevel_feedback() {
    let jobs = [job("H", 0, FOR_EVER), Job { sleep: 26, ..job("I", 5, 4) }];
    assert_eq!(
        run(MLFQ_RULES, &[("levels", 3)], &jobs, 104),
        "H 10, I 14, H 40, I 44, H 70, I 74, H 100, I 104"
    );
}

#[test]
fn example_12_multilevel_feedback_as_taught() {
    let jobs = [job("H", 0, FOR_EVER), job("G", 0, FOR_EVER), Job { sleep: 16, ..job("I", 5, 4) }];
    assert_eq!(
        run(MLFQ_TEACHING_RULES, &[], &jobs, 154),
        "H 10, G 20, I 24, H 34, G 40, I 44, G 48, H 58, G 60, I 64, G 72, H 80, I 84, H 86, G 96, H 110, I 114, G 124, H 130, \
         I 134, H 138, G 148, H 150, I 154"
    );
}
