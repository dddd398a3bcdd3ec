//! BFS: one queue for the whole machine, and virtual deadlines. This is Con Kolivas's out-of-tree
//! scheduler, from 2.6.31 (August 2009) on.
//!
//! # The algorithm
//!
//! There are no runqueues of CPUs, no balancing, no measurement of sleep, and no groups. All
//! runnable tasks that do not hold a CPU are in **one queue** under one lock. A task has a
//! **slice** of `rr_interval`, the same for every nice level, and a **virtual deadline**, which is
//! set when the slice is filled:
//!
//! ```text
//! deadline = now + rr_interval * ratio[nice]          # the ratio grows by 10 % a nice level
//! ```
//!
//! A CPU that needs a task takes the queued one with the **earliest deadline** (of the best level:
//! real-time priorities come first and are first in, first out; `SCHED_IDLEPRIO` comes last). When
//! a slice is used up, it is refilled with a new deadline, and the task joins the queue again. A
//! task that sleeps keeps its deadline and the rest of its slice. When it wakes, its deadline is
//! old, and therefore early. So it takes an idle CPU if there is one, and otherwise preempts the
//! running task with the *latest* deadline of the whole machine, if that deadline is later than its
//! own.
//!
//! No task waits longer than the deadline distance of its nice level plus the slices of the tasks
//! before it.
//!
//! # Cost
//!
//! A pick looks at every queued task of its level: O(queued tasks), under the one lock. A wakeup
//! looks at every CPU. A tick is O(1). The search is the price of the design, and the lock is the
//! reason why it was never meant for big machines.
//!
//! # Releases
//!
//! * **0.404** (2.6.38): deadlines in nanoseconds of *niffies* (`clock.rs`). The last task that a
//!   CPU switched away from while it was still runnable is **sticky** there: other CPUs see its
//!   deadline later by the longest possible distance (`preempt.rs`).
//! * **0.316** (2.6.33): deadlines in jiffies. Other CPUs see a queued task's deadline later by its
//!   `task_timeslice`.
//!
//! `releases.rs` names each difference and has the numbers.
//!
//! # Where to look
//!
//! This file: the pick ([`Scheduler::schedule`], `put_away`, `earliest_deadline_task`). `grq.rs`:
//! the queue. `preempt.rs`: wakeup preemption and sticky tasks. `clock.rs`: time and charges.
//! `releases.rs`: slices and deadlines. `rules.rs`: the decision rules, by number. `locality.rs`:
//! the distances between CPUs. `fork_exit.rs`: starts, forks and exits. `syscalls.rs`: changes of
//! nice and policy.
//!
//! # Not included
//!
//! `SCHED_ISO` (no task has this policy here, so its allowance limits none) and frequency scaling.

mod audit;
mod clock;
mod fork_exit;
mod grq;
mod locality;
mod preempt;
mod releases;
mod rules;
mod syscalls;

#[cfg(test)]
mod tests;

use self::grq::{GlobalQueue, IDLE_PRIO, MAX_RT_PRIO, NORMAL_PRIO, PRIO_LIMIT};
use self::locality::Locality;
pub use self::releases::{Affinity, Clock, ENTRY, ForkRule, SliceUnit, Version};
use crate::ck::idle_map::IdleMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use schedlab_core::{
    BlockReason, BuildConfig, Candidate, Command, ControlError, CpuId, CpuSet, Inspect, Load,
    Locking, Parent, Platform, Policy, Promises, Question, Reply, Rule, RuleDoc, SchedAttr,
    Scheduler, TaskAttr, TaskId, TaskTable, Tunable, TunableError, Waker, tunables,
};

/// State of a task. While the task runs, its CPU has the current slice and deadline, and those here
/// are stale.
#[derive(Clone, Debug)]
struct Task {
    /// Time by which its slice should be used up: niffies (ns) in 0.404, jiffies in 0.316.
    deadline: i64,
    /// The rest of the slice: in units of 1024 ns in 0.404, µs in 0.316.
    time_slice: i32,
    /// The CPU on which it last ran.
    cpu: CpuId,
    /// Its level, 0 best.
    prio: u8,
    nice: i8,
    policy: Policy,
    /// `TASK_RUNNING`.
    runnable: bool,
    /// Whether it is its CPU's current task, runnable or not.
    on_cpu: bool,
    /// 0.404: whether it is the sticky task of its last CPU.
    sticky: bool,
    /// Asleep in `TASK_UNINTERRUPTIBLE`, where an idle-priority task may hold resources that others
    /// need.
    uninterruptible: bool,
    /// 0.316: whether its slice is still the one that it got at fork.
    first_time_slice: bool,
    rt_priority: u8,
    /// Time at which it last left a CPU, ns.
    last_ran: u64,
    allowed: CpuSet,
    /// 0.316: its parent, to which the rest of its first slice is returned.
    parent: Option<TaskId>,
    address_space: u32,
}

/// State of a CPU, except its `Running` record.
#[derive(Clone, Debug)]
struct Cpu {
    /// The running task. `None`: the CPU is idle.
    curr: Option<TaskId>,
    /// The running task's slice.
    rq_time_slice: i32,
    rq_policy: Policy,
    /// Time at which the running task was last charged, ns.
    rq_last_ran: u64,
    /// 0.404: the last task that this CPU switched away from while it was still runnable.
    sticky_task: Option<TaskId>,
    /// 0.404: time at which this CPU last refreshed niffies, ns.
    old_clock: u64,
    /// 0.404: niffies at that time.
    last_niffy: u64,
    /// 0.404: time of the last tick, ns.
    last_tick: u64,
    /// 0.404: whether the running task was switched in within half a tick of a tick.
    dither: bool,
    /// Number of tasks that run here, or are queued and ran here last. Used to choose a start CPU.
    tasks: u32,
}

/// The running task as seen by wakeup preemption. It is kept in a separate table, since every
/// wakeup on a busy machine walks all of it.
#[derive(Clone, Copy, Debug)]
struct Running {
    rq_deadline: i64,
    /// [`PRIO_LIMIT`] when idle.
    rq_prio: u8,
}

/// A release of BFS.
#[derive(Debug)]
pub struct Bfs {
    version: Version,
    hz: u32,
    /// Length of a tick, ns.
    tick_ns: u64,
    /// `rr_interval`, ms.
    rr_interval: i64,
    sched_iso_cpu: i64,
    /// A full slice.
    slice: i32,
    /// Distance of a full slice's deadline, by nice from -20 to 19.
    distances: [i64; 40],
    tasks: TaskTable<Task>,
    queue: GlobalQueue,
    /// Number of tasks that are runnable or some CPU's current.
    nr_running: u32,
    idle_map: IdleMap,
    locality: Locality,
    cpus: Vec<Cpu>,
    running: Vec<Running>,
    /// 0.404: approximately the time, ns.
    niffies: u64,
    /// 0.404: jiffies at the last refresh of niffies.
    last_jiffy: u64,
    /// Jiffies at the last reschedule. Only for [`Inspect::candidates`], which has no clock.
    jiffies_seen: u64,
}

/// Returns the level of a policy.
fn prio_of(policy: Policy, rt_priority: u8) -> u8 {
    match policy {
        Policy::Fifo | Policy::RoundRobin => MAX_RT_PRIO - 1 - rt_priority,
        Policy::Idle => IDLE_PRIO,
        Policy::Other | Policy::Batch | Policy::Deadline | Policy::Iso => NORMAL_PRIO,
    }
}

impl Bfs {
    /// Creates the scheduler on an idle machine.
    pub fn new(version: Version, config: &BuildConfig) -> Bfs {
        let cpus = config.topology.cpus();
        let mut bfs = Bfs {
            version,
            hz: config.hz,
            tick_ns: 1_000_000_000 / u64::from(config.hz),
            rr_interval: 0,
            sched_iso_cpu: 70,
            slice: 0,
            distances: [0; 40],
            tasks: TaskTable::new(),
            queue: GlobalQueue::new(),
            nr_running: 0,
            idle_map: IdleMap::all(cpus),
            locality: Locality::new(&config.topology),
            cpus: alloc::vec![Cpu::default(); cpus as usize],
            running: alloc::vec![Running::IDLE; cpus as usize],
            niffies: 0,
            last_jiffy: 0,
            jiffies_seen: 0,
        };
        bfs.set_rr_interval(version.rr_interval_at_boot(cpus));
        bfs
    }

    /// Sets `rr_interval`, and computes the values that depend on it.
    fn set_rr_interval(&mut self, rr_interval_ms: i64) {
        self.rr_interval = rr_interval_ms;
        self.slice = self.version.slice(rr_interval_ms);
        for nice in -20..20 {
            self.distances[(nice + 20) as usize] =
                self.version.deadline_distance(nice, rr_interval_ms, self.hz);
        }
    }

    /// Returns the distance from now to a full slice's deadline at `nice`.
    #[inline]
    fn deadline_distance(&self, nice: i8) -> i64 {
        self.distances[(nice + 20) as usize]
    }

    /// Returns the longest possible distance: that of nice 19.
    #[inline]
    fn longest_deadline(&self) -> i64 {
        self.distances[39]
    }

    /// Gives `task` a full slice, and the corresponding deadline.
    fn refill(&mut self, platform: &Platform, task: TaskId) {
        let now = match self.version.clock {
            Clock::Jiffies => platform.jiffies() as i64,
            Clock::Niffies => self.niffies as i64,
        };
        let distance = self.deadline_distance(self.tasks[task].nice);
        let row = &mut self.tasks[task];
        row.time_slice = self.slice;
        row.deadline = now + distance;
        row.first_time_slice = false;
    }

    /// Queues `task` at the tail of its level.
    fn enqueue(&mut self, task: TaskId) {
        let row = &mut self.tasks[task];
        if row.prio >= MAX_RT_PRIO {
            // A task that wakes from an uninterruptible sleep may be about to release something
            // that others wait for.
            row.prio = if row.policy == Policy::Idle && !row.uninterruptible {
                IDLE_PRIO
            } else {
                NORMAL_PRIO
            };
        }
        self.queue.push(task, row.prio, row.deadline);
    }

    /// Makes `task` runnable: counts and queues it.
    fn activate(&mut self, task: TaskId) {
        let row = &mut self.tasks[task];
        row.prio = prio_of(row.policy, row.rt_priority);
        row.runnable = true;
        self.cpus[row.cpu.index()].tasks += 1;
        self.enqueue(task);
        self.tasks[task].uninterruptible = false;
        self.nr_running += 1;
    }

    /// Puts `prev`, the current task of `cpu`. Returns whether it continues after all.
    fn put_away(&mut self, platform: &mut Platform, cpu: CpuId, prev: TaskId) -> bool {
        let here = &self.cpus[cpu.index()];
        let row = &mut self.tasks[prev];
        row.time_slice = here.rq_time_slice;
        row.deadline = self.running[cpu.index()].rq_deadline;
        row.last_ran = platform.now_ns();
        let (time_slice, policy, runnable) = (row.time_slice, row.policy, row.runnable);
        let banished = !row.allowed.contains(cpu);
        if self.version.needs_refill(time_slice, policy) {
            self.refill(platform, prev);
        }
        if banished {
            self.resched_suitable_idle(platform, prev);
        } else if runnable && self.version.affinity == Affinity::Sticky {
            if self.queue.qnr() == 0 {
                // The CPU's copies stay as they are: a task that is alone on the machine keeps the
                // deadline of the last real switch, however often its own is renewed. (See the
                // documentation.)
                self.explain_pick(platform, cpu, rules::ALONE);
                return true;
            }
            self.swap_sticky(platform, cpu, prev);
        }
        self.tasks[prev].on_cpu = false;
        if runnable {
            self.enqueue(prev);
            platform.work.enqueues += 1;
        } else {
            self.nr_running -= 1;
        }
        false
    }

    /// Takes the queued task that `cpu` should run from the best level that has one for it: the
    /// first (real time) or the one with the earliest deadline.
    fn earliest_deadline_task(&mut self, platform: &mut Platform, cpu: CpuId) -> Option<TaskId> {
        let mut from = 0;
        while let Some(level) = self.queue.level_from(from) {
            platform.work.bitmap(level);
            // Real-time levels are first in, first out. Each other level is one list, all of which
            // is examined.
            platform.work.scanned +=
                if level < MAX_RT_PRIO { 1 } else { u64::from(self.queue.qnr()) };
            let found = if level < MAX_RT_PRIO {
                let first = self.queue.first(level, |task| self.tasks[task].allowed.contains(cpu));
                first.map(|task| (rules::REAL_TIME, task))
            } else {
                self.earliest_of(platform, level, cpu)
            };
            if let Some((rule, task)) = found {
                self.explain_pick(platform, cpu, rule);
                self.take(platform, task, cpu);
                return Some(task);
            }
            from = level + 1;
        }
        platform.by_rule(Question::Pick, cpu, rules::IDLE);
        None
    }

    /// Records the rule of a pick that is about to be carried out.
    #[inline]
    fn explain_pick(&self, platform: &mut Platform, cpu: CpuId, rule: Rule) {
        let jiffies = platform.jiffies();
        platform.because(Question::Pick, cpu, rule, move |evidence| {
            self.list_candidates(cpu, jiffies, &mut evidence.candidates);
        });
    }

    /// Returns the earliest deadline of a level as seen by `cpu`, and the rule by which it is
    /// chosen.
    fn earliest_of(&self, platform: &Platform, level: u8, cpu: CpuId) -> Option<(Rule, TaskId)> {
        let overdue =
            if self.version.takes_first_overdue { platform.jiffies() as i64 } else { i64::MIN };
        let found = self.queue.earliest(level, overdue, |task, deadline| {
            let row = &self.tasks[task];
            if !row.allowed.contains(cpu) {
                return None;
            }
            Some(match self.version.affinity {
                Affinity::CacheDistance => deadline + self.cache_distance(task, cpu),
                Affinity::Sticky if row.sticky && row.cpu != cpu => {
                    deadline + self.longest_deadline()
                }
                Affinity::Sticky => deadline,
            })
        });
        let (deadline, task) = found?;
        let rule = if deadline < overdue {
            rules::FIRST_OVERDUE
        } else if level == IDLE_PRIO {
            rules::IDLE_PRIORITY
        } else {
            rules::EARLIEST_DEADLINE
        };
        Some((rule, task))
    }

    /// 0.316: returns the number of jiffies by which the deadline of `task` counts as later on
    /// `cpu`, because that is not where it last ran.
    #[inline]
    fn cache_distance(&self, task: TaskId, cpu: CpuId) -> i64 {
        let row = &self.tasks[task];
        match self.locality.distance(row.cpu, cpu) {
            0 => 0,
            steps => steps * self.version.task_timeslice(i32::from(row.nice), self.rr_interval),
        }
    }

    /// Removes `task` from the queue, for `cpu`.
    fn take(&mut self, platform: &mut Platform, task: TaskId, cpu: CpuId) {
        self.queue.remove(task);
        platform.work.dequeues += 1;
        let row = &mut self.tasks[task];
        row.sticky = false;
        row.on_cpu = true;
        if row.cpu != cpu {
            self.cpus[row.cpu.index()].tasks -= 1;
            self.cpus[cpu.index()].tasks += 1;
            platform.by_rule(Question::Migrate, cpu, rules::TAKEN);
            platform.migrated(task, row.cpu, cpu);
            row.cpu = cpu;
        }
    }

    /// Refreshes the CPU's copies from its next task.
    fn switch_to(&mut self, now_ns: u64, cpu: CpuId, prev: Option<TaskId>, next: Option<TaskId>) {
        let here = &mut self.cpus[cpu.index()];
        here.curr = next;
        let Some(next) = next else {
            self.running[cpu.index()] = Running::IDLE;
            return;
        };
        let row = &self.tasks[next];
        here.rq_time_slice = row.time_slice;
        here.rq_policy = row.policy;
        // If it is counted from the time at which the task last left a CPU, the first charge after
        // a wait or a sleep is limited to a whole tick.
        here.rq_last_ran = if self.version.charges_from_last_ran { row.last_ran } else { now_ns };
        self.running[cpu.index()] = Running { rq_deadline: row.deadline, rq_prio: row.prio };
        if row.prio < MAX_RT_PRIO {
            here.sticky_task = None;
            if let Some(prev) = prev {
                self.tasks[prev].sticky = false;
            }
        }
    }
}

impl Scheduler for Bfs {
    fn fork(&mut self, platform: &mut Platform, task: TaskId, attr: &TaskAttr, parent: Parent) {
        let (cpu, parent_task, placed) = match parent {
            Parent::External => (self.start_cpu(&attr.allowed), None, rules::FEWEST_TASKS),
            Parent::Task { task, cpu } if attr.allowed.contains(cpu) => {
                (cpu, Some(task), rules::PARENTS_CPU)
            }
            Parent::Task { task, .. } => {
                (self.first_allowed(&attr.allowed), Some(task), rules::AFFINITY_FORCED)
            }
        };
        platform.by_rule(Question::SelectCpu, cpu, placed);
        self.queue.admit(task);
        platform.work.enqueues += 1;
        self.tasks.insert(
            task,
            Task {
                cpu,
                nice: attr.sched.nice as i8,
                policy: attr.sched.policy,
                rt_priority: attr.sched.rt_priority as u8,
                allowed: attr.allowed.clone(),
                parent: parent_task,
                address_space: attr.address_space,
                ..Task::default()
            },
        );
        match parent {
            Parent::External => self.start(platform, task),
            Parent::Task { task: parent, cpu } => self.start_beside(platform, task, parent, cpu),
        }
    }

    fn wake(&mut self, platform: &mut Platform, task: TaskId, waker: Waker) {
        let row = &mut self.tasks[task];
        if row.on_cpu {
            // It has not been switched away yet.
            row.runnable = true;
            row.uninterruptible = false;
            self.cpus[row.cpu.index()].tasks += 1;
            platform.by_rule(Question::Preempt, row.cpu, rules::STILL_CURRENT);
            return;
        }
        let cpu = row.cpu;
        platform.by_rule(Question::SelectCpu, cpu, rules::LAST_CPU);
        self.refresh(platform, cpu);
        self.activate(task);
        platform.work.enqueues += 1;
        // The waker is about to leave its CPU to this task, so no busy CPU need be preempted.
        if !waker.is_sync() || self.idle_map.first(&self.tasks[task].allowed).is_some() {
            self.try_preempt(platform, task);
        } else {
            platform.by_rule(Question::Preempt, cpu, rules::SYNC_WAKEUP);
        }
    }

    fn block(&mut self, _platform: &mut Platform, cpu: CpuId, task: TaskId, reason: BlockReason) {
        let row = &mut self.tasks[task];
        row.runnable = false;
        row.uninterruptible = reason == BlockReason::Uninterruptible;
        self.cpus[cpu.index()].tasks -= 1;
        if reason == BlockReason::Dead {
            self.return_first_slice(task);
        }
    }

    fn tick(&mut self, platform: &mut Platform, cpu: CpuId) {
        let now_ns = platform.now_ns();
        self.charge(now_ns, cpu);
        let half_tick_us = (500_000 / self.hz) as i32;
        let here = &mut self.cpus[cpu.index()];
        if here.curr.is_some() && here.rq_policy != Policy::Fifo {
            let dithers = self.version.dithers && here.dither;
            let used_up = if dithers {
                // The slice began near a tick. If the next tick would overshoot the end of the
                // slice by more than is left of it now, it ends now.
                here.rq_time_slice <= half_tick_us
            } else {
                here.rq_time_slice < self.version.least_slice
            };
            if used_up {
                if dithers {
                    here.rq_time_slice = 0;
                }
                platform.resched(cpu);
            }
        }
        here.last_tick = now_ns;
    }

    fn schedule(&mut self, platform: &mut Platform, cpu: CpuId) -> Option<TaskId> {
        let now_ns = platform.now_ns();
        self.jiffies_seen = platform.jiffies();
        platform.work.clock_reads += 1;
        self.refresh(platform, cpu);
        self.charge(now_ns, cpu);
        let here = &mut self.cpus[cpu.index()];
        here.dither = now_ns - here.last_tick <= self.tick_ns / 2;
        let prev = here.curr;
        if let Some(task) = prev
            && self.put_away(platform, cpu, task)
        {
            return prev;
        }
        let next = self.earliest_deadline_task(platform, cpu);
        self.idle_map.set(cpu, next.is_none());
        if next != prev {
            self.switch_to(now_ns, cpu, prev, next);
        }
        next
    }

    fn yield_now(&mut self, platform: &mut Platform, cpu: CpuId, _task: TaskId) {
        // Slice and deadline stay the same, so the task is often picked again at once.
        platform.resched(cpu);
    }

    fn exec(&mut self, _platform: &mut Platform, _cpu: CpuId, task: TaskId) {
        self.tasks[task].address_space = TaskAttr::address_space_after_exec(task);
    }

    fn set_attr(&mut self, platform: &mut Platform, task: TaskId, attr: &SchedAttr, _by: CpuId) {
        let row = &self.tasks[task];
        let (nice, rt_priority) = (attr.nice as i8, attr.rt_priority as u8);
        if (row.policy, row.rt_priority) != (attr.policy, rt_priority) {
            self.set_policy(platform, task, attr.policy, rt_priority);
        }
        if self.tasks[task].nice != nice {
            self.set_user_nice(platform, task, nice);
        }
    }

    fn set_affinity(&mut self, platform: &mut Platform, task: TaskId, allowed: &CpuSet) {
        self.tasks[task].allowed = allowed.clone();
        let Task { cpu, on_cpu, .. } = self.tasks[task];
        if allowed.contains(cpu) {
            return;
        }
        if on_cpu {
            platform.resched(cpu);
            return;
        }
        let to = self.first_allowed(allowed);
        self.tasks[task].cpu = to;
        if self.queue.is_queued(task) {
            self.cpus[cpu.index()].tasks -= 1;
            self.cpus[to.index()].tasks += 1;
            platform.by_rule(Question::Migrate, to, rules::CPUS_ALLOWED);
            platform.migrated(task, cpu, to);
            self.try_preempt(platform, task);
        }
    }

    fn kill(&mut self, _platform: &mut Platform, task: TaskId) {
        self.return_first_slice(task);
        let row = &mut self.tasks[task];
        row.sticky = false;
        if row.runnable {
            row.runnable = false;
            self.cpus[row.cpu.index()].tasks -= 1;
            self.queue.remove(task);
            self.nr_running -= 1;
        }
    }

    fn cpu_of(&self, task: TaskId) -> CpuId {
        self.tasks[task].cpu
    }

    fn control(
        &mut self,
        _platform: &mut Platform,
        command: Command<'_>,
    ) -> Result<Reply, ControlError> {
        match command {
            // Only the affinity of tasks decides which CPUs take part. `rr_interval` is computed at
            // boot and stays the same.
            Command::CpuOffline(_) | Command::CpuOnline(_) => {}
            Command::SetTunable { name, value } => self.write_tunable(name, value)?,
            other => return Err(other.unsupported()),
        }
        Ok(Reply::Done)
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}

impl Inspect for Bfs {
    fn locking(&self) -> Locking {
        Locking::Global
    }

    fn tunables(&self) -> Vec<Tunable> {
        alloc::vec![
            Tunable {
                name: "rr_interval".into(),
                value: self.rr_interval,
                range: (1, 1000),
                help: "length of a slice, ms; deadlines scale with it",
            },
            Tunable {
                name: "sched_iso_cpu".into(),
                value: self.sched_iso_cpu,
                range: (0, 100),
                help: "percentage that SCHED_ISO tasks may use; no effect, as there are none here",
            },
        ]
    }

    fn rules(&self) -> Vec<&'static RuleDoc> {
        rules::RULES.iter().collect()
    }

    fn candidates(&self, cpu: CpuId, out: &mut Vec<Candidate>) {
        self.list_candidates(cpu, self.jiffies_seen, out);
    }

    fn promises(&self, load: &Load) -> Promises {
        let alone = self.cpus.len() == 1;
        let slice_ns = self.rr_interval as u64 * (1 << 20) + 2 * self.tick_ns;
        let distance_ns = |nice: i32| {
            let distance = self.version.deadline_distance(nice, self.rr_interval, self.hz) as u64;
            match self.version.clock {
                Clock::Jiffies => (distance + 1) * self.tick_ns,
                Clock::Niffies => distance,
            }
        };
        // CPUs other than its last one may see a task's deadline later. 0.316 counts that in
        // jiffies, however long these are: at HZ 100 it is ten times as long as at HZ 1000.
        let seen_later_ns = match self.version.affinity {
            _ if alone => 0,
            Affinity::CacheDistance => {
                let step = self.version.task_timeslice(load.nice_max, self.rr_interval) as u64;
                self.locality.most_distant() as u64 * step * self.tick_ns
            }
            Affinity::Sticky => distance_ns(19),
        };
        Promises {
            // Several tasks that wake at once may all ask the same idle CPU, which takes one.
            idle_beside_waiting_ns: alone.then_some(0),
            // Once its own deadline has passed, each other task can at most use up the slice that
            // belongs to an even earlier deadline.
            wait_ns: Some(
                distance_ns(load.nice_max) + seen_later_ns + (u64::from(load.tasks) + 1) * slice_ns,
            ),
            // Equal CPU-bound tasks take turns, slice by slice.
            hog_spread_ns: (alone && load.nice_min == load.nice_max).then_some(2 * slice_ns),
            // There is one queue for all CPUs, and two tasks that wake at once may choose the same
            // CPU to preempt.
            real_time_first: alone,
        }
    }

    fn audit(&self) -> Result<(), String> {
        self.audit_all()
    }
}

impl Bfs {
    /// Writes a tunable.
    fn write_tunable(&mut self, name: &str, value: i64) -> Result<(), TunableError> {
        tunables::check(&self.tunables(), name, value)?;
        if name == "sched_iso_cpu" {
            self.sched_iso_cpu = value;
        } else if self.version.holds(value, self.hz) {
            self.set_rr_interval(value);
        } else {
            return Err(TunableError::Refused(format!(
                "with rr_interval {value} the deadline of nice 19 no longer fits the kernel's \
                 32-bit product"
            )));
        }
        Ok(())
    }
}

impl Running {
    /// The record of an idle CPU.
    const IDLE: Running = Running { rq_deadline: 0, rq_prio: PRIO_LIMIT };
}

impl Default for Cpu {
    fn default() -> Self {
        Cpu {
            curr: None,
            rq_time_slice: 0,
            rq_policy: Policy::Other,
            rq_last_ran: 0,
            sticky_task: None,
            old_clock: 0,
            last_niffy: 0,
            last_tick: 0,
            dither: false,
            tasks: 0,
        }
    }
}

impl Default for Task {
    fn default() -> Self {
        Task {
            deadline: 0,
            time_slice: 0,
            cpu: CpuId(0),
            prio: NORMAL_PRIO,
            nice: 0,
            policy: Policy::Other,
            runnable: false,
            on_cpu: false,
            sticky: false,
            uninterruptible: false,
            first_time_slice: false,
            rt_priority: 0,
            last_ran: 0,
            allowed: CpuSet::All,
            parent: None,
            address_space: 0,
        }
    }
}
