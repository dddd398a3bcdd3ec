//! Rate and phase of the kernel's tick, from gaps in a loop that looks at the clock.
//!
//! Whoever spins on the clock sees each tick as a gap. The rate is that of the finest comb whose
//! teeth are there, the phase the median of the gaps at its teeth.

use crate::figures::median;
use schedlab_measure::histogram::percentile_of_sorted;
use serde::{Deserialize, Serialize};

/// Rates that kernels are built with, the highest first: the teeth of a coarser comb are there too
/// whenever those of a finer one are.
const RATES: [u32; 4] = [1000, 300, 250, 100];

/// So far from its tooth a gap may begin, ns.
const NEAR_NS: u64 = 40_000;

/// Shortest gap that is no interrupt but somebody else's turn, ns.
const TURN_NS: u64 = 100_000;

/// Longer gaps weigh no more than this in the search for the phase, ns: one turn of another task is
/// not worth many ticks.
const WEIGHT_NS: u64 = 10_000;

/// So many of a comb's teeth must be there.
const SHARE: f64 = 0.8;

/// A time in which the spinning thread did not run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gap {
    /// From, ns.
    pub start_ns: u64,
    /// To, ns.
    pub end_ns: u64,
}

impl Gap {
    fn length_ns(self) -> u64 {
        self.end_ns - self.start_ns
    }
}

/// The tick as it was seen.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Tick {
    /// Ticks a second.
    pub hz: u32,
    /// When it comes: CLOCK_MONOTONIC modulo its period, ns.
    pub phase_ns: u64,
    /// The share of its teeth that were there, 0 to 1.
    pub seen: f64,
    /// How long the gaps at its teeth were: median and p99, ns.
    pub gap_p50_ns: u64,
    /// See there.
    pub gap_p99_ns: u64,
}

/// The period of a rate, ns.
pub fn period_ns(hz: u32) -> u64 {
    1_000_000_000 / u64::from(hz.max(1))
}

/// The tick that explains `gaps`, which a thread saw that looked at the clock from `from_ns` to
/// `to_ns`. `hz`: what is known of the rate. None: no comb fits.
pub fn find(gaps: &[Gap], from_ns: u64, to_ns: u64, hz: Option<u32>) -> Option<Tick> {
    let known = hz.map(|hz| [hz]);
    let rates = known.as_ref().map_or(&RATES[..], |one| &one[..]);
    let gaps = longest(gaps, to_ns.saturating_sub(from_ns) / period_ns(hz.unwrap_or(RATES[0])));
    rates.iter().find_map(|&hz| comb(&gaps, from_ns, to_ns, hz))
}

/// The longest of the gaps, twice as many as the finest comb has teeth: among all the short ones
/// that a machine may have, any comb would find its teeth.
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
        // What happens while another task runs cannot be seen.
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
            // Somebody else's turn that begins at a tick is no tick.
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

/// Where in the period most of the lost time begins: the median of that place.
fn densest(gaps: &[Gap], period_ns: u64) -> Option<u64> {
    let phase = |gap: &Gap| gap.start_ns % period_ns;
    // Distances ahead of the first of a window, so that the period's end does not cut it.
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

    /// Ticks of `hz` at `phase_ns` in 0.1 s, each a little late, and other interrupts.
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
            let tick = find(&ticks(hz, phase_ns), 0, 100_000_000, None).expect("there is one");
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
        assert_eq!(find(&gaps, 0, 100_000_000, None).expect("there is one").hz, 250);
    }

    #[test]
    fn short_gaps_everywhere_hide_no_tick() {
        let mut gaps = ticks(250, 1_700_000);
        gaps.extend((0..4000).map(|n| gap(n * 25_013, 400)));
        gaps.sort_by_key(|gap| gap.start_ns);
        let tick = find(&gaps, 0, 100_000_000, None).expect("there is one");
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
