//! Aims of advice: [`Aim`].

use super::figure::{Figure, NAMES};
use crate::limits::time_us;
use std::fmt;

/// A figure of some tasks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Measure {
    /// The figure.
    pub figure: Figure,
    /// The tasks, as in `schedlab replay --only`. `None`: all that are reported.
    pub tasks: Option<String>,
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.tasks {
            Some(tasks) => write!(f, "{}({tasks})", self.figure),
            None => write!(f, "{}", self.figure),
        }
    }
}

/// A value that a figure is compared with.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Bound {
    /// Change relative to the replay of the recording: `0.1` for `+10 %`.
    Relative(f64),
    /// Time, ns, or count.
    Absolute(f64),
}

impl Bound {
    /// Parses `+10 %`, `50ms` or `12`.
    ///
    /// # Errors
    /// The text is none of these.
    pub fn parse(text: &str, figure: Figure) -> Result<Bound, String> {
        let text = text.trim();
        if let Some(percent) = text.strip_suffix('%') {
            let percent = percent.trim();
            let number: Option<f64> = percent.parse().ok();
            let number = number.filter(|it| it.is_finite() && *it >= -100.0);
            let is_signed = percent.starts_with(['+', '-']);
            return match number {
                Some(number) if is_signed => Ok(Bound::Relative(number / 100.0)),
                _ => Err(format!("`{text}` must be a change, such as `+10 %` or `-5 %`")),
            };
        }
        let value = match figure.is_time() {
            true => time_us(text).map(|us| us as f64 * 1e3),
            false => text.parse().ok().filter(|it: &f64| it.is_finite() && *it >= 0.0),
        };
        let wanted = if figure.is_time() { "a time, such as `50ms`" } else { "a number" };
        let wrong = || format!("`{text}` must be {wanted}, or a change, such as `+10 %`");
        value.map(Bound::Absolute).ok_or_else(wrong)
    }
}

/// Condition that advice must keep.
#[derive(Clone, PartialEq, Debug)]
pub struct Condition {
    /// The figure.
    pub measure: Measure,
    /// Whether the figure must not be above the bound. `false`: not below it.
    pub is_upper: bool,
    /// The bound.
    pub bound: Bound,
    text: String,
}

impl Condition {
    /// Whether the medians before and after a change meet the condition.
    pub fn holds(&self, before: f64, after: f64) -> bool {
        let bound = match self.bound {
            Bound::Relative(change) => before * (1.0 + change),
            Bound::Absolute(value) => value,
        };
        if self.is_upper { after <= bound } else { after >= bound }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A figure to minimise or maximise, and conditions.
#[derive(Clone, PartialEq, Debug)]
pub struct Aim {
    /// The figure to improve.
    pub objective: Measure,
    /// Whether larger values are better.
    pub is_max: bool,
    /// Conditions.
    pub conditions: Vec<Condition>,
}

impl Aim {
    /// Parses an aim: `p99(api) min, end(batch) <= +10 %`.
    ///
    /// # Errors
    /// It is malformed.
    pub fn parse(text: &str) -> Result<Aim, String> {
        let wrong = |what: String| {
            format!(
                "\"{text}\": {what}; write FIGURE(TASKS) min or max, then conditions such as \
                 end(TASKS) <= +10 %"
            )
        };
        let mut objective = None;
        let mut conditions = vec![];
        for clause in clauses(text) {
            let (head, goal) = split(clause).map_err(wrong)?;
            let measure = Measure::parse(head).map_err(wrong)?;
            let goal = goal.trim();
            if let "min" | "max" = goal {
                if objective.is_some() {
                    return Err(wrong("there are two figures with min or max".into()));
                }
                objective = Some((measure, goal == "max"));
                continue;
            }
            let sign = ["<=", ">=", "<", ">"].into_iter().find(|sign| goal.starts_with(sign));
            let Some(sign) = sign else {
                let what = format!("`{}` needs min, max, <= or >=", clause.trim());
                return Err(wrong(what));
            };
            let bound = Bound::parse(&goal[sign.len()..], measure.figure).map_err(wrong)?;
            let is_upper = sign.starts_with('<');
            let text = clause.trim().to_string();
            conditions.push(Condition { measure, is_upper, bound, text });
        }
        match objective {
            Some((objective, is_max)) => Ok(Aim { objective, is_max, conditions }),
            None => Err(wrong("no figure has min or max".into())),
        }
    }
}

impl Measure {
    /// Parses `p99(api)`, or `end` for all tasks.
    ///
    /// # Errors
    /// The figure is unknown.
    pub fn parse(text: &str) -> Result<Measure, String> {
        let text = text.trim();
        let (name, tasks) = match text.split_once('(') {
            Some((name, rest)) => {
                let tasks = rest.strip_suffix(')');
                let tasks = tasks.ok_or_else(|| format!("`{text}` lacks a closing parenthesis"))?;
                (name, Some(tasks.trim().to_string()).filter(|tasks| !tasks.is_empty()))
            }
            None => (text, None),
        };
        let figure = Figure::find(name);
        let figure =
            figure.ok_or_else(|| format!("no figure `{}`; there are {NAMES}", name.trim()))?;
        Ok(Measure { figure, tasks })
    }
}

/// Figure that was measured, instead of a recording.
#[derive(Clone, PartialEq, Debug)]
pub struct Measured {
    /// The figure.
    pub measure: Measure,
    /// Its value, or its change.
    pub value: Bound,
}

impl Measured {
    /// Parses `end(make)=2.86s` or `end(make)=-28%`.
    ///
    /// # Errors
    /// It is malformed.
    pub fn parse(text: &str) -> Result<Measured, String> {
        let form = "write FIGURE(TASKS)=VALUE, such as end(make)=2.86s or end(make)=-28%";
        let (measure, value) =
            text.rsplit_once('=').ok_or_else(|| format!("\"{text}\": there is no =; {form}"))?;
        let wrong = |what: String| format!("\"{text}\": {what}; {form}");
        let measure = Measure::parse(measure).map_err(wrong)?;
        let value = Bound::parse(value, measure.figure).map_err(wrong)?;
        Ok(Measured { measure, value })
    }
}

/// Splits at the commas outside of parentheses.
fn clauses(text: &str) -> Vec<&str> {
    let mut depth = 0;
    let is_end = |sign: char| {
        match sign {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        sign == ',' && depth <= 0
    };
    text.split(is_end).collect()
}

/// Splits a clause into its figure and the rest.
fn split(clause: &str) -> Result<(&str, &str), String> {
    let clause = clause.trim();
    if clause.is_empty() {
        return Err("a part is empty".into());
    }
    if let Some(at) = clause.find(')') {
        return Ok((&clause[..=at], &clause[at + 1..]));
    }
    let at = clause.find(['<', '>']).or_else(|| clause.rfind(char::is_whitespace));
    Ok(clause.split_at(at.unwrap_or(clause.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_aim_is_a_figure_to_improve_and_conditions() {
        let aim = Aim::parse("p99(api) min, end(batch, cc*) <= +10 %").expect("good");
        assert_eq!(aim.objective.to_string(), "p99(api)");
        assert!(!aim.is_max);
        let [condition] = aim.conditions.as_slice() else { panic!("{aim:?}") };
        assert_eq!(condition.measure.tasks.as_deref(), Some("batch, cc*"));
        assert_eq!(condition.to_string(), "end(batch, cc*) <= +10 %");
        assert!(condition.holds(100.0, 110.0) && !condition.holds(100.0, 111.0));
        let aim = Aim::parse("wait>=5ms, run time(descendants of make)max").expect("good");
        assert_eq!(aim.objective.figure, Figure::Run);
        assert!(aim.is_max && aim.objective.tasks.as_deref() == Some("descendants of make"));
        assert!(aim.conditions[0].holds(0.0, 5e6) && !aim.conditions[0].holds(0.0, 4e6));
        assert_eq!(aim.conditions[0].measure, Measure { figure: Figure::Wait, tasks: None });
        for (name, figure) in [
            ("p99_latency", Figure::Latency(99)),
            ("P95 round trip", Figure::RoundTrip(95)),
            ("long_waits", Figure::LongWaits),
        ] {
            assert_eq!(
                Aim::parse(&format!("{name} min")).map(|it| it.objective.figure),
                Ok(figure)
            );
        }
    }

    #[test]
    fn a_bad_aim_is_refused_with_what_would_be_right() {
        for (text, part) in [
            ("", "a part is empty"),
            ("p99(a)", "needs min, max"),
            ("p98(a) min", "no figure `p98`; there are p50"),
            ("p99(a min", "lacks a closing parenthesis"),
            ("end(a) <= +10 %", "no figure has min or max"),
            ("p99(a) min, p99(b) max", "two figures"),
            ("p99(a) min, end(b) <= 10 %", "must be a change, such as `+10 %`"),
            ("p99(a) min, end(b) <= 10", "must be a time, such as `50ms`"),
            ("p99(a) min, long_waits(b) < x", "must be a number"),
            ("p99(a) min,", "a part is empty"),
            ("p99(a) least", "needs min, max"),
        ] {
            let error = Aim::parse(text).expect_err(text);
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn measured_figures_are_values_or_changes() {
        let measured = Measured::parse("end(make)=2.86s").expect("good");
        assert_eq!(measured.value, Bound::Absolute(2.86e9));
        assert_eq!(measured.measure.to_string(), "end(make)");
        assert_eq!(Measured::parse("run=-28%").map(|it| it.value), Ok(Bound::Relative(-0.28)));
        assert!(Measured::parse("end(make)").is_err() && Measured::parse("x=1s").is_err());
    }
}
