//! What somebody (an administrator, a script) may do to the machine while it runs.

use super::signals::Signals;
use super::{Machine, TaskState};
use crate::workload::Workload;
use schedlab_core::{
    Command, ControlError, CpuId, CpuSet, Errno, GroupId, Observer, Quota, SchedAttr, Scheduler,
    TaskId,
};
use std::fmt;

/// Something done to a running machine, by [`Machine::act`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// Other scheduling attributes: `renice(1)`. Nothing happens if they are what they were.
    SetAttr {
        /// Whose.
        task: TaskId,
        /// From now on.
        attr: SchedAttr,
    },
    /// `sched_setscheduler(2)`, as `chrt(1)` calls it: other scheduling attributes. It is told to
    /// the scheduler also if they are what they were.
    SetScheduler {
        /// Whose.
        task: TaskId,
        /// From now on.
        attr: SchedAttr,
    },
    /// Another affinity: `taskset(1)`.
    SetAffinity {
        /// Whose.
        task: TaskId,
        /// Where it may run from now on.
        allowed: CpuSet,
    },
    /// A task moves to another group.
    SetGroup {
        /// Who.
        task: TaskId,
        /// Where to.
        group: GroupId,
    },
    /// A group's `cpu.shares`.
    SetShares {
        /// Whose.
        group: GroupId,
        /// 1024 is the default.
        shares: u64,
    },
    /// A group's limit: `cpu.max`, `cpu.max.burst`.
    SetQuota {
        /// Whose.
        group: GroupId,
        /// The limit.
        quota: Quota,
    },
    /// A group's `cpu.idle`.
    SetIdle {
        /// Whose.
        group: GroupId,
        /// Whether it is idle as a whole.
        idle: bool,
    },
    /// A group's `cpuset.cpus`.
    SetGroupCpus {
        /// Whose.
        group: GroupId,
        /// Its CPUs from now on; none = its parent's.
        cpus: Option<CpuSet>,
    },
    /// `cgroup.freeze`: a group stops with all that is in it and below it ...
    FreezeGroup(GroupId),
    /// ... and goes on, unless a group that it is in is frozen too.
    ThawGroup(GroupId),
    /// A tunable of the scheduler.
    SetTunable {
        /// Which.
        name: String,
        /// Its value from now on.
        value: i64,
    },
    /// A CPU goes off line.
    Offline(CpuId),
    /// A CPU comes back.
    Online(CpuId),
    /// `SIGSTOP`.
    Stop(TaskId),
    /// `SIGCONT`.
    Continue(TaskId),
    /// `SIGKILL`.
    Kill(TaskId),
    /// The freezer stops this one task ...
    Freeze(TaskId),
    /// ... and lets it go on.
    Thaw(TaskId),
}

/// Why an action could not be done. Nothing has changed then.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ActionError {
    /// There is no such CPU.
    NoSuchCpu(CpuId),
    /// There is no such task yet.
    NoSuchTask(TaskId),
    /// There is no such group, or it is the root, or the machine knows no groups.
    NoSuchGroup(GroupId),
    /// The task has ended.
    Ended(TaskId),
    /// It is off line.
    AlreadyOffline(CpuId),
    /// It is on line.
    AlreadyOnline(CpuId),
    /// It is the only one that is on line.
    LastCpu(CpuId),
    /// The kernel refuses the system call.
    Refused(Errno),
    /// The scheduler refuses, or has no such thing.
    Control(ControlError),
}

impl fmt::Display for ActionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ActionError::NoSuchCpu(cpu) => write!(f, "there is no CPU {}", cpu.0),
            ActionError::NoSuchTask(task) => write!(f, "there is no task {}", task.0),
            ActionError::NoSuchGroup(group) => write!(f, "there is no group {}", group.0),
            ActionError::Ended(task) => write!(f, "task {} has ended", task.0),
            ActionError::AlreadyOffline(cpu) => write!(f, "CPU {} is off line already", cpu.0),
            ActionError::AlreadyOnline(cpu) => write!(f, "CPU {} is on line already", cpu.0),
            ActionError::LastCpu(cpu) => {
                write!(f, "EBUSY: CPU {} is the last that is on line", cpu.0)
            }
            ActionError::Refused(why) => f.write_str(why.name()),
            ActionError::Control(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ActionError {}

impl<S: Scheduler, W: Workload, O: Observer> Machine<S, W, O> {
    /// Does something to the machine at the present instant, before anything else that falls on it.
    /// Its consequences (who is preempted, who runs instead) follow with the next
    /// [`run_to`](Machine::run_to), still at this instant.
    ///
    /// # Errors
    /// When it cannot be done; nothing has changed then.
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

    /// Whether somebody may yet continue, thaw or kill tasks that are stopped or frozen (as is
    /// assumed). If not, a run in which only such tasks are left is
    /// [`Stuck`](crate::RunEnd::Stuck).
    pub fn set_releases_expected(&mut self, expected: bool) {
        self.releases_expected = expected;
    }

    /// Where `task` may run by its owner's will, whether those CPUs are on line or not.
    pub fn task_allowed(&self, task: TaskId) -> &CpuSet {
        &self.settings[task.index()].allowed
    }

    /// The group of `task`.
    pub fn task_group(&self, task: TaskId) -> GroupId {
        self.settings[task.index()].group
    }

    /// What `task` was last given, or will be born with.
    pub fn task_attr(&self, task: TaskId) -> SchedAttr {
        self.settings[task.index()].attr
    }

    fn known_cpu(&self, cpu: CpuId) -> Result<(), ActionError> {
        if cpu.0 < self.platform.cpus() { Ok(()) } else { Err(ActionError::NoSuchCpu(cpu)) }
    }

    /// That there is such a task, born or not, and that it has not ended.
    fn living(&self, task: TaskId) -> Result<(), ActionError> {
        match self.tasks.get(task.index()) {
            None => Err(ActionError::NoSuchTask(task)),
            Some(_) if !self.is_living(task) => Err(ActionError::Ended(task)),
            Some(_) => Ok(()),
        }
    }

    /// Whether `task`, which there is, has not ended.
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
