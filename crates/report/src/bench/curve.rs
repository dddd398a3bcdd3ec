//! One figure over the swept parameters, as a [`Chart`].

use super::{BenchReport, Summary, written};
use crate::format::time_unit;
use crate::plot::{Chart, Point, Series};
use serde_json::Value;

/// Returns the figure called `name` over the first swept parameter: a curve for each scheduler and
/// each choice of values of the other swept parameters. For repeated runs the curve is the mean,
/// with bars from minimum to maximum. `None`: no parameter is swept.
pub fn chart(report: &BenchReport, name: &str) -> Option<Chart> {
    let x = report.swept().next()?;
    let any = report.any(name);
    let greatest =
        report.points.iter().filter_map(|point| point.figure(name)).map(|figure| figure.max);
    let (unit, scale) =
        readable(any.map_or("", |any| any.unit.as_str()), greatest.fold(0.0, f64::max));
    let one_scheduler = report.schedulers.len() == 1 && report.swept.len() > 1;
    let mut series: Vec<Series> = vec![];
    // Curves of one scheduler are listed together.
    for (number, scheduler) in report.schedulers.iter().enumerate() {
        for point in report.points.iter().filter(|point| point.scheduler == number) {
            let mut parts = if one_scheduler { vec![] } else { vec![scheduler.spec()] };
            let others = report.swept().zip(&point.values).skip(1);
            parts.extend(others.map(|(axis, value)| format!("{} {}", axis.name, written(value))));
            let series_name = parts.join(", ");
            let place =
                series.iter().position(|series| series.name == series_name).unwrap_or_else(|| {
                    series.push(Series { name: series_name, ..Series::default() });
                    series.len() - 1
                });
            if let Some(figure) = point.figure(name) {
                let at = point.values.first().and_then(|value| x_of(&x.values, value));
                series[place].points.extend(at.map(|at| scaled(at, figure, scale)));
            }
        }
    }
    for series in &mut series {
        series.points.sort_by(|a, b| a.x.total_cmp(&b.x));
    }
    let are_numbers = x.values.iter().all(Value::is_number);
    let under = if one_scheduler {
        format!(" under {}", report.schedulers[0].spec())
    } else {
        String::new()
    };
    let cpus = if report.cpus == 1 { "1 CPU".into() } else { format!("{} CPUs", report.cpus) };
    Some(Chart {
        title: format!(
            "{}: {name} by {}{under} on {cpus} ({})",
            report.benchmark, x.name, report.model
        ),
        x_label: format!("{} ({})", x.name, x.about),
        y_label: if unit.is_empty() { name.into() } else { format!("{name} ({unit})") },
        bars: false,
        x_names: if are_numbers { vec![] } else { x.values.iter().map(written).collect() },
        series,
    })
}

fn x_of(values: &[Value], value: &Value) -> Option<f64> {
    match value.as_f64() {
        Some(number) => Some(number),
        None => values.iter().position(|other| other == value).map(|place| place as f64),
    }
}

fn scaled(x: f64, figure: &Summary, scale: f64) -> Point {
    Point { x, y: figure.mean / scale, low: figure.min / scale, high: figure.max / scale }
}

/// Returns a suitable unit for values up to `most`, and the factor from the given unit to it.
fn readable(unit: &str, most: f64) -> (&str, f64) {
    match unit {
        "part" => ("%", 0.01),
        "count" | "index" => ("", 1.0),
        unit => time_unit(unit, most).unwrap_or((unit, 1.0)),
    }
}
