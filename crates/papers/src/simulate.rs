//! Converts the runs of a file into simulations, and these into values.

use crate::axes::{Binding, For, combinations, fill, text_of};
use crate::calculators;
use crate::conditions::{Condition, Ticks};
use crate::cost_change::Change;
use crate::error::{At, Error};
use crate::file::Run;
use crate::measure::{measure, table};
use schedlab_bench::{Findings, Values};
use schedlab_core::topology::CPUS_MAX;
use schedlab_lab::RunConfig;
use schedlab_lab::bench::Bench;
use schedlab_lab::experiment::Experiment;
use schedlab_lab::select::{self, Choice};
use schedlab_lab::session::Session;
use schedlab_machine::costs::CostModel;
use schedlab_machine::costs::kernel::COST_MAX_NS;
use schedlab_machine::description::Description;
use schedlab_report::RunReport;
use schedlab_report::metrics::{mean, sample_variance};
use schedlab_workload::{GroupSettings, Target, Timetable, groups, rt_app};
use std::collections::BTreeMap;
use toml::Value;

/// The subject of a simulation, apart from the scheduler.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Subject {
    /// A benchmark with the parameters that are set.
    Bench {
        /// Name of the benchmark.
        name: String,
        /// Parameters that are set.
        parameters: Vec<(String, String)>,
    },
    /// A rule that is computed without simulating a machine.
    Rule(String),
    /// A workload in rt-app's language.
    Workload {
        /// The text.
        text: String,
        /// Its task groups.
        groups: Vec<String>,
        /// Actions on the machine while it runs.
        at: Vec<String>,
    },
}

/// A simulation. Runs with equal contents share one.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Simulation {
    /// The subject.
    pub subject: Subject,
    /// The scheduler.
    pub scheduler: String,
    /// Number of equal CPUs, if no machine is named.
    pub cpus: Option<u32>,
    /// The machine.
    pub machine: Option<String>,
    /// Whether the machine has no costs.
    pub idealised: bool,
    /// Costs that are set, in thousandths of a ns.
    pub costs: Vec<(String, i64)>,
    /// A cost of the machine that is changed.
    pub change: Option<Change>,
    /// Whether idle CPUs go without ticks.
    pub nohz: Option<bool>,
    /// Ticks per second.
    pub hz: Option<u32>,
    /// Delay of CPU 0's tick after the full 1/HZ seconds, in millionths of 1/HZ.
    pub phase: u32,
    /// Whether the ticks of the CPUs are skewed: each CPU ticks a part of 1/HZ after the previous
    /// one.
    pub skewed: bool,
    /// Tunables.
    pub set: Vec<(String, i64)>,
    /// Time at which the run is ended, ns.
    pub limit_ns: Option<u64>,
    /// Seed of random draws.
    pub seed: u64,
}

/// Simulations, and the values to take from them.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The simulations, one for each seed.
    pub simulations: Vec<Simulation>,
    /// The values: name and quantity.
    pub values: Vec<(String, String)>,
    /// Whether the values need no schedule.
    pub by_rule: bool,
}

/// The result of a simulation.
#[derive(Clone, Debug)]
pub struct Simulated {
    findings: Findings,
    /// The report; `None` for a rule.
    report: Option<RunReport>,
}

impl Run {
    /// Plans the simulations of this run under `condition`; fewer in the reduced form.
    ///
    /// # Errors
    /// The run is malformed.
    pub fn plan(&self, reduced: bool, condition: &Condition) -> Result<Vec<Planned>, Error> {
        let mut axes = self.axes.clone();
        if reduced {
            match &self.reduced {
                None => {}
                Some(Value::Boolean(false)) => return Ok(vec![]),
                Some(Value::Boolean(true)) => {}
                Some(Value::Table(fewer)) => {
                    let fewer: For = fewer
                        .clone()
                        .try_into()
                        .map_err(|error| Error::new(error).at("reduced"))?;
                    axes.extend(fewer);
                }
                Some(other) => {
                    let message = format!("{other} is neither false nor a table of lists");
                    return Err(Error::new(message).at("reduced"));
                }
            }
        }
        let planned = |mut binding: Binding| {
            for (name, value) in &condition.binding {
                binding.entry(name.clone()).or_insert_with(|| value.clone());
            }
            self.planned(&binding, condition)
        };
        combinations(&axes).into_iter().map(planned).collect()
    }

    /// Whether its values are computed or read from the configuration, so that no schedule is
    /// needed.
    pub fn by_rule(&self) -> bool {
        self.rule.is_some() || self.values.values().all(|what| what.starts_with("tunable "))
    }

    fn planned(&self, binding: &Binding, condition: &Condition) -> Result<Planned, Error> {
        let fill = |text: &str| fill(text, binding);
        let filled = |value: &Value| fill(&text_of(value));
        let subject = match (&self.bench, &self.workload, &self.rule) {
            (None, None, Some(rule)) => Subject::Rule(fill(rule)),
            (Some(name), None, None) => {
                let set = self.parameters.iter().map(|(name, value)| (name.clone(), filled(value)));
                Subject::Bench { name: fill(name), parameters: set.collect() }
            }
            (None, Some(text), None) => {
                let lines = |lines: &[String]| lines.iter().map(|line| fill(line)).collect();
                Subject::Workload {
                    text: fill(text),
                    groups: lines(&self.groups),
                    at: lines(&self.at),
                }
            }
            _ => return Err("a run needs exactly one of `bench`, `workload` and `rule`".into()),
        };
        let whole = |name: &str, text: String| {
            text.parse::<i64>()
                .map_err(|_| Error::new(format!("\"{text}\" is not a whole number")).at(name))
        };
        let counted = |name: &str, text: String| {
            text.parse::<u32>().map_err(|_| {
                Error::new(format!("\"{text}\" is not a whole number from 0")).at(name)
            })
        };
        let cpus = match &self.cpus {
            Some(value) => {
                let cpus = counted("cpus", filled(value))?;
                if !(1..=CPUS_MAX).contains(&cpus) {
                    return Err(
                        Error::new(format!("{cpus}; a machine has 1 to {CPUS_MAX}")).at("cpus")
                    );
                }
                Some(cpus)
            }
            None => None,
        };
        let limit_ns = match &self.duration_s {
            Some(value) => {
                let text = filled(value);
                let seconds: Option<f64> =
                    text.parse().ok().filter(|seconds| (1e-9..=1e9).contains(seconds));
                let wrong = || {
                    Error::new(format!("\"{text}\" is not a number of seconds above 0"))
                        .at("duration_s")
                };
                Some((seconds.ok_or_else(wrong)? * 1e9) as u64)
            }
            None => None,
        };
        let mut set = vec![];
        for (name, value) in &self.set {
            set.push((name.clone(), whole(name, filled(value))?));
        }
        let mut costs = vec![];
        for (name, value) in &self.costs {
            let text = filled(value);
            let ns = text.parse().ok().filter(|ns| (0.0..=COST_MAX_NS).contains(ns));
            let ns: f64 = ns.ok_or_else(|| {
                Error::new(format!("{text}; a cost must be a number of ns from 0 to {COST_MAX_NS}"))
                    .at(name)
                    .at("costs")
            })?;
            costs.push((fill(name), (ns * 1000.0).round() as i64));
        }
        let nohz = match self.nohz.as_ref().map(filled).as_deref() {
            None => None,
            Some("true") => Some(true),
            Some("false") => Some(false),
            Some(other) => {
                let message = format!("\"{other}\" is neither true nor false");
                return Err(Error::new(message).at("nohz"));
            }
        };
        let hz = match &self.hz {
            Some(value) => Some(counted("hz", filled(value))?),
            None => None,
        };
        let simulation = Simulation {
            subject,
            scheduler: fill(&self.scheduler),
            cpus,
            machine: self.machine.as_deref().map(fill),
            idealised: self.idealised,
            costs,
            change: None,
            nohz,
            hz,
            phase: condition.phase,
            skewed: condition.ticks == Ticks::Skewed,
            set,
            limit_ns,
            seed: 1,
        };
        let simulation = match self.once.is_some() || self.by_rule() {
            true => Simulation { phase: 0, skewed: false, ..simulation },
            false => simulation,
        };
        // A subject that draws nothing at random is the same for every seed. Others draw other
        // numbers under each condition.
        let first = match (&simulation.subject, &self.once) {
            (Subject::Bench { .. }, None) => (condition.number as u64 - 1) * self.seeds + 1,
            _ => 1,
        };
        let seeds = first..first + self.seeds;
        let simulations = seeds.map(|seed| Simulation { seed, ..simulation.clone() });
        Ok(Planned {
            simulations: simulations.collect(),
            values: self.values.iter().map(|(name, what)| (fill(name), fill(what))).collect(),
            by_rule: self.by_rule(),
        })
    }
}

/// Values of a simulation, by quantity.
pub type Measured = BTreeMap<String, Result<f64, Error>>;

impl Planned {
    /// Returns the quantities to take from the simulations.
    pub fn whats(&self) -> impl Iterator<Item = &String> {
        self.values.iter().map(|(_, what)| what)
    }

    /// Returns the names of the values.
    pub fn names(&self) -> impl Iterator<Item = &String> {
        self.values.iter().map(|(name, _)| name)
    }

    /// Computes the values from the results: means over the seeds, and their spread. The reduced
    /// form leaves out values that a shorter run does not have.
    ///
    /// # Errors A simulation could not be run, or a quantity is neither a figure of the benchmark
    /// nor known for runs.
    pub fn values(
        &self,
        done: &BTreeMap<Simulation, Result<Measured, Error>>,
        reduced: bool,
    ) -> Result<Vec<(String, f64)>, Error> {
        let mut values = vec![];
        let mut measured = vec![];
        for simulation in &self.simulations {
            let whole = done[simulation].as_ref().map_err(Error::clone);
            measured.push(whole.at(format!("under {}", simulation.scheduler))?);
        }
        for (name, what) in &self.values {
            let of_seeds: Result<Vec<f64>, Error> =
                measured.iter().map(|measured| measured[what].clone()).collect();
            let of_seeds = match of_seeds {
                Ok(of_seeds) => of_seeds,
                Err(_) if reduced && what.starts_with("table/") => continue,
                Err(error) => return Err(error),
            };
            let mean = mean(&of_seeds);
            values.push((name.clone(), mean));
            if of_seeds.len() > 1 {
                let sd = sample_variance(&of_seeds).sqrt();
                values.push((format!("{name}.sd"), sd));
                values.push((format!("{name}.cv"), sd / mean));
            }
        }
        Ok(values)
    }
}

impl Simulated {
    /// Returns the kernel's costs that were charged; empty if there are no costs.
    pub fn charged(&self) -> &[String] {
        self.report.as_ref().and_then(|report| report.kernel.as_ref()).map_or(&[], |it| &it.charged)
    }

    /// Returns the value of each of `whats`.
    pub fn measure<'a>(&self, whats: impl IntoIterator<Item = &'a String>) -> Measured {
        whats.into_iter().map(|what| (what.clone(), self.value(what))).collect()
    }

    fn value(&self, what: &str) -> Result<f64, Error> {
        if let Some(value) = self.findings.figure(what) {
            return Ok(value);
        }
        if let Some(place) = what.strip_prefix("table/") {
            return table(&self.findings.tables, place).at(what);
        }
        match &self.report {
            Some(report) => measure(report, what),
            None => Err(format!("the rule has no figure {what}").into()),
        }
    }
}

impl Simulation {
    /// Runs the simulation.
    ///
    /// # Errors
    /// Something in it cannot be done.
    pub fn run(&self) -> Result<Simulated, Error> {
        if let Subject::Rule(rule) = &self.subject {
            return Ok(Simulated { findings: calculators::apply(rule)?, report: None });
        }
        let choice = select::find(&self.scheduler).map_err(Error::new)?;
        let machine = match &self.machine {
            Some(name) => {
                let machine = schedlab_lab::machines::find(name)
                    .and_then(|machine| machine.with_first(self.cpus));
                Some(machine.map_err(Error::new)?)
            }
            None => None,
        };
        let cpus =
            machine.as_ref().map_or(self.cpus.unwrap_or(1), |machine| machine.topology.cpus());
        match &self.subject {
            Subject::Bench { name, parameters } => {
                self.run_bench(&choice, machine, cpus, (name, parameters))
            }
            Subject::Workload { text, groups, at } => {
                self.run_workload(&choice, machine, cpus, (text, groups, at))
            }
            Subject::Rule(_) => unreachable!("rules are computed above"),
        }
    }

    fn run_bench(
        &self,
        choice: &Choice,
        machine: Option<Description>,
        cpus: u32,
        (name, parameters): (&str, &[(String, String)]),
    ) -> Result<Simulated, Error> {
        let benchmark = schedlab_bench::find(name)
            .ok_or_else(|| Error::new(format!("there is no benchmark {name}")))?;
        let mut values = Values::defaults(benchmark.parameters());
        for (name, text) in parameters {
            values = values.with(benchmark.parameters(), name, text).map_err(Error::new)?;
        }
        let bench = Bench {
            values,
            config: RunConfig { seed: Some(self.seed), ..self.config(choice, machine, cpus)? },
            ..Bench::new(benchmark)
        };
        if let Some(why) = choice.refuses(&bench.needs()) {
            return Err(format!("{choice} cannot run {name}: {why}").into());
        }
        let run = bench.session(choice).and_then(Session::finish).map_err(Error::new)?;
        if let Some(warning) = run.warning {
            return Err(warning.into());
        }
        Ok(Simulated { findings: run.findings, report: Some(run.report) })
    }

    fn config(
        &self,
        choice: &Choice,
        machine: Option<Description>,
        cpus: u32,
    ) -> Result<RunConfig, Error> {
        let hz = self.hz.or(machine.as_ref().and_then(|machine| machine.hz));
        let ticks = if self.skewed { Ticks::Skewed } else { Ticks::Together };
        let a_second = hz.unwrap_or(choice.release.hz_default);
        Ok(RunConfig {
            tick_offsets_ns: Condition::offsets_ns((self.phase, ticks), cpus, a_second),
            hz,
            costs: self.cost_model(machine.as_ref())?,
            nohz: self.nohz,
            machine,
            limit_ns: self.limit_ns,
            tunables: self.set.clone(),
            ..RunConfig::flat(cpus)
        })
    }

    /// Returns the cost model: none without a machine, or for an idealised one.
    fn cost_model(&self, machine: Option<&Description>) -> Result<Option<CostModel>, Error> {
        let mut costs =
            machine.and_then(|machine| machine.costs.clone()).filter(|_| !self.idealised);
        if let (Some(change), Some(machine), Some(costs)) = (&self.change, machine, &mut costs)
            && let Some(ns) = change.value_on(machine)
        {
            schedlab_lab::machines::set_cost(costs, &change.name, ns).map_err(Error::new)?;
        }
        for (name, thousandths) in &self.costs {
            let costs = costs.get_or_insert_default();
            schedlab_lab::machines::set_cost(costs, name, *thousandths as f64 / 1000.0)
                .map_err(|error| Error::new(error).at("costs"))?;
        }
        Ok(costs)
    }

    fn run_workload(
        &self,
        choice: &Choice,
        machine: Option<Description>,
        cpus: u32,
        (text, lines, at): (&str, &[String], &[String]),
    ) -> Result<Simulated, Error> {
        let target = Target { cpus, limited: self.limit_ns.is_some() };
        let model = rt_app::load("workload", text, &target).map_err(Error::new)?;
        let mut settings = GroupSettings::default();
        settings.add(groups::parse("groups", &lines.join("\n")).map_err(Error::new)?);
        let mut timetable = Timetable::default();
        for action in at {
            timetable.add(Timetable::parse_option(action).map_err(Error::new)?);
        }
        let experiment = Experiment {
            config: self.config(choice, machine, cpus)?,
            timetable,
            ..Experiment::new(model, &settings, cpus).map_err(Error::new)?
        };
        if let Some(why) = choice.refuses(&experiment.needs()) {
            return Err(format!("{choice} cannot run the workload: {why}").into());
        }
        experiment.check_timetable(std::slice::from_ref(choice)).map_err(Error::new)?;
        let run = experiment.session(choice).and_then(Session::finish).map_err(Error::new)?;
        Ok(Simulated { findings: Findings::default(), report: Some(run.report) })
    }
}
