//! Push and pull: keeping the most urgent real-time tasks of the machine on its CPUs (2.6.25).

use super::prio_array::MAX_RT_PRIO;
use super::{CpuPri, RealTime, rules};
use crate::classes::{Pid, Rqs};
use schedlab_core::{CpuId, Platform, Question, Rule};

impl RealTime {
    /// `enqueue_pushable_task`: puts `pid` behind its equals, even if it is already there.
    pub(super) fn make_pushable(&mut self, rqs: &Rqs, cpu: CpuId, pid: Pid) {
        if !self.version.push_pull {
            return;
        }
        let prio = rqs.thread(pid).prio as u8;
        let pushable = &mut self.rqs[cpu.index()].pushable;
        pushable.remove(&mut self.push_links, pid);
        pushable.push_back(&mut self.push_links, pid, prio);
    }

    /// Implements `dequeue_pushable_task`.
    #[inline]
    pub(super) fn make_unpushable(&mut self, cpu: CpuId, pid: Pid) {
        if self.push_links[pid.index()].is_linked() {
            self.rqs[cpu.index()].pushable.remove(&mut self.push_links, pid);
        }
    }

    /// `update_rt_migration`: updates whether the CPU is overloaded. It is if it has a movable task
    /// and at least one other.
    pub(super) fn update_overloaded(&mut self, cpu: CpuId) {
        let rq = &mut self.rqs[cpu.index()];
        let overloaded = self.version.push_pull && rq.rt_nr_migratory > 0 && rq.rt_nr_running > 1;
        if overloaded == rq.overloaded {
            return;
        }
        rq.overloaded = overloaded;
        let word = &mut self.overloaded[cpu.index() / 64];
        let bit = 1 << (cpu.0 % 64);
        if overloaded {
            *word |= bit;
            self.overloaded_count += 1;
        } else {
            *word &= !bit;
            self.overloaded_count -= 1;
        }
    }

    /// Returns the lowest overloaded CPU from `from` on.
    fn next_overloaded(&self, from: u32) -> Option<CpuId> {
        let mut word = from as usize / 64;
        let mut bits = self.overloaded.get(word)? & (u64::MAX << (from % 64));
        while bits == 0 {
            word += 1;
            bits = *self.overloaded.get(word)?;
        }
        Some(CpuId(word as u32 * 64 + bits.trailing_zeros()))
    }

    /// `pick_next_highest_task_rt`: returns the best task of `source` that waits, is movable, and
    /// may run on `target`.
    fn best_movable(&self, rqs: &Rqs, source: CpuId, target: CpuId) -> Option<Pid> {
        self.rqs[source.index()].queue.iter(&self.links).find(|&pid| {
            rqs.curr(source) != pid
                && rqs.thread(pid).nr_cpus_allowed > 1
                && rqs.is_allowed(pid, target)
        })
    }

    /// `next_prio`: returns the priority of the best task of `cpu` that could be pulled.
    pub(super) fn next_prio(&self, rqs: &Rqs, cpu: CpuId) -> u8 {
        self.best_movable(rqs, cpu, cpu).map_or(MAX_RT_PRIO, |pid| rqs.thread(pid).prio as u8)
    }

    /// `find_lowest_rq`: returns a CPU that runs something less urgent than `pid`: its own CPU if
    /// possible, else a near one.
    pub(super) fn find_lowest_rq(&self, rqs: &Rqs, pid: Pid) -> Option<CpuId> {
        if rqs.thread(pid).nr_cpus_allowed == 1 {
            return None;
        }
        let mask = self.cpupri.find(rqs, pid)?;
        let own = rqs.cpu_of(pid);
        if self.cpupri.holds(rqs, pid, mask, own) {
            return Some(own);
        }
        let here = (rqs.this_cpu != own).then_some(rqs.this_cpu);
        let here = here.filter(|&cpu| self.cpupri.holds(rqs, pid, mask, cpu));
        for number in rqs.domains.of(own) {
            let level = rqs.domains.level(number);
            if !level.params.wake_affine {
                continue;
            }
            if let Some(cpu) = here.filter(|&cpu| level.share(cpu, own)) {
                return Some(cpu);
            }
            let first = CpuPri::first(&self.cpupri, rqs, pid, mask, |cpu| level.share(cpu, own));
            if first.is_some() {
                return first;
            }
        }
        here.or_else(|| self.cpupri.first(rqs, pid, mask, |_| true))
    }

    /// `check_preempt_equal_prio`: `pid` is as urgent as the running task. If `pid` can only run
    /// here and the running task could go elsewhere, `pid` moves to the head of the list and the
    /// running task is to be pushed away. Returns whether that is so.
    pub(super) fn check_preempt_equal_prio(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        pid: Pid,
    ) -> bool {
        let curr = rqs.curr(cpu);
        if rqs.thread(curr).nr_cpus_allowed == 1 {
            return false;
        }
        if rqs.thread(pid).nr_cpus_allowed != 1 && self.cpupri.find(rqs, pid).is_some() {
            return false;
        }
        if self.cpupri.find(rqs, curr).is_none() {
            return false;
        }
        self.requeue(rqs, cpu, pid, true);
        rqs.resched_curr(platform, cpu);
        true
    }

    /// Moves `pid`, waiting on `from`, to `to`, by `rule`: a push or a pull.
    fn move_task(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        pid: Pid,
        (from, to): (CpuId, CpuId),
        rule: Rule,
    ) {
        use crate::classes::{Class, Dequeue, Enqueue};
        platform.because(Question::Migrate, to, rule, |evidence| {
            rules::priorities(rqs, to, pid, evidence);
        });
        platform.double_lock(from, to);
        platform.work.moves += 1;
        self.dequeue_task(rqs, platform, from, pid, Dequeue::Migrate);
        if self.counts(from) {
            rqs.sub_nr_running(from, 1);
        }
        rqs.set_cpu_and_report(platform, pid, to);
        RealTime::enqueue_task(self, rqs, platform, to, pid, Enqueue::Migrated);
        if self.counts(to) {
            rqs.add_nr_running(to, 1);
        }
    }

    /// `push_rt_task`: pushes the first pushable task of `cpu` away. Returns whether another
    /// attempt makes sense.
    pub(super) fn push_rt_task(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
    ) -> bool {
        let rq = &self.rqs[cpu.index()];
        if !rq.overloaded {
            return false;
        }
        let Some(pid) = rq.pushable.head(rq.pushable.best()) else {
            return false;
        };
        let prio = rqs.thread(pid).prio;
        if prio < rqs.thread(rqs.curr(cpu)).prio {
            rqs.resched_curr(platform, cpu);
            return false;
        }
        let target = self.find_lowest_rq(rqs, pid).filter(|&target| {
            target != cpu && i16::from(self.rqs[target.index()].highest_curr) > prio
        });
        match target {
            Some(target) => {
                self.move_task(rqs, platform, pid, (cpu, target), rules::RT_PUSH);
                rqs.resched_curr(platform, target);
            }
            // It remains until another CPU pulls it.
            None => self.make_unpushable(cpu, pid),
        }
        true
    }

    /// Implements `push_rt_tasks`.
    pub(super) fn push_rt_tasks(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId) {
        while self.push_rt_task(rqs, platform, cpu) {}
    }

    /// `pull_rt_task`: takes from each overloaded CPU the best waiting task, if it is better than
    /// all tasks of `cpu`.
    pub(super) fn pull_rt_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId) {
        if self.overloaded_count == 0 {
            return;
        }
        let mut from = 0;
        while let Some(source) = self.next_overloaded(from) {
            from = source.0 + 1;
            let highest = self.rqs[cpu.index()].highest_curr;
            let rq = &self.rqs[source.index()];
            if source == cpu || rq.highest_next >= highest || rq.rt_nr_running <= 1 {
                continue;
            }
            let Some(pid) = self.best_movable(rqs, source, cpu) else {
                continue;
            };
            let prio = rqs.thread(pid).prio;
            // A task more urgent than its CPU's current task is about to run there.
            if prio >= i16::from(highest) || prio < rqs.thread(rqs.curr(source)).prio {
                continue;
            }
            self.move_task(rqs, platform, pid, (source, cpu), rules::RT_PULL);
        }
    }
}
