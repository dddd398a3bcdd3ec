//! The list `actions` of golden schedules: changes to tasks and groups during the run.

use super::{GoldenGroup, ThreadNames, known, ns, owned, take_if};
use crate::cursor::Cursor;
use crate::diagnostic::Diagnostic;
use crate::rt_app::policy;
use schedlab_core::{CpuId, CpuSet, GroupId, Policy, Quota, SchedAttr, TaskId};
use schedlab_machine::Action;

/// Action from outside at the beginning of a nanosecond.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GoldenAction {
    /// Time, ns.
    pub at_ns: u64,
    /// Change.
    pub what: GoldenChange,
}

/// Change made by a [`GoldenAction`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GoldenChange {
    /// `renice`: set the nice value.
    Nice(TaskId, i32),
    /// `chrt`: set the policy and its priority, which is the nice value for fair policies.
    Policy(TaskId, Policy, i32),
    /// `taskset`: set the affinity.
    Affinity(TaskId, CpuSet),
    /// `slice`: set the slice request of an EEVDF task, ns; `0` is the default.
    Slice(TaskId, u64),
    /// `move`: set the group, by index among the file's groups; `None` is the root.
    Move(TaskId, Option<usize>),
    /// `group`: set the weight.
    Shares(usize, u64),
    /// `group`: set whether it is idle as a whole.
    Idle(usize, bool),
    /// `group`: set the limit.
    Quota(usize, Quota),
    /// `sysctl`: set a tunable.
    Tunable(String, i64),
}

impl GoldenChange {
    /// Returns the task that it changes, by index among the file's threads.
    pub fn task(&self) -> Option<TaskId> {
        match *self {
            GoldenChange::Nice(task, _)
            | GoldenChange::Policy(task, ..)
            | GoldenChange::Affinity(task, _)
            | GoldenChange::Slice(task, _)
            | GoldenChange::Move(task, _) => Some(task),
            GoldenChange::Shares(..)
            | GoldenChange::Idle(..)
            | GoldenChange::Quota(..)
            | GoldenChange::Tunable(..) => None,
        }
    }

    /// Returns the machine's action. `task` is the task and `attr` its attributes, if the change is
    /// about a task. `groups` are the scheduler's numbers of the file's groups.
    pub fn action(&self, task: TaskId, attr: SchedAttr, groups: &[GroupId]) -> Action {
        match *self {
            GoldenChange::Nice(_, nice) => {
                Action::SetAttr { task, attr: SchedAttr { nice, ..attr } }
            }
            GoldenChange::Policy(_, policy, priority) => {
                let (nice, rt_priority) = match policy.is_realtime() {
                    true => (attr.nice, priority as u32),
                    false => (priority, 0),
                };
                let attr = SchedAttr { policy, nice, rt_priority, ..attr };
                Action::SetScheduler { task, attr }
            }
            GoldenChange::Affinity(_, ref allowed) => {
                Action::SetAffinity { task, allowed: allowed.clone() }
            }
            GoldenChange::Slice(_, runtime_ns) => {
                Action::SetScheduler { task, attr: SchedAttr { runtime_ns, ..attr } }
            }
            GoldenChange::Move(_, group) => {
                Action::SetGroup { task, group: group.map_or(GroupId::ROOT, |group| groups[group]) }
            }
            GoldenChange::Shares(group, shares) => {
                Action::SetShares { group: groups[group], shares }
            }
            GoldenChange::Idle(group, idle) => Action::SetIdle { group: groups[group], idle },
            GoldenChange::Quota(group, quota) => Action::SetQuota { group: groups[group], quota },
            GoldenChange::Tunable(ref name, value) => {
                Action::SetTunable { name: name.clone(), value }
            }
        }
    }
}

/// Reads the list.
pub(super) fn read(
    actions: Cursor<'_>,
    cpus: u32,
    groups: &[GoldenGroup],
    threads: &mut ThreadNames,
) -> Result<Vec<GoldenAction>, Diagnostic> {
    let mut list: Vec<GoldenAction> = Vec::new();
    for item in actions.array()? {
        let action = actions.item(item);
        let [at, kind, rest @ ..] = action.array()? else {
            return Err(action.error("an action is [t_ns, what, ...]"));
        };
        let at_ns = ns(action.item(at))?;
        if list.last().is_some_and(|last| last.at_ns > at_ns) {
            return Err(action.item(at).error("it is earlier than the previous action"));
        }
        let kind_at = action.item(kind);
        let kind = kind_at.string()?;
        let rest: Vec<Cursor<'_>> = rest.iter().map(|value| action.item(value)).collect();
        let mut task = |at: Cursor<'_>| threads.find(at, at.string()?);
        let nice = |at: Cursor<'_>| Ok(at.integer("a nice value", -20..=19)? as i32);
        let changes = match (kind, &rest[..]) {
            ("renice", [who, value]) => vec![GoldenChange::Nice(task(*who)?, nice(*value)?)],
            ("chrt", [who, name, value]) => {
                let policy = policy(*name)?;
                if policy == Policy::Deadline {
                    return Err(name.error("SCHED_DEADLINE has no priority"));
                }
                let priority = match policy.is_realtime() {
                    true => value.integer("a real-time priority", 1..=99)? as i32,
                    false => nice(*value)?,
                };
                vec![GoldenChange::Policy(task(*who)?, policy, priority)]
            }
            ("taskset", [who, list]) => {
                let mut allowed = Vec::new();
                for cpu in list.array()? {
                    allowed.push(CpuId(list.item(cpu).small("a CPU's number", 0..=cpus - 1)?));
                }
                if allowed.is_empty() {
                    return Err(list.error("the list contains no CPU"));
                }
                vec![GoldenChange::Affinity(task(*who)?, CpuSet::from_cpus(allowed))]
            }
            ("slice", [who, us]) => {
                let us = us.integer("a whole number of us", 0..=i64::MAX / 1000)?;
                vec![GoldenChange::Slice(task(*who)?, us as u64 * 1000)]
            }
            ("move", [who, path]) => {
                let group = match path.string()? {
                    "" | "/" => None,
                    _ => Some(group_of(*path, groups)?),
                };
                vec![GoldenChange::Move(task(*who)?, group)]
            }
            ("sysctl", [name, value]) => {
                let value = value.integer("a whole number", i64::MIN..=i64::MAX)?;
                vec![GoldenChange::Tunable(owned(*name)?, value)]
            }
            ("group", [path, values]) => group_changes(group_of(*path, groups)?, *values)?,
            _ => {
                return Err(kind_at.error("unknown action, or wrong arguments").with_help(
                    "the actions are renice, chrt, taskset, slice, move (of a task), group and \
                     sysctl",
                ));
            }
        };
        list.extend(changes.into_iter().map(|what| GoldenAction { at_ns, what }));
    }
    Ok(list)
}

fn group_of(path: Cursor<'_>, groups: &[GoldenGroup]) -> Result<usize, Diagnostic> {
    let name = path.string()?;
    let found = groups.iter().position(|group| group.path == name);
    found.ok_or_else(|| path.error(format!("there is no group `{name}`")))
}

/// Returns the changes to a group, in the order of the keys.
fn group_changes(group: usize, values: Cursor<'_>) -> Result<Vec<GoldenChange>, Diagnostic> {
    known(values, &["shares", "idle", "quota_us", "period_us", "burst_us"])?;
    let mut changes = Vec::new();
    if let Some(shares) = take_if(values, "shares", |v| v.small("a weight", 0..=u32::MAX))? {
        changes.push(GoldenChange::Shares(group, shares.into()));
    }
    if let Some(idle) = take_if(values, "idle", flag)? {
        changes.push(GoldenChange::Idle(group, idle));
    }
    if let Some(quota) = quota(values)? {
        changes.push(GoldenChange::Quota(group, quota));
    }
    if changes.is_empty() {
        return Err(values.error("the action sets nothing"));
    }
    Ok(changes)
}

/// Reads `true`, `false`, 1 or 0.
pub(super) fn flag(cursor: Cursor<'_>) -> Result<bool, Diagnostic> {
    match cursor.boolean() {
        Ok(value) => Ok(value),
        Err(_) => Ok(cursor.small("true or false", 0..=1)? != 0),
    }
}

/// Reads `quota_us` (-1: no limit), `period_us` and `burst_us`, if there is a quota.
pub(super) fn quota(group: Cursor<'_>) -> Result<Option<Quota>, Diagnostic> {
    let us = |value: Cursor<'_>| value.integer("a whole number of us", 0..=i64::MAX / 1000);
    let Some(quota_us) = take_if(group, "quota_us", |value| {
        value.integer("a whole number of us, or -1: no limit", -1..=i64::MAX / 1000)
    })?
    else {
        return Ok(None);
    };
    Ok(Some(Quota {
        quota_us: (quota_us >= 0).then_some(quota_us as u64),
        period_us: take_if(group, "period_us", us)?.map_or(100_000, |us| us as u64),
        burst_us: take_if(group, "burst_us", us)?.map_or(0, |us| us as u64),
        phase_us: None,
    }))
}

/// Returns the list `timetable` as the text of a timetable, one item per line.
pub(super) fn lines(list: Cursor<'_>) -> Result<String, Diagnostic> {
    let mut text = String::new();
    for item in list.array()? {
        let line = owned(list.item(item))?;
        if line.contains('\n') {
            return Err(list.item(item).error("an item must not contain a line feed"));
        }
        text.push_str(&line);
        text.push('\n');
    }
    Ok(text)
}
