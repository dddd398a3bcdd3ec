//! Memory that is no table: arenas and ring buffers.
//!
//! An arena's pages lie in one region, in which the arena of an object (it can have one) begins at
//! its second page, so that no address of it has a low half of 0. Pages that are free are no
//! memory in the kernel and zeroed memory here, as far as they were ever taken.
//!
//! Ring buffers are emptied at once, by whoever keeps the log: they are never full for long.

use crate::log::digits;
use crate::map_def::MapKind;
use crate::maps::{EINVAL, ENOENT};
use crate::memory::{self, address, place};
use crate::object::map_number;
use crate::vm::{Fault, Outcome};
use crate::world::Act;
use std::collections::BTreeMap;

/// The size of a page, bytes.
pub const PAGE: u32 = 4096;

/// In front of every record the kernel has a header of so many bytes.
const HEADER: u64 = 8;

/// `-EAGAIN`.
const EAGAIN: i64 = -11;

/// Pages of the arena that are taken.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Arena {
    taken: Vec<bool>,
}

impl Arena {
    /// An arena whose first pages hold `bytes` bytes of variables.
    pub fn with(bytes: usize) -> Arena {
        Arena { taken: vec![true; bytes.div_ceil(PAGE as usize)] }
    }

    /// The first of `count` pages beside each other that are free, of `most`.
    fn find(&self, count: usize, most: usize) -> Option<usize> {
        let mut free = 0;
        for page in 0..most {
            let is_taken = self.taken.get(page).copied().unwrap_or(false);
            free = if is_taken { 0 } else { free + 1 };
            if free == count {
                return Some(page + 1 - count);
            }
        }
        None
    }
}

/// Records that were reserved: the map, and their size.
pub type Reserved = BTreeMap<u64, (usize, u32)>;

pub(crate) fn area(act: &Act<'_>, handle: u64, kind: MapKind) -> Result<usize, Box<Fault>> {
    let map = map_number(handle)
        .filter(|&map| act.w.maps.get(map).is_some_and(|map| map.def.kind == kind));
    map.ok_or_else(|| Fault::new(format!("{handle:#x} is no map of kind {}", kind.name())))
}

pub(crate) fn arena_alloc(act: &mut Act<'_>, [map, _, pages, ..]: [u64; 5]) -> Outcome {
    let map = area(act, map, MapKind::Arena)?;
    let count = pages as u32 as usize;
    let most = act.w.maps[map].def.max_entries as usize;
    if count == 0 || count > most {
        return Ok(0);
    }
    let Some(first) = act.w.arena.find(count, most) else { return Ok(0) };
    let end = first + count;
    if act.w.arena.taken.len() < end {
        act.w.arena.taken.resize(end, false);
    }
    act.w.arena.taken[first..end].fill(true);
    let page = PAGE as usize;
    // Behind the page that is never given.
    act.w.vm.memory.grow(memory::ARENA, (end + 1) * page);
    let at = address(memory::ARENA, ((first + 1) * page) as u32);
    if let Some(place) = act.w.vm.memory.slice_mut(at, count * page) {
        place.fill(0);
    }
    Ok(at)
}

pub(crate) fn arena_free(act: &mut Act<'_>, [map, at, pages, ..]: [u64; 5]) -> Outcome {
    area(act, map, MapKind::Arena)?;
    let first = (at as u32 / PAGE) as usize;
    if first > 0 && (at as u32).is_multiple_of(PAGE) {
        let freed = act.w.arena.taken.iter_mut().skip(first - 1).take(pages as u32 as usize);
        freed.for_each(|taken| *taken = false);
    }
    Ok(0)
}

/// A record of so many bytes, zeroed; none if the buffer is full of records that are not ready.
pub(crate) fn reserve(act: &mut Act<'_>, map: usize, size: u64) -> Option<u64> {
    let most = u64::from(act.w.maps[map].def.max_entries);
    let of_map = act.w.reserved.values().filter(|(other, _)| *other == map);
    let used: u64 = of_map.map(|&(_, size)| u64::from(size).next_multiple_of(8) + HEADER).sum();
    let whole = size.next_multiple_of(8) + HEADER;
    if size == 0 || used + whole > most {
        return None;
    }
    // Records lie where there is room: nobody but the policy looks at them here.
    let mut start = 0;
    for (&at, &(_, size)) in &act.w.reserved {
        let (_, offset) = place(at);
        if start + whole <= u64::from(offset) {
            break;
        }
        start = u64::from(offset) + u64::from(size).next_multiple_of(8);
    }
    let end = usize::try_from(start + whole).ok()?;
    act.w.vm.memory.grow(memory::RINGS, end);
    let at = address(memory::RINGS, u32::try_from(start).ok()?);
    if let Some(place) = act.w.vm.memory.slice_mut(at, whole as usize) {
        place.fill(0);
    }
    act.w.reserved.insert(at, (map, size as u32));
    Some(at)
}

/// What stands in a record is told, as text.
pub(crate) fn written(act: &Act<'_>, map: usize, bytes: &[u8]) {
    let name = &act.w.maps[map].def.name;
    act.log_text("ringbuf", || format!("{name}: {} bytes {}", bytes.len(), digits(bytes)), 0);
}

pub(crate) fn ringbuf_output(act: &mut Act<'_>, [map, data, size, flags, _]: [u64; 5]) -> Outcome {
    let map = area(act, map, MapKind::Ringbuf)?;
    if flags & !3 != 0 {
        return Ok(EINVAL as u64);
    }
    if size + HEADER > u64::from(act.w.maps[map].def.max_entries) {
        return Ok(EAGAIN as u64);
    }
    let Some(bytes) = act.w.vm.memory.slice(data, size as usize).map(<[u8]>::to_vec) else {
        return Err(Fault::new(format!(
            "the record of {size} bytes at {data:#x} is not in memory"
        )));
    };
    act.w.maps[map].counts.updates += 1;
    written(act, map, &bytes);
    Ok(0)
}

pub(crate) fn ringbuf_reserve(act: &mut Act<'_>, [map, size, flags, ..]: [u64; 5]) -> Outcome {
    let map = area(act, map, MapKind::Ringbuf)?;
    if flags != 0 {
        return Ok(0);
    }
    act.w.maps[map].counts.updates += 1;
    Ok(reserve(act, map, size).unwrap_or(0))
}

fn give_up(act: &mut Act<'_>, at: u64) -> Result<(usize, u32), Box<Fault>> {
    let record = act.w.reserved.remove(&at);
    record.ok_or_else(|| Fault::new(format!("{at:#x} is no record that was reserved")))
}

pub(crate) fn ringbuf_submit(act: &mut Act<'_>, [at, ..]: [u64; 5]) -> Outcome {
    let (map, size) = give_up(act, at)?;
    let bytes = act.w.vm.memory.slice(at, size as usize).map(<[u8]>::to_vec).unwrap_or_default();
    written(act, map, &bytes);
    Ok(0)
}

pub(crate) fn ringbuf_discard(act: &mut Act<'_>, [at, ..]: [u64; 5]) -> Outcome {
    give_up(act, at)?;
    Ok(0)
}

/// Nothing waits to be read; flag 1 asks for the size.
pub(crate) fn ringbuf_query(act: &mut Act<'_>, [map, flags, ..]: [u64; 5]) -> Outcome {
    let map = area(act, map, MapKind::Ringbuf)?;
    let size = u64::from(act.w.maps[map].def.max_entries);
    Ok(if flags == 1 { size } else { 0 })
}

/// The iterators over groups and tasks are walks through lists that were made when they began.
fn iter_begin(act: &mut Act<'_>, it: u64, mut list: Vec<u64>) -> Outcome {
    list.reverse();
    act.w.lists.insert(it, list);
    Ok(0)
}

pub(crate) fn iter_next(act: &mut Act<'_>, [it, ..]: [u64; 5]) -> Outcome {
    Ok(act.w.lists.get_mut(&it).and_then(Vec::pop).unwrap_or(0))
}

pub(crate) fn iter_destroy(act: &mut Act<'_>, [it, ..]: [u64; 5]) -> Outcome {
    act.w.lists.remove(&it);
    Ok(0)
}

/// `BPF_CGROUP_ITER_*`: the group alone, those below it before or after those above them, those
/// above it, its children.
pub(crate) fn css_iter_new(act: &mut Act<'_>, [it, start, flags, ..]: [u64; 5]) -> Outcome {
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
    iter_begin(act, it, list)
}

fn children(act: &Act<'_>, of: u32) -> Vec<u32> {
    let groups = act.w.groups.iter().enumerate().skip(1);
    groups.filter(|(_, group)| group.parent == of).map(|(number, _)| number as u32).collect()
}

/// All below a group and itself. Groups are not nested deeper than the machine allows.
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

/// `BPF_TASK_ITER_*`: all processes, all threads, the threads of one process.
pub(crate) fn task_iter_new(act: &mut Act<'_>, [it, of, flags, ..]: [u64; 5]) -> Outcome {
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
    iter_begin(act, it, list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_given_where_enough_of_them_are_free() {
        let mut arena = Arena::with(5000);
        assert_eq!(arena.taken, [true, true], "variables come first");
        assert_eq!(arena.find(1, 10), Some(2));
        arena.taken = vec![true, false, true, false, false, true];
        assert_eq!(arena.find(1, 10), Some(1));
        assert_eq!(arena.find(2, 10), Some(3));
        assert_eq!(arena.find(3, 10), Some(6));
        assert_eq!(arena.find(3, 8), None);
    }
}
