//! Values that can be written to the files of a control group: [`Write`].

use super::cpu_list::CpuList;
use super::text::{Fault, shown};

/// Version of control groups.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// One tree for each controller; `cpu.shares`.
    V1,
    /// One tree for all controllers; `cpu.weight`.
    V2,
}

/// A value that can be written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Write {
    /// Weight as in the kernel.
    Shares(u64),
    /// Whether the group as a whole is SCHED_IDLE.
    Idle(bool),
    /// The quota and, if it changes too, the period.
    Quota {
        /// CPU time in each period, us. `None`: no limit.
        quota_us: Option<u64>,
        /// The period, us. `None`: it stays as it is.
        period_us: Option<u64>,
    },
    /// Period, us.
    Period(u64),
    /// Quota in hundredths of the period.
    QuotaPercent(u64),
    /// Unused quota that may be carried over, us.
    Burst(u64),
    /// Phase of the periods, us.
    Phase(u64),
    /// CPUs; empty: the parent's.
    Cpus(CpuList),
    /// Whether the group is frozen.
    Frozen(bool),
    /// Valid, but without effect here, for this reason.
    Noted(&'static str),
    /// The kernel's default: neither effect nor note.
    Nothing,
}

/// Reads a whole number.
pub(crate) fn whole(name: &str, value: &str) -> Result<i64, Fault> {
    value.parse().map_err(|_| {
        Fault::new(format!("`{name}` must be a whole number, found `{}`", shown(value)))
    })
}

/// Reads a whole number from `min` to `max`.
pub(crate) fn within(name: &str, value: &str, min: i64, max: i64) -> Result<i64, Fault> {
    let number = whole(name, value)?;
    if (min..=max).contains(&number) {
        return Ok(number);
    }
    let range =
        if max == i64::MAX { format!("at least {min}") } else { format!("from {min} to {max}") };
    Err(Fault::new(format!("`{name}` must be {range}, found {number}")))
}
