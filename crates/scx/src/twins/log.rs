//! Logs of decisions as text: reading and writing.

use super::decision::{CPUS_MAX, Decision, EventKind, TaskState};
use std::collections::BTreeMap;
use std::fmt;

/// The first line of a log.
pub const MAGIC: &str = "schedlab-decisions 1";

/// Header of a log: where it was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Header {
    /// Name of the policy.
    pub policy: String,
    /// The kernel, or the laboratory.
    pub kernel: String,
    /// Ticks per second.
    pub hz: u32,
    /// Number of CPUs, 1 to 64.
    pub cpus: u32,
    /// Settings of the policy, NAME=VALUE.
    pub settings: Vec<String>,
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Header { policy, kernel, hz, cpus, settings } = self;
        write!(f, "{MAGIC}\npolicy {policy}\nkernel {kernel}\nhz {hz}\ncpus {cpus}\n")?;
        settings.iter().try_for_each(|setting| writeln!(f, "set {setting}"))?;
        writeln!(f)
    }
}

/// A log of decisions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Log {
    /// Its header.
    pub header: Header,
    /// Its records.
    pub decisions: Vec<Decision>,
}

impl fmt::Display for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.header)?;
        self.decisions.iter().try_for_each(|decision| writeln!(f, "{decision}"))
    }
}

fn number<T: std::str::FromStr>(word: Option<&str>, what: &str) -> Result<T, String> {
    let word = word.ok_or_else(|| {
        format!(
            "the {what} is missing; a record is NUMBER NS JIFFIES CPU EVENT PID [NAME=VALUE...]"
        )
    })?;
    word.parse().map_err(|_| format!("the {what} is \"{word}\"; it must be a whole number"))
}

fn set_of_cpus(word: &str) -> Option<u64> {
    u64::from_str_radix(word.strip_prefix("0x")?, 16).ok()
}

/// Parses a line of a log as a record.
fn record(line: &str, cpus: u32) -> Result<Decision, String> {
    let mut words = line.split_ascii_whitespace();
    let number_of = number(words.next(), "number of the record")?;
    let at_ns = number(words.next(), "time in ns")?;
    let jiffies = number(words.next(), "number of ticks")?;
    let cpu = number(words.next(), "CPU")?;
    let name = words.next().unwrap_or_default();
    let event = EventKind::find(name).ok_or_else(|| {
        let names: Vec<&str> = EventKind::ALL.iter().map(|event| event.name()).collect();
        format!("\"{name}\" is not an event; events are {}", names.join(", "))
    })?;
    let pid = number(words.next(), "process id")?;
    let mut values: BTreeMap<&str, &str> = BTreeMap::new();
    for word in words {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let known = ["nice", "policy", "mm", "allowed", "on", "parent", "prev", "asks"];
        if !known.contains(&name) {
            return Err(format!(
                "\"{word}\" is not allowed here; possible values are {}=",
                known.join("=, ")
            ));
        }
        if values.insert(name, value).is_some() {
            return Err(format!("{name} is given twice"));
        }
    }
    let set = |name: &str, value: &str| {
        set_of_cpus(value)
            .ok_or_else(|| format!("{name}={value}: write a set of CPUs, such as 0x3"))
    };
    let asks = values.remove("asks").map_or(Ok(0), |value| set("asks", value))?;
    let before = if event == EventKind::Pick { "prev" } else { "parent" };
    let other = values.remove(before).map_or(Ok(0), |value| number(Some(value), before))?;
    let mut task = None;
    if !matches!(event, EventKind::Init | EventKind::Pick) {
        let mut value =
            |name: &'static str| values.remove(name).ok_or_else(|| format!("{name}= is missing"));
        task = Some(TaskState {
            nice: number(Some(value("nice")?), "nice value")?,
            policy: number(Some(value("policy")?), "policy")?,
            mm: number(Some(value("mm")?), "address space")?,
            allowed: set("allowed", value("allowed")?)?,
            on: number(Some(value("on")?), "CPU")?,
        });
    }
    if let Some(name) = values.keys().next() {
        return Err(format!("{name}= is not allowed in a record of {}", event.name()));
    }
    let decision =
        Decision { number: number_of, at_ns, jiffies, cpu, event, pid, other, asks, task };
    decision.check(cpus).map(|()| decision)
}

impl Log {
    /// Reads a log.
    ///
    /// # Errors
    /// The first malformed line: file, line, what is wrong and what would be right.
    pub fn read(file: &str, text: &str) -> Result<Log, String> {
        let mut lines = text.lines().zip(1_usize..);
        let wrong = |line: usize, what: &str| Err(format!("{file}:{line}: {what}"));
        match lines.next() {
            Some((first, _)) if first.trim_end() == MAGIC => (),
            _ => {
                return wrong(
                    1,
                    &format!("this is not a log of decisions, whose first line is \"{MAGIC}\""),
                );
            }
        }
        let mut header = Header {
            policy: String::new(),
            kernel: String::new(),
            hz: 0,
            cpus: 0,
            settings: vec![],
        };
        let mut last = 1;
        let mut is_over = false;
        for (line, at) in lines.by_ref() {
            last = at;
            if line.trim().is_empty() {
                is_over = true;
                break;
            }
            let line = line.trim();
            let (name, value) = line.split_once(' ').unwrap_or((line, ""));
            let value = value.trim_start();
            let is_there = match name {
                "policy" => !header.policy.is_empty(),
                "kernel" => !header.kernel.is_empty(),
                "hz" => header.hz > 0,
                "cpus" => header.cpus > 0,
                _ => false,
            };
            if is_there {
                return wrong(at, &format!("{name} is given twice"));
            }
            let within = |range: std::ops::RangeInclusive<u32>| {
                value.parse().ok().filter(|number| range.contains(number)).ok_or_else(|| {
                    let (low, high) = (range.start(), range.end());
                    format!("{file}:{at}: {name} is a number from {low} to {high}")
                })
            };
            match name {
                "policy" => header.policy = value.into(),
                "kernel" => header.kernel = value.into(),
                "hz" => header.hz = within(24..=10_000)?,
                "cpus" => header.cpus = within(1..=CPUS_MAX)?,
                "set" if value.contains('=') => header.settings.push(value.into()),
                "set" => return wrong(at, "a setting is NAME=VALUE"),
                _ => {
                    let what = format!(
                        "\"{name}\" is not allowed in the header of a log: it has policy, kernel, \
                         hz, cpus and set, and an empty line follows"
                    );
                    return wrong(at, &what);
                }
            }
        }
        let missing = [
            ("policy", header.policy.is_empty()),
            ("kernel", header.kernel.is_empty()),
            ("hz", header.hz == 0),
            ("cpus", header.cpus == 0),
        ];
        if let Some((name, _)) = missing.iter().find(|(_, missing)| *missing) {
            return wrong(last, &format!("the header of the log lacks \"{name} ...\""));
        }
        if !is_over {
            return wrong(last, "no empty line and no records follow the header of the log");
        }
        let mut decisions: Vec<Decision> = vec![];
        for (line, at) in lines {
            if line.trim().is_empty() {
                continue;
            }
            let decision =
                record(line, header.cpus).map_err(|what| format!("{file}:{at}: {what}"))?;
            if let Some(before) = decisions.last()
                && before.number >= decision.number
            {
                let what = format!(
                    "record {} follows record {}: their numbers must ascend",
                    decision.number, before.number
                );
                return wrong(at, &what);
            }
            decisions.push(decision);
        }
        match decisions.first() {
            None => wrong(last, "the log has no records"),
            Some(first) if first.event != EventKind::Init => wrong(
                last + 1,
                "the log does not begin with the loading of the policy: its first record must be \
                 an init",
            ),
            Some(_) => Ok(Log { header, decisions }),
        }
    }

    /// Returns the number of records missing between others.
    pub fn lost(&self) -> u64 {
        let gaps = self.decisions.windows(2).map(|two| two[1].number - two[0].number - 1);
        gaps.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_machine::SplitMix64;

    const LOG: &str = "\
schedlab-decisions 1
policy goodness
kernel 7.3.4
hz 250
cpus 2
set at_tail=1

0 1000 4294892296 0 init 0
1 1100 4294892296 0 init_task 7 nice=-5 policy=0 mm=1 allowed=0x3 on=1
2 1200 4294892297 1 wake 7 nice=-5 policy=0 mm=1 allowed=0x2 on=1 parent=3 asks=0x2
5 1300 4294892297 1 pick 7 prev=9
";

    #[test]
    fn a_log_is_read_as_it_is_written() {
        let log = Log::read("d.log", LOG).expect("the log is valid");
        assert_eq!(log.to_string(), LOG);
        assert_eq!(log.lost(), 2);
        let wake = log.decisions[2];
        assert_eq!((wake.pid, wake.other, wake.asks), (7, 3, 2));
        assert_eq!(log.decisions[3].other, 9);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let message = |from: &str, to: &str| Log::read("d.log", &LOG.replacen(from, to, 1)).err();
        let cases = [
            ("schedlab-decisions 1", "# a trace", "d.log:1: this is not a log of decisions"),
            ("hz 250", "hz fast", "d.log:4: hz is a number from 24 to 10000"),
            ("hz 250\n", "", "d.log:6: the header of the log lacks \"hz"),
            ("cpus 2", "cpus 65", "d.log:5: cpus is a number from 1 to 64"),
            ("cpus 2", "processors 2", "d.log:5: \"processors\" is not allowed"),
            ("set at_tail=1", "set at_tail", "d.log:6: a setting is NAME=VALUE"),
            ("0 init 0", "0 begin 0", "d.log:8: \"begin\" is not an event; events are init,"),
            ("0 init 0", "2 init 0", "d.log:8: CPU 2: there are CPUs 0 to 1"),
            ("0 init 0", "0 tick 7", "d.log:8: nice= is missing"),
            (
                "0 init 0",
                "0 pick 0",
                "d.log:8: the log does not begin with the loading of the policy",
            ),
            ("1 1100", "1 1k", "d.log:9: the time in ns is \"1k\"; it must be"),
            ("nice=-5", "nice=20", "d.log:9: nice=20: it is -20 to 19"),
            (
                "mm=1 allowed=0x3",
                "mm=1 allowed=3",
                "d.log:9: allowed=3: write a set of CPUs, such as 0x3",
            ),
            ("mm=1 allowed=0x3", "mm=1 allowed=0x4", "d.log:9: allowed=0x4: it must contain"),
            ("on=1", "on=1 on=1", "d.log:9: on is given twice"),
            (
                "on=1",
                "on=1 color=1",
                "d.log:9: \"color=1\" is not allowed here; possible values are",
            ),
            ("on=1", "on=1 prev=1", "d.log:9: prev= is not allowed in a record of init_task"),
            ("asks=0x2", "asks=0x8", "d.log:10: asks=0x8: there are CPUs 0 to 1"),
            ("init_task 7", "init_task 0", "d.log:9: init_task: it refers to a task"),
            ("5 1300", "2 1300", "d.log:11: record 2 follows record 2"),
            (" 9\n", "\n", ""),
        ];
        for (from, to, expected) in
            cases.into_iter().filter(|(_, _, expected)| !expected.is_empty())
        {
            let error = message(from, to).unwrap_or_default();
            assert!(error.starts_with(expected), "{from} -> {to}: {error}");
        }
        let head = LOG.split_once("\n\n").map_or("", |(head, _)| head);
        let error = Log::read("d.log", head).unwrap_err();
        assert!(error.contains("d.log:6: no empty line"), "{error}");
        let error = Log::read("d.log", &format!("{head}\n\n")).unwrap_err();
        assert!(error.contains("has no records"), "{error}");
    }

    /// Changes, cuts and duplicates bytes of a log. The result is a message, or a log that is
    /// written as it is read.
    #[test]
    fn no_text_is_too_strange() {
        let mut random = SplitMix64::new(16);
        let (mut read, mut refused) = (0, 0);
        for _ in 0..20_000 {
            let mut bytes = LOG.as_bytes().to_vec();
            for _ in 0..1 + random.below(4) {
                let at = random.below(bytes.len() as u64) as usize;
                match random.below(4) {
                    0 => bytes[at] = random.below(256) as u8,
                    1 => bytes[at] = b"0123456789 =x-\n"[random.below(15) as usize],
                    2 => {
                        drop(bytes.drain(at..(at + 1 + random.below(9) as usize).min(bytes.len())))
                    }
                    _ => {
                        let some = bytes[at..(at + 12).min(bytes.len())].to_vec();
                        let to = random.below(bytes.len() as u64) as usize;
                        bytes.splice(to..to, some);
                    }
                }
                if bytes.is_empty() {
                    bytes.push(b'\n');
                }
            }
            match Log::read("d.log", &String::from_utf8_lossy(&bytes)) {
                Ok(log) => {
                    read += 1;
                    assert_eq!(Log::read("d.log", &log.to_string()), Ok(log));
                }
                Err(error) => {
                    refused += 1;
                    assert!(error.starts_with("d.log:"), "{error}");
                }
            }
        }
        assert!(read > 300 && refused > 1000, "{read} read, {refused} refused");
    }
}
