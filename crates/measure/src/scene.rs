//! State of a machine at a moment: [`Scene`], built from events, each kept as a [`Note`].
//!
//! The terms are the same as in [`stats`](crate::stats): a task is running, waiting (runnable
//! without a CPU) or asleep, and its time is divided among these states without gap or overlap.

use schedlab_core::{
    BlockReason, CpuId, Event, GroupId, Policy, Rule, SchedAttr, TaskId, TaskTable, Waker,
};

/// Activity of a task.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Doing {
    /// It has not started.
    #[default]
    NotThere,
    /// It has a CPU.
    Running,
    /// It is runnable and has no CPU.
    Waiting,
    /// It sleeps interruptibly.
    Sleeping,
    /// It waits for a device or similar.
    Uninterruptible,
    /// It is stopped or frozen.
    Stopped,
    /// It has ended.
    Ended,
}

impl Doing {
    /// Whether it has started and not ended.
    pub fn is_there(self) -> bool {
        !matches!(self, Doing::NotThere | Doing::Ended)
    }
}

/// Priority of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Prio {
    /// The policy.
    pub policy: Policy,
    /// Nice value.
    pub nice: i8,
    /// Real-time priority; 0 under other policies.
    pub rt_priority: u8,
}

impl From<&SchedAttr> for Prio {
    fn from(attr: &SchedAttr) -> Prio {
        Prio {
            policy: attr.policy,
            nice: attr.nice.clamp(-128, 127) as i8,
            rt_priority: attr.rt_priority.min(255) as u8,
        }
    }
}

/// State of a task at a moment. Sums are as of [`since_ns`](TaskSnapshot::since_ns). The methods
/// return them as of a given time.
#[derive(Clone, Copy, Debug, Default)]
pub struct TaskSnapshot {
    /// Its activity.
    pub doing: Doing,
    /// Time since which it has been doing that, ns.
    pub since_ns: u64,
    /// Time of birth, ns.
    pub start_ns: u64,
    /// The CPU to whose runqueue it belongs.
    pub cpu: Option<CpuId>,
    /// Its priority.
    pub prio: Prio,
    /// Its group.
    pub group: GroupId,
    /// Latency of the last wakeup after which it got a CPU, ns.
    pub latency_ns: u64,
    /// Largest of these latencies, ns.
    pub latency_max_ns: u64,
    /// Number of these latencies.
    pub latencies: u64,
    /// Number of times that it was given a CPU.
    pub switches: u64,
    /// Number of times that it left its CPU although it was runnable.
    pub involuntary: u64,
    /// Number of times that it was given another CPU than its last one.
    pub migrations: u64,
    cpu_ns: u64,
    wait_ns: u64,
    wait_max_ns: u64,
    /// Start of the current wait, ns. While the task runs: start of the wait that continues if it
    /// has run for no time.
    waits_ns: u64,
    /// Wakeup with a latency that is not yet known, ns.
    woken_ns: Option<u64>,
    /// CPU on which it is current, and the CPU that it had last.
    on_cpu: Option<CpuId>,
    last_cpu: Option<CpuId>,
}

impl TaskSnapshot {
    /// Returns its time on a CPU up to `at_ns`, ns.
    pub fn cpu_ns(&self, at_ns: u64) -> u64 {
        self.cpu_ns + self.passed(at_ns, Doing::Running)
    }

    /// Returns its time runnable without a CPU up to `at_ns`, ns.
    pub fn wait_ns(&self, at_ns: u64) -> u64 {
        self.wait_ns + self.passed(at_ns, Doing::Waiting)
    }

    /// Returns its longest single wait up to `at_ns`, ns. A wait that is not over counts up to
    /// `at_ns`.
    pub fn wait_max_ns(&self, at_ns: u64) -> u64 {
        let waited_ns = match self.doing {
            Doing::Waiting => at_ns.saturating_sub(self.waits_ns),
            _ => 0,
        };
        self.wait_max_ns.max(waited_ns)
    }

    fn passed(&self, at_ns: u64, doing: Doing) -> u64 {
        if self.doing == doing { at_ns.saturating_sub(self.since_ns) } else { 0 }
    }

    fn becomes(&mut self, now_ns: u64, doing: Doing) {
        self.cpu_ns = self.cpu_ns(now_ns);
        self.wait_max_ns = self.wait_max_ns(now_ns);
        self.wait_ns = self.wait_ns(now_ns);
        (self.doing, self.since_ns) = (doing, now_ns);
    }

    /// Records the latency of the wakeup after which it now has a CPU.
    fn note_latency(&mut self, now_ns: u64) {
        if let Some(woken_ns) = self.woken_ns.take() {
            self.latency_ns = now_ns - woken_ns;
            self.latency_max_ns = self.latency_max_ns.max(self.latency_ns);
            self.latencies += 1;
        }
    }

    /// Records that it was woken while it ran, and never had to wait.
    fn never_waited(&mut self) {
        if let Some(woken_ns) = self.woken_ns {
            self.note_latency(woken_ns);
        }
    }
}

/// State of a CPU at a moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct CpuSnapshot {
    /// Running task; `None`: it idles.
    pub current: Option<TaskId>,
    /// Time since which it runs, ns.
    pub since_ns: u64,
    /// Rule by which it was picked.
    pub why: Rule,
    /// Number of switches.
    pub switches: u64,
    busy_ns: u64,
}

impl CpuSnapshot {
    /// Returns the time for which it ran tasks up to `at_ns`, ns.
    pub fn busy_ns(&self, at_ns: u64) -> u64 {
        let passed_ns = at_ns.saturating_sub(self.since_ns);
        self.busy_ns + if self.current.is_some() { passed_ns } else { 0 }
    }
}

/// The part of an event that changes a scene.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Note {
    /// [`Event::Born`].
    Born {
        /// Task.
        task: TaskId,
        /// Its priority.
        prio: Prio,
        /// Its group.
        group: GroupId,
    },
    /// [`Event::Started`].
    Started {
        /// Task.
        task: TaskId,
        /// CPU on which it waits.
        cpu: CpuId,
        /// Rule by which that CPU was chosen.
        placed: Rule,
        /// Rule by which it preempts there, or does not.
        preempts: Rule,
    },
    /// [`Event::Woken`].
    Woken {
        /// Task.
        task: TaskId,
        /// CPU on which it waits.
        cpu: CpuId,
        /// Task that woke it, if any.
        by: Option<TaskId>,
        /// Rule by which that CPU was chosen.
        placed: Rule,
        /// Rule by which it preempts there, or does not.
        preempts: Rule,
    },
    /// [`Event::Blocked`].
    Blocked {
        /// Task.
        task: TaskId,
        /// Kind of sleep.
        reason: BlockReason,
    },
    /// [`Event::Killed`].
    Killed {
        /// Task.
        task: TaskId,
    },
    /// [`Event::Switched`].
    Switched {
        /// CPU.
        cpu: CpuId,
        /// Previous task; `None`: the CPU was idle.
        prev: Option<TaskId>,
        /// Whether `prev` is still runnable.
        prev_runnable: bool,
        /// Next task; `None`: the CPU idles.
        next: Option<TaskId>,
        /// Rule by which `next` was picked.
        why: Rule,
    },
    /// [`Event::Migrated`].
    Migrated {
        /// Task.
        task: TaskId,
        /// Old runqueue.
        from: CpuId,
        /// New runqueue.
        to: CpuId,
        /// Rule by which it was moved.
        why: Rule,
    },
    /// [`Event::AttrChanged`].
    Prio {
        /// Task.
        task: TaskId,
        /// New priority.
        prio: Prio,
    },
    /// [`Event::GroupChanged`].
    Group {
        /// Task.
        task: TaskId,
        /// New group.
        group: GroupId,
    },
}

impl Note {
    /// Returns the note of an event, if the event changes a scene.
    pub fn of(event: &Event<'_>) -> Option<Note> {
        Some(match *event {
            Event::Born { task, attr, .. } => {
                Note::Born { task, prio: Prio::from(&attr.sched), group: attr.group }
            }
            Event::Started { task, cpu, placed, preempts } => {
                Note::Started { task, cpu, placed, preempts }
            }
            Event::Woken { task, cpu, waker, placed, preempts } => {
                let by = match waker {
                    Waker::Task { task, .. } => Some(task),
                    Waker::Interrupt { .. } | Waker::Process { .. } => None,
                };
                Note::Woken { task, cpu, by, placed, preempts }
            }
            Event::Blocked { task, reason, .. } => Note::Blocked { task, reason },
            Event::Killed { task } => Note::Killed { task },
            Event::Switched { cpu, prev, prev_runnable, next, why } => {
                Note::Switched { cpu, prev, prev_runnable, next, why }
            }
            Event::Migrated { task, from, to, why } => Note::Migrated { task, from, to, why },
            Event::AttrChanged { task, attr } => Note::Prio { task, prio: attr.into() },
            Event::GroupChanged { task, group } => Note::Group { task, group },
            _ => return None,
        })
    }

    /// Whether it is a decision of a scheduler: the placement or migration of a task, or a switch.
    pub fn is_decision(&self) -> bool {
        matches!(
            self,
            Note::Started { .. }
                | Note::Woken { .. }
                | Note::Switched { .. }
                | Note::Migrated { .. }
        )
    }
}

/// State of a machine at a moment.
#[derive(Clone, Debug, Default)]
pub struct Scene {
    /// CPUs.
    pub cpus: Vec<CpuSnapshot>,
    /// Tasks. Those that have not started are [`Doing::NotThere`].
    pub tasks: TaskTable<TaskSnapshot>,
}

impl Scene {
    /// Creates the scene of a machine with `cpus` CPUs before the first event.
    pub fn new(cpus: u32) -> Scene {
        Scene { cpus: vec![CpuSnapshot::default(); cpus as usize], tasks: TaskTable::new() }
    }

    /// Returns the task, if it has appeared.
    pub fn task(&self, task: TaskId) -> Option<&TaskSnapshot> {
        (task.index() < self.tasks.len()).then(|| &self.tasks[task])
    }

    fn row(&mut self, task: TaskId) -> &mut TaskSnapshot {
        if task.index() >= self.tasks.len() {
            self.tasks.insert(task, TaskSnapshot::default());
        }
        &mut self.tasks[task]
    }

    /// Applies `note`, an event at `now_ns`.
    pub fn apply(&mut self, now_ns: u64, note: &Note) {
        match *note {
            Note::Born { task, prio, group } => {
                let row = self.row(task);
                (row.prio, row.group, row.start_ns) = (prio, group, now_ns);
            }
            Note::Started { task, cpu, .. } => {
                let row = self.row(task);
                (row.start_ns, row.waits_ns, row.cpu) = (now_ns, now_ns, Some(cpu));
                row.becomes(now_ns, Doing::Waiting);
            }
            Note::Woken { task, cpu, .. } => {
                let row = self.row(task);
                row.cpu = Some(cpu);
                (row.woken_ns, row.waits_ns) = (Some(now_ns), now_ns);
                // A task that was woken in the instant in which it blocked may still be current.
                let keeps = row.on_cpu.is_some();
                row.becomes(now_ns, if keeps { Doing::Running } else { Doing::Waiting });
            }
            Note::Blocked { task, reason } => {
                let row = self.row(task);
                if row.doing == Doing::Running {
                    row.never_waited();
                }
                row.woken_ns = None;
                let doing = match reason {
                    BlockReason::Interruptible | BlockReason::Futex => Doing::Sleeping,
                    BlockReason::Uninterruptible => Doing::Uninterruptible,
                    BlockReason::Stopped => Doing::Stopped,
                    BlockReason::Dead => Doing::Ended,
                };
                row.becomes(now_ns, doing);
            }
            Note::Killed { task } => {
                let row = self.row(task);
                if row.doing == Doing::NotThere {
                    row.start_ns = now_ns;
                }
                row.woken_ns = None;
                row.becomes(now_ns, Doing::Ended);
            }
            Note::Switched { cpu, prev, prev_runnable, next, why } => {
                self.switched(now_ns, cpu, prev, prev_runnable, next, why);
            }
            Note::Migrated { task, to, .. } => self.row(task).cpu = Some(to),
            Note::Prio { task, prio } => self.row(task).prio = prio,
            Note::Group { task, group } => self.row(task).group = group,
        }
    }

    fn switched(
        &mut self,
        now_ns: u64,
        cpu: CpuId,
        prev: Option<TaskId>,
        prev_runnable: bool,
        next: Option<TaskId>,
        why: Rule,
    ) {
        let lane = &mut self.cpus[cpu.index()];
        lane.busy_ns = lane.busy_ns(now_ns);
        (lane.current, lane.since_ns, lane.why) = (next, now_ns, why);
        lane.switches += 1;
        if let Some(prev) = prev {
            let row = self.row(prev);
            row.involuntary += u64::from(prev_runnable);
            if row.on_cpu == Some(cpu) {
                row.on_cpu = None;
                if row.doing == Doing::Running {
                    if row.woken_ns.is_some_and(|woken_ns| woken_ns < now_ns) {
                        row.never_waited();
                    }
                    // An interval without length ends no wait.
                    if row.since_ns < now_ns {
                        row.waits_ns = now_ns;
                    }
                    row.becomes(now_ns, Doing::Waiting);
                }
            }
        }
        if let Some(next) = next {
            let row = self.row(next);
            row.becomes(now_ns, Doing::Running);
            row.switches += 1;
            row.migrations += u64::from(row.last_cpu.is_some_and(|last| last != cpu));
            (row.on_cpu, row.last_cpu, row.cpu) = (Some(cpu), Some(cpu), Some(cpu));
            row.note_latency(now_ns);
        }
    }

    /// Returns the tasks that wait for `cpu`, those that have waited longest first.
    pub fn queue(&self, cpu: CpuId) -> Vec<TaskId> {
        let waits = |row: &TaskSnapshot| row.doing == Doing::Waiting && row.cpu == Some(cpu);
        let mut queue: Vec<(u64, TaskId)> = self
            .tasks
            .iter()
            .filter(|(_, row)| waits(row))
            .map(|(task, row)| (row.waits_ns, task))
            .collect();
        queue.sort_unstable();
        queue.into_iter().map(|(_, task)| task).collect()
    }

    /// Returns the memory used, bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.cpus.len() * size_of::<CpuSnapshot>() + self.tasks.len() * size_of::<TaskSnapshot>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two hogs and a sleeper on one CPU. The hogs take turns of 10. The sleeper, woken at 25,
    /// waits for 5 and then runs for 2.
    #[test]
    fn two_hogs_and_a_sleeper() {
        let (a, b, sleeper, cpu) = (TaskId(0), TaskId(1), TaskId(2), CpuId(0));
        let mut scene = Scene::new(1);
        let mut on = |at_ns: u64, event: Event<'_>| {
            scene.apply(at_ns, &Note::of(&event).expect("the event changes the scene"));
        };
        on(0, Event::started(sleeper, cpu));
        on(0, Event::switched(cpu, None, false, Some(sleeper)));
        on(1, Event::blocked(sleeper, cpu, BlockReason::Interruptible));
        on(1, Event::switched(cpu, Some(sleeper), false, None));
        on(5, Event::started(a, cpu));
        on(5, Event::started(b, cpu));
        on(5, Event::switched(cpu, None, false, Some(a)));
        on(15, Event::switched(cpu, Some(a), true, Some(b)));
        on(25, Event::woken(sleeper, cpu, Waker::Interrupt { cpu }));
        on(25, Event::switched(cpu, Some(b), true, Some(a)));
        let then = scene.clone();
        // At 28: a runs since 25, b waits since then, the sleeper since its wakeup.
        let row = |scene: &Scene, task| *scene.task(task).expect("the task has appeared");
        assert_eq!(
            [a, b, sleeper].map(|task| (row(&then, task).doing, row(&then, task).since_ns)),
            [(Doing::Running, 25), (Doing::Waiting, 25), (Doing::Waiting, 25)]
        );
        assert_eq!([a, b, sleeper].map(|task| row(&then, task).cpu_ns(28)), [13, 10, 1]);
        assert_eq!([a, b, sleeper].map(|task| row(&then, task).wait_ns(28)), [10, 13, 3]);
        assert_eq!([a, b, sleeper].map(|task| row(&then, task).wait_max_ns(28)), [10, 10, 3]);
        assert_eq!(then.queue(cpu), [b, sleeper]);
        assert_eq!((then.cpus[0].busy_ns(28), then.cpus[0].switches), (24, 5));
        let mut on = |at_ns, event| {
            scene.apply(at_ns, &Note::of(&event).expect("the event changes the scene"))
        };
        on(30, Event::switched(cpu, Some(a), true, Some(sleeper)));
        on(32, Event::blocked(sleeper, cpu, BlockReason::Uninterruptible));
        on(32, Event::switched(cpu, Some(sleeper), false, Some(b)));
        on(40, Event::blocked(b, cpu, BlockReason::Dead));
        on(40, Event::switched(cpu, Some(b), false, Some(a)));
        let sleeps = row(&scene, sleeper);
        assert_eq!((sleeps.latency_ns, sleeps.latency_max_ns, sleeps.latencies), (5, 5, 1));
        assert_eq!((sleeps.doing, sleeps.since_ns), (Doing::Uninterruptible, 32));
        assert_eq!((row(&scene, b).doing, row(&scene, b).cpu_ns(99)), (Doing::Ended, 18));
        assert_eq!((row(&scene, a).involuntary, row(&scene, a).switches), (2, 3));
        assert!(scene.queue(cpu).is_empty());
    }

    /// A task that is woken in the nanosecond in which it blocks, and keeps its CPU, has not
    /// waited.
    #[test]
    fn woken_before_it_has_left_its_cpu() {
        let (task, cpu) = (TaskId(0), CpuId(0));
        let mut scene = Scene::new(1);
        for (at_ns, event) in [
            (0, Event::started(task, cpu)),
            (0, Event::switched(cpu, None, false, Some(task))),
            (7, Event::blocked(task, cpu, BlockReason::Interruptible)),
            (7, Event::woken(task, cpu, Waker::Process { cpu })),
            (9, Event::blocked(task, cpu, BlockReason::Interruptible)),
            (9, Event::switched(cpu, Some(task), false, None)),
        ] {
            scene.apply(at_ns, &Note::of(&event).expect("the event changes the scene"));
        }
        let row = scene.tasks[task];
        assert_eq!((row.cpu_ns(20), row.wait_ns(20), row.doing), (9, 0, Doing::Sleeping));
        assert_eq!((row.latencies, row.latency_max_ns), (1, 0));
    }
}
