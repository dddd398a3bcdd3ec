//! Dynptrs: memory whose size is known only at run time, and records that user space writes.
//!
//! A dynptr is two words that are opaque to the program. Here the first word is the address of the
//! memory, and the second is its size, with flags in the highest bits.

use crate::act::Act;
use crate::errno::{E2BIG, EBUSY, EINVAL};
use crate::map_def::MapKind;
use crate::memory::{address, code_number};
use crate::ringbuf::{log_record, reserve_record};
use crate::vm::{Fault, Outcome};

/// Size of a dynptr, bytes.
const SIZE: u64 = 16;

/// Flag: the memory is read-only.
const READ_ONLY: u64 = 1 << 63;

/// Flag: the memory is a record of a ring buffer.
const RECORD: u64 = 1 << 62;

/// Maximum size of the memory, bytes.
const SIZE_MAX: u64 = (1 << 24) - 1;

/// Maximum number of records read in one call.
const RECORDS_MAX: u64 = 128 * 1024;

/// Contents of a dynptr.
#[derive(Clone, Copy)]
struct Dynptr {
    at: u64,
    size: u64,
    flags: u64,
}

fn load(act: &Act<'_>, from: u64) -> Result<Dynptr, Box<Fault>> {
    let (at, word) = (act.w.vm.memory.load(from, 8), act.w.vm.memory.load(from + 8, 8));
    let (Some(at), Some(word)) = (at, word) else {
        return Err(Fault::new(format!("a dynptr at {from:#x} is not in memory")));
    };
    Ok(Dynptr { at, size: word & SIZE_MAX, flags: word & (READ_ONLY | RECORD) })
}

/// Writes a dynptr for a program. An `at` of 0 makes it null.
fn store(act: &mut Act<'_>, to: u64, dynptr: Dynptr) -> Result<(), Box<Fault>> {
    let Dynptr { at, size, flags } = dynptr;
    let memory = &mut act.w.vm.memory;
    match memory.store(to, 8, at).and_then(|()| memory.store(to + 8, 8, size | flags)) {
        Ok(()) => Ok(()),
        Err(_) => Err(Fault::new(format!("{to:#x} is not writable memory for a dynptr"))),
    }
}

const NONE: Dynptr = Dynptr { at: 0, size: 0, flags: 0 };

/// Returns the address of `len` bytes of a dynptr, or the error that the kernel would return.
fn part(dynptr: Dynptr, offset: u64, len: u64) -> Result<u64, i64> {
    let (offset, len) = (u64::from(offset as u32), u64::from(len as u32));
    match dynptr {
        Dynptr { at: 0, .. } => Err(EINVAL),
        Dynptr { size, .. } if offset + len > size => Err(E2BIG),
        Dynptr { at, .. } => Ok(at + offset),
    }
}

pub(crate) fn from_mem(act: &mut Act<'_>, [data, size, flags, to, _]: [u64; 5]) -> Outcome {
    let size = u64::from(size as u32);
    let result = match flags {
        0 if size > SIZE_MAX => E2BIG,
        0 => 0,
        _ => EINVAL,
    };
    if result == 0 && act.w.vm.memory.slice(data, size as usize).is_none() {
        return Err(Fault::new(format!("{size} bytes at {data:#x} are not in memory")));
    }
    store(act, to, if result == 0 { Dynptr { at: data, size, flags: 0 } } else { NONE })?;
    Ok(result as u64)
}

pub(crate) fn ringbuf_reserve(act: &mut Act<'_>, [map, size, flags, to, _]: [u64; 5]) -> Outcome {
    let map = act.map_of_kind(map, MapKind::Ringbuf)?;
    let size = u64::from(size as u32);
    let at = match flags {
        0 if size <= SIZE_MAX => reserve_record(act, map, size),
        _ => None,
    };
    act.w.maps[map].counts.updates += 1;
    store(act, to, at.map_or(NONE, |at| Dynptr { at, size, flags: RECORD }))?;
    Ok(if at.is_some() { 0 } else { EINVAL as u64 })
}

/// Submits or discards a record.
fn finish(act: &mut Act<'_>, from: u64, is_ready: bool) -> Outcome {
    let dynptr = load(act, from)?;
    if dynptr.at == 0 {
        return Ok(0);
    }
    let Some((map, size)) = act.w.reserved.remove(&dynptr.at) else {
        return Err(Fault::new(format!("{:#x} is not a reserved record", dynptr.at)));
    };
    if is_ready {
        let bytes = act.w.vm.memory.slice(dynptr.at, size as usize).map(<[u8]>::to_vec);
        log_record(act, map, &bytes.unwrap_or_default());
    }
    store(act, from, NONE)?;
    Ok(0)
}

pub(crate) fn ringbuf_submit(act: &mut Act<'_>, [from, ..]: [u64; 5]) -> Outcome {
    finish(act, from, true)
}

pub(crate) fn ringbuf_discard(act: &mut Act<'_>, [from, ..]: [u64; 5]) -> Outcome {
    finish(act, from, false)
}

/// Copies bytes within memory to a place to which the program may write.
fn copy(act: &mut Act<'_>, from: u64, to: u64, len: u64) -> Outcome {
    let len = len as u32 as usize;
    let memory = &mut act.w.vm.memory;
    let Some(bytes) = memory.slice(from, len).map(<[u8]>::to_vec) else {
        return Err(Fault::new(format!("{len} bytes at {from:#x} are not in memory")));
    };
    if memory.check_store(to, len).is_err() {
        return Err(Fault::new(format!("{len} bytes at {to:#x} are not writable memory")));
    }
    if let Some(place) = memory.slice_mut(to, len) {
        place.copy_from_slice(&bytes);
    }
    Ok(0)
}

pub(crate) fn read(act: &mut Act<'_>, [to, len, from, offset, flags]: [u64; 5]) -> Outcome {
    let dynptr = load(act, from)?;
    match part(dynptr, offset, len) {
        _ if flags != 0 => Ok(EINVAL as u64),
        Ok(at) => copy(act, at, to, len),
        Err(error) => Ok(error as u64),
    }
}

pub(crate) fn write(act: &mut Act<'_>, [to, offset, from, len, flags]: [u64; 5]) -> Outcome {
    let dynptr = load(act, to)?;
    match part(dynptr, offset, len) {
        _ if flags != 0 || dynptr.flags & READ_ONLY != 0 => Ok(EINVAL as u64),
        Ok(at) => copy(act, from, at, len),
        Err(error) => Ok(error as u64),
    }
}

pub(crate) fn data(act: &mut Act<'_>, [from, offset, len, ..]: [u64; 5]) -> Outcome {
    let dynptr = load(act, from)?;
    Ok(match dynptr.flags & READ_ONLY {
        0 => part(dynptr, offset, len).unwrap_or(0),
        _ => 0,
    })
}

/// Implements `bpf_dynptr_slice`: like [`data`], but also for read-only memory. The program's
/// buffer is not needed, since the memory is contiguous.
pub(crate) fn slice(act: &mut Act<'_>, [from, offset, _, len, _]: [u64; 5]) -> Outcome {
    Ok(part(load(act, from)?, offset, len).unwrap_or(0))
}

/// Implements `bpf_dynptr_slice_rdwr`.
pub(crate) fn slice_rdwr(act: &mut Act<'_>, [from, offset, _, len, _]: [u64; 5]) -> Outcome {
    data(act, [from, offset, len, 0, 0])
}

pub(crate) fn size(act: &mut Act<'_>, [from, ..]: [u64; 5]) -> Outcome {
    let dynptr = load(act, from)?;
    Ok(if dynptr.at == 0 { EINVAL as u64 } else { dynptr.size })
}

pub(crate) fn is_null(act: &mut Act<'_>, [from, ..]: [u64; 5]) -> Outcome {
    Ok(u64::from(load(act, from)?.at == 0))
}

pub(crate) fn is_rdonly(act: &mut Act<'_>, [from, ..]: [u64; 5]) -> Outcome {
    let dynptr = load(act, from)?;
    Ok(u64::from(dynptr.at != 0 && dynptr.flags & READ_ONLY != 0))
}

/// Calls a function for each record that user space has written.
pub(crate) fn user_ringbuf_drain(
    act: &mut Act<'_>,
    [map, callback, context, flags, _]: [u64; 5],
) -> Outcome {
    let map = act.map_of_kind(map, MapKind::UserRingbuf)?;
    let Some(callback) = code_number(callback) else {
        return Err(Fault::new(format!("{callback:#x} is not a function")));
    };
    if flags & !3 != 0 {
        return Ok(EINVAL as u64);
    }
    if act.w.user.is_draining {
        return Ok(EBUSY as u64);
    }
    act.w.user.is_draining = true;
    let drained = drain(act, map, callback, context);
    act.w.user.is_draining = false;
    drained
}

fn drain(act: &mut Act<'_>, map: usize, callback: usize, context: u64) -> Outcome {
    let mut count = 0;
    while count < RECORDS_MAX {
        let Some(record) = act.w.user.records.get_mut(&map).and_then(|all| all.pop_front()) else {
            break;
        };
        count += 1;
        // The dynptr is stored directly before the record.
        let dynptr = address(act.w.user.record, 0);
        let at = dynptr + SIZE;
        act.w.vm.memory.grow(act.w.user.record, SIZE as usize + record.len());
        act.w.vm.memory.write(dynptr, 8, at);
        act.w.vm.memory.write(dynptr + 8, 8, record.len() as u64 | READ_ONLY);
        if let Some(place) = act.w.vm.memory.slice_mut(at, record.len()) {
            place.copy_from_slice(&record);
        }
        act.w.vm.spend(1)?;
        if act.run(callback, [dynptr, context, 0, 0, 0])? != 0 {
            break;
        }
    }
    Ok(count)
}
