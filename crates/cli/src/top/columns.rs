//! The columns of the table of tasks: [`Column`], and the rows: [`Row`].

use clap::ValueEnum;
use schedlab_core::{CpuId, Policy, TaskId};
use schedlab_measure::scene::{Doing, Prio};
use std::cmp::Ordering;

/// A column of the table of tasks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Column {
    /// Number of the task.
    Nr,
    /// Name of the task.
    Name,
    /// Priority, as in top.
    Pr,
    /// Nice value.
    Ni,
    /// State.
    State,
    /// CPU that it is on, or waits for.
    On,
    /// CPU time in the window, as a share of it.
    Cpu,
    /// CPU time since its start, as a share of that time.
    Avg,
    /// Waiting in the window, as a share of it.
    Waiting,
    /// CPU time since its start.
    Time,
    /// Waiting since its start.
    Wait,
    /// Time in its present state.
    For,
    /// Latency of its last wakeup.
    Lat,
    /// Largest latency.
    Max,
    /// Number of times it was given a CPU.
    Switches,
    /// Number of times it lost its CPU while runnable.
    Preempted,
    /// Number of times it was given another CPU than its last one.
    Moved,
    /// Group.
    Group,
}

impl Column {
    /// All columns, from left to right.
    pub const ALL: [Column; 18] = [
        Column::Nr,
        Column::Name,
        Column::Pr,
        Column::Ni,
        Column::State,
        Column::On,
        Column::Cpu,
        Column::Avg,
        Column::Waiting,
        Column::Time,
        Column::Wait,
        Column::For,
        Column::Lat,
        Column::Max,
        Column::Switches,
        Column::Preempted,
        Column::Moved,
        Column::Group,
    ];

    /// All columns by importance: where there is not enough room, the last are left out.
    const BY_WEIGHT: [Column; 18] = [
        Column::Name,
        Column::State,
        Column::Cpu,
        Column::Wait,
        Column::Max,
        Column::On,
        Column::Lat,
        Column::Time,
        Column::Avg,
        Column::Ni,
        Column::Nr,
        Column::Pr,
        Column::For,
        Column::Waiting,
        Column::Switches,
        Column::Preempted,
        Column::Moved,
        Column::Group,
    ];

    /// Returns the heading.
    pub fn title(self) -> &'static str {
        match self {
            Column::Nr => "NR",
            Column::Name => "TASK",
            Column::Pr => "PR",
            Column::Ni => "NI",
            Column::State => "S",
            Column::On => "ON",
            Column::Cpu => "%CPU",
            Column::Avg => "%AVG",
            Column::Waiting => "%WAIT",
            Column::Time => "TIME",
            Column::Wait => "WAIT",
            Column::For => "FOR",
            Column::Lat => "LAT",
            Column::Max => "MAXLAT",
            Column::Switches => "SWITCH",
            Column::Preempted => "PREEMP",
            Column::Moved => "MOVED",
            Column::Group => "GROUP",
        }
    }

    /// Returns the width; of names and groups the minimum.
    fn width(self) -> usize {
        match self {
            Column::Name => 10,
            Column::Group => 8,
            Column::State => 1,
            Column::Nr => 4,
            Column::Pr | Column::Ni => 3,
            Column::On => 4,
            Column::Cpu | Column::Avg | Column::Waiting | Column::Moved => 5,
            Column::Time | Column::Wait | Column::For | Column::Lat | Column::Max => 6,
            Column::Switches | Column::Preempted => 6,
        }
    }

    /// Returns whether it is text, which is aligned to the left.
    pub fn is_text(self) -> bool {
        matches!(self, Column::Name | Column::State | Column::Group)
    }

    /// Returns whether the largest value is sorted first, unless reversed.
    fn falls(self) -> bool {
        !matches!(
            self,
            Column::Nr
                | Column::Name
                | Column::Pr
                | Column::Ni
                | Column::State
                | Column::On
                | Column::Group
        )
    }

    /// Returns the columns that fit into `width`, in their order, with their widths and a blank
    /// between any two; names need at most `name`, groups at most `group`. `sorted` is among them.
    pub fn fitting(
        width: usize,
        name: usize,
        group: usize,
        sorted: Column,
    ) -> Vec<(Column, usize)> {
        let mut kept: Vec<Column> = vec![];
        let mut taken = 0;
        let weighed = Column::BY_WEIGHT.into_iter().filter(|&column| column != sorted);
        for column in [Column::Name, sorted].into_iter().chain(weighed) {
            // A column without content is left out.
            if kept.contains(&column) || (column == Column::Group && group == 0) {
                continue;
            }
            let more = column.width() + usize::from(!kept.is_empty());
            if taken + more > width && !kept.is_empty() {
                break;
            }
            taken += more;
            kept.push(column);
        }
        let mut left = width.saturating_sub(taken);
        let columns = Column::ALL.into_iter().filter(|column| kept.contains(column));
        let wider = |column: Column, left: &mut usize, want: usize| {
            let more = want.saturating_sub(column.width()).min(*left);
            *left -= more;
            column.width() + more
        };
        columns
            .map(|column| match column {
                Column::Name => (column, wider(column, &mut left, name)),
                Column::Group => (column, wider(column, &mut left, group)),
                _ => (column, column.width()),
            })
            .collect()
    }
}

/// Row of the table: a task.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// Number of the task.
    pub task: TaskId,
    /// Escaped name.
    pub name: String,
    /// Escaped group; empty: the root.
    pub group: String,
    /// State.
    pub doing: Doing,
    /// CPU that it is on, or waits for.
    pub cpu: Option<CpuId>,
    /// Priority.
    pub prio: Prio,
    /// CPU time in the window, in 1/1000 of it.
    pub cpu_share: u64,
    /// CPU time since its start, in 1/1000 of that time.
    pub average: u64,
    /// Waiting in the window, in 1/1000 of it.
    pub wait_share: u64,
    /// CPU time, ns.
    pub cpu_ns: u64,
    /// Waiting, ns.
    pub wait_ns: u64,
    /// Time in its present state, ns.
    pub for_ns: u64,
    /// Latency of its last wakeup, ns; `None`: it has had no CPU after a wakeup.
    pub latency_ns: Option<u64>,
    /// Largest latency, ns.
    pub latency_max_ns: Option<u64>,
    /// Number of times it was given a CPU.
    pub switches: u64,
    /// Number of times it lost its CPU while runnable.
    pub preempted: u64,
    /// Number of times it was given another CPU.
    pub moved: u64,
}

/// Returns the letter of a state, as in top, except that `R` has a CPU and `r` waits for one.
pub fn letter(doing: Doing) -> char {
    match doing {
        Doing::NotThere => ' ',
        Doing::Running => 'R',
        Doing::Waiting => 'r',
        Doing::Sleeping => 'S',
        Doing::Uninterruptible => 'D',
        Doing::Stopped => 'T',
        Doing::Ended => 'Z',
    }
}

/// Returns the priority as in top: `rt` for 99, negative for other real-time tasks, 20 + nice.
fn priority(prio: Prio) -> i32 {
    match prio.policy {
        Policy::Deadline => -101,
        Policy::Fifo | Policy::RoundRobin => -1 - i32::from(prio.rt_priority),
        Policy::Other | Policy::Batch | Policy::Idle | Policy::Iso => 20 + i32::from(prio.nice),
    }
}

/// Formats a share in 1/1000 as a percentage.
pub fn percent(share: u64) -> String {
    format!("{}.{}", share / 10, share % 10)
}

/// Formats a time in three digits.
fn short(ns: u64, unicode: bool) -> String {
    schedlab_report::format::duration(ns, unicode).replace(' ', "")
}

/// Formats a count in at most six digits.
fn count(value: u64) -> String {
    match value {
        0..=999_999 => value.to_string(),
        1_000_000..=999_999_999 => format!("{}M", value / 1_000_000),
        _ => format!("{}G", value / 1_000_000_000),
    }
}

impl Row {
    /// Returns the text in `column`.
    pub fn cell(&self, column: Column, unicode: bool) -> String {
        let or_none = |ns: Option<u64>| ns.map_or("-".into(), |ns| short(ns, unicode));
        match column {
            Column::Nr => self.task.0.to_string(),
            Column::Name => self.name.clone(),
            Column::Pr => match priority(self.prio) {
                -100 => "rt".into(),
                -101 => "dl".into(),
                number => number.to_string(),
            },
            Column::Ni => self.prio.nice.to_string(),
            Column::State => letter(self.doing).into(),
            Column::On => self.cpu.map_or("-".into(), |cpu| cpu.0.to_string()),
            Column::Cpu => percent(self.cpu_share),
            Column::Avg => percent(self.average),
            Column::Waiting => percent(self.wait_share),
            Column::Time => short(self.cpu_ns, unicode),
            Column::Wait => short(self.wait_ns, unicode),
            Column::For => short(self.for_ns, unicode),
            Column::Lat => or_none(self.latency_ns),
            Column::Max => or_none(self.latency_max_ns),
            Column::Switches => count(self.switches),
            Column::Preempted => count(self.preempted),
            Column::Moved => count(self.moved),
            Column::Group => self.group.clone(),
        }
    }

    /// Compares two rows; equal ones are ordered by number.
    pub fn compare(&self, other: &Row, by: Column, reversed: bool) -> Ordering {
        let order = match by {
            Column::Nr => Ordering::Equal,
            Column::Name => self.name.cmp(&other.name),
            Column::Pr => priority(self.prio).cmp(&priority(other.prio)),
            Column::Ni => self.prio.nice.cmp(&other.prio.nice),
            Column::State => self.doing.cmp(&other.doing),
            Column::On => self.cpu.cmp(&other.cpu),
            Column::Cpu => self.cpu_share.cmp(&other.cpu_share),
            Column::Avg => self.average.cmp(&other.average),
            Column::Waiting => self.wait_share.cmp(&other.wait_share),
            Column::Time => self.cpu_ns.cmp(&other.cpu_ns),
            Column::Wait => self.wait_ns.cmp(&other.wait_ns),
            Column::For => self.for_ns.cmp(&other.for_ns),
            Column::Lat => self.latency_ns.cmp(&other.latency_ns),
            Column::Max => self.latency_max_ns.cmp(&other.latency_max_ns),
            Column::Switches => self.switches.cmp(&other.switches),
            Column::Preempted => self.preempted.cmp(&other.preempted),
            Column::Moved => self.moved.cmp(&other.moved),
            Column::Group => self.group.cmp(&other.group),
        };
        let order = if by.falls() != reversed { order.reverse() } else { order };
        let numbers = self.task.cmp(&other.task);
        let numbers = if by == Column::Nr && reversed { numbers.reverse() } else { numbers };
        order.then(numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn titles(width: usize, sorted: Column) -> Vec<&'static str> {
        let columns = Column::fitting(width, 12, 0, sorted);
        let sum: usize = columns.iter().map(|(_, width)| width + 1).sum();
        assert!(sum <= width + 1, "{width}: {sum}");
        columns.iter().map(|(column, _)| column.title()).collect()
    }

    #[test]
    fn the_columns_that_matter_most_are_kept() {
        assert_eq!(titles(39, Column::Cpu), ["TASK", "S", "ON", "%CPU", "WAIT", "MAXLAT"]);
        let at_80 = titles(80, Column::Cpu);
        for title in ["NR", "TASK", "PR", "NI", "S", "ON", "%CPU", "%AVG", "TIME", "WAIT", "LAT"] {
            assert!(at_80.contains(&title), "{title} of {at_80:?}");
        }
        assert_eq!(titles(12, Column::Moved), ["TASK"]);
        assert!(titles(39, Column::Moved).contains(&"MOVED"));
        assert_eq!(titles(200, Column::Cpu).len(), 17, "no task is in a group");
    }

    #[test]
    fn priorities_are_those_of_top() {
        let prio = |policy, nice, rt_priority| priority(Prio { policy, nice, rt_priority });
        assert_eq!(prio(Policy::Other, -5, 0), 15);
        assert_eq!(prio(Policy::Fifo, 0, 1), -2);
        assert_eq!(prio(Policy::RoundRobin, 0, 99), -100);
    }
}
