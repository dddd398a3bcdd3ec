//! The spine of the algorithm: place, pick, preempt. (Charging is
//! [`update_curr`](Cfs::update_curr), in [`cfs_rq`](super::cfs_rq).)

use super::Cfs;
use super::entity::{before, fair, max_vruntime};
use super::releases::{Buddies, Feature, GranRule};
use crate::classes::rbtree::NIL;
use crate::classes::{Challenge, Class, ClassId, Dequeue, Enqueue, Pid, Rqs, Select};
use schedlab_core::{CpuId, Parent, Platform, Policy};

/// How a running entity stands to one that wants its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Standing {
    /// It has had no more than the other.
    Behind,
    /// It has had more, but not by the granularity.
    Near,
    /// It has had more by the granularity.
    FarAhead,
}

impl Cfs {
    /// `place_entity`: where a newcomer or a waking sleeper starts.
    ///
    /// A newcomer starts a slice after the floor, as if it had just had a turn. A sleeper starts at
    /// most half a latency before it (a whole one before 2.6.32): that gets it the CPU soon,
    /// without letting it claim all the time it has slept. Nobody gains by sleeping for a moment: a
    /// sleeper that is further on than that stays where it is.
    #[inline]
    pub(super) fn place_entity(&mut self, q: u32, e: u32, initial: bool) {
        let mut vruntime = self.queues[q as usize].min_vruntime;
        if initial {
            if self.tunables.has(Feature::StartDebit) {
                vruntime = vruntime.wrapping_add(self.vslice(e));
            }
        } else {
            vruntime = vruntime.wrapping_sub(self.sleeper_credit(e));
        }
        let entity = &mut self.entities[e as usize];
        entity.vruntime = if initial && self.version.place.initial_is_exact {
            vruntime
        } else {
            max_vruntime(entity.vruntime, vruntime)
        };
    }

    /// How far behind the floor a sleeper is placed, virtual ns.
    #[inline]
    fn sleeper_credit(&self, e: u32) -> u64 {
        let entity = &self.entities[e as usize];
        let tunables = &self.tunables;
        let on = tunables.has(Feature::FairSleepers) || tunables.has(Feature::NewFairSleepers);
        if !on || !(entity.is_task() || self.version.place.groups_get_credit) {
            return 0;
        }
        let mut credit = tunables.latency_ns;
        if tunables.has(Feature::NormalizedSleeper)
            && (!entity.is_idle_policy || self.version.place.normalize_idle_too)
        {
            credit = fair(credit, entity.load);
        }
        if tunables.has(Feature::GentleFairSleepers) {
            credit >>= 1;
        }
        credit
    }

    /// `check_preempt_tick`: is the turn of the running entity over?
    ///
    /// The second test compares a signed difference with an unsigned slice: on 64-bit machines an
    /// entity that is still *behind* the leftmost one passes it, at every tick, as if it were far
    /// ahead. It is then usually picked again, and its turn counts from there.
    #[inline]
    fn check_preempt_tick(&mut self, rqs: &mut Rqs, platform: &mut Platform, q: u32, curr: u32) {
        let cpu = self.queues[q as usize].cpu;
        let ideal = self.slice(curr);
        let entity = &self.entities[curr as usize];
        let ran = entity.sum_exec - entity.prev_sum_exec;
        if ran > ideal {
            rqs.resched_curr(platform, cpu);
            if self.version.tick_clears_buddies {
                self.clear_buddies(curr);
            }
            return;
        }
        if !self.version.tick_compares_leftmost
            || !self.tunables.has(Feature::WakeupPreempt)
            || ran < self.tunables.min_granularity_ns
        {
            return;
        }
        let queue = &self.queues[q as usize];
        if queue.nr_running > 1
            && let Some(leftmost) = queue.timeline.leftmost_vruntime()
            && entity.vruntime.wrapping_sub(leftmost) > ideal
        {
            rqs.resched_curr(platform, cpu);
        }
    }

    /// `wakeup_gran`: by how much `running` must be ahead of `woken` to be preempted, virtual ns.
    #[inline]
    fn wakeup_gran(&self, running: u32, woken: u32) -> u64 {
        let limit = self.tunables.wakeup_granularity_ns;
        let (r, w) = (&self.entities[running as usize], &self.entities[woken as usize]);
        match self.version.gran {
            GranRule::OfRunning => fair(limit, r.load),
            GranRule::OfHeavyRunning if r.load.weight > 1024 => fair(limit, r.load),
            GranRule::OfHeavyRunning => limit,
            GranRule::Adaptive => {
                let queue = &self.queues[w.cfs_rq as usize];
                let mut gran = limit;
                // (True at wakeups, false inside the pick.)
                if self.queues[r.cfs_rq as usize].curr != NIL
                    && self.tunables.has(Feature::AdaptiveGran)
                {
                    let ran = r.sum_exec.wrapping_sub(r.prev_sum_exec);
                    let wanted = 2u64
                        .wrapping_mul(w.averages.avg_wakeup)
                        .wrapping_mul(u64::from(queue.nr_running));
                    gran = wanted.saturating_sub(ran).min(limit);
                }
                fair(gran, if self.tunables.has(Feature::AsymGran) { w.load } else { r.load })
            }
        }
    }

    /// `wakeup_preempt_entity`. Both are in one queue.
    #[inline]
    pub(super) fn standing(&self, running: u32, woken: u32) -> Standing {
        let running_vruntime = self.entities[running as usize].vruntime;
        let woken_vruntime = self.entities[woken as usize].vruntime;
        let ahead = running_vruntime.wrapping_sub(woken_vruntime) as i64;
        if ahead <= 0 {
            return Standing::Behind;
        }
        // The granularity is at most some seconds times 1024.
        if ahead > self.wakeup_gran(running, woken) as i64 {
            Standing::FarAhead
        } else {
            Standing::Near
        }
    }

    /// Whether a woken entity preempts a running one of the same queue.
    #[inline]
    fn preempts(&self, running: u32, woken: u32) -> bool {
        if self.version.gran == GranRule::OfRunning {
            // 2.6.24 compares as unsigned, and virtual time begins just below 2^64.
            let limit = self.entities[woken as usize]
                .vruntime
                .wrapping_add(self.wakeup_gran(running, woken));
            return limit < self.entities[running as usize].vruntime;
        }
        self.standing(running, woken) == Standing::FarAhead
    }

    /// `find_matching_se`: lifts two entities to the level at which they, or groups they are in,
    /// sit in the same queue.
    #[inline]
    fn common_level(&self, mut a: u32, mut b: u32) -> (u32, u32) {
        let depth = |e: u32| self.entities[e as usize].depth;
        while depth(a) > depth(b) {
            a = self.entities[a as usize].parent;
        }
        while depth(b) > depth(a) {
            b = self.entities[b as usize].parent;
        }
        while self.entities[a as usize].cfs_rq != self.entities[b as usize].cfs_rq {
            a = self.entities[a as usize].parent;
            b = self.entities[b as usize].parent;
        }
        (a, b)
    }

    /// Nominates `e` and the groups it is in, to be picked before the leftmost.
    fn nominate(&mut self, mut e: u32, last: bool) {
        if self.entities[e as usize].is_idle_policy {
            return;
        }
        while e != NIL {
            let entity = &self.entities[e as usize];
            let queue = &mut self.queues[entity.cfs_rq as usize];
            if last {
                queue.last = e;
            } else {
                queue.next = e;
            }
            e = entity.parent;
        }
    }

    /// `check_preempt_wakeup`: `pid` is new on a CPU that runs a fair task.
    #[inline]
    fn check_preempt_wakeup(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        pid: Pid,
        challenge: Challenge,
    ) {
        let curr_pid = rqs.curr(cpu);
        let curr = self.entity_of(curr_pid);
        let q = self.entities[curr as usize].cfs_rq;
        let many = u64::from(self.queues[q as usize].nr_running) >= self.tunables.nr_latency;
        self.update_curr(rqs, platform, q);
        match rqs.thread(pid).class {
            ClassId::Rt | ClassId::Deadline => {
                rqs.resched_curr(platform, cpu);
                return;
            }
            ClassId::Idle => return,
            ClassId::Fair => {}
        }
        let woken = self.entity_of(pid);
        if pid == curr_pid || self.is_held_back_in(self.entities[woken as usize].cfs_rq) {
            return;
        }
        match self.version.buddies {
            Buddies::EveryWakeup => {
                self.nominate(curr, true);
                self.nominate(woken, false);
            }
            Buddies::Preempted
                if many
                    && challenge != Challenge::Fork
                    && self.tunables.has(Feature::NextBuddy) =>
            {
                self.nominate(woken, false);
            }
            Buddies::Preempted | Buddies::None => {}
        }
        if self.version.checks_pending && rqs.resched_pending(cpu) {
            return;
        }
        let policies = [curr_pid, pid].map(|pid| rqs.thread(pid).policy);
        let sync = challenge == Challenge::Wakeup { sync: true }
            && self.tunables.has(Feature::SyncWakeups);
        let verdict =
            self.verdict_by_policy(policies).or_else(|| self.verdict_by_feature(curr, woken, sync));
        if verdict.unwrap_or_else(|| self.preempts_at_common_level(curr, woken, many)) {
            rqs.resched_curr(platform, cpu);
        }
    }

    /// Whether the running task's policy and the woken one's alone decide.
    #[inline]
    fn verdict_by_policy(&self, [running, woken]: [Policy; 2]) -> Option<bool> {
        match woken {
            Policy::Batch => Some(false),
            Policy::Idle if self.version.idle_policy_never_preempts => Some(false),
            _ if running == Policy::Idle && self.version.idle_policy_gives_way => Some(true),
            _ => None,
        }
    }

    /// Whether a feature decides, without a look at virtual times.
    #[inline]
    fn verdict_by_feature(&mut self, curr: u32, woken: u32, sync: bool) -> Option<bool> {
        let tunables = &self.tunables;
        let [a, b] = [curr, woken].map(|e| &self.entities[e as usize].averages);
        let brief = |ns: u64| (ns as i64) < tunables.migration_cost_ns;
        if (tunables.has(Feature::WakeupSync) && sync)
            || (tunables.has(Feature::WakeupOverlap)
                && brief(a.avg_overlap)
                && brief(b.avg_overlap))
        {
            return Some(true);
        }
        if tunables.has(Feature::WakeupRunning) && b.avg_running < a.avg_running {
            self.nominate(woken, false);
            return Some(true);
        }
        (!self.tunables.has(Feature::WakeupPreempt)).then_some(false)
    }

    /// Compares virtual times where the two, or groups they are in, compete with each other. A task
    /// that is so preempted is nominated: it may go on before the leftmost, if there are many.
    #[inline]
    fn preempts_at_common_level(&mut self, curr: u32, woken: u32, many: bool) -> bool {
        let (mut running, mut challenger) = self.common_level(curr, woken);
        while !self.preempts(running, challenger) {
            running = self.entities[running as usize].parent;
            challenger = self.entities[challenger as usize].parent;
            if !self.version.tries_levels_upward || running == NIL {
                return false;
            }
        }
        let entity = &self.entities[running as usize];
        if self.version.buddies == Buddies::Preempted
            && self.tunables.has(Feature::LastBuddy)
            && many
            && entity.on_rq
            && entity.is_task()
        {
            self.nominate(running, true);
        }
        true
    }

    /// `pick_next_entity`: the leftmost, unless a buddy is not too far ahead of it.
    #[inline]
    fn pick_next_entity(&mut self, q: u32) -> u32 {
        let queue = &self.queues[q as usize];
        let left = queue.timeline.leftmost();
        let near = |buddy: u32| buddy != NIL && self.standing(buddy, left) != Standing::FarAhead;
        let picked = match self.version.buddies {
            Buddies::None => left,
            Buddies::EveryWakeup if near(queue.next) => queue.next,
            Buddies::EveryWakeup | Buddies::Preempted if near(queue.last) => queue.last,
            Buddies::Preempted if near(queue.next) => queue.next,
            _ => left,
        };
        self.clear_buddies(picked);
        picked
    }

    /// `set_next_entity`: from now on `e` runs, as far as its queue is concerned.
    #[inline]
    fn set_next_entity(&mut self, rqs: &Rqs, q: u32, e: u32) {
        if self.entities[e as usize].on_rq {
            self.timeline_remove(q, e);
        }
        let clock = rqs.clock(self.queues[q as usize].cpu);
        let entity = &mut self.entities[e as usize];
        entity.exec_start = clock;
        entity.prev_sum_exec = entity.sum_exec;
        self.queues[q as usize].curr = e;
    }

    /// `check_preempt_curr` by the class of whatever runs on `cpu`, for a fair task that comes
    /// there.
    pub(super) fn challenge_curr(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        pid: Pid,
        challenge: Challenge,
    ) {
        match rqs.thread(rqs.curr(cpu)).class {
            ClassId::Fair => self.check_preempt_wakeup(rqs, platform, cpu, pid, challenge),
            ClassId::Idle => rqs.resched_curr(platform, cpu),
            // The classes above never give way to a fair task.
            ClassId::Rt | ClassId::Deadline => {}
        }
    }
}

impl Class for super::Cfs {
    /// `enqueue_task_fair`: up through the groups, as far as they were not queued
    /// ([`join`](Cfs::join)). A group that becomes runnable is placed like a waking sleeper, even
    /// if its task is new or comes from elsewhere.
    #[inline]
    fn enqueue_task(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        pid: Pid,
        why: Enqueue,
    ) {
        let e = self.entity_of(pid);
        let wakeup = why == Enqueue::Wakeup;
        if wakeup {
            self.entities[e as usize].averages.start_runtime = self.total_exec(rqs, e);
            if self.version.interactive {
                self.note_wakeup(rqs, pid);
            }
        }
        self.join(rqs, platform, e, 1, wakeup);
        self.hrtick_update(rqs, platform, cpu);
    }

    /// `dequeue_task_fair`: up through the groups, as far as they have nothing else to run
    /// ([`leave`](Cfs::leave)).
    #[inline]
    fn dequeue_task(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        pid: Pid,
        _: Dequeue,
    ) -> bool {
        self.leave(rqs, platform, self.entity_of(pid), 1);
        self.hrtick_update(rqs, platform, cpu);
        true
    }

    /// `yield_task_fair`: almost nothing. The task is charged, and goes back to where its virtual
    /// time puts it; it may well be picked again at once.
    fn yield_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, _cpu: CpuId, pid: Pid) {
        let e = self.entity_of(pid);
        let q = self.entities[e as usize].cfs_rq;
        if self.queues[q as usize].nr_running == 1 {
            return;
        }
        self.clear_buddies(e);
        if !self.tunables.compat_yield && rqs.thread(pid).policy != Policy::Batch {
            self.update_curr(rqs, platform, q);
            return;
        }
        let Some(last) = self.queues[q as usize].timeline.rightmost_vruntime() else {
            return;
        };
        let entity = &mut self.entities[e as usize];
        if !before(last, entity.vruntime) {
            // The time since the last charge comes on top, when it is put back.
            entity.vruntime = last.wrapping_add(1);
        }
    }

    #[inline]
    fn check_preempt_curr(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        pid: Pid,
        challenge: Challenge,
    ) {
        self.check_preempt_wakeup(rqs, platform, cpu, pid, challenge);
    }

    /// `pick_next_task_fair`: from the root queue down through the groups until a task is reached.
    #[inline]
    fn pick_next_task(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
    ) -> Option<Pid> {
        let mut q = cpu.0;
        if self.queues[q as usize].nr_running == 0 {
            return None;
        }
        loop {
            let e = self.pick_next_entity(q);
            platform.work.tree(self.queues[q as usize].nr_running);
            self.set_next_entity(rqs, q, e);
            q = self.entities[e as usize].my_q;
            if q == NIL {
                let pid = self.entities[e as usize].pid;
                self.hrtick_start(rqs, platform, cpu, pid);
                return Some(pid);
            }
        }
    }

    /// `put_prev_task_fair`: from the task up. Each level is charged when it is put, and throttled
    /// if it has run out of quota.
    #[inline]
    fn put_prev_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId, pid: Pid) {
        self.hrtick_clear(platform, cpu);
        let mut e = self.entity_of(pid);
        while e != NIL {
            let q = self.entities[e as usize].cfs_rq;
            let waits = self.entities[e as usize].on_rq;
            if waits {
                self.update_curr(rqs, platform, q);
            }
            self.check_runtime(rqs, platform, q);
            if waits {
                platform.work.tree(self.queues[q as usize].nr_running);
                self.timeline_insert(q, e);
            }
            self.queues[q as usize].curr = NIL;
            e = self.entities[e as usize].parent;
        }
    }

    /// `set_curr_task_fair`.
    fn set_curr_task(&mut self, rqs: &mut Rqs, _: &mut Platform, _cpu: CpuId, pid: Pid) {
        let mut e = self.entity_of(pid);
        while e != NIL {
            let q = self.entities[e as usize].cfs_rq;
            self.set_next_entity(rqs, q, e);
            e = self.entities[e as usize].parent;
        }
    }

    #[inline]
    fn select_task_rq(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        pid: Pid,
        select: Select,
    ) -> CpuId {
        match select {
            Select::Wakeup { sync } => self.select_for_wakeup(rqs, platform, pid, sync),
            Select::Fork => self.select_for_fork(rqs, pid),
        }
    }

    /// `task_tick_fair`: every level is charged and looked at.
    #[inline]
    fn task_tick(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId, pid: Pid) {
        let by_timer = self.hrtick_replaces_tick(cpu);
        let mut e = self.entity_of(pid);
        while e != NIL {
            let q = self.entities[e as usize].cfs_rq;
            self.update_curr(rqs, platform, q);
            let alone = self.queues[q as usize].nr_running <= 1;
            if !by_timer && (!alone || !self.tunables.has(Feature::WakeupPreempt)) {
                self.check_preempt_tick(rqs, platform, q, e);
            }
            e = self.entities[e as usize].parent;
        }
    }

    /// `task_new_fair`: a child starts where the running task is, or a slice after the floor,
    /// whichever is later.
    fn task_new(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        pid: Pid,
        parent: Parent,
    ) {
        let e = self.entity_of(pid);
        let q = self.entities[e as usize].cfs_rq;
        self.update_curr(rqs, platform, q);
        let curr = self.queues[q as usize].curr;
        if curr != NIL {
            self.entities[e as usize].vruntime = self.entities[curr as usize].vruntime;
        }
        self.place_entity(q, e, true);
        let with_parent = match parent {
            Parent::External => true,
            Parent::Task { cpu: parent_cpu, .. } => parent_cpu == cpu,
        };
        if self.tunables.child_runs_first && with_parent && curr != NIL {
            let child = self.entities[e as usize].vruntime;
            let running = self.entities[curr as usize].vruntime;
            if before(running, child) {
                self.entities[e as usize].vruntime = running;
                self.entities[curr as usize].vruntime = child;
                rqs.resched_curr(platform, cpu);
            }
        }
        self.enqueue_task(rqs, platform, cpu, pid, Enqueue::New);
        if self.version.resched_after_fork {
            rqs.resched_curr(platform, cpu);
        }
    }

    fn switched_to(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId, pid: Pid) {
        if rqs.curr(cpu) == pid {
            rqs.resched_curr(platform, cpu);
        } else {
            self.challenge_curr(rqs, platform, cpu, pid, Challenge::Other);
        }
    }

    fn prio_changed(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        pid: Pid,
        old_prio: i16,
    ) {
        if rqs.curr(cpu) != pid {
            self.challenge_curr(rqs, platform, cpu, pid, Challenge::Other);
        } else if rqs.thread(pid).prio > old_prio {
            rqs.resched_curr(platform, cpu);
        }
    }
}
