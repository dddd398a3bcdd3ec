//! Builds a [`Trace`] from tracepoints: which task ran where and when, and why it stopped.
//! [`TraceBuilder`] is a [`Sink`] that processes the events once, in the order of time.
//!
//! Real traces lose events without reporting it. A *gap* on a CPU is an event whose current task is
//! not the task of the last switch. The time in between is divided in halves between the two.

use crate::trace::{Act, ActKind, BEFORE, Origin, Sleep, Slice, Task, Trace};
use schedlab_trace::tracepoint::{Context, NewTask, Record, Sink, State, TaskRef, Tracepoint};
use std::collections::HashMap;

/// Longest time between the two halves of a wakeup that came before the sleep, ns. A wakeup whose
/// second half comes later does not count.
const LATE_WAKEUP_NS: u64 = 200_000;

/// Number of bytes of a task's name that the kernel keeps.
const COMM_MAX: usize = 15;

/// State of a task, to the extent that the trace shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Forked, and not in a queue yet.
    Unborn,
    Running {
        cpu: u32,
        since_ns: u64,
    },
    Runnable,
    /// Last seen on a CPU at this time: preempted since, or asleep.
    Lost {
        since_ns: u64,
    },
    Asleep,
    Dead,
}

/// Wakeup of a task that was still running.
#[derive(Clone, Copy, Debug)]
struct EarlyWakeup {
    at_ns: u64,
    token: u32,
    waker: u32,
    context: Context,
    cpu: u32,
    /// Whether the task went to sleep after it.
    slept: bool,
}

/// State of a task apart from its history.
#[derive(Clone, Debug)]
struct TaskState {
    now: Phase,
    /// Whether a burst of the task is open.
    is_open: bool,
    /// CPU time of the last burst, ns.
    done_ns: u64,
    /// End of the last burst, or the point that it has reached, ns.
    end_ns: u64,
    /// Beginning of the last sleep, ns.
    slept_ns: u64,
    prio: Option<i32>,
    early: Option<EarlyWakeup>,
    /// Priority that was seen while the task had no burst.
    new_prio: Option<i32>,
}

/// State of a CPU.
#[derive(Clone, Copy, Debug, Default)]
struct CpuState {
    /// Number of the current task. `None`: not known yet.
    current: Option<u32>,
    /// Time at which the current task was last confirmed, ns.
    since_ns: u64,
    /// Whether an event of this CPU has been seen.
    is_seen: bool,
}

/// Builds a [`Trace`] from tracepoints.
#[derive(Debug, Default)]
pub struct TraceBuilder {
    trace: Trace,
    states: Vec<TaskState>,
    /// Last task with each number.
    tasks: HashMap<u32, u32>,
    /// Parent of each task that was forked before the trace began, by number.
    parents: HashMap<u32, u32>,
    /// Process of each task whose process the source states, by number.
    processes: HashMap<u32, u32>,
    cpu_states: Vec<CpuState>,
    is_begun: bool,
    last_ns: u64,
}

impl TraceBuilder {
    /// Returns a builder without events.
    pub fn new() -> TraceBuilder {
        TraceBuilder::default()
    }

    /// Returns the trace, after the last event.
    pub fn into_trace(mut self) -> Trace {
        self.close();
        self.trace
    }

    fn task_of(&self, pid: u32) -> Option<u32> {
        self.tasks.get(&pid).copied()
    }

    /// Adds a task with this number.
    fn add(&mut self, task_ref: TaskRef<'_>, born_ns: u64, origin: Origin, now: Phase) -> u32 {
        let old = self.task_of(task_ref.pid);
        let incarnation = old.map_or(0, |old| self.trace.tasks[old as usize].incarnation + 1);
        if let Some(old) = old {
            self.replaced(old);
        }
        let task = self.trace.tasks.len() as u32;
        self.tasks.insert(task_ref.pid, task);
        self.trace.tasks.push(Task {
            pid: task_ref.pid,
            incarnation,
            name: task_ref.comm.into(),
            process: self.processes.get(&task_ref.pid).copied(),
            born_ns,
            origin,
            ..Task::default()
        });
        self.states.push(TaskState {
            now,
            is_open: false,
            done_ns: 0,
            end_ns: 0,
            slept_ns: 0,
            prio: None,
            early: None,
            new_prio: None,
        });
        task
    }

    /// Records that the number of `task` was reused: the task has ended at an unknown time.
    fn replaced(&mut self, task: u32) {
        match self.states[task as usize].now {
            Phase::Running { cpu, since_ns } => {
                self.slice(task, cpu, since_ns, self.last_ns);
                self.stop(task, self.last_ns, State::Dead);
            }
            Phase::Runnable | Phase::Lost { .. } => {
                let end_ns = self.states[task as usize].end_ns;
                self.stop(task, end_ns, State::Dead);
            }
            Phase::Unborn | Phase::Asleep | Phase::Dead => {}
        }
    }

    /// Opens a burst.
    fn open(&mut self, task: u32, wake_ns: u64, is_woken: bool) {
        self.trace.tasks[task as usize].history.open(wake_ns, is_woken);
        let state = &mut self.states[task as usize];
        state.is_open = true;
        (state.done_ns, state.end_ns) = (0, wake_ns);
        if let Some(prio) = state.new_prio.take() {
            self.act(task, 0, ActKind::Prio { prio });
        }
    }

    fn act(&mut self, task: u32, offset_ns: u64, what: ActKind) {
        self.trace.tasks[task as usize].history.act(Act { offset_ns, what });
    }

    /// Records an action of `task` at `at_ns` if it is running. Returns whether it is.
    fn does(&mut self, task: u32, at_ns: u64, what: ActKind) -> bool {
        let Phase::Running { since_ns, .. } = self.states[task as usize].now else { return false };
        let done_ns = self.states[task as usize].done_ns;
        self.act(task, done_ns + at_ns.saturating_sub(since_ns), what);
        true
    }

    /// Ends a slice of the burst.
    fn slice(&mut self, task: u32, cpu: u32, from_ns: u64, to_ns: u64) {
        let to_ns = to_ns.max(from_ns);
        self.trace.tasks[task as usize].history.slice(Slice { cpu, from_ns, to_ns });
        let own = &mut self.states[task as usize];
        own.done_ns += to_ns - from_ns;
        own.end_ns = to_ns;
    }

    /// Records that `task` runs on `cpu`.
    fn run(&mut self, task: u32, cpu: u32, from_ns: u64) {
        self.states[task as usize].now = Phase::Running { cpu, since_ns: from_ns };
    }

    /// Ends the current burst at `at_ns`. `task` sleeps from then on, or is dead.
    fn stop(&mut self, task: u32, at_ns: u64, state: State) {
        let own = &mut self.states[task as usize];
        own.is_open = false;
        own.now = if state.is_gone() { Phase::Dead } else { Phase::Asleep };
        (own.end_ns, own.slept_ns) = (at_ns, at_ns);
        let this = &mut self.trace.tasks[task as usize];
        this.history.stop(at_ns, state);
        this.exited |= state.is_gone();
        this.is_kernel |= state == State::Idle;
    }

    /// Ends the sleep of `task` at `at_ns` and opens its next burst.
    fn wake(&mut self, task: u32, at_ns: u64, waker: Option<u32>, context: Context, cpu: u32) {
        let count = self.trace.tasks[task as usize].history.len();
        let number = count.checked_sub(1).map_or(BEFORE, |at| at as u32);
        if number == BEFORE && self.trace.tasks[task as usize].before.is_none() {
            return;
        }
        let at_ns = at_ns.max(self.states[task as usize].slept_ns);
        self.trace.wakeups += 1;
        self.states[task as usize].now = Phase::Runnable;
        let waker =
            waker.filter(|&waker| self.does(waker, at_ns, ActKind::Wake { task, sleep: number }));
        let this = &mut self.trace.tasks[task as usize];
        match this.before.as_mut().filter(|_| number == BEFORE) {
            Some(before) => {
                before.wake_ns = Some(at_ns);
                (before.waker, before.context, before.cpu) = (waker, context, cpu);
            }
            None => this.history.woken(waker, context, cpu),
        }
        self.open(task, at_ns, true);
    }

    /// Records that `task` is on `cpu` for a reason that the trace does not show: since `at_ns` at
    /// the earliest and since `middle_ns` at the latest.
    fn appears(&mut self, task_ref: TaskRef<'_>, cpu: u32, middle_ns: u64, at_ns: u64) {
        let Some(task) = self.task_of(task_ref.pid) else {
            let task = self.add(task_ref, middle_ns, Origin::Gap, Phase::Runnable);
            self.open(task, middle_ns, false);
            self.run(task, cpu, middle_ns);
            return;
        };
        match self.states[task as usize].now {
            Phase::Runnable => {
                let from_ns = middle_ns.max(self.states[task as usize].end_ns);
                self.run(task, cpu, from_ns);
            }
            Phase::Lost { since_ns } => self.run(task, cpu, middle_ns.max(since_ns)),
            Phase::Asleep => {
                let from_ns = middle_ns.max(self.states[task as usize].slept_ns);
                self.wake(task, from_ns, None, Context::Unknown, cpu);
                self.run(task, cpu, from_ns);
            }
            Phase::Unborn => {
                let from_ns = middle_ns.max(self.trace.tasks[task as usize].born_ns);
                self.born(task, from_ns);
                self.run(task, cpu, from_ns);
            }
            Phase::Dead => {
                let task = self.add(task_ref, at_ns, Origin::Gap, Phase::Runnable);
                self.open(task, at_ns, false);
                self.run(task, cpu, at_ns);
            }
            Phase::Running { cpu: old, since_ns } => {
                let from_ns = middle_ns.max(since_ns);
                self.slice(task, old, since_ns, from_ns);
                self.run(task, cpu, from_ns);
            }
        }
    }

    /// Records that a forked task is enqueued.
    fn born(&mut self, task: u32, at_ns: u64) {
        self.states[task as usize].now = Phase::Runnable;
        self.trace.tasks[task as usize].born_ns = at_ns;
        let parent = self.trace.tasks[task as usize].forked_by;
        let known =
            parent.is_some_and(|parent| self.does(parent as u32, at_ns, ActKind::Fork { task }));
        self.trace.tasks[task as usize].origin = if known { Origin::Forked } else { Origin::Born };
        self.open(task, at_ns, true);
    }

    /// Checks that `task_ref` is the current task of `cpu` at `at_ns`.
    fn check_current(&mut self, at_ns: u64, cpu: u32, task_ref: TaskRef<'_>) {
        let cpu_state = self.cpu_states[cpu as usize];
        let known = self.task_of(task_ref.pid);
        if !cpu_state.is_seen {
            // The task has run since the beginning, unless it was seen elsewhere.
            self.cpu_states[cpu as usize] =
                CpuState { current: Some(task_ref.pid), since_ns: at_ns, is_seen: true };
            match known {
                _ if task_ref.pid == 0 => self.trace.idle_ns += at_ns,
                None => {
                    let task = self.add(task_ref, 0, Origin::Before, Phase::Runnable);
                    self.open(task, 0, false);
                    self.run(task, cpu, 0);
                }
                Some(task) if self.runs_on(task, cpu) => {}
                // It moved here before this CPU had an event.
                Some(_) => self.appears(task_ref, cpu, at_ns / 2, at_ns),
            }
            return;
        }
        let Some(believed) = cpu_state.current.filter(|&believed| believed != task_ref.pid) else {
            return;
        };
        let last_ns = cpu_state.since_ns;
        let middle_ns = last_ns + (at_ns - last_ns) / 2;
        self.gap(last_ns, at_ns);
        match self.task_of(believed) {
            _ if believed == 0 => self.trace.idle_ns += middle_ns - last_ns,
            Some(task) if self.runs_on(task, cpu) => {
                if let Phase::Running { since_ns, .. } = self.states[task as usize].now {
                    let end_ns = middle_ns.max(since_ns);
                    self.slice(task, cpu, since_ns, end_ns);
                    self.states[task as usize].now = Phase::Lost { since_ns: end_ns };
                }
            }
            _ => {}
        }
        if task_ref.pid == 0 {
            self.trace.idle_ns += at_ns - middle_ns;
        } else {
            self.appears(task_ref, cpu, middle_ns, at_ns);
        }
        self.cpu_states[cpu as usize].current = Some(task_ref.pid);
        self.cpu_states[cpu as usize].since_ns = at_ns;
    }

    fn runs_on(&self, task: u32, cpu: u32) -> bool {
        matches!(self.states[task as usize].now, Phase::Running { cpu: own, .. } if own == cpu)
    }

    fn gap(&mut self, from_ns: u64, to_ns: u64) {
        self.trace.gaps += 1;
        self.trace.gap_ns += to_ns - from_ns;
    }

    /// Records a priority of a task.
    fn prio(&mut self, task: u32, at_ns: u64, prio: i32) {
        let own = &mut self.states[task as usize];
        if own.prio == Some(prio) {
            return;
        }
        if own.prio.replace(prio).is_none() {
            self.trace.tasks[task as usize].prio = Some(prio);
        } else if !own.is_open {
            own.new_prio = Some(prio);
        } else if !self.does(task, at_ns, ActKind::Prio { prio }) {
            let done_ns = self.states[task as usize].done_ns;
            self.act(task, done_ns, ActKind::Prio { prio });
        }
    }

    fn named(&mut self, task: u32, name: &str) {
        let own = &mut self.trace.tasks[task as usize].name;
        if own != name && name != "<...>" {
            own.clear();
            own.push_str(name);
        }
    }

    fn switch(
        &mut self,
        at_ns: u64,
        cpu: u32,
        prev: TaskRef<'_>,
        prev_state: State,
        next: TaskRef<'_>,
    ) {
        self.trace.switches += 1;
        if prev.pid == 0 {
            let since_ns = self.cpu_states[cpu as usize].since_ns;
            self.trace.idle_ns += at_ns - since_ns;
        } else if let Some(task) = self.task_of(prev.pid) {
            self.named(task, prev.comm);
            self.prio(task, at_ns, prev.prio);
            self.leaves(task, at_ns, prev_state);
        }
        self.cpu_states[cpu as usize].current = Some(next.pid);
        self.cpu_states[cpu as usize].since_ns = at_ns;
        if next.pid == 0 {
            return;
        }
        let task = match self.task_of(next.pid) {
            // It has been runnable since before the trace.
            None => {
                let task = self.add(next, 0, Origin::Before, Phase::Runnable);
                self.open(task, 0, false);
                task
            }
            Some(task) => match self.states[task as usize].now {
                Phase::Runnable | Phase::Lost { .. } => task,
                Phase::Asleep => {
                    self.trace.unseen += 1;
                    self.wake(task, at_ns, None, Context::Unknown, cpu);
                    task
                }
                Phase::Unborn => {
                    self.born(task, at_ns);
                    task
                }
                Phase::Dead => {
                    let task = self.add(next, at_ns, Origin::Gap, Phase::Runnable);
                    self.open(task, at_ns, false);
                    task
                }
                Phase::Running { cpu: old, since_ns } => {
                    self.slice(task, old, since_ns, at_ns);
                    task
                }
            },
        };
        self.named(task, next.comm);
        self.prio(task, at_ns, next.prio);
        self.run(task, cpu, at_ns);
    }

    /// Records that `task` leaves its CPU.
    fn leaves(&mut self, task: u32, at_ns: u64, state: State) {
        let Phase::Running { cpu, since_ns } = self.states[task as usize].now else { return };
        self.slice(task, cpu, since_ns, at_ns);
        let early = self.states[task as usize].early.take();
        if state.is_runnable() {
            self.states[task as usize].now = Phase::Runnable;
            if let Some(early) = early {
                // It was about to wait, and did not have to.
                let done_ns = self.states[task as usize].done_ns;
                self.trace.tokens[early.token as usize] = true;
                self.act(task, done_ns, ActKind::Wait { token: early.token });
            }
            return;
        }
        self.stop(task, at_ns, state);
        if !state.is_gone() {
            self.states[task as usize].early =
                early.map(|early| EarlyWakeup { slept: true, ..early });
        }
    }

    /// Records a wakeup of `task_ref` on `cpu`, where `current` runs. `is_waking`: this is the
    /// first half of the wakeup.
    fn woken(&mut self, record: &Record<'_>, task_ref: TaskRef<'_>, is_waking: bool) {
        let &Record { at_ns, cpu, current, context, .. } = record;
        if task_ref.pid == 0 {
            return;
        }
        let Some(task) = self.task_of(task_ref.pid) else {
            let task = self.add(task_ref, 0, Origin::Before, Phase::Asleep);
            self.prio(task, at_ns, task_ref.prio);
            self.trace.tasks[task as usize].before = Some(Sleep {
                at_ns: 0,
                wake_ns: None,
                waker: None,
                context,
                cpu,
                last_cpu: None,
                state: State::Interruptible,
                kind: crate::trace::SleepKind::End,
            });
            self.wake(task, at_ns, self.waker(current), context, cpu);
            return;
        };
        if let Phase::Lost { since_ns } = self.states[task as usize].now {
            self.stop(task, since_ns, State::Interruptible);
        }
        match self.states[task as usize].now {
            Phase::Asleep => {
                self.prio(task, at_ns, task_ref.prio);
                let slept_ns = self.states[task as usize].slept_ns;
                let early = self.states[task as usize].early.take().filter(|early| {
                    early.slept && !is_waking && at_ns - slept_ns <= LATE_WAKEUP_NS
                });
                match early {
                    // The action belongs to the beginning of the wakeup.
                    Some(early) => self.woken_early(task, at_ns, early),
                    None => self.wake(task, at_ns, self.waker(current), context, cpu),
                }
            }
            Phase::Running { .. } => {
                let Some(waker) = self.waker(current).filter(|&waker| waker != task) else {
                    return;
                };
                let by_task = matches!(context, Context::Task | Context::Unknown);
                if !by_task || !is_waking && self.states[task as usize].early.is_some() {
                    return;
                }
                let token = self.trace.tokens.len() as u32;
                if self.does(waker, at_ns, ActKind::Post { token }) {
                    self.trace.tokens.push(false);
                    let slept = false;
                    self.states[task as usize].early =
                        Some(EarlyWakeup { at_ns, token, waker, context, cpu, slept });
                }
            }
            Phase::Dead => {
                let task = self.add(task_ref, at_ns, Origin::Gap, Phase::Runnable);
                self.open(task, at_ns, true);
                self.prio(task, at_ns, task_ref.prio);
            }
            Phase::Runnable | Phase::Unborn | Phase::Lost { .. } => {}
        }
    }

    /// Records the second half of a wakeup whose first half came before the sleep.
    fn woken_early(&mut self, task: u32, at_ns: u64, early: EarlyWakeup) {
        self.wake(task, at_ns, None, early.context, early.cpu);
        let history = &mut self.trace.tasks[task as usize].history;
        // The burst that begins with the wakeup is the last one.
        let number = history.len().saturating_sub(2) as u32;
        history.set_waker(early.waker);
        debug_assert!(early.at_ns <= at_ns);
        // The action recorded as a post by the waker was this wakeup.
        let posted = ActKind::Post { token: early.token };
        let history = &mut self.trace.tasks[early.waker as usize].history;
        history.replace_act(posted, ActKind::Wake { task, sleep: number });
    }

    /// Returns the current task at the place of an event.
    fn waker(&self, current: TaskRef<'_>) -> Option<u32> {
        let task = self.task_of(current.pid).filter(|_| current.pid != 0)?;
        matches!(self.states[task as usize].now, Phase::Running { .. }).then_some(task)
    }

    fn forked(&mut self, at_ns: u64, parent: TaskRef<'_>, child: TaskRef<'_>) {
        let forked_by = self.task_of(parent.pid);
        let task = self.add(child, at_ns, Origin::Born, Phase::Unborn);
        self.trace.tasks[task as usize].forked_by = forked_by.map(|parent| parent as usize);
    }

    fn wakeup_new(&mut self, at_ns: u64, task_ref: TaskRef<'_>) {
        let task = match self.task_of(task_ref.pid) {
            Some(task) if self.states[task as usize].now == Phase::Unborn => task,
            _ => self.add(task_ref, at_ns, Origin::Born, Phase::Unborn),
        };
        self.prio(task, at_ns, task_ref.prio);
        self.born(task, at_ns);
    }

    /// Finds the parents of tasks that existed before the trace. A parent without its own event is
    /// not in the trace.
    fn find_parents(&mut self) {
        let was_before = |task: &Task| {
            task.incarnation == 0 && matches!(task.origin, Origin::Before | Origin::Gap)
        };
        let all = self.trace.tasks.iter().enumerate().filter(|(_, task)| was_before(task));
        let by_pid: HashMap<u32, usize> = all.map(|(at, task)| (task.pid, at)).collect();
        for task in self.trace.tasks.iter_mut().filter(|task| was_before(task)) {
            let parent = self.parents.get(&task.pid).and_then(|parent| by_pid.get(parent));
            task.forked_by = task.forked_by.or(parent.copied());
        }
    }

    fn close(&mut self) {
        self.find_parents();
        let end_ns = self.last_ns;
        self.trace.span_ns = end_ns;
        for task in 0..self.trace.tasks.len() as u32 {
            match self.states[task as usize].now {
                Phase::Running { cpu, since_ns } => self.slice(task, cpu, since_ns, end_ns),
                Phase::Lost { since_ns } => self.stop(task, since_ns, State::Interruptible),
                _ => {}
            }
            let is_open = self.states[task as usize].is_open;
            let this = &mut self.trace.tasks[task as usize];
            if is_open {
                this.history.cut(end_ns);
            }
            this.history.shrink();
            this.is_kernel |= is_kernel_name(&this.name);
        }
        for cpu_state in &self.cpu_states {
            if cpu_state.current == Some(0) {
                self.trace.idle_ns += end_ns - cpu_state.since_ns.min(end_ns);
            }
        }
        self.trace.cpus = self.cpu_states.len().max(1) as u32;
    }
}

/// Whether `name` is a name of the kernel's own threads.
pub fn is_kernel_name(name: &str) -> bool {
    const BEGINNINGS: [&str; 18] = [
        "kworker/",
        "ksoftirqd/",
        "rcu_",
        "migration/",
        "cpuhp/",
        "irq/",
        "jbd2/",
        "watchdog/",
        "idle_inject/",
        "kthread",
        "kcompactd",
        "kswapd",
        "khugepaged",
        "scsi_",
        "nvme",
        "napi/",
        "rcuo",
        "rcub/",
    ];
    const NAMES: [&str; 10] = [
        "kauditd",
        "kdevtmpfs",
        "oom_reaper",
        "writeback",
        "ksmd",
        "khungtaskd",
        "watchdogd",
        "kintegrityd",
        "kblockd",
        "ksoftirqd",
    ];
    BEGINNINGS.iter().any(|it| name.starts_with(it)) || NAMES.contains(&name)
}

impl Sink for TraceBuilder {
    fn task(&mut self, _at_ns: u64, task: &NewTask<'_>) {
        if task.parent != 0 && !self.tasks.contains_key(&task.pid) {
            self.parents.insert(task.pid, task.parent);
        }
        if task.tgid != 0 {
            self.processes.insert(task.pid, task.tgid);
        }
    }

    fn record(&mut self, record: &Record<'_>) {
        if !std::mem::replace(&mut self.is_begun, true) {
            self.trace.origin_ns = record.at_ns;
            self.last_ns = 0;
        }
        // A source that delivers events out of order does not move time backwards.
        let at_ns = record.at_ns.saturating_sub(self.trace.origin_ns).max(self.last_ns);
        let record = &Record { at_ns, ..*record };
        self.last_ns = at_ns;
        self.trace.events += 1;
        let &Record { cpu, current, context, ref tracepoint, .. } = record;
        self.trace.has_contexts |= context != Context::Unknown;
        if cpu as usize >= self.cpu_states.len() {
            self.cpu_states.resize(cpu as usize + 1, CpuState::default());
        }
        match *tracepoint {
            Tracepoint::Switch { prev, .. } => self.check_current(at_ns, cpu, prev),
            _ => self.check_current(at_ns, cpu, current),
        }
        match *tracepoint {
            Tracepoint::Switch { prev, prev_state, next } => {
                self.switch(at_ns, cpu, prev, prev_state, next);
            }
            Tracepoint::Waking { task, .. } => {
                self.trace.form[0] = true;
                self.woken(record, task, true);
            }
            Tracepoint::Wakeup { task, .. } => {
                self.trace.form[1] = true;
                self.woken(record, task, false);
            }
            Tracepoint::WakeupNew { task, .. } => self.wakeup_new(at_ns, task),
            Tracepoint::Fork { parent, child } => self.forked(at_ns, parent, child),
            Tracepoint::Exec { filename, pid } => {
                if let Some(task) = self.task_of(pid) {
                    let base = filename.rsplit('/').next().unwrap_or(filename);
                    let mut end = base.len().min(COMM_MAX);
                    while !base.is_char_boundary(end) {
                        end -= 1;
                    }
                    self.named(task, &base[..end]);
                    self.does(task, at_ns, ActKind::Exec);
                }
            }
            Tracepoint::Migrate { .. } | Tracepoint::Exit { .. } | Tracepoint::Runtime { .. } => {}
        }
    }
}
