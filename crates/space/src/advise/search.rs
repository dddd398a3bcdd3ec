//! The search for changes that help: [`advise`].

use super::aim::{Aim, Measure};
use super::candidates::{Kind, Ladder, candidates};
use super::change::Change;
use super::effect::Effect;
use super::figure::Figure;
use super::work::{Values, Work, band};
use schedlab_lab::replay::{Replay, ReplayReport};
use schedlab_replay::Trace;
use schedlab_replay::score::Band;
use std::collections::VecDeque;
use std::num::NonZeroUsize;

/// First seed of the search. The held-back seeds are the seeds of a replay, from 0.
const SEARCH: u64 = 1_000_000;

/// Number of seeds with which each change is tried first.
const SCREEN: usize = 5;

/// Number of seeds with which the most promising changes are tried.
const REFINE: usize = 10;

/// Number of subjects of which other values are tried, and which are tried together.
const PROMISING: usize = 6;

/// Maximum number of changes in a combination.
const TOGETHER_MAX: usize = 3;

/// Maximum number of suggestions.
const SUGGESTIONS_MAX: usize = 5;

/// Least improvement of the objective by advice, and by a further change of a combination.
const LEAST_GAIN: f64 = 0.02;

/// Probability with which chance alone may improve as many pairs of runs as advice requires.
const CHANCE: f64 = 0.02;

/// Smallest budget: one change can be tried and judged.
pub const BUDGET_MIN: usize = 60;

/// Request for advice.
#[derive(Clone, Debug)]
pub struct AdviseSpec {
    /// The recording, and how to replay it. [`Replay::seeds`] is the number of held-back seeds, and
    /// [`Replay::only`] selects the tasks that may be changed.
    pub replay: Replay,
    /// The recording.
    pub trace: Trace,
    /// Second recording of the same work, by which changes are judged.
    pub hold_out: Option<(Replay, Trace)>,
    /// The aim.
    pub aim: Aim,
    /// Maximum number of runs.
    pub budget: usize,
    /// Kinds of changes to try. Empty: all.
    pub kinds: Vec<Kind>,
    /// Releases to try.
    pub releases: Vec<String>,
}

/// Advice about a recording.
#[derive(Clone, Debug)]
pub struct Advice {
    /// Replay of the recording by which changes were judged.
    pub report: ReplayReport,
    /// Objective: in the recording, and in its replay.
    pub objective: (Measure, Option<f64>, Band),
    /// Whether larger values are better.
    pub is_max: bool,
    /// Conditions, as written.
    pub conditions: Vec<String>,
    /// Suggestions, the best first.
    pub suggestions: Vec<Suggestion>,
    /// The best change that was judged, if nothing helps.
    pub nearest: Option<Suggestion>,
    /// Number of changes and combinations that were tried.
    pub tried: usize,
    /// Number of runs.
    pub runs: usize,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// A change, or several together, with the predicted effects.
#[derive(Clone, Debug)]
pub struct Suggestion {
    /// The changes.
    pub changes: Vec<Change>,
    /// Effect on the objective.
    pub objective: Effect,
    /// Number of seeds with which the objective is better than without the change, and number of
    /// all.
    pub better: (usize, usize),
    /// Effects on the figures of the conditions.
    pub conditions: Vec<Effect>,
    /// Effects on other tasks that exceed chance, the largest first.
    pub sides: Vec<Effect>,
    /// Grade of the replay for the changed tasks and the tasks of the aim: `close`, `fair` or
    /// `poor`.
    pub grade: &'static str,
}

/// Changes that were tried.
#[derive(Clone)]
struct Tried {
    changes: Vec<Change>,
    /// Values with the seeds of the search.
    runs: Vec<Values>,
    /// Improvement of the objective, relative to the value before.
    gain: f64,
    /// Whether the conditions hold.
    holds: bool,
}

/// Searches changes that serve the aim. `done` is called after each run.
///
/// # Errors
/// The aim names unknown tasks, the recording cannot be replayed, or a run without changes fails.
pub fn advise(
    spec: &AdviseSpec,
    threads: NonZeroUsize,
    done: impl Fn() + Sync,
) -> Result<Advice, String> {
    let mut work = Work::new(spec.replay.clone(), spec.trace.clone())?;
    let aim = of_aim(&mut work, &spec.aim)?;
    let in_aim: Vec<String> = (0..aim.conditions.len() + 1)
        .flat_map(|measure| work.names_of(measure).into_iter().map(String::from))
        .collect();
    let held_back = u64::from(spec.replay.seeds);
    let mut judge = match &spec.hold_out {
        Some((replay, trace)) => {
            let mut judge = Work::new(replay.clone(), trace.clone())?;
            // The kind of a percentile is that of the first recording.
            for measure in work.measures() {
                judge.measure(measure)?;
            }
            Some(judge)
        }
        None => None,
    };
    let mut notes = vec![];
    let mut search = Search::new(spec, &work, &aim, threads, &done)?;
    let ladders = candidates(&work, &in_aim, &spec.kinds, &spec.releases)?;
    search.screen(&ladders, held_back as usize, &mut notes);
    search.refine(&ladders);
    search.combine();
    let (finalists, tried) = search.finalists();
    let mut runs = work.runs();

    let judge = judge.as_mut().unwrap_or(&mut work);
    let sides = side_measures(judge);
    let report = judge.base.run(threads).map_err(|error| error.to_string())?;
    runs += held_back as usize;
    let already = judge.runs();
    let seeds: Vec<u64> = (0..held_back).collect();
    let before = judge.run_base(&seeds, threads, &done)?;
    let sets: Vec<Vec<String>> = finalists.iter().map(|it| texts(it)).collect();
    let results = judge.run_changed(&sets, &seeds, threads, &done);
    let mut suggestions = vec![];
    let mut rejected: Vec<Suggestion> = vec![];
    for (changes, result) in finalists.into_iter().zip(results) {
        let after = match result {
            Ok(after) => after,
            Err(error) => {
                notes.push(format!("{}: {error}", texts(&changes).join("; ")));
                continue;
            }
        };
        let effects = |measures: &[usize]| -> Vec<Effect> {
            let effect = |&at: &usize| effect(judge, &before, &after, at);
            measures.iter().filter_map(effect).collect()
        };
        let Some(objective) = effects(&[0]).pop() else { continue };
        let of_conditions = effects(&aim.numbers());
        let holds = of_conditions.len() == aim.conditions.len()
            && aim.conditions.iter().zip(&of_conditions).all(|(condition, effect)| {
                condition.holds(effect.before.median, effect.after.median)
            });
        let mut others = effects(&sides);
        others.retain(|effect| !effect.is_alike());
        let size = |effect: &Effect| effect.change().map_or(f64::INFINITY, f64::abs);
        others.sort_by(|one, other| size(other).total_cmp(&size(one)));
        let concerned = changes.iter().flat_map(|change| change.tasks.iter()).chain(&in_aim);
        let grade = worst_grade(&report, &concerned.collect::<Vec<_>>());
        let values = |runs: &[Values]| runs.iter().filter_map(|run| run[0]).collect::<Vec<f64>>();
        let noise = Noise::of(&values(&before), &values(&after), aim.is_max);
        let gain = gain(&objective.before, &objective.after, aim.is_max);
        let is_beyond = gain >= LEAST_GAIN && noise.is_exceeded();
        let suggestion = Suggestion {
            changes,
            objective,
            better: (noise.better, noise.pairs),
            conditions: of_conditions,
            sides: others,
            grade,
        };
        if holds && is_beyond {
            suggestions.push(suggestion);
        } else if holds {
            rejected.push(suggestion);
        }
    }
    let of = |it: &Suggestion| gain(&it.objective.before, &it.objective.after, aim.is_max);
    suggestions.sort_by(|one, other| of(other).total_cmp(&of(one)));
    rejected.sort_by(|one, other| of(other).total_cmp(&of(one)));
    // Several changes together must be better than each of them.
    let best_single =
        suggestions.iter().filter(|it| it.changes.len() == 1).map(of).fold(0.0, f64::max);
    suggestions.retain(|it| it.changes.len() == 1 || of(it) >= best_single + LEAST_GAIN);
    suggestions.truncate(SUGGESTIONS_MAX);
    let objective = judge.measures().next().cloned();
    let objective = objective.unwrap_or_else(|| spec.aim.objective.clone());
    let replayed = band(&before, 0).unwrap_or_default();
    runs += judge.runs() - if spec.hold_out.is_some() { 0 } else { already };
    Ok(Advice {
        report,
        objective: (objective, judge.recorded[0], replayed),
        is_max: aim.is_max,
        conditions: aim.conditions.iter().map(ToString::to_string).collect(),
        nearest: rejected.into_iter().next().filter(|_| suggestions.is_empty()),
        suggestions,
        tried,
        runs,
        notes,
    })
}

/// Adds the measures of the aim, and returns the aim with figures that are known: the objective is
/// measure 0, and the conditions follow.
fn of_aim(work: &mut Work, aim: &Aim) -> Result<Aim, String> {
    work.measure(&aim.objective)?;
    for condition in &aim.conditions {
        work.measure(&condition.measure)?;
    }
    let mut aim = aim.clone();
    for (at, measure) in work.measures().enumerate() {
        match at {
            0 => aim.objective = measure.clone(),
            _ => aim.conditions[at - 1].measure = measure.clone(),
        }
    }
    Ok(aim)
}

impl Aim {
    /// Numbers of the measures of the conditions.
    fn numbers(&self) -> Vec<usize> {
        (1..=self.conditions.len()).collect()
    }
}

/// Adds the measures by which side effects are judged: the ends and the 99th (or 95th, or
/// 50th) percentiles of the large groups of tasks. Returns their numbers.
fn side_measures(work: &mut Work) -> Vec<usize> {
    let names = work.names();
    let all_ns: u64 = names.iter().map(|(_, cpu_ns)| cpu_ns).sum();
    let large = names.into_iter().filter(|(_, cpu_ns)| cpu_ns * 100 >= all_ns);
    let mut numbers = vec![];
    for (name, _) in large.filter(|(name, _)| !name.contains([',', '*', '?', '['])) {
        let mut add = |figure| {
            let measure = Measure { figure, tasks: Some(name.clone()) };
            let number = work.measure(&measure).ok();
            numbers.extend(number);
            number.is_some()
        };
        add(Figure::End);
        let _ = [99, 95, 50].into_iter().any(|percent| add(Figure::Percentile(percent)));
    }
    // The aim's own figures are shown already.
    let of_aim: Vec<Measure> = work.measures().cloned().collect();
    numbers.retain(|&number| !of_aim[..number].contains(&of_aim[number]));
    numbers
}

/// Returns the worst grade of the groups of tasks with these names, and of the recording.
pub(super) fn worst_grade(report: &ReplayReport, names: &[&String]) -> &'static str {
    let rank = |grade: &str| ["close", "fair", "poor"].iter().position(|it| *it == grade);
    let of_groups = report.groups.iter().filter(|group| names.contains(&&group.name));
    let grades = of_groups.map(|group| group.grade).chain([report.grade]);
    grades.max_by_key(|grade| rank(grade)).unwrap_or(report.grade)
}

/// Returns the effect on a measure. `None`: a run lacks the figure.
pub(super) fn effect(
    work: &Work,
    before: &[Values],
    after: &[Values],
    at: usize,
) -> Option<Effect> {
    let measure = work.measures().nth(at)?.clone();
    let (before, after) = (band(before, at)?, band(after, at)?);
    Some(Effect { measure, recorded: work.recorded[at], before, after })
}

/// Returns the improvement of the medians, relative to the value before.
fn gain(before: &Band, after: &Band, is_max: bool) -> f64 {
    let less = (before.median - after.median) / before.median.abs().max(1.0);
    if is_max { -less } else { less }
}

/// Comparison of runs with and without a change, by seed.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Noise {
    /// Number of seeds with which the run with the change is better.
    better: usize,
    /// Number of all seeds.
    pairs: usize,
    /// Whether the median with the change is better than three quarters of the runs without.
    is_beyond_quartile: bool,
}

impl Noise {
    fn of(before: &[f64], after: &[f64], is_max: bool) -> Noise {
        let sign = if is_max { -1.0 } else { 1.0 };
        let both = before.iter().zip(after);
        let better = both.filter(|(was, is)| sign * **is < sign * **was).count();
        let mut sorted: Vec<f64> = before.iter().map(|value| sign * value).collect();
        sorted.sort_by(f64::total_cmp);
        let quartile = sorted.get(sorted.len() / 4).copied();
        let median = sign * Band::of(after.to_vec()).median;
        let is_beyond_quartile = quartile.is_some_and(|quartile| median < quartile);
        Noise { better, pairs: before.len().min(after.len()), is_beyond_quartile }
    }

    /// Whether the improvement exceeds chance: with changes that have no effect, as many pairs
    /// would be better in at most [`CHANCE`] of all cases.
    fn is_exceeded(self) -> bool {
        let mut probability = 0.0;
        let mut term = 0.5_f64.powi(self.pairs as i32);
        for better in (self.better..=self.pairs).rev() {
            // Binomial coefficient of `better`, built up from the end.
            probability += term;
            term *= better as f64 / (self.pairs - better + 1) as f64;
        }
        // With few seeds, all must be better.
        let is_rare = probability <= CHANCE || self.better == self.pairs;
        self.pairs > 0 && is_rare && self.is_beyond_quartile
    }
}

fn texts(changes: &[Change]) -> Vec<String> {
    changes.iter().map(|change| change.text.clone()).collect()
}

/// State of a search.
struct Search<'a, F> {
    work: &'a Work,
    aim: &'a Aim,
    threads: NonZeroUsize,
    done: &'a F,
    budget: usize,
    seeds: Vec<u64>,
    /// Runs without changes.
    base: Vec<Values>,
    tried: Vec<Tried>,
    /// Best changes together.
    together: Option<Tried>,
    count: usize,
}

impl<'a, F: Fn() + Sync> Search<'a, F> {
    fn new(
        spec: &AdviseSpec,
        work: &'a Work,
        aim: &'a Aim,
        threads: NonZeroUsize,
        done: &'a F,
    ) -> Result<Search<'a, F>, String> {
        let seeds: Vec<u64> = (SEARCH..).take(REFINE).collect();
        let base = work.run_base(&seeds, threads, done)?;
        if band(&base, 0).is_none() {
            return Err(format!(
                "{}: the replays of the recording have too few values, or do not end",
                aim.objective
            ));
        }
        let budget = spec.budget;
        let (tried, together) = (vec![], None);
        Ok(Search { work, aim, threads, done, budget, seeds, base, tried, together, count: 0 })
    }

    /// Tries sets of changes with the first `seeds` seeds. A set that cannot be made is left out.
    fn try_all(&mut self, sets: Vec<Vec<Change>>, seeds: usize) -> Vec<Tried> {
        let changes: Vec<Vec<String>> = sets.iter().map(|set| texts(set)).collect();
        let results =
            self.work.run_changed(&changes, &self.seeds[..seeds], self.threads, self.done);
        self.count += sets.len();
        let base = &self.base[..seeds];
        let judged = sets.into_iter().zip(results).filter_map(|(changes, runs)| {
            let runs = runs.ok()?;
            let gain = gain(&band(base, 0)?, &band(&runs, 0)?, self.aim.is_max);
            let holds = self.aim.conditions.iter().enumerate().all(|(at, condition)| {
                let both = band(base, at + 1).zip(band(&runs, at + 1));
                both.is_some_and(|(was, is)| condition.holds(was.median, is.median))
            });
            Some(Tried { changes, runs, gain, holds })
        });
        judged.collect()
    }

    /// Tries the first changes of all subjects, as far as the budget allows.
    fn screen(&mut self, ladders: &[Ladder], held_back: usize, notes: &mut Vec<String>) {
        // What the other steps may need.
        let later = held_back * (SUGGESTIONS_MAX + 3) + REFINE * (3 * PROMISING);
        let room = self.budget.saturating_sub(later + REFINE).max(self.budget / 4) / SCREEN;
        let all: Vec<&Change> = ladders.iter().flat_map(|ladder| &ladder.first).collect();
        if all.len() > room {
            notes.push(format!(
                "{} of {} changes were not tried; a larger --budget tries them",
                all.len() - room,
                all.len()
            ));
        }
        let sets = all.into_iter().take(room).map(|change| vec![change.clone()]).collect();
        self.tried = self.try_all(sets, SCREEN);
    }

    /// Returns the best change of each subject that keeps the conditions, the best subject first.
    fn best_of_subjects(&self) -> Vec<&Tried> {
        let mut best = self.promising();
        best.retain(|it| it.holds);
        best
    }

    /// Returns the best change of each subject, the best subject first. Those that keep the
    /// conditions precede the others, of which a smaller change may keep them.
    fn promising(&self) -> Vec<&Tried> {
        let mut best: Vec<&Tried> = vec![];
        let mut order: Vec<&Tried> = self.tried.iter().filter(|it| it.gain > 0.0).collect();
        order.sort_by(|one, other| {
            other.holds.cmp(&one.holds).then(other.gain.total_cmp(&one.gain))
        });
        for tried in order {
            if !best.iter().any(|it| it.changes[0].subject == tried.changes[0].subject) {
                best.push(tried);
            }
        }
        best
    }

    /// Tries other values of the most promising changes, and these again with more seeds.
    fn refine(&mut self, ladders: &[Ladder]) {
        let best = self.promising();
        let best: Vec<Change> =
            best.into_iter().take(PROMISING).map(|it| it.changes[0].clone()).collect();
        let mut sets: Vec<Vec<Change>> = vec![];
        for change in &best {
            let ladder = ladders.iter().find(|it| it.first.contains(change));
            let more = ladder.into_iter().flat_map(|ladder| &ladder.more);
            sets.extend(more.map(|change| vec![change.clone()]));
        }
        let room = self.budget.saturating_sub(self.work.runs()) / 3 / SCREEN;
        sets.truncate(room);
        let more = self.try_all(sets, SCREEN);
        self.tried.extend(more);
        let best = self.best_of_subjects();
        let again: Vec<Vec<Change>> =
            best.into_iter().take(PROMISING).map(|it| it.changes.clone()).collect();
        let again = self.try_all(again, REFINE);
        // A subject of which a change was tried with all seeds is represented by it.
        self.tried.retain(|it| {
            !again.iter().any(|other| other.changes[0].subject == it.changes[0].subject)
        });
        self.tried.extend(again);
    }

    /// Adds promising changes to the best one as long as each improves the result.
    fn combine(&mut self) {
        let best = self.best_of_subjects().into_iter().filter(|it| it.runs.len() == REFINE);
        let mut best: VecDeque<Tried> = best.cloned().collect();
        let Some(mut standing) = best.pop_front() else { return };
        for one in best {
            let is_over = self.work.runs() + REFINE > self.budget;
            if standing.changes.len() >= TOGETHER_MAX || is_over {
                break;
            }
            let set = [&standing.changes[..], &one.changes].concat();
            let Some(tried) = self.try_all(vec![set], REFINE).pop() else { continue };
            let improved = standing.runs.iter().zip(&tried.runs).filter(|(was, is)| {
                let both = was[0].zip(is[0]);
                both.is_some_and(|(was, is)| if self.aim.is_max { is > was } else { is < was })
            });
            let is_mostly = improved.count() * 3 >= REFINE * 2;
            if tried.holds && is_mostly && tried.gain >= standing.gain + LEAST_GAIN {
                standing = tried;
            }
        }
        self.together = Some(standing).filter(|it| it.changes.len() > 1);
    }

    /// Returns the changes to judge, and the number of those that were tried.
    fn finalists(self) -> (Vec<Vec<Change>>, usize) {
        let best = self.best_of_subjects().into_iter();
        let best = best.take(SUGGESTIONS_MAX).map(|it| it.changes.clone());
        let together = self.together.as_ref().map(|it| it.changes.clone());
        (together.into_iter().chain(best).collect(), self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_improvement_must_be_rarer_than_chance() {
        let before: Vec<f64> = (0..16).map(|at| 100.0 + f64::from(at)).collect();
        let with = |better: usize| -> Vec<f64> {
            let value = |(at, was): (usize, &f64)| if at < better { was - 30.0 } else { was + 1.0 };
            before.iter().enumerate().map(value).collect()
        };
        for (better, is) in [(16, true), (13, true), (12, false), (0, false)] {
            let noise = Noise::of(&before, &with(better), false);
            assert_eq!((noise.better, noise.pairs), (better, 16));
            assert_eq!(noise.is_exceeded(), is, "{better}");
        }
        // Small improvements of every run are within the spread of the runs.
        let slightly: Vec<f64> = before.iter().map(|was| was - 0.1).collect();
        assert!(!Noise::of(&before, &slightly, false).is_exceeded());
        let more: Vec<f64> = before.iter().map(|was| was + 30.0).collect();
        assert!(Noise::of(&before, &more, true).is_exceeded());
        assert!(!Noise::of(&before, &more, false).is_exceeded());
        assert!(!Noise::of(&[], &[], false).is_exceeded());
    }
}
