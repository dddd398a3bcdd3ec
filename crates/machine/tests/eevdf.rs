//! EEVDF, the real-time and the deadline class under random workloads: the accounting must be
//! consistent in every case.

use schedlab_core::{
    Administer, BlockReason, BuildConfig, CpuId, CpuSet, Event, GroupId, Policy, SchedAttr,
    Scheduler, TaskAttr, TaskId,
};
use schedlab_machine::{Config, Machine, NewTask, Observer, Op, Order, SplitMix64, Workload};
use schedlab_sched::eevdf::{Eevdf, Version};

/// Tasks with random operations.
struct Mad {
    random: SplitMix64,
    cpus: u32,
    tasks: u32,
    groups: u32,
    forks_left: u32,
}

impl Mad {
    fn attr(&mut self) -> SchedAttr {
        let nice = self.random.below(40) as i32 - 20;
        let mut attr = SchedAttr::nice(nice);
        match self.random.below(12) {
            0 => attr.policy = Policy::Batch,
            1 | 2 => attr.policy = Policy::Idle,
            3 => attr.runtime_ns = 100_000 + self.random.below(20_000_000),
            4 => attr = SchedAttr::realtime(Policy::Fifo, 1 + self.random.below(3) as u32),
            5 => attr = SchedAttr::realtime(Policy::RoundRobin, 1 + self.random.below(3) as u32),
            6 => {
                attr.policy = Policy::Deadline;
                attr.period_ns = 1_000_000 + self.random.below(20_000_000);
                attr.deadline_ns =
                    attr.period_ns - self.random.below(2) * self.random.below(500_000);
                attr.runtime_ns = 10_000 + self.random.below(attr.deadline_ns / 2);
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

    fn task_attr(&mut self) -> TaskAttr {
        TaskAttr {
            sched: self.attr(),
            allowed: self.allowed(),
            group: GroupId(self.random.below(u64::from(self.groups) + 1) as u32),
            address_space: 0,
        }
    }

    fn some_task(&mut self) -> TaskId {
        TaskId(self.random.below(u64::from(self.tasks)) as u32)
    }
}

impl Workload for Mad {
    type Error = ();

    fn initial_tasks(&mut self) -> Vec<NewTask> {
        (0..self.tasks)
            .map(|_| NewTask {
                attr: self.task_attr(),
                start_ns: self.random.below(30) * 1_000_000,
            })
            .collect()
    }

    fn next(&mut self, now_ns: u64, task: TaskId, _cpu: CpuId) -> Result<Op, ()> {
        // Often on whole milliseconds, where ticks are.
        let time = match self.random.below(3) {
            0 => self.random.below(4) * 1_000_000,
            1 => self.random.below(30_000_000),
            _ => self.random.below(1_000_000),
        };
        Ok(match self.random.below(40) {
            0..=14 => Op::Run { ns: 1 + time },
            15..=27 => Op::Sleep {
                until_ns: now_ns + 1 + time,
                reason: [BlockReason::Interruptible, BlockReason::Uninterruptible]
                    [self.random.below(2) as usize],
            },
            28 | 29 => Op::Yield,
            30 | 31 => Op::SetAttr { task: self.some_task(), attr: self.attr() },
            32 => Op::SetAttr { task, attr: SchedAttr::nice(self.random.below(40) as i32 - 20) },
            33 => Op::SetAffinity { task, allowed: self.allowed() },
            34 => {
                let group = GroupId(self.random.below(u64::from(self.groups) + 1) as u32);
                Op::SetGroup { task, group }
            }
            35 | 36 => Op::Wake { task: self.some_task(), sync: self.random.below(2) == 0 },
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

/// Digest of all switches, to tell runs apart.
#[derive(Default)]
struct Digest {
    value: u64,
    refusals: u32,
}

impl Observer for Digest {
    #[inline]
    fn on(&mut self, now_ns: u64, event: Event<'_>) {
        match event {
            Event::Switched { cpu, next, .. } => self.switched(now_ns, cpu, next),
            Event::Refused { .. } => self.refused(),
            _ => {}
        }
    }
}

impl Digest {
    fn switched(&mut self, now_ns: u64, cpu: CpuId, next: Option<TaskId>) {
        for part in [now_ns, u64::from(cpu.0), next.map_or(0, |task| 1 + u64::from(task.0))] {
            self.value = (self.value ^ part).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn refused(&mut self) {
        self.refusals += 1;
    }
}

fn run(version: Version, cpus: u32, seed: u64, order: Order) -> (u64, u32) {
    let groups = if seed.is_multiple_of(2) { 0 } else { 4 };
    let workload =
        Mad { random: SplitMix64::new(seed), cpus, tasks: 4 + 3 * cpus, groups, forks_left: 20 };
    let mut config = Config::idealised(cpus, if seed.is_multiple_of(3) { 250 } else { 1000 });
    config.order = order;
    config.late_softirqs = seed % 4 == 1;
    let build = BuildConfig::flat(cpus, config.hz);
    let mut machine =
        Machine::new(config, Eevdf::new(version, &build), workload, Digest::default());
    machine.administer(|scheduler, platform| {
        for number in 0..groups {
            let parent = GroupId(if number == 3 { 2 } else { 0 });
            scheduler.group_new(platform, parent, 256 << number).unwrap();
        }
        if seed.is_multiple_of(5) {
            // Also checks the trees' smallest slices.
            let _ = scheduler.set_tunable(platform, "exact_min_slice", 1);
        }
    });
    for step in 1..=100 {
        machine.run_to(step * 3_000_000).unwrap();
        machine.scheduler().inspect().audit().unwrap_or_else(|wrong| {
            panic!("{version:?}, {cpus} CPUs, seed {seed}, {} ns: {wrong}", machine.now_ns())
        });
    }
    let (_, _, digest) = machine.into_parts();
    (digest.value, digest.refusals)
}

#[test]
fn the_books_add_up() {
    let mut refusals = 0;
    for version in [Version::V6_6, Version::V6_12, Version::V6_18] {
        for cpus in [1, 2, 5] {
            for seed in 0..12 {
                refusals += run(version, cpus, seed, Order::Golden).1;
                run(version, cpus, seed, Order::Shuffled(SplitMix64::new(seed)));
            }
        }
    }
    assert!(refusals > 0, "some deadline tasks are refused");
}

#[test]
fn runs_repeat_and_releases_differ() {
    let digests = [Version::V6_6, Version::V6_12, Version::V6_18]
        .map(|version| run(version, 2, 7, Order::Golden).0);
    assert_eq!(digests[2], run(Version::V6_18, 2, 7, Order::Golden).0);
    assert!(digests[0] != digests[1] && digests[1] != digests[2]);
}

/// Tasks that run forever.
struct Hogs(Vec<SchedAttr>);

impl Workload for Hogs {
    type Error = ();

    fn initial_tasks(&mut self) -> Vec<NewTask> {
        let task =
            |&sched| NewTask { attr: TaskAttr { sched, ..TaskAttr::default() }, start_ns: 0 };
        self.0.iter().map(task).collect()
    }

    fn next(&mut self, _: u64, _: TaskId, _: CpuId) -> Result<Op, ()> {
        Ok(Op::Run { ns: u64::MAX })
    }
}

/// Task, start and end of each run on one CPU.
#[derive(Default)]
struct Runs(Vec<(TaskId, u64, u64)>);

impl Observer for Runs {
    #[inline]
    fn on(&mut self, now_ns: u64, event: Event<'_>) {
        if let Event::Switched { prev, next, .. } = event {
            self.switched(now_ns, prev, next);
        }
    }
}

impl Runs {
    fn switched(&mut self, now_ns: u64, prev: Option<TaskId>, next: Option<TaskId>) {
        if prev.is_some()
            && let Some(last) = self.0.last_mut()
        {
            last.2 = now_ns;
        }
        if let Some(next) = next {
            self.0.push((next, now_ns, now_ns));
        }
    }
}

fn runs(version: Version, hogs: Vec<SchedAttr>, until_ms: u64) -> Vec<(u32, u64, u64)> {
    let build = BuildConfig::flat(1, 1000);
    let mut machine = Machine::new(
        Config::idealised(1, 1000),
        Eevdf::new(version, &build),
        Hogs(hogs),
        Runs::default(),
    );
    machine.run(until_ms * 1_000_000).unwrap();
    machine.scheduler().inspect().audit().unwrap();
    let runs = machine.into_parts().2.0;
    runs.iter().map(|&(task, from, to)| (task.0, from / 1_000_000, to / 1_000_000)).collect()
}

#[test]
fn the_fair_class_gets_a_twentieth_beside_a_real_time_hog() {
    let hogs = || vec![SchedAttr::realtime(Policy::Fifo, 10), SchedAttr::nice(0)];
    // The server is deferred: it runs in the last 50 ms of each second.
    let served = runs(Version::V6_18, hogs(), 3100);
    assert_eq!(
        served[..6],
        [
            (0, 0, 950),
            (1, 950, 1000),
            (0, 1000, 1950),
            (1, 1950, 2000),
            (0, 2000, 2950),
            (1, 2950, 3000)
        ]
    );
    // 6.6 throttles the real-time class when a tick finds that it has had more than 950 ms.
    let throttled = runs(Version::V6_6, hogs(), 2100);
    assert_eq!(throttled[..4], [(0, 0, 951), (1, 951, 1000), (0, 1000, 1950), (1, 1950, 2000)]);
}

#[test]
fn what_the_fair_class_runs_anyway_is_charged_to_its_server() {
    // A deadline task with 6 of 10 ms leaves enough time, so the server never competes.
    let deadline = SchedAttr {
        policy: Policy::Deadline,
        runtime_ns: 6_000_000,
        deadline_ns: 10_000_000,
        period_ns: 10_000_000,
        ..SchedAttr::default()
    };
    let runs = runs(Version::V6_18, vec![deadline, SchedAttr::nice(0)], 3000);
    let longest = runs.iter().filter(|run| run.0 == 1).map(|run| run.2 - run.1).max();
    assert_eq!(longest, Some(4));
}

/// Order of events in the nanoseconds in which a task is moved: whether its old CPU switched
/// before.
#[derive(Default)]
struct Moves {
    switched: Vec<(u64, CpuId)>,
    /// Number of moves after which, and before which, the old CPU switched in that nanosecond.
    before: u32,
    after: u32,
    moved: Vec<(u64, CpuId)>,
}

impl Observer for Moves {
    fn on(&mut self, now_ns: u64, event: Event<'_>) {
        match event {
            Event::Switched { cpu, .. } => {
                self.after += u32::from(self.moved.contains(&(now_ns, cpu)));
                self.moved.retain(|&(at_ns, _)| at_ns == now_ns);
                self.switched.retain(|&(at_ns, _)| at_ns == now_ns);
                self.switched.push((now_ns, cpu));
            }
            Event::Migrated { from, .. } => {
                self.before += u32::from(self.switched.contains(&(now_ns, from)));
                self.moved.push((now_ns, from));
            }
            _ => {}
        }
    }
}

#[test]
fn late_softirqs_balance_when_the_other_cpus_have_switched() {
    let moves = |late_softirqs| {
        let config = Config { late_softirqs, ..Config::idealised(2, 250) };
        let build = BuildConfig::flat(2, config.hz);
        let hogs = Hogs(vec![SchedAttr::nice(0); 5]);
        let eevdf = Eevdf::new(Version::V6_18, &build);
        let mut machine = Machine::new(config, eevdf, hogs, Moves::default());
        machine.run(20_000_000_000).unwrap();
        machine.scheduler().inspect().audit().unwrap();
        let moves = machine.into_parts().2;
        (moves.before, moves.after)
    };
    let (before, after) = moves(false);
    assert!(before == 0 && after > 0, "{before} {after}");
    let (before, after) = moves(true);
    // A source that balances in the same tick has not switched yet.
    assert!(before > 20 * after, "{before} {after}");
}
