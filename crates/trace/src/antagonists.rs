//! Tasks that kept others waiting: [`Antagonists`] measures which tasks ran, and which were queued
//! on the same CPU, while a task was runnable without a CPU.

use crate::tracepoint::{NewTask, Record, Sink, TaskRef, Tracepoint};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Measures which tasks ran and which were queued while the selected tasks, the victims, waited.
#[derive(Clone, Debug)]
pub struct Antagonists {
    wanted: String,
    tasks: BTreeMap<u32, Task>,
    /// Current task of each CPU.
    current: Vec<Option<u32>>,
    /// Tasks waiting in the queue of each CPU.
    queues: Vec<Vec<u32>>,
    /// Victims that wait.
    waiting: Vec<u32>,
    since_ns: u64,
    /// Total waiting time of the victims, ns.
    wait_ns: u64,
    wait_max_ns: u64,
    waits: u64,
    victims: Vec<u32>,
}

#[derive(Clone, Debug, Default)]
struct Task {
    name: String,
    cpu: u32,
    /// Whether it is in a queue or has a CPU.
    runnable: bool,
    on_cpu: bool,
    is_victim: bool,
    waits_since_ns: u64,
    /// Beginning of its last slice, if it has not blocked since.
    slice_ns: Option<u64>,
    ran_here_ns: u64,
    ran_elsewhere_ns: u64,
    in_line_ns: u64,
    /// Number of waits in which it ran on the victim's CPU.
    in_waits: u64,
    last_wait: u64,
}

/// Activity of one task while the victims waited.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// Name.
    pub name: String,
    /// Number.
    pub pid: u32,
    /// Time that it ran on the CPU in whose queue a victim was, ns.
    pub ran_here_ns: u64,
    /// Time that it ran on another CPU, ns.
    pub ran_elsewhere_ns: u64,
    /// Time that it was in the same queue, ns.
    pub in_line_ns: u64,
    /// Number of waits in which it ran on that CPU.
    pub in_waits: u64,
}

impl Antagonists {
    /// Creates a measurement for the tasks that `wanted` selects: a number, a name, or a name
    /// without the number at its end.
    pub fn new(wanted: &str) -> Antagonists {
        Antagonists {
            wanted: wanted.into(),
            tasks: BTreeMap::new(),
            current: Vec::new(),
            queues: Vec::new(),
            waiting: Vec::new(),
            since_ns: 0,
            wait_ns: 0,
            wait_max_ns: 0,
            waits: 0,
            victims: Vec::new(),
        }
    }

    /// Returns the number of selected tasks. `0`: no task has that name.
    pub fn victims(&self) -> usize {
        self.victims.len()
    }

    /// Returns the names of all tasks.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tasks.values().map(|task| task.name.as_str())
    }

    /// Returns the total waiting time of the victims, ns.
    pub fn wait_ns(&self) -> u64 {
        self.wait_ns
    }

    fn task(&mut self, task_ref: TaskRef<'_>) -> &mut Task {
        let wanted = &self.wanted;
        let victims = &mut self.victims;
        let task = self.tasks.entry(task_ref.pid).or_default();
        if crate::names::is_other(&task.name, task_ref.comm) {
            task.name = task_ref.comm.into();
            if !task.is_victim && crate::names::means(wanted, task_ref.pid, task_ref.comm) {
                task.is_victim = true;
                victims.push(task_ref.pid);
            }
        }
        task
    }

    fn grow(&mut self, cpu: u32) {
        if cpu as usize >= self.current.len() {
            self.current.resize(cpu as usize + 1, None);
            self.queues.resize(cpu as usize + 1, Vec::new());
        }
    }

    /// Charges the time since the last event to the tasks that ran or were queued.
    fn pass(&mut self, at_ns: u64) {
        let passed_ns = at_ns.saturating_sub(self.since_ns);
        self.since_ns = at_ns;
        if passed_ns == 0 {
            return;
        }
        for place in 0..self.waiting.len() {
            let victim = self.waiting[place];
            self.wait_ns = self.wait_ns.saturating_add(passed_ns);
            let Some(here) = self.tasks.get(&victim).map(|task| task.cpu as usize) else {
                continue;
            };
            for cpu in 0..self.current.len() {
                let Some(running) = self.current[cpu] else { continue };
                let wait = self.waits;
                let Some(task) = self.tasks.get_mut(&running) else { continue };
                if cpu == here {
                    task.ran_here_ns = task.ran_here_ns.saturating_add(passed_ns);
                    if std::mem::replace(&mut task.last_wait, wait) != wait {
                        task.in_waits += 1;
                    }
                } else {
                    task.ran_elsewhere_ns = task.ran_elsewhere_ns.saturating_add(passed_ns);
                }
            }
            for &other in self.queues[here].iter().filter(|&&other| other != victim) {
                if let Some(task) = self.tasks.get_mut(&other) {
                    task.in_line_ns = task.in_line_ns.saturating_add(passed_ns);
                }
            }
        }
    }

    /// Puts `pid` into the queue of its CPU, or takes it out.
    fn stand(&mut self, at_ns: u64, pid: u32, stands: bool) {
        let Some(task) = self.tasks.get_mut(&pid) else { return };
        let (cpu, is_victim) = (task.cpu as usize, task.is_victim);
        let line = &mut self.queues[cpu];
        let place = line.iter().position(|&other| other == pid);
        match (place, stands) {
            (None, true) => {
                line.push(pid);
                if is_victim {
                    self.waiting.push(pid);
                    // A slice of no length ends no wait.
                    if task.slice_ns != Some(at_ns) {
                        task.waits_since_ns = at_ns;
                        self.waits += 1;
                    }
                }
            }
            (Some(place), false) => {
                line.swap_remove(place);
                if is_victim {
                    let waited_ns = at_ns.saturating_sub(task.waits_since_ns);
                    self.wait_max_ns = self.wait_max_ns.max(waited_ns);
                    self.waiting.retain(|&other| other != pid);
                }
            }
            _ => {}
        }
    }

    /// Moves `pid` to the queue of another CPU; a wait continues.
    fn go(&mut self, pid: u32, cpu: u32) {
        self.grow(cpu);
        let Some(task) = self.tasks.get_mut(&pid) else { return };
        let old = std::mem::replace(&mut task.cpu, cpu) as usize;
        if old != cpu as usize
            && let Some(place) =
                self.queues.get(old).and_then(|line| line.iter().position(|&other| other == pid))
        {
            self.queues[old].swap_remove(place);
            self.queues[cpu as usize].push(pid);
        }
    }

    /// Like [`Antagonists::go`]. Without a CPU, the task stays in the queue of its last one.
    fn goes(&mut self, pid: u32, cpu: Option<u32>) {
        if let Some(cpu) = cpu {
            self.go(pid, cpu);
        }
    }

    /// Returns all tasks that ran or were queued, those that ran longest first.
    pub fn rows(&self) -> Vec<Row> {
        let mut rows: Vec<Row> = self
            .tasks
            .iter()
            .filter(|&(&pid, task)| {
                let did = [task.ran_here_ns, task.ran_elsewhere_ns, task.in_line_ns];
                pid != 0 && did.iter().any(|&ns| ns > 0)
            })
            .map(|(&pid, task)| Row {
                name: task.name.clone(),
                pid,
                ran_here_ns: task.ran_here_ns,
                ran_elsewhere_ns: task.ran_elsewhere_ns,
                in_line_ns: task.in_line_ns,
                in_waits: task.in_waits,
            })
            .collect();
        rows.sort_by_key(|row| {
            std::cmp::Reverse((row.ran_here_ns, row.in_line_ns, row.ran_elsewhere_ns))
        });
        rows
    }

    /// Returns the table.
    pub fn table(&self) -> String {
        let ms = |ns: u64| format!("{}.{:03}", ns / 1_000_000, ns / 1_000 % 1_000);
        let mut out = String::new();
        let tasks = match self.victims.len() {
            1 => String::new(),
            tasks => format!(" ({tasks} tasks)"),
        };
        let _ = writeln!(
            out,
            "{}{tasks} waited {} times, {} ms in all, {} ms at the longest",
            crate::names::cut(&self.wanted),
            self.waits,
            ms(self.wait_ns),
            ms(self.wait_max_ns),
        );
        let _ = writeln!(
            out,
            "\n{:<30}  {:>12}  {:>8}  {:>8}  {:>12}  {:>14}",
            "task name[tid]", "ran there", "of wait", "in waits", "queued", "ran elsewhere"
        );
        let _ = writeln!(
            out,
            "{:<30}  {:>12}  {:>8}  {:>8}  {:>12}  {:>14}",
            "", "(msec)", "%", "(count)", "(msec)", "(msec)"
        );
        let _ = writeln!(
            out,
            "{:-<30}  {:->12}  {:->8}  {:->8}  {:->12}  {:->14}",
            "", "", "", "", "", ""
        );
        for row in self.rows() {
            let share = 100.0 * row.ran_here_ns as f64 / self.wait_ns.max(1) as f64;
            let _ = writeln!(
                out,
                "{:<30}  {:>12}  {share:>8.2}  {:>8}  {:>12}  {:>14}",
                format!("{}[{}]", crate::names::cut(&row.name), row.pid),
                ms(row.ran_here_ns),
                row.in_waits,
                ms(row.in_line_ns),
                ms(row.ran_elsewhere_ns),
            );
        }
        out
    }
}

impl Sink for Antagonists {
    fn task(&mut self, _at_ns: u64, new: &NewTask<'_>) {
        Antagonists::task(self, TaskRef { comm: new.name, pid: new.pid, prio: 120 });
    }

    fn record(&mut self, record: &Record<'_>) {
        let &Record { at_ns, cpu, tracepoint, .. } = record;
        self.pass(at_ns);
        self.grow(cpu);
        match tracepoint {
            Tracepoint::Switch { prev, prev_state, next } => {
                if prev.pid != 0 {
                    let task = self.task(prev);
                    (task.on_cpu, task.runnable) = (false, prev_state.is_runnable());
                    task.slice_ns = task.slice_ns.filter(|_| prev_state.is_runnable());
                    // A task that was migrated while it ran is in the queue of another CPU.
                    if !prev_state.is_runnable() {
                        self.go(prev.pid, cpu);
                    }
                    self.stand(at_ns, prev.pid, prev_state.is_runnable());
                }
                if next.pid != 0 {
                    let task = self.task(next);
                    (task.on_cpu, task.runnable) = (true, true);
                    task.slice_ns = Some(at_ns);
                    self.stand(at_ns, next.pid, false);
                    self.go(next.pid, cpu);
                }
                self.current[cpu as usize] = (next.pid != 0).then_some(next.pid);
            }
            Tracepoint::Wakeup { task: task_ref, target_cpu }
            | Tracepoint::WakeupNew { task: task_ref, target_cpu } => {
                self.task(task_ref);
                self.goes(task_ref.pid, target_cpu);
                let task = self.task(task_ref);
                task.runnable = true;
                task.slice_ns = None;
                let on_cpu = task.on_cpu;
                if !on_cpu {
                    self.stand(at_ns, task_ref.pid, true);
                }
            }
            Tracepoint::Waking { task: task_ref, target_cpu } => {
                // Traces of perf may lack sched_wakeup: the task waits where it was.
                let task = self.task(task_ref);
                let (runnable, on_cpu) = (task.runnable, task.on_cpu);
                task.runnable = true;
                task.slice_ns = None;
                if !runnable && !on_cpu {
                    self.goes(task_ref.pid, target_cpu);
                    self.stand(at_ns, task_ref.pid, true);
                }
            }
            Tracepoint::Migrate { task: task_ref, dest_cpu, .. } => {
                self.task(task_ref);
                self.go(task_ref.pid, dest_cpu);
            }
            Tracepoint::Exit { task: task_ref } => {
                let task = self.task(task_ref);
                if !task.on_cpu {
                    task.runnable = false;
                    self.stand(at_ns, task_ref.pid, false);
                }
            }
            Tracepoint::Fork { .. } | Tracepoint::Exec { .. } | Tracepoint::Runtime { .. } => {}
        }
    }

    fn finish(&mut self, at_ns: u64) {
        self.pass(at_ns);
        for pid in self.waiting.clone() {
            if let Some(task) = self.tasks.get(&pid) {
                self.wait_max_ns = self.wait_max_ns.max(at_ns.saturating_sub(task.waits_since_ns));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracepoint::{Context, State};

    /// A slice of no length ends no wait; one in which the task blocks does.
    #[test]
    fn a_wait_goes_on_over_a_turn_of_no_length() {
        let task_ref =
            |pid: u32| TaskRef { comm: ["idle", "a", "b"][pid as usize], pid, prio: 120 };
        let switch = |prev: u32, prev_state, next: u32| Tracepoint::Switch {
            prev: task_ref(prev),
            prev_state,
            next: task_ref(next),
        };
        let wakeup = |pid: u32| Tracepoint::Wakeup { task: task_ref(pid), target_cpu: Some(0) };
        let (runs_on, sleeps) = (State::Preempted, State::Interruptible);
        let mut antagonists = Antagonists::new("a");
        for (at_ns, tracepoint) in [
            (0, switch(0, State::Runnable, 2)),
            (1_000_000, wakeup(1)),
            (3_000_000, switch(2, runs_on, 1)),
            (3_000_000, switch(1, runs_on, 2)),
            (6_000_000, switch(2, runs_on, 1)),
            (7_000_000, switch(1, sleeps, 2)),
            (8_000_000, wakeup(1)),
            (9_000_000, switch(2, runs_on, 1)),
            (9_000_000, switch(1, sleeps, 2)),
            (9_000_000, wakeup(1)),
            (11_000_000, switch(2, runs_on, 1)),
        ] {
            let context = Context::Unknown;
            antagonists.record(&Record {
                at_ns,
                cpu: 0,
                current: task_ref(0),
                context,
                tracepoint,
            });
        }
        antagonists.finish(12_000_000);
        let table = antagonists.table();
        assert!(
            table.starts_with("a waited 3 times, 8.000 ms in all, 5.000 ms at the longest"),
            "{table}"
        );
    }

    /// A table of columns may contain any time. Two tasks wait for the longest representable time,
    /// so that the sum over them is not representable. Sums saturate.
    #[test]
    fn times_as_long_as_can_be_said_are_no_overflow() {
        let task_ref =
            |pid: u32| TaskRef { comm: ["idle", "a", "b", "c"][pid as usize], pid, prio: 120 };
        let switch = |prev: u32, next: u32| Tracepoint::Switch {
            prev: task_ref(prev),
            prev_state: State::Runnable,
            next: task_ref(next),
        };
        let wakeup = |pid: u32| Tracepoint::Wakeup { task: task_ref(pid), target_cpu: Some(0) };
        let mut antagonists = Antagonists::new("a");
        let mut others = Antagonists::new("b");
        for (at_ns, tracepoint) in [
            (0, switch(0, 3)),
            (1, wakeup(1)),
            (1, wakeup(2)),
            (u64::MAX - 1, switch(3, 1)),
            (u64::MAX, switch(1, 2)),
        ] {
            let context = Context::Unknown;
            let record = Record { at_ns, cpu: 0, current: task_ref(0), context, tracepoint };
            antagonists.record(&record);
            others.record(&record);
        }
        for one in [&mut antagonists, &mut others] {
            one.finish(u64::MAX);
            let rows = one.rows();
            assert_eq!(rows[0].name, "c");
            assert!(rows[0].ran_here_ns >= u64::MAX - 3, "{rows:?}");
            assert!(one.table().contains("c[3]"));
        }
    }
}
