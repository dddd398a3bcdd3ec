//! Makes the report of a run from the figures of its observers and the counts of its machine:
//! [`report_of`].
//!
//! The observers of `schedlab-measure` do not depend on reports, and the data of `schedlab-report`
//! does not depend on observers or machines. This file connects the two.

use schedlab_core::{GroupId, GroupStats, Request, SchedAttr, TaskId, Tunable};
use schedlab_machine::costs::{Energy, Overhead, Overheads};
use schedlab_machine::{Counts, RunEnd};
use schedlab_measure::stats::key_numbers;
use schedlab_measure::{Fairness, GroupUsage, Refusal, Refusals, Slice, Span, Stats, TaskStats};
use schedlab_report::data::{
    BucketRow, CpuFigures, End, EndState, EnergyFigures, FairnessFigures, GroupFigures,
    IdleExitFigures, IdleRow, KernelFigures, KeyFigures, KindRow, MachineInfo, RatioSpread,
    RefusalRow, RunReport, SchedulerInfo, SliceRow, SpanRow, Spread, TaskFigures, ThrottleFigures,
    Totals, TunableValue, ratio,
};

/// Facts about a task from the workload.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TaskInfo {
    /// Name, e.g. `A-0`.
    pub name: String,
    /// Key of which it is an instance, e.g. `A`.
    pub key: String,
    /// Path of its group. Empty: the root.
    pub group: String,
    /// Scheduling attributes in force.
    pub attr: SchedAttr,
    /// Number of completed loops of its program.
    pub loops_finished: u64,
    /// Number of completed rounds of its program's phases that have their own loops.
    pub loop_rounds: u64,
    /// Number of times that it reached a timer.
    pub periods: u64,
    /// Number of times that the timer had already expired.
    pub missed_periods: u64,
}

impl TaskInfo {
    /// Returns the number of completed jobs. `ended`: whether the task has ended.
    fn jobs(&self, ended: bool) -> u64 {
        let rounds = if self.loop_rounds > 0 { self.loop_rounds } else { self.loops_finished };
        rounds.max(u64::from(ended))
    }
}

/// Facts about a control group. The first has number 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupInfo {
    /// Path.
    pub path: String,
    /// The scheduler's figures of its quota. `None`: the scheduler has no quotas.
    pub stats: Option<GroupStats>,
}

/// Data from which a [`RunReport`] is made.
#[derive(Debug)]
pub struct RunInputs<'a> {
    /// The scheduler.
    pub scheduler: SchedulerInfo,
    /// The machine.
    pub machine: MachineInfo,
    /// The scheduler's tunables.
    pub tunables: &'a [Tunable],
    /// Seed of everything random.
    pub seed: Option<u64>,
    /// End of the run.
    pub end: RunEnd,
    /// Counts of the machine.
    pub counts: Counts,
    /// Time in the kernel, by cause. `None`: the machine is idealised.
    pub overheads: Option<Overheads>,
    /// Energy used. `None`: the power of the machine is unknown.
    pub energy: Option<Energy>,
    /// All tasks, by number. Tasks beyond the end of the list get generated names.
    pub tasks: &'a [TaskInfo],
    /// All groups except the root, by number, from 1.
    pub groups: &'a [GroupInfo],
    /// The observer of the groups' CPU time, after the run.
    pub group_usage: Option<&'a GroupUsage>,
    /// The observer of statistics, after the run.
    pub stats: &'a Stats,
    /// The observer of fairness, after the run, if there was one.
    pub fairness: Option<&'a Fairness>,
    /// Refused requests of tasks, if they were observed.
    pub refusals: Option<&'a Refusals>,
    /// Recorded slices, if there are any.
    pub slices: Option<Vec<Slice>>,
    /// Recorded spans, if there are any.
    pub spans: Option<Vec<Span>>,
}

impl<'a> RunInputs<'a> {
    /// Returns the data of a recorded schedule. It has the task on each CPU, but no tunables,
    /// ticks, costs and groups. `model`: name of the machine.
    pub fn of_recorded(
        scheduler: SchedulerInfo,
        (cpus, model): (u32, &str),
        counts: Counts,
        tasks: &'a [TaskInfo],
        stats: &'a Stats,
    ) -> RunInputs<'a> {
        RunInputs {
            scheduler,
            machine: MachineInfo { cpus, hz: 0, model: model.into() },
            tunables: &[],
            seed: None,
            end: RunEnd::TimeUp,
            counts,
            overheads: None,
            energy: None,
            tasks,
            groups: &[],
            group_usage: None,
            stats,
            fairness: None,
            refusals: None,
            slices: None,
            spans: None,
        }
    }
}

/// Makes the report of a run.
pub fn report_of(inputs: RunInputs<'_>) -> RunReport {
    let RunInputs { stats, fairness, .. } = inputs;
    let tasks = task_figures(inputs.tasks, stats, fairness, inputs.refusals);
    let idle_exit_of = stats.idle_exit_at(50, 100).map(|p50_ns| IdleExitFigures {
        p50_ns: Some(p50_ns),
        p99_ns: stats.idle_exit_at(99, 100),
        max_ns: stats.idle_exit_at(1, 1),
    });
    let started = || tasks.iter().filter(|task| task.start_ns.is_some());
    RunReport {
        scheduler: inputs.scheduler,
        machine: inputs.machine,
        tunables: inputs.tunables.iter().map(tunable_value).collect(),
        seed: inputs.seed,
        end: End { state: end_state(inputs.end), at_ns: stats.end_ns() },
        totals: totals(&tasks, stats, inputs.counts),
        kernel: inputs.overheads.as_ref().map(kernel_figures),
        energy: inputs.energy.as_ref().map(energy_figures),
        fairness: fairness.map(fairness_figures),
        refused: inputs.refusals.map_or(0, Refusals::count),
        refusals: inputs.refusals.map_or(&[][..], Refusals::kept).iter().map(refusal_row).collect(),
        wakeup_latency: stats.latency().into(),
        wakeup_latency_histogram: stats.latency().filled().map(BucketRow::from).collect(),
        idle_exit: idle_exit_of.is_some().then(|| stats.idle_exit().into()),
        idle_exit_of,
        start_latency: stats.start_latency().into(),
        burst_response: stats.burst().into(),
        slowdown: RatioSpread::of_excess(stats.slowdown()),
        burst_lag: fairness.map(|it| it.burst_lags().into()).unwrap_or_default(),
        turnaround: tasks.iter().filter_map(|task| task.turnaround_ns).collect(),
        cpu_time: started().map(|task| task.cpu_ns).collect(),
        cpus: cpu_figures(stats),
        keys: key_figures(&tasks, stats),
        groups: group_figures(inputs.groups, inputs.group_usage, stats),
        tasks,
        slices: inputs.slices.map(|slices| slices.into_iter().map(slice_row).collect()),
        spans: inputs.spans.map(|spans| spans.into_iter().map(span_row).collect()),
        repetitions: vec![],
        summary: vec![],
    }
}

fn task_figures(
    infos: &[TaskInfo],
    stats: &Stats,
    fairness: Option<&Fairness>,
    refusals: Option<&Refusals>,
) -> Vec<TaskFigures> {
    let never = TaskStats::default();
    (0..stats.task_count().max(infos.len()))
        .map(|number| {
            let did = stats.task(TaskId(number as u32)).unwrap_or(&never);
            let info = infos.get(number).cloned().unwrap_or_else(|| TaskInfo {
                name: format!("task-{number}"),
                key: "task".into(),
                ..TaskInfo::default()
            });
            let fared = fairness.and_then(|fairness| fairness.task(TaskId(number as u32)));
            TaskFigures {
                task: number as u32,
                jobs: info.jobs(did.end_ns.is_some()),
                name: info.name,
                key: info.key,
                group: info.group,
                policy: info.attr.policy.name().into(),
                nice: info.attr.nice,
                rt_priority: info.attr.rt_priority,
                refused: refusals.map_or(0, |seen| seen.of_task(TaskId(number as u32))),
                start_ns: did.start_ns,
                first_run_ns: did.first_run_ns,
                end_ns: did.end_ns,
                turnaround_ns: did.turnaround_ns(),
                cpu_ns: did.cpu_ns,
                wait_ns: did.wait_ns,
                wait_max_ns: did.wait_max_ns,
                wait_open_ns: did.wait_open_ns,
                blocked_ns: did.blocked_ns,
                loops: info.loops_finished,
                periods: info.periods,
                missed_periods: info.missed_periods,
                wakeups: did.wakeups,
                latency_count: did.latencies,
                latency_mean_ns: did.latency_sum_ns.checked_div(did.latencies),
                latency_p99_ns: stats
                    .task_latency(TaskId(number as u32))
                    .and_then(|latency| latency.percentile(99, 100)),
                latency_max_ns: (did.latencies > 0).then_some(did.latency_max_ns),
                switches_in: did.switches_in,
                switches_voluntary: did.voluntary,
                switches_involuntary: did.involuntary,
                migrations_queue: did.queue_migrations,
                migrations_cpu: did.cpu_migrations,
                share_ns: fared.map(|fared| fared.share_ns),
                owed_max_ns: fared.map(|fared| fared.owed_max_ns),
                ahead_max_ns: fared.map(|fared| fared.ahead_max_ns),
                lag_end_ns: fared.map(|fared| fared.lag_end_ns),
                burst_lag_max_ns: fared.map(|fared| fared.burst_lag_max_ns),
                due_ns: fared.and_then(|fared| fared.due_ns),
            }
        })
        .collect()
}

fn totals(tasks: &[TaskFigures], stats: &Stats, counts: Counts) -> Totals {
    let sum = |figure: fn(&TaskFigures) -> u64| tasks.iter().map(figure).sum::<u64>();
    let busy_ns = stats.cpus().iter().map(|cpu| cpu.busy_ns).sum::<u64>();
    let idle_ns = stats.cpus().iter().map(|cpu| cpu.idle_ns).sum::<u64>();
    let all_ns = busy_ns + idle_ns;
    let tasks_started = sum(|task| u64::from(task.start_ns.is_some()));
    let jobs = sum(|task| task.jobs);
    let wait_ns = sum(|task| task.wait_ns);
    let end_ns = stats.end_ns();
    Totals {
        busy_ns,
        idle_ns,
        cpu_use: (all_ns > 0).then(|| ratio(busy_ns as f64 / all_ns as f64)),
        tasks_started,
        tasks_ended: sum(|task| u64::from(task.end_ns.is_some())),
        loops_finished: sum(|task| task.loops),
        jobs,
        throughput_per_s: (end_ns > 0).then(|| ratio(jobs as f64 * 1e9 / end_ns as f64)),
        wait_ns,
        wait_mean_ns: wait_ns.checked_div(tasks_started),
        wait_max_ns: tasks.iter().map(|task| task.wait_max_ns).max().unwrap_or(0),
        periods: sum(|task| task.periods),
        missed_periods: sum(|task| task.missed_periods),
        waiting_at_end: sum(|task| u64::from(task.wait_open_ns > 0)),
        wakeups: sum(|task| task.wakeups),
        switches: counts.switches,
        switches_voluntary: sum(|task| task.switches_voluntary),
        switches_involuntary: sum(|task| task.switches_involuntary),
        migrations_queue: sum(|task| task.migrations_queue),
        migrations_cpu: sum(|task| task.migrations_cpu),
        ticks: counts.ticks,
    }
}

fn cpu_figures(stats: &Stats) -> Vec<CpuFigures> {
    let cpus = stats.cpus().iter().enumerate();
    cpus.map(|(cpu, did)| CpuFigures {
        cpu: cpu as u32,
        busy_ns: did.busy_ns,
        idle_ns: did.idle_ns,
        switches: did.switches,
        ticks: did.ticks,
    })
    .collect()
}

fn group_figures(
    groups: &[GroupInfo],
    usage: Option<&GroupUsage>,
    stats: &Stats,
) -> Vec<GroupFigures> {
    let Some(usage) = usage else { return Vec::new() };
    let capacity_ns = stats.cpus().iter().map(|cpu| cpu.busy_ns + cpu.idle_ns).sum::<u64>();
    let figures = |(group, number): (&GroupInfo, u32)| {
        let usage_percpu_ns = usage.usage_percpu_ns(GroupId(number));
        let usage_ns = usage_percpu_ns.iter().sum();
        GroupFigures {
            path: group.path.clone(),
            usage_ns,
            usage_percpu_ns,
            machine_share: (capacity_ns > 0).then(|| ratio(usage_ns as f64 / capacity_ns as f64)),
            throttling: group.stats.as_ref().map(throttle_figures),
        }
    };
    groups.iter().zip(1..).map(figures).collect()
}

fn key_figures(tasks: &[TaskFigures], stats: &Stats) -> Vec<KeyFigures> {
    let numbers = key_numbers(tasks.iter().map(|task| task.key.as_str()));
    let mut keys: Vec<KeyFigures> = Vec::new();
    for (task, number) in tasks.iter().zip(numbers) {
        if number as usize == keys.len() {
            keys.push(KeyFigures {
                key: task.key.clone(),
                tasks: 0,
                cpu_ns: 0,
                wait_ns: 0,
                wait_max_ns: 0,
                jobs: 0,
                wakeup_latency: Spread::default(),
            });
        }
        let key = &mut keys[number as usize];
        key.tasks += 1;
        key.cpu_ns += task.cpu_ns;
        key.wait_ns += task.wait_ns;
        key.wait_max_ns = key.wait_max_ns.max(task.wait_max_ns);
        key.jobs += task.jobs;
        let latency = &mut key.wakeup_latency;
        latency.count += task.latency_count;
        latency.max_ns = latency.max_ns.max(task.latency_max_ns);
    }
    for (number, key) in keys.iter_mut().enumerate() {
        // Counted under the key during the run, unless tasks that were forked since have their own
        // keys.
        match stats.keys().get(number) {
            Some(did) if did.latency.count == key.wakeup_latency.count => {
                key.wakeup_latency = match &did.histogram {
                    Some(histogram) => histogram.into(),
                    None => (&did.latency).into(),
                };
            }
            _ => {
                let of_key = tasks.iter().filter(|task| task.key == key.key);
                let sum_ns = of_key.map(|task| latency_sum_ns(stats, task)).sum();
                key.wakeup_latency.sum_ns = sum_ns;
                key.wakeup_latency.mean_ns = sum_ns.checked_div(key.wakeup_latency.count);
            }
        }
    }
    keys
}

fn latency_sum_ns(stats: &Stats, task: &TaskFigures) -> u64 {
    stats.task(TaskId(task.task)).map_or(0, |did| did.latency_sum_ns)
}

fn tunable_value(tunable: &Tunable) -> TunableValue {
    TunableValue { name: tunable.name.to_string(), value: tunable.value }
}

fn end_state(end: RunEnd) -> EndState {
    match end {
        RunEnd::TimeUp => EndState::TimeUp,
        RunEnd::AllEnded => EndState::AllEnded,
        RunEnd::Stuck => EndState::Stuck,
    }
}

fn kernel_figures(overheads: &Overheads) -> KernelFigures {
    let row = |kind: Overhead| KindRow { kind: kind.name().into(), ns: overheads.ns(kind) };
    KernelFigures {
        kernel_ns: overheads.kernel_ns(),
        with_task_ns: overheads.cpus.iter().map(|cpu| cpu.with_task_ns).sum(),
        idle_ns: overheads.cpus.iter().map(|cpu| cpu.idle_ns).sum(),
        kinds: Overhead::ALL.into_iter().map(row).collect(),
        interrupts: overheads.interrupts,
        contended: overheads.contended,
        cpus_ns: overheads.cpus.iter().map(|cpu| cpu.kernel_ns()).collect(),
        charged: overheads.charged.iter().map(|cost| cost.name().into()).collect(),
    }
}

fn energy_figures(energy: &Energy) -> EnergyFigures {
    let row = |(state, ns): &(String, u64)| IdleRow { state: state.clone(), ns: *ns };
    EnergyFigures {
        joules: ratio(energy.joules),
        mean_watts: ratio(energy.mean_watts),
        idle: energy.idle_ns.iter().map(row).collect(),
        wakeups: energy.wakeups,
    }
}

fn throttle_figures(stats: &GroupStats) -> ThrottleFigures {
    ThrottleFigures {
        nr_periods: stats.nr_periods,
        nr_throttled: stats.nr_throttled,
        throttled_ns: stats.throttled_ns,
        nr_bursts: stats.nr_bursts,
        burst_ns: stats.burst_ns,
        period_phase_ns: stats.period_phase_ns,
    }
}

fn fairness_figures(fairness: &Fairness) -> FairnessFigures {
    let report = fairness.report();
    let ns = |most: Option<(u64, TaskId)>| most.map_or(0, |(ns, _)| ns);
    let task = |most: Option<(u64, TaskId)>| most.map(|(_, task)| task.0);
    FairnessFigures {
        jain_by_share: report.jain_by_share.map(ratio),
        jain_by_weight: report.jain_by_weight.map(ratio),
        jain_backlogged: report.jain_backlogged.map(ratio),
        lag_max_ns: report.lag_max_ns,
        owed_max_ns: ns(report.owed_max),
        owed_max_task: task(report.owed_max),
        ahead_max_ns: ns(report.ahead_max),
        ahead_max_task: task(report.ahead_max),
        owed_end_ns: ns(report.owed_end),
        owed_end_task: task(report.owed_end),
    }
}

fn slice_row(slice: Slice) -> SliceRow {
    SliceRow(slice.cpu.0, slice.start_ns, slice.end_ns, slice.task.0)
}

fn refusal_row(refusal: &Refusal) -> RefusalRow {
    RefusalRow {
        at_ns: refusal.at_ns,
        task: refusal.task.0,
        asked: asked(refusal.request).into(),
        errno: refusal.errno.name().into(),
        policy: refusal.policy.name().into(),
    }
}

/// Returns the kind of a refused request, in a word.
pub(crate) fn asked(request: Request) -> &'static str {
    match request {
        Request::Policy(policy) => policy.name(),
        Request::Affinity => "affinity",
        Request::Group => "group",
        Request::Fork => "fork",
    }
}

fn span_row(span: Span) -> SpanRow {
    SpanRow(span.start_ns, span.end_ns, span.task.0)
}
