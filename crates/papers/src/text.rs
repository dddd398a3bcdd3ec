//! Results as text: for the terminal, and as CSV.

use crate::catalogue::{Outcome, count};
use crate::distribution::Distribution;
use crate::judge::{Judged, Verdict};
use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use schedlab_report::csv::Rows;
use std::fmt::Write;

/// The first line of [`verdicts_csv`].
pub const VERDICTS_HEADING: &str = "id,demand,published,percentile,median,least,most,unit,low,\
                                    high,conditions,holds,verdict,because";

/// The first line of [`values_csv`].
pub const VALUES_HEADING: &str = "name,condition,value";

/// The beginning of the first line of [`conditions_csv`].
pub const CONDITIONS_HEADING: &str = "condition,phase,ticks";

/// Returns a number with a useful number of digits.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        return "-".into();
    }
    if value == value.trunc() && size < 1e12 {
        return format!("{value:.0}");
    }
    match size {
        1000.0.. => format!("{value:.0}"),
        100.0.. => format!("{value:.1}"),
        10.0.. => format!("{value:.2}"),
        1.0.. => format!("{value:.3}"),
        0.001.. => format!("{value:.4}"),
        _ => format!("{value:.2e}"),
    }
}

/// Returns the range in words.
pub fn range((low, high): (Option<f64>, Option<f64>)) -> String {
    match (low, high) {
        (None, None) => String::new(),
        (Some(low), None) => format!("at least {}", number(low)),
        (None, Some(high)) => format!("at most {}", number(high)),
        (Some(low), Some(high)) if low == high => number(low),
        (Some(low), Some(high)) => format!("{} to {}", number(low), number(high)),
    }
}

/// Returns a text and its unit, if there are any.
pub fn with_unit(text: String, unit: &str) -> String {
    if unit.is_empty() || text.is_empty() { text } else { format!("{text} {unit}") }
}

/// Returns the simulated value with its unit: the median, and the range under all conditions.
pub fn simulated(judged: &Judged) -> String {
    let Some(values) = &judged.values else { return String::new() };
    let median = with_unit(number(values.median()), &judged.unit);
    if !is_wide(values) {
        return median;
    }
    format!("{median} ({} to {})", number(values.least()), number(values.most()))
}

/// Whether the numbers differ visibly.
fn is_wide(values: &Distribution) -> bool {
    number(values.least()) != number(values.most())
}

/// Returns the published number, and its percentile in the distribution.
pub fn published(judged: &Judged) -> String {
    let is_wide = judged.values.as_ref().is_some_and(is_wide);
    match judged.percentile().filter(|_| is_wide) {
        Some(percentile) => format!("{} (percentile {percentile:.0})", judged.published),
        None => judged.published.clone(),
    }
}

/// Returns the verdict, with the share of conditions under which the demand holds unless it is all
/// or none.
pub fn verdict(judged: &Judged) -> String {
    let name = judged.verdict.name();
    match judged.share() {
        Some(share) if share > 0.0 && share < 1.0 => format!("{name} ({:.0} %)", share * 100.0),
        _ => name.into(),
    }
}

/// Returns the influence of the conditions on a demand that does not hold under all of them: a line
/// for each axis on which medians or shares differ.
pub fn by_condition(judged: &Judged) -> Vec<String> {
    if judged.share().is_none_or(|share| share == 0.0 || share == 1.0) {
        return vec![];
    }
    let mut lines: Vec<(String, String)> = vec![];
    for split in &judged.splits {
        let median = split.median.map_or(String::new(), |median| {
            format!(" median {},", with_unit(number(median), &judged.unit))
        });
        let part = format!("{}:{median} holds under {} of {}", split.value, split.holds, split.of);
        match lines.last_mut() {
            Some((axis, line)) if *axis == split.axis => *line += &format!("; {part}"),
            _ => lines.push((split.axis.clone(), part)),
        }
    }
    lines.into_iter().map(|(axis, line)| format!("by {axis}: {line}")).collect()
}

/// Results of other choices.
pub fn otherwise(judged: &Judged) -> Vec<String> {
    let other = |(says, value): &(String, f64)| {
        format!("{says}: {}", with_unit(number(*value), &judged.unit))
    };
    judged.otherwise.iter().map(other).collect()
}

/// Returns the conditions of an experiment, in a line.
pub fn conditions(outcome: &Outcome) -> String {
    let open = &outcome.file.conditions;
    if outcome.file.runs.is_empty() {
        return "nothing is run".into();
    }
    if let Some(why) = &open.none {
        return format!("run once: {why}");
    }
    let mut axes = vec![];
    if open.phase {
        axes.push("phase of the first start against the tick".to_string());
    }
    if open.ticks.len() > 1 {
        axes.push("ticks of CPUs together or skewed".into());
    }
    for (axis, values) in outcome.axes() {
        if axis != crate::conditions::TICKS {
            axes.push(format!("{axis} ({})", values.join(", ")));
        }
    }
    let count = outcome.conditions.len();
    let fewer = open.fewer.as_ref().map_or(String::new(), |why| format!(" ({why})"));
    format!("{count} conditions{fewer}: {}", axes.join("; "))
}

/// Returns an empty table for the terminal; the columns `numbers` contain numbers.
pub(crate) fn table(
    width: u16,
    unicode: bool,
    header: &[&str],
    numbers: std::ops::Range<usize>,
) -> Table {
    let mut table = Table::new();
    let line = if unicode { '─' } else { '-' };
    table
        .load_style(TableStyle::new().header_separator(LineStyle::none().fill(line)))
        .force_no_tty()
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width)
        .set_header(header.iter().copied());
    for column in numbers {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// Returns an experiment for the terminal.
pub fn experiment(outcome: &Outcome, width: u16, unicode: bool) -> String {
    let file = &outcome.file;
    let mut text = format!("{}  {}\n{}\n", file.id, file.title, file.source);
    writeln!(text, "{}", conditions(outcome)).expect("writing to a string cannot fail");
    let mut table =
        table(width, unicode, &["", "published", "simulated", "range", "verdict"], 0..0);
    for judged in outcome.judged.iter().filter(|judged| judged.verdict != Verdict::NotAsked) {
        table.add_row([
            judged.says.clone(),
            published(judged),
            simulated(judged),
            range(judged.range),
            verdict(judged),
        ]);
    }
    writeln!(text, "{table}").expect("writing to a string cannot fail");
    for judged in &outcome.judged {
        let mut about = vec![];
        if !judged.because.is_empty() {
            about.push(judged.because.clone());
        }
        if judged.verdict.is_hard_miss() || judged.verdict.is_soft_miss() {
            about.extend(by_condition(judged));
        }
        about.extend(otherwise(judged));
        if !about.is_empty() {
            let verdict = judged.verdict.name();
            writeln!(text, "  {verdict}: {}: {}", judged.says, about.join("\n    "))
                .expect("writing to a string cannot fail");
        }
    }
    for note in &file.notes {
        writeln!(text, "  note: {note}").expect("writing to a string cannot fail");
    }
    text
}

/// Returns the headline: the number of each verdict. Verdicts that are no evidence about the
/// simulation are counted separately.
pub fn summary(outcomes: &[Outcome]) -> String {
    let counts = count(outcomes);
    let of = |wanted: Verdict| {
        counts.iter().find(|(verdict, _)| *verdict == wanted).map_or(0, |(_, count)| *count)
    };
    let everywhere = |wanted: Verdict| {
        let judged = outcomes.iter().flat_map(|outcome| &outcome.judged);
        judged.filter(|it| it.verdict == wanted && it.share() == Some(1.0)).count()
    };
    let grade = |name: &str, met, part, missed| {
        let (met_count, part, missed) = (of(met), of(part), of(missed));
        let all = met_count + part + missed;
        format!(
            "{name}: {met_count} of {all} met ({} of them under every condition), {part} in part, \
             {missed} missed",
            everywhere(met)
        )
    };
    let plural = if outcomes.len() == 1 { "" } else { "s" };
    let apart = [Verdict::ByRule, Verdict::Fitted, Verdict::Empty, Verdict::NotAsked];
    let apart: Vec<String> =
        apart.into_iter().map(|verdict| format!("{} {}", of(verdict), verdict.name())).collect();
    format!(
        "{} experiment{plural}\n{}\n{}\nnot counted: {}",
        outcomes.len(),
        grade("hard", Verdict::HardMet, Verdict::HardPart, Verdict::HardMissed),
        grade("soft", Verdict::SoftMet, Verdict::SoftPart, Verdict::SoftMissed),
        apart.join(", ")
    )
}

/// Returns all demands as CSV.
pub fn verdicts_csv(outcomes: &[Outcome]) -> String {
    let heading: Vec<&str> = VERDICTS_HEADING.split(',').collect();
    let mut rows = Rows::headed(&heading);
    let text = |number: Option<f64>| number.map_or(String::new(), |number| number.to_string());
    for outcome in outcomes {
        for judged in &outcome.judged {
            let values = judged.values.as_ref();
            let holds = judged.holds.iter().filter(|holds| **holds).count();
            rows.push(&[
                outcome.file.id.as_str(),
                &judged.says,
                &judged.published,
                &text(judged.percentile()),
                &text(judged.simulated()),
                &text(values.map(Distribution::least)),
                &text(values.map(Distribution::most)),
                &judged.unit,
                &text(judged.range.0),
                &text(judged.range.1),
                &judged.holds.len().to_string(),
                &holds.to_string(),
                judged.verdict.name(),
                &judged.because,
            ]);
        }
    }
    rows.into_text()
}

/// Returns all values of an experiment as CSV.
pub fn values_csv(outcome: &Outcome) -> String {
    let heading: Vec<&str> = VALUES_HEADING.split(',').collect();
    let mut rows = Rows::headed(&heading);
    for (condition, values) in outcome.conditions.iter().zip(&outcome.values) {
        for (name, value) in values.iter() {
            rows.push(&[name, &condition.number.to_string(), &value.to_string()]);
        }
    }
    rows.into_text()
}

/// Returns the conditions of an experiment as CSV: the phase as a part of the tick's period.
pub fn conditions_csv(outcome: &Outcome) -> String {
    let axes = outcome.axes();
    let names = axes.iter().map(|(name, _)| name.as_str());
    let names = names.filter(|name| *name != crate::conditions::TICKS);
    let mut heading: Vec<&str> = CONDITIONS_HEADING.split(',').collect();
    heading.extend(names);
    let mut rows = Rows::headed(&heading);
    for condition in &outcome.conditions {
        let mut row = vec![
            condition.number.to_string(),
            format!("{}", f64::from(condition.phase) / 1e6),
            condition.ticks.name().to_string(),
        ];
        let labels = condition.labels.iter();
        row.extend(
            labels.filter(|(name, _)| name != crate::conditions::TICKS).map(|(_, it)| it.clone()),
        );
        let row: Vec<&str> = row.iter().map(String::as_str).collect();
        rows.push(&row);
    }
    rows.into_text()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(values: &[f64], holds: &[bool]) -> Judged {
        Judged {
            says: "x".into(),
            published: "1.5".into(),
            values: Some(Distribution::new(values)),
            unit: "s".into(),
            range: (Some(1.0), None),
            holds: holds.to_vec(),
            verdict: Verdict::HardPart,
            splits: vec![],
            otherwise: vec![("twice".into(), 2.0)],
            because: String::new(),
        }
    }

    #[test]
    fn a_distribution_is_told_as_median_and_extremes_if_these_differ() {
        let wide = judged(&[0.5, 1.25, 4.0, 5.0], &[false, true, true, true]);
        assert_eq!(simulated(&wide), "2.625 s (0.5000 to 5)");
        assert_eq!(published(&wide), "1.5 (percentile 50)");
        assert_eq!(verdict(&wide), "hard in part (75 %)");
        assert_eq!(otherwise(&wide), ["twice: 2 s"]);
        let narrow = judged(&[1.249_01, 1.249_02], &[true, true]);
        assert_eq!(simulated(&narrow), "1.249 s");
        assert_eq!(published(&narrow), "1.5");
        assert_eq!(verdict(&narrow), "hard in part", "all or none needs no share");
    }
}
