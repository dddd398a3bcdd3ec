//! Options that several commands share: what they take, and how it is read.

use clap::ValueEnum;

/// Yes or no.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum OnOff {
    /// Yes.
    On,
    /// No.
    Off,
}

/// How to print a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum RunFormat {
    /// For people.
    Table,
    /// For programs: everything that was measured, with who ran where and when.
    Json,
    /// For spreadsheets.
    Csv,
}

/// Seconds with a fraction, as ns.
pub fn seconds(text: &str) -> Result<u64, String> {
    const LIMIT_S: f64 = 1e9;
    let wrong = || format!("it must be a number of seconds from 0 to {LIMIT_S}, such as 10 or 2.5");
    let seconds: f64 = text.parse().map_err(|_| wrong())?;
    if !(0.0..=LIMIT_S).contains(&seconds) {
        return Err(wrong());
    }
    Ok((seconds * 1e9).round() as u64)
}

/// `NAME=NS`.
pub fn cost_setting(text: &str) -> Result<(String, f64), String> {
    let (name, ns) = text.split_once('=').ok_or("it must be NAME=NS, such as switch=1500")?;
    let ns = ns.parse().map_err(|_| format!("\"{ns}\" is not a number"))?;
    Ok((name.into(), ns))
}

/// `KEY=VALUE` with a whole number.
pub fn setting(text: &str) -> Result<(String, i64), String> {
    let (key, value) =
        text.split_once('=').ok_or("it must be KEY=VALUE, such as sched_latency_ns=6000000")?;
    if key.is_empty() {
        return Err("there is no name before the =".into());
    }
    let value = value.parse().map_err(|_| format!("\"{value}\" is not a whole number"))?;
    Ok((key.into(), value))
}
