//! The figures of the whole machine: [`Totals`].

use serde::{Deserialize, Serialize};

/// The whole machine's figures.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Totals {
    /// Time that CPUs ran tasks, ns.
    pub busy_ns: u64,
    /// Time that CPUs idled, ns. Busy and idle come to CPUs x length of the run.
    pub idle_ns: u64,
    /// Busy as a part of all; none for a run of no length.
    pub cpu_use: Option<f64>,
    /// Tasks that came into being.
    pub tasks_started: u64,
    /// Tasks that ended.
    pub tasks_ended: u64,
    /// Loops that tasks finished.
    pub loops_finished: u64,
    /// Pieces of work done: of each task the rounds of its phases that loop, or the loops it
    /// finished if none does, or 1 if it has none of either and ended.
    pub jobs: u64,
    /// Jobs a second; none for a run of no length.
    pub throughput_per_s: Option<f64>,
    /// Time that tasks were runnable without a CPU, ns.
    pub wait_ns: u64,
    /// The same a task that started, ns.
    pub wait_mean_ns: Option<u64>,
    /// The longest single wait, ns; one that had not ended with the run counts as far as it got.
    pub wait_max_ns: u64,
    /// Tasks that were waiting when the run ended. Their last wakeup is in no latency figure.
    pub waiting_at_end: u64,
    /// Times that tasks came to a timer.
    #[serde(default)]
    pub periods: u64,
    /// Times of these that it had expired before.
    #[serde(default)]
    pub missed_periods: u64,
    /// Wakeups, starts left out.
    pub wakeups: u64,
    /// Context switches, those to and from idle included.
    pub switches: u64,
    /// Times a task left its CPU because it blocked or ended.
    pub switches_voluntary: u64,
    /// Times a task left its CPU although it was runnable (preempted, or it yielded).
    pub switches_involuntary: u64,
    /// Moves of tasks between runqueues.
    pub migrations_queue: u64,
    /// Times a task got another CPU than it had had last.
    pub migrations_cpu: u64,
    /// Ticks of all CPUs.
    pub ticks: u64,
}
