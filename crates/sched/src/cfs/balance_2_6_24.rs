//! Several CPUs in 2.6.24: 2.6.22's balancing
//! ([`load_balance_2_6_22`](crate::classes::load_balance_2_6_22)) with the loads of scheduling
//! classes.
//!
//! A CPU's load is the total weight of its runnable threads, including real-time threads. Tasks of
//! all classes are balanced, both woken and forked. A CPU's clock is read only on that CPU: code on
//! another CPU uses its last reading.

use super::{Cfs, rules};
use crate::classes::load_balance_2_6_22::{self, Balanced, Domains, Moved, Walk, wake_idle};
use crate::classes::load_balance_2_6_22::{newly_idle_balance, rebalance, rules as balance_rules};
use crate::classes::rt::RealTime;
use crate::classes::{Challenge, Class, ClassId, Dequeue, Enqueue, Pid, Rqs, Select, core_2_6};
use alloc::vec::Vec;
use schedlab_core::{CpuId, Platform, Question, Rule};

/// The weight of a real-time thread.
const RT_WEIGHT: u64 = 2 * 88761;

/// Number of tasks of a class that a balancing pass examines (`sched_nr_migrate` + 1).
const LOOKS: usize = 33;

/// The fair class and the classes that it balances.
struct Queues<'a> {
    fair: &'a mut Cfs,
    rqs: &'a mut Rqs,
    /// `None` where nothing is moved.
    rt: Option<&'a mut RealTime>,
}

impl Cfs {
    /// Returns the domains and loads of 2.6.24.
    fn early(&mut self) -> &mut Domains {
        self.early.as_mut().expect("the release balances as 2.6.24 did")
    }

    /// Brings the load of `cpu` up to date.
    pub(super) fn refresh_early_load(&mut self, rqs: &Rqs, cpu: CpuId) {
        let nr_running = rqs.nr_running[cpu.index()];
        let root = &self.queues[super::ids::CfsRqId::root(cpu)];
        let weight = root.load + RT_WEIGHT * u64::from(nr_running - root.h_nr_running);
        self.early().set_load(cpu, weight, nr_running);
    }

    /// Implements `update_cpu_load`.
    pub(super) fn update_early_cpu_load(&mut self, rqs: &Rqs, cpu: CpuId) {
        self.refresh_early_load(rqs, cpu);
        self.early().update_cpu_load(cpu);
    }

    fn refresh_early_loads(&mut self, rqs: &Rqs) {
        for cpu in (0..rqs.cpus()).map(CpuId) {
            self.refresh_early_load(rqs, cpu);
        }
    }

    /// Implements `rebalance_domains`.
    pub(super) fn rebalance_early(
        &mut self,
        rqs: &mut Rqs,
        rt: &mut RealTime,
        platform: &mut Platform,
        cpu: CpuId,
    ) {
        let is_idle = rqs.is_idle_thread(rqs.curr(cpu));
        rebalance(&mut Queues { fair: self, rqs, rt: Some(rt) }, platform, cpu, is_idle);
    }

    /// Implements `idle_balance`.
    pub(super) fn idle_balance_early(
        &mut self,
        rqs: &mut Rqs,
        rt: &mut RealTime,
        platform: &mut Platform,
        cpu: CpuId,
    ) {
        newly_idle_balance(&mut Queues { fair: self, rqs, rt: Some(rt) }, platform, cpu);
    }

    /// `active_load_balance`, by the migration thread of `busiest`: moves one task, the first of
    /// the first class that has a movable one.
    pub(super) fn active_balance_early(
        &mut self,
        rqs: &mut Rqs,
        rt: &mut RealTime,
        platform: &mut Platform,
        busiest: CpuId,
    ) {
        let Some(to) = self.early().take_push_cpu(busiest) else {
            return;
        };
        if rqs.nr_running[busiest.index()] <= 1 {
            return;
        }
        let mut queues = Queues { fair: self, rqs, rt: Some(rt) };
        for class in [ClassId::Rt, ClassId::Fair] {
            let tasks = queues.movable_order(class, busiest, usize::MAX);
            let first = (tasks.iter().copied())
                .find(|&pid| queues.can_migrate(pid, busiest, to, &mut false));
            queues.fair.early_order = tasks;
            if let Some(pid) = first {
                return queues.pull(platform, balance_rules::ACTIVE_BALANCE, pid, to);
            }
        }
    }

    /// Selects the CPU of a woken or forked task of any class.
    pub(super) fn select_early(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        pid: Pid,
        select: Select,
    ) -> CpuId {
        let (chosen, rule) = match select {
            Select::Wakeup { sync } => self.wakeup_cpu_early(rqs, pid, sync),
            Select::Fork => {
                let chosen = self.idlest_early(rqs, pid, rqs.this_cpu, Walk::Fork);
                let here = chosen == rqs.this_cpu;
                (chosen, if here { rules::FORK_HERE } else { rules::FORK_IDLEST })
            }
        };
        platform.by_rule(Question::SelectCpu, chosen, rule);
        chosen
    }

    /// Implements `sched_balance_self`.
    pub(super) fn idlest_early(&mut self, rqs: &Rqs, pid: Pid, cpu: CpuId, walk: Walk) -> CpuId {
        self.refresh_early_loads(rqs);
        let allowed = &rqs.settings[pid.index()].allowed;
        self.early().idlest(cpu, walk, allowed)
    }

    fn wakeup_cpu_early(&mut self, rqs: &mut Rqs, pid: Pid, sync: bool) -> (CpuId, Rule) {
        let (cpu, rule) = self.affine_cpu_early(rqs, pid, sync);
        self.refresh_early_load(rqs, cpu);
        let mut queues = Queues { fair: self, rqs, rt: None };
        let may_run_on = |queues: &Queues<'_>, cpu| queues.rqs.is_allowed(pid, cpu);
        let idle = wake_idle(&mut queues, cpu, may_run_on);
        if idle == cpu { (cpu, rule) } else { (idle, rules::WAKE_IDLE) }
    }

    /// Returns the CPU of the waker, or the one where `pid` last ran.
    fn affine_cpu_early(&mut self, rqs: &Rqs, pid: Pid, sync: bool) -> (CpuId, Rule) {
        let (this, prev) = (rqs.this_cpu, rqs.cpu_of(pid));
        if this == prev {
            return (prev, rules::WAKER_HERE);
        }
        if !rqs.is_allowed(pid, this) {
            return (prev, rules::NOT_AFFINE);
        }
        for cpu in [this, prev] {
            self.refresh_early_load(rqs, cpu);
        }
        if sync && self.early().is_affine(this, prev) && !self.is_hot_early(rqs, pid) {
            return (this, rules::AFFINE_SYNC);
        }
        let weight = self.weight_of(pid);
        let leaving = if sync { self.weight_of(rqs.curr(this)) } else { 0 };
        match self.early().wakes_here(this, prev, weight, leaving) {
            Some(rule) => (this, rule),
            None => (prev, rules::PREVIOUS_CPU),
        }
    }

    fn weight_of(&self, pid: Pid) -> u64 {
        self.entity_if_any(pid).map_or(RT_WEIGHT, |e| self.entities[e].load.weight)
    }

    /// `task_hot`, by the clock of the CPU of `pid`.
    fn is_hot_early(&self, rqs: &Rqs, pid: Pid) -> bool {
        let thread = rqs.thread(pid);
        let Some(e) = self.entity_if_any(pid).filter(|_| thread.class == ClassId::Fair) else {
            return false;
        };
        match self.tunables.migration_cost_ns {
            -1 => true,
            0 => false,
            cost => {
                let since = rqs.clock(thread.cpu).wrapping_sub(self.entities[e].exec_start);
                (since as i64) < cost
            }
        }
    }
}

impl Queues<'_> {
    /// Returns the tasks of a class on `cpu`, at most `most`, in the order in which balancing
    /// examines them: fair tasks by virtual time. The caller returns the list to
    /// [`Cfs::early_order`](super::Cfs).
    fn movable_order(&mut self, class: ClassId, cpu: CpuId, most: usize) -> Vec<Pid> {
        let mut order = core::mem::take(&mut self.fair.early_order);
        order.clear();
        match (class, &self.rt) {
            (ClassId::Rt, Some(rt)) => order.extend(rt.from_tails(cpu).take(most)),
            (ClassId::Fair, _) => {
                let root = &self.fair.queues[super::ids::CfsRqId::root(cpu)];
                let waiting = root.timeline.iter().take(most);
                order.extend(waiting.map(|(e, _)| self.fair.entities[e].task()));
            }
            _ => {}
        }
        order
    }

    /// `balance_tasks`: moves tasks of one class from `from` to `to`. Returns the weight still to
    /// be moved, and the number of tasks moved. `all_pinned` becomes that of the class.
    fn balance_tasks(
        &mut self,
        platform: &mut Platform,
        why: Rule,
        class: ClassId,
        (from, to): (CpuId, CpuId),
        pass: &mut Pass,
    ) {
        pass.all_pinned = pass.rest > 0;
        if pass.rest <= 0 {
            return;
        }
        let tasks = self.movable_order(class, from, LOOKS);
        for &pid in &tasks {
            let weight = self.fair.weight_of(pid) as i64;
            let prio = self.rqs.thread(pid).prio;
            let is_too_heavy = weight / 2 > pass.rest + 1024 && prio >= pass.best_prio;
            if is_too_heavy || !self.can_migrate(pid, from, to, &mut pass.all_pinned) {
                continue;
            }
            self.pull(platform, why, pid, to);
            pass.moved += 1;
            pass.rest -= weight;
            if pass.rest <= 0 {
                break;
            }
            pass.best_prio = pass.best_prio.min(prio);
        }
        self.fair.early_order = tasks;
    }

    /// Implements `can_migrate_task`.
    fn can_migrate(&self, pid: Pid, from: CpuId, to: CpuId, all_pinned: &mut bool) -> bool {
        if !self.rqs.is_allowed(pid, to) {
            return false;
        }
        *all_pinned = false;
        let domains = self.fair.early.as_ref().expect("the release balances as 2.6.24 did");
        self.rqs.curr(from) != pid
            && (domains.takes_cache_hot(to) || !self.fair.is_hot_early(self.rqs, pid))
    }

    /// Implements `pull_task`.
    fn pull(&mut self, platform: &mut Platform, why: Rule, pid: Pid, to: CpuId) {
        let Queues { fair, rqs, rt } = self;
        let from = rqs.cpu_of(pid);
        if rqs.thread(pid).class == ClassId::Fair {
            let e = fair.entity_of(pid);
            return fair.pull_task(rqs, platform, e, to, why);
        }
        let Some(rt) = rt else { return };
        platform.work.moves += 1;
        platform.by_rule(Question::Migrate, to, why);
        rt.dequeue_task(rqs, platform, from, pid, Dequeue::Migrate);
        rqs.sub_nr_running(from, 1);
        rqs.set_cpu(platform, pid, to);
        if let Some(e) = fair.entity_if_any(pid) {
            fair.set_task_cpu(e, from, to);
        }
        rt.enqueue_task(rqs, platform, to, pid, Enqueue::Migrated);
        rqs.add_nr_running(to, 1);
        match rqs.thread(rqs.curr(to)).class {
            ClassId::Fair => fair.check_preempt_wakeup(rqs, platform, to, pid, Challenge::Other),
            ClassId::Rt => rt.check_preempt_curr(rqs, platform, to, pid, Challenge::Other),
            ClassId::Idle | ClassId::Deadline => {
                platform.by_rule(Question::Preempt, to, core_2_6::IDLE_GIVES_WAY);
                rqs.resched_curr(platform, to);
            }
        }
    }
}

/// The state of one call of `move_tasks`.
struct Pass {
    /// Weight still to be moved.
    rest: i64,
    /// The best priority on the CPU that pulls.
    best_prio: i16,
    moved: u32,
    all_pinned: bool,
}

impl Balanced for Queues<'_> {
    fn domains(&mut self) -> &mut Domains {
        self.fair.early()
    }

    fn refresh_loads(&mut self) {
        self.fair.refresh_early_loads(self.rqs);
    }

    /// Moves any number of tasks: from each class in turn, until the load has moved.
    fn move_tasks(
        &mut self,
        platform: &mut Platform,
        why: Rule,
        to: CpuId,
        from: CpuId,
        max_tasks: u32,
        max_load: u64,
    ) -> Moved {
        if max_tasks == 0 {
            return Moved { tasks: 0, all_pinned: false };
        }
        platform.double_lock(to, from);
        let best_prio = self.rqs.thread(self.rqs.curr(to)).prio;
        let mut pass = Pass { rest: max_load as i64, best_prio, moved: 0, all_pinned: false };
        self.balance_tasks(platform, why, ClassId::Rt, (from, to), &mut pass);
        if pass.rest > 0 {
            self.balance_tasks(platform, why, ClassId::Fair, (from, to), &mut pass);
        }
        Moved { tasks: pass.moved, all_pinned: pass.all_pinned }
    }

    fn is_idle(&self, cpu: CpuId) -> bool {
        self.rqs.is_idle_thread(self.rqs.curr(cpu))
    }

    fn current_may_run_on(&self, busiest: CpuId, cpu: CpuId) -> bool {
        let curr = self.rqs.curr(busiest);
        !self.rqs.is_idle_thread(curr) && self.rqs.is_allowed(curr, cpu)
    }

    fn wake_migration_thread(&mut self, platform: &mut Platform, cpu: CpuId) {
        let Queues { fair, rqs, rt } = self;
        if let Some(rt) = rt {
            rqs.rqs[cpu.index()].active_balance = true;
            core_2_6::wake_migration_thread(*fair, rqs, rt, platform, cpu);
        }
    }
}

/// Returns the loads and domains of 2.6.24.
pub(super) fn early_domains(topology: &schedlab_core::Topology, hz: u32) -> Domains {
    Domains::of(load_balance_2_6_22::Version::V2_6_24, topology, hz)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cfs::{Version, entries};
    use crate::classes::rt::RtVersion;
    use crate::classes::testing::{Bench, Life, MS};
    use schedlab_core::{BuildConfig, CpuSet, Parent, SchedAttr, TaskAttr};

    /// Lets CPU 0 run one task while a task of nice -20 (weight 88761) waits there. Returns whether
    /// the waiting task moves to CPU 1 when `rest` is to be moved and the best priority there is
    /// `best_prio`.
    fn moves(rest: i64, best_prio: i16) -> bool {
        let config = BuildConfig::flat(2, 1000);
        let mut m =
            Bench::new(entries::core_2_6(Version::V2_6_24, RtVersion::V2_6_23, &config), 2, 1000);
        for nice in [0, -20] {
            let sched = SchedAttr::nice(nice);
            let allowed = CpuSet::only(CpuId(0));
            m.start(
                TaskAttr { sched, allowed, ..TaskAttr::default() },
                Life::Hog,
                Parent::External,
            );
            if nice == 0 {
                m.run_until(10 * MS);
            }
        }
        let heavy = m.sched.core.pid(schedlab_core::TaskId(1));
        m.sched.core.settings[heavy.index()].allowed = CpuSet::All;
        m.sched.fair.tunables.migration_cost_ns = 0;
        let mut queues = Queues { fair: &mut m.sched.fair, rqs: &mut m.sched.core, rt: None };
        let mut pass = Pass { rest, best_prio, moved: 0, all_pinned: false };
        let cpus = (CpuId(0), CpuId(1));
        queues.balance_tasks(
            &mut m.platform,
            balance_rules::ACTIVE_BALANCE,
            ClassId::Fair,
            cpus,
            &mut pass,
        );
        assert_eq!(m.sched.core.cpu_of(heavy).0, pass.moved);
        pass.moved == 1
    }

    #[test]
    fn what_is_twice_too_heavy_stays_unless_it_is_the_most_urgent() {
        // Half of 88761 is 44380: one task of 1024 more than 43356.
        assert!(moves(43_356, 100) && !moves(43_355, 100));
        // Its priority is 100: better than 101.
        assert!(moves(1, 101));
    }
}
