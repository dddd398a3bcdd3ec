//! Iterators over groups and tasks.

use crate::act::Act;
use crate::errno::{EINVAL, ENOENT};
use crate::vm::Outcome;

/// Begins an iteration. Iterators walk through lists that are made when they begin.
fn begin(act: &mut Act<'_>, it: u64, mut list: Vec<u64>) -> Outcome {
    list.reverse();
    act.w.lists.insert(it, list);
    Ok(0)
}

pub(super) fn next(act: &mut Act<'_>, [it, ..]: [u64; 5]) -> Outcome {
    Ok(act.w.lists.get_mut(&it).and_then(Vec::pop).unwrap_or(0))
}

pub(super) fn destroy(act: &mut Act<'_>, [it, ..]: [u64; 5]) -> Outcome {
    act.w.lists.remove(&it);
    Ok(0)
}

/// Implements `BPF_CGROUP_ITER_*`: the group alone; its descendants, after or before their
/// ancestors; its ancestors; its children.
pub(super) fn css_new(act: &mut Act<'_>, [it, start, flags, ..]: [u64; 5]) -> Outcome {
    // The state of the controller is the first member of a group.
    let Some(start) = act.w.group_at(start) else {
        act.w.lists.remove(&it);
        return Ok(ENOENT as u64);
    };
    let mut list = vec![];
    match flags {
        1 => list.push(start),
        2 | 3 => below(act, start, flags == 3, &mut list),
        4 => {
            let mut group = start;
            loop {
                list.push(group);
                if group == 0 {
                    break;
                }
                group = act.w.groups[group as usize].parent;
            }
        }
        5 => list.extend(children(act, start)),
        _ => {
            act.w.lists.remove(&it);
            return Ok(EINVAL as u64);
        }
    }
    let list = list.into_iter().map(|group| act.w.cgroup(group)).collect();
    begin(act, it, list)
}

fn children(act: &Act<'_>, of: u32) -> Vec<u32> {
    let groups = act.w.groups.iter().enumerate().skip(1);
    groups.filter(|(_, group)| group.parent == of).map(|(number, _)| number as u32).collect()
}

/// Lists a group and its descendants. Groups are not nested deeper than the machine allows.
fn below(act: &Act<'_>, group: u32, children_first: bool, list: &mut Vec<u32>) {
    if !children_first {
        list.push(group);
    }
    for child in children(act, group) {
        below(act, child, children_first, list);
    }
    if children_first {
        list.push(group);
    }
}

/// Implements `BPF_TASK_ITER_*`: all processes, all threads, the threads of one process.
pub(super) fn task_new(act: &mut Act<'_>, [it, of, flags, ..]: [u64; 5]) -> Outcome {
    let tgid = |act: &Act<'_>, row| act.w.vm.memory.u32(act.w.task_field(row, "tgid"));
    let all = act.w.nr_cpus()..act.w.tasks.len() as u32;
    let alive: Vec<u32> = all.filter(|&row| act.w.tasks[row as usize].is_alive).collect();
    let mut seen = std::collections::BTreeSet::new();
    let chosen: Vec<u32> = match flags {
        0 => alive.into_iter().filter(|&row| seen.insert(tgid(act, row))).collect(),
        1 => alive,
        2 => {
            let Some(of) = act.w.task_at(of).map(|row| tgid(act, row)) else {
                act.w.lists.remove(&it);
                return Ok(EINVAL as u64);
            };
            alive.into_iter().filter(|&row| tgid(act, row) == of).collect()
        }
        _ => {
            act.w.lists.remove(&it);
            return Ok(EINVAL as u64);
        }
    };
    let list = chosen.into_iter().map(|row| act.w.task_address(row)).collect();
    begin(act, it, list)
}
