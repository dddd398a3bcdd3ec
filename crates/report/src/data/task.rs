//! Figures of a task: [`TaskFigures`], and of all tasks of a key: [`KeyFigures`].

use super::Spread;
use serde::{Deserialize, Serialize};

/// Figures of a task.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TaskFigures {
    /// Number, also its index in the list.
    pub task: u32,
    /// Name.
    pub name: String,
    /// Name of which it is an instance.
    pub key: String,
    /// Path of its group; empty = the root.
    pub group: String,
    /// Policy in force when the run ended, e.g. `SCHED_OTHER`, regardless of refused requests. This
    /// also applies to the following fields.
    pub policy: String,
    /// Nice value.
    pub nice: i32,
    /// Real-time priority; 0 for other policies.
    pub rt_priority: u32,
    /// Number of its requests that were refused.
    #[serde(default)]
    pub refused: u64,
    /// Time of creation, ns. `None`: never created.
    pub start_ns: Option<u64>,
    /// Time at which it first had a CPU, ns.
    pub first_run_ns: Option<u64>,
    /// Time at which it ended, ns.
    pub end_ns: Option<u64>,
    /// End - start, ns: the sum of waiting, CPU and blocked time.
    pub turnaround_ns: Option<u64>,
    /// Time on a CPU, ns.
    pub cpu_ns: u64,
    /// Time runnable without a CPU, ns.
    pub wait_ns: u64,
    /// Longest single wait, ns.
    pub wait_max_ns: u64,
    /// Length of its open wait when the run ended, ns; 0 = it was not waiting.
    pub wait_open_ns: u64,
    /// Time asleep or stopped, ns.
    pub blocked_ns: u64,
    /// Number of loops finished.
    pub loops: u64,
    /// Number of times that it came to a timer.
    #[serde(default)]
    pub periods: u64,
    /// Number of those times at which the timer had already expired.
    #[serde(default)]
    pub missed_periods: u64,
    /// Number of pieces of work done.
    pub jobs: u64,
    /// Number of times that it was woken.
    pub wakeups: u64,
    /// Number of wakeups whose latency is known.
    pub latency_count: u64,
    /// Mean wakeup latency, ns.
    pub latency_mean_ns: Option<u64>,
    /// 99th percentile of its wakeup latencies, ns. `None` for tasks beyond the first 256 and for
    /// forked tasks.
    #[serde(default)]
    pub latency_p99_ns: Option<u64>,
    /// Maximum wakeup latency, ns.
    pub latency_max_ns: Option<u64>,
    /// Number of times that it got a CPU.
    pub switches_in: u64,
    /// Number of times that it left its CPU because it blocked or ended.
    pub switches_voluntary: u64,
    /// Number of times that it left its CPU although it was runnable.
    pub switches_involuntary: u64,
    /// Number of migrations between runqueues.
    pub migrations_queue: u64,
    /// Number of times that it got another CPU than its last one.
    pub migrations_cpu: u64,
    /// CPU time that the ideal fluid machine would have given it, ns. This and the following fields
    /// are `None` for a task outside that machine (a real-time or deadline task), or if fairness
    /// was not measured.
    pub share_ns: Option<u64>,
    /// Largest amount that it was owed at any time, ns.
    pub owed_max_ns: Option<u64>,
    /// Largest amount that it was ahead at any time, ns.
    pub ahead_max_ns: Option<u64>,
    /// Lag at the end, ns; positive = owed.
    pub lag_end_ns: Option<i64>,
    /// Largest |lag| within any of its bursts, ns.
    #[serde(default)]
    pub burst_lag_max_ns: Option<u64>,
    /// CPU time due to it in its bursts, as their lags count it, ns. `None`: it was never runnable
    /// for any time.
    #[serde(default)]
    pub due_ns: Option<i64>,
}

/// Figures of all tasks of a key.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct KeyFigures {
    /// Key.
    pub key: String,
    /// Number of tasks.
    pub tasks: u64,
    /// CPU time, ns.
    pub cpu_ns: u64,
    /// Time runnable without a CPU, ns.
    pub wait_ns: u64,
    /// Longest single wait, ns.
    pub wait_max_ns: u64,
    /// Number of pieces of work done.
    pub jobs: u64,
    /// Wakeup latencies. Percentiles are `None` for keys without their own histogram.
    pub wakeup_latency: Spread,
}
