//! Real kernels as witnesses: measurements on a real kernel next to the same workload in the
//! simulator.
//!
//! [`Document`] parses a measurement (`live-schedule/1`, as `schedlab host --out` writes it).
//! [`compare`] runs its workload several times under the scheduler of that kernel, on a machine
//! with costs, late timers and the work of other programs. [`judge`](mod@judge) compares the
//! results, and [`text`] shows them. `docs/live.md` explains the figures.

pub mod counters;
pub mod document;
pub mod judge;
pub mod page;
pub mod places;
pub mod simulate;
pub mod text;
pub mod verdict;

pub use document::Document;
pub use verdict::{Check, Class};

use document::{Placement, Spread};
use judge::{Metric, PlacesRow, TaskRow, Total};
use schedlab_core::Observer;
use schedlab_lab::Error;
use schedlab_lab::parallel;
use schedlab_machine::description::Description;
use serde::{Deserialize, Serialize};
use simulate::{Outcome, PlacementRunner};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

/// Default number of simulated runs of a placement.
pub const RUNS: u32 = 27;

/// Format of the comparison.
const FORMAT: &str = "schedlab-compare/1";

/// Maximum differences between simulated and real figures.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Thresholds {
    /// CPU time, % of the run.
    pub cpu_percent: f64,
    /// Waiting, % of the run.
    pub waiting_percent: f64,
    /// Switches, %.
    pub switches_percent: f64,
    /// Latencies, % ...
    pub latency_percent: f64,
    /// ... or this time, us, if it is larger.
    pub latency_us: f64,
    /// Ends, % of the run.
    pub end_percent: f64,
}

impl Default for Thresholds {
    fn default() -> Thresholds {
        Thresholds {
            cpu_percent: 1.0,
            waiting_percent: 2.0,
            switches_percent: 10.0,
            latency_percent: 25.0,
            latency_us: 50.0,
            end_percent: 1.0,
        }
    }
}

impl Thresholds {
    /// Parses a file of thresholds. Messages refer to it as `file`.
    ///
    /// # Errors
    /// Description of the fault, and its place.
    pub fn parse(file: &str, text: &str) -> Result<Thresholds, String> {
        let wrong = |error: serde_json::Error| {
            let what = document::without_place(&error);
            format!("{file}:{}:{}: {what}", error.line(), error.column())
        };
        let read: Thresholds = serde_json::from_str(text).map_err(wrong)?;
        if !text.trim_start().starts_with('{') {
            return Err(format!("{file}: it must be an object, {{\"cpu_percent\": 1, ...}}"));
        }
        for (name, value) in [
            ("cpu_percent", read.cpu_percent),
            ("waiting_percent", read.waiting_percent),
            ("switches_percent", read.switches_percent),
            ("latency_percent", read.latency_percent),
            ("latency_us", read.latency_us),
            ("end_percent", read.end_percent),
        ] {
            if !(0.0..=1e9).contains(&value) {
                return Err(format!("{file}: {name}: it must be 0 to 1e9, found {value}"));
            }
        }
        Ok(read)
    }
}

/// Source of other programs' work in the simulation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Noise {
    /// A recorded trace; without a trace, a model with the measured share.
    #[default]
    Auto,
    /// A recorded trace, or nothing.
    Replay,
    /// The model, even if there is a trace.
    Model,
    /// No work of other programs.
    None,
}

/// Options of a comparison.
#[derive(Clone, Debug)]
pub struct Options {
    /// The scheduler. `None`: the scheduler of the kernel's release.
    pub scheduler: Option<String>,
    /// A machine whose costs are used. Its CPUs are ignored. `None`: a present-day machine.
    pub machine: Option<Description>,
    /// Costs of single operations, ns.
    pub costs: Vec<(String, f64)>,
    /// Whether nothing costs anything.
    pub no_costs: bool,
    /// Ticks a second. `None`: as measured.
    pub hz: Option<u32>,
    /// Tunables to set.
    pub set: Vec<(String, i64)>,
    /// Number of simulated runs of each placement, with different phases of the tick and random
    /// draws.
    pub runs: u32,
    /// Source of other programs' work.
    pub noise: Noise,
    /// Maximum differences of figures.
    pub thresholds: Thresholds,
    /// Names of placements to compare. Empty: all.
    pub placements: Vec<String>,
    /// Number of threads.
    pub threads: NonZeroUsize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            scheduler: None,
            machine: None,
            costs: vec![],
            no_costs: false,
            hz: None,
            set: vec![],
            runs: RUNS,
            noise: Noise::Auto,
            thresholds: Thresholds::default(),
            placements: vec![],
            threads: parallel::cores(),
        }
    }
}

/// A placement, real and simulated.
#[derive(Clone, Debug, Serialize)]
pub struct PlacementComparison {
    /// The file.
    pub file: String,
    /// The workload.
    pub name: String,
    /// The placement.
    pub placement: String,
    /// The kernel that was measured.
    pub kernel: String,
    /// The simulated scheduler.
    pub scheduler: String,
    /// The simulated machine.
    pub machine: String,
    /// Class whose bounds apply.
    pub class: Class,
    /// Length of a run, ns.
    pub duration_ns: u64,
    /// Number of real runs, and of simulated ones.
    pub runs: [u32; 2],
    /// CPU time of other programs in the real runs, as a share of the CPUs' time: smallest, median,
    /// largest.
    pub foreign: [f64; 3],
    /// Largest share of a run that a hypervisor took.
    pub steal: f64,
    /// Source of other programs' work in the simulation.
    pub noise: String,
    /// The tasks.
    pub tasks: Vec<TaskRow>,
    /// CPU times of like tasks, sorted: pairs of real and simulated time, ns.
    pub sorted_cpu_ns: Vec<(u64, u64)>,
    /// On several CPUs: moves of tasks, and CPUs of wakeups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub places: Option<PlacesRow>,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// CPUs of the machine.
    #[serde(skip)]
    pub cpus: u32,
    /// The task that had each CPU in a real run, and in a simulated one.
    #[serde(skip)]
    pub traces: [Option<places::Trace>; 2],
}

/// The comparison of one or more documents.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Format.
    pub format: &'static str,
    /// Maximum differences of figures.
    pub thresholds: Thresholds,
    /// Results by placement.
    pub placements: Vec<PlacementComparison>,
    /// Totals by class and metric.
    pub totals: Vec<ClassTotals>,
    /// Demands on the model, by class.
    pub checks: Vec<Check>,
    /// Whether all demands are met.
    pub holds: bool,
    /// Placements that were left out, with reasons.
    pub left_out: Vec<String>,
}

/// Totals of a class.
#[derive(Clone, Debug, Serialize)]
pub struct ClassTotals {
    /// The class.
    pub class: Class,
    /// Number of placements.
    pub placements: u64,
    /// Totals by metric.
    pub metrics: BTreeMap<Metric, Total>,
}

/// A placement that can be simulated.
struct Job<'a> {
    document: &'a Document,
    placement: &'a Placement,
    runner: PlacementRunner,
    notes: Vec<String>,
}

/// Compares `documents` with the simulator.
///
/// # Errors
/// A workload cannot be simulated, or a tunable, a cost or a scheduler does not exist.
pub fn compare(documents: &[Document], options: &Options) -> Result<Comparison, Error> {
    compare_observed(documents, options, || ())
}

/// Like [`compare`]. `observe` makes the observer of each simulated run, which can end it by a
/// panic.
///
/// # Errors
/// As for [`compare`].
pub fn compare_observed<O: Observer>(
    documents: &[Document],
    options: &Options,
    observe: impl Fn() -> O + Sync,
) -> Result<Comparison, Error> {
    let mut left_out = vec![];
    let jobs = jobs(documents, options, &mut left_out)?;
    let runs = options.runs.max(1);
    let items: Vec<(usize, u32)> =
        (0..jobs.len()).flat_map(|job| (0..runs).map(move |run| (job, run))).collect();
    // The longest runs do not come last: the runs of a placement are adjacent, and short.
    let outcomes = parallel::map(&items, options.threads, |&(job, run)| {
        jobs[job].runner.run(run, runs, observe())
    });
    let mut outcomes = outcomes.into_iter();
    let mut placements = vec![];
    for job in &jobs {
        let of_job: Vec<Outcome> =
            outcomes.by_ref().take(runs as usize).collect::<Result<_, Error>>()?;
        let strangers = strangers(job, &of_job)?;
        let mut answer = answer(job, &of_job, options);
        answer.notes.extend(strangers);
        placements.push(answer);
    }
    let totals = totals(&placements);
    let checks = verdict::checks(&placements, &totals);
    let holds = checks.iter().all(|check| check.holds);
    let thresholds = options.thresholds;
    Ok(Comparison { format: FORMAT, thresholds, placements, totals, checks, holds, left_out })
}

/// Threads that only one side has: measured threads that no simulated run has, and vice versa.
///
/// # Errors
/// The sides have no thread in common, so there is nothing to compare.
fn strangers(job: &Job<'_>, outcomes: &[Outcome]) -> Result<Vec<String>, Error> {
    let (document, placement) = (job.document, job.placement);
    let real: BTreeSet<&str> = placement.tasks.iter().map(|(name, _)| &**name).collect();
    let simulated: BTreeSet<&str> =
        outcomes.iter().flat_map(|outcome| &outcome.tasks).map(|(name, _)| &**name).collect();
    let listed = |names: Vec<&str>| {
        const SHOWN: usize = 3;
        let shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
        let more = names.len().saturating_sub(SHOWN);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}{more}", shown.join(", "))
    };
    if real.is_disjoint(&simulated) {
        let or_none = |names: Vec<&str>| match names.is_empty() {
            true => "none".into(),
            false => listed(names),
        };
        return Err(Error::Plan(format!(
            "{}: placements.{}.tasks: the measured threads ({}) differ from the scenario's ({}); the \
             name of a thread is that of its task, `-` and a number",
            document.file,
            placement.name,
            or_none(real.into_iter().collect()),
            or_none(simulated.into_iter().collect())
        )));
    }
    let mut notes = vec![];
    let only_real: Vec<&str> = real.difference(&simulated).copied().collect();
    if !only_real.is_empty() {
        notes.push(format!("no simulated run has {}, which is left out", listed(only_real)));
    }
    let only_simulated: Vec<&str> = simulated.difference(&real).copied().collect();
    if !only_simulated.is_empty() {
        notes.push(format!(
            "there is no measurement of {}, which is left out",
            listed(only_simulated)
        ));
    }
    Ok(notes)
}

fn jobs<'a>(
    documents: &'a [Document],
    options: &Options,
    left_out: &mut Vec<String>,
) -> Result<Vec<Job<'a>>, Error> {
    let mut jobs = vec![];
    let all = documents.iter().flat_map(|document| &document.placements);
    let names: BTreeSet<&str> = all.map(|placement| &*placement.name).collect();
    let known = match names.is_empty() {
        true => "none".into(),
        false => Vec::from_iter(names.iter().copied()).join(", "),
    };
    if let Some(name) = options.placements.iter().find(|name| !names.contains(name.as_str())) {
        return Err(Error::Plan(format!(
            "--placement {name}: there is no placement of that name; the placements are {known}"
        )));
    }
    for document in documents {
        for placement in &document.placements {
            let wanted = &options.placements;
            if !wanted.is_empty() && !wanted.contains(&placement.name) {
                continue;
            }
            let at = format!("{}, {}", document.name, placement.name);
            if placement.reads_cpu_clock {
                left_out.push(format!(
                    "{at}: its threads read their own CPU clock; each reading makes the kernel \
                     charge the thread, which may end its slice, and the measurement does not say \
                     how often they do"
                ));
                continue;
            }
            if placement.tasks.is_empty() {
                left_out.push(format!("{at}: no task was measured"));
                continue;
            }
            let (runner, notes) = PlacementRunner::new(document, placement, options)?;
            jobs.push(Job { document, placement, runner, notes });
        }
    }
    if jobs.is_empty() {
        let mut what = format!("there is no placement to compare; the placements are {known}");
        for why in left_out.iter() {
            what.push_str(&format!("\nleft out: {why}"));
        }
        return Err(Error::Plan(what));
    }
    Ok(jobs)
}

fn answer(job: &Job<'_>, outcomes: &[Outcome], options: &Options) -> PlacementComparison {
    let Job { document, placement, runner, notes } = job;
    let thresholds = &options.thresholds;
    let foreign = Spread::of(&placement.foreign);
    let tasks = judge::tasks(placement, outcomes, thresholds);
    let mut notes = notes.clone();
    notes.extend(reasons(placement, &tasks));
    let sorted = judge::sorted_shares(placement, outcomes);
    PlacementComparison {
        file: document.file.clone(),
        name: document.name.clone(),
        placement: placement.name.clone(),
        kernel: document.machine.kernel.clone(),
        scheduler: runner.choice().to_string(),
        machine: runner.machine(),
        class: Class::of(&document.machine, placement),
        duration_ns: placement.duration_ns,
        runs: [placement.runs, outcomes.len() as u32],
        foreign: foreign.map_or([0.0; 3], |share| [share.min, share.median, share.max]),
        steal: placement.steal.iter().copied().fold(0.0, f64::max),
        noise: runner.noise_sentence(),
        sorted_cpu_ns: sorted.iter().map(|&(a, b)| (a.round() as u64, b.round() as u64)).collect(),
        places: judge::places(
            placement,
            outcomes,
            &document.machine.topology,
            equal_weights(document),
        ),
        tasks,
        notes,
        cpus: document.machine.topology.cpus(),
        traces: [placement.trace.clone(), outcomes.first().map(|outcome| outcome.trace.clone())],
    }
}

/// Whether all tasks of the workload have equal weights.
fn equal_weights(document: &Document) -> bool {
    let of = |task: &schedlab_workload::model::Task| {
        let set = &task.properties;
        (set.priority.unwrap_or(0), set.policy, set.taskgroup.clone())
    };
    let mut tasks = document.model.tasks.iter().map(of);
    let first = tasks.next();
    tasks.all(|task| Some(task) == first)
}

/// Reasons that the facts suggest why figures may be missed.
fn reasons(placement: &Placement, tasks: &[TaskRow]) -> Vec<String> {
    /// Larger shares are reported.
    const FOREIGN: f64 = 0.02;
    let mut notes = vec![];
    if placement.rejected {
        notes.push(
            "the measurement is marked as rejected, as too few of its runs were quiet: it proves \
             nothing"
                .into(),
        );
    }
    let widest = tasks
        .iter()
        .filter_map(|task| task.figure(Metric::Cpu))
        .map(|one| (one.real[2] - one.real[0]) as f64 / placement.duration_ns as f64 * 100.0)
        .fold(0.0, f64::max);
    if widest > 1.0 {
        notes.push(format!(
            "the real runs differ among themselves by up to {widest:.1} % of the run"
        ));
    }
    let worst = placement.foreign.iter().copied().fold(0.0, f64::max);
    if worst > FOREIGN {
        let traced = placement.trace.as_ref().is_some_and(places::Trace::has_others);
        let way = if traced { "" } else { " (`schedlab host --trace all` records when)" };
        notes.push(format!("other programs had up to {:.1} % of the CPUs{way}", worst * 100.0));
    }
    if placement.first_ticks_ns.is_empty() {
        let span = tasks
            .iter()
            .filter_map(|task| task.figure(Metric::P99))
            .map(|one| (one.simulated[0], one.simulated[2]))
            .max_by_key(|(least, most)| most - least);
        if let Some((least, most)) = span.filter(|(least, most)| most - least > 1_000_000) {
            notes.push(format!(
                "the phase of the tick is unknown: p99 ranges from {:.1} to {:.1} ms over phases",
                least as f64 / 1e6,
                most as f64 / 1e6
            ));
        }
    }
    notes
}

fn totals(placements: &[PlacementComparison]) -> Vec<ClassTotals> {
    let mut totals = vec![];
    for class in Class::ALL {
        let of_class = || placements.iter().filter(move |answer| answer.class == class);
        let mut metrics: BTreeMap<Metric, Total> = BTreeMap::new();
        for figure in of_class().flat_map(|answer| &answer.tasks).flat_map(|task| &task.figures) {
            metrics.entry(figure.metric).or_default().add(figure);
        }
        let placements = of_class().count() as u64;
        if placements > 0 {
            totals.push(ClassTotals { class, placements, metrics });
        }
    }
    totals
}

impl Placement {
    /// Returns the median share of other programs.
    fn foreign_median(&self) -> f64 {
        Spread::of(&self.foreign).map_or(0.0, |share| share.median)
    }

    /// Whether other programs had more than a thousandth.
    fn is_noisy(&self) -> bool {
        self.foreign_median() > 0.001
    }
}
