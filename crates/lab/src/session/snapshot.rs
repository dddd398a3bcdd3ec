//! The state of a simulated machine at a time: [`Snapshot`].

use super::Simulated;
use schedlab_core::reason::Candidate;
use schedlab_core::{CpuId, GroupId, SchedAttr, TaskId};
use schedlab_machine::TaskState;

/// State of the machine at a time, before the events at that time.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Virtual time, ns.
    pub at_ns: u64,
    /// CPUs, by number.
    pub cpus: Vec<CpuView>,
    /// Tasks, by number.
    pub tasks: Vec<TaskView>,
    /// Paths of all groups except the root.
    pub groups: Vec<(GroupId, String)>,
}

/// State of a CPU.
#[derive(Clone, Debug)]
pub struct CpuView {
    /// Task that runs there. `None`: the CPU is idle.
    pub current: Option<TaskId>,
    /// Entities from which the scheduler would pick, with their keys.
    pub candidates: Vec<Candidate>,
}

/// State of a task.
#[derive(Clone, Debug)]
pub struct TaskView {
    /// Name.
    pub name: String,
    /// Whether it runs, waits or sleeps, and how.
    pub state: TaskState,
    /// Scheduling attributes.
    pub attr: SchedAttr,
    /// Task group.
    pub group: GroupId,
}

impl Snapshot {
    /// Returns the state of `machine`, which has these groups.
    pub(super) fn of(machine: &Simulated<'_>, groups: Vec<(GroupId, String)>) -> Snapshot {
        let cpus = (0..machine.cpu_count() as u32).map(|cpu| {
            let mut candidates = vec![];
            machine.scheduler().inspect().candidates(CpuId(cpu), &mut candidates);
            CpuView { current: machine.current(CpuId(cpu)), candidates }
        });
        let kernel = machine.workload();
        let tasks = (0..machine.task_count() as u32).map(TaskId).map(|task| TaskView {
            name: kernel.thread_name(task),
            state: machine.task_state(task),
            attr: machine.task_attr(task),
            group: machine.task_group(task),
        });
        Snapshot { at_ns: machine.now_ns(), cpus: cpus.collect(), tasks: tasks.collect(), groups }
    }
}
