//! A measurement, and how it is simulated.

use super::Compared;
use super::file::Measurement;
use crate::axes::{self, Binding, combinations, fill, text_of};
use crate::error::{At, Error};
use crate::file::check_seeds;
use schedlab_bench::Values;
use schedlab_lab::RunConfig;
use schedlab_lab::bench::Bench;
use schedlab_lab::select::{self, Choice};
use schedlab_lab::session::Session;
use schedlab_lab::setup;
use schedlab_machine::costs::{CallCosts, CostModel, KernelCosts};
use schedlab_machine::description::Description;
use schedlab_report::metrics::mean;

/// A measurement, and how it is simulated.
#[derive(Clone)]
pub(super) struct Point {
    /// The measurement in words.
    pub what: String,
    /// The measured value.
    pub measured: f64,
    source: String,
    figure: String,
    seeds: u64,
    bench: Bench,
    choice: Choice,
}

impl Point {
    /// Returns the points that `measurement` describes, one for each combination of its values.
    pub fn all(measurement: &Measurement, machine: &Description) -> Result<Vec<Point>, Error> {
        axes::check(&measurement.axes)?;
        combinations(&measurement.axes)
            .iter()
            .map(|binding| Point::new(measurement, machine, binding))
            .collect()
    }

    fn new(
        measurement: &Measurement,
        machine: &Description,
        binding: &Binding,
    ) -> Result<Point, Error> {
        let name = &measurement.bench;
        let benchmark = schedlab_bench::find(name)
            .ok_or_else(|| Error::new(format!("there is no benchmark {name}")))?;
        let mut values = Values::defaults(benchmark.parameters());
        let mut set = String::new();
        for (parameter, value) in &measurement.parameters {
            let value = fill(&text_of(value), binding);
            values = values
                .with(benchmark.parameters(), parameter, &value)
                .map_err(|error| Error::new(error).at(name))?;
            set += &format!(" --{parameter} {value}");
        }
        let scheduler = fill(&measurement.scheduler, binding);
        let choice = select::find(&scheduler).map_err(Error::new)?;
        let what = format!("{name}{set} {choice} {}", measurement.figure);
        let text = fill(&text_of(&measurement.measured), binding);
        let measured = text.parse().ok().filter(|&value: &f64| value.is_finite() && value > 0.0);
        let measured = measured.ok_or_else(|| {
            Error::new(format!(
                "measured is {text}; it must be a number above 0, because it is compared by ratios"
            ))
            .at(&what)
        })?;
        if measurement.source.trim().is_empty() {
            return Err(Error::new("source is empty; state where the value was published").at(what));
        }
        check_seeds(measurement.seeds).at(&what)?;
        let bench = Bench {
            values,
            config: RunConfig { costs: None, ..RunConfig::described(machine.clone()) },
            ..Bench::new(benchmark)
        };
        if let Some(why) = choice.refuses(&bench.needs()) {
            return Err(format!("{choice} cannot run {name}: {why}").into());
        }
        let (figure, source) = (measurement.figure.clone(), fill(&measurement.source, binding));
        Ok(Point { what, measured, source, figure, seeds: measurement.seeds, bench, choice })
    }

    /// Costs of the kernel's operations on the measured machine.
    pub fn kernel_costs(&self, costs: &CostModel) -> KernelCosts {
        costs.kernel_of(&self.choice.entry, &self.choice.release)
    }

    /// Costs of calls there.
    pub fn calls(&self, costs: &CostModel) -> CallCosts {
        setup::calls(costs, &self.choice)
    }

    /// Simulates the point with these costs.
    pub fn simulate(&self, costs: &CostModel) -> Result<f64, Error> {
        let of_seeds: Vec<f64> = (1..=self.seeds)
            .map(|seed| self.simulate_once(costs, seed))
            .collect::<Result<_, _>>()?;
        Ok(mean(&of_seeds))
    }

    fn simulate_once(&self, costs: &CostModel, seed: u64) -> Result<f64, Error> {
        let mut bench = self.bench.clone();
        (bench.config.costs, bench.config.seed) = (Some(costs.clone()), Some(seed));
        let run = bench.session(&self.choice).and_then(Session::finish).map_err(Error::new)?;
        if let Some(warning) = run.warning {
            return Err(warning.into());
        }
        run.findings.figure(&self.figure).ok_or_else(|| {
            let names: Vec<&str> =
                run.findings.figures.iter().map(|figure| figure.name.as_str()).collect();
            Error::new(format!(
                "there is no figure \"{}\"; the figures are {}",
                self.figure,
                names.join(", ")
            ))
        })
    }

    /// Returns the benchmark, its figure, and the conditions of the run: see `probe`.
    pub fn figure(&self) -> (&'static str, &str, Choice) {
        (self.bench.benchmark.name(), &self.figure, self.choice.clone())
    }

    pub fn compared(&self, before: f64, after: f64) -> Compared {
        Compared {
            what: self.what.clone(),
            source: self.source.clone(),
            measured: self.measured,
            before,
            after,
        }
    }
}
