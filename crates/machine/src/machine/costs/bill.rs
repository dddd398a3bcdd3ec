//! The time of one operation: [`Bill`].

use super::modelled::Modelled;
use crate::costs::{Cost, Overhead, Overheads};
use schedlab_core::{CpuId, WorkCounts};

/// Operation of the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::machine) enum Work {
    /// Wakes a task, from a task or from an interrupt.
    Wakeup { from_interrupt: bool },
    /// Creates a new task, on behalf of its parent.
    NewTask,
    /// Removes a task that blocks from its queue.
    Block,
    /// `sched_yield(2)`.
    Yield,
    /// The tick.
    Tick,
    /// `schedule()`, and the switch to another task or to idle.
    Schedule { switches: bool, refill_ps: u64 },
    /// An interrupt from another CPU.
    Interrupted,
}

/// Time of an operation, picoseconds: before it takes its locks, while it holds them, and after.
#[derive(Clone, Copy, Default)]
pub(in crate::machine) struct Bill {
    pub before_ps: u64,
    pub inside_ps: u64,
    pub after_ps: u64,
    pub needs_lock: bool,
}

impl Modelled {
    /// Returns how many of `tasks` tasks that are scanned in a row are in no cache, in thousandths.
    fn missed_milli(&self, tasks: u64) -> u64 {
        self.walks.as_ref().map_or(0, |walks| walks.missed_milli(tasks))
    }

    /// Returns the time to scan `tasks` tasks in one search, ps.
    pub(super) fn search_ps(&mut self, tasks: u64) -> u64 {
        let missed_milli = self.missed_milli(tasks);
        let charged = &mut self.overheads.charged;
        charged.times(Cost::Scan, tasks, &self.kernel)
            + charged.times(Cost::ScanMiss, missed_milli, &self.kernel) / 1000
    }

    /// Returns the time that `work` takes on `cpu` for the steps in `counts`, by kind.
    pub(super) fn bill(&mut self, cpu: CpuId, work: Work, counts: &WorkCounts) -> Bill {
        // The time of a search that ends now was charged when the search began.
        let found = match work {
            Work::Schedule { .. } => self.search.filter(|search| search.cpu == cpu),
            _ => None,
        };
        let scans = 1 + counts.rescans - u64::from(found.is_some());
        let scanned = counts.scanned.saturating_sub(found.map_or(0, |search| search.tasks));
        let missed_milli = self.missed_milli(counts.recalculated);
        let charged = &mut self.overheads.charged;
        let recalculating = charged.times(Cost::Recalculate, counts.recalculated, &self.kernel)
            + charged.times(Cost::ScanMiss, missed_milli, &self.kernel) / 1000;
        let scanning =
            scans * self.search_ps(scanned.checked_div(scans).unwrap_or(0)) + recalculating;
        let loses_lock =
            matches!(work, Work::Wakeup { .. }) && self.loses_lock(self.kernel[Cost::Wakeup]);
        let Overheads { cpus, charged, .. } = &mut self.overheads;
        let row = &mut cpus[cpu.index()];
        let mut times = |cost, times| charged.times(cost, times, &self.kernel);
        let mut bill = Bill::default();
        // Time for counted steps, whatever the operation.
        let queueing = times(Cost::Enqueue, counts.enqueues)
            + times(Cost::Dequeue, counts.dequeues)
            + times(Cost::Level, counts.levels)
            + times(Cost::Word, counts.words)
            + times(Cost::Swap, counts.swaps)
            + times(Cost::Clock, counts.clock_reads)
            + times(Cost::ScxInsn, counts.scx_insns)
            + times(Cost::ScxHelper, counts.scx_helpers)
            + times(Cost::ScxKfunc, counts.scx_kfuncs)
            + times(Cost::ScxMap, counts.scx_maps)
            + times(Cost::ScxVtime, counts.scx_vtime_levels);
        let balancing = times(Cost::Balance, counts.balances)
            + times(Cost::Queue, counts.queues)
            + times(Cost::Move, counts.moves);
        bill.inside_ps = queueing + scanning + balancing;
        bill.needs_lock = bill.inside_ps > 0;
        row.add(Overhead::Pick, queueing);
        row.add(Overhead::Scan, scanning);
        row.add(Overhead::Balance, balancing);
        match work {
            Work::Wakeup { from_interrupt } => {
                bill.needs_lock = true;
                let wakeup_ps = times(Cost::Wakeup, 1);
                row.add(Overhead::Wakeup, wakeup_ps);
                // If it loses the lock, its own time comes later: until then other CPUs hold the
                // lock.
                let part = if loses_lock { &mut bill.after_ps } else { &mut bill.before_ps };
                *part = wakeup_ps;
                if from_interrupt {
                    let interrupt_ps = times(Cost::Interrupt, 1) + self.late_ps;
                    bill.before_ps += interrupt_ps;
                    row.add(Overhead::Interrupt, interrupt_ps);
                }
            }
            Work::NewTask => {
                bill.needs_lock = true;
                bill.before_ps = times(Cost::NewTask, 1);
                row.add(Overhead::Wakeup, bill.before_ps);
            }
            Work::Block | Work::Yield => {}
            Work::Tick => {
                bill.before_ps = times(Cost::Tick, 1) + times(Cost::Interrupt, 1);
                row.add(Overhead::Tick, bill.before_ps);
            }
            Work::Schedule { switches, refill_ps } => {
                // After a search it takes the lock again only for a new epoch, and to find another
                // CPU for the preempted task.
                bill.needs_lock = found.is_none() || counts.rescans + counts.queues > 0;
                if found.is_none() {
                    let pick_ps = times(Cost::Pick, 1);
                    bill.inside_ps += pick_ps;
                    row.add(Overhead::Pick, pick_ps);
                }
                if switches {
                    let switch_ps = times(Cost::Switch, 1);
                    bill.after_ps = switch_ps + refill_ps;
                    row.add(Overhead::Switch, switch_ps);
                    row.add(Overhead::Refill, refill_ps);
                }
            }
            Work::Interrupted => {
                // An interrupt that a late timer causes on another CPU is also late there.
                bill.before_ps = times(Cost::IpiReceive, 1) + self.late_ps;
                row.add(Overhead::Interrupt, bill.before_ps);
            }
        }
        bill
    }
}
