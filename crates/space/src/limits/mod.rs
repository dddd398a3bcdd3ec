//! CPU limits of a group: response times and throttling by quota, period and burst ([`Limits`]).
//!
//! Each limit runs with several seeds, which draw the phases of its periods. A figure of a limit
//! is the band of its runs: the least, the median, and the most. [`Limits::best`] is the least one
//! that holds the [`Aim`]s in every run, or without an aim the knee: the least limit whose 99th
//! percentile of response times is close to that without a limit. All larger limits that were
//! tried hold them, too.
//!
//! The work is a workload or a recording ([`Work`]).
//!
//! * `limit`: a limit; `words`: it, in the words of the places where it is set; `resources`: it, as
//!   deployments and compose files have it (`yaml`); `aim`: aims; `threads`: numbers of threads;
//!   `figures`: figures of runs; `line`: the runs of limits; `run`: running them; `ladder`: the
//!   limits that are tried.

mod aim;
mod figures;
mod ladder;
mod limit;
mod line;
mod resources;
mod run;
#[cfg(test)]
mod tests;
mod threads;
mod words;
mod yaml;

pub use aim::Aim;
pub use figures::{Band, Figure, Figures, Times};
pub use limit::{LEAST_US, Limit, PERIOD_MAX_US, QuotaSize, number, time_us};
pub use line::{Cell, Criterion, KEEPS_UP, KNEE, Line};
pub use resources::Resources;
pub use threads::Threads;
pub use words::{Words, words};

use ladder::Ladder;
use run::{Bench, RecordingBench, WorkloadBench};
use schedlab_core::Quota;
use schedlab_lab::parallel;
use schedlab_lab::plan::{MachineSpec, Plan};
use schedlab_lab::replay::{Replay, ReplayReport};
use schedlab_replay::Trace;
use schedlab_workload::close_names;
use std::borrow::Cow;
use std::num::NonZeroUsize;

/// Limits to try on a group.
pub struct LimitsSpec {
    /// The work.
    pub work: Work,
    /// Path of the group.
    pub group: String,
    /// Quotas. Empty: from less than the group's demand to one that never throttles it.
    pub quotas: Vec<QuotaSize>,
    /// Periods, us.
    pub periods_us: Vec<u64>,
    /// Bursts, us.
    pub bursts_us: Vec<u64>,
    /// Numbers of CPUs. Empty: as in the plan.
    pub cpus: Vec<u32>,
    /// Numbers of threads. `None`: as in the workload.
    pub threads: Option<Threads>,
    /// Present limit, and CPU weight (`cpu.shares`). `None`: the group's own.
    pub present: Option<Resources>,
    /// Aims, all of which a limit should hold.
    pub aims: Vec<Aim>,
    /// Number of runs of each limit.
    pub repeat: u64,
    /// Seed of the first of them.
    pub first_seed: u64,
}

/// Work whose group gets limits.
pub enum Work {
    /// A workload, its machine and its scheduler.
    Workload(Box<Plan>),
    /// A recorded trace.
    Recording(Box<RecordedWork>),
}

/// A recorded trace.
pub struct RecordedWork {
    /// The request, with at most one other scheduler.
    pub replay: Replay,
    /// The recording.
    pub trace: Trace,
    /// Tasks that count. `None`: the group's tasks.
    pub only: Option<String>,
    /// Times that are taken as response times.
    pub times: Times,
}

/// Results of all limits.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Path of the group.
    pub group: String,
    /// The scheduler.
    pub scheduler: String,
    /// Number of runs of each limit.
    pub repeat: u64,
    /// Condition that the least limit holds.
    pub criterion: Criterion,
    /// Task whose number of threads varies, by its key.
    pub threads_of: Option<String>,
    /// Place in the file that has the present limit. `None`: it is the group's own.
    pub present_from: Option<String>,
    /// Whether the quotas were given, and not found.
    pub are_given: bool,
    /// Limits by CPUs, threads, period and burst.
    pub lines: Vec<Line>,
    /// The recording. `None`: the work is a workload.
    pub recording: Option<RecordedFigures>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// A recording, and how far its replay can be trusted.
#[derive(Clone, Debug)]
pub struct RecordedFigures {
    /// The replay without changes.
    pub report: ReplayReport,
    /// Times that are taken as response times.
    pub times: Times,
    /// Figures of the tasks that count, as recorded.
    pub figures: Figures,
    /// Names of the tasks that count.
    pub names: Vec<String>,
    /// Those whose replay is poor.
    pub poor: Vec<String>,
}

impl Limits {
    /// Runs all limits. `done` is called after each run.
    ///
    /// # Errors
    /// The group does not exist, the scheduler has no limits, the workload is malformed, or a run
    /// fails.
    pub fn run(
        spec: &LimitsSpec,
        threads: NonZeroUsize,
        done: impl Fn() + Sync,
    ) -> Result<Limits, String> {
        let begun = Begun::new(spec, threads)?;
        let Begun { recording, mut notes, .. } = begun;
        let runner = Runner { spec, present: begun.present, threads, done: &done };
        let mut lines = vec![];
        let mut scheduler = String::new();
        let mut criterion = match spec.aims.is_empty() {
            true => Criterion::Knee,
            false => Criterion::Aims(spec.aims.clone()),
        };
        for (cpus, count) in spec.machines() {
            let varied = begun.threads_of.as_deref().zip(count);
            let bench = spec.bench(cpus, varied)?;
            let (unlimited, cpus) = runner.cell(&bench, Limit::NONE, Some(&mut scheduler))?;
            if unlimited.band(Figure::Cpus).is_none_or(|band| band.median == 0.0) {
                return Err(format!(
                    "{}: no task of the group uses CPU time in this run, so that no limit matters",
                    spec.group
                ));
            }
            let present = match runner.present {
                Some(limit) => Some(runner.cell(&bench, limit, None)?.0),
                None => None,
            };
            let has_requests = unlimited.band(Figure::P99).is_some();
            if !has_requests && criterion == Criterion::Knee {
                criterion = Criterion::NeverThrottled;
            }
            for &period_us in &spec.periods_us {
                for &burst_us in &spec.bursts_us {
                    let ladder = Ladder { cpus, period_us, burst_us };
                    let mut line = Line {
                        cpus,
                        is_recorded: recording.is_some(),
                        threads: count,
                        period_us,
                        burst_us,
                        unlimited: unlimited.clone(),
                        present: present.clone(),
                        cells: vec![],
                        least: None,
                    };
                    let run = |limit| runner.cell(&bench, limit, None).map(|(cell, _)| cell);
                    if spec.quotas.is_empty() {
                        ladder.climb(&mut line, &criterion, &run)?;
                    } else {
                        notes.extend(ladder.try_given(&mut line, &spec.quotas, &run)?);
                    }
                    line.least = line.least(&criterion);
                    lines.push(line);
                }
            }
        }
        if lines.iter().all(|line: &Line| line.cells.is_empty()) {
            notes.insert(0, "no limit is left to try".into());
            return Err(notes.join("; "));
        }
        let runs = || lines.iter().flat_map(|line: &Line| &line.cells).flat_map(|cell| &cell.runs);
        let left_out: u64 = runs().map(|run| run.left_out).sum();
        if left_out > 0 {
            notes.push(format!(
                "the response times of {left_out} requests were not kept; shorten the run \
                 (--duration)"
            ));
        }
        let stopped = runs().filter(|run| run.is_stopped).count();
        if stopped > 0 {
            notes.push(format!(
                "{stopped} runs under small limits were stopped before the recorded work was done; \
                 their ends are too early (--duration)"
            ));
        }
        notes.dedup();
        Ok(Limits {
            group: spec.group.clone(),
            scheduler,
            repeat: spec.repeat.max(1),
            criterion,
            threads_of: begun.threads_of,
            present_from: begun.present_from,
            are_given: !spec.quotas.is_empty(),
            lines,
            recording,
            notes,
        })
    }

    /// Returns the line and the cell of the least limit of all, in CPUs.
    pub fn best(&self) -> Option<(&Line, &Cell)> {
        let of = |line: &Line| line.least;
        let all = self.lines.iter().filter_map(|line| Some((line, &line.cells[of(line)?])));
        all.min_by(|(_, one), (_, other)| one.limit.cpus().total_cmp(&other.limit.cpus()))
    }
}

/// Facts that are known before the first limit runs.
struct Begun {
    /// The present limit.
    present: Option<Limit>,
    present_from: Option<String>,
    threads_of: Option<String>,
    recording: Option<RecordedFigures>,
    notes: Vec<String>,
}

impl Begun {
    /// Checks that the group exists and can have limits, and replays a recording without changes.
    fn new(spec: &LimitsSpec, cores: NonZeroUsize) -> Result<Begun, String> {
        let described = |error: schedlab_lab::Error| error.to_string();
        match &spec.work {
            Work::Workload(plan) => {
                let prepared = plan.prepare().map_err(described)?;
                let experiment =
                    prepared.experiment().ok_or("limits are for workloads, not benchmarks")?;
                let groups = experiment.groups.groups().iter();
                let groups: Vec<_> = groups.map(|it| (it.path.as_str(), it.quota)).collect();
                let own = check_group(&spec.group, &groups, "use `taskgroup` of a task")?;
                let threads_of = match &spec.threads {
                    Some(threads) => Some(threads.task_of(&experiment.model, &spec.group)?),
                    None => None,
                };
                let notes = prepared.notes().to_vec();
                let (present, present_from) = spec.present_limit(own);
                Ok(Begun { present, present_from, threads_of, recording: None, notes })
            }
            Work::Recording(work) => {
                if spec.threads.is_some() {
                    let what = "--threads: a recording has the threads that it has; the number can \
                                be varied in a workload";
                    return Err(what.into());
                }
                let RecordedWork { replay, trace, only, times } = &**work;
                let prepared = replay.prepare(trace.clone()).map_err(described)?;
                let limited = prepared.limited(&spec.group, &[], only.as_deref());
                let limited = limited.map_err(described)?;
                let groups = limited.groups().map_err(described)?;
                let groups: Vec<_> =
                    groups.iter().map(|(path, quota)| (path.as_str(), *quota)).collect();
                let own = check_group(
                    &spec.group,
                    &groups,
                    "name their groups in a file (--groups, docs/replay.md), or use --change 'move \
                     TASKS /GROUP'",
                )?;
                if limited.names().is_empty() {
                    return Err(format!("no recorded task is in {}", spec.group));
                }
                let figures = Figures::of_recording(limited.recorded(), *times);
                let unchanged = Replay {
                    schedulers: vec![],
                    set: vec![],
                    at: vec![],
                    machine: MachineSpec::default(),
                    changes: vec![],
                    tries: vec![],
                    ..replay.clone()
                };
                let unchanged = unchanged.prepare(trace.clone()).map_err(described)?;
                let report = unchanged.run(cores).map_err(described)?;
                let names: Vec<String> = limited.names().into_iter().map(String::from).collect();
                let is_poor = |name: &&String| {
                    let mut rows = report.groups.iter();
                    rows.any(|row| row.name == **name && row.is_large && row.grade == "poor")
                };
                let poor = names.iter().filter(is_poor).cloned().collect();
                let recording = RecordedFigures { report, times: *times, figures, names, poor };
                let (present, present_from) = spec.present_limit(own);
                let (recording, notes) = (Some(recording), vec![]);
                Ok(Begun { present, present_from, threads_of: None, recording, notes })
            }
        }
    }
}

impl LimitsSpec {
    /// Returns the present limit, and the file that has it. `own`: the group's own limit.
    fn present_limit(&self, own: Option<Limit>) -> (Option<Limit>, Option<String>) {
        match &self.present {
            Some(resources) => (resources.limit, Some(resources.place.clone())),
            None => (own, None),
        }
    }

    /// Returns the numbers of CPUs and threads to try. `None`: as in the work.
    fn machines(&self) -> Vec<(Option<u32>, Option<u32>)> {
        let all = |counts: &[u32]| match counts.is_empty() {
            true => vec![None],
            false => counts.iter().copied().map(Some).collect(),
        };
        let threads = all(self.threads.as_ref().map_or(&[], |threads| &threads.counts));
        let with_threads = |cpus| threads.iter().map(move |&threads| (cpus, threads));
        all(&self.cpus).into_iter().flat_map(with_threads).collect()
    }

    fn bench<'a>(
        &'a self,
        cpus: Option<u32>,
        threads: Option<(&'a str, u32)>,
    ) -> Result<Bench<'a>, String> {
        match &self.work {
            Work::Workload(plan) => {
                let mut plan = Cow::Borrowed(&**plan);
                if cpus.is_some() {
                    plan.to_mut().machine.cpus = cpus;
                }
                Ok(Bench::Workload(Box::new(WorkloadBench { plan, threads })))
            }
            Work::Recording(work) => {
                let mut replay = work.replay.clone();
                replay.machine.cpus = cpus.or(replay.machine.cpus);
                let prepared = replay.prepare(work.trace.clone());
                let prepared = prepared.map_err(|error| error.to_string())?;
                let (only, times) = (work.only.as_deref(), work.times);
                Ok(Bench::Recording(Box::new(RecordingBench { prepared, only, times })))
            }
        }
    }
}

/// Checks that the group exists, and returns its limit. `hint`: how tasks get into groups.
fn check_group(group: &str, groups: &[(&str, Quota)], hint: &str) -> Result<Option<Limit>, String> {
    if let Some((_, quota)) = groups.iter().find(|(path, _)| *path == group) {
        return Ok(run::limit_of(quota));
    }
    let paths: Vec<&str> = groups.iter().map(|(path, _)| *path).collect();
    let known = || match paths.as_slice() {
        [] => format!("no task is in a group: {hint}"),
        paths => format!("the groups are {}", paths.join(", ")),
    };
    if group == "/" || group.is_empty() {
        return Err(format!("--group: the root group has no limit; {}", known()));
    }
    let close = close_names(group, paths.iter().copied());
    let hint = match close.as_slice() {
        [] => known(),
        close => format!("did you mean {}?", close.join(" or ")),
    };
    Err(format!("--group: there is no group {group}; {hint}"))
}

/// Runs limits.
struct Runner<'a, F> {
    spec: &'a LimitsSpec,
    present: Option<Limit>,
    threads: NonZeroUsize,
    done: &'a F,
}

impl<F: Fn() + Sync> Runner<'_, F> {
    /// Runs a limit with all seeds. Also returns the number of CPUs, and the scheduler's name.
    fn cell(
        &self,
        bench: &Bench<'_>,
        limit: Limit,
        scheduler: Option<&mut String>,
    ) -> Result<(Cell, u32), String> {
        let group = &self.spec.group;
        let shares = self.spec.present.as_ref().and_then(|it| it.shares);
        let mut settings: Vec<String> = limit.settings(group).into();
        settings.extend(shares.map(|shares| format!("{group}:cpu.shares={shares}")));
        let stage = bench.stage(group, &settings)?;
        if let Some(scheduler) = scheduler {
            *scheduler = stage.scheduler();
        }
        let repetitions: Vec<u64> = (0..self.spec.repeat.max(1)).collect();
        let runs = parallel::map(&repetitions, self.threads, |&repetition| {
            let run = stage.run(self.spec.first_seed.wrapping_add(repetition));
            (self.done)();
            run
        });
        let runs = runs.into_iter().collect::<Result<_, _>>()?;
        Ok((Cell { limit, runs }, stage.cpus()))
    }
}
