//! The page of a sweep: the best of each metric, curves, heat maps, the Pareto front, all points;
//! one file that needs no network and no scripts.

use crate::sweep_table::{extent, goals, shown};
use maud::{Markup, PreEscaped, html};
use schedlab_lab::space::summary::{Cell, best, pareto};
use schedlab_lab::space::{AxisValue, Space};
use schedlab_report::format::amount;
use schedlab_report::html::frame::{Frame, clean};
use schedlab_report::plot::{Chart, Point, Series};

/// How it looks.
const STYLE: &str = include_str!("../assets/sweep.css");

/// So many metrics are drawn.
const DRAWN: usize = 12;

/// So many curves stand in a chart.
const CURVES: usize = 8;

/// So many heat maps are drawn of a metric.
const HEAT_MAPS: usize = 3;

/// So many values of an axis a heat map has room for.
const HEAT_VALUES: usize = 40;

/// So many points stand in the table.
const POINTS: usize = 2_000;

/// The page.
pub fn page(space: &Space, cells: &[Cell]) -> String {
    let drawn = space.told().len().min(DRAWN);
    let frame = Frame {
        title: &format!("{} - schedlab", clean(space.title())),
        styles: &[STYLE],
        scripts: &[],
        notice: "",
    };
    frame.around(html! {
        header { h1 { (clean(space.title())) } p { (clean(&extent(space))) } }
        main {
            section { h2 { "The best" } (the_best(space, cells)) }
            @for place in 0..drawn {
                section {
                    h2 { (clean(&space.told()[place].name)) }
                    div.figures {
                        @for chart in curves(space, cells, place) {
                            figure { (PreEscaped(chart.to_svg())) }
                        }
                        @for map in heat_maps(space, cells, place) { figure { (map) } }
                    }
                }
            }
            (front(space, cells))
            section { h2 { "All points" } (table(space, cells)) }
        }
        footer { p {
            "Made by schedlab. Times are virtual: what a simulated machine would have taken."
        } }
    })
}

fn the_best(space: &Space, cells: &[Cell]) -> Markup {
    html! {
        table {
            thead { tr { th { "metric" } th { "best" } th { "under" } th { "at" } } }
            tbody {
                @for place in goals(space) {
                    @if let Some(cell) = best(space, cells, place) {
                        tr {
                            th scope="row" { (clean(&space.told()[place].name)) }
                            td { (shown(&space.told()[place], cell.means[place], true)) }
                            td { (clean(&cell.scheduler)) }
                            td { (clean(&space.describe(cell.point))) }
                        }
                    }
                }
            }
        }
        @if space.repeat() > 1 {
            p.hint { "Means over " (space.repeat()) " seeds ± half of their 95 % confidence "
                "interval (Student's t)." }
        }
    }
}

/// The values of an axis among `cells`, each once: numbers by size, texts as they come.
fn values(space: &Space, cells: &[Cell], axis: usize) -> Vec<AxisValue> {
    let mut found: Vec<AxisValue> = vec![];
    for cell in cells {
        let value = space.point(cell.point).swap_remove(axis);
        if !found.contains(&value) {
            found.push(value);
        }
    }
    if found.iter().all(|value| value.as_f64().is_some()) {
        found.sort_by(|one, other| {
            one.as_f64().unwrap_or(0.0).total_cmp(&other.as_f64().unwrap_or(0.0))
        });
    }
    found
}

/// The mean over `cells` of what is told at `place`; the least and the most of it.
fn mean<'a>(cells: impl Iterator<Item = &'a Cell>, place: usize) -> Option<(f64, f64, f64)> {
    let means: Vec<f64> =
        cells.filter_map(|cell| cell.means[place].map(|mean| mean.mean)).collect();
    let fold = |from, least: fn(f64, f64) -> f64| means.iter().copied().fold(from, least);
    let sum: f64 = means.iter().sum();
    (!means.is_empty()).then(|| {
        (sum / means.len() as f64, fold(f64::INFINITY, f64::min), fold(-f64::INFINITY, f64::max))
    })
}

/// A chart over each axis: a curve for each scheduler.
fn curves(space: &Space, cells: &[Cell], place: usize) -> Vec<Chart> {
    let told = &space.told()[place];
    let mut schedulers: Vec<&str> = vec![];
    for cell in cells {
        if !schedulers.contains(&cell.scheduler.as_str()) {
            schedulers.push(&cell.scheduler);
        }
    }
    schedulers.truncate(CURVES);
    // Times are drawn in ms, so that marks can be read.
    let (unit, of) = if told.unit == "ns" { ("ms", 1e6) } else { (told.unit, 1.0) };
    let mut charts = vec![];
    for (number, axis) in space.axes().iter().enumerate() {
        let values = values(space, cells, number);
        if values.len() < 2 || axis.name == "scheduler" {
            continue;
        }
        let named = values.iter().any(|value| value.as_f64().is_none());
        let series = schedulers.iter().map(|scheduler| {
            let at = |(index, value): (usize, &AxisValue)| {
                let here = cells.iter().filter(|cell| {
                    cell.scheduler == *scheduler && space.point(cell.point)[number] == *value
                });
                let (mean, low, high) = mean(here, place)?;
                let x = if named { index as f64 } else { value.as_f64()? };
                Some(Point { x, y: mean / of, low: low / of, high: high / of })
            };
            Series {
                name: (*scheduler).into(),
                points: values.iter().enumerate().filter_map(at).collect(),
                // Of many sampled values there is a cloud, no curve.
                published: values.len() > 60,
            }
        });
        let label = if unit.is_empty() { String::new() } else { format!(" ({unit})") };
        charts.push(Chart {
            title: format!("{} by {}", told.name, axis.name),
            x_label: axis.name.clone(),
            y_label: format!("{}{label}", told.name),
            x_names: match named {
                true => values.iter().map(ToString::to_string).collect(),
                false => vec![],
            },
            bars: false,
            series: series.collect(),
        });
    }
    charts
}

/// Heat maps over pairs of axes.
fn heat_maps(space: &Space, cells: &[Cell], place: usize) -> Vec<Markup> {
    let mut maps = vec![];
    let axes: Vec<(usize, Vec<AxisValue>)> = (0..space.axes().len())
        .map(|number| (number, values(space, cells, number)))
        .filter(|(_, values)| (2..=HEAT_VALUES).contains(&values.len()))
        .collect();
    for (nth, (x, xs)) in axes.iter().enumerate() {
        for (y, ys) in &axes[nth + 1..] {
            if maps.len() < HEAT_MAPS {
                maps.push(heat_map(space, cells, place, (*x, xs), (*y, ys)));
            }
        }
    }
    maps
}

fn heat_map(
    space: &Space,
    cells: &[Cell],
    place: usize,
    (x, xs): (usize, &[AxisValue]),
    (y, ys): (usize, &[AxisValue]),
) -> Markup {
    const LEFT: usize = 130;
    const TOP: usize = 40;
    let told = &space.told()[place];
    let (width, height) = ((560 / xs.len()).clamp(12, 90), (320 / ys.len()).clamp(12, 48));
    let value = |column: &AxisValue, row: &AxisValue| {
        let here = cells.iter().filter(|cell| {
            let point = space.point(cell.point);
            point[x] == *column && point[y] == *row
        });
        mean(here, place).map(|(mean, ..)| mean)
    };
    let grid: Vec<Vec<Option<f64>>> =
        ys.iter().map(|row| xs.iter().map(|column| value(column, row)).collect()).collect();
    let all = || grid.iter().flatten().flatten().copied();
    let (least, most) = (all().fold(f64::INFINITY, f64::min), all().fold(-f64::INFINITY, f64::max));
    let (whole, high) = (LEFT + xs.len() * width + 20, TOP + ys.len() * height + 60);
    let title = format!("{} by {} and {}", told.name, space.axes()[x].name, space.axes()[y].name);
    // From the last row upwards, as an axis goes.
    let top = |row: usize| TOP + (ys.len() - 1 - row) * height;
    html! {
        svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label=(clean(&title))
            viewBox={ "0 0 " (whole) " " (high) } width=(whole) height=(high)
            font-family="sans-serif" font-size="12" fill="currentColor" {
            text x="8" y="20" font-size="14" { (clean(&title)) }
            @for (row, of_row) in grid.iter().enumerate() {
                text x=(LEFT - 6) y=(top(row) + height / 2 + 4) text-anchor="end" {
                    (clean(&ys[row].to_string()))
                }
                @for (column, value) in of_row.iter().enumerate() {
                    @if let Some(value) = value {
                        @let part = (value - least) / (most - least).max(f64::MIN_POSITIVE);
                        rect x=(LEFT + column * width) y=(top(row)) width=(width) height=(height)
                            fill=(color(part)) {
                            title { (clean(&format!(
                                "{} {}, {} {}: {}",
                                space.axes()[x].name, xs[column], space.axes()[y].name, ys[row],
                                amount(*value, told.unit, true)
                            ))) }
                        }
                        @if width >= 60 {
                            text x=(LEFT + column * width + width / 2)
                                y=(top(row) + height / 2 + 4) text-anchor="middle" font-size="11"
                                fill=(if part < 0.55 { "#fff" } else { "#000" }) {
                                (amount(*value, told.unit, true))
                            }
                        }
                    }
                }
            }
            @for (column, value) in xs.iter().enumerate() {
                text x=(LEFT + column * width + width / 2) y=(TOP + ys.len() * height + 16)
                    text-anchor="middle" font-size="11" { (clean(&value.to_string())) }
            }
            text x=(LEFT) y=(high - 14) {
                (clean(&space.axes()[x].name)) " to the right, "
                (clean(&space.axes()[y].name)) " upwards; dark "
                (amount(least, told.unit, true)) ", light " (amount(most, told.unit, true))
            }
        }
    }
}

/// A colour from dark (0) to light (1) that is as dark and light in grey.
fn color(part: f64) -> String {
    const STOPS: [(f64, f64, f64); 5] = [
        (68.0, 1.0, 84.0),
        (59.0, 82.0, 139.0),
        (33.0, 145.0, 140.0),
        (94.0, 201.0, 98.0),
        (253.0, 231.0, 37.0),
    ];
    let at = part.clamp(0.0, 1.0) * 4.0;
    let (first, rest) = ((at as usize).min(3), at - (at as usize).min(3) as f64);
    let ((r, g, b), (r2, g2, b2)) = (STOPS[first], STOPS[first + 1]);
    let mix = |from: f64, to: f64| (from + (to - from) * rest).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mix(r, r2), mix(g, g2), mix(b, b2))
}

/// The Pareto front of the first two goals.
fn front(space: &Space, cells: &[Cell]) -> Markup {
    let goals = goals(space);
    let [x, y, ..] = goals.as_slice() else { return html! {} };
    let front = pareto(space, cells, &[*x, *y]);
    let of = |place: usize| if space.told()[place].unit == "ns" { 1e6 } else { 1.0 };
    let point = |cell: &&Cell| {
        let (x, y) = (cell.means[*x]?.mean / of(*x), cell.means[*y]?.mean / of(*y));
        Some(Point::new(x, y))
    };
    let label = |place: usize| {
        let told = &space.told()[place];
        match told.unit {
            "" => told.name.clone(),
            "ns" => format!("{} (ms)", told.name),
            unit => format!("{} ({unit})", told.name),
        }
    };
    let mut all: Vec<Point> = cells.iter().filter_map(|cell| point(&cell)).collect();
    all.sort_by(|one, other| one.x.total_cmp(&other.x));
    let chart = Chart {
        title: "Pareto front".into(),
        x_label: label(*x),
        y_label: label(*y),
        series: vec![
            Series {
                name: "what no other point beats in both".into(),
                points: front.iter().filter_map(point).collect(),
                published: false,
            },
            Series { name: "all points".into(), points: all, published: true },
        ],
        ..Chart::default()
    };
    html! {
        section {
            h2 { "Pareto front" }
            div.figures { figure { (PreEscaped(chart.to_svg())) } }
            ul { @for cell in front.iter().take(30) {
                li { (shown(&space.told()[*x], cell.means[*x], true)) ", "
                    (shown(&space.told()[*y], cell.means[*y], true)) ": "
                    (clean(&cell.scheduler)) ", " (clean(&space.describe(cell.point))) }
            } }
        }
    }
}

fn table(space: &Space, cells: &[Cell]) -> Markup {
    let axes: Vec<usize> = (0..space.axes().len())
        .filter(|number| space.axes()[*number].name != "scheduler")
        .collect();
    html! {
        @if cells.len() > POINTS {
            p.hint { "The first " (POINTS) " of " (cells.len()) "." }
        }
        div.wide tabindex="0" role="region" aria-label="All points" {
            table {
                thead { tr {
                    @for axis in &axes { th scope="col" { (clean(&space.axes()[*axis].name)) } }
                    th scope="col" { "scheduler" }
                    @for told in space.told() { th scope="col" { (clean(&told.name)) } }
                } }
                tbody { @for cell in cells.iter().take(POINTS) {
                    @let point = space.point(cell.point);
                    tr {
                        @for axis in &axes { td { (clean(&point[*axis].to_string())) } }
                        td { (clean(&cell.scheduler)) }
                        @for (told, mean) in space.told().iter().zip(&cell.means) {
                            td { (shown(told, *mean, true)) }
                        }
                    }
                } }
            }
        }
    }
}
