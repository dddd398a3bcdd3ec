//! A scheduler from the registry, ready to be put into a machine.

use crate::select::Choice;
use schedlab_core::interface::Load;
use schedlab_core::{
    BlockReason, Clairvoyant, CpuId, CpuSet, GroupId, GroupStats, Locking, Parent, Platform,
    Promises, SchedAttr, Scheduler, TaskAttr, TaskId, TimerKey, Tunable, TunableError, Waker,
};
use schedlab_core::{Build, BuildConfig};
use schedlab_machine::{Config, Machine, Observer, Workload};

/// A scheduler of either kind: one that sees what a kernel sees, or one that is told the future.
pub enum Built {
    /// Sees what a kernel's scheduler sees.
    Ordinary(Box<dyn Scheduler>),
    /// Is told how long bursts will be.
    Clairvoyant(Box<dyn Clairvoyant>),
}

impl Built {
    /// Builds what was chosen.
    pub fn new(choice: &Choice, config: &BuildConfig) -> Built {
        match choice.release.build {
            Build::Ordinary(make) => Built::Ordinary(make(config)),
            Build::Clairvoyant(make) => Built::Clairvoyant(make(config)),
        }
    }

    /// Whether it must be told the future.
    pub fn is_clairvoyant(&self) -> bool {
        matches!(self, Built::Clairvoyant(_))
    }
}

impl Clairvoyant for Built {
    fn next_burst(&mut self, task: TaskId, burst_ns: u64) {
        if let Built::Clairvoyant(scheduler) = self {
            scheduler.next_burst(task, burst_ns);
        }
    }
}

/// A machine with a scheduler that may or may not be told the future.
pub fn machine<S, W, O>(
    config: Config,
    scheduler: S,
    told_the_future: bool,
    workload: W,
    observer: O,
) -> Machine<S, W, O>
where
    S: Clairvoyant,
    W: Workload,
    O: Observer,
{
    if told_the_future {
        Machine::clairvoyant(config, scheduler, workload, observer)
    } else {
        Machine::new(config, scheduler, workload, observer)
    }
}

/// Calls the same method of whichever it is.
macro_rules! either {
    ($self:ident . $method:ident ( $($argument:expr),* )) => {
        match $self {
            Built::Ordinary(scheduler) => scheduler.$method($($argument),*),
            Built::Clairvoyant(scheduler) => scheduler.$method($($argument),*),
        }
    };
}

impl Scheduler for Built {
    fn fork(&mut self, platform: &mut Platform, task: TaskId, attr: &TaskAttr, parent: Parent) {
        either!(self.fork(platform, task, attr, parent))
    }
    fn wake(&mut self, platform: &mut Platform, task: TaskId, waker: Waker) {
        either!(self.wake(platform, task, waker))
    }
    fn block(&mut self, platform: &mut Platform, cpu: CpuId, task: TaskId, reason: BlockReason) {
        either!(self.block(platform, cpu, task, reason))
    }
    fn tick(&mut self, platform: &mut Platform, cpu: CpuId) {
        either!(self.tick(platform, cpu))
    }
    fn schedule(&mut self, platform: &mut Platform, cpu: CpuId) -> Option<TaskId> {
        either!(self.schedule(platform, cpu))
    }
    fn yield_now(&mut self, platform: &mut Platform, cpu: CpuId, task: TaskId) {
        either!(self.yield_now(platform, cpu, task))
    }
    fn set_attr(&mut self, platform: &mut Platform, task: TaskId, attr: &SchedAttr, by: CpuId) {
        either!(self.set_attr(platform, task, attr, by))
    }
    fn set_affinity(&mut self, platform: &mut Platform, task: TaskId, allowed: &CpuSet) {
        either!(self.set_affinity(platform, task, allowed))
    }
    fn honours_affinity(&self) -> bool {
        either!(self.honours_affinity())
    }
    fn cpu_offline(&mut self, platform: &mut Platform, cpu: CpuId) -> Result<(), String> {
        either!(self.cpu_offline(platform, cpu))
    }
    fn cpu_online(&mut self, platform: &mut Platform, cpu: CpuId) -> Result<(), String> {
        either!(self.cpu_online(platform, cpu))
    }
    fn kill(&mut self, platform: &mut Platform, task: TaskId) {
        either!(self.kill(platform, task))
    }
    fn reap(&mut self, platform: &mut Platform, task: TaskId, parent: Option<TaskId>) {
        either!(self.reap(platform, task, parent))
    }
    fn timer(&mut self, platform: &mut Platform, key: TimerKey) {
        either!(self.timer(platform, key))
    }
    fn locking(&self) -> Locking {
        either!(self.locking())
    }
    fn cpu_of(&self, task: TaskId) -> CpuId {
        either!(self.cpu_of(task))
    }
    fn group_new(
        &mut self,
        platform: &mut Platform,
        parent: GroupId,
        shares: u64,
    ) -> Result<GroupId, String> {
        either!(self.group_new(platform, parent, shares))
    }
    fn group_set_shares(
        &mut self,
        platform: &mut Platform,
        group: GroupId,
        shares: u64,
    ) -> Result<(), String> {
        either!(self.group_set_shares(platform, group, shares))
    }
    fn group_set_quota(
        &mut self,
        platform: &mut Platform,
        group: GroupId,
        quota_us: Option<u64>,
        period_us: u64,
        burst_us: u64,
    ) -> Result<(), String> {
        either!(self.group_set_quota(platform, group, quota_us, period_us, burst_us))
    }
    fn group_set_idle(
        &mut self,
        platform: &mut Platform,
        group: GroupId,
        idle: bool,
    ) -> Result<(), String> {
        either!(self.group_set_idle(platform, group, idle))
    }
    fn group_stats(&self, group: GroupId) -> Result<GroupStats, String> {
        either!(self.group_stats(group))
    }
    fn set_group(
        &mut self,
        platform: &mut Platform,
        task: TaskId,
        group: GroupId,
    ) -> Result<(), String> {
        either!(self.set_group(platform, task, group))
    }
    fn tunables(&self) -> Vec<Tunable> {
        either!(self.tunables())
    }
    fn set_tunable(
        &mut self,
        platform: &mut Platform,
        name: &str,
        value: i64,
    ) -> Result<(), TunableError> {
        either!(self.set_tunable(platform, name, value))
    }
    fn promises(&self, load: &Load) -> Promises {
        either!(self.promises(load))
    }
    fn describe_domains(&self) -> Option<String> {
        either!(self.describe_domains())
    }
    fn audit(&self) -> Result<(), String> {
        either!(self.audit())
    }
}
