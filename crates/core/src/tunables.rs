//! The tunables of a scheduler, under the kernel's own names.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// One tunable and its current value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tunable {
    /// The kernel's name, e.g. `sched_latency_ns`.
    pub name: Cow<'static, str>,
    /// Current value (scaled by the number of CPUs, where the release does that).
    pub value: i64,
    /// Smallest and largest value that the kernel accepts.
    pub range: (i64, i64),
    /// Its effect, in one line.
    pub help: &'static str,
}

/// Reason for which a tunable cannot be set.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TunableError {
    /// This scheduler has no tunable of that name.
    Unknown {
        /// The names that it has.
        known: Vec<Cow<'static, str>>,
    },
    /// The value is outside the range that the kernel accepts.
    Range {
        /// Smallest value accepted.
        min: i64,
        /// Largest value accepted.
        max: i64,
    },
    /// The kernel refuses the value for the reason given.
    Refused(String),
}

impl fmt::Display for TunableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TunableError::Unknown { .. } => f.write_str("there is no such tunable"),
            TunableError::Range { min, max } => write!(f, "the kernel takes {min} to {max}"),
            TunableError::Refused(why) => f.write_str(why),
        }
    }
}

impl core::error::Error for TunableError {}

impl Tunable {
    /// Checks that the kernel would accept `value` for this tunable.
    pub fn check(&self, value: i64) -> Result<(), TunableError> {
        let (min, max) = self.range;
        if (min..=max).contains(&value) { Ok(()) } else { Err(TunableError::Range { min, max }) }
    }
}

/// Finds `name` among `tunables` and checks `value` against its range: the first half of every
/// [`Command::SetTunable`](crate::Command::SetTunable).
pub fn check(tunables: &[Tunable], name: &str, value: i64) -> Result<(), TunableError> {
    match tunables.iter().find(|tunable| tunable.name == name) {
        Some(tunable) => tunable.check(value),
        None => Err(TunableError::Unknown {
            known: tunables.iter().map(|tunable| tunable.name.clone()).collect(),
        }),
    }
}
