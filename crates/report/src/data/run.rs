//! A run as data: [`RunReport`], and several runs of one workload: [`Report`].

use super::{
    Baseline, BucketRow, CpuFigures, EnergyFigures, FairnessFigures, GroupFigures, KernelFigures,
    KeyFigures, RatioSpread, RepetitionRow, SliceRow, SpanRow, Spread, SummaryRow, TaskFigures,
    Totals,
};
use serde::{Deserialize, Serialize};
use std::fmt;

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
    /// One entry a column, in the order asked for.
    pub runs: Vec<RunReport>,
    /// How it differs from an earlier result, if it was compared with one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Baseline>,
}

impl Report {
    /// The runs of `workload`.
    pub fn new(workload: WorkloadInfo, runs: Vec<RunReport>) -> Report {
        Report { schema: SCHEMA.into(), workload, runs, baseline: None }
    }
}

/// What was run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct WorkloadInfo {
    /// Its name, e.g. the file's.
    pub name: String,
    /// How long it was to run at most, ns.
    pub duration_ns: u64,
    /// What was set for all schedulers alike: tunables of those that have them, nice values,
    /// weights and quotas.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<SettingRow>,
    /// Whether each task began up to a tick later, by the seed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub late_starts: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// Something that was set for a column, and to what.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SettingRow {
    /// The kernel's name of a tunable; `nice:KEY`, `shares:/GROUP`, `weight:/GROUP`,
    /// `quota:/GROUP`.
    pub name: String,
    /// To what.
    pub value: SettingValue,
}

/// What something was set to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SettingValue {
    /// A number.
    Number(i64),
    /// A quota: `20ms/100ms`, `max`.
    Text(String),
}

impl fmt::Display for SettingRow {
    /// As users write it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            SettingValue::Number(number) => write!(f, "{}={number}", self.name),
            SettingValue::Text(text) => write!(f, "{}={text}", self.name),
        }
    }
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
    /// What was set for it alone, by which it differs from others of its release.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<SettingRow>,
}

impl SchedulerInfo {
    /// Its release, and what was set for it alone: `6.18`, `6.18[DELAY_DEQUEUE=0]`.
    pub fn version(&self) -> String {
        let set = self.set.iter().map(SettingRow::to_string);
        match set.collect::<Vec<_>>().join(",") {
            none if none.is_empty() => self.release.clone(),
            set => format!("{}[{set}]", self.release),
        }
    }
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

/// A tunable and its value.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TunableValue {
    /// The kernel's name.
    pub name: String,
    /// Its value.
    pub value: i64,
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
    /// How many times a task was refused what was asked for it.
    #[serde(default)]
    pub refused: u64,
    /// The first of these refusals, at most 100.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refusals: Vec<RefusalRow>,
    /// From wakeup to running.
    pub wakeup_latency: Spread,
    /// The same in full: the buckets that hold anything, rising.
    pub wakeup_latency_histogram: Vec<BucketRow>,
    /// What of each wakeup latency was getting out of an idle state. None if no CPU ever was in one
    /// that takes time to leave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_exit: Option<Spread>,
    /// The same of the latencies at some percentiles. None as above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_exit_of: Option<IdleExitFigures>,
    /// From a task's start to its first time on a CPU.
    pub start_latency: Spread,
    /// From wakeup to the next sleep or the end.
    pub burst_response: Spread,
    /// Length of a burst / CPU time in it.
    #[serde(default)]
    pub slowdown: RatioSpread,
    /// The largest |lag| of each burst. Without values if fairness was not measured.
    #[serde(default)]
    pub burst_lag: Spread,
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
    /// If it was repeated: all runs, this one first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repetitions: Vec<RepetitionRow>,
    /// If it was repeated: each figure over all runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub summary: Vec<SummaryRow>,
}

impl RunReport {
    /// The scheduler as users write it, e.g. `cfs@2.6.24`.
    pub fn spec(&self) -> String {
        format!("{}@{}", self.scheduler.name, self.scheduler.version())
    }
}

/// What of wakeup latencies was getting out of idle states: the mean over all that stand in one
/// bucket of the histogram with a percentile.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct IdleExitFigures {
    /// With the median, ns.
    pub p50_ns: Option<u64>,
    /// With the 99th percentile, ns.
    pub p99_ns: Option<u64>,
    /// With the largest, ns.
    pub max_ns: Option<u64>,
}

/// Something that a task was refused.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RefusalRow {
    /// When, ns.
    pub at_ns: u64,
    /// Who.
    pub task: u32,
    /// What was asked: a policy's name, `affinity`, `group` or `fork`.
    pub asked: String,
    /// The kernel's error number, e.g. `EBUSY`.
    pub errno: String,
    /// The policy that it goes on with.
    pub policy: String,
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
    /// It broke down. (Only of a benchmark; there are no figures then.)
    Failed,
}
