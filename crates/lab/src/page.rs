//! The report of a comparison as a page for a browser: [`page`], and its main charts as one
//! picture: [`picture`].
//!
//! What is drawn comes of an observer that a plain run does not have
//! ([`Recorder`]), so the runs are made once more with it. They are the
//! same runs, event by event.

use crate::error::Error;
use crate::parallel;
use crate::plan::{Contender, Prepared};
use crate::run::Experiment;
use schedlab_core::reason::RuleDoc;
use schedlab_measure::history::{History, Recorder};
use schedlab_report::Report;
use schedlab_report::html::{self, Page, Seen, TURNS_MOST};
use std::num::NonZeroUsize;

/// Recorders of all runs together have room for so many turns; each at least for its part of what
/// is shown.
const TURNS_RECORDED: usize = 4_000_000;

/// What was recorded of a run.
struct Recorded {
    /// The scheduler, as [`RunReport::spec`](schedlab_report::RunReport::spec) has it.
    spec: String,
    history: History,
    rules: Vec<&'static RuleDoc>,
}

/// The page of `report`, which was made of `prepared`. None if that is no workload: of a benchmark
/// nothing is recorded.
pub fn page(prepared: &Prepared, report: &Report, threads: NonZeroUsize) -> Option<String> {
    let recorded = record_all(prepared, prepared.experiment()?, threads);
    let rules: Vec<Vec<(u8, &str, &str)>> = (recorded.iter())
        .map(|one| one.rules.iter().map(|rule| (rule.rule.0, rule.name, rule.text)).collect())
        .collect();
    let seen: Vec<Option<Seen<'_>>> = (report.runs.iter())
        .map(|run| {
            let spec = run.spec();
            let place = recorded.iter().position(|one| one.spec == spec)?;
            Some(Seen { history: &recorded[place].history, rules: &rules[place] })
        })
        .collect();
    Some(html::page(&Page { report, seen: &seen }))
}

/// The runs that come to an end, each with its recorder.
fn record_all(
    prepared: &Prepared,
    experiment: &Experiment,
    threads: NonZeroUsize,
) -> Vec<Recorded> {
    let runs = prepared.schedulers().len();
    let most = (TURNS_RECORDED / runs.max(1)).clamp(TURNS_MOST / runs.max(1), TURNS_MOST);
    let record = |contender: &Contender| {
        let tasks = experiment.model.tasks.len();
        let fairness = experiment.fairness(tasks);
        let mut recorder = Recorder::new(experiment.config.cpus, most, Some(fairness));
        let run = match prepared.run_with(contender, &mut recorder) {
            Ok((run, _)) => run,
            // It has been recorded as far as it came.
            Err(Error::Stuck { run, .. }) => *run,
            Err(_) => return None,
        };
        let scheduler = contender.choice.build(&experiment.config.build_config(&contender.choice));
        Some(Recorded {
            spec: run.report.spec(),
            history: recorder.into_history(),
            rules: scheduler.inspect().rules(),
        })
    };
    parallel::map(prepared.schedulers(), threads, record).into_iter().flatten().collect()
}
