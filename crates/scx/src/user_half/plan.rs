//! A script that has been resolved for an image: the remaining steps, and the bytes they write.

use super::eval::{Context, Expr, Place};
use super::script::Timing;

/// A write to memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Put {
    Number { offset: u32, size: u32, bits: Option<(u32, u32)>, value: Expr },
    Bytes { offset: u32, bytes: Vec<u8> },
}

/// Writes to one place in memory, and the size of that place in bytes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Puts {
    pub(super) size: u32,
    pub(super) puts: Vec<Put>,
}

/// An operation of a script.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Operation {
    Set { name: String, place: Place, puts: Puts },
    Write { map: usize, key: Puts, value: Puts, cpu: Option<u32> },
    Push { map: usize, value: Puts },
    Delete { map: usize, key: Puts },
    Send { map: usize, record: Puts },
    Call { name: String, entry: usize, args: Puts },
    Read { text: String, value: Expr },
    ReadMap { map: usize },
}

/// An operation with its place in the script and the number of rounds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Job {
    pub(super) place: String,
    pub(super) each: Option<Expr>,
    pub(super) operation: Operation,
}

/// Operations that run at certain times.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct TimedAction {
    pub(super) when: Timing,
    pub(super) only_if: Option<Expr>,
    pub(super) jobs: Vec<Job>,
}

/// A script that has been prepared for an image: the operations left to do when the policy begins.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct UserHalf {
    pub(super) cpu: u32,
    pub(super) before: Vec<Job>,
    pub(super) timed: Vec<TimedAction>,
}

impl UserHalf {
    /// Whether this program is called before the policy is attached.
    pub fn calls(&self, program: &str) -> bool {
        self.before
            .iter()
            .any(|job| matches!(&job.operation, Operation::Call { name, .. } if name == program))
    }
}

impl Puts {
    /// Writes everything to `bytes`. Values that are too large are truncated, as in C.
    pub(super) fn write(&self, bytes: &mut [u8], context: &dyn Context) {
        for put in &self.puts {
            match put {
                Put::Bytes { offset, bytes: new } => {
                    let at = *offset as usize;
                    if let Some(place) = bytes.get_mut(at..at + new.len()) {
                        place.copy_from_slice(new);
                    }
                }
                Put::Number { offset, size, bits, value } => {
                    let value = value.value(context) as u64;
                    let (at, size) = (*offset as usize, *size as usize);
                    let Some(place) = bytes.get_mut(at..at + size) else { continue };
                    let mut word = [0; 8];
                    word[..size].copy_from_slice(place);
                    let old = u64::from_le_bytes(word);
                    let new = match bits {
                        Some((shift, bits)) => {
                            let mask = (u64::MAX >> (64 - bits.clamp(&1, &64))) << shift.min(&63);
                            old & !mask | value << shift.min(&63) & mask
                        }
                        None => value,
                    };
                    place.copy_from_slice(&new.to_le_bytes()[..size]);
                }
            }
        }
    }

    /// Returns the bytes, zero where nothing is written.
    pub(super) fn bytes(&self, context: &dyn Context) -> Vec<u8> {
        let mut bytes = vec![0; self.size as usize];
        self.write(&mut bytes, context);
        bytes
    }
}
