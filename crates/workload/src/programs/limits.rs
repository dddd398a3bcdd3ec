//! Limits on a run: the number of threads, and of steps at one instant.

use super::task::Task;

/// One task may take so many steps at one nanosecond; then the run is stopped. A step that blocks
/// and is tried again is counted once; the first thousand of all tasks together are not counted.
pub const EVENTS_AT_ONE_INSTANT: u32 = 1_000_000;

/// All tasks together may take so many; and, if that is more, [`EVENTS_AT_ONE_INSTANT_EACH`] times
/// their number. Tasks that wake each other in turn without time passing would otherwise keep the
/// run busy for very long before one of them has done its million.
pub const EVENTS_AT_ONE_INSTANT_TOGETHER: u64 = 4_000_000;

/// See [`EVENTS_AT_ONE_INSTANT_TOGETHER`].
pub const EVENTS_AT_ONE_INSTANT_EACH: u64 = 1000;

/// More threads than this are refused, so that a few bytes (`"instance": 1000000000`, a task that
/// forks without end) cannot ask for more memory than there is: a run of so many takes about 1 GB.
pub const THREADS_MAX: usize = 500_000;

/// At one nanosecond so many steps of all tasks together are nothing unusual, and not counted.
const EVENTS_UNCOUNTED: u64 = 1000;

/// Counts steps for the check that time passes.
#[derive(Default)]
pub(super) struct Instant {
    now_ns: u64,
    /// Steps of all tasks at `now_ns`.
    events: u64,
}

impl Instant {
    /// Counts a step of `task`, which is one of so many. False: there are too many at one time.
    #[inline]
    pub fn count(&mut self, now_ns: u64, task: &mut Task, tasks: usize) -> bool {
        if self.now_ns != now_ns {
            self.now_ns = now_ns;
            self.events = 0;
        }
        self.events += 1;
        self.events <= EVENTS_UNCOUNTED || self.count_for_each(task, tasks)
    }

    #[cold]
    fn count_for_each(&self, task: &mut Task, tasks: usize) -> bool {
        if task.instant_ns != self.now_ns {
            task.instant_ns = self.now_ns;
            task.instant_events = 0;
        }
        task.instant_events += 1;
        let most = EVENTS_AT_ONE_INSTANT_TOGETHER.max(tasks as u64 * EVENTS_AT_ONE_INSTANT_EACH);
        task.instant_events < EVENTS_AT_ONE_INSTANT && self.counted() < most
    }

    /// Steps of all tasks that were counted.
    pub fn counted(&self) -> u64 {
        self.events.saturating_sub(EVENTS_UNCOUNTED)
    }
}
