//! Policies under random workloads: tasks always run on allowed CPUs, on one CPU each, CPU times
//! add up, and no task is lost.

mod support;

use schedlab_core::{
    Administer, BlockReason, BuildConfig, CpuId, CpuSet, GroupId, Policy, SchedAttr, Scheduler,
    TaskAttr, TaskId,
};
use schedlab_machine::{Config, Machine, NewTask, Op, Order, SplitMix64, Workload};
use schedlab_scx::{Classes, OnEnd};
use std::convert::Infallible;
use support::{Books, HZ, scheduler};

/// Tasks with random behaviour.
struct RandomTasks {
    random: SplitMix64,
    cpus: u32,
    tasks: u32,
    groups: u32,
    forks_left: u32,
    /// Whether some tasks are sometimes real-time or deadline tasks.
    urgent: bool,
}

impl RandomTasks {
    fn attr(&mut self) -> SchedAttr {
        let mut attr = SchedAttr::nice(self.random.below(40) as i32 - 20);
        attr.policy = match self.random.below(if self.urgent { 12 } else { 8 }) {
            0 => Policy::Batch,
            1 => Policy::Idle,
            8 => Policy::Fifo,
            9 => Policy::RoundRobin,
            10 => Policy::Deadline,
            _ => Policy::Other,
        };
        match attr.policy {
            Policy::Fifo | Policy::RoundRobin => {
                attr.rt_priority = 1 + self.random.below(4) as u32;
            }
            Policy::Deadline => {
                attr.runtime_ns = 1_000_000 + self.random.below(3_000_000);
                attr.deadline_ns = attr.runtime_ns * (2 + self.random.below(8));
                attr.period_ns = attr.deadline_ns + self.random.below(10_000_000);
            }
            _ => {}
        }
        attr
    }

    fn allowed(&mut self) -> CpuSet {
        if self.random.below(3) > 0 {
            return CpuSet::All;
        }
        let first = CpuId(self.random.below(u64::from(self.cpus)) as u32);
        CpuSet::from_cpus([first, CpuId(self.random.below(u64::from(self.cpus)) as u32)])
    }

    fn group(&mut self) -> GroupId {
        GroupId(self.random.below(u64::from(self.groups) + 1) as u32)
    }

    fn task_attr(&mut self) -> TaskAttr {
        let (sched, allowed, group) = (self.attr(), self.allowed(), self.group());
        TaskAttr { sched, allowed, group, address_space: self.random.below(3) as u32 }
    }

    fn some_task(&mut self) -> TaskId {
        TaskId(self.random.below(u64::from(self.tasks)) as u32)
    }
}

impl Workload for RandomTasks {
    type Error = Infallible;

    fn initial_tasks(&mut self) -> Vec<NewTask> {
        (0..self.tasks)
            .map(|_| NewTask {
                attr: self.task_attr(),
                start_ns: self.random.below(30) * 1_000_000,
            })
            .collect()
    }

    fn next(&mut self, now_ns: u64, task: TaskId, _cpu: CpuId) -> Result<Op, Infallible> {
        // Times are often whole milliseconds, at which ticks occur.
        let time = match self.random.below(3) {
            0 => self.random.below(4) * 1_000_000,
            1 => self.random.below(30_000_000),
            _ => self.random.below(1_000_000),
        };
        Ok(match self.random.below(40) {
            0..=14 => Op::Run { ns: 1 + time },
            15..=27 => {
                Op::Sleep { until_ns: now_ns + 1 + time, reason: BlockReason::Interruptible }
            }
            28 | 29 => Op::Yield,
            30 | 31 => Op::SetAttr { task: self.some_task(), attr: self.attr() },
            32 => Op::Exec,
            33 => Op::SetAffinity { task, allowed: self.allowed() },
            34 => Op::SetAffinity { task: self.some_task(), allowed: self.allowed() },
            35 => Op::SetGroup { task: self.some_task(), group: self.group() },
            36 => Op::Wake { task: self.some_task(), sync: self.random.below(2) == 0 },
            37 if self.forks_left > 0 => {
                self.forks_left -= 1;
                self.tasks += 1;
                Op::Fork {
                    attr: Box::new(self.task_attr()),
                    inherits: false,
                    delay_ns: self.random.below(2) * time,
                }
            }
            38 if self.random.below(10) == 0 => Op::Exit,
            39 if self.random.below(10) == 0 => Op::Kill { task: self.some_task() },
            _ => Op::Run { ns: 1 + time },
        })
    }

    fn fork_refused(&mut self, _now_ns: u64, _parent: TaskId) {
        self.tasks -= 1;
    }

    fn before_wake(&mut self, _now_ns: u64, _task: TaskId) -> Option<Op> {
        (self.random.below(300) == 0).then_some(Op::Exit)
    }
}

/// Switches and CPU time of a run.
fn run(policy: &str, settings: &[&str], cpus: u32, seed: u64, order: Order) -> (u64, Vec<u64>) {
    run_with(policy, settings, cpus, seed, order, false)
}

/// Runs a policy, with real-time and deadline tasks or without.
fn run_with(
    policy: &str,
    settings: &[&str],
    cpus: u32,
    seed: u64,
    order: Order,
    urgent: bool,
) -> (u64, Vec<u64>) {
    let groups = if seed.is_multiple_of(2) { 0 } else { 4 };
    let random = SplitMix64::new(seed);
    let workload =
        RandomTasks { random, cpus, tasks: 4 + 3 * cpus, groups, forks_left: 20, urgent };
    let mut config = Config::idealised(cpus, HZ);
    config.order = order;
    let scheduler = scheduler(policy, cpus, settings, OnEnd::GoOn);
    let scheduler = Classes::new(scheduler, &BuildConfig::flat(cpus, HZ));
    let mut machine = Machine::new(config, scheduler, workload, Books::default());
    let place = format!("{policy} {settings:?}, {cpus} CPUs, seed {seed}");
    machine.administer(|scheduler, platform| {
        for number in 0..groups {
            let parent = GroupId(if number == 3 { 2 } else { 0 });
            let made = scheduler.group_new(platform, parent, 256 << number);
            assert_eq!(made, Ok(GroupId(number + 1)), "{place}");
        }
    });
    for step in 1..=100 {
        let Ok(_) = machine.run_to(step * 3_000_000);
        let (at, wrong) = (machine.now_ns(), machine.scheduler().inspect().audit());
        assert_eq!(wrong, Ok(()), "{place}, {at} ns");
    }
    assert_eq!(machine.observer().faults, Vec::<String>::new(), "{place}");
    let is_faulty = settings.iter().any(|setting| setting.starts_with("fault="));
    if !is_faulty && let Some(message) = machine.scheduler().policy().end_message() {
        panic!("{place}: {message}");
    }
    let (_, _, books) = machine.into_parts();
    (books.switches, books.cpu_ns)
}

const POLICIES: &[(&str, &[&str])] = &[
    ("vtime", &[]),
    ("vtime", &["fifo=1", "slice_ns=1000000"]),
    ("order", &[]),
    ("order", &["ops.flags=7", "slice_ns=3000000"]),
    ("features", &[]),
    ("walk", &[]),
    ("faults", &[]),
];

#[test]
fn the_books_add_up() {
    for (policy, settings) in POLICIES {
        for cpus in [1, 2, 5, 70] {
            if (*policy, cpus) == ("walk", 70) {
                // The policy uses only the first word of masks.
                continue;
            }
            for seed in 0..if cpus == 70 { 2 } else { 10 } {
                run(policy, settings, cpus, seed, Order::Golden);
                run(policy, settings, cpus, seed, Order::Shuffled(SplitMix64::new(seed)));
            }
        }
    }
}

#[test]
fn twins_keep_the_books_on_more_cpus_than_a_word_has_bits() {
    for policy in ["goodness", "o_1", "bfs"] {
        for seed in 0..2 {
            run(policy, &[], 70, seed, Order::Golden);
        }
    }
}

#[test]
fn the_books_add_up_below_real_time_and_deadline_tasks() {
    for (policy, settings) in POLICIES {
        for cpus in [1, 2, 5] {
            for seed in 0..20 {
                run_with(policy, settings, cpus, seed, Order::Golden, true);
                let shuffled = Order::Shuffled(SplitMix64::new(seed));
                run_with(policy, settings, cpus, seed, shuffled, true);
            }
        }
    }
    for fault in 1..=18 {
        for seed in 0..4 {
            run_with("faults", &[&format!("fault={fault}")], 3, seed, Order::Golden, true);
        }
    }
}

#[test]
fn nobody_is_lost_when_a_policy_ends_in_the_middle() {
    for fault in 1..=18 {
        for seed in 0..4 {
            run("faults", &[&format!("fault={fault}")], 3, seed, Order::Golden);
        }
    }
}

#[test]
fn runs_repeat_and_policies_differ() {
    let once = |policy, settings| run(policy, settings, 3, 7, Order::Golden);
    assert_eq!(once("vtime", &[]), once("vtime", &[]));
    assert_ne!(once("vtime", &[]), once("order", &[]));
}
