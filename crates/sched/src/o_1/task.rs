//! The state of a task.

use super::prio::MAX_RT_PRIO;
use alloc::vec::Vec;
use core::num::NonZeroU32;
use core::ops::{Index, IndexMut};
use schedlab_core::{CpuId, CpuSet, Policy, TaskId, TaskTable};

/// A task of the kernel: 1 is the migration thread of CPU 0. The migration threads of the other
/// CPUs follow in order, then the workload's tasks. (0 is the idle task, as in the kernel. Here it
/// is `None`.)
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pid(NonZeroU32);

impl Pid {
    /// Returns the task whose row is `row` rows behind that of the idle task.
    #[inline]
    const fn behind_idle(row: u32) -> Pid {
        Pid(NonZeroU32::MIN.saturating_add(row))
    }

    #[inline]
    const fn row(self) -> usize {
        self.0.get() as usize
    }
}

/// One of a runqueue's two arrays. The two swap roles (active and expired), so these names stand
/// for their places in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ArrayId {
    Zero,
    One,
}

impl ArrayId {
    /// Returns the other array.
    #[inline]
    pub(super) const fn other(self) -> ArrayId {
        match self {
            ArrayId::Zero => ArrayId::One,
            ArrayId::One => ArrayId::Zero,
        }
    }

    /// Returns the array's index in its runqueue.
    #[inline]
    pub(super) const fn index(self) -> usize {
        self as usize
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

/// How the task was woken, which determines how its wait for the CPU counts: `activated` in 2.6.0,
/// `sleep_type` in 2.6.22.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Activated {
    /// -1, `SLEEP_NONINTERACTIVE`: from uninterruptible sleep (in 2.6.22 also from a long sleep).
    /// The wait does not count.
    Uninterruptible,
    /// 0, `SLEEP_NORMAL`: it has been picked since then. The wait does not count.
    #[default]
    No,
    /// 1, `SLEEP_INTERACTIVE`: by a process. 38/128 of the wait counts as sleep.
    Process,
    /// 2, `SLEEP_INTERRUPTED`: by an interrupt. All of the wait counts as sleep.
    Interrupt,
}

/// The fields that every decision reads: one cache line.
#[derive(Clone, Debug)]
pub(super) struct Task {
    /// Neighbours in its list.
    pub(super) next: Option<Pid>,
    pub(super) prev: Option<Pid>,
    /// The CPU whose runqueue it belongs to, or last belonged to.
    pub(super) cpu: CpuId,
    /// The rest of the slice, jiffies.
    pub(super) time_slice: u32,
    /// 2.6.0: the estimator's slow memory, -101..101.
    pub(super) interactive_credit: i32,
    /// 2.6.22: weight of the task in balancing.
    pub(super) load_weight: u32,
    /// The interactivity estimate, ns, 0..`NS_MAX_SLEEP_AVG`.
    pub(super) sleep_avg: u64,
    /// Time at which it was last switched in or out, or activated, ns. In 2.6.22 pulls shift it
    /// between the queues' clocks, possibly beyond the present or before 0, so differences are
    /// taken as signed.
    pub(super) timestamp: u64,
    /// 2.6.22: time at which it last ran, ns.
    pub(super) last_ran: u64,
    /// The priority by which it is queued, 0..139.
    pub(super) prio: u8,
    /// 120 + nice, 100..139.
    pub(super) static_prio: u8,
    /// 0, or 1..99 for real-time tasks.
    pub(super) rt_priority: u8,
    pub(super) policy: Policy,
    pub(super) state: State,
    /// The array it is queued in. A running task stays queued.
    pub(super) array: Option<ArrayId>,
    pub(super) activated: Activated,
    /// Whether it is still in the slice that it got at fork.
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
        self.array.is_some()
    }

    /// 2.6.22: whether its policy is `SCHED_BATCH`.
    #[inline]
    pub(super) fn is_batch(&self) -> bool {
        self.policy == Policy::Batch
    }
}

impl Default for Task {
    fn default() -> Task {
        Task {
            next: None,
            prev: None,
            cpu: CpuId(0),
            time_slice: 0,
            interactive_credit: 0,
            load_weight: 0,
            sleep_avg: 0,
            timestamp: 0,
            last_ran: 0,
            prio: 0,
            static_prio: 0,
            rt_priority: 0,
            policy: Policy::Other,
            state: State::Dead,
            array: None,
            activated: Activated::No,
            first_time_slice: false,
        }
    }
}

/// The fields that are seldom read.
#[derive(Clone, Debug, Default)]
struct Cold {
    allowed: CpuSet,
    address_space: u32,
}

/// All tasks.
#[derive(Clone, Debug)]
pub(super) struct Tasks {
    /// By `Pid`. The first row, that of the idle task, is unused.
    rows: Vec<Task>,
    /// By the workload's task numbers. Migration threads have none.
    cold: TaskTable<Cold>,
    /// Number of migration threads.
    cpus: u32,
}

impl Tasks {
    /// Creates only the migration threads, asleep, with priority 0, like `SCHED_FIFO` 99.
    pub(super) fn new(cpus: u32) -> Tasks {
        let thread = |cpu| Task {
            cpu: CpuId(cpu),
            rt_priority: 99,
            policy: Policy::Fifo,
            state: State::Interruptible,
            static_prio: 120,
            ..Task::default()
        };
        let idle = core::iter::once(Task::default());
        Tasks { rows: idle.chain((0..cpus).map(thread)).collect(), cold: TaskTable::new(), cpus }
    }

    /// Returns the migration thread of `cpu`.
    #[inline]
    pub(super) fn migration_thread(cpu: CpuId) -> Pid {
        Pid::behind_idle(cpu.0)
    }

    #[inline]
    pub(super) fn pid(&self, task: TaskId) -> Pid {
        Pid::behind_idle(self.cpus + task.0)
    }

    /// Returns the workload's number of `p`, which is not a migration thread.
    #[inline]
    pub(super) fn task_id(&self, p: Pid) -> TaskId {
        TaskId(p.0.get() - 1 - self.cpus)
    }

    /// Inserts a new task into the row of its number.
    pub(super) fn insert(&mut self, task: TaskId, row: Task, allowed: CpuSet, address_space: u32) {
        let p = self.pid(task);
        if p.row() >= self.rows.len() {
            self.rows.resize_with(p.row() + 1, Task::default);
        }
        self.rows[p.row()] = row;
        self.cold.insert(task, Cold { allowed, address_space });
    }

    /// Whether the task exists and is alive.
    pub(super) fn is_alive(&self, task: TaskId) -> bool {
        self.rows.get(self.pid(task).row()).is_some_and(|row| row.state != State::Dead)
    }

    /// Whether `p` may run on `cpu`.
    #[inline]
    pub(super) fn may_run_on(&self, p: Pid, cpu: CpuId) -> bool {
        if p.0.get() <= self.cpus {
            return p == Tasks::migration_thread(cpu);
        }
        self.cold[self.task_id(p)].allowed.contains(cpu)
    }

    pub(super) fn allowed(&self, task: TaskId) -> &CpuSet {
        &self.cold[task].allowed
    }

    pub(super) fn set_allowed(&mut self, task: TaskId, allowed: CpuSet) {
        self.cold[task].allowed = allowed;
    }

    pub(super) fn address_space(&self, task: TaskId) -> u32 {
        self.cold[task].address_space
    }

    /// Returns all tasks, migration threads first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Pid, &Task)> {
        (0..).map(Pid::behind_idle).zip(&self.rows[1..])
    }

    /// Whether there are no tasks except the migration threads.
    pub(super) fn is_empty(&self) -> bool {
        self.cold.is_empty()
    }
}

impl Index<TaskId> for Tasks {
    type Output = Task;
    #[inline]
    fn index(&self, task: TaskId) -> &Task {
        &self.rows[(1 + self.cpus + task.0) as usize]
    }
}

impl Index<Pid> for Tasks {
    type Output = Task;
    #[inline]
    fn index(&self, p: Pid) -> &Task {
        &self.rows[p.row()]
    }
}

impl IndexMut<Pid> for Tasks {
    #[inline]
    fn index_mut(&mut self, p: Pid) -> &mut Task {
        &mut self.rows[p.row()]
    }
}
