//! Which task ran where and when.

use schedlab_core::{CpuId, Event, Observer, TaskId};

/// Period in which a task had a CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slice {
    /// CPU.
    pub cpu: CpuId,
    /// Start, ns.
    pub start_ns: u64,
    /// End, ns; later than `start_ns`.
    pub end_ns: u64,
    /// Task.
    pub task: TaskId,
}

/// Part of a run that is recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent {
    /// Only what ends after this time, ns ...
    pub from_ns: u64,
    /// ... and begins before this time, ns.
    pub until_ns: u64,
    /// Maximum number of entries. If there are more, none is kept.
    pub most: usize,
}

impl Default for Extent {
    /// Returns the whole run.
    fn default() -> Extent {
        Extent { from_ns: 0, until_ns: u64::MAX, most: usize::MAX }
    }
}

impl Extent {
    pub(crate) fn covers(&self, start_ns: u64, end_ns: u64) -> bool {
        end_ns > self.from_ns && start_ns < self.until_ns
    }
}

/// Records all slices. Adjoining slices of one task on one CPU are merged. Slices without length
/// are left out.
#[derive(Clone, Debug, Default)]
pub struct SliceRecorder {
    extent: Extent,
    /// Whether there were more slices than allowed.
    is_over: bool,
    slices: Vec<Slice>,
    /// By CPU: the running task with its start, and the index of its last slice.
    cpus: Vec<CurrentRun>,
}

#[derive(Clone, Copy, Debug, Default)]
struct CurrentRun {
    running: Option<(TaskId, u64)>,
    last: Option<usize>,
}

impl SliceRecorder {
    /// Creates a recorder of all slices.
    pub fn new() -> SliceRecorder {
        SliceRecorder::default()
    }

    /// Creates a recorder of the slices within `extent`.
    pub fn within(extent: Extent) -> SliceRecorder {
        SliceRecorder { extent, ..SliceRecorder::default() }
    }

    /// Whether there were more slices than allowed. In that case none is kept.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    fn current_run(&mut self, cpu: CpuId) -> &mut CurrentRun {
        if cpu.index() >= self.cpus.len() {
            self.cpus.resize(cpu.index() + 1, CurrentRun::default());
        }
        &mut self.cpus[cpu.index()]
    }

    fn close(&mut self, cpu: CpuId, now_ns: u64) {
        let CurrentRun { running, last } = *self.current_run(cpu);
        let Some((task, start_ns)) = running else { return };
        if start_ns == now_ns || self.is_over || !self.extent.covers(start_ns, now_ns) {
            return;
        }
        if let Some(last) = last {
            let previous = &mut self.slices[last];
            if previous.task == task && previous.end_ns == start_ns {
                previous.end_ns = now_ns;
                return;
            }
        }
        if self.slices.len() >= self.extent.most {
            self.is_over = true;
            self.slices = Vec::new();
            return;
        }
        self.current_run(cpu).last = Some(self.slices.len());
        self.slices.push(Slice { cpu, start_ns, end_ns: now_ns, task });
    }

    /// Returns all slices by start, then CPU. Complete once the run is finished.
    pub fn into_slices(self) -> Vec<Slice> {
        let mut slices = self.slices;
        slices.sort_unstable_by_key(|slice| (slice.start_ns, slice.cpu));
        slices
    }
}

impl Observer for SliceRecorder {
    #[inline]
    fn on(&mut self, now_ns: u64, event: Event<'_>) {
        match event {
            Event::Switched { cpu, next, .. } => self.switched(now_ns, cpu, next),
            Event::Finished => self.finished(now_ns),
            _ => {}
        }
    }
}

impl SliceRecorder {
    fn switched(&mut self, now_ns: u64, cpu: CpuId, next: Option<TaskId>) {
        self.close(cpu, now_ns);
        self.current_run(cpu).running = next.map(|task| (task, now_ns));
    }

    fn finished(&mut self, now_ns: u64) {
        for cpu in 0..self.cpus.len() {
            self.close(CpuId(cpu as u32), now_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_recorded_than_was_asked_for() {
        let run = |extent: Extent| {
            let mut recorder = SliceRecorder::within(extent);
            let (cpu, tasks) = (CpuId(0), [TaskId(0), TaskId(1)]);
            for turn in 0..10 {
                let next = Some(tasks[turn % 2]);
                recorder.on(turn as u64 * 10, Event::switched(cpu, None, true, next));
            }
            recorder.on(100, Event::Finished);
            (recorder.is_over(), recorder.into_slices())
        };
        let all = Extent::default();
        assert_eq!(run(Extent { most: 10, ..all }).1.len(), 10);
        assert_eq!(run(Extent { most: 9, ..all }), (true, vec![]));
        // Slices that reach into the window are kept whole.
        let (over, slices) = run(Extent { from_ns: 15, until_ns: 40, most: 3 });
        assert_eq!((over, slices[0].start_ns, slices[2].end_ns), (false, 10, 40));
    }

    #[test]
    fn a_task_that_comes_back_in_the_same_nanosecond_has_one_slice() {
        let mut recorder = SliceRecorder::new();
        let (cpu, a, b) = (CpuId(1), TaskId(0), TaskId(1));
        recorder.on(0, Event::switched(cpu, None, false, Some(a)));
        recorder.on(5, Event::switched(cpu, Some(a), true, Some(b)));
        recorder.on(5, Event::switched(cpu, Some(b), false, Some(a)));
        recorder.on(7, Event::switched(cpu, Some(a), true, Some(b)));
        recorder.on(9, Event::Finished);
        let slices = recorder.into_slices();
        assert_eq!(
            slices,
            [
                Slice { cpu, start_ns: 0, end_ns: 7, task: a },
                Slice { cpu, start_ns: 7, end_ns: 9, task: b }
            ]
        );
    }
}
