//! Running a machine by a timetable.

use super::groups::Groups;
use super::{Change, Entry, NewPolicy, Tasks, Timetable};
use crate::cgroups::GroupPlan;
use crate::cgroups::write::Write;
use crate::error::Error;
use crate::pattern::matches;
use crate::programs::Kernel;
use core::ops::ControlFlow;
use schedlab_core::{GroupId, SchedAttr, Scheduler, TaskId};
use schedlab_machine::{Action, ActionError, Machine, Observer, RunEnd, TaskState, Workload};

/// An action that the machine refused. The run continued without it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// Time, ns.
    pub at_ns: u64,
    /// Line of the timetable.
    pub line: String,
    /// Affected thread, if the action concerns a task.
    pub thread: Option<String>,
    /// Reason.
    pub error: ActionError,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "at {:.6} s: `{}`", self.at_ns as f64 / 1e9, self.line.trim())?;
        if let Some(thread) = &self.thread {
            write!(f, " ({thread})")?;
        }
        write!(f, ": {}", self.error)
    }
}

/// Result of a run by a timetable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// How the run ended.
    pub end: RunEnd,
    /// The first refusals, at most `REFUSALS_KEPT`. Of several by one line at one time, only the
    /// first.
    pub refusals: Vec<Refusal>,
    /// Number of refusals.
    pub refused: u64,
    /// Lines that never took effect because the workload ended first, although the run could have
    /// lasted.
    pub undone: Vec<String>,
}

/// Number of refusals kept in full.
pub const REFUSALS_KEPT: usize = 20;

impl Timetable {
    /// Runs `machine` until `until_ns` and performs the actions of the timetable, each before all
    /// other events at its time. Actions at the same time are performed in the order written. The
    /// groups of `plan` are numbered `ids`.
    ///
    /// # Errors
    /// Errors of the workload.
    pub fn run<S: Scheduler, W, O: Observer>(
        &self,
        machine: &mut Machine<S, W, O>,
        plan: &GroupPlan,
        ids: &[GroupId],
        until_ns: u64,
    ) -> Result<Outcome, Error>
    where
        W: Workload<Error = Error> + AsRef<Kernel>,
    {
        self.run_with_stops(machine, plan, ids, until_ns, &[], |_| ControlFlow::Continue(()))
    }

    /// Runs like [`run`](Timetable::run), and calls `look` at given times (strictly ascending),
    /// before all events at those times. `look` sees the machine and may end the run. A run that
    /// continues is the same.
    ///
    /// # Errors
    /// Errors of the workload.
    pub fn run_with_stops<S: Scheduler, W, O: Observer>(
        &self,
        machine: &mut Machine<S, W, O>,
        plan: &GroupPlan,
        ids: &[GroupId],
        until_ns: u64,
        stops_ns: &[u64],
        mut look: impl FnMut(&mut Machine<S, W, O>) -> ControlFlow<()>,
    ) -> Result<Outcome, Error>
    where
        W: Workload<Error = Error> + AsRef<Kernel>,
    {
        let mut drive = Drive::new(self, plan, ids);
        for &at_ns in stops_ns.iter().filter(|&&at_ns| at_ns < until_ns) {
            if drive.run_to(self, machine, at_ns)? != RunEnd::TimeUp {
                break;
            }
            if look(machine).is_break() {
                return drive.finish(self, machine, at_ns);
            }
        }
        drive.finish(self, machine, until_ns)
    }
}

/// An incremental run by a timetable.
///
/// The run is the same however it is divided.
#[derive(Clone, Debug)]
pub struct Drive {
    /// Time of the next action of each entry, ns. `None`: never again.
    next: Vec<Option<u64>>,
    groups: Groups,
    outcome: Outcome,
}

impl Drive {
    /// Starts `timetable`. The groups of `plan` are numbered `ids`.
    pub fn new(timetable: &Timetable, plan: &GroupPlan, ids: &[GroupId]) -> Drive {
        Drive {
            next: timetable.entries.iter().map(|entry| entry.when.first()).collect(),
            groups: Groups::new(plan, ids),
            outcome: Outcome {
                end: RunEnd::TimeUp,
                refusals: Vec::new(),
                refused: 0,
                undone: Vec::new(),
            },
        }
    }

    /// Continues `machine` until just before `until_ns`. The run can be continued if the time was
    /// up.
    ///
    /// # Errors
    /// Errors of the workload.
    pub fn run_to<S: Scheduler, W, O: Observer>(
        &mut self,
        timetable: &Timetable,
        machine: &mut Machine<S, W, O>,
        until_ns: u64,
    ) -> Result<RunEnd, Error>
    where
        W: Workload<Error = Error> + AsRef<Kernel>,
    {
        loop {
            let left = timetable.entries.iter().zip(&self.next).filter(|(_, next)| next.is_some());
            machine.set_releases_expected(left.clone().any(|(entry, _)| entry.change.lets_go()));
            let at_ns = self.next.iter().flatten().min().copied();
            let Some(at_ns) = at_ns.filter(|&at_ns| at_ns < until_ns) else {
                return machine.run_to(until_ns);
            };
            match machine.run_to(at_ns)? {
                RunEnd::TimeUp => {}
                end => return Ok(end),
            }
            for (entry, next) in timetable.entries.iter().zip(&mut self.next) {
                if *next == Some(at_ns) {
                    entry.perform(machine, &mut self.groups, &mut self.outcome);
                    *next = entry.when.after(at_ns);
                }
            }
        }
    }

    /// Runs `machine` to `until_ns` or to its end, which is reported to its observer.
    ///
    /// # Errors
    /// Errors of the workload.
    pub fn finish<S: Scheduler, W, O: Observer>(
        mut self,
        timetable: &Timetable,
        machine: &mut Machine<S, W, O>,
        until_ns: u64,
    ) -> Result<Outcome, Error>
    where
        W: Workload<Error = Error> + AsRef<Kernel>,
    {
        self.run_to(timetable, machine, until_ns)?;
        let Drive { next, mut outcome, .. } = self;
        outcome.end = machine.run(until_ns)?;
        let undone = timetable.entries.iter().zip(&next).filter(|(entry, next)| {
            next.is_some_and(|ns| Some(ns) == entry.when.first() && ns < until_ns)
        });
        outcome.undone = undone.map(|(entry, _)| entry.origin.text.trim().to_string()).collect();
        Ok(outcome)
    }
}

impl super::When {
    fn first(&self) -> Option<u64> {
        Some(self.from_ns).filter(|&ns| ns < self.until_ns)
    }

    fn after(&self, at_ns: u64) -> Option<u64> {
        let next_ns = at_ns.checked_add(self.period_ns?)?;
        Some(next_ns).filter(|&ns| ns < self.until_ns)
    }
}

impl Entry {
    fn perform<S: Scheduler, W: Workload + AsRef<Kernel>, O: Observer>(
        &self,
        machine: &mut Machine<S, W, O>,
        groups: &mut Groups,
        outcome: &mut Outcome,
    ) {
        let mut note =
            |machine: &Machine<S, W, O>, task: Option<TaskId>, done: Result<(), ActionError>| {
                if let Err(error) = done {
                    let thread = task.map(|task| machine.workload().as_ref().thread_name(task));
                    outcome.refuse(&self.origin.text, machine.now_ns(), thread, error);
                }
            };
        match &self.change {
            Change::Tunable(name, value) => {
                let done = machine.act(&Action::SetTunable { name: name.clone(), value: *value });
                note(machine, None, done);
            }
            Change::Offline(cpus) => {
                for &cpu in cpus {
                    let done = machine.act(&Action::Offline(cpu));
                    note(machine, None, done);
                }
            }
            Change::Online(cpus) => {
                for &cpu in cpus {
                    let done = machine.act(&Action::Online(cpu));
                    note(machine, None, done);
                }
            }
            Change::Group(path, writes) => {
                for &(name, ref write) in writes {
                    let done = groups.write(path, (name, write), |action| machine.act(&action));
                    note(machine, None, done);
                }
            }
            // The root has no freezer: its tasks are frozen one by one.
            Change::Freeze(Tasks::InGroup(path)) if !path.is_empty() => {
                let write = ("cgroup.freeze", &Write::Frozen(true));
                let done = groups.write(path, write, |action| machine.act(&action));
                note(machine, None, done);
            }
            Change::Nice(tasks, _)
            | Change::Policy(tasks, _)
            | Change::Affinity(tasks, ..)
            | Change::Move(tasks, _)
            | Change::Stop(tasks)
            | Change::Continue(tasks)
            | Change::Kill(tasks)
            | Change::Freeze(tasks)
            | Change::Thaw(tasks) => {
                if let (Change::Thaw(_), Tasks::InGroup(path)) = (&self.change, tasks)
                    && !path.is_empty()
                {
                    let write = ("cgroup.freeze", &Write::Frozen(false));
                    let done = groups.write(path, write, |action| machine.act(&action));
                    note(machine, None, done);
                }
                for task in tasks.find(machine, groups) {
                    let action = self.change.about(task, machine.task_attr(task), groups);
                    let done = machine.act(&action);
                    note(machine, Some(task), done);
                }
            }
        }
    }
}

impl Outcome {
    /// Records that the action of the line was refused.
    fn refuse(&mut self, line: &str, at_ns: u64, thread: Option<String>, error: ActionError) {
        // Some of the tasks may have ended.
        if matches!(error, ActionError::Ended(_)) {
            return;
        }
        self.refused += 1;
        // A list of CPUs or tasks is reported once.
        let reported =
            self.refusals.last().is_some_and(|last| last.at_ns == at_ns && last.line == line);
        if self.refusals.len() < REFUSALS_KEPT && !reported {
            self.refusals.push(Refusal { at_ns, line: line.into(), thread, error });
        }
    }
}

impl Change {
    /// Returns the change as an action on a task, which has the attributes `present`.
    fn about(&self, task: TaskId, present: SchedAttr, groups: &Groups) -> Action {
        match self {
            Change::Nice(_, nice) => {
                Action::SetAttr { task, attr: SchedAttr { nice: *nice, ..present } }
            }
            Change::Policy(_, new) => {
                let &NewPolicy { policy, rt_priority, runtime_ns, deadline_ns, period_ns } = new;
                let attr = SchedAttr {
                    policy,
                    nice: present.nice,
                    rt_priority,
                    runtime_ns,
                    deadline_ns,
                    period_ns,
                };
                Action::SetScheduler { task, attr }
            }
            Change::Affinity(_, allowed, _) => {
                Action::SetAffinity { task, allowed: allowed.clone() }
            }
            Change::Move(_, path) => Action::SetGroup { task, group: groups.id(path) },
            Change::Stop(_) => Action::Stop(task),
            Change::Continue(_) => Action::Continue(task),
            Change::Kill(_) => Action::Kill(task),
            Change::Freeze(_) => Action::Freeze(task),
            Change::Thaw(_) => Action::Thaw(task),
            Change::Group(..) | Change::Tunable(..) | Change::Offline(_) | Change::Online(_) => {
                unreachable!("the change concerns no task")
            }
        }
    }
}

impl Tasks {
    /// Returns the tasks that are meant and have not ended, in ascending order.
    fn find<S: Scheduler, W: Workload + AsRef<Kernel>, O: Observer>(
        &self,
        machine: &Machine<S, W, O>,
        groups: &Groups,
    ) -> Vec<TaskId> {
        let vm = machine.workload().as_ref();
        let ended =
            |task| matches!(machine.task_state(task), TaskState::Zombie | TaskState::Reaped);
        let below: Vec<GroupId> = match self {
            Tasks::Named(_) => Vec::new(),
            Tasks::InGroup(path) => groups.below(path),
        };
        let meant = |task: TaskId| match self {
            Tasks::InGroup(_) => below.contains(&machine.task_group(task)),
            Tasks::Named(names) => {
                let thread = vm.thread(task);
                let name = vm.thread_name(task);
                names.iter().any(|pattern| matches(pattern, thread.key) || matches(pattern, &name))
            }
        };
        let all = (0..machine.task_count() as u32).map(TaskId);
        all.filter(|&task| !ended(task) && meant(task)).collect()
    }
}
