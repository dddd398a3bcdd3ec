//! What a scheduler's work consists of: the things it looked at and moved, counted.
//!
//! A scheduler decides in no time; what deciding costs is the machine's affair. But only the
//! scheduler knows how much it had to look at, so it counts as it goes: a few additions to plain
//! numbers, whether anybody asks or not. A machine with a cost model clears the counts before each
//! hook and turns them into nanoseconds after it.
//!
//! What is counted is what the *kernel's* data structures would have done. Where a scheduler here
//! is quicker than the kernel was (a walk cut short by an index, say), it counts the kernel's steps
//! and not its own.

/// Counts of what was touched.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WorkCounts {
    /// Tasks that a linear scan looked at (goodness, counters, deadlines).
    pub scanned: u64,
    /// Scans, if several: each began anew with the first task.
    pub rescans: u64,
    /// Tasks that were given new ticks in a recalculation loop.
    pub recalculated: u64,
    /// Levels of trees walked, one tree of n entities having about log2 n.
    pub levels: u64,
    /// Words of 32 bits of priority bitmaps looked at.
    pub words: u64,
    /// Arrays exchanged: active and expired.
    pub swaps: u64,
    /// Tasks, or group entities, put on a queue.
    pub enqueues: u64,
    /// Tasks, or group entities, taken off a queue.
    pub dequeues: u64,
    /// Other CPUs looked at, when a CPU is chosen or loads are balanced.
    pub queues: u64,
    /// Balancing passes begun.
    pub balances: u64,
    /// Tasks that balancing moved from one CPU's queue to another's.
    pub moves: u64,
    /// Reads of the clock.
    pub clock_reads: u64,
    /// Runqueue locks taken while another was held.
    pub double_locks: u64,
    /// BPF instructions that a sched_ext policy executed.
    pub scx_insns: u64,
    /// Helpers that it called.
    pub scx_helpers: u64,
    /// Kernel functions that it called.
    pub scx_kfuncs: u64,
    /// Look-ups, updates and deletions in its maps.
    pub scx_maps: u64,
    /// Levels of its queues by virtual time that were walked for insertions, one of n tasks having
    /// about log2 n.
    pub scx_vtime_levels: u64,
}

impl WorkCounts {
    /// A walk from the top to the bottom of a balanced tree of `entities`.
    #[inline]
    pub fn tree(&mut self, entities: u32) {
        self.levels += u64::from(u32::BITS - entities.leading_zeros());
    }

    /// A search for the first bit set of a bitmap, which is bit `found`.
    #[inline]
    pub fn bitmap(&mut self, found: u8) {
        self.words += u64::from(found / 32) + 1;
    }

    /// A task leaves a queue for another, or another place in the same.
    #[inline]
    pub fn requeue(&mut self) {
        self.dequeues += 1;
        self.enqueues += 1;
    }
}

/// How the kernel's queues are locked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Locking {
    /// One lock for everything: `runqueue_lock` of 2.4, `grq.lock` of BFS.
    Global,
    /// A lock for each CPU's runqueue. Who needs two takes the one of the lower CPU first, giving
    /// up what it holds if need be.
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
