//! Maps and their values.
//!
//! Every map has a region of memory for its values, whose offsets never move. The index that finds
//! a value by its key is separate. Iterations follow the order of the keys, so that runs are
//! repeatable.

use crate::errno::{E2BIG, EEXIST, EINVAL, ENOENT};
use crate::map_def::{MapDef, MapKind, TOTAL_MAX};
use crate::memory::{Memory, address, map_handle, place};
use std::collections::BTreeMap;

/// Flag of an update that must create a new entry.
const NOEXIST: u64 = 1;
/// Flag of an update that must find an entry.
const EXIST: u64 = 2;

/// Uses of a map.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MapCounts {
    /// Number of lookups, including lookups in storage.
    pub lookups: u64,
    /// Number of updates and pushes.
    pub updates: u64,
    /// Number of deletions and pops.
    pub deletes: u64,
}

/// Index of a map.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Index {
    /// Slots are found by number.
    Array,
    /// Slots are found by key. `written` holds the slots of an LRU map by the order of their last
    /// writes.
    Hash { by_key: BTreeMap<Vec<u8>, u32>, slots: Slots, written: BTreeMap<u64, u32> },
    /// First in first out, or last in first out.
    Queue { first: u32, len: u32 },
    /// No entries: a ring buffer, an arena.
    Area,
    /// Slots are found by the address of an object.
    Storage { by_object: BTreeMap<u64, u32>, slots: Slots },
}

/// Free slots. The slot that was freed last is taken first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Slots {
    used: u32,
    free: Vec<u32>,
}

impl Slots {
    fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.used += 1;
            self.used - 1
        })
    }
}

/// A map.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Map {
    /// Its definition.
    pub def: MapDef,
    /// Number of uses.
    pub counts: MapCounts,
    /// The region of its values.
    region: u32,
    /// The region of its keys, for iteration. Only for hashes.
    keys: u32,
    /// Distance between values, bytes.
    stride: u32,
    /// Copies of each value: one per CPU, or one.
    copies: u32,
    index: Index,
    /// Number of the last write to each slot of an LRU hash.
    stamps: Vec<u64>,
    writes: u64,
}

impl Map {
    /// Makes an empty map for a machine of `cpus` CPUs.
    pub fn new(def: &MapDef, memory: &mut Memory, cpus: u32) -> Map {
        let stride = def.value_size.next_multiple_of(8);
        let copies = if def.kind.is_percpu() { cpus } else { 1 };
        let is_array = matches!(
            def.kind,
            MapKind::Array
                | MapKind::PercpuArray
                | MapKind::ArrayOfMaps
                | MapKind::Queue
                | MapKind::Stack
        );
        let entries = if is_array { def.max_entries as usize } else { 0 };
        let size = entries * stride as usize * copies as usize;
        let region = memory.add(&format!("map {}", def.name), vec![0; size], true);
        let keys = match def.kind.is_hash() {
            true => memory.add(&format!("keys of map {}", def.name), vec![], false),
            false => 0,
        };
        let index = match def.kind {
            MapKind::Queue | MapKind::Stack => Index::Queue { first: 0, len: 0 },
            MapKind::TaskStorage | MapKind::CgrpStorage => {
                Index::Storage { by_object: BTreeMap::new(), slots: Slots::default() }
            }
            kind if kind.is_area() => Index::Area,
            kind if kind.is_hash() => Index::Hash {
                by_key: BTreeMap::new(),
                slots: Slots::default(),
                written: BTreeMap::new(),
            },
            _ => Index::Array,
        };
        if def.kind.is_of_maps() {
            for &(at, inner) in &def.values {
                memory.write(address(region, at * stride), 8, map_handle(inner));
            }
        }
        let (def, counts) = (def.clone(), MapCounts::default());
        Map { def, counts, region, keys, stride, copies, index, stamps: vec![], writes: 0 }
    }

    /// Returns the address of a CPU's copy of the value in a slot.
    fn value(&self, slot: u32, cpu: u32) -> u64 {
        let copy = if self.copies == 1 { 0 } else { cpu.min(self.copies - 1) };
        address(self.region, (slot * self.copies + copy) * self.stride)
    }

    /// Returns the slot of a key.
    fn slot(&self, key: &[u8]) -> Option<u32> {
        match &self.index {
            Index::Array => {
                let number = u32::from_le_bytes(key.try_into().ok()?);
                (number < self.def.max_entries && self.stride > 0).then_some(number)
            }
            Index::Hash { by_key, .. } => by_key.get(key).copied(),
            _ => None,
        }
    }

    /// Returns the address of the value of a key for `cpu`, not counted as a lookup. 0 if there is
    /// none.
    pub(crate) fn find(&self, key: &[u8], cpu: u32) -> u64 {
        self.slot(key).map_or(0, |slot| self.value(slot, cpu))
    }

    /// Looks up a key. Returns the address of `cpu`'s value, or the handle of the map for maps of
    /// maps. 0 if there is none.
    pub fn lookup(&mut self, memory: &Memory, key: &[u8], cpu: u32) -> u64 {
        self.counts.lookups += 1;
        match self.slot(key) {
            Some(slot) if self.def.kind.is_of_maps() => memory.u64(self.value(slot, 0)),
            Some(slot) => self.value(slot, cpu),
            None => 0,
        }
    }

    /// Writes a value of the defined size. The copies of other CPUs keep their values, or are zero.
    pub fn update(
        &mut self,
        memory: &mut Memory,
        key: &[u8],
        value: &[u8],
        flags: u64,
        cpu: u32,
    ) -> i64 {
        self.counts.updates += 1;
        if flags & !4 > EXIST || self.def.kind.is_of_maps() {
            return EINVAL;
        }
        let slot = match (self.slot(key), &self.index) {
            (Some(_), _) if flags & 3 == NOEXIST => return EEXIST,
            (Some(slot), _) => slot,
            (None, Index::Array) => return E2BIG,
            (None, Index::Hash { .. }) if flags & 3 == EXIST => return ENOENT,
            (None, Index::Hash { .. }) => match self.new_slot(memory, key) {
                Some(slot) => slot,
                None => return E2BIG,
            },
            _ => return EINVAL,
        };
        self.written(slot);
        if let Some(place) = memory.slice_mut(self.value(slot, cpu), value.len()) {
            place.copy_from_slice(value);
        }
        0
    }

    /// Records a write to a slot.
    fn written(&mut self, slot: u32) {
        if !self.def.kind.is_lru() {
            return;
        }
        if let Index::Hash { written, .. } = &mut self.index {
            if self.stamps.len() <= slot as usize {
                self.stamps.resize(slot as usize + 1, 0);
            }
            written.remove(&self.stamps[slot as usize]);
            self.writes += 1;
            self.stamps[slot as usize] = self.writes;
            written.insert(self.writes, slot);
        }
    }

    /// Takes a zeroed slot for a new key. `None` if the map is full.
    fn new_slot(&mut self, memory: &mut Memory, key: &[u8]) -> Option<u32> {
        let Index::Hash { by_key, .. } = &self.index else { return None };
        if by_key.len() >= self.def.max_entries as usize {
            if !self.def.kind.is_lru() {
                return None;
            }
            self.evict(memory);
        }
        let Index::Hash { by_key, slots, .. } = &mut self.index else { return None };
        let slot = slots.take();
        by_key.insert(key.to_vec(), slot);
        let room = self.room(memory, slot);
        let at = address(self.keys, slot * self.key_stride());
        memory.grow(self.keys, (room * self.key_stride()) as usize);
        if let Some(place) = memory.slice_mut(at, key.len()) {
            place.copy_from_slice(key);
        }
        self.zero(memory, slot);
        Some(slot)
    }

    fn key_stride(&self) -> u32 {
        self.def.key_size.next_multiple_of(8)
    }

    /// Makes room for a slot. Returns the number of slots that have room.
    fn room(&self, memory: &mut Memory, slot: u32) -> u32 {
        let size = self.stride * self.copies;
        let room = (slot + 1).next_power_of_two();
        memory.grow(self.region, room as usize * size as usize);
        room
    }

    fn zero(&self, memory: &mut Memory, slot: u32) {
        let len = self.stride as usize * self.copies as usize;
        if let Some(place) = memory.slice_mut(self.value(slot, 0), len) {
            place.fill(0);
        }
    }

    /// Evicts the least recently written entry.
    fn evict(&mut self, memory: &mut Memory) {
        let Index::Hash { written, .. } = &self.index else { return };
        let Some((_, &slot)) = written.first_key_value() else { return };
        let at = address(self.keys, slot * self.key_stride());
        let key = memory.slice(at, self.def.key_size as usize).map(<[u8]>::to_vec);
        if let Some(key) = key {
            self.remove(&key);
        }
    }

    fn remove(&mut self, key: &[u8]) -> bool {
        let Index::Hash { by_key, slots, written } = &mut self.index else { return false };
        let Some(slot) = by_key.remove(key) else { return false };
        slots.free.push(slot);
        if let Some(stamp) = self.stamps.get(slot as usize) {
            written.remove(stamp);
        }
        true
    }

    /// Deletes a key. Its value stays readable by its address until the slot is used again.
    pub fn delete(&mut self, key: &[u8]) -> i64 {
        self.counts.deletes += 1;
        if !self.def.kind.is_hash() {
            return EINVAL;
        }
        if self.remove(key) { 0 } else { ENOENT }
    }

    /// Pushes a value to a queue or stack. With flag 2 a full map drops its oldest value.
    pub fn push(&mut self, memory: &mut Memory, value: &[u8], flags: u64) -> i64 {
        self.counts.updates += 1;
        let (kind, most) = (self.def.kind, self.def.max_entries);
        let Index::Queue { first, len } = &mut self.index else { return EINVAL };
        if flags & !EXIST != 0 {
            return EINVAL;
        }
        if *len == most {
            if flags & EXIST == 0 {
                return E2BIG;
            }
            if kind == MapKind::Queue || kind == MapKind::Stack {
                *first = (*first + 1) % most;
                *len -= 1;
            }
        }
        let slot = ((u64::from(*first) + u64::from(*len)) % u64::from(most)) as u32;
        *len += 1;
        let at = self.value(slot, 0);
        if let Some(place) = memory.slice_mut(at, value.len()) {
            place.copy_from_slice(value);
        }
        0
    }

    /// Returns the next value; with `take`, also removes it. `None` if there is none.
    pub fn next(&mut self, memory: &Memory, take: bool) -> Option<Vec<u8>> {
        if take {
            self.counts.deletes += 1;
        } else {
            self.counts.lookups += 1;
        }
        let (kind, most) = (self.def.kind, self.def.max_entries);
        let Index::Queue { first, len } = &mut self.index else { return None };
        if *len == 0 {
            return None;
        }
        let is_stack = kind == MapKind::Stack;
        let offset = if is_stack { u64::from(*len) - 1 } else { 0 };
        let slot = ((u64::from(*first) + offset) % u64::from(most)) as u32;
        if take {
            *len -= 1;
            if !is_stack {
                *first = (*first + 1) % most;
            }
        }
        memory.slice(self.value(slot, 0), self.def.value_size as usize).map(<[u8]>::to_vec)
    }

    /// Returns the address of an object's storage. It is created if `create` is set, with `start`
    /// as its value or zeroed. 0 if there is none, or no memory for it.
    pub fn storage(
        &mut self,
        memory: &mut Memory,
        object: u64,
        start: Option<&[u8]>,
        create: bool,
    ) -> u64 {
        self.counts.lookups += 1;
        let Index::Storage { by_object, .. } = &self.index else { return 0 };
        if let Some(&slot) = by_object.get(&object) {
            return self.value(slot, 0);
        }
        if !create {
            return 0;
        }
        let Index::Storage { by_object, slots } = &mut self.index else { return 0 };
        if (u64::from(slots.used) + 1) * u64::from(self.stride) > TOTAL_MAX {
            return 0;
        }
        let slot = slots.take();
        by_object.insert(object, slot);
        self.room(memory, slot);
        self.zero(memory, slot);
        let at = self.value(slot, 0);
        if let Some((start, place)) = start.zip(memory.slice_mut(at, start.map_or(0, <[u8]>::len)))
        {
            place.copy_from_slice(start);
        }
        at
    }

    /// Removes the storage of an object.
    pub fn delete_storage(&mut self, object: u64) -> i64 {
        self.counts.deletes += 1;
        let Index::Storage { by_object, slots } = &mut self.index else { return EINVAL };
        match by_object.remove(&object) {
            Some(slot) => {
                slots.free.push(slot);
                0
            }
            None => ENOENT,
        }
    }

    /// Returns the slots of all entries, in the order of their keys.
    pub fn slots(&self) -> Vec<u32> {
        match &self.index {
            Index::Array => (0..self.def.max_entries).collect(),
            Index::Hash { by_key, .. } => by_key.values().copied().collect(),
            _ => vec![],
        }
    }

    /// Returns the address of a hash's key in a slot, and of its value for `cpu`.
    pub fn entry(&self, slot: u32, cpu: u32) -> (u64, u64) {
        (address(self.keys, slot * self.key_stride()), self.value(slot, cpu))
    }

    /// Returns the slot that contains an address, and the start of the slot's value. `None` if the
    /// address is not in this map.
    pub fn slot_of(&self, at: u64) -> Option<(u32, u64)> {
        let (region, offset) = place(at);
        if region != self.region || self.stride == 0 {
            return None;
        }
        let slot = offset / (self.stride * self.copies);
        let value = offset / self.stride * self.stride;
        Some((slot, address(region, value)))
    }

    /// Whether keys are stored in memory.
    pub fn has_keys(&self) -> bool {
        self.def.kind.is_hash()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(kind: MapKind, max_entries: u32, cpus: u32) -> (Map, Memory) {
        let mut memory = Memory::default();
        let def = MapDef {
            name: "m".into(),
            kind,
            key_size: if matches!(kind, MapKind::Queue | MapKind::Stack) { 0 } else { 4 },
            value_size: 8,
            max_entries,
            flags: 0,
            offset: 0,
            values: vec![],
            key_type: None,
            value_type: None,
            inner_type: None,
        };
        (Map::new(&def, &mut memory, cpus), memory)
    }

    fn key(number: u32) -> [u8; 4] {
        number.to_le_bytes()
    }

    fn bytes(number: u64) -> [u8; 8] {
        number.to_le_bytes()
    }

    #[test]
    fn arrays_are_there_from_the_start() {
        let (mut map, mut memory) = map(MapKind::Array, 3, 4);
        let second = map.lookup(&memory, &key(2), 0);
        assert_ne!(second, 0);
        assert_eq!(map.lookup(&memory, &key(3), 0), 0);
        assert_eq!(map.update(&mut memory, &key(2), &bytes(7), 0, 0), 0);
        assert_eq!(memory.u64(second), 7);
        assert_eq!(map.update(&mut memory, &key(2), &bytes(7), NOEXIST, 0), EEXIST);
        assert_eq!(map.update(&mut memory, &key(3), &bytes(7), 0, 0), E2BIG);
        assert_eq!(map.delete(&key(0)), EINVAL);
        assert_eq!((map.counts.lookups, map.counts.updates, map.counts.deletes), (2, 3, 1));
    }

    #[test]
    fn each_cpu_has_its_own_values() {
        let (mut map, mut memory) = map(MapKind::PercpuArray, 2, 3);
        assert_eq!(map.update(&mut memory, &key(1), &bytes(5), 0, 2), 0);
        let values: Vec<u64> =
            (0..3).map(|cpu| map.lookup(&memory, &key(1), cpu)).map(|at| memory.u64(at)).collect();
        assert_eq!(values, [0, 0, 5]);
    }

    #[test]
    fn hashes_fill_up_and_reuse_what_was_freed_last() {
        let (mut map, mut memory) = map(MapKind::Hash, 2, 1);
        assert_eq!(map.update(&mut memory, &key(9), &bytes(1), EXIST, 0), ENOENT);
        assert_eq!(map.update(&mut memory, &key(9), &bytes(1), 0, 0), 0);
        assert_eq!(map.update(&mut memory, &key(4), &bytes(2), NOEXIST, 0), 0);
        assert_eq!(map.update(&mut memory, &key(5), &bytes(3), 0, 0), E2BIG);
        let nine = map.lookup(&memory, &key(9), 0);
        assert_eq!(map.delete(&key(9)), 0);
        assert_eq!((map.delete(&key(9)), map.lookup(&memory, &key(9), 0)), (ENOENT, 0));
        assert_eq!(memory.u64(nine), 1, "still readable");
        assert_eq!(map.update(&mut memory, &key(5), &bytes(3), 0, 0), 0);
        assert_eq!(map.lookup(&memory, &key(5), 0), nine);
        let keys: Vec<u32> =
            map.slots().iter().map(|&slot| memory.u32(map.entry(slot, 0).0)).collect();
        assert_eq!(keys, [4, 5], "in the order of the keys");
        assert_eq!(map.slot_of(nine + 4), Some((0, nine)));
    }

    #[test]
    fn the_least_recently_written_goes_from_a_full_lru_hash() {
        let (mut map, mut memory) = map(MapKind::LruHash, 2, 1);
        for number in [1, 2, 1, 3] {
            assert_eq!(map.update(&mut memory, &key(number), &bytes(number.into()), 0, 0), 0);
        }
        assert_eq!(map.lookup(&memory, &key(2), 0), 0);
        let one = map.lookup(&memory, &key(1), 0);
        assert_eq!(memory.u64(one), 1);
    }

    #[test]
    fn an_lru_hash_by_cpu_has_a_value_for_each_cpu() {
        let (mut map, mut memory) = map(MapKind::LruPercpuHash, 2, 2);
        for number in [1, 2, 3] {
            assert_eq!(map.update(&mut memory, &key(number), &bytes(number.into()), 0, 1), 0);
        }
        assert_eq!(map.lookup(&memory, &key(1), 0), 0, "it was evicted");
        let values = [0, 1].map(|cpu| map.lookup(&memory, &key(3), cpu));
        assert_eq!(values.map(|at| memory.u64(at)), [0, 3]);
    }

    #[test]
    fn queues_and_stacks() {
        for (kind, order) in [(MapKind::Queue, [1, 2]), (MapKind::Stack, [2, 1])] {
            let (mut map, mut memory) = map(kind, 2, 1);
            assert_eq!(map.next(&memory, true), None);
            assert_eq!(map.push(&mut memory, &bytes(1), 0), 0);
            assert_eq!(map.push(&mut memory, &bytes(2), 0), 0);
            assert_eq!(map.push(&mut memory, &bytes(3), 0), E2BIG);
            assert_eq!(map.next(&memory, false), Some(bytes(order[0]).to_vec()));
            assert_eq!(map.next(&memory, true), Some(bytes(order[0]).to_vec()));
            assert_eq!(map.next(&memory, true), Some(bytes(order[1]).to_vec()));
            assert_eq!(map.next(&memory, true), None);
            for number in [4, 5, 6] {
                assert_eq!(map.push(&mut memory, &bytes(number), EXIST), 0);
            }
            let left = if kind == MapKind::Queue { 5 } else { 6 };
            assert_eq!(map.next(&memory, true), Some(bytes(left).to_vec()), "4 was thrown out");
        }
    }

    #[test]
    fn storage_belongs_to_an_object() {
        let (mut map, mut memory) = map(MapKind::TaskStorage, 0, 1);
        assert_eq!(map.storage(&mut memory, 77, None, false), 0);
        let mine = map.storage(&mut memory, 77, Some(&bytes(6)), true);
        assert_eq!((memory.u64(mine), map.storage(&mut memory, 77, None, false)), (6, mine));
        assert_ne!(map.storage(&mut memory, 78, None, true), mine);
        assert_eq!((map.delete_storage(77), map.delete_storage(77)), (0, ENOENT));
        let other = map.storage(&mut memory, 79, None, true);
        assert_eq!((other, memory.u64(other)), (mine, 0), "reused, and zeroed");
    }
}
