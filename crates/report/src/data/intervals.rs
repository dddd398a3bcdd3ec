//! Who ran where, and who was runnable, by time: [`SliceRow`], [`SpanRow`].

use serde::{Deserialize, Serialize};

/// A slice: CPU, from (ns), to (ns), task number. An array of four in JSON.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SliceRow(pub u32, pub u64, pub u64, pub u32);

/// A span: from (ns), to (ns), task number. An array of three in JSON.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SpanRow(pub u64, pub u64, pub u32);
