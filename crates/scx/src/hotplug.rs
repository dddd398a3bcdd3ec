//! CPU hotplug and limits of groups, as reported to the policy.

use crate::act::Act;
use crate::cpu::MASK_ONLINE;
use crate::kernel_types::{ECODE_HOTPLUG, EXIT_UNREG_KERN};
use crate::ops::{Callback, Context};
use schedlab_core::Quota;

impl Act<'_> {
    /// Takes a CPU offline or online. A policy without a callback for that ends, and is then loaded
    /// again.
    pub(crate) fn hotplug(&mut self, cpu: u32, is_online: bool) {
        self.w.cpu = cpu;
        self.w.cpus[cpu as usize].is_online = is_online;
        self.w.set_mask(MASK_ONLINE, cpu, is_online);
        if !is_online && self.w.tracks_idle {
            self.w.mark_idle(cpu, false);
        }
        let (callback, going) = match is_online {
            true => (Callback::CPU_ONLINE, "online"),
            false => (Callback::CPU_OFFLINE, "offline"),
        };
        if self.has(callback) {
            self.call(callback, Context::Sleepable, &[u64::from(cpu)]);
        } else if self.w.ended.is_none() {
            let now = self.now();
            let message = format!("cpu {cpu} going {going}, exiting scheduler");
            self.w.end(EXIT_UNREG_KERN, ECODE_HOTPLUG as i64, message, now);
        }
        if is_online && self.w.tracks_idle && self.w.cpus[cpu as usize].is_vacant() {
            self.w.mark_idle(cpu, true);
        }
    }

    /// Changes a group's limit. The policy has to enforce it.
    pub(crate) fn set_bandwidth(&mut self, group: u32, quota: Quota) {
        let Quota { quota_us, period_us, burst_us, phase_us: _ } = quota;
        let args = [self.w.cgroup(group), period_us, quota_us.unwrap_or(u64::MAX), burst_us];
        self.call(Callback::CGROUP_SET_BANDWIDTH, Context::Sleepable, &args);
    }
}
