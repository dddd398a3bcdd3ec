//! The parts of a [`Kernel`].

use super::kernel::Kernel;
use super::part::{Part, PartId, Running};
use super::task::{Stage, Task};
use schedlab_core::TaskId;

impl Kernel {
    /// The tasks that are started from now on are of a part of their own.
    pub fn begin_part(&mut self, part: Part) -> PartId {
        if self.tasks.is_empty() {
            // Nobody was in the first one.
            self.parts.clear();
        }
        self.parts.push(Running::new(part));
        self.last_part()
    }

    /// The part that was begun last is ended after so long, ns by its own clock.
    pub fn limit_part(&mut self, limit_ns: Option<u64>) {
        if let Some(last) = self.parts.last_mut() {
            last.part.limit_ns = limit_ns;
        }
    }

    /// What a part was started with.
    pub fn part(&self, part: PartId) -> &Part {
        &self.parts[part.index()].part
    }

    /// The part of `task`.
    pub fn part_of(&self, task: TaskId) -> PartId {
        self.tasks[task.index()].part
    }

    /// When a part was over, ns of the run; none: it is not.
    pub fn part_over_ns(&self, part: PartId) -> Option<u64> {
        self.parts[part.index()].over_ns
    }

    /// The parts that are to be ended, and when, ns of the run: the first one first.
    pub fn deadlines(&self) -> Vec<(u64, PartId)> {
        let of = |(number, running): (usize, &Running)| {
            let limit_ns = running.part.limit_ns?;
            Some((running.part.start_ns.saturating_add(limit_ns), PartId(number as u32)))
        };
        let mut deadlines: Vec<(u64, PartId)> =
            self.parts.iter().enumerate().filter_map(of).collect();
        deadlines.sort_by_key(|&(at_ns, part)| (at_ns, part.0));
        deadlines
    }

    /// The tasks of a part that have not ended.
    pub fn living(&self, part: PartId) -> Vec<TaskId> {
        let lives = |task: &Task| task.part == part && !matches!(task.stage, Stage::Over);
        let tasks = self.tasks.iter().enumerate().filter(|(_, task)| lives(task));
        tasks.map(|(number, _)| TaskId(number as u32)).collect()
    }
}
