//! The observer that remembers how each CPU and task stands, and on what grounds.

use crate::error::Error;
use crate::explain::names::Names;
use crate::explain::subject::Subject;
use crate::plan::{Contender, Prepared};
use schedlab_core::{Account, CpuId, Event, Observer, Question, Rule, TaskId, TaskTable, Waker};

/// A decision, and when it was made.
#[derive(Clone, Debug)]
pub struct Decision {
    /// When, ns.
    pub at_ns: u64,
    /// What, by which rule, on what grounds.
    pub account: Account,
}

/// What a task was doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TaskWas {
    /// It had not started.
    #[default]
    NotThere,
    /// It was runnable and had no CPU.
    Waiting,
    /// It had a CPU.
    Running,
    /// It slept, or was stopped.
    Blocked,
    /// It had ended.
    Ended,
}

/// A task at a moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct TaskThen {
    /// What it was doing.
    pub was: TaskWas,
    /// Since when, ns.
    pub since_ns: u64,
    /// The CPU to whose runqueue it belonged; none: it had not started.
    pub cpu: Option<CpuId>,
    /// After the moment: when and where it next got a CPU, and by which rule.
    pub runs_next: Option<(u64, CpuId, Rule)>,
}

/// A CPU, as events tell.
#[derive(Clone, Debug, Default)]
pub(super) struct CpuThen {
    pub current: Option<TaskId>,
    pub since_ns: u64,
    /// The pick that made it current, and the last pick that let it go on.
    pub picked: Option<Decision>,
    pub kept: Option<Decision>,
    /// After the moment: the next that ran.
    pub next: Option<(u64, Option<TaskId>, Rule)>,
    pick: Option<Decision>,
}

/// Remembers how things stood at `until_ns`, everything that fell on it included, and what came of
/// it.
#[derive(Debug)]
pub(super) struct Watch {
    until_ns: u64,
    pub cpus: Vec<CpuThen>,
    pub tasks: TaskTable<TaskThen>,
}

impl Watch {
    pub fn new(cpus: u32, until_ns: u64) -> Watch {
        let cpus = (0..cpus).map(|_| CpuThen::default()).collect();
        Watch { until_ns, cpus, tasks: TaskTable::default() }
    }

    fn task(&mut self, task: TaskId, now_ns: u64, was: TaskWas) {
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
            Event::Born { task, .. } => self.tasks.insert(task, TaskThen::default()),
            Event::Started { task, cpu, .. } | Event::Woken { task, cpu, .. } => {
                // One woken in the instant in which it blocked may still be current.
                let runs = self.cpus[cpu.index()].current == Some(task);
                let was = if runs { TaskWas::Running } else { TaskWas::Waiting };
                self.task(task, now_ns, was);
                self.cpu_of(task, now_ns, cpu);
            }
            Event::Blocked { task, reason, .. } => {
                let ended = reason == schedlab_core::BlockReason::Dead;
                let was = if ended { TaskWas::Ended } else { TaskWas::Blocked };
                self.task(task, now_ns, was);
            }
            Event::Killed { task } => self.task(task, now_ns, TaskWas::Ended),
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
                    // Who lost the CPU in the nanosecond in which it got it had no turn.
                    self.cpus[cpu.index()].next = Some((now_ns, next, why));
                }
                if let Some(prev) = prev
                    && prev_runnable
                {
                    self.task(prev, now_ns, TaskWas::Waiting);
                    let runs = &mut self.tasks[prev].runs_next;
                    *runs = runs.filter(|(at_ns, ..)| *at_ns < now_ns);
                }
                if let Some(next) = next {
                    self.task(next, now_ns, TaskWas::Running);
                    self.cpu_of(next, now_ns, cpu);
                    if !is_past {
                        let row = &mut self.tasks[next];
                        row.runs_next = row.runs_next.or(Some((now_ns, cpu, why)));
                    }
                }
            }
            _ => {}
        }
    }
}

/// Which wakeups are counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Whose {
    /// All.
    All,
    /// One task's.
    Of(TaskId),
}

/// Where a wakeup went.
#[derive(Clone, Debug)]
pub struct Wakeup {
    /// When, ns.
    pub at_ns: u64,
    /// Who was woken.
    pub task: TaskId,
    /// By whom.
    pub waker: Waker,
    /// The CPU that ran in whose runqueue it was put.
    pub cpu: CpuId,
    /// Who ran there, since when (ns).
    pub current: Option<(TaskId, u64)>,
    /// Why there.
    pub placed: Rule,
    /// On what grounds, if the scheduler tells.
    pub placed_by: Option<Account>,
    /// Whether it preempted who ran there, and why.
    pub preempts: Rule,
    /// On what grounds, if the scheduler tells.
    pub preempts_by: Option<Account>,
    /// When and where it ran, ns; none: not before the end of the run.
    pub ran: Option<(u64, CpuId)>,
}

#[derive(Debug)]
struct Wakeups {
    whose: Whose,
    /// So many more are passed over.
    left: u64,
    seen: u64,
    running: Vec<Option<(TaskId, u64)>>,
    found: Option<Wakeup>,
    /// Accounts are still those of the wakeup.
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
                if self.whose != Whose::All && self.whose != Whose::Of(task) {
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
                        // A turn that lasted for no time was none.
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

/// Wakeup `number`, from 1, of those that count, and how many of them the run has in all.
///
/// # Errors
/// As of a run; none if there are fewer.
pub fn wakeup(
    prepared: &Prepared,
    scheduler: &Contender,
    whose: Whose,
    number: u64,
) -> Result<(Option<Wakeup>, u64, Names), Error> {
    let subject = Subject::of(prepared, scheduler)?;
    let mut wakeups = Wakeups {
        whose,
        left: number.saturating_sub(1),
        seen: 0,
        running: vec![None; subject.cpus() as usize],
        found: None,
        open: false,
    };
    let names = subject.observe(true, &mut wakeups)?;
    Ok((wakeups.found, wakeups.seen, names))
}
