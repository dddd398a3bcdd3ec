//! `schedlab run`.

use super::choose::{choose, costs_of, machine_of, those_who_can, tunables_for};
use crate::args::{OnOff, RunArgs, RunFormat};
use crate::terminal::{Output, Progress, complain, style};
use crate::{Failure, Status};
use schedlab_core::topology::CPUS_MAX;
use schedlab_lab::compressed::{self, LIMIT};
use schedlab_lab::parallel;
use schedlab_lab::run::{Experiment, RunError, cpus_named};
use schedlab_lab::select::Choice;
use schedlab_report::{Report, Style, TimelineOptions, WorkloadInfo, csv, json, table, timeline};
use schedlab_workload::groups::cgrules::{self, Rules};
use schedlab_workload::groups::{Feature, Users};
use schedlab_workload::{GroupSettings, Model, Target, Timetable, groups, rt_app};
use std::io::Write;
use std::path::Path;

/// Runs workloads and compares schedulers.
pub fn run(args: &RunArgs, output: &mut Output) -> Result<Status, Failure> {
    let settings = group_settings(args)?;
    let timetable = timetable_of(args)?;
    let owners = Owners::read(args)?;
    let default = ["linux".to_string(), "textbook".to_string()];
    let names = if args.schedulers.is_empty() { &default[..] } else { &args.schedulers };
    let chosen = choose(names)?;
    let mut reports = vec![];
    for file in &args.files {
        let experiment = experiment(file, args, &settings, &timetable, &owners)?;
        let choices = those_who_can(&chosen, &file.display().to_string(), |choice| {
            choice.refuses(&experiment.needs())
        })?;
        tell_what_groups_lack(&experiment, &choices);
        if args.user_groups {
            tell_who_had_no_user_groups(&choices);
        }
        experiment.check_timetable(&choices).map_err(|error| error.to_string())?;
        let tunables = tunables_for(&choices, |choice| experiment.tunables(choice), &args.set)?;
        reports.push(run_all(file, &experiment, &choices, &tunables)?);
    }
    print(args, &reports, output)?;
    Ok(Status::Good)
}

/// Says which settings of groups have no effect.
fn tell_what_groups_lack(experiment: &Experiment, choices: &[Choice]) {
    const MOST: usize = 10;
    for (feature, group) in experiment.groups.features() {
        // Who cannot limit groups does not run this; who has no idle groups runs it with the least
        // weight.
        let effective = match feature {
            Feature::Limit => true,
            Feature::Idle => choices.iter().all(|choice| choice.release.can.idle_groups),
        };
        if effective {
            continue;
        }
        complain(&format!("note: {}: {feature}", group.path));
    }
    if experiment.timetable.sets_idle()
        && !choices.iter().all(|choice| choice.release.can.idle_groups)
    {
        complain(&format!("note: the timetable: cpu.idle: {}", Feature::Idle));
    }
    for note in experiment.groups.notes().take(MOST) {
        complain(&format!("note: {note}"));
    }
    match experiment.groups.notes().count() {
        0..=MOST => {}
        many => complain(&format!("note: and {} more like these", many - MOST)),
    }
}

/// Groups by user went when control groups had come.
fn tell_who_had_no_user_groups(choices: &[Choice]) {
    let had =
        |choice: &Choice| choice.entry.name == "cfs" && choice.release.version.starts_with("2.6.");
    let others: Vec<String> =
        choices.iter().filter(|choice| !had(choice)).map(Choice::to_string).collect();
    if !others.is_empty() {
        let others = others.join(", ");
        complain(&format!(
            "note: {others}: no groups by user then; they are control groups of the same weights"
        ));
    }
}

/// Whose the tasks are, and the rules that ask for it.
struct Owners {
    users: Users,
    rules: Option<Rules>,
}

impl Owners {
    fn read(args: &RunArgs) -> Result<Owners, Failure> {
        let mut owners = Owners { users: Users::default(), rules: None };
        for path in &args.users {
            let text = read_text(path)?;
            let name = path.display().to_string();
            owners.users.add(Users::parse(&name, &text).map_err(|error| error.to_string())?);
        }
        for option in &args.user {
            owners.users.add(Users::parse_option(option).map_err(|error| error.to_string())?);
        }
        if let Some(path) = &args.cgrules {
            let text = read_text(path)?;
            let name = path.display().to_string();
            owners.rules = Some(cgrules::parse(&name, &text).map_err(|error| error.to_string())?);
        }
        if !owners.users.is_empty() && owners.rules.is_none() && !args.user_groups {
            complain("note: whose tasks are matters only with --cgrules or --user-groups");
        }
        Ok(owners)
    }

    /// Puts the tasks of `model` in the groups of their users, and adds these to `settings`.
    fn place(
        &self,
        args: &RunArgs,
        model: &mut Model,
        settings: &GroupSettings,
    ) -> Result<GroupSettings, Failure> {
        self.users.check(model).map_err(|error| error.to_string())?;
        let mut settings = settings.clone();
        if args.user_groups {
            if !args.groups.is_empty() || !model.group_paths().is_empty() {
                let message = "--user-groups: kernels had groups by user or control groups, not both; \
                               leave out --groups and the workload's `taskgroup` (weights: --group /uid-1000:cpu.shares=512)";
                return Err(Failure::Message(message.into()));
            }
            let mut by_user = groups::place_by_user(model, &self.users);
            by_user.add(settings);
            settings = by_user;
        }
        if let Some(rules) = &self.rules {
            rules.place(model, &self.users, &mut settings).map_err(|error| error.to_string())?;
        }
        Ok(settings)
    }
}

fn read_text(path: &Path) -> Result<String, String> {
    let bytes =
        compressed::read(path, LIMIT).map_err(|error| format!("{}: {error}", path.display()))?;
    compressed::as_text(&bytes)
        .map(str::to_string)
        .map_err(|error| format!("{}: {error}", path.display()))
}

fn group_settings(args: &RunArgs) -> Result<GroupSettings, Failure> {
    let mut settings = GroupSettings::default();
    for path in &args.groups {
        let text = read_text(path)?;
        settings.add(
            groups::parse(&path.display().to_string(), &text).map_err(|error| error.to_string())?,
        );
    }
    for option in &args.group {
        settings.add(groups::parse_option(option).map_err(|error| error.to_string())?);
    }
    Ok(settings)
}

/// What the files and the options say, in this order.
fn timetable_of(args: &RunArgs) -> Result<Timetable, Failure> {
    let mut timetable = Timetable::default();
    for path in &args.timetable {
        let text = read_text(path)?;
        timetable.add(
            Timetable::parse(&path.display().to_string(), &text)
                .map_err(|error| error.to_string())?,
        );
    }
    for option in &args.at {
        timetable.add(Timetable::parse_option(option).map_err(|error| error.to_string())?);
    }
    Ok(timetable)
}

fn experiment(
    path: &Path,
    args: &RunArgs,
    settings: &GroupSettings,
    timetable: &Timetable,
    owners: &Owners,
) -> Result<Experiment, Failure> {
    let text = read_text(path)?;
    let name = path.display().to_string();
    let limited = args.duration.is_some();
    let load = |cpus| {
        let target = Target { cpus, limited };
        rt_app::load(&name, &text, &target).map_err(|error| error.to_string())
    };
    let machine = machine_of(args.machine.as_deref(), args.cpus)?;
    let cpus = args.cpus.or(machine.as_ref().map(|machine| machine.topology.cpus()));
    let (mut model, cpus) = match cpus {
        Some(cpus) => (load(cpus)?, cpus),
        None => {
            let model = load(CPUS_MAX)?;
            let cpus = cpus_named(&model);
            (model, cpus)
        }
    };
    let settings = owners.place(args, &mut model, settings)?;
    Ok(Experiment {
        costs: costs_of(machine.as_ref(), args.no_costs, &args.cost)?,
        nohz: args.nohz.map(|nohz| nohz == OnOff::On),
        hz: args.hz.or(machine.as_ref().and_then(|machine| machine.hz)),
        machine,
        limit_ns: args.duration,
        seed: args.seed,
        record: args.timeline || args.format == RunFormat::Json,
        timetable: timetable.clone(),
        ..Experiment::new(model, &settings, cpus).map_err(|error| error.to_string())?
    })
}

fn run_all(
    path: &Path,
    experiment: &Experiment,
    choices: &[Choice],
    tunables: &[Vec<(String, i64)>],
) -> Result<Report, Failure> {
    // A scheduler that panics is told of as an error of its own.
    std::panic::set_hook(Box::new(|_| {}));
    let items: Vec<(Choice, &Vec<(String, i64)>)> = choices.iter().copied().zip(tunables).collect();
    let progress = Progress::new(items.len() as u64, "schedulers");
    let mut runs = vec![];
    let mut failed = None;
    parallel::for_each_in_order(
        &items,
        parallel::cores(),
        |(choice, tunables)| experiment.run(choice, tunables),
        |index, result| {
            let (choice, _) = items[index];
            progress.step(|| match result {
                Ok(ran) => {
                    if let Some(warning) = ran.warning {
                        complain(&format!("warning: {choice}: {warning}"));
                    }
                    runs.push(ran.report);
                    true
                }
                Err(RunError::Workload(diagnostic)) => {
                    failed = Some(diagnostic.to_string());
                    false
                }
                Err(error) => {
                    failed = Some(format!("{}: {choice}: {error}", path.display()));
                    false
                }
            })
        },
    );
    drop(progress);
    if let Some(message) = failed {
        return Err(Failure::Message(message));
    }
    let longest_ns = runs.iter().map(|run| run.end.at_ns).max().unwrap_or(0);
    let workload = WorkloadInfo {
        name: path.display().to_string(),
        duration_ns: experiment.until_ns().unwrap_or(longest_ns),
    };
    Ok(Report::new(workload, runs))
}

fn print(args: &RunArgs, reports: &[Report], output: &mut Output) -> Result<(), Failure> {
    match args.format {
        RunFormat::Json => print_json(reports, output),
        RunFormat::Csv => print_csv(args, reports, output),
        RunFormat::Table => print_tables(args, reports, output),
    }
}

/// One document; an array of them if there are several files.
fn print_json(reports: &[Report], output: &mut Output) -> Result<(), Failure> {
    if let [report] = reports {
        output.write_all(json::to_json(report).as_bytes())?;
        return Ok(());
    }
    writeln!(output, "[")?;
    for (number, report) in reports.iter().enumerate() {
        let comma = if number + 1 < reports.len() { "," } else { "" };
        writeln!(output, "{}{comma}", json::to_json(report).trim_end())?;
    }
    writeln!(output, "]")?;
    Ok(())
}

/// With several files a first column says which.
fn print_csv(args: &RunArgs, reports: &[Report], output: &mut Output) -> Result<(), Failure> {
    for (number, report) in reports.iter().enumerate() {
        let text = if args.tasks { csv::tasks(report) } else { csv::comparison(report) };
        if reports.len() == 1 {
            output.write_all(text.as_bytes())?;
            break;
        }
        let name = format!("\"{}\"", report.workload.name.replace('"', "\"\""));
        for (row, line) in text.lines().enumerate() {
            match (row, number) {
                (0, 0) => writeln!(output, "workload,{line}")?,
                (0, _) => {}
                _ => writeln!(output, "{name},{line}")?,
            }
        }
    }
    Ok(())
}

fn print_tables(args: &RunArgs, reports: &[Report], output: &mut Output) -> Result<(), Failure> {
    let style = style();
    for (number, report) in reports.iter().enumerate() {
        if number > 0 {
            writeln!(output)?;
        }
        writeln!(output, "{}", heading(report))?;
        output.write_all(table::comparison(report, style).as_bytes())?;
        let groups = table::groups(report, style);
        if !groups.is_empty() {
            write!(output, "\n{groups}")?;
        }
        for run in &report.runs {
            if args.tasks {
                writeln!(output, "\n{}", run.spec())?;
                output.write_all(table::tasks(run, style, None).as_bytes())?;
            }
            if args.timeline {
                writeln!(output)?;
                output.write_all(drawn(args, run, style)?.as_bytes())?;
            }
        }
    }
    Ok(())
}

fn drawn(
    args: &RunArgs,
    run: &schedlab_report::RunReport,
    style: Style,
) -> Result<String, Failure> {
    let options =
        TimelineOptions { from_ns: args.from, to_ns: args.to, ..TimelineOptions::default() };
    timeline::draw(run, options, style)
        .map_err(|error| Failure::Message(format!("--timeline: {error}")))
}

fn heading(report: &Report) -> String {
    let cpus = match report.runs.first().map_or(1, |run| run.machine.cpus) {
        1 => "1 CPU".into(),
        cpus => format!("{cpus} CPUs"),
    };
    format!(
        "{} on {cpus}, {}",
        report.workload.name,
        schedlab_report::format::duration(report.workload.duration_ns, false)
    )
}
