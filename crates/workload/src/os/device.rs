//! Devices that serve requests in the order in which they come: disks, and the log of a database.

/// A disk, by number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DiskId(pub(super) u32);

/// A log with group commit, by number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogId(pub(super) u32);

/// A disk: one request at a time, first come, first served. When a request will be done is known when it is made.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Disk {
    free_at_ns: u64,
}

impl Disk {
    /// When a request of `service_ns` that is made now will be done.
    pub(super) fn request(&mut self, now_ns: u64, service_ns: u64) -> u64 {
        self.free_at_ns = self.free_at_ns.max(now_ns).saturating_add(service_ns);
        self.free_at_ns
    }
}

/// A log: one write at a time, and those that come while one is under way all go into the next.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Log {
    /// When the last write that has been begun or planned ends.
    end_ns: u64,
    /// When that write begins: until then it can be joined.
    begin_ns: u64,
}

impl Log {
    /// When a commit that is made now is on the disk, a write taking `service_ns`.
    pub(super) fn commit(&mut self, now_ns: u64, service_ns: u64) -> u64 {
        if now_ns > self.begin_ns || self.end_ns == 0 {
            // The planned write is under way, or over.
            self.begin_ns = self.end_ns.max(now_ns);
            self.end_ns = self.begin_ns.saturating_add(service_ns);
        }
        self.end_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
