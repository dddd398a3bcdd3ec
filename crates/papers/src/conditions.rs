//! Details that the published documents leave open, as conditions under which an experiment is run.
//!
//! The documents do not state how long after a tick the first task was started, whether a monitor
//! ran next to the loops, or whether the CPUs ticked together. Such details decide some numbers. So
//! an experiment is run under a sample of all that was possible, and its verdicts are about the
//! distribution.
//!
//! The sample is a Latin hypercube, drawn with the seed in the file. Among `points` conditions,
//! each value of each axis has an equal share. The phases are spread evenly over the tick's period:
//! one in each of `points` equal parts, at a random place there.

use crate::axes::{self, Binding, For, text_of};
use crate::error::{At, Error};
use schedlab_machine::SplitMix64;
use serde::Deserialize;
use toml::Value;

/// Number of conditions, unless a file specifies another. Fewer need a reason.
pub const POINTS: usize = 30;
/// Maximum number of conditions.
pub const POINTS_MAX: usize = 10_000;
/// Number of conditions in the reduced form, unless a file specifies another.
const REDUCED: usize = 3;
/// Name of the phase among the axes.
pub const PHASE: &str = "phase";
/// Name of the axis that says whether the CPUs tick together.
pub const TICKS: &str = "ticks";

/// Whether the CPUs tick together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ticks {
    /// All CPUs tick at the same time.
    Together,
    /// CPU i ticks i / (HZ x CPUs) seconds after the first.
    Skewed,
}

impl Ticks {
    /// Returns the word in a file.
    pub const fn name(self) -> &'static str {
        match self {
            Ticks::Together => "together",
            Ticks::Skewed => "skewed",
        }
    }
}

/// The section `[conditions]` of an experiment's file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Conditions {
    /// Reason why nothing is open: everything is run once, with ticks together from the start.
    pub none: Option<String>,
    /// Number of conditions that are drawn.
    pub points: usize,
    /// Reason why fewer than [`POINTS`] suffice.
    pub fewer: Option<String>,
    /// Number of conditions that are drawn in the reduced form.
    pub reduced: usize,
    /// Seed of the sample.
    pub seed: u64,
    /// Whether the phase of the first start against the tick is open.
    pub phase: bool,
    /// Ways in which the CPUs may tick.
    pub ticks: Vec<Ticks>,
    /// Other open details: values of `{name}` in the texts of runs.
    #[serde(rename = "for")]
    pub axes: For,
}

impl Default for Conditions {
    fn default() -> Conditions {
        Conditions {
            none: None,
            points: POINTS,
            fewer: None,
            reduced: REDUCED,
            seed: 1,
            phase: true,
            ticks: vec![Ticks::Together, Ticks::Skewed],
            axes: For::new(),
        }
    }
}

/// One condition.
#[derive(Clone, PartialEq, Debug)]
pub struct Condition {
    /// Number of the condition, from 1. It is also the seed of random draws in the runs.
    pub number: usize,
    /// Delay of CPU 0's tick after the full 1/HZ seconds, in millionths of 1/HZ.
    pub phase: u32,
    /// Way in which the CPUs tick.
    pub ticks: Ticks,
    /// Values of the axes' names in the texts of runs.
    pub binding: Binding,
    /// The axes with more than one value, and this condition's value of each.
    pub labels: Vec<(String, String)>,
}

/// A part of the tick's period.
const MILLIONTHS: u64 = 1_000_000;

impl Conditions {
    /// Checks the section by itself.
    ///
    /// # Errors
    /// What is wrong, and what would be right.
    pub fn check(&self) -> Result<(), Error> {
        let wrong = |message: String| Err(Error::new(message).at("conditions"));
        if self.none.is_some() {
            return Ok(());
        }
        axes::check(&self.axes).at("conditions")?;
        if self.ticks.is_empty() {
            return wrong("ticks is empty; give \"together\", \"skewed\" or both".into());
        }
        if let Some(name) = [PHASE, TICKS].into_iter().find(|name| self.axes.contains_key(*name)) {
            return wrong(format!("for.{name} always exists; write `{name} = ...`"));
        }
        let most = self.axes.values().map(Vec::len).chain([self.ticks.len()]).max().unwrap_or(1);
        if self.points < most || self.points > POINTS_MAX {
            let points = self.points;
            return wrong(format!(
                "points is {points}; give {most} (the length of the longest axis) to {POINTS_MAX}"
            ));
        }
        if self.points < POINTS && self.fewer.is_none() && self.phase {
            return wrong(format!(
                "points is {}; fewer than {POINTS} phases need a reason: `fewer = \"...\"`",
                self.points
            ));
        }
        match self.reduced {
            0 => wrong("reduced is 0; give at least 1".into()),
            _ => Ok(()),
        }
    }

    /// Draws the conditions; fewer in the reduced form.
    pub fn sample(&self, reduced: bool) -> Vec<Condition> {
        if self.none.is_some() {
            return vec![Condition {
                number: 1,
                phase: 0,
                ticks: Ticks::Together,
                binding: Binding::new(),
                labels: vec![],
            }];
        }
        let points = if reduced { self.reduced.min(self.points) } else { self.points };
        let ticks = self.column(points, self.ticks.len(), 0);
        let phases = self.phases(points);
        let mut conditions: Vec<Condition> = (0..points)
            .map(|point| {
                let ticks = self.ticks[ticks[point]];
                let label = (TICKS.to_string(), ticks.name().to_string());
                let several = self.ticks.len() > 1;
                Condition {
                    number: point + 1,
                    phase: phases[point],
                    ticks,
                    binding: Binding::new(),
                    labels: several.then_some(label).into_iter().collect(),
                }
            })
            .collect();
        for (place, (name, values)) in self.axes.iter().enumerate() {
            let column = self.column(points, values.len(), place as u64 + 2);
            for (condition, value) in conditions.iter_mut().zip(column) {
                condition.take(name, &values[value], values.len() > 1);
            }
        }
        conditions
    }

    /// Returns the index of the value, out of `values`, for each point. Each value occurs equally
    /// often, in a random order that differs between axes.
    fn column(&self, points: usize, values: usize, axis: u64) -> Vec<usize> {
        let mut column: Vec<usize> = (0..points).map(|point| point % values).collect();
        self.random(axis).shuffle(&mut column);
        column
    }

    /// Returns one phase in each of as many equal parts of the period as there are points.
    fn phases(&self, points: usize) -> Vec<u32> {
        if !self.phase {
            return vec![0; points];
        }
        let parts = self.column(points, points, 1);
        let mut random = self.random(1 << 32);
        let count = points as u64;
        let phase = |part: usize| {
            ((part as u64 * MILLIONTHS + random.below(MILLIONTHS)) / count).min(MILLIONTHS - 1)
        };
        parts.into_iter().map(phase).map(|phase| phase as u32).collect()
    }

    fn random(&self, axis: u64) -> SplitMix64 {
        let mut seeds = SplitMix64::new(self.seed);
        SplitMix64::new(seeds.next_u64() ^ axis)
    }
}

impl Condition {
    /// Sets the value of the axis `name`.
    fn take(&mut self, name: &str, value: &Value, several: bool) {
        let label = match value {
            Value::Table(names) => {
                self.binding
                    .extend(names.iter().map(|(name, value)| (name.clone(), text_of(value))));
                let label = names.get(name).map(text_of);
                label.unwrap_or_else(|| names.values().map(text_of).collect::<Vec<_>>().join(" "))
            }
            one => {
                self.binding.insert(name.into(), text_of(one));
                text_of(one)
            }
        };
        if several {
            self.labels.push((name.into(), label));
        }
    }

    /// Returns the delay of each CPU's tick after the full 1/`hz` seconds, ns. Empty: no delays.
    pub fn offsets_ns((phase, ticks): (u32, Ticks), cpus: u32, hz: u32) -> Vec<u64> {
        if phase == 0 && ticks == Ticks::Together {
            return vec![];
        }
        // If HZ does not divide a second, the last tick's distance to the next is 1 ns longer.
        let period_ns = 1_000_000_000 / u64::from(hz.max(1));
        let first_ns = u64::from(phase) * period_ns / MILLIONTHS;
        let offset = |cpu: u32| match ticks {
            Ticks::Together => first_ns,
            Ticks::Skewed => {
                (first_ns + u64::from(cpu) * period_ns / u64::from(cpus)) % period_ns.max(1)
            }
        };
        (0..cpus).map(offset).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn conditions(text: &str) -> Conditions {
        toml::from_str(text).expect("the text is well formed")
    }

    fn count(sample: &[Condition], name: &str) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for condition in sample {
            let (_, value) = condition.labels.iter().find(|(axis, _)| axis == name).expect(name);
            *counts.entry(value.clone()).or_default() += 1;
        }
        counts
    }

    /// Among thirty conditions, each of three spacings occurs ten times, each of four other values
    /// seven or eight times, and one phase lies in each thirtieth of the period, for any seed.
    #[test]
    fn a_sample_has_every_value_of_every_axis_evenly() {
        for seed in 1..20 {
            let text = format!(
                "seed = {seed}\nfor.spacing = [1, 1.5, 2]\n\
                 for.beside = [{{ beside = \"nothing\", s = 0 }}, {{ beside = \"shell\", s = 1 }},\n\
                 {{ beside = \"monitor\", s = 2 }}, {{ beside = \"both\", s = 3 }}]"
            );
            let sample = conditions(&text).sample(false);
            assert_eq!(sample.len(), POINTS);
            assert!(count(&sample, "spacing").values().all(|&count| count == 10));
            assert!(count(&sample, "beside").values().all(|&count| count == 7 || count == 8));
            assert!(count(&sample, TICKS).values().all(|&count| count == 15));
            let mut parts: Vec<u64> =
                sample.iter().map(|it| u64::from(it.phase) * 30 / MILLIONTHS).collect();
            parts.sort_unstable();
            assert_eq!(parts, (0..30).collect::<Vec<_>>());
            let numbers: Vec<usize> = sample.iter().map(|condition| condition.number).collect();
            assert_eq!(numbers, (1..=30).collect::<Vec<_>>());
        }
    }

    /// Axes are drawn independently: no value of one axis is tied to a value of another.
    #[test]
    fn axes_do_not_march_in_step() {
        let sample = conditions("for.a = [1, 2]\nfor.b = [1, 2]\npoints = 40").sample(false);
        let together = sample.iter().filter(|it| it.labels[1].1 == it.labels[2].1).count();
        assert!((8..32).contains(&together), "{together} of 40");
    }

    #[test]
    fn the_same_seed_draws_the_same_and_another_others() {
        let sample = |text: &str| conditions(text).sample(false);
        assert_eq!(sample("seed = 7"), sample("seed = 7"));
        assert_ne!(sample("seed = 7"), sample("seed = 8"));
        assert_eq!(conditions("reduced = 4").sample(true).len(), 4);
        assert_eq!(conditions("none = \"a formula\"").sample(false).len(), 1);
    }

    #[test]
    fn tables_name_several_things_at_once() {
        let text = "for.w = [{ w = \"alone\", monitor = false }, { w = \"seen\", monitor = true }]";
        for condition in conditions(text).sample(false) {
            let expected = if condition.binding["monitor"] == "true" { "seen" } else { "alone" };
            assert_eq!(condition.binding["w"], expected);
            assert_eq!(condition.labels[1], ("w".to_string(), expected.to_string()));
        }
    }

    /// At 1000 Hz, a quarter of the period is 250 us. Four CPUs that are skewed tick a quarter of
    /// the period after each other, and the last of them has wrapped around.
    #[test]
    fn offsets_are_parts_of_the_period() {
        assert_eq!(Condition::offsets_ns((0, Ticks::Together), 4, 1000), Vec::<u64>::new());
        assert_eq!(Condition::offsets_ns((250_000, Ticks::Together), 2, 1000), [250_000; 2]);
        assert_eq!(
            Condition::offsets_ns((250_000, Ticks::Skewed), 4, 1000),
            [250_000, 500_000, 750_000, 0]
        );
        let longest = Condition::offsets_ns((999_999, Ticks::Skewed), 4096, 1024);
        assert!(longest.iter().all(|&offset| offset < 1_000_000_000 / 1024));
    }

    #[test]
    fn what_makes_no_sense_is_told() {
        for (text, part) in [
            ("points = 10", "fewer than 30 phases need a reason"),
            ("points = 1", "give 2 (the length of the longest axis)"),
            ("points = 100000", "to 10000"),
            ("ticks = []", "ticks is empty"),
            ("for.phase = [1]", "for.phase always exists"),
            ("reduced = 0", "at least 1"),
            ("for.a = []", "for.a is empty"),
        ] {
            let error = conditions(text).check().expect_err(text).to_string();
            assert!(error.starts_with("conditions: ") && error.contains(part), "{text}: {error}");
        }
        assert_eq!(conditions("points = 5\nfewer = \"dear\"").check(), Ok(()));
        assert_eq!(conditions("none = \"a formula\"").check(), Ok(()));
        assert!(toml::from_str::<Conditions>("ticks = [\"sideways\"]").is_err());
    }
}
