//! Load balancing: when a CPU checks whether others have too much work, and what follows.
//!
//! # The rules
//!
//! At intervals (every few ticks when idle, 16 times as long when busy), and whenever it is about
//! to go idle, a CPU looks at the others, domain by domain from the smallest up ([`domains`]). In
//! each domain it compares the groups: [`find_busiest_group`](super::find_busiest_group) decides
//! which group is busiest and what should be moved. Then the tasks that have been on the source's
//! list for longest are examined, and moved if they may be ([`detach_tasks`](super::detach_tasks)).
//!
//! Only one CPU of a group balances for it: an idle one if there is one. When several attempts in a
//! row could not move anything, the running task of the source itself is pushed over (active
//! balancing).
//!
//! The flat machine of the golden schedules is one domain, with each CPU a group of its own.

use super::class::Fair;
use super::domains::{self, BUSY_FACTOR, BUSY_FACTOR_5_4, CacheSharing};
use super::ids::CfsRqId;
use super::lb_cache::LbCache;
use super::lb_env::{CpuIdleType, LbEnv, MigrationType};
use super::lb_stats::is_idle_cpu;
use super::pick_rule::PickRule;
use super::rule_state::{FairTunables as _, FairVersion as _};
use crate::classes::Rqs;
use schedlab_core::{CpuId, CpuSet, Platform};

/// The limit, ms, up to which an interval doubles while all tasks are pinned.
const MAX_PINNED_INTERVAL: u32 = 512;
/// The longest time without a check of a domain's interval, s.
const LONGEST_S: u64 = 60;

impl<R: PickRule> Fair<R> {
    // ---- helpers ----

    /// `add_nr_running`: `cpu` has `count` more threads.
    #[inline]
    pub(super) fn count_running(&mut self, rqs: &mut Rqs, cpu: CpuId, count: u32) {
        let before = rqs.nr_running[cpu.index()];
        rqs.add_nr_running(cpu, count);
        self.balance.overloaded |= before < 2 && before + count >= 2;
    }

    /// Whether the other threads of the core of `cpu` are idle.
    pub(super) fn is_core_idle(&self, rqs: &Rqs, cpu: CpuId) -> bool {
        let threads = self.caches.threads(&rqs.domains, cpu);
        threads.iter().all(|&thread| thread == cpu || is_idle_cpu(rqs, thread))
    }

    /// Whether tasks are queued on `cpu` and all of them are `SCHED_IDLE`.
    #[inline]
    pub(super) fn is_sched_idle_rq(&self, rqs: &Rqs, cpu: CpuId) -> bool {
        let nr = rqs.nr_running[cpu.index()];
        nr != 0 && nr == self.cfs_rqs[CfsRqId::of_cpu(cpu)].h_nr_idle
    }

    /// Makes the next tick check whether to balance, because only `SCHED_IDLE` tasks are left.
    pub(super) fn balance_soon(&mut self, platform: &Platform, cpu: CpuId) {
        self.balance.balance_soon(platform, cpu);
    }

    /// The time, in jiffies, from one balancing of a domain by `cpu` to the next.
    fn interval_jiffies(
        &mut self,
        platform: &Platform,
        cpu: CpuId,
        level: usize,
        busy: bool,
    ) -> u64 {
        let out_of_step = self.version.busy_cpus_are_out_of_step();
        let busy_factor = if out_of_step { BUSY_FACTOR } else { BUSY_FACTOR_5_4 };
        let ms = u64::from(self.balance.domain(cpu, level).interval)
            * if busy { busy_factor } else { 1 };
        let hz = u64::from(platform.hz());
        // Keeps busy CPUs from balancing in step with idle ones.
        let jiffies = (ms * hz).div_ceil(1000) - u64::from(busy && out_of_step);
        jiffies.clamp(1, (hz * u64::from(self.online) / 10).max(1))
    }

    /// Rebuilds the domains over the online CPUs after a CPU has gone offline or come back, and
    /// rescales the base slice by their number, unless it was set by hand.
    pub(super) fn rebuild_domains(&mut self, rqs: &Rqs, platform: &Platform) {
        self.online = rqs.online_cpus();
        self.caches = CacheSharing::new(&rqs.domains);
        self.lb_cache = LbCache::new(&rqs.domains, !self.version.balances_cores());
        self.balance.restart(&rqs.domains, &self.caches, platform.jiffies());
        self.restart_capacity(&rqs.domains, platform.jiffies(), platform.hz());
        self.balance.imbalanced.fill(false);
        self.tunables.rescale(self.online);
        self.order.uniform_slices = false;
    }

    /// `cpu` goes idle. If the other threads of its core are idle, too, there is an idle core.
    pub(super) fn cpu_goes_idle(&mut self, rqs: &Rqs, cpu: CpuId) {
        if self.caches.has_smt() && self.is_core_idle(rqs, cpu) {
            let llc = self.caches.llc_id(cpu);
            self.caches.has_idle_cores[llc] = true;
        }
    }

    // ---- occasions ----

    /// Whether `cpu` balances at this tick.
    #[inline]
    pub(super) fn is_balance_due(&self, platform: &Platform, cpu: CpuId) -> bool {
        self.cpus > 1 && platform.jiffies() >= self.balance.cpus[cpu.index()].next_balance
    }

    /// `sched_balance_domains`: the periodic balancing of `cpu`, which is due.
    pub(super) fn sched_balance_domains(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
    ) {
        let jiffies = platform.jiffies();
        self.update_blocked_averages(rqs, platform.now_ns(), cpu);
        let mut idle = is_idle_cpu(rqs, cpu);
        let by_load = self.version.balances_by_load();
        let mut busy = !idle && (by_load || !self.is_sched_idle_rq(rqs, cpu));
        let mut next = jiffies + LONGEST_S * u64::from(platform.hz());
        for level in rqs.domains.of(cpu) {
            let mut interval = self.interval_jiffies(platform, cpu, level, busy);
            let mut its_turn = true;
            if jiffies >= self.balance.domain(cpu, level).last_balance + interval {
                let occasion = if idle { CpuIdleType::Idle } else { CpuIdleType::NotIdle };
                if self.load_balance(rqs, platform, cpu, level, occasion, &mut its_turn) {
                    idle = is_idle_cpu(rqs, cpu);
                    busy = !idle && (by_load || !self.is_sched_idle_rq(rqs, cpu));
                }
                self.balance.domain(cpu, level).last_balance = jiffies;
                interval = self.interval_jiffies(platform, cpu, level, busy);
            }
            next = next.min(self.balance.domain(cpu, level).last_balance + interval);
            if !its_turn {
                // It does not balance larger domains either.
                break;
            }
        }
        self.balance.cpus[cpu.index()].next_balance = next;
    }

    /// `sched_balance_newidle`: nothing is queued on `cpu`. Returns whether there is afterwards.
    pub(super) fn newidle_balance(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
    ) -> bool {
        if self.cpus == 1 {
            return false;
        }
        self.balance.idle_since_ns[cpu.index()] = platform.now_ns();
        let mut next = u64::MAX;
        let needs_idle_time = self.version.newidle_needs_idle_time();
        let too_short = needs_idle_time
            && self.balance.avg_idle_ns[cpu.index()] < self.tunables.balancing().migration_cost_ns;
        let overloaded = self.balance.overloaded && !too_short;
        if overloaded {
            self.update_blocked_averages(rqs, platform.now_ns(), cpu);
        }
        for level in rqs.domains.of(cpu) {
            if !needs_idle_time || !overloaded {
                next = next.min(self.next_balance_of(platform, cpu, level));
            }
            if !overloaded {
                break;
            }
            if self.tunables.ni_random() && !self.balance.newidle_may(cpu, level) {
                continue;
            }
            if self.balance.levels == 1
                && !self.version.balances_by_load()
                && !rqs.any_overcommitted()
                && !self.capacity.is_any_lost()
            {
                // The mark is out of date: balancing will find nothing and clear it.
                self.balance.overloaded = false;
                self.balance.domain(cpu, level).failures = 0;
                let env = LbEnv::new(cpu, level, CpuIdleType::NewlyIdle);
                self.update_group_capacity(rqs, platform, &env);
                if self.tunables.ni_random() {
                    self.balance.domain(cpu, level).newidle.count(false);
                }
                if needs_idle_time {
                    next = next.min(self.next_balance_of(platform, cpu, level));
                }
                break;
            }
            let why = CpuIdleType::NewlyIdle;
            let brought = self.load_balance(rqs, platform, cpu, level, why, &mut true);
            if self.tunables.ni_random() {
                self.balance.domain(cpu, level).newidle.count(brought);
            }
            if needs_idle_time {
                next = next.min(self.next_balance_of(platform, cpu, level));
            }
            if self.cfs_rqs[CfsRqId::of_cpu(cpu)].h_nr_queued > 0 {
                break;
            }
        }
        let row = &mut self.balance.cpus[cpu.index()];
        row.next_balance = row.next_balance.min(next);
        let found = self.cfs_rqs[CfsRqId::of_cpu(cpu)].h_nr_queued > 0;
        if found {
            self.balance.idle_since_ns[cpu.index()] = 0;
        }
        found
    }

    /// The jiffy from which `cpu`, if idle, balances its domain of this level again.
    fn next_balance_of(&mut self, platform: &Platform, cpu: CpuId, level: usize) -> u64 {
        let interval = self.interval_jiffies(platform, cpu, level, false);
        self.balance.domain(cpu, level).last_balance + interval
    }

    /// A wakeup ends an idle period of `cpu`. Its average idle time moves an eighth of the way.
    #[inline]
    pub(super) fn ends_idling(&mut self, now_ns: u64, cpu: CpuId) {
        let since = core::mem::take(&mut self.balance.idle_since_ns[cpu.index()]);
        if self.version.newidle_needs_idle_time() && since != 0 {
            let average = &mut self.balance.avg_idle_ns[cpu.index()];
            let difference = now_ns.saturating_sub(since) as i64 - *average as i64;
            let step = match self.version.scans_by_idle_time() {
                true => difference >> 3,
                false => difference / 8,
            };
            *average = average.saturating_add_signed(step);
            *average = (*average).min(2 * self.tunables.balancing().migration_cost_ns);
        }
    }

    /// `should_we_balance`: whether the destination is the CPU that balances for its group. That is
    /// the first CPU of an idle core (among threads of one core: the first idle one), else the
    /// first idle CPU, else the first CPU. A CPU that is about to go idle always balances.
    fn is_its_turn(&self, rqs: &Rqs, env: &LbEnv) -> bool {
        if env.why == CpuIdleType::NewlyIdle {
            return true;
        }
        let domain = rqs.domains.level(env.level);
        let group = domain.span(env.here).balancers(domain.group_of(env.here));
        let among_threads = domain.params.share_cpupower;
        let left = group.iter().copied().filter(|cpu| !self.balance.dropped[cpu.index()]);
        let mut idle = left.filter(|&cpu| is_idle_cpu(rqs, cpu));
        let first_idle = idle.clone().next();
        let any = among_threads || !self.version.balances_cores();
        let best = idle.find(|&cpu| any || self.is_core_idle(rqs, cpu));
        best.or(first_idle).unwrap_or(group[0]) == env.dst
    }

    // ---- the pass itself ----

    /// `sched_balance_rq`. Returns whether something was moved to `here` or, on its behalf, to
    /// another CPU of its group. Clears `its_turn` if it is not, or no longer, this CPU's turn to
    /// balance.
    fn load_balance(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        here: CpuId,
        level: usize,
        why: CpuIdleType,
        its_turn: &mut bool,
    ) -> bool {
        let mut env = LbEnv::new(here, level, why);
        let mut dropped = false;
        let moved = loop {
            // Checked in each iteration: another CPU may have become the destination.
            *its_turn = self.is_its_turn(rqs, &env);
            if !*its_turn {
                // That counts as balanced.
                self.found_balanced(rqs, &env);
                break None;
            }
            platform.work.balances += u64::from(!dropped);
            platform.work.queues += u64::from(self.cpus);
            let Some(source) = self.find_source(rqs, platform, &mut env) else {
                self.found_balanced(rqs, &env);
                break None;
            };
            env.all_pinned = true;
            let several = rqs.nr_running[source.index()] > 1;
            if several {
                platform.double_lock(here, source);
            }
            let mut moved = several && self.move_tasks(rqs, platform, source, &mut env);
            while env.imbalance > 0
                && let Some(other) = env.new_dst.take()
            {
                // A task that may not run here may run on another CPU of the group, which becomes
                // the destination.
                self.drop_cpu(env.dst);
                dropped = true;
                env.dst = other;
                moved |= self.move_tasks(rqs, platform, source, &mut env);
            }
            if several {
                self.mark_group(rqs, &env);
            }
            if several && !moved && env.all_pinned {
                // All of its tasks are pinned elsewhere: look again without that CPU.
                self.drop_cpu(source);
                dropped = true;
                if self.others_left(rqs, &env) {
                    continue;
                }
                self.found_balanced(rqs, &env);
                break None;
            }
            break Some((moved, source));
        };
        if dropped {
            for cpu in 0..self.cpus {
                if core::mem::take(&mut self.balance.dropped[cpu as usize]) {
                    self.lb_cache.invalidate(CpuId(cpu));
                }
            }
        }
        let Some((moved, source)) = moved else {
            return false;
        };
        let params = &rqs.domains.level(level).params;
        let patience = params.cache_nice_tries + 2;
        let mut pushed = false;
        if moved {
            self.balance.domain(here, level).failures = 0;
        } else {
            if why != CpuIdleType::NewlyIdle {
                self.balance.domain(here, level).failures += 1;
            }
            let any_reason = self.version.pushes_for_any_reason();
            let tried = (env.kind == MigrationType::Task || any_reason)
                && self.balance.failures(here, level) > patience;
            if tried || self.is_better_here(rqs, &env, source) {
                if !rqs.is_allowed(rqs.curr(source), here) || rqs.is_idle_thread(rqs.curr(source)) {
                    env.all_pinned |= any_reason;
                    if any_reason {
                        self.balance.domain(here, level).failures = patience - 1;
                    }
                    self.lengthen_interval(rqs, &env);
                    return false;
                }
                if any_reason {
                    self.balance.domain(here, level).failures = patience - 1;
                }
                let rq = &mut rqs.rqs[source.index()];
                if !rq.active_balance {
                    rq.active_balance = true;
                    rq.push_cpu = here;
                    if !core::mem::replace(&mut rq.stopper_waits, true) {
                        // The stopper thread waits there and is counted.
                        self.count_running(rqs, source, 1);
                    }
                    rqs.resched_curr(platform, source);
                    pushed = any_reason;
                }
            }
        }
        if pushed {
            let max = 2 * self.min_interval(rqs, &env);
            let interval = &mut self.balance.domain(here, level).interval;
            if *interval < max {
                *interval *= 2;
            }
            return moved;
        }
        self.balance.domain(here, level).interval = self.min_interval(rqs, &env);
        moved
    }

    fn min_interval(&self, rqs: &Rqs, env: &LbEnv) -> u32 {
        domains::min_interval(rqs.domains.level(env.level).span(env.here))
    }

    /// The next larger domain of the balancing CPU, and the first CPU of its group there.
    fn group_above(&self, rqs: &Rqs, env: &LbEnv) -> Option<(usize, CpuId)> {
        let above = rqs.domains.of(env.here).find(|&level| level > env.level)?;
        let level = rqs.domains.level(above);
        Some((above, level.span(env.here).balancers(level.group_of(env.here))[0]))
    }

    /// Excludes `cpu` from the rest of the pass.
    fn drop_cpu(&mut self, cpu: CpuId) {
        self.balance.dropped[cpu.index()] = true;
        self.lb_cache.invalidate(cpu);
    }

    /// Whether the pass has any CPUs left outside the own group.
    fn others_left(&self, rqs: &Rqs, env: &LbEnv) -> bool {
        let level = rqs.domains.level(env.level);
        let span = level.span(env.here);
        let own = span.balancers(level.group_of(env.here));
        let mut left = span.cpus.iter().filter(|cpu| !self.balance.dropped[cpu.index()]);
        left.any(|cpu| !own.contains(cpu))
    }

    /// Affinity has kept something from being moved: marks the domain, as a group of the next
    /// larger one, so that it is relieved from outside.
    fn mark_group(&mut self, rqs: &Rqs, env: &LbEnv) {
        if env.some_pinned
            && env.imbalance > 0
            && let Some((above, first)) = self.group_above(rqs, env)
        {
            *self.balance.imbalanced_mark(above, first) = true;
        }
    }

    fn found_balanced(&mut self, rqs: &Rqs, env: &LbEnv) {
        if (!env.all_pinned || self.version.newly_idle_waits_longer())
            && let Some((above, first)) = self.group_above(rqs, env)
        {
            *self.balance.imbalanced_mark(above, first) = false;
        }
        self.balance.domain(env.here, env.level).failures = 0;
        self.lengthen_interval(rqs, env);
    }

    fn lengthen_interval(&mut self, rqs: &Rqs, env: &LbEnv) {
        let max = 2 * self.min_interval(rqs, env);
        let interval = &mut self.balance.domain(env.here, env.level).interval;
        if (env.why != CpuIdleType::NewlyIdle || self.version.newly_idle_waits_longer())
            && ((env.all_pinned && *interval < MAX_PINNED_INTERVAL) || *interval < max)
        {
            *interval *= 2;
        }
    }

    /// A task has been pushed to `cpu` from elsewhere in the domain.
    pub(super) fn push_succeeded(&mut self, cpu: CpuId, level: usize) {
        self.balance.domain(cpu, level).failures = 0;
    }

    /// The allowed CPU with the fewest runnable tasks, the lowest number among equals. A task
    /// without a parent starts there.
    pub(super) fn emptiest_allowed_cpu(&self, rqs: &Rqs, allowed: &CpuSet) -> CpuId {
        let mut best = (u32::MAX, CpuId(0));
        for cpu in 0..self.cpus {
            let queue = &self.cfs_rqs[CfsRqId::of_cpu(CpuId(cpu))];
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classes::testing::{Bench, Life, MS};
    use crate::fair_6::eevdf::{Eevdf, Version};
    use schedlab_core::topology::{Place, Topology};
    use schedlab_core::{BuildConfig, Parent, Scheduler, TaskAttr};

    const CPU: CpuId = CpuId(0);

    /// Intervals double up to 512 ms while all tasks are pinned. A busy CPU waits 16 times as long,
    /// minus a jiffy. No interval is longer than a tenth of a second for each online CPU.
    #[test]
    fn no_interval_is_longer_than_a_tenth_of_a_second_a_cpu() {
        let cpu = CpuId(0);
        for (cpus, hz, interval, idle, busy) in [
            (2, 1000, 512, 200, 200),
            (2, 100, 512, 20, 20),
            (8, 1000, 512, 512, 800),
            (8, 1000, 8, 8, 127),
            (8, 100, 8, 1, 12),
            (2, 100, 2, 1, 3),
        ] {
            let config = BuildConfig::flat(cpus, hz);
            let Eevdf { core: rqs, fair, .. } = &mut Eevdf::new(Version::V6_18, &config);
            let level = rqs.domains.of(cpu).next().unwrap();
            fair.balance.domain(cpu, level).interval = interval;
            let found = [false, true]
                .map(|busy| fair.interval_jiffies(&config.platform(), cpu, level, busy));
            assert_eq!(found, [idle, busy], "{cpus} CPUs, HZ {hz}, {interval} ms");
        }
    }

    /// Two caches of two CPUs. CPU 2 runs a task. One waits there that may run on CPU 1, but not on
    /// CPU 0, which balances. It goes to CPU 1, and that counts as moved.
    #[test]
    fn who_may_not_come_here_goes_to_another_cpu_of_the_group() {
        let place = |cpu: u32| Place { core: cpu, cache: cpu / 2, package: 0, node: 0 };
        let topology = Topology::new((0..4).map(place).collect(), &[]).unwrap();
        let config = BuildConfig { topology, ..BuildConfig::flat(4, 1000) };
        let mut m = Bench::new(Eevdf::new(Version::V6_18, &config), 4, 1000);
        let on = |cpus: &[u32]| TaskAttr {
            allowed: CpuSet::from_cpus(cpus.iter().copied().map(CpuId)),
            ..TaskAttr::default()
        };
        m.run_until(MS);
        m.start(on(&[2]), Life::Hog, Parent::External);
        m.reschedule();
        let waits = m.start(on(&[2]), Life::Hog, Parent::External);
        m.start(on(&[3]), Life::Hog, Parent::External);
        m.reschedule();
        let pid = m.sched.core.pid(waits);
        m.sched.core.settings[pid.index()].allowed = CpuSet::from_cpus([CpuId(1), CpuId(2)]);
        m.sched.core.thread_mut(pid).nr_cpus_allowed = 2;
        m.platform.set_now_ns(100 * MS);
        let Eevdf { core: rqs, fair, .. } = &mut m.sched;
        let level = rqs.domains.of(CPU).last().unwrap();
        fair.balance.domain(CPU, level).failures = 1;
        let moves = m.platform.work.moves;
        assert!(fair.load_balance(rqs, &mut m.platform, CPU, level, CpuIdleType::Idle, &mut true));
        assert_eq!(m.sched.cpu_of(waits), CpuId(1));
        assert_eq!(m.platform.work.moves, moves + 1);
        assert_eq!(m.sched.fair.balance.failures(CPU, level), 0);
    }
}
