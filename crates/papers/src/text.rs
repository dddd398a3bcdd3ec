//! The results as text: for the terminal, and as CSV.

use crate::catalogue::{Outcome, count};
use crate::judge::{Judged, Verdict};
use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use schedlab_report::csv::Rows;
use std::fmt::Write;

/// The first line of [`verdicts_csv`].
pub const VERDICTS_HEADING: &str = "id,demand,published,simulated,unit,low,high,verdict,because";

/// The first line of [`values_csv`].
pub const VALUES_HEADING: &str = "name,value";

/// A number in as many digits as are worth reading.
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

/// The range in words.
pub fn range((low, high): (Option<f64>, Option<f64>)) -> String {
    match (low, high) {
        (None, None) => String::new(),
        (Some(low), None) => format!("at least {}", number(low)),
        (None, Some(high)) => format!("at most {}", number(high)),
        (Some(low), Some(high)) if low == high => number(low),
        (Some(low), Some(high)) => format!("{} to {}", number(low), number(high)),
    }
}

/// A text and its unit, if there are any.
pub fn with_unit(text: String, unit: &str) -> String {
    if unit.is_empty() || text.is_empty() { text } else { format!("{text} {unit}") }
}

/// What came out, with its unit.
pub fn simulated(judged: &Judged) -> String {
    judged.simulated.map_or(String::new(), |value| with_unit(number(value), &judged.unit))
}

/// An empty table for the terminal; the columns `numbers` are of numbers.
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

/// An experiment for the terminal.
pub fn experiment(outcome: &Outcome, width: u16, unicode: bool) -> String {
    let file = &outcome.file;
    let mut text = format!("{}  {}\n{}\n", file.id, file.title, file.source);
    let mut table =
        table(width, unicode, &["", "published", "simulated", "range", "verdict"], 0..0);
    for judged in outcome.judged.iter().filter(|judged| judged.verdict != Verdict::NotAsked) {
        table.add_row([
            judged.says.clone(),
            judged.published.clone(),
            simulated(judged),
            range(judged.range),
            judged.verdict.name().into(),
        ]);
    }
    writeln!(text, "{table}").expect("a string takes everything");
    for judged in &outcome.judged {
        if !judged.because.is_empty() {
            let verdict = judged.verdict.name();
            writeln!(text, "  {verdict}: {}: {}", judged.says, judged.because)
                .expect("a string takes everything");
        }
    }
    for note in &file.notes {
        writeln!(text, "  note: {note}").expect("a string takes everything");
    }
    text
}

/// How often each verdict was given, in a line.
pub fn summary(outcomes: &[Outcome]) -> String {
    let counted: Vec<String> = count(outcomes)
        .into_iter()
        .map(|(verdict, count)| format!("{count} {}", verdict.name()))
        .collect();
    let plural = if outcomes.len() == 1 { "" } else { "s" };
    format!("{} experiment{plural}: {}", outcomes.len(), counted.join(", "))
}

/// All demands as CSV.
pub fn verdicts_csv(outcomes: &[Outcome]) -> String {
    let heading: Vec<&str> = VERDICTS_HEADING.split(',').collect();
    let mut rows = Rows::headed(&heading);
    let bound = |bound: Option<f64>| bound.map_or(String::new(), |bound| bound.to_string());
    for outcome in outcomes {
        for judged in &outcome.judged {
            rows.push(&[
                outcome.file.id.as_str(),
                &judged.says,
                &judged.published,
                &bound(judged.simulated),
                &judged.unit,
                &bound(judged.range.0),
                &bound(judged.range.1),
                judged.verdict.name(),
                &judged.because,
            ]);
        }
    }
    rows.into_text()
}

/// All values of an experiment as CSV.
pub fn values_csv(outcome: &Outcome) -> String {
    let heading: Vec<&str> = VALUES_HEADING.split(',').collect();
    let mut rows = Rows::headed(&heading);
    for (name, value) in outcome.values.iter() {
        rows.push(&[name, &value.to_string()]);
    }
    rows.into_text()
}
