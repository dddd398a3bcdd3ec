//! What is wrong with a trace, counted: [`Problems`]. Nothing of it ends the reading.

use std::collections::BTreeMap;
use std::fmt;

/// Kinds of things that go wrong.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Trouble {
    /// Scheduler events that cannot be understood.
    Unreadable,
    /// Events that the recorder lost, as the trace itself says.
    Lost,
    /// Places at which events were lost, the trace does not say how many.
    LostUncounted,
    /// Events that newer ones had overwritten when the recording ended.
    Overwritten,
    /// Breaks in the chain of switches: events were lost and nobody says so.
    Gap,
    /// The end is missing, or part of the file cannot be unpacked.
    Torn,
    /// Events that stand behind later ones; they were put where they belong.
    Unordered,
    /// Events that stand too far behind later ones to be put where they belong, and were left out.
    Late,
    /// Times at which nothing at all happens for ten seconds and more.
    Jump,
    /// Events about tasks whose number the recorder had lost; they were left out.
    Nameless,
    /// Events whose times cannot be told in seconds; they were left out.
    Clock,
    /// Names that were too many to be kept.
    Names,
    /// Parts of the file that no reader here understands; they were left out.
    Foreign,
}

impl Trouble {
    /// Every kind.
    pub const ALL: [Trouble; 13] = [
        Trouble::Unreadable,
        Trouble::Lost,
        Trouble::LostUncounted,
        Trouble::Overwritten,
        Trouble::Gap,
        Trouble::Torn,
        Trouble::Unordered,
        Trouble::Late,
        Trouble::Jump,
        Trouble::Nameless,
        Trouble::Clock,
        Trouble::Names,
        Trouble::Foreign,
    ];

    /// A word for programs.
    pub fn id(self) -> &'static str {
        match self {
            Trouble::Unreadable => "unreadable",
            Trouble::Lost => "lost",
            Trouble::LostUncounted => "lost_uncounted",
            Trouble::Overwritten => "overwritten",
            Trouble::Gap => "gaps",
            Trouble::Torn => "torn",
            Trouble::Unordered => "unordered",
            Trouble::Late => "late",
            Trouble::Jump => "jumps",
            Trouble::Nameless => "nameless",
            Trouble::Clock => "clock",
            Trouble::Names => "names",
            Trouble::Foreign => "foreign",
        }
    }

    /// What so many of them are.
    fn sentence(self, count: u64) -> &'static str {
        match (self, count) {
            (Trouble::Unreadable, 1) => "scheduler event cannot be understood",
            (Trouble::Unreadable, _) => "scheduler events cannot be understood",
            (Trouble::Lost, 1) => "event was lost by the recorder",
            (Trouble::Lost, _) => "events were lost by the recorder",
            (Trouble::LostUncounted, 1) => {
                "time the recorder lost events and does not say how many"
            }
            (Trouble::LostUncounted, _) => {
                "times the recorder lost events and does not say how many"
            }
            (Trouble::Overwritten, 1) => "event was overwritten by newer ones",
            (Trouble::Overwritten, _) => "events were overwritten by newer ones",
            (Trouble::Gap, 1) => "gap: another task runs than the one that was switched to",
            (Trouble::Gap, _) => "gaps: another task runs than the one that was switched to",
            (Trouble::Torn, 1) => "part of the file is torn off",
            (Trouble::Torn, _) => "parts of the file are torn off",
            (Trouble::Unordered, 1) => "event stood behind later ones, and was put in order",
            (Trouble::Unordered, _) => "events stood behind later ones, and were put in order",
            (Trouble::Late, 1) => "event stood too far behind later ones, and was left out",
            (Trouble::Late, _) => "events stood too far behind later ones, and were left out",
            (Trouble::Jump, 1) => "jump of the clock, or silence, of ten seconds and more",
            (Trouble::Jump, _) => "jumps of the clock, or silences, of ten seconds and more",
            (Trouble::Nameless, 1) => "event is about a task whose number was lost",
            (Trouble::Nameless, _) => "events are about tasks whose numbers were lost",
            (Trouble::Clock, 1) => "event has a time that is not in seconds",
            (Trouble::Clock, _) => "events have times that are not in seconds",
            (Trouble::Names, 1) => "name could not be kept: there are too many",
            (Trouble::Names, _) => "names could not be kept: there are too many",
            (Trouble::Foreign, 1) => "part of the file is of a kind that is not known here",
            (Trouble::Foreign, _) => "parts of the file are of a kind that is not known here",
        }
    }
}

/// Where in a trace something is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Place {
    /// Nowhere in particular.
    #[default]
    Whole,
    /// In this line, from 1.
    Line(u64),
    /// At this byte of what the file unpacks to, from 0.
    Byte(u64),
    /// At this time (ns), on this CPU.
    Time(u64, u32),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Place::Whole => f.write_str("the whole"),
            Place::Line(line) => write!(f, "line {line}"),
            Place::Byte(byte) => write!(f, "byte {byte}"),
            Place::Time(at_ns, cpu) => {
                let (s, ns) = (at_ns / 1_000_000_000, at_ns % 1_000_000_000);
                write!(f, "{s}.{ns:09} s, CPU {cpu}")
            }
        }
    }
}

/// All of a kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// How many.
    pub count: u64,
    /// Where the first is.
    pub first: Place,
    /// What the first is; may be empty.
    pub detail: String,
}

/// What is wrong with a trace.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Problems {
    kinds: BTreeMap<Trouble, Problem>,
}

impl Problems {
    /// Notes `count` more.
    pub(crate) fn note(
        &mut self,
        trouble: Trouble,
        count: u64,
        place: Place,
        detail: impl FnOnce() -> String,
    ) {
        if count == 0 {
            return;
        }
        self.kinds
            .entry(trouble)
            .and_modify(|problem| problem.count = problem.count.saturating_add(count))
            .or_insert_with(|| Problem { count, first: place, detail: detail() });
    }

    /// Those of a kind, if there are any.
    pub fn get(&self, trouble: Trouble) -> Option<&Problem> {
        self.kinds.get(&trouble)
    }

    /// How many there are of a kind.
    pub fn count(&self, trouble: Trouble) -> u64 {
        self.get(trouble).map_or(0, |problem| problem.count)
    }

    /// All that there are.
    pub fn iter(&self) -> impl Iterator<Item = (Trouble, &Problem)> {
        self.kinds.iter().map(|(&trouble, problem)| (trouble, problem))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// Each in a sentence, with the place of the first.
    pub fn sentences(&self) -> impl Iterator<Item = String> {
        self.kinds.iter().map(|(&trouble, problem)| {
            let Problem { count, first, detail } = problem;
            let mut sentence = format!("{count} {}", trouble.sentence(*count));
            match (first, detail.is_empty()) {
                (Place::Whole, true) => {}
                (Place::Whole, false) => sentence.push_str(&format!(" ({detail})")),
                (first, true) => sentence.push_str(&format!(" (the first: {first})")),
                (first, false) => sentence.push_str(&format!(" (the first: {first}: {detail})")),
            }
            sentence
        })
    }
}
