//! Numbers of tasks, CPUs and groups, and the attributes that a task's owner may set.

use crate::CpuSet;

/// A task, by number: 0 for the first that was created, then ascending. No number is used twice in
/// a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TaskId(pub u32);

/// A CPU, by number from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CpuId(pub u32);

/// A task group (control group with the `cpu` controller), by number; 0 is the root group, which
/// always exists.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct GroupId(pub u32);

impl TaskId {
    /// Returns the number as an index into a table of tasks.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl CpuId {
    /// Returns the number as an index into a table of CPUs.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl GroupId {
    /// The group of all tasks that are not assigned to another.
    pub const ROOT: GroupId = GroupId(0);

    /// Returns the number as an index into a table of groups.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Scheduling policy, as `sched_setscheduler(2)` names them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Policy {
    /// `SCHED_OTHER` (`SCHED_NORMAL` inside the kernel): the ordinary time-sharing policy.
    #[default]
    Other,
    /// `SCHED_BATCH` (since 2.6.16): ordinary, but never counted as interactive.
    Batch,
    /// `SCHED_IDLE` (since 2.6.23; `SCHED_IDLEPRIO` in Kolivas's kernels): runs only when no other
    /// task needs the CPU.
    Idle,
    /// `SCHED_FIFO`: real-time; runs until it blocks, yields or is preempted by a more urgent task.
    Fifo,
    /// `SCHED_RR`: real-time; shares the CPU by timeslices with tasks of the same priority.
    RoundRobin,
    /// `SCHED_DEADLINE` (since 3.14): a runtime budget in every period.
    Deadline,
    /// `SCHED_ISO` (Kolivas's kernels only): above all ordinary tasks, as long as such tasks do not
    /// use more than a certain share of the CPU. It has a nice value and no real-time priority.
    Iso,
}

impl Policy {
    /// Whether the policy is `SCHED_FIFO` or `SCHED_RR`.
    #[inline]
    pub const fn is_realtime(self) -> bool {
        matches!(self, Policy::Fifo | Policy::RoundRobin)
    }

    /// Returns the policy's number in `sched_setscheduler(2)` and `/proc`.
    pub const fn number(self) -> u32 {
        match self {
            Policy::Other => 0,
            Policy::Fifo => 1,
            Policy::RoundRobin => 2,
            Policy::Batch => 3,
            Policy::Iso => 4,
            Policy::Idle => 5,
            Policy::Deadline => 6,
        }
    }

    /// Returns the policy's name as users write it, e.g. `SCHED_OTHER`.
    pub const fn name(self) -> &'static str {
        match self {
            Policy::Other => "SCHED_OTHER",
            Policy::Batch => "SCHED_BATCH",
            Policy::Idle => "SCHED_IDLE",
            Policy::Fifo => "SCHED_FIFO",
            Policy::RoundRobin => "SCHED_RR",
            Policy::Deadline => "SCHED_DEADLINE",
            Policy::Iso => "SCHED_ISO",
        }
    }

    /// All policies.
    pub const ALL: [Policy; 7] = [
        Policy::Other,
        Policy::Batch,
        Policy::Idle,
        Policy::Fifo,
        Policy::RoundRobin,
        Policy::Deadline,
        Policy::Iso,
    ];

    /// The policies of mainline kernels, since 3.14.
    pub const MAINLINE: &'static [Policy] = Policy::ALL.split_at(6).0;
}

/// The attributes that `sched_setattr(2)` sets: the policy and its parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SchedAttr {
    /// The policy.
    pub policy: Policy,
    /// Nice value, -20 (highest priority) to 19 (lowest). Kept under real-time policies, without
    /// effect.
    pub nice: i32,
    /// Real-time priority, 1 to 99 (99 most urgent); 0 for the other policies.
    pub rt_priority: u32,
    /// `SCHED_DEADLINE`: runtime per period, ns. `SCHED_OTHER` and `SCHED_BATCH` from 6.12 on: the
    /// requested slice, ns; `0`: the default slice.
    pub runtime_ns: u64,
    /// `SCHED_DEADLINE`: relative deadline, ns.
    pub deadline_ns: u64,
    /// `SCHED_DEADLINE`: period, ns.
    pub period_ns: u64,
}

impl SchedAttr {
    /// Returns `SCHED_OTHER` at the given nice value.
    pub const fn nice(nice: i32) -> SchedAttr {
        SchedAttr {
            policy: Policy::Other,
            nice,
            rt_priority: 0,
            runtime_ns: 0,
            deadline_ns: 0,
            period_ns: 0,
        }
    }

    /// Returns `SCHED_FIFO` or `SCHED_RR` at the given real-time priority.
    pub const fn realtime(policy: Policy, rt_priority: u32) -> SchedAttr {
        SchedAttr { policy, nice: 0, rt_priority, runtime_ns: 0, deadline_ns: 0, period_ns: 0 }
    }
}

/// The attributes of a new task that a scheduler receives.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TaskAttr {
    /// Policy and priority.
    pub sched: SchedAttr,
    /// The CPUs that it may run on (`sched_setaffinity(2)`).
    pub allowed: CpuSet,
    /// Its initial group.
    pub group: GroupId,
    /// Its address space (`mm`): tasks with equal numbers are threads of one process.
    pub address_space: u32,
}

impl TaskAttr {
    /// The address space number of kernel threads, which have none. Only schedulers that examine
    /// address spaces treat it differently.
    pub const NO_ADDRESS_SPACE: u32 = u32::MAX;

    /// Returns the number of a task's address space after `execve(2)`, which it shares with no
    /// other task.
    pub const fn address_space_after_exec(task: TaskId) -> u32 {
        1 << 31 | task.0
    }
}

impl Default for GroupId {
    fn default() -> Self {
        GroupId::ROOT
    }
}
