//! 2.6.22: load balancing by weight, in scheduling domains.
//!
//! The CPUs of a flat machine form one domain of groups of one CPU each. Each CPU looks from time to time whether another
//! carries more than its share of the machine's weight, and takes of it what brings itself up to the average. How often:
//! every 1 ms, doubling up to 4 while all is balanced; 64 times that while it is busy; and at once when it goes idle.
//!
//! Compared with 2.6.0: tasks count by their slices (nice 19 weighs 6, nice 0 128), a queue's load is an average over some
//! ticks, and what could not be moved for too long, because it was running or had just run, is pushed by the other CPU's
//! migration thread (*active balancing*).

use super::O1;
use super::task::Pid;
use crate::Platform;
use alloc::vec;
use alloc::vec::Vec;

/// `min_interval`, `max_interval` of the CPU level, ms.
const MIN_INTERVAL: u32 = 1;
const MAX_INTERVAL: u32 = 4;
/// `MAX_PINNED_INTERVAL`: up to where the interval grows while everything that could be taken may not run here, ms.
const MAX_PINNED_INTERVAL: u32 = 512;
/// By how much less often a busy CPU balances.
const BUSY_FACTOR: u32 = 64;
/// Percent by which another group must be heavier than this.
const IMBALANCE_PCT: u64 = 125;
/// After how many failures cache-hot tasks are taken too.
const CACHE_NICE_TRIES: u32 = 1;

/// In what situation a CPU balances.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum IdleKind {
    /// Its tick found it idle.
    Idle,
    /// Its tick found it busy.
    NotIdle,
    /// It is about to go idle.
    NewlyIdle,
}

impl IdleKind {
    /// Which average of the load is looked at (`idle_idx`, `busy_idx`, `newidle_idx`).
    const fn load_index(self) -> usize {
        match self {
            IdleKind::Idle => 1,
            IdleKind::NotIdle | IdleKind::NewlyIdle => 2,
        }
    }
}

/// What a CPU keeps of its domain.
#[derive(Clone, Debug)]
pub(super) struct Domain {
    /// Time between attempts, ms.
    pub(super) balance_interval: u32,
    /// The jiffy of the last periodic attempt.
    pub(super) last_balance: u64,
    /// Attempts in a row that found something and could not move it.
    pub(super) nr_balance_failed: u32,
}

impl Domain {
    pub(super) const fn new() -> Domain {
        Domain { balance_interval: MIN_INTERVAL, last_balance: 0, nr_balance_failed: 0 }
    }
}

/// What a look at the machine found: take `imbalance` of weight from `busiest`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Found {
    pub(super) busiest: u32,
    pub(super) imbalance: u64,
}

/// What `move_tasks` did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Moved {
    tasks: u32,
    /// It looked at none that would be allowed on this CPU.
    all_pinned: bool,
}

/// CPUs from which nothing can be had in this attempt.
#[derive(Clone, Debug)]
pub(super) struct Excluded {
    is_in: Vec<bool>,
    list: Vec<u32>,
}

impl Excluded {
    pub(super) fn new(cpus: usize) -> Excluded {
        Excluded { is_in: vec![false; cpus], list: Vec::with_capacity(cpus) }
    }

    fn push(&mut self, cpu: u32) {
        self.is_in[cpu as usize] = true;
        self.list.push(cpu);
    }

    fn clear(&mut self) {
        for cpu in self.list.drain(..) {
            self.is_in[cpu as usize] = false;
        }
    }

    fn contains(&self, cpu: usize) -> bool {
        self.is_in[cpu]
    }
}

impl O1 {
    /// A CPU has gone or come: the domain is built anew over those that are left. One that is off line has nothing on its
    /// queue, so nothing but the number of CPUs tells that it is no member.
    pub(super) fn rebuild_domains(&mut self, platform: &Platform) {
        for (domain, rq) in self.domains.iter_mut().zip(&mut self.rqs) {
            domain.last_balance = platform.jiffies();
            domain.balance_interval = MIN_INTERVAL;
            domain.nr_balance_failed = 0;
            rq.next_balance = platform.jiffies();
        }
    }

    /// The part of `this` CPU's tick that balances, called when `next_balance` has come.
    pub(super) fn rebalance_domains(&mut self, platform: &mut Platform, this: u32, idle: bool) {
        if self.cpus == 1 {
            return;
        }
        let jiffies = platform.jiffies();
        let domain = &self.domains[this as usize];
        let interval_ms = domain.balance_interval * if idle { 1 } else { BUSY_FACTOR };
        let interval = self.jiffies_of_ms(interval_ms).max(1);
        if jiffies >= domain.last_balance + interval {
            let kind = if idle { IdleKind::Idle } else { IdleKind::NotIdle };
            self.load_balance_periodic(platform, this, kind);
            self.domains[this as usize].last_balance = jiffies;
        }
        let next = self.domains[this as usize].last_balance + interval;
        self.rqs[this as usize].next_balance = next.min(jiffies + 60 * u64::from(self.rules.hz));
    }

    /// Milliseconds in jiffies, rounded up.
    fn jiffies_of_ms(&self, ms: u32) -> u64 {
        (u64::from(ms) * u64::from(self.rules.hz)).div_ceil(1000)
    }

    /// `load_balance`: one attempt of the tick's.
    fn load_balance_periodic(&mut self, platform: &mut Platform, this: u32, kind: IdleKind) {
        let mut all_pinned = false;
        let (busiest, moved) = loop {
            let Some(Found { busiest, imbalance }) = self.find_busiest_group(this, kind) else {
                self.domains[this as usize].nr_balance_failed = 0;
                self.excluded.clear();
                return self.lengthen_interval(this, all_pinned);
            };
            let most = self.loads.nr_running(busiest as usize).saturating_sub(1);
            let moved = self.move_tasks(platform, busiest, this, most, imbalance as i64);
            all_pinned = moved.all_pinned;
            if !all_pinned {
                break (busiest, moved);
            }
            // Nothing there may run here: the others may have something.
            self.excluded.push(busiest);
        };
        self.excluded.clear();

        let domain = &mut self.domains[this as usize];
        if moved.tasks > 0 {
            domain.nr_balance_failed = 0;
            domain.balance_interval = MIN_INTERVAL;
            return;
        }
        domain.nr_balance_failed += 1;
        if domain.nr_balance_failed <= CACHE_NICE_TRIES + 2 {
            domain.balance_interval = MIN_INTERVAL;
            return;
        }
        self.start_active_balance(platform, busiest, this);
    }

    /// What could be taken has been running or hot for too long: the migration thread of `busiest` shall preempt it and push.
    fn start_active_balance(&mut self, platform: &mut Platform, busiest: u32, this: u32) {
        let curr = self.rqs[busiest as usize].curr;
        if curr == Pid::NONE || !self.tasks.may_run_on(curr, this) {
            // The idle task may run only where it is.
            return self.lengthen_interval(this, true);
        }
        let rq = &mut self.rqs[busiest as usize];
        let start = !rq.active_balance;
        if start {
            rq.active_balance = true;
            rq.push_cpu = this;
            self.wake_migration_thread(platform, busiest);
        }
        let domain = &mut self.domains[this as usize];
        // One more failure and hot tasks are taken.
        domain.nr_balance_failed = CACHE_NICE_TRIES + 1;
        if !start {
            domain.balance_interval = MIN_INTERVAL;
        } else if domain.balance_interval < MAX_INTERVAL {
            domain.balance_interval *= 2;
        }
    }

    /// All is balanced, or nothing can be done about it: look less often.
    fn lengthen_interval(&mut self, this: u32, all_pinned: bool) {
        let interval = &mut self.domains[this as usize].balance_interval;
        if *interval < MAX_INTERVAL || (all_pinned && *interval < MAX_PINNED_INTERVAL) {
            *interval *= 2;
        }
    }

    /// `idle_balance` with `load_balance_newidle`: the queue of `this` CPU is empty, and the task that leaves it still current.
    pub(super) fn load_balance_newidle(&mut self, platform: &mut Platform, this: u32) {
        let mut pulled = false;
        while let Some(Found { busiest, imbalance }) = self.find_busiest_group(this, IdleKind::NewlyIdle) {
            let most = self.loads.nr_running(busiest as usize).saturating_sub(1);
            let moved = self.move_tasks(platform, busiest, this, most, imbalance as i64);
            if moved.tasks > 0 {
                pulled = true;
                break;
            }
            self.excluded.push(busiest);
        }
        self.excluded.clear();
        self.domains[this as usize].nr_balance_failed = 0;
        if !pulled {
            // Soon it balances as an idle CPU.
            let domain = &self.domains[this as usize];
            self.rqs[this as usize].next_balance =
                domain.last_balance + self.jiffies_of_ms(domain.balance_interval);
        }
    }

    /// Finds the CPU that carries most, and how much of it to take, if that is enough to bother. CPUs on the `excluded` list
    /// count as empty.
    pub(super) fn find_busiest_group(&self, this: u32, kind: IdleKind) -> Option<Found> {
        if !self.loads.others_overloaded(this as usize) {
            // Only those with more than one task have any to give.
            return None;
        }
        let index = kind.load_index();
        let this_load = self.loads.target_load(this as usize, index);
        let (total, busiest) = self.survey(this as usize, index);
        let (busiest, max_load) = busiest?;
        let average = (this_load + total) / u64::from(self.online);
        if this_load >= max_load || this_load >= average || 100 * max_load <= IMBALANCE_PCT * this_load {
            return None;
        }
        let per_task = self.loads.avg_load_per_task(busiest);
        if max_load <= per_task {
            return None;
        }
        if max_load >= average {
            // Not more than makes this CPU average, nor than would leave the other below it or without its last task.
            let max_pull = (max_load - average).min(max_load - per_task);
            let imbalance = max_pull.min(average - this_load);
            if imbalance >= per_task {
                return Some(Found { busiest: busiest as u32, imbalance });
            }
        }
        self.worth_one_task(this as usize, this_load, max_load, per_task)
            .then_some(Found { busiest: busiest as u32, imbalance: per_task })
    }

    /// The imbalance is less than an average task: whether one should be moved all the same.
    fn worth_one_task(&self, this: usize, this_load: u64, max_load: u64, per_task: u64) -> bool {
        let this_per_task = self.loads.avg_load_per_task(this);
        let tasks = if self.loads.nr_running(this) > 0 && per_task > this_per_task { 1 } else { 2 };
        if max_load - this_load >= per_task * tasks {
            return true;
        }
        // What the two CPUs get done, in weight, before and after: a CPU does no more than it has, nor than one task's worth.
        let now = per_task.min(max_load) + this_per_task.min(this_load);
        let left = per_task.min(max_load.saturating_sub(per_task));
        let after = left + this_per_task.min(this_load + per_task.min(max_load));
        after > now
    }

    /// The loads of all CPUs but `this` together, and the largest among those with more than one task: the first in ring
    /// order from `this` among equals.
    fn survey(&self, this: usize, index: usize) -> (u64, Option<(usize, u64)>) {
        let loads = &self.loads;
        let load = |cpu: usize| loads.source_load(cpu, index);
        let excluded: u64 = self.excluded.list.iter().map(|&cpu| load(cpu as usize)).sum();
        let total = loads.source_total(index) - load(this) - excluded;

        let (mut busiest, mut most) = (None, 0);
        let ring = loads.overloaded(this + 1..self.cpus as usize).chain(loads.overloaded(0..this));
        for cpu in ring {
            if load(cpu) > most && !self.excluded.contains(cpu) {
                most = load(cpu);
                busiest = Some((cpu, most));
            }
        }
        (total, busiest)
    }

    /// Takes at most `max_tasks` tasks of together about `max_weight` from `busiest` to `this` CPU. Each goes to the array of
    /// its own kind.
    fn move_tasks(
        &mut self,
        platform: &mut Platform,
        busiest: u32,
        this: u32,
        max_tasks: u32,
        max_weight: i64,
    ) -> Moved {
        let mut moved = Moved { tasks: 0, all_pinned: false };
        if max_tasks == 0 || max_weight <= 0 {
            return moved;
        }
        moved.all_pinned = true;
        let mut weight_left = max_weight;
        let best_of = |sched: &O1, cpu: u32| {
            let best_expired = sched.rqs[cpu as usize].best_expired_prio;
            sched.curr_prio(cpu).min(best_expired)
        };
        let mut this_best = best_of(self, this);
        let best = best_of(self, busiest);
        let mut best_seen = best == self.curr_prio(busiest);

        let (rq, own) = (&self.rqs[busiest as usize], &self.rqs[this as usize]);
        let kinds = [(rq.expired(), own.expired()), (rq.active(), own.active())];
        for (source, destination) in kinds {
            let mut from = 0;
            while let Some(prio) = self.rqs[busiest as usize].arrays[source].next_list(from) {
                let mut at = self.rqs[busiest as usize].arrays[source].tail(prio);
                while at != Pid::NONE {
                    let p = at;
                    at = self.tasks[p].prev;
                    let weight = i64::from(self.tasks[p].load_weight);
                    // Too heavy, unless it is better than all that this CPU has; but then the best of the other's must
                    // stay there if it is the only one that has been seen so far.
                    let mut skip = weight > weight_left;
                    if skip && prio < this_best {
                        skip = !best_seen && prio == best;
                    }
                    if skip || !self.can_migrate_to(p, busiest, this, &mut moved.all_pinned) {
                        best_seen |= prio == best;
                        continue;
                    }
                    self.pull_task_shifted(platform, p, busiest, this, destination);
                    moved.tasks += 1;
                    weight_left -= weight;
                    if moved.tasks >= max_tasks || weight_left <= 0 {
                        return moved;
                    }
                    this_best = this_best.min(prio);
                }
                from = prio + 1;
            }
        }
        moved
    }

    /// Whether `this` CPU may take `p` from `busiest`. Takes back `all_pinned` if affinity does not forbid it.
    fn can_migrate_to(&self, p: Pid, busiest: u32, this: u32, all_pinned: &mut bool) -> bool {
        if !self.tasks.may_run_on(p, this) {
            return false;
        }
        *all_pinned = false;
        if self.is_current(p) {
            return false;
        }
        if self.domains[this as usize].nr_balance_failed > CACHE_NICE_TRIES {
            return true;
        }
        let clock = self.rqs[busiest as usize].most_recent_timestamp;
        clock.wrapping_sub(self.tasks[p].last_ran) as i64 >= self.cache_hot_time_ns as i64
    }

    fn pull_task_shifted(&mut self, platform: &mut Platform, p: Pid, busiest: u32, this: u32, array: usize) {
        self.shift_timestamp(p, busiest, this);
        self.pull_task(platform, p, this, array);
    }

    /// What the migration thread of `cpu`, which is current there, does for a balancing CPU: pushes one task to it. Now the
    /// one that was running can be moved too.
    pub(super) fn active_load_balance(&mut self, platform: &mut Platform, cpu: u32) {
        let to = self.rqs[cpu as usize].push_cpu;
        if self.loads.nr_running(cpu as usize) <= 1 {
            return;
        }
        // Any task's weight is within this.
        let max_weight = i64::from(self.rules.rt_load_weight(100));
        self.move_tasks(platform, cpu, to, 1, max_weight);
    }
}
