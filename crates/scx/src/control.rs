//! Commands from outside: groups and CPU hotplug.

use crate::act::Act;
use crate::group::group_weight;
use crate::ops::{Callback, Context};
use schedlab_core::control::{Command, ControlError, Reply};
use schedlab_core::{Errno, GroupId};

impl Act<'_> {
    fn group(&self, group: GroupId) -> Result<u32, ControlError> {
        match self.w.groups.get(group.index()) {
            Some(_) => Ok(group.0),
            None => Err(Errno::NotFound.because("there is no such group").into()),
        }
    }

    pub(crate) fn control(&mut self, command: Command<'_>) -> Result<Reply, ControlError> {
        match command {
            Command::CreateGroup { parent, shares } => {
                let parent = self.group(parent)?;
                let group = self.w.add_group(parent, shares);
                match self.init_group(group) {
                    None => Ok(Reply::Group(GroupId(group))),
                    Some(error) => {
                        self.w.groups.pop();
                        let message = format!("cgroup_init of the policy returned {error}");
                        Err(Errno::Invalid.because(message).into())
                    }
                }
            }
            Command::SetShares { group, shares } => {
                let group = self.group(group)?;
                self.w.groups[group as usize].shares = shares;
                let args = [self.w.cgroup(group), group_weight(shares)];
                self.call(Callback::CGROUP_SET_WEIGHT, Context::Other, &args);
                Ok(Reply::Done)
            }
            Command::SetQuota { group, quota } => {
                let group = self.group(group)?;
                self.set_bandwidth(group, quota);
                Ok(Reply::Done)
            }
            Command::CpuOffline(cpu) | Command::CpuOnline(cpu) => {
                self.hotplug(cpu.0, matches!(command, Command::CpuOnline(_)));
                Ok(Reply::Done)
            }
            Command::MoveTask { task, group } => {
                let group = self.group(group)?;
                let row = self.w.row(task);
                self.w.cpu = self.w.tasks[row as usize].cpu;
                self.move_group(row, group)?;
                Ok(Reply::Done)
            }
            other => Err(other.unsupported()),
        }
    }
}
