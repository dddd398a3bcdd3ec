//! State of the groups during a run. A write to a group is checked against its current state.

use crate::cgroups::write::Write;
use crate::cgroups::{Group, GroupPlan, is_within};
use schedlab_core::{Errno, GroupId};
use schedlab_machine::{Action, ActionError};

/// Groups with their numbers.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    rows: Vec<Row>,
}

#[derive(Clone, Debug)]
struct Row {
    id: GroupId,
    group: Group,
    /// The quota in hundredths of the period, if it was last set so.
    percent: Option<u64>,
}

impl Groups {
    /// Returns the groups of `plan`, numbered `ids`, as at the beginning of a run.
    pub fn new(plan: &GroupPlan, ids: &[GroupId]) -> Groups {
        let row =
            |(group, &id): (&Group, &GroupId)| Row { id, group: group.clone(), percent: None };
        Groups { rows: plan.groups().iter().zip(ids).map(row).collect() }
    }

    /// Returns the number of a group, or the root's if the name is unknown.
    pub fn id(&self, path: &str) -> GroupId {
        self.rows.iter().find(|row| row.group.path == path).map_or(GroupId::ROOT, |row| row.id)
    }

    /// Returns the numbers of a group and its descendants; "" is the root.
    pub fn below(&self, path: &str) -> Vec<GroupId> {
        let inside = |row: &&Row| is_within(&row.group.path, path);
        let below = self.rows.iter().filter(inside).map(|row| row.id);
        below.chain(path.is_empty().then_some(GroupId::ROOT)).collect()
    }

    /// Writes to the file `name` of the group `path`; `act` performs the resulting actions on the
    /// machine.
    ///
    /// # Errors
    /// If the kernel would refuse the write in the group's current state, or if the machine does.
    /// Nothing has changed in that case.
    pub fn write(
        &mut self,
        path: &str,
        (name, write): (&str, &Write),
        mut act: impl FnMut(Action) -> Result<(), ActionError>,
    ) -> Result<(), ActionError> {
        let Some(row) = self.rows.iter_mut().find(|row| row.group.path == path) else {
            return Err(ActionError::NoSuchGroup(GroupId::ROOT));
        };
        let (id, mut percent) = (row.id, row.percent);
        let mut group = row.group.clone();
        group.write(&mut percent, name, write).map_err(|fault| {
            let message = format!("EINVAL: {}", fault.message);
            ActionError::Control(Errno::Invalid.because(message).into())
        })?;
        match write {
            Write::Shares(_) => act(Action::SetShares { group: id, shares: group.shares })?,
            // Where there are no idle groups, the minimum weight is used instead.
            Write::Idle(idle) if group.idle != row.group.idle => {
                act(Action::SetIdle { group: id, idle: *idle })
                    .or_else(|_| act(Action::SetShares { group: id, shares: group.shares }))?;
            }
            Write::Phase(_) if row.group.quota.quota_us.is_some() => {
                let what =
                    "EINVAL: the phase of running periods cannot be set: set it before the limit";
                return Err(ActionError::Control(Errno::Invalid.because(what).into()));
            }
            Write::Quota { .. } | Write::QuotaPercent(_) | Write::Period(_) | Write::Burst(_) => {
                act(Action::SetQuota { group: id, quota: group.quota })?;
            }
            Write::Cpus(_) => {
                act(Action::SetGroupCpus { group: id, cpus: group.own_cpus.clone() })?
            }
            Write::Frozen(true) => act(Action::FreezeGroup(id))?,
            Write::Frozen(false) => act(Action::ThawGroup(id))?,
            Write::Idle(_) | Write::Phase(_) | Write::Noted(_) | Write::Nothing => {}
        }
        (row.group, row.percent) = (group, percent);
        Ok(())
    }
}
