//! Ring buffers. The log reads their records immediately, so that they never fill up.

use crate::act::Act;
use crate::errno::{EAGAIN, EINVAL};
use crate::format::hex_digits;
use crate::map_def::MapKind;
use crate::memory::{self, address, place};
use crate::vm::{Fault, Outcome};

/// Size of the kernel's header before every record, bytes.
const HEADER: u64 = 8;

/// Reserves a zeroed record of `size` bytes and returns its address. `None` if the buffer is full
/// of records that have not been submitted.
pub(crate) fn reserve_record(act: &mut Act<'_>, map: usize, size: u64) -> Option<u64> {
    let most = u64::from(act.w.maps[map].def.max_entries);
    let of_map = act.w.reserved.values().filter(|(other, _)| *other == map);
    let used: u64 = of_map.map(|&(_, size)| u64::from(size).next_multiple_of(8) + HEADER).sum();
    let whole = size.next_multiple_of(8) + HEADER;
    if size == 0 || used + whole > most {
        return None;
    }
    // A record takes any free place: only the policy reads records here.
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

/// Logs the contents of a record as text.
pub(crate) fn log_record(act: &Act<'_>, map: usize, bytes: &[u8]) {
    let name = &act.w.maps[map].def.name;
    act.log_text("ringbuf", || format!("{name}: {} bytes {}", bytes.len(), hex_digits(bytes)), 0);
}

pub(crate) fn output(act: &mut Act<'_>, [map, data, size, flags, _]: [u64; 5]) -> Outcome {
    let map = act.map_of_kind(map, MapKind::Ringbuf)?;
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
    log_record(act, map, &bytes);
    Ok(0)
}

pub(crate) fn reserve(act: &mut Act<'_>, [map, size, flags, ..]: [u64; 5]) -> Outcome {
    let map = act.map_of_kind(map, MapKind::Ringbuf)?;
    if flags != 0 {
        return Ok(0);
    }
    act.w.maps[map].counts.updates += 1;
    Ok(reserve_record(act, map, size).unwrap_or(0))
}

fn give_up(act: &mut Act<'_>, at: u64) -> Result<(usize, u32), Box<Fault>> {
    let record = act.w.reserved.remove(&at);
    record.ok_or_else(|| Fault::new(format!("{at:#x} is not a reserved record")))
}

pub(crate) fn submit(act: &mut Act<'_>, [at, ..]: [u64; 5]) -> Outcome {
    let (map, size) = give_up(act, at)?;
    let bytes = act.w.vm.memory.slice(at, size as usize).map(<[u8]>::to_vec).unwrap_or_default();
    log_record(act, map, &bytes);
    Ok(0)
}

pub(crate) fn discard(act: &mut Act<'_>, [at, ..]: [u64; 5]) -> Outcome {
    give_up(act, at)?;
    Ok(0)
}

/// Implements `bpf_ringbuf_query`: no record waits to be read. Flag 1 requests the size.
pub(crate) fn query(act: &mut Act<'_>, [map, flags, ..]: [u64; 5]) -> Outcome {
    let map = act.map_of_kind(map, MapKind::Ringbuf)?;
    let size = u64::from(act.w.maps[map].def.max_entries);
    Ok(if flags == 1 { size } else { 0 })
}
