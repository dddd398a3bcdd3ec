//! Counts of a scheduler's work: the objects that it examined and moved.
//!
//! A scheduler decides in no time: the machine determines the cost of a decision. But only the
//! scheduler knows how much it had to examine. It therefore always counts as it goes, which takes a
//! few additions to plain numbers. A machine with a cost model clears the counts before each hook
//! and converts them into nanoseconds after it.
//!
//! The counts refer to the *kernel's* data structures. Where a scheduler here is faster than the
//! kernel was (because an index cuts a walk short, for example), it counts the kernel's steps and
//! not its own.

/// Counts of the work done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WorkCounts {
    /// Tasks examined by linear scans (goodness, counters, deadlines).
    pub scanned: u64,
    /// Number of scans, where a decision needs several: each begins again with the first task.
    pub rescans: u64,
    /// Tasks that received new ticks in a recalculation loop.
    pub recalculated: u64,
    /// Tree levels walked. A tree of n entities has about log2 n.
    pub levels: u64,
    /// Words of 32 bits examined in priority bitmaps.
    pub words: u64,
    /// Exchanges of the active and the expired array.
    pub swaps: u64,
    /// Tasks, or group entities, put on a queue.
    pub enqueues: u64,
    /// Tasks, or group entities, taken off a queue.
    pub dequeues: u64,
    /// Other CPUs examined when a CPU is selected or loads are balanced.
    pub queues: u64,
    /// Number of balancing passes begun.
    pub balances: u64,
    /// Tasks that balancing moved from one CPU's queue to another's.
    pub moves: u64,
    /// Reads of the clock.
    pub clock_reads: u64,
    /// Runqueue locks taken while another was held.
    pub double_locks: u64,
    /// BPF instructions that a sched_ext policy executed.
    pub scx_insns: u64,
    /// BPF helpers called by the policy.
    pub scx_helpers: u64,
    /// Kernel functions called by the policy.
    pub scx_kfuncs: u64,
    /// Lookups, updates and deletions in the policy's maps.
    pub scx_maps: u64,
    /// Levels walked for insertions into the policy's queues by virtual time. A queue of n tasks
    /// has about log2 n.
    pub scx_vtime_levels: u64,
}

impl WorkCounts {
    /// Counts a walk from the top to the bottom of a balanced tree of `entities`.
    #[inline]
    pub fn tree(&mut self, entities: u32) {
        self.levels += u64::from(u32::BITS - entities.leading_zeros());
    }

    /// Counts a search for the first bit set in a bitmap; `found` is that bit.
    #[inline]
    pub fn bitmap(&mut self, found: u8) {
        self.words += u64::from(found / 32) + 1;
    }

    /// Counts a task's move to another queue, or to another place in the same queue.
    #[inline]
    pub fn requeue(&mut self) {
        self.dequeues += 1;
        self.enqueues += 1;
    }
}

/// Locking scheme of the kernel's queues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Locking {
    /// One lock for everything: `runqueue_lock` of 2.4, `grq.lock` of BFS.
    Global,
    /// One lock for each CPU's runqueue. Code that needs two takes the lock of the lower-numbered
    /// CPU first, and releases what it holds if necessary.
    PerCpu,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_twice_as_large_is_a_level_deeper() {
        let levels = |entities| {
            let mut work = WorkCounts::default();
            work.tree(entities);
            work.levels
        };
        assert_eq!([0, 1, 2, 3, 4, 1023, 1024].map(levels), [0, 1, 2, 2, 3, 10, 11]);
    }

    #[test]
    fn bitmaps_are_looked_through_word_by_word() {
        let words = |found| {
            let mut work = WorkCounts::default();
            work.bitmap(found);
            work.words
        };
        assert_eq!([0, 31, 32, 139].map(words), [1, 1, 2, 5]);
    }
}
