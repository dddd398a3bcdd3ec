//! systemd's settings as in unit files (`CPUWeight=`, `CPUQuota=`, `AllowedCPUs=`), and the paths
//! of its slices.

use super::text::{Fault, shown};
use super::weight::shares_of_weight;
use super::write::{Write, within};

/// Converts `CPUWeight=`: 1 to 10000, or `idle`.
pub(crate) fn weight(name: &'static str, value: &str) -> Result<Write, Fault> {
    match value {
        "idle" => Ok(Write::Idle(true)),
        _ => Ok(Write::Shares(shares_of_weight(within(name, value, 1, 10_000)? as u64))),
    }
}

/// Converts `CPUShares=`. Unlike the kernel, systemd does not clamp.
pub(crate) fn shares(name: &'static str, value: &str) -> Result<Write, Fault> {
    Ok(Write::Shares(within(name, value, 2, 262_144)? as u64))
}

/// Converts `CPUQuota=`: a percentage of one CPU. Empty means no limit.
pub(crate) fn quota(name: &'static str, value: &str) -> Result<Write, Fault> {
    if value.is_empty() {
        return Ok(Write::Quota { quota_us: None, period_us: None });
    }
    let number = value.strip_suffix('%').and_then(|number| number.trim_end().parse().ok());
    match number {
        Some(percent @ 1..=1_000_000) => Ok(Write::QuotaPercent(percent)),
        _ => Err(Fault::new(format!(
            "`{name}` must be a percentage of one CPU, found `{}`",
            shown(value)
        ))
        .with_help("for example `20%`, or `150%` for one CPU and a half")),
    }
}

/// Converts `CPUQuotaPeriodSec=`: 1 ms to 1 s, in seconds by default.
pub(crate) fn period(name: &'static str, value: &str) -> Result<Write, Fault> {
    let wrong = || {
        Fault::new(format!("`{name}` must be from 1ms to 1000ms, found `{}`", shown(value)))
            .with_help("for example `10ms`")
    };
    let digits = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
    let number: u64 = value[..digits].parse().map_err(|_| wrong())?;
    let unit_us = match value[digits..].trim() {
        "us" | "usec" | "µs" => 1,
        "ms" | "msec" => 1_000,
        "" | "s" | "sec" | "second" | "seconds" => 1_000_000,
        _ => return Err(wrong()),
    };
    match number.checked_mul(unit_us) {
        Some(period_us @ 1_000..=1_000_000) => Ok(Write::Period(period_us)),
        _ => Err(wrong()),
    }
}

/// Returns the path of a slice: `a-b.slice` is in `a.slice`, `-.slice` is the root. `None` if
/// `name` is not the name of a slice.
pub(crate) fn slice_path(name: &str) -> Option<String> {
    let stem = name.strip_suffix(".slice")?;
    if stem == "-" {
        return Some("/".into());
    }
    if name.contains('/') || stem.split('-').any(str::is_empty) {
        return None;
    }
    let mut path = String::new();
    let dashes = stem.match_indices('-').map(|(at, _)| at);
    // Deeper nesting is an error anyway, so the path need not be complete.
    for end in dashes.chain([stem.len()]).take(100) {
        path.push('/');
        path.push_str(&stem[..end]);
        path.push_str(".slice");
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings() {
        let shares = |value| Ok(Write::Shares(value));
        for (read, value, expected) in [
            (weight("w", "100"), "100", shares(1024)),
            (weight("w", "idle"), "idle", Ok(Write::Idle(true))),
            (super::shares("s", "2"), "2", shares(2)),
            (quota("q", "20%"), "20%", Ok(Write::QuotaPercent(20))),
            (quota("q", "150 %"), "150 %", Ok(Write::QuotaPercent(150))),
            (quota("q", ""), "", Ok(Write::Quota { quota_us: None, period_us: None })),
            (period("p", "1ms"), "1ms", Ok(Write::Period(1_000))),
            (period("p", "1000 ms"), "1000 ms", Ok(Write::Period(1_000_000))),
            (period("p", "1"), "1", Ok(Write::Period(1_000_000))),
        ] {
            assert_eq!(read.map_err(|fault| fault.message), expected, "{value}");
        }
        for wrong in [
            weight("w", "0"),
            super::shares("s", "1"),
            super::shares("s", "262145"),
            quota("q", "20"),
            quota("q", "0%"),
            quota("q", "x%"),
            quota("q", "99999999999999999999%"),
            period("p", "2s"),
            period("p", "999us"),
            period("p", "99999999999999s"),
            period("p", "1min"),
            period("p", ""),
        ] {
            assert!(wrong.is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn slices_lie_in_slices() {
        for (name, path) in [
            ("system.slice", Some("/system.slice")),
            ("user-1000.slice", Some("/user.slice/user-1000.slice")),
            ("a-b-c.slice", Some("/a.slice/a-b.slice/a-b-c.slice")),
            ("-.slice", Some("/")),
            ("a--b.slice", None),
            (".slice", None),
            ("cron.service", None),
            ("x/y.slice", None),
        ] {
            assert_eq!(slice_path(name).as_deref(), path, "{name}");
        }
    }
}
