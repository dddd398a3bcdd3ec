//! `schedlab replay`: a recorded trace under other schedulers.

use crate::files;
use crate::page;
use crate::plans::find_machine;
use crate::replay_args::{BeginOption, ReplayArgs, ReplayFormat, TokensOption};
use crate::terminal::{Output, complain};
use crate::{Failure, Status};
use schedlab_lab::parallel;
use schedlab_lab::plan::{MachineSpec, Source};
use schedlab_lab::recorded;
use schedlab_lab::replay::{
    Begin, BehindRow, Column, Replay, ReplayReport, Shown, Table, beside, duration,
};
use schedlab_replay::{Tokens, Trace, TraceBuilder};
use schedlab_trace::read;
use schedlab_workload::rt_app;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Maximum number of groups shown. The JSON form has all.
const GROUPS_MAX: usize = 12;

/// Replays a trace and prints the answer.
pub fn replay(args: &ReplayArgs, output: &mut Output) -> Result<Status, Failure> {
    for (option, path) in [("--json", &args.json), ("--write", &args.write)] {
        let Some(path) = path else { continue };
        files::check_other(path, option, &args.file)?;
        files::check(path)?;
        let (what, is_ours): (_, fn(&str) -> bool) = match option {
            "--json" => ("a result of `schedlab replay`", |text| text.starts_with("{\n  \"name\"")),
            _ => ("a workload of `schedlab replay`", |text| text.starts_with("{\n  \"global\"")),
        };
        files::check_replaceable(path, option, what, is_ours)?;
    }
    page::check(&args.page, 1)?;
    if args.scx.scx_insn.is_some() {
        return Err(Failure::Message("--scx-insn: all operations are free in a replay".into()));
    }
    let name = args.file.display().to_string();
    let wrong = |error: read::ReadError| format!("{name}: {error}");
    let (recording, trace) = open(&args.file)?;
    let replay = Replay {
        recorded: args.recorded.clone(),
        hz: args.hz,
        schedulers: args.scx.apply(args.schedulers.clone())?,
        set: args.set.clone(),
        at: args.at.clone(),
        machine: MachineSpec {
            description: find_machine(args.machine.as_deref())?,
            cpus: args.cpus,
            no_costs: args.machine.is_some(),
            ..MachineSpec::default()
        },
        changes: args.change.clone(),
        clock_reads: args.clock_read.clone(),
        tries: args.tries.clone(),
        groups: groups_file(&args.groups, &args.file)?,
        side: side_file(&args.side, &args.file)?,
        only: args.only.clone(),
        without: args.without.clone(),
        tokens: match args.tokens {
            TokensOption::Served => Tokens::Served,
            TokensOption::Strict => Tokens::Strict,
            TokensOption::Counted => Tokens::Counted,
        },
        arrivals: args.arrivals.into(),
        begin: match args.begin {
            BeginOption::Fresh => Begin::Fresh,
            BeginOption::Running => Begin::Running,
        },
        seeds: args.seeds,
        explain: args.explain,
        limit_ns: args.duration,
        ..Replay::new(name.clone())
    };
    let prepared = replay.prepare(trace).map_err(|error| error.to_string())?;
    if let Some(path) = &args.write {
        let groups = groups_target(args, path, prepared.group_settings())?;
        files::write_whole(path, &rt_app::write(&prepared.model(args.anonymize)))?;
        if let Some(groups) = groups {
            let settings = format!("{GROUPS_HEAD}: {name}\n{}", prepared.group_settings());
            files::write_whole(&groups, &settings)?;
            complain(&format!(
                "note: the settings of its groups are in {0} (schedlab run {1} --groups {0})",
                groups.display(),
                path.display()
            ));
        }
        return Ok(Status::Good);
    }
    let threads = args.threads.unwrap_or_else(parallel::cores);
    let answer = prepared.run(threads).map_err(|error| error.to_string())?;
    let json = || serde_json::to_string_pretty(&answer).expect("all keys are strings") + "\n";
    if let Some(path) = &args.json {
        files::write_whole(path, &json())?;
    }
    if args.page.report.is_some() || args.page.plot.is_some() {
        let turns = prepared.turns_of_each();
        let recorded = recorded::recorded(&recording, Some(turns)).map_err(wrong)?;
        let page = prepared.page(&answer, recorded, threads).map_err(|error| error.to_string())?;
        page::put(&args.page, page.report(), || page.html())?;
    }
    match args.format {
        ReplayFormat::Json => output.documents().write_all(json().as_bytes())?,
        ReplayFormat::Table => output.write_all(text(&answer, args.explain).as_bytes())?,
    }
    Ok(if answer.hangs { Status::Bad } else { Status::Good })
}

/// First line of a file of groups next to a workload.
const GROUPS_HEAD: &str = "# Groups of a workload of `schedlab replay`";

/// Returns the file next to the workload for the settings of the recorded groups. `None`: there are
/// none.
fn groups_target(
    args: &ReplayArgs,
    workload: &Path,
    settings: &str,
) -> Result<Option<PathBuf>, Failure> {
    // Nothing belongs next to a device or a pipe.
    let is_special = workload.exists() && !workload.is_file();
    if settings.trim().is_empty() || is_special {
        return Ok(None);
    }
    let mut path = workload.as_os_str().to_owned();
    path.push(".groups");
    let path = PathBuf::from(path);
    if path.is_dir() {
        let what = "the settings of the groups belong there, but it is a directory";
        return Err(format!("{}: {what}", path.display()).into());
    }
    for input in std::iter::once(&args.file).chain(&args.groups).chain(&args.side) {
        files::check_other(&path, "--write", input)?;
    }
    let what = "a file of groups of `schedlab replay`";
    files::check_replaceable(&path, "--write", what, |text| text.starts_with(GROUPS_HEAD))?;
    Ok(Some(path))
}

/// Reads a trace: the records themselves, and those about its tasks.
pub(super) fn open(file: &Path) -> Result<(read::Trace, Trace), Failure> {
    let wrong = |error: read::ReadError| format!("{}: {error}", file.display());
    let recording = read::Trace::open(file).map_err(wrong)?;
    let trace = books_of(&recording).map_err(wrong)?;
    Ok((recording, trace))
}

/// Reads the file of the tasks' groups: the one that was named, or one found next to the trace,
/// which is then noted.
pub(super) fn groups_file(
    named: &Option<PathBuf>,
    trace: &Path,
) -> Result<Option<Source>, Failure> {
    named_or(named, || {
        let found = beside::groups(trace)?;
        complain(&format!(
            "note: groups from {}, which is next to the trace (--groups none ignores it)",
            found.display()
        ));
        Some(found)
    })
}

/// Reads the file that `schedlab record` wrote next to the trace, or the one that was named.
pub(super) fn side_file(named: &Option<PathBuf>, trace: &Path) -> Result<Option<Source>, Failure> {
    named_or(named, || {
        let found = beside::side(trace)?;
        complain(&format!(
            "note: the kernel, policies, affinity, groups, topology and tunables from {}, which \
             is next to the trace (--side none ignores it)",
            found.display()
        ));
        Some(found)
    })
}

/// Reads the file that was named, none if that is `none`, or the file that is found.
fn named_or(
    named: &Option<PathBuf>,
    find: impl FnOnce() -> Option<PathBuf>,
) -> Result<Option<Source>, Failure> {
    let found = match named {
        Some(named) => (named.as_os_str() != "none").then(|| named.clone()),
        None => find(),
    };
    Ok(found.as_deref().map(files::read).transpose()?)
}

/// Returns the records of a trace about its tasks.
fn books_of(recording: &read::Trace) -> Result<Trace, read::ReadError> {
    let mut books = TraceBuilder::new();
    let reading = recording.read(&mut books)?;
    reading.needs_wakeups()?;
    Ok(books.into_trace())
}

/// Formats the answer for people.
fn text(answer: &ReplayReport, explain: bool) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}: {}", answer.name, answer.trace_sentence());
    let _ = writeln!(out, "sleeps: {}", answer.sleeps_sentence());
    let _ = writeln!(out, "trust: {} ({})", answer.grade, answer.trust_sentence());
    let _ = writeln!(out, "       {}", answer.expected_sentence());
    if !answer.changed.is_empty() {
        let _ = writeln!(out, "changes from the third column on: {}", answer.changed.join("; "));
    }
    out.push('\n');
    table(answer, &mut out);
    if explain {
        out.push('\n');
        explained(answer, &mut out);
    }
    if !answer.messages.is_empty() {
        out.push('\n');
    }
    for message in &answer.messages {
        let _ = writeln!(out, "{}: {}", message.code, message.text);
    }
    out
}

fn table(answer: &ReplayReport, out: &mut String) {
    let shown = Table::new(answer, GROUPS_MAX);
    let mut lines: Vec<Vec<String>> = vec![];
    lines.push(std::iter::once(String::new()).chain(shown.columns).collect());
    for block in &shown.blocks {
        let tasks = if block.tasks == 1 { String::new() } else { format!(" x{}", block.tasks) };
        lines.push(vec![format!("{}{tasks} ({})", block.name, block.grade)]);
        for (title, _, cells) in &block.rows {
            let text = |cell: &Option<Shown>| cell.as_ref().map_or("-".into(), Shown::to_string);
            lines.push(
                std::iter::once(format!("  {title}")).chain(cells.iter().map(text)).collect(),
            );
        }
    }
    let widths: Vec<usize> = (0..=answer.columns.len())
        .map(|at| {
            let cells = lines.iter().filter(|line| line.len() > 1);
            cells.filter_map(|line| line.get(at)).map(|it| it.chars().count()).max().unwrap_or(0)
        })
        .collect();
    for line in &lines {
        let mut text = String::new();
        for (at, cell) in line.iter().enumerate() {
            let pad = widths[at].saturating_sub(cell.chars().count());
            text.push_str(cell);
            text.extend(std::iter::repeat_n(' ', pad + 2));
        }
        out.push_str(text.trim_end());
        out.push('\n');
    }
    if shown.left_out > 0 {
        let _ = writeln!(out, "and {} smaller groups (--format json shows them)", shown.left_out);
    }
}

/// Explains which waits grew or shrank against the replay, and behind which tasks.
fn explained(answer: &ReplayReport, out: &mut String) {
    let base = &answer.columns[1];
    for column in &answer.columns[2..] {
        let mut changes: Vec<(f64, usize)> = (0..answer.groups.len())
            .filter(|&at| column.groups[at].wait.alike == Some(false))
            .map(|at| (column.groups[at].wait.median - base.groups[at].wait.median, at))
            .collect();
        changes.sort_by(|(one, _), (other, _)| other.abs().total_cmp(&one.abs()));
        let _ = writeln!(out, "{}:", column.name);
        if changes.is_empty() {
            out.push_str("  no wait differs by more than chance\n");
        }
        for &(change, group) in changes.iter().take(5) {
            let name = &answer.groups[group].name;
            let more = if change > 0.0 { "longer" } else { "shorter" };
            let mut line = format!("  {name} waits {} {more}", duration(change.abs()));
            let behind: Vec<String> = behind(answer, column, group, change)
                .iter()
                .take(BEHIND_MAX)
                .map(|((runner, throttled_by), by)| {
                    let more = if *by > 0.0 { "more" } else { "less" };
                    let by = duration(by.abs());
                    match (throttled_by, runner) {
                        (Some(path), _) => format!("{by} {more} throttled by the limit of {path}"),
                        (_, Some(runner)) => format!("{by} {more} behind {runner}"),
                        _ => format!("{by} {more} while the CPU idled"),
                    }
                })
                .collect();
            if !behind.is_empty() {
                let _ = write!(line, ": {}", behind.join(", "));
            }
            out.push_str(&line);
            out.push('\n');
        }
    }
}

/// Maximum number of tasks named as the cause of a changed wait.
const BEHIND_MAX: usize = 3;

/// Task that had the CPU, or path of the group that had used up its limit.
type Cause<'a> = (Option<&'a str>, Option<&'a str>);

/// Returns the causes for which `group` waits longer (or shorter, by the sign of `change`) in
/// `column` than in the replay, and by how much, ns, largest first. Differences within chance, or
/// below a tenth of the change, are left out.
fn behind<'a>(
    answer: &'a ReplayReport,
    column: &'a Column,
    group: usize,
    change: f64,
) -> Vec<(Cause<'a>, f64)> {
    let cause = |row: &'a BehindRow| (row.runner.as_deref(), row.throttled_by.as_deref());
    let of = |column: &'a Column| -> BTreeMap<Cause<'a>, f64> {
        let rows = column.behind.iter().filter(|row| row.group == group);
        rows.map(|row| (cause(row), row.wait.median)).collect()
    };
    let chance: Vec<_> = (column.behind.iter())
        .filter(|row| row.group == group && row.wait.alike == Some(true))
        .map(cause)
        .collect();
    let (was, is) = (of(&answer.columns[1]), of(column));
    let causes: BTreeSet<Cause<'_>> = was.keys().chain(is.keys()).copied().collect();
    let mut found: Vec<(Cause<'_>, f64)> = causes
        .into_iter()
        .filter(|cause| !chance.contains(cause))
        .map(|cause| {
            let by = is.get(&cause).unwrap_or(&0.0) - was.get(&cause).unwrap_or(&0.0);
            (cause, by)
        })
        .filter(|(_, by)| by * change > 0.0 && by.abs() >= 0.1 * change.abs())
        .collect();
    found.sort_by(|(_, one), (_, other)| other.abs().total_cmp(&one.abs()));
    found
}
