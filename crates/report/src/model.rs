//! A run as data: [`RunReport`], and several runs of one workload: [`Report`].
//!
//! This is what the JSON document holds (`docs/json-schema.md` tells every field) and what tables,
//! timelines and CSV are made from. Times are integers in ns. Floating-point numbers are ratios and
//! rates only, rounded to six decimals.

use schedlab_core::{GroupId, GroupStats, SchedAttr, TaskId, Tunable};
use schedlab_machine::costs::{Energy, Overhead, Overheads};
use schedlab_machine::{Counts, RunEnd};
use schedlab_measure::histogram::percentile_of_sorted;
use schedlab_measure::{Fairness, GroupUsage, Histogram, Moments, Slice, Span, Stats, TaskStats};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The document's name and version. The number changes when a reader of the old form would go
/// wrong; new fields alone do not change it.
pub const SCHEMA: &str = "schedlab-run/1";

/// One workload under one or more schedulers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: String,
    /// What was run.
    pub workload: WorkloadInfo,
    /// One entry a scheduler, in the order asked for.
    pub runs: Vec<RunReport>,
}

impl Report {
    /// The runs of `workload`.
    pub fn new(workload: WorkloadInfo, runs: Vec<RunReport>) -> Report {
        Report { schema: SCHEMA.into(), workload, runs }
    }
}

/// What was run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct WorkloadInfo {
    /// Its name, e.g. the file's.
    pub name: String,
    /// How long it was to run at most, ns.
    pub duration_ns: u64,
}

/// Under what it was run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SchedulerInfo {
    /// Name in the registry, e.g. `o_1`.
    pub name: String,
    /// Release, e.g. `2.6.22`.
    pub release: String,
    /// What it is called in full.
    pub title: String,
}

/// On what it was run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct MachineInfo {
    /// CPUs.
    pub cpus: u32,
    /// Ticks a second.
    pub hz: u32,
    /// What model of a machine, e.g. `idealised`.
    pub model: String,
}

/// One run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RunReport {
    /// Under what.
    pub scheduler: SchedulerInfo,
    /// On what.
    pub machine: MachineInfo,
    /// The scheduler's tunables as they stood.
    pub tunables: Vec<TunableValue>,
    /// The seed of what was random; none if nothing was.
    pub seed: Option<u64>,
    /// How it ended.
    pub end: End,
    /// The whole machine's figures.
    pub totals: Totals,
    /// What the kernel's time went into. None on an idealised machine, where it takes none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelFigures>,
    /// What was drawn. None if nothing is known of the machine's power.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<EnergyFigures>,
    /// How fair it was. None if that was not measured.
    pub fairness: Option<FairnessFigures>,
    /// From wakeup to running.
    pub wakeup_latency: Spread,
    /// The same in full: the buckets that hold anything, rising.
    pub wakeup_latency_histogram: Vec<BucketRow>,
    /// From a task's start to its first time on a CPU.
    pub start_latency: Spread,
    /// From wakeup to the next sleep or the end.
    pub burst_response: Spread,
    /// From start to end, of the tasks that ended.
    pub turnaround: Spread,
    /// CPU time, over all tasks that started.
    pub cpu_time: Spread,
    /// Each CPU's figures.
    pub cpus: Vec<CpuFigures>,
    /// The tasks' figures by key.
    pub keys: Vec<KeyFigures>,
    /// Each control group's figures, in the order in which they were made. Empty if there are none
    /// but the root.
    #[serde(default)]
    pub groups: Vec<GroupFigures>,
    /// Each task's figures, by number.
    pub tasks: Vec<TaskFigures>,
    /// Who ran where and when, by start, then CPU. None if that was not recorded.
    pub slices: Option<Vec<SliceRow>>,
    /// Who wanted to run when, by start, then task. None if that was not recorded.
    pub spans: Option<Vec<SpanRow>>,
}

/// Kernel time on a modelled machine. It is part of tasks' CPU time, or of idle time.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct KernelFigures {
    /// All of it, waiting for locks included and getting out of idle states left out, ns.
    pub kernel_ns: u64,
    /// What of it, getting out of idle states included, counts as CPU time of tasks, ns.
    pub with_task_ns: u64,
    /// The same for idle time, ns.
    pub idle_ns: u64,
    /// By kind, ns. What had been begun and not ended when the run did is here in full, so the sum
    /// may be a little larger.
    pub kinds: Vec<KindRow>,
    /// Inter-processor interrupts.
    pub interrupts: u64,
    /// Times that a lock was found held.
    pub contended: u64,
    /// All of it by CPU, ns.
    pub cpus_ns: Vec<u64>,
}

/// A kind of kernel time.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct KindRow {
    /// `spin`, `switch`, ...
    pub kind: String,
    /// How long, all CPUs together, ns.
    pub ns: u64,
}

impl KernelFigures {
    /// Time of a kind, ns.
    pub fn ns(&self, kind: Overhead) -> u64 {
        self.kinds.iter().find(|row| row.kind == kind.name()).map_or(0, |row| row.ns)
    }
}

impl From<&Overheads> for KernelFigures {
    fn from(overheads: &Overheads) -> KernelFigures {
        let row = |kind: Overhead| KindRow { kind: kind.name().into(), ns: overheads.ns(kind) };
        KernelFigures {
            kernel_ns: overheads.kernel_ns(),
            with_task_ns: overheads.cpus.iter().map(|cpu| cpu.with_task_ns).sum(),
            idle_ns: overheads.cpus.iter().map(|cpu| cpu.idle_ns).sum(),
            kinds: Overhead::ALL.into_iter().map(row).collect(),
            interrupts: overheads.interrupts,
            contended: overheads.contended,
            cpus_ns: overheads.cpus.iter().map(|cpu| cpu.kernel_ns()).collect(),
        }
    }
}

/// What a modelled machine has drawn.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct EnergyFigures {
    /// Energy, J.
    pub joules: f64,
    /// Mean power, W.
    pub mean_watts: f64,
    /// CPUs' idle states, the lightest first: how long, all CPUs together.
    pub idle: Vec<IdleRow>,
    /// How often idle CPUs woke up.
    pub wakeups: u64,
}

/// An idle state.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct IdleRow {
    /// `C6`.
    pub state: String,
    /// How long, all CPUs together, ns.
    pub ns: u64,
}

impl From<&Energy> for EnergyFigures {
    fn from(energy: &Energy) -> EnergyFigures {
        let row = |(state, ns): &(String, u64)| IdleRow { state: state.clone(), ns: *ns };
        EnergyFigures {
            joules: ratio(energy.joules),
            mean_watts: ratio(energy.mean_watts),
            idle: energy.idle_ns.iter().map(row).collect(),
            wakeups: energy.wakeups,
        }
    }
}

/// A tunable and its value.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TunableValue {
    /// The kernel's name.
    pub name: String,
    /// Its value.
    pub value: i64,
}

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct End {
    /// Why.
    pub state: EndState,
    /// When, ns; also how long it took, as it began at 0.
    pub at_ns: u64,
}

/// Why a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndState {
    /// The time was up.
    TimeUp,
    /// Every task had ended.
    AllEnded,
    /// All tasks left slept, and nobody would ever wake them.
    Stuck,
}

impl From<RunEnd> for EndState {
    fn from(end: RunEnd) -> EndState {
        match end {
            RunEnd::TimeUp => EndState::TimeUp,
            RunEnd::AllEnded => EndState::AllEnded,
            RunEnd::Stuck => EndState::Stuck,
        }
    }
}

/// The whole machine's figures.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Totals {
    /// Time that CPUs ran tasks, ns.
    pub busy_ns: u64,
    /// Time that CPUs idled, ns. Busy and idle come to CPUs x length of the run.
    pub idle_ns: u64,
    /// Busy as a part of all; none for a run of no length.
    pub cpu_use: Option<f64>,
    /// Tasks that came into being.
    pub tasks_started: u64,
    /// Tasks that ended.
    pub tasks_ended: u64,
    /// Loops that tasks finished.
    pub loops_finished: u64,
    /// Pieces of work done: of each task the loops it finished, or 1 if it has none and ended.
    pub jobs: u64,
    /// Jobs a second; none for a run of no length.
    pub throughput_per_s: Option<f64>,
    /// Time that tasks were runnable without a CPU, ns.
    pub wait_ns: u64,
    /// The same a task that started, ns.
    pub wait_mean_ns: Option<u64>,
    /// The longest single wait, ns; one that had not ended with the run counts as far as it got.
    pub wait_max_ns: u64,
    /// Tasks that were waiting when the run ended. Their last wakeup is in no latency figure.
    pub waiting_at_end: u64,
    /// Wakeups, starts left out.
    pub wakeups: u64,
    /// Context switches, those to and from idle included.
    pub switches: u64,
    /// Times a task left its CPU because it blocked or ended.
    pub switches_voluntary: u64,
    /// Times a task left its CPU although it was runnable (preempted, or it yielded).
    pub switches_involuntary: u64,
    /// Moves of tasks between runqueues.
    pub migrations_queue: u64,
    /// Times a task got another CPU than it had had last.
    pub migrations_cpu: u64,
    /// Ticks of all CPUs.
    pub ticks: u64,
}

/// How fair a run was (`schedlab_measure::fairness` defines it).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FairnessFigures {
    /// Jain's index over CPU time / ideal fluid share.
    pub jain_by_share: Option<f64>,
    /// Jain's index over CPU time / weight.
    pub jain_by_weight: Option<f64>,
    /// The largest |lag| of any task at any time, ns.
    pub lag_max_ns: u64,
    /// The most that a task was owed at any time, ns.
    pub owed_max_ns: u64,
    /// Who that was.
    pub owed_max_task: Option<u32>,
    /// The most that a task was ahead at any time, ns.
    pub ahead_max_ns: u64,
    /// Who that was.
    pub ahead_max_task: Option<u32>,
    /// The most that a task was owed at the end, ns.
    pub owed_end_ns: u64,
    /// Who that was.
    pub owed_end_task: Option<u32>,
}

/// How some durations are spread. Everything but the count and the sum is none if there are none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Spread {
    /// How many.
    pub count: u64,
    /// Their sum, ns.
    pub sum_ns: u64,
    /// The smallest, ns.
    pub min_ns: Option<u64>,
    /// The mean, ns, rounded down.
    pub mean_ns: Option<u64>,
    /// Nearest-rank percentiles, ns.
    pub p50_ns: Option<u64>,
    /// 90th.
    pub p90_ns: Option<u64>,
    /// 95th.
    pub p95_ns: Option<u64>,
    /// 99th.
    pub p99_ns: Option<u64>,
    /// 99.9th.
    pub p999_ns: Option<u64>,
    /// The largest, ns.
    pub max_ns: Option<u64>,
    /// Standard deviation as of the whole population (divisor n), ns, rounded.
    pub sd_population_ns: Option<u64>,
    /// Standard deviation as of a sample (divisor n - 1), ns, rounded; none for fewer than two.
    pub sd_sample_ns: Option<u64>,
}

/// A CPU's figures.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CpuFigures {
    /// Its number.
    pub cpu: u32,
    /// Time it ran tasks, ns.
    pub busy_ns: u64,
    /// Time it idled, ns.
    pub idle_ns: u64,
    /// Context switches, those to and from idle included.
    pub switches: u64,
    /// Ticks.
    pub ticks: u64,
}

/// The figures of tasks of one key together.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct KeyFigures {
    /// The key.
    pub key: String,
    /// How many tasks.
    pub tasks: u64,
    /// CPU time, ns.
    pub cpu_ns: u64,
    /// Time runnable without a CPU, ns.
    pub wait_ns: u64,
    /// The longest single wait, ns.
    pub wait_max_ns: u64,
    /// Pieces of work done.
    pub jobs: u64,
    /// Wakeup latencies; percentiles are none for keys without a histogram of their own.
    pub wakeup_latency: Spread,
}

/// A control group's figures, of all that was in it or below it: what `cpuacct` and `cpu.stat` of
/// the group would show.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct GroupFigures {
    /// Its path.
    pub path: String,
    /// CPU time of all tasks in it, ns (`cpuacct.usage`; `usage_usec` of `cpu.stat`).
    pub usage_ns: u64,
    /// The same on each CPU (`cpuacct.usage_percpu`).
    pub usage_percpu_ns: Vec<u64>,
    /// Its CPU time as a part of what all CPUs had to give; none for a run of no length.
    pub machine_share: Option<f64>,
    /// Its quota's figures; none if the scheduler has no quotas.
    pub throttling: Option<ThrottleFigures>,
}

/// What a group's quota did to it (`cpu.stat`).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ThrottleFigures {
    /// Periods that have ended.
    pub nr_periods: u64,
    /// Those of them in which it was throttled.
    pub nr_throttled: u64,
    /// How long its CPUs' queues were throttled, summed over CPUs, ns (`throttled_usec`, version
    /// 1's `throttled_time`).
    pub throttled_ns: u64,
    /// Periods in which it used more than its quota, from what it had saved.
    pub nr_bursts: u64,
    /// How much more, ns (`burst_usec`).
    pub burst_ns: u64,
}

impl From<&GroupStats> for ThrottleFigures {
    fn from(stats: &GroupStats) -> ThrottleFigures {
        ThrottleFigures {
            nr_periods: stats.nr_periods,
            nr_throttled: stats.nr_throttled,
            throttled_ns: stats.throttled_ns,
            nr_bursts: stats.nr_bursts,
            burst_ns: stats.burst_ns,
        }
    }
}

/// A task's figures.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TaskFigures {
    /// Its number, also its place in the list.
    pub task: u32,
    /// Its name.
    pub name: String,
    /// What it is an instance of.
    pub key: String,
    /// Its group as a path; empty = the root.
    pub group: String,
    /// Its policy at birth, e.g. `SCHED_OTHER`.
    pub policy: String,
    /// Its nice value at birth.
    pub nice: i32,
    /// Its real-time priority at birth; 0 for other policies.
    pub rt_priority: u32,
    /// When it came into being, ns. None: never.
    pub start_ns: Option<u64>,
    /// When it first had a CPU, ns.
    pub first_run_ns: Option<u64>,
    /// When it ended, ns.
    pub end_ns: Option<u64>,
    /// End - start, ns. Waiting, CPU and blocked time come to it.
    pub turnaround_ns: Option<u64>,
    /// Time on a CPU, ns.
    pub cpu_ns: u64,
    /// Time runnable without a CPU, ns.
    pub wait_ns: u64,
    /// The longest single wait, ns.
    pub wait_max_ns: u64,
    /// How long it had been waiting when the run ended, ns; 0 = it was not.
    pub wait_open_ns: u64,
    /// Time asleep or stopped, ns.
    pub blocked_ns: u64,
    /// Loops finished.
    pub loops: u64,
    /// Pieces of work done.
    pub jobs: u64,
    /// Times it was woken.
    pub wakeups: u64,
    /// Wakeups whose latency is known.
    pub latency_count: u64,
    /// Mean wakeup latency, ns.
    pub latency_mean_ns: Option<u64>,
    /// Largest wakeup latency, ns.
    pub latency_max_ns: Option<u64>,
    /// Times it was given a CPU.
    pub switches_in: u64,
    /// Times it left its CPU because it blocked or ended.
    pub switches_voluntary: u64,
    /// Times it left its CPU although it was runnable.
    pub switches_involuntary: u64,
    /// Moves between runqueues.
    pub migrations_queue: u64,
    /// Times it got another CPU than it had had last.
    pub migrations_cpu: u64,
    /// What the ideal fluid machine would have given it, ns. This and what follows: none for a task
    /// that stands outside it (a real-time or deadline task), or if fairness was not measured.
    pub share_ns: Option<u64>,
    /// The most that it was owed at any time, ns.
    pub owed_max_ns: Option<u64>,
    /// The most that it was ahead at any time, ns.
    pub ahead_max_ns: Option<u64>,
    /// Its lag at the end, ns; positive = owed.
    pub lag_end_ns: Option<i64>,
}

/// A slice: CPU, from (ns), to (ns), task number. An array of four in JSON.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SliceRow(pub u32, pub u64, pub u64, pub u32);

/// A span: from (ns), to (ns), task number. An array of three in JSON.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SpanRow(pub u64, pub u64, pub u32);

/// A bucket of a histogram: smallest and largest value that belong there (ns), and how many were
/// noted. An array of three in JSON.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BucketRow(pub u64, pub u64, pub u64);

impl From<(u64, u64, u64)> for BucketRow {
    fn from((least_ns, most_ns, count): (u64, u64, u64)) -> BucketRow {
        BucketRow(least_ns, most_ns, count)
    }
}

/// What the workload knows of a task.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TaskInfo {
    /// Its name, e.g. `A-0`.
    pub name: String,
    /// What it is an instance of, e.g. `A`.
    pub key: String,
    /// Its group as a path; empty = the root.
    pub group: String,
    /// What it was born with.
    pub attr: SchedAttr,
    /// Loops of its program that it has finished.
    pub loops_finished: u64,
}

/// What is known of a control group; the first has number 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupInfo {
    /// Its path.
    pub path: String,
    /// What the scheduler says of its quota; none if it has no quotas.
    pub stats: Option<GroupStats>,
}

/// Numbers the tasks' keys in the order in which they first appear: what [`Stats::new`] wants.
pub fn key_numbers<'a>(keys: impl Iterator<Item = &'a str>) -> Vec<u32> {
    let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
    keys.map(|key| {
        let next = numbers.len() as u32;
        *numbers.entry(key).or_insert(next)
    })
    .collect()
}

/// What a [`RunReport`] is made from.
#[derive(Debug)]
pub struct RunInputs<'a> {
    /// Under what.
    pub scheduler: SchedulerInfo,
    /// On what.
    pub machine: MachineInfo,
    /// The scheduler's tunables.
    pub tunables: &'a [Tunable],
    /// The seed of what was random.
    pub seed: Option<u64>,
    /// How the run ended.
    pub end: RunEnd,
    /// What the machine counted.
    pub counts: Counts,
    /// All tasks, by number. Those beyond the end are given names.
    pub tasks: &'a [TaskInfo],
    /// All groups but the root, by number, from 1 on.
    pub groups: &'a [GroupInfo],
    /// The observer of their CPU time, after the run is finished.
    pub group_usage: Option<&'a GroupUsage>,
    /// The observer, after the run is finished.
    pub stats: &'a Stats,
    /// The observer, after the run is finished, if it was there.
    pub fairness: Option<&'a Fairness>,
    /// What was recorded, if it was.
    pub slices: Option<Vec<Slice>>,
    /// What was recorded, if it was.
    pub spans: Option<Vec<Span>>,
}

impl RunReport {
    /// Puts a run's report together.
    pub fn new(inputs: RunInputs<'_>) -> RunReport {
        let RunInputs { stats, fairness, .. } = inputs;
        let tasks = task_figures(inputs.tasks, stats, fairness);
        let started = || tasks.iter().filter(|task| task.start_ns.is_some());
        RunReport {
            scheduler: inputs.scheduler,
            machine: inputs.machine,
            tunables: inputs.tunables.iter().map(TunableValue::from).collect(),
            seed: inputs.seed,
            end: End { state: inputs.end.into(), at_ns: stats.end_ns() },
            totals: totals(&tasks, stats, inputs.counts),
            kernel: None,
            energy: None,
            fairness: fairness.map(FairnessFigures::from),
            wakeup_latency: stats.latency().into(),
            wakeup_latency_histogram: stats.latency().filled().map(BucketRow::from).collect(),
            start_latency: stats.start_latency().into(),
            burst_response: stats.burst().into(),
            turnaround: tasks.iter().filter_map(|task| task.turnaround_ns).collect(),
            cpu_time: started().map(|task| task.cpu_ns).collect(),
            cpus: cpu_figures(stats),
            keys: key_figures(&tasks, stats),
            groups: group_figures(inputs.groups, inputs.group_usage, stats),
            tasks,
            slices: inputs.slices.map(|slices| slices.iter().map(SliceRow::from).collect()),
            spans: inputs.spans.map(|spans| spans.iter().map(SpanRow::from).collect()),
        }
    }

    /// What users call the scheduler, e.g. `cfs@2.6.24`.
    pub fn spec(&self) -> String {
        format!("{}@{}", self.scheduler.name, self.scheduler.release)
    }
}

fn task_figures(
    infos: &[TaskInfo],
    stats: &Stats,
    fairness: Option<&Fairness>,
) -> Vec<TaskFigures> {
    let never = TaskStats::default();
    (0..stats.task_count().max(infos.len()))
        .map(|number| {
            let did = stats.task(TaskId(number as u32)).unwrap_or(&never);
            let info = infos.get(number).cloned().unwrap_or_else(|| TaskInfo {
                name: format!("task-{number}"),
                key: "task".into(),
                group: String::new(),
                attr: SchedAttr::default(),
                loops_finished: 0,
            });
            let fared = fairness.and_then(|fairness| fairness.task(TaskId(number as u32)));
            TaskFigures {
                task: number as u32,
                name: info.name,
                key: info.key,
                group: info.group,
                policy: info.attr.policy.name().into(),
                nice: info.attr.nice,
                rt_priority: info.attr.rt_priority,
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
                jobs: info.loops_finished.max(u64::from(did.end_ns.is_some())),
                wakeups: did.wakeups,
                latency_count: did.latencies,
                latency_mean_ns: did.latency_sum_ns.checked_div(did.latencies),
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
            throttling: group.stats.as_ref().map(ThrottleFigures::from),
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
        // What was counted under the key while the run went on, unless tasks that were forked since
        // have keys of their own.
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

impl From<&Tunable> for TunableValue {
    fn from(tunable: &Tunable) -> TunableValue {
        TunableValue { name: tunable.name.into(), value: tunable.value }
    }
}

impl From<&Fairness> for FairnessFigures {
    fn from(fairness: &Fairness) -> FairnessFigures {
        let report = fairness.report();
        let ns = |most: Option<(u64, TaskId)>| most.map_or(0, |(ns, _)| ns);
        let task = |most: Option<(u64, TaskId)>| most.map(|(_, task)| task.0);
        FairnessFigures {
            jain_by_share: report.jain_by_share.map(ratio),
            jain_by_weight: report.jain_by_weight.map(ratio),
            lag_max_ns: report.lag_max_ns,
            owed_max_ns: ns(report.owed_max),
            owed_max_task: task(report.owed_max),
            ahead_max_ns: ns(report.ahead_max),
            ahead_max_task: task(report.ahead_max),
            owed_end_ns: ns(report.owed_end),
            owed_end_task: task(report.owed_end),
        }
    }
}

impl From<&Slice> for SliceRow {
    fn from(slice: &Slice) -> SliceRow {
        SliceRow(slice.cpu.0, slice.start_ns, slice.end_ns, slice.task.0)
    }
}

impl From<&Span> for SpanRow {
    fn from(span: &Span) -> SpanRow {
        SpanRow(span.start_ns, span.end_ns, span.task.0)
    }
}

impl From<&Moments> for Spread {
    fn from(moments: &Moments) -> Spread {
        let some = moments.count > 0;
        let sd = |variance: Option<f64>| variance.map(|variance| variance.sqrt().round() as u64);
        Spread {
            count: moments.count,
            sum_ns: moments.sum.min(u128::from(u64::MAX)) as u64,
            min_ns: some.then_some(moments.min),
            mean_ns: moments.mean(),
            max_ns: some.then_some(moments.max),
            sd_population_ns: sd(moments.population_variance()),
            sd_sample_ns: sd(moments.sample_variance()),
            ..Spread::default()
        }
    }
}

impl From<&Histogram> for Spread {
    fn from(histogram: &Histogram) -> Spread {
        Spread::from(histogram.moments())
            .with(|numerator, denominator| histogram.percentile(numerator, denominator))
    }
}

impl FromIterator<u64> for Spread {
    fn from_iter<I: IntoIterator<Item = u64>>(values: I) -> Spread {
        let mut sorted: Vec<u64> = values.into_iter().collect();
        sorted.sort_unstable();
        let moments: Moments = sorted.iter().copied().collect();
        Spread::from(&moments)
            .with(|numerator, denominator| percentile_of_sorted(&sorted, numerator, denominator))
    }
}

impl Spread {
    fn with(self, percentile: impl Fn(u64, u64) -> Option<u64>) -> Spread {
        Spread {
            p50_ns: percentile(50, 100),
            p90_ns: percentile(90, 100),
            p95_ns: percentile(95, 100),
            p99_ns: percentile(99, 100),
            p999_ns: percentile(999, 1000),
            ..self
        }
    }
}

/// Rounded to six decimals, so that the last bits of a division are in no document.
fn ratio(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A run of so many CPUs and so long, in which nothing happened to these tasks; the key is the
    /// name up to the dash.
    pub fn empty_run(cpus: u32, end_ns: u64, names: &[&str]) -> RunReport {
        let mut stats = Stats::new(cpus, &[]);
        schedlab_core::Observer::on(&mut stats, end_ns, schedlab_core::Event::Finished);
        let info = |name: &&str| TaskInfo {
            name: name.to_string(),
            key: name.split('-').next().unwrap_or_default().into(),
            group: String::new(),
            attr: SchedAttr::default(),
            loops_finished: 0,
        };
        RunReport::new(RunInputs {
            scheduler: SchedulerInfo {
                name: "some".into(),
                release: "1".into(),
                title: "Some scheduler".into(),
            },
            machine: MachineInfo { cpus, hz: 100, model: "idealised".into() },
            tunables: &[],
            seed: None,
            end: RunEnd::TimeUp,
            counts: Counts::default(),
            tasks: &names.iter().map(info).collect::<Vec<_>>(),
            groups: &[],
            group_usage: None,
            stats: &stats,
            fairness: None,
            slices: None,
            spans: None,
        })
    }

    #[test]
    fn keys_are_numbered_as_they_come() {
        assert_eq!(key_numbers(["b", "a", "b", "c", "a"].into_iter()), [0, 1, 0, 2, 1]);
    }

    #[test]
    fn a_spread_by_hand() {
        let spread: Spread = [40, 15, 50, 20, 35].into_iter().collect();
        assert_eq!((spread.count, spread.sum_ns, spread.mean_ns), (5, 160, Some(32)));
        assert_eq!((spread.min_ns, spread.p50_ns, spread.p90_ns), (Some(15), Some(35), Some(50)));
        // Squared deviations: 289 + 144 + 9 + 64 + 324 = 830.
        assert_eq!(spread.sd_population_ns, Some(13)); // sqrt 166 = 12.88
        assert_eq!(spread.sd_sample_ns, Some(14)); // sqrt 207.5 = 14.40
        let none: Spread = [].into_iter().collect();
        assert_eq!(none, Spread::default());
    }
}
