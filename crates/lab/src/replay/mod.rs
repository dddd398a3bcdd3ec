//! A recorded trace under other schedulers: [`Replay`], the request; [`Prepared`], the trace and
//! what was inferred from it; [`ReplayReport`], the result.
//!
//! ```text
//! tracepoints --TraceBuilder--> Trace --Replay::prepare--> Prepared --run--> ReplayReport
//! ```
//!
//! The first column of a report is the recording. The second is its replay under the recorded
//! scheduler on the recorded machine. It shows how far the replay can be trusted. All other columns
//! are compared with the second, so that errors of both cancel out. Each column is an ensemble: a
//! schedule is chaotic, and one run proves nothing.

mod assess;
mod behind;
pub mod beside;
mod columns;
mod ensemble;
mod lead;
mod limited;
mod messages;
mod observed;
mod page;
mod report;
mod runner;
mod sample;
mod table;
#[cfg(test)]
mod tests;

pub use limited::{GroupRun, Limited};
pub use page::ReplayPage;
pub use report::{
    BehindRow, Cell, Column, Figures, GroupRow, Message, Percentiles, ReplayReport, SleepCounts,
    TraceFacts,
};
pub use sample::Sample;
pub use table::{Block, Change, Shown, Table, duration, durations};

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

/// Scheduler under which a trace was recorded, unless specified.
pub const RECORDED: &str = "eevdf@6.18";

/// Ticks a second of the recorded machine, unless specified.
pub const HZ: u32 = 250;

/// Number of runs of each scheduler, unless specified.
pub const SEEDS: u32 = 8;

/// State of the machine when a trace begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Begin {
    /// All tasks arrive at that moment.
    Fresh,
    /// The machine has been running: a lead precedes the trace, ticks fall where the recorded ones
    /// did, their softirqs come late, and CPUs are selected again at each `exec`.
    #[default]
    Running,
}

/// Request to replay a trace, as plain data that every front end fills in.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Replay {
    /// Name of the trace, for messages.
    pub name: String,
    /// Scheduler under which it was recorded, possibly with settings. `None`: [`RECORDED`].
    pub recorded: Option<String>,
    /// Ticks a second of the recorded machine. `None`: [`HZ`].
    pub hz: Option<u32>,
    /// Other schedulers under which it is replayed.
    pub schedulers: Vec<String>,
    /// Settings of these schedulers.
    pub set: Vec<(String, SetValues)>,
    /// Actions on their machine during the run: `2s offline cpu 1`.
    pub at: Vec<String>,
    /// Their machine, if it is another one.
    pub machine: MachineSpec,
    /// Changes of tasks and groups under them: `nice make +10`, `group /build cpu.weight=50`.
    pub changes: Vec<String>,
    /// Tasks that read their own CPU clocks as they compute, with the CPU time between two
    /// readings: `per 20us`.
    pub clock_reads: Vec<String>,
    /// Sets of further changes, each of which makes a column: `nice make +10; nice hog -5`.
    pub tries: Vec<String>,
    /// Groups of the tasks during the recording, and settings of these groups.
    pub groups: Option<Source>,
    /// Notes that were recorded next to the trace (`schedlab record`).
    pub side: Option<Source>,
    /// Tasks that are reported. `None`: all except the kernel's.
    pub only: Option<String>,
    /// Tasks that are left out of the replay.
    pub without: Option<String>,
    /// Conversion of edges into semaphores.
    pub tokens: Tokens,
    /// Interpretation of arrivals.
    pub arrivals: Arrivals,
    /// State of the machine when the trace begins.
    pub begin: Begin,
    /// Number of runs of each scheduler.
    pub seeds: u32,
    /// Whether the tasks behind which others waited are reported.
    pub explain: bool,
    /// Time at which each run stops at the latest, ns. `None`: four times the trace's length.
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
            clock_reads: vec![],
            tries: vec![],
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
    /// Creates a replay under the recorded scheduler only.
    pub fn new(name: impl Into<String>) -> Replay {
        Replay { name: name.into(), ..Replay::default() }
    }

    /// Infers the programs of the tasks in `trace`, and checks the request.
    ///
    /// # Errors
    /// The trace lacks required events, or the request is invalid.
    pub fn prepare(&self, mut trace: Trace) -> Result<Prepared, Error> {
        let fail = |what: String| Error::Plan(format!("{}: {what}", self.name));
        check(&trace).map_err(fail)?;
        if self.seeds == 0 || self.seeds > 1000 {
            return Err(Error::Plan(format!("--seeds {}: it must be 1 to 1000", self.seeds)));
        }
        if self.limit_ns == Some(0) {
            return Err(Error::Plan("--duration 0: it must be longer than 0".into()));
        }
        let mut in_model: Vec<bool> =
            trace.tasks.iter().map(|task| !is_machinery(&task.name)).collect();
        if let Some(without) = &self.without {
            let out = select::tasks(&trace, without).map_err(fail)?;
            in_model.iter_mut().zip(out).for_each(|(is_in, out)| *is_in &= !out);
            if !in_model.contains(&true) {
                return Err(fail(format!("--without {without}: no task is left to replay")));
            }
        }
        let side = match &self.side {
            Some(Source { file, text }) => {
                let wrong = |what: String| {
                    // A place in the text, `LINE:COLUMN`, follows the name of the file directly.
                    let space =
                        if what.starts_with(|c: char| c.is_ascii_digit()) { "" } else { " " };
                    Error::Plan(format!("{file}:{space}{what}"))
                };
                let side = Side::parse(text).map_err(wrong)?;
                side.set_processes(&mut trace);
                Some(side)
            }
            None => None,
        };
        let counts = kinds::infer(&mut trace, &in_model, self.arrivals);
        let mut workload = program::programs(&trace, &in_model, self.tokens);
        if self.begin == Begin::Fresh {
            workload = workload.without_execs();
        }
        let selected = match &self.only {
            Some(only) => select::tasks(&trace, only).map_err(fail)?,
            None => trace.tasks.iter().map(|task| !task.is_kernel).collect(),
        };
        let mut settings = match &side {
            Some(side) => side.apply(&mut workload, &trace, self.groups.is_none()),
            None => GroupLines::default(),
        };
        if let Some(Source { file, text }) = &self.groups {
            let wrong = |what: String| Error::Plan(format!("{file}: {what}"));
            let read = select::GroupFile::parse(text).map_err(wrong)?;
            select::place(&mut workload, &trace, &read).map_err(wrong)?;
            // The file precedes the side file, which adds the groups of sessions.
            settings.all = read.settings.clone() + &settings.all;
            settings.without_quotas = read.settings + &settings.without_quotas;
        }
        for reads in &self.clock_reads {
            select::change(&mut workload, &trace, &format!("clock_read {reads}"))
                .map_err(Error::Plan)?;
        }
        let has_groups = self.groups.is_some() || !settings.all.is_empty();
        let setup = Setup::new(self, &trace, &workload, &settings, side.as_ref())?;
        let (notes, group_settings) = (settings.notes, settings.all);
        let replay = self.clone();
        Ok(Prepared {
            trace,
            counts,
            workload,
            selected,
            setup,
            has_groups,
            group_settings,
            notes,
            replay,
        })
    }
}

/// Checks that the trace contains something to replay.
fn check(trace: &Trace) -> Result<(), String> {
    const NEEDS: &str = "a replay needs sched_switch and sched_waking or sched_wakeup: `perf sched \
                         record` records them";
    if trace.events < 2 || trace.switches == 0 {
        return Err(format!("there are no sched_switch events to replay; {NEEDS}"));
    }
    if trace.form == [false, false] {
        return Err(format!(
            "there are no wakeups, so the cause of each sleep's end is unknown; {NEEDS}"
        ));
    }
    Ok(())
}

/// A trace whose tasks' programs were inferred, with the request.
pub struct Prepared {
    replay: Replay,
    trace: Trace,
    counts: Counts,
    workload: Workload,
    /// Whether each task of the trace is reported.
    selected: Vec<bool>,
    setup: Setup,
    /// Whether the groups of the tasks are known.
    has_groups: bool,
    /// Settings of the groups, as lines.
    group_settings: String,
    /// Notes about the side file: the letter of their kind, and the text.
    notes: Vec<(char, String)>,
}

impl Prepared {
    /// Returns the recording.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Programs of the tasks as they were recorded.
    pub fn workload(&self) -> &Workload {
        &self.workload
    }

    /// Returns the recorded work as a workload file. `anonymous`: without the names of tasks.
    pub fn model(&self, anonymous: bool) -> Model {
        let mut workload = self.workload.without_execs();
        if anonymous {
            workload.anonymize();
        }
        workload.model(&self.replay.name, |ns| ns)
    }

    /// Returns the settings of the recorded groups as a file of groups; may be empty.
    pub fn group_settings(&self) -> &str {
        &self.group_settings
    }

    /// Runs all columns on `threads` threads.
    ///
    /// # Errors
    /// A run broke down.
    pub fn run(&self, threads: NonZeroUsize) -> Result<ReplayReport, Error> {
        self.run_observed(threads, || ())
    }
}
