//! Positions of the marks of an axis: whole multiples of 1, 2 or 5 times a power of ten.

use crate::format::count;

/// Marks of an axis.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ticks {
    /// Number of the first mark; mark `n` is at `n * factor * 10^power`.
    first: i64,
    /// Number of the last mark.
    last: i64,
    factor: i64,
    power: i32,
}

/// Returns `factor * 10^power`, equal on all machines, which `powi` does not guarantee.
fn scaled(factor: f64, power: i32) -> f64 {
    let ten = |count: u32| (0..count).fold(1.0, |product, _| product * 10.0);
    if power >= 0 { factor * ten(power.unsigned_abs()) } else { factor / ten(power.unsigned_abs()) }
}

impl Ticks {
    /// Returns marks between `least` and `most`, where `most` is larger: as many as possible up to
    /// `most_marks`, at least 1.
    pub fn within(least: f64, most: f64, most_marks: usize) -> Ticks {
        let ticks = Ticks::around(least, most, most_marks);
        let first = ticks.first + i64::from(ticks.at(ticks.first) < least);
        let last = ticks.last - i64::from(ticks.at(ticks.last) > most);
        Ticks { first, last, ..ticks }
    }

    /// Returns marks of which the first is not above `least` and the last not below `most`, where
    /// `most` is larger.
    pub fn around(least: f64, most: f64, most_marks: usize) -> Ticks {
        let step_least = (most - least) / most_marks.max(1) as f64;
        let mut power = 0;
        while scaled(1.0, power) > step_least && power > -300 {
            power -= 1;
        }
        while scaled(10.0, power) <= step_least && power < 300 {
            power += 1;
        }
        let factor =
            [1, 2, 5].into_iter().find(|&factor| scaled(factor as f64, power) >= step_least);
        let (factor, power) = factor.map_or((1, power + 1), |factor| (factor, power));
        let step = scaled(factor as f64, power);
        Ticks {
            first: (least / step).floor() as i64,
            last: (most / step).ceil() as i64,
            factor,
            power,
        }
    }

    fn at(&self, number: i64) -> f64 {
        scaled((number * self.factor) as f64, self.power)
    }

    /// Returns the position of the first mark.
    pub fn low(&self) -> f64 {
        self.at(self.first)
    }

    /// Returns the position of the last mark.
    pub fn high(&self) -> f64 {
        self.at(self.last)
    }

    /// Returns the position and the label of each mark.
    pub fn marks(&self) -> impl Iterator<Item = (f64, String)> {
        (self.first..=self.last).map(|number| (self.at(number), self.label(number)))
    }

    fn label(&self, number: i64) -> String {
        let at = self.at(number);
        match self.power {
            ..-6 => format!("{at:e}"),
            -6..0 => format!("{at:.*}", self.power.unsigned_abs() as usize),
            0..12 => {
                let sign = if at < 0.0 { "-" } else { "" };
                format!("{sign}{}", count(at.abs() as u64))
            }
            _ => format!("{at:e}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(ticks: Ticks) -> Vec<String> {
        ticks.marks().map(|(_, label)| label).collect()
    }

    #[test]
    fn marks_are_round_numbers() {
        assert_eq!(labels(Ticks::around(0.0, 11.3, 5)), ["0", "5", "10", "15"]);
        assert_eq!(
            labels(Ticks::around(0.0, 0.27, 6)),
            ["0.00", "0.05", "0.10", "0.15", "0.20", "0.25", "0.30"]
        );
        assert_eq!(labels(Ticks::within(50.0, 200.0, 4)), ["50", "100", "150", "200"]);
        assert_eq!(labels(Ticks::within(1.0, 64.0, 5)), ["20", "40", "60"]);
        assert_eq!(labels(Ticks::around(-3.0, 9_000.0, 4)), ["-5,000", "0", "5,000", "10,000"]);
        assert_eq!(labels(Ticks::around(0.0, 2e-9, 2)), ["0e0", "1e-9", "2e-9"]);
        assert_eq!(labels(Ticks::around(0.0, 1e15, 2)), ["0e0", "5e14", "1e15"]);
    }

    #[test]
    fn the_marks_enclose_what_they_are_around() {
        for (least, most) in [(0.0, 1.0), (0.3, 0.300_001), (-7.5, 1e9), (1e-12, 2e-12)] {
            let ticks = Ticks::around(least, most, 7);
            assert!(ticks.low() <= least && ticks.high() >= most, "{least} {most}");
            assert!(ticks.marks().count() <= 9, "{least} {most}");
        }
    }
}
