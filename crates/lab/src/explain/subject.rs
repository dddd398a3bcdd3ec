//! A run that can be repeated to examine it.

use crate::config::RunConfig;
use crate::error::Error;
use crate::experiment::Experiment;
use crate::explain::names::Names;
use crate::plan::{Contender, Prepared};
use crate::session::Session;
use crate::throttled::ThrottledGroups;
use schedlab_core::Observer;

/// A workload under a scheduler.
pub(super) struct Subject<'a> {
    pub experiment: &'a Experiment,
    scheduler: &'a Contender,
}

impl<'a> Subject<'a> {
    /// Returns the workload of `prepared`.
    pub fn of(prepared: &'a Prepared, scheduler: &'a Contender) -> Result<Subject<'a>, Error> {
        let benchmark =
            || Error::Plan("this is a benchmark; only a workload can be explained".into());
        let experiment = prepared.experiment_of(scheduler).ok_or_else(benchmark)?;
        Ok(Subject { experiment, scheduler })
    }

    /// Returns the number of CPUs.
    pub fn cpus(&self) -> u32 {
        self.experiment.config.cpus
    }

    /// Returns an observer of throttling.
    pub fn throttled(&self) -> ThrottledGroups {
        ThrottledGroups::new(self.experiment)
    }

    fn session<'o>(&self, reasons: bool) -> Result<Session<'o>, Error> {
        let tunables = self.scheduler.tunables.clone();
        let config = RunConfig { tunables, reasons, ..self.experiment.config.clone() };
        self.experiment.unmeasured_session(&config, &self.scheduler.choice, 0)
    }

    /// Runs it to its end with an observer, which is notified of throttling, and receives the
    /// grounds of decisions if `reasons` is set. Returns names for the numbers in its events.
    pub fn observe(&self, reasons: bool, observer: &mut impl Observer) -> Result<Names, Error> {
        let groups = self.experiment.groups.groups();
        let mut session = self.session(reasons)?;
        session.observe(observer);
        session.report_throttling();
        session.exhaust(u64::MAX)?;
        let kernel = session.kernel();
        Ok(Names {
            tasks: kernel.threads().map(|thread| kernel.thread_name(thread.task)).collect(),
            groups: std::iter::once("/".into())
                .chain(groups.iter().map(|group| group.path.clone()))
                .collect(),
            rules: session.rules().into_iter().cloned().collect(),
        })
    }

    /// Returns a session that has just passed `at_ns`: all events at `at_ns` have happened.
    pub fn session_at<'o>(&self, at_ns: u64) -> Result<Session<'o>, Error> {
        let mut session = self.session(false)?;
        session.exhaust(at_ns.saturating_add(1))?;
        Ok(session)
    }
}
