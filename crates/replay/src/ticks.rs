//! Estimates when the recorded CPUs ticked. No trace records these times, but tasks are preempted
//! at ticks.

use crate::trace::Trace;

/// Longest time between a tick and the moment when a task preempted by it has left the CPU, ns: the
/// tick itself, and balancing that precedes the switch.
const WINDOW_NS: u64 = 60_000;

/// Minimum number of preemptions for an estimate.
const LEAST: usize = 20;

/// Returns when the first tick fell, ns since the trace began: less than `period_ns`, the time from
/// tick to tick. `None`: there are too few preemptions, or less than a third of them coincide.
pub fn phase_ns(trace: &Trace, period_ns: u64) -> Option<u64> {
    let mut ends_ns: Vec<u64> = vec![];
    for task in &trace.tasks {
        for burst in task.bursts() {
            let count = task.slices(&burst).count();
            let preempted = task.slices(&burst).take(count.saturating_sub(1));
            ends_ns.extend(preempted.map(|slice| slice.to_ns % period_ns));
        }
    }
    ends_ns.sort_unstable();
    phase_of(&ends_ns, period_ns)
}

/// Returns the point in the period at which most of `ends_ns` (ascending) begin to fall.
fn phase_of(ends_ns: &[u64], period_ns: u64) -> Option<u64> {
    let count = ends_ns.len();
    if count < LEAST || WINDOW_NS >= period_ns {
        return None;
    }
    // Number of ends within the window that begins with this one. The window may extend into the
    // next period.
    let within = |at: usize| {
        let end_ns = ends_ns[at] + WINDOW_NS;
        let here = ends_ns.partition_point(|&it| it < end_ns) - at;
        here + ends_ns.partition_point(|&it| it + period_ns < end_ns)
    };
    let best = (0..count).rev().max_by_key(|&at| within(at))?;
    (3 * within(best) >= count).then(|| ends_ns[best])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preemptions_that_fall_together_are_ticks() {
        let period_ns = 4_000_000;
        // Fifteen within 14 us behind 1.66 ms, and ten elsewhere.
        let mut ends_ns: Vec<u64> = (0..15).map(|at| 1_660_000 + 1_000 * at).collect();
        ends_ns.extend((0..10).map(|at| 300_000 + 370_000 * at));
        ends_ns.sort_unstable();
        assert_eq!(phase_of(&ends_ns, period_ns), Some(1_660_000));
        // Too few, or too far from each other.
        assert_eq!(phase_of(&ends_ns[..19], period_ns), None);
        let even: Vec<u64> = (0..40).map(|at| 100_000 * at).collect();
        assert_eq!(phase_of(&even, period_ns), None);
    }

    #[test]
    fn a_window_may_reach_into_the_next_period() {
        let mut ends_ns: Vec<u64> = (0..10).map(|at| 2_000 * at).collect();
        ends_ns.extend((0..12).map(|at| 3_976_000 + 2_000 * at));
        assert_eq!(phase_of(&ends_ns, 4_000_000), Some(3_976_000));
    }
}
