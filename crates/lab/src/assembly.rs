//! Assembles a machine for a run, and takes it apart for the report.
//!
//! All runs are assembled here: runs of workloads, benchmarks, golden schedules and random worlds.
//! They differ in their workload, their observers, and the time for which the machine runs.

use crate::config::RunConfig;
use crate::error::Error;
use crate::report_of::{GroupInfo, RunInputs, TaskInfo, report_of};
use crate::select::Choice;
use crate::setup::{self, NewGroup};
use schedlab_core::{BuildConfig, Scheduler};
use schedlab_machine::costs::{Energy, Overheads, Setup};
use schedlab_machine::{Config, Counts, Machine, Observer, RunEnd, Workload};
use schedlab_measure::{Fairness, GroupUsage, Refusals, Slice, Span, Stats};
use schedlab_report::{MachineInfo, RunReport, SchedulerInfo};

/// Parts of a machine, without workload and observers.
pub struct Assembly<'a> {
    config: &'a RunConfig,
    choice: &'a Choice,
    build: BuildConfig,
    /// Order of simultaneous events, and deviations of golden schedules.
    pub machine: Config,
    /// Costs of operations. `None`: nothing costs anything.
    pub costs: Option<Setup>,
    /// Groups to create, each after its ancestors.
    pub groups: &'a [NewGroup<'a>],
}

impl<'a> Assembly<'a> {
    /// Creates a machine as `config` describes it, for `choice`, with simultaneous events in the
    /// golden order.
    ///
    /// # Errors
    /// Ticks would leave no time for tasks.
    pub fn new(config: &'a RunConfig, choice: &'a Choice) -> Result<Assembly<'a>, Error> {
        let build = config.build_config(choice);
        let costs = match &config.costs {
            Some(costs) => {
                let costs = setup::costs(costs, choice, &build.topology, build.hz, config.nohz)?;
                Some(Setup { seed: config.seed.unwrap_or(costs.seed), ..costs })
            }
            None => None,
        };
        let mut machine = Config::idealised(config.cpus, build.hz);
        machine.tick_offsets_ns.clone_from(&config.tick_offsets_ns);
        let period_ns = 1_000_000_000 / u64::from(build.hz);
        if config.tick_phase_ns >= period_ns {
            return Err(Error::Plan(format!(
                "the first tick falls at {} ns; with {} ticks a second it must be before {period_ns} \
                 ns (--tick-phase)",
                config.tick_phase_ns, build.hz
            )));
        }
        machine.tick_phase_ns = config.tick_phase_ns;
        machine.late_softirqs = config.late_softirqs;
        Ok(Assembly { config, choice, build, machine, costs, groups: &[] })
    }

    /// Builds the scheduler and the machine, sets the tunables and makes the groups.
    ///
    /// # Errors
    /// The scheduler refuses a setting.
    pub fn build<W: Workload, O: Observer>(
        self,
        workload: W,
        observer: O,
    ) -> Result<Machine<Box<dyn Scheduler>, W, O>, Error> {
        self.build_with(|scheduler| scheduler, workload, observer)
    }

    /// Like [`build`](Assembly::build), with the scheduler inside the value that `wrap` returns.
    ///
    /// # Errors
    /// The scheduler refuses a setting.
    pub fn build_with<S: Scheduler, W: Workload, O: Observer>(
        self,
        wrap: impl FnOnce(Box<dyn Scheduler>) -> S,
        workload: W,
        observer: O,
    ) -> Result<Machine<S, W, O>, Error> {
        let scheduler = wrap(self.choice.build(&self.build)?);
        let mut machine = Machine::new(self.machine, scheduler, workload, observer);
        if let Some(costs) = self.costs {
            machine.set_costs(costs);
        }
        machine.ask_reasons(self.config.reasons);
        setup::administer(&mut machine, &self.config.tunables, self.groups)?;
        Ok(machine)
    }
}

/// Counts of a machine, for the report.
pub(crate) struct Outcome {
    end: RunEnd,
    pub counts: Counts,
    overheads: Option<Overheads>,
    energy: Option<Energy>,
}

impl Outcome {
    /// Counts of `machine` after a run with this end.
    pub fn of<S: Scheduler, W: Workload, O: Observer>(
        machine: &Machine<S, W, O>,
        end: RunEnd,
    ) -> Outcome {
        Outcome {
            end,
            counts: machine.counts(),
            overheads: machine.overheads(),
            energy: machine.energy(),
        }
    }
}

/// Figures of the observers and the workload, for the report.
pub(crate) struct Observed<'a> {
    /// All tasks, by number.
    pub tasks: &'a [TaskInfo],
    /// All groups except the root, by number.
    pub groups: &'a [GroupInfo],
    pub stats: &'a Stats,
    pub fairness: Option<&'a Fairness>,
    pub group_usage: Option<&'a GroupUsage>,
    pub refusals: Option<&'a Refusals>,
    pub slices: Option<Vec<Slice>>,
    pub spans: Option<Vec<Span>>,
}

/// Builds the report of a run. `seed`: seed of everything random.
pub(crate) fn report(
    config: &RunConfig,
    choice: &Choice,
    seed: Option<u64>,
    outcome: Outcome,
    scheduler: &dyn Scheduler,
    observed: Observed<'_>,
) -> RunReport {
    let hz = config.hz.unwrap_or(choice.release.hz_default);
    report_of(RunInputs {
        scheduler: SchedulerInfo {
            name: choice.entry.name.to_string(),
            release: choice.release.version.into(),
            title: choice.entry.title.to_string(),
            set: vec![],
        },
        machine: MachineInfo { cpus: config.cpus, hz, model: config.model_name() },
        tunables: &scheduler.inspect().tunables(),
        seed,
        end: outcome.end,
        counts: outcome.counts,
        overheads: outcome.overheads,
        energy: outcome.energy,
        tasks: observed.tasks,
        groups: observed.groups,
        group_usage: observed.group_usage,
        refusals: observed.refusals,
        stats: observed.stats,
        fairness: observed.fairness,
        slices: observed.slices,
        spans: observed.spans,
    })
}
