//! Quantities of a run that a paper file can name, in addition to the figures of a benchmark.
//!
//! The words come from the metric catalogue (`schedlab_measure::catalogue`: a metric's `paper`
//! word, with its unit): `cpu-share KEY`, `switches`, `kernel spin`. They are listed in
//! `docs/papers.md` and `docs/metrics.md`. Other words are:
//!
//! ```text
//! tunable NAME            the scheduler's tunable
//! table/TABLE/ROW/COLUMN  a cell of one of the benchmark's tables
//! table/TABLE/*/COLUMN    all cells of a column: their `min`, `max`, `mean` or `sum` with
//!                         `table/min/TABLE/*/COLUMN`
//! table/sum/TABLE/ROW/*   the same for a row
//! ```
//!
//! `*` as a key means all tasks.

use crate::error::{At, Error};
use schedlab_bench::benchmark::Table;
use schedlab_measure::catalogue::{self, Named, Scope};
use schedlab_report::RunReport;
use schedlab_report::metrics::{self, MeasureError, least, mean, most};

/// Returns the value of the quantity `what` in `report`.
///
/// # Errors
/// The quantity is unknown, or has no value in this run.
pub fn measure(report: &RunReport, what: &str) -> Result<f64, Error> {
    let words: Vec<&str> = what.split_whitespace().collect();
    let (quantity, arguments) = match words.split_first() {
        Some((quantity, arguments)) => (*quantity, arguments),
        None => ("", &[][..]),
    };
    let (value, words_most) = match quantity {
        "tunable" => (tunable(report, what, arguments.first().copied().unwrap_or("*"))?, 1),
        "kernel" => (kernel_time(report, what, arguments.first().copied().unwrap_or("*"))?, 1),
        word => {
            let (metric, paper) = catalogue::find_paper_word(word).ok_or_else(|| {
                Error::new(format!(
                    "`{what}` is neither a figure of the benchmark nor a quantity of runs"
                ))
            })?;
            let named = Named { metric, statistic: None };
            let value = metrics::measure(report, named, arguments)
                .map_err(|error| absent(what, metric.scope, error))?;
            (value / paper.per, metric.scope.arguments().len())
        }
    };
    match arguments.get(words_most) {
        Some(word) => Err(Error::new(format!("\"{word}\" is superfluous")).at(what)),
        None => Ok(value),
    }
}

/// Describes a missing metric; if the metric needs arguments, with the quantity as written.
fn absent(what: &str, scope: Scope, error: MeasureError) -> Error {
    match scope {
        Scope::Run => Error::new(error),
        _ => Error::new(error).at(what),
    }
}

fn tunable(report: &RunReport, what: &str, name: &str) -> Result<f64, Error> {
    let found = report.tunables.iter().find(|tunable| tunable.name == name);
    let absent = || format!("{} has no such tunable", report.scheduler.name);
    let found = found.ok_or_else(|| Error::new(absent())).at(what)?;
    Ok(found.value as f64)
}

/// Returns the kernel time of a kind, which is the second word.
fn kernel_time(report: &RunReport, what: &str, kind: &str) -> Result<f64, Error> {
    if report.kernel.is_none() {
        return Err(Error::new(MeasureError::NoCosts));
    }
    let (metric, paper) = catalogue::find_paper_word(&format!("kernel {kind}"))
        .ok_or_else(|| Error::new("there is no such kind"))
        .at(what)?;
    let value = metrics::measure(report, Named { metric, statistic: None }, &[]);
    Ok(value.map_err(Error::new)? / paper.per)
}

/// Returns the value of the cell, or the combined value of several cells, at `place`:
/// `TABLE/ROW/COLUMN`, or `min/TABLE/*/COLUMN`.
///
/// # Errors
/// There is no such cell.
pub fn table(tables: &[Table], place: &str) -> Result<f64, Error> {
    let parts: Vec<&str> = place.split('/').collect();
    let (function, name, row, column) = match parts[..] {
        [name, row, column] => (None, name, row, column),
        [function, name, row, column] => (Some(function), name, row, column),
        _ => return Err("it must be table/TABLE/ROW/COLUMN".into()),
    };
    let table = tables.iter().find(|table| table.name == name);
    let table =
        table.ok_or_else(|| Error::new(format!("the benchmark has no table \"{name}\"")))?;
    // The first column contains the rows' labels.
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
        (None, _) => {
            Err("that is more than one cell; write table/min/..., max, mean or sum".into())
        }
        (Some("min"), cells) => Ok(least(cells)),
        (Some("max"), cells) => Ok(most(cells)),
        (Some("mean"), cells) => Ok(mean(cells)),
        (Some("sum"), cells) => Ok(cells.iter().sum()),
        (Some(other), _) => Err(format!("{other} is not min, max, mean or sum").into()),
    }
}
