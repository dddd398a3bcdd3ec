//! A column of a replay that can be run: [`Runner`].

use crate::config::RunConfig;
use crate::error::Error;
use crate::experiment::Experiment;
use crate::select::Choice;
use schedlab_replay::program::EarlyTask;
use schedlab_replay::{Trace, Workload};
use schedlab_workload::{GroupSettings, Timetable};

/// A column to run.
#[derive(Clone)]
pub(super) struct Runner {
    /// Name of the column.
    pub name: String,
    pub choice: Choice,
    /// The machine, with the settings of this column.
    pub config: RunConfig,
    pub workload: Workload,
    pub groups: GroupSettings,
    pub timetable: Timetable,
}

impl Runner {
    /// Returns the workload and its machine. `vary` changes the length of each piece of work.
    pub fn experiment(&self, vary: impl FnMut(u64) -> u64) -> Result<Experiment, Error> {
        let model = self.workload.model("trace", vary);
        let experiment = Experiment::new(model, &self.groups, self.config.cpus)?;
        let timetable = self.timetable.clone();
        Ok(Experiment { config: self.config.clone(), timetable, ..experiment })
    }

    /// Like [`experiment`](Runner::experiment), preceded by a lead. `alone`: only the lead, without
    /// the recorded work.
    pub fn led(
        &self,
        trace: &Trace,
        lead_ns: u64,
        early: &[EarlyTask],
        alone: bool,
        vary: impl FnMut(u64) -> u64,
    ) -> Result<Experiment, Error> {
        if lead_ns == 0 {
            return self.experiment(vary);
        }
        let mut runner = self.clone();
        runner.workload = self.workload.led(trace, lead_ns, early, alone);
        runner.timetable.put_off(lead_ns);
        if let Some(limit_ns) = &mut runner.config.limit_ns {
            *limit_ns = limit_ns.saturating_add(lead_ns);
        }
        runner.experiment(vary)
    }
}
