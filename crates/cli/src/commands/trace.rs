//! `schedlab trace`: contents and figures of a recorded trace, and conversion to other formats.

use crate::options::ListFormat;
use crate::options::RunFormat;
use crate::page;
use crate::terminal::{Output, style};
use crate::trace_args::{ConvertArgs, InfoArgs, StatsArgs, TraceArgs, TraceCommand};
use crate::traced::warn_of_problems;
use crate::{Failure, Status};
use schedlab_lab::recorded;
use schedlab_report::html::TURNS_MOST;
use schedlab_report::{csv, format, json, table};
use schedlab_trace::info::Info;
use schedlab_trace::read::{Reading, Trace};
use schedlab_trace::writer::is_replaceable;
use schedlab_trace::{Context, Header, TraceFormat, TraceWriter};
use serde_json::{Map, Value, json};
use std::io::Write;
use std::path::Path;

/// Runs a subcommand.
pub fn trace(args: &TraceArgs, output: &mut Output) -> Result<Status, Failure> {
    match &args.command {
        TraceCommand::Info(args) => info(args, output),
        TraceCommand::Stats(args) => stats(args, output),
        TraceCommand::Convert(args) => convert(args),
    }
}

fn open(path: &Path) -> Result<Trace, Failure> {
    Ok(Trace::open(path).map_err(|error| format!("{}: {error}", path.display()))?)
}

fn read(
    path: &Path,
    trace: &Trace,
    sink: &mut dyn schedlab_trace::Sink,
) -> Result<Reading, Failure> {
    Ok(trace.read(sink).map_err(|error| format!("{}: {error}", path.display()))?)
}

/// Maximum number of names shown.
const NAMES: usize = 15;

fn info(args: &InfoArgs, output: &mut Output) -> Result<Status, Failure> {
    let trace = open(&args.file)?;
    let mut info = Info::default();
    let reading = read(&args.file, &trace, &mut info)?;
    match args.format {
        ListFormat::Json => {
            let text = serde_json::to_string_pretty(&info_json(&trace, &reading, &info));
            writeln!(output.documents(), "{}", text.unwrap_or_default())?;
        }
        ListFormat::Table => print_info(&args.file, &trace, &reading, &info, output)?,
    }
    Ok(Status::Good)
}

/// Formats seconds with nine digits.
fn seconds(ns: u64) -> String {
    format!("{}.{:09} s", ns / 1_000_000_000, ns % 1_000_000_000)
}

fn print_info(
    path: &Path,
    trace: &Trace,
    reading: &Reading,
    info: &Info,
    output: &mut Output,
) -> Result<(), Failure> {
    let header = &reading.header;
    let packed = match trace.packing().name() {
        "plain" => String::new(),
        packing => format!(", {packing}"),
    };
    let span_ns = header.end_ns - header.begin_ns;
    writeln!(output, "{}: {}{packed}", path.display(), trace.format().name())?;
    let mut row = |name: &str, value: &str| writeln!(output, "  {name:<10} {value}");
    row(
        "span",
        &format!("{}, from {}", format::duration(span_ns, true), seconds(header.begin_ns)),
    )?;
    let online = match header.cpus_online {
        Some(online) if online != header.cpus => format!(" ({online} were online)"),
        _ => String::new(),
    };
    row("CPUs", &format!("{}{online}", header.cpus))?;
    row("tasks", &header.tasks.to_string())?;
    row("events", &format::count(header.events))?;
    let facts = [
        ("kernel", &header.release),
        ("machine", &header.host),
        ("recorder", &header.recorder),
        ("clock", &header.clock),
    ];
    for (name, value) in facts {
        if let Some(value) = value {
            row(name, value)?;
        }
    }
    writeln!(output, "\nEvents")?;
    let others = header.others.iter().map(|(name, &count)| (name.as_str(), count, " (not used)"));
    let used = info.kinds().iter().map(|(&name, &count)| (name, count, ""));
    for (name, count, remark) in used.chain(others) {
        writeln!(output, "  {name:<24} {:>12}{remark}", format::count(count))?;
    }
    let contexts = [
        (Context::Task, "by tasks"),
        (Context::Soft, "by soft interrupts"),
        (Context::Hard, "by hard interrupts"),
        (Context::Unknown, "by unknown contexts"),
    ];
    let wakeups: Vec<String> = contexts
        .iter()
        .filter(|(context, _)| info.wakeups_in(*context) > 0)
        .map(|(context, by)| format!("{} {by}", format::count(info.wakeups_in(*context))))
        .collect();
    if !wakeups.is_empty() {
        writeln!(output, "  wakeups: {}", wakeups.join(", "))?;
    }
    writeln!(output, "\nCPUs")?;
    for (cpu, seen) in info.cpus() {
        let all = (seen.busy_ns + seen.idle_ns).max(1);
        let busy = 100.0 * seen.busy_ns as f64 / all as f64;
        let events = format::count(seen.events);
        writeln!(output, "  CPU {cpu:<4} {events:>12} events, {busy:>5.1} % busy")?;
    }
    writeln!(output, "\nCPU time, by name")?;
    let names = info.names();
    for (name, seen) in names.iter().take(NAMES) {
        let (tasks, cpu) = (seen.tasks, format::duration(seen.cpu_ns, true));
        let switches = format::count(seen.switches_in);
        let task = if tasks == 1 { "task" } else { "tasks" };
        writeln!(output, "  {name:<16} {cpu:>10}  {tasks:>5} {task:<5}  {switches:>10} turns")?;
    }
    if names.len() > NAMES {
        writeln!(output, "  and {} more names", names.len() - NAMES)?;
    }
    if reading.problems.is_empty() {
        writeln!(output, "\nNo defects were found.")?;
    } else {
        writeln!(output, "\nDefects")?;
        for sentence in reading.problems.sentences() {
            writeln!(output, "  {sentence}")?;
        }
    }
    writeln!(output, "\nQuestions that it can answer")?;
    for (question, missing) in info.answers() {
        match missing {
            None => writeln!(output, "  yes  {question}")?,
            Some(missing) => writeln!(output, "  no   {question}: {missing}")?,
        }
    }
    Ok(())
}

fn info_json(trace: &Trace, reading: &Reading, info: &Info) -> Value {
    let header = &reading.header;
    let problems: Vec<Value> = reading
        .problems
        .iter()
        .map(|(trouble, problem)| {
            json!({
                "kind": trouble.id(),
                "count": problem.count,
                "first": problem.first.to_string(),
                "detail": problem.detail,
            })
        })
        .collect();
    let kinds: Map<String, Value> =
        info.kinds().iter().map(|(&name, &count)| (name.into(), count.into())).collect();
    let cpus: Vec<Value> = info
        .cpus()
        .iter()
        .map(|(cpu, seen)| {
            json!({
                "cpu": cpu,
                "events": seen.events,
                "first_ns": seen.first_ns,
                "last_ns": seen.last_ns,
                "busy_ns": seen.busy_ns,
                "idle_ns": seen.idle_ns,
            })
        })
        .collect();
    let names: Vec<Value> = info
        .names()
        .iter()
        .map(|(name, seen)| {
            json!({
                "name": name,
                "tasks": seen.tasks,
                "cpu_ns": seen.cpu_ns,
                "turns": seen.switches_in,
            })
        })
        .collect();
    let answers: Vec<Value> = info
        .answers()
        .iter()
        .map(|(question, missing)| json!({ "question": question, "missing": missing }))
        .collect();
    json!({
        "schema": "schedlab-trace-info/1",
        "format": trace.format().name(),
        "packing": trace.packing().name(),
        "begin_ns": header.begin_ns,
        "end_ns": header.end_ns,
        "cpus": header.cpus,
        "cpus_online": header.cpus_online,
        "tasks": header.tasks,
        "events": header.events,
        "kernel": header.release,
        "host": header.host,
        "recorder": header.recorder,
        "clock": header.clock,
        "kinds": kinds,
        "others": header.others,
        "wakeups": {
            "task": info.wakeups_in(Context::Task),
            "soft": info.wakeups_in(Context::Soft),
            "hard": info.wakeups_in(Context::Hard),
            "unknown": info.wakeups_in(Context::Unknown),
        },
        "by_cpu": cpus,
        "by_name": names,
        "problems": problems,
        "answers": answers,
    })
}

fn stats(args: &StatsArgs, output: &mut Output) -> Result<Status, Failure> {
    let trace = open(&args.file)?;
    let file = args.file.display().to_string();
    page::check(&args.page, 1)?;
    let turns = args.page.report.is_some().then_some(TURNS_MOST);
    let recorded = recorded::recorded(&trace, turns).map_err(|error| format!("{file}: {error}"))?;
    warn_of_problems(&file, &recorded.reading);
    let header = &recorded.reading.header;
    let report = recorded.report(&file);
    page::put(&args.page, &report, || recorded.page(&file))?;
    match args.format {
        RunFormat::Json => json::write_json(&report, output.documents())?,
        RunFormat::Csv => {
            let text = if args.tasks { csv::tasks(&report) } else { csv::comparison(&report) };
            output.write_all(text.as_bytes())?;
        }
        RunFormat::Table => {
            let style = style();
            let span = format::duration(report.workload.duration_ns, style.unicode);
            let cpus = header.cpus;
            let plural = if cpus == 1 { "" } else { "s" };
            writeln!(output, "{} on {cpus} CPU{plural}, {span}", report.workload.name)?;
            output.write_styled(&table::comparison(&report, style))?;
            if args.tasks {
                writeln!(output)?;
                output.write_styled(&table::tasks(&report.runs[0], style, None))?;
            }
        }
    }
    Ok(Status::Good)
}

fn convert(args: &ConvertArgs) -> Result<Status, Failure> {
    let out = args.out.display();
    let format = args.format.map(TraceFormat::from).or_else(|| TraceFormat::of(&args.out));
    let Some(format) = format else {
        return Err(Failure::Message(format!(
            "{out}: its ending names no format; name it .pftrace, .json or .txt (with .gz or .zst \
             appended to compress it), or give --format"
        )));
    };
    let same = |path: &Path| std::fs::canonicalize(path).ok();
    if same(&args.file).is_some() && same(&args.file) == same(&args.out) {
        return Err(Failure::Message(format!("{out}: this is the input trace; name another file")));
    }
    if !is_replaceable(&args.out) {
        return Err(Failure::Message(format!(
            "{out} exists and is not a trace, so it is not overwritten; name another file"
        )));
    }
    let trace = open(&args.file)?;
    // The first pass counts the CPUs.
    let reading = read(&args.file, &trace, &mut ())?;
    warn_of_problems(&args.file.display().to_string(), &reading);
    let scheduler = reading.header.release.clone().unwrap_or_else(|| "recorded".into());
    let header = Header { cpus: reading.header.cpus, hz: 0, scheduler };
    let cannot = |error| format!("{out}: cannot be written: {error}");
    let mut writer = TraceWriter::create(&args.out, format, &header).map_err(cannot)?;
    read(&args.file, &trace, &mut writer)?;
    writer.close().map_err(cannot)?;
    Ok(Status::Good)
}
