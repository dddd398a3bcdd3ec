//! User halves, scripted: what the process beside a policy sets before it loads it, fills maps with
//! and calls before it attaches it, and does from time to time while it runs.
//!
//! A [`Script`] is what a user wrote, names and all. [`Script::prepare`] carries out what is done
//! before loading on an [`Image`](crate::Image), and finds everything else by the object's types;
//! what is left is a [`UserHalf`], which the image keeps and every scheduler made of it carries
//! out. It is deterministic, and takes no CPU time of the simulated machine.

mod eval;
pub mod expr;
pub mod plan;
mod prepare;
mod run;
mod scope;
pub mod script;
pub(crate) mod state;
