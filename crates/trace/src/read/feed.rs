//! Stage between the readers of the formats and the sink: [`Feed`] sorts events by time within a
//! bounded window, remembers the names of tasks, and checks the chain of switches.

use super::TraceHeader;
use super::names::{Name, Names};
use super::problems::{Place, Problems, Trouble};
use super::states::{StateNumbers, SwitchState};
use crate::tracepoint::{Context, NewTask, Record, Sink, State, TaskRef, Tracepoint};

/// Number of CPUs that are accepted.
pub(crate) const CPUS_MAX: u32 = 4096;

/// Largest task number of the kernel.
pub(crate) const PID_MAX: u32 = 1 << 22;

/// Number of events by which an event may be behind a later one.
pub(crate) const WINDOW: usize = 1 << 20;

/// Length of a silence that counts as a jump of the clock, ns.
const JUMP_NS: u64 = 10_000_000_000;

/// Number of kinds of ignored events that are counted by name.
const OTHERS_MAX: usize = 500;

/// Task in an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Task {
    pub name: Name,
    pub pid: u32,
    pub prio: i32,
}

/// Contents of an event: [`Tracepoint`] with numbers instead of names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EventKind {
    Switch {
        prev: Task,
        state: SwitchState,
        next: Task,
    },
    /// Switch whose previous task is the next task of the last switch.
    SwitchTo {
        state: SwitchState,
        next: Task,
    },
    /// Wakeup. The CPU of a wakeup is `None` if it is unknown.
    Waking {
        task: Task,
        cpu: Option<u32>,
    },
    Wakeup {
        task: Task,
        cpu: Option<u32>,
    },
    WakeupNew {
        task: Task,
        cpu: Option<u32>,
    },
    Migrate {
        task: Task,
        from: u32,
        to: u32,
    },
    Fork {
        parent: Task,
        child: Task,
    },
    Exec {
        filename: Name,
        pid: u32,
    },
    Exit {
        task: Task,
    },
    Runtime {
        task: Task,
        ns: u64,
    },
    /// Loss of this number of events (0: unknown) on this CPU (`u32::MAX`: some CPU).
    Lost {
        events: u64,
        cpu: u32,
    },
}

/// Current task, as recorded in the event itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Current {
    /// `None`: unknown.
    pub pid: Option<u32>,
    pub name: Name,
}

impl Current {
    pub const UNKNOWN: Current = Current { pid: None, name: Names::UNKNOWN };
}

/// Event on its way to the sink.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FeedEvent {
    pub at_ns: u64,
    pub cpu: u32,
    pub context: Context,
    pub current: Current,
    pub what: EventKind,
}

/// Known properties of a task.
#[derive(Clone, Copy, Debug, Default)]
struct KnownTask {
    /// Number of its name plus one.
    name: u32,
    /// Its process plus one.
    tgid: u32,
    parent: u32,
    /// Priority at its last mention.
    prio: i32,
    is_announced: bool,
}

/// Takes events in the order of the file and delivers them in the order of time.
pub(crate) struct Feed<'s> {
    sink: &'s mut dyn Sink,
    pub names: Names,
    pub problems: Problems,
    pub header: TraceHeader,
    pub states: StateNumbers,
    window: Vec<FeedEvent>,
    /// Number of events at the beginning of the window that are in order.
    is_sorted: bool,
    latest_ns: u64,
    /// Whether the file is expected to be in order.
    pub is_ordered: bool,
    given_ns: u64,
    has_given: bool,
    size: usize,
    tasks: Vec<KnownTask>,
    /// Task that is assumed to run on each CPU.
    running: Vec<Option<u32>>,
}

impl<'s> Feed<'s> {
    pub fn new(sink: &'s mut dyn Sink, size: usize) -> Feed<'s> {
        Feed {
            sink,
            names: Names::new(),
            problems: Problems::default(),
            header: TraceHeader::default(),
            states: StateNumbers::default(),
            window: vec![],
            is_sorted: true,
            latest_ns: 0,
            is_ordered: false,
            given_ns: 0,
            has_given: false,
            size,
            tasks: vec![],
            running: vec![],
        }
    }

    /// Registers a task. Returns `None` if a kernel would not assign its number.
    pub fn task(&mut self, comm: &[u8], pid: u32, prio: i32) -> Task {
        let name = if pid == 0 { Names::IDLE } else { self.names.number(comm) };
        Task { name, pid, prio }
    }

    /// Counts an ignored event by its name.
    pub fn other(&mut self, event: &str) {
        let others = &mut self.header.others;
        if let Some(count) = others.get_mut(event) {
            *count += 1;
        } else if others.len() < OTHERS_MAX {
            others.insert(event.chars().take(80).collect(), 1);
        }
    }

    /// Records the process of a task.
    pub fn process(&mut self, pid: u32, tgid: u32) {
        if pid != 0 && pid <= PID_MAX && tgid != 0 && tgid <= PID_MAX {
            self.known(pid).tgid = tgid + 1;
        }
    }

    /// Records the parent of a task that existed before the recording.
    pub fn parent(&mut self, pid: u32, parent: u32) {
        if pid != 0 && pid <= PID_MAX && parent <= PID_MAX && parent != pid {
            let known = self.known(pid);
            if !known.is_announced {
                known.parent = parent;
            }
        }
    }

    /// Records the name of a task outside an event.
    pub fn named(&mut self, pid: u32, name: Name) {
        if pid != 0 && pid <= PID_MAX && name != Names::UNKNOWN {
            self.known(pid).name = name + 1;
        }
    }

    fn known(&mut self, pid: u32) -> &mut KnownTask {
        let index = pid as usize;
        if index >= self.tasks.len() {
            self.tasks.resize(index + 1, KnownTask::default());
        }
        &mut self.tasks[index]
    }

    /// Takes an event.
    pub fn push(&mut self, entry: FeedEvent) {
        if self.has_given && entry.at_ns < self.given_ns {
            self.problems.note(Trouble::Late, 1, Place::Time(entry.at_ns, entry.cpu), String::new);
            return;
        }
        if entry.at_ns < self.latest_ns {
            self.is_sorted = false;
            // Binary formats store the events of each CPU separately.
            let count = u64::from(self.is_ordered);
            self.problems.note(
                Trouble::Unordered,
                count,
                Place::Time(entry.at_ns, entry.cpu),
                String::new,
            );
        } else {
            self.latest_ns = entry.at_ns;
        }
        self.window.push(entry);
        if self.window.len() >= 2 * self.size {
            self.give(self.size);
        }
    }

    /// Delivers all events except the last `keep`.
    fn give(&mut self, keep: usize) {
        let mut window = std::mem::take(&mut self.window);
        if !self.is_sorted {
            window.sort_by_key(|entry| entry.at_ns);
            self.is_sorted = true;
        }
        let count = window.len() - keep;
        for entry in &window[..count] {
            self.deliver(entry);
        }
        window.drain(..count);
        self.window = window;
    }

    /// Delivers the rest. Returns the header and the problems.
    pub fn finish(mut self) -> (TraceHeader, Problems) {
        self.give(0);
        self.problems.note(Trouble::Names, self.names.refused(), Place::Whole, String::new);
        self.sink.finish(self.header.end_ns);
        (self.header, self.problems)
    }

    fn running_on(&mut self, cpu: u32) -> &mut Option<u32> {
        let index = cpu.min(CPUS_MAX - 1) as usize;
        if index >= self.running.len() {
            self.running.resize(index + 1, None);
        }
        self.header.cpus = self.header.cpus.max(index as u32 + 1);
        &mut self.running[index]
    }

    /// Records that a task is mentioned.
    fn mention(&mut self, at_ns: u64, task: Task) {
        if task.pid == 0 {
            return;
        }
        let known = self.known(task.pid);
        let name = task.name;
        if name != Names::UNKNOWN {
            known.name = name + 1;
        }
        known.prio = task.prio;
        if std::mem::replace(&mut known.is_announced, true) {
            return;
        }
        let &mut KnownTask { tgid, parent, .. } = known;
        let tgid = if tgid == 0 { task.pid } else { tgid - 1 };
        self.header.tasks += 1;
        let name = self.names.text(name);
        self.sink.task(at_ns, &NewTask { pid: task.pid, tgid, parent, name, group: 0 });
    }

    fn deliver(&mut self, entry: &FeedEvent) {
        let &FeedEvent { at_ns, cpu, context, current, what } = entry;
        if let EventKind::Lost { events, cpu } = what {
            if cpu < CPUS_MAX {
                *self.running_on(cpu) = None;
            }
            let cpu = Some(cpu).filter(|&cpu| cpu < CPUS_MAX);
            self.sink.lost(at_ns, cpu, Some(events).filter(|&events| events > 0));
            return;
        }
        if !std::mem::replace(&mut self.has_given, true) {
            self.header.begin_ns = at_ns;
        } else if at_ns - self.given_ns >= JUMP_NS {
            let seconds = (at_ns - self.given_ns) / 1_000_000_000;
            self.problems.note(Trouble::Jump, 1, Place::Time(at_ns, cpu), || {
                format!("{seconds} s after the event before it")
            });
        }
        self.given_ns = at_ns;
        self.header.end_ns = at_ns;
        self.header.events += 1;
        let expected = *self.running_on(cpu);
        let what = match what {
            EventKind::SwitchTo { state, next } => {
                // Only where the chain begins: the task that ran is unknown.
                let Some(pid) = expected else {
                    *self.running_on(cpu) = Some(next.pid);
                    self.mention(at_ns, next);
                    self.header.events -= 1;
                    return;
                };
                let &mut KnownTask { name, prio, .. } = self.known(pid);
                let (name, prio) = match pid {
                    0 => (Names::IDLE, 120),
                    _ => (name.checked_sub(1).unwrap_or(Names::UNKNOWN), prio),
                };
                EventKind::Switch { prev: Task { name, pid, prio }, state, next }
            }
            what => what,
        };
        if matches!(what, EventKind::Switch { prev, next, .. } if prev.pid == 0 && next.pid == 0) {
            // Writers begin the history of a CPU with idle time.
            *self.running_on(cpu) = Some(0);
            self.header.events -= 1;
            return;
        }
        let pid = match what {
            EventKind::Switch { prev, .. } => Some(prev.pid),
            _ => current.pid,
        };
        if let (Some(expected), Some(pid)) = (expected, pid)
            && expected != pid
        {
            self.problems.note(Trouble::Gap, 1, Place::Time(at_ns, cpu), || {
                format!("task {expected} should be running, but task {pid} is")
            });
        }
        match what {
            EventKind::Switch { prev, next, .. } => {
                self.mention(at_ns, prev);
                self.mention(at_ns, next);
                self.header.switches += 1;
            }
            EventKind::Waking { task, cpu }
            | EventKind::Wakeup { task, cpu }
            | EventKind::WakeupNew { task, cpu } => {
                self.mention(at_ns, task);
                if let Some(cpu) = cpu {
                    self.running_on(cpu);
                }
                self.header.wakeups += u64::from(!matches!(what, EventKind::WakeupNew { .. }));
            }
            EventKind::Migrate { task, from, to } => {
                self.mention(at_ns, task);
                self.running_on(from.max(to));
            }
            EventKind::Fork { parent, child } => {
                let prio = self.known(parent.pid).prio;
                self.mention(at_ns, Task { prio, ..parent });
                let known = self.known(child.pid);
                // A number that is used again is another task.
                let tgid = known.tgid;
                *known = KnownTask { parent: parent.pid, tgid, ..KnownTask::default() };
                self.mention(at_ns, child);
            }
            EventKind::Exit { task } => self.mention(at_ns, task),
            EventKind::Runtime { task, .. } => {
                // The event does not have the priority.
                let prio = self.known(task.pid).prio;
                self.mention(at_ns, Task { prio, ..task });
            }
            EventKind::Exec { .. } | EventKind::Lost { .. } | EventKind::SwitchTo { .. } => {}
        }
        let prev_state = match what {
            EventKind::Switch { state: SwitchState::Known(state), .. } => state,
            EventKind::Switch { state: SwitchState::Number(number), .. } => {
                if self.states.is_assumed() {
                    let place = Place::Time(at_ns, cpu);
                    let detail = || self.states.assumption(number);
                    self.problems.note(Trouble::States, 1, place, detail);
                }
                self.states.resolve(number)
            }
            _ => State::Runnable,
        };
        let running = match (what, pid) {
            (EventKind::Switch { next, .. }, _) => Some(next.pid),
            (_, Some(pid)) => Some(pid),
            (_, None) => expected,
        };
        *self.running_on(cpu) = running;
        // The current task is taken from the event, or from the preceding switches.
        let pid = pid.or(expected).unwrap_or(0);
        // The name at the head of a line was looked up when the file was read, possibly after the
        // task was renamed.
        let name = match self.tasks.get(pid as usize).map_or(0, |known| known.name) {
            _ if pid == 0 => Names::IDLE,
            0 => current.name,
            name => name - 1,
        };
        let names = &self.names;
        let task_ref =
            |task: Task| TaskRef { comm: names.text(task.name), pid: task.pid, prio: task.prio };
        let tracepoint = match what {
            EventKind::Switch { prev, next, .. } => {
                Tracepoint::Switch { prev: task_ref(prev), prev_state, next: task_ref(next) }
            }
            EventKind::Waking { task, cpu } => {
                Tracepoint::Waking { task: task_ref(task), target_cpu: cpu }
            }
            EventKind::Wakeup { task, cpu } => {
                Tracepoint::Wakeup { task: task_ref(task), target_cpu: cpu }
            }
            EventKind::WakeupNew { task, cpu } => {
                Tracepoint::WakeupNew { task: task_ref(task), target_cpu: cpu }
            }
            EventKind::Migrate { task, from, to } => {
                Tracepoint::Migrate { task: task_ref(task), orig_cpu: from, dest_cpu: to }
            }
            EventKind::Fork { parent, child } => {
                Tracepoint::Fork { parent: task_ref(parent), child: task_ref(child) }
            }
            EventKind::Exec { filename, pid } => {
                Tracepoint::Exec { filename: names.text(filename), pid }
            }
            EventKind::Exit { task } => Tracepoint::Exit { task: task_ref(task) },
            EventKind::Runtime { task, ns } => {
                Tracepoint::Runtime { task: task_ref(task), runtime_ns: ns }
            }
            EventKind::Lost { .. } | EventKind::SwitchTo { .. } => return,
        };
        let current = TaskRef { comm: names.text(name), pid, prio: 120 };
        self.sink.record(&Record { at_ns, cpu, current, context, tracepoint });
    }
}
