//! The state of the fair class on all CPUs.

use super::cfs_rq::CfsRqs;
use super::cfs_tasks::CfsTasks;
use super::cpu_capacity::CpuCapacity;
use super::domains::Near;
use super::entity::{Entity, Info};
use super::ids::{CfsRqId, EntityId};
use super::lb_cache::LbCache;
use super::lb_env::Balance;
use super::rule_state::RuleState;
use super::task_group::TaskGroup;
use super::timeline::Order;
use crate::classes::Pid;
use crate::classes::bandwidth::Bandwidth;
use alloc::vec::Vec;
use schedlab_core::index::{IndexVec, TypedIndex};
use schedlab_core::{Candidate, CpuId, GroupId};

/// The fair class on all CPUs.
#[derive(Debug)]
pub struct Fair<R: RuleState> {
    pub(super) version: R::Version,
    pub(super) tunables: R::Tunables,
    /// What the rules of picking keep.
    pub(super) rule: R,
    pub(super) order: Order,
    pub(super) tick_ns: u64,
    /// There has been a `SCHED_IDLE` task.
    pub(super) idle_seen: bool,
    pub(super) cpus: u32,
    /// How many of them are on line.
    pub(super) online: u32,
    /// Entities: what the tree looks at.
    pub(super) se: IndexVec<EntityId, Entity>,
    /// Entities: the rest.
    pub(super) info: IndexVec<EntityId, Info>,
    /// Entities that may be used again.
    pub(super) free: Vec<EntityId>,
    /// The CPUs' own queues by CPU, then groups' queues.
    pub(super) cfs_rqs: CfsRqs,
    /// Task groups, by [`GroupId`].
    pub(super) groups: Vec<TaskGroup>,
    /// By thread: its entity; none before it is born and after it is gone.
    pub(super) entity_of: Vec<Option<EntityId>>,
    /// By thread: what is looked at less often than its entity.
    pub(super) tasks: Vec<FairTask>,
    /// By CPU: what the class has run there in all, ns.
    pub(super) exec_clock: Vec<u64>,
    /// The groups' limits.
    pub(super) limits: Bandwidth<CfsRqId>,
    /// By CPU: its tasks, in the order in which balancing looks at them.
    pub(super) cfs_tasks: CfsTasks,
    /// What balancing keeps of each CPU.
    pub(super) balance: Balance,
    /// Who is near whom.
    pub(super) near: Near,
    /// The kernel was built with `CONFIG_FAIR_GROUP_SCHED`, as every distribution's is: a task's
    /// part of its CPU's load is rounded as if it were in a group. (Without it there are no
    /// groups.)
    pub(super) group_scheduling: bool,
    /// It was built with `CONFIG_NO_HZ_COMMON`: a task that wakes elsewhere has slept for as long
    /// as
    /// its old CPU idled.
    pub(super) no_hz: bool,
    /// What more urgent classes leave of the CPUs.
    pub(super) capacity: CpuCapacity,
    /// All CPUs together, as balancing sees them.
    pub(super) lb_cache: LbCache,
    /// Whom the present pick has met, if somebody asked for its grounds.
    pub(super) candidates_met: Vec<Candidate>,
}

/// What the class keeps of a task besides its entity.
#[derive(Clone, Copy, Debug)]
pub struct FairTask {
    /// Its group.
    pub group: GroupId,
    /// Whom it woke last, how often that changed lately, and when that was halved (jiffies).
    pub last_wakee: Option<Pid>,
    /// See `last_wakee`.
    pub wakee_flips: u32,
    /// See `last_wakee`.
    pub wakee_flip_decay_ts: u64,
    /// It has exited.
    pub dead: bool,
    /// Its parent has taken note.
    pub reaped: bool,
    /// It waits off its queue until its group has runtime again.
    pub in_limbo: bool,
    /// It did so before it was dequeued to be changed or moved.
    pub left_limbo: bool,
    /// In limbo: who went there before it.
    pub limbo_before: Option<Pid>,
    /// In limbo: who went there after it.
    pub limbo_after: Option<Pid>,
}

impl Default for FairTask {
    fn default() -> FairTask {
        FairTask {
            group: GroupId::ROOT,
            last_wakee: None,
            wakee_flips: 0,
            wakee_flip_decay_ts: 0,
            dead: false,
            reaped: false,
            in_limbo: false,
            left_limbo: false,
            limbo_before: None,
            limbo_after: None,
        }
    }
}

impl<R: RuleState> Fair<R> {
    /// The queue on which `e` stands or stood.
    #[inline]
    pub(super) fn cfs_rq_of(&self, e: EntityId) -> CfsRqId {
        self.info[e].cfs_rq
    }

    /// The group entity above `e`.
    #[inline]
    pub(super) fn parent_of(&self, e: EntityId) -> Option<EntityId> {
        self.info[e].parent
    }

    /// Whether `e` is a task's.
    #[inline]
    pub(super) fn is_task(&self, e: EntityId) -> bool {
        self.info[e].my_q.is_none()
    }

    /// The entity of `task`, if it is born and not yet gone.
    #[inline]
    pub(super) fn entity_of(&self, task: Pid) -> Option<EntityId> {
        self.entity_of.get(task.index()).copied().flatten()
    }

    /// The entity of `task`, which is born and not yet gone.
    #[inline]
    pub(super) fn se_of(&self, task: Pid) -> EntityId {
        self.entity_of[task.index()].expect("the task is born and not yet gone")
    }

    /// The group of `task`.
    #[inline]
    pub(super) fn group_of(&self, task: Pid) -> GroupId {
        self.tasks[task.index()].group
    }

    /// Whether fair tasks are queued on `cpu`, be they delayed.
    #[inline]
    pub(super) fn is_queued_on(&self, cpu: CpuId) -> bool {
        self.cfs_rqs[CfsRqId::of_cpu(cpu)].nr_queued > 0
    }

    /// Whether more than one entity is queued on the own queue of `cpu`.
    pub(super) fn has_several_queued(&self, cpu: CpuId) -> bool {
        self.cfs_rqs[CfsRqId::of_cpu(cpu)].nr_queued > 1
    }

    /// Whether the dequeue of `task` is delayed.
    #[inline]
    pub(super) fn is_delayed_task(&self, task: Pid) -> bool {
        self.entity_of(task).is_some_and(|e| self.se[e].sched_delayed)
    }

    /// Something of queue `q` has changed that balancing reads.
    #[inline]
    pub(super) fn invalidate(&mut self, q: CfsRqId) {
        // Of groups' queues it reads nothing.
        if q.index() < self.cpus as usize {
            self.lb_cache.invalidate(CpuId(q.index() as u32));
        }
    }
}
