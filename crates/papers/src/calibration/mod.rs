//! Fits numbers of a machine's cost model to measurements that a file names: [`Calibration`].
//!
//! [`mod@fit`] does the search. This module reads the file, simulates the measurements, and writes
//! the machine's file, in which every fitted number names what it was fitted to. Measurements that
//! are held out have no part in the search. They are simulated before and after it. Only they are
//! evidence for the model.
//!
//! * [`mod@file`]: the format of the files.
//! * [`mod@fit`]: the search.
//! * `point`: a measurement, and how it is simulated.
//! * [`text`]: the result for the terminal.

pub mod file;
pub mod fit;
mod point;
mod probe;
pub mod text;

use crate::error::{At, Error};
use file::File;
use fit::{CalibrateError, Effort, fit};
use point::Point;
use schedlab_lab::parallel;
use schedlab_machine::costs::{CallCosts, CostModel, KernelCosts};
use schedlab_machine::description::{self, Description};
use std::num::NonZeroUsize;

/// A calibration that was read and checked.
#[derive(Clone)]
pub struct Calibration {
    file: File,
    /// Text of the machine's file.
    machine_text: String,
    costs: CostModel,
    parameters: Vec<fit::Parameter>,
    points: Vec<Point>,
    held_out: Vec<Point>,
}

/// The result of a calibration.
#[derive(Clone, PartialEq, Debug)]
pub struct Calibrated {
    /// Its description in a line.
    pub title: String,
    /// The machine.
    pub machine: String,
    /// The parameters, in the file's order.
    pub parameters: Vec<Fitted>,
    /// The measurements that they were fitted to.
    pub measurements: Vec<Compared>,
    /// The measurements that were held out.
    pub held_out: Vec<Compared>,
    /// Number of sets of values that were tried.
    pub tries: u32,
    /// The machine's file with the fitted numbers.
    pub description: String,
}

/// A parameter before and after.
#[derive(Clone, PartialEq, Debug)]
pub struct Fitted {
    /// The costs that it sets.
    pub name: String,
    /// Value at which the search started, ns.
    pub before: f64,
    /// Value at which the search ended, ns.
    pub after: f64,
    /// The bounds of the search, ns.
    pub bounds: (f64, f64),
}

impl Fitted {
    /// Whether the value is at a bound, so that the best value may lie beyond.
    pub fn is_at_bound(&self) -> bool {
        let at = |bound: f64| (self.after / bound - 1.0).abs() < 0.001;
        at(self.bounds.0) || at(self.bounds.1)
    }
}

/// A measurement and its simulation.
#[derive(Clone, PartialEq, Debug)]
pub struct Compared {
    /// The measurement in words.
    pub what: String,
    /// The place where it was published.
    pub source: String,
    /// The measured value.
    pub measured: f64,
    /// The simulated value with the numbers at which the search started.
    pub before: f64,
    /// The simulated value with the numbers that the search found.
    pub after: f64,
}

/// Progress of a calibration.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Progress {
    /// A simulation is complete.
    Simulation,
    /// A set of values was tried. Its relative error is about this.
    Try(f64),
}

impl Calibration {
    /// Reads the text of a file, which errors call `name`.
    ///
    /// # Errors
    /// The first mistake.
    pub fn read(name: &str, text: &str) -> Result<Calibration, Error> {
        let file = toml::from_str::<File>(text);
        let file = file.map_err(|error| Error::new(error.to_string().trim_end()));
        file.and_then(Calibration::new).at(name)
    }

    fn new(file: File) -> Result<Calibration, Error> {
        let machine = schedlab_lab::machines::find(&file.machine)
            .map_err(|error| Error::new(error).at("machine"))?;
        let nothing_costs = || {
            let message = format!(
                "{} has no costs; name a machine with a file that has \"costs\"",
                file.machine
            );
            Error::new(message).at("machine")
        };
        let costs = machine.costs.clone().ok_or_else(nothing_costs)?;
        let machine_text = match description::preset_text(&file.machine) {
            Some(text) => text.into(),
            None => std::fs::read_to_string(&file.machine)
                .map_err(|error| Error::new(error).at(&file.machine).at("machine"))?,
        };
        if file.calibrated_on.trim().is_empty() {
            return Err(Error::new(
                "is empty; name the measurements that the numbers are fitted to",
            )
            .at("calibrated_on"));
        }
        if !(file.precision > 0.0 && file.precision < 1.0) {
            let message = format!("{}; give a fraction such as 0.002", file.precision);
            return Err(Error::new(message).at("precision"));
        }
        let parameters = parameters(&file, &costs)?;
        let points = points("measurement", &file.measurements, &machine)?;
        let held_out = points_held_out(&file, &machine)?;
        if parameters.is_empty() || points.len() < parameters.len() {
            let message = "give at least one [[parameter]], and at least as many measurements";
            let counted = format!("there are {} and {}", parameters.len(), points.len());
            return Err(format!("{message}; {counted}").into());
        }
        if let Some(twice) =
            held_out.iter().find(|point| points.iter().any(|other| other.what == point.what))
        {
            let message = format!("{} is fitted to; it cannot also be held out", twice.what);
            return Err(Error::new(message).at("held_out"));
        }
        let mut checked = vec![];
        for point in points.iter().chain(&held_out) {
            let (benchmark, figure, choice) = point.figure();
            if checked.contains(&(benchmark, figure)) {
                continue;
            }
            checked.push((benchmark, figure));
            if let Some(benchmark) = schedlab_bench::find(benchmark) {
                probe::check_figure(benchmark, choice, figure).at(&point.what)?;
            }
        }
        Ok(Calibration { file, machine_text, costs, parameters, points, held_out })
    }

    /// Searches on `threads` threads, on whose number the result does not depend. `progress` is
    /// called from any of them.
    ///
    /// # Errors
    /// A simulation fails, or a parameter has no effect on any measurement.
    pub fn run(
        &self,
        name: &str,
        threads: NonZeroUsize,
        progress: impl Fn(Progress) + Sync,
    ) -> Result<Calibrated, Error> {
        let mut cache = SimulationCache::default();
        let effort = Effort { simulations: self.file.tries, precision: self.file.precision };
        let mut first: Option<(Vec<f64>, Vec<f64>)> = None;
        let fit = fit(&self.parameters, effort, |values| {
            let simulated = self.simulate(&self.points, values, threads, &mut cache, &progress)?;
            let ratios = self.points.iter().zip(&simulated);
            let ratios: Vec<f64> =
                ratios.map(|(point, simulated)| point.measured / simulated).collect();
            progress(Progress::Try(off(ratios.iter().copied())));
            match &first {
                None => first = Some((values.to_vec(), ratios.clone())),
                Some((start, before)) => self.matters(start, before, values, &ratios)?,
            }
            Ok(ratios)
        });
        let fit = fit.map_err(|why: CalibrateError<Error>| match why {
            CalibrateError::Simulation(error) => error,
            CalibrateError::Ratio(which) => {
                Error::new("the simulated value is not a positive number")
                    .at(&self.points[which].what)
            }
            other => Error::new(other),
        });
        let fit = fit.at(name)?;
        let before: Vec<f64> = self.parameters.iter().map(|parameter| parameter.start).collect();
        let mut compared = |points: &[Point]| -> Result<Vec<Compared>, Error> {
            let mut with =
                |values| self.simulate(points, values, threads, &mut cache, &progress).at(name);
            let (before, after) = (with(&before)?, with(&fit.values)?);
            let compared = points.iter().zip(before.iter().zip(after));
            Ok(compared.map(|(point, (before, after))| point.compared(*before, after)).collect())
        };
        let (measurements, held_out) = (compared(&self.points)?, compared(&self.held_out)?);
        let mut numbers = vec![];
        for (parameter, value) in self.file.parameters.iter().zip(&fit.values) {
            numbers.extend(parameter.costs.iter().map(|cost| (cost.clone(), rounded(*value))));
        }
        let on = &self.file.calibrated_on;
        let description =
            description::with_calibrated(&self.file.machine, &self.machine_text, &numbers, on);
        let fitted = self.parameters.iter().zip(&fit.values).map(|(parameter, value)| Fitted {
            name: parameter.name.clone(),
            before: parameter.start,
            after: rounded(*value),
            bounds: (parameter.least, parameter.most),
        });
        Ok(Calibrated {
            title: self.file.title.clone(),
            machine: self.file.machine.clone(),
            parameters: fitted.collect(),
            measurements,
            held_out,
            tries: fit.simulations,
            description: description.map_err(|why| Error::new(why).at("machine").at(name))?,
        })
    }

    /// Checks that a change of a single parameter affects some measurement. Otherwise the parameter
    /// would be called fitted without being so.
    fn matters(
        &self,
        start: &[f64],
        before: &[f64],
        values: &[f64],
        ratios: &[f64],
    ) -> Result<(), Error> {
        let mut changed = (0..values.len()).filter(|&number| values[number] != start[number]);
        match (changed.next(), changed.next()) {
            (Some(one), None) if before == ratios => {
                let message = format!(
                    "{} instead of {} does not affect any measurement; it cannot be \
                     fitted to them",
                    rounded(values[one]),
                    rounded(start[one])
                );
                Err(Error::new(message).at(format!("parameter {}", self.parameters[one].name)))
            }
            _ => Ok(()),
        }
    }

    /// Returns the simulated values of `points` with these values of the parameters.
    fn simulate(
        &self,
        points: &[Point],
        values: &[f64],
        threads: NonZeroUsize,
        cache: &mut SimulationCache,
        progress: &(impl Fn(Progress) + Sync),
    ) -> Result<Vec<f64>, Error> {
        let mut costs = self.costs.clone();
        for (parameter, value) in self.file.parameters.iter().zip(values) {
            for cost in &parameter.costs {
                schedlab_lab::machines::set_cost(&mut costs, cost, rounded(*value))
                    .map_err(Error::new)?;
            }
        }
        let keys: Vec<Key> = points.iter().map(|point| Key::new(point, &costs)).collect();
        let mut new: Vec<usize> =
            (0..points.len()).filter(|&one| cache.value(&keys[one]).is_none()).collect();
        // Several points may be equal.
        new.dedup_by(|a, b| keys[*a] == keys[*b]);
        let simulated = parallel::map(&new, threads, |&one| {
            let value = points[one].simulate(&costs);
            progress(Progress::Simulation);
            value
        });
        for (one, value) in new.into_iter().zip(simulated) {
            let value = value.at(&points[one].what)?;
            cache.0.push((keys[one].clone(), value));
        }
        Ok(keys.iter().filter_map(|key| cache.value(key)).collect())
    }
}

/// Everything on which the simulation of a point depends.
#[derive(Clone, PartialEq)]
struct Key {
    what: String,
    kernel: KernelCosts,
    calls: CallCosts,
    refill_ps: Vec<u64>,
}

impl Key {
    fn new(point: &Point, costs: &CostModel) -> Key {
        Key {
            what: point.what.clone(),
            kernel: point.kernel_costs(costs),
            calls: point.calls(costs),
            refill_ps: costs.caches.iter().map(|level| level.refill_kib_ps).collect(),
        }
    }
}

/// Results of earlier simulations. Equal costs give equal results, and the results for 2.6 do not
/// depend on the cost of a scan step in 2.4.
#[derive(Default)]
struct SimulationCache(Vec<(Key, f64)>);

impl SimulationCache {
    fn value(&self, key: &Key) -> Option<f64> {
        self.0.iter().find(|(other, _)| other == key).map(|(_, value)| *value)
    }
}

/// Returns the relative error of ratios: the root of the mean square of their logarithms.
pub fn off(ratios: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = ratios.len().max(1) as f64;
    let squares: f64 = ratios.map(|ratio| libm::log(ratio) * libm::log(ratio)).sum();
    (squares / count).sqrt()
}

/// Rounds to four digits: a fit is not more precise, and the written values are those simulated.
fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

fn parameters(file: &File, costs: &CostModel) -> Result<Vec<fit::Parameter>, Error> {
    let mut parameters = vec![];
    let mut known: Vec<&String> = vec![];
    for file::Parameter { costs: names, start, least, most } in &file.parameters {
        let name = names.join(" = ");
        if names.is_empty() {
            let message = "costs is empty; name at least one, as `--cost` does";
            return Err(Error::new(message).at("parameter"));
        }
        let sound = *least > 0.0 && least <= start && start <= most && most.is_finite();
        if !sound {
            let message = "least and most must be above 0, and the start between them";
            let message = format!("{message}; they are {start}, {least} and {most}");
            return Err(Error::new(message).at(format!("parameter {name}")));
        }
        for cost in names {
            if known.contains(&cost) {
                let message = format!("{cost} is named twice");
                return Err(Error::new(message).at(format!("parameter {name}")));
            }
            known.push(cost);
            costs
                .clone()
                .set(cost, *most)
                .map_err(|message| Error::new(message).at(format!("parameter {name}")))?;
        }
        parameters.push(fit::Parameter { name, start: *start, least: *least, most: *most });
    }
    Ok(parameters)
}

fn points(
    kind: &str,
    from: &[file::Measurement],
    machine: &Description,
) -> Result<Vec<Point>, Error> {
    let mut points = vec![];
    for (number, measurement) in from.iter().enumerate() {
        let of_it = Point::all(measurement, machine);
        points.extend(of_it.at(format!("{kind} {}", number + 1))?);
    }
    Ok(points)
}

fn points_held_out(file: &File, machine: &Description) -> Result<Vec<Point>, Error> {
    points("held_out", &file.held_out, machine)
}

#[cfg(test)]
mod tests;
