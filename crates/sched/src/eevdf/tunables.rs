//! The fair class's tunables, under the kernel's names: numbers, and the switches of
//! `sched/features`.

use super::class::Fair;
use super::releases::FEATURES;
use crate::classes::bandwidth;
use alloc::vec::Vec;
use schedlab_core::Tunable;

/// `base_slice_ns` before it is scaled by the number of CPUs (longterm releases and 6.15 on).
pub const BASE_SLICE_NS: u32 = 700_000;

/// The longest base slice that can be set, ns.
const BASE_SLICE_MAX_NS: i64 = 1_000_000_000;

/// `tunable_scaling` = logarithmic: by how much slices grow with the CPUs, up to 8 of them.
pub fn scaling(cpus: u32) -> u32 {
    1 + cpus.min(8).ilog2()
}

impl Fair {
    pub(super) fn tunables(&self) -> Vec<Tunable> {
        let mut all = alloc::vec![
            Tunable {
                name: "base_slice_ns",
                value: i64::from(self.base_slice),
                range: (100_000, BASE_SLICE_MAX_NS),
                help: "length of a request, ns, as scaled by the number of CPUs",
            },
            Tunable {
                name: "migration_cost_ns",
                value: self.balance.migration_cost_ns as i64,
                range: (0, i64::from(u32::MAX)),
                help: "a task that ran less than this ago is cache hot and not moved at first, ns",
            },
            Tunable {
                name: "nr_migrate",
                value: i64::from(self.balance.nr_migrate),
                range: (1, 1024),
                help: "tasks looked at in one balancing",
            },
        ];
        all.push(Tunable {
            name: bandwidth::TUNABLE,
            value: self.limits.slice_us(),
            range: (1, i64::from(i32::MAX)),
            help: "what a CPU draws at a time from a limited group's account, us",
        });
        if self.version.custom_slices() {
            all.push(Tunable {
                name: "exact_min_slice",
                value: i64::from(self.order.exact_slices),
                range: (0, 1),
                help: "1: subtrees always know their smallest slice (no kernel: theirs lags behind)",
            });
        }
        let mut features = self.features;
        for feature in FEATURES.iter().filter(|feature| feature.since <= self.version) {
            all.push(Tunable {
                name: feature.name,
                value: i64::from(*(feature.switch)(&mut features)),
                range: (0, 1),
                help: feature.help,
            });
        }
        all
    }

    /// Writes a tunable; name and range have been checked.
    pub(super) fn set_tunable(&mut self, name: &str, value: i64) {
        match name {
            "base_slice_ns" => {
                self.base_slice = value as u32;
                self.base_slice_unscaled = value as u32 / scaling(self.online);
                self.base_slice_by_hand = true;
            }
            "migration_cost_ns" => self.balance.migration_cost_ns = value as u64,
            bandwidth::TUNABLE => self.limits.set_slice_us(value),
            "nr_migrate" => self.balance.nr_migrate = value as u32,
            "exact_min_slice" => self.order.exact_slices = value != 0,
            _ => {
                if let Some(feature) = FEATURES.iter().find(|feature| feature.name == name) {
                    *(feature.switch)(&mut self.features) = value != 0;
                }
            }
        }
    }
}
