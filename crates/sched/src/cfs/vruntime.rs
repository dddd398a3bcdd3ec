//! Virtual time: the vruntime of entities and queues.

use core::ops::{Add, AddAssign, Sub};

/// A point in virtual time, ns: for an entity, its weighted run time.
///
/// Virtual times wrap. Two of them are compared by the sign of their difference, so there is no
/// total order, and this type does not implement `Ord`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Vruntime(u64);

impl Vruntime {
    /// The start of virtual time: 2^20 ns before it wraps, so that an error in the comparison shows
    /// early.
    pub const INIT: Vruntime = Vruntime((1u64 << 20).wrapping_neg());

    /// Returns the point `ns` after 0.
    #[inline]
    pub const fn from_ns(ns: u64) -> Vruntime {
        Vruntime(ns)
    }

    /// Returns the nanoseconds since 0, modulo 2^64.
    #[inline]
    pub const fn ns(self) -> u64 {
        self.0
    }

    /// Whether this point is before `other`.
    #[inline]
    pub const fn is_before(self, other: Vruntime) -> bool {
        (self.0.wrapping_sub(other.0) as i64) < 0
    }

    /// `max_vruntime`: returns the later of the two.
    #[inline]
    pub const fn max(self, other: Vruntime) -> Vruntime {
        if self.is_before(other) { other } else { self }
    }

    /// `min_vruntime`: returns the earlier of the two.
    #[inline]
    pub const fn min(self, other: Vruntime) -> Vruntime {
        if other.is_before(self) { other } else { self }
    }

    /// Returns the distance of this point after `other`; negative if it is before it.
    #[inline]
    pub const fn ahead_of(self, other: Vruntime) -> i64 {
        self.0.wrapping_sub(other.0) as i64
    }
}

impl Add<u64> for Vruntime {
    type Output = Vruntime;
    #[inline]
    fn add(self, ns: u64) -> Vruntime {
        Vruntime(self.0.wrapping_add(ns))
    }
}

impl AddAssign<u64> for Vruntime {
    #[inline]
    fn add_assign(&mut self, ns: u64) {
        *self = *self + ns;
    }
}

impl Sub<u64> for Vruntime {
    type Output = Vruntime;
    #[inline]
    fn sub(self, ns: u64) -> Vruntime {
        Vruntime(self.0.wrapping_sub(ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn virtual_times_compare_across_the_wrap() {
        let [early, late] = [u64::MAX - 5, 3].map(Vruntime::from_ns);
        assert!(early.is_before(late) && !late.is_before(early));
        assert_eq!((early.max(late), early.min(late)), (late, early));
        assert_eq!((late.ahead_of(early), early.ahead_of(late)), (9, -9));
        assert_eq!((early + 9, late - 9), (late, early));
    }
}
