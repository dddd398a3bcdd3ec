//! Why a scheduler decides as it does: rules by number, and the evidence behind a decision.
//!
//! Every decision names the [`Rule`] that made it
//! ([`Platform::because`](crate::Platform::because)): a number that is stored, whether anybody
//! looks or not. The [`Evidence`] (who was to choose among, with what keys, by what numbers the
//! rule went) is made only if somebody asked for it ([`Platform::ask`](crate::Platform::ask)); then
//! the machine hands it to the observers as an [`Account`]. A scheduler's rules are described by
//! [`Inspect::rules`](crate::Inspect::rules).
//!
//! What an account says can be checked: of the [`Candidate`]s of a pick the one with the smallest
//! [`rank`](Candidate::rank), group by group from the root down, is the task that runs
//! ([`Evidence::best`]).

use crate::{CpuId, GroupId, TaskId};
use alloc::borrow::Cow;
use alloc::vec::Vec;

/// The number of a rule by which a scheduler decides; numbers are the scheduler's own, from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Rule(pub u8);

impl Rule {
    /// No rule was named.
    pub const NONE: Rule = Rule(0);
}

/// What a scheduler decides.
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
    /// How many there are.
    pub const COUNT: usize = 4;

    /// In a word.
    pub const fn name(self) -> &'static str {
        match self {
            Question::Pick => "pick",
            Question::Preempt => "preempt",
            Question::SelectCpu => "select_cpu",
            Question::Migrate => "migrate",
        }
    }
}

/// What a rule is called and says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuleDoc {
    /// Its number.
    pub rule: Rule,
    /// What it decides.
    pub question: Question,
    /// A short name, e.g. `leftmost`.
    pub name: Cow<'static, str>,
    /// The rule in a sentence.
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

/// Defines the rules of a scheduler: constants, and the table for
/// [`Inspect::rules`](crate::Inspect::rules).
///
/// ```
/// use schedlab_core::reason::Question;
/// schedlab_core::define_rules! {
///     /// How this scheduler decides.
///     pub static RULES {
///         1 FIRST Pick "first": "The task that has waited longest runs.";
///         2 IDLE Pick "idle": "Nobody is runnable.";
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

/// A number that a rule went by. Its unit is the end of its name, as everywhere (`_ns`, `_us`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Term {
    /// The kernel's name of it, e.g. `vruntime_ns`.
    pub name: Cow<'static, str>,
    /// Its value.
    pub value: i64,
}

/// Who can be chosen.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Who {
    /// A task.
    Task(TaskId),
    /// A task group, within which the choice goes on.
    Group(GroupId),
    /// A thread of the kernel's own, e.g. `migration`.
    Kernel(&'static str),
}

/// One of those among whom a scheduler chooses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Candidate {
    /// Who.
    pub who: Who,
    /// The group among whose members it stands: the root where there are no groups.
    pub within: GroupId,
    /// The key by which it is compared with the others within its group: the smallest, compared
    /// from the first number on, is chosen. No two candidates of a group have the same rank.
    pub rank: [i64; 4],
    /// The numbers that the key is made of, under the kernel's names.
    pub terms: Vec<Term>,
}

impl Candidate {
    /// A task that stands in no group.
    pub fn task(task: TaskId, rank: [i64; 4]) -> Candidate {
        Candidate { who: Who::Task(task), within: GroupId::ROOT, rank, terms: Vec::new() }
    }

    /// The same with a number more.
    #[must_use]
    pub fn with(mut self, name: impl Into<Cow<'static, str>>, value: i64) -> Candidate {
        self.terms.push(Term { name: name.into(), value });
        self
    }
}

/// What a decision rests on.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Evidence {
    /// The numbers that the rule compared.
    pub terms: Vec<Term>,
    /// Among whom it chose. Of picks; empty for other decisions.
    pub candidates: Vec<Candidate>,
}

impl Evidence {
    /// Adds a number.
    pub fn term(&mut self, name: impl Into<Cow<'static, str>>, value: i64) -> &mut Evidence {
        self.terms.push(Term { name: name.into(), value });
        self
    }

    /// Whom the candidates' ranks choose: within the root, then within the group that was chosen,
    /// and so on. None if there is nobody.
    ///
    /// # Errors
    /// The group in which two candidates have the same, smallest rank, or in which there is nobody
    /// although it was chosen.
    pub fn best(&self) -> Result<Option<Who>, GroupId> {
        let mut within = GroupId::ROOT;
        // Groups do not contain themselves: each step goes to one not yet seen.
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

/// A decision with what it rests on, as observers get it when somebody asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Account {
    /// What was decided.
    pub question: Question,
    /// For which CPU.
    pub cpu: CpuId,
    /// By which rule.
    pub rule: Rule,
    /// On what grounds.
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
        assert_eq!(evidence.best(), Err(GroupId(1)), "nobody is in the group");
    }
}
