//! Reasons why an action is refused: [`ActionError`].

use schedlab_core::{ControlError, CpuId, Errno, GroupId, TaskId};
use std::fmt;

/// Reason why an action was refused. A refused action changes nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ActionError {
    /// The CPU does not exist.
    NoSuchCpu(CpuId),
    /// The task does not exist yet.
    NoSuchTask(TaskId),
    /// The group does not exist, is the root, or the machine does not support groups.
    NoSuchGroup(GroupId),
    /// The task has ended.
    Ended(TaskId),
    /// The CPU is offline.
    AlreadyOffline(CpuId),
    /// The CPU is online.
    AlreadyOnline(CpuId),
    /// The CPU is the only one online.
    LastCpu(CpuId),
    /// The kernel refuses the system call.
    Refused(Errno),
    /// The scheduler refuses the command or does not support it.
    Control(ControlError),
}

impl fmt::Display for ActionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ActionError::NoSuchCpu(cpu) => write!(f, "there is no CPU {}", cpu.0),
            ActionError::NoSuchTask(task) => write!(f, "there is no task {}", task.0),
            ActionError::NoSuchGroup(group) => write!(f, "there is no group {}", group.0),
            ActionError::Ended(task) => write!(f, "task {} has ended", task.0),
            ActionError::AlreadyOffline(cpu) => write!(f, "CPU {} is already offline", cpu.0),
            ActionError::AlreadyOnline(cpu) => write!(f, "CPU {} is already online", cpu.0),
            ActionError::LastCpu(cpu) => {
                write!(f, "EBUSY: CPU {} is the last one online", cpu.0)
            }
            ActionError::Refused(why) => f.write_str(why.name()),
            ActionError::Control(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ActionError {}
