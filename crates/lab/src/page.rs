//! Runs as a page for a browser: [`page`] of a comparison, [`bench_page`] of a benchmark.
//!
//! The pictures need an observer that a plain run does not have ([`Recorder`]), so the runs are
//! repeated with it. They are the same runs, event by event.

use crate::error::Error;
use crate::explain;
use crate::parallel;
use crate::plan::{Contender, Prepared};
use schedlab_core::{TaskId, Who};
use schedlab_measure::history::{History, Recorder};
use schedlab_report::bench::BenchReport;
use schedlab_report::html::{self, ExplainedWait, Page, Recording, RuleRow, TURNS_MOST};
use schedlab_report::{Report, RunReport};
use std::num::NonZeroUsize;

/// Maximum number of turns that the recorders of all runs keep together.
const TURNS_RECORDED: usize = 2_000_000;

/// Number of the longest waits of each run that are explained ...
const EXPLAINED: usize = 25;

/// ... unless there were more turns than this, as recording the grounds of every decision takes
/// time.
const TURNS_EXPLAINED: u64 = 300_000;

/// Maximum number of simultaneous tasks of a benchmark for which a run is on the page.
const TASKS_RECORDED: u64 = 20_000;

/// Recording of a run.
struct Recorded {
    run: RunReport,
    history: History,
    rules: Vec<RuleRow>,
    explained: Vec<ExplainedWait>,
}

impl Recorded {
    fn seen(&self) -> Recording<'_> {
        Recording { history: &self.history, rules: &self.rules, explained: &self.explained }
    }
}

/// Returns the page of `report`, which was made from `prepared`. `None`: it is a benchmark, which
/// has [another page](bench_page).
pub fn page(prepared: &Prepared, report: &Report, threads: NonZeroUsize) -> Option<String> {
    prepared.experiment()?;
    let recorded = record_all(prepared, threads);
    let seen: Vec<Option<Recording<'_>>> = (report.runs.iter())
        .map(|run| {
            let spec = run.spec();
            recorded.iter().find(|one| one.run.spec() == spec).map(Recorded::seen)
        })
        .collect();
    Some(html::page(&Page::new(report, &seen)))
}

/// Returns the page of a benchmark's `report`, which was made from `prepared`: its figures
/// (`figure` comes first), and one run of each scheduler, with the first of all values and seeds,
/// as on the page of a workload. `None`: `prepared` is not a benchmark.
pub fn bench_page(
    prepared: &Prepared,
    report: &BenchReport,
    figure: Option<&str>,
    threads: NonZeroUsize,
) -> Option<String> {
    let sweep = prepared.sweep()?;
    let recorded = match sweep.tasks_at_once() {
        0..=TASKS_RECORDED => record_all(prepared, threads),
        _ => vec![],
    };
    let runs = prepared.report(recorded.iter().map(|one| one.run.clone()).collect());
    let seen: Vec<Option<Recording<'_>>> = recorded.iter().map(|one| Some(one.seen())).collect();
    let cpus = match report.cpus {
        1 => "1 CPU".into(),
        cpus => format!("{cpus} CPUs"),
    };
    let what = format!("a benchmark on {cpus} ({})", report.model);
    let first = sweep.first();
    let mut values: Vec<String> = report
        .swept()
        .map(|axis| format!("{} {}", axis.name, first.values.get(&axis.name)))
        .collect();
    values.push(format!("seed {}", first.seed()));
    let note = format!("One run of each scheduler: {}.", values.join(", "));
    let before = html::bench_sections(report, figure);
    let page = Page {
        heading: Some(&report.benchmark),
        what: Some(&what),
        before: &before,
        note: Some(&note),
        ..Page::new(&runs, &seen)
    };
    Some(html::page(&page))
}

/// Returns the runs of all schedulers that end regularly, with their recorders.
fn record_all(prepared: &Prepared, threads: NonZeroUsize) -> Vec<Recorded> {
    let most = (TURNS_RECORDED / prepared.schedulers().len().max(1)).min(TURNS_MOST);
    let record = |contender: &Contender| record(prepared, contender, most);
    parallel::map(prepared.schedulers(), threads, record).into_iter().flatten().collect()
}

/// Returns a run with its recorder, if it ends regularly.
fn record(prepared: &Prepared, contender: &Contender, most: usize) -> Option<Recorded> {
    let config = match (prepared.experiment_of(contender), prepared.sweep()) {
        (Some(experiment), _) => experiment.config.clone(),
        (None, Some(sweep)) => sweep.first().config,
        (None, None) => return None,
    };
    let mut recorder = Recorder::new(config.cpus, most, prepared.fairness(contender));
    let ran = prepared.session(contender).and_then(|mut session| {
        session.observe(&mut recorder);
        session.finish()
    });
    let run = match ran {
        Ok(run) => run,
        // It was recorded up to this point.
        Err(Error::Stuck { run, .. }) => *run,
        Err(_) => return None,
    };
    let history = recorder.into_history();
    let mut explained = vec![];
    if prepared.experiment().is_some()
        && history.turns.count() <= TURNS_EXPLAINED
        && let Ok((waits, names)) = explain::longest_waits(prepared, contender, None, EXPLAINED)
    {
        explained.extend(waits.iter().map(|wait| explain_wait(wait, &names)));
    }
    let scheduler = contender.choice.build(&config.build_config(&contender.choice)).ok()?;
    let rules = scheduler.inspect().rules().into_iter();
    Some(Recorded {
        run: run.report,
        history,
        rules: rules.map(|doc| (doc.rule.0, doc.name.clone(), doc.text.clone())).collect(),
        explained,
    })
}

fn explain_wait(wait: &explain::Wait, names: &explain::Names) -> ExplainedWait {
    let by =
        |part: &explain::ThrottledWait| (names.who(Who::Group(part.limit.group)).into(), part.ns);
    let ran = |&(task, ns, turns): &(Option<TaskId>, u64, u32)| (task.map(|it| it.0), ns, turns);
    ExplainedWait {
        task: wait.task.0,
        from_ns: wait.start_ns,
        throttled: wait.throttled.iter().map(by).collect(),
        meanwhile: wait.meanwhile.iter().map(ran).collect(),
        lost: wait.lost.iter().map(|(rule, &times)| (rule.0, times)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Load, MachineSpec, Plan, Source};

    /// The sums of the recorder equal the figures, whether turns are merged or not.
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
        let prepared = plan.prepare().expect("the example is valid");
        let experiment = prepared.experiment().expect("the load is a workload");
        assert_eq!(prepared.schedulers().len(), schedulers.len());
        for contender in prepared.schedulers() {
            for most in [TURNS_MOST, 300] {
                let fairness = experiment.fairness(8);
                let mut recorder = Recorder::new(3, most, Some(fairness));
                let mut session = prepared.session(contender).expect("the scheduler can run it");
                session.observe(&mut recorder);
                let run = session.finish().expect("the run ends well");
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
