//! `schedlab explain`.

use crate::explain_args::ExplainArgs;
use crate::files;
use crate::plans::{find_machine, newest, note, prepare};
use crate::terminal::{Output, style};
use crate::{Failure, Status, escape};
use schedlab_core::{CpuId, TaskId};
use schedlab_lab::explain::{self, CpuMoment, Effort, Moment, Names, NiceThatWins, WakeupFilter};
use schedlab_lab::plan::{Contender, Groups, Load, MachineSpec, Plan, Prepared, Timetable};
use schedlab_report::Style;
use schedlab_report::format::duration;
use schedlab_report::shortened;

pub mod words;

use words::Explainer;

/// Request for an explanation: of a moment, of a wakeup, or else of the longest waits.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExplainRequest<'a> {
    /// Moment to explain, ns.
    pub at_ns: Option<u64>,
    /// Task to explain; `None`: all.
    pub task: Option<&'a str>,
    /// CPU to explain, with `at_ns`; `None`: all.
    pub cpu: Option<u32>,
    /// Wakeup to explain, counted from 1.
    pub wakeup: Option<u64>,
    /// Number of longest waits to explain; `None`: one.
    pub worst: Option<u64>,
}

/// Explains a run of `prepared` under `scheduler`, in words and tables.
///
/// # Errors
/// The task, moment or wakeup does not exist, or the run failed.
pub fn explanation(
    request: &ExplainRequest<'_>,
    prepared: &Prepared,
    scheduler: &Contender,
    style: Style,
) -> Result<String, String> {
    answer(request, prepared, scheduler, style).map_err(|failure| match failure {
        Failure::Message(message) => message,
        Failure::Output(error) => error.to_string(),
    })
}

fn answer(
    request: &ExplainRequest<'_>,
    prepared: &Prepared,
    scheduler: &Contender,
    style: Style,
) -> Result<String, Failure> {
    match (request.at_ns, request.wakeup, request.worst) {
        (Some(at_ns), ..) => at(request, prepared, scheduler, at_ns, style),
        (_, Some(number), _) => wakeup(request, prepared, scheduler, number, style),
        (_, _, many) => worst(request, prepared, scheduler, many.unwrap_or(1) as usize, style),
    }
}

/// Explains a moment, a wakeup or waits.
pub fn explain(args: &ExplainArgs, output: &mut Output) -> Result<Status, Failure> {
    let (plan, file) = plan(args)?;
    let prepared = prepare(&plan, file.as_deref())?;
    note(&prepared);
    let scheduler = contender(&prepared, args.scheduler.as_deref())?;
    let head = format!(
        "{} under {scheduler}, {}",
        prepared.name(),
        crate::terminal::counted(cpus(&prepared) as usize, "CPU")
    );
    let request = ExplainRequest {
        at_ns: args.at,
        task: args.task.as_deref(),
        cpu: args.cpu,
        wakeup: args.wakeup,
        worst: args.worst,
    };
    let text = answer(&request, &prepared, scheduler, style())?;
    output.write_styled(&format!("{head}\n\n{text}"))?;
    Ok(Status::Good)
}

fn cpus(prepared: &Prepared) -> u32 {
    prepared.experiment().map_or(0, |experiment| experiment.config.cpus)
}

/// Identifiers of options that select what is explained.
const EXPLANATION: [&str; 7] = ["scheduler", "at", "cpu", "task", "wakeup", "worst", "scx_dump"];

/// Returns the plan in the file, with the file's name, or the plan that the options describe.
fn plan(args: &ExplainArgs) -> Result<(Plan, Option<String>), Failure> {
    let source = files::read(&args.file)?;
    if Plan::is_plan(&source.text) {
        if let Some(option) = args.given.first_option::<ExplainArgs>(&EXPLANATION) {
            return Err(Failure::Message(crate::plans::contradiction(&source.file, &option)));
        }
        let plan = Plan::parse(&source.file, &source.text).map_err(|error| error.to_string())?;
        return Ok((plan, Some(source.file)));
    }
    let schedulers = args.scx.apply(vec![args.scheduler.clone().unwrap_or_else(newest)])?;
    let plan = Plan {
        machine: MachineSpec {
            description: find_machine(args.machine.as_deref())?,
            cpus: args.cpus,
            costs: args.scx.costs(vec![]),
            ..MachineSpec::default()
        },
        set: args.set.clone(),
        groups: Groups {
            files: files::read_all(&args.groups)?,
            settings: args.group.clone(),
            ..Groups::default()
        },
        timetable: Timetable { files: files::read_all(&args.timetable)?, ..Timetable::default() },
        limit_ns: args.duration,
        seed: args.seed,
        ..Plan::new(Load::Workload(source), schedulers)
    };
    Ok((plan, None))
}

/// Returns the one scheduler to explain.
fn contender<'a>(prepared: &'a Prepared, name: Option<&str>) -> Result<&'a Contender, Failure> {
    let all = prepared.schedulers();
    let is_it = |one: &&Contender| {
        name.is_none_or(|name| one.to_string() == name || one.choice.entry.name == name)
    };
    let named: Vec<&Contender> = match all {
        // The only scheduler may be named differently (`cfs:sched_latency_ns=6ms`).
        [one] => vec![one],
        all => all.iter().filter(is_it).collect(),
    };
    match named.as_slice() {
        [one] => Ok(one),
        several => {
            let of = if several.is_empty() { all.iter().collect() } else { several.to_vec() };
            let names: Vec<String> = of.into_iter().map(Contender::to_string).collect();
            Err(Failure::Message(format!(
                "one scheduler, with one value of each setting, is explained at a time; choose \
                 one of {}",
                names.join(", ")
            )))
        }
    }
}

/// Returns the task of the run that `--task` names.
fn task(
    request: &ExplainRequest<'_>,
    names: &Names,
    style: Style,
) -> Result<Option<TaskId>, Failure> {
    let Some(wanted) = request.task else { return Ok(None) };
    let of_name = |name: &str| names.tasks.iter().position(|task| task == name);
    let found = of_name(wanted).or_else(|| of_name(&format!("{wanted}-0")));
    match found {
        Some(number) => Ok(Some(TaskId(number as u32))),
        None => {
            let shown = |name: &str| shortened(&escape::name(name), 40, style);
            let some: Vec<String> = names.tasks.iter().take(20).map(|name| shown(name)).collect();
            let more = if names.tasks.len() > some.len() { ", ..." } else { "" };
            Err(Failure::Message(format!(
                "--task: there is no task {}; the tasks are {}{more}",
                shown(wanted),
                some.join(", ")
            )))
        }
    }
}

fn at(
    request: &ExplainRequest<'_>,
    prepared: &Prepared,
    scheduler: &Contender,
    at_ns: u64,
    style: Style,
) -> Result<String, Failure> {
    let cpus = cpus(prepared);
    if let Some(cpu) = request.cpu.filter(|&cpu| cpu >= cpus) {
        let known = match cpus {
            1 => "has only CPU 0".into(),
            cpus => format!("has CPUs 0 to {}", cpus - 1),
        };
        return Err(Failure::Message(format!("--cpu {cpu}: the machine {known}")));
    }
    let mut standing = explain::moment(prepared, scheduler, at_ns).map_err(|e| e.to_string())?;
    let words = Explainer::new(&standing.names, style);
    if let Some(ended_ns) = standing.ended_ns {
        return Err(Failure::Message(format!(
            "--at {}: the run ended at {}",
            duration(at_ns, true),
            duration(ended_ns, true)
        )));
    }
    let effort = Effort::default();
    if let Some(task) = task(request, &standing.names, style)? {
        let cpu = standing.tasks.get(task.index()).and_then(|row| row.cpu);
        if let Some(wrong) = request.cpu.filter(|&wanted| cpu.is_some_and(|cpu| cpu.0 != wanted)) {
            let cpu = cpu.map_or(0, |cpu| cpu.0);
            return Err(Failure::Message(format!(
                "--cpu {wrong}: {} is on CPU {cpu} then; leave --cpu out",
                words.task_name(task)
            )));
        }
        if let Some(cpu) = cpu {
            refresh(prepared, scheduler, &mut standing, cpu, &effort)?;
        }
        return Ok(words.task(&standing, task));
    }
    let shown = |row: (usize, &CpuMoment)| match request.cpu {
        Some(wanted) => row.0 == wanted as usize,
        None => {
            row.1.current.is_some() || !row.1.candidates.is_empty() || !row.1.throttled.is_empty()
        }
    };
    let all = standing.cpus.iter().enumerate();
    let cpus: Vec<CpuId> =
        all.filter(|row| shown(*row)).map(|(cpu, _)| CpuId(cpu as u32)).collect();
    for &cpu in &cpus {
        refresh(prepared, scheduler, &mut standing, cpu, &effort)?;
    }
    let mut text = words.moment(&standing);
    for cpu in cpus {
        let wins = |task| nice(prepared, scheduler, &standing, cpu, task, &effort);
        text.push('\n');
        text.push_str(&words.cpu(&standing, cpu, wins)?);
    }
    Ok(text)
}

/// Updates the pick that a CPU would make.
pub fn refresh(
    prepared: &Prepared,
    scheduler: &Contender,
    standing: &mut Moment,
    cpu: CpuId,
    effort: &Effort,
) -> Result<(), Failure> {
    let done = standing.refresh(prepared, scheduler, cpu, effort);
    Ok(done.map_err(|error| error.to_string())?)
}

/// Finds the nice value with which `task` would have been picked.
pub fn nice(
    prepared: &Prepared,
    scheduler: &Contender,
    standing: &Moment,
    cpu: CpuId,
    task: TaskId,
    effort: &Effort,
) -> Result<NiceThatWins, Failure> {
    let found = explain::nice_that_wins(prepared, scheduler, standing, cpu, task, effort);
    Ok(found.map_err(|error| error.to_string())?)
}

fn wakeup(
    request: &ExplainRequest<'_>,
    prepared: &Prepared,
    scheduler: &Contender,
    number: u64,
    style: Style,
) -> Result<String, Failure> {
    let find = |of_task, number| {
        explain::wakeup(prepared, scheduler, of_task, number).map_err(|error| error.to_string())
    };
    let (mut found, mut seen, names) = find(WakeupFilter::All, number)?;
    let mut of_task = String::new();
    if let Some(task) = task(request, &names, style)? {
        (found, seen, _) = find(WakeupFilter::Of(task), number)?;
        of_task = format!(" of {}", names.task(task));
    }
    match found {
        Some(wakeup) => Ok(Explainer::new(&names, style).wakeup(number, &of_task, &wakeup)),
        None => Err(Failure::Message(format!(
            "--wakeup {number}: there are {seen} wakeups{of_task} in this run"
        ))),
    }
}

fn worst(
    request: &ExplainRequest<'_>,
    prepared: &Prepared,
    scheduler: &Contender,
    many: usize,
    style: Style,
) -> Result<String, Failure> {
    let find = |only, many| {
        explain::longest_waits(prepared, scheduler, only, many).map_err(|error| error.to_string())
    };
    let (mut waits, names) = find(None, if request.task.is_some() { 0 } else { many })?;
    if let Some(task) = task(request, &names, style)? {
        waits = find(Some(task), many)?.0;
    }
    if waits.is_empty() {
        return Ok("No task ever waited for a CPU.\n".into());
    }
    let words = Explainer::new(&names, style);
    let all: Vec<String> =
        waits.iter().enumerate().map(|(place, wait)| words.wait(place + 1, wait)).collect();
    Ok(all.join("\n"))
}
