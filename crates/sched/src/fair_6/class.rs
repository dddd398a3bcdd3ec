//! The state of the fair class on all CPUs.

use super::cfs_rq::CfsRqs;
use super::cfs_tasks::CfsTasks;
use super::cpu_capacity::CpuCapacity;
use super::differences::Differences;
use super::domains::CacheSharing;
use super::entity::{Entities, Info};
use super::ids::{CfsRqId, EntityId};
use super::lb_cache::LbCache;
use super::lb_env::Balance;
use super::rule_state::{FairVersion as _, RuleState};
use super::task_group::TaskGroup;
use super::timeline::Order;
use crate::classes::bandwidth::Bandwidth;
use crate::classes::{Pid, Preemption};
use alloc::vec::Vec;
use schedlab_core::index::{IndexVec, TypedIndex};
use schedlab_core::{Candidate, CpuId, GroupId};

/// The fair class on all CPUs.
#[derive(Debug)]
pub struct Fair<R: RuleState> {
    /// The release, with the differences that are in force.
    pub(super) version: Differences<R::Version>,
    pub(super) tunables: R::Tunables,
    /// State of the rules of picking.
    pub(super) rule: R,
    pub(super) order: Order,
    pub(super) tick_ns: u64,
    /// Whether there has ever been a `SCHED_IDLE` task.
    pub(super) idle_seen: bool,
    pub(super) cpus: u32,
    /// Number of CPUs that are online.
    pub(super) online: u32,
    /// Entities: the part that the tree reads.
    pub(super) se: Entities,
    /// Entities: the remaining part.
    pub(super) info: IndexVec<EntityId, Info>,
    /// Rows of `se` and `info` that can be reused.
    pub(super) free: Vec<EntityId>,
    /// The root group's queues by CPU, then the queues of other groups.
    pub(super) cfs_rqs: CfsRqs,
    /// Task groups, by [`GroupId`].
    pub(super) groups: Vec<TaskGroup>,
    /// By thread: its entity. `None` before the thread is born and after it is released.
    pub(super) entity_of: Vec<Option<EntityId>>,
    /// By thread: data that is read less often than its entity.
    pub(super) tasks: Vec<FairTask>,
    /// By CPU: total time for which the class has run there, ns.
    pub(super) exec_clock: Vec<u64>,
    /// The bandwidth limits of the groups.
    pub(super) limits: Bandwidth<CfsRqId>,
    /// By CPU: its tasks, in the order in which balancing examines them.
    pub(super) cfs_tasks: CfsTasks,
    /// State of balancing for each CPU.
    pub(super) balance: Balance,
    /// Which CPUs are close to which.
    pub(super) caches: CacheSharing,
    /// Whether the kernel was built with `CONFIG_FAIR_GROUP_SCHED`, as all distributions' kernels
    /// are: a task's part of its CPU's load is rounded as if the task were in a group. (Without the
    /// option there are no groups.)
    pub(super) group_scheduling: bool,
    /// Whether the kernel was built with `CONFIG_NO_HZ_COMMON`: a task that wakes on another CPU
    /// has slept for as long as its old CPU was idle.
    pub(super) no_hz: bool,
    /// The preemption model of the kernel.
    pub(super) preemption: Preemption,
    /// Time by which the CPUs' clocks are ahead of the machine's, ns.
    pub(super) clock_ns: u64,
    /// Jiffies of the kernel at time 0.
    pub(super) jiffies: i64,
    /// Capacity that more urgent classes leave of each CPU.
    pub(super) capacity: CpuCapacity,
    /// Statistics of all CPUs together, for balancing.
    pub(super) lb_cache: LbCache,
    /// Candidates that the current pick has met, if its grounds are requested.
    pub(super) candidates_met: Vec<Candidate>,
}

/// Data of a task besides its entity.
#[derive(Clone, Copy, Debug)]
pub struct FairTask {
    /// Its group.
    pub group: GroupId,
    /// The task that it woke last. The two fields below count how often that has changed lately,
    /// and record when the count was last halved (jiffies).
    pub last_wakee: Option<Pid>,
    /// See `last_wakee`.
    pub wakee_flips: u32,
    /// See `last_wakee`.
    pub wakee_flip_decay_ts: u64,
    /// It has exited.
    pub dead: bool,
    /// Its parent has reaped it.
    pub reaped: bool,
    /// It waits off its queue until its group has runtime again.
    pub in_limbo: bool,
    /// It was in limbo before it was dequeued to be changed or moved.
    pub left_limbo: bool,
    /// In limbo: the task that entered before it.
    pub limbo_before: Option<Pid>,
    /// In limbo: the task that entered after it.
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
    /// The queue that `e` is on, or was on last.
    #[inline]
    pub(super) fn cfs_rq_of(&self, e: EntityId) -> CfsRqId {
        self.info[e].cfs_rq
    }

    /// The queue in whose tree `e` waits.
    #[inline]
    pub(super) fn tree_of(&self, e: EntityId) -> CfsRqId {
        let q = self.cfs_rq_of(e);
        if self.version.has_one_tree() { CfsRqId::of_cpu(self.cfs_rqs[q].cpu) } else { q }
    }

    /// The group entity above `e`.
    #[inline]
    pub(super) fn parent_of(&self, e: EntityId) -> Option<EntityId> {
        self.info[e].parent
    }

    /// Whether `e` belongs to a task.
    #[inline]
    pub(super) fn is_task(&self, e: EntityId) -> bool {
        self.info[e].my_q.is_none()
    }

    /// The entity of `task`, if the task is born and not yet released.
    #[inline]
    pub(super) fn entity_of(&self, task: Pid) -> Option<EntityId> {
        self.entity_of.get(task.index()).copied().flatten()
    }

    /// The entity of `task`, which is born and not yet released.
    #[inline]
    pub(super) fn se_of(&self, task: Pid) -> EntityId {
        self.entity_of[task.index()].expect("the task is born and not yet released")
    }

    /// The group of `task`.
    #[inline]
    pub(super) fn group_of(&self, task: Pid) -> GroupId {
        self.tasks[task.index()].group
    }

    /// Sets the CPUs' clocks to `clock_ns` at time 0.
    pub(super) fn set_clock(&mut self, clock_ns: u64) {
        let ahead_ns = clock_ns.wrapping_sub(core::mem::replace(&mut self.clock_ns, clock_ns));
        for q in 0..self.cfs_rqs.len() {
            self.cfs_rqs[CfsRqId::new(q)].pelt_clock.set_ahead(ahead_ns);
        }
    }

    /// Sets the kernel's jiffies at time 0.
    pub(super) fn set_jiffies(&mut self, jiffies: i64) {
        self.jiffies = jiffies;
        let computed = self.h_load_computed();
        for q in 0..self.cfs_rqs.len() {
            self.cfs_rqs[CfsRqId::new(q)].h_load = (0, computed);
        }
    }

    /// Jiffy of this machine for which the `h_load` of a new queue, 0, counts as computed: the
    /// kernel's jiffy 0.
    pub(super) fn h_load_computed(&self) -> u64 {
        0_u64.wrapping_sub(self.jiffies as u64)
    }

    /// Whether fair tasks are queued on `cpu`, delayed ones included.
    #[inline]
    pub(super) fn is_queued_on(&self, cpu: CpuId) -> bool {
        self.cfs_rqs[CfsRqId::of_cpu(cpu)].nr_queued > 0
    }

    /// Whether more than one entity is queued on the root group's queue of `cpu`.
    pub(super) fn has_several_queued(&self, cpu: CpuId) -> bool {
        self.cfs_rqs[CfsRqId::of_cpu(cpu)].nr_queued > 1
    }

    /// Whether the dequeue of `task` is delayed.
    #[inline]
    pub(super) fn is_delayed_task(&self, task: Pid) -> bool {
        self.entity_of(task).is_some_and(|e| self.se[e].sched_delayed)
    }

    /// Marks queue `q` as changed in a way that matters to balancing.
    #[inline]
    pub(super) fn invalidate(&mut self, q: CfsRqId) {
        // Balancing does not read the queues of other groups.
        if q.index() < self.cpus as usize {
            self.lb_cache.invalidate(CpuId(q.index() as u32));
        }
    }
}
