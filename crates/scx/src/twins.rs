//! Twins: policies that decide as a scheduler of the laboratory does, and the code that compares
//! the two.
//!
//! The twins of the laboratory's schedulers write a record of 80 bytes into their ring buffer
//! `decisions` at each event (`examples/scx/scx_lab.h`, setting `log_decisions`). A
//! [`Decision`](decision::Decision) is such a record. A [`Header`](log::Header) states where the
//! records were written. Together they form a text ([`Log`](log::Log)), which
//! `docs/live-kernel.md` describes. [`retrace`](retrace::retrace) replays a log through the
//! scheduler of which the policy is a twin.

pub mod collector;
pub mod decision;
pub mod log;
pub mod report;
pub mod retrace;
