//! Result of a replay: how often the original decided as the policy did.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What was decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Question {
    /// Who runs next on a CPU.
    Pick,
    /// Which CPUs are to look for another task.
    Resched,
}

/// What a log holds that a policy did not decide, or that its original cannot be told exactly.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Note {
    /// A task ran that the policy had not picked.
    RanUnasked,
    /// A CPU idled where the original has a task.
    Idled,
    /// The original could not be made to run the task.
    NotFollowed,
    /// Something is told of a task that was asleep, as far as was known.
    Asleep,
    /// A task woke that was awake, as far as was known.
    Awake,
    /// A task was born of a parent that does not run in the original.
    Orphan,
    /// The time of a record is before that of another.
    TimeBack,
    /// Records were lost.
    Lost,
}

impl Note {
    /// What it means.
    pub const fn text(self) -> &'static str {
        match self {
            Note::RanUnasked => {
                "a task ran that the policy was not asked for (the class had it in its own queue)"
            }
            Note::Idled => {
                "a CPU idled, or ran another class's task, where the original has a task"
            }
            Note::NotFollowed => "the original could not be made to do as the policy did",
            Note::Asleep => "a record of a task that slept, as far as the log told",
            Note::Awake => "a task woke that was awake, as far as the log told",
            Note::Orphan => "a task was born of a parent that does not run in the original",
            Note::TimeBack => "the clock of one CPU was behind another's, or the policy's was late",
            Note::Lost => "a record was lost",
        }
    }
}

/// Where they part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Divergence {
    /// The number of the record.
    pub number: u64,
    /// When, ns since the policy was loaded.
    pub at_ns: u64,
    /// On which CPU.
    pub cpu: u32,
    /// What was decided.
    pub question: Question,
    /// What the policy decided.
    pub policy: String,
    /// What the original would have decided.
    pub original: String,
    /// The records before it, and its own.
    pub records: Vec<String>,
}

/// How many decisions there were, and how many the original shared.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Count {
    /// All.
    pub all: u64,
    /// Those that it shared.
    pub same: u64,
}

impl Count {
    pub(super) fn add(&mut self, is_same: bool) {
        self.all += 1;
        self.same += u64::from(is_same);
    }

    fn text(self) -> String {
        // Rounded down: 100 % is all of them.
        let share = match self.all {
            0 => 10_000,
            all => (u128::from(self.same) * 10_000 / u128::from(all)) as u64,
        };
        format!("{} of {} ({}.{:02} %)", self.same, self.all, share / 100, share % 100)
    }
}

/// What came of it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Report {
    /// Decisions who runs next.
    pub picks: Count,
    /// Decisions whether a CPU is to look for another task.
    pub asks: Count,
    /// The first places where they part.
    pub divergences: Vec<Divergence>,
    /// What else was noted, how often.
    pub notes: BTreeMap<Note, u64>,
    /// Records.
    pub records: u64,
    /// Tasks that were seen.
    pub tasks: u64,
    /// From the first record to the last, ns.
    pub ns: u64,
}

impl Report {
    /// Whether all decisions are the same.
    pub fn is_same(&self) -> bool {
        self.picks.same == self.picks.all && self.asks.same == self.asks.all
    }

    /// For people: `policy` and `original` are their names.
    pub fn text(&self, policy: &str, original: &str) -> String {
        let mut text = String::new();
        for (number, divergence) in self.divergences.iter().enumerate() {
            let Divergence { number: record, at_ns, cpu, question, policy: by_policy, .. } =
                divergence;
            let seconds = *at_ns as f64 / 1e9;
            let what = match question {
                Question::Pick => "who runs next",
                Question::Resched => "who is to look for another task",
            };
            let _ = writeln!(
                text,
                "{}. they part at record {record}, {seconds:.6} s, CPU {cpu}: {what}\n  \
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
            let _ = writeln!(text, "({} divergences more)", all - shown);
        }
        let _ = writeln!(
            text,
            "{} records, {} tasks, {:.3} s\n{original} decides as {policy} did:\n  who runs next \
             {:>34}\n  who is to look for another task {:>16}",
            self.records,
            self.tasks,
            self.ns as f64 / 1e9,
            self.picks.text(),
            self.asks.text()
        );
        if !self.notes.is_empty() {
            let _ = writeln!(text, "What no policy decided, or no log tells:");
        }
        for (note, count) in &self.notes {
            let _ = writeln!(text, "  {count:>6}  {}", note.text());
        }
        text
    }
}
