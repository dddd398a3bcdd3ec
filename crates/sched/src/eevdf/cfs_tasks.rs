//! The list of a CPU's fair tasks (`cfs_tasks`), the latest queued or run first: balancing takes
//! from its end.

use super::class::Fair;
use crate::classes::{Pid, Rqs};
use schedlab_core::CpuId;

impl Fair {
    /// `task` is the newest of `cpu`.
    pub(super) fn list_add(&mut self, cpu: CpuId, task: Pid) {
        if self.cpus == 1 {
            return;
        }
        let list = &mut self.balance.cpus[cpu.index()];
        let head = list.newest.replace(task);
        let row = &mut self.tasks[task.index()];
        row.newer = None;
        row.older = head;
        match head {
            None => list.oldest = Some(task),
            Some(head) => self.tasks[head.index()].newer = Some(task),
        }
    }

    /// `task` leaves the list of `cpu`.
    pub(super) fn list_remove(&mut self, cpu: CpuId, task: Pid) {
        if self.cpus == 1 {
            return;
        }
        let list = &mut self.balance.cpus[cpu.index()];
        let row = &self.tasks[task.index()];
        let (newer, older) = (row.newer, row.older);
        match newer {
            None => list.newest = older,
            Some(newer) => self.tasks[newer.index()].older = older,
        }
        match older {
            None => list.oldest = newer,
            Some(older) => self.tasks[older.index()].newer = newer,
        }
    }

    /// `task` runs: it is the newest.
    pub(super) fn list_to_head(&mut self, rqs: &Rqs, task: Pid) {
        let cpu = rqs.cpu_of(task);
        if self.cpus > 1 && rqs.thread(task).on_rq {
            self.list_remove(cpu, task);
            self.list_add(cpu, task);
        }
    }

    /// Checks the lists. For tests.
    pub(super) fn audit_lists(&self, rqs: &Rqs) -> bool {
        let mut queued = alloc::vec![0; self.cpus as usize];
        for (number, task) in self.tasks.iter().enumerate() {
            if task.se.is_some_and(|e| self.se[e].on_rq) {
                queued[rqs.cpu_of(Pid(number as u32)).index()] += 1;
            }
        }
        self.cpus == 1
            || self.balance.cpus.iter().enumerate().all(|(cpu, row)| {
                let mut found = 0;
                let mut next = row.oldest;
                let mut last = None;
                while let Some(task) = next {
                    let entry = &self.tasks[task.index()];
                    if entry.older != last || rqs.cpu_of(task).index() != cpu {
                        return false;
                    }
                    found += 1;
                    last = next;
                    next = entry.newer;
                }
                last == row.newest && found == queued[cpu]
            })
    }
}
