//! Lead of the picked candidate over another.

use crate::error::Error;
use crate::explain::effort::Effort;
use crate::explain::moment::Moment;
use crate::explain::subject::Subject;
use crate::plan::{Contender, Prepared};
use schedlab_core::{Candidate, CpuId, SchedAttr, TaskId, reason::Term};
use schedlab_machine::Action;

/// The lead of one candidate over another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Margin {
    /// Place of the first differing number in their ranks, from 0.
    pub place: usize,
    /// The second one's number minus the first one's; more than 0.
    pub by: i64,
    /// The same difference, with its sign, in one of the terms of which ranks consist, if there is
    /// such a term. The second candidate would have needed less of it, or more if it is negative.
    pub term: Option<Term>,
    /// Whether all terms of the ranks are equal.
    pub equal: bool,
}

/// Returns the leads of `best` over `other`, a candidate of the same group: everything that the
/// second lacks, in the order of importance. A time can be undercut, so that later numbers do not
/// matter. Empty if their ranks are equal.
pub fn margins(best: &Candidate, other: &Candidate) -> Vec<Margin> {
    let mut all = vec![];
    for place in 0..best.rank.len() {
        let by = other.rank[place].wrapping_sub(best.rank[place]);
        if by < 0 && !all.is_empty() {
            // Except for the numbers before, it would win.
            break;
        }
        if by != 0 {
            let term = term(best, other, place);
            let equal = best.terms == other.terms;
            let is_last = term.as_ref().is_none_or(|term| term.name.ends_with("_ns"));
            all.push(Margin { place, by, term, equal });
            if is_last {
                break;
            }
        }
    }
    all
}

/// Returns the term at this place of both ranks: a time with the same offset in both, the negated
/// term, or what the term lacks to 1.
fn term(best: &Candidate, other: &Candidate, place: usize) -> Option<Term> {
    let (first, second) = (best.rank[place], other.rank[place]);
    let by = second.wrapping_sub(first);
    let of_best = |name: &str| best.terms.iter().find(|term| term.name == name);
    other.terms.iter().find_map(|term| {
        let of_best = of_best(&term.name)?.value;
        let less = term.value.wrapping_sub(of_best);
        let is_it = match term.name.ends_with("_ns") {
            true => less == by || less == -by,
            false => [|value: i64| value, |value: i64| -value, |value: i64| 1 - value]
                .iter()
                .any(|of| of(of_best) == first && of(term.value) == second),
        };
        is_it.then_some(Term { name: term.name.clone(), value: less })
    })
}

/// The nice value with which a task would win.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NiceThatWins {
    /// This value, the nearest to the present one.
    Is(i32),
    /// No nice value lets the task win.
    None,
    /// The task is not an ordinary one, so its nice value does not count.
    NotOrdinary,
    /// No value was tried: the run up to that time is too long.
    NotTried,
}

/// Returns the nice value nearest to the present one with which `cpu` would pick `task`, if the
/// task had it at the time of `moment` (after all other events at that time) and the CPU picked
/// then. The run is repeated for each value, within the limit of `effort`.
///
/// # Errors
/// As for a run.
pub fn nice_that_wins(
    prepared: &Prepared,
    scheduler: &Contender,
    moment: &Moment,
    cpu: CpuId,
    task: TaskId,
    effort: &Effort,
) -> Result<NiceThatWins, Error> {
    let subject = Subject::of(prepared, scheduler)?;
    let Some(attr) = moment.attrs.get(task.index()) else { return Ok(NiceThatWins::None) };
    if attr.policy.is_realtime() || attr.policy == schedlab_core::Policy::Deadline {
        return Ok(NiceThatWins::NotOrdinary);
    }
    let runs = (attr.nice + 20).max(0) as u64;
    if !moment.can_afford(effort, runs) {
        return Ok(NiceThatWins::NotTried);
    }
    for nice in (-20..attr.nice).rev() {
        let mut session = subject.session_at(moment.at_ns)?;
        let action = Action::SetAttr { task, attr: SchedAttr { nice, ..*attr } };
        let now_ns = session.now_ns();
        if session.act(&action).is_ok() && session.would_pick(cpu, now_ns).0 == Some(task) {
            return Ok(NiceThatWins::Is(nice));
        }
    }
    Ok(NiceThatWins::None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_core::TaskId;

    #[test]
    fn margins_name_the_numbers_that_ranks_are_made_of() {
        let best = Candidate::task(TaskId(0), [0, 500, 0, 0]).with("vruntime_ns", 1500);
        let other = Candidate::task(TaskId(1), [0, 870, 3, 0]).with("vruntime_ns", 1870);
        let found = margins(&best, &other);
        assert_eq!((found.len(), found[0].place, found[0].by), (1, 1, 370));
        assert_eq!(found[0].term, Some(Term { name: "vruntime_ns".into(), value: 370 }));
        // The larger goodness has the smaller rank.
        let best = Candidate::task(TaskId(0), [-21, 0, 0, 0]).with("goodness", 21);
        let other = Candidate::task(TaskId(1), [-17, 0, 0, 0]).with("goodness", 17);
        let term = margins(&best, &other)[0].term.clone();
        assert_eq!(term, Some(Term { name: "goodness".into(), value: -4 }));
        assert_eq!(margins(&best, &best), []);
    }

    #[test]
    fn who_is_not_eligible_and_due_later_lacks_both() {
        let candidate = |task, eligible: i64, deadline| {
            let rank = [1 - eligible, deadline, 0, 0];
            let candidate = Candidate::task(TaskId(task), rank).with("eligible", eligible);
            candidate.with("deadline_ns", deadline)
        };
        let best = candidate(0, 1, 500);
        let terms = |other| -> Vec<_> {
            margins(&best, &other).into_iter().map(|one| one.term.map(|term| term.name)).collect()
        };
        assert_eq!(
            terms(candidate(1, 0, 900)),
            [Some("eligible".into()), Some("deadline_ns".into())]
        );
        assert_eq!(
            terms(candidate(1, 0, 100)),
            [Some("eligible".into())],
            "it would be due earlier"
        );
        assert_eq!(terms(candidate(1, 1, 900)), [Some("deadline_ns".into())]);
    }

    #[test]
    fn a_number_that_differs_by_chance_as_much_is_not_taken_for_the_key() {
        let best = Candidate::task(TaskId(0), [-1, 0, 0, 0]).with("joined", 2);
        let other = Candidate::task(TaskId(1), [0, 0, 0, 0]).with("joined", 3);
        assert_eq!(margins(&best, &other)[0].term, None);
    }
}
