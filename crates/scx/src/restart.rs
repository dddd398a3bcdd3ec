//! Restarts of a policy that ended because it has no callback for a CPU that went offline or
//! online.
//!
//! Its user half would load it again, which takes a kernel some milliseconds. Here the new instance
//! takes over in the same instant. Its maps and variables are as they were before the first
//! instance began. Every task is reported to it, like tasks that exist when a policy is loaded.

use crate::act::Act;
use crate::cpu::MASK_ONLINE;
use crate::end::End;
use crate::kernel_types::{ECODE_ACT_RESTART, ENQ_MOVE, ENQ_NOCLOCK, ENQ_RESTORE, SLICE_DFL};
use crate::memory;
use crate::ops::{Callback, Context};
use crate::scheduler::ScxScheduler;
use crate::task::{Holder, Task};
use crate::timers::Timer;
use schedlab_core::Platform;
use std::sync::Arc;

/// Maximum number of restarts in one instant. More would be an endless loop.
const IN_ONE_INSTANT_MAX: u32 = 16;

fn asks_for_it(end: &End) -> bool {
    end.code as u64 & ECODE_ACT_RESTART != 0
}

impl ScxScheduler {
    /// Returns the number of times that the policy was loaded again, as its user half would load
    /// it.
    pub fn restarts(&self) -> u64 {
        self.restarts.count
    }

    /// Whether the policy has ended and should be loaded again. If it has restarted too often in
    /// this instant, it has ended permanently, and its message says so.
    pub(crate) fn is_to_restart(&mut self, now_ns: u64) -> bool {
        let Some(end) = self.world.ended.as_mut().filter(|end| asks_for_it(end)) else {
            return false;
        };
        if self.restarts.now.0 != now_ns {
            self.restarts.now = (now_ns, 0);
        }
        if self.restarts.now.1 == IN_ONE_INSTANT_MAX {
            end.message += &format!(
                "; it was loaded again {IN_ONE_INSTANT_MAX} times in this instant and ended each \
                 time: it would never start"
            );
            return false;
        }
        self.restarts.now.1 += 1;
        self.restarts.count += 1;
        if self.restarts.first.is_none() {
            self.restarts.first = Some((now_ns, end.message.clone()));
        }
        true
    }

    /// Loads the policy again.
    pub(crate) fn restart(&mut self, platform: &mut Platform) {
        platform.cancel_timer(Timer::Watchdog.key());
        platform.cancel_timer(Timer::UserHalf.key());
        for (number, timer) in self.world.timers.iter().enumerate() {
            if timer.pending.is_some() {
                platform.cancel_timer(Timer::Policy(number).key());
            }
        }
        let (image, topology) = (Arc::clone(&self.world.image), self.world.topology.clone());
        let new = ScxScheduler::world(image, &topology, self.options);
        let mut old = std::mem::replace(&mut self.world, new);
        let new = &mut self.world;
        // Counts and logs cover all instances together.
        (new.log, new.printed) = (old.log.take(), old.printed.take());
        (new.counts, new.recent) = (old.counts, old.recent);
        (new.vm.insns, new.vm.probe_faults) = (old.vm.insns, old.vm.probe_faults);
        for (new, old) in new.maps.iter_mut().zip(&old.maps) {
            new.counts = old.counts;
        }
        (new.random, new.stamps) = (old.random, old.stamps);
        new.first_calls = old.first_calls;
        // The state of the machine stays.
        for region in [memory::TASKS, memory::GROUPS, memory::RQS, new.objects] {
            new.vm.memory.take_over(&mut old.vm.memory, region);
        }
        (new.tasks, new.groups, new.cpus) = (old.tasks, old.groups, old.cpus);
        new.threads = old.threads;
        for cpu in 0..new.nr_cpus() {
            let is_online = new.cpus[cpu as usize].is_online;
            new.cpus[cpu as usize].is_idle = false;
            new.set_mask(MASK_ONLINE, cpu, is_online);
        }
        for task in &mut new.tasks {
            let was = std::mem::take(task);
            *task = Task { holder: Holder::None, direct: None, put_back: None, qseq: 0, ..was };
        }
        let mut act = Act { w: new, p: platform };
        act.start();
        act.take_tasks();
    }
}

impl Act<'_> {
    /// Reports everything that exists to the policy.
    fn take_tasks(&mut self) {
        for group in 1..self.w.groups.len() as u32 {
            if let Some(error) = self.init_group(group) {
                self.w.callback = "cgroup_init";
                self.error(format!("cgroup_init returned {error}"));
                self.w.callback = "";
            }
        }
        let is_alive = |act: &Self, row: &u32| act.w.tasks[*row as usize].is_alive;
        let all = self.w.nr_cpus()..self.w.tasks.len() as u32;
        let alive: Vec<u32> = all.filter(|row| is_alive(self, row)).collect();
        for &row in &alive {
            let at = self.w.at;
            self.w.set_task_u64(row, at.vtime, 0);
            self.w.set_slice(row, SLICE_DFL);
            let disallow = self.w.task_address(row) + u64::from(at.disallow);
            self.w.vm.memory.write(disallow, 1, 0);
            self.init_task(row, false);
        }
        for &row in &alive {
            // The other tasks belong to the classes above.
            if !std::mem::take(&mut self.w.tasks[row as usize].is_enabled) {
                continue;
            }
            self.enable(row);
            if !self.w.tasks[row as usize].is_runnable {
                continue;
            }
            let (p, flags) = (self.w.task_address(row), ENQ_RESTORE | ENQ_MOVE | ENQ_NOCLOCK);
            self.w.cpu = self.w.tasks[row as usize].cpu;
            self.call(Callback::RUNNABLE, Context::Other, &[p, flags]);
            if self.runs(row) {
                let now = self.now();
                self.w.tasks[row as usize].exec_start = now;
                self.call(Callback::RUNNING, Context::Other, &[p]);
            } else {
                self.waits_from_now(row);
                self.enqueue(row, flags);
                let cpu = self.w.tasks[row as usize].cpu;
                self.look(cpu);
            }
        }
    }
}
