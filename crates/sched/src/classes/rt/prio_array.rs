//! `rt_prio_array`: a list for each of 100 priorities, and a bitmap of the non-empty ones: O(1) for
//! any number of tasks.

use super::super::Pid;
use alloc::vec::Vec;

/// Priorities 0..=98 are real-time, and 99 is never used. This value means that no real-time task
/// is queued.
pub const MAX_RT_PRIO: u8 = 100;

/// A thread's neighbours in its list.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Link {
    prev: Option<Pid>,
    next: Option<Pid>,
    prio: u8,
    linked: bool,
}

impl Link {
    /// Whether the thread is in a list.
    #[inline]
    pub fn is_linked(&self) -> bool {
        self.linked
    }
}

/// The two ends of a list.
#[derive(Clone, Copy, Debug, Default)]
struct Ends {
    head: Option<Pid>,
    tail: Option<Pid>,
}

/// The lists: head and tail for each priority. The links are in a separate table, one row per
/// thread.
#[derive(Clone, Debug)]
pub struct RtPrioArray {
    ends: Vec<Ends>,
    bitmap: u128,
}

impl RtPrioArray {
    /// Creates empty lists.
    pub fn new() -> RtPrioArray {
        RtPrioArray { ends: Vec::new(), bitmap: 0 }
    }

    /// Whether all lists are empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.bitmap == 0
    }

    /// Returns the most urgent (smallest) priority whose list is not empty, else [`MAX_RT_PRIO`].
    #[inline]
    pub fn best(&self) -> u8 {
        if self.bitmap == 0 { MAX_RT_PRIO } else { self.bitmap.trailing_zeros() as u8 }
    }

    /// Returns the most urgent priority after `prio` whose list is not empty, else [`MAX_RT_PRIO`].
    #[inline]
    pub fn next_best(&self, prio: u8) -> u8 {
        let rest = self.bitmap & !((2u128 << prio) - 1);
        if rest == 0 { MAX_RT_PRIO } else { rest.trailing_zeros() as u8 }
    }

    /// Returns the first thread of a priority.
    #[inline]
    pub fn head(&self, prio: u8) -> Option<Pid> {
        self.ends.get(prio as usize)?.head
    }

    /// Returns the last thread of a priority.
    #[inline]
    pub fn tail(&self, prio: u8) -> Option<Pid> {
        self.ends.get(prio as usize)?.tail
    }

    /// Returns the thread after `pid` in its list.
    #[inline]
    pub fn next(&self, links: &[Link], pid: Pid) -> Option<Pid> {
        links[pid.index()].next
    }

    /// Whether `pid` is alone in its list.
    #[inline]
    pub fn is_alone(&self, links: &[Link], pid: Pid) -> bool {
        let link = &links[pid.index()];
        link.prev.is_none() && link.next.is_none()
    }

    /// Appends `pid` to the list of its priority.
    pub fn push_back(&mut self, links: &mut [Link], pid: Pid, prio: u8) {
        if self.ends.is_empty() {
            // The first real-time task of this CPU.
            self.ends = alloc::vec![Ends::default(); MAX_RT_PRIO as usize];
        }
        let ends = &mut self.ends[prio as usize];
        let prev = ends.tail.replace(pid);
        links[pid.index()] = Link { prev, next: None, prio, linked: true };
        match prev {
            None => ends.head = Some(pid),
            Some(prev) => links[prev.index()].next = Some(pid),
        }
        self.bitmap |= 1 << prio;
    }

    /// Prepends `pid` to the list of its priority.
    pub fn push_front(&mut self, links: &mut [Link], pid: Pid, prio: u8) {
        let Some(old) = self.head(prio) else {
            self.push_back(links, pid, prio);
            return;
        };
        links[old.index()].prev = Some(pid);
        links[pid.index()] = Link { prev: None, next: Some(old), prio, linked: true };
        self.ends[prio as usize].head = Some(pid);
    }

    /// Removes `pid`, if it is in a list.
    pub fn remove(&mut self, links: &mut [Link], pid: Pid) {
        let link = core::mem::take(&mut links[pid.index()]);
        if !link.linked {
            return;
        }
        let ends = &mut self.ends[link.prio as usize];
        match link.prev {
            None => ends.head = link.next,
            Some(prev) => links[prev.index()].next = link.next,
        }
        match link.next {
            None => ends.tail = link.prev,
            Some(next) => links[next.index()].prev = link.prev,
        }
        if ends.head.is_none() {
            self.bitmap &= !(1 << link.prio);
        }
    }

    /// Returns all threads, the most urgent priority first, each list from its tail.
    pub fn iter_from_tails<'a>(&'a self, links: &'a [Link]) -> impl Iterator<Item = Pid> + 'a {
        let mut prio = self.best();
        let mut at = self.tail(prio);
        core::iter::from_fn(move || {
            let pid = at?;
            at = links[pid.index()].prev;
            if at.is_none() {
                prio = self.next_best(prio);
                at = self.tail(prio);
            }
            Some(pid)
        })
    }

    /// Returns all threads, the most urgent priority first, each list from its head.
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

impl Default for RtPrioArray {
    fn default() -> RtPrioArray {
        RtPrioArray::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_keep_their_order_and_priorities_theirs() {
        let mut links = alloc::vec![Link::default(); 6];
        let mut lists = RtPrioArray::new();
        assert_eq!(lists.best(), MAX_RT_PRIO);
        assert_eq!(lists.head(MAX_RT_PRIO), None);
        for (pid, prio) in [(0, 50), (1, 0), (2, 50), (3, 98)] {
            lists.push_back(&mut links, Pid(pid), prio);
        }
        lists.push_front(&mut links, Pid(4), 50);
        lists.push_front(&mut links, Pid(5), 3);
        let order: Vec<u32> = lists.iter(&links).map(|pid| pid.0).collect();
        assert_eq!(order, [1, 5, 4, 0, 2, 3]);
        assert_eq!((lists.best(), lists.next_best(3), lists.next_best(98)), (0, 50, MAX_RT_PRIO));
        lists.remove(&mut links, Pid(0));
        lists.remove(&mut links, Pid(1));
        lists.remove(&mut links, Pid(1));
        assert!(lists.is_alone(&links, Pid(3)) && !lists.is_alone(&links, Pid(2)));
        let order: Vec<u32> = lists.iter(&links).map(|pid| pid.0).collect();
        assert_eq!(order, [5, 4, 2, 3]);
    }
}
