//! Devices that serve requests in order of arrival: disks, the log of a database, and the page
//! cache in front of a disk.

/// A disk, by number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DiskId(pub u32);

/// A log with group commit, by number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogId(pub u32);

/// A disk: one request at a time, first come, first served. The completion time of a request is
/// known when it is made.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Disk {
    free_at_ns: u64,
}

impl Disk {
    /// Returns the completion time of a request of `service_ns` that is made now.
    pub(super) fn request(&mut self, now_ns: u64, service_ns: u64) -> u64 {
        self.free_at_ns = self.free_at_ns.max(now_ns).saturating_add(service_ns);
        self.free_at_ns
    }
}

/// A log: one write at a time. All commits during a write go into the next write.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Log {
    /// End of the last write that has begun or is planned.
    end_ns: u64,
    /// Beginning of that write: it can be joined until then.
    begin_ns: u64,
}

impl Log {
    /// Returns when a commit that is made now is on the disk, if a write takes `service_ns`.
    pub(super) fn commit(&mut self, now_ns: u64, service_ns: u64) -> u64 {
        if now_ns > self.begin_ns || self.end_ns == 0 {
            // The planned write is under way, or over.
            self.begin_ns = self.end_ns.max(now_ns);
            self.end_ns = self.begin_ns.saturating_add(service_ns);
        }
        self.end_ns
    }
}

/// A page cache, by number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CacheId(pub u32);

/// Amount that a page cache passes to its disk at a time, KiB.
pub const CHUNK_KIB: u64 = 128;

/// A page cache with its own disk. Written data is dirty until the disk has it. The disk writes
/// back whenever no task reads, starting with the first dirty chunk. A writer waits while too much
/// is dirty. A read waits for the request that is being served and for earlier reads, not for dirty
/// data.
///
/// The disk needs no separate events: its past is computed at the next request.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageCache {
    /// Time that the disk needs for a chunk, ns.
    pub(super) chunk_ns: u64,
    /// Maximum number of dirty chunks.
    pub(super) limit: u64,
    /// Number of dirty chunks.
    pub(super) dirty: u64,
    /// Time since which there are dirty chunks.
    dirty_since_ns: u64,
    /// Time at which the chunk that is being written back is on the disk.
    writing_until_ns: Option<u64>,
    /// Time at which the disk has finished all its requests.
    free_at_ns: u64,
}

impl PageCache {
    pub(super) fn new(dirty_limit_kib: u64, chunk_ns: u64) -> PageCache {
        PageCache {
            chunk_ns: chunk_ns.max(1),
            limit: (dirty_limit_kib / CHUNK_KIB).max(1),
            dirty: 0,
            dirty_since_ns: 0,
            writing_until_ns: None,
            free_at_ns: 0,
        }
    }

    /// Computes the work of the disk up to now.
    fn catch_up(&mut self, now_ns: u64) {
        loop {
            match self.writing_until_ns {
                Some(until_ns) if until_ns > now_ns => return,
                Some(_) => {
                    self.writing_until_ns = None;
                    self.dirty -= 1;
                }
                None => {
                    let begin_ns = self.free_at_ns.max(self.dirty_since_ns);
                    if self.dirty == 0 || begin_ns > now_ns {
                        return;
                    }
                    self.free_at_ns = begin_ns.saturating_add(self.chunk_ns);
                    self.writing_until_ns = Some(self.free_at_ns);
                }
            }
        }
    }

    /// Writes a chunk. `None`: it is in the cache. Otherwise returns when to try again, because too
    /// much is dirty.
    pub(super) fn write(&mut self, now_ns: u64) -> Option<u64> {
        self.catch_up(now_ns);
        if self.dirty >= self.limit {
            let reads_first = self.free_at_ns.max(now_ns).saturating_add(self.chunk_ns);
            return Some(self.writing_until_ns.unwrap_or(reads_first));
        }
        if self.dirty == 0 {
            self.dirty_since_ns = now_ns;
        }
        self.dirty += 1;
        None
    }

    /// Returns when a chunk that is read now arrives from the disk.
    pub(super) fn read(&mut self, now_ns: u64) -> u64 {
        self.catch_up(now_ns);
        self.free_at_ns = self.free_at_ns.max(now_ns).saturating_add(self.chunk_ns);
        self.free_at_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_waits_when_too_much_is_dirty_and_then_goes_on_at_the_disks_pace() {
        let mut cache = PageCache::new(4 * CHUNK_KIB, 100);
        for now_ns in 0..4 {
            assert_eq!(cache.write(now_ns), None);
        }
        // The first chunk is on the disk at 100, and another one every 100 ns.
        assert_eq!(cache.write(4), Some(100));
        assert_eq!(cache.write(100), None);
        assert_eq!(cache.write(101), Some(200));
        // Much later everything is clean.
        assert_eq!(cache.write(10_000), None);
        assert_eq!(cache.dirty, 1);
    }

    #[test]
    fn a_read_waits_for_one_chunk_of_writing_at_most() {
        let mut cache = PageCache::new(4 * CHUNK_KIB, 100);
        assert_eq!(cache.read(0), 100);
        for _ in 0..4 {
            assert_eq!(cache.write(100), None);
        }
        // A chunk is being written until 200. The read comes next, and writing continues at 300.
        assert_eq!(cache.read(150), 300);
        assert_eq!(cache.write(210), None);
        assert_eq!(cache.write(220), Some(400));
        assert_eq!(cache.write(399), Some(400));
        assert_eq!(cache.write(400), None);
    }

    #[test]
    fn requests_queue() {
        let mut disk = Disk::default();
        assert_eq!(disk.request(10, 5), 15);
        assert_eq!(disk.request(11, 5), 20);
        assert_eq!(disk.request(100, 5), 105);
    }

    #[test]
    fn commits_that_come_during_a_write_share_the_next() {
        let mut log = Log::default();
        assert_eq!(log.commit(10, 4), 14);
        assert_eq!(log.commit(11, 4), 18);
        assert_eq!(log.commit(13, 4), 18);
        assert_eq!(log.commit(15, 4), 22);
        assert_eq!(log.commit(16, 4), 22);
        assert_eq!(log.commit(50, 4), 54);
    }
}
