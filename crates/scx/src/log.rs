//! What a policy did, told as it happens: to whoever wants to write it down.

use crate::counts::Counts;
use crate::end::End;
use crate::image::Image;
use crate::maps::MapCounts;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// A callback that has returned, or something that the policy wrote.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// When, ns.
    pub at_ns: u64,
    /// On which CPU.
    pub cpu: u32,
    /// The callback, `timer`, `printk` or `ringbuf`.
    pub name: &'static str,
    /// How deep it is nested in others.
    pub depth: usize,
    /// The id of the process that it is about; none: of no task.
    pub pid: Option<u32>,
    /// Its arguments, or what was written.
    pub text: String,
    /// What it returned, if it returns something.
    pub result: Option<i64>,
    /// Instructions that it took.
    pub insns: u64,
}

/// Summary of a run, for a witness.
#[derive(Debug)]
pub struct Summary<'a> {
    /// The policy's image.
    pub image: &'a Image,
    /// Counts of its calls.
    pub counts: &'a Counts,
    /// Uses of each map, by name.
    pub maps: Vec<(&'a str, MapCounts)>,
}

/// Receiver of log entries.
pub trait Witness: Send {
    /// Something happened.
    fn entry(&mut self, entry: &Entry);

    /// The policy has ended.
    fn ended(&mut self, end: &End) {
        let _ = end;
    }

    /// The run is over.
    fn finished(&mut self, summary: &Summary<'_>) {
        let _ = summary;
    }
}

/// A witness, as a world has it.
#[derive(Clone)]
pub struct Log(Arc<Mutex<dyn Witness>>);

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Log")
    }
}

impl Log {
    /// Tells `witness`.
    pub fn new(witness: Arc<Mutex<dyn Witness>>) -> Log {
        Log(witness)
    }

    /// Calls the witness.
    pub(crate) fn tell(&self, tell: impl FnOnce(&mut dyn Witness)) {
        tell(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
