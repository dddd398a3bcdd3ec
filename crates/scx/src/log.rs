//! A log of a policy's actions, reported as they happen.

use crate::counts::Counts;
use crate::end::End;
use crate::image::Image;
use crate::maps::MapCounts;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// A callback that has returned, or something that the policy wrote.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Time, ns.
    pub at_ns: u64,
    /// The acting CPU.
    pub cpu: u32,
    /// Name of the callback; `timer`, `printk` or `ringbuf`.
    pub name: &'static str,
    /// Depth of nesting in other callbacks.
    pub depth: usize,
    /// Process id of the task that it refers to. `None`: it refers to no task.
    pub pid: Option<u32>,
    /// Its arguments, or the text written.
    pub text: String,
    /// Its result, if it returns one.
    pub result: Option<i64>,
    /// Number of instructions executed.
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

/// Receiver of a policy's log.
pub trait Witness: Send {
    /// Receives an entry.
    fn entry(&mut self, entry: &Entry);

    /// Called when the policy has ended.
    fn ended(&mut self, end: &End) {
        let _ = end;
    }

    /// Called when the run is over.
    fn finished(&mut self, summary: &Summary<'_>) {
        let _ = summary;
    }
}

/// A witness that a scheduler reports to.
#[derive(Clone)]
pub struct Log(Arc<Mutex<dyn Witness>>);

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Log")
    }
}

impl Log {
    /// Makes a log that reports to `witness`.
    pub fn new(witness: Arc<Mutex<dyn Witness>>) -> Log {
        Log(witness)
    }

    /// Calls the witness.
    pub(crate) fn notify(&self, notify: impl FnOnce(&mut dyn Witness)) {
        notify(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
