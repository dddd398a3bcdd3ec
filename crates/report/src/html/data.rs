//! Data of a page: a short head as JSON, and columns of numbers for each run.
//!
//! The columns of all runs together take at most [`DATA_MOST`] characters. If they would take more,
//! waits are stored in microseconds instead of nanoseconds; if that is not enough, short
//! neighbouring slices are merged, in the run with the most slices first. Sums over time and the
//! longest waits are computed from all events and do not depend on merging.

use super::columns::{Column, Columns};
use super::page::{ExplainedWait, Page, Recording};
use crate::data::{BucketRow, RunReport, Spread};
use schedlab_measure::history::{
    BUCKETS, IntervalEnd, RunInterval, RunIntervals, RunnableCause, Wait,
};
use serde::Serialize;
use std::borrow::Cow;

/// Maximum number of characters of all data of a page.
pub(super) const DATA_MOST: usize = 7_700_000;

/// Maximum number of slices of all runs together that are shown one by one.
pub const TURNS_MOST: usize = 1_000_000;

/// Head: what the scripts need to read the rest.
#[derive(Serialize)]
pub(super) struct Head<'a> {
    workload: &'a str,
    runs: Vec<RunHead<'a>>,
}

#[derive(Serialize)]
struct RunHead<'a> {
    spec: String,
    title: &'a str,
    columns: Vec<Column>,
}

/// Description of a run apart from its columns of numbers.
#[derive(Serialize)]
struct Meta<'a> {
    cpus: u32,
    end_ns: u64,
    tasks: Vec<TaskRow<'a>>,
    /// Groups, the root first.
    groups: Vec<Cow<'a, str>>,
    /// Number, name, sentence.
    rules: Vec<(u8, &'a str, &'a str)>,
    latency: &'a Spread,
    latency_histogram: &'a [BucketRow],
    recorded: Option<Recorded>,
}

/// Name, key, group, policy, nice, real-time priority, parent or -1.
type TaskRow<'a> = (Cow<'a, str>, Cow<'a, str>, Cow<'a, str>, &'a str, i32, u32, i64);

#[derive(Serialize)]
struct Recorded {
    /// Number of slices before merging.
    turns: u64,
    /// Those that are put together within this time; 0: none.
    grain_ns: u64,
    /// Time within which slices are merged, ns; 0: none are.
    wait_unit_ns: u64,
    /// Length of a stretch of time, ns, and number of stretches.
    width_ns: u64,
    buckets: usize,
    has_lags: bool,
    waits: Vec<WaitRow>,
}

/// Long wait.
#[derive(Serialize)]
struct WaitRow {
    task: u32,
    from: u64,
    to: u64,
    cpu: u32,
    /// Code of the reason why the task was runnable.
    came: u64,
    /// Whether the task got no CPU.
    open: bool,
    /// Groups whose limits kept it from running, and for how long, ns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    throttled: Vec<(String, u64)>,
    /// Tasks that had the CPU in the meantime (-1: idle), and for how long, ns, if known.
    meanwhile: Option<Vec<(i64, u64)>>,
    /// Rules, and number of picks lost by each.
    lost: Vec<(u8, u32)>,
}

fn wait_row(wait: &Wait, explained: &[ExplainedWait]) -> WaitRow {
    let known = explained.iter().find(|it| (it.task, it.from_ns) == (wait.task.0, wait.from_ns));
    let ran = |&(task, ns, _): &(Option<u32>, u64, u32)| (task.map_or(-1, i64::from), ns);
    WaitRow {
        task: wait.task.0,
        from: wait.from_ns,
        to: wait.to_ns,
        cpu: wait.cpu.0,
        came: wait.cause.code(),
        open: wait.open,
        throttled: known.map_or(vec![], |known| known.throttled.clone()),
        meanwhile: known.map(|known| known.meanwhile.iter().map(ran).collect()),
        lost: known.map_or(vec![], |known| known.lost.clone()),
    }
}

/// Returns the head, and the columns of each run.
pub(super) fn data<'a>(page: &'a Page<'a>, most: usize) -> (Head<'a>, Vec<String>) {
    let runs = &page.report.runs;
    let mut turns: Vec<Option<RunIntervals>> = (0..runs.len())
        .map(|run| page.recording(run).map(|recording| recording.history.turns.clone()))
        .collect();
    while turns.iter().flatten().map(|turns| turns.list().len()).sum::<usize>() > TURNS_MOST
        && thin_longest(&mut turns, 0.75)
    {}
    let mut wait_unit_ns = 1;
    loop {
        let written: Vec<(Vec<Column>, String)> = (runs.iter().zip(&turns).enumerate())
            .map(|(number, (run, turns))| columns(run, page.recording(number), turns, wait_unit_ns))
            .collect();
        let size: usize = written.iter().map(|(_, text)| text.len()).sum();
        if size > most && wait_unit_ns == 1 {
            wait_unit_ns = 1000;
            continue;
        }
        let part = (most as f64 / size as f64).clamp(0.25, 0.9);
        if size > most && thin_longest(&mut turns, part) {
            continue;
        }
        let mut heads = vec![];
        let mut texts = vec![];
        for (number, (run, (columns, text))) in runs.iter().zip(written).enumerate() {
            heads.push(RunHead { spec: page.name(number), title: &run.scheduler.title, columns });
            texts.push(text);
        }
        return (Head { workload: &page.report.workload.name, runs: heads }, texts);
    }
}

/// Thins the run with the most slices to this fraction of them. Returns whether there are fewer
/// then.
fn thin_longest(turns: &mut [Option<RunIntervals>], part: f64) -> bool {
    let Some(longest) = turns.iter_mut().flatten().max_by_key(|turns| turns.list().len()) else {
        return false;
    };
    let count = longest.list().len();
    longest.thin((count as f64 * part) as usize);
    longest.list().len() < count
}

fn columns(
    run: &RunReport,
    recording: Option<Recording<'_>>,
    turns: &Option<RunIntervals>,
    wait_unit_ns: u64,
) -> (Vec<Column>, String) {
    let mut columns = Columns::default();
    let meta = meta(run, recording, turns.as_ref(), wait_unit_ns);
    let text = serde_json::to_string(&meta).expect("all keys of the document are strings");
    columns.add_text("meta", &text);
    if let (Some(recording), Some(turns)) = (recording, turns) {
        add_turns(&mut columns, turns.list(), recording.history.cpus, wait_unit_ns);
        add_buckets(&mut columns, recording, bucket_count(run, recording));
    }
    columns.finish()
}

fn bucket_count(run: &RunReport, recording: Recording<'_>) -> usize {
    // Events at the very end are also counted, if necessary in a stretch of no length.
    (run.end.at_ns / recording.history.buckets.width_ns() + 1).min(BUCKETS as u64) as usize
}

fn meta<'a>(
    run: &'a RunReport,
    recording: Option<Recording<'a>>,
    turns: Option<&RunIntervals>,
    wait_unit_ns: u64,
) -> Meta<'a> {
    let parents: Vec<i64> = recording.map_or(vec![], |recording| {
        let parents = recording.history.parents.iter();
        parents.map(|(_, parent)| parent.map_or(-1, |parent| parent.0.into())).collect()
    });
    Meta {
        cpus: run.machine.cpus,
        end_ns: run.end.at_ns,
        tasks: (run.tasks.iter())
            .map(|task| {
                let parent = parents.get(task.task as usize).copied().unwrap_or(-1);
                let group = if task.group.is_empty() { "/" } else { &task.group };
                let (policy, prio) = (&*task.policy, task.rt_priority);
                let (name, key) = (shown(&task.name), shown(&task.key));
                (name, key, shown(group), policy, task.nice, prio, parent)
            })
            .collect(),
        groups: ["/"]
            .into_iter()
            .chain(run.groups.iter().map(|group| &*group.path))
            .map(shown)
            .collect(),
        rules: recording.map_or(vec![], |recording| {
            let rules = recording.rules.iter();
            rules.map(|(rule, name, text)| (*rule, &**name, &**text)).collect()
        }),
        latency: &run.wakeup_latency,
        latency_histogram: &run.wakeup_latency_histogram,
        recorded: recording.zip(turns).map(|(recording, turns)| Recorded {
            turns: turns.count(),
            grain_ns: turns.grain_ns(),
            wait_unit_ns,
            width_ns: recording.history.buckets.width_ns(),
            buckets: bucket_count(run, recording),
            has_lags: recording.history.has_lags,
            waits: (recording.history.waits.iter())
                .map(|wait| wait_row(wait, recording.explained))
                .collect(),
        }),
    }
}

/// Returns a name for the page. Only the beginning and the end of a very long name are kept:
/// instances of one program differ at the end.
pub(super) fn shown(name: &str) -> Cow<'_, str> {
    const MOST: usize = 80;
    const END: usize = 12;
    let count = name.chars().count();
    if count <= MOST {
        return name.into();
    }
    let begin: String = name.chars().take(MOST - END - 1).collect();
    let end: String = name.chars().skip(count - END).collect();
    format!("{begin}\u{2026}{end}").into()
}

/// Origin of a slice, as a number. A column that only some slices need has values for those alone.
mod kind {
    /// The task had lost its CPU, and its wait follows from that.
    pub const RUNNABLE: u64 = 0;
    /// The task was new.
    pub const STARTED: u64 = 1;
    /// An interrupt had woken the task.
    pub const INTERRUPT: u64 = 2;
    /// The kernel had woken it.
    pub const PROCESS: u64 = 3;
    /// A task had woken it: column `waker`.
    pub const TASK: u64 = 4;
    /// The task had lost its CPU, and its wait is recorded separately.
    pub const OTHER_WAIT: u64 = 5;
    /// Several slices, merged: columns `count`, `idle` and `own`.
    pub const SEVERAL: u64 = 6;
}

/// Adds the slices, by start, then CPU.
///
/// * `cpu`, `task`; `gap`: time since the end of the last slice on the CPU, ns; `length`, ns;
///   `why`.
/// * `kind`: origin ([`kind`]); `left`: code of the end.
/// * `wait`, of kinds 1 to 5: time that the task had been runnable, in `wait_unit_ns`.
/// * `placed`, `preempts`, of kinds 1 to 4; `waker`, of kind 4.
/// * `count`: number of merged slices minus 1; `idle`: idle time of the CPU within the length, ns;
///   `own`: minimum time of `task` within it, ns; of kind 6.
fn add_turns(columns: &mut Columns, turns: &[RunInterval], cpus: u32, wait_unit_ns: u64) {
    // Sorted here: thinning keeps only the order of each CPU.
    let mut sorted: Vec<&RunInterval> = turns.iter().collect();
    sorted.sort_by_key(|turn| (turn.start_ns, turn.cpu));
    let kinds = kinds(&sorted);
    let mut add =
        |name, of: std::ops::RangeInclusive<u64>, number: &mut dyn FnMut(&RunInterval) -> u64| {
            let with = sorted.iter().zip(&kinds).filter(|(_, kind)| of.contains(kind));
            columns.add(name, &with.map(|(turn, _)| number(turn)).collect::<Vec<u64>>());
        };
    let all = kind::RUNNABLE..=kind::SEVERAL;
    let single = kind::RUNNABLE..=kind::OTHER_WAIT;
    let woken = kind::STARTED..=kind::TASK;
    let mut ends = vec![0; cpus as usize];
    add("cpu", all.clone(), &mut |turn| u64::from(turn.cpu.0));
    add("task", all.clone(), &mut |turn| u64::from(turn.task.0));
    add("gap", all.clone(), &mut |turn| {
        let end = &mut ends[turn.cpu.0 as usize];
        turn.start_ns - std::mem::replace(end, turn.end_ns)
    });
    add("length", all, &mut |turn| turn.end_ns - turn.start_ns);
    add("left", single.clone(), &mut |turn| u64::from(turn.end.code()));
    add("why", single, &mut |turn| u64::from(turn.why.0));
    add("placed", woken.clone(), &mut |turn| u64::from(turn.placed.0));
    add("preempts", woken, &mut |turn| u64::from(turn.preempts.0));
    add("wait", kind::STARTED..=kind::OTHER_WAIT, &mut |turn| turn.wait_ns / wait_unit_ns);
    add("waker", kind::TASK..=kind::TASK, &mut |turn| match turn.cause {
        RunnableCause::Task(task) => u64::from(task.0),
        _ => unreachable!("slices of this kind have a waker"),
    });
    let several = kind::SEVERAL..=kind::SEVERAL;
    add("count", several.clone(), &mut |turn| u64::from(turn.count) - 1);
    add("idle", several.clone(), &mut |turn| turn.end_ns - turn.start_ns - turn.busy_ns);
    add("own", several, &mut |turn| turn.task_ns);
    columns.add("kind", &kinds);
}

/// Returns the kind of each slice, in the order of their starts.
fn kinds(sorted: &[&RunInterval]) -> Vec<u64> {
    let tasks = sorted.iter().map(|turn| turn.task.0 as usize + 1).max().unwrap_or(0);
    // Time at which each task lost its CPU, if it was runnable then and that is known.
    let mut lost: Vec<Option<u64>> = vec![None; tasks];
    let kind = |turn: &&RunInterval| {
        let lost = &mut lost[turn.task.0 as usize];
        let single = turn.count == 1;
        let stays = (single && turn.end == IntervalEnd::Runnable).then_some(turn.end_ns);
        let known = std::mem::replace(lost, stays);
        match turn.cause {
            _ if !single => kind::SEVERAL,
            RunnableCause::Runnable => match known {
                Some(since_ns) if turn.start_ns - since_ns == turn.wait_ns => kind::RUNNABLE,
                None if turn.wait_ns == 0 => kind::RUNNABLE,
                _ => kind::OTHER_WAIT,
            },
            RunnableCause::Started => kind::STARTED,
            RunnableCause::Interrupt => kind::INTERRUPT,
            RunnableCause::Process => kind::PROCESS,
            RunnableCause::Task(_) => kind::TASK,
        }
    };
    sorted.iter().map(kind).collect()
}

fn add_buckets(columns: &mut Columns, recording: Recording<'_>, count: usize) {
    let buckets = &recording.history.buckets;
    let rows = [
        ("runnable_ns", &buckets.runnable_ns),
        ("runnable_max", &buckets.runnable_max),
        ("switches", &buckets.switches),
        ("migrations", &buckets.migrations),
        ("wakeups", &buckets.wakeups),
        ("wait_max_ns", &buckets.wait_max_ns),
        ("owed_max_ns", &buckets.owed_max_ns),
        ("ahead_max_ns", &buckets.ahead_max_ns),
    ];
    for (name, row) in rows {
        columns.add(name, &row[..count]);
    }
    for (name, rows) in [("of_tasks", &buckets.tasks), ("of_groups", &buckets.groups)] {
        let all: Vec<u64> = rows.rows().flat_map(|row| row[..count].iter().copied()).collect();
        columns.add(name, &all);
    }
}
