//! The O(1) scheduler: Linux 2.6.0 (December 2003) to 2.6.22 (July 2007).
//!
//! # The algorithm
//!
//! Every CPU has a runqueue with two **priority arrays**, *active* and *expired*. An array consists
//! of 140 first-in-first-out lists, one for each priority, and a bitmap of the lists that are not
//! empty. [`schedule`](Scheduler::schedule) finds the first set bit in the active array's bitmap
//! and takes the head of that list. A task that has used up its slice gets a new one and moves to
//! the expired array. When the active array is empty the two **swap**, and the next round begins.
//! Nothing is ever recomputed for all tasks at once. The predecessor ([`o_n`](crate::o_n)) had to
//! do that whenever an epoch ended.
//!
//! The nice value is only the centre of a task's priority. A **bonus** from 5 better to 5 worse
//! comes from `sleep_avg`, an estimate of how much the task sleeps. A task whose bonus is large
//! enough is *interactive*: at the end of its slice it returns to the active array, unless the
//! tasks in the expired array have been waiting too long. The running task stays in its list, so
//! each `schedule` picks the task that is then at the head of the best list.
//!
//! CPUs with too few tasks pull from CPUs with many, at their ticks and when they are about to go
//! idle.
//!
//! # Cost
//!
//! Wakeup, tick, pick and block take the same few steps for one task as for a hundred thousand.
//! Balancing looks at all CPUs, and at worst at every task of the longest queue.
//!
//! # Where to read on
//!
//! | file | subject |
//! |---|---|
//! | `prio_array` | the lists and the bitmap |
//! | `prio` | the scale of priorities |
//! | `params` | constants, and values derived from nice: slices, thresholds, weights |
//! | `estimator` | `sleep_avg`: which tasks count as interactive |
//! | `task`, `runqueue` | state of a task and of a CPU |
//! | `schedule` | pick next, put previous |
//! | `tick` | the end of a slice: active or expired? |
//! | `wakeup` | where a woken task goes, and whether it preempts |
//! | `fork_exit` | fork, exit, yield, nice, policy |
//! | `migration_thread` | affinity |
//! | `loads` | number of tasks on each CPU |
//! | `load_balance` | 2.6.0: balancing by number of tasks |
//! | `nodes` | 2.6.0: when other memory nodes are considered |
//! | `move_tasks` | 2.6.22: which tasks move, on behalf of [`load_balance_2_6_22`] |
//! | `releases` | a name for each difference between the releases |
//! | `rules` | the decision rules, by number |
//! | `audit` | consistency checks |
//!
//! [`load_balance_2_6_22`]: crate::classes::load_balance_2_6_22
//!
//! # Releases
//!
//! There are two releases: 2.6.0, the original form, and 2.6.22, the last one, with slices of 5 to
//! 800 ms, a simpler estimator, `SCHED_BATCH`, load weights, scheduling domains and active
//! balancing. The releases between changed one thing after another. They are not offered because
//! their complete rules are not known well enough.

mod audit;
mod estimator;
mod fork_exit;
mod load_balance;
mod loads;
mod migration_thread;
mod move_tasks;
mod nodes;
mod params;
mod prio;
mod prio_array;
mod releases;
mod rules;
mod runqueue;
mod schedule;
mod task;
#[cfg(test)]
mod tests;
mod tick;
mod wakeup;

pub use releases::{Balancing, ENTRY, Estimator, ExitRule, Slices, Version, WakeCpu};

use crate::classes::load_balance_2_6_22::{self, Domains};
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use load_balance::LoadHistory;
use loads::{Loads, NodeId};
use nodes::Nodes;
use params::Params;
use runqueue::Runqueue;
use schedlab_core::index::IndexVec;
use schedlab_core::{
    BlockReason, BuildConfig, Candidate, Command, ControlError, CpuId, CpuSet, Inspect, Load,
    Parent, Platform, Promises, Reply, RuleDoc, SchedAttr, Scheduler, TaskAttr, TaskId, Tunable,
    TunableError, Waker, tunables,
};
use task::{State, Tasks};

/// Linux 2.6.0 or 2.6.22.
#[derive(Debug)]
pub struct O1 {
    params: Params,
    cpus: u32,
    /// Number of CPUs that are online.
    online: u32,
    tasks: Tasks,
    rqs: Vec<Runqueue>,
    loads: Loads,
    /// 2.6.0: the machine's memory nodes.
    nodes: Nodes,
    /// 2.6.0: queue lengths that each CPU saw in the node when it last balanced with it.
    history: IndexVec<NodeId, LoadHistory>,
    /// 2.6.0: by CPU, the length of its own queue when it last balanced.
    own_length: Vec<u32>,
    /// 2.6.22: the weights on the CPUs, and the domains.
    domains: Domains,
    /// 2.6.0: time for which a task's data stays in the cache after it ran, jiffies.
    cache_decay_ticks: u64,
    /// 2.6.22: the same time, ns.
    cache_hot_time_ns: u64,
}

impl O1 {
    /// Creates the scheduler on an idle machine.
    pub fn new(version: Version, config: &BuildConfig) -> O1 {
        let cpus = config.topology.cpus();
        let rows = cpus as usize;
        let nodes = Nodes::new(&config.topology);
        O1 {
            params: Params::new(version, config.hz),
            cpus,
            online: cpus,
            tasks: Tasks::new(cpus),
            rqs: vec![Runqueue::new(); rows],
            loads: Loads::new(nodes.by_cpu().to_vec()),
            history: nodes.iter().map(|node| LoadHistory::new(cpus, nodes.cpus(node))).collect(),
            own_length: vec![0; rows],
            nodes,
            domains: Domains::new(&config.topology, config.hz),
            cache_decay_ticks: 1,
            cache_hot_time_ns: 2_500_000,
        }
    }

    /// Returns the interactivity estimate of `task`, ns.
    pub fn sleep_avg_ns(&self, task: TaskId) -> u64 {
        self.tasks[task].sleep_avg
    }

    /// Returns the dynamic priority of `task`, 0 (best) to 139.
    pub fn prio(&self, task: TaskId) -> u8 {
        self.tasks[task].prio
    }

    /// Returns the rest of the slice of `task`, jiffies.
    pub fn time_slice(&self, task: TaskId) -> u32 {
        self.tasks[task].time_slice
    }
}

impl Scheduler for O1 {
    fn fork(&mut self, platform: &mut Platform, task: TaskId, attr: &TaskAttr, parent: Parent) {
        platform.work.enqueues += 1;
        match parent {
            Parent::External => self.fork_from_outside(platform, task, attr),
            Parent::Task { task: parent, cpu } => {
                self.fork_by_parent(platform, task, attr, parent, cpu)
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
            BlockReason::Interruptible | BlockReason::Futex | BlockReason::Stopped => {
                State::Interruptible
            }
            BlockReason::Uninterruptible => State::Uninterruptible,
            BlockReason::Dead => State::Dead,
        };
    }

    #[inline]
    fn tick(&mut self, platform: &mut Platform, cpu: CpuId) {
        self.scheduler_tick(platform, cpu);
    }

    #[inline]
    fn schedule(&mut self, platform: &mut Platform, cpu: CpuId) -> Option<TaskId> {
        self.schedule_cpu(platform, cpu).map(|next| self.tasks.task_id(next))
    }

    fn yield_now(&mut self, platform: &mut Platform, cpu: CpuId, task: TaskId) {
        self.sched_yield(platform, cpu, self.tasks.pid(task));
    }

    fn set_attr(&mut self, platform: &mut Platform, task: TaskId, attr: &SchedAttr, _by: CpuId) {
        if self.tasks.is_alive(task) {
            self.set_attr_of(platform, self.tasks.pid(task), attr);
        }
    }

    fn set_same_attr(&mut self, platform: &mut Platform, task: TaskId, _by: CpuId) {
        if self.tasks.is_alive(task) {
            let p = self.tasks.pid(task);
            let task = &self.tasks[p];
            let attr = SchedAttr {
                policy: task.policy,
                rt_priority: task.rt_priority.into(),
                ..SchedAttr::default()
            };
            self.setscheduler(platform, p, &attr);
        }
    }

    fn exec(&mut self, platform: &mut Platform, cpu: CpuId, task: TaskId) {
        self.sched_exec(platform, cpu, task);
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
        self.tasks[task].cpu
    }

    fn control(
        &mut self,
        platform: &mut Platform,
        command: Command<'_>,
    ) -> Result<Reply, ControlError> {
        match command {
            // (2.6.0 itself could only bring CPUs up, at boot. A few releases later they could also
            // be taken down. Here 2.6.0 does what those releases did.)
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
        let cache = match self.params.version.balancing {
            Balancing::ByNumber => Tunable {
                name: "cache_decay_ticks".into(),
                value: self.cache_decay_ticks as i64,
                range: (0, 1_000_000),
                help: "a busy CPU takes no task that ran within this number of jiffies (the kernel \
                       derives it from the cache size)",
            },
            Balancing::ByWeight => Tunable {
                name: "cache_hot_time_ns".into(),
                value: self.cache_hot_time_ns as i64,
                range: (0, 1_000_000_000_000),
                help: "no CPU takes a task that ran within this time, until balancing has failed \
                    twice (the kernel measures it at boot)",
            },
        };
        let bits = Tunable {
            name: "bits_per_long".into(),
            value: if self.params.long_max == u64::MAX { 64 } else { 32 },
            range: (32, 64),
            help: "32: the arithmetic of a 32-bit kernel (i386), in which the estimator's sums \
                   wrap; or 64",
        };
        vec![cache, bits]
    }

    /// Returns few guarantees: see the fields' comments.
    fn promises(&self, load: &Load) -> Promises {
        // A CPU-bound task permanently loses its interactive status once it has used up its
        // estimate, at 1 ns per ns in 2.6.0, and down to 1/10 of that in 2.6.22. After that each
        // round gives each CPU-bound task one slice.
        let slice = self.params.slice_at_nice(load.nice_min);
        let privilege = if !self.params.can_be_interactive(load.nice_min) {
            0
        } else {
            match self.params.version.estimator {
                Estimator::InteractiveCredit => self.params.ns_max_sleep_avg,
                Estimator::DividedCost => {
                    self.params.ns_max_sleep_avg * u64::from(params::MAX_BONUS)
                }
            }
        };
        Promises {
            // An idle CPU looks only at the longest queue (2.6.0), or ignores loads that are too
            // small (2.6.22). If affinity forbids it all tasks there, it may stay idle
            // indefinitely.
            idle_beside_waiting_ns: (load.cpus == 1).then_some(0),
            // Woken and new tasks go to the active array, whatever the starvation limit. If they
            // keep coming, the tasks in expired wait indefinitely.
            wait_ns: (load.tasks <= 1).then_some(0),
            hog_spread_ns: Some(privilege + 2 * slice),
            real_time_first: true,
        }
    }

    fn rules(&self) -> Vec<&'static RuleDoc> {
        let balancing = match self.params.version.balancing {
            Balancing::ByNumber => &[],
            Balancing::ByWeight => load_balance_2_6_22::rules::RULES,
        };
        rules::RULES.iter().chain(balancing).collect()
    }

    fn candidates(&self, cpu: CpuId, out: &mut Vec<Candidate>) {
        self.list_candidates(cpu, out);
    }

    fn describe_domains(&self) -> Option<String> {
        (self.params.version.balancing == Balancing::ByWeight).then(|| self.domains.describe())
    }

    fn audit(&self) -> Result<(), String> {
        self.audit_all()
    }
}

impl O1 {
    /// Writes a tunable. The tunables are settings of the kernel's build and boot, so they can be
    /// set only until the first task starts.
    fn write_tunable(&mut self, name: &str, value: i64) -> Result<(), TunableError> {
        tunables::check(&self.tunables(), name, value)?;
        if !self.tasks.is_empty() {
            return Err(TunableError::Refused("fixed at boot: set it before tasks start".into()));
        }
        match (name, value) {
            ("cache_decay_ticks", ticks) => self.cache_decay_ticks = ticks as u64,
            ("cache_hot_time_ns", ns) => self.cache_hot_time_ns = ns as u64,
            ("bits_per_long", 32) => self.params.long_max = u64::from(u32::MAX),
            ("bits_per_long", 64) => self.params.long_max = u64::MAX,
            _ => return Err(TunableError::Refused("a long has 32 or 64 bits".into())),
        }
        Ok(())
    }
}
