//! `schedlab explain`.

use crate::explain_args::ExplainArgs;
use crate::files;
use crate::plans::{find_machine, note, prepare};
use crate::terminal::{Output, style};
use crate::{Failure, Status};
use schedlab_core::{CpuId, TaskId};
use schedlab_lab::explain::{self, Names, Standing, Whose};
use schedlab_lab::plan::{Contender, Groups, Load, MachineSpec, Plan, Prepared, Timetable};
use schedlab_report::Style;
use schedlab_report::format::duration;

pub mod words;

use words::Words;

/// What is to be explained: a moment, a wakeup, or else the longest waits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked<'a> {
    /// How things stood at this moment, ns.
    pub at_ns: Option<u64>,
    /// Only of this task.
    pub task: Option<&'a str>,
    /// Only of this CPU; of a moment.
    pub cpu: Option<u32>,
    /// Where this wakeup went, counted from 1.
    pub wakeup: Option<u64>,
    /// So many of the longest waits; none: one.
    pub worst: Option<u64>,
}

/// The explanation of a run of `prepared` under `scheduler`, in words and tables.
///
/// # Errors
/// There is no such task, moment or wakeup; how the run ended badly.
pub fn explanation(
    asked: &Asked<'_>,
    prepared: &Prepared,
    scheduler: &Contender,
    style: Style,
) -> Result<String, String> {
    answer(asked, prepared, scheduler, style).map_err(|failure| match failure {
        Failure::Message(message) => message,
        Failure::Output(error) => error.to_string(),
    })
}

fn answer(
    asked: &Asked<'_>,
    prepared: &Prepared,
    scheduler: &Contender,
    style: Style,
) -> Result<String, Failure> {
    match (asked.at_ns, asked.wakeup, asked.worst) {
        (Some(at_ns), ..) => at(asked, prepared, scheduler, at_ns, style),
        (_, Some(number), _) => wakeup(asked, prepared, scheduler, number, style),
        (_, _, many) => worst(asked, prepared, scheduler, many.unwrap_or(1) as usize, style),
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
    let asked = Asked {
        at_ns: args.at,
        task: args.task.as_deref(),
        cpu: args.cpu,
        wakeup: args.wakeup,
        worst: args.worst,
    };
    let text = answer(&asked, &prepared, scheduler, style())?;
    output.write_styled(&format!("{head}\n\n{text}"))?;
    Ok(Status::Good)
}

fn cpus(prepared: &Prepared) -> u32 {
    prepared.experiment().map_or(0, |experiment| experiment.config.cpus)
}

/// The plan that the file is or the options make, and the file's name if it is one.
fn plan(args: &ExplainArgs) -> Result<(Plan, Option<String>), Failure> {
    let source = files::read(&args.file)?;
    if Plan::is_plan(&source.text) {
        let given = [
            ("cpus", args.cpus.is_some()),
            ("machine", args.machine.is_some()),
            ("duration", args.duration.is_some()),
            ("set", !args.set.is_empty()),
            ("groups", !args.groups.is_empty()),
            ("group", !args.group.is_empty()),
            ("timetable", !args.timetable.is_empty()),
            ("seed", args.seed.is_some()),
        ];
        if let Some((option, _)) = given.iter().find(|(_, given)| *given) {
            return Err(Failure::Message(crate::plans::contradiction(&source.file, option)));
        }
        let plan = Plan::parse(&source.file, &source.text).map_err(|error| error.to_string())?;
        return Ok((plan, Some(source.file)));
    }
    let Some(scheduler) = &args.scheduler else {
        let message = "--scheduler: say which, as `schedlab list` names them, e.g. -s cfs";
        return Err(Failure::Message(message.into()));
    };
    let plan = Plan {
        machine: MachineSpec {
            description: find_machine(args.machine.as_deref())?,
            cpus: args.cpus,
            ..MachineSpec::default()
        },
        set: args.set.clone(),
        groups: Groups {
            files: read_all(&args.groups)?,
            settings: args.group.clone(),
            ..Groups::default()
        },
        timetable: Timetable { files: read_all(&args.timetable)?, ..Timetable::default() },
        limit_ns: args.duration,
        seed: args.seed,
        ..Plan::new(Load::Workload(source), vec![scheduler.clone()])
    };
    Ok((plan, None))
}

fn read_all(paths: &[std::path::PathBuf]) -> Result<Vec<schedlab_lab::plan::Source>, Failure> {
    Ok(paths.iter().map(|path| files::read(path)).collect::<Result<_, _>>()?)
}

/// The one scheduler that is explained.
fn contender<'a>(prepared: &'a Prepared, name: Option<&str>) -> Result<&'a Contender, Failure> {
    let all = prepared.schedulers();
    match (all, name) {
        ([one], _) => Ok(one),
        (_, name) => {
            let same = |one: &&Contender| {
                name.is_some_and(|name| one.to_string() == name || one.choice.entry.name == name)
            };
            all.iter().find(same).ok_or_else(|| {
                let names = all.iter().map(Contender::to_string).collect::<Vec<_>>().join(", ");
                let message =
                    format!("--scheduler: one is explained at a time; say which of {names}");
                Failure::Message(message)
            })
        }
    }
}

/// The task that `--task` names, among a run's.
fn task(asked: &Asked<'_>, names: &Names) -> Result<Option<TaskId>, Failure> {
    let Some(wanted) = asked.task else { return Ok(None) };
    let of_name = |name: &str| names.tasks.iter().position(|task| task == name);
    let found = of_name(wanted).or_else(|| of_name(&format!("{wanted}-0")));
    match found {
        Some(number) => Ok(Some(TaskId(number as u32))),
        None => {
            let some: Vec<&str> = names.tasks.iter().take(20).map(String::as_str).collect();
            let more = if names.tasks.len() > some.len() { ", ..." } else { "" };
            Err(Failure::Message(format!(
                "--task: there is no task {wanted}; there are {}{more}",
                some.join(", ")
            )))
        }
    }
}

fn at(
    asked: &Asked<'_>,
    prepared: &Prepared,
    scheduler: &Contender,
    at_ns: u64,
    style: Style,
) -> Result<String, Failure> {
    let cpus = cpus(prepared);
    if let Some(cpu) = asked.cpu.filter(|&cpu| cpu >= cpus) {
        return Err(Failure::Message(format!(
            "--cpu {cpu}: the machine's CPUs are 0 to {}",
            cpus - 1
        )));
    }
    let standing = explain::standing(prepared, scheduler, at_ns).map_err(|e| e.to_string())?;
    let words = Words::new(&standing.names, style);
    if let Some(ended_ns) = standing.ended_ns {
        return Err(Failure::Message(format!(
            "--at {}: the run was over at {}",
            duration(at_ns, true),
            duration(ended_ns, true)
        )));
    }
    if let Some(task) = task(asked, &standing.names)? {
        return Ok(words.task(&standing, task));
    }
    let shown = |cpu: &CpuId| match asked.cpu {
        Some(wanted) => cpu.0 == wanted,
        None => {
            let row = &standing.cpus[cpu.index()];
            row.current.is_some() || !row.candidates.is_empty()
        }
    };
    let mut text = words.moment(&standing);
    for cpu in (0..cpus).map(CpuId).filter(shown) {
        let wins = |task| nice(prepared, scheduler, &standing, cpu, task);
        text.push('\n');
        text.push_str(&words.cpu(&standing, cpu, wins)?);
    }
    Ok(text)
}

/// The nice value with which `task` would have been picked.
fn nice(
    prepared: &Prepared,
    scheduler: &Contender,
    standing: &Standing,
    cpu: CpuId,
    task: TaskId,
) -> Result<Option<i32>, Failure> {
    let found = explain::nice_that_wins(prepared, scheduler, standing.at_ns, cpu, task);
    Ok(found.map_err(|error| error.to_string())?)
}

fn wakeup(
    asked: &Asked<'_>,
    prepared: &Prepared,
    scheduler: &Contender,
    number: u64,
    style: Style,
) -> Result<String, Failure> {
    let find = |whose, number| {
        explain::wakeup(prepared, scheduler, whose, number).map_err(|error| error.to_string())
    };
    let (mut found, mut seen, names) = find(Whose::All, number)?;
    let mut whose = String::new();
    if let Some(task) = task(asked, &names)? {
        (found, seen, _) = find(Whose::Of(task), number)?;
        whose = format!(" of {}", names.task(task));
    }
    match found {
        Some(wakeup) => Ok(Words::new(&names, style).wakeup(number, &whose, &wakeup)),
        None => Err(Failure::Message(format!(
            "--wakeup {number}: there are {seen} wakeups{whose} in this run"
        ))),
    }
}

fn worst(
    asked: &Asked<'_>,
    prepared: &Prepared,
    scheduler: &Contender,
    many: usize,
    style: Style,
) -> Result<String, Failure> {
    let find = |only, many| {
        explain::longest_waits(prepared, scheduler, only, many).map_err(|error| error.to_string())
    };
    let (mut waits, names) = find(None, if asked.task.is_some() { 0 } else { many })?;
    if let Some(task) = task(asked, &names)? {
        waits = find(Some(task), many)?.0;
    }
    if waits.is_empty() {
        return Ok("Nobody ever waited for a CPU.\n".into());
    }
    let words = Words::new(&names, style);
    let all: Vec<String> =
        waits.iter().enumerate().map(|(place, wait)| words.wait(place + 1, wait)).collect();
    Ok(all.join("\n"))
}
