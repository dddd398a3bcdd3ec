//! The priority queues that events stand in. Each thing that may have an event pending (a CPU, a task, a timer) has one place
//! at most, so nothing in them is ever stale.

/// No event pending.
pub const NEVER: u64 = u64::MAX;

/// A time for each of a fixed number of slots, and the earliest: a tournament tree. Among equal times the lowest slot is first.
///
/// Setting costs a walk up the tree that stops as soon as nothing changes; reading the earliest time costs nothing.
#[derive(Clone, Debug)]
pub struct SlotQueue {
    /// A full binary tree in an array: node n has children 2n and 2n + 1; leaves from `leaves` on.
    times: Vec<u64>,
    leaves: usize,
}

impl SlotQueue {
    /// `slots` slots, none of which has a time.
    pub fn new(slots: usize) -> SlotQueue {
        let leaves = slots.next_power_of_two();
        SlotQueue {
            times: vec![NEVER; 2 * leaves],
            leaves,
        }
    }

    /// The time of `slot`, [`NEVER`] if it has none.
    #[inline]
    pub fn get(&self, slot: usize) -> u64 {
        self.times[self.leaves + slot]
    }

    /// Gives `slot` a time, or takes it away with [`NEVER`].
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

    /// The earliest time, [`NEVER`] if there is none.
    #[inline]
    pub fn earliest(&self) -> u64 {
        self.times[1]
    }

    /// The lowest slot that has the earliest time, which must not be [`NEVER`].
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

/// A time for any of an open-ended number of ids, and the earliest: a four-way heap that knows where each id stands. Among
/// equal times the lowest id is first.
#[derive(Clone, Debug, Default)]
pub struct IndexedHeap {
    heap: Vec<(u64, u32)>,
    /// For each id its place in `heap`, [`ABSENT`] if it has none.
    places: Vec<u32>,
}

const ABSENT: u32 = u32::MAX;
const WAYS: usize = 4;

impl IndexedHeap {
    /// An empty one.
    pub fn new() -> IndexedHeap {
        IndexedHeap::default()
    }

    /// Makes room for ids below `ids`, so that nothing is allocated later.
    pub fn reserve(&mut self, ids: usize) {
        if ids > self.places.len() {
            self.places.resize(ids, ABSENT);
            self.heap.reserve(ids - self.heap.len());
        }
    }

    /// How many ids have a time.
    #[inline]
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether no id has a time.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// The earliest time, [`NEVER`] if there is none.
    #[inline]
    pub fn earliest(&self) -> u64 {
        self.heap.first().map_or(NEVER, |entry| entry.0)
    }

    /// The time of `id`, if it has one.
    pub fn get(&self, id: u32) -> Option<u64> {
        match self.places.get(id as usize) {
            None | Some(&ABSENT) => None,
            Some(&place) => Some(self.heap[place as usize].0),
        }
    }

    /// Gives `id` a time, in place of any that it had.
    pub fn set(&mut self, id: u32, time_ns: u64) {
        self.reserve(id as usize + 1);
        let place = match self.places[id as usize] {
            ABSENT => {
                self.heap.push((time_ns, id));
                self.heap.len() - 1
            }
            place => {
                self.heap[place as usize].0 = time_ns;
                place as usize
            }
        };
        let place = self.sift_up(place);
        self.sift_down(place);
    }

    /// Takes away the time of `id`; true if it had one.
    pub fn remove(&mut self, id: u32) -> bool {
        let Some(&place) = self.places.get(id as usize) else {
            return false;
        };
        if place == ABSENT {
            return false;
        }
        self.remove_at(place as usize);
        true
    }

    /// Takes out the earliest, lowest id among equal times.
    #[inline]
    pub fn pop(&mut self) -> Option<(u64, u32)> {
        let first = *self.heap.first()?;
        self.remove_at(0);
        Some(first)
    }

    fn remove_at(&mut self, place: usize) {
        let (_, id) = self.heap[place];
        self.places[id as usize] = ABSENT;
        let last = self.heap.pop().expect("an entry stands at `place`");
        if place < self.heap.len() {
            self.heap[place] = last;
            let place = self.sift_up(place);
            self.sift_down(place);
        }
    }

    /// Moves the entry at `place` up to where it belongs; returns where that is. Its `places` entry is set.
    fn sift_up(&mut self, mut place: usize) -> usize {
        let entry = self.heap[place];
        while place > 0 {
            let parent = (place - 1) / WAYS;
            if self.heap[parent] <= entry {
                break;
            }
            self.put(place, self.heap[parent]);
            place = parent;
        }
        self.put(place, entry);
        place
    }

    fn sift_down(&mut self, mut place: usize) {
        let entry = self.heap[place];
        loop {
            let first = place * WAYS + 1;
            if first >= self.heap.len() {
                break;
            }
            let last = (first + WAYS).min(self.heap.len());
            let mut least = first;
            for child in first + 1..last {
                if self.heap[child] < self.heap[least] {
                    least = child;
                }
            }
            if entry <= self.heap[least] {
                break;
            }
            self.put(place, self.heap[least]);
            place = least;
        }
        self.put(place, entry);
    }

    #[inline]
    fn put(&mut self, place: usize, entry: (u64, u32)) {
        self.heap[place] = entry;
        self.places[entry.1 as usize] = place as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SplitMix64;
    use std::collections::BTreeMap;

    #[test]
    fn a_heap_agrees_with_a_sorted_map_under_random_use() {
        let mut random = SplitMix64::new(1);
        let mut heap = IndexedHeap::new();
        let mut model: BTreeMap<u32, u64> = BTreeMap::new();
        for _ in 0..20_000 {
            let id = random.below(200) as u32;
            match random.below(4) {
                0 => assert_eq!(heap.remove(id), model.remove(&id).is_some()),
                1 => {
                    let first = model.iter().map(|(&id, &time)| (time, id)).min();
                    assert_eq!(heap.pop(), first);
                    if let Some((_, id)) = first {
                        model.remove(&id);
                    }
                }
                _ => {
                    let time = random.below(1000);
                    heap.set(id, time);
                    model.insert(id, time);
                }
            }
            assert_eq!(heap.len(), model.len());
            assert_eq!(heap.get(id), model.get(&id).copied());
            assert_eq!(heap.earliest(), model.values().copied().min().unwrap_or(NEVER));
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
                let time = if random.below(3) == 0 {
                    NEVER
                } else {
                    random.below(50)
                };
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
