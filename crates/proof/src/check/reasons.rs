//! Checks that the account that a scheduler gives of a pick is true: the task that its reasons name
//! is the task that is picked.

use schedlab_core::{Account, Candidate, GroupId, Question, RuleDoc, TaskId, Who};

/// Checks the accounts of one reschedule, which picked `next`, against the scheduler's `rules`. The
/// last account of a pick counts. A scheduler may have looked several times.
///
/// # Errors
/// Description of what is not true.
pub fn check(rules: &[&RuleDoc], accounts: &[Account], next: Option<TaskId>) -> Result<(), String> {
    for account in accounts {
        let known = rules.iter().find(|known| known.rule == account.rule);
        match known {
            Some(known) if known.question == account.question => {}
            Some(known) => {
                let (asked, question) = (account.question.name(), known.question.name());
                return Err(format!("rule {} decides {question}, not {asked}", known.name));
            }
            None => return Err(format!("rule {} is not described", account.rule.0)),
        }
    }
    let pick = accounts.iter().rev().find(|account| account.question == Question::Pick);
    let pick = pick.ok_or("it gives no account of its pick")?;
    let best = pick.evidence.best().map_err(|group| {
        format!("its candidates in group {} have no unique best: {}", group.0, candidates(pick))
    })?;
    if best != next.map(Who::Task) {
        let (picked, best) = (name(next.map(Who::Task)), name(best));
        let all = candidates(pick);
        return Err(format!("{picked} is picked, but the reasons name {best}: {all}"));
    }
    Ok(())
}

fn name(who: Option<Who>) -> String {
    match who {
        None => "no task".into(),
        Some(Who::Task(task)) => format!("task {}", task.0),
        Some(Who::Group(group)) => format!("group {}", group.0),
        Some(Who::Kernel(name)) => name.into(),
    }
}

/// Candidates for the pick, each with its key. The smallest key of a group wins.
fn candidates(pick: &Account) -> String {
    let one = |candidate: &Candidate| {
        let inside = match candidate.within {
            GroupId::ROOT => String::new(),
            GroupId(group) => format!(" in group {group}"),
        };
        format!("{}{inside} has key {:?}", name(Some(candidate.who)), candidate.rank)
    };
    let all: Vec<String> = pick.evidence.candidates.iter().map(one).collect();
    match all.is_empty() {
        true => "there are no candidates".into(),
        false => all.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_core::{Candidate, CpuId, Evidence};

    schedlab_core::define_rules! {
        /// Two rules.
        static RULES {
            1 FIRST Pick "first": "The first runs.";
            2 HERE SelectCpu "here": "It stays here.";
        }
    }

    fn account(rule: schedlab_core::Rule, ranks: &[i64]) -> Account {
        let candidates = ranks
            .iter()
            .zip(0..)
            .map(|(&rank, task)| Candidate::task(TaskId(task), [rank, 0, 0, 0]))
            .collect();
        Account {
            question: Question::Pick,
            cpu: CpuId(0),
            rule,
            evidence: Evidence { terms: vec![], candidates },
        }
    }

    #[test]
    fn whom_the_reasons_name_must_be_who_is_picked() {
        let rules: Vec<&RuleDoc> = RULES.iter().collect();
        let check = |accounts: &[Account], next: Option<u32>| {
            check(&rules, accounts, next.map(TaskId))
                .map_err(|what| what.chars().take(20).collect())
        };
        assert_eq!(check(&[account(FIRST, &[2, 1])], Some(1)), Ok(()));
        assert_eq!(check(&[account(FIRST, &[])], None), Ok(()));
        let wrong: [(&[Account], Option<u32>, &str); 5] = [
            (&[account(FIRST, &[2, 1])], Some(0), "task 0 is picked, bu"),
            (&[account(FIRST, &[1])], None, "no task is picked, b"),
            (&[account(FIRST, &[1, 1])], Some(0), "its candidates in gr"),
            (&[account(HERE, &[1])], Some(0), "rule here decides se"),
            (&[], None, "it gives no account "),
        ];
        for (accounts, next, message) in wrong {
            assert_eq!(check(accounts, next), Err(String::from(message)));
        }
    }
}
