//! The kernel's error numbers, as far as schedulers return them.

use alloc::string::String;
use core::fmt;

/// Why a system call, or a write to a control file, fails.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Errno {
    /// `EPERM`: not permitted. A deadline task must be allowed on all CPUs.
    NotPermitted,
    /// `ENOENT`: there is no such group.
    NotFound,
    /// `EAGAIN`: a deadline task cannot fork.
    Again,
    /// `EBUSY`: the bandwidth is given out, or the last CPU would go off line.
    Busy,
    /// `EINVAL`: the parameters make no sense.
    Invalid,
    /// `EOPNOTSUPP`: this release has no such thing.
    NotSupported,
}

impl Errno {
    /// The error's name in C, e.g. `EBUSY`.
    pub const fn name(self) -> &'static str {
        match self {
            Errno::NotPermitted => "EPERM",
            Errno::NotFound => "ENOENT",
            Errno::Again => "EAGAIN",
            Errno::Busy => "EBUSY",
            Errno::Invalid => "EINVAL",
            Errno::NotSupported => "EOPNOTSUPP",
        }
    }

    /// The error's number on Linux.
    pub const fn number(self) -> i32 {
        match self {
            Errno::NotPermitted => 1,
            Errno::NotFound => 2,
            Errno::Again => 11,
            Errno::Busy => 16,
            Errno::Invalid => 22,
            Errno::NotSupported => 95,
        }
    }

    /// The error with a sentence about it.
    pub fn because(self, message: impl Into<String>) -> Refused {
        Refused { errno: self, message: message.into() }
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A refusal: the kernel's error number, and a sentence for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused {
    /// The kernel's error number.
    pub errno: Errno,
    /// What is wrong, and where it helps what would be right.
    pub message: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl core::error::Error for Refused {}
