//! Selects tasks by name, number or descent, for reports, groups and changes.

use crate::program::{Program, Workload};
use crate::trace::Trace;
use schedlab_core::Policy;
use schedlab_core::cpu_set::parse_cpu_list;
use schedlab_workload::{close_names, timetable::matches};

const DESCENDANTS: &str = "descendants of ";

/// Returns for each task of `trace` whether `selection` selects it: names, patterns (`cc*`),
/// numbers and keys (`make.4711`) separated by commas, or `descendants of NAME`, which are the
/// tasks of that name and all tasks that they forked.
///
/// # Errors
/// No task has such a name.
pub fn tasks(trace: &Trace, selection: &str) -> Result<Vec<bool>, String> {
    let mut found = vec![false; trace.tasks.len()];
    for part in selection.split(',').map(str::trim) {
        let (name, with_children) = match part.strip_prefix(DESCENDANTS) {
            Some(name) => (name.trim(), true),
            None => (part, false),
        };
        let number: Option<u32> = name.parse().ok();
        let is_it = |task: &crate::trace::Task| {
            number == Some(task.pid) || matches(name, &task.name) || name == task.key()
        };
        let mut own: Vec<bool> = trace.tasks.iter().map(is_it).collect();
        if !own.contains(&true) {
            let mut names: Vec<&str> = trace.tasks.iter().map(|task| task.name.as_str()).collect();
            names.sort_unstable();
            names.dedup();
            let hint = match close_names(name, names.iter().copied()).as_slice() {
                [] => "`schedlab replay TRACE` lists them by name".into(),
                close => format!("did you mean {}?", close.join(" or ")),
            };
            return Err(format!("there is no task \"{name}\" in the trace; {hint}"));
        }
        if with_children {
            let mut children = vec![vec![]; own.len()];
            for (child, task) in trace.tasks.iter().enumerate() {
                if let Some(parent) = task.forked_by {
                    children[parent].push(child);
                }
            }
            let mut next: Vec<usize> = (0..own.len()).filter(|&at| own[at]).collect();
            while let Some(parent) = next.pop() {
                for child in std::mem::take(&mut children[parent]) {
                    own[child] = true;
                    next.push(child);
                }
            }
        }
        found.iter_mut().zip(own).for_each(|(all, own)| *all |= own);
    }
    Ok(found)
}

/// File that assigns the recorded tasks to groups.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GroupFile {
    /// Its lines about the groups themselves, as in `docs/groups.md`. The other lines are empty.
    pub settings: String,
    /// Members of groups: line number, tasks, group.
    pub members: Vec<(usize, String, String)>,
}

impl GroupFile {
    /// Parses the file. A line is a group with its settings (`/build cpu.weight=200`), an
    /// assignment (`descendants of make /build`), or a line of `grep . /proc/*/cgroup`.
    ///
    /// # Errors
    /// A line is none of these.
    pub fn parse(text: &str) -> Result<GroupFile, String> {
        let mut file = GroupFile::default();
        for (number, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
            let content = line.split_once('#').map_or(line, |(line, _)| line).trim();
            if let Some((pid, path)) = of_proc(content) {
                if let Some(path) = path {
                    file.members.push((number + 1, pid.into(), path.into()));
                }
            } else if content.starts_with('/') {
                file.settings.push_str(line);
            } else if !content.is_empty() {
                let both = content.rsplit_once(char::is_whitespace);
                let Some((selection, path)) = both.filter(|(_, path)| path.starts_with('/')) else {
                    return Err(format!(
                        "line {}: `{content}` is neither a group (`/build cpu.weight=200`) nor an \
                         assignment to one (`descendants of make /build`)",
                        number + 1
                    ));
                };
                file.members.push((number + 1, selection.trim().into(), path.into()));
            }
            file.settings.push('\n');
        }
        Ok(file)
    }
}

/// Parses a line of `grep . /proc/*/cgroup`. Returns the task and its group if the line is about
/// CPU time and the group is not the root.
fn of_proc(line: &str) -> Option<(&str, Option<&str>)> {
    let (pid, rest) = line.strip_prefix("/proc/")?.split_once("/cgroup:")?;
    pid.parse::<u32>().ok()?;
    let mut parts = rest.splitn(3, ':');
    let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
    let is_cpu = controllers.is_empty() || controllers.split(',').any(|it| it == "cpu");
    Some((pid, Some(path.trim()).filter(|path| is_cpu && *path != "/" && path.starts_with('/'))))
}

/// Assigns the tasks that `file` names to their groups. If several lines fit, the last one counts.
///
/// # Errors
/// If the file names a task that is not in the trace, unless by number: a snapshot may contain
/// tasks that the trace does not.
pub fn place(workload: &mut Workload, trace: &Trace, file: &GroupFile) -> Result<(), String> {
    for (line, selection, path) in &file.members {
        let found = match tasks(trace, selection) {
            Ok(found) => found,
            Err(_) if selection.parse::<u32>().is_ok() => continue,
            Err(message) => return Err(format!("line {line}: {message}")),
        };
        for program in workload.tasks.iter_mut().filter(|it| found[it.task as usize]) {
            program.set.taskgroup = Some(path.trim_end_matches('/').into());
        }
    }
    Ok(())
}

/// Changes tasks from their birth on: `nice make +10`, `renice hog 5`, `chrt hog fifo 10`, `taskset
/// descendants of make 0-1`, `move hog /batch`, `slice hog 3ms`. `autogroup off` moves the tasks of
/// all sessions to the root group.
///
/// # Errors
/// If the change cannot be parsed, or selects no task.
pub fn change(workload: &mut Workload, trace: &Trace, text: &str) -> Result<(), String> {
    const ACTIONS: &str = "nice TASKS +5, renice TASKS 5, chrt TASKS fifo 10, taskset TASKS 0-1, \
                           move TASKS /GROUP, slice TASKS 3ms, clock_read TASKS 20us, \
                           autogroup off, group /GROUP cpu.max=50000 100000";
    let wrong = |what: String| format!("--change '{text}': {what}");
    let (action, rest) = text
        .trim()
        .split_once(char::is_whitespace)
        .ok_or_else(|| wrong(format!("it must be one of {ACTIONS}")))?;
    if action == "autogroup" {
        if rest.trim() != "off" {
            return Err(wrong("it must be `autogroup off`".into()));
        }
        let in_session =
            |path: &mut String| path.starts_with(schedlab_workload::groups::autogroup::PREFIX);
        workload.tasks.iter_mut().for_each(|it| _ = it.set.taskgroup.take_if(in_session));
        return Ok(());
    }
    let mut words: Vec<&str> = rest.split_whitespace().collect();
    // A priority may follow the name of the policy.
    let policy = |word: &str| match word {
        "other" => Some(Policy::Other),
        "batch" => Some(Policy::Batch),
        "idle" => Some(Policy::Idle),
        "fifo" => Some(Policy::Fifo),
        "rr" => Some(Policy::RoundRobin),
        _ => None,
    };
    let last = words.pop().unwrap_or_default();
    let number = |word: &str, least: i32, most: i32| -> Result<i32, String> {
        let number: Option<i32> = word.strip_prefix('+').unwrap_or(word).parse().ok();
        number
            .filter(|it| (least..=most).contains(it))
            .ok_or_else(|| wrong(format!("`{word}` must be a whole number from {least} to {most}")))
    };
    let apply: Box<dyn Fn(&mut Program)> = match action {
        "nice" => {
            let by = number(last, -39, 39)?;
            Box::new(move |it| it.nice_by += by)
        }
        "renice" => {
            let nice = number(last, -20, 19)?;
            Box::new(move |it| it.set.priority = Some(nice))
        }
        "chrt" => {
            let (new, priority) = match policy(last) {
                Some(new) => (new, None),
                None => {
                    let name = words.pop().unwrap_or_default();
                    let new = policy(name).ok_or_else(|| {
                        wrong(format!("`{name} {last}`: policies are other, batch, idle, fifo, rr"))
                    })?;
                    if !new.is_realtime() {
                        return Err(wrong(format!("{name} takes no priority")));
                    }
                    (new, Some(number(last, 1, 99)?))
                }
            };
            Box::new(move |it| {
                let nice = (it.prio - 120).clamp(-20, 19);
                it.set.policy = Some(new);
                it.set.priority = if new.is_realtime() {
                    Some(priority.unwrap_or(10))
                } else {
                    Some(it.set.priority.unwrap_or(if it.prio < 100 { 0 } else { nice }))
                };
            })
        }
        "taskset" => {
            let cpus = cpu_list(last).ok_or_else(|| {
                wrong(format!("`{last}` is not a list of CPUs, such as `4`, `4-11` or `0-3,8`"))
            })?;
            Box::new(move |it| it.set.cpus = Some(cpus.clone()))
        }
        "move" => {
            if words.last() == Some(&"to") {
                words.pop();
            }
            if !last.starts_with('/') {
                return Err(wrong(format!("`{last}` is not a group: a path begins with `/`")));
            }
            let path = last.trim_end_matches('/').to_string();
            Box::new(move |it| it.set.taskgroup = Some(path.clone()))
        }
        "slice" => {
            let us = slice_us(last).ok_or_else(|| {
                wrong(format!("`{last}` is not the length of a slice, such as `3ms` or `700us`"))
            })?;
            Box::new(move |it| it.set.slice_us = Some(us))
        }
        "clock_read" => {
            let us = slice_us(last).unwrap_or_else(|| {
                words.push(last);
                CLOCK_READ_US
            });
            Box::new(move |it| it.set.clock_read_us = Some(us))
        }
        _ => return Err(wrong(format!("unknown change `{action}`: it must be one of {ACTIONS}"))),
    };
    if words.is_empty() {
        return Err(wrong(
            "the tasks are missing: give a name, a number or `descendants of NAME`".into(),
        ));
    }
    let found = tasks(trace, &words.join(" ")).map_err(wrong)?;
    workload.tasks.iter_mut().filter(|it| found[it.task as usize]).for_each(apply);
    Ok(())
}

/// Parses `4`, `4-11` or `0-3,8`, without blanks.
pub(crate) fn cpu_list(text: &str) -> Option<Vec<u32>> {
    if text.contains(char::is_whitespace) { None } else { parse_cpu_list(text) }
}

/// CPU time between two readings of a thread's CPU clock where none is stated, µs.
const CLOCK_READ_US: u64 = 20;

fn slice_us(text: &str) -> Option<u64> {
    let (digits, factor) = match text.strip_suffix("ms") {
        Some(digits) => (digits, 1000.0),
        None => (text.strip_suffix("us")?, 1.0),
    };
    let us: f64 = digits.parse().ok()?;
    let us = us * factor;
    (1.0..1e12).contains(&us).then_some(us as u64)
}

/// Pins kernel threads of one CPU (`ksoftirqd/1`) to that CPU, on a machine that has it.
pub fn pin(workload: &mut Workload, trace: &Trace, cpus: u32) {
    for program in &mut workload.tasks {
        let task = &trace.tasks[program.task as usize];
        let number = task.name.rsplit_once('/').and_then(|(_, rest)| rest.parse::<u32>().ok());
        if let Some(cpu) = number.filter(|&cpu| task.is_kernel && cpu < cpus && cpus > 1) {
            program.set.cpus.get_or_insert(vec![cpu]);
        }
    }
}
