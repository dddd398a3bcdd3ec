//! Scripted user halves. A user half is the process that accompanies a policy. Before it loads the
//! policy it sets variables; before it attaches the policy it fills maps and calls programs; while
//! the policy runs it acts from time to time.
//!
//! A [`Script`](script::Script) is what a user wrote, with names.
//! [`Script::prepare`](script::Script::prepare) applies to an [`Image`](crate::Image) what happens
//! before loading, and resolves everything else by the object's types. The rest is a
//! [`UserHalf`](plan::UserHalf), which the image keeps and every scheduler built from it carries
//! out. It is deterministic, and takes no CPU time of the simulated machine.

mod eval;
pub mod expr;
pub mod plan;
mod prepare;
mod run;
mod scope;
pub mod script;
pub(crate) mod state;
