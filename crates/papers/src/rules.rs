//! Rules that are computed without a machine: what a program or a scheduler would make of given
//! numbers (`schedlab_lab::calculators`).
//!
//! ```text
//! interbench-x SHARE STEPS      interbench's X with a constant share of a CPU: figures `mean`,
//!                               `max` in ms
//! nice-add EXEC_MS SLEEP_MS     the interactivity rule with its default numbers, on a task that
//!                               has run and slept for so long: figure `nice_add`
//! ```

use crate::error::Error;
use schedlab_bench::Findings;
use schedlab_lab::calculators;

/// Applies a rule to its arguments.
///
/// # Errors
/// There is no such rule, or its arguments are none.
pub fn apply(text: &str) -> Result<Findings, Error> {
    let mut words = text.split_whitespace();
    let name = words.next().unwrap_or_default();
    let numbers: Result<Vec<f64>, _> = words.map(str::parse).collect();
    let numbers =
        numbers.map_err(|_| Error::new(format!("rule `{text}`: all arguments are numbers")))?;
    let figures = calculators::find(name).and_then(|calculator| (calculator.apply)(&numbers));
    let figures = figures.ok_or_else(|| {
        let known = calculators::ALL.iter();
        let known: Vec<String> =
            known.map(|known| format!("{} {}", known.name, known.arguments)).collect();
        Error::new(format!("there is no rule `{text}`; there are {}", known.join(" and ")))
    })?;
    Ok(Findings { figures, ..Findings::default() })
}
