//! The result of a calibration for the terminal.

use super::{Calibrated, Compared, Fitted, off};
use crate::text::{number, table};
use comfy_table::Table;
use std::collections::BTreeSet;
use std::fmt::Write;

fn parameters(of: &[Fitted], width: u16, unicode: bool) -> Table {
    let mut table = table(width, unicode, &["fitted, ns", "before", "after", "bounds"], 1..3);
    for fitted in of {
        let (least, most) = fitted.bounds;
        let bounds = format!("{} to {}", number(least), number(most));
        table.add_row([fitted.name.clone(), number(fitted.before), number(fitted.after), bounds]);
    }
    table
}

fn compared(of: &[Compared], heading: &str, width: u16, unicode: bool) -> Table {
    let header = [heading, "measured", "before", "after", "after/measured"];
    let mut table = table(width, unicode, &header, 1..5);
    for one in of {
        table.add_row([
            one.what.clone(),
            number(one.measured),
            number(one.before),
            number(one.after),
            format!("{:.3}", one.after / one.measured),
        ]);
    }
    table
}

fn errors(of: &[Compared]) -> String {
    let before = off(of.iter().map(|one| one.measured / one.before));
    let after = off(of.iter().map(|one| one.measured / one.after));
    format!("off by {:.1} % before, {:.1} % after", 100.0 * before, 100.0 * after)
}

/// Formats the whole result.
pub fn calibrated(of: &Calibrated, width: u16, unicode: bool) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ =
        writeln!(text, "{}\nmachine {}, {} sets of values tried\n", of.title, of.machine, of.tries);
    let _ = writeln!(text, "{}\n", parameters(&of.parameters, width, unicode));
    let _ = writeln!(text, "{}", compared(&of.measurements, "fitted to", width, unicode));
    let _ = writeln!(
        text,
        "{}: no evidence for the model, which was fitted to them",
        errors(&of.measurements)
    );
    if !of.held_out.is_empty() {
        let _ = writeln!(text, "\n{}", compared(&of.held_out, "held out", width, unicode));
        let _ = writeln!(text, "{}", errors(&of.held_out));
    }
    let sources: BTreeSet<&str> =
        of.measurements.iter().chain(&of.held_out).map(|one| one.source.as_str()).collect();
    let _ = writeln!(text, "\nmeasured: {}", sources.into_iter().collect::<Vec<_>>().join("; "));
    for fitted in of.parameters.iter().filter(|fitted| fitted.is_at_bound()) {
        let _ =
            writeln!(text, "note: {} is at its bound; the best value may lie beyond", fitted.name);
    }
    text
}
