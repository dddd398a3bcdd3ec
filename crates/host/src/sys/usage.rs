//! `getrusage(2)` of one thread, and whether memory may be locked.

use std::io;

/// Number of times a thread gave up its CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Switches {
    /// Number of switches by blocking.
    pub voluntary: u64,
    /// Number of switches by preemption.
    pub involuntary: u64,
}

/// Returns the numbers of the calling thread so far.
pub fn switches_of_this_thread() -> Switches {
    // SAFETY: all fields of `rusage` are integers, for which zeros are values.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel fills the `rusage` that the pointer names; with this target and a valid
    // pointer the call cannot fail.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    Switches { voluntary: usage.ru_nvcsw as u64, involuntary: usage.ru_nivcsw as u64 }
}

/// Locks and unlocks a page of memory, to find out whether that is permitted.
///
/// # Errors
/// The kernel's error.
pub fn lock_a_page() -> io::Result<()> {
    let page = vec![1_u8; 4096];
    // SAFETY: the range is that of `page`, which lives until it is unlocked; locking changes
    // nothing but where the memory may be.
    unsafe {
        rustix::mm::mlock(page.as_ptr().cast_mut().cast(), page.len())?;
        rustix::mm::munlock(page.as_ptr().cast_mut().cast(), page.len())?;
    }
    Ok(())
}

/// Returns the number of the parent process.
pub fn parent_process() -> u32 {
    // SAFETY: the call has no arguments and cannot fail.
    unsafe { libc::getppid() as u32 }
}
