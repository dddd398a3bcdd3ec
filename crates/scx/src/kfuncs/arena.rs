//! Allocation of arena pages.

use crate::act::Act;
use crate::arena::PAGE;
use crate::map_def::MapKind;
use crate::memory::{self, address};
use crate::vm::Outcome;

pub(super) fn alloc_pages(act: &mut Act<'_>, [map, _, pages, ..]: [u64; 5]) -> Outcome {
    let map = act.map_of_kind(map, MapKind::Arena)?;
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
    // The first page is never allocated.
    act.w.vm.memory.grow(memory::ARENA, (end + 1) * page);
    let at = address(memory::ARENA, ((first + 1) * page) as u32);
    if let Some(place) = act.w.vm.memory.slice_mut(at, count * page) {
        place.fill(0);
    }
    Ok(at)
}

pub(super) fn free_pages(act: &mut Act<'_>, [map, at, pages, ..]: [u64; 5]) -> Outcome {
    act.map_of_kind(map, MapKind::Arena)?;
    let first = (at as u32 / PAGE) as usize;
    if first > 0 && (at as u32).is_multiple_of(PAGE) {
        let freed = act.w.arena.taken.iter_mut().skip(first - 1).take(pages as u32 as usize);
        freed.for_each(|taken| *taken = false);
    }
    Ok(0)
}
