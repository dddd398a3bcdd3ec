//! Consistency checks of the class's state.

use super::class::Fair;
use super::ids::{CfsRqId, EntityId};
use super::pick_rule::PickRule;
use super::rule_state::FairVersion as _;
use super::timeline;
use crate::classes::{ClassId, Pid, Rqs};
use alloc::string::String;
use schedlab_core::Policy;
use schedlab_core::index::{IndexVec, TypedIndex};

impl<R: PickRule> Fair<R> {
    /// Recomputes all counts and sums, and compares them.
    pub(super) fn recount(&self, rqs: &Rqs) -> Result<(), String> {
        for q in self.cfs_rqs.indices() {
            self.audit_queue(q).map_err(|wrong| alloc::format!("queue {}: {wrong}", q.index()))?;
        }
        self.limits.audit()?;
        self.audit_tasks(rqs)?;
        if self.cpus > 1 {
            let queued = self.entity_of.iter().flatten().filter(|&&e| self.se[e].on_rq);
            self.cfs_tasks.audit(queued.map(|&e| (e, self.cfs_rqs[self.cfs_rq_of(e)].cpu)))?;
        }
        if !self.is_lb_cache_right(rqs) {
            return Err("the cached balancing statistics of all CPUs are out of date".into());
        }
        Ok(())
    }

    /// Whether the cached statistics of all CPUs equal the results of a full scan.
    pub(super) fn is_lb_cache_right(&self, rqs: &Rqs) -> bool {
        self.lb_cache.audit(rqs, &self.cfs_rqs, &self.balance.dropped)
    }

    fn audit_queue(&self, q: CfsRqId) -> Result<(), String> {
        let queue = &self.cfs_rqs[q];
        let waiting = timeline::audit(&queue.tree, &self.se, self.order)?;
        let curr = queue.competing_curr(&self.se);
        let is_account = self.version.has_one_tree() && queue.owner.is_some();
        if !is_account && waiting + usize::from(curr.is_some()) != queue.nr_queued as usize {
            return Err(alloc::format!("{} queued, found {waiting}", queue.nr_queued));
        }
        let all = || timeline::iter(&self.se, &queue.tree).chain(curr);
        let one_tree = self.version.has_one_tree();
        let here = |&e: &EntityId| self.cfs_rq_of(e) == q && self.se[e].on_rq;
        let load = match one_tree {
            true => self.info.indices().filter(here).map(|e| self.info[e].load).sum(),
            false => all().map(|e| self.info[e].load).sum::<u64>(),
        };
        if load != queue.load {
            return Err("its load is not the sum of the weights of the queued entities".into());
        }
        if let Some(e) =
            all().find(|&e| !is_account && (self.tree_of(e) != q || !self.se[e].on_rq))
        {
            return Err(alloc::format!("{e:?} is recorded on another queue"));
        }
        if queue.next.is_some_and(|buddy| !self.se[buddy].on_rq) {
            return Err("its next buddy is not queued".into());
        }
        R::audit_queue(self, q)?;
        if let Some(owner) = queue.owner {
            let owner = &self.se[owner];
            // A group is queued while it has members, and possibly for a while longer.
            let competes = queue.nr_queued > 0 && !self.hides(q);
            if owner.on_rq != competes && !owner.sched_delayed {
                return Err("it is empty and its group's entity queued, or the reverse".into());
            }
        }
        Ok(())
    }

    fn audit_tasks(&self, rqs: &Rqs) -> Result<(), String> {
        let none = self.cfs_rqs.iter().map(|_| [0; 3]);
        let mut counted: IndexVec<CfsRqId, [u32; 3]> = none.collect();
        let mut in_limbo = 0;
        for (number, &e) in self.entity_of.iter().enumerate() {
            let thread = &rqs.threads[number];
            let Some(e) = e.filter(|_| rqs.task(Pid(number as u32)).is_some()) else {
                continue;
            };
            let entity = &self.se[e];
            let fair = thread.class == ClassId::Fair;
            let held_back = self.tasks[number].in_limbo;
            in_limbo += usize::from(held_back);
            if held_back && (entity.on_rq || !thread.on_rq || !fair) {
                return Err(alloc::format!("thread {number} is in limbo, but queued or asleep"));
            }
            if entity.on_rq != (thread.on_rq && fair && !held_back) {
                return Err(alloc::format!(
                    "thread {number} is runnable but not queued, or the reverse"
                ));
            }
            if entity.sched_delayed && (!entity.on_rq || thread.runnable) {
                return Err(alloc::format!("thread {number} is delayed, but awake or not queued"));
            }
            if !entity.on_rq {
                continue;
            }
            let mut q = self.cfs_rq_of(e);
            if self.cfs_rqs[q].cpu != thread.cpu {
                return Err(alloc::format!(
                    "thread {number} is queued on another CPU than the recorded one"
                ));
            }
            let mut idle = thread.policy == Policy::Idle;
            loop {
                let count = &mut counted[q];
                count[0] += 1;
                count[1] += u32::from(!entity.sched_delayed);
                count[2] += u32::from(idle);
                idle |= self.groups[self.cfs_rqs[q].group.index()].idle;
                if self.hides(q) {
                    break;
                }
                match self.cfs_rqs[q].owner {
                    None => break,
                    Some(owner) => q = self.cfs_rq_of(owner),
                }
            }
        }
        let mut listed = 0;
        for (q, queue) in self.cfs_rqs.enumerate() {
            let Some(len) = self.limbo_len(q) else {
                return Err(alloc::format!("queue {}: its limbo list is broken", q.index()));
            };
            if len > 0 && queue.pelt_clock.throttled == 0 {
                return Err(alloc::format!("queue {}: it has a limbo but no limit", q.index()));
            }
            listed += len;
            if [queue.h_nr_queued, queue.h_nr_runnable, queue.h_nr_idle] != counted[q] {
                return Err(alloc::format!("queue {}: its tasks were miscounted", q.index()));
            }
        }
        if listed != in_limbo {
            return Err("a task in limbo is in no limbo list".into());
        }
        Ok(())
    }
}
