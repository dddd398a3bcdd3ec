//! The results as a page for a browser: one file that needs nothing else.
//!
//! Missed demands come first. The page has no date and names no machine: the same results give the
//! same bytes. All text goes through `maud`, which escapes it. Only the style sheet, the script and
//! the figures, which `schedlab_report::plot` draws, are inserted as they are. A content security
//! policy prevents anything else from running.

use crate::catalogue::{Outcome, count};
use crate::contradictions::Contradiction;
use crate::error::Error;
use crate::filter::{self, class};
use crate::judge::{Judged, Verdict};
use crate::strip::strip;
use crate::targets::Row;
use crate::text::{self, published, range, simulated, summary, with_unit};
use maud::{Markup, PreEscaped, html};
use schedlab_report::html::frame::Frame;

/// The contents of the page.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// The experiments.
    pub outcomes: &'a [Outcome],
    /// Contradictions in the documents.
    pub contradictions: &'a [Contradiction],
    /// Ranges that no experiment refers to.
    pub forgotten: &'a [&'a Row],
    /// Errors of experiments that could not be run.
    pub failed: &'a [Error],
    /// Whether the reduced form was run: fewer and smaller simulations.
    pub reduced: bool,
    /// Whether CSV files with the values exist next to the page.
    pub has_files: bool,
}

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("filter.js");

/// Returns the meaning of each verdict.
const fn meaning(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::HardMet => {
            "follows from the scheduler's rules; the published numbers agree, and so does the \
             simulation: the median over all conditions"
        }
        Verdict::HardPart => {
            "should follow from the scheduler's rules, and does under some conditions only"
        }
        Verdict::HardMissed => {
            "should follow from the scheduler's rules, and does under no condition"
        }
        Verdict::SoftMet => "should result from reasonable costs, and the median does",
        Verdict::SoftPart => "should result from reasonable costs, and does under some conditions",
        Verdict::SoftMissed => "should result from reasonable costs, and never does",
        Verdict::ByRule => "agrees because of a formula or a tunable: no schedule was needed",
        Verdict::Fitted => {
            "a cost was chosen so that this number agrees: the agreement is no evidence"
        }
        Verdict::Empty => {
            "agrees, but the event in question did not occur in the simulation: no evidence"
        }
        Verdict::NotAsked => "was published, but cannot or should not be reproduced",
    }
}

/// Returns the text without control characters, which HTML does not permit.
fn clean(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || *c == '\n').collect()
}

fn badge(verdict: Verdict) -> Markup {
    html! { span class={ "verdict " (class(verdict)) } { (verdict.name()) } }
}

/// Returns a link to the section or the entry with this id.
fn anchor(id: &str) -> Markup {
    html! { a href={ "#" (clean(id)) } { (clean(id)) } }
}

/// Returns links, separated by commas.
fn listed(links: impl Iterator<Item = Markup>) -> Markup {
    html! {
        @for (place, link) in links.enumerate() {
            @if place > 0 { ", " }
            (link)
        }
    }
}

impl Page<'_> {
    /// Returns the page.
    pub fn to_html(&self) -> String {
        let frame = Frame {
            title: "Published experiments, run again",
            styles: &[STYLE],
            scripts: &[SCRIPT],
            notice: "",
        };
        frame.around(html! {
            "\n"
            (self.head())
            (filter::bar(self.outcomes))
            (self.hard_misses())
            (self.overview())
            @for outcome in self.outcomes { (self.experiment(outcome)) }
            @if !self.forgotten.is_empty() { (self.forgotten()) }
            @if !self.contradictions.is_empty() { (self.contradictions()) }
            footer {
                p {
                    "Written by schedlab " (env!("CARGO_PKG_VERSION")) ", "
                    code { "schedlab papers --report" } "."
                    @if self.has_files {
                        " All simulated values are in the CSV files next to this page."
                    }
                }
            } "\n"
        })
    }

    fn head(&self) -> Markup {
        html! {
            header {
                h1 { "Published experiments, run again" }
                p {
                    "Experiments that were published about Linux schedulers, on a simulated \
                     machine under the schedulers of the time, with the results next to the \
                     published ones. What the documents leave open is a condition: each experiment \
                     is run under a sample of them, and a demand is met if the median is right. \
                     No result is adjusted so that a demand is met: fitted results are marked, and \
                     not counted."
                }
                @if self.reduced {
                    p.warning {
                        strong { "This is the reduced form:" }
                        " fewer and smaller simulations. Demands about what was not simulated \
                         are left out."
                    }
                }
                @for line in summary(self.outcomes).lines() { p.counts { (line) } }
                @if !self.failed.is_empty() {
                    p.warning { strong { "These could not be run:" } }
                    ul { @for error in self.failed { li { (clean(&error.to_string())) } } }
                }
                dl.verdicts {
                    @for (verdict, count) in count(self.outcomes) {
                        dt { (badge(verdict)) " " b { (count) } } dd { (meaning(verdict)) }
                    }
                }
            } "\n"
        }
    }

    fn hard_misses(&self) -> Markup {
        let is_missed =
            |outcome: &&Outcome| outcome.judged.iter().any(|judged| judged.verdict.is_hard_miss());
        html! {
            section id="missed" {
                h2 { "Hard demands that are missed, or met in part" } "\n"
                @if !self.outcomes.iter().any(|outcome| is_missed(&outcome)) { p { "None." } }
                @for outcome in self.outcomes.iter().filter(is_missed) {
                    h3 { (anchor(&outcome.file.id)) " " (clean(&outcome.file.title)) }
                    (misses(outcome, Verdict::HardMissed))
                    (misses(outcome, Verdict::HardPart))
                }
            } "\n"
        }
    }

    /// Returns a table of the experiments with the number of each verdict.
    fn overview(&self) -> Markup {
        html! {
            section id="experiments" {
                h2 { "Experiments" }
                div.wide {
                    table.overview {
                        thead {
                            tr {
                                th scope="col" { "id" } th scope="col" { "experiment" }
                                @for verdict in Verdict::ALL {
                                    th scope="col" { (verdict.name()) }
                                }
                            }
                        } "\n"
                        tbody {
                            @for outcome in self.outcomes {
                                tr data-id=(clean(&outcome.file.id)) {
                                    th scope="row" { (anchor(&outcome.file.id)) }
                                    td { (clean(&outcome.file.title)) }
                                    @for (verdict, count) in count(std::slice::from_ref(outcome)) {
                                        @if count == 0 { td.count {} }
                                        @else { td class={ "count " (class(verdict)) } { (count) } }
                                    }
                                } "\n"
                            }
                        }
                    }
                }
            } "\n"
        }
    }

    fn experiment(&self, outcome: &Outcome) -> Markup {
        let file = &outcome.file;
        let about =
            [("Source", &file.source), ("Question", &file.question), ("Reported", &file.reported)];
        html! {
            section.experiment id=(clean(&file.id)) {
                h2 { (clean(&file.id)) " " (clean(&file.title)) }
                dl.about {
                    @for (what, text) in about.into_iter().filter(|(_, text)| !text.is_empty()) {
                        dt { (what) } dd { (clean(text)) }
                    }
                } "\n"
                p.conditions { (clean(&text::conditions(outcome))) } "\n"
                (table(&outcome.judged))
                @if outcome.judged.iter().any(|judged| is_missed(judged.verdict)) {
                    h3 { "Why it was missed, if known" }
                    (misses(outcome, Verdict::HardMissed))
                    (misses(outcome, Verdict::HardPart))
                    (misses(outcome, Verdict::SoftMissed))
                    (misses(outcome, Verdict::SoftPart))
                }
                @for chart in &outcome.charts {
                    figure { "\n" (PreEscaped(chart.to_svg())) } "\n"
                }
                @if !file.notes.is_empty() {
                    h3 { "Notes" }
                    ul { @for note in &file.notes { li { (clean(note)) } } } "\n"
                }
                @if !file.not_asked.is_empty() {
                    h3 { "Not asked" }
                    dl.about {
                        @for not in &file.not_asked {
                            dt { (clean(&not.what)) } dd { (clean(&not.why)) }
                        }
                    } "\n"
                }
                @if !file.contradictions.is_empty() {
                    p {
                        "Contradictions in the documents: "
                        (listed(file.contradictions.iter().map(|id| self.contradiction(id)))) "."
                    }
                }
                @if self.has_files { p {
                    a href={ (clean(&file.id)) ".csv" } { "All values" } ", "
                    a href={ (clean(&file.id)) ".conditions.csv" } { "all conditions" }
                } }
            } "\n"
        }
    }

    /// Returns a link to a contradiction, if its text exists.
    fn contradiction(&self, id: &str) -> Markup {
        if self.contradictions.iter().any(|contradiction| contradiction.id == id) {
            anchor(id)
        } else {
            html! { (clean(id)) }
        }
    }

    fn forgotten(&self) -> Markup {
        html! {
            section id="forgotten" {
                h2 { "Ranges that no experiment demands" }
                ul {
                    @for row in self.forgotten {
                        li {
                            (clean(&row.id)) " " (clean(&row.case)) ": " (clean(&row.quantity))
                            ": " (clean(&with_unit(range((row.low, row.high)), &row.unit)))
                        } "\n"
                    }
                }
            } "\n"
        }
    }

    fn contradictions(&self) -> Markup {
        let by = |id: &String| {
            let named = self.outcomes.iter().filter(|it| it.file.contradictions.contains(id));
            named.map(|outcome| anchor(&outcome.file.id)).collect::<Vec<_>>()
        };
        html! {
            section id="contradictions" {
                h2 { "Contradictions in the documents" }
                dl.about {
                    @for contradiction in self.contradictions {
                        @let by = by(&contradiction.id);
                        dt id=(clean(&contradiction.id)) { (clean(&contradiction.id)) }
                        dd {
                            (clean(&contradiction.text))
                            @if !by.is_empty() { " (" (listed(by.into_iter())) ")" }
                        } "\n"
                    }
                }
            } "\n"
        }
    }
}

const fn is_missed(verdict: Verdict) -> bool {
    verdict.is_hard_miss() || verdict.is_soft_miss()
}

/// Returns the text, or a dash if there is none.
fn or_dash(text: &str) -> String {
    if text.is_empty() { "–".into() } else { clean(text) }
}

/// Returns the demands with their results.
fn table(judged: &[Judged]) -> Markup {
    let asked: Vec<&Judged> =
        judged.iter().filter(|judged| judged.verdict != Verdict::NotAsked).collect();
    if asked.is_empty() {
        return html! { p { "There are no demands." } };
    }
    html! {
        table.demands {
            thead {
                tr {
                    @for heading in ["demand", "published", "simulated", "range", "verdict"] {
                        th scope="col" { (heading) }
                    }
                }
            } "\n"
            tbody {
                @for judged in asked {
                    tr data-verdict=(class(judged.verdict)) {
                        th scope="row" {
                            (clean(&judged.says))
                            @for other in text::otherwise(judged) {
                                br; span.otherwise { (clean(&other)) }
                            }
                        }
                        td data-name="published" { (or_dash(&published(judged))) }
                        td data-name="simulated" {
                            (or_dash(&simulated(judged)))
                            @if let Some(strip) = strip(judged) {
                                "\n" br; (PreEscaped(strip))
                            }
                            @let split = text::by_condition(judged);
                            @if !split.is_empty() {
                                details {
                                    summary { "by condition" }
                                    @for line in split { p.split { (clean(&line)) } }
                                }
                            }
                        }
                        td data-name="range" {
                            (or_dash(&with_unit(range(judged.range), &judged.unit)))
                        }
                        td data-name="verdict" {
                            (badge(judged.verdict))
                            @if let Some(share) = judged.share()
                                .filter(|share| *share > 0.0 && *share < 1.0) {
                                " " span.share { (format!("{:.0} %", share * 100.0)) }
                            }
                        }
                    } "\n"
                }
            }
        } "\n"
    }
}

/// Returns the demands with that verdict by explanation, in the order of the first of each.
fn explained(outcome: &Outcome, verdict: Verdict) -> Vec<(&str, Vec<&Judged>)> {
    let mut groups: Vec<(&str, Vec<&Judged>)> = vec![];
    for judged in outcome.judged.iter().filter(|judged| judged.verdict == verdict) {
        match groups.iter_mut().find(|(because, _)| *because == judged.because) {
            Some((_, group)) => group.push(judged),
            None => groups.push((&judged.because, vec![judged])),
        }
    }
    groups
}

/// Returns a missed demand: the result, the accepted range, the published result.
fn missed(judged: &Judged) -> String {
    let mut words = judged.says.clone();
    if judged.values.is_some() {
        let range = range(judged.range);
        let asked = if range.is_empty() { String::new() } else { format!("; demanded: {range}") };
        let unit = if judged.unit.is_empty() { String::new() } else { format!(" {}", judged.unit) };
        words += &format!(": simulated {}{asked}{unit}", simulated(judged));
    }
    if !judged.published.is_empty() {
        words += &format!("; published: {}", published(judged));
    }
    clean(&words)
}

/// Returns the demands with that verdict, and their explanations.
fn misses(outcome: &Outcome, verdict: Verdict) -> Markup {
    html! {
        @for (because, group) in explained(outcome, verdict) {
            ul.misses {
                @for judged in group { li { (badge(verdict)) " " (missed(judged)) } }
            } "\n"
            p.because {
                @if because.is_empty() { "No explanation is known." } @else { (clean(because)) }
            } "\n"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Catalogue;
    use std::num::NonZeroUsize;

    const TARGETS: &str = "id,case,quantity,unit,low,high,published\n\
                           X-1,two hogs,ratio,,1.2,1.3,1.25\n\
                           X-2,c,q,s,1,,\n";

    const HOGS: &str = r#"
id = "X-1"
title = "Two <b>hogs</b> & \"more\""
source = "a test"
question = "Who gets <what>?"
notes = ["a < b"]
contradictions = ["C-1"]
not_asked = [{ what = "the <moon>", why = "it is far" }]

[conditions]
none = "a <test>"

[[run]]
for.n = [1, 2]
workload = '''{"tasks": {"a": {"run": 10000, "loop": -1},
                       "b": {"run": 10000, "loop": -1, "priority": {n}}}}'''
scheduler = "cfs"
cpus = 1
duration_s = 20
values = { "ratio.{n}" = "cpu-ratio a b" }

[[target]]
case = "two hogs"
quantity = "ratio"
value = "ratio.1"

[[criterion]]
grade = "hard"
says = "the 1st is <impossible>"
value = "ratio.1"
high = 1
because = "1 step of nice is < 1 & > 0"

[[criterion]]
grade = "soft"
says = "so is this"
test = "ratio.1 > ratio.2"

[[criterion]]
for.n = [1, 2]
grade = "soft"
says = "fitted {n}"
fitted = true
value = "ratio.{n}"
low = 1

[[figure]]
title = "The <ratio>"
x = "nice"
y = "ratio"
[[figure.series]]
name = "simulated"
x = [1, 2]
y = "ratio.*"
[[figure.series]]
name = "published"
x = [1]
published = [1.25]
"#;

    const CONTRADICTIONS: &str = "[[contradiction]]\nid = \"C-1\"\ntext = \"this < that\"\n\
                                  [[contradiction]]\nid = \"C-2\"\ntext = \"other\"\n";

    fn catalogue(text: &str) -> Catalogue {
        let catalogue = Catalogue::read([("hogs.toml", text)], ("targets.csv", TARGETS));
        let catalogue = catalogue.and_then(|it| it.with_contradictions(("c.toml", CONTRADICTIONS)));
        catalogue.unwrap_or_else(|error| panic!("{error}"))
    }

    fn page(text: &str, threads: usize) -> String {
        let catalogue = catalogue(text);
        let chosen = catalogue.choose(&[]).expect("the ids exist");
        let threads = NonZeroUsize::new(threads).expect("the number is not 0");
        let ran = catalogue.run(&chosen, false, threads, |_, _| true);
        let ran = ran.unwrap_or_else(|error| panic!("{error}"));
        let page = Page {
            outcomes: &ran.outcomes,
            contradictions: &catalogue.contradictions,
            forgotten: &catalogue.forgotten(),
            failed: &ran.failed,
            reduced: false,
            has_files: true,
        };
        page.to_html()
    }

    /// Checks that every element is closed, in order, and that only elements begin with `<`.
    fn assert_well_formed(html: &str) {
        let mut open = vec![];
        let body = html.strip_prefix("<!DOCTYPE html>").expect("the page begins with its type");
        // Scripts follow other rules.
        let (before, script) = body.split_once("<script>").expect("the page has a script");
        let body =
            format!("{before}{}", script.split_once("</script>").expect("the script ends").1);
        for piece in body.split('<').skip(1) {
            let (tag, text) = piece.split_once('>').unwrap_or_else(|| panic!("<{piece}"));
            assert!(!text.contains('>') || open.last() == Some(&"style"), "{piece}");
            let name =
                tag.split([' ', '/']).find(|part| !part.is_empty()).expect("a tag has a name");
            if tag.starts_with('/') {
                assert_eq!(open.pop(), Some(name), "{piece}");
            } else if !tag.ends_with('/') && !["meta", "br", "input"].contains(&name) {
                open.push(name);
            }
        }
        assert!(open.is_empty(), "{open:?}");
    }

    #[test]
    fn everything_is_on_the_page_and_escaped() {
        let html = page(HOGS, 1);
        assert_well_formed(&html);
        for part in [
            "Two &lt;b&gt;hogs&lt;/b&gt; &amp; &quot;more&quot;",
            "Who gets &lt;what&gt;?",
            "<li>a &lt; b</li>",
            "<dt>the &lt;moon&gt;</dt><dd>it is far</dd>",
            "<a href=\"#C-1\">C-1</a>",
            "<dt id=\"C-1\">C-1</dt><dd>this &lt; that (<a href=\"#X-1\">X-1</a>)</dd>",
            "<dt id=\"C-2\">C-2</dt><dd>other</dd>",
            "<td data-name=\"published\">1.25</td>",
            "<td data-name=\"range\">1.200 to 1.300</td><td data-name=\"verdict\">\
             <span class=\"verdict hard-met\">hard met</span>",
            "<p class=\"because\">1 step of nice is &lt; 1 &amp; &gt; 0</p>",
            "<p class=\"because\">No explanation is known.</p>",
            "<li>X-2 c: q: at least 1 s</li>",
            "run once: a &lt;test&gt;",
            "<p class=\"counts\">hard: 1 of 2 met (1 of them under every condition), 0 in part, 1 \
             missed</p>",
            "<p class=\"counts\">soft: 0 of 1 met (0 of them under every condition), 0 in part, 1 \
             missed</p>",
            "not counted: 0 by rule, 2 fitted, 0 empty, 1 not asked",
        ] {
            assert!(html.contains(part), "no {part} in\n{html}");
        }
        assert!(!html.contains("<b>hogs") && !html.contains("<what>"));
    }

    #[test]
    fn hard_misses_come_before_all_experiments() {
        let html = page(HOGS, 1);
        let at = |part: &str| html.find(part).unwrap_or_else(|| panic!("no {part}"));
        assert!(at("the 1st is &lt;impossible&gt;: simulated 1.2") < at("id=\"experiments\""));
        assert!(at("; demanded: at most 1") < at("id=\"experiments\""));
        assert!(at("so is this") > at("id=\"X-1\""), "soft ones only with their experiment");
        let none = page(&HOGS.replace("high = 1", "high = 2"), 1);
        assert!(none.contains("missed, or met in part</h2>\n<p>None.</p>"));
    }

    #[test]
    fn distributions_are_strips_with_shares_and_what_each_condition_gives() {
        let open = "[conditions]\npoints = 4\nfewer = \"a <test>\"\nfor.beside = [\"<a>\", \"b\"]";
        let text = HOGS.replace("[conditions]\nnone = \"a <test>\"", open);
        // With the axis as a task's nice value the ratio is 1.25 under half of the conditions.
        let text = text.replace("\"priority\": {n}", "\"priority\": {beside}");
        let text = text.replace("[\"<a>\", \"b\"]", "[{ beside = 1 }, { beside = 3 }]");
        let html = page(&text, 2);
        assert_well_formed(&html);
        for part in [
            "4 conditions (a &lt;test&gt;): phase of the first start against the tick; ticks of CPUs \
             together or skewed; beside (1, 3)",
            "<svg class=\"strip\"",
            "(percentile ",
            "<span class=\"verdict hard-part\">hard in part</span> <span class=\"share\">50 %</span>",
            "<summary>by condition</summary>",
            "by beside: 1: median 1.2",
            "holds under 2 of 2; 3: median 1.9",
        ] {
            assert!(html.contains(part), "no {part} in\n{html}");
        }
    }

    #[test]
    fn what_could_not_be_run_is_told() {
        let failed = [Error::new("it is <broken>").at("X-9")];
        let page = Page {
            outcomes: &[],
            contradictions: &[],
            forgotten: &[],
            failed: &failed,
            reduced: false,
            has_files: true,
        };
        assert!(page.to_html().contains("<li>X-9: it is &lt;broken&gt;</li>"));
    }

    #[test]
    fn figures_show_what_was_simulated_as_lines_and_what_was_published_as_hollow_points() {
        let html = page(HOGS, 1);
        let figure = html.split("<figure>").nth(1).and_then(|rest| rest.split("</figure>").next());
        let figure = figure.expect("the page has a figure");
        assert!(figure.contains("<title>The &lt;ratio&gt;</title>"));
        assert_eq!(figure.matches("<polyline").count(), 1, "{figure}");
        assert!(figure.contains("fill=\"none\" stroke=\"#d55e00\""), "{figure}");
    }

    #[test]
    fn the_same_results_make_the_same_bytes() {
        assert_eq!(page(HOGS, 1), page(HOGS, 3));
    }

    #[test]
    fn mistakes_in_figures_and_contradictions_are_told_before_anything_is_run() {
        let read = |text: &str| {
            let catalogue = Catalogue::read([("hogs.toml", text)], ("targets.csv", TARGETS));
            catalogue.and_then(|it| it.with_contradictions(("c.toml", CONTRADICTIONS)))
        };
        for (from, to, part) in [
            (
                "published = [1.25]",
                "published = [1, 2]",
                "hogs.toml: figure \"The <ratio>\", series \"published\"",
            ),
            ("\"C-1\"", "\"C-9\"", "X-1: it names contradiction C-9"),
            ("\"X-1\"", "\"../X-1\"", "the id \"../X-1\""),
            ("\"X-1\"", "\"Verdicts\"", "the id \"Verdicts\""),
        ] {
            let error = read(&HOGS.replacen(from, to, 1)).expect_err(from).to_string();
            assert!(error.contains(part), "{from}: {error}");
        }
    }
}
