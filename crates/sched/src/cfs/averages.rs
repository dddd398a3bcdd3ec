//! Running averages of a task's behaviour, for wakeup preemption and synchronous wakeups.

/// The averages of a task. All zero for a group.
#[derive(Clone, Copy, Debug, Default)]
pub struct Averages {
    /// Average run time between the wakeups that the task issues, ns. A small value means that it
    /// does little but wake others, and may easily be preempted.
    pub avg_wakeup: u64,
    /// `sum_exec` at the last wakeup that it issued, ns. `0`: none since it last slept.
    pub last_wakeup: u64,
    /// `sum_exec` when the task was itself last woken, ns.
    pub start_runtime: u64,
    /// Average time for which it continues to run after a wakeup that it issued, ns.
    pub avg_overlap: u64,
    /// Average length of its runs, ns.
    pub avg_running: u64,
}

impl Averages {
    /// Records that the task, which has run `ran_ns` in total, goes to sleep.
    #[inline]
    pub fn sleeps(&mut self, ran_ns: u64, wakeup_granularity_ns: u64) {
        if self.last_wakeup != 0 {
            update_avg(&mut self.avg_overlap, ran_ns.wrapping_sub(self.last_wakeup));
            self.last_wakeup = 0;
        } else {
            update_avg(&mut self.avg_wakeup, wakeup_granularity_ns);
        }
    }

    /// Records that the task, which has run `ran_ns` in total, wakes another.
    pub fn wakes_other(&mut self, ran_ns: u64) {
        let since = if self.last_wakeup != 0 { self.last_wakeup } else { self.start_runtime };
        update_avg(&mut self.avg_wakeup, ran_ns.wrapping_sub(since));
        self.last_wakeup = ran_ns;
    }

    /// Records that the task leaves the CPU after a run of `ran_ns`. `runnable` is false if it has
    /// blocked.
    #[inline]
    pub fn put(&mut self, ran_ns: u64, runnable: bool, migration_cost_ns: i64) {
        update_avg(&mut self.avg_running, ran_ns);
        if runnable {
            let limit = 2i64.wrapping_mul(migration_cost_ns) as u64;
            update_avg(&mut self.avg_overlap, ran_ns.min(limit));
        } else {
            update_avg(&mut self.avg_running, 0);
        }
    }
}

/// Moves the average an eighth of the way to the sample, rounded down (`update_avg`).
#[inline]
fn update_avg(avg: &mut u64, sample: u64) {
    let diff = sample.wrapping_sub(*avg) as i64;
    *avg = avg.wrapping_add((diff >> 3) as u64);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn averages_round_down() {
        let mut avg = 1_000_000;
        update_avg(&mut avg, 0);
        assert_eq!(avg, 875_000);
        let mut avg = 1;
        update_avg(&mut avg, 0);
        assert_eq!(avg, 0);
    }
}
