//! Runqueue locks: the CPUs that wait for them, and the time that operations spend under them.

use super::bill::Bill;
use super::modelled::{Lock, Modelled};
use crate::costs::{Cost, Overhead};
use crate::queue::NEVER;
use schedlab_core::{CpuId, Locking};

impl Modelled {
    /// Returns the CPU that has waited longest for the lock, if it has waited since before
    /// `since_ns`. Only CPUs that do nothing else at `now_ns` count.
    pub(super) fn waits_longer(&self, now_ns: u64, since_ns: u64) -> Option<CpuId> {
        if self.waiting == 0 {
            return None;
        }
        let rows = self.waits_since_ns.iter().zip(&self.busy_until_ns).enumerate();
        let free = rows.filter(|&(_, (&since, &busy))| since < since_ns && busy <= now_ns);
        free.min_by_key(|&(_, (&since, _))| since).map(|(row, _)| CpuId(row as u32))
    }

    /// Returns whether a wakeup loses the one lock. It releases the lock, and takes it again after
    /// `again_ps` if it wakes another task. It loses the lock if a waiting CPU gets it in between.
    /// Each of the two times, `again_ps` and the transfer of a cache line to the other CPU, is
    /// drawn between zero and twice its value.
    pub(super) fn loses_lock(&mut self, again_ps: u64) -> bool {
        if self.locking == Locking::PerCpu || self.waiting == 0 {
            return false;
        }
        let again_ps = self.random.below(2 * again_ps + 1);
        let way_ps = self.overheads.charged.times(Cost::LockRemote, 1, &self.kernel);
        let way_ps = self.random.below(2 * way_ps + 1);
        way_ps < again_ps
    }

    /// Ends the wait of `cpu` for the lock.
    pub(super) fn end_wait(&mut self, cpu: CpuId) {
        if std::mem::replace(&mut self.waits_since_ns[cpu.index()], NEVER) != NEVER {
            self.waiting -= 1;
        }
    }

    /// Returns the index of the lock of the queue of `cpu`.
    fn lock_of(&self, cpu: CpuId) -> usize {
        match self.locking {
            Locking::Global => 0,
            Locking::PerCpu => cpu.index(),
        }
    }

    /// Returns the time that `cpu` needs to take a free lock, ps.
    fn taking_ps(&mut self, lock: usize, cpu: CpuId) -> u64 {
        let holder = self.locks[lock].last_holder;
        let far = holder.is_some_and(|holder| holder != cpu);
        // Each other waiting CPU also reads the lock when it is released, and tries to take it.
        let turns = u64::from(far) + self.waiting;
        let charged = &mut self.overheads.charged;
        charged.times(Cost::Lock, 1, &self.kernel)
            + charged.times(Cost::LockRemote, turns, &self.kernel)
    }

    /// Takes the lock of `queue` and the second locks for `cpu`, from `at_ns` on. Returns the time
    /// spent spinning, ns, and the cost of taking them, ps.
    pub(super) fn take_locks(
        &mut self,
        cpu: CpuId,
        at_ns: u64,
        queue: CpuId,
        seconds: &[(CpuId, CpuId)],
    ) -> (u64, u64) {
        let first = self.lock_of(queue);
        let mut had_ns = at_ns.max(self.locks[first].free_at_ns);
        let mut ps = self.taking_ps(first, cpu);
        if self.locking == Locking::PerCpu {
            for &(held, other) in seconds {
                let lock = self.lock_of(other);
                let free_at_ns = self.locks[lock].free_at_ns;
                ps += self.taking_ps(lock, cpu);
                if free_at_ns > had_ns && other < held {
                    // Out of order: releases its own lock, and takes it again after the other.
                    ps += self.kernel[Cost::Lock];
                }
                had_ns = had_ns.max(free_at_ns);
            }
        }
        (had_ns - at_ns, ps)
    }

    /// Makes `cpu` spend the time of `bill`, from `now_ns` on or from when it is no longer busy. It
    /// needs the lock of `queue`. Returns the delay of the work on that CPU, ns.
    pub(super) fn spend(
        &mut self,
        now_ns: u64,
        cpu: CpuId,
        with_task: bool,
        bill: Bill,
        queue: CpuId,
        seconds: &[(CpuId, CpuId)],
    ) -> u64 {
        let begins_ns = self.busy_until_ns[cpu.index()].max(now_ns);
        let awake_ns = self.meter.as_mut().map_or(0, |meter| meter.wake(cpu, begins_ns));
        self.awake_ns = awake_ns;
        let mut spin_ns = 0;
        let mut total_ps =
            bill.before_ps + bill.inside_ps + bill.after_ps + self.carry_ps[cpu.index()];
        let starts_ns = begins_ns + awake_ns;
        let mut held_ps = bill.inside_ps;
        let row = cpu.index();
        if bill.needs_lock {
            let wants_ns = starts_ns + bill.before_ps / 1000;
            let (spins_ns, taking_ps) = self.take_locks(cpu, wants_ns, queue, seconds);
            spin_ns = spins_ns;
            total_ps += taking_ps;
            held_ps += taking_ps;
            self.overheads.cpus[row].add(Overhead::Pick, taking_ps);
            self.overheads.cpus[row].add(Overhead::Spin, spin_ns * 1000);
            self.overheads.contended += u64::from(spin_ns > 0);
            let mut free_at_ns = wants_ns + spin_ns + held_ps.div_ceil(1000);
            if self.locking == Locking::Global {
                // A CPU that does nothing after the lock is out of the kernel when the lock is
                // free. That must not depend on how fractions of nanoseconds are rounded.
                let ends_ns = starts_ns + spin_ns + total_ps / 1000;
                free_at_ns = if bill.after_ps == 0 { ends_ns } else { free_at_ns.min(ends_ns) };
            }
            let free = Lock { free_at_ns, last_holder: Some(cpu) };
            let first = self.lock_of(queue);
            self.locks[first] = free;
            if self.locking == Locking::PerCpu {
                for &(_, other) in seconds {
                    self.locks[other.index()] = free;
                }
            }
        }
        self.overheads.cpus[row].add(Overhead::Awaken, awake_ns * 1000);
        self.carry_ps[row] = total_ps % 1000;
        let ends_ns = starts_ns + spin_ns + total_ps / 1000;
        self.busy_until_ns[row] = ends_ns;
        let spent_ns = ends_ns - begins_ns;
        if with_task {
            self.overheads.cpus[row].with_task_ns += spent_ns;
        } else {
            self.overheads.cpus[row].idle_ns += spent_ns;
            if let Some(meter) = &mut self.meter {
                meter.sleep(cpu, ends_ns);
            }
        }
        spent_ns
    }
}
