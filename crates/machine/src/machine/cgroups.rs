//! Applying the CPUs and the freezer of [groups](super::groups) to tasks.

use super::Machine;
use super::action_error::ActionError;
use super::config::TaskState;
use super::groups::{MachineGroup, common};
use super::signals::Signals;
use crate::workload::Workload;
use schedlab_core::{
    Administer, CpuSet, Errno, Event, GroupId, Observer, Request, Scheduler, TaskId,
};

impl<S: Scheduler, W: Workload, O: Observer> Machine<S, W, O> {
    /// Gives the machine the groups in the order of their numbers, from 1, with their CPUs and
    /// freezer states. For a machine that has not run yet. The scheduler is given its groups
    /// separately.
    pub fn describe_groups(&mut self, groups: Vec<MachineGroup>) {
        let root = MachineGroup { parent: GroupId::ROOT, cpus: None, frozen: false };
        self.groups.rows = std::iter::once(root).chain(groups).collect();
        self.groups.settle(self.platform.cpus(), &self.online);
        for number in 0..self.tasks.len() {
            self.freeze_by_group(TaskId(number as u32));
        }
    }

    /// Returns the CPUs that tasks of `group` may use now.
    fn usable_of_group(&self, group: GroupId) -> &CpuSet {
        self.groups.usable.get(group.0 as usize).unwrap_or(&self.online)
    }

    /// Returns the part of `allowed` that a task of `group` may use now; `None` if it is empty.
    pub(super) fn usable(&self, allowed: &CpuSet, group: GroupId) -> Option<CpuSet> {
        common(self.platform.cpus(), self.usable_of_group(group), allowed)
    }

    /// Returns the CPUs on which `task` may run now. If none of its own CPUs is online, it may run
    /// on any of its group's from now on.
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

    /// Reports to the scheduler where `task`, which is alive, may run from now on.
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

    /// Gives the scheduler the affinity of every task whose affinity has changed since the last
    /// report.
    fn report_all_usable(&mut self) {
        for number in 0..self.tasks.len() {
            let task = TaskId(number as u32);
            if self.is_alive(task) {
                let usable = self.narrow(task);
                if usable != self.settings[number].reported {
                    // A deadline task that the scheduler keeps stays where it is. No caller
                    // requested this move in particular, so only the observer is notified.
                    let outside = std::mem::replace(&mut self.from_outside, false);
                    self.request = Request::Affinity;
                    let _ = self.report_usable(task, usable);
                    self.from_outside = outside;
                }
            }
        }
    }

    /// Whether `task` has been born and has not ended.
    pub(super) fn is_alive(&self, task: TaskId) -> bool {
        !matches!(
            self.tasks[task.index()].state,
            TaskState::New | TaskState::Zombie | TaskState::Reaped
        )
    }

    /// Moves `task`, which is alive, to `group`: first to its CPUs, then to its share, in the order
    /// of the kernel's controllers.
    pub(super) fn change_group(&mut self, task: TaskId, group: GroupId) -> Result<(), ActionError> {
        let old = std::mem::replace(&mut self.settings[task.index()].group, group);
        let moved = self.follow_cpus(task).map_err(ActionError::Refused).and_then(|()| {
            self.scheduler.set_group(&mut self.platform, task, group).map_err(ActionError::Control)
        });
        if moved.is_err() {
            self.settings[task.index()].group = old;
            // A CPU set that was granted before cannot be refused now.
            let _ = self.follow_cpus(task);
            return moved;
        }
        self.observer.on(self.now_ns, Event::GroupChanged { task, group });
        self.apply_requests();
        self.freeze_by_group(task);
        Ok(())
    }

    /// Reports to the observer that `task` was not moved, unless that has been reported.
    pub(super) fn group_refused(&mut self, task: TaskId, error: &ActionError) {
        if let ActionError::Control(error) = error {
            self.refused(task, Request::Group, error.errno());
        }
    }

    /// Updates the usable CPUs of `task` if its group has changed them.
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

    /// Stops `task` if its group is frozen, and releases it if not.
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
