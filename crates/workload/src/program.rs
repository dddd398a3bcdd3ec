//! Programs: what the interpreter executes. One for each task, shared by all its threads; names
//! have become numbers.

use crate::model::{Loops, Model};
use schedlab_core::{CpuSet, SchedAttr};

/// Number for "none" where names are numbered.
pub const NONE: u32 = u32::MAX;

/// A step of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Instr {
    /// A round of a phase begins.
    Begin { phase: u32 },
    /// A round of a phase is over.
    End { phase: u32 },
    /// A round of all phases is over.
    Round,
    /// The program is over.
    Exit,
    /// The phase's policy and priority come into force: those of the task's first round, those of
    /// later ones.
    Sched { first: u32, later: u32 },
    /// The phase's affinity comes into force.
    Cpus { set: u32 },
    /// The phase's group comes into force.
    Group { group: u32 },
    /// `run`.
    Run { ns: u64 },
    /// CPU work that no `run` asks for.
    Work { ns: u64 },
    /// `runtime`.
    Runtime { ns: u64 },
    /// `sleep`.
    Sleep { ns: u64 },
    /// `timer`.
    Timer { timer: u32, unique: bool, absolute: bool, period_ns: u64 },
    /// `lock`.
    Lock { mutex: u32 },
    /// `unlock`.
    Unlock { mutex: u32 },
    /// `wait`.
    Wait { condition: u32, mutex: u32 },
    /// `signal`.
    Signal { condition: u32 },
    /// `broad`.
    Broad { condition: u32 },
    /// `barrier`.
    Barrier { barrier: u32 },
    /// `suspend`, with the two names under which one can be resumed ([`NONE`] if nobody does).
    Suspend { key: u32, name: u32 },
    /// `resume`.
    Resume { name: u32, sync: bool },
    /// The golden schedules' `suspend`: passed if there was a resume before.
    SuspendOnce,
    /// The golden schedules' `resume` of a thread.
    ResumeThread { thread: u32, sync: bool },
    /// `sem_post`.
    SemPost { semaphore: u32 },
    /// `sem_wait`.
    SemWait { semaphore: u32 },
    /// `yield`.
    Yield,
    /// `fork`.
    Fork { program: u32 },
    /// The waiting half of `iorun`.
    Io { device_ns: u64 },
}

/// Where in the model an instruction comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Origin {
    /// The phase's number.
    pub phase: u32,
    /// The event's number; [`NONE`] for what belongs to the phase as a whole.
    pub event: u32,
}

/// A phase of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PhaseCode {
    /// Rounds; `u64::MAX` is for ever.
    pub rounds: u64,
    /// Where its `Begin` is.
    pub begin: u32,
}

/// The program of a task; it has the task's number in the model.
#[derive(Clone, Debug)]
pub struct Program {
    pub code: Box<[Instr]>,
    /// For each instruction.
    pub origins: Box<[Origin]>,
    /// For each phase of the task.
    pub phases: Box<[PhaseCode]>,
    /// Rounds of all phases; `u64::MAX` is for ever.
    pub rounds: u64,
    /// What threads are born with: numbers in [`Compiled::attrs`], [`Compiled::cpu_sets`],
    /// [`Compiled::groups`].
    pub attr: u32,
    pub cpus: u32,
    pub group: u32,
    pub delay_ns: u64,
    /// How many timers of its own a thread has.
    pub unique_timers: u32,
    /// The largest piece of memory that one of its events goes through, KiB.
    pub footprint_kib: u32,
}

/// A barrier.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BarrierInfo {
    pub name: String,
    /// Threads that must come.
    pub needed: usize,
}

/// A compiled workload. It does not change while it runs.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// What it was compiled from; names are looked up there.
    pub model: Model,
    pub programs: Vec<Program>,
    pub attrs: Vec<SchedAttr>,
    pub cpu_sets: Vec<CpuSet>,
    /// Paths; the first is the root's, "".
    pub groups: Vec<String>,
    pub mutexes: Vec<String>,
    pub conditions: Vec<String>,
    pub barriers: Vec<BarrierInfo>,
    pub semaphores: Vec<String>,
    /// Names that some `resume` names.
    pub suspensions: Vec<String>,
    /// Shared ones.
    pub timers: Vec<String>,
    /// When the first thread starts, ns.
    pub first_start_ns: u64,
}

impl Compiled {
    /// The place of `task`'s instruction `pc` for people: phase and event.
    pub fn place(&self, program: u32, pc: u32) -> String {
        let program_number = program as usize;
        let program = &self.programs[program_number];
        let task = &self.model.tasks[program_number];
        let origin = program.origins[(pc as usize).min(program.origins.len() - 1)];
        let Some(phase) = task.phases.get(origin.phase as usize) else {
            return "its end".into();
        };
        let event = phase.events.get(origin.event as usize);
        match (task.flat, event) {
            (true, Some(event)) => format!("`{}`", event.key),
            (true, None) => "its events".into(),
            (false, Some(event)) => format!("`{}` in phase `{}`", event.key, phase.name),
            (false, None) => format!("phase `{}`", phase.name),
        }
    }
}

/// As a number of rounds.
pub fn rounds(loops: Loops) -> u64 {
    match loops {
        Loops::Forever => u64::MAX,
        Loops::Times(times) => times.min(u64::MAX - 1),
    }
}
