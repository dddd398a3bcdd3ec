//! Results of a sweep as text for people.

use schedlab_measure::Better;
use schedlab_report::format::amount;
use schedlab_space::summary::{Cell, Mean, best, pareto};
use schedlab_space::{RunMetric, Space};
use std::fmt::Write;

/// Maximum number of points printed; above it, only the best of each metric and the front.
const POINTS_PRINTED: usize = 40;

/// Returns the indices of the metrics that have a better direction.
pub fn goals(space: &Space) -> Vec<usize> {
    let is_goal = |place: &usize| space.metrics()[*place].better != Better::Neither;
    (0..space.metrics().len()).filter(is_goal).collect()
}

/// Describes the size of a sweep.
pub fn extent(space: &Space) -> String {
    let counted = crate::terminal::counted;
    format!(
        "{}: {}, {}, {} in {}",
        space.title(),
        counted(space.points() as usize, "point"),
        counted(space.repeat() as usize, "seed"),
        counted(space.runs() as usize, "run"),
        counted(space.parts() as usize, "part")
    )
}

/// Formats a mean with its confidence interval.
pub fn shown(told: &RunMetric, mean: Option<Mean>, unicode: bool) -> String {
    let Some(mean) = mean else { return "-".into() };
    let value = amount(mean.mean, told.unit, unicode);
    match mean.half_width {
        Some(half) if half > 0.0 => {
            let sign = if unicode { "±" } else { "+-" };
            format!("{value} {sign} {}", amount(half, told.unit, unicode))
        }
        _ => value,
    }
}

/// Formats the results of a sweep for people: the best of each metric, and the points; if there are
/// many, only the Pareto front of the first two metrics.
pub fn table(space: &Space, cells: &[Cell], unicode: bool) -> String {
    let mut output = String::new();
    let _ = writeln!(output, "{}", extent(space));
    if space.repeat() > 1 {
        let sign = if unicode { "±" } else { "+-" };
        let _ = writeln!(output, "mean {sign} half of the 95 % confidence interval (Student's t)");
    }
    let goals = goals(space);
    for &place in &goals {
        let Some(cell) = best(space, cells, place) else { continue };
        let told = &space.metrics()[place];
        let value = shown(told, cell.means[place], unicode);
        let at = space.describe(cell.point);
        let _ = writeln!(output, "best {}: {value}  ({}, {at})", told.name, cell.scheduler);
    }
    let mut printed: Vec<&Cell> = cells.iter().collect();
    if cells.len() > POINTS_PRINTED {
        let front = pareto(space, cells, &goals[..goals.len().min(2)]);
        printed = front.into_iter().take(POINTS_PRINTED).collect();
        printed.sort_by_key(|cell| cell.point);
        let of: Vec<&str> =
            goals.iter().take(2).map(|place| space.metrics()[*place].name.as_str()).collect();
        let _ = writeln!(
            output,
            "of {} points, those not beaten in {} (-o, --format csv and --report show all)",
            cells.len(),
            of.join(" and ")
        );
    }
    let _ = writeln!(output);
    let axes: Vec<&str> = space.axes().iter().map(|axis| axis.name.as_str()).collect();
    let mut lines = vec![
        axes.iter()
            .copied()
            .filter(|name| *name != "scheduler")
            .chain(["scheduler"])
            .chain(space.metrics().iter().map(|told| told.name.as_str()))
            .map(String::from)
            .collect::<Vec<_>>(),
    ];
    for cell in printed {
        let point = space.point(cell.point);
        let values = axes.iter().zip(&point).filter(|(name, _)| **name != "scheduler");
        let mut line: Vec<String> = values.map(|(_, value)| value.to_string()).collect();
        line.push(cell.scheduler.clone());
        let means = space.metrics().iter().zip(&cell.means);
        line.extend(means.map(|(told, mean)| shown(told, *mean, unicode)));
        lines.push(line);
    }
    for line in aligned(&lines) {
        let _ = writeln!(output, "{line}");
    }
    output
}

/// Aligns columns to the right, two blanks apart.
fn aligned(lines: &[Vec<String>]) -> Vec<String> {
    let columns = lines.first().map_or(0, Vec::len);
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let cell = |(text, width): (&String, &usize)| format!("{text:>width$}");
    let line = |line: &Vec<String>| {
        line.iter().zip(&widths).map(cell).collect::<Vec<_>>().join("  ").trim_end().to_string()
    };
    lines.iter().map(line).collect()
}
