//! Load balancing: when it happens, and the course of a pass.
//!
//! A CPU balances for itself: at its tick, each domain at its interval, and when it goes idle. It
//! finds the busiest group of the domain ([`find_busiest_group`](super::find_busiest_group)) and
//! the busiest CPU in it, and pulls tasks from there ([`move_tasks`](super::move_tasks)). After
//! several successive failures, the busiest CPU's migration thread is woken to push the running
//! task over (*active balancing*).
//!
//! A hardware thread of a core whose other thread is busy has little to offer. Such a thread does
//! not look beyond the core when it goes idle, and at its tick it balances domains larger than the
//! core as rarely as a busy CPU does.

use super::Cfs;
use super::lb_env::{CpuIdleType, Pass, PassState, ms_to_jiffies};
use crate::classes::rt::RealTime;
use crate::classes::{Rqs, core_2_6};
use schedlab_core::{CpuId, Platform};

impl Cfs {
    /// `rebalance_domains`: runs the softirq of the tick.
    #[inline]
    pub(super) fn rebalance_domains(
        &mut self,
        rqs: &mut Rqs,
        rt: &mut RealTime,
        platform: &mut Platform,
        cpu: CpuId,
    ) {
        if platform.jiffies() >= self.next_balance[cpu.index()] {
            self.rebalance_domains_now(rqs, rt, platform, cpu);
        }
    }

    fn rebalance_domains_now(
        &mut self,
        rqs: &mut Rqs,
        rt: &mut RealTime,
        platform: &mut Platform,
        cpu: CpuId,
    ) {
        let jiffies = platform.jiffies();
        let hz = platform.hz();
        let mut idle = if rqs.is_idle_thread(rqs.curr(cpu)) {
            CpuIdleType::Idle
        } else {
            CpuIdleType::NotIdle
        };
        // At least `NR_CPUS` of the usual build.
        let longest = u64::from(hz) * u64::from(rqs.cpus().max(64)) / 10;
        let mut next = None;
        for level in rqs.domains.of(cpu) {
            let params = rqs.domains.level(level).params;
            let row = &self.balancing[level][cpu.index()];
            let mut interval = row.interval_ms;
            if idle != CpuIdleType::Idle {
                interval *= u64::from(params.busy_factor);
            }
            let interval = ms_to_jiffies(interval, hz).clamp(1, longest);
            let mut its_turn = true;
            if jiffies >= row.last_balance + interval {
                let pass = Pass { level, this: cpu, idle };
                let mut state = PassState::new(&params, idle);
                if self.load_balance(rqs, rt, platform, pass, &mut state) {
                    idle = CpuIdleType::NotIdle;
                }
                its_turn = state.its_turn;
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

    /// `load_balance`: makes a CPU's pass over one of its domains, and sets the time of the next
    /// pass. Returns whether the CPU counts as busy in the domains above: it received tasks, or a
    /// sibling is busy.
    fn load_balance(
        &mut self,
        rqs: &mut Rqs,
        rt: &mut RealTime,
        platform: &mut Platform,
        pass: Pass,
        state: &mut PassState,
    ) -> bool {
        let is_busy = self.balance_domain(rqs, rt, platform, pass, state) || state.busy_sibling;
        if is_busy {
            self.update_shares(rqs, platform, pass.level, pass.this);
        }
        is_busy
    }

    /// Makes the pass. Returns whether it moved anything.
    fn balance_domain(
        &mut self,
        rqs: &mut Rqs,
        rt: &mut RealTime,
        platform: &mut Platform,
        pass: Pass,
        state: &mut PassState,
    ) -> bool {
        let params = rqs.domains.level(pass.level).params;
        let pulled = self.pull_from_busiest(rqs, platform, pass, state);
        let row = &mut self.balancing[pass.level][pass.this.index()];
        let Some((busiest, moved)) = pulled else {
            row.nr_failed = 0;
            row.lengthen_interval(&params, state.all_pinned);
            return false;
        };
        let mut active_balance = false;
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
                active_balance = !rqs.rqs[busiest.index()].active_balance;
            }
        }
        if !active_balance {
            row.interval_ms = u64::from(params.min_interval_ms);
        } else if row.interval_ms < u64::from(params.max_interval_ms) {
            row.interval_ms *= 2;
        }
        if active_balance {
            rqs.rqs[busiest.index()].active_balance = true;
            rqs.rqs[busiest.index()].push_cpu = pass.this;
            core_2_6::wake_migration_thread(self, rqs, rt, platform, busiest);
        }
        moved
    }

    /// Finds the busiest CPU and pulls from it, or from the next busiest if none of its tasks may
    /// run here. Returns the CPU, and whether anything was moved. `None`: the domain is balanced.
    fn pull_from_busiest(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        pass: Pass,
        state: &mut PassState,
    ) -> Option<(CpuId, bool)> {
        self.candidates.reset();
        platform.work.balances += 1;
        loop {
            platform.work.queues += rqs.domains.level(pass.level).span(pass.this).cpus.len() as u64;
            self.update_shares(rqs, platform, pass.level, pass.this);
            let (busiest, imbalance) = self.find_busiest(rqs, pass, state)?;
            let mut moved = false;
            if rqs.nr_running[busiest.index()] > 1 {
                platform.double_lock(pass.this, busiest);
                rqs.update_rq_clock(platform, pass.this);
                rqs.update_rq_clock(platform, busiest);
                let all_pinned = &mut state.all_pinned;
                moved = self.move_tasks(rqs, platform, pass, busiest, imbalance, all_pinned);
                if state.all_pinned {
                    self.candidates.take_out(busiest);
                    continue;
                }
            }
            return Some((busiest, moved));
        }
    }

    /// `idle_balance`: balances for `this`, which is about to idle.
    pub(super) fn idle_balance_fair(
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

    /// `load_balance_newidle`. Returns whether the search should end: something was moved, a busy
    /// CPU has nothing to give, or a sibling is busy.
    fn load_balance_newidle(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        level: usize,
        this: CpuId,
    ) -> bool {
        let pass = Pass { level, this, idle: CpuIdleType::NewlyIdle };
        let mut state = PassState::new(&rqs.domains.level(level).params, pass.idle);
        let pulled = self.pull_from_busiest(rqs, platform, pass, &mut state);
        let row = &mut self.balancing[level][this.index()];
        match pulled {
            None if state.busy_sibling => true,
            None => {
                row.nr_failed = 0;
                false
            }
            Some((_, moved)) => {
                if moved {
                    row.nr_failed = 0;
                    self.update_shares(rqs, platform, level, this);
                }
                true
            }
        }
    }
}
