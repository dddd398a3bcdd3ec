//! The form of a sweep's file, TOML or JSON: [`Form`]. `docs/sweeps.md` describes it.

use super::value::AxisValue;
use schedlab_lab::plan::{
    Benchmark, Load, MachineSource, MachineSpec, Plan, SetValues, Source, Timetable,
};
use schedlab_lab::scx;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Selection of the points to run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sample {
    /// Every combination of values.
    #[default]
    Grid,
    /// [`samples`](Form::samples) random points.
    Random,
    /// [`samples`](Form::samples) points, spread evenly on each axis (a Latin hypercube).
    Latin,
    /// Points of the Sobol sequence. The Python package computes them and passes them as `points`.
    Sobol,
}

/// Spacing of values on an axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Equal differences.
    Linear,
    /// Equal ratios.
    Log,
}

/// A file, by name or with its text.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a file's name, or {file = \"name\", text = \"...\"}")]
pub enum File {
    /// Name of the file.
    Named(String),
    /// Name and text.
    Text(Source),
}

/// A plan, by the name of its file or in full.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a plan's file name, or a plan (docs/plan.md)")]
pub enum PlanForm {
    /// Name of the file.
    Named(String),
    /// The plan.
    Plan(Box<Plan>),
}

/// An axis.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AxisForm {
    /// Name of the setting that varies.
    pub name: String,
    /// The values, ...
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<AxisValue>>,
    /// ... or the smallest ...
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<AxisValue>,
    /// ... and the largest value of a range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<AxisValue>,
    /// Number of values in the range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// Distance between neighbouring values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<f64>,
    /// Spacing of the values. `None`: equal differences.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<Scale>,
    /// Whether the range contains only whole numbers. `None`: it does if both ends are written as
    /// such.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub integer: Option<bool>,
}

/// Contents of the file.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Form {
    /// Title, one line.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// The load, as a plan. The fields below replace fields of the plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanForm>,
    /// The load: a workload ...
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload: Option<File>,
    /// ... or a benchmark.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub benchmark: Option<String>,
    /// Fixed parameters of the benchmark.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, AxisValue>,
    /// Schedulers. Each point runs under each of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedulers: Option<Vec<String>>,
    /// The machine: a preset, `flat-N` or a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// Number of CPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u32>,
    /// Ticks a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hz: Option<u32>,
    /// Time at which each run stops at the latest, s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<f64>,
    /// Fixed tunables, nice values, weights and quotas.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, AxisValue>,
    /// Files of groups.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<File>,
    /// Single settings of groups.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub group: Vec<String>,
    /// Actions on the machine during the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub at: Vec<String>,
    /// First seed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Number of seeds with which each point runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat: Option<u64>,
    /// Metrics reported for each run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<String>,
    /// Selection of the points to run.
    #[serde(skip_serializing_if = "is_grid")]
    pub sample: Sample,
    /// Number of points, unless all of them run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<u64>,
    /// Seed of the sample. `None`: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample_seed: Option<u64>,
    /// Approximate number of runs that are written together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part_runs: Option<u64>,
    /// Axes. The values of the first axis change last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub axis: Vec<AxisForm>,
    /// The points themselves: a value for each axis.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub points: Option<Vec<Vec<AxisValue>>>,
    /// Machines from files, by the names that the sweep uses.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub machines: BTreeMap<String, MachineSource>,
}

fn is_grid(sample: &Sample) -> bool {
    *sample == Sample::Grid
}

/// Formats the place of byte `at` in a text, as `NAME:LINE:COLUMN`.
pub(super) fn place(name: &str, text: &str, at: usize) -> String {
    let before = &text[..text.floor_char_boundary_at(at)];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    format!("{name}:{line}:{column}")
}

/// Converts a TOML file to JSON. A JSON file is returned as it is.
///
/// # Errors
/// The text is not TOML, or contains values that JSON cannot express: `nan` and `inf`.
pub fn toml_json(name: &str, text: &str) -> Result<String, String> {
    let text = text.trim_start_matches('\u{feff}');
    if text.trim_start().starts_with('{') {
        return Ok(text.into());
    }
    let wrong = |error: toml::de::Error| {
        let at = error.span().map_or(0, |span| span.start);
        format!("{}: {}", place(name, text, at), error.message())
    };
    let spanned = DeTable::parse(text).map_err(wrong)?;
    if let Some(span) = spanned.get_ref().values().find_map(not_finite) {
        let at = place(name, text, span.start);
        return Err(format!("{at}: {} is not a usable number", &text[span]));
    }
    let table: toml::Table = toml::from_str(text).map_err(wrong)?;
    serde_json::to_string(&table).map_err(|error| format!("{name}: {error}"))
}

/// Finds the first `nan` or `inf`.
fn not_finite(value: &Spanned<DeValue<'_>>) -> Option<Range<usize>> {
    match value.get_ref() {
        DeValue::Float(number) => {
            let is_word = number.as_str().trim_start_matches(['+', '-']).starts_with(['n', 'i']);
            is_word.then(|| value.span())
        }
        DeValue::Array(values) => values.iter().find_map(not_finite),
        DeValue::Table(table) => table.values().find_map(not_finite),
        _ => None,
    }
}

/// Substitute for a method that is not stable in the standard library yet.
trait FloorCharBoundary {
    fn floor_char_boundary_at(&self, at: usize) -> usize;
}

impl FloorCharBoundary for str {
    fn floor_char_boundary_at(&self, at: usize) -> usize {
        (0..=at.min(self.len())).rev().find(|&at| self.is_char_boundary(at)).unwrap_or(0)
    }
}

impl Form {
    /// Resolves the files of sched_ext policies (`scx:FILE`) that are next to `file`, relative to
    /// the current directory.
    pub fn beside(mut self, file: &str) -> Form {
        if let Some(schedulers) = &mut self.schedulers {
            *schedulers = scx::beside(schedulers, file);
        }
        for axis in self.axis.iter_mut().filter(|axis| axis.name == "scheduler") {
            for value in axis.values.iter_mut().flatten() {
                if let AxisValue::Text(text) = value {
                    *text = scx::beside(std::slice::from_ref(text), file).join(",");
                }
            }
        }
        self
    }

    /// Parses a file: JSON if it begins with `{`, else TOML.
    ///
    /// # Errors
    /// The file is malformed. The message names the place.
    pub fn parse(name: &str, text: &str) -> Result<Form, String> {
        let text = text.trim_start_matches('\u{feff}');
        if text.trim_start().starts_with('{') {
            return serde_json::from_str(text).map_err(|error| {
                let whole = error.to_string();
                let message =
                    whole.rsplit_once(" at line ").map_or(&*whole, |(message, _)| message);
                let (line, column) = (error.line(), error.column());
                format!("{name}:{line}:{column}: {message}; docs/sweeps.md describes the form")
            });
        }
        toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let message = error.message();
            format!("{}: {message}; docs/sweeps.md describes the form", place(name, text, at))
        })
    }

    /// Returns the plan that all runs have in common. `read` returns the text of a file by name.
    ///
    /// # Errors
    /// A field is missing, or fields contradict each other.
    pub(super) fn plan(
        &self,
        read: &mut dyn FnMut(&str) -> Result<Source, String>,
    ) -> Result<Plan, String> {
        let given = [self.plan.is_some(), self.workload.is_some(), self.benchmark.is_some()];
        if given.iter().filter(|it| **it).count() != 1 {
            return Err("give exactly one of workload, benchmark and plan".into());
        }
        let mut file = |file: &File| match file {
            File::Named(name) => read(name),
            File::Text(source) => Ok(source.clone()),
        };
        let load = match (&self.workload, &self.benchmark) {
            (Some(workload), _) => Some(Load::Workload(file(workload)?)),
            (_, Some(name)) => {
                Some(Load::Benchmark(Benchmark { name: name.clone(), parameters: vec![] }))
            }
            _ => None,
        };
        let mut plan = match (&self.plan, load) {
            (Some(PlanForm::Plan(plan)), _) => (**plan).clone(),
            (Some(PlanForm::Named(name)), _) => {
                let source = file(&File::Named(name.clone()))?;
                Plan::parse(&source.file, &source.text).map_err(|error| error.to_string())?
            }
            (None, Some(load)) => Plan::new(load, vec!["main".into()]),
            (None, None) => return Err("there is nothing to run".into()),
        };
        for (name, value) in &self.parameters {
            let Load::Benchmark(benchmark) = &mut plan.load else {
                return Err(format!("parameters.{name}: only a benchmark has parameters"));
            };
            benchmark.parameters.push((name.clone(), value.to_string()));
        }
        if let Some(schedulers) = &self.schedulers {
            plan.schedulers.clone_from(schedulers);
        }
        if let Some(name) = &self.machine {
            let found = self.machines.get(name).cloned();
            plan.machine.description = match found {
                Some(found) => Some(found),
                None => MachineSource::find(name).map_err(|error| error.to_string())?,
            };
        }
        let MachineSpec { cpus, hz, .. } = &mut plan.machine;
        *cpus = self.cpus.or(*cpus);
        *hz = self.hz.or(*hz);
        if let Some(duration) = self.duration {
            if !(1e-9..=1e9).contains(&duration) {
                return Err(format!("duration is {duration}; it must be seconds up to 10^9"));
            }
            plan.limit_ns = Some((duration * 1e9).round() as u64);
        }
        for (name, value) in &self.set {
            let value = match value {
                AxisValue::Whole(number) => SetValues::Number(*number),
                value => SetValues::from(value.to_string().as_str()),
            };
            plan.set.retain(|(other, _)| other != name);
            plan.set.push((name.clone(), value));
        }
        for one in &self.groups {
            plan.groups.files.push(file(one)?);
        }
        plan.groups.settings.extend(self.group.iter().cloned());
        let Timetable { actions, .. } = &mut plan.timetable;
        actions.extend(self.at.iter().cloned());
        plan.seed = self.seed.or(plan.seed);
        if let Some(repeat) = self.repeat {
            plan.repeat = repeat;
            // As for `schedlab run --repeat`, start times of tasks also vary with the seed.
            plan.late_starts |= matches!(plan.load, Load::Workload(_)) && repeat > 1;
        }
        plan.record = schedlab_lab::plan::Record::default();
        Ok(plan)
    }
}
