//! The deadline class: `SCHED_DEADLINE`, as of 6.6 to 6.18 (since 3.14).
//!
//! # The algorithm
//!
//! A task requests a **budget** Q in every **period** P, to be delivered within D of the period's
//! beginning. The task with the earliest absolute deadline runs (EDF). To keep tasks from taking
//! more than they requested, each has a *constant bandwidth server*: its run time is deducted from
//! its budget, and when the budget is used up the task is **throttled** until its next period
//! begins. Then a timer gives it a new budget and a later deadline. An overrun is paid back.
//!
//! A task that wakes keeps its old budget and deadline if they could harm no other task, that is if
//!
//! ```text
//!   budget left / time to the deadline  <=  Q / D
//! ```
//!
//! and otherwise begins a new period. A task that enters the class must fit, because the sum of all
//! Q / P is limited.
//!
//! The budget is checked only when time is charged: at ticks, dequeues, yields and puts. A task may
//! therefore overrun by up to a tick.
//!
//! | topic | place |
//! |---|---|
//! | queue, charge, throttle, pick, preempt | this file |
//! | budget and deadline of one task | [`cbs`] |
//! | admission control | [`admission`] |
//! | several CPUs: push and pull | [`push_pull`] |
//! | the reservation of the fair class | [`server`] |
//! | the decision rules and their grounds | [`rules`] |
//!
//! # Not modelled
//!
//! Reclaiming (`SCHED_FLAG_RECLAIM`, off by default) and priority inheritance.

pub mod admission;
pub mod cbs;
#[cfg(test)]
mod constrained_tests;
pub mod push_pull;
#[cfg(test)]
mod push_tests;
pub mod rules;
pub mod server;
#[cfg(test)]
mod tests;

use super::core_6::rules as core_rules;
use super::rbtree::{Nodes, Root};
use super::{Challenge, Class, ClassId, Dequeue, Enqueue, Pid, Rqs, Select};
use admission::Admission;
use alloc::string::String;
use alloc::vec::Vec;
use cbs::{Server, before};
use push_pull::Overload;
use schedlab_core::index::TypedIndex;
use schedlab_core::{
    CpuId, CpuSet, Errno, Platform, Question, Refused, SchedAttr, TimerKey, TimerPhase, Tunable,
};
use server::FairServer;

/// The tunables of the class.
pub const TUNABLES: [&str; 2] = ["sched_deadline_period_min_us", "sched_deadline_period_max_us"];

/// The keys of a thread's replenishment timer and zero-lag timer are these, plus four times its
/// number (0 and 1 modulo 4 belong to the groups' quotas).
const DL_TIMER: u32 = 2;
pub(crate) const INACTIVE_TIMER: u32 = 3;

schedlab_core::define_index! {
    /// An entity of the class (`sched_dl_entity`), by the number of its thread. The entity of an
    /// idle thread is its CPU's fair server.
    struct DlEntityId;
}

impl DlEntityId {
    fn of(pid: Pid) -> DlEntityId {
        DlEntityId::new(pid.index())
    }

    fn pid(self) -> Pid {
        Pid(self.index() as u32)
    }
}

/// Deadline state of a thread.
#[derive(Clone, Copy, Debug, Default)]
struct DlTask {
    server: Server,
    /// Clock at which it was last charged or picked, ns.
    exec_start: u64,
    /// Whether it is in its CPU's tree.
    queued: bool,
    /// Bandwidth that admission still counts for it after it has left.
    leaving_bw: u64,
}

/// The deadline side of a CPU.
#[derive(Clone, Copy, Debug, Default)]
struct DlRq {
    /// Runnable tasks that are not throttled, including the running one, by deadline.
    tree: Root<DlEntityId>,
    /// Number of those tasks.
    nr_running: u32,
    /// Number of those tasks that are allowed on several CPUs.
    nr_migratory: u32,
}

/// The deadline class on all CPUs.
#[derive(Clone, Debug)]
pub struct Deadline {
    rqs: Vec<DlRq>,
    /// Deadline state by thread.
    tasks: Vec<DlTask>,
    nodes: Nodes<DlEntityId>,
    admission: Admission,
    overload: Overload,
    /// Shortest and longest period, us.
    period_us: (u64, u64),
    /// Fair servers by CPU.
    servers: Vec<FairServer>,
    /// The fair servers' budget, ns. `0`: there are none.
    server_runtime_ns: u64,
    server_period_ns: u64,
}

impl Deadline {
    /// Creates the initial state: no task of the class anywhere.
    pub fn new(cpus: u32) -> Deadline {
        Deadline {
            rqs: alloc::vec![DlRq::default(); cpus as usize],
            tasks: alloc::vec![DlTask::default(); cpus as usize],
            nodes: {
                let mut nodes = Nodes::new();
                nodes.make_room(cpus as usize);
                nodes
            },
            admission: Admission::new(cpus, 950_000, 1_000_000),
            overload: Overload::new(cpus),
            period_us: (100, 1 << 22),
            servers: alloc::vec![FairServer::default(); cpus as usize],
            server_runtime_ns: 0,
            server_period_ns: 1_000_000_000,
        }
    }

    /// Makes room for `pid`.
    pub fn thread_born(&mut self, rqs: &Rqs, pid: Pid) {
        if self.tasks.len() <= pid.index() {
            self.tasks.resize(rqs.threads.len(), DlTask::default());
            self.nodes.make_room(rqs.threads.len());
        }
        self.tasks[pid.index()] = DlTask::default();
    }

    // ---- admission ----

    /// Admits `pid`, which has a row, with the parameters `attr`. Its previous allocation is given
    /// up.
    ///
    /// # Errors
    /// The error that the kernel would return. Nothing has changed then.
    pub fn admit(
        &mut self,
        rqs: &Rqs,
        pid: Pid,
        attr: &SchedAttr,
        allowed: &CpuSet,
    ) -> Result<(), Errno> {
        let server = Server::new(attr, self.period_us).map_err(|_| Errno::Invalid)?;
        if allowed.count(rqs.cpus()) < rqs.online_cpus() {
            // Bandwidth is allocated for the machine as a whole.
            return Err(Errno::NotPermitted);
        }
        let task = &mut self.tasks[pid.index()];
        let old = task.server.bw + task.leaving_bw;
        if !self.admission.fits(old, server.bw) {
            return Err(Errno::Busy);
        }
        self.admission.replace(old, server.bw);
        task.leaving_bw = 0;
        task.server = Server {
            runtime: task.server.runtime,
            deadline: task.server.deadline,
            throttled: task.server.throttled,
            yielded: task.server.yielded,
            ..server
        };
        Ok(())
    }

    /// Handles a `pid` that exits or changes to another class. Its bandwidth is free again at the
    /// time at which it would have used up its budget.
    pub fn leave(&mut self, platform: &mut Platform, pid: Pid) {
        let task = &mut self.tasks[pid.index()];
        let bw = task.server.bw;
        let zero_lag = task.server.zero_lag_ns();
        task.server = Server::default();
        platform.cancel_timer(TimerKey(DL_TIMER + 4 * pid.0));
        if before(platform.now_ns(), zero_lag) {
            task.leaving_bw += bw;
            platform.arm_timer(
                TimerKey(INACTIVE_TIMER + 4 * pid.0),
                TimerPhase::BeforeWakeups,
                zero_lag,
            );
        } else {
            self.admission.replace(bw, 0);
        }
    }

    // ---- the tree ----

    fn insert(&mut self, rqs: &mut Rqs, cpu: CpuId, pid: Pid) {
        let rq = &mut self.rqs[cpu.index()];
        let task = &mut self.tasks[pid.index()];
        task.queued = true;
        self.nodes.insert(&mut rq.tree, DlEntityId::of(pid), task.server.deadline);
        rq.nr_running += 1;
        rq.nr_migratory += u32::from(rqs.thread(pid).nr_cpus_allowed > 1);
        rqs.add_nr_running(cpu, 1);
        self.earliest_changed(cpu);
    }

    fn remove(&mut self, rqs: &mut Rqs, cpu: CpuId, pid: Pid) {
        let rq = &mut self.rqs[cpu.index()];
        self.tasks[pid.index()].queued = false;
        self.nodes.remove(&mut rq.tree, DlEntityId::of(pid));
        rq.nr_running -= 1;
        rq.nr_migratory -= u32::from(rqs.thread(pid).nr_cpus_allowed > 1);
        rqs.sub_nr_running(cpu, 1);
        self.earliest_changed(cpu);
    }

    /// Returns the earliest deadline among the tasks runnable on `cpu`.
    fn earliest(&self, cpu: CpuId) -> Option<u64> {
        self.rqs[cpu.index()].tree.leftmost().map(|first| self.nodes.key(first))
    }

    fn is_leftmost(&self, cpu: CpuId, pid: Pid) -> bool {
        self.rqs[cpu.index()].tree.leftmost() == Some(DlEntityId::of(pid))
    }

    /// Whether `pid` is out of budget and waits for its next period.
    pub fn is_throttled(&self, pid: Pid) -> bool {
        self.tasks.get(pid.index()).is_some_and(|task| task.server.throttled)
    }

    fn deadline_of(&self, pid: Pid) -> u64 {
        self.tasks[pid.index()].server.deadline
    }

    // ---- charging ----

    /// `update_curr_dl`: charges the running task, and throttles it when its budget is used or
    /// given up.
    fn update_curr(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId) {
        let pid = rqs.curr(cpu);
        if rqs.thread(pid).class != ClassId::Deadline || !self.tasks[pid.index()].queued {
            return;
        }
        let task = &mut self.tasks[pid.index()];
        let now_ns = rqs.clock(cpu);
        let delta_ns = now_ns - task.exec_start;
        task.exec_start = now_ns;
        task.server.runtime -= delta_ns as i64;
        rqs.rt_avg_add(cpu, delta_ns);
        let task = &mut self.tasks[pid.index()];
        if (delta_ns == 0 || task.server.runtime > 0) && !task.server.yielded {
            return;
        }
        task.server.throttled = true;
        self.remove(rqs, cpu, pid);
        if !self.start_timer(platform, pid) {
            self.tasks[pid.index()].server.replenish(now_ns);
            self.insert(rqs, cpu, pid);
        }
        if !self.is_leftmost(cpu, pid) {
            rqs.resched_curr(platform, cpu);
        }
    }

    /// `start_dl_timer`: schedules the replenishment of `pid` for the beginning of its next period.
    /// Returns `false` if that time is already past.
    fn start_timer(&mut self, platform: &mut Platform, pid: Pid) -> bool {
        let at_ns = self.tasks[pid.index()].server.next_period();
        let ahead_ns = at_ns.wrapping_sub(platform.now_ns()) as i64;
        // A time past by less than a microsecond does not count as past.
        if ahead_ns / 1000 < 0 {
            return false;
        }
        platform.arm_timer(TimerKey(DL_TIMER + 4 * pid.0), TimerPhase::BeforeWakeups, at_ns);
        true
    }

    /// Handles the expiry of a timer of the class. `fair_waits` returns whether fair tasks are
    /// queued on a CPU.
    pub fn timer(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        key: TimerKey,
        fair_waits: impl Fn(CpuId) -> bool,
    ) {
        let pid = Pid((key.0 - DL_TIMER) / 4);
        if rqs.is_idle_thread(pid) {
            let cpu = rqs.cpu_of(pid);
            self.fair_server_timer(rqs, platform, cpu, fair_waits(cpu));
            return;
        }
        if key.0 % 4 == INACTIVE_TIMER {
            let bw = core::mem::take(&mut self.tasks[pid.index()].leaving_bw);
            self.admission.replace(bw, 0);
            return;
        }
        let now_ns = platform.now_ns();
        let thread = *rqs.thread(pid);
        let server = &mut self.tasks[pid.index()].server;
        if thread.class != ClassId::Deadline || !server.throttled {
            return;
        }
        server.replenish(now_ns);
        if !thread.on_rq {
            // Until then the task sleeps.
            return;
        }
        let cpu = rqs.cpu_of(pid);
        rqs.update_rq_clock(platform, cpu);
        self.insert(rqs, cpu, pid);
        if rqs.thread(rqs.curr(cpu)).class == ClassId::Deadline {
            self.check_preempt_curr(rqs, platform, cpu, pid, Challenge::Other);
        } else {
            platform.by_rule(Question::Preempt, cpu, core_rules::CLASS_ABOVE);
            rqs.resched_curr(platform, cpu);
        }
        self.push_if_overloaded(rqs, platform, cpu);
    }

    /// Returns the tunables with their values.
    pub fn tunables(&self) -> Vec<Tunable> {
        let tunable = |name: &'static str, value, help| Tunable {
            name: name.into(),
            value,
            range: (100, 1 << 22),
            help,
        };
        alloc::vec![
            tunable(TUNABLES[0], self.period_us.0 as i64, "shortest period of a deadline task, us"),
            tunable(TUNABLES[1], self.period_us.1 as i64, "longest period of a deadline task, us"),
        ]
    }

    /// Handles a CPU that is about to go offline.
    ///
    /// # Errors
    /// If the allocated bandwidth would no longer be available.
    pub fn cpu_offline(&mut self) -> Result<(), Refused> {
        if self.admission.cpu_offline(self.server_bw()) {
            Ok(())
        } else {
            Err(Errno::Busy.because("EBUSY: the deadline tasks need its bandwidth"))
        }
    }

    /// Handles a CPU that has come back online.
    pub fn cpu_online(&mut self) {
        self.admission.cpu_online(self.server_bw());
    }

    /// Writes a tunable. Its range has been checked. Tasks already admitted are not affected.
    pub fn set_tunable(&mut self, name: &str, value: i64) {
        if name == TUNABLES[0] {
            self.period_us.0 = value as u64;
        } else {
            self.period_us.1 = value as u64;
        }
    }

    /// Returns the limit on the allocated bandwidth: runtime and period, us.
    pub fn limit_us(&self) -> (i64, u64) {
        self.admission.limit_us()
    }

    /// Whether a different limit leaves room for the allocated bandwidth.
    pub fn takes_limit(&self, runtime_us: i64, period_us: u64) -> bool {
        self.admission.would_fit(runtime_us, period_us)
    }

    /// Sets the limit.
    pub fn set_limit(&mut self, runtime_us: i64, period_us: u64) {
        self.admission.set_limit(runtime_us, period_us);
    }

    /// Checks the trees and counts for consistency.
    ///
    /// # Errors
    /// A description of the inconsistency.
    pub fn audit(&self, rqs: &Rqs) -> Result<(), String> {
        for (number, rq) in self.rqs.iter().enumerate() {
            let found = self.nodes.audit(&rq.tree)?;
            if found != rq.nr_running as usize {
                return Err(alloc::format!(
                    "CPU {number}: counted {} deadline tasks, found {found}",
                    rq.nr_running
                ));
            }
        }
        let mut bw = self.server_bw() * self.admission.cpus();
        for (number, task) in self.tasks.iter().enumerate().skip(self.rqs.len()) {
            bw += task.server.bw + task.leaving_bw;
            let thread = &rqs.threads[number];
            if task.queued
                && (task.server.throttled || !thread.on_rq || thread.class != ClassId::Deadline)
            {
                return Err(alloc::format!(
                    "thread {number} is in a deadline tree and should not be"
                ));
            }
        }
        if bw != self.admission.total_bw() {
            return Err(alloc::format!(
                "allocated deadline bandwidth is {}, but tasks have {bw}",
                self.admission.total_bw()
            ));
        }
        Ok(())
    }
}

impl Class for Deadline {
    fn enqueue_task(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        pid: Pid,
        why: Enqueue,
    ) {
        let now_ns = rqs.clock(cpu);
        let server = &mut self.tasks[pid.index()].server;
        match why {
            Enqueue::Wakeup | Enqueue::New => {
                if !server.throttled
                    && server.wakes_too_early(now_ns)
                    && self.start_timer(platform, pid)
                {
                    let server = &mut self.tasks[pid.index()].server;
                    server.throttled = true;
                    server.runtime = server.runtime.min(0);
                }
                let server = &mut self.tasks[pid.index()].server;
                if server.throttled {
                    return;
                }
                server.wake(now_ns);
            }
            Enqueue::Restored if server.is_past(now_ns) => server.renew(now_ns),
            Enqueue::Restored | Enqueue::Migrated => {}
        }
        if !self.tasks[pid.index()].server.throttled {
            platform.work.enqueues += 1;
            self.insert(rqs, cpu, pid);
        }
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
        if self.tasks[pid.index()].queued {
            platform.work.dequeues += 1;
            self.remove(rqs, cpu, pid);
        }
        true
    }

    fn yield_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId, pid: Pid) {
        self.tasks[pid.index()].server.yielded = true;
        self.update_curr(rqs, platform, cpu);
    }

    fn check_preempt_curr(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        pid: Pid,
        _challenge: Challenge,
    ) {
        if rqs.thread(pid).class != ClassId::Deadline {
            return;
        }
        let curr = rqs.curr(cpu);
        let (new, old) = (self.deadline_of(pid), self.deadline_of(curr));
        let rule = if before(new, old) {
            rules::DL_EARLIER
        } else if new == old && self.could_swap(rqs, pid, curr) {
            rules::DL_EQUAL_PINNED
        } else {
            rules::DL_NOT_EARLIER
        };
        self.because(rqs, platform, (Question::Preempt, rule), cpu, pid);
        if rule != rules::DL_NOT_EARLIER {
            rqs.resched_curr(platform, cpu);
        }
    }

    fn pick_next_task(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
    ) -> Option<Pid> {
        let first = self.rqs[cpu.index()].tree.leftmost()?.pid();
        platform.because(Question::Pick, cpu, rules::DL_EARLIEST, |evidence| {
            self.account_of_pick(rqs, cpu, evidence);
        });
        self.tasks[first.index()].exec_start = rqs.clock(cpu);
        rqs.rqs[cpu.index()].post_schedule = self.overload.is_overloaded(cpu);
        Some(first)
    }

    fn put_prev_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId, _pid: Pid) {
        self.update_curr(rqs, platform, cpu);
    }

    fn set_curr_task(&mut self, rqs: &mut Rqs, _platform: &mut Platform, cpu: CpuId, pid: Pid) {
        self.tasks[pid.index()].exec_start = rqs.clock(cpu);
    }

    fn select_task_rq(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        pid: Pid,
        select: Select,
    ) -> CpuId {
        let (chosen, rule) = match select {
            Select::Fork => (rqs.this_cpu, rules::DL_FORK),
            Select::Wakeup { .. } => self.select_at_wakeup(rqs, pid),
        };
        self.because(rqs, platform, (Question::SelectCpu, rule), chosen, pid);
        chosen
    }

    fn task_tick(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId, _pid: Pid) {
        self.update_curr(rqs, platform, cpu);
    }

    fn task_woken(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId, pid: Pid) {
        if rqs.curr(cpu) != pid && !rqs.resched_pending(cpu) {
            self.push_if_overloaded(rqs, platform, cpu);
        }
    }

    fn pre_schedule(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId, prev: Pid) {
        if !self.tasks[prev.index()].queued {
            self.pull(rqs, platform, cpu);
        }
    }

    fn post_schedule(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId) {
        self.push_if_overloaded(rqs, platform, cpu);
    }

    fn set_cpus_allowed(
        &mut self,
        rqs: &mut Rqs,
        _platform: &mut Platform,
        cpu: CpuId,
        pid: Pid,
        nr: u32,
    ) {
        let was = rqs.thread(pid).nr_cpus_allowed > 1;
        if self.tasks[pid.index()].queued && was != (nr > 1) {
            let rq = &mut self.rqs[cpu.index()];
            rq.nr_migratory = if was { rq.nr_migratory - 1 } else { rq.nr_migratory + 1 };
            self.earliest_changed(cpu);
        }
    }

    fn switched_to(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId, pid: Pid) {
        if rqs.curr(cpu) == pid {
            return;
        }
        if rqs.thread(rqs.curr(cpu)).class == ClassId::Deadline {
            self.check_preempt_curr(rqs, platform, cpu, pid, Challenge::Other);
        } else {
            platform.by_rule(Question::Preempt, cpu, core_rules::CLASS_ABOVE);
            rqs.resched_curr(platform, cpu);
        }
    }

    fn prio_changed(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        pid: Pid,
        _old_prio: i16,
    ) {
        if rqs.curr(cpu) == pid {
            // It may no longer be the earliest.
            platform.by_rule(Question::Preempt, cpu, rules::DL_NO_LONGER_FIRST);
            rqs.resched_curr(platform, cpu);
        } else {
            self.switched_to(rqs, platform, cpu, pid);
        }
    }
}
