//! Numbers for people: three digits, and a suitable unit.

use crate::{Style, text_width};

/// Units of time, with their length in ns.
const UNITS: [(u64, &str); 4] = [(1, "ns"), (1_000, "µs"), (1_000_000, "ms"), (1_000_000_000, "s")];

/// Formats a duration with three digits: `0 ns`, `999 ns`, `1.50 µs`, `12.3 ms`, `250 s`; whole
/// seconds beyond 1000 s.
pub fn duration(ns: u64, unicode: bool) -> String {
    for (unit_ns, unit) in UNITS {
        if let Some(number) = three_digits(ns, unit_ns, unit == "s") {
            let unit = if unicode { unit } else { ascii_unit(unit) };
            return format!("{number} {unit}");
        }
    }
    unreachable!("the last unit fits any number")
}

fn ascii_unit(unit: &str) -> &str {
    if unit == "µs" { "us" } else { unit }
}

/// Formats `value / unit` with three digits, rounded to the nearest. Returns `None` if the result
/// is 1000 or more, unless the unit is the `last`.
fn three_digits(value: u64, unit: u64, last: bool) -> Option<String> {
    if unit == 1 {
        return (value < 1000).then(|| value.to_string());
    }
    for (decimals, scale, limit) in [(2, 100, 1000), (1, 10, 1000), (0, 1, 1000)] {
        let rounded = (u128::from(value) * scale + u128::from(unit / 2)) / u128::from(unit);
        if decimals == 0 {
            return (rounded < limit || last).then(|| rounded.to_string());
        }
        if rounded < limit {
            return Some(fixed(rounded as u64, decimals));
        }
    }
    unreachable!("the last alternative has no decimals")
}

/// Formats `number / 10^decimals` with that many decimals; `decimals` is at least 1.
fn fixed(number: u64, decimals: usize) -> String {
    let digits = format!("{number:0width$}", width = decimals + 1);
    let (whole, part) = digits.split_at(digits.len() - decimals);
    format!("{whole}.{part}")
}

/// Formats a signed duration, with a sign unless it is 0.
pub fn signed_duration(ns: i64, unicode: bool) -> String {
    let size = duration(ns.unsigned_abs(), unicode);
    match ns {
        0 => size,
        1.. => format!("+{size}"),
        _ => format!("-{size}"),
    }
}

/// Formats a count with separated thousands: `1,234,567`.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a part of the whole as a percentage: `98.4 %`.
pub fn percent(part: f64) -> String {
    format!("{:.1} %", part * 100.0)
}

/// Formats a rate per second with at least three digits: `0.50 /s`, `12.5 /s`, `1,250 /s`.
pub fn per_second(rate: f64) -> String {
    if rate < 9.995 {
        format!("{rate:.2} /s")
    } else if rate < 99.95 {
        format!("{rate:.1} /s")
    } else {
        format!("{} /s", count(rate.round() as u64))
    }
}

/// Formats a ratio of at least 1 with three digits: `1.00`, `12.5`, `1,250`.
pub fn ratio(value: f64) -> String {
    if value < 9.995 {
        format!("{value:.2}")
    } else if value < 99.95 {
        format!("{value:.1}")
    } else {
        count(value.round() as u64)
    }
}

/// Formats a number with four digits: `0`, `0.01234`, `1.234`, `1234`, `123,456`.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 {
        return "0".into();
    }
    if size >= 9999.5 {
        let sign = if value < 0.0 { "-" } else { "" };
        return format!("{sign}{}", count(size.round() as u64));
    }
    // Size up to which each number of decimals is used.
    const DECIMALS: [(f64, usize); 6] =
        [(999.95, 0), (99.995, 1), (9.9995, 2), (0.99995, 3), (0.1, 4), (0.01, 5)];
    match DECIMALS.iter().find(|(from, _)| size >= *from) {
        Some(&(_, decimals)) => format!("{value:.decimals$}"),
        None => format!("{value:.3e}"),
    }
}

/// Returns a suitable unit of time for durations up to `most` `unit`s, and its length in `unit`s.
/// `None`: `unit` is not a unit of time.
pub fn time_unit(unit: &str, most: f64) -> Option<(&'static str, f64)> {
    const UNITS_OF_TIME: [(&str, f64); 4] = [("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0)];
    let (own, unit_ns) = UNITS_OF_TIME.into_iter().find(|(name, _)| *name == unit)?;
    let suits = |(_, other_ns): &(&str, f64)| most.abs() * unit_ns >= *other_ns;
    let (name, other_ns) = UNITS_OF_TIME.into_iter().find(suits).unwrap_or((own, unit_ns));
    Some((name, other_ns / unit_ns))
}

/// Formats an amount for people. `ns`, `part`, `count`, `1/s` and `index` are units of
/// [`Value::unit`](crate::metrics::Value::unit). Durations in `s`, `ms` and `us` get a suitable
/// unit, with four digits. Other units follow the number.
pub fn amount(value: f64, unit: &str, unicode: bool) -> String {
    match unit {
        "ns" if value >= 0.0 => return duration(value.round() as u64, unicode),
        "part" => return percent(value),
        "count" if value >= 0.0 => return count(value.round() as u64),
        "1/s" => return per_second(value),
        "ratio" => return ratio(value),
        "index" => return format!("{value:.4}"),
        "" => return number(value),
        _ => {}
    }
    match time_unit(unit, value) {
        Some(("us", scale)) if unicode => format!("{} µs", number(value / scale)),
        Some((name, scale)) => format!("{} {name}", number(value / scale)),
        None => format!("{} {unit}", number(value)),
    }
}

/// Formats a point in time for an axis whose marks are `step_ns` apart, with as many decimals as
/// the step needs.
pub fn instant(ns: u64, step_ns: u64, unicode: bool) -> String {
    if ns == 0 {
        return "0".into();
    }
    // The largest unit in which the step is at least a hundredth.
    let (unit_ns, unit) = UNITS
        .into_iter()
        .rev()
        .find(|&(unit_ns, _)| unit_ns <= ns && unit_ns <= step_ns.saturating_mul(100))
        .unwrap_or(UNITS[0]);
    let unit = if unicode { unit } else { ascii_unit(unit) };
    let (whole, mut rest, mut scale) = (ns / unit_ns, ns % unit_ns, unit_ns);
    let mut decimals = String::new();
    while rest > 0 {
        scale /= 10;
        decimals.push((b'0' + (rest / scale) as u8) as char);
        rest %= scale;
    }
    if decimals.is_empty() {
        format!("{whole} {unit}")
    } else {
        format!("{whole}.{decimals} {unit}")
    }
}

/// Writes phrases, separated by wide gaps, on as few lines as possible.
pub(crate) fn wrapped(text: &mut String, phrases: &[String], style: Style) {
    broken(text, phrases, "   ", style);
}

/// Writes the words of sentences on as few lines as possible.
pub(crate) fn filled(text: &mut String, words: &[String], style: Style) {
    broken(text, words, " ", style);
}

fn broken(text: &mut String, phrases: &[String], separator: &str, style: Style) {
    let mut used = 0;
    for phrase in phrases {
        let width = text_width(phrase);
        if used > 0 && used + separator.len() + width > style.columns() {
            text.push('\n');
            used = 0;
        }
        if used > 0 {
            text.push_str(separator);
            used += separator.len();
        }
        text.push_str(phrase);
        used += width;
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_digits_and_round_into_the_next_unit() {
        let text = |ns| duration(ns, true);
        assert_eq!(text(0), "0 ns");
        assert_eq!(text(999), "999 ns");
        assert_eq!(text(1_000), "1.00 µs");
        assert_eq!(text(1_005), "1.01 µs");
        assert_eq!(text(9_994), "9.99 µs");
        assert_eq!(text(9_995), "10.0 µs");
        assert_eq!(text(99_950), "100 µs");
        assert_eq!(text(999_499), "999 µs");
        assert_eq!(text(999_500), "1.00 ms");
        assert_eq!(text(12_345_678), "12.3 ms");
        assert_eq!(text(1_234_567_890_123), "1235 s");
        assert_eq!(duration(1_500, false), "1.50 us");
        assert_eq!(text(u64::MAX), "18446744074 s");
    }

    #[test]
    fn numbers_have_four_digits_and_amounts_their_units() {
        assert_eq!(
            [0.0, 0.012_345, 1.234_56, 99.999, 1234.5].map(number),
            ["0", "0.01235", "1.235", "100.0", "1234"]
        );
        assert_eq!([-123_456.0, 0.000_123_45].map(number), ["-123,456", "1.234e-4"]);
        assert_eq!(amount(1_500.0, "ns", true), "1.50 µs");
        assert_eq!(amount(0.5, "part", true), "50.0 %");
        assert_eq!(amount(3.5, "us", false), "3.500 us");
        assert_eq!(amount(0.0136, "s", true), "13.60 ms");
        assert_eq!(amount(1500.0, "ms", true), "1.500 s");
        assert_eq!(amount(0.0, "ms", true), "0 ms");
        assert_eq!(amount(5.0, "pages", true), "5.000 pages");
        assert_eq!(amount(12_345.4, "count", true), "12,345");
    }

    #[test]
    fn signs() {
        assert_eq!(signed_duration(1_500, true), "+1.50 µs");
        assert_eq!(signed_duration(-1_500, true), "-1.50 µs");
        assert_eq!(signed_duration(0, true), "0 ns");
    }

    #[test]
    fn counts_rates_and_parts() {
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(
            [0.5, 9.996, 12.34, 99.96, 12_345.6].map(per_second),
            ["0.50 /s", "10.0 /s", "12.3 /s", "100 /s", "12,346 /s"]
        );
        assert_eq!([1.0, 9.996, 1234.5].map(ratio), ["1.00", "10.0", "1,235"]);
        assert_eq!([0.0, 0.98765, 1.0].map(percent), ["0.0 %", "98.8 %", "100.0 %"]);
    }

    #[test]
    fn instants_have_the_decimals_that_they_need() {
        assert_eq!(instant(0, 5, true), "0");
        assert_eq!(instant(500_000_000, 500_000_000, true), "500 ms");
        assert_eq!(instant(1_500_000_000, 500_000_000, true), "1.5 s");
        assert_eq!(instant(1_500_000_000, 1_000_000, true), "1500 ms");
        assert_eq!(instant(2_000_000_000, 50_000_000, true), "2 s");
        assert_eq!(instant(20_000, 10_000, false), "20 us");
    }
}
