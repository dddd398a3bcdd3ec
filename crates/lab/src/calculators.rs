//! Rules of schedulers and benchmarks that can be computed without a machine: [`find`].
//!
//! Published experiments ask for some (`rule = "nice-add 99 1"` in a paper file). Nothing outside
//! this crate needs to know in which scheduler a rule stands.

use schedlab_bench::{Figure, interbench};
use schedlab_sched::cfs::interactive::Interactive;

/// A rule that makes figures of numbers.
#[derive(Clone, Copy, Debug)]
pub struct Calculator {
    /// Its name: `nice-add`.
    pub name: &'static str,
    /// What it takes, as people write it: `EXEC_MS SLEEP_MS`.
    pub arguments: &'static str,
    /// Applies it. None: the arguments are too few, too many, or out of range.
    pub apply: fn(&[f64]) -> Option<Vec<Figure>>,
}

/// All of them.
pub const ALL: &[Calculator] = &[
    Calculator { name: "interbench-x", arguments: "SHARE STEPS", apply: interbench_x },
    Calculator { name: "nice-add", arguments: "EXEC_MS SLEEP_MS", apply: nice_add },
];

/// The one called `name`.
pub fn find(name: &str) -> Option<&'static Calculator> {
    ALL.iter().find(|calculator| calculator.name == name)
}

/// interbench's X with a constant share of a CPU: figures `mean` and `max`, in ms.
fn interbench_x(arguments: &[f64]) -> Option<Vec<Figure>> {
    match *arguments {
        [share, steps] if share > 0.0 && share <= 1.0 && steps >= 1.0 => {
            let (mean_ms, max_ms) = interbench::x_with_share(share, steps as u64);
            Some(vec![Figure::lower("mean", "ms", mean_ms), Figure::lower("max", "ms", max_ms)])
        }
        _ => None,
    }
}

/// The interactivity rule with its default numbers, applied again and again to a task that has run
/// and slept for so long: figure `nice_add`.
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
