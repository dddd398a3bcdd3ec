//! The tunables that every fair class of 5.x and 6.x has: for balancing, and the quota slice.

use crate::classes::bandwidth;
use schedlab_core::Tunable;

/// The tunables of balancing.
#[derive(Clone, Copy, Debug)]
pub struct BalanceTunables {
    /// A task that ran less than this long ago is cache hot, ns.
    pub migration_cost_ns: u64,
    /// Number of tasks examined in a balancing pass.
    pub nr_migrate: u32,
}

impl BalanceTunables {
    /// The boot values of all releases.
    pub const DEFAULT: BalanceTunables =
        BalanceTunables { migration_cost_ns: 500_000, nr_migrate: 32 };

    /// The tunables with their values. `sysctl`: they are sysctls, whose names contain the
    /// subsystem.
    pub fn list(&self, sysctl: bool) -> [Tunable; 2] {
        let [migration_cost, nr_migrate] = match sysctl {
            true => ["sched_migration_cost_ns", "sched_nr_migrate"],
            false => ["migration_cost_ns", "nr_migrate"],
        };
        [
            Tunable {
                name: migration_cost.into(),
                value: self.migration_cost_ns as i64,
                range: (0, i64::from(u32::MAX)),
                help: "a task that ran less than this ago is cache hot and not moved at first, ns",
            },
            Tunable {
                name: nr_migrate.into(),
                value: i64::from(self.nr_migrate),
                range: (1, 1024),
                help: "maximum number of tasks examined in a balancing pass",
            },
        ]
    }
}

/// The tunable for the quota slice, with the value `us` in µs.
pub fn quota_slice(us: i64) -> Tunable {
    Tunable {
        name: bandwidth::TUNABLE.into(),
        value: us,
        range: (1, i64::from(i32::MAX)),
        help: "runtime that a CPU draws at a time from a limited group's account, us",
    }
}
