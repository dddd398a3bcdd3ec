//! RSDL, from which SD was developed: a **reconstruction** from published descriptions, not checked
//! against its code.
//!
//! Where SD has a matrix, RSDL lets a task use every level from its own (120 + nice) down to 139.
//! It also charges twice: the time that a task runs is subtracted from its own quota and from that
//! of its **level**, which is the sum of the quotas handed out there. When a level has used up its
//! quota, all tasks that are still there move down a level, whether or not they have time left (a
//! **minor rotation**). So the latest time at which tasks further down run is known. This is the
//! "deadline" of the name. No task enters above the level that the rotation has reached.

use super::prio_array;
use super::task::Pid;
use super::{MAX_PRIO, Staircase};
use schedlab_core::{CpuId, Platform};

/// Returns a quota as it is handed out: in whole ticks, rounded up, each as long as a tick's
/// charge. Quotas are used up only at ticks. If a quota were 6 ms where a tick is 4 ms, each task
/// would run 8 ms, the first few tasks of a level would use up the quota of all, and the tasks
/// behind them would sink with them from level to level and never run.
pub(super) fn whole_ticks_us(quota_us: i32, tick_ns: i64) -> i32 {
    let ticks = (i64::from(quota_us) * 1000 + tick_ns - 1) / tick_ns;
    (ticks * (tick_ns / 1000)) as i32
}

impl Staircase {
    /// Chooses the place of an ordinary task on `cpu`: the best level that it has not used yet, but
    /// not above the level that the rotation has reached.
    pub(super) fn rsdl_place(&mut self, cpu: CpuId, p: Pid) {
        self.carry_over_rotation(cpu, p);
        let rq = &mut self.cpus[cpu.index()];
        let (active, expired) = (rq.active(cpu), rq.expired(cpu));
        let task = &mut self.tasks[p];
        if task.rotation != rq.prio_rotation {
            task.rotation = rq.prio_rotation;
            task.bitmap = 0;
            task.time_slice = 0;
        } else if task.array == expired {
            self.rsdl_expire(cpu, p);
            return;
        } else if task.time_slice > 0 {
            task.array = active;
            task.prio = task.prio.max(rq.level_reached);
            return;
        }
        let from = task.static_prio.max(rq.level_reached) - 100;
        let left = !task.bitmap & (u64::MAX << from) & ((1 << 40) - 1);
        if left == 0 {
            self.rsdl_expire(cpu, p);
            return;
        }
        let level = left.trailing_zeros();
        task.array = active;
        task.prio = 100 + level as u8;
        task.bitmap |= 1 << level;
        task.time_slice = task.quota;
        task.first_time_slice = false;
        rq.active_mut().level_quota[level as usize] += i64::from(task.quota);
    }

    /// Moves `p` to the expired array, at its own level.
    pub(super) fn rsdl_expire(&mut self, cpu: CpuId, p: Pid) {
        let rq = &mut self.cpus[cpu.index()];
        let task = &mut self.tasks[p];
        let column = task.user_prio();
        task.rotation = rq.prio_rotation;
        task.array = rq.expired(cpu);
        task.prio = task.static_prio;
        task.bitmap = 1 << column;
        task.time_slice = task.quota;
        task.first_time_slice = false;
        rq.expired_mut().level_quota[column] += i64::from(task.quota);
    }

    /// The second charge: to the quota of the level at which the task runs.
    pub(super) fn rsdl_charge_level(&mut self, cpu: CpuId, p: Pid, used_us: i32) {
        let task = &self.tasks[p];
        if !task.is_realtime() && task.array.cpu == cpu {
            let array = &mut self.cpus[cpu.index()].arrays[usize::from(task.array.object)];
            array.level_quota[usize::from(task.prio - 100)] -= i64::from(used_us);
        }
    }

    /// At a tick at which a task runs at `level`: if the level has used up its quota and tasks are
    /// left there, they move down.
    pub(super) fn rsdl_check_level(&mut self, platform: &mut Platform, cpu: CpuId, level: u8) {
        let active = self.cpus[cpu.index()].active_mut();
        if active.level_quota[usize::from(level - 100)] <= 0 && active.head(level).is_some() {
            self.minor_rotation(cpu, level);
            platform.resched(cpu);
        }
    }

    /// Moves all tasks at `level` down a level, in order; from the last level to the expired array.
    fn minor_rotation(&mut self, cpu: CpuId, level: u8) {
        let mut at = self.cpus[cpu.index()].active_mut().head(level);
        while let Some(p) = at {
            at = prio_array::next(&self.links, p);
            self.dequeue_task(cpu, p);
            if level == MAX_PRIO - 1 {
                self.rsdl_expire(cpu, p);
            } else {
                let task = &mut self.tasks[p];
                task.prio = level + 1;
                task.bitmap |= 1 << (level + 1 - 100);
                let quota = &mut self.cpus[cpu.index()].active_mut().level_quota;
                quota[usize::from(level + 1 - 100)] += i64::from(task.time_slice);
            }
            self.put_in_array(cpu, p);
        }
        if level < MAX_PRIO - 1 {
            self.cpus[cpu.index()].level_reached = level + 1;
        }
    }

    /// Returns the task to run when no real-time task is runnable, but some other task is.
    pub(super) fn rsdl_pick(&mut self, cpu: CpuId) -> Pid {
        loop {
            let level = self.cpus[cpu.index()].active_mut().best_from(100);
            if level == MAX_PRIO {
                self.major_rotation(cpu);
                continue;
            }
            let rq = &mut self.cpus[cpu.index()];
            let next = rq.active_mut().head(level).expect("its bit is set");
            if self.tasks[next].time_slice <= 0 {
                self.task_expired_entitlement(cpu, next);
                continue;
            }
            rq.level_reached = rq.level_reached.max(level);
            self.tasks[next].rotation = rq.prio_rotation;
            return next;
        }
    }

    /// Clears RSDL's state of one rotation.
    pub(super) fn rsdl_forget_rotation(&mut self, cpu: CpuId) {
        let rq = &mut self.cpus[cpu.index()];
        rq.level_reached = 100;
        rq.expired_mut().level_quota = [0; 40];
    }
}
