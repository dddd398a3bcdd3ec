//! A history one can run: which release, or which setting, changed a workload's figure.
//!
//! The points of a [`Walk`] are the releases between two, in the order of their kernels, or the
//! settings that differ, switched one by one. Every point is run: changes can be reversed, so
//! that halving the interval, as the name has it in the field, could miss all of them. Each step
//! from one point to the next whose figure changed enough is examined: [`Causes`] switch the named
//! differences between the two releases one by one, and
//! [`parting`](schedlab_lab::explain::parting()) finds the first decision in which the two
//! schedules part.
//!
//! * `point`: a release with settings; `walk`: the points between two; `common`: settings of all of
//!   them; `measure`: runs of a point; `causes`: which difference made a step.

mod causes;
mod common;
mod measure;
mod point;
mod walk;

#[cfg(test)]
mod tests;

pub use causes::{Cause, Causes, Verdict};
pub use measure::Reading;
pub use point::{Point, Way};
pub use walk::Walk;

use crate::metric::RunMetric;
use schedlab_lab::explain::{self, Parting};
use schedlab_lab::parallel;
use std::num::NonZeroUsize;

/// A walk with the figure of each point.
pub struct Bisect {
    /// The points.
    pub walk: Walk,
    /// The figure that is compared.
    pub metric: RunMetric,
    /// The figures, by point.
    pub readings: Vec<Reading>,
    /// Smallest relative change that counts.
    threshold: f64,
}

/// A step from one point that has a figure to the next one that has.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Step {
    /// Number of the first point.
    pub from: usize,
    /// Number of the second point.
    pub to: usize,
    /// Figures of the two points.
    pub values: (f64, f64),
}

impl Step {
    /// Returns the change in proportion to the first figure. Infinite if that is 0.
    pub fn change(&self) -> f64 {
        let (from, to) = self.values;
        match (from == to, from == 0.0) {
            (true, _) => 0.0,
            (_, true) => f64::INFINITY.copysign(to),
            _ => (to - from) / from.abs(),
        }
    }
}

impl Bisect {
    /// Runs all points of a walk. `done` is called after each.
    ///
    /// # Errors
    /// No point has the figure.
    pub fn run(
        walk: Walk,
        metric: RunMetric,
        threshold: f64,
        threads: NonZeroUsize,
        done: impl Fn() + Sync,
    ) -> Result<Bisect, String> {
        let read = |point: &Point| {
            let reading = point.read(&metric);
            done();
            reading
        };
        // Which figures a benchmark has is known after its first run, and the others may be long.
        let (early, late) = walk.points.split_at(usize::from(metric.has_figures()));
        let mut readings: Vec<Reading> = early.iter().map(read).collect();
        let is_known = readings.iter().all(|reading| !reading.is_unknown);
        if is_known {
            readings.extend(parallel::map(late, threads, read));
        }
        if readings.iter().all(|reading| reading.value.is_none()) {
            let mut reasons: Vec<&str> = readings.iter().map(Reading::why_none).collect();
            reasons.dedup();
            return Err(format!(
                "--metric: {}: no run has it: {}",
                metric.name,
                reasons.join("; ")
            ));
        }
        Ok(Bisect { walk, metric, readings, threshold })
    }

    /// Returns the steps between points that have a figure.
    pub fn steps(&self) -> Vec<Step> {
        let mut steps = vec![];
        let mut last: Option<(usize, f64)> = None;
        for (to, reading) in self.readings.iter().enumerate() {
            let Some(value) = reading.value else { continue };
            if let Some((from, before)) = last {
                steps.push(Step { from, to, values: (before, value) });
            }
            last = Some((to, value));
        }
        steps
    }

    /// Whether a step changed the figure by the threshold or more.
    pub fn counts(&self, step: &Step) -> bool {
        step.values.0 != step.values.1 && step.change().abs() >= self.threshold
    }

    /// Finds the differences that made a step. `done` is called after each run.
    pub fn causes(&self, step: &Step, threads: NonZeroUsize, done: impl Fn() + Sync) -> Causes {
        let [from, to] = [step.from, step.to].map(|place| &self.walk.points[place]);
        causes::find(from, to, step.values, &self.metric, threads, done)
    }

    /// Finds the first decision in which the two sides of a step part, in the first of their runs.
    /// `None`: their schedules are the same.
    ///
    /// # Errors
    /// A run failed.
    pub fn parting(&self, step: &Step) -> Result<Option<Parting>, String> {
        let side = |place: usize| self.walk.points[place].side().ok_or("this point cannot run");
        explain::parting(side(step.from)?, side(step.to)?).map_err(|error| error.to_string())
    }
}

/// Checks a metric and a plan before anything runs: that the tasks and groups that the metric names
/// exist.
///
/// # Errors
/// The metric is malformed, or refers to something that does not exist.
pub fn metric_of(text: &str, walk: &Walk) -> Result<RunMetric, String> {
    let metric = RunMetric::parse(text).map_err(|error| format!("--metric: {error}"))?;
    let prepared = walk.points.iter().find_map(|point| Some(point.side()?.0));
    let known = prepared.and_then(|prepared| prepared.experiment()).map(|experiment| {
        let keys = experiment.model.tasks.iter().map(|task| task.key.clone());
        let groups = experiment.groups.groups().iter().map(|group| group.path.clone());
        (keys.collect::<Vec<String>>(), groups.collect::<Vec<String>>())
    });
    match known.and_then(|(keys, groups)| metric.missing(&keys, &groups)) {
        Some(message) => Err(format!("--metric: `{text}`: {message}")),
        None => Ok(metric),
    }
}
