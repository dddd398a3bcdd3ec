//! Load balancing: when a CPU looks whether others have too much, and what follows.
//!
//! # The rules
//!
//! Now and then (every few ticks when idle, every 16 times that when busy), and whenever it is
//! about to go idle, a CPU looks at the others, domain by domain from the smallest up
//! ([`domains`](super::domains)). In each it compares the groups: who is busiest, and what should
//! be moved, stands in [`find_busiest_group`](super::find_busiest_group). Then the tasks that have
//! been on the source's list for longest are looked at, and go if they may
//! ([`detach_tasks`](super::detach_tasks)).
//!
//! Of a group only one CPU balances for it: an idle one if there is one. When nothing could be
//! moved several times in a row, the source's running task itself is pushed over (active
//! balancing).
//!
//! The flat machine of the golden schedules is one domain, each CPU a group of its own.

use super::class::Fair;
use super::domains::{self, BUSY_FACTOR, Near};
use super::entity::NONE;
use super::lb_cache::LbCache;
use crate::classes::domains::Domains;
use crate::classes::{Pid, Rqs};
use alloc::vec::Vec;
use schedlab_core::{CpuId, CpuSet, Platform};

/// Up to this an interval doubles when all tasks are pinned, ms.
const MAX_PINNED_INTERVAL: u32 = 512;
/// The longest time without looking at a domain's intervals, s.
const LONGEST_S: u64 = 60;

/// What balancing keeps.
#[derive(Debug)]
pub struct Balance {
    pub(super) cpus: Vec<CpuBalance>,
    /// How many levels of domains there are.
    levels: usize,
    /// By CPU and level.
    domains: Vec<DomainState>,
    /// By level and CPU: affinity has kept the group whose first CPU it is from being balanced
    /// within.
    pub(super) imbalanced: Vec<bool>,
    /// By shared cache: how many CPUs a wakeup looks at when it searches for an idle one
    /// (`nr_idle_scan`).
    pub nr_idle_scan: Vec<u32>,
    /// Some CPU has more than one task, as last written: set when one comes to have two, taken back
    /// by balancing only.
    pub overloaded: bool,
    /// A task that ran less than this ago is cache hot, ns.
    pub migration_cost_ns: u64,
    /// Tasks looked at in a pass.
    pub nr_migrate: u32,
    /// By CPU: when it last went idle, ns.
    pub(super) idle_since_ns: Vec<u64>,
    /// For passing to balancing without allocating.
    pub(super) taken: Vec<Pid>,
    /// By CPU: this pass has given up on it.
    pub(super) dropped: Vec<bool>,
}

/// What balancing keeps of each CPU.
#[derive(Clone, Debug)]
pub(super) struct CpuBalance {
    /// Its fair tasks, the latest queued or run first: head and tail.
    newest: u32,
    pub(super) oldest: u32,
    /// The jiffy from which it looks whether to balance.
    next_balance: u64,
}

/// What a CPU keeps of its balancing of a domain.
#[derive(Clone, Copy, Default, Debug)]
struct DomainState {
    /// The jiffy in which it last balanced.
    last_balance: u64,
    /// ms.
    interval: u32,
    /// Balancings in a row that should have moved something and did not.
    failures: u32,
}

/// Why a CPU balances.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Occasion {
    NotIdle,
    Idle,
    NewlyIdle,
}

/// What is evened out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Migrate {
    /// Weight times time.
    Load,
    /// Utilisation.
    Util,
    /// The number of tasks.
    Task,
}

/// A CPU's attempt to balance a domain (`struct lb_env`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Pass {
    /// Who balances, and gets what is moved.
    pub here: CpuId,
    /// The level of the domain.
    pub level: usize,
    pub why: Occasion,
    pub kind: Migrate,
    /// What is still to be moved.
    pub imbalance: i64,
    /// No task that was looked at may run here.
    pub all_pinned: bool,
    /// Some task that was looked at may not.
    pub some_pinned: bool,
}

impl Pass {
    /// One that has yet to look.
    pub fn new(here: CpuId, level: usize, why: Occasion) -> Pass {
        Pass {
            here,
            level,
            why,
            kind: Migrate::Task,
            imbalance: 0,
            all_pinned: false,
            some_pinned: false,
        }
    }
}

impl Balance {
    /// Nothing has been balanced yet.
    pub fn new(domains: &Domains, near: &Near) -> Balance {
        let cpus = domains.cpus() as usize;
        let cpu = CpuBalance { newest: NONE, oldest: NONE, next_balance: 0 };
        let levels = domains.levels();
        let mut balance = Balance {
            cpus: alloc::vec![cpu; cpus],
            levels,
            domains: alloc::vec![DomainState::default(); cpus * levels],
            imbalanced: alloc::vec![false; cpus * levels],
            nr_idle_scan: alloc::vec![0; cpus],
            overloaded: false,
            migration_cost_ns: 500_000,
            nr_migrate: 32,
            idle_since_ns: alloc::vec![0; cpus],
            taken: Vec::with_capacity(64),
            dropped: alloc::vec![false; cpus],
        };
        balance.restart(domains, near, 0);
        balance
    }

    /// The domains are new: their intervals begin anew.
    fn restart(&mut self, domains: &Domains, near: &Near, jiffies: u64) {
        for cpu in (0..domains.cpus()).map(CpuId) {
            self.cpus[cpu.index()].next_balance = jiffies;
            self.nr_idle_scan[near.llc_id(cpu)] = near.llc_size(domains, cpu);
            for level in domains.of(cpu) {
                let interval = domains::min_interval(domains.level(level).span(cpu));
                *self.domain(cpu, level) =
                    DomainState { last_balance: jiffies, interval, failures: 0 };
            }
        }
    }

    fn domain(&mut self, cpu: CpuId, level: usize) -> &mut DomainState {
        &mut self.domains[cpu.index() * self.levels + level]
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
}

impl Fair {
    // ---- the list of a CPU's tasks ----

    pub(super) fn list_add(&mut self, cpu: CpuId, task: Pid) {
        if self.cpus == 1 {
            return;
        }
        let list = &mut self.balance.cpus[cpu.index()];
        let head = core::mem::replace(&mut list.newest, task.0);
        let row = &mut self.tasks[task.index()];
        row.newer = NONE;
        row.older = head;
        match head {
            NONE => list.oldest = task.0,
            head => self.tasks[head as usize].newer = task.0,
        }
    }

    pub(super) fn list_remove(&mut self, cpu: CpuId, task: Pid) {
        if self.cpus == 1 {
            return;
        }
        let list = &mut self.balance.cpus[cpu.index()];
        let (newer, older) = (self.tasks[task.index()].newer, self.tasks[task.index()].older);
        match newer {
            NONE => list.newest = older,
            newer => self.tasks[newer as usize].older = older,
        }
        match older {
            NONE => list.oldest = newer,
            older => self.tasks[older as usize].newer = newer,
        }
    }

    pub(super) fn list_to_head(&mut self, rqs: &Rqs, task: Pid) {
        let cpu = rqs.cpu_of(task);
        if self.cpus > 1 && rqs.thread(task).on_rq {
            self.list_remove(cpu, task);
            self.list_add(cpu, task);
        }
    }

    // ---- small questions ----

    /// So many threads more on `cpu`.
    pub(super) fn add_nr_running(&mut self, rqs: &mut Rqs, cpu: CpuId, count: u32) {
        let before = rqs.nr_running[cpu.index()];
        rqs.add_nr_running(cpu, count);
        self.balance.overloaded |= before < 2 && before + count >= 2;
    }

    /// Whether `cpu` runs its idle thread and nothing is queued.
    pub(super) fn is_idle_cpu(&self, rqs: &Rqs, cpu: CpuId) -> bool {
        rqs.nr_running[cpu.index()] == 0 && rqs.is_idle_thread(rqs.curr(cpu))
    }

    /// Whether the other threads of the core of `cpu` idle.
    pub(super) fn is_core_idle(&self, rqs: &Rqs, cpu: CpuId) -> bool {
        let threads = self.near.threads(&rqs.domains, cpu);
        threads.iter().all(|&thread| thread == cpu || self.is_idle_cpu(rqs, thread))
    }

    /// Whether all that is queued on `cpu`, and there is something, is `SCHED_IDLE`.
    pub(super) fn is_sched_idle_rq(&self, rqs: &Rqs, cpu: CpuId) -> bool {
        let nr = rqs.nr_running[cpu.index()];
        nr != 0 && nr == self.queues[cpu.index()].h_nr_idle
    }

    /// The next tick looks whether to balance: only `SCHED_IDLE` tasks are left.
    pub(super) fn balance_soon(&mut self, platform: &Platform, cpu: CpuId) {
        self.balance.cpus[cpu.index()].next_balance = platform.jiffies();
    }

    /// How long `cpu` waits from one balancing of a domain to the next, jiffies.
    fn interval_jiffies(
        &mut self,
        platform: &Platform,
        cpu: CpuId,
        level: usize,
        busy: bool,
    ) -> u64 {
        let ms = u64::from(self.balance.domain(cpu, level).interval)
            * if busy { BUSY_FACTOR } else { 1 };
        let hz = u64::from(platform.hz());
        // The busy ones are kept from falling in step with the idle ones.
        let jiffies = (ms * hz).div_ceil(1000) - u64::from(busy);
        jiffies.clamp(1, (hz * u64::from(self.online) / 10).max(1))
    }

    /// A CPU has gone off line or come back: the domains are built anew over those that are on
    /// line, and the base slice scaled by their number, unless it was set by hand.
    pub(super) fn domains_rebuilt(&mut self, rqs: &Rqs, platform: &Platform) {
        self.online = rqs.online_cpus();
        self.near = Near::new(&rqs.domains);
        self.lb_cache = LbCache::new(&rqs.domains);
        self.balance.restart(&rqs.domains, &self.near, platform.jiffies());
        self.balance.imbalanced.fill(false);
        if !self.base_slice_by_hand {
            self.base_slice = self.base_slice_unscaled * super::tunables::scaling(self.online);
        }
    }

    /// `cpu` idles from now on. If the other threads of its core do so too, there is an idle core.
    pub(super) fn cpu_idles(&mut self, rqs: &Rqs, platform: &Platform, cpu: CpuId) {
        self.balance.idle_since_ns[cpu.index()] = platform.now_ns();
        if self.near.has_smt() && self.is_core_idle(rqs, cpu) {
            let llc = self.near.llc_id(cpu);
            self.near.has_idle_cores[llc] = true;
        }
    }

    // ---- occasions ----

    /// `sched_balance_domains`: the periodic balancing of `cpu`, after its tick's charging.
    pub(super) fn periodic_balance(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId) {
        let jiffies = platform.jiffies();
        if self.cpus == 1 || jiffies < self.balance.cpus[cpu.index()].next_balance {
            return;
        }
        self.update_queue_load_avg(platform.now_ns(), cpu.0);
        let mut idle = self.is_idle_cpu(rqs, cpu);
        let mut busy = !idle && !self.is_sched_idle_rq(rqs, cpu);
        let mut next = jiffies + LONGEST_S * u64::from(platform.hz());
        for level in rqs.domains.of(cpu) {
            let mut interval = self.interval_jiffies(platform, cpu, level, busy);
            let mut its_turn = true;
            if jiffies >= self.balance.domain(cpu, level).last_balance + interval {
                let occasion = if idle { Occasion::Idle } else { Occasion::NotIdle };
                its_turn = self.is_its_turn(rqs, cpu, level);
                if its_turn && self.load_balance(rqs, platform, cpu, level, occasion) {
                    idle = self.is_idle_cpu(rqs, cpu);
                    busy = !idle && !self.is_sched_idle_rq(rqs, cpu);
                }
                self.balance.domain(cpu, level).last_balance = jiffies;
                interval = self.interval_jiffies(platform, cpu, level, busy);
            }
            next = next.min(self.balance.domain(cpu, level).last_balance + interval);
            if !its_turn {
                // Larger domains are not for it either.
                break;
            }
        }
        self.balance.cpus[cpu.index()].next_balance = next;
    }

    /// `sched_balance_newidle`: nothing is queued on `cpu`. Whether there is now.
    pub(super) fn newidle_balance(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
    ) -> bool {
        if self.cpus == 1 {
            return false;
        }
        let mut next = u64::MAX;
        let overloaded = self.balance.overloaded;
        if overloaded {
            self.update_queue_load_avg(platform.now_ns(), cpu.0);
        }
        for level in rqs.domains.of(cpu) {
            let interval = self.interval_jiffies(platform, cpu, level, false);
            next = next.min(self.balance.domain(cpu, level).last_balance + interval);
            if !overloaded {
                break;
            }
            if self.balance.levels == 1 && !rqs.any_overcommitted() {
                // The mark is out of date: nothing will be found, and it is taken back.
                self.balance.overloaded = false;
                self.balance.domain(cpu, level).failures = 0;
                break;
            }
            self.load_balance(rqs, platform, cpu, level, Occasion::NewlyIdle);
            if self.queues[cpu.index()].h_nr_queued > 0 {
                break;
            }
        }
        let row = &mut self.balance.cpus[cpu.index()];
        row.next_balance = row.next_balance.min(next);
        self.queues[cpu.index()].h_nr_queued > 0
    }

    /// `should_we_balance`: whether `cpu` is the one that balances for its group: the first CPU of
    /// an idle core (among threads of one core: the first idle one), else the first idle CPU, else
    /// the first.
    fn is_its_turn(&self, rqs: &Rqs, cpu: CpuId, level: usize) -> bool {
        let domain = rqs.domains.level(level);
        let group = domain.span(cpu).group(domain.group_of(cpu));
        let among_threads = domain.params.share_cpupower;
        let mut idle = group.iter().copied().filter(|&cpu| self.is_idle_cpu(rqs, cpu));
        let first_idle = idle.clone().next();
        let best = idle.find(|&cpu| among_threads || self.is_core_idle(rqs, cpu));
        best.or(first_idle).unwrap_or(group[0]) == cpu
    }

    // ---- the balancing itself ----

    /// `sched_balance_rq`. Whether something was moved to `here`.
    fn load_balance(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        here: CpuId,
        level: usize,
        why: Occasion,
    ) -> bool {
        let mut pass = Pass::new(here, level, why);
        let mut dropped = 0;
        platform.work.balances += 1;
        let moved = loop {
            platform.work.queues += u64::from(self.cpus);
            let Some(source) = self.find_source(rqs, &mut pass) else {
                self.found_balanced(rqs, &pass);
                break None;
            };
            pass.all_pinned = true;
            let several = rqs.nr_running[source.index()] > 1;
            if several {
                platform.double_lock(here, source);
            }
            let moved = several && self.move_tasks(rqs, platform, source, &mut pass);
            if several {
                self.mark_group(rqs, &pass);
            }
            if several && !moved && pass.all_pinned {
                // All of them are bound elsewhere: look again without that CPU.
                self.balance.dropped[source.index()] = true;
                self.lb_cache.invalidate(source.0);
                dropped += 1;
                let domain = rqs.domains.level(level);
                let span = domain.span(here);
                if span.cpus.len() > span.group(domain.group_of(here)).len() + dropped {
                    continue;
                }
                self.found_balanced(rqs, &pass);
                break None;
            }
            break Some((moved, source));
        };
        if dropped > 0 {
            for cpu in 0..self.cpus {
                if core::mem::take(&mut self.balance.dropped[cpu as usize]) {
                    self.lb_cache.invalidate(cpu);
                }
            }
        }
        let Some((moved, source)) = moved else {
            return false;
        };
        let params = &rqs.domains.level(level).params;
        let patience = params.cache_nice_tries + 2;
        if moved {
            self.balance.domain(here, level).failures = 0;
        } else {
            if why != Occasion::NewlyIdle {
                self.balance.domain(here, level).failures += 1;
            }
            if pass.kind == Migrate::Task && self.balance.failures(here, level) > patience {
                if !rqs.is_allowed(rqs.curr(source), here) || rqs.is_idle_thread(rqs.curr(source)) {
                    self.lengthen_interval(rqs, &pass);
                    return false;
                }
                let rq = &mut rqs.rqs[source.index()];
                if !rq.active_balance {
                    rq.active_balance = true;
                    rq.push_cpu = here;
                    rqs.resched_curr(platform, source);
                }
            }
        }
        self.balance.domain(here, level).interval = self.min_interval(rqs, &pass);
        moved
    }

    fn min_interval(&self, rqs: &Rqs, pass: &Pass) -> u32 {
        domains::min_interval(rqs.domains.level(pass.level).span(pass.here))
    }

    /// The next larger domain of the balancing CPU, and the first CPU of its group there.
    fn group_above(&self, rqs: &Rqs, pass: &Pass) -> Option<(usize, CpuId)> {
        let above = rqs.domains.of(pass.here).find(|&level| level > pass.level)?;
        let level = rqs.domains.level(above);
        Some((above, level.span(pass.here).group(level.group_of(pass.here))[0]))
    }

    /// Affinity has left something to be moved: the domain, as a group of the next larger one, is
    /// to be helped from without.
    fn mark_group(&mut self, rqs: &Rqs, pass: &Pass) {
        if pass.some_pinned
            && pass.imbalance > 0
            && let Some((above, first)) = self.group_above(rqs, pass)
        {
            *self.balance.imbalanced_mark(above, first) = true;
        }
    }

    fn found_balanced(&mut self, rqs: &Rqs, pass: &Pass) {
        if !pass.all_pinned
            && let Some((above, first)) = self.group_above(rqs, pass)
        {
            *self.balance.imbalanced_mark(above, first) = false;
        }
        self.balance.domain(pass.here, pass.level).failures = 0;
        self.lengthen_interval(rqs, pass);
    }

    fn lengthen_interval(&mut self, rqs: &Rqs, pass: &Pass) {
        let max = 2 * self.min_interval(rqs, pass);
        let interval = &mut self.balance.domain(pass.here, pass.level).interval;
        if pass.why != Occasion::NewlyIdle
            && ((pass.all_pinned && *interval < MAX_PINNED_INTERVAL) || *interval < max)
        {
            *interval *= 2;
        }
    }

    /// A task has been pushed to `cpu` from elsewhere in the domain.
    pub(super) fn push_succeeded(&mut self, cpu: CpuId, level: usize) {
        self.balance.domain(cpu, level).failures = 0;
    }

    /// The allowed CPU with the fewest runnable tasks, the lowest number among equals: where a task
    /// starts that is nobody's child.
    pub(super) fn emptiest_cpu(&self, rqs: &Rqs, allowed: &CpuSet) -> CpuId {
        let mut best = (u32::MAX, CpuId(0));
        for cpu in 0..self.cpus {
            let queue = &self.queues[cpu as usize];
            let runnable = rqs.nr_running[cpu as usize] - (queue.h_nr_queued - queue.h_nr_runnable);
            if runnable < best.0 && allowed.contains(CpuId(cpu)) {
                best = (runnable, CpuId(cpu));
                if runnable == 0 {
                    break;
                }
            }
        }
        best.1
    }

    /// Checks the lists. For tests.
    pub(super) fn audit_lists(&self, rqs: &Rqs) -> bool {
        let mut queued = alloc::vec![0; self.cpus as usize];
        for (number, task) in self.tasks.iter().enumerate() {
            if task.se != NONE && self.se[task.se as usize].on_rq {
                queued[rqs.cpu_of(Pid(number as u32)).index()] += 1;
            }
        }
        self.cpus == 1
            || self.balance.cpus.iter().enumerate().all(|(cpu, row)| {
                let mut found = 0;
                let mut task = row.oldest;
                let mut last = NONE;
                while task != NONE {
                    let entry = &self.tasks[task as usize];
                    if entry.older != last || rqs.cpu_of(Pid(task)).index() != cpu {
                        return false;
                    }
                    found += 1;
                    last = task;
                    task = entry.newer;
                }
                last == row.newest && found == queued[cpu]
            })
    }
}
