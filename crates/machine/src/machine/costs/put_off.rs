//! Operations and reschedules that wait until a CPU is no longer busy or has the lock.

use super::bill::Bill;
use super::modelled::{Search, Sleep};
use crate::costs::{Cost, Overhead};
use crate::machine::{Machine, TaskState};
use crate::queue::NEVER;
use crate::workload::Workload;
use schedlab_core::{CpuId, Locking, Observer, Scheduler, TaskId};

impl<S: Scheduler, W: Workload, O: Observer> Machine<S, W, O> {
    /// Returns when `cpu` reaches user code: now, or when it is no longer busy.
    #[inline]
    pub(in crate::machine) fn user_from_ns(&self, cpu: CpuId) -> u64 {
        match &self.costs {
            None => self.now_ns,
            Some(costs) => costs.busy_until_ns[cpu.index()].max(self.now_ns),
        }
    }

    /// Whether `cpu` is busy, so that the next operation of its task has to wait. If so, schedules
    /// that operation.
    #[inline]
    pub(in crate::machine) fn next_operation_waits(&mut self, cpu: CpuId) -> bool {
        let Some(costs) = &mut self.costs else { return false };
        let busy_until_ns = costs.busy_until_ns[cpu.index()];
        if busy_until_ns <= self.now_ns {
            return false;
        }
        costs.between_operations[cpu.index()] = true;
        self.completions.set(cpu.index(), busy_until_ns);
        true
    }

    /// Whether the current task of `cpu`, which is between two operations, is to be switched away
    /// first.
    #[inline]
    pub(in crate::machine) fn is_preempted_between_operations(&mut self, cpu: CpuId) -> bool {
        let Some(costs) = &mut self.costs else { return false };
        std::mem::take(&mut costs.between_operations[cpu.index()])
            && self.platform.resched_pending(cpu)
    }

    /// Returns the earliest time at which a delayed reschedule is due.
    #[inline]
    pub(in crate::machine) fn next_put_off_ns(&self) -> u64 {
        self.costs.as_ref().map_or(NEVER, |costs| costs.put_off.earliest())
    }

    /// Removes the delay of reschedules that are due now. They are requested in any case.
    #[inline]
    pub(in crate::machine) fn take_due_reschedules(&mut self) {
        if let Some(costs) = &mut self.costs {
            while costs.put_off.earliest() <= self.now_ns {
                let slot = costs.put_off.earliest_slot();
                costs.put_off.set(slot, NEVER);
            }
        }
    }

    /// Like [`reschedules`](Machine::reschedules), for a machine on which busy CPUs delay it.
    #[cold]
    pub(in crate::machine) fn reschedules_when_free(&mut self) {
        if let Some(Search { cpu, ends_ns, .. }) =
            self.costs.as_ref().and_then(|costs| costs.search)
            && ends_ns <= self.now_ns
        {
            self.reschedule_with_lock(cpu);
        }
        let (mut from, mut some) = (0, false);
        loop {
            match self.platform.next_resched(from) {
                Some(cpu) => match self.next_to_reschedule(cpu) {
                    Some(first) => {
                        self.reschedule_with_lock(first);
                        some = true;
                        // A CPU that had to let another one go first requests again.
                        from = cpu.0 + u32::from(first == cpu);
                    }
                    None => from = cpu.0 + 1,
                },
                None if !some => break,
                None => (from, some) = (0, false),
            }
        }
    }

    fn reschedule_with_lock(&mut self, cpu: CpuId) {
        self.begin_pending_sleep(cpu);
        self.reschedule(cpu);
        self.search_ends(cpu);
    }

    /// Returns the CPU that reschedules when `cpu` is asked to: `cpu`, or one that has waited
    /// longer for the lock. `None`: it is busy and does so later. If its task has blocked, it does
    /// so at once, because the task itself called `schedule()`.
    fn next_to_reschedule(&mut self, cpu: CpuId) -> Option<CpuId> {
        let Some(costs) = &mut self.costs else { return Some(cpu) };
        let now_ns = self.now_ns;
        let runs_on = self.current[cpu.index()]
            .is_none_or(|task| self.tasks[task.index()].state == TaskState::Running);
        let is_online = self.online.contains(cpu);
        if !runs_on || !is_online {
            return Some(cpu);
        }
        let busy_until_ns = costs.busy_until_ns[cpu.index()];
        if busy_until_ns > now_ns {
            costs.put_off.set(cpu.index(), busy_until_ns);
            return None;
        }
        if let Some(stops) = &mut costs.stops {
            let at_ns = stops.next_ns(cpu, now_ns);
            if at_ns > now_ns {
                costs.put_off.set(cpu.index(), at_ns);
                return None;
            }
        }
        if costs.locking == Locking::PerCpu {
            return Some(cpu);
        }
        let since_ns = costs.waits_since_ns[cpu.index()].min(now_ns);
        if costs.locks[0].free_at_ns <= now_ns {
            // Processors get the bus in turn.
            let first = costs.waits_longer(now_ns, since_ns).unwrap_or(cpu);
            if !self.begin_search(first) {
                return Some(first);
            }
            if first == cpu {
                return None;
            }
        }
        let Some(costs) = &mut self.costs else { return None };
        if std::mem::replace(&mut costs.waits_since_ns[cpu.index()], since_ns) == NEVER {
            costs.waiting += 1;
            costs.overheads.contended += 1;
        }
        let spin_ps = (costs.locks[0].free_at_ns - now_ns) * 1000;
        costs.overheads.cpus[cpu.index()].add(Overhead::Spin, spin_ps);
        self.spend(cpu, Bill { before_ps: spin_ps, ..Bill::default() }, cpu);
        if let Some(costs) = &mut self.costs {
            costs.put_off.set(cpu.index(), costs.busy_until_ns[cpu.index()]);
        }
        None
    }

    /// Begins a search on `cpu`, which has the one lock, if there is something to search. `cpu`
    /// reschedules when the search ends. Interrupts are off until then: a tick finds the task that
    /// is about to be replaced.
    fn begin_search(&mut self, cpu: CpuId) -> bool {
        let leaves =
            self.current[cpu.index()].is_some_and(|task| self.pending_sleep(task).is_some());
        let tasks = self.scheduler.inspect().scan_len().saturating_sub(u64::from(leaves));
        let Some(costs) = &mut self.costs else { return false };
        let search_ps = costs.search_ps(tasks);
        if search_ps == 0 {
            return false;
        }
        costs.end_wait(cpu);
        let row = &mut costs.overheads.cpus[cpu.index()];
        row.add(Overhead::Scan, search_ps);
        let pick_ps = costs.overheads.charged.times(Cost::Pick, 1, &costs.kernel);
        row.add(Overhead::Pick, pick_ps);
        let inside_ps = search_ps + pick_ps;
        self.spend(cpu, Bill { inside_ps, needs_lock: true, ..Bill::default() }, cpu);
        if let Some(costs) = &mut self.costs {
            let ends_ns = costs.busy_until_ns[cpu.index()];
            costs.put_off.set(cpu.index(), ends_ns);
            costs.search = Some(Search { cpu, ends_ns, tasks });
        }
        true
    }

    /// Whether `task`, which runs on `cpu` and calls `schedule()` to sleep, has to wait for the
    /// lock. It is runnable until then, and a wakeup in the meantime keeps it from sleeping.
    #[inline]
    pub(in crate::machine) fn sleep_waits(
        &mut self,
        cpu: CpuId,
        task: TaskId,
        sleep: Sleep,
    ) -> bool {
        let Some(costs) = &mut self.costs else { return false };
        let waits = costs.locking == Locking::Global
            && (costs.waiting > 0
                || costs.locks[0].free_at_ns > self.now_ns
                || costs.search_ps(self.scheduler.inspect().scan_len()) > 0);
        if waits {
            if task.index() >= costs.pending_sleeps.len() {
                costs.pending_sleeps.resize((task.index() + 1).next_power_of_two(), None);
            }
            costs.pending_sleeps[task.index()] = Some(sleep);
            self.platform.resched(cpu);
        }
        waits
    }

    /// Takes the sleep that `task` is about to begin, if any.
    #[inline]
    pub(in crate::machine) fn take_sleep(&mut self, task: TaskId) -> Option<Sleep> {
        self.costs.as_mut()?.pending_sleeps.get_mut(task.index())?.take()
    }

    /// Returns the sleep that `task` is about to begin, if any.
    pub(in crate::machine) fn pending_sleep(&self, task: TaskId) -> Option<Sleep> {
        *self.costs.as_ref()?.pending_sleeps.get(task.index())?
    }

    /// Begins the pending sleep of the task that runs on `cpu`, which now has the lock, unless it
    /// has been woken since.
    fn begin_pending_sleep(&mut self, cpu: CpuId) {
        let Some(task) = self.current[cpu.index()] else { return };
        if let Some(Sleep { until_ns, reason }) = self.take_sleep(task)
            && until_ns > self.now_ns
        {
            if until_ns != NEVER {
                self.sleepers.set(task.0, until_ns);
            }
            self.block(cpu, task, reason);
        }
    }

    /// Prepares `cpu`, which goes offline, to reschedule in any case: its pending kernel time is
    /// dropped.
    pub(in crate::machine) fn free_at_once(&mut self, cpu: CpuId) {
        let now_ns = self.now_ns;
        if let Some(costs) = &mut self.costs {
            let busy = &mut costs.busy_until_ns[cpu.index()];
            let ahead_ns = busy.saturating_sub(now_ns);
            *busy = (*busy).min(now_ns);
            costs.end_wait(cpu);
            costs.search = costs.search.filter(|search| search.cpu != cpu);
            let row = &mut costs.overheads.cpus[cpu.index()];
            let part = if self.current[cpu.index()].is_some() {
                &mut row.with_task_ns
            } else {
                &mut row.idle_ns
            };
            *part = part.saturating_sub(ahead_ns);
            let done_ns = self.completions.get(cpu.index());
            if done_ns != NEVER {
                self.completions.set(cpu.index(), done_ns - ahead_ns);
            }
        }
    }
}
