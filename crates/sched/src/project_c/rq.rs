//! Changes of a CPU's queue, with their effect on its clock, its level and its number of tasks.

use super::entity::Node;
use super::ranking::{Ranking, level};
use super::{ProjectC, rules};
use schedlab_core::{CpuId, Platform, Question, Rule};

impl<R: Ranking> ProjectC<R> {
    /// `update_rq_clock`, and with it `time_edge`.
    #[inline]
    pub(super) fn update_clock(&mut self, platform: &Platform, cpu: CpuId) {
        let here = &mut self.cpus[cpu.index()];
        here.clock = platform.now_ns();
        let time_edge = R::time_edge(here.clock);
        if time_edge != here.time_edge {
            let slots = time_edge - here.time_edge;
            here.time_edge = time_edge;
            here.queue.advance(&mut self.entities, slots);
            self.masks.advance_level(cpu, slots);
        }
    }

    /// The level that `node` would have in the queue of `cpu`.
    #[inline]
    pub(super) fn level_on(&self, node: Node, cpu: CpuId) -> u8 {
        level::<R>(&self.entities[node], self.cpus[cpu.index()].time_edge)
    }

    /// The masks learn the best level of `cpu`.
    #[inline]
    fn update_masks(&mut self, cpu: CpuId) {
        self.masks.set_level(cpu, self.cpus[cpu.index()].queue.best_level());
    }

    /// Puts `node` at the tail of its level, on its CPU. The caller counts it.
    pub(super) fn push(&mut self, platform: &mut Platform, node: Node) {
        let cpu = self.entities[node].cpu;
        let level = self.level_on(node, cpu);
        self.entities[node].queued = true;
        self.cpus[cpu.index()].queue.push(&mut self.entities, node, level);
        self.update_masks(cpu);
        platform.work.enqueues += 1;
    }

    /// Takes `node` off its queue. The caller counts it.
    pub(super) fn remove(&mut self, platform: &mut Platform, node: Node) {
        let cpu = self.entities[node].cpu;
        self.entities[node].queued = false;
        self.cpus[cpu.index()].queue.remove(&mut self.entities, node);
        self.update_masks(cpu);
        platform.work.dequeues += 1;
    }

    /// `enqueue_task`.
    pub(super) fn enqueue(&mut self, platform: &mut Platform, node: Node) {
        self.push(platform, node);
        self.add_nr_running(self.entities[node].cpu, 1);
    }

    /// `dequeue_task`.
    pub(super) fn dequeue(&mut self, platform: &mut Platform, node: Node) {
        self.remove(platform, node);
        self.sub_nr_running(self.entities[node].cpu, 1);
    }

    /// `requeue_task`: puts `node` at the tail of what is its level now, unless it is the last
    /// there already.
    pub(super) fn requeue(&mut self, platform: &mut Platform, node: Node) {
        let cpu = self.entities[node].cpu;
        let level = self.level_on(node, cpu);
        let queue = &mut self.cpus[cpu.index()].queue;
        if !queue.is_last(node, level) {
            queue.remove(&mut self.entities, node);
            queue.push(&mut self.entities, node, level);
            self.update_masks(cpu);
            platform.work.requeue();
        }
    }

    /// `add_nr_running`: `count` tasks more. A CPU with several is pending from now on.
    pub(super) fn add_nr_running(&mut self, cpu: CpuId, count: u32) {
        let here = &mut self.cpus[cpu.index()];
        here.nr_running += count;
        if here.nr_running > 1 {
            here.balance_stamp = here.clock;
            self.masks.pending.set(cpu, true);
        }
    }

    /// `sub_nr_running`: `count` tasks fewer.
    pub(super) fn sub_nr_running(&mut self, cpu: CpuId, count: u32) {
        let here = &mut self.cpus[cpu.index()];
        here.nr_running -= count;
        if here.nr_running < 2 {
            here.balance_stamp = 0;
            self.masks.pending.set(cpu, false);
        }
    }

    /// `wakeup_preempt`: the queue of `cpu` has changed. If the running task is no longer the
    /// first, it is preempted.
    pub(super) fn preempt_if_not_first(&mut self, platform: &mut Platform, cpu: CpuId) {
        let here = &self.cpus[cpu.index()];
        let rule = if here.queue.first() == here.curr {
            rules::NOT_FIRST
        } else {
            platform.resched(cpu);
            rules::FIRST
        };
        platform.because(Question::Preempt, cpu, rule, |evidence| {
            evidence.term("best_level", self.masks.level(cpu).into());
            if let Some(curr) = here.curr.filter(|&curr| self.entities[curr].queued) {
                let level = here.queue.level_of(self.entities[curr].list);
                evidence.term("level_of_running", level.into());
            }
        });
    }

    /// `set_task_cpu`: `node`, which is not queued, belongs to `to` from now on.
    pub(super) fn set_cpu(&mut self, platform: &mut Platform, node: Node, to: CpuId, why: Rule) {
        let from = core::mem::replace(&mut self.entities[node].cpu, to);
        if from != to
            && let Some(task) = self.entities.task(node)
        {
            platform.by_rule(Question::Migrate, to, why);
            platform.migrated(task, from, to);
        }
    }

    /// `node` goes from its queue to that of `to`. The caller counts it on both CPUs.
    pub(super) fn transfer(&mut self, platform: &mut Platform, node: Node, to: CpuId, why: Rule) {
        self.remove(platform, node);
        self.set_cpu(platform, node, to, why);
        R::moved(&mut self.entities[node], self.cpus[to.index()].time_edge);
        self.push(platform, node);
        platform.work.moves += 1;
    }

    /// `move_queued_task`: the same with the counts, and `to` reschedules if the task comes first.
    pub(super) fn move_queued(
        &mut self,
        platform: &mut Platform,
        node: Node,
        to: CpuId,
        why: Rule,
    ) {
        let from = self.entities[node].cpu;
        platform.double_lock(from, to);
        self.transfer(platform, node, to, why);
        self.sub_nr_running(from, 1);
        self.add_nr_running(to, 1);
        self.preempt_if_not_first(platform, to);
    }
}
