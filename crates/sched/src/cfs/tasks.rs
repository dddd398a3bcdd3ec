//! The entities of tasks, and the application of the `cfs_interactive` rule to them.

use super::Cfs;
use super::entity::{Entity, EntityKind};
use super::ids::{CfsRqId, EntityId};
use super::load_weight::LoadWeight;
use crate::classes::{Pid, Rqs};
use schedlab_core::{CpuId, GroupId, Platform, Policy, SchedAttr};

impl Cfs {
    /// Creates the entity of a new task, as a member of `group` on its CPU.
    pub(super) fn add_task(
        &mut self,
        rqs: &Rqs,
        pid: Pid,
        attr: &SchedAttr,
        group: GroupId,
    ) -> EntityId {
        if self.entity_of.len() <= pid.index() {
            self.entity_of.resize(rqs.threads.len(), None);
        }
        let load = self.load_of(pid, attr);
        let q = CfsRqId::root(rqs.cpu_of(pid));
        let mut entity = Entity::new(EntityKind::Task(pid), load, q, None);
        entity.is_idle_policy = attr.policy == Policy::Idle;
        entity.averages.avg_wakeup = self.tunables.wakeup_granularity_ns;
        let e = self.entities.push(entity);
        self.entity_of[pid.index()] = Some(e);
        self.set_task_rq(e, group, rqs.cpu_of(pid));
        e
    }

    /// Creates the entity of a new task of nice 0 in the root group.
    pub(super) fn new_entity(&mut self, pid: Pid, cpu: CpuId) -> EntityId {
        let load = self.load_of(pid, &SchedAttr::nice(0));
        self.entities.push(Entity::new(EntityKind::Task(pid), load, CfsRqId::root(cpu), None))
    }

    /// Returns the entity of a task.
    #[inline]
    pub(super) fn entity_of(&self, pid: Pid) -> EntityId {
        self.entity_of[pid.index()].expect("the thread is a task")
    }

    /// Returns the entity of a thread, if it is a task.
    #[inline]
    pub(super) fn entity_if_any(&self, pid: Pid) -> Option<EntityId> {
        self.entity_of[pid.index()]
    }

    /// Returns the group of an entity.
    #[inline]
    pub(super) fn group_of(&self, e: EntityId) -> GroupId {
        self.queues[self.entities[e].cfs_rq].group
    }

    /// Returns the total run time of the task `pid`, whose entity is `e`, under all policies, ns.
    #[inline]
    pub(super) fn total_exec(&self, rqs: &Rqs, pid: Pid, e: EntityId) -> u64 {
        self.entities[e].sum_exec + rqs.thread(pid).rt_sum_exec
    }

    /// Returns the weight of a task by its attributes (and by the `cfs_interactive` rule).
    pub(super) fn load_of(&self, pid: Pid, attr: &SchedAttr) -> LoadWeight {
        let attr = self.interactive.effective(pid, attr);
        LoadWeight::of_task(&attr, self.version.old_idle_weight)
    }

    /// Judges, on entry to `schedule()`, whether the outgoing task is CPU-bound. The time since it
    /// was last charged counts.
    pub(super) fn interactive_judges(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid) {
        if !matches!(rqs.thread(pid).policy, Policy::Other | Policy::Batch) {
            return;
        }
        let e = self.entity_of(pid);
        let clock = rqs.clock(rqs.cpu_of(pid));
        let uncharged_ns = clock.wrapping_sub(self.entities[e].exec_start);
        let sum_exec_ns = self.total_exec(rqs, pid, e) + uncharged_ns;
        if self.interactive.judge(pid, sum_exec_ns) {
            let load = self.load_of(pid, &rqs.settings[pid.index()].attr);
            self.reweight_entity(rqs, platform, e, load);
        }
    }

    /// Records that `pid`, not yet on its queue, has been woken. It has run `ran_ns` in total.
    pub(super) fn interactive_wakes(&mut self, rqs: &Rqs, pid: Pid, e: EntityId, ran_ns: u64) {
        if self.interactive.wakes(pid, rqs.clock(rqs.cpu_of(pid)), ran_ns) {
            self.entities[e].load = self.load_of(pid, &rqs.settings[pid.index()].attr);
        }
    }
}
