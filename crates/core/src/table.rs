//! A table with a row for every task.

use crate::TaskId;
use alloc::vec::Vec;
use core::ops::{Index, IndexMut};

/// A table with a row for every task, addressed by the task's number. The row of a task that starts
/// late is `T::default()` until the task starts.
#[derive(Clone, Debug, Default)]
pub struct TaskTable<T> {
    rows: Vec<T>,
}

impl<T: Default> TaskTable<T> {
    /// Creates an empty table.
    pub const fn new() -> TaskTable<T> {
        TaskTable { rows: Vec::new() }
    }

    /// Sets the row of `task`, and makes room for it and for the rows before it.
    pub fn insert(&mut self, task: TaskId, row: T) {
        if task.index() >= self.rows.len() {
            self.rows.resize_with(task.index() + 1, T::default);
        }
        self.rows[task.index()] = row;
    }

    /// Returns the highest row number plus one.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether no task has a row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns all rows with their tasks, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (TaskId, &T)> {
        self.rows.iter().enumerate().map(|(number, row)| (TaskId(number as u32), row))
    }

    /// Returns all rows, ascending.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.rows.iter_mut()
    }
}

impl<T> Index<TaskId> for TaskTable<T> {
    type Output = T;
    #[inline]
    fn index(&self, task: TaskId) -> &T {
        &self.rows[task.index()]
    }
}

impl<T> IndexMut<TaskId> for TaskTable<T> {
    #[inline]
    fn index_mut(&mut self, task: TaskId) -> &mut T {
        &mut self.rows[task.index()]
    }
}
