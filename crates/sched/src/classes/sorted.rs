//! Sorted numbers: [`Sorted`], on which the timeline of CFS is built.
//!
//! # Why not a tree
//!
//! The least element of a timeline is read constantly, and new elements belong anywhere. Here the
//! numbers are stored next to each other in **sorted blocks**, which suit the caches and the branch
//! predictor of a real CPU far better than the links of a tree. **The greatest comes first**, so
//! that the least is at the very end and is removed by shortening the list.
//!
//! A block that overflows is split, and blocks are found through the list of their least numbers.
//! Blocks are not merged again, but are dropped when they are empty: as time passes, all of them
//! become empty.
//!
//! # Cost
//!
//! Reading the least: nothing. Removing it: O(1). Insertion and removal elsewhere: a binary search,
//! and a move of at most one block (1 KiB). At most once in `BLOCK` / 2 insertions a block is
//! split. A split moves up to half of the entries in the list of blocks, or none if the block is at
//! either end.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// Maximum number of elements of a block.
const BLOCK: usize = 64;

/// Up to this number of blocks a linear search is used, which is faster than a binary one.
const FEW: usize = 6;

/// A run of neighbouring numbers, the greatest first. Never empty.
#[derive(Clone, Debug)]
struct Block {
    /// The last of `numbers`.
    least: u128,
    numbers: Vec<u128>,
}

/// A sorted set of distinct numbers. They may wrap: `a` comes before `b` if the difference `a - b`,
/// taken as signed, is negative. All of them must therefore lie within 2^127 of each other.
#[derive(Clone, Debug)]
pub struct Sorted {
    /// The least of all. [`Sorted::NONE`] if the set is empty.
    least: u128,
    len: usize,
    /// The last block holds the least.
    blocks: VecDeque<Block>,
    /// Buffers of blocks that have become empty, for reuse.
    spare: Vec<Vec<u128>>,
}

impl Sorted {
    /// Represents the absence of a number. It cannot be a member.
    pub const NONE: u128 = u128::MAX;

    /// Creates an empty set.
    pub const fn new() -> Sorted {
        Sorted { least: Self::NONE, len: 0, blocks: VecDeque::new(), spare: Vec::new() }
    }

    #[inline]
    const fn before(a: u128, b: u128) -> bool {
        (a.wrapping_sub(b) as i128) < 0
    }

    /// Returns the least number. [`Sorted::NONE`] if the set is empty.
    #[inline]
    pub fn least(&self) -> u128 {
        self.least
    }

    /// Returns the greatest number. [`Sorted::NONE`] if the set is empty.
    pub fn greatest(&self) -> u128 {
        self.blocks.front().map_or(Self::NONE, |block| block.numbers[0])
    }

    /// Returns the number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the set is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns all numbers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u128> + '_ {
        self.blocks.iter().rev().flat_map(|block| block.numbers.iter().rev()).copied()
    }

    /// Inserts a number that is not a member.
    #[inline]
    pub fn insert(&mut self, new: u128) {
        debug_assert_ne!(new, Self::NONE);
        self.len += 1;
        if self.len == 1 {
            return self.begin(new);
        }
        if Self::before(new, self.least) {
            self.least = new;
        }
        let place = self.block_of(new);
        let block = &mut self.blocks[place];
        let at = block.numbers.partition_point(|&other| Self::before(new, other));
        if at == block.numbers.len() {
            block.least = new;
        }
        block.numbers.insert(at, new);
        if block.numbers.len() > BLOCK {
            self.split(place);
        }
    }

    /// Removes a member.
    #[inline]
    pub fn remove(&mut self, old: u128) {
        if old == self.least {
            self.pop();
            return;
        }
        let place = self.block_of(old);
        let block = &mut self.blocks[place];
        let at = block.numbers.partition_point(|&other| Self::before(old, other));
        debug_assert_eq!(block.numbers[at], old);
        block.numbers.remove(at);
        self.len -= 1;
        match block.numbers.last() {
            Some(&least) => block.least = least,
            None => self.drop_block(place),
        }
    }

    /// Removes the least.
    #[inline]
    pub fn pop(&mut self) -> Option<u128> {
        let block = self.blocks.back_mut()?;
        let popped = block.numbers.pop();
        self.len -= 1;
        match block.numbers.last() {
            Some(&least) => {
                block.least = least;
                self.least = least;
            }
            None => {
                self.drop_block(self.blocks.len() - 1);
                self.least = self.blocks.back().map_or(Self::NONE, |block| block.least);
            }
        }
        popped
    }

    /// Replaces each number, in ascending order, by another. The order must stay the same.
    pub fn replace_all(&mut self, mut other: impl FnMut(u128) -> u128) {
        for block in self.blocks.iter_mut().rev() {
            for number in block.numbers.iter_mut().rev() {
                *number = other(*number);
            }
            block.least = block.numbers[block.numbers.len() - 1];
        }
        self.least = self.blocks.back().map_or(Self::NONE, |block| block.least);
    }

    /// Returns the index of the block that contains `number`, or to which it belongs.
    #[inline]
    fn block_of(&self, number: u128) -> usize {
        // A number less than all others belongs in the last block.
        let last = self.blocks.len() - 1;
        if last > FEW {
            return self
                .blocks
                .partition_point(|block| Self::before(number, block.least))
                .min(last);
        }
        let mut place = last;
        while place > 0 && !Self::before(number, self.blocks[place - 1].least) {
            place -= 1;
        }
        place
    }

    /// Inserts the first number.
    fn begin(&mut self, new: u128) {
        self.least = new;
        let mut numbers = self.spare.pop().unwrap_or_default();
        numbers.push(new);
        self.blocks.push_back(Block { least: new, numbers });
    }

    /// Splits the lesser half of a block off into a new block.
    #[cold]
    fn split(&mut self, place: usize) {
        let mut lesser = self.spare.pop().unwrap_or_default();
        lesser.reserve(BLOCK + 1);
        let block = &mut self.blocks[place];
        lesser.extend(block.numbers.drain(BLOCK / 2..));
        let least = core::mem::replace(&mut block.least, block.numbers[BLOCK / 2 - 1]);
        self.blocks.insert(place + 1, Block { least, numbers: lesser });
    }

    /// Drops an empty block.
    fn drop_block(&mut self, place: usize) {
        if let Some(block) = self.blocks.remove(place) {
            self.spare.push(block.numbers);
        }
    }

    /// Checks the invariants.
    ///
    /// # Errors
    /// The invariant that does not hold.
    pub fn audit(&self) -> Result<(), &'static str> {
        if self.blocks.iter().any(|block| block.numbers.last() != Some(&block.least)) {
            return Err("a block is empty or has a wrong least number");
        }
        if self.least != self.blocks.back().map_or(Self::NONE, |block| block.least) {
            return Err("the least number is wrong");
        }
        if self.len != self.iter().count() {
            return Err("the count of numbers is wrong");
        }
        let next = self.iter().skip(1);
        if self.iter().zip(next).any(|(a, b)| !Self::before(a, b)) {
            return Err("numbers are out of order");
        }
        Ok(())
    }
}

impl Default for Sorted {
    fn default() -> Sorted {
        Sorted::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use alloc::collections::BTreeSet;

    /// Compares it with a `BTreeSet` while both grow to thousands of numbers, shrink to a few, and
    /// so on. The numbers are even and start at `base`.
    fn agrees_with_a_set(base: u128, spread: u64) {
        let mut random = Random(1);
        let mut sorted = Sorted::new();
        let mut model: BTreeSet<u64> = BTreeSet::new();
        let number = |step: u64| base.wrapping_add(2 * u128::from(step));
        for round in 0..20_000 {
            let grows = random.below(10) < if round / 4000 % 2 == 0 { 8 } else { 2 };
            let step = random.below(spread);
            if grows {
                if model.insert(step) {
                    sorted.insert(number(step));
                }
            } else if random.below(2) == 0 {
                assert_eq!(sorted.pop(), model.pop_first().map(number));
            } else if let Some(&step) = model.range(step..).next() {
                model.remove(&step);
                sorted.remove(number(step));
            }
            let or_none = |step: Option<&u64>| step.map_or(Sorted::NONE, |&step| number(step));
            assert_eq!((sorted.len(), sorted.is_empty()), (model.len(), model.is_empty()));
            assert_eq!(sorted.least(), or_none(model.first()));
            assert_eq!(sorted.greatest(), or_none(model.last()));
            if round % 100 == 0 {
                sorted.audit().unwrap();
                assert!(sorted.iter().eq(model.iter().map(|&step| number(step))));
            }
        }
        while let Some(step) = model.pop_first() {
            sorted.remove(number(step));
        }
        sorted.audit().unwrap();
        assert_eq!(sorted.pop(), None);
    }

    #[test]
    fn it_agrees_with_a_set_under_random_use() {
        for spread in [100, 1 << 30] {
            let wide = u128::from(spread);
            // At the beginning, around the point where numbers wrap, and half way round.
            for base in [0, 0u128.wrapping_sub(wide), (1 << 127) - wide] {
                agrees_with_a_set(base, spread);
            }
        }
    }
}
