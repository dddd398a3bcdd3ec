//! Wait graph: the diagnosis of a run that is stuck.

use super::blocked::Blocked;
use super::kernel::Kernel;
use crate::seconds::Seconds;
use schedlab_core::TaskId;
use std::fmt;

/// A thread that is blocked until another thread acts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WaitingThread {
    /// Task.
    pub task: TaskId,
    /// Its name.
    pub thread: String,
    /// Event and phase in which it waits.
    pub place: String,
    /// Object of the wait.
    pub waits_for: WaitsFor,
    /// Start of the wait, ns.
    pub since_ns: u64,
}

/// Object of a thread's wait.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WaitsFor {
    /// A mutex.
    Mutex {
        /// Its name.
        name: String,
        /// Task that holds it: number and name.
        owner: Option<(TaskId, String)>,
    },
    /// A condition that no thread signals.
    Condition {
        /// Its name.
        name: String,
    },
    /// A barrier at which some threads have not arrived.
    Barrier {
        /// Its name.
        name: String,
        /// Number of threads that have arrived.
        come: usize,
        /// Number of threads that must arrive.
        needed: usize,
    },
    /// A semaphore that no thread posts.
    Semaphore {
        /// Its name.
        name: String,
    },
    /// Being resumed.
    Resume,
    /// A message that no thread writes.
    Read,
    /// Room for a message that no thread makes.
    Write,
    /// Something to read.
    Poll,
    /// A latch that no thread opens.
    Latch,
    /// The end of a child.
    Child,
}

/// Waiting threads. They are displayed as a message.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Deadlock {
    /// All waiting threads, by number.
    pub waiting: Vec<WaitingThread>,
    /// Circles of threads. Each thread holds the mutex that the previous one waits for. Entries are
    /// indices in `waiting`. A circle begins with its thread of the lowest number.
    pub circles: Vec<Vec<usize>>,
}

/// Maximum number of threads that a message names. The rest is counted.
const NAMED_MAX: usize = 20;

impl Kernel {
    /// Returns the current wait graph. It explains why a run is
    /// [stuck](schedlab_machine::RunEnd::Stuck).
    pub fn wait_graph(&self) -> Deadlock {
        let mut waiting = Vec::new();
        let places: Vec<usize> = (0..self.tasks.len() as u32)
            .map(|number| {
                waiting.extend(self.waiting_thread(number));
                // Used only for tasks that wait.
                waiting.len().saturating_sub(1)
            })
            .collect();
        let circles = self.circles(&places);
        Deadlock { waiting, circles }
    }

    fn waiting_thread(&self, number: u32) -> Option<WaitingThread> {
        let blocked = self.tasks[number as usize].blocked;
        let task = TaskId(number);
        // Only the objects of scripts have names.
        let name = |names: &[String], number: u32| {
            names.get(number as usize).cloned().unwrap_or_else(|| number.to_string())
        };
        let waits_for = match blocked {
            Blocked::No => return None,
            Blocked::Mutex(mutex) => {
                let owner = self.objects.mutexes[mutex as usize].owner().map(TaskId);
                WaitsFor::Mutex {
                    name: name(&self.scripts.mutexes, mutex),
                    owner: owner.map(|owner| (owner, self.owner_name(owner))),
                }
            }
            Blocked::Condition(condition) => {
                WaitsFor::Condition { name: name(&self.scripts.conditions, condition) }
            }
            Blocked::Barrier(number) => {
                let info = self.scripts.barriers.get(number as usize);
                let barrier = &self.objects.barriers[number as usize];
                WaitsFor::Barrier {
                    name: info.map_or_else(|| number.to_string(), |info| info.name.clone()),
                    come: barrier.come.len(),
                    needed: barrier.needed,
                }
            }
            Blocked::Semaphore(semaphore) => {
                WaitsFor::Semaphore { name: name(&self.scripts.semaphores, semaphore) }
            }
            Blocked::Suspended => WaitsFor::Resume,
            Blocked::Read(_) => WaitsFor::Read,
            Blocked::Write(_) => WaitsFor::Write,
            Blocked::Poll(_) => WaitsFor::Poll,
            Blocked::Latch(_) => WaitsFor::Latch,
            Blocked::Child => WaitsFor::Child,
        };
        Some(WaitingThread {
            task,
            thread: self.thread_name(task),
            place: self.place(task),
            waits_for,
            since_ns: self.tasks[task.index()].since_ns,
        })
    }

    /// Returns the owner of a mutex for a message.
    fn owner_name(&self, owner: TaskId) -> String {
        let name = self.thread_name(owner);
        if self.tasks[owner.index()].killed { format!("{name}, which was killed") } else { name }
    }

    /// Returns the owner of the mutex that a thread waits for.
    fn waits_for_thread(&self, number: usize) -> Option<usize> {
        match self.tasks[number].blocked {
            Blocked::Mutex(mutex) => {
                self.objects.mutexes[mutex as usize].owner().map(|owner| owner as usize)
            }
            _ => None,
        }
    }

    /// Follows the owners of mutexes. Each thread is visited once.
    fn circles(&self, places: &[usize]) -> Vec<Vec<usize>> {
        let mut seen_from = vec![usize::MAX; self.tasks.len()];
        let mut circles = Vec::new();
        for start in 0..self.tasks.len() {
            let mut at = Some(start);
            while let Some(number) = at.filter(|&number| seen_from[number] == usize::MAX) {
                seen_from[number] = start;
                at = self.waits_for_thread(number);
            }
            let Some(meeting) = at.filter(|&number| seen_from[number] == start) else {
                continue;
            };
            let mut circle = vec![meeting];
            let mut at = self.waits_for_thread(meeting);
            while let Some(number) = at.filter(|&number| number != meeting) {
                circle.push(number);
                at = self.waits_for_thread(number);
            }
            let lowest = (0..circle.len()).min_by_key(|&place| circle[place]).unwrap_or(0);
            circle.rotate_left(lowest);
            circles.push(circle.into_iter().map(|number| places[number]).collect());
        }
        circles
    }
}

impl WaitsFor {
    /// Returns the words after "waits" for objects without names: `to read`, `for a mutex`.
    pub fn brief(&self) -> &'static str {
        match self {
            WaitsFor::Mutex { .. } => "for a mutex",
            WaitsFor::Condition { .. } => "for a condition",
            WaitsFor::Barrier { .. } => "at a barrier",
            WaitsFor::Semaphore { .. } => "for a semaphore",
            WaitsFor::Resume => "to be resumed",
            WaitsFor::Read => "to read",
            WaitsFor::Write => "to write",
            WaitsFor::Poll => "for something to read",
            WaitsFor::Latch => "for a latch",
            WaitsFor::Child => "for a child",
        }
    }
}

impl fmt::Display for WaitsFor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WaitsFor::Mutex { name, owner: Some((_, owner)) } => {
                write!(f, "mutex `{name}`, held by {owner}")
            }
            WaitsFor::Mutex { name, owner: None } => write!(f, "mutex `{name}`"),
            WaitsFor::Condition { name } => write!(f, "condition `{name}`"),
            WaitsFor::Barrier { name, come, needed } => {
                write!(f, "barrier `{name}`, at which {come} of {needed} have arrived")
            }
            WaitsFor::Semaphore { name } => write!(f, "semaphore `{name}`"),
            WaitsFor::Resume => f.write_str("to be resumed"),
            WaitsFor::Read => f.write_str("something to read"),
            WaitsFor::Write => f.write_str("room to write"),
            WaitsFor::Poll => f.write_str("something to read"),
            WaitsFor::Latch => f.write_str("a latch"),
            WaitsFor::Child => f.write_str("a child"),
        }
    }
}

impl fmt::Display for WaitingThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} waits {}{} ({}, since {})",
            self.thread,
            if matches!(self.waits_for, WaitsFor::Resume) { "" } else { "for " },
            self.waits_for,
            self.place,
            Seconds(self.since_ns)
        )
    }
}

impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.waiting.len();
        let threads = if count == 1 { "thread waits" } else { "threads wait" };
        write!(f, "{count} {threads} for others:")?;
        for thread in self.waiting.iter().take(NAMED_MAX) {
            write!(f, "\n  {thread}")?;
        }
        if count > NAMED_MAX {
            write!(f, "\n  and {} more", count - NAMED_MAX)?;
        }
        for circle in self.circles.iter().take(NAMED_MAX) {
            write!(f, "\nin a cycle: ")?;
            for &place in circle.iter().take(NAMED_MAX) {
                let thread = &self.waiting[place];
                let WaitsFor::Mutex { name, .. } = &thread.waits_for else {
                    continue;
                };
                write!(f, "{} -> `{name}` -> ", thread.thread)?;
            }
            if circle.len() > NAMED_MAX {
                write!(f, "... -> ")?;
            }
            f.write_str(&self.waiting[circle[0]].thread)?;
        }
        if self.circles.len() > NAMED_MAX {
            write!(f, "\nand {} more cycles", self.circles.len() - NAMED_MAX)?;
        }
        Ok(())
    }
}
