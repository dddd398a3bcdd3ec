//! Consistency checks of queues, entities and counts.

use super::Cfs;
use super::ids::CfsRqId;
use crate::classes::{ClassId, Pid, Rqs};
use alloc::string::String;
use schedlab_core::index::IndexVec;

impl Cfs {
    /// Checks all data structures.
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
                return Err("an entity in the timeline does not belong in it");
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
        // `skip` may be a throttled group: its task yields on its way out. It is only compared with
        // the leftmost.
        for buddy in [queue.next, queue.last].into_iter().flatten() {
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

    /// Recounts the tasks that each queue counts in itself and below.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cfs::{Version, core_2_6};
    use crate::classes::rt::RtVersion;
    use crate::classes::testing::{Bench, Life};
    use schedlab_core::{BuildConfig, CpuId, TaskId};

    /// Each corrupts one thing in the root queue of CPU 0, where one entity runs and one waits.
    #[test]
    fn whatever_does_not_add_up_is_found() {
        let config = BuildConfig::flat(2, 1000);
        let mut m = Bench::new(core_2_6(Version::V2_6_32, RtVersion::V2_6_25, &config), 2, 1000);
        let tasks: [TaskId; 4] = [0; 4].map(|nice| m.nice(nice, Life::Hog));
        m.reschedule();
        let (fair, rqs) = (&m.sched.fair, &m.sched.core);
        assert_eq!(fair.audit_books(rqs), Ok(()));
        let q = CfsRqId::root(CpuId(0));
        let waits = fair.queues[q].timeline.leftmost().unwrap();
        let stranger = "an entity in the timeline does not belong in it";
        type Corrupt<'a> = &'a dyn Fn(&mut Cfs);
        let corruptions: [(Corrupt<'_>, &str); 10] = [
            (&|fair| fair.queues[q].nr_running += 1, "nr_running is not the number of entities"),
            (&|fair| fair.entities[waits].on_rq = false, stranger),
            (&|fair| fair.entities[waits].cfs_rq = CfsRqId::root(CpuId(1)), stranger),
            (&|fair| fair.entities[waits].vruntime = fair.entities[waits].vruntime - 1, stranger),
            (&|fair| fair.queues[q].load += 1, "the load is not the sum of the weights"),
            (
                &|fair| fair.entities[waits].load.weight -= 1,
                "the load is not the sum of the weights",
            ),
            (
                &|fair| {
                    let first = fair.queues[q].newest_task.unwrap();
                    let last = fair.entities[first].older.unwrap();
                    fair.entities[last].older = Some(first);
                },
                "more tasks are listed than queued",
            ),
            (&|fair| fair.queues[q].h_nr_running -= 1, "1 tasks counted, 2 found"),
            (
                &|fair| {
                    // The running entity is removed from everything except its role as a buddy.
                    let running = fair.queues[q].curr.unwrap();
                    fair.queues[q].next = Some(running);
                    fair.queues[q].newest_task = Some(waits);
                    fair.entities[waits].older = None;
                    fair.entities[running].on_rq = false;
                    fair.queues[q].nr_running -= 1;
                    fair.queues[q].load -= fair.entities[running].load.weight;
                },
                "a buddy is not queued",
            ),
            (
                &|fair| {
                    let min = fair.queues[q].min_vruntime;
                    fair.queues[q].min_vruntime = min + (1 << 62) + (1 << 61);
                },
                "an entity is impossibly far behind",
            ),
        ];
        for (number, (corrupt, complaint)) in corruptions.iter().enumerate() {
            let mut wrong = fair.clone();
            corrupt(&mut wrong);
            let found = wrong.audit_books(rqs).expect_err("the audit finds the corruption");
            assert!(found.contains(complaint), "corruption {number}: {found}");
        }
        // A thread on a CPU other than its queue's, and one whose queued flag is wrong.
        for elsewhere in [true, false] {
            let mut rqs = rqs.clone();
            let thread = rqs.thread_mut(rqs.pid(tasks[0]));
            if elsewhere {
                thread.cpu = CpuId(1 - thread.cpu.0);
            } else {
                thread.on_rq = false;
            }
            assert!(fair.audit_books(&rqs).is_err());
        }
    }
}
