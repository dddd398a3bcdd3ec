//! Observers of a run: what is worth knowing about it, computed from the stream of events.

pub mod slices;

pub use slices::{Slice, SliceRecorder};
