//! The reasons for a scheduler's decisions: rules by number, and the evidence behind a decision.
//!
//! Every decision names the [`Rule`] that made it
//! ([`Platform::because`](crate::Platform::because)). The rule is a number and is always stored.
//! The [`Evidence`] (the candidates, their keys, the numbers that the rule compared) is collected
//! only on request ([`Platform::ask`](crate::Platform::ask)). The machine then hands the evidence
//! to the observers as an [`Account`]. [`Inspect::rules`](crate::Inspect::rules) describes the
//! rules of a scheduler.
//!
//! An account can be checked. Among the [`Candidate`]s of a pick, the task that runs is the one
//! with the smallest [`rank`](Candidate::rank), group by group from the root down
//! ([`Evidence::best`]).

use crate::{CpuId, GroupId, TaskId};
use alloc::borrow::Cow;
use alloc::vec::Vec;

/// The number of a rule by which a scheduler decides. Each scheduler numbers its own rules from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Rule(pub u8);

impl Rule {
    /// No rule was named.
    pub const NONE: Rule = Rule(0);
}

/// Kind of decision that a scheduler makes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Question {
    /// Which task a CPU runs next.
    Pick,
    /// Whether a task that became runnable, or whose attributes changed, preempts the current one.
    Preempt,
    /// On which CPU's runqueue a new or woken task is put.
    SelectCpu,
    /// Why a task moves from one CPU's runqueue to another's.
    Migrate,
}

impl Question {
    /// Number of kinds.
    pub const COUNT: usize = 4;

    /// Returns its name in one word.
    pub const fn name(self) -> &'static str {
        match self {
            Question::Pick => "pick",
            Question::Preempt => "preempt",
            Question::SelectCpu => "select_cpu",
            Question::Migrate => "migrate",
        }
    }
}

/// Description of a rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuleDoc {
    /// Its number.
    pub rule: Rule,
    /// Kind of decision that it makes.
    pub question: Question,
    /// A short name, e.g. `leftmost`.
    pub name: Cow<'static, str>,
    /// The rule in one sentence.
    pub text: Cow<'static, str>,
}

impl RuleDoc {
    /// Describes a rule that is part of the program; see [`define_rules!`](crate::define_rules).
    pub const fn fixed(
        rule: Rule,
        question: Question,
        name: &'static str,
        text: &'static str,
    ) -> RuleDoc {
        RuleDoc { rule, question, name: Cow::Borrowed(name), text: Cow::Borrowed(text) }
    }
}

/// Defines the rules of a scheduler: a constant for each, and the table that
/// [`Inspect::rules`](crate::Inspect::rules) returns.
///
/// ```
/// use schedlab_core::reason::Question;
/// schedlab_core::define_rules! {
///     /// The rules of this scheduler.
///     pub static RULES {
///         1 FIRST Pick "first": "The task that has waited longest runs.";
///         2 IDLE Pick "idle": "No task is runnable.";
///     }
/// }
/// assert_eq!((RULES[0].rule, RULES[1].question), (FIRST, Question::Pick));
/// assert_eq!(RULES[0].name, "first");
/// ```
#[macro_export]
macro_rules! define_rules {
    ($(#[$attribute:meta])* $visibility:vis static $table:ident {
        $($number:literal $constant:ident $question:ident $name:literal: $text:literal;)*
    }) => {
        $(
            #[doc = $text]
            $visibility const $constant: $crate::reason::Rule = $crate::reason::Rule($number);
        )*
        $(#[$attribute])*
        $visibility static $table: &[$crate::reason::RuleDoc] = &[$(
            $crate::reason::RuleDoc::fixed(
                $crate::reason::Rule($number),
                $crate::reason::Question::$question,
                $name,
                $text,
            ),
        )*];
    };
}

/// A number that a rule compared. Its unit is the suffix of its name, as everywhere (`_ns`, `_us`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Term {
    /// The kernel's name for it, e.g. `vruntime_ns`.
    pub name: Cow<'static, str>,
    /// Its value.
    pub value: i64,
}

/// Something that a scheduler can choose.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Who {
    /// A task.
    Task(TaskId),
    /// A task group; the choice continues within it.
    Group(GroupId),
    /// A kernel thread, e.g. `migration`.
    Kernel(&'static str),
}

/// One of the candidates that a scheduler chooses from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Candidate {
    /// The task, group or kernel thread.
    pub who: Who,
    /// The group of which it is a member. The root where there are no groups.
    pub within: GroupId,
    /// The key by which it is compared with the other members of its group, from the first number
    /// on. The smallest is chosen. No two candidates of a group have the same rank.
    pub rank: [i64; 4],
    /// The numbers from which the key is computed, under the kernel's names.
    pub terms: Vec<Term>,
}

impl Candidate {
    /// Returns a task in the root group.
    pub fn task(task: TaskId, rank: [i64; 4]) -> Candidate {
        Candidate { who: Who::Task(task), within: GroupId::ROOT, rank, terms: Vec::new() }
    }

    /// Adds a number.
    #[must_use]
    pub fn with(mut self, name: impl Into<Cow<'static, str>>, value: i64) -> Candidate {
        self.terms.push(Term { name: name.into(), value });
        self
    }
}

/// The grounds of a decision.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Evidence {
    /// The numbers that the rule compared.
    pub terms: Vec<Term>,
    /// The candidates of a pick. Empty for other decisions.
    pub candidates: Vec<Candidate>,
}

impl Evidence {
    /// Adds a number.
    pub fn term(&mut self, name: impl Into<Cow<'static, str>>, value: i64) -> &mut Evidence {
        self.terms.push(Term { name: name.into(), value });
        self
    }

    /// Returns the choice that follows from the candidates' ranks: the best member of the root; if
    /// that is a group, the best member of it; and so on. `None` if there are no candidates.
    ///
    /// # Errors
    /// The group in which two candidates share the smallest rank, or the chosen group that has no
    /// members.
    pub fn best(&self) -> Result<Option<Who>, GroupId> {
        let mut within = GroupId::ROOT;
        // Groups do not contain themselves: each step enters a group not visited before.
        for _ in 0..=self.candidates.len() {
            let members = || self.candidates.iter().filter(|other| other.within == within);
            let Some(best) = members().min_by_key(|candidate| candidate.rank) else {
                return if within == GroupId::ROOT { Ok(None) } else { Err(within) };
            };
            if members().filter(|other| other.rank == best.rank).count() > 1 {
                return Err(within);
            }
            match best.who {
                Who::Group(group) => within = group,
                who => return Ok(Some(who)),
            }
        }
        Err(within)
    }
}

/// A decision and its grounds, as observers receive it on request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Account {
    /// Kind of decision.
    pub question: Question,
    /// The CPU that it is about.
    pub cpu: CpuId,
    /// The rule that made it.
    pub rule: Rule,
    /// Its grounds.
    pub evidence: Evidence,
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn candidate(who: Who, within: u32, rank: i64) -> Candidate {
        Candidate { who, within: GroupId(within), rank: [rank, 0, 0, 0], terms: vec![] }
    }

    #[test]
    fn the_smallest_rank_wins_group_by_group() {
        let task = |task| Who::Task(TaskId(task));
        let mut evidence = Evidence::default();
        assert_eq!(evidence.best(), Ok(None));
        evidence.candidates = vec![
            candidate(task(0), 0, 5),
            candidate(Who::Group(GroupId(1)), 0, 4),
            candidate(task(1), 1, 9),
            candidate(task(2), 1, 8),
        ];
        assert_eq!(evidence.best(), Ok(Some(task(2))));
        evidence.candidates.push(candidate(task(3), 1, 8));
        assert_eq!(evidence.best(), Err(GroupId(1)), "two are equal");
        evidence.candidates.truncate(2);
        assert_eq!(evidence.best(), Err(GroupId(1)), "the group is empty");
    }
}
