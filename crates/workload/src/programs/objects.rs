//! Objects that programs share: [`Objects`].

use super::barrier::{Barrier, BarrierId};
use super::blocked::Blocked;
use super::channel::{Capacity, Channel, ChannelId};
use super::device::{CacheId, Disk, DiskId, Log, LogId, PageCache};
use super::mutex::{Mutex, MutexId, MutexKind};
use super::profile::Profile;
use super::semaphore::{Semaphore, SemaphoreId, SemaphoreKind};
use super::timer::{Timer, TimerId};
use super::wait_queue::{Condition, ConditionId, Latch, LatchId, Suspended, SuspensionId};

/// Objects that programs share.
#[derive(Clone, Debug)]
pub struct Objects {
    pub(super) profile: Profile,
    pub(super) channels: Vec<Channel>,
    pub(super) semaphores: Vec<Semaphore>,
    pub(super) mutexes: Vec<Mutex>,
    /// Whether any mutex inherits priority.
    pub(super) inherits: bool,
    pub(super) conditions: Vec<Condition>,
    pub(super) barriers: Vec<Barrier>,
    pub(super) latches: Vec<Latch>,
    pub(super) suspensions: Vec<Suspended>,
    pub(super) timers: Vec<Timer>,
    pub(super) disks: Vec<Disk>,
    pub(super) logs: Vec<Log>,
    pub(super) caches: Vec<PageCache>,
}

/// Adds an object and returns its number.
fn add<T>(list: &mut Vec<T>, object: T) -> u32 {
    list.push(object);
    list.len() as u32 - 1
}

impl Objects {
    pub(super) fn new(profile: Profile) -> Objects {
        Objects {
            profile,
            channels: vec![],
            semaphores: vec![],
            mutexes: vec![],
            inherits: false,
            conditions: vec![],
            barriers: vec![],
            latches: vec![],
            suspensions: vec![],
            timers: vec![],
            disks: vec![],
            logs: vec![],
            caches: vec![],
        }
    }

    /// Creates a channel with this capacity.
    pub fn channel(&mut self, capacity: Capacity) -> ChannelId {
        ChannelId(add(&mut self.channels, Channel::new(capacity)))
    }

    /// Creates a pipe with the capacity of the release.
    pub fn pipe(&mut self) -> ChannelId {
        self.channel(self.profile.pipe)
    }

    /// Creates one direction of a socket pair with the capacity of the release.
    pub fn socket(&mut self) -> ChannelId {
        self.channel(self.profile.socket)
    }

    /// Creates a semaphore with the value `count`.
    pub fn semaphore(&mut self, kind: SemaphoreKind, count: u64) -> SemaphoreId {
        SemaphoreId(add(&mut self.semaphores, Semaphore { kind, count, ..Semaphore::default() }))
    }

    /// Creates a free mutex.
    pub fn mutex(&mut self, kind: MutexKind) -> MutexId {
        self.inherits |= kind == MutexKind::Inherit;
        MutexId(add(&mut self.mutexes, Mutex::new(kind)))
    }

    /// Creates a condition variable.
    pub fn condition(&mut self) -> ConditionId {
        ConditionId(add(&mut self.conditions, Condition::new()))
    }

    /// Creates a barrier at which `needed` tasks must arrive, at least 1.
    pub fn barrier(&mut self, needed: usize) -> BarrierId {
        BarrierId(add(&mut self.barriers, Barrier { needed, ..Barrier::default() }))
    }

    /// Creates a closed latch.
    pub fn latch(&mut self) -> LatchId {
        LatchId(add(&mut self.latches, Latch::default()))
    }

    /// Creates a name under which tasks can be suspended.
    pub fn suspension(&mut self) -> SuspensionId {
        SuspensionId(add(&mut self.suspensions, Suspended::default()))
    }

    /// Creates a timer.
    pub fn timer(&mut self) -> TimerId {
        TimerId(add(&mut self.timers, Timer::default()))
    }

    /// Creates `count` timers and returns the number of the first.
    pub(super) fn add_timers(&mut self, count: u32) -> u32 {
        let first = self.timers.len();
        self.timers.resize(first + count as usize, Timer::default());
        first as u32
    }

    /// Creates an idle disk.
    pub fn disk(&mut self) -> DiskId {
        DiskId(add(&mut self.disks, Disk::default()))
    }

    /// Creates a log.
    pub fn log(&mut self) -> LogId {
        LogId(add(&mut self.logs, Log::default()))
    }

    /// Creates a page cache of which `dirty_limit_kib` may be dirty, with a disk that takes
    /// `chunk_ns` per [`CHUNK_KIB`](super::CHUNK_KIB).
    pub fn page_cache(&mut self, dirty_limit_kib: u64, chunk_ns: u64) -> CacheId {
        CacheId(add(&mut self.caches, PageCache::new(dirty_limit_kib, chunk_ns)))
    }

    /// Removes `task`, which was killed while it waited for `blocked`, from wait lists. (Tasks that
    /// wait for a mutex, or are suspended, are skipped later.)
    pub(super) fn forget(&mut self, task: u32, blocked: Blocked) {
        let others = |&other: &u32| other != task;
        match blocked {
            Blocked::Condition(id) => self.conditions[id as usize].retain(others),
            Blocked::Barrier(id) => self.barriers[id as usize].come.retain(others),
            Blocked::Semaphore(id) => self.semaphores[id as usize].waiters.retain(others),
            Blocked::Latch(id) => self.latches[id as usize].waiters.retain(others),
            Blocked::Read(id) => self.channels[id as usize].readers.retain(others),
            Blocked::Write(id) => self.channels[id as usize].writers.retain(others),
            Blocked::Poll(id) => self.channels[id as usize].pollers.retain(others),
            Blocked::No | Blocked::Mutex(_) | Blocked::Suspended | Blocked::Child => {}
        }
    }
}
