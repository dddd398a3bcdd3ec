//! How the CPUs of a machine hang together.

use crate::CpuId;
use alloc::vec::Vec;

/// The kernel's kinds of scheduling domain, smallest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LevelKind {
    /// Hardware threads of one core (`SMT`).
    Smt,
    /// Cores that share a cache (`MC`).
    MultiCore,
    /// Packages, or simply all CPUs of a flat machine (`CPU`, `DIE`, `PKG` by release).
    Cpu,
    /// Memory nodes (`NODE`, `NUMA`).
    Node,
}

/// One level of the machine: which CPUs belong together at it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Level {
    /// What kind of level.
    pub kind: LevelKind,
    /// For every CPU the number of its span at this level: CPUs with equal numbers form one domain.
    pub span_of: Vec<u32>,
}

/// The CPUs of a machine and how they hang together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Topology {
    cpus: u32,
    levels: Vec<Level>,
}

/// The largest machine, in CPUs.
pub const CPUS_MAX: u32 = 4096;

impl Topology {
    /// `cpus` equal CPUs, all equally far from each other: one level of kind [`LevelKind::Cpu`] that spans them all, none at
    /// all for a single CPU.
    ///
    /// # Panics
    /// If `cpus` is 0 or above [`CPUS_MAX`].
    pub fn flat(cpus: u32) -> Topology {
        assert!((1..=CPUS_MAX).contains(&cpus), "a machine has 1 to {CPUS_MAX} CPUs, not {cpus}");
        let levels = if cpus == 1 {
            Vec::new()
        } else {
            alloc::vec![Level { kind: LevelKind::Cpu, span_of: alloc::vec![0; cpus as usize] }]
        };
        Topology { cpus, levels }
    }

    /// `cpus` CPUs that hang together as `levels` say, smallest level first.
    ///
    /// # Panics
    /// If `cpus` is 0 or above [`CPUS_MAX`], or a level does not name a span for every CPU.
    pub fn with_levels(cpus: u32, levels: Vec<Level>) -> Topology {
        assert!((1..=CPUS_MAX).contains(&cpus), "a machine has 1 to {CPUS_MAX} CPUs, not {cpus}");
        assert!(levels.iter().all(|level| level.span_of.len() == cpus as usize));
        Topology { cpus, levels }
    }

    /// Number of CPUs.
    #[inline]
    pub const fn cpus(&self) -> u32 {
        self.cpus
    }

    /// The CPUs, rising.
    pub fn iter(&self) -> impl Iterator<Item = CpuId> + use<> {
        (0..self.cpus).map(CpuId)
    }

    /// The levels, smallest first.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }
}
