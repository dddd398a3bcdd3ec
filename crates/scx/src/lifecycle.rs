//! Loading and ending a policy.

use crate::act::Act;
use crate::class::SLICE_BYPASS;
use crate::cpu::Cpu;
use crate::group::group_weight;
use crate::kernel_types::OPS_SWITCH_PARTIAL;
use crate::memory::{self, address};
use crate::ops::{Callback, Context};
use crate::task::Holder;
use schedlab_core::CpuId;

impl Act<'_> {
    /// Loads the policy.
    pub(crate) fn start(&mut self) {
        if self.w.image.ops.flags & OPS_SWITCH_PARTIAL != 0 {
            self.error(
                "SCX_OPS_SWITCH_PARTIAL leaves all tasks except SCHED_EXT tasks to the fair \
                 class, which does not exist here: run it without that flag (--scx-set ops.flags=N)",
            );
        }
        self.user_before();
        self.call_programs();
        let result = self.call(Callback::INIT, Context::Sleepable, &[]);
        if let Some(error) = result.map(|result| result as i32).filter(|&error| error != 0) {
            self.w.callback = "init";
            self.error(format!("init returned {error}"));
            self.w.callback = "";
        }
        let failed = self.init_group(0);
        if let Some(error) = failed {
            self.error(format!("cgroup_init returned {error}"));
        }
        for cpu in 0..self.w.nr_cpus() {
            self.w.cpu = cpu;
            // Only a policy that is loaded again finds CPUs that are busy or offline.
            let Cpu { curr, is_online, .. } = self.w.cpus[cpu as usize];
            if curr.is_none() && is_online {
                self.update_idle(cpu, true);
            }
        }
        self.user_begins();
    }

    /// Reports a group to the policy. Returns the policy's error.
    pub(crate) fn init_group(&mut self, group: u32) -> Option<i32> {
        let types = self.w.image.types.clone();
        let at = address(memory::SCRATCH, 0);
        let field = |name| at + u64::from(types.offset("scx_cgroup_init_args", name));
        let shares = self.w.groups.get(group as usize).map_or(1024, |group| group.shares);
        self.w.vm.memory.write(field("weight"), 4, group_weight(shares));
        self.w.vm.memory.write(field("bw_period_us"), 8, 100_000);
        // No limit.
        self.w.vm.memory.write(field("bw_quota_us"), 8, u64::MAX);
        self.w.vm.memory.write(field("bw_burst_us"), 8, 0);
        let args = [self.w.cgroup(group), at];
        let result = self.call(Callback::CGROUP_INIT, Context::Sleepable, &args)?;
        Some(result as i32).filter(|&error| error != 0)
    }

    /// Handles the end of the policy: calls `exit` and takes its tasks from it.
    pub(crate) fn leave(&mut self) {
        self.dump();
        let end = self.w.ended.clone();
        if let Some(log) = &self.w.log
            && let Some(end) = &end
        {
            log.notify(|witness| witness.ended(end));
        }
        if let Some(end) = end {
            let types = self.w.image.types.clone();
            let at = address(memory::SCRATCH, 256);
            let field = |name| at + u64::from(types.offset("scx_exit_info", name));
            let texts = [(512, end.reason.to_string()), (2048, end.message.clone())];
            for (offset, text) in &texts {
                let len = text.len().min(1023);
                let to = address(memory::SCRATCH, *offset);
                if let Some(place) = self.w.vm.memory.slice_mut(to, 1024) {
                    place.fill(0);
                    place[..len].copy_from_slice(&text.as_bytes()[..len]);
                }
            }
            self.w.vm.memory.write(field("kind"), 4, end.kind);
            self.w.vm.memory.write(field("exit_code"), 8, end.code as u64);
            self.w.vm.memory.write(field("reason"), 8, address(memory::SCRATCH, 512));
            self.w.vm.memory.write(field("msg"), 8, address(memory::SCRATCH, 2048));
            let mut dump = end.dump.clone().into_bytes();
            dump.push(0);
            self.w.vm.memory.set(memory::DUMP, "dump", dump.len(), false);
            let at_dump = address(memory::DUMP, 0);
            if let Some(place) = self.w.vm.memory.slice_mut(at_dump, dump.len()) {
                place.copy_from_slice(&dump);
            }
            self.w.vm.memory.write(field("dump"), 8, at_dump);
            self.call(Callback::EXIT, Context::Sleepable, &[at]);
        }
        self.w.insertions.clear();
        for row in self.w.nr_cpus()..self.w.tasks.len() as u32 {
            let is_held = match self.w.tasks[row as usize].holder {
                Holder::Policy => true,
                Holder::Queue(queue, _) => queue > self.w.global(),
                Holder::None => false,
            };
            if is_held {
                self.take_out(row);
                self.put(row, self.w.global(), 0);
            }
            let slice = self.w.slice(row).min(SLICE_BYPASS);
            self.w.set_slice(row, slice);
        }
        for cpu in 0..self.w.nr_cpus() {
            if self.w.cpus[cpu as usize].is_online {
                self.p.resched(CpuId(cpu));
            }
        }
    }
}
