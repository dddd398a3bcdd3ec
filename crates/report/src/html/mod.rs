//! A run as a page for a browser: one file that needs nothing else and no network.
//!
//! [`page`] makes it of the figures ([`Report`]) and of what was recorded
//! ([`History`]). It has the comparison, a timeline to look around in, and charts over time; the
//! scripts and the style sheet stand in `assets/`, and `docs/report.md` says how to use the page.
//!
//! * [`frame`]: what surrounds every page: the policy, scripts and style sheets.
//! * `sections`: what is there without scripts.
//! * `bench`: what comes before the runs on the page of a benchmark; [`replay`]: of a replay;
//!   [`compare`]: of a comparison with a real kernel.
//! * `data`: what the page knows of the runs, as text.
//! * `columns`: how numbers become that text.
//! * `assets`: scripts and style sheets.
//!
//! All text goes through `maud`, or through `textContent` in the scripts: names of tasks can be
//! anything. The same runs make the same bytes.

mod assets;
mod bench;
mod columns;
pub mod compare;
mod data;
pub mod frame;
pub mod replay;
mod sections;
#[cfg(test)]
mod tests;

pub use bench::sections as bench_sections;
pub use data::TURNS_MOST;
pub use sections::Section;

use crate::data::Report;
use crate::format;
use frame::{Frame, clean};
use maud::{Markup, PreEscaped, html};
use schedlab_measure::History;
use std::borrow::Cow;

/// What is on a page.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// Its heading; none: the workload's name.
    pub heading: Option<&'a str>,
    /// A line below it; none: the machine, how long, how many schedulers.
    pub what: Option<&'a str>,
    /// Sections that stand before those of the runs.
    pub before: &'a [Section],
    /// What is to be known of the runs; none: nothing besides.
    pub note: Option<&'a str>,
    /// The figures.
    pub report: &'a Report,
    /// What was recorded of each of its runs, in their order; of a run without there is no
    /// timeline.
    pub seen: &'a [Option<Seen<'a>>],
    /// What each run is called, in their order: "recorded", "what cfs@6.5 would have done". One
    /// that has no name here has its scheduler's.
    pub names: &'a [&'a str],
}

/// A rule of a scheduler: number, name, sentence.
pub type RuleRow = (u8, Cow<'static, str>, Cow<'static, str>);

/// What was recorded of a run.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// Who had which CPU, and sums over time.
    pub history: &'a History,
    /// The scheduler's rules.
    pub rules: &'a [RuleRow],
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
    /// The page of a comparison.
    pub fn new(report: &'a Report, seen: &'a [Option<Seen<'a>>]) -> Page<'a> {
        Page { heading: None, what: None, before: &[], note: None, report, seen, names: &[] }
    }

    fn seen(&self, run: usize) -> Option<Seen<'a>> {
        self.seen.get(run).copied().flatten()
    }

    /// What a run is called.
    fn name(&self, run: usize) -> String {
        match self.names.get(run) {
            Some(name) => (*name).into(),
            None => self.report.runs.get(run).map_or(String::new(), |run| run.spec()),
        }
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

/// The sections of the runs, in their order.
fn sections_of_runs(page: &Page<'_>) -> Vec<Section> {
    if page.report.runs.is_empty() {
        return vec![];
    }
    let recorded = (0..page.report.runs.len()).any(|run| page.seen(run).is_some());
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
            p { "Made by schedlab. Times are virtual: what a simulated machine would have taken. "
                "Charts by uPlot (MIT)." }
        }
        div #tip role="tooltip" hidden {}
    }
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
