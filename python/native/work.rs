//! Tasks of the engine as a whole: benchmarks with many values, random worlds, golden schedules,
//! published experiments, recorded traces.

use crate::errors;
use crate::interrupt::interruptible;
use crate::plans::Prepared;
use crate::policies::Policies;
use crate::threads;
use pyo3::prelude::*;
use schedlab_lab::replay::{Replay, beside};
use schedlab_lab::select;
use schedlab_lab::{catch_panic, page, parallel};
use schedlab_papers::{Outcomes, embedded, text};
use schedlab_proof::stress::{World, check, recent_events};
use schedlab_proof::verify::{Collected, GoldenError, collect, verify_file};
use schedlab_replay::{Trace, TraceBuilder};
use schedlab_report::Style;
use schedlab_report::bench::{BenchReport, csv, curve, table};
use schedlab_trace::read;
use schedlab_workload::rt_app;
use std::path::{Path, PathBuf};

/// Results of a benchmark with all of its values.
#[pyclass(frozen, module = "schedlab._native")]
pub struct Bench {
    report: BenchReport,
}

#[pymethods]
impl Bench {
    /// Runs the benchmark of a plan with all values and seeds.
    #[new]
    #[pyo3(signature = (prepared, threads=None))]
    fn new(
        py: Python<'_>,
        prepared: &Bound<'_, Prepared>,
        threads: Option<usize>,
    ) -> PyResult<Bench> {
        let prepared = prepared.get();
        let Some(sweep) = prepared.checked.sweep() else {
            return Err(errors::input(py, "this is a workload; use run()"));
        };
        let stays = !prepared.policies.is_empty();
        let threads = prepared.policies.threads(threads);
        let report = interruptible(py, stays, |stop| {
            sweep.run_observed(
                threads,
                None,
                |session| {
                    session.observe(stop.observer());
                    !stop.is_set()
                },
                || (),
            )
        })?;
        if let Some(raised) = prepared.policies.raised(py) {
            return Err(raised);
        }
        let report = report.map_err(|error| errors::run(py, error.to_string()))?;
        Ok(Bench { report })
    }

    /// Returns the document `schedlab-bench/1`.
    fn to_json(&self) -> String {
        self.report.to_json()
    }

    /// Returns all figures as CSV.
    fn to_csv(&self) -> String {
        csv::figures(&self.report)
    }

    /// Returns a figure as a table of text.
    fn table(&self, figure: &str, width: usize) -> String {
        table::sweep(&self.report, figure, Style::plain(width))
    }

    /// Returns a figure as a curve of text; `None` if there is no axis to draw it over.
    fn curve(&self, figure: &str, width: usize) -> Option<String> {
        curve::chart(&self.report, figure).map(|chart| chart.to_text(Style::plain(width)))
    }

    /// Returns the full name of a figure in the report.
    fn figure(&self, name: &str) -> Option<String> {
        self.report.figure_called(name)
    }

    /// Returns the page for a browser.
    #[pyo3(signature = (prepared, figure=None))]
    fn page(
        &self,
        py: Python<'_>,
        prepared: &Bound<'_, Prepared>,
        figure: Option<&str>,
    ) -> PyResult<String> {
        let prepared = prepared.get();
        let stays = !prepared.policies.is_empty();
        let threads = prepared.policies.threads(None);
        let page = interruptible(py, stays, |_| {
            page::bench_page(&prepared.checked, &self.report, figure, threads)
        })?;
        Ok(page.unwrap_or_default())
    }
}

/// A rule that a scheduler broke in a random world.
#[pyclass(frozen, get_all, module = "schedlab._native")]
pub struct BrokenRule {
    /// Name of the scheduler.
    scheduler: String,
    /// Seed of the world.
    seed: u64,
    /// The rule.
    rule: String,
    /// Virtual time, ns.
    at_ns: u64,
    /// Description of the violation.
    message: String,
    /// The run of the world in which it occurred.
    turn: String,
    /// The last events before it.
    before: Vec<String>,
}

/// Runs random worlds under each scheduler until one breaks a rule. Returns the number of worlds
/// and events under each scheduler, and the broken rule.
#[pyfunction]
#[pyo3(signature = (schedulers, policies, first_seed, worlds, threads=None))]
#[allow(clippy::type_complexity)]
pub fn stress(
    py: Python<'_>,
    schedulers: Vec<String>,
    policies: Vec<Py<PyAny>>,
    first_seed: u64,
    worlds: u64,
    threads: Option<usize>,
) -> PyResult<Vec<(String, u64, u64, Option<BrokenRule>)>> {
    const EVENTS_SHOWN: usize = 8;
    let loaded = Policies::load(py, policies)?;
    let chosen = select::choose_among(&schedulers, &loaded.choices());
    let chosen = chosen.map_err(|error| errors::engine(py, None, &error.into()))?;
    let chosen =
        schedlab_lab::scx::all_fixed(&chosen).map_err(|error| errors::engine(py, None, &error))?;
    if let Some(one) = chosen.iter().find(|one| !one.set.is_empty()) {
        let message = format!("{}: random worlds set tunables themselves", one.choice);
        return Err(errors::input(py, message));
    }
    if first_seed.checked_add(worlds).is_none() {
        return Err(errors::input(py, "the last seed exceeds the largest possible one"));
    }
    let stays = !loaded.is_empty();
    let threads = loaded.threads(threads);
    let seeds: Vec<u64> = (first_seed..first_seed + worlds).collect();
    let mut rows = vec![];
    for choice in chosen.iter().map(|one| one.choice.clone()) {
        let (mut done, mut events, mut broken) = (0, 0, None);
        let one_world = |seed: u64| {
            let world = World::random(seed, &choice);
            let checked = check(&world, &choice);
            // An interrupted world is not run again.
            let broken = checked.failure.as_ref().filter(|_| !loaded.is_interrupted());
            let before = broken.map(|failure| {
                let at_ns = failure.violation.at_ns;
                recent_events(&world, &choice, failure.variant, at_ns, EVENTS_SHOWN)
            });
            (checked, before)
        };
        // If a policy cannot be instantiated, the work ends before there is a world.
        let one = |&seed: &u64| catch_panic(|| one_world(seed));
        let mut broke_off = None;
        interruptible(py, stays, |stop| {
            parallel::for_each_in_order(&seeds, threads, one, |place, made| {
                let (checked, before) = match made {
                    Ok(made) => made,
                    Err(message) => {
                        broke_off = Some(message);
                        return false;
                    }
                };
                done += 1;
                events += checked.events;
                broken = checked.failure.map(|failure| BrokenRule {
                    scheduler: choice.to_string(),
                    seed: seeds[place],
                    rule: failure.violation.rule.to_string(),
                    at_ns: failure.violation.at_ns,
                    message: failure.violation.to_string(),
                    turn: failure.variant.to_string(),
                    before: before.unwrap_or_default(),
                });
                broken.is_none() && !stop.is_set()
            });
        })?;
        if let Some(message) = broke_off {
            return Err(loaded.broken(py, &message));
        }
        if let Some(signal) = loaded.signal(py) {
            return Err(signal);
        }
        rows.push((choice.to_string(), done, events, broken));
    }
    Ok(rows)
}

/// Verdict about a golden schedule: file, scheduler, kernel, slices, the difference (`None`: it
/// agrees), the share of CPU time that agrees, and the reason why it could not be replayed.
type Verdict = (String, String, String, usize, Option<String>, f64, Option<String>);

/// Replays golden schedules.
#[pyfunction]
#[pyo3(signature = (paths, threads=None))]
pub fn verify(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    threads: Option<usize>,
) -> PyResult<Vec<Verdict>> {
    let files = collect(&paths).map_err(|error| errors::input(py, error.to_string()))?;
    let threads = threads::threads(threads);
    let mut rows: Vec<Verdict> = vec![];
    interruptible(py, false, |stop| {
        let one = |file: &Collected| verify_file(&file.path);
        parallel::for_each_in_order(&files, threads, one, |place, result| {
            let path = files[place].path.display().to_string();
            match result {
                Ok(verdict) => rows.push((
                    path,
                    verdict.scheduler.clone(),
                    verdict.kernel.clone(),
                    verdict.slices,
                    verdict.difference.as_ref().map(ToString::to_string),
                    verdict.agreement.share(),
                    None,
                )),
                Err(GoldenError::Vectors) if !files[place].named => {}
                Err(error) => {
                    let none = String::new;
                    rows.push((path, none(), none(), 0, None, 0.0, Some(error.to_string())));
                }
            }
            !stop.is_set()
        });
    })?;
    Ok(rows)
}

/// Results of published experiments: id, title and text of each; the summary; the verdicts as CSV;
/// the values of each as CSV; errors of those that could not be run.
type Papers = (Vec<(String, String, String)>, String, String, Vec<String>, Vec<String>);

/// Runs published experiments again and judges them.
#[pyfunction]
#[pyo3(signature = (ids, reduced=false, threads=None))]
pub fn papers(
    py: Python<'_>,
    ids: Vec<String>,
    reduced: bool,
    threads: Option<usize>,
) -> PyResult<Papers> {
    let wrong =
        |error: schedlab_papers::catalogue::PapersError| errors::input(py, error.to_string());
    let catalogue = embedded::catalogue().map_err(wrong)?;
    let chosen = catalogue.choose(&ids).map_err(wrong)?;
    let threads = threads::threads(threads);
    let ran = interruptible(py, false, |stop| {
        catalogue.run(&chosen, reduced, threads, |_, _| !stop.is_set())
    })?;
    let Outcomes { outcomes, failed } = ran.map_err(wrong)?;
    let shown = |outcome: &schedlab_papers::Outcome| {
        let file = &outcome.file;
        (file.id.clone(), file.title.clone(), text::experiment(outcome, 120, true))
    };
    Ok((
        outcomes.iter().map(shown).collect(),
        text::summary(&outcomes),
        text::verdicts_csv(&outcomes),
        outcomes.iter().map(text::values_csv).collect(),
        failed.iter().map(ToString::to_string).collect(),
    ))
}

/// Returns the ids and titles of the published experiments.
#[pyfunction]
pub fn paper_ids(py: Python<'_>) -> PyResult<Vec<(String, String)>> {
    let wrong =
        |error: schedlab_papers::catalogue::PapersError| errors::input(py, error.to_string());
    let catalogue = embedded::catalogue().map_err(wrong)?;
    let all = catalogue.choose(&[]).map_err(wrong)?;
    Ok(all.iter().map(|file| (file.id.clone(), file.title.clone())).collect())
}

/// Reads a trace.
fn recorded(path: &Path) -> Result<Trace, String> {
    let wrong = |error: read::ReadError| format!("{}: {error}", path.display());
    let mut books = TraceBuilder::new();
    let reading = read::read(path, &mut books).map_err(wrong)?;
    reading.needs_wakeups().map_err(wrong)?;
    Ok(books.into_trace())
}

/// Parses a request about a trace, given as JSON with the fields of [`Replay`].
fn asked(py: Python<'_>, json: &str) -> PyResult<Replay> {
    serde_json::from_str(json).map_err(|error| errors::input(py, error.to_string()))
}

/// Returns the files next to a recorded trace with the groups of tasks and the other notes of
/// `schedlab record`.
#[pyfunction]
pub fn beside_trace(path: PathBuf) -> (Option<PathBuf>, Option<PathBuf>) {
    (beside::groups(&path), beside::side(&path))
}

/// Replays a recorded trace under other schedulers: the output of `schedlab replay --json`.
#[pyfunction]
#[pyo3(signature = (path, asked, threads=None))]
pub fn replay(
    py: Python<'_>,
    path: PathBuf,
    asked: &str,
    threads: Option<usize>,
) -> PyResult<String> {
    let replay = self::asked(py, asked)?;
    let threads = threads::threads(threads);
    let answer = interruptible(py, false, |stop| {
        let trace = recorded(&path)?;
        let prepared = replay.prepare(trace).map_err(|error| error.to_string())?;
        let answer = prepared.run_observed(threads, || stop.observer());
        answer.map_err(|error| error.to_string())
    })?;
    let answer = answer.map_err(|wrong| errors::input(py, wrong))?;
    let json = serde_json::to_string_pretty(&answer);
    Ok(json.map_err(|error| errors::run(py, error.to_string()))? + "\n")
}

/// Returns the work of a recorded trace as a workload file, as `schedlab replay --write` writes it.
#[pyfunction]
pub fn trace_workload(py: Python<'_>, path: PathBuf, asked: &str) -> PyResult<String> {
    let replay = self::asked(py, asked)?;
    let model = interruptible(py, false, |_| {
        let trace = recorded(&path)?;
        let prepared = replay.prepare(trace).map_err(|error| error.to_string())?;
        Ok(rt_app::write(&prepared.model(false)))
    })?;
    model.map_err(|wrong: String| errors::input(py, wrong))
}
