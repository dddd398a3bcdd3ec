//! Tables of benchmark results.

use super::{BenchPoint, BenchReport, Summary, written};
use crate::Style;
use crate::format::amount;
use crate::table::{GridColumn, grid, none_text};
use schedlab_measure::Better;

/// Label of a row, and the statistic of a figure that it shows.
type Row = (String, fn(&Summary) -> Option<f64>);

/// Returns the figures of points that differ only by scheduler: a row for each figure, a column for
/// each scheduler. For repeated runs a figure has rows for its mean, minimum, maximum and standard
/// deviation.
pub fn figures(report: &BenchReport, points: &[&BenchPoint], style: Style) -> String {
    let repeated = report.seeds.len() > 1;
    let mut rows: Vec<(&str, Row)> = vec![];
    for name in report.figure_names() {
        if !points.iter().any(|point| point.figure(name).is_some()) {
            continue;
        }
        if repeated {
            rows.push((name, (format!("{name} mean"), |figure| Some(figure.mean))));
            rows.push((name, ("  minimum".into(), |figure| Some(figure.min))));
            rows.push((name, ("  maximum".into(), |figure| Some(figure.max))));
            rows.push((name, ("  standard deviation".into(), |figure| figure.sd)));
        } else {
            rows.push((name, (name.into(), |figure| Some(figure.mean))));
        }
    }
    let column = |(place, point): (usize, &&BenchPoint)| {
        let scheduler = &report.schedulers[point.scheduler];
        let of = |name: &str, of: fn(&Summary) -> Option<f64>| {
            let figure = point.figure(name)?;
            Some(amount(of(figure)?, &figure.unit, style.unicode))
        };
        GridColumn {
            head: format!("{}\n{}", scheduler.name, scheduler.release),
            cells: rows
                .iter()
                .map(|(name, row)| of(name, row.1).unwrap_or(none_text(style).into()))
                .collect(),
            bold: rows
                .iter()
                .map(|(name, row)| !row.0.starts_with(' ') && is_best(points, name, place))
                .collect(),
        }
    };
    let columns: Vec<GridColumn> = points.iter().enumerate().map(column).collect();
    let labels = rows.iter().map(|(_, row)| row.0.clone()).collect();
    grid(&[(String::new(), labels)], &columns, style)
}

/// Returns one figure of a sweep: a row for each choice of values, a column for each scheduler.
/// Repeated runs are shown as `mean ± standard deviation (minimum to maximum)`.
pub fn sweep(report: &BenchReport, name: &str, style: Style) -> String {
    let schedulers = report.schedulers.len().max(1);
    let rows: Vec<Vec<&BenchPoint>> =
        report.points.chunks(schedulers).map(|points| points.iter().collect()).collect();
    let label = |(place, axis): (usize, &super::Axis)| {
        let values = rows.iter().map(|points| {
            points.first().map_or(String::new(), |point| written(&point.values[place]))
        });
        (axis.name.clone(), values.collect())
    };
    let labels: Vec<(String, Vec<String>)> = report.swept().enumerate().map(label).collect();
    let column = |number: usize| {
        let scheduler = &report.schedulers[number];
        let cell = |points: &Vec<&BenchPoint>| {
            points
                .get(number)
                .and_then(|point| point.figure(name))
                .map_or(none_text(style).into(), |figure| spread(figure, style))
        };
        GridColumn {
            head: format!("{}\n{}", scheduler.name, scheduler.release),
            cells: rows.iter().map(cell).collect(),
            bold: rows.iter().map(|points| is_best(points, name, number)).collect(),
        }
    };
    let columns: Vec<GridColumn> = (0..report.schedulers.len()).map(column).collect();
    grid(&labels, &columns, style)
}

fn spread(figure: &Summary, style: Style) -> String {
    let amount = |value| amount(value, &figure.unit, style.unicode);
    let Some(sd) = figure.sd else { return amount(figure.mean) };
    let sign = if style.unicode { "±" } else { "+-" };
    format!(
        "{} {sign} {} ({} to {})",
        amount(figure.mean),
        amount(sd),
        amount(figure.min),
        amount(figure.max)
    )
}

/// Whether the mean at `place` is the best, and not all are equal.
pub(crate) fn is_best(points: &[&BenchPoint], name: &str, place: usize) -> bool {
    let figures = || points.iter().filter_map(|point| point.figure(name));
    let Some(figure) = points.get(place).and_then(|point| point.figure(name)) else { return false };
    let least = figures().map(|other| other.mean).fold(f64::INFINITY, f64::min);
    let most = figures().map(|other| other.mean).fold(f64::NEG_INFINITY, f64::max);
    match figure.better {
        _ if least == most => false,
        Better::Lower => figure.mean == least,
        Better::Higher => figure.mean == most,
        Better::Neither => false,
    }
}
