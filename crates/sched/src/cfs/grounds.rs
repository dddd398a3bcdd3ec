//! The grounds of the fair class's decisions.
//!
//! A decision stores only the number of its rule. This module runs only on request. The candidates
//! of a pick are found without the timeline that the pick reads, by examining every entity of a
//! queue: its virtual time, its arrival, and whether it is a buddy.

use super::Cfs;
use super::cfs_rq::CfsRq;
use super::entity::{Entity, EntityKind};
use super::features::Feature;
use super::ids::{CfsRqId, EntityId};
use super::load_weight::calc_delta_fair;
use super::preempt::PreemptVerdict;
use super::releases::{Buddies, GranRule};
use crate::classes::{Pid, Rqs};
use alloc::vec::Vec;
use schedlab_core::index::TypedIndex as _;
use schedlab_core::{Candidate, CpuId, Evidence, Who};

impl Cfs {
    /// Adds the candidates from which `cpu` would choose now, group by group. The running entity
    /// counts as if it were put back first, without the time since it was last charged.
    pub(super) fn candidates_fair(&self, rqs: &Rqs, cpu: CpuId, out: &mut Vec<Candidate>) {
        let mut open = alloc::vec![CfsRqId::root(cpu)];
        while let Some(q) = open.pop() {
            let members = self.members(q);
            // Compared in pairs, as in the tree: where virtual times of other groups have wrapped
            // (which 2.6.32 allows), an order by distance from min_vruntime is different.
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

    /// Returns the entities of a queue, waiting and running, in no order of virtual time: its tasks
    /// from the list that balancing reads, its groups from the queues of the CPU. (Where that list
    /// is one for all queues of a CPU, from all entities.)
    fn members(&self, q: CfsRqId) -> Vec<EntityId> {
        if self.version.lists_tasks_by_cpu {
            let queued = |e: &EntityId| self.entities[*e].on_rq && self.entities[*e].cfs_rq == q;
            return (0..self.entities.len()).map(EntityId::new).filter(queued).collect();
        }
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

    /// Returns the candidate for `e` in its queue, where no entity is further behind than `left`.
    /// Its rank: buddies that are near enough first, then by vruntime, and among equals by arrival.
    fn candidate(&self, rqs: &Rqs, e: EntityId, left: EntityId) -> Candidate {
        let entity = &self.entities[e];
        let queue = &self.queues[entity.cfs_rq];
        let is_near = self.is_near(entity, &self.entities[left]);
        let [first, second] = match self.version.buddies {
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

    /// Returns the order of `e` among entities with the same vruntime. The running entity is put
    /// back after the waiting ones.
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

    /// Whether a pick may prefer `buddy` to `left`, the entity furthest behind: it must not be
    /// ahead of `left` by more than the wakeup granularity, which is not adaptive here.
    fn is_near(&self, buddy: &Entity, left: &Entity) -> bool {
        let limit = self.tunables.wakeup_granularity_ns;
        let by = match self.version.gran {
            GranRule::OfRunning => Some(buddy),
            GranRule::OfHeavyRunning => Some(buddy).filter(|buddy| buddy.load.weight > 1024),
            GranRule::OfWoken => Some(left),
            GranRule::Adaptive if self.tunables.has(Feature::AsymGran) => Some(left),
            GranRule::Adaptive => Some(buddy),
        };
        let granularity = by.map_or(limit, |entity| calc_delta_fair(limit, entity.load));
        buddy.vruntime.ahead_of(left.vruntime) <= granularity as i64
    }

    /// Returns the grounds of a pick.
    pub(super) fn account_of_pick(&self, rqs: &Rqs, cpu: CpuId) -> Evidence {
        let queue = &self.queues[CfsRqId::root(cpu)];
        let mut evidence = Evidence::default();
        evidence
            .term("nr_running", i64::from(queue.nr_running))
            .term("min_vruntime_ns", queue.min_vruntime.ns() as i64);
        self.candidates_fair(rqs, cpu, &mut evidence.candidates);
        evidence
    }

    /// Records the grounds of a wakeup check of `pid` against the task that runs on its CPU: both
    /// entities at the group level that decides.
    #[cold]
    #[inline(never)]
    pub(super) fn account_of_wakeup(&self, rqs: &Rqs, cpu: CpuId, pid: Pid, out: &mut Evidence) {
        let curr = self.entity_if_any(rqs.curr(cpu));
        let (Some(curr), Some(woken)) = (curr, self.entity_if_any(pid)) else { return };
        let (mut running, mut challenger) = self.find_matching_se(curr, woken);
        while self.version.tries_levels_upward
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

    /// Records the grounds for ending a slice at a tick.
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

    /// Records the grounds of a move by the balancer: the loads of both CPUs, and the weight that
    /// moves.
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

    /// Records the grounds of CPU selection at a fork: the loads of the CPU of the fork and of the
    /// chosen one.
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
    use crate::cfs::{Version, core_2_6, rules, wait_runtime};
    use crate::classes::ClassList;
    use crate::classes::rt::RtVersion;
    use crate::classes::testing::{Bench, Life, MS};
    use schedlab_core::{
        Account, Administer, BuildConfig, GroupId, Question, Scheduler, TaskId, reason::Term,
    };

    fn machine(version: Version, cpus: u32) -> Bench<ClassList<Cfs>> {
        let config = BuildConfig::flat(cpus, 1000);
        let mut m = Bench::new(core_2_6(version, RtVersion::V2_6_25, &config), cpus, 1000);
        m.platform.ask(true);
        m
    }

    fn last(accounts: &[Account], question: Question) -> &Account {
        accounts.iter().rev().find(|account| account.question == question).unwrap()
    }

    #[test]
    fn the_worked_example_accounts_for_its_first_pick() {
        // A and B are nice 0, C nice 5; C starts least far ahead, and runs first.
        let mut m = machine(Version::V2_6_32, 1);
        let tasks = [0, 0, 5].map(|nice| m.nice(nice, Life::Hog));
        let accounts = m.platform.take_accounts();
        assert_eq!(
            last(&accounts, Question::SelectCpu).rule,
            crate::classes::core_2_6::FEWEST_THREADS
        );
        m.reschedule();
        let accounts = m.platform.take_accounts();
        let pick = last(&accounts, Question::Pick);
        assert_eq!(pick.rule, rules::LEFTMOST);
        assert_eq!(pick.evidence.best(), Ok(Some(Who::Task(tasks[2]))));
        assert_eq!(pick.evidence.candidates.len(), 3);
        let c = pick.evidence.candidates.iter().find(|c| c.who == Who::Task(tasks[2])).unwrap();
        let term = |name: &'static str, value| Term { name: name.into(), value };
        assert_eq!(c.terms, [term("vruntime_ns", 1_099_076), term("weight", 335), term("nice", 5)]);
        assert_eq!(m.current[0], Some(tasks[2]));
    }

    #[test]
    fn a_choice_among_groups_is_accounted_for_group_by_group() {
        let mut m = machine(Version::V2_6_32, 1);
        let group = m.sched.group_new(&mut m.platform, GroupId::ROOT, 1024).unwrap();
        let inner: Vec<TaskId> = (0..2).map(|_| m.in_group(group, Life::Hog)).collect();
        let outer = m.nice(0, Life::Hog);
        for step in 1..50 {
            m.platform.take_accounts();
            m.run_until(step * 10 * MS);
            let accounts = m.platform.take_accounts();
            let pick = last(&accounts, Question::Pick);
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
        for version in [Version::V2_6_24, Version::V2_6_28, Version::V2_6_29, Version::V2_6_31] {
            live(&mut machine(version, 1));
        }
        live(&mut machine(Version::V2_6_32, 1));
        let mut m = machine(Version::V3_2, 1);
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
            let accounts = m.platform.take_accounts();
            for account in &accounts {
                let rule = known.iter().find(|rule| rule.rule == account.rule).unwrap();
                assert_eq!(rule.question, account.question, "{account:?}");
            }
            if let Some(pick) =
                accounts.iter().rev().find(|accounts| accounts.question == Question::Pick)
            {
                assert_eq!(pick.evidence.best(), Ok(m.current[0].map(Who::Task)), "{pick:?}");
            }
        }
    }

    /// Two tasks on CPU 0 and none on CPU 1: of a load of 2048 against 0 a task of 1024 moves.
    #[test]
    fn a_move_is_accounted_for_by_the_loads_and_the_weight() {
        use schedlab_core::{CpuSet, Parent, TaskAttr};
        let mut m = machine(Version::V2_6_32, 2);
        let only = TaskAttr { allowed: CpuSet::only(CpuId(0)), ..TaskAttr::default() };
        let tasks = [0; 2].map(|_| m.start(only.clone(), Life::Hog, Parent::External));
        m.run_until(20 * MS);
        for task in tasks {
            m.sched.set_affinity(&mut m.platform, task, &CpuSet::All);
        }
        m.platform.take_accounts();
        m.run_until(200 * MS);
        let accounts = m.platform.take_accounts();
        let moved = accounts.iter().find(|account| account.question == Question::Migrate).unwrap();
        let term = |name: &'static str, value| Term { name: name.into(), value };
        let expected = [term("this_load", 0), term("busiest_load", 2048), term("weight", 1024)];
        assert_eq!(moved.evidence.terms, expected);
    }
}
