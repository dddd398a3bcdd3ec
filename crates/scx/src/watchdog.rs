//! The watchdog: ends a policy that lets a runnable task wait for too long.

use crate::act::Act;
use crate::kernel_types::EXIT_ERROR_STALL;
use crate::timers::Timer;
use schedlab_core::TimerPhase;

/// Maximum wait of a runnable task unless the policy sets less, ms.
const TIMEOUT_MS: u64 = 30_000;

impl Act<'_> {
    /// Arms the watchdog for the time at which a task can have waited for too long.
    pub(crate) fn arm_watchdog(&mut self, since_ns: u64) {
        if self.w.is_watched || self.w.ended.is_some() {
            return;
        }
        self.w.is_watched = true;
        let at = since_ns.saturating_add(self.timeout_ns());
        self.p.arm_timer(Timer::Watchdog.key(), TimerPhase::BeforeTicks, at);
    }

    fn timeout_ns(&self) -> u64 {
        let timeout = match self.w.image.ops.timeout_ms {
            0 => TIMEOUT_MS,
            timeout => timeout,
        };
        timeout * 1_000_000
    }

    /// Checks how long tasks have waited.
    pub(crate) fn watch(&mut self) {
        self.w.is_watched = false;
        let (now, timeout) = (self.now(), self.timeout_ns());
        let waits = (self.w.nr_cpus()..self.w.tasks.len() as u32)
            .filter(|&row| self.w.tasks[row as usize].is_runnable && !self.runs(row));
        let oldest = waits.min_by_key(|&row| self.w.tasks[row as usize].runnable_at);
        let Some(row) = oldest else { return };
        let since = self.w.tasks[row as usize].runnable_at;
        if now - since < timeout {
            return self.arm_watchdog(since);
        }
        let name = self.w.task_name(row);
        let waited = (now - since) / 1_000_000;
        self.w.callback = "the watchdog";
        self.w.end(EXIT_ERROR_STALL, 0, format!("{name} failed to run for {waited} ms"), now);
        self.w.callback = "";
    }
}
