//! `sched_setattr(2)` and `sched_getattr(2)`, by number: neither the C library nor rustix has them.

use schedlab_core::SchedAttr;
use std::io;

/// The kernel's `struct sched_attr` in its first version, 48 bytes: sufficient here.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct KernelAttr {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime_ns: u64,
    deadline_ns: u64,
    period_ns: u64,
}

const SIZE: u32 = size_of::<KernelAttr>() as u32;
const _: () = assert!(SIZE == 48);

/// SCHED_FLAG_RESET_ON_FORK: children begin as ordinary tasks of nice value 0.
const RESET_ON_FORK: u64 = 1;

/// Scheduling attributes of a thread as the kernel reports them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Attr {
    /// The kernel's number of the policy.
    pub policy: u32,
    /// Nice value.
    pub nice: i32,
    /// Real-time priority.
    pub priority: u32,
    /// Budget of a deadline task, slice of a fair one (6.12 and later; earlier kernels report 0),
    /// ns.
    pub runtime_ns: u64,
}

/// Sets policy, priority, and slice or deadline parameters of the calling thread. `resets`: threads
/// that it creates begin as ordinary ones.
///
/// # Errors
/// The kernel's: EPERM for a missing right, EBUSY if deadline tasks do not fit, EINVAL.
pub fn set_attr(attr: &SchedAttr, resets: bool) -> io::Result<()> {
    let wanted = KernelAttr {
        size: SIZE,
        policy: attr.policy.number(),
        flags: if resets { RESET_ON_FORK } else { 0 },
        nice: attr.nice,
        priority: attr.rt_priority,
        runtime_ns: attr.runtime_ns,
        deadline_ns: attr.deadline_ns,
        period_ns: attr.period_ns,
    };
    // SAFETY: the kernel reads `size` bytes at the pointer. They belong to `wanted`, which is alive
    // until the call is over. Thread 0 is the calling one.
    let failed = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const wanted, 0) };
    if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Reads the scheduling attributes of the calling thread.
///
/// # Errors
/// The kernel's error.
pub fn get_attr() -> io::Result<Attr> {
    let mut is = KernelAttr::default();
    // SAFETY: the kernel writes at most the given number of bytes to the pointer, which is the size
    // of `is`; every pattern of bits is a value of its fields.
    let failed = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut is, SIZE, 0) };
    if failed != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Attr { policy: is.policy, nice: is.nice, priority: is.priority, runtime_ns: is.runtime_ns })
}

/// Returns the kernel's base slice: the slice of an ordinary thread that has not set one, ns.
/// `None`: the kernel does not report it (before 6.12).
pub fn base_slice_ns() -> Option<u64> {
    let attr = get_attr().ok()?;
    let is_fair = [libc::SCHED_OTHER, libc::SCHED_BATCH, libc::SCHED_IDLE]
        .iter()
        .any(|&policy| policy as u32 == attr.policy);
    Some(attr.runtime_ns).filter(|&slice_ns| is_fair && slice_ns > 0)
}
