//! Sections of the page of a comparison with a real kernel before its timelines: the figures of
//! each task, real and simulated, and their latencies in one drawing.

use super::frame::clean;
use super::page::Section;
use maud::{Markup, html};

/// Task with its figures.
#[derive(Clone, PartialEq, Debug)]
pub struct Task {
    /// Name.
    pub name: String,
    /// Figures.
    pub rows: Vec<Row>,
    /// Latencies of its wakeups, if there are enough.
    pub latencies: Option<Latencies>,
}

/// Figure on both sides.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// Name.
    pub title: &'static str,
    /// Measured value: the median, and the range from minimum to maximum.
    pub real: (String, String),
    /// Simulated value.
    pub simulated: (String, String),
    /// Difference between the two.
    pub error: String,
    /// Whether the simulation met the figure, in words.
    pub verdict: &'static str,
}

/// Quantiles in ns, the same for both: 50, 95, 99 %.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Latencies {
    /// Quantiles on the real kernel.
    pub real: [Option<u64>; 3],
    /// Quantiles in the simulation.
    pub simulated: [Option<u64>; 3],
}

/// Result of a comparison with a real kernel.
#[derive(Clone, PartialEq, Debug)]
pub struct KernelComparison {
    /// Subject and noise of the comparison, in sentences.
    pub facts: Vec<String>,
    /// Tasks.
    pub tasks: Vec<Task>,
    /// Requirements on the model, and whether it meets them.
    pub checks: Vec<[String; 4]>,
}

/// Returns the sections of `comparison`.
pub fn sections(comparison: &KernelComparison) -> Vec<Section> {
    let mut all = vec![Section {
        id: "answer",
        title: "Real and simulated",
        link: "Real and simulated",
        body: figures(comparison),
    }];
    if comparison.tasks.iter().any(|task| task.latencies.is_some()) {
        let body = latencies(comparison);
        let title = "Wakeup latencies";
        all.push(Section { id: "wakeup-latencies", title, link: title, body });
    }
    all
}

fn figures(comparison: &KernelComparison) -> Markup {
    html! {
        @for sentence in &comparison.facts { p.trust { (clean(sentence)) } }
        div.wide tabindex="0" role="region" aria-label="Real and simulated" {
            table.figures {
                thead { tr {
                    th scope="col" { "" }
                    th scope="col" { "real" }
                    th scope="col" { "simulated" }
                    th scope="col" { "error" }
                    th scope="col" { "" }
                } }
                @for task in &comparison.tasks {
                    tbody {
                        tr.group { th scope="rowgroup" colspan="5" { (clean(&task.name)) } }
                        @for row in &task.rows { tr {
                            th scope="row" { (row.title) }
                            @for (middle, band) in [&row.real, &row.simulated] {
                                td { (middle) span.spread { (band) } }
                            }
                            td { (row.error) }
                            td { (row.verdict) }
                        } }
                    }
                }
            }
        }
        @if !comparison.checks.is_empty() {
            div.wide tabindex="0" role="region" aria-label="Requirements on the model" {
                table.figures {
                    thead { tr {
                        th scope="col" { "Requirements on the model" }
                        th scope="col" { "found" }
                        th scope="col" { "bound" }
                        th scope="col" { "" }
                    } }
                    tbody {
                        @for [what, found, bound, holds] in &comparison.checks { tr {
                            th scope="row" { (clean(what)) }
                            td { (found) } td { (bound) } td { (holds) }
                        } }
                    }
                }
            }
        }
    }
}

/// Width of the drawing.
const WIDTH: f64 = 720.0;
/// Left end of the axis.
const LEFT: f64 = 140.0;
/// Height of a task.
const STEP: f64 = 26.0;
/// Length of the axis in decades: from 1 us to 1 s.
const DECADES: f64 = 6.0;

/// Returns the position of a latency on the logarithmic axis.
fn place(ns: u64) -> f64 {
    let decades = ((ns.max(1) as f64 / 1e3).log10()).clamp(0.0, DECADES);
    LEFT + decades / DECADES * (WIDTH - LEFT - 20.0)
}

fn latencies(comparison: &KernelComparison) -> Markup {
    let tasks: Vec<(&Task, Latencies)> =
        comparison.tasks.iter().filter_map(|task| Some((task, task.latencies?))).collect();
    let height = 30.0 + STEP * tasks.len() as f64;
    let shown = |value: f64| format!("{value:.1}");
    html! {
        p.hint {
            "Quantiles of 50, 95 and 99 % of each task, from the expiry of a timer to the first "
            "instruction: above as measured, below as simulated."
        }
        div.wide tabindex="0" role="region" aria-label="Wakeup latencies" {
            svg viewBox={ "0 0 " (shown(WIDTH)) " " (shown(height)) } width=(shown(WIDTH))
                height=(shown(height)) role="img" aria-label="Wakeup latencies, real and simulated" {
                @for (decade, name) in
                    ["1 us", "10 us", "100 us", "1 ms", "10 ms", "100 ms", "1 s"].iter().enumerate() {
                    @let x = place(10_u64.pow(decade as u32 + 3));
                    line x1=(shown(x)) x2=(shown(x)) y1="16" y2=(shown(height)) stroke="currentColor"
                        opacity="0.2" {}
                    text x=(shown(x)) y="11" font-size="10" text-anchor="middle"
                        fill="currentColor" { (name) }
                }
                @for (number, (task, latencies)) in tasks.iter().enumerate() {
                    @let y = 30.0 + STEP * number as f64;
                    text x="0" y=(shown(y + 6.0)) font-size="11" fill="currentColor" {
                        (clean(&task.name))
                    }
                    @for (y, quantiles, opacity, side) in [
                        (y, latencies.real, "1", "real"),
                        (y + 9.0, latencies.simulated, "0.45", "simulated"),
                    ] {
                        @let known: Vec<u64> = quantiles.into_iter().flatten().collect();
                        @if let (Some(first), Some(last)) = (known.first(), known.last()) {
                            line x1=(shown(place(*first))) x2=(shown(place(*last))) y1=(shown(y))
                                y2=(shown(y)) stroke="currentColor" opacity=(opacity) {}
                        }
                        @for ns in &known {
                            circle cx=(shown(place(*ns))) cy=(shown(y)) r="3" fill="currentColor"
                                opacity=(opacity) {
                                title { (side) ": " (shown(*ns as f64 / 1e3)) " us" }
                            }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_text_and_latencies_stand_on_the_axis() {
        let comparison = KernelComparison {
            facts: vec!["<b>others</b> had 1 %".into()],
            tasks: vec![Task {
                name: "<script>".into(),
                rows: vec![Row {
                    title: "CPU time",
                    real: ("10 %".into(), "9 – 11".into()),
                    simulated: ("10.5 %".into(), "10 – 11".into()),
                    error: "+0.5 %".into(),
                    verdict: "met",
                }],
                latencies: Some(Latencies {
                    real: [Some(9_000), Some(4_000_000), None],
                    simulated: [Some(0), Some(u64::MAX), None],
                }),
            }],
            checks: vec![["a < b".into(), "1".into(), "2".into(), "holds".into()]],
        };
        let sections = sections(&comparison);
        let text: String = sections.iter().map(|section| section.body.0.as_str()).collect();
        assert!(!text.contains("<script>") && text.contains("&lt;script&gt;"));
        assert!(text.contains("a &lt; b") && text.contains("<circle"));
        assert!((place(1_000_000) - place(1_000) - (WIDTH - LEFT - 20.0) / 2.0).abs() < 1e-9);
    }
}
