//! The staircase schedulers: SD, the Staircase Deadline scheduler of 2.6.22-ck1 (July 2007), and
//! its predecessor RSDL, the Rotating Staircase Deadline scheduler (March 2007). Both are
//! out-of-tree schedulers by Con Kolivas.
//!
//! # The algorithm (SD)
//!
//! There is no estimate of interactivity. Each CPU goes through **rotations**. In a rotation every
//! task may use certain **slots**, which are priority levels: the better its nice value, the more
//! slots. In each slot it may run for one **quota** (6 ms). When the quota is used up, the task
//! steps *down* to its next slot. After its last slot it waits in the **expired** array until all
//! tasks of that CPU have used their slots. Then the arrays are swapped, and a new rotation begins.
//!
//! ```text
//! level 101  A B      A: 6 ms here, then to 103   nice 0: 101, 103, 105, ... 139: 20 slots
//! level 103      C    B: the same                 nice 10: 103, 107, 111, ... 139: 10 slots
//! level 105           C, A, B run at 103, ...
//! ```
//!
//! A task that sleeps keeps its place on the staircase. When it wakes, it still has high slots
//! left, so it preempts the CPU-bound tasks, which have stepped down. But within a rotation it gets
//! no more CPU time than a CPU-bound task of its nice level. So the longest wait is known in
//! advance: about one rotation of all the others.
//!
//! # The algorithm (RSDL)
//!
//! RSDL works like SD, with three differences, which `rsdl.rs` describes. It is a reconstruction,
//! because neither its source nor its own description was available.
//!
//! # Cost
//!
//! Pick, wakeup, tick: O(1), by bitmaps and lists. A step down looks at 40 levels at most. A
//! rotation ends in O(1) by swapping two arrays. Balancing is as in 2.6.22: O(CPUs) to find the
//! busiest, then O(tasks examined).
//!
//! # Where to look
//!
//! This file: the hooks, first of all [`Scheduler::schedule`] and [`Scheduler::tick`]. `sd.rs`: the
//! slots and the way down. `rsdl.rs`: the differences of RSDL. `task.rs`: the effect of a nice
//! level. `prio_array.rs`: the queues. `fork_exit.rs`: starts, forks, exits, and where tasks wake.
//! `syscalls.rs`: changes of nice and policy. `rules.rs`: the decision rules, by number.
//! `move_tasks.rs` and [`crate::classes::load_balance_2_6_22`]: several CPUs.
//!
//! # Not included
//!
//! `SCHED_ISO` (no task has this policy here, so its level 99 is always empty and its allowance
//! limits none), hyper-threading and NUMA.

mod audit;
mod fork_exit;
mod move_tasks;
mod prio_array;
mod releases;
mod rsdl;
mod rules;
mod sd;
mod syscalls;
mod task;

#[cfg(test)]
mod tests;

pub use self::releases::{Edition, RSDL, SD};

use self::prio_array::{Link, Links, PrioArray};
use self::task::{ArrayRef, Pid, Task};
use crate::classes::load_balance_2_6_22::{self, Domains, newly_idle_balance, rebalance};
use alloc::string::String;
use alloc::vec::Vec;
use schedlab_core::index::{IndexVec, TypedIndex};
use schedlab_core::{
    BlockReason, BuildConfig, Candidate, Command, ControlError, CpuId, CpuSet, Inspect, Load,
    Parent, Platform, Policy, Promises, Question, Reply, RuleDoc, SchedAttr, Scheduler, TaskAttr,
    TaskId, Tunable, TunableError, Waker, tunables,
};

/// The level of `SCHED_ISO`. Better levels are real-time.
const ISO_PRIO: u8 = 99;
/// The level of `SCHED_IDLEPRIO`, behind all others. Also means "no level".
const MAX_PRIO: u8 = 140;

/// State of a CPU.
#[derive(Clone, Debug)]
struct Runqueue {
    arrays: [PrioArray; 2],
    /// Index of the active array object. The other one is the expired array. Object 0 also has the
    /// list of idle-priority tasks.
    active: u8,
    /// The running task, which stays in its array. `None`: the idle task.
    curr: Option<Pid>,
    /// Number of runnable tasks on the idle-priority list.
    nr_idleprio: u32,
    /// Number of rotations.
    prio_rotation: u64,
    /// SD: by nice level from -20, the lowest level from which one of its tasks was picked in this
    /// rotation.
    prio_level: [u8; 40],
    /// RSDL: the level that this rotation has reached.
    level_reached: u8,
    /// Time of its last charge, ns.
    most_recent_timestamp: u64,
}

impl Runqueue {
    fn new() -> Runqueue {
        Runqueue {
            arrays: [PrioArray::new(), PrioArray::new()],
            active: 0,
            curr: None,
            nr_idleprio: 0,
            prio_rotation: 0,
            prio_level: [0; 40],
            level_reached: 100,
            most_recent_timestamp: 0,
        }
    }

    fn active(&self, cpu: CpuId) -> ArrayRef {
        ArrayRef { cpu, object: self.active }
    }

    fn expired(&self, cpu: CpuId) -> ArrayRef {
        ArrayRef { cpu, object: self.active ^ 1 }
    }

    fn active_mut(&mut self) -> &mut PrioArray {
        &mut self.arrays[usize::from(self.active)]
    }

    fn expired_mut(&mut self) -> &mut PrioArray {
        &mut self.arrays[usize::from(self.active ^ 1)]
    }
}

/// SD or RSDL.
#[derive(Debug)]
pub struct Staircase {
    edition: Edition,
    /// Length of a tick, ns.
    tick_ns: i64,
    /// `rr_interval`, ms.
    rr_interval: i64,
    sched_interactive: bool,
    sched_iso_cpu: i64,
    sched_iso_period: i64,
    cache_hot_time_ns: i64,
    /// The CPUs' migration threads, then all tasks by number.
    tasks: IndexVec<Pid, Task>,
    links: Links,
    cpus: Vec<Runqueue>,
    domains: Domains,
}

impl Staircase {
    /// Creates the scheduler on an idle machine.
    pub fn new(edition: Edition, config: &BuildConfig) -> Staircase {
        let cpus = config.topology.cpus();
        let migration_thread = |cpu| Task {
            policy: Policy::Fifo,
            rt_priority: 99,
            prio: 0,
            cpu,
            allowed: CpuSet::only(cpu),
            ..Task::default()
        };
        Staircase {
            edition,
            tick_ns: i64::from(1_000_000_000 / config.hz),
            rr_interval: match edition {
                Edition::Rsdl => i64::from(1000_u32.div_ceil(config.hz)).max(6),
                Edition::Sd => 6 * (1 + i64::from(cpus.ilog2())),
            },
            sched_interactive: true,
            sched_iso_cpu: 80,
            sched_iso_period: 5,
            cache_hot_time_ns: 2_500_000,
            tasks: config.topology.iter().map(migration_thread).collect(),
            links: (0..cpus).map(|_| Link::default()).collect(),
            cpus: alloc::vec![Runqueue::new(); cpus as usize],
            domains: Domains::new(&config.topology, config.hz),
        }
    }

    /// Returns the number of rotations that `cpu` has completed.
    pub fn prio_rotation(&self, cpu: CpuId) -> u64 {
        self.cpus[cpu.index()].prio_rotation
    }

    /// Returns the level of `task`, 0 best.
    pub fn prio(&self, task: TaskId) -> u8 {
        self.tasks[self.pid(task)].prio
    }

    /// Returns the rest of the current slot of `task`, µs.
    pub fn time_slice_us(&self, task: TaskId) -> i32 {
        self.tasks[self.pid(task)].time_slice
    }

    #[inline]
    fn pid(&self, task: TaskId) -> Pid {
        Pid::new(task.index() + self.cpus.len())
    }

    /// Returns the task's number; `None` for a migration thread.
    #[inline]
    fn task_id(&self, p: Pid) -> Option<TaskId> {
        let number = p.index().checked_sub(self.cpus.len())?;
        Some(TaskId(number as u32))
    }

    #[inline]
    fn migration_thread(&self, cpu: CpuId) -> Pid {
        Pid::new(cpu.index())
    }

    // Queues.

    /// Queues `p` at the tail of its level in its array.
    fn put_in_array(&mut self, cpu: CpuId, p: Pid) {
        let task = &mut self.tasks[p];
        let rq = &mut self.cpus[cpu.index()];
        debug_assert!(!task.queued && task.array.cpu == cpu);
        task.queued = true;
        rq.arrays[usize::from(task.array.object)].push(&mut self.links, task.prio, p);
        rq.nr_idleprio += u32::from(task.prio == MAX_PRIO);
    }

    /// Chooses the level and the array of the task, and queues it there.
    fn enqueue_task(&mut self, cpu: CpuId, p: Pid) {
        if self.tasks[p].is_realtime() {
            self.tasks[p].array = self.cpus[cpu.index()].active(cpu);
        } else {
            match self.edition {
                Edition::Rsdl => self.rsdl_place(cpu, p),
                Edition::Sd => self.recalc_task_prio(cpu, p),
            }
        }
        self.put_in_array(cpu, p);
    }

    fn dequeue_task(&mut self, cpu: CpuId, p: Pid) {
        let task = &mut self.tasks[p];
        let rq = &mut self.cpus[cpu.index()];
        debug_assert!(task.queued && task.array.cpu == cpu);
        task.queued = false;
        rq.arrays[usize::from(task.array.object)].remove(&mut self.links, task.prio, p);
        rq.nr_idleprio -= u32::from(task.prio == MAX_PRIO);
    }

    /// Sets quota and weight from policy and nice level.
    fn set_quota_and_weight(&mut self, p: Pid) {
        let is_thread = self.task_id(p).is_none();
        let task = &mut self.tasks[p];
        task.quota = if task.is_realtime() {
            (self.rr_interval * 1000) as i32
        } else {
            let quota_us =
                task::quota_us(self.edition, i32::from(task.static_prio) - 120, self.rr_interval);
            match self.edition {
                Edition::Sd => quota_us,
                Edition::Rsdl => rsdl::whole_ticks_us(quota_us, self.tick_ns),
            }
        };
        task.load_weight = if is_thread { 0 } else { task::load_weight(task, self.rr_interval) };
    }

    /// Makes `p` runnable on `cpu`.
    fn activate_task(&mut self, cpu: CpuId, p: Pid) {
        self.set_quota_and_weight(p);
        let task = &mut self.tasks[p];
        task.prio = task.normal_prio();
        self.enqueue_task(cpu, p);
        self.domains.inc_nr_running(cpu, u64::from(self.tasks[p].load_weight));
    }

    /// `p` is no longer runnable. It keeps bitmap, rotation, rest of the slice, level and array
    /// until it wakes.
    fn deactivate_task(&mut self, cpu: CpuId, p: Pid) {
        self.dequeue_task(cpu, p);
        self.domains.dec_nr_running(cpu, u64::from(self.tasks[p].load_weight));
    }

    fn set_task_cpu(&mut self, platform: &mut Platform, p: Pid, cpu: CpuId) {
        let from = core::mem::replace(&mut self.tasks[p].cpu, cpu);
        if let Some(task) = self.task_id(p)
            && from != cpu
        {
            platform.migrated(task, from, cpu);
        }
    }

    // Running.

    /// `update_cpu_clock`: charges the time that the running task has run to its slot. Fractions of
    /// a microsecond are lost. An impossible time is charged as a tick (at a tick) or a microsecond
    /// (at a reschedule: so a reschedule in the nanosecond of a tick costs 1 µs).
    fn update_cpu_clock(&mut self, now_ns: u64, cpu: CpuId, from_tick: bool) {
        let rq = &mut self.cpus[cpu.index()];
        rq.most_recent_timestamp = now_ns;
        let Some(curr) = rq.curr else { return };
        let task = &mut self.tasks[curr];
        let mut ran_ns = now_ns as i64 - task.last_ran as i64;
        if from_tick {
            if !(0..=2 * self.tick_ns).contains(&ran_ns) {
                ran_ns = self.tick_ns;
            }
        } else if !(1..=self.tick_ns).contains(&ran_ns) {
            ran_ns = 1000;
        }
        task.last_ran = now_ns;
        if task.policy != Policy::Fifo {
            let ran_us = (ran_ns / 1000) as i32;
            task.time_slice -= ran_us;
            if self.edition == Edition::Rsdl {
                self.rsdl_charge_level(cpu, curr, ran_us);
            }
        }
    }

    /// `task_expired_entitlement`: a queued task has used up its quota.
    fn task_expired_entitlement(&mut self, cpu: CpuId, p: Pid) {
        let task = &mut self.tasks[p];
        if task.is_realtime() {
            task.time_slice += task.quota;
            self.dequeue_task(cpu, p);
            self.put_in_array(cpu, p);
            return;
        }
        let overrun = match self.edition {
            Edition::Rsdl => 0,
            Edition::Sd => task.time_slice,
        };
        self.dequeue_task(cpu, p);
        self.enqueue_task(cpu, p);
        self.tasks[p].time_slice += overrun;
    }

    /// All slots are used up: the expired array becomes the active one.
    fn major_rotation(&mut self, cpu: CpuId) {
        self.cpus[cpu.index()].active ^= 1;
        self.new_rotation(cpu);
    }

    fn new_rotation(&mut self, cpu: CpuId) {
        self.cpus[cpu.index()].prio_rotation += 1;
        match self.edition {
            Edition::Rsdl => self.rsdl_forget_rotation(cpu),
            Edition::Sd => self.forget_rotation(cpu),
        }
    }

    /// Returns the task that `cpu` should run. `None`: idle.
    fn pick(&mut self, cpu: CpuId) -> Option<Pid> {
        if self.domains.load(cpu).nr_running() == 0 {
            // An idle moment ends the rotation: the next task that wakes has a complete staircase.
            match self.edition {
                Edition::Rsdl => self.major_rotation(cpu),
                Edition::Sd => self.new_rotation(cpu),
            }
            return None;
        }
        let rq = &mut self.cpus[cpu.index()];
        let best = rq.active_mut().best_from(0);
        if best <= ISO_PRIO {
            return rq.active_mut().head(best);
        }
        Some(match self.edition {
            Edition::Rsdl => self.rsdl_pick(cpu),
            Edition::Sd => self.pick_ordinary(cpu),
        })
    }

    /// `TASK_PREEMPTS_CURR`: whether `p`, which is queued, is better than the task that its CPU
    /// runs. An equal one is not.
    fn preempts_curr(&self, p: Pid) -> bool {
        let task = &self.tasks[p];
        let rq = &self.cpus[task.cpu.index()];
        match rq.curr {
            None => true,
            Some(curr) => task.array == rq.active(task.cpu) && task.prio < self.tasks[curr].prio,
        }
    }

    fn resched_if_preempted(&self, platform: &mut Platform, p: Pid) {
        let task = &self.tasks[p];
        let cpu = task.cpu;
        let preempts = self.preempts_curr(p);
        let rq = &self.cpus[cpu.index()];
        let rule = if rq.curr.is_none() {
            rules::CPU_IDLE
        } else if preempts {
            rules::HIGHER_PRIORITY
        } else if task.array == rq.active(cpu) {
            rules::NOT_HIGHER
        } else {
            rules::EXPIRED
        };
        platform.because(Question::Preempt, cpu, rule, move |evidence| {
            self.preempt_terms(p, evidence);
        });
        if preempts {
            platform.resched(cpu);
        }
    }
}

impl Scheduler for Staircase {
    fn fork(&mut self, platform: &mut Platform, task: TaskId, attr: &TaskAttr, parent: Parent) {
        let (cpu, parent_task) = match parent {
            Parent::External => (self.start_cpu(&attr.allowed), None),
            Parent::Task { task, cpu } if attr.allowed.contains(cpu) => (cpu, Some(task)),
            Parent::Task { task, .. } => (self.first_allowed(&attr.allowed), Some(task)),
        };
        let p = self.pid(task);
        if p.index() >= self.tasks.len() {
            self.tasks.resize_with(p.index() + 1, Task::default);
            self.links.resize_with(p.index() + 1, Link::default);
        }
        let mut new = Task {
            policy: attr.sched.policy,
            static_prio: (120 + attr.sched.nice) as u8,
            rt_priority: attr.sched.rt_priority as u8,
            last_ran: platform.now_ns(),
            cpu,
            parent: parent_task,
            address_space: attr.address_space,
            allowed: attr.allowed.clone(),
            ..Task::default()
        };
        new.prio = new.static_prio;
        new.prio = new.normal_prio();
        self.tasks[p] = new;
        platform.work.enqueues += 1;
        match parent {
            Parent::External => self.start(platform, p),
            Parent::Task { task, cpu } => self.start_beside(platform, p, self.pid(task), cpu),
        }
    }

    fn wake(&mut self, platform: &mut Platform, task: TaskId, waker: Waker) {
        let p = self.pid(task);
        self.tasks[p].runnable = true;
        if self.tasks[p].queued {
            // It has not been switched away yet.
            let task = &mut self.tasks[p];
            task.uninterruptible = false;
            platform.by_rule(Question::Preempt, task.cpu, rules::STILL_QUEUED);
            return;
        }
        let (cpu, placed) = self.wake_cpu(p, waker);
        platform.by_rule(Question::SelectCpu, cpu, placed);
        if cpu != self.tasks[p].cpu {
            platform.by_rule(Question::Migrate, cpu, rules::WAKES_ELSEWHERE);
            self.set_task_cpu(platform, p, cpu);
        }
        self.activate_task(cpu, p);
        platform.work.enqueues += 1;
        self.tasks[p].uninterruptible = false;
        // A waker that is about to sleep leaves its CPU in any case.
        if waker.is_sync() && waker.cpu() == cpu {
            platform.by_rule(Question::Preempt, cpu, rules::SYNC_WAKEUP);
        } else {
            self.resched_if_preempted(platform, p);
        }
    }

    fn block(&mut self, _platform: &mut Platform, _cpu: CpuId, task: TaskId, reason: BlockReason) {
        let p = self.pid(task);
        let row = &mut self.tasks[p];
        // It stays queued, and is charged, until its CPU reschedules.
        row.runnable = false;
        row.uninterruptible = reason == BlockReason::Uninterruptible;
        if reason == BlockReason::Dead {
            self.sched_exit(p);
        }
    }

    fn tick(&mut self, platform: &mut Platform, cpu: CpuId) {
        self.update_cpu_clock(platform.now_ns(), cpu, true);
        let curr = self.cpus[cpu.index()].curr;
        if let Some(p) = curr
            && self.tasks[p].policy != Policy::Fifo
        {
            let Task { prio, array, time_slice, .. } = self.tasks[p];
            if time_slice <= 0 {
                platform.resched(cpu);
                platform.work.requeue();
                self.task_expired_entitlement(cpu, p);
            }
            if self.edition == Edition::Rsdl
                && prio > ISO_PRIO
                && array == self.cpus[cpu.index()].active(cpu)
            {
                self.rsdl_check_level(platform, cpu, prio);
            }
        }
        self.domains.update_cpu_load(cpu);
        rebalance(self, platform, cpu, curr.is_none());
    }

    fn schedule(&mut self, platform: &mut Platform, cpu: CpuId) -> Option<TaskId> {
        let now_ns = platform.now_ns();
        platform.work.clock_reads += 1;
        let prev = self.cpus[cpu.index()].curr;
        if let Some(p) = prev {
            let task = &self.tasks[p];
            if !task.runnable {
                self.deactivate_task(cpu, p);
                platform.work.dequeues += 1;
                // Its affinity changed while it ran, and it went to sleep before this reschedule:
                // the migration thread also moves sleepers.
                if !self.tasks[p].allowed.contains(cpu) {
                    self.tasks[p].cpu = self.first_allowed(&self.tasks[p].allowed);
                }
            } else if !task.allowed.contains(cpu) {
                self.move_to_allowed(platform, p);
            }
        }
        let was_empty = self.domains.load(cpu).nr_running() == 0;
        if was_empty {
            newly_idle_balance(self, platform, cpu);
        }
        let active = self.cpus[cpu.index()].active;
        let next = self.pick(cpu);
        let prio = next.map_or(0, |p| self.tasks[p].prio);
        let swapped = self.cpus[cpu.index()].active != active;
        platform.work.bitmap(prio);
        platform.work.swaps += u64::from(swapped);
        let rule = if next.is_none() {
            rules::IDLE
        } else if was_empty {
            rules::PULLED
        } else if prio <= ISO_PRIO {
            rules::REAL_TIME
        } else if prio == MAX_PRIO {
            rules::IDLE_PRIORITY
        } else if swapped {
            rules::MAJOR_ROTATION
        } else {
            rules::BEST_SLOT
        };
        let this = &*self;
        platform.because(Question::Pick, cpu, rule, move |evidence| {
            this.list_candidates(cpu, &mut evidence.candidates);
        });
        // A pulled task may have requested this same reschedule.
        platform.clear_resched(cpu);
        // Charged only now, so the charge does not affect the pick.
        self.update_cpu_clock(now_ns, cpu, false);
        if next != prev {
            if let Some(p) = next {
                self.tasks[p].last_ran = now_ns;
            }
            self.cpus[cpu.index()].curr = next;
        }
        let next = next?;
        if next == self.migration_thread(cpu) {
            // The thread takes no time. The CPU reschedules again at once, and counts as idle until
            // then.
            self.migration_thread_runs(platform, cpu);
            platform.by_rule(Question::Pick, cpu, rules::MIGRATION_THREAD);
        }
        self.task_id(next)
    }

    fn yield_now(&mut self, platform: &mut Platform, cpu: CpuId, task: TaskId) {
        platform.resched(cpu);
        if self.domains.load(cpu).nr_running() == 1 {
            return;
        }
        let p = self.pid(task);
        platform.work.requeue();
        self.dequeue_task(cpu, p);
        if self.tasks[p].is_realtime() {
            self.put_in_array(cpu, p);
        } else if self.tasks[p].policy == Policy::Idle {
            self.enqueue_task(cpu, p);
        } else {
            // It forfeits the rest of its rotation.
            match self.edition {
                Edition::Rsdl => self.rsdl_expire(cpu, p),
                Edition::Sd => self.queue_expired(cpu, p),
            }
            self.put_in_array(cpu, p);
        }
    }

    fn set_attr(&mut self, platform: &mut Platform, task: TaskId, attr: &SchedAttr, _by: CpuId) {
        let p = self.pid(task);
        let (static_prio, rt_priority) = ((120 + attr.nice) as u8, attr.rt_priority as u8);
        let row = &self.tasks[p];
        if (row.policy, row.rt_priority) != (attr.policy, rt_priority) {
            self.set_policy(platform, p, attr.policy, rt_priority);
        }
        if self.tasks[p].static_prio != static_prio {
            self.set_user_nice(platform, p, static_prio);
        }
    }

    fn set_affinity(&mut self, platform: &mut Platform, task: TaskId, allowed: &CpuSet) {
        let p = self.pid(task);
        self.tasks[p].allowed = allowed.clone();
        let Task { cpu, queued, .. } = self.tasks[p];
        if allowed.contains(cpu) {
            return;
        }
        if self.cpus[cpu.index()].curr == Some(p) {
            // The reschedule moves it.
            platform.resched(cpu);
        } else if queued {
            self.move_to_allowed(platform, p);
        } else {
            self.tasks[p].cpu = self.first_allowed(allowed);
        }
    }

    fn kill(&mut self, _platform: &mut Platform, task: TaskId) {
        let p = self.pid(task);
        self.sched_exit(p);
        self.tasks[p].runnable = false;
        if self.tasks[p].queued {
            self.deactivate_task(self.tasks[p].cpu, p);
        }
    }

    fn cpu_of(&self, task: TaskId) -> CpuId {
        self.tasks[self.pid(task)].cpu
    }

    fn control(
        &mut self,
        platform: &mut Platform,
        command: Command<'_>,
    ) -> Result<Reply, ControlError> {
        match command {
            // (`rr_interval` is computed at boot and stays the same.)
            Command::CpuOffline(cpu) => self.domains.cpu_offline(platform, cpu),
            Command::CpuOnline(cpu) => self.domains.cpu_online(platform, cpu),
            Command::SetTunable { name, value } => self.write_tunable(name, value)?,
            other => return Err(other.unsupported()),
        }
        Ok(Reply::Done)
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}

impl Inspect for Staircase {
    fn tunables(&self) -> Vec<Tunable> {
        let cache_hot_time = Tunable {
            name: "cache_hot_time_ns".into(),
            value: self.cache_hot_time_ns,
            range: (0, i64::MAX),
            help: "time after it ran for which a task counts as cache hot, ns (measured at boot \
                on real machines)",
        };
        if self.edition == Edition::Rsdl {
            return alloc::vec![cache_hot_time];
        }
        alloc::vec![
            Tunable {
                name: "rr_interval".into(),
                value: self.rr_interval,
                range: (1, 1000),
                help: "length of a slot at nice -6 to 0, ms; a task adopts it at its next wakeup",
            },
            Tunable {
                name: "sched_interactive".into(),
                value: i64::from(self.sched_interactive),
                range: (0, 1),
                help: "1: a woken task may take slots above those that its nice level has reached \
                       in this rotation",
            },
            Tunable {
                name: "sched_iso_cpu".into(),
                value: self.sched_iso_cpu,
                range: (0, 100),
                help: "percentage that SCHED_ISO tasks may use; no effect, as there are none here",
            },
            Tunable {
                name: "sched_iso_period".into(),
                value: self.sched_iso_period,
                range: (1, 100),
                help: "time over which that is averaged, s; no effect",
            },
            cache_hot_time,
        ]
    }

    fn promises(&self, load: &Load) -> Promises {
        if self.cpus.len() > 1 {
            // Balancing tolerates small imbalances indefinitely, and each CPU rotates separately.
            return Promises { real_time_first: true, ..Promises::default() };
        }
        // The time that one task can run in a rotation: a quota for each level that it may use, and
        // one more because the best one is used twice. Each may end a tick late.
        let quota_us = task::quota_us(self.edition, load.nice_min, self.rr_interval) as u64;
        let rotation_ns = 41 * (quota_us * 1000 + self.tick_ns as u64);
        Promises {
            idle_beside_waiting_ns: Some(0),
            // At worst all others have all of this rotation before it, and all of the next. (This
            // assumes no new tasks: they would bring new staircases into the old rotation.)
            wait_ns: Some(2 * u64::from(load.tasks) * rotation_ns),
            // CPU-bound tasks of one nice level have the same staircase. With several levels, the
            // better ones end the others' rotation early.
            hog_spread_ns: (load.nice_min == load.nice_max).then_some(2 * rotation_ns),
            real_time_first: true,
        }
    }

    fn rules(&self) -> Vec<&'static RuleDoc> {
        rules::RULES.iter().chain(load_balance_2_6_22::rules::RULES).collect()
    }

    fn candidates(&self, cpu: CpuId, out: &mut Vec<Candidate>) {
        self.list_candidates(cpu, out);
    }

    fn describe_domains(&self) -> Option<String> {
        Some(self.domains.describe())
    }

    fn audit(&self) -> Result<(), String> {
        self.audit_all()
    }
}

impl Staircase {
    /// Writes a tunable.
    fn write_tunable(&mut self, name: &str, value: i64) -> Result<(), TunableError> {
        tunables::check(&self.tunables(), name, value)?;
        match name {
            "rr_interval" => self.rr_interval = value,
            "sched_interactive" => self.sched_interactive = value != 0,
            "sched_iso_cpu" => self.sched_iso_cpu = value,
            "sched_iso_period" => self.sched_iso_period = value,
            _ => self.cache_hot_time_ns = value,
        }
        Ok(())
    }
}
