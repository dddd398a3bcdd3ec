//! Runs that end early once they are hopeless: [`Rung`], [`JudgedRun`].
//!
//! Most settings that a search tries are worse than the best known. At given virtual times, a
//! metric of the run is compared with a limit, and the run ends if the metric is worse. The limits
//! are fixed before the first run, so that which runs end early does not depend on which is faster.

use super::{Row, Space};
use schedlab_bench::Findings;
use schedlab_lab::parallel;
use schedlab_lab::run::Run;
use std::num::NonZeroUsize;

/// A time at which runs are judged.
#[derive(Clone, PartialEq, Debug)]
pub struct Rung {
    /// Virtual time, ns.
    pub at_ns: u64,
    /// Index of the metric in [`Space::metrics`].
    pub metric: usize,
    /// Whether higher values are better.
    pub more_is_better: bool,
    /// Limit of each repetition, which a value must not exceed (or fall below, if higher is
    /// better). `None`: any value is accepted.
    pub limits: Vec<Option<f64>>,
}

impl Rung {
    fn is_hopeless(&self, repetition: u64, value: Option<f64>) -> bool {
        let limit = self.limits.get(repetition as usize).copied().flatten();
        match value.zip(limit) {
            Some((value, limit)) if self.more_is_better => value < limit,
            Some((value, limit)) => value > limit,
            None => false,
        }
    }
}

/// A run that was judged before its end.
#[derive(Clone, PartialEq, Debug)]
pub struct JudgedRun {
    /// Result. A run that ended early has the figures up to its end.
    pub row: Row,
    /// Value at each rung that the run reached. `None`: it had no value at that time.
    pub passed: Vec<Option<f64>>,
    /// Whether the last of these rungs ended the run.
    pub is_ended: bool,
}

impl Space {
    /// Runs all points on `threads` threads and judges each run at `rungs` (strictly ascending in
    /// time). `ready` receives the runs one by one, in order. If it returns false, no further run
    /// begins. Runs of benchmarks are not judged.
    ///
    /// # Errors
    /// A metric exists in no run.
    pub fn run_judged(
        &self,
        threads: NonZeroUsize,
        rungs: &[Rung],
        mut ready: impl FnMut(JudgedRun) -> bool,
    ) -> Result<(), String> {
        let repetitions = 0..self.repeat();
        let items: Vec<(u64, u64)> = (0..self.points())
            .flat_map(|point| repetitions.clone().map(move |repetition| (point, repetition)))
            .collect();
        let work = |&(point, repetition): &(u64, u64)| self.judge_point(point, repetition, rungs);
        let mut wrong = None;
        parallel::for_each_in_order(&items, threads, work, |_, judged| match judged {
            Ok(judged) => judged.into_iter().all(&mut ready),
            Err(error) => {
                wrong = Some(error);
                false
            }
        });
        wrong.map_or(Ok(()), Err)
    }

    fn judge_point(
        &self,
        point: u64,
        repetition: u64,
        rungs: &[Rung],
    ) -> Result<Vec<JudgedRun>, String> {
        let stops_ns: Vec<u64> = rungs.iter().map(|rung| rung.at_ns).collect();
        let mut ways: Vec<(Vec<Option<f64>>, bool)> = vec![];
        let rows = self.rows_of(point, repetition, |prepared, contender, offset| {
            let (mut passed, mut is_ended) = (vec![], false);
            let ran = prepared.repetition(contender, offset).and_then(|mut session| {
                let stops_ns = if prepared.sweep().is_some() { &[] } else { &stops_ns[..] };
                let goes_on = session.stop_at(stops_ns, |session| {
                    let Some(report) = session.report() else { return true };
                    let so_far =
                        Run { report, findings: Findings::default(), log: None, warning: None };
                    let rung = &rungs[passed.len()];
                    let value = self.metrics()[rung.metric].value(&so_far);
                    passed.push(value);
                    is_ended = rung.is_hopeless(repetition, value);
                    !is_ended
                })?;
                if goes_on { session.finish() } else { session.stop() }
            });
            ways.push((passed, is_ended));
            ran
        })?;
        // A point that could not be prepared has rows, but no rungs.
        ways.resize(rows.len(), (vec![], false));
        let judged = |(row, (passed, is_ended))| JudgedRun { row, passed, is_ended };
        Ok(rows.into_iter().zip(ways).map(judged).collect())
    }
}
