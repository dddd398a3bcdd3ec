//! `schedlab run`.

use super::show::TableOptions;
use crate::args::RunArgs;
use crate::files;
use crate::given::definitions;
use crate::options::{OnOff, RunFormat};
use crate::outputs::{self, OutputArgs, Outputs};
use crate::page::{self, PageArgs};
use crate::plans::{find_machine, note, prepare, write_plan};
use crate::terminal::{Output, Progress, complain};
use crate::{Failure, Status, rt_app_log};
use schedlab_lab::plan::{Groups, Load, MachineSpec, Plan, Prepared, Record, Source, Timetable};
use schedlab_lab::run::Run;
use schedlab_lab::{Error, parallel};
use schedlab_report::Report;
use schedlab_workload::Log;

/// Runs workloads and compares schedulers.
pub fn run(args: &RunArgs, output: &mut Output) -> Result<Status, Failure> {
    let show = TableOptions::new(args)?;
    let mut prepared = vec![];
    for (plan, file) in plans(args, &show)? {
        let mut one = prepare(&plan, file.as_deref())?;
        if !show.columns.is_empty() {
            let kept = one.keep_columns(&show.columns);
            kept.map_err(|error| format!("--columns: {error}"))?;
        }
        note(&one);
        prepared.push(one);
    }
    if let Some(path) = &args.plan_out {
        let [one] = prepared.as_slice() else {
            let message = "--plan-out: a plan holds one workload; write a plan for each file";
            return Err(Failure::Message(message.into()));
        };
        write_plan(path, &one.plan())?;
        return Ok(Status::Good);
    }
    files::check_distinct(&[
        ("--output", args.output.as_deref()),
        ("--report", args.page.report.as_deref()),
        ("--plot", args.page.plot.as_deref()),
        ("--trace", args.outputs.trace.as_deref()),
    ])?;
    page::check(&args.page, prepared.len())?;
    let outputs = Outputs::begin(&args.outputs, &prepared)?;
    let mut status = Status::Good;
    let mut reports = vec![];
    if let Some(directory) = &args.rt_app_log {
        rt_app_log::check(directory)?;
    }
    for one in &prepared {
        let (report, logs, all_well) = run_all(one, outputs.as_ref());
        if let Some(report) = &report {
            page::write(&args.page, one, report)?;
        }
        if let (Some(directory), Some(report)) = (&args.rt_app_log, &report) {
            rt_app_log::write(directory, report, &logs, prepared.len() > 1)?;
        }
        status = if all_well { status } else { Status::Error };
        reports.extend(report);
    }
    if outputs.as_ref().is_some_and(Outputs::has_failed) {
        status = Status::Error;
    }
    if reports.is_empty() {
        return Ok(Status::Error);
    }
    let printed = show.print(args, &mut reports, output)?;
    Ok(if status == Status::Good { printed } else { status })
}

/// Returns a plan for each file: the plan in the file, with the file's name, or the plan that the
/// options describe.
fn plans(args: &RunArgs, show: &TableOptions) -> Result<Vec<(Plan, Option<String>)>, Failure> {
    let groups = groups(args)?;
    let timetable =
        Timetable { files: files::read_all(&args.timetable)?, actions: args.at.clone() };
    // A document contains the whole recording, a picture only its window.
    let drawn = args.timeline && show.format == RunFormat::Table;
    let record = Record {
        slices: args.timeline || show.format == RunFormat::Json,
        from_ns: args.from.filter(|_| drawn).unwrap_or(0),
        until_ns: args.to.filter(|_| drawn),
        rt_app_log: args.rt_app_log.is_some(),
        reasons: args.outputs.trace_lag,
    };
    let machine = MachineSpec {
        description: find_machine(args.machine.as_deref())?,
        cpus: args.cpus,
        hz: args.hz,
        no_costs: args.no_costs,
        costs: args.scx.costs(args.cost.clone()),
        nohz: args.nohz.map(|nohz| nohz == OnOff::On),
        tick_phase_ns: args.tick_phase,
    };
    let mut schedulers = args.schedulers.clone();
    if schedulers.is_empty() {
        schedulers = vec!["main".into()];
    }
    let schedulers = args.scx.apply(schedulers)?;
    let mut plans = vec![];
    for path in &args.files {
        let source = files::read(path)?;
        if Plan::is_plan(&source.text) {
            let mut plan = planned(args, &source)?;
            plan.record = Record { reasons: plan.record.reasons, ..record };
            plans.push((plan, Some(source.file)));
            continue;
        }
        let plan = Plan {
            machine: machine.clone(),
            set: args.set.clone(),
            groups: groups.clone(),
            timetable: timetable.clone(),
            limit_ns: args.duration,
            seed: args.seed,
            repeat: args.repeat.unwrap_or(1),
            late_starts: args.repeat.is_some(),
            start: args.start,
            record,
            ..Plan::new(Load::Workload(source), schedulers.clone())
        };
        plans.push((plan, None));
    }
    Ok(plans)
}

/// Reads the plan in `source`. Options that contradict it are refused.
fn planned(args: &RunArgs, source: &Source) -> Result<Plan, Failure> {
    if let Some(option) = change_of_plan(args) {
        return Err(Failure::Message(crate::plans::contradiction(&source.file, &option)));
    }
    let plan = Plan::parse(&source.file, &source.text).map_err(|error| error.to_string())?;
    if !matches!(plan.load, Load::Workload(_)) {
        let file = &source.file;
        return Err(Failure::Message(format!(
            "{file}: this is the plan of a benchmark; run it with `schedlab bench plan {file}`"
        )));
    }
    Ok(plan)
}

/// Identifiers of options that only affect the output of a run.
const OUTPUT: [&str; 12] = [
    "baseline",
    "columns",
    "rows",
    "format",
    "output",
    "tasks",
    "rt_app_log",
    "timeline",
    "from",
    "to",
    "plan_out",
    "scx_dump",
];

/// Returns the first option given that changes the run, rather than its output.
fn change_of_plan(args: &RunArgs) -> Option<String> {
    let outputs: Vec<String> =
        definitions::<OutputArgs>().chain(definitions::<PageArgs>()).map(|(id, _)| id).collect();
    let exceptions: Vec<&str> = outputs.iter().map(String::as_str).chain(OUTPUT).collect();
    args.given.first_option::<RunArgs>(&exceptions)
}

fn groups(args: &RunArgs) -> Result<Groups, Failure> {
    Ok(Groups {
        files: files::read_all(&args.groups)?,
        settings: args.group.clone(),
        cgrules: args.cgrules.as_deref().map(files::read).transpose()?,
        user_groups: args.user_groups,
        autogroup: args.autogroup,
        user_files: files::read_all(&args.users)?,
        users: args.user.clone(),
    })
}

/// Outcome of a plan: the report, if any run has a result, with the log of each of its runs, and
/// whether all succeeded.
type PlanOutcome = (Option<Report>, Vec<Option<Log>>, bool);

/// Runs a plan under all of its schedulers. Failed runs are reported, and the others are in the
/// report. So is a run that ended in a deadlock, up to that point, if another did not.
fn run_all(prepared: &Prepared, outputs: Option<&Outputs>) -> PlanOutcome {
    // A scheduler that panics is reported as a separate error.
    std::panic::set_hook(Box::new(|_| {}));
    let runs = prepared.schedulers().len() as u64 * prepared.repetitions();
    let progress = Progress::new(runs, "runs");
    let mut results = vec![];
    let done = || progress.tick();
    outputs::run_all(prepared, outputs, parallel::cores(), done, |scheduler, result| {
        let choice = scheduler.to_string();
        progress.print(|| {
            if let Ok(Run { warning: Some(warning), .. }) = &result {
                complain(&format!("warning: {choice}: {warning}"));
            }
            results.push((choice, result));
        });
        true
    });
    drop(progress);
    let some_ran = results.iter().any(|(_, result)| result.is_ok());
    let mut runs = vec![];
    let mut logs = vec![];
    let mut failed = vec![];
    for (choice, result) in results {
        match result {
            Ok(run) => {
                runs.push(run.report);
                logs.push(run.log);
            }
            Err(Error::Stuck { run, .. }) if some_ran => {
                complain(&format!("warning: {choice}: {}", run.warning.unwrap_or_default()));
                runs.push(run.report);
                logs.push(run.log);
            }
            Err(Error::Diagnostic(diagnostic)) => failed.push(diagnostic.to_string()),
            Err(error) => failed.push(format!("{}: {choice}: {error}", prepared.name())),
        }
    }
    if runs.is_empty() {
        // All schedulers failed: the first message gives the reason.
        failed.truncate(1);
    }
    for message in &failed {
        complain(message);
    }
    ((!runs.is_empty()).then(|| prepared.report(runs)), logs, failed.is_empty())
}
