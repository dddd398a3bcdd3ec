//! State of a user half while its policy runs.

use super::plan::UserHalf;
use crate::image::{Image, PROGRAM_ARGS_MAX};
use crate::memory::Memory;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// State of a user half, and the records that it has written and the policy has not read yet.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct State {
    pub(super) half: Option<Arc<UserHalf>>,
    /// Time at which each action is due, ns. `None`: never again.
    pub(super) due: Vec<Option<u64>>,
    /// Time at which the policy was attached, ns.
    pub(super) began_ns: u64,
    /// The region of programs' arguments.
    pub(super) args: u32,
    /// The region of the record that is being read.
    pub(crate) record: u32,
    /// Records written, by map.
    pub(crate) records: BTreeMap<usize, VecDeque<Vec<u8>>>,
    /// Whether they are being read.
    pub(crate) is_draining: bool,
}

impl State {
    /// Makes the state before anything is done.
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
