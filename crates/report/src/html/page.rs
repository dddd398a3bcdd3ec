//! Contents of a page: [`Page`].

use crate::data::Report;
use maud::Markup;
use schedlab_measure::History;
use std::borrow::Cow;

/// Contents of a page.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// Heading. `None`: the name of the workload.
    pub heading: Option<&'a str>,
    /// Line below the heading. `None`: machine, length, number of schedulers.
    pub what: Option<&'a str>,
    /// Sections that precede the runs.
    pub before: &'a [Section],
    /// Note about the runs. `None`: no note.
    pub note: Option<&'a str>,
    /// Figures.
    pub report: &'a Report,
    /// Recording of each run, in their order. A run without one has no timeline.
    pub recordings: &'a [Option<Recording<'a>>],
    /// Name of each run, in their order: "recorded", "what cfs@6.5 would have done". A run without
    /// one has the name of its scheduler.
    pub names: &'a [&'a str],
}

/// A rule of a scheduler: number, name, sentence.
pub type RuleRow = (u8, Cow<'static, str>, Cow<'static, str>);

/// Recording of a run.
#[derive(Clone, Copy, Debug)]
pub struct Recording<'a> {
    /// Slices of each CPU, and sums over time.
    pub history: &'a History,
    /// Rules of the scheduler: number, name, sentence.
    pub rules: &'a [RuleRow],
    /// Explanations of some of the longest waits, in any order.
    pub explained: &'a [ExplainedWait],
}

/// Explanation of a long wait.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExplainedWait {
    /// Waiting task.
    pub task: u32,
    /// Beginning, ns.
    pub from_ns: u64,
    /// Groups whose limits kept it from running, and for how long, ns.
    pub throttled: Vec<(String, u64)>,
    /// Tasks that had the CPU for which it waited (`None`: idle), for how long, ns, and in how many
    /// slices; the longest first. Times during which it was throttled are left out.
    pub meanwhile: Vec<(Option<u32>, u64, u32)>,
    /// Rules by which other tasks won picks of that CPU, and number of picks won by each.
    pub lost: Vec<(u8, u32)>,
}

impl<'a> Page<'a> {
    /// Returns the page of a comparison.
    pub fn new(report: &'a Report, recordings: &'a [Option<Recording<'a>>]) -> Page<'a> {
        Page { heading: None, what: None, before: &[], note: None, report, recordings, names: &[] }
    }

    pub(super) fn recording(&self, run: usize) -> Option<Recording<'a>> {
        self.recordings.get(run).copied().flatten()
    }

    /// Returns the name of a run.
    pub(super) fn name(&self, run: usize) -> String {
        match self.names.get(run) {
            Some(name) => (*name).into(),
            None => self.report.runs.get(run).map_or(String::new(), |run| run.spec()),
        }
    }
}

/// Section of a page.
#[derive(Clone, Debug)]
pub struct Section {
    /// Id for links; letters and dashes.
    pub id: &'static str,
    /// Heading.
    pub title: &'static str,
    /// Text of the link at the top of the page: the heading, or shorter.
    pub link: &'static str,
    /// Contents.
    pub body: Markup,
}
