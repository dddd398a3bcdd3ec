//! Inputs without end for one reader: changed ones of those that were read in a new way before.

use crate::mutate::Mutator;
use crate::readers::{Reader, Shape};
use schedlab_lab::catch_panic;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// An input that takes longer hangs, as far as anybody who waits for it can tell.
pub const SLOW: Duration = Duration::from_secs(5);

/// So many inputs are gone on with, at most.
const POOL_MAX: usize = 5_000;

/// An input that a reader does not bear.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The input.
    pub input: Vec<u8>,
    /// What happened: the message of a panic, or how long it took.
    pub message: String,
}

/// A hunt for faults of a reader. The same reader, seed and corpus make the same inputs.
pub struct Hunt {
    reader: &'static Reader,
    mutator: Mutator,
    /// What is gone on with.
    pool: Vec<Vec<u8>>,
    /// The places in the pool of inputs that were written by people, and of those that were taken:
    /// what is made of them is read further than what is made of others.
    good: Vec<usize>,
    /// The place in the pool of the shortest input of each shape. Only looked up, never walked.
    shapes: HashMap<Shape, usize>,
    given: u64,
    taken: u64,
    /// The input being made, kept so that none needs memory of its own.
    next: Vec<u8>,
}

impl Hunt {
    /// A hunt that begins with a corpus, which is not read yet.
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

    /// Inputs given so far.
    pub fn given(&self) -> u64 {
        self.given
    }

    /// How many of them were taken, rather than refused.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// How many ways of reading an input are known.
    pub fn shapes(&self) -> usize {
        self.shapes.len()
    }

    /// Makes the next input.
    pub fn make(&mut self) -> &[u8] {
        let places = self.pool.len();
        // What was found last leads to more than what has been gone on with for long.
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

    /// Gives the reader what was made last, and goes on with it if it is read in a new way.
    pub fn give(&mut self) -> Result<(), Fault> {
        let input = std::mem::take(&mut self.next);
        let result = self.read(&input);
        self.next = input;
        result
    }

    /// Gives the reader an input.
    ///
    /// # Errors
    /// The reader does not bear it.
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

    /// The shortest input of each shape that was met, those that were taken first, then the longer
    /// ones: what a corpus is chosen from.
    pub fn kept(&self) -> Vec<(Shape, &[u8])> {
        let mut kept: Vec<(Shape, &[u8])> =
            self.shapes.iter().map(|(&shape, &place)| (shape, &*self.pool[place])).collect();
        kept.sort_by_key(|&(shape, input)| {
            (!shape.is_taken(), std::cmp::Reverse(input.len()), shape)
        });
        kept
    }
}
