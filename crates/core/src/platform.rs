//! The services of the machine that a scheduler uses: the clock, reschedules, timers.
//!
//! The machine hands a [`Platform`] to every hook. The platform answers the few queries that a
//! kernel's scheduler addresses to hardware and timekeeping, and accepts the scheduler's few
//! orders. It has no information about what tasks will do.

use crate::errno::Errno;
use crate::reason::{Account, Evidence, Question, Rule};
use crate::{CpuBits, CpuId, GroupId, TaskId, WorkCounts};
use alloc::vec::Vec;

/// A timer of the scheduler (real-time period, deadline replenishment, bandwidth refill, hrtick).
/// The scheduler chooses the number. At most one expiry is pending for each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TimerKey(pub u32);

/// The moment within its nanosecond at which a timer fires.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum TimerPhase {
    /// After work that ended, before tasks that start or wake.
    BeforeWakeups,
    /// After tasks that start or wake, before the ticks.
    BeforeTicks,
}

/// An order to the machine about a timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimerOrder {
    /// Fire at `at_ns`. A pending expiry for the key is discarded. A time already past fires at the
    /// current nanosecond, after the ticks.
    Arm {
        /// The timer.
        key: TimerKey,
        /// The moment within its nanosecond.
        phase: TimerPhase,
        /// Virtual time, ns.
        at_ns: u64,
    },
    /// Discard the pending expiry.
    Cancel {
        /// The timer.
        key: TimerKey,
    },
}

/// A task that moved from one CPU's runqueue to another's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Migration {
    /// The task.
    pub task: TaskId,
    /// The previous CPU.
    pub from: CpuId,
    /// The new CPU.
    pub to: CpuId,
    /// The rule that moved it.
    pub why: Rule,
}

/// A CPU's queue of a group that is throttled because the group has used up its limit (CPU
/// bandwidth control), or that is no longer throttled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Throttling {
    /// The group with the limit.
    pub group: GroupId,
    /// The CPU.
    pub cpu: CpuId,
    /// Whether the queue is throttled from now on. Otherwise it has runtime again, or the limit has
    /// been lifted.
    pub is_throttled: bool,
    /// CPU time that the group may use in each period, ns. `None`: it has no limit any more.
    pub quota_ns: Option<u64>,
    /// The period, ns.
    pub period_ns: u64,
    /// Time of the next refill, ns. (Runtime that another CPU returns may come earlier.) `None`: no
    /// refill is due.
    pub refill_ns: Option<u64>,
}

/// The machine as a scheduler sees it.
#[derive(Debug)]
pub struct Platform {
    now_ns: u64,
    jiffies: u64,
    hz: u32,
    cpus: u32,
    resched: CpuBits,
    /// CPUs whose ticks have raised a softirq that has not run. `None`: softirqs run within ticks.
    softirqs: Option<CpuBits>,
    /// The CPU on which the current hook is executed, if requests to other CPUs are to be recorded.
    acting: Option<CpuId>,
    /// The task that makes the current system call. `None`: the call comes from outside.
    caller: Option<TaskId>,
    /// Work that schedulers have done. They only add to it. To measure one hook, clear it before
    /// the hook.
    pub work: WorkCounts,
    /// CPUs that another CPU asked to reschedule and that had not been asked before: each is an
    /// inter-processor interrupt. Recorded only while [`set_acting`](Platform::set_acting) names
    /// the acting CPU. The machine drains this after every hook.
    pub interrupts: Vec<CpuId>,
    /// Runqueue locks taken while that of another CPU was held: the CPU whose lock was held, and
    /// the other. Recorded, and drained, like `interrupts`.
    pub second_locks: Vec<(CpuId, CpuId)>,
    /// Orders not yet carried out. The machine drains this after every hook.
    pub timer_orders: Vec<TimerOrder>,
    /// Migrations not yet reported to the observers. The machine drains this after every hook.
    pub migrations: Vec<Migration>,
    /// Failed system calls not yet reported to the observers. The machine drains this after every
    /// hook.
    pub refusals: Vec<(TaskId, Errno)>,
    /// Whether the lists above may have entries, or accounts are to be handed over: a single test
    /// for the machine after a hook.
    pending: bool,
    /// The rule last named for each [`Question`].
    why: [Rule; Question::COUNT],
    /// Decisions with their grounds, not yet handed to the observers. `None`: not requested.
    accounts: Option<Vec<Account>>,
    /// Changes of throttling, not yet handed to the observers. `None`: not requested.
    throttlings: Option<Vec<Throttling>>,
}

impl Platform {
    /// Creates a machine of `cpus` CPUs that tick `hz` times a second, at time 0.
    pub fn new(cpus: u32, hz: u32) -> Platform {
        Platform {
            now_ns: 0,
            jiffies: 0,
            hz,
            cpus,
            resched: CpuBits::new(cpus),
            softirqs: None,
            acting: None,
            caller: None,
            work: WorkCounts::default(),
            interrupts: Vec::new(),
            second_locks: Vec::new(),
            timer_orders: Vec::with_capacity(64),
            migrations: Vec::with_capacity(64),
            refusals: Vec::new(),
            pending: false,
            why: [Rule::NONE; Question::COUNT],
            accounts: None,
            throttlings: None,
        }
    }

    /// Returns the current time, ns since the start.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Returns the number of ticks since the start. It is k from the k-th tick on.
    #[inline]
    pub fn jiffies(&self) -> u64 {
        self.jiffies
    }

    /// Returns the number of ticks per second.
    #[inline]
    pub fn hz(&self) -> u32 {
        self.hz
    }

    /// Returns the number of CPUs.
    #[inline]
    pub fn cpus(&self) -> u32 {
        self.cpus
    }

    /// Asks `cpu` to call [`Scheduler::schedule`](crate::Scheduler::schedule) before it continues
    /// with user code.
    #[inline]
    pub fn resched(&mut self, cpu: CpuId) {
        if self.acting.is_some_and(|acting| acting != cpu) && !self.resched.contains(cpu) {
            self.interrupts.push(cpu);
        }
        self.resched.insert(cpu);
    }

    /// Raises the softirq of `cpu` at its tick. Returns `true` if the machine will call
    /// [`Scheduler::softirq`](crate::Scheduler::softirq), and `false` if the caller must do the
    /// work itself, now.
    #[inline]
    pub fn raise_softirq(&mut self, cpu: CpuId) -> bool {
        match &mut self.softirqs {
            Some(softirqs) => softirqs.insert(cpu),
            None => return false,
        }
        true
    }

    /// Reports that the runqueue lock of `other` is taken while that of `held` is held
    /// (`double_rq_lock`, `double_lock_balance`).
    pub fn double_lock(&mut self, held: CpuId, other: CpuId) {
        self.work.double_locks += 1;
        if self.acting.is_some() && held != other {
            self.second_locks.push((held, other));
        }
    }

    /// Whether `cpu` has been asked to reschedule and has not yet done so.
    #[inline]
    pub fn resched_pending(&self, cpu: CpuId) -> bool {
        self.resched.contains(cpu)
    }

    /// Makes the timer `key` fire at `at_ns`. A pending expiry of it is discarded.
    pub fn arm_timer(&mut self, key: TimerKey, phase: TimerPhase, at_ns: u64) {
        self.pending = true;
        self.timer_orders.push(TimerOrder::Arm { key, phase, at_ns });
    }

    /// Discards the pending expiry of the timer `key`.
    pub fn cancel_timer(&mut self, key: TimerKey) {
        self.pending = true;
        self.timer_orders.push(TimerOrder::Cancel { key });
    }

    /// Reports that `task` now belongs to the runqueue of `to`, by the rule last named for
    /// [`Question::Migrate`]. The scheduler has already moved it.
    pub fn migrated(&mut self, task: TaskId, from: CpuId, to: CpuId) {
        let why = self.why[Question::Migrate as usize];
        self.pending = true;
        self.migrations.push(Migration { task, from, to, why });
    }

    /// Reports that `task` does not receive the requested attributes. It keeps its present ones. A
    /// new task starts as `SCHED_OTHER`.
    pub fn refuse(&mut self, task: TaskId, why: Errno) {
        self.pending = true;
        self.refusals.push((task, why));
    }

    /// Names the rule of a decision about `cpu`: the CPU that picks, on which a task would preempt,
    /// that was selected, or that pulls or pushes. The evidence is collected only on
    /// [request](Platform::ask).
    #[inline]
    pub fn because(
        &mut self,
        question: Question,
        cpu: CpuId,
        rule: Rule,
        evidence: impl FnOnce(&mut Evidence),
    ) {
        self.why[question as usize] = rule;
        if self.accounts.is_some() {
            self.account(question, cpu, rule, evidence);
        }
    }

    /// Names the rule of a decision that needs no evidence.
    #[inline]
    pub fn by_rule(&mut self, question: Question, cpu: CpuId, rule: Rule) {
        self.because(question, cpu, rule, |_| ());
    }

    #[cold]
    fn account(
        &mut self,
        question: Question,
        cpu: CpuId,
        rule: Rule,
        make: impl FnOnce(&mut Evidence),
    ) {
        let mut evidence = Evidence::default();
        make(&mut evidence);
        if let Some(accounts) = &mut self.accounts {
            self.pending = true;
            accounts.push(Account { question, cpu, rule, evidence });
        }
    }

    /// Reports that a queue of a group is throttled, or no longer is. `make` is called only on
    /// [request](Platform::ask_throttling).
    pub fn throttling(&mut self, make: impl FnOnce() -> Throttling) {
        if let Some(throttlings) = &mut self.throttlings {
            self.pending = true;
            throttlings.push(make());
        }
    }

    /// Whether the grounds of decisions have been requested.
    #[inline]
    pub fn is_asked(&self) -> bool {
        self.accounts.is_some()
    }

    /// For the driver of a scheduler: starts or stops collecting the grounds of decisions.
    pub fn ask(&mut self, asked: bool) {
        self.accounts = asked.then(Vec::new);
    }

    /// For the driver of a scheduler: starts or stops collecting changes of throttling.
    pub fn ask_throttling(&mut self, asked: bool) {
        self.throttlings = asked.then(Vec::new);
    }

    /// For the driver of a scheduler: forgets the named rule, because a hook begins that may
    /// decide.
    #[inline]
    pub fn forget_rules(&mut self) {
        self.why = [Rule::NONE; Question::COUNT];
    }

    /// For the driver of a scheduler: returns the rule last named.
    #[inline]
    pub fn rule(&self, question: Question) -> Rule {
        self.why[question as usize]
    }

    /// Returns the accounts of decisions that have not yet been taken.
    pub fn accounts(&self) -> &[Account] {
        self.accounts.as_deref().unwrap_or_default()
    }

    /// For the driver of a scheduler: returns whether there may be anything to carry out or to
    /// report since the last call. The driver then drains [`timer_orders`](Platform::timer_orders),
    /// [`migrations`](Platform::migrations), [`refusals`](Platform::refusals),
    /// [`take_throttlings`](Platform::take_throttlings) and
    /// [`take_accounts`](Platform::take_accounts).
    #[inline]
    pub fn take_pending(&mut self) -> bool {
        core::mem::replace(&mut self.pending, false)
    }

    /// For the driver of a scheduler: takes the accounts of decisions.
    pub fn take_accounts(&mut self) -> Vec<Account> {
        self.accounts.as_mut().map(core::mem::take).unwrap_or_default()
    }

    /// For the driver of a scheduler: takes the changes of throttling.
    pub fn take_throttlings(&mut self) -> Vec<Throttling> {
        self.throttlings.as_mut().map(core::mem::take).unwrap_or_default()
    }

    /// For the driver of a scheduler: sets the time to `now_ns`. Time never goes back.
    #[inline]
    pub fn set_now_ns(&mut self, now_ns: u64) {
        debug_assert!(now_ns >= self.now_ns, "time went back from {} to {now_ns}", self.now_ns);
        self.now_ns = now_ns;
    }

    /// For the driver of a scheduler: states that the following hooks are executed on `cpu`, and
    /// that their requests to other CPUs are to be recorded. `None`: they are not recorded.
    #[inline]
    pub fn set_acting(&mut self, cpu: Option<CpuId>) {
        self.acting = cpu;
    }

    /// For the driver of a scheduler: states which task makes the system call whose hook follows.
    /// `None`: the call comes from outside.
    #[inline]
    pub fn set_caller(&mut self, task: Option<TaskId>) {
        self.caller = task;
    }

    /// Returns the task that makes the current change of affinity. `None`: the change comes from
    /// outside.
    #[inline]
    pub fn caller(&self) -> Option<TaskId> {
        self.caller
    }

    /// For the driver of a scheduler: records that another tick has begun.
    #[inline]
    pub fn set_jiffies(&mut self, jiffies: u64) {
        self.jiffies = jiffies;
    }

    /// For the driver of a scheduler: clears the request of `cpu`, which is about to call
    /// `schedule`.
    #[inline]
    pub fn clear_resched(&mut self, cpu: CpuId) {
        self.resched.remove(cpu);
    }

    /// For the driver of a scheduler: makes softirqs run separately from the ticks that raise them.
    pub fn put_off_softirqs(&mut self) {
        self.softirqs.get_or_insert_with(|| CpuBits::new(self.cpus));
    }

    /// For the driver of a scheduler: returns whether the softirq of `cpu` has been raised and has
    /// not run.
    #[inline]
    pub fn softirq_pending(&self, cpu: CpuId) -> bool {
        self.softirqs.as_ref().is_some_and(|softirqs| softirqs.contains(cpu))
    }

    /// For the driver of a scheduler: returns the lowest CPU whose softirq has been raised, and
    /// clears the request. The CPU is about to run the softirq.
    #[inline]
    pub fn take_softirq(&mut self) -> Option<CpuId> {
        let softirqs = self.softirqs.as_mut()?;
        let cpu = softirqs.next(0)?;
        softirqs.remove(cpu);
        Some(cpu)
    }

    /// For the driver of a scheduler: returns the lowest CPU at or above `from` that has been asked
    /// to reschedule.
    #[inline]
    pub fn next_resched(&self, from: u32) -> Option<CpuId> {
        self.resched.next(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resched_requests_are_found_in_order() {
        let mut platform = Platform::new(4096, 1000);
        assert_eq!(platform.next_resched(0), None);
        for cpu in [3, 63, 64, 4095] {
            platform.resched(CpuId(cpu));
        }
        let mut seen = Vec::new();
        let mut from = 0;
        while let Some(cpu) = platform.next_resched(from) {
            seen.push(cpu.0);
            from = cpu.0 + 1;
        }
        assert_eq!(seen, [3, 63, 64, 4095]);
        platform.clear_resched(CpuId(63));
        assert!(!platform.resched_pending(CpuId(63)));
        assert_eq!(platform.next_resched(4), Some(CpuId(64)));
        platform.clear_resched(CpuId(4095));
        assert_eq!(platform.next_resched(65), None);
    }

    #[test]
    fn only_the_first_request_to_another_cpu_is_an_interrupt() {
        let mut platform = Platform::new(4, 1000);
        platform.resched(CpuId(1));
        assert!(platform.interrupts.is_empty(), "no CPU is acting");
        platform.set_acting(Some(CpuId(0)));
        platform.resched(CpuId(0));
        platform.resched(CpuId(1));
        platform.resched(CpuId(2));
        platform.resched(CpuId(2));
        platform.double_lock(CpuId(0), CpuId(3));
        assert_eq!(platform.interrupts, [CpuId(2)]);
        assert_eq!(platform.second_locks, [(CpuId(0), CpuId(3))]);
    }
}
