//! SD's staircase: which slots a nice level may use, and where a task moves.
//!
//! Every nice level may use some of the 40 levels, spread evenly: nice -20 all of them, nice 0
//! every second, nice 10 every fourth, nice 19 only the last. That is the **matrix**. A task takes
//! its slots from the best downwards. Its `bitmap` records those that it has had in this rotation.
//! When it has none left it waits in the expired array for the next rotation.

use super::task::{ArrayRef, Pid};
use super::{MAX_PRIO, Staircase};
use schedlab_core::{CpuId, Policy};

/// `prio_matrix`: for each nice level from -20 the slots that it may use. Bit i is level 100 + i.
static PRIO_MATRIX: [u64; 40] = prio_matrix();

const fn prio_matrix() -> [u64; 40] {
    let mut matrix = [0; 40];
    let mut row = 0;
    while row < 40 {
        // 40 rows of 40 columns: the wider the step, the fewer slots.
        let step = 1600 / (40 - row);
        let mut at = 0;
        while at <= 1560 {
            matrix[row] |= 1 << (39 - at / 40);
            at += step;
        }
        row += 1;
    }
    matrix
}

/// A level of 0 in `prio_level` means that nothing has been picked yet in this rotation.
const UNSET: u8 = 0;

impl Staircase {
    /// `recalc_task_prio`: chooses the level and the array of an ordinary task on `cpu`. It may get
    /// a new quota.
    pub(super) fn recalc_task_prio(&mut self, cpu: CpuId, p: Pid) {
        if self.tasks[p].policy == Policy::Idle {
            self.place_idle(cpu, p);
            return;
        }
        self.carry_over_rotation(cpu, p);
        let rq = &self.cpus[cpu.index()];
        let (active, expired) = (rq.active(cpu), rq.expired(cpu));
        let rotation = rq.prio_rotation;
        let task = &mut self.tasks[p];
        if task.rotation == rotation && task.array == expired {
            self.queue_expired(cpu, p);
            return;
        }
        if task.rotation == rotation && task.array == active {
            if task.time_slice > 0 {
                // It slept within the rotation, and has kept its place on the staircase.
                return;
            }
            task.time_slice = task.quota;
        } else {
            self.task_new_array(cpu, p, active);
        }
        match self.next_entitled_slot(cpu, p) {
            MAX_PRIO => self.queue_expired(cpu, p),
            slot => {
                let task = &mut self.tasks[p];
                task.prio = slot;
                task.bitmap |= 1 << (slot - 100);
            }
        }
    }

    /// An idle-priority task stays on the list behind all levels, unless it wakes from an
    /// uninterruptible sleep and may hold resources that others need: then it gets the last of the
    /// ordinary levels, in the next rotation.
    fn place_idle(&mut self, cpu: CpuId, p: Pid) {
        let expired = self.cpus[cpu.index()].expired(cpu);
        let task = &mut self.tasks[p];
        if task.uninterruptible {
            task.prio = MAX_PRIO - 1;
            task.array = expired;
            if task.time_slice <= 0 || task.time_slice > task.quota {
                task.time_slice = task.quota;
            }
            return;
        }
        task.prio = MAX_PRIO;
        task.array = ArrayRef { cpu, object: 0 };
        if task.time_slice <= 0 {
            // Milliseconds used as microseconds: a tick always uses it up.
            task.time_slice = super::task::task_timeslice_ms(task.quota, task.user_prio());
        }
    }

    /// A task that comes from another CPU, and was in that CPU's current rotation, counts as being
    /// in the current rotation here.
    pub(super) fn carry_over_rotation(&mut self, cpu: CpuId, p: Pid) {
        let from = self.tasks[p].array.cpu;
        if from == cpu {
            return;
        }
        let (there, here) = (&self.cpus[from.index()], &self.cpus[cpu.index()]);
        let task = &mut self.tasks[p];
        if task.rotation == there.prio_rotation {
            task.rotation = here.prio_rotation;
            task.array = if task.array == there.expired(from) {
                here.expired(cpu)
            } else {
                here.active(cpu)
            };
        } else {
            task.rotation = 0;
        }
    }

    /// `task_new_array`: gives `p` a new staircase and a full quota.
    pub(super) fn task_new_array(&mut self, cpu: CpuId, p: Pid, array: ArrayRef) {
        let task = &mut self.tasks[p];
        task.bitmap = 0;
        task.rotation = self.cpus[cpu.index()].prio_rotation;
        task.time_slice = task.quota;
        task.array = array;
        task.first_time_slice = false;
    }

    /// `queue_expired`: moves `p` to the expired array, at its first slot. That slot's bit is not
    /// set, so the task can use it twice.
    pub(super) fn queue_expired(&mut self, cpu: CpuId, p: Pid) {
        let expired = self.cpus[cpu.index()].expired(cpu);
        self.task_new_array(cpu, p, expired);
        let task = &mut self.tasks[p];
        task.prio = if task.policy == Policy::Batch {
            task.static_prio
        } else {
            100 + PRIO_MATRIX[task.user_prio()].trailing_zeros() as u8
        };
        let best = &mut self.cpus[cpu.index()].expired_mut().best_static_prio;
        *best = (*best).min(task.static_prio);
    }

    /// `next_entitled_slot`: returns the best level that the task may still take in this rotation.
    /// `140`: none.
    fn next_entitled_slot(&mut self, cpu: CpuId, p: Pid) -> u8 {
        let task = &self.tasks[p];
        let (static_prio, u) = (task.static_prio, task.user_prio());
        let batch = task.policy == Policy::Batch;
        let rq = &mut self.cpus[cpu.index()];
        if static_prio > rq.expired_mut().best_static_prio {
            // A task with a better nice level has used all its slots, so the rotation is also over
            // for this one.
            return MAX_PRIO;
        }
        if rq.prio_level[u] == UNSET {
            rq.prio_level[u] = 100;
        }
        // With sched_interactive a task may begin above the level that its nice level has reached.
        let own_level = if self.sched_interactive { 100 } else { rq.prio_level[u] };
        let best = rq.active_mut().best_static_prio;
        let mut level = if static_prio < best {
            if !batch {
                rq.active_mut().best_static_prio = static_prio;
            }
            100
        } else {
            own_level
        };
        if static_prio > best {
            // But never above the level that better nice levels have reached.
            for reached in &mut rq.prio_level[usize::from(best - 100)..=u] {
                if *reached == UNSET {
                    *reached = 100;
                }
                level = level.max(*reached);
            }
        }
        let open = if batch {
            level = level.max(static_prio);
            (1 << 40) - 1
        } else {
            PRIO_MATRIX[u]
        };
        let left = open & !task.bitmap & (u64::MAX << (level - 100));
        if left == 0 { MAX_PRIO } else { 100 + left.trailing_zeros() as u8 }
    }

    /// Returns the task to run when no real-time task is runnable, but some other task is.
    pub(super) fn pick_ordinary(&mut self, cpu: CpuId) -> Pid {
        let mut level = self.cpus[cpu.index()].active_mut().best_from(100);
        loop {
            let rq = &mut self.cpus[cpu.index()];
            if self.domains.load(cpu).nr_running() == rq.nr_idleprio {
                rq.active = 0;
                self.new_rotation(cpu);
                let idle_list = &self.cpus[cpu.index()].arrays[0];
                return idle_list.head(MAX_PRIO).expect("some task is runnable");
            }
            if level == MAX_PRIO {
                self.major_rotation(cpu);
                level = self.cpus[cpu.index()].active_mut().best_from(100);
            }
            let rq = &mut self.cpus[cpu.index()];
            let next = rq.active_mut().head(level).expect("its bit is set");
            if self.tasks[next].time_slice <= 0 {
                self.task_expired_entitlement(cpu, next);
                level = self.cpus[cpu.index()].active_mut().best_from(100);
                continue;
            }
            let task = &mut self.tasks[next];
            task.rotation = rq.prio_rotation;
            let best = &mut rq.active_mut().best_static_prio;
            *best = (*best).min(task.static_prio);
            let reached = &mut rq.prio_level[task.user_prio()];
            *reached = (*reached).max(level);
            return next;
        }
    }

    /// Clears SD's state of one rotation.
    pub(super) fn forget_rotation(&mut self, cpu: CpuId) {
        let rq = &mut self.cpus[cpu.index()];
        rq.prio_level = [UNSET; 40];
        for array in &mut rq.arrays {
            array.best_static_prio = MAX_PRIO - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn columns(nice: i32) -> Vec<u32> {
        let row = PRIO_MATRIX[(nice + 20) as usize];
        (0..64).filter(|column| row >> column & 1 == 1).collect()
    }

    #[test]
    fn the_matrix_spreads_slots_by_nice() {
        for (nice, slots, first) in [
            (-20, 40, &[0, 1, 2, 3][..]),
            (-10, 30, &[1, 2, 4, 5]),
            (-6, 26, &[1, 3, 4, 6]),
            (0, 20, &[1, 3, 5, 7]),
            (1, 19, &[2, 4, 6, 8]),
            (5, 15, &[2, 5, 8, 10]),
            (10, 10, &[3, 7, 11, 15]),
            (15, 5, &[7, 15, 23, 31]),
            (19, 1, &[39]),
        ] {
            let columns = columns(nice);
            assert_eq!(columns.len(), slots, "nice {nice}");
            assert!(columns.starts_with(first), "nice {nice}: {columns:?}");
            assert_eq!(columns.last(), Some(&39), "nice {nice}");
        }
    }
}
