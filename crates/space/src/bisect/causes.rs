//! Which of the differences between two points made a step: [`Causes`].
//!
//! Each difference is tried in both ways: the first point with this difference alone as the second
//! has it, and the second point with this difference alone as the first has it. A difference that
//! makes the step has the change in the first run, and takes it away in the second.

use super::measure::{self, Reading};
use super::point::Point;
use crate::metric::RunMetric;
use schedlab_core::{Difference, RULE_PREFIX, Tunable};
use schedlab_lab::explain::Side;
use schedlab_lab::parallel;
use std::num::NonZeroUsize;

/// Part of a change that a difference must make to be named as its cause.
const HALF: f64 = 0.5;

/// A difference between two points, and the figures with it.
#[derive(Clone, PartialEq, Debug)]
pub struct Cause {
    /// Name of the rule or of the setting.
    pub name: String,
    /// The question that the points answer differently, or the effect of the setting.
    pub text: String,
    /// Values at the two points. `None`: the release does not have it.
    pub values: (Option<i64>, Option<i64>),
    /// Whether it is a rule, rather than a setting with another default.
    pub is_rule: bool,
    /// Whether it can be switched alone.
    pub can_switch: bool,
    /// The figure of the first point with this difference as in the second.
    pub alone: Option<f64>,
    /// The figure of the second point with this difference as in the first.
    pub without: Option<f64>,
    /// Reason for which one of the two is missing.
    pub error: Option<String>,
}

/// The differences between two points.
#[derive(Clone, PartialEq, Debug)]
pub struct Causes {
    /// All differences that are known.
    pub all: Vec<Cause>,
    /// The figure of the first point with all differences that it can have as in the second, if
    /// there are several.
    pub together: Option<f64>,
    /// Figures of the two points.
    pub values: (f64, f64),
}

/// Conclusion from the figures with single differences.
#[derive(Clone, PartialEq, Debug)]
pub enum Verdict<'a> {
    /// One difference makes the change: alone it has at least half of it, and the second point has
    /// at most half of it without that.
    One(&'a Cause),
    /// Without this difference the second point has at most half of the change; alone it does not
    /// suffice, or the first point cannot have it.
    Needed(&'a Cause),
    /// This difference alone makes at least half of the change, but the second point has it without
    /// that, too, or the second point cannot be without it.
    Suffices(&'a Cause),
    /// No single difference makes half of the change, but all together do.
    Several,
    /// The differences that can be switched do not make half of the change.
    NotSeparable,
}

impl Causes {
    /// Returns the part of the change that the figure `value`, measured at the first point with
    /// some differences of the second, has.
    pub fn part(&self, value: f64) -> f64 {
        let (from, to) = self.values;
        (value - from) / (to - from)
    }

    /// Returns the parts of the change that a difference has alone, and that the second point loses
    /// without it.
    pub fn parts(&self, cause: &Cause) -> (Option<f64>, Option<f64>) {
        (cause.alone.map(|it| self.part(it)), cause.without.map(|it| 1.0 - self.part(it)))
    }

    /// Returns the differences that were tried, those with the largest part first.
    pub fn tried(&self) -> Vec<&Cause> {
        let mut tried: Vec<&Cause> = self.all.iter().filter(|cause| cause.can_switch).collect();
        let size = |cause: &Cause| {
            let (alone, without) = self.parts(cause);
            -(alone.unwrap_or(0.0).abs().max(without.unwrap_or(0.0).abs()))
        };
        tried.sort_by(|a, b| size(a).total_cmp(&size(b)));
        tried
    }

    /// Returns the differences that cannot be switched alone.
    pub fn fixed(&self) -> Vec<&Cause> {
        self.all.iter().filter(|cause| !cause.can_switch).collect()
    }

    /// Returns what the differences show.
    pub fn verdict(&self) -> Verdict<'_> {
        let half = |part: Option<f64>| part.is_some_and(|part| part >= HALF);
        let best = |wanted: &dyn Fn(bool, bool) -> bool| {
            let fits = |cause: &&&Cause| {
                let (alone, without) = self.parts(cause);
                wanted(half(alone), half(without))
            };
            let sum = |cause: &Cause| {
                // Beyond the whole change, more is not better.
                let (alone, without) = self.parts(cause);
                [alone, without].into_iter().flatten().map(|part| (part - 1.0).abs()).sum::<f64>()
            };
            let tried = self.tried();
            tried.iter().filter(fits).min_by(|a, b| sum(a).total_cmp(&sum(b))).copied()
        };
        if let Some(cause) = best(&|alone, without| alone && without) {
            return Verdict::One(cause);
        }
        if let Some(cause) = best(&|_, without| without) {
            return Verdict::Needed(cause);
        }
        if let Some(cause) = best(&|alone, _| alone) {
            return Verdict::Suffices(cause);
        }
        match half(self.together.map(|value| self.part(value))) {
            true => Verdict::Several,
            false => Verdict::NotSeparable,
        }
    }
}

/// Finds the differences between two points, and tries each.
pub(super) fn find(
    from: &Point,
    to: &Point,
    values: (f64, f64),
    metric: &RunMetric,
    threads: NonZeroUsize,
    done: impl Fn() + Sync,
) -> Causes {
    let (Some(first), Some(second)) = (from.side(), to.side()) else {
        return Causes { all: vec![], together: None, values };
    };
    let mut all = vec![];
    if from.choice != to.choice {
        let is_one_scheduler = from.choice.entry.name == to.choice.entry.name;
        let lists = [first, second].map(differences);
        let is_one_code = lists.iter().all(|list| !list.is_empty());
        all = rules(&lists);
        // Settings of unrelated schedulers can have the same names.
        if is_one_scheduler || is_one_code {
            all.extend(settings(first, second));
        }
    }
    // The runs: of the first point with one difference of the second, the reverse, and of the
    // first with all.
    let mut trials = vec![];
    for (place, cause) in all.iter().enumerate().filter(|(_, cause)| cause.can_switch) {
        // A setting that only one of the releases has is switched off in that one.
        let (old, new) = cause.values;
        trials.extend(old.map(|_| (Some(place), true, new.unwrap_or(0))));
        trials.extend(new.map(|_| (Some(place), false, old.unwrap_or(0))));
    }
    if all.iter().filter_map(Cause::adopted).count() > 1 {
        trials.push((None, true, 0));
    }
    let readings: Vec<Reading> = parallel::map(&trials, threads, |&(place, is_first, value)| {
        let (side, point) = if is_first { (first, from) } else { (second, to) };
        let set = match place {
            Some(place) => vec![(all[place].setting(), value)],
            None => all.iter().filter_map(Cause::adopted).collect(),
        };
        let reading = with(side, point, &set, metric);
        done();
        reading
    });
    let mut together = None;
    for ((place, is_first, _), reading) in trials.into_iter().zip(readings) {
        let Some(cause) = place.map(|place| &mut all[place]) else {
            together = reading.value;
            continue;
        };
        let figure = if is_first { &mut cause.alone } else { &mut cause.without };
        *figure = reading.value;
        cause.error = cause.error.take().or(reading.error);
    }
    Causes { all, together, values }
}

impl Cause {
    fn new(name: &str, text: &str, values: (Option<i64>, Option<i64>), is_rule: bool) -> Cause {
        Cause {
            name: name.into(),
            text: text.trim().into(),
            values,
            is_rule,
            can_switch: true,
            alone: None,
            without: None,
            error: None,
        }
    }

    /// Returns the name of the tunable that switches it.
    pub fn setting(&self) -> String {
        match self.is_rule {
            true => format!("{RULE_PREFIX}{}", self.name),
            false => self.name.clone(),
        }
    }

    /// Returns the tunable that gives it to the first point, as the second has it.
    pub(super) fn adopted(&self) -> Option<(String, i64)> {
        let (old, new) = self.values;
        old.filter(|_| self.can_switch).map(|_| (self.setting(), new.unwrap_or(0)))
    }
}

/// Runs a point with some tunables.
fn with(side: Side<'_>, point: &Point, set: &[(String, i64)], metric: &RunMetric) -> Reading {
    let (_, scheduler) = side;
    let mut scheduler = scheduler.clone();
    // What the user sets remains.
    let is_free = |name: &String| !point.set.iter().any(|setting| setting.name() == *name);
    let set = set.iter().filter(|(name, _)| is_free(name)).cloned();
    // Rules come first: they can be switched only at the start.
    scheduler.tunables.splice(0..0, set);
    measure::read(side, &scheduler, metric)
}

/// Returns the named differences of a point's release.
fn differences((prepared, scheduler): Side<'_>) -> Vec<Difference> {
    match (prepared.experiment(), prepared.sweep()) {
        (Some(experiment), _) => experiment.config.differences_of(&scheduler.choice),
        (None, Some(sweep)) => sweep.bench().config.differences_of(&scheduler.choice),
        (None, None) => vec![],
    }
}

/// Returns the named rules that differ.
fn rules([olds, news]: &[Vec<Difference>; 2]) -> Vec<Cause> {
    let changed = |old: &Difference| {
        let new = news.iter().find(|new| new.name == old.name && new.is_on != old.is_on)?;
        let values = (Some(i64::from(old.is_on)), Some(i64::from(new.is_on)));
        let cause = Cause::new(old.name, old.text, values, true);
        Some(Cause { can_switch: old.can_switch && new.can_switch, ..cause })
    };
    olds.iter().filter_map(changed).collect()
}

/// Returns the settings with other defaults, and the switches that only one of the releases has.
fn settings(first: Side<'_>, second: Side<'_>) -> Vec<Cause> {
    let list = |(prepared, scheduler): Side<'_>| -> Vec<Tunable> {
        match (prepared.experiment(), prepared.sweep()) {
            (Some(experiment), _) => experiment.config.tunables_of(&scheduler.choice),
            (None, Some(sweep)) => sweep.bench().config.tunables_of(&scheduler.choice),
            (None, None) => vec![],
        }
    };
    let (olds, news) = (list(first), list(second));
    let find = |list: &[Tunable], name: &str| {
        list.iter().find(|tunable| tunable.name == name).map(|tunable| tunable.value)
    };
    let mut causes = vec![];
    for old in &olds {
        let values = (Some(old.value), find(&news, &old.name));
        let is_switch = old.range == (0, 1) && old.value == 1;
        if values.1.is_some_and(|new| new != old.value) || (values.1.is_none() && is_switch) {
            causes.push(Cause::new(&old.name, old.help, values, false));
        }
    }
    for new in &news {
        let is_switch = new.range == (0, 1) && new.value == 1;
        if find(&olds, &new.name).is_none() && is_switch {
            causes.push(Cause::new(&new.name, new.help, (None, Some(new.value)), false));
        }
    }
    causes
}
