//! Costs of this machine as measured: [`Costs`].

use crate::tick::Tick;
use schedlab_measure::histogram::percentile_of_sorted;
use serde::{Deserialize, Serialize};

/// What was measured, ns.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Costs {
    /// Each is the median of so many repetitions.
    pub repetitions: u32,
    /// A reading of the clock, without a system call.
    pub clock: f64,
    /// A system call that does nothing.
    pub null_call: f64,
    /// `sched_yield` where nobody else is.
    pub yield_alone: f64,
    /// `sched_yield` between two threads of one CPU: with a switch.
    pub yield_between_two: f64,
    /// A futex wakeup of a thread on the same CPU, until that runs.
    pub futex_hop: f64,
    /// A byte through a pipe to a thread on the same CPU, until that has it.
    pub pipe_hop: f64,
    /// From a timer's end to the thread's next look at the clock, over a thread that computes;
    /// quantiles.
    pub timer_latency: Option<Latency>,
    /// The same where the CPU idled for 1 ms.
    pub idle_timer_latency: Option<Latency>,
    /// A futex wakeup of a thread on another CPU that idles: the waker's call, less one that wakes
    /// nobody.
    pub wake_remote_call: Option<f64>,
    /// The same, from before the call until the woken thread runs; quantiles.
    pub wake_remote_latency: Option<Latency>,
    /// The tick, if it was seen.
    pub tick: Option<Tick>,
    /// The share of the time that a computing thread lost to gaps shorter than 100 us: interrupts.
    pub interrupted: f64,
}

/// Quantiles of latencies, each a share and ns.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Latency {
    /// What the thread that slept was: `fifo 90`, `nice -20` ...
    pub of: String,
    /// How many.
    pub count: usize,
    /// `[share, ns]`, rising.
    pub quantiles: Vec<(f64, u64)>,
}

impl Latency {
    pub(crate) fn new(of: &str, mut values: Vec<u64>) -> Option<Latency> {
        values.sort_unstable();
        let of_percent = |percent: u64| {
            let ns = percentile_of_sorted(&values, percent, 100)?;
            Some((percent as f64 / 100.0, ns))
        };
        let quantiles: Option<Vec<(f64, u64)>> =
            [0, 50, 95, 99, 100].into_iter().map(of_percent).collect();
        Some(Latency { of: of.into(), count: values.len(), quantiles: quantiles? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_quantiles_rises() {
        let latency = Latency::new("nice 0", (1..=1000).rev().collect()).unwrap();
        let expected = [(0.0, 1), (0.5, 500), (0.95, 950), (0.99, 990), (1.0, 1000)];
        assert_eq!((latency.count, &latency.quantiles[..]), (1000, &expected[..]));
        assert_eq!(Latency::new("nice 0", vec![]), None);
    }
}
