//! CPU times and waits of tasks, from `/proc/PID/schedstat`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::time::Duration;

/// Observed values of a task.
#[derive(Clone, Debug, Default)]
struct Row {
    comm: String,
    nice: i64,
    ran_ns: u64,
    waited_ns: u64,
    turns: u64,
    /// Its counters when it was first observed.
    before: (u64, u64, u64),
    max_mean_us: f64,
}

/// Tasks by process id: all tasks of the machine, or only one process tree.
pub struct Table {
    root: Option<u32>,
    rows: BTreeMap<u32, Row>,
}

/// Parent, name, nice value.
fn stat(pid: u32) -> Option<(u32, String, i64)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in parentheses and may contain some.
    let (head, rest) = text.rsplit_once(") ")?;
    let comm = head.split_once(" (")?.1.to_string();
    let fields: Vec<&str> = rest.split(' ').collect();
    Some((fields.get(1)?.parse().ok()?, comm, fields.get(16)?.parse().ok()?))
}

fn schedstat(pid: u32) -> Option<(u64, u64, u64)> {
    let text = fs::read_to_string(format!("/proc/{pid}/schedstat")).ok()?;
    let mut numbers = text.split_whitespace().map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??, numbers.next()??))
}

impl Table {
    /// Makes a table of `root` and the tasks below it. `None`: all tasks.
    pub fn new(root: Option<u32>) -> Table {
        Table { root, rows: BTreeMap::new() }
    }

    /// Reads the counters of the existing tasks.
    pub fn look(&mut self) {
        let Ok(entries) = fs::read_dir("/proc") else { return };
        let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let mut all: BTreeMap<u32, (u32, String, i64)> = BTreeMap::new();
        for pid in pids {
            if let Some(found) = stat(pid) {
                all.insert(pid, found);
            }
        }
        for (&pid, (_, comm, nice)) in &all {
            if !self.is_meant(pid, &all) {
                continue;
            }
            let Some(now) = schedstat(pid) else { continue };
            let first = Row { before: now, ..Row::default() };
            let is_child = self.root.is_some();
            let row = self.rows.entry(pid).or_insert(first);
            if is_child {
                row.before = (0, 0, 0);
            }
            let turns = now.2 - row.before.2;
            let (waited, before) = (now.1 - row.before.1, row.waited_ns);
            if turns > row.turns && waited >= before {
                let mean = (waited - before) as f64 / (turns - row.turns) as f64 / 1000.0;
                row.max_mean_us = row.max_mean_us.max(mean);
            }
            row.comm.clone_from(comm);
            row.nice = *nice;
            row.ran_ns = now.0 - row.before.0;
            row.waited_ns = waited;
            row.turns = turns;
        }
    }

    fn is_meant(&self, pid: u32, all: &BTreeMap<u32, (u32, String, i64)>) -> bool {
        let Some(root) = self.root else { return true };
        let mut pid = pid;
        // A process tree has no cycles, but reused ids could look like one.
        for _ in 0..all.len() {
            if pid == root {
                return true;
            }
            match all.get(&pid) {
                Some(&(parent, ..)) if parent != 0 => pid = parent,
                _ => return false,
            }
        }
        false
    }

    /// A table of the 20 tasks with the most CPU time.
    pub fn text(&self, elapsed: Duration) -> String {
        let total: u64 = self.rows.values().map(|row| row.ran_ns).sum();
        let mut rows: Vec<_> = self.rows.iter().filter(|(_, row)| row.ran_ns > 0).collect();
        rows.sort_by_key(|(pid, row)| (std::cmp::Reverse(row.ran_ns), **pid));
        let mut text = format!(
            "{:.1} s\n{:>8} {:<16} {:>4} {:>11} {:>7} {:>11} {:>8} {:>12} {:>12}\n",
            elapsed.as_secs_f64(),
            "pid",
            "task",
            "nice",
            "CPU ms",
            "share",
            "waited ms",
            "turns",
            "mean wait us",
            "worst 50 ms"
        );
        for (pid, row) in rows.iter().take(20) {
            let mean = row.waited_ns as f64 / row.turns.max(1) as f64 / 1000.0;
            let _ = writeln!(
                text,
                "{pid:>8} {:<16} {:>4} {:>11.3} {:>6.1}% {:>11.3} {:>8} {mean:>12.1} {:>12.1}",
                row.comm,
                row.nice,
                row.ran_ns as f64 / 1e6,
                row.ran_ns as f64 * 100.0 / total.max(1) as f64,
                row.waited_ns as f64 / 1e6,
                row.turns,
                row.max_mean_us,
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_process_is_found() {
        let pid = std::process::id();
        let (parent, comm, nice) = stat(pid).expect("there is a /proc");
        assert!(parent > 0 && !comm.is_empty() && (-20..=19).contains(&nice));
        let mut table = Table::new(Some(pid));
        table.look();
        assert!(table.rows.contains_key(&pid));
    }
}
