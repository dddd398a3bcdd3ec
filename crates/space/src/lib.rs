//! Many runs of one plan in which something varies: [`Space`].
//!
//! A space is a base [`Plan`] with axes (a scheduler, tunables, CPUs, nice values, numbers of the
//! workload ...), the points to run (a grid, a sample, or given points), seeds, and the metrics
//! reported for each run. All mistakes that can be found without running are found when the space
//! is read. ([`sweep`](schedlab_lab::sweep) draws curves of a benchmark.)
//!
//! Runs are independent. They are numbered and written in parts of fixed size, in the order of
//! these numbers. The bytes of a part do not depend on the number of threads, or on the machine
//! that made it ([`store`]).
//!
//! * `axis`: what varies, and over which values; `sample`: the points to run.
//! * `metric`: the metrics reported for each run; `quantity`: the quantities in them.
//! * [`bisect`]: the release, and the difference, that changed a figure.
//! * `execute`: runs; `judged`: runs that end early once they are hopeless.
//! * [`limits`]: CPU limits of a group; [`advise`]: settings that help a recorded machine.
//! * [`store`]: results in files; [`summary`]: means, best points and Pareto fronts.
//!
//! ```
//! use schedlab_space::Space;
//! use std::sync::atomic::AtomicBool;
//!
//! let text = r#"
//! schedulers = ["round_robin", "cfs"]
//! metrics = ["length"]
//!
//! [workload]
//! file = "hogs.json"
//! text = '{"tasks": {"hog": {"instance": 2, "loop": 1, "run": 10000}}}'
//!
//! [[axis]]
//! name = "workload.tasks.hog.run"
//! values = [10_000, 20_000]
//! "#;
//! let (space, _notes) = Space::parse("hogs.toml", text, &mut |name| Err(name.into()))?;
//! assert_eq!((space.points(), space.runs()), (2, 4));
//! let mut lengths_ns = vec![];
//! let stop = AtomicBool::new(false);
//! space.run(&[0], 1.try_into().unwrap(), &stop, |_| (), |_part, rows| {
//!     lengths_ns.extend(rows.iter().map(|row| row.values[0]));
//!     true
//! })?;
//! assert_eq!(lengths_ns, [20e6, 20e6, 40e6, 40e6].map(Some));
//! # Ok::<(), String>(())
//! ```

pub mod advise;
mod axis;
pub mod bisect;
mod cells;
mod execute;
mod form;
mod judged;
pub mod limits;
mod metric;
#[cfg(feature = "parquet")]
mod parquet;
mod quantity;
mod sample;
pub mod store;
pub mod summary;
#[cfg(test)]
mod tests;
mod value;

pub use axis::{Axis, Domain, Subject};
pub use execute::Row;
pub use form::{AxisForm, Form, PlanForm, Sample, Scale, toml_json};
pub use judged::{JudgedRun, Rung};
pub use metric::RunMetric;
pub use value::AxisValue;

use execute::Stages;
use sample::Points;
use schedlab_lab::parallel;
use schedlab_lab::plan::{Load, MachineSource, Plan, Source};
use schedlab_measure::catalogue::COMPARED;
use schedlab_workload::rt_app::Place;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};

/// Maximum number of runs.
const RUNS_MAX: u64 = 2_000_000;

/// Approximate number of runs in a part, unless the file specifies it.
const PART_RUNS: u64 = 200;

/// Number of points tried before the first run, in addition to points with typical values.
const TRIED: u64 = 64;

/// Number of values tried on an axis.
const VALUES_TRIED: usize = 500;

/// A plan in which something varies, without mistakes that can be found before running.
pub struct Space {
    form: Form,
    plan: Plan,
    axes: Vec<Axis>,
    places: Vec<Option<Place>>,
    listed: Points,
    points: u64,
    columns: u64,
    metrics: Vec<RunMetric>,
    part_points: u64,
    stages: Stages,
}

impl Space {
    /// Parses a space from the `text` of a file, TOML or JSON. `read` returns the texts of the
    /// files that it names. Also returns notes for the user.
    ///
    /// # Errors
    /// The first mistake: its file and place, a description, and what would be right.
    pub fn parse(
        name: &str,
        text: &str,
        read: &mut dyn FnMut(&str) -> Result<Source, String>,
    ) -> Result<(Space, Vec<String>), String> {
        let form = Form::parse(name, text)?.beside(name);
        let located = |(what, message): (Option<String>, String)| {
            // Place of a quoted text in the file: the name of an axis, or a metric.
            let quoted = |what: &String| {
                ['"', '\''].iter().find_map(|quote| text.find(&format!("{quote}{what}{quote}")))
            };
            match what.as_ref().and_then(quoted) {
                Some(at) => format!("{}: {message}", form::place(name, text, at)),
                None => format!("{name}: {message}"),
            }
        };
        let space = Space::of_form(form, read).map_err(located)?;
        let notes = space.check().map_err(located)?;
        Ok((space, notes))
    }

    /// Builds a space from a form that a program made. Errors have no place in a file.
    ///
    /// # Errors
    /// As for [`parse`](Space::parse).
    pub fn made(
        form: Form,
        read: &mut dyn FnMut(&str) -> Result<Source, String>,
    ) -> Result<(Space, Vec<String>), String> {
        let space = Space::of_form(form, read).map_err(|(_, message)| message)?;
        let notes = space.check().map_err(|(_, message)| message)?;
        Ok((space, notes))
    }

    /// Parses what [`to_json`](Space::to_json) wrote of a checked space, without trying its values
    /// again.
    ///
    /// # Errors
    /// The text was not written by `to_json`.
    pub fn of_json(text: &str) -> Result<Space, String> {
        let form = Form::parse("space", text)?;
        let mut read = |name: &str| Err(format!("{name}: no file is read here"));
        Space::of_form(form, &mut read).map_err(|(_, message)| message)
    }

    /// Errors come with the name of the axis, or the text of the metric, that is wrong.
    fn of_form(
        mut form: Form,
        read: &mut dyn FnMut(&str) -> Result<Source, String>,
    ) -> Result<Space, (Option<String>, String)> {
        let whole = |message: String| (None, message);
        let mut plan = form.plan(read).map_err(whole)?;
        let mut axes: Vec<Axis> = vec![];
        for one in &form.axis {
            let of_axis =
                |message: String| (Some(one.name.clone()), format!("axis {}: {message}", one.name));
            let axis = Axis::read(one).map_err(of_axis)?;
            if axes.iter().any(|other| other.name == axis.name) {
                return Err(of_axis("it is given twice".into()));
            }
            if axis.subject == Subject::Scheduler && form.schedulers.is_some() {
                return Err(of_axis("schedulers are given, too; leave one out".into()));
            }
            axes.push(axis);
        }
        if axes.is_empty() && form.points.is_none() {
            return Err(whole("nothing varies: give at least one [[axis]]".into()));
        }
        let is_benchmark = !matches!(plan.load, Load::Workload(_));
        if is_benchmark || axes.iter().any(|axis| axis.subject == Subject::Seed) {
            plan.seed.get_or_insert(1);
        }
        if plan.repeat == 0 {
            return Err(whole("repeat is 0; it must be at least 1".into()));
        }
        for axis in axes.iter().filter(|axis| axis.subject == Subject::Machine) {
            for value in axis.typical() {
                let name = value.to_string();
                let found = MachineSource::find(&name).map_err(|error| {
                    (Some(axis.name.clone()), format!("axis {}: {error}", axis.name))
                })?;
                if let Some(file @ MachineSource::File(_)) = found {
                    form.machines.insert(name, file);
                }
            }
        }
        let places = execute::places(&axes, &plan).map_err(|message| {
            let named = axes.iter().find(|axis| message.starts_with(&axis.name));
            (named.map(|axis| axis.name.clone()), message)
        })?;
        let listed = points(&form, &axes).map_err(whole)?;
        let Some(count) = listed.count(&axes) else {
            let range = axes.iter().find(|axis| matches!(axis.domain, Domain::Between { .. }));
            return Err(match range {
                Some(axis) => (
                    Some(axis.name.clone()),
                    format!(
                        "axis {}: a grid needs values, steps or step; or give sample = \"latin\" \
                         and samples",
                        axis.name
                    ),
                ),
                None => whole("the number of points is too large to count".into()),
            });
        };
        if count == 0 {
            return Err(whole("there is no point".into()));
        }
        let metrics = metrics(&form, is_benchmark)?;
        let mut space = Space {
            plan,
            axes,
            places,
            listed,
            points: count,
            columns: 1,
            metrics,
            part_points: 1,
            stages: Stages::default(),
            form,
        };
        if let Some(name) = space.name_twice() {
            return Err((Some(name.clone()), format!("two columns would be called {name}")));
        }
        let first = space.point(0);
        space.columns = match space.stage(&first) {
            Ok(stage) => stage.columns().max(1) as u64,
            // A search can request points of which only some can run. The others still do.
            Err(_) if space.form.points.is_some() => space.plan.schedulers.len() as u64,
            Err(error) => return Err(space.blame(&first, error.to_string())),
        };
        let of_point = space.columns.saturating_mul(space.plan.repeat);
        let runs = of_point.saturating_mul(count);
        if runs > RUNS_MAX {
            return Err(whole(format!("{runs} runs are more than {RUNS_MAX}; give fewer values")));
        }
        let part_runs = space.form.part_runs.unwrap_or(PART_RUNS);
        space.part_points = (part_runs / of_point).max(1);
        space.make_canonical();
        Ok(space)
    }

    /// Replaces names of files in the form by their contents, and fields by the plan itself.
    fn make_canonical(&mut self) {
        let old = std::mem::take(&mut self.form);
        self.form = Form {
            title: old.title,
            plan: Some(PlanForm::Plan(Box::new(self.plan.clone()))),
            metrics: match old.metrics.is_empty() {
                true => self.metrics.iter().map(|metric| metric.name.clone()).collect(),
                false => old.metrics,
            },
            sample: old.sample,
            samples: old.samples,
            sample_seed: old.sample_seed,
            part_runs: old.part_runs,
            axis: old.axis,
            points: old.points,
            machines: old.machines,
            ..Form::default()
        };
    }

    /// Tries every value of every axis once, and some of the points, without running anything.
    fn check(&self) -> Result<Vec<String>, (Option<String>, String)> {
        let first = self.point(0);
        let notes = self.try_point(&first).map_err(|message| self.blame(&first, message))?;
        self.check_metrics(&first)?;
        // A tunable that no scheduler of the scheduler axis has is a typing error.
        let schedulers = self.axes.iter().position(|axis| axis.subject == Subject::Scheduler);
        if let Some(place) = schedulers {
            for axis in &self.axes {
                let Subject::Tunable(name) = &axis.subject else { continue };
                let has = self.axes[place].typical().into_iter().any(|value| {
                    let mut point = first.clone();
                    point[place] = value;
                    self.has_tunable(&point, name)
                });
                if !has {
                    let message = format!("axis {}: none of the schedulers has it", axis.name);
                    return Err((Some(axis.name.clone()), message));
                }
            }
        }
        for (place, axis) in self.axes.iter().enumerate() {
            let values = match &self.listed {
                Points::Listed(points) if self.form.points.is_some() => {
                    points.iter().take(VALUES_TRIED).map(|point| point[place].clone()).collect()
                }
                _ => axis.typical(),
            };
            for value in values.into_iter().take(VALUES_TRIED) {
                let mut point = first.clone();
                point[place] = value.clone();
                self.try_point(&point).map_err(|message| {
                    let message = format!("axis {}: {value}: {message}", axis.name);
                    (Some(axis.name.clone()), message)
                })?;
            }
        }
        let step = (self.points / TRIED).max(1);
        for number in (0..self.points).step_by(step as usize) {
            let point = self.point(number);
            self.try_point(&point).map_err(|message| {
                let (axis, message) = self.blame(&point, message);
                (axis, format!("{}: {message}", self.describe(number)))
            })?;
        }
        Ok(notes)
    }

    /// Attributes an error of a point to the axis that its message names, if any.
    fn blame(&self, point: &[AxisValue], message: String) -> (Option<String>, String) {
        let is_named = |text: &str| text.len() > 2 && message.contains(text);
        let blamed = self.axes.iter().zip(point).find(|(axis, value)| {
            let own = match &axis.subject {
                Subject::Tunable(name) | Subject::Setting(name) => is_named(name),
                _ => false,
            };
            own || matches!(value, AxisValue::Text(text) if is_named(text))
        });
        match blamed {
            None => (None, message),
            Some((axis, _)) => (Some(axis.name.clone()), format!("axis {}: {message}", axis.name)),
        }
    }

    /// Checks that metrics refer only to existing tasks and groups.
    fn check_metrics(&self, first: &[AxisValue]) -> Result<(), (Option<String>, String)> {
        let names = self.names(first);
        for (metric, written) in self.metrics.iter().zip(&self.form.metrics) {
            let Some((keys, groups, _)) = &names else { continue };
            if let Some(message) = metric.missing(keys, groups) {
                return Err((Some(written.clone()), format!("`{written}`: {message}")));
            }
        }
        Ok(())
    }

    /// Returns a name that two columns of results have in common.
    fn name_twice(&self) -> Option<String> {
        let mut names = vec![];
        for column in self.column_names() {
            if names.contains(&column) {
                return Some(column);
            }
            names.push(column);
        }
        None
    }

    /// Returns the space as JSON, with the texts of all files in it: everything that its results
    /// depend on.
    pub fn to_json(&self) -> String {
        serde_json::to_string(&self.form).expect("all of its keys are strings")
    }

    /// Returns the title, or the name of the load.
    pub fn title(&self) -> &str {
        match self.form.title.as_str() {
            "" => self.plan.load.name(),
            title => title,
        }
    }

    /// Returns the plan that all runs have in common.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the axes: the settings that vary.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// Metrics reported for each run.
    pub fn metrics(&self) -> &[RunMetric] {
        &self.metrics
    }

    /// Returns the number of points.
    pub fn points(&self) -> u64 {
        self.points
    }

    /// Returns the number of seeds with which each point runs.
    pub fn repeat(&self) -> u64 {
        self.plan.repeat
    }

    /// Returns the number of runs, if every point has the same number of schedulers as the first.
    pub fn runs(&self) -> u64 {
        self.points * self.columns * self.plan.repeat
    }

    /// Returns the number of parts in which the results are written.
    pub fn parts(&self) -> u64 {
        self.points.div_ceil(self.part_points)
    }

    /// Numbers of the points in a part.
    pub fn points_of(&self, part: u64) -> std::ops::Range<u64> {
        let first = part.saturating_mul(self.part_points).min(self.points);
        first..first.saturating_add(self.part_points).min(self.points)
    }

    /// Returns the values of a point.
    pub fn point(&self, number: u64) -> Vec<AxisValue> {
        self.listed.get(&self.axes, number)
    }

    /// Describes a point for messages.
    pub fn describe(&self, number: u64) -> String {
        let values = self.axes.iter().zip(self.point(number));
        let values: Vec<String> =
            values.map(|(axis, value)| format!("{} {value}", axis.name)).collect();
        values.join(", ")
    }

    /// Names of the columns of results: point, repetition, seed, scheduler, the axes (except
    /// scheduler and seed), end, error and the metrics.
    pub fn column_names(&self) -> Vec<String> {
        let axes = self.axes.iter().filter(|axis| has_column(axis)).map(|axis| axis.name.clone());
        ["point", "repetition", "seed", "scheduler"]
            .map(String::from)
            .into_iter()
            .chain(axes)
            .chain(["end", "error"].map(String::from))
            .chain(self.metrics.iter().map(|metric| metric.name.clone()))
            .collect()
    }

    /// Makes all runs of `parts` on `threads` threads. `done` receives the rows of each point and
    /// seed as soon as they exist, on the thread that made them. `ready` receives all rows of a
    /// part on the calling thread, in the order of `parts`. If it returns false, or `stop` is set,
    /// no further run begins.
    ///
    /// # Errors
    /// A metric exists in no run.
    pub fn run(
        &self,
        parts: &[u64],
        threads: NonZeroUsize,
        stop: &AtomicBool,
        done: impl Fn(&[Row]) + Sync,
        mut ready: impl FnMut(u64, Vec<Row>) -> bool,
    ) -> Result<(), String> {
        let mut items: Vec<(u64, u64, u64)> = vec![];
        for &part in parts {
            for point in self.points_of(part) {
                items.extend((0..self.repeat()).map(|repetition| (part, point, repetition)));
            }
        }
        let work = |&(_, point, repetition): &(u64, u64, u64)| {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            let rows = self.run_point(point, repetition);
            if let Ok(rows) = &rows {
                done(rows);
            }
            Some(rows)
        };
        let mut wrong = None;
        let mut of_part: Vec<Row> = vec![];
        parallel::for_each_in_order(&items, threads, work, |place, rows| {
            match rows {
                None => return false,
                Some(Err(error)) => {
                    wrong = Some(error);
                    return false;
                }
                Some(Ok(rows)) => of_part.extend(rows),
            }
            let (part, ..) = items[place];
            let is_last = items.get(place + 1).is_none_or(|(next, ..)| *next != part);
            !is_last || ready(part, std::mem::take(&mut of_part))
        });
        wrong.map_or(Ok(()), Err)
    }
}

/// Whether an axis has its own column. The scheduler and the seed always have one.
pub(crate) fn has_column(axis: &Axis) -> bool {
    !matches!(axis.subject, Subject::Scheduler | Subject::Seed)
}

/// Points that `form` selects.
fn points(form: &Form, axes: &[Axis]) -> Result<Points, String> {
    if let Some(points) = &form.points {
        let mut listed = vec![];
        for (number, point) in points.iter().enumerate() {
            if point.len() != axes.len() {
                return Err(format!(
                    "points: number {number} has {} values; there are {} axes",
                    point.len(),
                    axes.len()
                ));
            }
            let values = axes.iter().zip(point).map(|(axis, value)| {
                axis.take(value)
                    .map_err(|error| format!("points: number {number}: {}: {error}", axis.name))
            });
            listed.push(values.collect::<Result<Vec<_>, String>>()?);
        }
        return Ok(Points::Listed(listed));
    }
    let seed = form.sample_seed.unwrap_or(1);
    let samples = || match form.samples {
        Some(samples @ 1..=RUNS_MAX) => Ok(samples as usize),
        Some(samples) => Err(format!("samples is {samples}; give 1 to {RUNS_MAX}")),
        None => Err("samples is missing: give the number of points".into()),
    };
    match form.sample {
        Sample::Grid if form.samples.is_some() => {
            Err("samples: a grid has all points; give sample = \"random\" or \"latin\"".into())
        }
        Sample::Grid => Ok(Points::Grid),
        Sample::Random => Ok(Points::Listed(sample::random(axes, samples()?, seed))),
        Sample::Latin => Ok(Points::Listed(sample::latin(axes, samples()?, seed))),
        Sample::Sobol => Err("sample = \"sobol\": SciPy makes the points; it needs the Python \
                              package: `pip install ./python scipy`, then `schedlab sweep`"
            .into()),
    }
}

/// Metrics reported for each run.
fn metrics(form: &Form, is_benchmark: bool) -> Result<Vec<RunMetric>, (Option<String>, String)> {
    if form.metrics.is_empty() {
        if is_benchmark {
            let message = "metrics are missing: give figures, as figure(time); `schedlab bench` \
                           shows the figures of a benchmark";
            return Err((None, message.into()));
        }
        return Ok(COMPARED.iter().filter_map(|id| RunMetric::of_id(id)).collect());
    }
    let read = |text: &String| {
        RunMetric::parse(text).map_err(|error| (Some(text.clone()), format!("metrics: {error}")))
    };
    form.metrics.iter().map(read).collect()
}

impl Space {
    /// Returns the point at the given fraction of each axis, from 0 (included) to 1 (excluded).
    pub fn at(&self, parts: &[f64]) -> Vec<AxisValue> {
        self.axes.iter().zip(parts).map(|(axis, part)| axis.at(*part)).collect()
    }

    /// Returns this space with other points. They are not tried: a point that cannot run has rows
    /// with an error.
    ///
    /// # Errors
    /// A point does not have a value for each axis, or has a value that an axis cannot have.
    pub fn with_points(&self, points: Vec<Vec<AxisValue>>) -> Result<Space, String> {
        let form = Form {
            points: Some(points),
            sample: Sample::Grid,
            samples: None,
            sample_seed: None,
            ..self.form.clone()
        };
        let mut read = |name: &str| Err(format!("{name}: no file is read here"));
        Space::of_form(form, &mut read).map_err(|(_, message)| message)
    }
}
