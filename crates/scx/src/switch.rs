//! Rescheduling a CPU, ticks and yields.

use crate::act::Act;
use crate::ops::{Callback, Context};
use schedlab_core::CpuId;

impl Act<'_> {
    /// Whether a task is the current one of a CPU and can continue.
    pub(crate) fn runs(&self, row: u32) -> bool {
        let on_cpu = self.w.tasks[row as usize].on_cpu;
        on_cpu.is_some_and(|cpu| self.w.cpus[cpu as usize].goes_on_with(row))
    }

    /// Reschedules a CPU: puts the current task away and picks the next.
    pub(crate) fn schedule(&mut self, cpu: u32) -> Option<u32> {
        self.update_clock(cpu);
        self.w.in_schedule = Some(cpu);
        let next = self.switch(cpu);
        self.w.in_schedule = None;
        if next.is_none() {
            self.look_again(cpu);
        }
        next
    }

    /// Makes a CPU look again if it is about to idle although a task could run there: tasks came
    /// back while it put its own away.
    fn look_again(&mut self, cpu: u32) {
        let local = !self.w.queues[cpu as usize].is_empty();
        let global = self.w.ended.is_some()
            && self.w.queues[self.w.global() as usize]
                .iter()
                .any(|entry| self.w.tasks[entry.task as usize].allowed.contains(CpuId(cpu)));
        if local || global {
            self.p.resched(CpuId(cpu));
        }
    }

    fn switch(&mut self, cpu: u32) -> Option<u32> {
        let curr = self.w.cpus[cpu as usize].curr;
        let is_runnable = curr.is_some() && !self.w.cpus[cpu as usize].is_curr_gone;
        if is_runnable {
            self.charge(cpu);
        }
        let (is_kept, rule) = self.balance(cpu, curr, is_runnable);
        self.account_for(cpu, rule, curr.filter(|_| is_kept));
        if is_kept {
            return curr;
        }
        let next = self.take_local(cpu);
        // Other CPUs may see the task at once, or later.
        let back = self.put_back(cpu);
        let stopped_until = back.filter(|back| !back.unless_idle).map(|back| back.until_ns);
        if let Some(prev) = curr.filter(|_| is_runnable) {
            self.put_away(cpu, prev, next, back);
        }
        self.w.cpus[cpu as usize].curr = next;
        self.w.cpus[cpu as usize].is_curr_gone = false;
        if let Some(prev) = curr.filter(|_| curr != next) {
            self.leaves_cpu(prev, is_runnable);
        }
        if curr != next {
            self.w.counts.switches += 1;
        }
        let at = self.w.rq(cpu) + u64::from(self.w.image.types.offset("rq", "curr"));
        let address = self.w.task_address(next.unwrap_or(cpu));
        self.w.vm.memory.write(at, 8, address);
        match next {
            Some(row) => {
                self.move_task(row, cpu);
                let now = self.now();
                self.w.tasks[row as usize].on_cpu = Some(cpu);
                // A CPU that was stopped within the switch reads its clock after the stop.
                self.w.tasks[row as usize].exec_start = stopped_until.unwrap_or(now);
                self.w.tasks[row as usize].runnable_at = now;
                self.w.set_task_u32(row, self.w.at.on_cpu, 1);
                self.update_idle(cpu, false);
                let args = [self.w.task_address(row)];
                self.call(Callback::RUNNING, Context::Other, &args);
            }
            None => {
                self.update_idle(cpu, true);
            }
        }
        next
    }

    /// Handles a task that its CPU has switched away from.
    pub(crate) fn leaves_cpu(&mut self, row: u32, is_runnable: bool) {
        self.w.tasks[row as usize].on_cpu = None;
        self.w.set_task_u32(row, self.w.at.on_cpu, 0);
        let count = if is_runnable { self.w.at.nivcsw } else { self.w.at.nvcsw };
        let switches = self.w.task_u64(row, count);
        self.w.set_task_u64(row, count, switches + 1);
        if self.w.tasks[row as usize].is_dying {
            self.end_task(row);
        }
    }

    pub(crate) fn tick(&mut self, cpu: u32) {
        self.update_clock(cpu);
        let curr = self.w.cpus[cpu as usize].curr;
        let Some(row) = curr.filter(|_| !self.w.cpus[cpu as usize].is_curr_gone) else { return };
        self.charge(cpu);
        let args = [self.w.task_address(row)];
        self.call(Callback::TICK, Context::Other, &args);
        if self.w.slice(row) == 0 {
            self.p.resched(CpuId(cpu));
        }
    }

    pub(crate) fn yield_now(&mut self, cpu: u32, row: u32) {
        if self.w.cpus[cpu as usize].is_curr_gone {
            // It already waits for another CPU.
            return self.p.resched(CpuId(cpu));
        }
        self.charge(cpu);
        if self.has(Callback::YIELD) {
            let args = [self.w.task_address(row), 0];
            self.call(Callback::YIELD, Context::Other, &args);
        } else {
            self.w.set_slice(row, 0);
        }
        self.p.resched(CpuId(cpu));
    }
}
