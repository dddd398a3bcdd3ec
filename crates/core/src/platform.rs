//! What a scheduler may ask of the machine: the time, a reschedule, a timer.
//!
//! The machine hands a [`Platform`] to every hook. It answers the few questions that a kernel's
//! scheduler puts to hardware and timekeeping, and takes the few orders it gives. It knows nothing
//! of what tasks are going to do.

use crate::errno::Errno;
use crate::reason::{Account, Evidence, Question, Rule};
use crate::{CpuBits, CpuId, TaskId, WorkCounts};
use alloc::vec::Vec;

/// A timer of the scheduler's own (real-time period, deadline replenishment, bandwidth refill,
/// hrtick). The scheduler chooses the number; at most one expiry is pending for each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TimerKey(pub u32);

/// When within its nanosecond a timer fires.
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
    /// Fire at `at_ns`; what was pending for the key is forgotten. A time already past fires at the
    /// present nanosecond, after the ticks.
    Arm {
        /// Which timer.
        key: TimerKey,
        /// When within its nanosecond.
        phase: TimerPhase,
        /// Virtual time, ns.
        at_ns: u64,
    },
    /// Do not fire.
    Cancel {
        /// Which timer.
        key: TimerKey,
    },
}

/// A task that moved from one CPU's runqueue to another's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Migration {
    /// Who.
    pub task: TaskId,
    /// From where.
    pub from: CpuId,
    /// To where.
    pub to: CpuId,
    /// By which rule.
    pub why: Rule,
}

/// The machine as a scheduler sees it.
#[derive(Debug)]
pub struct Platform {
    now_ns: u64,
    jiffies: u64,
    hz: u32,
    cpus: u32,
    resched: CpuBits,
    /// CPUs whose ticks have raised a softirq that has not run; none: softirqs run within ticks.
    softirqs: Option<CpuBits>,
    /// The CPU on which the present hook is executed, if requests to others are to be noted.
    acting: Option<CpuId>,
    /// What schedulers have touched. They only ever add; whoever wants to know what one hook did
    /// clears it before.
    pub work: WorkCounts,
    /// CPUs that another CPU asked to reschedule, which had not yet been asked: each is an
    /// inter-processor interrupt. Noted only while [`set_acting`](Platform::set_acting) says who
    /// acts; the machine drains this after every hook.
    pub interrupts: Vec<CpuId>,
    /// Runqueue locks taken while that of another CPU was held: the CPU whose was held, and the
    /// other. Noted, and drained, like `interrupts`.
    pub second_locks: Vec<(CpuId, CpuId)>,
    /// Orders not yet carried out. The machine drains this after every hook.
    pub timer_orders: Vec<TimerOrder>,
    /// Moves not yet told to the observers. The machine drains this after every hook.
    pub migrations: Vec<Migration>,
    /// System calls that failed, not yet told to the observers. The machine drains this after every
    /// hook.
    pub refusals: Vec<(TaskId, Errno)>,
    /// Whether anything may stand in the lists above, or accounts are to be handed over: one test
    /// for the machine after a hook.
    pending: bool,
    /// The rule that was last named for each [`Question`].
    why: [Rule; Question::COUNT],
    /// Decisions with their grounds, not yet handed to the observers; none if nobody asked.
    accounts: Option<Vec<Account>>,
}

impl Platform {
    /// A machine of `cpus` CPUs that tick `hz` times a second, at time 0.
    pub fn new(cpus: u32, hz: u32) -> Platform {
        Platform {
            now_ns: 0,
            jiffies: 0,
            hz,
            cpus,
            resched: CpuBits::new(cpus),
            softirqs: None,
            acting: None,
            work: WorkCounts::default(),
            interrupts: Vec::new(),
            second_locks: Vec::new(),
            timer_orders: Vec::with_capacity(64),
            migrations: Vec::with_capacity(64),
            refusals: Vec::new(),
            pending: false,
            why: [Rule::NONE; Question::COUNT],
            accounts: None,
        }
    }

    /// The present time, ns since the start.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Ticks since the start: k from the k-th tick on.
    #[inline]
    pub fn jiffies(&self) -> u64 {
        self.jiffies
    }

    /// Ticks a second.
    #[inline]
    pub fn hz(&self) -> u32 {
        self.hz
    }

    /// Number of CPUs.
    #[inline]
    pub fn cpus(&self) -> u32 {
        self.cpus
    }

    /// Asks `cpu` to call [`Scheduler::schedule`](crate::Scheduler::schedule) before it goes on
    /// with user code.
    #[inline]
    pub fn resched(&mut self, cpu: CpuId) {
        if self.acting.is_some_and(|acting| acting != cpu) && !self.resched.contains(cpu) {
            self.interrupts.push(cpu);
        }
        self.resched.insert(cpu);
    }

    /// The tick of `cpu` raises its softirq: the machine will call
    /// [`Scheduler::softirq`](crate::Scheduler::softirq). False: it will not, and what is to be
    /// done there is to be done now.
    #[inline]
    pub fn raise_softirq(&mut self, cpu: CpuId) -> bool {
        match &mut self.softirqs {
            Some(softirqs) => softirqs.insert(cpu),
            None => return false,
        }
        true
    }

    /// Tells that the runqueue lock of `other` is taken while that of `held` is (`double_rq_lock`,
    /// `double_lock_balance`).
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

    /// Fire the timer `key` at `at_ns`; forgets what was pending for it.
    pub fn arm_timer(&mut self, key: TimerKey, phase: TimerPhase, at_ns: u64) {
        self.pending = true;
        self.timer_orders.push(TimerOrder::Arm { key, phase, at_ns });
    }

    /// Forgets what was pending for the timer `key`.
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

    /// Tells that `task` does not get the attributes that were asked for. It keeps those it has; a
    /// new task starts as `SCHED_OTHER`.
    pub fn refuse(&mut self, task: TaskId, why: Errno) {
        self.pending = true;
        self.refusals.push((task, why));
    }

    /// Names the rule by which a decision about `cpu` is being made: the CPU that picks, on which a
    /// task would preempt, that was selected, or that pulls or pushes. What it rests on is made
    /// only if somebody [asked](Platform::ask).
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

    /// Names the rule by which a decision is being made that rests on nothing but the rule.
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

    /// Whether somebody asked for the grounds of decisions.
    #[inline]
    pub fn is_asked(&self) -> bool {
        self.accounts.is_some()
    }

    /// For the driver of a scheduler: decisions from now on come with their grounds, or no longer.
    pub fn ask(&mut self, asked: bool) {
        self.accounts = asked.then(Vec::new);
    }

    /// For the driver of a scheduler: a hook begins that may decide; no rule has been named yet.
    #[inline]
    pub fn forget_rules(&mut self) {
        self.why = [Rule::NONE; Question::COUNT];
    }

    /// For the driver of a scheduler: the rule that was last named.
    #[inline]
    pub fn rule(&self, question: Question) -> Rule {
        self.why[question as usize]
    }

    /// The decisions that have been accounted for and not yet been taken.
    pub fn accounts(&self) -> &[Account] {
        self.accounts.as_deref().unwrap_or_default()
    }

    /// For the driver of a scheduler: whether there is anything to carry out or to report since the
    /// last call. It is then drained from [`timer_orders`](Platform::timer_orders),
    /// [`migrations`](Platform::migrations), [`refusals`](Platform::refusals) and
    /// [`take_accounts`](Platform::take_accounts).
    #[inline]
    pub fn take_pending(&mut self) -> bool {
        core::mem::replace(&mut self.pending, false)
    }

    /// For the driver of a scheduler: takes the decisions that have been accounted for.
    pub fn take_accounts(&mut self) -> Vec<Account> {
        self.accounts.as_mut().map(core::mem::take).unwrap_or_default()
    }

    /// For the driver of a scheduler: it is now `now_ns`. Time never goes back.
    #[inline]
    pub fn set_now_ns(&mut self, now_ns: u64) {
        debug_assert!(now_ns >= self.now_ns, "time went back from {} to {now_ns}", self.now_ns);
        self.now_ns = now_ns;
    }

    /// For the driver of a scheduler: the hooks that follow are executed on `cpu`, and what they
    /// ask of others is to be noted. None: it is not.
    #[inline]
    pub fn set_acting(&mut self, cpu: Option<CpuId>) {
        self.acting = cpu;
    }

    /// For the driver of a scheduler: another tick has begun.
    #[inline]
    pub fn set_jiffies(&mut self, jiffies: u64) {
        self.jiffies = jiffies;
    }

    /// For the driver of a scheduler: takes back the request of `cpu`, as it is about to call
    /// `schedule`.
    #[inline]
    pub fn clear_resched(&mut self, cpu: CpuId) {
        self.resched.remove(cpu);
    }

    /// For the driver of a scheduler: softirqs run apart from the ticks that raise them.
    pub fn put_off_softirqs(&mut self) {
        self.softirqs.get_or_insert_with(|| CpuBits::new(self.cpus));
    }

    /// For the driver of a scheduler: whether the softirq of `cpu` has been raised and has not run.
    #[inline]
    pub fn softirq_pending(&self, cpu: CpuId) -> bool {
        self.softirqs.as_ref().is_some_and(|softirqs| softirqs.contains(cpu))
    }

    /// For the driver of a scheduler: takes the lowest CPU whose softirq has been raised; it is
    /// about to run.
    #[inline]
    pub fn take_softirq(&mut self) -> Option<CpuId> {
        let softirqs = self.softirqs.as_mut()?;
        let cpu = softirqs.next(0)?;
        softirqs.remove(cpu);
        Some(cpu)
    }

    /// For the driver of a scheduler: the lowest CPU from `from` on that has been asked to
    /// reschedule.
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
        assert!(platform.interrupts.is_empty(), "nobody wants to know");
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
