//! The first decision in which two runs of a load part: [`Parting`].
//!
//! Two runs are compared step by step: which task a CPU switches to, and on whose runqueue a new or
//! woken task is put or moved. A step that is undone within its instant does not count. From the
//! first step that one run makes and the other does not, the schedules are different.

use crate::error::Error;
use crate::explain::names::Names;
use crate::plan::{Contender, Prepared};
use schedlab_core::{Account, CpuId, Event, Observer, Question, Rule, TaskId};
use std::collections::BTreeMap;

/// A step of a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Step {
    /// A new, woken or moved task is put on the runqueue of a CPU.
    Placed {
        /// The CPU.
        cpu: CpuId,
        /// The task.
        task: TaskId,
    },
    /// A CPU begins to run a task.
    Runs {
        /// The CPU.
        cpu: CpuId,
        /// The task. `None`: the CPU idles.
        task: Option<TaskId>,
    },
}

impl Step {
    /// Returns the CPU.
    pub fn cpu(self) -> CpuId {
        match self {
            Step::Placed { cpu, .. } | Step::Runs { cpu, .. } => cpu,
        }
    }
}

/// A step, its time, and the rule by which it was made.
#[derive(Clone, Copy, Debug)]
pub struct TimedStep {
    /// Time, ns.
    pub at_ns: u64,
    /// The step.
    pub step: Step,
    /// The rule.
    pub rule: Rule,
}

/// The part of one of the two runs in their parting.
#[derive(Clone, Debug)]
pub struct PartingSide {
    /// The step that the other run does not make at this time. `None`: this run makes none.
    pub step: Option<TimedStep>,
    /// Task that the CPU ran before, and since when (ns). `None`: it idled.
    pub before: Option<(TaskId, u64)>,
    /// The next time at which the CPU switches, and to which task, at or after the parting.
    pub next: Option<TimedStep>,
    /// Decisions at the time of the parting about the CPU, with their grounds, in the order in
    /// which they were made.
    pub accounts: Vec<Account>,
    /// Names of the run's tasks, groups and rules.
    pub names: Names,
}

/// The first decision in which two runs part.
#[derive(Clone, Debug)]
pub struct Parting {
    /// Time, ns.
    pub at_ns: u64,
    /// The CPU.
    pub cpu: CpuId,
    /// Number of steps before it, which both runs made.
    pub same: u64,
    /// The two runs, in the order of the request.
    pub sides: [PartingSide; 2],
}

/// Recorder of all steps of a run.
#[derive(Default)]
struct Steps {
    all: Vec<TimedStep>,
    /// Steps of the instant in progress, without those that were undone.
    now_ns: u64,
    now: Vec<TimedStep>,
    running: BTreeMap<CpuId, Option<TaskId>>,
}

impl Steps {
    fn add(&mut self, at_ns: u64, step: Step, rule: Rule) {
        if at_ns != self.now_ns {
            self.close();
            self.now_ns = at_ns;
        }
        // A later step of the same CPU or task replaces one of this instant.
        self.now.retain(|other| match (other.step, step) {
            (Step::Runs { cpu: a, .. }, Step::Runs { cpu: b, .. }) => a != b,
            (Step::Placed { task: a, .. }, Step::Placed { task: b, .. }) => a != b,
            _ => true,
        });
        self.now.push(TimedStep { at_ns, step, rule });
    }

    /// Ends the instant in progress.
    fn close(&mut self) {
        self.now.sort_by_key(|timed| timed.step);
        for timed in self.now.drain(..) {
            if let Step::Runs { cpu, task } = timed.step {
                // A CPU that has come back to its task has not switched.
                if self.running.insert(cpu, task).unwrap_or(None) == task {
                    continue;
                }
            }
            self.all.push(timed);
        }
    }
}

impl Observer for Steps {
    fn on(&mut self, at_ns: u64, event: Event<'_>) {
        match event {
            Event::Started { task, cpu, placed, .. } | Event::Woken { task, cpu, placed, .. } => {
                self.add(at_ns, Step::Placed { cpu, task }, placed);
            }
            Event::Migrated { task, to, why, .. } => {
                self.add(at_ns, Step::Placed { cpu: to, task }, why);
            }
            Event::Switched { cpu, next, why, .. } => {
                self.add(at_ns, Step::Runs { cpu, task: next }, why);
            }
            _ => {}
        }
    }
}

/// Collector of the decisions about one CPU in one instant.
struct Accounts {
    at_ns: u64,
    cpu: CpuId,
    found: Vec<Account>,
}

impl Observer for Accounts {
    fn on(&mut self, at_ns: u64, event: Event<'_>) {
        if let Event::Decided { account } = event
            && at_ns == self.at_ns
            && (account.cpu == self.cpu || account.question != Question::Pick)
        {
            self.found.push(account.clone());
        }
    }
}

/// A prepared load and the scheduler that runs it.
pub type Side<'a> = (&'a Prepared, &'a Contender);

/// Finds the first decision in which two runs of the same load part. `None`: they are the same to
/// the end.
///
/// # Errors
/// As for a run.
pub fn parting(a: Side<'_>, b: Side<'_>) -> Result<Option<Parting>, Error> {
    let (one, one_names) = steps(a)?;
    let (other, other_names) = steps(b)?;
    let is_same = |(a, b): &(&TimedStep, &TimedStep)| (a.at_ns, a.step) == (b.at_ns, b.step);
    let same = one.iter().zip(&other).take_while(is_same).count();
    // Of two steps at the same time, the first in the order of steps is the one that only one run
    // makes.
    let firsts = [one.get(same), other.get(same)].into_iter().flatten();
    let Some(first) = firsts.min_by_key(|it| (it.at_ns, it.step)) else { return Ok(None) };
    let (at_ns, cpu) = (first.at_ns, first.step.cpu());
    // All names of the run are needed: the next step can be of a task that does not exist yet.
    let side = |side: Side<'_>, steps: &[TimedStep], names| -> Result<PartingSide, Error> {
        let mut accounts = Accounts { at_ns, cpu, found: vec![] };
        observe(side, Some(at_ns), &mut accounts)?;
        let of_cpu = |timed: &&TimedStep| match timed.step {
            Step::Runs { cpu: other, .. } => other == cpu,
            Step::Placed { .. } => false,
        };
        let before = steps[..same].iter().rev().find(of_cpu).and_then(|timed| match timed.step {
            Step::Runs { task: Some(task), .. } => Some((task, timed.at_ns)),
            _ => None,
        });
        let step = steps.get(same).copied().filter(|timed| timed.at_ns == at_ns);
        let next = steps[same..].iter().find(of_cpu).copied();
        Ok(PartingSide { step, before, next, accounts: accounts.found, names })
    };
    let sides = [side(a, &one, one_names)?, side(b, &other, other_names)?];
    Ok(Some(Parting { at_ns, cpu, same: same as u64, sides }))
}

/// Returns all steps of a run, and the names in them.
fn steps(side: Side<'_>) -> Result<(Vec<TimedStep>, Names), Error> {
    let mut steps = Steps::default();
    let names = observe(side, None, &mut steps)?;
    steps.close();
    Ok((steps.all, names))
}

/// Runs the load with an observer: to the end, or past `until_ns`, with the grounds of decisions.
/// Returns names for the numbers in its events.
fn observe(
    (prepared, scheduler): Side<'_>,
    until_ns: Option<u64>,
    observer: &mut impl Observer,
) -> Result<Names, Error> {
    let experiment = prepared.experiment_of(scheduler);
    let mut session = match experiment {
        Some(_) => prepared.unmeasured_session(scheduler)?,
        None => prepared.session(scheduler)?,
    };
    session.observe(observer);
    if until_ns.is_some() {
        session.explain_decisions();
    }
    session.exhaust(until_ns.map_or(u64::MAX, |until_ns| until_ns.saturating_add(1)))?;
    let kernel = session.kernel();
    let groups = experiment.map_or(&[][..], |experiment| experiment.groups.groups());
    Ok(Names {
        tasks: (0..session.task_count()).map(|task| kernel.thread_name(TaskId(task))).collect(),
        groups: std::iter::once("/".into())
            .chain(groups.iter().map(|group| group.path.clone()))
            .collect(),
        rules: session.rules().into_iter().cloned().collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Load, Plan, Source};

    /// A parent that forks, one that continues: on 6.18 the child preempts, on 6.19 it waits.
    const FORKS: &str = r#"{"tasks": {
        "parent": {"loop": 1, "run0": 1000, "fork": "child", "run1": 1000},
        "child": {"instance": 0, "loop": 1, "run": 1000}
    }}"#;

    fn prepared(scheduler: &str) -> Prepared {
        let load = Load::Workload(Source { file: "forks.json".into(), text: FORKS.into() });
        Plan::new(load, vec![scheduler.into()]).prepare().unwrap()
    }

    #[test]
    fn two_releases_part_where_one_rule_differs() {
        let [a, b] = ["eevdf@6.18", "eevdf@6.19"].map(prepared);
        let sides = [(&a, &a.schedulers()[0]), (&b, &b.schedulers()[0])];
        let parting = parting(sides[0], sides[1]).unwrap().expect("their schedules differ");
        assert_eq!((parting.at_ns, parting.cpu), (1_000_000, CpuId(0)));
        let [old, new] = &parting.sides;
        let is_child =
            |timed: TimedStep| matches!(timed.step, Step::Runs { task: Some(TaskId(1)), .. });
        assert!(old.step.is_some_and(is_child), "{old:?}");
        assert!(new.step.is_none(), "{new:?}");
        assert_eq!(new.before, Some((TaskId(0), 0)));
        assert_eq!(new.names.task(TaskId(1)), "child-0");
        let rule = |side: &PartingSide| {
            let preempt = side.accounts.iter().find(|it| it.question == Question::Preempt);
            preempt.map(|it| it.rule)
        };
        assert!(rule(old) != rule(new) && rule(new).is_some(), "{parting:?}");
        let same = super::parting(sides[0], sides[0]).unwrap();
        assert!(same.is_none());
    }
}
