//! Programs as plain data: [`Scripts`], a workload of [`Script`]s, one for each kind of task. Names
//! have become numbers: places in the lists of [`Scripts`].
//!
//! rt-app's files are compiled to scripts; whoever has read a workload of another form fills them
//! in just so. A [`Kernel`](super::Kernel) executes them: `execute.rs` turns instructions into
//! [`Step`](super::Step)s.

mod cursor;
mod log;

use super::mutex::MutexKind;
pub(super) use cursor::Cursor;
pub use log::{Log, LogLine};
use schedlab_core::{CpuSet, GroupId, SchedAttr, TaskId};
use schedlab_machine::costs::CallCosts;

/// Number for "none" where names are numbered.
pub const NONE: u32 = u32::MAX;

/// An instruction of a script.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Instr {
    /// A round of a phase begins.
    Begin {
        /// Which.
        phase: u32,
    },
    /// A round of a phase is over.
    End {
        /// Which.
        phase: u32,
    },
    /// A round of all phases is over.
    Round,
    /// The script is over.
    Exit,
    /// The phase's policy and priority come into force, by their places in [`Scripts::attrs`].
    Sched {
        /// Those of the script's first round.
        first: u32,
        /// Those of later rounds.
        later: u32,
    },
    /// The phase's affinity comes into force.
    Cpus {
        /// Its place in [`Scripts::cpu_sets`].
        set: u32,
    },
    /// The phase's group comes into force.
    Group {
        /// Its place in [`Scripts::groups`].
        group: u32,
    },
    /// Compute, ns of CPU time.
    Run {
        /// So long, ns.
        ns: u64,
    },
    /// As [`Instr::Run`], but not counted as work in the log.
    Work {
        /// So long, ns.
        ns: u64,
    },
    /// Compute until so much wall time has passed, looking at the clock now and then.
    Runtime {
        /// So long, ns.
        ns: u64,
    },
    /// Sleep.
    Sleep {
        /// So long, ns.
        ns: u64,
    },
    /// Sleep until the clock shows a time; the thread counts as started then.
    Until {
        /// The time, ns.
        ns: u64,
    },
    /// Sleep until a timer expires next; see [`Step::Timer`](super::Step::Timer).
    Timer {
        /// Which: of the thread's own, or one that all share.
        timer: u32,
        /// Whether it is one of the thread's own.
        unique: bool,
        /// Whether a missed expiry stays where it was.
        absolute: bool,
        /// ns.
        period_ns: u64,
    },
    /// Take a mutex.
    Lock {
        /// Which.
        mutex: u32,
    },
    /// Release a mutex.
    Unlock {
        /// Which.
        mutex: u32,
    },
    /// Release a mutex, wait for a condition, and take the mutex again.
    Wait {
        /// The condition.
        condition: u32,
        /// The mutex.
        mutex: u32,
    },
    /// Wake the thread that has waited longest for a condition.
    Signal {
        /// Which.
        condition: u32,
    },
    /// Wake all that wait for a condition.
    Broad {
        /// Which.
        condition: u32,
    },
    /// Wait until all have come to a barrier.
    Barrier {
        /// Which.
        barrier: u32,
    },
    /// Sleep until resumed, under up to two names ([`NONE`] if nobody resumes them).
    Suspend {
        /// One name.
        key: u32,
        /// The other.
        name: u32,
    },
    /// Resume all who are suspended under a name.
    Resume {
        /// Which.
        name: u32,
        /// Whether the wakeup is synchronous.
        sync: bool,
    },
    /// Sleep until unparked; passed if that happened before.
    Park,
    /// Let a thread pass its [`Instr::Park`].
    Unpark {
        /// Its number.
        thread: u32,
        /// Whether the wakeup is synchronous.
        sync: bool,
    },
    /// Add one to a semaphore.
    SemPost {
        /// Which.
        semaphore: u32,
    },
    /// Take one from a semaphore.
    SemWait {
        /// Which.
        semaphore: u32,
    },
    /// `sched_yield(2)`.
    Yield,
    /// Start one more thread of a script.
    Fork {
        /// Its place in [`Scripts::scripts`].
        program: u32,
    },
    /// `execve(2)`.
    Exec,
    /// Have a disk serve a request, and wait for it.
    Io {
        /// Which disk.
        disk: u32,
        /// How long the disk is busy with it, ns.
        device_ns: u64,
    },
}

impl Instr {
    /// The beginning or end of a phase, or a property that may be in force anyway.
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
    /// Rounds; `u64::MAX` is for ever.
    pub rounds: u64,
    /// Where its [`Instr::Begin`] is.
    pub begin: u32,
}

/// What the threads of one kind do.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// What it is called; its threads are called `name-0`, `name-1` ...
    pub name: String,
    /// Threads that the run begins with; others are forked.
    pub instances: u32,
    /// When those start, ns; of a forked one: so long after the fork.
    pub delay_ns: u64,
    /// The instructions; the last one is [`Instr::Exit`].
    pub code: Box<[Instr]>,
    /// For each instruction where it comes from: a place in [`Scripts::places`], or [`NONE`]. May
    /// be shorter than the code.
    pub places: Box<[u32]>,
    /// The phases that [`Instr::Begin`] and [`Instr::End`] name.
    pub phases: Box<[PhaseCode]>,
    /// Rounds of the whole script, for [`Instr::Round`]; `u64::MAX` is for ever.
    pub rounds: u64,
    /// Where all rounds but the first begin.
    pub again: u32,
    /// The attributes that threads are born with, by their place in [`Scripts::attrs`].
    pub attr: u32,
    /// Where they may run, by its place in [`Scripts::cpu_sets`].
    pub cpus: u32,
    /// Their group, by its place in [`Scripts::groups`].
    pub group: u32,
    /// How many timers of its own a thread has.
    pub unique_timers: u32,
    /// The largest piece of memory that one of its events goes through, KiB.
    pub footprint_kib: u32,
}

impl Script {
    /// One that does this once, and ends. It has no thread yet.
    pub fn straight(instructions: impl IntoIterator<Item = Instr>) -> Script {
        let code = instructions.into_iter().chain([Instr::Exit]).collect();
        Script { code, rounds: 1, ..Script::default() }
    }
}

/// A barrier of a workload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BarrierInfo {
    /// Its name.
    pub name: String,
    /// Threads that must come.
    pub needed: usize,
}

/// A workload as plain data. It does not change while it runs.
#[derive(Clone, Debug)]
pub struct Scripts {
    /// The scripts.
    pub scripts: Vec<Script>,
    /// Scheduling attributes; the default has the default attributes.
    pub attrs: Vec<SchedAttr>,
    /// Affinities; the default has "every CPU".
    pub cpu_sets: Vec<CpuSet>,
    /// Paths of groups; the first is the root's, "".
    pub groups: Vec<String>,
    /// Names of mutexes.
    pub mutexes: Vec<String>,
    /// Whether mutexes inherit priority.
    pub inherit: bool,
    /// Names of conditions.
    pub conditions: Vec<String>,
    /// Barriers.
    pub barriers: Vec<BarrierInfo>,
    /// Names of semaphores, which begin empty.
    pub semaphores: Vec<String>,
    /// Names under which threads are suspended and resumed.
    pub suspensions: Vec<String>,
    /// How many timers all threads share.
    pub timers: u32,
    /// How many disks there are.
    pub disks: u32,
    /// Where instructions come from, for messages.
    pub places: Vec<String>,
    /// When the workload itself ends the run, ns.
    pub duration_ns: Option<u64>,
    /// When the first thread starts, ns: the log counts from then.
    pub first_start_ns: u64,
    /// The log's slack is the sum over a phase's timers, not that of the last.
    pub cumulative_slack: bool,
}

impl Default for Scripts {
    /// Nothing but the default attributes, every CPU and the root group.
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
    /// Threads that the run begins with.
    pub fn initial_threads(&self) -> usize {
        self.scripts.iter().map(|script| script.instances as usize).sum()
    }

    /// The place that a script's instruction comes from, for people.
    pub fn place(&self, script: u32, instruction: u32) -> &str {
        let places = &self.scripts[script as usize].places;
        let place = places.get(instruction as usize).copied().unwrap_or(NONE);
        self.places.get(place as usize).map_or("its end", String::as_str)
    }

    pub(super) fn mutex_kind(&self) -> MutexKind {
        if self.inherit { MutexKind::Inherit } else { MutexKind::Urgency }
    }

    /// # Panics
    /// If an instruction names what is not there, or a script has no end.
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

    /// Whether all that an instruction names is there.
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
            Instr::Fork { program } => within(program, self.scripts.len()),
            Instr::Io { disk, .. } => disk < self.disks,
            Instr::Round
            | Instr::Exit
            | Instr::Run { .. }
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
    /// All: threads of one process, as rt-app's are.
    #[default]
    Process,
    /// The threads of one script.
    PerTask,
    /// None: every thread is a process.
    PerThread,
}

/// Conventions in which golden schedules differ from rt-app and from each other. The default is
/// rt-app's way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Conventions {
    /// A script that ends with a sleep ends when the sleep does, without being queued again.
    pub exit_from_sleep: bool,
    /// A phase's priority and policy after a sleep (or at the start) are set before the task is
    /// queued; its affinity and group after a sleep, too.
    pub renice_before_wake: bool,
    /// A phase's priority after a sleep (or at the start) is passed over.
    pub renice_only_running: bool,
    /// After a yield the next event is taken at once.
    pub yield_goes_on: bool,
    /// Of the resumes that come while a task is not suspended one is remembered, not each.
    pub one_resume: bool,
    /// All sleeps are uninterruptible.
    pub uninterruptible: bool,
    /// A forked thread has its parent's policy, priority, affinity and group. (rt-app's threads set
    /// what their own task says.) All golden schedules are so.
    pub forks_inherit: bool,
    /// Who shares an address space.
    pub address_spaces: AddressSpaces,
}

impl Conventions {
    /// The names of those that are on or off, as golden files have them.
    pub const NAMES: [&str; 6] = [
        "exit_from_sleep",
        "renice_before_wake",
        "renice_only_running",
        "yield_goes_on",
        "one_resume",
        "uninterruptible",
    ];

    /// Switches on the one called `name`.
    ///
    /// # Errors
    /// The names there are, if it is none of them.
    pub fn set(&mut self, name: &str) -> Result<(), &'static [&'static str]> {
        *match name {
            "exit_from_sleep" => &mut self.exit_from_sleep,
            "renice_before_wake" => &mut self.renice_before_wake,
            "renice_only_running" => &mut self.renice_only_running,
            "yield_goes_on" => &mut self.yield_goes_on,
            "one_resume" => &mut self.one_resume,
            "uninterruptible" => &mut self.uninterruptible,
            _ => return Err(&Conventions::NAMES),
        } = true;
        Ok(())
    }
}

/// How scripts are to be run.
#[derive(Clone, Debug, Default)]
pub struct ScriptOptions {
    /// The scheduler's numbers of [`Scripts::groups`] without the root, in that order. Empty: 1, 2,
    /// 3 ...
    pub group_ids: Vec<GroupId>,
    /// What system calls cost; none: nothing, as on an idealised machine.
    pub calls: Option<CallCosts>,
    /// How many lines of rt-app's log to keep at most; 0 keeps no log.
    pub log_lines: usize,
    /// Deviations from rt-app.
    pub conventions: Conventions,
}

/// A script's thread for those who report about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreadInfo<'a> {
    /// Its number.
    pub task: TaskId,
    /// The name of its script; the thread itself is called `key-instance`.
    pub key: &'a str,
    /// Which of its script's threads it is, from 0.
    pub instance: u32,
    /// What it was born with.
    pub sched: SchedAttr,
    /// Where it may run at its birth.
    pub allowed: &'a CpuSet,
    /// The path of the group it was born in; "" is the root.
    pub group: &'a str,
    /// When it starts, ns.
    pub start_ns: u64,
    /// Whether a `fork` made it.
    pub forked: bool,
    /// How often it has gone through all its phases.
    pub rounds: u64,
    /// Rounds that it has finished of those of its phases that have a loop of their own (not 1).
    pub loop_rounds: u64,
    /// How often it has come to a timer.
    pub periods: u64,
    /// How often that had expired before.
    pub missed_periods: u64,
}
