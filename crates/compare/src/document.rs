//! A document `live-schedule/1`, parsed and checked: a measurement by `schedlab host`, or by
//! another tool.

use super::places::{RunInterval, Trace, Wakeup};
use schedlab_core::topology::{CPUS_MAX, Place, Topology};
use schedlab_machine::description;
use schedlab_measure::histogram::median_of_sorted;
use schedlab_workload::{GroupSettings, Model, Start, Target, groups, rt_app};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Format of the documents. A suffix after `+` names additional contents.
const FORMAT: &str = "live-schedule/1";

/// Format of documents that are stored with them, with the results of benchmarks.
const BENCHMARKS: &str = "live-benchmarks/1";

/// Ticks a second of kernels that do not report them.
const HZ: u32 = 250;

/// A measured workload.
#[derive(Clone, Debug)]
pub struct Document {
    /// Name in messages.
    pub file: String,
    /// Name of the workload.
    pub name: String,
    /// The machine that was measured.
    pub machine: Facts,
    /// The workload.
    pub model: Model,
    /// Groups of the workload, with their settings.
    pub groups: Vec<(String, GroupFacts)>,
    /// Sets of CPUs on which it ran.
    pub placements: Vec<Placement>,
}

/// A machine with its kernel.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Release of the kernel, such as `6.18.44`.
    pub kernel: String,
    /// Ticks a second.
    pub hz: u32,
    /// The base slice, ns, if it is known.
    pub base_slice_ns: Option<u32>,
    /// Whether the kernel preempts lazily on behalf of fair tasks.
    pub lazy: bool,
    /// Its CPUs.
    pub topology: Topology,
    /// Whether CPUs take turns in an emulator whose clock counts instructions.
    pub emulated: bool,
    /// Whether CPUs belong to a virtual machine, so that interrupting another CPU leaves the
    /// virtual machine.
    pub virtual_machine: bool,
    /// `cpu.shares` of the group that contained all threads, if there was one.
    pub load_shares: Option<u64>,
}

/// Settings of a group.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(expecting = "an object")]
pub struct GroupFacts {
    /// `cpu.shares`.
    pub shares: Option<u64>,
    /// `cpu.cfs_quota_us`.
    pub quota_us: Option<u64>,
    /// `cpu.cfs_period_us`.
    pub period_us: Option<u64>,
    /// `cpu.idle`.
    #[serde(default)]
    pub idle: bool,
}

/// The runs of a workload on some CPUs.
#[derive(Clone, Debug)]
pub struct Placement {
    /// `cpu0`, `both`.
    pub name: String,
    /// CPUs of tasks that do not name CPUs themselves.
    pub cpus: Vec<u32>,
    /// Whether the measurement was rejected because too few runs were quiet.
    pub rejected: bool,
    /// Number of runs that count.
    pub runs: u32,
    /// CPU time of other programs in each run, as a share of the CPUs' time.
    pub foreign: Vec<f64>,
    /// Share that the hypervisor took in each run.
    pub steal: Vec<f64>,
    /// Time of the first tick after the start of each run, ns. Empty: unknown.
    pub first_ticks_ns: Vec<u64>,
    /// Length of a run, ns.
    pub duration_ns: u64,
    /// How threads began.
    pub start: Start,
    /// Whether the threads measured their work by reading their own CPU clock, which makes the
    /// kernel update their accounts.
    pub reads_cpu_clock: bool,
    /// Measurements by thread, in the order of the document.
    pub tasks: Vec<(String, ThreadFigures)>,
    /// The task that had each CPU in one of the runs.
    pub trace: Option<Trace>,
}

/// Measurements of a thread.
#[derive(Clone, Debug, Default)]
pub struct ThreadFigures {
    /// Figures of all runs, where they exist.
    pub figures: BTreeMap<Figure, Spread>,
}

/// A figure of a thread.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Figure {
    /// CPU time, ns.
    Cpu,
    /// Time runnable without a CPU, ns.
    Waiting,
    /// Number of times that it got a CPU.
    ScheduledIn,
    /// Switches at which it slept.
    Voluntary,
    /// Switches at which it was preempted.
    Involuntary,
    /// Time at which it ended, ns.
    End,
    /// Wakeups by timers.
    Wakeups,
    /// Median of the latency of these wakeups, ns.
    P50,
    /// 95th percentile.
    P95,
    /// 99th percentile.
    P99,
}

impl Figure {
    /// Keys of the figures of a thread itself.
    const OWN: [(Figure, &'static str); 6] = [
        (Figure::Cpu, "cpu_ns"),
        (Figure::Waiting, "run_delay_ns"),
        (Figure::ScheduledIn, "times_scheduled_in"),
        (Figure::Voluntary, "voluntary_switches"),
        (Figure::Involuntary, "involuntary_switches"),
        (Figure::End, "end_ns"),
    ];

    /// Keys of the figures of its wakeups.
    const OF_WAKEUPS: [(Figure, &'static str); 4] = [
        (Figure::Wakeups, "count"),
        (Figure::P50, "p50"),
        (Figure::P95, "p95"),
        (Figure::P99, "p99"),
    ];
}

/// A figure over all runs.
#[derive(Clone, PartialEq, Debug)]
pub struct Spread {
    /// Smallest value.
    pub min: f64,
    /// Median.
    pub median: f64,
    /// Largest value.
    pub max: f64,
    /// Value of each run. If a document has only the smallest, median and largest value, these.
    pub each: Vec<f64>,
}

impl Spread {
    /// Returns the spread of the values of all runs. `None`: there are no values.
    pub fn of(values: &[f64]) -> Option<Spread> {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        Some(Spread {
            min: *sorted.first()?,
            median: median_of_sorted(&sorted)?,
            max: *sorted.last()?,
            each: values.to_vec(),
        })
    }
}

/// Returns the key of which the thread with this name is an instance: `H` of `H-0`.
pub fn key_of(name: &str) -> &str {
    name.rsplit_once('-').map_or(name, |(key, _)| key)
}

#[derive(Deserialize)]
struct Form {
    format: Option<String>,
    name: Option<String>,
    machine: Value,
    #[serde(default)]
    groups: BTreeMap<String, GroupFacts>,
    scenario: Value,
    placements: Map<String, Value>,
}

#[derive(Deserialize)]
struct MachineForm {
    kernel: String,
    #[serde(default)]
    arch: String,
    cpus: u32,
    hz: Option<u32>,
    base_slice_ns: Option<u32>,
    #[serde(default)]
    preempt: String,
    topology: Option<Value>,
    places: Option<Vec<PlaceForm>>,
    #[serde(default)]
    vm: bool,
    load_group_cpu_shares: Option<u64>,
    load_group_cpu_weight: Option<u64>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct PlaceForm {
    core: u32,
    cache: Option<u32>,
    #[serde(default)]
    package: u32,
    #[serde(default)]
    node: u32,
}

#[derive(Deserialize)]
struct PlacementForm {
    #[serde(default)]
    runs: u32,
    #[serde(default)]
    rejected: bool,
    cpus: Option<Vec<u32>>,
    #[serde(default)]
    foreign_cpu_fraction: Vec<f64>,
    #[serde(default)]
    steal_fraction: Vec<f64>,
    #[serde(default)]
    tick_phases_ms: Vec<f64>,
    duration_ns: Option<u64>,
    start: Option<String>,
    tasks: Map<String, Value>,
    trace: Option<TraceForm>,
    #[serde(default)]
    repetitions: Vec<Repetition>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Repetition {
    #[serde(default)]
    quiet: bool,
    first_tick_ns: Option<u64>,
    #[serde(default)]
    tasks: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
struct SpreadForm {
    min: Option<f64>,
    median: Option<f64>,
    max: Option<f64>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct TraceForm {
    window_ns: u64,
    slices: Vec<(u32, u64, u64, String)>,
    #[serde(default)]
    wakeups: Vec<(u64, String, Option<u32>)>,
}

/// Parses an object. An error names the key that is wrong.
fn read<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
    let Value::Object(object) = value else {
        return Err("it must be an object, {...}".into());
    };
    let of = |object: &Map<String, Value>| {
        serde_json::from_value::<T>(Value::Object(object.clone()))
            .map_err(|error| error.to_string())
    };
    of(object).map_err(|what| {
        // A field that this object itself lacks is in none of its keys.
        let lacks = |missing: &str| {
            let mut with = object.clone();
            with.insert(missing.into(), Value::Null);
            of(&with).err().as_ref() != Some(&what)
        };
        let missing = what.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`'));
        if missing.is_some_and(lacks) {
            return what;
        }
        // The key without which there is another error, or none.
        let at_fault = |key: &&String| {
            let mut rest = object.clone();
            rest.remove(*key);
            of(&rest).err().as_ref() != Some(&what)
        };
        match object.keys().find(at_fault) {
            Some(key) => format!("{key}: {what}"),
            None => what,
        }
    })
}

/// Returns the message of a JSON error without its place, which is reported separately.
pub(super) fn without_place(error: &serde_json::Error) -> String {
    let place = format!(" at line {} column {}", error.line(), error.column());
    let what = error.to_string();
    what.strip_suffix(&place).map_or(what.clone(), str::to_string)
}

/// Guesses the type of a document of unknown format.
fn perhaps(value: &Value) -> &'static str {
    if value.get("tasks").is_some() {
        "; it looks like a workload, which `schedlab host FILE --out RESULT.json` measures"
    } else if value.get("costs").is_some() {
        "; it looks like a machine's file, which --machine takes"
    } else {
        ""
    }
}

impl Document {
    /// Parses a document. Messages refer to it as `file`. `None`: it is a document of this kind
    /// without a workload (results of benchmarks), so that there is nothing to compare.
    ///
    /// # Errors
    /// Description of the fault, and its place.
    pub fn parse(file: &str, text: &str) -> Result<Option<Document>, String> {
        let wrong = |what: String| format!("{file}: {what}");
        let value: Value = serde_json::from_str(text).map_err(|error| {
            let what = without_place(&error);
            wrong(format!("{}:{}: it is not JSON: {what}", error.line(), error.column()))
        })?;
        let format = value.get("format").and_then(Value::as_str).unwrap_or_default();
        if format == BENCHMARKS {
            return Ok(None);
        }
        if format.split('+').next() != Some(FORMAT) {
            let found = if format.is_empty() { "none".into() } else { format!("\"{format}\"") };
            return Err(wrong(format!(
                "format: it must be \"{FORMAT}\", as `schedlab host --out` writes it; found {found}{}",
                perhaps(&value)
            )));
        }
        let form: Form = read(&value).map_err(wrong)?;
        debug_assert!(form.format.is_some());
        let machine = read::<MachineForm>(&form.machine).and_then(|form| facts(&form));
        let machine = machine.map_err(|what| wrong(format!("machine: {what}")))?;
        let cpus = machine.topology.cpus();
        let scenario = form.scenario.to_string();
        let name = form.name.clone().unwrap_or_else(|| file.to_string());
        let target = Target { cpus, limited: true };
        let model = rt_app::load(&format!("{file}: scenario"), &scenario, &target)
            .map_err(|error| error.to_string())?;
        let mut placements = vec![];
        for (name, value) in &form.placements {
            let at = |what: String| wrong(format!("placements.{name}: {what}"));
            let placement: PlacementForm = read(value).map_err(at)?;
            placements.push(placed(name, placement, &machine, &model).map_err(at)?);
        }
        if placements.is_empty() {
            return Err(wrong("placements: the list is empty, so nothing was measured".into()));
        }
        let groups = form.groups.into_iter().collect();
        Ok(Some(Document { file: file.into(), name, machine, model, groups, placements }))
    }

    /// Settings of its groups, each below `under` (`""`: below the root).
    ///
    /// # Errors
    /// A path or a value is invalid.
    pub fn group_settings(&self, under: &str) -> Result<GroupSettings, String> {
        let mut all = GroupSettings::default();
        let mut add = |path: &str, setting: String| -> Result<(), String> {
            let one = groups::parse_option(&format!("{path}:{setting}"));
            all.add(one.map_err(|error| format!("{}: groups: {error}", self.file))?);
            Ok(())
        };
        if let (false, Some(shares)) = (under.is_empty(), self.machine.load_shares) {
            add(under, format!("cpu.shares={shares}"))?;
        }
        for (path, facts) in &self.groups {
            let path = format!("{under}{path}");
            if let Some(shares) = facts.shares {
                add(&path, format!("cpu.shares={shares}"))?;
            }
            if let Some(quota_us) = facts.quota_us {
                let period_us = facts.period_us.unwrap_or(100_000);
                add(&path, format!("cpu.max={quota_us} {period_us}"))?;
            }
            if facts.idle {
                add(&path, "cpu.idle=1".into())?;
            }
        }
        Ok(all)
    }
}

fn facts(form: &MachineForm) -> Result<Facts, String> {
    if !(1..=CPUS_MAX).contains(&form.cpus) {
        return Err(format!("cpus: it must be 1 to {CPUS_MAX}, found {}", form.cpus));
    }
    let hz = form.hz.unwrap_or(HZ);
    if !(1..=10_000).contains(&hz) {
        return Err(format!("hz: it must be 1 to 10000, found {hz}"));
    }
    if form.base_slice_ns.is_some_and(|ns| !(100_000..=1_000_000_000).contains(&ns)) {
        return Err("base_slice_ns: it must be 100000 to 1000000000".into());
    }
    let topology = match (&form.places, &form.topology) {
        (Some(places), _) => {
            let place = |form: &PlaceForm| Place {
                core: form.core,
                cache: form.cache.unwrap_or(u32::MAX - form.core),
                package: form.package,
                node: form.node,
            };
            Topology::new(places.iter().map(place).collect(), &[])
                .map_err(|error| format!("places: {error}"))?
        }
        (None, Some(topology @ Value::Object(_))) => {
            description::parse_topology(&topology.to_string())
                .map_err(|(place, what)| format!("topology: {place}: {what}"))?
        }
        // One package with one cache is what these documents state for machines without places.
        _ => one_package(form.cpus),
    };
    if topology.cpus() != form.cpus {
        return Err(format!("its places have {} CPUs, but cpus is {}", topology.cpus(), form.cpus));
    }
    Ok(Facts {
        kernel: form.kernel.clone(),
        hz,
        base_slice_ns: form.base_slice_ns,
        lazy: form.preempt.starts_with("lazy") || form.preempt.contains("PREEMPT_LAZY"),
        topology,
        emulated: form.vm,
        virtual_machine: form.vm || form.arch.contains("virtual machine"),
        load_shares: form.load_group_cpu_shares.or_else(|| {
            // A weight of 100 corresponds to 1024 shares.
            form.load_group_cpu_weight
                .map(|weight| (weight.saturating_mul(1024) / 100).clamp(2, 262_144))
        }),
    })
}

/// Returns the cores of one package with one cache.
fn one_package(cpus: u32) -> Topology {
    let places = (0..cpus).map(|cpu| Place { core: cpu, cache: 0, package: 0, node: 0 }).collect();
    Topology::new(places, &[]).expect("a package of cores is a machine")
}

fn placed(
    name: &str,
    form: PlacementForm,
    machine: &Facts,
    model: &Model,
) -> Result<Placement, String> {
    let cpus = machine.topology.cpus();
    let mut on = match (form.cpus, name) {
        (Some(list), _) => list,
        (None, "both" | "vm" | "all") => (0..cpus).collect(),
        (None, name) => {
            let number = name.strip_prefix("cpu").map(|rest| rest.split('-').next().unwrap_or(""));
            let number = number.and_then(|digits| digits.parse().ok());
            vec![number.ok_or(
                "cpus: the CPUs of this placement are missing; give \"cpus\": [...], or \
                 name it cpu0, both or all",
            )?]
        }
    };
    on.sort_unstable();
    on.dedup();
    if on.is_empty() || on.iter().any(|&cpu| cpu >= cpus) {
        return Err(format!("cpus: the machine has CPUs 0 to {}, found {on:?}", cpus - 1));
    }
    let duration_ns = form.duration_ns.or(model.global.duration_ns).ok_or(
        "duration_ns: the length of a run is given neither here nor in the scenario's \
         global.duration",
    )?;
    if duration_ns == 0 {
        return Err("duration_ns: it must be more than 0".into());
    }
    if duration_ns > LONGEST_NS {
        return Err(format!("duration_ns: it must be an hour at most, found {duration_ns} ns"));
    }
    for (name, shares) in [
        ("foreign_cpu_fraction", &form.foreign_cpu_fraction),
        ("steal_fraction", &form.steal_fraction),
    ] {
        // (It may be slightly below 0 or above 1, as accounts are not read simultaneously.)
        if let Some(share) = shares.iter().find(|share| !(-0.5..=1.5).contains(*share)) {
            return Err(format!("{name}: it must be shares of the CPUs, 0 to 1, found {share:?}"));
        }
    }
    let start = match &form.start {
        Some(name) => Start::parse(name).map_err(|what| format!("start: {what}"))?,
        None => Start::Wake,
    };
    let period_ns = 1_000_000_000 / u64::from(machine.hz);
    let counted = |one: &&Repetition| one.quiet || !form.repetitions.iter().any(|one| one.quiet);
    let repetitions: Vec<&Repetition> = form.repetitions.iter().filter(counted).collect();
    let mut first_ticks_ns: Vec<u64> =
        repetitions.iter().filter_map(|one| one.first_tick_ns).map(|ns| ns % period_ns).collect();
    for ms in &form.tick_phases_ms {
        // Time since the last tick.
        if !(0.0..1e6).contains(ms) {
            return Err(format!("tick_phases_ms: {ms} is not a time"));
        }
        let ago_ns = (ms * 1e6).round() as u64 % period_ns;
        first_ticks_ns.push((period_ns - ago_ns) % period_ns);
    }
    let mut tasks = vec![];
    for (task, value) in &form.tasks {
        let at = |what: String| format!("tasks.{task}: {what}");
        let measured = measured(value, task, form.runs, &repetitions).map_err(at)?;
        possible(&measured, duration_ns).map_err(at)?;
        tasks.push((task.clone(), measured));
    }
    let trace = form.trace.map(|form| traced(form, cpus)).transpose()?;
    Ok(Placement {
        name: name.into(),
        cpus: on,
        rejected: form.rejected,
        runs: form.runs.max(1),
        foreign: form.foreign_cpu_fraction,
        steal: form.steal_fraction,
        first_ticks_ns,
        duration_ns,
        start,
        reads_cpu_clock: name.ends_with("-cpuclock"),
        tasks,
        trace,
    })
}

fn measured(
    value: &Value,
    task: &str,
    runs: u32,
    repetitions: &[&Repetition],
) -> Result<ThreadFigures, String> {
    let mut figures = BTreeMap::new();
    let latencies = value.get("wake_latency_ns").filter(|found| !found.is_null());
    if latencies.is_some_and(|found| !found.is_object()) {
        return Err("wake_latency_ns: it must be an object, {...}".into());
    }
    let own = Figure::OWN.iter().map(|one| (one, Some(value)));
    for (&(figure, name), from) in own.chain(Figure::OF_WAKEUPS.iter().map(|one| (one, latencies)))
    {
        let Some(found) = from.and_then(|value| value.get(name)) else { continue };
        let form: SpreadForm = read(found).map_err(|what| format!("{name}: {what}"))?;
        let (Some(min), Some(median), Some(max)) = (form.min, form.median, form.max) else {
            continue;
        };
        if !(min <= median && median <= max) {
            return Err(format!("{name}: median {median} is not between {min} and {max}"));
        }
        if !(min >= 0.0 && max <= LARGEST) {
            return Err(format!("{name}: {min:?} to {max:?} is neither a time nor a count"));
        }
        let each = each_run(figure, name, task, repetitions)
            .map_err(|what| format!("{name}: in repetitions: {what}"))?
            .unwrap_or_else(|| made_of(min, median, max, runs));
        figures.insert(figure, Spread { min, median, max, each });
    }
    Ok(ThreadFigures { figures })
}

/// Checks that no thread had a CPU, or waited for one, for longer than the measured time. (This
/// time may exceed the run, because threads were measured until they saw its end.)
fn possible(measured: &ThreadFigures, duration_ns: u64) -> Result<(), String> {
    let most = 2.0 * duration_ns as f64 + 1e9;
    for (figure, name) in Figure::OWN {
        let spread = measured.figures.get(&figure);
        if let (Figure::Cpu | Figure::Waiting, Some(spread)) = (figure, spread)
            && spread.max > most
        {
            return Err(format!(
                "{name}: {} ns in a run of {duration_ns} ns is impossible",
                spread.max
            ));
        }
    }
    Ok(())
}

/// Returns the figure of each run, if the document has every run.
///
/// # Errors
/// The value is not a figure.
fn each_run(
    figure: Figure,
    name: &str,
    task: &str,
    repetitions: &[&Repetition],
) -> Result<Option<Vec<f64>>, String> {
    let quantile = match figure {
        Figure::P50 => Some(50),
        Figure::P95 => Some(95),
        Figure::P99 => Some(99),
        _ => None,
    };
    let number = |found: &Value| match found.as_f64() {
        Some(value) if (0.0..=LARGEST).contains(&value) => Ok(value),
        _ => Err(format!("{found} is neither a time nor a count")),
    };
    let of = |one: &&Repetition| -> Result<Option<f64>, String> {
        let Some(task) = one.tasks.get(task) else { return Ok(None) };
        let latencies = task.get("wake_latencies_ns");
        let part = match (figure, quantile) {
            (Figure::Wakeups, _) => {
                return latencies.and_then(|all| all.get("count")).map(number).transpose();
            }
            (_, Some(part)) => part,
            _ => return task.get(name).map(number).transpose(),
        };
        let Some(deltas) = latencies.and_then(|all| all.get("delta")) else { return Ok(None) };
        let wrong = || "wake_latencies_ns.delta: it must be a list of differences of times, ns";
        let mut at = 0_i64;
        let next = |delta: &Value| {
            at = delta.as_i64().and_then(|delta| delta.checked_add(at))?;
            u64::try_from(at).ok()
        };
        let values = deltas.as_array().and_then(|all| all.iter().map(next).collect());
        let mut values: Vec<u64> = values.ok_or_else(wrong)?;
        values.sort_unstable();
        let value = schedlab_measure::histogram::percentile_of_sorted(&values, part, 100);
        Ok(value.map(|ns| ns as f64))
    };
    let mut each = vec![];
    for one in repetitions {
        // Without figures of each run, the smallest, median and largest value must suffice.
        let Some(value) = of(one)? else { return Ok(None) };
        each.push(value);
    }
    Ok((!each.is_empty()).then_some(each))
}

/// Values of the runs, derived from the smallest, median and largest. They are exact for up to
/// three runs. For more runs, values between these are equally likely near the ends and near the
/// median; three values come nearest to how well such runs predicted each other where all runs were
/// known.
fn made_of(min: f64, median: f64, max: f64, runs: u32) -> Vec<f64> {
    match runs {
        0 | 1 => vec![median],
        2 => vec![min, max],
        _ => vec![min, median, max],
    }
}

/// Maximum length of a run, ns. The simulation of longer ones would take too long.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// Maximum value of a figure: 11 days in ns, or a count.
const LARGEST: f64 = 1e15;

/// Maximum number of threads in a trace.
const NAMES_MOST: usize = 100_000;

fn traced(form: TraceForm, cpus: u32) -> Result<Trace, String> {
    let too_late = |ns: u64| ns as f64 > LARGEST;
    if too_late(form.window_ns) {
        return Err(format!("trace.window_ns: {} ns is longer than any run", form.window_ns));
    }
    let mut trace = Trace { window_ns: form.window_ns, ..Trace::default() };
    let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
    let mut number = |name: String, names: &mut Vec<String>| -> Result<u32, String> {
        if let Some(&number) = numbers.get(&name) {
            return Ok(number);
        }
        if names.len() >= NAMES_MOST {
            return Err(format!("trace: it names more than {NAMES_MOST} threads"));
        }
        names.push(name.clone());
        numbers.insert(name, names.len() as u32 - 1);
        Ok(names.len() as u32 - 1)
    };
    for (cpu, start_ns, end_ns, name) in form.slices {
        if cpu >= cpus || end_ns < start_ns || too_late(end_ns) {
            return Err(format!(
                "trace.slices: [{cpu}, {start_ns}, {end_ns}, \"{name}\"] is not on a CPU of the \
                 machine, ends before it begins, or is too late"
            ));
        }
        let task = number(name, &mut trace.names)?;
        trace.intervals.push(RunInterval { cpu, start_ns, end_ns, task });
    }
    for (at_ns, name, cpu) in form.wakeups {
        let Some(cpu) = cpu else { continue };
        if cpu >= cpus || too_late(at_ns) {
            return Err(format!(
                "trace.wakeups: [{at_ns}, \"{name}\", {cpu}] is not on a CPU of the machine, or too \
                 late"
            ));
        }
        let task = number(name, &mut trace.names)?;
        trace.wakeups.push(Wakeup { at_ns, task, cpu });
    }
    trace.intervals.sort_by_key(|interval| (interval.start_ns, interval.cpu));
    trace.wakeups.sort_by_key(|wakeup| wakeup.at_ns);
    Ok(trace)
}
