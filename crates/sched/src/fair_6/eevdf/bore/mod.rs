//! BORE, "Burst-Oriented Response Enhancer": a patch by Masahito Suzuki to EEVDF of Linux 6.18, in
//! its versions 6.5.9 and 6.7.3.
//!
//! # The algorithm
//!
//! A task's **burst** is the CPU time that it has used since it last slept or yielded. Interactive
//! tasks have short bursts, CPU hogs long ones. BORE turns the length of the burst into a
//! **penalty**, a logarithm: each doubling of the burst adds the same amount, and bursts below 16
//! ms are free. The penalty, divided by 256, is the **score**, 0 to 39, and the score counts like a
//! rise of the nice value. So a task that goes on and on becomes lighter and lighter, step by step,
//! and tasks with short bursts get ahead of it.
//!
//! ```text
//!    burst      1 ms     14 ms    50 ms    1 s
//!    score        0         1        3      10      (a nice 0 task then weighs as nice 10)
//! ```
//!
//! At the end of a burst the penalty becomes history, which rises slowly and falls at once; the
//! penalty in force is the larger one of history and present burst. A new task inherits a history:
//! the average of its relatives in the tree of processes, so that the compiler runs of a build are
//! hogs from the start. A task whose effective priority changes is **reweighted** at that moment,
//! even if it waits on a queue.
//!
//! Apart from the score, requests of woken and of new tasks are half as long, the limit of the lag
//! is halved, and 6.5.9 does not shorten the protection of the running task for short slices of the
//! others. The base slice is a multiple of the tick.
//!
//! # Where to read
//!
//! | file | subject |
//! |---|---|
//! | [`penalty`] | from a burst to a penalty and a score: numbers only |
//! | [`burst`] | a task's state |
//! | [`bursts`] | bursts grow, end and are forgotten |
//! | [`weight`] | the weight follows the score |
//! | [`kin`], [`inherit`] | the tree of processes, and what a child inherits |
//! | [`yielding`] | `sched_yield(2)` |
//! | [`releases`], [`settings`] | the versions and their differences; tunables |
//!
//! All else is [`eevdf`](super) of 6.18, whose files ask this folder where BORE changes a step. A
//! class without BORE has no [`settings`], and each of these questions is one comparison.
//!
//! # Cost
//!
//! O(1) for a charge, and O(log n) where the score changes. At a fork: a walk up the tree of
//! processes, and once per cache lifetime up to 63 relatives and the chains below them.

pub mod burst;
pub mod bursts;
pub mod inherit;
pub mod kin;
pub mod penalty;
pub mod releases;
pub mod settings;
#[cfg(test)]
mod tests;
pub mod weight;
pub mod yielding;

pub use releases::{ENTRY, Patch};
