//! What operations cost on a modelled machine.
//!
//! The idealised machine decides, switches and calls at no cost; golden schedules need that. A modelled machine has a cost model:
//! data from a description file, each number with its source.
//!
//! * [`calls`]: what programs pay for system calls and copying.

pub mod calls;

pub use calls::CallCosts;
