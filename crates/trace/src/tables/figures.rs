//! Figures of tasks and groups, from tracepoints.

use super::{Cell, Rows};
use crate::tracepoint::{NewTask, Record, State, Tracepoint};

/// Collects the figures.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    paths: Vec<String>,
    tasks: Vec<Task>,
    groups: Vec<Group>,
    is_closing: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Stage {
    #[default]
    Unborn,
    Waiting,
    Running,
    Blocked,
    Ended,
}

#[derive(Clone, Debug, Default)]
struct Task {
    name: String,
    tgid: u32,
    parent: u32,
    group: u32,
    start_ns: Option<u64>,
    first_run_ns: Option<u64>,
    end_ns: Option<u64>,
    cpu_ns: u64,
    wait_ns: u64,
    wait_max_ns: u64,
    blocked_ns: u64,
    wakeups: u64,
    switches_in: u64,
    voluntary: u64,
    involuntary: u64,
    migrations: u64,
    stage: Stage,
    since_ns: u64,
    /// Beginning of the present wait. While the task runs: of the wait that continues if it runs
    /// for no time.
    waits_ns: u64,
    /// Beginning of its last slice.
    slice_ns: u64,
    /// Whether it has a CPU, whatever its stage.
    on_cpu: bool,
}

#[derive(Clone, Debug, Default)]
struct Group {
    cpu_ns: u64,
    wait_ns: u64,
    tasks: u64,
    wakeups: u64,
}

impl Figures {
    /// Creates figures for groups with these paths, by number.
    pub fn new(paths: Vec<String>) -> Figures {
        Figures {
            groups: vec![Group::default(); paths.len()],
            paths,
            tasks: Vec::new(),
            is_closing: false,
        }
    }

    /// Returns the name of `pid`.
    pub fn comm(&self, pid: u32) -> &str {
        self.tasks.get(pid as usize).map_or("", |task| &task.name)
    }

    fn slot(&mut self, pid: u32) -> &mut Task {
        if pid as usize >= self.tasks.len() {
            self.tasks.resize_with(pid as usize + 1, Task::default);
        }
        &mut self.tasks[pid as usize]
    }

    fn group_slot(&mut self, group: u32) -> &mut Group {
        if group as usize >= self.groups.len() {
            self.groups.resize_with(group as usize + 1, Group::default);
        }
        &mut self.groups[group as usize]
    }

    /// Accounts the time in the present stage of `pid`, and begins another stage.
    fn go_over(&mut self, at_ns: u64, pid: u32, stage: Stage) {
        let task = self.slot(pid);
        let passed_ns = at_ns.saturating_sub(task.since_ns);
        let (old, group) = (task.stage, task.group);
        match old {
            Stage::Running => task.cpu_ns += passed_ns,
            Stage::Waiting => {
                task.wait_ns += passed_ns;
                task.wait_max_ns = task.wait_max_ns.max(at_ns.saturating_sub(task.waits_ns));
            }
            Stage::Blocked => task.blocked_ns += passed_ns,
            Stage::Unborn | Stage::Ended => {}
        }
        task.since_ns = at_ns;
        // A slice of no length ends no wait.
        let ran = old == Stage::Running && task.slice_ns < at_ns;
        if stage == Stage::Waiting && (ran || !matches!(old, Stage::Waiting | Stage::Running)) {
            task.waits_ns = at_ns;
        }
        task.stage = stage;
        let group = self.group_slot(group);
        match old {
            Stage::Running => group.cpu_ns += passed_ns,
            Stage::Waiting => group.wait_ns += passed_ns,
            _ => {}
        }
    }

    /// Registers a task.
    pub fn task(&mut self, _at_ns: u64, new: &NewTask<'_>) {
        let task = self.slot(new.pid);
        task.name = new.name.into();
        (task.tgid, task.parent, task.group) = (new.tgid, new.parent, new.group);
        self.group_slot(new.group).tasks += 1;
    }

    /// Moves `pid` to another group.
    pub fn group(&mut self, at_ns: u64, pid: u32, group: u32) {
        let stage = self.slot(pid).stage;
        self.go_over(at_ns, pid, stage);
        let task = self.slot(pid);
        if std::mem::replace(&mut task.group, group) != group {
            self.group_slot(group).tasks += 1;
        }
    }

    /// Takes a record.
    pub fn record(&mut self, record: &Record<'_>) {
        let at_ns = record.at_ns;
        let counts = u64::from(!self.is_closing);
        match record.tracepoint {
            Tracepoint::Switch { prev, prev_state, next } => {
                if prev.pid != 0 {
                    let task = self.slot(prev.pid);
                    task.on_cpu = false;
                    let stage = match prev_state {
                        State::Runnable | State::Preempted => Stage::Waiting,
                        state if state.is_gone() => Stage::Ended,
                        _ => Stage::Blocked,
                    };
                    if prev_state.is_runnable() {
                        task.involuntary += counts;
                    } else {
                        task.voluntary += 1;
                    }
                    self.go_over(at_ns, prev.pid, stage);
                }
                if next.pid != 0 {
                    self.go_over(at_ns, next.pid, Stage::Running);
                    let task = self.slot(next.pid);
                    task.on_cpu = true;
                    task.switches_in += 1;
                    task.slice_ns = at_ns;
                    task.first_run_ns.get_or_insert(at_ns);
                }
            }
            Tracepoint::Wakeup { task, .. } => {
                let row = self.slot(task.pid);
                row.wakeups += 1;
                (row.waits_ns, row.slice_ns) = (at_ns, at_ns);
                let (group, on_cpu) = (row.group, row.on_cpu);
                self.group_slot(group).wakeups += 1;
                let stage = if on_cpu { Stage::Running } else { Stage::Waiting };
                self.go_over(at_ns, task.pid, stage);
            }
            Tracepoint::WakeupNew { task, .. } => {
                self.slot(task.pid).start_ns.get_or_insert(at_ns);
                self.go_over(at_ns, task.pid, Stage::Waiting);
            }
            Tracepoint::Migrate { task, .. } => self.slot(task.pid).migrations += 1,
            Tracepoint::Exit { task } => {
                let on_cpu = self.slot(task.pid).on_cpu;
                self.slot(task.pid).end_ns = Some(at_ns);
                if !on_cpu {
                    self.go_over(at_ns, task.pid, Stage::Ended);
                }
            }
            Tracepoint::Waking { .. }
            | Tracepoint::Fork { .. }
            | Tracepoint::Exec { .. }
            | Tracepoint::Runtime { .. } => {}
        }
    }

    /// Stops counting switches.
    pub fn closing(&mut self) {
        self.is_closing = true;
    }

    /// Accounts the time until the end.
    pub fn finish(&mut self, at_ns: u64) {
        for pid in 0..self.tasks.len() as u32 {
            let stage = self.slot(pid).stage;
            self.go_over(at_ns, pid, stage);
        }
    }

    /// Writes the figures.
    pub fn write(&self, tasks: &mut dyn Rows, groups: &mut dyn Rows) {
        let path = |group: u32| self.paths.get(group as usize).map_or("", |path| path.as_str());
        for (pid, task) in self.tasks.iter().enumerate() {
            if task.start_ns.is_none() {
                continue;
            }
            tasks.row(&[
                Cell::from(pid as u64),
                task.tgid.into(),
                task.parent.into(),
                Cell::Text(&task.name),
                Cell::Text(path(task.group)),
                task.start_ns.into(),
                task.first_run_ns.into(),
                task.end_ns.into(),
                task.cpu_ns.into(),
                task.wait_ns.into(),
                task.wait_max_ns.into(),
                task.blocked_ns.into(),
                task.wakeups.into(),
                task.switches_in.into(),
                task.voluntary.into(),
                task.involuntary.into(),
                task.migrations.into(),
            ]);
        }
        for (number, group) in self.groups.iter().enumerate() {
            groups.row(&[
                Cell::Text(path(number as u32)),
                group.cpu_ns.into(),
                group.wait_ns.into(),
                group.tasks.into(),
                group.wakeups.into(),
            ]);
        }
    }
}
