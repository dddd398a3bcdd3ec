//! Runs of a replay in which a group has other settings: [`Limited`].

use super::runner::Runner;
use super::{Prepared, ensemble, sample};
use crate::error::Error;
use schedlab_core::{GroupStats, Quota};
use schedlab_replay::responses::Responses;
use schedlab_replay::stats::TaskStats;
use schedlab_replay::{Program, Workload, select};
use schedlab_workload::groups;

/// The last column of a replay, with settings of a group in addition.
pub struct Limited<'a> {
    prepared: &'a Prepared,
    runner: Runner,
    group: String,
    /// Whether each task of the workload counts, by place.
    counts: Vec<bool>,
}

/// Figures of a run, or of the recording.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct GroupRun {
    /// Statistics of the group since the beginning of the trace. All 0 for a recording, except the
    /// CPU time.
    pub stats: GroupStats,
    /// Time at which the last of the tasks that count left its CPU for the last time, ns.
    pub end_ns: u64,
    /// Requests of the tasks that count.
    pub requests: Responses,
    /// Whether the run was stopped at its time limit, before all tasks that count had ended.
    pub is_stopped: bool,
}

impl Prepared {
    /// Returns the last column with `settings` such as `/box:cpu.max=20000 100000`. `only`: tasks
    /// whose requests and ends count. `None`: the tasks of the group.
    ///
    /// # Errors
    /// There is no such task, or the settings are malformed.
    pub fn limited(
        &self,
        group: &str,
        settings: &[String],
        only: Option<&str>,
    ) -> Result<Limited<'_>, Error> {
        let columns = &self.setup.columns;
        if columns.len() > 2 {
            return Err(Error::Plan("limits are examined under one scheduler; name one".into()));
        }
        let mut runner = columns[columns.len() - 1].clone();
        for setting in settings {
            runner.groups.add(groups::parse_option(setting)?);
        }
        let counts = self.counts_of(&runner.workload, group, only)?;
        Ok(Limited { prepared: self, runner, group: group.into(), counts })
    }

    /// Whether each task of the last column counts.
    fn counts_of(
        &self,
        workload: &Workload,
        group: &str,
        only: Option<&str>,
    ) -> Result<Vec<bool>, Error> {
        let programs = workload.tasks.iter();
        let Some(only) = only else {
            return Ok(programs.map(|it| is_in(it, group)).collect());
        };
        let found = select::tasks(&self.trace, only)
            .map_err(|what| Error::Plan(format!("--only {only}: {what}")))?;
        Ok(programs.map(|it| found[it.task as usize]).collect())
    }
}

/// Whether a task is in `group` or below it.
fn is_in(program: &Program, group: &str) -> bool {
    program.set.taskgroup.as_ref().is_some_and(|path| groups::is_within(path, group))
}

impl Limited<'_> {
    /// Returns the name of the scheduler.
    pub fn scheduler(&self) -> &str {
        &self.runner.name
    }

    /// Returns the number of CPUs.
    pub fn cpus(&self) -> u32 {
        self.runner.config.cpus
    }

    /// Returns the paths of all groups, with their limits.
    ///
    /// # Errors
    /// The settings of the groups contradict each other.
    pub fn groups(&self) -> Result<Vec<(String, Quota)>, Error> {
        let experiment = self.runner.experiment(|ns| ns)?;
        if !self.runner.choice.release.can.quotas {
            return Err(Error::Plan(format!("{} has no limits of groups", self.runner.choice)));
        }
        let groups = experiment.groups.groups().iter();
        Ok(groups.map(|group| (group.path.clone(), group.quota)).collect())
    }

    /// Names of the tasks that count, each once, in the order of their first task.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = vec![];
        for program in self.counting() {
            if !names.contains(&program.name.as_str()) {
                names.push(&program.name);
            }
        }
        names
    }

    fn counting(&self) -> impl Iterator<Item = &Program> {
        let programs = self.runner.workload.tasks.iter();
        programs.zip(&self.counts).filter(|(_, counts)| **counts).map(|(program, _)| program)
    }

    /// Returns the figures of the recording.
    pub fn recorded(&self) -> GroupRun {
        let trace = &self.prepared.trace;
        let mut run = GroupRun::default();
        let own = self.runner.workload.tasks.iter().filter(|it| is_in(it, &self.group));
        run.stats.usage_ns = own.map(|it| trace.tasks[it.task as usize].cpu_ns()).sum();
        run.add_counting(sample::recorded_stats(trace, &self.runner.workload), &self.counts);
        run
    }

    /// Returns the run with this seed, which varies the work and, unless it is 0, draws the phases
    /// of quota periods.
    ///
    /// # Errors
    /// The run broke down.
    pub fn run(&self, seed: u64) -> Result<GroupRun, Error> {
        let outcome = ensemble::run(self.prepared, &self.runner, seed, ())?;
        let own = outcome.groups.iter().find(|(path, _)| *path == self.group);
        let mut run = GroupRun {
            stats: own.map(|(_, stats)| *stats).unwrap_or_default(),
            is_stopped: outcome.end_ns >= self.prepared.setup.limit_ns
                && outcome.left.iter().any(|&place| self.counts[place]),
            ..GroupRun::default()
        };
        run.add_counting(outcome.tasks, &self.counts);
        Ok(run)
    }
}

impl GroupRun {
    /// Adds the ends and requests of the tasks that count.
    fn add_counting(&mut self, tasks: Vec<TaskStats>, counts: &[bool]) {
        for (stats, _) in tasks.into_iter().zip(counts).filter(|(_, counts)| **counts) {
            self.end_ns = self.end_ns.max(stats.end_ns);
            self.requests.served.extend(stats.requests.served);
            self.requests.round_trips.extend(stats.requests.round_trips);
        }
    }
}
