//! What a run looks like at some time: [`Snapshot`], and how one is asked for: [`Watch`].

use schedlab_core::reason::Candidate;
use schedlab_core::{CpuId, GroupId, Observer, SchedAttr, Scheduler, TaskId};
use schedlab_machine::{Machine, TaskState};
use schedlab_report::RunReport;
use schedlab_workload::{GroupPlan, Kernel};
use std::ops::ControlFlow;

/// What somebody wants of a run besides its events. By default nothing, which costs nothing.
pub struct Watch<'a, O> {
    /// Tasks come with their names ([`Event::Named`](schedlab_core::Event::Named)).
    pub names: bool,
    /// When to look at the machine, ns; rising, no two equal.
    pub stops_ns: &'a [u64],
    /// Looks at it, with the observer as it is at that time.
    pub look: Option<Look<'a, O>>,
    /// Is told at each of these times what came of the run so far, and may end it there.
    pub judge: Option<Judge<'a>>,
}

/// Looks at a machine that stands still.
pub type Look<'a, O> = &'a mut dyn FnMut(&Snapshot, &mut O);

/// Judges a run by its report as if it ended now: whether it goes on.
pub type Judge<'a> = &'a mut dyn FnMut(RunReport) -> ControlFlow<()>;

impl<O> Default for Watch<'_, O> {
    fn default() -> Self {
        Watch { names: false, stops_ns: &[], look: None, judge: None }
    }
}

/// The machine at a time, before anything that falls on it.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// When, ns.
    pub at_ns: u64,
    /// Each CPU.
    pub cpus: Vec<CpuView>,
    /// Each task, by number.
    pub tasks: Vec<TaskView>,
    /// The paths of the groups but the root, by number from 1.
    pub groups: Vec<(GroupId, String)>,
}

/// A CPU at a time.
#[derive(Clone, Debug)]
pub struct CpuView {
    /// Who runs there.
    pub current: Option<TaskId>,
    /// Among whom the scheduler would choose for it, with their keys.
    pub candidates: Vec<Candidate>,
}

/// A task at a time.
#[derive(Clone, Debug)]
pub struct TaskView {
    /// What it is called.
    pub name: String,
    /// Whether it sleeps, and how.
    pub state: TaskState,
    /// Its attributes.
    pub attr: SchedAttr,
    /// Its group.
    pub group: GroupId,
}

impl Snapshot {
    /// Of `machine`, whose groups are numbered `ids`.
    pub(crate) fn of<S: Scheduler, W: AsRef<Kernel> + schedlab_machine::Workload, O: Observer>(
        machine: &Machine<S, W, O>,
        plan: &GroupPlan,
        ids: &[GroupId],
    ) -> Snapshot {
        let cpus = (0..machine.cpu_count() as u32).map(|cpu| {
            let mut candidates = vec![];
            machine.scheduler().inspect().candidates(CpuId(cpu), &mut candidates);
            CpuView { current: machine.current(CpuId(cpu)), candidates }
        });
        let kernel = machine.workload().as_ref();
        let tasks = (0..machine.task_count() as u32).map(TaskId).map(|task| TaskView {
            name: kernel.thread_name(task),
            state: machine.task_state(task),
            attr: machine.task_attr(task),
            group: machine.task_group(task),
        });
        let groups = plan.groups().iter().zip(ids).map(|(group, &id)| (id, group.path.clone()));
        Snapshot {
            at_ns: machine.now_ns(),
            cpus: cpus.collect(),
            tasks: tasks.collect(),
            groups: groups.collect(),
        }
    }
}
