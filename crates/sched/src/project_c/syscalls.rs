//! Starts, forks, yields, changes of nice and policy.

use super::entity::{Entity, Node, RESCHED_NS, SLICE_NS};
use super::ranking::Ranking;
use super::{ProjectC, rules};
use schedlab_core::{CpuId, CpuSet, Parent, Platform, Policy, SchedAttr, TaskAttr, TaskId};

impl Entity {
    /// Takes over the attributes of a system call. `SCHED_DEADLINE` is treated as `SCHED_FIFO` 99.
    fn set_attr(&mut self, attr: &SchedAttr) {
        (self.policy, self.rt_priority) = match attr.policy {
            Policy::Deadline => (Policy::Fifo, 99),
            policy => (policy, attr.rt_priority.min(99) as u8),
        };
        self.nice = attr.nice.clamp(-20, 19) as i8;
    }
}

impl<R: Ranking> ProjectC<R> {
    /// The allowed CPU with the fewest tasks, on which the start of a task without a parent counts
    /// as done.
    fn least_loaded(&self, allowed: &CpuSet) -> CpuId {
        allowed
            .iter(self.cpus.len() as u32)
            .min_by_key(|cpu| self.cpus[cpu.index()].nr_running)
            .unwrap_or(CpuId(0))
    }

    /// `sched_fork` and `wake_up_new_task`.
    pub(super) fn start(
        &mut self,
        platform: &mut Platform,
        task: TaskId,
        attr: &TaskAttr,
        parent: Parent,
    ) {
        let mut child = Entity { allowed: attr.allowed.clone(), ..Entity::default() };
        let mut boost = 0;
        match parent {
            Parent::External => child.cpu = self.least_loaded(&attr.allowed),
            Parent::Task { task: parent, cpu } => {
                let parent = self.entities.node(parent);
                child.cpu = cpu;
                boost = self.entities[parent].boost;
                child.deadline = self.entities[parent].deadline;
                child.time_slice = self.halve_slice(platform, cpu, parent);
            }
        }
        child.set_attr(&attr.sched);
        let time_edge = self.cpus[child.cpu.index()].time_edge;
        R::forked(&mut child, boost, time_edge);
        child.last_ran = platform.now_ns();
        let node = self.entities.insert(task, child);
        let cpu = self.select_task_rq(platform, node);
        self.entities[node].cpu = cpu;
        self.activate(platform, node);
    }

    /// Halves the slice of `parent`, which runs on `cpu`. Returns the child's slice: the same, or a
    /// full one if so little is left that the parent must stop.
    fn halve_slice(&mut self, platform: &mut Platform, cpu: CpuId, parent: Node) -> i64 {
        let entity = &mut self.entities[parent];
        entity.time_slice /= 2;
        let half = entity.time_slice;
        self.start_hrtick(platform, cpu, half);
        if half >= RESCHED_NS {
            return half;
        }
        platform.resched(cpu);
        SLICE_NS
    }

    /// `activate_task` and `wakeup_preempt`: `node` is queued on the CPU that was chosen for it.
    pub(super) fn activate(&mut self, platform: &mut Platform, node: Node) {
        let cpu = self.entities[node].cpu;
        self.update_clock(platform, cpu);
        self.enqueue(platform, node);
        self.preempt_if_not_first(platform, cpu);
    }

    /// `try_to_wake_up` of a sleeping task.
    pub(super) fn wake_up(&mut self, platform: &mut Platform, node: Node) {
        R::wakes(&mut self.entities[node]);
        let cpu = self.select_task_rq(platform, node);
        self.set_cpu(platform, node, cpu, rules::WOKEN_ELSEWHERE);
        self.activate(platform, node);
    }

    /// `do_sched_yield`.
    pub(super) fn yield_to_others(&mut self, platform: &mut Platform, cpu: CpuId, node: Node) {
        if self.yield_type == 0 {
            return;
        }
        platform.resched(cpu);
        if self.cpus[cpu.index()].nr_running < 2 {
            return;
        }
        let entity = &mut self.entities[node];
        if !entity.is_realtime() && R::yields(entity) {
            self.time_slice_expired(platform, cpu, node);
        } else {
            self.requeue(platform, node);
        }
    }

    /// `__sched_setscheduler`, `set_user_nice`. The nice value of a real-time task is only stored.
    pub(super) fn change_attr(&mut self, platform: &mut Platform, node: Node, attr: &SchedAttr) {
        let entity = &mut self.entities[node];
        let before = (entity.policy, entity.rt_priority);
        entity.set_attr(attr);
        let same = entity.is_realtime() && before == (entity.policy, entity.rt_priority);
        if entity.queued && !same {
            let cpu = entity.cpu;
            self.update_clock(platform, cpu);
            self.requeue(platform, node);
            self.preempt_if_not_first(platform, cpu);
        }
    }
}
