//! `schedlab replay`: a recorded trace under other schedulers.

use crate::files;
use crate::plans::find_machine;
use crate::replay_args::{ArrivalsOption, ReplayArgs, ReplayFormat, TokensOption};
use crate::terminal::{Output, complain};
use crate::{Failure, Status};
use schedlab_lab::parallel;
use schedlab_lab::plan::MachineSpec;
use schedlab_lab::replay::{Answer, Cell, Figures, Replay};
use schedlab_replay::{Arrivals, Books, Tokens, Trace};
use schedlab_trace::read;
use schedlab_workload::rt_app;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// So many groups are shown; the rest are in the JSON form.
const GROUPS_MAX: usize = 12;

/// Answers the question.
pub fn replay(args: &ReplayArgs, output: &mut Output) -> Result<Status, Failure> {
    for path in args.json.iter().chain(&args.write) {
        files::check(path)?;
    }
    let name = args.file.display().to_string();
    let trace = recorded(&args.file)?;
    let replay = Replay {
        recorded: args.recorded.clone(),
        hz: args.hz,
        schedulers: args.schedulers.clone(),
        set: args.set.clone(),
        at: args.at.clone(),
        machine: MachineSpec {
            description: find_machine(args.machine.as_deref())?,
            cpus: args.cpus,
            no_costs: args.machine.is_some(),
            ..MachineSpec::default()
        },
        changes: args.change.clone(),
        groups: groups_file(args).as_deref().map(files::read).transpose()?,
        only: args.only.clone(),
        without: args.without.clone(),
        tokens: match args.tokens {
            TokensOption::Strict => Tokens::Strict,
            TokensOption::Counted => Tokens::Counted,
        },
        arrivals: match args.arrivals {
            ArrivalsOption::Open => Arrivals::Open,
            ArrivalsOption::Closed => Arrivals::Closed,
        },
        seeds: args.seeds,
        limit_ns: args.duration,
        ..Replay::new(name)
    };
    let prepared = replay.prepare(trace).map_err(|error| error.to_string())?;
    if let Some(path) = &args.write {
        files::write_whole(path, &rt_app::write(&prepared.model(args.anonymize)))?;
        return Ok(Status::Good);
    }
    let threads = args.threads.unwrap_or_else(parallel::cores);
    let answer = prepared.answer(threads).map_err(|error| error.to_string())?;
    let json = || serde_json::to_string_pretty(&answer).expect("its keys are strings") + "\n";
    if let Some(path) = &args.json {
        files::write_whole(path, &json())?;
    }
    match args.format {
        ReplayFormat::Json => output.documents().write_all(json().as_bytes())?,
        ReplayFormat::Table => output.write_all(text(&answer, args.explain).as_bytes())?,
    }
    Ok(if answer.hangs { Status::Bad } else { Status::Good })
}

/// The file that says in which groups tasks were: the one that was named, or one that lies beside
/// the trace and is called as it is (`desk.groups` for `desk.xz` or `desk.txt.xz`). To leave groups
/// out where they were is the largest mistake that can be avoided (their weights are half of the
/// schedule), so the file is taken without being asked for; and that it was is said.
fn groups_file(args: &ReplayArgs) -> Option<PathBuf> {
    if let Some(named) = &args.groups {
        return (named.as_os_str() != "none").then(|| named.clone());
    }
    let mut name = args.file.clone();
    while name.extension().is_some() {
        name.set_extension("groups");
        if name != args.file && name.is_file() {
            complain(&format!(
                "note: groups as {} says, which lies beside the trace (--groups none: without)",
                name.display()
            ));
            return Some(name);
        }
        name.set_extension("");
    }
    None
}

/// Reads a trace.
fn recorded(path: &Path) -> Result<Trace, Failure> {
    let wrong = |error: read::ReadError| format!("{}: {error}", path.display());
    let mut books = Books::new();
    let reading = read::read(path, &mut books).map_err(wrong)?;
    reading.needs_wakeups().map_err(wrong)?;
    Ok(books.into_trace())
}

/// The answer for people.
fn text(answer: &Answer, explain: bool) -> String {
    let mut out = String::new();
    let facts = &answer.trace;
    let _ = writeln!(
        out,
        "{}: {:.3} s, {} CPUs, {} tasks ({} replayed), {} switches, {} wakeups",
        answer.name,
        facts.span_ns as f64 / 1e9,
        facts.cpus,
        facts.tasks.1,
        facts.tasks.0,
        facts.switches,
        facts.wakeups
    );
    let sleeps = &answer.sleeps;
    let _ = writeln!(
        out,
        "sleeps: {} end with another task's work, {} after a time (devices, timers), {} at a time \
         (clocks, arrivals)",
        sleeps.edge, sleeps.relative, sleeps.absolute
    );
    let percent = |value: f64| match 100.0 * value {
        value if value < 9.95 => format!("{value:.1} %"),
        value => format!("{value:.0} %"),
    };
    let _ = writeln!(
        out,
        "trust: {} (the replay under the recorded scheduler misses ends by {}, waiting by {})",
        answer.grade,
        percent(answer.e_end),
        percent(answer.e_wait)
    );
    let ends = match answer.expected_end {
        Some((middle, most)) => {
            format!("ends within {} (typically; {} at most)", percent(middle), percent(most))
        }
        None => "ends: nobody knows".into(),
    };
    let (middle, most) = answer.expected_wait;
    let _ = writeln!(
        out,
        "       predictions from such recordings came out with {ends}, waiting within {} ({} at \
         most)",
        percent(middle),
        percent(most)
    );
    if !answer.changed.is_empty() {
        let _ = writeln!(out, "from the third column on: {}", answer.changed.join("; "));
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

/// A figure with its band, in a unit that suits the figure.
type Show = fn(f64, Option<(f64, f64)>) -> String;

/// Time, ns.
fn time(ns: f64, band: Option<(f64, f64)>) -> String {
    let (unit, in_ns, places) = match ns {
        ns if ns >= 9.9995e9 => ("s", 1e9, 2),
        ns if ns >= 1e5 => ("ms", 1e6, 1),
        _ => ("µs", 1e3, 0),
    };
    let of = |ns: f64| format!("{:.places$}", ns / in_ns);
    match band {
        None if ns == 0.0 => "0".into(),
        None => format!("{} {unit}", of(ns)),
        Some((least, most)) => format!("{} [{} – {}] {unit}", of(ns), of(least), of(most)),
    }
}

fn count(value: f64, band: Option<(f64, f64)>) -> String {
    let of = |value: f64| {
        if value.fract() == 0.0 { format!("{value}") } else { format!("{value:.1}") }
    };
    match band {
        None => of(value),
        Some((least, most)) => format!("{} [{} – {}]", of(value), of(least), of(most)),
    }
}

/// A cell with its band, and with its difference from `base`, the replay.
fn cell(cell: &Cell, base: Option<&Cell>, show: Show) -> String {
    let band = (cell.least != cell.greatest).then_some((cell.least, cell.greatest));
    let mut text = show(cell.median, band);
    match (cell.alike, base) {
        (Some(true), _) => text.push_str(" ≈"),
        (Some(false), Some(base)) if base.median > 0.0 => {
            let change = 100.0 * (cell.median - base.median) / base.median;
            if change.abs() < 1000.0 {
                let _ = write!(text, " {change:+.0} %");
            } else {
                let _ = write!(text, " x{:.0}", cell.median / base.median);
            }
        }
        (Some(false), _) => text.push_str(" ≠"),
        (None, _) => {}
    }
    text
}

type Row = (&'static str, fn(&Figures) -> Option<&Cell>, Show);

const ROWS: [Row; 7] = [
    ("CPU", |it| Some(&it.cpu), time),
    ("end", |it| Some(&it.end), time),
    ("wait", |it| Some(&it.wait), time),
    ("long waits", |it| Some(&it.long_waits), count),
    ("preemptions", |it| Some(&it.preemptions), count),
    ("p50 latency", |it| it.p50.as_ref(), time),
    ("p99 latency", |it| it.p99.as_ref(), time),
];

fn table(answer: &Answer, out: &mut String) {
    let shown: Vec<usize> = (0..answer.groups.len())
        .filter(|&at| answer.groups[at].is_large)
        .take(GROUPS_MAX)
        .collect();
    let mut lines: Vec<Vec<String>> = vec![];
    let mut head = vec![String::new()];
    for (at, column) in answer.columns.iter().enumerate() {
        head.push(match at {
            1 => format!("replayed ({})", column.name),
            _ => column.name.clone(),
        });
    }
    lines.push(head);
    for &at in &shown {
        let group = &answer.groups[at];
        let tasks = if group.tasks == 1 { String::new() } else { format!(" x{}", group.tasks) };
        lines.push(vec![format!("{}{tasks} ({})", group.name, group.grade)]);
        for (title, value, show) in ROWS {
            let of = |column: usize| value(&answer.columns[column].groups[at]);
            if (0..answer.columns.len()).all(|column| of(column).is_none()) {
                continue;
            }
            let mut line = vec![format!("  {title}")];
            for column in 0..answer.columns.len() {
                line.push(of(column).map_or("-".into(), |it| cell(it, of(1), show)));
            }
            lines.push(line);
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
    let rest = answer.groups.len() - shown.len();
    if rest > 0 {
        let _ = writeln!(out, "and {rest} smaller groups (--format json has them)");
    }
}

/// Whose waits grew or shrank against the replay.
fn explained(answer: &Answer, out: &mut String) {
    let base = &answer.columns[1];
    for column in &answer.columns[2..] {
        let mut changes: Vec<(f64, usize)> = (0..answer.groups.len())
            .filter(|&at| column.groups[at].wait.alike == Some(false))
            .map(|at| (column.groups[at].wait.median - base.groups[at].wait.median, at))
            .collect();
        changes.sort_by(|(one, _), (other, _)| other.abs().total_cmp(&one.abs()));
        let _ = writeln!(out, "{}:", column.name);
        if changes.is_empty() {
            out.push_str("  nobody waits longer or shorter than by chance\n");
        }
        for (change, at) in changes.iter().take(5) {
            let name = &answer.groups[*at].name;
            let more = if *change > 0.0 { "longer" } else { "shorter" };
            let _ = writeln!(out, "  {name} waits {} {more}", time(change.abs(), None));
        }
    }
}
