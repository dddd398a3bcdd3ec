//! The end of a session: its figures are turned into a [`Run`].

use super::{Course, RenamingFn, Session, Simulated, WorkloadCourse};
use crate::assembly::{self, Observed, Outcome};
use crate::error::Error;
use crate::refused;
use crate::report_of::{GroupInfo, TaskInfo};
use crate::run::Run;
use crate::select::Choice;
use schedlab_bench::Findings;
use schedlab_core::{SchedAttr, TaskId};
use schedlab_machine::{RunEnd, TaskState};
use schedlab_report::RunReport;
use schedlab_workload::programs::Kernel;
use schedlab_workload::{Log, timetable};

/// Runs `session` to `until_ns` and makes its report.
pub(super) fn end(mut session: Session<'_>, until_ns: u64) -> Result<Run, Error> {
    if until_ns > session.machine.now_ns() {
        session.advance(until_ns)?;
    }
    let Session { mut machine, course, choice, config, end, set, renamed, before, .. } = session;
    let mut warnings: Vec<String> = vec![];
    let mut deadlock = None;
    let mut findings = Findings::default();
    let mut log_lines = 0;
    let is_workload = matches!(course, Course::Workload(_));
    let mut group_infos = vec![];
    let mut seed = config.seed;
    let end = match course {
        Course::Workload(course) => {
            let is_limited = course.is_limited;
            log_lines = course.log_lines;
            group_infos = self::group_infos(&course, &choice, &machine);
            let outcome = course.end(&mut machine, until_ns)?;
            warnings.extend(refusals_of_tasks(&machine));
            warnings.extend(refusals_of_timetable(&outcome));
            warnings.extend(machine.scheduler().inspect().remarks());
            if !outcome.undone.is_empty() {
                let end_s = machine.now_ns() as f64 / 1e9;
                let lines = outcome.undone.join("`, `");
                warnings.push(format!(
                    "the run ended at {end_s:.6} s, before these actions: `{lines}`"
                ));
            }
            if outcome.end == RunEnd::Stuck {
                let waits = waits_of_workload(&machine);
                // Stopped or frozen tasks without an action that continues them are what the
                // timetable requests. Tasks that wait indefinitely are an error.
                if !is_limited && !machine.workload().wait_graph().waiting.is_empty() {
                    deadlock = Some(waits.clone());
                }
                let at_s = machine.now_ns() as f64 / 1e9;
                warnings
                    .push(format!("from {at_s:.6} s on, no task could ever run again: {waits}"));
            }
            outcome.end
        }
        Course::Benchmark(course) => {
            findings = course.end(&mut machine);
            let end = end.unwrap_or(RunEnd::TimeUp);
            warnings.extend(refusals_of_tasks(&machine));
            if end == RunEnd::Stuck {
                warnings.push(waits_of_benchmark(machine.workload(), machine.now_ns()));
            }
            warnings.extend(machine.scheduler().inspect().remarks());
            seed = Some(seed.unwrap_or(1));
            end
        }
    };
    let mut outcome = Outcome::of(&machine, end);
    outcome.counts.switches -= before.switches;
    outcome.counts.wakeups -= before.wakeups;
    outcome.counts.ticks -= before.ticks;
    let attrs: Vec<SchedAttr> =
        (0..machine.task_count() as u32).map(|task| machine.task_attr(TaskId(task))).collect();
    let (scheduler, kernel, observers) = machine.into_parts();
    let mut measures = observers.measures.expect("a run with a report is measured");
    drop(observers.attached);
    if measures.is_over() {
        let most = measures.recorded_most;
        warnings.push(format!(
            "slices were not recorded: there would be more than {most}; shorten the run \
             (--duration), or for a timeline the window (--from, --to)"
        ));
    }
    let (slices, spans) = measures.take_recording();
    if let Some(left_out) = kernel.log().map(Log::left_out).filter(|&lines| lines > 0) {
        warnings.push(format!(
            "the log has its first {log_lines} lines only; {left_out} more are left out; shorten \
             the run (--duration)"
        ));
    }
    let tasks = match is_workload {
        true => thread_infos(&kernel, &attrs, renamed.as_deref()),
        false => program_infos(&kernel),
    };
    let observed = Observed {
        tasks: &tasks,
        groups: &group_infos,
        stats: &measures.stats,
        fairness: measures.fairness.as_ref(),
        group_usage: measures.group_usage.as_ref(),
        refusals: Some(&measures.refusals),
        slices,
        spans,
    };
    let mut report = assembly::report(&config, &choice, seed, outcome, &*scheduler, observed);
    report.scheduler.set = set;
    let warning = (!warnings.is_empty()).then(|| warnings.join("\n"));
    let run = Run { report, findings, log: kernel.into_log(), warning };
    match deadlock {
        None => Ok(run),
        Some(waits) => Err(Error::Stuck { waits, run: Box::new(run) }),
    }
}

/// Returns the report of `session` as if it ended now. `None`: nothing is measured.
pub(super) fn report_so_far(session: &Session<'_>) -> Option<RunReport> {
    let Session { machine, course, choice, config, set, renamed, .. } = session;
    let measures = machine.observer().measures.as_ref()?.settled(machine.now_ns());
    let kernel = machine.workload();
    let (tasks, groups) = match course {
        Course::Workload(course) => {
            let tasks = thread_infos(kernel, &session.attrs(), renamed.as_deref());
            (tasks, group_infos(course, choice, machine))
        }
        Course::Benchmark(_) => (program_infos(kernel), vec![]),
    };
    let observed = Observed {
        tasks: &tasks,
        groups: &groups,
        stats: &measures.stats,
        fairness: measures.fairness.as_ref(),
        group_usage: measures.group_usage.as_ref(),
        refusals: Some(&measures.refusals),
        slices: None,
        spans: None,
    };
    let outcome = Outcome::of(machine, RunEnd::TimeUp);
    let scheduler = &**machine.scheduler();
    let mut report = assembly::report(config, choice, config.seed, outcome, scheduler, observed);
    report.scheduler.set.clone_from(set);
    Some(report)
}

/// Facts about each group except the root.
fn group_infos(
    course: &WorkloadCourse,
    choice: &Choice,
    machine: &Simulated<'_>,
) -> Vec<GroupInfo> {
    let is_limited = choice.release.can.quotas;
    let groups = course.groups.groups().iter().zip(&course.ids);
    groups
        .map(|(group, &id)| GroupInfo {
            path: group.path.clone(),
            stats: match is_limited {
                true => machine.scheduler().inspect().group_stats(id).ok(),
                false => None,
            },
        })
        .collect()
}

/// Facts about each thread of a workload. `attrs`: attributes of all tasks, by number.
fn thread_infos(
    kernel: &Kernel,
    attrs: &[SchedAttr],
    renamed: Option<&RenamingFn>,
) -> Vec<TaskInfo> {
    let info = |thread: schedlab_workload::programs::ThreadInfo<'_>| {
        let (name, key) = match renamed {
            Some(renamed) => renamed(thread.key),
            None => (kernel.thread_name(thread.task), thread.key.into()),
        };
        TaskInfo {
            name,
            key,
            group: thread.group.into(),
            attr: attrs[thread.task.index()],
            loops_finished: thread.rounds,
            loop_rounds: thread.loop_rounds,
            periods: thread.periods,
            missed_periods: thread.missed_periods,
        }
    };
    kernel.threads().map(info).collect()
}

/// Facts about each program of a benchmark.
fn program_infos(kernel: &Kernel) -> Vec<TaskInfo> {
    let info = |number| {
        let task = TaskId(number as u32);
        TaskInfo {
            name: kernel.thread_name(task),
            key: kernel.name(task).into(),
            attr: kernel.attr(task).sched,
            ..TaskInfo::default()
        }
    };
    (0..kernel.task_count()).map(info).collect()
}

/// Requests of tasks that the kernel refused.
fn refusals_of_tasks(machine: &Simulated<'_>) -> Option<String> {
    let measures = machine.observer().measures.as_ref()?;
    refused::text(&measures.refusals, |task| machine.workload().thread_name(task))
}

/// Actions of the timetable that the machine refused.
fn refusals_of_timetable(outcome: &timetable::Outcome) -> Option<String> {
    if outcome.refused == 0 {
        return None;
    }
    let mut lines: Vec<String> = outcome.refusals.iter().map(ToString::to_string).collect();
    match outcome.refused - lines.len() as u64 {
        0 => {}
        more => lines.push(format!("and {more} more")),
    }
    Some(format!("some actions of the timetable were refused:\n  {}", lines.join("\n  ")))
}

/// Describes what the tasks of a stuck workload wait for, and which tasks are stopped or frozen.
fn waits_of_workload(machine: &Simulated<'_>) -> String {
    let is_held =
        |&task: &TaskId| matches!(machine.task_state(task), TaskState::Stopped | TaskState::Frozen);
    let held: Vec<String> = (0..machine.task_count() as u32)
        .map(TaskId)
        .filter(is_held)
        .map(|task| machine.workload().thread_name(task))
        .collect();
    let waits = machine.workload().wait_graph();
    if held.is_empty() {
        return waits.to_string();
    }
    let held = format!("no action continues these: {}", held.join(", "));
    if waits.waiting.is_empty() { held } else { format!("{held}; {waits}") }
}

/// Describes what the programs of a stuck benchmark wait for.
fn waits_of_benchmark(kernel: &Kernel, now_ns: u64) -> String {
    /// Maximum number of waiting programs that are listed.
    const MOST: usize = 5;
    let waiting = kernel.wait_graph().waiting;
    let lines: Vec<String> = waiting
        .iter()
        .take(MOST)
        .map(|waiting| format!("{} waits {}", waiting.thread, waiting.waits_for.brief()))
        .collect();
    let more = if waiting.len() > MOST { ", ..." } else { "" };
    format!(
        "at {:.6} s, no task can ever run again: {}{more}",
        now_ns as f64 / 1e9,
        lines.join(", ")
    )
}
