//! A recorded schedule in the form of a run's report: [`recorded`].

use crate::report_of::{RunInputs, TaskInfo, report_of};
use schedlab_machine::Counts;
use schedlab_measure::Stats;
use schedlab_measure::history::{History, Recorder};
use schedlab_report::data::{SchedulerInfo, WorkloadInfo};
use schedlab_report::html::{self, Page, Recording};
use schedlab_report::{Report, RunReport};
use schedlab_trace::Opening;
use schedlab_trace::events::Events;
use schedlab_trace::read::{ReadError, Reading, Trace};

/// A recorded schedule.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Figures. Those that a trace does not determine (fairness, loops, periods) are left out.
    pub run: RunReport,
    /// The task that ran on each CPU, by time, if requested.
    pub history: Option<History>,
    /// Metadata of the trace, and its faults.
    pub reading: Reading,
}

/// Measures a recorded schedule as the observers of runs do. `turns`: whether to keep a history,
/// and its maximum number of turns. The trace is read twice, because the tasks that ran at its
/// beginning appear later.
///
/// # Errors
/// The trace cannot be read, or contains nothing usable.
pub fn recorded(trace: &Trace, turns: Option<usize>) -> Result<Recorded, ReadError> {
    let mut opening = Opening::default();
    let reading = trace.read(&mut opening)?;
    let header = &reading.header;
    let history = turns.map(|most| Recorder::new(header.cpus, most, None));
    let mut events = Events::new(opening, (Stats::new(header.cpus, &[]), history));
    trace.read(&mut events)?;
    let tasks: Vec<TaskInfo> = events
        .tasks()
        .iter()
        .map(|task| TaskInfo {
            name: format!("{}-{}", task.name, task.pid),
            key: task.name.clone(),
            attr: task.attr,
            ..TaskInfo::default()
        })
        .collect();
    let counts = Counts { switches: events.switches(), wakeups: events.wakeups(), ticks: 0 };
    let (stats, history) = events.into_observer();
    let scheduler = SchedulerInfo {
        name: "recorded".into(),
        release: header.release.clone().unwrap_or_else(|| "unknown".into()),
        title: "The recorded schedule".into(),
        set: vec![],
    };
    let machine = (header.cpus, "recorded");
    let run = report_of(RunInputs::of_recorded(scheduler, machine, counts, &tasks, &stats));
    Ok(Recorded { run, history: history.map(Recorder::into_history), reading })
}

impl Recorded {
    /// Returns the report of the schedule alone.
    pub fn report(&self, name: &str) -> Report {
        let header = &self.reading.header;
        let workload = WorkloadInfo {
            name: name.into(),
            duration_ns: header.end_ns - header.begin_ns,
            set: vec![],
            late_starts: false,
        };
        Report::new(workload, vec![self.run.clone()])
    }

    /// Returns the recording for a page.
    pub fn seen(&self) -> Option<Recording<'_>> {
        self.history.as_ref().map(|history| Recording { history, rules: &[], explained: &[] })
    }

    /// Returns its page for a browser.
    pub fn page(&self, name: &str) -> String {
        let report = self.report(name);
        let what = format!("recorded, {}", self.what());
        let problems = self.reading.problems.sentences().collect::<Vec<_>>().join("; ");
        let note = (!problems.is_empty()).then(|| format!("Problems of the trace: {problems}."));
        html::page(&Page {
            what: Some(&what),
            note: note.as_deref(),
            names: &["recorded"],
            ..Page::new(&report, &[self.seen()])
        })
    }

    /// Describes the machine and the length of the recording.
    pub(crate) fn what(&self) -> String {
        let header = &self.reading.header;
        let cpus = match header.cpus {
            1 => "1 CPU".into(),
            cpus => format!("{cpus} CPUs"),
        };
        let span = schedlab_report::format::duration(header.end_ns - header.begin_ns, true);
        match &header.release {
            Some(release) => format!("{cpus}, {span}, Linux {release}"),
            None => format!("{cpus}, {span}"),
        }
    }
}
