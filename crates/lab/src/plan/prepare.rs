//! A plan that has been checked and can be run: [`Prepared`].

use super::{Load, Plan, load};
use crate::config::RunConfig;
use crate::error::Error;
use crate::parallel;
use crate::run::{Experiment, Run};
use crate::select::{self, Choice, Settings};
use crate::snapshot::Watch;
use crate::sweep::Sweep;
use schedlab_core::Observer;
use schedlab_report::data::TunableValue;
use schedlab_report::{Report, RunReport, WorkloadInfo};
use schedlab_workload::groups::Feature;
use std::fmt;
use std::num::NonZeroUsize;

/// The longest that a run can be asked to take, ns: 10^9 seconds.
const LIMIT_MAX_NS: u64 = 1_000_000_000_000_000_000;

/// A scheduler of a prepared plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Contender {
    /// Which.
    pub choice: Choice,
    /// Its tunables to set: of the plan's those that it has, and its own.
    pub tunables: Settings,
    /// Those of them that are set for it alone: `eevdf[DELAY_DEQUEUE=0]`.
    pub own: Settings,
}

impl fmt::Display for Contender {
    /// As users write it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.choice, select::settings_text(&self.own))
    }
}

impl From<Choice> for Contender {
    /// With nothing set.
    fn from(choice: Choice) -> Contender {
        Contender { choice, tunables: vec![], own: vec![] }
    }
}

/// A plan in which no mistake is left: each of its runs can be made, independently of the others.
pub struct Prepared {
    plan: Plan,
    load: Checked,
    schedulers: Vec<Contender>,
    notes: Vec<String>,
}

/// A load that has been checked.
enum Checked {
    Workload(Box<Experiment>),
    Benchmark(Box<Sweep>),
}

impl Plan {
    /// Checks all of it, and makes ready what all runs share.
    ///
    /// # Errors
    /// The first mistake: file and place, what is wrong and what would be right.
    pub fn prepare(&self) -> Result<Prepared, Error> {
        let chosen = select::choose(&self.schedulers)?;
        if chosen.is_empty() {
            let message = "schedulers: there is none; give names as `schedlab list` shows them, \
                           linux, textbook or all";
            return Err(Error::Plan(message.into()));
        }
        if let Some(limit_ns) = self.limit_ns.filter(|&limit_ns| limit_ns > LIMIT_MAX_NS) {
            return Err(Error::Plan(format!(
                "limit_ns is {limit_ns}; it must be at most {LIMIT_MAX_NS}, which is 10^9 seconds"
            )));
        }
        let name = self.load.name();
        let mut notes = vec![];
        let (load, contenders, tunables) = match &self.load {
            Load::Workload(source) => {
                let (mut experiment, said) = load::experiment(self, source)?;
                notes.extend(said);
                let needs = experiment.needs();
                let (contenders, left_out) =
                    select::runnable_schedulers(&chosen, name, |choice| choice.refuses(&needs))?;
                notes.extend(left_out);
                let choices: Vec<Choice> = contenders.iter().map(|one| one.choice).collect();
                experiment.record = self.record.extent(choices.len());
                note_what_groups_lack(&experiment, &choices, &mut notes);
                if self.groups.user_groups {
                    note_who_had_no_user_groups(&choices, &mut notes);
                }
                experiment.check_timetable(&choices)?;
                notes.extend(experiment.notes());
                let (tunables, said) = select::tunables_for(
                    &contenders,
                    |choice| experiment.tunables(choice),
                    &self.set,
                )?;
                notes.extend(said);
                (Checked::Workload(Box::new(experiment)), contenders, tunables)
            }
            Load::Benchmark(_) | Load::Mix(_) => {
                let mut sweep = load::sweep(self)?;
                if let Some(one) = chosen.iter().find(|one| !one.set.is_empty()) {
                    let set = select::settings_text(&one.set);
                    return Err(Error::Plan(format!(
                        "{}{set}: only a workload is run with settings of a scheduler's own; \
                         --set holds for all",
                        one.choice
                    )));
                }
                let (contenders, left_out) =
                    select::runnable_schedulers(&chosen, name, |choice| sweep.refuses(choice))?;
                notes.extend(left_out);
                let known = |choice: &Choice| sweep.bench().config.tunables_of(choice);
                let (tunables, said) = select::tunables_for(&contenders, known, &self.set)?;
                notes.extend(said);
                for (one, tunables) in contenders.iter().zip(&tunables) {
                    sweep
                        .add(one.choice, tunables.clone())
                        .map_err(|error| Error::Plan(error.to_string()))?;
                }
                (Checked::Benchmark(Box::new(sweep)), contenders, tunables)
            }
        };
        let schedulers = contenders
            .into_iter()
            .zip(tunables)
            .map(|(one, tunables)| Contender { choice: one.choice, tunables, own: one.set })
            .collect();
        Ok(Prepared { plan: self.clone(), load, schedulers, notes })
    }
}

impl Prepared {
    /// The plan with each of its schedulers named by release, so that it means the same to a
    /// program that knows more of them.
    pub fn plan(&self) -> Plan {
        let schedulers = self.schedulers.iter().map(Contender::to_string).collect();
        Plan { schedulers, ..self.plan.clone() }
    }

    /// What messages and reports call the load.
    pub fn name(&self) -> &str {
        self.plan.load.name()
    }

    /// The schedulers that run it, in the order asked for.
    pub fn schedulers(&self) -> &[Contender] {
        &self.schedulers
    }

    /// What the user should know about the plan: which schedulers are left out, what has no effect.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The workload, if it is one.
    pub fn experiment(&self) -> Option<&Experiment> {
        match &self.load {
            Checked::Workload(experiment) => Some(experiment),
            Checked::Benchmark(_) => None,
        }
    }

    /// The benchmark with all of its values and seeds, if it is one.
    pub fn sweep(&self) -> Option<&Sweep> {
        match &self.load {
            Checked::Workload(_) => None,
            Checked::Benchmark(sweep) => Some(sweep),
        }
    }

    /// Runs it under `scheduler`: one of [`schedulers`](Prepared::schedulers), or a scheduler of
    /// the caller's own. A benchmark is run with the first of all values and the first seed; all
    /// of them are run by its [`sweep`](Prepared::sweep).
    ///
    /// # Errors
    /// What the scheduler refuses, and how the run ended badly. Other runs are not affected.
    pub fn run(&self, scheduler: &Contender) -> Result<Run, Error> {
        self.run_with(scheduler, ()).map(|(run, ())| run)
    }

    /// The same with an observer of the caller's, which sees every event; with the grounds of
    /// decisions if the plan's [`Record::reasons`](super::Record::reasons) says so.
    ///
    /// # Errors
    /// As of [`run`](Prepared::run).
    pub fn run_with<O: Observer>(
        &self,
        scheduler: &Contender,
        observer: O,
    ) -> Result<(Run, O), Error> {
        self.run_watched(scheduler, observer, Watch::default())
    }

    /// The same, watched: tasks come with their names ([`Event::Named`](schedlab_core::Event)), and
    /// the machine is looked at at some times. (A benchmark is not watched.)
    ///
    /// # Errors
    /// As of [`run`](Prepared::run).
    pub fn run_watched<O: Observer>(
        &self,
        scheduler: &Contender,
        observer: O,
        watch: Watch<'_, O>,
    ) -> Result<(Run, O), Error> {
        let Contender { choice, tunables, own } = scheduler;
        match &self.load {
            Checked::Workload(experiment) => {
                if let Some(why) = choice.refuses(&experiment.needs()) {
                    return Err(Error::CannotRun { what: self.plan.load.name().into(), why });
                }
                let tunables = tunables.clone();
                let config = RunConfig { tunables, ..experiment.config.clone() };
                let name = |run: &mut Run| {
                    let value = |(name, value): &(String, i64)| TunableValue {
                        name: name.clone(),
                        value: *value,
                    };
                    run.report.scheduler.set = own.iter().map(value).collect();
                };
                match experiment.run_watched(&config, choice, observer, watch) {
                    Ok((mut run, observer)) => {
                        name(&mut run);
                        Ok((run, observer))
                    }
                    Err(Error::Stuck { waits, mut run }) => {
                        name(&mut run);
                        Err(Error::Stuck { waits, run })
                    }
                    Err(error) => Err(error),
                }
            }
            Checked::Benchmark(sweep) => {
                let mut bench = sweep.first();
                bench.config.tunables.clone_from(tunables);
                bench.run_with(choice, observer)
            }
        }
    }

    /// Runs it under each of its schedulers on `threads` threads. `ready` gets the results on the
    /// calling thread in the order of the schedulers, each as soon as those before it are there;
    /// if it answers false no further run is begun.
    pub fn run_all(
        &self,
        threads: NonZeroUsize,
        mut ready: impl FnMut(&Contender, Result<Run, Error>) -> bool,
    ) {
        parallel::for_each_in_order(
            &self.schedulers,
            threads,
            |scheduler| self.run(scheduler),
            |index, result| ready(&self.schedulers[index], result),
        );
    }

    /// The runs as one document.
    pub fn report(&self, runs: Vec<RunReport>) -> Report {
        let longest_ns = runs.iter().map(|run| run.end.at_ns).max().unwrap_or(0);
        let until_ns = match &self.load {
            Checked::Workload(experiment) => experiment.until_ns(),
            Checked::Benchmark(sweep) => sweep.bench().config.limit_ns,
        };
        let name = self.plan.load.name().into();
        Report::new(WorkloadInfo { name, duration_ns: until_ns.unwrap_or(longest_ns) }, runs)
    }
}

/// Adds which settings of groups have no effect.
fn note_what_groups_lack(experiment: &Experiment, choices: &[Choice], notes: &mut Vec<String>) {
    const MOST: usize = 10;
    let all_have_idle = choices.iter().all(|choice| choice.release.can.idle_groups);
    for (feature, group) in experiment.groups.features() {
        // A scheduler that cannot limit groups does not run this; one that has no idle groups runs
        // it with the least weight.
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
        many => notes.push(format!("and {} more like these", many - MOST)),
    }
}

/// Groups by user went when control groups had come.
fn note_who_had_no_user_groups(choices: &[Choice], notes: &mut Vec<String>) {
    let others: Vec<String> = choices
        .iter()
        .filter(|choice| !choice.release.can.user_groups)
        .map(Choice::to_string)
        .collect();
    if !others.is_empty() {
        notes.push(format!(
            "{}: no groups by user then; they are control groups of the same weights",
            others.join(", ")
        ));
    }
}
