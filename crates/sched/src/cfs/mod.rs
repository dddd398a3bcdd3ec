//! CFS, the Completely Fair Scheduler: Linux 2.6.23 to 2.6.32.
//!
//! # The idea
//!
//! On an ideal machine all tasks would run at once, each at its share of the CPU's speed. A real
//! CPU runs one at a time, so CFS keeps for each the time it has run, weighted by its importance:
//! its **vruntime**. A nice-0 task's vruntime grows as fast as the clock, a lighter one's faster, a
//! heavier one's slower. On the ideal machine all vruntimes would be equal; CFS always runs **the
//! one that is furthest behind**. That is all; there are no priorities, no time slices handed out,
//! no interactivity heuristics. What remains is to say
//!
//! * how long one may run before another gets its turn ([`sched_slice`]);
//! * where newcomers and sleepers start, whose vruntime says nothing ([`Cfs::place_entity`]);
//! * when a woken task takes the CPU at once ([`spine`]).
//!
//! # State
//!
//! Each CPU has a queue ([`cfs_rq::CfsRq`]): the waiting entities ordered by vruntime, and
//! `min_vruntime`, a floor that only rises. Vruntimes mean something only relative to the floor of
//! their own queue: a task that changes CPU takes its distance to the floor along.
//!
//! ```text
//!              place                 pick: leftmost, or a buddy
//!   (new) ---------------> waiting <----------------------------> running: q.curr, not among them
//!                            ^            put: back by vruntime      |
//!                            | place (credit)                        | blocks: still q.curr until schedule()
//!                            +-------------- asleep <----------------+
//! ```
//!
//! # Where to look
//!
//! | file | what |
//! |---|---|
//! | [`spine`] | place, pick, preempt, and the class's hooks |
//! | [`cfs_rq`] | charge, enqueue, dequeue, the floor |
//! | [`timeline`] | the waiting entities by vruntime |
//! | [`entity`] | weights and the arithmetic of virtual time |
//! | [`sched_slice`] | how long a turn is |
//! | [`task_group`], [`update_shares`] | task groups, and their weights on each CPU |
//! | [`throttle`] | taking groups that have used up their quota off, and putting them back (3.2) |
//! | [`select_task_rq`] | where a woken or new task goes |
//! | [`load_balance`], [`find_busiest_group`] | moving tasks between CPUs |
//! | [`hrtick`] | ending turns between ticks |
//! | [`interactive`] | a change that was proposed: CPU-bound tasks are made less nice |
//! | [`releases`] | what differs between releases |
//! | [`tunables`] | the tunables |
//! | [`wait_runtime`] | 2.6.23, whose algorithm is another one |
//!
//! # Cost
//!
//! Enqueue, dequeue, put: O(log n) for each level of groups, but for short moves of memory. Pick:
//! O(1) and a removal. Tick: O(levels). Balancing: O(CPUs) a pass. Dividing group shares: O(groups
//! x CPUs), at most every 0.25 ms (times the factor for the number of CPUs) for each CPU.

pub mod cfs_rq;
pub mod domain_levels;
pub mod entity;
pub mod find_busiest_group;
pub mod hrtick;
pub mod interactive;
pub mod load_balance;
pub mod releases;
pub mod sched_slice;
pub mod select_task_rq;
pub mod spine;
pub mod task_group;
#[cfg(test)]
mod tests;
pub mod throttle;
pub mod timeline;
pub mod tunables;
pub mod update_shares;
pub mod wait_runtime;

use crate::classes::bandwidth::{Bandwidth, BandwidthVersion, Quota};
use crate::classes::rbtree::NIL;
use crate::classes::rt::{RealTime, RtVersion};
use crate::classes::weights::{NICE_0_LOAD, weight_of_nice};
use crate::classes::{ClassList, FairClass, Pid, Rqs};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use cfs_rq::CfsRq;
pub use domain_levels::domains;
use entity::{Entity, update_avg};
use interactive::Interactive;
use load_balance::{Balancing, Candidates};
pub use releases::Version;
use schedlab_core::Load as Workload;
use schedlab_core::{
    BuildConfig, Capabilities, CpuId, Entry, GroupId, GroupStats, Origin, Parent, Platform, Policy,
    Promises, Release, SchedAttr, TaskAttr, TimerKey, Tunable, TunableError,
};
use task_group::{Group, ROOT};
pub use tunables::Tunables;

const POLICIES: &[Policy] =
    &[Policy::Other, Policy::Batch, Policy::Idle, Policy::Fifo, Policy::RoundRobin];

/// The default release. The others are described by what differs.
const DEFAULT: Release = Release {
    version: "2.6.32",
    also: &[],
    summary: "latency 5 ms, gentle sleepers, group shares over CPUs, real-time push and pull",
    golden: &[("cfs", "2.6.32")],
    hz_default: 1000,
    hz_range: (100, 1000),
    cpus_max: schedlab_core::topology::CPUS_MAX,
    policies: POLICIES,
    can: Capabilities { groups: true, user_groups: true, nohz: true, ..Capabilities::BASIC },
    kernel: None,
    build: |config| build(Version::V2_6_32, RtVersion::V2_6_25, config),
};

/// This scheduler in the registry.
pub static ENTRY: Entry = Entry {
    name: "cfs",
    title: "CFS, the Completely Fair Scheduler",
    summary: "runs the task that has had the least weighted CPU time",
    origin: Origin::Linux,
    releases: &[
        DEFAULT,
        Release {
            version: "2.6.32.60",
            summary: "as 2.6.32, but its times grow up to 8 CPUs only and follow CPUs that come and go; what else this long-term release has from later ones is not described to us",
            golden: &[],
            build: |config| build(Version::V2_6_32_60, RtVersion::V2_6_25, config),
            ..DEFAULT
        },
        Release {
            version: "3.2",
            summary: "quotas for groups; else 2.6.32's rules with 3.2's times: what changed in the fair class from 2.6.33 to 3.2 is not described to us, and no golden schedules exist",
            golden: &[],
            can: Capabilities { quotas: true, user_groups: false, ..DEFAULT.can },
            build: |config| build(Version::V3_2, RtVersion::V2_6_25, config),
            ..DEFAULT
        },
        Release {
            version: "2.6.31",
            summary: "latency 20 ms, full credit for sleepers; one CPU; from the list of differences, not checked against a kernel",
            golden: &[],
            cpus_max: 1,
            build: |config| build(Version::V2_6_31, RtVersion::V2_6_25, config),
            ..DEFAULT
        },
        Release {
            version: "2.6.29",
            summary: "sleepers' credit by weight; one CPU; from the list of differences, not checked against a kernel",
            golden: &[],
            cpus_max: 1,
            build: |config| build(Version::V2_6_29, RtVersion::V2_6_25, config),
            ..DEFAULT
        },
        Release {
            version: "2.6.28",
            summary: "as 2.6.29, SCHED_IDLE with weight 2; one CPU; from the list of differences, not checked against a kernel",
            golden: &[],
            cpus_max: 1,
            build: |config| build(Version::V2_6_28, RtVersion::V2_6_25, config),
            ..DEFAULT
        },
        Release {
            version: "2.6.24",
            summary: "the first with vruntime: latency 20 ms, no buddies, every fork reschedules; one CPU",
            golden: &[("cfs", "2.6.24")],
            cpus_max: 1,
            can: Capabilities { nohz: true, ..Capabilities::BASIC },
            build: |config| build(Version::V2_6_24, RtVersion::V2_6_23, config),
            ..DEFAULT
        },
        Release {
            version: "2.6.23",
            summary: "no vruntime yet: fair_clock and wait_runtime; one CPU",
            golden: &[("cfs", "2.6.23")],
            cpus_max: 1,
            can: Capabilities::BASIC,
            kernel: None,
            build: |config| Box::new(wait_runtime::core_2_6(config)),
            ..DEFAULT
        },
    ],
};

/// CFS with the rule of [`interactive`] in the registry.
pub static INTERACTIVE: Entry = Entry {
    name: "cfs_interactive",
    title: "CFS with a rule for interactivity",
    summary: "CFS of 2.6.32 that makes tasks less nice which hardly ever sleep; proposed, never in Linux",
    origin: Origin::Linux,
    releases: &[Release {
        version: "2.6.32",
        also: &[],
        summary: "on the rules and defaults of cfs@2.6.32; no kernel has it, so no golden schedules",
        golden: &[],
        hz_default: 1000,
        hz_range: (100, 1000),
        cpus_max: schedlab_core::topology::CPUS_MAX,
        policies: POLICIES,
        can: Capabilities { groups: true, nohz: true, ..Capabilities::BASIC },
        kernel: None,
        build: |config| build(Version::INTERACTIVE, RtVersion::V2_6_25, config),
    }],
};

fn build(
    version: Version,
    rt: RtVersion,
    config: &BuildConfig,
) -> Box<dyn schedlab_core::Scheduler> {
    Box::new(core_2_6(version, rt, config))
}

/// A release with its classes.
pub fn core_2_6(version: Version, rt: RtVersion, config: &BuildConfig) -> ClassList<Cfs> {
    let rqs = Rqs::new(domains(&config.topology));
    ClassList {
        deadline: crate::classes::NoClass,
        rt: RealTime::new(rt, rqs.cpus(), config.hz),
        fair: Cfs::new(version, &rqs, config.hz),
        core: rqs,
    }
}

/// The fair class of a release with vruntime, on all CPUs.
#[derive(Clone, Debug)]
pub struct Cfs {
    version: Version,
    tunables: Tunables,
    /// The number of CPUs that the tunables are scaled for.
    scaled_for: u32,
    /// How many CPUs were on line when one last came or went.
    online_before: u32,
    /// Tasks and groups' presences on CPUs.
    entities: Vec<Entity>,
    /// The entity of each thread; [`NIL`] for those that are no tasks.
    entity_of: Vec<u32>,
    /// Queues: first those of the root group by CPU, then those of other groups as they were
    /// needed.
    queues: Vec<CfsRq>,
    groups: Vec<Group>,
    /// By CPU: the queues that other groups have there, the newest group first.
    queues_on: Vec<Vec<(u32, u32)>>,
    /// All groups but the root, children before parents.
    bottom_up: Vec<u32>,
    bottom_up_is_stale: bool,
    /// For each CPU the number of its set of CPUs that are balanced alike.
    leaf_of: Vec<u32>,
    /// A CPU of each such set.
    leaf_cpus: Vec<CpuId>,
    /// By CPU: the load of the root queue.
    weighted_load: Vec<u64>,
    /// By CPU: its decaying means.
    cpu_load: Vec<[u64; 5]>,
    /// By CPU: the jiffy from which its tick balances again.
    next_balance: Vec<u64>,
    /// By level and CPU.
    balancing: Vec<Vec<Balancing>>,
    /// By level: the power of each group, at its first CPU.
    power: Vec<Vec<u64>>,
    /// By level: how many CPUs stand for other than the power of one.
    weak_groups: Vec<u32>,
    /// The CPUs among which a balancing pass looks.
    candidates: Candidates,
    /// The groups' limits.
    limits: Bandwidth,
    /// The rule of `cfs_interactive`.
    interactive: Interactive,
    /// By CPU: the hrtick is armed.
    hrtick_active: Vec<bool>,
    tick_ns: u64,
}

impl Cfs {
    /// The class with nothing to run.
    pub fn new(version: Version, rqs: &Rqs, hz: u32) -> Cfs {
        let cpus = rqs.cpus();
        let all = || (0..cpus).map(CpuId);
        let domains = &rqs.domains;
        let mut leaf_cpus: Vec<CpuId> = Vec::new();
        let leaf_of = all()
            .map(|cpu| {
                let known = leaf_cpus.iter().position(|&other| {
                    let level = domains.of(cpu).next();
                    level.is_some() && level == domains.of(other).next() && {
                        domains.level(level.expect("just seen")).share(cpu, other)
                    }
                });
                known.unwrap_or_else(|| {
                    leaf_cpus.push(cpu);
                    leaf_cpus.len() - 1
                }) as u32
            })
            .collect();
        let balancing = |level: usize| Balancing {
            last_balance: 0,
            interval_ms: u64::from(domains.level(level).params.min_interval_ms),
            nr_failed: 0,
            last_update_ns: 0,
        };
        let levels = 0..domains.levels();
        let power = find_busiest_group::power_at_boot(domains, |_| true);
        let weak_groups =
            power.iter().map(|level| find_busiest_group::weak_groups(level)).collect();
        Cfs {
            version,
            tunables: Tunables::at_boot(&version, cpus),
            scaled_for: cpus,
            online_before: cpus,
            entities: Vec::new(),
            entity_of: alloc::vec![NIL; 2 * cpus as usize],
            queues: all().map(|cpu| CfsRq::new(cpu, ROOT, NIL)).collect(),
            groups: alloc::vec![Group::root()],
            queues_on: alloc::vec![Vec::new(); cpus as usize],
            bottom_up: Vec::new(),
            bottom_up_is_stale: false,
            leaf_of,
            leaf_cpus,
            weighted_load: alloc::vec![0; cpus as usize],
            cpu_load: alloc::vec![[0; 5]; cpus as usize],
            next_balance: alloc::vec![0; cpus as usize],
            balancing: levels.map(|level| alloc::vec![balancing(level); cpus as usize]).collect(),
            weak_groups,
            power,
            candidates: Candidates::new(cpus),
            limits: Bandwidth::new(version.bandwidth.unwrap_or(BandwidthVersion::V3_2), cpus, hz),
            interactive: Interactive::default(),
            hrtick_active: alloc::vec![false; cpus as usize],
            tick_ns: 1_000_000_000 / u64::from(hz),
        }
    }

    /// The entity of a task.
    #[inline]
    fn entity_of(&self, pid: Pid) -> u32 {
        self.entity_of[pid.index()]
    }

    /// The entity of a thread, if it is a task.
    #[inline]
    fn entity_if_any(&self, pid: Pid) -> Option<u32> {
        let e = self.entity_of[pid.index()];
        (e != NIL).then_some(e)
    }

    /// The group of an entity.
    #[inline]
    fn group_of(&self, e: u32) -> u32 {
        self.queues[self.entities[e as usize].cfs_rq as usize].group
    }

    /// All the time that a task has run, under whatever policy, ns.
    #[inline]
    fn total_exec(&self, rqs: &Rqs, e: u32) -> u64 {
        let entity = &self.entities[e as usize];
        entity.sum_exec + rqs.thread(entity.pid).rt_sum_exec
    }

    /// `set_task_rq` and the shift of vruntime in `set_task_cpu`: an entity off its queue keeps its
    /// distance to the floor.
    fn change_cpu(&mut self, e: u32, from: CpuId, to: CpuId) {
        let group = self.group_of(e);
        let old = self.queue_of(group, from);
        let old_floor = self.queues[old as usize].min_vruntime;
        self.join_queue(e, group, to);
        let entity = &mut self.entities[e as usize];
        let new_floor = self.queues[entity.cfs_rq as usize].min_vruntime;
        entity.vruntime = entity.vruntime.wrapping_sub(old_floor.wrapping_sub(new_floor));
    }

    /// The virtual time of a task, ns; wraps.
    pub fn vruntime(&self, pid: Pid) -> u64 {
        self.entities[self.entity_of(pid) as usize].vruntime
    }

    /// The floor of the root queue of `cpu`.
    pub fn min_vruntime(&self, cpu: CpuId) -> u64 {
        self.queues[cpu.index()].min_vruntime
    }
}

impl FairClass for Cfs {
    fn thread_born(&mut self, rqs: &Rqs, pid: Pid, attr: &TaskAttr, parent: Parent) {
        if self.entity_of.len() <= pid.index() {
            self.entity_of.resize(rqs.threads.len(), NIL);
        }
        if self.version.interactive {
            self.interactive.born(pid);
        }
        let load = self.load_of(pid, &attr.sched);
        let mut entity = Entity::new(load, NIL, NIL);
        entity.pid = pid;
        entity.is_idle_policy = attr.sched.policy == Policy::Idle;
        let e = self.new_entity(entity);
        self.entity_of[pid.index()] = e;
        self.entities[e as usize].averages.avg_wakeup = self.tunables.wakeup_granularity_ns;
        let group = if attr.group.index() < self.groups.len() { attr.group.0 } else { ROOT };
        self.join_queue(e, group, rqs.cpu_of(pid));
        let q = self.entities[e as usize].cfs_rq;
        let mut vruntime = self.queues[q as usize].min_vruntime;
        if let Parent::Task { task, .. } = parent
            && let Some(parent) = self.entity_if_any(rqs.pid(task))
            && self.entities[parent as usize].cfs_rq == q
        {
            vruntime = self.entities[parent as usize].vruntime;
        }
        self.entities[e as usize].vruntime = vruntime;
    }

    fn attr_changed(&mut self, rqs: &Rqs, pid: Pid, _old: &SchedAttr) {
        let attr = &rqs.settings[pid.index()].attr;
        let e = self.entity_of(pid) as usize;
        self.entities[e].load = self.load_of(pid, attr);
        self.entities[e].is_idle_policy = attr.policy == Policy::Idle;
        // 0 unless it was a real-time task.
        if !attr.policy.is_realtime() {
            self.entities[e].sum_exec += rqs.thread(pid).rt_sum_exec;
        }
    }

    fn task_moved(&mut self, rqs: &Rqs, pid: Pid, from: CpuId) {
        if let Some(e) = self.entity_if_any(pid) {
            self.change_cpu(e, from, rqs.cpu_of(pid));
        }
    }

    #[inline]
    fn schedule_entered(&mut self, rqs: &mut Rqs, platform: &mut Platform, prev: Pid) {
        if self.version.interactive {
            self.judge(rqs, platform, prev);
        }
    }

    /// The first half of `dequeue_task`.
    #[inline]
    fn task_sleeps(&mut self, rqs: &Rqs, pid: Pid) {
        let Some(e) = self.entity_if_any(pid) else { return };
        if self.version.interactive {
            self.note_sleep(rqs, pid);
        }
        let ran = self.total_exec(rqs, e);
        let granularity = self.tunables.wakeup_granularity_ns;
        let averages = &mut self.entities[e as usize].averages;
        if averages.last_wakeup != 0 {
            update_avg(&mut averages.avg_overlap, ran.wrapping_sub(averages.last_wakeup));
            averages.last_wakeup = 0;
        } else {
            update_avg(&mut averages.avg_wakeup, granularity);
        }
    }

    fn task_wakes_other(&mut self, rqs: &Rqs, waker: Pid) {
        let Some(e) = self.entity_if_any(waker) else {
            return;
        };
        let ran = self.total_exec(rqs, e);
        let averages = &mut self.entities[e as usize].averages;
        let since =
            if averages.last_wakeup != 0 { averages.last_wakeup } else { averages.start_runtime };
        update_avg(&mut averages.avg_wakeup, ran.wrapping_sub(since));
        averages.last_wakeup = ran;
    }

    /// The common part of `put_prev_task`.
    #[inline]
    fn task_put(&mut self, rqs: &Rqs, pid: Pid) {
        let Some(e) = self.entity_if_any(pid) else { return };
        let ran = self.total_exec(rqs, e) - self.entities[e as usize].prev_sum_exec;
        let averages = &mut self.entities[e as usize].averages;
        update_avg(&mut averages.avg_running, ran);
        if rqs.thread(pid).runnable {
            let limit = 2i64.wrapping_mul(self.tunables.migration_cost_ns) as u64;
            update_avg(&mut averages.avg_overlap, ran.min(limit));
        } else {
            update_avg(&mut averages.avg_running, 0);
        }
    }

    #[inline]
    fn update_cpu_load(&mut self, _core: &Rqs, cpu: CpuId) {
        self.update_cpu_loads(cpu);
    }

    #[inline]
    fn trigger_load_balance(
        &mut self,
        rqs: &mut Rqs,
        rt: &mut RealTime,
        platform: &mut Platform,
        cpu: CpuId,
    ) {
        self.rebalance_domains(rqs, rt, platform, cpu);
    }

    /// The domains begin anew, and in releases that do so the tunables are scaled again.
    fn domains_rebuilt(&mut self, rqs: &Rqs, platform: &Platform) {
        if self.version.rescales {
            // A CPU that goes away is still counted.
            let online = rqs.online_cpus();
            let counted = online + u32::from(online < self.online_before);
            self.tunables.rescale(&self.version, self.scaled_for, counted);
            (self.online_before, self.scaled_for) = (online, counted);
        }
        self.power = find_busiest_group::power_at_boot(&rqs.domains, |cpu| rqs.is_online(cpu));
        self.weak_groups =
            self.power.iter().map(|level| find_busiest_group::weak_groups(level)).collect();
        for (level, rows) in self.balancing.iter_mut().enumerate() {
            for row in rows {
                row.last_balance = platform.jiffies();
                row.interval_ms = u64::from(rqs.domains.level(level).params.min_interval_ms);
                row.nr_failed = 0;
            }
        }
        self.next_balance.fill(platform.jiffies());
    }

    fn idle_balance(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId) {
        self.balance_newly_idle(rqs, platform, cpu);
    }

    fn active_load_balance(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId) {
        self.push_one_task(rqs, platform, cpu);
    }

    fn group_new(&mut self, _core: &Rqs, parent: GroupId, shares: u64) -> Result<GroupId, String> {
        self.make_group(parent, shares)
    }

    fn group_set_shares(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        group: GroupId,
        shares: u64,
    ) -> Result<(), String> {
        self.write_shares(rqs, platform, group, shares)
    }

    fn group_set_quota(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        group: GroupId,
        quota: &Quota,
    ) -> Result<(), String> {
        self.write_quota(rqs, platform, group.0, quota)
    }

    fn group_stats(&self, group: GroupId) -> Result<GroupStats, String> {
        self.read_stats(group.0)
    }

    fn throttled_hierarchy(&self, pid: Pid) -> bool {
        self.entity_if_any(pid)
            .is_some_and(|e| self.is_held_back_in(self.entities[e as usize].cfs_rq))
    }

    fn set_group(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        pid: Pid,
        group: GroupId,
    ) -> Result<(), String> {
        self.move_to_group(rqs, platform, pid, group)
    }

    fn timer(&mut self, rqs: &mut Rqs, platform: &mut Platform, key: TimerKey) {
        if Bandwidth::is_timer(key) {
            self.bandwidth_timer(rqs, platform, key);
        } else {
            self.hrtick_fires(rqs, platform, key);
        }
    }

    fn tunables(&self, _core: &Rqs) -> Vec<Tunable> {
        self.list_tunables()
    }

    fn set_tunable(&mut self, rqs: &mut Rqs, name: &str, value: i64) -> Result<(), TunableError> {
        self.write_tunable(name, value)?;
        rqs.rt_avg_period_ns = self.tunables.time_avg_ms * 1_000_000 / 2;
        Ok(())
    }

    /// Only one CPU without groups promises anything. Several may leave one idle beside waiting
    /// tasks (the balancer is content with a quarter more here than there, and puts it off), and a
    /// group's members may be many.
    ///
    /// A waiting task stands still in virtual time while every other gains on it: nobody else may
    /// run once he is past it by more than a wakeup's granularity or a tick. It can be ahead of the
    /// floor by its first debit or its last turn, and others can be behind the floor by a sleeper's
    /// credit. (`SCHED_IDLE` tasks, whose weight is 3, are promised nothing.)
    fn promises(&self, rqs: &Rqs, load: &Workload) -> Promises {
        if rqs.cpus() > 1 || self.groups.len() > 1 {
            return Promises::default();
        }
        let tunables = &self.tunables;
        let tasks = u64::from(load.tasks.max(1));
        let (light, heavy) = [self.worst_nice(load.nice_max), load.nice_min]
            .map(|nice| u64::from(weight_of_nice(nice)))
            .into();
        let turn_ns = tunables.period(tasks, self.version.period)
            + 2 * self.tick_ns
            + tunables.wakeup_granularity_ns;
        // How far a turn of the lightest carries it, and what the heaviest can do in so much
        // virtual time.
        let ahead = 2 * turn_ns * u64::from(NICE_0_LOAD) / light + tunables.latency_ns;
        let each_ns = ahead.saturating_mul(heavy) / u64::from(NICE_0_LOAD) + 2 * turn_ns;
        Promises {
            idle_beside_waiting_ns: None,
            wait_ns: Some(tasks.saturating_mul(each_ns)),
            // Hogs whose nice values are raised at different times are equal no longer.
            hog_spread_ns: (!self.version.interactive).then_some(4 * turn_ns),
            ..Promises::default()
        }
    }

    fn audit(&self, rqs: &Rqs) -> Result<(), String> {
        for q in 0..self.queues.len() as u32 {
            let queue = &self.queues[q as usize];
            self.audit_queue(q).map_err(|what| {
                alloc::format!("CPU {}, group {}: {what}", queue.cpu.0, queue.group)
            })?;
        }
        for (pid, &e) in self.entity_of.iter().enumerate() {
            let pid = Pid(pid as u32);
            if e != NIL {
                let entity = &self.entities[e as usize];
                let thread = rqs.thread(pid);
                let queued = thread.on_rq && thread.class == crate::classes::ClassId::Fair;
                if entity.on_rq != queued {
                    return Err(alloc::format!(
                        "thread {}: queued is {queued}, but its entity says otherwise",
                        pid.0
                    ));
                }
                if self.queues[entity.cfs_rq as usize].cpu != rqs.cpu_of(pid) {
                    return Err(alloc::format!(
                        "thread {} and its queue are on different CPUs",
                        pid.0
                    ));
                }
            }
        }
        self.audit_limits()
    }
}
