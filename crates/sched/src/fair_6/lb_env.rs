//! What balancing keeps from one pass to the next, and what one pass is.

use super::domains::{self, Near};
use super::ni_random::NewidleStats;
use crate::classes::Pid;
use crate::classes::domains::Domains;
use alloc::vec::Vec;
use schedlab_core::{CpuId, Platform};

/// The boot value of `migration_cost_ns`.
const MIGRATION_COST_NS: u64 = 500_000;

/// What balancing keeps.
#[derive(Debug)]
pub struct Balance {
    pub(super) cpus: Vec<CpuBalance>,
    /// How many levels of domains there are.
    pub(super) levels: usize,
    /// By CPU and level.
    domains: Vec<DomainState>,
    /// By level and CPU: affinity has kept the group that it stands for from being balanced
    /// within.
    pub(super) imbalanced: Vec<bool>,
    /// By shared cache: how many CPUs a wakeup looks at when it searches for an idle one
    /// (`nr_idle_scan`).
    pub nr_idle_scan: Vec<u32>,
    /// Some CPU has more than one task, as last written: set when one comes to have two, taken back
    /// by balancing only.
    pub overloaded: bool,
    /// By CPU: when it last ran out of work, ns (`idle_stamp`); 0 if it has been woken or has
    /// pulled something since.
    pub(super) idle_since_ns: Vec<u64>,
    /// By CPU: how long it idles at a time, ns (`avg_idle`); never more than twice a migration's
    /// cost.
    pub(super) avg_idle_ns: Vec<u64>,
    /// Draws of `NI_RANDOM`: the same in every run.
    pub(super) random: u64,
    /// For passing to balancing without allocating.
    pub(super) taken: Vec<Pid>,
    /// By CPU: this pass has given up on it.
    pub(super) dropped: Vec<bool>,
}

/// What balancing keeps of each CPU.
#[derive(Clone, Debug)]
pub(super) struct CpuBalance {
    /// The jiffy from which it looks whether to balance.
    pub(super) next_balance: u64,
}

/// What a CPU keeps of its balancing of a domain.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct DomainState {
    /// The jiffy in which it last balanced.
    pub last_balance: u64,
    /// `balance_interval`, ms.
    pub interval: u32,
    /// `nr_balance_failed`: balancings in a row that should have moved something and did not.
    pub failures: u32,
    /// What newly idle balancing brings here.
    pub newidle: NewidleStats,
}

/// In what state a CPU balances (`cpu_idle_type`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CpuIdleType {
    /// It has something to run.
    NotIdle,
    /// It idles.
    Idle,
    /// It is about to idle.
    NewlyIdle,
}

/// What is evened out (`migration_type`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MigrationType {
    /// Weight times time.
    Load,
    /// Utilisation.
    Util,
    /// The number of tasks.
    Task,
}

/// A CPU's attempt to balance a domain (`struct lb_env`).
#[derive(Clone, Copy, Debug)]
pub(super) struct LbEnv {
    /// Who balances.
    pub here: CpuId,
    /// Who gets what is moved: it, or another CPU of its group.
    pub dst: CpuId,
    /// The level of the domain.
    pub level: usize,
    /// In what state it is.
    pub why: CpuIdleType,
    /// What is evened out.
    pub kind: MigrationType,
    /// What is still to be moved.
    pub imbalance: i64,
    /// No task that was looked at may run here.
    pub all_pinned: bool,
    /// Some task that was looked at may not.
    pub some_pinned: bool,
    /// Where the first of those may go instead (`LBF_DST_PINNED`).
    pub new_dst: Option<CpuId>,
}

impl LbEnv {
    /// One that has yet to look.
    pub fn new(here: CpuId, level: usize, why: CpuIdleType) -> LbEnv {
        LbEnv {
            here,
            dst: here,
            level,
            why,
            kind: MigrationType::Task,
            imbalance: 0,
            all_pinned: false,
            some_pinned: false,
            new_dst: None,
        }
    }
}

impl Balance {
    /// Nothing has been balanced yet.
    pub fn new(domains: &Domains, near: &Near) -> Balance {
        let cpus = domains.cpus() as usize;
        let cpu = CpuBalance { next_balance: 0 };
        let levels = domains.levels();
        let mut balance = Balance {
            cpus: alloc::vec![cpu; cpus],
            levels,
            domains: alloc::vec![DomainState::default(); cpus * levels],
            imbalanced: alloc::vec![false; cpus * levels],
            nr_idle_scan: alloc::vec![0; cpus],
            overloaded: false,
            idle_since_ns: alloc::vec![1; cpus],
            avg_idle_ns: alloc::vec![2 * MIGRATION_COST_NS; cpus],
            random: 1,
            taken: Vec::with_capacity(64),
            dropped: alloc::vec![false; cpus],
        };
        balance.restart(domains, near, 0);
        balance
    }

    /// The domains are new: their intervals begin anew.
    pub(super) fn restart(&mut self, domains: &Domains, near: &Near, jiffies: u64) {
        for cpu in (0..domains.cpus()).map(CpuId) {
            self.cpus[cpu.index()].next_balance = jiffies;
            self.nr_idle_scan[near.llc_id(cpu)] = near.llc_size(domains, cpu);
            for level in domains.of(cpu) {
                let interval = domains::min_interval(domains.level(level).span(cpu));
                *self.domain(cpu, level) =
                    DomainState { last_balance: jiffies, interval, ..DomainState::default() };
            }
        }
    }

    /// What `cpu` keeps of its domain of this level.
    #[inline]
    pub(super) fn domain(&mut self, cpu: CpuId, level: usize) -> &mut DomainState {
        &mut self.domains[cpu.index() * self.levels + level]
    }

    /// The next tick of `cpu` looks whether to balance: only `SCHED_IDLE` tasks are left.
    pub(super) fn balance_soon(&mut self, platform: &Platform, cpu: CpuId) {
        self.cpus[cpu.index()].next_balance = platform.jiffies();
    }

    /// Balancings of the domain by `cpu` in a row that should have moved something and did not.
    #[inline]
    pub(super) fn failures(&self, cpu: CpuId, level: usize) -> u32 {
        self.domains[cpu.index() * self.levels + level].failures
    }

    /// The mark of the group of this level that begins with `first`.
    pub(super) fn imbalanced_mark(&mut self, level: usize, first: CpuId) -> &mut bool {
        &mut self.imbalanced[first.index() * self.levels + level]
    }

    /// Whether `cpu`, about to idle, balances its domain of this level; if not, that is counted.
    pub(super) fn newidle_may(&mut self, cpu: CpuId, level: usize) -> bool {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let number = self.random >> 33;
        let stats = &mut self.domain(cpu, level).newidle;
        let may = stats.may(number);
        if !may {
            stats.count(false);
        }
        may
    }
}
