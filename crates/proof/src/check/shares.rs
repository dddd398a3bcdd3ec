//! Checks of CPU time that apply only to particular workloads.

use super::{Rule, Violation};
use schedlab_core::TaskId;

/// Checks that hogs with equal claims on one CPU have had equal CPU time at `now_ns`, to within
/// `spread_ns`.
///
/// # Errors
/// The hogs with the most and the least CPU time.
pub fn equal_hogs(now_ns: u64, task_ns: &[u64], spread_ns: u64) -> Result<(), Violation> {
    let by_time = |task: &usize| task_ns[*task];
    let most = (0..task_ns.len()).max_by_key(by_time);
    let least = (0..task_ns.len()).min_by_key(by_time);
    let (Some(most), Some(least)) = (most, least) else {
        return Ok(());
    };
    let apart_ns = task_ns[most] - task_ns[least];
    if apart_ns <= spread_ns {
        return Ok(());
    }
    let what = format!(
        "it has had {} ns of CPU time and its equal, task {least}, {} ns; \
         they may differ by {spread_ns} ns",
        task_ns[most], task_ns[least]
    );
    Err(Violation::new(Rule::Fairness, now_ns, what).of(TaskId(most as u32)))
}

/// Checks that a hog that has been alone on the machine since `start_ns` has had a whole CPU until
/// `now_ns`.
///
/// # Errors
/// The CPU time that it had.
pub fn lone_hog(start_ns: u64, now_ns: u64, task_ns: u64) -> Result<(), Violation> {
    let whole_ns = now_ns.saturating_sub(start_ns);
    if task_ns == whole_ns {
        return Ok(());
    }
    let what = format!("it was alone for {whole_ns} ns and had a CPU for {task_ns} ns of them");
    Err(Violation::new(Rule::LoneHog, now_ns, what).of(TaskId(0)))
}
