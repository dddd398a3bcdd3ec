//! A run as a page for a browser: one file that needs nothing else and no network.
//!
//! [`page`] makes it of the figures ([`Report`]) and of what was recorded
//! ([`History`]). It has the comparison, a timeline to look around in, and charts over time; the
//! scripts and the style sheet stand in `assets/`, and `docs/report.md` says how to use the page.
//!
//! * `data`: what the page knows of the runs, as text.
//! * `columns`: how numbers become that text.
//! * `assets`: scripts, style sheets, and the policy under which they run.
//!
//! All text goes through `maud`, or through `textContent` in the scripts: names of tasks can be
//! anything. The same runs make the same bytes.

mod assets;
mod columns;
mod data;
#[cfg(test)]
mod tests;

pub use data::TURNS_MOST;

use crate::data::{Report, RunReport, Spread};
use crate::format;
use crate::metrics::{Value, best, compared, value};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use schedlab_measure::catalogue::Named;
use schedlab_measure::{Better, History};

/// What is on a page.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// The figures.
    pub report: &'a Report,
    /// What was recorded of each of its runs, in their order; of a run without there is no
    /// timeline.
    pub seen: &'a [Option<Seen<'a>>],
}

/// What was recorded of a run.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// Who had which CPU, and sums over time.
    pub history: &'a History,
    /// The scheduler's rules: number, name, sentence.
    pub rules: &'a [(u8, &'a str, &'a str)],
    /// What is known of some of the longest waits, in any order.
    pub explained: &'a [Explained],
}

/// What is known of a long wait besides its length.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Explained {
    /// Who waited.
    pub task: u32,
    /// From when, ns.
    pub from_ns: u64,
    /// Who had the CPU for which it waited (none: it idled), for how long, ns, and in how many
    /// turns; the longest first.
    pub meanwhile: Vec<(Option<u32>, u64, u32)>,
    /// By which rules how many picks of that CPU were won by others.
    pub lost: Vec<(u8, u32)>,
}

impl<'a> Page<'a> {
    fn seen(&self, run: usize) -> Option<Seen<'a>> {
        self.seen.get(run).copied().flatten()
    }
}

/// The page.
pub fn page(page: &Page<'_>) -> String {
    page_within(page, data::DATA_MOST)
}

/// The page, with at most so many characters of data.
fn page_within(page: &Page<'_>, most: usize) -> String {
    let (head, columns) = data::data(page, most);
    let head = serde_json::to_string(&head).expect("all of its keys are strings");
    let name = clean(&page.report.workload.name);
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(assets::policy());
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content="schedlab";
                title { (name) " - schedlab" }
                @for style in assets::STYLES {
                    style { (PreEscaped(style)) }
                }
            }
            body {
                (body(page, &name))
                script type="application/json" id="head" { (PreEscaped(harmless(&head))) }
                @for (number, text) in columns.iter().enumerate() {
                    script type="text/plain" id={ "run-" (number) } { (PreEscaped(text)) }
                }
                (PreEscaped(format!(
                    "<!--\nuPlot {}:\n{}\n-->\n",
                    assets::UPLOT_VERSION,
                    assets::UPLOT_LICENSE
                )))
                @for script in assets::SCRIPTS {
                    script { (PreEscaped(script)) }
                }
            }
        }
    };
    markup.into_string()
}

/// JSON that can stand in a `script` element: nothing in it ends the element or begins a comment.
fn harmless(json: &str) -> String {
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// Text without control characters, which have no place in HTML.
fn clean(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

const SECTIONS: [(&str, &str); 6] = [
    ("comparison", "Comparison"),
    ("timeline", "Timeline"),
    ("shares", "CPU share"),
    ("latency", "Latency"),
    ("load", "Load"),
    ("waits", "Longest waits"),
];

fn body(page: &Page<'_>, name: &str) -> Markup {
    let report = page.report;
    let recorded = (0..report.runs.len()).any(|run| page.seen(run).is_some());
    html! {
        a.skip href="#timeline" { "To the timeline" }
        header.top {
            div {
                h1 { (name) }
                p.what { (what(report)) }
            }
            nav aria-label="Sections" {
                @for (id, title) in SECTIONS { a href={ "#" (id) } { (title) } }
            }
            button #theme type="button" title="Light or dark" { "Dark" }
        }
        noscript {
            p.note { "The timeline and the charts need JavaScript; the tables do not." }
        }
        main {
            section #comparison { h2 { "Comparison" } (comparison(report)) }
            section #timeline { h2 { "Timeline" }
                @if recorded { div #timeline-place {} } @else { (nothing()) }
            }
            section #shares { h2 { "CPU share over time" }
                @if recorded { div #shares-place {} } @else { (nothing()) }
            }
            section #latency { h2 { "Wakeup latency" } (percentiles(report)) div #latency-place {} }
            section #load { h2 { "Load over time" }
                @if recorded { div #load-place {} } @else { (nothing()) }
            }
            section #waits { h2 { "Longest waits" }
                @if recorded { div #waits-place {} } @else { (nothing()) }
            }
        }
        footer {
            p { "Made by schedlab. Times are virtual: what a simulated machine would have taken. "
                "Charts by uPlot (MIT)." }
        }
        div #tip role="tooltip" hidden {}
    }
}

fn nothing() -> Markup {
    html! { p.note { "Nothing was recorded of who ran when." } }
}

/// On what it was run, for how long.
fn what(report: &Report) -> String {
    let machine = report.runs.first().map(|run| &run.machine);
    let cpus = match machine.map_or(1, |machine| machine.cpus) {
        1 => "1 CPU".into(),
        cpus => format!("{cpus} CPUs"),
    };
    let model = machine.map_or("", |machine| &machine.model);
    let schedulers = match report.runs.len() {
        1 => "1 scheduler".into(),
        many => format!("{many} schedulers"),
    };
    let time = format::duration(report.workload.duration_ns, true);
    clean(&format!("{cpus} ({model}), {time}, {schedulers}"))
}

/// The heading of a run's column.
fn run_heading(run: &RunReport) -> Markup {
    html! {
        th scope="col" title=(clean(&run.scheduler.title)) {
            (clean(&run.scheduler.name)) " "
            span.release { (clean(&run.scheduler.version())) }
        }
    }
}

/// The figures: a row a metric, a column a scheduler, the best of each row marked.
fn comparison(report: &Report) -> Markup {
    let metrics: Vec<Named> = compared(report)
        .filter(|metric| report.runs.iter().any(|run| value(run, *metric).is_some()))
        .collect();
    html! {
        p.hint {
            "Point at a row's name, or go there with the Tab key, to read what it means. "
            span.best { "Marked" } ": the best of a row."
        }
        div.wide tabindex="0" role="region" aria-label="Comparison table" {
            table.figures {
                thead { tr {
                    th scope="col" { "" }
                    @for run in &report.runs { (run_heading(run)) }
                } }
                tbody { @for metric in &metrics { (comparison_row(report, *metric)) } }
            }
        }
    }
}

fn comparison_row(report: &Report, metric: Named) -> Markup {
    let values: Vec<Option<Value>> = report.runs.iter().map(|run| value(run, metric)).collect();
    let best = best(&values, metric.better());
    let definition = [metric.metric.definition, metric.metric.help, better(metric.better())]
        .into_iter()
        .filter(|text| !text.is_empty())
        .collect::<Vec<_>>()
        .join("\n");
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

const fn better(better: Better) -> &'static str {
    match better {
        Better::Lower => "Less is better.",
        Better::Higher => "More is better.",
        Better::Neither => "",
    }
}

/// The percentiles of wakeup latencies, a row a scheduler: what the curves below show, as numbers.
fn percentiles(report: &Report) -> Markup {
    type Of = fn(&Spread) -> Option<u64>;
    let columns: [(&str, Of); 8] = [
        ("least", |spread| spread.min_ns),
        ("p50", |spread| spread.p50_ns),
        ("p90", |spread| spread.p90_ns),
        ("p95", |spread| spread.p95_ns),
        ("p99", |spread| spread.p99_ns),
        ("p99.9", |spread| spread.p999_ns),
        ("most", |spread| spread.max_ns),
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
                tbody { @for run in &report.runs {
                    tr {
                        th scope="row" { (clean(&run.spec())) }
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
