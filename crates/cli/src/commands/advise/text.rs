//! Advice as text for people.

use crate::terminal::{counted, style};
use schedlab_lab::replay::{ReplayReport, duration, durations};
use schedlab_replay::score::Band;
use schedlab_report::table::rows;
use schedlab_space::advise::{Advice, Effect, Measure, Score, Suggestion};
use std::fmt::Write as _;

/// Maximum number of side effects that are shown.
const SIDES_MAX: usize = 6;

/// Formats advice. `judge`: the second recording, by which it was judged.
pub fn advice(advice: &Advice, judge: Option<&str>) -> String {
    let mut out = String::new();
    trust(&mut out, &advice.report);
    let (measure, recorded, replayed) = &advice.objective;
    let more = if advice.is_max { "greatest" } else { "least" };
    let _ = write!(out, "aim:   {more} {measure}");
    for condition in &advice.conditions {
        let _ = write!(out, "; {condition}");
    }
    let recorded = recorded.map_or("-".into(), |value| shown(measure, value));
    let replayed = banded(measure, replayed);
    let _ = writeln!(out, "\n       {recorded} in the recording, {replayed} in its replays");
    let tried = advice.tried;
    let runs = counted(advice.runs, "run");
    let judged = judge.map_or("held-back seeds".into(), String::from);
    let _ = writeln!(out, "tried: {tried} changes and combinations in {runs}; judged by {judged}");
    if advice.suggestions.is_empty() {
        out.push_str("\nNothing that was tried helps beyond noise");
        match &advice.nearest {
            Some(nearest) => {
                let texts: Vec<&str> = nearest.changes.iter().map(|it| it.text.as_str()).collect();
                let _ = writeln!(out, ". The best that was judged:\n");
                let _ = writeln!(out, "   {}", texts.join(" and "));
                effects(&mut out, nearest);
            }
            None => out.push_str(", or the conditions do not hold with it.\n"),
        }
    }
    for (at, suggestion) in advice.suggestions.iter().enumerate() {
        let texts: Vec<&str> = suggestion.changes.iter().map(|it| it.text.as_str()).collect();
        let _ = writeln!(out, "\n{}. {}", at + 1, texts.join(" and "));
        effects(&mut out, suggestion);
        for (label, commands) in [
            ("make", suggestion.changes.iter().map(|it| &it.make).collect::<Vec<_>>()),
            ("undo", suggestion.changes.iter().map(|it| &it.undo).collect()),
            ("note", suggestion.changes.iter().map(|it| &it.notes).collect()),
        ] {
            for line in commands.into_iter().flatten() {
                let _ = writeln!(out, "   {label:<6} {line}");
            }
        }
    }
    if !advice.report.messages.is_empty() {
        out.push('\n');
    }
    for message in &advice.report.messages {
        let _ = writeln!(out, "{}: {}", message.code, message.text);
    }
    out
}

/// Describes the recording and how far its replay can be trusted.
fn trust(out: &mut String, report: &ReplayReport) {
    let _ = writeln!(out, "{}: {}", report.name, report.trace_sentence());
    let _ = writeln!(out, "trust: {} ({})", report.grade, report.trust_sentence());
    let _ = writeln!(out, "       {}", report.expected_sentence());
}

/// Writes the effects of a suggestion.
fn effects(out: &mut String, suggestion: &Suggestion) {
    let mut lines: Vec<Vec<String>> = vec![];
    let mut add = |label: &str, effect: &Effect| {
        let before = banded(&effect.measure, &effect.before);
        let after = banded(&effect.measure, &effect.after);
        lines.push(vec![
            format!("   {label}"),
            effect.measure.to_string(),
            format!("{before} -> {after}"),
            change(effect),
        ]);
    };
    add("effect", &suggestion.objective);
    suggestion.conditions.iter().for_each(|effect| add("keeps", effect));
    suggestion.sides.iter().take(SIDES_MAX).for_each(|effect| add("side", effect));
    aligned(out, &lines);
    let left_out = suggestion.sides.len().saturating_sub(SIDES_MAX);
    match (suggestion.sides.len(), left_out) {
        (0, _) => out.push_str("   side   no effect on other tasks beyond noise\n"),
        (_, 0) => {}
        _ => {
            let more = counted(left_out, "effect");
            let _ = writeln!(out, "   side   and {more} more (--format json)");
        }
    }
    let (better, pairs) = suggestion.better;
    let _ = writeln!(out, "   noise  better in {better} of {pairs} pairs of runs");
    let _ = writeln!(out, "   trust  {}", suggestion.grade);
}

/// Writes lines with aligned columns.
fn aligned(out: &mut String, lines: &[Vec<String>]) {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width =
        |at: usize| lines.iter().filter_map(|line| line.get(at)).map(|it| it.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|at| width(at).unwrap_or(0)).collect();
    for line in lines {
        let mut text = String::new();
        for (cell, width) in line.iter().zip(&widths) {
            let pad = width.saturating_sub(cell.chars().count());
            text.push_str(cell);
            // The label is one blank from its figure, as in the lines below.
            text.extend(std::iter::repeat_n(
                ' ',
                pad + if text.len() == cell.len() { 1 } else { 2 },
            ));
        }
        let _ = writeln!(out, "{}", text.trim_end());
    }
}

/// Formats a predicted change with its band: `-87 % (-95 to -52 %)`.
fn change(effect: &Effect) -> String {
    let Some((change, (least, most))) = effect.change().zip(effect.range()) else {
        return String::new();
    };
    format!("{} ({} to {})", percent(change), percent(least), percent(most))
}

fn percent(part: f64) -> String {
    match 100.0 * part {
        percent if percent.abs() < 9.95 => format!("{percent:+.1} %"),
        percent if percent < 1000.0 => format!("{percent:+.0} %"),
        percent => format!("x{:.0}", 1.0 + percent / 100.0),
    }
}

/// Formats a value of a figure.
fn shown(measure: &Measure, value: f64) -> String {
    if measure.figure.is_time() { duration(value) } else { format!("{value:.0}") }
}

/// Formats the values of runs: the median, and the least and the greatest.
fn banded(measure: &Measure, band: &Band) -> String {
    if measure.figure.is_time() {
        return durations(band);
    }
    let [median, least, greatest] =
        [band.median, band.least, band.greatest].map(|value| shown(measure, value));
    match least == greatest {
        true => median,
        false => format!("{median} [{least} – {greatest}]"),
    }
}

/// Formats the score of a prediction.
pub fn score(score: &Score) -> String {
    let mut out = String::new();
    trust(&mut out, &score.report);
    let _ = writeln!(out, "change: {}\n", score.changes.join("; "));
    let mut lines = vec![];
    for one in &score.figures {
        let Effect { measure, recorded, .. } = &one.effect;
        let value = |value: Option<f64>| value.map_or("-".into(), |value| shown(measure, value));
        let answer = |is: bool, no: &str| if is { "yes".to_string() } else { no.into() };
        lines.push(vec![
            measure.to_string(),
            value(*recorded),
            value(one.after),
            percent(one.real),
            one.effect.change().map_or("-".into(), percent),
            one.effect.range().map_or("-".into(), |(least, most)| {
                format!("{} to {}", percent(least), percent(most))
            }),
            answer(one.is_direction_right(), "NO"),
            answer(one.is_in_band(), "NO"),
            one.grade.into(),
        ]);
    }
    let heads =
        ["figure", "before", "after", "real", "predicted", "band", "direction", "in band", "trust"];
    out.push_str(&rows(&heads, &lines, style()));
    let count = score.figures.len();
    let directions = score.figures.iter().filter(|it| it.is_direction_right()).count();
    let in_band = score.figures.iter().filter(|it| it.is_in_band()).count();
    let _ = writeln!(
        out,
        "\nThe direction is right for {directions} of {}, and {in_band} are within the band.",
        counted(count, "figure")
    );
    out
}
