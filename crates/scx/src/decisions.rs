//! Logs of decisions: what happened in a kernel, or in the laboratory, and what a policy decided.
//!
//! The twins of the laboratory's schedulers write a record of 80 bytes into their ring buffer
//! `decisions` at each event (`examples/scx/scx_lab.h`, setting `log_decisions`). [`Decision`] is
//! such a record, [`Header`] says where it was written, and together they are a text of lines
//! ([`Log`]), which `docs/live-kernel.md` describes.

use std::collections::BTreeMap;
use std::fmt;

/// The first line of a log.
pub const MAGIC: &str = "schedlab-decisions 1";

/// The map that records are written into.
pub const MAP: &str = "decisions";

/// The setting of a policy by which it writes them.
pub const SETTING: &str = "log_decisions";

/// So long a record is, bytes.
pub const LEN: usize = 80;

/// The most CPUs that a log can be of: sets of CPUs are words of 64 bits.
pub const CPUS_MAX: u32 = 64;

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum What {
    /// The policy was loaded.
    Init,
    /// A task was made known to it.
    InitTask,
    /// A task woke up, or began: it waits for a CPU.
    Wake,
    /// A task came back into the queue, as it was put away or changed.
    Enqueue,
    /// A tick found a task running.
    Tick,
    /// A running task went to sleep.
    Block,
    /// A running task yielded.
    Yield,
    /// A task got another nice value.
    Nice,
    /// The decision: who runs next on the CPU.
    Pick,
    /// A task goes on or begins to run.
    Run,
    /// A task left the policy: it ends, or became a real-time task.
    Leave,
    /// A task is gone.
    Exit,
}

impl What {
    /// All, in the order of their numbers in records.
    pub const ALL: [What; 12] = [
        What::Init,
        What::InitTask,
        What::Wake,
        What::Enqueue,
        What::Tick,
        What::Block,
        What::Yield,
        What::Nice,
        What::Pick,
        What::Run,
        What::Leave,
        What::Exit,
    ];

    /// Its word in a log.
    pub const fn name(self) -> &'static str {
        match self {
            What::Init => "init",
            What::InitTask => "init_task",
            What::Wake => "wake",
            What::Enqueue => "enqueue",
            What::Tick => "tick",
            What::Block => "block",
            What::Yield => "yield",
            What::Nice => "nice",
            What::Pick => "pick",
            What::Run => "run",
            What::Leave => "leave",
            What::Exit => "exit",
        }
    }

    fn find(name: &str) -> Option<What> {
        What::ALL.into_iter().find(|what| what.name() == name)
    }
}

/// What is known of a task at a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct About {
    /// Its nice value, -20 to 19.
    pub nice: i32,
    /// Its policy, as `sched_setscheduler(2)` numbers them.
    pub policy: u32,
    /// Its address space; 0: none, a thread of the kernel's.
    pub mm: u64,
    /// Where it may run, a bit a CPU.
    pub allowed: u64,
    /// The CPU whose it is.
    pub on: u32,
}

/// A record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decision {
    /// Its number; a gap is what was lost.
    pub number: u64,
    /// The time as the policy saw it, ns.
    pub at_ns: u64,
    /// Ticks, as the policy saw them.
    pub jiffies: u64,
    /// On which CPU.
    pub cpu: u32,
    /// What happened.
    pub what: What,
    /// The process that it is about; of a pick: who runs next, 0: nobody. (An init from a ring
    /// buffer has the number of CPUs here, which goes into the head of a log: [`Collector`].)
    pub pid: u32,
    /// Of a task that is born: its parent, if it inherits. Of a pick: who ran before. Else 0. (Of
    /// an init from a ring buffer: ticks a second.)
    pub other: u32,
    /// CPUs that the policy asked to look for another task, a bit each.
    pub asks: u64,
    /// The task; none where the record is of no task, or tells nothing of it (a pick).
    pub about: Option<About>,
}

/// The bytes of a record, one number after the other.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn u64(&mut self) -> Option<u64> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*first))
    }

    fn i32(&mut self) -> Option<i32> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(i32::from_le_bytes(*first))
    }

    fn u32(&mut self) -> Option<u32> {
        u32::try_from(self.i32()?).ok()
    }
}

impl Decision {
    /// What stands in the ring buffer; none: that is no record.
    pub fn from_bytes(bytes: &[u8]) -> Option<Decision> {
        if bytes.len() != LEN {
            return None;
        }
        let mut bytes = Bytes(bytes);
        let [number, at_ns, jiffies] = [bytes.u64()?, bytes.u64()?, bytes.u64()?];
        let [mm, allowed, asks] = [bytes.u64()?, bytes.u64()?, bytes.u64()?];
        let what = *What::ALL.get(bytes.u32()? as usize)?;
        let [cpu, pid, other] = [bytes.u32()?, bytes.u32()?, bytes.u32()?];
        let (nice, policy, on) = (bytes.i32()?, bytes.u32()?, bytes.u32()?);
        let about = !matches!(what, What::Init | What::Pick);
        let about = about.then_some(About { nice, policy, mm, allowed, on });
        let decision = Decision { number, at_ns, jiffies, cpu, what, pid, other, asks, about };
        decision.check(CPUS_MAX).ok().map(|()| decision)
    }

    /// Whether its numbers can be.
    fn check(&self, cpus: u32) -> Result<(), String> {
        let none_beyond = |set: u64| cpus >= 64 || set >> cpus == 0;
        if self.cpu >= cpus {
            return Err(format!("CPU {}: there are CPUs 0 to {}", self.cpu, cpus - 1));
        }
        if !none_beyond(self.asks) {
            return Err(format!("asks={:#x}: there are CPUs 0 to {}", self.asks, cpus - 1));
        }
        let Some(about) = self.about else { return Ok(()) };
        if !(-20..=19).contains(&about.nice) {
            return Err(format!("nice={}: it is -20 to 19", about.nice));
        }
        if about.on >= cpus {
            return Err(format!("on={}: there are CPUs 0 to {}", about.on, cpus - 1));
        }
        if self.pid == 0 {
            return Err(format!("{}: it is about a task, whose pid is not 0", self.what.name()));
        }
        // A kernel says so of CPUs that are not there, too.
        if cpus < 64 && about.allowed & ((1 << cpus) - 1) == 0 || about.allowed == 0 {
            return Err(format!("allowed={:#x}: one of the CPUs must be in it", about.allowed));
        }
        Ok(())
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Decision { number, at_ns, jiffies, cpu, pid, other, asks, .. } = self;
        write!(f, "{number} {at_ns} {jiffies} {cpu} {} {pid}", self.what.name())?;
        if let Some(About { nice, policy, mm, allowed, on }) = self.about {
            write!(f, " nice={nice} policy={policy} mm={mm} allowed={allowed:#x} on={on}")?;
        }
        if *other != 0 {
            write!(f, " {}={other}", if self.what == What::Pick { "prev" } else { "parent" })?;
        }
        if *asks != 0 {
            write!(f, " asks={asks:#x}")?;
        }
        Ok(())
    }
}

/// Where a log was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Header {
    /// The policy, as it calls itself.
    pub policy: String,
    /// The kernel, or that it was the laboratory.
    pub kernel: String,
    /// Ticks a second.
    pub hz: u32,
    /// CPUs, 1 to 64.
    pub cpus: u32,
    /// What was set in the policy, NAME=VALUE.
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

/// A log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Log {
    /// Where it was written.
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

/// Numbers of address spaces: where they lie in a kernel's memory is nobody's business.
#[derive(Clone, Debug, Default)]
pub struct Spaces(BTreeMap<u64, u64>);

impl Spaces {
    /// The record with a number for the address space, 1 for the first that was seen.
    pub fn number(&mut self, mut decision: Decision) -> Decision {
        if let Some(about) = &mut decision.about
            && about.mm != 0
        {
            let next = self.0.len() as u64 + 1;
            about.mm = *self.0.entry(about.mm).or_insert(next);
        }
        decision
    }
}

/// So many records wait for one of a lower number, which another CPU is about to write.
const WAITING: usize = 256;

/// Records as they come from a ring buffer, on their way to a log.
#[derive(Clone, Debug, Default)]
pub struct Collector {
    policy: String,
    kernel: String,
    settings: Vec<String>,
    spaces: Spaces,
    /// Sorted by number.
    waiting: Vec<Decision>,
    next: u64,
    has_begun: bool,
    written: u64,
    lost: u64,
}

impl Collector {
    /// For the log of a policy with these settings, in this kernel.
    pub fn new(policy: &str, kernel: &str, settings: Vec<String>) -> Collector {
        let (policy, kernel) = (policy.into(), kernel.into());
        Collector { policy, kernel, settings, ..Collector::default() }
    }

    /// A record has come.
    pub fn push(&mut self, decision: Decision) {
        let at = self.waiting.partition_point(|other| other.number < decision.number);
        self.waiting.insert(at, decision);
    }

    /// What can be written now; in the end: all.
    ///
    /// # Errors
    /// The machine has more CPUs than a log can be of, or the policy did not say how many.
    pub fn take(&mut self, is_end: bool) -> Result<String, String> {
        let count = match is_end {
            true => self.waiting.len(),
            false => self.waiting.len().saturating_sub(WAITING),
        };
        let mut text = String::new();
        let ready: Vec<Decision> = self.waiting.drain(..count).collect();
        for mut decision in ready {
            if decision.number < self.next {
                // It is too late. It has been counted as lost.
                continue;
            }
            if !self.has_begun {
                if decision.what != What::Init {
                    return Err("the first record of the policy is missing".into());
                }
                let (cpus, hz) = (decision.pid, decision.other);
                if !(1..=CPUS_MAX).contains(&cpus) {
                    let what = format!("the machine has {cpus} CPUs; a log is of 64 at most");
                    return Err(what);
                }
                (decision.pid, decision.other) = (0, 0);
                let (policy, kernel) = (self.policy.clone(), self.kernel.clone());
                let settings = self.settings.clone();
                text += &Header { policy, kernel, hz, cpus, settings }.to_string();
                self.has_begun = true;
            }
            self.lost += decision.number - self.next;
            self.next = decision.number + 1;
            self.written += 1;
            text += &format!("{}\n", self.spaces.number(decision));
        }
        Ok(text)
    }

    /// Records that were written, and that were lost.
    pub fn counts(&self) -> (u64, u64) {
        (self.written, self.lost)
    }
}

/// A record from what the laboratory tells of a ring buffer
/// ([`Entry::text`](crate::log::Entry)): none if it is of another.
pub fn from_ring(text: &str) -> Option<Decision> {
    let digits = text.strip_prefix(MAP)?.strip_prefix(": ")?.rsplit(' ').next()?;
    let byte = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..digits.len()).step_by(2).map(byte).collect();
    Decision::from_bytes(&bytes?)
}

fn number<T: std::str::FromStr>(word: Option<&str>, what: &str) -> Result<T, String> {
    let word = word.ok_or_else(|| {
        format!(
            "the {what} is missing; a record is NUMBER NS JIFFIES CPU EVENT PID [NAME=VALUE...]"
        )
    })?;
    word.parse().map_err(|_| format!("\"{word}\" is no {what}: it is a whole number"))
}

fn set_of_cpus(word: &str) -> Option<u64> {
    u64::from_str_radix(word.strip_prefix("0x")?, 16).ok()
}

/// A line of a log as a record.
fn record(line: &str, cpus: u32) -> Result<Decision, String> {
    let mut words = line.split_ascii_whitespace();
    let number_of = number(words.next(), "number of the record")?;
    let at_ns = number(words.next(), "time in ns")?;
    let jiffies = number(words.next(), "number of ticks")?;
    let cpu = number(words.next(), "CPU")?;
    let name = words.next().unwrap_or_default();
    let what = What::find(name).ok_or_else(|| {
        let names: Vec<&str> = What::ALL.iter().map(|what| what.name()).collect();
        format!("\"{name}\" is no event; events are {}", names.join(", "))
    })?;
    let pid = number(words.next(), "process id")?;
    let mut values: BTreeMap<&str, &str> = BTreeMap::new();
    for word in words {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let known = ["nice", "policy", "mm", "allowed", "on", "parent", "prev", "asks"];
        if !known.contains(&name) {
            return Err(format!("\"{word}\": what can stand there is {}=", known.join("=, ")));
        }
        if values.insert(name, value).is_some() {
            return Err(format!("{name} stands there twice"));
        }
    }
    let set = |name: &str, value: &str| {
        set_of_cpus(value).ok_or_else(|| format!("{name}={value}: a set of CPUs is as 0x3"))
    };
    let asks = values.remove("asks").map_or(Ok(0), |value| set("asks", value))?;
    let before = if what == What::Pick { "prev" } else { "parent" };
    let other = values.remove(before).map_or(Ok(0), |value| number(Some(value), before))?;
    let mut about = None;
    if !matches!(what, What::Init | What::Pick) {
        let mut value =
            |name: &'static str| values.remove(name).ok_or_else(|| format!("{name}= is missing"));
        about = Some(About {
            nice: number(Some(value("nice")?), "nice value")?,
            policy: number(Some(value("policy")?), "policy")?,
            mm: number(Some(value("mm")?), "address space")?,
            allowed: set("allowed", value("allowed")?)?,
            on: number(Some(value("on")?), "CPU")?,
        });
    }
    if let Some(name) = values.keys().next() {
        return Err(format!("{name}= has no place in a record of {}", what.name()));
    }
    let decision =
        Decision { number: number_of, at_ns, jiffies, cpu, what, pid, other, asks, about };
    decision.check(cpus).map(|()| decision)
}

impl Log {
    /// Reads a log.
    ///
    /// # Errors
    /// The first line that is not as it should be: file, line, what is wrong and what would be
    /// right.
    pub fn read(file: &str, text: &str) -> Result<Log, String> {
        let mut lines = text.lines().zip(1_usize..);
        let wrong = |line: usize, what: &str| Err(format!("{file}:{line}: {what}"));
        match lines.next() {
            Some((first, _)) if first.trim_end() == MAGIC => (),
            _ => {
                return wrong(
                    1,
                    &format!("this is no log of decisions, whose first line is \"{MAGIC}\""),
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
                return wrong(at, &format!("{name} stands there twice"));
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
                        "\"{name}\" does not belong in the head of a log: policy, kernel, hz, \
                         cpus, set, and an empty line behind them do"
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
            return wrong(last, &format!("the head of the log does not say \"{name} ...\""));
        }
        if !is_over {
            return wrong(last, "no empty line and no records stand behind the head of the log");
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
                    "record {} stands behind record {}: their numbers rise",
                    decision.number, before.number
                );
                return wrong(at, &what);
            }
            decisions.push(decision);
        }
        match decisions.first() {
            None => wrong(last, "there is no record in the log"),
            Some(first) if first.what != What::Init => wrong(
                last + 1,
                "the log does not begin when the policy was loaded: its first record is an init",
            ),
            Some(_) => Ok(Log { header, decisions }),
        }
    }

    /// Records that are missing between others.
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
        let log = Log::read("d.log", LOG).expect("it is in order");
        assert_eq!(log.to_string(), LOG);
        assert_eq!(log.lost(), 2);
        let wake = log.decisions[2];
        assert_eq!((wake.pid, wake.other, wake.asks), (7, 3, 2));
        assert_eq!(log.decisions[3].other, 9);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let told = |from: &str, to: &str| Log::read("d.log", &LOG.replacen(from, to, 1)).err();
        let cases = [
            ("schedlab-decisions 1", "# a trace", "d.log:1: this is no log of decisions"),
            ("hz 250", "hz fast", "d.log:4: hz is a number from 24 to 10000"),
            ("hz 250\n", "", "d.log:6: the head of the log does not say \"hz"),
            ("cpus 2", "cpus 65", "d.log:5: cpus is a number from 1 to 64"),
            ("cpus 2", "processors 2", "d.log:5: \"processors\" does not belong"),
            ("set at_tail=1", "set at_tail", "d.log:6: a setting is NAME=VALUE"),
            ("0 init 0", "0 begin 0", "d.log:8: \"begin\" is no event; events are init,"),
            ("0 init 0", "2 init 0", "d.log:8: CPU 2: there are CPUs 0 to 1"),
            ("0 init 0", "0 tick 7", "d.log:8: nice= is missing"),
            ("0 init 0", "0 pick 0", "d.log:8: the log does not begin when the policy"),
            ("1 1100", "1 1k", "d.log:9: \"1k\" is no time in ns: it is a whole number"),
            ("nice=-5", "nice=20", "d.log:9: nice=20: it is -20 to 19"),
            ("mm=1 allowed=0x3", "mm=1 allowed=3", "d.log:9: allowed=3: a set of CPUs is as 0x3"),
            ("mm=1 allowed=0x3", "mm=1 allowed=0x4", "d.log:9: allowed=0x4: one of the CPUs"),
            ("on=1", "on=1 on=1", "d.log:9: on stands there twice"),
            ("on=1", "on=1 color=1", "d.log:9: \"color=1\": what can stand there is"),
            ("on=1", "on=1 prev=1", "d.log:9: prev= has no place in a record of init_task"),
            ("asks=0x2", "asks=0x8", "d.log:10: asks=0x8: there are CPUs 0 to 1"),
            ("init_task 7", "init_task 0", "d.log:9: init_task: it is about a task"),
            ("5 1300", "2 1300", "d.log:11: record 2 stands behind record 2"),
            (" 9\n", "\n", ""),
        ];
        for (from, to, expected) in
            cases.into_iter().filter(|(_, _, expected)| !expected.is_empty())
        {
            let error = told(from, to).unwrap_or_default();
            assert!(error.starts_with(expected), "{from} -> {to}: {error}");
        }
        let head = LOG.split_once("\n\n").map_or("", |(head, _)| head);
        let error = Log::read("d.log", head).unwrap_err();
        assert!(error.contains("d.log:6: no empty line"), "{error}");
        let error = Log::read("d.log", &format!("{head}\n\n")).unwrap_err();
        assert!(error.contains("there is no record"), "{error}");
    }

    /// Bytes of a log changed, cut out, doubled: a message, or a log that is written as it is read.
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

    #[test]
    fn records_are_collected_in_the_order_of_their_numbers() {
        let log = Log::read("d.log", LOG).expect("it is in order");
        let mut records = log.decisions.clone();
        (records[0].pid, records[0].other) = (2, 250);
        let settings = log.header.settings.clone();
        let mut collector = Collector::new("goodness", "7.3.4", settings);
        for place in [1, 0, 3, 2] {
            collector.push(records[place]);
        }
        assert_eq!(collector.take(false), Ok(String::new()), "others may come");
        assert_eq!(collector.take(true).as_deref(), Ok(LOG));
        assert_eq!(collector.counts(), (4, 2));
        collector.push(records[1]);
        assert_eq!(collector.take(true), Ok(String::new()), "too late");
        let mut collector = Collector::new("goodness", "7.3.4", vec![]);
        collector.push(Decision { pid: 65, ..records[0] });
        assert!(collector.take(true).is_err_and(|error| error.contains("65 CPUs")));
        collector.push(records[1]);
        assert!(collector.take(true).is_err_and(|error| error.contains("first record")));
    }

    #[test]
    fn records_are_read_from_bytes() {
        let mut bytes = vec![0; LEN];
        for (at, value) in [(0, 12_u64), (8, 5000), (16, 70), (24, 0xffff), (32, 3), (40, 1)] {
            bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        for (at, value) in [(48, 2_i32), (52, 1), (56, 44), (60, 43), (64, -3), (72, 1)] {
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        let digits = crate::log::digits(&bytes);
        let decision = from_ring(&format!("decisions: {LEN} bytes {digits}")).expect("a record");
        assert_eq!(Some(decision), Decision::from_bytes(&bytes));
        let decision = Spaces::default().number(decision);
        let expected = "12 5000 70 1 wake 44 nice=-3 policy=0 mm=1 allowed=0x3 on=1 parent=43 \
                        asks=0x1";
        assert_eq!(decision.to_string(), expected);
        assert_eq!(Decision::from_bytes(&bytes[1..]), None, "too short");
        bytes[48] = 12;
        assert_eq!(Decision::from_bytes(&bytes), None, "no event");
        assert_eq!(from_ring("other: 80 bytes 00"), None);
    }
}
