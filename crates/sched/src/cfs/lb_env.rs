//! The environment of a balancing pass: which CPU balances, which domain, among which CPUs.

use crate::classes::domains::DomainParams;
use alloc::vec::Vec;
use schedlab_core::CpuId;

/// `SCHED_LOAD_SCALE`: the power of one full CPU.
pub(super) const SCHED_LOAD_SCALE: u64 = 1024;

/// What a CPU notes about its balancing of one of its domains (in the kernel, fields of
/// `sched_domain`).
#[derive(Clone, Copy, Debug)]
pub struct Balancing {
    /// When it last balanced, jiffies.
    pub last_balance: u64,
    /// `balance_interval`: how long it waits, ms.
    pub interval_ms: u64,
    /// `nr_balance_failed`: passes in a row that should have moved something and did not.
    pub nr_failed: u32,
    /// When it last divided the groups' shares, ns.
    pub last_update_ns: u64,
}

impl Balancing {
    /// Nothing to do: balance less often.
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

/// `cpu_idle_type`: how busy the CPU is that balances.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CpuIdleType {
    /// It has something to run.
    NotIdle,
    /// It idles.
    Idle,
    /// It is about to idle.
    NewlyIdle,
}

/// One CPU's balancing of one of its domains.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pass {
    /// The level of the domain.
    pub level: usize,
    /// The CPU that balances, to which tasks are to come.
    pub this: CpuId,
    /// How busy it is.
    pub idle: CpuIdleType,
}

/// What a pass notes on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Notes {
    /// This CPU is the one that balances for its group.
    pub its_turn: bool,
    /// No task that was examined may run here.
    pub all_pinned: bool,
    /// The domain is a core, and this CPU or one that the pass has looked at is busy: an idle
    /// thread beside a busy one is not as good as idle (`sd_idle` is 0).
    pub busy_sibling: bool,
}

impl Notes {
    /// At the beginning of a pass over a domain with these parameters.
    pub(super) fn new(params: &DomainParams, idle: CpuIdleType) -> Notes {
        let busy_sibling = params.share_cpupower && idle == CpuIdleType::NotIdle;
        Notes { its_turn: true, all_pinned: false, busy_sibling }
    }
}

/// The CPUs among which a pass looks (`cpus` in the kernel's `load_balance`).
#[derive(Clone, Debug)]
pub struct Candidates {
    words: Vec<u64>,
    /// Some have been taken out.
    some_out: bool,
}

impl Candidates {
    /// All CPUs.
    pub(super) fn new(cpus: u32) -> Candidates {
        Candidates { words: alloc::vec![u64::MAX; (cpus as usize).div_ceil(64)], some_out: false }
    }

    /// All CPUs again.
    pub(super) fn reset(&mut self) {
        if core::mem::take(&mut self.some_out) {
            self.words.fill(u64::MAX);
        }
    }

    /// Takes a CPU out, for the rest of the pass.
    pub(super) fn take_out(&mut self, cpu: CpuId) {
        self.words[cpu.index() / 64] &= !(1 << (cpu.0 % 64));
        self.some_out = true;
    }

    /// Whether the pass looks at `cpu`.
    #[inline]
    pub(super) fn contains(&self, cpu: CpuId) -> bool {
        !self.some_out || self.words[cpu.index() / 64] >> (cpu.0 % 64) & 1 == 1
    }
}

/// Milliseconds in ticks, rounded up.
pub(super) const fn ms_to_jiffies(ms: u64, hz: u32) -> u64 {
    (ms * hz as u64).div_ceil(1000)
}
