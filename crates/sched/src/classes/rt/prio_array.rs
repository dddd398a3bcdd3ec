//! A queue for each of 100 priorities, and a bitmap that tells which of them hold anybody: O(1)
//! whatever the number of tasks.

use super::super::Pid;
use alloc::vec::Vec;

/// Priorities 0..=98 are real-time; 99 is never used, and 100 stands for "nobody".
pub const NOBODY: u8 = 100;

const NIL: u32 = u32::MAX;

/// A thread's neighbours in the list it is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    prev: u32,
    next: u32,
    prio: u8,
    linked: bool,
}

impl Default for Link {
    fn default() -> Link {
        Link { prev: NIL, next: NIL, prio: 0, linked: false }
    }
}

impl Link {
    /// Whether the thread is in a list.
    #[inline]
    pub fn is_linked(&self) -> bool {
        self.linked
    }
}

/// The lists: head and tail for each priority. The links are a table of their own, one row a
/// thread.
#[derive(Clone, Debug)]
pub struct PrioLists {
    ends: Vec<(u32, u32)>,
    bitmap: u128,
}

impl PrioLists {
    /// All empty.
    pub fn new() -> PrioLists {
        PrioLists { ends: Vec::new(), bitmap: 0 }
    }

    /// Whether all are empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.bitmap == 0
    }

    /// The best (smallest) priority that has anybody, [`NOBODY`] if none has.
    #[inline]
    pub fn best(&self) -> u8 {
        if self.bitmap == 0 { NOBODY } else { self.bitmap.trailing_zeros() as u8 }
    }

    /// The best priority after `prio` that has anybody, [`NOBODY`] if none has.
    #[inline]
    pub fn next_best(&self, prio: u8) -> u8 {
        let rest = self.bitmap & !((2u128 << prio) - 1);
        if rest == 0 { NOBODY } else { rest.trailing_zeros() as u8 }
    }

    /// The first of a priority.
    #[inline]
    pub fn head(&self, prio: u8) -> Option<Pid> {
        if self.bitmap >> prio & 1 == 0 {
            return None;
        }
        Some(Pid(self.ends[prio as usize].0))
    }

    /// The last of a priority.
    #[inline]
    pub fn tail(&self, prio: u8) -> Option<Pid> {
        if self.bitmap >> prio & 1 == 0 {
            return None;
        }
        Some(Pid(self.ends[prio as usize].1))
    }

    /// The one after `pid` in its list.
    #[inline]
    pub fn next(&self, links: &[Link], pid: Pid) -> Option<Pid> {
        let next = links[pid.index()].next;
        (next != NIL).then_some(Pid(next))
    }

    /// Whether `pid` is alone in its list.
    #[inline]
    pub fn is_alone(&self, links: &[Link], pid: Pid) -> bool {
        let link = &links[pid.index()];
        link.prev == NIL && link.next == NIL
    }

    /// Puts `pid` at the end of its priority's list.
    pub fn push_back(&mut self, links: &mut [Link], pid: Pid, prio: u8) {
        if self.ends.is_empty() {
            // The first real-time task of this CPU.
            self.ends = alloc::vec![(NIL, NIL); NOBODY as usize];
        }
        let (head, tail) = &mut self.ends[prio as usize];
        links[pid.index()] = Link { prev: *tail, next: NIL, prio, linked: true };
        if *tail == NIL {
            *head = pid.0;
        } else {
            links[*tail as usize].next = pid.0;
        }
        *tail = pid.0;
        self.bitmap |= 1 << prio;
    }

    /// Puts `pid` at the head of its priority's list.
    pub fn push_front(&mut self, links: &mut [Link], pid: Pid, prio: u8) {
        let old = self.head(prio);
        let Some(old) = old else {
            self.push_back(links, pid, prio);
            return;
        };
        links[old.index()].prev = pid.0;
        links[pid.index()] = Link { prev: NIL, next: old.0, prio, linked: true };
        self.ends[prio as usize].0 = pid.0;
    }

    /// Takes `pid` out, if it is in a list.
    pub fn remove(&mut self, links: &mut [Link], pid: Pid) {
        let link = core::mem::take(&mut links[pid.index()]);
        if !link.linked {
            return;
        }
        let (head, tail) = &mut self.ends[link.prio as usize];
        if link.prev == NIL {
            *head = link.next;
        } else {
            links[link.prev as usize].next = link.next;
        }
        if link.next == NIL {
            *tail = link.prev;
        } else {
            links[link.next as usize].prev = link.prev;
        }
        if *head == NIL {
            self.bitmap &= !(1 << link.prio);
        }
    }

    /// All, best priority first, each list from its head.
    pub fn iter<'a>(&'a self, links: &'a [Link]) -> impl Iterator<Item = Pid> + 'a {
        let mut prio = self.best();
        let mut at = self.head(prio);
        core::iter::from_fn(move || {
            let pid = at?;
            at = self.next(links, pid);
            if at.is_none() {
                prio = self.next_best(prio);
                at = self.head(prio);
            }
            Some(pid)
        })
    }
}

impl Default for PrioLists {
    fn default() -> PrioLists {
        PrioLists::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_keep_their_order_and_priorities_theirs() {
        let mut links = alloc::vec![Link::default(); 6];
        let mut lists = PrioLists::new();
        assert_eq!(lists.best(), NOBODY);
        assert_eq!(lists.head(NOBODY), None);
        for (pid, prio) in [(0, 50), (1, 0), (2, 50), (3, 98)] {
            lists.push_back(&mut links, Pid(pid), prio);
        }
        lists.push_front(&mut links, Pid(4), 50);
        lists.push_front(&mut links, Pid(5), 3);
        let order: Vec<u32> = lists.iter(&links).map(|pid| pid.0).collect();
        assert_eq!(order, [1, 5, 4, 0, 2, 3]);
        assert_eq!((lists.best(), lists.next_best(3), lists.next_best(98)), (0, 50, NOBODY));
        lists.remove(&mut links, Pid(0));
        lists.remove(&mut links, Pid(1));
        lists.remove(&mut links, Pid(1));
        assert!(lists.is_alone(&links, Pid(3)) && !lists.is_alone(&links, Pid(2)));
        let order: Vec<u32> = lists.iter(&links).map(|pid| pid.0).collect();
        assert_eq!(order, [5, 4, 2, 3]);
    }
}
