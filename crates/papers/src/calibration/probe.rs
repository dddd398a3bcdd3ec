//! Checks that a benchmark has a figure, by runs so small that they take no time. It is better to
//! find a mistake before minutes of simulation than after them.

use crate::error::Error;
use schedlab_bench::{Benchmark, Kind, Value, Values};
use schedlab_lab::RunConfig;
use schedlab_lab::bench::Bench;
use schedlab_lab::select::Choice;
use schedlab_lab::session::Session;
use schedlab_report::data::EndState;

/// Virtual time after which a probe ends, ns.
const LIMIT_NS: u64 = 5_000_000_000;

/// Checks that `figure` is a figure of the benchmark. If the figures depend on the parameters, or
/// small runs do not show them, there is no error.
pub(super) fn check_figure(
    benchmark: &'static dyn Benchmark,
    choice: Choice,
    figure: &str,
) -> Result<(), Error> {
    let [Some(one), Some(other)] = [0, 1].map(|more| figures(benchmark, &choice, more)) else {
        return Ok(());
    };
    if one != other || one.iter().any(|name| name == figure) {
        return Ok(());
    }
    Err(Error::new(format!("there is no figure \"{figure}\"; the figures are {}", one.join(", "))))
}

/// Returns the figures of a run in which every number is `more` above the smallest; none if the run
/// does not end.
fn figures(benchmark: &'static dyn Benchmark, choice: &Choice, more: u64) -> Option<Vec<String>> {
    let mut values = Values::defaults(benchmark.parameters());
    for parameter in benchmark.parameters() {
        match parameter.kind {
            Kind::Whole { least, most } => {
                values.set(&parameter.name, Value::Whole((least + more).min(most)));
            }
            Kind::Real { least, most } => {
                let value = (least.max(0.01) * (1 + more) as f64).clamp(least, most);
                values.set(&parameter.name, Value::Real(value));
            }
            _ => {}
        }
    }
    let mut bench = Bench::new(benchmark);
    bench.values = values;
    bench.config = RunConfig { limit_ns: Some(LIMIT_NS), ..RunConfig::flat(1) };
    if choice.refuses(&bench.needs()).is_some() {
        return None;
    }
    let run = bench.session(choice).and_then(Session::finish).ok()?;
    let whole = run.report.end.state == EndState::AllEnded && !run.findings.figures.is_empty();
    whole.then(|| run.findings.figures.into_iter().map(|figure| figure.name).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_lab::select;

    #[test]
    fn a_figure_that_no_benchmark_has_is_found_at_once() {
        let choice = select::find("o_1").unwrap();
        let hackbench = schedlab_bench::find("hackbench").unwrap();
        assert_eq!(check_figure(hackbench, choice.clone(), "time"), Ok(()));
        let error = check_figure(hackbench, choice, "foo").unwrap_err().to_string();
        assert_eq!(
            error,
            "there is no figure \"foo\"; the figures are time, messages a second, time per message"
        );
    }
}
