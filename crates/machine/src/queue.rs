//! Priority queues of events. Each source of events (a CPU, a task, a timer) has at most one place,
//! so no entry is ever stale.

/// Time of no event.
pub const NEVER: u64 = u64::MAX;

/// Times of a fixed number of slots, with direct access to the earliest: a tournament tree. Among
/// equal times the lowest slot is first.
///
/// Setting a time walks up the tree and stops as soon as nothing changes. Reading the earliest time
/// is free.
#[derive(Clone, Debug)]
pub struct SlotQueue {
    /// A full binary tree in an array: node n has the children 2n and 2n + 1. The leaves begin at
    /// `leaves`.
    times: Vec<u64>,
    leaves: usize,
}

impl SlotQueue {
    /// Creates `slots` slots without times.
    pub fn new(slots: usize) -> SlotQueue {
        let leaves = slots.next_power_of_two();
        SlotQueue { times: vec![NEVER; 2 * leaves], leaves }
    }

    /// Returns the time of `slot`; [`NEVER`] if it has none.
    #[inline]
    pub fn get(&self, slot: usize) -> u64 {
        self.times[self.leaves + slot]
    }

    /// Sets the time of `slot`; [`NEVER`] removes it.
    #[inline]
    pub fn set(&mut self, slot: usize, time_ns: u64) {
        let mut node = self.leaves + slot;
        self.times[node] = time_ns;
        while node > 1 {
            let earliest = self.times[node].min(self.times[node ^ 1]);
            node /= 2;
            if self.times[node] == earliest {
                return;
            }
            self.times[node] = earliest;
        }
    }

    /// Returns the earliest time; [`NEVER`] if there is none.
    #[inline]
    pub fn earliest(&self) -> u64 {
        self.times[1]
    }

    /// Returns the lowest slot with the earliest time, which must not be [`NEVER`].
    #[inline]
    pub fn earliest_slot(&self) -> usize {
        let earliest = self.times[1];
        debug_assert_ne!(earliest, NEVER);
        let mut node = 1;
        while node < self.leaves {
            node *= 2;
            if self.times[node] != earliest {
                node += 1;
            }
        }
        node - self.leaves
    }
}

/// Times of any number of ids, with direct access to the earliest: a four-way heap that knows the
/// position of each id. Among equal times the lowest rank is first, then the lowest id.
///
/// A time, its rank and its id share one 128-bit number. One comparison therefore orders all three,
/// and the least of four children is found without a branch that could be mispredicted. Such
/// branches would dominate the time of a heap.
#[derive(Clone, Debug, Default)]
pub struct IndexedHeap {
    heap: Vec<Entry>,
    /// Position of each id in `heap`; [`ABSENT`] if it has none.
    places: Vec<u32>,
}

/// Time in the upper 64 bits, rank in the next 32, id in the lowest 32.
type Entry = u128;

const ABSENT: u32 = u32::MAX;
const WAYS: usize = 4;

#[inline]
const fn entry(time_ns: u64, rank: u32, id: u32) -> Entry {
    (time_ns as u128) << 64 | (rank as u128) << 32 | id as u128
}

#[inline]
const fn time_of(entry: Entry) -> u64 {
    (entry >> 64) as u64
}

#[inline]
const fn id_of(entry: Entry) -> u32 {
    entry as u32
}

impl IndexedHeap {
    /// Creates an empty heap.
    pub fn new() -> IndexedHeap {
        IndexedHeap::default()
    }

    /// Reserves room for ids below `ids`, so that later calls do not allocate.
    pub fn reserve(&mut self, ids: usize) {
        if ids > self.places.len() {
            self.places.resize(ids, ABSENT);
            self.heap.reserve(ids - self.heap.len());
        }
    }

    /// Returns the number of ids that have a time.
    #[inline]
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether no id has a time.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// Returns the earliest time; [`NEVER`] if there is none.
    #[inline]
    pub fn earliest(&self) -> u64 {
        self.heap.first().map_or(NEVER, |&first| time_of(first))
    }

    /// Returns the time of `id`, if it has one.
    pub fn get(&self, id: u32) -> Option<u64> {
        match self.places.get(id as usize) {
            None | Some(&ABSENT) => None,
            Some(&place) => Some(time_of(self.heap[place as usize])),
        }
    }

    /// Sets the time of `id`, replacing any previous time. Its rank is 0.
    #[inline]
    pub fn set(&mut self, id: u32, time_ns: u64) {
        self.set_entry(id, entry(time_ns, 0, id));
    }

    /// Sets the time of `id`, and its rank among the entries of that time.
    #[inline]
    pub fn set_with_rank(&mut self, id: u32, time_ns: u64, rank: u32) {
        self.set_entry(id, entry(time_ns, rank, id));
    }

    fn set_entry(&mut self, id: u32, new: Entry) {
        self.reserve(id as usize + 1);
        match self.places[id as usize] {
            ABSENT => {
                self.heap.push(new);
                self.sift_up(self.heap.len() - 1, new);
            }
            place => self.replace(place as usize, new),
        }
    }

    /// Removes the time of `id`. Returns whether it had one.
    pub fn remove(&mut self, id: u32) -> bool {
        match self.places.get(id as usize) {
            None | Some(&ABSENT) => false,
            Some(&place) => {
                self.remove_at(place as usize);
                true
            }
        }
    }

    /// Removes and returns the earliest entry: its time and id.
    #[inline]
    pub fn pop(&mut self) -> Option<(u64, u32)> {
        let first = *self.heap.first()?;
        self.remove_at(0);
        Some((time_of(first), id_of(first)))
    }

    fn remove_at(&mut self, place: usize) {
        self.places[id_of(self.heap[place]) as usize] = ABSENT;
        let last = self.heap.pop().expect("`place` holds an entry");
        if place < self.heap.len() {
            self.replace(place, last);
        }
    }

    /// Replaces the entry at `place` by `new` and moves it to its position.
    fn replace(&mut self, place: usize, new: Entry) {
        // Down to a leaf along the least children, then up: the new entry usually comes from the
        // bottom and belongs near it.
        let leaf = self.sink_hole(place);
        self.sift_up(leaf, new);
    }

    /// Moves the least child up into `hole`, then the least child of that position, and so on.
    /// Returns the leaf that is left empty.
    fn sink_hole(&mut self, mut hole: usize) -> usize {
        loop {
            let first = hole * WAYS + 1;
            let least = match self.heap.get(first..first + WAYS) {
                Some(four) => {
                    let low = usize::from(four[1] < four[0]);
                    let high = 2 + usize::from(four[3] < four[2]);
                    first + if four[high] < four[low] { high } else { low }
                }
                None => match (first..self.heap.len()).min_by_key(|&child| self.heap[child]) {
                    Some(least) => least,
                    None => return hole,
                },
            };
            self.put(hole, self.heap[least]);
            hole = least;
        }
    }

    /// Moves `new` up from the empty `place` to its position.
    fn sift_up(&mut self, mut place: usize, new: Entry) {
        while place > 0 {
            let parent = (place - 1) / WAYS;
            if self.heap[parent] <= new {
                break;
            }
            self.put(place, self.heap[parent]);
            place = parent;
        }
        self.put(place, new);
    }

    #[inline]
    fn put(&mut self, place: usize, entry: Entry) {
        self.heap[place] = entry;
        self.places[id_of(entry) as usize] = place as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::SplitMix64;
    use std::collections::BTreeMap;

    #[test]
    fn a_heap_agrees_with_a_sorted_map_under_random_use() {
        let mut random = SplitMix64::new(1);
        let mut heap = IndexedHeap::new();
        let mut model: BTreeMap<u32, (u64, u32)> = BTreeMap::new();
        for _ in 0..20_000 {
            let id = random.below(200) as u32;
            match random.below(4) {
                0 => assert_eq!(heap.remove(id), model.remove(&id).is_some()),
                1 => {
                    let first = model.iter().map(|(&id, &time)| (time, id)).min();
                    assert_eq!(heap.pop(), first.map(|((time, _), id)| (time, id)));
                    if let Some((_, id)) = first {
                        model.remove(&id);
                    }
                }
                _ => {
                    let (time, rank) = (random.below(1000), random.below(3) as u32);
                    heap.set_with_rank(id, time, rank);
                    model.insert(id, (time, rank));
                }
            }
            assert_eq!(heap.len(), model.len());
            assert_eq!(heap.get(id), model.get(&id).map(|&(time, _)| time));
            assert_eq!(heap.earliest(), model.values().min().map_or(NEVER, |&(time, _)| time));
        }
    }

    #[test]
    fn a_slot_queue_agrees_with_a_scan_under_random_use() {
        for slots in [1, 2, 5, 64] {
            let mut random = SplitMix64::new(slots as u64);
            let mut queue = SlotQueue::new(slots);
            let mut model = vec![NEVER; slots];
            for _ in 0..5_000 {
                let slot = random.below(slots as u64) as usize;
                let time = if random.below(3) == 0 { NEVER } else { random.below(50) };
                queue.set(slot, time);
                model[slot] = time;
                let earliest = *model.iter().min().unwrap();
                assert_eq!(queue.earliest(), earliest);
                if earliest != NEVER {
                    assert_eq!(
                        queue.earliest_slot(),
                        model.iter().position(|&time| time == earliest).unwrap()
                    );
                }
            }
        }
    }
}
