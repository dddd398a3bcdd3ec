//! Reading timetables.

use super::{Change, Entry, NewPolicy, Origin, Tasks, Timetable, When};
use crate::cgroups::parameter::read_setting;
use crate::cgroups::write::Write;
use crate::diagnostic::{Diagnostic, Span, did_you_mean};
use crate::group_path::normal_path;
use schedlab_core::topology::CPUS_MAX;
use schedlab_core::{CpuId, CpuSet, Policy};

const ACTIONS: [&str; 13] = [
    "renice", "chrt", "taskset", "move", "group", "set", "offline", "online", "stop", "cont",
    "kill", "freeze", "thaw",
];
const POLICIES: [&str; 7] = ["other", "batch", "idle", "fifo", "rr", "deadline", "iso"];

impl Timetable {
    /// Reads a timetable: one action per line, `#` begins a comment. `file` names it in messages.
    ///
    /// # Errors
    /// The first line with an error.
    pub fn parse(file: &str, text: &str) -> Result<Timetable, Diagnostic> {
        let text = text.trim_start_matches('\u{feff}');
        let mut entries = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let written = line.split_once('#').map_or(line, |(line, _)| line);
            if !written.trim().is_empty() {
                let origin = Origin {
                    file: file.into(),
                    text: line.into(),
                    line: number + 1,
                    names: Vec::new(),
                };
                entries.push(Reader::new(origin, written).entry()?);
            }
        }
        Ok(Timetable { entries })
    }

    /// Reads one action from the command line, for example `2s offline cpu 4` (`at` may be left
    /// out).
    ///
    /// # Errors
    /// If it has an error.
    pub fn parse_option(text: &str) -> Result<Timetable, Diagnostic> {
        let origin =
            Origin { file: "option --at".into(), text: text.into(), line: 1, names: Vec::new() };
        let entry = Reader::new(origin, text).entry()?;
        Ok(Timetable { entries: vec![entry] })
    }

    /// Reads one change from the command line, which happens at time 0, for example `group /x
    /// cpu.max=20000 100000`. `option` names the option in messages.
    ///
    /// # Errors
    /// If it has an error.
    pub fn parse_change(option: &str, text: &str) -> Result<Timetable, Diagnostic> {
        let file = format!("option {option}");
        let origin = Origin { file, text: text.into(), line: 1, names: Vec::new() };
        let at_0 = When { from_ns: 0, period_ns: None, until_ns: u64::MAX };
        let entry = Reader::new(origin, text).entry_at(at_0)?;
        Ok(Timetable { entries: vec![entry] })
    }
}

/// An error in a word, and how to correct it.
struct Fault {
    message: String,
    help: Option<String>,
}

fn fault(message: impl Into<String>, help: impl Into<Option<String>>) -> Fault {
    Fault { message: message.into(), help: help.into() }
}

/// Reads the words of a line one after the other.
struct Reader {
    origin: Origin,
    /// Words with their positions.
    words: Vec<(String, Span)>,
    next: usize,
}

impl Reader {
    fn new(origin: Origin, line: &str) -> Reader {
        let place = |word: &str| {
            let start = (word.as_ptr() as usize - line.as_ptr() as usize) as u32;
            Span { start, end: start + word.len() as u32 }
        };
        let words = line.split_whitespace().map(|word| (word.to_string(), place(word)));
        Reader { words: words.collect(), origin, next: 0 }
    }

    fn error(&self, at: usize, Fault { message, help }: Fault) -> Diagnostic {
        let end = self.words.last().map_or(0, |(_, span)| span.end);
        let span = self.words.get(at).map_or(Span { start: end, end: end + 1 }, |(_, span)| *span);
        let mut origin = self.origin.clone();
        origin.names = vec![span];
        origin.error(0, message).with_help_if(help)
    }

    /// Reads and converts the next word.
    fn take<T>(
        &mut self,
        what: &str,
        make: impl FnOnce(&str) -> Result<T, Fault>,
    ) -> Result<T, Diagnostic> {
        let at = self.next;
        let Some((word, _)) = self.words.get(at) else {
            return Err(self.error(at, fault(format!("{what} is missing"), None)));
        };
        let made = make(word).map_err(|fault| self.error(at, fault))?;
        self.next += 1;
        Ok(made)
    }

    /// Does the same as [`take`](Reader::take) for a word that names an object, and records its
    /// position.
    fn name<T>(
        &mut self,
        what: &str,
        make: impl FnOnce(&str) -> Result<T, Fault>,
    ) -> Result<T, Diagnostic> {
        let at = self.next;
        let made = self.take(what, make)?;
        self.origin.names.push(self.words[at].1);
        Ok(made)
    }

    fn peek(&self) -> &str {
        self.words.get(self.next).map_or("", |(word, _)| word)
    }

    fn skip(&mut self, word: &str) -> bool {
        let matches = self.peek() == word;
        self.next += usize::from(matches);
        matches
    }

    fn entry(mut self) -> Result<Entry, Diagnostic> {
        let when = self.when()?;
        self.entry_at(when)
    }

    fn entry_at(mut self, when: When) -> Result<Entry, Diagnostic> {
        let change = self.change()?;
        if self.next < self.words.len() {
            let rest = fault(format!("`{}` is superfluous", self.peek()), None);
            return Err(self.error(self.next, rest));
        }
        Ok(Entry { when, change, origin: self.origin })
    }

    fn when(&mut self) -> Result<When, Diagnostic> {
        if self.skip("every") {
            let period_ns = self.take("the interval", |word| match duration_ns(word)? {
                0 => Err(fault("it must be greater than 0", None)),
                ns => Ok(ns),
            })?;
            let mut when =
                When { from_ns: period_ns, period_ns: Some(period_ns), until_ns: u64::MAX };
            if self.skip("from") {
                when.from_ns = self.take("the first time", duration_ns)?;
            }
            if self.skip("until") {
                let from_ns = when.from_ns;
                when.until_ns = self.take("the end", |word| match duration_ns(word)? {
                    ns if ns <= from_ns => {
                        let first = crate::seconds::format_s(from_ns);
                        let message = format!(
                            "it ends before its first occurrence, at {first}, so it never occurs"
                        );
                        Err(fault(message, "write `from` and the time when it begins".to_string()))
                    }
                    ns => Ok(ns),
                })?;
            }
            return Ok(when);
        }
        let option = self.origin.file == "option --at";
        let at_once = option && self.peek().starts_with(|c: char| c.is_ascii_digit());
        if !(at_once || self.skip("at")) {
            let help = "for example `at 2s offline cpu 4` or `every 500ms stop build`".to_string();
            let word = self.peek().to_string();
            return Err(self.error(
                self.next,
                fault(format!("`{word}` is not a time: a line begins with `at` or `every`"), help),
            ));
        }
        Ok(When {
            from_ns: self.take("the time", duration_ns)?,
            period_ns: None,
            until_ns: u64::MAX,
        })
    }

    fn change(&mut self) -> Result<Change, Diagnostic> {
        let at = self.next;
        let action = self.take("the action", |word| Ok(word.to_string()))?;
        Ok(match action.as_str() {
            "renice" => Change::Nice(
                self.tasks()?,
                self.take("the nice value", |word| integer(word, -20, 19))? as i32,
            ),
            "chrt" => Change::Policy(self.tasks()?, self.policy()?),
            "taskset" => {
                let tasks = self.tasks()?;
                let cpus = self.name("a list of CPUs", cpu_list)?;
                Change::Affinity(tasks, CpuSet::from_cpus(cpus.iter().copied()), cpus)
            }
            "move" => {
                let tasks = self.tasks()?;
                self.skip("to");
                Change::Move(tasks, self.group()?)
            }
            "group" => {
                let group = self.group()?;
                Change::Group(group, self.settings()?)
            }
            "set" => self.tunable()?,
            "offline" | "online" => {
                if !self.skip("cpu") {
                    self.skip("cpus");
                }
                let cpus = self.name("a list of CPUs", cpu_list)?;
                if action == "offline" { Change::Offline(cpus) } else { Change::Online(cpus) }
            }
            "stop" => Change::Stop(self.tasks()?),
            "cont" => Change::Continue(self.tasks()?),
            "kill" => Change::Kill(self.tasks()?),
            "freeze" => Change::Freeze(self.tasks()?),
            "thaw" => Change::Thaw(self.tasks()?),
            unknown => {
                let help = did_you_mean(unknown, ACTIONS)
                    .unwrap_or_else(|| format!("the actions are {}", ACTIONS.join(", ")));
                return Err(self.error(at, fault(format!("unknown action `{unknown}`"), help)));
            }
        })
    }

    /// Reads names separated by commas, or a group.
    fn tasks(&mut self) -> Result<Tasks, Diagnostic> {
        if self.peek().starts_with('/') {
            return Ok(Tasks::InGroup(self.group()?));
        }
        self.name("a task", |word| {
            let names: Vec<String> = word.split(',').map(str::to_string).collect();
            if names.iter().any(String::is_empty) {
                return Err(fault("an empty name", None));
            }
            Ok(Tasks::Named(names))
        })
    }

    fn group(&mut self) -> Result<String, Diagnostic> {
        self.name("a group", |word| {
            if !word.starts_with('/') {
                let message = format!("`{word}` is not a group: a path begins with `/`");
                return Err(fault(message, None));
            }
            normal_path(word).map_err(|message| fault(message, None))
        })
    }

    /// Reads `cpu.weight=200 cpu.max=50000 100000`: a value extends to the next word that contains
    /// a `=`.
    fn settings(&mut self) -> Result<Vec<(&'static str, Write)>, Diagnostic> {
        let mut settings = Vec::new();
        while self.next < self.words.len() || settings.is_empty() {
            let first = self.next;
            let mut text =
                self.name("a setting such as `cpu.weight=200`", |word| Ok(word.to_string()))?;
            while self.next < self.words.len() && !self.peek().contains('=') {
                text = format!("{text} {}", self.peek());
                self.next += 1;
            }
            settings.push(read_setting(&text).map_err(|wrong| {
                let end = self.words[self.next - 1].1.end;
                let mut origin = self.origin.clone();
                origin.names = vec![Span { start: self.words[first].1.start, end }];
                origin.error(0, wrong.message).with_help_if(wrong.help)
            })?);
        }
        Ok(settings)
    }

    /// Reads `fifo 10`, `rr 5`, `other`, `batch`, `idle`, `iso`, or `deadline RUNTIME DEADLINE
    /// PERIOD`.
    fn policy(&mut self) -> Result<NewPolicy, Diagnostic> {
        let policy = self.take("a policy", |word| {
            let plain = word.to_lowercase();
            Ok(match plain.strip_prefix("sched_").unwrap_or(&plain) {
                "other" | "normal" => Policy::Other,
                "batch" => Policy::Batch,
                "idle" => Policy::Idle,
                "fifo" => Policy::Fifo,
                "rr" => Policy::RoundRobin,
                "deadline" => Policy::Deadline,
                "iso" => Policy::Iso,
                _ => {
                    let help = did_you_mean(word, POLICIES)
                        .unwrap_or_else(|| format!("the policies are {}", POLICIES.join(", ")));
                    return Err(fault(format!("unknown policy `{word}`"), help));
                }
            })
        })?;
        let mut new =
            NewPolicy { policy, rt_priority: 0, runtime_ns: 0, deadline_ns: 0, period_ns: 0 };
        if policy.is_realtime() {
            new.rt_priority = self.take("the priority", |word| integer(word, 1, 99))? as u32;
        } else if policy == Policy::Deadline {
            new.runtime_ns = self.take("the runtime", duration_ns)?;
            new.deadline_ns = self.take("the deadline", duration_ns)?;
            new.period_ns = self.take("the period", duration_ns)?;
        }
        Ok(new)
    }

    /// Reads `NAME VALUE` or `NAME=VALUE`.
    fn tunable(&mut self) -> Result<Change, Diagnostic> {
        let whole = |text: &str| integer(text, i64::MIN, i64::MAX);
        let (name, value) = self.name("a tunable", |word| match word.split_once('=') {
            Some((name, value)) => Ok((name.to_string(), Some(whole(value)?))),
            None => Ok((word.to_string(), None)),
        })?;
        let value = match value {
            Some(value) => value,
            None => self.take("its value", whole)?,
        };
        Ok(Change::Tunable(name, value))
    }
}

fn integer(text: &str, least: i64, most: i64) -> Result<i64, Fault> {
    let wrong = || {
        let range = if least == i64::MIN {
            "a whole number".into()
        } else {
            format!("a whole number from {least} to {most}")
        };
        fault(format!("it must be {range}, found `{text}`"), None)
    };
    let number: i64 = text.parse().map_err(|_| wrong())?;
    if (least..=most).contains(&number) { Ok(number) } else { Err(wrong()) }
}

/// Reads `2s`, `2.5s`, `300ms`, `40us`, `7ns`. A plain 0 needs no unit.
fn duration_ns(text: &str) -> Result<u64, Fault> {
    let wrong = |why: &str| {
        let help = "for example `2s`, `2.5s`, `300ms`, `40us` or `7ns`".to_string();
        fault(format!("`{text}` is not a time{why}"), help)
    };
    if text == "0" {
        return Ok(0);
    }
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let places = match unit {
        "s" => 9,
        "ms" => 6,
        "us" | "µs" => 3,
        "ns" => 0,
        "" => return Err(wrong(": its unit is missing")),
        _ => return Err(wrong("")),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || (number.contains('.') && fraction.is_empty()) || fraction.contains('.') {
        return Err(wrong(""));
    }
    if fraction.len() > places {
        return Err(wrong(": it is more precise than a nanosecond"));
    }
    let whole: u64 = whole.parse().map_err(|_| wrong(": it is too long"))?;
    let scale = 10u64.pow(places as u32);
    let fraction = format!("{fraction:0<places$}");
    let fraction: u64 = if places == 0 { 0 } else { fraction.parse().map_err(|_| wrong(""))? };
    whole
        .checked_mul(scale)
        .and_then(|ns| ns.checked_add(fraction))
        .filter(|&ns| ns <= i64::MAX as u64)
        .ok_or_else(|| wrong(": it is too long"))
}

/// Reads `4`, `4-11`, `0-3,8`.
fn cpu_list(text: &str) -> Result<Vec<CpuId>, Fault> {
    let help = || Some("for example `4`, `4-11` or `0-3,8`".to_string());
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| {
            let number: Option<u32> = text.parse().ok();
            number.filter(|&cpu| cpu < CPUS_MAX).ok_or_else(|| {
                fault(format!("`{part}` is not a CPU: CPUs are 0 to {}", CPUS_MAX - 1), help())
            })
        };
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err(fault(format!("`{part}` is descending"), help()));
        }
        cpus.extend((first..=last).map(CpuId));
    }
    Ok(cpus)
}
