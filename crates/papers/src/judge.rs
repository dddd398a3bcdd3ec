//! Compares values with demands.
//!
//! An experiment has values under each of its conditions (`conditions.rs`). A demand is *met* if
//! the median of its value over the conditions lies in the range (or, if the range itself depends
//! on the condition, or the demand is not about a number: if it holds under more than half of
//! them). It is
//! *met in part* if it is not met but holds under some conditions, and *missed* if it holds under
//! none.

use crate::axes::{combinations, fill, text_of};
use crate::conditions::Condition;
use crate::distribution::Distribution;
use crate::error::{At, Error};
use crate::expression::{self, ValuesByName};
use crate::file::{Criterion, File, Grade, Otherwise, Target};
use crate::targets::Row;
use std::collections::BTreeSet;
use toml::Value;

/// The verdict about a demand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// A hard demand is met.
    HardMet,
    /// A hard demand is met under some conditions, but not in the median.
    HardPart,
    /// A hard demand is missed under all conditions.
    HardMissed,
    /// A soft demand is met.
    SoftMet,
    /// A soft demand is met under some conditions, but not in the median.
    SoftPart,
    /// A soft demand is missed under all conditions.
    SoftMissed,
    /// It agrees because of a formula or a tunable: no schedule was needed.
    ByRule,
    /// The number was fitted to the published one: the agreement is no evidence.
    Fitted,
    /// The event in question did not occur in the simulation: the agreement is no evidence.
    Empty,
    /// The result cannot or should not be reproduced.
    NotAsked,
}

impl Verdict {
    /// Returns the verdict as it is printed.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::HardMet => "hard met",
            Verdict::HardPart => "hard in part",
            Verdict::HardMissed => "hard missed",
            Verdict::SoftMet => "soft met",
            Verdict::SoftPart => "soft in part",
            Verdict::SoftMissed => "soft missed",
            Verdict::ByRule => "by rule",
            Verdict::Fitted => "fitted",
            Verdict::Empty => "empty",
            Verdict::NotAsked => "not asked",
        }
    }

    /// All verdicts, in the order in which they are counted.
    pub const ALL: [Verdict; 10] = [
        Verdict::HardMet,
        Verdict::HardPart,
        Verdict::HardMissed,
        Verdict::SoftMet,
        Verdict::SoftPart,
        Verdict::SoftMissed,
        Verdict::ByRule,
        Verdict::Fitted,
        Verdict::Empty,
        Verdict::NotAsked,
    ];

    /// Whether a hard demand is missed, or not met in the median.
    pub const fn is_hard_miss(self) -> bool {
        matches!(self, Verdict::HardMissed | Verdict::HardPart)
    }

    /// Whether a soft demand is missed, or not met in the median.
    pub const fn is_soft_miss(self) -> bool {
        matches!(self, Verdict::SoftMissed | Verdict::SoftPart)
    }

    /// Whether the demand is met and counts.
    pub const fn is_met(self) -> bool {
        matches!(self, Verdict::HardMet | Verdict::SoftMet)
    }
}

/// Minimum and maximum of the accepted range.
pub type Range = (Option<f64>, Option<f64>);

/// A demand and its verdict.
#[derive(Clone, PartialEq, Debug)]
pub struct Judged {
    /// The demand in words.
    pub says: String,
    /// The published result; may be empty.
    pub published: String,
    /// Values under each condition; `None` if the demand is not about a single number.
    pub values: Option<Distribution>,
    /// Its unit.
    pub unit: String,
    /// The accepted range; medians, if it depends on the condition.
    pub range: Range,
    /// Whether it holds under each condition. Empty if it is not asked.
    pub holds: Vec<bool>,
    /// The verdict.
    pub verdict: Verdict,
    /// For each axis of the conditions and each value: number of conditions under which the demand
    /// holds, number of all with that value, and the median.
    pub splits: Vec<Split>,
    /// Results of other choices than the file's: the choice in words, and the median.
    pub otherwise: Vec<(String, f64)>,
    /// The reason why it was missed or is not asked, if known.
    pub because: String,
}

/// The conditions that share a value of an axis.
#[derive(Clone, PartialEq, Debug)]
pub struct Split {
    /// The axis.
    pub axis: String,
    /// Its value.
    pub value: String,
    /// Number of them under which the demand holds.
    pub holds: usize,
    /// Number of them.
    pub of: usize,
    /// Median of the values under them.
    pub median: Option<f64>,
}

impl Judged {
    /// Returns the median of the simulated values.
    pub fn simulated(&self) -> Option<f64> {
        self.values.as_ref().map(Distribution::median)
    }

    /// Returns the share of the conditions under which it holds; `None` if it is not asked.
    pub fn share(&self) -> Option<f64> {
        let holds = self.holds.iter().filter(|holds| **holds).count();
        (!self.holds.is_empty()).then(|| holds as f64 / self.holds.len() as f64)
    }

    /// Returns the percentage of the distribution below the published number. `None` if no single
    /// number was published.
    pub fn percentile(&self) -> Option<f64> {
        Some(self.values.as_ref()?.percentile(self.published.parse().ok()?))
    }
}

/// The values of an experiment.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// The conditions.
    pub conditions: &'a [Condition],
    /// The values under each condition.
    pub values: &'a [ValuesByName],
    /// Names of the values that need no schedule.
    pub by_rule: &'a BTreeSet<String>,
}

/// Judges all demands of `file`. The reduced form skips demands about values that were not
/// measured.
///
/// # Errors
/// A demand is malformed.
pub fn judge(
    file: &File,
    rows: &[Row],
    evidence: &Evidence<'_>,
    reduced: bool,
) -> Result<Vec<Judged>, Error> {
    let mut judged = vec![];
    let mut keep = |one: Result<Judged, Error>| match one {
        Ok(one) => {
            judged.push(one);
            Ok(())
        }
        Err(_) if reduced => Ok(()),
        Err(error) => Err(error),
    };
    for target in &file.targets {
        for binding in combinations(&target.axes) {
            let fill = |text: &str| fill(text, &binding);
            keep(target.demand(&file.id, rows, &fill).and_then(|demand| demand.judge(evidence)))?;
        }
    }
    for criterion in &file.criteria {
        for binding in combinations(&criterion.axes) {
            let fill = |text: &str| fill(text, &binding);
            let demand = criterion.demand(&fill);
            let place = format!("`{}`", demand.says);
            keep(demand.judge(evidence).at(place))?;
        }
    }
    judged.extend(file.not_asked.iter().map(|not| Judged {
        says: not.what.clone(),
        published: String::new(),
        values: None,
        unit: String::new(),
        range: (None, None),
        holds: vec![],
        verdict: Verdict::NotAsked,
        splits: vec![],
        otherwise: vec![],
        because: not.why.clone(),
    }));
    Ok(judged)
}

/// Returns the names of the values in each demand of `file`, in the order of [`judge`], with `*`
/// where a demand has it. (Results that are not asked for are left out.)
///
/// # Errors
/// As for [`judge`].
pub fn names(file: &File, rows: &[Row]) -> Result<Vec<Vec<String>>, Error> {
    let mut all = vec![];
    for target in &file.targets {
        for binding in combinations(&target.axes) {
            all.push(target.demand(&file.id, rows, &|text| fill(text, &binding))?.names());
        }
    }
    for criterion in &file.criteria {
        for binding in combinations(&criterion.axes) {
            all.push(criterion.demand(&|text| fill(text, &binding)).names());
        }
    }
    Ok(all)
}

/// Returns the rows of `targets.csv` about the experiment to which no target of the file refers.
pub fn forgotten<'a>(file: &File, rows: &'a [Row]) -> Vec<&'a Row> {
    let mut meant = vec![];
    for target in &file.targets {
        for binding in combinations(&target.axes) {
            meant.push((fill(&target.case, &binding), fill(&target.quantity, &binding)));
        }
    }
    let is_meant = |row: &Row| {
        meant.iter().any(|(case, quantity)| *case == row.case && *quantity == row.quantity)
    };
    rows.iter().filter(|row| row.id == file.id && !is_meant(row)).collect()
}

/// Whether `value` lies in the range. NaN lies in no range.
fn within(value: f64, (low, high): Range) -> bool {
    low.is_none_or(|low| value >= low) && high.is_none_or(|high| value <= high) && !value.is_nan()
}

/// A target or a criterion with its names filled in.
struct Demand {
    grade: Grade,
    says: String,
    value: Option<String>,
    unit: String,
    /// The texts of expressions.
    low: Option<String>,
    high: Option<String>,
    test: Option<String>,
    published: String,
    fitted: bool,
    by_rule: bool,
    empty_if: Option<String>,
    otherwise: Vec<(String, String)>,
    because: String,
}

fn filled(otherwise: &[Otherwise], fill: &dyn Fn(&str) -> String) -> Vec<(String, String)> {
    otherwise.iter().map(|other| (fill(&other.says), fill(&other.value))).collect()
}

impl Target {
    fn demand(
        &self,
        id: &str,
        rows: &[Row],
        fill: &dyn Fn(&str) -> String,
    ) -> Result<Demand, Error> {
        let (case, quantity) = (fill(&self.case), fill(&self.quantity));
        let row =
            rows.iter().find(|row| row.id == id && row.case == case && row.quantity == quantity);
        let row = row.ok_or_else(|| format!("targets.csv has no row `{case}`, `{quantity}`"))?;
        let bound = |bound: Option<f64>| bound.map(|bound| format!("{bound}"));
        Ok(Demand {
            grade: Grade::Hard,
            says: format!("{case}: {quantity}"),
            value: Some(fill(&self.value)),
            unit: row.unit.clone(),
            low: bound(row.low),
            high: bound(row.high),
            test: None,
            published: row.published.clone(),
            fitted: self.fitted,
            by_rule: self.by_rule,
            empty_if: self.empty_if.as_deref().map(fill),
            otherwise: filled(&self.otherwise, fill),
            because: fill(&self.because),
        })
    }
}

impl Criterion {
    fn demand(&self, fill: &dyn Fn(&str) -> String) -> Demand {
        let text = |value: &Option<Value>| value.as_ref().map(text_of).map(|text| fill(&text));
        Demand {
            grade: self.grade,
            says: fill(&self.says),
            value: self.value.as_deref().map(fill),
            unit: self.unit.clone(),
            low: text(&self.low),
            high: text(&self.high),
            test: self.test.as_deref().map(fill),
            published: text(&self.published).unwrap_or_default(),
            fitted: self.fitted,
            by_rule: self.by_rule,
            empty_if: self.empty_if.as_deref().map(fill),
            otherwise: filled(&self.otherwise, fill),
            because: fill(&self.because),
        }
    }
}

impl Demand {
    /// Returns the names of the values that decide the demand.
    fn names(&self) -> Vec<String> {
        let texts = [&self.value, &self.low, &self.high, &self.test, &self.empty_if];
        texts.into_iter().flatten().flat_map(|text| expression::names(text)).collect()
    }

    fn judge(self, evidence: &Evidence<'_>) -> Result<Judged, Error> {
        let number = |text: &Option<String>| -> Result<Option<Vec<f64>>, Error> {
            let Some(text) = text else { return Ok(None) };
            let each = evidence.values.iter().map(|values| expression::number(text, values));
            each.collect::<Result<_, _>>().map(Some)
        };
        let truth = |text: &Option<String>| -> Result<Option<Vec<bool>>, Error> {
            let Some(text) = text else { return Ok(None) };
            let each = evidence.values.iter().map(|values| expression::truth(text, values));
            each.collect::<Result<_, _>>().map(Some)
        };
        let (low, high) = (number(&self.low)?, number(&self.high)?);
        let (values, test) = (number(&self.value)?, truth(&self.test)?);
        let empty = truth(&self.empty_if)?.is_some_and(|empty| mostly(&empty));
        let no_range = low.is_none() && high.is_none();
        match (&values, &test) {
            (None, None) => return Err("needs a `value` with a range, or a `test`".into()),
            (Some(_), None) if no_range => {
                return Err("needs `low`, `high` or a `test`".into());
            }
            _ => {}
        }
        let count = evidence.values.len();
        let at = |bounds: &Option<Vec<f64>>, place: usize| bounds.as_ref().map(|it| it[place]);
        let lies = |place: usize| {
            let range = (at(&low, place), at(&high, place));
            values.as_ref().is_none_or(|values| within(values[place], range))
        };
        let tested = |place: usize| test.as_ref().is_none_or(|test| test[place]);
        let holds: Vec<bool> = (0..count).map(|place| lies(place) && tested(place)).collect();
        let median = |bounds: Option<&Vec<f64>>| bounds.map(|it| Distribution::new(it).median());
        let range = (median(low.as_ref()), median(high.as_ref()));
        let is_fixed = |bounds: &Option<Vec<f64>>| {
            bounds.as_ref().is_none_or(|it| it.iter().all(|bound| *bound == it[0]))
        };
        let met = match &values {
            Some(values) if is_fixed(&low) && is_fixed(&high) => {
                let median = Distribution::new(values).median();
                within(median, range) && test.as_ref().is_none_or(|test| mostly(test))
            }
            _ => mostly(&holds),
        };
        let verdict = self.verdict(met, holds.contains(&true), empty, evidence);
        let otherwise = self.otherwise.iter().map(|(says, value)| {
            let values = number(&Some(value.clone()))?.unwrap_or_default();
            Ok((says.clone(), Distribution::new(&values).median()))
        });
        let otherwise = otherwise.collect::<Result<_, Error>>()?;
        Ok(Judged {
            splits: splits(evidence.conditions, values.as_deref(), &holds),
            says: self.says,
            published: self.published,
            values: values.map(|values| Distribution::new(&values)),
            unit: self.unit,
            range,
            holds,
            verdict,
            otherwise,
            because: if met { String::new() } else { self.because },
        })
    }

    fn verdict(&self, met: bool, partly: bool, empty: bool, evidence: &Evidence<'_>) -> Verdict {
        match (self.grade, met, partly) {
            (_, true, _) if empty => Verdict::Empty,
            (_, true, _) if self.fitted => Verdict::Fitted,
            (_, true, _) if self.is_by_rule(evidence) => Verdict::ByRule,
            (Grade::Hard, true, _) => Verdict::HardMet,
            (Grade::Hard, false, true) => Verdict::HardPart,
            (Grade::Hard, false, false) => Verdict::HardMissed,
            (Grade::Soft, true, _) => Verdict::SoftMet,
            (Grade::Soft, false, true) => Verdict::SoftPart,
            (Grade::Soft, false, false) => Verdict::SoftMissed,
        }
    }

    /// Whether no schedule is needed: the file says so, or every value that the demand names is
    /// computed or read from the configuration.
    fn is_by_rule(&self, evidence: &Evidence<'_>) -> bool {
        let texts = [&self.value, &self.test].into_iter().flatten();
        let names: Vec<String> = texts.flat_map(|text| expression::names(text)).collect();
        let measured: Vec<&str> =
            evidence.values.first().map_or(vec![], |of| of.iter().map(|(name, _)| name).collect());
        let by_rule = |name: &String| {
            let mut meant = measured.iter().filter(|one| expression::matches(name, one));
            meant.all(|one| evidence.by_rule.contains(*one))
        };
        self.by_rule || !names.is_empty() && names.iter().all(by_rule)
    }
}

/// Whether more than half of them are true.
fn mostly(truths: &[bool]) -> bool {
    truths.iter().filter(|truth| **truth).count() * 2 > truths.len()
}

/// Returns the results of a demand under the conditions with each value of each axis.
fn splits(conditions: &[Condition], values: Option<&[f64]>, holds: &[bool]) -> Vec<Split> {
    let mut splits: Vec<Split> = vec![];
    let Some(first) = conditions.first() else { return splits };
    for (axis, _) in &first.labels {
        let value_of = |condition: &Condition| {
            let label = condition.labels.iter().find(|(name, _)| name == axis);
            label.map_or(String::new(), |(_, value)| value.clone())
        };
        let known: BTreeSet<String> = conditions.iter().map(value_of).collect();
        for value in known {
            let places = conditions.iter().enumerate();
            let places = places.filter(|(_, condition)| value_of(condition) == value);
            let places: Vec<usize> = places.map(|(place, _)| place).collect();
            let of: Option<Vec<f64>> =
                values.map(|values| places.iter().map(|&place| values[place]).collect());
            splits.push(Split {
                axis: axis.clone(),
                value,
                holds: places.iter().filter(|&&place| holds[place]).count(),
                of: places.len(),
                median: of.map(|of| Distribution::new(&of).median()),
            });
        }
    }
    splits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditions::{Conditions, Ticks};

    fn file(text: &str) -> File {
        toml::from_str(&format!("id = \"X-1\"\ntitle = \"\"\nsource = \"\"\n{text}"))
            .expect("the text is well formed")
    }

    fn row(low: f64, high: f64) -> Row {
        Row {
            id: "X-1".into(),
            case: "case 1".into(),
            quantity: "q".into(),
            unit: "s".into(),
            low: Some(low),
            high: Some(high),
            published: "1.5".into(),
        }
    }

    /// Judges under conditions with these values of `a.1` and `a.2`, and of `r`, which is computed.
    fn judged(text: &str, samples: &[(f64, f64)]) -> Result<Vec<Judged>, Error> {
        let values: Vec<ValuesByName> = samples
            .iter()
            .map(|(first, second)| {
                let mut values = ValuesByName::default();
                values.add("a.1".into(), *first).unwrap();
                values.add("a.2".into(), *second).unwrap();
                values.add("r".into(), 2.0).unwrap();
                values
            })
            .collect();
        let conditions: Conditions =
            toml::from_str(&format!("points = {}\nfewer = \"few\"", samples.len())).unwrap();
        let conditions = conditions.sample(false);
        let evidence = Evidence {
            conditions: &conditions,
            values: &values,
            by_rule: &BTreeSet::from(["r".to_string()]),
        };
        judge(&file(text), &[row(1.0, 2.0)], &evidence, false)
    }

    fn verdicts(text: &str) -> Result<Vec<Verdict>, Error> {
        let judged = judged(text, &[(1.5, 3.0)])?;
        Ok(judged.into_iter().map(|judged| judged.verdict).collect())
    }

    #[test]
    fn a_target_takes_its_range_from_the_table() {
        let target = |value: &str| {
            verdicts(&format!(
                "[[target]]\nfor.n = [1]\ncase = \"case {{n}}\"\nquantity = \"q\"\n\
                 value = \"{value}\""
            ))
        };
        assert_eq!(target("a.{n}"), Ok(vec![Verdict::HardMet]));
        assert_eq!(target("a.2"), Ok(vec![Verdict::HardMissed]));
        assert_eq!(target("0 / 0 * a.1"), Ok(vec![Verdict::HardMissed]), "NaN lies in no range");
        assert!(target("b").is_err());
        assert!(verdicts("[[target]]\ncase = \"other\"\nquantity = \"q\"\nvalue = \"1\"").is_err());
    }

    const RANGE: &str = "[[criterion]]\ngrade = \"hard\"\nsays = \"x\"\nvalue = \"a.1\"\n\
                         low = 1\nhigh = 2\npublished = 1.5\n";

    /// The median of five decides; if some do not lie in the range, the share is shown.
    #[test]
    fn the_median_decides_and_the_share_is_told() {
        let one = |values: [f64; 5]| {
            let samples: Vec<(f64, f64)> = values.iter().map(|value| (*value, 0.0)).collect();
            judged(RANGE, &samples).expect("the demand can be judged").remove(0)
        };
        let met = one([9.0, 1.2, 0.1, 1.4, 1.9]);
        assert_eq!((met.verdict, met.simulated()), (Verdict::HardMet, Some(1.4)));
        assert_eq!((met.share(), met.percentile()), (Some(0.6), Some(60.0)));
        let part = one([9.0, 1.2, 7.0, 1.4, 8.0]);
        assert_eq!((part.verdict, part.share()), (Verdict::HardPart, Some(0.4)));
        let missed = one([9.0, 8.0, 7.0, 6.0, 5.0]);
        assert_eq!((missed.verdict, missed.share()), (Verdict::HardMissed, Some(0.0)));
        assert_eq!(missed.percentile(), Some(0.0));
        // The median may lie in a range that contains hardly any single value.
        let straddling = one([0.1, 0.2, 1.5, 8.0, 9.0]);
        assert_eq!((straddling.verdict, straddling.share()), (Verdict::HardMet, Some(0.2)));
    }

    #[test]
    fn ranges_that_depend_on_the_condition_and_tests_hold_if_they_mostly_do() {
        let text = RANGE.replace("high = 2", "high = \"a.2\"");
        let samples = [(1.5, 2.0), (2.5, 3.0), (3.5, 3.0)];
        let one = judged(&text, &samples).expect("the demand can be judged").remove(0);
        assert_eq!((one.verdict, one.holds), (Verdict::HardMet, vec![true, true, false]));
        assert_eq!(one.range, (Some(1.0), Some(3.0)));
        let test = "[[criterion]]\ngrade = \"soft\"\nsays = \"x\"\ntest = \"a.1 < a.2\"";
        let half =
            judged(test, &[(1.0, 2.0), (2.0, 1.0)]).expect("the demand can be judged").remove(0);
        assert_eq!((half.verdict, half.share()), (Verdict::SoftPart, Some(0.5)));
    }

    #[test]
    fn each_value_of_an_axis_has_its_own_median() {
        let samples: Vec<(f64, f64)> = (0..8).map(|value| (f64::from(value), 0.0)).collect();
        let one = judged(RANGE, &samples).expect("the demand can be judged").remove(0);
        let (together, skewed) = (&one.splits[1], &one.splits[0]);
        assert_eq!((together.axis.as_str(), together.value.as_str()), ("ticks", "together"));
        assert_eq!((skewed.value.as_str(), skewed.of, together.of), ("skewed", 4, 4));
        assert_eq!(together.holds + skewed.holds, 2);
        let conditions: Conditions = toml::from_str("points = 8\nfewer = \"few\"").unwrap();
        let sample = conditions.sample(false);
        let of = sample.iter().filter(|it| it.ticks == Ticks::Skewed);
        let of: Vec<f64> = of.map(|condition| condition.number as f64 - 1.0).collect();
        assert_eq!(skewed.median, Some(Distribution::new(&of).median()));
    }

    #[test]
    fn what_was_fitted_is_never_a_success_but_can_be_a_failure() {
        let fitted = |value: &str| {
            verdicts(&format!(
                "[[target]]\ncase = \"case 1\"\nquantity = \"q\"\nfitted = true\n\
                 value = \"{value}\""
            ))
        };
        assert_eq!(fitted("a.1"), Ok(vec![Verdict::Fitted]));
        assert_eq!(fitted("a.2"), Ok(vec![Verdict::HardMissed]));
    }

    #[test]
    fn what_is_computed_or_said_to_be_is_counted_by_rule() {
        let of = |value: &str, more: &str| {
            verdicts(&format!(
                "[[criterion]]\ngrade = \"hard\"\nsays = \"x\"\nvalue = \"{value}\"\nlow = 2\n{more}"
            ))
        };
        assert_eq!(of("r", ""), Ok(vec![Verdict::ByRule]));
        assert_eq!(of("max(r, 1)", ""), Ok(vec![Verdict::ByRule]));
        assert_eq!(of("max(a.*, r)", ""), Ok(vec![Verdict::HardMet]), "a schedule is needed, too");
        assert_eq!(of("a.2", "by_rule = true"), Ok(vec![Verdict::ByRule]));
        assert_eq!(of("r / 2", ""), Ok(vec![Verdict::HardMissed]));
    }

    #[test]
    fn what_compares_with_nothing_is_empty_and_a_miss_is_a_miss() {
        let of = |value: &str| {
            verdicts(&format!(
                "[[criterion]]\ngrade = \"soft\"\nsays = \"x\"\nvalue = \"{value}\"\nhigh = 20\n\
                 empty_if = \"{value} == 0 or a.2 > 2\""
            ))
        };
        assert_eq!(of("a.1 - 1.5"), Ok(vec![Verdict::Empty]));
        assert_eq!(of("a.1 * 100"), Ok(vec![Verdict::SoftMissed]));
    }

    #[test]
    fn other_choices_are_told() {
        let text = format!("{RANGE}otherwise = [{{ says = \"twice\", value = \"2 * a.1\" }}]");
        let one =
            judged(&text, &[(1.0, 0.0), (2.0, 0.0), (3.0, 0.0)]).expect("the demand can be judged");
        assert_eq!(one[0].otherwise, [("twice".to_string(), 4.0)]);
    }

    #[test]
    fn criteria_have_ranges_or_tests() {
        let criterion = |rest: &str| {
            verdicts(&format!("[[criterion]]\ngrade = \"soft\"\nsays = \"x\"\n{rest}"))
        };
        assert_eq!(criterion("value = \"a.1\"\nhigh = \"a.2\""), Ok(vec![Verdict::SoftMet]));
        assert_eq!(criterion("value = \"a.1\"\nlow = 1.6"), Ok(vec![Verdict::SoftMissed]));
        assert_eq!(criterion("test = \"rising(a.*)\""), Ok(vec![Verdict::SoftMet]));
        assert_eq!(
            criterion("value = \"a.1\"\nlow = 1\ntest = \"falling(a.*)\""),
            Ok(vec![Verdict::SoftMissed])
        );
        assert!(criterion("").is_err() && criterion("value = \"a.1\"").is_err());
    }

    #[test]
    fn rows_without_a_target_are_noticed() {
        let rows =
            ["X-1", "X-2"].map(|id| Row { id: id.into(), case: "c".into(), ..row(1.0, 2.0) });
        assert_eq!(forgotten(&file(""), &rows).len(), 1);
        assert!(
            forgotten(&file("[[target]]\ncase = \"c\"\nquantity = \"q\"\nvalue = \"1\""), &rows)
                .is_empty()
        );
    }
}
