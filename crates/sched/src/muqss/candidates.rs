//! The candidates of a pick, ranked as the pick would compare them.

use super::levels::{IDLE_PRIO, normal_prio};
use super::pick::{Look, Search};
use super::{Muqss, Task};
use alloc::vec::Vec;
use schedlab_core::{Candidate, CpuId, Policy, TaskId};

/// A key as a number that compares alike.
const fn signed(key: u64) -> i64 {
    (key ^ 1 << 63) as i64
}

impl Muqss {
    /// Lists the tasks that `cpu` may run, queue by queue. Tasks that its pick would not look at
    /// come last: it passes over their queue, or a sibling thread does not allow them. The others
    /// are ranked by key, then by queue, then by place. `curr`: the running task and its key, as if
    /// the CPU had just put it back.
    #[cold]
    #[inline(never)]
    pub(super) fn list_candidates(
        &self,
        cpu: CpuId,
        curr: Option<(u64, TaskId)>,
        out: &mut Vec<Candidate>,
    ) {
        let mut search = Search::START;
        let mut ended = false;
        for visited in 0..self.nearness.queues() {
            let leader = self.nearness.queue_at(cpu, visited);
            search.visited = visited;
            let mut look = self.look_at(&search, cpu, leader);
            let mut entries: Vec<(u64, TaskId)> = self.queues.iter(leader).collect();
            if visited == 0
                && let Some(curr) = curr
            {
                let place = entries.partition_point(|&(key, _)| key <= curr.0);
                entries.insert(place, curr);
                look = Look::Through;
            }
            ended |= look == Look::End;
            let mut looks = !ended && look != Look::Past;
            let mut found = None;
            for (place, &(key, task)) in entries.iter().enumerate() {
                let may_run = self.tasks[task].allowed.contains(cpu);
                let is_open = looks && self.smt_allows(task, cpu);
                if may_run {
                    let position = (visited as i64) << 32 | place as i64;
                    let rank = [i64::from(!is_open), signed(key), position, 0];
                    out.push(self.described(Candidate::task(task, rank), cpu, task));
                }
                if may_run && is_open && key < search.best && found.is_none() {
                    found = Some((key, task));
                }
                looks &= look != Look::AtFirst;
            }
            if let Some((key, task)) = found {
                let entries = entries.len() as u32;
                search = Search { visited, best: key, entries, found: Some(task) };
            }
            ended |= self.is_preempting(cpu, search.found);
        }
    }

    /// The running task of `cpu` with its key as if the CPU had put it back now, if it may go on.
    pub(super) fn curr_put_back(&self, cpu: CpuId) -> Option<(u64, TaskId)> {
        let curr = self.cpus[cpu.index()].curr?;
        let row = &self.tasks[curr];
        if !row.runnable || !row.allowed.contains(cpu) {
            return None;
        }
        let deadline = match self.is_used_up(curr) || row.policy == Policy::Batch {
            true => self.niffies(cpu).wrapping_add(self.distances[(row.nice + 20) as usize] as u64),
            false => row.deadline,
        };
        Some((self.key(row.policy, self.level_on(curr, cpu), deadline), curr))
    }

    fn described(&self, candidate: Candidate, cpu: CpuId, task: TaskId) -> Candidate {
        let Task { deadline, time_slice, prio, nice, cpu: last, policy, rt_priority, .. } =
            self.tasks[task];
        let described = candidate
            .with("prio", prio.into())
            .with("deadline_ns", deadline as i64)
            .with("time_slice", time_slice.into())
            .with("nice", nice.into())
            .with("last_cpu", last.0.into());
        let is_demoted = prio != normal_prio(policy, rt_priority) && prio != IDLE_PRIO;
        let described = match is_demoted {
            true => described.with("iso_refractory", 1),
            false => described,
        };
        match self.smt_allows(task, cpu) {
            true => described,
            false => described.with("held_back_by_sibling", 1),
        }
    }
}
