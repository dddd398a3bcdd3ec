//! The runqueue: one list of all runnable tasks of the machine, without an order of merit.
//!
//! The kernel links the tasks themselves into a ring. Here the list is an array with room at both
//! ends. A task that leaves makes a hole in it. The array holds copies of the inputs of goodness,
//! so that a walk reads consecutive memory instead of following links. All other operations remain
//! O(1): the holes are removed when they are about a quarter of the list, so that this costs O(1)
//! for each task that has left.

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::{Index, IndexMut};
use schedlab_core::index::TypedIndex;
use schedlab_core::{CpuId, TaskId, TaskTable, define_index};

/// A task as seen by the walk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Queued {
    /// The task.
    pub(super) task: TaskId,
    /// Goodness without the bonuses for CPU and address space.
    pub(super) weight: i32,
    /// The CPU on which it runs, or ran last.
    pub(super) processor: CpuId,
    /// Its address space.
    pub(super) mm: u32,
}

/// An empty slot. Its weight is less than that of the idle task, so that the walk skips it like a
/// task that is not good enough. Its other fields are unused.
const HOLE: Queued = Queued { task: TaskId(0), weight: i32::MIN, processor: CpuId(0), mm: 0 };

impl Queued {
    #[inline]
    const fn is_hole(&self) -> bool {
        self.weight == HOLE.weight
    }
}

define_index! {
    /// A slot of the list.
    struct Slot;
}

/// All runnable tasks, the running ones included, from head to tail.
#[derive(Clone, Debug)]
pub(super) struct RunQueue {
    /// Only `head..tail` is in use, and neither end of it is a hole.
    slots: Vec<Queued>,
    head: usize,
    tail: usize,
    /// Number of tasks in the list: the kernel's `nr_running`.
    len: usize,
    /// By task: its slot. `None`: it is not in the list.
    slot_of: TaskTable<Option<Slot>>,
}

impl RunQueue {
    /// Creates an empty list.
    pub(super) const fn new() -> RunQueue {
        RunQueue { slots: Vec::new(), head: 0, tail: 0, len: 0, slot_of: TaskTable::new() }
    }

    /// Makes room for `task`, given that `alive` tasks now exist. Nothing else here allocates.
    pub(super) fn make_room(&mut self, task: TaskId, alive: usize) {
        self.slot_of.insert(task, None);
        if self.slots.len() < 3 * alive {
            self.slots.resize(6 * alive + 64, HOLE);
            self.sweep();
        }
    }

    /// Returns the number of tasks in the list.
    #[inline]
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Whether `task` is in the list.
    #[inline]
    pub(super) fn contains(&self, task: TaskId) -> bool {
        self.slot_of[task].is_some()
    }

    /// Returns the copy of `task` for updates, if it is in the list.
    #[inline]
    pub(super) fn get_mut(&mut self, task: TaskId) -> Option<&mut Queued> {
        self.slot_of[task].map(|slot| &mut self.slots[slot.index()])
    }

    /// Returns the tasks from head to tail, with holes among them, whose weight is less than that
    /// of any task.
    #[inline]
    pub(super) fn with_holes(&self) -> &[Queued] {
        &self.slots[self.head..self.tail]
    }

    /// Returns the tasks from head to tail.
    pub(super) fn iter(&self) -> impl Iterator<Item = TaskId> + '_ {
        let tasks = self.with_holes().iter().filter(|slot| !slot.is_hole());
        tasks.map(|slot| slot.task)
    }

    /// Returns the tasks from head to tail, for updates.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Queued> + '_ {
        let slots = self.slots[self.head..self.tail].iter_mut();
        slots.filter(|slot| !slot.is_hole())
    }

    /// Puts a task before all others.
    #[inline]
    pub(super) fn push_head(&mut self, queued: Queued) {
        if self.head == 0 {
            self.sweep();
        }
        self.head -= 1;
        self.put(queued, self.head);
    }

    /// Puts a task behind all others.
    #[inline]
    pub(super) fn push_tail(&mut self, queued: Queued) {
        if self.tail == self.slots.len() {
            self.sweep();
        }
        self.tail += 1;
        self.put(queued, self.tail - 1);
    }

    #[inline]
    fn put(&mut self, queued: Queued, slot: usize) {
        let task = queued.task;
        debug_assert!(!self.contains(task), "task {} is in the runqueue", task.0);
        self.slots[slot] = queued;
        self.slot_of[task] = Some(Slot::new(slot));
        self.len += 1;
    }

    /// Removes `task`, which must be in the list.
    #[inline]
    pub(super) fn remove(&mut self, task: TaskId) -> Queued {
        let Some(slot) = self.slot_of[task].take() else {
            unreachable!("task {} is not in the runqueue", task.0);
        };
        let queued = core::mem::replace(&mut self.slots[slot.index()], HOLE);
        self.len -= 1;
        while self.head < self.tail && self.slots[self.head].is_hole() {
            self.head += 1;
        }
        while self.head < self.tail && self.slots[self.tail - 1].is_hole() {
            self.tail -= 1;
        }
        let holes = self.tail - self.head - self.len;
        if holes > self.len / 4 + 4 {
            self.sweep();
        }
        queued
    }

    /// Closes the holes and centres the list in its room. At least one slot is then free at either
    /// end.
    #[cold]
    fn sweep(&mut self) {
        let mut kept = 0;
        for slot in self.head..self.tail {
            if !self.slots[slot].is_hole() {
                self.slots[kept] = self.slots[slot];
                kept += 1;
            }
        }
        self.head = (self.slots.len() - kept) / 2;
        self.tail = self.head + kept;
        self.slots.copy_within(..kept, self.head);
        for slot in self.head..self.tail {
            self.slot_of[self.slots[slot].task] = Some(Slot::new(slot));
        }
    }

    /// Checks slots against tasks.
    ///
    /// # Errors
    ///
    /// The inconsistency found.
    pub(super) fn audit(&self) -> Result<(), String> {
        let mut found = 0;
        for (slot, queued) in (self.head..).zip(self.with_holes()) {
            if queued.is_hole() {
                continue;
            }
            found += 1;
            let noted = self.slot_of[queued.task];
            if noted != Some(Slot::new(slot)) {
                return Err(alloc::format!(
                    "task {} is in slot {slot}, not {noted:?}",
                    queued.task.0
                ));
            }
        }
        let listed = self.slot_of.iter().filter(|(_, slot)| slot.is_some()).count();
        if found != self.len || listed != self.len {
            return Err(alloc::format!(
                "nr_running is {}, but {found} tasks are in the list and {listed} have a slot",
                self.len
            ));
        }
        Ok(())
    }
}

impl Index<TaskId> for RunQueue {
    type Output = Queued;
    #[inline]
    fn index(&self, task: TaskId) -> &Queued {
        let slot = self.slot_of[task].expect("the task is in the runqueue");
        &self.slots[slot.index()]
    }
}

impl IndexMut<TaskId> for RunQueue {
    #[inline]
    fn index_mut(&mut self, task: TaskId) -> &mut Queued {
        let slot = self.slot_of[task].expect("the task is in the runqueue");
        &mut self.slots[slot.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;

    fn of_number(task: u32) -> Queued {
        Queued { task: TaskId(task), weight: 1, ..HOLE }
    }

    fn of(queue: &RunQueue) -> Vec<u32> {
        queue.iter().map(|task| task.0).collect()
    }

    #[test]
    fn both_ends_take_tasks_and_any_may_leave() {
        let mut queue = RunQueue::new();
        for task in 0..4 {
            queue.make_room(TaskId(task), task as usize + 1);
        }
        queue.push_head(of_number(0));
        queue.push_head(of_number(1));
        queue.push_tail(of_number(2));
        queue.push_head(of_number(3));
        assert_eq!(of(&queue), [3, 1, 0, 2]);
        queue.remove(TaskId(1));
        assert_eq!((of(&queue), queue.len()), (alloc::vec![3, 0, 2], 3));
        assert!(!queue.contains(TaskId(1)) && queue.contains(TaskId(2)));
        queue.push_tail(of_number(1));
        assert_eq!(of(&queue), [3, 0, 2, 1]);
    }

    #[test]
    fn it_acts_like_a_list_whatever_comes_and_goes() {
        const TASKS: u32 = 50;
        let mut queue = RunQueue::new();
        let mut list: VecDeque<u32> = VecDeque::new();
        let mut random: u64 = 7;
        for task in 0..TASKS {
            queue.make_room(TaskId(task), task as usize + 1);
        }
        for step in 0..20_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let task = (random >> 33) as u32 % TASKS;
            if let Some(at) = list.iter().position(|&other| other == task) {
                list.remove(at);
                queue.remove(TaskId(task));
            } else if random >> 62 == 0 {
                list.push_back(task);
                queue.push_tail(of_number(task));
            } else {
                list.push_front(task);
                queue.push_head(of_number(task));
            }
            assert_eq!(list, of(&queue), "after step {step}");
            queue.audit().expect("the slots are in order");
        }
    }
}
