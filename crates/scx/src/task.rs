//! Tasks as the class keeps them, and the offsets of their members in the policy's memory.

use crate::dsq::Key;
use crate::kernel_types::KernelTypes;
use schedlab_core::{CpuSet, Policy, SchedAttr};

/// Holder of a waiting task.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Holder {
    /// No holder: the task runs, sleeps or is being moved.
    #[default]
    None,
    /// The policy, since `enqueue`.
    Policy,
    /// A queue, by its index, with the task's position.
    Queue(u32, Key),
}

/// A task, or the idle task of a CPU.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Task {
    /// When and by which CPU it was put back, if it waits because a CPU put it back.
    pub put_back: Option<PutBack>,
    /// Whether it was born and has not ended.
    pub is_alive: bool,
    /// Policy, nice value.
    pub attr: SchedAttr,
    /// The CPUs that it may use.
    pub allowed: CpuSet,
    /// Number of the machine's CPUs among them.
    pub nr_allowed: u32,
    /// Its group.
    pub group: u32,
    /// The CPU whose runqueue it belongs to.
    pub cpu: u32,
    /// Whether it runs or waits.
    pub is_runnable: bool,
    /// The CPU whose current task it is. It remains current for a moment after it has blocked.
    pub on_cpu: Option<u32>,
    /// Its holder while it waits.
    pub holder: Holder,
    /// Number of its last `enqueue`. Decisions about an earlier one are stale.
    pub qseq: u64,
    /// The queue and flags of an insertion made by `select_cpu` or `enqueue`.
    pub direct: Option<(u64, u64)>,
    /// Time up to which its CPU time is charged, ns.
    pub exec_start: u64,
    /// Start of its wait or, while it runs, of its run, ns.
    pub runnable_at: u64,
    /// Whether it has exited. Its end is reported when its CPU has switched.
    pub is_dying: bool,
    /// Whether it belongs to the policy, that is, has an ordinary policy.
    pub is_enabled: bool,
}

/// A task that a CPU puts back, invisible to other CPUs for a while.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PutBack {
    /// Time from which other CPUs see it, ns.
    pub until_ns: u64,
    /// The CPU that puts it back.
    pub by: u32,
    /// Whether it is invisible only to CPUs whose current task can continue.
    pub unless_idle: bool,
}

/// Offsets in `task_struct` of members that change often.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TaskOffsets {
    /// Distance between tasks.
    pub stride: u32,
    /// `scx.slice`.
    pub slice: u32,
    /// `scx.dsq_vtime`.
    pub vtime: u32,
    /// `scx.disallow`.
    pub disallow: u32,
    /// `scx.weight`.
    pub weight: u32,
    /// `scx.flags`.
    pub flags: u32,
    /// `scx.runnable_at`.
    pub runnable_at: u32,
    /// `scx.selected_cpu`.
    pub selected_cpu: u32,
    /// `se.sum_exec_runtime`.
    pub sum_exec: u32,
    /// `utime`.
    pub utime: u32,
    /// `__state`.
    pub state: u32,
    /// `on_rq`.
    pub on_rq: u32,
    /// `on_cpu`.
    pub on_cpu: u32,
    /// `thread_info.cpu`.
    pub cpu: u32,
    /// `nvcsw`.
    pub nvcsw: u32,
    /// `nivcsw`.
    pub nivcsw: u32,
}

impl TaskOffsets {
    pub(crate) fn new(types: &KernelTypes) -> TaskOffsets {
        let at = |path| types.offset("task_struct", path);
        TaskOffsets {
            stride: types.structure("task_struct").map_or(0, |layout| layout.size),
            slice: at("scx.slice"),
            vtime: at("scx.dsq_vtime"),
            disallow: at("scx.disallow"),
            weight: at("scx.weight"),
            flags: at("scx.flags"),
            runnable_at: at("scx.runnable_at"),
            selected_cpu: at("scx.selected_cpu"),
            sum_exec: at("se.sum_exec_runtime"),
            utime: at("utime"),
            state: at("__state"),
            on_rq: at("on_rq"),
            on_cpu: at("on_cpu"),
            cpu: at("thread_info.cpu"),
            nvcsw: at("nvcsw"),
            nivcsw: at("nivcsw"),
        }
    }
}

/// Weights of nice values -20 to 19, 1024 at 0.
const WEIGHTS: [u64; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904,
    3906, 3121, 2501, 1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87,
    70, 56, 45, 36, 29, 23, 18, 15,
];

/// Returns the `scx.weight` of a task: 1 to 10000, 100 at nice 0.
pub fn weight_of(attr: &SchedAttr) -> u32 {
    let weight = match attr.policy {
        Policy::Idle => 3,
        _ => WEIGHTS[(attr.nice.clamp(-20, 19) + 20) as usize],
    };
    ((weight * 100 + 512) / 1024).clamp(1, 10_000) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_those_of_the_specification() {
        let weight = |nice| weight_of(&SchedAttr::nice(nice));
        assert_eq!([0, -20, 19, 5].map(weight), [100, 8668, 1, 33]);
        let idle = SchedAttr { policy: Policy::Idle, ..SchedAttr::default() };
        assert_eq!(weight_of(&idle), 1);
    }
}
