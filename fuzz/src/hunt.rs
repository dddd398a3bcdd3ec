//! Endless inputs for one reader: changed copies of inputs that were read in a new way.

use crate::mutate::Mutator;
use crate::readers::{Reader, Shape};
use schedlab_lab::catch_panic;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// An input that takes longer counts as a hang.
pub const SLOW: Duration = Duration::from_secs(5);

/// Maximum number of inputs in the pool.
const POOL_MAX: usize = 5_000;

/// An input that a reader fails on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The input.
    pub input: Vec<u8>,
    /// Description: the message of a panic, or the time it took.
    pub message: String,
}

/// A hunt for faults of a reader. The same reader, seed and corpus yield the same inputs.
pub struct Hunt {
    reader: &'static Reader,
    mutator: Mutator,
    /// Inputs from which new ones are made.
    pool: Vec<Vec<u8>>,
    /// Indices in the pool of inputs that people wrote and of inputs that were accepted. Inputs
    /// made from them are read further than others.
    good: Vec<usize>,
    /// Index in the pool of the shortest input of each shape. Only looked up, never iterated.
    shapes: HashMap<Shape, usize>,
    given: u64,
    taken: u64,
    /// The current input. Its memory is reused.
    next: Vec<u8>,
}

impl Hunt {
    /// Makes a hunt that begins with a corpus. The corpus is not read yet.
    pub fn new(reader: &'static Reader, seed: u64, corpus: Vec<Vec<u8>>) -> Hunt {
        let mut pool = corpus;
        if pool.is_empty() {
            pool.push(vec![]);
        }
        Hunt {
            good: (0..pool.len()).collect(),
            reader,
            mutator: Mutator::new(seed, reader.words, reader.most),
            pool,
            shapes: HashMap::new(),
            given: 0,
            taken: 0,
            next: vec![],
        }
    }

    /// Returns the number of inputs given so far.
    pub fn given(&self) -> u64 {
        self.given
    }

    /// Returns the number of inputs accepted, not refused.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Returns the number of known ways of reading an input.
    pub fn shapes(&self) -> usize {
        self.shapes.len()
    }

    /// Makes the next input.
    pub fn make(&mut self) -> &[u8] {
        let places = self.pool.len();
        // Recent finds lead further than old ones.
        let place = match self.mutator.below(8) {
            0 if places > 64 => places - 1 - self.mutator.below(64),
            1 => self.mutator.below(places),
            _ => self.good[self.mutator.below(self.good.len())],
        };
        let other = match self.mutator.below(2) {
            0 => self.mutator.below(places),
            _ => self.good[self.mutator.below(self.good.len())],
        };
        let mut next = std::mem::take(&mut self.next);
        next.clear();
        next.extend_from_slice(&self.pool[place]);
        self.mutator.change(&mut next, &self.pool[other]);
        self.next = next;
        &self.next
    }

    /// Gives the current input to the reader, and adds it to the pool if it is read in a new way.
    pub fn give(&mut self) -> Result<(), Fault> {
        let input = std::mem::take(&mut self.next);
        let result = self.read(&input);
        self.next = input;
        result
    }

    /// Gives an input to the reader.
    ///
    /// # Errors
    /// If the reader fails on it.
    pub fn read(&mut self, input: &[u8]) -> Result<(), Fault> {
        self.given += 1;
        let fault = |message| Fault { input: input.to_vec(), message };
        let start = Instant::now();
        let shape = catch_panic(|| (self.reader.read)(input)).map_err(fault)?;
        let took = start.elapsed();
        if took > SLOW {
            return Err(fault(format!("it took {} ms", took.as_millis())));
        }
        self.taken += u64::from(shape.is_taken());
        match self.shapes.get(&shape) {
            Some(&place) if self.pool[place].len() > input.len() => {
                self.pool[place] = input.to_vec();
            }
            Some(_) => {}
            None if self.pool.len() < POOL_MAX => {
                self.shapes.insert(shape, self.pool.len());
                if shape.is_taken() {
                    self.good.push(self.pool.len());
                }
                self.pool.push(input.to_vec());
            }
            None => {}
        }
        Ok(())
    }

    /// Returns the shortest input of each shape, accepted ones first, then by length. A corpus is
    /// chosen from them.
    pub fn kept(&self) -> Vec<(Shape, &[u8])> {
        let mut kept: Vec<(Shape, &[u8])> =
            self.shapes.iter().map(|(&shape, &place)| (shape, &*self.pool[place])).collect();
        kept.sort_by_key(|&(shape, input)| {
            (!shape.is_taken(), std::cmp::Reverse(input.len()), shape)
        });
        kept
    }
}
