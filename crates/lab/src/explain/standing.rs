//! How things stand at a moment of a run.

use crate::error::Error;
use crate::explain::effort::Effort;
use crate::explain::names::Names;
use crate::explain::subject::Subject;
use crate::explain::watch::{Decision, TaskThen, TaskWas, Watch};
use crate::plan::{Contender, Prepared};
use schedlab_core::{
    Account, Candidate, CpuId, Evidence, GroupId, Load, Question, Rule, SchedAttr, TaskId, Who,
};

/// A CPU at a moment.
#[derive(Clone, Debug)]
pub struct OnCpu {
    /// Who runs; none = idle.
    pub current: Option<TaskId>,
    /// Since when, ns.
    pub since_ns: u64,
    /// The pick that made it current, if the scheduler tells.
    pub picked: Option<Decision>,
    /// The last pick since then that let it go on.
    pub kept: Option<Decision>,
    /// Among whom it would choose now.
    pub candidates: Vec<Candidate>,
    /// Whether their keys are those of a pick at the moment itself. Otherwise they are as the
    /// scheduler last brought them up to date ([`Standing::refresh`]).
    pub is_fresh: bool,
    /// Whom it would pick; none = nobody is there, or the scheduler does not tell.
    pub would_pick: Option<Who>,
    /// What came then: when another ran (none = idle), and by which rule.
    pub next: Option<(u64, Option<TaskId>, Rule)>,
}

/// A run at a moment.
#[derive(Clone, Debug)]
pub struct Standing {
    /// When, ns. Everything that falls on it has happened.
    pub at_ns: u64,
    /// When the run ended, if that was before.
    pub ended_ns: Option<u64>,
    /// Every CPU.
    pub cpus: Vec<OnCpu>,
    /// Every task that has been there, by number.
    pub tasks: Vec<TaskThen>,
    /// The scheduling attributes of each, by number.
    pub attrs: Vec<SchedAttr>,
    /// By the scheduler's promise the longest that an ordinary task waits with this load, ns; none
    /// if it promises nothing.
    pub longest_wait_ns: Option<u64>,
    /// What numbers stand for.
    pub names: Names,
    /// How many events came before.
    events: u64,
}

/// How `prepared` stands under `scheduler` at `at_ns`.
///
/// # Errors
/// As of a run; the plan of a benchmark.
pub fn standing(prepared: &Prepared, scheduler: &Contender, at_ns: u64) -> Result<Standing, Error> {
    let subject = Subject::of(prepared, scheduler)?;
    let cpus = subject.cpus();
    let mut watch = Watch::new(cpus, at_ns);
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
    let cpus = watch.cpus.into_iter().zip(candidates).map(|(cpu, candidates)| {
        let evidence = Evidence { candidates, ..Evidence::default() };
        OnCpu {
            current: cpu.current,
            since_ns: cpu.since_ns,
            picked: cpu.picked,
            kept: cpu.kept,
            would_pick: evidence.best().ok().flatten(),
            candidates: evidence.candidates,
            is_fresh: false,
            next: cpu.next,
        }
    });
    Ok(Standing {
        at_ns,
        ended_ns,
        cpus: cpus.collect(),
        tasks: watch.tasks.iter().map(|(_, task)| *task).collect(),
        attrs,
        longest_wait_ns,
        names,
        events,
    })
}

impl Standing {
    /// Whether `effort` allows for making the run again so many times; it is spent then.
    pub(super) fn can_afford(&self, effort: &Effort, runs: u64) -> bool {
        effort.spend(runs, self.events, self.tasks.len(), self.cpus.len())
    }

    /// Finds out among whom `cpu` would choose, and whom it would pick, if it rescheduled at this
    /// very moment: schedulers bring their books up to date at ticks and decisions, and between two
    /// of them keys are those of the last. The run is made again, as far as `effort` allows; if it
    /// does not, or the scheduler tells nothing of its picks, all stays as it is. A CPU that idles
    /// has nothing to bring up to date.
    ///
    /// # Errors
    /// As of a run.
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

    /// The tasks that wait for a CPU of `cpu`'s runqueue.
    pub fn waiting_on(&self, cpu: CpuId) -> impl Iterator<Item = (TaskId, &TaskThen)> {
        let all = self.tasks.iter().enumerate().map(|(task, row)| (TaskId(task as u32), row));
        all.filter(move |(_, row)| row.cpu == Some(cpu) && row.was == TaskWas::Waiting)
    }

    /// The candidates of `cpu` that stand within `group`, the first to be picked first.
    pub fn members(&self, cpu: CpuId, group: GroupId) -> Vec<&Candidate> {
        let all = &self.cpus[cpu.index()].candidates;
        let mut members: Vec<_> = all.iter().filter(|one| one.within == group).collect();
        members.sort_by_key(|candidate| candidate.rank);
        members
    }
}
