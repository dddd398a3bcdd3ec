//! The policies of the textbooks: FCFS, SJF, SRTF, HRRN, priority, round robin, multilevel queues,
//! multilevel feedback.
//!
//! # The common machine
//!
//! There is one **ready queue** for all CPUs. A free CPU (the lowest number first) takes the first
//! task in it. The meaning of "first", whether an arrival may preempt, and the effect of the end of
//! a quantum make up the policy: a set of [`Rules`]. The file `releases.rs` contains them, one set
//! for each policy, and can be read as a table of contents of the subject.
//!
//! Ties go to the task that **joined** earlier. A woken or new task joins, and so does a task whose
//! quantum has ended. A preempted task returns with its old time of joining, that is, to the head
//! of its equals, and keeps the rest of its quantum.
//!
//! Within one instant the order is: bursts that end, then arrivals in the order of input, then ends
//! of quanta, then the decision. So an arrival is queued before the task whose quantum ends at that
//! instant.
//!
//! # Knowing the future
//!
//! `sjf`, `srtf` and `hrrn` receive the length of each burst in advance ([`Clairvoyant`]). Their
//! `predicted` forms, which a kernel could really use, estimate it from earlier bursts: the next
//! estimate is the mean of the last burst and the last estimate.
//!
//! # Sources
//!
//! Silberschatz et al. and Stallings for the policies. Where the books leave a choice (the
//! behaviour of several CPUs, which task loses a tie) it was made here, and
//! `docs/schedulers/textbook.md` documents the choice.

mod audit;
mod ready;
mod releases;
mod rules;

pub use releases::{
    FB_RULES, FB1_RULES, FCFS, FCFS_RULES, Feedback, HRRN, HRRN_RULES, MLFQ, MLFQ_RULES,
    MLFQ_TEACHING_RULES, MLQ, MLQ_RULES, MLQ_SLICED_RULES, OrderBy, PRIORITY,
    PRIORITY_PREEMPTIVE_RULES, PRIORITY_RULES, RR, RR_RULES, Rules, SJF, SJF_RULES, SRTF,
    SRTF_RULES,
};

use alloc::string::String;
use alloc::vec::Vec;
use ready::{Place, Ready};
use schedlab_core::{
    BlockReason, Candidate, Clairvoyant, Command, ControlError, CpuBits, CpuId, CpuSet, Inspect,
    Load, Locking, Parent, Platform, Policy, Promises, Question, Reply, Rule, RuleDoc, SchedAttr,
    Scheduler, TaskAttr, TaskId, TaskTable, TimerKey, TimerPhase, Tunable, TunableError, Waker,
    tunables,
};

/// The classes of a multilevel queue, best first. Under all other policies every task is of the
/// first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Class {
    /// `SCHED_OTHER`.
    #[default]
    Other,
    /// `SCHED_BATCH`.
    Batch,
    /// `SCHED_IDLE`.
    Idle,
}

impl Class {
    const ALL: [Class; 3] = [Class::Other, Class::Batch, Class::Idle];

    /// Returns all classes from this one on, in a ring: the first follows the last.
    const fn and_after(self) -> [Class; Class::ALL.len()] {
        match self {
            Class::Other => Class::ALL,
            Class::Batch => [Class::Batch, Class::Idle, Class::Other],
            Class::Idle => [Class::Idle, Class::Other, Class::Batch],
        }
    }

    const fn index(self) -> usize {
        self as usize
    }
}

/// A quantum that never ends.
const NO_QUANTUM: u64 = u64::MAX;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum State {
    #[default]
    Asleep,
    Ready,
    Running,
}

#[derive(Clone, Debug)]
struct Task {
    state: State,
    allowed: CpuSet,
    /// The CPU on which it runs, or ran last.
    cpu: CpuId,
    /// Priority: nice + 20, smaller is better.
    priority: u64,
    class: Class,
    /// Level of feedback.
    level: u32,
    /// When it joined the ready queue, as a running number.
    joined: u64,
    /// Time since which it has been ready, or running without having been dispatched, or at which
    /// it last left a CPU; ns.
    ready_since_ns: u64,
    /// Length of the burst as announced ([`Clairvoyant::next_burst`]), ns.
    burst_ns: u64,
    /// Estimated length of the burst, ns.
    tau_ns: u64,
    /// CPU time used in this burst, ns.
    used_ns: u64,
    /// CPU time used since it was dispatched, ns.
    ran_ns: u64,
    /// Time up to which `used_ns`, `ran_ns`, `quantum_left_ns` and `allotment_left_ns` are current,
    /// while it runs; ns.
    charged_ns: u64,
    /// The rest of the quantum, ns.
    quantum_left_ns: u64,
    /// The rest of the allotment at this level, ns.
    allotment_left_ns: u64,
    /// Its aged priority when it was dispatched.
    dispatch_priority: u64,
}

impl Default for Task {
    fn default() -> Task {
        Task {
            state: State::Asleep,
            allowed: CpuSet::All,
            cpu: CpuId(0),
            priority: 0,
            class: Class::Other,
            level: 0,
            joined: 0,
            ready_since_ns: 0,
            burst_ns: 0,
            tau_ns: 0,
            used_ns: 0,
            ran_ns: 0,
            charged_ns: 0,
            quantum_left_ns: 0,
            allotment_left_ns: 0,
            dispatch_priority: 0,
        }
    }
}

/// The parameters of a policy, all of which can be set.
#[derive(Clone, Copy, Debug)]
struct Tunables {
    quantum_ns: u64,
    levels: u32,
    aging_ns: u64,
    boost_ns: u64,
    allotment_ns: u64,
    cycle_ns: u64,
    /// Class 0's part of a cycle, in percent. The rest is class 1's.
    first_part_percent: u64,
    tau_ns: u64,
}

/// A machine under a textbook policy.
#[derive(Debug)]
pub struct Textbook {
    rules: Rules,
    tunables: Tunables,
    tasks: TaskTable<Task>,
    /// The ready queue, a part for each class.
    ready: [Ready; Class::ALL.len()],
    /// The running task of each CPU.
    running: Vec<Option<TaskId>>,
    /// CPUs that are idle and have not been asked to reschedule for an arrival.
    free: CpuBits,
    /// CPUs that have been asked to reschedule for an arrival.
    promised: Vec<bool>,
    /// By CPU: the task for which it was last asked to reschedule, until it has done so.
    offered: Vec<Option<TaskId>>,
    /// The number last given to a joining task.
    joined: u64,
    /// The class whose part of the cycle it is at present.
    owner: Class,
    /// Whether the periodic timers run.
    ticking: bool,
    /// Time at which a CPU last rescheduled, ns. Only for [`Inspect::candidates`], which has no
    /// clock.
    seen_ns: u64,
}

impl Textbook {
    /// Creates the scheduler on an idle machine.
    pub fn new(cpus: u32, rules: Rules) -> Textbook {
        let mut free = CpuBits::new(cpus);
        (0..cpus).for_each(|cpu| free.insert(CpuId(cpu)));
        Textbook {
            rules,
            tunables: Tunables {
                quantum_ns: rules.quantum_ns,
                levels: rules.levels,
                aging_ns: 0,
                boost_ns: 100_000_000,
                allotment_ns: 10_000_000,
                cycle_ns: 100_000_000,
                first_part_percent: 80,
                tau_ns: 10_000_000,
            },
            tasks: TaskTable::new(),
            ready: Default::default(),
            running: alloc::vec![None; cpus as usize],
            free,
            promised: alloc::vec![false; cpus as usize],
            offered: alloc::vec![None; cpus as usize],
            joined: 0,
            owner: Class::Other,
            ticking: false,
            seen_ns: 0,
        }
    }

    // ---- Order: which task is first ----

    /// Returns the rank of `task` at `now_ns`; smaller is better.
    fn rank(&self, task: TaskId, now_ns: u64) -> u64 {
        let t = &self.tasks[task];
        match self.rules.order_by {
            OrderBy::Arrival | OrderBy::Class | OrderBy::ResponseRatio => 0,
            OrderBy::Burst => self.burst_ns(t),
            OrderBy::Remaining => self.burst_ns(t).saturating_sub(t.used_ns),
            OrderBy::Priority => self.aged_priority(t, now_ns),
            OrderBy::Level => u64::from(t.level),
        }
    }

    fn burst_ns(&self, task: &Task) -> u64 {
        if self.rules.predicted { task.tau_ns } else { task.burst_ns }
    }

    /// Priority, better by one for each aging step waited. A task that was just dispatched keeps
    /// the priority that it had then until it has run for a step. Otherwise it would be preempted
    /// at once.
    fn aged_priority(&self, task: &Task, now_ns: u64) -> u64 {
        let step_ns = self.tunables.aging_ns;
        if step_ns == 0 {
            return task.priority;
        }
        match task.state {
            State::Running if task.ran_ns < step_ns => task.dispatch_priority,
            State::Running => task.priority,
            _ => task.priority.saturating_sub((now_ns - task.ready_since_ns) / step_ns),
        }
    }

    /// Whether waiting alone changes the order of waiting tasks, so that all must be examined.
    fn order_changes_with_time(&self) -> bool {
        match self.rules.order_by {
            OrderBy::ResponseRatio => true,
            OrderBy::Priority => self.tunables.aging_ns > 0,
            _ => false,
        }
    }

    /// Returns the present rank of a class: 0 is best.
    fn class_rank(&self, class: Class) -> usize {
        if self.rules.sliced_classes {
            (class.index() + Class::ALL.len() - self.owner.index()) % Class::ALL.len()
        } else {
            class.index()
        }
    }

    /// Returns the first task of the ready queue that may run on `cpu`.
    fn first_for(&self, cpu: CpuId, now_ns: u64) -> Option<TaskId> {
        // A task that is in the queue again, but has not left its CPU yet, is available to that CPU
        // only.
        let may_run = |task: TaskId| {
            let t = &self.tasks[task];
            t.allowed.contains(cpu) && (t.cpu == cpu || self.running[t.cpu.index()] != Some(task))
        };
        let best = if self.rules.sliced_classes { self.owner } else { Class::Other };
        for class in best.and_after() {
            let ready = &self.ready[class.index()];
            let first = if self.order_changes_with_time() {
                let waiting = ready.iter().map(|(_, task)| task).filter(|&task| may_run(task));
                waiting.reduce(
                    |best, task| if self.is_before(task, best, now_ns) { task } else { best },
                )
            } else {
                ready.first(may_run).map(|(_, task)| task)
            };
            if first.is_some() {
                return first;
            }
        }
        None
    }

    /// For orders that change with time: whether the waiting task `a` comes before the waiting task
    /// `b`.
    fn is_before(&self, a: TaskId, b: TaskId, now_ns: u64) -> bool {
        let (x, y) = (&self.tasks[a], &self.tasks[b]);
        if self.rules.order_by == OrderBy::ResponseRatio {
            // (waited + burst) / burst, compared without dividing.
            let ratio = |of: &Task, other: &Task| {
                u128::from(now_ns - of.ready_since_ns) * u128::from(self.burst_ns(other))
            };
            return (ratio(y, x), x.joined) < (ratio(x, y), y.joined);
        }
        // Equal after aging: the task that has waited longest.
        (self.rank(a, now_ns), x.ready_since_ns, x.joined)
            < (self.rank(b, now_ns), y.ready_since_ns, y.joined)
    }

    /// Whether the waiting `task` may preempt `running`.
    fn preempts(&self, task: TaskId, running: TaskId, now_ns: u64) -> bool {
        self.rules.preemptive
            && self.class_and_rank(task, now_ns) < self.class_and_rank(running, now_ns)
    }

    /// Class and rank, which preemption compares.
    fn class_and_rank(&self, task: TaskId, now_ns: u64) -> (usize, u64) {
        (self.class_rank(self.tasks[task].class), self.rank(task, now_ns))
    }

    // ---- The ready queue ----

    /// `task` joins: behind its equals, with a full quantum.
    fn join(&mut self, task: TaskId, now_ns: u64) {
        self.joined += 1;
        let quantum_ns = self.full_quantum_ns(task);
        let t = &mut self.tasks[task];
        t.joined = self.joined;
        t.quantum_left_ns = quantum_ns;
        self.queue(task, now_ns);
    }

    /// Puts `task` (back) into the queue, at the place that its time of joining gives it.
    fn queue(&mut self, task: TaskId, now_ns: u64) {
        self.unqueue(task);
        let t = &mut self.tasks[task];
        t.state = State::Ready;
        t.ready_since_ns = now_ns;
        let (class, joined) = (t.class.index(), t.joined);
        let rank = if self.order_changes_with_time() { 0 } else { self.rank(task, now_ns) };
        self.ready[class].insert(task, Place { rank, joined });
    }

    /// Removes `task` from the queue if it is in it, even if it is still its CPU's current task
    /// because its quantum has ended in this same nanosecond.
    fn unqueue(&mut self, task: TaskId) {
        if self.tasks[task].state == State::Ready {
            let class = self.tasks[task].class.index();
            self.ready[class].remove(task);
        }
    }

    /// Finds a CPU for the waiting `task`: the lowest free one or, if it may preempt, the one whose
    /// running task is worst.
    fn offer(&mut self, platform: &mut Platform, task: TaskId) {
        let now_ns = platform.now_ns();
        let mut from = 0;
        while let Some(cpu) = self.free.next(from) {
            if self.tasks[task].allowed.contains(cpu) {
                self.free.remove(cpu);
                self.offered[cpu.index()] = Some(task);
                platform.by_rule(Question::Preempt, cpu, rules::FREE_CPU);
                platform.resched(cpu);
                return;
            }
            from = cpu.0 + 1;
        }
        if !self.rules.preemptive {
            let cpu = self.tasks[task].cpu;
            platform.by_rule(Question::Preempt, cpu, rules::NEVER_PREEMPTS);
            return;
        }
        let mut worst: Option<((usize, u64), CpuId)> = None;
        for cpu in (0..platform.cpus()).map(CpuId) {
            let Some(running) = self.running[cpu.index()] else {
                continue;
            };
            if self.promised[cpu.index()] || !self.tasks[task].allowed.contains(cpu) {
                continue;
            }
            self.charge(running, now_ns);
            let key = self.class_and_rank(running, now_ns);
            if self.preempts(task, running, now_ns) && worst.is_none_or(|(most, _)| key > most) {
                worst = Some((key, cpu));
            }
        }
        if let Some((_, cpu)) = worst {
            self.promised[cpu.index()] = true;
            self.offered[cpu.index()] = Some(task);
            self.explain_preempt(platform, task, cpu, rules::PREEMPTS_WORST);
            platform.resched(cpu);
        } else {
            self.explain_preempt(platform, task, self.tasks[task].cpu, rules::NONE_WORSE);
        }
    }

    /// Records the rule by which `task` preempts the running task of `cpu`, or does not, with the
    /// terms that were compared.
    #[inline]
    fn explain_preempt(&self, platform: &mut Platform, task: TaskId, cpu: CpuId, rule: Rule) {
        let now_ns = platform.now_ns();
        platform.because(Question::Preempt, cpu, rule, move |evidence| {
            evidence.term("rank", rules::signed(self.rank(task, now_ns)));
            if let Some(running) = self.running[cpu.index()] {
                evidence.term("running_rank", rules::signed(self.rank(running, now_ns)));
            }
        });
    }

    /// Records the rule of a pick that is about to be carried out.
    #[inline]
    fn explain_pick(&self, platform: &mut Platform, cpu: CpuId, rule: Rule) {
        let now_ns = platform.now_ns();
        platform.because(Question::Pick, cpu, rule, move |evidence| {
            self.list_candidates(cpu, now_ns, &mut evidence.candidates);
        });
    }

    // ---- Time ----

    /// Brings the figures of a running task up to date.
    fn charge(&mut self, task: TaskId, now_ns: u64) {
        let t = &mut self.tasks[task];
        if t.state != State::Running {
            return;
        }
        let ran_ns = now_ns - t.charged_ns;
        t.charged_ns = now_ns;
        t.used_ns += ran_ns;
        t.ran_ns += ran_ns;
        if t.quantum_left_ns != NO_QUANTUM {
            t.quantum_left_ns = t.quantum_left_ns.saturating_sub(ran_ns);
        }
        t.allotment_left_ns = t.allotment_left_ns.saturating_sub(ran_ns);
    }

    /// Returns the quantum that `task` gets when it next joins, ns; or [`NO_QUANTUM`].
    fn full_quantum_ns(&self, task: TaskId) -> u64 {
        let t = &self.tasks[task];
        let quantum_ns = self.tunables.quantum_ns;
        if quantum_ns == 0 || (self.rules.order_by == OrderBy::Class && t.class != Class::Other) {
            return NO_QUANTUM;
        }
        match self.rules.feedback {
            Feedback::None | Feedback::StallingsEqual => quantum_ns,
            Feedback::Doubling | Feedback::Stallings => quantum_ns << t.level,
            Feedback::Teaching => quantum_ns.min(t.allotment_left_ns),
        }
    }

    /// Handles the end of the quantum of `task`.
    fn quantum_ended(&mut self, task: TaskId) {
        let others_ready = self.ready.iter().any(|ready| !ready.is_empty());
        let demote = match self.rules.feedback {
            Feedback::None => false,
            Feedback::Doubling => true,
            Feedback::Stallings | Feedback::StallingsEqual => others_ready,
            Feedback::Teaching => self.tasks[task].allotment_left_ns == 0,
        };
        if demote {
            let level = (self.tasks[task].level + 1).min(self.tunables.levels - 1);
            self.set_level(task, level);
        }
    }

    fn set_level(&mut self, task: TaskId, level: u32) {
        let t = &mut self.tasks[task];
        t.level = level;
        t.allotment_left_ns = self.tunables.allotment_ns;
    }

    /// Handles the end of the burst of `task`.
    fn burst_ended(&mut self, task: TaskId) {
        let t = &mut self.tasks[task];
        t.tau_ns = (t.used_ns + t.tau_ns) / 2;
        t.used_ns = 0;
        let (level, slice_left_ns) = (t.level, t.quantum_left_ns);
        match self.rules.feedback {
            Feedback::Doubling if slice_left_ns == 0 => self.quantum_ended(task),
            Feedback::Doubling => self.set_level(task, level.saturating_sub(1)),
            Feedback::Teaching if self.tasks[task].allotment_left_ns == 0 => {
                self.quantum_ended(task)
            }
            _ => {}
        }
    }

    /// Arms a timer for the end of the quantum of the task that runs on `cpu`, or cancels it.
    fn arm_quantum(&mut self, platform: &mut Platform, cpu: CpuId, task: Option<TaskId>) {
        let key = TimerKey(cpu.0);
        match task.map(|task| self.tasks[task].quantum_left_ns) {
            None | Some(NO_QUANTUM) => {
                if self.tunables.quantum_ns > 0 {
                    platform.cancel_timer(key);
                }
            }
            Some(left_ns) => {
                platform.arm_timer(key, TimerPhase::BeforeTicks, platform.now_ns() + left_ns)
            }
        }
    }

    fn part_key(&self) -> TimerKey {
        TimerKey(self.running.len() as u32)
    }

    fn boost_key(&self) -> TimerKey {
        TimerKey(self.running.len() as u32 + 1)
    }

    /// Starts the periodic timers when the first task is born.
    fn start_periodic_timers(&mut self, platform: &mut Platform) {
        self.ticking = true;
        if self.rules.sliced_classes {
            self.set_owner(platform);
        }
        if self.rules.feedback == Feedback::Teaching {
            let next_ns = (platform.now_ns() / self.tunables.boost_ns + 1) * self.tunables.boost_ns;
            platform.arm_timer(self.boost_key(), TimerPhase::BeforeTicks, next_ns);
        }
    }

    /// Sets the class whose part of the cycle it is, and arms the timer for the end of that part.
    fn set_owner(&mut self, platform: &mut Platform) {
        let now_ns = platform.now_ns();
        let cycle_start_ns = now_ns / self.tunables.cycle_ns * self.tunables.cycle_ns;
        let first_end_ns =
            cycle_start_ns + self.tunables.cycle_ns / 100 * self.tunables.first_part_percent;
        let (owner, end_ns) = if now_ns < first_end_ns {
            (Class::Other, first_end_ns)
        } else {
            (Class::Batch, cycle_start_ns + self.tunables.cycle_ns)
        };
        self.owner = owner;
        platform.arm_timer(self.part_key(), TimerPhase::BeforeTicks, end_ns);
    }

    /// Moves every task to the top level. Running tasks continue with a full quantum. Queued ones
    /// follow those that were at the top, by level and then by place.
    fn boost(&mut self, platform: &mut Platform) {
        let now_ns = platform.now_ns();
        let mut queued: Vec<(Place, TaskId)> = self.ready.iter().flat_map(Ready::iter).collect();
        queued.sort_unstable();
        for number in 0..self.tasks.len() {
            self.set_level(TaskId(number as u32), 0);
        }
        for (_, task) in queued {
            self.ready[self.tasks[task].class.index()].remove(task);
            let since_ns = self.tasks[task].ready_since_ns;
            self.join(task, now_ns);
            self.tasks[task].ready_since_ns = since_ns;
        }
        for cpu in (0..platform.cpus()).map(CpuId) {
            if let Some(task) = self.running[cpu.index()]
                && self.tasks[task].state == State::Running
            {
                self.charge(task, now_ns);
                self.tasks[task].quantum_left_ns = self.full_quantum_ns(task);
                self.arm_quantum(platform, cpu, Some(task));
            }
        }
    }

    fn class_of(&self, policy: Policy) -> Class {
        match (self.rules.order_by, policy) {
            (OrderBy::Class, Policy::Batch) => Class::Batch,
            (OrderBy::Class, Policy::Idle) => Class::Idle,
            _ => Class::Other,
        }
    }
}

impl Scheduler for Textbook {
    fn fork(&mut self, platform: &mut Platform, task: TaskId, attr: &TaskAttr, _parent: Parent) {
        if !self.ticking {
            self.start_periodic_timers(platform);
        }
        let foreseen_ns =
            if task.index() < self.tasks.len() { self.tasks[task].burst_ns } else { 0 };
        self.tasks.insert(
            task,
            Task {
                allowed: attr.allowed.clone(),
                cpu: attr.allowed.first(platform.cpus()).unwrap_or(CpuId(0)),
                priority: (attr.sched.nice + 20) as u64,
                class: self.class_of(attr.sched.policy),
                burst_ns: foreseen_ns,
                tau_ns: self.tunables.tau_ns,
                allotment_left_ns: self.tunables.allotment_ns,
                ..Task::default()
            },
        );
        self.ready.iter_mut().for_each(|ready| ready.admit(task));
        self.join(task, platform.now_ns());
        platform.by_rule(Question::SelectCpu, self.tasks[task].cpu, rules::ONE_QUEUE);
        platform.work.enqueues += 1;
        self.offer(platform, task);
    }

    fn wake(&mut self, platform: &mut Platform, task: TaskId, _waker: Waker) {
        platform.by_rule(Question::SelectCpu, self.tasks[task].cpu, rules::ONE_QUEUE);
        self.join(task, platform.now_ns());
        platform.work.enqueues += 1;
        self.offer(platform, task);
    }

    fn block(&mut self, platform: &mut Platform, cpu: CpuId, task: TaskId, _reason: BlockReason) {
        self.charge(task, platform.now_ns());
        self.unqueue(task);
        self.burst_ended(task);
        self.tasks[task].state = State::Asleep;
        // A burst that ends exactly when its quantum does has ended. The quantum has not.
        self.arm_quantum(platform, cpu, None);
    }

    fn tick(&mut self, _platform: &mut Platform, _cpu: CpuId) {
        // Quanta end to the nanosecond, by their own timers.
    }

    fn schedule(&mut self, platform: &mut Platform, cpu: CpuId) -> Option<TaskId> {
        let now_ns = platform.now_ns();
        self.seen_ns = now_ns;
        self.promised[cpu.index()] = false;
        let offered = self.offered[cpu.index()].take();
        let prev = self.running[cpu.index()];
        if let Some(prev) = prev
            && self.tasks[prev].state == State::Running
        {
            self.charge(prev, now_ns);
            let stays = self.tasks[prev].allowed.contains(cpu)
                && self
                    .first_for(cpu, now_ns)
                    .is_none_or(|first| !self.preempts(first, prev, now_ns));
            if stays {
                self.explain_pick(platform, cpu, rules::RUNS_ON);
                return Some(prev);
            }
            self.queue(prev, now_ns);
            platform.work.enqueues += 1;
        }
        let next = self.first_for(cpu, now_ns);
        let rule = if next.is_some() { self.pick_rule() } else { rules::IDLE };
        self.explain_pick(platform, cpu, rule);
        if let Some(next) = next {
            let priority = self.aged_priority(&self.tasks[next], now_ns);
            let t = &mut self.tasks[next];
            self.ready[t.class.index()].remove(next);
            platform.work.dequeues += 1;
            if t.cpu != cpu {
                platform.by_rule(Question::Migrate, cpu, rules::PICKED_ELSEWHERE);
                platform.migrated(next, t.cpu, cpu);
                t.cpu = cpu;
            }
            t.state = State::Running;
            t.dispatch_priority = priority;
            t.ran_ns = 0;
            t.charged_ns = now_ns;
            self.free.remove(cpu);
        } else {
            self.free.insert(cpu);
        }
        self.running[cpu.index()] = next;
        self.arm_quantum(platform, cpu, next);
        if let Some(displaced) = prev
            && prev != next
            && self.tasks[displaced].state == State::Ready
        {
            self.offer(platform, displaced);
        }
        if let Some(passed_over) = offered
            && prev != next
            && self.tasks[passed_over].state == State::Ready
        {
            // Another task has taken the CPU that was asked to reschedule for this one. Another CPU
            // may be free.
            self.offer(platform, passed_over);
        }
        next
    }

    fn yield_now(&mut self, platform: &mut Platform, cpu: CpuId, task: TaskId) {
        self.charge(task, platform.now_ns());
        self.join(task, platform.now_ns());
        platform.resched(cpu);
    }

    fn set_attr(&mut self, platform: &mut Platform, task: TaskId, attr: &SchedAttr, _by: CpuId) {
        let old_class = self.tasks[task].class.index();
        let queued = self.ready[old_class].remove(task);
        let class = self.class_of(attr.policy);
        let t = &mut self.tasks[task];
        t.priority = (attr.nice + 20) as u64;
        t.class = class;
        if queued {
            let since_ns = t.ready_since_ns;
            self.queue(task, platform.now_ns());
            self.tasks[task].ready_since_ns = since_ns;
            self.offer(platform, task);
        } else if t.state == State::Running {
            platform.resched(t.cpu);
        }
    }

    fn set_affinity(&mut self, platform: &mut Platform, task: TaskId, allowed: &CpuSet) {
        self.tasks[task].allowed = allowed.clone();
        match self.tasks[task].state {
            State::Asleep => {}
            State::Ready => self.offer(platform, task),
            State::Running => {
                let cpu = self.tasks[task].cpu;
                if !allowed.contains(cpu) {
                    platform.resched(cpu);
                }
            }
        }
    }

    fn kill(&mut self, _platform: &mut Platform, task: TaskId) {
        let class = self.tasks[task].class.index();
        self.ready[class].remove(task);
        self.tasks[task].state = State::Asleep;
    }

    fn timer(&mut self, platform: &mut Platform, key: TimerKey) {
        let now_ns = platform.now_ns();
        if key == self.part_key() {
            self.set_owner(platform);
            (0..platform.cpus())
                .filter(|&cpu| self.running[cpu as usize].is_some())
                .for_each(|cpu| platform.resched(CpuId(cpu)));
        } else if key == self.boost_key() {
            self.boost(platform);
            platform.arm_timer(key, TimerPhase::BeforeTicks, now_ns + self.tunables.boost_ns);
        } else if let Some(task) = self.running[key.0 as usize]
            && self.tasks[task].state == State::Running
        {
            self.charge(task, now_ns);
            self.quantum_ended(task);
            self.join(task, now_ns);
            platform.resched(CpuId(key.0));
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
            // A free CPU that no task may use takes none.
            Command::CpuOffline(_) | Command::CpuOnline(_) => {}
            Command::SetTunable { name, value } => self.write_tunable(name, value)?,
            other => return Err(other.unsupported()),
        }
        Ok(Reply::Done)
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }

    fn as_clairvoyant(&mut self) -> Option<&mut dyn Clairvoyant> {
        if self.rules.is_clairvoyant() { Some(self) } else { None }
    }
}

impl Inspect for Textbook {
    fn locking(&self) -> Locking {
        Locking::Global
    }

    fn tunables(&self) -> Vec<Tunable> {
        let mut all = Vec::new();
        let mut tunable = |name: &'static str, value: u64, range, help| {
            all.push(Tunable { name: name.into(), value: value as i64, range, help });
        };
        const HOUR_NS: i64 = 3_600_000_000_000;
        let k = &self.tunables;
        if self.rules.quantum_ns > 0 {
            tunable(
                "quantum_ns",
                k.quantum_ns,
                (1, HOUR_NS),
                "time a task may run before it moves to the tail (of level 0)",
            );
        }
        if self.rules.order_by == OrderBy::Priority {
            tunable(
                "quantum_ns",
                k.quantum_ns,
                (0, HOUR_NS),
                "turns within one priority; 0 = none",
            );
            tunable(
                "aging_ns",
                k.aging_ns,
                (0, HOUR_NS),
                "waiting this long improves the priority by one; 0 = no aging",
            );
        }
        if self.rules.order_by == OrderBy::Level {
            tunable("levels", u64::from(k.levels), (1, 32), "number of levels");
        }
        if self.rules.feedback == Feedback::Teaching {
            tunable(
                "boost_ns",
                k.boost_ns,
                (1_000, HOUR_NS),
                "interval at which all tasks return to the top",
            );
            tunable(
                "allotment_ns",
                k.allotment_ns,
                (1, HOUR_NS),
                "time at a level, over any number of turns",
            );
        }
        if self.rules.sliced_classes {
            tunable("cycle_ns", k.cycle_ns, (100, HOUR_NS), "length of a cycle of the classes");
            tunable(
                "first_part_percent",
                k.first_part_percent,
                (1, 99),
                "the part of SCHED_OTHER; the rest is SCHED_BATCH's",
            );
        }
        if self.rules.predicted {
            tunable("tau_ns", k.tau_ns, (0, HOUR_NS), "first estimate of a burst");
        }
        all
    }

    fn rules(&self) -> Vec<&'static RuleDoc> {
        self.own_rules()
    }

    fn candidates(&self, cpu: CpuId, out: &mut Vec<Candidate>) {
        self.list_candidates(cpu, self.seen_ns, out);
    }

    fn promises(&self, load: &Load) -> Promises {
        let turns = self.rules.order_by == OrderBy::Arrival && self.tunables.quantum_ns > 0;
        Promises {
            idle_beside_waiting_ns: Some(0),
            wait_ns: turns.then(|| u64::from(load.tasks) * self.tunables.quantum_ns),
            hog_spread_ns: turns.then_some(self.tunables.quantum_ns),
            real_time_first: false,
        }
    }

    fn audit(&self) -> Result<(), String> {
        self.audit_all()
    }
}

impl Textbook {
    /// Writes a tunable.
    fn write_tunable(&mut self, name: &str, value: i64) -> Result<(), TunableError> {
        tunables::check(&self.tunables(), name, value)?;
        if !self.tasks.is_empty() && !matches!(name, "quantum_ns" | "tau_ns") {
            return Err(TunableError::Refused(
                "can only be set before the first task starts".into(),
            ));
        }
        let value = value as u64;
        let k = &mut self.tunables;
        match name {
            "quantum_ns" => k.quantum_ns = value,
            "aging_ns" => k.aging_ns = value,
            "levels" => k.levels = value as u32,
            "boost_ns" => k.boost_ns = value,
            "allotment_ns" => k.allotment_ns = value,
            "cycle_ns" => k.cycle_ns = value,
            "first_part_percent" => k.first_part_percent = value,
            "tau_ns" => k.tau_ns = value,
            other => unreachable!("the name {other} has been checked"),
        }
        Ok(())
    }
}

impl Clairvoyant for Textbook {
    fn next_burst(&mut self, task: TaskId, burst_ns: u64) {
        if task.index() >= self.tasks.len() {
            self.tasks.insert(task, Task::default());
            self.ready.iter_mut().for_each(|ready| ready.admit(task));
        }
        self.tasks[task].burst_ns = burst_ns;
    }
}
