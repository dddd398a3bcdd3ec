//! A run as a page for a browser: one file that needs nothing else and no network.
//!
//! [`page`] makes it from the figures ([`Report`]) and from recordings
//! ([`History`](schedlab_measure::History)). It has the comparison, an interactive timeline, and
//! charts over time. The scripts and the style sheet are in `assets/`, and `docs/report.md`
//! explains how to use the page.
//!
//! * [`frame`]: frame of every page: the policy, scripts and style sheets.
//! * `sections`: sections that work without scripts.
//! * `bench`: sections before the runs on the page of a benchmark; [`replay`]: of a replay;
//!   [`compare`]: of a comparison with a real kernel.
//! * `data`: data of the runs, as text.
//! * `columns`: conversion of numbers to that text.
//! * `assets`: scripts and style sheets.
//!
//! All text goes through `maud`, or through `textContent` in the scripts: names of tasks may
//! contain anything. The same runs yield the same bytes.

mod assets;
mod bench;
mod columns;
pub mod compare;
mod data;
pub mod frame;
mod page;
pub mod replay;
mod sections;
#[cfg(test)]
mod tests;

pub use bench::sections as bench_sections;
pub use data::TURNS_MOST;
pub use page::{ExplainedWait, Page, Recording, RuleRow, Section};

use crate::data::Report;
use crate::format;
use frame::{Frame, clean};
use maud::{Markup, PreEscaped, html};

/// Returns the page.
pub fn page(page: &Page<'_>) -> String {
    page_within(page, data::DATA_MOST)
}

/// Returns the page with at most `most` characters of data.
fn page_within(page: &Page<'_>, most: usize) -> String {
    let (head, columns) = data::data(page, most);
    let head = serde_json::to_string(&head).expect("all keys of the document are strings");
    let name = clean(page.heading.unwrap_or(&page.report.workload.name));
    let frame = Frame {
        title: &format!("{name} - schedlab"),
        styles: &assets::STYLES,
        scripts: &assets::SCRIPTS,
        notice: &format!("uPlot {}:\n{}", assets::UPLOT_VERSION, assets::UPLOT_LICENSE),
    };
    frame.around(html! {
        (body(page, &name))
        script type="application/json" id="head" { (PreEscaped(frame::harmless(&head))) }
        @for (number, text) in columns.iter().enumerate() {
            script type="text/plain" id={ "run-" (number) } { (PreEscaped(text)) }
        }
    })
}

/// Returns the sections of the runs, in their order.
fn sections_of_runs(page: &Page<'_>) -> Vec<Section> {
    if page.report.runs.is_empty() {
        return vec![];
    }
    let recorded = (0..page.report.runs.len()).any(|run| page.recording(run).is_some());
    let place = |id: &str| {
        if recorded {
            html! { div id={ (id) "-place" } {} }
        } else {
            sections::nothing()
        }
    };
    let comparison = html! {
        @if let Some(note) = page.note { p.note { (clean(note)) } }
        (sections::comparison(page))
    };
    let latency = html! { (sections::percentiles(page)) div #latency-place {} };
    let all = [
        ("comparison", "Comparison", "Comparison", comparison),
        ("timeline", "Timeline", "Timeline", place("timeline")),
        ("shares", "CPU share over time", "CPU share", place("shares")),
        ("latency", "Wakeup latency", "Latency", latency),
        ("load", "Load over time", "Load", place("load")),
        ("waits", "Longest waits", "Longest waits", place("waits")),
    ];
    all.into_iter().map(|(id, title, link, body)| Section { id, title, link, body }).collect()
}

fn body(page: &Page<'_>, name: &str) -> Markup {
    let of_runs = sections_of_runs(page);
    let sections: Vec<&Section> = page.before.iter().chain(&of_runs).collect();
    let skip_to = match (of_runs.is_empty(), page.before.first()) {
        (true, Some(first)) => first.id,
        _ => "timeline",
    };
    html! {
        a.skip href={ "#" (skip_to) } {
            @if of_runs.is_empty() { "To the content" } @else { "To the timeline" }
        }
        header.top {
            div {
                h1 { (name) }
                p.what { (clean(&page.what.map_or_else(|| what(page.report), String::from))) }
            }
            nav aria-label="Sections" {
                @for section in &sections { a href={ "#" (section.id) } { (section.link) } }
            }
            button #theme type="button" title="Light or dark" { "Dark" }
        }
        noscript {
            p.note { "The timeline and the charts need JavaScript; the tables do not." }
        }
        main {
            @for section in &sections {
                section id=(section.id) { h2 { (section.title) } (section.body) }
            }
        }
        footer {
            p { "Made by schedlab. Times are virtual, on the clock of the simulated machine. "
                "Charts by uPlot (MIT)." }
        }
        div #tip role="tooltip" hidden {}
    }
}

/// Returns the machine, the length and the number of schedulers.
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
