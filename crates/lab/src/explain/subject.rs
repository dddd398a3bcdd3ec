//! A run that can be made again.

use crate::config::RunConfig;
use crate::error::Error;
use crate::explain::Names;
use crate::plan::{Contender, Prepared};
use crate::run::Experiment;
use schedlab_core::{Observer, Scheduler};
use schedlab_machine::Machine;
use schedlab_workload::Kernel;

/// A machine that has been stopped at a moment.
pub(super) type Stopped<O> = Machine<Box<dyn Scheduler>, Kernel, O>;

/// A workload under a scheduler.
pub(super) struct Subject<'a> {
    pub experiment: &'a Experiment,
    scheduler: &'a Contender,
}

impl<'a> Subject<'a> {
    /// The workload of `prepared`.
    pub fn of(prepared: &'a Prepared, scheduler: &'a Contender) -> Result<Subject<'a>, Error> {
        let benchmark =
            || Error::Plan("this is a benchmark; only a workload can be explained".into());
        let experiment = prepared.experiment_of(scheduler).ok_or_else(benchmark)?;
        Ok(Subject { experiment, scheduler })
    }

    /// The number of CPUs.
    pub fn cpus(&self) -> u32 {
        self.experiment.config.cpus
    }

    fn config(&self, reasons: bool) -> RunConfig {
        let tunables = self.scheduler.tunables.clone();
        RunConfig { tunables, reasons, ..self.experiment.config.clone() }
    }

    /// Runs it to its end with an observer, who gets the grounds of decisions if `reasons` says so.
    /// What the run's numbers stand for, and the observer.
    pub fn watch<O: Observer>(&self, reasons: bool, observer: O) -> Result<(Names, O), Error> {
        let config = self.config(reasons);
        let choice = &self.scheduler.choice;
        let groups = self.experiment.groups.groups();
        self.experiment.stop(&config, choice, u64::MAX, observer, |machine| {
            let kernel = machine.workload();
            Names {
                tasks: kernel.threads().map(|thread| kernel.thread_name(thread.task)).collect(),
                groups: std::iter::once("/".into())
                    .chain(groups.iter().map(|group| group.path.clone()))
                    .collect(),
                rules: machine.scheduler().inspect().rules().into_iter().cloned().collect(),
            }
        })
    }

    /// Runs it until all that falls on `at_ns` has happened, and has a look at the machine.
    pub fn stop_at<R>(
        &self,
        at_ns: u64,
        look: impl FnOnce(&mut Stopped<()>) -> R,
    ) -> Result<R, Error> {
        let config = self.config(false);
        let until_ns = at_ns.saturating_add(1);
        let stopped = self.experiment.stop(&config, &self.scheduler.choice, until_ns, (), look);
        stopped.map(|(seen, ())| seen)
    }
}
