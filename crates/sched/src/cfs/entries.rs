//! CFS in the registry: its releases, and how each is built.

use super::balance_2_6_24::early_domains;
use super::releases::Version;
use super::{Cfs, domains, wait_runtime};
use crate::classes::rt::{RealTime, RtVersion};
use crate::classes::{ClassList, NoClass, Rqs};
use alloc::borrow::Cow;
use alloc::boxed::Box;
use schedlab_core::topology::CPUS_MAX;
use schedlab_core::{Build, BuildConfig, Capabilities, Entry, Origin, Policy, Release, Scheduler};

const POLICIES: &[Policy] =
    &[Policy::Other, Policy::Batch, Policy::Idle, Policy::Fifo, Policy::RoundRobin];

/// The default release. The others are described by their differences from it.
const DEFAULT: Release = Release {
    version: "2.6.32",
    also: &[],
    summary: "latency 5 ms, gentle sleepers, group shares over CPUs, real-time push and pull",
    golden: &[("cfs", "2.6.32")],
    hz_default: 1000,
    hz_range: (100, 1000),
    cpus_max: CPUS_MAX,
    policies: POLICIES,
    can: Capabilities { groups: true, user_groups: true, nohz: true, ..Capabilities::BASIC },
    kernel: None,
    build: Build::Ordinary(|config| build(Version::V2_6_32, RtVersion::V2_6_25, config)),
};

/// The registry entry of CFS.
pub static ENTRY: Entry = Entry {
    name: Cow::Borrowed("cfs"),
    title: Cow::Borrowed("CFS, the Completely Fair Scheduler"),
    summary: Cow::Borrowed("runs the task that has had the least weighted CPU time"),
    origin: Origin::Linux,
    releases: &[
        DEFAULT,
        crate::fair_6::cfs::releases::V6_1,
        crate::fair_6::cfs::releases::V5_15,
        crate::fair_6::cfs::releases::V5_10,
        crate::fair_6::cfs::releases::V_RHEL_8_5,
        crate::fair_6::cfs::releases::V5_4,
        crate::fair_6::cfs::releases::V4_19,
        crate::fair_6::cfs::releases::V4_18,
        crate::fair_6::cfs::releases::V4_14,
        Release {
            version: "2.6.32.60",
            summary: "as 2.6.32, but its times grow up to 8 CPUs only and follow CPU hotplug; no \
                description of what else this long-term release has from later ones is available",
            golden: &[],
            build: Build::Ordinary(|config| build(Version::V2_6_32_60, RtVersion::V2_6_25, config)),
            ..DEFAULT
        },
        Release {
            version: "3.2",
            summary: "latency 6 ms, quotas for groups, weights of groups that follow their load; \
                checked on one CPU and with tasks bound to CPUs; balancing of several CPUs as in \
                2.6.32, as no description of its own is available",
            golden: &[("cfs", "3.2")],
            can: Capabilities { quotas: true, user_groups: false, ..DEFAULT.can },
            build: Build::Ordinary(|config| build(Version::V3_2, RtVersion::V2_6_25, config)),
            ..DEFAULT
        },
        Release {
            version: "2.6.31",
            summary: "latency 20 ms, full credit for sleepers; one CPU; from the list of \
                differences, not checked against a kernel",
            golden: &[],
            cpus_max: 1,
            build: Build::Ordinary(|config| build(Version::V2_6_31, RtVersion::V2_6_25, config)),
            ..DEFAULT
        },
        Release {
            version: "2.6.29",
            summary: "sleepers' credit by weight; one CPU; from the list of differences, not \
                checked against a kernel",
            golden: &[],
            cpus_max: 1,
            build: Build::Ordinary(|config| build(Version::V2_6_29, RtVersion::V2_6_25, config)),
            ..DEFAULT
        },
        Release {
            version: "2.6.28",
            summary: "as 2.6.29, SCHED_IDLE with weight 2; one CPU; from the list of \
                differences, not checked against a kernel",
            golden: &[],
            cpus_max: 1,
            build: Build::Ordinary(|config| build(Version::V2_6_28, RtVersion::V2_6_25, config)),
            ..DEFAULT
        },
        Release {
            version: "2.6.24",
            summary: "the first with vruntime: latency 20 ms, no buddies, every fork \
                reschedules; several CPUs balanced by weight",
            golden: &[("cfs", "2.6.24")],
            can: Capabilities { nohz: true, ..Capabilities::BASIC },
            build: Build::Ordinary(|config| build(Version::V2_6_24, RtVersion::V2_6_23, config)),
            ..DEFAULT
        },
        Release {
            version: "2.6.23",
            summary: "no vruntime yet: fair_clock and wait_runtime; one CPU",
            golden: &[("cfs", "2.6.23")],
            cpus_max: 1,
            can: Capabilities::BASIC,
            build: Build::Ordinary(|config| Box::new(wait_runtime::core_2_6(config))),
            ..DEFAULT
        },
    ],
};

/// The registry entry of CFS with the rule of [`interactive`](super::interactive).
pub static INTERACTIVE: Entry = Entry {
    name: Cow::Borrowed("cfs_interactive"),
    title: Cow::Borrowed("CFS with a rule for interactivity"),
    summary: Cow::Borrowed(
        "CFS of 2.6.32 that makes tasks that hardly ever sleep less nice; proposed, never in \
        Linux",
    ),
    origin: Origin::Linux,
    releases: &[Release {
        version: "2.6.32",
        also: &[],
        summary: "has the rules and defaults of cfs@2.6.32; no kernel has it, so there are no \
            golden schedules",
        golden: &[],
        hz_default: 1000,
        hz_range: (100, 1000),
        cpus_max: CPUS_MAX,
        policies: POLICIES,
        can: Capabilities { groups: true, nohz: true, ..Capabilities::BASIC },
        kernel: None,
        build: Build::Ordinary(|config| build(Version::INTERACTIVE, RtVersion::V2_6_25, config)),
    }],
};

fn build(version: Version, rt: RtVersion, config: &BuildConfig) -> Box<dyn Scheduler> {
    Box::new(core_2_6(version, rt, config))
}

/// Builds a release: its classes and the core.
pub fn core_2_6(version: Version, rt: RtVersion, config: &BuildConfig) -> ClassList<Cfs> {
    let early = version.balances_as_2_6_24.then(|| early_domains(&config.topology, config.hz));
    let mut rqs = Rqs::new(match &early {
        None => domains(&config.topology),
        Some(early) => early.tree().clone(),
    });
    rqs.own_clocks_only = version.balances_as_2_6_24;
    let fair = Cfs { early, ..Cfs::new(version, &rqs, config.hz) };
    let rt = RealTime::new(rt, rqs.cpus(), config.hz);
    ClassList { deadline: NoClass, rt, fair, core: rqs }
}
