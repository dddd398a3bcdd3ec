//! Results of `schedlab limits` as a page for a browser: the curves of p99 and throttling by limit,
//! the tables, and the answer. One file that needs no network and no scripts.

use super::text;
use maud::{Markup, PreEscaped, html};
use schedlab_report::Style;
use schedlab_report::html::frame::{Frame, clean};
use schedlab_report::plot::{Chart, Point, Series};
use schedlab_space::limits::{Cell, Figure, Limits, Line};

/// Style sheet.
const STYLE: &str = include_str!("../../../assets/sweep.css");

/// Maximum number of curves in a chart.
const CURVES: usize = 8;

/// Makes the page.
pub fn page(name: &str, limits: &Limits) -> String {
    let style = Style::plain(0);
    let title = format!("{name}: limits of {}", limits.group);
    let frame = Frame {
        title: &format!("{} - schedlab", clean(&title)),
        styles: &[STYLE],
        scripts: &[],
        notice: "",
    };
    let p99 = chart(limits, "p99 by limit", "p99 (ms)", Figure::P99, 1e-6);
    let throttled =
        chart(limits, "throttled periods by limit", "throttled (%)", Figure::Throttled, 100.0);
    let end = limits
        .recording
        .as_ref()
        .map(|_| chart(limits, "end by limit", "end (s)", Figure::End, 1e-9));
    frame.around(html! {
        header {
            h1 { (clean(&title)) }
            @for line in text::introduction(name, limits, style).lines() { p { (clean(line)) } }
        }
        main {
            section {
                h2 { "Limits" }
                div.figures {
                    @for chart in [Some(p99), Some(throttled), end].into_iter().flatten() {
                        @if chart.series.iter().any(|series| !series.points.is_empty()) {
                            figure { (PreEscaped(chart.to_svg())) }
                        }
                    }
                }
                p.hint { "Points are medians of " (limits.repeat) " runs, with the least and the \
                    most. Limits under which the group falls behind are left out of the curves of \
                    p99: their response times grow with the length of the run." }
            }
            section {
                h2 { "All figures" }
                @for lines in text::tables(limits) {
                    h3 { (text::title(lines[0], None, style)) }
                    div.wide { (table(limits, &lines, style)) }
                }
            }
            section {
                h2 { "Answer" }
                pre { (text::conclusion(limits, style)) }
            }
        }
        footer { p {
            "Made by schedlab. Times are virtual: what a simulated machine would have taken."
        } }
    })
}

/// Makes the curve of a figure by the number of CPUs of the limit, one for each line.
fn chart(limits: &Limits, title: &str, y_label: &str, figure: Figure, scale: f64) -> Chart {
    let style = Style::plain(0);
    let point = |line: &Line, cell: &Cell| {
        let band = cell.band(figure).filter(|_| figure != Figure::P99 || line.keeps_up(cell))?;
        Some(Point {
            x: cell.limit.cpus(),
            y: band.median * scale,
            low: band.min * scale,
            high: band.max * scale,
        })
    };
    let series = limits.lines.iter().take(CURVES).map(|line| Series {
        name: text::title(line, limits.threads_of.as_deref(), style),
        points: line.cells.iter().filter_map(|cell| point(line, cell)).collect(),
        published: false,
    });
    Chart {
        title: title.into(),
        x_label: "limit (CPUs)".into(),
        y_label: y_label.into(),
        x_names: vec![],
        bars: false,
        series: series.collect(),
    }
}

fn table(limits: &Limits, lines: &[&Line], style: Style) -> Markup {
    let (heads, rows) = text::rows_of(limits, lines, style);
    html! {
        table {
            thead { tr { @for head in &heads { th { (head.trim()) } } } }
            tbody {
                @for row in &rows {
                    tr {
                        @for (place, cell) in row.iter().enumerate() {
                            @if place == 0 { th scope="row" { (cell) } } @else { td { (cell) } }
                        }
                    }
                }
            }
        }
    }
}
