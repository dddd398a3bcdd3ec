//! The release.

use super::Muqss;
use super::nearness::CPUS_MAX;
use alloc::borrow::Cow;
use alloc::boxed::Box;
use schedlab_core::{Build, Capabilities, Entry, Origin, Policy, Release};

const POLICIES: &[Policy] =
    &[Policy::Other, Policy::Batch, Policy::Idle, Policy::Fifo, Policy::RoundRobin, Policy::Iso];

/// The scheduler's entry in the registry.
pub static ENTRY: Entry = Entry {
    name: Cow::Borrowed("muqss"),
    title: Cow::Borrowed("MuQSS"),
    summary: Cow::Borrowed(
        "virtual deadlines in a queue for each part of the machine; CPUs take the earliest of all",
    ),
    origin: Origin::Linux,
    releases: &[Release {
        version: "0.196",
        also: &["5.4"],
        summary: "queues shared by a package, slices that end by a timer, SCHED_ISO, SMT_NICE (for \
                  5.4)",
        golden: &[("muqss", "5.4.59 with MuQSS 0.196")],
        hz_default: 1000,
        hz_range: (100, 1000),
        cpus_max: CPUS_MAX,
        policies: POLICIES,
        can: Capabilities { nohz: true, ..Capabilities::BASIC },
        kernel: Some("5.4"),
        build: Build::Ordinary(|config| Box::new(Muqss::new(config))),
    }],
};
