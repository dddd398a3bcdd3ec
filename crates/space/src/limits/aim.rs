//! Aims that a limit should hold: [`Aim`].

use super::figures::{Figure, Figures};
use std::fmt;

/// An aim: a figure that must be below or above a bound.
#[derive(Clone, PartialEq, Debug)]
pub struct Aim {
    /// The figure.
    pub figure: Figure,
    /// Whether the figure must be below the bound, and not above it.
    pub is_below: bool,
    /// The bound, in the figure's unit (ns, a part, or requests a second).
    pub bound: f64,
    text: String,
}

impl Aim {
    /// Parses an aim: `p99 < 50ms`, `throttled < 5%`, `throughput > 40/s`.
    ///
    /// # Errors
    /// It is malformed.
    pub fn parse(text: &str) -> Result<Aim, String> {
        let forms = "write p50, p90, p95, p99, max, mean or end < TIME (p99 < 50ms), \
                     throttled < N%, or throughput > N/s";
        let wrong = |what: String| format!("\"{text}\": {what}; {forms}");
        let (at, sign) = text
            .char_indices()
            .find(|(_, sign)| "<>".contains(*sign))
            .ok_or_else(|| wrong("an aim needs < or >".into()))?;
        let (name, bound) = (text[..at].trim(), text[at + 1..].trim_start_matches('=').trim());
        let figure =
            Figure::find(name).ok_or_else(|| wrong(format!("unknown figure \"{name}\"")))?;
        let is_below = sign == '<';
        if is_below == (figure == Figure::Throughput) {
            let sign = if is_below { ">" } else { "<" };
            return Err(wrong(format!("an aim for {name} uses {sign}")));
        }
        let bound_of = |bound: &str| -> Option<f64> {
            let number = |text: &str| text.trim().parse::<f64>().ok();
            let value = match figure {
                Figure::Throttled => number(bound.strip_suffix('%')?)? / 100.0,
                Figure::Throughput => number(bound.strip_suffix("/s").unwrap_or(bound))?,
                _ => super::limit::time_us(bound)? as f64 * 1e3,
            };
            (value.is_finite() && value >= 0.0).then_some(value)
        };
        let no_bound = || wrong(format!("\"{bound}\" is not a bound for it"));
        let bound_value = bound_of(bound).ok_or_else(no_bound)?;
        let text = format!("{} {sign} {bound}", figure.name());
        Ok(Aim { figure, is_below, bound: bound_value, text })
    }

    /// Whether a run holds it. A run without the figure does not.
    pub fn holds(&self, figures: &Figures) -> bool {
        figures.get(self.figure).is_some_and(|value| match self.is_below {
            true => value < self.bound,
            false => value > self.bound,
        })
    }
}

impl fmt::Display for Aim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aims_are_bounds_of_figures() {
        let aim = Aim::parse("p99<50ms").expect("good");
        assert_eq!((aim.figure, aim.is_below, aim.bound), (Figure::P99, true, 50e6));
        assert_eq!(aim.to_string(), "p99 < 50ms");
        let aim = Aim::parse(" throttled <  5 % ").expect("good");
        assert_eq!((aim.figure, aim.bound), (Figure::Throttled, 0.05));
        assert_eq!(Aim::parse("throughput >= 40/s").map(|aim| aim.bound), Ok(40.0));
        for (text, part) in [
            ("p99 50ms", "needs < or >"),
            ("p98 < 50ms", "unknown figure \"p98\""),
            ("p99 < 50", "\"50\" is not a bound"),
            ("p99 > 50ms", "an aim for p99 uses <"),
            ("throughput < 40/s", "an aim for throughput uses >"),
            ("throttled < x%", "\"x%\" is not a bound"),
        ] {
            let error = Aim::parse(text).expect_err(text);
            assert!(error.contains(part), "{error}");
        }
    }
}
