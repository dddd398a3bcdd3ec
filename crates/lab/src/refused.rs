//! Requests of tasks that were refused, as a warning of the run.

use schedlab_core::{Errno, Policy, Request, TaskId};
use schedlab_measure::{Refusal, Refusals};

/// Maximum number of lines.
const LINES: usize = 10;

/// Describes the refused requests of the workload (refusals of the timetable are reported
/// separately). `None`: none was refused. Equal refusals of a task are reported once.
pub(crate) fn text(refusals: &Refusals, name: impl Fn(TaskId) -> String) -> Option<String> {
    let mut distinct: Vec<(&Refusal, u64)> = vec![];
    for refusal in refusals.kept().iter().filter(|refusal| !refusal.from_outside) {
        let key = |other: &Refusal| (other.task, other.request, other.errno);
        match distinct.iter_mut().find(|(other, _)| key(other) == key(refusal)) {
            Some((_, times)) => *times += 1,
            None => distinct.push((refusal, 1)),
        }
    }
    if distinct.is_empty() {
        return None;
    }
    let mut lines: Vec<String> = distinct
        .iter()
        .take(LINES)
        .map(|(refusal, times)| {
            let again = match times {
                1 => String::new(),
                2 => ", and once more".into(),
                times => format!(", and {} times more", times - 1),
            };
            format!("{}: {} ({})", name(refusal.task), outcome(refusal), asked(refusal) + &again)
        })
        .collect();
    let all_kept = refusals.count() == refusals.kept().len() as u64;
    match distinct.len().saturating_sub(LINES) {
        _ if !all_kept => lines.push(format!("and more: {} in all", refusals.count())),
        0 => {}
        more => lines.push(format!("and {more} more")),
    }
    Some(format!("the kernel refused requests of tasks:\n  {}", lines.join("\n  ")))
}

/// Returns the error number, and how the task continues.
fn outcome(refusal: &Refusal) -> String {
    let errno = refusal.errno;
    match refusal.request {
        Request::Policy(_) => format!("{errno}, continues as {}", refusal.policy.name()),
        Request::Affinity => format!("{errno}, continues where it may run"),
        Request::Group => format!("{errno}, stays in its group"),
        Request::Fork => format!("{errno}, there is no child"),
    }
}

/// Returns the request, its time, and the reason for the refusal.
fn asked(refusal: &Refusal) -> String {
    let what = match refusal.request {
        Request::Policy(policy) => policy.name(),
        Request::Affinity => "other CPUs",
        Request::Group => "another group",
        Request::Fork => "a fork",
    };
    let why = match (refusal.request, refusal.errno) {
        (Request::Policy(Policy::Deadline), Errno::Busy) => {
            ": the available bandwidth is too small"
        }
        (Request::Policy(Policy::Deadline), Errno::Invalid) => {
            ": runtime, deadline or period is out of range"
        }
        (Request::Policy(Policy::Deadline), Errno::NotPermitted)
        | (Request::Affinity | Request::Group, Errno::Busy) => {
            ": a deadline task must be allowed on all CPUs"
        }
        (Request::Affinity, Errno::Invalid) => ": none of them is online and in its group",
        (Request::Fork, Errno::Again) => ": a deadline task cannot fork",
        _ => "",
    };
    format!("requested {what} at {:.6} s{why}", refusal.at_ns as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_core::{Event, Observer};

    #[test]
    fn the_same_is_told_once_and_what_a_timetable_asked_is_not() {
        let mut seen = Refusals::new();
        assert_eq!(text(&seen, |_| String::new()), None);
        let mut refuse = |at_ns, task, from_outside| {
            let (task, errno) = (TaskId(task), Errno::Invalid);
            let request = Request::Affinity;
            seen.on(at_ns, Event::Refused { task, request, errno, from_outside });
        };
        refuse(1_000_000, 0, true);
        refuse(2_000_000, 1, false);
        refuse(3_000_000, 1, false);
        let warning = text(&seen, |task| format!("t-{}", task.0)).expect("something was refused");
        assert!(!warning.contains("t-0"), "{warning}");
        let line = "t-1: EINVAL, continues where it may run (requested other CPUs at 0.002000 s: \
                    none of them is online and in its group, and once more)";
        assert!(warning.ends_with(line), "{warning}");
    }
}
