//! Names of what a run shows as numbers: [`Names`].

use schedlab_core::{RuleDoc, TaskId, Who, reason::Rule};

/// Names of what numbers stand for in a run.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Threads, by task number.
    pub tasks: Vec<String>,
    /// Groups' paths, by group number; the root's first.
    pub groups: Vec<String>,
    /// The rules of the scheduler.
    pub rules: Vec<RuleDoc>,
}

impl Names {
    /// A task's name.
    pub fn task(&self, task: TaskId) -> &str {
        self.tasks.get(task.index()).map_or("?", String::as_str)
    }

    /// The name of a task, a group or a thread of the kernel's own.
    pub fn who(&self, who: Who) -> &str {
        match who {
            Who::Task(task) => self.task(task),
            Who::Group(group) => self.groups.get(group.index()).map_or("?", |path| path.as_str()),
            Who::Kernel(name) => name,
        }
    }

    /// What a rule says; none if the scheduler names none.
    pub fn rule(&self, rule: Rule) -> Option<&RuleDoc> {
        self.rules.iter().find(|doc| doc.rule == rule)
    }
}
