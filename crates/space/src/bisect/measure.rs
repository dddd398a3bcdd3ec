//! The figure of a point: [`Reading`].

use super::point::Point;
use crate::metric::RunMetric;
use schedlab_lab::Error;
use schedlab_lab::explain::Side;
use schedlab_lab::plan::Contender;
use schedlab_lab::session::Session;

/// The figure of a point, over its seeds.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Reading {
    /// Median. `None`: the point cannot run, a run failed, or the runs have no such figure.
    pub value: Option<f64>,
    /// Smallest and largest figure, if there are several runs.
    pub range: Option<(f64, f64)>,
    /// Reason for which there is no figure.
    pub error: Option<String>,
    /// Whether the benchmark has no such figure under any scheduler.
    pub(super) is_unknown: bool,
}

/// Reason for which a run without a fault has no figure.
const NOTHING: &str =
    "no event that it measures occurred (`schedlab explain-metric NAME` describes a metric)";

impl Reading {
    fn failed(error: impl ToString) -> Reading {
        Reading { error: Some(error.to_string()), ..Reading::default() }
    }

    /// Returns the reason for which there is no figure.
    pub fn why_none(&self) -> &str {
        self.error.as_deref().unwrap_or(NOTHING)
    }

    /// Whether the figures of two points lie apart: no run of one is within the range of the other.
    pub fn is_apart(&self, other: &Reading) -> bool {
        match (self.range, other.range) {
            (Some(one), Some(other)) => one.1 < other.0 || other.1 < one.0,
            _ => true,
        }
    }
}

impl Point {
    /// Runs the point with each of its seeds.
    pub(super) fn read(&self, metric: &RunMetric) -> Reading {
        match (self.side(), self.refusal()) {
            (Some(side), _) => read(side, side.1, metric),
            (None, Some(why)) => Reading::failed(why),
            (None, None) => Reading::failed("it cannot run"),
        }
    }
}

/// Runs a load with each of its seeds under `scheduler`, and takes the figure.
pub(super) fn read((prepared, _): Side<'_>, scheduler: &Contender, metric: &RunMetric) -> Reading {
    let mut values = vec![];
    // Repetitions of a benchmark count elsewhere as part of its sweep.
    for repetition in 0..prepared.plan().repeat.max(1) {
        let run = match prepared.repetition(scheduler, repetition).and_then(Session::finish) {
            Ok(run) => run,
            // The figures up to a deadline are figures, too.
            Err(Error::Stuck { run, .. }) => *run,
            Err(error) => return Reading::failed(error),
        };
        if let Some(unknown) = metric.unknown_figure(&run) {
            return Reading { is_unknown: true, ..Reading::failed(unknown) };
        }
        values.extend(metric.value(&run));
    }
    values.sort_by(f64::total_cmp);
    let (Some(&least), Some(&most)) = (values.first(), values.last()) else {
        return Reading::failed(NOTHING);
    };
    let median = match values.len() % 2 {
        1 => values[values.len() / 2],
        _ => f64::midpoint(values[values.len() / 2 - 1], values[values.len() / 2]),
    };
    let range = (values.len() > 1).then_some((least, most));
    Reading { value: Some(median), range, ..Reading::default() }
}
