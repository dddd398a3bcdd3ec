//! Figures that a golden file has of each thread, counted in a replay.
//!
//! The programs that made the files examined the machine at the end of every nanosecond. So a turn
//! that a preemption ends in the nanosecond in which it began is not a turn, and the wait
//! continues. (`schedlab_measure::Stats`, which `schedlab run` shows, counts switches as they
//! happen; its waits are the same.)

use schedlab_core::{CpuId, Event, Observer, TaskId, TaskTable};

/// Figures of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ThreadFigures {
    /// CPU time, ns.
    pub runtime_ns: u64,
    /// Time runnable without a CPU, ns.
    pub wait_ns: u64,
    /// The longest such time, ns.
    pub max_wait_ns: u64,
}

/// Counts the figures; an observer.
#[derive(Debug, Default)]
pub struct Figures {
    tasks: TaskTable<Row>,
    /// Tasks with events at `now_ns`.
    touched: Vec<TaskId>,
    now_ns: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Row {
    runnable: bool,
    on: Option<CpuId>,
    /// The CPU that the task had at the end of an earlier nanosecond, and since when, ns.
    seen_on: Option<(CpuId, u64)>,
    waits_since_ns: Option<u64>,
    counted: ThreadFigures,
}

impl Row {
    /// Updates the figures at the end of a nanosecond.
    fn settle(&mut self, now_ns: u64) {
        if self.seen_on.map(|(cpu, _)| cpu) != self.on {
            self.leave(now_ns);
            self.seen_on = self.on.map(|cpu| (cpu, now_ns));
        }
        match (self.runnable && self.on.is_none(), self.waits_since_ns) {
            (true, None) => self.waits_since_ns = Some(now_ns),
            (false, Some(_)) => self.end_wait(now_ns),
            _ => {}
        }
    }

    fn leave(&mut self, now_ns: u64) {
        if let Some((_, since_ns)) = self.seen_on.take() {
            self.counted.runtime_ns += now_ns - since_ns;
        }
    }

    fn end_wait(&mut self, now_ns: u64) {
        if let Some(since_ns) = self.waits_since_ns.take() {
            let wait_ns = now_ns - since_ns;
            self.counted.wait_ns += wait_ns;
            self.counted.max_wait_ns = self.counted.max_wait_ns.max(wait_ns);
        }
    }
}

impl Figures {
    /// Figures of each task.
    pub fn all(&self) -> impl Iterator<Item = (TaskId, ThreadFigures)> {
        self.tasks.iter().map(|(task, row)| (task, row.counted))
    }

    fn touch(&mut self, task: TaskId) -> &mut Row {
        self.touched.push(task);
        &mut self.tasks[task]
    }

    fn settle(&mut self) {
        let now_ns = self.now_ns;
        for task in self.touched.drain(..) {
            self.tasks[task].settle(now_ns);
        }
    }
}

impl Observer for Figures {
    fn on(&mut self, now_ns: u64, event: Event<'_>) {
        if now_ns != self.now_ns {
            self.settle();
            self.now_ns = now_ns;
        }
        match event {
            Event::Born { task, .. } => self.tasks.insert(task, Row::default()),
            Event::Started { task, .. } | Event::Woken { task, .. } => {
                self.touch(task).runnable = true;
            }
            Event::Blocked { task, .. } => self.touch(task).runnable = false,
            Event::Killed { task } if task.index() < self.tasks.len() => {
                self.touch(task).runnable = false;
            }
            Event::Switched { cpu, prev, next, .. } => {
                if let Some(prev) = prev {
                    self.touch(prev).on = None;
                }
                if let Some(next) = next {
                    self.touch(next).on = Some(cpu);
                }
            }
            Event::Finished => {
                self.settle();
                for task in 0..self.tasks.len() as u32 {
                    let row = &mut self.tasks[TaskId(task)];
                    row.leave(now_ns);
                    row.end_wait(now_ns);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_core::{BlockReason, TaskAttr};

    const A: TaskId = TaskId(0);
    const CPU: CpuId = CpuId(0);

    fn after(events: &[(u64, Event<'_>)]) -> ThreadFigures {
        let mut figures = Figures::default();
        figures.on(0, Event::Born { task: A, parent: None, attr: &TaskAttr::default() });
        figures.on(0, Event::started(A, CPU));
        for &(at_ns, event) in events {
            figures.on(at_ns, event);
        }
        figures.on(100, Event::Finished);
        figures.all().next().expect("there is a task").1
    }

    #[test]
    fn a_turn_of_no_length_is_none_and_ends_no_wait() {
        let counted = after(&[
            (30, Event::switched(CPU, None, false, Some(A))),
            (30, Event::switched(CPU, Some(A), true, None)),
            (50, Event::switched(CPU, None, false, Some(A))),
            (80, Event::blocked(A, CPU, BlockReason::Interruptible)),
            (80, Event::switched(CPU, Some(A), false, None)),
        ]);
        let expected = ThreadFigures { runtime_ns: 30, wait_ns: 50, max_wait_ns: 50 };
        assert_eq!(counted, expected);
    }

    #[test]
    fn what_goes_on_at_the_end_counts_to_there() {
        let expected = ThreadFigures { wait_ns: 100, max_wait_ns: 100, ..ThreadFigures::default() };
        assert_eq!(after(&[]), expected);
        let runs = after(&[(40, Event::switched(CPU, None, false, Some(A)))]);
        let expected = ThreadFigures { runtime_ns: 60, wait_ns: 40, max_wait_ns: 40 };
        assert_eq!(runs, expected);
    }
}
