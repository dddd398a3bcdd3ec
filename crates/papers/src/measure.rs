//! What can be asked of a run by name, besides the figures of a benchmark.
//!
//! ```text
//! cpu KEY                 CPU time of the tasks of that key, s
//! cpu-share KEY           the same as a share of what all tasks got
//! cpu-ratio KEY KEY       the first's CPU time over the second's
//! group-share PATH        CPU time of the tasks in that group and below it, as a share of what all tasks got
//! cpu-variance KEY        sample variance of the tasks' CPU times, s^2
//! cpu-min KEY, cpu-max KEY
//! turnaround-mean KEY, turnaround-variance KEY (sample), turnaround-min KEY, turnaround-max KEY     s
//! end KEY                 when the last of them ended, s
//! group-end PATH, group-turnaround-mean PATH
//! wait-max KEY            the longest that one of them waited, s
//! latency-mean KEY, latency-max KEY                                      wakeup latency, ms
//! migrations-max KEY      migrations of the task that migrated most
//! switches, switches-per-cpu-s, migrations, jobs, busy
//! cpu-busy N              how long CPU N ran tasks, s
//! cpu-busy-spread         between the most and the least busy CPU, s
//! ended-by                when the run ended, s
//! tunable NAME            the scheduler's tunable
//! joules, watts           on a machine whose power is known
//! kernel KIND             what the kernel's time of that kind came to on a modelled machine, s: `spin`, `switch`, ...
//!
//! table/TABLE/ROW/COLUMN  a cell of one of the benchmark's tables
//! table/TABLE/*/COLUMN    all cells of a column: their `min`, `max`, `mean` or `sum` with `table/min/TABLE/*/COLUMN`
//! table/sum/TABLE/ROW/*   or of a row
//! ```
//!
//! `*` as a key means all tasks.

use crate::expression::{mean, sample_variance};
use schedlab_bench::benchmark::Table;
use schedlab_report::RunReport;
use schedlab_report::model::TaskFigures;

const NS_PER_S: f64 = 1e9;
const NS_PER_MS: f64 = 1e6;

/// What `what` is in `report`.
///
/// # Errors
/// Says what is not known, or not there.
pub fn measure(report: &RunReport, what: &str) -> Result<f64, String> {
    let value = value_of(report, what)?;
    let mut words = what.split_whitespace();
    let words_most = match words.next().unwrap_or_default() {
        "cpu-ratio" => 2,
        "switches" | "switches-per-cpu-s" | "migrations" | "jobs" | "busy" | "cpu-busy-spread"
        | "joules" | "watts" | "ended-by" => 0,
        _ => 1,
    };
    match words.nth(words_most) {
        Some(word) => Err(format!("{what}: \"{word}\" is a word too many")),
        None => Ok(value),
    }
}

fn value_of(report: &RunReport, what: &str) -> Result<f64, String> {
    let mut words = what.split_whitespace();
    let quantity = words.next().unwrap_or_default();
    let arguments: Vec<&str> = words.collect();
    let key = arguments.first().copied().unwrap_or("*");
    let tasks = || report.tasks.iter().filter(move |task| key == "*" || task.key == key);
    let below = |task: &TaskFigures| {
        let rest = task.group.strip_prefix(key);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || key.ends_with('/'))
    };
    let grouped = || report.tasks.iter().filter(move |task| below(task));
    let cpu_s = |task: &TaskFigures| task.cpu_ns as f64 / NS_PER_S;
    let total_cpu_s: f64 = report.tasks.iter().map(cpu_s).sum();
    let turnaround_s = |task: &TaskFigures| task.turnaround_ns.map(|ns| ns as f64 / NS_PER_S);
    let end_s = |task: &TaskFigures| task.end_ns.map(|ns| ns as f64 / NS_PER_S);
    let some = |list: Vec<f64>| {
        if list.is_empty() { Err(format!("{what}: there is no such task")) } else { Ok(list) }
    };
    let cpu_times = || some(tasks().map(cpu_s).collect());
    let turnarounds = || some(tasks().filter_map(turnaround_s).collect());
    let busy_s = || report.cpus.iter().map(|cpu| cpu.busy_ns as f64 / NS_PER_S);
    Ok(match quantity {
        "cpu" => cpu_times()?.iter().sum(),
        "cpu-share" => cpu_times()?.iter().sum::<f64>() / total_cpu_s,
        "cpu-ratio" => {
            let other = arguments.get(1).ok_or_else(|| format!("{what}: needs two keys"))?;
            let others = report.tasks.iter().filter(|task| *other == "*" || task.key == *other);
            let others = some(others.map(cpu_s).collect())?;
            cpu_times()?.iter().sum::<f64>() / others.iter().sum::<f64>()
        }
        "cpu-variance" => sample_variance(&cpu_times()?),
        "cpu-min" => least(&cpu_times()?),
        "cpu-max" => most(&cpu_times()?),
        "group-share" => some(grouped().map(cpu_s).collect())?.iter().sum::<f64>() / total_cpu_s,
        "group-end" => most(&some(grouped().filter_map(end_s).collect())?),
        "group-turnaround-mean" => mean(&some(grouped().filter_map(turnaround_s).collect())?),
        "turnaround-mean" => mean(&turnarounds()?),
        "turnaround-variance" => sample_variance(&turnarounds()?),
        "turnaround-min" => least(&turnarounds()?),
        "turnaround-max" => most(&turnarounds()?),
        "end" => most(&some(tasks().filter_map(end_s).collect())?),
        "wait-max" => {
            most(&some(tasks().map(|task| task.wait_max_ns as f64 / NS_PER_S).collect())?)
        }
        "latency-mean" => {
            let means =
                tasks().filter_map(|task| task.latency_mean_ns.map(|ns| ns as f64 / NS_PER_MS));
            mean(&some(means.collect())?)
        }
        "latency-max" => {
            let maxima =
                tasks().filter_map(|task| task.latency_max_ns.map(|ns| ns as f64 / NS_PER_MS));
            most(&some(maxima.collect())?)
        }
        "migrations-max" => most(&some(tasks().map(|task| task.migrations_cpu as f64).collect())?),
        "switches" => report.totals.switches as f64,
        "switches-per-cpu-s" => {
            let cpu_s = report.cpus.len() as f64 * report.end.at_ns as f64 / NS_PER_S;
            report.totals.switches as f64 / cpu_s
        }
        "migrations" => report.totals.migrations_cpu as f64,
        "jobs" => report.totals.jobs as f64,
        "busy" => busy_s().sum(),
        "cpu-busy" => {
            let cpu = key.parse::<usize>().ok().and_then(|number| busy_s().nth(number));
            cpu.ok_or_else(|| format!("{what}: there is no such CPU"))?
        }
        "cpu-busy-spread" => {
            let busy: Vec<f64> = busy_s().collect();
            most(&busy) - least(&busy)
        }
        "joules" => report.energy.as_ref().ok_or("the machine's power is not known")?.joules,
        "watts" => report.energy.as_ref().ok_or("the machine's power is not known")?.mean_watts,
        "kernel" => {
            let kernel = report.kernel.as_ref().ok_or("nothing costs anything on the machine")?;
            let kind = kernel.kinds.iter().find(|row| row.kind == key);
            kind.ok_or_else(|| format!("{what}: there is no such kind"))?.ns as f64 / NS_PER_S
        }
        "ended-by" => report.end.at_ns as f64 / NS_PER_S,
        "tunable" => {
            let found = report.tunables.iter().find(|tunable| tunable.name == key);
            found
                .ok_or_else(|| format!("{what}: {} has no such tunable", report.scheduler.name))?
                .value as f64
        }
        _ => {
            return Err(format!("`{what}` is neither a figure of the benchmark nor known of runs"));
        }
    })
}

/// The cell, or what several come to, that `place` names: `TABLE/ROW/COLUMN`, or
/// `min/TABLE/*/COLUMN`.
///
/// # Errors
/// Says what is not there.
pub fn table(tables: &[Table], place: &str) -> Result<f64, String> {
    let parts: Vec<&str> = place.split('/').collect();
    let (function, name, row, column) = match parts[..] {
        [name, row, column] => (None, name, row, column),
        [function, name, row, column] => (Some(function), name, row, column),
        _ => return Err("it must be table/TABLE/ROW/COLUMN".into()),
    };
    let table = tables.iter().find(|table| table.name == name);
    let table = table.ok_or_else(|| format!("the benchmark has no table \"{name}\""))?;
    // The first column is the rows' labels.
    let wanted = |title: &&String| column == "*" || *title == column;
    let columns: Vec<usize> = table
        .columns
        .iter()
        .skip(1)
        .enumerate()
        .filter(|(_, title)| wanted(title))
        .map(|(at, _)| at)
        .collect();
    let rows = table.rows.iter().filter(|candidate| row == "*" || candidate.label == row);
    let cells: Vec<f64> =
        rows.flat_map(|row| columns.iter().filter_map(|&at| row.values.get(at).copied())).collect();
    match (function, &cells[..]) {
        (_, []) => Err("there is no such row or column".into()),
        (None, [cell]) => Ok(*cell),
        (None, _) => Err("that is more than one cell; say table/min/..., max, mean or sum".into()),
        (Some("min"), cells) => Ok(least(cells)),
        (Some("max"), cells) => Ok(most(cells)),
        (Some("mean"), cells) => Ok(mean(cells)),
        (Some("sum"), cells) => Ok(cells.iter().sum()),
        (Some(other), _) => Err(format!("{other} is none of min, max, mean and sum")),
    }
}

fn least(list: &[f64]) -> f64 {
    list.iter().copied().fold(f64::INFINITY, f64::min)
}

fn most(list: &[f64]) -> f64 {
    list.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}
