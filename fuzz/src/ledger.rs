//! The record of fuzzing: `fuzz/ledger.csv`, a line for each reader and run.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The columns.
pub const HEAD: &str = "date,revision,reader,driver,first_seed,threads,inputs,seconds,faults";

/// A line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The day, `2026-11-22`.
    pub date: String,
    /// The revision of this repository.
    pub revision: String,
    /// Name of the reader.
    pub reader: String,
    /// Source of the inputs: `schedlab-fuzz` or `libfuzzer`.
    pub driver: String,
    /// Seed of the first thread. Each further thread has the next seed.
    pub first_seed: u64,
    /// Number of threads.
    pub threads: u64,
    /// Number of inputs that the reader was given.
    pub inputs: u64,
    /// Duration, s.
    pub seconds: u64,
    /// Number of inputs that the reader failed on.
    pub faults: u64,
}

/// Returns the location of the record in this repository.
pub fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("ledger.csv")
}

/// Parses the record.
///
/// # Errors
/// The first malformed line.
pub fn read(text: &str) -> Result<Vec<Entry>, String> {
    let mut lines = text.lines();
    if lines.next() != Some(HEAD) {
        return Err(format!("line 1: it must be {HEAD}"));
    }
    lines
        .enumerate()
        .map(|(number, line)| entry(line).ok_or_else(|| format!("line {}: {line}", number + 2)))
        .collect()
}

fn entry(line: &str) -> Option<Entry> {
    let fields: Vec<&str> = line.split(',').collect();
    let [date, revision, reader, driver, first_seed, threads, inputs, seconds, faults] = fields[..]
    else {
        return None;
    };
    Some(Entry {
        date: date.into(),
        revision: revision.into(),
        reader: reader.into(),
        driver: driver.into(),
        first_seed: first_seed.parse().ok()?,
        threads: threads.parse().ok()?,
        inputs: inputs.parse().ok()?,
        seconds: seconds.parse().ok()?,
        faults: faults.parse().ok()?,
    })
}

impl Entry {
    /// Formats the line of the record.
    pub fn line(&self) -> String {
        let Entry { date, revision, reader, driver, first_seed, threads, inputs, seconds, faults } =
            self;
        format!(
            "{date},{revision},{reader},{driver},{first_seed},{threads},{inputs},{seconds},{faults}"
        )
    }
}

/// Returns today's date, UTC: `2026-11-22`.
pub fn today() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    date(now / 86_400)
}

/// Returns the date `days` days after 1970-01-01.
fn date(days: u64) -> String {
    let leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let (mut year, mut left) = (1970, days);
    while left >= 365 + u64::from(leap(year)) {
        left -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if left < length {
            break;
        }
        left -= length;
        month += 1;
    }
    format!("{year}-{month:02}-{:02}", left + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_as_calendars_do() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(11_016), "2000-02-29");
        assert_eq!(date(20_779), "2026-11-22");
    }

    #[test]
    fn a_line_reads_as_it_was_written() {
        let line = "2026-11-22,abc,rt_app,schedlab-fuzz,7,2,1000,3,0";
        let text = format!("{HEAD}\n{line}\n");
        assert_eq!(read(&text).unwrap()[0].line(), line);
        assert!(read(&format!("{HEAD}\nx\n")).is_err());
        assert!(read("").is_err());
    }
}
