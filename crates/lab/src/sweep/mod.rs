//! A benchmark with several values of its parameters, under several schedulers, with several seeds:
//! [`Sweep`].
//!
//! The runs are independent. They can be made on any number of threads, in any order, and in
//! several sessions (the [`Results`] file keeps finished runs). The report is the same, byte for
//! byte.

mod results;
#[cfg(test)]
mod tests;

pub use results::{Results, ResultsError, fingerprint, read_finished};

use crate::bench::Bench;
use crate::error::Error;
use crate::parallel;
use crate::select::Choice;
use crate::session::Session;
use schedlab_bench::{Value, Values};
use schedlab_report::bench::{
    self, Axis, BenchPoint, BenchReport, BenchRow, BenchScheduler, Figure,
};
use schedlab_report::data::{EndState, TunableValue};
use std::borrow::Cow;
use std::num::NonZeroUsize;

/// Maximum number of runs. All results are kept until the last run is over.
const RUNS_MAX: usize = 100_000;

/// A benchmark and everything that varies. Fields are private where they must be consistent.
pub struct Sweep {
    /// Common part of all runs. Its values, seed and tunables are replaced.
    bench: Bench,
    /// Parameters with several values, in the given order. The first changes last.
    swept: Vec<(Cow<'static, str>, Vec<Value>)>,
    /// Schedulers, with the tunables to set.
    choices: Vec<(Choice, Vec<(String, i64)>)>,
    seeds: Vec<u64>,
    /// Values of the parameters that do not vary.
    first: Values,
}

/// Reason why a sweep failed.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// There are too many runs.
    #[error("{0} runs are more than {RUNS_MAX}; give fewer values")]
    TooMany(usize),
    /// One of the runs failed.
    #[error("{run}: {error}")]
    Run {
        /// Description of the run.
        run: String,
        /// The error.
        error: Error,
    },
    /// Its results could not be saved.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// The caller has no observer for a further run.
    #[error("interrupted")]
    Interrupted,
}

/// One run of a sweep.
struct Run<'a> {
    /// Number of the combination of values.
    combination: usize,
    choice: &'a Choice,
    tunables: &'a [(String, i64)],
    seed: u64,
}

impl Sweep {
    /// Creates a sweep of `bench` over the values of the parameters in `given` (at least one each),
    /// with `repeats` seeds from its own seed on. It has no schedulers yet.
    ///
    /// # Errors
    /// There are too many values.
    pub fn new<N: Into<Cow<'static, str>>>(
        bench: Bench,
        given: Vec<(N, Vec<Value>)>,
        repeats: u64,
    ) -> Result<Sweep, SweepError> {
        let mut first = bench.values.clone();
        let mut swept = vec![];
        let mut runs = repeats as usize;
        for (name, mut values) in given {
            let name = name.into();
            let mut seen: Vec<Value> = vec![];
            values.retain(|value| {
                let new = !seen.contains(value);
                if new {
                    seen.push(value.clone());
                }
                new
            });
            runs = runs.saturating_mul(values.len());
            if let [only] = values.as_slice() {
                first.set(&name, only.clone());
            } else {
                swept.push((name, values));
            }
        }
        if runs > RUNS_MAX {
            return Err(SweepError::TooMany(runs));
        }
        let seeds = (0..repeats).map(|number| bench.seed().wrapping_add(number)).collect();
        Ok(Sweep { bench, swept, choices: vec![], seeds, first })
    }

    /// Returns the number of combinations of values. Each is run under all schedulers with all
    /// seeds.
    fn combinations(&self) -> usize {
        self.swept.iter().map(|(_, values)| values.len()).product()
    }

    /// Returns the values of a combination. The first swept parameter changes last. (A mix has
    /// hundreds of values, so the combinations are not stored.)
    fn values(&self, combination: usize) -> Values {
        let mut values = self.first.clone();
        let mut rest = combination;
        for (name, list) in self.swept.iter().rev() {
            values.set(name, list[rest % list.len()].clone());
            rest /= list.len();
        }
        values
    }

    /// Returns the approximate number of simultaneous tasks in the largest of its runs, if it may
    /// be very large.
    pub fn tasks_at_once(&self) -> u64 {
        let tasks = |number| self.bench.benchmark.tasks(&self.values(number));
        (0..self.combinations()).map(tasks).max().unwrap_or(0)
    }

    /// Returns the reason why `choice` cannot run the whole sweep. `None`: it can.
    pub fn refuses(&self, choice: &Choice) -> Option<String> {
        let with = |values| Bench { values, ..self.bench.clone() };
        let mut asked = vec![];
        for needs in
            (0..self.combinations()).map(|combination| with(self.values(combination)).needs())
        {
            // Most combinations have the same needs.
            if asked.contains(&needs) {
                continue;
            }
            if let Some(why) = choice.refuses(&needs) {
                return Some(why);
            }
            asked.push(needs);
        }
        None
    }

    /// Adds a scheduler, which does not refuse the sweep, with tunables to set.
    ///
    /// # Errors
    /// There are too many runs.
    pub fn add(&mut self, choice: Choice, tunables: Vec<(String, i64)>) -> Result<(), SweepError> {
        let runs = (self.combinations() * self.seeds.len()).saturating_mul(self.choices.len() + 1);
        if runs > RUNS_MAX {
            return Err(SweepError::TooMany(runs));
        }
        self.choices.push((choice, tunables));
        Ok(())
    }

    /// Returns the common part of all runs.
    pub fn bench(&self) -> &Bench {
        &self.bench
    }

    /// Returns the first run: the first of all values, the first seed. No scheduler settings are
    /// made.
    pub fn first(&self) -> Bench {
        let mut bench = Bench { values: self.values(0), ..self.bench.clone() };
        bench.config.seed = self.seeds.first().copied();
        bench
    }

    /// Whether a parameter has several values, so that a curve can be drawn.
    pub fn has_axis(&self) -> bool {
        !self.swept.is_empty()
    }

    fn runs(&self) -> Vec<Run<'_>> {
        let mut runs =
            Vec::with_capacity(self.combinations() * self.choices.len() * self.seeds.len());
        for combination in 0..self.combinations() {
            for (choice, tunables) in &self.choices {
                runs.extend(self.seeds.iter().map(|&seed| Run {
                    combination,
                    choice,
                    tunables,
                    seed,
                }));
            }
        }
        runs
    }

    /// Returns the number of runs to make: those that `results` lacks.
    pub fn to_do(&self, results: Option<&Results>) -> usize {
        self.runs()
            .iter()
            .filter(|run| !results.is_some_and(|results| results.has(&self.key(run))))
            .count()
    }

    /// Makes all runs that `results` lacks on `threads` threads, and saves each when it is
    /// finished. Then it calls `done`, from any of the threads. A run that fails
    /// ([`EndState::Failed`], with the reason as its warning) does not affect the others, and is
    /// not saved.
    ///
    /// # Errors
    /// All runs fail (the error is that of the first one, in their order), or results cannot be
    /// saved.
    pub fn run(
        &self,
        threads: NonZeroUsize,
        results: Option<&Results>,
        done: impl Fn() + Sync,
    ) -> Result<BenchReport, SweepError> {
        self.run_observed(threads, results, |_| true, done)
    }

    /// Makes the runs as [`run`](Sweep::run) does. `observe` may attach an observer to each session
    /// before it runs; if it returns false, no further run is begun.
    ///
    /// # Errors
    /// As for [`run`](Sweep::run), and [`SweepError::Interrupted`].
    pub fn run_observed<'o>(
        &self,
        threads: NonZeroUsize,
        results: Option<&Results>,
        observe: impl Fn(&mut Session<'o>) -> bool + Sync,
        done: impl Fn() + Sync,
    ) -> Result<BenchReport, SweepError> {
        let runs = self.runs();
        let mut rows = Vec::with_capacity(runs.len());
        let (mut failed, mut stopped) = (None, None);
        let one = |run: &Run<'_>| -> Result<BenchRow, SweepError> {
            let key = self.key(run);
            if let Some(row) = results.and_then(|results| results.get(&key)) {
                return Ok(row);
            }
            let row = match self.one(run, &observe) {
                Ok(row) => row,
                Err(error) => {
                    done();
                    return Err(error);
                }
            };
            if let Some(results) = results {
                results.add(&key, &row)?;
            }
            done();
            Ok(row)
        };
        parallel::for_each_in_order(&runs, threads, one, |index, result| match result {
            Ok(row) => {
                rows.push(row);
                true
            }
            Err(error @ SweepError::Run { .. }) => {
                rows.push(failed_row(runs[index].seed, &error));
                failed.get_or_insert(error);
                true
            }
            Err(error) => {
                stopped = Some(error);
                false
            }
        });
        let none_ran = rows.iter().all(|row| row.end == EndState::Failed);
        match stopped.or(failed.filter(|_| none_ran)) {
            Some(error) => Err(error),
            None => Ok(self.report(rows)),
        }
    }

    fn one<'o>(
        &self,
        run: &Run<'_>,
        observe: impl Fn(&mut Session<'o>) -> bool,
    ) -> Result<BenchRow, SweepError> {
        let mut bench = Bench { values: self.values(run.combination), ..self.bench.clone() };
        bench.config.seed = Some(run.seed);
        bench.config.tunables = run.tunables.to_vec();
        let failed = |error| SweepError::Run { run: self.describe(run), error };
        let mut session = bench.session(run.choice).map_err(failed)?;
        if !observe(&mut session) {
            return Err(SweepError::Interrupted);
        }
        session.finish().map(|ran| row(run.seed, ran)).map_err(failed)
    }

    /// Returns the key of a run in a results file, unique among all runs.
    fn key(&self, run: &Run<'_>) -> String {
        let values = self.values(run.combination);
        let values: Vec<String> =
            values.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let tunables: Vec<String> =
            run.tunables.iter().map(|(name, value)| format!("{name}={value}")).collect();
        format!("{} [{}] seed {} {}", run.choice, tunables.join(" "), run.seed, values.join(" "))
    }

    /// Returns the description of a run in messages.
    fn describe(&self, run: &Run<'_>) -> String {
        let mut text = run.choice.to_string();
        let set = self.values(run.combination);
        for (name, _) in &self.swept {
            text.push_str(&format!(", {name} {}", set.get(name)));
        }
        if self.seeds.len() > 1 {
            text.push_str(&format!(", seed {}", run.seed));
        }
        text
    }

    fn report(&self, rows: Vec<BenchRow>) -> BenchReport {
        let mut rows = rows.into_iter();
        let mut points = vec![];
        for combination in 0..self.combinations() {
            let set = self.values(combination);
            for scheduler in 0..self.choices.len() {
                let of_point = rows.by_ref().take(self.seeds.len()).collect();
                let values = self.swept.iter().map(|(name, _)| json(set.get(name))).collect();
                points.push(BenchPoint::new(values, scheduler, of_point));
            }
        }
        let parameters = self.bench.benchmark.parameters();
        let axis = |parameter: &schedlab_bench::Parameter| {
            let swept = self.swept.iter().find(|(name, _)| *name == parameter.name);
            let values = match swept {
                Some((_, values)) => values.iter().map(json).collect(),
                None => vec![json(self.first.get(&parameter.name))],
            };
            Axis { name: parameter.name.to_string(), about: parameter.about.into(), values }
        };
        let place = |name: &str| parameters.iter().position(|parameter| parameter.name == name);
        let scheduler = |(choice, tunables): &(Choice, Vec<(String, i64)>)| BenchScheduler {
            name: choice.entry.name.to_string(),
            release: choice.release.version.into(),
            title: choice.entry.title.to_string(),
            hz: self.bench.config.hz.unwrap_or(choice.release.hz_default),
            tunables: tunables
                .iter()
                .map(|(name, value)| TunableValue { name: name.clone(), value: *value })
                .collect(),
        };
        BenchReport {
            schema: bench::SCHEMA.into(),
            benchmark: self.bench.benchmark.name().into(),
            cpus: self.bench.config.cpus,
            model: self.bench.config.model_name(),
            limit_ns: self.bench.config.limit_ns,
            seeds: self.seeds.clone(),
            parameters: parameters.iter().map(axis).collect(),
            swept: self.swept.iter().filter_map(|(name, _)| place(name)).collect(),
            schedulers: self.choices.iter().map(scheduler).collect(),
            points,
        }
    }
}

fn json(value: &Value) -> serde_json::Value {
    match value {
        Value::Whole(number) => (*number).into(),
        Value::Real(number) => (*number).into(),
        Value::Word(word) => (&**word).into(),
        Value::Flag(given) => (*given).into(),
    }
}

/// Returns the row of a run that failed.
fn failed_row(seed: u64, error: &SweepError) -> BenchRow {
    BenchRow {
        seed,
        end: EndState::Failed,
        end_ns: 0,
        warning: Some(error.to_string()),
        printed: String::new(),
        figures: vec![],
        metrics: vec![],
    }
}

fn row(seed: u64, ran: crate::run::Run) -> BenchRow {
    let figure = |figure: schedlab_bench::Figure| Figure {
        name: figure.name,
        unit: figure.unit.into(),
        better: figure.better,
        value: figure.value,
    };
    // Infinite figures, and figures that are not numbers, have no value.
    let figures = ran.findings.figures.into_iter().filter(|figure| figure.value.is_finite());
    BenchRow {
        seed,
        end: ran.report.end.state,
        end_ns: ran.report.end.at_ns,
        warning: ran.warning,
        printed: ran.findings.printed,
        figures: figures.map(figure).collect(),
        metrics: bench::metrics(&ran.report),
    }
}
