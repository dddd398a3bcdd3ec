//! Single runs of a replay, for searches that compare runs of the same seed: [`Sample`].

use super::{Prepared, ensemble};
use crate::choice::Choice;
use crate::error::Error;
use schedlab_core::{GroupStats, Tunable};
use schedlab_replay::stats::TaskStats;
use schedlab_replay::{Trace, Workload, responses};
use schedlab_workload::Group;

/// Statistics of a run, or of the recording.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Sample {
    /// Statistics of each task of [`Prepared::workload`], by place.
    pub tasks: Vec<TaskStats>,
    /// Groups that had a limit, with their statistics since the beginning of the trace. Empty for a
    /// recording.
    pub limited: Vec<(String, GroupStats)>,
    /// Number of tasks that had not ended when the run was stopped.
    pub left: usize,
}

/// Returns the statistics of each task of `workload` in the recording, by place.
pub(super) fn recorded_stats(trace: &Trace, workload: &Workload) -> Vec<TaskStats> {
    let mut is_known = vec![false; trace.tasks.len()];
    for program in &workload.tasks {
        is_known[program.task as usize] = responses::is_known(&program.steps);
    }
    let mut requests = responses::of_trace(trace, &is_known);
    let stats = workload.tasks.iter().map(|program| {
        let requests = std::mem::take(&mut requests[program.task as usize]);
        TaskStats { requests, ..TaskStats::of_task(trace, &trace.tasks[program.task as usize]) }
    });
    stats.collect()
}

impl Prepared {
    /// Returns the recording.
    pub fn recorded_sample(&self) -> Sample {
        Sample { tasks: recorded_stats(&self.trace, &self.workload), ..Sample::default() }
    }

    /// Returns the run of the last column with this seed. Seed 0 leaves the work unchanged.
    ///
    /// # Errors
    /// The run broke down.
    pub fn sample(&self, seed: u64) -> Result<Sample, Error> {
        let columns = &self.setup.columns;
        let outcome = ensemble::run(self, &columns[columns.len() - 1], seed, ())?;
        let ensemble::Outcome { tasks, mut groups, left, .. } = outcome;
        groups.retain(|(_, stats)| stats.nr_periods > 0);
        Ok(Sample { tasks, limited: groups, left: left.len() })
    }

    /// Whether each task of the trace is reported.
    pub fn selected(&self) -> &[bool] {
        &self.selected
    }

    /// Returns the recorded scheduler.
    pub fn recorded_scheduler(&self) -> &Choice {
        &self.setup.columns[0].choice
    }

    /// Returns the tunables of the recorded scheduler on the recorded machine.
    pub fn recorded_tunables(&self) -> Vec<Tunable> {
        let recorded = &self.setup.columns[0];
        let mut all = recorded.config.tunables_of(&recorded.choice);
        for tunable in &mut all {
            let set = recorded.config.tunables.iter().find(|(name, _)| *name == tunable.name);
            tunable.value = set.map_or(tunable.value, |(_, value)| *value);
        }
        all
    }

    /// Returns the groups of the recorded tasks, with their settings.
    ///
    /// # Errors
    /// The settings contradict each other.
    pub fn recorded_groups(&self) -> Result<Vec<Group>, Error> {
        let experiment = self.setup.columns[0].experiment(|ns| ns)?;
        Ok(experiment.groups.groups().to_vec())
    }
}
