//! Linux 2.6.23: the first CFS, which has a different algorithm.
//!
//! # The algorithm
//!
//! There is no vruntime. A queue has a **fair clock**, which runs at the speed at which an ideal
//! machine would serve a nice-0 task: with a total weight W, at `1024 / W` of the real clock. An
//! entity has a **wait_runtime**: the CPU time, in ns, that the ideal machine still owes it. It
//! grows while the entity waits and shrinks while it runs (by the excess over its share). Its key
//! in the tree is
//!
//! ```text
//! fair_key = fair_clock - wait_runtime        (by weight, if it is not nice 0)
//! ```
//!
//! and the entity with the smallest key runs. The running entity **stays in the tree**. Each tick
//! takes it out and puts it back at its new key. `wait_runtime` is kept within plus and minus
//! `runtime_limit`.
//!
//! A **sleeper** is owed the time that it slept, on the fair clock, as if it had waited. The amount
//! is recorded as `sleeper_bonus`, and is gradually deducted from the tasks that run.
//!
//! # Cost
//!
//! The tick costs a removal and an insertion. All other costs are as in later releases.
//!
//! # Not modelled
//!
//! Several CPUs, and groups (which had no user interface). Feature bits other than `FAIR_SLEEPERS`
//! and `START_DEBIT` (their values are fixed: `SLEEPER_AVG` off, `SLEEPER_LOAD_AVG` and
//! `PRECISE_CPU_LOAD` on but without effect, `SKIP_INITIAL` off) and `sched_stat_granularity_ns`
//! (0) cannot be changed.

mod class;
mod grounds;
mod tunables;

use super::load_weight::{LoadWeight, calc_delta_mine, inverse};
use super::releases::InverseRule;
use crate::classes::rbtree::{Nodes, Root};
use crate::classes::rt::{RealTime, RtVersion};
use crate::classes::weights::NICE_0_LOAD;
use crate::classes::{ClassList, NoClass, Pid, Rqs};
use alloc::vec::Vec;
use schedlab_core::index::TypedIndex;
use schedlab_core::{BuildConfig, CpuId, Policy};
use tunables::Tunables;

/// log2 of [`NICE_0_LOAD`].
const NICE_0_SHIFT: u32 = 10;
/// Inverses are 2^32 / weight.
const WMULT_SHIFT: u32 = 32;

/// `sched_entity`, of a task.
#[derive(Clone, Copy, Debug)]
struct Entity {
    load: LoadWeight,
    /// Key in the tree, as of its last insertion.
    fair_key: u64,
    /// Time that the ideal machine owes it, ns.
    wait_runtime: i64,
    /// The fair clock when it began to wait; `0`: it does not wait.
    wait_start_fair: u64,
    /// The fair clock when it fell asleep; `0`: it does not sleep.
    sleep_start_fair: u64,
    /// Clock when it was last charged or picked, ns.
    exec_start: u64,
    sum_exec: u64,
    /// `sum_exec` when it was last picked.
    prev_sum_exec: u64,
    address_space: u32,
    on_rq: bool,
    /// Its arrival number in the tree.
    arrival: u64,
}

impl Default for Entity {
    fn default() -> Entity {
        Entity {
            load: LoadWeight { weight: u64::from(NICE_0_LOAD), inverse: 1 << 22 },
            fair_key: 0,
            wait_runtime: 0,
            wait_start_fair: 0,
            sleep_start_fair: 0,
            exec_start: 0,
            sum_exec: 0,
            prev_sum_exec: 0,
            address_space: 0,
            on_rq: false,
            arrival: 0,
        }
    }
}

schedlab_core::define_index! {
    /// The thread number of an entity in the timeline.
    struct TreeNode;
}

impl TreeNode {
    fn of(pid: Pid) -> TreeNode {
        TreeNode::new(pid.index())
    }

    fn pid(self) -> Pid {
        Pid(self.index() as u32)
    }
}

/// The fair class of 2.6.23 on its single CPU.
#[derive(Clone, Debug)]
pub struct WaitRuntime {
    tunables: Tunables,
    /// By [`Pid`].
    entities: Vec<Entity>,
    nodes: Nodes<TreeNode>,
    /// All queued entities, including the running one.
    timeline: Root<TreeNode>,
    /// The running task.
    curr: Option<Pid>,
    nr_running: u64,
    /// Sum of the weights.
    load: u64,
    /// Service that the ideal machine has given a nice-0 task, ns.
    fair_clock: u64,
    /// Time that sleepers were given and running tasks have yet to pay for, ns.
    sleeper_bonus: u64,
    /// The next arrival number in the tree.
    arrivals: u64,
}

/// Returns 2.6.23 with its classes.
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
    /// Creates the class without tasks.
    pub fn new(cpus: u32) -> WaitRuntime {
        WaitRuntime {
            tunables: Tunables::at_boot(cpus),
            entities: alloc::vec![Entity::default(); 2 * cpus as usize],
            nodes: Nodes::new(),
            timeline: Root::default(),
            curr: None,
            nr_running: 0,
            load: 0,
            // Not 0, which means "never".
            fair_clock: 1,
            sleeper_bonus: 0,
            arrivals: 0,
        }
    }

    fn entity(&mut self, pid: Pid) -> &mut Entity {
        &mut self.entities[pid.index()]
    }

    /// Adds to the time that an entity is owed, within the limit. Returns the amount actually
    /// added.
    fn add_wait_runtime(&mut self, pid: Pid, delta: i64) -> i64 {
        let limit = self.tunables.runtime_limit_ns as i64;
        let wait_runtime = &mut self.entity(pid).wait_runtime;
        let before = *wait_runtime;
        *wait_runtime = (before + delta).clamp(-limit, limit);
        *wait_runtime - before
    }

    /// Converts a span of fair-clock time to that of an entity, by its weight: at most two limits.
    fn weighted(&self, pid: Pid, fair_span: u64) -> i64 {
        let span = fair_span.min(2 * self.tunables.runtime_limit_ns);
        ((span * self.entities[pid.index()].load.weight) >> NICE_0_SHIFT) as i64
    }

    /// `update_curr`: charges the running entity. Its share of the elapsed time was `mine`, and it
    /// received all of it.
    fn update_curr(&mut self, rqs: &Rqs, cpu: CpuId) {
        let Some(curr) = self.curr else {
            return;
        };
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
        let delta_fair = calc_delta_mine(delta, u64::from(NICE_0_LOAD), inverse);
        let mut mine = calc_delta_mine(delta, weight, inverse);
        if self.sleeper_bonus > self.tunables.min_granularity_ns {
            let room =
                self.tunables.runtime_limit_ns as i64 - self.entities[curr.index()].wait_runtime;
            let paid = mine.min(self.sleeper_bonus).min(room as u64);
            self.sleeper_bonus -= paid;
            mine -= paid;
        }
        self.fair_clock = self.fair_clock.wrapping_add(delta_fair);
        self.add_wait_runtime(curr, mine.wrapping_sub(delta) as i64);
    }

    /// `update_stats_wait_end`: the entity stops waiting, and is owed for its wait.
    fn wait_end(&mut self, pid: Pid) {
        let start = core::mem::take(&mut self.entity(pid).wait_start_fair);
        if start != 0 {
            let owed = self.weighted(pid, self.fair_clock.wrapping_sub(start));
            self.add_wait_runtime(pid, owed);
        }
    }

    /// `enqueue_sleeper`: the entity is also owed for its sleep, unless running tasks already have
    /// enough to pay for.
    fn enqueue_sleeper(&mut self, pid: Pid) {
        let start = core::mem::take(&mut self.entity(pid).sleep_start_fair);
        if start == 0 || self.sleeper_bonus > self.tunables.runtime_limit_ns {
            return;
        }
        let owed = self.weighted(pid, self.fair_clock.wrapping_sub(start));
        let added = self.add_wait_runtime(pid, owed);
        self.sleeper_bonus = self.sleeper_bonus.wrapping_add(added as u64);
    }

    /// Returns the current key of an entity.
    fn fair_key(&self, pid: Pid) -> u64 {
        let Entity { load, wait_runtime, .. } = self.entities[pid.index()];
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

    fn timeline_insert(&mut self, pid: Pid, key: u64) {
        self.arrivals += 1;
        let arrival = self.arrivals;
        let entity = self.entity(pid);
        entity.fair_key = key;
        entity.on_rq = true;
        entity.arrival = arrival;
        self.load += self.entities[pid.index()].load.weight;
        self.nr_running += 1;
        self.nodes.insert(&mut self.timeline, TreeNode::of(pid), key);
    }

    fn timeline_remove(&mut self, pid: Pid) {
        self.nodes.remove(&mut self.timeline, TreeNode::of(pid));
        self.entity(pid).on_rq = false;
        self.load -= self.entities[pid.index()].load.weight;
        self.nr_running -= 1;
    }

    /// Implements `enqueue_entity`.
    fn enqueue_entity(&mut self, rqs: &Rqs, cpu: CpuId, pid: Pid, wakeup: bool) {
        self.update_curr(rqs, cpu);
        let is_batch = rqs.thread(pid).policy == Policy::Batch;
        if wakeup && self.tunables.fair_sleepers && !is_batch {
            self.enqueue_sleeper(pid);
        }
        if self.curr != Some(pid) {
            let now = self.fair_clock;
            self.entity(pid).wait_start_fair = now;
        }
        let key = self.fair_key(pid);
        self.timeline_insert(pid, key);
    }

    /// Implements `dequeue_entity`.
    fn dequeue_entity(&mut self, rqs: &Rqs, cpu: CpuId, pid: Pid, sleep: bool) {
        self.update_curr(rqs, cpu);
        if self.curr != Some(pid) {
            self.wait_end(pid);
        }
        if sleep {
            let now = self.fair_clock;
            self.entity(pid).sleep_start_fair = now;
        }
        self.timeline_remove(pid);
    }

    /// `sched_granularity`: returns the distance that the running entity may get ahead; the more
    /// entities, the smaller.
    fn granularity(&self) -> u64 {
        let mut gran = self.tunables.latency_ns;
        if self.nr_running > 1 {
            gran /= self.nr_running;
            gran -= gran / self.nr_running;
        }
        gran.max(self.tunables.min_granularity_ns)
    }

    /// `niced_granularity`: returns the granularity by the running entity's weight.
    fn niced(&self, pid: Pid, gran: u64) -> u64 {
        let load = self.entities[pid.index()].load;
        match load.weight.cmp(&u64::from(NICE_0_LOAD)) {
            core::cmp::Ordering::Equal => gran,
            core::cmp::Ordering::Less => (load.weight * gran) >> NICE_0_SHIFT,
            core::cmp::Ordering::Greater => {
                load.inverse.wrapping_mul(gran) >> (WMULT_SHIFT - NICE_0_SHIFT)
            }
        }
    }

    /// `__check_preempt_curr_fair`: whether the running task is ahead of `pid` by more than `gran`.
    /// A task that has run for more than its part of the latency has no margin left.
    fn is_preempted_by(&self, running: Pid, pid: Pid, gran: u64) -> bool {
        let curr = &self.entities[running.index()];
        let ideal = (self.tunables.latency_ns / self.nr_running.max(1))
            .max(self.tunables.min_granularity_ns);
        let gran = if curr.sum_exec - curr.prev_sum_exec > ideal { 0 } else { gran };
        let ahead = curr.fair_key.wrapping_sub(self.entities[pid.index()].fair_key) as i64;
        ahead > self.niced(running, gran) as i64
    }
}
