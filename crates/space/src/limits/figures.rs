//! Figures of a run under a limit: [`Figures`], and their bands over several runs.

use schedlab_core::GroupStats;
use schedlab_lab::replay::GroupRun;
use schedlab_measure::histogram::{median_of_sorted, percentile_of_sorted};
use schedlab_workload::Request;

/// A figure of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Figure {
    /// Median response time, ns.
    P50,
    /// 90th percentile of response times, ns.
    P90,
    /// 95th percentile of response times, ns.
    P95,
    /// 99th percentile of response times, ns.
    P99,
    /// Longest response time, ns.
    Max,
    /// Mean response time, ns.
    Mean,
    /// Part of the periods in which the group was throttled.
    Throttled,
    /// Time for which the group's CPUs were throttled, summed over CPUs, in proportion to the
    /// run's length.
    ThrottledTime,
    /// Requests done a second.
    Throughput,
    /// CPU time of the group in proportion to the run's length.
    Cpus,
    /// Length of the run, ns.
    End,
}

/// Times of a recording's tasks that are taken as response times.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Times {
    /// From the arrival of a request, which ends a sleep, to the next sleep of the task.
    #[default]
    Responses,
    /// From the wakeup of another task to the wakeup that it caused in turn.
    RoundTrips,
}

impl Figure {
    /// All figures.
    pub const ALL: [Figure; 11] = [
        Figure::P50,
        Figure::P90,
        Figure::P95,
        Figure::P99,
        Figure::Max,
        Figure::Mean,
        Figure::Throttled,
        Figure::ThrottledTime,
        Figure::Throughput,
        Figure::Cpus,
        Figure::End,
    ];

    /// Returns its name in aims and documents.
    pub fn name(self) -> &'static str {
        match self {
            Figure::P50 => "p50",
            Figure::P90 => "p90",
            Figure::P95 => "p95",
            Figure::P99 => "p99",
            Figure::Max => "max",
            Figure::Mean => "mean",
            Figure::Throttled => "throttled",
            Figure::ThrottledTime => "throttled_time",
            Figure::Throughput => "throughput",
            Figure::Cpus => "cpus",
            Figure::End => "end",
        }
    }

    /// Returns the figure of an aim with this name.
    pub fn find(name: &str) -> Option<Figure> {
        let is_aim = |figure: &&Figure| !matches!(figure, Figure::ThrottledTime | Figure::Cpus);
        Figure::ALL.iter().filter(is_aim).find(|figure| figure.name() == name).copied()
    }
}

/// Figures of a run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Figures {
    /// Length of the run, ns. In a recording: the end of the last task that counts.
    pub length_ns: u64,
    /// The group's own counts.
    pub stats: GroupStats,
    /// Number of requests that were done.
    pub done: u64,
    /// Number of requests that were due and not done at the end.
    pub unfinished: u64,
    /// Number of requests that were done and whose response times are not known.
    pub left_out: u64,
    /// Whether a run of a recording was stopped before all tasks that count had ended.
    pub is_stopped: bool,
    /// Response times, ns, ascending.
    responses: Vec<u64>,
}

impl Figures {
    /// Returns the figures of a run of `length_ns`.
    ///
    /// A request that is not done at the end counts with the time that it has taken so far, if
    /// that is longer than the median of the others. (Requests that had just begun say nothing
    /// about response times.)
    pub fn new(
        length_ns: u64,
        stats: GroupStats,
        done: &[Request],
        unfinished: &[Request],
        left_out: u64,
    ) -> Figures {
        let mut responses: Vec<u64> = done.iter().map(Request::response_ns).collect();
        responses.sort_unstable();
        let median_ns = responses.get(responses.len() / 2).copied().unwrap_or(0);
        let late = unfinished.iter().map(Request::response_ns).filter(|&ns| ns > median_ns);
        responses.extend(late);
        responses.sort_unstable();
        let (done, unfinished) = (done.len() as u64 + left_out, unfinished.len() as u64);
        Figures { length_ns, stats, done, unfinished, left_out, is_stopped: false, responses }
    }

    /// Returns the figures of a run of a recording, or of the recording itself.
    pub fn of_recording(run: GroupRun, times: Times) -> Figures {
        let mut responses = match times {
            Times::Responses => run.requests.served,
            Times::RoundTrips => run.requests.round_trips,
        };
        responses.sort_unstable();
        Figures {
            length_ns: run.end_ns,
            stats: run.stats,
            done: responses.len() as u64,
            unfinished: 0,
            left_out: 0,
            is_stopped: run.is_stopped,
            responses,
        }
    }

    /// Returns a figure. `None`: the run does not have it.
    pub fn get(&self, figure: Figure) -> Option<f64> {
        let GroupStats { nr_periods, nr_throttled, throttled_ns, usage_ns, .. } = self.stats;
        let of_length = |ns: u64| (self.length_ns > 0).then(|| ns as f64 / self.length_ns as f64);
        match figure {
            Figure::P50 => self.percentile(50),
            Figure::P90 => self.percentile(90),
            Figure::P95 => self.percentile(95),
            Figure::P99 => self.percentile(99),
            Figure::Max => self.responses.last().map(|&ns| ns as f64),
            Figure::Mean => {
                let sum: u128 = self.responses.iter().map(|&ns| u128::from(ns)).sum();
                let count = self.responses.len();
                (count > 0).then(|| sum as f64 / count as f64)
            }
            // Without a limit, and where the group never ran, there are no periods.
            Figure::Throttled if nr_periods == 0 => Some(0.0),
            Figure::Throttled => Some(nr_throttled as f64 / nr_periods as f64),
            Figure::ThrottledTime => of_length(throttled_ns),
            Figure::Throughput => {
                let has_any = self.done > 0 || self.unfinished > 0;
                of_length(self.done).filter(|_| has_any).map(|per_ns| per_ns * 1e9)
            }
            Figure::Cpus => of_length(usage_ns),
            Figure::End => Some(self.length_ns as f64),
        }
    }

    /// Returns a percentile of the response times: the smallest that at least this part of the
    /// requests did not exceed.
    fn percentile(&self, percent: u64) -> Option<f64> {
        percentile_of_sorted(&self.responses, percent, 100).map(|ns| ns as f64)
    }
}

/// A figure over several runs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Band {
    /// Smallest value.
    pub min: f64,
    /// Median.
    pub median: f64,
    /// Largest value.
    pub max: f64,
}

impl Band {
    /// Returns the band of `values`. `None`: there are none.
    pub fn of(values: impl Iterator<Item = f64>) -> Option<Band> {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        Some(Band { min, median: median_of_sorted(&values)?, max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_core::TaskId;

    #[test]
    fn percentiles_are_response_times_that_happened() {
        let request = |due_ns, done_ns| Request { task: TaskId(0), due_ns, done_ns };
        let done: Vec<Request> = (1..=100).map(|ns| request(1000, 1000 + ns)).collect();
        let figures = Figures::new(1_000, GroupStats::default(), &done, &[], 0);
        let get = |figure| figures.get(figure);
        assert_eq!((get(Figure::P50), get(Figure::P99)), (Some(50.0), Some(99.0)));
        assert_eq!((get(Figure::Max), get(Figure::Mean)), (Some(100.0), Some(50.5)));
        assert_eq!((get(Figure::Throttled), get(Figure::Throughput)), (Some(0.0), Some(1e8)));
        // Those that wait long at the end count; those that have just begun do not.
        let late = [request(1000, 1500), request(1000, 1010)];
        let figures = Figures::new(1_000, GroupStats::default(), &done, &late, 0);
        assert_eq!((figures.get(Figure::Max), figures.responses.len()), (Some(500.0), 101));
        let none = Figures::default();
        assert_eq!((none.get(Figure::P50), none.get(Figure::Throughput)), (None, None));
    }

    #[test]
    fn a_band_has_the_median() {
        let band = Band::of([3.0, 1.0, 2.0, 9.0].into_iter()).expect("there are values");
        assert_eq!((band.min, band.median, band.max), (1.0, 2.5, 9.0));
        assert_eq!(Band::of([].into_iter()), None);
    }
}
