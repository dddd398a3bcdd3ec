//! State of the tasks: their bursts, penalties and caches.

use super::kin::Kin;
use crate::classes::Pid;
use alloc::vec::Vec;

/// An average over relatives that is used again for a while.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cache {
    /// The inherited penalty.
    pub penalty: u16,
    /// Time at which it was computed, in 65536 ns.
    pub time: u64,
}

/// The burst of a task, and what follows from it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Burst {
    /// CPU time since the last sleep or yield, ns.
    pub time_ns: u64,
    /// Penalty of the present burst.
    pub curr_penalty: u16,
    /// The history: penalty of the bursts before.
    pub prev_penalty: u16,
    /// The penalty in force.
    pub penalty: u16,
    /// Whether the task waits for a futex, or has been woken from that and not run yet.
    pub futex_waiting: bool,
    /// Whether charges are made inside a change of its weight, and do not count.
    pub stop_update: bool,
    /// The average over the children, or over what is below them.
    pub subtree: Cache,
    /// Main thread: the average over the threads of its process.
    pub group: Cache,
}

/// The bursts of all tasks, and how the tasks are related. Empty in a kernel without BORE.
#[derive(Clone, Debug, Default)]
pub struct Bursts {
    /// By thread.
    rows: Vec<Burst>,
    /// The tree of processes.
    pub kin: Kin,
}

impl Bursts {
    /// Makes room for `task`.
    pub fn make_room(&mut self, task: Pid) {
        let len = self.rows.len().max(task.index() + 1);
        self.rows.resize(len, Burst::default());
        self.kin.make_room(task);
    }

    /// The burst of `task`. That of a task not yet known is empty.
    #[inline]
    pub fn of(&self, task: Pid) -> Burst {
        self.rows.get(task.index()).copied().unwrap_or_default()
    }

    /// The burst of `task`, for which there is room.
    #[inline]
    pub fn row(&mut self, task: Pid) -> &mut Burst {
        &mut self.rows[task.index()]
    }
}
