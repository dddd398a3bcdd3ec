//! Where an entity enters a queue, and how its vruntime is carried to other queues.
//!
//! Each queue has a virtual time of its own. A task that moves to another queue carries its
//! distance from the `min_vruntime` of the old one. So its vruntime is *relative* while it is
//! between queues (moved, forked, in another class), but not while it sleeps on the CPU on which it
//! went to sleep.

use super::LeastVruntime;
use crate::classes::{ClassId, Pid, Rqs};
use crate::fair_6::class::Fair;
use crate::fair_6::entity::Vruntime;
use crate::fair_6::flags::{DequeueFlags, EnqueueFlags};
use crate::fair_6::ids::{CfsRqId, EntityId};
use schedlab_core::Platform;

/// A task that has not run for this long loses its vruntime, ns.
const LONG_SLEEP_NS: u64 = (1 << 63) / 1024;

impl Fair<LeastVruntime> {
    fn min_vruntime(&self, q: CfsRqId) -> Vruntime {
        self.rule.queues[q].min_vruntime
    }

    /// `place_entity`: a new task is placed one slice behind the smallest vruntime, a sleeper up to
    /// half a latency before it, but neither before its own old position.
    pub(super) fn place_entity(&mut self, now_ns: u64, q: CfsRqId, e: EntityId, initial: bool) {
        let (features, tunables) = (self.features(), &self.tunables);
        let mut vruntime = self.min_vruntime(q);
        if initial {
            if features.start_debit {
                vruntime = vruntime.plus(self.se[e].vt(self.sched_slice(q, e)));
            }
        } else {
            let idle = self.info[e].idle && self.version.has_idle_granularity();
            let credit = if idle { tunables.min_granularity_ns } else { tunables.latency_ns };
            let credit = if features.gentle_fair_sleepers { credit >> 1 } else { credit };
            vruntime = vruntime.shifted(-(credit as i64));
        }
        let exec_start = self.info[e].exec_start;
        let slept_long = self.version.knows_long_sleepers()
            && exec_start != 0
            && now_ns + self.clock_ns - exec_start > LONG_SLEEP_NS;
        let entity = &mut self.se[e];
        if slept_long || entity.vruntime.is_before(vruntime) {
            entity.vruntime = vruntime;
        }
    }

    /// `e` joins `q` with a relative vruntime.
    fn renormalize(&mut self, q: CfsRqId, e: EntityId) {
        let min = self.min_vruntime(q);
        let entity = &mut self.se[e];
        entity.vruntime = entity.vruntime.plus(min.0);
    }

    /// `e` leaves `q` for another queue: its vruntime becomes relative.
    fn normalize(&mut self, q: CfsRqId, e: EntityId) {
        let min = self.min_vruntime(q);
        let entity = &mut self.se[e];
        entity.vruntime = Vruntime(entity.vruntime.since(min) as u64);
    }

    /// Whether `e`, which joins for reason `why`, has a relative vruntime.
    fn comes_relative(&self, e: EntityId, why: EnqueueFlags) -> bool {
        !why.wakeup || self.rule.entities[e].migrated
    }

    /// `e`, which runs on `q`, joins it again. Called before it is charged.
    pub(super) fn enters_running(&mut self, q: CfsRqId, e: EntityId, why: EnqueueFlags) {
        if self.comes_relative(e, why) {
            self.renormalize(q, e);
        }
    }

    /// `e` joins `q`, which has been charged.
    pub(super) fn enters(
        &mut self,
        now_ns: u64,
        q: CfsRqId,
        e: EntityId,
        why: EnqueueFlags,
        is_curr: bool,
    ) {
        if !is_curr && self.comes_relative(e, why) {
            self.renormalize(q, e);
        }
        self.rule.entities[e].migrated = false;
        if why.wakeup {
            self.place_entity(now_ns, q, e, false);
        }
        self.rule.queues[q].idle_nr += u32::from(self.info[e].idle);
    }

    /// `e` has left `q`.
    pub(super) fn has_left(&mut self, q: CfsRqId, e: EntityId, how: DequeueFlags) {
        self.rule.queues[q].idle_nr -= u32::from(self.info[e].idle);
        if !how.sleep {
            self.normalize(q, e);
        }
        // An entity that only changes comes back at once.
        let leaves = how.sleep || how.migrate || how.moves;
        if leaves != self.version.inverts_min_vruntime() {
            self.update_min_vruntime(q);
        }
    }

    /// `e`, whose task is about to wake on another CPU, leaves its CPU.
    pub(super) fn wakes_elsewhere(&mut self, e: EntityId) {
        self.normalize(self.cfs_rq_of(e), e);
        self.rule.entities[e].migrated = true;
    }

    /// `detach_task_cfs_rq`: `task`, which is not queued, leaves the class or its group. A sleeper
    /// is first placed on its old queue, so that it carries no more credit than it would have got
    /// there.
    pub(super) fn leaves_asleep(&mut self, now_ns: u64, task: Pid) {
        let e = self.se_of(task);
        let q = self.cfs_rq_of(e);
        self.place_entity(now_ns, q, e, false);
        self.normalize(q, e);
    }

    /// `attach_task_cfs_rq`: `task`, which is not queued, has joined its queue.
    pub(super) fn comes_asleep(&mut self, task: Pid) {
        let e = self.se_of(task);
        self.renormalize(self.cfs_rq_of(e), e);
    }

    /// `task_fork_fair`: places the new `task` on the queue of its group on its parent's CPU, after
    /// charging the entity that runs there, normally the parent's.
    pub(super) fn place_child(&mut self, rqs: &mut Rqs, platform: &mut Platform, task: Pid) {
        if rqs.thread(task).class != ClassId::Fair {
            return;
        }
        let e = self.se_of(task);
        let q = self.cfs_rq_of(e);
        self.se[e].vruntime = Vruntime(0);
        if let Some(curr) = self.cfs_rqs[q].curr {
            self.charge_curr(rqs, platform, q);
            self.se[e].vruntime = self.se[curr].vruntime;
        }
        self.place_entity(platform.now_ns(), q, e, true);
        if self.tunables.child_runs_first
            && let Some(curr) = self.cfs_rqs[q].curr
            && self.se[curr].vruntime.is_before(self.se[e].vruntime)
        {
            let childs = self.se[e].vruntime;
            self.se[e].vruntime = core::mem::replace(&mut self.se[curr].vruntime, childs);
            rqs.resched_curr(platform, self.cfs_rqs[q].cpu);
        }
        self.normalize(q, e);
    }
}
