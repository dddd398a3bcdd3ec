//! Options that several commands share, and their parsers.

use clap::ValueEnum;
use schedlab_lab::plan::SetValues;
use schedlab_lab::settings::{Axis, Setting};

/// Value of a switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum OnOff {
    /// Yes.
    On,
    /// No.
    Off,
}

/// When output is coloured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Color {
    /// Colour on a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Colour always, also in files and pipes.
    Always,
    /// Never.
    Never,
}

/// Output format of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ListFormat {
    /// Table, for people.
    Table,
    /// JSON, for programs.
    Json,
}

/// Output format of a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum RunFormat {
    /// Table, for people.
    Table,
    /// For programs: all measurements, with the task that ran on each CPU at each time.
    Json,
    /// CSV, for spreadsheets.
    Csv,
}

/// Parses seconds with a fraction, as ns.
pub fn seconds(text: &str) -> Result<u64, String> {
    const LIMIT_S: f64 = 1e9;
    let wrong = || format!("it must be a number of seconds from 0 to {LIMIT_S}, such as 10 or 2.5");
    let seconds: f64 = text.parse().map_err(|_| wrong())?;
    if !(0.0..=LIMIT_S).contains(&seconds) {
        return Err(wrong());
    }
    Ok((seconds * 1e9).round() as u64)
}

/// Parses a time as ns: seconds, or a number with a unit.
pub fn time(text: &str) -> Result<u64, String> {
    let units = [("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    let unit = units.iter().find(|(unit, _)| text.ends_with(unit));
    let (number, of_second) = match unit {
        Some((unit, of_second)) => (&text[..text.len() - unit.len()], *of_second),
        None => (text, 1.0),
    };
    let wrong = || "it must be a time such as 0.5s, 500ms, 1200us, 77ns, or seconds: 0.5".into();
    // Whole nanoseconds are exact.
    if of_second == 1e-9
        && let Ok(ns) = number.trim().parse::<u64>()
    {
        return if ns <= 1_000_000_000_000_000_000 { Ok(ns) } else { Err(wrong()) };
    }
    let number: f64 = number.trim().parse().map_err(|_| wrong())?;
    seconds(&(number * of_second).to_string()).map_err(|_| wrong())
}

/// Parses a percentage, with or without `%`.
pub fn percentage(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>().ok();
    let number = number.filter(|percent| (0.0..=1e9).contains(percent));
    number.ok_or_else(|| "it must be a percentage of at least 0, such as 5 or 2.5%".into())
}

/// Parses a time as ns: us, or a number with a unit.
pub fn micros(text: &str) -> Result<u64, String> {
    let has_unit = text.ends_with(|c: char| c.is_ascii_alphabetic());
    time(&if has_unit { text.to_string() } else { format!("{text}us") })
        .map_err(|_| "it must be a time such as 1500, 1500us or 1.5ms".into())
}

/// Parses `NAME=NS`.
pub fn cost_setting(text: &str) -> Result<(String, f64), String> {
    let (name, ns) = text.split_once('=').ok_or("it must be NAME=NS, such as switch=1500")?;
    let ns = ns.parse().map_err(|_| format!("\"{ns}\" is not a number"))?;
    Ok((name.into(), ns))
}

/// Parses `KEY=VALUE,...`.
pub fn setting(text: &str) -> Result<(String, SetValues), String> {
    let axis = Axis::parse(text)?;
    let values = text.rsplit_once('=').map_or("", |(_, values)| values);
    Ok((axis.name, SetValues::from(values.trim())))
}

/// Parses `NAME=NUMBER`: one tunable, where `--set` takes several.
pub fn one_setting(text: &str) -> Result<(String, i64), String> {
    match Setting::parse(text)? {
        Setting::Tunable { name, value } => Ok((name, value)),
        _ => Err("only tunables can be set here, e.g. base_slice_ns=3ms".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_have_an_optional_sign() {
        assert_eq!(
            (percentage("5"), percentage("2.5%"), percentage("0")),
            (Ok(5.0), Ok(2.5), Ok(0.0))
        );
        assert!(
            percentage("-1").is_err() && percentage("x").is_err() && percentage("nan").is_err()
        );
    }

    #[test]
    fn times_have_units() {
        assert_eq!(time("1.5s"), Ok(1_500_000_000));
        assert_eq!(time("20ms"), Ok(20_000_000));
        assert_eq!(time("3us"), Ok(3_000));
        assert_eq!(time("7ns"), Ok(7));
        assert_eq!(time("2.5"), Ok(2_500_000_000));
        assert!(time("-1s").is_err() && time("x").is_err() && time("").is_err());
        assert_eq!((micros("1500"), micros("1.5ms")), (Ok(1_500_000), Ok(1_500_000)));
        assert!(micros("-1").is_err() && micros("x").is_err());
        assert!(time("1e300").is_err() && time("nan").is_err());
    }
}
