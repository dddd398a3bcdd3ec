//! `schedule()`: the walk of the class list, and the stopper, which runs within it.

use super::super::{Class, ClassId, Pid};
use super::{Core6, FairClass6, rules};
use schedlab_core::{CpuId, Platform, Question};

impl<F: FairClass6> Core6<F> {
    /// `__schedule`: switches `cpu` to its next thread and returns that thread.
    pub(super) fn pick_and_switch(&mut self, platform: &mut Platform, cpu: CpuId) -> Pid {
        self.core.update_rq_clock(platform, cpu);
        self.fair.turn_ends(&self.core, platform, cpu);
        let first = self.core.curr(cpu);
        let first_class = self.class_of(first);
        if self.core.rqs[cpu.index()].stopper_waits {
            self.stopper(platform, cpu, first);
        }
        let prev = self.core.curr(cpu);
        let is_stopper = self.core.is_migration_thread(prev);
        let prev_class = self.class_of(prev);
        if !is_stopper && matches!(prev_class, ClassId::Rt | ClassId::Deadline) {
            urgent_class!(self, prev_class, pre_schedule(platform, cpu, prev));
            self.report_moves();
            // It is charged here, because the charge may end its budget.
            self.put_prev(platform, cpu, prev);
        }
        if self.deadline.fair_server_competes(cpu) {
            self.charge_fair_server(platform, cpu, prev);
        }
        let above_fair = is_stopper || prev_class > ClassId::Fair;
        let (next, is_fair) = self.pick_next(platform, cpu, above_fair);
        let Self { core: rqs, fair, .. } = self;
        match (prev_class == ClassId::Fair, is_fair) {
            (true, true) if prev == next => fair.picked_again(rqs, next),
            (true, true) => fair.switch(rqs, platform, prev, next),
            (true, false) => fair.put_prev_task(rqs, platform, cpu, prev),
            (false, true) => fair.set_curr_task(rqs, platform, cpu, next),
            (false, false) => {}
        }
        rqs.set_curr(cpu, next);
        fair.class_switch(platform.now_ns(), cpu, first_class, rqs.thread(next).class);
        if next == rqs.idle_thread(cpu) && first != next {
            fair.cpu_idles(rqs, cpu);
        }
        rqs.thread_mut(prev).need_resched = false;
        rqs.thread_mut(next).need_resched = false;
        platform.clear_resched(cpu);
        if is_fair && prev != next {
            fair.turn_begins(rqs, platform, next);
        }
        if first != next {
            fair.task_switched_away(rqs, first);
            if !self.early_wakeups.is_empty() {
                self.wake_early_ones(platform, first);
            }
        }
        next
    }

    /// Asks the classes in order for the next thread of `cpu`; without one the idle thread runs.
    /// Returns whether the thread is a fair task, too. `above_fair`: the previous thread was of a
    /// class above the fair one. (Then balancing comes before the pick, and treats a delayed task
    /// as one that can be picked.)
    pub(super) fn pick_next(
        &mut self,
        platform: &mut Platform,
        cpu: CpuId,
        above_fair: bool,
    ) -> (Pid, bool) {
        let Self { core: rqs, deadline, rt, fair, .. } = self;
        let idle = rqs.idle_thread(cpu);
        let mut urgent = deadline.pick_next_task(rqs, platform, cpu);
        if urgent == Some(idle) {
            // The fair server was picked.
            if let Some(task) = fair.pick_task(rqs, platform, cpu) {
                platform.because(Question::Pick, cpu, rules::FAIR_SERVER, |evidence| {
                    deadline.account_of_fair_server(rqs, cpu, evidence);
                    fair.candidates(rqs, cpu, &mut evidence.candidates);
                });
                return (task, true);
            }
            deadline.fair_server_stop(rqs, cpu);
            urgent = deadline.pick_next_task(rqs, platform, cpu);
        }
        if let Some(pid) = urgent.or_else(|| rt.pick_next_task(rqs, platform, cpu)) {
            if deadline.has_fair_server() && fair.is_wanted(cpu) {
                self.defer_fair_server(platform, cpu);
            }
            return (pid, false);
        }
        let task = match above_fair && fair.is_wanted(cpu) {
            true => fair.pick_task(rqs, platform, cpu),
            false => fair.pick_or_pull(rqs, platform, cpu),
        };
        match task {
            Some(task) => (task, true),
            None => {
                // Throttled real-time tasks have already named the rule.
                if !rt.holds_back(cpu) {
                    platform.by_rule(Question::Pick, cpu, rules::IDLE);
                }
                (idle, false)
            }
        }
    }

    /// Charges `task`, if it is fair and running on `cpu`, and then the fair server.
    pub(super) fn charge_fair_server(&mut self, platform: &mut Platform, cpu: CpuId, task: Pid) {
        let Self { core: rqs, deadline, fair, .. } = self;
        if rqs.thread(task).class == ClassId::Fair {
            fair.charge(rqs, platform, task);
        }
        deadline.fair_server_charge(rqs, platform, cpu, fair.exec_clock(cpu));
    }

    /// Runs the stopper on `cpu`, which has work: it pushes tasks away. The running task is put
    /// first.
    pub(super) fn stopper(&mut self, platform: &mut Platform, cpu: CpuId, prev: Pid) {
        self.put_prev(platform, cpu, prev);
        let stopper = self.core.migration_thread(cpu);
        self.core.thread_mut(prev).need_resched = false;
        self.core.set_curr(cpu, stopper);
        if core::mem::take(&mut self.core.rqs[cpu.index()].active_balance) {
            self.fair.active_load_balance(&mut self.core, platform, cpu);
        }
        let mut queue = core::mem::take(&mut self.core.rqs[cpu.index()].migration_queue);
        for (pid, to) in queue.drain(..) {
            // (The destination may be forbidden by now; then a later request has another one.)
            if self.core.cpu_of(pid) == cpu
                && !self.core.is_allowed(pid, cpu)
                && self.core.is_allowed(pid, to)
                && self.core.thread(pid).on_rq
            {
                self.move_queued(platform, pid, to);
            }
        }
        self.core.rqs[cpu.index()].migration_queue = queue;
        while let Some(at) = self.execs.iter().position(|&(_, from, _)| from == cpu) {
            let (pid, _, to) = self.execs.remove(at);
            if self.core.cpu_of(pid) == cpu
                && self.core.is_allowed(pid, to)
                && self.core.thread(pid).on_rq
            {
                self.move_queued(platform, pid, to);
            }
        }
        self.core.rqs[cpu.index()].stopper_waits = false;
        self.core.sub_nr_running(cpu, 1);
    }
}
