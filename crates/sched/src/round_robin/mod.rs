//! Round robin: the scheduler of Linux 1.0 (March 1994) and 1.2 (March 1995).
//!
//! # The algorithm
//!
//! All tasks of the system, asleep or not, form one **ring** in the order of their birth. Each has
//! a `priority` (15 ticks of 10 ms by default) and a `counter`: the ticks for which it may still
//! run. [`schedule`](Scheduler::schedule) walks the whole ring and takes the runnable task with the
//! **largest counter**, the oldest among equals. When the runnable tasks have used up their
//! counters (the largest is 0), a new round begins: *every* task in the ring, sleepers included,
//! keeps half of its remaining ticks and gets its `priority` on top. The task that was found before
//! the new round continues.
//!
//! There is no runqueue, no policy and no dynamic priority apart from the counter itself. The
//! counter is both ration and rank: a task that slept through several rounds has up to `2 *
//! priority - 1` ticks, and is ahead of every CPU-bound task until it has used up the surplus. That
//! is the whole interactivity heuristic.
//!
//! # Cost
//!
//! Each `schedule` looks at all tasks, not only the runnable ones: O(tasks). Wakeup and tick: O(1).
//!
//! # Releases
//!
//! 1.0, and 1.2 (read in 1.2.13), which differs in three places: a woken task must be ahead by more
//! than 3 ticks to request a reschedule, the tick requests one only when the counter would fall
//! below 0, and the idle task's counter is -100.

mod rules;

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use schedlab_core::{
    BlockReason, Build, Candidate, Capabilities, CpuId, CpuSet, Entry, Inspect, Load, Locking,
    Origin, Parent, Platform, Policy, Promises, Question, Release, RuleDoc, SchedAttr, Scheduler,
    TaskAttr, TaskId, TaskTable, Waker,
};

/// The only CPU.
const CPU: CpuId = CpuId(0);

/// State of a task.
#[derive(Clone, Copy, Debug, Default)]
struct Task {
    /// Ticks left, at least 0.
    counter: i64,
    /// Ticks given in each round, 1..35.
    priority: i64,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum State {
    /// Runnable or running: only `current` distinguishes the running task.
    Running,
    Asleep,
    /// Not yet born, or exited. A zombie stays in the ring, and takes part in the rounds, until its
    /// parent reaps it.
    #[default]
    Zombie,
}

/// Linux 1.0 or 1.2 on its one CPU.
#[derive(Debug)]
pub struct RoundRobin {
    version: Version,
    /// All tasks that have ever existed, by number.
    tasks: TaskTable<Task>,
    /// All existing tasks, oldest first. (In the kernel a doubly linked ring headed by the idle
    /// task.)
    ring: Vec<TaskId>,
    /// The running task; `None` is the idle task.
    current: Option<TaskId>,
}

/// `priority` for a nice value: 15 ticks at nice 0, one less for each step, at least 1.
fn priority_of_nice(nice: i32) -> i64 {
    i64::from(15 - nice).max(1)
}

impl RoundRobin {
    /// Creates the scheduler on an idle machine.
    pub fn new(version: Version) -> RoundRobin {
        RoundRobin { version, tasks: TaskTable::new(), ring: Vec::new(), current: None }
    }

    /// Returns the ticks that `task` has left.
    pub fn counter(&self, task: TaskId) -> i64 {
        self.tasks[task].counter
    }

    fn current_counter(&self) -> i64 {
        self.current.map_or(self.version.idle_counter, |task| self.counter(task))
    }

    /// Returns the runnable task with the largest counter, the oldest among equals.
    fn best(&self) -> Option<TaskId> {
        let mut best: Option<(i64, TaskId)> = None;
        for &task in &self.ring {
            let Task { counter, state, .. } = self.tasks[task];
            if state == State::Running && best.is_none_or(|(most, _)| counter > most) {
                best = Some((counter, task));
            }
        }
        best.map(|(_, task)| task)
    }

    /// The runnable tasks, by counter and then by age.
    #[cold]
    fn list_candidates(&self, out: &mut Vec<Candidate>) {
        for (place, &task) in self.ring.iter().enumerate() {
            let Task { counter, priority, state } = self.tasks[task];
            if state == State::Running {
                let candidate = Candidate::task(task, [-counter, place as i64, 0, 0]);
                out.push(candidate.with("counter", counter).with("priority", priority));
            }
        }
    }

    /// A new round: every existing task keeps half of its remaining ticks and gets `priority` on
    /// top.
    fn recharge(&mut self) {
        for &task in &self.ring {
            let task = &mut self.tasks[task];
            task.counter = (task.counter >> 1) + task.priority;
        }
    }
}

impl Scheduler for RoundRobin {
    fn fork(&mut self, platform: &mut Platform, task: TaskId, attr: &TaskAttr, parent: Parent) {
        let priority = priority_of_nice(attr.sched.nice);
        let counter = match parent {
            Parent::External => {
                // The parent must have been running on the only CPU, and gives it up at once.
                platform.by_rule(Question::Preempt, CPU, rules::PARENT_GIVES_UP);
                platform.resched(CPU);
                priority
            }
            // The parent keeps all of its ticks: forking creates ticks from nothing.
            Parent::Task { task: parent, .. } => {
                platform.by_rule(Question::Preempt, CPU, rules::CHILD_WAITS);
                self.counter(parent) >> 1
            }
        };
        platform.by_rule(Question::SelectCpu, CPU, rules::ONLY_CPU);
        self.tasks.insert(task, Task { counter, priority, state: State::Running });
        self.ring.push(task);
    }

    fn wake(&mut self, platform: &mut Platform, task: TaskId, _waker: Waker) {
        self.tasks[task].state = State::Running;
        let (counter, current) = (self.counter(task), self.current_counter());
        // The idle task looks for work all the time, whatever the result of the comparison.
        let rule = if self.current.is_none() {
            rules::CPU_IDLE
        } else if counter - current > self.version.wakeup_margin {
            rules::LARGER_COUNTER
        } else {
            rules::NOT_LARGER
        };
        let margin = self.version.wakeup_margin;
        platform.by_rule(Question::SelectCpu, CPU, rules::ONLY_CPU);
        platform.because(Question::Preempt, CPU, rule, move |evidence| {
            evidence.term("counter", counter).term("current_counter", current);
            evidence.term("margin", margin);
        });
        if rule != rules::NOT_LARGER {
            platform.resched(CPU);
        }
    }

    fn block(&mut self, _platform: &mut Platform, _cpu: CpuId, task: TaskId, reason: BlockReason) {
        self.tasks[task].state =
            if reason == BlockReason::Dead { State::Zombie } else { State::Asleep };
    }

    fn tick(&mut self, platform: &mut Platform, _cpu: CpuId) {
        let Some(current) = self.current else { return };
        let counter = &mut self.tasks[current].counter;
        *counter = (*counter - 1).max(0);
        // 1.2's tick itself requests a reschedule only when the counter would fall below 0. But the
        // return to user mode, which follows each tick, calls schedule() for a counter of 0 in both
        // releases.
        if *counter == 0 {
            platform.resched(CPU);
        }
    }

    fn schedule(&mut self, platform: &mut Platform, _cpu: CpuId) -> Option<TaskId> {
        platform.work.scanned += self.ring.len() as u64;
        let next = self.best();
        let is_round_over = next.is_some_and(|next| self.counter(next) == 0);
        let rule = match next {
            None => rules::IDLE,
            Some(_) if is_round_over => rules::NEW_ROUND,
            Some(_) => rules::LARGEST_COUNTER,
        };
        platform.because(Question::Pick, CPU, rule, |evidence| {
            self.list_candidates(&mut evidence.candidates);
        });
        if is_round_over {
            // The pick is not repeated: the oldest runnable task continues, even if another one now
            // has more ticks.
            platform.work.recalculated += self.ring.len() as u64;
            self.recharge();
        }
        self.current = next;
        debug_assert!(
            next.is_none_or(|task| self.counter(task) > 0),
            "a round leaves no task without ticks"
        );
        next
    }

    fn yield_now(&mut self, _platform: &mut Platform, _cpu: CpuId, _task: TaskId) {
        // There is no such system call. Sleeping is the only way to give up the CPU.
    }

    fn set_attr(&mut self, _platform: &mut Platform, task: TaskId, attr: &SchedAttr, _by: CpuId) {
        // Takes effect with the next round.
        self.tasks[task].priority = priority_of_nice(attr.nice);
    }

    fn set_affinity(&mut self, _platform: &mut Platform, _task: TaskId, _allowed: &CpuSet) {
        // One CPU.
    }

    fn kill(&mut self, _platform: &mut Platform, task: TaskId) {
        self.tasks[task].state = State::Zombie;
    }

    fn reap(&mut self, _platform: &mut Platform, task: TaskId, _parent: Option<TaskId>) {
        self.ring.retain(|&other| other != task);
    }

    fn cpu_of(&self, _task: TaskId) -> CpuId {
        CPU
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}

impl Inspect for RoundRobin {
    fn locking(&self) -> Locking {
        Locking::Global
    }

    fn promises(&self, load: &Load) -> Promises {
        const TICK_NS: u64 = 10_000_000;
        // Each of the other tasks may have a full surplus of ticks, and use it and a new round's
        // ticks before this task runs.
        let most_ticks = 2 * priority_of_nice(load.nice_min) as u64;
        Promises {
            idle_beside_waiting_ns: Some(0),
            wait_ns: Some((u64::from(load.tasks) + 1) * 2 * most_ticks * TICK_NS),
            hog_spread_ns: Some(2 * most_ticks * TICK_NS),
            real_time_first: false,
        }
    }

    fn rules(&self) -> Vec<&'static RuleDoc> {
        rules::RULES.iter().collect()
    }

    fn candidates(&self, _cpu: CpuId, out: &mut Vec<Candidate>) {
        self.list_candidates(out);
    }

    fn audit(&self) -> Result<(), String> {
        for &task in &self.ring {
            let Task { counter, priority, .. } = self.tasks[task];
            if !(0..2 * 35).contains(&counter) || !(1..=35).contains(&priority) {
                return Err(alloc::format!(
                    "task {}: counter {counter}, priority {priority}",
                    task.0
                ));
            }
        }
        Ok(())
    }
}

/// A release: the differences, by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Version {
    /// The release.
    pub name: &'static str,
    /// Number of ticks by which a woken task must exceed the running one to request a reschedule.
    pub wakeup_margin: i64,
    /// The idle task's counter, with which woken tasks are compared when nothing runs.
    pub idle_counter: i64,
}

impl Version {
    /// 1.0.
    pub const V1_0: Version = Version { name: "1.0", wakeup_margin: 0, idle_counter: 0 };

    /// 1.2.
    pub const V1_2: Version = Version { name: "1.2", wakeup_margin: 3, idle_counter: -100 };
}

/// The default release. The others are described by their differences from it.
const DEFAULT: Release = Release {
    version: "1.0",
    also: &[],
    summary: "a woken task requests the CPU when it has more ticks left than the running one",
    golden: &[("round_robin", "1.0")],
    hz_default: 100,
    hz_range: (100, 100),
    cpus_max: 1,
    policies: &[Policy::Other],
    can: Capabilities::BASIC,
    kernel: None,
    build: Build::Ordinary(|_| Box::new(RoundRobin::new(Version::V1_0))),
};

/// The scheduler's entry in the registry.
pub static ENTRY: Entry = Entry {
    name: Cow::Borrowed("round_robin"),
    title: Cow::Borrowed("Round robin"),
    summary: Cow::Borrowed("one ring of all tasks; the runnable one with the most ticks left runs"),
    origin: Origin::Linux,
    releases: &[
        DEFAULT,
        Release {
            version: "1.2",
            also: &["1.2.13"],
            summary: "a woken task must have at least 4 ticks more than the running one",
            golden: &[("round_robin", "1.2.13")],
            build: Build::Ordinary(|_| Box::new(RoundRobin::new(Version::V1_2))),
            ..DEFAULT
        },
    ],
};

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_core::Who;
    use schedlab_core::reason::Term;

    fn machine(nices: &[i32]) -> (RoundRobin, Platform) {
        let mut platform = Platform::new(1, 100);
        let mut sched = RoundRobin::new(Version::V1_0);
        for (number, &nice) in nices.iter().enumerate() {
            let attr = TaskAttr { sched: SchedAttr::nice(nice), ..TaskAttr::default() };
            sched.fork(&mut platform, TaskId(number as u32), &attr, Parent::External);
        }
        (sched, platform)
    }

    #[test]
    fn a_sleeper_climbs_to_one_less_than_twice_its_priority() {
        let (mut sched, _) = machine(&[0]);
        let mut counters = alloc::vec![];
        for _ in 0..5 {
            sched.recharge();
            counters.push(sched.counter(TaskId(0)));
        }
        assert_eq!(counters, [22, 26, 28, 29, 29]);
    }

    #[test]
    fn priorities_of_nice_values() {
        assert_eq!([-20, 0, 13, 14, 19].map(priority_of_nice), [35, 15, 2, 1, 1]);
    }

    #[test]
    fn the_first_of_a_round_is_the_oldest_even_with_few_ticks() {
        // Worked example (b): born in the order R (nice 19), P (nice -20).
        let (mut sched, mut platform) = machine(&[19, -20]);
        for task in sched.tasks.values_mut() {
            task.counter = 0;
        }
        assert_eq!(sched.schedule(&mut platform, CPU), Some(TaskId(0)));
        assert_eq!(sched.counter(TaskId(0)), 1);
        assert_eq!(sched.counter(TaskId(1)), 35);
    }

    #[test]
    fn a_child_gets_half_and_the_parent_keeps_all() {
        let (mut sched, mut platform) = machine(&[0]);
        sched.tasks[TaskId(0)].counter = 29;
        let attr = TaskAttr::default();
        sched.fork(&mut platform, TaskId(1), &attr, Parent::Task { task: TaskId(0), cpu: CPU });
        assert_eq!((sched.counter(TaskId(0)), sched.counter(TaskId(1))), (29, 14));
    }

    #[test]
    fn accounts_name_the_rule_and_the_counters() {
        let (mut sched, mut platform) = machine(&[19, -20]);
        platform.ask(true);
        let mut pick = || {
            let next = sched.schedule(&mut platform, CPU);
            let account = platform.take_accounts().pop().expect("an account was requested");
            sched.tasks.values_mut().for_each(|task| task.counter = 0);
            (next, account.rule, account.evidence)
        };
        let (next, rule, evidence) = pick();
        assert_eq!((next, rule), (Some(TaskId(1)), rules::LARGEST_COUNTER));
        let ranks: Vec<_> = evidence.candidates.iter().map(|other| other.rank).collect();
        assert_eq!(ranks, [[-1, 0, 0, 0], [-35, 1, 0, 0]]);
        assert_eq!(evidence.candidates[1].terms[0], Term { name: "counter".into(), value: 35 });
        // No task has ticks left: the oldest continues, whichever task has more ticks in the round
        // that begins.
        let (next, rule, evidence) = pick();
        assert_eq!((next, rule), (Some(TaskId(0)), rules::NEW_ROUND));
        assert_eq!(evidence.best(), Ok(Some(Who::Task(TaskId(0)))));
    }

    #[test]
    fn a_woken_task_must_be_ahead_by_the_margin() {
        for (version, ahead, asks) in [
            (Version::V1_0, 0, false),
            (Version::V1_0, 1, true),
            (Version::V1_2, 3, false),
            (Version::V1_2, 4, true),
        ] {
            let (mut sched, mut platform) = machine(&[0, 0]);
            sched.version = version;
            assert_eq!(sched.schedule(&mut platform, CPU), Some(TaskId(0)));
            platform.clear_resched(CPU);
            sched.tasks[TaskId(1)].counter = sched.counter(TaskId(0)) + ahead;
            sched.wake(&mut platform, TaskId(1), Waker::Interrupt { cpu: CPU });
            assert_eq!(platform.resched_pending(CPU), asks, "{}, ahead by {ahead}", version.name);
        }
    }

    #[test]
    fn who_is_reaped_leaves_the_ring() {
        let (mut sched, mut platform) = machine(&[0, 0, 0]);
        sched.reap(&mut platform, TaskId(1), None);
        let mut ring = sched.ring.to_vec();
        ring.sort_unstable();
        assert_eq!(ring, [TaskId(0), TaskId(2)]);
    }

    #[test]
    fn counters_up_to_one_less_than_twice_the_best_priority_are_in_order() {
        for (counter, priority, in_order) in [
            (0, 1, true),
            (69, 35, true),
            (70, 35, false),
            (-1, 35, false),
            (1, 0, false),
            (1, 36, false),
        ] {
            let (mut sched, _) = machine(&[0]);
            sched.tasks[TaskId(0)].counter = counter;
            sched.tasks[TaskId(0)].priority = priority;
            assert_eq!(sched.audit().is_ok(), in_order, "{counter} of {priority}");
        }
    }
}
