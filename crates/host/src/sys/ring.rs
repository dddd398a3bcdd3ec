//! `perf_event_open(2)` for a thread's own context switches, and their ring buffer.
//!
//! The ring is shared with the kernel: the kernel writes records and moves `data_head`, the thread
//! reads them and moves `data_tail`. One thread owns one ring and drains it itself.

use crate::switches::{Switch, parse};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// Offsets in the first page of the ring.
const DATA_HEAD: usize = 1024;
const DATA_TAIL: usize = 1032;

/// The kernel's `struct perf_event_attr` up to `clockid` (96 bytes).
#[repr(C)]
#[derive(Default)]
struct EventAttr {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_watermark: u32,
    bp_type: u32,
    config1: u64,
    config2: u64,
    branch_sample_type: u64,
    sample_regs_user: u64,
    sample_stack_user: u32,
    clockid: i32,
}

const SIZE: u32 = size_of::<EventAttr>() as u32;
const _: () = assert!(SIZE == 96);

/// PERF_FLAG_FD_CLOEXEC.
const FLAG_CLOEXEC: libc::c_ulong = 8;

const TYPE_SOFTWARE: u32 = 1;
const COUNT_SW_CONTEXT_SWITCHES: u64 = 3;
const COUNT_SW_DUMMY: u64 = 9;
const SAMPLE_TID: u64 = 1 << 1;
const SAMPLE_TIME: u64 = 1 << 2;
const SAMPLE_CPU: u64 = 1 << 7;

const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HV: u64 = 1 << 6;
const WATERMARK: u64 = 1 << 14;
const SAMPLE_ID_ALL: u64 = 1 << 18;
const USE_CLOCKID: u64 = 1 << 25;
const CONTEXT_SWITCH: u64 = 1 << 26;

/// Calls `perf_event_open(2)`: `thread` 0 is the calling one, -1 is all; `cpu` -1 is any.
fn open(attr: &EventAttr, thread: i32, cpu: i32) -> io::Result<OwnedFd> {
    let flags = FLAG_CLOEXEC;
    // SAFETY: the kernel reads `size` bytes at the pointer. They belong to `attr`, which is alive
    // until the call is over.
    let fd = unsafe {
        libc::syscall(libc::SYS_perf_event_open, std::ptr::from_ref(attr), thread, cpu, -1, flags)
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just given this descriptor to this process; no other object owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// Set of context switches that are counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CounterScope {
    /// Switches of the calling thread that user space observes.
    OwnWithoutKernel,
    /// Switches of the calling thread.
    Own,
    /// Switches of all tasks on a CPU.
    OnCpu(u32),
}

/// Counts context switches by the kernel's software counter while `during` runs.
///
/// # Errors
/// The kernel's: EACCES or EPERM if counting is forbidden.
pub fn count_switches(whose: CounterScope, during: impl FnOnce()) -> io::Result<u64> {
    let flags =
        if whose == CounterScope::OwnWithoutKernel { EXCLUDE_KERNEL | EXCLUDE_HV } else { 0 };
    let attr = EventAttr {
        kind: TYPE_SOFTWARE,
        size: SIZE,
        config: COUNT_SW_CONTEXT_SWITCHES,
        flags,
        ..EventAttr::default()
    };
    let event = match whose {
        CounterScope::OnCpu(cpu) => open(&attr, -1, cpu as i32)?,
        _ => open(&attr, 0, -1)?,
    };
    during();
    let mut count = [0; 8];
    File::from(event).read_exact(&mut count)?;
    Ok(u64::from_ne_bytes(count))
}

/// The context switches of the thread that opened it, as the kernel records them.
#[derive(Debug)]
pub struct SwitchRing {
    first_page: NonNull<u8>,
    /// The size of a page of memory.
    page: usize,
    /// Bytes of data behind the first page; a power of two.
    data: usize,
    /// Position up to which the ring was read.
    tail: u64,
    /// The records being read, in one piece.
    piece: Vec<u8>,
    /// Keeps the event open; closed with the ring.
    _event: OwnedFd,
}

impl SwitchRing {
    /// Begins to record the switches of the calling thread, in `pages` pages of memory, a power of
    /// two. Only this thread may use the ring.
    ///
    /// # Errors
    /// The kernel's: EACCES or EPERM if `kernel.perf_event_paranoid` forbids it, EPERM also if too
    /// much memory would be locked.
    pub fn open(pages: usize) -> io::Result<SwitchRing> {
        SwitchRing::of(0, -1, pages)
    }

    /// Begins to record the switches of all threads on a CPU. Only this thread may use the ring.
    ///
    /// # Errors The kernel's: EACCES or EPERM without CAP_PERFMON if `kernel.perf_event_paranoid`
    /// is above 0.
    pub fn open_cpu(cpu: u32, pages: usize) -> io::Result<SwitchRing> {
        SwitchRing::of(-1, cpu as i32, pages)
    }

    fn of(thread: i32, cpu: i32, pages: usize) -> io::Result<SwitchRing> {
        assert!(pages.is_power_of_two(), "the kernel requires a power of two");
        let attr = EventAttr {
            kind: TYPE_SOFTWARE,
            size: SIZE,
            config: COUNT_SW_DUMMY,
            sample_type: SAMPLE_TID | SAMPLE_TIME | SAMPLE_CPU,
            flags: if thread == 0 { EXCLUDE_KERNEL | EXCLUDE_HV } else { 0 }
                | WATERMARK
                | SAMPLE_ID_ALL
                | USE_CLOCKID
                | CONTEXT_SWITCH,
            // No thread waits for wakeups.
            wakeup_watermark: u32::MAX,
            clockid: libc::CLOCK_MONOTONIC,
            ..EventAttr::default()
        };
        let event = open(&attr, thread, cpu)?;
        let page = rustix::param::page_size();
        let data = pages * page;
        // SAFETY: a new mapping at an address that the kernel chooses touches no memory of ours.
        let mapped = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                page + data,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                event.as_raw_fd(),
                0,
            )
        };
        if mapped == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let first_page = NonNull::new(mapped.cast()).expect("the kernel maps nothing at 0");
        Ok(SwitchRing {
            first_page,
            page,
            data,
            tail: 0,
            piece: Vec::with_capacity(data),
            _event: event,
        })
    }

    /// Returns the position up to which the kernel has written. If it has changed since the last
    /// call, there are records to [`drain`](SwitchRing::drain).
    #[inline]
    pub fn head(&self) -> u64 {
        // SAFETY: the first page is mapped as long as `self` lives, the place is aligned to 8, and
        // kernel and thread both access it as one 64-bit word.
        let head = unsafe { &*self.first_page.as_ptr().add(DATA_HEAD).cast::<AtomicU64>() };
        // Makes visible what was written before the head was moved.
        head.load(Ordering::Acquire)
    }

    /// Returns the position up to which the ring was read.
    #[inline]
    pub fn seen(&self) -> u64 {
        self.tail
    }

    /// Passes all new records to `visit`, the oldest first, each with its thread's number.
    pub fn drain(&mut self, visit: impl FnMut(u32, Switch)) {
        let head = self.head();
        let length = (head - self.tail) as usize;
        if length == 0 {
            return;
        }
        let from = self.tail as usize & (self.data - 1);
        let first = length.min(self.data - from);
        self.piece.clear();
        // SAFETY: `from + first` and `length - first` are at most `data`, so both ranges lie in the
        // mapped pages behind the first. The kernel does not write to what lies between tail and
        // head: it stops before the tail, which is moved only below.
        unsafe {
            let data = self.first_page.as_ptr().add(self.page);
            self.piece.extend_from_slice(std::slice::from_raw_parts(data.add(from), first));
            self.piece.extend_from_slice(std::slice::from_raw_parts(data, length - first));
        }
        self.tail = head;
        // SAFETY: as in `head`; the mapping is writable.
        let tail = unsafe { &*self.first_page.as_ptr().add(DATA_TAIL).cast::<AtomicU64>() };
        // The reading is complete before the kernel may write there.
        tail.store(head, Ordering::Release);
        parse(&self.piece, visit);
    }
}

impl Drop for SwitchRing {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, of this length, and no reference into it outlives a call.
        unsafe { libc::munmap(self.first_page.as_ptr().cast(), self.page + self.data) };
    }
}
