//! Several benchmarks on one machine: each is a [`Part`], with tasks, a clock and random draws of
//! its own.
//!
//! A part draws what it would draw if it ran alone, and its clock begins with it. So a program does
//! not notice that it is a part, except by how long things take. A [`Kernel`](super::Kernel) of which nobody has
//! said anything is one part that begins at 0.

use schedlab_core::{CpuSet, GroupId, SchedAttr, TaskId};

/// How a part is started: what `nice(1)`, `chrt(1)`, `taskset(1)` and `cgexec(1)` do for a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// When its clock shows 0, ns.
    pub start_ns: u64,
    /// Scheduling attributes of its tasks that have none of their own.
    pub attr: SchedAttr,
    /// Where those may run of which nothing else is said.
    pub allowed: CpuSet,
    /// The group of those that are in no other.
    pub group: GroupId,
    /// It is ended then at the latest, ns by its own clock; none: it ends by itself.
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

/// Which part: counted from 0, in the order in which they were begun.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PartId(pub(super) u32);

impl PartId {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }

    /// The seed of a part in the run of `seed`: the first part's is that of the run.
    pub(super) fn seed(self, seed: u64) -> u64 {
        seed ^ u64::from(self.0) << 40
    }
}

/// A part in the middle of the run.
pub(super) struct Running {
    pub part: Part,
    /// How many tasks it has or had.
    tasks: u32,
    /// Those that have not ended.
    living: u32,
    /// When it was over, ns.
    pub over_ns: Option<u64>,
}

impl Running {
    pub fn new(part: Part) -> Running {
        Running { part, tasks: 0, living: 0, over_ns: None }
    }

    /// Another task; its number within the part.
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
