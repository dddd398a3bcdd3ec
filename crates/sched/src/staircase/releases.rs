//! The two schedulers in the registry.

use super::Staircase;
use alloc::borrow::Cow;
use alloc::boxed::Box;
use schedlab_core::topology::CPUS_MAX;
use schedlab_core::{Build, Capabilities, Entry, Origin, Policy, Release};

/// SD in the registry.
pub static SD: Entry = Entry {
    name: Cow::Borrowed("sd"),
    title: Cow::Borrowed("Staircase Deadline"),
    summary: Cow::Borrowed(
        "each task steps down its own staircase of priority slots, one quota a step, once a \
              rotation",
    ),
    origin: Origin::Linux,
    releases: &[Release {
        version: "2.6.22-ck1",
        also: &[],
        summary: "SD as in Con Kolivas's 2.6.22-ck1",
        golden: &[("sd", "2.6.22-ck1")],
        hz_default: 1000,
        hz_range: (100, 1000),
        cpus_max: CPUS_MAX,
        policies: &[Policy::Other, Policy::Batch, Policy::Idle, Policy::Fifo, Policy::RoundRobin],
        can: Capabilities::BASIC,
        kernel: None,
        build: Build::Ordinary(|config| Box::new(Staircase::new(Edition::Sd, config))),
    }],
};

/// RSDL in the registry.
pub static RSDL: Entry = Entry {
    name: Cow::Borrowed("rsdl"),
    title: Cow::Borrowed("Rotating Staircase Deadline (a reconstruction)"),
    summary: Cow::Borrowed(
        "SD's predecessor, reconstructed from published descriptions, not checked against its \
              code: levels have quotas too, and sink as a whole",
    ),
    origin: Origin::Linux,
    releases: &[Release {
        version: "0.36",
        also: &[],
        summary: "a reconstruction of RSDL 0.20 to 0.36 (2.6.20 and 2.6.21-rc); no golden \
                  schedules",
        golden: &[],
        hz_default: 1000,
        hz_range: (100, 1000),
        cpus_max: CPUS_MAX,
        policies: &[Policy::Other, Policy::Batch, Policy::Fifo, Policy::RoundRobin],
        can: Capabilities::BASIC,
        kernel: Some("2.6.21"),
        build: Build::Ordinary(|config| Box::new(Staircase::new(Edition::Rsdl, config))),
    }],
};

/// One of the two schedulers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Edition {
    /// Rotating Staircase Deadline, a reconstruction.
    Rsdl,
    /// Staircase Deadline, 2.6.22-ck1.
    Sd,
}
