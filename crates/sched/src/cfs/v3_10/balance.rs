//! Load balancing: when a CPU balances, and which tasks move.

use super::super::entity::Entity;
use super::super::features::Feature;
use super::super::ids::{CfsRqId, EntityId};
use super::super::lb_env::{CpuIdleType, ms_to_jiffies};
use super::super::rules;
use super::Cfs310;
use super::select::is_idle_cpu;
use crate::classes::{ClassId, Enqueue, Pid, Rqs};
use schedlab_core::topology::LevelKind;
use schedlab_core::{CpuId, GroupId, Platform, Policy, Question, Rule};

/// `lb_env`: a pass in progress.
#[derive(Clone, Copy, Debug)]
pub(super) struct Env {
    /// The level of the domain.
    pub level: usize,
    /// The CPU to which tasks move.
    pub dst: CpuId,
    /// How busy the balancing CPU is.
    pub idle: CpuIdleType,
    /// Weight still to be moved.
    pub imbalance: i64,
    /// Whether it is this CPU's turn to balance for its group.
    pub its_turn: bool,
    /// No task that was looked at may run here.
    all_pinned: bool,
    /// Another CPU of the own group, on which a task may run that may not run here.
    other_dst: Option<CpuId>,
    /// Whether other destinations are looked for.
    seeks_other: bool,
}

/// Minimum and maximum interval of a domain, ms.
fn intervals(rqs: &Rqs, level: usize, cpu: CpuId) -> (u64, u64) {
    let domain = rqs.domains.level(level);
    match domain.kind {
        LevelKind::Node | LevelKind::AllNodes => {
            let cpus = domain.span(cpu).cpus.len() as u64;
            (cpus, 2 * cpus)
        }
        _ => (u64::from(domain.params.min_interval_ms), u64::from(domain.params.max_interval_ms)),
    }
}

impl Cfs310 {
    /// The intervals at boot.
    pub(super) fn start_intervals(&mut self, rqs: &Rqs) {
        for level in 0..rqs.domains.levels() {
            for cpu in (0..rqs.cpus()).map(CpuId) {
                self.base.balancing[level][cpu.index()].interval_ms = intervals(rqs, level, cpu).0;
            }
        }
    }

    /// `rebalance_domains`.
    pub(super) fn rebalance(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId) {
        let (jiffies, hz) = (platform.jiffies(), platform.hz());
        self.update_blocked_averages(rqs, platform, cpu);
        let kind = |rqs: &Rqs| match is_idle_cpu(rqs, cpu) {
            true => CpuIdleType::Idle,
            false => CpuIdleType::NotIdle,
        };
        let mut idle = kind(rqs);
        let longest = (u64::from(hz) * u64::from(rqs.online_cpus()) / 10).max(1);
        let mut next = jiffies + 60 * u64::from(hz);
        let mut any = false;
        for level in rqs.domains.of(cpu) {
            let factor = u64::from(rqs.domains.level(level).params.busy_factor);
            let row = self.base.balancing[level][cpu.index()];
            let mut interval = row.interval_ms;
            if idle != CpuIdleType::Idle {
                interval *= factor;
            }
            let interval = ms_to_jiffies(interval, hz).clamp(1, longest);
            let mut its_turn = true;
            if jiffies >= row.last_balance + interval {
                let (moved, turn) = self.load_balance(rqs, platform, level, cpu, idle);
                if moved {
                    idle = kind(rqs);
                }
                its_turn = turn;
                self.base.balancing[level][cpu.index()].last_balance = jiffies;
            }
            next = next.min(self.base.balancing[level][cpu.index()].last_balance + interval);
            any = true;
            if !its_turn {
                break;
            }
        }
        if any {
            self.base.next_balance[cpu.index()] = next;
        }
    }

    /// `idle_balance`.
    pub(super) fn idle_balance(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId) {
        let cost = self.base.tunables.migration_cost_ns;
        let clock = rqs.clock(cpu);
        let state = self.cpu_state(cpu);
        state.idle_stamp = Some(clock);
        if state.avg_idle < cost {
            return;
        }
        self.update_blocked_averages(rqs, platform, cpu);
        let (jiffies, hz) = (platform.jiffies(), platform.hz());
        let mut next = jiffies + u64::from(hz);
        let mut pulled = false;
        for level in rqs.domains.of(cpu) {
            if rqs.domains.level(level).params.balance_newidle {
                pulled = self.load_balance(rqs, platform, level, cpu, CpuIdleType::NewlyIdle).0;
            }
            let row = &self.base.balancing[level][cpu.index()];
            next = next.min(row.last_balance + ms_to_jiffies(row.interval_ms, hz));
            if pulled {
                self.cpu_state(cpu).idle_stamp = None;
                break;
            }
        }
        if pulled || jiffies > self.base.next_balance[cpu.index()] {
            self.base.next_balance[cpu.index()] = next;
        }
    }

    /// `load_balance`. Returns whether anything moved, and whether it was this CPU's turn.
    fn load_balance(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        level: usize,
        this: CpuId,
        idle: CpuIdleType,
    ) -> (bool, bool) {
        platform.work.balances += 1;
        self.base.candidates.reset();
        let mut env = Env {
            level,
            dst: this,
            idle,
            imbalance: 0,
            its_turn: true,
            all_pinned: false,
            other_dst: None,
            seeks_other: idle != CpuIdleType::NewlyIdle,
        };
        let (min, max) = intervals(rqs, level, this);
        let found = self.pull_from_busiest(rqs, platform, &mut env, this);
        let tries = rqs.domains.level(level).params.cache_nice_tries;
        let row = &mut self.base.balancing[level][this.index()];
        let lengthen = |interval: &mut u64, pinned: bool| {
            if (pinned && *interval < 512) || *interval < max {
                *interval *= 2;
            }
        };
        let Some((busiest, moved)) = found else {
            row.nr_failed = 0;
            lengthen(&mut row.interval_ms, env.all_pinned);
            return (false, env.its_turn);
        };
        let mut active = false;
        if moved {
            row.nr_failed = 0;
        } else {
            if idle != CpuIdleType::NewlyIdle {
                row.nr_failed += 1;
            }
            if idle != CpuIdleType::NewlyIdle && row.nr_failed > tries + 2 {
                let curr = rqs.curr(busiest);
                if rqs.is_idle_thread(curr) || !rqs.is_allowed(curr, this) {
                    lengthen(&mut row.interval_ms, true);
                    return (false, true);
                }
                active = !rqs.rqs[busiest.index()].active_balance;
                row.nr_failed = tries + 1;
            }
        }
        if !active {
            row.interval_ms = min;
        } else {
            if row.interval_ms < max {
                row.interval_ms *= 2;
            }
            let rq = &mut rqs.rqs[busiest.index()];
            rq.active_balance = true;
            rq.push_cpu = this;
            if !core::mem::replace(&mut rq.stopper_waits, true) {
                rqs.add_nr_running(busiest, 1);
            }
            rqs.resched_curr(platform, busiest);
        }
        (moved, true)
    }

    /// Finds the busiest CPU and pulls from it, or from the next one if all its tasks are pinned.
    fn pull_from_busiest(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        env: &mut Env,
        this: CpuId,
    ) -> Option<(CpuId, bool)> {
        loop {
            env.dst = this;
            platform.work.queues += rqs.domains.level(env.level).span(this).cpus.len() as u64;
            let busiest = self.find_busiest(rqs, platform, env)?;
            let mut moved = false;
            if rqs.nr_running[busiest.index()] <= 1 {
                return Some((busiest, false));
            }
            env.all_pinned = true;
            let limit = u64::from(self.base.tunables.nr_migrate)
                .min(u64::from(rqs.nr_running[busiest.index()]));
            let mut looks = 0;
            loop {
                platform.double_lock(env.dst, busiest);
                let pulled = self.move_tasks(rqs, platform, env, busiest, limit, &mut looks);
                moved |= pulled;
                if pulled && env.dst != this {
                    rqs.resched_curr(platform, env.dst);
                }
                match env.other_dst.take() {
                    Some(other) if env.imbalance > 0 => {
                        env.dst = other;
                        self.base.candidates.take_out(other);
                        looks = 0;
                    }
                    _ => break,
                }
            }
            if env.all_pinned {
                self.base.candidates.take_out(busiest);
                let any = (0..rqs.cpus())
                    .map(CpuId)
                    .any(|cpu| rqs.is_online(cpu) && self.base.candidates.contains(cpu));
                if !any {
                    return None;
                }
                continue;
            }
            return Some((busiest, moved));
        }
    }

    /// `update_h_load`: the weights of a CPU's queues as the CPU sees them, once per jiffy.
    fn update_h_load(&mut self, platform: &Platform, cpu: CpuId) {
        let now = platform.jiffies() as i64 + self.jiffies;
        if core::mem::replace(&mut self.cpu_state(cpu).h_load_at, now) == now {
            return;
        }
        let root = CfsRqId::root(cpu);
        self.base.queues[root].h_load = self.base.queues[root].load;
        for place in (0..self.base.queues_on[cpu.index()].len()).rev() {
            let (group, q) = self.base.queues_on[cpu.index()][place];
            let parent = self.base.groups[group].parent.unwrap_or(GroupId::ROOT);
            let Some(above) = self.base.queue_if_any(parent, cpu) else { continue };
            let weight =
                self.base.queues[q].entity.map_or(0, |e| self.base.entities[e].load.weight);
            let above = &self.base.queues[above];
            self.base.queues[q].h_load = above.h_load.wrapping_mul(weight) / (above.load + 1);
        }
    }

    /// `task_h_load`.
    fn task_h_load(&self, e: EntityId) -> u64 {
        let Entity { cfs_rq, load, .. } = &self.base.entities[e];
        let queue = &self.base.queues[*cfs_rq];
        load.weight.wrapping_mul(queue.h_load) / (queue.load + 1)
    }

    /// `move_tasks`. Returns whether any moved.
    fn move_tasks(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        env: &mut Env,
        busiest: CpuId,
        limit: u64,
        looks: &mut u64,
    ) -> bool {
        if env.imbalance <= 0 {
            return false;
        }
        self.update_h_load(platform, busiest);
        let rule = match env.idle {
            CpuIdleType::NotIdle => rules::PERIODIC_BUSY,
            CpuIdleType::Idle => rules::PERIODIC_IDLE,
            CpuIdleType::NewlyIdle => rules::NEWLY_IDLE,
        };
        let mut any = false;
        while let Some(&e) = self.cpus[busiest.index()].tasks.last() {
            *looks += 1;
            if *looks > limit {
                break;
            }
            let load = self.task_h_load(e) as i64;
            let light = self.base.tunables.has(Feature::LbMin)
                && load < 16
                && self.base.balancing[env.level][rqs.this_cpu.index()].nr_failed == 0;
            // (The affinity is looked at first: a task that is too heavy is not a pinned one.)
            if !self.can_migrate(rqs, env, e) || light || load / 2 > env.imbalance {
                // To the tail of the list.
                self.cpus[busiest.index()].tasks.rotate_right(1);
                continue;
            }
            self.pull(rqs, platform, e, env.dst, rule);
            any = true;
            env.imbalance -= load;
            let stops = env.idle == CpuIdleType::NewlyIdle && self.preemption.preempts_kernel();
            if stops || env.imbalance <= 0 {
                break;
            }
        }
        any
    }

    /// `can_migrate_task`.
    fn can_migrate(&self, rqs: &Rqs, env: &mut Env, e: EntityId) -> bool {
        let pid = self.base.entities[e].task();
        let queue = self.queue_of(e);
        if self.base.throttled_lb_pair(queue, env.dst) {
            return false;
        }
        if !rqs.is_allowed(pid, env.dst) {
            if env.seeks_other && env.other_dst.is_none() {
                let domain = rqs.domains.level(env.level);
                let own = domain.span(env.dst).group(domain.group_of(env.dst));
                let usable = |cpu: &&CpuId| {
                    self.base.candidates.contains(**cpu) && rqs.is_allowed(pid, **cpu)
                };
                env.other_dst = own.iter().find(usable).copied();
            }
            return false;
        }
        env.all_pinned = false;
        if rqs.is_running(pid) {
            return false;
        }
        let tries = rqs.domains.level(env.level).params.cache_nice_tries;
        let failed = self.base.balancing[env.level][rqs.this_cpu.index()].nr_failed;
        failed > tries || !self.is_hot(rqs, pid, e)
    }

    /// `task_hot`.
    fn is_hot(&self, rqs: &Rqs, pid: Pid, e: EntityId) -> bool {
        let thread = rqs.thread(pid);
        if thread.class != ClassId::Fair || thread.policy == Policy::Idle {
            return false;
        }
        let q = self.queue_of(e);
        let queue = &self.base.queues[q];
        if self.base.tunables.has(Feature::CacheHotBuddy)
            && rqs.nr_running[rqs.this_cpu.index()] > 0
            && (queue.next == Some(e) || queue.last == Some(e))
        {
            return true;
        }
        match self.base.tunables.migration_cost_ns {
            -1 => true,
            0 => false,
            cost => {
                let ran_at = self.base.entities[e].exec_start;
                (rqs.clock(queue.cpu).wrapping_sub(ran_at) as i64) < cost
            }
        }
    }

    /// `move_task`.
    fn pull(&mut self, rqs: &mut Rqs, platform: &mut Platform, e: EntityId, to: CpuId, rule: Rule) {
        let pid = self.base.entities[e].task();
        let from = rqs.cpu_of(pid);
        platform.because(Question::Migrate, to, rule, |out| {
            self.base.account_of_move(from, to, e, out);
        });
        self.move_queued(rqs, platform, pid, to);
        rqs.update_rq_clock(platform, to);
        self.enqueue(rqs, platform, pid, Enqueue::Migrated);
        self.check_preempt(rqs, platform, pid, to);
    }

    /// `check_preempt_curr` for a fair task that has come to `cpu`.
    pub(super) fn check_preempt(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        pid: Pid,
        cpu: CpuId,
    ) {
        let curr = rqs.curr(cpu);
        match rqs.thread(curr).class {
            ClassId::Idle => rqs.resched_curr(platform, cpu),
            ClassId::Fair => self.preempt_at_wakeup(rqs, platform, curr, pid, false),
            ClassId::Rt | ClassId::Deadline => {}
        }
    }

    /// `active_load_balance_cpu_stop`.
    pub(super) fn push(&mut self, rqs: &mut Rqs, platform: &mut Platform, busiest: CpuId) {
        let target = rqs.rqs[busiest.index()].push_cpu;
        if rqs.nr_running[busiest.index()] <= 1 || !rqs.is_online(target) {
            return;
        }
        let level =
            rqs.domains.of(target).find(|&level| rqs.domains.level(level).share(target, busiest));
        let Some(level) = level else { return };
        let failed = self.base.balancing[level][target.index()].nr_failed;
        let tries = rqs.domains.level(level).params.cache_nice_tries;
        for at in (0..self.cpus[busiest.index()].tasks.len()).rev() {
            let e = self.cpus[busiest.index()].tasks[at];
            let pid = self.base.entities[e].task();
            let fits = rqs.is_allowed(pid, target)
                && !rqs.is_running(pid)
                && !self.base.throttled_lb_pair(self.queue_of(e), target)
                && (failed > tries || !self.is_hot(rqs, pid, e));
            if fits {
                self.pull(rqs, platform, e, target, rules::ACTIVE_BALANCE);
                return;
            }
        }
    }
}
