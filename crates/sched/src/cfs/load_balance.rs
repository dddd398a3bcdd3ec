//! Load balancing: when it happens, and what one pass does.
//!
//! A CPU balances for itself: from its tick, each domain at its interval, and when it goes idle. It
//! looks for the busiest group of the domain ([`find_busiest_group`](super::find_busiest_group)),
//! for the busiest CPU in it, and pulls tasks from there that are not running and not cache hot. If
//! that fails several times in a row the busiest CPU's migration thread is woken to push the
//! running task over (*active balancing*).

use super::Cfs;
use super::entity::Entity;
use super::releases::Feature;
use crate::classes::domains::DomainParams;
use crate::classes::rbtree::NIL;
use crate::classes::rt::RealTime;
use crate::classes::{Challenge, Class, Dequeue, Enqueue, Rqs, core_2_6};
use alloc::vec::Vec;
use schedlab_core::{CpuId, Platform};

/// `SCHED_LOAD_SCALE`: the power of one full CPU.
pub(super) const SCALE: u64 = 1024;

/// What a CPU notes about its balancing of one of its domains.
#[derive(Clone, Copy, Debug)]
pub(super) struct Balancing {
    /// When it last balanced, jiffies.
    pub last_balance: u64,
    /// How long it waits, ms.
    pub interval_ms: u64,
    /// Passes in a row that should have moved something and did not.
    pub nr_failed: u32,
    /// When it last divided the groups' shares, ns.
    pub last_update_ns: u64,
}

/// For whom tasks are looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Idleness {
    /// A CPU that has something to run.
    NotIdle,
    /// A CPU that idles.
    Idle,
    /// A CPU that is about to idle.
    NewlyIdle,
}

/// One CPU's balancing of one of its domains.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pass {
    pub level: usize,
    /// The CPU that balances, to which tasks are to come.
    pub this: CpuId,
    pub idleness: Idleness,
}

impl Balancing {
    /// Nothing to do: look less often.
    fn lengthen_interval(&mut self, params: &DomainParams, pinned: AllPinned) {
        const MAX_PINNED_INTERVAL_MS: u64 = 512;
        let interval = &mut self.interval_ms;
        if (pinned && *interval < MAX_PINNED_INTERVAL_MS)
            || *interval < u64::from(params.max_interval_ms)
        {
            *interval *= 2;
        }
    }
}

/// Whether everything that was looked at may not run on the CPU that looks.
type AllPinned = bool;

/// The CPUs among which a pass looks.
#[derive(Clone, Debug)]
pub(super) struct Candidates {
    words: Vec<u64>,
    /// Some have been taken out.
    pub some_out: bool,
}

impl Candidates {
    pub(super) fn new(cpus: u32) -> Candidates {
        Candidates { words: alloc::vec![u64::MAX; (cpus as usize).div_ceil(64)], some_out: false }
    }

    fn all(&mut self) {
        if core::mem::take(&mut self.some_out) {
            self.words.fill(u64::MAX);
        }
    }

    fn take_out(&mut self, cpu: CpuId) {
        self.words[cpu.index() / 64] &= !(1 << (cpu.0 % 64));
        self.some_out = true;
    }

    #[inline]
    pub(super) fn contains(&self, cpu: CpuId) -> bool {
        !self.some_out || self.words[cpu.index() / 64] >> (cpu.0 % 64) & 1 == 1
    }
}

/// Milliseconds in ticks, rounded up.
const fn ms_to_jiffies(ms: u64, hz: u32) -> u64 {
    (ms * hz as u64).div_ceil(1000)
}

impl Cfs {
    /// `update_cpu_load`: five decaying means of the load, each half as quick as the one before.
    #[inline]
    pub(super) fn update_cpu_loads(&mut self, cpu: CpuId) {
        let load = self.weighted_load[cpu.index()];
        for (i, mean) in self.cpu_load[cpu.index()].iter_mut().enumerate() {
            let rest = (1 << i) - 1;
            // Rounds up while it grows, so that it reaches the load in the end.
            let new = if load > *mean { load + rest } else { load };
            *mean = (*mean * rest + new) >> i;
        }
    }

    /// `rebalance_domains`: the softirq of the tick.
    #[inline]
    pub(super) fn rebalance_domains(
        &mut self,
        rqs: &mut Rqs,
        rt: &mut RealTime,
        platform: &mut Platform,
        cpu: CpuId,
    ) {
        let jiffies = platform.jiffies();
        if jiffies < self.next_balance[cpu.index()] {
            return;
        }
        let hz = platform.hz();
        let mut idleness =
            if rqs.is_idle_thread(rqs.curr(cpu)) { Idleness::Idle } else { Idleness::NotIdle };
        // NR_CPUS of the usual build, at least.
        let longest = u64::from(hz) * u64::from(rqs.cpus().max(64)) / 10;
        let mut next = None;
        for level in rqs.domains.of(cpu) {
            let params = rqs.domains.level(level).params;
            let row = &self.balancing[level][cpu.index()];
            let mut interval = row.interval_ms;
            if idleness != Idleness::Idle {
                interval *= u64::from(params.busy_factor);
            }
            let interval = ms_to_jiffies(interval, hz).clamp(1, longest);
            let mut its_turn = true;
            if jiffies >= row.last_balance + interval {
                let pass = Pass { level, this: cpu, idleness };
                if self.load_balance(rqs, rt, platform, pass, &mut its_turn) {
                    idleness = Idleness::NotIdle;
                }
                self.balancing[level][cpu.index()].last_balance = jiffies;
            }
            let due = self.balancing[level][cpu.index()].last_balance + interval;
            next = Some(next.map_or(due, |next: u64| next.min(due)));
            if !its_turn {
                break;
            }
        }
        if let Some(next) = next {
            self.next_balance[cpu.index()] = next.min(jiffies + 60 * u64::from(hz));
        }
    }

    /// `load_balance`: a CPU's pass over one of its domains, and what it means for the next.
    /// Whether anything was moved.
    fn load_balance(
        &mut self,
        rqs: &mut Rqs,
        rt: &mut RealTime,
        platform: &mut Platform,
        pass: Pass,
        its_turn: &mut bool,
    ) -> bool {
        let params = rqs.domains.level(pass.level).params;
        let mut pinned: AllPinned = false;
        let pulled = self.pull_from_busiest(rqs, platform, pass, its_turn, &mut pinned);
        let row = &mut self.balancing[pass.level][pass.this.index()];
        let Some((busiest, moved)) = pulled else {
            row.nr_failed = 0;
            row.lengthen_interval(&params, pinned);
            return false;
        };
        let mut pushes = false;
        if moved {
            row.nr_failed = 0;
        } else {
            row.nr_failed += 1;
            if row.nr_failed > params.cache_nice_tries + 2 {
                let curr = rqs.curr(busiest);
                if rqs.is_idle_thread(curr) || !rqs.is_allowed(curr, pass.this) {
                    row.lengthen_interval(&params, true);
                    return false;
                }
                row.nr_failed = params.cache_nice_tries + 1;
                pushes = !rqs.rqs[busiest.index()].active_balance;
            }
        }
        if !pushes {
            row.interval_ms = u64::from(params.min_interval_ms);
        } else if row.interval_ms < u64::from(params.max_interval_ms) {
            row.interval_ms *= 2;
        }
        if pushes {
            rqs.rqs[busiest.index()].active_balance = true;
            rqs.rqs[busiest.index()].push_cpu = pass.this;
            core_2_6::wake_migration_thread(self, rqs, rt, platform, busiest);
        }
        moved
    }

    /// Finds the busiest CPU and pulls from it; from the next busiest if all that it has may not
    /// run here. Which CPU it was and whether anything was moved; none if things are balanced.
    fn pull_from_busiest(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        pass: Pass,
        its_turn: &mut bool,
        pinned: &mut AllPinned,
    ) -> Option<(CpuId, bool)> {
        self.candidates.all();
        platform.work.balances += 1;
        loop {
            platform.work.queues += rqs.domains.level(pass.level).span(pass.this).cpus.len() as u64;
            self.update_shares(rqs, platform, pass.level, pass.this);
            let (busiest, imbalance) = self.find_busiest(rqs, pass, its_turn)?;
            let mut moved = false;
            if rqs.nr_running[busiest.index()] > 1 {
                platform.double_lock(pass.this, busiest);
                rqs.update_rq_clock(platform, pass.this);
                rqs.update_rq_clock(platform, busiest);
                moved = self.move_tasks(rqs, platform, pass, busiest, imbalance, pinned);
                if *pinned {
                    self.candidates.take_out(busiest);
                    continue;
                }
            }
            if moved {
                self.update_shares(rqs, platform, pass.level, pass.this);
            }
            return Some((busiest, moved));
        }
    }

    /// `idle_balance`: `this` is about to idle.
    pub(super) fn balance_newly_idle(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        this: CpuId,
    ) {
        let jiffies = platform.jiffies();
        let hz = platform.hz();
        let mut next = jiffies + u64::from(hz);
        let mut stopped = false;
        for level in rqs.domains.of(this) {
            if !rqs.domains.level(level).params.balance_newidle {
                continue;
            }
            stopped = self.load_balance_newidle(rqs, platform, level, this);
            let row = &self.balancing[level][this.index()];
            next = next.min(row.last_balance + ms_to_jiffies(row.interval_ms, hz));
            if stopped {
                break;
            }
        }
        if stopped || jiffies > self.next_balance[this.index()] {
            self.next_balance[this.index()] = next;
        }
    }

    /// `load_balance_newidle`. Whether it is of no use to look further: something was moved, or a
    /// busy CPU has nothing to give.
    fn load_balance_newidle(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        level: usize,
        this: CpuId,
    ) -> bool {
        let pass = Pass { level, this, idleness: Idleness::NewlyIdle };
        let pulled = self.pull_from_busiest(rqs, platform, pass, &mut true, &mut false);
        if !matches!(pulled, Some((_, false))) {
            self.balancing[level][this.index()].nr_failed = 0;
        }
        pulled.is_some()
    }

    /// `move_tasks`: pulls up to `imbalance` of weight from `busiest`. Whether it believes to have
    /// moved anything.
    ///
    /// Each group on `busiest` gives its part of the imbalance. **When no group exists**, 2.6.32
    /// skips the computation of what a queue weighs in the eyes of its CPU (`h_load`), which then
    /// is 0: the part becomes hundreds of times too large, so that every movable task is pulled,
    /// and what was moved counts as nothing, so that the pass believes that it has failed.
    fn move_tasks(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        pass: Pass,
        busiest: CpuId,
        imbalance: u64,
        pinned: &mut AllPinned,
    ) -> bool {
        if imbalance == 0 {
            // The classes are not even asked.
            return false;
        }
        if self.groups.len() > 1 || !self.version.over_pulls {
            self.update_h_load(busiest);
        }
        let mut rest = imbalance as i64;
        for place in 0..=self.queues_on[busiest.index()].len() {
            let q = self.queues_on[busiest.index()].get(place).map_or(busiest.0, |&(_, q)| q);
            let queue = &self.queues[q as usize];
            if queue.newest_task == NIL {
                continue;
            }
            let (load, h_load) = (queue.load, queue.h_load);
            let part = rest as u64 * load / (h_load + 1);
            let moved = self.balance_tasks(rqs, platform, pass, q, part as i64, pinned);
            if moved == 0 {
                continue;
            }
            rest -= (moved * h_load / (load + 1)) as i64;
            if rest < 0 {
                break;
            }
        }
        imbalance as i64 != rest
    }

    /// `balance_tasks`: pulls tasks of one queue, the most recently queued first, up to `max` of
    /// weight. How much it pulled.
    fn balance_tasks(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        pass: Pass,
        q: u32,
        max: i64,
        pinned: &mut AllPinned,
    ) -> u64 {
        *pinned = max != 0;
        let mut rest = max;
        let mut moved = 0;
        let mut e = self.queues[q as usize].newest_task;
        let mut left = self.tunables.nr_migrate + 1;
        while rest > 0 && e != NIL && left > 0 {
            left -= 1;
            let Entity { load, older, .. } = self.entities[e as usize];
            if (load.weight >> 1) as i64 <= rest
                && self.can_migrate(rqs, pass.level, pass.this, e, pinned)
            {
                self.pull_task(rqs, platform, e, pass.this);
                moved += load.weight;
                rest -= load.weight as i64;
            }
            e = older;
        }
        moved
    }

    /// `can_migrate_task`.
    fn can_migrate(
        &self,
        rqs: &Rqs,
        level: usize,
        this: CpuId,
        e: u32,
        pinned: &mut AllPinned,
    ) -> bool {
        let entity = &self.entities[e as usize];
        if self.limits.is_used() && self.is_throttled_pair(entity.cfs_rq, this) {
            return false;
        }
        if !rqs.is_allowed(entity.pid, this) {
            return false;
        }
        *pinned = false;
        if rqs.is_running(entity.pid) {
            return false;
        }
        let tries = rqs.domains.level(level).params.cache_nice_tries;
        self.balancing[level][this.index()].nr_failed > tries || !self.is_cache_hot(rqs, entity)
    }

    /// `task_hot`: ran a moment ago, or is about to.
    fn is_cache_hot(&self, rqs: &Rqs, entity: &Entity) -> bool {
        let queue = &self.queues[entity.cfs_rq as usize];
        if self.tunables.has(Feature::CacheHotBuddy) && rqs.nr_running[rqs.this_cpu.index()] > 0 {
            let e = self.entity_of(entity.pid);
            if queue.next == e || queue.last == e {
                return true;
            }
        }
        match self.tunables.migration_cost_ns {
            -1 => true,
            0 => false,
            cost => (rqs.clock(queue.cpu).wrapping_sub(entity.exec_start) as i64) < cost,
        }
    }

    /// `pull_task`: a waiting task comes to `this`.
    fn pull_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, e: u32, this: CpuId) {
        let pid = self.entities[e as usize].pid;
        let from = rqs.cpu_of(pid);
        platform.work.moves += 1;
        self.dequeue_task(rqs, platform, from, pid, Dequeue::Migrate);
        rqs.set_cpu(platform, pid, this);
        self.change_cpu(e, from, this);
        self.enqueue_task(rqs, platform, this, pid, Enqueue::Migrated);
        self.challenge_curr(rqs, platform, this, pid, Challenge::Other);
    }

    /// `active_load_balance`, by the migration thread of `busiest`: pushes one task to the CPU that
    /// asked for it.
    pub(super) fn push_one_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, busiest: CpuId) {
        let target = rqs.rqs[busiest.index()].push_cpu;
        if rqs.nr_running[busiest.index()] <= 1 {
            return;
        }
        rqs.update_rq_clock(platform, busiest);
        rqs.update_rq_clock(platform, target);
        let level =
            rqs.domains.of(target).find(|&level| rqs.domains.level(level).share(target, busiest));
        let Some(level) = level else { return };
        for place in 0..=self.queues_on[busiest.index()].len() {
            let q = self.queues_on[busiest.index()].get(place).map_or(busiest.0, |&(_, q)| q);
            let mut e = self.queues[q as usize].newest_task;
            while e != NIL {
                if self.can_migrate(rqs, level, target, e, &mut false) {
                    self.pull_task(rqs, platform, e, target);
                    return;
                }
                e = self.entities[e as usize].older;
            }
        }
    }
}
