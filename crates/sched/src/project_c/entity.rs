//! The tasks of the machine and the stoppers of its CPUs: what is known of each.

use alloc::vec::Vec;
use core::ops::{Index, IndexMut};
use schedlab_core::{CpuId, CpuSet, Policy, TaskId};

/// A full slice, ns (`sysctl_sched_base_slice`, 4 << 20).
pub(super) const SLICE_NS: i64 = 4 << 20;
/// A slice with less than this left counts as used up, ns (`RESCHED_NS`, 100 << 10).
pub(super) const RESCHED_NS: i64 = 100 << 10;

/// The number of a task or of a stopper. Stoppers come first, by CPU.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Node(u32);

impl Node {
    /// No node: the end of a list.
    pub(super) const NONE: Node = Node(u32::MAX);

    /// The stopper of `cpu`.
    #[inline]
    pub(super) const fn stopper(cpu: CpuId) -> Node {
        Node(cpu.0)
    }

    /// Its index in a table.
    #[inline]
    const fn index(self) -> usize {
        self.0 as usize
    }
}

/// State of a task or of a stopper.
#[derive(Clone, Debug)]
pub(super) struct Entity {
    /// The CPU to whose queue it belongs, or last belonged.
    pub(super) cpu: CpuId,
    /// `SCHED_DEADLINE` is kept as `SCHED_FIFO` 99.
    pub(super) policy: Policy,
    /// 1 to 99 for real-time policies.
    pub(super) rt_priority: u8,
    pub(super) nice: i8,
    /// `boost_prio` of BMQ, -12 to 12; below 0 is better.
    pub(super) boost: i8,
    /// The deadline of PDS, a slot.
    pub(super) deadline: u64,
    /// The rest of its slice, ns. Below 0 if it was not stopped in time.
    pub(super) time_slice: i64,
    /// Time up to which it has been charged, ns.
    pub(super) last_ran: u64,
    /// Whether it is in the queue of its CPU, as a running task is.
    pub(super) queued: bool,
    /// Whether it is no longer `TASK_RUNNING`. It stays queued until its CPU reschedules.
    pub(super) blocked: bool,
    /// The list that it is in, if it is queued.
    pub(super) list: u8,
    /// The entity behind it in the list.
    pub(super) next: Node,
    /// The entity before it in the list.
    pub(super) prev: Node,
    pub(super) allowed: CpuSet,
}

impl Entity {
    /// Whether it has a real-time policy.
    #[inline]
    pub(super) fn is_realtime(&self) -> bool {
        self.policy.is_realtime()
    }

    /// The stopper of `cpu`, asleep: a task of `SCHED_FIFO` 99.
    fn stopper(cpu: CpuId) -> Entity {
        Entity {
            cpu,
            policy: Policy::Fifo,
            rt_priority: 99,
            allowed: CpuSet::only(cpu),
            ..Entity::default()
        }
    }
}

impl Default for Entity {
    fn default() -> Self {
        Entity {
            cpu: CpuId(0),
            policy: Policy::Other,
            rt_priority: 0,
            nice: 0,
            boost: 0,
            deadline: 0,
            time_slice: SLICE_NS,
            last_ran: 0,
            queued: false,
            blocked: false,
            list: 0,
            next: Node::NONE,
            prev: Node::NONE,
            allowed: CpuSet::All,
        }
    }
}

/// All tasks and stoppers.
#[derive(Debug)]
pub(super) struct Entities {
    rows: Vec<Entity>,
    cpus: u32,
}

impl Entities {
    /// The stoppers of `cpus` CPUs, and no task.
    pub(super) fn new(cpus: u32) -> Entities {
        Entities { rows: (0..cpus).map(CpuId).map(Entity::stopper).collect(), cpus }
    }

    /// The node of `task`.
    #[inline]
    pub(super) fn node(&self, task: TaskId) -> Node {
        Node(self.cpus + task.0)
    }

    /// The task of `node`. `None`: it is a stopper.
    #[inline]
    pub(super) fn task(&self, node: Node) -> Option<TaskId> {
        node.0.checked_sub(self.cpus).map(TaskId)
    }

    /// Adds `task`.
    pub(super) fn insert(&mut self, task: TaskId, entity: Entity) -> Node {
        let node = self.node(task);
        if node.index() >= self.rows.len() {
            self.rows.resize(node.index() + 1, Entity::default());
        }
        self.rows[node.index()] = entity;
        node
    }

    /// All of them, stoppers first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Node, &Entity)> {
        self.rows.iter().enumerate().map(|(number, row)| (Node(number as u32), row))
    }
}

impl Index<Node> for Entities {
    type Output = Entity;
    #[inline]
    fn index(&self, node: Node) -> &Entity {
        &self.rows[node.index()]
    }
}

impl IndexMut<Node> for Entities {
    #[inline]
    fn index_mut(&mut self, node: Node) -> &mut Entity {
        &mut self.rows[node.index()]
    }
}
