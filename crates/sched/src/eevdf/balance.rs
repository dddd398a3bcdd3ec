//! Load balancing (6.18): who takes work from whom, when, and which.
//!
//! # The rules
//!
//! Now and then (every few ticks when idle, every 16 times that when busy), and whenever it is about to go idle, a CPU looks at
//! the others. Each is classed: **overloaded** (more tasks than CPUs and no spare time), **fully busy**, or with **spare**
//! capacity. The worst is the source. What is moved depends on both sides: one with spare capacity evens out the *number of
//! tasks*; when all are overloaded it is *load* (weight times time) that is evened out. Then the tasks that have been on the
//! source's list for longest are looked at, and go if they may: allowed here, not running, not cache hot (ran within
//! [`migration_cost_ns`](Balance)), and not ineligible where they are.
//!
//! When nothing could be moved four times in a row, the source's running task itself is pushed over (active balancing).
//!
//! All CPUs are one domain, each a group of its own, with a shared cache: the machine of the golden schedules. (The kernel
//! divides larger machines into levels and does the same at each.)

use super::enqueue::{Dequeue, Enqueue};
use super::entity::NONE;
use super::fair::Fair;
use crate::classes::{Core, Pid};
use crate::cpu_set::cpu_list;
use crate::{CpuId, CpuSet, Platform, Policy};
use alloc::string::String;
use alloc::vec::Vec;

/// A source must have this much more, per cent.
const IMBALANCE_PCT: u64 = 117;
/// A busy CPU waits this many times as long.
const BUSY_FACTOR: u64 = 16;
/// After more failures than this, cache-hot tasks are moved too.
const CACHE_NICE_TRIES: u32 = 1;
/// Up to this an interval doubles when all tasks are pinned, ms.
const MAX_PINNED_INTERVAL: u32 = 512;

/// What balancing keeps.
#[derive(Debug)]
pub struct Balance {
    cpus: Vec<CpuBalance>,
    /// How many CPUs a wakeup looks at when it searches for an idle one (`nr_idle_scan`).
    pub nr_idle_scan: u32,
    /// Some CPU has more than one task, as last written: set when one comes to have two, taken back by balancing only.
    pub overloaded: bool,
    /// A task that ran less than this ago is cache hot, ns.
    pub migration_cost_ns: u64,
    /// Tasks looked at in a pass.
    pub nr_migrate: u32,
    /// For passing to balancing without allocating.
    stats: Vec<Stats>,
    taken: Vec<Pid>,
    dropped: Vec<bool>,
}

/// What balancing keeps of each CPU.
#[derive(Clone, Debug)]
struct CpuBalance {
    /// Its fair tasks, the latest queued or run first: head and tail.
    newest: u32,
    oldest: u32,
    /// The jiffy from which it looks whether to balance.
    next_balance: u64,
    /// The jiffy in which it last did.
    last_balance: u64,
    /// ms.
    interval: u32,
    /// Balancings in a row that should have moved something and did not.
    failures: u32,
}

/// How busy a CPU is, the worst last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Type {
    HasSpare,
    FullyBusy,
    Overloaded,
}

/// A CPU as balancing sees it.
#[derive(Clone, Copy, Debug)]
struct Stats {
    kind: Type,
    load: u64,
    util: u64,
    nr_running: u32,
    h_nr_runnable: u32,
    idle: bool,
}

/// Why a CPU balances.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Occasion {
    NotIdle,
    Idle,
    NewlyIdle,
}

/// What is evened out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Migrate {
    Load,
    Task,
}

impl Balance {
    /// Nothing has been balanced yet.
    pub fn new(cpus: u32) -> Balance {
        let cpu = CpuBalance {
            newest: NONE,
            oldest: NONE,
            next_balance: 0,
            last_balance: 0,
            interval: cpus,
            failures: 0,
        };
        let room = if cpus == 1 { 0 } else { cpus as usize };
        Balance {
            cpus: alloc::vec![cpu; cpus as usize],
            nr_idle_scan: cpus,
            overloaded: false,
            migration_cost_ns: 500_000,
            nr_migrate: 32,
            stats: Vec::with_capacity(room),
            taken: Vec::with_capacity(64),
            dropped: alloc::vec![false; room],
        }
    }
}

impl Fair {
    /// The one domain that the fair class balances, in words.
    pub(super) fn describe_domains(&self) -> String {
        let cpus: Vec<CpuId> = (0..self.cpus).map(CpuId).collect();
        let (min, max) = (self.cpus, 2 * self.cpus);
        if min == 1 {
            return "no domains: nothing to balance\n".into();
        }
        let mut text = alloc::format!(
            "MC: min_interval {min} max_interval {max} ms, busy_factor {BUSY_FACTOR}, imbalance_pct {IMBALANCE_PCT}, \
             cache_nice_tries {CACHE_NICE_TRIES}, flags BALANCE_NEWIDLE BALANCE_EXEC BALANCE_FORK WAKE_AFFINE \
             SHARE_PKG_RESOURCES\n  {}:",
            cpu_list(&cpus)
        );
        for cpu in &cpus {
            let separator = if cpu.0 == 0 { "" } else { " |" };
            text.push_str(&alloc::format!("{separator} {}", cpu.0));
        }
        text.push('\n');
        text
    }

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

    pub(super) fn list_to_head(&mut self, core: &Core, task: Pid) {
        let cpu = core.cpu_of(task);
        if self.cpus > 1 && core.thread(task).on_rq {
            self.list_remove(cpu, task);
            self.list_add(cpu, task);
        }
    }

    // ---- small questions ----

    /// So many threads more on `cpu`.
    pub(super) fn add_nr_running(&mut self, core: &mut Core, cpu: CpuId, count: u32) {
        let before = core.nr_running[cpu.index()];
        core.add_nr_running(cpu, count);
        self.balance.overloaded |= before < 2 && before + count >= 2;
    }

    /// Whether `cpu` runs its idle thread and nothing is queued.
    pub(super) fn is_idle_cpu(&self, core: &Core, cpu: CpuId) -> bool {
        core.nr_running[cpu.index()] == 0 && core.is_idle_thread(core.curr(cpu))
    }

    /// Whether all that is queued on `cpu`, and there is something, is `SCHED_IDLE`.
    pub(super) fn is_sched_idle_rq(&self, core: &Core, cpu: CpuId) -> bool {
        let nr = core.nr_running[cpu.index()];
        nr != 0 && nr == self.queues[cpu.index()].h_nr_idle
    }

    /// The next tick looks whether to balance: only `SCHED_IDLE` tasks are left.
    pub(super) fn balance_soon(&mut self, platform: &Platform, cpu: CpuId) {
        self.balance.cpus[cpu.index()].next_balance = platform.jiffies();
    }

    /// How long `cpu` waits from one balancing to the next, jiffies.
    fn interval_jiffies(&self, platform: &Platform, cpu: CpuId, busy: bool) -> u64 {
        let ms = u64::from(self.balance.cpus[cpu.index()].interval) * if busy { BUSY_FACTOR } else { 1 };
        let hz = u64::from(platform.hz());
        // The busy ones are kept from falling in step with the idle ones.
        let jiffies = (ms * hz).div_ceil(1000) - u64::from(busy);
        jiffies.clamp(1, (hz * u64::from(self.online) / 10).max(1))
    }

    /// A CPU has gone off line or come back: the domain is built anew over those that are on line, and the base slice scaled
    /// by their number, unless it was set by hand.
    pub(super) fn domains_rebuilt(&mut self, core: &Core, platform: &Platform) {
        self.online = core.online_cpus();
        for row in &mut self.balance.cpus {
            row.interval = self.online;
            row.last_balance = platform.jiffies();
            row.next_balance = platform.jiffies();
            row.failures = 0;
        }
        if !self.base_slice_by_hand {
            self.base_slice = self.base_slice_unscaled * super::knobs::scaling(self.online);
        }
    }

    // ---- occasions ----

    /// `sched_balance_domains`: the periodic balancing of `cpu`, after its tick's charging.
    pub(super) fn periodic_balance(&mut self, core: &mut Core, platform: &mut Platform, cpu: CpuId) {
        let jiffies = platform.jiffies();
        if self.cpus == 1 || jiffies < self.balance.cpus[cpu.index()].next_balance {
            return;
        }
        self.update_queue_load_avg(platform.now_ns(), cpu.0);
        let mut idle = self.is_idle_cpu(core, cpu);
        let mut busy = !idle && !self.is_sched_idle_rq(core, cpu);
        let mut interval = self.interval_jiffies(platform, cpu, busy);
        if jiffies >= self.balance.cpus[cpu.index()].last_balance + interval {
            let occasion = if idle { Occasion::Idle } else { Occasion::NotIdle };
            if self.load_balance(core, platform, cpu, occasion) {
                idle = self.is_idle_cpu(core, cpu);
                busy = !idle && !self.is_sched_idle_rq(core, cpu);
            }
            self.balance.cpus[cpu.index()].last_balance = jiffies;
            interval = self.interval_jiffies(platform, cpu, busy);
        }
        let row = &mut self.balance.cpus[cpu.index()];
        row.next_balance = row.last_balance + interval;
    }

    /// `sched_balance_newidle`: nothing is queued on `cpu`. Whether there is now.
    pub(super) fn newidle_balance(&mut self, core: &mut Core, platform: &mut Platform, cpu: CpuId) -> bool {
        if self.cpus == 1 {
            return false;
        }
        let interval = self.interval_jiffies(platform, cpu, false);
        let next = self.balance.cpus[cpu.index()].last_balance + interval;
        if self.balance.overloaded && !core.any_overcommitted() {
            // The mark is out of date: nothing will be found, and it is taken back.
            self.update_queue_load_avg(platform.now_ns(), cpu.0);
            self.balance.overloaded = false;
            self.balance.cpus[cpu.index()].failures = 0;
        } else if self.balance.overloaded {
            self.update_queue_load_avg(platform.now_ns(), cpu.0);
            self.load_balance(core, platform, cpu, Occasion::NewlyIdle);
        }
        let row = &mut self.balance.cpus[cpu.index()];
        row.next_balance = row.next_balance.min(next);
        self.queues[cpu.index()].h_nr_queued > 0
    }

    // ---- the balancing itself ----

    /// `sched_balance_rq`. Whether something was moved to `here`.
    fn load_balance(&mut self, core: &mut Core, platform: &mut Platform, here: CpuId, why: Occasion) -> bool {
        let mut pinned = false;
        let mut dropped_any = false;
        platform.touched.balances += 1;
        let moved = loop {
            platform.touched.queues += u64::from(self.cpus);
            let Some((source, kind, imbalance)) = self.find_source(core, here, why) else {
                self.found_balanced(here, why, pinned);
                break None;
            };
            pinned = true;
            let moved = if core.nr_running[source.index()] > 1 {
                platform.double_lock(here, source);
                self.move_tasks(core, platform, source, here, why, kind, imbalance, &mut pinned)
            } else {
                false
            };
            if !moved && pinned && core.nr_running[source.index()] > 1 {
                // All of them are bound elsewhere: look again without that CPU.
                self.balance.dropped[source.index()] = true;
                dropped_any = true;
                let left = self.balance.dropped.iter().filter(|&&dropped| !dropped).count() as u32;
                let left = left - (self.cpus - self.online);
                if left > 1 {
                    continue;
                }
                self.found_balanced(here, why, true);
                break None;
            }
            break Some((moved, source, kind));
        };
        if dropped_any {
            self.balance.dropped.fill(false);
        }
        let Some((moved, source, kind)) = moved else {
            return false;
        };
        if moved {
            self.balance.cpus[here.index()].failures = 0;
        } else {
            if why != Occasion::NewlyIdle {
                self.balance.cpus[here.index()].failures += 1;
            }
            if kind == Migrate::Task && self.balance.cpus[here.index()].failures > CACHE_NICE_TRIES + 2 {
                if !core.is_allowed(core.curr(source), here) || core.is_idle_thread(core.curr(source)) {
                    self.lengthen_interval(here, why, pinned);
                    return false;
                }
                let rq = &mut core.rqs[source.index()];
                if !rq.active_balance {
                    rq.active_balance = true;
                    rq.push_cpu = here;
                    core.resched_curr(platform, source);
                }
            }
        }
        self.balance.cpus[here.index()].interval = self.online;
        moved
    }

    fn found_balanced(&mut self, here: CpuId, why: Occasion, pinned: bool) {
        self.balance.cpus[here.index()].failures = 0;
        self.lengthen_interval(here, why, pinned);
    }

    fn lengthen_interval(&mut self, here: CpuId, why: Occasion, pinned: bool) {
        let interval = &mut self.balance.cpus[here.index()].interval;
        if why != Occasion::NewlyIdle
            && ((pinned && *interval < MAX_PINNED_INTERVAL) || *interval < 2 * self.online)
        {
            *interval *= 2;
        }
    }

    /// How busy `cpu` is. One that is left out counts as empty.
    fn stats(&self, core: &Core, cpu: CpuId) -> Stats {
        if self.balance.dropped[cpu.index()] || !core.is_online(cpu) {
            let kind = Type::HasSpare;
            return Stats { kind, load: 0, util: 0, nr_running: 0, h_nr_runnable: 0, idle: false };
        }
        let queue = &self.queues[cpu.index()];
        let util = self.cpu_util(cpu);
        let runnable = queue.avg.runnable_avg;
        let nr_running = core.nr_running[cpu.index()];
        let short_of_time = 100 * 1024 < util * IMBALANCE_PCT;
        let crowded = 1024 * IMBALANCE_PCT < runnable * 100;
        let kind = if nr_running > 1 && (short_of_time || crowded) {
            Type::Overloaded
        } else if nr_running >= 1 && (crowded || 100 * 1024 <= util * IMBALANCE_PCT) {
            Type::FullyBusy
        } else {
            Type::HasSpare
        };
        Stats {
            kind,
            load: queue.avg.load_avg,
            util,
            nr_running,
            h_nr_runnable: queue.h_nr_runnable,
            idle: self.is_idle_cpu(core, cpu),
        }
    }

    /// `update_sd_lb_stats` and what follows from it: the CPU to take from, what to even out, and how much. None: all is well.
    fn find_source(&mut self, core: &Core, here: CpuId, why: Occasion) -> Option<(CpuId, Migrate, u64)> {
        let cpus = self.cpus;
        let mut all = core::mem::take(&mut self.balance.stats);
        all.clear();
        all.extend((0..cpus).map(|cpu| self.stats(core, CpuId(cpu))));
        let online = self.online;
        let total_load: u64 = all.iter().map(|stats| stats.load).sum();
        self.balance.overloaded = all.iter().any(|stats| stats.nr_running > 1);
        if why != Occasion::NewlyIdle {
            let util: u64 = all.iter().map(|stats| stats.util).sum();
            self.balance.nr_idle_scan = idle_scan(online, util);
        }
        let mut busiest: Option<(CpuId, Stats)> = None;
        for offset in 1..cpus {
            let cpu = (here.0 + offset) % cpus;
            let stats = all[cpu as usize];
            if stats.h_nr_runnable > 0 && busiest.is_none_or(|(_, best)| stats.is_busier_than(&best)) {
                busiest = Some((CpuId(cpu), stats));
            }
        }
        let local = all[here.index()];
        self.balance.stats = all;
        let (source, busiest) = busiest?;
        let average = total_load / u64::from(online);
        let (kind, imbalance) = calculate_imbalance(&local, &busiest, average, why)?;
        // A CPU's only task is not to be moved if it is more than what is to be moved.
        if kind == Migrate::Load && busiest.h_nr_runnable == 1 && busiest.load > imbalance {
            return None;
        }
        Some((source, kind, imbalance))
    }

    /// `detach_tasks`, `attach_tasks`: moves what may be moved from `source` to `here`. Whether anything was.
    #[allow(clippy::too_many_arguments)]
    fn move_tasks(
        &mut self,
        core: &mut Core,
        platform: &mut Platform,
        source: CpuId,
        here: CpuId,
        why: Occasion,
        kind: Migrate,
        imbalance: u64,
        pinned: &mut bool,
    ) -> bool {
        let mut imbalance = imbalance as i64;
        let mut taken = core::mem::take(&mut self.balance.taken);
        taken.clear();
        let looks = self.balance.nr_migrate.min(core.nr_running[source.index()]);
        for _ in 0..looks {
            if why != Occasion::NotIdle && core.nr_running[source.index()] <= 1 {
                break;
            }
            let oldest = self.balance.cpus[source.index()].oldest;
            if oldest == NONE {
                break;
            }
            let task = Pid(oldest);
            if !self.can_migrate(core, platform, task, source, here, kind, imbalance, pinned) {
                self.list_remove(source, task);
                self.list_add(source, task);
                continue;
            }
            imbalance -= match kind {
                Migrate::Task => 1,
                Migrate::Load => self.task_h_load(platform.jiffies(), task).max(1) as i64,
            };
            self.detach_task(core, platform, task, here);
            taken.push(task);
            if why == Occasion::NewlyIdle || imbalance <= 0 {
                break;
            }
        }
        let moved = !taken.is_empty();
        while let Some(task) = taken.pop() {
            self.attach_task(core, platform, task, here);
        }
        self.balance.taken = taken;
        moved
    }

    /// `can_migrate_task`.
    #[allow(clippy::too_many_arguments)]
    fn can_migrate(
        &mut self,
        core: &Core,
        platform: &Platform,
        task: Pid,
        source: CpuId,
        here: CpuId,
        kind: Migrate,
        imbalance: i64,
        pinned: &mut bool,
    ) -> bool {
        let failures = self.balance.cpus[here.index()].failures;
        if self.is_throttled_pair(task, here) {
            return false;
        }
        if kind != Migrate::Load && self.is_delayed(task) {
            return false;
        }
        if failures == 0 && self.is_ineligible_beside_others(task, here) {
            return false;
        }
        if !core.is_allowed(task, here) {
            return false;
        }
        *pinned = false;
        if core.curr(source) == task {
            return false;
        }
        if failures <= CACHE_NICE_TRIES && self.is_cache_hot(core, platform, task, here) {
            return false;
        }
        let load = self.task_h_load(platform.jiffies(), task).max(1);
        kind != Migrate::Load || (load >> failures.min(63)) as i64 <= imbalance
    }

    /// 6.18: one that has had too much where it is would be put behind those that are there already.
    fn is_ineligible_beside_others(&self, task: Pid, target: CpuId) -> bool {
        if !self.version.balance_asks_eligibility() || !self.features.place_lag {
            return false;
        }
        let others = match self.groups[self.tasks[task.index()].group as usize].queue_on(target) {
            NONE => 0,
            q => self.queues[q as usize].nr_queued,
        };
        let e = self.se_of(task);
        others > 0 && !self.queues[self.queue_of(e) as usize].eligible(&self.se, self.se[e as usize].vruntime)
    }

    /// `task_hot`.
    fn is_cache_hot(&self, core: &Core, platform: &Platform, task: Pid, target: CpuId) -> bool {
        if core.thread(task).policy == Policy::Idle {
            return false;
        }
        let e = self.se_of(task);
        if core.nr_running[target.index()] > 0 && self.queues[self.queue_of(e) as usize].next == e {
            return true;
        }
        let ago = platform.now_ns() - self.info[e as usize].exec_start;
        ago < self.balance.migration_cost_ns
    }

    /// Takes `task` off its CPU; it belongs to `to` from now on.
    pub(super) fn detach_task(&mut self, core: &mut Core, platform: &mut Platform, task: Pid, to: CpuId) {
        platform.touched.moves += 1;
        self.dequeue_task(core, platform, task, Dequeue { migrate: true, ..Dequeue::default() });
        self.set_task_cpu(core, platform, task, to, false);
    }

    /// Queues `task`, which has come to `here`.
    pub(super) fn attach_task(&mut self, core: &mut Core, platform: &mut Platform, task: Pid, here: CpuId) {
        self.enqueue_task(core, platform, task, Enqueue::default());
        self.check_preempt(core, platform, here, task, false);
    }

    /// `active_load_balance_cpu_stop`: the stopper of `source` runs, and pushes one of its tasks away.
    pub(super) fn active_load_balance(&mut self, core: &mut Core, platform: &mut Platform, source: CpuId) {
        let here = core.rqs[source.index()].push_cpu;
        if core.nr_running[source.index()] <= 1 {
            return;
        }
        let failures = self.balance.cpus[here.index()].failures;
        let mut task = self.balance.cpus[source.index()].oldest;
        while task != NONE {
            let pid = Pid(task);
            if core.is_allowed(pid, here)
                && !self.is_throttled_pair(pid, here)
                && (failures > 0 || !self.is_ineligible_beside_others(pid, here))
            {
                self.detach_task(core, platform, pid, here);
                self.balance.cpus[here.index()].failures = 0;
                self.attach_task(core, platform, pid, here);
                return;
            }
            task = self.tasks[task as usize].newer;
        }
    }

    /// The allowed CPU with the fewest runnable tasks, the lowest number among equals: where a task starts that is nobody's
    /// child.
    pub(super) fn emptiest_cpu(&self, core: &Core, allowed: &CpuSet) -> CpuId {
        let mut best = (u32::MAX, CpuId(0));
        for cpu in 0..self.cpus {
            let queue = &self.queues[cpu as usize];
            let runnable = core.nr_running[cpu as usize] - (queue.h_nr_queued - queue.h_nr_runnable);
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
    pub(super) fn audit_lists(&self, core: &Core) -> bool {
        let mut queued = alloc::vec![0; self.cpus as usize];
        for (number, task) in self.tasks.iter().enumerate() {
            if task.se != NONE && self.se[task.se as usize].on_rq {
                queued[core.cpu_of(Pid(number as u32)).index()] += 1;
            }
        }
        self.cpus == 1
            || self.balance.cpus.iter().enumerate().all(|(cpu, row)| {
                let mut found = 0;
                let mut task = row.oldest;
                let mut last = NONE;
                while task != NONE {
                    let entry = &self.tasks[task as usize];
                    if entry.older != last || core.cpu_of(Pid(task)).index() != cpu {
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

impl Stats {
    /// Whether this CPU is a better source than `best`, found earlier.
    fn is_busier_than(&self, best: &Stats) -> bool {
        if self.kind != best.kind {
            return self.kind > best.kind;
        }
        match self.kind {
            Type::Overloaded => self.load > best.load,
            // Their average loads are not worked out and all count as 0: the last one looked at.
            Type::FullyBusy => true,
            Type::HasSpare => {
                let (idle, best_idle) = (u32::from(self.idle), u32::from(best.idle));
                idle < best_idle || (idle == best_idle && self.nr_running > best.nr_running)
            }
        }
    }

    /// Load relative to capacity, where the kernel has worked it out.
    fn known_load(&self) -> u64 {
        if self.kind == Type::Overloaded { self.load } else { 0 }
    }
}

/// `sched_balance_find_src_group`'s verdict and `calculate_imbalance`: what to move, and how much of it. None: nothing.
fn calculate_imbalance(
    local: &Stats,
    busiest: &Stats,
    average: u64,
    why: Occasion,
) -> Option<(Migrate, u64)> {
    if local.kind > busiest.kind {
        return None;
    }
    if local.kind == Type::Overloaded
        && (local.load >= busiest.load
            || local.load >= average
            || 100 * busiest.load <= IMBALANCE_PCT * local.load)
    {
        return None;
    }
    if busiest.kind != Type::Overloaded && (why == Occasion::NotIdle || busiest.h_nr_runnable == 1) {
        return None;
    }
    if local.kind == Type::HasSpare {
        if why == Occasion::NotIdle {
            return None;
        }
        let tasks = u64::from(busiest.nr_running.saturating_sub(local.nr_running)) / 2;
        return (tasks > 0).then_some((Migrate::Task, tasks));
    }
    if local.load >= busiest.known_load() || local.load >= average {
        return None;
    }
    // Unsigned: when the busiest is below the average the first wraps, and the second counts.
    let out = busiest.known_load().wrapping_sub(average).wrapping_mul(1024);
    let into = (average - local.load) * 1024;
    let load = out.min(into) / 1024;
    (load > 0).then_some((Migrate::Load, load))
}

/// `update_idle_cpu_scan`: how many CPUs are worth looking at for an idle one, the fewer the busier they are.
fn idle_scan(cpus: u32, total_util: u64) -> u32 {
    let mean = total_util / u64::from(cpus);
    let busy = (mean * mean * IMBALANCE_PCT * IMBALANCE_PCT / (10_000 * 1024)).min(1024);
    ((1024 - busy) * u64::from(cpus) / 1024) as u32
}
