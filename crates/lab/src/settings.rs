//! Settings of a column of a comparison: a tunable of its scheduler, the nice value of a task, the
//! weight or the limit of a group. [`Setting`], and a list of several values, [`Axis`].
//!
//! `cfs[sched_latency_ns=6000000]`, `cfs:sched_latency_ns=6e6` and `--set sched_latency_ns=6ms` are
//! forms of the same setting, and this file parses all of them.

use schedlab_report::data::{SettingRow, SettingValue};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Kinds of settings, which precede a `:`. A tunable has none.
pub const KINDS: [&str; 6] = ["nice", "shares", "weight", "quota", "burst", "quota_phase"];

/// Name of the setting of ticks a second.
const HZ: &str = "hz";

/// Name of the setting that names a column's kernel.
const KERNEL: &str = "kernel";

/// Period of a quota that is written without one, µs.
const PERIOD_US: u64 = 100_000;

/// A setting and its value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Setting {
    /// `sched_latency_ns=6000000`: a tunable of the scheduler.
    Tunable {
        /// The kernel's name.
        name: String,
        /// Its value.
        value: i64,
    },
    /// `nice:hog=5`: the initial nice value of the tasks of a key.
    Nice {
        /// The key of the workload.
        key: String,
        /// -20 to 19.
        nice: i32,
    },
    /// `shares:/g=512`: `cpu.shares` of a group.
    Shares {
        /// Path of the group.
        path: String,
        /// The value.
        shares: u64,
    },
    /// `weight:/g=200`: `cpu.weight` of a group.
    Weight {
        /// Path of the group.
        path: String,
        /// The value.
        weight: u64,
    },
    /// `quota:/g=20ms/100ms` or `quota:/g=max`: `cpu.max` of a group.
    Quota {
        /// Path of the group.
        path: String,
        /// CPU time and period, µs. `None`: no limit.
        limit_us: Option<(u64, u64)>,
    },
    /// `burst:/g=20ms`: `cpu.max.burst` of a group.
    Burst {
        /// Path of the group.
        path: String,
        /// Unused quota that may be saved, µs.
        burst_us: u64,
    },
    /// `quota_phase:/g=12ms`: phase of a group's periods.
    Phase {
        /// Path of the group.
        path: String,
        /// Time from the beginning of the run to a beginning of a period, µs.
        phase_us: u64,
    },
    /// `hz=250`: ticks a second.
    Hz {
        /// 100 to 1000.
        hz: u32,
    },
    /// `kernel=ubuntu 24.04`: name of the kernel that the column stands for. It changes nothing.
    Kernel {
        /// The name.
        title: String,
    },
}

impl Setting {
    /// Parses `NAME=VALUE`.
    ///
    /// # Errors
    /// Description of the fault, and of what would be right.
    pub fn parse(text: &str) -> Result<Setting, String> {
        let (name, value) = split(text)?;
        Setting::read(name, value)
    }

    /// Parses a value for `name`.
    ///
    /// # Errors
    /// Description of the fault, and of what would be right.
    pub fn read(name: &str, value: &str) -> Result<Setting, String> {
        let kind = name.split_once(':').filter(|(kind, _)| KINDS.contains(kind));
        let Some((kind, owner)) = kind else {
            if let Some((kind, _)) = name.split_once(':') {
                return Err(format!(
                    "\"{kind}:\" is not a kind of setting; the kinds are nice:KEY, shares:/GROUP, \
                     weight:/GROUP, quota:/GROUP, burst:/GROUP and quota_phase:/GROUP; a tunable has only its name"
                ));
            }
            if KINDS.contains(&name) {
                let owner = if name == "nice" { "KEY" } else { "/GROUP" };
                return Err(format!(
                    "{name}={value}: the {owner} is missing; write it as {name}:{owner}={value}"
                ));
            }
            return match name {
                HZ => Ok(Setting::Hz { hz: hz(value)? }),
                KERNEL => Ok(Setting::Kernel { title: value.into() }),
                _ => Ok(Setting::Tunable { name: name.into(), value: number(name, value)? }),
            };
        };
        if kind == "nice" {
            if owner.is_empty() {
                return Err("the task is missing after nice: write it as nice:KEY=5".into());
            }
            let wrong = || format!("{name}={value}: a nice value is a whole number, -20 to 19");
            let nice = exact(value, 1).and_then(|nice| i32::try_from(nice).ok());
            let nice = nice.filter(|nice| (-20..=19).contains(nice)).ok_or_else(wrong)?;
            return Ok(Setting::Nice { key: owner.into(), nice });
        }
        let path = group_path(kind, owner)?;
        let whole = |least: u64, most: u64, kernel: &str| {
            let wrong =
                || format!("{name}={value}: {kernel} is a whole number from {least} to {most}");
            let found = exact(value, 1).and_then(|it| u64::try_from(it).ok());
            found.filter(|it| (least..=most).contains(it)).ok_or_else(wrong)
        };
        Ok(match kind {
            "shares" => Setting::Shares { path, shares: whole(2, 262_144, "cpu.shares")? },
            "weight" => Setting::Weight { path, weight: whole(1, 10_000, "cpu.weight")? },
            "burst" => Setting::Burst { path, burst_us: us(name, value, "20ms")? },
            "quota_phase" => {
                let phase_us = us(name, value, "12ms")?;
                if phase_us >= 1_000_000 {
                    return Err(format!("{name}={value}: a phase is less than 1s"));
                }
                Setting::Phase { path, phase_us }
            }
            _ => Setting::Quota { path, limit_us: quota(name, value)? },
        })
    }

    /// Returns the name of the setting: `nice:hog`, `sched_latency_ns`.
    pub fn name(&self) -> String {
        match self {
            Setting::Tunable { name, .. } => name.clone(),
            Setting::Nice { key, .. } => format!("nice:{key}"),
            Setting::Shares { path, .. } => format!("shares:{path}"),
            Setting::Weight { path, .. } => format!("weight:{path}"),
            Setting::Quota { path, .. } => format!("quota:{path}"),
            Setting::Burst { path, .. } => format!("burst:{path}"),
            Setting::Phase { path, .. } => format!("quota_phase:{path}"),
            Setting::Hz { .. } => HZ.into(),
            Setting::Kernel { .. } => KERNEL.into(),
        }
    }

    /// Returns the value, in a form that can be parsed again.
    pub fn value(&self) -> String {
        match self {
            Setting::Tunable { value, .. } => value.to_string(),
            Setting::Nice { nice, .. } => nice.to_string(),
            Setting::Hz { hz } => hz.to_string(),
            Setting::Kernel { title } => title.clone(),
            Setting::Shares { shares: value, .. } | Setting::Weight { weight: value, .. } => {
                value.to_string()
            }
            Setting::Burst { burst_us: us, .. } | Setting::Phase { phase_us: us, .. } => time(*us),
            Setting::Quota { limit_us: None, .. } => "max".into(),
            Setting::Quota { limit_us: Some((quota_us, period_us)), .. } => {
                format!("{}/{}", time(*quota_us), time(*period_us))
            }
        }
    }

    /// Returns the tunable and its value. `None`: it is another setting.
    pub fn tunable(&self) -> Option<(&str, i64)> {
        match self {
            Setting::Tunable { name, value } => Some((name, *value)),
            _ => None,
        }
    }

    /// Returns the group, and the setting as in the option `--group`. `None`: it is not a setting
    /// of a group.
    pub fn group(&self) -> Option<(&str, String)> {
        Some(match self {
            Setting::Tunable { .. }
            | Setting::Nice { .. }
            | Setting::Hz { .. }
            | Setting::Kernel { .. } => return None,
            Setting::Shares { path, shares } => (path, format!("{path}:cpu.shares={shares}")),
            Setting::Weight { path, weight } => (path, format!("{path}:cpu.weight={weight}")),
            Setting::Burst { path, burst_us } => (path, format!("{path}:cpu.max.burst={burst_us}")),
            Setting::Phase { path, phase_us } => (path, format!("{path}:quota_phase={phase_us}")),
            Setting::Quota { path, limit_us: None } => (path, format!("{path}:cpu.max=max")),
            Setting::Quota { path, limit_us: Some((quota_us, period_us)) } => {
                (path, format!("{path}:cpu.max={quota_us} {period_us}"))
            }
        })
    }

    /// Returns the name of the kernel. `None`: it is another setting.
    pub fn kernel(&self) -> Option<&str> {
        match self {
            Setting::Kernel { title } => Some(title),
            _ => None,
        }
    }

    /// Returns the setting as in reports.
    pub fn written(&self) -> SettingRow {
        let value = match self.value().parse() {
            Ok(number) => SettingValue::Number(number),
            Err(_) => SettingValue::Text(self.value()),
        };
        SettingRow { name: self.name(), value }
    }
}

impl fmt::Display for Setting {
    /// Writes the setting as [`Setting::parse`] reads it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name(), self.value())
    }
}

/// Settings as they follow a scheduler's name. Empty if there are none.
pub fn in_brackets(set: &[Setting]) -> String {
    if set.is_empty() {
        return String::new();
    }
    let set: Vec<String> = set.iter().map(Setting::to_string).collect();
    format!("[{}]", set.join(","))
}

/// A setting of all columns, or one of several values for each: `--set NAME=VALUE,...`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Axis {
    /// Name of the setting.
    pub name: String,
    /// Values. `None`: `default`, which leaves the setting as it is.
    pub values: Vec<Option<Setting>>,
}

/// The value that leaves a setting as it is.
const DEFAULT: &str = "default";

impl Axis {
    /// Parses `NAME=VALUE,...`.
    ///
    /// # Errors
    /// Description of the fault, and of what would be right.
    pub fn parse(text: &str) -> Result<Axis, String> {
        let (name, values) = split(text)?;
        Axis::read(name, values)
    }

    /// Parses the values of `name`.
    ///
    /// # Errors
    /// Description of the fault, and of what would be right.
    pub fn read(name: &str, values: &str) -> Result<Axis, String> {
        let mut read: Vec<Option<Setting>> = vec![];
        for value in values.split(',').map(str::trim) {
            let setting = match value {
                DEFAULT => None,
                value => Some(Setting::read(name, value)?),
            };
            if read.contains(&setting) {
                return Err(format!("{name}: the value {value} is given twice; give it once"));
            }
            read.push(setting);
        }
        Ok(Axis { name: name.into(), values: read })
    }

    /// Returns the only value, if there is just one: it applies to all columns and does not
    /// distinguish them.
    pub fn common(&self) -> Option<&Setting> {
        match self.values.as_slice() {
            [Some(one)] => Some(one),
            _ => None,
        }
    }
}

/// Values of an [`Axis`] in a plan: a number, or as written.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a whole number, or values as text: \"6e6,20e6\"")]
pub enum SetValues {
    /// One whole number.
    Number(i64),
    /// `"6e6,20e6"`, `"20ms/100ms,max"`.
    Text(String),
}

impl From<i64> for SetValues {
    fn from(number: i64) -> SetValues {
        SetValues::Number(number)
    }
}

impl From<&str> for SetValues {
    fn from(text: &str) -> SetValues {
        text.parse().map_or_else(|_| SetValues::Text(text.into()), SetValues::Number)
    }
}

impl fmt::Display for SetValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SetValues::Number(number) => write!(f, "{number}"),
            SetValues::Text(text) => f.write_str(text),
        }
    }
}

/// Splits `NAME=VALUE`. A name can contain `=`, a value cannot.
fn split(text: &str) -> Result<(&str, &str), String> {
    let (name, value) = text
        .rsplit_once('=')
        .ok_or("it must be KEY=VALUE, such as sched_latency_ns=6000000 or nice:hog=5")?;
    if name.trim().is_empty() {
        return Err("there is no name before the =".into());
    }
    if value.trim().is_empty() {
        return Err(format!("there is no value after {name}="));
    }
    Ok((name.trim(), value.trim()))
}

/// Parses ticks a second.
fn hz(text: &str) -> Result<u32, String> {
    let found = exact(text, 1).and_then(|hz| u32::try_from(hz).ok());
    found
        .filter(|hz| (100..=1000).contains(hz))
        .ok_or_else(|| format!("hz={text}: ticks a second are a whole number from 100 to 1000"))
}

fn group_path(kind: &str, text: &str) -> Result<String, String> {
    let names: Vec<&str> = text.split('/').filter(|name| !name.is_empty()).collect();
    if !text.starts_with('/') || names.is_empty() {
        return Err(format!(
            "{kind}:{text}: a group is named by its path, as in {kind}:/{}",
            if names.is_empty() { "g" } else { text }
        ));
    }
    Ok(format!("/{}", names.join("/")))
}

/// Units of time, with their length in ns. Longer names come before those with which they end.
const UNITS: [(&str, i128); 5] =
    [("ns", 1), ("us", 1_000), ("µs", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];

/// Splits `6.5ms` into the number and the length of its unit in ns. `None`: there is no unit.
fn with_unit(text: &str) -> Option<(&str, i128)> {
    UNITS.iter().find_map(|(unit, ns)| {
        let number = text.strip_suffix(unit)?.trim_end();
        number.ends_with(|c: char| c.is_ascii_digit() || c == '.').then_some((number, *ns))
    })
}

/// Parses the value of a tunable: a whole number, as `6000000` or `6e6`, or a time if the tunable's
/// name contains the unit of the number.
fn number(name: &str, text: &str) -> Result<i64, String> {
    let own = [("_ns", 1), ("_us", 1_000), ("_ms", 1_000_000)];
    let own = own.into_iter().find(|(ending, _)| name.ends_with(ending)).map(|(_, ns)| ns);
    let found = match (with_unit(text), own) {
        (Some(_), None) => {
            return Err(format!(
                "{name}={text}: its name does not contain a unit of time; give the number as \
                 `schedlab list` shows it"
            ));
        }
        (Some((number, ns)), Some(own)) => {
            exact(number, ns).filter(|ns| ns % own == 0).map(|ns| ns / own)
        }
        (None, _) => exact(text, 1),
    };
    found.and_then(|value| i64::try_from(value).ok()).ok_or_else(|| {
        let times = if own.is_some() { ", or a time such as 6ms" } else { "" };
        format!("\"{text}\" is not a whole number such as 6000000 or 6e6{times}")
    })
}

/// Parses CPU time and period of a quota, µs.
fn quota(name: &str, text: &str) -> Result<Option<(u64, u64)>, String> {
    if text == "max" {
        return Ok(None);
    }
    let wrong = || {
        format!(
            "{name}={text}: a quota is CPU time and period, such as 20ms/100ms (plain numbers are \
             us; periods are 1ms to 1s), or max"
        )
    };
    let (quota, period) = match text.split_once('/') {
        Some((quota, period)) => (whole_us(quota), whole_us(period)),
        None => (whole_us(text), Some(PERIOD_US)),
    };
    let (Some(quota_us), Some(period_us)) = (quota, period) else { return Err(wrong()) };
    if !(1_000..1 << 44).contains(&quota_us) || !(1_000..=1_000_000).contains(&period_us) {
        return Err(wrong());
    }
    Ok(Some((quota_us, period_us)))
}

/// Parses a time for the setting `name`; `example` is a right one.
fn us(name: &str, text: &str, example: &str) -> Result<u64, String> {
    whole_us(text).filter(|us| *us < 1 << 44).ok_or_else(|| {
        format!("{name}={text}: it is a time, such as {example} (plain numbers are us)")
    })
}

/// Parses a time as a whole number of µs.
fn whole_us(text: &str) -> Option<u64> {
    let ns = match with_unit(text.trim()) {
        Some((number, ns)) => exact(number, ns)?,
        None => exact(text.trim(), 1_000)?,
    };
    (ns % 1_000 == 0).then(|| u64::try_from(ns / 1_000).ok())?
}

/// Formats a time in µs for people: `20ms`, `1500us`.
fn time(us: u64) -> String {
    match us {
        us if us % 1_000 == 0 => format!("{}ms", us / 1_000),
        us => format!("{us}us"),
    }
}

/// Returns `text` times `scale`, if that is a whole number. The text consists of digits, optionally
/// with a fraction and a power of ten.
fn exact(text: &str, scale: i128) -> Option<i128> {
    /// Larger powers exceed the range of numbers.
    const POWER_MAX: i64 = 30;
    let (mantissa, power) = match text.split_once(['e', 'E']) {
        Some((mantissa, power)) => (mantissa, power.parse::<i64>().ok()?),
        None => (text, 0),
    };
    let (negative, mantissa) = match mantissa.strip_prefix(['-', '+']) {
        Some(rest) => (mantissa.starts_with('-'), rest),
        None => (false, mantissa),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let digits = format!("{whole}{fraction}");
    if whole.is_empty() || digits.len() > 24 || !digits.bytes().all(|c| c.is_ascii_digit()) {
        return None;
    }
    let power = power.checked_sub(fraction.len() as i64)?;
    let mut value = digits.parse::<i128>().ok()?;
    value = value.checked_mul(scale)?;
    if value == 0 {
        return Some(0);
    }
    if power.abs() > POWER_MAX {
        return None;
    }
    let tens = 10i128.pow(power.unsigned_abs() as u32);
    value = match power {
        0.. => value.checked_mul(tens)?,
        _ if value % tens == 0 => value / tens,
        _ => return None,
    };
    Some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        Setting::parse(text).unwrap_or_else(|error| panic!("{text}: {error}")).to_string()
    }

    #[test]
    fn numbers_are_written_as_people_do() {
        for text in ["6000000", "6e6", "6.0E6", "6ms", "6000us", "6000µs", "0.006s", "600e4ns"] {
            let setting = format!("sched_latency_ns={text}");
            assert_eq!(shown(&setting), "sched_latency_ns=6000000", "{text}");
        }
        assert_eq!(shown("sched_rt_runtime_us=950ms"), "sched_rt_runtime_us=950000");
        assert_eq!(shown("x=-1"), "x=-1");
        assert_eq!(shown("x_ns=0e99"), "x_ns=0");
        assert_eq!(shown("x=1500e-2"), "x=15");
    }

    #[test]
    fn what_is_no_whole_number_is_refused() {
        let wrong = |text: &str, part: &str| {
            let error = Setting::parse(text).expect_err(text);
            assert!(error.contains(part), "no \"{part}\" in: {error}");
        };
        for text in ["many", "1.5", "1e", "e6", "1e400", "1e-1", "0x10", "--1", "1_0", "9e18e"] {
            wrong(&format!("x={text}"), "is not a whole number");
        }
        wrong("x=92233720368547758080", "is not a whole number");
        wrong("x=6ms", "does not contain a unit of time");
        wrong("x_us=5ns", "or a time such as 6ms");
        wrong("x", "KEY=VALUE");
        wrong("=5", "no name before");
        wrong("x=", "no value after x=");
        wrong("nice:hog=20", "-20 to 19");
        wrong("nice:=2", "nice:KEY=5");
        wrong("nice=2", "the KEY is missing; write it as nice:KEY=2");
        wrong("quota=max", "quota:/GROUP=max");
        wrong("nise:hog=2", "\"nise:\" is not a kind of setting; the kinds are nice:KEY");
        wrong("shares:g=2", "by its path, as in shares:/g");
        wrong("shares:/g=1", "from 2 to 262144");
        wrong("weight:/g=0", "from 1 to 10000");
        wrong("quota:/g=20ms/2s", "periods are 1ms to 1s");
        wrong("quota:/g=no", "20ms/100ms");
    }

    #[test]
    fn settings_are_shown_as_they_can_be_read() {
        let cases = [
            ("nice:hog=+5", "nice:hog=5"),
            ("shares:/a//b/=512", "shares:/a/b=512"),
            ("weight:/g=1e2", "weight:/g=100"),
            ("quota:/g=20ms/100ms", "quota:/g=20ms/100ms"),
            ("quota:/g=20000/50000", "quota:/g=20ms/50ms"),
            ("quota:/g=1500us", "quota:/g=1500us/100ms"),
            ("quota:/g=max", "quota:/g=max"),
        ];
        for (text, expected) in cases {
            assert_eq!(shown(text), expected);
            assert_eq!(shown(expected), expected);
        }
    }

    #[test]
    fn a_list_is_a_choice() {
        let axis = Axis::parse("a_ns=default,6e6,20ms").expect("the values are valid");
        let values: Vec<_> = axis.values.iter().map(|it| it.as_ref().map(Setting::value)).collect();
        assert_eq!(values, [None, Some("6000000".into()), Some("20000000".into())]);
        assert_eq!(axis.common(), None);
        assert!(Axis::parse("a=5").expect("the value is valid").common().is_some());
        assert!(Axis::parse("a_ns=6e6,6ms").expect_err("twice").contains("is given twice"));
        assert!(Axis::parse("a=5,").is_err());
    }
}
