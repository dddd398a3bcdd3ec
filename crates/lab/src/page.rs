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
const TURNS_RECORDED: usize = 2_000_000;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Load, MachineSpec, Plan, Source};

    /// What the recorder adds up is what the figures say, whether turns are put together or not.
    #[test]
    fn sums_and_extremes_are_those_of_the_figures() {
        let text = include_str!("../../../examples/desktop.json");
        let load = Load::Workload(Source { file: "desktop.json".into(), text: text.into() });
        let schedulers = ["o_n", "o_1", "rsdl", "cfs", "bfs", "eevdf"];
        let plan = Plan {
            machine: MachineSpec { cpus: Some(3), ..MachineSpec::default() },
            limit_ns: Some(3_000_000_000),
            ..Plan::new(load, schedulers.map(String::from).to_vec())
        };
        let prepared = plan.prepare().expect("the example is sound");
        let experiment = prepared.experiment().expect("it is a workload");
        assert_eq!(prepared.schedulers().len(), schedulers.len());
        for contender in prepared.schedulers() {
            for most in [TURNS_MOST, 300] {
                let fairness = experiment.fairness(8);
                let mut recorder = Recorder::new(3, most, Some(fairness));
                let (run, _) = prepared.run_with(contender, &mut recorder).expect("it runs");
                let (report, history) = (run.report, recorder.into_history());
                let sum = |row: &[u64]| row.iter().sum::<u64>();
                let totals = &report.totals;
                let buckets = &history.buckets;
                let name = report.spec();
                for (task, row) in report.tasks.iter().zip(buckets.tasks.rows()) {
                    assert_eq!(sum(row), task.cpu_ns, "{name}: {}", task.name);
                }
                assert_eq!(sum(&buckets.switches), totals.switches, "{name}");
                assert_eq!(sum(&buckets.migrations), totals.migrations_queue, "{name}");
                assert_eq!(sum(&buckets.wakeups), totals.wakeups, "{name}");
                assert_eq!(sum(&buckets.runnable_ns), totals.wait_ns + totals.busy_ns, "{name}");
                let longest = history.waits[0].length_ns();
                assert_eq!(longest, totals.wait_max_ns, "{name}");
                assert_eq!(buckets.wait_max_ns.iter().max(), Some(&longest), "{name}");
                let busy: u64 = history.turns.list().iter().map(|turn| turn.busy_ns).sum();
                assert_eq!(busy, totals.busy_ns, "{name}");
                let owed = report.fairness.as_ref().map(|fairness| fairness.owed_max_ns);
                assert!(buckets.owed_max_ns.iter().max().copied() <= owed, "{name}");
                assert_eq!(most == 300, history.turns.grain_ns() > 0, "{name}");
            }
        }
    }
}
