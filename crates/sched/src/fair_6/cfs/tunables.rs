//! The fair class's tunables, under the kernel's names: numbers, and the switches of
//! `sched/features`.

use super::releases::{FEATURES, Features, Version};
use crate::fair_6::balance_tunables::{BalanceTunables, quota_slice};
use crate::fair_6::rule_state::{FairTunables, FairVersion as _, WakeupFeatures};
use alloc::vec::Vec;
use schedlab_core::Tunable;

/// The largest accepted time, ns.
const MAX_NS: i64 = 1_000_000_000;

/// The tunables.
#[derive(Clone, Copy, Debug)]
pub struct Tunables {
    version: Version,
    /// `sched/features`.
    pub features: Features,
    /// Time in which every task runs once while few are runnable, ns.
    pub latency_ns: u64,
    /// The minimum slice, ns.
    pub min_granularity_ns: u64,
    /// Distance by which a woken entity must be behind to preempt, ns.
    pub wakeup_granularity_ns: u64,
    /// The minimum slice of idle entities next to others, ns (6.1).
    pub idle_min_granularity_ns: u64,
    /// Number of runnable tasks above which the period grows.
    pub nr_latency: u32,
    /// How times grow with the number of CPUs, up to 8: 0 not at all, 1 with its logarithm, 2
    /// linearly.
    scaling: u8,
    /// Latency, minimum granularity and wakeup granularity for one CPU, ns.
    unscaled: [u64; 3],
    /// Number of online CPUs.
    online: u32,
    /// Whether a forked child runs before its parent.
    pub child_runs_first: bool,
    balancing: BalanceTunables,
}

/// The factor by which times grow.
fn factor(scaling: u8, cpus: u32) -> u64 {
    let cpus = cpus.clamp(1, 8);
    match scaling {
        0 => 1,
        1 => 1 + u64::from(cpus.ilog2()),
        _ => u64::from(cpus),
    }
}

impl Tunables {
    /// Writes a tunable, except the quota slice. Name and range have been checked.
    pub fn write(&mut self, name: &str, value: i64) {
        let ns = value as u64;
        match self.plain(name) {
            "latency_ns" => self.latency_ns = ns,
            "min_granularity_ns" => self.min_granularity_ns = ns,
            "wakeup_granularity_ns" => self.wakeup_granularity_ns = ns,
            "idle_min_granularity_ns" => self.idle_min_granularity_ns = ns,
            "tunable_scaling" => self.scaling = value as u8,
            "child_runs_first" => self.child_runs_first = value != 0,
            "migration_cost_ns" => self.balancing.migration_cost_ns = ns,
            "nr_migrate" => self.balancing.nr_migrate = value as u32,
            _ => {
                if let Some(feature) = FEATURES.iter().find(|feature| feature.name == name) {
                    *(feature.switch)(&mut self.features) = value != 0;
                }
            }
        }
        let times = ["latency_ns", "min_granularity_ns", "wakeup_granularity_ns"];
        let is_time = times.contains(&self.plain(name));
        // The files of debugfs are plain numbers. Each write of a sysctl recomputes.
        if self.plain(name) == "tunable_scaling" || (is_time && self.version.tunes_by_sysctl()) {
            self.nr_latency = self.latency_ns.div_ceil(self.min_granularity_ns.max(1)) as u32;
            let factor = factor(self.scaling, self.online);
            let now = [self.latency_ns, self.min_granularity_ns, self.wakeup_granularity_ns];
            self.unscaled = now.map(|ns| ns / factor);
        }
    }

    /// The name without the prefix of sysctls.
    fn plain<'a>(&self, name: &'a str) -> &'a str {
        name.strip_prefix("sched_").unwrap_or(name)
    }
}

impl FairTunables for Tunables {
    type Version = Version;

    fn new(version: Version, cpus: u32) -> Tunables {
        let mut tunables = Tunables {
            version,
            features: Features::of(version),
            latency_ns: 0,
            min_granularity_ns: 0,
            wakeup_granularity_ns: 0,
            idle_min_granularity_ns: 750_000,
            nr_latency: 8,
            scaling: 1,
            unscaled: [6_000_000, 750_000, 1_000_000],
            online: cpus,
            child_runs_first: false,
            balancing: BalanceTunables::DEFAULT,
        };
        tunables.rescale(cpus);
        tunables
    }

    fn base_slice(&self) -> u32 {
        0
    }

    #[inline]
    fn balancing(&self) -> &BalanceTunables {
        &self.balancing
    }

    #[inline]
    fn ni_random(&self) -> bool {
        self.features.ni_random
    }

    #[inline]
    fn wakeups(&self) -> WakeupFeatures {
        let Features { wa_idle, wa_weight, sis_util, sis_prop, .. } = self.features;
        WakeupFeatures { wa_idle, wa_weight, sis_util, sis_prop }
    }

    #[inline]
    fn lb_bias(&self) -> bool {
        self.features.lb_bias
    }

    #[inline]
    fn lb_min(&self) -> bool {
        self.features.lb_min
    }

    fn rescale(&mut self, online: u32) {
        self.online = online;
        let factor = factor(self.scaling, online);
        let [latency, min_granularity, wakeup_granularity] = self.unscaled.map(|ns| ns * factor);
        self.latency_ns = latency;
        self.min_granularity_ns = min_granularity;
        self.wakeup_granularity_ns = wakeup_granularity;
    }

    fn list(&self, quota_slice_us: i64) -> Vec<Tunable> {
        let sysctl = self.version.tunes_by_sysctl();
        let name =
            |debugfs: &'static str, kernel: &'static str| if sysctl { kernel } else { debugfs };
        let mut all = alloc::vec![
            Tunable {
                name: name("latency_ns", "sched_latency_ns").into(),
                value: self.latency_ns as i64,
                range: (100_000, MAX_NS),
                help: "time in which every task runs once while few are runnable, ns, as scaled",
            },
            Tunable {
                name: name("min_granularity_ns", "sched_min_granularity_ns").into(),
                value: self.min_granularity_ns as i64,
                range: (100_000, MAX_NS),
                help: "the minimum slice, ns, as scaled",
            },
            Tunable {
                name: name("wakeup_granularity_ns", "sched_wakeup_granularity_ns").into(),
                value: self.wakeup_granularity_ns as i64,
                range: (0, MAX_NS),
                help: "distance by which a woken task must be behind to preempt, ns, as scaled",
            },
            Tunable {
                name: name("tunable_scaling", "sched_tunable_scaling").into(),
                value: i64::from(self.scaling),
                range: (0, 2),
                help: "how times grow with the number of CPUs: 0 = not at all, 1 = with its \
                       logarithm, 2 = linearly; a write also recomputes the number of tasks above \
                       which the period grows",
            },
        ];
        all.extend(self.balancing.list(sysctl));
        all.push(Tunable {
            name: "sched_child_runs_first".into(),
            value: i64::from(self.child_runs_first),
            range: (0, 1),
            help: "1: a forked child runs before its parent",
        });
        all.push(quota_slice(quota_slice_us));
        if self.version.has_idle_granularity() {
            all.push(Tunable {
                name: "idle_min_granularity_ns".into(),
                value: self.idle_min_granularity_ns as i64,
                range: (100_000, MAX_NS),
                help: "the minimum slice of SCHED_IDLE tasks and idle groups next to others, ns",
            });
        }
        let mut features = self.features;
        // NI_RANDOM is a back-port to 6.1's stable series.
        let has = |name| match name {
            "NI_RANDOM" => self.version == Version::V6_1,
            "ALT_PERIOD" | "BASE_SLICE" => self.version.has_base_slice(),
            "SIS_UTIL" => self.version.scans_by_utilisation(),
            "LB_BIAS" => self.version.loads_of_several_ages(),
            "LB_MIN" => self.version.balances_by_load(),
            _ => true,
        };
        for feature in FEATURES.iter().filter(|feature| has(feature.name)) {
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
