//! The limit of `SCHED_ISO`, on each CPU: about 5 seconds are averaged.

use super::Muqss;
use super::levels::ISO_PRIO;
use schedlab_core::{CpuId, Platform, Policy, TaskId};

/// `ISO_PERIOD`: the period that is averaged, ticks.
pub(super) const fn iso_period(hz: u32) -> i64 {
    5 * hz as i64
}

/// A CPU's account of `SCHED_ISO` and real-time tasks.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct IsoAccount {
    /// A decaying sum of the ticks at which such a task ran, in hundredths.
    pub iso_ticks: i64,
    /// Whether the share is used up: `SCHED_ISO` tasks count as ordinary ones.
    pub refractory: bool,
}

impl IsoAccount {
    /// A tick at which such a task runs.
    fn run(&mut self, period: i64, iso_cpu: i64) {
        self.iso_ticks = self.iso_ticks * (period - 1) / period + 100;
        if self.iso_ticks > period * iso_cpu {
            self.refractory = true;
            self.iso_ticks = self.iso_ticks.min(period * 100);
        }
    }

    /// `ticks` ticks at which none runs.
    fn rest(&mut self, ticks: u64, period: i64, iso_cpu: i64) {
        if self.iso_ticks == 0 && !self.refractory {
            return;
        }
        let left = period - ticks.min(period as u64) as i64;
        self.iso_ticks = self.iso_ticks * left / period;
        if self.iso_ticks < period * (iso_cpu * 115 / 128) {
            self.refractory = false;
        }
    }
}

impl Muqss {
    /// The tick of `cpu`, which runs `curr`.
    pub(super) fn iso_tick(&mut self, platform: &mut Platform, cpu: CpuId, curr: TaskId) {
        let (period, iso_cpu) = (iso_period(self.hz), self.settings.iso_cpu);
        let account = &mut self.cpus[cpu.index()].iso;
        let row = &mut self.tasks[curr];
        if row.prio <= ISO_PRIO {
            account.run(period, iso_cpu);
        } else {
            account.rest(1, period, iso_cpu);
        }
        if row.policy != Policy::Iso {
            return;
        }
        if row.prio == ISO_PRIO {
            if account.refractory {
                row.time_slice = 0;
            }
        } else if !account.refractory {
            platform.resched(cpu);
        }
    }

    /// The idle `cpu` has had `ticks` ticks since its last one.
    pub(super) fn iso_decay(&mut self, cpu: CpuId, ticks: u64) {
        let (period, iso_cpu) = (iso_period(self.hz), self.settings.iso_cpu);
        self.cpus[cpu.index()].iso.rest(ticks, period, iso_cpu);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_used_up_above_iso_cpu_and_restored_below_115_128ths_of_it() {
        let (period, iso_cpu) = (iso_period(1000), 3);
        let mut account = IsoAccount::default();
        let mut ticks = 0;
        while !account.refractory {
            account.run(period, iso_cpu);
            ticks += 1;
        }
        // 15,000 hundredths are 150 ticks, plus what decays meanwhile.
        assert_eq!((ticks, account.iso_ticks > 15_000), (154, true));
        while account.refractory {
            account.rest(1, period, iso_cpu);
        }
        assert!(account.iso_ticks < 10_000 && account.iso_ticks > 9_990, "2 x 5000 hundredths");
        account.rest(u64::MAX, period, iso_cpu);
        assert_eq!(account.iso_ticks, 0);
    }
}
