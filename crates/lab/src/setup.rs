//! Configuration before a run, as an administrator does it: sets tunables, creates groups.

use crate::error::Error;
use crate::select::Choice;
use schedlab_core::{Administer, CpuSet, GroupId, Quota, Scheduler, Topology};
use schedlab_machine::costs::{CallCosts, Cost, CostModel, Setup};
use schedlab_machine::{Machine, MachineGroup, Observer, Workload};
use schedlab_measure::fairness::Weights;
use schedlab_sched::classes::weights::{PRIO_TO_WEIGHT, WEIGHT_IDLEPRIO};

/// A group to create.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewGroup<'a> {
    /// Path, for messages.
    pub path: &'a str,
    /// Place of its parent among the groups to create. `None`: the root.
    pub parent: Option<usize>,
    /// Weight as `cpu.shares`.
    pub shares: u64,
    /// Whether the whole group is idle (`cpu.idle`). A scheduler without idle groups gives it the
    /// smallest weight.
    pub idle: bool,
    /// Limit. `None`: no limit.
    pub quota: Option<Quota>,
    /// CPUs. `None`: the CPUs of its parent.
    pub cpus: Option<CpuSet>,
    /// Whether it is frozen from the beginning.
    pub frozen: bool,
}

/// Weights that determine each priority's share of the ideal machine.
pub fn weights() -> Weights {
    Weights::new(&PRIO_TO_WEIGHT, WEIGHT_IDLEPRIO)
}

impl<'a> NewGroup<'a> {
    /// Returns a group below the root with only a weight.
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

/// Numbers of `groups` new groups: they count from 1 in the order of creation.
pub fn group_ids(groups: usize) -> Vec<GroupId> {
    (1..=groups as u32).map(GroupId).collect()
}

/// Sets tunables and creates groups on a machine that has not run yet.
///
/// # Errors
/// The scheduler refuses a setting.
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
                // A scheduler without idle groups uses the weight, which is the smallest.
                let _ = scheduler.group_set_idle(platform, made, true);
            }
            // Parents are limited before their children, whose share of the time must not be
            // larger.
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

/// Returns the parent of each of `groups`.
pub fn parents(groups: &[NewGroup<'_>]) -> Vec<GroupId> {
    let ids = group_ids(groups.len());
    groups.iter().map(|group| group.parent.map_or(GroupId::ROOT, |parent| ids[parent])).collect()
}

/// Prepares a cost model for a release on a machine of this topology with `hz` ticks a second.
/// `nohz`: whether idle CPUs stop their ticks; `None`: as in the release.
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

/// Costs of programs' calls under a release.
pub fn calls(model: &CostModel, choice: &Choice) -> CallCosts {
    model.calls_of(&choice.entry, &choice.release)
}
