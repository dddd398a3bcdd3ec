//! Spans: the times in which each task was runnable, from start or wakeup to the next sleep or the
//! end, with or without a CPU. Together with the slices, spans separate waiting from sleeping.

use crate::slices::Extent;
use schedlab_core::{Event, Observer, TaskId, TaskTable};

/// Period in which a task was runnable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// Start, ns.
    pub start_ns: u64,
    /// End, ns, later than `start_ns`.
    pub end_ns: u64,
    /// Task.
    pub task: TaskId,
}

/// Records all spans. Spans without length are left out. Two spans without a gap between them are
/// separate only if the task slept in between, for no time.
#[derive(Clone, Debug, Default)]
pub struct SpanRecorder {
    extent: Extent,
    /// Whether there were more spans than allowed.
    is_over: bool,
    spans: Vec<Span>,
    /// By task: time since which it has been runnable. `None`: it is not runnable.
    since: TaskTable<Option<u64>>,
}

impl SpanRecorder {
    /// Creates a recorder of all spans.
    pub fn new() -> SpanRecorder {
        SpanRecorder::default()
    }

    /// Creates a recorder of the spans within `extent`.
    pub fn within(extent: Extent) -> SpanRecorder {
        SpanRecorder { extent, ..SpanRecorder::default() }
    }

    /// Whether there were more spans than allowed. In that case none is kept.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    fn close(&mut self, task: TaskId, now_ns: u64) {
        if let Some(start_ns) = self.since[task].take()
            && start_ns < now_ns
            && !self.is_over
            && self.extent.covers(start_ns, now_ns)
        {
            if self.spans.len() >= self.extent.most {
                self.is_over = true;
                self.spans = Vec::new();
                return;
            }
            self.spans.push(Span { start_ns, end_ns: now_ns, task });
        }
    }

    /// Returns all spans by start, then task. Complete once the run is finished.
    pub fn into_spans(self) -> Vec<Span> {
        let mut spans = self.spans;
        spans.sort_unstable_by_key(|span| (span.start_ns, span.task));
        spans
    }
}

impl Observer for SpanRecorder {
    #[inline]
    fn on(&mut self, now_ns: u64, event: Event<'_>) {
        match event {
            Event::Started { task, .. } => self.started(now_ns, task),
            Event::Woken { task, .. } => self.woken(now_ns, task),
            Event::Blocked { task, .. } => self.blocked(now_ns, task),
            Event::Killed { task } => self.killed(now_ns, task),
            Event::Finished => self.finished(now_ns),
            _ => {}
        }
    }
}

impl SpanRecorder {
    fn started(&mut self, now_ns: u64, task: TaskId) {
        self.since.insert(task, Some(now_ns));
    }

    fn woken(&mut self, now_ns: u64, task: TaskId) {
        self.since[task] = Some(now_ns);
    }

    fn blocked(&mut self, now_ns: u64, task: TaskId) {
        self.close(task, now_ns);
    }

    fn killed(&mut self, now_ns: u64, task: TaskId) {
        if task.index() < self.since.len() {
            self.close(task, now_ns);
        }
    }

    fn finished(&mut self, now_ns: u64) {
        for task in 0..self.since.len() {
            self.close(TaskId(task as u32), now_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_core::{BlockReason, CpuId, Waker};

    #[test]
    fn a_span_goes_from_wakeup_to_sleep_whatever_runs() {
        let mut recorder = SpanRecorder::new();
        let cpu = CpuId(0);
        let (a, b, unborn) = (TaskId(0), TaskId(1), TaskId(7));
        recorder.on(3, Event::started(b, cpu));
        recorder.on(3, Event::started(a, cpu));
        recorder.on(4, Event::switched(cpu, None, false, Some(b)));
        recorder.on(9, Event::blocked(b, cpu, BlockReason::Interruptible));
        recorder.on(10, Event::Killed { task: unborn });
        recorder.on(12, Event::woken(b, cpu, Waker::Interrupt { cpu }));
        recorder.on(12, Event::blocked(b, cpu, BlockReason::Dead));
        recorder.on(20, Event::Finished);
        let spans: Vec<_> = recorder.into_spans();
        let rows: Vec<_> = spans.iter().map(|s| (s.task, s.start_ns, s.end_ns)).collect();
        assert_eq!(rows, [(a, 3, 20), (b, 3, 9)]);
    }

    #[test]
    fn who_is_killed_before_it_has_started_leaves_no_span() {
        for unborn in [1, 2, 7] {
            let mut recorder = SpanRecorder::new();
            recorder.on(3, Event::started(TaskId(0), CpuId(0)));
            recorder.on(5, Event::Killed { task: TaskId(unborn) });
            recorder.on(9, Event::Finished);
            let rows: Vec<_> =
                recorder.into_spans().iter().map(|s| (s.task, s.start_ns, s.end_ns)).collect();
            assert_eq!(rows, [(TaskId(0), 3, 9)]);
        }
    }
}
