//! CPU limits of a group: response times and throttling by quota, period and burst ([`Limits`]).
//!
//! Each limit runs with several seeds, which draw the phases of its periods. A figure of a limit
//! is the band of its runs: the least, the median, and the most. [`Limits::best`] is the least one
//! that holds the [`Aim`]s in every run, or without an aim the knee: the least limit whose 99th
//! percentile of response times is close to that without a limit. All larger limits that were
//! tried hold them, too.
//!
//! * `limit`: a limit; `words`: it, in the words of the places where it is set; `aim`: aims;
//!   `figures`: figures of runs; `line`: the runs of limits; `run`: running them; `ladder`: the
//!   limits that are tried.

mod aim;
mod figures;
mod ladder;
mod limit;
mod line;
mod run;
#[cfg(test)]
mod tests;
mod words;

pub use aim::Aim;
pub use figures::{Band, Figure, Figures};
pub use limit::{LEAST_US, Limit, PERIOD_MAX_US, QuotaSize, number, time_us};
pub use line::{Cell, Criterion, KEEPS_UP, KNEE, Line};
pub use words::{Words, words};

use ladder::Ladder;
use run::{Bench, Stage};
use schedlab_lab::parallel;
use schedlab_lab::plan::Plan;
use schedlab_workload::close_names;
use std::num::NonZeroUsize;

/// Limits to try on a group.
#[derive(Clone, Debug)]
pub struct LimitsSpec {
    /// Workload, machine and scheduler. [`Plan::repeat`] is the number of runs of each limit.
    pub plan: Plan,
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
    /// Aims, all of which a limit should hold.
    pub aims: Vec<Aim>,
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
    /// Limits by CPUs, period and burst.
    pub lines: Vec<Line>,
    /// Notes for the user.
    pub notes: Vec<String>,
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
        let prepared = spec.plan.prepare().map_err(|error| error.to_string())?;
        let experiment = prepared.experiment().ok_or("limits are for workloads, not benchmarks")?;
        let paths = experiment.groups.groups().iter().map(|group| group.path.as_str());
        check_group(&spec.group, &paths.collect::<Vec<_>>())?;
        let mut notes = prepared.notes().to_vec();
        let runner = Runner { repeat: spec.plan.repeat.max(1), threads, done: &done };
        let mut lines = vec![];
        let sizes = match spec.cpus.is_empty() {
            true => vec![None],
            false => spec.cpus.iter().copied().map(Some).collect(),
        };
        let mut criterion = match spec.aims.is_empty() {
            true => Criterion::Knee,
            false => Criterion::Aims(spec.aims.clone()),
        };
        for cpus in sizes {
            let bench = Bench::new(&spec.plan, &spec.group, cpus);
            let (unlimited, cpus) = runner.cell(&bench, Limit::NONE)?;
            let has_requests = unlimited.band(Figure::P99).is_some();
            if !has_requests && criterion == Criterion::Knee {
                criterion = Criterion::NeverThrottled;
            }
            for &period_us in &spec.periods_us {
                for &burst_us in &spec.bursts_us {
                    let ladder = Ladder { cpus, period_us, burst_us };
                    let mut line = Line {
                        cpus,
                        period_us,
                        burst_us,
                        unlimited: unlimited.clone(),
                        cells: vec![],
                        least: None,
                    };
                    let run = |limit| runner.cell(&bench, limit).map(|(cell, _)| cell);
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
        let left_out: u64 = lines
            .iter()
            .flat_map(|line| &line.cells)
            .flat_map(|cell| &cell.runs)
            .map(|run| run.left_out)
            .sum();
        if left_out > 0 {
            notes.push(format!(
                "the response times of {left_out} requests were not kept; shorten the run \
                 (--duration)"
            ));
        }
        notes.dedup();
        let scheduler = prepared.schedulers().first().map(ToString::to_string);
        Ok(Limits {
            group: spec.group.clone(),
            scheduler: scheduler.unwrap_or_default(),
            repeat: runner.repeat,
            criterion,
            lines,
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

/// Checks that the group exists.
fn check_group(group: &str, paths: &[&str]) -> Result<(), String> {
    if paths.contains(&group) {
        return Ok(());
    }
    if group == "/" || group.is_empty() {
        return Err(format!("--group: the root group has no limit; {}", known(paths)));
    }
    let close = close_names(group, paths.iter().copied());
    let hint = match close.as_slice() {
        [] => known(paths),
        close => format!("did you mean {}?", close.join(" or ")),
    };
    Err(format!("--group: there is no group {group}; {hint}"))
}

fn known(paths: &[&str]) -> String {
    match paths {
        [] => "no task is in a group: use `taskgroup` of a task".into(),
        paths => format!("the groups are {}", paths.join(", ")),
    }
}

/// Runs limits.
struct Runner<'a, F> {
    repeat: u64,
    threads: NonZeroUsize,
    done: &'a F,
}

impl<F: Fn() + Sync> Runner<'_, F> {
    /// Runs a limit with all seeds. Also returns the number of CPUs.
    fn cell(&self, bench: &Bench<'_>, limit: Limit) -> Result<(Cell, u32), String> {
        let stage: Stage = bench.stage(&limit)?;
        let repetitions: Vec<u64> = (0..self.repeat).collect();
        let runs = parallel::map(&repetitions, self.threads, |&repetition| {
            let run = stage.run(repetition);
            (self.done)();
            run
        });
        let runs = runs.into_iter().collect::<Result<_, _>>()?;
        Ok((Cell { limit, runs }, stage.cpus()))
    }
}
