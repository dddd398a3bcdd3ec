//! Several CPUs: the n earliest deadlines of the machine are to run on its n CPUs.
//!
//! A CPU with more than one task of the class, at least one of which may move, is *overloaded*. It
//! **pushes** the earliest waiting task to a CPU without deadline tasks, or to the CPU whose
//! earliest deadline is the latest, if that deadline is later than the task's. A CPU whose deadline
//! task leaves **pulls** from the overloaded ones. There is no periodic balancing.
//!
//! The kernel keeps a heap of CPUs by earliest deadline. Here a search finds the CPU.

use super::cbs::before;
use super::{Deadline, rules};
use crate::classes::{Class, ClassId, Dequeue, Enqueue, Pid, Rqs};
use alloc::vec::Vec;
use schedlab_core::{CpuId, Platform, Question, Rule};

/// The CPUs with tasks of the class.
#[derive(Clone, Debug)]
pub struct Overload {
    /// Overloaded CPUs, 64 per word.
    overloaded: Vec<u64>,
    /// Number of overloaded CPUs.
    count: u32,
    /// CPUs with a task of the class, 64 per word.
    busy: Vec<u64>,
}

impl Overload {
    /// Creates the state in which no CPU has tasks.
    pub fn new(cpus: u32) -> Overload {
        let words = (cpus as usize).div_ceil(64);
        Overload { overloaded: alloc::vec![0; words], count: 0, busy: alloc::vec![0; words] }
    }

    /// Whether `cpu` is overloaded.
    #[inline]
    pub fn is_overloaded(&self, cpu: CpuId) -> bool {
        self.overloaded[cpu.index() / 64] >> (cpu.0 % 64) & 1 == 1
    }

    fn is_busy(&self, cpu: CpuId) -> bool {
        self.busy[cpu.index() / 64] >> (cpu.0 % 64) & 1 == 1
    }
}

fn set_bit(words: &mut [u64], cpu: CpuId, to: bool) {
    let bit = 1 << (cpu.0 % 64);
    let word = &mut words[cpu.index() / 64];
    *word = if to { *word | bit } else { *word & !bit };
}

impl Deadline {
    /// Updates whether `cpu`, whose tasks have changed, is overloaded and whether it has any.
    pub(super) fn earliest_changed(&mut self, cpu: CpuId) {
        let rq = &self.rqs[cpu.index()];
        let overloaded = rq.nr_running > 1 && rq.nr_migratory > 0;
        if overloaded != self.overload.is_overloaded(cpu) {
            set_bit(&mut self.overload.overloaded, cpu, overloaded);
            self.overload.count =
                if overloaded { self.overload.count + 1 } else { self.overload.count - 1 };
        }
        set_bit(&mut self.overload.busy, cpu, rq.nr_running > 0);
    }

    /// For equal deadlines: whether the running task could move while the new one could not.
    pub(super) fn could_swap(&self, rqs: &Rqs, new: Pid, curr: Pid) -> bool {
        rqs.thread(curr).nr_cpus_allowed > 1
            && self.find_later_cpu(rqs, curr).is_some()
            && (rqs.thread(new).nr_cpus_allowed == 1 || self.find_later_cpu(rqs, new).is_none())
    }

    /// `find_later_rq`: returns a CPU on which `pid` may run and that has no deadline tasks (its
    /// own CPU, the executing one, any other), or else, among the CPUs whose earliest deadline is
    /// later than that of `pid`, the one with the latest.
    pub(super) fn find_later_cpu(&self, rqs: &Rqs, pid: Pid) -> Option<CpuId> {
        if rqs.thread(pid).nr_cpus_allowed == 1 {
            return None;
        }
        let free = |cpu: CpuId| !self.overload.is_busy(cpu) && rqs.is_allowed(pid, cpu);
        for cpu in [rqs.cpu_of(pid), rqs.this_cpu] {
            if free(cpu) {
                return Some(cpu);
            }
        }
        for (number, &word) in self.overload.busy.iter().enumerate() {
            let mut bits = !word;
            while bits != 0 {
                let cpu = number as u32 * 64 + bits.trailing_zeros();
                bits &= bits - 1;
                if cpu < rqs.cpus() && rqs.is_allowed(pid, CpuId(cpu)) {
                    return Some(CpuId(cpu));
                }
            }
        }
        let mut best: Option<(u64, CpuId)> = None;
        for cpu in (0..rqs.cpus()).map(CpuId) {
            let Some(earliest) = self.earliest(cpu) else {
                continue;
            };
            if best.is_none_or(|(latest, _)| before(latest, earliest)) && rqs.is_allowed(pid, cpu) {
                best = Some((earliest, cpu));
            }
        }
        best.filter(|&(latest, _)| before(self.deadline_of(pid), latest)).map(|(_, cpu)| cpu)
    }

    /// Selects the CPU on which `pid` wakes: its last CPU, unless a deadline task runs there that
    /// does not give way to it. Also returns the rule.
    pub(super) fn select_at_wakeup(&self, rqs: &Rqs, pid: Pid) -> (CpuId, Rule) {
        let cpu = rqs.cpu_of(pid);
        let curr = rqs.curr(cpu);
        let stays = rqs.thread(curr).class != ClassId::Deadline
            || (rqs.thread(curr).nr_cpus_allowed > 1
                && before(self.deadline_of(pid), self.deadline_of(curr)))
            || rqs.thread(pid).nr_cpus_allowed == 1;
        if stays {
            return (cpu, rules::DL_TASK_CPU);
        }
        let later = self.find_later_cpu(rqs, pid).filter(|&target| {
            self.earliest(target).is_none_or(|earliest| before(self.deadline_of(pid), earliest))
        });
        match later {
            Some(later) => (later, rules::DL_LATER_CPU),
            None => (cpu, rules::DL_NO_LATER_CPU),
        }
    }

    /// Returns the earliest task of `cpu` that waits and may move (to `target`, if given).
    fn earliest_pushable(&self, rqs: &Rqs, cpu: CpuId, target: Option<CpuId>) -> Option<Pid> {
        let mut next = self.rqs[cpu.index()].tree.leftmost();
        while let Some(entity) = next {
            let pid = entity.pid();
            if rqs.curr(cpu) != pid
                && rqs.thread(pid).nr_cpus_allowed > 1
                && target.is_none_or(|target| rqs.is_allowed(pid, target))
            {
                return Some(pid);
            }
            next = self.nodes.next(entity);
        }
        None
    }

    /// Moves the waiting `pid` to `to`, by `rule`: a push or a pull.
    fn move_task(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        pid: Pid,
        to: CpuId,
        rule: Rule,
    ) {
        let from = rqs.cpu_of(pid);
        self.because(rqs, platform, (Question::Migrate, rule), to, pid);
        platform.double_lock(from, to);
        platform.work.moves += 1;
        self.dequeue_task(rqs, platform, from, pid, Dequeue::Migrate);
        rqs.set_cpu_and_report(platform, pid, to);
        rqs.update_rq_clock(platform, to);
        self.enqueue_task(rqs, platform, to, pid, Enqueue::Migrated);
    }

    /// Implements `push_dl_tasks`.
    pub(super) fn push_if_overloaded(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
    ) {
        while self.overload.is_overloaded(cpu) {
            let Some(pid) = self.earliest_pushable(rqs, cpu, None) else {
                return;
            };
            let curr = rqs.curr(cpu);
            if rqs.thread(curr).class == ClassId::Deadline
                && before(self.deadline_of(pid), self.deadline_of(curr))
                && rqs.thread(curr).nr_cpus_allowed > 1
            {
                rqs.resched_curr(platform, cpu);
                return;
            }
            let Some(target) = self.find_later_cpu(rqs, pid).filter(|&target| target != cpu) else {
                return;
            };
            self.move_task(rqs, platform, pid, target, rules::DL_PUSH);
            rqs.resched_curr(platform, target);
        }
    }

    /// `pull_dl_task`: takes from overloaded CPUs tasks whose deadlines are earlier than all of
    /// `cpu`.
    pub(super) fn pull(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId) {
        if self.overload.count == 0 {
            return;
        }
        for source in (0..rqs.cpus()).map(CpuId) {
            if source == cpu || !self.overload.is_overloaded(source) {
                continue;
            }
            let Some(pid) = self.earliest_pushable(rqs, source, Some(cpu)) else {
                continue;
            };
            let deadline = self.deadline_of(pid);
            let curr = rqs.curr(source);
            let about_to_run = rqs.thread(curr).class == ClassId::Deadline
                && before(deadline, self.deadline_of(curr));
            if !about_to_run && self.earliest(cpu).is_none_or(|earliest| before(deadline, earliest))
            {
                self.move_task(rqs, platform, pid, cpu, rules::DL_PULL);
            }
        }
    }
}
