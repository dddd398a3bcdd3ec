//! The figures of a task: [`TaskFigures`], and of the tasks of one key together: [`KeyFigures`].

use super::Spread;
use serde::{Deserialize, Serialize};

/// A task's figures.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TaskFigures {
    /// Its number, also its place in the list.
    pub task: u32,
    /// Its name.
    pub name: String,
    /// What it is an instance of.
    pub key: String,
    /// Its group as a path; empty = the root.
    pub group: String,
    /// Its policy in force when the run ended, e.g. `SCHED_OTHER`. (That, and not what was asked
    /// for and refused. What follows likewise.)
    pub policy: String,
    /// Its nice value.
    pub nice: i32,
    /// Its real-time priority; 0 for other policies.
    pub rt_priority: u32,
    /// How many times it was refused what was asked for it.
    #[serde(default)]
    pub refused: u64,
    /// When it came into being, ns. None: never.
    pub start_ns: Option<u64>,
    /// When it first had a CPU, ns.
    pub first_run_ns: Option<u64>,
    /// When it ended, ns.
    pub end_ns: Option<u64>,
    /// End - start, ns. Waiting, CPU and blocked time come to it.
    pub turnaround_ns: Option<u64>,
    /// Time on a CPU, ns.
    pub cpu_ns: u64,
    /// Time runnable without a CPU, ns.
    pub wait_ns: u64,
    /// The longest single wait, ns.
    pub wait_max_ns: u64,
    /// How long it had been waiting when the run ended, ns; 0 = it was not.
    pub wait_open_ns: u64,
    /// Time asleep or stopped, ns.
    pub blocked_ns: u64,
    /// Loops finished.
    pub loops: u64,
    /// Times it came to a timer.
    #[serde(default)]
    pub periods: u64,
    /// Times of these that it had expired before.
    #[serde(default)]
    pub missed_periods: u64,
    /// Pieces of work done.
    pub jobs: u64,
    /// Times it was woken.
    pub wakeups: u64,
    /// Wakeups whose latency is known.
    pub latency_count: u64,
    /// Mean wakeup latency, ns.
    pub latency_mean_ns: Option<u64>,
    /// The 99th percentile of its wakeup latencies, ns. None for tasks beyond the first 256 and for
    /// those that were forked.
    #[serde(default)]
    pub latency_p99_ns: Option<u64>,
    /// Largest wakeup latency, ns.
    pub latency_max_ns: Option<u64>,
    /// Times it was given a CPU.
    pub switches_in: u64,
    /// Times it left its CPU because it blocked or ended.
    pub switches_voluntary: u64,
    /// Times it left its CPU although it was runnable.
    pub switches_involuntary: u64,
    /// Moves between runqueues.
    pub migrations_queue: u64,
    /// Times it got another CPU than it had had last.
    pub migrations_cpu: u64,
    /// What the ideal fluid machine would have given it, ns. This and what follows: none for a task
    /// that stands outside it (a real-time or deadline task), or if fairness was not measured.
    pub share_ns: Option<u64>,
    /// The most that it was owed at any time, ns.
    pub owed_max_ns: Option<u64>,
    /// The most that it was ahead at any time, ns.
    pub ahead_max_ns: Option<u64>,
    /// Its lag at the end, ns; positive = owed.
    pub lag_end_ns: Option<i64>,
    /// The largest |lag| within any of its bursts, ns.
    #[serde(default)]
    pub burst_lag_max_ns: Option<u64>,
    /// What was due to it in its bursts, as their lags count it, ns. None if it was never runnable
    /// for any time.
    #[serde(default)]
    pub due_ns: Option<i64>,
}

/// The figures of tasks of one key together.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct KeyFigures {
    /// The key.
    pub key: String,
    /// How many tasks.
    pub tasks: u64,
    /// CPU time, ns.
    pub cpu_ns: u64,
    /// Time runnable without a CPU, ns.
    pub wait_ns: u64,
    /// The longest single wait, ns.
    pub wait_max_ns: u64,
    /// Pieces of work done.
    pub jobs: u64,
    /// Wakeup latencies; percentiles are none for keys without a histogram of their own.
    pub wakeup_latency: Spread,
}
