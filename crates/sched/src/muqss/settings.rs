//! The tunables, and what is computed from them.

use super::Muqss;
use super::nearness::RqShare;
use crate::ck::ratios::prio_ratios;
use alloc::vec::Vec;
use schedlab_core::{Tunable, TunableError, tunables};

/// `prio_ratios`: factors of the deadline distance in 128ths, by nice from -20 to 19.
static PRIO_RATIOS: [i64; 40] = prio_ratios(128);

/// The tunables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Settings {
    /// `rr_interval`: length of a slice, ms.
    pub rr_interval: i64,
    /// `interactive`: whether a CPU looks at all queues, and preempts on all CPUs.
    pub interactive: bool,
    /// `yield_type`: what a yield does; see [`Muqss::yields`].
    pub yield_type: i64,
    /// `iso_cpu`: share of a CPU that `SCHED_ISO` tasks may use, percent.
    pub iso_cpu: i64,
    /// `rqshare`: CPUs that share a queue.
    pub rqshare: RqShare,
}

impl Settings {
    /// The settings at boot.
    pub(super) const BOOT: Settings = Settings {
        rr_interval: 6,
        interactive: true,
        yield_type: 1,
        iso_cpu: 70,
        rqshare: RqShare::Mc,
    };

    /// A full slice, in units of 1024 ns.
    pub(super) const fn slice(&self) -> i32 {
        (self.rr_interval << 10) as i32
    }

    /// Distance of the deadline of a full slice at `nice`, ns of niffies. The kernel's product has
    /// 32 bits, which the largest values exceed: then the distance is negative.
    pub(super) fn deadline_distance(&self, nice: i32) -> i64 {
        let weighted = PRIO_RATIOS[(nice + 20) as usize] * self.rr_interval;
        i64::from((weighted as i32).wrapping_mul((1 << 20) / 128))
    }
}

impl Muqss {
    /// Adopts `settings`.
    pub(super) fn adopt(&mut self, settings: Settings) {
        self.settings = settings;
        self.slice = settings.slice();
        for nice in -20..20 {
            self.distances[(nice + 20) as usize] = settings.deadline_distance(nice);
        }
    }

    /// All tunables.
    pub(super) fn list_tunables(&self) -> Vec<Tunable> {
        let Settings { rr_interval, interactive, yield_type, iso_cpu, rqshare } = self.settings;
        let tunable = |name: &'static str, value, range, help| Tunable {
            name: name.into(),
            value,
            range,
            help,
        };
        alloc::vec![
            tunable(
                "rr_interval",
                rr_interval,
                (1, 1000),
                "length of a slice, ms; deadlines scale with it",
            ),
            tunable(
                "interactive",
                interactive.into(),
                (0, 1),
                "1: CPUs take the best task of all queues; 0: they prefer their own (throughput)",
            ),
            tunable(
                "yield_type",
                yield_type,
                (0, 2),
                "a yield 0: does nothing, 1: reschedules, 2: also assigns a new deadline",
            ),
            tunable(
                "iso_cpu",
                iso_cpu,
                (0, 100),
                "percentage of each CPU that SCHED_ISO tasks may use before they count as ordinary",
            ),
            tunable(
                "rqshare",
                rqshare as i64,
                (0, 5),
                "CPUs that share a queue, chosen at boot: 0 none, 1 smt (a core), 2 mc (a package), \
                 3 llc (a cache), 4 smp and 5 all (a node)",
            ),
        ]
    }

    /// Writes a tunable.
    pub(super) fn write_tunable(&mut self, name: &str, value: i64) -> Result<(), TunableError> {
        tunables::check(&self.list_tunables(), name, value)?;
        let mut settings = self.settings;
        match name {
            "rr_interval" => settings.rr_interval = value,
            "interactive" => settings.interactive = value != 0,
            "yield_type" => settings.yield_type = value,
            "iso_cpu" => settings.iso_cpu = value,
            _ if !self.tasks.is_empty() => {
                return Err(TunableError::Refused(
                    "rqshare is a boot parameter: set it before the first task starts".into(),
                ));
            }
            _ => {
                settings.rqshare = RqShare::from_number(value).unwrap_or(settings.rqshare);
                self.nearness.share(settings.rqshare);
            }
        }
        self.adopt(settings);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_and_their_overflow() {
        let at =
            |rr_interval, nice| Settings { rr_interval, ..Settings::BOOT }.deadline_distance(nice);
        assert_eq!([-20, 0, 19].map(|nice| at(6, nice)), [6_291_456, 41_091_072, 250_134_528]);
        assert_eq!(Settings::BOOT.slice(), 6144);
        assert_eq!(at(51, 19), 5089 * 51 * 8192);
        assert_eq!(at(52, 19), 5089 * 52 * 8192 - (1 << 32), "it overflows");
    }
}
