//! Lists of CPUs in the format of `cpuset.cpus`: `0-2,5`.

use super::text::{Fault, shown};
use schedlab_core::{CpuId, CpuSet};
use std::fmt;

/// Number of CPUs of the largest machine.
const CPUS_MAX: u32 = 4096;

/// A list of CPUs, possibly empty. However it was written, it is kept and printed in ascending
/// ranges: `1,0` is `0-1`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct CpuList {
    /// First and last CPU of each range, in ascending order, with gaps between ranges.
    ranges: Vec<(u32, u32)>,
}

impl CpuList {
    /// Reads a list whose items are separated by commas.
    pub fn parse(text: &str) -> Result<CpuList, Fault> {
        CpuList::from_items(text, text.trim().split(','))
    }

    /// Reads a list whose items are separated by commas or blanks.
    pub fn parse_words(text: &str) -> Result<CpuList, Fault> {
        let items = text.split(|c: char| c == ',' || c.is_whitespace());
        CpuList::from_items(text, items.filter(|item| !item.is_empty()))
    }

    fn from_items<'a>(text: &str, items: impl Iterator<Item = &'a str>) -> Result<CpuList, Fault> {
        if text.trim().is_empty() {
            return Ok(CpuList::default());
        }
        let mut ranges = items.map(|item| range(item.trim())).collect::<Result<Vec<_>, Fault>>()?;
        ranges.sort_unstable();
        let mut joined: Vec<(u32, u32)> = Vec::with_capacity(ranges.len());
        for (first, last) in ranges {
            match joined.last_mut() {
                Some(before) if first <= before.1 + 1 => before.1 = before.1.max(last),
                _ => joined.push((first, last)),
            }
        }
        Ok(CpuList { ranges: joined })
    }

    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Returns the highest CPU.
    pub fn last(&self) -> Option<u32> {
        self.ranges.last().map(|&(_, last)| last)
    }

    /// Checks that a machine of `cpus` CPUs has them all.
    pub fn check_exist(&self, cpus: u32) -> Result<(), Fault> {
        match self.last() {
            Some(last) if last >= cpus => {
                let help = match cpus {
                    0 | 1 => "the machine has only CPU 0".to_string(),
                    _ => format!("the machine has CPUs 0 to {}", cpus - 1),
                };
                Err(Fault::new(format!("there is no CPU {last}")).with_help(help))
            }
            _ => Ok(()),
        }
    }

    /// Returns the CPUs that are in both.
    pub fn intersection(&self, other: &CpuList) -> CpuList {
        let (mut a, mut b) = (self.ranges.iter().peekable(), other.ranges.iter().peekable());
        let mut ranges = Vec::new();
        while let (Some(&&(a_first, a_last)), Some(&&(b_first, b_last))) = (a.peek(), b.peek()) {
            let (first, last) = (a_first.max(b_first), a_last.min(b_last));
            if first <= last {
                ranges.push((first, last));
            }
            if a_last < b_last {
                a.next();
            } else {
                b.next();
            }
        }
        CpuList { ranges }
    }

    /// Converts to a set.
    pub fn to_set(&self) -> CpuSet {
        let cpus = self.ranges.iter().flat_map(|&(first, last)| first..=last);
        CpuSet::from_cpus(cpus.map(CpuId))
    }
}

/// Reads `5` or `0-2`.
fn range(item: &str) -> Result<(u32, u32), Fault> {
    let cpu = |text: &str| -> Result<u32, Fault> {
        let number: Option<u64> =
            if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None };
        match number {
            Some(number) if number < u64::from(CPUS_MAX) => Ok(number as u32),
            Some(number) => Err(Fault::new(format!("there is no CPU {number}"))
                .with_help(format!("the largest machine has CPUs 0 to {}", CPUS_MAX - 1))),
            None => Err(Fault::new(format!("`{}` is not a list of CPUs", shown(item)))
                .with_help("CPUs are written like `0-2,5`")),
        }
    };
    let (first, last) = match item.split_once('-') {
        Some((first, last)) => (cpu(first)?, cpu(last)?),
        None => (cpu(item)?, cpu(item)?),
    };
    if first > last {
        return Err(Fault::new(format!("the range `{item}` is descending"))
            .with_help(format!("write `{last}-{first}`")));
    }
    Ok((first, last))
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (first, last)) in self.ranges.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            if first == last {
                write!(f, "{comma}{first}")?;
            } else {
                write!(f, "{comma}{first}-{last}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> CpuList {
        CpuList::parse(text).unwrap()
    }

    #[test]
    fn lists_have_one_form() {
        for (text, expected) in [
            ("0-2,5", "0-2,5"),
            ("1,0", "0-1"),
            ("", ""),
            (" \n", ""),
            ("7, 3-4 ,4-6", "3-7"),
            ("0-4095,0-4095", "0-4095"),
            ("2,2,2", "2"),
        ] {
            assert_eq!(list(text).to_string(), expected, "{text}");
        }
        assert_eq!(CpuList::parse_words("0 2, 4-5\t7").unwrap().to_string(), "0,2,4-5,7");
        assert_eq!(
            list("0-2,5").to_set().iter(64).map(|cpu| cpu.0).collect::<Vec<_>>(),
            [0, 1, 2, 5]
        );
    }

    #[test]
    fn what_is_no_list() {
        for (text, expected) in [
            ("a", "`a` is not a list of CPUs"),
            ("0,,1", "`` is not a list of CPUs"),
            ("1-", "`1-` is not a list of CPUs"),
            ("-1", "`-1` is not a list of CPUs"),
            ("+1", "`+1` is not a list of CPUs"),
            ("1-2-3", "`1-2-3` is not a list of CPUs"),
            ("5-3", "the range `5-3` is descending"),
            ("4096", "there is no CPU 4096"),
            ("0-4294967296", "there is no CPU 4294967296"),
            ("99999999999999999999", "`99999999999999999999` is not a list of CPUs"),
        ] {
            assert_eq!(CpuList::parse(text).unwrap_err().message, expected, "{text}");
        }
    }

    #[test]
    fn what_two_lists_share() {
        for (a, b, expected) in [
            ("0-7", "2-3,6-9", "2-3,6-7"),
            ("0,2,4", "1,3,5", ""),
            ("0-1,4-5", "1-4", "1,4"),
            ("", "0", ""),
        ] {
            assert_eq!(list(a).intersection(&list(b)).to_string(), expected);
            assert_eq!(list(b).intersection(&list(a)).to_string(), expected);
        }
    }
}
