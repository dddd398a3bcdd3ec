//! `schedlab bench`.

use crate::bench_args::{BenchCommand, Subject};
use crate::bench_options::Common;
use crate::files;
use crate::options::{OnOff, RunFormat};
use crate::page;
use crate::picture;
use crate::plans::{contradiction, find_machine, note, prepare, write_plan};
use crate::terminal::{Output, Progress, complain, style};
use crate::{Failure, PROGRAM, Status};
use schedlab_lab::parallel;
use schedlab_lab::plan::{Load, MachineSpec, Plan, Source};
use schedlab_lab::sweep::{Results, Sweep, SweepError};
use schedlab_report::Style;
use schedlab_report::bench::{BenchPoint, BenchReport, csv, curve, table};
use schedlab_report::data::EndState;
use schedlab_workload::close_names;
use std::io::Write;
use std::path::Path;

/// Number of simultaneous tasks above which a run takes long.
const MANY_TASKS: u64 = 50_000;

/// Runs a benchmark, once or as a sweep.
pub fn bench(command: &BenchCommand, output: &mut Output) -> Result<Status, Failure> {
    let (plan, file) = plan(command)?;
    let prepared = prepare(&plan, file.as_deref())?;
    note(&prepared);
    if let Some(path) = &command.common.plan_out {
        write_plan(path, &prepared.plan())?;
        return Ok(Status::Good);
    }
    let sweep = prepared.sweep().ok_or_else(|| "the plan contains no benchmark".to_string())?;
    if command.common.plot.is_some() && !sweep.has_axis() {
        let message =
            "--plot: there is only one point; give a list for a parameter, such as --NAME 10,20,30";
        return Err(Failure::Message(message.into()));
    }
    if let Some(path) = &command.common.plot {
        picture::check(path, |text| text.starts_with("<svg"))?;
    }
    if let Some(path) = &command.common.report {
        page::check_page(path)?;
    }
    let tasks = sweep.tasks_at_once();
    if tasks >= MANY_TASKS {
        complain(&format!(
            "note: up to {tasks} tasks at once: this takes minutes, and gigabytes of memory"
        ));
    }
    let report = run(sweep, &command.common)?;
    warn(&report);
    let figure = figure(&report, command.common.figure.as_deref())?;
    if sweep.has_axis() && figure.is_none() {
        let message = format!("{}: all runs ended before they had a result", report.benchmark);
        return Err(Failure::Message(message));
    }
    if let Some(path) = &command.common.plot {
        let chart = figure.as_deref().and_then(|figure| curve::chart(&report, figure));
        let svg = chart.map_or(String::new(), |chart| chart.to_svg());
        picture::write(path, &svg)?;
    }
    if let Some(path) = &command.common.report {
        let threads = command.common.cores.unwrap_or_else(parallel::cores);
        let page = schedlab_lab::page::bench_page(&prepared, &report, figure.as_deref(), threads);
        files::write_whole(path, &page.unwrap_or_default())?;
        if command.common.open {
            page::open(path);
        }
    }
    match (command.common.format, figure) {
        (RunFormat::Json, _) => output.write_all(report.to_json().as_bytes())?,
        (RunFormat::Csv, _) => output.write_all(csv::figures(&report).as_bytes())?,
        (RunFormat::Table, Some(figure)) if sweep.has_axis() => {
            print_sweep(&report, &figure, output)?
        }
        (RunFormat::Table, _) => print_point(&report, output)?,
    }
    let mut rows = report.points.iter().flat_map(|point| &point.runs);
    let failed = rows.any(|row| row.end == EndState::Failed);
    Ok(if failed { Status::Error } else { Status::Good })
}

/// Returns the plan that the command line names, with its file's name, or the plan that the options
/// describe.
fn plan(command: &BenchCommand) -> Result<(Plan, Option<String>), Failure> {
    let common = &command.common;
    let load = match &command.subject {
        Subject::Load(load) => load.clone(),
        Subject::Plan { file, changes } => return planned(file, changes),
    };
    let scx = common.scx();
    let schedulers = scx.apply(common.schedulers.clone())?;
    let plan = Plan {
        machine: MachineSpec {
            description: find_machine(common.machine.as_deref())?,
            cpus: common.cpus,
            hz: common.hz,
            no_costs: common.no_costs,
            costs: scx.costs(common.cost.clone()),
            nohz: common.nohz.map(|nohz| nohz == OnOff::On),
            tick_phase_ns: None,
        },
        set: common.set.clone(),
        limit_ns: common.duration,
        seed: Some(common.seed),
        repeat: common.repeat,
        ..Plan::new(load, schedulers)
    };
    Ok((plan, None))
}

/// Reads the plan in `file`. Options that contradict it are refused.
fn planned(file: &Path, changes: &[String]) -> Result<(Plan, Option<String>), Failure> {
    let Source { file, text } = files::read(file)?;
    if let Some(option) = changes.first() {
        return Err(Failure::Message(contradiction(&file, option)));
    }
    let plan = Plan::parse(&file, &text).map_err(|error| error.to_string())?;
    if let Load::Workload(_) = plan.load {
        return Err(Failure::Message(format!(
            "{file}: this is the plan of a workload; run it with `schedlab run {file}`"
        )));
    }
    Ok((plan, Some(file)))
}

fn run(sweep: &Sweep, common: &Common) -> Result<BenchReport, Failure> {
    // A scheduler that panics is reported as a separate error.
    std::panic::set_hook(Box::new(|_| {}));
    let results = match (&common.save, &common.resume) {
        (Some(path), _) => Some(Results::create(path, sweep, PROGRAM)),
        (None, Some(path)) => Some(Results::resume(path, sweep, PROGRAM)),
        (None, None) => None,
    };
    let results = results.transpose().map_err(|error| error.to_string())?;
    let threads = common.cores.unwrap_or_else(parallel::cores);
    let progress = Progress::new(sweep.to_do(results.as_ref()) as u64, "runs");
    let report = sweep.run(threads, results.as_ref(), || progress.tick());
    drop(progress);
    report.map_err(|error| match error {
        SweepError::Run { .. } => format!("{}: {error}", sweep.bench().benchmark.name()).into(),
        error => error.to_string().into(),
    })
}

/// Prints warnings of the runs, once for runs of the same point.
fn warn(report: &BenchReport) {
    for point in &report.points {
        if let Some(warning) = point.runs.iter().find_map(|run| run.warning.as_ref()) {
            complain(&format!("warning: {}: {warning}", report.schedulers[point.scheduler].spec()));
        }
    }
}

/// Returns the figure to show: the requested one, or the benchmark's first; `None` without a
/// result.
fn figure(report: &BenchReport, asked: Option<&str>) -> Result<Option<String>, Failure> {
    let names = report.figure_names();
    let Some(asked) = asked else {
        let mut own =
            report.points.iter().flat_map(|point| &point.runs).flat_map(|run| &run.figures);
        return Ok(own.next().map(|figure| figure.name.clone()));
    };
    if let Some(name) = report.figure_called(asked) {
        return Ok(Some(name));
    }
    let close = close_names(asked, names.iter().copied());
    let hint = match close.as_slice() {
        [] => format!("the figures are {}", names.join(", ")),
        close => format!("did you mean \"{}\"?", close.join("\" or \"")),
    };
    Err(Failure::Message(format!("--figure: there is no figure \"{asked}\"; {hint}")))
}

fn print_sweep(report: &BenchReport, figure: &str, output: &mut Output) -> Result<(), Failure> {
    let style = style();
    writeln!(output, "{}: {figure}", heading(report))?;
    output.write_styled(&table::sweep(report, figure, style))?;
    if let Some(chart) = curve::chart(report, figure) {
        writeln!(output)?;
        output.write_styled(&chart.to_text(style))?;
    }
    Ok(())
}

/// Prints the output of the real program under each scheduler, and the figures side by side.
fn print_point(report: &BenchReport, output: &mut Output) -> Result<(), Failure> {
    let style = style();
    let points: Vec<&BenchPoint> = report.points.iter().collect();
    for point in &points {
        let Some(run) = point.runs.first() else { continue };
        let seed =
            if report.seeds.len() > 1 { format!(", seed {}", run.seed) } else { String::new() };
        let title = format!("{}{seed}", report.schedulers[point.scheduler].spec());
        writeln!(output, "{}\n{}\n", rule(&title, style), run.printed.trim_end())?;
    }
    let seeds = match report.seeds.len() {
        1 => String::new(),
        many => format!(", {many} seeds"),
    };
    writeln!(output, "{}{seeds}", heading(report))?;
    output.write_styled(&table::figures(report, &points, style))?;
    Ok(())
}

/// Formats a heading within a line.
fn rule(title: &str, style: Style) -> String {
    let line = if style.unicode { "─" } else { "-" };
    format!(
        "{} {title} {}",
        line.repeat(2),
        line.repeat(style.width.clamp(40, 80).saturating_sub(title.len() + 4))
    )
}

fn heading(report: &BenchReport) -> String {
    let cpus = crate::terminal::counted(report.cpus as usize, "CPU");
    format!("{} on {cpus} ({})", report.benchmark, report.model)
}
