//! What the parent process asks the runner for, and what that answers: JSON on its standard input
//! and output.

use crate::noise::{Noise, Source};
use crate::switches::{Slice, Stay};
use schedlab_workload::Start;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What the runner is to do.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Job {
    /// The parent's process number: without it there is nothing to do.
    pub parent: u32,
    /// When the runner ends itself, whatever happens, s of CPU time on each CPU.
    pub guard_s: u64,
    /// Where its threads belong.
    pub groups: Groups,
    /// What kind of thing.
    pub task: JobTask,
}

/// What kind of thing the runner is to do.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "there is one of it")]
pub enum JobTask {
    /// Run a workload once.
    Run(Run),
    /// See when the tick comes.
    Tick {
        /// On these CPUs.
        cpus: Vec<u32>,
        /// Ticks a second, if that is known.
        hz: Option<u32>,
    },
    /// Measure what things cost.
    Measure {
        /// On these CPUs, the first of them mostly.
        cpus: Vec<u32>,
        /// Each is the median of so many repetitions.
        repetitions: u32,
    },
}

/// A workload to be run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Run {
    /// What messages call the file.
    pub name: String,
    /// Its text.
    pub text: String,
    /// Tasks that are left out, by their keys.
    pub without: Vec<String>,
    /// How many CPUs the machine has, for the checks.
    pub machine_cpus: u32,
    /// CPUs of tasks that name none.
    pub cpus: Vec<u32>,
    /// When the run ends, ns; none: when its last task has.
    pub duration_ns: Option<u64>,
    /// How threads begin.
    pub start: Start,
    /// Whether switches may be recorded.
    pub records: bool,
    /// Whether everybody's switches are recorded.
    pub records_all: bool,
    /// Where they may not: gaps from this length on are time without a CPU, ns.
    pub gap_ns: u64,
    /// How everybody's CPU time is known.
    pub accounts: Accounts,
}

/// Where everybody's CPU time stands.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Accounts {
    /// In what form.
    pub source: Source,
    /// The file.
    pub file: PathBuf,
}

/// The directories of groups.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Groups {
    /// The file of a group that a thread's number is written to.
    pub attach: String,
    /// The group of all threads, if there is one.
    pub load: Option<PathBuf>,
    /// Those of the workload, by their paths in it.
    pub paths: BTreeMap<String, PathBuf>,
}

impl Groups {
    /// Moves the calling thread to the group of a directory.
    ///
    /// # Errors
    /// The kernel's.
    pub fn join(&self, directory: &Path) -> std::io::Result<()> {
        std::fs::write(directory.join(&self.attach), crate::sys::thread_id().to_string())
    }
}

/// What became of a run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Measured {
    /// How long the run was, ns.
    pub duration_ns: u64,
    /// When it began, CLOCK_MONOTONIC, ns.
    pub start_ns: u64,
    /// What others had.
    pub noise: Noise,
    /// What the runner's main thread ran as: `fifo 90`, `nice -20`, `as it was`.
    pub main: String,
    /// Whether memory was locked.
    pub memory_locked: bool,
    /// The threads, in the order of the file and of forks.
    pub threads: Vec<Thread>,
    /// Who had the CPUs, if everybody's switches were recorded.
    pub everybody: Option<Everybody>,
}

/// Who had the CPUs of a placement.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Everybody {
    /// By CPU and time, from the start of the run on, ns.
    pub stays: Vec<Stay>,
    /// Switches that found no room.
    pub lost: u64,
    /// Names of threads that are not of the workload, as far as they are known.
    pub names: BTreeMap<u32, String>,
}

/// What became of a thread.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Thread {
    /// `key-0` ...
    pub name: String,
    /// The kernel's number of it.
    pub tid: u32,
    /// CPU time, ns: the kernel's account.
    pub cpu_ns: u64,
    /// CPU time that its runs used up, ns, as the thread itself saw it. The kernel's account has
    /// on top of it what goes to sleeping and waking up, and to switches.
    pub burned_ns: u64,
    /// Time that it was runnable and had no CPU, ns.
    pub run_delay_ns: u64,
    /// How often it got a CPU.
    pub times_scheduled_in: u64,
    /// How often it blocked.
    pub voluntary_switches: u64,
    /// How often it was preempted.
    pub involuntary_switches: u64,
    /// Passes through phases.
    pub phase_loops: u64,
    /// When it ended, from the start of the run on, ns.
    pub end_ns: u64,
    /// From its start to its first look at the clock, ns.
    pub start_latency_ns: u64,
    /// From the end of each sleep, of timers too, to the next look at the clock, ns.
    pub wake_latencies_ns: Vec<u64>,
    /// When those sleeps were to end, from the start of the run on, ns.
    pub due_ns: Vec<u64>,
    /// From each wakeup by another thread to the next look at the clock, ns.
    pub wait_latencies_ns: Vec<u64>,
    /// Where it ran, from the start of the run on, if that was recorded.
    pub slices: Option<Vec<Slice>>,
    /// Switches that found no room in the ring.
    pub lost_switches: u64,
    /// Gaps that were taken for time without a CPU, where nothing was recorded.
    pub gaps: u64,
    /// How often it was preempted by what is not of the workload, if switches were recorded.
    pub preempted_by_others: Option<u64>,
}

/// The runner's answer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "there is one of it")]
pub enum Answer {
    /// A run.
    Measured(Measured),
    /// The tick, if one was found.
    Tick(Option<crate::tick::Tick>),
    /// Costs.
    Costs(crate::costs::Costs),
    /// It could not be done.
    Refused(String),
}
