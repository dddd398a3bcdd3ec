//! Limits on a run: the number of threads, and the number of steps at one instant.

use super::task::Task;

/// Maximum number of steps of one task at one nanosecond. Then the run is stopped. A step that
/// blocks and is tried again counts once. The first thousand steps of all tasks together are not
/// counted.
pub const EVENTS_AT_ONE_INSTANT: u32 = 1_000_000;

/// Maximum number of steps of all tasks together at one nanosecond. If
/// [`EVENTS_AT_ONE_INSTANT_EACH`] times the number of tasks is more, that is the limit. Without it,
/// tasks that wake each other in turn without time passing would keep the run busy for very long
/// before one of them reaches its million.
pub const EVENTS_AT_ONE_INSTANT_TOGETHER: u64 = 4_000_000;

/// See [`EVENTS_AT_ONE_INSTANT_TOGETHER`].
pub const EVENTS_AT_ONE_INSTANT_EACH: u64 = 1000;

/// Maximum number of threads. It prevents a few bytes (`"instance": 1000000000`, a task that forks
/// without end) from requesting more memory than there is: a run of this many threads takes about 1
/// GB.
pub const THREADS_MAX: usize = 500_000;

/// Number of steps of all tasks at one nanosecond that is usual, and not counted.
const EVENTS_UNCOUNTED: u64 = 1000;

/// Counts steps for the check that time passes.
#[derive(Default)]
pub(super) struct Instant {
    now_ns: u64,
    /// Steps of all tasks at `now_ns`.
    events: u64,
}

impl Instant {
    /// Counts a step of `task`, which is one of `tasks`. Returns whether the limits hold.
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

    /// Returns the number of counted steps of all tasks.
    pub fn counted(&self) -> u64 {
        self.events.saturating_sub(EVENTS_UNCOUNTED)
    }
}
