//! CPU time that a thread will use before it blocks, for clairvoyant schedulers.

use super::kernel::Kernel;
use super::script::Instr;
use super::task::{Stage, Timing};

/// Maximum number of instructions of a look-ahead.
const LOOK_AHEAD: u32 = 100_000;

impl Kernel {
    /// Follows a thread's script from its current instruction to the first event that blocks.
    /// `None`: it executes no script, or the result depends on other threads or on when the thread
    /// gets the CPU. [`u64::MAX`]: it will never block.
    pub(super) fn next_script_burst_ns(&self, number: u32) -> Option<u64> {
        let task = &self.tasks[number as usize];
        let cursor = task.script()?;
        let script = &self.scripts.scripts[cursor.script as usize];
        let is_fresh = matches!(task.timing, Timing::No | Timing::Timer);
        if !is_fresh || !matches!(task.stage, Stage::Between) {
            return None;
        }
        let (mut pc, mut phase_round, mut task_round) =
            (cursor.pc, cursor.phase_round, cursor.task_round);
        let mut sum_ns: u64 = task.owes_ns;
        for _ in 0..LOOK_AHEAD {
            match script.code[pc as usize] {
                Instr::Run { ns } | Instr::RunReading { ns, .. } | Instr::Work { ns } => {
                    sum_ns = sum_ns.saturating_add(ns);
                }
                Instr::End { phase } => {
                    let phase = script.phases[phase as usize];
                    phase_round += 1;
                    if phase_round < phase.rounds {
                        pc = phase.begin;
                        continue;
                    }
                    phase_round = 0;
                }
                Instr::Round => {
                    task_round += 1;
                    if task_round < script.rounds {
                        pc = script.again;
                        continue;
                    }
                }
                Instr::Sleep { ns: 0 } | Instr::Runtime { ns: 0 } => {}
                Instr::Sleep { .. }
                | Instr::Until { .. }
                | Instr::Io { .. }
                | Instr::Suspend { .. }
                | Instr::Wait { .. }
                | Instr::Exit => return Some(sum_ns),
                Instr::Runtime { .. }
                | Instr::Timer { .. }
                | Instr::Lock { .. }
                | Instr::Barrier { .. }
                | Instr::SemWait { .. }
                | Instr::Park => return None,
                Instr::Begin { .. }
                | Instr::Sched { .. }
                | Instr::Cpus { .. }
                | Instr::Group { .. }
                | Instr::Unlock { .. }
                | Instr::Signal { .. }
                | Instr::Broad { .. }
                | Instr::Resume { .. }
                | Instr::Unpark { .. }
                | Instr::SemPost { .. }
                | Instr::Yield
                | Instr::Exec
                | Instr::Fork { .. } => {}
            }
            pc += 1;
        }
        // A loop of this length without a break counts as endless.
        Some(u64::MAX)
    }
}
