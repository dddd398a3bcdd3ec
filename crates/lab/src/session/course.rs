//! The course of a session: actions on the machine during the run, and the end of the run.

use super::Simulated;
use schedlab_bench::{End, Findings, Prepared};
use schedlab_core::{Event, GroupId, Observer};
use schedlab_machine::{Action, RunEnd};
use schedlab_workload::programs::PartId;
use schedlab_workload::timetable::{Drive, Outcome};
use schedlab_workload::{Error, GroupPlan, Reason, Timetable};
use std::collections::VecDeque;

/// Drives a session.
pub(crate) enum Course {
    /// A workload with a timetable.
    Workload(WorkloadCourse),
    /// A benchmark.
    Benchmark(BenchmarkCourse),
}

/// Course of a workload.
pub(crate) struct WorkloadCourse {
    pub timetable: Timetable,
    pub drive: Drive,
    /// The groups, and their numbers.
    pub groups: GroupPlan,
    pub ids: Vec<GroupId>,
    /// Whether the run has a time limit. Without a limit a deadlock is an error.
    pub is_limited: bool,
    /// Maximum number of lines kept of rt-app's log.
    pub log_lines: usize,
}

/// Course of a benchmark.
pub(crate) struct BenchmarkCourse {
    /// Times at which parts end, ns, ascending.
    deadlines: VecDeque<(u64, PartId)>,
    finish: Box<dyn FnOnce(&End<'_>) -> Findings>,
}

impl Course {
    /// Advances `machine` to `until_ns`, which is at most `limit_ns`. Events at `until_ns` have not
    /// happened yet.
    pub fn advance(&mut self, machine: &mut Simulated<'_>, until_ns: u64) -> Result<RunEnd, Error> {
        match self {
            Course::Workload(course) => course.drive.run_to(&course.timetable, machine, until_ns),
            Course::Benchmark(course) => match course.advance(machine, until_ns) {
                Err(error) if error.reason() == Reason::Finished => Ok(RunEnd::AllEnded),
                ended => ended,
            },
        }
    }
}

impl WorkloadCourse {
    /// Ends the run at `until_ns`, and notifies the observers.
    pub fn end(self, machine: &mut Simulated<'_>, until_ns: u64) -> Result<Outcome, Error> {
        self.drive.finish(&self.timetable, machine, until_ns)
    }
}

impl BenchmarkCourse {
    /// Creates the course of a benchmark, before its first event.
    pub fn new(prepared: Prepared, deadlines: Vec<(u64, PartId)>) -> BenchmarkCourse {
        BenchmarkCourse { deadlines: deadlines.into(), finish: prepared.finish }
    }

    fn advance(&mut self, machine: &mut Simulated<'_>, until_ns: u64) -> Result<RunEnd, Error> {
        while let Some(&(at_ns, part)) = self.deadlines.front() {
            if at_ns >= until_ns {
                break;
            }
            match machine.run_to(at_ns)? {
                RunEnd::TimeUp => {}
                end => return Ok(end),
            }
            for task in machine.workload().living(part) {
                // A task that has ended in the meantime cannot be killed again.
                let _ = machine.act(&Action::Kill(task));
            }
            self.deadlines.pop_front();
        }
        machine.run_to(until_ns)
    }

    /// Ends the run, notifies the observers, and summarises the findings.
    pub fn end(self, machine: &mut Simulated<'_>) -> Findings {
        let now_ns = machine.now_ns();
        machine.observer_mut().on(now_ns, Event::Finished);
        let measures = machine.observer().measures.as_ref().expect("a benchmark is measured");
        let part = PartId::default();
        (self.finish)(&End { now_ns, part, os: machine.workload(), stats: &measures.stats })
    }
}
