//! The decision rules of the textbooks' policies, by number, and the candidates of a CPU's pick.

use super::{NO_QUANTUM, OrderBy, State, Task, Textbook};
use alloc::vec::Vec;
use schedlab_core::{Candidate, CpuId, Rule, RuleDoc, TaskId, define_rules};

define_rules! {
    /// The rules of all policies.
    pub(super) static RULES {
        1 FIRST_COME Pick "first_come": "The task that joined the ready queue first runs.";
        2 SHORTEST_BURST Pick "shortest_burst":
            "The task with the shortest next burst runs, the first to join among equals.";
        3 SHORTEST_REMAINING Pick "shortest_remaining":
            "The task with the shortest rest of its burst runs, the first to join among equals.";
        4 RESPONSE_RATIO Pick "response_ratio":
            "The task with the largest (waited + burst) / burst runs, the first to join among \
             equals.";
        5 BEST_PRIORITY Pick "best_priority":
            "The task with the best (smallest) priority after aging runs, the first to join among \
             equals; with aging, the one that has waited longest.";
        6 BEST_LEVEL Pick "best_level":
            "The first task of the best level of feedback that is not empty runs.";
        7 BEST_CLASS Pick "best_class":
            "The first task of the class that currently comes first runs.";
        8 RUNS_ON Pick "runs_on":
            "The running task is not preempted: no task is strictly better, or the policy never \
             preempts.";
        9 IDLE Pick "idle": "No task is ready that may run on this CPU.";
        10 FREE_CPU Preempt "free_cpu":
            "The CPU is the lowest free one that the task may use.";
        11 PREEMPTS_WORST Preempt "preempts_worst":
            "No CPU is free, and this one runs the worst task, which is strictly worse.";
        12 NONE_WORSE Preempt "none_worse":
            "No CPU is free, and none runs a task that is strictly worse: the task waits.";
        13 NEVER_PREEMPTS Preempt "never_preempts":
            "No CPU is free, and the policy never preempts: the task waits.";
        14 ONE_QUEUE SelectCpu "one_queue":
            "There is one ready queue for all CPUs: the CPU that picks a task takes it.";
        15 PICKED_ELSEWHERE Migrate "picked_elsewhere":
            "A CPU other than its last one has picked the task from the one ready queue.";
    }
}

/// Returns the value as a signed number, limited to the largest one, which stands for a burst
/// without an end.
pub(super) fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

impl Textbook {
    /// Returns the rule by which this policy picks.
    pub(super) const fn pick_rule(&self) -> Rule {
        match self.rules.order_by {
            OrderBy::Arrival => FIRST_COME,
            OrderBy::Burst => SHORTEST_BURST,
            OrderBy::Remaining => SHORTEST_REMAINING,
            OrderBy::ResponseRatio => RESPONSE_RATIO,
            OrderBy::Priority => BEST_PRIORITY,
            OrderBy::Level => BEST_LEVEL,
            OrderBy::Class => BEST_CLASS,
        }
    }

    /// Returns the rules of this policy.
    pub(super) fn own_rules(&self) -> Vec<&'static RuleDoc> {
        let applies = |doc: &&RuleDoc| match doc.rule {
            rule if (FIRST_COME..=BEST_CLASS).contains(&rule) => rule == self.pick_rule(),
            PREEMPTS_WORST | NONE_WORSE => self.rules.preemptive,
            NEVER_PREEMPTS => !self.rules.preemptive,
            _ => true,
        };
        RULES.iter().filter(applies).collect()
    }

    /// Lists the running task of `cpu`, unless it has blocked or must leave, and the ready ones
    /// that it could take, each ranked by the policy's order.
    #[cold]
    #[inline(never)]
    pub(super) fn list_candidates(&self, cpu: CpuId, now_ns: u64, out: &mut Vec<Candidate>) {
        let eligible = || self.tasks.iter().filter(move |&(task, t)| self.may_take(cpu, task, t));
        for (task, t) in eligible() {
            let runs = t.state == State::Running;
            // HRRN: the number of tasks with a larger ratio. Ratios are compared without dividing.
            let larger = |other: &Task| {
                let waited = |t: &Task| u128::from(now_ns.saturating_sub(t.ready_since_ns));
                let burst = |t: &Task| u128::from(self.burst_ns(t));
                waited(other) * burst(t) > waited(t) * burst(other)
            };
            let key = if self.rules.order_by == OrderBy::ResponseRatio {
                eligible().filter(|&(_, other)| larger(other)).count() as u64
            } else {
                self.rank(task, now_ns)
            };
            // A running task precedes its equals, and without preemption all tasks.
            let keeps = runs && !self.rules.preemptive;
            // A burst without an end does not fit a signed number. Its top bit is added to the
            // class, which is the same for all where bursts count.
            let class = self.class_rank(t.class) as i64 + (key >> 63) as i64;
            let class = if keeps { -1 } else { class };
            let key = (key & i64::MAX as u64) as i64;
            let ages = self.rules.order_by == OrderBy::Priority && self.order_changes_with_time();
            let since = if runs {
                -1
            } else if ages {
                t.ready_since_ns as i64
            } else {
                0
            };
            let candidate = Candidate::task(task, [class, key, since, t.joined as i64]);
            out.push(self.with_terms(candidate, t, now_ns));
        }
    }

    /// Whether `cpu` could run `task` now.
    fn may_take(&self, cpu: CpuId, task: TaskId, t: &Task) -> bool {
        let runs_here = self.running[cpu.index()] == Some(task);
        t.allowed.contains(cpu)
            && match t.state {
                State::Asleep => false,
                State::Running => runs_here,
                // A task that is in the queue again, but has not left its CPU yet, is available to
                // that CPU only.
                State::Ready => t.cpu == cpu || self.running[t.cpu.index()] != Some(task),
            }
    }

    /// Adds the terms that the policy compares.
    fn with_terms(&self, candidate: Candidate, t: &Task, now_ns: u64) -> Candidate {
        let candidate = candidate.with("joined", t.joined as i64);
        let burst_ns = signed(self.burst_ns(t));
        let candidate = match self.rules.order_by {
            OrderBy::Arrival => candidate,
            OrderBy::Burst => candidate.with("burst_ns", burst_ns),
            OrderBy::Remaining => candidate
                .with("remaining_ns", signed(self.burst_ns(t).saturating_sub(t.used_ns)))
                .with("burst_ns", burst_ns),
            OrderBy::ResponseRatio => {
                let waited_ns = now_ns.saturating_sub(t.ready_since_ns) as i64;
                candidate.with("waited_ns", waited_ns).with("burst_ns", burst_ns)
            }
            OrderBy::Priority => candidate
                .with("aged_priority", self.aged_priority(t, now_ns) as i64)
                .with("priority", t.priority as i64),
            OrderBy::Level => candidate.with("level", t.level.into()),
            OrderBy::Class => candidate.with("class", t.class.index() as i64),
        };
        if t.quantum_left_ns == NO_QUANTUM {
            candidate
        } else {
            candidate.with("quantum_left_ns", t.quantum_left_ns as i64)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::textbook::{HRRN_RULES, SRTF_RULES};
    use schedlab_core::{Clairvoyant, Inspect, Parent, Platform, Scheduler, TaskAttr, Who};

    const CPU: CpuId = CpuId(0);

    /// Returns a machine of one CPU, with a new task for each burst.
    fn machine(rules: crate::textbook::Rules, bursts_ns: &[u64]) -> (Textbook, Platform) {
        let (mut sched, mut platform) = (Textbook::new(1, rules), Platform::new(1, 1000));
        platform.ask(true);
        for (task, &burst_ns) in (0..).map(TaskId).zip(bursts_ns) {
            sched.next_burst(task, burst_ns);
            sched.fork(&mut platform, task, &TaskAttr::default(), Parent::External);
        }
        (sched, platform)
    }

    /// Returns the task that the CPU picks, the rule, and the candidates with the second numbers of
    /// their ranks.
    fn pick(sched: &mut Textbook, platform: &mut Platform) -> (u32, Rule, Vec<(Who, i64)>) {
        platform.take_accounts();
        let next = sched.schedule(platform, CPU).expect("a task is ready");
        let accounts = platform.take_accounts();
        let mut picks = accounts.iter().filter(|account| account.question.name() == "pick");
        let account = picks.next_back().expect("an account was requested");
        assert_eq!(account.evidence.best(), Ok(Some(Who::Task(next))));
        let candidates = &account.evidence.candidates;
        (next.0, account.rule, candidates.iter().map(|other| (other.who, other.rank[1])).collect())
    }

    const fn who(task: u32) -> Who {
        Who::Task(TaskId(task))
    }

    #[test]
    fn a_shorter_arrival_preempts_and_the_account_says_what_remains() {
        let (mut sched, mut platform) = machine(SRTF_RULES, &[8]);
        assert_eq!(pick(&mut sched, &mut platform), (0, SHORTEST_REMAINING, [(who(0), 8)].into()));
        platform.set_now_ns(2);
        for (task, burst_ns, expected) in [(1, 6, (0, RUNS_ON)), (2, 5, (2, SHORTEST_REMAINING))] {
            sched.next_burst(TaskId(task), burst_ns);
            sched.fork(&mut platform, TaskId(task), &TaskAttr::default(), Parent::External);
            let (next, rule, _) = pick(&mut sched, &mut platform);
            assert_eq!((next, rule), expected);
        }
        // A burst without an end is last, and comes after a burst of merely half that length.
        for (task, burst_ns) in [(3, u64::MAX), (4, u64::MAX / 2)] {
            sched.next_burst(TaskId(task), burst_ns);
            sched.fork(&mut platform, TaskId(task), &TaskAttr::default(), Parent::External);
        }
        let mut now = Vec::new();
        sched.candidates(CPU, &mut now);
        let ranks: Vec<_> = now.iter().map(|other| other.rank).collect();
        let now: Vec<_> = now.iter().map(|other| (other.who, other.rank[1])).collect();
        let most = i64::MAX;
        assert_eq!(now[..3], [(who(0), 6), (who(1), 6), (who(2), 5)]);
        assert_eq!(now[3..], [(who(3), most), (who(4), most)]);
        assert_eq!(ranks[3..].iter().map(|rank| rank[0]).collect::<Vec<_>>(), [1, 0]);
    }

    #[test]
    fn the_largest_response_ratio_has_none_before_it() {
        // At 9: (9 + 9) / 9 = 2 against (3 + 1) / 1 = 4.
        let (mut sched, mut platform) = machine(HRRN_RULES, &[9]);
        platform.set_now_ns(6);
        sched.next_burst(TaskId(1), 1);
        sched.fork(&mut platform, TaskId(1), &TaskAttr::default(), Parent::External);
        platform.set_now_ns(9);
        let expected = (1, RESPONSE_RATIO, [(who(0), 1), (who(1), 0)].into());
        assert_eq!(pick(&mut sched, &mut platform), expected);
        // A policy lists only its own rules.
        let has = |name: &str| sched.inspect().rules().iter().any(|doc| doc.name == name);
        assert!(has("response_ratio") && !has("best_level"));
    }

    /// A task that is not preempted precedes all waiting tasks, even shorter or more urgent ones.
    #[test]
    fn without_preemption_who_runs_is_the_first_candidate() {
        for rules in [crate::textbook::SJF_RULES, crate::textbook::FCFS_RULES] {
            let (mut sched, mut platform) = machine(rules, &[8]);
            assert_eq!(pick(&mut sched, &mut platform).0, 0);
            sched.next_burst(TaskId(1), 2);
            sched.fork(&mut platform, TaskId(1), &TaskAttr::default(), Parent::External);
            let mut now = Vec::new();
            sched.candidates(CPU, &mut now);
            let first = now.iter().min_by_key(|other| other.rank).expect("there are two");
            assert_eq!((now.len(), first.who, first.rank[0]), (2, who(0), -1));
        }
    }

    #[test]
    fn a_better_priority_counts_at_once_where_it_preempts() {
        use crate::textbook::PRIORITY_PREEMPTIVE_RULES;
        let mut platform = Platform::new(1, 1000);
        let mut sched = Textbook::new(1, PRIORITY_PREEMPTIVE_RULES);
        for task in [0, 1].map(TaskId) {
            sched.fork(&mut platform, task, &TaskAttr::default(), Parent::External);
        }
        assert_eq!(sched.schedule(&mut platform, CPU), Some(TaskId(0)));
        platform.clear_resched(CPU);
        sched.set_attr(&mut platform, TaskId(1), &schedlab_core::SchedAttr::nice(-1), CPU);
        assert!(platform.resched_pending(CPU));
        assert_eq!(sched.schedule(&mut platform, CPU), Some(TaskId(1)));
        // A task worse than the running one. The running one yields.
        platform.clear_resched(CPU);
        sched.set_attr(&mut platform, TaskId(1), &schedlab_core::SchedAttr::nice(1), CPU);
        assert!(platform.resched_pending(CPU));
        assert_eq!(sched.schedule(&mut platform, CPU), Some(TaskId(0)));
    }

    #[test]
    fn a_task_is_first_where_it_may_run() {
        let mut platform = Platform::new(2, 1000);
        let mut sched = Textbook::new(2, crate::textbook::FCFS_RULES);
        let allowed = schedlab_core::CpuSet::only(CpuId(1));
        let attr = TaskAttr { allowed, ..TaskAttr::default() };
        sched.fork(&mut platform, TaskId(0), &attr, Parent::External);
        assert_eq!(sched.cpu_of(TaskId(0)), CpuId(1));
    }

    /// The first predicted burst is the tunable.
    #[test]
    fn the_first_estimate_is_the_tunable() {
        use schedlab_core::Administer;
        let rules = crate::textbook::Rules { predicted: true, ..crate::textbook::SJF_RULES };
        let (mut sched, mut platform) = (Textbook::new(1, rules), Platform::new(1, 1000));
        platform.ask(true);
        sched.set_tunable(&mut platform, "tau_ns", 7).expect("the tunable exists");
        sched.fork(&mut platform, TaskId(0), &TaskAttr::default(), Parent::External);
        assert_eq!(pick(&mut sched, &mut platform).2, [(who(0), 7)]);
    }

    /// Two tasks arrive, and the second one is shorter: the first is queued again.
    #[test]
    fn whoever_is_queued_is_counted() {
        let (mut sched, mut platform) = machine(SRTF_RULES, &[8]);
        assert_eq!(pick(&mut sched, &mut platform).0, 0);
        sched.next_burst(TaskId(1), 2);
        sched.fork(&mut platform, TaskId(1), &TaskAttr::default(), Parent::External);
        assert_eq!(platform.work.enqueues, 2);
        assert_eq!(pick(&mut sched, &mut platform).0, 1);
        assert_eq!(platform.work.enqueues, 3);
    }
}
