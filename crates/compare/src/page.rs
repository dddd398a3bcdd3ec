//! A comparison as a page for a browser: overlaid figures and latencies, and below them the task
//! that had each CPU, in the real kernel's trace and in a simulated run, on one time axis.

use super::document::key_of;
use super::judge::{ComparedFigure, Metric};
use super::places::Trace;
use super::{Comparison, PlacementComparison};
use schedlab_core::{BlockReason, CpuId, Event, Observer, TaskId, Waker};
use schedlab_lab::report_of::{RunInputs, TaskInfo, report_of};
use schedlab_machine::Counts;
use schedlab_measure::Stats;
use schedlab_measure::history::{History, Recorder};
use schedlab_report::data::{SchedulerInfo, WorkloadInfo};
use schedlab_report::html::compare as section;
use schedlab_report::html::{self, Page, Recording, TURNS_MOST};
use schedlab_report::{Report, RunReport};

/// Contents of the page of a comparison.
pub struct ComparePage {
    report: Report,
    histories: Vec<Option<History>>,
    names: Vec<String>,
    what: String,
    sections: Vec<html::Section>,
}

impl ComparePage {
    /// Creates the page of the only placement of a comparison. `None`: there are several.
    pub fn new(answer: &Comparison) -> Option<ComparePage> {
        let [placement] = &answer.placements[..] else { return None };
        let mut runs = vec![];
        let mut histories = vec![];
        let mut names = vec![];
        let sides = [
            ("real", format!("Linux {}", placement.kernel)),
            ("simulated", placement.scheduler.clone()),
        ];
        for (trace, (model, name)) in placement.traces.iter().zip(sides) {
            let Some(trace) = trace else { continue };
            let (run, history) = observed(trace, placement, model, &name);
            runs.push(run);
            histories.push(Some(history));
            names.push(name);
        }
        let workload = WorkloadInfo {
            name: placement.name.clone(),
            duration_ns: placement.duration_ns,
            set: vec![],
            late_starts: false,
        };
        Some(ComparePage {
            report: Report::new(workload, runs),
            histories,
            names,
            what: format!("measured on Linux {}, and simulated", placement.kernel),
            sections: section::sections(&answer_of(answer, placement)),
        })
    }

    /// Returns the page as HTML.
    pub fn html(&self) -> String {
        let seen: Vec<Option<Recording<'_>>> = self
            .histories
            .iter()
            .map(|it| it.as_ref().map(|history| Recording { history, rules: &[], explained: &[] }))
            .collect();
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        html::page(&Page {
            what: Some(&self.what),
            before: &self.sections,
            note: Some(
                "The recorded part of one real run, and one of the simulated runs. Where \
                 microseconds decide, the place of each task at a given time differs from run to run.",
            ),
            names: &names,
            ..Page::new(&self.report, &seen)
        })
    }

    /// Returns the runs as a report, for charts.
    pub fn report(&self) -> &Report {
        &self.report
    }
}

/// Returns a trace as observers of runs see it: its report and its history.
fn observed(
    trace: &Trace,
    placement: &PlacementComparison,
    model: &str,
    name: &str,
) -> (RunReport, History) {
    let cpus = placement.cpus;
    let recorder = Recorder::new(cpus, TURNS_MOST, None);
    let mut observer = (Stats::new(cpus, &[]), recorder);
    let counts = play(trace, cpus, &mut observer);
    let tasks: Vec<TaskInfo> = trace
        .names
        .iter()
        .map(|name| TaskInfo {
            name: name.clone(),
            key: key_of(name).into(),
            ..TaskInfo::default()
        })
        .collect();
    let (stats, recorder) = observer;
    let scheduler = SchedulerInfo {
        name: name.into(),
        release: placement.kernel.clone(),
        title: "task on each CPU".into(),
        set: vec![],
    };
    let run = report_of(RunInputs::of_recorded(scheduler, (cpus, model), counts, &tasks, &stats));
    (run, recorder.into_history())
}

/// Passes a trace to `observer` as events. A task that is not woken before its next interval was
/// preempted.
fn play<O: Observer>(trace: &Trace, cpus: u32, observer: &mut O) -> Counts {
    /// Order of events at the same time: tasks leave, wake, arrive.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    enum Step {
        Leaves { task: u32, cpu: u32, asleep: bool },
        Wakes { task: u32, cpu: u32 },
        Comes { task: u32, cpu: u32 },
    }
    let mut wakes: Vec<Vec<u64>> = vec![vec![]; trace.names.len()];
    for wakeup in &trace.wakeups {
        wakes[wakeup.task as usize].push(wakeup.at_ns);
    }
    let mut intervals: Vec<Vec<(u64, u64, u32)>> = vec![vec![]; trace.names.len()];
    // The last intervals of a run may extend beyond its end.
    for interval in &trace.intervals {
        let end_ns = interval.end_ns.min(trace.window_ns);
        if interval.start_ns < end_ns {
            intervals[interval.task as usize].push((interval.start_ns, end_ns, interval.cpu));
        }
    }
    let mut steps: Vec<(u64, Step)> = vec![];
    for (task, intervals) in intervals.iter().enumerate() {
        let id = task as u32;
        // Other programs have no wakeups: each of their intervals begins with one.
        let is_other = wakes[task].is_empty() && trace.names[task] == super::places::OTHER;
        for (number, &(start_ns, end_ns, cpu)) in intervals.iter().enumerate() {
            let next_ns = intervals.get(number + 1).map(|&(next_ns, ..)| next_ns);
            let from = wakes[task].partition_point(|&at_ns| at_ns < end_ns);
            let woken_ns = wakes[task].get(from).copied();
            let woken_ns =
                woken_ns.filter(|at_ns| next_ns.is_some_and(|next_ns| *at_ns <= next_ns));
            let asleep = is_other || woken_ns.is_some() || next_ns.is_none();
            steps.push((start_ns, Step::Comes { task: id, cpu }));
            steps.push((end_ns, Step::Leaves { task: id, cpu, asleep }));
            if let Some(next_ns) = next_ns.filter(|_| asleep) {
                let cpu = intervals[number + 1].2;
                let at_ns = woken_ns.unwrap_or(next_ns).max(end_ns);
                steps.push((at_ns, Step::Wakes { task: id, cpu }));
            }
        }
        if let Some(&(start_ns, _, cpu)) = intervals.first() {
            let at_ns = wakes[task].first().map_or(start_ns, |&at_ns| at_ns.min(start_ns));
            steps.push((at_ns, Step::Wakes { task: id, cpu }));
        }
    }
    steps.sort_unstable();
    let mut current: Vec<Option<TaskId>> = vec![None; cpus as usize];
    let mut born = vec![false; trace.names.len()];
    let mut runnable = vec![false; trace.names.len()];
    // A task that left sleeps or waits; a task that arrives at the same time replaces it.
    let mut counts = Counts::default();
    let mut at = 0;
    while at < steps.len() {
        let now_ns = steps[at].0;
        let mut left: Vec<(u32, TaskId, bool)> = vec![];
        while let Some(&(_, step)) = steps.get(at).filter(|(at_ns, _)| *at_ns == now_ns) {
            at += 1;
            match step {
                Step::Leaves { task, cpu, asleep } => {
                    let id = TaskId(task);
                    if current[cpu as usize] != Some(id) {
                        continue;
                    }
                    if asleep {
                        let reason = BlockReason::Interruptible;
                        observer.on(now_ns, Event::blocked(id, CpuId(cpu), reason));
                    }
                    runnable[task as usize] = !asleep;
                    left.push((cpu, id, !asleep));
                }
                Step::Wakes { task, cpu } => {
                    let id = TaskId(task);
                    if runnable[task as usize] {
                        continue;
                    }
                    runnable[task as usize] = true;
                    counts.wakeups += 1;
                    if std::mem::replace(&mut born[task as usize], true) {
                        let waker = Waker::Interrupt { cpu: CpuId(cpu) };
                        observer.on(now_ns, Event::woken(id, CpuId(cpu), waker));
                    } else {
                        observer.on(now_ns, Event::started(id, CpuId(cpu)));
                    }
                }
                Step::Comes { task, cpu } => {
                    let id = TaskId(task);
                    let gone = left.iter().position(|&(where_, ..)| where_ == cpu);
                    let (prev, prev_runnable) = match gone.map(|place| left.swap_remove(place)) {
                        Some((_, prev, prev_runnable)) => (Some(prev), prev_runnable),
                        None => (current[cpu as usize], true),
                    };
                    if prev != Some(id) {
                        counts.switches += 1;
                        let switched = Event::switched(CpuId(cpu), prev, prev_runnable, Some(id));
                        observer.on(now_ns, switched);
                    }
                    current[cpu as usize] = Some(id);
                }
            }
        }
        for (cpu, prev, prev_runnable) in left {
            counts.switches += 1;
            observer.on(now_ns, Event::switched(CpuId(cpu), Some(prev), prev_runnable, None));
            current[cpu as usize] = None;
        }
    }
    observer.on(trace.window_ns, Event::Finished);
    counts
}

fn answer_of(answer: &Comparison, placement: &PlacementComparison) -> section::KernelComparison {
    let [least, median, most] = placement.foreign.map(|share| share * 100.0);
    let mut facts = vec![
        format!(
            "Measured on Linux {} in {} runs of {:.3} s, and simulated in {} runs under {} on {}.",
            placement.kernel,
            placement.runs[0],
            placement.duration_ns as f64 / 1e9,
            placement.runs[1],
            placement.scheduler,
            placement.machine
        ),
        format!(
            "Other programs had {median:.2} % of the CPUs ({least:.2} to {most:.2}); simulated: {}.",
            placement.noise
        ),
    ];
    facts.extend(placement.notes.iter().map(|note| format!("{note}.")));
    let tasks = placement
        .tasks
        .iter()
        .map(|task| {
            let quantiles = |of: fn(&ComparedFigure) -> u64| {
                [Metric::P50, Metric::P95, Metric::P99].map(|metric| task.figure(metric).map(of))
            };
            let latencies = section::Latencies {
                real: quantiles(|one| one.real[1]),
                simulated: quantiles(|one| one.simulated[1]),
            };
            section::Task {
                name: task.name.clone(),
                rows: task.figures.iter().map(|one| row(one, placement.duration_ns)).collect(),
                latencies: latencies.real[0].is_some().then_some(latencies),
            }
        })
        .collect();
    let checks = answer
        .checks
        .iter()
        .map(|check| {
            [
                format!("{}, of {}", check.what, check.count),
                format!("{:.2}{}", check.found, check.unit),
                format!(
                    "{} {:.1}{}",
                    if check.at_least { "at least" } else { "at most" },
                    check.bound,
                    check.unit
                ),
                if check.holds { "holds".into() } else { "missed".into() },
            ]
        })
        .collect();
    section::KernelComparison { facts, tasks, checks }
}

fn row(one: &ComparedFigure, duration_ns: u64) -> section::Row {
    let percent = |ns: u64| ns as f64 / duration_ns.max(1) as f64 * 100.0;
    let shown = |value: u64| match one.metric {
        Metric::Cpu | Metric::Waiting | Metric::End => format!("{:.2} %", percent(value)),
        Metric::Switches | Metric::Voluntary | Metric::Involuntary => value.to_string(),
        Metric::P50 | Metric::P95 | Metric::P99 => format!("{:.1} us", value as f64 / 1e3),
    };
    let of = |[least, median, most]: [u64; 3]| {
        (shown(median), format!("{} – {}", shown(least), shown(most)))
    };
    section::Row {
        title: one.metric.title(),
        real: of(one.real),
        simulated: of(one.simulated),
        error: match one.metric {
            Metric::P50 | Metric::P95 | Metric::P99 => format!("× {:.2}", one.error),
            _ => format!("{:+.2} %", one.error),
        },
        verdict: one.verdict.title(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places::RunInterval;

    /// Time of the last event, ns.
    #[derive(Default)]
    struct LastEvent(u64);

    impl Observer for LastEvent {
        fn on(&mut self, now_ns: u64, _: Event) {
            assert!(now_ns >= self.0, "time does not decrease");
            self.0 = now_ns;
        }
    }

    #[test]
    fn what_reaches_beyond_the_end_is_cut_off() {
        let interval = |start_ns, end_ns| RunInterval { cpu: 0, start_ns, end_ns, task: 0 };
        let intervals = vec![interval(100, 200), interval(900, 1_100), interval(1_050, 1_200)];
        let trace =
            Trace { window_ns: 1_000, names: vec!["A-0".into()], intervals, ..Trace::default() };
        let mut last = LastEvent::default();
        play(&trace, 1, &mut last);
        assert_eq!(last.0, 1_000);
    }
}
