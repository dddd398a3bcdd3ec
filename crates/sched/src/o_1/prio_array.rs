//! The priority array: 140 first-in-first-out lists and a bitmap that says which of them hold
//! anything.
//!
//! Everything here takes the same few steps however many tasks there are: that is the O(1) of the
//! scheduler's name. The lists run through the tasks themselves (`next` and `prev` in
//! [`Task`](super::task::Task)), so that queueing allocates nothing.

use super::task::{Pid, Tasks};

/// Number of priorities: 0 to 99 real-time, 100 to 139 ordinary; lower is better. Also the idle
/// task's priority, which is worse than any.
pub(super) const MAX_PRIO: u8 = 140;

/// The first (best) ordinary priority.
pub(super) const MAX_RT_PRIO: u8 = 100;

/// The ends of one list; [`Pid::NONE`] twice when it is empty.
#[derive(Clone, Copy, Debug)]
struct List {
    head: Pid,
    tail: Pid,
}

const EMPTY: List = List { head: Pid::NONE, tail: Pid::NONE };

/// 140 lists, one a priority.
#[derive(Clone, Debug)]
pub(super) struct PrioArray {
    /// Tasks in all lists.
    pub(super) nr_active: u32,
    /// Bit p: list p is not empty.
    bitmap: [u64; 3],
    lists: [List; MAX_PRIO as usize],
}

impl PrioArray {
    pub(super) const fn new() -> PrioArray {
        PrioArray { nr_active: 0, bitmap: [0; 3], lists: [EMPTY; MAX_PRIO as usize] }
    }

    /// The first non-empty list from priority `from` on.
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

    /// The task to run next: the head of the best non-empty list.
    #[inline]
    pub(super) fn first(&self) -> Option<Pid> {
        self.next_list(0).map(|prio| self.lists[usize::from(prio)].head)
    }

    /// The last task of list `prio`, or [`Pid::NONE`].
    #[inline]
    pub(super) fn tail(&self, prio: u8) -> Pid {
        self.lists[usize::from(prio)].tail
    }

    /// Puts `p` between its list's neighbours `prev` and `next`, either of which may be
    /// [`Pid::NONE`].
    #[inline]
    fn link(&mut self, tasks: &mut Tasks, p: Pid, prev: Pid, next: Pid) {
        let prio = usize::from(tasks[p].prio);
        tasks[p].prev = prev;
        tasks[p].next = next;
        match prev {
            Pid::NONE => self.lists[prio].head = p,
            prev => tasks[prev].next = p,
        }
        match next {
            Pid::NONE => self.lists[prio].tail = p,
            next => tasks[next].prev = p,
        }
        self.bitmap[prio / 64] |= 1 << (prio % 64);
        self.nr_active += 1;
    }

    /// Appends `p` to the list of its priority.
    #[inline]
    pub(super) fn enqueue(&mut self, tasks: &mut Tasks, p: Pid) {
        let tail = self.tail(tasks[p].prio);
        self.link(tasks, p, tail, Pid::NONE);
    }

    /// Puts `p` at the head of the list of its priority.
    pub(super) fn enqueue_head(&mut self, tasks: &mut Tasks, p: Pid) {
        let head = self.lists[usize::from(tasks[p].prio)].head;
        self.link(tasks, p, Pid::NONE, head);
    }

    /// Puts `p` right before `other`, which is in this array and has the same priority.
    pub(super) fn enqueue_before(&mut self, tasks: &mut Tasks, p: Pid, other: Pid) {
        debug_assert_eq!(tasks[p].prio, tasks[other].prio);
        let prev = tasks[other].prev;
        self.link(tasks, p, prev, other);
    }

    /// Takes `p` out. Its priority must still be the one that it was queued by.
    #[inline]
    pub(super) fn dequeue(&mut self, tasks: &mut Tasks, p: Pid) {
        let prio = usize::from(tasks[p].prio);
        let (prev, next) = (tasks[p].prev, tasks[p].next);
        match prev {
            Pid::NONE => self.lists[prio].head = next,
            prev => tasks[prev].next = next,
        }
        match next {
            Pid::NONE => self.lists[prio].tail = prev,
            next => tasks[next].prev = prev,
        }
        if self.lists[prio].head == Pid::NONE {
            self.bitmap[prio / 64] &= !(1 << (prio % 64));
        }
        self.nr_active -= 1;
    }

    /// Calls `each` for every task with the number of the list that it stands in, best list first,
    /// head to tail. Follows the lists, not the bitmap: for audits.
    ///
    /// # Errors
    /// The first that `each` returns, or a list whose links or bit are wrong.
    pub(super) fn audit(
        &self,
        tasks: &Tasks,
        mut each: impl FnMut(Pid, u8) -> Result<(), alloc::string::String>,
    ) -> Result<(), alloc::string::String> {
        let mut found = 0;
        for prio in 0..MAX_PRIO {
            let list = self.lists[usize::from(prio)];
            let marked = self.bitmap[usize::from(prio) / 64] >> (prio % 64) & 1 == 1;
            if marked == (list.head == Pid::NONE) {
                return Err(alloc::format!("list {prio}: its bit is {marked}"));
            }
            let mut last = Pid::NONE;
            let mut at = list.head;
            while at != Pid::NONE {
                if tasks[at].prev != last {
                    return Err(alloc::format!("list {prio}: broken link before {at:?}"));
                }
                each(at, prio)?;
                found += 1;
                (last, at) = (at, tasks[at].next);
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
