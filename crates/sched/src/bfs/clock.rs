//! BFS's clock, and how it charges run time.
//!
//! # Niffies (0.404)
//!
//! The clocks of several CPUs do not agree exactly, so deadlines are counted on BFS's own clock,
//! which never stands still and never jumps. Each *refresh* adds the time that has passed on its
//! CPU and has not yet been added by another CPU. If jiffies show that this is impossible, it adds
//! the least time that is possible. So niffies are close to the real time, but even a second
//! refresh in the same nanosecond adds 1 ns. This matters: tasks that start together get deadlines
//! in the order of their starts.
//!
//! Each reschedule, each wakeup and start (by the task's last CPU), and each change of nice or
//! policy refreshes niffies. Ticks do not.

use super::Bfs;
use super::releases::{Clock, SliceUnit};
use schedlab_core::{CpuId, Platform, Policy};

/// Returns `diff` if it lies between the shortest and the longest time that `jiffies` ticks can
/// take, else the shortest.
fn clamp(diff: i64, jiffies: u64, tick_ns: u64) -> u64 {
    let least = if jiffies > 1 { (jiffies - 1) * tick_ns } else { 1 };
    let most = (jiffies + 1) * tick_ns;
    match u64::try_from(diff) {
        Ok(diff) if (least..=most).contains(&diff) => diff,
        _ => least,
    }
}

impl Bfs {
    /// 0.404 `update_clocks`: advances niffies to the clock of `cpu`. 0.316 has no niffies.
    pub(super) fn refresh(&mut self, platform: &Platform, cpu: CpuId) {
        if self.version.clock == Clock::Jiffies {
            return;
        }
        let now_ns = platform.now_ns();
        let here = &mut self.cpus[cpu.index()];
        let elapsed = (now_ns - here.old_clock) as i64;
        let added_by_others = (self.niffies - here.last_niffy) as i64;
        let jiffies = platform.jiffies() - self.last_jiffy;
        self.last_jiffy = platform.jiffies();
        self.niffies += clamp(elapsed - added_by_others, jiffies, self.tick_ns);
        here.old_clock = now_ns;
        here.last_niffy = self.niffies;
    }

    /// `update_cpu_clock`: subtracts from the running task's slice what it has used since it was
    /// last charged.
    pub(super) fn charge(&mut self, now_ns: u64, cpu: CpuId) {
        let here = &mut self.cpus[cpu.index()];
        if here.curr.is_some() && here.rq_policy != Policy::Fifo {
            let used_ns = now_ns as i64 - here.rq_last_ran as i64;
            here.rq_time_slice -= match self.version.unit {
                SliceUnit::Microsecond if used_ns <= 0 => (self.tick_ns / 2 / 1000) as i32,
                SliceUnit::Microsecond => (used_ns.min(self.tick_ns as i64) / 1000) as i32,
                // Counted in units of 1024 ns, so a tick of 1 ms costs 976.
                SliceUnit::Of1024Ns => (clamp(used_ns, 1, self.tick_ns) >> 10) as i32,
            };
        }
        here.rq_last_ran = now_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: u64 = 1_000_000;

    #[test]
    fn what_jiffies_allow_is_believed() {
        assert_eq!(clamp(1_700_000, 1, TICK), 1_700_000);
        assert_eq!(clamp(2_000_000, 1, TICK), 2_000_000);
        assert_eq!(clamp(4_000_000, 5, TICK), 4_000_000);
    }

    #[test]
    fn what_they_do_not_is_the_least_possible() {
        assert_eq!(clamp(0, 1, TICK), 1, "no time has passed");
        assert_eq!(clamp(-3, 0, TICK), 1, "other CPUs were ahead");
        assert_eq!(clamp(2_000_001, 1, TICK), 1, "too much is treated as nothing");
        assert_eq!(clamp(3_999_999, 5, TICK), 4_000_000);
    }
}
