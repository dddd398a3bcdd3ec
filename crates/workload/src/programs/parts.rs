//! The parts of a [`Kernel`].

use super::kernel::Kernel;
use super::part::{Part, PartId, PartState};
use super::task::{Stage, Task};
use schedlab_core::TaskId;

impl Kernel {
    /// Begins a part: tasks that are started from now on belong to it.
    pub fn begin_part(&mut self, part: Part) -> PartId {
        if self.tasks.is_empty() {
            // The first part is still empty.
            self.parts.clear();
        }
        self.parts.push(PartState::new(part));
        self.last_part()
    }

    /// Sets the time at which the last part is ended, ns by its own clock.
    pub fn limit_part(&mut self, limit_ns: Option<u64>) {
        if let Some(last) = self.parts.last_mut() {
            last.part.limit_ns = limit_ns;
        }
    }

    /// Returns how a part was started.
    pub fn part(&self, part: PartId) -> &Part {
        &self.parts[part.index()].part
    }

    /// Returns the part of `task`.
    pub fn part_of(&self, task: TaskId) -> PartId {
        self.tasks[task.index()].part
    }

    /// Returns the time at which a part was over, ns of the run. `None`: it is not over.
    pub fn part_over_ns(&self, part: PartId) -> Option<u64> {
        self.parts[part.index()].over_ns
    }

    /// Returns the parts with limits, and the times at which they end, ns of the run, in ascending
    /// order.
    pub fn deadlines(&self) -> Vec<(u64, PartId)> {
        let of = |(number, state): (usize, &PartState)| {
            let limit_ns = state.part.limit_ns?;
            Some((state.part.start_ns.saturating_add(limit_ns), PartId(number as u32)))
        };
        let mut deadlines: Vec<(u64, PartId)> =
            self.parts.iter().enumerate().filter_map(of).collect();
        deadlines.sort_by_key(|&(at_ns, part)| (at_ns, part.0));
        deadlines
    }

    /// Returns the tasks of a part that have not ended.
    pub fn living(&self, part: PartId) -> Vec<TaskId> {
        let lives = |task: &Task| task.part == part && !matches!(task.stage, Stage::Over);
        let tasks = self.tasks.iter().enumerate().filter(|(_, task)| lives(task));
        tasks.map(|(number, _)| TaskId(number as u32)).collect()
    }
}
