//! Compares values with what is demanded of them.

use crate::axes::{combinations, fill, text_of};
use crate::error::{At, Error};
use crate::expression::{self, ValuesByName};
use crate::file::{Criterion, File, Grade, Target};
use crate::targets::Row;
use toml::Value;

/// How a demand came out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// A hard demand is met.
    HardMet,
    /// A hard demand is missed.
    HardMissed,
    /// A soft demand is met.
    SoftMet,
    /// A soft demand is missed.
    SoftMissed,
    /// The number was fitted to what was published: that it agrees is no evidence.
    Fitted,
    /// It cannot or should not be reproduced.
    NotAsked,
}

impl Verdict {
    /// As it is printed.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::HardMet => "hard met",
            Verdict::HardMissed => "hard missed",
            Verdict::SoftMet => "soft met",
            Verdict::SoftMissed => "soft missed",
            Verdict::Fitted => "fitted",
            Verdict::NotAsked => "not asked",
        }
    }

    /// All of them, in the order in which they are counted.
    pub const ALL: [Verdict; 6] = [
        Verdict::HardMet,
        Verdict::HardMissed,
        Verdict::SoftMet,
        Verdict::SoftMissed,
        Verdict::Fitted,
        Verdict::NotAsked,
    ];
}

/// A demand, and how it came out.
#[derive(Clone, PartialEq, Debug)]
pub struct Judged {
    /// What is demanded, of what.
    pub says: String,
    /// What was published; may be empty.
    pub published: String,
    /// What came out; none where the demand is not about one number.
    pub simulated: Option<f64>,
    /// Its unit.
    pub unit: String,
    /// The least and the most that is right.
    pub range: (Option<f64>, Option<f64>),
    /// How it came out.
    pub verdict: Verdict,
    /// Why it was missed, or is not asked, as far as is known.
    pub because: String,
}

/// Judges all that `file` demands. In the reduced form demands about values that were not measured
/// are passed over.
///
/// # Errors
/// What in the file means nothing.
pub fn judge(
    file: &File,
    rows: &[Row],
    values: &ValuesByName,
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
            keep(target.judge(&file.id, rows, values, &fill))?;
        }
    }
    for criterion in &file.criteria {
        for binding in combinations(&criterion.axes) {
            let fill = |text: &str| fill(text, &binding);
            keep(criterion.judge(values, &fill))?;
        }
    }
    judged.extend(file.not_asked.iter().map(|not| Judged {
        says: not.what.clone(),
        published: String::new(),
        simulated: None,
        unit: String::new(),
        range: (None, None),
        verdict: Verdict::NotAsked,
        because: not.why.clone(),
    }));
    Ok(judged)
}

/// The rows of `targets.csv` about the experiment that no target of the file is about.
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

fn verdict(grade: Grade, fitted: bool, met: bool) -> Verdict {
    match (grade, fitted, met) {
        (_, true, true) => Verdict::Fitted,
        (Grade::Hard, _, true) => Verdict::HardMet,
        (Grade::Hard, _, false) => Verdict::HardMissed,
        (Grade::Soft, _, true) => Verdict::SoftMet,
        (Grade::Soft, _, false) => Verdict::SoftMissed,
    }
}

/// Whether `value` lies in the range. What is no number lies nowhere.
fn within(value: f64, (low, high): (Option<f64>, Option<f64>)) -> bool {
    low.is_none_or(|low| value >= low) && high.is_none_or(|high| value <= high) && !value.is_nan()
}

impl Target {
    fn judge(
        &self,
        id: &str,
        rows: &[Row],
        values: &ValuesByName,
        fill: &dyn Fn(&str) -> String,
    ) -> Result<Judged, Error> {
        let (case, quantity) = (fill(&self.case), fill(&self.quantity));
        let row =
            rows.iter().find(|row| row.id == id && row.case == case && row.quantity == quantity);
        let row = row.ok_or_else(|| format!("targets.csv has no row `{case}`, `{quantity}`"));
        let row = row.map_err(|message| Error::new(message).at(id))?;
        let value = expression::number(&fill(&self.value), values).at(id)?;
        let range = (row.low, row.high);
        let met = within(value, range);
        Ok(Judged {
            says: format!("{case}: {quantity}"),
            published: row.published.clone(),
            simulated: Some(value),
            unit: row.unit.clone(),
            range,
            verdict: verdict(Grade::Hard, self.fitted, met),
            because: if met { String::new() } else { fill(&self.because) },
        })
    }
}

impl Criterion {
    fn judge(&self, values: &ValuesByName, fill: &dyn Fn(&str) -> String) -> Result<Judged, Error> {
        let says = fill(&self.says);
        let place = format!("`{says}`");
        let bound = |bound: &Option<Value>| match bound {
            Some(bound) => expression::number(&fill(&text_of(bound)), values).map(Some).at(&place),
            None => Ok(None),
        };
        let range = (bound(&self.low)?, bound(&self.high)?);
        let simulated = match &self.value {
            Some(value) => Some(expression::number(&fill(value), values).at(&place)?),
            None => None,
        };
        let test = match &self.test {
            Some(test) => Some(expression::truth(&fill(test), values).at(&place)?),
            None => None,
        };
        let met = match (simulated, test) {
            (None, None) => {
                return Err(Error::new("needs a `value` with a range, or a `test`").at(place));
            }
            (Some(_), None) if range == (None, None) => {
                return Err(Error::new("needs `low`, `high` or a `test`").at(place));
            }
            (value, test) => value.is_none_or(|value| within(value, range)) && test.unwrap_or(true),
        };
        Ok(Judged {
            published: self
                .published
                .as_ref()
                .map(text_of)
                .map_or(String::new(), |text| fill(&text)),
            simulated,
            unit: self.unit.clone(),
            range,
            verdict: verdict(self.grade, self.fitted, met),
            because: if met { String::new() } else { fill(&self.because) },
            says,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> File {
        toml::from_str(&format!("id = \"X-1\"\ntitle = \"\"\nsource = \"\"\n{text}"))
            .expect("it is well formed")
    }

    fn verdicts(text: &str) -> Result<Vec<Verdict>, Error> {
        let rows = [Row {
            id: "X-1".into(),
            case: "case 1".into(),
            quantity: "q".into(),
            unit: "s".into(),
            low: Some(1.0),
            high: Some(2.0),
            published: "1.5".into(),
        }];
        let mut values = ValuesByName::default();
        values.add("a.1".into(), 1.5).unwrap();
        values.add("a.2".into(), 3.0).unwrap();
        let judged = judge(&file(text), &rows, &values, false)?;
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
        assert_eq!(
            target("0 / 0"),
            Ok(vec![Verdict::HardMissed]),
            "what is no number is never right"
        );
        assert!(target("b").is_err());
        assert!(verdicts("[[target]]\ncase = \"other\"\nquantity = \"q\"\nvalue = \"1\"").is_err());
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
        let row = |id: &str| Row {
            id: id.into(),
            case: "c".into(),
            quantity: "q".into(),
            unit: String::new(),
            low: None,
            high: None,
            published: String::new(),
        };
        let rows = [row("X-1"), row("X-2")];
        assert_eq!(forgotten(&file(""), &rows).len(), 1);
        assert!(
            forgotten(&file("[[target]]\ncase = \"c\"\nquantity = \"q\"\nvalue = \"1\""), &rows)
                .is_empty()
        );
    }
}
