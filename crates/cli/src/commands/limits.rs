//! `schedlab limits`.

use crate::files;
use crate::limits_args::{LimitsArgs, TimesOption};
use crate::options::RunFormat;
use crate::page::{check_page, open};
use crate::plans::{find_machine, newest};
use crate::replay_args::ArrivalsOption;
use crate::terminal::{Output, Spinner, complain, style};
use crate::traced::is_trace;
use crate::{Failure, Status};
use schedlab_lab::parallel;
use schedlab_lab::plan::{Groups, Load, MachineSpec, Plan, Source};
use schedlab_lab::replay::Replay;
use schedlab_lab::select;
use schedlab_space::limits::{Limits, LimitsSpec, RecordedWork, Resources, Work};
use std::io::Write;

mod document;
mod page;
mod text;

/// Runs a workload or a recording under limits of a group.
pub fn limits(args: &LimitsArgs, output: &mut Output) -> Result<Status, Failure> {
    if let Some(path) = &args.report {
        check_page(path)?;
        files::check_other(path, "--report", &args.file)?;
    }
    let spec = spec(args)?;
    // A scheduler that panics is reported as a separate error.
    std::panic::set_hook(Box::new(|_| {}));
    let spinner = Spinner::new("runs");
    let threads = args.cores.unwrap_or_else(parallel::cores);
    let limits = Limits::run(&spec, threads, || spinner.tick())?;
    drop(spinner);
    for note in &limits.notes {
        complain(&format!("note: {note}"));
    }
    if limits.recording.is_some() && args.arrivals.is_none() {
        complain(
            "note: arrivals from outside are taken to wait for earlier answers; if requests come \
             at their own times, their response times need --arrivals open",
        );
    }
    let name = &args.file.display().to_string();
    match args.format {
        RunFormat::Table => output.write_styled(&text::text(name, &limits, style()))?,
        RunFormat::Csv => write!(output.documents(), "{}", document::csv(&limits))?,
        RunFormat::Json => {
            let text = serde_json::to_string_pretty(&document::json(name, &limits));
            writeln!(output.documents(), "{}", text.map_err(|error| error.to_string())?)?;
        }
    }
    if let Some(path) = &args.report {
        files::write_whole(path, &page::page(name, &limits))?;
        if args.open {
            open(path);
        }
    }
    let is_missed = !spec.aims.is_empty() && limits.best().is_none();
    Ok(if is_missed { Status::Bad } else { Status::Good })
}

/// Kinds of settings that belong to a limit.
const LIMIT_SETTINGS: [&str; 3] = ["quota", "burst", "quota_phase"];

/// Checks that no option sets the limit that is varied: it would apply under all limits.
fn check_settings(args: &LimitsArgs) -> Result<(), Failure> {
    let group = args.group.as_str();
    let is_limit = |name: &str| {
        let limit = name.split_once(':').filter(|(kind, _)| LIMIT_SETTINGS.contains(kind));
        limit.is_some_and(|(_, path)| path == group)
    };
    let is_change = |change: &str| {
        let words: Vec<&str> = change.split_whitespace().collect();
        matches!(words[..], ["group", path, setting, ..]
            if path == group && (setting.starts_with("cpu.max") || setting.starts_with("cpu.cfs_")))
    };
    let mut given = vec![];
    given.extend(args.set.iter().filter(|it| is_limit(&it.0)).map(|it| format!("--set {}", it.0)));
    let changes = args.change.iter().filter(|change| is_change(change));
    given.extend(changes.map(|change| format!("--change '{change}'")));
    if let Some(scheduler) = &args.scheduler {
        // An unknown name is reported when the runs are prepared.
        let chosen = select::choose(&[scheduler]).unwrap_or_default();
        let mut own = chosen.iter().flat_map(|one| &one.set);
        let is_set = own.any(|setting| is_limit(&setting.name()));
        given.extend(is_set.then(|| format!("--scheduler {scheduler}")));
    }
    let Some(option) = given.first() else { return Ok(()) };
    Err(Failure::Message(format!(
        "{option}: the limit of {group} is what is varied; give the limits to try with --quota, \
         --period and --burst, and the present one with --groups or --resources"
    )))
}

/// Returns the limits that the options describe.
fn spec(args: &LimitsArgs) -> Result<LimitsSpec, Failure> {
    check_settings(args)?;
    let work = match is_trace(&args.file) {
        true => Work::Recording(Box::new(recording(args)?)),
        false => Work::Workload(Box::new(plan(args)?)),
    };
    Ok(LimitsSpec {
        work,
        group: args.group.clone(),
        quotas: args.quota.clone(),
        periods_us: args.period.clone(),
        bursts_us: args.burst.clone(),
        cpus: args.cpus.clone(),
        threads: args.threads.clone(),
        present: present(args)?,
        aims: args.aims.clone(),
        repeat: args.repeat,
        first_seed: args.seed,
    })
}

/// Reads the present limit.
fn present(args: &LimitsArgs) -> Result<Option<Resources>, Failure> {
    let Some(path) = &args.resources else { return Ok(None) };
    let Source { file, text } = files::read(path)?;
    let mut found = Resources::parse(&file, &text, args.container.as_deref())?;
    if found.limit.is_none() {
        complain(&format!("note: {}: {} has no CPU limit", found.place, found.container));
    }
    // The weight of a recorded group was recorded.
    found.shares = found.shares.filter(|_| !is_trace(&args.file));
    Ok(Some(found))
}

/// Returns the plan of a workload.
fn plan(args: &LimitsArgs) -> Result<Plan, Failure> {
    let file = args.file.display();
    let only_recordings = [
        ("--only", args.only.is_some()),
        ("--recorded", args.recorded.is_some()),
        ("--side", args.side.is_some()),
        ("--change", !args.change.is_empty()),
        ("--times round-trip", args.times == TimesOption::RoundTrip),
        ("--arrivals", args.arrivals.is_some()),
    ];
    if let Some((option, _)) = only_recordings.iter().find(|(_, is_given)| *is_given) {
        let what = format!("{option} is for recordings, and {file} is a workload");
        return Err(Failure::Message(what));
    }
    let source = files::read(&args.file)?;
    if Plan::is_plan(&source.text) {
        return Err(Failure::Message(format!(
            "{file}: this is a plan; `schedlab limits` takes the workload itself"
        )));
    }
    let mut groups = Groups::default();
    for path in &args.groups {
        groups.files.push(files::read(path)?);
    }
    let scheduler = args.scheduler.clone().unwrap_or_else(newest);
    Ok(Plan {
        machine: MachineSpec {
            description: find_machine(args.machine.as_deref())?,
            hz: args.hz,
            // The first of several is enough to check the plan.
            cpus: args.cpus.first().copied(),
            ..MachineSpec::default()
        },
        set: args.set.clone(),
        groups,
        limit_ns: args.duration,
        seed: Some(args.seed),
        repeat: args.repeat,
        late_starts: true,
        ..Plan::new(Load::Workload(source), vec![scheduler])
    })
}

/// Reads a recording.
fn recording(args: &LimitsArgs) -> Result<RecordedWork, Failure> {
    if args.groups.len() > 1 {
        return Err(Failure::Message("--groups: give one file for a recording".into()));
    }
    let (_, trace) = super::replay::open(&args.file)?;
    let replay = Replay {
        recorded: args.recorded.clone(),
        hz: args.hz,
        schedulers: args.scheduler.iter().cloned().collect(),
        set: args.set.clone(),
        machine: MachineSpec {
            description: find_machine(args.machine.as_deref())?,
            cpus: args.cpus.first().copied(),
            no_costs: args.machine.is_some(),
            ..MachineSpec::default()
        },
        changes: args.change.clone(),
        groups: super::replay::groups_file(&args.groups.first().cloned(), &args.file)?,
        side: super::replay::side_file(&args.side, &args.file)?,
        arrivals: args.arrivals.unwrap_or(ArrivalsOption::Closed).into(),
        limit_ns: args.duration,
        ..Replay::new(args.file.display().to_string())
    };
    Ok(RecordedWork { replay, trace, only: args.only.clone(), times: args.times.into() })
}
