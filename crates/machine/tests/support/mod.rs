//! Small workloads for tests of changes to a running machine.
#![allow(dead_code)]

use schedlab_core::{
    BlockReason, BuildConfig, CpuId, CpuSet, Event, Release, SchedAttr, Scheduler, TaskAttr, TaskId,
};
use schedlab_machine::{Config, Machine, NewTask, Observer, Op, SplitMix64, TaskState, Workload};
use std::convert::Infallible;

pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1_000 * MS;

/// Behaviour of a task, repeated forever.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Habit {
    /// Computes.
    Hog,
    /// Computes, then sleeps, for the given times (ns), interruptibly or not.
    Sleeper(u64, u64, BlockReason),
    /// Computes for a random time, then sleeps, yields, wakes another task, forks, or computes on.
    Restless,
    /// Computes for this many ns and ends.
    Job(u64),
}

/// A few tasks with their habits.
#[derive(Clone, Debug)]
pub struct World {
    pub tasks: Vec<(SchedAttr, CpuSet, Habit)>,
    initial: usize,
    computed: Vec<bool>,
    random: SplitMix64,
    pub killed: Vec<TaskId>,
    /// Start times of the first tasks. The others start at 0.
    pub starts_ns: Vec<u64>,
}

impl World {
    pub fn new(tasks: Vec<(SchedAttr, CpuSet, Habit)>) -> World {
        World {
            initial: tasks.len(),
            computed: vec![false; tasks.len()],
            tasks,
            random: SplitMix64::new(7),
            killed: Vec::new(),
            starts_ns: Vec::new(),
        }
    }

    pub fn hogs(count: usize) -> World {
        World::new(vec![(SchedAttr::nice(0), CpuSet::All, Habit::Hog); count])
    }
}

impl Workload for World {
    type Error = Infallible;

    fn initial_tasks(&mut self) -> Vec<NewTask> {
        let tasks = self.tasks[..self.initial].iter().enumerate();
        tasks
            .map(|(number, (sched, allowed, _))| NewTask {
                attr: TaskAttr { sched: *sched, allowed: allowed.clone(), ..TaskAttr::default() },
                start_ns: self.starts_ns.get(number).copied().unwrap_or(0),
            })
            .collect()
    }

    fn next(&mut self, now_ns: u64, task: TaskId, _cpu: CpuId) -> Result<Op, Infallible> {
        assert!(!self.killed.contains(&task), "{task:?} is dead");
        let number = task.index();
        let computes = !self.computed[number];
        self.computed[number] = computes;
        Ok(match self.tasks[number].2 {
            Habit::Hog => Op::Run { ns: u64::MAX },
            Habit::Sleeper(run_ns, ..) if computes => Op::Run { ns: run_ns },
            Habit::Sleeper(_, sleep_ns, reason) => {
                Op::Sleep { until_ns: now_ns + sleep_ns, reason }
            }
            Habit::Job(ns) if computes => Op::Run { ns },
            Habit::Job(_) => Op::Exit,
            Habit::Restless if computes => Op::Run { ns: 1 + self.random.below(8 * MS) },
            Habit::Restless => match self.random.below(8) {
                0 => Op::Yield,
                1 => Op::Wake {
                    task: TaskId(self.random.below(self.tasks.len() as u64) as u32),
                    sync: self.random.below(2) == 0,
                },
                2 if self.tasks.len() < 60 => {
                    let allowed = self.tasks[number].1.clone();
                    let job = Habit::Job(1 + self.random.below(20 * MS));
                    self.tasks.push((SchedAttr::nice(0), allowed.clone(), job));
                    self.computed.push(false);
                    Op::Fork {
                        attr: Box::new(TaskAttr { allowed, ..TaskAttr::default() }),
                        inherits: false,
                        delay_ns: 0,
                    }
                }
                choice => Op::Sleep {
                    until_ns: now_ns + 1 + self.random.below(10 * MS),
                    reason: if choice == 3 {
                        BlockReason::Uninterruptible
                    } else {
                        BlockReason::Interruptible
                    },
                },
            },
        })
    }

    fn killed(&mut self, _now_ns: u64, task: TaskId) {
        self.killed.push(task);
    }
}

/// Records the CPU time of tasks, and checks that offline CPUs run nothing.
#[derive(Clone, Debug, Default)]
pub struct Books {
    pub ran_ns: Vec<u64>,
    pub busy_ns: Vec<u64>,
    pub current: Vec<Option<(TaskId, u64)>>,
    pub offline: Vec<bool>,
    /// All switches: time, CPU, next task.
    pub switches: Vec<(u64, u32, Option<u32>)>,
    pub ends: Vec<(u64, u32)>,
}

impl Books {
    pub fn new(cpus: u32) -> Books {
        Books {
            busy_ns: vec![0; cpus as usize],
            current: vec![None; cpus as usize],
            offline: vec![false; cpus as usize],
            ..Books::default()
        }
    }

    /// Returns the CPU time of `task` up to `now_ns`.
    pub fn ran(&self, task: u32, now_ns: u64) -> u64 {
        let now = self.current.iter().flatten();
        let now = now.filter(|(on, _)| on.0 == task).map(|(_, since)| now_ns - since);
        self.ran_ns.get(task as usize).copied().unwrap_or(0) + now.sum::<u64>()
    }

    /// Returns the time for which `cpu` was busy up to `now_ns`.
    pub fn busy(&self, cpu: u32, now_ns: u64) -> u64 {
        let now = self.current[cpu as usize].map_or(0, |(_, since)| now_ns - since);
        self.busy_ns[cpu as usize] + now
    }

    /// Returns the CPU time of all tasks up to `now_ns`.
    pub fn all_ran(&self, now_ns: u64) -> u64 {
        let now = self.current.iter().flatten();
        self.ran_ns.iter().sum::<u64>() + now.map(|(_, since)| now_ns - since).sum::<u64>()
    }
}

impl Observer for Books {
    #[inline]
    fn on(&mut self, now_ns: u64, event: Event<'_>) {
        match event {
            Event::Switched { cpu, prev, next, .. } => self.switched(now_ns, cpu, prev, next),
            Event::Ticked { cpu } => self.ticked(cpu),
            Event::Blocked { task, reason, .. } => self.blocked(now_ns, task, reason),
            Event::Killed { task } => self.killed(now_ns, task),
            _ => {}
        }
    }
}

impl Books {
    fn switched(&mut self, now_ns: u64, cpu: CpuId, prev: Option<TaskId>, next: Option<TaskId>) {
        assert!(
            !self.offline[cpu.index()] || next.is_none(),
            "{next:?} runs on {cpu:?}, which is offline"
        );
        let was = self.current[cpu.index()].take();
        assert_eq!(was.map(|(task, _)| task), prev);
        if let Some((task, since)) = was {
            if self.ran_ns.len() <= task.index() {
                self.ran_ns.resize(task.index() + 1, 0);
            }
            self.ran_ns[task.index()] += now_ns - since;
            self.busy_ns[cpu.index()] += now_ns - since;
        }
        let on_another =
            |next: TaskId| self.current.iter().flatten().any(|&(task, _)| task == next);
        assert!(next.is_none_or(|next| !on_another(next)), "{next:?} runs twice");
        self.current[cpu.index()] = next.map(|next| (next, now_ns));
        self.switches.push((now_ns, cpu.0, next.map(|next| next.0)));
    }

    fn ticked(&mut self, cpu: CpuId) {
        assert!(!self.offline[cpu.index()], "{cpu:?} ticks although it is offline");
    }

    fn blocked(&mut self, now_ns: u64, task: TaskId, reason: BlockReason) {
        if reason == BlockReason::Dead {
            self.ends.push((now_ns, task.0));
        }
    }

    fn killed(&mut self, now_ns: u64, task: TaskId) {
        self.ends.push((now_ns, task.0));
    }
}

/// Scheduler of any release.
pub type Boxed = Box<dyn Scheduler>;

/// Machine of these tests.
pub type Running = Machine<Boxed, World, Books>;

pub fn machine(release: &Release, cpus: u32, world: World) -> Running {
    let build = BuildConfig::flat(cpus, release.hz_default);
    let scheduler: Boxed = release.build(&build).expect("the release can be built");
    let config = Config::idealised(cpus, release.hz_default);
    Machine::new(config, scheduler, world, Books::new(cpus))
}

/// Checks that no task is lost: the scheduler knows all runnable tasks, and its state is
/// consistent.
pub fn audit(machine: &Running, name: &str) {
    if let Err(wrong) = machine.scheduler().inspect().audit() {
        panic!("{name} at {}: {wrong}", machine.now_ns());
    }
    for cpu in (0..machine.observer().offline.len()).map(|cpu| CpuId(cpu as u32)) {
        assert!(machine.is_online(cpu) || machine.current(cpu).is_none());
    }
    // With one queue for the whole machine, a task waits on no particular CPU.
    let queues = ["o_1@", "rsdl@", "sd@", "cfs@", "eevdf@"].iter().any(|own| name.starts_with(own));
    for task in (0..machine.task_count() as u32).filter(|_| queues) {
        let cpu = machine.scheduler().cpu_of(TaskId(task));
        let runnable = machine.task_state(TaskId(task)) == TaskState::Running;
        assert!(
            !runnable || machine.is_online(cpu),
            "{name}: task {task} waits on {cpu:?}, which is offline"
        );
    }
}
