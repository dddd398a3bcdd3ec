//! Who must get how much: checks on CPU time that hold for particular workloads only.

use super::{Rule, Violation};
use schedlab_core::TaskId;

/// Hogs with equal claims on one CPU: have they had as much as each other at `now_ns`, to within
/// `spread_ns`?
///
/// # Errors
/// Who had more than whom.
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
         they may be {spread_ns} ns apart",
        task_ns[most], task_ns[least]
    );
    Err(Violation::new(Rule::Fairness, now_ns, what).of(TaskId(most as u32)))
}

/// A hog that has been alone on the machine since `start_ns`: has it had all of a CPU until
/// `now_ns`?
///
/// # Errors
/// How much it has not had.
pub fn lone_hog(start_ns: u64, now_ns: u64, task_ns: u64) -> Result<(), Violation> {
    let whole_ns = now_ns.saturating_sub(start_ns);
    if task_ns == whole_ns {
        return Ok(());
    }
    let what = format!("it was alone for {whole_ns} ns and had a CPU for {task_ns} ns of them");
    Err(Violation::new(Rule::LoneHog, now_ns, what).of(TaskId(0)))
}
