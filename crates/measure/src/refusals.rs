//! Requests of tasks that were refused: policies, affinities, groups, forks.

use schedlab_core::{Errno, Event, Observer, Policy, Request, TaskId};

/// Number of refusals kept in full.
pub const REFUSALS_KEPT: usize = 100;

/// A refused request of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// Time, ns.
    pub at_ns: u64,
    /// Task.
    pub task: TaskId,
    /// Refused request.
    pub request: Request,
    /// Reason.
    pub errno: Errno,
    /// Policy that stays in force.
    pub policy: Policy,
    /// Whether the request came from outside the machine (a timetable) and its author was notified.
    pub from_outside: bool,
}

/// Records the first refusals in full, and counts all of them.
#[derive(Clone, Debug, Default)]
pub struct Refusals {
    kept: Vec<Refusal>,
    count: u64,
    /// By task: number of refusals, and the policy in force.
    tasks: Vec<(u64, Policy)>,
}

impl Refusals {
    /// Creates an empty recorder.
    pub fn new() -> Refusals {
        Refusals::default()
    }

    /// Returns the first refusals, at most [`REFUSALS_KEPT`].
    pub fn kept(&self) -> &[Refusal] {
        &self.kept
    }

    /// Returns the number of refusals.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the number of refusals of `task`.
    pub fn of_task(&self, task: TaskId) -> u64 {
        self.tasks.get(task.index()).map_or(0, |&(count, _)| count)
    }

    fn row(&mut self, task: TaskId) -> &mut (u64, Policy) {
        if task.index() >= self.tasks.len() {
            self.tasks.resize(task.index() + 1, (0, Policy::Other));
        }
        &mut self.tasks[task.index()]
    }
}

impl Observer for Refusals {
    #[inline]
    fn on(&mut self, now_ns: u64, event: Event<'_>) {
        match event {
            Event::Born { task, attr, .. } => self.row(task).1 = attr.sched.policy,
            Event::AttrChanged { task, attr } => self.row(task).1 = attr.policy,
            Event::Refused { task, request, errno, from_outside } => {
                self.count += 1;
                let row = self.row(task);
                row.0 += 1;
                let policy = row.1;
                if self.kept.len() < REFUSALS_KEPT {
                    let at_ns = now_ns;
                    let refusal = Refusal { at_ns, task, request, errno, policy, from_outside };
                    self.kept.push(refusal);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_core::{SchedAttr, TaskAttr};

    #[test]
    fn refusals_are_counted_and_the_first_kept() {
        let mut seen = Refusals::new();
        let attr = TaskAttr::default();
        seen.on(0, Event::Born { task: TaskId(1), parent: None, attr: &attr });
        let batch = SchedAttr { policy: Policy::Batch, ..SchedAttr::default() };
        seen.on(1, Event::AttrChanged { task: TaskId(1), attr: &batch });
        for at_ns in 2..=200 {
            let request = Request::Policy(Policy::Deadline);
            let refused = Event::Refused {
                task: TaskId(1),
                request,
                errno: Errno::Busy,
                from_outside: false,
            };
            seen.on(at_ns, refused);
        }
        assert_eq!((seen.count(), seen.of_task(TaskId(1)), seen.of_task(TaskId(0))), (199, 199, 0));
        assert_eq!(seen.kept().len(), REFUSALS_KEPT);
        assert_eq!((seen.kept()[0].at_ns, seen.kept()[0].policy), (2, Policy::Batch));
    }
}
