//! Why a scheduler did what it did: who could have been picked at a moment and with what keys, why
//! a task waits, where a wakeup went, and what made the longest waits of a run so long.
//!
//! A run is the same whether or not somebody asks for the grounds of its decisions. So everything
//! here is found by running again: up to the moment that is asked about, or with another nice
//! value, and looking.
//!
//! * [`Standing`]: how things stand at a moment, with every CPU's candidates;
//! * [`Wakeup`]: where a wakeup went, and whether it preempted;
//! * [`Wait`]: a long wait, and who had the CPU meanwhile;
//! * [`Margin`]: what a candidate lacked.

mod effort;
mod margin;
mod standing;
mod subject;
mod waits;
mod watch;

pub use effort::Effort;
pub use margin::{Margin, NiceThatWins, margins, nice_that_wins};
pub use standing::{OnCpu, Standing, standing};
pub use waits::{Lost, Wait, longest_waits};
pub use watch::{Decision, TaskThen, TaskWas, Wakeup, Whose, wakeup};

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
