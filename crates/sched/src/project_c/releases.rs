//! The releases of the two policies.

use super::ProjectC;
use super::bmq::Bmq;
use super::pds::Pds;
use alloc::borrow::Cow;
use alloc::boxed::Box;
use schedlab_core::topology::CPUS_MAX;
use schedlab_core::{Build, Capabilities, Entry, Origin, Policy, Release};

const POLICIES: &[Policy] = &[
    Policy::Other,
    Policy::Batch,
    Policy::Idle,
    Policy::Fifo,
    Policy::RoundRobin,
    Policy::Deadline,
];

/// The facts that both policies share: they are built from one patch.
const PATCH: Release = Release {
    version: "6.18-r1",
    also: &["6.18", "6.18.2"],
    summary: "a boost for each task, on a queue for each CPU (for 6.18)",
    golden: &[("bmq", "6.18.2 with Project C v6.18-r1")],
    hz_default: 1000,
    hz_range: (100, 1000),
    cpus_max: CPUS_MAX,
    policies: POLICIES,
    can: Capabilities { nohz: true, ..Capabilities::BASIC },
    kernel: Some("6.18"),
    build: Build::Ordinary(|config| Box::new(ProjectC::<Bmq>::new(config))),
};

/// BMQ's entry in the registry.
pub static BMQ: Entry = Entry {
    name: Cow::Borrowed("bmq"),
    title: Cow::Borrowed("BMQ"),
    summary: Cow::Borrowed(
        "levels by nice value and a boost: sleeping improves it, used-up slices worsen it",
    ),
    origin: Origin::Linux,
    releases: &[PATCH],
};

/// PDS's entry in the registry.
pub static PDS: Entry = Entry {
    name: Cow::Borrowed("pds"),
    title: Cow::Borrowed("PDS"),
    summary: Cow::Borrowed("levels by virtual deadlines, counted in slots of 8.4 ms"),
    origin: Origin::Linux,
    releases: &[Release {
        summary: "virtual deadlines in slots, on a queue for each CPU (for 6.18)",
        golden: &[("pds", "6.18.2 with Project C v6.18-r1")],
        build: Build::Ordinary(|config| Box::new(ProjectC::<Pds>::new(config))),
        ..PATCH
    }],
};
