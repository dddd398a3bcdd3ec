//! State of a user half while its policy runs.

use super::plan::UserHalf;
use crate::image::{Image, PROGRAM_ARGS_MAX};
use crate::memory::Memory;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// What a user half has to do, and what it has written that nobody has read yet.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct State {
    pub(super) half: Option<Arc<UserHalf>>,
    /// Timing each action is due, ns; none: never again.
    pub(super) due: Vec<Option<u64>>,
    /// Timing the policy was attached, ns.
    pub(super) began_ns: u64,
    /// The region of what programs are given.
    pub(super) args: u32,
    /// The region of the record that is being read.
    pub(crate) record: u32,
    /// Records that were written, by map.
    pub(crate) records: BTreeMap<usize, VecDeque<Vec<u8>>>,
    /// Whether they are being read.
    pub(crate) is_draining: bool,
}

impl State {
    /// Nothing is done yet.
    pub(crate) fn new(image: &Image, memory: &mut Memory) -> State {
        let half = image.user.clone();
        if half.is_none() {
            return State::default();
        }
        let args = memory.add("arguments of programs", vec![0; 4 * PROGRAM_ARGS_MAX], true);
        let record = memory.add("a record of user space", vec![], false);
        State { half, args, record, ..State::default() }
    }
}
