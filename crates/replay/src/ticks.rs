//! When the recorded CPUs ticked: there tasks take turns.

use crate::trace::Trace;

/// So long after a tick a task that it ends is off its CPU at the latest, ns.
const WINDOW_NS: u64 = 60_000;

/// At so many preemptions there is something to be seen.
const LEAST: usize = 20;

/// When the first tick fell, ns since the trace began: less than `period_ns`. None if the
/// preemptions do not tell.
pub fn phase_ns(trace: &Trace, period_ns: u64) -> Option<u64> {
    let mut ends: Vec<u64> = vec![];
    for task in &trace.tasks {
        for burst in task.bursts() {
            let slices: Vec<_> = task.slices(&burst).collect();
            let preempted = slices.len().saturating_sub(1);
            ends.extend(slices[..preempted].iter().map(|slice| slice.to_ns % period_ns));
        }
    }
    if ends.len() < LEAST || WINDOW_NS >= period_ns {
        return None;
    }
    ends.sort_unstable();
    let count = ends.len();
    let within = |at: usize| {
        let end_ns = ends[at] + WINDOW_NS;
        let here = ends.partition_point(|&it| it < end_ns) - at;
        here + ends.partition_point(|&it| it + period_ns < end_ns)
    };
    let best = (0..count).max_by_key(|&at| (within(at), std::cmp::Reverse(at)))?;
    (3 * within(best) >= count).then(|| ends[best])
}
