//! A workload as rt-app's language describes it, with names still being names: what the reader
//! makes, generators build, the writer writes and the compiler compiles.
//!
//! Times are in ns: the language has µs, with up to three decimals. What the scheduler is told of
//! (deadline figures, slices) is in whole µs.

use schedlab_core::Policy;

pub use crate::programs::THREADS_MAX;

/// A whole workload file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Model {
    /// The file's name, or what the workload is called.
    pub name: String,
    /// What concerns all tasks.
    pub global: Global,
    /// The tasks in the order written. Keys differ from each other.
    pub tasks: Vec<Task>,
}

/// The section `global`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Global {
    /// `duration`: when the whole run ends, ns; none = when every task has ended.
    pub duration_ns: Option<u64>,
    /// `default_policy`: of tasks that name none.
    pub default_policy: Policy,
    /// `pi_enabled`: mutexes inherit priority.
    pub pi_enabled: bool,
    /// `cumulative_slack`: the log's slack is the sum over a phase's timers, not that of the last.
    pub cumulative_slack: bool,
    /// Keys that mean something on a real machine only, each with its value as JSON. They are
    /// carried along for the writer.
    pub carried: Vec<(String, String)>,
}

/// A task: a key of `tasks`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Task {
    /// Its name; its threads are called `key-0`, `key-1` ...
    pub key: String,
    /// `instance`: threads that the run begins with. 0: only `fork` makes any.
    pub instances: u32,
    /// `delay`: so long after time 0 (or after the fork) they start, ns.
    pub delay_ns: u64,
    /// `loop`: how often all phases are run.
    pub loops: Loops,
    /// What the threads begin with.
    pub properties: Properties,
    /// Run one after the other, in this order.
    pub phases: Vec<Phase>,
    /// Whether the file has the events in the task itself. There is then one phase, without name,
    /// and `loop` is the task's.
    pub flat: bool,
}

/// A phase: a key of `phases`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Phase {
    /// Its name. A name may come twice.
    pub name: String,
    /// `loop`: how often it is run before the next.
    pub loops: Loops,
    /// What it changes.
    pub properties: Properties,
    /// What it does, in this order.
    pub events: Vec<Event>,
}

/// How often.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loops {
    /// -1.
    Forever,
    /// So many times; 0 is not at all.
    Times(u64),
}

impl Default for Loops {
    /// Once.
    fn default() -> Loops {
        Loops::Times(1)
    }
}

/// What task and phase may set. None = says nothing of it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Properties {
    /// `policy`.
    pub policy: Option<Policy>,
    /// `priority`: nice value or real-time priority, as the policy in force has it.
    pub priority: Option<i32>,
    /// `dl-runtime`: budget; of an ordinary task the slice that it asks for.
    pub dl_runtime_us: Option<u64>,
    /// `dl-deadline`.
    pub dl_deadline_us: Option<u64>,
    /// `dl-period`.
    pub dl_period_us: Option<u64>,
    /// `slice` (schedlab's own): the slice that an ordinary task asks for.
    pub slice_us: Option<u64>,
    /// `cpus`: where it may run.
    pub cpus: Option<Vec<u32>>,
    /// `nodes_membind`: memory nodes. Without effect here.
    pub nodes_membind: Option<Vec<u32>>,
    /// `util_min`: utilisation clamp, 0 to 1024.
    pub util_min: Option<u32>,
    /// `util_max`: utilisation clamp, 0 to 1024.
    pub util_max: Option<u32>,
    /// `taskgroup`: path of the group, `/` before every name; `""` is the root.
    pub taskgroup: Option<String>,
}

/// An event with the key under which it stands, such as `run0`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// The key; begins with the kind's name.
    pub key: String,
    /// What happens.
    pub action: Action,
}

/// What an event does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// `run`: work, ns at full capacity.
    Run(u64),
    /// `runtime`: work until so much wall time is over, ns.
    Runtime(u64),
    /// `sleep`: ns.
    Sleep(u64),
    /// `timer`: sleep until its next expiry.
    Timer {
        /// Its name; `unique...` are the thread's own.
        name: String,
        /// ns.
        period_ns: u64,
        /// Whether a missed expiry stays where it was rather than moving to the present.
        absolute: bool,
    },
    /// `lock` a mutex.
    Lock(String),
    /// `unlock` a mutex.
    Unlock(String),
    /// `wait` for a condition.
    Wait {
        /// The condition.
        condition: String,
        /// Given up while waiting.
        mutex: String,
    },
    /// `signal`: wake one that waits for a condition.
    Signal(String),
    /// `broad`: wake all that wait for a condition.
    Broad(String),
    /// `sync`: signal and wait with the mutex held; who does not hold it locks it before and
    /// unlocks it after.
    Sync {
        /// The condition.
        condition: String,
        /// The mutex.
        mutex: String,
    },
    /// `barrier`: wait until all who name it have come.
    Barrier(String),
    /// `suspend` under a name.
    Suspend(String),
    /// `resume` all who are suspended under a name or in a task of that name.
    Resume {
        /// Whom.
        name: String,
        /// `resume_sync` (schedlab's own): the waker promises to sleep at once.
        sync: bool,
    },
    /// `sem_post`.
    SemPost(String),
    /// `sem_wait`.
    SemWait(String),
    /// `yield`.
    Yield,
    /// `fork`: one more thread of a task.
    Fork(String),
    /// `exec` (schedlab's own): `execve(2)`, where a kernel may choose another CPU.
    Exec,
    /// `mem`: write so many bytes.
    Mem(u64),
    /// `memrun`: go through a buffer.
    MemRun(MemRun),
    /// `iorun`: write so many bytes to a device.
    IoRun(u64),
}

/// What `memrun` does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemRun {
    /// `type`.
    pub kind: MemRunKind,
    /// `size` of the buffer, bytes.
    pub size: u64,
    /// `count`: bytes read or written in all, or steps of a pointer chase.
    pub count: u64,
    /// `stride`, bytes. The cost model does not ask for it.
    pub stride: Option<u64>,
    /// `pattern`. The cost model does not ask for it.
    pub pattern: Option<String>,
    /// `ref`: the buffer's name. The cost model does not ask for it.
    pub buffer: Option<String>,
}

/// How `memrun` goes through its buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemRunKind {
    /// Reads it.
    Read,
    /// Writes it.
    Write,
    /// Each step needs what the one before has read.
    PointerChase,
}

impl Model {
    /// Threads that the run begins with.
    pub fn initial_threads(&self) -> usize {
        self.tasks.iter().fold(0, |sum: usize, task| sum.saturating_add(task.instances as usize))
    }

    /// The paths of the groups that tasks are in or move to, in the order in which they are first
    /// named, each after those above it. The root is not among them.
    pub fn group_paths(&self) -> Vec<String> {
        let mut paths = crate::groups::PathList::default();
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

    /// The policies that occur, in the order of [`Policy::ALL`].
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
