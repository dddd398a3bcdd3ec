//! System calls that no library wraps safely, each behind a safe interface. The only place in the
//! project with unsafe code; every block states why it is sound.

#[allow(unsafe_code)]
mod attr;
#[allow(unsafe_code)]
mod ring;
#[allow(unsafe_code)]
mod usage;

pub use attr::{base_slice_ns, get_attr, set_attr};
pub use ring::{CounterScope, SwitchRing, count_switches};
pub use usage::{lock_a_page, parent_process, switches_of_this_thread};

use rustix::time::{ClockId, Timespec, clock_gettime};
use std::io;

/// Returns CLOCK_MONOTONIC, ns. This is not a system call: the vDSO answers.
#[inline]
pub fn now_ns() -> u64 {
    ns_of(clock_gettime(ClockId::Monotonic))
}

/// Returns the CPU time of the calling thread, ns. It makes a system call by which the kernel
/// charges the thread.
pub fn thread_cpu_ns() -> u64 {
    ns_of(clock_gettime(ClockId::ThreadCPUTime))
}

#[inline]
fn ns_of(time: Timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Returns a point in time in the kernel's form.
pub fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as _ }
}

/// Sleeps until CLOCK_MONOTONIC shows `until_ns`.
pub fn sleep_until(until_ns: u64) {
    let until = timespec(until_ns);
    // Whatever interrupts the sleep, the point in time stays the same.
    while rustix::thread::clock_nanosleep_absolute(ClockId::Monotonic, &until)
        == Err(rustix::io::Errno::INTR)
    {}
}

/// Returns the number of the calling thread.
pub fn thread_id() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

/// Binds the calling thread to these CPUs.
///
/// # Errors
/// The kernel's: none of the CPUs exists, or may be used.
pub fn set_affinity(cpus: &[u32]) -> io::Result<()> {
    let mut set = rustix::thread::CpuSet::new();
    for &cpu in cpus {
        if cpu as usize >= rustix::thread::CpuSet::MAX_CPU {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        set.set(cpu as usize);
    }
    Ok(rustix::thread::sched_setaffinity(None, &set)?)
}

/// Returns the CPUs that the calling thread may use.
///
/// # Errors
/// The kernel's error.
pub fn affinity() -> io::Result<Vec<u32>> {
    let set = rustix::thread::sched_getaffinity(None)?;
    let all = 0..rustix::thread::CpuSet::MAX_CPU;
    Ok(all.filter(|&cpu| set.is_set(cpu)).map(|cpu| cpu as u32).collect())
}
