//! Program of each task of a trace: [`Workload`], limited to what rt-app's language can express.

use crate::families::Families;
use crate::kinds::is_wall_loop;
use crate::trace::{ActKind, Origin, SleepKind, Trace};
use schedlab_core::Policy;
use schedlab_workload::model::{
    Action, Event, Global, Loops, Model, Phase, Properties, Task as ModelTask,
};
use serde::Deserialize;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::num::NonZeroU32;
use std::sync::Arc;

/// How edges become semaphores.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tokens {
    /// One semaphore for each edge, but one for all edges from tasks that serve together (threads
    /// of a process, tasks of a name) to a sleeper: the first of them wakes it.
    #[default]
    Served,
    /// One semaphore for each edge: causality exactly as recorded.
    Strict,
    /// One semaphore for each sleeper: the first waker wakes it.
    Counted,
}

/// A burst that the end of the trace cuts continues indefinitely if it has taken more than this,
/// ns.
const ENDLESS_NS: u64 = 20_000_000;

/// Number of wakeups of a sleeper by a family from which several of its tasks count as one server.
const SERVED_WAKEUPS: u32 = 20;

/// Length of a round of a task that runs indefinitely, ns. The number of its rounds shows its
/// progress.
const ROUND_NS: u64 = 1_000_000;

/// Step of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Computes, ns.
    Run(u64),
    /// Computes until this much time has passed, ns.
    Runtime(u64),
    /// Time for which it has computed when the trace begins, ns: the step that [`Workload::led`]
    /// puts first.
    Before(u64),
    /// Computes indefinitely.
    Endless,
    /// Sleeps, ns.
    Sleep(u64),
    /// Sleeps until this time after the previous expiry, ns. The first expiry counts from the start
    /// of the task.
    Timer(u64),
    /// Posts a semaphore.
    Post(u32),
    /// Waits for a semaphore.
    Wait(u32),
    /// Forks the task with this index in [`Workload::tasks`].
    Fork(u32),
    /// Executes another program.
    Exec,
    /// Changes the priority from now on, on the kernel's scale.
    Prio(i32),
}

/// Task of the workload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// `name.pid`, followed by `.incarnation` if that is not 0.
    pub key: String,
    /// Group of the task in reports.
    pub name: String,
    /// Index in [`Trace::tasks`].
    pub task: u32,
    /// Whether another task forks it.
    pub is_forked: bool,
    /// Start time if it is not forked, ns.
    pub delay_ns: u64,
    /// Initial priority, on the kernel's scale.
    pub prio: i32,
    /// Steps of the program.
    pub steps: Arc<[Step]>,
    /// Whether the trace ends before the task does. The program ends there.
    pub is_exhausted: bool,
    /// Changed properties and affinity.
    pub set: Properties,
    /// Change of the nice value, in force at all times.
    pub nice_by: i32,
}

impl Program {
    /// Whether the task runs indefinitely.
    pub fn is_endless(&self) -> bool {
        self.steps.last() == Some(&Step::Endless)
    }
}

/// Task that was runnable or running when the trace began, in the lead time before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EarlyTask {
    /// Index in [`Workload::tasks`].
    pub place: usize,
    /// Time at which it becomes runnable, ns since the beginning of the lead time.
    pub from_ns: u64,
    /// CPU time until the trace begins, ns.
    pub done_ns: u64,
}

/// Trace as a workload.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Workload {
    /// Tasks in the order in which they first appear in the trace.
    pub tasks: Vec<Program>,
    /// Number of semaphores.
    pub semaphores: u32,
    /// Semaphores of wakeups that came before the sleep, so that the task did not have to wait.
    pub tokens: BTreeSet<u32>,
    /// Whether any task runs indefinitely.
    pub is_endless: bool,
}

/// Whether a task of this name is excluded from every workload: the kernel's own machinery for
/// moving tasks and CPUs.
pub fn is_machinery(name: &str) -> bool {
    name.starts_with("migration/") || name.starts_with("cpuhp/") || name.starts_with("swapper")
}

/// Returns the workload of `trace`, whose sleeps have their kinds. `in_model` states for each task
/// whether it is replayed.
pub fn programs(trace: &Trace, in_model: &[bool], tokens: Tokens) -> Workload {
    let mut maker = Maker {
        trace,
        in_model,
        tokens,
        servers: Served::of(trace, tokens),
        of_edges: vec![vec![]; trace.tasks.len()],
        of_tokens: vec![None; trace.tokens.len()],
        next: 0,
    };
    let mut places: Vec<Option<u32>> = vec![];
    let mut count = 0;
    for (number, task) in trace.tasks.iter().enumerate() {
        let is_there = in_model[number] && task.burst_count() > 0;
        places.push(is_there.then(|| {
            count += 1;
            count - 1
        }));
    }
    let mut keys = HashSet::new();
    let mut tasks = vec![];
    for number in 0..trace.tasks.len() {
        if places[number].is_some() {
            let mut program = maker.program(number, &places);
            while !keys.insert(program.key.clone()) {
                program.key.push('+');
            }
            tasks.push(program);
        }
    }
    let is_endless = tasks.iter().any(Program::is_endless);
    let of_tokens = maker.of_tokens.iter().flatten().map(|number| number.get() - 1);
    Workload { tasks, semaphores: maker.next, tokens: of_tokens.collect(), is_endless }
}

struct Maker<'a> {
    trace: &'a Trace,
    in_model: &'a [bool],
    tokens: Tokens,
    servers: Served,
    /// For each task, the semaphores of its sleeps, with the sleep before the trace last, or the
    /// one semaphore of all.
    of_edges: Vec<Vec<Option<NonZeroU32>>>,
    of_tokens: Vec<Option<NonZeroU32>>,
    /// Number of semaphores so far. Numbers are stored plus one, so that `None` takes no space.
    next: u32,
}

/// Semaphores of the sleepers that several tasks of a family wake.
#[derive(Default)]
struct Served {
    families: Option<Families>,
    /// By sleeper and family of the wakers.
    slots: HashMap<(u32, u32), Option<NonZeroU32>>,
}

impl Served {
    fn of(trace: &Trace, tokens: Tokens) -> Served {
        if tokens != Tokens::Served {
            return Served::default();
        }
        let families = Families::of(trace);
        let mut slots = HashMap::new();
        for (number, task) in trace.tasks.iter().enumerate() {
            // First waker of each family, whether there is another one, and number of wakeups.
            let mut found: HashMap<u32, (u32, bool, u32)> = HashMap::new();
            for (_, sleep) in task.ended_sleeps().filter(|(_, it)| it.kind == SleepKind::Edge) {
                let Some(waker) = sleep.waker else { continue };
                let (first, several, count) =
                    found.entry(families.family(waker)).or_insert((waker, false, 0));
                *several |= *first != waker;
                *count += 1;
            }
            let served = found
                .iter()
                .filter(|(_, (_, several, count))| *several && *count >= SERVED_WAKEUPS);
            slots.extend(served.map(|(&family, _)| ((number as u32, family), None)));
        }
        Served { families: Some(families), slots }
    }

    fn slot(&mut self, trace: &Trace, task: u32, sleep: u32) -> Option<&mut Option<NonZeroU32>> {
        let families = self.families.as_ref()?;
        let waker = trace.tasks[task as usize].sleep(sleep)?.waker?;
        self.slots.get_mut(&(task, families.family(waker)))
    }
}

/// Returns the number in `slot`, or assigns the next one.
fn number(slot: &mut Option<NonZeroU32>, next: &mut u32) -> u32 {
    let number = slot.get_or_insert_with(|| {
        *next += 1;
        NonZeroU32::new(*next).unwrap_or(NonZeroU32::MAX)
    });
    number.get() - 1
}

impl Maker<'_> {
    fn edge(&mut self, task: u32, sleep: u32) -> u32 {
        let count = match self.tokens {
            Tokens::Served | Tokens::Strict => self.trace.tasks[task as usize].burst_count() + 1,
            Tokens::Counted => 1,
        };
        if let Some(slot) = self.servers.slot(self.trace, task, sleep) {
            return number(slot, &mut self.next);
        }
        let of_task = &mut self.of_edges[task as usize];
        if of_task.is_empty() {
            of_task.resize(count, None);
        }
        number(&mut of_task[(sleep as usize).min(count - 1)], &mut self.next)
    }

    fn token(&mut self, token: u32) -> u32 {
        number(&mut self.of_tokens[token as usize], &mut self.next)
    }

    /// Whether the sleep is an edge of the workload.
    fn is_edge(&self, task: u32, sleep: u32) -> bool {
        let sleep = self.trace.tasks[task as usize].sleep(sleep);
        self.in_model[task as usize] && sleep.is_some_and(|sleep| sleep.kind == SleepKind::Edge)
    }

    fn program(&mut self, number: usize, places: &[Option<u32>]) -> Program {
        let trace = self.trace;
        let task = &trace.tasks[number];
        let own = number as u32;
        let is_forked = task.origin == Origin::Forked
            && task.forked_by.is_some_and(|parent| places[parent].is_some());
        let mut steps = vec![];
        let mut delay_ns = 0;
        let mut clock_ns = task.born_ns;
        match (task.origin, &task.before) {
            (Origin::Before, Some(before)) => {
                clock_ns = 0;
                if before.kind == SleepKind::Edge {
                    steps.push(Step::Wait(self.edge(own, crate::trace::BEFORE)));
                } else {
                    clock_ns = before.wake_ns.unwrap_or(0);
                    steps.push(Step::Timer(clock_ns));
                }
            }
            (Origin::Before, None) => {}
            (Origin::Gap, _) => steps.push(Step::Timer(task.born_ns)),
            (Origin::Forked | Origin::Born, _) if !is_forked => delay_ns = task.born_ns,
            _ => {}
        }
        let by_wall = is_wall_loop(task.bursts());
        let mut is_exhausted = false;
        for (at, burst) in task.bursts().enumerate() {
            let mut done_ns = 0;
            let acts = task.acts(&burst);
            let has_acts = acts.len() > 0;
            for act in acts {
                let step = match act.what {
                    ActKind::Wake { task, sleep } => {
                        if !self.is_edge(task, sleep) {
                            continue;
                        }
                        Step::Post(self.edge(task, sleep))
                    }
                    ActKind::Fork { task } => match places[task as usize] {
                        Some(place) => Step::Fork(place),
                        None => continue,
                    },
                    ActKind::Post { token } | ActKind::Wait { token } if !self.is_token(token) => {
                        continue;
                    }
                    ActKind::Post { token } => Step::Post(self.token(token)),
                    ActKind::Wait { token } => Step::Wait(self.token(token)),
                    ActKind::Prio { prio } => Step::Prio(prio),
                    ActKind::Exec => Step::Exec,
                };
                // In a gap, less of the burst may be left than was done by that time.
                let offset_ns = act.offset_ns.min(burst.cpu_ns);
                if offset_ns > done_ns {
                    steps.push(Step::Run(offset_ns - done_ns));
                    done_ns = offset_ns;
                }
                steps.push(step);
            }
            let rest_ns = burst.cpu_ns.saturating_sub(done_ns);
            let is_cut = burst.state.is_none();
            if is_cut && burst.cpu_ns > ENDLESS_NS {
                steps.push(Step::Endless);
            } else if by_wall && !has_acts && !is_cut {
                steps.push(Step::Runtime(burst.end_ns - burst.first_ns.unwrap_or(burst.wake_ns)));
            } else if rest_ns > 0 {
                steps.push(Step::Run(rest_ns));
            }
            is_exhausted |= is_cut && burst.cpu_ns <= ENDLESS_NS;
            let Some(sleep) = task.sleep(at as u32).filter(|_| !is_cut) else { continue };
            let wake_ns = sleep.wake_ns.unwrap_or(sleep.at_ns);
            match sleep.kind {
                SleepKind::Edge => steps.push(Step::Wait(self.edge(own, at as u32))),
                SleepKind::Relative => steps.push(Step::Sleep(wake_ns - sleep.at_ns)),
                SleepKind::Absolute => {
                    steps.push(Step::Timer(wake_ns.saturating_sub(clock_ns)));
                    clock_ns = wake_ns.max(clock_ns);
                }
                SleepKind::End => {}
            }
        }
        Program {
            key: task.key(),
            name: task.name.clone(),
            task: own,
            is_forked,
            delay_ns,
            prio: task.prio.unwrap_or(120),
            steps: steps.into(),
            is_exhausted,
            set: Properties::default(),
            nice_by: 0,
        }
    }

    /// Whether the token has both a task that posts it and a task that waits for it.
    fn is_token(&self, token: u32) -> bool {
        self.trace.tokens[token as usize]
    }
}

impl Workload {
    /// Replaces the names of tasks by numbers, one for each name.
    pub fn anonymize(&mut self) {
        let mut names: HashMap<String, usize> = HashMap::new();
        for (place, program) in self.tasks.iter_mut().enumerate() {
            let count = names.len() + 1;
            let number = *names.entry(std::mem::take(&mut program.name)).or_insert(count);
            program.name = format!("task-{number}");
            program.key = format!("task-{number}.{place}");
        }
    }

    /// Returns the same workload without [`Step::Exec`], which rt-app's language lacks. The work
    /// before and after each becomes one piece.
    #[must_use]
    pub fn without_execs(&self) -> Workload {
        let mut all = self.clone();
        for program in all.tasks.iter_mut().filter(|it| it.steps.contains(&Step::Exec)) {
            let mut steps: Vec<Step> = vec![];
            let mut joins = false;
            for &step in program.steps.iter() {
                match (step, steps.last_mut()) {
                    (Step::Exec, last) => joins = matches!(last, Some(Step::Run(_))),
                    (Step::Run(ns), Some(Step::Run(before_ns))) if joins => *before_ns += ns,
                    _ => {
                        steps.push(step);
                        joins = false;
                    }
                }
            }
            program.steps = steps.into();
        }
        all
    }

    /// Returns the indices of the tasks that were runnable or running when the trace began.
    pub fn running_before(&self, trace: &Trace) -> Vec<usize> {
        let wants = |program: &Program| {
            trace.tasks[program.task as usize].origin == Origin::Before
                && !matches!(program.steps.first(), Some(Step::Timer(_) | Step::Wait(_)))
        };
        (0..self.tasks.len()).filter(|&place| wants(&self.tasks[place])).collect()
    }

    /// Returns the same work preceded by a lead time of `lead_ns`, in which the tasks that existed
    /// before the trace begin: those that slept sleep, and those that were runnable compete for
    /// CPUs. `early` lists the latter. `alone`: they run indefinitely, and the recorded work is
    /// left out.
    pub fn led(&self, trace: &Trace, lead_ns: u64, early: &[EarlyTask], alone: bool) -> Workload {
        let mut led = self.clone();
        for one in early {
            led.tasks[one.place].delay_ns = one.from_ns.min(lead_ns);
        }
        for program in &mut led.tasks {
            match trace.tasks[program.task as usize].origin {
                Origin::Before | Origin::Gap => {
                    let later_ns = lead_ns - program.delay_ns;
                    let mut steps = program.steps.to_vec();
                    // The first expiry counts from the start of the task, the others from one to
                    // the next.
                    let first = steps.iter_mut().find_map(|step| match step {
                        Step::Timer(ns) => Some(ns),
                        _ => None,
                    });
                    if let Some(ns) = first {
                        *ns = ns.saturating_add(later_ns);
                    }
                    program.steps = steps.into();
                }
                Origin::Forked | Origin::Born if !program.is_forked => {
                    program.delay_ns = program.delay_ns.saturating_add(lead_ns);
                }
                _ => {}
            }
        }
        for one in early {
            let program = &mut led.tasks[one.place];
            if alone {
                program.steps = [Step::Endless].into();
            } else if one.done_ns > 0 {
                let first = std::iter::once(Step::Before(one.done_ns));
                program.steps = first.chain(program.steps.iter().copied()).collect();
            }
        }
        led
    }

    /// Returns the workload in rt-app's language. `vary` receives the length of every run except
    /// the endless ones, in the order of tasks and steps, and returns the length to use.
    pub fn model(&self, name: &str, mut vary: impl FnMut(u64) -> u64) -> Model {
        let tasks = self.tasks.iter().map(|program| self.task(program, &mut vary)).collect();
        Model { name: name.into(), global: Global::default(), tasks }
    }

    fn task(&self, program: &Program, vary: &mut impl FnMut(u64) -> u64) -> ModelTask {
        let attr = |prio: i32| priority(prio, program);
        let mut properties = program.set.clone();
        if properties.policy.is_none() {
            let (policy, priority) = attr(program.prio);
            // Defaults are left out.
            properties.policy = policy.filter(|&policy| policy != Policy::Other);
            properties.priority =
                priority.filter(|&nice| nice != 0 || policy != Some(Policy::Other));
        }
        let mut phases = vec![Phase::default()];
        for &step in program.steps.iter() {
            let action = match step {
                Step::Run(ns) => Action::Run(vary(ns)),
                Step::Before(ns) => Action::Run(ns),
                Step::Runtime(ns) => Action::Runtime(ns),
                Step::Sleep(ns) => Action::Sleep(ns),
                Step::Timer(ns) => {
                    Action::Timer { name: "unique".into(), period_ns: ns, absolute: true }
                }
                Step::Post(number) => Action::SemPost(number.to_string()),
                Step::Wait(number) => Action::SemWait(number.to_string()),
                Step::Fork(place) => Action::Fork(self.tasks[place as usize].key.clone()),
                Step::Exec => Action::Exec,
                Step::Prio(prio) => {
                    if program.set.policy.is_none() {
                        let (policy, priority) = attr(prio);
                        let properties = Properties { policy, priority, ..Properties::default() };
                        phases.push(Phase { properties, ..Phase::default() });
                    }
                    continue;
                }
                Step::Endless => {
                    let events = vec![event(Action::Run(ROUND_NS))];
                    let loops = Loops::Forever;
                    phases.push(Phase { loops, events, ..Phase::default() });
                    continue;
                }
            };
            if let Some(phase) = phases.last_mut() {
                phase.events.push(event(action));
            }
        }
        let flat = phases.len() == 1;
        if !flat {
            for (number, phase) in phases.iter_mut().enumerate() {
                phase.name = format!("p{number}");
            }
        }
        ModelTask {
            key: program.key.clone(),
            instances: u32::from(!program.is_forked),
            delay_ns: if program.is_forked { 0 } else { program.delay_ns },
            loops: Loops::Times(1),
            properties,
            session: None,
            phases,
            flat,
        }
    }
}

/// Returns the policy and priority that rt-app uses for a task of this priority.
fn priority(prio: i32, program: &Program) -> (Option<Policy>, Option<i32>) {
    if prio < 100 {
        return (Some(Policy::Fifo), Some((99 - prio).clamp(1, 99)));
    }
    let nice = match program.set.priority {
        Some(nice) => nice,
        None => (prio - 120 + program.nice_by).clamp(-20, 19),
    };
    (Some(Policy::Other), Some(nice))
}

fn event(action: Action) -> Event {
    let key = match &action {
        Action::Runtime(_) => "runtime",
        Action::Sleep(_) => "sleep",
        Action::Timer { .. } => "timer",
        Action::SemPost(_) => "sem_post",
        Action::SemWait(_) => "sem_wait",
        Action::Fork(_) => "fork",
        Action::Exec => "exec",
        _ => "run",
    };
    Event { key: key.into(), action }
}
