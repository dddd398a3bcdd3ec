//! Figures over several runs of one column: [`figures`] of each, [`sum_up`], and [`figure`], by
//! which columns are compared.

use crate::data::{Number, RepetitionRow, RunReport, SummaryRow};
use crate::metrics::{Value, value};
use schedlab_measure::catalogue::{self, Named, Scope};
use schedlab_measure::histogram::median_of_sorted;

/// Returns the metrics that are summed up: all of a whole run.
fn metrics() -> impl Iterator<Item = Named> {
    catalogue::every().filter(|named| named.metric.scope == Scope::Run)
}

/// Returns the values of all metrics of a whole run, in the order of the catalogue.
pub fn figures(run: &RunReport) -> Vec<Option<f64>> {
    let finite = |value: Value| Some(value.as_f64()).filter(|number| number.is_finite());
    metrics().map(|metric| value(run, metric).and_then(finite)).collect()
}

/// Adds the summary of all runs to the first. `figures` holds the figures of each repetition.
pub fn sum_up(
    first: &mut RunReport,
    repetitions: Vec<RepetitionRow>,
    figures: &[Vec<Option<f64>>],
) {
    first.repetitions = repetitions;
    let row = |(place, metric): (usize, Named)| {
        let values: Vec<Option<f64>> = figures.iter().map(|run| run[place]).collect();
        let mut sorted: Vec<f64> = values.iter().copied().flatten().collect();
        sorted.sort_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let count = sorted.len();
        let mean = sorted.iter().sum::<f64>() / count as f64;
        let squares: f64 = sorted.iter().map(|value| (value - mean) * (value - mean)).sum();
        Some(SummaryRow {
            metric: metric.id(),
            unit: metric.unit().name().into(),
            count: count as u64,
            min: min.into(),
            median: median_of_sorted(&sorted)?.into(),
            mean: mean.into(),
            max: max.into(),
            sd: (count > 1).then(|| (squares / (count - 1) as f64).sqrt().into()),
            values: values.into_iter().map(|value| value.map(Number::from)).collect(),
        })
    };
    first.summary = metrics().enumerate().filter_map(row).collect();
}

/// Returns the summary of a metric, if the column was run several times.
pub fn summary<'a>(run: &'a RunReport, metric: &Named) -> Option<&'a SummaryRow> {
    if run.summary.is_empty() {
        return None;
    }
    let id = metric.id();
    run.summary.iter().find(|row| row.metric == id)
}

/// Returns the value by which columns are compared: that of the run, or the median of the runs.
pub fn figure(run: &RunReport, metric: Named) -> Option<f64> {
    if run.summary.is_empty() {
        return value(run, metric).map(Value::as_f64);
    }
    summary(run, &metric).map(|row| row.median.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::EndState;
    use crate::data::tests::empty_run;

    fn repeated(busy: &[u64]) -> RunReport {
        let run = |&busy_ns: &u64| {
            let mut run = empty_run(1, 100, &["a-0"]);
            run.totals.busy_ns = busy_ns;
            run
        };
        let runs: Vec<RunReport> = busy.iter().map(run).collect();
        let row = |seed| RepetitionRow { seed, state: EndState::TimeUp, at_ns: 100 };
        let rows = (1..=busy.len() as u64).map(row).collect();
        let all: Vec<_> = runs.iter().map(figures).collect();
        let mut first = runs[0].clone();
        sum_up(&mut first, rows, &all);
        first
    }

    #[test]
    fn a_summary_has_the_median_and_the_extremes() {
        let busy = catalogue::find("busy").expect("the metric is in the catalogue");
        let run = repeated(&[40, 10, 20]);
        let row = summary(&run, &busy).expect("all runs have the metric");
        assert_eq!((row.min.0, row.median.0, row.max.0), (10.0, 20.0, 40.0));
        assert_eq!((row.count, row.mean.0), (3, 23.333_333));
        assert_eq!(row.sd.map(|sd| sd.0), Some(15.275_252));
        let numbers = |row: &SummaryRow| -> Vec<f64> {
            row.values.iter().flatten().map(|number| number.0).collect()
        };
        assert_eq!(numbers(row), [40.0, 10.0, 20.0], "in the order of the seeds");
        let even = repeated(&[40, 10, 20, 31]);
        assert_eq!(figure(&even, busy), Some(25.5));
        // A metric that no run has is in no summary.
        let jain = catalogue::find("jain_by_share").expect("the metric is in the catalogue");
        assert!(summary(&even, &jain).is_none());
    }
}
