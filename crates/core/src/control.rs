//! Commands of an administrator to a scheduler: task groups, tunables, and CPUs that go offline.
//!
//! These are the rarer requests of a run, and only some releases support each of them. They reach a
//! scheduler as one [`Command`] through one hook ([`Scheduler::control`]), so that a wrapper
//! forwards all of them or none. [`Administer`] offers them as methods.

use crate::errno::Errno;
use crate::{CpuId, GroupId, Platform, Refused, Scheduler, TaskId, TunableError};
use alloc::vec::Vec;
use core::fmt;

/// A limit on the CPU time of a group (`cpu.cfs_quota_us`, `cpu.cfs_period_us`, `cpu.cfs_burst_us`;
/// `cpu.max`, `cpu.max.burst`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Quota {
    /// CPU time in each period, summed over CPUs, us, at least 1000. `None`: no limit.
    pub quota_us: Option<u64>,
    /// The period, us, 1000 to 1000000.
    pub period_us: u64,
    /// Unused quota that may be saved for later, us, at most the quota.
    pub burst_us: u64,
    /// Phase of the periods, us, less than 1000000: one begins this long after the clock's 0, and
    /// the others whole periods before and after. `None`: it stays as it is, at first 0. (The
    /// kernel has no such setting. It draws a phase for each group since 6.3. Before, the periods
    /// of all groups begin at multiples of the period.)
    pub phase_us: Option<u64>,
}

/// An action of an administrator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Command<'a> {
    /// Creates a task group. Groups are numbered from 1 in the order of creation. The reply is
    /// [`Reply::Group`].
    CreateGroup {
        /// The group in which it is created.
        parent: GroupId,
        /// Its weight as v1 `cpu.shares`. The default is 1024.
        shares: u64,
    },
    /// Writes a group's `cpu.shares`.
    SetShares {
        /// The group.
        group: GroupId,
        /// Its weight.
        shares: u64,
    },
    /// Limits the CPU time of a group.
    SetQuota {
        /// The group.
        group: GroupId,
        /// The limit.
        quota: Quota,
    },
    /// Writes a group's `cpu.idle`: whether the whole group counts as `SCHED_IDLE` (weight 3) among
    /// its siblings. When the flag is cleared, the group has the default weight, 1024.
    SetIdle {
        /// The group.
        group: GroupId,
        /// Whether it is idle as a whole.
        idle: bool,
    },
    /// Moves a task, in any state, to another group.
    MoveTask {
        /// The task.
        task: TaskId,
        /// Its new group.
        group: GroupId,
    },
    /// Writes a tunable.
    SetTunable {
        /// The kernel's name for it.
        name: &'a str,
        /// Its new value.
        value: i64,
    },
    /// A CPU is about to go offline (it is not the last CPU online). From now on the scheduler
    /// leaves it out of its balancing and updates whatever in the release depends on the number of
    /// CPUs online. The scheduler need not move tasks: the machine next narrows the affinity of
    /// every task to the remaining CPUs, and tasks leave as they would after
    /// [`set_affinity`](Scheduler::set_affinity). Then the CPU reschedules once more, picks
    /// nothing, and no hook names it until it comes back.
    CpuOffline(CpuId),
    /// A CPU that was offline is back: it ticks again and takes part in balancing as before. Next
    /// the machine reports which tasks may use it, and asks it to reschedule.
    CpuOnline(CpuId),
    /// The current task of a CPU reads its own CPU clock (`CLOCK_THREAD_CPUTIME_ID`). (No
    /// administrator's action, but as rare as one.) Kernels since 3.18 first charge the task, so
    /// that its slice or its group's limit can end there. A scheduler that refuses the command does
    /// nothing at such a reading.
    ReadClock(CpuId),
}

/// Result of a [`Command`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Reply {
    /// The command has been carried out.
    Done,
    /// The group that was created.
    Group(GroupId),
}

/// Reason for which a [`Command`] is not carried out. A refused command changes nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ControlError {
    /// The kernel refuses.
    Refused(Refused),
    /// The tunable does not exist, or does not accept the value.
    Tunable(TunableError),
}

impl ControlError {
    /// Returns the kernel's error number.
    pub fn errno(&self) -> Errno {
        match self {
            ControlError::Refused(refused) => refused.errno,
            ControlError::Tunable(TunableError::Unknown { .. }) => Errno::NotFound,
            ControlError::Tunable(_) => Errno::Invalid,
        }
    }
}

impl fmt::Display for ControlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ControlError::Refused(refused) => refused.fmt(f),
            ControlError::Tunable(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ControlError {}

impl From<Refused> for ControlError {
    fn from(refused: Refused) -> ControlError {
        ControlError::Refused(refused)
    }
}

impl From<TunableError> for ControlError {
    fn from(error: TunableError) -> ControlError {
        ControlError::Tunable(error)
    }
}

impl Command<'_> {
    /// Returns the refusal that a release returns when it does not support the command.
    pub fn unsupported(&self) -> ControlError {
        let message = match self {
            Command::CreateGroup { .. } | Command::SetShares { .. } | Command::MoveTask { .. } => {
                "this scheduler has no task groups"
            }
            Command::SetQuota { .. } => "this scheduler has no quotas: cfs@3.2 and eevdf have them",
            Command::SetIdle { .. } => "this scheduler has no idle groups: eevdf has them",
            Command::SetTunable { .. } => {
                return ControlError::Tunable(TunableError::Unknown { known: Vec::new() });
            }
            Command::CpuOffline(_) => "this release cannot take CPUs offline",
            Command::CpuOnline(_) => "this release cannot bring CPUs back online",
            Command::ReadClock(_) => "this release charges no task that reads its clock",
        };
        Errno::NotSupported.because(message).into()
    }
}

/// The commands as methods of every scheduler.
///
/// The trait is implemented for all schedulers. No type implements it itself.
pub trait Administer: Scheduler {
    /// Executes [`Command::CreateGroup`].
    ///
    /// # Errors
    /// If the release has no task groups, or does not support such deep nesting.
    fn group_new(
        &mut self,
        platform: &mut Platform,
        parent: GroupId,
        shares: u64,
    ) -> Result<GroupId, ControlError> {
        match self.control(platform, Command::CreateGroup { parent, shares })? {
            Reply::Group(group) => Ok(group),
            Reply::Done => {
                Err(Errno::NotFound.because("the scheduler did not name the group").into())
            }
        }
    }

    /// Executes [`Command::SetShares`].
    ///
    /// # Errors
    /// If the release has no task groups or refuses the value.
    fn group_set_shares(
        &mut self,
        platform: &mut Platform,
        group: GroupId,
        shares: u64,
    ) -> Result<(), ControlError> {
        self.control(platform, Command::SetShares { group, shares }).map(drop)
    }

    /// Executes [`Command::SetQuota`].
    ///
    /// # Errors
    /// If the release has no quotas (introduced in 3.2) or no burst (5.14), or refuses the numbers.
    fn group_set_quota(
        &mut self,
        platform: &mut Platform,
        group: GroupId,
        quota: Quota,
    ) -> Result<(), ControlError> {
        self.control(platform, Command::SetQuota { group, quota }).map(drop)
    }

    /// Executes [`Command::SetIdle`].
    ///
    /// # Errors
    /// If the release has no idle groups (introduced in 5.15).
    fn group_set_idle(
        &mut self,
        platform: &mut Platform,
        group: GroupId,
        idle: bool,
    ) -> Result<(), ControlError> {
        self.control(platform, Command::SetIdle { group, idle }).map(drop)
    }

    /// Executes [`Command::MoveTask`].
    ///
    /// # Errors
    /// If the release has no task groups or refuses the move.
    fn set_group(
        &mut self,
        platform: &mut Platform,
        task: TaskId,
        group: GroupId,
    ) -> Result<(), ControlError> {
        self.control(platform, Command::MoveTask { task, group }).map(drop)
    }

    /// Executes [`Command::SetTunable`].
    ///
    /// # Errors
    /// If the name is unknown, or the kernel would refuse the value.
    fn set_tunable(
        &mut self,
        platform: &mut Platform,
        name: &str,
        value: i64,
    ) -> Result<(), TunableError> {
        match self.control(platform, Command::SetTunable { name, value }) {
            Ok(_) => Ok(()),
            Err(ControlError::Tunable(error)) => Err(error),
            Err(ControlError::Refused(refused)) => Err(TunableError::Refused(refused.message)),
        }
    }

    /// Executes [`Command::CpuOffline`].
    ///
    /// # Errors
    /// If the release cannot take CPUs offline, or refuses.
    fn cpu_offline(&mut self, platform: &mut Platform, cpu: CpuId) -> Result<(), ControlError> {
        self.control(platform, Command::CpuOffline(cpu)).map(drop)
    }

    /// Executes [`Command::CpuOnline`].
    ///
    /// # Errors
    /// If the release does not support it.
    fn cpu_online(&mut self, platform: &mut Platform, cpu: CpuId) -> Result<(), ControlError> {
        self.control(platform, Command::CpuOnline(cpu)).map(drop)
    }
}

impl<S: Scheduler + ?Sized> Administer for S {}
