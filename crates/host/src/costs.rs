//! Costs of this machine as measured: [`Costs`].

use crate::tick::Tick;
use schedlab_measure::histogram::percentile_of_sorted;
use serde::{Deserialize, Serialize};

/// Measured costs, ns.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Costs {
    /// Number of repetitions, of which each figure is the median.
    pub repetitions: u32,
    /// A reading of the clock, without a system call.
    pub clock: f64,
    /// A system call without work.
    pub null_call: f64,
    /// `sched_yield` while no other thread is runnable.
    pub yield_alone: f64,
    /// `sched_yield` between two threads on one CPU, with a switch.
    pub yield_between_two: f64,
    /// A futex wakeup of a thread on the same CPU, until that thread runs.
    pub futex_hop: f64,
    /// A byte sent through a pipe to a thread on the same CPU, until that thread has received it.
    pub pipe_hop: f64,
    /// From a timer's expiry to the thread's next reading of the clock, over a thread that
    /// computes; quantiles.
    pub timer_latency: Option<Latency>,
    /// Like `timer_latency`, on a CPU that has idled for 1 ms.
    pub idle_timer_latency: Option<Latency>,
    /// A futex wakeup of a thread on another, idle CPU: the waker's call, less a call that wakes no
    /// thread.
    pub wake_remote_call: Option<f64>,
    /// The same wakeup, from before the call until the woken thread runs; quantiles.
    pub wake_remote_latency: Option<Latency>,
    /// The tick, if it was found.
    pub tick: Option<Tick>,
    /// Share of the time that a computing thread lost to gaps shorter than 100 us: interrupts.
    pub interrupted: f64,
}

/// Quantiles of latencies, each with a share and ns.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Latency {
    /// Scheduling of the thread that slept: `fifo 90`, `nice -20` ...
    pub of: String,
    /// Number of latencies.
    pub count: usize,
    /// `[share, ns]`, ascending.
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
