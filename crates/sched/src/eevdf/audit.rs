//! What the algorithm promises, and whether the books add up.

use super::class::Fair;
use super::entity::NONE;
use super::timeline;
use crate::classes::weights::{WEIGHT_IDLEPRIO, weight_of_nice};
use crate::classes::{ClassId, Pid, Rqs};
use alloc::string::String;
use alloc::vec::Vec;
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
    pub(super) fn promises(&self, load: &Load) -> Promises {
        if self.cpus > 1 || self.limits.was_ever_used() {
            return Promises::default();
        }
        let idle_beside_waiting_ns = Some(0);
        if self.groups.len() > 1 {
            return Promises { idle_beside_waiting_ns, ..Promises::default() };
        }
        let request_ns = u64::from(self.longest_slice.max(self.base_slice)) + self.tick_ns;
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
    pub(super) fn audit(&self, rqs: &Rqs) -> Result<(), String> {
        for q in 0..self.queues.len() as u32 {
            self.audit_queue(q).map_err(|wrong| alloc::format!("queue {q}: {wrong}"))?;
        }
        self.limits.audit()?;
        self.audit_tasks(rqs)?;
        if !self.audit_lists(rqs) {
            return Err("a CPU's list of tasks is wrong".into());
        }
        if !self.audit_tally(rqs) {
            return Err("the lb_cache of all CPUs is out of date".into());
        }
        Ok(())
    }

    fn audit_queue(&self, q: u32) -> Result<(), String> {
        let queue = &self.queues[q as usize];
        let waiting = timeline::audit(&self.nodes, &queue.tree, &self.se, self.order)?;
        let curr = queue.curr != NONE && self.se[queue.curr as usize].on_rq;
        if waiting + usize::from(curr) != queue.nr_queued as usize {
            return Err(alloc::format!("{} queued, found {waiting}", queue.nr_queued));
        }
        if !queue.audit_sums(&self.nodes, &self.se) {
            return Err("the sums do not add up".into());
        }
        let all = || timeline::iter(&self.nodes, &queue.tree).chain(curr.then_some(queue.curr));
        if all().map(|e| self.info[e as usize].load).sum::<u64>() != queue.load {
            return Err("its weight is not that of those queued".into());
        }
        if let Some(e) = all().find(|&e| self.queue_of(e) != q || !self.se[e as usize].on_rq) {
            return Err(alloc::format!("entity {e} does not know that it is here"));
        }
        if queue.next != NONE && !self.se[queue.next as usize].on_rq {
            return Err("it has nominated one that is not queued".into());
        }
        if queue.nr_queued > 0
            && !all().any(|e| queue.eligible(&self.se, self.se[e as usize].vruntime))
        {
            return Err("nobody is eligible".into());
        }
        if queue.owner != NONE {
            let owner = &self.se[queue.owner as usize];
            // A group is queued while it has members, and may be a while longer.
            let competes = queue.nr_queued > 0 && !self.limits.is_throttled(q);
            if owner.on_rq != competes && !owner.sched_delayed {
                return Err("its group's entity is queued and it is empty, or the reverse".into());
            }
        }
        Ok(())
    }

    fn audit_tasks(&self, rqs: &Rqs) -> Result<(), String> {
        let mut counted: Vec<[u32; 3]> = alloc::vec![[0; 3]; self.queues.len()];
        for (number, task) in self.tasks.iter().enumerate() {
            let thread = &rqs.threads[number];
            if task.se == NONE || rqs.task(Pid(number as u32)).is_none() {
                continue;
            }
            let entity = &self.se[task.se as usize];
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
            let mut q = self.queue_of(task.se);
            if self.queues[q as usize].cpu != thread.cpu {
                return Err(alloc::format!(
                    "thread {number} is queued on another CPU than its own"
                ));
            }
            let mut idle = thread.policy == Policy::Idle;
            loop {
                let count = &mut counted[q as usize];
                count[0] += 1;
                count[1] += u32::from(!entity.sched_delayed);
                count[2] += u32::from(idle);
                idle |= self.groups[self.queues[q as usize].group as usize].idle;
                if self.limits.is_throttled(q) {
                    break;
                }
                match self.queues[q as usize].owner {
                    NONE => break,
                    owner => q = self.queue_of(owner),
                }
            }
        }
        for (number, (queue, count)) in self.queues.iter().zip(&counted).enumerate() {
            if [queue.h_nr_queued, queue.h_nr_runnable, queue.h_nr_idle] != *count {
                return Err(alloc::format!("queue {number}: its tasks were miscounted"));
            }
        }
        Ok(())
    }
}
