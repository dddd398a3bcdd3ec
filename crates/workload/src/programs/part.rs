//! Several benchmarks on one machine: each is a [`Part`], with its own tasks, clock and random
//! draws.
//!
//! A part makes the same draws as if it ran alone, and its clock begins with it. A program thus
//! does not notice that it is a part, except by the time that operations take. By default a
//! [`Kernel`](super::Kernel) is one part that begins at 0.

use schedlab_core::{CpuSet, GroupId, SchedAttr, TaskId};

/// Settings with which a part is started, as by `nice(1)`, `chrt(1)`, `taskset(1)` and
/// `cgexec(1)` for a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// Time at which its clock shows 0, ns.
    pub start_ns: u64,
    /// Scheduling attributes of its tasks that have none of their own.
    pub attr: SchedAttr,
    /// Affinity of its tasks that have none of their own.
    pub allowed: CpuSet,
    /// Group of its tasks that are in no other.
    pub group: GroupId,
    /// Time at which it is ended at the latest, ns by its own clock. `None`: it ends by itself.
    pub limit_ns: Option<u64>,
}

impl Default for Part {
    fn default() -> Part {
        Part {
            start_ns: 0,
            attr: SchedAttr::default(),
            allowed: CpuSet::All,
            group: GroupId::ROOT,
            limit_ns: None,
        }
    }
}

/// Number of a part, from 0, in the order in which parts begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PartId(pub(super) u32);

impl PartId {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the seed of the part in the run of `seed`. The first part has the seed of the run.
    pub(super) fn seed(self, seed: u64) -> u64 {
        seed ^ u64::from(self.0) << 40
    }
}

/// State of a part during the run.
pub(super) struct PartState {
    pub part: Part,
    /// Number of tasks, including those that have ended.
    tasks: u32,
    /// Number of tasks that have not ended.
    living: u32,
    /// Time at which it was over, ns.
    pub over_ns: Option<u64>,
}

impl PartState {
    pub fn new(part: Part) -> PartState {
        PartState { part, tasks: 0, living: 0, over_ns: None }
    }

    /// Adds a task, and returns its number within the part.
    pub fn task_comes(&mut self) -> TaskId {
        self.tasks += 1;
        self.living += 1;
        TaskId(self.tasks - 1)
    }

    pub fn task_ends(&mut self, now_ns: u64) {
        self.living -= 1;
        if self.living == 0 {
            self.is_over(now_ns);
        }
    }

    pub fn is_over(&mut self, now_ns: u64) {
        self.over_ns.get_or_insert(now_ns);
    }
}
