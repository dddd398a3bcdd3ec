//! Reads the text of `perf script`, ftrace and `trace-cmd report`, and gives its scheduler events
//! to a [`Sink`].
//!
//! A line is known by the pattern of its head (who, CPU, time, event), not by a heading: people cut
//! files. What is no event, or an event of another kind, is passed over; a scheduler event that
//! cannot be understood is an error. Events are given in the order of time, those of the same time
//! in the order of lines.

use crate::tracepoint::{Context, Record, Sink, State, Tracepoint, Who};
use std::fmt;

/// CPUs are numbered below this.
const CPUS_MAX: u32 = 4096;

/// The kernel gives no task a larger number.
const PID_MAX: i64 = 1 << 22;

/// What is wrong with a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadError {
    /// In this line, from 1; none: in all of it.
    pub line: Option<usize>,
    /// What, and what would be right.
    pub message: String,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for ReadError {}

/// A trace whose lines have been looked through.
#[derive(Clone, Debug)]
pub struct TextTrace<'a> {
    /// When, in what line (from 1), and the line; by time.
    lines: Vec<(u64, usize, &'a str)>,
    cpus: u32,
}

/// A line's head.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Head<'a> {
    comm: &'a str,
    pid: i64,
    cpu: u32,
    in_interrupt: bool,
    context: Context,
    at_ns: u64,
    event: &'a str,
    body: &'a str,
}

impl<'a> TextTrace<'a> {
    /// Looks through `text`.
    ///
    /// # Errors
    /// It has no scheduler events, or one that cannot be understood.
    pub fn parse(text: &'a str) -> Result<TextTrace<'a>, ReadError> {
        let mut lines = vec![];
        let mut cpus = 0;
        for (number, line) in text.lines().enumerate() {
            let wrong = |message: String| ReadError { line: Some(number + 1), message };
            let Some(head) = head(line).map_err(wrong)? else { continue };
            let Some(tracepoint) = tracepoint(&head).map_err(wrong)? else { continue };
            let mut most = head.cpu;
            if let Tracepoint::Wakeup { target_cpu: cpu, .. }
            | Tracepoint::WakeupNew { target_cpu: cpu, .. }
            | Tracepoint::Waking { target_cpu: cpu, .. }
            | Tracepoint::Migrate { dest_cpu: cpu, .. } = tracepoint
            {
                most = most.max(cpu);
            }
            if most >= CPUS_MAX {
                return Err(wrong(format!("CPU {most}: CPUs are numbered from 0 to 4095")));
            }
            cpus = cpus.max(most + 1);
            lines.push((head.at_ns, number + 1, line));
        }
        if lines.is_empty() {
            return Err(ReadError {
                line: None,
                message: "there are no scheduler events in it; it must be the text of `perf \
                          script`, of ftrace's `trace` file or of `trace-cmd report`, with \
                          sched_switch events"
                    .into(),
            });
        }
        lines.sort_by_key(|&(at_ns, _, _)| at_ns);
        Ok(TextTrace { lines, cpus })
    }

    /// How many CPUs it has.
    pub fn cpus(&self) -> u32 {
        self.cpus
    }

    /// How many scheduler events it has.
    pub fn events(&self) -> usize {
        self.lines.len()
    }

    /// Gives all events to `sink`.
    pub fn replay(&self, sink: &mut impl Sink) {
        let mut running: Vec<Option<u32>> = vec![None; self.cpus as usize];
        let mut end_ns = 0;
        for &(at_ns, _, line) in &self.lines {
            // All lines were understood before.
            let Ok(Some(head)) = head(line) else { continue };
            let Ok(Some(tracepoint)) = tracepoint(&head) else { continue };
            end_ns = at_ns;
            let cpu = head.cpu;
            // The head's name may have been looked up later, and its number may be lost.
            let own = u32::try_from(head.pid).ok();
            let pid = own.or(running[cpu as usize]).unwrap_or(0);
            let comm = if pid == 0 { Who::IDLE.comm } else { head.comm };
            if let Tracepoint::Switch { next, .. } = tracepoint {
                running[cpu as usize] = Some(next.pid);
            }
            let current = Who { comm, pid, prio: 120 };
            let in_interrupt = head.in_interrupt;
            let context = head.context;
            sink.record(&Record { at_ns, cpu, current, in_interrupt, context, tracepoint });
        }
        sink.finish(end_ns);
    }
}

/// The head of a line, if it is that of an event.
fn head(line: &str) -> Result<Option<Head<'_>>, String> {
    if line.trim_start().starts_with('#') {
        return Ok(None);
    }
    for (open, _) in line.match_indices('[') {
        let Some((cpu, rest)) = line[open + 1..].split_once(']') else { break };
        let is_cpu = cpu.len() >= 3 && cpu.bytes().all(|byte| byte.is_ascii_digit());
        if !is_cpu || !rest.starts_with([' ', '\t']) {
            continue;
        }
        let (Some((comm, pid)), Some(rest)) = (who_ran(&line[..open]), after_cpu(rest)) else {
            continue;
        };
        let Some(at_ns) = nanoseconds(rest.time) else {
            return Err(format!(
                "the time {} is not in seconds; record with a clock that counts them (`echo mono > \
                 trace_clock`)",
                rest.time
            ));
        };
        let cpu: u32 = cpu.parse().map_err(|_| format!("there is no CPU {cpu}"))?;
        let After { in_interrupt, context, event, body, .. } = rest;
        return Ok(Some(Head { comm, pid, cpu, in_interrupt, context, at_ns, event, body }));
    }
    Ok(None)
}

/// `comm-pid`, `comm-pid (tgid)`, `comm pid` or `comm pid/tid`.
fn who_ran(text: &str) -> Option<(&str, i64)> {
    let mut text = text.trim();
    if let Some((before, tgid)) = text.strip_suffix(')').and_then(|text| text.rsplit_once('(')) {
        let tgid = tgid.trim();
        if !tgid.is_empty() && tgid.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') {
            text = before.trim_end();
        }
    }
    let digits = text.bytes().rev().take_while(u8::is_ascii_digit).count();
    let (before, number) = text.split_at(text.len() - digits);
    let pid: i64 = number.parse().ok()?;
    let before_minus = before.strip_suffix('-');
    if let Some(comm) = before_minus.filter(|comm| !comm.ends_with([' ', '\t'])) {
        return Some((comm.trim_start(), pid));
    }
    if let Some(comm) = before_minus.filter(|comm| !comm.is_empty()) {
        // `:-1    -1`: it was past its end.
        return Some((comm.trim(), -pid));
    }
    let comm = match before.strip_suffix('/') {
        None => before.strip_suffix([' ', '\t'])?,
        // pid/tid: the thread is meant, which is the last.
        Some(before) => before.trim_end_matches(|letter: char| letter.is_ascii_digit()),
    };
    Some((comm.trim(), pid))
}

/// What stands behind a line's CPU.
struct After<'a> {
    in_interrupt: bool,
    context: Context,
    time: &'a str,
    event: &'a str,
    body: &'a str,
}

fn after_cpu(text: &str) -> Option<After<'_>> {
    let is_time = |token: &str| {
        token.starts_with(|letter: char| letter.is_ascii_digit())
            && token.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    let mut rest = text.trim_start();
    let mut in_interrupt = false;
    let mut context = Context::Unknown;
    let (mut token, mut after) = rest.split_once([' ', '\t'])?;
    if !token.ends_with(':') {
        // Flags: the third tells the context.
        if token.len() < 4 || token.len() > 6 || !token.is_ascii() {
            return None;
        }
        in_interrupt = matches!(token.as_bytes()[2], b'h' | b'H' | b's' | b'z' | b'Z');
        context = match token.as_bytes()[2] {
            b'.' => Context::Task,
            b's' => Context::Soft,
            b'h' | b'H' | b'z' | b'Z' => Context::Hard,
            _ => Context::Unknown,
        };
        rest = after.trim_start();
        (token, after) = rest.split_once([' ', '\t'])?;
    }
    let time = token.strip_suffix(':').filter(|token| is_time(token))?;
    let mut rest = after.trim_start();
    // A period may stand before the event.
    if let Some((period, after)) = rest.split_once([' ', '\t'])
        && !period.is_empty()
        && period.bytes().all(|byte| byte.is_ascii_digit())
    {
        rest = after.trim_start();
    }
    let end = rest.find([' ', '\t']).unwrap_or(rest.len());
    let event = rest[..end].strip_suffix(':')?;
    let event = event.rsplit_once(':').map_or(event, |(_, event)| event);
    Some(After { in_interrupt, context, time, event, body: rest[end..].trim() })
}

/// Seconds with a fraction.
fn nanoseconds(text: &str) -> Option<u64> {
    let (seconds, fraction) = text.split_once('.')?;
    let mut ns: u64 = seconds.parse().ok()?;
    let digits = fraction.get(..9).unwrap_or(fraction);
    let part: u64 = digits.parse().ok()?;
    ns = ns.checked_mul(1_000_000_000)?;
    ns.checked_add(part * 10u64.pow(9 - digits.len() as u32))
}

/// The fields of an event that end in ` key=value`, taken from the right: names may hold anything.
struct Fields<'a> {
    event: &'a str,
    rest: &'a str,
}

impl<'a> Fields<'a> {
    /// Takes ` key=VALUE` off the end.
    fn last(&mut self, key: &str) -> Result<&'a str, String> {
        let pattern = format!("{key}=");
        let place = self
            .rest
            .rmatch_indices(&pattern)
            .map(|(place, _)| place)
            .find(|&place| place == 0 || self.rest.as_bytes()[place - 1] == b' ');
        let place = place.ok_or_else(|| format!("{}: there is no {key}= in it", self.event))?;
        let value = self.rest[place + pattern.len()..].trim_end();
        self.rest = self.rest[..place].trim_end();
        Ok(value)
    }

    fn number<T: std::str::FromStr>(&mut self, key: &str) -> Result<T, String> {
        let event = self.event;
        let value = self.last(key)?;
        value.parse().map_err(|_| format!("{event}: {key}={value}: it must be a number"))
    }

    /// Takes `PREFIXcomm= PREFIXpid= PREFIXprio=` off the end. None of a task without a number.
    fn who(&mut self, prefix: &str) -> Result<Option<Who<'a>>, String> {
        let prio = self.number(&format!("{prefix}prio"))?;
        let pid = self.number(&format!("{prefix}pid"))?;
        let comm = self.last(&format!("{prefix}comm"))?;
        checked(self.event, comm, pid, prio)
    }
}

/// A task; none if its number was lost.
fn checked<'a>(event: &str, comm: &'a str, pid: i64, prio: i32) -> Result<Option<Who<'a>>, String> {
    if pid > PID_MAX {
        return Err(format!("{event}: pid {pid}: the kernel gives numbers up to {PID_MAX}"));
    }
    let idle = pid == 0;
    let who = |pid: u32| Who { comm: if idle { Who::IDLE.comm } else { comm }, pid, prio };
    Ok(u32::try_from(pid).ok().map(who))
}

/// `comm:pid [prio]`, at the end of `text`, and what stands before the name's last colon is the
/// name.
fn short_who<'a>(event: &str, text: &'a str) -> Result<Option<Who<'a>>, String> {
    let wrong = || format!("{event}: \"{text}\" is not NAME:PID [PRIO]");
    let (name, prio) =
        text.trim().strip_suffix(']').and_then(|text| text.rsplit_once('[')).ok_or_else(wrong)?;
    let (comm, pid) = name.trim_end().rsplit_once(':').ok_or_else(wrong)?;
    let pid = pid.parse().map_err(|_| wrong())?;
    checked(event, comm.trim(), pid, prio.parse().map_err(|_| wrong())?)
}

/// What an event says, if it is one of the scheduler's that are known, and not of a task whose
/// number was lost.
fn tracepoint<'a>(head: &Head<'a>) -> Result<Option<Tracepoint<'a>>, String> {
    let Head { event, body, .. } = *head;
    let mut fields = Fields { event, rest: body };
    match event {
        "sched_switch" => switch(event, body),
        "sched_waking" | "sched_wakeup" | "sched_wakeup_new" => {
            let (task, target_cpu, success) = if body.contains("target_cpu=") {
                let target_cpu = fields.number("target_cpu")?;
                let success = !fields.rest.ends_with(" success=0");
                if body.contains(" success=") {
                    fields.last("success")?;
                }
                (fields.who("")?, target_cpu, success)
            } else {
                short_wakeup(event, body)?
            };
            Ok(task.filter(|_| success).map(|task| match event {
                "sched_waking" => Tracepoint::Waking { task, target_cpu },
                "sched_wakeup" => Tracepoint::Wakeup { task, target_cpu },
                _ => Tracepoint::WakeupNew { task, target_cpu },
            }))
        }
        "sched_migrate_task" if body.contains("dest_cpu=") => {
            let dest_cpu = fields.number("dest_cpu")?;
            let orig_cpu = fields.number("orig_cpu")?;
            let task = fields.who("")?;
            Ok(task.map(|task| Tracepoint::Migrate { task, orig_cpu, dest_cpu }))
        }
        "sched_process_fork" if body.contains("child_pid=") => {
            let pid = fields.number("child_pid")?;
            let child = checked(event, fields.last("child_comm")?, pid, 120)?;
            let pid = fields.number("pid")?;
            let parent = checked(event, fields.last("comm")?, pid, 120)?;
            let both = parent.zip(child);
            Ok(both.map(|(parent, child)| Tracepoint::Fork { parent, child }))
        }
        "sched_process_exec" if body.contains("old_pid=") => {
            fields.last("old_pid")?;
            let pid: i64 = fields.number("pid")?;
            let filename = fields.last("filename")?;
            let pid = checked(event, filename, pid, 120)?.map(|who| who.pid);
            Ok(pid.map(|pid| Tracepoint::Exec { filename, pid }))
        }
        "sched_process_exit" if body.contains("prio=") => {
            if body.contains(" group_dead=") {
                fields.last("group_dead")?;
            }
            Ok(fields.who("")?.map(|task| Tracepoint::Exit { task }))
        }
        "sched_stat_runtime" if body.contains("runtime=") => {
            if body.contains(" vruntime=") {
                fields.last("vruntime")?;
            }
            let value = fields.last("runtime")?.trim_end_matches("[ns]").trim();
            let runtime_ns = value
                .parse()
                .map_err(|_| format!("{event}: runtime={value}: it must be a number"))?;
            let pid = fields.number("pid")?;
            let task = checked(event, fields.last("comm")?, pid, 120)?;
            Ok(task.map(|task| Tracepoint::Runtime { task, runtime_ns }))
        }
        _ => Ok(None),
    }
}

/// The forms of `sched_switch`: with keys, and `NAME:PID [PRIO] STATE ==> NAME:PID [PRIO]`, in
/// which 2.6.32 has `task ` before it and the state in parentheses.
fn switch<'a>(event: &'a str, body: &'a str) -> Result<Option<Tracepoint<'a>>, String> {
    let state = |letters: &str| {
        let state = match letters.parse() {
            Ok(number) => State::of_number(number),
            Err(_) => State::of_letters(letters),
        };
        state.ok_or_else(|| format!("{event}: there is no state \"{letters}\""))
    };
    let both = |prev: Option<Who<'a>>, prev_state, next: Option<Who<'a>>| {
        let both = prev.zip(next);
        both.map(|(prev, next)| Tracepoint::Switch { prev, prev_state, next })
    };
    if body.starts_with("prev_comm=") {
        let mut fields = Fields { event, rest: body };
        let next = fields.who("next_")?;
        fields.rest = fields.rest.strip_suffix("==>").unwrap_or(fields.rest).trim_end();
        let prev_state = state(fields.last("prev_state")?)?;
        let prev = fields.who("prev_")?;
        return Ok(both(prev, prev_state, next));
    }
    let (left, right) =
        body.rsplit_once(" ==> ").ok_or_else(|| format!("{event}: there is no ==> in it"))?;
    let (prev, letters) = left
        .trim_end()
        .rsplit_once(' ')
        .ok_or_else(|| format!("{event}: there is no state before ==>"))?;
    let old = letters.strip_prefix('(').and_then(|letters| letters.strip_suffix(')'));
    let prev = if old.is_some() { prev.strip_prefix("task ").unwrap_or(prev) } else { prev };
    let prev_state = state(old.unwrap_or(letters))?;
    Ok(both(short_who(event, prev)?, prev_state, short_who(event, right)?))
}

/// `NAME:PID [PRIO] CPU:NNN`, with `success=1` in between in older kernels; or 2.6.32's `task
/// NAME:PID [PRIO] success=1 [NNN]`.
fn short_wakeup<'a>(event: &str, body: &'a str) -> Result<(Option<Who<'a>>, u32, bool), String> {
    let wrong = || format!("{event}: it says neither target_cpu=NNN nor CPU:NNN");
    let (mut text, cpu) = body.rsplit_once(' ').ok_or_else(wrong)?;
    let cpu = match cpu.strip_prefix("CPU:") {
        Some(cpu) => cpu,
        None => {
            text = text.strip_prefix("task ").unwrap_or(text);
            cpu.strip_prefix('[').and_then(|cpu| cpu.strip_suffix(']')).ok_or_else(wrong)?
        }
    };
    let cpu = cpu.parse().map_err(|_| wrong())?;
    let success = !text.ends_with(" success=0");
    let text = text.trim_end_matches(" success=0").trim_end_matches(" success=1");
    Ok((short_who(event, text)?, cpu, success))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(line: &str) -> (String, i64, u32, bool, u64) {
        let head = head(line).expect("it is well formed").expect("it is an event");
        (head.comm.into(), head.pid, head.cpu, head.in_interrupt, head.at_ns)
    }

    /// The heads that `spec` shows, of every tool.
    #[test]
    fn heads_of_all_tools_are_read() {
        let cases = [
            (
                "            bash-590     [001] d..2.  3497.517478: sched_wakeup_new: comm=b",
                ("bash", 590, 1, false, 3_497_517_478_000),
            ),
            (
                "odd (na-me) [7]-26001   [001] d.h2.  3497.521091: sched_switch: x",
                ("odd (na-me) [7]", 26001, 1, true, 3_497_521_091_000),
            ),
            (
                " kworker/R-rcu_g-4 [000] 0.000001: sched_switch: x",
                ("kworker/R-rcu_g", 4, 0, false, 1_000),
            ),
            (
                "   bash-590     (    590) [001] d... 1.5: sched_switch: x",
                ("bash", 590, 1, false, 1_500_000_000),
            ),
            (
                "   bash-590     (-------) [001] 1.5: sched_switch: x",
                ("bash", 590, 1, false, 1_500_000_000),
            ),
            (
                " qemu-system-x86  1726 [000]  3464.409876:       sched:sched_switch: prev",
                ("qemu-system-x86", 1726, 0, false, 3_464_409_876_000),
            ),
            (
                "my prog  17/18 [000]  1.000000001:  7  sched:sched_switch: prev",
                ("my prog", 18, 0, false, 1_000_000_001),
            ),
            (
                "     :-1    -1 [000]  1.000000001: sched:sched_switch: prev",
                (":-1", -1, 0, false, 1_000_000_001),
            ),
        ];
        for (line, (comm, pid, cpu, in_interrupt, at_ns)) in cases {
            assert_eq!(one(line), (comm.into(), pid, cpu, in_interrupt, at_ns), "{line}");
        }
        assert_eq!(head("# tracer: nop [000] 1.0: a: b"), Ok(None));
        assert_eq!(head("\tffffffff [unknown] (x)"), Ok(None));
        assert!(head("a-1 [000] 123456: sched_switch: x").is_err(), "a counter is no clock");
    }

    fn body<'a>(event: &'a str, body: &'a str) -> Option<Tracepoint<'a>> {
        let context = Context::Unknown;
        let head =
            Head { comm: "x", pid: 1, cpu: 0, in_interrupt: false, context, at_ns: 0, event, body };
        tracepoint(&head).unwrap_or_else(|error| panic!("{body}: {error}"))
    }

    #[test]
    fn bodies_of_all_releases_are_read() {
        let who = |comm, pid, prio| Who { comm, pid, prio };
        let switch = Some(Tracepoint::Switch {
            prev: who("a prev_pid=3", 10, 120),
            prev_state: State::Preempted,
            next: who("b", 11, -1),
        });
        let keyed = "prev_comm=a prev_pid=3 prev_pid=10 prev_prio=120 prev_state=R+ ==> \
                     next_comm=b next_pid=11 next_prio=-1";
        assert_eq!(body("sched_switch", keyed), switch);
        let raw = keyed.replace("R+ ==>", "256");
        assert_eq!(body("sched_switch", &raw), switch);
        let short = "kworker/u8:1:29 [120] R ==> swapper/0:0 [120]";
        let expected = Some(Tracepoint::Switch {
            prev: who("kworker/u8:1", 29, 120),
            prev_state: State::Runnable,
            next: Who::IDLE,
        });
        assert_eq!(body("sched_switch", short), expected);
        let old = "task kworker/u8:1:29 [120] (R) ==> swapper:0 [120]";
        assert_eq!(body("sched_switch", old), expected);
        let woken = Some(Tracepoint::Wakeup { task: who("a", 5, 98), target_cpu: 3 });
        for text in [
            "comm=a pid=5 prio=98 target_cpu=003",
            "comm=a pid=5 prio=98 success=1 target_cpu=003",
            "a:5 [98] CPU:003",
            "a:5 [98] success=1 CPU:003",
            "task a:5 [98] success=1 [003]",
        ] {
            assert_eq!(body("sched_wakeup", text), woken, "{text}");
        }
        assert_eq!(body("sched_wakeup", "comm=a pid=5 prio=98 success=0 target_cpu=003"), None);
        assert_eq!(body("sched_process_hang", "comm=a pid=5"), None);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let error = |text: &str| TextTrace::parse(text).expect_err("a fault").to_string();
        assert!(error("").contains("no scheduler events"));
        assert!(error("hello\nworld\n").contains("perf script"));
        let text = "\na 1 [000] 1.0: sched:sched_switch: prev_comm=a prev_pid=1\n";
        assert_eq!(error(text), "line 2: sched_switch: there is no next_prio= in it");
        let text = "a 1 [9999] 1.0: sched:sched_stat_runtime: comm=a pid=1 runtime=5 [ns]";
        assert!(error(text).contains("CPU 9999"));
        let text = "a 1 [000] 1.0: sched:sched_stat_runtime: comm=a pid=99999999 runtime=5 [ns]";
        assert!(error(text).contains("pid 99999999"));
    }
}
