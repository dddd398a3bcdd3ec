//! Recorded work that runs again with changes: [`Work`].

use super::aim::Measure;
use super::change::apply;
use super::figure::Figure;
use schedlab_core::GroupStats;
use schedlab_lab::parallel;
use schedlab_lab::replay::{Prepared, Replay, Sample};
use schedlab_replay::score::Band;
use schedlab_replay::stats::TaskStats;
use schedlab_replay::{Trace, select};
use schedlab_workload::groups;
use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Values of the measures in a run. `None`: too few values, or the run was stopped early.
pub(super) type Values = Vec<Option<f64>>;

/// A recording and the figures that are measured.
pub(super) struct Work {
    replay: Replay,
    trace: Trace,
    /// The recording, replayed under the recorded scheduler.
    pub base: Prepared,
    /// Measures, with the places of their tasks.
    measures: Vec<(Measure, Vec<usize>)>,
    /// Values of the recording.
    pub recorded: Values,
    /// The recording, and a replay without changes.
    samples: [Sample; 2],
    /// Number of runs so far.
    runs: AtomicUsize,
}

impl Work {
    /// Prepares the recording.
    ///
    /// # Errors
    /// The request is invalid, or the trace lacks required events.
    pub fn new(replay: Replay, trace: Trace) -> Result<Work, String> {
        let base = replay.prepare(trace.clone()).map_err(|error| error.to_string())?;
        let replayed = base.sample(0).map_err(|error| error.to_string())?;
        let samples = [base.recorded_sample(), replayed];
        let (measures, recorded, runs) = (vec![], vec![], AtomicUsize::new(1));
        Ok(Work { replay, trace, base, measures, recorded, samples, runs })
    }

    /// Returns the request.
    pub fn replay(&self) -> &Replay {
        &self.replay
    }

    /// Measures of this work.
    pub fn measures(&self) -> impl Iterator<Item = &Measure> {
        self.measures.iter().map(|(measure, _)| measure)
    }

    /// Number of runs so far.
    pub fn runs(&self) -> usize {
        self.runs.load(Ordering::Relaxed)
    }

    /// Names of the reported tasks, by CPU time, with this time, ns. Kernel threads and real-time
    /// tasks are left out.
    pub fn names(&self) -> Vec<(String, u64)> {
        let mut names: Vec<(String, u64)> = vec![];
        let selected = self.base.selected();
        let trace = self.base.trace();
        for program in &self.base.workload().tasks {
            let task = &trace.tasks[program.task as usize];
            if !selected[program.task as usize] || task.is_kernel || program.prio < 100 {
                continue;
            }
            match names.iter_mut().find(|(name, _)| *name == program.name) {
                Some((_, cpu_ns)) => *cpu_ns += task.cpu_ns(),
                None => names.push((program.name.clone(), task.cpu_ns())),
            }
        }
        names.sort_by_key(|(_, cpu_ns)| std::cmp::Reverse(*cpu_ns));
        names
    }

    /// Returns the places of the tasks of a measure.
    ///
    /// # Errors
    /// No task has such a name.
    fn places(&self, measure: &Measure) -> Result<Vec<usize>, String> {
        let found = match &measure.tasks {
            Some(tasks) => {
                let found = select::tasks(self.base.trace(), tasks);
                found.map_err(|what| format!("{measure}: {}: {what}", self.replay.name))?
            }
            None => self.base.selected().to_vec(),
        };
        let programs = self.base.workload().tasks.iter().enumerate();
        Ok(programs.filter(|(_, it)| found[it.task as usize]).map(|(place, _)| place).collect())
    }

    /// Names of the tasks of a measure.
    pub fn names_of(&self, measure: usize) -> BTreeSet<&str> {
        let programs = &self.base.workload().tasks;
        self.measures[measure].1.iter().map(|&place| programs[place].name.as_str()).collect()
    }

    /// Adds a measure, and returns its number. A percentile without a kind becomes that of response
    /// times or, where the recording or its replay has too few, of wakeup latencies.
    ///
    /// # Errors
    /// No task has such a name, or the recording has too few values.
    pub fn measure(&mut self, measure: &Measure) -> Result<usize, String> {
        let places = self.places(measure)?;
        let mut measure = measure.clone();
        let [of_recording, of_replay] = &self.samples;
        let value = |measure: &Measure, sample| value(measure, &places, sample, &self.base);
        let mut found = value(&measure, of_recording);
        if let Figure::Percentile(percent) = measure.figure {
            let is_known = found.is_some() && value(&measure, of_replay).is_some();
            measure.figure = match is_known {
                true => Figure::Response(percent),
                false => Figure::Latency(percent),
            };
            found = value(&measure, of_recording);
        }
        if found.is_none() {
            return Err(format!(
                "{measure}: {}: there are too few values (p50 needs 10, p90 and p95 30, p99 100)",
                self.replay.name
            ));
        }
        self.measures.push((measure, places));
        self.recorded.push(found);
        Ok(self.measures.len() - 1)
    }

    /// Returns the recording with `changes` instead of its own scheduler.
    fn changed(&self, changes: &[String]) -> Result<Prepared, String> {
        let mut replay = self.replay.clone();
        for change in changes {
            apply(change, &mut replay)?;
        }
        replay.prepare(self.trace.clone()).map_err(|error| error.to_string())
    }

    /// Checks that all `changes` can be made together.
    ///
    /// # Errors
    /// One of them cannot be made.
    pub fn check(&self, changes: &[String]) -> Result<(), String> {
        self.changed(changes).map(|_| ())
    }

    /// Runs the work without changes.
    ///
    /// # Errors
    /// A run broke down.
    pub fn run_base(
        &self,
        seeds: &[u64],
        threads: NonZeroUsize,
        done: &(impl Fn() + Sync),
    ) -> Result<Vec<Values>, String> {
        let runs = parallel::map(seeds, threads, |&seed| self.run(&self.base, seed, done));
        runs.into_iter().collect()
    }

    /// Runs the work with each set of changes. A set that cannot be made or run has no runs.
    pub fn run_changed(
        &self,
        sets: &[Vec<String>],
        seeds: &[u64],
        threads: NonZeroUsize,
        done: &(impl Fn() + Sync),
    ) -> Vec<Result<Vec<Values>, String>> {
        // Few sets are divided, so that all threads have work.
        let parts = if sets.len() < 2 * threads.get() { threads.get() } else { 1 };
        let part = seeds.len().div_ceil(parts).max(1);
        let jobs: Vec<(usize, &[u64])> = (0..sets.len())
            .flat_map(|set| seeds.chunks(part).map(move |seeds| (set, seeds)))
            .collect();
        let results = parallel::map(&jobs, threads, |&(set, seeds)| {
            let prepared = self.changed(&sets[set])?;
            seeds.iter().map(|&seed| self.run(&prepared, seed, done)).collect()
        });
        let mut all: Vec<Result<Vec<Values>, String>> = sets.iter().map(|_| Ok(vec![])).collect();
        for ((set, _), result) in jobs.into_iter().zip(results) {
            match (&mut all[set], result) {
                (Ok(runs), Ok(more)) => runs.extend::<Vec<Values>>(more),
                (all @ Ok(_), Err(error)) => *all = Err(error),
                (Err(_), _) => {}
            }
        }
        all
    }

    fn run(&self, prepared: &Prepared, seed: u64, done: &impl Fn()) -> Result<Values, String> {
        let sample = prepared.sample(seed).map_err(|error| error.to_string())?;
        self.runs.fetch_add(1, Ordering::Relaxed);
        done();
        if sample.left > self.samples[1].left {
            return Ok(vec![None; self.measures.len()]);
        }
        let values = self.measures.iter();
        Ok(values.map(|(measure, places)| value(measure, places, &sample, prepared)).collect())
    }
}

/// Returns the value of a measure in a run of `prepared`.
fn value(measure: &Measure, places: &[usize], sample: &Sample, prepared: &Prepared) -> Option<f64> {
    let mut stats = TaskStats::default();
    places.iter().for_each(|&place| stats.add(&sample.tasks[place]));
    let mut limited = GroupStats::default();
    if matches!(measure.figure, Figure::Throttled | Figure::ThrottledPeriods) {
        let programs = &prepared.workload().tasks;
        let paths: BTreeSet<&str> =
            places.iter().filter_map(|&place| programs[place].set.taskgroup.as_deref()).collect();
        for (group, own) in &sample.limited {
            if paths.iter().any(|path| groups::is_within(path, group)) {
                limited.nr_throttled += own.nr_throttled;
                limited.throttled_ns += own.throttled_ns;
            }
        }
    }
    measure.figure.of(&stats, &limited)
}

/// Returns the band of a measure over runs. `None`: a run lacks it.
pub(super) fn band(runs: &[Values], measure: usize) -> Option<Band> {
    let values: Option<Vec<f64>> = runs.iter().map(|run| run[measure]).collect();
    values.filter(|values| !values.is_empty()).map(Band::of)
}
