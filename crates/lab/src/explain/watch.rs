//! Observer that records the state of each CPU and task, and the grounds of decisions.

use crate::error::Error;
use crate::explain::names::Names;
use crate::explain::subject::Subject;
use crate::plan::{Contender, Prepared};
use crate::throttled::{ThrottledGroups, ThrottledQueue};
use schedlab_core::platform::Throttling;
use schedlab_core::{
    Account, CpuId, Event, GroupId, Observer, Question, Rule, TaskId, TaskTable, Waker,
};
use std::collections::BTreeMap;

/// A decision and its time.
#[derive(Clone, Debug)]
pub struct Decision {
    /// Time, ns.
    pub at_ns: u64,
    /// The decision, its rule and its grounds.
    pub account: Account,
}

/// Activity of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TaskActivity {
    /// The task had not started.
    #[default]
    NotStarted,
    /// The task was runnable without a CPU.
    Waiting,
    /// The task had a CPU.
    Running,
    /// The task slept, or was stopped.
    Blocked,
    /// The task had ended.
    Ended,
}

/// A throttled queue of a group at a given time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThrottledMoment {
    /// The group, the CPU, the limit, and the refill that was due next when this began.
    pub limit: Throttling,
    /// Time since which it is throttled, ns.
    pub since_ns: u64,
    /// Time at which it had runtime again, ns. `None`: not before the end of the run.
    pub until_ns: Option<u64>,
}

/// State of a task at a given time.
#[derive(Clone, Copy, Debug, Default)]
pub struct TaskMoment {
    /// Its activity.
    pub was: TaskActivity,
    /// Time since which it lasts, ns.
    pub since_ns: u64,
    /// CPU of its runqueue. `None`: it had not started.
    pub cpu: Option<CpuId>,
    /// Time, CPU and rule of its next turn on a CPU.
    pub runs_next: Option<(u64, CpuId, Rule)>,
}

/// State of a CPU, as its events report it.
#[derive(Clone, Debug, Default)]
pub(super) struct ObservedCpu {
    pub current: Option<TaskId>,
    pub since_ns: u64,
    /// The pick that made it current, and the last pick that kept it running.
    pub picked: Option<Decision>,
    pub kept: Option<Decision>,
    /// The next switch.
    pub next: Option<(u64, Option<TaskId>, Rule)>,
    pick: Option<Decision>,
}

/// Records the state at `until_ns`, after all events at that time, and what followed.
#[derive(Debug)]
pub(super) struct Watch {
    until_ns: u64,
    pub cpus: Vec<ObservedCpu>,
    pub tasks: TaskTable<TaskMoment>,
    /// Groups and limits, as they were at that time.
    pub throttled: ThrottledGroups,
    /// Times at which queues had runtime again after that.
    ends_ns: BTreeMap<(CpuId, GroupId), u64>,
}

impl Watch {
    pub fn new(cpus: u32, until_ns: u64, throttled: ThrottledGroups) -> Watch {
        let cpus = (0..cpus).map(|_| ObservedCpu::default()).collect();
        let (tasks, ends_ns) = (TaskTable::default(), BTreeMap::new());
        Watch { until_ns, cpus, tasks, throttled, ends_ns }
    }

    /// Returns the throttled queues of `cpu`.
    pub fn throttled_on(&self, cpu: CpuId) -> Vec<ThrottledMoment> {
        let row = |queue: &ThrottledQueue| ThrottledMoment {
            limit: queue.change,
            since_ns: queue.since_ns,
            until_ns: self.ends_ns.get(&(cpu, queue.change.group)).copied(),
        };
        self.throttled.on_cpu(cpu).map(row).collect()
    }

    fn task(&mut self, task: TaskId, now_ns: u64, was: TaskActivity) {
        if now_ns <= self.until_ns {
            let row = &mut self.tasks[task];
            (row.was, row.since_ns) = (was, now_ns);
        }
    }

    fn cpu_of(&mut self, task: TaskId, now_ns: u64, cpu: CpuId) {
        if now_ns <= self.until_ns {
            self.tasks[task].cpu = Some(cpu);
        }
    }
}

impl Observer for Watch {
    fn on(&mut self, now_ns: u64, event: Event<'_>) {
        let is_past = now_ns <= self.until_ns;
        match event {
            Event::Born { task, .. } => self.tasks.insert(task, TaskMoment::default()),
            Event::Started { task, cpu, .. } | Event::Woken { task, cpu, .. } => {
                // A task that was woken in the instant in which it blocked may still be current.
                let runs = self.cpus[cpu.index()].current == Some(task);
                let was = if runs { TaskActivity::Running } else { TaskActivity::Waiting };
                self.task(task, now_ns, was);
                self.cpu_of(task, now_ns, cpu);
            }
            Event::Blocked { task, reason, .. } => {
                let ended = reason == schedlab_core::BlockReason::Dead;
                let was = if ended { TaskActivity::Ended } else { TaskActivity::Blocked };
                self.task(task, now_ns, was);
            }
            Event::Killed { task } => self.task(task, now_ns, TaskActivity::Ended),
            Event::Migrated { task, to, .. } => self.cpu_of(task, now_ns, to),
            Event::Decided { account } if account.question == Question::Pick && is_past => {
                let cpu = &mut self.cpus[account.cpu.index()];
                cpu.pick = Some(Decision { at_ns: now_ns, account: account.clone() });
                cpu.kept.clone_from(&cpu.pick);
            }
            Event::Switched { cpu, prev, prev_runnable, next, why } => {
                if is_past {
                    let row = &mut self.cpus[cpu.index()];
                    (row.current, row.since_ns) = (next, now_ns);
                    row.picked = row.pick.take().filter(|pick| pick.at_ns == now_ns);
                    row.kept = None;
                } else if self.cpus[cpu.index()].next.is_none_or(|(at_ns, ..)| at_ns == now_ns) {
                    // A task that lost the CPU in the nanosecond in which it got it had no turn.
                    self.cpus[cpu.index()].next = Some((now_ns, next, why));
                }
                if let Some(prev) = prev
                    && prev_runnable
                {
                    self.task(prev, now_ns, TaskActivity::Waiting);
                    let runs = &mut self.tasks[prev].runs_next;
                    *runs = runs.filter(|(at_ns, ..)| *at_ns < now_ns);
                }
                if let Some(next) = next {
                    self.task(next, now_ns, TaskActivity::Running);
                    self.cpu_of(next, now_ns, cpu);
                    if !is_past {
                        let row = &mut self.tasks[next];
                        row.runs_next = row.runs_next.or(Some((now_ns, cpu, why)));
                    }
                }
            }
            Event::Throttled { change } if !is_past && !change.is_throttled => {
                self.ends_ns.entry((change.cpu, change.group)).or_insert(now_ns);
            }
            _ => {}
        }
        if is_past {
            self.throttled.on(now_ns, &event);
        }
    }
}

/// Selects wakeups.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WakeupFilter {
    /// All wakeups.
    All,
    /// The wakeups of one task.
    Of(TaskId),
}

/// A wakeup, its CPU, and its effect.
#[derive(Clone, Debug)]
pub struct Wakeup {
    /// Time, ns.
    pub at_ns: u64,
    /// Task that was woken.
    pub task: TaskId,
    /// Origin of the wakeup.
    pub waker: Waker,
    /// CPU on filter runqueue the task was put.
    pub cpu: CpuId,
    /// Task that ran there, and since when (ns).
    pub current: Option<(TaskId, u64)>,
    /// Rule that selected the CPU.
    pub placed: Rule,
    /// Grounds of this selection, if the scheduler describes them.
    pub placed_by: Option<Account>,
    /// Rule that decided whether it preempted the running task.
    pub preempts: Rule,
    /// Grounds of this decision, if the scheduler describes them.
    pub preempts_by: Option<Account>,
    /// Time (ns) and CPU of its next turn. `None`: not before the end of the run.
    pub ran: Option<(u64, CpuId)>,
}

#[derive(Debug)]
struct Wakeups {
    filter: WakeupFilter,
    /// Number of matching wakeups to skip.
    left: u64,
    seen: u64,
    running: Vec<Option<(TaskId, u64)>>,
    found: Option<Wakeup>,
    /// Whether accounts still belong to the wakeup.
    open: bool,
}

impl Observer for Wakeups {
    fn on(&mut self, now_ns: u64, event: Event<'_>) {
        match event {
            Event::Decided { account } => match &mut self.found {
                Some(found) if self.open && found.at_ns == now_ns => match account.question {
                    Question::SelectCpu if account.rule == found.placed => {
                        found.placed_by.get_or_insert_with(|| account.clone());
                    }
                    Question::Preempt if account.rule == found.preempts => {
                        found.preempts_by.get_or_insert_with(|| account.clone());
                    }
                    _ => {}
                },
                _ => {}
            },
            Event::Woken { task, cpu, waker, placed, preempts } => {
                self.open = false;
                if self.filter != WakeupFilter::All && self.filter != WakeupFilter::Of(task) {
                    return;
                }
                self.seen += 1;
                if self.left > 0 {
                    self.left -= 1;
                } else if self.found.is_none() {
                    self.open = true;
                    self.found = Some(Wakeup {
                        at_ns: now_ns,
                        task,
                        waker,
                        cpu,
                        current: self.running[cpu.index()],
                        placed,
                        placed_by: None,
                        preempts,
                        preempts_by: None,
                        ran: None,
                    });
                }
            }
            Event::Switched { cpu, prev, prev_runnable, next, .. } => {
                self.open = false;
                self.running[cpu.index()] = next.map(|next| (next, now_ns));
                if let Some(found) = &mut self.found {
                    if prev == Some(found.task) && prev_runnable {
                        // A turn of no length does not count.
                        found.ran = found.ran.filter(|(at_ns, _)| *at_ns < now_ns);
                    }
                    if next == Some(found.task) && found.ran.is_none() {
                        found.ran = Some((now_ns, cpu));
                    }
                }
            }
            Event::Migrated { .. } => {}
            _ => self.open = false,
        }
    }
}

/// Returns the matching wakeup with this `number`, from 1, and the number of matching wakeups in
/// the run.
///
/// # Errors
/// As for a run. It is not an error if there are fewer wakeups.
pub fn wakeup(
    prepared: &Prepared,
    scheduler: &Contender,
    filter: WakeupFilter,
    number: u64,
) -> Result<(Option<Wakeup>, u64, Names), Error> {
    let subject = Subject::of(prepared, scheduler)?;
    let mut wakeups = Wakeups {
        filter,
        left: number.saturating_sub(1),
        seen: 0,
        running: vec![None; subject.cpus() as usize],
        found: None,
        open: false,
    };
    let names = subject.observe(true, &mut wakeups)?;
    Ok((wakeups.found, wakeups.seen, names))
}
