//! Names of tasks, groups and rules, which a run identifies by number: [`Names`].

use schedlab_core::{RuleDoc, TaskId, Who, reason::Rule};

/// Names of the tasks, groups and rules of a run.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Threads, by task number.
    pub tasks: Vec<String>,
    /// Paths of groups, by group number; the root comes first.
    pub groups: Vec<String>,
    /// The rules of the scheduler.
    pub rules: Vec<RuleDoc>,
}

impl Names {
    /// Returns the name of a task.
    pub fn task(&self, task: TaskId) -> &str {
        self.tasks.get(task.index()).map_or("?", String::as_str)
    }

    /// Returns the name of a task, a group or a kernel thread.
    pub fn who(&self, who: Who) -> &str {
        match who {
            Who::Task(task) => self.task(task),
            Who::Group(group) => self.groups.get(group.index()).map_or("?", |path| path.as_str()),
            Who::Kernel(name) => name,
        }
    }

    /// Returns the description of a rule. `None`: the scheduler does not describe it.
    pub fn rule(&self, rule: Rule) -> Option<&RuleDoc> {
        self.rules.iter().find(|doc| doc.rule == rule)
    }
}
