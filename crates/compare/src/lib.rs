//! The real kernel as witness: what was measured on it, beside the same workload in the simulator.
//!
//! [`Document`] reads a measurement (`live-schedule/1`, as `schedlab host --out` writes it);
//! [`compare`] runs its workload under the scheduler of that kernel, on a machine with costs, late
//! timers and others' work, several times; [`judge`](mod@judge) sets both side by side; [`text`]
//! shows them. `docs/live.md` tells what the figures mean.

pub mod document;
pub mod judge;
pub mod page;
pub mod places;
pub mod seen;
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
use simulate::{Outcome, Stand};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

/// How often a placement is run, if it is not said.
pub const RUNS: u32 = 27;

/// The form of the answer.
const FORMAT: &str = "schedlab-compare/1";

/// How far simulated and real figures may be apart.
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
    /// ... or so many us, whichever is more.
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
    /// Reads a file of thresholds. `file` is what messages call it.
    ///
    /// # Errors
    /// What is wrong with it, and where.
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

/// What stands for others' work in the simulation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Noise {
    /// What a trace recorded; where there is none, a model with the share that was measured.
    #[default]
    Auto,
    /// What a trace recorded, or nothing.
    Replay,
    /// The model, even where there is a trace.
    Model,
    /// Nothing.
    None,
}

/// How to compare.
#[derive(Clone, Debug)]
pub struct Options {
    /// Under what; none: the scheduler of the kernel's release.
    pub scheduler: Option<String>,
    /// What things cost: a machine's; its CPUs do not count. None: a present-day one's.
    pub machine: Option<Description>,
    /// What single things cost, ns.
    pub costs: Vec<(String, f64)>,
    /// Nothing costs anything.
    pub no_costs: bool,
    /// Ticks a second; none: as measured.
    pub hz: Option<u32>,
    /// Tunables to set.
    pub set: Vec<(String, i64)>,
    /// How often each placement is run, over phases of the tick and draws.
    pub runs: u32,
    /// What stands for others' work.
    pub noise: Noise,
    /// How far figures may be apart.
    pub thresholds: Thresholds,
    /// Placements of these names only; empty: all.
    pub placements: Vec<String>,
    /// On so many cores.
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
pub struct PlacementAnswer {
    /// The file.
    pub file: String,
    /// The workload.
    pub name: String,
    /// The placement.
    pub placement: String,
    /// The kernel that was measured.
    pub kernel: String,
    /// Under what it was simulated.
    pub scheduler: String,
    /// On what.
    pub machine: String,
    /// To which bounds it belongs.
    pub class: Class,
    /// Length of a run, ns.
    pub duration_ns: u64,
    /// Real runs, and simulated ones.
    pub runs: [u32; 2],
    /// CPU time of others in the real runs, a share of the CPUs' time: least, median, greatest.
    pub foreign: [f64; 3],
    /// What a hypervisor took: the greatest share of a run.
    pub steal: f64,
    /// What stood for others' work in the simulation.
    pub noise: String,
    /// The tasks.
    pub tasks: Vec<TaskRow>,
    /// CPU times of like tasks, sorted: pairs of real and simulated, ns.
    pub sorted_cpu_ns: Vec<(u64, u64)>,
    /// Of several CPUs: how often tasks moved, and where they woke.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub places: Option<PlacesRow>,
    /// What has to be said about it.
    pub notes: Vec<String>,
    /// CPUs of the machine.
    #[serde(skip)]
    pub cpus: u32,
    /// Who had which CPU in a real run, and in a simulated one.
    #[serde(skip)]
    pub traces: [Option<places::Trace>; 2],
}

/// The comparison of some documents.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    /// The form.
    pub format: &'static str,
    /// How far figures may be apart.
    pub thresholds: Thresholds,
    /// Placement by placement.
    pub placements: Vec<PlacementAnswer>,
    /// By class and metric.
    pub totals: Vec<ClassTotals>,
    /// What is asked of the model, class by class.
    pub checks: Vec<Check>,
    /// Whether all of that is met.
    pub holds: bool,
    /// What was left out, and why.
    pub left_out: Vec<String>,
}

/// The totals of a class.
#[derive(Clone, Debug, Serialize)]
pub struct ClassTotals {
    /// Which.
    pub class: Class,
    /// Placements in it.
    pub placements: u64,
    /// Metric by metric.
    pub metrics: BTreeMap<Metric, Total>,
}

/// A placement that can be simulated.
struct Job<'a> {
    document: &'a Document,
    placement: &'a Placement,
    stand: Stand,
    notes: Vec<String>,
}

/// Compares `documents` with the simulator.
///
/// # Errors
/// A workload cannot be simulated; a tunable, a cost or a scheduler that there is not.
pub fn compare(documents: &[Document], options: &Options) -> Result<Answer, Error> {
    compare_observed(documents, options, || ())
}

/// The same; `observe` makes the observer of each simulated run, which can end it by a panic.
///
/// # Errors
/// As of [`compare`].
pub fn compare_observed<O: Observer>(
    documents: &[Document],
    options: &Options,
    observe: impl Fn() -> O + Sync,
) -> Result<Answer, Error> {
    let mut left_out = vec![];
    let jobs = jobs(documents, options, &mut left_out)?;
    let runs = options.runs.max(1);
    let items: Vec<(usize, u32)> =
        (0..jobs.len()).flat_map(|job| (0..runs).map(move |run| (job, run))).collect();
    // The longest ones are not left to the end: a placement's runs stand together, and are short.
    let outcomes = parallel::map(&items, options.threads, |&(job, run)| {
        jobs[job].stand.run(run, runs, observe())
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
    Ok(Answer { format: FORMAT, thresholds, placements, totals, checks, holds, left_out })
}

/// What only one side has: threads that were measured and that no simulated run has, and the other
/// way round.
///
/// # Errors
/// They have none in common, so that there is nothing to compare.
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
            "{}: placements.{}.tasks: what was measured ({}) is not what the scenario makes ({}); a \
             thread is called as its task, `-` and its number",
            document.file,
            placement.name,
            or_none(real.into_iter().collect()),
            or_none(simulated.into_iter().collect())
        )));
    }
    let mut notes = vec![];
    let only_real: Vec<&str> = real.difference(&simulated).copied().collect();
    if !only_real.is_empty() {
        notes.push(format!("no simulated run has {}: left out", listed(only_real)));
    }
    let only_simulated: Vec<&str> = simulated.difference(&real).copied().collect();
    if !only_simulated.is_empty() {
        notes.push(format!("nothing was measured of {}: left out", listed(only_simulated)));
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
            "--placement {name}: there is no placement of that name; there are {known}"
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
                    "{at}: its threads read their own CPU clock, at which the kernel charges them, \
                     so that slices end there; the simulator has no such reading"
                ));
                continue;
            }
            if placement.tasks.is_empty() {
                left_out.push(format!("{at}: nothing was measured of any task"));
                continue;
            }
            let (stand, notes) = Stand::new(document, placement, options)?;
            jobs.push(Job { document, placement, stand, notes });
        }
    }
    if jobs.is_empty() {
        let mut what = format!("there is no placement to compare; there are {known}");
        for why in left_out.iter() {
            what.push_str(&format!("\nleft out: {why}"));
        }
        return Err(Error::Plan(what));
    }
    Ok(jobs)
}

fn answer(job: &Job<'_>, outcomes: &[Outcome], options: &Options) -> PlacementAnswer {
    let Job { document, placement, stand, notes } = job;
    let thresholds = &options.thresholds;
    let foreign = Spread::of(&placement.foreign);
    let tasks = judge::tasks(placement, outcomes, thresholds);
    let mut notes = notes.clone();
    notes.extend(reasons(placement, &tasks));
    let sorted = judge::sorted_shares(placement, outcomes);
    PlacementAnswer {
        file: document.file.clone(),
        name: document.name.clone(),
        placement: placement.name.clone(),
        kernel: document.machine.kernel.clone(),
        scheduler: stand.choice().to_string(),
        machine: stand.machine(),
        class: Class::of(&document.machine, placement),
        duration_ns: placement.duration_ns,
        runs: [placement.runs, outcomes.len() as u32],
        foreign: foreign.map_or([0.0; 3], |share| [share.min, share.median, share.max]),
        steal: placement.steal.iter().copied().fold(0.0, f64::max),
        noise: stand.noise_sentence(),
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

/// Whether all tasks of the workload weigh the same.
fn equal_weights(document: &Document) -> bool {
    let of = |task: &schedlab_workload::model::Task| {
        let set = &task.properties;
        (set.priority.unwrap_or(0), set.policy, set.taskgroup.clone())
    };
    let mut tasks = document.model.tasks.iter().map(of);
    let first = tasks.next();
    tasks.all(|task| Some(task) == first)
}

/// Why figures may be missed, as far as facts say it.
fn reasons(placement: &Placement, tasks: &[TaskRow]) -> Vec<String> {
    /// Shares above this are told.
    const FOREIGN: f64 = 0.02;
    let mut notes = vec![];
    if placement.rejected {
        notes.push(
            "the measurement is marked as rejected, as too few of its runs were quiet: it bears no \
             witness"
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
        notes.push(format!("others had up to {:.1} % of the CPUs{way}", worst * 100.0));
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

fn totals(placements: &[PlacementAnswer]) -> Vec<ClassTotals> {
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
    /// The median of others' share.
    fn foreign_median(&self) -> f64 {
        Spread::of(&self.foreign).map_or(0.0, |share| share.median)
    }

    /// Whether others had more than a thousandth.
    fn is_noisy(&self) -> bool {
        self.foreign_median() > 0.001
    }
}
