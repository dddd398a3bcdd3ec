//! Page of a sweep: the best of each metric, curves, heat maps, the Pareto front, and all points,
//! in one file that needs no network and no scripts.

use crate::sweep_table::{extent, goals, shown};
use maud::{Markup, PreEscaped, html};
use schedlab_report::format::amount;
use schedlab_report::html::frame::{Frame, clean};
use schedlab_report::plot::{Chart, Point, Series};
use schedlab_space::summary::{Cell, Mean, best, pareto};
use schedlab_space::{AxisValue, RunMetric, Space};
use std::collections::HashMap;

/// Style sheet.
const STYLE: &str = include_str!("../assets/sweep.css");

/// Maximum number of metrics drawn.
const DRAWN: usize = 12;

/// Maximum number of curves in a chart.
const CURVES: usize = 8;

/// Maximum number of heat maps of a metric.
const HEAT_MAPS: usize = 3;

/// Maximum number of values of an axis in a heat map.
const HEAT_VALUES: usize = 40;

/// Maximum number of points drawn in a cloud.
const CLOUD: usize = 3_000;

/// Maximum number of points in the table.
const POINTS: usize = 2_000;

/// Makes the page.
pub fn page(space: &Space, cells: &[Cell]) -> String {
    let drawn = space.metrics().len().min(DRAWN);
    let axes = DrawnAxis::all(space, cells);
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
                    h2 { (clean(&space.metrics()[place].name)) }
                    div.figures {
                        @for chart in curves(space, cells, &axes, place) {
                            figure { (PreEscaped(chart.to_svg())) }
                        }
                        @for map in heat_maps(space, cells, &axes, place) { figure { (map) } }
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
                            th scope="row" { (clean(&space.metrics()[place].name)) }
                            td { (shown(&space.metrics()[place], cell.means[place], true)) }
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

/// Axis prepared for drawing.
struct DrawnAxis {
    /// Index of the axis.
    number: usize,
    /// Distinct values that were run: numbers ascending, others in order of appearance.
    values: Vec<AxisValue>,
    /// Index of the value of each cell.
    of_cells: Vec<usize>,
}

impl DrawnAxis {
    /// Prepares all axes for `cells`.
    fn all(space: &Space, cells: &[Cell]) -> Vec<DrawnAxis> {
        let points: Vec<Vec<AxisValue>> =
            cells.iter().map(|cell| space.point(cell.point)).collect();
        (0..space.axes().len()).map(|number| DrawnAxis::of(number, &points)).collect()
    }

    fn of(number: usize, points: &[Vec<AxisValue>]) -> DrawnAxis {
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut values: Vec<AxisValue> = vec![];
        let mut of_cells: Vec<usize> = vec![];
        for point in points {
            let value = &point[number];
            // Reals cannot be keys. Their text can, and distinguishes them.
            let place = *places.entry(format!("{value:?}")).or_insert(values.len());
            if place == values.len() {
                values.push(value.clone());
            }
            of_cells.push(place);
        }
        if values.iter().all(|value| value.as_f64().is_some()) {
            let number = |place: &usize| values[*place].as_f64().unwrap_or(0.0);
            let mut order: Vec<usize> = (0..values.len()).collect();
            order.sort_by(|one, other| number(one).total_cmp(&number(other)));
            let mut ranks = vec![0; order.len()];
            for (rank, &place) in order.iter().enumerate() {
                ranks[place] = rank;
            }
            of_cells.iter_mut().for_each(|place| *place = ranks[*place]);
            values = order.iter().map(|&place| values[place].clone()).collect();
        }
        DrawnAxis { number, values, of_cells }
    }
}

/// Means that are drawn as one point: their mean, minimum and maximum.
#[derive(Clone, Copy)]
struct MeanRange {
    count: u32,
    sum: f64,
    least: f64,
    most: f64,
}

impl MeanRange {
    const NONE: MeanRange =
        MeanRange { count: 0, sum: 0.0, least: f64::INFINITY, most: f64::NEG_INFINITY };

    fn add(&mut self, mean: Option<Mean>) {
        let Some(Mean { mean, .. }) = mean else { return };
        self.count += 1;
        self.sum += mean;
        self.least = self.least.min(mean);
        self.most = self.most.max(mean);
    }

    fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / f64::from(self.count))
    }
}

/// Metric in the unit of the chart: times are in ms, so that the axis is readable.
struct ChartScale {
    /// Name with unit.
    label: String,
    /// Amount of the metric that is 1 in the chart.
    of: f64,
}

impl ChartScale {
    fn new(told: &RunMetric) -> ChartScale {
        let (unit, of) = if told.unit == "ns" { ("ms", 1e6) } else { (told.unit, 1.0) };
        let unit = if unit.is_empty() { String::new() } else { format!(" ({unit})") };
        ChartScale { label: format!("{}{unit}", told.name), of }
    }
}

/// Returns `points`, or an even selection that a browser draws without delay.
fn thinned(points: Vec<Point>) -> Vec<Point> {
    let every = points.len().div_ceil(CLOUD).max(1);
    points.into_iter().step_by(every).collect()
}

/// Makes a chart over each axis: a curve for each scheduler.
fn curves(space: &Space, cells: &[Cell], axes: &[DrawnAxis], place: usize) -> Vec<Chart> {
    let told = &space.metrics()[place];
    let scaled = ChartScale::new(told);
    let mut schedulers: Vec<&str> = vec![];
    let of_cells: Vec<usize> = cells
        .iter()
        .map(|cell| {
            let known = schedulers.iter().position(|name| *name == cell.scheduler);
            known.unwrap_or_else(|| {
                schedulers.push(&cell.scheduler);
                schedulers.len() - 1
            })
        })
        .collect();
    let mut charts = vec![];
    for axis in axes {
        let name = &space.axes()[axis.number].name;
        if axis.values.len() < 2 || name == "scheduler" {
            continue;
        }
        let mut gathered = vec![vec![MeanRange::NONE; axis.values.len()]; schedulers.len()];
        for ((cell, value), scheduler) in cells.iter().zip(&axis.of_cells).zip(&of_cells) {
            gathered[*scheduler][*value].add(cell.means[place]);
        }
        let named = axis.values.iter().any(|value| value.as_f64().is_none());
        let series = schedulers.iter().zip(&gathered).take(CURVES).map(|(scheduler, gathered)| {
            let at = |(index, (value, here)): (usize, (&AxisValue, &MeanRange))| {
                let x = if named { index as f64 } else { value.as_f64()? };
                let (y, of) = (here.mean()?, scaled.of);
                Some(Point { x, y: y / of, low: here.least / of, high: here.most / of })
            };
            let points = axis.values.iter().zip(gathered).enumerate().filter_map(at).collect();
            Series {
                name: (*scheduler).into(),
                points: thinned(points),
                // Many sampled values make a cloud, not a curve.
                published: axis.values.len() > 60,
            }
        });
        charts.push(Chart {
            title: format!("{} by {name}", told.name),
            x_label: name.clone(),
            y_label: scaled.label.clone(),
            x_names: match named {
                true => axis.values.iter().map(ToString::to_string).collect(),
                false => vec![],
            },
            bars: false,
            series: series.collect(),
        });
    }
    charts
}

/// Makes heat maps over pairs of axes.
fn heat_maps(space: &Space, cells: &[Cell], axes: &[DrawnAxis], place: usize) -> Vec<Markup> {
    let fits = |axis: &&DrawnAxis| (2..=HEAT_VALUES).contains(&axis.values.len());
    let axes: Vec<&DrawnAxis> = axes.iter().filter(fits).collect();
    let pairs =
        axes.iter().enumerate().flat_map(|(nth, x)| axes[nth + 1..].iter().map(move |y| (*x, *y)));
    pairs.take(HEAT_MAPS).map(|(x, y)| heat_map(space, cells, place, x, y)).collect()
}

fn heat_map(space: &Space, cells: &[Cell], place: usize, x: &DrawnAxis, y: &DrawnAxis) -> Markup {
    const LEFT: usize = 130;
    const TOP: usize = 40;
    let told = &space.metrics()[place];
    let mut gathered = vec![vec![MeanRange::NONE; x.values.len()]; y.values.len()];
    for ((cell, column), row) in cells.iter().zip(&x.of_cells).zip(&y.of_cells) {
        gathered[*row][*column].add(cell.means[place]);
    }
    let grid: Vec<Vec<Option<f64>>> =
        gathered.iter().map(|row| row.iter().map(MeanRange::mean).collect()).collect();
    let (xs, ys, x, y) = (&x.values, &y.values, x.number, y.number);
    let (width, height) = ((560 / xs.len()).clamp(12, 90), (320 / ys.len()).clamp(12, 48));
    let all = || grid.iter().flatten().flatten().copied();
    let (least, most) = (all().fold(f64::INFINITY, f64::min), all().fold(-f64::INFINITY, f64::max));
    let (whole, high) = (LEFT + xs.len() * width + 20, TOP + ys.len() * height + 60);
    let title = format!("{} by {} and {}", told.name, space.axes()[x].name, space.axes()[y].name);
    // Rows go upwards from the last, as an axis does.
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

/// Returns a colour from dark (0) to light (1) whose lightness is the same in greyscale.
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

/// Draws the Pareto front of the first two goals.
fn front(space: &Space, cells: &[Cell]) -> Markup {
    let goals = goals(space);
    let [x, y, ..] = goals.as_slice() else { return html! {} };
    let front = pareto(space, cells, &[*x, *y]);
    let [across, upwards] = [*x, *y].map(|place| ChartScale::new(&space.metrics()[place]));
    let point = |cell: &&Cell| {
        let (x, y) = (cell.means[*x]?.mean / across.of, cell.means[*y]?.mean / upwards.of);
        Some(Point::new(x, y))
    };
    let mut all: Vec<Point> = cells.iter().filter_map(|cell| point(&cell)).collect();
    all.sort_by(|one, other| one.x.total_cmp(&other.x));
    let chart = Chart {
        title: "Pareto front".into(),
        x_label: across.label.clone(),
        y_label: upwards.label.clone(),
        series: vec![
            Series {
                name: "not beaten in both by any point".into(),
                points: front.iter().filter_map(point).collect(),
                published: false,
            },
            Series { name: "all points".into(), points: thinned(all), published: true },
        ],
        ..Chart::default()
    };
    html! {
        section {
            h2 { "Pareto front" }
            div.figures { figure { (PreEscaped(chart.to_svg())) } }
            ul { @for cell in front.iter().take(30) {
                li { (shown(&space.metrics()[*x], cell.means[*x], true)) ", "
                    (shown(&space.metrics()[*y], cell.means[*y], true)) ": "
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
                    @for told in space.metrics() { th scope="col" { (clean(&told.name)) } }
                } }
                tbody { @for cell in cells.iter().take(POINTS) {
                    @let point = space.point(cell.point);
                    tr {
                        @for axis in &axes { td { (clean(&point[*axis].to_string())) } }
                        td { (clean(&cell.scheduler)) }
                        @for (told, mean) in space.metrics().iter().zip(&cell.means) {
                            td { (shown(told, *mean, true)) }
                        }
                    }
                } }
            }
        }
    }
}
