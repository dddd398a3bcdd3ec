//! The kernel's error numbers that schedulers return.

use alloc::string::String;
use core::fmt;

/// Reason for which a system call, or a write to a control file, fails.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Errno {
    /// `EPERM`: not permitted. For instance, a deadline task must be allowed on all CPUs.
    NotPermitted,
    /// `ENOENT`: there is no such group.
    NotFound,
    /// `EAGAIN`: a deadline task cannot fork.
    Again,
    /// `EBUSY`: the bandwidth is used up, or the last CPU would go offline.
    Busy,
    /// `EINVAL`: the parameters are invalid.
    Invalid,
    /// `EOPNOTSUPP`: this release does not have the feature.
    NotSupported,
}

impl Errno {
    /// Returns the error's name in C, e.g. `EBUSY`.
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

    /// Returns the error's number on Linux.
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

    /// Makes a refusal of the error and a sentence that explains it.
    pub fn because(self, message: impl Into<String>) -> Refused {
        Refused { errno: self, message: message.into() }
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A refusal: the kernel's error number and a sentence for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused {
    /// The kernel's error number.
    pub errno: Errno,
    /// Explanation of what is wrong and, where it helps, of what would be right.
    pub message: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl core::error::Error for Refused {}
