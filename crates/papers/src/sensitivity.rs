//! How far verdicts depend on single numbers of the machines' cost models.
//!
//! Most costs of a machine are assumed. A verdict that changes when one of them is a fifth smaller
//! or larger says something about that number, and not about a scheduler. A [`Study`] judges
//! experiments with each cost changed, and runs no more simulations than necessary:
//!
//! * A cost that a simulation never charges cannot affect it. The machine reports which of the
//!   kernel's costs it charged. A **probe** finds out the same for programs' calls: the smallest
//!   simulation of the same program under the same scheduler on the same machine, with the call at
//!   twice its cost. If the result is exactly the same, the call was not made.
//! * A demand is judged again only if one of its values changes, and only what its values need is
//!   simulated.
//! * The first step is a **short** form under one condition: a tenth of a storm's messages. The
//!   factor by which the change alters each value there is assumed to hold under all conditions;
//!   the demand is judged a second time with the factor squared. If both times the demand then
//!   holds under all conditions, or under none, and so agrees with its verdict, it is settled.
//! * Otherwise the whole simulation runs under **one** condition, which represents the others in
//!   the same way.
//! * Otherwise it runs under **more than half** of the conditions. If the demand holds under all of
//!   these, or none, and agrees with its verdict, the others cannot change that.
//! * Otherwise it runs under **all** conditions, and the demand is judged as usual. So a verdict is
//!   never reported as changed before everything has been simulated.
//!
//! A demand that is met *in part* depends on the conditions already: the verdict depends on which
//! conditions are drawn, and any change is another draw. Such demands are reported and not judged
//! again. Demands that do not count are not judged again either: with another cost, what was fitted
//! would be fitted again.
//!
//! Results of simulations can be kept, so that an interrupted study continues where it stopped.

use crate::catalogue::{Catalogue, under};
use crate::conditions::Condition;
use crate::cost_change::{Change, name_of};
use crate::error::{At, Error};
use crate::expression::{self, ValuesByName};
use crate::file::File;
use crate::judge::{self, Evidence, Judged, Verdict};
use crate::simulate::{Measured, Planned, Simulation, Subject};
use schedlab_lab::parallel;
use schedlab_machine::description::Description;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

/// Returns the costs of these machines that are assumed, that is, not calibrated on any of them.
///
/// # Errors
/// There is no such machine.
pub fn assumed(machines: &[&str]) -> Result<Vec<String>, Error> {
    let (mut names, mut calibrated) = (BTreeSet::new(), BTreeSet::new());
    for machine in machines {
        let machine = schedlab_lab::machines::find(machine).map_err(Error::new)?;
        for number in &machine.numbers {
            if let Some(name) = name_of(&number.key) {
                let of = if number.calibrated { &mut calibrated } else { &mut names };
                of.insert(name);
            }
        }
    }
    Ok(names.difference(&calibrated).cloned().collect())
}

/// Whether the change may affect `simulation`, if that is known beforehand: the cost belongs to its
/// machine and its scheduler, and the run does not set it.
fn concerns(change: &Change, simulation: &Simulation, machine: Option<&Description>) -> bool {
    let Some(machine) = machine.filter(|_| !simulation.idealised) else { return false };
    if change.value_on(machine).is_none() {
        return false;
    }
    let scheduler = simulation.scheduler.as_str();
    let algorithm = scheduler.split('@').next().unwrap_or(scheduler);
    let applies = |name: &str| name == scheduler || name == algorithm;
    let (cost, only) = change.cost_and_scheduler();
    // A cost for one scheduler takes precedence over the cost for all.
    let has_its_own = |number: &str| {
        let special = Change { name: number.into(), percent: 100 };
        let (other, only) = special.cost_and_scheduler();
        other == cost && only.is_some_and(applies)
    };
    let overridden = only.is_none()
        && machine.numbers.iter().filter_map(|it| name_of(&it.key)).any(|it| has_its_own(&it));
    let is_set = simulation.costs.iter().any(|(name, _)| name == cost || *name == change.name);
    only.is_none_or(applies) && !overridden && !is_set
}

/// The result of a simulation.
#[derive(Clone, PartialEq, Debug)]
pub struct Known {
    /// Its values, by quantity.
    pub values: BTreeMap<String, f64>,
    /// The kernel's costs that were charged.
    pub charged: Vec<String>,
}

impl Known {
    /// Formats the result of the simulation with this [`key`](fn@key) as a line that
    /// [`parse`](Known::parse) reads.
    pub fn line(&self, key: &str) -> String {
        let values =
            self.values.iter().map(|(what, value)| format!("{what}={:x}", value.to_bits()));
        let values: Vec<String> = values.collect();
        format!("{key}\t{}\t{}", values.join("\u{1f}"), self.charged.join(","))
    }

    /// Reads a line. `None`: the line is malformed or was cut off.
    pub fn parse(line: &str) -> Option<(String, Known)> {
        let mut parts = line.strip_suffix('\n')?.split('\t');
        let (key, values, charged) = (parts.next()?, parts.next()?, parts.next()?);
        let value = |pair: &str| {
            let (what, bits) = pair.rsplit_once('=')?;
            Some((what.to_string(), f64::from_bits(u64::from_str_radix(bits, 16).ok()?)))
        };
        let values = values.split('\u{1f}').map(value).collect::<Option<_>>()?;
        let charged = charged.split(',').filter(|it| !it.is_empty()).map(String::from).collect();
        Some((key.into(), Known { values, charged }))
    }
}

/// Identifies a simulation by all of its inputs, in a line.
pub fn key(simulation: &Simulation) -> String {
    format!("{simulation:?}").replace(['\t', '\n'], " ")
}

/// A verdict that changes.
#[derive(Clone, PartialEq, Debug)]
pub struct ChangedVerdict {
    /// The change of a cost.
    pub change: Change,
    /// The experiment and the demand.
    pub demand: String,
    /// Before the change: the verdict, the median, and the share of conditions under which the
    /// demand holds.
    pub before: (Verdict, Option<f64>, Option<f64>),
    /// The same after the change.
    pub after: (Verdict, Option<f64>, Option<f64>),
}

/// Number of steps in which demands are settled.
pub const STEPS: usize = 4;

/// The results of a [`Study`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Findings {
    /// Each demand without changes: experiment and wording, verdict, median, and the share of
    /// conditions under which it holds.
    pub demands: Vec<(String, Verdict, Option<f64>, Option<f64>)>,
    /// The changes that affected a simulation.
    pub changes: Vec<Change>,
    /// Costs that these experiments never charge.
    pub charged_nowhere: Vec<String>,
    /// Demands that are met in part, and not judged again.
    pub in_part: Vec<String>,
    /// Number of demands that were judged again and settled: in the short form, under one
    /// condition, under more than half of them, and under all.
    pub settled: [usize; STEPS],
    /// The demand, and the factor by which its median changed, for each change and each demand
    /// about a number that was settled with all conditions, or with values assumed for them.
    pub moved: Vec<(Change, String, f64)>,
    /// The verdicts that change.
    pub turned: Vec<ChangedVerdict>,
    /// Changes and demands that are unsettled, if not all steps were made.
    pub unsettled: Vec<(Change, String)>,
}

/// Experiments to judge again with single costs changed.
pub struct Study<'a> {
    /// The catalogue that holds the ranges of the experiments.
    pub catalogue: &'a Catalogue,
    /// The experiments.
    pub chosen: Vec<&'a File>,
    /// The costs to change, each to a fifth less and a fifth more.
    pub costs: Vec<String>,
    /// Maximum number of seeds of a run.
    pub seeds: usize,
    /// Number of simulations that run at the same time.
    pub threads: NonZeroUsize,
    /// Number of steps after which the study stops: 1, after the short form; [`STEPS`], after all.
    pub steps: usize,
}

/// An experiment of a study.
struct Examined<'a> {
    file: &'a File,
    conditions: Vec<Condition>,
    /// The planned simulations, under each condition.
    planned: Vec<Vec<Planned>>,
    /// The values with unchanged costs.
    base: Vec<ValuesByName>,
    judged: Vec<Judged>,
    /// The names of values in each demand.
    names: Vec<Vec<String>>,
}

type Wanted = BTreeMap<String, (Simulation, BTreeSet<String>)>;

impl Study<'_> {
    /// Runs the study. `known` holds earlier results. `learnt` is called with each new result, its
    /// [`key`](fn@key), and the number of simulations left in this step.
    ///
    /// # Errors
    /// A run cannot be simulated, or a demand cannot be judged.
    pub fn run(
        &self,
        known: &mut BTreeMap<String, Known>,
        mut learnt: impl FnMut(&str, &Known, usize),
    ) -> Result<Findings, Error> {
        let mut subjects = vec![];
        let mut wanted = Wanted::new();
        for file in &self.chosen {
            let conditions = file.conditions.sample(false);
            let mut planned = vec![];
            for condition in &conditions {
                planned.push(self.fewer_seeds(under(file, false, condition).at(&file.id)?));
            }
            planned.iter().flatten().for_each(|planned| want(&mut wanted, planned, None));
            let names = judge::names(file, &self.catalogue.rows).at(&file.id)?;
            subjects.push((file, conditions, planned, names));
        }
        self.simulate(wanted, known, &mut learnt)?;
        let mut all: Vec<Examined<'_>> = vec![];
        for (file, conditions, planned, names) in subjects {
            let base = planned.iter().map(|planned| values(planned, |it| it.clone(), known));
            let base = base.collect::<Result<Vec<_>, _>>().at(&file.id)?;
            let judged = self.judged(file, &conditions, &base).at(&file.id)?;
            all.push(Examined { file, conditions, planned, base, judged, names });
        }
        let machines = machines(&all)?;
        let machine = |simulation: &Simulation| machines.get(simulation.machine.as_ref()?);
        let made = self.probe(&all, &machine, known, &mut learnt)?;
        let affects = |change: &Change, simulation: &Simulation, known: &BTreeMap<_, Known>| {
            let what = change.cost_and_scheduler().0;
            let charged = match what.starts_with("call.") {
                true => made.contains(&(program(simulation), change.name.clone())),
                false => {
                    let known = known.get(&key(simulation));
                    known.is_none_or(|known| known.charged.iter().any(|it| it == what))
                }
            };
            charged && concerns(change, simulation, machine(simulation))
        };
        let in_part = |it: &Examined<'_>| {
            let mut demands = it.demands().zip(&it.judged);
            demands.by_ref().filter(|(_, it)| is_in_part(it)).map(|((says, ..), _)| says).collect()
        };
        let mut findings = Findings {
            demands: all.iter().flat_map(Examined::demands).collect(),
            in_part: all.iter().flat_map(|it| -> Vec<String> { in_part(it) }).collect(),
            ..Findings::default()
        };
        // The change, the experiment, and its unsettled demands.
        let mut open: Vec<(Change, usize, Vec<usize>)> = vec![];
        for cost in &self.costs {
            let mut charged = false;
            for percent in [80, 120] {
                let change = Change { name: cost.clone(), percent };
                for (number, subject) in all.iter().enumerate() {
                    let demands = (0..subject.names.len()).filter(|&demand| {
                        if !is_decided(&subject.judged[demand]) {
                            return false;
                        }
                        let mut planned = subject.needed(demand, subject.conditions.len());
                        planned
                            .any(|it| it.simulations.iter().any(|it| affects(&change, it, known)))
                    });
                    let demands: Vec<usize> = demands.collect();
                    if !demands.is_empty() {
                        charged = true;
                        open.push((change.clone(), number, demands));
                    }
                }
            }
            if !charged {
                findings.charged_nowhere.push(cost.clone());
            }
        }
        findings.changes = open.iter().map(|(change, ..)| change.clone()).collect();
        findings.changes.dedup();
        let whole = |it: &Simulation| it.clone();
        for step in 0..self.steps.min(STEPS) {
            let mut wanted = Wanted::new();
            let form = if step == 0 { short } else { whole };
            let changed = |change: &Change, simulation: &Simulation, known: &BTreeMap<_, _>| {
                let change = affects(change, simulation, known).then(|| change.clone());
                Simulation { change, ..form(simulation) }
            };
            for (change, number, demands) in &open {
                let subject = &all[*number];
                for &demand in demands {
                    for planned in subject.needed(demand, subject.conditions_in(step)) {
                        want(&mut wanted, planned, Some(&|it| changed(change, it, known)));
                        want(&mut wanted, planned, Some(&|it| form(it)));
                    }
                }
            }
            self.simulate(wanted, known, &mut learnt)?;
            for (change, number, demands) in &mut open {
                let subject = &all[*number];
                let of = subject.conditions_in(step);
                let under = |condition: usize| {
                    let real = |it: &Simulation| {
                        let changed = changed(change, it, known);
                        if known.contains_key(&key(&changed)) { changed } else { it.clone() }
                    };
                    let without = |it: &Simulation| {
                        let short = form(it);
                        if known.contains_key(&key(&short)) { short } else { it.clone() }
                    };
                    let planned = &subject.planned[condition];
                    Ok((values(planned, real, known)?, values(planned, without, known)?))
                };
                let real = (0..of).map(under).collect::<Result<Vec<_>, Error>>()?;
                let mut judged = vec![];
                for times in if step == 0 { 1..=2 } else { 1..=1 } {
                    let rows = subject.completed(&real, step, times)?;
                    judged.push(self.judged(
                        subject.file,
                        &subject.conditions[..rows.len()],
                        &rows,
                    )?);
                }
                demands.retain(|&demand| {
                    let before = &subject.judged[demand];
                    let met = is_met(before);
                    let after = &judged[0][demand];
                    let agrees = |judged: &Vec<Judged>| {
                        let after = &judged[demand];
                        is_met(after) == met && after.holds.iter().all(|holds| *holds == met)
                    };
                    let is_last = step > 0 && of == subject.conditions.len();
                    if !is_last && !judged.iter().all(agrees) {
                        return true;
                    }
                    findings.settled[step] += 1;
                    let says = format!("{}: {}", subject.file.id, before.says);
                    if let (Some(was), Some(is)) = (before.simulated(), after.simulated())
                        && after.holds.len() == subject.conditions.len()
                    {
                        findings.moved.push((change.clone(), says.clone(), is / was));
                    }
                    if is_last && is_met(after) != met {
                        findings.turned.push(ChangedVerdict {
                            change: change.clone(),
                            demand: says,
                            before: (before.verdict, before.simulated(), before.share()),
                            after: (after.verdict, after.simulated(), after.share()),
                        });
                    }
                    false
                });
            }
            open.retain(|(.., demands)| !demands.is_empty());
        }
        findings.unsettled = open
            .iter()
            .flat_map(|(change, number, demands)| {
                let Examined { file, judged, .. } = &all[*number];
                let says = |demand: &usize| format!("{}: {}", file.id, judged[*demand].says);
                demands.iter().map(move |demand| (change.clone(), says(demand)))
            })
            .collect();
        Ok(findings)
    }

    fn fewer_seeds(&self, mut planned: Vec<Planned>) -> Vec<Planned> {
        planned.iter_mut().for_each(|it| it.simulations.truncate(self.seeds.max(1)));
        planned
    }

    /// Finds out which calls each program makes: pairs of a program and the name of a cost.
    fn probe<'a>(
        &self,
        all: &[Examined<'_>],
        machine: &impl Fn(&Simulation) -> Option<&'a Description>,
        known: &mut BTreeMap<String, Known>,
        learnt: &mut impl FnMut(&str, &Known, usize),
    ) -> Result<BTreeSet<(String, String)>, Error> {
        // The smallest simulation of each program.
        let mut smallest: BTreeMap<String, (&Simulation, &Planned)> = BTreeMap::new();
        for planned in all.iter().flat_map(|it| it.planned.iter().flatten()) {
            for simulation in &planned.simulations {
                let least = smallest.entry(program(simulation)).or_insert((simulation, planned));
                if size(simulation) < size(least.0) {
                    *least = (simulation, planned);
                }
            }
        }
        let calls = self.costs.iter().filter(|cost| cost.contains("call."));
        let twice = |cost: &String| Change { name: cost.clone(), percent: 200 };
        let calls: Vec<Change> = calls.map(twice).collect();
        let mut wanted = Wanted::new();
        for (simulation, planned) in smallest.values() {
            for change in calls.iter().filter(|it| concerns(it, simulation, machine(simulation))) {
                let one =
                    Planned { simulations: vec![(*simulation).clone()], ..(*planned).clone() };
                let change = Some(change.clone());
                want(
                    &mut wanted,
                    &one,
                    Some(&|it| Simulation { change: change.clone(), ..it.clone() }),
                );
            }
        }
        self.simulate(wanted, known, learnt)?;
        let mut made = BTreeSet::new();
        for (program, (simulation, _)) in &smallest {
            for change in &calls {
                let changed = Simulation { change: Some(change.clone()), ..(*simulation).clone() };
                let (was, is) = (known.get(&key(simulation)), known.get(&key(&changed)));
                if let (Some(was), Some(is)) = (was, is)
                    && is.values.iter().any(|(what, value)| was.values.get(what) != Some(value))
                {
                    made.insert((program.clone(), change.name.clone()));
                }
            }
        }
        Ok(made)
    }

    fn simulate(
        &self,
        wanted: Wanted,
        known: &mut BTreeMap<String, Known>,
        learnt: &mut impl FnMut(&str, &Known, usize),
    ) -> Result<(), Error> {
        let knows = |key: &String, whats: &BTreeSet<String>| {
            known.get(key).is_some_and(|it| whats.iter().all(|what| it.values.contains_key(what)))
        };
        let new = wanted.into_iter().filter(|(key, (_, whats))| !knows(key, whats));
        let mut new: Vec<_> = new.collect();
        // Long simulations go first, so that no thread ends with a long one alone.
        new.sort_by_key(|(_, (simulation, _))| std::cmp::Reverse(size(simulation)));
        let run = |(_, (simulation, whats)): &(String, (Simulation, BTreeSet<String>))| {
            let simulated = simulation.run()?;
            let measured: Measured = simulated.measure(whats);
            let values = measured.into_iter().map(|(what, value)| Ok((what, value?)));
            let values = values.collect::<Result<_, Error>>()?;
            Ok(Known { values, charged: simulated.charged().to_vec() })
        };
        let mut failed = None;
        parallel::for_each_in_order(&new, self.threads, run, |index, result: Result<_, Error>| {
            match result {
                Ok(one) => {
                    learnt(&new[index].0, &one, new.len() - index - 1);
                    known.insert(new[index].0.clone(), one);
                    true
                }
                Err(error) => {
                    failed = Some(error.at(&new[index].0));
                    false
                }
            }
        });
        failed.map_or(Ok(()), Err)
    }

    fn judged(
        &self,
        file: &File,
        conditions: &[Condition],
        values: &[ValuesByName],
    ) -> Result<Vec<Judged>, Error> {
        let by_rule = BTreeSet::new();
        let evidence = Evidence { conditions, values, by_rule: &by_rule };
        judge::judge(file, &self.catalogue.rows, &evidence, false)
    }
}

impl Examined<'_> {
    fn demands(&self) -> impl Iterator<Item = (String, Verdict, Option<f64>, Option<f64>)> {
        let asked = self.judged.iter().take(self.names.len());
        asked.map(|it| {
            let says = format!("{}: {}", self.file.id, it.says);
            (says, it.verdict, it.simulated(), it.share())
        })
    }

    /// Returns the number of conditions that this step simulates.
    fn conditions_in(&self, step: usize) -> usize {
        let all = self.conditions.len();
        [1, 1, all / 2 + 1, all][step].min(all)
    }

    /// Returns the simulations that a demand needs, under the first `conditions` conditions.
    fn needed(&self, demand: usize, conditions: usize) -> impl Iterator<Item = &Planned> {
        let names = &self.names[demand];
        let is = |of: &String, name: &String| {
            expression::matches(of, name) || expression::matches(stem(of), name)
        };
        let needs = move |it: &&Planned| it.names().any(|name| names.iter().any(|of| is(of, name)));
        self.planned[..conditions].iter().flatten().filter(needs)
    }

    /// Returns the values to judge under each condition. If `real` covers one condition only, or a
    /// short form, the values are extrapolated to all conditions: each changes by the factor with
    /// which it changed there, applied `times` times.
    fn completed(
        &self,
        real: &[(ValuesByName, ValuesByName)],
        step: usize,
        times: i32,
    ) -> Result<Vec<ValuesByName>, Error> {
        if step > 1 {
            return Ok(real.iter().map(|(with, _)| with.clone()).collect());
        }
        let (with, without) = &real[0];
        let extrapolated = |base: &ValuesByName| {
            let mut all = ValuesByName::default();
            for (name, value) in base.iter() {
                let factor = match (with.get(name), without.get(name)) {
                    (Some(with), Some(without)) if with != without => with / without,
                    _ => 1.0,
                };
                all.add(name.into(), value * factor.powi(times))?;
            }
            Ok(all)
        };
        self.base.iter().map(extrapolated).collect()
    }
}

/// Returns the name of the value whose spread over seeds is called `name`.
fn stem(name: &str) -> &str {
    name.strip_suffix(".cv").or(name.strip_suffix(".sd")).unwrap_or(name)
}

/// Returns the short form of a simulation: a tenth of a storm's messages. Other simulations are
/// unchanged.
fn short(simulation: &Simulation) -> Simulation {
    let mut short = simulation.clone();
    if let Subject::Bench { name, parameters } = &mut short.subject
        && name == "hackbench"
        && !parameters.iter().any(|(name, _)| name == "loops")
    {
        parameters.push(("loops".into(), "10".into()));
        parameters.sort();
    }
    short
}

/// Whether the demand is not met, yet holds under some conditions.
fn is_in_part(judged: &Judged) -> bool {
    matches!(judged.verdict, Verdict::HardPart | Verdict::SoftPart)
}

/// Whether the demand counts, and is met or missed.
fn is_decided(judged: &Judged) -> bool {
    let verdict = judged.verdict;
    !is_in_part(judged) && (verdict.is_met() || verdict.is_hard_miss() || verdict.is_soft_miss())
}

/// Whether the demand is met, whether or not it counts.
fn is_met(judged: &Judged) -> bool {
    !judged.verdict.is_hard_miss() && !judged.verdict.is_soft_miss()
}

/// Adds the simulations of `planned` to `wanted`, each changed by `changed`.
fn want(
    wanted: &mut Wanted,
    planned: &Planned,
    changed: Option<&dyn Fn(&Simulation) -> Simulation>,
) {
    for simulation in &planned.simulations {
        let simulation = changed.map_or_else(|| simulation.clone(), |changed| changed(simulation));
        let (_, whats) = wanted.entry(key(&simulation)).or_insert((simulation, BTreeSet::new()));
        whats.extend(planned.whats().cloned());
    }
}

/// Returns the values of simulations; `which` selects the form of each.
fn values(
    planned: &[Planned],
    which: impl Fn(&Simulation) -> Simulation,
    known: &BTreeMap<String, Known>,
) -> Result<ValuesByName, Error> {
    let mut values = ValuesByName::default();
    for planned in planned {
        let simulations: Vec<Simulation> = planned.simulations.iter().map(&which).collect();
        let done = simulations.iter().map(|simulation| {
            let known = &known[&key(simulation)];
            let measured: Measured =
                known.values.iter().map(|(what, value)| (what.clone(), Ok(*value))).collect();
            (simulation.clone(), Ok(measured))
        });
        let done = done.collect();
        let planned = Planned { simulations, ..planned.clone() };
        for (name, value) in planned.values(&done, false)? {
            values.add(name, value)?;
        }
    }
    Ok(values)
}

/// Returns the program, the scheduler, and the machine.
fn program(simulation: &Simulation) -> String {
    let Simulation { subject, scheduler, machine, cpus, .. } = simulation;
    match subject {
        Subject::Bench { name, .. } => format!("{name} {scheduler} {machine:?} {cpus:?}"),
        other => format!("{other:?} {scheduler} {machine:?} {cpus:?}"),
    }
}

/// Returns the rough size of a simulation: the sum of its numeric parameters.
fn size(simulation: &Simulation) -> u64 {
    match &simulation.subject {
        Subject::Bench { parameters, .. } => {
            parameters.iter().filter_map(|(_, value)| value.parse::<u64>().ok()).sum()
        }
        _ => 0,
    }
}

fn machines(all: &[Examined<'_>]) -> Result<BTreeMap<String, Description>, Error> {
    let mut machines = BTreeMap::new();
    for planned in all.iter().flat_map(|it| it.planned.iter().flatten()) {
        for name in planned.simulations.iter().filter_map(|it| it.machine.as_ref()) {
            if !machines.contains_key(name) {
                let machine = schedlab_lab::machines::find(name).map_err(Error::new)?;
                machines.insert(name.clone(), machine);
            }
        }
    }
    Ok(machines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditions::Conditions;

    fn simulation(scheduler: &str) -> Simulation {
        let run: crate::file::Run = toml::from_str(&format!(
            "bench = \"hackbench\"\nmachine = \"pentium3-700x8\"\nscheduler = \"{scheduler}\"\n\
             costs = {{ switch = 1000 }}\nvalues = {{ time = \"time\" }}"
        ))
        .expect("the run is well formed");
        let condition = Conditions::default().sample(false).remove(0);
        run.plan(false, &condition).expect("the run can be planned").remove(0).simulations.remove(0)
    }

    #[test]
    fn a_cost_concerns_whom_it_is_for() {
        let machine = schedlab_lab::machines::find("pentium3-700x8").expect("the machine exists");
        let is_concerned = |cost: &str, scheduler: &str| {
            let change = Change { name: cost.into(), percent: 120 };
            concerns(&change, &simulation(scheduler), Some(&machine))
        };
        for (cost, of_2_4, of_2_6) in [
            ("lock", true, true),
            ("o_n.scan", true, false),
            // 2.4 has a cost of its own.
            ("scan", false, true),
            ("call.socket_write", false, true),
            ("o_n.call.socket_write", true, false),
            // The run sets it.
            ("switch", false, false),
            ("no_such", false, false),
        ] {
            assert_eq!(is_concerned(cost, "o_n@2.4.19"), of_2_4, "{cost}");
            assert_eq!(is_concerned(cost, "o_1@2.6.0"), of_2_6, "{cost}");
        }
        let lock = Change { name: "lock".into(), percent: 80 };
        assert!(!concerns(&lock, &simulation("o_1"), None));
    }

    #[test]
    fn what_is_kept_is_read_again_and_what_was_cut_off_is_not() {
        let known = Known {
            values: [("time".into(), 0.1), ("table/a b/60/x=y".into(), f64::INFINITY)].into(),
            charged: vec!["lock".into(), "tick".into()],
        };
        let line = known.line("a key") + "\n";
        assert_eq!(Known::parse(&line), Some(("a key".into(), known)));
        for end in 0..line.len() {
            assert_eq!(Known::parse(&line[..end]), None, "{end}");
        }
    }

    #[test]
    fn what_was_calibrated_on_one_machine_is_not_assumed_on_another() {
        let names = assumed(&["pentium3-1000x1", "pentium3-700x8"]).expect("the machines exist");
        let is = |name: &str| names.iter().any(|other| other == name);
        assert!(is("lock_remote") && is("o_n.scan") && is("call.message_remote"));
        assert!(!is("o_n.scan_miss") && !is("call.socket_write") && !is("call.message_bus"));
    }
}
