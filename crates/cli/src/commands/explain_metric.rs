//! `schedlab explain-metric`.

use crate::args::ExplainMetricArgs;
use crate::terminal::{Output, style, wrapped};
use crate::{Failure, Status};
use schedlab_measure::catalogue::{self, ALL, Metric, Named, Scope, Statistic};
use std::io::{self, Write};

/// Explains a metric, or lists them all.
pub fn explain(args: &ExplainMetricArgs, output: &mut Output) -> Result<Status, Failure> {
    let name = args.name.join(" ");
    if name.is_empty() {
        write_list(output)?;
        return Ok(Status::Good);
    }
    let found = found(&name);
    if found.is_empty() {
        return Err(Failure::Message(unknown(&name)));
    }
    let width = style().width.clamp(40, 100);
    for (place, (metric, statistic)) in found.into_iter().enumerate() {
        if place > 0 {
            writeln!(output)?;
        }
        write_metric(metric, statistic, width, output)?;
    }
    Ok(Status::Good)
}

/// A metric, and the requested statistic of a distribution.
type MetricMatch = (&'static Metric, Option<Statistic>);

/// Finds the metrics of a name: one by its id; otherwise all by a title, a field of the JSON
/// document or a word of paper files.
fn found(name: &str) -> Vec<MetricMatch> {
    let of = |named: Named| (named.metric, named.statistic);
    if let Some(metric) = ALL.iter().find(|metric| metric.id == name) {
        return vec![(metric, None)];
    }
    if let Some(named) = catalogue::find(name) {
        return vec![of(named)];
    }
    let same = |text: &str| text.eq_ignore_ascii_case(name);
    let whole = ALL.iter().filter(|metric| {
        let word = metric.paper.is_some_and(|paper| same(paper.word));
        same(metric.title) || word || same(metric.json)
    });
    let mut found: Vec<MetricMatch> = whole.map(|metric| (metric, None)).collect();
    let statistics = catalogue::every().filter(|named| named.statistic.is_some());
    found.extend(statistics.filter(|named| same(&named.title())).map(of));
    found
}

fn write_metric(
    metric: &Metric,
    statistic: Option<Statistic>,
    width: usize,
    output: &mut Output,
) -> io::Result<()> {
    let named = Named { metric: &ALL[place_of(metric)], statistic };
    let arguments = metric.scope.arguments().join(" ");
    let mut lines = vec![
        ("", format!("{} ({})", named.title(), named.id())),
        ("of", format!("{} {arguments}", metric.scope.title())),
        ("unit", named.unit().name().into()),
        ("better", named.better().name().into()),
        ("definition", format!("{}.", metric.definition)),
    ];
    match statistic {
        Some(statistic) => lines.push(("statistic", format!("{}.", statistic.definition()))),
        None if metric.distribution => {
            let all = Statistic::ALL.map(|statistic| format!("{}_{}", metric.id, statistic.id()));
            lines.push(("statistic", format!("one of {}.", all.join(", "))));
        }
        None => {}
    }
    if !metric.help.is_empty() {
        lines.push(("meaning", metric.help.into()));
    }
    let places = metric.places();
    let places = if places.is_empty() { "programs only".into() } else { places };
    lines.push(("shown in", places.replace('`', "")));
    if !metric.example.is_empty() {
        lines.push(("example", metric.example.into()));
    }
    for (label, text) in lines {
        if label.is_empty() {
            writeln!(output, "{text}")?;
            continue;
        }
        for (row, line) in wrapped(&text.replace('`', ""), width - INDENT, "").iter().enumerate() {
            let label = if row == 0 { label } else { "" };
            writeln!(output, "  {label:<width$}{line}", width = INDENT - 2)?;
        }
    }
    Ok(())
}

/// Column in which the texts begin.
const INDENT: usize = 14;

fn place_of(metric: &Metric) -> usize {
    ALL.iter().position(|other| other.id == metric.id).unwrap_or(0)
}

fn write_list(output: &mut Output) -> io::Result<()> {
    let of_scope = |scope: Scope| ALL.iter().filter(move |metric| metric.scope == scope);
    let longest = ALL.iter().map(|metric| shown_id(metric).len()).max().unwrap_or(0);
    for (place, scope) in Scope::ALL.into_iter().enumerate() {
        let gap = if place > 0 { "\n" } else { "" };
        writeln!(output, "{gap}of {}", scope.title())?;
        for metric in of_scope(scope) {
            writeln!(output, "  {:<longest$}  {}", shown_id(metric), metric.title)?;
        }
    }
    let endings = Statistic::ALL.map(|statistic| statistic.id()).join(", ");
    writeln!(output, "\nSTATISTIC is one of {endings}.")
}

fn shown_id(metric: &Metric) -> String {
    format!("{}{}", metric.id, if metric.distribution { "_STATISTIC" } else { "" })
}

/// Maximum length of a name that counts as a misspelling, bytes.
const LONGEST: usize = 200;

/// Returns the message for an unknown metric, with similar names.
fn unknown(name: &str) -> String {
    if name.len() > LONGEST {
        return format!(
            "there is no metric with a name of {} bytes; `schedlab explain-metric` lists all",
            name.len()
        );
    }
    let wanted = name.to_lowercase().replace([' ', '-'], "_");
    let mut names: Vec<(usize, String)> = vec![];
    for named in catalogue::every() {
        let ids = [named.metric.id.to_string(), named.id()];
        let title = named.title().to_lowercase().replace(' ', "_");
        for (id, shown) in ids.iter().map(|id| (id.as_str(), id)).chain([(&*title, &ids[1])]) {
            let part = wanted.len() > 2 && id.contains(&wanted);
            // A similar word within a longer name counts as a little more distant.
            let words = id.split('_').map(|word| distance(&wanted, word) + 1).min();
            let far = distance(&wanted, id).min(words.unwrap_or(usize::MAX));
            let far = if part { 0 } else { far };
            names.push((far, shown.clone()));
        }
    }
    names.sort_by(|a, b| (a.0, a.1.len(), &a.1).cmp(&(b.0, b.1.len(), &b.1)));
    let mut nearest: Vec<String> = vec![];
    for (_, name) in names {
        if !nearest.contains(&name) && nearest.len() < NEAREST {
            nearest.push(name);
        }
    }
    format!(
        "there is no metric \"{name}\"; the nearest names are {}; `schedlab explain-metric` lists \
         all",
        nearest.join(", ")
    )
}

/// Maximum number of suggested names.
const NEAREST: usize = 4;

/// Returns the number of letters to change, remove or insert to turn `a` into `b`.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (place, letter) in a.chars().enumerate() {
        let mut before = row[0];
        row[0] = place + 1;
        for (column, &other) in b.iter().enumerate() {
            let change = before + usize::from(letter != other);
            before = row[column + 1];
            row[column + 1] = change.min(before + 1).min(row[column] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_found_by_all_of_their_names() {
        let ids = |name: &str| -> Vec<&str> {
            found(name).into_iter().map(|(metric, _)| metric.id).collect()
        };
        assert_eq!(ids("burst_lag"), ["burst_lag"]);
        assert_eq!(ids("burst_lag_p99"), ["burst_lag"]);
        assert_eq!(ids("Fairness lag p99"), ["burst_lag"]);
        assert_eq!(ids("totals.jobs"), ["jobs"]);
        assert_eq!(ids("cpu-share"), ["key_cpu_share"]);
        // A title that several metrics share finds all of them.
        assert_eq!(ids("switches"), ["switches"]);
        assert_eq!(ids("idle time"), ["cpu_idle"]);
        assert_eq!(ids("CPU time").len(), ids("cpu TIME").len());
        assert!(ids("CPU time").len() > 1);
        assert!(ids("lags").is_empty());
    }

    #[test]
    fn what_is_unknown_is_answered_with_what_is_like_it() {
        assert!(unknown("slow-down").contains("slowdown"), "{}", unknown("slow-down"));
        assert!(unknown("jain").contains("jain_backlogged"), "{}", unknown("jain"));
        assert!(unknown("lagg").contains("burst_lag"), "{}", unknown("lagg"));
        assert_eq!((distance("lag", "lag"), distance("lag", "flaw")), (0, 2));
    }

    #[test]
    fn lines_are_broken_between_words() {
        assert_eq!(wrapped("one two three", 7, ""), ["one two", "three"]);
        assert_eq!(wrapped("", 7, ""), [""]);
    }
}
