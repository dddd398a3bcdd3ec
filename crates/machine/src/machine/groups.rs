//! What control groups mean to the machine rather than to its scheduler: the CPUs of a group
//! (`cpuset.cpus`) and the freezer.
//!
//! * A task may use the CPUs that its owner allows it, that its **group** has, and that are on
//!   line. A group has those of its own CPUs that its parent has; if there are none of these (or
//!   none on line), its parent's. If a task's owner allows none of its group's CPUs it uses the
//!   group's. What the owner said is remembered, and counts again when the group changes, as in
//!   version 2 of control groups.
//! * A group is **frozen** if it or one that it is in was frozen. A task that comes to such a group
//!   stops, one that leaves it goes on.

use super::signals::Signals;
use super::{Machine, TaskState};
use crate::machine::ActionError;
use crate::workload::Workload;
use schedlab_core::{
    Administer, CpuSet, Errno, Event, GroupId, Observer, Request, Scheduler, TaskId,
};

/// A group as the machine knows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MachineGroup {
    /// The group it is in, with a lower number.
    pub parent: GroupId,
    /// CPUs of its own; none = its parent's.
    pub cpus: Option<CpuSet>,
    /// Whether it was itself frozen.
    pub frozen: bool,
}

/// The groups, and what follows for each.
#[derive(Clone, Debug, Default)]
pub(super) struct Groups {
    /// By number; the root is the first. Empty: nothing is known of any group.
    rows: Vec<MachineGroup>,
    /// By number: the CPUs that its tasks may use now. Empty: all that are on line, in every group.
    usable: Vec<CpuSet>,
}

impl Groups {
    /// Whether any group has CPUs of its own.
    pub fn has_cpusets(&self) -> bool {
        !self.usable.is_empty()
    }

    pub fn is_frozen(&self, group: GroupId) -> bool {
        let mut at = group;
        while let Some(row) = self.rows.get(at.0 as usize) {
            if row.frozen || at == GroupId::ROOT {
                return row.frozen;
            }
            at = row.parent;
        }
        false
    }

    /// Works out anew what CPUs each group has, of `cpus`, of which `online` can be used.
    pub fn settle(&mut self, cpus: u32, online: &CpuSet) {
        self.usable.clear();
        if self.rows.iter().all(|row| row.cpus.is_none()) {
            return;
        }
        // Of each group what it would have were all CPUs on line; parents come first.
        let mut effective: Vec<CpuSet> = Vec::with_capacity(self.rows.len());
        for (number, row) in self.rows.iter().enumerate() {
            if number == 0 {
                effective.push(CpuSet::All);
                self.usable.push(online.clone());
                continue;
            }
            let above = effective[row.parent.0 as usize].clone();
            let own = row.cpus.as_ref().and_then(|own| common(cpus, own, &above)).unwrap_or(above);
            let usable = common(cpus, &own, online);
            self.usable.push(usable.unwrap_or_else(|| self.usable[row.parent.0 as usize].clone()));
            effective.push(own);
        }
    }
}

/// The CPUs that are in both; none if there is none.
pub(super) fn common(cpus: u32, one: &CpuSet, other: &CpuSet) -> Option<CpuSet> {
    match (one, other) {
        (CpuSet::All, both) | (both, CpuSet::All) => both.first(cpus).map(|_| both.clone()),
        (one, other) => {
            let both = CpuSet::from_cpus(one.iter(cpus).filter(|&cpu| other.contains(cpu)));
            both.first(cpus).map(|_| both)
        }
    }
}

impl<S: Scheduler, W: Workload, O: Observer> Machine<S, W, O> {
    /// Tells the machine which groups there are, in the order of their numbers from 1 on, and what
    /// CPUs they have and whether they are frozen. For a machine that has not run yet; the
    /// scheduler has been given its own.
    pub fn describe_groups(&mut self, groups: Vec<MachineGroup>) {
        let root = MachineGroup { parent: GroupId::ROOT, cpus: None, frozen: false };
        self.groups.rows = std::iter::once(root).chain(groups).collect();
        self.groups.settle(self.platform.cpus(), &self.online);
        for number in 0..self.tasks.len() {
            self.freeze_by_group(TaskId(number as u32));
        }
    }

    /// The CPUs that tasks of `group` may use now.
    pub(super) fn usable_of_group(&self, group: GroupId) -> &CpuSet {
        self.groups.usable.get(group.0 as usize).unwrap_or(&self.online)
    }

    /// Of `allowed` what a task of `group` may use now; none if there is nothing.
    pub(super) fn usable(&self, allowed: &CpuSet, group: GroupId) -> Option<CpuSet> {
        common(self.platform.cpus(), self.usable_of_group(group), allowed)
    }

    /// Where `task` may run now. If no CPU of its own is on line it may run on any of its group's
    /// from now on.
    pub(super) fn narrow(&mut self, task: TaskId) -> CpuSet {
        let row = &self.settings[task.index()];
        let group = row.group;
        if let Some(usable) = self.usable(&row.allowed, group) {
            return usable;
        }
        if common(self.platform.cpus(), &self.online, &row.allowed).is_none() {
            self.settings[task.index()].allowed = CpuSet::All;
        }
        self.usable_of_group(group).clone()
    }

    /// Tells the scheduler where `task`, which is alive, may run from now on.
    pub(super) fn report_usable(&mut self, task: TaskId, usable: CpuSet) -> Result<(), Errno> {
        let refusals = self.platform.refusals.len();
        self.scheduler.set_affinity(&mut self.platform, task, &usable);
        let refused = self.platform.refusals.get(refusals).map(|&(_, why)| why);
        self.apply_requests();
        match refused {
            Some(why) => Err(why),
            None => {
                self.settings[task.index()].reported = usable;
                Ok(())
            }
        }
    }

    /// Gives the scheduler the affinity of every task that has another than it was last given.
    fn report_all_usable(&mut self) {
        for number in 0..self.tasks.len() {
            let task = TaskId(number as u32);
            if self.is_about(task) {
                let usable = self.narrow(task);
                if usable != self.settings[number].reported {
                    // A deadline task that the scheduler does not let go stays where it is. Nobody
                    // asked for it in particular, so nobody is told but the observer.
                    let outside = std::mem::replace(&mut self.from_outside, false);
                    self.request = Request::Affinity;
                    let _ = self.report_usable(task, usable);
                    self.from_outside = outside;
                }
            }
        }
    }

    /// Whether `task` has been born and not ended.
    pub(super) fn is_about(&self, task: TaskId) -> bool {
        !matches!(
            self.tasks[task.index()].state,
            TaskState::New | TaskState::Zombie | TaskState::Reaped
        )
    }

    /// `task`, which is alive, goes over to `group`: first to its CPUs, then to its share, as the
    /// kernel's controllers follow on each other.
    pub(super) fn change_group(&mut self, task: TaskId, group: GroupId) -> Result<(), ActionError> {
        let old = std::mem::replace(&mut self.settings[task.index()].group, group);
        let moved = self.follow_cpus(task).map_err(ActionError::Refused).and_then(|()| {
            self.scheduler.set_group(&mut self.platform, task, group).map_err(ActionError::Control)
        });
        if moved.is_err() {
            self.settings[task.index()].group = old;
            // What was granted before cannot be refused now.
            let _ = self.follow_cpus(task);
            return moved;
        }
        self.observer.on(self.now_ns, Event::GroupChanged { task, group });
        self.apply_requests();
        self.freeze_by_group(task);
        Ok(())
    }

    /// Tells the observer that `task` does not come to another group, unless it has been told.
    pub(super) fn group_refused(&mut self, task: TaskId, error: &ActionError) {
        if let ActionError::Control(error) = error {
            self.refused(task, Request::Group, error.errno());
        }
    }

    /// `task` may use other CPUs if its group's differ.
    fn follow_cpus(&mut self, task: TaskId) -> Result<(), Errno> {
        if !self.groups.has_cpusets() {
            return Ok(());
        }
        let usable = self.narrow(task);
        if usable == self.settings[task.index()].reported {
            Ok(())
        } else {
            self.request = Request::Group;
            self.report_usable(task, usable)
        }
    }

    /// Stops `task` if its group is frozen, and lets it go on if not.
    pub(super) fn freeze_by_group(&mut self, task: TaskId) {
        let row = &self.tasks[task.index()];
        let ended = matches!(row.state, TaskState::Zombie | TaskState::Reaped);
        let frozen = self.groups.is_frozen(self.settings[task.index()].group);
        if ended || frozen == row.signals.has(Signals::GROUP) {
            return;
        }
        if frozen {
            self.post(task, Signals::GROUP);
        } else {
            self.release(task, Signals::GROUP);
        }
    }

    fn group_row(&mut self, group: GroupId) -> Result<&mut MachineGroup, ActionError> {
        let known = group != GroupId::ROOT && (group.0 as usize) < self.groups.rows.len();
        if known {
            Ok(&mut self.groups.rows[group.0 as usize])
        } else {
            Err(ActionError::NoSuchGroup(group))
        }
    }

    pub(super) fn set_group_frozen(
        &mut self,
        group: GroupId,
        frozen: bool,
    ) -> Result<(), ActionError> {
        self.group_row(group)?.frozen = frozen;
        for number in 0..self.tasks.len() {
            self.freeze_by_group(TaskId(number as u32));
        }
        Ok(())
    }

    pub(super) fn set_group_cpus(
        &mut self,
        group: GroupId,
        cpus: Option<CpuSet>,
    ) -> Result<(), ActionError> {
        if cpus.as_ref().is_some_and(|cpus| cpus.first(self.platform.cpus()).is_none()) {
            return Err(ActionError::Refused(Errno::Invalid));
        }
        self.group_row(group)?.cpus = cpus;
        self.groups.settle(self.platform.cpus(), &self.online);
        self.report_all_usable();
        Ok(())
    }
}
