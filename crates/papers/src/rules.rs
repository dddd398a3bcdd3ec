//! Rules that are computed without a machine: what a program or a scheduler would make of given
//! numbers.
//!
//! ```text
//! interbench-x SHARE STEPS              interbench's X with a constant share of a CPU: figures `mean`, `max` in ms
//! nice-add EXEC_MS SLEEP_MS             the interactivity rule on a task that has run and slept for so long, asked again and again
//!                                       with its default numbers: figure `nice_add`
//! ```

use schedlab_bench::{Figure, Findings, interbench};
use schedlab_sched::cfs::interactive::Interactive;

/// Applies a rule to its arguments.
///
/// # Errors
/// There is no such rule, or its arguments are none.
pub fn apply(text: &str) -> Result<Findings, String> {
    let mut words = text.split_whitespace();
    let name = words.next().unwrap_or_default();
    let numbers: Result<Vec<f64>, _> = words.map(str::parse).collect();
    let numbers = numbers.map_err(|_| format!("rule `{text}`: all arguments are numbers"))?;
    let figures = match (name, &numbers[..]) {
        ("interbench-x", &[share, steps]) if share > 0.0 && share <= 1.0 && steps >= 1.0 => {
            let (mean_ms, max_ms) = interbench::x_with_share(share, steps as u64);
            vec![Figure::lower("mean", "ms", mean_ms), Figure::lower("max", "ms", max_ms)]
        }
        ("nice-add", &[exec_ms, sleep_ms]) if exec_ms >= 0.0 && sleep_ms >= 0.0 => {
            let ns = |ms: f64| (ms * 1e6) as u64;
            let steps = Interactive::default().steps(ns(exec_ms), ns(sleep_ms));
            vec![Figure::plain("nice_add", "", f64::from(steps))]
        }
        _ => {
            return Err(format!(
                "there is no rule `{text}`; there are interbench-x SHARE STEPS and nice-add EXEC_MS SLEEP_MS"
            ));
        }
    };
    Ok(Findings { figures, ..Findings::default() })
}
