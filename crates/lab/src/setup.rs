//! What an administrator does before a run: set tunables, make groups.

use crate::error::Error;
use crate::select::Choice;
use schedlab_core::{Administer, CpuSet, GroupId, Quota, Scheduler, Topology};
use schedlab_machine::costs::{CallCosts, Cost, CostModel, Setup};
use schedlab_machine::{Machine, MachineGroup, Observer, Workload};
use schedlab_measure::fairness::Weights;
use schedlab_sched::classes::weights::{PRIO_TO_WEIGHT, WEIGHT_IDLEPRIO};

/// A group to be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewGroup<'a> {
    /// Its path, for messages.
    pub path: &'a str,
    /// The group it is in, by its place among those to be made; none = the root.
    pub parent: Option<usize>,
    /// Its weight as `cpu.shares`.
    pub shares: u64,
    /// Whether it is idle as a whole (`cpu.idle`). A scheduler without such groups gives it the
    /// least weight.
    pub idle: bool,
    /// Its limit; none = no limit.
    pub quota: Option<Quota>,
    /// CPUs of its own; none = its parent's.
    pub cpus: Option<CpuSet>,
    /// Whether it is frozen from the beginning.
    pub frozen: bool,
}

/// What share of the ideal machine each priority is entitled to.
pub fn weights() -> Weights {
    Weights::new(&PRIO_TO_WEIGHT, WEIGHT_IDLEPRIO)
}

impl<'a> NewGroup<'a> {
    /// A group below the root of which only the weight is set.
    pub fn weighing(path: &'a str, shares: u64) -> NewGroup<'a> {
        NewGroup { path, parent: None, shares, idle: false, quota: None, cpus: None, frozen: false }
    }
}

impl<'a> From<&'a schedlab_workload::Group> for NewGroup<'a> {
    fn from(group: &'a schedlab_workload::Group) -> NewGroup<'a> {
        NewGroup {
            path: &group.path,
            parent: group.parent,
            shares: group.shares,
            idle: group.idle,
            quota: Some(group.quota).filter(|quota| quota.quota_us.is_some()),
            cpus: group.own_cpus.clone(),
            frozen: group.own_frozen,
        }
    }
}

/// The numbers that groups will have: they count from 1 in the order of their making.
pub fn group_ids(groups: usize) -> Vec<GroupId> {
    (1..=groups as u32).map(GroupId).collect()
}

/// Sets tunables and makes groups on a machine that has not run yet.
///
/// # Errors
/// What the scheduler refuses.
pub fn administer<S, W, O>(
    machine: &mut Machine<S, W, O>,
    tunables: &[(impl AsRef<str>, i64)],
    groups: &[NewGroup<'_>],
) -> Result<(), Error>
where
    S: Scheduler,
    W: Workload,
    O: Observer,
{
    let parents = parents(groups);
    machine.administer(|scheduler, platform| {
        for (name, value) in tunables {
            let (name, value) = (name.as_ref(), *value);
            scheduler.set_tunable(platform, name, value).map_err(|error| Error::Tunable {
                name: name.into(),
                value,
                error,
            })?;
        }
        let ids = group_ids(groups.len());
        for ((group, id), &parent) in groups.iter().zip(&ids).zip(&parents) {
            let made = scheduler.group_new(platform, parent, group.shares);
            let refused = |message: String| Error::Group { path: group.path.into(), message };
            let made = made.map_err(|error| refused(error.to_string()))?;
            if made != *id {
                return Err(refused(format!("it became number {}, not {}", made.0, id.0)));
            }
            if group.idle {
                // Where there are no idle groups the weight, which is the least there is, has to
                // do.
                let _ = scheduler.group_set_idle(platform, made, true);
            }
            // Parents are limited before their children, whose part of the time may not be larger.
            if let Some(quota) = group.quota {
                let limited = scheduler.group_set_quota(platform, made, quota);
                limited.map_err(|error| refused(error.to_string()))?;
            }
        }
        Ok(())
    })?;
    let known = groups.iter().zip(parents).map(|(group, parent)| MachineGroup {
        parent,
        cpus: group.cpus.clone(),
        frozen: group.frozen,
    });
    machine.describe_groups(known.collect());
    Ok(())
}

/// The group that each of `groups` is in.
pub fn parents(groups: &[NewGroup<'_>]) -> Vec<GroupId> {
    let ids = group_ids(groups.len());
    groups.iter().map(|group| group.parent.map_or(GroupId::ROOT, |parent| ids[parent])).collect()
}

/// A cost model made ready for a release on a machine of this shape with `hz` ticks a second.
/// `nohz`: whether idle CPUs go without ticks; none: as the release has it.
///
/// # Errors
/// [`Error::Ticks`].
pub fn costs(
    model: &CostModel,
    choice: &Choice,
    topology: &Topology,
    hz: u32,
    nohz: Option<bool>,
) -> Result<Setup, Error> {
    let (entry, release) = (choice.entry.as_ref(), choice.release.as_ref());
    let nohz = nohz.unwrap_or(release.can.nohz);
    let setup = Setup::new(model, topology, Some((entry, release)), nohz);
    let tick_ns = (setup.kernel[Cost::Tick] + setup.kernel[Cost::Interrupt]) / 1000;
    let period_ns = 1_000_000_000 / u64::from(hz.max(1));
    if tick_ns >= period_ns {
        return Err(Error::Ticks { tick_ns, period_ns });
    }
    Ok(setup)
}

/// What programs' calls cost under a release.
pub fn calls(model: &CostModel, choice: &Choice) -> CallCosts {
    model.calls_of(&choice.entry, &choice.release)
}
