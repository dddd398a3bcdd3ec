//! The program of each task of a trace: [`Workload`], what rt-app's language can say of it.

use crate::kinds::is_wall_loop;
use crate::trace::{Kind, Origin, Trace, What};
use schedlab_core::Policy;
use schedlab_workload::model::{
    Action, Event, Global, Loops, Model, Phase, Properties, Task as ModelTask,
};
use serde::Deserialize;
use std::collections::{HashMap, HashSet};
use std::num::NonZeroU32;
use std::sync::Arc;

/// How edges become semaphores.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tokens {
    /// One for each edge: causality exactly as recorded.
    #[default]
    Strict,
    /// One for each sleeper: whoever comes first wakes it.
    Counted,
}

/// A burst that the trace's end cuts goes on for ever if it has taken more than this, ns.
const ENDLESS_NS: u64 = 20_000_000;

/// A round of a task that goes on for ever, ns: by its rounds one can tell that it has come so far.
const ROUND_NS: u64 = 1_000_000;

/// What a task does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Computes, ns.
    Run(u64),
    /// Computes until so much time has passed, ns.
    Runtime(u64),
    /// Has computed for so long when the trace begins, ns: what [`Workload::led`] puts first.
    Before(u64),
    /// Computes for ever.
    Endless,
    /// Sleeps, ns.
    Sleep(u64),
    /// Sleeps until so long after the time before, ns; the first time is the task's start.
    Timer(u64),
    /// Posts a semaphore.
    Post(u32),
    /// Waits for a semaphore.
    Wait(u32),
    /// Forks a task, by its place in [`Workload::tasks`].
    Fork(u32),
    /// Executes another program.
    Exec,
    /// Has another priority from now on, as the kernel counts.
    Prio(i32),
}

/// A task of the workload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// `name.pid`, and `.incarnation` if not 0.
    pub key: String,
    /// Its group in reports.
    pub name: String,
    /// Its place in [`Trace::tasks`].
    pub task: u32,
    /// Whether another forks it.
    pub is_forked: bool,
    /// When it starts otherwise, ns.
    pub delay_ns: u64,
    /// The priority it begins with, as the kernel counts.
    pub prio: i32,
    /// What it does.
    pub steps: Arc<[Step]>,
    /// The trace ends before it does, and it ends there.
    pub is_exhausted: bool,
    /// What is changed of it, and where it may run.
    pub set: Properties,
    /// The change of its nice value, in force at any time.
    pub nice_by: i32,
}

impl Program {
    /// Whether it goes on for ever.
    pub fn is_endless(&self) -> bool {
        self.steps.last() == Some(&Step::Endless)
    }
}

/// A task that wanted a CPU when the trace began, or had one, in the time before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Early {
    /// Its place in [`Workload::tasks`].
    pub place: usize,
    /// From when on it wants one, ns since the time before began.
    pub from_ns: u64,
    /// What it has computed until the trace begins, ns.
    pub done_ns: u64,
}

/// A trace as a workload.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Workload {
    /// The tasks, in the order in which they were first heard of.
    pub tasks: Vec<Program>,
    /// How many semaphores there are.
    pub semaphores: u32,
    /// Whether a task goes on for ever.
    pub is_endless: bool,
}

/// Whether a task of this name is no part of any workload: what the kernel does by itself to move
/// tasks and CPUs.
pub fn is_machinery(name: &str) -> bool {
    name.starts_with("migration/") || name.starts_with("cpuhp/") || name.starts_with("swapper")
}

/// The workload of `trace`, whose sleeps have their kinds. `in_model`: for each task whether it is
/// replayed.
pub fn programs(trace: &Trace, in_model: &[bool], tokens: Tokens) -> Workload {
    let mut maker = Maker {
        trace,
        in_model,
        tokens,
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
    Workload { tasks, semaphores: maker.next, is_endless }
}

struct Maker<'a> {
    trace: &'a Trace,
    in_model: &'a [bool],
    tokens: Tokens,
    /// For each task those of its sleeps, the one before the trace last; or the one of all.
    of_edges: Vec<Vec<Option<NonZeroU32>>>,
    of_tokens: Vec<Option<NonZeroU32>>,
    /// How many semaphores there are; a number is stored as one more, so that none takes no room.
    next: u32,
}

/// The number in `slot`, or the next.
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
            Tokens::Strict => self.trace.tasks[task as usize].burst_count() + 1,
            Tokens::Counted => 1,
        };
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
        self.in_model[task as usize] && sleep.is_some_and(|sleep| sleep.kind == Kind::Edge)
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
                if before.kind == Kind::Edge {
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
                    What::Wake { task, sleep } => {
                        if !self.is_edge(task, sleep) {
                            continue;
                        }
                        Step::Post(self.edge(task, sleep))
                    }
                    What::Fork { task } => match places[task as usize] {
                        Some(place) => Step::Fork(place),
                        None => continue,
                    },
                    What::Post { token } | What::Wait { token } if !self.is_token(token) => {
                        continue;
                    }
                    What::Post { token } => Step::Post(self.token(token)),
                    What::Wait { token } => Step::Wait(self.token(token)),
                    What::Prio { prio } => Step::Prio(prio),
                    What::Exec => Step::Exec,
                };
                // In a gap less may be left of the burst than it had done by then.
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
                Kind::Edge => steps.push(Step::Wait(self.edge(own, at as u32))),
                Kind::Relative => steps.push(Step::Sleep(wake_ns - sleep.at_ns)),
                Kind::Absolute => {
                    steps.push(Step::Timer(wake_ns.saturating_sub(clock_ns)));
                    clock_ns = wake_ns.max(clock_ns);
                }
                Kind::End => {}
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

    /// Whether somebody posts the token and somebody waits for it.
    fn is_token(&self, token: u32) -> bool {
        self.trace.tokens[token as usize]
    }
}

impl Workload {
    /// Replaces the tasks' names by numbers: one for each name.
    pub fn anonymize(&mut self) {
        let mut names: HashMap<String, usize> = HashMap::new();
        for (place, program) in self.tasks.iter_mut().enumerate() {
            let count = names.len() + 1;
            let number = *names.entry(std::mem::take(&mut program.name)).or_insert(count);
            program.name = format!("task-{number}");
            program.key = format!("task-{number}.{place}");
        }
    }

    /// The same without [`Step::Exec`], which rt-app's language does not have: the work on both
    /// sides of each is one piece.
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

    /// The places of tasks that wanted a CPU when the trace began, or had one.
    pub fn running_before(&self, trace: &Trace) -> Vec<usize> {
        let wants = |program: &Program| {
            trace.tasks[program.task as usize].origin == Origin::Before
                && !matches!(program.steps.first(), Some(Step::Timer(_) | Step::Wait(_)))
        };
        (0..self.tasks.len()).filter(|&place| wants(&self.tasks[place])).collect()
    }

    /// The same work with `lead_ns` in front of it, in which the tasks that were there before the
    /// trace begin: those that slept sleep, and those that wanted a CPU compete for it. `early`:
    /// who does. `alone`: they do so for ever, and nothing is done of what was recorded.
    pub fn led(&self, trace: &Trace, lead_ns: u64, early: &[Early], alone: bool) -> Workload {
        let mut led = self.clone();
        for one in early {
            led.tasks[one.place].delay_ns = one.from_ns.min(lead_ns);
        }
        for program in &mut led.tasks {
            match trace.tasks[program.task as usize].origin {
                Origin::Before | Origin::Gap => {
                    let later_ns = lead_ns - program.delay_ns;
                    let mut steps = program.steps.to_vec();
                    // Its first time counts from its start, the others from one to the next.
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

    /// In rt-app's language. `vary` is given the length of every run but the endless ones, in the
    /// order of the tasks and their steps, and gives the length that it is to have.
    pub fn model(&self, name: &str, mut vary: impl FnMut(u64) -> u64) -> Model {
        let tasks = self.tasks.iter().map(|program| self.task(program, &mut vary)).collect();
        Model { name: name.into(), global: Global::default(), tasks }
    }

    fn task(&self, program: &Program, vary: &mut impl FnMut(u64) -> u64) -> ModelTask {
        let attr = |prio: i32| priority(prio, program);
        let mut properties = program.set.clone();
        if properties.policy.is_none() {
            let (policy, priority) = attr(program.prio);
            // What is the default need not be said.
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
            phases,
            flat,
        }
    }
}

/// Policy and priority of a task of this priority, as rt-app has them.
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
