//! CPUs and tasks that a class above takes, and those that it returns.
//!
//! The real-time and the deadline class are above this one. When one of their tasks needs a CPU,
//! the current task is put away as at any switch (with slice left it goes to the head of the local
//! queue) and `cpu_release` is called. When the CPU comes back, `cpu_acquire` is called. A task
//! that gets a real-time policy leaves the policy (`disable`). A task that loses it joins the
//! policy (`enable`, `set_weight`, `set_cpumask`). Where the specification is silent this follows a
//! recollection of Linux 6.18: see `docs/scx.md`.

use crate::act::Act;
use crate::kernel_types::{
    CPU_PREEMPT_DL, CPU_PREEMPT_RT, DEQ_SCHED_CHANGE, ENQ_CPU_SELECTED, ENQ_NOCLOCK, ENQ_RESTORE,
    ENQ_SCHED_CHANGE, ENQ_WAKEUP, TASK_DEQD_FOR_SLEEP, WAKE_SYNC, WAKE_TTWU,
};
use crate::memory::{self, address};
use crate::ops::{Callback, Context};
use crate::options::Profile;
use crate::rules;
use crate::task::weight_of;
use schedlab_core::{CpuId, Parent, Policy, Question, SchedAttr, TaskAttr, TaskId, Waker};

impl Act<'_> {
    /// Flags of a task that leaves its queue for a change and then returns.
    fn change_flags(&self) -> (u64, u64) {
        let flags = ENQ_RESTORE | ENQ_NOCLOCK;
        match self.w.profile {
            Profile::V6_18 => (flags, flags),
            Profile::V7_3 => (flags | DEQ_SCHED_CHANGE, flags | ENQ_SCHED_CHANGE),
        }
    }

    /// Sets the task that the policy sees as the current one of a CPU.
    fn set_rq_curr(&mut self, cpu: u32, row: u32) {
        let at = self.w.rq(cpu) + u64::from(self.w.image.types.offset("rq", "curr"));
        let address = self.w.task_address(row);
        self.w.vm.memory.write(at, 8, address);
    }

    /// Gives a CPU to `by`, a task of a class above.
    pub(crate) fn taken(&mut self, cpu: u32, by: u32) {
        self.update_clock(cpu);
        let curr = self.w.cpus[cpu as usize].curr;
        let is_runnable = curr.is_some() && !self.w.cpus[cpu as usize].is_curr_gone;
        if is_runnable {
            self.charge(cpu);
        }
        // The core asks the classes in order, from the class of the task that ran. This class
        // therefore looks for work before it is known that a higher class has the CPU.
        self.w.in_schedule = Some(cpu);
        self.find_work(cpu, curr, is_runnable);
        if let Some(row) = curr.filter(|_| is_runnable) {
            self.put_away(cpu, row, Some(by), None);
        }
        self.w.in_schedule = None;
        self.w.cpus[cpu as usize].curr = None;
        self.w.cpus[cpu as usize].is_curr_gone = false;
        self.w.cpus[cpu as usize].is_taken = true;
        if let Some(row) = curr {
            self.leaves_cpu(row, is_runnable);
        }
        self.w.counts.switches += 1;
        self.runs_above(cpu, by);
        if curr.is_none() {
            // The CPU was idle, or was given back a moment ago. Nothing was taken from the policy.
            return self.update_idle(cpu, false);
        }
        if self.w.cpus[cpu as usize].is_released {
            return;
        }
        if self.has(Callback::CPU_RELEASE) || self.has(Callback::CPU_ACQUIRE) {
            self.w.cpus[cpu as usize].is_released = true;
        }
        let reason = match self.w.tasks[by as usize].attr.policy {
            Policy::Deadline => CPU_PREEMPT_DL,
            _ => CPU_PREEMPT_RT,
        };
        let types = self.w.image.types.clone();
        let args = address(memory::SCRATCH, 0);
        let field = |name| args + u64::from(types.offset("scx_cpu_release_args", name));
        self.w.vm.memory.write(field("reason"), 4, reason);
        let task = self.w.task_address(by);
        self.w.vm.memory.write(field("task"), 8, task);
        self.call(Callback::CPU_RELEASE, Context::CpuRelease, &[u64::from(cpu), args]);
    }

    /// Runs a task of a class above, after any task.
    pub(crate) fn runs_above(&mut self, cpu: u32, row: u32) {
        self.set_rq_curr(cpu, row);
        self.w.set_task_u32(row, self.w.at.on_cpu, 1);
    }

    /// Returns a CPU that no class above needs any more.
    pub(crate) fn comes_back(&mut self, cpu: u32) {
        self.w.cpus[cpu as usize].is_taken = false;
        if std::mem::take(&mut self.w.cpus[cpu as usize].is_released) {
            self.call(Callback::CPU_ACQUIRE, Context::Other, &[u64::from(cpu), 0]);
        }
    }

    /// Creates a task of a class above and reports it to the policy.
    pub(crate) fn fork_above(&mut self, task: TaskId, attr: &TaskAttr, parent: Parent) {
        let row = self.w.row(task);
        self.born(row, attr, parent);
        self.init_task(row, true);
    }

    /// Handles a task of a class above that has left its CPU.
    pub(crate) fn left_above(&mut self, row: u32) {
        self.w.set_task_u32(row, self.w.at.on_cpu, 0);
        let on = self.w.tasks[row as usize].on_cpu;
        if on.is_some_and(|cpu| self.w.cpus[cpu as usize].curr != Some(row)) {
            self.w.tasks[row as usize].on_cpu = None;
        }
        if self.w.tasks[row as usize].is_dying && self.w.tasks[row as usize].on_cpu.is_none() {
            self.end_task(row);
        }
    }

    /// Changes the attributes of a task that is on no queue. A task that came from a class above is
    /// given to the policy.
    pub(crate) fn describe(&mut self, row: u32, attr: &SchedAttr, is_ordinary: bool) {
        self.w.tasks[row as usize].attr = *attr;
        self.w.describe_attr(row);
        if !is_ordinary || self.w.tasks[row as usize].is_enabled {
            return;
        }
        self.enable(row);
        let args = [self.w.task_address(row), self.w.task_field(row, "cpus_mask")];
        self.call(Callback::SET_CPUMASK, Context::Other, &args);
    }

    /// Takes a task from the policy: it belongs to a class above now.
    pub(crate) fn disable(&mut self, row: u32) {
        if std::mem::take(&mut self.w.tasks[row as usize].is_enabled) {
            let p = self.w.task_address(row);
            self.call(Callback::DISABLE, Context::Other, &[p]);
        }
    }

    /// Takes a task off its queue, or stops it, on its way to a class above. `runs` is the CPU on
    /// which it continues to run.
    pub(crate) fn goes_above(&mut self, row: u32, runs: Option<u32>) {
        let (flags, _) = self.change_flags();
        let p = self.w.task_address(row);
        match runs {
            Some(cpu) => {
                self.charge(cpu);
                self.call(Callback::STOPPING, Context::Other, &[p, 0]);
                self.w.cpus[cpu as usize].curr = None;
                self.w.cpus[cpu as usize].is_taken = true;
                self.w.tasks[row as usize].on_cpu = None;
            }
            None => self.give_back(row, flags),
        }
        self.call(Callback::QUIESCENT, Context::Other, &[p, flags]);
        self.w.set_runnable(row, false);
    }

    /// Puts a task that comes from a class above into a queue, and returns the CPU to which it
    /// belongs. `here` is the CPU on which it is current. It continues to run there if its affinity
    /// permits.
    pub(crate) fn comes_from_above(&mut self, row: u32, here: Option<u32>) -> u32 {
        let (_, flags) = self.change_flags();
        let cpu = here.unwrap_or(self.w.tasks[row as usize].cpu);
        let cpus = self.w.nr_cpus();
        let allowed = &self.w.tasks[row as usize].allowed;
        let may_stay = allowed.contains(CpuId(cpu));
        let to = if may_stay { cpu } else { allowed.first(cpus).map_or(cpu, |first| first.0) };
        if to != cpu {
            self.p.by_rule(Question::Migrate, CpuId(to), rules::TAKEN);
        }
        self.move_task(row, to);
        self.w.set_runnable(row, true);
        self.w.tasks[row as usize].put_back = None;
        self.waits_from_now(row);
        self.w.set_task_u32(row, self.w.at.state, 0);
        self.w.set_task_flag(row, TASK_DEQD_FOR_SLEEP, false);
        let p = self.w.task_address(row);
        self.call(Callback::RUNNABLE, Context::Other, &[p, flags]);
        if let Some(here) = here {
            // No other CPU takes it until it has left.
            self.w.tasks[row as usize].on_cpu = Some(here);
            if may_stay {
                let now = self.now();
                self.w.cpus[here as usize].curr = Some(row);
                self.w.cpus[here as usize].is_curr_gone = false;
                self.w.cpus[here as usize].is_taken = false;
                self.w.tasks[row as usize].exec_start = now;
                self.w.tasks[row as usize].runnable_at = now;
                self.call(Callback::RUNNING, Context::Other, &[p]);
                return to;
            }
            self.p.resched(CpuId(here));
        }
        self.enqueue(row, flags);
        let cpu = self.w.tasks[row as usize].cpu;
        self.look(cpu);
        cpu
    }

    /// Makes a sleeping task belong to this class while its CPU has not yet switched away from it.
    pub(crate) fn is_still_on(&mut self, row: u32, cpu: u32) {
        self.w.tasks[row as usize].on_cpu = Some(cpu);
    }

    /// Chooses the CPU of a task that wakes.
    pub(crate) fn place_woken(&mut self, row: u32, waker: Waker) -> u32 {
        let prev = self.w.tasks[row as usize].cpu;
        let sync = if waker.is_sync() { WAKE_SYNC } else { 0 };
        self.place(row, prev, WAKE_TTWU | sync)
    }

    /// Enqueues a task that wakes on the CPU that was chosen for it.
    pub(crate) fn activate_woken(&mut self, row: u32, cpu: u32) {
        let chooses = self.w.tasks[row as usize].nr_allowed > 1;
        let selected = if chooses { ENQ_CPU_SELECTED } else { 0 };
        self.activate(row, cpu, ENQ_WAKEUP | ENQ_NOCLOCK | selected);
    }

    /// Makes a task known to the policy: `enable`, `set_weight`.
    pub(crate) fn enable(&mut self, row: u32) {
        let p = self.w.task_address(row);
        self.w.tasks[row as usize].is_enabled = true;
        self.call(Callback::ENABLE, Context::Other, &[p]);
        let weight = u64::from(weight_of(&self.w.tasks[row as usize].attr));
        self.call(Callback::SET_WEIGHT, Context::Other, &[p, weight]);
    }
}
