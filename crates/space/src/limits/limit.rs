//! A CPU limit of a group: [`Limit`], and the sizes in which users give it.

use std::fmt;

/// Smallest quota and period that the kernel takes, us.
pub const LEAST_US: u64 = 1_000;

/// Largest period that the kernel takes, us.
pub const PERIOD_MAX_US: u64 = 1_000_000;

/// Size of a quota, as users give it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum QuotaSize {
    /// CPU time of a period, us.
    Time(u64),
    /// Number of CPUs.
    Cpus(f64),
}

impl QuotaSize {
    /// Parses a quota: `20ms`, `0.5cpu`, `50%` (of a CPU).
    ///
    /// # Errors
    /// It is none of these.
    pub fn parse(text: &str) -> Result<QuotaSize, String> {
        let number = |number: &str| {
            let number = number.trim().parse::<f64>().ok();
            number.filter(|number| number.is_finite() && *number > 0.0)
        };
        let cpus = ["cpus", "cpu", "CPUs", "CPU"].iter().find_map(|unit| text.strip_suffix(unit));
        let size = if let Some(cpus) = cpus {
            number(cpus).map(QuotaSize::Cpus)
        } else if let Some(percent) = text.strip_suffix('%') {
            number(percent).map(|percent| QuotaSize::Cpus(percent / 100.0))
        } else {
            time_us(text).map(QuotaSize::Time)
        };
        size.ok_or_else(|| {
            format!("\"{text}\" is not a quota; write 20ms (of each period), 0.5cpu or 50%")
        })
    }

    /// Returns the quota in a period, us.
    pub fn quota_us(self, period_us: u64) -> u64 {
        match self {
            QuotaSize::Time(us) => us,
            QuotaSize::Cpus(cpus) => (cpus * period_us as f64).round() as u64,
        }
    }
}

/// Parses a time with a unit, as us.
pub fn time_us(text: &str) -> Option<u64> {
    const UNITS: [(&str, f64); 4] = [("us", 1.0), ("µs", 1.0), ("ms", 1e3), ("s", 1e6)];
    let (unit, us) = UNITS.iter().find(|(unit, _)| text.ends_with(unit))?;
    let number: f64 = text[..text.len() - unit.len()].trim().parse().ok()?;
    let time_us = (number * us).round();
    (0.0..=1e15).contains(&time_us).then_some(time_us as u64)
}

/// A limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limit {
    /// CPU time of each period, us. `None`: no limit.
    pub quota_us: Option<u64>,
    /// Period, us.
    pub period_us: u64,
    /// Unused quota that may be carried over, us.
    pub burst_us: u64,
}

impl Limit {
    /// No limit.
    pub const NONE: Limit = Limit { quota_us: None, period_us: 100_000, burst_us: 0 };

    /// Returns the limit as a number of CPUs. Infinite if there is none.
    pub fn cpus(&self) -> f64 {
        self.quota_us.map_or(f64::INFINITY, |quota_us| quota_us as f64 / self.period_us as f64)
    }

    /// Returns the content of `cpu.max`.
    pub fn cpu_max(&self) -> String {
        match self.quota_us {
            Some(quota_us) => format!("{quota_us} {}", self.period_us),
            None => format!("max {}", self.period_us),
        }
    }

    /// Returns the settings of the group at `path`, in an order in which the kernel takes them
    /// whatever limit the group has.
    pub fn settings(&self, path: &str) -> [String; 3] {
        [
            format!("{path}:cpu.max.burst=0"),
            format!("{path}:cpu.max={}", self.cpu_max()),
            format!("{path}:cpu.max.burst={}", self.burst_us),
        ]
    }
}

impl fmt::Display for Limit {
    /// Writes the number of CPUs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.quota_us {
            None => f.write_str("none"),
            Some(_) => write!(f, "{} CPU", number(self.cpus())),
        }
    }
}

/// Formats a number of CPUs, with as many decimals as it has, at most three.
pub fn number(cpus: f64) -> String {
    let text = format!("{cpus:.3}");
    let text = text.trim_end_matches('0');
    match text.rsplit_once('.') {
        Some((whole, "")) => format!("{whole}.00"),
        Some((whole, part)) if part.len() == 1 => format!("{whole}.{part}0"),
        _ => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotas_are_times_or_cpus() {
        let quota = |text, period_us| QuotaSize::parse(text).map(|size| size.quota_us(period_us));
        assert_eq!(quota("20ms", 50_000), Ok(20_000));
        assert_eq!(quota("1500us", 50_000), Ok(1_500));
        assert_eq!(quota("0.5cpu", 50_000), Ok(25_000));
        assert_eq!(quota("150%", 20_000), Ok(30_000));
        for wrong in ["20", "", "-1ms", "0cpu", "x%", "nancpu"] {
            assert!(quota(wrong, 1000).is_err(), "{wrong}");
        }
    }

    #[test]
    fn limits_are_written_as_in_the_kernels_files() {
        let limit = Limit { quota_us: Some(35_000), period_us: 100_000, burst_us: 20_000 };
        assert_eq!(
            (limit.to_string(), limit.cpu_max()),
            ("0.35 CPU".into(), "35000 100000".into())
        );
        assert_eq!(limit.settings("/g")[2], "/g:cpu.max.burst=20000");
        assert_eq!(
            (Limit::NONE.to_string(), Limit::NONE.cpu_max()),
            ("none".into(), "max 100000".into())
        );
        assert_eq!([2.0, 0.5, 0.125].map(number), ["2.00", "0.50", "0.125"]);
    }
}
