//! Hostile input for every reader of foreign files. For any text, a reader must return a result: it
//! must not panic or hang, and must not accept invalid input.
//!
//! A [`Reader`](readers::Reader) is a function that reads an input like the program and checks the
//! result. A [`Hunt`](hunt::Hunt) gives it an endless sequence of inputs: the inputs of its corpus,
//! changed by a [`Mutator`](mutate::Mutator). `schedlab-fuzz` hunts for hours on all cores,
//! `cargo test` for seconds, and libFuzzer, guided by coverage, runs the same readers.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod corpus;
pub mod hunt;
pub mod ledger;
pub mod mutate;
pub mod readers;
