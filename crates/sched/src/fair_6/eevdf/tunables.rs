//! The fair class's tunables, under the kernel's names: numbers, and the switches of
//! `sched/features`.

use super::bore;
use super::releases::{FEATURES, Features, Version};
use crate::fair_6::balance_tunables::{BalanceTunables, quota_slice};
use crate::fair_6::rule_state::{FairTunables, FairVersion as _};
use alloc::vec::Vec;
use schedlab_core::Tunable;

/// The longest base slice that can be set, ns.
const BASE_SLICE_MAX_NS: i64 = 1_000_000_000;

/// `tunable_scaling` = logarithmic: the factor by which slices grow with the number of CPUs, up to
/// 8.
pub fn scaling(cpus: u32) -> u32 {
    1 + cpus.min(8).ilog2()
}

/// The tunables.
#[derive(Clone, Copy, Debug)]
pub struct Tunables {
    version: Version,
    /// `sched/features`.
    pub features: Features,
    /// The default request length, ns.
    pub base_slice: u32,
    /// The default request length before scaling by the number of CPUs, ns.
    pub base_slice_unscaled: u32,
    /// Whether the base slice was written by an administrator.
    base_slice_by_hand: bool,
    balancing: BalanceTunables,
    /// Whether the smallest slices of subtrees are always exact.
    pub exact_min_slice: bool,
    /// Whether tasks sleep in a special state, in which their dequeue is never delayed.
    pub special_sleeps: bool,
    /// BORE, if the kernel has it, and its tunables.
    pub bore: Option<bore::settings::Settings>,
}

impl Tunables {
    /// Writes a tunable, except the quota slice. Name and range have been checked. `online`: number
    /// of online CPUs.
    pub fn write(&mut self, name: &str, value: i64, online: u32) {
        if let Some(mut bore) = self.bore
            && bore.write(name, value)
        {
            self.set_bore(bore);
            return;
        }
        match name {
            "base_slice_ns" => {
                self.base_slice = value as u32;
                self.base_slice_unscaled = value as u32 / scaling(online);
                self.base_slice_by_hand = true;
            }
            "migration_cost_ns" => self.balancing.migration_cost_ns = value as u64,
            "nr_migrate" => self.balancing.nr_migrate = value as u32,
            "exact_min_slice" => self.exact_min_slice = value != 0,
            "special_sleeps" => self.special_sleeps = value != 0,
            _ => {
                if let Some(feature) = FEATURES.iter().find(|feature| feature.name == name) {
                    *(feature.switch)(&mut self.features) = value != 0;
                }
            }
        }
    }
}

impl Tunables {
    /// Sets BORE's tunables. The base slice, which does not depend on the number of CPUs, follows.
    pub fn set_bore(&mut self, bore: bore::settings::Settings) {
        self.base_slice = bore.base_slice();
        self.base_slice_unscaled = self.base_slice;
        self.base_slice_by_hand = true;
        self.bore = Some(bore);
    }

    /// Whether the running task is protected only for the shortest slice of the others.
    #[inline]
    pub fn runs_to_parity(&self) -> bool {
        match &self.bore {
            Some(bore) if bore.is_on && bore.patch.has_own_parity() => bore.run_to_parity,
            _ => self.features.run_to_parity,
        }
    }

    /// Whether BORE is on.
    #[inline]
    pub fn has_bore(&self) -> bool {
        self.bore.is_some_and(|bore| bore.is_on)
    }
}

impl FairTunables for Tunables {
    type Version = Version;

    fn new(version: Version, cpus: u32) -> Tunables {
        Tunables {
            version,
            features: Features::of(version),
            base_slice: version.base_slice_ns() * scaling(cpus),
            base_slice_unscaled: version.base_slice_ns(),
            base_slice_by_hand: false,
            balancing: BalanceTunables::DEFAULT,
            exact_min_slice: false,
            special_sleeps: false,
            bore: None,
        }
    }

    fn base_slice(&self) -> u32 {
        self.base_slice
    }

    #[inline]
    fn balancing(&self) -> &BalanceTunables {
        &self.balancing
    }

    #[inline]
    fn ni_random(&self) -> bool {
        self.features.ni_random
    }

    fn rescale(&mut self, online: u32) {
        if !self.base_slice_by_hand {
            self.base_slice = self.base_slice_unscaled * scaling(online);
        }
    }

    fn list(&self, quota_slice_us: i64) -> Vec<Tunable> {
        let mut all = match &self.bore {
            Some(bore) => bore.list(),
            None => alloc::vec![Tunable {
                name: "base_slice_ns".into(),
                value: i64::from(self.base_slice),
                range: (100_000, BASE_SLICE_MAX_NS),
                help: "length of a request, ns, as scaled by the number of CPUs",
            }],
        };
        all.extend(self.balancing.list(false));
        all.push(quota_slice(quota_slice_us));
        if self.version.custom_slices() && !self.version.minima_are_exact() {
            all.push(Tunable {
                name: "exact_min_slice".into(),
                value: i64::from(self.exact_min_slice),
                range: (0, 1),
                help: "1: the smallest slices of subtrees are always exact (in no kernel: theirs \
                    lag behind)",
            });
        }
        if self.version.has_delayed_dequeue() {
            all.push(Tunable {
                name: "special_sleeps".into(),
                value: i64::from(self.special_sleeps),
                range: (0, 1),
                help: "1: the dequeue of a task is never delayed, as if all tasks slept in a special \
                    state (in no kernel: as recorded for 7.2 and 7.3)",
            });
        }
        let mut features = self.features;
        for feature in FEATURES.iter().filter(|feature| feature.since <= self.version) {
            all.push(Tunable {
                name: feature.name.into(),
                value: i64::from(*(feature.switch)(&mut features)),
                range: (0, 1),
                help: feature.help,
            });
        }
        all
    }
}
