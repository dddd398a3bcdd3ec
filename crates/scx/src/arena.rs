//! Pages of an arena.
//!
//! An arena's pages lie in one region. The arena of an object (at most one) begins at the second
//! page of that region, so that the low half of its addresses is never 0. Free pages are unmapped
//! in the kernel. Here the pages that were allocated at some time are zeroed memory.

pub const PAGE: u32 = 4096;

/// Pages of the arena that are allocated.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Arena {
    pub(crate) taken: Vec<bool>,
}

impl Arena {
    /// Makes an arena whose first pages hold `bytes` bytes of variables.
    pub fn with(bytes: usize) -> Arena {
        Arena { taken: vec![true; bytes.div_ceil(PAGE as usize)] }
    }

    /// Finds the first of `count` adjacent free pages among `most` pages.
    pub(crate) fn find(&self, count: usize, most: usize) -> Option<usize> {
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
