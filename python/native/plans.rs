//! Plans that are checked and run: `Prepared`, and their results: `Outcome`.

use crate::errors;
use crate::interrupt::{Stop, interruptible};
use crate::policies::Policies;
use crate::tables::{Table, named, numbers};
use crate::wakeups::Wakeups;
use arrow_array::Int32Array;
use pyo3::prelude::*;
use schedlab_cli::ExplainRequest;
use schedlab_core::TaskId;
use schedlab_lab::explain;
use schedlab_lab::plan::{Contender, Plan, Prepared as Checked};
use schedlab_lab::run::Run;
use schedlab_lab::{Error, catch_panic, page};
use schedlab_report::{
    Report, RunReport, Style, TimelineOptions, csv, json, metrics, table, timeline,
};
use schedlab_trace::writer::is_replaceable;
use schedlab_trace::{Recorder, TraceFormat, TraceWriter};
use std::path::PathBuf;
use std::sync::Arc;

/// A plan without mistakes.
#[pyclass(frozen, module = "schedlab._native")]
pub struct Prepared {
    pub checked: Arc<Checked>,
    pub policies: Policies,
}

impl Prepared {
    /// Returns the column at this index.
    fn column(&self, py: Python<'_>, place: usize) -> PyResult<&Contender> {
        let all = self.checked.schedulers();
        all.get(place).ok_or_else(|| errors::input(py, format!("there is no column {place}")))
    }

    /// Runs a column again, with an observer.
    fn observe<O: schedlab_core::Observer + Send>(
        &self,
        py: Python<'_>,
        place: usize,
        observer: O,
    ) -> PyResult<(RunReport, O)> {
        let contender = self.column(py, place)?;
        let run = |stop: &Stop| {
            let mut observer = observer;
            let ran = self.checked.session(contender).and_then(|mut session| {
                session.observe((stop.observer(), &mut observer)).name_tasks();
                session.finish()
            });
            let report = match ran {
                Ok(run) => Ok(run.report),
                Err(Error::Stuck { run, .. }) => Ok(run.report),
                Err(error) => Err(error),
            };
            (report, observer)
        };
        let (report, observer) = interruptible(py, !self.policies.is_empty(), run)?;
        let failed = |error| self.policies.error(py, &contender.to_string(), &error);
        Ok((report.map_err(failed)?, observer))
    }
}

#[pymethods]
impl Prepared {
    /// Checks a plan, given as JSON; `policies` are Python classes that it may name.
    #[new]
    #[pyo3(signature = (plan, policies=vec![]))]
    fn new(py: Python<'_>, plan: &str, policies: Vec<Py<PyAny>>) -> PyResult<Prepared> {
        // The text was generated, so a position in it is of no use to the user.
        let plan = Plan::parse("plan", plan).map_err(|error| match &error {
            Error::Diagnostic(wrong) if wrong.file() == "plan" => {
                errors::input(py, wrong.message())
            }
            error => errors::engine(py, None, error),
        })?;
        let policies = Policies::load(py, policies)?;
        let own = policies.choices();
        // Policies are built in order to query them, so this stays on the calling thread.
        let checked = py.detach(|| catch_panic(|| plan.prepare_with(&own)));
        let checked = checked
            .map_err(|broken| policies.broken(py, &broken))?
            .map_err(|error| errors::engine(py, None, &error))?;
        Ok(Prepared { checked: Arc::new(checked), policies })
    }

    /// Returns the plan as JSON, with every column named by its release.
    fn plan(&self) -> String {
        self.checked.plan().to_json()
    }

    /// Returns the name of the load, for messages.
    #[getter]
    fn name(&self) -> String {
        self.checked.name().into()
    }

    /// Notes about the plan for the user.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.checked.notes().to_vec()
    }

    /// Returns the columns, as users write them.
    #[getter]
    fn schedulers(&self) -> Vec<String> {
        self.checked.schedulers().iter().map(Contender::to_string).collect()
    }

    /// Runs all columns on this number of threads; `None`: one for each core.
    #[pyo3(signature = (threads=None))]
    fn run(&self, py: Python<'_>, threads: Option<usize>) -> PyResult<Outcome> {
        let stays = !self.policies.is_empty();
        let threads = self.policies.threads(threads);
        let results = interruptible(py, stays, |stop| {
            let mut results: Vec<(String, Result<Run, Error>)> = vec![];
            let one = |column: usize, repetition| {
                if stop.is_set() {
                    return Err(Error::Broken("interrupted".into()));
                }
                let contender = &self.checked.schedulers()[column];
                let mut session = self.checked.repetition(contender, repetition)?;
                session.observe(stop.observer());
                session.finish()
            };
            self.checked.run_all_by(threads, one, |contender, result| {
                results.push((contender.to_string(), result));
                !stop.is_set()
            });
            results
        })?;
        let some_ran = results.iter().any(|(_, result)| result.is_ok());
        let (mut runs, mut warnings, mut findings) = (vec![], vec![], vec![]);
        for (name, result) in results {
            let run = match result {
                Ok(run) => run,
                // The part that was simulated is shown next to the complete runs.
                Err(Error::Stuck { run, .. }) if some_ran => *run,
                Err(error) => return Err(self.policies.error(py, &name, &error)),
            };
            warnings.extend(run.warning.map(|warning| format!("{name}: {warning}")));
            findings.push(Findings::of(run.findings));
            runs.push(run.report);
        }
        Ok(Outcome { report: self.checked.report(runs), warnings, findings })
    }

    /// Explains decisions of a column's scheduler in words.
    #[pyo3(signature = (place, at_ns=None, task=None, cpu=None, wakeup=None, worst=None))]
    #[allow(clippy::too_many_arguments)]
    fn explain(
        &self,
        py: Python<'_>,
        place: usize,
        at_ns: Option<u64>,
        task: Option<&str>,
        cpu: Option<u32>,
        wakeup: Option<u64>,
        worst: Option<u64>,
    ) -> PyResult<String> {
        let contender = self.column(py, place)?;
        if self.checked.experiment().is_none() {
            return Err(errors::input(py, "only runs of a workload can be explained"));
        }
        let asked = ExplainRequest { at_ns, task, cpu, wakeup, worst };
        let stays = !self.policies.is_empty();
        let explained = interruptible(py, stays, |_| {
            schedlab_cli::explanation(&asked, &self.checked, contender, Style::plain(100))
        })?;
        explained.map_err(|wrong| {
            // The message names the option of the command line.
            let input = || errors::input(py, wrong.trim_start_matches("--"));
            self.policies.raised(py).unwrap_or_else(input)
        })
    }

    /// Returns the longest waits of a task or of all tasks in a column, the longest first.
    #[pyo3(signature = (place, task=None, many=1))]
    fn waits(
        &self,
        py: Python<'_>,
        place: usize,
        task: Option<u32>,
        many: usize,
    ) -> PyResult<Vec<Wait>> {
        let contender = self.column(py, place)?;
        let stays = !self.policies.is_empty();
        let only = task.map(TaskId);
        let found = interruptible(py, stays, |_| {
            explain::longest_waits(&self.checked, contender, only, many)
        })?;
        let failed = |error| self.policies.error(py, &contender.to_string(), &error);
        let (waits, names) = found.map_err(failed)?;
        let name = |task: TaskId| names.task(task).to_string();
        let wait = |wait: &explain::Wait| Wait {
            task: name(wait.task),
            start_ns: wait.start_ns,
            end_ns: wait.end_ns,
            cpu: wait.cpu.0,
            ran: wait.ran,
            meanwhile: (wait.meanwhile.iter())
                .map(|&(task, ns, turns)| (task.map(name), ns, turns))
                .collect(),
            lost: (wait.lost.iter())
                .map(|(&rule, &times)| {
                    (names.rule(rule).map_or(String::new(), |doc| doc.text.to_string()), times)
                })
                .collect(),
        };
        Ok(waits.iter().map(wait).collect())
    }

    /// Writes a trace of a column's run.
    fn trace(&self, py: Python<'_>, place: usize, path: PathBuf) -> PyResult<()> {
        let contender = self.column(py, place)?;
        let shown = path.display();
        let Some(format) = TraceFormat::of(&path) else {
            let message = format!(
                "{shown}: its extension names no format; use .pftrace, .json or .txt (with .gz or \
                 .zst appended to compress it)"
            );
            return Err(errors::input(py, message));
        };
        if !is_replaceable(&path) {
            let message = format!("{shown} exists and is not a trace; name another file");
            return Err(errors::input(py, message));
        }
        let header = self.checked.trace_header(contender);
        let failed = |error: std::io::Error| {
            errors::input(py, format!("{shown}: cannot be written: {error}"))
        };
        let writer = TraceWriter::create(&path, format, &header).map_err(failed)?;
        let recorder = Recorder::new(header.cpus, writer);
        let (_, recorder) = self.observe(py, place, recorder)?;
        py.detach(|| recorder.into_sink().close()).map_err(failed)
    }

    /// Returns the wakeups of a column as a table.
    fn wakeups(&self, py: Python<'_>, place: usize) -> PyResult<Table> {
        let (_, wakeups) = self.observe(py, place, Wakeups::default())?;
        wakeups.table()
    }

    /// Returns the report as a page for a browser.
    #[pyo3(signature = (outcome, threads=None))]
    fn page(
        &self,
        py: Python<'_>,
        outcome: &Bound<'_, Outcome>,
        threads: Option<usize>,
    ) -> PyResult<String> {
        let stays = !self.policies.is_empty();
        let threads = self.policies.threads(threads);
        let report = &outcome.get().report;
        let page = interruptible(py, stays, |_| page::page(&self.checked, report, threads))?;
        page.ok_or_else(|| errors::input(py, "only a workload has a page"))
    }
}

/// A long wait of a task.
#[pyclass(frozen, get_all, module = "schedlab._native")]
pub struct Wait {
    /// Name of the task.
    task: String,
    /// Beginning, ns.
    start_ns: u64,
    /// End, ns.
    end_ns: u64,
    /// CPU to whose queue the task belonged at the end.
    cpu: u32,
    /// Whether the task then got a CPU.
    ran: bool,
    /// Tasks that ran on that CPU during the wait, with time (ns) and number of turns; `None`: it
    /// idled.
    meanwhile: Vec<(Option<String>, u64, u32)>,
    /// Rules by which other tasks won the picks during the wait, with counts.
    lost: Vec<(String, u32)>,
}

/// Results of a benchmark.
struct Findings {
    printed: String,
    figures: Vec<(String, String, f64)>,
}

impl Findings {
    fn of(findings: schedlab_bench::Findings) -> Findings {
        let figure =
            |figure: schedlab_bench::Figure| (figure.name, figure.unit.to_string(), figure.value);
        let figures = findings.figures.into_iter().map(figure).collect();
        Findings { printed: findings.printed, figures }
    }
}

/// Results of the runs of a plan.
#[pyclass(frozen, module = "schedlab._native")]
pub struct Outcome {
    pub report: Report,
    warnings: Vec<String>,
    findings: Vec<Findings>,
}

impl Outcome {
    fn run_at(&self, py: Python<'_>, place: usize) -> PyResult<&RunReport> {
        let run = self.report.runs.get(place);
        run.ok_or_else(|| errors::input(py, format!("there is no run {place}")))
    }
}

#[pymethods]
impl Outcome {
    /// Returns the document `schedlab-run/1`, identical to the output of `schedlab run --format
    /// json`.
    fn to_json(&self, py: Python<'_>) -> String {
        py.detach(|| json::to_json(&self.report))
    }

    /// Returns the comparison as CSV.
    fn to_csv(&self) -> String {
        csv::comparison(&self.report)
    }

    /// Returns the comparison as text of this width.
    fn comparison(&self, width: usize) -> String {
        table::comparison(&self.report, Style::plain(width))
    }

    /// Returns the cells of the comparison: names of the columns; rows of a title and a text for
    /// each run.
    fn comparison_rows(&self) -> (Vec<String>, Vec<Vec<String>>) {
        let runs = &self.report.runs;
        let rows = metrics::compared(&self.report).filter_map(|metric| {
            let values: Vec<_> = runs.iter().map(|run| metrics::value(run, metric)).collect();
            if values.iter().all(Option::is_none) {
                return None;
            }
            let best = metrics::best(&values, metric.better());
            let cell = |(value, best): (&Option<metrics::Value>, &bool)| {
                let text = value.map_or(String::new(), |value| value.text(true));
                if *best { format!("{text} *") } else { text }
            };
            let cells = values.iter().zip(&best).map(cell);
            Some(std::iter::once(metric.title()).chain(cells).collect())
        });
        (runs.iter().map(RunReport::spec).collect(), rows.collect())
    }

    /// Returns the timeline of a run, drawn as text of this width.
    fn timeline(&self, py: Python<'_>, place: usize, width: usize) -> PyResult<String> {
        let run = self.run_at(py, place)?;
        timeline::draw(run, TimelineOptions::default(), Style::plain(width))
            .map_err(|error| errors::input(py, error.to_string()))
    }

    /// Warnings about the runs.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    /// Returns the output of a benchmark under a scheduler; empty for a workload.
    fn printed(&self, place: usize) -> String {
        self.findings.get(place).map_or(String::new(), |findings| findings.printed.clone())
    }

    /// Returns the figures of a benchmark under a scheduler: names, units, values.
    fn figures(&self, place: usize) -> Vec<(String, String, f64)> {
        self.findings.get(place).map_or(vec![], |findings| findings.figures.clone())
    }

    /// Returns the catalogue's metrics of a run: id, title, value; times in ns.
    fn metrics(&self, py: Python<'_>, place: usize) -> PyResult<Vec<MetricRow>> {
        let run = self.run_at(py, place)?;
        let rows = metrics::in_csv(&self.report).map(|metric| {
            let value = metrics::value(run, metric);
            (metric.id().to_string(), metric.title(), value.map(|value| value.as_f64()))
        });
        Ok(rows.collect())
    }

    /// Returns the stays of tasks on CPUs as a table; `None` if they were not recorded.
    fn slices(&self, py: Python<'_>, place: usize) -> PyResult<Option<Table>> {
        let run = self.run_at(py, place)?;
        let Some(slices) = &run.slices else { return Ok(None) };
        let names: Vec<String> = run.tasks.iter().map(|task| task.name.clone()).collect();
        let of = |number: fn(&schedlab_report::data::SliceRow) -> u64| {
            numbers(slices.iter().map(|slice| number(slice) as i64).collect())
        };
        let keys: Int32Array = slices.iter().map(|slice| Some(slice.3 as i32)).collect();
        let columns = vec![
            ("cpu", of(|slice| slice.0.into())),
            ("start_ns", of(|slice| slice.1)),
            ("end_ns", of(|slice| slice.2)),
            ("task", of(|slice| slice.3.into())),
            ("name", named(keys, &names)?),
        ];
        Table::new("slices", columns).map(Some)
    }

    /// Returns the times at which tasks were runnable as a table; `None` if they were not recorded.
    fn spans(&self, py: Python<'_>, place: usize) -> PyResult<Option<Table>> {
        let run = self.run_at(py, place)?;
        let Some(spans) = &run.spans else { return Ok(None) };
        let names: Vec<String> = run.tasks.iter().map(|task| task.name.clone()).collect();
        let keys: Int32Array = spans.iter().map(|span| Some(span.2 as i32)).collect();
        let columns = vec![
            ("start_ns", numbers(spans.iter().map(|span| span.0 as i64).collect())),
            ("end_ns", numbers(spans.iter().map(|span| span.1 as i64).collect())),
            ("task", numbers(spans.iter().map(|span| span.2.into()).collect())),
            ("name", named(keys, &names)?),
        ];
        Table::new("spans", columns).map(Some)
    }

    /// Returns a list of the document as a table: `tasks`, `keys`, `cpus` or `groups`.
    fn rows(&self, py: Python<'_>, place: usize, list: &str) -> PyResult<Table> {
        crate::rows::table(py, self.run_at(py, place)?, list)
    }
}

/// A metric of a run: id, title, value.
type MetricRow = (String, String, Option<f64>);
