//! CPUs go off line and come back.
//!
//! A CPU that goes off line is first left out of the scheduler's balancing ([`Scheduler::cpu_offline`]). Then every task may use
//! one CPU less, and those that are there move as they do when their affinity changes: by the release's own rules, to the
//! lowest CPU that is left to them. A task to which none is left may from then on run on any (the kernel says so in its log:
//! "no longer affine to CPU"). Last the CPU has nothing to run: it idles, ticks no more, and never reschedules.

use super::act::ActionError;
use super::{Machine, TaskState};
use crate::observer::Observer;
use crate::workload::Workload;
use schedlab_sched::{CpuId, CpuSet, Scheduler, TaskId};

impl<S: Scheduler, W: Workload, O: Observer> Machine<S, W, O> {
    /// Whether `cpu` is on line.
    pub fn is_online(&self, cpu: CpuId) -> bool {
        !self.is_offline[cpu.index()]
    }

    /// How many CPUs are on line.
    pub fn online_cpus(&self) -> u32 {
        self.platform.cpus() - self.offline
    }

    /// The CPU at which things happen to `task` that nobody in particular does: its own, or the lowest that is on line.
    pub(super) fn cpu_near(&self, task: TaskId) -> CpuId {
        let cpu = self.scheduler.cpu_of(task);
        if self.offline == 0 || !self.is_offline[cpu.index()] {
            return cpu;
        }
        self.online.first(self.platform.cpus()).expect("one is on line")
    }

    /// Those of `allowed` that are on line; none if there is none.
    pub(super) fn usable(&self, allowed: &CpuSet) -> Option<CpuSet> {
        match (&self.online, allowed) {
            (CpuSet::All, _) => Some(allowed.clone()),
            (online, CpuSet::All) => Some(online.clone()),
            (online, _) => {
                let usable = online.iter(self.platform.cpus()).filter(|&cpu| allowed.contains(cpu));
                let usable = CpuSet::from_cpus(usable);
                usable.first(self.platform.cpus()).map(|_| usable)
            }
        }
    }

    /// Where `task` may run now. If no CPU of its own is on line it may run on any from now on.
    pub(super) fn narrow(&mut self, task: TaskId) -> CpuSet {
        if let Some(usable) = self.usable(&self.settings[task.index()].allowed) {
            return usable;
        }
        self.settings[task.index()].allowed = CpuSet::All;
        self.online.clone()
    }

    /// `cpu` has gone or come: tells the scheduler where the tasks that would use it may run now.
    fn tell_all(&mut self, cpu: CpuId) {
        for number in 0..self.tasks.len() {
            let task = TaskId(number as u32);
            let row = &self.tasks[number];
            let gone = matches!(row.state, TaskState::New | TaskState::Zombie | TaskState::Reaped);
            if !gone && self.settings[number].allowed.contains(cpu) {
                let usable = self.narrow(task);
                self.scheduler.set_affinity(&mut self.platform, task, &usable);
                self.carry_out_orders();
            }
        }
    }

    /// The CPUs on line, `cpu` as `online` says.
    fn set_online(&mut self, cpu: CpuId, online: bool) {
        let offline = |other: CpuId| {
            if other == cpu { !online } else { self.is_offline[other.index()] }
        };
        let all = || (0..self.platform.cpus()).map(CpuId);
        self.online = if all().any(offline) {
            CpuSet::from_cpus(all().filter(|&cpu| !offline(cpu)))
        } else {
            CpuSet::All
        };
    }

    pub(super) fn take_offline(&mut self, cpu: CpuId) -> Result<(), ActionError> {
        if self.is_offline[cpu.index()] {
            return Err(ActionError::AlreadyOffline(cpu));
        }
        if self.online_cpus() == 1 {
            return Err(ActionError::LastCpu(cpu));
        }
        self.scheduler.cpu_offline(&mut self.platform, cpu).map_err(ActionError::Scheduler)?;
        self.set_online(cpu, false);
        self.tell_all(cpu);
        self.platform.resched(cpu);
        self.reschedules();
        if self.current[cpu.index()].is_some() {
            // A scheduler that does not obey; nothing else can have kept a task there.
            self.set_online(cpu, true);
            self.tell_all(cpu);
            let _ = self.scheduler.cpu_online(&mut self.platform, cpu);
            return Err(ActionError::Scheduler(format!("CPU {} is not given up", cpu.0)));
        }
        self.is_offline[cpu.index()] = true;
        self.offline += 1;
        Ok(())
    }

    pub(super) fn bring_online(&mut self, cpu: CpuId) -> Result<(), ActionError> {
        if !self.is_offline[cpu.index()] {
            return Err(ActionError::AlreadyOnline(cpu));
        }
        self.scheduler.cpu_online(&mut self.platform, cpu).map_err(ActionError::Scheduler)?;
        self.is_offline[cpu.index()] = false;
        self.offline -= 1;
        self.set_online(cpu, true);
        self.tell_all(cpu);
        // Its first threads of the kernel's own have run and gone, so it looks for work.
        self.platform.resched(cpu);
        Ok(())
    }
}
