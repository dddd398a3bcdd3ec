//! A report as text for people, on paper and on a page: [`Table`], and the sentences above it.

use super::report::{Cell, Figures, ReplayReport};
use schedlab_replay::score::Band;
use std::fmt;

/// Figures of a report as text: a block for each group of tasks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Groups with at least a hundredth of the CPU time, the largest first.
    pub blocks: Vec<Block>,
    /// Number of groups that are left out.
    pub left_out: usize,
}

/// Figures of a group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// Name of the group.
    pub name: String,
    /// Number of tasks.
    pub tasks: usize,
    /// Grade of the group.
    pub grade: &'static str,
    /// Name and definition of each figure, and its value in each column.
    pub rows: Vec<(&'static str, &'static str, Vec<Option<Shown>>)>,
}

/// A figure of a column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shown {
    /// Median of all runs, without its unit.
    pub middle: String,
    /// The smallest and the largest value, if they differ.
    pub band: Option<(String, String)>,
    /// Unit of all three; may be empty.
    pub unit: &'static str,
    /// Difference from the replay under the recorded scheduler.
    pub change: Change,
}

/// Difference of a figure from the replay under the recorded scheduler.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// Not compared.
    None,
    /// Within chance.
    Alike,
    /// A relative change: `+12 %`, `x20`; `≠` where the base is 0.
    By(String),
}

impl fmt::Display for Shown {
    /// Writes the value with band, unit and change: `4466.2 [4258.5 – 4729.3] ms -3 %`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.middle)?;
        if let Some((least, most)) = &self.band {
            write!(f, " [{least} – {most}]")?;
        }
        if !self.unit.is_empty() {
            write!(f, " {}", self.unit)?;
        }
        match &self.change {
            Change::None => Ok(()),
            Change::Alike => f.write_str(" ≈"),
            Change::By(by) => write!(f, " {by}"),
        }
    }
}

/// Texts of related numbers, and their common unit.
type Texts = (Vec<String>, &'static str);

/// Formats times in ns. The first one determines the unit.
fn times(ns: &[f64]) -> Texts {
    let (unit, in_ns, places) = match ns[0] {
        0.0 if ns.len() == 1 => return (vec!["0".into()], ""),
        first if first >= 9.9995e9 => ("s", 1e9, 2),
        first if first >= 1e5 => ("ms", 1e6, 1),
        _ => ("µs", 1e3, 0),
    };
    (ns.iter().map(|ns| format!("{:.places$}", ns / in_ns)).collect(), unit)
}

fn counts(values: &[f64]) -> Texts {
    let text =
        |value: &f64| if value.fract() == 0.0 { value.to_string() } else { format!("{value:.1}") };
    (values.iter().map(text).collect(), "")
}

/// Formats a duration as in the table: `12.3 ms`.
pub fn duration(ns: f64) -> String {
    match times(&[ns]) {
        (texts, "") => texts[0].clone(),
        (texts, unit) => format!("{} {unit}", texts[0]),
    }
}

/// Formats the durations of several runs, with one unit: `12.3 [11.9 – 14.0] ms`.
pub fn durations(band: &Band) -> String {
    if band.least == band.greatest {
        return duration(band.median);
    }
    let (texts, unit) = times(&[band.median, band.least, band.greatest]);
    format!("{} [{} – {}] {unit}", texts[0], texts[1], texts[2])
}

/// Returns a cell, and its difference from `base`, the replay.
fn shown(cell: &Cell, base: Option<&Cell>, texts: fn(&[f64]) -> Texts) -> Shown {
    let has_band = cell.least != cell.greatest;
    let all = [cell.median, cell.least, cell.greatest];
    let (texts, unit) = texts(if has_band { &all } else { &all[..1] });
    let change = match (cell.alike, base) {
        (None, _) => Change::None,
        (Some(true), _) => Change::Alike,
        (Some(false), Some(base)) if base.median > 0.0 => {
            let change = 100.0 * (cell.median - base.median) / base.median;
            Change::By(match change.abs() {
                ..1000.0 => format!("{change:+.0} %"),
                _ => format!("x{:.0}", cell.median / base.median),
            })
        }
        (Some(false), _) => Change::By("≠".into()),
    };
    let mut texts = texts.into_iter();
    let middle = texts.next().unwrap_or_default();
    Shown { middle, band: texts.next().zip(texts.next()), unit, change }
}

type Row = (&'static str, &'static str, fn(&Figures) -> Option<&Cell>, fn(&[f64]) -> Texts);

const ROWS: [Row; 17] = [
    ("CPU", "Time on CPUs.", |it| Some(&it.cpu), times),
    (
        "end",
        "Time at which the last task left its CPU for the last time.",
        |it| Some(&it.end),
        times,
    ),
    ("run time", "Time from the first to the last moment on a CPU.", |it| Some(&it.run), times),
    (
        "wait",
        "Time that all tasks together were runnable without a CPU.",
        |it| Some(&it.wait),
        times,
    ),
    (
        "long waits",
        "Wakeups after which a task waited for a millisecond or longer.",
        |it| Some(&it.long_waits),
        counts,
    ),
    (
        "preemptions",
        "Number of times that a task lost its CPU before it slept.",
        |it| Some(&it.preemptions),
        counts,
    ),
    (
        "p50 latency",
        "Time from a wakeup until the task runs; half of them did not exceed it. Percentiles are \
         shown, but not judged.",
        |it| it.p50.as_ref(),
        times,
    ),
    (
        "p99 latency",
        "Time from a wakeup until the task runs; 99 of 100 did not exceed it. Percentiles are \
         shown, but not judged.",
        |it| it.p99.as_ref(),
        times,
    ),
    (
        "periods",
        "Periods of the limits of the tasks' groups, as in `cpu.stat`.",
        |it| it.periods.as_ref(),
        counts,
    ),
    (
        "throttled periods",
        "Periods in which the tasks' groups were throttled, as in `cpu.stat`.",
        |it| it.throttled_periods.as_ref(),
        counts,
    ),
    (
        "throttled",
        "Time for which the tasks' groups were throttled, summed over CPUs, as in `cpu.stat`.",
        |it| it.throttled.as_ref(),
        times,
    ),
    (
        "p50 response",
        "Time from the arrival of a request, which ends a sleep, to the next sleep of the task that \
         serves it; half of them did not exceed it.",
        |it| it.response.p50.as_ref(),
        times,
    ),
    (
        "p95 response",
        "Time from the arrival of a request to the next sleep; 95 of 100 did not exceed it.",
        |it| it.response.p95.as_ref(),
        times,
    ),
    (
        "p99 response",
        "Time from the arrival of a request to the next sleep; 99 of 100 did not exceed it.",
        |it| it.response.p99.as_ref(),
        times,
    ),
    (
        "p50 round trip",
        "Time from a wakeup of another task to the wakeup that it caused in turn, possibly through \
         further tasks; half of them did not exceed it.",
        |it| it.round_trip.p50.as_ref(),
        times,
    ),
    (
        "p95 round trip",
        "Time of a round trip; 95 of 100 did not exceed it.",
        |it| it.round_trip.p95.as_ref(),
        times,
    ),
    (
        "p99 round trip",
        "Time of a round trip; 99 of 100 did not exceed it.",
        |it| it.round_trip.p99.as_ref(),
        times,
    ),
];

impl Table {
    /// Creates the table of `report`, with at most `most` groups.
    pub fn new(report: &ReplayReport, most: usize) -> Table {
        let groups = report.groups.iter().enumerate();
        let blocks: Vec<Block> = groups
            .filter(|(_, group)| group.is_large)
            .take(most)
            .map(|(at, group)| {
                let of = |column: usize, value: fn(&Figures) -> Option<&Cell>| {
                    value(&report.columns[column].groups[at])
                };
                let rows = ROWS.iter().map(|&(title, about, value, texts)| {
                    let base = of(1, value);
                    let cells = (0..report.columns.len())
                        .map(|column| of(column, value).map(|cell| shown(cell, base, texts)));
                    (title, about, cells.collect::<Vec<_>>())
                });
                Block {
                    name: group.name.clone(),
                    tasks: group.tasks,
                    grade: group.grade,
                    rows: rows.filter(|(_, _, cells)| cells.iter().any(Option::is_some)).collect(),
                }
            })
            .collect();
        let columns = report.columns.iter().enumerate().map(|(at, column)| match at {
            1 => format!("replayed ({})", column.name),
            _ => column.name.clone(),
        });
        Table { columns: columns.collect(), left_out: report.groups.len() - blocks.len(), blocks }
    }
}

fn percent(value: f64) -> String {
    // Avoids a negative zero.
    match 100.0 * value + 0.0 {
        value if value < 9.95 => format!("{value:.1} %"),
        value => format!("{value:.0} %"),
    }
}

impl ReplayReport {
    /// Describes the trace in a sentence.
    pub fn trace_sentence(&self) -> String {
        let facts = &self.trace;
        format!(
            "{:.3} s, {} CPUs, {} tasks ({} replayed), {} switches, {} wakeups",
            facts.span_ns as f64 / 1e9,
            facts.cpus,
            facts.tasks.1,
            facts.tasks.0,
            facts.switches,
            facts.wakeups
        )
    }

    /// Describes what ended the tasks' sleeps in a sentence.
    pub fn sleeps_sentence(&self) -> String {
        let sleeps = &self.sleeps;
        format!(
            "{} ended by another task's work, {} after a duration (devices, timers), {} at a fixed \
             time (clocks, arrivals)",
            sleeps.edge, sleeps.relative, sleeps.absolute
        )
    }

    /// States the error of the replay under the recorded scheduler in a sentence.
    pub fn trust_sentence(&self) -> String {
        format!(
            "the replay under the recorded scheduler is off by {} in ends, and by {} in waiting",
            percent(self.e_end),
            percent(self.e_wait)
        )
    }

    /// States the error of predictions from similar recordings in a sentence.
    pub fn expected_sentence(&self) -> String {
        let ends = match self.expected_end {
            Some((middle, most)) => {
                format!("ends within {} (median; {} at most)", percent(middle), percent(most))
            }
            None => "unknown ends".into(),
        };
        let (middle, most) = self.expected_wait;
        format!(
            "predictions from such recordings had {ends}, waiting within {} ({} at most)",
            percent(middle),
            percent(most)
        )
    }
}
