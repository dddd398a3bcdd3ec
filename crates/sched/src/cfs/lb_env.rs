//! The environment of a balancing pass: the CPU that balances, the domain, the CPUs considered.

use crate::classes::domains::DomainParams;
use alloc::vec::Vec;
use schedlab_core::CpuId;

/// `SCHED_LOAD_SCALE`: the power of one full CPU.
pub(super) const SCHED_LOAD_SCALE: u64 = 1024;

/// A CPU's state for balancing one of its domains (in the kernel, fields of `sched_domain`).
#[derive(Clone, Copy, Debug)]
pub struct Balancing {
    /// Time of its last balancing, jiffies.
    pub last_balance: u64,
    /// `balance_interval`: time between balancings, ms.
    pub interval_ms: u64,
    /// `nr_balance_failed`: number of successive passes that should have moved something and did
    /// not.
    pub nr_failed: u32,
    /// Time at which it last divided the groups' shares, ns.
    pub last_update_ns: u64,
}

impl Balancing {
    /// Lengthens the interval, because there is nothing to do.
    pub(super) fn lengthen_interval(&mut self, params: &DomainParams, all_pinned: bool) {
        const MAX_PINNED_INTERVAL_MS: u64 = 512;
        let interval = &mut self.interval_ms;
        if (all_pinned && *interval < MAX_PINNED_INTERVAL_MS)
            || *interval < u64::from(params.max_interval_ms)
        {
            *interval *= 2;
        }
    }
}

/// `cpu_idle_type`: how busy the balancing CPU is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CpuIdleType {
    /// It has something to run.
    NotIdle,
    /// It is idle.
    Idle,
    /// It is about to go idle.
    NewlyIdle,
}

/// A CPU's balancing of one of its domains.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pass {
    /// The level of the domain.
    pub level: usize,
    /// The CPU that balances, to which tasks move.
    pub this: CpuId,
    /// How busy it is.
    pub idle: CpuIdleType,
}

/// State of a pass in progress.
#[derive(Clone, Copy, Debug)]
pub(super) struct PassState {
    /// Whether this CPU is the one that balances for its group.
    pub its_turn: bool,
    /// Whether no task that was examined may run here.
    pub all_pinned: bool,
    /// Whether the domain is a core, and this CPU or one that the pass has examined is busy: an
    /// idle thread next to a busy one counts for less than an idle CPU (`sd_idle` is 0).
    pub busy_sibling: bool,
}

impl PassState {
    /// Creates the state at the beginning of a pass over a domain with these parameters.
    pub(super) fn new(params: &DomainParams, idle: CpuIdleType) -> PassState {
        let busy_sibling = params.share_cpupower && idle == CpuIdleType::NotIdle;
        PassState { its_turn: true, all_pinned: false, busy_sibling }
    }
}

/// The CPUs that a pass considers (`cpus` in the kernel's `load_balance`).
#[derive(Clone, Debug)]
pub struct Candidates {
    words: Vec<u64>,
    /// Whether any have been removed.
    some_out: bool,
}

impl Candidates {
    /// Creates a set of all CPUs.
    pub(super) fn new(cpus: u32) -> Candidates {
        Candidates { words: alloc::vec![u64::MAX; (cpus as usize).div_ceil(64)], some_out: false }
    }

    /// Restores all CPUs.
    pub(super) fn reset(&mut self) {
        if core::mem::take(&mut self.some_out) {
            self.words.fill(u64::MAX);
        }
    }

    /// Removes a CPU for the rest of the pass.
    pub(super) fn take_out(&mut self, cpu: CpuId) {
        self.words[cpu.index() / 64] &= !(1 << (cpu.0 % 64));
        self.some_out = true;
    }

    /// Whether the pass considers `cpu`.
    #[inline]
    pub(super) fn contains(&self, cpu: CpuId) -> bool {
        !self.some_out || self.words[cpu.index() / 64] >> (cpu.0 % 64) & 1 == 1
    }
}

/// Converts milliseconds to ticks, rounded up.
pub(super) const fn ms_to_jiffies(ms: u64, hz: u32) -> u64 {
    (ms * hz as u64).div_ceil(1000)
}
