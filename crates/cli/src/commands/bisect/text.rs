//! Results of a bisection as text for people.

use super::Examined;
use crate::commands::explain::words::Explainer;
use crate::terminal::{counted, wrapped};
use schedlab_lab::explain::Parting;
use schedlab_measure::Better;
use schedlab_report::Style;
use schedlab_report::format::amount;
use schedlab_report::table::rows;
use schedlab_space::bisect::{Bisect, Cause, Causes, Point, Reading, Step, Verdict, Way};
use std::fmt::Write as _;

/// Smallest part of a change for which a difference has a row.
const SHOWN_PART: f64 = 0.005;

/// Largest distance from the whole change at which differences together make all of it.
const ALL: f64 = 0.1;

/// Formats all that was found. `explained` returns the command that explains a moment of a point,
/// if there is one.
pub fn text(
    name: &str,
    explained: &dyn Fn(&Point, u64) -> Option<String>,
    threshold: f64,
    bisect: &Bisect,
    examined: &[Examined],
    style: Style,
) -> String {
    let points = &bisect.walk.points;
    let (first, last) = (&points[0], &points[points.len() - 1]);
    let mut text = format!("{name}: {} from {first} to {last}\n\n", bisect.metric.name);
    text.push_str(&table(bisect, style));
    let skipped = points.iter().zip(&bisect.readings).filter(|(_, it)| it.value.is_none());
    for (point, reading) in skipped {
        let _ = writeln!(text, "{point}: {}", reading.why_none());
    }
    text.push('\n');
    if examined.is_empty() {
        let _ = writeln!(text, "No step changes it by {threshold} % or more (--threshold).");
        return text;
    }
    let steps = counted(examined.len(), "step");
    let _ = writeln!(text, "{steps} of {threshold} % or more, marked >.");
    for one in examined {
        text.push('\n');
        examined_step(&mut text, bisect, one, explained, style);
    }
    text
}

/// Formats the figures of all points.
fn table(bisect: &Bisect, style: Style) -> String {
    let steps = bisect.steps();
    let shown = |value: f64| amount(value, bisect.metric.unit, style.unicode);
    let has_range = bisect.readings.iter().any(|reading| reading.range.is_some());
    let mut lines = vec![];
    for (place, (point, reading)) in bisect.walk.points.iter().zip(&bisect.readings).enumerate() {
        let step = steps.iter().find(|step| step.to == place);
        let counts = step.is_some_and(|step| bisect.counts(step));
        let mark = if counts { ">" } else { " " };
        let mut line = vec![format!("{mark} {point}"), reading.value.map_or("-".into(), shown)];
        if has_range {
            line.push(reading.range.map_or(String::new(), |(least, most)| {
                format!("{} to {}", shown(least), shown(most))
            }));
        }
        line.push(step.map_or(String::new(), |step| change(step, bisect.metric.better)));
        lines.push(line);
    }
    let by_setting = bisect.walk.points.iter().any(|point| matches!(point.way, Way::Setting(_)));
    let head = if by_setting { "  scheduler" } else { "  release" };
    let mut heads = vec![head, bisect.metric.name.as_str()];
    heads.extend(has_range.then_some("min to max"));
    heads.push("change");
    rows(&heads, &lines, style)
}

/// Formats a relative change, and whether it is for the better.
fn change(step: &Step, better: Better) -> String {
    let change = step.change();
    let number = match change {
        0.0 => return "=".into(),
        change if change.is_infinite() => "from 0".into(),
        change if change.abs() >= 9.995 => format!("x {:.1}", 1.0 + change),
        change => format!("{:+.1} %", change * 100.0),
    };
    match (better, change > 0.0) {
        (Better::Neither, _) => number,
        (Better::Higher, true) | (Better::Lower, false) => format!("{number}, better"),
        _ => format!("{number}, worse"),
    }
}

fn examined_step(
    text: &mut String,
    bisect: &Bisect,
    examined: &Examined,
    explained: &dyn Fn(&Point, u64) -> Option<String>,
    style: Style,
) {
    let Examined { step, causes, parting } = examined;
    let [from, to] = [step.from, step.to].map(|place| &bisect.walk.points[place]);
    let _ = writeln!(text, "{from} to {to}: {}", change(step, bisect.metric.better));
    let readings = [step.from, step.to].map(|place| &bisect.readings[place]);
    if !Reading::is_apart(readings[0], readings[1]) {
        let _ = writeln!(
            text,
            "Caution: the figures of single runs overlap; the difference may be chance."
        );
    }
    let [old, new] = match from.choice.entry.name == to.choice.entry.name {
        true => [from, to].map(|point| point.choice.release.version.to_string()),
        false => [from, to].map(|point| point.choice.to_string()),
    };
    let is_replaced = from.choice.entry.name != to.choice.entry.name;
    if is_replaced {
        let _ = writeln!(
            text,
            "{} replaces {}: another scheduler.",
            to.choice.entry.name, from.choice.entry.name
        );
    }
    match &to.way {
        Way::Setting(name) => _ = writeln!(text, "The cause is the setting `{name}`."),
        _ if causes.all.is_empty() => {
            let _ = writeln!(text, "The differences between the two are not separable here.");
        }
        _ => {
            verdict(text, causes, &old, &new);
            rest(text, causes);
        }
    }
    trials(text, causes, bisect, ([&old, &new], is_replaced), style);
    match parting {
        Ok(Some(parting)) => {
            text.push('\n');
            text.push_str(&parted(parting, [&from.to_string(), &to.to_string()], style));
            let commands = [from, to].map(|point| explained(point, parting.at_ns));
            if let [Some(before), Some(after)] = commands {
                let _ = writeln!(text, "The same moment in full:\n  {before}\n  {after}");
            }
        }
        Ok(None) => _ = writeln!(text, "The two schedules are the same in the first run."),
        Err(error) => _ = writeln!(text, "The first different decision was not found: {error}"),
    }
}

/// Returns the first sentence of a question, as a statement.
fn statement(cause: &Cause) -> &str {
    let sentence = cause.text.split_once(". ").map_or(cause.text.as_str(), |(first, _)| first);
    let sentence = sentence.trim().trim_end_matches('.');
    sentence.strip_prefix("Whether ").unwrap_or(sentence)
}

/// States a difference: which release has it, and what it says.
fn difference(cause: &Cause, new: &str) -> String {
    let says = statement(cause);
    let name = &cause.name;
    match (cause.is_rule, cause.values) {
        (true, (_, Some(1))) => format!("new in {new}: {says} (`{name}`)"),
        (true, _) => format!("no longer in {new}: {says} (`{name}`)"),
        (false, (Some(before), Some(after))) => {
            format!("{after} in {new} and not {before}: {says} (`{name}`)")
        }
        (false, (None, _)) => format!("new in {new}: {says} (`{name}`)"),
        (false, (_, None)) => format!("no longer in {new}: {says} (`{name}`)"),
    }
}

/// States which of the differences made the step.
fn verdict(text: &mut String, causes: &Causes, old: &str, new: &str) {
    let one = |cause: &Cause| if cause.is_rule { "one rule" } else { "one setting" };
    let first = |cause: &Cause| if cause.is_rule { "One rule" } else { "One setting" };
    let line = match causes.verdict() {
        Verdict::One(cause) => format!("The cause is {}, {}.", one(cause), difference(cause, new)),
        Verdict::Needed(cause) if cause.alone.is_none() => format!(
            "The cause is {}, without which the change disappears. It is {}. {old} does not have \
             it.",
            one(cause),
            difference(cause, new)
        ),
        Verdict::Needed(cause) => format!(
            "{} is necessary, but not sufficient alone. It is {}.",
            first(cause),
            difference(cause, new)
        ),
        Verdict::Suffices(cause) if cause.without.is_none() => {
            format!(
                "The cause is {}, which is sufficient alone. It is {}.",
                one(cause),
                difference(cause, new)
            )
        }
        Verdict::Suffices(cause) => format!(
            "{} is sufficient, but without it others have the same effect. It is {}.",
            first(cause),
            difference(cause, new)
        ),
        Verdict::Several => "No single difference accounts for half of the change: several cause \
                             it together."
            .into(),
        Verdict::NotSeparable => format!(
            "The differences between {old} and {new} that can be switched account for less than \
             half of the change; the rest is not separable."
        ),
    };
    for line in wrapped(&line, 100, "  ") {
        let _ = writeln!(text, "{line}");
    }
}

/// States that the differences that can be switched do not make all of the change, if that is so
/// and the first point can have all of them.
fn rest(text: &mut String, causes: &Causes) {
    let has_all = causes.tried().iter().all(|cause| cause.values.0.is_some());
    let part = causes.together.map(|value| causes.part(value));
    let is_named = !matches!(causes.verdict(), Verdict::NotSeparable);
    if let Some(part) = part.filter(|part| has_all && is_named && (part - 1.0).abs() > ALL) {
        let percent = (part * 100.0).round();
        let _ =
            writeln!(text, "Not all of it is separable: together they account for {percent} %.");
    }
}

/// Formats the figures with single differences, between two releases, or schedulers of which one
/// replaces the other.
fn trials(
    text: &mut String,
    causes: &Causes,
    bisect: &Bisect,
    ([old, new], is_replaced): ([&str; 2], bool),
    style: Style,
) {
    let shown = |value: Option<f64>, part: Option<f64>| match (value, part) {
        (Some(value), Some(part)) => {
            let percent = (part * 100.0).round() as i64;
            format!("{} {percent:>4} %", amount(value, bisect.metric.unit, style.unicode))
        }
        _ => "-".into(),
    };
    let mut lines = vec![];
    let mut none = vec![];
    let tried = causes.tried();
    for cause in &tried {
        let (alone, without) = causes.parts(cause);
        let is_shown = |part: Option<f64>| part.is_some_and(|part| part.abs() >= SHOWN_PART);
        if !is_shown(alone) && !is_shown(without) && cause.error.is_none() {
            none.push(cause.name.as_str());
            continue;
        }
        let value = |value: Option<i64>| match (value, cause.is_rule) {
            (None, _) => "-".into(),
            (Some(0), true) => "no".into(),
            (Some(_), true) => "yes".into(),
            (Some(value), false) => value.to_string(),
        };
        lines.push(vec![
            format!("  {}", cause.name),
            value(cause.values.0),
            value(cause.values.1),
            shown(cause.alone, alone),
            shown(cause.without, without),
        ]);
    }
    if let Some(value) = causes.together {
        let together = shown(Some(value), Some(causes.part(value)));
        let has_all = tried.iter().all(|cause| cause.values.0.is_some());
        lines.push(vec![
            if has_all { "  all of these".into() } else { format!("  all that {old} can have") },
            String::new(),
            String::new(),
            together,
            "-".into(),
        ]);
    }
    if !lines.is_empty() {
        text.push('\n');
        let heads = ["  difference", "before", "after", "added alone", "removed alone"];
        text.push_str(&rows(&heads, &lines, style));
    }
    if !none.is_empty() {
        let names = format!("No effect here: {}.", none.join(", "));
        wrapped(&names, 100, "  ").iter().for_each(|line| _ = writeln!(text, "{line}"));
    }
    let fixed = causes.fixed();
    if is_replaced && !fixed.is_empty() {
        // There are many, and the change is hardly due to one of them.
        let names: Vec<&str> = fixed.iter().map(|cause| cause.name.as_str()).collect();
        let says = format!("Not separable: {}.", names.join(", "));
        wrapped(&says, 100, "  ").iter().for_each(|line| _ = writeln!(text, "{line}"));
    }
    for cause in fixed.into_iter().filter(|_| !is_replaced) {
        let says = format!("Not separable, {}.", difference(cause, new));
        wrapped(&says, 100, "  ").iter().for_each(|line| _ = writeln!(text, "{line}"));
    }
    for cause in &tried {
        if let Some(error) = &cause.error {
            let _ = writeln!(text, "{}: {error}", cause.name);
        }
    }
}

/// Describes the first decision in which two runs part.
fn parted(parting: &Parting, titles: [&str; 2], style: Style) -> String {
    let mut text = String::new();
    for (place, (side, title)) in parting.sides.iter().zip(titles).enumerate() {
        let words = Explainer::new(&side.names, style);
        if place == 0 {
            text.push_str(&words.parting(parting));
        }
        text.push_str(&words.parting_side(parting, side, title));
    }
    text
}
