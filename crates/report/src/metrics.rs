//! Values of a run for the metrics of the [catalogue]: [`value`], [`measure`], and the metrics by
//! which schedulers are [`compared`].

use crate::data::{RatioSpread, Report, RunReport, Spread, TaskFigures};
use crate::format;
use schedlab_measure::Better;
use schedlab_measure::catalogue::{
    self, BESIDES_IN_CSV, COMPARED, COMPARED_IF_MODELLED, Metric, Named, Scope, Statistic, Unit,
};
use std::fmt;

/// Figure of a run.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum Value {
    /// Duration, ns.
    Duration(u64),
    /// Part of the whole, 0 to 1.
    Part(f64),
    /// Events per second.
    PerSecond(f64),
    /// Index from 0 to 1.
    Index(f64),
    /// One duration over another.
    Ratio(f64),
    /// Count.
    Count(u64),
    /// Energy, J.
    Joules(f64),
    /// Power, W.
    Watts(f64),
}

impl Value {
    /// Returns the figure as text for people.
    pub fn text(self, unicode: bool) -> String {
        match self {
            Value::Duration(ns) => format::duration(ns, unicode),
            Value::Part(part) => format::percent(part),
            Value::PerSecond(rate) => format::per_second(rate),
            Value::Index(index) => format!("{index:.4}"),
            Value::Ratio(ratio) => format::ratio(ratio),
            Value::Count(count) => format::count(count),
            Value::Joules(energy) => format!("{energy:.2} J"),
            Value::Watts(watts) => format!("{watts:.2} W"),
        }
    }

    /// Returns the figure for a spreadsheet: a bare number in the [`unit`](Value::unit).
    pub fn number(self) -> String {
        match self {
            Value::Duration(number) | Value::Count(number) => number.to_string(),
            other => other.as_f64().to_string(),
        }
    }

    /// Returns the unit of [`number`](Value::number).
    pub fn unit(self) -> Unit {
        match self {
            Value::Duration(_) => Unit::Ns,
            Value::Part(_) => Unit::Part,
            Value::PerSecond(_) => Unit::PerSecond,
            Value::Index(_) => Unit::Index,
            Value::Ratio(_) => Unit::Ratio,
            Value::Count(_) => Unit::Count,
            Value::Joules(_) => Unit::Joules,
            Value::Watts(_) => Unit::Watts,
        }
    }

    /// Returns the [`number`](Value::number) as a float.
    pub fn as_f64(self) -> f64 {
        match self {
            Value::Duration(number) | Value::Count(number) => number as f64,
            Value::Part(number)
            | Value::PerSecond(number)
            | Value::Index(number)
            | Value::Ratio(number)
            | Value::Joules(number)
            | Value::Watts(number) => number,
        }
    }
}

/// Returns for each value whether it is the best. No value is if all existing ones are equal, or if
/// neither direction is better.
pub fn best(values: &[Option<Value>], better: Better) -> Vec<bool> {
    let numbers: Vec<_> = values.iter().map(|value| value.map(Value::as_f64)).collect();
    best_number(&numbers, better)
}

/// Like [`best`], for bare numbers.
pub fn best_number(values: &[Option<f64>], better: Better) -> Vec<bool> {
    let numbers = || values.iter().copied().flatten();
    let (least, most) = numbers()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), number| {
            (least.min(number), most.max(number))
        });
    let best = match better {
        Better::Lower => least,
        Better::Higher => most,
        Better::Neither => return vec![false; values.len()],
    };
    values.iter().map(|value| least < most && value.is_some_and(|value| value == best)).collect()
}

/// Returns the metrics by which the runs of `report` are compared, in the order of the table. Costs
/// are left out if all machines are idealised.
pub fn compared(report: &Report) -> impl Iterator<Item = Named> {
    let modelled = report.runs.iter().any(|run| run.kernel.is_some());
    let besides = COMPARED_IF_MODELLED.iter().filter(move |_| modelled);
    COMPARED.iter().chain(besides).filter_map(|id| catalogue::find(id))
}

/// Returns the metrics of the CSV of `report`: those by which its runs are [`compared`], and
/// figures that tables leave out.
pub fn in_csv(report: &Report) -> impl Iterator<Item = Named> {
    compared(report).chain(BESIDES_IN_CSV.iter().filter_map(|id| catalogue::find(id)))
}

/// Returns the value of `run` for a metric of the whole run. `None`: the run has no value (it was
/// not measured, or there is nothing to measure), or the metric has another scope.
pub fn value(run: &RunReport, metric: Named) -> Option<Value> {
    match metric.statistic {
        Some(statistic) if metric.metric.id == "slowdown" => of_ratios(&run.slowdown, statistic),
        Some(statistic) => of_spread(spread(run, metric.metric.id)?, statistic),
        None => of_run(run, metric.metric.id).flatten(),
    }
}

/// Returns the distribution with this id, of the whole run.
fn spread<'a>(run: &'a RunReport, id: &str) -> Option<&'a Spread> {
    Some(match id {
        "wakeup_latency" => &run.wakeup_latency,
        "start_latency" => &run.start_latency,
        "idle_exit" => run.idle_exit.as_ref()?,
        "burst_response" => &run.burst_response,
        "burst_lag" => &run.burst_lag,
        "turnaround" => &run.turnaround,
        "cpu_time" => &run.cpu_time,
        _ => return None,
    })
}

fn of_ratios(spread: &RatioSpread, statistic: Statistic) -> Option<Value> {
    let ratio = match statistic {
        Statistic::Count => return Some(Value::Count(spread.count)),
        Statistic::Sum => Some(spread.sum),
        Statistic::Min => spread.min,
        Statistic::Mean => spread.mean,
        Statistic::P50 => spread.p50,
        Statistic::P90 => spread.p90,
        Statistic::P95 => spread.p95,
        Statistic::P99 => spread.p99,
        Statistic::P999 => spread.p999,
        Statistic::Max => spread.max,
        Statistic::SdPopulation => spread.sd_population,
        Statistic::SdSample => spread.sd_sample,
    };
    ratio.map(Value::Ratio)
}

fn of_spread(spread: &Spread, statistic: Statistic) -> Option<Value> {
    let ns = match statistic {
        Statistic::Count => return Some(Value::Count(spread.count)),
        Statistic::Sum => Some(spread.sum_ns),
        Statistic::Min => spread.min_ns,
        Statistic::Mean => spread.mean_ns,
        Statistic::P50 => spread.p50_ns,
        Statistic::P90 => spread.p90_ns,
        Statistic::P95 => spread.p95_ns,
        Statistic::P99 => spread.p99_ns,
        Statistic::P999 => spread.p999_ns,
        Statistic::Max => spread.max_ns,
        Statistic::SdPopulation => spread.sd_population_ns,
        Statistic::SdSample => spread.sd_sample_ns,
    };
    ns.map(Value::Duration)
}

/// Returns the value of a metric of the whole run that is not a distribution. Inner `None`: the run
/// has no value. Outer `None`: there is no such metric.
fn of_run(run: &RunReport, id: &str) -> Option<Option<Value>> {
    let totals = &run.totals;
    let (fairness, kernel, energy) =
        (run.fairness.as_ref(), run.kernel.as_ref(), run.energy.as_ref());
    let count = |count| Some(Value::Count(count));
    let ns = |ns| Some(Value::Duration(ns));
    let exits = run.idle_exit_of.as_ref();
    let cpu_seconds = || run.cpus.len() as f64 * run.end.at_ns as f64 / 1e9;
    Some(match id {
        "length" => ns(run.end.at_ns),
        "busy" => ns(totals.busy_ns),
        "idle" => ns(totals.idle_ns),
        "cpu_use" => totals.cpu_use.map(Value::Part),
        "tasks_started" => count(totals.tasks_started),
        "tasks_ended" => count(totals.tasks_ended),
        "loops_finished" => count(totals.loops_finished),
        "jobs" => count(totals.jobs),
        "throughput" => totals.throughput_per_s.map(Value::PerSecond),
        "wait" => ns(totals.wait_ns),
        "wait_mean" => totals.wait_mean_ns.map(Value::Duration),
        "wait_max" => ns(totals.wait_max_ns),
        "periods" => count(totals.periods),
        // Without periods none can be missed.
        "missed_periods" => (totals.periods > 0).then_some(Value::Count(totals.missed_periods)),
        "wakeup_latency_p50_idle_exit" => exits.and_then(|it| ns(it.p50_ns?)),
        "wakeup_latency_p99_idle_exit" => exits.and_then(|it| ns(it.p99_ns?)),
        "wakeup_latency_max_idle_exit" => exits.and_then(|it| ns(it.max_ns?)),
        "waiting_at_end" => count(totals.waiting_at_end),
        "wakeups" => count(totals.wakeups),
        "switches" => count(totals.switches),
        "switches_per_cpu_s" => Some(Value::PerSecond(totals.switches as f64 / cpu_seconds())),
        "switches_voluntary" => count(totals.switches_voluntary),
        "switches_involuntary" => count(totals.switches_involuntary),
        "migrations_queue" => count(totals.migrations_queue),
        "migrations_cpu" => count(totals.migrations_cpu),
        "ticks" => count(totals.ticks),
        "jain_by_weight" => fairness.and_then(|it| it.jain_by_weight).map(Value::Index),
        "jain_by_share" => fairness.and_then(|it| it.jain_by_share).map(Value::Index),
        "jain_backlogged" => fairness.and_then(|it| it.jain_backlogged).map(Value::Index),
        "lag_max" => fairness.and_then(|it| ns(it.lag_max_ns)),
        "owed_max" => fairness.and_then(|it| ns(it.owed_max_ns)),
        "ahead_max" => fairness.and_then(|it| ns(it.ahead_max_ns)),
        "owed_end" => fairness.and_then(|it| ns(it.owed_end_ns)),
        "kernel_time" => kernel.and_then(|it| ns(it.kernel_ns)),
        "kernel_with_task" => kernel.and_then(|it| ns(it.with_task_ns)),
        "kernel_idle" => kernel.and_then(|it| ns(it.idle_ns)),
        "kernel_pick" | "kernel_scan" | "kernel_spin" | "kernel_switch" | "kernel_refill"
        | "kernel_wakeup" | "kernel_tick" | "kernel_interrupt" | "kernel_balance"
        | "kernel_awaken" => {
            let kind = id.strip_prefix("kernel_").unwrap_or(id);
            kernel.and_then(|it| ns(it.ns(kind).unwrap_or(0)))
        }
        "kernel_interrupts" => kernel.and_then(|it| count(it.interrupts)),
        "kernel_contended" => kernel.and_then(|it| count(it.contended)),
        "energy" => energy.map(|it| Value::Joules(it.joules)),
        "power_mean" => energy.map(|it| Value::Watts(it.mean_watts)),
        "idle_states" => energy.and_then(|it| ns(it.idle.iter().map(|row| row.ns).sum())),
        "idle_wakeups" => energy.and_then(|it| count(it.wakeups)),
        "cpu_busy_spread" => {
            let busy = || run.cpus.iter().map(|cpu| cpu.busy_ns);
            busy().max().zip(busy().min()).and_then(|(most, least)| ns(most - least))
        }
        _ => return None,
    })
}

/// Reason why a metric has no value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum MeasureError {
    /// No task has that key or is in that group.
    NoTask,
    /// There is no CPU with that number.
    NoCpu,
    /// There is no group with that path.
    NoGroup,
    /// The metric needs two keys.
    TwoKeys,
    /// The machine's power is unknown.
    NoPower,
    /// The machine is idealised: the kernel takes no time on it.
    NoCosts,
    /// The run has no value, or the metric is one of a single task: those are in
    /// [`RunReport::tasks`].
    NoValue,
}

impl fmt::Display for MeasureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MeasureError::NoTask => "there is no such task",
            MeasureError::NoCpu => "there is no such CPU",
            MeasureError::NoGroup => "there is no such group",
            MeasureError::TwoKeys => "needs two keys",
            MeasureError::NoPower => "the machine's power is unknown",
            MeasureError::NoCosts => "the kernel takes no time on this machine",
            MeasureError::NoValue => "the run has no such value",
        })
    }
}

impl std::error::Error for MeasureError {}

/// Returns the value of `run` for `metric`, in the metric's unit. `arguments` name what the
/// [scope](Scope::arguments) of the metric requires: a key, a path, the number of a CPU. A key that
/// is not given is `*`, all tasks.
///
/// # Errors
/// An argument names nothing in the run, or the run has no such value.
pub fn measure(run: &RunReport, metric: Named, arguments: &[&str]) -> Result<f64, MeasureError> {
    let first = arguments.first().copied().unwrap_or("*");
    match metric.metric.scope {
        Scope::Run => {
            value(run, metric).map(Value::as_f64).ok_or_else(|| absent(run, metric.metric))
        }
        Scope::Cpu => of_cpu(run, metric.metric.id, first),
        Scope::Key => of_key(run, metric, first),
        Scope::KeyPair => {
            let second = arguments.get(1).ok_or(MeasureError::TwoKeys)?;
            let cpu_ns = |key| Ok(cpu_times(tasks_of(run, key))?.iter().sum::<f64>());
            Ok(cpu_ns(first)? / cpu_ns(second)?)
        }
        Scope::Group => of_group(run, metric.metric.id, first),
        Scope::Task => Err(MeasureError::NoValue),
    }
}

/// Returns the reason why a run has no value for a metric of the whole run.
fn absent(run: &RunReport, metric: &Metric) -> MeasureError {
    if metric.json.starts_with("energy.") && run.energy.is_none() {
        MeasureError::NoPower
    } else if metric.json.starts_with("kernel.") && run.kernel.is_none() {
        MeasureError::NoCosts
    } else {
        MeasureError::NoValue
    }
}

fn of_cpu(run: &RunReport, id: &str, number: &str) -> Result<f64, MeasureError> {
    let place: usize = number.parse().map_err(|_| MeasureError::NoCpu)?;
    let cpu = run.cpus.get(place).ok_or(MeasureError::NoCpu)?;
    Ok(match id {
        "cpu_busy" => cpu.busy_ns,
        "cpu_idle" => cpu.idle_ns,
        "cpu_switches" => cpu.switches,
        "cpu_ticks" => cpu.ticks,
        "cpu_kernel_time" => {
            let kernel = run.kernel.as_ref().ok_or(MeasureError::NoCosts)?;
            *kernel.cpus_ns.get(place).ok_or(MeasureError::NoCpu)?
        }
        _ => return Err(MeasureError::NoValue),
    } as f64)
}

type Tasks<'a> = Box<dyn Iterator<Item = &'a TaskFigures> + 'a>;

/// Returns the tasks of a key; `*` = all.
fn tasks_of<'a>(run: &'a RunReport, key: &'a str) -> Tasks<'a> {
    Box::new(run.tasks.iter().filter(move |task| key == "*" || task.key == key))
}

/// Returns the tasks born in the group at `path`, or below it.
fn tasks_in<'a>(run: &'a RunReport, path: &'a str) -> Tasks<'a> {
    Box::new(run.tasks.iter().filter(move |task| {
        task.group
            .strip_prefix(path)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || path.ends_with('/'))
    }))
}

/// Returns `figure` of each task that has it, at least one.
fn of_each(
    tasks: Tasks<'_>,
    figure: fn(&TaskFigures) -> Option<u64>,
) -> Result<Vec<f64>, MeasureError> {
    let figures: Vec<f64> = tasks.filter_map(figure).map(|figure| figure as f64).collect();
    if figures.is_empty() { Err(MeasureError::NoTask) } else { Ok(figures) }
}

fn cpu_times(tasks: Tasks<'_>) -> Result<Vec<f64>, MeasureError> {
    of_each(tasks, |task| Some(task.cpu_ns))
}

/// Returns the CPU time of all tasks, ns.
fn total_cpu_ns(run: &RunReport) -> f64 {
    run.tasks.iter().map(|task| task.cpu_ns).sum::<u64>() as f64
}

fn of_key(run: &RunReport, metric: Named, key: &str) -> Result<f64, MeasureError> {
    if let Some(statistic) = metric.statistic {
        let spread = if key == "*" {
            &run.wakeup_latency
        } else {
            let found = run.keys.iter().find(|figures| figures.key == key);
            &found.ok_or(MeasureError::NoTask)?.wakeup_latency
        };
        return of_spread(spread, statistic).map(Value::as_f64).ok_or(MeasureError::NoValue);
    }
    let each = |figure| of_each(tasks_of(run, key), figure);
    let turnaround = || each(|task| task.turnaround_ns);
    let sum = |list: Vec<f64>| list.iter().sum::<f64>();
    Ok(match metric.metric.id {
        "key_tasks" => each(|_| Some(1)).map(sum)?,
        "key_cpu" => each(|task| Some(task.cpu_ns)).map(sum)?,
        "key_cpu_share" => cpu_times(tasks_of(run, key)).map(sum)? / total_cpu_ns(run),
        "key_cpu_min" => least(&cpu_times(tasks_of(run, key))?),
        "key_cpu_max" => most(&cpu_times(tasks_of(run, key))?),
        "key_cpu_variance" => sample_variance(&cpu_times(tasks_of(run, key))?),
        "key_turnaround_mean" => mean(&turnaround()?),
        "key_turnaround_min" => least(&turnaround()?),
        "key_turnaround_max" => most(&turnaround()?),
        "key_turnaround_variance" => sample_variance(&turnaround()?),
        "key_end" => most(&each(|task| task.end_ns)?),
        "key_wait" => each(|task| Some(task.wait_ns)).map(sum)?,
        "key_wait_max" => most(&each(|task| Some(task.wait_max_ns))?),
        "key_latency_mean" => mean(&each(|task| task.latency_mean_ns)?),
        "key_latency_max" => most(&each(|task| task.latency_max_ns)?),
        "key_migrations_max" => most(&each(|task| Some(task.migrations_cpu))?),
        "key_jobs" => each(|task| Some(task.jobs)).map(sum)?,
        _ => return Err(MeasureError::NoValue),
    })
}

fn of_group(run: &RunReport, id: &str, path: &str) -> Result<f64, MeasureError> {
    // Sums over the tasks born in the group.
    match id {
        "group_cpu_share" => {
            let sum: f64 = cpu_times(tasks_in(run, path))?.iter().sum();
            return Ok(sum / total_cpu_ns(run));
        }
        "group_end" => return Ok(most(&of_each(tasks_in(run, path), |task| task.end_ns)?)),
        "group_turnaround_mean" => {
            return Ok(mean(&of_each(tasks_in(run, path), |task| task.turnaround_ns)?));
        }
        _ => {}
    }
    let group = run.groups.iter().find(|group| group.path == path).ok_or(MeasureError::NoGroup)?;
    let throttling = || group.throttling.as_ref().ok_or(MeasureError::NoValue);
    Ok(match id {
        "group_usage" => group.usage_ns as f64,
        "group_machine_share" => group.machine_share.ok_or(MeasureError::NoValue)?,
        "group_nr_periods" => throttling()?.nr_periods as f64,
        "group_nr_throttled" => throttling()?.nr_throttled as f64,
        "group_throttled" => throttling()?.throttled_ns as f64,
        "group_nr_bursts" => throttling()?.nr_bursts as f64,
        "group_burst" => throttling()?.burst_ns as f64,
        "group_period_phase" => throttling()?.period_phase_ns.ok_or(MeasureError::NoValue)? as f64,
        _ => return Err(MeasureError::NoValue),
    })
}

/// Returns the mean; of an empty list, NaN.
pub fn mean(list: &[f64]) -> f64 {
    list.iter().sum::<f64>() / list.len() as f64
}

/// Returns the variance with divisor n - 1; of fewer than two values, 0.
pub fn sample_variance(list: &[f64]) -> f64 {
    variance(list, 1.0)
}

/// Returns the variance with divisor n - `less`; 0 if the divisor is 0.
pub fn variance(list: &[f64], less: f64) -> f64 {
    let mean = mean(list);
    let sum: f64 = list.iter().map(|value| (value - mean) * (value - mean)).sum();
    let divisor = list.len() as f64 - less;
    if divisor > 0.0 { sum / divisor } else { 0.0 }
}

/// Returns the minimum; of an empty list, infinity.
pub fn least(list: &[f64]) -> f64 {
    list.iter().copied().fold(f64::INFINITY, f64::min)
}

/// Returns the maximum; of an empty list, minus infinity.
pub fn most(list: &[f64]) -> f64 {
    list.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::tests::{empty_run, full_run};
    use schedlab_measure::catalogue::{ALL, every};
    use std::collections::BTreeSet;

    #[test]
    fn the_best_is_marked_only_where_there_is_a_difference() {
        let ns = |values: &[u64]| -> Vec<_> {
            values.iter().map(|&ns| Some(Value::Duration(ns))).collect()
        };
        assert_eq!(best(&ns(&[3, 1, 2, 1]), Better::Lower), [false, true, false, true]);
        assert_eq!(best(&ns(&[3, 1]), Better::Higher), [true, false]);
        assert_eq!(best(&ns(&[3, 1]), Better::Neither), [false, false]);
        assert_eq!(best(&ns(&[2, 2]), Better::Lower), [false, false]);
        assert_eq!(best(&[None, Some(Value::Count(1))], Better::Lower), [false, false]);
    }

    /// In a run in which everything was measured, every metric has a value in the unit of the
    /// catalogue. Exceptions are the metrics of single tasks and of a group's CPUs, which are in
    /// the data.
    #[test]
    fn every_metric_has_a_value() {
        let run = full_run();
        for named in every() {
            let id = named.id();
            let arguments: &[&str] = match named.metric.scope {
                Scope::Run => {
                    let value = value(&run, named).unwrap_or_else(|| panic!("{id} has no value"));
                    assert_eq!(value.unit(), named.unit(), "{id}");
                    &[]
                }
                Scope::Cpu => &["0"],
                Scope::Key => &["a"],
                Scope::KeyPair => &["a", "b"],
                Scope::Group => &["/g"],
                Scope::Task => continue,
            };
            let measured = measure(&run, named, arguments);
            assert_eq!(measured.is_ok(), id != "group_usage_percpu", "{id}: {measured:?}");
        }
    }

    #[test]
    fn what_is_not_there_is_said() {
        let run = empty_run(2, 100, &["a-0", "a-1"]);
        let why = |id, arguments: &[&str]| {
            let metric = catalogue::find(id).expect("the metric is in the catalogue");
            measure(&run, metric, arguments).expect_err(id)
        };
        assert_eq!(why("energy", &[]), MeasureError::NoPower);
        assert_eq!(why("kernel_spin", &[]), MeasureError::NoCosts);
        assert_eq!(why("jain_by_weight", &[]), MeasureError::NoValue);
        assert_eq!(why("cpu_busy", &["2"]), MeasureError::NoCpu);
        assert_eq!(why("key_cpu", &["z"]), MeasureError::NoTask);
        assert_eq!(why("key_turnaround_mean", &[]), MeasureError::NoTask);
        assert_eq!(why("key_cpu_ratio", &["a"]), MeasureError::TwoKeys);
        assert_eq!(why("group_usage", &["/g"]), MeasureError::NoGroup);
    }

    /// Collects the paths of all numbers in a document, with `[]` for each entry of a list.
    fn paths(value: &serde_json::Value, at: &str, found: &mut BTreeSet<String>) {
        match value {
            serde_json::Value::Object(map) => map.iter().for_each(|(name, value)| {
                let dot = if at.is_empty() { "" } else { "." };
                paths(value, &format!("{at}{dot}{name}"), found);
            }),
            serde_json::Value::Array(list) => {
                list.iter().for_each(|value| paths(value, &format!("{at}[]"), found));
            }
            serde_json::Value::Number(_) => {
                found.insert(at.into());
            }
            _ => {}
        }
    }

    /// Numbers of a run's document that are not measurements.
    const NO_METRICS: &[&str] = &[
        "machine.cpus",
        "machine.hz",
        "tunables[].value",
        "seed",
        "fairness.owed_max_task",
        "fairness.ahead_max_task",
        "fairness.owed_end_task",
        "refused",
        "refusals[].at_ns",
        "refusals[].task",
        "tasks[].refused",
        "wakeup_latency_histogram[][]",
        "scheduler.set[].value",
        "repetitions[].seed",
        "repetitions[].at_ns",
        "summary[].count",
        "summary[].min",
        "summary[].median",
        "summary[].mean",
        "summary[].max",
        "summary[].sd",
        "summary[].values[]",
        "cpus[].cpu",
        "tasks[].task",
        "tasks[].nice",
        "tasks[].rt_priority",
        "slices[][]",
        "spans[][]",
    ];

    #[test]
    fn the_numbers_of_the_document_are_the_metrics_of_the_catalogue() {
        let mut found = BTreeSet::new();
        paths(&serde_json::to_value(full_run()).expect("reports serialise"), "", &mut found);
        let mut known: BTreeSet<String> = NO_METRICS.iter().map(|path| (*path).into()).collect();
        for metric in ALL.iter().filter(|metric| !metric.json.is_empty()) {
            if metric.distribution {
                for statistic in Statistic::ALL {
                    let bare = statistic == Statistic::Count || metric.unit != Unit::Ns;
                    let unit = if bare { "" } else { "_ns" };
                    known.insert(format!("{}.{}{unit}", metric.json, statistic.id()));
                }
            } else {
                known.insert(metric.json.into());
            }
        }
        let unknown: Vec<_> = found.difference(&known).collect();
        assert!(unknown.is_empty(), "not in the catalogue: {unknown:?}");
        let absent: Vec<_> = known.difference(&found).collect();
        assert!(absent.is_empty(), "not in the document: {absent:?}");
    }
}
