//! Charging operations to CPUs.

use super::bill::{Bill, Work};
use super::modelled::{Modelled, busy_cpus, scale_by_turns};
use super::stops::Stops;
use crate::costs::walk::Walks;
use crate::costs::{Cost, Energy, Overhead, Overheads, Setup};
use crate::machine::Machine;
use crate::queue::NEVER;
use crate::workload::Workload;
use schedlab_core::{CpuId, Event, Observer, Scheduler, TaskId, WorkCounts};

impl<S: Scheduler, W: Workload, O: Observer> Machine<S, W, O> {
    /// Turns the machine into a modelled machine, on which operations cost time. Must be called
    /// before the first run.
    ///
    /// # Panics
    /// If `setup` is for another number of CPUs.
    pub fn set_costs(&mut self, setup: Setup) {
        assert_eq!(
            setup.topology.cpus(),
            self.platform.cpus(),
            "the costs are for this number of CPUs"
        );
        let asked = self.scheduler.inspect();
        let (locking, apart_kib) = (asked.locking(), asked.scanned_apart_kib());
        let walks = apart_kib.and_then(|apart_kib| Walks::new(setup.caches.last()?, apart_kib));
        self.costs = Some(Box::new(Modelled { walks, ..Modelled::new(setup, locking) }));
    }

    /// Stops CPUs when the CPUs of another machine were stopped: `times` holds, by CPU, start and
    /// end of each stop, ns. A reschedule that is requested during a stop happens at the end of the
    /// stop. This reproduces the virtual CPUs of an emulator, which run in turn. It has no effect
    /// on an idealised machine.
    pub fn stop_as_recorded(&mut self, mut times: Vec<Vec<(u64, u64)>>) {
        times.resize(self.platform.cpus() as usize, vec![]);
        times.iter_mut().for_each(|times| times.sort_unstable_by_key(|&(_, until_ns)| until_ns));
        if let Some(costs) = &mut self.costs {
            let times = times.into_iter().map(|times| (times, 0)).collect();
            costs.stops = Some(Stops { times });
        }
    }

    /// Returns the kernel time spent so far, by kind; `None` on an idealised machine.
    pub fn overheads(&self) -> Option<Overheads> {
        let costs = self.costs.as_ref()?;
        let mut overheads = costs.overheads.clone();
        for (cpu, row) in overheads.cpus.iter_mut().enumerate() {
            // Excludes time that is still to come.
            let ahead_ns = costs.busy_until_ns[cpu].saturating_sub(self.now_ns);
            let part =
                if self.current[cpu].is_some() { &mut row.with_task_ns } else { &mut row.idle_ns };
            *part = part.saturating_sub(ahead_ns);
        }
        Some(overheads)
    }

    /// Returns the energy used so far; `None` if the machine's power is unknown.
    pub fn energy(&self) -> Option<Energy> {
        Some(self.costs.as_ref()?.meter.as_ref()?.energy(self.now_ns))
    }

    /// Draws how late a timer fires on `cpu`. The wakeup that follows is charged with it.
    #[inline]
    pub(in crate::machine) fn draw_timer_latency(&mut self, cpu: CpuId) {
        let idles = self.current[cpu.index()].is_none();
        if let Some(costs) = &mut self.costs
            && let Some(table) = &costs.timer_latency[usize::from(idles)]
        {
            costs.late_ps = table.draw_ps(&mut costs.latencies);
            if !costs.turns.is_empty() {
                costs.late_ps *= busy_cpus(&self.current, cpu) as u64;
            }
        }
    }

    /// Ends the effect of a drawn latency after the wakeup.
    #[inline]
    pub(in crate::machine) fn forget_timer_latency(&mut self) {
        if let Some(costs) = &mut self.costs {
            costs.late_ps = 0;
        }
    }

    /// Notes that the following hooks are executed on `cpu` and will be charged.
    #[inline]
    pub(in crate::machine) fn enter_kernel(&mut self, cpu: CpuId) {
        if self.costs.is_some() {
            self.enter_modelled(cpu);
        }
    }

    #[cold]
    fn enter_modelled(&mut self, cpu: CpuId) {
        self.platform.work = WorkCounts::default();
        self.platform.set_acting(Some(cpu));
    }

    /// Charges `cpu` for the `work` of the hooks since [`enter_kernel`](Machine::enter_kernel), on
    /// the runqueue of CPU `queue`. Also charges the CPUs that `cpu` interrupted.
    #[inline]
    pub(in crate::machine) fn charge(&mut self, cpu: CpuId, work: Work, queue: CpuId) {
        if self.costs.is_some() {
            self.charge_modelled(cpu, Some(work), queue);
        }
    }

    /// Like [`charge`](Machine::charge). Without `work`, charges only the CPUs that were
    /// interrupted.
    #[cold]
    fn charge_modelled(&mut self, cpu: CpuId, work: Option<Work>, queue: CpuId) {
        let Some(costs) = &mut self.costs else { return };
        self.platform.set_acting(None);
        let mut interrupts = std::mem::take(&mut self.platform.interrupts);
        costs.overheads.interrupts += interrupts.len() as u64;
        if let Some(work) = work {
            scale_by_turns(costs, &self.current, cpu);
            let mut bill = costs.bill(cpu, work, &self.platform.work);
            let sent = interrupts.len() as u64;
            let sending = costs.overheads.charged.times(Cost::IpiSend, sent, &costs.kernel);
            bill.after_ps += sending;
            costs.overheads.cpus[cpu.index()].add(Overhead::Interrupt, sending);
            self.spend(cpu, bill, queue);
        }
        self.platform.second_locks.clear();
        for &other in &interrupts {
            self.interrupt(other);
        }
        interrupts.clear();
        self.platform.interrupts = interrupts;
    }

    fn interrupt(&mut self, cpu: CpuId) {
        if let Some(costs) = &mut self.costs {
            scale_by_turns(costs, &self.current, cpu);
            let bill = costs.bill(cpu, Work::Interrupted, &WorkCounts::default());
            self.spend(cpu, bill, cpu);
        }
    }

    /// Makes `cpu` spend the time of `bill`, and delays the remaining work of its task.
    pub(super) fn spend(&mut self, cpu: CpuId, bill: Bill, queue: CpuId) {
        let Some(costs) = &mut self.costs else { return };
        let with_task = self.current[cpu.index()].is_some();
        let spent_ns =
            costs.spend(self.now_ns, cpu, with_task, bill, queue, &self.platform.second_locks);
        let busy_until_ns = costs.busy_until_ns[cpu.index()];
        if costs.awake_ns > 0 {
            let from_ns = busy_until_ns - spent_ns;
            let until_ns = from_ns + costs.awake_ns;
            self.observer.on(self.now_ns, Event::LeavesIdle { cpu, from_ns, until_ns });
        }
        let done_ns = self.completions.get(cpu.index());
        if done_ns != NEVER && spent_ns > 0 {
            let by_clock =
                self.current[cpu.index()].is_some_and(|task| self.tasks[task.index()].by_clock);
            // Endless work is not delayed. Neither is work that ends at a given time, if the CPU
            // has left the kernel by then.
            let later_ns = if by_clock {
                done_ns.max(busy_until_ns)
            } else {
                done_ns.saturating_add(spent_ns)
            };
            self.completions.set(cpu.index(), later_ns);
        }
    }

    /// Charges `cpu` for its tick, unless it is idle and its tick is stopped.
    #[inline]
    pub(in crate::machine) fn charge_tick(&mut self, cpu: CpuId) {
        if self.costs.is_some() {
            self.charge_modelled_tick(cpu);
        }
    }

    #[cold]
    fn charge_modelled_tick(&mut self, cpu: CpuId) {
        let Some(costs) = &self.costs else { return };
        if !(costs.nohz && self.current[cpu.index()].is_none()) {
            self.charge_modelled(cpu, Some(Work::Tick), cpu);
            return;
        }
        self.charge_modelled(cpu, None, cpu);
        if self.platform.resched_pending(cpu) {
            // The CPU that balanced for it wakes it up.
            self.interrupt(cpu);
        }
    }

    /// Charges `cpu` for calling the scheduler, which picked `next` in place of `prev`.
    #[cold]
    pub(in crate::machine) fn charge_schedule(
        &mut self,
        cpu: CpuId,
        prev: Option<TaskId>,
        next: Option<TaskId>,
    ) {
        let now_ns = self.now_ns;
        let Some(costs) = &mut self.costs else { return };
        costs.put_off.set(cpu.index(), NEVER);
        costs.end_wait(cpu);
        costs.between_operations[cpu.index()] = false;
        // Kernel time that is still to come counts for the next task.
        let ahead_ns = costs.busy_until_ns[cpu.index()].saturating_sub(now_ns);
        if ahead_ns > 0 && prev.is_some() != next.is_some() {
            let row = &mut costs.overheads.cpus[cpu.index()];
            if next.is_some() {
                row.idle_ns = row.idle_ns.saturating_sub(ahead_ns);
                row.with_task_ns += ahead_ns;
            } else {
                row.with_task_ns = row.with_task_ns.saturating_sub(ahead_ns);
                row.idle_ns += ahead_ns;
            }
        }
        let refill_ps = match next {
            Some(task) if prev != next => {
                costs.refill_ps(cpu, task, self.workload.footprint_kib(task))
            }
            _ => 0,
        };
        self.charge_modelled(cpu, Some(Work::Schedule { switches: prev != next, refill_ps }), cpu);
        self.search_ends(cpu);
    }

    /// Clears the search of `cpu`, if one is under way.
    pub(super) fn search_ends(&mut self, cpu: CpuId) {
        if let Some(costs) = &mut self.costs {
            costs.search = costs.search.filter(|search| search.cpu != cpu);
        }
    }
}
