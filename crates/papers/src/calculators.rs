//! Rules of schedulers and benchmarks that are computed without simulating a machine: [`apply`].
//!
//! ```text
//! interbench-x SHARE STEPS      interbench's X at a constant share of a CPU: figures `mean` and
//!                               `max`, in ms
//! nice-add EXEC_MS SLEEP_MS     the interactivity rule with its default parameters, applied to a
//!                               task that ran and slept for these times: figure `nice_add`
//! ```
//!
//! A paper file names a calculator by `rule = "nice-add 99 1"`.

use crate::error::Error;
use schedlab_bench::{Figure, Findings, interbench};
use schedlab_sched::cfs::interactive::Interactive;

/// A rule that computes figures from numbers.
#[derive(Clone, Copy, Debug)]
struct Calculator {
    /// Its name: `nice-add`.
    name: &'static str,
    /// Its arguments as a user writes them: `EXEC_MS SLEEP_MS`.
    arguments: &'static str,
    /// Computes the figures. `None`: too few arguments, too many, or one out of range.
    compute: fn(&[f64]) -> Option<Vec<Figure>>,
}

/// All calculators.
const ALL: &[Calculator] = &[
    Calculator { name: "interbench-x", arguments: "SHARE STEPS", compute: interbench_x },
    Calculator { name: "nice-add", arguments: "EXEC_MS SLEEP_MS", compute: nice_add },
];

/// Applies the calculator that `text` names to the numbers in `text`.
///
/// # Errors
/// There is no such calculator, or it does not take these arguments.
pub fn apply(text: &str) -> Result<Findings, Error> {
    let mut words = text.split_whitespace();
    let name = words.next().unwrap_or_default();
    let numbers: Result<Vec<f64>, _> = words.map(str::parse).collect();
    let numbers = numbers
        .map_err(|_| Error::new(format!("rule `{text}`: every argument must be a number")))?;
    let calculator = ALL.iter().find(|calculator| calculator.name == name);
    let figures = calculator.and_then(|calculator| (calculator.compute)(&numbers));
    let figures = figures.ok_or_else(|| {
        let known: Vec<String> =
            ALL.iter().map(|known| format!("{} {}", known.name, known.arguments)).collect();
        Error::new(format!("there is no rule `{text}`; the rules are {}", known.join(" and ")))
    })?;
    Ok(Findings { figures, ..Findings::default() })
}

/// Returns interbench's X at a constant share of a CPU: figures `mean` and `max`, in ms.
fn interbench_x(arguments: &[f64]) -> Option<Vec<Figure>> {
    match *arguments {
        [share, steps] if share > 0.0 && share <= 1.0 && steps >= 1.0 => {
            let (mean_ms, max_ms) = interbench::x_with_share(share, steps as u64);
            Some(vec![Figure::lower("mean", "ms", mean_ms), Figure::lower("max", "ms", max_ms)])
        }
        _ => None,
    }
}

/// Returns the interactivity rule with its default parameters, applied repeatedly to a task that
/// ran and slept for the given times: figure `nice_add`.
fn nice_add(arguments: &[f64]) -> Option<Vec<Figure>> {
    match *arguments {
        [exec_ms, sleep_ms] if exec_ms >= 0.0 && sleep_ms >= 0.0 => {
            let ns = |ms: f64| (ms * 1e6) as u64;
            let steps = Interactive::default().steps(ns(exec_ms), ns(sleep_ms));
            Some(vec![Figure::plain("nice_add", "", f64::from(steps))])
        }
        _ => None,
    }
}
