//! The ready queue: waiting tasks by rank, then by the time of joining.

use alloc::vec::Vec;
use schedlab_core::index::TypedIndex;
use schedlab_core::{TaskId, TaskTable, define_index};

/// A task's place: by rank (smaller first), then by the time of joining.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place {
    /// The value by which the policy orders.
    pub rank: u64,
    /// A number that grows with each joining.
    pub joined: u64,
}

define_index! {
    /// A slot of the heap.
    struct Slot;
}

/// A binary heap that knows the position of each task.
#[derive(Debug, Default)]
pub struct Ready {
    heap: Vec<(Place, TaskId)>,
    /// By task: its slot in `heap`. `None`: it is not in the heap.
    slot_of: TaskTable<Option<Slot>>,
}

impl Place {
    const fn before(self, other: Place) -> bool {
        self.rank < other.rank || (self.rank == other.rank && self.joined < other.joined)
    }
}

impl Ready {
    /// Makes room for `task`.
    pub fn admit(&mut self, task: TaskId) {
        self.slot_of.insert(task, None);
        self.heap.reserve(self.slot_of.len() - self.heap.len());
    }

    /// Whether no task waits.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// Returns all waiting tasks, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (Place, TaskId)> + '_ {
        self.heap.iter().copied()
    }

    /// Whether `task` waits.
    pub fn contains(&self, task: TaskId) -> bool {
        self.slot_of[task].is_some()
    }

    /// Inserts `task`.
    pub fn insert(&mut self, task: TaskId, place: Place) {
        debug_assert!(!self.contains(task));
        self.heap.push((place, task));
        self.sift_up(self.heap.len() - 1);
    }

    /// Removes `task`, if it is in the heap. Returns whether it was.
    pub fn remove(&mut self, task: TaskId) -> bool {
        let Some(slot) = self.slot_of[task].take() else {
            return false;
        };
        let at = slot.index();
        let last = self.heap.pop().expect("the task is in the heap");
        if at < self.heap.len() {
            self.heap[at] = last;
            let at = self.sift_up(at);
            self.sift_down(at);
        }
        true
    }

    /// Returns the first task for which `may_run` holds: O(1) if it is the first of all, else a
    /// walk through all.
    pub fn first(&self, may_run: impl Fn(TaskId) -> bool) -> Option<(Place, TaskId)> {
        let &(place, task) = self.heap.first()?;
        if may_run(task) {
            return Some((place, task));
        }
        self.iter().filter(|&(_, task)| may_run(task)).min_by_key(|&(place, _)| place)
    }

    fn sift_up(&mut self, mut at: usize) -> usize {
        while at > 0 && self.heap[at].0.before(self.heap[(at - 1) / 2].0) {
            self.heap.swap(at, (at - 1) / 2);
            self.slot_of[self.heap[at].1] = Some(Slot::new(at));
            at = (at - 1) / 2;
        }
        self.slot_of[self.heap[at].1] = Some(Slot::new(at));
        at
    }

    fn sift_down(&mut self, mut at: usize) {
        loop {
            let mut child = 2 * at + 1;
            if child >= self.heap.len() {
                break;
            }
            if child + 1 < self.heap.len() && self.heap[child + 1].0.before(self.heap[child].0) {
                child += 1;
            }
            if !self.heap[child].0.before(self.heap[at].0) {
                break;
            }
            self.heap.swap(at, child);
            self.slot_of[self.heap[at].1] = Some(Slot::new(at));
            at = child;
        }
        self.slot_of[self.heap[at].1] = Some(Slot::new(at));
    }

    /// Checks the heap's order and the index.
    ///
    /// # Errors
    ///
    /// The inconsistency found.
    pub fn audit(&self) -> Result<(), alloc::string::String> {
        for (at, &(place, task)) in self.heap.iter().enumerate() {
            if at > 0 && place.before(self.heap[(at - 1) / 2].0) {
                return Err(alloc::format!("ready queue: {place:?} is below a later one"));
            }
            if self.slot_of[task] != Some(Slot::new(at)) {
                return Err(alloc::format!(
                    "ready queue: task {} is in slot {at}, not {:?}",
                    task.0,
                    self.slot_of[task]
                ));
            }
        }
        Ok(())
    }
}
