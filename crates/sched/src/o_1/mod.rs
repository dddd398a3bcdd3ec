//! The O(1) scheduler: Linux 2.6.0 (December 2003) to 2.6.22 (July 2007).
//!
//! # The algorithm
//!
//! Every CPU has a runqueue of its own with two **priority arrays**, *active* and *expired*. An
//! array is 140 first-in-first-out lists, one a priority, and a bitmap of those that are not empty.
//! [`schedule`](Scheduler::schedule) finds the first set bit of the active array's bitmap and takes
//! the head of that list. A task that has used up its slice gets a new one and goes to the expired
//! array; when the active array is empty the two **swap**, and the next round begins. Nothing is
//! ever recomputed for all tasks, as the scheduler before had to.
//!
//! The nice value is only the middle of a task's priority. A **bonus** of 5 better to 5 worse comes
//! from an estimate, `sleep_avg`, of how much the task sleeps. One whose bonus is big enough is
//! *interactive*: at the end of its slice it goes back to the active array, unless those in expired
//! have been waiting too long. The running task stays in its list, so that the head of the best
//! list, whoever that is by then, is what each `schedule` picks.
//!
//! CPUs with too little to do take tasks from those with much, from their ticks and when they are
//! about to go idle.
//!
//! # Cost
//!
//! Wakeup, tick, pick, block: the same few steps for one task as for a hundred thousand. Balancing:
//! a look at all CPUs, and at worst at every task of the longest queue.
//!
//! # Where to read on
//!
//! | file | what |
//! |---|---|
//! | `prio_array` | the lists and the bitmap |
//! | `rules` | constants, and what follows from a nice value: slices, thresholds, weights |
//! | `estimator` | `sleep_avg`: who counts as interactive |
//! | `task`, `runqueue` | what is kept of a task and of a CPU |
//! | `schedule` | pick next, put previous |
//! | `tick` | the end of a slice: active or expired? |
//! | `wakeup` | where a woken task goes, and whether it preempts |
//! | `life` | fork, exit, yield, nice, policy |
//! | `migration_thread` | affinity |
//! | `loads` | how many tasks the CPUs have |
//! | `load_balance` | balancing as in 2.6.0, by number of tasks |
//! | `nodes` | 2.6.0: when other memory nodes are looked at |
//! | `moving` | which tasks move in 2.6.22, which balances by weight ([`crate::classes::load_balance_2_6_22`]) |
//!
//! # Releases
//!
//! 2.6.0, as it came; and 2.6.22, its last form: slices of 5 to 800 ms, a simpler estimator,
//! `SCHED_BATCH`, load weights, scheduling domains and active balancing. The releases between
//! changed one thing after another; their complete rules are not known well enough here to offer
//! them.

mod estimator;
mod fork_exit;
mod load_balance;
mod loads;
mod migration_thread;
mod move_tasks;
mod nodes;
mod prio_array;
mod releases;
mod runqueue;
mod schedule;
mod task;
#[cfg(test)]
mod tests;
mod tick;
mod wakeup;

pub use releases::Version;

use crate::classes::load_balance_2_6_22::Domains;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use load_balance::LoadHistory;
use loads::Loads;
use nodes::Nodes;
use releases::Rules;
use runqueue::Runqueue;
use schedlab_core::{
    BlockReason, BuildConfig, Capabilities, Command, ControlError, CpuId, CpuSet, Entry, Inspect,
    Load, Origin, Parent, Platform, Policy, Promises, Release, Reply, SchedAttr, Scheduler,
    TaskAttr, TaskId, Tunable, TunableError, Waker, tunables,
};
use task::{Pid, State, Tasks};

/// The default release. The others are described by what differs.
const DEFAULT: Release = Release {
    version: "2.6.0",
    also: &["2.6.0-test9"],
    summary: "slices of 10 to 200 ms, interactive credit, balancing by number of tasks",
    golden: &[("o_1", "2.6.0")],
    hz_default: 1000,
    hz_range: (100, 1024),
    cpus_max: schedlab_core::topology::CPUS_MAX,
    policies: &[Policy::Other, Policy::Fifo, Policy::RoundRobin],
    can: Capabilities::BASIC,
    kernel: None,
    build: |config| Box::new(O1::new(Version::V2_6_0, config)),
};

/// This scheduler in the registry.
pub static ENTRY: Entry = Entry {
    name: "o_1",
    title: "O(1) scheduler",
    summary: "two arrays of 140 lists a CPU; who sleeps much gets a better priority",
    origin: Origin::Linux,
    releases: &[
        DEFAULT,
        Release {
            version: "2.6.22",
            also: &[],
            summary: "the last form: slices of 5 to 800 ms, no credit, balancing by weight, SCHED_BATCH",
            golden: &[("o_1_2622", "2.6.22")],
            policies: &[Policy::Other, Policy::Batch, Policy::Fifo, Policy::RoundRobin],
            build: |config| Box::new(O1::new(Version::V2_6_22, config)),
            ..DEFAULT
        },
    ],
};

/// Linux 2.6.0 or 2.6.22.
#[derive(Clone, Debug)]
pub struct O1 {
    rules: Rules,
    cpus: u32,
    /// How many of them are on line.
    online: u32,
    tasks: Tasks,
    rqs: Vec<Runqueue>,
    loads: Loads,
    /// 2.6.0: the machine's memory nodes.
    nodes: Nodes,
    /// 2.6.0: by node, what each CPU saw when it last balanced with it.
    history: Vec<LoadHistory>,
    /// 2.6.0: by CPU, the length of its own queue when it last balanced with anybody.
    own_length: Vec<u32>,
    /// 2.6.22: the weights on the CPUs, and the domains.
    domains: Domains,
    /// 2.6.0: for how long a task's data stays in the cache after it ran, jiffies.
    cache_decay_ticks: u64,
    /// 2.6.22: the same, ns.
    cache_hot_time_ns: u64,
}

impl O1 {
    /// An idle machine.
    pub fn new(version: Version, config: &BuildConfig) -> O1 {
        let cpus = config.topology.cpus();
        let rows = cpus as usize;
        let nodes = Nodes::new(&config.topology);
        let node_of = config.topology.iter().map(|cpu| config.topology.place(cpu).node);
        O1 {
            rules: Rules::new(version, config.hz),
            cpus,
            online: cpus,
            tasks: Tasks::new(cpus),
            rqs: vec![Runqueue::new(); rows],
            loads: Loads::new(node_of.collect()),
            history: (0..nodes.count())
                .map(|node| LoadHistory::new(rows, nodes.cpus(node)))
                .collect(),
            own_length: vec![0; rows],
            nodes,
            domains: Domains::new(&config.topology, config.hz),
            cache_decay_ticks: 1,
            cache_hot_time_ns: 2_500_000,
        }
    }

    /// The interactivity estimate of `task`, ns.
    pub fn sleep_avg_ns(&self, task: TaskId) -> u64 {
        self.tasks[self.tasks.pid(task)].sleep_avg
    }

    /// The dynamic priority of `task`, 0 (best) to 139.
    pub fn prio(&self, task: TaskId) -> u8 {
        self.tasks[self.tasks.pid(task)].prio
    }

    /// What is left of the slice of `task`, jiffies.
    pub fn time_slice(&self, task: TaskId) -> u32 {
        self.tasks[self.tasks.pid(task)].time_slice
    }
}

impl Scheduler for O1 {
    fn fork(&mut self, platform: &mut Platform, task: TaskId, attr: &TaskAttr, parent: Parent) {
        platform.work.enqueues += 1;
        match parent {
            Parent::External => self.fork_from_outside(platform, task, attr),
            Parent::Task { task: parent, cpu } => {
                self.fork_by_parent(platform, task, attr, parent, cpu.0)
            }
        }
    }

    fn wake(&mut self, platform: &mut Platform, task: TaskId, waker: Waker) {
        self.try_to_wake_up(platform, self.tasks.pid(task), waker);
    }

    fn block(&mut self, _platform: &mut Platform, _cpu: CpuId, task: TaskId, reason: BlockReason) {
        // It stays queued, and counts as running, until `schedule()`.
        let p = self.tasks.pid(task);
        self.tasks[p].state = match reason {
            BlockReason::Interruptible | BlockReason::Stopped => State::Interruptible,
            BlockReason::Uninterruptible => State::Uninterruptible,
            BlockReason::Dead => State::Dead,
        };
    }

    #[inline]
    fn tick(&mut self, platform: &mut Platform, cpu: CpuId) {
        self.scheduler_tick(platform, cpu.0);
    }

    #[inline]
    fn schedule(&mut self, platform: &mut Platform, cpu: CpuId) -> Option<TaskId> {
        match self.schedule_cpu(platform, cpu.0) {
            Pid::NONE => None,
            next => Some(self.tasks.task_id(next)),
        }
    }

    fn yield_now(&mut self, platform: &mut Platform, cpu: CpuId, task: TaskId) {
        self.sched_yield(platform, cpu.0, self.tasks.pid(task));
    }

    fn set_attr(&mut self, platform: &mut Platform, task: TaskId, attr: &SchedAttr, _by: CpuId) {
        if self.tasks.is_alive(task) {
            self.set_attr_of(platform, self.tasks.pid(task), attr);
        }
    }

    fn set_affinity(&mut self, platform: &mut Platform, task: TaskId, allowed: &CpuSet) {
        if self.tasks.is_alive(task) {
            self.set_cpus_allowed(platform, task, allowed);
        }
    }

    fn kill(&mut self, _platform: &mut Platform, task: TaskId) {
        let p = self.tasks.pid(task);
        if self.tasks[p].is_queued() {
            self.deactivate_task(p);
        }
        self.tasks[p].state = State::Dead;
    }

    fn reap(&mut self, _platform: &mut Platform, task: TaskId, parent: Option<TaskId>) {
        if let Some(parent) = parent
            && self.tasks.is_alive(parent)
        {
            self.sched_exit(self.tasks.pid(task), self.tasks.pid(parent));
        }
    }

    fn cpu_of(&self, task: TaskId) -> CpuId {
        CpuId(self.tasks[self.tasks.pid(task)].cpu)
    }

    fn control(
        &mut self,
        platform: &mut Platform,
        command: Command<'_>,
    ) -> Result<Reply, ControlError> {
        match command {
            // (2.6.0 itself could only bring CPUs up, at boot; a few releases later they could be
            // taken down too. It gets what they had.)
            Command::CpuOffline(cpu) => {
                self.online -= 1;
                self.domains.cpu_offline(platform, cpu);
            }
            Command::CpuOnline(cpu) => {
                self.online += 1;
                self.domains.cpu_online(platform, cpu);
            }
            Command::SetTunable { name, value } => self.write_tunable(name, value)?,
            other => return Err(other.unsupported()),
        }
        Ok(Reply::Done)
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}

impl Inspect for O1 {
    fn tunables(&self) -> Vec<Tunable> {
        let cache = match self.rules.version {
            Version::V2_6_0 => Tunable {
                name: "cache_decay_ticks",
                value: self.cache_decay_ticks as i64,
                range: (0, 1_000_000),
                help: "a busy CPU takes no task that ran within this many jiffies (the kernel reckons it from the cache size)",
            },
            Version::V2_6_22 => Tunable {
                name: "cache_hot_time_ns",
                value: self.cache_hot_time_ns as i64,
                range: (0, 1_000_000_000_000),
                help: "no CPU takes a task that ran within this time, until it has failed twice (the kernel measures it at boot)",
            },
        };
        let bits = Tunable {
            name: "bits_per_long",
            value: if self.rules.long_max == u64::MAX { 64 } else { 32 },
            range: (32, 64),
            help: "32: the arithmetic of a 32-bit kernel (i386), in which the estimator's sums wrap; or 64",
        };
        vec![cache, bits]
    }

    /// Little: see the fields' comments.
    fn promises(&self, load: &Load) -> Promises {
        // A hog loses its interactive status for good once it has used up its estimate, 1 ns a ns
        // in 2.6.0, down to 1/10 of that in 2.6.22. After that each round gives each hog one slice.
        let slice = self.rules.slice_at_nice(load.nice_min);
        let privilege = if !self.rules.can_be_interactive(load.nice_min) {
            0
        } else {
            match self.rules.version {
                Version::V2_6_0 => self.rules.ns_max_sleep_avg,
                Version::V2_6_22 => self.rules.ns_max_sleep_avg * u64::from(releases::MAX_BONUS),
            }
        };
        Promises {
            // An idle CPU looks only at the longest queue (2.6.0), or not at loads too small to
            // reckon with (2.6.22): if affinity forbids what is there it may idle for ever.
            idle_beside_waiting_ns: (load.cpus == 1).then_some(0),
            // Whoever wakes or is born goes to the active array, starvation limit or not. If that
            // goes on without end, those in expired wait without end.
            wait_ns: (load.tasks <= 1).then_some(0),
            hog_spread_ns: Some(privilege + 2 * slice),
            real_time_first: true,
        }
    }

    fn describe_domains(&self) -> Option<String> {
        (self.rules.version == Version::V2_6_22).then(|| self.domains.describe())
    }

    fn audit(&self) -> Result<(), String> {
        for cpu in 0..self.cpus as usize {
            self.audit_queue(cpu)?;
        }
        let queued: u32 = self.loads.all_running().iter().sum();
        let rows = (0..self.tasks.len() as u32).map(Pid);
        let marked = rows.filter(|&p| self.tasks[p].is_queued()).count();
        if marked != queued as usize {
            return Err(alloc::format!("{marked} tasks think that they are queued, {queued} are"));
        }
        self.loads.audit()?;
        self.domains.audit()?;
        for number in 0..self.tasks.len() as u32 {
            let task = &self.tasks[Pid(number)];
            if task.sleep_avg > self.rules.ns_max_sleep_avg || task.interactive_credit.abs() > 101 {
                return Err(alloc::format!("row {number} is out of bounds: {task:?}"));
            }
            if task.state == State::Running && !task.is_queued() {
                return Err(alloc::format!("row {number} is runnable and on no queue: {task:?}"));
            }
        }
        Ok(())
    }
}

impl O1 {
    /// Writes a tunable. They are settings of the kernel's build and boot: they can be set until the
    /// first task starts.
    fn write_tunable(&mut self, name: &str, value: i64) -> Result<(), TunableError> {
        tunables::check(&self.tunables(), name, value)?;
        if self.tasks.len() > self.cpus as usize {
            return Err(TunableError::Refused("fixed at boot: set it before tasks start".into()));
        }
        match (name, value) {
            ("cache_decay_ticks", ticks) => self.cache_decay_ticks = ticks as u64,
            ("cache_hot_time_ns", ns) => self.cache_hot_time_ns = ns as u64,
            ("bits_per_long", 32) => self.rules.long_max = u64::from(u32::MAX),
            ("bits_per_long", 64) => self.rules.long_max = u64::MAX,
            _ => return Err(TunableError::Refused("a long has 32 or 64 bits".into())),
        }
        Ok(())
    }
}
