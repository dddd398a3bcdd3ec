//! A plan that has been checked and can run: [`Prepared`].

use super::load::{self, Loaded};
use super::{Load, Plan, Source};
use crate::column_settings::{self, Settings};
use crate::config::RunConfig;
use crate::error::Error;
use crate::experiment::Experiment;
use crate::kernels;
use crate::scx;
use crate::scx::policy;
use crate::select::{self, Choice, Chosen, Needs};
use crate::session::Session;
use crate::settings::{self, Axis, Setting};
use crate::sweep::Sweep;
use schedlab_measure::Fairness;
use schedlab_report::{Report, RunReport, WorkloadInfo};
use schedlab_trace::Header;
use schedlab_workload::groups::Feature;
use std::fmt;

/// Maximum duration of a run, ns: 10^9 seconds.
const LIMIT_MAX_NS: u64 = 1_000_000_000_000_000_000;

/// A column of a prepared plan: a scheduler with its settings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Contender {
    /// The scheduler and its release.
    pub choice: Choice,
    /// Tunables to set: the plan's tunables that the scheduler has, and its own settings.
    pub tunables: Settings,
    /// Settings of this scheduler alone, tunables or not: `eevdf[DELAY_DEQUEUE=0]`.
    pub own: Vec<Setting>,
    /// Variant of the workload that it runs: the place in [`Variants`].
    variant: usize,
}

impl fmt::Display for Contender {
    /// Writes the column as users write it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.choice, settings::in_brackets(&self.own))
    }
}

impl From<Choice> for Contender {
    /// Returns a column without settings.
    fn from(choice: Choice) -> Contender {
        Contender { choice, tunables: vec![], own: vec![], variant: 0 }
    }
}

/// A plan without mistakes: each of its runs can be made, independently of the others.
pub struct Prepared {
    plan: Plan,
    load: CheckedLoad,
    schedulers: Vec<Contender>,
    /// Settings that all columns have in common.
    common: Vec<Setting>,
    notes: Vec<String>,
}

/// A load that has been checked.
enum CheckedLoad {
    Workload(Box<Variants>),
    Benchmark(Box<Sweep>),
}

/// A workload, and its variants with other nice values, weights and quotas: the additional
/// settings, and the workload with them. The first variant has only the common settings.
struct Variants {
    loaded: Loaded,
    common: Vec<Setting>,
    all: Vec<(Vec<Setting>, Experiment)>,
}

impl Variants {
    fn new(loaded: Loaded, common: &[Setting]) -> Result<Variants, Error> {
        let mut variants = Variants { loaded, common: common.to_vec(), all: vec![] };
        variants.place(&[])?;
        Ok(variants)
    }

    /// Returns the variant with `set`, apart from tunables.
    fn place(&mut self, set: &[Setting]) -> Result<usize, Error> {
        let of_load = |set: &[Setting]| -> Vec<Setting> {
            set.iter().filter(|it| it.tunable().is_none()).cloned().collect()
        };
        let set = of_load(set);
        if let Some(place) = self.all.iter().position(|(other, _)| *other == set) {
            return Ok(place);
        }
        let whole = [of_load(&self.common), set.clone()].concat();
        self.all.push((set, self.loaded.experiment(&whole)?));
        Ok(self.all.len() - 1)
    }

    fn first(&self) -> &Experiment {
        &self.all[0].1
    }
}

/// Maximum number of runs of a plan.
const RUNS_MAX: u64 = 100_000;

impl Plan {
    /// Checks the plan, and prepares what all runs share.
    ///
    /// # Errors
    /// The first mistake: its file and place, a description, and what would be right.
    pub fn prepare(&self) -> Result<Prepared, Error> {
        self.prepare_with(&[])
    }

    /// Like [`prepare`](Plan::prepare), but schedulers may also be from `own`: schedulers of the
    /// caller, which take precedence over the registry.
    ///
    /// # Errors
    /// As for [`prepare`](Plan::prepare).
    pub fn prepare_with(&self, own: &[Choice]) -> Result<Prepared, Error> {
        let chosen = select::choose_among(&self.schedulers, own)?;
        if chosen.is_empty() {
            let message = "schedulers: there is none; give names as `schedlab list` shows them, \
                           main, linux, textbook or all";
            return Err(Error::Plan(message.into()));
        }
        if let Some(limit_ns) = self.limit_ns.filter(|&limit_ns| limit_ns > LIMIT_MAX_NS) {
            return Err(Error::Plan(format!(
                "limit_ns is {limit_ns}; it must be at most {LIMIT_MAX_NS}, which is 10^9 seconds"
            )));
        }
        if self.repeat == 0 {
            return Err(Error::Plan("repeat is 0; it must be at least 1".into()));
        }
        let axes = self.axes()?;
        let prepared = match &self.load {
            Load::Workload(source) => self.prepare_workload(source, chosen, &axes)?,
            Load::Benchmark(_) | Load::Mix(_) => self.prepare_benchmark(&chosen, &axes)?,
        };
        let runs = (prepared.schedulers.len() as u64).saturating_mul(self.repeat);
        if prepared.sweep().is_none() && runs > RUNS_MAX {
            return Err(Error::Plan(format!(
                "repeat is {}, which with {} columns makes {runs} runs; at most {RUNS_MAX} are allowed",
                self.repeat,
                prepared.schedulers.len()
            )));
        }
        Ok(prepared)
    }

    /// Parses the settings of the plan.
    fn axes(&self) -> Result<Vec<Axis>, Error> {
        let mut axes: Vec<Axis> = vec![];
        for (name, values) in &self.set {
            let read = Axis::read(name, &values.to_string());
            let axis = read.map_err(|what| Error::Plan(format!("--set: {what}")))?;
            let twice = axes.iter().find(|other| other.name == axis.name);
            // Of several single values, the last counts, as with repeated writes to a kernel file.
            if twice.is_some_and(|other| other.common().is_none() || axis.common().is_none()) {
                return Err(Error::Plan(format!(
                    "--set: {name} is given twice; give all of its values at once, as \
                     {name}=1,2,3"
                )));
            }
            axes.push(axis);
        }
        Ok(axes)
    }

    fn prepare_workload(
        &self,
        source: &Source,
        chosen: Vec<Chosen>,
        axes: &[Axis],
    ) -> Result<Prepared, Error> {
        let name = self.load.name();
        let common: Vec<Setting> = axes.iter().filter_map(Axis::common).cloned().collect();
        let (loaded, mut notes) = load::workload(self, source)?;
        let mut variants = Variants::new(loaded, &common)?;
        let runnable = |variants: &mut Variants, chosen: &[Chosen]| {
            let mut needs = vec![];
            for one in chosen {
                let place = variants.place(&one.set)?;
                let of_workload = variants.all[place].1.needs();
                let autogroups = self.groups.autogroup;
                needs.push((one.set.clone(), Needs { autogroups, ..of_workload }));
            }
            column_settings::runnable_schedulers(chosen, name, |one| {
                let (_, needs) = needs.iter().find(|(set, _)| *set == one.set)?;
                one.choice.refuses(needs)
            })
        };
        let (chosen, more_notes) = runnable(&mut variants, &chosen)?;
        notes.extend(more_notes);
        let known = |choice: &Choice| variants.first().config.settings_of(choice);
        let (mut columns, more_notes) = column_settings::columns(chosen, axes, known)?;
        notes.extend(more_notes);
        if axes.iter().any(|axis| axis.common().is_none()) {
            // Columns that come from a list are left out if they cannot run.
            columns.iter_mut().for_each(|one| (one.named, one.again) = (false, false));
            let (kept, more_notes) = runnable(&mut variants, &columns)?;
            notes.extend(more_notes);
            columns = kept;
        }
        notes.extend(kernel_notes(&columns)?);
        let choices: Vec<Choice> = columns.iter().map(|one| one.choice.clone()).collect();
        for (_, experiment) in &mut variants.all {
            experiment.record = self.record.extent(choices.len());
            experiment.log_lines = self.record.log_lines(choices.len());
        }
        let experiment = variants.first();
        note_what_groups_lack(experiment, &choices, &mut notes);
        if self.groups.user_groups {
            note_missing_user_groups(&choices, &mut notes);
        }
        experiment.check_timetable(&choices)?;
        notes.extend(experiment.notes());
        let known = |choice: &Choice| experiment.config.settings_of(choice);
        let (tunables, more_notes) =
            column_settings::tunables_for(&columns, known, &of_tunables(&common))?;
        notes.extend(more_notes);
        let mut schedulers = vec![];
        for (one, tunables) in columns.into_iter().zip(tunables) {
            let variant = variants.place(&one.set)?;
            if !tunables.is_empty() {
                let (_, experiment) = &variants.all[variant];
                let tunables = tunables.clone();
                let config = RunConfig { tunables, ..experiment.config.clone() };
                let checked = experiment.check_settings(&config, &one.choice);
                checked.map_err(|error| Error::Plan(format!("{one}: {error}")))?;
            }
            schedulers.push(Contender { choice: one.choice, tunables, own: one.set, variant });
        }
        let load = CheckedLoad::Workload(Box::new(variants));
        Ok(Prepared { plan: self.clone(), load, schedulers, common, notes })
    }

    fn prepare_benchmark(&self, chosen: &[Chosen], axes: &[Axis]) -> Result<Prepared, Error> {
        let mut sweep = load::sweep(self)?;
        let chosen = &scx::all_fixed(chosen)?[..];
        if let Some(one) = chosen.iter().find(|one| !one.set.is_empty()) {
            return Err(Error::Plan(format!(
                "{one}: settings of a single scheduler are for workloads only; --set holds for all \
                 schedulers"
            )));
        }
        let mut common = vec![];
        for axis in axes {
            match axis.common() {
                Some(one) if one.tunable().is_some() => common.push(one.clone()),
                _ => {
                    return Err(Error::Plan(format!(
                        "--set {}: for a benchmark, a tunable can have one value; several values, nice \
                         values, weights and quotas are for workloads (`schedlab run`)",
                        axis.name
                    )));
                }
            }
        }
        let name = self.load.name();
        let refuses = |one: &Chosen| sweep.refuses(&one.choice);
        let (contenders, mut notes) = column_settings::runnable_schedulers(chosen, name, refuses)?;
        let known = |choice: &Choice| sweep.bench().config.settings_of(choice);
        let set = of_tunables(&common);
        let (tunables, more_notes) = column_settings::tunables_for(&contenders, known, &set)?;
        notes.extend(more_notes);
        let mut schedulers = vec![];
        for (one, tunables) in contenders.into_iter().zip(tunables) {
            sweep
                .add(one.choice.clone(), tunables.clone())
                .map_err(|error| Error::Plan(error.to_string()))?;
            schedulers.push(Contender { tunables, ..Contender::from(one.choice.clone()) });
        }
        let load = CheckedLoad::Benchmark(Box::new(sweep));
        Ok(Prepared { plan: self.clone(), load, schedulers, common, notes })
    }
}

/// Explanations of the columns that are named by a kernel.
fn kernel_notes(columns: &[Chosen]) -> Result<Vec<String>, Error> {
    let mut notes = vec![];
    for title in columns.iter().flat_map(|one| &one.set).filter_map(Setting::kernel) {
        let name = if title.starts_with("host ") { "host" } else { title };
        notes.extend(kernels::find(name)?.map(|kernel| kernel.note));
    }
    Ok(notes)
}

/// Tunables among `set`.
fn of_tunables(set: &[Setting]) -> Settings {
    let tunables = set.iter().filter_map(Setting::tunable);
    tunables.map(|(name, value)| (name.into(), value)).collect()
}

impl Prepared {
    /// Returns the plan with each of its columns named by release and settings, so that it means
    /// the same to a program with more releases.
    pub fn plan(&self) -> Plan {
        let written = |one: &Contender| policy::written(&one.choice, &one.own);
        let schedulers = self.schedulers.iter().map(written).collect();
        let set = |setting: &Setting| (setting.name(), setting.value().as_str().into());
        let set = self.common.iter().map(set).collect();
        Plan { schedulers, set, ..self.plan.clone() }
    }

    /// Returns the name of the load in messages and reports.
    pub fn name(&self) -> &str {
        self.plan.load.name()
    }

    /// Returns the schedulers that run it, in the order of the request.
    pub fn schedulers(&self) -> &[Contender] {
        &self.schedulers
    }

    /// Notes about the plan for the user: schedulers that are left out, settings without effect.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns the workload as `scheduler`, which is one of [`schedulers`](Prepared::schedulers),
    /// runs it. `None`: it is a benchmark.
    pub fn experiment_of(&self, scheduler: &Contender) -> Option<&Experiment> {
        match &self.load {
            CheckedLoad::Workload(variants) => Some(&variants.all[scheduler.variant].1),
            CheckedLoad::Benchmark(_) => None,
        }
    }

    /// Returns the workload. `None`: it is a benchmark.
    pub fn experiment(&self) -> Option<&Experiment> {
        match &self.load {
            CheckedLoad::Workload(variants) => Some(variants.first()),
            CheckedLoad::Benchmark(_) => None,
        }
    }

    /// Returns the header of a trace of a run under `contender`.
    pub fn trace_header(&self, contender: &Contender) -> Header {
        let (cpus, hz) = self
            .experiment()
            .map_or((1, None), |experiment| (experiment.config.cpus, experiment.config.hz));
        Header {
            cpus,
            hz: hz.unwrap_or(contender.choice.release.hz_default),
            scheduler: contender.to_string(),
        }
    }

    /// Returns the benchmark with all of its values and seeds. `None`: it is a workload.
    pub fn sweep(&self) -> Option<&Sweep> {
        match &self.load {
            CheckedLoad::Workload(_) => None,
            CheckedLoad::Benchmark(sweep) => Some(sweep),
        }
    }

    /// Returns a session of the load under `scheduler`: one of
    /// [`schedulers`](Prepared::schedulers), or a scheduler of the caller. A benchmark has the
    /// first of all values and the first seed. Its [`sweep`](Prepared::sweep) runs all of them.
    ///
    /// # Errors
    /// The scheduler lacks a feature that the load requires, or refuses a setting.
    pub fn session<'o>(&self, scheduler: &Contender) -> Result<Session<'o>, Error> {
        self.repetition(scheduler, 0)
    }

    /// Checks that `scheduler` accepts its tunables, which may have changed since the plan was
    /// prepared.
    ///
    /// # Errors
    /// The first setting that it refuses.
    pub fn check_settings(&self, scheduler: &Contender) -> Result<(), Error> {
        let Contender { choice, tunables, variant, .. } = scheduler;
        match &self.load {
            CheckedLoad::Workload(variants) => {
                let (_, experiment) = &variants.all[*variant];
                let tunables = tunables.clone();
                let config = RunConfig { tunables, ..experiment.config.clone() };
                experiment.check_settings(&config, choice)
            }
            CheckedLoad::Benchmark(sweep) => {
                let known = sweep.bench().config.settings_of(choice);
                for (name, value) in tunables {
                    schedlab_core::tunables::check(&known, name, *value).map_err(|error| {
                        Error::Tunable { name: name.clone(), value: *value, error }
                    })?;
                }
                Ok(())
            }
        }
    }

    /// Returns the number of runs of the workload under each scheduler: [`Plan::repeat`].
    /// Repetitions of a benchmark are part of its [`sweep`](Prepared::sweep).
    pub fn repetitions(&self) -> u64 {
        match &self.load {
            CheckedLoad::Workload(_) => self.plan.repeat,
            CheckedLoad::Benchmark(_) => 1,
        }
    }

    /// Returns the seed of a repetition, counted from 0. `None`: simultaneous events happen in the
    /// golden order.
    pub fn seed(&self, repetition: u64) -> Option<u64> {
        self.plan.first_seed().map(|seed| seed.wrapping_add(repetition))
    }

    /// Returns a session of one of the [`repetitions`](Prepared::repetitions). The number, counted
    /// from 0, is added to the first seed. Slices are recorded in the first repetition only.
    ///
    /// # Errors
    /// As for [`session`](Prepared::session).
    pub fn repetition<'o>(
        &self,
        scheduler: &Contender,
        repetition: u64,
    ) -> Result<Session<'o>, Error> {
        let Contender { choice, tunables, own, variant } = scheduler;
        match &self.load {
            CheckedLoad::Workload(variants) => {
                let (_, experiment) = &variants.all[*variant];
                if let Some(why) = choice.refuses(&experiment.needs()) {
                    return Err(Error::CannotRun { what: self.plan.load.name().into(), why });
                }
                let (tunables, seed) = (tunables.clone(), self.seed(repetition));
                let config = RunConfig { tunables, seed, ..experiment.config.clone() };
                let record = experiment.record.filter(|_| repetition == 0);
                let session = experiment.measured_session(&config, choice, record)?;
                Ok(session.described_as(own.iter().map(Setting::written).collect()))
            }
            CheckedLoad::Benchmark(sweep) => {
                let mut bench = sweep.first();
                bench.config.seed = Some(bench.seed().wrapping_add(repetition));
                bench.config.tunables.clone_from(tunables);
                bench.session(choice)
            }
        }
    }

    /// Returns a session of the workload under `scheduler` without a report: only an observer
    /// receives the events. It is the first repetition.
    ///
    /// # Errors
    /// The scheduler refuses a setting, or the load is a benchmark.
    pub(crate) fn unmeasured_session<'o>(
        &self,
        scheduler: &Contender,
    ) -> Result<Session<'o>, Error> {
        let experiment = self.experiment_of(scheduler).ok_or_else(|| {
            let message = "this is a benchmark; only a workload can be viewed step by step";
            Error::Plan(message.into())
        })?;
        let tunables = scheduler.tunables.clone();
        let config = RunConfig { tunables, seed: self.seed(0), ..experiment.config.clone() };
        experiment.unmeasured_session(&config, &scheduler.choice, 0)
    }

    /// Creates an observer that simulates an ideal machine next to the one on which `scheduler`
    /// runs, and reports lags during the run. `None`: the scheduler is not one of the plan's
    /// workload.
    pub fn fairness(&self, scheduler: &Contender) -> Option<Fairness> {
        match &self.load {
            CheckedLoad::Workload(_) => {
                let experiment = self.experiment_of(scheduler)?;
                Some(experiment.fairness(experiment.model.tasks.len()))
            }
            CheckedLoad::Benchmark(sweep) => Some(sweep.first().fairness()),
        }
    }

    /// Replaces all columns by some of them.
    pub(super) fn replace_columns(&mut self, columns: Vec<Contender>) {
        self.schedulers = columns;
    }

    /// Returns the runs as one document.
    pub fn report(&self, runs: Vec<RunReport>) -> Report {
        let longest_ns = runs.iter().map(|run| run.end.at_ns).max().unwrap_or(0);
        let until_ns = match &self.load {
            CheckedLoad::Workload(variants) => variants.first().until_ns(),
            CheckedLoad::Benchmark(sweep) => sweep.bench().config.limit_ns,
        };
        Report::new(
            WorkloadInfo {
                name: self.plan.load.name().into(),
                duration_ns: until_ns.unwrap_or(longest_ns),
                set: self.common.iter().map(Setting::written).collect(),
                late_starts: self.plan.late_starts,
            },
            runs,
        )
    }
}

/// Adds notes about settings of groups that have no effect.
fn note_what_groups_lack(experiment: &Experiment, choices: &[Choice], notes: &mut Vec<String>) {
    const MOST: usize = 10;
    let all_have_idle = choices.iter().all(|choice| choice.release.can.idle_groups);
    for (feature, group) in experiment.groups.features() {
        // A scheduler that cannot limit groups does not run this workload. A scheduler without idle
        // groups runs it with the smallest weight.
        if feature == Feature::Idle && !all_have_idle {
            notes.push(format!("{}: {feature}", group.path));
        }
    }
    if experiment.timetable.sets_idle() && !all_have_idle {
        notes.push(format!("the timetable: cpu.idle: {}", Feature::Idle));
    }
    notes.extend(experiment.groups.notes().take(MOST).map(|note| note.to_string()));
    match experiment.groups.notes().count() {
        0..=MOST => {}
        many => notes.push(format!("and {} more notes like these", many - MOST)),
    }
}

/// Groups by user were removed when control groups arrived.
fn note_missing_user_groups(choices: &[Choice], notes: &mut Vec<String>) {
    let others: Vec<String> = choices
        .iter()
        .filter(|choice| !choice.release.can.user_groups)
        .map(Choice::to_string)
        .collect();
    if !others.is_empty() {
        notes.push(format!(
            "{}: no groups by user in these releases; they are control groups of the same weights",
            others.join(", ")
        ));
    }
}
