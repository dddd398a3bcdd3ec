//! A run that is made piece by piece: [`Live`].

use crate::catch_panic::catch_panic;
use crate::config::RunConfig;
use crate::error::Error;
use crate::plan::{Contender, Prepared};
use crate::run::Experiment;
use schedlab_core::{Observer, RuleDoc, Scheduler};
use schedlab_machine::{Counts, Machine, RunEnd};
use schedlab_workload::timetable::Drive;
use schedlab_workload::{Kernel, Timetable};

/// A workload that runs under a scheduler as far as it is told, and then on. However it is cut into
/// pieces, the run is that of [`Prepared::run`].
pub struct Live<O> {
    machine: Machine<Box<dyn Scheduler>, Kernel, O>,
    timetable: Timetable,
    drive: Drive,
    /// When it is stopped, ns.
    limit_ns: u64,
    end: Option<RunEnd>,
}

impl<O: Observer> Live<O> {
    pub(crate) fn new(
        machine: Machine<Box<dyn Scheduler>, Kernel, O>,
        timetable: Timetable,
        drive: Drive,
        limit_ns: u64,
    ) -> Live<O> {
        Live { machine, timetable, drive, limit_ns, end: None }
    }

    /// Runs on until `until_ns` or the end: what falls on `until_ns` does not happen yet. How it
    /// ended, if it has.
    ///
    /// # Errors
    /// As of a run. It cannot be gone on with then.
    pub fn run_to(&mut self, until_ns: u64) -> Result<Option<RunEnd>, Error> {
        if self.end.is_some() {
            return Ok(self.end);
        }
        let Live { machine, timetable, drive, limit_ns, .. } = self;
        let to_ns = until_ns.min(*limit_ns);
        let ended = catch_panic(|| drive.run_to(timetable, machine, to_ns));
        let ended = ended.map_err(Error::Broken)??;
        if ended != RunEnd::TimeUp || to_ns == self.limit_ns {
            self.end = Some(ended);
        }
        Ok(self.end)
    }

    /// What has happened before this time, ns, has happened. If it has ended: when.
    pub fn now_ns(&self) -> u64 {
        self.machine.now_ns()
    }

    /// When the run is stopped at the latest, ns, if something says so.
    pub fn limit_ns(&self) -> Option<u64> {
        Some(self.limit_ns).filter(|&ns| ns < u64::MAX)
    }

    /// What was simulated so far.
    pub fn counts(&self) -> Counts {
        self.machine.counts()
    }

    /// The observer.
    pub fn observer(&self) -> &O {
        self.machine.observer()
    }

    /// The rules of the scheduler.
    pub fn rules(&self) -> Vec<&RuleDoc> {
        self.machine.scheduler().inspect().rules()
    }
}

impl Prepared {
    /// Its workload under `scheduler`, which is one of [`schedulers`](Prepared::schedulers), with
    /// nothing of it done yet: the first repetition, with tasks' names
    /// ([`Event::Named`](schedlab_core::Event)).
    ///
    /// # Errors
    /// What the scheduler refuses; the plan of a benchmark.
    pub fn begin<O: Observer>(&self, scheduler: &Contender, observer: O) -> Result<Live<O>, Error> {
        let experiment: &Experiment = self.experiment_of(scheduler).ok_or_else(|| {
            Error::Plan("this is a benchmark; only a workload can be run piece by piece".into())
        })?;
        let tunables = scheduler.tunables.clone();
        let config = RunConfig { tunables, seed: self.seed(0), ..experiment.config.clone() };
        catch_panic(|| experiment.begin(&config, &scheduler.choice, observer))
            .map_err(Error::Broken)?
    }
}
