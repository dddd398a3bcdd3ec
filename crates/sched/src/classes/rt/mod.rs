//! The real-time class: `SCHED_FIFO` and `SCHED_RR`, as of 2.6.23 and later.
//!
//! # The algorithm
//!
//! Each CPU has a list for every priority. The head of the most urgent list runs. A `SCHED_FIFO`
//! task runs until it blocks, yields or is preempted by a more urgent one. A preempted task stays
//! at the head of its list. `SCHED_RR` tasks of one priority take turns of 100 ms. The running task
//! stays in its list.
//!
//! **Throttling** (2.6.25). Real-time tasks of a CPU get at most 0.95 s of each second. Then they
//! become invisible to the pick until the period timer has paid the excess back. Before a CPU is
//! throttled it **borrows** runtime that other CPUs have not used.
//!
//! **Push and pull** (2.6.25). The goal is that the n most urgent tasks of the machine run on its n
//! CPUs. A CPU with a waiting, movable real-time task is *overloaded*. It **pushes** waiting tasks
//! to CPUs that run something less urgent. A CPU whose running task became less urgent **pulls**
//! from overloaded CPUs. The fair class's balancer never moves real-time tasks.
//!
//! | topic | place |
//! |---|---|
//! | queue, pick, put, tick, preempt | this file |
//! | throttling, borrowing, the period timer | [`throttle`] |
//! | push, pull, choice of CPU | [`push_pull`] |
//! | the priority level of each CPU | [`cpupri`] |
//! | the lists | [`prio_array`] |
//! | the decision rules and their grounds | [`rules`] |
//!
//! # Cost
//!
//! Enqueue, dequeue and pick cost O(1), a push O(levels), and a pull O(overloaded CPUs). Borrowing
//! and the period timer cost O(CPUs).

pub mod cpupri;
pub mod prio_array;
pub mod push_pull;
pub mod rules;
#[cfg(test)]
mod tests;
pub mod throttle;

use super::{Challenge, Class, ClassId, Dequeue, Enqueue, Pid, Rqs, Select};
use alloc::string::String;
use alloc::vec::Vec;
use cpupri::CpuPri;
use prio_array::{Link, MAX_RT_PRIO, RtPrioArray};
use schedlab_core::{CpuId, Parent, Platform, Policy, Question, TimerKey};
use throttle::Bandwidth;
pub use throttle::TUNABLES;

/// The period timer. The fair and deadline classes use other keys.
pub const PERIOD_TIMER: TimerKey = TimerKey(0);

/// Hidden setting of a golden schedule: its harness did not charge a tick to a task that had
/// blocked in the same nanosecond. The kernels charge it, if a tick falls there.
pub const TICKS_SPARE_BLOCKED: &str = "rt_ticks_spare_blocked";

/// Differences of a release's real-time class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RtVersion {
    /// Whether real-time tasks are throttled (2.6.25).
    pub throttling: bool,
    /// Whether a CPU borrows runtime from others before it is throttled.
    pub runtime_share: bool,
    /// Whether overloaded CPUs push tasks and others pull them (2.6.25).
    pub push_pull: bool,
    /// Whether a task that preempts a less urgent, movable one at its wakeup stays on its CPU and
    /// has the other pushed away (5.x, 6.x).
    pub stays_over_lesser: bool,
    /// Whether the periods of the limit begin 1 ns after the arrival of the first real-time task
    /// (5.x, 6.x) and continue from there, rather than at multiples of the period.
    pub periods_from_start: bool,
    /// Whether the real-time tasks of a throttled CPU do not count as running (5.x, 6.x).
    pub throttled_uncounted: bool,
}

impl RtVersion {
    /// 2.6.23 and 2.6.24.
    pub const V2_6_23: RtVersion = RtVersion {
        throttling: false,
        runtime_share: false,
        push_pull: false,
        stays_over_lesser: false,
        periods_from_start: false,
        throttled_uncounted: false,
    };
    /// 3.10.
    pub const V3_10: RtVersion = RtVersion { stays_over_lesser: true, ..RtVersion::V2_6_25 };
    /// 2.6.25 and later.
    pub const V2_6_25: RtVersion = RtVersion {
        throttling: true,
        runtime_share: true,
        push_pull: true,
        stays_over_lesser: false,
        periods_from_start: false,
        throttled_uncounted: false,
    };
}

/// Real-time state of a thread.
#[derive(Clone, Copy, Debug, Default)]
struct RtTask {
    /// Clock at which it was last charged or picked, ns.
    exec_start: u64,
    /// Ticks left of its timeslice (`SCHED_RR`).
    time_slice: u32,
}

/// `rt_rq`: the real-time side of a CPU.
#[derive(Clone, Debug)]
struct RtRq {
    /// All queued tasks, including the running one.
    queue: RtPrioArray,
    /// Tasks that could be pushed: waiting, and allowed on several CPUs.
    pushable: RtPrioArray,
    rt_nr_running: u32,
    /// Number of queued tasks that are allowed on several CPUs.
    rt_nr_migratory: u32,
    /// The best queued priority, [`MAX_RT_PRIO`] if none.
    highest_curr: u8,
    /// Approximately the best priority among the tasks that wait and could be pulled. See
    /// [`RealTime::prio_joined`].
    highest_next: u8,
    /// Whether it is in the set of CPUs from which others pull.
    overloaded: bool,
    /// Whether it is offline: it does not borrow or lend, and is not limited.
    offline: bool,
    /// Whether it has used up its runtime. Its tasks are invisible to the pick.
    throttled: bool,
    /// Time used in this period, ns.
    rt_time: u64,
    /// Time allowed in a period, ns.
    rt_runtime: u64,
}

/// The real-time class on all CPUs.
#[derive(Clone, Debug)]
pub struct RealTime {
    version: RtVersion,
    rqs: Vec<RtRq>,
    tasks: Vec<RtTask>,
    /// Neighbours in the queue.
    links: Vec<Link>,
    /// Neighbours in the pushable list.
    push_links: Vec<Link>,
    cpupri: CpuPri,
    /// `rto_mask`: the overloaded CPUs, 64 per word.
    overloaded: Vec<u64>,
    /// `rto_count`.
    overloaded_count: u32,
    bandwidth: Bandwidth,
    /// `DEF_TIMESLICE`, ticks.
    def_timeslice: u32,
    /// [`TICKS_SPARE_BLOCKED`].
    pub ticks_spare_blocked: bool,
}

impl RealTime {
    /// Creates the initial state: no real-time task anywhere except the sleeping migration threads.
    pub fn new(version: RtVersion, cpus: u32, hz: u32) -> RealTime {
        let bandwidth = Bandwidth::default();
        let rq = RtRq {
            queue: RtPrioArray::new(),
            pushable: RtPrioArray::new(),
            rt_nr_running: 0,
            rt_nr_migratory: 0,
            highest_curr: MAX_RT_PRIO,
            highest_next: MAX_RT_PRIO,
            overloaded: false,
            offline: false,
            throttled: false,
            rt_time: 0,
            rt_runtime: bandwidth.runtime_ns(),
        };
        let threads = 2 * cpus as usize;
        RealTime {
            version,
            rqs: alloc::vec![rq; cpus as usize],
            tasks: alloc::vec![RtTask::default(); threads],
            links: alloc::vec![Link::default(); threads],
            push_links: alloc::vec![Link::default(); threads],
            cpupri: CpuPri::new(cpus),
            overloaded: alloc::vec![0; (cpus as usize).div_ceil(64)],
            overloaded_count: 0,
            bandwidth,
            def_timeslice: (100 * hz / 1000).max(1),
            ticks_spare_blocked: false,
        }
    }

    /// Makes room for `pid`. A child inherits what remains of its parent's timeslice. A task from
    /// outside has a full one.
    pub fn thread_born(&mut self, rqs: &Rqs, _platform: &mut Platform, pid: Pid, parent: Parent) {
        if self.tasks.len() <= pid.index() {
            self.tasks.resize(rqs.threads.len(), RtTask::default());
            self.links.resize(rqs.threads.len(), Link::default());
            self.push_links.resize(rqs.threads.len(), Link::default());
        }
        let time_slice = match parent {
            Parent::External => self.def_timeslice,
            Parent::Task { task, .. } => self.tasks[rqs.pid(task).index()].time_slice,
        };
        self.tasks[pid.index()] = RtTask { time_slice: time_slice.max(1), ..RtTask::default() };
    }

    /// Returns the tasks on the queue of `cpu`, including the running one, in the order of 2.6.24's
    /// balancing: the most urgent priority first, each list from its tail.
    pub fn from_tails(&self, cpu: CpuId) -> impl Iterator<Item = Pid> + '_ {
        self.rqs[cpu.index()].queue.iter_from_tails(&self.links)
    }

    /// Implements `enqueue_task`, a class hook. It is public so that balancing can wake migration
    /// threads.
    pub fn enqueue_task(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        pid: Pid,
        why: Enqueue,
    ) {
        let _ = why;
        let prio = rqs.thread(pid).prio as u8;
        self.rqs[cpu.index()].queue.push_back(&mut self.links, pid, prio);
        self.prio_joined(rqs, cpu, prio);
        self.start_period_timer(platform);
        if rqs.curr(cpu) != pid && rqs.thread(pid).nr_cpus_allowed > 1 {
            self.make_pushable(rqs, cpu, pid);
        }
    }

    /// Counts a task that was put on the queue, and maintains the best priorities.
    ///
    /// `highest_next` is exact only where exactness was cheap: it is recalculated only when a new
    /// task has a better priority. A task that was running at that moment and was preempted later
    /// may be missing from it.
    fn prio_joined(&mut self, rqs: &Rqs, cpu: CpuId, prio: u8) {
        let migratory = self.rqs[cpu.index()]
            .queue
            .tail(prio)
            .is_some_and(|pid| rqs.thread(pid).nr_cpus_allowed > 1);
        let rq = &mut self.rqs[cpu.index()];
        rq.rt_nr_running += 1;
        rq.rt_nr_migratory += u32::from(migratory);
        let best = rq.highest_curr;
        if prio < best {
            rq.highest_curr = prio;
            rq.highest_next = best;
            self.cpupri.set(cpu, prio);
        } else if prio == best {
            rq.highest_next = prio;
        } else if prio < rq.highest_next {
            self.rqs[cpu.index()].highest_next = self.next_prio(rqs, cpu);
        }
        self.update_overloaded(cpu);
    }

    /// Counts out a task of `prio` that was taken off the queue.
    fn prio_left(&mut self, rqs: &Rqs, cpu: CpuId, prio: u8, migratory: bool) {
        let rq = &mut self.rqs[cpu.index()];
        rq.rt_nr_running -= 1;
        rq.rt_nr_migratory -= u32::from(migratory);
        let best = rq.queue.best();
        let changed = best != rq.highest_curr;
        rq.highest_curr = best;
        if rq.rt_nr_running > 0 && prio <= rq.highest_next {
            self.rqs[cpu.index()].highest_next = self.next_prio(rqs, cpu);
        }
        if changed {
            self.cpupri.set(cpu, best);
        }
        self.update_overloaded(cpu);
    }

    fn requeue(&mut self, rqs: &Rqs, cpu: CpuId, pid: Pid, to_head: bool) {
        let prio = rqs.thread(pid).prio as u8;
        let queue = &mut self.rqs[cpu.index()].queue;
        queue.remove(&mut self.links, pid);
        if to_head {
            queue.push_front(&mut self.links, pid, prio);
        } else {
            queue.push_back(&mut self.links, pid, prio);
        }
    }

    /// `update_curr_rt`: charges the running task, if it is of this class.
    fn update_curr(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId) {
        let curr = rqs.curr(cpu);
        if rqs.thread(curr).class != ClassId::Rt {
            return;
        }
        let clock = rqs.clock(cpu);
        let task = &mut self.tasks[curr.index()];
        let delta = (clock.wrapping_sub(task.exec_start) as i64).max(0) as u64;
        task.exec_start = clock;
        rqs.thread_mut(curr).rt_sum_exec += delta;
        rqs.rt_avg_add(cpu, delta);
        self.account_bandwidth(rqs, platform, cpu, delta);
    }

    /// `pick_next_task_rt`, if real-time tasks are queued: returns the head of the most urgent
    /// list, unless the CPU is throttled.
    fn pick_next_task_rt(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
    ) -> Option<Pid> {
        let rq = &self.rqs[cpu.index()];
        let (picked, rule) = match rules::mover(rqs, cpu) {
            Some(mover) => (Some(mover), rules::RT_HIGHEST),
            None if rq.throttled => (None, rules::RT_THROTTLED),
            None => (rq.queue.head(rq.queue.best()), rules::RT_HIGHEST),
        };
        platform.because(Question::Pick, cpu, rule, |evidence| {
            self.account_of_pick(rqs, cpu, evidence);
        });
        if let Some(pid) = picked {
            platform.work.bitmap(rqs.thread(pid).prio as u8);
            self.tasks[pid.index()].exec_start = rqs.clock(cpu);
            self.make_unpushable(cpu, pid);
        }
        rqs.rqs[cpu.index()].post_schedule = !self.rqs[cpu.index()].pushable.is_empty();
        picked
    }

    /// Checks the queues and counts for consistency.
    ///
    /// # Errors
    /// A description of the inconsistency.
    pub fn audit(&self, rqs: &Rqs) -> Result<(), String> {
        for (number, rq) in self.rqs.iter().enumerate() {
            let mut queued = 0;
            let mut migratory = 0;
            for pid in rq.queue.iter(&self.links) {
                queued += 1;
                migratory += u32::from(rqs.thread(pid).nr_cpus_allowed > 1);
                if rqs.thread(pid).cpu.index() != number {
                    return Err(alloc::format!(
                        "thread {} is on the real-time queue of CPU {number}",
                        pid.0
                    ));
                }
            }
            if (queued, migratory) != (rq.rt_nr_running, rq.rt_nr_migratory) {
                return Err(alloc::format!(
                    "CPU {number}: counted {} real-time tasks, {} movable; found {queued} and \
                     {migratory}",
                    rq.rt_nr_running,
                    rq.rt_nr_migratory
                ));
            }
            if rq.highest_curr != rq.queue.best() {
                return Err(alloc::format!(
                    "CPU {number}: best real-time priority recorded as {}, is {}",
                    rq.highest_curr,
                    rq.queue.best()
                ));
            }
        }
        Ok(())
    }
}

impl Class for RealTime {
    fn enqueue_task(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        pid: Pid,
        why: Enqueue,
    ) {
        platform.work.enqueues += 1;
        RealTime::enqueue_task(self, rqs, platform, cpu, pid, why);
    }

    fn dequeue_task(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        pid: Pid,
        _why: Dequeue,
    ) -> bool {
        self.update_curr(rqs, platform, cpu);
        platform.work.dequeues += 1;
        let Self { rqs: rt_rqs, links, .. } = self;
        rt_rqs[cpu.index()].queue.remove(links, pid);
        let thread = *rqs.thread(pid);
        self.prio_left(rqs, cpu, thread.prio as u8, thread.nr_cpus_allowed > 1);
        self.make_unpushable(cpu, pid);
        true
    }

    fn yield_task(&mut self, rqs: &mut Rqs, _platform: &mut Platform, cpu: CpuId, pid: Pid) {
        self.requeue(rqs, cpu, pid, false);
    }

    fn check_preempt_curr(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        pid: Pid,
        _challenge: Challenge,
    ) {
        let (prio, curr_prio) = (rqs.thread(pid).prio, rqs.thread(rqs.curr(cpu)).prio);
        let rule = if prio < curr_prio {
            rqs.resched_curr(platform, cpu);
            rules::RT_HIGHER
        } else if prio > curr_prio {
            rules::RT_LOWER
        } else if self.version.push_pull
            && !rqs.need_resched_here()
            && self.check_preempt_equal_prio(rqs, platform, cpu, pid)
        {
            rules::RT_EQUAL_PINNED
        } else {
            rules::RT_EQUAL
        };
        rules::preempts(platform, rqs, cpu, pid, rule);
    }

    #[inline]
    fn pick_next_task(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
    ) -> Option<Pid> {
        if self.rqs[cpu.index()].rt_nr_running == 0 {
            return None;
        }
        self.pick_next_task_rt(rqs, platform, cpu)
    }

    fn put_prev_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId, pid: Pid) {
        self.update_curr(rqs, platform, cpu);
        self.tasks[pid.index()].exec_start = 0;
        let thread = rqs.thread(pid);
        if thread.on_rq && thread.nr_cpus_allowed > 1 {
            self.make_pushable(rqs, cpu, pid);
        }
    }

    fn set_curr_task(&mut self, rqs: &mut Rqs, _platform: &mut Platform, cpu: CpuId, pid: Pid) {
        self.tasks[pid.index()].exec_start = rqs.clock(cpu);
        self.make_unpushable(cpu, pid);
    }

    fn select_task_rq(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        pid: Pid,
        select: Select,
    ) -> CpuId {
        let cpu = rqs.cpu_of(pid);
        let (chosen, rule) = match select {
            Select::Fork => (rqs.this_cpu, rules::RT_FORK),
            Select::Wakeup { .. } => {
                let curr = rqs.thread(rqs.curr(cpu));
                let gives_way = self.version.stays_over_lesser
                    && curr.nr_cpus_allowed > 1
                    && curr.prio > rqs.thread(pid).prio;
                let runs_rt = curr.class == ClassId::Rt && !gives_way;
                if self.version.push_pull && runs_rt && rqs.thread(pid).nr_cpus_allowed > 1 {
                    match self.find_lowest_rq(rqs, pid) {
                        Some(lowest) => (lowest, rules::RT_LOWEST_CPU),
                        None => (cpu, rules::RT_NO_LOWER_CPU),
                    }
                } else {
                    (cpu, rules::RT_TASK_CPU)
                }
            }
        };
        platform.because(Question::SelectCpu, chosen, rule, |evidence| {
            rules::priorities(rqs, cpu, pid, evidence);
        });
        chosen
    }

    fn task_tick(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId, pid: Pid) {
        self.update_curr(rqs, platform, cpu);
        if rqs.thread(pid).policy != Policy::RoundRobin {
            return;
        }
        let task = &mut self.tasks[pid.index()];
        task.time_slice -= 1;
        if task.time_slice > 0 {
            return;
        }
        task.time_slice = self.def_timeslice;
        if !self.rqs[cpu.index()].queue.is_alone(&self.links, pid) {
            self.requeue(rqs, cpu, pid, false);
            rqs.resched_curr(platform, cpu);
        }
    }

    #[inline]
    fn task_woken(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId, pid: Pid) {
        if rqs.curr(cpu) != pid
            && !rqs.resched_pending(cpu)
            && !self.rqs[cpu.index()].pushable.is_empty()
            && rqs.thread(pid).nr_cpus_allowed > 1
        {
            self.push_rt_tasks(rqs, platform, cpu);
        }
    }

    #[inline]
    fn pre_schedule(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId, prev: Pid) {
        if self.overloaded_count > 0
            && i16::from(self.rqs[cpu.index()].highest_curr) > rqs.thread(prev).prio
        {
            self.pull_rt_task(rqs, platform, cpu);
        }
    }

    fn post_schedule(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId) {
        self.push_rt_tasks(rqs, platform, cpu);
    }

    fn set_cpus_allowed(
        &mut self,
        rqs: &mut Rqs,
        _platform: &mut Platform,
        cpu: CpuId,
        pid: Pid,
        nr: u32,
    ) {
        let thread = *rqs.thread(pid);
        if !thread.on_rq || thread.nr_cpus_allowed == nr {
            return;
        }
        if rqs.curr(cpu) != pid {
            self.make_unpushable(cpu, pid);
            if nr > 1 {
                self.make_pushable(rqs, cpu, pid);
            }
        }
        let rq = &mut self.rqs[cpu.index()];
        match (thread.nr_cpus_allowed > 1, nr > 1) {
            (false, true) => rq.rt_nr_migratory += 1,
            (true, false) => rq.rt_nr_migratory -= 1,
            _ => {}
        }
        self.update_overloaded(cpu);
    }

    fn switched_from(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId, _pid: Pid) {
        if self.rqs[cpu.index()].rt_nr_running == 0 {
            self.pull_rt_task(rqs, platform, cpu);
        }
    }

    fn switched_to(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId, pid: Pid) {
        if rqs.curr(cpu) == pid {
            return;
        }
        if self.rqs[cpu.index()].overloaded
            && self.push_rt_task(rqs, platform, cpu)
            && rqs.cpu_of(pid) != cpu
        {
            return;
        }
        if rqs.thread(pid).prio < rqs.thread(rqs.curr(cpu)).prio {
            rules::preempts(platform, rqs, cpu, pid, rules::RT_HIGHER);
            rqs.resched_curr(platform, cpu);
        }
    }

    fn prio_changed(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        pid: Pid,
        old_prio: i16,
    ) {
        let prio = rqs.thread(pid).prio;
        if rqs.curr(cpu) != pid {
            if prio < rqs.thread(rqs.curr(cpu)).prio {
                rules::preempts(platform, rqs, cpu, pid, rules::RT_HIGHER);
                rqs.resched_curr(platform, cpu);
            }
            return;
        }
        if !self.version.push_pull {
            if old_prio < prio {
                rqs.resched_curr(platform, cpu);
            }
            return;
        }
        if old_prio < prio {
            self.pull_rt_task(rqs, platform, cpu);
        }
        if prio > i16::from(self.rqs[cpu.index()].highest_curr) {
            rqs.resched_curr(platform, cpu);
        }
    }
}
