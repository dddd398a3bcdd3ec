//! All runs of a plan: every column with all its repetitions, on any number of threads.

use super::prepare::{Contender, Prepared};
use crate::error::Error;
use crate::parallel;
use crate::run::Run;
use crate::session::Session;
use schedlab_report::data::RepetitionRow;
use schedlab_report::repeated;
use std::num::NonZeroUsize;

/// The part of a run that is kept. The first run of a column is kept completely.
struct Part {
    run: Option<Run>,
    row: RepetitionRow,
    figures: Vec<Option<f64>>,
    warned: bool,
}

/// A column, with the runs made so far.
#[derive(Default)]
struct Column {
    first: Option<Run>,
    rows: Vec<RepetitionRow>,
    figures: Vec<Vec<Option<f64>>>,
    warned: u64,
    /// The first error.
    failed: Option<Error>,
}

impl Column {
    fn add(&mut self, part: Result<Part, Error>) {
        match part {
            Ok(part) => {
                self.first = self.first.take().or(part.run);
                self.rows.push(part.row);
                self.figures.push(part.figures);
                self.warned += u64::from(part.warned);
            }
            Err(error) => {
                self.failed.get_or_insert(error);
            }
        }
    }

    /// Returns the first run, with a summary of all runs in its report.
    fn finish(self) -> Result<Run, Error> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let mut run = self.first.ok_or_else(|| Error::Plan("nothing ran".into()))?;
        if self.rows.len() > 1 {
            if self.warned > 1 {
                let warning = run.warning.get_or_insert_default();
                warning.push_str(&format!(
                    "{}of {} runs {} have a warning; this is the first run's",
                    if warning.is_empty() { "" } else { "\n" },
                    self.rows.len(),
                    self.warned
                ));
            }
            repeated::sum_up(&mut run.report, self.rows, &self.figures);
        }
        Ok(run)
    }
}

impl Prepared {
    /// Runs all repetitions under each of its schedulers, on `threads` threads. `ready` receives
    /// the results on the calling thread in the order of the schedulers, each as soon as its
    /// predecessors exist. If it returns false, no further run begins.
    ///
    /// For repeated runs the result is the first one. Its report has the figures of all.
    pub fn run_all(
        &self,
        threads: NonZeroUsize,
        ready: impl FnMut(&Contender, Result<Run, Error>) -> bool,
    ) {
        self.run_all_counted(threads, || (), ready);
    }

    /// Like [`run_all`](Prepared::run_all). Also calls `done` after each run, on the thread that
    /// made it. The number of runs is the number of columns times
    /// [`repetitions`](Prepared::repetitions).
    pub fn run_all_counted(
        &self,
        threads: NonZeroUsize,
        done: impl Fn() + Sync,
        ready: impl FnMut(&Contender, Result<Run, Error>) -> bool,
    ) {
        let run = |column: usize, repetition| {
            let scheduler = &self.schedulers()[column];
            let ran = self.repetition(scheduler, repetition).and_then(Session::finish);
            done();
            ran
        };
        self.run_all_by(threads, run, ready);
    }

    /// Like [`run_all_counted`](Prepared::run_all_counted). `run` makes each run from the numbers
    /// of a column and a repetition, both counted from 0.
    pub fn run_all_by(
        &self,
        threads: NonZeroUsize,
        run: impl Fn(usize, u64) -> Result<Run, Error> + Sync,
        mut ready: impl FnMut(&Contender, Result<Run, Error>) -> bool,
    ) {
        let schedulers = self.schedulers();
        let repetitions = self.repetitions();
        if repetitions == 1 {
            let columns: Vec<usize> = (0..schedulers.len()).collect();
            let work = |&column: &usize| run(column, 0);
            let ready = |index: usize, result| ready(&schedulers[index], result);
            return parallel::for_each_in_order(&columns, threads, work, ready);
        }
        let all: Vec<(usize, u64)> = (0..schedulers.len())
            .flat_map(|column| (0..repetitions).map(move |repetition| (column, repetition)))
            .collect();
        let mut column = Column::default();
        parallel::for_each_in_order(
            &all,
            threads,
            |&(column, repetition)| self.part(run(column, repetition), repetition),
            |index, part| {
                let (place, repetition) = all[index];
                column.add(part);
                if repetition + 1 < repetitions {
                    return true;
                }
                ready(&schedulers[place], std::mem::take(&mut column).finish())
            },
        );
    }

    /// Reduces a run of a column to the part that is kept.
    fn part(&self, ran: Result<Run, Error>, repetition: u64) -> Result<Part, Error> {
        let seed = self.seed(repetition).unwrap_or(0);
        let run = ran.map_err(|error| Error::Plan(format!("seed {seed}: {error}")))?;
        let end = run.report.end;
        Ok(Part {
            row: RepetitionRow { seed, state: end.state, at_ns: end.at_ns },
            figures: repeated::figures(&run.report),
            warned: run.warning.is_some(),
            run: (repetition == 0).then_some(run),
        })
    }
}
