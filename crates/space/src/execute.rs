//! Runs of a space. A [`Stage`] is shared by points that differ only in tunables and seeds, so that
//! their workload is read and checked once.

use super::Space;
use super::axis::Subject;
use super::value::AxisValue;
use schedlab_core::cpu_set::parse_cpu_list;
use schedlab_lab::Error;
use schedlab_lab::plan::{Contender, Load, MachineSource, Plan, Prepared, SetValues};
use schedlab_lab::run::Run;
use schedlab_lab::session::Session;
use schedlab_report::data::EndState;
use schedlab_workload::rt_app::{Place, replaced};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Number of stages that are kept. The stages of a grid recur. The stages of a sample do not.
const STAGES_KEPT: usize = 32;

/// Result of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// Number of the point, from 0.
    pub point: u64,
    /// Number of the repetition, from 0.
    pub repetition: u64,
    /// Seed of everything random. `None`: simultaneous events happened in the golden order.
    pub seed: Option<u64>,
    /// Scheduler: `cfs@2.6.32`, with the settings of this scheduler alone.
    pub scheduler: String,
    /// End of the run.
    pub end: EndState,
    /// Reason why the run failed, if it did.
    pub error: Option<String>,
    /// Values of the metrics, in the order of the file. `None`: the run has no value.
    pub values: Vec<Option<f64>>,
}

/// A prepared plan, and the tunables of each of its columns.
pub(super) struct Stage {
    prepared: Prepared,
    known: Vec<Vec<Cow<'static, str>>>,
}

impl Stage {
    /// Returns the number of schedulers.
    pub fn columns(&self) -> usize {
        self.prepared.schedulers().len()
    }
}

/// Stages that have been prepared.
#[derive(Default)]
pub(super) struct Stages {
    kept: Mutex<VecDeque<(Vec<AxisValue>, Arc<Stage>)>>,
}

/// Places of the axes' values in the text of the workload, where they have one.
pub(super) fn places(
    space_axes: &[super::Axis],
    plan: &Plan,
) -> Result<Vec<Option<Place>>, String> {
    use schedlab_workload::rt_app::{place_of, place_of_property};
    let mut places: Vec<Option<Place>> = vec![];
    for axis in space_axes {
        let Load::Workload(source) = &plan.load else {
            let of_workload = matches!(
                axis.subject,
                Subject::Workload(_)
                    | Subject::Policy(_)
                    | Subject::Affinity(_)
                    | Subject::Slice(_)
                    | Subject::Setting(_)
            );
            if of_workload {
                return Err(format!("{}: it applies only to workloads", axis.name));
            }
            places.push(None);
            continue;
        };
        let (file, text) = (&source.file, &source.text);
        let place = match &axis.subject {
            Subject::Workload(path) => Some(place_of(file, text, path)),
            Subject::Policy(task) => Some(place_of_property(file, text, task, "policy")),
            Subject::Affinity(task) => Some(place_of_property(file, text, task, "cpus")),
            Subject::Slice(task) => Some(place_of_property(file, text, task, "slice")),
            Subject::Parameter(name) => {
                return Err(format!("parameter.{name}: only a benchmark has parameters"));
            }
            _ => None,
        };
        let place = place.transpose().map_err(|error| format!("{}: {error}", axis.name))?;
        let same = |other: &Option<Place>| match (&place, other) {
            (Some(place), Some(other)) => place.overlaps(other),
            _ => false,
        };
        if places.iter().any(same) {
            return Err(format!("{}: another axis changes the same place", axis.name));
        }
        places.push(place);
    }
    Ok(places)
}

impl Space {
    /// Returns the plan of a point, without tunables and seed.
    fn plan_of(&self, point: &[AxisValue]) -> Result<Plan, String> {
        let mut plan = self.plan.clone();
        let mut edits: Vec<(&Place, Cow<'_, str>)> = vec![];
        for ((axis, place), value) in self.axes.iter().zip(&self.places).zip(point) {
            if *value == AxisValue::Default {
                continue;
            }
            let text = || value.to_string();
            match &axis.subject {
                Subject::Scheduler => plan.schedulers = vec![text()],
                Subject::Setting(name) => {
                    plan.set.retain(|(other, _)| other != name);
                    plan.set.push((name.clone(), SetValues::from(text().as_str())));
                }
                Subject::Cpus => plan.machine.cpus = value.as_f64().map(|it| it as u32),
                Subject::Hz => plan.machine.hz = value.as_f64().map(|it| it as u32),
                Subject::Machine => {
                    let name = text();
                    plan.machine.description = match self.form.machines.get(&name) {
                        Some(found) => Some(found.clone()),
                        None => MachineSource::find(&name).map_err(|error| error.to_string())?,
                    };
                }
                Subject::Cost(name) => {
                    plan.machine.costs.retain(|(other, _)| other != name);
                    plan.machine.costs.push((name.clone(), value.as_f64().unwrap_or(0.0)));
                }
                Subject::Duration => {
                    plan.limit_ns = value.as_f64().map(|it| (it * 1e9).round() as u64);
                }
                Subject::Parameter(name) => {
                    if let Load::Benchmark(benchmark) = &mut plan.load {
                        benchmark.parameters.retain(|(other, _)| other != name);
                        benchmark.parameters.push((name.clone(), text()));
                    }
                }
                Subject::Workload(_)
                | Subject::Policy(_)
                | Subject::Affinity(_)
                | Subject::Slice(_) => {
                    let json = match (&axis.subject, value) {
                        (Subject::Affinity(_), value) => {
                            let cpus = parse_cpu_list(&value.to_string()).unwrap_or_default();
                            format!("{cpus:?}")
                        }
                        (_, AxisValue::Text(text)) => {
                            serde_json::Value::from(text.as_str()).to_string()
                        }
                        (_, value) => value.to_string(),
                    };
                    if let Some(place) = place {
                        edits.push((place, json.into()));
                    }
                }
                Subject::Tunable(_) | Subject::Seed => {}
            }
        }
        if let (Load::Workload(source), false) = (&mut plan.load, edits.is_empty()) {
            let edits: Vec<(&Place, &str)> =
                edits.iter().map(|(place, text)| (*place, &**text)).collect();
            source.text = replaced(&source.text, &edits);
        }
        Ok(plan)
    }

    /// Values of a point that need a separate stage.
    fn structure(&self, point: &[AxisValue]) -> Vec<AxisValue> {
        let pairs = self.axes.iter().zip(point);
        pairs.filter(|(axis, _)| axis.subject.is_structural()).map(|(_, it)| it.clone()).collect()
    }

    /// Returns the stage of a point.
    pub(super) fn stage(&self, point: &[AxisValue]) -> Result<Arc<Stage>, Error> {
        let key = self.structure(point);
        let kept = || self.stages.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, stage)) = kept().iter().find(|(other, _)| *other == key) {
            return Ok(Arc::clone(stage));
        }
        let prepared = self.plan_of(point).map_err(Error::Plan)?.prepare()?;
        let tuned = self.axes.iter().any(|axis| matches!(axis.subject, Subject::Tunable(_)));
        let known = |one: &Contender| {
            if !tuned {
                return vec![];
            }
            let tunables = match (prepared.experiment_of(one), prepared.sweep()) {
                (Some(experiment), _) => experiment.config.settings_of(&one.choice),
                (None, Some(sweep)) => sweep.bench().config.settings_of(&one.choice),
                (None, None) => vec![],
            };
            tunables.iter().map(|tunable| tunable.name.clone()).collect()
        };
        let known = prepared.schedulers().iter().map(known).collect();
        let stage = Arc::new(Stage { prepared, known });
        let mut kept = kept();
        if kept.len() >= STAGES_KEPT {
            kept.pop_front();
        }
        kept.push_back((key, Arc::clone(&stage)));
        Ok(stage)
    }

    /// Columns of a stage with the tunables of a point.
    fn contenders(&self, stage: &Stage, point: &[AxisValue]) -> Vec<Contender> {
        let mut all = stage.prepared.schedulers().to_vec();
        for (one, known) in all.iter_mut().zip(&stage.known) {
            for (axis, value) in self.axes.iter().zip(point) {
                let (Subject::Tunable(name), AxisValue::Whole(value)) = (&axis.subject, value)
                else {
                    continue;
                };
                if known.iter().any(|it| it == name) {
                    one.tunables.retain(|(other, _)| other != name);
                    one.tunables.push((name.clone(), *value));
                }
            }
        }
        all
    }

    /// Checks whether a point can run, without running it.
    ///
    /// # Errors
    /// Description of the fault.
    pub(super) fn try_point(&self, point: &[AxisValue]) -> Result<Vec<String>, String> {
        let stage = self.stage(point).map_err(|error| error.to_string())?;
        for one in self.contenders(&stage, point) {
            let checked = stage.prepared.check_settings(&one);
            checked.map_err(|error| format!("{}: {error}", one.choice))?;
        }
        for (axis, value) in self.axes.iter().zip(point) {
            let Subject::Tunable(name) = &axis.subject else { continue };
            if *value == AxisValue::Default
                || self.axes.iter().any(|axis| axis.subject == Subject::Scheduler)
                || stage.known.iter().any(|known| known.iter().any(|it| it == name))
            {
                continue;
            }
            let names: Vec<String> =
                stage.prepared.schedulers().iter().map(|one| one.choice.to_string()).collect();
            let known: Vec<&str> = stage.known.iter().flatten().map(Cow::as_ref).collect();
            let close = schedlab_workload::close_names(name, known.iter().copied());
            let hint = match close.as_slice() {
                [] => "`schedlab list NAME` shows them".into(),
                close => format!("did you mean {}?", close.join(" or ")),
            };
            return Err(format!("{name} is not a tunable of {}; {hint}", names.join(", ")));
        }
        Ok(stage.prepared.notes().to_vec())
    }

    /// Whether a scheduler of a point has a tunable.
    pub(super) fn has_tunable(&self, point: &[AxisValue], name: &str) -> bool {
        self.stage(point)
            .is_ok_and(|stage| stage.known.iter().any(|known| known.iter().any(|it| it == name)))
    }

    /// Keys of tasks, paths of groups, and number of CPUs of a point's workload. `None`: it is a
    /// benchmark.
    pub(super) fn names(&self, point: &[AxisValue]) -> Option<(Vec<String>, Vec<String>, u32)> {
        let stage = self.stage(point).ok()?;
        let experiment = stage.prepared.experiment()?;
        let keys = experiment.model.tasks.iter().map(|task| task.key.clone()).collect();
        let groups = experiment.groups.groups().iter().map(|group| group.path.clone()).collect();
        Some((keys, groups, experiment.config.cpus))
    }

    /// Runs a point with one of its seeds under each scheduler.
    ///
    /// # Errors
    /// A metric exists in no run. (A run that fails is a row with an error.)
    pub fn run_point(&self, number: u64, repetition: u64) -> Result<Vec<Row>, String> {
        self.rows_of(number, repetition, |prepared, contender, offset| {
            prepared.repetition(contender, offset).and_then(Session::finish)
        })
    }

    /// Like [`run_point`](Space::run_point), with runs that `run` makes of a prepared plan, a
    /// scheduler and the number of the repetition.
    pub(super) fn rows_of(
        &self,
        number: u64,
        repetition: u64,
        mut run: impl FnMut(&Prepared, &Contender, u64) -> Result<Run, Error>,
    ) -> Result<Vec<Row>, String> {
        let point = self.point(number);
        let seed_axis = self.axes.iter().position(|axis| axis.subject == Subject::Seed);
        let row = |scheduler: String, seed, end, error, values| Row {
            point: number,
            repetition,
            seed,
            scheduler,
            end,
            error,
            values,
        };
        let none = || vec![None; self.metrics.len()];
        let stage = match self.stage(&point) {
            Ok(stage) => stage,
            Err(error) => {
                // Combinations are not all tried in advance. This one cannot run.
                let names = match self.scheduler_of(&point) {
                    Some(name) => vec![name],
                    None => self.plan.schedulers.clone(),
                };
                let failed =
                    |name| row(name, None, EndState::Failed, Some(error.to_string()), none());
                return Ok(names.into_iter().map(failed).collect());
            }
        };
        let first = stage.prepared.seed(0);
        let wanted = match (seed_axis.map(|place| &point[place]), first) {
            (Some(AxisValue::Whole(seed)), _) => Some((*seed as u64).wrapping_add(repetition)),
            (_, Some(first)) => Some(first.wrapping_add(repetition)),
            (_, None) => None,
        };
        let offset = match (wanted, first) {
            (Some(wanted), Some(first)) => wanted.wrapping_sub(first),
            _ => repetition,
        };
        let mut rows = vec![];
        for one in self.contenders(&stage, &point) {
            let name = one.to_string();
            let values = |run: &Run| self.metrics.iter().map(|metric| metric.value(run)).collect();
            rows.push(match run(&stage.prepared, &one, offset) {
                Ok(run) => {
                    let unknown = self.metrics.iter().find_map(|one| one.unknown_figure(&run));
                    if let (Some(unknown), EndState::AllEnded) = (unknown, run.report.end.state) {
                        return Err(unknown);
                    }
                    row(name, wanted, run.report.end.state, None, values(&run))
                }
                Err(Error::Stuck { waits, run }) => {
                    row(name, wanted, EndState::Stuck, Some(waits), values(&run))
                }
                Err(error) => row(name, wanted, EndState::Failed, Some(error.to_string()), none()),
            });
        }
        Ok(rows)
    }

    /// Returns the scheduler that a point names.
    fn scheduler_of(&self, point: &[AxisValue]) -> Option<String> {
        let place = self.axes.iter().position(|axis| axis.subject == Subject::Scheduler)?;
        match &point[place] {
            AxisValue::Default => None,
            value => Some(value.to_string()),
        }
    }
}
