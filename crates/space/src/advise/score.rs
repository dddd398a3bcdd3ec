//! Predictions compared with what then really happened: [`check`].

use super::aim::{Bound, Measure, Measured};
use super::candidates::{facts, groups};
use super::change::list;
use super::effect::{Effect, FLOOR_NS, relative};
use super::figure::Figure;
use super::search::{effect, worst_grade};
use super::work::Work;
use schedlab_lab::replay::{Replay, ReplayReport};
use schedlab_replay::Trace;
use std::num::NonZeroUsize;

/// A recording before a change, and what happened after it.
#[derive(Clone, Debug)]
pub struct CheckSpec {
    /// The recording before, and how to replay it.
    pub before: (Replay, Trace),
    /// Figures after the change.
    pub after: Outcome,
    /// The changes. Empty: the differences that the recordings and their side files show.
    pub changes: Vec<String>,
    /// Figures to compare. Empty: run time, waiting time and the 99th percentile of the large
    /// groups of tasks.
    pub measures: Vec<Measure>,
}

/// Figures after a change.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// A recording.
    Recording(Box<(Replay, Trace)>),
    /// Figures that were measured in another way.
    Measured(Vec<Measured>),
}

/// A prediction and what happened.
#[derive(Clone, PartialEq, Debug)]
pub struct Scored {
    /// The prediction.
    pub effect: Effect,
    /// The figure after the change. `None`: only its change is known.
    pub after: Option<f64>,
    /// Real change, relative to the value before.
    pub real: f64,
    /// Grade of the replay for these tasks.
    pub grade: &'static str,
}

impl Scored {
    /// Whether the direction of the change was predicted. Where the predicted change is within
    /// chance, or the real one below 50 µs, the real one must be in the band.
    pub fn is_direction_right(&self) -> bool {
        let is_small = self.effect.measure.figure.is_time()
            && self.effect.recorded.is_some_and(|it| (it * self.real).abs() < FLOOR_NS);
        match self.effect.change() {
            Some(change) if !self.effect.is_alike() && !is_small => {
                (change > 0.0) == (self.real > 0.0)
            }
            _ => self.is_in_band(),
        }
    }

    /// Whether the real change is in the predicted band.
    pub fn is_in_band(&self) -> bool {
        self.effect.range().is_some_and(|(least, most)| (least..=most).contains(&self.real))
    }
}

/// Score of a prediction.
#[derive(Clone, Debug)]
pub struct Score {
    /// Replay of the recording before.
    pub report: ReplayReport,
    /// The changes.
    pub changes: Vec<String>,
    /// Figures.
    pub figures: Vec<Scored>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// Compares what a replay predicts for a change with what happened. `done` is called after each
/// run.
///
/// # Errors
/// The change is unknown or cannot be made, tasks are missing, or a run fails.
pub fn check(
    spec: &CheckSpec,
    threads: NonZeroUsize,
    done: impl Fn() + Sync,
) -> Result<Score, String> {
    let (replay, trace) = &spec.before;
    let mut before = Work::new(replay.clone(), trace.clone())?;
    let mut notes = vec![];
    let mut after = match &spec.after {
        Outcome::Recording(after) => Some(Work::new(after.0.clone(), after.1.clone())?),
        Outcome::Measured(_) => None,
    };
    let changes = match (&after, spec.changes.is_empty()) {
        (_, false) => spec.changes.clone(),
        (Some(after), true) => {
            let found = differences(&before, after)?;
            if found.is_empty() {
                return Err(format!(
                    "{} and {} show no change of settings; name it with --change",
                    replay.name,
                    after.replay().name
                ));
            }
            found
        }
        (None, true) => return Err("name the change that was made with --change".into()),
    };
    // The recording after the change has it already; its own settings are not replayed.
    before.check(&changes)?;
    let mut reals: Vec<Bound> = vec![];
    match &spec.after {
        Outcome::Measured(measured) => {
            for one in measured {
                before.measure(&one.measure)?;
                reals.push(one.value);
            }
        }
        Outcome::Recording(_) => {
            let Some(after) = after.as_mut() else { return Err("no recording".into()) };
            let measures = match spec.measures.is_empty() {
                true => usual(&before),
                false => spec.measures.clone(),
            };
            for measure in measures {
                match pair(&mut before, after, &measure) {
                    Ok(value) => reals.push(Bound::Absolute(value)),
                    // Of the usual figures, those that both recordings have are compared.
                    Err(_) if spec.measures.is_empty() => {}
                    Err(error) => return Err(error),
                }
            }
        }
    }
    if reals.is_empty() {
        return Err("there are no figures that both have".into());
    }
    let seeds: Vec<u64> = (0..u64::from(replay.seeds)).collect();
    let report = before.base.run(threads).map_err(|error| error.to_string())?;
    let base = before.run_base(&seeds, threads, &done)?;
    let mut changed = before.run_changed(std::slice::from_ref(&changes), &seeds, threads, &done);
    let changed = changed.pop().unwrap_or_else(|| Ok(vec![]))?;
    let mut figures = vec![];
    for (at, real) in reals.iter().enumerate() {
        let Some(effect) = effect(&before, &base, &changed, at) else {
            let measure = before.measures().nth(at);
            let name = measure.map_or(String::new(), ToString::to_string);
            notes.push(format!("{name}: a replay has too few values, or did not end"));
            continue;
        };
        let recorded = effect.recorded.unwrap_or_default();
        let (value, change) = match *real {
            Bound::Absolute(value) => (Some(value), relative(value, recorded)),
            Bound::Relative(change) => (None, Some(change)),
        };
        let Some(real) = change else {
            notes.push(format!("{}: it was 0 before the change", effect.measure));
            continue;
        };
        // Wakeups that never wait say nothing about a change.
        let is_floor = value == Some(FLOOR_NS) && recorded == FLOOR_NS;
        if spec.measures.is_empty() && is_floor {
            continue;
        }
        let names = before.names_of(at).into_iter().map(String::from).collect::<Vec<_>>();
        let grade = worst_grade(&report, &names.iter().collect::<Vec<_>>());
        figures.push(Scored { effect, after: value, real, grade });
    }
    Ok(Score { report, changes, figures, notes })
}

/// Adds a measure, and returns its value after the change. Nothing is added to `before` if one of
/// the recordings lacks the figure.
fn pair(before: &mut Work, after: &mut Work, measure: &Measure) -> Result<f64, String> {
    let number = after.measure(measure)?;
    let value = after.recorded[number].unwrap_or_default();
    // Both have the same kind of percentile.
    let known = after.measures().nth(number).cloned().unwrap_or_else(|| measure.clone());
    before.measure(&known)?;
    Ok(value)
}

/// Figures of the large groups of tasks.
fn usual(work: &Work) -> Vec<Measure> {
    let names = work.names();
    let all_ns: u64 = names.iter().map(|(_, cpu_ns)| cpu_ns).sum();
    let large = names
        .into_iter()
        .filter(|(name, cpu_ns)| cpu_ns * 100 >= all_ns && !name.contains([',', '*', '?', '[']));
    let of = |name: String| {
        [Figure::Run, Figure::Wait, Figure::Percentile(50), Figure::Percentile(99)]
            .map(|figure| Measure { figure, tasks: Some(name.clone()) })
    };
    large.flat_map(|(name, _)| of(name)).collect()
}

/// Returns the changes of settings between two recordings of the same work: nice values, which
/// traces contain, and what side files and files of groups contain.
fn differences(before: &Work, after: &Work) -> Result<Vec<String>, String> {
    let mut found = vec![];
    let cpus = after.base.trace().cpus;
    let all: Vec<u32> = (0..cpus).collect();
    let names = after.names();
    let is_plain = |name: &str| !name.contains([',', '*', '?', '[']);
    for (name, _) in before.names().iter().filter(|(name, _)| is_plain(name)) {
        if !names.iter().any(|(other, _)| other == name) {
            continue;
        }
        let (Some(was), Some(is)) = (facts(before, name), facts(after, name)) else { continue };
        if was.policy != is.policy {
            found.push(format!("chrt {name} {}", is.policy));
        }
        if let Some(nice) = is.nice.filter(|nice| was.nice.is_some_and(|was| was != *nice)) {
            found.push(format!("renice {name} {nice}"));
        }
        if was.cpus != is.cpus {
            found.push(format!("taskset {name} {}", list(is.cpus.as_ref().unwrap_or(&all))));
        }
    }
    let of_after = groups(after)?;
    let mut had_sessions = false;
    for was in groups(before)? {
        had_sessions |= was.is_session();
        let Some(is) = of_after.iter().find(|it| it.path == was.path && !it.is_session()) else {
            continue;
        };
        if was.shares != is.shares {
            found.push(format!("group {} cpu.shares={}", is.path, is.shares));
        }
        if was.cpus != is.cpus {
            let cpus = list(is.cpus.as_ref().unwrap_or(&all));
            found.push(format!("group {} cpuset.cpus={cpus}", is.path));
        }
        let limit = |quota: schedlab_core::Quota| (quota.quota_us, quota.period_us, quota.burst_us);
        if limit(was.quota) != limit(is.quota) {
            let quota = is.quota.quota_us.map_or("max".into(), |us| us.to_string());
            let burst = match is.quota.burst_us {
                0 => String::new(),
                us => format!(" cpu.max.burst={us}"),
            };
            found.push(format!("group {} cpu.max={quota} {}{burst}", is.path, is.quota.period_us));
        }
    }
    if had_sessions && !of_after.iter().any(|group| group.is_session()) {
        found.push("autogroup off".into());
    }
    let (was, is) = (before.base.recorded_scheduler(), after.base.recorded_scheduler());
    if was != is {
        found.push(format!("release {is}"));
    } else {
        for (was, is) in before.base.recorded_tunables().iter().zip(after.base.recorded_tunables())
        {
            if was.name == is.name && was.value != is.value {
                found.push(format!("set {}={}", is.name, is.value));
            }
        }
    }
    Ok(found)
}
