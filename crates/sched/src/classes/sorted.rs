//! Numbers in their order: [`Sorted`], what the timeline of CFS is made of.
//!
//! # Why not a tree
//!
//! A timeline is asked for its least all the time, and gets newcomers that belong anywhere. Here
//! the numbers stand one after the other in **sorted blocks**, which the caches and the branch
//! predictor of a real CPU like far better than the links of a tree: **the greatest first**, so
//! that the least is at the very end and is taken out by making the list shorter.
//!
//! A block that overflows is split, and blocks are found through the list of their least numbers.
//! They are not merged again, but go when they are empty: as time goes on all of them are emptied.
//!
//! # Cost
//!
//! The least: nothing. Taking it out: O(1). Insertion and removal elsewhere: a binary search, and a
//! move of at most one block (1 KiB). Once in `BLOCK` / 2 insertions at most a block is split,
//! which moves up to half of the list of blocks; nothing of it if that happens at one of its ends.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// How many numbers a block has at most.
const BLOCK: usize = 64;

/// Up to so many blocks are searched one by one, which is quicker than halving.
const FEW: usize = 6;

/// Neighbours in the order, the greatest first. Never empty.
#[derive(Clone, Debug)]
struct Block {
    /// The last of `numbers`.
    least: u128,
    numbers: Vec<u128>,
}

/// Different numbers in their order. They may wrap: `a` comes before `b` if the difference `a - b`,
/// taken as signed, is negative, so that all of them must lie within 2^127 of each other.
#[derive(Clone, Debug)]
pub struct Sorted {
    /// The least of all, [`Sorted::NONE`] if there is none.
    least: u128,
    len: usize,
    /// The last block holds the least.
    blocks: VecDeque<Block>,
    /// Room of blocks that have become empty.
    spare: Vec<Vec<u128>>,
}

impl Sorted {
    /// Stands for no number, and cannot be a member.
    pub const NONE: u128 = u128::MAX;

    /// Without a number.
    pub const fn new() -> Sorted {
        Sorted { least: Self::NONE, len: 0, blocks: VecDeque::new(), spare: Vec::new() }
    }

    #[inline]
    const fn before(a: u128, b: u128) -> bool {
        (a.wrapping_sub(b) as i128) < 0
    }

    /// The least, [`Sorted::NONE`] if there is none.
    #[inline]
    pub fn least(&self) -> u128 {
        self.least
    }

    /// The greatest, [`Sorted::NONE`] if there is none.
    pub fn greatest(&self) -> u128 {
        self.blocks.front().map_or(Self::NONE, |block| block.numbers[0])
    }

    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All of them, rising.
    pub fn iter(&self) -> impl Iterator<Item = u128> + '_ {
        self.blocks.iter().rev().flat_map(|block| block.numbers.iter().rev()).copied()
    }

    /// Puts a number in that is not there.
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

    /// Takes out a number that is there.
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

    /// Takes out the least.
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

    /// Gives each number, rising, another in its place. The order must stay as it is.
    pub fn replace_all(&mut self, mut other: impl FnMut(u128) -> u128) {
        for block in self.blocks.iter_mut().rev() {
            for number in block.numbers.iter_mut().rev() {
                *number = other(*number);
            }
            block.least = block.numbers[block.numbers.len() - 1];
        }
        self.least = self.blocks.back().map_or(Self::NONE, |block| block.least);
    }

    /// The place of the block in which `number` stands, or belongs.
    #[inline]
    fn block_of(&self, number: u128) -> usize {
        // What is less than all belongs in the last block.
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

    /// The only one.
    fn begin(&mut self, new: u128) {
        self.least = new;
        let mut numbers = self.spare.pop().unwrap_or_default();
        numbers.push(new);
        self.blocks.push_back(Block { least: new, numbers });
    }

    /// The lesser half of a block becomes a block of its own.
    #[cold]
    fn split(&mut self, place: usize) {
        let mut lesser = self.spare.pop().unwrap_or_default();
        lesser.reserve(BLOCK + 1);
        let block = &mut self.blocks[place];
        lesser.extend(block.numbers.drain(BLOCK / 2..));
        let least = core::mem::replace(&mut block.least, block.numbers[BLOCK / 2 - 1]);
        self.blocks.insert(place + 1, Block { least, numbers: lesser });
    }

    /// A block is empty.
    fn drop_block(&mut self, place: usize) {
        if let Some(block) = self.blocks.remove(place) {
            self.spare.push(block.numbers);
        }
    }

    /// Checks that everything is in order.
    ///
    /// # Errors
    /// What is wrong.
    pub fn audit(&self) -> Result<(), &'static str> {
        if self.blocks.iter().any(|block| block.numbers.last() != Some(&block.least)) {
            return Err("a block is empty or does not know its least number");
        }
        if self.least != self.blocks.back().map_or(Self::NONE, |block| block.least) {
            return Err("the least number is another one");
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

    /// Beside a set, growing to thousands, shrinking to a few, and so on. The numbers are even,
    /// from `base` on.
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
            // At the beginning, around where numbers wrap, and half way round.
            for base in [0, 0u128.wrapping_sub(wide), (1 << 127) - wide] {
                agrees_with_a_set(base, spread);
            }
        }
    }
}
