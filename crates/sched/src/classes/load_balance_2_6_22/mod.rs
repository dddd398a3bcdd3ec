//! Load balancing between CPUs in 2.6.22. A flat machine is one scheduling domain over all CPUs.
//! Other machines have domains of threads, caches, packages and nodes (`levels.rs`).
//!
//! # The idea
//!
//! A CPU's **load** is the sum of its runnable tasks' weights (`raw_weighted_load`). To smooth
//! short bursts there are also three running averages of it (`cpu_load`), updated at each tick. A
//! CPU pulls when it becomes idle, and periodically at its tick (every 1 to 4 ms when idle, every
//! 64 to 256 ms when busy). It finds the **busiest** other CPU, calculates the weight that would
//! have to move to bring both to the average (the **imbalance**), and takes waiting tasks of at
//! most that weight. When repeated attempts move nothing, the busiest CPU's **migration thread** is
//! woken to push a task that never waits: the running one.
//!
//! A hardware thread of a core whose other thread is busy is worth less than an idle CPU. Such a
//! thread does not look beyond the core when it goes idle, and at its tick it balances domains
//! larger than the core as rarely as a busy CPU does (**the busy sibling**).
//!
//! A fork chooses a node and, in another node, the CPU of the least load. An exec chooses among all
//! CPUs (`idlest.rs`).
//!
//! # Scope
//!
//! This module contains the loads, the intervals, the search for the busiest CPU, the imbalance,
//! and the handling of failed attempts. It does not choose the tasks to move (`move_tasks`),
//! because that depends on how a scheduler keeps its runqueues: the scheduler implements the
//! [`Balanced`] trait.
//!
//! # Cost
//!
//! The kernel's search reads every CPU's load: O(CPUs). The search here gives the same answer from
//! two sources: the sum of all loads, which is kept up to date, and a set of the CPUs with at least
//! two runnable tasks, which are the only ones with tasks to give. Its cost: O(CPUs / 64 +
//! overloaded CPUs).

mod audit;
mod idlest;
mod levels;
pub mod rules;

use crate::classes::domains::{DomainParams, Domains as Tree};
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;
pub use idlest::{Walk, wake_idle};
use levels::first_interval_ms;
use schedlab_core::topology::LevelKind;
use schedlab_core::{CpuBits, CpuId, Platform, Rule, Topology};

/// The release whose balancing is modelled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// 2.6.22.
    V2_6_22,
    /// 2.6.24, which has the loads of CFS: groups whose CPUs differ widely count as overloaded, any
    /// number of tasks may move at a time, and a CPU is busy if anything is queued there.
    V2_6_24,
}

impl Version {
    /// `SCHED_LOAD_SCALE`: returns the weight of one ordinary task, and the power of one CPU.
    const fn load_scale(self) -> u64 {
        match self {
            Version::V2_6_22 => 128,
            Version::V2_6_24 => 1024,
        }
    }
}
/// `MAX_PINNED_INTERVAL`: limit up to which the interval doubles when affinity lets nothing move,
/// ms.
const MAX_PINNED_INTERVAL_MS: u32 = 512;
/// `imbalance_pct` of the flat machine's domain: a load less than a quarter above the local one is
/// not worth moving.
const IMBALANCE_PCT: u64 = 125;
/// Longest time without checking a domain's intervals, s.
const LONGEST_S: u64 = 60;

/// State of a CPU as it balances. It selects the average of the other CPUs' loads that is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Idle {
    /// It idles (`idle_idx` 1: `cpu_load[0]`).
    Idle,
    /// It runs something (`busy_idx` 2: `cpu_load[1]`).
    Busy,
    /// It is about to idle (`newidle_idx` 2: `cpu_load[1]`).
    NewlyIdle,
}

impl Idle {
    /// Returns the index into `cpu_load`.
    const fn average(self) -> usize {
        match self {
            Idle::Idle => 0,
            Idle::Busy | Idle::NewlyIdle => 1,
        }
    }
}

/// The load of a CPU.
#[derive(Clone, Copy, Debug, Default)]
pub struct CpuLoad {
    /// Returns the sum of the weights of its runnable tasks, including the running one.
    raw_weighted_load: u64,
    /// Averages of it over about 1, 2 and 4 ticks.
    cpu_load: [u64; 3],
    /// Number of those tasks.
    nr_running: u32,
}

impl CpuLoad {
    /// Returns the sum of the weights of its runnable tasks, including the running one.
    #[inline]
    pub fn raw_weighted_load(&self) -> u64 {
        self.raw_weighted_load
    }

    /// Returns the number of its runnable tasks, including the running one.
    #[inline]
    pub fn nr_running(&self) -> u32 {
        self.nr_running
    }

    /// Returns the load of a CPU from which tasks would move: a low estimate.
    #[inline]
    fn source_load(&self, average: usize) -> u64 {
        self.cpu_load[average].min(self.raw_weighted_load)
    }

    /// Returns the load of a CPU to which tasks would move: a high estimate.
    #[inline]
    fn target_load(&self, average: usize) -> u64 {
        self.cpu_load[average].max(self.raw_weighted_load)
    }

    /// Returns the mean weight of its tasks; `scale` if it has none.
    #[inline]
    fn per_task(&self, scale: u64) -> u64 {
        if self.nr_running > 0 {
            self.raw_weighted_load / u64::from(self.nr_running)
        } else {
            scale
        }
    }
}

/// A CPU's own copy of a domain.
#[derive(Clone, Copy, Default, Debug)]
struct Domain {
    /// ms.
    balance_interval: u32,
    /// jiffies.
    last_balance: u64,
    nr_balance_failed: u32,
}

/// The state of a CPU apart from its domains.
#[derive(Clone, Copy, Default, Debug)]
struct CpuState {
    /// Time before which the tick does not balance, jiffies.
    next_balance: u64,
    /// The CPU to which this CPU's migration thread has been asked to push a task.
    push_cpu: Option<CpuId>,
    is_offline: bool,
}

/// Result of an attempt to move tasks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moved {
    /// Number of tasks moved.
    pub tasks: u32,
    /// Whether no task that was examined may run on the destination CPU.
    pub all_pinned: bool,
}

/// The busiest CPU, and the weight that should move from it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Busiest {
    cpu: CpuId,
    imbalance: u64,
}

/// Number of averages in use: `cpu_load[0]` and `cpu_load[1]`.
const AVERAGES_USED: usize = 2;

/// The loads and domains of all CPUs.
#[derive(Clone, Debug)]
pub struct Domains {
    version: Version,
    /// Its `SCHED_LOAD_SCALE`.
    scale: u64,
    hz: u64,
    /// Number of CPUs online. An offline CPU has nothing on its queue, and therefore no part in the
    /// sums.
    online: u32,
    loads: Vec<CpuLoad>,
    /// The scheduling domains.
    tree: Tree,
    /// Whether all CPUs form one domain, each CPU being a group.
    is_flat: bool,
    /// By CPU and level.
    domains: Vec<Domain>,
    cpus: Vec<CpuState>,
    /// The level that is being balanced.
    level: usize,
    /// The sums of all CPUs' source loads, by average.
    source_totals: [u64; AVERAGES_USED],
    /// CPUs with more than one runnable task.
    overloaded: CpuBits,
    /// CPUs on which the current attempt has given up: a mark for each, and a list for clearing the
    /// marks.
    excluded: Vec<bool>,
    excluded_list: Vec<CpuId>,
}

/// A scheduler whose CPUs are balanced in this way.
pub trait Balanced {
    /// Returns its loads and domains.
    fn domains(&mut self) -> &mut Domains;

    /// Brings the loads up to date, where they are not updated incrementally.
    fn refresh_loads(&mut self) {}

    /// Moves up to `max_tasks` waiting tasks with a total load of about `max_load` from the CPU
    /// `from` to the CPU `to`, and names `why` as the rule of each move.
    fn move_tasks(
        &mut self,
        platform: &mut Platform,
        why: Rule,
        to: CpuId,
        from: CpuId,
        max_tasks: u32,
        max_load: u64,
    ) -> Moved;

    /// Whether `cpu` runs its idle task, and no task that is about to leave.
    fn is_idle(&self, cpu: CpuId) -> bool;

    /// Whether the task that runs on `busiest` may run on `cpu`. The idle task may not.
    fn current_may_run_on(&self, busiest: CpuId, cpu: CpuId) -> bool;

    /// Wakes the migration thread of `cpu`. The thread gets the CPU to which it pushes a task from
    /// [`Domains::take_push_cpu`].
    fn wake_migration_thread(&mut self, platform: &mut Platform, cpu: CpuId);
}

impl Domains {
    /// Creates the domains of `topology`, all of whose CPUs are idle.
    pub fn new(topology: &Topology, hz: u32) -> Domains {
        Domains::of(Version::V2_6_22, topology, hz)
    }

    /// Does the same as `new`, for a given version.
    pub fn of(version: Version, topology: &Topology, hz: u32) -> Domains {
        let cpus = topology.cpus() as usize;
        let tree = levels::build(version, topology);
        let mut domains = Domains {
            version,
            scale: version.load_scale(),
            hz: u64::from(hz),
            online: cpus as u32,
            loads: alloc::vec![CpuLoad::default(); cpus],
            is_flat: version == Version::V2_6_22
                && topology.levels().iter().all(|level| level.kind == LevelKind::Cpu),
            domains: alloc::vec![Domain::default(); cpus * tree.levels()],
            cpus: alloc::vec![CpuState::default(); cpus],
            level: 0,
            tree,
            source_totals: [0; AVERAGES_USED],
            overloaded: CpuBits::new(cpus as u32),
            excluded: alloc::vec![false; cpus],
            excluded_list: Vec::with_capacity(cpus),
        };
        domains.restart(0);
        domains
    }

    /// Rebuilds the domains over the remaining CPUs after a CPU has gone offline.
    pub fn cpu_offline(&mut self, platform: &Platform, cpu: CpuId) {
        self.online -= 1;
        self.cpus[cpu.index()].is_offline = true;
        self.rebuild(platform.jiffies());
    }

    /// Rebuilds the domains after a CPU has come back online.
    pub fn cpu_online(&mut self, platform: &Platform, cpu: CpuId) {
        self.online += 1;
        self.cpus[cpu.index()].is_offline = false;
        self.rebuild(platform.jiffies());
    }

    /// Rebuilds the domains after CPUs have gone offline or come back.
    pub fn set_online(&mut self, jiffies: u64, is_online: impl Fn(CpuId) -> bool) {
        for (cpu, state) in (0..).map(CpuId).zip(&mut self.cpus) {
            state.is_offline = !is_online(cpu);
        }
        self.rebuild(jiffies);
    }

    /// Returns the domains, without the state of individual CPUs.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    fn rebuild(&mut self, jiffies: u64) {
        self.tree.rebuild(|cpu| !self.cpus[cpu.index()].is_offline);
        self.restart(jiffies);
    }

    fn restart(&mut self, jiffies: u64) {
        for cpu in &mut self.cpus {
            cpu.next_balance = jiffies;
        }
        let levels = self.tree.levels();
        for (place, domain) in self.domains.iter_mut().enumerate() {
            let balance_interval = first_interval_ms(self.tree.level(place % levels).kind);
            *domain = Domain { balance_interval, last_balance: jiffies, nr_balance_failed: 0 };
        }
    }

    fn params(&self) -> &DomainParams {
        &self.tree.level(self.level).params
    }

    /// Returns the load of `cpu`.
    #[inline]
    pub fn load(&self, cpu: CpuId) -> &CpuLoad {
        &self.loads[cpu.index()]
    }

    /// Changes the load of `cpu` and updates the sums.
    #[inline]
    fn change(&mut self, cpu: CpuId, change: impl FnOnce(&mut CpuLoad)) {
        let load = &mut self.loads[cpu.index()];
        for (average, total) in self.source_totals.iter_mut().enumerate() {
            *total -= load.source_load(average);
        }
        change(load);
        for (average, total) in self.source_totals.iter_mut().enumerate() {
            *total += load.source_load(average);
        }
    }

    /// Counts a task of this weight that becomes runnable on `cpu`.
    #[inline]
    pub fn inc_nr_running(&mut self, cpu: CpuId, weight: u64) {
        self.change(cpu, |load| {
            load.raw_weighted_load += weight;
            load.nr_running += 1;
        });
        if self.loads[cpu.index()].nr_running == 2 {
            self.overloaded.insert(cpu);
        }
    }

    /// Stops counting a task of this weight that is no longer runnable on `cpu`.
    #[inline]
    pub fn dec_nr_running(&mut self, cpu: CpuId, weight: u64) {
        self.change(cpu, |load| {
            load.raw_weighted_load -= weight;
            load.nr_running -= 1;
        });
        if self.loads[cpu.index()].nr_running == 1 {
            self.overloaded.remove(cpu);
        }
    }

    /// Records that a runnable task of `cpu` has changed its weight.
    #[inline]
    pub fn reweigh(&mut self, cpu: CpuId, old: u64, new: u64) {
        self.change(cpu, |load| load.raw_weighted_load = load.raw_weighted_load - old + new);
    }

    /// Sets the number and total weight of the tasks of `cpu`. (For a scheduler that does not
    /// report each arrival and departure.)
    pub fn set_load(&mut self, cpu: CpuId, raw_weighted_load: u64, nr_running: u32) {
        let load = &self.loads[cpu.index()];
        if (load.raw_weighted_load, load.nr_running) != (raw_weighted_load, nr_running) {
            self.change(cpu, |load| {
                (load.raw_weighted_load, load.nr_running) = (raw_weighted_load, nr_running);
            });
        }
    }

    /// `update_cpu_load`, at each tick of `cpu`: makes the averages follow the load. The higher
    /// their index, the more slowly they follow. Rising averages are rounded up, so that they reach
    /// the load.
    #[inline]
    pub fn update_cpu_load(&mut self, cpu: CpuId) {
        let load = &self.loads[cpu.index()];
        if load.cpu_load == [load.raw_weighted_load; 3] {
            return;
        }
        self.change(cpu, |load| {
            for (index, average) in load.cpu_load.iter_mut().enumerate() {
                let scale = 1 << index;
                let mut new = load.raw_weighted_load;
                if new > *average {
                    new += scale - 1;
                }
                *average = (*average * (scale - 1) + new) >> index;
            }
        });
    }

    /// Returns the overloaded CPUs of a range, ascending.
    fn overloaded(&self, range: Range<u32>) -> impl Iterator<Item = CpuId> + '_ {
        self.overloaded.range(range)
    }

    /// Whether `cpu` has failed to balance often enough to also take cache-hot tasks.
    #[inline]
    pub fn takes_cache_hot(&self, cpu: CpuId) -> bool {
        let domain = &self.domains[cpu.index() * self.tree.levels() + self.level];
        domain.nr_balance_failed > self.params().cache_nice_tries
    }

    /// Takes the CPU to which the migration thread of `cpu`, which now runs, has been asked to push
    /// a task.
    pub fn take_push_cpu(&mut self, cpu: CpuId) -> Option<CpuId> {
        let to = self.cpus[cpu.index()].push_cpu.take()?;
        // This counts as a balancing of the smallest domain that contains both.
        let has_both = |&level: &usize| self.tree.level(level).share(cpu, to);
        self.level = self.tree.of(to).find(has_both).unwrap_or(self.level);
        Some(to)
    }

    /// Whether the smallest domain of `this` that also contains `prev` allows affine wakeups.
    pub fn is_affine(&self, this: CpuId, prev: CpuId) -> bool {
        let mut levels = self.tree.of(this).map(|level| self.tree.level(level));
        let smallest = levels.find(|level| level.share(this, prev));
        smallest.is_some_and(|level| level.params.wake_affine)
    }

    /// Returns the rule of affine wakeups by which a task of this weight that last ran on `prev`
    /// wakes instead on `this` CPU, its waker's. `None`: it does not. `leaving` is the weight of
    /// the waker if it promises to sleep at once.
    pub fn wakes_here(&self, this: CpuId, prev: CpuId, weight: u64, leaving: u64) -> Option<Rule> {
        let has_both = |&level: &usize| self.tree.level(level).share(this, prev);
        let level = self.tree.of(this).find(has_both)?;
        let params = &self.tree.level(level).params;
        let imbalance_pct = 100 + (u64::from(params.imbalance_pct) - 100) / 2;
        let (here, there) = (self.load(this), self.load(prev));
        let average = params.wake_idx.checked_sub(1).map(usize::from);
        let rather_high =
            |load: &CpuLoad| average.map_or(load.raw_weighted_load, |at| load.target_load(at));
        let this_load = rather_high(here);
        let load = average.map_or(there.raw_weighted_load, |at| there.source_load(at));
        if !params.wake_affine && !params.balance_wake {
            return None;
        }
        if !params.wake_affine {
            // Between nodes it moves only if this CPU has much less load (`SD_WAKE_BALANCE`).
            return (imbalance_pct * this_load <= 100 * load).then_some(rules::WAKE_BALANCE);
        }
        let this_load = this_load.saturating_sub(leaving);
        let one_task_between_them =
            this_load <= load && this_load + rather_high(there) <= here.per_task(self.scale);
        if one_task_between_them {
            return Some(rules::WAKE_AFFINE_ONE_TASK);
        }
        (100 * (this_load + weight) <= imbalance_pct * load).then_some(rules::WAKE_AFFINE)
    }

    /// `find_busiest_group`: returns the busiest CPU as seen by `this`, and the imbalance. `None`:
    /// the domain is balanced.
    fn find_busiest(&self, this: CpuId, idle: Idle) -> Option<Busiest> {
        if !self.is_flat {
            return self.find_busiest_of_groups(this, self.level, idle);
        }
        self.overloaded.next(0)?;
        let average = idle.average();
        let this_load = self.load(this).target_load(average);
        let excluded: u64 =
            (self.excluded_list.iter()).map(|&cpu| self.load(cpu).source_load(average)).sum();
        let total = self.source_totals[average] - self.load(this).source_load(average) + this_load
            - excluded;
        let mut max_load = 0;
        let mut busiest = None;
        // From the next CPU upwards, and around; the first among equals.
        let upwards = self.overloaded(this.0 + 1..self.loads.len() as u32);
        for cpu in upwards.chain(self.overloaded(0..this.0)) {
            let load = self.load(cpu).source_load(average);
            if load > max_load && !self.excluded[cpu.index()] {
                max_load = load;
                busiest = Some(cpu);
            }
        }
        let cpu = busiest?;
        let avg_load = total / u64::from(self.online);
        let per_task = self.load(cpu).per_task(self.scale);
        if this_load >= max_load
            || this_load >= avg_load
            || 100 * max_load <= IMBALANCE_PCT * this_load
            || max_load <= per_task
        {
            return None;
        }
        let imbalance = if max_load < avg_load {
            0
        } else {
            (max_load - avg_load).min(max_load - per_task).min(avg_load - this_load)
        };
        if imbalance >= per_task || self.one_task_helps(this, this_load, max_load, per_task) {
            return Some(Busiest { cpu, imbalance: imbalance.max(per_task) });
        }
        None
    }

    /// Returns whether both CPUs together would do more work if an average task moved although the
    /// imbalance is less than a task: a CPU with less than one task's weight is idle part of the
    /// time.
    fn one_task_helps(&self, this: CpuId, this_load: u64, max_load: u64, per_task: u64) -> bool {
        let own = self.load(this);
        let own_per_task = own.per_task(self.scale);
        let factor = if own.nr_running > 0 && per_task > own_per_task { 1 } else { 2 };
        if max_load - this_load >= per_task * factor {
            return true;
        }
        let moved = per_task.min(max_load);
        let now = moved + own_per_task.min(this_load);
        let then =
            per_task.min(max_load.saturating_sub(per_task)) + own_per_task.min(this_load + moved);
        then > now
    }

    /// Describes the domains.
    pub fn describe(&self) -> String {
        self.tree.describe()
    }

    /// For tests: sets the number and total weight of the tasks of `cpu`, and the averages.
    #[cfg(test)]
    pub(crate) fn set_for_test(&mut self, cpu: CpuId, running: u32, weight: u64, averages: u64) {
        while self.load(cpu).nr_running < running {
            self.inc_nr_running(cpu, 0);
        }
        while self.load(cpu).nr_running > running {
            self.dec_nr_running(cpu, 0);
        }
        self.change(cpu, |load| {
            load.raw_weighted_load = weight;
            load.cpu_load = [averages; 3];
        });
    }

    /// For tests: returns the busiest CPU as seen by the idle CPU `this`, and the imbalance.
    #[cfg(test)]
    pub(crate) fn busiest_for_test(&self, this: CpuId) -> Option<(u32, u64)> {
        let found = self.find_busiest(this, Idle::Idle)?;
        Some((found.cpu.0, found.imbalance))
    }

    /// For tests: returns the interval, ms.
    #[cfg(test)]
    pub(crate) fn balance_interval(&self, cpu: CpuId) -> u32 {
        self.domains[cpu.index() * self.tree.levels()].balance_interval
    }

    /// For tests: makes `to` fail often enough to request a push from `busiest`.
    #[cfg(test)]
    pub(crate) fn ask_push_for_test(&mut self, busiest: CpuId, to: CpuId) {
        self.domain(to).nr_balance_failed = self.params().cache_nice_tries + 1;
        self.cpus[busiest.index()].push_cpu = Some(to);
    }

    fn exclude(&mut self, cpu: CpuId) {
        self.excluded[cpu.index()] = true;
        self.excluded_list.push(cpu);
    }

    fn forget_excluded(&mut self) {
        for cpu in self.excluded_list.drain(..) {
            self.excluded[cpu.index()] = false;
        }
    }

    /// Returns the CPU's copy of the domain that is being balanced.
    fn domain(&mut self, cpu: CpuId) -> &mut Domain {
        &mut self.domains[cpu.index() * self.tree.levels() + self.level]
    }

    /// Returns `balance_interval` times `factor` in jiffies, rounded up.
    fn interval(&mut self, cpu: CpuId, factor: u64) -> u64 {
        (u64::from(self.domain(cpu).balance_interval) * factor * self.hz).div_ceil(1000)
    }

    /// Records that the domain is balanced, or that nothing can move.
    fn found_balanced(&mut self, cpu: CpuId, all_pinned: bool) {
        self.domain(cpu).nr_balance_failed = 0;
        self.lengthen_interval(cpu, all_pinned);
    }

    /// Doubles the interval of a balanced domain, or of one in which affinity lets nothing move.
    fn lengthen_interval(&mut self, cpu: CpuId, all_pinned: bool) {
        let max = self.params().max_interval_ms;
        let interval = &mut self.domain(cpu).balance_interval;
        if (all_pinned && *interval < MAX_PINNED_INTERVAL_MS) || *interval < max {
            *interval *= 2;
        }
    }
}

/// `rebalance_domains`, at each tick of `cpu`: balances its domains, the smallest first, where the
/// interval is over. `is_idle`: whether the tick found the CPU idle.
pub fn rebalance(queues: &mut impl Balanced, platform: &mut Platform, cpu: CpuId, is_idle: bool) {
    let jiffies = platform.jiffies();
    let domains = queues.domains();
    if domains.loads.len() == 1 || jiffies < domains.cpus[cpu.index()].next_balance {
        return;
    }
    let mut is_idle = is_idle;
    let mut next = jiffies + LONGEST_S * domains.hz;
    for level in queues.domains().tree.of(cpu) {
        let domains = queues.domains();
        domains.level = level;
        // The next time is computed with this interval, whatever the attempt changes.
        let factor = if is_idle { 1 } else { u64::from(domains.params().busy_factor) };
        let interval = domains.interval(cpu, factor);
        let mut its_turn = true;
        if jiffies >= domains.domain(cpu).last_balance + interval {
            its_turn = is_its_turn(queues, cpu, level);
            let idle = if is_idle { Idle::Idle } else { Idle::Busy };
            if !its_turn {
                queues.domains().found_balanced(cpu, false);
            } else if load_balance(queues, platform, cpu, idle) {
                is_idle = false;
            }
            let domains = queues.domains();
            domains.level = level;
            domains.domain(cpu).last_balance = jiffies;
        }
        next = next.min(queues.domains().domain(cpu).last_balance + interval);
        if !its_turn {
            break;
        }
    }
    queues.domains().cpus[cpu.index()].next_balance = next;
}

/// Whether `cpu` is the CPU of its group that balances this level and those above: the first idle
/// one, or the first.
fn is_its_turn(queues: &mut impl Balanced, cpu: CpuId, level: usize) -> bool {
    let domains = queues.domains();
    let domain = domains.tree.level(level);
    let number = domain.group_of(cpu);
    let size = domain.span(cpu).group(number).len();
    let member = |queues: &mut _, place: usize| {
        Balanced::domains(queues).tree.level(level).span(cpu).group(number)[place]
    };
    for place in 0..size {
        let other = member(queues, place);
        if !queues.domains().excluded[other.index()] && queues.is_idle(other) {
            return other == cpu;
        }
    }
    member(queues, 0) == cpu
}

/// Whether the domain that is being balanced is a core of which a CPU that the attempt examines is
/// busy. In 2.6.22 a CPU that is about to idle still has its last task, and so counts itself.
fn has_busy_sibling(queues: &mut impl Balanced, cpu: CpuId) -> bool {
    let domains = queues.domains();
    if !domains.params().share_cpupower {
        return false;
    }
    let level = domains.level;
    let size = domains.tree.level(level).span(cpu).cpus.len();
    (0..size).any(|place| {
        let domains = queues.domains();
        let other = domains.tree.level(level).span(cpu).cpus[place];
        let is_busy = match domains.version {
            Version::V2_6_22 => None,
            Version::V2_6_24 => Some(domains.load(other).nr_running > 0),
        };
        !domains.excluded[other.index()] && is_busy.unwrap_or_else(|| !queues.is_idle(other))
    })
}

/// `load_balance`: pulls tasks to `cpu`. Returns whether the CPU counts as busy in the domains
/// above: it received tasks, or a sibling is busy.
fn load_balance(
    queues: &mut impl Balanced,
    platform: &mut Platform,
    cpu: CpuId,
    idle: Idle,
) -> bool {
    let mut all_pinned = false;
    let mut busy_sibling = idle == Idle::Busy && queues.domains().params().share_cpupower;
    let why = if idle == Idle::Idle { rules::IDLE_REBALANCE } else { rules::BUSY_REBALANCE };
    platform.work.balances += 1;
    let busiest = loop {
        platform.work.queues += queues.domains().loads.len() as u64;
        queues.refresh_loads();
        busy_sibling = busy_sibling || has_busy_sibling(queues, cpu);
        let Some(busiest) = queues.domains().find_busiest(cpu, idle) else {
            break None;
        };
        let waiting = queues.domains().load(busiest.cpu).nr_running - 1;
        let Busiest { cpu: from, imbalance } = busiest;
        let moved = queues.move_tasks(platform, why, cpu, from, waiting, imbalance);
        all_pinned = moved.all_pinned;
        if !all_pinned {
            break Some((busiest.cpu, moved.tasks));
        }
        queues.domains().exclude(busiest.cpu);
    };
    queues.domains().forget_excluded();
    let Some((busiest, moved)) = busiest else {
        queues.domains().found_balanced(cpu, all_pinned);
        return busy_sibling;
    };
    if moved > 0 {
        let min = queues.domains().params().min_interval_ms;
        let domain = queues.domains().domain(cpu);
        domain.nr_balance_failed = 0;
        domain.balance_interval = min;
        return true;
    }
    attempt_failed(queues, platform, cpu, busiest);
    busy_sibling
}

/// Handles an imbalance in which nothing moved. After the fourth successive failure the running
/// task is pushed.
fn attempt_failed(queues: &mut impl Balanced, platform: &mut Platform, cpu: CpuId, busiest: CpuId) {
    let domains = queues.domains();
    let DomainParams { cache_nice_tries, min_interval_ms, max_interval_ms, .. } = *domains.params();
    let domain = domains.domain(cpu);
    domain.nr_balance_failed += 1;
    let mut kicked = false;
    if domain.nr_balance_failed > cache_nice_tries + 2 {
        if !queues.current_may_run_on(busiest, cpu) {
            queues.domains().lengthen_interval(cpu, true);
            return;
        }
        kicked = queues.domains().cpus[busiest.index()].push_cpu.is_none();
        if kicked {
            queues.domains().cpus[busiest.index()].push_cpu = Some(cpu);
            queues.wake_migration_thread(platform, busiest);
        }
        // More than `cache_nice_tries`, so that the push also takes cache-hot tasks.
        queues.domains().domain(cpu).nr_balance_failed = cache_nice_tries + 1;
    }
    let interval = &mut queues.domains().domain(cpu).balance_interval;
    if !kicked {
        *interval = min_interval_ms;
    } else if *interval < max_interval_ms {
        *interval *= 2;
    }
}

/// `idle_balance`: lets `cpu`, which is about to idle, pull what it can from the smallest domain
/// that has anything. Returns whether `cpu` received a task.
pub fn newly_idle_balance(queues: &mut impl Balanced, platform: &mut Platform, cpu: CpuId) -> bool {
    let jiffies = platform.jiffies();
    if queues.domains().loads.len() == 1 {
        return false;
    }
    let mut next = jiffies + LONGEST_S * queues.domains().hz;
    for level in queues.domains().tree.of(cpu) {
        queues.domains().level = level;
        let mut found = NewlyIdle::Nothing;
        if queues.domains().params().balance_newidle {
            found = newly_idle_balance_of(queues, platform, cpu);
        }
        let domains = queues.domains();
        let is_early = domains.version == Version::V2_6_22;
        if is_early && found != NewlyIdle::Nothing {
            // The time of its next balancing is still that of a busy CPU.
            return found == NewlyIdle::Pulled;
        }
        let interval = domains.interval(cpu, 1);
        next = next.min(domains.domain(cpu).last_balance + interval);
        if found != NewlyIdle::Nothing {
            domains.cpus[cpu.index()].next_balance = next;
            return found == NewlyIdle::Pulled;
        }
    }
    let domains = queues.domains();
    let next_balance = &mut domains.cpus[cpu.index()].next_balance;
    if domains.version == Version::V2_6_22 || jiffies > *next_balance {
        // As an idle CPU it will balance again soon.
        *next_balance = next;
    }
    false
}

/// Result of the search of a CPU about to idle in one domain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum NewlyIdle {
    /// A task was pulled.
    Pulled,
    /// No task, and the sibling is busy: the search ends.
    BusySibling,
    /// No task.
    Nothing,
}

/// `load_balance_newidle`: searches one domain.
fn newly_idle_balance_of(
    queues: &mut impl Balanced,
    platform: &mut Platform,
    cpu: CpuId,
) -> NewlyIdle {
    platform.work.balances += 1;
    platform.work.queues += queues.domains().loads.len() as u64;
    let mut busy_sibling = false;
    let found = loop {
        queues.refresh_loads();
        busy_sibling = busy_sibling || has_busy_sibling(queues, cpu);
        let Some(Busiest { cpu: from, imbalance }) =
            queues.domains().find_busiest(cpu, Idle::NewlyIdle)
        else {
            if !busy_sibling {
                queues.domains().domain(cpu).nr_balance_failed = 0;
            }
            break NewlyIdle::Nothing;
        };
        let waiting = queues.domains().load(from).nr_running - 1;
        if waiting == 0 {
            // A lone task cannot be taken; the CPU remains a candidate.
            break NewlyIdle::Nothing;
        }
        let why = rules::NEWLY_IDLE_BALANCE;
        let moved = queues.move_tasks(platform, why, cpu, from, waiting, imbalance);
        if moved.tasks > 0 && !(moved.all_pinned && queues.domains().version == Version::V2_6_24) {
            queues.domains().domain(cpu).nr_balance_failed = 0;
            break NewlyIdle::Pulled;
        }
        if !moved.all_pinned && queues.domains().version == Version::V2_6_24 {
            break NewlyIdle::Nothing;
        }
        queues.domains().exclude(from);
    };
    queues.domains().forget_excluded();
    if found == NewlyIdle::Nothing && busy_sibling { NewlyIdle::BusySibling } else { found }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use schedlab_core::topology::Place;

    /// CPUs with hogs of weight 128, none of which ever moves.
    pub(in super::super) struct Fake {
        pub domains: Domains,
        /// CPUs whose task is about to leave.
        pub leaving: Vec<u32>,
    }

    impl Fake {
        /// Creates a long-lasting load with a task for each occurrence of a CPU in `tasks`.
        pub fn new(mut domains: Domains, tasks: &[u32]) -> Fake {
            for &cpu in tasks {
                domains.inc_nr_running(CpuId(cpu), 128);
            }
            for cpu in 0..domains.loads.len() as u32 {
                for _ in 0..64 {
                    domains.update_cpu_load(CpuId(cpu));
                }
            }
            Fake { domains, leaving: Vec::new() }
        }

        /// Returns cores of two threads, two cores in each node.
        fn of_cores(tasks: &[u32]) -> Fake {
            let place =
                |cpu: u32| Place { core: cpu / 2, cache: cpu / 4, package: cpu / 4, node: cpu / 4 };
            let topology = Topology::new((0..8).map(place).collect(), &[]).unwrap();
            Fake::new(Domains::new(&topology, 1000), tasks)
        }
    }

    impl Balanced for Fake {
        fn domains(&mut self) -> &mut Domains {
            &mut self.domains
        }
        fn move_tasks(
            &mut self,
            _: &mut Platform,
            _: Rule,
            _: CpuId,
            _: CpuId,
            _: u32,
            _: u64,
        ) -> Moved {
            Moved { tasks: 0, all_pinned: false }
        }
        fn is_idle(&self, cpu: CpuId) -> bool {
            self.domains.load(cpu).nr_running == 0 && !self.leaving.contains(&cpu.0)
        }
        fn current_may_run_on(&self, _: CpuId, _: CpuId) -> bool {
            true
        }
        fn wake_migration_thread(&mut self, _: &mut Platform, _: CpuId) {}
    }

    fn at(jiffies: u64) -> Platform {
        let mut platform = Platform::new(8, 1000);
        platform.set_jiffies(jiffies);
        platform
    }

    #[test]
    fn one_cpu_of_a_group_balances_for_it() {
        let turns = |fake: &mut Fake| -> Vec<u32> {
            (0..4).filter(|&cpu| is_its_turn(fake, CpuId(cpu), 2)).collect()
        };
        assert_eq!(turns(&mut Fake::of_cores(&[0, 2])), [1], "the first idle CPU of the node");
        assert_eq!(turns(&mut Fake::of_cores(&[0, 1, 2, 3])), [0], "the first CPU");
        // Nothing is queued on CPU 1, but its last task is still there: it is not idle yet.
        let mut fake = Fake::of_cores(&[0, 2]);
        fake.leaving.push(1);
        assert_eq!(turns(&mut fake), [3]);
    }

    #[test]
    fn an_idle_thread_beside_a_busy_one_balances_beyond_its_core_as_seldom_as_a_busy_cpu() {
        let looked_at = |tasks: &[u32]| {
            let mut fake = Fake::of_cores(tasks);
            rebalance(&mut fake, &mut at(1), CpuId(0), true);
            // Times at which SMT and MC were last balanced.
            [0, 1].map(|level| fake.domains.domains[level].last_balance)
        };
        assert_eq!(looked_at(&[]), [1, 1]);
        assert_eq!(looked_at(&[1]), [1, 0]);
    }

    #[test]
    fn a_thread_that_goes_idle_stops_at_its_core_and_looks_again_when_a_busy_one_would() {
        let next = |leaving: &[u32]| {
            let mut fake = Fake::of_cores(&[4, 4]);
            fake.leaving = leaving.to_vec();
            fake.domains.cpus[0].next_balance = 77;
            newly_idle_balance(&mut fake, &mut at(10), CpuId(0));
            fake.domains.cpus[0].next_balance
        };
        assert_eq!(next(&[]), 1, "last_balance + balance_interval");
        assert_eq!(next(&[1]), 77, "the sibling is busy");
        assert_eq!(next(&[0]), 77, "it still has the task that is leaving");
    }

    /// Returns domains whose CPUs have the given (weight of each task, number of tasks), and
    /// settled averages.
    fn domains(cpus: &[(u64, u32)]) -> Domains {
        let mut domains = Domains::new(&Topology::flat(cpus.len() as u32), 1000);
        for (number, &(weight, tasks)) in cpus.iter().enumerate() {
            for _ in 0..tasks {
                domains.inc_nr_running(CpuId(number as u32), weight);
            }
            for _ in 0..64 {
                domains.update_cpu_load(CpuId(number as u32));
            }
        }
        domains
    }

    /// Returns the numbers of the overloaded CPUs in a range.
    fn overloaded(domains: &Domains, range: Range<u32>) -> Vec<u32> {
        domains.overloaded(range).map(|cpu| cpu.0).collect()
    }

    fn found(cpu: u32, imbalance: u64) -> Option<Busiest> {
        Some(Busiest { cpu: CpuId(cpu), imbalance })
    }

    #[test]
    fn averages_follow_the_load_and_reach_it() {
        let mut domains = Domains::new(&Topology::flat(1), 1000);
        domains.inc_nr_running(CpuId(0), 100);
        let mut averages = || {
            domains.update_cpu_load(CpuId(0));
            domains.loads[0].cpu_load
        };
        assert_eq!(averages(), [100, 50, 25]);
        assert_eq!(averages(), [100, 75, 44]);
        for _ in 0..30 {
            averages();
        }
        assert_eq!(averages(), [100, 100, 100], "rising, rounded up");
    }

    #[test]
    fn three_equal_hogs_on_two_cpus_stay_where_they_are() {
        let domains = domains(&[(128, 2), (128, 1)]);
        assert_eq!(domains.find_busiest(CpuId(1), Idle::Busy), None);
        assert!(domains.find_busiest(CpuId(0), Idle::Busy).is_none());
    }

    #[test]
    fn the_first_of_the_busiest_gives_up_to_the_average() {
        let domains = domains(&[(128, 1), (128, 4), (128, 1), (128, 4)]);
        // avg 320; seen from 2 the ring begins with 3.
        assert_eq!(domains.find_busiest(CpuId(2), Idle::Busy), found(3, 192));
        assert_eq!(domains.find_busiest(CpuId(0), Idle::Busy), found(1, 192));
        assert_eq!(
            domains.find_busiest(CpuId(1), Idle::Busy),
            None,
            "its own load is above the average"
        );
    }

    #[test]
    fn a_quarter_more_is_not_worth_it() {
        // 400 here, 500 or 505 there. The third CPU pulls the average above 400. Tasks are light,
        // so moving one would help.
        for (tasks, worth) in [(100, false), (101, true)] {
            let mut domains = domains(&[(400, 1), (5, tasks), (480, 1)]);
            assert_eq!(domains.find_busiest(CpuId(0), Idle::Busy).is_some(), worth, "{tasks} * 5");
            domains.exclude(CpuId(1));
            assert_eq!(domains.find_busiest(CpuId(0), Idle::Busy), None);
        }
    }

    #[test]
    fn a_single_task_cannot_be_had_however_heavy() {
        let domains = domains(&[(0, 0), (96_000, 1), (120, 2)]);
        let busiest = domains.find_busiest(CpuId(0), Idle::Idle);
        assert_eq!(busiest.map(|busiest| busiest.cpu), Some(CpuId(2)));
    }

    #[test]
    fn what_comes_and_goes_is_counted() {
        let mut domains = domains(&[(10, 2), (10, 1)]);
        assert_eq!(overloaded(&domains, 0..2), [0]);
        domains.inc_nr_running(CpuId(1), 5);
        assert_eq!(overloaded(&domains, 0..2), [0, 1]);
        domains.dec_nr_running(CpuId(0), 10);
        domains.dec_nr_running(CpuId(1), 5);
        assert_eq!(domains.overloaded(0..2).count(), 0);
        assert_eq!(domains.load(CpuId(1)).raw_weighted_load(), 10);
    }

    #[test]
    fn overloaded_cpus_are_found_between_any_two() {
        let mut domains = Domains::new(&Topology::flat(200), 1000);
        for cpu in [0, 63, 64, 128, 199] {
            domains.inc_nr_running(CpuId(cpu), 1);
            domains.inc_nr_running(CpuId(cpu), 1);
        }
        let between = |from, to| overloaded(&domains, from..to);
        assert_eq!(between(0, 200), [0, 63, 64, 128, 199]);
        assert_eq!(between(1, 128), [63, 64]);
        assert_eq!(between(64, 129), [64, 128]);
        assert_eq!(between(200, 200), [0; 0]);
        assert_eq!(between(0, 0), [0; 0]);
    }

    #[test]
    fn a_woken_task_comes_to_an_idle_waker_only_if_its_own_cpu_was_busy() {
        let domains = domains(&[(0, 0), (128, 1), (0, 0)]);
        let wakes =
            |this, prev, leaving| domains.wakes_here(CpuId(this), CpuId(prev), 128, leaving);
        assert!(wakes(0, 1, 0).is_some(), "128 here is at most 112 % of 128 there");
        assert_eq!(wakes(1, 0, 0), None);
        // Both are idle: the sum of both loads is at most that of one task.
        assert_eq!(wakes(0, 2, 0), Some(rules::WAKE_AFFINE_ONE_TASK));
        // The waker is about to leave.
        assert!(wakes(1, 0, 128).is_some());
    }
}
