//! The form of a sweep's file, TOML or JSON: [`Form`]. `docs/sweeps.md` describes it.

use super::axis::AxisValue;
use schedlab_lab::plan::{
    Benchmark, Load, MachineSource, MachineSpec, Plan, SetValues, Source, Timetable,
};
use schedlab_lab::scx;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// How points are chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sample {
    /// Every combination of values.
    #[default]
    Grid,
    /// So many points, each by chance.
    Random,
    /// So many points; on each axis they lie evenly (a Latin hypercube).
    Latin,
    /// Points of Sobol's sequence. Python makes them; they are given as `points` then.
    Sobol,
}

/// What lies evenly on an axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Differences.
    Linear,
    /// Ratios.
    Log,
}

/// A file, by its name or with its text.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a file's name, or {file = \"name\", text = \"...\"}")]
pub enum File {
    /// Its name.
    Named(String),
    /// With its text.
    Text(Source),
}

/// A plan, by its file's name or as it is.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a plan's file name, or a plan (docs/plan.md)")]
pub enum PlanForm {
    /// Its file's name.
    Named(String),
    /// The plan.
    Plan(Box<Plan>),
}

/// An axis.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AxisForm {
    /// What varies.
    pub name: String,
    /// Its values ...
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<AxisValue>>,
    /// ... or the least ...
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<AxisValue>,
    /// ... and the most of a range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<AxisValue>,
    /// How many values of the range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// How far they are from each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<f64>,
    /// What lies evenly; none: differences.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<Scale>,
    /// Whether only whole numbers are meant; none: if both ends are written so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub integer: Option<bool>,
}

/// What stands in the file.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Form {
    /// In a line.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// What is run, as a plan. What stands below replaces what it says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanForm>,
    /// What is run: a workload ...
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload: Option<File>,
    /// ... or a benchmark.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub benchmark: Option<String>,
    /// Parameters of the benchmark, held the same.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, AxisValue>,
    /// Under what; each point is run under each.
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
    /// When each run is stopped at the latest, s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<f64>,
    /// Tunables, nice values, weights and quotas, held the same.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, AxisValue>,
    /// Files of groups.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<File>,
    /// Single settings of groups.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub group: Vec<String>,
    /// What is done to the machine while it runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub at: Vec<String>,
    /// The first seed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// With how many seeds each point is run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat: Option<u64>,
    /// What is told of each run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<String>,
    /// How points are chosen.
    #[serde(skip_serializing_if = "is_grid")]
    pub sample: Sample,
    /// How many, if not all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<u64>,
    /// The seed by which they are chosen; none: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample_seed: Option<u64>,
    /// About so many runs are written together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part_runs: Option<u64>,
    /// What varies; of the first the values change last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub axis: Vec<AxisForm>,
    /// The points themselves: a value for each axis.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub points: Option<Vec<Vec<AxisValue>>>,
    /// Machines that are named and stand in files.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub machines: BTreeMap<String, MachineSource>,
}

fn is_grid(sample: &Sample) -> bool {
    *sample == Sample::Grid
}

/// What is wrong in a text at some byte.
pub(super) fn place(name: &str, text: &str, at: usize) -> String {
    let before = &text[..text.floor_char_boundary_at(at)];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    format!("{name}:{line}:{column}")
}

/// A file of TOML (or of JSON, which is left as it is) as JSON.
///
/// # Errors
/// Where it is no TOML, or has what JSON has no word for: `nan` and `inf`.
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
        return Err(format!("{at}: {} is no number that can be used", &text[span]));
    }
    let table: toml::Table = toml::from_str(text).map_err(wrong)?;
    serde_json::to_string(&table).map_err(|error| format!("{name}: {error}"))
}

/// Where there is a `nan` or an `inf`.
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

/// What is not stable yet in the standard library.
trait FloorCharBoundary {
    fn floor_char_boundary_at(&self, at: usize) -> usize;
}

impl FloorCharBoundary for str {
    fn floor_char_boundary_at(&self, at: usize) -> usize {
        (0..=at.min(self.len())).rev().find(|&at| self.is_char_boundary(at)).unwrap_or(0)
    }
}

impl Form {
    /// The same with the files of sched_ext policies (`scx:FILE`) that lie beside `file` named from
    /// here.
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

    /// Reads a file: JSON if it begins as JSON does, else TOML.
    ///
    /// # Errors
    /// Where it is not as it should be.
    pub fn parse(name: &str, text: &str) -> Result<Form, String> {
        let text = text.trim_start_matches('\u{feff}');
        if text.trim_start().starts_with('{') {
            return serde_json::from_str(text).map_err(|error| {
                let whole = error.to_string();
                let message =
                    whole.rsplit_once(" at line ").map_or(&*whole, |(message, _)| message);
                let (line, column) = (error.line(), error.column());
                format!("{name}:{line}:{column}: {message}; docs/sweeps.md tells what there is")
            });
        }
        toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let message = error.message();
            format!("{}: {message}; docs/sweeps.md tells what there is", place(name, text, at))
        })
    }

    /// The plan that all runs have in common. `read` gives the text of a file that is named.
    ///
    /// # Errors
    /// What is missing or contradicts.
    pub(super) fn plan(
        &self,
        read: &mut dyn FnMut(&str) -> Result<Source, String>,
    ) -> Result<Plan, String> {
        let given = [self.plan.is_some(), self.workload.is_some(), self.benchmark.is_some()];
        if given.iter().filter(|it| **it).count() != 1 {
            return Err("say what is run by one of workload, benchmark and plan".into());
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
            // As `schedlab run --repeat` has it: seeds differ in when tasks start, too.
            plan.late_starts |= matches!(plan.load, Load::Workload(_)) && repeat > 1;
        }
        plan.record = schedlab_lab::plan::Record::default();
        Ok(plan)
    }
}
