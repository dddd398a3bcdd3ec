//! A line for each slice, in the format of `perf sched timehist`: [`Timehist`].
//!
//! * **wait time**: from the moment the task left its last CPU until it got this one, including the
//!   delay of a wakeup in between;
//! * **sch delay**: from the wakeup until the task got the CPU; 0 if it was preempted and not
//!   woken;
//! * **run time**: time that it had the CPU.

use crate::tracepoint::{NewTask, Record, Sink, State, TaskRef, Tracepoint};
use std::collections::BTreeMap;
use std::fmt::{self, Write};

/// Options of the output.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// Whether lines of slices are left out (`-s`), leaving only the summary.
    pub summary_only: bool,
    /// Whether a summary follows the lines (`-S`).
    pub with_summary: bool,
    /// Whether wakeups have lines (`-w`).
    pub wakeups: bool,
    /// Whether migrations have lines (`-M`).
    pub migrations: bool,
    /// Whether the next task is shown (`-n`).
    pub next: bool,
    /// Whether the state in which the task left is shown (`--state`).
    pub state: bool,
    /// Whether there is a column for each CPU (`-V`).
    pub cpu_visual: bool,
    /// Processes to show (`-p`): numbers or names. Empty: all.
    pub pids: Vec<String>,
    /// Threads to show (`-t`): numbers or names. Empty: all.
    pub tids: Vec<String>,
    /// CPUs to show (`-C`). Empty: all.
    pub cpus: Vec<u32>,
}

/// Width of the column of task names.
const NAME: usize = 30;

/// Duration in milliseconds in perf's format: digits below a microsecond are truncated.
struct Millis(u64);

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{}.{:03}", self.0 / 1_000_000, self.0 / 1_000 % 1_000);
        write!(f, "{text:>9}")
    }
}

/// Time in seconds with six decimals.
struct Seconds(u64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{}.{:06}", self.0 / 1_000_000_000, self.0 / 1_000 % 1_000_000);
        write!(f, "{text:>15}")
    }
}

/// Consumer of lines, each with its end.
pub trait Lines {
    /// Takes a line.
    fn line(&mut self, line: &str);
}

impl Lines for String {
    fn line(&mut self, line: &str) {
        self.push_str(line);
    }
}

impl<F: FnMut(&str)> Lines for Printer<F> {
    fn line(&mut self, line: &str) {
        (self.0)(line);
    }
}

/// Calls a function for each line.
#[derive(Debug)]
pub struct Printer<F>(pub F);

/// Turns tracepoints into lines.
#[derive(Debug)]
pub struct Timehist<L> {
    options: Options,
    cpus: u32,
    lines: L,
    tasks: BTreeMap<u32, Task>,
    /// Idle time and beginning of the present idle period, by CPU.
    cpu_states: Vec<CpuState>,
    began_ns: Option<u64>,
    end_ns: u64,
    switches: u64,
    /// Whether the run is over, and the remaining events only end what still runs.
    is_closing: bool,
}

#[derive(Clone, Debug, Default)]
struct Task {
    name: String,
    tgid: Option<u32>,
    parent: Option<u32>,
    order: usize,
    ready_ns: Option<u64>,
    left_ns: Option<u64>,
    /// State in which it left its last CPU.
    left: State,
    runs: Runs,
    off: OffCpuTimes,
    migrations: u64,
}

/// Time that a task was off the CPUs, by the state in which it had left, and its delays, ns.
#[derive(Clone, Copy, Debug, Default)]
struct OffCpuTimes {
    sleep: u64,
    iowait: u64,
    preempt: u64,
    delay: u64,
}

impl OffCpuTimes {
    fn note(&mut self, left: State, wait_ns: u64, delay_ns: u64) {
        let sum = match left {
            state if state.is_runnable() => &mut self.preempt,
            State::Uninterruptible => &mut self.iowait,
            _ => &mut self.sleep,
        };
        *sum = sum.saturating_add(wait_ns);
        self.delay = self.delay.saturating_add(delay_ns);
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct CpuState {
    /// Time of its last switch.
    last_ns: Option<u64>,
    idle_ns: u64,
    has_switched: bool,
    /// Beginning of the present idle period, if it is known.
    idles_since_ns: Option<u64>,
}

/// Statistics of the lengths of a task's slices, ns.
#[derive(Clone, Copy, Debug, Default)]
struct Runs {
    count: u64,
    sum: u64,
    min: u64,
    max: u64,
    mean: f64,
    /// Sum of squared deviations.
    m2: f64,
}

impl Runs {
    fn note(&mut self, ns: u64) {
        self.min = if self.count == 0 { ns } else { self.min.min(ns) };
        self.max = self.max.max(ns);
        self.count += 1;
        self.sum = self.sum.saturating_add(ns);
        let delta = ns as f64 - self.mean;
        self.mean += delta / self.count as f64;
        self.m2 += delta * (ns as f64 - self.mean);
    }

    /// Returns the standard deviation of the mean, in percent of it.
    fn deviation(&self) -> f64 {
        if self.count < 2 || self.mean == 0.0 {
            return 0.0;
        }
        let variance = self.m2 / (self.count - 1) as f64;
        100.0 * (variance / self.count as f64).sqrt() / self.mean
    }
}

impl Task {
    /// Returns `name[tid]`, or `name[tid/pid]`.
    fn shown(&self, pid: u32) -> String {
        let name = crate::names::cut(&self.name);
        match self.tgid {
            Some(tgid) if tgid != pid => format!("{name}[{pid}/{tgid}]"),
            _ => format!("{name}[{pid}]"),
        }
    }
}

impl<L: Lines> Timehist<L> {
    /// Creates a printer for a machine with `cpus` CPUs, and prints the heading.
    pub fn new(cpus: u32, options: Options, lines: L) -> Timehist<L> {
        let mut this = Timehist {
            options,
            cpus,
            lines,
            tasks: BTreeMap::new(),
            cpu_states: vec![CpuState::default(); cpus as usize],
            began_ns: None,
            end_ns: 0,
            switches: 0,
            is_closing: false,
        };
        if !this.options.summary_only {
            this.heading();
        }
        this
    }

    /// Returns the destination of the lines.
    pub fn into_lines(self) -> L {
        self.lines
    }

    /// Whether `wanted` selects any task.
    pub fn knows(&self, wanted: &str) -> bool {
        self.tasks.iter().any(|(&pid, task)| crate::names::means(wanted, pid, &task.name))
    }

    /// Returns the names of all tasks.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tasks.iter().filter(|task| *task.0 != 0).map(|(_, task)| task.name.as_str())
    }

    /// Returns the columns of the CPUs: perf has one more than there are CPUs.
    fn visual(&self, of: impl Fn(u32) -> char) -> String {
        match self.options.cpu_visual {
            true => (0..=self.cpus).map(of).chain("  ".chars()).collect(),
            false => String::new(),
        }
    }

    fn heading(&mut self) {
        let digits = self.visual(|cpu| char::from_digit(cpu % 16, 16).unwrap_or(' '));
        let blanks = self.visual(|_| ' ');
        let dashes: String = match self.options.cpu_visual {
            true => (0..=self.cpus).map(|_| '-').chain("  ".chars()).collect(),
            false => String::new(),
        };
        let (state, state_blank, state_dashes) = match self.options.state {
            true => ("  state", "       ", "  -----"),
            false => ("", "", ""),
        };
        let name = |text: &str| format!("{text:<NAME$}");
        let text = format!(
            "{:>15} {:<6}  {digits}{}  {:>9}  {:>9}  {:>9}{state}\n\
             {:>15} {:<6}  {blanks}{}  {:>9}  {:>9}  {:>9}{state_blank}\n\
             {:-<15} {:-<6}  {dashes}{:-<NAME$}  {:-<9}  {:-<9}  {:-<9}{state_dashes}\n",
            "time",
            "   cpu",
            name("task name"),
            "wait time",
            "sch delay",
            "run time",
            "",
            "",
            name("[tid/pid]"),
            "(msec)",
            "(msec)",
            "(msec)",
            "",
            "",
            "",
            "",
            "",
            "",
        );
        for line in text.split_inclusive('\n') {
            self.lines.line(line);
        }
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

    /// Whether events on `cpu` are selected.
    fn is_seen(&self, cpu: u32) -> bool {
        self.options.cpus.is_empty() || self.options.cpus.contains(&cpu)
    }

    /// Whether lines about `task_ref` on `cpu` are selected.
    fn is_wanted(&self, task_ref: TaskRef<'_>, cpu: u32) -> bool {
        let tgid = self.tasks.get(&task_ref.pid).and_then(|task| task.tgid).unwrap_or(task_ref.pid);
        let process = self.tasks.get(&tgid).map_or(task_ref.comm, |task| task.name.as_str());
        let Options { pids, tids, .. } = &self.options;
        let by_number = |list: &[String], pid: u32, name: &str| {
            list.iter().any(|wanted| crate::names::means(wanted, pid, name))
        };
        let wanted = (pids.is_empty() && tids.is_empty())
            || by_number(pids, tgid, process)
            || by_number(tids, task_ref.pid, task_ref.comm);
        wanted && self.is_seen(cpu)
    }

    /// Returns the part of a line before the name.
    fn begin(&self, at_ns: u64, cpu: u32, mark: char) -> String {
        let mut visual = self.visual(|other| if other == cpu { mark } else { ' ' });
        if mark == 'm' && self.options.cpu_visual {
            // perf separates the visual column of these lines with blanks.
            visual = format!(" {visual} ");
        }
        format!("{} [{cpu:04}]  {visual}", Seconds(at_ns))
    }

    fn switch(
        &mut self,
        record: &Record<'_>,
        prev: TaskRef<'_>,
        prev_state: State,
        next: TaskRef<'_>,
    ) {
        let &Record { at_ns, cpu, .. } = record;
        if cpu as usize >= self.cpu_states.len() {
            self.cpu_states.resize(cpu as usize + 1, CpuState::default());
            self.cpus = self.cpu_states.len() as u32;
        }
        self.switches += u64::from(!self.is_closing && self.is_seen(cpu));
        let cpu_state = &mut self.cpu_states[cpu as usize];
        let since_ns = cpu_state.last_ns.replace(at_ns);
        cpu_state.has_switched = true;
        cpu_state.idles_since_ns = (next.pid == 0).then_some(at_ns);
        if prev.pid == 0 {
            cpu_state.idle_ns =
                cpu_state.idle_ns.saturating_add(since_ns.map_or(0, |since_ns| at_ns - since_ns));
            self.task(next);
            return;
        }
        self.task(next);
        let is_seen = self.is_seen(cpu);
        let task = self.task(prev);
        // Activity before the beginning of the trace is unknown.
        let (run_ns, delay_ns, wait_ns) = match since_ns {
            None => (0, 0, 0),
            Some(since_ns) => (
                at_ns - since_ns,
                task.ready_ns.map_or(0, |ready_ns| since_ns.saturating_sub(ready_ns)),
                task.left_ns.map_or(0, |left_ns| since_ns.saturating_sub(left_ns)),
            ),
        };
        let left = std::mem::replace(&mut task.left, prev_state);
        task.ready_ns = None;
        task.left_ns = Some(at_ns);
        if is_seen {
            task.runs.note(run_ns);
            task.off.note(left, wait_ns, delay_ns);
        }
        if self.options.summary_only || !self.is_wanted(prev, cpu) {
            return;
        }
        let shown = self.tasks[&prev.pid].shown(prev.pid);
        let mut line = self.begin(at_ns, cpu, 's');
        // Writing to a string does not fail.
        let _ = write!(
            line,
            "{shown:<NAME$}  {}  {}  {} ",
            Millis(wait_ns),
            Millis(delay_ns),
            Millis(run_ns)
        );
        if self.options.state {
            let letter = prev_state.letters().chars().next().unwrap_or('?');
            let _ = write!(line, " {letter:>5} ");
        }
        if self.options.next {
            let next = if next.pid == 0 {
                format!("swapper[{}]", next.pid)
            } else {
                format!("{}[{}]", next.comm, next.pid)
            };
            let _ = write!(line, " next: {next:<24}");
        } else if self.options.wakeups {
            let _ = write!(line, "{:32}", "");
        }
        line.push('\n');
        self.lines.line(&line);
    }

    /// Prints a line about an action of `current` on `task`.
    fn note(
        &mut self,
        record: &Record<'_>,
        mark: char,
        task: TaskRef<'_>,
        what: fmt::Arguments<'_>,
    ) {
        let &Record { at_ns, cpu, current, .. } = record;
        self.task(current);
        let wanted = self.is_wanted(current, cpu) || self.is_wanted(task, cpu);
        if self.options.summary_only || !wanted {
            return;
        }
        let shown = match current.pid {
            0 => "<idle>".into(),
            pid => self.tasks[&pid].shown(pid),
        };
        let begin = self.begin(at_ns, cpu, mark);
        let line = format!("{begin}{shown:<NAME$}  {:9}  {:9}  {:9}  {what}\n", "", "", "");
        self.lines.line(&line);
    }

    fn wakeup(&mut self, record: &Record<'_>, task_ref: TaskRef<'_>, tells: bool) {
        let task = self.task(task_ref);
        task.ready_ns.get_or_insert(record.at_ns);
        if self.options.wakeups && tells {
            let shown = self.tasks[&task_ref.pid].shown(task_ref.pid);
            self.note(record, ' ', task_ref, format_args!("awakened: {shown}"));
        }
    }

    fn summary(&mut self) {
        let (title, columns, last) = match self.options.state {
            true => ("Wait-time", "  sleep      iowait     preempt       delay", "(msec)"),
            false => ("Runtime", "min-run     avg-run     max-run  stddev  migrations", "%"),
        };
        let mut out = format!("\n{title} summary\n");
        let _ = writeln!(out, "{:>NAME$}  parent   sched-in     run-time    {columns}", "comm");
        let _ = writeln!(
            out,
            "{:42}(count)       (msec)     (msec)      (msec)      (msec)       {last}",
            ""
        );
        let _ = writeln!(out, "{:-<117}", "");
        let row = |out: &mut String, pid: u32, task: &Task| {
            let runs = &task.runs;
            let ms = |ns: u64, width: usize| {
                let text = format!("{}.{:03}", ns / 1_000_000, ns / 1_000 % 1_000);
                format!("{text:>width$}")
            };
            let parent = task.parent.map_or("-1".into(), |parent| parent.to_string());
            let _ = write!(
                out,
                "{:>NAME$}  {parent:>6}  {:>9}  {}",
                task.shown(pid),
                runs.count,
                ms(runs.sum, 11)
            );
            if self.options.state {
                let OffCpuTimes { sleep, iowait, preempt, delay } = task.off;
                let [sleep, iowait, preempt, delay] =
                    [(sleep, 11), (iowait, 12), (preempt, 12), (delay, 12)]
                        .map(|(ns, width)| ms(ns, width));
                let _ = writeln!(out, "{sleep}{iowait}{preempt}{delay} ");
                return;
            }
            let _ = writeln!(
                out,
                "{}{}{}   {:>5.2}  {:>6}",
                ms(runs.min, 11),
                ms(runs.mean as u64, 12),
                ms(runs.max, 12),
                runs.deviation(),
                task.migrations,
            );
        };
        // Only slices on selected CPUs were counted.
        let a_cpu = self.options.cpus.first().copied().unwrap_or(0);
        let wanted = |pid: u32, task: &Task| {
            let task_ref = TaskRef { comm: &task.name, pid, prio: 120 };
            pid != 0 && task.runs.count > 0 && self.is_wanted(task_ref, a_cpu)
        };
        let mut listed: Vec<(u32, &Task)> =
            self.tasks.iter().map(|(&pid, task)| (pid, task)).collect();
        listed.retain(|&(pid, task)| wanted(pid, task));
        listed.sort_by_key(|(_, task)| task.order);
        let count = listed.len();
        let rows = |out: &mut String, gone: bool, none: &str| {
            let before = out.len();
            for &(pid, task) in listed.iter().filter(|(_, task)| task.left.is_gone() == gone) {
                row(out, pid, task);
            }
            if out.len() == before {
                let _ = writeln!(out, "<{none}>");
            }
        };
        rows(&mut out, false, "no still running tasks");
        out.push_str("\nTerminated tasks:\n");
        rows(&mut out, true, "no terminated tasks");
        out.push_str("\nIdle stats:\n");
        let span_ns = self.end_ns - self.began_ns.unwrap_or(self.end_ns);
        let selected =
            self.cpu_states.iter().enumerate().filter(|(cpu, _)| self.is_seen(*cpu as u32));
        for (cpu, cpu_state) in selected {
            // For a CPU that was never idle, perf also prints the second line.
            if cpu_state.has_switched || cpu_state.idle_ns > 0 {
                let share = 100.0 * cpu_state.idle_ns as f64 / span_ns.max(1) as f64;
                let _ = writeln!(
                    out,
                    "    CPU {cpu:>2} idle for {:>6}.{:03}  msec  ({share:>6.2}%)",
                    cpu_state.idle_ns / 1_000_000,
                    cpu_state.idle_ns / 1_000 % 1_000
                );
            } else {
                let _ = writeln!(out, "    CPU {cpu:>2} idle entire time window");
            }
        }
        let sum_ns = listed.iter().map(|(_, task)| task.runs.sum).fold(0u64, u64::saturating_add);
        let ms = |ns: u64| format!("{}.{:03}", ns / 1_000_000, ns / 1_000 % 1_000);
        let _ = write!(
            out,
            "\n    Total number of unique tasks: {count}\n\
             Total number of context switches: {}\n           Total run time (msec): {} \n    \
             Total scheduling time (msec): {}  (x {})\n",
            self.switches,
            ms(sum_ns),
            ms(span_ns),
            self.cpu_states.len()
        );
        for line in out.split_inclusive('\n') {
            self.lines.line(line);
        }
    }
}

impl<L: Lines> Sink for Timehist<L> {
    fn task(&mut self, _at_ns: u64, new: &NewTask<'_>) {
        let task = Timehist::task(self, TaskRef { comm: new.name, pid: new.pid, prio: 120 });
        task.tgid = Some(new.tgid);
        task.parent = Some(new.parent);
    }

    fn record(&mut self, record: &Record<'_>) {
        self.began_ns.get_or_insert(record.at_ns);
        self.end_ns = record.at_ns;
        match record.tracepoint {
            Tracepoint::Switch { prev, prev_state, next } => {
                self.switch(record, prev, prev_state, next);
            }
            Tracepoint::Waking { task, .. } => self.wakeup(record, task, true),
            // A repetition of the wakeup; it begins one only if the trace has no sched_waking.
            Tracepoint::Wakeup { task, .. } => self.wakeup(record, task, false),
            Tracepoint::WakeupNew { task, .. } => self.wakeup(record, task, true),
            Tracepoint::Migrate { task, orig_cpu, dest_cpu } => {
                let is_seen = self.is_seen(record.cpu);
                self.task(task).migrations += u64::from(is_seen);
                if self.options.migrations {
                    let shown = self.tasks[&task.pid].shown(task.pid);
                    let what = format_args!("migrated: {shown} cpu {orig_cpu} => {dest_cpu}");
                    self.note(record, 'm', task, what);
                }
            }
            Tracepoint::Fork { parent, child } => {
                let parent = parent.pid;
                self.task(child).parent = Some(parent);
            }
            Tracepoint::Exec { .. } | Tracepoint::Exit { .. } | Tracepoint::Runtime { .. } => {}
        }
    }

    fn online(&mut self, at_ns: u64, cpu: u32, online: bool) {
        self.began_ns.get_or_insert(at_ns);
        let Some(cpu_state) = self.cpu_states.get_mut(cpu as usize) else { return };
        if !online && let Some(since_ns) = cpu_state.idles_since_ns {
            cpu_state.idle_ns = cpu_state.idle_ns.saturating_add(at_ns - since_ns);
        }
        cpu_state.last_ns = online.then_some(at_ns);
        cpu_state.idles_since_ns = cpu_state.last_ns;
    }

    fn closing(&mut self, _at_ns: u64) {
        self.is_closing = true;
    }

    fn finish(&mut self, at_ns: u64) {
        self.end_ns = self.end_ns.max(at_ns);
        // When a trace ends, the length of the last idle period is unknown; when a run ends, it is
        // known.
        for cpu_state in self.cpu_states.iter_mut().filter(|_| self.is_closing) {
            if let Some(since_ns) = cpu_state.idles_since_ns.take() {
                cpu_state.idle_ns = cpu_state.idle_ns.saturating_add(at_ns - since_ns);
            }
        }
        if self.options.summary_only || self.options.with_summary {
            self.summary();
        }
    }
}
