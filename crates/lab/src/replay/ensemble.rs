//! Runs each column of a replay several times, each time with all work slightly longer or shorter.

use super::Prepared;
use super::lead::Lead;
use super::runner::Runner;
use crate::error::Error;
use crate::experiment::Experiment;
use crate::parallel;
use crate::session::{Session, Shared};
use crate::setup;
use schedlab_core::{Event, GroupStats, Observer, TaskId};
use schedlab_machine::{Action, SplitMix64, TaskState};
use schedlab_replay::ahead::{self, Overtaking, Progress};
use schedlab_replay::behind::WaitTimes;
use schedlab_replay::responses;
use schedlab_replay::stats::{StatsObserver, TaskStats, begins_asleep};
use schedlab_workload::WaitsFor;
use std::collections::{HashMap, HashSet};
use std::num::NonZeroUsize;

/// Result of a run.
pub(super) struct Outcome {
    /// Statistics of each task of the workload, by place.
    pub tasks: Vec<TaskStats>,
    /// End of the run, ns.
    pub end_ns: u64,
    /// Tasks, by place, that were waiting for semaphores at the end.
    pub waiting: Vec<(usize, u32)>,
    /// Tasks, by place, that had not ended.
    pub left: Vec<usize>,
    /// Tasks that ran ahead of their wakers, in the run of the unchanged workload; empty in the
    /// others.
    pub overtaking: Vec<Overtaking>,
    /// Places of the task that waited and of the task that had the CPU (`None`: it was idle), and
    /// the waiting time, ns. Recorded if requested.
    pub behind: Vec<(usize, Option<usize>, u64)>,
    /// Groups that had a limit, with their statistics since the beginning of the trace.
    pub limited: Vec<(String, GroupStats)>,
}

/// Returns the statistics of all groups of `experiment` except the root.
fn group_stats(session: &Session<'_>, experiment: &Experiment, column: &Runner) -> Vec<GroupStats> {
    if !column.choice.release.can.quotas {
        return vec![];
    }
    let ids = setup::group_ids(experiment.groups.groups().len());
    let of = |id| session.scheduler().inspect().group_stats(id).unwrap_or_default();
    ids.into_iter().map(of).collect()
}

/// Runs all columns and returns the results by column. `observer` makes an observer for each run.
/// After a run broke down, no other run begins.
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

/// Returns the run with this seed. Seed 0 leaves the workload unchanged.
pub(super) fn run<O: Observer>(
    prepared: &Prepared,
    column: &Runner,
    seed: u64,
    observer: O,
) -> Result<Outcome, Error> {
    let trace = &prepared.trace;
    let mut random = SplitMix64::new(seed);
    let mut vary = |ns: u64| match seed {
        0 => ns,
        _ => varied(ns, random.unit()),
    };
    let lead = Lead::new(prepared, column, seed)?;
    let mut lengths = vec![];
    let vary = |ns: u64| {
        let ns = vary(ns);
        lengths.push(ns);
        ns
    };
    let experiment = column.led(trace, lead.ns, &lead.early, false, vary)?;
    let until_ns = prepared.setup.limit_ns.saturating_add(lead.ns);
    let programs = &column.workload.tasks;
    let places: HashMap<&str, usize> =
        programs.iter().enumerate().map(|(place, program)| (program.key.as_str(), place)).collect();
    let own = Shared::new((
        StatsObserver::default(),
        (Progress::default(), prepared.replay.explain.then(WaitTimes::default)),
    ));
    let mut session = experiment.unmeasured_session(&experiment.config, &column.choice, lead.ns)?;
    session.observe((own.clone(), observer));
    let endless = Endless::of(column);
    let mut stops = stops(prepared, column, lead.ns);
    stops.retain(|&at_ns| at_ns < until_ns);
    let mut groups_before = vec![];
    session.stop_at(&stops, |session| {
        if lead.ns > 0 && session.now_ns() == lead.ns {
            own.borrow_mut().0.begin(0);
            groups_before = group_stats(session, &experiment, column);
        } else {
            endless.end(session);
        }
        true
    })?;
    session.exhaust(until_ns)?;
    let limited = limited(&session, &experiment, column, &groups_before);
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
    let overtaking = match seed {
        0 => ahead::overtaking(trace, &column.workload, progress, &task_of),
        _ => vec![],
    };
    let stretches =
        task_of.iter().map(|task| task.map_or(&[][..], |task| progress.stretches(task)));
    let requests = responses::of_run(&responses::Run {
        workload: &column.workload,
        lengths: &lengths,
        stretches: stretches.collect(),
    });
    for (stats, requests) in tasks.iter_mut().zip(requests) {
        stats.requests = requests;
    }
    let place = |task: TaskId| place_of.get(&task).copied();
    // The first turn of a task that was asleep when the trace began is not recorded work.
    let counts =
        |place: usize, is_first: bool| !is_first || !begins_asleep(&programs[place], trace);
    let behind =
        behind.iter().flat_map(WaitTimes::times).filter_map(|(waits, runs, is_first, ns)| {
            let waits = place(waits).filter(|&place| counts(place, is_first))?;
            Some((waits, runs.and_then(place), ns))
        });
    Ok(Outcome { tasks, end_ns, waiting, left, overtaking, behind: behind.collect(), limited })
}

/// Returns the groups whose periods ended since `before`, with the statistics since then.
fn limited(
    session: &Session<'_>,
    experiment: &Experiment,
    column: &Runner,
    before: &[GroupStats],
) -> Vec<(String, GroupStats)> {
    let now = group_stats(session, experiment, column);
    let since = experiment.groups.groups().iter().zip(now).enumerate().map(|(at, (group, now))| {
        let was = before.get(at).copied().unwrap_or_default();
        let stats = GroupStats {
            nr_periods: now.nr_periods - was.nr_periods,
            nr_throttled: now.nr_throttled - was.nr_throttled,
            throttled_ns: now.throttled_ns - was.throttled_ns,
            ..now
        };
        (group.path.clone(), stats)
    });
    since.filter(|(_, stats)| stats.nr_periods > 0).collect()
}

/// Times at which a run is interrupted, ns: the beginning of the trace, if a lead precedes it, and
/// times at which endless tasks are examined.
pub(super) fn stops(prepared: &Prepared, column: &Runner, lead_ns: u64) -> Vec<u64> {
    let span_ns = prepared.trace.span_ns.max(1);
    let begin = (lead_ns > 0).then_some(lead_ns);
    let eighths = if column.workload.is_endless { 8..=32 } else { 0..=0 };
    let over = eighths.filter(|&eighth| eighth > 0);
    let over = over.map(|eighth| lead_ns + span_ns / 8 * eighth + span_ns % 8);
    begin.into_iter().chain(over).collect()
}

/// Tasks of a column that never end by themselves, by key. They are killed when the trace is over:
/// nothing is known about them after that, and they may keep other tasks from ever ending.
pub(super) struct Endless(HashSet<String>);

impl Endless {
    /// Returns the endless tasks of `column`.
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

/// Returns `ns` times 1 + 0.01 (2r - 1), r drawn evenly from 0 to 1; at least 1 ns.
fn varied(ns: u64, r: f64) -> u64 {
    ((ns as f64 * (1.0 + 0.01 * (2.0 * r - 1.0))).round() as u64).max(1)
}
