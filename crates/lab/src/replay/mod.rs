//! A recorded trace under other schedulers: [`Replay`], what is asked; [`Prepared`], what was found
//! in the trace; [`Answer`], what came of it.
//!
//! ```text
//! tracepoints --TraceBuilder--> Trace --Replay::prepare--> Prepared --answer--> Answer
//! ```
//!
//! The first column of an answer is what was recorded. The second is its replay under the scheduler
//! that it was recorded under, on the recorded machine: by that the replay is judged. All others
//! are compared with the second, so that what is wrong in both cancels out. Each column is an
//! ensemble: a schedule is chaotic, and one run says nothing.

mod answer;
pub mod beside;
mod columns;
mod ensemble;
mod lead;
mod messages;
mod observed;
mod page;
mod table;
#[cfg(test)]
mod tests;

pub use answer::{
    Answer, BehindRow, Cell, Column, Figures, GroupRow, Message, SleepCounts, TraceFacts,
};
pub use page::ReplayPage;
pub use table::{Block, Change, Shown, Table, duration};

use crate::error::Error;
use crate::plan::{MachineSpec, SetValues, Source};
use columns::Setup;
use schedlab_replay::kinds::{self, Counts};
use schedlab_replay::program::{self, is_machinery};
use schedlab_replay::side::{GroupLines, Side};
use schedlab_replay::{Arrivals, Tokens, Trace, Workload, select};
use schedlab_workload::Model;
use serde::Deserialize;
use std::num::NonZeroUsize;

/// The scheduler that a trace was recorded under, if nobody says.
pub const RECORDED: &str = "eevdf@6.18";

/// Ticks a second of the machine on which it was recorded, if nobody says.
pub const HZ: u32 = 250;

/// How often each scheduler is run, if nobody says.
pub const SEEDS: u32 = 8;

/// How the machine stands when a trace begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Begin {
    /// All tasks come to it in that moment.
    Fresh,
    /// It has been running: something goes before the trace, ticks fall where the recorded ones
    /// did, what they raise comes late, and CPUs are chosen anew at each `exec`.
    #[default]
    Running,
}

/// What is asked of a trace, as plain data that every front end fills.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Replay {
    /// The trace's name, for messages.
    pub name: String,
    /// The scheduler under which it was recorded, perhaps with settings; none: [`RECORDED`].
    pub recorded: Option<String>,
    /// Ticks a second of the recorded machine; none: [`HZ`].
    pub hz: Option<u32>,
    /// Under what else it is replayed.
    pub schedulers: Vec<String>,
    /// What to set for these.
    pub set: Vec<(String, SetValues)>,
    /// What is done to their machine while they run: `2s offline cpu 1`.
    pub at: Vec<String>,
    /// What they run on, if that is another machine.
    pub machine: MachineSpec,
    /// What is changed of tasks under them: `nice make +10`.
    pub changes: Vec<String>,
    /// In which groups tasks were when it was recorded, and what these were.
    pub groups: Option<Source>,
    /// What was noted beside the trace when it was recorded (`schedlab record`).
    pub side: Option<Source>,
    /// The tasks that are reported; none: all but the kernel's.
    pub only: Option<String>,
    /// Tasks that are left out of the replay.
    pub without: Option<String>,
    /// How edges become semaphores.
    pub tokens: Tokens,
    /// How arrivals are understood.
    pub arrivals: Arrivals,
    /// How the machine stands when the trace begins.
    pub begin: Begin,
    /// How often each scheduler is run.
    pub seeds: u32,
    /// Whether it is told behind whom tasks waited.
    pub explain: bool,
    /// When each run is stopped at the latest, ns; none: four times the trace's length.
    pub limit_ns: Option<u64>,
}

impl Default for Replay {
    fn default() -> Replay {
        Replay {
            name: String::new(),
            recorded: None,
            hz: None,
            schedulers: vec![],
            set: vec![],
            at: vec![],
            machine: MachineSpec::default(),
            changes: vec![],
            groups: None,
            side: None,
            only: None,
            without: None,
            tokens: Tokens::default(),
            arrivals: Arrivals::default(),
            begin: Begin::default(),
            seeds: SEEDS,
            explain: false,
            limit_ns: None,
        }
    }
}

impl Replay {
    /// A replay under nothing but the recorded scheduler.
    pub fn new(name: impl Into<String>) -> Replay {
        Replay { name: name.into(), ..Replay::default() }
    }

    /// Finds out what the tasks of `trace` did, and checks all that is asked.
    ///
    /// # Errors
    /// The trace lacks what is needed; something that is asked cannot be.
    pub fn prepare(&self, mut trace: Trace) -> Result<Prepared, Error> {
        let fail = |what: String| Error::Plan(format!("{}: {what}", self.name));
        check(&trace).map_err(fail)?;
        if self.seeds == 0 || self.seeds > 1000 {
            return Err(Error::Plan(format!("--seeds {}: it must be 1 to 1000", self.seeds)));
        }
        if self.limit_ns == Some(0) {
            return Err(Error::Plan("--duration 0: nothing can be seen in no time".into()));
        }
        let mut in_model: Vec<bool> =
            trace.tasks.iter().map(|task| !is_machinery(&task.name)).collect();
        if let Some(without) = &self.without {
            let out = select::tasks(&trace, without).map_err(fail)?;
            in_model.iter_mut().zip(out).for_each(|(is_in, out)| *is_in &= !out);
            if !in_model.contains(&true) {
                return Err(fail(format!("--without {without}: no task is left to be replayed")));
            }
        }
        let counts = kinds::infer(&mut trace, &in_model, self.arrivals);
        let mut workload = program::programs(&trace, &in_model, self.tokens);
        if self.begin == Begin::Fresh {
            workload = workload.without_execs();
        }
        let selected = match &self.only {
            Some(only) => select::tasks(&trace, only).map_err(fail)?,
            None => trace.tasks.iter().map(|task| !task.is_kernel).collect(),
        };
        let mut settings = GroupLines::default();
        let side = match &self.side {
            Some(Source { file, text }) => {
                let wrong = |what: String| Error::Plan(format!("{file}:{what}"));
                let side = Side::parse(text).map_err(wrong)?;
                settings = side.apply(&mut workload, &trace, self.groups.is_none());
                Some(side)
            }
            None => None,
        };
        if let Some(Source { file, text }) = &self.groups {
            let wrong = |what: String| Error::Plan(format!("{file}: {what}"));
            let read = select::GroupFile::parse(text).map_err(wrong)?;
            select::place(&mut workload, &trace, &read).map_err(wrong)?;
            settings = GroupLines { all: read.settings.clone(), without_quotas: read.settings };
        }
        let has_groups = self.groups.is_some() || !settings.all.is_empty();
        let setup = Setup::new(self, &trace, &workload, &settings, side.as_ref())?;
        Ok(Prepared { trace, counts, workload, selected, setup, has_groups, replay: self.clone() })
    }
}

/// That there is something to be replayed.
fn check(trace: &Trace) -> Result<(), String> {
    const NEEDS: &str = "a replay needs sched_switch and sched_waking or sched_wakeup: `perf sched \
                         record` records them";
    if trace.events < 2 || trace.switches == 0 {
        return Err(format!("there are no sched_switch events to be replayed; {NEEDS}"));
    }
    if trace.form == [false, false] {
        return Err(format!("there are no wakeups, so each sleep would be a time; {NEEDS}"));
    }
    Ok(())
}

/// A trace that has been understood, with all that is asked of it.
pub struct Prepared {
    replay: Replay,
    trace: Trace,
    counts: Counts,
    workload: Workload,
    /// For each task of the trace whether it is reported.
    selected: Vec<bool>,
    setup: Setup,
    /// Whether it is known in which groups tasks were.
    has_groups: bool,
}

impl Prepared {
    /// What was recorded.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// The tasks' programs as they were recorded.
    pub fn workload(&self) -> &Workload {
        &self.workload
    }

    /// The recorded work as a workload file. `anonymous`: without the names of tasks.
    pub fn model(&self, anonymous: bool) -> Model {
        let mut workload = self.workload.without_execs();
        if anonymous {
            workload.anonymize();
        }
        workload.model(&self.replay.name, |ns| ns)
    }

    /// Runs all columns, on so many threads.
    ///
    /// # Errors
    /// A run that broke down.
    pub fn answer(&self, threads: NonZeroUsize) -> Result<Answer, Error> {
        self.answer_observed(threads, || ())
    }
}
