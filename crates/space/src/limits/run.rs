//! Runs of a workload or of a recording under limits: [`Bench`].

use super::figures::{Figures, Times};
use super::limit::Limit;
use schedlab_core::{GroupStats, Quota};
use schedlab_lab::experiment::Experiment;
use schedlab_lab::plan::{Contender, Plan, Prepared};
use schedlab_lab::{replay, setup};
use schedlab_workload::RequestFilter;
use std::borrow::Cow;

/// Maximum number of requests of a run whose response times are kept.
const REQUESTS_MAX: usize = 1_000_000;

/// Work on a machine of a size, whose group gets limits.
pub(super) enum Bench<'a> {
    Workload(Box<WorkloadBench<'a>>),
    Recording(Box<RecordingBench<'a>>),
}

/// A workload.
pub(super) struct WorkloadBench<'a> {
    pub plan: Cow<'a, Plan>,
    /// Task whose number of threads is set, by its key.
    pub threads: Option<(&'a str, u32)>,
}

/// A recording.
pub(super) struct RecordingBench<'a> {
    pub prepared: replay::Prepared,
    /// Tasks that count. `None`: the group's tasks.
    pub only: Option<&'a str>,
    pub times: Times,
}

/// A limit that can be run.
pub(super) enum Stage<'a> {
    Workload(WorkloadStage),
    Recording { limited: replay::Limited<'a>, times: Times },
}

/// A workload under a limit.
pub(super) struct WorkloadStage {
    experiment: Experiment,
    contender: Contender,
    /// Place of the group among all.
    place: usize,
}

impl Bench<'_> {
    /// Prepares the runs of `group` with `settings`.
    pub fn stage(&self, group: &str, settings: &[String]) -> Result<Stage<'_>, String> {
        match self {
            Bench::Workload(bench) => bench.stage(group, settings).map(Stage::Workload),
            Bench::Recording(bench) => {
                let RecordingBench { prepared, only, times } = &**bench;
                let limited = prepared.limited(group, settings, *only);
                let limited = limited.map_err(|error| error.to_string())?;
                Ok(Stage::Recording { limited, times: *times })
            }
        }
    }
}

impl WorkloadBench<'_> {
    fn stage(&self, group: &str, settings: &[String]) -> Result<WorkloadStage, String> {
        let mut plan = self.plan.clone().into_owned();
        plan.groups.settings.extend(settings.iter().cloned());
        let prepared = plan.prepare().map_err(|error| error.to_string())?;
        let mut stage = WorkloadStage::of(&prepared, group)?;
        if let Some((key, threads)) = self.threads {
            let tasks = stage.experiment.model.tasks.iter_mut();
            tasks.filter(|task| task.key == key).for_each(|task| task.instances = threads);
        }
        Ok(stage)
    }
}

impl WorkloadStage {
    fn of(prepared: &Prepared, group: &str) -> Result<WorkloadStage, String> {
        let [contender] = prepared.schedulers() else {
            return Err("limits are examined under one scheduler; name one".into());
        };
        let experiment = prepared.experiment_of(contender).ok_or("this is not a workload")?;
        let filter = RequestFilter { group: group.into(), most: REQUESTS_MAX };
        let config = schedlab_lab::RunConfig {
            tunables: contender.tunables.clone(),
            ..experiment.config.clone()
        };
        let experiment = Experiment { requests: Some(filter), config, ..experiment.clone() };
        let places = experiment.groups.groups().iter();
        let place = places.map(|group| &group.path).position(|path| path == group);
        Ok(WorkloadStage {
            place: place.ok_or_else(|| format!("there is no group {group}"))?,
            experiment,
            contender: contender.clone(),
        })
    }

    fn run(&self, seed: u64) -> Result<Figures, String> {
        let mut config = self.experiment.config.clone();
        config.seed = Some(seed);
        config.late_starts = true;
        let choice = &self.contender.choice;
        let described = |error: schedlab_lab::Error| error.to_string();
        let mut session =
            self.experiment.unmeasured_session(&config, choice, 0).map_err(described)?;
        session.advance(u64::MAX).map_err(described)?;
        let now_ns = session.now_ns();
        let groups = setup::group_ids(self.experiment.groups.groups().len());
        let stats: GroupStats = session
            .scheduler()
            .inspect()
            .group_stats(groups[self.place])
            .map_err(|_| format!("{choice} has no limits of groups"))?;
        let kernel = session.kernel();
        let (done, left_out) = match kernel.requests() {
            Some(requests) => (requests.done(), requests.left_out()),
            None => (&[][..], 0),
        };
        let unfinished = kernel.unfinished_requests(now_ns);
        Ok(Figures::new(now_ns, stats, done, &unfinished, left_out))
    }
}

impl Stage<'_> {
    /// Returns the number of CPUs.
    pub fn cpus(&self) -> u32 {
        match self {
            Stage::Workload(stage) => stage.experiment.config.cpus,
            Stage::Recording { limited, .. } => limited.cpus(),
        }
    }

    /// Returns the name of the scheduler.
    pub fn scheduler(&self) -> String {
        match self {
            Stage::Workload(stage) => stage.contender.to_string(),
            Stage::Recording { limited, .. } => limited.scheduler().into(),
        }
    }

    /// Runs with a seed.
    pub fn run(&self, seed: u64) -> Result<Figures, String> {
        match self {
            Stage::Workload(stage) => stage.run(seed),
            Stage::Recording { limited, times } => {
                let run = limited.run(seed).map_err(|error| error.to_string())?;
                Ok(Figures::of_recording(run, *times))
            }
        }
    }
}

/// Returns the limit of these values. `None`: there is none.
pub(super) fn limit_of(quota: &Quota) -> Option<Limit> {
    let Quota { quota_us, period_us, burst_us, .. } = *quota;
    quota_us.map(|quota_us| Limit { quota_us: Some(quota_us), period_us, burst_us })
}
