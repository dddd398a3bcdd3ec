//! CPU bandwidth control: a limit on the CPU time of a task group (`cpu.cfs_quota_us`, `cpu.max`),
//! since Linux 3.2.
//!
//! # The idea
//!
//! A group may use its **quota** of CPU time in each **period**, summed over all CPUs. Charging a
//! single account at every tick of every CPU would be slow. The account is therefore a **pool**
//! from which each CPU's queue of the group draws a **slice** at a time (5 ms), and the run time of
//! its tasks is charged against that slice.
//!
//! ```text
//!          refilled with the quota          a slice at a time
//!   period timer ------------> pool of the group ----------> runtime_remaining <--- charged
//!                                    ^                       of a queue
//!                                    |                               |
//!                                    +--------- all but 1 ms --------+  when its last task leaves
//! ```
//!
//! A queue whose slice is used up while the pool is empty is **throttled**: it leaves its parent's
//! queue, with everything in it, as if it had gone to sleep. (In 6.18 its tasks leave one by one.)
//! At the next period the throttled queues are first raised just above zero, in the order in which
//! they were throttled, and return. Anything further they draw from the pool as usual.
//!
//! A queue may keep what it has drawn when the period is over. In 3.2 that runtime then
//! **expires**. Since 5.4 it does not, so a group on many CPUs can exceed the quota of a single
//! period by the runtime left over on them, though never the average.
//!
//! If a queue returns more than a small amount while others are throttled, a second timer, the
//! **slack timer**, hands it to them without waiting for the period.
//!
//! **Burst** (5.14 on): unused quota stays in the pool, up to quota + burst.
//!
//! # Division of work
//!
//! This module keeps the accounts and the timers. Only the fair class knows how a queue works, so
//! it removes queues and puts them back. [`Bandwidth`] reports when to do so.
//!
//! # Cost
//!
//! There is no cost where no group has a quota. A charge costs O(1) per level of groups, and a
//! throttling as much as going to sleep. The period timer of a group costs O(its throttled queues).
//! Nothing walks all groups except `check_hierarchy`, when an administrator sets a quota.

use alloc::string::String;
use alloc::vec::Vec;
pub use schedlab_core::Quota;
use schedlab_core::index::{IndexVec, TypedIndex};
use schedlab_core::interface::GroupStats;
use schedlab_core::platform::Throttling;
use schedlab_core::{CpuId, Errno, GroupId, Platform, Refused, TimerKey, TimerPhase};

/// `min_cfs_rq_runtime`: runtime that a queue keeps when its last task leaves, ns.
const KEPT_NS: i64 = 1_000_000;

/// `cfs_bandwidth_slack_period`: time for which returned runtime is collected before it is handed
/// out, ns.
const SLACK_PERIOD_NS: u64 = 5_000_000;

/// `min_bandwidth_expiration`: no runtime is handed out in this time before a refill, ns.
const MIN_EXPIRATION_NS: u64 = 2_000_000;

/// Ranges of period, quota and burst, us.
const PERIOD_US: core::ops::RangeInclusive<u64> = 1_000..=1_000_000;
const QUOTA_US: core::ops::RangeInclusive<u64> = 1_000..=1 << 44;

/// `sched_cfs_bandwidth_slice_us` at boot.
pub const SLICE_US: u64 = 5_000;

/// Name of the tunable.
pub const TUNABLE: &str = "sched_cfs_bandwidth_slice_us";

/// Differences between releases.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BandwidthVersion {
    /// Whether the runtime drawn by a queue is lost at the end of the period (3.2 to 5.3).
    pub expires: bool,
    /// Whether it is lost only if the pool has been refilled since the queue last drew from it, by
    /// the number of the refill (4.18 to 5.3), not by its time.
    pub expires_by_refill: bool,
    /// Whether starting the period timer refills the pool, and setting limits restarts the timer
    /// (up to 4.2). Otherwise the timer keeps to a grid.
    pub starting_refills: bool,
    /// Whether a throttled queue still draws runtime when it is charged (up to 5.3).
    pub throttled_draw: bool,
    /// Whether the queue that was throttled last gets runtime first (3.16 to 5.3).
    pub last_is_first: bool,
    /// Whether every return of runtime starts the slack timer again (up to 5.3).
    pub slack_restarts: bool,
    /// Whether a queue about to be throttled first asks for runtime once more (since 5.8).
    pub second_try: bool,
    /// Whether unused quota may be saved (5.14 on).
    pub burst: bool,
    /// Whether a group may not have a larger fraction of the CPU than its parent group: the rule of
    /// version 1 of control groups, which version 2 does not have.
    pub child_within_parent: bool,
    /// Runtime that each queue receives when limits are set, ns.
    pub first_ns: i64,
    /// Whether the throttled time of a queue counts while no task waits in it (up to 6.5). If not,
    /// it counts from the moment at which the first task waits in the queue or (from 6.18 on)
    /// leaves it because of the throttling. (The periods in which it is throttled count in any
    /// case.)
    pub counts_empty: bool,
}

impl BandwidthVersion {
    /// 3.2.
    pub const V3_2: BandwidthVersion = BandwidthVersion {
        expires: true,
        starting_refills: true,
        throttled_draw: true,
        second_try: false,
        burst: false,
        child_within_parent: true,
        ..BandwidthVersion::V5_14
    };

    /// 4.18 to 5.3: drawn runtime expires by the number of the refill.
    pub const V4_18: BandwidthVersion = BandwidthVersion {
        expires: true,
        expires_by_refill: true,
        throttled_draw: true,
        last_is_first: true,
        slack_restarts: true,
        ..BandwidthVersion::V5_4
    };

    /// 6.6 to 6.17.
    pub const V6_6: BandwidthVersion =
        BandwidthVersion { counts_empty: false, ..BandwidthVersion::V5_14 };

    /// 6.18.
    pub const V6_18: BandwidthVersion = BandwidthVersion { first_ns: 1, ..BandwidthVersion::V6_6 };

    /// 5.4 (and late 4.14.y): drawn runtime does not expire, and nothing can be saved.
    pub const V5_4: BandwidthVersion =
        BandwidthVersion { second_try: false, ..BandwidthVersion::V5_8 };

    /// 5.8 to 5.13.
    pub const V5_8: BandwidthVersion = BandwidthVersion { burst: false, ..BandwidthVersion::V5_14 };

    /// 5.14 to 6.5.
    pub const V5_14: BandwidthVersion = BandwidthVersion {
        expires: false,
        expires_by_refill: false,
        starting_refills: false,
        throttled_draw: false,
        last_is_first: false,
        slack_restarts: false,
        second_try: true,
        burst: true,
        child_within_parent: false,
        first_ns: 0,
        counts_empty: true,
    };
}

/// The account of a group (`cfs_bandwidth`).
#[derive(Clone, Debug)]
struct Pool<Q> {
    /// The parent group. `None` for the root.
    parent: Option<GroupId>,
    /// CPU time that it may use in a period, ns. `None`: no limit.
    quota_ns: Option<u64>,
    period_ns: u64,
    burst_ns: u64,
    /// Runtime left, ns.
    runtime_ns: u64,
    /// Runtime after the last refill, ns. (With bursts.)
    runtime_snap_ns: u64,
    /// Time at which runtime drawn from it expires, ns.
    runtime_expires: u64,
    /// Number of refills, and of starts of the timer (`expires_seq`).
    refills: u64,
    /// Whether nothing has been drawn since the last refill.
    idle: bool,
    /// Time at which the period timer fires, ns, if it is running.
    period_ends: Option<u64>,
    /// Time of its next expiry, ns, real or hypothetical: refills keep to a grid.
    expires_ns: u64,
    /// The CPU on which the timer was started, and fires.
    timer_cpu: CpuId,
    slack_timer_active: bool,
    /// Time of the slack timer's next expiry, ns, or of its last one.
    slack_ends_ns: u64,
    /// The throttled queues, the one throttled longest first: the ends of the list.
    first_throttled: Option<Q>,
    last_throttled: Option<Q>,
    nr_periods: u64,
    nr_throttled: u64,
    throttled_ns: u64,
    nr_bursts: u64,
    burst_used_ns: u64,
}

/// A queue's share of its group's account.
#[derive(Clone, Copy, Debug)]
struct Local<Q> {
    group: GroupId,
    cpu: CpuId,
    /// `runtime_enabled`: whether the group has a quota.
    enabled: bool,
    throttled: bool,
    /// `runtime_remaining`: remaining runtime, ns. Negative: the queue has overrun by that amount.
    remaining_ns: i64,
    /// Time at which it expires, ns.
    expires: u64,
    /// `refills` of the pool when it last drew.
    refills: u64,
    /// Time since which its throttled time counts, ns. `None`: it does not count.
    throttled_at: Option<u64>,
    /// Its neighbours in the list of throttled queues.
    earlier: Option<Q>,
    later: Option<Q>,
}

/// Action that a timer's expiry requires.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expiry {
    /// Nothing.
    Nothing,
    /// Distribute the runtime of this group's pool: release queues as long as
    /// [`Bandwidth::next_to_release`] returns one.
    Distribute(GroupId),
}

/// The accounts of all groups. `Q` is the fair class's index of a queue. A child group has a higher
/// number than its parent.
#[derive(Clone, Debug)]
pub struct Bandwidth<Q> {
    version: BandwidthVersion,
    slice_ns: i64,
    tick_ns: u64,
    pools: Vec<Pool<Q>>,
    locals: IndexVec<Q, Local<Q>>,
    /// Number of groups with a quota. With none, nothing here costs anything.
    limited: u32,
    /// Whether any group has or has had a quota.
    ever_used: bool,
}

/// Returns the key of the period timer. Among the timers of the release, the keys from 4 on that
/// are 0 or 1 modulo 4 are reserved for this module.
const fn period_timer_of(group: GroupId) -> TimerKey {
    TimerKey(4 + 4 * group.0)
}

const fn slack_timer_of(group: GroupId) -> TimerKey {
    TimerKey(5 + 4 * group.0)
}

/// Whether a timer belongs to this module.
pub const fn is_timer(key: TimerKey) -> bool {
    key.0 >= 4 && key.0 % 4 < 2
}

impl<Q: TypedIndex> Bandwidth<Q> {
    /// Creates the accounts without quotas. The root group has a queue on each CPU.
    pub fn new(version: BandwidthVersion, cpus: u32, hz: u32) -> Bandwidth<Q> {
        let mut all = Bandwidth {
            version,
            slice_ns: SLICE_US as i64 * 1000,
            tick_ns: 1_000_000_000 / u64::from(hz),
            pools: alloc::vec![Pool::new(None, version)],
            locals: IndexVec::new(),
            limited: 0,
            ever_used: false,
        };
        for cpu in 0..cpus {
            all.queue_made(GroupId::ROOT, CpuId(cpu));
        }
        all
    }

    /// Records that the next group has been created, below `parent`.
    pub fn group_made(&mut self, parent: GroupId) {
        self.pools.push(Pool::new(Some(parent), self.version));
    }

    /// Records that the next queue has been created, of `group` on `cpu`.
    pub fn queue_made(&mut self, group: GroupId, cpu: CpuId) {
        self.locals.push(Local {
            group,
            cpu,
            enabled: self.pools[group.index()].quota_ns.is_some(),
            throttled: false,
            remaining_ns: self.version.first_ns,
            expires: 0,
            refills: 0,
            throttled_at: None,
            earlier: None,
            later: None,
        });
    }

    /// Whether any group has a quota.
    #[inline]
    pub fn is_used(&self) -> bool {
        self.limited > 0
    }

    /// Whether any group has ever had a quota, so that tasks may have waited while CPUs idled.
    #[inline]
    pub fn was_ever_used(&self) -> bool {
        self.ever_used
    }

    /// Whether queue `q` is throttled itself.
    #[inline]
    pub fn is_throttled(&self, q: Q) -> bool {
        self.limited > 0 && self.locals[q].throttled
    }

    /// `cfs_rq_runtime`: whether queue `q` must be throttled when it is put away or when its first
    /// entity arrives.
    #[inline]
    pub fn has_run_out(&self, q: Q) -> bool {
        self.limited > 0 && {
            let local = &self.locals[q];
            local.enabled && local.remaining_ns <= 0 && !local.throttled
        }
    }

    /// `account_cfs_rq_runtime`: charges queue `q`, which has run for `delta_ns`. Its CPU's clock
    /// reads `now_ns`. Returns `false` if it has no runtime left and gets no more, so that its
    /// running task must yield.
    #[inline]
    pub fn account(&mut self, platform: &mut Platform, q: Q, now_ns: u64, delta_ns: u64) -> bool {
        self.limited == 0 || !self.locals[q].enabled || {
            self.locals[q].remaining_ns -= delta_ns as i64;
            self.expire(q, now_ns);
            // (A throttled queue draws nothing, and the answer for it does not matter.)
            self.locals[q].remaining_ns > 0
                || (!self.version.throttled_draw && self.locals[q].throttled)
                || self.assign(platform, q)
        }
    }

    /// `account_cfs_rq_runtime` from 7.2 on: charges queue `q`, which has run for `delta_ns`. The
    /// queue draws up to a slice if it goes on running (`goes_on`), else the least. Returns `false`
    /// if it has no runtime left and gets none, so that it is throttled at once.
    pub fn account_at_once(
        &mut self,
        platform: &mut Platform,
        q: Q,
        delta_ns: u64,
        goes_on: bool,
    ) -> bool {
        if self.limited == 0 || !self.locals[q].enabled {
            return true;
        }
        let local = &mut self.locals[q];
        local.remaining_ns -= delta_ns as i64;
        local.remaining_ns > 0
            || local.throttled
            || if goes_on { self.assign(platform, q) } else { self.gets_the_least(platform, q) }
    }

    /// `expire_cfs_rq_runtime`: discards runtime drawn in an earlier period.
    fn expire(&mut self, q: Q, now_ns: u64) {
        let local = &mut self.locals[q];
        if !self.version.expires || now_ns < local.expires || local.remaining_ns < 0 {
            return;
        }
        let pool = &self.pools[local.group.index()];
        let is_current = match self.version.expires_by_refill {
            true => local.refills == pool.refills,
            false => local.expires >= pool.runtime_expires,
        };
        if is_current {
            // The period is over by this CPU's clock, but the pool has not been refilled: clocks
            // may differ by a tick.
            local.expires += self.tick_ns;
        } else {
            local.remaining_ns = 0;
        }
    }

    /// `assign_cfs_rq_runtime`: fills queue `q` up to a slice, to the extent that the pool allows.
    /// Returns whether it may continue.
    fn assign(&mut self, platform: &mut Platform, q: Q) -> bool {
        let Local { group, cpu, .. } = self.locals[q];
        self.start_period_timer(platform, group, cpu);
        let pool = &mut self.pools[group.index()];
        let local = &mut self.locals[q];
        let wanted = (self.slice_ns - local.remaining_ns).max(0) as u64;
        if pool.runtime_ns > 0 {
            let given = wanted.min(pool.runtime_ns);
            pool.runtime_ns -= given;
            pool.idle = false;
            local.remaining_ns += given as i64;
        }
        if self.version.expires_by_refill {
            if local.refills != pool.refills {
                local.refills = pool.refills;
                local.expires = pool.runtime_expires;
            }
        } else if (pool.runtime_expires.wrapping_sub(local.expires) as i64) > 0 {
            local.expires = pool.runtime_expires;
        }
        local.remaining_ns > 0
    }

    /// Raises queue `q` just above zero. Later releases try this before they throttle a queue.
    pub fn gets_the_least(&mut self, platform: &mut Platform, q: Q) -> bool {
        if !self.version.second_try {
            return false;
        }
        let Local { group, cpu, .. } = self.locals[q];
        self.start_period_timer(platform, group, cpu);
        let local = &mut self.locals[q];
        let pool = &mut self.pools[local.group.index()];
        let given = pool.runtime_ns.min((1 - local.remaining_ns).max(0) as u64);
        if given > 0 {
            pool.runtime_ns -= given;
            pool.idle = false;
            local.remaining_ns += given as i64;
        }
        local.remaining_ns > 0
    }

    /// Begins a new period if the period timer of `group` is not running: starts the timer on
    /// `cpu`.
    fn start_period_timer(&mut self, platform: &mut Platform, group: GroupId, cpu: CpuId) {
        let now_ns = platform.now_ns();
        let pool = &mut self.pools[group.index()];
        if pool.period_ends.is_none() {
            if self.version.starting_refills {
                // (Later the pool was refilled when the timer last fired, and no queue has drawn
                // from it since.)
                pool.refill(now_ns, self.version.burst);
            }
            let ends_ns = pool.start_end(now_ns, self.version);
            pool.timer_cpu = cpu;
            pool.arm_period_timer(platform, group, ends_ns);
        }
    }

    /// `return_cfs_rq_runtime`: returns all but a small amount to the pool, because the last entity
    /// has left queue `q`.
    pub fn return_slack(&mut self, platform: &mut Platform, q: Q) {
        if self.limited == 0 {
            return;
        }
        let local = &mut self.locals[q];
        let slack = local.remaining_ns - KEPT_NS;
        if !local.enabled || slack <= 0 {
            return;
        }
        let group = local.group;
        let pool = &mut self.pools[group.index()];
        local.remaining_ns = KEPT_NS;
        if self.version.expires && local.expires != pool.runtime_expires {
            return;
        }
        pool.runtime_ns += slack as u64;
        if pool.runtime_ns as i64 > self.slice_ns
            && pool.first_throttled.is_some()
            && (!pool.slack_timer_active || self.version.slack_restarts)
            && !pool.ends_within(platform.now_ns(), MIN_EXPIRATION_NS + SLACK_PERIOD_NS)
        {
            let at_ns = pool.slack_end(platform.now_ns(), self.version);
            pool.slack_timer_active = true;
            platform.arm_timer(slack_timer_of(group), TimerPhase::BeforeTicks, at_ns);
        }
    }

    /// Marks queue `q` as throttled. (Its entity has left its parent's queue.)
    pub fn set_throttled(&mut self, platform: &mut Platform, q: Q, clock_ns: u64) {
        let local = &mut self.locals[q];
        let pool = &mut self.pools[local.group.index()];
        local.throttled = true;
        local.throttled_at = self.version.counts_empty.then_some(clock_ns);
        let (group, cpu) = (local.group, local.cpu);
        if self.version.last_is_first {
            local.earlier = None;
            local.later = pool.first_throttled.replace(q);
            match local.later {
                None => pool.last_throttled = Some(q),
                Some(later) => self.locals[later].earlier = Some(q),
            }
        } else {
            local.earlier = pool.last_throttled.replace(q);
            local.later = None;
            match local.earlier {
                None => pool.first_throttled = Some(q),
                Some(earlier) => self.locals[earlier].later = Some(q),
            }
        }
        self.start_period_timer(platform, group, cpu);
        platform.throttling(|| self.throttling_of(q));
    }

    /// Records that a task waits in queue `q`, or has left it, because the queue is throttled: its
    /// throttled time counts from now on, if it does not yet.
    pub fn task_waits(&mut self, q: Q, clock_ns: u64) {
        let local = &mut self.locals[q];
        if local.throttled {
            local.throttled_at.get_or_insert(clock_ns);
        }
    }

    /// Returns the state of queue `q`, for observers.
    fn throttling_of(&self, q: Q) -> Throttling {
        let Local { group, cpu, throttled, .. } = self.locals[q];
        let pool = &self.pools[group.index()];
        Throttling {
            group,
            cpu,
            is_throttled: throttled,
            quota_ns: pool.quota_ns,
            period_ns: pool.period_ns,
            refill_ns: pool.period_ends,
        }
    }

    /// Marks queue `q` as no longer throttled. (Its entity is about to return.)
    pub fn clear_throttled(&mut self, platform: &mut Platform, q: Q, clock_ns: u64) {
        let local = &mut self.locals[q];
        let pool = &mut self.pools[local.group.index()];
        local.throttled = false;
        if let Some(at_ns) = local.throttled_at.take() {
            pool.throttled_ns += clock_ns - at_ns;
        }
        let (earlier, later) = (local.earlier, local.later);
        match earlier {
            None => pool.first_throttled = later,
            Some(earlier) => self.locals[earlier].later = later,
        }
        match later {
            None => pool.last_throttled = earlier,
            Some(later) => self.locals[later].earlier = earlier,
        }
        platform.throttling(|| self.throttling_of(q));
    }

    /// Handles the expiry of one of the timers.
    pub fn timer(&mut self, platform: &mut Platform, key: TimerKey) -> Expiry {
        let group = GroupId(key.0 / 4 - 1);
        if key == slack_timer_of(group) {
            self.slack_timer(platform, group)
        } else {
            self.period_timer(platform, group)
        }
    }

    /// `do_sched_cfs_period_timer`: handles the end of a period. The timer stops after a period in
    /// which no runtime was drawn.
    fn period_timer(&mut self, platform: &mut Platform, group: GroupId) -> Expiry {
        let now_ns = platform.now_ns();
        let pool = &mut self.pools[group.index()];
        pool.period_ends = None;
        pool.expires_ns = now_ns + pool.period_ns;
        if pool.quota_ns.is_none() {
            return Expiry::Nothing;
        }
        pool.nr_periods += 1;
        if self.version.burst {
            pool.refill(now_ns, true);
        }
        let throttled = pool.first_throttled.is_some();
        if pool.idle && !throttled {
            return Expiry::Nothing;
        }
        pool.arm_period_timer(platform, group, now_ns + pool.period_ns);
        if !self.version.burst {
            pool.refill(now_ns, false);
        }
        if !throttled {
            pool.idle = true;
            return Expiry::Nothing;
        }
        pool.nr_throttled += 1;
        pool.idle = false;
        Expiry::Distribute(group)
    }

    /// `do_sched_cfs_slack_timer`: hands out runtime when the pool has more than a slice and
    /// throttled queues could use it.
    fn slack_timer(&mut self, platform: &mut Platform, group: GroupId) -> Expiry {
        let pool = &mut self.pools[group.index()];
        pool.slack_timer_active = false;
        if pool.quota_ns.is_none()
            || pool.ends_within(platform.now_ns(), MIN_EXPIRATION_NS)
            || pool.runtime_ns as i64 <= self.slice_ns
        {
            return Expiry::Nothing;
        }
        Expiry::Distribute(group)
    }

    /// `distribute_cfs_runtime`, one step: raises the queue of `group` that has been throttled
    /// longest just above zero. Returns `None` if no queue is throttled, or if the pool runs dry.
    /// (The queue has then received the rest.)
    pub fn next_to_release(&mut self, group: GroupId) -> Option<Q> {
        let pool = &mut self.pools[group.index()];
        let q = pool.first_throttled?;
        if pool.runtime_ns == 0 {
            return None;
        }
        let local = &mut self.locals[q];
        let given = pool.runtime_ns.min((1 - local.remaining_ns).max(0) as u64);
        pool.runtime_ns -= given;
        local.remaining_ns += given as i64;
        local.expires = pool.runtime_expires;
        (local.remaining_ns > 0).then_some(q)
    }

    /// `distribute_cfs_runtime`, all steps: raises the throttled queues of `group` just above zero,
    /// in their order, to the extent that the pool allows. The caller then unthrottles those that
    /// [may continue](Bandwidth::may_go_on).
    pub fn distribute(&mut self, group: GroupId) {
        let pool = &mut self.pools[group.index()];
        let mut next = pool.first_throttled;
        while let Some(q) = next
            && pool.runtime_ns > 0
        {
            let local = &mut self.locals[q];
            let given = pool.runtime_ns.min((1 - local.remaining_ns).max(0) as u64);
            pool.runtime_ns -= given;
            local.remaining_ns += given as i64;
            next = local.later;
        }
    }

    /// Whether queue `q` has runtime left.
    pub fn may_go_on(&self, q: Q) -> bool {
        self.locals[q].remaining_ns > 0
    }

    /// Returns the CPU on which the period timer of `group` fires.
    pub fn timer_cpu(&self, group: GroupId) -> CpuId {
        self.pools[group.index()].timer_cpu
    }

    /// Whether queue `q` is in its pool's list of throttled queues, even if its limit has just been
    /// lifted.
    pub fn is_listed(&self, q: Q) -> bool {
        self.locals[q].throttled
    }

    /// Returns the throttled queue after `q`.
    pub fn next_throttled(&self, q: Q) -> Option<Q> {
        self.locals[q].later
    }

    /// Returns the queue of `group` that has been throttled longest.
    pub fn first_throttled(&self, group: GroupId) -> Option<Q> {
        self.pools[group.index()].first_throttled
    }

    /// Implements `tg_set_cfs_bandwidth`, except for the throttled queues, which the fair class
    /// unthrottles afterwards ([`first_throttled`](Bandwidth::first_throttled)). All drawn runtime
    /// becomes void, and the pool is full. `queues` are the queues of the group.
    ///
    /// # Errors
    /// The refusals of the kernel (`EINVAL`), and bursts where the release has none.
    pub fn set_quota(
        &mut self,
        platform: &mut Platform,
        group: GroupId,
        quota: &Quota,
        queues: impl Iterator<Item = Q>,
    ) -> Result<(), Refused> {
        self.check(group, quota)?;
        let version = self.version;
        let pool = &mut self.pools[group.index()];
        self.limited -= u32::from(pool.quota_ns.is_some());
        self.limited += u32::from(quota.quota_us.is_some());
        self.ever_used |= quota.quota_us.is_some();
        pool.quota_ns = quota.quota_us.map(|us| us * 1000);
        pool.period_ns = quota.period_us * 1000;
        pool.burst_ns = quota.burst_us * 1000;
        if let Some(phase_us) = quota.phase_us.filter(|_| pool.period_ends.is_none()) {
            pool.expires_ns = phase_us * 1000 % pool.period_ns;
        }
        pool.refill(platform.now_ns(), version.burst);
        // Later releases leave a running timer alone.
        let keeps_timer = !version.starting_refills && pool.period_ends.is_some();
        let was_active = pool.period_ends.is_some();
        if !keeps_timer {
            pool.period_ends = None;
            platform.cancel_timer(period_timer_of(group));
        }
        if version.starting_refills && core::mem::take(&mut pool.slack_timer_active) {
            platform.cancel_timer(slack_timer_of(group));
        }
        if quota.quota_us.is_some() && !keeps_timer && (was_active || !version.starting_refills) {
            let ends_ns = pool.start_end(platform.now_ns(), version);
            // The caller acts on the first CPU.
            pool.timer_cpu = CpuId(0);
            pool.arm_period_timer(platform, group, ends_ns);
        }
        for q in queues {
            let local = &mut self.locals[q];
            local.enabled = quota.quota_us.is_some();
            local.remaining_ns = version.first_ns;
        }
        Ok(())
    }

    /// Checks that the kernel would accept these values.
    fn check(&self, group: GroupId, quota: &Quota) -> Result<(), Refused> {
        if group == GroupId::ROOT {
            return Err(Errno::Invalid.because("the root group has no quota"));
        }
        if group.index() >= self.pools.len() {
            return Err(Errno::NotFound.because("no such group"));
        }
        let Quota { quota_us, period_us, burst_us, phase_us: _ } = *quota;
        if !PERIOD_US.contains(&period_us) {
            return Err(Errno::Invalid.because(alloc::format!(
                "the period must be {} to {} us, not {period_us}",
                PERIOD_US.start(),
                PERIOD_US.end()
            )));
        }
        if let Some(quota_us) = quota_us
            && !QUOTA_US.contains(&quota_us)
        {
            return Err(Errno::Invalid.because(alloc::format!(
                "the quota must be {} to {} us, not {quota_us}",
                QUOTA_US.start(),
                QUOTA_US.end()
            )));
        }
        if burst_us > 0 && !self.version.burst {
            return Err(Errno::NotSupported.because("this release has no burst: it came with 5.14"));
        }
        if burst_us > quota_us.unwrap_or(u64::MAX).min(*QUOTA_US.end()) {
            return Err(Errno::Invalid.because("the burst must not be more than the quota"));
        }
        if self.version.child_within_parent {
            self.check_hierarchy(group, quota_us.map(|us| ratio(us, period_us)))?;
        }
        Ok(())
    }

    /// `tg_cfs_schedulable_down`: checks that no group would have a larger fraction of the CPU than
    /// its parent if `group` had `part` in units of 2^-20 (`None`: no limit).
    fn check_hierarchy(&self, group: GroupId, part: Option<u64>) -> Result<(), Refused> {
        let mut parts: Vec<Option<u64>> = Vec::with_capacity(self.pools.len());
        for (number, pool) in self.pools.iter().enumerate() {
            let own = if number == group.index() {
                part
            } else {
                pool.quota_ns.map(|quota_ns| ratio(quota_ns, pool.period_ns))
            };
            let above = pool.parent.and_then(|parent| parts[parent.index()]);
            if let (Some(own), Some(above)) = (own, above)
                && own > above
            {
                return Err(Errno::Invalid.because(alloc::format!(
                    "the quota of group {number} would be a larger part of its period than that of \
                     the group it is in"
                )));
            }
            parts.push(own.or(above));
        }
        Ok(())
    }

    /// Returns the value of `sched_cfs_bandwidth_slice_us`.
    pub fn slice_us(&self) -> i64 {
        self.slice_ns / 1000
    }

    /// Writes `sched_cfs_bandwidth_slice_us`.
    pub fn set_slice_us(&mut self, value: i64) {
        self.slice_ns = value * 1000;
    }

    /// Returns the group's counters, except its usage.
    pub fn stats(&self, group: GroupId) -> GroupStats {
        let pool = &self.pools[group.index()];
        GroupStats {
            usage_ns: 0,
            nr_periods: pool.nr_periods,
            nr_throttled: pool.nr_throttled,
            throttled_ns: pool.throttled_ns,
            nr_bursts: pool.nr_bursts,
            burst_ns: pool.burst_used_ns,
            period_phase_ns: pool.quota_ns.map(|_| pool.expires_ns % pool.period_ns),
        }
    }

    /// Checks the accounts for consistency.
    ///
    /// # Errors
    /// A description of the inconsistency.
    pub fn audit(&self) -> Result<(), String> {
        let mut throttled = 0;
        for (group, pool) in self.pools.iter().enumerate() {
            let mut earlier = None;
            let mut next = pool.first_throttled;
            while let Some(q) = next {
                let local = &self.locals[q];
                if local.group.index() != group || !local.throttled || local.earlier != earlier {
                    return Err(alloc::format!(
                        "group {group}: its list of throttled queues is broken"
                    ));
                }
                throttled += 1;
                earlier = Some(q);
                next = local.later;
            }
            if pool.last_throttled != earlier {
                return Err(alloc::format!(
                    "group {group}: its list of throttled queues has a wrong end"
                ));
            }
            if pool.first_throttled.is_some() && pool.period_ends.is_none() {
                return Err(alloc::format!(
                    "group {group} is throttled, but no timer is pending for it"
                ));
            }
            if earlier.is_some() && pool.quota_ns.is_none() {
                return Err(alloc::format!("group {group} is throttled without a quota"));
            }
        }
        for (q, local) in self.locals.enumerate() {
            if local.enabled != self.pools[local.group.index()].quota_ns.is_some() {
                return Err(alloc::format!("queue {} has a wrong enabled flag", q.index()));
            }
        }
        if throttled != self.locals.iter().filter(|local| local.throttled).count() {
            return Err("a throttled queue is in no list".into());
        }
        Ok(())
    }
}

/// `to_ratio`: returns a fraction of a period, in units of 2^-20.
fn ratio(quota: u64, period: u64) -> u64 {
    ((u128::from(quota) << 20) / u128::from(period)) as u64
}

impl<Q> Pool<Q> {
    /// Returns the end of a period that begins now. A timer continues where it stopped: at its next
    /// scheduled expiry, or whole periods after that. (In later releases the first expiry is at a
    /// random fraction of a period. Here the fraction is the phase of [`Quota`].)
    fn next_end(&mut self, now_ns: u64) -> u64 {
        if self.expires_ns <= now_ns {
            let since = (now_ns - self.expires_ns) % self.period_ns;
            self.expires_ns = now_ns - since + self.period_ns;
        }
        self.expires_ns
    }

    /// The end of the period for which the timer is started. Where runtime expires by refills, the
    /// time of expiry moves on by as many periods, and what was drawn before counts as old.
    fn start_end(&mut self, now_ns: u64, version: BandwidthVersion) -> u64 {
        let before = self.expires_ns;
        let ends_ns = self.next_end(now_ns);
        if version.expires_by_refill {
            let overrun = (ends_ns - before) / self.period_ns;
            self.runtime_expires += (overrun + 1) * self.period_ns;
            self.refills += 1;
        }
        ends_ns
    }

    /// Returns the time at which a slack timer started now fires. Up to 4.2 it continues from its
    /// last expiry by whole slack periods, so that it keeps to a grid. (Derived from golden
    /// schedules of 3.10.)
    fn slack_end(&mut self, now_ns: u64, version: BandwidthVersion) -> u64 {
        let at_ns = if version.starting_refills {
            let periods = now_ns.saturating_sub(self.slack_ends_ns) / SLACK_PERIOD_NS + 1;
            self.slack_ends_ns + periods * SLACK_PERIOD_NS
        } else {
            now_ns + SLACK_PERIOD_NS
        };
        self.slack_ends_ns = at_ns;
        at_ns
    }

    fn new(parent: Option<GroupId>, version: BandwidthVersion) -> Pool<Q> {
        Pool {
            parent,
            quota_ns: None,
            period_ns: 100_000_000,
            burst_ns: 0,
            runtime_ns: 0,
            runtime_snap_ns: 0,
            runtime_expires: 0,
            refills: 0,
            // Later releases let one period pass first.
            idle: version.starting_refills,
            period_ends: None,
            expires_ns: 0,
            timer_cpu: CpuId(0),
            slack_timer_active: false,
            slack_ends_ns: 0,
            first_throttled: None,
            last_throttled: None,
            nr_periods: 0,
            nr_throttled: 0,
            throttled_ns: 0,
            nr_bursts: 0,
            burst_used_ns: 0,
        }
    }

    /// `__refill_cfs_bandwidth_runtime`: adds the quota of a new period. Without bursts the
    /// remainder of the old period is lost.
    fn refill(&mut self, now_ns: u64, burst: bool) {
        let Some(quota_ns) = self.quota_ns else {
            return;
        };
        self.runtime_expires = now_ns + self.period_ns;
        self.refills += 1;
        if !burst {
            self.runtime_ns = quota_ns;
            return;
        }
        self.runtime_ns += quota_ns;
        // More than a quota was used.
        if self.runtime_snap_ns > self.runtime_ns {
            self.nr_bursts += 1;
            self.burst_used_ns += self.runtime_snap_ns - self.runtime_ns;
        }
        self.runtime_ns = self.runtime_ns.min(quota_ns + self.burst_ns);
        self.runtime_snap_ns = self.runtime_ns;
    }

    fn arm_period_timer(&mut self, platform: &mut Platform, group: GroupId, at_ns: u64) {
        self.period_ends = Some(at_ns);
        platform.arm_timer(period_timer_of(group), TimerPhase::BeforeTicks, at_ns);
    }

    /// `runtime_refresh_within`: whether the next refill is less than `ns` away.
    fn ends_within(&self, now_ns: u64, ns: u64) -> bool {
        self.period_ends.is_some_and(|at_ns| at_ns < now_ns + ns)
    }
}
