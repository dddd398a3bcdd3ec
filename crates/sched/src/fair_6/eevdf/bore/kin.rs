//! The tree of processes: which task is whose child, and which threads make up a process.
//!
//! The root is its own parent and never runs. A dead process stays in its parent's list of children
//! until it is reaped; a dead thread is gone, unless it is the main thread. Children of a dead task
//! go to another living thread of its process, else to the root.

use crate::classes::Pid;
use alloc::vec::Vec;

/// The root of the tree: the idle thread of the first CPU, from which all tasks descend.
pub const ROOT: Pid = Pid(0);

/// Neighbours in a list of siblings or of threads.
#[derive(Clone, Copy, Debug, Default)]
struct Neighbours {
    before: Option<Pid>,
    after: Option<Pid>,
}

/// The ends of a list.
#[derive(Clone, Copy, Debug, Default)]
struct Ends {
    first: Option<Pid>,
    last: Option<Pid>,
}

/// A task's place in the tree.
#[derive(Clone, Copy, Debug)]
struct Relative {
    /// Main thread of its process.
    leader: Pid,
    /// Main thread: the task that forked the process, or that has adopted it.
    parent: Pid,
    /// Whether it lives.
    is_alive: bool,
    /// Main thread: whether it is in its parent's list of children.
    is_child: bool,
    /// Its children.
    children: Ends,
    /// Main thread: the other threads of its process, in the order of their births.
    threads: Ends,
    /// Main thread: its siblings. Other thread: the threads of the process.
    neighbours: Neighbours,
}

impl Default for Relative {
    fn default() -> Relative {
        Relative {
            leader: ROOT,
            parent: ROOT,
            is_alive: false,
            is_child: false,
            children: Ends::default(),
            threads: Ends::default(),
            neighbours: Neighbours::default(),
        }
    }
}

/// The tree of processes.
#[derive(Clone, Debug, Default)]
pub struct Kin {
    /// By thread.
    rows: Vec<Relative>,
    /// All main threads in the order of their births.
    pub births: Vec<Pid>,
}

impl Kin {
    /// Makes room for `task`.
    pub fn make_room(&mut self, task: Pid) {
        let len = self.rows.len().max(task.index() + 1);
        self.rows.resize(len, Relative::default());
    }

    /// `parent` has forked the process `child`.
    pub fn add_process(&mut self, parent: Pid, child: Pid) {
        self.rows[child.index()] =
            Relative { leader: child, is_alive: true, ..Relative::default() };
        self.births.push(child);
        self.adopt(parent, child);
    }

    /// `of` has started `thread` in its own process.
    pub fn add_thread(&mut self, of: Pid, thread: Pid) {
        let leader = self.leader(of);
        let last = self.rows[leader.index()].threads.last.replace(thread);
        let neighbours = Neighbours { before: last, after: None };
        self.rows[thread.index()] =
            Relative { leader, is_alive: true, neighbours, ..Relative::default() };
        match last {
            Some(last) => self.rows[last.index()].neighbours.after = Some(thread),
            None => self.rows[leader.index()].threads.first = Some(thread),
        }
    }

    /// `task` has died.
    pub fn die(&mut self, task: Pid) {
        self.rows[task.index()].is_alive = false;
        let leader = self.leader(task);
        let heir = self.threads(leader).find(|&thread| self.is_alive(thread)).unwrap_or(ROOT);
        let orphans = core::mem::take(&mut self.rows[task.index()].children);
        let mut next = orphans.first;
        while let Some(child) = next {
            next = self.rows[child.index()].neighbours.after;
            self.adopt(heir, child);
        }
        if task != leader {
            let Neighbours { before, after } = self.unlink(task);
            let threads = &mut self.rows[leader.index()].threads;
            if before.is_none() {
                threads.first = after;
            }
            if after.is_none() {
                threads.last = before;
            }
        }
    }

    /// The parent of the dead `task` has taken notice of its end.
    pub fn reap(&mut self, task: Pid) {
        let Some(row) = self.rows.get_mut(task.index()) else {
            return;
        };
        if !core::mem::take(&mut row.is_child) {
            return;
        }
        let parent = row.parent;
        let Neighbours { before, after } = self.unlink(task);
        let children = &mut self.rows[parent.index()].children;
        if before.is_none() {
            children.first = after;
        }
        if after.is_none() {
            children.last = before;
        }
    }

    /// Puts `child` at the end of the list of children of `parent`.
    fn adopt(&mut self, parent: Pid, child: Pid) {
        let last = self.rows[parent.index()].children.last.replace(child);
        match last {
            Some(last) => self.rows[last.index()].neighbours.after = Some(child),
            None => self.rows[parent.index()].children.first = Some(child),
        }
        let row = &mut self.rows[child.index()];
        row.parent = parent;
        row.is_child = true;
        row.neighbours = Neighbours { before: last, after: None };
    }

    /// Joins the neighbours of `task` to each other.
    fn unlink(&mut self, task: Pid) -> Neighbours {
        let neighbours = core::mem::take(&mut self.rows[task.index()].neighbours);
        if let Some(before) = neighbours.before {
            self.rows[before.index()].neighbours.after = neighbours.after;
        }
        if let Some(after) = neighbours.after {
            self.rows[after.index()].neighbours.before = neighbours.before;
        }
        neighbours
    }

    /// The main thread of the process of `task`.
    pub fn leader(&self, task: Pid) -> Pid {
        self.rows[task.index()].leader
    }

    /// The parent of `task`, which is that of its whole process. The root's is the root.
    pub fn parent(&self, task: Pid) -> Pid {
        self.rows[self.leader(task).index()].parent
    }

    /// Whether `task` lives.
    pub fn is_alive(&self, task: Pid) -> bool {
        self.rows[task.index()].is_alive
    }

    /// Number of children of `task`, dead ones included, counted up to 2.
    pub fn children_up_to_two(&self, task: Pid) -> u32 {
        self.children(task).take(2).count() as u32
    }

    /// The child of `task`, if it has exactly one.
    pub fn only_child(&self, task: Pid) -> Option<Pid> {
        let Ends { first, last } = self.rows[task.index()].children;
        first.filter(|_| first == last)
    }

    /// The children of `task`, dead ones included, in the order of births and adoptions.
    pub fn children(&self, task: Pid) -> impl Iterator<Item = Pid> + '_ {
        self.list(self.rows[task.index()].children.first)
    }

    /// The threads of the process whose main thread is `leader`: first that thread, even if it is
    /// dead.
    pub fn threads(&self, leader: Pid) -> impl Iterator<Item = Pid> + '_ {
        core::iter::once(leader).chain(self.list(self.rows[leader.index()].threads.first))
    }

    fn list(&self, first: Option<Pid>) -> impl Iterator<Item = Pid> + '_ {
        core::iter::successors(first, |&task| self.rows[task.index()].neighbours.after)
    }

    /// Whether every child's parent is the task in whose list it is, and both ends of each list are
    /// right. For tests.
    pub fn is_sound(&self) -> bool {
        (0..self.rows.len() as u32).map(Pid).all(|task| {
            let row = &self.rows[task.index()];
            let of_parent = |child: Pid| self.rows[child.index()].parent == task;
            let of_leader = |thread: Pid| self.leader(thread) == task && self.is_alive(thread);
            self.children(task).last() == row.children.last
                && self.children(task).all(of_parent)
                && self.list(row.threads.first).last() == row.threads.last
                && self.list(row.threads.first).all(of_leader)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kin() -> Kin {
        let mut kin = Kin::default();
        kin.make_room(Pid(20));
        kin
    }

    fn children(kin: &Kin, task: u32) -> Vec<u32> {
        kin.children(Pid(task)).map(|child| child.0).collect()
    }

    #[test]
    fn orphans_go_to_a_living_thread_and_then_to_the_root() {
        let mut kin = kin();
        kin.add_process(ROOT, Pid(2));
        kin.add_process(Pid(2), Pid(3));
        kin.add_thread(Pid(2), Pid(4));
        kin.add_thread(Pid(4), Pid(5));
        kin.add_process(Pid(4), Pid(6));
        assert_eq!((kin.parent(Pid(5)), kin.leader(Pid(5))), (ROOT, Pid(2)));
        kin.die(Pid(2));
        assert_eq!((children(&kin, 2), children(&kin, 4)), (Vec::new(), [6, 3].to_vec()));
        kin.die(Pid(4));
        assert_eq!(kin.threads(Pid(2)).collect::<Vec<_>>(), [Pid(2), Pid(5)]);
        assert_eq!(children(&kin, 5), [6, 3]);
        assert!(kin.is_sound());
        kin.die(Pid(5));
        assert_eq!(children(&kin, 0), [2, 6, 3]);
        assert_eq!(kin.parent(Pid(3)), ROOT);
        assert!(kin.is_sound());
    }

    #[test]
    fn zombies_count_until_they_are_reaped() {
        let mut kin = kin();
        for child in [2, 3, 4] {
            kin.add_process(ROOT, Pid(child));
        }
        kin.die(Pid(3));
        assert_eq!(children(&kin, 0), [2, 3, 4]);
        kin.reap(Pid(3));
        kin.reap(Pid(3));
        kin.reap(Pid(4));
        assert_eq!((children(&kin, 0), kin.only_child(ROOT)), ([2].to_vec(), Some(Pid(2))));
        assert_eq!(kin.children_up_to_two(ROOT), 1);
        kin.add_process(ROOT, Pid(5));
        assert_eq!((kin.only_child(ROOT), kin.children_up_to_two(ROOT)), (None, 2));
        assert!(kin.is_sound());
    }
}
