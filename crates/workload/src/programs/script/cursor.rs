//! Position of a thread in its script: [`Cursor`].

use super::log::Log;
use super::{Instr, Script};

/// Position of a thread in its script.
#[derive(Clone, Copy, Debug)]
pub(in crate::programs) struct Cursor {
    pub script: u32,
    /// Number of the thread among the threads of its script.
    pub instance: u32,
    /// Next instruction.
    pub pc: u32,
    /// Instruction of the current step.
    pub at: u32,
    /// Completed rounds of the current phase, and of the script.
    pub phase_round: u64,
    pub task_round: u64,
    /// Completed rounds of all phases that have their own loop.
    pub loop_rounds: u64,
    /// Attributes, CPUs and group in force, by index in [`Scripts`](super::Scripts).
    pub attr: u32,
    pub cpus: u32,
    pub group: u32,
    /// Index of its first own timer among all timers.
    pub own_timers: u32,
}

impl Cursor {
    /// Returns the beginning of `script`, which has this number.
    pub fn new(number: u32, instance: u32, script: &Script, own_timers: u32) -> Cursor {
        Cursor {
            script: number,
            instance,
            pc: 0,
            at: 0,
            phase_round: 0,
            task_round: 0,
            loop_rounds: 0,
            attr: script.attr,
            cpus: script.cpus,
            group: script.group,
            own_timers,
        }
    }

    /// Makes the next instruction the current one.
    #[inline]
    pub fn advance(&mut self) {
        self.at = self.pc;
        self.pc += 1;
    }

    /// Advances to the first instruction that is more than a marker. `passes_over`: also skips
    /// changes of attributes.
    #[inline]
    pub fn skip_markers(
        &mut self,
        now_ns: u64,
        number: u32,
        script: &Script,
        passes_over: bool,
        log: &mut Option<Log>,
    ) {
        loop {
            let in_force = match script.code[self.pc as usize] {
                Instr::Begin { .. } => {
                    if let Some(log) = log {
                        log.begin(number, now_ns);
                    }
                    true
                }
                Instr::End { phase } => {
                    if let Some(log) = log {
                        log.end(number, phase, now_ns);
                    }
                    let phase = &script.phases[phase as usize];
                    self.phase_round += 1;
                    self.loop_rounds += u64::from(phase.rounds != 1);
                    if self.phase_round < phase.rounds {
                        self.pc = phase.begin;
                        continue;
                    }
                    self.phase_round = 0;
                    true
                }
                Instr::Round => {
                    self.task_round += 1;
                    if self.task_round < script.rounds {
                        self.pc = script.again;
                        continue;
                    }
                    true
                }
                Instr::Sched { first, later } => {
                    let attr = if self.task_round == 0 { first } else { later };
                    attr == self.attr || passes_over
                }
                Instr::Cpus { set } => set == self.cpus,
                Instr::Group { group } => group == self.group,
                _ => false,
            };
            if !in_force {
                return;
            }
            self.pc += 1;
        }
    }
}
