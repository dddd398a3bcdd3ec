//! The CPU time that a thread will use before it blocks, for schedulers that are told the future.

use super::{Stage, Vm};
use crate::program::Instr;

/// A look ahead goes no further than so many instructions.
const LOOK_AHEAD: u32 = 100_000;

impl Vm {
    /// Follows the program from the thread's place to the first event that blocks. None if that
    /// depends on what others do or on when the thread gets the CPU; [`u64::MAX`] if it will never
    /// block.
    pub(super) fn coming_burst_ns(&self, number: u32) -> Option<u64> {
        let thread = &self.threads[number as usize];
        let program = &self.code.programs[thread.program as usize];
        if !matches!(thread.stage, Stage::Fresh | Stage::Timer) {
            return None;
        }
        let (mut pc, mut phase_round, mut task_round) =
            (thread.pc, thread.phase_round, thread.task_round);
        let mut sum_ns: u64 = thread.owes_ns;
        for _ in 0..LOOK_AHEAD {
            match program.code[pc as usize] {
                Instr::Run { ns } | Instr::Work { ns } => sum_ns = sum_ns.saturating_add(ns),
                Instr::End { phase } => {
                    let phase = program.phases[phase as usize];
                    phase_round += 1;
                    if phase_round < phase.rounds {
                        pc = phase.begin;
                        continue;
                    }
                    phase_round = 0;
                }
                Instr::Round => {
                    task_round += 1;
                    if task_round < program.rounds {
                        pc = 0;
                        continue;
                    }
                }
                Instr::Sleep { ns: 0 } | Instr::Runtime { ns: 0 } => {}
                Instr::Sleep { .. }
                | Instr::Io { .. }
                | Instr::Suspend { .. }
                | Instr::Wait { .. }
                | Instr::Exit => return Some(sum_ns),
                Instr::Runtime { .. }
                | Instr::Timer { .. }
                | Instr::Lock { .. }
                | Instr::Barrier { .. }
                | Instr::SemWait { .. }
                | Instr::SuspendOnce => return None,
                Instr::Begin { .. }
                | Instr::Sched { .. }
                | Instr::Cpus { .. }
                | Instr::Group { .. }
                | Instr::Unlock { .. }
                | Instr::Signal { .. }
                | Instr::Broad { .. }
                | Instr::Resume { .. }
                | Instr::ResumeThread { .. }
                | Instr::SemPost { .. }
                | Instr::Yield
                | Instr::Fork { .. } => {}
            }
            pc += 1;
        }
        // A loop as long as this without a break: for ever, as far as anybody can tell.
        Some(u64::MAX)
    }
}
