//! What the algorithm promises, and whether the books add up.

use super::cfs_rq::CfsRqId;
use super::class::Fair;
use super::timeline;
use crate::classes::weights::{WEIGHT_IDLEPRIO, weight_of_nice};
use crate::classes::{ClassId, Pid, Rqs};
use alloc::string::String;
use schedlab_core::index::{IndexVec, TypedIndex};
use schedlab_core::{Load, Policy, Promises};

impl Fair {
    /// What holds for tasks of the fair class, whatever they do.
    ///
    /// **Waiting.** Lag is bounded: nobody is owed more than the longest request (protection, and a
    /// tick by which it may overrun), and nobody has had more than its own and a tick. So a task of
    /// weight w waits at most until the queue has served W / w times the two together. Others that
    /// leave with what they are owed, or come with what they owe, move V by no more than the same
    /// again.
    ///
    /// **Equal hogs** are apart by what one may have had too much and the other too little.
    ///
    /// Nothing of the kind is promised with groups, whose weights may be anything, nothing at all
    /// with limited ones, nor beyond one CPU: a task may wait while another CPU idles for as long
    /// as it counts as cache hot, as ineligible, or as the only one worth looking at, and balancing
    /// looks at 32 tasks at a time.
    pub(super) fn fair_promises(&self, load: &Load) -> Promises {
        if self.cpus > 1 || self.limits.was_ever_used() {
            return Promises::default();
        }
        let idle_beside_waiting_ns = Some(0);
        if self.groups.len() > 1 {
            return Promises { idle_beside_waiting_ns, ..Promises::default() };
        }
        let request_ns = u64::from(self.longest_slice.max(self.tunables.base_slice)) + self.tick_ns;
        let least = if self.idle_seen { WEIGHT_IDLEPRIO } else { weight_of_nice(load.nice_max) };
        let total = u64::from(load.tasks) * u64::from(weight_of_nice(load.nice_min));
        let turn_ns = (2 * request_ns).saturating_mul(total) / u64::from(least);
        Promises {
            idle_beside_waiting_ns,
            wait_ns: Some(turn_ns.saturating_mul(2).saturating_add(request_ns)),
            hog_spread_ns: Some(4 * request_ns),
            ..Promises::default()
        }
    }

    /// Recounts everything.
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
            return Err("the balancing statistics kept of all CPUs are out of date".into());
        }
        Ok(())
    }

    /// Whether the cache of all CPUs' statistics says what a look at each of them says.
    pub(super) fn is_lb_cache_right(&self, rqs: &Rqs) -> bool {
        self.lb_cache.audit(rqs, &self.cfs_rqs, &self.balance.dropped)
    }

    fn audit_queue(&self, q: CfsRqId) -> Result<(), String> {
        let queue = &self.cfs_rqs[q];
        let waiting = timeline::audit(&queue.tree, &self.se, self.order)?;
        let curr = queue.competing_curr(&self.se);
        if waiting + usize::from(curr.is_some()) != queue.nr_queued as usize {
            return Err(alloc::format!("{} queued, found {waiting}", queue.nr_queued));
        }
        if !queue.audit_sums(&self.se) {
            return Err("the sums do not add up".into());
        }
        let all = || timeline::iter(&self.se, &queue.tree).chain(curr);
        if all().map(|e| self.info[e].load).sum::<u64>() != queue.load {
            return Err("its weight is not that of those queued".into());
        }
        if let Some(e) = all().find(|&e| self.cfs_rq_of(e) != q || !self.se[e].on_rq) {
            return Err(alloc::format!("{e:?} does not know that it is here"));
        }
        if queue.next.is_some_and(|buddy| !self.se[buddy].on_rq) {
            return Err("its next buddy is not queued".into());
        }
        if queue.nr_queued > 0 && !all().any(|e| queue.eligible(&self.se, self.se[e].vruntime)) {
            return Err("nobody is eligible".into());
        }
        if let Some(owner) = queue.owner {
            let owner = &self.se[owner];
            // A group is queued while it has members, and may be a while longer.
            let competes = queue.nr_queued > 0 && !self.limits.is_throttled(q);
            if owner.on_rq != competes && !owner.sched_delayed {
                return Err("its group's entity is queued and it is empty, or the reverse".into());
            }
        }
        Ok(())
    }

    fn audit_tasks(&self, rqs: &Rqs) -> Result<(), String> {
        let none = self.cfs_rqs.iter().map(|_| [0; 3]);
        let mut counted: IndexVec<CfsRqId, [u32; 3]> = none.collect();
        for (number, &e) in self.entity_of.iter().enumerate() {
            let thread = &rqs.threads[number];
            let Some(e) = e.filter(|_| rqs.task(Pid(number as u32)).is_some()) else {
                continue;
            };
            let entity = &self.se[e];
            let fair = thread.class == ClassId::Fair;
            if entity.on_rq != (thread.on_rq && fair) {
                return Err(alloc::format!("thread {number}: queued or not?"));
            }
            if entity.sched_delayed && (!entity.on_rq || thread.runnable) {
                return Err(alloc::format!("thread {number} is delayed, and awake or not queued"));
            }
            if !entity.on_rq {
                continue;
            }
            let mut q = self.cfs_rq_of(e);
            if self.cfs_rqs[q].cpu != thread.cpu {
                return Err(alloc::format!(
                    "thread {number} is queued on another CPU than its own"
                ));
            }
            let mut idle = thread.policy == Policy::Idle;
            loop {
                let count = &mut counted[q];
                count[0] += 1;
                count[1] += u32::from(!entity.sched_delayed);
                count[2] += u32::from(idle);
                idle |= self.groups[self.cfs_rqs[q].group.index()].idle;
                if self.limits.is_throttled(q) {
                    break;
                }
                match self.cfs_rqs[q].owner {
                    None => break,
                    Some(owner) => q = self.cfs_rq_of(owner),
                }
            }
        }
        for (q, queue) in self.cfs_rqs.enumerate() {
            if [queue.h_nr_queued, queue.h_nr_runnable, queue.h_nr_idle] != counted[q] {
                return Err(alloc::format!("queue {}: its tasks were miscounted", q.index()));
            }
        }
        Ok(())
    }
}
