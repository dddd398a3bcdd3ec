//! Tasks that move from one CPU's queue to another's: by a CPU that is about to idle, by a CPU
//! whose tasks have waited long, and between idle and busy cores.

use super::entity::{Node, SLICE_NS};
use super::ranking::Ranking;
use super::{ProjectC, rules};
use schedlab_core::{CpuId, Platform};

/// `SCHED_NR_MIGRATE_BREAK`: the largest number of tasks that are examined at a time.
const EXAMINED_MAX: u32 = 32;
/// Time for which tasks must have waited on a CPU before it offers them to others, ns.
const BALANCE_AFTER_NS: u64 = 2 * SLICE_NS as u64;

impl<R: Ranking> ProjectC<R> {
    /// `take_other_rq_tasks`: `cpu`, whose queue is empty, takes tasks from the nearest CPU that
    /// has some for it. In each level around it the CPUs are asked in ascending order, beginning at
    /// its own number.
    pub(super) fn take_tasks(&mut self, platform: &mut Platform, cpu: CpuId) {
        platform.work.balances += 1;
        let cpus = self.cpus.len() as u32;
        for at in 0..self.levels.count(cpu) {
            for other in (cpu.0..cpus).chain(0..cpu.0).map(CpuId) {
                if self.masks.pending.contains(other)
                    && self.levels.contains(cpu, at, other)
                    && self.take_from(platform, other, cpu)
                {
                    return;
                }
            }
        }
    }

    /// `migrate_pending_tasks`: takes every second one of the tasks that wait behind the running
    /// one of `from`, of at most half of its tasks. Returns whether there was any.
    fn take_from(&mut self, platform: &mut Platform, from: CpuId, to: CpuId) -> bool {
        platform.work.queues += 1;
        let source = &self.cpus[from.index()];
        let Some(mut passed) = source.curr.filter(|&curr| self.entities[curr].queued) else {
            return false;
        };
        let mut moved = 0;
        for _ in 0..(source.nr_running / 2).min(EXAMINED_MAX) {
            let queue = &self.cpus[from.index()].queue;
            let Some(node) = queue.next(&self.entities, passed) else { break };
            let after = queue.next(&self.entities, node);
            platform.work.scanned += 1;
            if self.entities[node].allowed.contains(to) {
                self.transfer(platform, node, to, rules::TAKEN);
                moved += 1;
            }
            match after {
                Some(after) => passed = after,
                None => break,
            }
        }
        if moved == 0 {
            return false;
        }
        platform.double_lock(to, from);
        self.sub_nr_running(from, moved);
        self.add_nr_running(to, moved);
        true
    }

    /// `prio_balance`: `cpu` keeps running `curr`. If no CPU idles and its other tasks have waited
    /// for two slices, each may move to a CPU on which it would preempt.
    #[inline]
    pub(super) fn priority_balance(&mut self, platform: &mut Platform, cpu: CpuId, curr: Node) {
        let here = &self.cpus[cpu.index()];
        if here.balance_stamp != 0
            && here.clock.saturating_sub(here.balance_stamp) >= BALANCE_AFTER_NS
            && self.no_cpu_idles()
        {
            self.offer_tasks(platform, cpu, curr);
        }
    }

    /// Whether the queue of no CPU is empty, of those that are online.
    fn no_cpu_idles(&self) -> bool {
        self.masks.idle.words().iter().zip(self.online.words()).all(|(idle, on)| idle & on == 0)
    }

    fn offer_tasks(&mut self, platform: &mut Platform, cpu: CpuId, curr: Node) {
        platform.work.balances += 1;
        let here = &mut self.cpus[cpu.index()];
        here.balance_stamp = here.clock;
        self.available.words_mut().copy_from_slice(self.online.words());
        self.available.set(cpu, false);
        let mut next = here.queue.next(&self.entities, curr);
        while let Some(node) = next {
            next = self.cpus[cpu.index()].queue.next(&self.entities, node);
            let level = self.level_on(node, cpu);
            platform.work.scanned += 1;
            platform.work.queues += u64::from(platform.cpus());
            let worse = self.masks.preemptible(level).words();
            let available = self.available.words();
            let answer = |word: usize| worse[word] & available[word];
            if (0..available.len()).all(|word| answer(word) == 0) {
                return;
            }
            let allowed = &self.entities[node].allowed;
            if let Some(to) = self.levels.best(cpu, |word| answer(word) & allowed.word(word)) {
                self.move_queued(platform, node, to, rules::PRIORITY_BALANCE);
                self.available.set(to, false);
            }
        }
    }

    /// `sg_balance`: `cpu` idles, and so does its whole core. If both threads of another core run
    /// one task each, one of these is to move to an idle core: its CPU's stopper is woken for that.
    pub(super) fn smt_balance(&mut self, platform: &mut Platform, cpu: CpuId) {
        if self.masks.pairs() < 2 || !self.masks.sg_idle.contains(cpu) {
            return;
        }
        let cpus = self.cpus.len() as u32;
        let lone = |cpu: CpuId| !self.masks.idle.contains(cpu) && !self.masks.pending.contains(cpu);
        let found = (cpu.0..cpus).chain(0..cpu.0).map(CpuId).find_map(|other| {
            let sibling = self.masks.sibling(other)?;
            let there = &self.cpus[other.index()];
            if !lone(other) || !lone(sibling) || there.nr_running != 1 || there.leaving.is_some() {
                return None;
            }
            let node = there.queue.first()?;
            self.idle_core_for(node).map(|_| (other, node))
        });
        if let Some((other, node)) = found {
            self.cpus[other.index()].leaving = Some(node);
            self.wake_stopper(platform, other);
        }
    }

    /// The nearest CPU of an idle core that `node` may use, beyond the core on which it is.
    fn idle_core_for(&self, node: Node) -> Option<CpuId> {
        let entity = &self.entities[node];
        let idle = self.masks.sg_idle.words();
        self.levels.best_beyond_core(entity.cpu, |word| idle[word] & entity.allowed.word(word))
    }

    /// `sg_balance_cpu_stop`: the stopper of `cpu` moves the task that is to go to an idle core, if
    /// it is still here and there is one.
    pub(super) fn move_to_idle_core(&mut self, platform: &mut Platform, cpu: CpuId) {
        let Some(node) = self.cpus[cpu.index()].leaving.take() else { return };
        let entity = &self.entities[node];
        if entity.queued
            && entity.cpu == cpu
            && let Some(to) = self.idle_core_for(node)
        {
            self.move_queued(platform, node, to, rules::SMT_BALANCE);
        }
    }

    /// `__set_cpus_allowed_ptr`: `node` may no longer be used where it is. If it waits it moves at
    /// once, if it runs its CPU's stopper moves it, and if it sleeps its wakeup will choose.
    pub(super) fn leave_forbidden(&mut self, platform: &mut Platform, node: Node) {
        let Some(cpu) = self.forbidden_on(node) else { return };
        if self.cpus[cpu.index()].curr == Some(node) {
            self.cpus[cpu.index()].banishes = true;
            self.wake_stopper(platform, cpu);
            let stopper = Node::stopper(cpu);
            if self.entities[node].queued && self.entities[node].list == self.entities[stopper].list
            {
                // Otherwise a real-time task of priority 96 or more would stay before the stopper,
                // on a CPU that it may not use, until it blocks.
                self.cpus[cpu.index()].queue.move_to_head(&mut self.entities, stopper);
                self.preempt_if_not_first(platform, cpu);
            }
        } else if self.entities[node].queued {
            self.update_clock(platform, cpu);
            self.move_to_allowed(platform, node);
        }
    }

    /// The CPU of `node`, if it may not use it.
    fn forbidden_on(&self, node: Node) -> Option<CpuId> {
        let entity = &self.entities[node];
        (!entity.allowed.contains(entity.cpu)).then_some(entity.cpu)
    }

    /// Moves `node` to the lowest CPU that it may use.
    fn move_to_allowed(&mut self, platform: &mut Platform, node: Node) {
        if let Some(to) = self.entities[node].allowed.first(self.cpus.len() as u32) {
            self.move_queued(platform, node, to, rules::CPUS_ALLOWED);
        }
    }

    /// The stopper of `cpu` moves the tasks that may no longer run there.
    pub(super) fn move_forbidden(&mut self, platform: &mut Platform, cpu: CpuId) {
        if !core::mem::replace(&mut self.cpus[cpu.index()].banishes, false) {
            return;
        }
        let mut next = self.cpus[cpu.index()].queue.first();
        while let Some(node) = next {
            next = self.cpus[cpu.index()].queue.next(&self.entities, node);
            if self.forbidden_on(node).is_some() {
                self.move_to_allowed(platform, node);
            }
        }
    }
}
