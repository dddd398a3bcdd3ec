//! Running a machine by a timetable.

use super::groups::Groups;
use super::{Change, Entry, NewPolicy, Tasks, Timetable};
use crate::cgroups::write::Write;
use crate::error::Error;
use crate::groups::GroupPlan;
use crate::pattern::matches;
use crate::programs::Kernel;
use core::ops::ControlFlow;
use schedlab_core::{GroupId, SchedAttr, Scheduler, TaskId};
use schedlab_machine::{Action, ActionError, Machine, Observer, RunEnd, TaskState, Workload};

/// An action that the machine refused; the run went on without it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// When, ns.
    pub at_ns: u64,
    /// The line of the timetable.
    pub line: String,
    /// About whom, if about a task.
    pub thread: Option<String>,
    /// Why.
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

/// How a run by a timetable went.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// How it ended.
    pub end: RunEnd,
    /// The first refusals, at most `REFUSALS_KEPT`; of those of one line at one time the first.
    pub refusals: Vec<Refusal>,
    /// How many there were.
    pub refused: u64,
    /// The lines that were never done, as all was over before, though the run might have lasted.
    pub undone: Vec<String>,
}

/// So many refusals are told in full.
pub const REFUSALS_KEPT: usize = 20;

impl Timetable {
    /// Runs `machine` until `until_ns` and does what the timetable says, each at its time before
    /// anything else that falls on it; what falls on the same time, in the order in which it is
    /// written. The groups of `plan` are numbered `ids`.
    ///
    /// # Errors
    /// When the workload says so.
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

    /// The same, and `look` sees the machine as it is at some times (rising, no two equal), before
    /// anything that falls on them, and may end the run there. A run that goes on is the same.
    ///
    /// # Errors
    /// When the workload says so.
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

/// A run by a timetable that is made piece by piece.
///
/// However it is cut into pieces, the run is the same.
#[derive(Clone, Debug)]
pub struct Drive {
    /// When each entry is done next, ns; none: never again.
    next: Vec<Option<u64>>,
    groups: Groups,
    outcome: Outcome,
}

impl Drive {
    /// Nothing of `timetable` is done yet. The groups of `plan` are numbered `ids`.
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

    /// Runs `machine` on until `until_ns`: what falls on it does not happen yet. The run may be
    /// gone on with if the time was up.
    ///
    /// # Errors
    /// When the workload says so.
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

    /// Runs `machine` to `until_ns` or its end, which its observer is told.
    ///
    /// # Errors
    /// When the workload says so.
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
            // The root has no freezer: its tasks are meant one by one.
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
    /// Notes that what the line says was refused.
    fn refuse(&mut self, line: &str, at_ns: u64, thread: Option<String>, error: ActionError) {
        // Of those that are meant some may have ended.
        if matches!(error, ActionError::Ended(_)) {
            return;
        }
        self.refused += 1;
        // A list of CPUs or tasks is told of once.
        let told =
            self.refusals.last().is_some_and(|last| last.at_ns == at_ns && last.line == line);
        if self.refusals.len() < REFUSALS_KEPT && !told {
            self.refusals.push(Refusal { at_ns, line: line.into(), thread, error });
        }
    }
}

impl Change {
    /// The change as an action about one task, which has the attributes `present`.
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
                unreachable!("not about a task")
            }
        }
    }
}

impl Tasks {
    /// Those that are meant and have not ended, rising.
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
