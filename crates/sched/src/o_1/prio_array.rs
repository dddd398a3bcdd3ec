//! The priority array: 140 first-in-first-out lists, and a bitmap of those that are not empty.
//!
//! Every operation takes the same few steps however many tasks there are. The O(1) in the
//! scheduler's name refers to this. The lists are linked through the tasks themselves (`next` and
//! `prev` in [`Task`](super::task::Task)), so that queueing allocates nothing.

use super::prio::MAX_PRIO;
use super::task::{Pid, Tasks};
use alloc::string::String;

/// The ends of one list.
#[derive(Clone, Copy, Debug)]
struct List {
    head: Option<Pid>,
    tail: Option<Pid>,
}

const EMPTY: List = List { head: None, tail: None };

/// 140 lists, one for each priority.
#[derive(Clone, Debug)]
pub(super) struct PrioArray {
    /// Number of tasks in all lists.
    pub(super) nr_active: u32,
    /// Bit p: list p is not empty.
    bitmap: [u64; 3],
    lists: [List; MAX_PRIO as usize],
}

impl PrioArray {
    pub(super) const fn new() -> PrioArray {
        PrioArray { nr_active: 0, bitmap: [0; 3], lists: [EMPTY; MAX_PRIO as usize] }
    }

    /// Returns the first non-empty list from priority `from` on.
    #[inline]
    pub(super) fn next_list(&self, from: u8) -> Option<u8> {
        let mut word = usize::from(from / 64);
        let mut bits = self.bitmap.get(word)? & (u64::MAX << (from % 64));
        while bits == 0 {
            word += 1;
            bits = *self.bitmap.get(word)?;
        }
        Some(word as u8 * 64 + bits.trailing_zeros() as u8)
    }

    /// Returns the task to run next: the head of the best non-empty list.
    #[inline]
    pub(super) fn first(&self) -> Option<Pid> {
        self.next_list(0).and_then(|prio| self.lists[usize::from(prio)].head)
    }

    /// Returns the last task of list `prio`.
    #[inline]
    pub(super) fn tail(&self, prio: u8) -> Option<Pid> {
        self.lists[usize::from(prio)].tail
    }

    /// Links `p` between its list's neighbours `prev` and `next`. `None` is an end of the list.
    #[inline]
    fn link(&mut self, tasks: &mut Tasks, p: Pid, prev: Option<Pid>, next: Option<Pid>) {
        let prio = usize::from(tasks[p].prio);
        tasks[p].prev = prev;
        tasks[p].next = next;
        match prev {
            None => self.lists[prio].head = Some(p),
            Some(prev) => tasks[prev].next = Some(p),
        }
        match next {
            None => self.lists[prio].tail = Some(p),
            Some(next) => tasks[next].prev = Some(p),
        }
        self.bitmap[prio / 64] |= 1 << (prio % 64);
        self.nr_active += 1;
    }

    /// Appends `p` to the list of its priority.
    #[inline]
    pub(super) fn enqueue(&mut self, tasks: &mut Tasks, p: Pid) {
        let tail = self.tail(tasks[p].prio);
        self.link(tasks, p, tail, None);
    }

    /// Puts `p` at the head of the list of its priority.
    pub(super) fn enqueue_head(&mut self, tasks: &mut Tasks, p: Pid) {
        let head = self.lists[usize::from(tasks[p].prio)].head;
        self.link(tasks, p, None, head);
    }

    /// Puts `p` right before `other`, which is in this array and has the same priority.
    pub(super) fn enqueue_before(&mut self, tasks: &mut Tasks, p: Pid, other: Pid) {
        debug_assert_eq!(tasks[p].prio, tasks[other].prio);
        let prev = tasks[other].prev;
        self.link(tasks, p, prev, Some(other));
    }

    /// Removes `p`. Its priority must still be the one by which it was queued.
    #[inline]
    pub(super) fn dequeue(&mut self, tasks: &mut Tasks, p: Pid) {
        let prio = usize::from(tasks[p].prio);
        let (prev, next) = (tasks[p].prev, tasks[p].next);
        match prev {
            None => self.lists[prio].head = next,
            Some(prev) => tasks[prev].next = next,
        }
        match next {
            None => self.lists[prio].tail = prev,
            Some(next) => tasks[next].prev = prev,
        }
        if self.lists[prio].head.is_none() {
            self.bitmap[prio / 64] &= !(1 << (prio % 64));
        }
        self.nr_active -= 1;
    }

    /// Checks the bitmap and the links, and calls `each` for every task with the number of its
    /// list, best list first, head to tail. For audits.
    ///
    /// # Errors
    ///
    /// The first error that `each` returns, or a list whose links or bit are wrong.
    pub(super) fn audit(
        &self,
        tasks: &Tasks,
        mut each: impl FnMut(Pid, u8) -> Result<(), String>,
    ) -> Result<(), String> {
        let (mut heads, mut tails) = ([0; 3], [0; 3]);
        for (prio, list) in self.lists.iter().enumerate() {
            heads[prio / 64] |= u64::from(list.head.is_some()) << (prio % 64);
            tails[prio / 64] |= u64::from(list.tail.is_some()) << (prio % 64);
        }
        if heads != self.bitmap || tails != self.bitmap {
            return Err(alloc::format!(
                "lists with a head {heads:x?}, with a tail {tails:x?}, bits {:x?}",
                self.bitmap
            ));
        }
        let mut found = 0;
        let mut from = 0;
        // The bits agree with the lists, as has just been checked.
        while let Some(prio) = self.next_list(from) {
            from = prio + 1;
            let list = self.lists[usize::from(prio)];
            let mut last = None;
            let mut at = list.head;
            while let Some(p) = at {
                if tasks[p].prev != last {
                    return Err(alloc::format!("list {prio}: broken link before {p:?}"));
                }
                each(p, prio)?;
                found += 1;
                (last, at) = (at, tasks[p].next);
            }
            if list.tail != last {
                return Err(alloc::format!("list {prio}: wrong tail"));
            }
        }
        if found != self.nr_active {
            return Err(alloc::format!("nr_active {}, in lists {found}", self.nr_active));
        }
        Ok(())
    }
}
