//! CPUs that go offline and come back online.
//!
//! A CPU that goes offline is first left out of the scheduler's balancing
//! ([`Command::CpuOffline`](schedlab_core::Command::CpuOffline)). Then the CPU is removed from
//! every task's affinity. The tasks on it move as after any change of affinity: by the rules of the
//! release, to the lowest CPU that is left to them. A task to which no CPU is left may from then on
//! run on any CPU (the kernel logs: "no longer affine to CPU"). Finally the CPU has nothing to run:
//! it idles, no longer ticks, and never reschedules.

use super::Machine;
use super::action_error::ActionError;
use crate::workload::Workload;
use schedlab_core::{Administer, CpuId, CpuSet, Errno, Event, Observer, Scheduler, TaskId};

impl<S: Scheduler, W: Workload, O: Observer> Machine<S, W, O> {
    /// Whether `cpu` is online.
    pub fn is_online(&self, cpu: CpuId) -> bool {
        !self.is_offline(cpu)
    }

    /// Returns the number of CPUs that are online.
    pub fn online_cpus(&self) -> u32 {
        self.online.count(self.platform.cpus())
    }

    /// Whether `cpu` is offline and has rescheduled for the last time.
    #[inline]
    pub(super) fn is_offline(&self, cpu: CpuId) -> bool {
        !self.online.contains(cpu) && self.leaving != Some(cpu)
    }

    /// Returns the CPU for an event of `task` that no other task causes: its own CPU, or else the
    /// lowest that is online.
    pub(super) fn cpu_near(&self, task: TaskId) -> CpuId {
        let cpu = self.scheduler.cpu_of(task);
        if !self.is_offline(cpu) {
            return cpu;
        }
        self.online.first(self.platform.cpus()).expect("at least one CPU is online")
    }

    /// Gives the scheduler the affinities that change because `cpu` went offline or came online.
    fn report_all(&mut self, cpu: CpuId) {
        self.groups.settle(self.platform.cpus(), &self.online);
        for number in 0..self.tasks.len() {
            let task = TaskId(number as u32);
            let by_group = self.groups.has_cpusets();
            if self.is_alive(task) && (by_group || self.settings[number].allowed.contains(cpu)) {
                let usable = self.narrow(task);
                if !by_group || usable != self.settings[number].reported {
                    let _ = self.report_usable(task, usable);
                }
            }
        }
    }

    /// Marks `cpu` as online or offline.
    fn set_online(&mut self, cpu: CpuId, online: bool) {
        let is_online =
            |other: CpuId| if other == cpu { online } else { self.online.contains(other) };
        let all = || (0..self.platform.cpus()).map(CpuId);
        self.online = if all().all(is_online) {
            CpuSet::All
        } else {
            CpuSet::from_cpus(all().filter(|&cpu| is_online(cpu)))
        };
    }

    pub(super) fn take_offline(&mut self, cpu: CpuId) -> Result<(), ActionError> {
        if self.is_offline(cpu) {
            return Err(ActionError::AlreadyOffline(cpu));
        }
        if self.online_cpus() == 1 {
            return Err(ActionError::LastCpu(cpu));
        }
        self.scheduler.cpu_offline(&mut self.platform, cpu).map_err(ActionError::Control)?;
        self.set_online(cpu, false);
        self.leaving = Some(cpu);
        self.report_all(cpu);
        self.platform.resched(cpu);
        self.free_at_once(cpu);
        self.reschedules();
        self.leaving = None;
        if self.current[cpu.index()].is_some() {
            // The scheduler does not obey. Nothing else can have kept a task there.
            self.set_online(cpu, true);
            self.report_all(cpu);
            let _ = self.scheduler.cpu_online(&mut self.platform, cpu);
            let message = format!("CPU {} was not given up by the scheduler", cpu.0);
            return Err(ActionError::Control(Errno::Busy.because(message).into()));
        }
        self.observer.on(self.now_ns, Event::Online { cpu, online: false });
        Ok(())
    }

    pub(super) fn bring_online(&mut self, cpu: CpuId) -> Result<(), ActionError> {
        if !self.is_offline(cpu) {
            return Err(ActionError::AlreadyOnline(cpu));
        }
        self.scheduler.cpu_online(&mut self.platform, cpu).map_err(ActionError::Control)?;
        self.set_online(cpu, true);
        self.observer.on(self.now_ns, Event::Online { cpu, online: true });
        self.report_all(cpu);
        // The kernel's own threads of the CPU have run and blocked, so it looks for work.
        self.platform.resched(cpu);
        Ok(())
    }
}
