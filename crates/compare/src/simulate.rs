//! Runs the same workload in the simulator several times, as the document describes its runs, on a
//! machine with costs.

use super::counters::{RunCounters, TaskCounters};
use super::document::{Document, Facts, Placement};
use super::places::{OTHER, Trace};
use super::{Noise, Options};
use schedlab_core::{Observer, Policy};
use schedlab_lab::Error;
use schedlab_lab::RunConfig;
use schedlab_lab::experiment::Experiment;
use schedlab_lab::machines;
use schedlab_lab::select::{self, Choice};
use schedlab_machine::SplitMix64;
use schedlab_machine::costs::{Cost, CostModel};
use schedlab_machine::description::Description;
use schedlab_workload::Start;
use schedlab_workload::model::{Action, Event, Loops, Model, Phase, Properties, Task};

/// Machine that is used for a real one, if none is named.
const REAL: &str = "laptop-2020s";

/// Machine that is used for an emulated one. Its costs are for one CPU. If several CPUs take turns,
/// times are multiplied by the number of busy CPUs.
const EMULATED: &str = "emulated-icount";

/// Cost of interrupting another CPU of a virtual machine, which leaves the virtual machine, ns.
const EXIT_NS: f64 = 13_000.0;

/// Group that contains all threads of the workload, if they were in a group of large weight.
const LOAD_GROUP: &str = "/schedlab-load";

/// Key of the tasks that represent other programs.
const NOISE: &str = "schedlab-noise";

/// Frequency of other programs' work when only its share is known, per second. The pieces are
/// exponentially distributed, by the seed of the run.
const NOISE_A_SECOND: f64 = 50.0;

/// A workload that can be run as it was measured in one placement.
#[derive(Clone, Debug)]
pub struct PlacementRunner {
    experiment: Experiment,
    choice: Choice,
    phases_ns: Vec<u64>,
    /// Period of the tick.
    period_ns: u64,
    duration_ns: u64,
    start: Start,
    entry_ns: u64,
    window_ns: u64,
    /// Tasks of other programs are not part of the model.
    noise: NoiseSource,
    cpus: Vec<u32>,
}

#[derive(Clone, Debug)]
enum NoiseSource {
    None,
    /// Work from a recorded trace.
    Recorded(RecordedNoise),
    /// A share of each CPU.
    Share(f64),
}

/// Work of other programs from a trace.
#[derive(Clone, Debug)]
struct RecordedNoise {
    /// Begin and end of each piece, ns, by CPU.
    by_cpu: Vec<(u32, Vec<(u64, u64)>)>,
    /// Length of the recording, ns.
    window_ns: u64,
    /// Share of the CPUs' time that other programs had in each real run. Empty: the same share as
    /// in the trace.
    shares: Vec<f64>,
}

/// Result of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Names and counters of the workload's threads.
    pub tasks: Vec<(String, TaskCounters)>,
    /// The task that had each CPU.
    pub trace: Trace,
}

/// Returns the scheduler of a kernel of this release, with notes about it.
///
/// # Errors
/// There is none.
pub fn scheduler_of(facts: &Facts, named: Option<&str>) -> Result<(Choice, Vec<String>), Error> {
    if let Some(name) = named {
        return Ok((select::find(name)?, vec![]));
    }
    let name = select::of_kernel(&facts.kernel).ok_or_else(|| {
        let kernel = &facts.kernel;
        Error::Plan(format!("kernel {kernel} has no scheduler here; name one (--scheduler)"))
    })?;
    let choice = select::find(&name)?;
    let version = choice.release.version;
    let mut notes = vec![];
    let is_same = facts
        .kernel
        .strip_prefix(version)
        .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()));
    if !is_same {
        notes.push(format!(
            "kernel {} is not modelled: {choice} replaces it, and differences may be due to the kernel",
            facts.kernel
        ));
    }
    Ok((choice, notes))
}

/// Costs of operations on a machine.
fn costs_of(facts: &Facts, options: &Options) -> Result<(String, Option<CostModel>), Error> {
    if options.no_costs {
        return Ok(("an idealised machine".into(), None));
    }
    let named = |description: &Description| {
        description.costs.clone().ok_or_else(|| {
            let name = &description.name;
            Error::Plan(format!("--machine {name}: its description has no costs"))
        })
    };
    let (name, mut costs) = match &options.machine {
        Some(description) => (description.name.clone(), named(description)?),
        None if facts.emulated => {
            let mut costs = named(&machines::find(EMULATED)?)?;
            costs.cpus_take_turns = facts.topology.cpus() > 1;
            (EMULATED.into(), costs)
        }
        None => {
            let mut costs = named(&machines::find(REAL)?)?;
            if facts.virtual_machine {
                costs.set("ipi_send", EXIT_NS).map_err(Error::Plan)?;
            }
            (REAL.into(), costs)
        }
    };
    for (cost, ns) in &options.costs {
        let wrong = |what: String| Error::Plan(format!("--cost {cost}: {what}"));
        machines::set_cost(&mut costs, cost, *ns).map_err(wrong)?;
    }
    Ok((name, Some(costs)))
}

impl PlacementRunner {
    /// Prepares `placement` of `document`. Also returns notes about it.
    ///
    /// # Errors
    /// The simulator cannot run it, or not under that scheduler.
    pub fn new(
        document: &Document,
        placement: &Placement,
        options: &Options,
    ) -> Result<(PlacementRunner, Vec<String>), Error> {
        let facts = &document.machine;
        let (choice, mut notes) =
            scheduler_of(facts, options.scheduler.as_deref()).map_err(|error| match error {
                // The document names the kernel.
                Error::Plan(what) => Error::Plan(format!("{}: machine: {what}", document.file)),
                error => error,
            })?;
        let (machine, costs) = costs_of(facts, options)?;
        let all = facts.topology.cpus();
        let mut model = document.model.clone();
        model.global.duration_ns = Some(placement.duration_ns);
        let in_group = facts.load_shares.is_some() && choice.release.can.groups;
        let under = if in_group { LOAD_GROUP } else { "" };
        bind(&mut model, placement, all);
        if in_group {
            put_under(&mut model, under);
        }
        let settings = document.group_settings(under).map_err(Error::Plan)?;
        let hz = options.hz.unwrap_or(facts.hz);
        let mut config = RunConfig {
            machine: Some(Description {
                name: machine,
                topology: facts.topology.clone(),
                ..Description::flat(1).expect("a machine can have one CPU")
            }),
            costs,
            hz: Some(hz),
            start: placement.start,
            ..RunConfig::flat(all)
        };
        let known = config.tunables_of(&choice);
        let has = |name: &str| known.iter().any(|tunable| tunable.name == name);
        if let Some(ns) = facts.base_slice_ns.filter(|_| has("base_slice_ns")) {
            config.tunables.push(("base_slice_ns".into(), i64::from(ns)));
        }
        if facts.lazy && has("preempt") {
            config.tunables.push(("preempt".into(), 3));
        }
        if select::has_ni_random(&facts.kernel) && has("NI_RANDOM") {
            config.tunables.push(("NI_RANDOM".into(), 1));
        }
        for (name, value) in &options.set {
            config.tunables.retain(|(other, _)| other != name);
            config.tunables.push((name.clone(), *value));
        }
        let entry_ns = match &config.costs {
            Some(costs) => {
                let kernel = costs.kernel_of(&choice.entry, &choice.release);
                (kernel[Cost::Pick] + kernel[Cost::Switch]) / 1000
            }
            None => 0,
        };
        let (noise, note) = noise_of(placement, options.noise);
        notes.extend(note);
        if matches!(noise, NoiseSource::None)
            && options.noise != Noise::None
            && placement.is_noisy()
        {
            notes.push("the work of other programs is not simulated".into());
        }
        let experiment = Experiment { config, ..Experiment::new(model, &settings, all)? };
        let window_ns =
            placement.trace.as_ref().map_or(placement.duration_ns, |trace| trace.window_ns);
        let runner = PlacementRunner {
            choice: choice.clone(),
            phases_ns: placement.first_ticks_ns.clone(),
            period_ns: 1_000_000_000 / u64::from(hz),
            duration_ns: placement.duration_ns,
            start: placement.start,
            entry_ns,
            window_ns: window_ns.min(placement.duration_ns),
            noise,
            cpus: placement.cpus.clone(),
            experiment,
        };
        if let Some(why) = choice.refuses(&runner.experiment.needs()) {
            return Err(Error::CannotRun { what: format!("{} ({choice})", document.name), why });
        }
        Ok((runner, notes))
    }

    /// Returns the simulated scheduler.
    pub fn choice(&self) -> Choice {
        self.choice.clone()
    }

    /// Returns the simulated machine.
    pub fn machine(&self) -> String {
        self.experiment.config.model_name()
    }

    /// Returns the time of the first tick in run `number` of `runs`, ns after the start.
    fn phase_ns(&self, number: u32, runs: u32) -> u64 {
        let period_ns = self.period_ns;
        match self.phases_ns.len() {
            0 => (2 * u64::from(number) + 1) * period_ns / (2 * u64::from(runs)),
            known => self.phases_ns[number as usize % known] % period_ns,
        }
    }

    /// Makes run `number` of `runs`. `observer` receives its events.
    ///
    /// # Errors
    /// The run failed.
    pub fn run<'o>(
        &self,
        number: u32,
        runs: u32,
        observer: impl Observer + 'o,
    ) -> Result<Outcome, Error> {
        let seed = u64::from(number) + 1;
        let lead_ns = self.start.lead_ns();
        let mut experiment = self.experiment.clone();
        let config = &mut experiment.config;
        // The tasks are created before the start.
        config.tick_phase_ns = (self.phase_ns(number, runs) + lead_ns) % self.period_ns;
        config.seed = Some(seed);
        let all = config.cpus;
        let threads = experiment.model.initial_threads();
        self.add_noise(&mut experiment.model, seed);
        let mut seen = RunCounters::new(all, lead_ns, self.entry_ns, self.window_ns);
        let config = experiment.config.clone();
        seen.takes_turns = config.costs.as_ref().is_some_and(|costs| costs.cpus_take_turns);
        let mut session = experiment.unmeasured_session(&config, &self.choice, 0)?;
        session.observe((&mut seen, observer));
        session.exhaust(u64::MAX)?;
        let kernel = session.kernel();
        let names: Vec<String> =
            kernel.threads().map(|thread| kernel.thread_name(thread.task)).collect();
        let now_ns = session.now_ns();
        drop(session);
        seen.finish(now_ns);
        let mut trace = std::mem::take(&mut seen.trace);
        trace.names = names
            .iter()
            .map(|name| if name.starts_with(NOISE) { OTHER.into() } else { name.clone() })
            .collect();
        trace.wakeups.retain(|wakeup| trace.names[wakeup.task as usize] != OTHER);
        let tasks: Vec<(String, TaskCounters)> = names
            .into_iter()
            .zip(std::mem::take(&mut seen.tasks))
            .filter(|(name, _)| !name.starts_with(NOISE))
            .collect();
        debug_assert!(tasks.len() >= threads);
        Ok(Outcome { tasks, trace })
    }

    /// Returns the length of the workload, ns.
    pub fn duration_ns(&self) -> u64 {
        self.duration_ns
    }

    /// Describes the source of other programs' work.
    pub fn noise_sentence(&self) -> String {
        match &self.noise {
            NoiseSource::None => "other programs' work is left out".into(),
            NoiseSource::Recorded(_) => "other programs' work as in the trace".into(),
            NoiseSource::Share(share) => format!(
                "other programs' work as a model: {:.2} % of each CPU in pieces at random times",
                share * 100.0
            ),
        }
    }

    /// Adds tasks for other programs: one for each CPU, which precedes all tasks of the workload
    /// except its real-time tasks.
    fn add_noise(&self, model: &mut Model, seed: u64) {
        let pieces: Vec<(u32, Vec<(u64, u64)>)> = match &self.noise {
            NoiseSource::None => return,
            NoiseSource::Recorded(recorded) => recorded.pieces(self.duration_ns, seed),
            NoiseSource::Share(share) => {
                let drawn = |&cpu: &u32| (cpu, draw(*share, self.duration_ns, seed, cpu));
                self.cpus.iter().map(drawn).collect()
            }
        };
        for (cpu, pieces) in pieces {
            let mut events = vec![];
            // It begins with its first piece. If it began earlier and slept, its CPU would become
            // newly idle at the start of the run, and pull tasks.
            let delay_ns = pieces.first().map_or(0, |&(from_ns, _)| from_ns);
            let mut at_ns = delay_ns;
            for (number, &(from_ns, to_ns)) in pieces.iter().enumerate() {
                // The first period of the timer counts from the start of the task.
                let period_ns = from_ns - at_ns;
                at_ns = from_ns;
                if period_ns > 0 {
                    let name = "unique".to_string();
                    let action = Action::Timer { name, period_ns, absolute: true };
                    events.push(Event { key: format!("timer{number}"), action });
                }
                events.push(Event {
                    key: format!("run{number}"),
                    action: Action::Run(to_ns - from_ns),
                });
            }
            if events.is_empty() {
                continue;
            }
            model.tasks.push(Task {
                key: format!("{NOISE}-cpu{cpu}"),
                instances: 1,
                delay_ns,
                loops: Loops::Times(1),
                properties: Properties {
                    policy: Some(Policy::Fifo),
                    priority: Some(1),
                    cpus: Some(vec![cpu]),
                    ..Properties::default()
                },
                phases: vec![Phase { events, ..Phase::default() }],
                session: None,
                flat: true,
            });
        }
    }
}

/// Draws other programs' pieces of work on a CPU from a model with only their share.
fn draw(share: f64, duration_ns: u64, seed: u64, cpu: u32) -> Vec<(u64, u64)> {
    const STREAM: u64 = 0x6e6f_6973_6521;
    let mut random = SplitMix64::new(seed ^ STREAM ^ (u64::from(cpu) << 32));
    // Above 0, so that the logarithm is finite.
    let mut exponential = |mean: f64| {
        let part = random.unit() + 1.0 / (1u64 << 53) as f64;
        (-libm::log(part) * mean) as u64
    };
    let length_ns = share * 1e9 / NOISE_A_SECOND;
    let between_ns = (1.0 - share).max(0.01) * 1e9 / NOISE_A_SECOND;
    let mut pieces = vec![];
    let mut at_ns = exponential(between_ns);
    while at_ns < duration_ns {
        let ends_ns = at_ns + exponential(length_ns).max(1_000);
        pieces.push((at_ns, ends_ns));
        at_ns = ends_ns + exponential(between_ns).max(1_000);
    }
    pieces
}

impl RecordedNoise {
    /// Returns the total recorded time, ns.
    fn total_ns(&self) -> u64 {
        self.by_cpu.iter().flat_map(|(_, pieces)| pieces).map(|(from, to)| to - from).sum()
    }

    /// Whether other programs had more time in the window than in any whole run. Then the trace
    /// attributes too much to them.
    fn is_too_much(&self, duration_ns: u64) -> bool {
        /// Tolerated ratio between trace and accounts.
        const MARGIN: f64 = 1.5;
        let most = self.shares.iter().copied().fold(0.0, f64::max);
        let had_ns = most * duration_ns as f64 * self.by_cpu.len() as f64;
        !self.shares.is_empty() && self.total_ns() as f64 > MARGIN * had_ns + 1e6
    }

    /// Returns other programs' pieces of work in a run. The recording is repeated beyond its
    /// window. Each piece occurs with the probability with which the total equals the share of a
    /// real run. The real runs take turns.
    fn pieces(&self, duration_ns: u64, seed: u64) -> Vec<(u32, Vec<(u64, u64)>)> {
        const STREAM: u64 = 0x7265_706c_6179;
        let total_ns = self.total_ns().max(1) as f64;
        let window_ns = self.window_ns.max(1);
        let rest_ns = total_ns * duration_ns.saturating_sub(window_ns) as f64 / window_ns as f64;
        let (first, later) = match self.shares.len() {
            0 => (1.0, 1.0),
            known => {
                let share = self.shares[seed as usize % known];
                let had_ns = share * duration_ns as f64 * self.by_cpu.len() as f64;
                let left_ns = (had_ns - total_ns).max(0.0);
                (had_ns / total_ns, left_ns / rest_ns.max(1.0))
            }
        };
        let mut random = SplitMix64::new(seed ^ STREAM);
        let mut kept = |chance: f64| random.unit() < chance;
        let mut all = vec![];
        for (cpu, pieces) in &self.by_cpu {
            let mut own = vec![];
            for round in 0..duration_ns.div_ceil(window_ns) {
                let by_ns = round * window_ns;
                let chance = if round == 0 { first } else { later };
                let here = pieces.iter().filter(|_| kept(chance));
                own.extend(here.map(|&(from, to)| (from + by_ns, to + by_ns)));
            }
            all.push((*cpu, own));
        }
        all
    }
}

/// Returns the source of other programs' work, with a note about it.
fn noise_of(placement: &Placement, noise: Noise) -> (NoiseSource, Option<String>) {
    /// Smallest share of a CPU that is modelled.
    const LEAST: f64 = 0.0001;
    /// Minimum length of a recording that is representative, ns.
    const WINDOW_NS: u64 = 1_000_000;
    let share = placement.foreign_median();
    let model = || match share >= LEAST {
        true => NoiseSource::Share(share.min(0.9)),
        false => NoiseSource::None,
    };
    let trace = placement.trace.as_ref().filter(|trace| trace.has_others());
    let recorded = trace.filter(|trace| trace.window_ns >= WINDOW_NS).map(|trace| {
        let window_ns = trace.window_ns.min(placement.duration_ns);
        let within = |&cpu: &u32| {
            let mut pieces = trace.others_on(cpu);
            pieces.retain(|&(from_ns, _)| from_ns < window_ns);
            (cpu, pieces)
        };
        let shares = placement.foreign.iter().map(|share| share.clamp(0.0, 1.0)).collect();
        RecordedNoise { by_cpu: placement.cpus.iter().map(within).collect(), window_ns, shares }
    });
    match (noise, recorded) {
        (Noise::None, _) => (NoiseSource::None, None),
        (Noise::Auto, Some(recorded)) if recorded.is_too_much(placement.duration_ns) => {
            let cpus_ns = recorded.window_ns.max(1) as f64 * recorded.by_cpu.len() as f64;
            let note = format!(
                "the trace attributes {:.1} % of the CPUs to other programs, more than the accounts of \
                 any run do: it is not replayed",
                recorded.total_ns() as f64 / cpus_ns * 100.0
            );
            (model(), Some(note))
        }
        (Noise::Auto | Noise::Replay, Some(recorded)) => (NoiseSource::Recorded(recorded), None),
        (Noise::Auto | Noise::Model, _) => (model(), None),
        (Noise::Replay, None) => (NoiseSource::None, None),
    }
}

/// Binds tasks that name no CPUs to the CPUs of the placement.
fn bind(model: &mut Model, placement: &Placement, all: u32) {
    if placement.cpus.len() == all as usize {
        return;
    }
    for task in &mut model.tasks {
        task.properties.cpus.get_or_insert_with(|| placement.cpus.clone());
    }
}

/// Moves all groups of tasks below `under`.
fn put_under(model: &mut Model, under: &str) {
    for task in &mut model.tasks {
        let own = task.properties.taskgroup.take().unwrap_or_default();
        task.properties.taskgroup = Some(format!("{under}{own}"));
        for phase in &mut task.phases {
            if let Some(own) = &mut phase.properties.taskgroup {
                *own = format!("{under}{own}");
            }
        }
    }
}
