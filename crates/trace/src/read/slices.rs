//! Formats that record slices (periods in which a task had a CPU) instead of switches: [`Slices`]
//! converts slices to switches.

use super::feed::{CPUS_MAX, Current, EventKind, Feed, FeedEvent, Task};
use super::names::Names;
use super::problems::{Place, Trouble};
use super::states::SwitchState;
use crate::tracepoint::{Context, State};

/// Slice of a task on a CPU.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slice {
    pub cpu: u32,
    pub begin_ns: u64,
    pub end_ns: u64,
    pub task: Task,
    /// State in which the task leaves.
    pub state: State,
}

/// Last slice of each CPU, whose end is delayed until its successor is known.
#[derive(Debug, Default)]
pub(super) struct Slices {
    last: Vec<Option<Slice>>,
}

fn push(feed: &mut Feed<'_>, at_ns: u64, cpu: u32, prev: Task, state: State, next: Task) {
    let what = EventKind::Switch { prev, state: SwitchState::Known(state), next };
    let current = Current { pid: Some(prev.pid), name: prev.name };
    feed.push(FeedEvent { at_ns, cpu, context: Context::Task, current, what });
}

/// The idle task.
const IDLE: Task = Task { name: Names::IDLE, pid: 0, prio: 120 };

impl Slices {
    /// Adds the next slice of a CPU.
    pub fn add(&mut self, slice: Slice, place: Place, feed: &mut Feed<'_>) {
        let cpu = slice.cpu;
        if cpu >= CPUS_MAX || slice.end_ns < slice.begin_ns || slice.task.pid == 0 {
            let detail = || "a slice has an invalid CPU, ends before it begins, or is idle".into();
            feed.problems.note(Trouble::Unreadable, 1, place, detail);
            return;
        }
        let index = cpu as usize;
        if index >= self.last.len() {
            self.last.resize(index + 1, None);
        }
        let (prev, state) = match self.last[index] {
            Some(last) if last.end_ns > slice.begin_ns => {
                let detail = || format!("a slice of CPU {cpu} begins before the last one ends");
                feed.problems.note(Trouble::Unreadable, 1, place, detail);
                return;
            }
            Some(last) if last.end_ns == slice.begin_ns => (last.task, last.state),
            Some(last) => {
                push(feed, last.end_ns, cpu, last.task, last.state, IDLE);
                (IDLE, State::Runnable)
            }
            None => (IDLE, State::Runnable),
        };
        if prev.pid != slice.task.pid {
            push(feed, slice.begin_ns, cpu, prev, state, slice.task);
        }
        self.last[index] = Some(slice);
    }

    /// Delivers the remaining ends.
    pub fn finish(self, feed: &mut Feed<'_>) {
        for last in self.last.into_iter().flatten() {
            push(feed, last.end_ns, last.cpu, last.task, last.state, IDLE);
        }
    }
}
