//! The state of balancing between passes, and the description of one pass.

use super::domains::{self, CacheSharing};
use super::ni_random::NewidleStats;
use crate::classes::Pid;
use crate::classes::domains::Domains;
use alloc::vec::Vec;
use schedlab_core::{CpuId, Platform};

/// Loads of a CPU of several ages.
pub(super) type AgedLoads = [u64; 5];

/// The boot value of `migration_cost_ns`.
const MIGRATION_COST_NS: u64 = 500_000;

/// The state of balancing.
#[derive(Debug)]
pub struct Balance {
    pub(super) cpus: Vec<CpuBalance>,
    /// Number of levels of domains.
    pub(super) levels: usize,
    /// By CPU and level.
    domains: Vec<DomainState>,
    /// By level and CPU: whether affinity has prevented balancing within the group that the CPU
    /// represents.
    pub(super) imbalanced: Vec<bool>,
    /// By shared cache: number of CPUs that a wakeup examines when it searches for an idle one
    /// (`nr_idle_scan`).
    pub nr_idle_scan: Vec<u32>,
    /// Whether some CPU has more than one task, as last recorded: set when a CPU gets its second
    /// task, cleared by balancing only.
    pub overloaded: bool,
    /// By CPU: the time at which it last ran out of work, ns (`idle_stamp`). `0` if it has been
    /// woken or has pulled a task since.
    pub(super) idle_since_ns: Vec<u64>,
    /// By CPU: average length of an idle period, ns (`avg_idle`). At most twice the cost of a
    /// migration.
    pub(super) avg_idle_ns: Vec<u64>,
    /// By CPU: its loads of several ages. Empty where releases have none.
    pub(super) aged_loads: Vec<AgedLoads>,
    /// State of the random numbers of `NI_RANDOM`, the same in every run.
    pub(super) random: u64,
    /// Buffer of a pass, so that balancing need not allocate.
    pub(super) taken: Vec<Pid>,
    /// By CPU: whether this pass has given up on it.
    pub(super) dropped: Vec<bool>,
}

/// State of balancing of one CPU.
#[derive(Clone, Debug)]
pub(super) struct CpuBalance {
    /// The jiffy from which it checks whether to balance.
    pub(super) next_balance: u64,
}

/// State of a CPU's balancing of one domain.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct DomainState {
    /// The jiffy in which it last balanced.
    pub last_balance: u64,
    /// `balance_interval`, ms.
    pub interval: u32,
    /// `nr_balance_failed`: successive passes that should have moved something and did not.
    pub failures: u32,
    /// Success of newly idle balancing here.
    pub newidle: NewidleStats,
}

/// The state in which a CPU balances (`cpu_idle_type`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CpuIdleType {
    /// It has something to run.
    NotIdle,
    /// It is idle.
    Idle,
    /// It is about to go idle.
    NewlyIdle,
}

/// The quantity that is evened out (`migration_type`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MigrationType {
    /// Weight times time.
    Load,
    /// Utilisation.
    Util,
    /// The number of tasks.
    Task,
}

/// A pass: a CPU's attempt to balance a domain (`struct lb_env`).
#[derive(Clone, Copy, Debug)]
pub(super) struct LbEnv {
    /// The balancing CPU.
    pub here: CpuId,
    /// The destination of moved tasks: the balancing CPU, or another CPU of its group.
    pub dst: CpuId,
    /// The level of the domain.
    pub level: usize,
    /// The state of the balancing CPU.
    pub why: CpuIdleType,
    /// The quantity that is evened out.
    pub kind: MigrationType,
    /// The amount that is still to be moved.
    pub imbalance: i64,
    /// Whether none of the examined tasks may run at the destination.
    pub all_pinned: bool,
    /// Whether some examined task may not.
    pub some_pinned: bool,
    /// Another destination for the first such task (`LBF_DST_PINNED`).
    pub new_dst: Option<CpuId>,
}

impl LbEnv {
    /// A pass that has not examined anything yet.
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
    /// The state in which nothing has been balanced yet.
    pub fn new(domains: &Domains, caches: &CacheSharing) -> Balance {
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
            aged_loads: Vec::new(),
            random: 1,
            taken: Vec::with_capacity(64),
            dropped: alloc::vec![false; cpus],
        };
        balance.restart(domains, caches, 0);
        balance
    }

    /// Restarts the balancing intervals after the domains were rebuilt.
    pub(super) fn restart(&mut self, domains: &Domains, caches: &CacheSharing, jiffies: u64) {
        for cpu in (0..domains.cpus()).map(CpuId) {
            self.cpus[cpu.index()].next_balance = jiffies;
            self.nr_idle_scan[caches.llc_id(cpu)] = caches.llc_size(domains, cpu);
            for level in domains.of(cpu) {
                let interval = domains::min_interval(domains.level(level).span(cpu));
                *self.domain(cpu, level) =
                    DomainState { last_balance: jiffies, interval, ..DomainState::default() };
            }
        }
    }

    /// The state of the balancing of `cpu` at this level.
    #[inline]
    pub(super) fn domain(&mut self, cpu: CpuId, level: usize) -> &mut DomainState {
        &mut self.domains[cpu.index() * self.levels + level]
    }

    /// Makes the next tick of `cpu` check whether to balance, because only `SCHED_IDLE` tasks are
    /// left.
    pub(super) fn balance_soon(&mut self, platform: &Platform, cpu: CpuId) {
        self.cpus[cpu.index()].next_balance = platform.jiffies();
    }

    /// Successive passes of `cpu` over the domain that should have moved something and did not.
    #[inline]
    pub(super) fn failures(&self, cpu: CpuId, level: usize) -> u32 {
        self.domains[cpu.index() * self.levels + level].failures
    }

    /// The mark of the group of this level whose first CPU is `first`.
    pub(super) fn imbalanced_mark(&mut self, level: usize, first: CpuId) -> &mut bool {
        &mut self.imbalanced[first.index() * self.levels + level]
    }

    /// Whether `cpu`, which is about to go idle, balances its domain of this level. If not, the
    /// omission is counted.
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
