//! Sections of a benchmark's page before its runs: every figure as a curve and a table, the
//! parameters, and the output of the real program.

use super::frame::clean;
use super::page::Section;
use super::sections::{better, definition};
use crate::bench::table::is_best;
use crate::bench::{Axis, BenchPoint, BenchReport, Summary, curve, written};
use crate::data::EndState;
use crate::format::amount;
use maud::{Markup, PreEscaped, html};
use schedlab_measure::catalogue::{self, COMPARED};

/// Maximum number of characters of program output on the page.
const PRINTED_MOST: usize = 400_000;

/// Returns the sections of `report`. `figure` is the figure of a sweep that is shown first. `None`:
/// the first.
pub fn sections(report: &BenchReport, figure: Option<&str>) -> Vec<Section> {
    let results = html! {
        (warnings(report))
        @if report.swept.is_empty() { (one_point(report)) } @else { (sweep(report, figure)) }
    };
    let mut sections = vec![
        Section { id: "results", title: "Results", link: "Results", body: results },
        Section {
            id: "parameters",
            title: "Parameters",
            link: "Parameters",
            body: parameters(report),
        },
    ];
    if report.points.iter().flat_map(|point| &point.runs).any(|run| !run.printed.is_empty()) {
        sections.push(Section {
            id: "printed",
            title: "Printed",
            link: "Printed",
            body: printed(report),
        });
    }
    sections
}

/// Returns warnings about the runs, once for all runs of a scheduler with the same warning.
fn warnings(report: &BenchReport) -> Markup {
    let mut listed: Vec<(usize, &str)> = vec![];
    for point in &report.points {
        for text in point.runs.iter().filter_map(|run| run.warning.as_deref()) {
            if !listed.contains(&(point.scheduler, text)) {
                listed.push((point.scheduler, text));
            }
        }
    }
    html! {
        @for (scheduler, text) in listed {
            p.note.thinned { (clean(&report.schedulers[scheduler].spec())) ": " (clean(text)) }
        }
    }
}

/// Returns the name of a figure. A metric of the catalogue has its definition.
fn term(report: &BenchReport, name: &str) -> Markup {
    let known = COMPARED.iter().filter_map(|id| catalogue::find(id)).find(|it| it.title() == name);
    let text = match (known, report.any(name)) {
        (Some(metric), _) => definition(metric),
        (None, Some(figure)) => better(figure.better).into(),
        (None, None) => String::new(),
    };
    html! {
        @if text.is_empty() { (clean(name)) }
        @else { span.term tabindex="0" data-tip=(text) { (clean(name)) } }
    }
}

/// Returns the headings of the schedulers' columns.
fn headings(report: &BenchReport) -> Markup {
    html! {
        @for scheduler in &report.schedulers {
            th scope="col" title=(clean(&scheduler.title)) {
                (clean(&scheduler.name)) " " span.release { (clean(&scheduler.release)) }
            }
        }
    }
}

/// Returns a figure of a point: its mean, and for several runs its standard deviation and range.
fn cell(points: &[&BenchPoint], place: usize, name: &str) -> Markup {
    let figure = points.get(place).and_then(|point| point.figure(name));
    let Some(figure) = figure else { return html! { td { span.none { "–" } } } };
    let best = is_best(points, name, place);
    let text = |value: f64| amount(value, &figure.unit, true);
    html! {
        td.best[best] {
            (text(figure.mean))
            @if let Some(sd) = figure.sd { (spread(figure, &text, sd)) }
            @if best { span.hidden { " (best)" } }
        }
    }
}

fn spread(figure: &Summary, text: &dyn Fn(f64) -> String, sd: f64) -> Markup {
    html! {
        span.spread { "± " (text(sd)) ", " (text(figure.min)) " to " (text(figure.max)) }
    }
}

fn best_hint() -> Markup {
    html! {
        p.hint { "Marked " span.best { "like this" } ": the best value of a row. Point at a name, or "
            "move to it with the Tab key, to read its definition." }
    }
}

/// Returns all figures of the only point: a row for each figure, a column for each scheduler.
fn one_point(report: &BenchReport) -> Markup {
    let points: Vec<&BenchPoint> = report.points.iter().collect();
    html! {
        (best_hint())
        div.wide tabindex="0" role="region" aria-label="Results" {
            table.figures {
                thead { tr { th scope="col" {} (headings(report)) } }
                tbody { @for name in report.figure_names() {
                    tr {
                        th scope="row" { (term(report, name)) }
                        @for place in 0..points.len() { (cell(&points, place, name)) }
                    }
                } }
            }
        }
    }
}

/// Returns each figure over the swept parameters, as a curve and as a table. Scripts show one at a
/// time; without scripts all are shown below each other.
fn sweep(report: &BenchReport, figure: Option<&str>) -> Markup {
    let mut names = report.figure_names();
    // The requested figure comes first.
    names.sort_by_key(|name| figure != Some(*name));
    html! {
        div #figure-choice .bar hidden {
            label { "Figure " select #figure {
                @for (number, name) in names.iter().enumerate() {
                    option value=(number) { (clean(name)) }
                }
            } }
        }
        (best_hint())
        @for (number, name) in names.iter().enumerate() {
            div.figure-of data-figure=(number) {
                h3 { (term(report, name)) }
                div.curve-and-table {
                    @if let Some(chart) = curve::chart(report, name) {
                        figure.curve { (PreEscaped(chart.to_svg())) }
                    }
                    (sweep_table(report, name))
                }
            }
        }
    }
}

fn sweep_table(report: &BenchReport, name: &str) -> Markup {
    let rows = report.points.chunks(report.schedulers.len().max(1));
    html! {
        div.wide tabindex="0" role="region" aria-label=(clean(name)) {
            table.figures {
                thead { tr {
                    @for axis in report.swept() { th scope="col" { (clean(&axis.name)) } }
                    (headings(report))
                } }
                tbody { @for row in rows {
                    @let points: Vec<&BenchPoint> = row.iter().collect();
                    tr {
                        @for value in &row[0].values {
                            th.value scope="row" { (clean(&written(value))) }
                        }
                        @for place in 0..points.len() { (cell(&points, place, name)) }
                    }
                } }
            }
        }
    }
}

/// Returns the parameters, including defaults.
fn parameters(report: &BenchReport) -> Markup {
    let values = |axis: &Axis| axis.values.iter().map(written).collect::<Vec<_>>().join(", ");
    let seeds = report.seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    html! {
        div.wide tabindex="0" role="region" aria-label="Parameters" {
            table.figures.words {
                thead { tr {
                    th scope="col" { "parameter" }
                    th.text scope="col" { "value" }
                    th.text scope="col" { "meaning" }
                } }
                tbody {
                    @for axis in &report.parameters { tr {
                        th scope="row" { (clean(&axis.name)) }
                        td.text { (clean(&values(axis))) }
                        td.text { (clean(&axis.about)) }
                    } }
                    tr {
                        th scope="row" { "seeds" }
                        td.text { (seeds) }
                        td.text { "of all random choices: one run for each" }
                    }
                }
            }
        }
        @for scheduler in report.schedulers.iter().filter(|it| !it.tunables.is_empty()) {
            p.note {
                (clean(&scheduler.spec())) " with "
                (clean(&scheduler.tunables.iter()
                    .map(|set| format!("{}={}", set.name, set.value))
                    .collect::<Vec<_>>().join(", ")))
            }
        }
    }
}

/// Returns the output of the real program under each scheduler.
fn printed(report: &BenchReport) -> Markup {
    let mut room = PRINTED_MOST;
    let mut shown = vec![];
    let mut left_out = 0;
    for point in &report.points {
        for run in &point.runs {
            match room.checked_sub(run.printed.len()) {
                Some(rest) => {
                    room = rest;
                    shown.push((point, run));
                }
                None => left_out += 1,
            }
        }
    }
    let heading = |point: &BenchPoint, seed: u64| {
        let axes = report.swept().zip(&point.values);
        let mut parts = vec![report.schedulers[point.scheduler].spec()];
        parts.extend(axes.map(|(axis, value)| format!("{} {}", axis.name, written(value))));
        if report.seeds.len() > 1 {
            parts.push(format!("seed {seed}"));
        }
        parts.join(", ")
    };
    html! {
        p.hint { "Output that the real program would have printed." }
        @for (number, (point, run)) in shown.iter().enumerate() {
            details open[number == 0 && run.end != EndState::Failed] {
                summary { (clean(&heading(point, run.seed))) }
                pre { (run.printed.trim_end().lines().map(clean).collect::<Vec<_>>().join("\n")) }
            }
        }
        @if left_out > 0 {
            p.note { "The output of " (left_out) " more runs is left out because of its length." }
        }
    }
}
