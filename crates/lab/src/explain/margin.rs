//! What a candidate lacked to be picked.

use crate::error::Error;
use crate::explain::subject::{Stopped, Subject};
use crate::plan::{Contender, Prepared};
use schedlab_core::{Candidate, CpuId, Evidence, SchedAttr, TaskId, Who, reason::Term};
use schedlab_machine::Action;

/// By what one candidate comes before another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Margin {
    /// The first number of their ranks that differs, from 0.
    pub place: usize,
    /// The second one's less the first one's: more than 0.
    pub by: i64,
    /// The same difference in one of the numbers that ranks are made of, with its sign, if there is
    /// one; what the second would have had to have less of, or more if it is negative.
    pub term: Option<Term>,
    /// Whether all numbers are equal that ranks are said to be made of.
    pub equal: bool,
}

/// By what `best` comes before `other`, which stands in the same group; none if their ranks are
/// the same.
pub fn margin(best: &Candidate, other: &Candidate) -> Option<Margin> {
    let place = (0..best.rank.len()).find(|&place| best.rank[place] != other.rank[place])?;
    let by = other.rank[place].wrapping_sub(best.rank[place]);
    let of_best = |name: &str| best.terms.iter().find(|term| term.name == name);
    let differences = other.terms.iter().filter_map(|term| {
        let value = term.value.wrapping_sub(of_best(term.name)?.value);
        Some(Term { name: term.name, value })
    });
    // Ranks grow with virtual times and shrink with goodness.
    let differences: Vec<Term> = differences.collect();
    let term = differences.iter().find(|term| term.value == by || term.value == -by).copied();
    let equal = differences.iter().all(|term| term.value == 0);
    Some(Margin { place, by, term, equal })
}

/// So many events are simulated at most to find a nice value.
const EVENTS_MAX: u64 = 20_000_000;

/// The nice value nearest to the one it has with which `task` would be picked by `cpu`, if it were
/// given it at `at_ns` (everything else that falls on it having happened). The run is made again
/// for each value.
///
/// # Errors
/// As of a run. `Ok(None)`: none does; the task is no ordinary one; or the run up to `at_ns` is so
/// long that trying would take too long.
pub fn nice_that_wins(
    prepared: &Prepared,
    scheduler: &Contender,
    at_ns: u64,
    cpu: CpuId,
    task: TaskId,
) -> Result<Option<i32>, Error> {
    let subject = Subject::of(prepared, scheduler)?;
    let (attr, events) =
        subject.stop_at(at_ns, |machine| (machine.task_attr(task), machine.counts().events()))?;
    let is_ordinary = !attr.policy.is_realtime() && attr.policy != schedlab_core::Policy::Deadline;
    if !is_ordinary || events.saturating_mul(20) > EVENTS_MAX {
        return Ok(None);
    }
    for nice in (-20..attr.nice).rev() {
        let wins = subject.stop_at(at_ns, |machine| {
            let action = Action::SetAttr { task, attr: SchedAttr { nice, ..attr } };
            machine.act(&action).is_ok() && picks(machine, cpu) == Some(Who::Task(task))
        })?;
        if wins {
            return Ok(Some(nice));
        }
    }
    Ok(None)
}

/// Whom `cpu` would pick.
fn picks(machine: &Stopped<()>, cpu: CpuId) -> Option<Who> {
    let mut evidence = Evidence::default();
    machine.scheduler().inspect().candidates(cpu, &mut evidence.candidates);
    evidence.best().ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_core::TaskId;

    #[test]
    fn a_margin_names_the_number_that_the_rank_is_made_of() {
        let best = Candidate::task(TaskId(0), [0, 500, 0, 0]).with("vruntime_ns", 1500);
        let other = Candidate::task(TaskId(1), [0, 870, 3, 0]).with("vruntime_ns", 1870);
        let found = margin(&best, &other).unwrap();
        assert_eq!((found.place, found.by), (1, 370));
        assert_eq!(found.term, Some(Term { name: "vruntime_ns", value: 370 }));
        // The larger goodness has the smaller rank.
        let best = Candidate::task(TaskId(0), [-21, 0, 0, 0]).with("goodness", 21);
        let other = Candidate::task(TaskId(1), [-17, 0, 0, 0]).with("goodness", 17);
        let term = margin(&best, &other).unwrap().term;
        assert_eq!(term, Some(Term { name: "goodness", value: -4 }));
        assert_eq!(margin(&best, &best), None);
    }
}
