//! Linux 2.6.23: the first CFS, whose algorithm is another one.
//!
//! # The algorithm
//!
//! There is no vruntime. A queue has a **fair clock**, which runs at the speed at which an ideal
//! machine would serve a nice-0 task: with total weight W, `1024 / W` of the real clock. An entity
//! has a **wait_runtime**: what the ideal machine still owes it, in ns of CPU time. It grows while
//! the entity waits and shrinks while it runs (by what it got beyond its share). Its key in the
//! tree is
//!
//! ```text
//! fair_key = fair_clock - wait_runtime        (by weight, if it is not nice 0)
//! ```
//!
//! and the smallest key runs. The running entity **stays in the tree**; each tick takes it out and
//! puts it back at its new key. `wait_runtime` is kept within plus and minus `runtime_limit`.
//!
//! A **sleeper** is owed the time that it slept, on the fair clock, as if it had waited. What is
//! given so is noted as `sleeper_bonus`, and taken bit by bit from those that run.
//!
//! # Cost
//!
//! The tick costs a removal and an insertion; everything else as in later releases.
//!
//! # What is not here
//!
//! One CPU only, and no groups (they had no user interface). Feature bits other than
//! `FAIR_SLEEPERS` and `START_DEBIT` (those with a fixed value: `SLEEPER_AVG` off,
//! `SLEEPER_LOAD_AVG` and `PRECISE_CPU_LOAD` on without effect then, `SKIP_INITIAL` off) and
//! `sched_stat_granularity_ns` (0) cannot be changed.

use super::entity::{Load, inverse, scale};
use super::releases::InverseRule;
use super::tunables::boot_factor;
use crate::classes::rbtree::{NIL, Nodes, Root};
use crate::classes::rt::{RealTime, RtVersion};
use crate::classes::weights::NICE_0_LOAD;
use crate::classes::{
    Challenge, Class, ClassId, ClassList, Dequeue, Enqueue, FairClass, NoClass, Pid, Rqs, Select,
};
use alloc::string::String;
use alloc::vec::Vec;
use schedlab_core::Load as Workload;
use schedlab_core::index::TypedIndex;
use schedlab_core::{
    BuildConfig, CpuId, Parent, Platform, Policy, Promises, SchedAttr, TaskAttr, Tunable,
    TunableError,
};

/// log2 of [`NICE_0_LOAD`].
const NICE_0_SHIFT: u32 = 10;
/// Inverses are 2^32 / weight.
const WMULT_SHIFT: u32 = 32;

/// `sched_entity`, of a task.
#[derive(Clone, Copy, Debug)]
struct Entity {
    load: Load,
    /// Place in the tree, as of when it was last put there.
    fair_key: u64,
    /// What the ideal machine owes it, ns.
    wait_runtime: i64,
    /// The fair clock when it began to wait; 0 = it does not wait.
    wait_start_fair: u64,
    /// The fair clock when it fell asleep; 0 = it does not sleep.
    sleep_start_fair: u64,
    /// Clock when last charged or picked, ns.
    exec_start: u64,
    sum_exec: u64,
    /// `sum_exec` when it was last picked.
    prev_sum_exec: u64,
    address_space: u32,
    on_rq: bool,
}

impl Default for Entity {
    fn default() -> Entity {
        Entity {
            load: Load { weight: u64::from(NICE_0_LOAD), inverse: 1 << 22 },
            fair_key: 0,
            wait_runtime: 0,
            wait_start_fair: 0,
            sleep_start_fair: 0,
            exec_start: 0,
            sum_exec: 0,
            prev_sum_exec: 0,
            address_space: 0,
            on_rq: false,
        }
    }
}

/// The tunables.
#[derive(Clone, Copy, Debug)]
struct Tunables {
    latency_ns: u64,
    min_granularity_ns: u64,
    /// Does not follow a minimal granularity that is set later.
    wakeup_granularity_ns: u64,
    batch_wakeup_granularity_ns: u64,
    /// Follows the latency.
    runtime_limit_ns: u64,
    child_runs_first: bool,
    compat_yield: bool,
    fair_sleepers: bool,
    start_debit: bool,
}

impl Tunables {
    fn at_boot(cpus: u32) -> Tunables {
        const CAP_NS: u64 = 100_000_000;
        let factor = boot_factor(cpus);
        let latency_ns = (20_000_000 * factor).min(CAP_NS);
        let min_granularity_ns = (2_000_000 * factor).min(CAP_NS);
        Tunables {
            latency_ns,
            min_granularity_ns,
            wakeup_granularity_ns: min_granularity_ns / 2,
            batch_wakeup_granularity_ns: 25_000_000,
            runtime_limit_ns: latency_ns,
            child_runs_first: true,
            compat_yield: false,
            fair_sleepers: true,
            start_debit: true,
        }
    }
}

schedlab_core::define_index! {
    /// An entity in the timeline, by the number of its thread.
    struct TreeNode;
}

/// The fair class of 2.6.23 on its one CPU.
#[derive(Clone, Debug)]
pub struct WaitRuntime {
    tunables: Tunables,
    /// By [`Pid`].
    entities: Vec<Entity>,
    nodes: Nodes<TreeNode>,
    /// All queued entities, the running one included.
    timeline: Root<TreeNode>,
    /// The running entity, [`NIL`] if none.
    curr: u32,
    nr_running: u64,
    /// Sum of the weights.
    load: u64,
    /// How far the ideal machine has got, ns.
    fair_clock: u64,
    /// What sleepers were given and runners have yet to pay for, ns.
    sleeper_bonus: u64,
}

/// 2.6.23 with its classes.
pub fn core_2_6(config: &BuildConfig) -> ClassList<WaitRuntime> {
    let rqs = Rqs::new(super::domains(&config.topology));
    ClassList {
        deadline: NoClass,
        rt: RealTime::new(RtVersion::V2_6_23, rqs.cpus(), config.hz),
        fair: WaitRuntime::new(rqs.cpus()),
        core: rqs,
    }
}

impl WaitRuntime {
    /// The class with nothing to run.
    pub fn new(cpus: u32) -> WaitRuntime {
        WaitRuntime {
            tunables: Tunables::at_boot(cpus),
            entities: alloc::vec![Entity::default(); 2 * cpus as usize],
            nodes: Nodes::new(),
            timeline: Root::default(),
            curr: NIL,
            nr_running: 0,
            load: 0,
            // Not 0, which stands for "never".
            fair_clock: 1,
            sleeper_bonus: 0,
        }
    }

    fn entity(&mut self, e: u32) -> &mut Entity {
        &mut self.entities[e as usize]
    }

    /// Adds to what an entity is owed, within the limit. What was really added.
    fn add_wait_runtime(&mut self, e: u32, delta: i64) -> i64 {
        let limit = self.tunables.runtime_limit_ns as i64;
        let wait_runtime = &mut self.entity(e).wait_runtime;
        let before = *wait_runtime;
        *wait_runtime = (before + delta).clamp(-limit, limit);
        *wait_runtime - before
    }

    /// A span of fair-clock time as an entity's own: at most two limits, by weight.
    fn weighted(&self, e: u32, fair_span: u64) -> i64 {
        let span = fair_span.min(2 * self.tunables.runtime_limit_ns);
        ((span * self.entities[e as usize].load.weight) >> NICE_0_SHIFT) as i64
    }

    /// `update_curr`: charges the running entity. It was due `mine` of the time that has passed and
    /// got all of it.
    fn update_curr(&mut self, rqs: &Rqs, cpu: CpuId) {
        let curr = self.curr;
        if curr == NIL {
            return;
        }
        let clock = rqs.clock(cpu);
        let entity = self.entity(curr);
        let delta = clock.wrapping_sub(entity.exec_start);
        entity.exec_start = clock;
        entity.sum_exec += delta;
        let weight = entity.load.weight;
        if delta == 0 || self.load == 0 {
            return;
        }
        let inverse = inverse(self.load, InverseRule::OfSame);
        let delta_fair = scale(delta, u64::from(NICE_0_LOAD), inverse);
        let mut mine = scale(delta, weight, inverse);
        if self.sleeper_bonus > self.tunables.min_granularity_ns {
            let room =
                self.tunables.runtime_limit_ns as i64 - self.entities[curr as usize].wait_runtime;
            let paid = mine.min(self.sleeper_bonus).min(room as u64);
            self.sleeper_bonus -= paid;
            mine -= paid;
        }
        self.fair_clock = self.fair_clock.wrapping_add(delta_fair);
        self.add_wait_runtime(curr, mine.wrapping_sub(delta) as i64);
    }

    /// `update_stats_wait_end`: the entity waits no longer, and is owed for it.
    fn wait_end(&mut self, e: u32) {
        let start = core::mem::take(&mut self.entity(e).wait_start_fair);
        if start != 0 {
            let owed = self.weighted(e, self.fair_clock.wrapping_sub(start));
            self.add_wait_runtime(e, owed);
        }
    }

    /// `enqueue_sleeper`: it is owed for its sleep too, unless runners have enough to pay for.
    fn enqueue_sleeper(&mut self, e: u32) {
        let start = core::mem::take(&mut self.entity(e).sleep_start_fair);
        if start == 0 || self.sleeper_bonus > self.tunables.runtime_limit_ns {
            return;
        }
        let owed = self.weighted(e, self.fair_clock.wrapping_sub(start));
        let added = self.add_wait_runtime(e, owed);
        self.sleeper_bonus = self.sleeper_bonus.wrapping_add(added as u64);
    }

    /// The key at which an entity belongs now.
    fn fair_key(&self, e: u32) -> u64 {
        let Entity { load, wait_runtime, .. } = self.entities[e as usize];
        if load.weight == u64::from(NICE_0_LOAD) {
            return self.fair_clock.wrapping_sub(wait_runtime as u64);
        }
        let owed =
            wait_runtime.unsigned_abs().wrapping_mul(load.inverse) >> (WMULT_SHIFT - NICE_0_SHIFT);
        if wait_runtime < 0 {
            self.fair_clock.wrapping_add(owed)
        } else {
            self.fair_clock.wrapping_sub(owed)
        }
    }

    fn timeline_insert(&mut self, e: u32, key: u64) {
        let entity = self.entity(e);
        entity.fair_key = key;
        entity.on_rq = true;
        self.load += self.entities[e as usize].load.weight;
        self.nr_running += 1;
        self.nodes.insert(&mut self.timeline, TreeNode::new(e as usize), key);
    }

    fn timeline_remove(&mut self, e: u32) {
        self.nodes.remove(&mut self.timeline, TreeNode::new(e as usize));
        self.entity(e).on_rq = false;
        self.load -= self.entities[e as usize].load.weight;
        self.nr_running -= 1;
    }

    /// `enqueue_entity`.
    fn enqueue_entity(&mut self, rqs: &Rqs, cpu: CpuId, e: u32, wakeup: bool) {
        self.update_curr(rqs, cpu);
        let is_batch = rqs.thread(Pid(e)).policy == Policy::Batch;
        if wakeup && self.tunables.fair_sleepers && !is_batch {
            self.enqueue_sleeper(e);
        }
        if e != self.curr {
            let now = self.fair_clock;
            self.entity(e).wait_start_fair = now;
        }
        let key = self.fair_key(e);
        self.timeline_insert(e, key);
    }

    /// `dequeue_entity`.
    fn dequeue_entity(&mut self, rqs: &Rqs, cpu: CpuId, e: u32, sleep: bool) {
        self.update_curr(rqs, cpu);
        if e != self.curr {
            self.wait_end(e);
        }
        if sleep {
            let now = self.fair_clock;
            self.entity(e).sleep_start_fair = now;
        }
        self.timeline_remove(e);
    }

    /// `sched_granularity`: how far the running entity may get ahead, the less the more there are.
    fn granularity(&self) -> u64 {
        let mut gran = self.tunables.latency_ns;
        if self.nr_running > 1 {
            gran /= self.nr_running;
            gran -= gran / self.nr_running;
        }
        gran.max(self.tunables.min_granularity_ns)
    }

    /// `niced_granularity`: the granularity by the running entity's weight.
    fn niced(&self, e: u32, gran: u64) -> u64 {
        let load = self.entities[e as usize].load;
        match load.weight.cmp(&u64::from(NICE_0_LOAD)) {
            core::cmp::Ordering::Equal => gran,
            core::cmp::Ordering::Less => (load.weight * gran) >> NICE_0_SHIFT,
            core::cmp::Ordering::Greater => {
                load.inverse.wrapping_mul(gran) >> (WMULT_SHIFT - NICE_0_SHIFT)
            }
        }
    }

    /// `__check_preempt_curr_fair`: whether the running entity is ahead of `e` by more than `gran`.
    /// One that has run for more than its part of the latency has no margin left.
    fn is_preempted_by(&self, e: u32, gran: u64) -> bool {
        let curr = &self.entities[self.curr as usize];
        let ideal = (self.tunables.latency_ns / self.nr_running.max(1))
            .max(self.tunables.min_granularity_ns);
        let gran = if curr.sum_exec - curr.prev_sum_exec > ideal { 0 } else { gran };
        let ahead = curr.fair_key.wrapping_sub(self.entities[e as usize].fair_key) as i64;
        ahead > self.niced(self.curr, gran) as i64
    }
}

impl Class for WaitRuntime {
    fn enqueue_task(
        &mut self,
        rqs: &mut Rqs,
        _: &mut Platform,
        cpu: CpuId,
        pid: Pid,
        why: Enqueue,
    ) {
        self.enqueue_entity(rqs, cpu, pid.0, why == Enqueue::Wakeup);
        rqs.add_nr_running(cpu, 1);
    }

    fn dequeue_task(
        &mut self,
        rqs: &mut Rqs,
        _: &mut Platform,
        cpu: CpuId,
        pid: Pid,
        why: Dequeue,
    ) -> bool {
        self.dequeue_entity(rqs, cpu, pid.0, why == Dequeue::Sleep);
        rqs.sub_nr_running(cpu, 1);
        true
    }

    fn yield_task(&mut self, rqs: &mut Rqs, _: &mut Platform, cpu: CpuId, pid: Pid) {
        if !self.tunables.compat_yield {
            self.dequeue_entity(rqs, cpu, pid.0, false);
            self.enqueue_entity(rqs, cpu, pid.0, false);
            return;
        }
        let Some(rightmost) = self.timeline.rightmost() else {
            return;
        };
        if rightmost.index() == pid.index() {
            return;
        }
        self.update_curr(rqs, cpu);
        let key = self.nodes.key(rightmost).wrapping_add(1);
        self.timeline_remove(pid.0);
        self.timeline_insert(pid.0, key);
    }

    fn check_preempt_curr(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        pid: Pid,
        _: Challenge,
    ) {
        let thread = rqs.thread(pid);
        if thread.class == ClassId::Rt {
            self.update_curr(rqs, cpu);
            rqs.resched_curr(platform, cpu);
            return;
        }
        let gran = if thread.policy == Policy::Batch {
            self.tunables.batch_wakeup_granularity_ns
        } else {
            self.tunables.wakeup_granularity_ns
        };
        if pid.0 != self.curr && self.is_preempted_by(pid.0, gran) {
            rqs.resched_curr(platform, cpu);
        }
    }

    fn pick_next_task(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
    ) -> Option<Pid> {
        let e = self.timeline.leftmost().map_or(NIL, |first| first.index() as u32);
        if e == NIL {
            return None;
        }
        self.set_curr_task(rqs, platform, cpu, Pid(e));
        Some(Pid(e))
    }

    fn put_prev_task(&mut self, rqs: &mut Rqs, _: &mut Platform, cpu: CpuId, pid: Pid) {
        if self.entities[pid.index()].on_rq {
            self.update_curr(rqs, cpu);
            let now = self.fair_clock;
            self.entity(pid.0).wait_start_fair = now;
        }
        self.curr = NIL;
    }

    fn set_curr_task(&mut self, rqs: &mut Rqs, _: &mut Platform, cpu: CpuId, pid: Pid) {
        self.wait_end(pid.0);
        let clock = rqs.clock(cpu);
        let entity = self.entity(pid.0);
        entity.exec_start = clock;
        entity.prev_sum_exec = entity.sum_exec;
        self.curr = pid.0;
    }

    fn select_task_rq(&mut self, rqs: &mut Rqs, _: &mut Platform, pid: Pid, _: Select) -> CpuId {
        rqs.cpu_of(pid)
    }

    fn task_tick(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId, pid: Pid) {
        self.dequeue_entity(rqs, cpu, pid.0, false);
        self.enqueue_entity(rqs, cpu, pid.0, false);
        let first = self.timeline.leftmost().map_or(NIL, |first| first.index() as u32);
        if first != pid.0 && self.is_preempted_by(first, self.granularity()) {
            rqs.resched_curr(platform, cpu);
        }
    }

    /// With `sched_child_runs_first` a child that shares nothing with its parent goes just ahead of
    /// the running task, and then owes half a granularity.
    fn task_new(&mut self, rqs: &mut Rqs, _: &mut Platform, cpu: CpuId, pid: Pid, parent: Parent) {
        let first = match parent {
            Parent::External => false,
            Parent::Task { task, cpu: parent_cpu } => {
                let parent = rqs.pid(task);
                let shares = self.entities[parent.index()].address_space
                    == self.entities[pid.index()].address_space;
                self.tunables.child_runs_first && parent_cpu == cpu && !shares && self.curr != NIL
            }
        };
        rqs.add_nr_running(cpu, 1);
        if !first {
            self.enqueue_entity(rqs, cpu, pid.0, false);
            return;
        }
        self.update_curr(rqs, cpu);
        let now = self.fair_clock;
        self.entity(pid.0).wait_start_fair = now;
        let gran = self.granularity();
        let key = self.entities[self.curr as usize]
            .fair_key
            .wrapping_sub(self.niced(self.curr, gran))
            .wrapping_sub(1);
        if self.tunables.start_debit {
            self.entity(pid.0).wait_runtime = -((gran / 2) as i64);
        }
        self.timeline_insert(pid.0, key);
    }

    fn switched_to(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId, pid: Pid) {
        self.prio_changed(rqs, platform, cpu, pid, i16::MIN);
    }

    fn prio_changed(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        pid: Pid,
        old_prio: i16,
    ) {
        let curr = rqs.curr(cpu);
        if curr == pid {
            if rqs.thread(pid).prio > old_prio {
                rqs.resched_curr(platform, cpu);
            }
            return;
        }
        match rqs.thread(curr).class {
            ClassId::Fair => self.check_preempt_curr(rqs, platform, cpu, pid, Challenge::Other),
            ClassId::Idle => rqs.resched_curr(platform, cpu),
            ClassId::Rt | ClassId::Deadline => {}
        }
    }
}

impl FairClass for WaitRuntime {
    fn thread_born(&mut self, rqs: &Rqs, pid: Pid, attr: &TaskAttr, _parent: Parent) {
        if self.entities.len() <= pid.index() {
            self.entities.resize(rqs.threads.len(), Entity::default());
            self.nodes.make_room(rqs.threads.len());
        }
        self.entities[pid.index()] = Entity {
            load: Load::of_task(&attr.sched, true),
            address_space: attr.address_space,
            ..Entity::default()
        };
    }

    /// Who gets another weight is owed nothing any more.
    fn attr_changed(&mut self, rqs: &Rqs, pid: Pid, _old: &SchedAttr) {
        let entity = &mut self.entities[pid.index()];
        entity.load = Load::of_task(&rqs.settings[pid.index()].attr, true);
        entity.wait_runtime = 0;
    }

    fn task_moved(&mut self, _: &Rqs, _: Pid, _: CpuId) {
        unreachable!("this release is for one CPU")
    }

    fn update_cpu_load(&mut self, _: &Rqs, _: CpuId) {}

    fn trigger_load_balance(&mut self, _: &mut Rqs, _: &mut RealTime, _: &mut Platform, _: CpuId) {}

    fn idle_balance(&mut self, _: &mut Rqs, _: &mut Platform, _: CpuId) {}

    fn active_load_balance(&mut self, _: &mut Rqs, _: &mut Platform, _: CpuId) {}

    fn tunables(&self, _: &Rqs) -> Vec<Tunable> {
        let tunables = &self.tunables;
        let times = (100_000, 1_000_000_000);
        let any = (i64::from(i32::MIN), i64::from(i32::MAX));
        let mut all = Vec::new();
        let mut add = |name, value: i64, range, help| {
            all.push(Tunable { name, value, range, help });
        };
        add(
            "sched_latency_ns",
            tunables.latency_ns as i64,
            times,
            "period in which each runnable task runs once",
        );
        add(
            "sched_min_granularity_ns",
            tunables.min_granularity_ns as i64,
            times,
            "the least that a turn should be",
        );
        add(
            "sched_wakeup_granularity_ns",
            tunables.wakeup_granularity_ns as i64,
            (0, times.1),
            "how far ahead the running task must be for a woken one to preempt it",
        );
        add(
            "sched_batch_wakeup_granularity_ns",
            tunables.batch_wakeup_granularity_ns as i64,
            (0, times.1),
            "the same for a woken SCHED_BATCH task",
        );
        add(
            "sched_runtime_limit_ns",
            tunables.runtime_limit_ns as i64,
            times,
            "the most that a task can be owed, or owe; follows sched_latency_ns",
        );
        add(
            "sched_child_runs_first",
            i64::from(tunables.child_runs_first),
            any,
            "a forked child runs before its parent",
        );
        add(
            "sched_compat_yield",
            i64::from(tunables.compat_yield),
            any,
            "a yielding task goes behind all others",
        );
        add(
            "FAIR_SLEEPERS",
            i64::from(tunables.fair_sleepers),
            (0, 1),
            "sleepers are owed for their sleep",
        );
        add(
            "START_DEBIT",
            i64::from(tunables.start_debit),
            (0, 1),
            "a child that runs first owes half a granularity",
        );
        all
    }

    fn set_tunable(&mut self, _: &mut Rqs, name: &str, value: i64) -> Result<(), TunableError> {
        let tunables = &mut self.tunables;
        match name {
            "sched_latency_ns" => {
                tunables.latency_ns = value as u64;
                tunables.runtime_limit_ns = value as u64;
            }
            "sched_min_granularity_ns" => tunables.min_granularity_ns = value as u64,
            "sched_wakeup_granularity_ns" => tunables.wakeup_granularity_ns = value as u64,
            "sched_batch_wakeup_granularity_ns" => {
                tunables.batch_wakeup_granularity_ns = value as u64
            }
            "sched_runtime_limit_ns" => tunables.runtime_limit_ns = value as u64,
            "sched_child_runs_first" => tunables.child_runs_first = value != 0,
            "sched_compat_yield" => tunables.compat_yield = value != 0,
            "FAIR_SLEEPERS" => tunables.fair_sleepers = value != 0,
            _ => tunables.start_debit = value != 0,
        }
        Ok(())
    }

    fn promises(&self, _: &Rqs, _load: &Workload) -> Promises {
        Promises::default()
    }

    fn audit(&self, _: &Rqs) -> Result<(), String> {
        let queued = self.nodes.audit(&self.timeline)?;
        let load: u64 = self
            .entities
            .iter()
            .filter(|entity| entity.on_rq)
            .map(|entity| entity.load.weight)
            .sum();
        if queued as u64 != self.nr_running || load != self.load {
            return Err(alloc::format!(
                "counted {} entities of weight {}, found {queued} of {load}",
                self.nr_running,
                self.load
            ));
        }
        let limit = self.tunables.runtime_limit_ns as i64;
        if let Some(entity) = self.entities.iter().find(|entity| entity.wait_runtime.abs() > limit)
        {
            return Err(alloc::format!("wait_runtime {} is beyond the limit", entity.wait_runtime));
        }
        Ok(())
    }
}
