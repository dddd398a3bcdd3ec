//! Timer ticks of all CPUs.

use crate::queue::NEVER;
use schedlab_core::CpuId;

/// Times at which each CPU ticks. The k-th tick (k = 1, 2, ...) of a CPU falls on k/HZ seconds plus
/// the offset of the CPU.
#[derive(Clone, Debug)]
pub struct Ticks {
    hz: u64,
    /// CPUs with their offsets in ns, in the order in which they tick.
    order: Vec<(u64, CpuId)>,
    /// Number of the next tick, and the position of its CPU in `order`.
    number: u64,
    turn: usize,
    /// Time of the next tick, ns.
    next_ns: u64,
    /// Time by which each tick precedes the full 1/HZ seconds, before offsets are added, ns.
    early_ns: u64,
    /// Recorded ticks, the last first. If present, they replace all other ticks.
    recorded: Option<Vec<(u64, CpuId)>>,
}

const SECOND_NS: u64 = 1_000_000_000;

impl Ticks {
    /// Makes all CPUs tick together, as on the idealised machine.
    pub fn together(cpus: u32, hz: u32) -> Ticks {
        Ticks::with_offsets((0..cpus).map(|_| 0).collect(), hz)
    }

    /// Makes CPU i tick `offsets_ns[i]` after the full k/HZ seconds. Each offset is below 1/HZ.
    pub fn with_offsets(offsets_ns: Vec<u64>, hz: u32) -> Ticks {
        assert!(hz > 0);
        let mut order: Vec<(u64, CpuId)> = offsets_ns
            .into_iter()
            .enumerate()
            .map(|(cpu, offset)| (offset, CpuId(cpu as u32)))
            .collect();
        order.sort_unstable();
        assert!(order.iter().all(|&(offset, _)| offset < SECOND_NS / u64::from(hz)));
        let hz = u64::from(hz);
        let mut ticks =
            Ticks { hz, order, number: 1, turn: 0, next_ns: 0, early_ns: 0, recorded: None };
        ticks.next_ns = ticks.time_ns();
        ticks
    }

    /// Moves the first tick to `phase_ns`, which is below 1/HZ; later ticks follow 1/HZ seconds
    /// apart. `0` changes nothing.
    pub fn in_phase(mut self, phase_ns: u64) -> Ticks {
        let period_ns = SECOND_NS / self.hz;
        assert!(phase_ns < period_ns);
        if phase_ns > 0 {
            self.early_ns = period_ns - phase_ns;
            self.next_ns = self.time_ns();
        }
        self
    }

    /// Returns ticks at the recorded `times` (ns and CPU) of another machine. No tick follows the
    /// last. Jiffies still count full 1/HZ seconds.
    pub fn recorded(mut times: Vec<(u64, CpuId)>, hz: u32) -> Ticks {
        times.sort_unstable();
        times.reverse();
        let mut ticks = Ticks::together(1, hz);
        ticks.recorded = Some(times);
        ticks.look_up();
        ticks
    }

    /// Reads the next recorded tick.
    fn look_up(&mut self) {
        let next = self.recorded.as_ref().and_then(|times| times.last());
        self.next_ns = next.map_or(NEVER, |&(at_ns, _)| at_ns);
        if let Some(&(at_ns, _)) = next {
            self.number = (u128::from(at_ns) * u128::from(self.hz) / u128::from(SECOND_NS)) as u64;
        }
    }

    fn time_ns(&self) -> u64 {
        let full_ns =
            (u128::from(self.number) * u128::from(SECOND_NS) / u128::from(self.hz)) as u64;
        full_ns - self.early_ns + self.order[self.turn].0
    }

    /// Returns the time of the next tick, ns.
    #[inline]
    pub fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// Returns the number of the next tick, from 1. The jiffies have this value after the tick.
    #[inline]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Takes the next tick and returns its CPU.
    #[inline]
    pub fn take(&mut self) -> CpuId {
        if self.recorded.is_some() {
            return self.take_recorded();
        }
        let (offset, cpu) = self.order[self.turn];
        self.turn += 1;
        if self.turn == self.order.len() {
            self.turn = 0;
            self.number += 1;
            self.next_ns = self.time_ns();
        } else {
            self.next_ns += self.order[self.turn].0 - offset;
        }
        cpu
    }

    #[cold]
    fn take_recorded(&mut self) -> CpuId {
        let taken = self.recorded.as_mut().and_then(Vec::pop);
        self.look_up();
        taken.map_or(CpuId(0), |(_, cpu)| cpu)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_do_not_drift_where_hz_does_not_divide_a_second() {
        let mut ticks = Ticks::together(1, 1024);
        for _ in 0..1023 {
            ticks.take();
        }
        assert_eq!((ticks.number(), ticks.next_ns()), (1024, SECOND_NS));
    }

    #[test]
    fn the_first_tick_may_fall_earlier_and_the_others_follow() {
        let mut ticks = Ticks::together(1, 250).in_phase(1_500_000);
        let seen: Vec<(u64, u64)> = (0..3)
            .map(|_| {
                let row = (ticks.number(), ticks.next_ns());
                ticks.take();
                row
            })
            .collect();
        assert_eq!(seen, [(1, 1_500_000), (2, 5_500_000), (3, 9_500_000)]);
        assert_eq!(Ticks::together(1, 250).in_phase(0).next_ns(), 4_000_000);
    }

    #[test]
    fn recorded_ticks_come_when_they_came_and_then_no_more() {
        let times = vec![(8_000_900, CpuId(0)), (4_000_016, CpuId(1)), (4_000_008, CpuId(0))];
        let mut ticks = Ticks::recorded(times, 250);
        let seen: Vec<(u64, u64, u32)> =
            (0..3).map(|_| (ticks.number(), ticks.next_ns(), ticks.take().0)).collect();
        assert_eq!(seen, [(1, 4_000_008, 0), (1, 4_000_016, 1), (2, 8_000_900, 0)]);
        assert_eq!(ticks.next_ns(), NEVER);
    }

    #[test]
    fn offsets_stagger_the_cpus() {
        let mut ticks = Ticks::with_offsets(vec![5, 0, 7], 1000);
        let seen: Vec<(u64, u32)> = (0..4).map(|_| (ticks.next_ns(), ticks.take().0)).collect();
        assert_eq!(seen, [(1_000_000, 1), (1_000_005, 0), (1_000_007, 2), (2_000_000, 1)]);
    }
}
