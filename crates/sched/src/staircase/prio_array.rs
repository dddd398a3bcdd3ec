//! The priority array: a first-in-first-out list for each of 141 levels, and a bit for each level
//! that is not empty.
//!
//! Lists are doubly linked through a table of links with a row for each task, so that nothing is
//! allocated, and removing a task from the middle is as cheap as at the ends.

use super::MAX_PRIO;
use super::task::Pid;
use schedlab_core::index::IndexVec;

/// A task's neighbours in its list.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Link {
    next: Option<Pid>,
    prev: Option<Pid>,
}

/// The links of all tasks.
pub(super) type Links = IndexVec<Pid, Link>;

#[derive(Clone, Copy, Debug)]
struct List {
    head: Option<Pid>,
    tail: Option<Pid>,
}

/// One of a CPU's two array objects.
#[derive(Clone, Debug)]
pub(super) struct PrioArray {
    /// A bit for each level below 140 that has tasks.
    bitmap: [u64; 3],
    lists: [List; MAX_PRIO as usize + 1],
    /// SD: the best nice level that has been queued here in this rotation.
    pub(super) best_static_prio: u8,
    /// RSDL: for each of the levels 100 to 139, the rest of the quotas handed out there, µs.
    pub(super) level_quota: [i64; 40],
}

impl PrioArray {
    pub(super) const fn new() -> PrioArray {
        PrioArray {
            bitmap: [0; 3],
            lists: [List { head: None, tail: None }; MAX_PRIO as usize + 1],
            best_static_prio: MAX_PRIO - 1,
            level_quota: [0; 40],
        }
    }

    /// Returns the best level from `from` on that has tasks. `140`: none. (Level 140 itself is not
    /// considered.)
    #[inline]
    pub(super) fn best_from(&self, from: u8) -> u8 {
        let first = usize::from(from) / 64;
        let mut bits = self.bitmap[first] & (u64::MAX << (from % 64));
        for word in first..3 {
            if word > first {
                bits = self.bitmap[word];
            }
            if bits != 0 {
                return (word as u32 * 64 + bits.trailing_zeros()) as u8;
            }
        }
        MAX_PRIO
    }

    /// Returns the first of a level.
    #[inline]
    pub(super) fn head(&self, level: u8) -> Option<Pid> {
        self.lists[usize::from(level)].head
    }

    /// Returns the last of a level.
    #[inline]
    pub(super) fn tail(&self, level: u8) -> Option<Pid> {
        self.lists[usize::from(level)].tail
    }

    /// Appends `task` to a level.
    #[inline]
    pub(super) fn push(&mut self, links: &mut Links, level: u8, task: Pid) {
        let list = &mut self.lists[usize::from(level)];
        let prev = list.tail.replace(task);
        links[task] = Link { next: None, prev };
        if let Some(prev) = prev {
            links[prev].next = Some(task);
        } else {
            list.head = Some(task);
            if level < MAX_PRIO {
                self.bitmap[usize::from(level) / 64] |= 1 << (level % 64);
            }
        }
    }

    /// Removes `task` from its level.
    #[inline]
    pub(super) fn remove(&mut self, links: &mut Links, level: u8, task: Pid) {
        let Link { next, prev } = core::mem::take(&mut links[task]);
        let list = &mut self.lists[usize::from(level)];
        match prev {
            None => list.head = next,
            Some(prev) => links[prev].next = next,
        }
        match next {
            None => list.tail = prev,
            Some(next) => links[next].prev = prev,
        }
        if list.head.is_none() && level < MAX_PRIO {
            self.bitmap[usize::from(level) / 64] &= !(1 << (level % 64));
        }
    }

    /// Returns the levels that have tasks, 140 included, in ascending order: for audits. `None`:
    /// some level's bit does not agree with its list.
    pub(super) fn occupied(&self) -> Option<impl Iterator<Item = u8>> {
        let mut heads = [0; 3];
        for (level, list) in self.lists.iter().enumerate() {
            heads[level / 64] |= u64::from(list.head.is_some()) << (level % 64);
        }
        let without_last = heads[2] & !(1 << (MAX_PRIO % 64));
        let agrees = [heads[0], heads[1], without_last] == self.bitmap;
        let levels = (0_u8..).zip(heads).flat_map(|(word, mut bits)| {
            core::iter::from_fn(move || {
                let bit = (bits != 0).then(|| bits.trailing_zeros() as u8)?;
                bits &= bits - 1;
                Some(word * 64 + bit)
            })
        });
        agrees.then_some(levels)
    }
}

/// Returns the task behind `task` in its list.
#[inline]
pub(super) fn next(links: &Links, task: Pid) -> Option<Pid> {
    links[task].next
}

/// Returns the task before `task` in its list.
#[inline]
pub(super) fn prev(links: &Links, task: Pid) -> Option<Pid> {
    links[task].prev
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use schedlab_core::index::TypedIndex;

    #[test]
    fn levels_are_first_in_first_out_and_found_by_their_bits() {
        let mut links: Links = [Link::default(); 5].into_iter().collect();
        let mut array = PrioArray::new();
        assert_eq!(array.best_from(0), 140);
        for (task, level) in [(0, 139), (1, 120), (2, 120), (3, 120), (4, 140)] {
            array.push(&mut links, level, Pid::new(task));
        }
        assert_eq!(
            (array.best_from(0), array.best_from(121), array.best_from(139)),
            (120, 139, 139)
        );
        assert_eq!(array.occupied().unwrap().collect::<Vec<_>>(), [120, 139, 140]);
        array.remove(&mut links, 120, Pid::new(2));
        let mut order = Vec::new();
        let mut at = array.head(120);
        while let Some(task) = at {
            order.push(task.index());
            at = next(&links, task);
        }
        assert_eq!(order, [1, 3]);
        assert_eq!(array.tail(120).and_then(|task| prev(&links, task)), Some(Pid::new(1)));
        array.remove(&mut links, 120, Pid::new(1));
        array.remove(&mut links, 120, Pid::new(3));
        array.remove(&mut links, 139, Pid::new(0));
        assert_eq!(array.best_from(0), 140, "the idle-priority list has no bit");
        assert_eq!(array.head(140), Some(Pid::new(4)));
        assert_eq!(array.occupied().unwrap().collect::<Vec<_>>(), [140]);
        array.bitmap[1] = 1;
        assert!(array.occupied().is_none(), "a bit without a task");
    }
}
