//! State of a run at a given time: [`Moment`].

use crate::error::Error;
use crate::explain::effort::Effort;
use crate::explain::names::Names;
use crate::explain::subject::Subject;
use crate::explain::watch::{Decision, TaskActivity, TaskMoment, ThrottledMoment, Watch};
use crate::plan::{Contender, Prepared};
use schedlab_core::{
    Account, Candidate, CpuId, Evidence, GroupId, Load, Question, Rule, SchedAttr, TaskId, Who,
};
use std::collections::BTreeMap;

/// State of a CPU at a given time.
#[derive(Clone, Debug)]
pub struct CpuMoment {
    /// Task that runs. `None`: the CPU is idle.
    pub current: Option<TaskId>,
    /// Time since which it runs, ns.
    pub since_ns: u64,
    /// The pick that made it current, if the scheduler describes its picks.
    pub picked: Option<Decision>,
    /// The last pick since then that kept it running.
    pub kept: Option<Decision>,
    /// Candidates of a pick at this time.
    pub candidates: Vec<Candidate>,
    /// Whether the candidates' keys are up to date for a pick at this time. Otherwise they are as
    /// of the scheduler's last update ([`Moment::refresh`]).
    pub is_fresh: bool,
    /// The candidate that it would pick. `None`: there is none, or the scheduler does not describe
    /// its picks.
    pub would_pick: Option<Who>,
    /// Groups that are throttled here.
    pub throttled: Vec<ThrottledMoment>,
    /// The next switch: its time, the task (`None`: idle), and the rule.
    pub next: Option<(u64, Option<TaskId>, Rule)>,
}

/// State of a run at a given time.
#[derive(Clone, Debug)]
pub struct Moment {
    /// Time, ns. All events at this time have happened.
    pub at_ns: u64,
    /// End of the run, if it is earlier.
    pub ended_ns: Option<u64>,
    /// All CPUs.
    pub cpus: Vec<CpuMoment>,
    /// All tasks created so far, by number.
    pub tasks: Vec<TaskMoment>,
    /// The groups that keep waiting tasks from running, because they have used up their limits, by
    /// task.
    pub throttled: BTreeMap<TaskId, GroupId>,
    /// Scheduling attributes of each task, by number.
    pub attrs: Vec<SchedAttr>,
    /// The longest time that an ordinary task waits with this load by the scheduler's promise, ns.
    /// `None`: it promises nothing.
    pub longest_wait_ns: Option<u64>,
    /// Names of tasks, groups and rules.
    pub names: Names,
    /// Number of events so far.
    events: u64,
}

/// Returns the state of `prepared` under `scheduler` at `at_ns`.
///
/// # Errors
/// As for a run, and `prepared` is a benchmark.
pub fn moment(prepared: &Prepared, scheduler: &Contender, at_ns: u64) -> Result<Moment, Error> {
    let subject = Subject::of(prepared, scheduler)?;
    let cpus = subject.cpus();
    let mut watch = Watch::new(cpus, at_ns, subject.throttled());
    let names = subject.observe(true, &mut watch)?;
    let session = subject.session_at(at_ns)?;
    let events = session.counts().events();
    let ended_ns = (session.now_ns() < at_ns).then(|| session.now_ns());
    let inspect = session.scheduler().inspect();
    let candidates = (0..cpus).map(|cpu| {
        let mut all = vec![];
        inspect.candidates(CpuId(cpu), &mut all);
        all
    });
    let candidates: Vec<Vec<Candidate>> = candidates.collect();
    let attrs = session.attrs();
    let nices = attrs.iter().map(|attr| attr.nice);
    let load = Load {
        tasks: session.task_count(),
        cpus,
        nice_max: nices.clone().max().unwrap_or(0),
        nice_min: nices.min().unwrap_or(0),
    };
    let longest_wait_ns = inspect.promises(&load).wait_ns;
    let limits: Vec<_> = (0..cpus).map(|cpu| watch.throttled_on(CpuId(cpu))).collect();
    let waiting = watch.tasks.iter().filter(|(_, row)| row.was == TaskActivity::Waiting);
    let throttled = waiting
        .filter_map(|(task, row)| Some((task, watch.throttled.of(task, row.cpu?)?.change.group)));
    let throttled = throttled.collect();
    let rows = watch.cpus.into_iter().zip(candidates).zip(limits);
    let cpus = rows.map(|((cpu, candidates), throttled)| {
        let evidence = Evidence { candidates, ..Evidence::default() };
        CpuMoment {
            current: cpu.current,
            since_ns: cpu.since_ns,
            picked: cpu.picked,
            kept: cpu.kept,
            would_pick: evidence.best().ok().flatten(),
            candidates: evidence.candidates,
            is_fresh: false,
            throttled,
            next: cpu.next,
        }
    });
    Ok(Moment {
        at_ns,
        ended_ns,
        cpus: cpus.collect(),
        tasks: watch.tasks.iter().map(|(_, task)| *task).collect(),
        throttled,
        attrs,
        longest_wait_ns,
        names,
        events,
    })
}

impl Moment {
    /// Deducts the cost of `runs` more runs. Returns false if `effort` does not allow them.
    pub(super) fn can_afford(&self, effort: &Effort, runs: u64) -> bool {
        effort.spend(runs, self.events, self.tasks.len(), self.cpus.len())
    }

    /// Finds the candidates of `cpu` with up-to-date keys, and its pick, for a reschedule at this
    /// exact time. Schedulers update their accounts at ticks and decisions. Between two of these,
    /// keys are as of the last one. The run is repeated if `effort` allows it. If it does not, or
    /// the scheduler does not describe its picks, nothing changes. An idle CPU has nothing to
    /// update.
    ///
    /// # Errors
    /// As for a run.
    pub fn refresh(
        &mut self,
        prepared: &Prepared,
        scheduler: &Contender,
        cpu: CpuId,
        effort: &Effort,
    ) -> Result<(), Error> {
        let row = &self.cpus[cpu.index()];
        if row.is_fresh || row.current.is_none() || row.candidates.is_empty() {
            return Ok(());
        }
        if !self.can_afford(effort, 1) {
            return Ok(());
        }
        let at_ns = self.at_ns;
        let subject = Subject::of(prepared, scheduler)?;
        let (picked, accounts) = subject.session_at(at_ns)?.would_pick(cpu, at_ns);
        let is_pick = |account: &&Account| account.question == Question::Pick && account.cpu == cpu;
        if let Some(pick) = accounts.into_iter().rev().find(|account| is_pick(&account))
            && !pick.evidence.candidates.is_empty()
        {
            let row = &mut self.cpus[cpu.index()];
            row.would_pick = picked.map(Who::Task);
            row.candidates = pick.evidence.candidates;
            row.is_fresh = true;
        }
        Ok(())
    }

    /// Returns the tasks that wait on the runqueue of `cpu`.
    pub fn waiting_on(&self, cpu: CpuId) -> impl Iterator<Item = (TaskId, &TaskMoment)> {
        let all = self.tasks.iter().enumerate().map(|(task, row)| (TaskId(task as u32), row));
        all.filter(move |(_, row)| row.cpu == Some(cpu) && row.was == TaskActivity::Waiting)
    }

    /// Returns the throttled queue that keeps `task`, which waits, from running.
    pub fn limit_of(&self, task: TaskId) -> Option<&ThrottledMoment> {
        let group = self.throttled.get(&task)?;
        let cpu = self.tasks.get(task.index())?.cpu?;
        self.cpus[cpu.index()].throttled.iter().find(|row| row.limit.group == *group)
    }

    /// Candidates of `cpu` within `group`, in the order in which they would be picked.
    pub fn members(&self, cpu: CpuId, group: GroupId) -> Vec<&Candidate> {
        let all = &self.cpus[cpu.index()].candidates;
        let mut members: Vec<_> = all.iter().filter(|one| one.within == group).collect();
        members.sort_by_key(|candidate| candidate.rank);
        members
    }
}
