//! A run as data: [`RunReport`], and several runs of one workload: [`Report`].

use super::end::End;
use super::{
    Baseline, BucketRow, CpuFigures, EnergyFigures, FairnessFigures, GroupFigures, KernelFigures,
    KeyFigures, RatioSpread, RepetitionRow, SliceRow, SpanRow, Spread, SummaryRow, TaskFigures,
    Totals,
};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// Name and version of the document. The version changes when a reader of the old form would
/// misread the new one; new fields alone do not change it.
pub const SCHEMA: &str = "schedlab-run/1";

/// One workload under one or more schedulers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: String,
    /// Workload.
    pub workload: WorkloadInfo,
    /// One entry for each column, in the requested order.
    pub runs: Vec<RunReport>,
    /// Differences from an earlier result, if there was a comparison.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Baseline>,
}

impl Report {
    /// Returns a report of the runs of `workload`.
    pub fn new(workload: WorkloadInfo, runs: Vec<RunReport>) -> Report {
        Report { schema: SCHEMA.into(), workload, runs, baseline: None }
    }
}

/// Properties of the workload.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct WorkloadInfo {
    /// Name, e.g. that of the file.
    pub name: String,
    /// Requested maximum length of the run, ns.
    pub duration_ns: u64,
    /// Settings for all schedulers: tunables (where they exist), nice values, weights and quotas.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<SettingRow>,
    /// Whether each task began up to a tick later, depending on the seed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub late_starts: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// Setting of a column.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SettingRow {
    /// The kernel's name of a tunable; `nice:KEY`, `shares:/GROUP`, `weight:/GROUP`,
    /// `quota:/GROUP`.
    pub name: String,
    /// Value.
    pub value: SettingValue,
}

/// Value of a setting.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(untagged)]
pub enum SettingValue {
    /// Number.
    Number(i64),
    /// Quota: `20ms/100ms`, `max`.
    Text(String),
}

/// Derived code would first copy the value into a buffer of any type, which needs a second
/// deserialiser.
impl<'de> Deserialize<'de> for SettingValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SettingValue, D::Error> {
        struct ValueVisitor;

        impl Visitor<'_> for ValueVisitor {
            type Value = SettingValue;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number or a text")
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<SettingValue, E> {
                Ok(SettingValue::Number(number))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<SettingValue, E> {
                let too_large = || E::invalid_value(de::Unexpected::Unsigned(number), &self);
                i64::try_from(number).map(SettingValue::Number).map_err(|_| too_large())
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<SettingValue, E> {
                Ok(SettingValue::Text(text.into()))
            }
        }

        deserializer.deserialize_any(ValueVisitor)
    }
}

impl fmt::Display for SettingRow {
    /// Formats the value as users write it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            SettingValue::Number(number) => write!(f, "{}={number}", self.name),
            SettingValue::Text(text) => write!(f, "{}={text}", self.name),
        }
    }
}

/// Scheduler of a run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SchedulerInfo {
    /// Name in the registry, e.g. `o_1`.
    pub name: String,
    /// Release, e.g. `2.6.22`.
    pub release: String,
    /// Full name.
    pub title: String,
    /// Settings for this column alone, which distinguish it from others of its release.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<SettingRow>,
}

impl SchedulerInfo {
    /// Returns the release and the settings for this column alone: `6.18`, `6.18[DELAY_DEQUEUE=0]`.
    pub fn version(&self) -> String {
        let set = self.set.iter().map(SettingRow::to_string);
        match set.collect::<Vec<_>>().join(",") {
            none if none.is_empty() => self.release.clone(),
            set => format!("{}[{set}]", self.release),
        }
    }
}

/// Machine of a run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct MachineInfo {
    /// Number of CPUs.
    pub cpus: u32,
    /// Ticks per second.
    pub hz: u32,
    /// Model of the machine, e.g. `idealised`.
    pub model: String,
}

/// Tunable and its value.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TunableValue {
    /// The kernel's name.
    pub name: String,
    /// Value.
    pub value: i64,
}

/// One run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RunReport {
    /// Scheduler.
    pub scheduler: SchedulerInfo,
    /// Machine.
    pub machine: MachineInfo,
    /// Tunables of the scheduler and their values.
    pub tunables: Vec<TunableValue>,
    /// Random seed. `None`: nothing was random.
    pub seed: Option<u64>,
    /// End of the run.
    pub end: End,
    /// Figures of the whole machine.
    pub totals: Totals,
    /// Kernel time by kind. `None`: an idealised machine, where the kernel takes no time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelFigures>,
    /// Energy consumption. `None`: the machine's power is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<EnergyFigures>,
    /// Fairness. `None`: it was not measured.
    pub fairness: Option<FairnessFigures>,
    /// Number of requests of tasks that were refused.
    #[serde(default)]
    pub refused: u64,
    /// The first of these refusals, at most 100.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refusals: Vec<RefusalRow>,
    /// Latency from wakeup to running.
    pub wakeup_latency: Spread,
    /// Histogram of wakeup latencies: the buckets that are not empty, in ascending order.
    pub wakeup_latency_histogram: Vec<BucketRow>,
    /// Part of each wakeup latency that was spent leaving an idle state. `None`: no CPU ever was in
    /// a state that takes time to leave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_exit: Option<Spread>,
    /// The same part at some percentiles of the latency. `None` as above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_exit_of: Option<IdleExitFigures>,
    /// Latency from a task's start to its first time on a CPU.
    pub start_latency: Spread,
    /// Time from wakeup to the next sleep or the end.
    pub burst_response: Spread,
    /// Length of a burst / CPU time in it.
    #[serde(default)]
    pub slowdown: RatioSpread,
    /// Largest |lag| in each burst. Without values if fairness was not measured.
    #[serde(default)]
    pub burst_lag: Spread,
    /// Time from start to end, of the tasks that ended.
    pub turnaround: Spread,
    /// CPU time, over all tasks that started.
    pub cpu_time: Spread,
    /// Figures of each CPU.
    pub cpus: Vec<CpuFigures>,
    /// Figures of the tasks by key.
    pub keys: Vec<KeyFigures>,
    /// Figures of each control group, in the order of their creation. Empty if there is only the
    /// root.
    #[serde(default)]
    pub groups: Vec<GroupFigures>,
    /// Figures of each task, by number.
    pub tasks: Vec<TaskFigures>,
    /// Intervals in which tasks ran, by start, then CPU. `None`: not recorded.
    pub slices: Option<Vec<SliceRow>>,
    /// Intervals in which tasks were runnable, by start, then task. `None`: not recorded.
    pub spans: Option<Vec<SpanRow>>,
    /// All runs if the run was repeated, this one first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repetitions: Vec<RepetitionRow>,
    /// Each figure over all runs if the run was repeated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub summary: Vec<SummaryRow>,
}

impl RunReport {
    /// Returns the scheduler as users write it, e.g. `cfs@2.6.24`.
    pub fn spec(&self) -> String {
        format!("{}@{}", self.scheduler.name, self.scheduler.version())
    }
}

/// Part of wakeup latencies that was spent leaving idle states: the mean over all latencies in the
/// same bucket of the histogram as a percentile.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct IdleExitFigures {
    /// Part of latencies at the median, ns.
    pub p50_ns: Option<u64>,
    /// Part of latencies at the 99th percentile, ns.
    pub p99_ns: Option<u64>,
    /// Part of the largest latency, ns.
    pub max_ns: Option<u64>,
}

/// Request of a task that was refused.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RefusalRow {
    /// Time, ns.
    pub at_ns: u64,
    /// The task.
    pub task: u32,
    /// Request: the name of a policy, `affinity`, `group` or `fork`.
    pub asked: String,
    /// The kernel's error number, e.g. `EBUSY`.
    pub errno: String,
    /// Policy that the task keeps.
    pub policy: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_whole_numbers_or_texts() {
        let read = |text: &str| serde_json::from_str::<SettingValue>(text);
        for number in [0, -1, i64::MIN, i64::MAX] {
            assert_eq!(read(&number.to_string()).unwrap(), SettingValue::Number(number));
        }
        for text in ["max", "20ms/100ms", "a \"quoted\" \\ text", ""] {
            let json = serde_json::to_string(text).unwrap();
            assert_eq!(read(&json).unwrap(), SettingValue::Text(text.into()));
        }
        for wrong in ["1.0", "1e3", "9223372036854775808", "null", "true", "[1]", "{}"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
