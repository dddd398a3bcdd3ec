//! Figures of the whole machine: [`Totals`].

use serde::{Deserialize, Serialize};

/// Figures of the whole machine.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Totals {
    /// Time that CPUs ran tasks, ns.
    pub busy_ns: u64,
    /// Time that CPUs were idle, ns. Busy and idle time add up to CPUs x length of the run.
    pub idle_ns: u64,
    /// Busy time as a part of the total. `None`: the run has no length.
    pub cpu_use: Option<f64>,
    /// Number of tasks that were created.
    pub tasks_started: u64,
    /// Number of tasks that ended.
    pub tasks_ended: u64,
    /// Number of loops that tasks finished.
    pub loops_finished: u64,
    /// Number of pieces of work done. For each task: the rounds of its phases that loop, or the
    /// loops it finished if none does, or 1 if it has neither and ended.
    pub jobs: u64,
    /// Jobs per second. `None`: the run has no length.
    pub throughput_per_s: Option<f64>,
    /// Time that tasks were runnable without a CPU, ns.
    pub wait_ns: u64,
    /// Waiting time per task that started, ns.
    pub wait_mean_ns: Option<u64>,
    /// Longest single wait, ns; a wait that had not ended with the run counts with its length so
    /// far.
    pub wait_max_ns: u64,
    /// Number of tasks that were waiting when the run ended. Their last wakeup is in no latency
    /// figure.
    pub waiting_at_end: u64,
    /// Number of times that tasks came to a timer.
    #[serde(default)]
    pub periods: u64,
    /// Number of those times at which the timer had already expired.
    #[serde(default)]
    pub missed_periods: u64,
    /// Number of wakeups, excluding starts.
    pub wakeups: u64,
    /// Number of context switches, including those to and from idle.
    pub switches: u64,
    /// Number of times that a task left its CPU because it blocked or ended.
    pub switches_voluntary: u64,
    /// Number of times that a task left its CPU although it was runnable (preempted, or it
    /// yielded).
    pub switches_involuntary: u64,
    /// Number of migrations of tasks between runqueues.
    pub migrations_queue: u64,
    /// Number of times that a task got another CPU than its last one.
    pub migrations_cpu: u64,
    /// Number of ticks of all CPUs.
    pub ticks: u64,
}
