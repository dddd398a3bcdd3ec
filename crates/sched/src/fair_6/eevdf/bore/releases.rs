//! The versions of the patch, and a name for each difference between them.

use crate::fair_6::eevdf::{Eevdf, Version};
use alloc::borrow::Cow;
use alloc::boxed::Box;
use schedlab_core::{Build, BuildConfig, Capabilities, Entry, Origin, Policy, Release};

/// The default version. The other is described by its differences from it.
const DEFAULT: Release = Release {
    version: "6.7.3",
    also: &[],
    summary: "penalties keep their free part; tasks with shorter bursts preempt (on 6.18.2)",
    golden: &[("bore", "6.18.2 with BORE 6.7.3")],
    hz_default: 1000,
    hz_range: (100, 1000),
    cpus_max: 4096,
    policies: &Policy::ALL,
    can: Capabilities {
        groups: true,
        quotas: true,
        idle_groups: true,
        nohz: true,
        ..Capabilities::BASIC
    },
    kernel: None,
    build: Build::Ordinary(|config| Box::new(with_bore(Patch::V6_7_3, config))),
};

/// The scheduler's entry in the registry.
pub static ENTRY: Entry = Entry {
    name: Cow::Borrowed("bore"),
    title: Cow::Borrowed("Burst-Oriented Response Enhancer"),
    summary: Cow::Borrowed("EEVDF in which tasks weigh less the longer they run without a sleep"),
    origin: Origin::Linux,
    releases: &[
        DEFAULT,
        Release {
            version: "6.5.9",
            summary: "bursts below 8 ms are free, and leave no history (on 6.18.2)",
            golden: &[("bore", "6.18.2 with BORE 6.5.9")],
            build: Build::Ordinary(|config| Box::new(with_bore(Patch::V6_5_9, config))),
            ..DEFAULT
        },
    ],
};

/// EEVDF of 6.18 with the patch, on an idle machine.
pub fn with_bore(patch: Patch, config: &BuildConfig) -> Eevdf {
    let mut eevdf = Eevdf::new(Version::V6_18, config);
    eevdf.patch_with_bore(patch, config.hz);
    eevdf
}

/// A version of the patch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Patch {
    /// 6.5.9.
    V6_5_9,
    /// 6.7.3.
    V6_7_3,
}

impl Patch {
    /// Whether a penalty is the whole logarithm, and the free part is subtracted only where a score
    /// is derived from it. Otherwise it is subtracted first, and the penalty is limited.
    pub const fn penalty_is_whole(self) -> bool {
        matches!(self, Patch::V6_7_3)
    }

    /// Whether a task that goes to sleep is first charged on its own queue. Otherwise only a task
    /// outside of groups is, and the time of others since their last charge counts in no burst or
    /// in the next one.
    pub const fn charges_in_groups(self) -> bool {
        matches!(self, Patch::V6_7_3)
    }

    /// Whether `RUN_TO_PARITY_BORE` replaces `RUN_TO_PARITY` while BORE is on.
    pub const fn has_own_parity(self) -> bool {
        matches!(self, Patch::V6_5_9)
    }

    /// Whether a woken task with a smaller penalty preempts (`PREEMPT_SHORT_BORE`).
    pub const fn preempts_by_penalty(self) -> bool {
        matches!(self, Patch::V6_7_3)
    }

    /// Whether writing `sched_burst_penalty_offset` or `_scale` reweights tasks, as `sched_bore`
    /// does.
    pub const fn penalties_reweight(self) -> bool {
        matches!(self, Patch::V6_7_3)
    }

    /// Maximum number of relatives that are examined for an average, whether they count or not.
    pub const fn relatives_examined(self) -> u32 {
        match self {
            Patch::V6_5_9 => u32::MAX,
            Patch::V6_7_3 => 126,
        }
    }
}
