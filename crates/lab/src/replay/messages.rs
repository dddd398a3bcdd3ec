//! Notes for the user about a replay: guesses, facts that a trace does not show, and failures. Each
//! note has a letter that identifies its kind.

use super::Prepared;
use super::ensemble::Outcome;
use super::report::{Message, ReplayReport};
use schedlab_replay::program::Step;
use schedlab_replay::score::{Grade, Score};
use schedlab_trace::State;
use schedlab_workload::groups::autogroup;
use std::collections::BTreeMap;

/// Maximum number of tasks that a note names. The others are counted.
const NAMED_MAX: usize = 5;

/// Adds the notes about `runs`.
pub(super) fn add(
    prepared: &Prepared,
    runs: &[Vec<Outcome>],
    score: &Score,
    report: &mut ReplayReport,
) {
    let mut note = |code: char, text: String| report.messages.push(Message { code, text });
    let (trace, setup) = (&prepared.trace, &prepared.setup);
    if !trace.has_contexts {
        note(
            'F',
            "the recording does not distinguish interrupts from tasks; they are guessed. Record \
             with perf.data or tracefs"
                .into(),
        );
    }
    let missing = trace.gaps + trace.unseen;
    if missing > 0 {
        let share =
            100.0 * trace.gap_ns as f64 / (u64::from(trace.cpus) * trace.span_ns).max(1) as f64;
        note(
            'G',
            format!(
                "{missing} switches missing ({share:.1} % of the time): the bursts of their tasks \
                 are guesses"
            ),
        );
    }
    if setup.is_assumed {
        note('A', format!("assumed {} at {} Hz", setup.columns[0].name, setup.hz));
    }
    let programs = &prepared.workload.tasks;
    let is_urgent = |it: &&schedlab_replay::Program| {
        it.prio < 100 || it.steps.iter().any(|step| matches!(step, Step::Prio(prio) if *prio < 100))
    };
    let urgent = programs.iter().filter(is_urgent).count();
    if urgent == 0 && !prepared.has_groups {
        note('C', "cgroups are not in a trace; if any were used, give --groups".into());
    }
    if let Some(text) = unknown_sessions(prepared) {
        note('S', text);
    }
    for (code, text) in &prepared.notes {
        note(*code, text.clone());
    }
    if setup.machine_changes {
        let slow = waits_for_devices(prepared);
        if !slow.is_empty() {
            note(
                'D',
                format!(
                    "{}: waits for devices are replayed with their recorded times, which may \
                     depend on the schedule",
                    slow.join(", ")
                ),
            );
        }
    }
    for (waker, sleeper) in ahead(runs) {
        note(
            'H',
            format!(
                "{sleeper} runs ahead of {waker} in the replay: its inputs were not visible in the \
                 trace"
            ),
        );
    }
    if urgent > 0 {
        note('R', "real-time tasks are treated as SCHED_FIFO".into());
    }
    let exhausted = exhausted(prepared, runs);
    if !exhausted.is_empty() {
        let shown: Vec<String> = exhausted
            .iter()
            .take(NAMED_MAX)
            .map(|(name, end_ns)| {
                let s = *end_ns as f64 / 1e9;
                format!("{name} has done all of its recorded work after {s:.3} s")
            })
            .collect();
        let more = exhausted.len().saturating_sub(NAMED_MAX);
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        note('X', format!("{}{more}; from then on the load is missing", shown.join("; ")));
    }
    let mut hangs = false;
    for (runner, runs) in setup.columns.iter().zip(runs) {
        let Some(first) = runs.iter().find(|run| !run.left.is_empty()) else { continue };
        let stuck = !first.waiting.is_empty();
        if stuck {
            hangs = true;
            let (place, semaphore) = first.waiting[0];
            let more = match first.waiting.len() - 1 {
                0 => String::new(),
                more => format!("; and {more} more"),
            };
            let edge = edge_of(prepared, semaphore);
            let sleeper = &programs[place].key;
            note('L', format!("{}: {sleeper} never woke: it waits for {edge}{more}", runner.name));
        } else {
            note(
                'L',
                format!(
                    "{}: {} tasks had not ended at {:.3} s, when the run was stopped; give a \
                     longer --duration",
                    runner.name,
                    first.left.len(),
                    first.end_ns as f64 / 1e9
                ),
            );
        }
    }
    if score.grade == Grade::Poor {
        let (_, most) = score.expected_wait();
        note('P', format!("do not trust differences smaller than {:.0} %", 100.0 * most));
    }
    for text in &setup.notes {
        note('N', text.clone());
    }
    report.hangs = hangs;
}

/// Returns the note that the kernel may have grouped tasks by session. `None`: this is known, or no
/// request depends on it.
fn unknown_sessions(prepared: &Prepared) -> Option<String> {
    let (replay, columns) = (&prepared.replay, &prepared.setup.columns);
    let is_possible = autogroup::is_in(columns[0].choice.release.kernel()) == Some(true)
        && columns[0].choice.release.can.groups;
    let tried = replay.tries.iter().flat_map(|it| it.split(';'));
    let mut all = replay.changes.iter().map(String::as_str).chain(tried).map(str::trim);
    let change = all.find(|it| it.starts_with("nice ") || it.starts_with("renice "));
    let is_known = replay.side.is_some() || prepared.has_groups;
    let change = change.filter(|_| is_possible && !is_known)?;
    Some(format!(
        "kernels of desktops group tasks by session (sched_autogroup_enabled), which a trace does \
         not show. If autogroup was on, `{change}` changes only how its tasks share with tasks of \
         their own session: between sessions the shares stay as they were. `schedlab record` \
         records the sessions; otherwise give a group for each session with --groups"
    ))
}

/// Finds the tasks that often run ahead of their wakers in any column, as pairs of waker and
/// sleeper. The most frequent pairs come first, and their number is limited.
fn ahead(runs: &[Vec<Outcome>]) -> Vec<(String, String)> {
    let mut worst: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    let first = runs.iter().filter_map(|runs| runs.first());
    for found in first.flat_map(|run| &run.overtaking).filter(|it| it.is_much()) {
        let most = worst.entry((&found.waker, &found.sleeper)).or_default();
        *most = found.ahead.max(*most);
    }
    let mut all: Vec<_> = worst.into_iter().collect();
    all.sort_by_key(|(_, ahead)| std::cmp::Reverse(*ahead));
    let names = all.into_iter().take(NAMED_MAX);
    names.map(|((waker, sleeper), _)| (waker.into(), sleeper.into())).collect()
}

/// Groups that wait for devices for more than a tenth of their time.
fn waits_for_devices(prepared: &Prepared) -> Vec<String> {
    let mut times: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for program in &prepared.workload.tasks {
        let task = &prepared.trace.tasks[program.task as usize];
        if !prepared.selected[program.task as usize] {
            continue;
        }
        let (waited, all) = times.entry(&program.name).or_default();
        for sleep in task.sleeps() {
            if let (State::Uninterruptible, Some(wake_ns)) = (sleep.state, sleep.wake_ns) {
                *waited += wake_ns - sleep.at_ns;
            }
        }
        let end_ns = task.last_burst().map_or(task.born_ns, |burst| burst.end_ns);
        *all += end_ns - task.born_ns.min(end_ns);
    }
    let much = times.into_iter().filter(|(_, (waited, all))| waited * 10 > *all);
    much.map(|(name, _)| name.to_string()).take(NAMED_MAX).collect()
}

/// Finds the tasks that the trace's end cut and that reach this point earlier in a replay, each
/// with the earliest time, in the order of CPU time. Small tasks are ignored.
fn exhausted(prepared: &Prepared, runs: &[Vec<Outcome>]) -> Vec<(String, u64)> {
    let trace = &prepared.trace;
    let least_ns = trace.busy_ns() / 100;
    let mut found = vec![];
    for (place, program) in prepared.workload.tasks.iter().enumerate() {
        let cpu_ns = trace.tasks[program.task as usize].cpu_ns();
        if !program.is_exhausted || cpu_ns < least_ns {
            continue;
        }
        let ends = runs.iter().filter_map(|runs| runs.first()).map(|run| run.tasks[place].end_ns);
        if let Some(end_ns) = ends.min().filter(|&end_ns| end_ns < trace.span_ns) {
            found.push((cpu_ns, program.key.clone(), end_ns));
        }
    }
    found.sort_by_key(|(cpu_ns, _, _)| std::cmp::Reverse(*cpu_ns));
    found.into_iter().map(|(_, key, end_ns)| (key, end_ns)).collect()
}

/// Returns the task that posts a semaphore.
fn edge_of(prepared: &Prepared, semaphore: u32) -> String {
    let posts = |it: &&schedlab_replay::Program| it.steps.contains(&Step::Post(semaphore));
    match prepared.workload.tasks.iter().find(posts) {
        Some(program) => format!("{} (edge {semaphore})", program.key),
        None => format!("no task (edge {semaphore})"),
    }
}
