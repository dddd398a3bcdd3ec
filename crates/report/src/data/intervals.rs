//! Intervals in which tasks ran ([`SliceRow`]) or were runnable ([`SpanRow`]).

use serde::{Deserialize, Serialize};

/// Slice: CPU, beginning (ns), end (ns), task number. An array of four in JSON.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SliceRow(pub u32, pub u64, pub u64, pub u32);

/// Span: beginning (ns), end (ns), task number. An array of three in JSON.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SpanRow(pub u64, pub u64, pub u32);
