//! Times in seconds, for messages: [`Seconds`], [`format_s`].

use std::fmt;

/// Displays ns as seconds with all nine decimals.
pub(crate) struct Seconds(pub u64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09} s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

/// Formats a time for people, to the ns: `2.5 s`.
pub(crate) fn format_s(ns: u64) -> String {
    let (whole, rest) = (ns / 1_000_000_000, ns % 1_000_000_000);
    if rest == 0 {
        return format!("{whole} s");
    }
    let digits = format!("{rest:09}");
    format!("{whole}.{} s", digits.trim_end_matches('0'))
}
