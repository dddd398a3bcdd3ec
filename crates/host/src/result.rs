//! Results as a document and as a table.
//!
//! The document has the format `live-schedule/1`: minimum, median and maximum over the repetitions
//! for each placement and each task, and the slices of one repetition. It also contains the data
//! behind the figures: every repetition, with its noise and each latency.

use crate::facts::format_cpus;
use crate::figures::{Latencies, delta_coded, spread};
use crate::groups::{LOAD_SHARES, LOAD_WEIGHT, Version};
use crate::job::{Measured, Thread};
use crate::measurement::{Outcome, Repetition};
use crate::prepared::Prepared;
use crate::probe::Probe;
use crate::switches::Why;
use crate::tick::{Tick, period_ns};
use schedlab_workload::model::Model;
use schedlab_workload::rt_app;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;

/// The format of the document.
pub const FORMAT: &str = "live-schedule/1";
/// Maximum number of latencies written for each repetition and thread.
const LATENCIES_MAX: usize = 10_000;
/// Number of slices at which the trace ends.
const SLICES_MAX: usize = 50_000;

/// Returns the document.
pub fn document(prepared: &Prepared, outcome: &Outcome) -> Value {
    let name = Path::new(&prepared.name)
        .file_stem()
        .map_or("workload".into(), |stem| stem.to_string_lossy().into_owned());
    let mut groups = Map::new();
    for group in prepared.groups.groups() {
        let mut settings = json!({"shares": group.shares});
        if let Some(quota_us) = group.quota.quota_us {
            settings["quota_us"] = json!(quota_us);
            settings["period_us"] = json!(group.quota.period_us);
        }
        if group.idle {
            settings["idle"] = json!(true);
        }
        groups.insert(group.path.clone(), settings);
    }
    let mut placements = Map::new();
    placements.insert(placement_name(prepared), placement(prepared, outcome));
    json!({
        "format": FORMAT,
        "name": name,
        "made_by": concat!("schedlab host ", env!("CARGO_PKG_VERSION")),
        "machine": machine(prepared, outcome),
        "groups": groups,
        "scenario": scenario(&prepared.model),
        "placements": placements,
    })
}

/// Returns `cpu0`; `both` for all CPUs of a machine with two; `cpus0-3`.
fn placement_name(prepared: &Prepared) -> String {
    match &prepared.cpus[..] {
        [one] => format!("cpu{one}"),
        all if all == prepared.probe.facts.cpus && all.len() == 2 => "both".into(),
        several => format!("cpus{}", format_cpus(several)),
    }
}

fn machine(prepared: &Prepared, outcome: &Outcome) -> Value {
    let Probe { facts, .. } = &prepared.probe;
    let virtual_machine = if facts.virtual_machine { ", virtual machine" } else { "" };
    let hz = facts.hz.clone().or_else(|| {
        outcome.tick.map(|tick| (tick.hz, "measured: gaps in a loop that reads the clock".into()))
    });
    let (hz, hz_source) = hz.map_or((None, None), |(hz, from)| (Some(hz), Some(from)));
    let weight = prepared.probe.home.as_ref().filter(|_| outcome.heavy).map(|home| home.version);
    json!({
        "kernel": facts.release,
        "arch": format!("{}{virtual_machine}", facts.arch),
        "cpus": facts.cpus.len(),
        "smt": facts.has_smt(),
        "topology": facts.topology(),
        "places": facts.places.iter().map(|place| json!({
            "cpu": place.cpu, "core": place.core, "cache": place.cache,
            "package": place.package, "node": place.node,
        })).collect::<Vec<_>>(),
        "hz": hz,
        "hz_source": hz_source,
        "tick_phase_ns": outcome.tick.map(|tick| tick.phase_ns),
        "tick_gap_p50_ns": outcome.tick.map(|tick| tick.gap_p50_ns),
        "tick_gap_p99_ns": outcome.tick.map(|tick| tick.gap_p99_ns),
        "preempt": facts.preempt,
        "base_slice_ns": facts.base_slice_ns,
        "base_slice_source": "sched_getattr of a new thread",
        "features": facts.features.as_deref().unwrap_or("not readable"),
        "config": facts.config,
        "autogroup": facts.autogroup,
        "rt_runtime_us": facts.rt_runtime_us,
        "rt_runtime_us_of_group": outcome.rt_runtime_us,
        "load_group_cpu_shares": (weight == Some(Version::V1)).then_some(LOAD_SHARES),
        "load_group_cpu_weight": (weight == Some(Version::V2)).then_some(LOAD_WEIGHT),
        "governors": facts.governors,
        "timer_slack_ns": 1,
    })
}

/// Returns the workload as JSON in which every key occurs once.
fn scenario(model: &Model) -> Value {
    let mut model = model.clone();
    for task in &mut model.tasks {
        let mut phases = BTreeSet::new();
        for phase in &mut task.phases {
            phase.name = unique(&mut phases, &phase.name);
            let mut events = BTreeSet::new();
            for event in &mut phase.events {
                event.key = unique(&mut events, &event.key);
            }
        }
    }
    serde_json::from_str(&rt_app::write(&model)).expect("the written workload is JSON")
}

/// Returns the name, with a number appended if it occurred before.
fn unique(seen: &mut BTreeSet<String>, name: &str) -> String {
    let candidates = (2..).map(|number| format!("{name}_{number}"));
    let free = std::iter::once(name.to_string()).chain(candidates).find(|one| !seen.contains(one));
    let name = free.expect("some number is free");
    seen.insert(name.clone());
    name
}

/// Returns the repetitions that count: the quiet ones or, if there are none, all, marked as
/// rejected.
fn counted(outcome: &Outcome) -> Vec<&Repetition> {
    let quiet: Vec<_> = outcome.repetitions.iter().filter(|one| one.is_quiet).collect();
    if quiet.is_empty() { outcome.repetitions.iter().collect() } else { quiet }
}

fn placement(prepared: &Prepared, outcome: &Outcome) -> Value {
    let counted = counted(outcome);
    let noisy = counted.iter().filter(|one| !one.measured.noise.is_quiet(0.02)).count();
    let round = |share: f64| (share * 1e6).round() / 1e6;
    let foreign: Vec<f64> = counted.iter().map(|one| round(one.measured.noise.foreign)).collect();
    let steal: Vec<f64> = counted.iter().map(|one| round(one.measured.noise.steal)).collect();
    let quietest =
        counted.iter().min_by(|a, b| a.measured.noise.foreign.total_cmp(&b.measured.noise.foreign));
    let repetitions: Vec<Value> =
        outcome.repetitions.iter().map(|one| repetition(one, outcome.tick.as_ref())).collect();
    let accounts = prepared.probe.accounts.for_cpus(&prepared.cpus, &prepared.probe.facts);
    json!({
        "runs": counted.len(),
        "runs_with_noise_over_2_percent": noisy,
        "discarded_runs": outcome.repetitions.len() - counted.len(),
        "rejected": !outcome.is_quiet,
        "runs_wanted": prepared.options.runs,
        "noise_limit": prepared.options.noise_limit,
        "noise_source": accounts.source.name(),
        "cpus": prepared.cpus,
        "duration_ns": counted.iter().map(|one| one.measured.duration_ns).max(),
        "start": prepared.options.start.name(),
        "main_thread": quietest.map(|one| one.measured.main.clone()),
        "memory_locked": quietest.map(|one| one.measured.memory_locked),
        "left_out": prepared.left_out.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "notes": prepared.notes,
        "foreign_cpu_fraction": foreign,
        "steal_fraction": steal,
        "tasks": tasks(&counted),
        "trace": match &outcome.traced {
            Some(traced) => trace_of_all(traced),
            None => quietest.copied().and_then(|it| {
                let place = outcome.repetitions.iter().position(|one| std::ptr::eq(one, it));
                trace(&it.measured, place)
            }),
        },
        "repetitions": repetitions,
    })
}

/// Returns the threads of each name, one from each repetition, in the order in which the names
/// occur.
fn by_name<'a>(counted: &[&'a Repetition]) -> Vec<(&'a str, Vec<(&'a Thread, u64)>)> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut found: Vec<(&str, Vec<(&Thread, u64)>)> = vec![];
    for measured in counted.iter().map(|one| &one.measured) {
        let mut seen: HashSet<&str> = HashSet::new();
        for thread in &measured.threads {
            if !seen.insert(&thread.name) {
                continue;
            }
            let place = *places.entry(&thread.name).or_insert(found.len());
            if place == found.len() {
                found.push((&thread.name, vec![]));
            }
            found[place].1.push((thread, measured.duration_ns));
        }
    }
    found
}

/// Returns the plain figures of a thread, by their names in documents.
fn figures(thread: &Thread) -> [(&'static str, u64); 9] {
    [
        ("cpu_ns", thread.cpu_ns),
        ("burned_ns", thread.burned_ns),
        ("run_delay_ns", thread.run_delay_ns),
        ("times_scheduled_in", thread.times_scheduled_in),
        ("voluntary_switches", thread.voluntary_switches),
        ("involuntary_switches", thread.involuntary_switches),
        ("phase_loops", thread.phase_loops),
        ("end_ns", thread.end_ns),
        ("start_latency_ns", thread.start_latency_ns),
    ]
}

fn tasks(counted: &[&Repetition]) -> Value {
    let mut tasks = Map::new();
    for (name, threads) in by_name(counted) {
        let threads: Vec<&Thread> = threads.into_iter().map(|(thread, _)| thread).collect();
        let mut task = Map::new();
        let all: Vec<_> = threads.iter().map(|thread| figures(thread)).collect();
        for (place, (name, _)) in all[0].iter().enumerate() {
            let values: Vec<u64> = all.iter().map(|figures| figures[place].1).collect();
            task.insert((*name).into(), spread(&values));
        }
        let others: Vec<u64> = threads.iter().filter_map(|one| one.preempted_by_others).collect();
        if !others.is_empty() {
            task.insert("preempted_by_others".into(), spread(&others));
        }
        for (name, of) in [
            ("wake_latency_ns", wake_latencies as fn(&Thread) -> &[u64]),
            ("wait_latency_ns", wait_latencies),
        ] {
            let all: Vec<Latencies> =
                threads.iter().filter_map(|thread| Latencies::of(of(thread))).collect();
            if let Some(first) = all.first() {
                let mut latencies = Map::new();
                for (place, (figure, _)) in first.named().iter().enumerate() {
                    let values: Vec<u64> = all.iter().map(|one| one.named()[place].1).collect();
                    latencies.insert((*figure).into(), spread(&values));
                }
                task.insert(name.into(), latencies.into());
            }
        }
        tasks.insert(name.into(), task.into());
    }
    tasks.into()
}

fn wake_latencies(thread: &Thread) -> &[u64] {
    &thread.wake_latencies_ns
}

fn wait_latencies(thread: &Thread) -> &[u64] {
    &thread.wait_latencies_ns
}

/// Returns one repetition with all measurements.
fn repetition(one: &Repetition, tick: Option<&Tick>) -> Value {
    let measured = &one.measured;
    let mut tasks = Map::new();
    for thread in &measured.threads {
        let mut task = Map::new();
        task.extend(figures(thread).map(|(name, value)| (name.to_string(), json!(value))));
        if let Some(count) = thread.preempted_by_others {
            task.insert("preempted_by_others".into(), json!(count));
        }
        for (name, count) in [("lost_switches", thread.lost_switches), ("gaps", thread.gaps)] {
            if count > 0 {
                task.insert(name.into(), json!(count));
            }
        }
        for (name, values) in [
            ("wake_latencies_ns", &thread.wake_latencies_ns),
            ("wait_latencies_ns", &thread.wait_latencies_ns),
        ] {
            if !values.is_empty() {
                let some = &values[..values.len().min(LATENCIES_MAX)];
                task.insert(
                    name.into(),
                    json!({"count": values.len(), "delta": delta_coded(some)}),
                );
            }
        }
        tasks.insert(thread.name.clone(), task.into());
    }
    json!({
        "quiet": one.is_quiet,
        "duration_ns": measured.duration_ns,
        "foreign_cpu_fraction": measured.noise.foreign,
        "steal_fraction": measured.noise.steal,
        "first_tick_ns": tick.map(|tick| first_tick_ns(tick, measured.start_ns)),
        "tasks": tasks,
    })
}

/// Returns the time of the first tick after the start of a run, ns.
pub fn first_tick_ns(tick: &Tick, start_ns: u64) -> u64 {
    let period_ns = period_ns(tick.hz);
    (tick.phase_ns % period_ns + period_ns - start_ns % period_ns) % period_ns
}

/// Returns where the threads ran in the repetition with this index. `None`: that was not recorded.
fn trace(measured: &Measured, place: Option<usize>) -> Option<Value> {
    let mut slices = vec![];
    for thread in &measured.threads {
        let own = thread.slices.as_ref()?;
        slices.extend(own.iter().map(|slice| (slice.start_ns, *slice, thread.name.as_str())));
    }
    slices.sort_by_key(|&(start_ns, slice, _)| (start_ns, slice.cpu));
    let window_ns = slices.get(SLICES_MAX).map_or(measured.duration_ns, |&(start_ns, ..)| start_ns);
    slices.truncate(SLICES_MAX);
    let why = |why| match why {
        Why::Preempted => 'p',
        Why::Blocked => 'b',
        Why::End => 'e',
    };
    Some(json!({
        "repetition": place,
        "window_ns": window_ns,
        "foreign_cpu_fraction": measured.noise.foreign,
        "recorded": "switches of the workload's own threads; the CPU of a wakeup is that of the next slice",
        "slices": slices
            .iter()
            .map(|(_, slice, name)| json!([slice.cpu, slice.start_ns, slice.end_ns, name]))
            .collect::<Vec<_>>(),
        "slice_ends": slices.iter().map(|(_, slice, _)| why(slice.why)).collect::<String>(),
        "wakeups": wakeups(measured, window_ns),
    }))
}

/// Shortest stay of a thread outside the workload that is included, ns.
const SHORT_NS: u64 = 1_000;

/// Returns the use of the CPUs in a repetition. `None`: that was not recorded.
fn trace_of_all(measured: &Measured) -> Option<Value> {
    let all = measured.all_switches.as_ref()?;
    let own: BTreeMap<u32, &str> =
        measured.threads.iter().map(|thread| (thread.tid, thread.name.as_str())).collect();
    let mut slices: Vec<(u32, u64, u64, &str, char)> = vec![];
    let mut others: BTreeMap<u32, u64> = BTreeMap::new();
    for stay in all.stays.iter().filter(|stay| stay.start_ns < measured.duration_ns) {
        let end_ns = stay.end_ns.min(measured.duration_ns);
        let name = own.get(&stay.tid).copied().unwrap_or(OTHER);
        let end = if stay.preempted { 'p' } else { 'b' };
        if name == OTHER {
            *others.entry(stay.tid).or_default() += end_ns - stay.start_ns;
            // Consecutive stays are merged.
            if let Some(last) = slices.last_mut().filter(|last| {
                last.0 == stay.cpu && last.3 == OTHER && last.2 + SHORT_NS > stay.start_ns
            }) {
                (last.2, last.4) = (end_ns, end);
                continue;
            }
        }
        slices.push((stay.cpu, stay.start_ns, end_ns, name, end));
    }
    slices.retain(|slice| slice.3 != OTHER || slice.2 - slice.1 >= SHORT_NS);
    slices.sort_by_key(|slice| (slice.1, slice.0));
    let window_ns = slices.get(SLICES_MAX).map_or(measured.duration_ns, |slice| slice.1);
    slices.truncate(SLICES_MAX);
    let mut by_time: Vec<(u64, u32)> = others.into_iter().map(|(tid, ns)| (ns, tid)).collect();
    by_time.sort_unstable_by(|a, b| b.cmp(a));
    let name = |tid: &u32| all.names.get(tid).map_or("", String::as_str);
    Some(json!({
        "window_ns": window_ns,
        "foreign_cpu_fraction": measured.noise.foreign,
        "recorded": "switches of all tasks, in a separate run whose figures do not count",
        "lost_switches": all.lost,
        "slices": slices
            .iter()
            .map(|(cpu, start_ns, end_ns, name, _)| json!([cpu, start_ns, end_ns, name]))
            .collect::<Vec<_>>(),
        "slice_ends": slices.iter().map(|slice| slice.4).collect::<String>(),
        "wakeups": wakeups(measured, window_ns),
        "others": by_time
            .iter()
            .take(OTHERS_MAX)
            .map(|(ns, tid)| json!({"tid": tid, "name": name(tid), "cpu_ns": ns}))
            .collect::<Vec<_>>(),
    }))
}

/// Name in a trace for threads outside the workload.
const OTHER: &str = "other";
/// Maximum number of threads outside the workload that are named.
const OTHERS_MAX: usize = 50;

/// Ends of sleeps, each with the CPU of the thread's next slice, if slices were recorded.
fn wakeups(measured: &Measured, window_ns: u64) -> Vec<(u64, &str, u32)> {
    let mut wakeups = vec![];
    for thread in &measured.threads {
        let own = thread.slices.as_deref().unwrap_or_default();
        for &due_ns in thread.due_ns.iter().filter(|&&due_ns| due_ns < window_ns) {
            let next = own.partition_point(|slice| slice.start_ns < due_ns);
            if let Some(slice) = own.get(next) {
                wakeups.push((due_ns, thread.name.as_str(), slice.cpu));
            }
        }
    }
    wakeups.sort_unstable();
    wakeups
}

/// Describes the noise in a line.
pub fn noise_line(outcome: &Outcome) -> String {
    let counted = counted(outcome);
    let mut foreign: Vec<f64> = counted.iter().map(|one| one.measured.noise.foreign).collect();
    foreign.sort_by(f64::total_cmp);
    let percent = |share: f64| format!("{:.1}", share * 100.0);
    let steal = counted.iter().map(|one| one.measured.noise.steal).fold(0.0, f64::max);
    let quiet = outcome.repetitions.iter().filter(|one| one.is_quiet).count();
    let rejected = match quiet {
        0 => "none of them quiet".to_string(),
        quiet => format!("{} rejected", outcome.repetitions.len() - quiet),
    };
    format!(
        "noise: other processes had {} % of the CPUs ({} to {} in {} {}, {rejected}), steal {}{}",
        percent(foreign[foreign.len() / 2]),
        percent(foreign[0]),
        percent(foreign[foreign.len() - 1]),
        foreign.len(),
        if foreign.len() == 1 { "run" } else { "runs" },
        if steal > 0.0 { format!("up to {} %", percent(steal)) } else { "0".into() },
        if outcome.is_quiet { "" } else { "; REJECTED: too few quiet runs" },
    )
}

/// Rows for the terminal: the head, then a line for each task, all cells as text.
pub fn rows(outcome: &Outcome) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let head = vec![
        "task",
        "CPU ms",
        "CPU %",
        "waiting ms",
        "switches",
        "preempted",
        "wakeups",
        "p50 us",
        "p95 us",
        "p99 us",
        "end s",
    ];
    let counted = counted(outcome);
    let rows = by_name(&counted).into_iter().map(|(name, threads)| {
        let median = |of: &dyn Fn(&Thread) -> u64| {
            let values: Vec<u64> = threads.iter().map(|(thread, _)| of(thread)).collect();
            crate::figures::median(&values).unwrap_or(0)
        };
        let duration_ns = threads.iter().map(|&(_, ns)| ns).max().unwrap_or(1).max(1);
        let cpu_ns = median(&|thread| thread.cpu_ns);
        let ms = |ns: u64| format!("{:.3}", ns as f64 / 1e6);
        let all: Vec<u64> =
            threads.iter().flat_map(|(thread, _)| &thread.wake_latencies_ns).copied().collect();
        let latencies = Latencies::of(&all);
        let us = |of: fn(&Latencies) -> u64| {
            latencies.as_ref().map_or("-".into(), |all| format!("{:.1}", of(all) as f64 / 1e3))
        };
        vec![
            crate::describe::in_line(name),
            ms(cpu_ns),
            format!("{:.2}", cpu_ns as f64 * 100.0 / duration_ns as f64),
            ms(median(&|thread| thread.run_delay_ns)),
            (median(&|thread| thread.voluntary_switches + thread.involuntary_switches)).to_string(),
            median(&|thread| thread.involuntary_switches).to_string(),
            median(&|thread| thread.wake_latencies_ns.len() as u64).to_string(),
            us(|all| all.p50),
            us(|all| all.p95),
            us(|all| all.p99),
            format!("{:.4}", median(&|thread| thread.end_ns) as f64 / 1e9),
        ]
    });
    (head, rows.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::AllSwitches;
    use crate::noise::Noise;
    use crate::options::Options;
    use crate::refusals::tests::root;
    use crate::switches::{Slice, Stay};
    use schedlab_workload::Target;

    const FILE: &str = r#"{"global": {"duration": 1}, "tasks": {
        "A": {"loop": -1, "run": 1000, "sleep": 10, "run": 20}}}"#;

    fn measured(cpu_ns: u64, foreign: f64) -> Measured {
        let slice = |cpu, start_ns, end_ns, why| Slice { cpu, start_ns, end_ns, why };
        Measured {
            duration_ns: 1_000_000_000,
            start_ns: 3_001_000_000,
            noise: Noise { foreign, steal: 0.0 },
            main: "fifo 90".into(),
            memory_locked: true,
            threads: vec![Thread {
                name: "A-0".into(),
                cpu_ns,
                wake_latencies_ns: vec![5_000, 7_000],
                due_ns: vec![150, 900],
                slices: Some(vec![
                    slice(0, 100, 150, Why::Blocked),
                    slice(1, 155, 800, Why::Preempted),
                ]),
                preempted_by_others: Some(1),
                tid: 71,
                ..Thread::default()
            }],
            all_switches: None,
        }
    }

    fn outcome(quiet: &[bool]) -> Outcome {
        let repetitions = quiet.iter().enumerate().map(|(number, &is_quiet)| {
            let foreign = if is_quiet { 0.002 } else { 0.3 } + number as f64 * 0.001;
            Repetition { measured: measured(100 + number as u64, foreign), is_quiet }
        });
        Outcome {
            traced: None,
            repetitions: repetitions.collect(),
            is_quiet: quiet.iter().filter(|&&quiet| quiet).count() >= 2,
            tick: Some(Tick {
                hz: 250,
                phase_ns: 500_000,
                seen: 1.0,
                gap_p50_ns: 5_000,
                gap_p99_ns: 9_000,
            }),
            heavy: true,
            rt_runtime_us: None,
        }
    }

    fn prepared(cpus: &[u32]) -> Prepared {
        let options = Options { runs: 2, cpus: Some(cpus.to_vec()), ..Options::default() };
        Prepared::new("dir/a.json", FILE, root(), options).unwrap()
    }

    #[test]
    fn figures_are_of_quiet_runs_only() {
        let document = document(&prepared(&[0]), &outcome(&[true, false, true]));
        assert_eq!(document["format"], FORMAT);
        assert_eq!(document["name"], "a");
        let placement = &document["placements"]["cpu0"];
        assert_eq!((&placement["runs"], &placement["discarded_runs"]), (&json!(2), &json!(1)));
        assert_eq!(placement["rejected"], false);
        let task = &placement["tasks"]["A-0"];
        assert_eq!(task["cpu_ns"], json!({"min": 100, "median": 101, "max": 102}));
        assert_eq!(task["wake_latency_ns"]["p50"]["median"], 5_000);
        assert_eq!(placement["repetitions"].as_array().unwrap().len(), 3);
        assert_eq!(placement["repetitions"][0]["first_tick_ns"], 3_500_000);
        let trace = &placement["trace"];
        assert_eq!(trace["slices"], json!([[0, 100, 150, "A-0"], [1, 155, 800, "A-0"]]));
        assert_eq!(trace["slice_ends"], "bp");
        assert_eq!(trace["repetition"], 0);
        assert_eq!(trace["wakeups"], json!([[150, "A-0", 1]]));
    }

    #[test]
    fn a_trace_of_all_has_others_between_the_own() {
        let stay =
            |cpu, start_ns, end_ns, tid, preempted| Stay { cpu, start_ns, end_ns, tid, preempted };
        let stays = vec![
            stay(0, 0, 5_000, 71, true),
            // Two threads outside the workload, one after the other, and one stay that is too
            // short.
            stay(0, 5_000, 7_000, 8, false),
            stay(0, 7_100, 9_000, 9, false),
            stay(0, 10_000, 20_000, 71, false),
            stay(0, 20_000, 20_500, 8, false),
            stay(1, 999_999_000, 1_000_000_500, 71, false),
            stay(1, 1_000_000_600, 1_000_000_700, 71, false),
        ];
        let names = [(8, "cc".to_string())].into();
        let traced = Measured {
            all_switches: Some(AllSwitches { stays, lost: 0, names }),
            ..measured(100, 0.0)
        };
        let outcome = Outcome { traced: Some(traced), ..outcome(&[true, true]) };
        let document = document(&prepared(&[0, 1]), &outcome);
        let trace = &document["placements"]["both"]["trace"];
        assert_eq!(
            trace["slices"],
            json!([
                [0, 0, 5_000, "A-0"],
                [0, 5_000, 9_000, "other"],
                [0, 10_000, 20_000, "A-0"],
                [1, 999_999_000, 1_000_000_000, "A-0"]
            ])
        );
        assert_eq!(trace["slice_ends"], "pbbb");
        assert_eq!(trace["others"][0], json!({"tid": 8, "name": "cc", "cpu_ns": 2_500}));
    }

    #[test]
    fn what_is_too_noisy_says_so() {
        let rejected = outcome(&[false, false]);
        let document = document(&prepared(&[0, 1]), &rejected);
        let placement = &document["placements"]["both"];
        assert_eq!((&placement["rejected"], &placement["runs"]), (&json!(true), &json!(2)));
        assert_eq!(placement["runs_with_noise_over_2_percent"], 2);
        assert_eq!(
            noise_line(&rejected),
            "noise: other processes had 30.1 % of the CPUs (30.0 to 30.1 in 2 runs, none of them \
             quiet), steal 0; REJECTED: too few quiet runs"
        );
        let line = noise_line(&outcome(&[true, false, true]));
        assert_eq!(
            line,
            "noise: other processes had 0.4 % of the CPUs (0.2 to 0.4 in 2 runs, 1 rejected), \
             steal 0"
        );
    }

    #[test]
    fn the_scenario_is_the_same_workload() {
        let prepared = prepared(&[0]);
        let text = scenario(&prepared.model).to_string();
        let again = rt_app::load("again", &text, &Target::new(2)).unwrap();
        let actions = |model: &Model| {
            let events = model.tasks[0].phases[0].events.iter();
            events.map(|event| event.action.clone()).collect::<Vec<_>>()
        };
        assert_eq!(actions(&again), actions(&prepared.model));
        assert_eq!(again.global.duration_ns, Some(1_000_000_000));
    }

    #[test]
    fn the_first_tick_is_within_a_period_of_the_start() {
        let tick = Tick { hz: 1000, phase_ns: 0, seen: 1.0, gap_p50_ns: 0, gap_p99_ns: 0 };
        assert_eq!(first_tick_ns(&tick, 5_000_000), 0);
        assert_eq!(first_tick_ns(&tick, 5_000_001), 999_999);
    }

    #[test]
    fn the_table_has_a_cell_for_each_column() {
        let (head, rows) = rows(&outcome(&[true, true]));
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].len(), head.len());
        assert_eq!(rows[0][0], "A-0");
        assert_eq!(crate::describe::in_line("a\nb\u{1b}[1m ä"), "a\\nb\\u{1b}[1m ä");
    }
}
