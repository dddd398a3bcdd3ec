//! Waiting times of tasks in the format of `perf sched latency`: [`Latency`].
//!
//! A **delay** is the time between a wakeup or an involuntary switch and the moment when the task
//! has a CPU. The **switches** are those whose delay is known. As in perf, the first appearance of
//! a task on a CPU counts with a delay of 0.

use crate::tracepoint::{NewTask, Record, Sink, State, TaskRef, Tracepoint};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Sort key of rows, in descending order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SortKey {
    /// Time on a CPU.
    Runtime,
    /// Number of switches.
    Switch,
    /// Mean delay.
    Avg,
    /// Longest delay.
    Max,
}

/// Options of the table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// One row per task (`-p`) instead of one for all tasks of a name.
    pub per_task: bool,
    /// Whether instances of a name (`video-0`, `video-1`) count as that name.
    pub merge_instances: bool,
    /// Sort keys, the most significant first.
    pub sort: Vec<SortKey>,
}

impl Default for Options {
    fn default() -> Options {
        let sort = vec![SortKey::Avg, SortKey::Max, SortKey::Switch, SortKey::Runtime];
        Options { per_task: false, merge_instances: true, sort }
    }
}

/// Measures delays.
#[derive(Clone, Debug, Default)]
pub struct Latency {
    tasks: BTreeMap<u32, Task>,
    switched_ns: Vec<Option<u64>>,
    /// Whether the trace records the time that tasks were charged.
    has_runtimes: bool,
    /// CPU that the measurement is limited to.
    only_cpu: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Stage {
    #[default]
    Unknown,
    Asleep,
    Waiting(u64),
    Running,
}

#[derive(Clone, Debug, Default)]
struct Task {
    name: String,
    order: usize,
    stage: Stage,
    charged_ns: u64,
    row: Row,
}

/// Figures of a task, or of all tasks of a name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Row {
    /// Name.
    pub name: String,
    /// Number, if it is one task.
    pub pid: u32,
    /// Number of tasks.
    pub tasks: usize,
    /// Time on a CPU, ns.
    pub runtime_ns: u64,
    /// Number of switches whose delay is known.
    pub switches: u64,
    /// Sum of the delays, ns.
    pub delay_ns: u64,
    /// Longest delay, ns.
    pub max_ns: u64,
    /// Beginning of the longest delay, ns.
    pub max_start_ns: u64,
    /// End of the longest delay, ns.
    pub max_end_ns: u64,
}

impl Row {
    /// Returns the mean delay, ns.
    pub fn avg_ns(&self) -> f64 {
        self.delay_ns as f64 / self.switches.max(1) as f64
    }
}

impl Latency {
    /// Returns an empty measurement.
    pub fn new() -> Latency {
        Latency::default()
    }

    /// Returns a measurement limited to one CPU (`-C`): time on it, and switches to it with the
    /// delays that they end, on whatever CPU the task was woken.
    pub fn of_cpu(cpu: u32) -> Latency {
        Latency { only_cpu: Some(cpu), ..Latency::default() }
    }

    fn task(&mut self, task_ref: TaskRef<'_>) -> &mut Task {
        let order = self.tasks.len();
        let task =
            self.tasks.entry(task_ref.pid).or_insert_with(|| Task { order, ..Task::default() });
        if crate::names::is_other(&task.name, task_ref.comm) {
            task.name = task_ref.comm.into();
        }
        task
    }

    /// Returns all rows, sorted.
    pub fn rows(&self, options: &Options) -> Vec<Row> {
        let mut ordered: Vec<(&u32, &Task)> = self.tasks.iter().collect();
        ordered.sort_by_key(|(_, task)| task.order);
        let mut rows: Vec<Row> = vec![];
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        for (&pid, task) in ordered {
            if pid == 0 || task.row.switches == 0 {
                continue;
            }
            let name = match options.per_task || !options.merge_instances {
                true => task.name.as_str(),
                false => base(&task.name),
            };
            let mut row = Row { name: name.into(), pid, tasks: 1, ..task.row.clone() };
            if self.has_runtimes {
                row.runtime_ns = task.charged_ns;
            }
            match places.get(name).filter(|_| !options.per_task) {
                None => {
                    places.insert(name, rows.len());
                    rows.push(row);
                }
                Some(&place) => {
                    let all = &mut rows[place];
                    all.tasks += 1;
                    all.runtime_ns = all.runtime_ns.saturating_add(row.runtime_ns);
                    all.switches += row.switches;
                    all.delay_ns = all.delay_ns.saturating_add(row.delay_ns);
                    if row.max_ns > all.max_ns {
                        (all.max_ns, all.max_start_ns, all.max_end_ns) =
                            (row.max_ns, row.max_start_ns, row.max_end_ns);
                    }
                }
            }
        }
        // A row of one task has the full name of the task.
        for row in rows.iter_mut().filter(|row| row.tasks == 1) {
            row.name.clone_from(&self.tasks[&row.pid].name);
        }
        rows.sort_by(|a, b| {
            let key = |row: &Row, key: SortKey| match key {
                SortKey::Runtime => row.runtime_ns as f64,
                SortKey::Switch => row.switches as f64,
                SortKey::Avg => row.avg_ns(),
                SortKey::Max => row.max_ns as f64,
            };
            let by = |sort: &SortKey| Reverse(key(a, *sort).total_cmp(&key(b, *sort))).0.reverse();
            options.sort.iter().map(by).find(|order| order.is_ne()).unwrap_or(a.pid.cmp(&b.pid))
        });
        rows
    }

    /// Returns the table.
    pub fn table(&self, options: &Options) -> String {
        let rows = self.rows(options);
        let mut out = String::from("\n");
        let rule = |out: &mut String, width: usize| {
            // Writing to a string does not fail.
            let _ = writeln!(out, " {:-<width$}", "");
        };
        rule(&mut out, 139);
        out.push_str(
            "  Task                  |   Runtime ms  | Switches | Avg delay ms    | Max delay ms    \
             | Max delay start           | Max delay end          |\n",
        );
        rule(&mut out, 139);
        let ms = |ns: f64| ns / 1e6;
        for row in &rows {
            let name = crate::names::cut(&row.name);
            let name = match row.tasks {
                1 => format!("{name}:{}", row.pid),
                tasks => format!("{name}:({tasks})"),
            };
            let _ = writeln!(
                out,
                "  {name:<21} |{:>11.3} ms |{:>9} | avg:{:>8.3} ms | max:{:>8.3} ms | max \
                 start: {:>12} s | max end: {:>12} s",
                ms(row.runtime_ns as f64),
                row.switches,
                ms(row.avg_ns()),
                ms(row.max_ns as f64),
                seconds(row.max_start_ns),
                seconds(row.max_end_ns),
            );
        }
        rule(&mut out, 113);
        let runtime_ns = rows.iter().map(|row| row.runtime_ns).fold(0u64, u64::saturating_add);
        let switches: u64 = rows.iter().map(|row| row.switches).sum();
        let _ = writeln!(
            out,
            "  TOTAL:                |{:>11.3} ms |{switches:>9} |",
            ms(runtime_ns as f64)
        );
        rule(&mut out, 51);
        out
    }
}

/// Formats a time with six decimals, truncated.
fn seconds(ns: u64) -> String {
    format!("{}.{:06}", ns / 1_000_000_000, ns / 1_000 % 1_000_000)
}

/// Returns the base name: `video` for `video-1`.
fn base(name: &str) -> &str {
    match name.rsplit_once('-') {
        Some((base, _)) if crate::names::is_instance(name, base) => base,
        _ => name,
    }
}

impl Sink for Latency {
    fn task(&mut self, _at_ns: u64, new: &NewTask<'_>) {
        Latency::task(self, TaskRef { comm: new.name, pid: new.pid, prio: 120 });
    }

    fn record(&mut self, record: &Record<'_>) {
        let &Record { at_ns, cpu, tracepoint, .. } = record;
        let counts = self.only_cpu.is_none_or(|only| only == cpu);
        match tracepoint {
            Tracepoint::Switch { prev, prev_state, next } => {
                let cpu = cpu as usize;
                if cpu >= self.switched_ns.len() {
                    self.switched_ns.resize(cpu + 1, None);
                }
                let since_ns = self.switched_ns[cpu].replace(at_ns).unwrap_or(at_ns);
                let task = self.task(prev);
                let ran_ns = if counts { at_ns - since_ns } else { 0 };
                task.row.runtime_ns = task.row.runtime_ns.saturating_add(ran_ns);
                task.stage = match prev_state {
                    State::Runnable | State::Preempted => Stage::Waiting(at_ns),
                    _ => Stage::Asleep,
                };
                let task = self.task(next);
                let since_ns = match task.stage {
                    Stage::Unknown => Some(at_ns),
                    Stage::Waiting(since_ns) => Some(since_ns),
                    Stage::Asleep | Stage::Running => None,
                };
                task.stage = Stage::Running;
                if let Some(since_ns) = since_ns.filter(|_| counts) {
                    let delay_ns = at_ns.saturating_sub(since_ns);
                    let row = &mut task.row;
                    row.switches += 1;
                    row.delay_ns = row.delay_ns.saturating_add(delay_ns);
                    if delay_ns > row.max_ns {
                        (row.max_ns, row.max_start_ns, row.max_end_ns) =
                            (delay_ns, since_ns, at_ns);
                    }
                }
            }
            Tracepoint::Waking { task, .. }
            | Tracepoint::Wakeup { task, .. }
            | Tracepoint::WakeupNew { task, .. } => {
                let task = self.task(task);
                if matches!(task.stage, Stage::Unknown | Stage::Asleep) {
                    task.stage = Stage::Waiting(at_ns);
                }
            }
            Tracepoint::Runtime { task, runtime_ns } if counts => {
                self.has_runtimes = true;
                let charged_ns = &mut self.task(task).charged_ns;
                *charged_ns = charged_ns.saturating_add(runtime_ns);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracepoint::Context;

    /// Records a task `a` that runs on both CPUs, and waits for each.
    fn record_both(latency: &mut Latency) {
        let task = TaskRef { comm: "a", pid: 1, prio: 120 };
        let on = |prev, prev_state, next| Tracepoint::Switch { prev, prev_state, next };
        for (at_us, cpu, tracepoint) in [
            (100, 0, Tracepoint::Waking { task, target_cpu: Some(1) }),
            (130, 1, on(TaskRef::IDLE, State::Runnable, task)),
            (200, 1, on(task, State::Runnable, TaskRef::IDLE)),
            (205, 0, on(TaskRef::IDLE, State::Runnable, task)),
            (305, 0, on(task, State::Interruptible, TaskRef::IDLE)),
        ] {
            let (at_ns, context) = (at_us * 1000, Context::Task);
            latency.record(&Record { at_ns, cpu, current: TaskRef::IDLE, context, tracepoint });
        }
    }

    #[test]
    fn of_one_cpu_only_what_ran_there_counts() {
        let of = |mut latency: Latency| {
            record_both(&mut latency);
            let rows = latency.rows(&Options::default());
            rows.first().map(|row| (row.runtime_ns, row.switches, row.delay_ns))
        };
        assert_eq!(of(Latency::new()), Some((170_000, 2, 35_000)));
        assert_eq!(of(Latency::of_cpu(0)), Some((100_000, 1, 5_000)));
        assert_eq!(of(Latency::of_cpu(1)), Some((70_000, 1, 30_000)));
        assert_eq!(of(Latency::of_cpu(2)), None);
    }
}
