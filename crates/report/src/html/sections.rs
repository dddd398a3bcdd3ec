//! Sections of a page that are made without scripts: the contents before anything is drawn.

use super::frame::clean;
use super::page::Page;
use crate::data::Spread;
use crate::format;
use crate::metrics::{Value, best, compared, value};
use maud::{Markup, html};
use schedlab_measure::Better;
use schedlab_measure::catalogue::Named;

pub(super) fn nothing() -> Markup {
    html! { p.note { "No timeline was recorded." } }
}

/// Returns the heading of a run's column.
fn run_heading(page: &Page<'_>, number: usize) -> Markup {
    let scheduler = &page.report.runs[number].scheduler;
    html! {
        th scope="col" title=(clean(&scheduler.title)) {
            @match page.names.get(number) {
                Some(name) => (clean(name)),
                None => {
                    (clean(&scheduler.name)) " "
                    span.release { (clean(&scheduler.version())) }
                }
            }
        }
    }
}

/// Returns the figures: a row for each metric, a column for each scheduler, with the best of each
/// row marked.
pub(super) fn comparison(page: &Page<'_>) -> Markup {
    let report = page.report;
    let metrics: Vec<Named> = compared(report)
        .filter(|metric| report.runs.iter().any(|run| value(run, *metric).is_some()))
        .collect();
    html! {
        p.hint {
            "Point at the name of a row, or move to it with the Tab key, to read its definition. "
            span.best { "Marked" } ": the best value of a row."
        }
        div.wide tabindex="0" role="region" aria-label="Comparison table" {
            table.figures {
                thead { tr {
                    th scope="col" { "" }
                    @for number in 0..report.runs.len() { (run_heading(page, number)) }
                } }
                tbody { @for metric in &metrics { (comparison_row(page, *metric)) } }
            }
        }
    }
}

fn comparison_row(page: &Page<'_>, metric: Named) -> Markup {
    let values: Vec<Option<Value>> =
        page.report.runs.iter().map(|run| value(run, metric)).collect();
    let best = best(&values, metric.better());
    let definition = definition(metric);
    html! {
        tr {
            th scope="row" {
                span.term tabindex="0" data-tip=(definition) data-metric=(metric.id()) {
                    (metric.title())
                }
            }
            @for (value, best) in values.iter().zip(best) {
                td.best[best] {
                    @match value {
                        Some(value) => (value.text(true)),
                        None => span.none { "–" },
                    }
                    @if best { span.hidden { " (best)" } }
                }
            }
        }
    }
}

/// Returns the definition of a metric for its tooltip.
pub(super) fn definition(metric: Named) -> String {
    [metric.metric.definition, metric.metric.help, better(metric.better())]
        .into_iter()
        .filter(|text| !text.is_empty())
        .collect::<Vec<_>>()
        .join("\n")
}

pub(super) const fn better(better: Better) -> &'static str {
    match better {
        Better::Lower => "Lower is better.",
        Better::Higher => "Higher is better.",
        Better::Neither => "",
    }
}

/// Returns the percentiles of wakeup latencies, a row for each scheduler: the curves below, as
/// numbers.
pub(super) fn percentiles(page: &Page<'_>) -> Markup {
    type Statistic = fn(&Spread) -> Option<u64>;
    let columns: [(&str, Statistic); 8] = [
        ("min", |spread| spread.min_ns),
        ("p50", |spread| spread.p50_ns),
        ("p90", |spread| spread.p90_ns),
        ("p95", |spread| spread.p95_ns),
        ("p99", |spread| spread.p99_ns),
        ("p99.9", |spread| spread.p999_ns),
        ("max", |spread| spread.max_ns),
        ("mean", |spread| spread.mean_ns),
    ];
    html! {
        div.wide tabindex="0" role="region" aria-label="Percentiles of wakeup latency" {
            table.figures {
                thead { tr {
                    th scope="col" { "from wakeup to running" }
                    th scope="col" { "wakeups" }
                    @for (title, _) in columns { th scope="col" { (title) } }
                } }
                tbody { @for (number, run) in page.report.runs.iter().enumerate() {
                    tr {
                        th scope="row" { (clean(&page.name(number))) }
                        td { (format::count(run.wakeup_latency.count)) }
                        @for (_, of) in columns {
                            td { (of(&run.wakeup_latency)
                                .map_or("–".into(), |ns| format::duration(ns, true))) }
                        }
                    }
                } }
            }
        }
    }
}
