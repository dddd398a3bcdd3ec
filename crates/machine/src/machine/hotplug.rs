//! CPUs go off line and come back.
//!
//! A CPU that goes off line is first left out of the scheduler's balancing
//! ([`Command::CpuOffline`](schedlab_core::Command::CpuOffline)). Then every task may use one CPU
//! less, and those that are there move as they do when their affinity changes: by the release's own
//! rules, to the lowest CPU that is left to them. A task to which none is left may from then on run
//! on any (the kernel says so in its log: "no longer affine to CPU"). Last the CPU has nothing to
//! run: it idles, ticks no more, and never reschedules.

use super::Machine;
use super::act::ActionError;
use crate::workload::Workload;
use schedlab_core::{Administer, CpuId, CpuSet, Errno, Event, Observer, Scheduler, TaskId};

impl<S: Scheduler, W: Workload, O: Observer> Machine<S, W, O> {
    /// Whether `cpu` is on line.
    pub fn is_online(&self, cpu: CpuId) -> bool {
        !self.is_gone(cpu)
    }

    /// How many CPUs are on line.
    pub fn online_cpus(&self) -> u32 {
        self.online.count(self.platform.cpus())
    }

    /// Whether `cpu` is off line, and has rescheduled for the last time.
    #[inline]
    pub(super) fn is_gone(&self, cpu: CpuId) -> bool {
        !self.online.contains(cpu) && self.leaving != Some(cpu)
    }

    /// The CPU on which something happens to `task` that no task does: its own, or the
    /// lowest that is on line.
    pub(super) fn cpu_near(&self, task: TaskId) -> CpuId {
        let cpu = self.scheduler.cpu_of(task);
        if !self.is_gone(cpu) {
            return cpu;
        }
        self.online.first(self.platform.cpus()).expect("one is on line")
    }

    /// `cpu` has gone or come: gives the scheduler the affinity of the tasks that would use it.
    fn report_all(&mut self, cpu: CpuId) {
        self.groups.settle(self.platform.cpus(), &self.online);
        for number in 0..self.tasks.len() {
            let task = TaskId(number as u32);
            let by_group = self.groups.has_cpusets();
            if self.is_about(task) && (by_group || self.settings[number].allowed.contains(cpu)) {
                let usable = self.narrow(task);
                if !by_group || usable != self.settings[number].reported {
                    let _ = self.report_usable(task, usable);
                }
            }
        }
    }

    /// The CPUs on line, `cpu` as `online` says.
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
        if self.is_gone(cpu) {
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
            // A scheduler that does not obey; nothing else can have kept a task there.
            self.set_online(cpu, true);
            self.report_all(cpu);
            let _ = self.scheduler.cpu_online(&mut self.platform, cpu);
            let message = format!("CPU {} is not given up", cpu.0);
            return Err(ActionError::Control(Errno::Busy.because(message).into()));
        }
        self.observer.on(self.now_ns, Event::Online { cpu, online: false });
        Ok(())
    }

    pub(super) fn bring_online(&mut self, cpu: CpuId) -> Result<(), ActionError> {
        if !self.is_gone(cpu) {
            return Err(ActionError::AlreadyOnline(cpu));
        }
        self.scheduler.cpu_online(&mut self.platform, cpu).map_err(ActionError::Control)?;
        self.set_online(cpu, true);
        self.observer.on(self.now_ns, Event::Online { cpu, online: true });
        self.report_all(cpu);
        // Its first threads of the kernel's own have run and gone, so it looks for work.
        self.platform.resched(cpu);
        Ok(())
    }
}
