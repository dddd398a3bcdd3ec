//! Runs of a workload under limits: [`Bench`].

use super::figures::Figures;
use super::limit::Limit;
use schedlab_core::GroupStats;
use schedlab_lab::experiment::Experiment;
use schedlab_lab::plan::{Contender, Plan, Prepared};
use schedlab_lab::setup;
use schedlab_workload::RequestFilter;

/// Maximum number of requests of a run whose response times are kept.
const REQUESTS_MAX: usize = 1_000_000;

/// A workload on a machine of a size, whose group gets limits.
pub(super) struct Bench<'a> {
    plan: &'a Plan,
    group: &'a str,
    /// Number of CPUs. `None`: as in the plan.
    cpus: Option<u32>,
}

/// A limit that can be run.
pub(super) struct Stage {
    experiment: Experiment,
    contender: Contender,
    /// Place of the group among all.
    place: usize,
    first_seed: u64,
}

impl<'a> Bench<'a> {
    pub fn new(plan: &'a Plan, group: &'a str, cpus: Option<u32>) -> Bench<'a> {
        Bench { plan, group, cpus }
    }

    /// Prepares the runs under `limit`.
    pub fn stage(&self, limit: &Limit) -> Result<Stage, String> {
        let mut plan = self.plan.clone();
        plan.machine.cpus = self.cpus.or(plan.machine.cpus);
        plan.groups.settings.extend(limit.settings(self.group));
        let prepared = plan.prepare().map_err(|error| error.to_string())?;
        Stage::of(&prepared, self.group)
    }
}

impl Stage {
    fn of(prepared: &Prepared, group: &str) -> Result<Stage, String> {
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
        Ok(Stage {
            place: place.ok_or_else(|| format!("there is no group {group}"))?,
            experiment,
            contender: contender.clone(),
            first_seed: prepared.seed(0).unwrap_or(1),
        })
    }

    /// Returns the number of CPUs.
    pub fn cpus(&self) -> u32 {
        self.experiment.config.cpus
    }

    /// Runs a repetition, counted from 0.
    pub fn run(&self, repetition: u64) -> Result<Figures, String> {
        let mut config = self.experiment.config.clone();
        config.seed = Some(self.first_seed.wrapping_add(repetition));
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
