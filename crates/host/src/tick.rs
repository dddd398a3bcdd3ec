//! Rate and phase of the kernel's tick, from gaps in a loop that reads the clock.
//!
//! Such a loop sees each tick as a gap. The rate is that of the finest comb whose teeth are
//! present, the phase is the median of the gaps at its teeth.

use crate::figures::median;
use schedlab_measure::histogram::percentile_of_sorted;
use serde::{Deserialize, Serialize};

/// Tick rates of kernel builds, the highest first: the teeth of a coarser comb are also present
/// whenever the teeth of a finer one are.
const RATES: [u32; 4] = [1000, 300, 250, 100];

/// Maximum distance from its tooth at which a gap may begin, ns.
const NEAR_NS: u64 = 40_000;

/// Length from which a gap is not an interrupt but another task's time slice, ns.
const TURN_NS: u64 = 100_000;

/// Maximum weight of a gap in the search for the phase, ns: one time slice of another task must not
/// weigh as much as many ticks.
const WEIGHT_NS: u64 = 10_000;

/// Share of a comb's teeth that must be present.
const SHARE: f64 = 0.8;

/// A time during which the spinning thread did not run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gap {
    /// Beginning, ns.
    pub start_ns: u64,
    /// End, ns.
    pub end_ns: u64,
}

impl Gap {
    fn length_ns(self) -> u64 {
        self.end_ns - self.start_ns
    }
}

/// The tick as it was observed.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Tick {
    /// Ticks per second.
    pub hz: u32,
    /// Phase: CLOCK_MONOTONIC modulo the tick's period, ns.
    pub phase_ns: u64,
    /// Share of its teeth that were present, 0 to 1.
    pub seen: f64,
    /// Median length of the gaps at its teeth, ns.
    pub gap_p50_ns: u64,
    /// 99th percentile of these lengths, ns.
    pub gap_p99_ns: u64,
}

/// Returns the period of a tick rate, ns.
pub fn period_ns(hz: u32) -> u64 {
    1_000_000_000 / u64::from(hz.max(1))
}

/// Finds the tick that explains `gaps`, which a thread observed while it read the clock from
/// `from_ns` to `to_ns`. `hz`: the rate, if known. `None`: no comb fits.
pub fn find(gaps: &[Gap], from_ns: u64, to_ns: u64, hz: Option<u32>) -> Option<Tick> {
    let known = hz.map(|hz| [hz]);
    let rates = known.as_ref().map_or(&RATES[..], |one| &one[..]);
    let gaps = longest(gaps, to_ns.saturating_sub(from_ns) / period_ns(hz.unwrap_or(RATES[0])));
    rates.iter().find_map(|&hz| comb(&gaps, from_ns, to_ns, hz))
}

/// Returns the longest gaps, at most twice as many as the finest comb has teeth. On a machine with
/// very many short gaps, any comb would find its teeth among them.
fn longest(gaps: &[Gap], teeth: u64) -> Vec<Gap> {
    let mut longest = gaps.to_vec();
    longest.sort_by_key(|gap| std::cmp::Reverse(gap.length_ns()));
    longest.truncate(2 * teeth.max(1) as usize);
    longest.sort_by_key(|gap| gap.start_ns);
    longest
}

fn comb(gaps: &[Gap], from_ns: u64, to_ns: u64, hz: u32) -> Option<Tick> {
    let period_ns = period_ns(hz);
    let phase_ns = densest(gaps, period_ns)?;
    let first = from_ns + (phase_ns + period_ns - from_ns % period_ns) % period_ns;
    let (mut teeth, mut there, mut lengths) = (0_u64, 0_u64, vec![]);
    for tooth_ns in (first..to_ns).step_by(period_ns as usize) {
        // A tick that comes while another task runs cannot be observed.
        let hidden = |gap: &&Gap| {
            gap.start_ns + NEAR_NS < tooth_ns && tooth_ns < gap.end_ns.saturating_add(NEAR_NS)
        };
        if gaps.iter().any(|gap| hidden(&gap)) {
            continue;
        }
        teeth += 1;
        let near = gaps.iter().filter(|gap| gap.start_ns.abs_diff(tooth_ns) <= NEAR_NS);
        if let Some(length_ns) = near.map(|gap| gap.length_ns()).max() {
            there += 1;
            // Another task's time slice that begins at a tick is not a tick.
            if length_ns < TURN_NS {
                lengths.push(length_ns);
            }
        }
    }
    let seen = there as f64 / teeth as f64;
    if teeth < 3 || seen < SHARE {
        return None;
    }
    lengths.sort_unstable();
    Some(Tick {
        hz,
        phase_ns,
        seen,
        gap_p50_ns: percentile_of_sorted(&lengths, 50, 100)?,
        gap_p99_ns: percentile_of_sorted(&lengths, 99, 100)?,
    })
}

/// Returns the phase at which most of the lost time begins: the median of that neighbourhood.
fn densest(gaps: &[Gap], period_ns: u64) -> Option<u64> {
    let phase = |gap: &Gap| gap.start_ns % period_ns;
    // Distances ahead of the first gap of a window, so that the end of the period does not split
    // it.
    let ahead = |from: u64| {
        gaps.iter()
            .map(move |gap| ((phase(gap) + period_ns - from) % period_ns, gap))
            .filter(|&(distance, _)| distance <= NEAR_NS)
    };
    let lost = |from: u64| ahead(from).map(|(_, gap)| gap.length_ns().min(WEIGHT_NS)).sum::<u64>();
    let best = gaps.iter().map(phase).max_by_key(|&from| lost(from))?;
    let within: Vec<u64> = ahead(best).map(|(distance, _)| distance).collect();
    Some((best + median(&within)?) % period_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gap(start_ns: u64, length_ns: u64) -> Gap {
        Gap { start_ns, end_ns: start_ns + length_ns }
    }

    /// Returns the ticks of `hz` at `phase_ns` in 0.1 s, each a little late, and other interrupts.
    fn ticks(hz: u32, phase_ns: u64) -> Vec<Gap> {
        let period_ns = period_ns(hz);
        let teeth = (0..100_000_000 / period_ns).map(|n| gap(n * period_ns + phase_ns, 5_000 + n));
        let mut gaps: Vec<Gap> = teeth.collect();
        for (n, tick) in gaps.iter_mut().enumerate() {
            tick.start_ns += n as u64 * 37 % 5_000;
            tick.end_ns += n as u64 * 37 % 5_000;
        }
        gaps.extend((0..20).map(|n| gap(n * 4_876_543 + 1_234, 2_000)));
        gaps.sort_by_key(|gap| gap.start_ns);
        gaps
    }

    #[test]
    fn rate_and_phase_are_found_among_other_gaps() {
        for (hz, phase_ns) in [(100, 9_999_000), (250, 1_700_000), (300, 5), (1000, 300_000)] {
            let tick = find(&ticks(hz, phase_ns), 0, 100_000_000, None).expect("a comb fits");
            assert_eq!(tick.hz, hz);
            let off = tick.phase_ns.abs_diff(phase_ns);
            assert!(off.min(period_ns(hz) - off) <= 5_000, "{hz} Hz: {}", tick.phase_ns);
            assert!((5_000..6_000).contains(&tick.gap_p50_ns), "{}", tick.gap_p50_ns);
        }
    }

    #[test]
    fn teeth_behind_other_tasks_do_not_count() {
        let mut gaps = ticks(250, 1_700_000);
        gaps.retain(|gap| !(30_000_000..60_000_000).contains(&gap.start_ns));
        assert!(find(&gaps, 0, 100_000_000, None).is_none(), "a third is missing");
        gaps.push(gap(29_900_000, 30_200_000));
        assert_eq!(find(&gaps, 0, 100_000_000, None).expect("a comb fits").hz, 250);
    }

    #[test]
    fn short_gaps_everywhere_hide_no_tick() {
        let mut gaps = ticks(250, 1_700_000);
        gaps.extend((0..4000).map(|n| gap(n * 25_013, 400)));
        gaps.sort_by_key(|gap| gap.start_ns);
        let tick = find(&gaps, 0, 100_000_000, None).expect("a comb fits");
        assert_eq!(tick.hz, 250);
        assert!(tick.phase_ns.abs_diff(1_700_000) <= 5_000, "{}", tick.phase_ns);
        assert!(tick.gap_p50_ns >= 5_000, "{}", tick.gap_p50_ns);
    }

    #[test]
    fn without_a_comb_there_is_none() {
        assert_eq!(find(&[], 0, 100_000_000, None), None);
        let scattered: Vec<Gap> = (0..50).map(|n| gap(n * n * 31_321, 900)).collect();
        assert_eq!(find(&scattered, 0, 100_000_000, None), None);
        assert_eq!(find(&ticks(250, 0), 0, 100_000_000, Some(1000)), None, "it is known better");
    }
}
