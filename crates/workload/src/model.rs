//! A workload in the terms of rt-app's language, with names as text. The reader and the generators
//! produce it. The writer and the compiler consume it.
//!
//! Times are in ns: the language has µs, with up to three decimals. Times for the scheduler
//! (deadline figures, slices) are in whole µs.

use schedlab_core::Policy;

pub use crate::programs::THREADS_MAX;

/// A whole workload file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Model {
    /// Name of the file or of the workload.
    pub name: String,
    /// Settings for all tasks.
    pub global: Global,
    /// Tasks in the order written. Their keys are unique.
    pub tasks: Vec<Task>,
}

/// The section `global`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Global {
    /// `duration`: end of the run, ns. `None`: when all tasks have ended.
    pub duration_ns: Option<u64>,
    /// `default_policy`: policy of tasks that specify none.
    pub default_policy: Policy,
    /// `pi_enabled`: whether mutexes inherit priority.
    pub pi_enabled: bool,
    /// `cumulative_slack`: whether the log's slack is the sum over a phase's timers, not the last.
    pub cumulative_slack: bool,
    /// Keys that have an effect only on a real machine, each with its value as JSON. They are kept
    /// for the writer.
    pub carried: Vec<(String, String)>,
}

/// A task: a key of `tasks`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Task {
    /// Name. The threads are called `key-0`, `key-1` ...
    pub key: String,
    /// `instance`: number of initial threads. `0`: threads are created by `fork` only.
    pub instances: u32,
    /// `delay`: start after time 0 (or after the fork), ns.
    pub delay_ns: u64,
    /// `loop`: number of rounds of all phases.
    pub loops: Loops,
    /// Properties at the start of threads.
    pub properties: Properties,
    /// `session` (schedlab's own): name of its session, which has an autogroup.
    pub session: Option<String>,
    /// Phases, run in this order.
    pub phases: Vec<Phase>,
    /// Whether the file has the events in the task itself. There is then one phase, without a name,
    /// and `loop` is the task's.
    pub flat: bool,
}

/// A phase: a key of `phases`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Phase {
    /// Name. A name may occur twice.
    pub name: String,
    /// `loop`: number of rounds before the next phase.
    pub loops: Loops,
    /// Properties that it changes.
    pub properties: Properties,
    /// Events in order.
    pub events: Vec<Event>,
}

/// Number of rounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loops {
    /// -1.
    Forever,
    /// This number of times. `0`: not at all.
    Times(u64),
}

impl Default for Loops {
    /// Returns one loop.
    fn default() -> Loops {
        Loops::Times(1)
    }
}

/// Properties that tasks and phases may set. `None`: unset.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Properties {
    /// `policy`.
    pub policy: Option<Policy>,
    /// `priority`: nice value or real-time priority, depending on the policy in force.
    pub priority: Option<i32>,
    /// `dl-runtime`: the budget, or for an ordinary task its slice request.
    pub dl_runtime_us: Option<u64>,
    /// `dl-deadline`.
    pub dl_deadline_us: Option<u64>,
    /// `dl-period`.
    pub dl_period_us: Option<u64>,
    /// `slice` (schedlab's own): slice request of an ordinary task.
    pub slice_us: Option<u64>,
    /// `clock_read` (schedlab's own): CPU time between two readings of the thread's own CPU clock,
    /// µs. `0`: it does not read it.
    pub clock_read_us: Option<u64>,
    /// `cpus`: affinity.
    pub cpus: Option<Vec<u32>>,
    /// `nodes_membind`: memory nodes. No effect here.
    pub nodes_membind: Option<Vec<u32>>,
    /// `util_min`: utilisation clamp, 0 to 1024.
    pub util_min: Option<u32>,
    /// `util_max`: utilisation clamp, 0 to 1024.
    pub util_max: Option<u32>,
    /// `taskgroup`: path of the group, `/` before every name; `""` is the root.
    pub taskgroup: Option<String>,
}

/// An event with its key, such as `run0`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// The key, which begins with the kind's name.
    pub key: String,
    /// Action.
    pub action: Action,
}

/// Action of an event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// `runtime`: work until this wall time has passed, ns.
    Run(u64),
    /// `runtime`: work until this wall time has passed, ns.
    Runtime(u64),
    /// `sleep`: ns.
    Sleep(u64),
    /// `timer`: sleep until its next expiry.
    Timer {
        /// Name; `unique...` are the thread's own.
        name: String,
        /// Period, ns.
        period_ns: u64,
        /// Whether a missed expiry keeps its time instead of moving to the present.
        absolute: bool,
    },
    /// `lock` a mutex.
    Lock(String),
    /// `unlock` a mutex.
    Unlock(String),
    /// `wait` for a condition.
    Wait {
        /// Condition.
        condition: String,
        /// Mutex that is released while waiting.
        mutex: String,
    },
    /// `signal`: wake one thread that waits for a condition.
    Signal(String),
    /// `broad`: wake all threads that wait for a condition.
    Broad(String),
    /// `sync`: signal and wait with the mutex held. A thread that does not hold it locks it before
    /// and unlocks it afterwards.
    Sync {
        /// Condition.
        condition: String,
        /// Mutex.
        mutex: String,
    },
    /// `barrier`: wait until all threads that name it have arrived.
    Barrier(String),
    /// `suspend` under a name.
    Suspend(String),
    /// `resume` all threads that are suspended under a name or in a task of that name.
    Resume {
        /// Name.
        name: String,
        /// `resume_sync` (schedlab's own): whether the waker promises to sleep at once.
        sync: bool,
    },
    /// `sem_post`.
    SemPost(String),
    /// `sem_wait`.
    SemWait(String),
    /// `yield`.
    Yield,
    /// `fork`: start another thread of a task.
    Fork(String),
    /// `thread` (schedlab's own): like `fork`, but the new thread is one of the running task's
    /// process.
    Thread(String),
    /// `exec` (schedlab's own): `execve(2)`, where a kernel may choose another CPU.
    Exec,
    /// `mem`: write this many bytes.
    Mem(u64),
    /// `memrun`: access a buffer.
    MemRun(MemRun),
    /// `iorun`: write this many bytes to a device.
    IoRun(u64),
}

/// Parameters of `memrun`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemRun {
    /// `type`.
    pub kind: MemRunKind,
    /// `size` of the buffer, bytes.
    pub size: u64,
    /// `count`: total number of bytes read or written, or of steps of a pointer chase.
    pub count: u64,
    /// `stride`, bytes. Ignored by the cost model.
    pub stride: Option<u64>,
    /// `pattern`. Ignored by the cost model.
    pub pattern: Option<String>,
    /// `ref`: name of the buffer. Ignored by the cost model.
    pub buffer: Option<String>,
}

/// How `memrun` accesses its buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemRunKind {
    /// Reads it.
    Read,
    /// Writes it.
    Write,
    /// Each step depends on what the previous one has read.
    PointerChase,
}

impl Model {
    /// Returns the number of initial threads.
    pub fn initial_threads(&self) -> usize {
        self.tasks.iter().fold(0, |sum: usize, task| sum.saturating_add(task.instances as usize))
    }

    /// Returns the paths of the groups that tasks are in or move to, in the order of their first
    /// mention, each after its ancestors. The root is not included.
    pub fn group_paths(&self) -> Vec<String> {
        let mut paths = crate::group_path::PathList::default();
        for task in &self.tasks {
            for properties in
                std::iter::once(&task.properties).chain(task.phases.iter().map(|p| &p.properties))
            {
                if let Some(path) = &properties.taskgroup {
                    paths.add(path);
                }
            }
        }
        paths.into_paths()
    }

    /// Returns the policies that occur, in the order of [`Policy::ALL`].
    pub fn policies(&self) -> Vec<Policy> {
        let names = |policy: Policy| {
            self.tasks.iter().any(|task| {
                task.properties.policy.unwrap_or(self.global.default_policy) == policy
                    || task.phases.iter().any(|phase| phase.properties.policy == Some(policy))
            })
        };
        Policy::ALL.into_iter().filter(|&policy| names(policy)).collect()
    }
}

impl Properties {
    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        *self == Properties::default()
    }
}
