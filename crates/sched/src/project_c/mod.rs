//! Project C: BMQ and PDS, two policies of one alternative core. Alfred Chen's out-of-tree
//! scheduler, v6.18-r1 (for 6.18).
//!
//! # The algorithm
//!
//! The core replaces the kernel's classes: there is no fair class, no load tracking, no groups, no
//! scheduling domains. Each CPU has a queue of 64 **levels**, a list for each, and runs the first
//! task of the best level that has one. Real-time priorities have the levels 0 to 31, four a level;
//! ordinary tasks have 32 to 63. Every task has a **slice** of 4 ms, whatever its nice value. When
//! it is used up, the task goes to the tail of its level.
//!
//! The **policy** computes the level of an ordinary task:
//!
//! ```text
//! BMQ   32 + (32 + nice + boost) / 2    # a used-up slice: boost + 1; each sleep: boost - 1
//! PDS   32 + slots until its deadline   # 12 to 31 slots of 8.4 ms when the slice is filled
//! ```
//!
//! CPUs do not compare loads. A waking task goes to the nearest idle CPU, or to the nearest where
//! it would preempt, and does not prefer the one on which it ran last. A CPU that is about to idle
//! takes tasks of the nearest CPU that has several. A CPU whose tasks have waited for two slices
//! offers them to CPUs on which they would preempt. All of that works with masks of CPUs.
//!
//! # Cost
//!
//! A pick, a wakeup and a tick are O(1) apart from operations on masks. A wakeup that finds no
//! idle CPU may look at the levels of all CPUs.
//!
//! # Where to look
//!
//! `ranking.rs`: what the policies decide. `bmq.rs` and `pds.rs`: the policies. `schedule.rs`:
//! slices, the pick, ticks. `run_queue.rs`: the queue of a CPU. `rq.rs`: the effects of each change
//! of a queue. `select_task_rq.rs`: the CPU of a waking task. `masks.rs`: idle CPUs, and CPUs on
//! which a task would preempt. `balance.rs`: moves. `cpu_levels.rs`: distances between CPUs.
//! `syscalls.rs`: starts, forks, yields, nice and policy. `rules.rs`: the rules, by number.
//! `releases.rs`: the releases.
//!
//! # Not included
//!
//! Hybrid machines (boot option `pcore_cpus`).

mod audit;
mod balance;
mod bmq;
mod cpu_levels;
mod entity;
mod masks;
mod pds;
mod ranking;
mod releases;
mod rq;
mod rules;
mod run_queue;
mod schedule;
mod select_task_rq;
mod syscalls;

#[cfg(test)]
mod tests;

use self::cpu_levels::CpuLevels;
use self::entity::{Entities, Node, SLICE_NS};
use self::masks::{CpuMask, Masks};
use self::ranking::Ranking;
pub use self::releases::{BMQ, PDS};
use self::run_queue::{LEVELS, RunQueue};
use alloc::string::String;
use alloc::vec::Vec;
use core::marker::PhantomData;
use schedlab_core::{
    BlockReason, BuildConfig, Candidate, Command, ControlError, CpuId, CpuSet, Inspect, Load,
    Parent, Platform, Promises, Question, Reply, RuleDoc, SchedAttr, Scheduler, TaskAttr, TaskId,
    TimerKey, Tunable, TunableError, Waker, tunables,
};

/// State of a CPU. Its level is in the masks.
#[derive(Clone, Debug)]
struct Cpu {
    /// The running task, which is queued. `None`: the idle task.
    curr: Option<Node>,
    queue: RunQueue,
    /// `nr_running`: number of queued tasks, the running one included.
    nr_running: u32,
    /// `rq->clock`, ns.
    clock: u64,
    /// `time_edge` of PDS: the slot to which the clock belongs.
    time_edge: u64,
    /// `prio_balance_time`: since when several tasks have been queued, or since the last balance of
    /// priorities, ns. 0: there is at most one.
    balance_stamp: u64,
    /// Whether the slice timer is set.
    hrtick: bool,
    /// The task that the stopper is to move to an idle core.
    leaving: Option<Node>,
    /// Whether the stopper is to move tasks that may no longer run here.
    banishes: bool,
}

impl Cpu {
    const IDLE: Cpu = Cpu {
        curr: None,
        queue: RunQueue::new(),
        nr_running: 0,
        clock: 0,
        time_edge: 0,
        balance_stamp: 0,
        hrtick: false,
        leaving: None,
        banishes: false,
    };
}

/// The core, with one of the policies.
#[derive(Debug)]
struct ProjectC<R> {
    entities: Entities,
    cpus: Vec<Cpu>,
    masks: Masks,
    levels: CpuLevels,
    online: CpuMask,
    /// CPUs to which a balance of priorities may still move tasks.
    available: CpuMask,
    /// `/proc/sys/kernel/yield_type`.
    yield_type: i64,
    ranking: PhantomData<R>,
}

impl<R: Ranking> ProjectC<R> {
    /// The scheduler on an idle machine.
    fn new(config: &BuildConfig) -> ProjectC<R> {
        let cpus = config.topology.cpus();
        ProjectC {
            entities: Entities::new(cpus),
            cpus: alloc::vec![Cpu::IDLE; cpus as usize],
            masks: Masks::new(&config.topology),
            levels: CpuLevels::new(&config.topology),
            online: CpuMask::all(cpus),
            available: CpuMask::none(cpus),
            yield_type: 1,
            ranking: PhantomData,
        }
    }

    /// Writes a tunable. `start_fork` is a setting of golden schedules: tasks without a parent
    /// start as the kernel starts children, which is the only way here.
    fn write_tunable(&mut self, name: &str, value: i64) -> Result<(), TunableError> {
        if (name, value) == ("start_fork", 1) {
            return Ok(());
        }
        tunables::check(&self.tunables(), name, value)?;
        self.yield_type = value;
        Ok(())
    }
}

impl<R: Ranking> Scheduler for ProjectC<R> {
    fn fork(&mut self, platform: &mut Platform, task: TaskId, attr: &TaskAttr, parent: Parent) {
        self.start(platform, task, attr, parent);
    }

    fn wake(&mut self, platform: &mut Platform, task: TaskId, _waker: Waker) {
        let node = self.entities.node(task);
        self.entities[node].blocked = false;
        if self.entities[node].queued {
            let cpu = self.entities[node].cpu;
            self.update_clock(platform, cpu);
            platform.by_rule(Question::Preempt, cpu, rules::STILL_CURRENT);
        } else {
            self.wake_up(platform, node);
        }
    }

    fn block(&mut self, _platform: &mut Platform, _cpu: CpuId, task: TaskId, _reason: BlockReason) {
        // It stays queued until its CPU reschedules.
        let node = self.entities.node(task);
        self.entities[node].blocked = true;
    }

    fn kill(&mut self, platform: &mut Platform, task: TaskId) {
        let node = self.entities.node(task);
        if self.entities[node].queued {
            self.dequeue(platform, node);
        }
    }

    fn schedule(&mut self, platform: &mut Platform, cpu: CpuId) -> Option<TaskId> {
        self.reschedule(platform, cpu)
    }

    fn cpu_of(&self, task: TaskId) -> CpuId {
        self.entities[self.entities.node(task)].cpu
    }

    fn tick(&mut self, platform: &mut Platform, cpu: CpuId) {
        self.charge_tick(platform, cpu);
    }

    fn timer(&mut self, platform: &mut Platform, key: TimerKey) {
        self.cpus[key.0 as usize].hrtick = false;
        platform.resched(CpuId(key.0));
    }

    fn yield_now(&mut self, platform: &mut Platform, cpu: CpuId, task: TaskId) {
        let node = self.entities.node(task);
        self.yield_to_others(platform, cpu, node);
    }

    fn set_attr(&mut self, platform: &mut Platform, task: TaskId, attr: &SchedAttr, _by: CpuId) {
        let node = self.entities.node(task);
        self.change_attr(platform, node, attr);
    }

    fn set_affinity(&mut self, platform: &mut Platform, task: TaskId, allowed: &CpuSet) {
        let node = self.entities.node(task);
        self.entities[node].allowed = allowed.clone();
        self.leave_forbidden(platform, node);
    }

    fn control(
        &mut self,
        _platform: &mut Platform,
        command: Command<'_>,
    ) -> Result<Reply, ControlError> {
        match command {
            // The affinity of tasks keeps them off a CPU that is offline.
            Command::CpuOffline(cpu) => self.online.set(cpu, false),
            Command::CpuOnline(cpu) => self.online.set(cpu, true),
            Command::SetTunable { name, value } => self.write_tunable(name, value)?,
            other => return Err(other.unsupported()),
        }
        Ok(Reply::Done)
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}

impl<R: Ranking> Inspect for ProjectC<R> {
    fn tunables(&self) -> Vec<Tunable> {
        alloc::vec![Tunable {
            name: "yield_type".into(),
            value: self.yield_type,
            range: (0, 1),
            help: "1: sched_yield makes way for others; 0: it does nothing",
        }]
    }

    fn rules(&self) -> Vec<&'static RuleDoc> {
        rules::RULES.iter().collect()
    }

    fn candidates(&self, cpu: CpuId, out: &mut Vec<Candidate>) {
        self.list_candidates(cpu, out);
    }

    fn promises(&self, load: &Load) -> Promises {
        let alone = self.cpus.len() == 1;
        Promises {
            // A CPU looks for tasks only when it is about to idle, and passes over every second
            // one.
            idle_beside_waiting_ns: alone.then_some(0),
            // Tasks of better levels may keep others waiting indefinitely.
            wait_ns: None,
            // Equal hogs take turns, slice by slice; their boosts keep step.
            hog_spread_ns: (alone && load.nice_min == load.nice_max).then_some(3 * SLICE_NS as u64),
            // Four real-time priorities share a level.
            real_time_first: false,
        }
    }

    fn audit(&self) -> Result<(), String> {
        self.audit_all()
    }
}
