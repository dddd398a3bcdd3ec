//! The audit: checks the queues, the entities and the counts against each other.

use super::Cfs;
use super::ids::CfsRqId;
use crate::classes::{ClassId, Pid, Rqs};
use alloc::string::String;
use schedlab_core::index::IndexVec;

impl Cfs {
    /// Checks all books.
    pub(super) fn audit_books(&self, rqs: &Rqs) -> Result<(), String> {
        for (q, queue) in self.queues.enumerate() {
            self.audit_queue(q).map_err(|what| {
                alloc::format!("CPU {}, group {}: {what}", queue.cpu.0, queue.group.0)
            })?;
        }
        for (pid, e) in self.entity_of.iter().enumerate() {
            let pid = Pid(pid as u32);
            let Some(e) = *e else { continue };
            let entity = &self.entities[e];
            let thread = rqs.thread(pid);
            let queued = thread.on_rq && thread.class == ClassId::Fair;
            if entity.on_rq != queued {
                return Err(alloc::format!(
                    "thread {}: queued is {queued}, but on_rq of its entity is {}",
                    pid.0,
                    entity.on_rq
                ));
            }
            if self.queues[entity.cfs_rq].cpu != rqs.cpu_of(pid) {
                return Err(alloc::format!("thread {} and its queue are on different CPUs", pid.0));
            }
        }
        self.audit_limits()
    }

    /// Checks a queue against its timeline.
    fn audit_queue(&self, q: CfsRqId) -> Result<(), &'static str> {
        let queue = &self.queues[q];
        queue.timeline.audit()?;
        let waiting = queue.timeline.len();
        let curr = queue.curr.map(|curr| &self.entities[curr]).filter(|curr| curr.on_rq);
        if waiting + usize::from(curr.is_some()) != queue.nr_running as usize {
            return Err("nr_running is not the number of entities");
        }
        let mut load = curr.map_or(0, |curr| curr.load.weight);
        for (e, vruntime) in queue.timeline.iter() {
            let entity = &self.entities[e];
            if !entity.on_rq || entity.cfs_rq != q || entity.vruntime != vruntime {
                return Err("an entity in the timeline does not belong there");
            }
            load += entity.load.weight;
        }
        if load != queue.load {
            return Err("the load is not the sum of the weights");
        }
        let mut tasks = 0;
        let mut next = queue.newest_task;
        while let Some(e) = next {
            tasks += 1;
            if tasks > queue.nr_running {
                return Err("more tasks are listed than queued");
            }
            next = self.entities[e].older;
        }
        let competes = queue.nr_running > 0 && !self.limits.is_throttled(q);
        if queue.entity.is_some_and(|e| self.entities[e].on_rq != competes) {
            return Err("a group is queued although it has nothing to run, or the other way round");
        }
        for buddy in [queue.next, queue.last, queue.skip].into_iter().flatten() {
            if !self.entities[buddy].on_rq {
                return Err("a buddy is not queued");
            }
        }
        let too_far = queue.min_vruntime - (1 << 62);
        if !self.keeps_foreign_time
            && queue.timeline.leftmost_vruntime().is_some_and(|left| left.is_before(too_far))
        {
            return Err("an entity is impossibly far behind");
        }
        Ok(())
    }

    /// Recounts the tasks that each queue counts here and below.
    fn audit_limits(&self) -> Result<(), String> {
        self.limits.audit()?;
        let mut found: IndexVec<CfsRqId, u32> = self.queues.iter().map(|_| 0).collect();
        for &e in self.entity_of.iter().flatten() {
            let mut level = Some(e).filter(|&e| self.entities[e].on_rq);
            while let Some(e) = level {
                let q = self.entities[e].cfs_rq;
                found[q] += 1;
                level = self.entities[e].parent.filter(|_| !self.limits.is_throttled(q));
            }
        }
        for (queue, found) in self.queues.iter().zip(found.iter()) {
            if queue.h_nr_running != *found {
                return Err(alloc::format!(
                    "CPU {}, group {}: {} tasks counted, {found} found",
                    queue.cpu.0,
                    queue.group.0,
                    queue.h_nr_running
                ));
            }
        }
        Ok(())
    }
}
