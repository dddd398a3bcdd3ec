//! What tasks do: workload files and the programs in them.

pub mod golden;

pub use golden::GoldenFile;
