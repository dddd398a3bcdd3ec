//! Contents of a page: [`Page`].

use crate::data::Report;
use maud::Markup;
use schedlab_measure::History;
use std::borrow::Cow;

/// What is on a page.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// Its heading; none: the workload's name.
    pub heading: Option<&'a str>,
    /// A line below it; none: the machine, how long, how many schedulers.
    pub what: Option<&'a str>,
    /// Sections that stand before those of the runs.
    pub before: &'a [Section],
    /// What is to be known of the runs; none: nothing besides.
    pub note: Option<&'a str>,
    /// The figures.
    pub report: &'a Report,
    /// What was recorded of each of its runs, in their order; of a run without there is no
    /// timeline.
    pub seen: &'a [Option<Seen<'a>>],
    /// What each run is called, in their order: "recorded", "what cfs@6.5 would have done". One
    /// that has no name here has its scheduler's.
    pub names: &'a [&'a str],
}

/// What was recorded of a run.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// Who had which CPU, and sums over time.
    pub history: &'a History,
    /// The scheduler's rules: number, name, sentence.
    pub rules: &'a [(u8, Cow<'static, str>, Cow<'static, str>)],
    /// What is known of some of the longest waits, in any order.
    pub explained: &'a [Explained],
}

/// What is known of a long wait besides its length.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Explained {
    /// Who waited.
    pub task: u32,
    /// From when, ns.
    pub from_ns: u64,
    /// Who had the CPU for which it waited (none: it idled), for how long, ns, and in how many
    /// turns; the longest first.
    pub meanwhile: Vec<(Option<u32>, u64, u32)>,
    /// By which rules how many picks of that CPU were won by others.
    pub lost: Vec<(u8, u32)>,
}

impl<'a> Page<'a> {
    /// The page of a comparison.
    pub fn new(report: &'a Report, seen: &'a [Option<Seen<'a>>]) -> Page<'a> {
        Page { heading: None, what: None, before: &[], note: None, report, seen, names: &[] }
    }

    pub(super) fn seen(&self, run: usize) -> Option<Seen<'a>> {
        self.seen.get(run).copied().flatten()
    }

    /// What a run is called.
    pub(super) fn name(&self, run: usize) -> String {
        match self.names.get(run) {
            Some(name) => (*name).into(),
            None => self.report.runs.get(run).map_or(String::new(), |run| run.spec()),
        }
    }
}

/// A section of a page.
#[derive(Clone, Debug)]
pub struct Section {
    /// What links to it call it; of letters and dashes.
    pub id: &'static str,
    /// Its heading.
    pub title: &'static str,
    /// What leads to it from the top of the page: its heading, or shorter.
    pub link: &'static str,
    /// What is in it.
    pub body: Markup,
}
