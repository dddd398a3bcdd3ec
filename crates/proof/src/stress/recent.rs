//! The last events of a run, to find the cause of a failure.

use schedlab_core::{BlockReason, CpuId, Event, TaskId, Waker};
use schedlab_machine::Observer;
use std::collections::VecDeque;
use std::fmt::Write;

/// Keeps the last events as text.
#[derive(Clone, Debug)]
pub struct Recent {
    lines: VecDeque<String>,
    most: usize,
}

impl Recent {
    /// Keeps the last `most` events.
    pub fn new(most: usize) -> Recent {
        Recent { lines: VecDeque::with_capacity(most), most }
    }

    /// Returns the events, oldest first.
    pub fn into_lines(self) -> Vec<String> {
        self.lines.into()
    }

    fn add(&mut self, now_ns: u64, what: impl FnOnce(&mut String)) {
        if self.lines.len() == self.most {
            self.lines.pop_front();
        }
        let mut line = format!("{now_ns:>14} ns  ");
        what(&mut line);
        self.lines.push_back(line);
    }
}

/// Returns the name of a task; without a task, `idle`.
fn who(task: Option<TaskId>) -> String {
    task.map_or("idle".into(), |task| format!("task {}", task.0))
}

// Writing to a string cannot fail.
impl Observer for Recent {
    #[inline]
    fn on(&mut self, now_ns: u64, event: Event<'_>) {
        match event {
            Event::Started { task, cpu, .. } => self.started(now_ns, task, cpu),
            Event::Woken { task, cpu, waker, .. } => self.woken(now_ns, task, cpu, waker),
            Event::Blocked { task, cpu, reason } => self.blocked(now_ns, task, cpu, reason),
            Event::Killed { task } => self.killed(now_ns, task),
            Event::Switched { cpu, prev, prev_runnable, next, .. } => {
                self.switched(now_ns, cpu, prev, prev_runnable, next)
            }
            Event::Migrated { task, from, to, .. } => self.migrated(now_ns, task, from, to),
            _ => {}
        }
    }
}

impl Recent {
    fn started(&mut self, now_ns: u64, task: TaskId, cpu: CpuId) {
        self.add(now_ns, |line| {
            let _ = write!(line, "task {} starts on CPU {}", task.0, cpu.0);
        });
    }

    fn woken(&mut self, now_ns: u64, task: TaskId, cpu: CpuId, waker: Waker) {
        self.add(now_ns, |line| {
            let _ = write!(line, "task {} wakes on CPU {}, by {waker:?}", task.0, cpu.0);
        });
    }

    fn blocked(&mut self, now_ns: u64, task: TaskId, cpu: CpuId, reason: BlockReason) {
        self.add(now_ns, |line| {
            let _ = write!(line, "task {} blocks on CPU {}: {reason:?}", task.0, cpu.0);
        });
    }

    fn killed(&mut self, now_ns: u64, task: TaskId) {
        self.add(now_ns, |line| {
            let _ = write!(line, "task {} ends off its CPU", task.0);
        });
    }

    fn switched(
        &mut self,
        now_ns: u64,
        cpu: CpuId,
        prev: Option<TaskId>,
        runnable: bool,
        next: Option<TaskId>,
    ) {
        let how = if runnable { " (preempted)" } else { "" };
        self.add(now_ns, |line| {
            let _ = write!(line, "CPU {}: {}{how} -> {}", cpu.0, who(prev), who(next));
        });
    }

    fn migrated(&mut self, now_ns: u64, task: TaskId, from: CpuId, to: CpuId) {
        self.add(now_ns, |line| {
            let _ = write!(line, "task {} moves from CPU {} to CPU {}", task.0, from.0, to.0);
        });
    }
}
