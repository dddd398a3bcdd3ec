//! A dispatch queue: first in, first out, or ordered by virtual time.

use std::cmp::Ordering;
use std::collections::VecDeque;

/// A task in a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The task's row.
    pub task: u32,
    /// Its position in the queue.
    pub key: Key,
    /// Number of the insertion, counted over all queues.
    pub stamp: u64,
}

/// Position of a task in a queue. The smallest key is first; virtual times are compared by their
/// signed difference.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Key {
    /// The virtual time. 0 in a queue that is first in, first out.
    pub vtime: u64,
    /// Order among equal virtual times.
    pub order: i64,
}

impl Key {
    /// Compares two positions.
    pub fn compare(self, other: Key) -> Ordering {
        let difference = self.vtime.wrapping_sub(other.vtime) as i64;
        difference.cmp(&0).then(self.order.cmp(&other.order))
    }
}

/// Error: the queue already holds tasks of the other kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MixedOrder {
    /// Whether the tasks in the queue are ordered by virtual time.
    pub holds_priq: bool,
}

/// A queue. It is always sorted; a task to remove is found by bisection.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Dsq {
    /// Its id.
    pub id: u64,
    entries: VecDeque<Entry>,
    is_priq: bool,
    first: i64,
    last: i64,
}

impl Dsq {
    /// Makes an empty queue.
    pub fn new(id: u64) -> Dsq {
        Dsq { id, ..Dsq::default() }
    }

    /// Returns the number of tasks in the queue.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether the queue is empty.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the entries in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.entries.iter()
    }

    /// Returns the first entry.
    pub fn front(&self) -> Option<&Entry> {
        self.entries.front()
    }

    /// Returns the entry at an index.
    pub fn get(&self, at: usize) -> Option<&Entry> {
        self.entries.get(at)
    }

    /// Inserts a task at the end or at the head.
    ///
    /// # Errors
    /// If the queue is ordered by virtual time.
    pub fn insert(&mut self, task: u32, stamp: u64, at_head: bool) -> Result<Key, MixedOrder> {
        self.check(false)?;
        let key = if at_head {
            self.first -= 1;
            Key { vtime: 0, order: self.first }
        } else {
            self.last += 1;
            Key { vtime: 0, order: self.last }
        };
        let entry = Entry { task, key, stamp };
        if at_head {
            self.entries.push_front(entry)
        } else {
            self.entries.push_back(entry)
        }
        Ok(key)
    }

    /// Inserts a task by its virtual time, after tasks with the same virtual time.
    ///
    /// # Errors
    /// If the queue is first in, first out.
    pub fn insert_vtime(&mut self, task: u32, stamp: u64, vtime: u64) -> Result<Key, MixedOrder> {
        self.check(true)?;
        self.last += 1;
        let key = Key { vtime, order: self.last };
        let at = self.entries.partition_point(|entry| entry.key.compare(key) == Ordering::Less);
        self.entries.insert(at, Entry { task, key, stamp });
        Ok(key)
    }

    /// Checks the kind of the queue. An empty queue may become one of either kind.
    fn check(&mut self, by_vtime: bool) -> Result<(), MixedOrder> {
        if self.entries.is_empty() {
            self.is_priq = by_vtime;
        }
        match self.is_priq == by_vtime {
            true => Ok(()),
            false => Err(MixedOrder { holds_priq: self.is_priq }),
        }
    }

    /// Removes the task at a position. Returns whether there was one.
    pub fn remove(&mut self, key: Key) -> bool {
        let at = self.entries.partition_point(|entry| entry.key.compare(key) == Ordering::Less);
        match self.entries.get(at) {
            Some(entry) if entry.key == key => {
                self.entries.remove(at);
                true
            }
            _ => false,
        }
    }

    /// Returns the next entry after (or, if reversed, before) `key` that was queued before `stamp`.
    /// Without a key, returns the first such entry.
    pub fn next(&self, key: Option<Key>, stamp: u64, reversed: bool) -> Option<&Entry> {
        if reversed {
            let end = key.map_or(self.entries.len(), |key| {
                self.entries.partition_point(|entry| entry.key.compare(key) == Ordering::Less)
            });
            return self.entries.range(..end).rev().find(|entry| entry.stamp < stamp);
        }
        let start = key.map_or(0, |key| {
            self.entries.partition_point(|entry| entry.key.compare(key) != Ordering::Greater)
        });
        self.entries.range(start..).find(|entry| entry.stamp < stamp)
    }
}

/// An iteration over a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Walk {
    /// Index of the queue.
    pub queue: u32,
    /// Entries from this insertion on are skipped.
    pub stamp: u64,
    /// Whether it runs from the end to the head.
    pub reversed: bool,
    /// Current position.
    pub at: Option<Key>,
    /// Slice that the next move sets.
    pub slice: Option<u64>,
    /// Virtual time that the next move sets.
    pub vtime: Option<u64>,
}

/// An insertion by `dispatch` that has not been carried out yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Insertion {
    /// The task's row.
    pub task: u32,
    /// The task's `qseq` at the time of the insertion.
    pub qseq: u64,
    /// Id of the queue.
    pub dsq: u64,
    /// `SCX_ENQ_*`.
    pub flags: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tasks(dsq: &Dsq) -> Vec<u32> {
        dsq.iter().map(|entry| entry.task).collect()
    }

    #[test]
    fn first_in_first_out_and_at_the_head() {
        let mut dsq = Dsq::new(5);
        let keys = [(1, false), (2, false), (3, true), (4, true)].map(|(task, head)| {
            dsq.insert(task, task.into(), head).expect("all entries are of one kind")
        });
        assert_eq!(tasks(&dsq), [4, 3, 1, 2]);
        assert!(dsq.remove(keys[2]));
        assert!(!dsq.remove(keys[2]), "it was removed already");
        assert_eq!(tasks(&dsq), [4, 1, 2]);
        assert_eq!(dsq.insert_vtime(9, 9, 1), Err(MixedOrder { holds_priq: false }));
    }

    #[test]
    fn virtual_time_orders_by_signed_difference_and_then_arrival() {
        let mut dsq = Dsq::new(5);
        for (task, vtime) in [(1, 5), (2, u64::MAX - 1), (3, 5), (4, 0)] {
            dsq.insert_vtime(task, task.into(), vtime).expect("all entries are of one kind");
        }
        assert_eq!(tasks(&dsq), [2, 4, 1, 3], "2 is just before 0");
        assert_eq!(dsq.insert(9, 9, false), Err(MixedOrder { holds_priq: true }));
        let keys: Vec<Key> = dsq.iter().map(|entry| entry.key).collect();
        for key in keys {
            assert!(dsq.remove(key));
        }
        assert!(dsq.insert(9, 9, false).is_ok(), "an empty queue takes either kind");
    }

    #[test]
    fn walks_pass_over_those_who_came_later_and_bear_removal() {
        let mut dsq = Dsq::new(5);
        for task in 1..=4 {
            dsq.insert(task, task.into(), false).expect("all entries are of one kind");
        }
        let first = *dsq.next(None, 4, false).expect("the queue has another entry");
        assert_eq!(first.task, 1);
        assert!(dsq.remove(first.key));
        let second = *dsq.next(Some(first.key), 4, false).expect("the queue has another entry");
        assert_eq!(second.task, 2);
        let third = *dsq.next(Some(second.key), 4, false).expect("the queue has another entry");
        assert_eq!(third.task, 3);
        assert_eq!(dsq.next(Some(third.key), 4, false), None, "4 came later");
        let last = *dsq.next(None, 5, true).expect("the queue has another entry");
        assert_eq!(last.task, 4);
        assert_eq!(dsq.next(Some(last.key), 5, true).map(|entry| entry.task), Some(3));
    }
}
