//! Definitions of maps in the section `.maps`.
//!
//! A definition is a structure. Its members `type`, `max_entries` and `map_flags` are pointers to
//! arrays whose *length* is the number; `key` and `value` are pointers to the type. In objects that
//! were not linked, the section's own table states offset 0 for every map, so that the offset is
//! taken from the map's symbol.

use crate::btf::{Btf, Kind};
use crate::elf::Elf;
use crate::error::ObjectError;

/// Kind of a map (`BPF_MAP_TYPE_*`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MapKind {
    /// `HASH`.
    Hash,
    /// `ARRAY`.
    Array,
    /// `PERF_EVENT_ARRAY`.
    PerfEventArray,
    /// `PERCPU_HASH`.
    PercpuHash,
    /// `PERCPU_ARRAY`.
    PercpuArray,
    /// `LRU_HASH`.
    LruHash,
    /// `LRU_PERCPU_HASH`.
    LruPercpuHash,
    /// `ARRAY_OF_MAPS`.
    ArrayOfMaps,
    /// `HASH_OF_MAPS`.
    HashOfMaps,
    /// `QUEUE`.
    Queue,
    /// `STACK`.
    Stack,
    /// `TASK_STORAGE`.
    TaskStorage,
    /// `CGRP_STORAGE`.
    CgrpStorage,
    /// `RINGBUF`.
    Ringbuf,
    /// `USER_RINGBUF`: written by a scripted user half.
    UserRingbuf,
    /// `ARENA`.
    Arena,
}

/// Numbers and names of the kinds.
const KINDS: &[(u32, MapKind, &str)] = &[
    (1, MapKind::Hash, "HASH"),
    (2, MapKind::Array, "ARRAY"),
    (4, MapKind::PerfEventArray, "PERF_EVENT_ARRAY"),
    (5, MapKind::PercpuHash, "PERCPU_HASH"),
    (6, MapKind::PercpuArray, "PERCPU_ARRAY"),
    (9, MapKind::LruHash, "LRU_HASH"),
    (10, MapKind::LruPercpuHash, "LRU_PERCPU_HASH"),
    (12, MapKind::ArrayOfMaps, "ARRAY_OF_MAPS"),
    (13, MapKind::HashOfMaps, "HASH_OF_MAPS"),
    (22, MapKind::Queue, "QUEUE"),
    (23, MapKind::Stack, "STACK"),
    (29, MapKind::TaskStorage, "TASK_STORAGE"),
    (27, MapKind::Ringbuf, "RINGBUF"),
    (31, MapKind::UserRingbuf, "USER_RINGBUF"),
    (32, MapKind::CgrpStorage, "CGRP_STORAGE"),
    (33, MapKind::Arena, "ARENA"),
];

/// Kinds that are known by name but not emulated.
const NOT_EMULATED: &[(u32, &str)] =
    &[(3, "PROG_ARRAY"), (7, "STACK_TRACE"), (11, "LPM_TRIE"), (30, "BLOOM_FILTER")];

/// Maximum size of a key or a value, bytes.
const SIZE_MAX: u32 = 1 << 20;

/// Maximum size of all entries of a map together, bytes.
pub(crate) const TOTAL_MAX: u64 = 1 << 30;

impl MapKind {
    /// Returns its name without `BPF_MAP_TYPE_`.
    pub fn name(self) -> &'static str {
        KINDS.iter().find(|(_, kind, _)| *kind == self).map_or("?", |row| row.2)
    }

    /// Whether values are found by arbitrary keys.
    pub fn is_hash(self) -> bool {
        self.is_lru() || matches!(self, MapKind::Hash | MapKind::PercpuHash | MapKind::HashOfMaps)
    }

    /// Whether each CPU has its own values.
    pub fn is_percpu(self) -> bool {
        matches!(self, MapKind::PercpuHash | MapKind::LruPercpuHash | MapKind::PercpuArray)
    }

    /// Whether a full map evicts the least recently written entry.
    pub fn is_lru(self) -> bool {
        matches!(self, MapKind::LruHash | MapKind::LruPercpuHash)
    }

    /// Whether it has no entries with keys.
    pub fn is_area(self) -> bool {
        matches!(self, MapKind::Ringbuf | MapKind::UserRingbuf | MapKind::Arena)
    }

    /// Whether values are handles of maps.
    pub fn is_of_maps(self) -> bool {
        matches!(self, MapKind::ArrayOfMaps | MapKind::HashOfMaps)
    }
}

/// A map as the object defines it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MapDef {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: MapKind,
    /// Size of a key, bytes.
    pub key_size: u32,
    /// Size of a value, bytes.
    pub value_size: u32,
    /// Maximum number of entries.
    pub max_entries: u32,
    /// `map_flags`.
    pub flags: u32,
    /// Its offset in `.maps`, bytes.
    pub offset: u64,
    /// The maps that an array of maps initially holds, by index.
    pub values: Vec<(u32, usize)>,
    /// The type of a key in the object's BTF, if the definition states it.
    pub key_type: Option<u32>,
    /// The type of a value.
    pub value_type: Option<u32>,
    /// The definition of the maps that a map of maps holds.
    pub inner_type: Option<u32>,
}

fn fault(name: &str, what: impl Into<String>) -> ObjectError {
    ObjectError::new(format!("section .maps: map {name}"), what)
}

impl MapDef {
    /// Checks the definition for a machine of `cpus` CPUs. Returns the first flaw.
    pub(crate) fn flaw(&self, cpus: u32) -> Option<ObjectError> {
        let wrong = |what: String| Some(fault(&self.name, what));
        let storage = matches!(self.kind, MapKind::TaskStorage | MapKind::CgrpStorage);
        let queue = matches!(self.kind, MapKind::Queue | MapKind::Stack);
        let array = matches!(
            self.kind,
            MapKind::Array | MapKind::PercpuArray | MapKind::ArrayOfMaps | MapKind::PerfEventArray
        );
        let name = self.kind.name();
        if self.max_entries == 0 && !storage && self.kind != MapKind::PerfEventArray {
            return wrong(
                "max_entries is 0; user space sets it: use --scx-set map.NAME.max_entries=N".into(),
            );
        }
        if self.kind.is_area() {
            if self.key_size != 0 || self.value_size != 0 {
                return wrong(format!("an {name} has neither keys nor values"));
            }
            let size = match self.kind {
                MapKind::Arena => u64::from(self.max_entries) * 4096,
                _ => u64::from(self.max_entries),
            };
            let is_whole = self.kind == MapKind::Arena
                || (self.max_entries.is_power_of_two() && self.max_entries.is_multiple_of(4096));
            if !is_whole {
                return wrong(format!(
                    "a {name} of {} bytes; the kernel accepts only powers of two that are whole \
                     pages (4096)",
                    self.max_entries
                ));
            }
            if size >= 1 << 32 {
                return wrong(format!("a {name} of {size} bytes; it must be less than 4 GiB"));
            }
            return None;
        }
        if array && self.key_size != 4 {
            return wrong(format!("the key of an {name} has 4 bytes, not {}", self.key_size));
        }
        if storage && self.key_size != 4 {
            return wrong(format!("the key of a {name} is an int, not {} bytes", self.key_size));
        }
        if queue && self.key_size != 0 {
            return wrong(format!("a {name} has no key"));
        }
        if self.kind.is_of_maps() && self.value_size != 4 {
            return wrong(format!("the values of {name} have 4 bytes, not {}", self.value_size));
        }
        if self.kind.is_hash() && self.key_size == 0 {
            return wrong(format!("a {name} needs a key"));
        }
        if self.value_size == 0 && self.kind != MapKind::PerfEventArray {
            return wrong("it has no value".into());
        }
        if self.key_size > SIZE_MAX || self.value_size > SIZE_MAX {
            return wrong(format!("keys and values have at most {SIZE_MAX} bytes"));
        }
        let copies = if self.kind.is_percpu() { u64::from(cpus) } else { 1 };
        let keys = if self.kind.is_hash() { self.key_size.next_multiple_of(8) } else { 0 };
        let size = u64::from(self.value_size.next_multiple_of(8)) + u64::from(keys);
        let total = (size * copies).saturating_mul(u64::from(self.max_entries));
        if total > TOTAL_MAX {
            return wrong(format!("its entries have {total} bytes; the maximum is {TOTAL_MAX}"));
        }
        None
    }
}

/// Reads the definitions of all maps, in the order of the section.
///
/// # Errors
/// If a definition is malformed, or of a kind that is not emulated.
pub fn read(btf: &Btf, elf: &Elf) -> Result<Vec<MapDef>, ObjectError> {
    let Some(section) = elf.section(".maps") else { return Ok(vec![]) };
    let mut maps = vec![];
    let mut places: Vec<(u64, u64, u32)> = vec![];
    for var in btf.section(".maps").unwrap_or_default() {
        let name = &btf.get(var.ty).name;
        let Kind::Var { ty, .. } = btf.get(var.ty).kind else { continue };
        let symbol = elf
            .symbols
            .iter()
            .find(|symbol| symbol.section == Some(section) && symbol.name == *name);
        let symbol =
            symbol.ok_or_else(|| fault(name, "it has no symbol, so it cannot be located"))?;
        maps.push(definition(btf, name, ty, symbol.value)?);
        places.push((symbol.value, symbol.size, values_offset(btf, ty)));
    }
    for relocation in elf.relocations_of(section) {
        let at = relocation.offset;
        let holder = places
            .iter()
            .position(|&(start, size, _)| (start..start.saturating_add(size)).contains(&at));
        let symbol = &elf.symbols[relocation.symbol];
        let inner = places
            .iter()
            .position(|&(start, ..)| symbol.section == Some(section) && start == symbol.value);
        let (Some(holder), Some(inner)) = (holder, inner) else {
            let what = format!("byte {at} holds {}, which is not a map", symbol.name);
            return Err(ObjectError::new("section .maps", what));
        };
        let first = places[holder].0 + u64::from(places[holder].2);
        let index = at.checked_sub(first).map(|offset| offset / 8);
        let index = index
            .and_then(|index| u32::try_from(index).ok())
            .ok_or_else(|| fault(&maps[holder].name, "only its values can be other maps"))?;
        maps[holder].values.push((index, inner));
    }
    Ok(maps)
}

/// Returns the offset of the values of an array of maps in its definition, bytes.
fn values_offset(btf: &Btf, ty: u32) -> u32 {
    let members = btf.members(ty).unwrap_or_default();
    members.iter().find(|member| member.name == "values").map_or(0, |member| member.bit_offset / 8)
}

/// Returns the definition that `__array(values, ...)` states for the inner maps: that of the first
/// element.
fn inner_of(btf: &Btf, values: u32) -> Option<u32> {
    let Kind::Array { element, .. } = btf.resolve(values).kind else { return None };
    let element = btf.resolve_id(element);
    match btf.get(element).kind {
        Kind::Ptr(to) => Some(to).filter(|&to| btf.members(to).is_some()),
        Kind::Struct { .. } => Some(element),
        _ => None,
    }
}

pub(crate) fn definition(
    btf: &Btf,
    name: &str,
    ty: u32,
    offset: u64,
) -> Result<MapDef, ObjectError> {
    let members = btf
        .members(ty)
        .ok_or_else(|| fault(name, "its definition is not a structure; write __uint(type, ...)"))?;
    let mut number = 0;
    let mut map = MapDef {
        name: name.into(),
        kind: MapKind::Array,
        key_size: 0,
        value_size: 0,
        max_entries: 0,
        flags: 0,
        offset,
        values: vec![],
        key_type: None,
        value_type: None,
        inner_type: None,
    };
    for member in members {
        let pointed = match btf.resolve(member.ty).kind {
            Kind::Ptr(to) => Some(to),
            _ => None,
        };
        let length = pointed.and_then(|to| match btf.resolve(to).kind {
            Kind::Array { len, .. } => Some(len),
            _ => None,
        });
        let needed = |what: Option<u32>| {
            what.ok_or_else(|| {
                fault(
                    name,
                    format!("member {} does not have the form that __uint makes", member.name),
                )
            })
        };
        let size = |what: Option<u32>| {
            let size = what.and_then(|to| btf.size_of(to));
            size.ok_or_else(|| fault(name, format!("the type of its {} has no size", member.name)))
        };
        match member.name.as_str() {
            "type" => number = needed(length)?,
            "max_entries" => map.max_entries = needed(length)?,
            "map_flags" => map.flags = needed(length)?,
            "key_size" => map.key_size = needed(length)?,
            "value_size" => map.value_size = needed(length)?,
            "key" => {
                map.key_size = size(pointed)?;
                map.key_type = pointed;
            }
            "value" => {
                map.value_size = size(pointed)?;
                map.value_type = pointed;
            }
            "values" => {
                map.value_size = 4;
                map.inner_type = inner_of(btf, member.ty);
            }
            "pinning" | "numa_node" | "map_extra" => (),
            other => {
                let what = format!("a definition has no member {other}");
                return Err(fault(name, what));
            }
        }
    }
    let known = KINDS.iter().find(|(known, ..)| *known == number);
    map.kind = known.map(|row| row.1).ok_or_else(|| {
        let named = NOT_EMULATED.iter().find(|(known, _)| *known == number);
        let emulated: Vec<&str> = KINDS.iter().map(|row| row.2).collect();
        let what = match named {
            Some((_, kind)) => format!("maps of kind {kind} are not emulated yet"),
            None => format!("there are no maps of kind {number}"),
        };
        fault(name, format!("{what}; emulated kinds are: {}", emulated.join(", ")))
    })?;
    Ok(map)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elf::{ALLOC, PROGBITS};
    use crate::testing::{BtfWriter, ObjectWriter};

    /// Writes definitions: name, and for each member a length or the type pointed to.
    fn write(maps: &[(&str, &[(&str, u32)])]) -> (Btf, Elf) {
        let (mut btf, mut object) = (BtfWriter::default(), ObjectWriter::new());
        let int = btf.int("int", 4, true);
        let long = btf.int("long", 8, true);
        let section = object.section(".maps", PROGBITS, ALLOC, vec![0; 256]);
        let mut vars = vec![];
        for (index, (name, members)) in maps.iter().enumerate() {
            let mut list = vec![];
            for &(member, number) in *members {
                let to = match member {
                    "key" => int,
                    "value" => long,
                    _ => btf.array(int, int, number),
                };
                let ty = if member == "values" { to } else { btf.pointer(to) };
                list.push((member, ty, list.len() as u32 * 64));
            }
            let ty = btf.structure("", list.len() as u32 * 8, &list);
            vars.push((btf.variable(name, ty, 1), 0));
            object.object(name, section, index as u64 * 64, 64);
        }
        if let Some(first) =
            maps.iter().position(|(_, members)| members.iter().any(|m| m.0 == "values"))
        {
            // Its values[1] is map number 0.
            object.relocation(section, first as u64 * 64 + 24 + 8, 2, 1);
        }
        btf.data_section(".maps", &vars);
        (
            Btf::read(&btf.finish()).expect("the BTF is valid"),
            Elf::read(&object.finish()).expect("the object is valid"),
        )
    }

    #[test]
    fn definitions_are_read_and_maps_are_where_their_symbols_are() {
        let (btf, elf) = write(&[
            ("stats", &[("type", 6), ("max_entries", 2), ("key", 0), ("value", 0)]),
            ("tasks", &[("type", 29), ("map_flags", 1), ("key", 0), ("value", 0)]),
            ("outer", &[("type", 12), ("max_entries", 5), ("key_size", 4), ("values", 0)]),
        ]);
        let maps = read(&btf, &elf).expect("the definitions are valid");
        let stats = &maps[0];
        assert_eq!((stats.kind, stats.max_entries), (MapKind::PercpuArray, 2));
        assert_eq!((stats.key_size, stats.value_size, stats.offset), (4, 8, 0));
        assert_eq!((maps[1].kind, maps[1].flags, maps[1].offset), (MapKind::TaskStorage, 1, 64));
        assert_eq!(maps[2].values, [(1, 0)]);
        assert!(maps.iter().all(|map| map.flaw(4).is_none()));
    }

    #[test]
    fn what_is_no_definition_is_refused() {
        let message = |members: &[(&str, u32)]| {
            let (btf, elf) = write(&[("m", members)]);
            let maps = read(&btf, &elf);
            let flaw = maps.and_then(|maps| maps[0].flaw(4).map_or(Ok(()), Err));
            flaw.expect_err("the definition is refused").to_string()
        };
        assert!(
            message(&[("type", 11)]).contains("map m: maps of kind LPM_TRIE are not emulated yet")
        );
        assert!(message(&[("type", 99)]).contains("no maps of kind 99"));
        assert!(message(&[("sort", 1)]).contains("no member sort"));
        assert!(message(&[("type", 2), ("value", 0), ("key", 0)]).contains("max_entries is 0"));
        let wide = [("type", 2), ("max_entries", 1), ("key_size", 8), ("value", 0)];
        assert!(message(&wide).contains("the key of an ARRAY has 4 bytes, not 8"));
        let huge = [("type", 1), ("max_entries", 1 << 30), ("key", 0), ("value", 0)];
        assert!(message(&huge).contains("the maximum is 1073741824"));
        assert!(
            message(&[("type", 22), ("max_entries", 3), ("key", 0)]).contains("QUEUE has no key")
        );
    }
}
