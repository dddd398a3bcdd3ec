//! Programs as plain data: [`Scripts`], a workload of [`Script`]s, one for each kind of task. Names
//! are replaced by indices in the lists of [`Scripts`].
//!
//! rt-app's files are compiled to scripts, and readers of other formats can produce them in the
//! same way. A [`Kernel`](super::Kernel) executes them: `execute.rs` turns instructions into
//! [`Step`](super::Step)s.

mod cursor;
mod log;

use super::mutex::MutexKind;
pub(super) use cursor::Cursor;
pub use log::{Log, LogLine};
use schedlab_core::{CpuSet, GroupId, SchedAttr, TaskId};
use schedlab_machine::costs::CallCosts;

/// Stands for "none" where names are numbered.
pub const NONE: u32 = u32::MAX;

/// An instruction of a script.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Instr {
    /// Begin a round of a phase.
    Begin {
        /// Phase.
        phase: u32,
    },
    /// End a round of a phase.
    End {
        /// Phase.
        phase: u32,
    },
    /// End a round of all phases.
    Round,
    /// End the script.
    Exit,
    /// Set the phase's policy and priority, by index in [`Scripts::attrs`].
    Sched {
        /// Attributes in the first round of the script.
        first: u32,
        /// Attributes in later rounds.
        later: u32,
    },
    /// Set the phase's affinity.
    Cpus {
        /// Index in [`Scripts::cpu_sets`].
        set: u32,
    },
    /// Set the phase's group.
    Group {
        /// Index in [`Scripts::groups`].
        group: u32,
    },
    /// Compute, ns of CPU time.
    Run {
        /// CPU time, ns.
        ns: u64,
    },
    /// Like [`Instr::Run`], but the thread reads its own CPU clock now and then.
    RunReading {
        /// CPU time, ns.
        ns: u64,
        /// CPU time before each reading, ns, at least 1. The last reading is at the end.
        every_ns: u64,
    },
    /// Like [`Instr::Run`], but not counted as work in the log.
    Work {
        /// CPU time, ns.
        ns: u64,
    },
    /// Compute until this wall time has passed, reading the clock now and then.
    Runtime {
        /// Wall time, ns.
        ns: u64,
    },
    /// Sleep.
    Sleep {
        /// Length, ns.
        ns: u64,
    },
    /// Sleep until a time. The thread counts as started then.
    Until {
        /// Time, ns.
        ns: u64,
    },
    /// Sleep until a timer expires next. See [`Step::Timer`](super::Step::Timer).
    Timer {
        /// Timer: one of the thread's own, or one that all threads share.
        timer: u32,
        /// Whether it is one of the thread's own.
        unique: bool,
        /// Whether a missed expiry keeps its time.
        absolute: bool,
        /// Period, ns.
        period_ns: u64,
    },
    /// Take a mutex.
    Lock {
        /// Mutex.
        mutex: u32,
    },
    /// Release a mutex.
    Unlock {
        /// Mutex.
        mutex: u32,
    },
    /// Release a mutex, wait for a condition, and take the mutex again.
    Wait {
        /// Condition.
        condition: u32,
        /// Mutex.
        mutex: u32,
    },
    /// Wake the thread that has waited longest for a condition.
    Signal {
        /// Condition.
        condition: u32,
    },
    /// Wake all threads that wait for a condition.
    Broad {
        /// Condition.
        condition: u32,
    },
    /// Wait until all threads have arrived at a barrier.
    Barrier {
        /// Barrier.
        barrier: u32,
    },
    /// Sleep until resumed, under up to two names ([`NONE`] for a name that no thread resumes).
    Suspend {
        /// First name.
        key: u32,
        /// Second name.
        name: u32,
    },
    /// Resume all threads that are suspended under a name.
    Resume {
        /// Name.
        name: u32,
        /// Whether the wakeup is synchronous.
        sync: bool,
    },
    /// Sleep until unparked. There is no effect if that has already happened.
    Park,
    /// Let a thread pass its [`Instr::Park`].
    Unpark {
        /// Number of the thread.
        thread: u32,
        /// Whether the wakeup is synchronous.
        sync: bool,
    },
    /// Add one to a semaphore.
    SemPost {
        /// Semaphore.
        semaphore: u32,
    },
    /// Take one from a semaphore.
    SemWait {
        /// Semaphore.
        semaphore: u32,
    },
    /// `sched_yield(2)`.
    Yield,
    /// Start one more thread of a script.
    Fork {
        /// Index in [`Scripts::scripts`].
        program: u32,
        /// Whether it shares the address space of the running task.
        thread: bool,
    },
    /// `execve(2)`.
    Exec,
    /// Send a request to a disk, and wait for it.
    Io {
        /// Disk.
        disk: u32,
        /// Service time, ns.
        device_ns: u64,
    },
}

impl Instr {
    /// Whether it begins or ends a phase, or sets a property that may already be in force.
    #[inline]
    pub(super) fn is_marker(self) -> bool {
        matches!(
            self,
            Instr::Begin { .. }
                | Instr::End { .. }
                | Instr::Round
                | Instr::Sched { .. }
                | Instr::Cpus { .. }
                | Instr::Group { .. }
        )
    }
}

/// A phase of a script.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PhaseCode {
    /// Number of rounds; `u64::MAX` is forever.
    pub rounds: u64,
    /// Index of its [`Instr::Begin`].
    pub begin: u32,
}

/// Program of the threads of one kind.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// Name. The threads are called `name-0`, `name-1` ...
    pub name: String,
    /// Number of initial threads; others are forked.
    pub instances: u32,
    /// Start of initial threads, ns. For forked threads: the delay after the fork.
    pub delay_ns: u64,
    /// Instructions. The last one is [`Instr::Exit`].
    pub code: Box<[Instr]>,
    /// Origin of each instruction: an index in [`Scripts::places`], or [`NONE`]. May be shorter
    /// than the code.
    pub places: Box<[u32]>,
    /// Phases that [`Instr::Begin`] and [`Instr::End`] refer to.
    pub phases: Box<[PhaseCode]>,
    /// Number of rounds of the whole script, for [`Instr::Round`]. `u64::MAX` is forever.
    pub rounds: u64,
    /// Beginning of all rounds except the first.
    pub again: u32,
    /// Attributes of threads at birth, by index in [`Scripts::attrs`].
    pub attr: u32,
    /// Affinity of threads, by index in [`Scripts::cpu_sets`].
    pub cpus: u32,
    /// Group of threads, by index in [`Scripts::groups`].
    pub group: u32,
    /// Number of timers that each thread has for itself.
    pub unique_timers: u32,
    /// Largest piece of memory that one of its events touches, KiB.
    pub footprint_kib: u32,
}

impl Script {
    /// Creates a script that executes `instructions` once and ends. It has no thread yet.
    pub fn straight(instructions: impl IntoIterator<Item = Instr>) -> Script {
        let code = instructions.into_iter().chain([Instr::Exit]).collect();
        Script { code, rounds: 1, ..Script::default() }
    }
}

/// A barrier of a workload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BarrierInfo {
    /// Name.
    pub name: String,
    /// Number of threads that must arrive.
    pub needed: usize,
}

/// A workload as plain data. It does not change while it runs.
#[derive(Clone, Debug)]
pub struct Scripts {
    /// Scripts.
    pub scripts: Vec<Script>,
    /// Scheduling attributes. The default contains the default attributes.
    pub attrs: Vec<SchedAttr>,
    /// Affinities. The default contains "every CPU".
    pub cpu_sets: Vec<CpuSet>,
    /// Paths of groups. The first is the root's, "".
    pub groups: Vec<String>,
    /// Names of mutexes.
    pub mutexes: Vec<String>,
    /// Whether mutexes inherit priority.
    pub inherit: bool,
    /// Names of conditions.
    pub conditions: Vec<String>,
    /// Barriers.
    pub barriers: Vec<BarrierInfo>,
    /// Names of semaphores, which start at 0.
    pub semaphores: Vec<String>,
    /// Names under which threads are suspended and resumed.
    pub suspensions: Vec<String>,
    /// Number of timers that all threads share.
    pub timers: u32,
    /// Number of disks.
    pub disks: u32,
    /// Origins of instructions, for messages.
    pub places: Vec<String>,
    /// Time at which the workload itself ends the run, ns.
    pub duration_ns: Option<u64>,
    /// Start of the first thread, ns: the log counts from then.
    pub first_start_ns: u64,
    /// Whether the log's slack is the sum over the timers of a phase instead of that of the last.
    pub cumulative_slack: bool,
}

impl Default for Scripts {
    /// Returns scripts with only the default attributes, every CPU and the root group.
    fn default() -> Scripts {
        Scripts {
            scripts: vec![],
            attrs: vec![SchedAttr::default()],
            cpu_sets: vec![CpuSet::All],
            groups: vec![String::new()],
            mutexes: vec![],
            inherit: false,
            conditions: vec![],
            barriers: vec![],
            semaphores: vec![],
            suspensions: vec![],
            timers: 0,
            disks: 0,
            places: vec![],
            duration_ns: None,
            first_start_ns: 0,
            cumulative_slack: false,
        }
    }
}

impl Scripts {
    /// Returns the number of initial threads.
    pub fn initial_threads(&self) -> usize {
        self.scripts.iter().map(|script| script.instances as usize).sum()
    }

    /// Returns the origin of an instruction of a script, for messages.
    pub fn place(&self, script: u32, instruction: u32) -> &str {
        let places = &self.scripts[script as usize].places;
        let place = places.get(instruction as usize).copied().unwrap_or(NONE);
        self.places.get(place as usize).map_or("its end", String::as_str)
    }

    pub(super) fn mutex_kind(&self) -> MutexKind {
        if self.inherit { MutexKind::Inherit } else { MutexKind::Urgency }
    }

    /// # Panics
    /// If an instruction refers to an object that does not exist, or a script has no end.
    pub(super) fn assert_complete(&self) {
        for script in &self.scripts {
            let name = &script.name;
            let last = script.code.last();
            assert!(matches!(last, Some(Instr::Exit)), "script {name} ends with Instr::Exit");
            assert!((script.attr as usize) < self.attrs.len(), "attributes of {name}");
            assert!((script.cpus as usize) < self.cpu_sets.len(), "CPUs of {name}");
            assert!((script.group as usize) < self.groups.len(), "group of {name}");
            for &instr in &script.code {
                assert!(self.is_complete(script, instr), "{instr:?} of script {name}");
            }
        }
    }

    /// Whether all objects that an instruction refers to exist.
    fn is_complete(&self, script: &Script, instr: Instr) -> bool {
        let within = |number: u32, count: usize| (number as usize) < count;
        let named = |name: u32| name == NONE || within(name, self.suspensions.len());
        match instr {
            Instr::Begin { phase } | Instr::End { phase } => within(phase, script.phases.len()),
            Instr::Sched { first, later } => {
                within(first, self.attrs.len()) && within(later, self.attrs.len())
            }
            Instr::Cpus { set } => within(set, self.cpu_sets.len()),
            Instr::Group { group } => within(group, self.groups.len()),
            Instr::Timer { timer, unique: true, .. } => timer < script.unique_timers,
            Instr::Timer { timer, .. } => timer < self.timers,
            Instr::Lock { mutex } | Instr::Unlock { mutex } => within(mutex, self.mutexes.len()),
            Instr::Wait { condition, mutex } => {
                within(condition, self.conditions.len()) && within(mutex, self.mutexes.len())
            }
            Instr::Signal { condition } | Instr::Broad { condition } => {
                within(condition, self.conditions.len())
            }
            Instr::Barrier { barrier } => within(barrier, self.barriers.len()),
            Instr::Suspend { key, name } => named(key) && named(name),
            Instr::Resume { name, .. } => within(name, self.suspensions.len()),
            Instr::Unpark { thread, .. } => within(thread, self.initial_threads()),
            Instr::SemPost { semaphore } | Instr::SemWait { semaphore } => {
                within(semaphore, self.semaphores.len())
            }
            Instr::Fork { program, .. } => within(program, self.scripts.len()),
            Instr::Io { disk, .. } => disk < self.disks,
            Instr::Round
            | Instr::Exit
            | Instr::Run { .. }
            | Instr::RunReading { .. }
            | Instr::Work { .. }
            | Instr::Runtime { .. }
            | Instr::Sleep { .. }
            | Instr::Until { .. }
            | Instr::Park
            | Instr::Yield
            | Instr::Exec => true,
        }
    }
}

/// Which threads share an address space.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AddressSpaces {
    /// All threads: they belong to one process, as in rt-app.
    #[default]
    Process,
    /// The threads of one script that exist from the start, and a forked thread and its parent.
    PerTask,
    /// No threads share an address space: every thread is a process.
    PerThread,
}

/// Conventions in which golden schedules differ from rt-app and from each other. The default is
/// that of rt-app.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Conventions {
    /// A script that ends with a sleep ends when the sleep does, without being queued again.
    pub exit_from_sleep: bool,
    /// A phase's priority and policy after a sleep (or at the start) are set before the task is
    /// queued. So are its affinity and group after a sleep.
    pub renice_before_wake: bool,
    /// A phase's priority after a sleep (or at the start) is ignored.
    pub renice_only_running: bool,
    /// After a yield the next event is taken at once.
    pub yield_goes_on: bool,
    /// If several resumes come while a task is not suspended, only one is remembered.
    pub one_resume: bool,
    /// All sleeps are uninterruptible.
    pub uninterruptible: bool,
    /// A change of policy from outside leaves the nice value as it is.
    pub chrt_keeps_nice: bool,
    /// A task that is resumed in the nanosecond in which it blocks is woken only after its CPU has
    /// switched away from it.
    pub resume_after_switch: bool,
    /// A forked thread has its parent's policy, priority, affinity and group. (rt-app's threads set
    /// the attributes of their own task.) This holds for all golden schedules.
    pub forks_inherit: bool,
    /// Which threads share an address space.
    pub address_spaces: AddressSpaces,
}

impl Conventions {
    /// Names of the switches, as in golden files.
    pub const NAMES: [&str; 8] = [
        "exit_from_sleep",
        "renice_before_wake",
        "renice_only_running",
        "yield_goes_on",
        "one_resume",
        "uninterruptible",
        "chrt_keeps_nice",
        "resume_after_switch",
    ];

    /// Switches on the convention called `name`.
    ///
    /// # Errors
    /// The existing names, if `name` is none of them.
    pub fn set(&mut self, name: &str) -> Result<(), &'static [&'static str]> {
        *match name {
            "exit_from_sleep" => &mut self.exit_from_sleep,
            "renice_before_wake" => &mut self.renice_before_wake,
            "renice_only_running" => &mut self.renice_only_running,
            "yield_goes_on" => &mut self.yield_goes_on,
            "one_resume" => &mut self.one_resume,
            "uninterruptible" => &mut self.uninterruptible,
            "chrt_keeps_nice" => &mut self.chrt_keeps_nice,
            "resume_after_switch" => &mut self.resume_after_switch,
            _ => return Err(&Conventions::NAMES),
        } = true;
        Ok(())
    }
}

/// Selection of requests to record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequestFilter {
    /// Group: threads that were born in it or below it are recorded. "" or "/": all threads.
    pub group: String,
    /// Maximum number of requests that are kept. Memory for them is allocated in advance.
    pub most: usize,
}

/// Options of a run of scripts.
#[derive(Clone, Debug, Default)]
pub struct ScriptOptions {
    /// Numbers that the scheduler gives to [`Scripts::groups`] without the root, in that order.
    /// Empty: 1, 2, 3 ...
    pub group_ids: Vec<GroupId>,
    /// Costs of system calls. `None`: they are free, as on an idealised machine.
    pub calls: Option<CallCosts>,
    /// Maximum number of lines of rt-app's log. `0`: no log.
    pub log_lines: usize,
    /// Requests whose response times are recorded. `None`: none are.
    pub requests: Option<RequestFilter>,
    /// Deviations from rt-app.
    pub conventions: Conventions,
}

/// Facts about a script's thread, for reports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreadInfo<'a> {
    /// Number of the task.
    pub task: TaskId,
    /// Name of its script. The thread itself is called `key-instance`.
    pub key: &'a str,
    /// Number among the threads of its script, from 0.
    pub instance: u32,
    /// Attributes at birth.
    pub sched: SchedAttr,
    /// Affinity at birth.
    pub allowed: &'a CpuSet,
    /// Path of its group at birth; "" is the root.
    pub group: &'a str,
    /// Start, ns.
    pub start_ns: u64,
    /// Whether it was created by a `fork`.
    pub forked: bool,
    /// Number of completed rounds of all its phases.
    pub rounds: u64,
    /// Number of completed rounds of those phases that have their own loop (not 1).
    pub loop_rounds: u64,
    /// Number of times that it reached a timer.
    pub periods: u64,
    /// Number of those times at which the timer had already expired.
    pub missed_periods: u64,
}
