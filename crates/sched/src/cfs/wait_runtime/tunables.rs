//! The tunables of 2.6.23.

use crate::cfs::tunables::boot_factor;
use alloc::vec::Vec;
use schedlab_core::Tunable;

/// The tunables.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tunables {
    pub(super) latency_ns: u64,
    pub(super) min_granularity_ns: u64,
    /// It does not follow a minimum granularity that is set later.
    pub(super) wakeup_granularity_ns: u64,
    pub(super) batch_wakeup_granularity_ns: u64,
    /// It follows the latency.
    pub(super) runtime_limit_ns: u64,
    pub(super) child_runs_first: bool,
    pub(super) compat_yield: bool,
    pub(super) fair_sleepers: bool,
    pub(super) start_debit: bool,
}

impl Tunables {
    /// Returns the values after boot.
    pub(super) fn at_boot(cpus: u32) -> Tunables {
        const CAP_NS: u64 = 100_000_000;
        let factor = boot_factor(cpus);
        let latency_ns = (20_000_000 * factor).min(CAP_NS);
        let min_granularity_ns = (2_000_000 * factor).min(CAP_NS);
        Tunables {
            latency_ns,
            min_granularity_ns,
            wakeup_granularity_ns: min_granularity_ns / 2,
            batch_wakeup_granularity_ns: 25_000_000,
            runtime_limit_ns: latency_ns,
            child_runs_first: true,
            compat_yield: false,
            fair_sleepers: true,
            start_debit: true,
        }
    }

    /// Returns the tunables with their values.
    pub(super) fn list(&self) -> Vec<Tunable> {
        let times = (100_000, 1_000_000_000);
        let any = (i64::from(i32::MIN), i64::from(i32::MAX));
        let mut all = Vec::new();
        let mut add = |name: &'static str, value: i64, range, help| {
            all.push(Tunable { name: name.into(), value, range, help });
        };
        add(
            "sched_latency_ns",
            self.latency_ns as i64,
            times,
            "period in which each runnable task runs once",
        );
        add(
            "sched_min_granularity_ns",
            self.min_granularity_ns as i64,
            times,
            "minimum length of a slice",
        );
        add(
            "sched_wakeup_granularity_ns",
            self.wakeup_granularity_ns as i64,
            (0, times.1),
            "distance by which the running task must be ahead for a woken one to preempt it",
        );
        add(
            "sched_batch_wakeup_granularity_ns",
            self.batch_wakeup_granularity_ns as i64,
            (0, times.1),
            "sched_wakeup_granularity_ns for a woken SCHED_BATCH task",
        );
        add(
            "sched_runtime_limit_ns",
            self.runtime_limit_ns as i64,
            times,
            "maximum that a task can be owed, or owe; follows sched_latency_ns",
        );
        add(
            "sched_child_runs_first",
            i64::from(self.child_runs_first),
            any,
            "a forked child runs before its parent",
        );
        add(
            "sched_compat_yield",
            i64::from(self.compat_yield),
            any,
            "a yielding task goes behind all others",
        );
        add(
            "FAIR_SLEEPERS",
            i64::from(self.fair_sleepers),
            (0, 1),
            "sleepers are owed for their sleep",
        );
        add(
            "START_DEBIT",
            i64::from(self.start_debit),
            (0, 1),
            "a child that runs first owes half a granularity",
        );
        all
    }

    /// Writes a tunable whose name and range have been checked.
    pub(super) fn write(&mut self, name: &str, value: i64) {
        match name {
            "sched_latency_ns" => {
                self.latency_ns = value as u64;
                self.runtime_limit_ns = value as u64;
            }
            "sched_min_granularity_ns" => self.min_granularity_ns = value as u64,
            "sched_wakeup_granularity_ns" => self.wakeup_granularity_ns = value as u64,
            "sched_batch_wakeup_granularity_ns" => self.batch_wakeup_granularity_ns = value as u64,
            "sched_runtime_limit_ns" => self.runtime_limit_ns = value as u64,
            "sched_child_runs_first" => self.child_runs_first = value != 0,
            "sched_compat_yield" => self.compat_yield = value != 0,
            "FAIR_SLEEPERS" => self.fair_sleepers = value != 0,
            _ => self.start_debit = value != 0,
        }
    }
}
