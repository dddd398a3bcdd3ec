//! The clock of MuQSS, and how it charges run time and ends slices.
//!
//! # Niffies
//!
//! Each CPU has a clock of its own that never goes backwards: it adds the time that has passed, but
//! at least what the ticks since then stand for. A tick stands for 2^30 / HZ ns, which is 7.4 %
//! more than it lasts. A CPU that ticks therefore counts 1,073,741 ns in a millisecond, and slices
//! that are charged at ticks are used up sooner than those that a timer ends. Two CPUs level their
//! clocks when one of them looks at the queue of the other.

use super::Muqss;
use super::levels::RESCHED_US;
use schedlab_core::platform::TimerPhase;
use schedlab_core::{CpuId, Platform, Policy, TaskId, TimerKey};

/// Time for which a tick stands, ns of niffies.
pub(super) const fn jiffy_niffies(hz: u32) -> u64 {
    (1 << 30) / hz as u64
}

/// The clock of a CPU.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct NiffyClock {
    /// The time that it shows, ns.
    pub niffies: u64,
    /// The real time at the last update, ns.
    old_clock: u64,
    /// Niffies after the last update, without what [`level`] added since then.
    last_niffy: u64,
    /// Jiffies at the last update after a tick.
    last_jiffy: u64,
    /// Niffies after that update.
    last_jiffy_niffies: u64,
}

impl NiffyClock {
    /// `update_clocks`: advances it to the real time `now_ns` and the tick `jiffies`.
    pub(super) fn update(&mut self, now_ns: u64, jiffies: u64, jiffy_niffies: u64) {
        let levelled = self.niffies.wrapping_sub(self.last_niffy);
        let passed = now_ns.wrapping_sub(self.old_clock).wrapping_sub(levelled) as i64;
        self.old_clock = now_ns;
        let ticks = jiffies.wrapping_sub(self.last_jiffy);
        let least = ticks
            .wrapping_mul(jiffy_niffies)
            .wrapping_add(self.last_jiffy_niffies)
            .wrapping_sub(self.niffies) as i64;
        self.niffies = self.niffies.wrapping_add(passed.max(least).max(0) as u64);
        self.last_niffy = self.niffies;
        if ticks > 0 {
            self.last_jiffy = jiffies;
            self.last_jiffy_niffies = self.niffies;
        }
    }
}

/// `synchronise_niffies`: the later of two clocks sets the other.
pub(super) fn level(a: &mut NiffyClock, b: &mut NiffyClock) {
    let later = a.niffies.max(b.niffies);
    a.niffies = later;
    b.niffies = later;
}

impl Muqss {
    /// Advances the clock of `cpu`.
    #[inline]
    pub(super) fn update_clock(&mut self, platform: &Platform, cpu: CpuId) {
        let (now_ns, jiffies) = (platform.now_ns(), platform.jiffies());
        self.cpus[cpu.index()].clock.update(now_ns, jiffies, self.jiffy_niffies);
    }

    /// The time that the clock of `cpu` shows.
    #[inline]
    pub(super) fn niffies(&self, cpu: CpuId) -> u64 {
        self.cpus[cpu.index()].clock.niffies
    }

    /// `update_cpu_clock`: subtracts from the slice of `task`, the current one of `cpu`, what it
    /// has used since it was last charged. `SCHED_FIFO` has no slices.
    pub(super) fn charge(&mut self, cpu: CpuId, task: TaskId) {
        let niffies = self.niffies(cpu);
        let row = &mut self.tasks[task];
        if row.policy != Policy::Fifo {
            let used = niffies.wrapping_sub(row.last_ran) as i64 >> 10;
            row.time_slice = row.time_slice.wrapping_sub(used as i32);
        }
    }

    /// `time_slice_expired`: gives `task` a full slice from the time of `cpu` on, with the
    /// corresponding deadline.
    pub(super) fn refill(&mut self, task: TaskId, cpu: CpuId) {
        let niffies = self.niffies(cpu);
        let row = &mut self.tasks[task];
        row.time_slice = self.slice;
        row.deadline = niffies.wrapping_add(self.distances[(row.nice + 20) as usize] as u64);
        if self.nearness.has_threads() {
            self.set_smt_bias(task);
        }
    }

    /// Whether the slice of `task` counts as used up.
    #[inline]
    pub(super) fn is_used_up(&self, task: TaskId) -> bool {
        self.tasks[task].time_slice < RESCHED_US
    }

    /// `set_rq_task`: `task` is the one that `cpu` runs. Takes copies of what other CPUs compare,
    /// and starts the timer that ends its slice.
    pub(super) fn set_rq_task(&mut self, platform: &mut Platform, cpu: CpuId, task: TaskId) {
        let row = &self.tasks[task];
        let running = &mut self.running[cpu.index()];
        running.rq_prio = row.prio;
        running.rq_deadline = row.deadline;
        running.rq_smt_bias = row.smt_bias;
        running.rq_mm = row.has_memory;
        self.start_timer(platform, cpu, task);
    }

    /// Starts the timer that ends the slice of `task`, the current one of `cpu`.
    pub(super) fn start_timer(&mut self, platform: &mut Platform, cpu: CpuId, task: TaskId) {
        let row = &self.tasks[task];
        if row.policy == Policy::Fifo {
            return self.stop_timer(platform, cpu);
        }
        let left_ns = (i64::from(row.time_slice) * 1024).max(0) as u64;
        let at_ns = platform.now_ns().saturating_add(left_ns);
        self.cpus[cpu.index()].timer_runs = true;
        platform.arm_timer(TimerKey(cpu.0), TimerPhase::BeforeTicks, at_ns);
    }

    /// Cancels the timer of `cpu`.
    pub(super) fn stop_timer(&mut self, platform: &mut Platform, cpu: CpuId) {
        if core::mem::take(&mut self.cpus[cpu.index()].timer_runs) {
            platform.cancel_timer(TimerKey(cpu.0));
        }
    }

    /// The timer of `cpu` ends the slice of its current task.
    pub(super) fn slice_ended(&mut self, platform: &mut Platform, cpu: CpuId) {
        self.cpus[cpu.index()].timer_runs = false;
        if let Some(curr) = self.cpus[cpu.index()].curr {
            self.tasks[curr].time_slice = 0;
            platform.resched(cpu);
        }
    }

    /// The tick of `cpu`.
    pub(super) fn tick_of(&mut self, platform: &mut Platform, cpu: CpuId) {
        self.update_clock(platform, cpu);
        let here = &mut self.cpus[cpu.index()];
        let jiffies = platform.jiffies();
        let since_last = jiffies.wrapping_sub(here.last_tick_jiffy);
        here.last_tick_jiffy = jiffies;
        let Some(curr) = here.curr else {
            self.iso_decay(cpu, since_last);
            return;
        };
        self.charge(cpu, curr);
        self.tasks[curr].last_ran = self.niffies(cpu);
        self.iso_tick(platform, cpu, curr);
        if self.tasks[curr].policy != Policy::Fifo && self.is_used_up(curr) {
            platform.resched(cpu);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const J: u64 = jiffy_niffies(1000);

    #[test]
    fn a_tick_stands_for_more_than_it_lasts() {
        assert_eq!([1000, 250, 100].map(jiffy_niffies), [1_073_741, 4_294_967, 10_737_418]);
        let mut clock = NiffyClock::default();
        for tick in 1..=5 {
            clock.update(tick * 1_000_000, tick, J);
        }
        assert_eq!(clock.niffies, 5_368_705);
        clock.update(5_500_000, 5, J);
        assert_eq!(clock.niffies, 5_868_705);
        clock.update(6_000_000, 6, J);
        assert_eq!(clock.niffies, 6_442_446);
    }

    #[test]
    fn levelled_clocks_do_not_count_the_difference_again() {
        let (mut a, mut b) = (NiffyClock::default(), NiffyClock::default());
        a.update(3_000_000, 0, J);
        level(&mut a, &mut b);
        assert_eq!(b.niffies, 3_000_000);
        b.update(3_500_000, 0, J);
        assert_eq!(b.niffies, 3_500_000);
    }
}
