//! The timeline of a queue: waiting entities in the order of their virtual times.
//!
//! The kernel keeps a red-black tree. The algorithm needs only its order: by virtual time, and
//! among equals by arrival. Here a list of [`Sorted`] numbers provides exactly that.

use super::ids::EntityId;
use super::vruntime::Vruntime;
use crate::classes::sorted::Sorted;
use schedlab_core::index::TypedIndex;

/// A place in the order, from the most significant bits: the virtual time (64 bits), the arrival
/// number, which distinguishes equals (32), and the entity (32).
type Place = u128;

#[inline]
fn place(vruntime: Vruntime, arrival: u32, e: EntityId) -> Place {
    u128::from(vruntime.ns()) << 64 | u128::from(arrival) << 32 | e.index() as u128
}

#[inline]
const fn vruntime_of(place: Place) -> Vruntime {
    Vruntime::from_ns((place >> 64) as u64)
}

#[inline]
fn entity_of(place: Place) -> EntityId {
    EntityId::new(place as u32 as usize)
}

/// The waiting entities by virtual time, and among equals by arrival.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    places: Sorted,
    /// The number of the next arrival.
    arrivals: u32,
}

impl Timeline {
    /// Creates an empty timeline.
    pub const fn new() -> Timeline {
        Timeline { places: Sorted::new(), arrivals: 0 }
    }

    /// Returns the entity that is furthest behind, the first to arrive among equals.
    #[inline]
    pub fn leftmost(&self) -> Option<EntityId> {
        (!self.places.is_empty()).then(|| entity_of(self.places.least()))
    }

    /// Returns the virtual time of the entity that is furthest behind.
    #[inline]
    pub fn leftmost_vruntime(&self) -> Option<Vruntime> {
        (!self.places.is_empty()).then(|| vruntime_of(self.places.least()))
    }

    /// Returns the virtual time of the entity that is furthest ahead.
    pub fn rightmost_vruntime(&self) -> Option<Vruntime> {
        (!self.places.is_empty()).then(|| vruntime_of(self.places.greatest()))
    }

    /// Returns the number of waiting entities.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether no entity waits.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Returns the waiting entities with their virtual times, the one furthest behind first.
    pub fn iter(&self) -> impl Iterator<Item = (EntityId, Vruntime)> + '_ {
        self.places.iter().map(|place| (entity_of(place), vruntime_of(place)))
    }

    /// Whether the arrival numbers have run out, once in 2^32, so that the waiting entities must be
    /// [renumbered](Timeline::renumber) before the next insertion.
    #[inline]
    pub fn must_renumber(&self) -> bool {
        self.arrivals == u32::MAX
    }

    /// Inserts `e` after all entities with the same virtual time. Returns its arrival number, which
    /// is needed to find it again.
    #[inline]
    pub fn insert(&mut self, e: EntityId, vruntime: Vruntime) -> u32 {
        let arrival = self.arrivals;
        self.arrivals += 1;
        self.places.insert(place(vruntime, arrival, e));
        arrival
    }

    /// Removes the entity that is furthest behind.
    #[inline]
    pub fn pop_leftmost(&mut self) -> Option<EntityId> {
        self.places.pop().map(entity_of)
    }

    /// Removes `e`, which was inserted with this virtual time and received this number.
    #[inline]
    pub fn remove(&mut self, e: EntityId, vruntime: Vruntime, arrival: u32) {
        self.places.remove(place(vruntime, arrival, e));
    }

    /// Renumbers the waiting entities from 0, in their order; calls `renumbered` with each and its
    /// number.
    #[cold]
    pub fn renumber(&mut self, mut renumbered: impl FnMut(EntityId, u32)) {
        let mut arrivals = 0;
        self.places.replace_all(|old| {
            let (e, arrival) = (entity_of(old), arrivals);
            arrivals += 1;
            renumbered(e, arrival);
            place(vruntime_of(old), arrival, e)
        });
        self.arrivals = arrivals;
    }

    /// Checks the invariants.
    ///
    /// # Errors
    /// The invariant that does not hold.
    pub fn audit(&self) -> Result<(), &'static str> {
        self.places.audit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use alloc::vec::Vec;

    fn id(e: u32) -> EntityId {
        EntityId::new(e as usize)
    }

    /// A timeline and a plain list that is sorted again, stably, after each arrival.
    struct Pair {
        timeline: Timeline,
        model: Vec<(u64, u32)>,
        arrival: Vec<u32>,
        /// All virtual times are relative to this.
        base: u64,
    }

    impl Pair {
        fn new(entities: usize, base: u64) -> Pair {
            let timeline = Timeline::new();
            Pair { timeline, model: Vec::new(), arrival: alloc::vec![0; entities], base }
        }

        fn at(&self, vruntime: u64) -> Vruntime {
            Vruntime::from_ns(self.base) + vruntime
        }

        fn insert(&mut self, e: u32, vruntime: u64) {
            if self.timeline.must_renumber() {
                let arrival = &mut self.arrival;
                self.timeline.renumber(|e, number| arrival[e.index()] = number);
            }
            self.arrival[e as usize] = self.timeline.insert(id(e), self.at(vruntime));
            let at = self.model.partition_point(|&(other, _)| other <= vruntime);
            self.model.insert(at, (vruntime, e));
        }

        fn remove(&mut self, at: usize) {
            let (vruntime, e) = self.model.remove(at);
            self.timeline.remove(id(e), self.at(vruntime), self.arrival[e as usize]);
        }

        fn check(&self) {
            self.timeline.audit().unwrap();
            let found: Vec<(u64, u32)> = self
                .timeline
                .iter()
                .map(|(e, vruntime)| (vruntime.ns().wrapping_sub(self.base), e.index() as u32))
                .collect();
            assert_eq!(found, self.model);
            let first = self.model.first().copied();
            assert_eq!(self.timeline.leftmost(), first.map(|(_, e)| id(e)));
            let ends = [self.timeline.leftmost_vruntime(), self.timeline.rightmost_vruntime()];
            let expected = [first, self.model.last().copied()];
            assert_eq!(
                ends.map(|v| v.map(|v| v.ns().wrapping_sub(self.base))),
                expected.map(|place| place.map(|(vruntime, _)| vruntime))
            );
            assert_eq!(self.timeline.len(), self.model.len());
        }
    }

    #[test]
    fn it_agrees_with_a_sorted_list_under_random_use() {
        // Few equals and many; around the wrap of virtual time, and around half of it.
        for (seed, spread) in [(1, 1 << 30), (2, 5), (3, 300)] {
            for base in [0u64.wrapping_sub(spread / 2), (1 << 63) - spread / 2] {
                let mut random = Random(seed);
                let mut pair = Pair::new(1500, base);
                let mut absent: Vec<u32> = (0..1500).collect();
                for step in 0..12_000 {
                    // Grows to all entities, shrinks to none, grows again.
                    let grows = random.below(10) < if step / 3000 % 2 == 0 { 8 } else { 2 };
                    if grows && !absent.is_empty() {
                        let e = absent.swap_remove(random.below(absent.len() as u64) as usize);
                        pair.insert(e, random.below(spread));
                    } else if !pair.model.is_empty() {
                        let leftmost = random.below(2) == 0;
                        let at = if leftmost {
                            0
                        } else {
                            random.below(pair.model.len() as u64) as usize
                        };
                        absent.push(pair.model[at].1);
                        pair.remove(at);
                    }
                    if step % 50 == 0 {
                        pair.check();
                    }
                }
                while !pair.model.is_empty() {
                    pair.remove(0);
                }
                pair.check();
            }
        }
    }

    #[test]
    fn equals_keep_their_order_when_arrivals_are_numbered_anew() {
        let mut pair = Pair::new(1000, 7);
        for e in 0..600 {
            pair.insert(e, u64::from(e % 3));
        }
        pair.timeline.arrivals = u32::MAX - 1;
        for e in 600..1000 {
            pair.insert(e, u64::from(e % 3));
        }
        assert_eq!(pair.timeline.arrivals, 1000 - 1 + 1);
        pair.check();
        while !pair.model.is_empty() {
            pair.remove(pair.model.len() / 2);
        }
        pair.check();
    }
}
