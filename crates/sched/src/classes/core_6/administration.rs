//! Administration: task groups, tunables, CPU hotplug.

use super::super::bandwidth::Quota;
use super::super::deadline::{self, server};
use super::super::{Challenge, Dequeue, rt};
use super::{Core6, FairClass6};
use schedlab_core::{
    CpuId, Errno, GroupId, Inspect, Platform, RULE_PREFIX, Refused, TaskId, Tunable, TunableError,
    tunables,
};

impl<F: FairClass6> Core6<F> {
    /// Returns the tunables of the limit on real-time tasks (before 6.12) and deadline tasks.
    pub(super) fn limit_tunables(&self) -> [Tunable; 2] {
        let (runtime_us, period_us) = self.deadline.limit_us();
        let max = i64::from(i32::MAX);
        [
            Tunable {
                name: rt::TUNABLES[0].into(),
                value: period_us as i64,
                range: (1, max),
                help: "period of the limit on real-time and deadline tasks, us",
            },
            Tunable {
                name: rt::TUNABLES[1].into(),
                value: runtime_us,
                range: (-1, max),
                help: "their CPU time in each period, us; -1 = no limit",
            },
        ]
    }

    /// Checks that the group exists.
    ///
    /// # Errors
    /// If there is no such group.
    pub(super) fn check_group(&self, group: GroupId) -> Result<(), Refused> {
        if self.fair.has_group(group) {
            Ok(())
        } else {
            Err(Errno::NotFound.because("no such group"))
        }
    }

    pub(super) fn take_offline(
        &mut self,
        platform: &mut Platform,
        cpu: CpuId,
    ) -> Result<(), Refused> {
        self.deadline.cpu_offline()?;
        self.core.set_online(cpu, false);
        self.rt.cpu_offline(&mut self.core, cpu);
        self.fair.domains_rebuilt(&self.core, platform);
        // Throttled real-time tasks must also leave.
        self.core.resched_curr(platform, cpu);
        Ok(())
    }

    pub(super) fn bring_online(&mut self, platform: &mut Platform, cpu: CpuId) {
        self.deadline.cpu_online();
        self.core.set_online(cpu, true);
        self.rt.cpu_online(cpu);
        self.fair.domains_rebuilt(&self.core, platform);
    }

    pub(super) fn create_group(
        &mut self,
        parent: GroupId,
        shares: u64,
    ) -> Result<GroupId, Refused> {
        self.check_group(parent)?;
        Ok(self.fair.group_new(parent, shares))
    }

    pub(super) fn set_shares(
        &mut self,
        platform: &mut Platform,
        group: GroupId,
        shares: u64,
    ) -> Result<(), Refused> {
        self.check_group(group)?;
        if group == GroupId::ROOT {
            return Err(Errno::Invalid.because("the root group has no shares"));
        }
        if self.fair.is_idle_group(group) {
            return Err(Errno::Invalid.because("the shares of an idle group cannot be written"));
        }
        self.fair.group_set_shares(&mut self.core, platform, group, shares);
        Ok(())
    }

    pub(super) fn set_quota(
        &mut self,
        platform: &mut Platform,
        group: GroupId,
        quota: &Quota,
    ) -> Result<(), Refused> {
        self.check_group(group)?;
        self.fair.group_set_quota(&mut self.core, platform, group, quota)
    }

    pub(super) fn set_idle(
        &mut self,
        platform: &mut Platform,
        group: GroupId,
        idle: bool,
    ) -> Result<(), Refused> {
        self.check_group(group)?;
        if group == GroupId::ROOT {
            return Err(Errno::Invalid.because("the root group cannot be idle"));
        }
        self.fair.group_set_idle(&mut self.core, platform, group, idle);
        Ok(())
    }

    pub(super) fn move_task(
        &mut self,
        platform: &mut Platform,
        task: TaskId,
        group: GroupId,
    ) -> Result<(), Refused> {
        self.check_group(group)?;
        let pid = self.core.pid(task);
        let asleep = !self.core.thread(pid).on_rq;
        self.change(platform, pid, Dequeue::Move, |this, platform| {
            this.fair.move_group(&this.core, platform.now_ns(), pid, group, asleep);
        });
        let cpu = self.core.cpu_of(pid);
        // A task that waits on an idle CPU was throttled, and may run now.
        let was_throttled =
            self.core.thread(pid).on_rq && self.core.is_idle_thread(self.core.curr(cpu));
        if (self.core.is_running(pid) && self.fair.move_reschedules()) || was_throttled {
            self.core.resched_curr(platform, cpu);
        } else if self.core.thread(pid).on_rq && self.fair.checks_moved_tasks() {
            self.wakeup_preempt(platform, pid, Challenge::Other);
        }
        Ok(())
    }

    /// Switches a difference between releases.
    fn switch_rule(&mut self, name: &str, value: i64) -> Result<(), TunableError> {
        let differences = self.differences();
        let Some(found) = differences.iter().find(|it| it.name == name) else {
            let known = differences.iter().filter(|it| it.can_switch);
            let known = known.map(|it| alloc::format!("{RULE_PREFIX}{}", it.name).into());
            return Err(TunableError::Unknown { known: known.collect() });
        };
        if !(0..=1).contains(&value) {
            return Err(TunableError::Range { min: 0, max: 1 });
        }
        if !found.can_switch {
            let why = "the scheduler is built for it, so that it cannot be switched alone";
            return Err(TunableError::Refused(why.into()));
        }
        match self.fair.switch_difference(name, value != 0) {
            true => Ok(()),
            false => Err(TunableError::Refused(
                "rules can be switched only before the first task and group".into(),
            )),
        }
    }

    pub(super) fn write_tunable(
        &mut self,
        platform: &mut Platform,
        name: &str,
        value: i64,
    ) -> Result<(), TunableError> {
        if name == rt::TICKS_SPARE_BLOCKED {
            self.rt.ticks_spare_blocked = value != 0;
            return Ok(());
        }
        if let Some(rule) = name.strip_prefix(RULE_PREFIX) {
            return self.switch_rule(rule, value);
        }
        tunables::check(&self.tunables(), name, value)?;
        let busy = || {
            TunableError::Refused(
                "deadline tasks and fair servers have been guaranteed more (EBUSY)".into(),
            )
        };
        if let Some(which) = rt::TUNABLES.iter().position(|&tunable| tunable == name) {
            // The limit on real-time and deadline tasks.
            let (mut runtime_us, mut period_us) = self.deadline.limit_us();
            match which {
                0 => period_us = value as u64,
                _ => runtime_us = value,
            }
            if !self.deadline.takes_limit(runtime_us, period_us) {
                return Err(busy());
            }
            self.rt.set_tunable(platform, name, value)?;
            self.deadline.set_limit(runtime_us, period_us);
            return Ok(());
        }
        if let Some(which) = server::TUNABLES.iter().position(|&tunable| tunable == name) {
            let mut values =
                self.deadline.fair_server_tunables().map(|tunable| tunable.value as u64);
            values[which] = value as u64;
            return self.deadline.set_fair_server(values[0], values[1]).map_err(|_| busy());
        }
        if deadline::TUNABLES.contains(&name) {
            self.deadline.set_tunable(name, value);
            return Ok(());
        }
        self.fair.set_tunable(name, value);
        self.fair.tunable_written(&mut self.core, platform, name);
        Ok(())
    }
}
