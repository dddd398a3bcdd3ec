//! Running a machine by a timetable.

use super::check::matches;
use super::{Change, Entry, NewPolicy, Tasks, Timetable};
use crate::groups::GroupPlan;
use crate::stop::Stop;
use crate::vm::Vm;
use schedlab_machine::{Action, ActionError, Machine, Observer, RunEnd, TaskState};
use schedlab_sched::{GroupId, SchedAttr, Scheduler, TaskId};

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
    /// The first refusals, at most [`REFUSALS_KEPT`]; of those of one line at one time the first.
    pub refusals: Vec<Refusal>,
    /// How many there were.
    pub refused: u64,
}

/// So many refusals are told in full.
pub const REFUSALS_KEPT: usize = 20;

impl Timetable {
    /// Runs `machine` until `until_ns` and does what the timetable says, each at its time before anything else that falls on
    /// it; what falls on the same time, in the order in which it is written. The groups of `plan` are numbered `ids`.
    ///
    /// # Errors
    /// When the workload says so.
    pub fn run<S: Scheduler, O: Observer>(
        &self,
        machine: &mut Machine<S, Vm, O>,
        plan: &GroupPlan,
        ids: &[GroupId],
        until_ns: u64,
    ) -> Result<Outcome, Stop> {
        let mut next: Vec<Option<u64>> = self.entries.iter().map(|entry| entry.when.first()).collect();
        let mut outcome = Outcome { end: RunEnd::TimeUp, refusals: Vec::new(), refused: 0 };
        loop {
            let left = self.entries.iter().zip(&next).filter(|(_, next)| next.is_some());
            machine.set_releases_expected(left.clone().any(|(entry, _)| entry.change.lets_go()));
            let at_ns = next.iter().flatten().min().copied();
            let Some(at_ns) = at_ns.filter(|&at_ns| at_ns < until_ns) else {
                break;
            };
            if machine.run_to(at_ns)? != RunEnd::TimeUp {
                break;
            }
            for (entry, next) in self.entries.iter().zip(&mut next) {
                if *next == Some(at_ns) {
                    entry.perform(machine, plan, ids, &mut outcome);
                    *next = entry.when.after(at_ns);
                }
            }
        }
        outcome.end = machine.run(until_ns)?;
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
    fn perform<S: Scheduler, O: Observer>(
        &self,
        machine: &mut Machine<S, Vm, O>,
        plan: &GroupPlan,
        ids: &[GroupId],
        outcome: &mut Outcome,
    ) {
        let mut act = |machine: &mut Machine<S, Vm, O>, action: Action, task: Option<TaskId>| {
            let Err(error) = machine.act(&action) else {
                return;
            };
            // Of those that are meant some may have ended.
            if matches!(error, ActionError::Ended(_)) {
                return;
            }
            outcome.refused += 1;
            // A list of CPUs or tasks is told of once.
            let told = outcome.refusals.last();
            let told =
                told.is_some_and(|last| last.at_ns == machine.now_ns() && last.line == self.origin.text);
            if outcome.refusals.len() < REFUSALS_KEPT && !told {
                outcome.refusals.push(Refusal {
                    at_ns: machine.now_ns(),
                    line: self.origin.text.clone(),
                    thread: task.map(|task| machine.workload().thread_name(task)),
                    error,
                });
            }
        };
        let group_id = |path: &str| {
            let at = plan.groups().iter().position(|group| group.path == path);
            at.map_or(GroupId::ROOT, |at| ids[at])
        };
        match &self.change {
            Change::Shares(path, shares) => {
                let action = Action::SetShares { group: group_id(path), shares: *shares };
                act(machine, action, None);
            }
            Change::Tunable(name, value) => {
                let action = Action::SetTunable { name: name.clone(), value: *value };
                act(machine, action, None);
            }
            Change::Offline(cpus) => cpus.iter().for_each(|&cpu| act(machine, Action::Offline(cpu), None)),
            Change::Online(cpus) => cpus.iter().for_each(|&cpu| act(machine, Action::Online(cpu), None)),
            Change::Nice(tasks, _)
            | Change::Policy(tasks, _)
            | Change::Affinity(tasks, ..)
            | Change::Move(tasks, _)
            | Change::Stop(tasks)
            | Change::Continue(tasks)
            | Change::Kill(tasks)
            | Change::Freeze(tasks)
            | Change::Thaw(tasks) => {
                for task in tasks.find(machine, plan, ids) {
                    let action = self.change.about(task, machine.task_attr(task), &group_id);
                    act(machine, action, Some(task));
                }
            }
        }
    }
}

impl Change {
    /// The change as an action about one task, which has the attributes `present`.
    fn about(&self, task: TaskId, present: SchedAttr, group_id: &impl Fn(&str) -> GroupId) -> Action {
        match self {
            Change::Nice(_, nice) => Action::SetAttr { task, attr: SchedAttr { nice: *nice, ..present } },
            Change::Policy(_, new) => {
                let &NewPolicy { policy, rt_priority, runtime_ns, deadline_ns, period_ns } = new;
                let attr =
                    SchedAttr { policy, nice: present.nice, rt_priority, runtime_ns, deadline_ns, period_ns };
                Action::SetAttr { task, attr }
            }
            Change::Affinity(_, allowed, _) => Action::SetAffinity { task, allowed: allowed.clone() },
            Change::Move(_, path) => Action::SetGroup { task, group: group_id(path) },
            Change::Stop(_) => Action::Stop(task),
            Change::Continue(_) => Action::Continue(task),
            Change::Kill(_) => Action::Kill(task),
            Change::Freeze(_) => Action::Freeze(task),
            Change::Thaw(_) => Action::Thaw(task),
            Change::Shares(..) | Change::Tunable(..) | Change::Offline(_) | Change::Online(_) => {
                unreachable!("not about a task")
            }
        }
    }
}

impl Tasks {
    /// Those that are meant and have not ended, rising.
    fn find<S: Scheduler, O: Observer>(
        &self,
        machine: &Machine<S, Vm, O>,
        plan: &GroupPlan,
        ids: &[GroupId],
    ) -> Vec<TaskId> {
        let vm = machine.workload();
        let ended = |task| matches!(machine.task_state(task), TaskState::Zombie | TaskState::Reaped);
        let below: Vec<GroupId> = match self {
            Tasks::Named(_) => Vec::new(),
            Tasks::InGroup(path) => {
                let inside = |other: &str| {
                    other
                        .strip_prefix(path.as_str())
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                };
                let groups = plan.groups().iter().zip(ids);
                let groups = groups.filter(|(group, _)| inside(&group.path)).map(|(_, &id)| id);
                groups.chain(path.is_empty().then_some(GroupId::ROOT)).collect()
            }
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
