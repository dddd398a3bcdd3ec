//! Reasons: by which rules the fair class decides, and on what grounds.
//!
//! A decision stores the number of its rule; all else here runs only if somebody asked. The
//! candidates of a pick are found without the timeline that the pick reads: a look at every entity
//! of a queue, by its virtual time, its arrival and its being a buddy.

use super::Cfs;
use super::cfs_rq::CfsRq;
use super::entity::{Entity, EntityKind};
use super::features::Feature;
use super::ids::{CfsRqId, EntityId};
use super::load_weight::calc_delta_fair;
use super::preempt::PreemptVerdict;
use super::rules::{Buddies, GranRule};
use crate::classes::{Pid, Rqs};
use alloc::vec::Vec;
use schedlab_core::{Candidate, CpuId, Evidence, Who};

schedlab_core::define_rules! {
    /// The rules of the fair class: 120 to 199. Of a pick that passes through groups the rule with
    /// the largest number of those up to [`NEXT_BUDDY`] is named that decided at any level.
    pub static RULES {
        120 ONLY Pick "only_entity":
            "It is the only entity of its queue.";
        121 LEFTMOST Pick "leftmost":
            "The entity with the smallest vruntime runs: the leftmost of its queue.";
        122 LAST_BUDDY Pick "last_buddy":
            "The last buddy, whom a wakeup preempted, runs: it is not ahead of the leftmost \
             entity by more than the wakeup granularity.";
        123 NEXT_BUDDY Pick "next_buddy":
            "The next buddy, who was woken, runs: it is not ahead of the leftmost entity by more \
             than the wakeup granularity.";
        124 CURRENT_STAYS Pick "current_stays":
            "The task that had the CPU still has the smallest vruntime, and keeps it.";
        125 SKIP_BUDDY Pick "skip_buddy":
            "The leftmost entity has yielded and is skipped: the one after it runs, which is not \
             ahead of it by more than the wakeup granularity (3.2).";
        126 LEAST_FAIR_KEY Pick "least_fair_key":
            "The task with the smallest fair_key runs: the one that is owed most (2.6.23).";
        127 CURRENT_LEAST_FAIR_KEY Pick "current_least_fair_key":
            "The task that had the CPU still has the smallest fair_key, and keeps it (2.6.23).";

        130 RUNS_ALREADY Preempt "runs_already":
            "The task has the CPU already.";
        131 CLASS_ABOVE Preempt "class_above":
            "A thread of a class above preempts a fair task.";
        132 THROTTLED_GROUP Preempt "throttled_group":
            "The task is in a throttled group, and cannot run.";
        133 RESCHED_PENDING Preempt "resched_pending":
            "The CPU has been asked to reschedule already.";
        134 BATCH_WAITS Preempt "batch_waits":
            "A SCHED_BATCH task preempts nobody.";
        135 IDLE_WAITS Preempt "idle_policy_waits":
            "A SCHED_IDLE task preempts nobody.";
        136 IDLE_YIELDS Preempt "idle_policy_gives_way":
            "The current task is SCHED_IDLE, and gives way to any other.";
        137 WAKEUP_SYNC Preempt "wakeup_sync":
            "The wakeup is synchronous, and the feature WAKEUP_SYNC makes it preempt.";
        138 WAKEUP_OVERLAP Preempt "wakeup_overlap":
            "Waker and woken task run side by side only briefly, and the feature WAKEUP_OVERLAP \
             makes such a wakeup preempt.";
        139 WAKEUP_RUNNING Preempt "wakeup_running":
            "The woken task runs for shorter than the current one on average, and the feature \
             WAKEUP_RUNNING makes it the next buddy and lets it preempt.";
        140 NO_WAKEUP_PREEMPT Preempt "no_wakeup_preempt":
            "The feature WAKEUP_PREEMPT is off: no wakeup preempts.";
        141 BEYOND_GRANULARITY Preempt "beyond_wakeup_granularity":
            "The current entity is ahead of the woken one by more than the wakeup granularity: \
             the woken one preempts.";
        142 BEYOND_GRANULARITY_LAST Preempt "beyond_wakeup_granularity_last_buddy":
            "The current entity is ahead of the woken one by more than the wakeup granularity: \
             the woken one preempts, and the current one becomes the last buddy.";
        143 BEYOND_GRANULARITY_ABOVE Preempt "beyond_wakeup_granularity_above":
            "Not where the two compete, but between the groups above: the current group is ahead \
             of the woken one by more than the wakeup granularity, and the woken one preempts.";
        144 WITHIN_GRANULARITY Preempt "within_wakeup_granularity":
            "The current entity is ahead of the woken one by no more than the wakeup granularity, \
             and runs on.";
        145 WITHIN_GRANULARITY_NEXT Preempt "within_wakeup_granularity_next_buddy":
            "The current entity is not ahead by more than the wakeup granularity, and runs on; \
             the woken one is the next buddy.";
        146 NOT_BEHIND Preempt "not_behind":
            "The woken entity is not behind the current one in virtual time, which runs on.";
        147 START_DEBIT Preempt "start_debit":
            "The new task starts a slice after min_vruntime (START_DEBIT): the current one, which \
             is not ahead of that, runs on.";
        148 CHILD_RUNS_FIRST Preempt "child_runs_first":
            "The child is to run first (sched_child_runs_first): it changes virtual times with \
             its parent, and preempts it.";
        149 FORK_RESCHEDULES Preempt "fork_reschedules":
            "Every fork makes its CPU reschedule (2.6.24).";
        150 SLICE_OVER Preempt "slice_over":
            "The tick found that the current entity has run for more than its slice.";
        151 FAR_AHEAD Preempt "far_ahead":
            "The tick found the current entity ahead of the leftmost one by more than its slice.";
        152 HRTICK_OVER Preempt "hrtick_over":
            "The hrtick fired: the turn of the current task is over.";
        153 PRIORITY_LOWERED Preempt "priority_lowered":
            "The current task has become less urgent.";
        154 CLASS_CHANGED Preempt "class_changed":
            "The current task has become a fair one.";
        155 BEYOND_GRANULARITY_KEY Preempt "fair_key_beyond_granularity":
            "The fair_key of the current task is larger than that of the other by more than the \
             granularity: the other preempts (2.6.23).";
        156 WITHIN_GRANULARITY_KEY Preempt "fair_key_within_granularity":
            "The fair_key of the current task is not larger than that of the other by more than \
             the granularity: it runs on (2.6.23).";

        160 WAKER_HERE SelectCpu "waker_on_previous_cpu":
            "The waker's CPU is the one where the task ran last.";
        161 NOT_AFFINE SelectCpu "not_affine":
            "The task goes where it ran last: it may not run on the waker's CPU, or the feature \
             AFFINE_WAKEUPS is off.";
        162 NO_AFFINE_DOMAIN SelectCpu "no_affine_domain":
            "The task goes where it ran last: no domain for affine wakeups spans that CPU and the \
             waker's.";
        163 AFFINE_IDLE SelectCpu "affine_no_load":
            "An affine wakeup: the waker's CPU has no load.";
        164 AFFINE_SYNC SelectCpu "affine_sync":
            "An affine wakeup: the waker is about to sleep, and without it the task does not \
             upset the balance on its CPU.";
        165 AFFINE_BALANCED SelectCpu "affine_balanced":
            "An affine wakeup: the task does not upset the balance on the waker's CPU.";
        166 AFFINE_LIGHT SelectCpu "affine_light":
            "An affine wakeup: the waker's CPU has no more load than the previous one, and both \
             loads together are no more than its average load of a task.";
        167 PREVIOUS_CPU SelectCpu "previous_cpu":
            "The task goes where it ran last: it would upset the balance on the waker's CPU.";
        168 FORK_HERE SelectCpu "fork_here":
            "The child stays on the CPU of the fork: no other group of CPUs is idler by far, and \
             no CPU of the own group.";
        169 FORK_IDLEST SelectCpu "fork_idlest":
            "The child goes to the idlest CPU of the idlest group.";
        170 ONE_CPU SelectCpu "one_cpu":
            "The task stays on its CPU (2.6.23 has but one here).";
        171 IDLE_SIBLING SelectCpu "idle_sibling":
            "The CPU that was chosen is busy, and another one that shares its cache idles (3.2).";
        172 WAKE_IDLE SelectCpu "wake_idle":
            "One task is on the CPU that was chosen, and another one that shares its core or its \
             cache idles (2.6.24).";

        180 PERIODIC_BUSY Migrate "periodic_balance_busy":
            "Periodic balancing: a CPU that has something to run pulls from the busiest CPU.";
        181 PERIODIC_IDLE Migrate "periodic_balance_idle":
            "Periodic balancing: an idle CPU pulls from the busiest CPU.";
        182 NEWLY_IDLE Migrate "newly_idle_balance":
            "A CPU that is about to go idle pulls from the busiest CPU.";
        183 ACTIVE_BALANCE Migrate "active_balance":
            "Balancing failed several times in a row: the migration thread of the busiest CPU \
             pushes a task to the CPU that asked.";
    }
}

impl Cfs {
    /// Those among whom `cpu` would choose now, group by group. The running entity counts as if it
    /// were put back first, without the time since it was last charged.
    pub(super) fn candidates_fair(&self, rqs: &Rqs, cpu: CpuId, out: &mut Vec<Candidate>) {
        let mut open = alloc::vec![CfsRqId::root(cpu)];
        while let Some(q) = open.pop() {
            let members = self.members(q);
            // Two by two, as the tree is sorted: where virtual times of other groups have gone
            // round (2.6.32 lets them), an order by the way to min_vruntime is another one.
            let order = |one: &EntityId, other: &EntityId| {
                let ahead = self.entities[*one].vruntime.ahead_of(self.entities[*other].vruntime);
                ahead.cmp(&0).then(self.arrival_of(*one).cmp(&self.arrival_of(*other)))
            };
            let Some(left) = members.iter().copied().min_by(order) else { continue };
            for e in members {
                out.push(self.candidate(rqs, e, left));
                if let EntityKind::Group(my_q) = self.entities[e].kind {
                    open.push(my_q);
                }
            }
        }
    }

    /// The entities of a queue, waiting and running, in no order of virtual time: its tasks from
    /// the list that balancing reads, its groups from those that the CPU has queues of.
    fn members(&self, q: CfsRqId) -> Vec<EntityId> {
        let queue = &self.queues[q];
        let mut members = Vec::new();
        let mut next = queue.newest_task;
        while let Some(e) = next {
            members.push(e);
            next = self.entities[e].older;
        }
        let groups = self.queues_on[queue.cpu.index()].iter();
        members.extend(groups.filter_map(|&(_, inner)| self.queues[inner].entity).filter(|&e| {
            let entity = &self.entities[e];
            entity.on_rq && entity.cfs_rq == q
        }));
        members
    }

    /// `e` as a candidate in its queue, of which no entity is further behind than `left`. Its rank:
    /// buddies that are near enough first, then by vruntime, and among equals as they came.
    fn candidate(&self, rqs: &Rqs, e: EntityId, left: EntityId) -> Candidate {
        let entity = &self.entities[e];
        let queue = &self.queues[entity.cfs_rq];
        let is_near = self.is_near(entity, &self.entities[left]);
        let [first, second] = match self.rules.buddies {
            Buddies::None => [None, None],
            Buddies::EveryWakeup => [queue.next, queue.last],
            Buddies::Preempted => [queue.last, queue.next],
            Buddies::Preempting => [queue.next, queue.last],
        };
        let place = match (is_near, Some(e)) {
            (true, e) if e == first => 0,
            (true, e) if e == second => 1,
            (_, e) if e == Some(left) && self.is_skipped(queue, left) => 3,
            _ => 2,
        };
        let who = match entity.kind {
            EntityKind::Task(pid) => rqs.who(pid),
            EntityKind::Group(my_q) => Who::Group(self.queues[my_q].group),
        };
        let behind = entity.vruntime.ahead_of(self.entities[left].vruntime);
        let rank = [place, behind, self.arrival_of(e), 0];
        let mut candidate = Candidate { who, within: queue.group, rank, terms: Vec::new() }
            .with("vruntime_ns", entity.vruntime.ns() as i64)
            .with("weight", entity.load.weight as i64);
        if let EntityKind::Task(pid) = entity.kind {
            candidate = candidate.with("nice", i64::from(rqs.settings[pid.index()].attr.nice));
        }
        let buddies =
            [(queue.next, "next_buddy"), (queue.last, "last_buddy"), (queue.skip, "skip_buddy")];
        for (buddy, name) in buddies {
            if buddy == Some(e) {
                candidate = candidate.with(name, 1);
            }
        }
        candidate
    }

    /// Where `e` stands among those with the same vruntime. The running entity is put back after
    /// those that wait.
    fn arrival_of(&self, e: EntityId) -> i64 {
        let entity = &self.entities[e];
        let runs = self.queues[entity.cfs_rq].curr == Some(e);
        if runs { i64::MAX } else { i64::from(entity.arrival) }
    }

    /// Whether a pick passes over `left`, the entity furthest behind, because it has yielded.
    fn is_skipped(&self, queue: &CfsRq, left: EntityId) -> bool {
        if queue.skip != Some(left) {
            return false;
        }
        let q = self.entities[left].cfs_rq;
        let others = self.members(q).into_iter().filter(|&e| e != left);
        let second = others.map(|e| (self.entities[e].vruntime.ahead_of(queue.min_vruntime), e));
        let second = second.min_by_key(|&(ahead, _)| ahead);
        second.is_some_and(|(_, e)| self.is_near(&self.entities[e], &self.entities[left]))
    }

    /// Whether a pick may prefer `buddy` to `left`, the entity furthest behind: it is not ahead of
    /// that one by more than the wakeup granularity, which does not adapt here.
    fn is_near(&self, buddy: &Entity, left: &Entity) -> bool {
        let limit = self.tunables.wakeup_granularity_ns;
        let by = match self.rules.gran {
            GranRule::OfRunning => Some(buddy),
            GranRule::OfHeavyRunning => Some(buddy).filter(|buddy| buddy.load.weight > 1024),
            GranRule::OfWoken => Some(left),
            GranRule::Adaptive if self.tunables.has(Feature::AsymGran) => Some(left),
            GranRule::Adaptive => Some(buddy),
        };
        let granularity = by.map_or(limit, |entity| calc_delta_fair(limit, entity.load));
        buddy.vruntime.ahead_of(left.vruntime) <= granularity as i64
    }

    /// The grounds of a pick.
    pub(super) fn account_of_pick(&self, rqs: &Rqs, cpu: CpuId) -> Evidence {
        let queue = &self.queues[CfsRqId::root(cpu)];
        let mut evidence = Evidence::default();
        evidence
            .term("nr_running", i64::from(queue.nr_running))
            .term("min_vruntime_ns", queue.min_vruntime.ns() as i64);
        self.candidates_fair(rqs, cpu, &mut evidence.candidates);
        evidence
    }

    /// The grounds of a wakeup check of `pid` against the task that runs on its CPU: both at the
    /// level of groups that decides.
    #[cold]
    #[inline(never)]
    pub(super) fn account_of_wakeup(&self, rqs: &Rqs, cpu: CpuId, pid: Pid, out: &mut Evidence) {
        let curr = self.entity_if_any(rqs.curr(cpu));
        let (Some(curr), Some(woken)) = (curr, self.entity_if_any(pid)) else { return };
        let (mut running, mut challenger) = self.find_matching_se(curr, woken);
        while self.rules.tries_levels_upward
            && self.verdict_of(running, challenger) != PreemptVerdict::Preempt
            && let (Some(above_running), Some(above_challenger)) =
                (self.entities[running].parent, self.entities[challenger].parent)
        {
            (running, challenger) = (above_running, above_challenger);
        }
        let (running, challenger) = (&self.entities[running], &self.entities[challenger]);
        out.term("curr_vruntime_ns", running.vruntime.ns() as i64)
            .term("vruntime_ns", challenger.vruntime.ns() as i64)
            .term("ahead_ns", running.vruntime.ahead_of(challenger.vruntime))
            .term("wakeup_gran_ns", self.wakeup_gran(running, challenger) as i64);
    }

    /// The grounds of the end of a turn at a tick.
    #[cold]
    #[inline(never)]
    pub(super) fn account_of_tick(&self, curr: EntityId, slice_ns: u64, out: &mut Evidence) {
        let entity = &self.entities[curr];
        let queue = &self.queues[entity.cfs_rq];
        out.term("slice_ns", slice_ns as i64)
            .term("ran_ns", (entity.sum_exec - entity.prev_sum_exec) as i64)
            .term("vruntime_ns", entity.vruntime.ns() as i64);
        if let Some(leftmost) = queue.timeline.leftmost_vruntime() {
            out.term("leftmost_vruntime_ns", leftmost.ns() as i64);
        }
    }

    /// The grounds of a move by the balancer: the loads of both CPUs, and the weight that moves.
    #[cold]
    #[inline(never)]
    pub(super) fn account_of_move(
        &self,
        from: CpuId,
        this: CpuId,
        e: EntityId,
        out: &mut Evidence,
    ) {
        out.term("this_load", self.cpu_loads.weighted_load(this) as i64)
            .term("busiest_load", self.cpu_loads.weighted_load(from) as i64)
            .term("weight", self.entities[e].load.weight as i64);
    }

    /// The grounds of a fork's choice: the loads of the CPU of the fork and of the chosen one.
    #[cold]
    #[inline(never)]
    pub(super) fn account_of_fork(&self, this: CpuId, chosen: CpuId, out: &mut Evidence) {
        out.term("this_load", self.cpu_loads.weighted_load(this) as i64)
            .term("load", self.cpu_loads.weighted_load(chosen) as i64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cfs::{Rules, core_2_6, wait_runtime};
    use crate::classes::ClassList;
    use crate::classes::rt::RtRules;
    use crate::classes::testing::{Bench, Life, MS};
    use schedlab_core::{
        Account, Administer, BuildConfig, GroupId, Question, Scheduler, TaskId, reason::Term,
    };

    fn machine(rules: Rules, cpus: u32) -> Bench<ClassList<Cfs>> {
        let config = BuildConfig::flat(cpus, 1000);
        let mut m = Bench::new(core_2_6(rules, RtRules::V2_6_25, &config), cpus, 1000);
        m.platform.ask(true);
        m
    }

    fn last(accounts: &[Account], question: Question) -> &Account {
        accounts.iter().rev().find(|account| account.question == question).unwrap()
    }

    #[test]
    fn the_worked_example_accounts_for_its_first_pick() {
        // A and B are nice 0, C nice 5; C starts least far ahead, and runs first.
        let mut m = machine(Rules::V2_6_32, 1);
        let tasks = [0, 0, 5].map(|nice| m.nice(nice, Life::Hog));
        let told = m.platform.take_accounts();
        assert_eq!(last(&told, Question::SelectCpu).rule, crate::classes::core_2_6::FEWEST_THREADS);
        m.reschedule();
        let told = m.platform.take_accounts();
        let pick = last(&told, Question::Pick);
        assert_eq!(pick.rule, LEFTMOST);
        assert_eq!(pick.evidence.best(), Ok(Some(Who::Task(tasks[2]))));
        assert_eq!(pick.evidence.candidates.len(), 3);
        let c = pick.evidence.candidates.iter().find(|c| c.who == Who::Task(tasks[2])).unwrap();
        let term = |name: &'static str, value| Term { name: name.into(), value };
        assert_eq!(c.terms, [term("vruntime_ns", 1_099_076), term("weight", 335), term("nice", 5)]);
        assert_eq!(m.current[0], Some(tasks[2]));
    }

    #[test]
    fn a_choice_among_groups_is_accounted_for_group_by_group() {
        let mut m = machine(Rules::V2_6_32, 1);
        let group = m.sched.group_new(&mut m.platform, GroupId::ROOT, 1024).unwrap();
        let inner: Vec<TaskId> = (0..2).map(|_| m.in_group(group, Life::Hog)).collect();
        let outer = m.nice(0, Life::Hog);
        for step in 1..50 {
            m.platform.take_accounts();
            m.run_until(step * 10 * MS);
            let told = m.platform.take_accounts();
            let pick = last(&told, Question::Pick);
            assert_eq!(pick.evidence.best(), Ok(m.current[0].map(Who::Task)));
            let within = |task: TaskId| {
                let candidates = &pick.evidence.candidates;
                candidates.iter().find(|c| c.who == Who::Task(task)).unwrap().within
            };
            assert_eq!([within(inner[0]), within(inner[1])], [group; 2]);
            assert_eq!(within(outer), GroupId::ROOT);
            let mut now = Vec::new();
            m.sched.inspect().candidates(CpuId(0), &mut now);
            assert_eq!(now.len(), 4);
        }
    }

    #[test]
    fn every_account_of_a_life_with_wakeups_names_who_is_picked() {
        let config = BuildConfig::flat(1, 1000);
        let old = wait_runtime::core_2_6(&config);
        let mut m = Bench::new(old, 1, 1000);
        m.platform.ask(true);
        live(&mut m);
        for rules in [Rules::V2_6_24, Rules::V2_6_28, Rules::V2_6_29, Rules::V2_6_31] {
            live(&mut machine(rules, 1));
        }
        live(&mut machine(Rules::V2_6_32, 1));
        let mut m = machine(Rules::V3_2, 1);
        m.sched.set_tunable(&mut m.platform, "NEXT_BUDDY", 1).unwrap();
        live(&mut m);
    }

    fn live<S: Scheduler>(m: &mut Bench<S>) {
        for number in 0..10 {
            let life = Life::Periodic { run: MS, sleep: (number % 4) * 7 * MS + 1 };
            m.nice(number as i32 % 3, life);
        }
        let known: Vec<_> = m.sched.inspect().rules().into_iter().cloned().collect();
        for step in 1..400 {
            m.platform.take_accounts();
            m.run_until(step * MS);
            let told = m.platform.take_accounts();
            for account in &told {
                let rule = known.iter().find(|rule| rule.rule == account.rule).unwrap();
                assert_eq!(rule.question, account.question, "{account:?}");
            }
            if let Some(pick) = told.iter().rev().find(|told| told.question == Question::Pick) {
                assert_eq!(pick.evidence.best(), Ok(m.current[0].map(Who::Task)), "{pick:?}");
            }
        }
    }

    /// Two tasks on CPU 0 and none on CPU 1: of 2048 beside 0 a task of 1024 comes over.
    #[test]
    fn a_move_is_accounted_for_by_the_loads_and_the_weight() {
        use schedlab_core::{CpuSet, Parent, TaskAttr};
        let mut m = machine(Rules::V2_6_32, 2);
        let only = TaskAttr { allowed: CpuSet::only(CpuId(0)), ..TaskAttr::default() };
        let tasks = [0; 2].map(|_| m.start(only.clone(), Life::Hog, Parent::External));
        m.run_until(20 * MS);
        for task in tasks {
            m.sched.set_affinity(&mut m.platform, task, &CpuSet::All);
        }
        m.platform.take_accounts();
        m.run_until(200 * MS);
        let told = m.platform.take_accounts();
        let moved = told.iter().find(|account| account.question == Question::Migrate).unwrap();
        let term = |name: &'static str, value| Term { name: name.into(), value };
        let expected = [term("this_load", 0), term("busiest_load", 2048), term("weight", 1024)];
        assert_eq!(moved.evidence.terms, expected);
    }
}
