//! Runs each column of a replay several times, each time with all work a little longer or shorter.

use super::Prepared;
use super::columns::Runner;
use super::lead::Lead;
use crate::error::Error;
use crate::parallel;
use crate::session::{Session, Shared};
use schedlab_core::{Event, Observer, TaskId};
use schedlab_machine::{Action, SplitMix64, TaskState};
use schedlab_replay::ahead::{self, Overtaking, Progress};
use schedlab_replay::behind::WaitTimes;
use schedlab_replay::stats::{StatsObserver, TaskStats, begins_asleep};
use schedlab_workload::WaitsFor;
use std::collections::{HashMap, HashSet};
use std::num::NonZeroUsize;

/// One run.
pub(super) struct Outcome {
    /// What was seen of each task of the workload, by its place.
    pub tasks: Vec<TaskStats>,
    /// When it ended, ns.
    pub end_ns: u64,
    /// Tasks, by place, that waited for semaphores then.
    pub waiting: Vec<(usize, u32)>,
    /// Tasks that had not ended, by place.
    pub left: Vec<usize>,
    /// Who ran ahead of whom, in the run of the workload as it is; empty in the others.
    pub overtaking: Vec<Overtaking>,
    /// Who waited behind whom (none: an idle CPU), by place, for how long, ns; if that was asked.
    pub behind: Vec<(usize, Option<usize>, u64)>,
}

/// For each column all its runs. `observer` makes one for each; when a run breaks down no other is
/// begun.
pub(super) fn run_all<O: Observer>(
    prepared: &Prepared,
    threads: NonZeroUsize,
    observer: impl Fn() -> O + Sync,
) -> Result<Vec<Vec<Outcome>>, Error> {
    let columns = &prepared.setup.columns;
    let seeds = u64::from(prepared.replay.seeds);
    let items: Vec<(usize, u64)> =
        (0..columns.len()).flat_map(|column| (0..seeds).map(move |seed| (column, seed))).collect();
    let work = |&(column, seed): &(usize, u64)| run(prepared, &columns[column], seed, observer());
    let mut all: Vec<Vec<Outcome>> = columns.iter().map(|_| vec![]).collect();
    let mut broken = None;
    parallel::for_each_in_order(&items, threads, work, |at, outcome| {
        match outcome {
            Ok(outcome) => all[items[at].0].push(outcome),
            Err(error) => broken = Some(error),
        }
        broken.is_none()
    });
    broken.map_or(Ok(all), Err)
}

/// The run with this seed; 0 is the workload as it is.
fn run<O: Observer>(
    prepared: &Prepared,
    column: &Runner,
    seed: u64,
    observer: O,
) -> Result<Outcome, Error> {
    let trace = &prepared.trace;
    let mut random = SplitMix64::new(seed);
    let vary = |ns: u64| match seed {
        0 => ns,
        _ => varied(ns, random.unit()),
    };
    let lead = Lead::new(prepared, column, seed)?;
    let experiment = column.led(trace, &lead, false, vary)?;
    let until_ns = prepared.setup.limit_ns.saturating_add(lead.ns);
    let programs = &column.workload.tasks;
    let places: HashMap<&str, usize> =
        programs.iter().enumerate().map(|(place, program)| (program.key.as_str(), place)).collect();
    let own = Shared::new((
        StatsObserver::default(),
        ((seed == 0).then(Progress::default), prepared.replay.explain.then(WaitTimes::default)),
    ));
    let mut session = experiment.unmeasured_session(&experiment.config, &column.choice, lead.ns)?;
    session.observe((own.clone(), observer));
    let endless = Endless::of(column);
    let mut stops = stops(prepared, column, lead.ns);
    stops.retain(|&at_ns| at_ns < until_ns);
    session.stop_at(&stops, |session| {
        if lead.ns > 0 && session.now_ns() == lead.ns {
            own.borrow_mut().0.begin(0);
        } else {
            endless.end(session);
        }
        true
    })?;
    session.exhaust(until_ns)?;
    let end_ns = session.now_ns().saturating_sub(lead.ns);
    own.borrow_mut().1.on(end_ns, Event::Finished);
    let (watcher, (progress, behind)) = &*own.borrow();
    let kernel = session.kernel();
    let mut tasks = vec![TaskStats::default(); programs.len()];
    let mut left = vec![];
    let mut task_of = vec![None; programs.len()];
    let mut place_of = HashMap::new();
    for thread in kernel.threads() {
        let Some(&place) = places.get(thread.key) else { continue };
        task_of[place] = Some(thread.task);
        place_of.insert(thread.task, place);
        tasks[place] = watcher.stats(thread.task, &programs[place], trace, end_ns);
        let state = session.task_state(thread.task);
        let is_over = matches!(state, TaskState::Zombie | TaskState::Reaped | TaskState::New);
        if !is_over && !programs[place].is_endless() {
            left.push(place);
        }
    }
    let mut waiting = vec![];
    for thread in kernel.wait_graph().waiting {
        let key = kernel.name(thread.task);
        if let (WaitsFor::Semaphore { name }, Some(&place)) = (&thread.waits_for, places.get(key))
            && let Ok(number) = name.parse()
        {
            waiting.push((place, number));
        }
    }
    let overtaking = progress
        .as_ref()
        .map_or(vec![], |progress| ahead::overtaking(trace, &column.workload, progress, &task_of));
    let place = |task: TaskId| place_of.get(&task).copied();
    // The first turn of a task that was asleep when the trace began is no recorded work.
    let counts =
        |place: usize, is_first: bool| !is_first || !begins_asleep(&programs[place], trace);
    let behind =
        behind.iter().flat_map(WaitTimes::times).filter_map(|(waits, runs, is_first, ns)| {
            let waits = place(waits).filter(|&place| counts(place, is_first))?;
            Some((waits, runs.and_then(place), ns))
        });
    Ok(Outcome { tasks, end_ns, waiting, left, overtaking, behind: behind.collect() })
}

/// When the trace begins, if something goes before it, and when it is looked at who goes on for
/// ever, ns.
pub(super) fn stops(prepared: &Prepared, column: &Runner, lead_ns: u64) -> Vec<u64> {
    let span_ns = prepared.trace.span_ns.max(1);
    let begin = (lead_ns > 0).then_some(lead_ns);
    let eighths = if column.workload.is_endless { 8..=32 } else { 0..=0 };
    let over = eighths.filter(|&eighth| eighth > 0);
    let over = over.map(|eighth| lead_ns + span_ns / 8 * eighth + span_ns % 8);
    begin.into_iter().chain(over).collect()
}

/// Tasks of a column that never end by themselves, by key. They are ended when the trace is over:
/// nothing is known of them after that, and they may keep others from ever reaching their ends.
pub(super) struct Endless(HashSet<String>);

impl Endless {
    /// The endless tasks of `column`.
    pub fn of(column: &Runner) -> Endless {
        let programs = column.workload.tasks.iter().filter(|program| program.is_endless());
        Endless(programs.map(|program| program.key.clone()).collect())
    }

    /// Ends those that have completed their recorded work. The others continue.
    pub fn end(&self, session: &mut Session<'_>) {
        let threads = session.kernel().threads();
        let over: Vec<TaskId> = threads
            .filter(|thread| thread.loop_rounds > 0 && self.0.contains(thread.key))
            .map(|thread| thread.task)
            .collect();
        for task in over {
            // A task that has ended cannot be killed again.
            let _ = session.act(&Action::Kill(task));
        }
    }
}

/// `ns` times 1 + 0.01 (2r - 1), r drawn evenly from 0 to 1; at least 1 ns.
fn varied(ns: u64, r: f64) -> u64 {
    ((ns as f64 * (1.0 + 0.01 * (2.0 * r - 1.0))).round() as u64).max(1)
}
