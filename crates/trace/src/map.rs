//! Current task of each CPU, switch by switch, in the format of `perf sched map`: [`Map`].

use crate::timehist::Lines;
use crate::tracepoint::{Record, Sink, Tracepoint};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Prints a line for each switch. Tasks have short names of a letter and a digit, which are
/// explained at their first appearance; `.` is idle.
#[derive(Debug)]
pub struct Map<L> {
    lines: L,
    /// Short name of the current task, by CPU.
    current: Vec<Option<String>>,
    /// CPUs with columns, in column order. `None`: all CPUs, by number.
    active: Option<Vec<u32>>,
    names: BTreeMap<u32, TaskLabel>,
    next: usize,
    /// Whether the run is over, and the remaining events only end what still runs.
    is_closing: bool,
}

#[derive(Clone, Debug)]
struct TaskLabel {
    short: String,
    comm: String,
}

impl<L: Lines> Map<L> {
    /// Creates the map of a machine with `cpus` CPUs.
    pub fn new(cpus: u32, lines: L) -> Map<L> {
        Map {
            lines,
            current: vec![None; cpus as usize],
            active: None,
            names: BTreeMap::new(),
            next: 0,
            is_closing: false,
        }
    }

    /// Creates a map with columns only for CPUs that switched, in the order in which they first did
    /// (`--compact`). The number of a CPU follows the line with which its column begins.
    pub fn compact(lines: L) -> Map<L> {
        Map { active: Some(vec![]), ..Map::new(0, lines) }
    }

    /// Returns the destination of the lines.
    pub fn into_lines(self) -> L {
        self.lines
    }

    /// Returns the next short name: A0 to Z0, A1 to Z9, and A0 again.
    fn short(&mut self) -> String {
        let number = self.next % 260;
        self.next += 1;
        format!("{}{}", (b'A' + (number % 26) as u8) as char, number / 26)
    }
}

impl<L: Lines> Sink for Map<L> {
    fn record(&mut self, record: &Record<'_>) {
        let &Record { at_ns, cpu, tracepoint, .. } = record;
        let Tracepoint::Switch { next, .. } = tracepoint else { return };
        if self.is_closing {
            return;
        }
        if cpu as usize >= self.current.len() {
            self.current.resize(cpu as usize + 1, None);
        }
        let mut explained = None;
        let short = match self.names.get_mut(&next.pid) {
            _ if next.pid == 0 => ".".to_string(),
            Some(known) => {
                if known.comm != next.comm {
                    known.comm = next.comm.into();
                    explained = Some(known.short.clone());
                }
                known.short.clone()
            }
            None => {
                let short = self.short();
                let known = TaskLabel { short: short.clone(), comm: next.comm.into() };
                self.names.insert(next.pid, known);
                explained = Some(short.clone());
                short
            }
        };
        self.current[cpu as usize] = Some(short);
        let is_new = self.active.as_ref().is_some_and(|active| !active.contains(&cpu));
        if let Some(active) = self.active.as_mut().filter(|_| is_new) {
            active.push(cpu);
        }
        let all = 0..self.current.len() as u32;
        let mut line = String::from("  ");
        let mut column = |other: u32| {
            let mark = if other == cpu { '*' } else { ' ' };
            match &self.current[other as usize] {
                // Writing to a string does not fail.
                Some(short) => {
                    let _ = write!(line, "{mark}{short:<2} ");
                }
                None => line.push_str("    "),
            }
        };
        match &self.active {
            Some(active) => active.iter().copied().for_each(&mut column),
            None => all.for_each(&mut column),
        }
        let time = format!("{}.{:06}", at_ns / 1_000_000_000, at_ns / 1_000 % 1_000_000);
        let _ = write!(line, "  {time:>12} secs ");
        if let Some(short) = explained {
            let _ = write!(line, "{short} => {}:{}", next.comm, next.pid);
        }
        if is_new {
            let _ = write!(line, " (CPU {cpu})");
        }
        line.push('\n');
        self.lines.line(&line);
    }

    fn closing(&mut self, _at_ns: u64) {
        self.is_closing = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracepoint::{Context, State, TaskRef};

    /// Records switches on three CPUs of a hundred.
    fn record_three(map: &mut Map<String>) {
        let task = |pid| TaskRef { comm: "t", pid, prio: 120 };
        for (at_us, cpu, next) in [
            (1_000_000, 70, task(1)),
            (1_000_010, 3, task(2)),
            (1_000_020, 70, TaskRef::IDLE),
            (1_000_030, 99, task(1)),
        ] {
            let prev_state = State::Interruptible;
            map.record(&Record {
                at_ns: at_us * 1000,
                cpu,
                current: TaskRef::IDLE,
                context: Context::Task,
                tracepoint: Tracepoint::Switch { prev: TaskRef::IDLE, prev_state, next },
            });
        }
    }

    #[test]
    fn a_compact_map_has_columns_for_cpus_that_switch_in_the_order_in_which_they_do() {
        let mut map = Map::compact(String::new());
        record_three(&mut map);
        let expected = [
            "  *A0       1.000000 secs A0 => t:1 (CPU 70)",
            "   A0 *B0       1.000010 secs B0 => t:2 (CPU 3)",
            "  *.   B0       1.000020 secs ",
            "   .   B0 *A0       1.000030 secs  (CPU 99)",
        ];
        assert_eq!(map.into_lines().lines().collect::<Vec<_>>(), expected);
        let mut map = Map::new(100, String::new());
        record_three(&mut map);
        let lines = map.into_lines();
        assert!(lines.lines().all(|line| line.len() > 4 * 100 && !line.contains("CPU")), "{lines}");
    }
}
