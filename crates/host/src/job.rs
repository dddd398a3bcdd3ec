//! Jobs that the parent process gives to the runner, and their results: JSON on the runner's
//! standard input and output.

use crate::noise::{Noise, Source};
use crate::switches::{Slice, Stay};
use schedlab_workload::Start;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A job for the runner.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Job {
    /// Process number of the parent. The runner ends if the parent is another process.
    pub parent: u32,
    /// CPU time after which the runner is ended in any case, s on each CPU.
    pub guard_s: u64,
    /// Groups of the runner's threads.
    pub groups: Groups,
    /// The kind of job.
    pub task: JobTask,
}

/// The kind of job.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "only one exists at a time")]
pub enum JobTask {
    /// Run a workload once.
    Run(Run),
    /// Find the tick.
    Tick {
        /// CPUs to watch.
        cpus: Vec<u32>,
        /// Ticks per second, if known.
        hz: Option<u32>,
    },
    /// Measure costs.
    Measure {
        /// CPUs to use, mostly the first one.
        cpus: Vec<u32>,
        /// Number of repetitions, of which each figure is the median.
        repetitions: u32,
    },
}

/// A run of a workload.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Run {
    /// Name of the file, for messages.
    pub name: String,
    /// Text of the file.
    pub text: String,
    /// Keys of the tasks that are left out.
    pub without: Vec<String>,
    /// Number of the machine's CPUs, for the checks.
    pub machine_cpus: u32,
    /// CPUs of tasks that name none.
    pub cpus: Vec<u32>,
    /// Time at which the run ends, ns; `None`: when its last task has ended.
    pub duration_ns: Option<u64>,
    /// How threads begin.
    pub start: Start,
    /// Whether switches may be recorded.
    pub records: bool,
    /// Whether the switches of all tasks are recorded.
    pub records_all: bool,
    /// Where switches may not be recorded: length from which a gap counts as time without a CPU,
    /// ns.
    pub gap_ns: u64,
    /// Source of the CPU time of all tasks.
    pub accounts: Accounts,
}

/// Source of the CPU time of all tasks.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Accounts {
    /// Format of the file.
    pub source: Source,
    /// The file.
    pub file: PathBuf,
}

/// The directories of groups.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Groups {
    /// Name of the group file to which a thread's number is written.
    pub attach: String,
    /// The group of all threads, if there is one.
    pub load: Option<PathBuf>,
    /// The workload's groups, by their paths in it.
    pub paths: BTreeMap<String, PathBuf>,
}

impl Groups {
    /// Moves the calling thread to the group in a directory.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn join(&self, directory: &Path) -> std::io::Result<()> {
        std::fs::write(directory.join(&self.attach), crate::sys::thread_id().to_string())
    }
}

/// The result of a run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Measured {
    /// Length of the run, ns.
    pub duration_ns: u64,
    /// Time at which it began, CLOCK_MONOTONIC, ns.
    pub start_ns: u64,
    /// CPU time that was used by others.
    pub noise: Noise,
    /// Scheduling of the runner's main thread: `fifo 90`, `nice -20`, `as it was`.
    pub main: String,
    /// Whether memory was locked.
    pub memory_locked: bool,
    /// The threads, in the order of the file and of forks.
    pub threads: Vec<Thread>,
    /// Use of the CPUs, if the switches of all tasks were recorded.
    pub all_switches: Option<AllSwitches>,
}

/// Use of a placement's CPUs by all threads.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct AllSwitches {
    /// Stays by CPU and time, ns from the start of the run.
    pub stays: Vec<Stay>,
    /// Number of switches for which the buffer had no room.
    pub lost: u64,
    /// Known names of threads outside the workload.
    pub names: BTreeMap<u32, String>,
}

/// Measurements of a thread.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Thread {
    /// Its name: `key-0` ...
    pub name: String,
    /// Its number in the kernel.
    pub tid: u32,
    /// CPU time according to the kernel, ns.
    pub cpu_ns: u64,
    /// CPU time consumed by its runs as measured by the thread itself, ns. The kernel's figure also
    /// contains the cost of sleeping, waking up and switching.
    pub burned_ns: u64,
    /// Time for which it was runnable without a CPU, ns.
    pub run_delay_ns: u64,
    /// Number of times it got a CPU.
    pub times_scheduled_in: u64,
    /// Number of times it blocked.
    pub voluntary_switches: u64,
    /// Number of times it was preempted.
    pub involuntary_switches: u64,
    /// Number of passes through phases.
    pub phase_loops: u64,
    /// Time at which it ended, ns from the start of the run.
    pub end_ns: u64,
    /// Time from its start to its first reading of the clock, ns.
    pub start_latency_ns: u64,
    /// Times from the end of each sleep, including timers, to the next reading of the clock, ns.
    pub wake_latencies_ns: Vec<u64>,
    /// Times at which those sleeps were due to end, ns from the start of the run.
    pub due_ns: Vec<u64>,
    /// Times from each wakeup by another thread to the next reading of the clock, ns.
    pub wait_latencies_ns: Vec<u64>,
    /// Where it ran, ns from the start of the run, if that was recorded.
    pub slices: Option<Vec<Slice>>,
    /// Number of switches for which the ring had no room.
    pub lost_switches: u64,
    /// Number of gaps counted as time without a CPU, where switches were not recorded.
    pub gaps: u64,
    /// Number of times it was preempted by a thread outside the workload, if switches were
    /// recorded.
    pub preempted_by_others: Option<u64>,
}

/// The result of a job.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "only one exists at a time")]
pub enum JobResult {
    /// A run.
    Measured(Measured),
    /// The tick, if one was found.
    Tick(Option<crate::tick::Tick>),
    /// Costs.
    Costs(crate::costs::Costs),
    /// The job could not be done, for this reason.
    Refused(String),
}
