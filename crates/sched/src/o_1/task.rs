//! What the kernel keeps of a task.

use super::prio_array::MAX_RT_PRIO;
use alloc::vec::Vec;
use core::ops::{Index, IndexMut};
use schedlab_core::{CpuSet, Policy, TaskId};

/// A task of the kernel's: first the migration thread of each CPU, in order, then the workload's
/// tasks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pid(pub(super) u32);

impl Pid {
    /// No task: the end of a list; as a CPU's current task the idle task.
    pub(super) const NONE: Pid = Pid(u32::MAX);
}

impl Default for Pid {
    fn default() -> Pid {
        Pid::NONE
    }
}

/// Which of its runqueue's two arrays a task stands in. They swap roles, so these are their places
/// in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum ArrayId {
    /// None: not queued.
    #[default]
    None,
    Zero,
    One,
}

impl ArrayId {
    #[inline]
    pub(super) const fn of(index: usize) -> ArrayId {
        if index == 0 { ArrayId::Zero } else { ArrayId::One }
    }

    /// The array's index, for a task that is queued.
    #[inline]
    pub(super) const fn index(self) -> usize {
        (self as usize).wrapping_sub(1)
    }
}

/// The task's state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum State {
    /// Runnable or running.
    Running,
    Interruptible,
    Uninterruptible,
    /// Not yet born, or exited.
    #[default]
    Dead,
}

/// How the task was woken, and so how its wait for the CPU is to count: `activated` in 2.6.0,
/// `sleep_type` in 2.6.22.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Activated {
    /// -1, `SLEEP_NONINTERACTIVE`: from uninterruptible sleep (and in 2.6.22 from a long one). The
    /// wait does not count.
    Uninterruptible,
    /// 0, `SLEEP_NORMAL`: it has been picked since. The wait does not count.
    #[default]
    No,
    /// 1, `SLEEP_INTERACTIVE`: by a process. 38/128 of the wait counts as sleep.
    Process,
    /// 2, `SLEEP_INTERRUPTED`: by an interrupt. All of the wait counts as sleep.
    Interrupt,
}

/// What is looked at all the time: one cache line.
#[derive(Clone, Debug, Default)]
pub(super) struct Task {
    /// Neighbours in the list that it stands in.
    pub(super) next: Pid,
    pub(super) prev: Pid,
    /// The CPU whose runqueue it belongs to, or last belonged to.
    pub(super) cpu: u32,
    /// What is left of the slice, jiffies.
    pub(super) time_slice: u32,
    /// 2.6.0: the estimator's slow memory, -101..101.
    pub(super) interactive_credit: i32,
    /// 2.6.22: what the task weighs in the balancing.
    pub(super) load_weight: u32,
    /// The interactivity estimate, ns, 0..`NS_MAX_SLEEP_AVG`.
    pub(super) sleep_avg: u64,
    /// When it was last switched in or out, or activated, ns. In 2.6.22 pulls shift it between the
    /// queues' clocks, perhaps beyond the present or before 0: differences are taken as signed.
    pub(super) timestamp: u64,
    /// 2.6.22: when it last ran, ns.
    pub(super) last_ran: u64,
    /// The priority that it is queued by, 0..139.
    pub(super) prio: u8,
    /// 120 + nice, 100..139.
    pub(super) static_prio: u8,
    /// 0, or 1..99 for real-time tasks.
    pub(super) rt_priority: u8,
    pub(super) policy: Policy,
    pub(super) state: State,
    /// Where it is queued. A running task stays queued.
    pub(super) array: ArrayId,
    pub(super) activated: Activated,
    /// Still in the slice that it got at fork.
    pub(super) first_time_slice: bool,
}

impl Task {
    /// Whether it is under a real-time policy.
    #[inline]
    pub(super) fn is_rt(&self) -> bool {
        self.prio < MAX_RT_PRIO
    }

    #[inline]
    pub(super) fn is_queued(&self) -> bool {
        self.array != ArrayId::None
    }

    /// 2.6.22: under `SCHED_BATCH`.
    #[inline]
    pub(super) fn is_batch(&self) -> bool {
        self.policy == Policy::Batch
    }
}

/// What is seldom looked at.
#[derive(Clone, Debug, Default)]
struct Cold {
    allowed: CpuSet,
    address_space: u32,
}

/// All tasks.
#[derive(Clone, Debug)]
pub(super) struct Tasks {
    rows: Vec<Task>,
    /// By the workload's numbers; migration threads have none.
    cold: Vec<Cold>,
    /// Number of migration threads.
    cpus: u32,
}

impl Tasks {
    /// Only the migration threads, asleep: priority 0, as `SCHED_FIFO` 99 has.
    pub(super) fn new(cpus: u32) -> Tasks {
        let thread = |cpu| Task {
            cpu,
            rt_priority: 99,
            policy: Policy::Fifo,
            state: State::Interruptible,
            static_prio: 120,
            ..Task::default()
        };
        Tasks { rows: (0..cpus).map(thread).collect(), cold: Vec::new(), cpus }
    }

    /// The migration thread of `cpu`.
    #[inline]
    pub(super) fn migration_thread(cpu: u32) -> Pid {
        Pid(cpu)
    }

    #[inline]
    pub(super) fn pid(&self, task: TaskId) -> Pid {
        Pid(self.cpus + task.0)
    }

    /// The workload's number of `p`, which is not a migration thread.
    #[inline]
    pub(super) fn task_id(&self, p: Pid) -> TaskId {
        TaskId(p.0 - self.cpus)
    }

    /// A new task, which takes the row of its number.
    pub(super) fn insert(&mut self, task: TaskId, row: Task, allowed: CpuSet, address_space: u32) {
        if task.index() >= self.cold.len() {
            self.cold.resize_with(task.index() + 1, Cold::default);
            self.rows.resize_with(self.cpus as usize + task.index() + 1, Task::default);
        }
        let p = self.pid(task);
        self.rows[p.0 as usize] = row;
        self.cold[task.index()] = Cold { allowed, address_space };
    }

    /// Whether there is such a task, alive.
    pub(super) fn is_alive(&self, task: TaskId) -> bool {
        self.rows.get(self.pid(task).0 as usize).is_some_and(|row| row.state != State::Dead)
    }

    /// Whether `p` may run on `cpu`.
    #[inline]
    pub(super) fn may_run_on(&self, p: Pid, cpu: u32) -> bool {
        match p.0.checked_sub(self.cpus) {
            None => p.0 == cpu,
            Some(number) => self.cold[number as usize].allowed.contains(schedlab_core::CpuId(cpu)),
        }
    }

    pub(super) fn allowed(&self, task: TaskId) -> &CpuSet {
        &self.cold[task.index()].allowed
    }

    pub(super) fn set_allowed(&mut self, task: TaskId, allowed: CpuSet) {
        self.cold[task.index()].allowed = allowed;
    }

    pub(super) fn address_space(&self, task: TaskId) -> u32 {
        self.cold[task.index()].address_space
    }

    /// Number of rows, migration threads included.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }
}

impl Index<Pid> for Tasks {
    type Output = Task;
    #[inline]
    fn index(&self, p: Pid) -> &Task {
        &self.rows[p.0 as usize]
    }
}

impl IndexMut<Pid> for Tasks {
    #[inline]
    fn index_mut(&mut self, p: Pid) -> &mut Task {
        &mut self.rows[p.0 as usize]
    }
}
