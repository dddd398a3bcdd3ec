//! Result of a replay: the number of decisions in which the original agrees with the policy.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Kind of a decision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Question {
    /// Which task runs next on a CPU.
    Pick,
    /// Which CPUs are asked to reschedule.
    Resched,
}

/// An item of a log that a policy did not decide, or that its original cannot reproduce exactly.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Note {
    /// A task ran that the policy had not picked.
    RanUnasked,
    /// A CPU idled where the original has a task.
    Idled,
    /// The original could not be made to run the task.
    NotFollowed,
    /// An event refers to a task that should be asleep.
    Asleep,
    /// A task woke that should have been awake already.
    Awake,
    /// The parent of a new task does not run in the original.
    Orphan,
    /// The time of a record is before that of an earlier one.
    TimeBack,
    /// Records were lost.
    Lost,
}

impl Note {
    /// Returns the description of the note.
    pub const fn text(self) -> &'static str {
        match self {
            Note::RanUnasked => {
                "a task ran without a decision of the policy (the class had it in its own queue)"
            }
            Note::Idled => {
                "a CPU idled, or ran another class's task, where the original has a task"
            }
            Note::NotFollowed => "the original could not be made to follow the policy",
            Note::Asleep => "an event refers to a task that should be asleep",
            Note::Awake => "a task woke that should have been awake already",
            Note::Orphan => "a task was born of a parent that does not run in the original",
            Note::TimeBack => "the clock of one CPU was behind another's, or the policy's was late",
            Note::Lost => "a record was lost",
        }
    }
}

/// A decision on which the policy and its original differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Divergence {
    /// The number of the record.
    pub number: u64,
    /// Time since the policy was loaded, ns.
    pub at_ns: u64,
    /// The CPU.
    pub cpu: u32,
    /// Kind of the decision.
    pub question: Question,
    /// Decision of the policy.
    pub policy: String,
    /// Decision of the original.
    pub original: String,
    /// The record, after the records before it.
    pub records: Vec<String>,
}

/// Number of decisions, and number of those that the original shared.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Count {
    /// All decisions.
    pub all: u64,
    /// Shared decisions.
    pub same: u64,
}

impl Count {
    pub(super) fn add(&mut self, is_same: bool) {
        self.all += 1;
        self.same += u64::from(is_same);
    }

    fn text(self) -> String {
        // Rounded down, so that 100 % means all of them.
        let share = match self.all {
            0 => 10_000,
            all => (u128::from(self.same) * 10_000 / u128::from(all)) as u64,
        };
        format!("{} of {} ({}.{:02} %)", self.same, self.all, share / 100, share % 100)
    }
}

/// Result of a replay.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Report {
    /// Decisions which task runs next.
    pub picks: Count,
    /// Decisions whether a CPU is asked to reschedule.
    pub asks: Count,
    /// The first differences.
    pub divergences: Vec<Divergence>,
    /// Other notes, with their counts.
    pub notes: BTreeMap<Note, u64>,
    /// Number of records.
    pub records: u64,
    /// Number of tasks.
    pub tasks: u64,
    /// Time from the first record to the last, ns.
    pub ns: u64,
}

impl Report {
    /// Whether all decisions are the same.
    pub fn is_same(&self) -> bool {
        self.picks.same == self.picks.all && self.asks.same == self.asks.all
    }

    /// Returns the readable report. `policy` and `original` are their names.
    pub fn text(&self, policy: &str, original: &str) -> String {
        let mut text = String::new();
        for (number, divergence) in self.divergences.iter().enumerate() {
            let Divergence { number: record, at_ns, cpu, question, policy: by_policy, .. } =
                divergence;
            let seconds = *at_ns as f64 / 1e9;
            let what = match question {
                Question::Pick => "next task to run",
                Question::Resched => "CPUs asked to reschedule",
            };
            let _ = writeln!(
                text,
                "{}. difference at record {record}, {seconds:.6} s, CPU {cpu}: {what}\n  \
                 {policy:<12} {by_policy}\n  {original:<12} {}",
                number + 1,
                divergence.original
            );
            let _ = writeln!(text, "  the last records:");
            for line in &divergence.records {
                let _ = writeln!(text, "    {line}");
            }
        }
        let all = self.picks.all - self.picks.same + self.asks.all - self.asks.same;
        let shown = self.divergences.len() as u64;
        if all > shown {
            let _ = writeln!(text, "({} more differences)", all - shown);
        }
        let _ = writeln!(
            text,
            "{} records, {} tasks, {:.3} s\ndecisions of {original} that agree with {policy}:\n  \
             next task to run {:>31}\n  CPUs asked to reschedule {:>23}",
            self.records,
            self.tasks,
            self.ns as f64 / 1e9,
            self.picks.text(),
            self.asks.text()
        );
        if !self.notes.is_empty() {
            let _ = writeln!(text, "Items that no policy decided, or that no log records:");
        }
        for (note, count) in &self.notes {
            let _ = writeln!(text, "  {count:>6}  {}", note.text());
        }
        text
    }
}
