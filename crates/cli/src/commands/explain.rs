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
        let given = given.iter().find(|(_, given)| *given).map(|(option, _)| *option);
        if let Some(option) = given.or_else(|| args.scx.of_runs()) {
            return Err(Failure::Message(crate::plans::contradiction(&source.file, option)));
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
            files: read_all(&args.groups)?,
            settings: args.group.clone(),
            ..Groups::default()
        },
        timetable: Timetable { files: read_all(&args.timetable)?, ..Timetable::default() },
        limit_ns: args.duration,
        seed: args.seed,
        ..Plan::new(Load::Workload(source), schedulers)
    };
    Ok((plan, None))
}

fn read_all(paths: &[std::path::PathBuf]) -> Result<Vec<schedlab_lab::plan::Source>, Failure> {
    Ok(paths.iter().map(|path| files::read(path)).collect::<Result<_, _>>()?)
}

/// The one scheduler that is explained.
fn contender<'a>(prepared: &'a Prepared, name: Option<&str>) -> Result<&'a Contender, Failure> {
    let all = prepared.schedulers();
    let is_it = |one: &&Contender| {
        name.is_none_or(|name| one.to_string() == name || one.choice.entry.name == name)
    };
    let named: Vec<&Contender> = match all {
        // Whatever it was called by (`cfs:sched_latency_ns=6ms`).
        [one] => vec![one],
        all => all.iter().filter(is_it).collect(),
    };
    match named.as_slice() {
        [one] => Ok(one),
        several => {
            let of = if several.is_empty() { all.iter().collect() } else { several.to_vec() };
            let names: Vec<String> = of.into_iter().map(Contender::to_string).collect();
            Err(Failure::Message(format!(
                "one scheduler, with one value of each setting, is explained at a time; say which \
                 of {}",
                names.join(", ")
            )))
        }
    }
}

/// The task that `--task` names, among a run's.
fn task(asked: &Asked<'_>, names: &Names, style: Style) -> Result<Option<TaskId>, Failure> {
    let Some(wanted) = asked.task else { return Ok(None) };
    let of_name = |name: &str| names.tasks.iter().position(|task| task == name);
    let found = of_name(wanted).or_else(|| of_name(&format!("{wanted}-0")));
    match found {
        Some(number) => Ok(Some(TaskId(number as u32))),
        None => {
            let shown = |name: &str| shortened(&escape::name(name), 40, style);
            let some: Vec<String> = names.tasks.iter().take(20).map(|name| shown(name)).collect();
            let more = if names.tasks.len() > some.len() { ", ..." } else { "" };
            Err(Failure::Message(format!(
                "--task: there is no task {}; there are {}{more}",
                shown(wanted),
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
    let mut standing = explain::moment(prepared, scheduler, at_ns).map_err(|e| e.to_string())?;
    let words = Words::new(&standing.names, style);
    if let Some(ended_ns) = standing.ended_ns {
        return Err(Failure::Message(format!(
            "--at {}: the run was over at {}",
            duration(at_ns, true),
            duration(ended_ns, true)
        )));
    }
    let effort = Effort::default();
    if let Some(task) = task(asked, &standing.names, style)? {
        let cpu = standing.tasks.get(task.index()).and_then(|row| row.cpu);
        if let Some(wrong) = asked.cpu.filter(|&wanted| cpu.is_some_and(|cpu| cpu.0 != wanted)) {
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
    let shown = |row: (usize, &CpuMoment)| match asked.cpu {
        Some(wanted) => row.0 == wanted as usize,
        None => row.1.current.is_some() || !row.1.candidates.is_empty(),
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

/// Brings what a CPU would pick up to date.
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

/// The nice value with which `task` would have been picked.
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
    asked: &Asked<'_>,
    prepared: &Prepared,
    scheduler: &Contender,
    number: u64,
    style: Style,
) -> Result<String, Failure> {
    let find = |whose, number| {
        explain::wakeup(prepared, scheduler, whose, number).map_err(|error| error.to_string())
    };
    let (mut found, mut seen, names) = find(WakeupFilter::All, number)?;
    let mut whose = String::new();
    if let Some(task) = task(asked, &names, style)? {
        (found, seen, _) = find(WakeupFilter::Of(task), number)?;
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
    if let Some(task) = task(asked, &names, style)? {
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
