//! Hostile input for every reader of foreign files: whatever the text, a reader answers. It does
//! not panic, does not hang, and does not take what it should not.
//!
//! A [`Reader`](readers::Reader) is a function that reads an input as the program would and checks
//! what came of it. A [`Hunt`](hunt::Hunt) gives it inputs without end: those of its corpus,
//! changed by a [`Mutator`](mutate::Mutator). `schedlab-fuzz` hunts for hours on all cores,
//! `cargo test` for seconds, and libFuzzer, guided by coverage, runs the same readers.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod corpus;
pub mod hunt;
pub mod ledger;
pub mod mutate;
pub mod readers;
