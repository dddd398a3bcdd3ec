//! A run of one workload or benchmark under one scheduler: [`Session`].
//!
//! Everything that runs is a session. It advances to a time, is examined there, and advances
//! further, until it ends. The run is the same however it is divided into advances, and whether or
//! not it is observed.

mod course;
mod end;
mod observers;
mod shared;
mod snapshot;

pub use shared::Shared;
pub use snapshot::{CpuView, Snapshot, TaskView};

pub(crate) use course::{BenchmarkCourse, Course, WorkloadCourse};
pub(crate) use observers::Measures;
pub use observers::Observers;

use crate::catch_panic::catch_panic;
use crate::config::RunConfig;
use crate::error::Error;
use crate::run::Run;
use crate::select::Choice;
use schedlab_core::{Account, CpuId, GroupId, Observer, RuleDoc, SchedAttr, Scheduler, TaskId};
use schedlab_machine::{Action, ActionError, Counts, Machine, RunEnd, TaskState};
use schedlab_report::RunReport;
use schedlab_report::data::SettingRow;
use schedlab_workload::programs::Kernel;

/// The machine of every session.
pub(crate) type Simulated<'o> = Machine<Box<dyn Scheduler>, Kernel, Observers<'o>>;

/// A run that advances step by step. `'o` is the lifetime of its observer.
pub struct Session<'o> {
    machine: Simulated<'o>,
    course: Course,
    choice: Choice,
    config: RunConfig,
    /// Time at which the run ends at the latest, ns. `u64::MAX`: no limit.
    limit_ns: u64,
    /// How the run ended. `None`: it can advance.
    end: Option<RunEnd>,
    /// Settings of this scheduler alone, for the report.
    set: Vec<SettingRow>,
    /// Names and keys of threads for the report, by thread key.
    renamed: Option<Renaming>,
    /// Counts of the machine at the end of the lead.
    before: Counts,
}

/// Name and key under which the report shows a thread, from the thread's key.
pub(crate) type Renaming = Box<RenamingFn>;

/// Function from a thread's key to its name and key in the report.
pub(crate) type RenamingFn = dyn Fn(&str) -> (String, String);

impl<'o> Session<'o> {
    /// Creates a session of `machine`, before its first event.
    pub(crate) fn new(
        machine: Simulated<'o>,
        course: Course,
        choice: &Choice,
        config: RunConfig,
        limit_ns: u64,
    ) -> Session<'o> {
        Session {
            machine,
            course,
            choice: choice.clone(),
            config,
            limit_ns,
            end: None,
            set: vec![],
            renamed: None,
            before: Counts::default(),
        }
    }

    /// Attaches an observer, which sees every event from now on. Attach it before the first
    /// advance. To attach two, pass a pair.
    ///
    /// # Panics
    /// If an observer is attached already.
    pub fn observe(&mut self, observer: impl Observer + 'o) -> &mut Session<'o> {
        let attached = &mut self.machine.observer_mut().attached;
        assert!(attached.is_none(), "a session has one observer; pass a pair to attach two");
        *attached = Some(Box::new(observer));
        self
    }

    /// Requests that the observer gets the name of each task
    /// ([`Event::Named`](schedlab_core::Event::Named)).
    pub fn name_tasks(&mut self) -> &mut Session<'o> {
        self.machine.ask_names(true);
        self
    }

    /// Requests that the observer gets the grounds of each decision
    /// ([`Event::Decided`](schedlab_core::Event::Decided)).
    pub fn explain_decisions(&mut self) -> &mut Session<'o> {
        self.machine.ask_reasons(true);
        self
    }

    /// Requests that the observer is notified when a queue of a group is throttled and when it is
    /// no longer ([`Event::Throttled`](schedlab_core::Event::Throttled)).
    pub fn report_throttling(&mut self) -> &mut Session<'o> {
        self.machine.ask_throttling(true);
        self
    }

    /// Lets the report list the settings of this scheduler alone.
    pub(crate) fn described_as(mut self, set: Vec<SettingRow>) -> Session<'o> {
        self.set = set;
        self
    }

    /// Lets the report show threads under other names.
    pub(crate) fn renaming(mut self, renamed: Renaming) -> Session<'o> {
        self.renamed = Some(renamed);
        self
    }

    /// Advances to `until_ns` or to the end. Events at `until_ns` have not happened yet. Returns
    /// how the run ended; `None`: it can advance further.
    ///
    /// # Errors
    /// The run broke down. It cannot advance any more.
    pub fn advance(&mut self, until_ns: u64) -> Result<Option<RunEnd>, Error> {
        if self.end.is_some() {
            return Ok(self.end);
        }
        let to_ns = until_ns.min(self.limit_ns);
        let Session { machine, course, .. } = self;
        let ended = catch_panic(|| course.advance(machine, to_ns)).map_err(Error::Broken)??;
        if ended != RunEnd::TimeUp || to_ns == self.limit_ns {
            self.end = Some(ended);
        }
        Ok(self.end)
    }

    /// Advances to each of `stops_ns`, ascending, and calls `look` there, as long as the run lasts
    /// and `look` returns true. Returns whether `look` always did.
    ///
    /// # Errors
    /// As for [`advance`](Session::advance).
    pub fn stop_at(
        &mut self,
        stops_ns: &[u64],
        mut look: impl FnMut(&mut Session<'o>) -> bool,
    ) -> Result<bool, Error> {
        for &at_ns in stops_ns {
            if self.advance(at_ns)?.is_some() {
                break;
            }
            if !look(self) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Runs to the end and reports on the run.
    ///
    /// # Errors
    /// The run failed.
    pub fn finish(self) -> Result<Run, Error> {
        let limit_ns = self.limit_ns;
        self.end_at(limit_ns)
    }

    /// Ends the run at the current time and reports on it.
    ///
    /// # Errors
    /// The run failed.
    pub fn stop(self) -> Result<Run, Error> {
        let now_ns = self.machine.now_ns();
        self.end_at(now_ns)
    }

    fn end_at(self, until_ns: u64) -> Result<Run, Error> {
        catch_panic(|| end::end(self, until_ns)).map_err(Error::Broken)?
    }

    /// Runs to the end, or to `until_ns` if that is earlier, without a report. The observer is
    /// notified of the end.
    ///
    /// # Errors
    /// As for [`advance`](Session::advance).
    pub fn exhaust(&mut self, until_ns: u64) -> Result<(), Error> {
        let until_ns = until_ns.min(self.limit_ns);
        self.advance(until_ns)?;
        let machine = &mut self.machine;
        let ended = catch_panic(|| machine.run(until_ns)).map_err(Error::Broken)??;
        self.end = Some(ended);
        Ok(())
    }

    /// Marks the current time as the end of the lead. Earlier counts are left out of the report.
    pub(crate) fn end_lead(&mut self) {
        self.before = self.machine.counts();
    }

    /// Returns the current virtual time, ns. All events before it have happened.
    pub fn now_ns(&self) -> u64 {
        self.machine.now_ns()
    }

    /// Returns the time at which the run ends at the latest, ns. `None`: no limit.
    pub fn limit_ns(&self) -> Option<u64> {
        Some(self.limit_ns).filter(|&ns| ns < u64::MAX)
    }

    /// Returns the number of events simulated so far, by kind.
    pub fn counts(&self) -> Counts {
        self.machine.counts()
    }

    /// Returns the scheduler.
    pub fn scheduler(&self) -> &dyn Scheduler {
        &**self.machine.scheduler()
    }

    /// Returns the rules by which the scheduler decides.
    pub fn rules(&self) -> Vec<&RuleDoc> {
        self.scheduler().inspect().rules()
    }

    /// Returns the tasks' programs and what they share.
    pub fn kernel(&self) -> &Kernel {
        self.machine.workload()
    }

    /// Returns the number of tasks that have been created.
    pub fn task_count(&self) -> u32 {
        self.machine.task_count() as u32
    }

    /// Returns the state of a task.
    pub fn task_state(&self, task: TaskId) -> TaskState {
        self.machine.task_state(task)
    }

    /// Returns the scheduling attributes of each task, by number.
    pub fn attrs(&self) -> Vec<SchedAttr> {
        (0..self.task_count()).map(|task| self.machine.task_attr(TaskId(task))).collect()
    }

    /// Changes the machine from outside, as an administrator does.
    ///
    /// # Errors
    /// The machine refuses.
    pub fn act(&mut self, action: &Action) -> Result<(), ActionError> {
        self.machine.act(action)
    }

    /// Returns the task that `cpu` would run if it rescheduled at `at_ns`, and the grounds of that
    /// decision. The session cannot advance afterwards: the decision has changed the scheduler's
    /// state.
    pub(crate) fn would_pick(&mut self, cpu: CpuId, at_ns: u64) -> (Option<TaskId>, Vec<Account>) {
        self.machine.would_pick(cpu, at_ns)
    }

    /// Returns the current state of the machine.
    pub fn snapshot(&self) -> Snapshot {
        let groups: Vec<(GroupId, String)> = match &self.course {
            Course::Workload(course) => {
                let groups = course.groups.groups().iter().zip(&course.ids);
                groups.map(|(group, &id)| (id, group.path.clone())).collect()
            }
            Course::Benchmark(_) => vec![],
        };
        Snapshot::of(&self.machine, groups)
    }

    /// Returns the report as if the run ended now, without the recording of slices. `None`: nothing
    /// is measured.
    pub fn report(&self) -> Option<RunReport> {
        end::report_so_far(self)
    }
}
