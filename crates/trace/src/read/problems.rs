//! Problems of a trace, counted: [`Problems`]. None of them ends the reading.

use std::collections::BTreeMap;
use std::fmt;

/// Kind of a problem.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Trouble {
    /// Scheduler events that cannot be understood.
    Unreadable,
    /// Events that the recorder lost, according to the trace.
    Lost,
    /// Places at which events were lost without their number being recorded.
    LostUncounted,
    /// Events that were overwritten by newer ones before the recording ended.
    Overwritten,
    /// Breaks in the chain of switches: events were lost without a record of it.
    Gap,
    /// Missing end, or parts of the file that cannot be unpacked.
    Torn,
    /// Events that came after later ones; they were sorted.
    Unordered,
    /// Events that came too long after later ones to be sorted; they were dropped.
    Late,
    /// Periods of ten seconds and more without any event.
    Jump,
    /// Events about tasks whose number the recorder had lost; they were dropped.
    Nameless,
    /// Events whose times cannot be converted to seconds; they were dropped.
    Clock,
    /// Names that exceed the number that is kept.
    Names,
    /// Parts of the file in an unknown format; they were dropped.
    Foreign,
    /// States in numbers whose meaning depends on the kernel, which the trace does not name.
    States,
}

impl Trouble {
    /// All kinds.
    pub const ALL: [Trouble; 14] = [
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
        Trouble::States,
    ];

    /// Returns a word for programs.
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
            Trouble::States => "states",
        }
    }

    /// Returns what `count` such problems are.
    fn sentence(self, count: u64) -> &'static str {
        match (self, count) {
            (Trouble::Unreadable, 1) => "scheduler event cannot be understood",
            (Trouble::Unreadable, _) => "scheduler events cannot be understood",
            (Trouble::Lost, 1) => "event was lost by the recorder",
            (Trouble::Lost, _) => "events were lost by the recorder",
            (Trouble::LostUncounted, 1) => {
                "time the recorder lost events without recording how many"
            }
            (Trouble::LostUncounted, _) => {
                "times the recorder lost events without recording how many"
            }
            (Trouble::Overwritten, 1) => "event was overwritten by newer ones",
            (Trouble::Overwritten, _) => "events were overwritten by newer ones",
            (Trouble::Gap, 1) => "gap: the running task is not the one that was switched to",
            (Trouble::Gap, _) => "gaps: the running task is not the one that was switched to",
            (Trouble::Torn, 1) => "part of the file is missing",
            (Trouble::Torn, _) => "parts of the file are missing",
            (Trouble::Unordered, 1) => "event came after later ones, and was put in order",
            (Trouble::Unordered, _) => "events came after later ones, and were put in order",
            (Trouble::Late, 1) => "event came too late to be put in order, and was dropped",
            (Trouble::Late, _) => "events came too late to be put in order, and were dropped",
            (Trouble::Jump, 1) => "jump of the clock, or silence, of ten seconds or more",
            (Trouble::Jump, _) => "jumps of the clock, or silences, of ten seconds or more",
            (Trouble::Nameless, 1) => "event is about a task whose number was lost",
            (Trouble::Nameless, _) => "events are about tasks whose numbers were lost",
            (Trouble::Clock, 1) => "event has a time that is not in seconds",
            (Trouble::Clock, _) => "events have times that are not in seconds",
            (Trouble::Names, 1) => "name could not be kept, as there are too many",
            (Trouble::Names, _) => "names could not be kept, as there are too many",
            (Trouble::Foreign, 1) => "part of the file has an unknown format",
            (Trouble::Foreign, _) => "parts of the file have an unknown format",
            (Trouble::States, 1) => "state is a number of a kernel that the trace does not name",
            (Trouble::States, _) => "states are numbers of a kernel that the trace does not name",
        }
    }
}

/// Place in a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Place {
    /// No particular place.
    #[default]
    Whole,
    /// Line, from 1.
    Line(u64),
    /// Byte of the unpacked contents, from 0.
    Byte(u64),
    /// Time (ns) and CPU.
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

/// Problems of one kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// Number of problems.
    pub count: u64,
    /// Place of the first.
    pub first: Place,
    /// Description of the first; may be empty.
    pub detail: String,
}

/// Problems of a trace.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Problems {
    kinds: BTreeMap<Trouble, Problem>,
}

impl Problems {
    /// Counts `count` more problems.
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

    /// Returns the problems of a kind, if there are any.
    pub fn get(&self, trouble: Trouble) -> Option<&Problem> {
        self.kinds.get(&trouble)
    }

    /// Returns the number of problems of a kind.
    pub fn count(&self, trouble: Trouble) -> u64 {
        self.get(trouble).map_or(0, |problem| problem.count)
    }

    /// Returns all problems.
    pub fn iter(&self) -> impl Iterator<Item = (Trouble, &Problem)> {
        self.kinds.iter().map(|(&trouble, problem)| (trouble, problem))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// Returns a sentence for each kind, with the place of the first.
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
