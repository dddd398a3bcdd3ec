//! All experiments together: [`Catalogue`].

use crate::conditions::Condition;
use crate::contradictions::{self, Contradiction};
use crate::distribution::Distribution;
use crate::error::{At, Error};
use crate::expression::ValuesByName;
use crate::figures;
use crate::file::File;
use crate::judge::{self, Evidence, Judged, Verdict};
use crate::simulate::{Measured, Planned, Simulation};
use crate::targets::{self, Row};
use schedlab_lab::parallel;
use schedlab_report::plot::Chart;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

/// The experiments and the ranges of their numbers.
#[derive(Clone, Debug)]
pub struct Catalogue {
    /// The experiments, in the order in which they were read.
    pub experiments: Vec<File>,
    /// The ranges.
    pub rows: Vec<Row>,
    /// Contradictions in the published documents.
    pub contradictions: Vec<Contradiction>,
}

/// The result of an experiment.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The experiment.
    pub file: File,
    /// The conditions under which it was run.
    pub conditions: Vec<Condition>,
    /// All values under each condition, in the order in which they were measured.
    pub values: Vec<ValuesByName>,
    /// Each demand with its verdict.
    pub judged: Vec<Judged>,
    /// Its figures.
    pub charts: Vec<Chart>,
}

impl Outcome {
    /// Returns the axes of the conditions that have several values, with these values in the order
    /// of first occurrence.
    pub fn axes(&self) -> Vec<(String, Vec<String>)> {
        let mut axes: Vec<(String, Vec<String>)> = vec![];
        for (axis, value) in self.conditions.iter().flat_map(|condition| &condition.labels) {
            match axes.iter_mut().find(|(known, _)| known == axis) {
                Some((_, values)) if values.contains(value) => {}
                Some((_, values)) => values.push(value.clone()),
                None => axes.push((axis.clone(), vec![value.clone()])),
            }
        }
        for (_, values) in &mut axes {
            values.sort();
        }
        axes
    }
}

/// The results of experiments.
#[derive(Clone, Debug)]
pub struct Outcomes {
    /// Results of the experiments that could be run and judged.
    pub outcomes: Vec<Outcome>,
    /// Errors of the others. Each names the experiment.
    pub failed: Vec<Error>,
}

/// An experiment to run, with its simulations under each condition.
struct Plan<'a> {
    file: &'a File,
    conditions: Vec<Condition>,
    planned: Vec<Vec<Planned>>,
}

/// Reason why there are no results.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PapersError {
    /// A file is malformed: the place and the mistake.
    #[error(transparent)]
    File(#[from] Error),
    /// There is no such experiment.
    #[error("there is no experiment \"{0}\"; the experiments are {1}")]
    Unknown(String, String),
    /// The work was interrupted.
    #[error("interrupted")]
    Interrupted,
}

impl Catalogue {
    /// Reads the texts of experiments, each with the name of its file, and the text of the ranges.
    ///
    /// # Errors
    /// [`PapersError::File`].
    pub fn read<'a>(
        files: impl IntoIterator<Item = (&'a str, &'a str)>,
        (targets_name, targets): (&str, &str),
    ) -> Result<Catalogue, PapersError> {
        let rows = targets::parse(targets);
        let rows = rows.at(targets_name)?;
        let mut experiments: Vec<File> = vec![];
        for (name, text) in files {
            let file = toml::from_str::<File>(text);
            let file = file.map_err(|error| Error::new(error).at(name))?;
            file.check().at(name)?;
            for figure in &file.figures {
                figures::check(figure).at(name)?;
            }
            if !names_a_file(&file.id) {
                let message = format!(
                    "the id \"{}\" must be of ASCII letters, digits, `-` and `.`, and not \
                     `verdicts`",
                    file.id
                );
                return Err(Error::new(message).at(name).into());
            }
            if experiments.iter().any(|other| other.id.eq_ignore_ascii_case(&file.id)) {
                let message = format!("another file has the id {}", file.id);
                return Err(Error::new(message).at(name).into());
            }
            experiments.push(file);
        }
        Ok(Catalogue { experiments, rows, contradictions: vec![] })
    }

    /// Adds the contradictions in `text`.
    ///
    /// # Errors
    /// [`PapersError::File`], also if an experiment names a contradiction that does not exist.
    pub fn with_contradictions(self, (name, text): (&str, &str)) -> Result<Catalogue, PapersError> {
        let contradictions = contradictions::parse(text);
        let contradictions = contradictions.at(name)?;
        for file in &self.experiments {
            let unknown = |id: &&String| !contradictions.iter().any(|known| known.id == **id);
            if let Some(id) = file.contradictions.iter().find(unknown) {
                let message = format!("it names contradiction {id}, which is not in {name}");
                return Err(Error::new(message).at(&file.id).into());
            }
        }
        Ok(Catalogue { contradictions, ..self })
    }

    /// Chooses experiments by id: `HB` means all that begin with `HB-`, `DIS-4` all that begin with
    /// `DIS-4.`, and `DIS-4.7` includes `DIS-4.7a`. Without ids, all are chosen.
    ///
    /// # Errors
    /// [`PapersError::Unknown`].
    pub fn choose(&self, ids: &[String]) -> Result<Vec<&File>, PapersError> {
        let means = |id: &str, file: &File| {
            let Some((start, rest)) = file.id.split_at_checked(id.len()) else { return false };
            let goes_on = match rest.chars().next() {
                None | Some('-' | '.') => true,
                // The parts of an experiment, but not the one with an additional digit.
                Some(next) => {
                    next.is_ascii_alphabetic() && id.ends_with(|last: char| last.is_ascii_digit())
                }
            };
            start.eq_ignore_ascii_case(id) && goes_on
        };
        for id in ids {
            if !self.experiments.iter().any(|file| means(id, file)) {
                let known: Vec<&str> =
                    self.experiments.iter().map(|file| file.id.as_str()).collect();
                return Err(PapersError::Unknown(id.clone(), known.join(", ")));
            }
        }
        let chosen = |file: &&File| ids.is_empty() || ids.iter().any(|id| means(id, file));
        Ok(self.experiments.iter().filter(chosen).collect())
    }

    /// Runs each of `chosen` under all of its conditions, and judges them. An experiment that
    /// cannot be run does not stop the others. `progress` receives the number of completed and of
    /// all simulations; if it returns `false`, no further simulation begins.
    ///
    /// # Errors
    /// [`PapersError::Interrupted`].
    pub fn run(
        &self,
        chosen: &[&File],
        reduced: bool,
        threads: NonZeroUsize,
        mut progress: impl FnMut(usize, usize) -> bool,
    ) -> Result<Outcomes, PapersError> {
        let mut failed: Vec<(usize, Error)> = vec![];
        let mut plans: Vec<(usize, Plan<'_>)> = vec![];
        for (place, file) in chosen.iter().enumerate() {
            match plan(file, reduced).at(&file.id) {
                Ok(plan) => plans.push((place, plan)),
                Err(error) => failed.push((place, error)),
            }
        }
        let mut wanted: BTreeMap<&Simulation, BTreeSet<&String>> = BTreeMap::new();
        for planned in plans.iter().flat_map(|(_, plan)| plan.planned.iter().flatten()) {
            for simulation in &planned.simulations {
                wanted.entry(simulation).or_default().extend(planned.whats());
            }
        }
        let simulations: Vec<_> = wanted.into_iter().collect();
        let mut done: BTreeMap<Simulation, Result<Measured, Error>> = BTreeMap::new();
        parallel::for_each_in_order(
            &simulations,
            threads,
            |(simulation, whats)| Ok(simulation.run()?.measure(whats.iter().copied())),
            |index, result| {
                done.insert(simulations[index].0.clone(), result);
                progress(index + 1, simulations.len())
            },
        );
        if done.len() < simulations.len() {
            return Err(PapersError::Interrupted);
        }
        let mut outcomes = vec![];
        for (place, plan) in plans {
            let id = plan.file.id.clone();
            match self.outcome(plan, &done, reduced).at(id) {
                Ok(outcome) => outcomes.push(outcome),
                Err(error) => failed.push((place, error)),
            }
        }
        failed.sort_by_key(|(place, _)| *place);
        Ok(Outcomes { outcomes, failed: failed.into_iter().map(|(_, error)| error).collect() })
    }

    fn outcome(
        &self,
        plan: Plan<'_>,
        done: &BTreeMap<Simulation, Result<Measured, Error>>,
        reduced: bool,
    ) -> Result<Outcome, Error> {
        let Plan { file, conditions, planned } = plan;
        let mut values = vec![];
        for planned in &planned {
            let mut under = ValuesByName::default();
            for planned in planned {
                for (name, value) in planned.values(done, reduced)? {
                    under.add(name, value)?;
                }
            }
            values.push(under);
        }
        let by_rule = planned.iter().flatten().filter(|planned| planned.by_rule);
        let by_rule = by_rule.flat_map(Planned::names).cloned().collect();
        let evidence = Evidence { conditions: &conditions, values: &values, by_rule: &by_rule };
        let judged = judge::judge(file, &self.rows, &evidence, reduced)?;
        let medians = medians(&values)?;
        let charts = file.figures.iter().map(|figure| figures::chart(figure, &medians, reduced));
        let charts = charts.collect::<Result<_, Error>>()?;
        Ok(Outcome { file: file.clone(), conditions, values, judged, charts })
    }

    /// Returns the rows of the ranges that no experiment refers to.
    pub fn forgotten(&self) -> Vec<&Row> {
        let of_no_file = |row: &&Row| !self.experiments.iter().any(|file| file.id == row.id);
        let mut forgotten: Vec<&Row> = self.rows.iter().filter(of_no_file).collect();
        forgotten
            .extend(self.experiments.iter().flat_map(|file| judge::forgotten(file, &self.rows)));
        forgotten
    }
}

fn plan(file: &File, reduced: bool) -> Result<Plan<'_>, Error> {
    let conditions = file.conditions.sample(reduced);
    let mut planned = vec![];
    for condition in &conditions {
        planned.push(under(file, reduced, condition)?);
    }
    Ok(Plan { file, conditions, planned })
}

/// Returns the simulations that `file` requires under `condition`.
pub(crate) fn under(
    file: &File,
    reduced: bool,
    condition: &Condition,
) -> Result<Vec<Planned>, Error> {
    let runs = file.runs.iter().map(|run| run.plan(reduced, condition));
    Ok(runs.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

/// Returns the median of each value over the conditions.
fn medians(values: &[ValuesByName]) -> Result<ValuesByName, Error> {
    let mut medians = ValuesByName::default();
    let Some(first) = values.first() else { return Ok(medians) };
    for (name, _) in first.iter() {
        let all: Vec<f64> = values.iter().filter_map(|under| under.get(name)).collect();
        medians.add(name.into(), Distribution::new(&all).median())?;
    }
    Ok(medians)
}

/// Whether results can be written into a file of that name, next to those that always exist.
fn names_a_file(id: &str) -> bool {
    id.starts_with(|c: char| c.is_ascii_alphanumeric())
        && id.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.'))
        && !id.eq_ignore_ascii_case("verdicts")
}

/// Returns the number of demands with each verdict.
pub fn count(outcomes: &[Outcome]) -> Vec<(Verdict, usize)> {
    let judged = || outcomes.iter().flat_map(|outcome| &outcome.judged);
    let count = |verdict| judged().filter(|judged| judged.verdict == verdict).count();
    Verdict::ALL.into_iter().map(|verdict| (verdict, count(verdict))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGETS: &str =
        "id,case,quantity,unit,low,high,published\nX-1,two hogs,ratio,,1.2,1.3,1.25\n";

    const HOGS: &str = r#"
id = "X-1"
title = "Two hogs"
source = "a test"

[[run]]
for.scheduler = ["cfs", "eevdf"]
workload = '''{"tasks": {"a": {"run": 10000, "loop": -1},
                       "b": {"run": 10000, "loop": -1, "priority": 1}}}'''
scheduler = "{scheduler}"
cpus = 1
duration_s = 20
values = { "ratio.{scheduler}" = "cpu-ratio a b", "end.{scheduler}" = "ended-by" }

[[target]]
case = "two hogs"
quantity = "ratio"
value = "ratio.cfs"

[[criterion]]
grade = "hard"
says = "they run for as long as they should"
test = "end.cfs == 20 and end.eevdf == 20"
"#;

    fn run(text: &str) -> Result<Vec<Outcome>, PapersError> {
        let catalogue = Catalogue::read([("hogs.toml", text)], ("targets.csv", TARGETS))?;
        assert!(catalogue.forgotten().is_empty());
        let chosen = catalogue.choose(&["x".into()])?;
        let ran = catalogue.run(&chosen, false, NonZeroUsize::MIN, |_, _| true)?;
        match ran.failed.into_iter().next() {
            Some(error) => Err(error.into()),
            None => Ok(ran.outcomes),
        }
    }

    #[test]
    fn an_experiment_is_run_and_judged() {
        let outcomes = run(HOGS).expect("the simulation runs");
        let verdicts: Vec<Verdict> =
            outcomes[0].judged.iter().map(|judged| judged.verdict).collect();
        assert_eq!(verdicts, [Verdict::HardMet, Verdict::HardMet]);
        assert_eq!(count(&outcomes)[0], (Verdict::HardMet, 2));
    }

    /// Without a section `[conditions]`, an experiment is run under 30 phases. An axis of the
    /// conditions takes effect in the texts of runs. A run with `once` is the same under all
    /// conditions.
    #[test]
    fn an_experiment_is_run_under_all_of_its_conditions() {
        let outcomes = run(HOGS).expect("the simulation runs");
        assert_eq!(outcomes[0].conditions.len(), crate::conditions::POINTS);
        assert_eq!(outcomes[0].values.len(), crate::conditions::POINTS);
        let ratios = outcomes[0].judged[0].values.as_ref().expect("the demand is about a number");
        assert!(!ratios.is_single(), "the phase decides which task has the last slice");
        let axis = HOGS.replacen("[[run]]", "[conditions]\nfor.nice = [1, 2]\n[[run]]", 1);
        let axis = axis.replace("\"priority\": 1", "\"priority\": {nice}");
        let outcomes = run(&axis).expect("the simulation runs");
        let splits = &outcomes[0].judged[0].splits;
        let of = |value: &str| splits.iter().find(|it| it.axis == "nice" && it.value == value);
        assert_eq!(of("1").map(|split| (split.holds, split.of)), Some((15, 15)));
        assert_eq!(of("2").map(|split| (split.holds, split.of)), Some((0, 15)));
        let once = HOGS.replacen("cpus = 1", "cpus = 1\nonce = \"a test\"", 1);
        let outcomes = run(&once).expect("the simulation runs");
        let ratios = outcomes[0].judged[0].values.as_ref().expect("the demand is about a number");
        assert!(ratios.is_single() && ratios.sorted().len() == 30);
    }

    #[test]
    fn one_that_fails_does_not_stop_the_others() {
        let broken = HOGS.replace("X-1", "X-0").replace("cpu-ratio a b", "cpu-ratio a z");
        let nonsense = HOGS.replace("X-1", "X-2").replace("cpus = 1", "cpus = 0");
        let texts = [("0", broken.as_str()), ("1", HOGS), ("2", nonsense.as_str())];
        let catalogue =
            Catalogue::read(texts, ("targets.csv", TARGETS)).expect("the files are well formed");
        let all = catalogue.choose(&[]).expect("the ids exist");
        let ran = catalogue
            .run(&all, false, NonZeroUsize::MIN, |_, _| true)
            .expect("the catalogue can be run");
        assert_eq!(ran.outcomes.len(), 1);
        assert_eq!(ran.outcomes[0].judged.len(), 2);
        let failed: Vec<String> = ran.failed.iter().map(Error::to_string).collect();
        assert_eq!(failed.len(), 2);
        assert!(failed[0].starts_with("X-0: ") && failed[0].contains("no such task"), "{failed:?}");
        assert!(failed[1].starts_with("X-2: cpus: 0"), "{failed:?}");
    }

    #[test]
    fn what_makes_no_sense_is_told_and_does_not_panic() {
        let deep = "(".repeat(20_000);
        let axes: String =
            (0..9).map(|n| format!("for.n{n} = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]\n")).collect();
        for (from, to, part) in [
            ("cpus = 1", "cpus = 0", "X-1: cpus: 0; a machine has 1 to 4096"),
            ("cpus = 1", "cpus = 1\nseeds = 0", "hogs.toml: run 1: seeds is 0; give 1 to 10000"),
            ("cpus = 1", "cpus = 1\nseeds = 9223372036854775807", "give 1 to 10000"),
            (
                "cpus = 1",
                "cpus = 1\ncosts = { switch = nan }",
                "a cost must be a number of ns from 0 to",
            ),
            ("cpus = 1", "cpus = 1\ncosts = { switch = 1e30 }", "costs: switch: 1000000"),
            ("cpus = 1", "cpus = 1\nreduced = { n = [1] }", "there is no for.n to replace"),
            (
                "for.scheduler",
                &format!("{axes}for.scheduler"),
                "run 1: for has 2000000000 combinations",
            ),
            ("cpu-ratio a b", "cpu-ratio a z", "there is no such task"),
            ("cpu-ratio a b", "cpu a b", "\"b\" is superfluous"),
            ("test = ", "value = \"1\"\nlow = 2\nhigh = 1\ntest = ", "low must not exceed high"),
            ("\"end.cfs", &format!("\"{deep}end.cfs"), "nested more than 100 levels deep"),
        ] {
            let message = run(&HOGS.replacen(from, to, 1)).expect_err(to).to_string();
            assert!(message.contains(part), "{to}: {message}");
        }
        let read =
            |targets: String| Catalogue::read([("hogs.toml", HOGS)], ("t.csv", targets.as_str()));
        for (from, to) in [("1.2,", "nan,"), ("1.2,", "1.4,")] {
            let message = read(TARGETS.replacen(from, to, 1)).expect_err(to).to_string();
            assert!(message.starts_with("t.csv: line 2: "), "{message}");
        }
    }

    #[test]
    fn an_id_may_be_the_beginning_of_several() {
        let texts = ["X-1", "X-10", "X-1a", "X-2.3", "XY-1"].map(|id| HOGS.replacen("X-1", id, 1));
        let files = texts.iter().map(|text| ("file", text.as_str()));
        let catalogue =
            Catalogue::read(files, ("targets.csv", TARGETS)).expect("the text is well formed");
        for (id, expected) in [
            ("x", &["X-1", "X-10", "X-1a", "X-2.3"][..]),
            ("X-1", &["X-1", "X-1a"]),
            ("X-2", &["X-2.3"]),
            ("xy-1", &["XY-1"]),
        ] {
            let chosen = catalogue.choose(&[id.into()]).unwrap_or_else(|error| panic!("{error}"));
            let ids: Vec<&str> = chosen.iter().map(|file| file.id.as_str()).collect();
            assert_eq!(ids, expected, "{id}");
        }
        for id in ["", "X-3", "X-", "Xé"] {
            assert!(catalogue.choose(&[id.into()]).is_err(), "{id}");
        }
    }

    #[test]
    fn mistakes_in_files_are_told() {
        for (from, to, part) in [
            ("title", "tilte", "unknown field"),
            ("cpu-ratio a b", "cpu-ration a b", "neither a figure"),
            ("\"cfs\", ", "\"cfx\", ", "no scheduler"),
            ("cpus = 1", "cpus = \"x\"", "not a whole number"),
            ("cpus = 1", "cpus = -1", "not a whole number"),
            (
                "duration_s = 20",
                "duration_s = -20",
                "duration_s: \"-20\" is not a number of seconds",
            ),
            ("workload", "bench = \"x\"\nworkload", "exactly one of"),
            ("ratio.cfs\"", "ratio.cfz\"", "no measured value is called ratio.cfz"),
        ] {
            let error = run(&HOGS.replacen(from, to, 1)).expect_err(from).to_string();
            assert!(error.contains(part), "{from}: {error}");
        }
        let error = Catalogue::read([("a", HOGS), ("b", HOGS)], ("t", TARGETS)).expect_err("twice");
        assert!(error.to_string().contains("another file has the id"));
        let catalogue =
            Catalogue::read([("a", HOGS)], ("t", TARGETS)).expect("the text is well formed");
        assert!(matches!(catalogue.choose(&["Y".into()]), Err(PapersError::Unknown(..))));
    }
}
