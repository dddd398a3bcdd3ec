//! The results as a page for a browser: one file that needs nothing else.
//!
//! What was missed stands first. The page has no date and names no machine: the same results make
//! the same bytes.

use crate::catalogue::{Outcome, count};
use crate::contradictions::Contradiction;
use crate::judge::{Judged, Verdict};
use crate::targets::Row;
use crate::text::{number, range, simulated, summary, with_unit};
use std::fmt::Write;

/// What is on the page.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// The experiments.
    pub outcomes: &'a [Outcome],
    /// What contradicts what in the documents.
    pub contradictions: &'a [Contradiction],
    /// Ranges that no experiment is about.
    pub forgotten: &'a [&'a Row],
    /// Whether fewer and smaller simulations were run than belong to the experiments.
    pub reduced: bool,
}

const STYLE: &str = include_str!("page.css");

/// What each verdict means.
const fn meaning(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::HardMet => {
            "follows from the scheduler's rules, the published numbers agree, and so does the simulation"
        }
        Verdict::HardMissed => "should follow from the scheduler's rules, and did not come out",
        Verdict::SoftMet => "should come out with sensible costs, and did",
        Verdict::SoftMissed => "should come out with sensible costs, and did not",
        Verdict::Fitted => {
            "a cost was chosen so that this number agrees: that it does says nothing"
        }
        Verdict::NotAsked => "was published, and cannot or should not be reproduced",
    }
}

const fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::HardMet => "hard-met",
        Verdict::HardMissed => "hard-missed",
        Verdict::SoftMet => "soft-met",
        Verdict::SoftMissed => "soft-missed",
        Verdict::Fitted => "fitted",
        Verdict::NotAsked => "not-asked",
    }
}

/// Text as it stands in HTML, in attributes too.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() && c != '\n' => {}
            c => out.push(c),
        }
    }
    out
}

fn badge(verdict: Verdict) -> String {
    format!("<span class=\"verdict {}\">{}</span>", class(verdict), verdict.name())
}

macro_rules! put {
    ($html:expr, $($arguments:tt)*) => { writeln!($html, $($arguments)*).expect("a string takes everything") };
}

impl Page<'_> {
    /// The page.
    pub fn to_html(&self) -> String {
        let mut html = String::new();
        put!(html, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">");
        put!(html, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
        put!(html, "<meta name=\"color-scheme\" content=\"light dark\">");
        put!(
            html,
            "<title>Published experiments, run again</title>\n<style>\n{STYLE}</style>\n</head>\n<body>"
        );
        self.head(&mut html);
        self.hard_misses(&mut html);
        self.overview(&mut html);
        for outcome in self.outcomes {
            self.experiment(&mut html, outcome);
        }
        self.forgotten(&mut html);
        self.contradictions(&mut html);
        let version = env!("CARGO_PKG_VERSION");
        put!(
            html,
            "<footer><p>Written by schedlab {version}, <code>schedlab papers --report DIR</code>. All values that"
        );
        put!(
            html,
            "were simulated are in the CSV files beside this page.</p></footer>\n</body>\n</html>"
        );
        html
    }

    fn head(&self, html: &mut String) {
        put!(html, "<header>\n<h1>Published experiments, run again</h1>");
        put!(
            html,
            "<p>Experiments that were published about Linux schedulers, on a simulated machine under the schedulers"
        );
        put!(
            html,
            "of the time, and what came out beside what was published. Nothing is adjusted to pass.</p>"
        );
        if self.reduced {
            put!(
                html,
                "<p class=\"warning\"><strong>This is the reduced form:</strong> fewer and smaller simulations. Demands"
            );
            put!(html, "about what was not simulated are left out.</p>");
        }
        put!(
            html,
            "<p class=\"counts\">{}</p>\n<dl class=\"verdicts\">",
            escaped(&summary(self.outcomes))
        );
        for (verdict, count) in count(self.outcomes) {
            put!(html, "<dt>{} <b>{count}</b></dt><dd>{}</dd>", badge(verdict), meaning(verdict));
        }
        put!(html, "</dl>\n</header>");
    }

    fn hard_misses(&self, html: &mut String) {
        put!(html, "<section id=\"missed\">\n<h2>Hard demands that are missed</h2>");
        let missed = |outcome: &&Outcome| !explained(outcome, Verdict::HardMissed).is_empty();
        if !self.outcomes.iter().any(|outcome| missed(&outcome)) {
            put!(html, "<p>None.</p>");
        }
        for outcome in self.outcomes.iter().filter(missed) {
            let file = &outcome.file;
            put!(
                html,
                "<h3><a href=\"#{0}\">{0}</a> {1}</h3>",
                escaped(&file.id),
                escaped(&file.title)
            );
            misses(html, outcome, Verdict::HardMissed);
        }
        put!(html, "</section>");
    }

    /// A table of the experiments and how often each verdict was given.
    fn overview(&self, html: &mut String) {
        put!(
            html,
            "<section id=\"experiments\">\n<h2>Experiments</h2>\n<div class=\"wide\"><table class=\"overview\">"
        );
        put!(html, "<thead><tr><th scope=\"col\">id</th><th scope=\"col\">experiment</th>");
        for verdict in Verdict::ALL {
            put!(html, "<th scope=\"col\">{}</th>", verdict.name());
        }
        put!(html, "</tr></thead>\n<tbody>");
        for outcome in self.outcomes {
            let file = &outcome.file;
            put!(
                html,
                "<tr><th scope=\"row\"><a href=\"#{0}\">{0}</a></th><td>{1}</td>",
                escaped(&file.id),
                escaped(&file.title)
            );
            for (verdict, count) in count(std::slice::from_ref(outcome)) {
                match count {
                    0 => put!(html, "<td class=\"count\"></td>"),
                    count => put!(html, "<td class=\"count {}\">{count}</td>", class(verdict)),
                }
            }
            put!(html, "</tr>");
        }
        put!(html, "</tbody>\n</table></div>\n</section>");
    }

    fn experiment(&self, html: &mut String, outcome: &Outcome) {
        let file = &outcome.file;
        put!(html, "<section class=\"experiment\" id=\"{}\">", escaped(&file.id));
        put!(html, "<h2>{} {}</h2>\n<dl class=\"about\">", escaped(&file.id), escaped(&file.title));
        for (what, text) in
            [("Source", &file.source), ("Question", &file.question), ("Reported", &file.reported)]
        {
            if !text.is_empty() {
                put!(html, "<dt>{what}</dt><dd>{}</dd>", escaped(text));
            }
        }
        put!(html, "</dl>");
        table(html, &outcome.judged);
        if outcome.judged.iter().any(|judged| is_missed(judged.verdict)) {
            put!(html, "<h3>Why it was missed, as far as is known</h3>");
            misses(html, outcome, Verdict::HardMissed);
            misses(html, outcome, Verdict::SoftMissed);
        }
        for chart in &outcome.charts {
            put!(html, "<figure>\n{}</figure>", chart.to_svg());
        }
        if !file.notes.is_empty() {
            put!(html, "<h3>Notes</h3>\n<ul>");
            for note in &file.notes {
                put!(html, "<li>{}</li>", escaped(note));
            }
            put!(html, "</ul>");
        }
        if !file.not_asked.is_empty() {
            put!(html, "<h3>Not asked</h3>\n<dl class=\"about\">");
            for not in &file.not_asked {
                put!(html, "<dt>{}</dt><dd>{}</dd>", escaped(&not.what), escaped(&not.why));
            }
            put!(html, "</dl>");
        }
        if !file.contradictions.is_empty() {
            let links: Vec<String> = file.contradictions.iter().map(|id| self.link(id)).collect();
            put!(html, "<p>Contradictions in the documents: {}.</p>", links.join(", "));
        }
        put!(html, "<p><a href=\"{}.csv\">All values</a></p>\n</section>", escaped(&file.id));
    }

    /// To a contradiction, if its text is there.
    fn link(&self, id: &str) -> String {
        let known = self.contradictions.iter().any(|contradiction| contradiction.id == id);
        let id = escaped(id);
        if known { format!("<a href=\"#{id}\">{id}</a>") } else { id }
    }

    fn forgotten(&self, html: &mut String) {
        if self.forgotten.is_empty() {
            return;
        }
        put!(html, "<section id=\"forgotten\">\n<h2>Ranges that no experiment asks for</h2>\n<ul>");
        for row in self.forgotten {
            let range = with_unit(range((row.low, row.high)), &row.unit);
            put!(
                html,
                "<li>{} {}: {}: {}</li>",
                escaped(&row.id),
                escaped(&row.case),
                escaped(&row.quantity),
                escaped(&range)
            );
        }
        put!(html, "</ul>\n</section>");
    }

    fn contradictions(&self, html: &mut String) {
        if self.contradictions.is_empty() {
            return;
        }
        put!(
            html,
            "<section id=\"contradictions\">\n<h2>What contradicts what in the documents</h2>\n<dl class=\"about\">"
        );
        for contradiction in self.contradictions {
            let (id, text) = (escaped(&contradiction.id), escaped(&contradiction.text));
            let by = self
                .outcomes
                .iter()
                .filter(|outcome| outcome.file.contradictions.contains(&contradiction.id));
            let by: Vec<String> = by
                .map(|outcome| format!("<a href=\"#{0}\">{0}</a>", escaped(&outcome.file.id)))
                .collect();
            let by = if by.is_empty() { String::new() } else { format!(" ({})", by.join(", ")) };
            put!(html, "<dt id=\"{id}\">{id}</dt><dd>{text}{by}</dd>");
        }
        put!(html, "</dl>\n</section>");
    }
}

const fn is_missed(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::HardMissed | Verdict::SoftMissed)
}

/// Text, or a dash where there is none.
fn or_dash(text: &str) -> String {
    if text.is_empty() { "–".into() } else { escaped(text) }
}

/// What is demanded and what came out.
fn table(html: &mut String, judged: &[Judged]) {
    let asked: Vec<&Judged> =
        judged.iter().filter(|judged| judged.verdict != Verdict::NotAsked).collect();
    if asked.is_empty() {
        put!(html, "<p>Nothing is asked.</p>");
        return;
    }
    put!(
        html,
        "<table class=\"demands\">\n<thead><tr><th scope=\"col\">demand</th><th scope=\"col\">published</th>"
    );
    put!(
        html,
        "<th scope=\"col\">simulated</th><th scope=\"col\">range</th><th scope=\"col\">verdict</th></tr></thead>\n<tbody>"
    );
    for judged in asked {
        put!(
            html,
            "<tr><th scope=\"row\">{}</th><td data-name=\"published\">{}</td><td data-name=\"simulated\">{}</td>\
             <td data-name=\"range\">{}</td><td data-name=\"verdict\">{}</td></tr>",
            escaped(&judged.says),
            or_dash(&judged.published),
            or_dash(&simulated(judged)),
            or_dash(&with_unit(range(judged.range), &judged.unit)),
            badge(judged.verdict)
        );
    }
    put!(html, "</tbody>\n</table>");
}

/// The demands of that verdict by their explanations, in the order of the first of each.
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

/// The demands of that verdict and their explanations.
fn misses(html: &mut String, outcome: &Outcome, verdict: Verdict) {
    for (because, group) in explained(outcome, verdict) {
        put!(html, "<ul class=\"misses\">");
        for judged in group {
            let mut words = escaped(&judged.says);
            if let Some(value) = judged.simulated {
                let range = range(judged.range);
                let asked =
                    if range.is_empty() { String::new() } else { format!("; asked: {range}") };
                let unit = if judged.unit.is_empty() {
                    String::new()
                } else {
                    format!(" {}", judged.unit)
                };
                words += &escaped(&format!(": simulated {}{asked}{unit}", number(value)));
            }
            if !judged.published.is_empty() {
                words += &escaped(&format!("; published: {}", judged.published));
            }
            put!(html, "<li>{} {words}</li>", badge(verdict));
        }
        let because =
            if because.is_empty() { "No explanation is known.".into() } else { escaped(because) };
        put!(html, "</ul>\n<p class=\"because\">{because}</p>");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Catalogue;
    use std::num::NonZeroUsize;

    const TARGETS: &str = "id,case,quantity,unit,low,high,published\nX-1,two hogs,ratio,,1.2,1.3,1.25\nX-2,c,q,s,1,,\n";

    const HOGS: &str = r#"
id = "X-1"
title = "Two <b>hogs</b> & \"more\""
source = "a test"
question = "Who gets <what>?"
notes = ["a < b"]
contradictions = ["C-1"]
not_asked = [{ what = "the <moon>", why = "it is far" }]

[[run]]
for.n = [1, 2]
workload = '{"tasks": {"a": {"run": 10000, "loop": -1}, "b": {"run": 10000, "loop": -1, "priority": {n}}}}'
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

    const CONTRADICTIONS: &str = "[[contradiction]]\nid = \"C-1\"\ntext = \"this < that\"\n[[contradiction]]\nid = \"C-2\"\ntext = \"other\"\n";

    fn catalogue(text: &str) -> Catalogue {
        let catalogue = Catalogue::read([("hogs.toml", text)], ("targets.csv", TARGETS));
        let catalogue = catalogue.and_then(|it| it.with_contradictions(("c.toml", CONTRADICTIONS)));
        catalogue.unwrap_or_else(|error| panic!("{error}"))
    }

    fn page(text: &str, threads: usize) -> String {
        let catalogue = catalogue(text);
        let chosen = catalogue.choose(&[]).expect("all are there");
        let threads = NonZeroUsize::new(threads).expect("it is not 0");
        let outcomes = catalogue.run(&chosen, false, threads, |_, _| true);
        let outcomes = outcomes.unwrap_or_else(|error| panic!("{error}"));
        let page = Page {
            outcomes: &outcomes,
            contradictions: &catalogue.contradictions,
            forgotten: &catalogue.forgotten(),
            reduced: false,
        };
        page.to_html()
    }

    /// Every element is closed, in order, and nothing but elements begins with `<`.
    fn assert_well_formed(html: &str) {
        let mut open = vec![];
        let body = html.strip_prefix("<!DOCTYPE html>").expect("it says what it is");
        for piece in body.split('<').skip(1) {
            let (tag, text) = piece.split_once('>').unwrap_or_else(|| panic!("<{piece}"));
            assert!(!text.contains('>') || open.last() == Some(&"style"), "{piece}");
            let name = tag.split([' ', '/']).find(|part| !part.is_empty()).expect("it has a name");
            if tag.starts_with('/') {
                assert_eq!(open.pop(), Some(name), "{piece}");
            } else if !tag.ends_with('/') && name != "meta" {
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
            "<td data-name=\"range\">1.200 to 1.300</td><td data-name=\"verdict\"><span class=\"verdict hard-met\">hard met</span>",
            "<p class=\"because\">1 step of nice is &lt; 1 &amp; &gt; 0</p>",
            "<p class=\"because\">No explanation is known.</p>",
            "<li>X-2 c: q: at least 1 s</li>",
            "1 experiment: 1 hard met, 1 hard missed, 0 soft met, 1 soft missed, 2 fitted, 1 not asked",
        ] {
            assert!(html.contains(part), "no {part} in\n{html}");
        }
        assert!(
            !html.contains("<b>hogs") && !html.contains("<what>") && !html.contains("http-equiv")
        );
    }

    #[test]
    fn hard_misses_come_before_all_experiments() {
        let html = page(HOGS, 1);
        let at = |part: &str| html.find(part).unwrap_or_else(|| panic!("no {part}"));
        assert!(at("the 1st is &lt;impossible&gt;: simulated 1.2") < at("id=\"experiments\""));
        assert!(at("; asked: at most 1") < at("id=\"experiments\""));
        assert!(at("so is this") > at("id=\"X-1\""), "soft ones only with their experiment");
        let none = page(&HOGS.replace("high = 1", "high = 2"), 1);
        assert!(none.contains("<h2>Hard demands that are missed</h2>\n<p>None.</p>"));
    }

    #[test]
    fn figures_show_what_was_simulated_as_lines_and_what_was_published_as_hollow_points() {
        let html = page(HOGS, 1);
        let figure = html.split("<figure>").nth(1).and_then(|rest| rest.split("</figure>").next());
        let figure = figure.expect("there is a figure");
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
