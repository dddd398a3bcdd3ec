//! Changes that an administrator or a script makes to the machine while it runs.

use super::Machine;
use super::action_error::ActionError;
use super::config::TaskState;
use super::signals::Signals;
use crate::workload::Workload;
use schedlab_core::{
    Command, CpuId, CpuSet, Errno, GroupId, Observer, Quota, SchedAttr, Scheduler, TaskId,
};

/// A change to a running machine, made by [`Machine::act`].
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Action {
    /// Change scheduling attributes: `renice(1)`. No effect if they stay the same.
    SetAttr {
        /// Task to change.
        task: TaskId,
        /// New attributes.
        attr: SchedAttr,
    },
    /// Change scheduling attributes by `sched_setscheduler(2)`, as `chrt(1)` does. The scheduler is
    /// notified even if they stay the same.
    SetScheduler {
        /// Task to change.
        task: TaskId,
        /// New attributes.
        attr: SchedAttr,
    },
    /// Change the affinity of a task: `taskset(1)`.
    SetAffinity {
        /// Task to change.
        task: TaskId,
        /// CPUs on which it may run.
        allowed: CpuSet,
    },
    /// Move a task to another group.
    SetGroup {
        /// Task to move.
        task: TaskId,
        /// New group.
        group: GroupId,
    },
    /// Set `cpu.shares` of a group.
    SetShares {
        /// Group to change.
        group: GroupId,
        /// New weight; 1024 is the default.
        shares: u64,
    },
    /// Set the limit of a group: `cpu.max`, `cpu.max.burst`.
    SetQuota {
        /// Group to change.
        group: GroupId,
        /// New limit.
        quota: Quota,
    },
    /// Set `cpu.idle` of a group.
    SetIdle {
        /// Group to change.
        group: GroupId,
        /// Whether the group as a whole is idle.
        idle: bool,
    },
    /// Set `cpuset.cpus` of a group.
    SetGroupCpus {
        /// Group to change.
        group: GroupId,
        /// New CPUs; `None`: its parent's.
        cpus: Option<CpuSet>,
    },
    /// Freeze a group with all its tasks and descendants: `cgroup.freeze`.
    FreezeGroup(GroupId),
    /// Thaw a group. It continues unless one of its ancestors is frozen as well.
    ThawGroup(GroupId),
    /// Set a tunable of the scheduler.
    SetTunable {
        /// Name of the tunable.
        name: String,
        /// New value.
        value: i64,
    },
    /// Take a CPU offline.
    Offline(CpuId),
    /// Bring a CPU online.
    Online(CpuId),
    /// Send `SIGSTOP`.
    Stop(TaskId),
    /// Send `SIGCONT`.
    Continue(TaskId),
    /// Send `SIGKILL`.
    Kill(TaskId),
    /// Freeze this one task.
    Freeze(TaskId),
    /// Thaw this one task.
    Thaw(TaskId),
}

impl<S: Scheduler, W: Workload, O: Observer> Machine<S, W, O> {
    /// Makes a change at the current instant, before all other events of that instant. Its
    /// consequences (which task is preempted, which runs instead) follow in the next
    /// [`run_to`](Machine::run_to), still at this instant.
    ///
    /// # Errors
    /// If the change cannot be made. Nothing has changed in that case.
    pub fn act(&mut self, action: &Action) -> Result<(), ActionError> {
        self.platform.set_now_ns(self.now_ns);
        self.from_outside = true;
        let result = self.perform(action);
        self.apply_requests();
        self.from_outside = false;
        result
    }

    fn perform(&mut self, action: &Action) -> Result<(), ActionError> {
        match *action {
            Action::SetAttr { task, attr } => {
                self.living(task)?;
                let by = self.cpu_near_if_born(task);
                self.set_attr(task, attr, by).map_err(ActionError::Refused)
            }
            Action::SetScheduler { task, attr } => {
                self.living(task)?;
                let by = self.cpu_near_if_born(task);
                if self.settings[task.index()].attr != attr {
                    return self.set_attr(task, attr, by).map_err(ActionError::Refused);
                }
                if self.tasks[task.index()].unborn.is_none() {
                    self.scheduler.set_same_attr(&mut self.platform, task, by);
                }
                Ok(())
            }
            Action::SetAffinity { task, ref allowed } => {
                self.living(task)?;
                if allowed.first(self.platform.cpus()).is_none() {
                    return Err(ActionError::Refused(Errno::Invalid));
                }
                self.set_affinity(task, allowed).map_err(ActionError::Refused)
            }
            Action::SetGroup { task, group } => {
                self.living(task)?;
                self.set_group(task, group)
            }
            Action::SetShares { group, shares } => {
                self.control(Command::SetShares { group, shares })
            }
            Action::SetQuota { group, quota } => self.control(Command::SetQuota { group, quota }),
            Action::SetIdle { group, idle } => self.control(Command::SetIdle { group, idle }),
            Action::SetGroupCpus { group, ref cpus } => self.set_group_cpus(group, cpus.clone()),
            Action::FreezeGroup(group) => self.set_group_frozen(group, true),
            Action::ThawGroup(group) => self.set_group_frozen(group, false),
            Action::SetTunable { ref name, value } => {
                self.control(Command::SetTunable { name, value })
            }
            Action::Offline(cpu) => self.known_cpu(cpu).and_then(|()| self.take_offline(cpu)),
            Action::Online(cpu) => self.known_cpu(cpu).and_then(|()| self.bring_online(cpu)),
            Action::Stop(task) => self.living(task).map(|()| self.post(task, Signals::STOP)),
            Action::Freeze(task) => self.living(task).map(|()| self.post(task, Signals::FREEZE)),
            Action::Kill(task) => self.living(task).map(|()| self.post(task, Signals::KILL)),
            Action::Continue(task) => self.living(task).map(|()| self.release(task, Signals::STOP)),
            Action::Thaw(task) => self.living(task).map(|()| self.release(task, Signals::FREEZE)),
        }
    }

    fn control(&mut self, command: Command<'_>) -> Result<(), ActionError> {
        let reply = self.scheduler.control(&mut self.platform, command);
        reply.map(drop).map_err(ActionError::Control)
    }

    /// Sets whether stopped and frozen tasks may yet be continued, thawed or killed. The default is
    /// that they may. If not, a run in which only such tasks are left is
    /// [`Stuck`](crate::RunEnd::Stuck).
    pub fn set_releases_expected(&mut self, expected: bool) {
        self.releases_expected = expected;
    }

    /// Returns the CPUs on which the owner of `task` lets it run, online or not.
    pub fn task_allowed(&self, task: TaskId) -> &CpuSet {
        &self.settings[task.index()].allowed
    }

    /// Returns the group of `task`.
    pub fn task_group(&self, task: TaskId) -> GroupId {
        self.settings[task.index()].group
    }

    /// Returns the attributes that `task` was last given, or will have at birth.
    pub fn task_attr(&self, task: TaskId) -> SchedAttr {
        self.settings[task.index()].attr
    }

    fn known_cpu(&self, cpu: CpuId) -> Result<(), ActionError> {
        if cpu.0 < self.platform.cpus() { Ok(()) } else { Err(ActionError::NoSuchCpu(cpu)) }
    }

    /// Checks that the task exists, born or not, and has not ended.
    fn living(&self, task: TaskId) -> Result<(), ActionError> {
        match self.tasks.get(task.index()) {
            None => Err(ActionError::NoSuchTask(task)),
            Some(_) if !self.is_living(task) => Err(ActionError::Ended(task)),
            Some(_) => Ok(()),
        }
    }

    /// Whether `task`, which exists, has not ended.
    pub(super) fn is_living(&self, task: TaskId) -> bool {
        !matches!(self.tasks[task.index()].state, TaskState::Zombie | TaskState::Reaped)
    }

    fn cpu_near_if_born(&self, task: TaskId) -> CpuId {
        match self.tasks[task.index()].unborn {
            Some(_) => CpuId(0),
            None => self.cpu_near(task),
        }
    }
}
