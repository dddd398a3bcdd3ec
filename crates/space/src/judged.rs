//! Runs that are ended on the way where it shows that they are hopeless: [`Rung`], [`Judged`].
//!
//! A search tries settings of which most are worse than what it knows. At some times of the run's
//! own clock one of its figures is looked at, and where that is worse than a limit the run ends
//! there. The limits are known before the first run, so that what is ended does not depend on which
//! of them is faster.

use super::{Row, Space};
use schedlab_bench::Findings;
use schedlab_lab::parallel;
use schedlab_lab::run::Run;
use std::num::NonZeroUsize;

/// A time at which runs are judged.
#[derive(Clone, PartialEq, Debug)]
pub struct Rung {
    /// When, ns of virtual time.
    pub at_ns: u64,
    /// Which of [`Space::told`] is looked at, by number.
    pub told: usize,
    /// Whether more of it is better.
    pub more_is_better: bool,
    /// What must not be exceeded (fallen short of, if more is better), by repetition; none: any
    /// value will do.
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

/// A run that was judged on its way.
#[derive(Clone, PartialEq, Debug)]
pub struct Judged {
    /// What came of it; of a run that was ended, as far as it got.
    pub row: Row,
    /// The figure at each rung that it came to; none: it had none then.
    pub passed: Vec<Option<f64>>,
    /// Whether the last of these rungs ended it.
    pub is_ended: bool,
}

impl Space {
    /// Makes the runs of all points on `threads` threads, each judged at `rungs` (their times rise,
    /// no two are equal). `ready` gets them one after the other, in their order; if it answers
    /// false no further one is begun. Runs of benchmarks are not judged.
    ///
    /// # Errors
    /// What is told of each run is not there, in no run.
    pub fn run_judged(
        &self,
        threads: NonZeroUsize,
        rungs: &[Rung],
        mut ready: impl FnMut(Judged) -> bool,
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
    ) -> Result<Vec<Judged>, String> {
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
                    let value = self.told()[rung.told].value(&so_far);
                    passed.push(value);
                    is_ended = rung.is_hopeless(repetition, value);
                    !is_ended
                })?;
                if goes_on { session.finish() } else { session.stop() }
            });
            ways.push((passed, is_ended));
            ran
        })?;
        // A point that could not even be prepared has rows and came to no rung.
        ways.resize(rows.len(), (vec![], false));
        let judged = |(row, (passed, is_ended))| Judged { row, passed, is_ended };
        Ok(rows.into_iter().zip(ways).map(judged).collect())
    }
}
