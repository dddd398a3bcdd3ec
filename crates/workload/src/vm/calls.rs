//! What system calls cost, on a machine where they cost something.
//!
//! As in the language of benchmarks ([`os`](crate::os)): a call that wakes others, or forks, burns
//! its cost first and then takes effect; one that waits burns it when it has what it waited for. So
//! the cost of a message lies on the message's path.
//!
//! * `lock`, `unlock`, `signal`, `broad`, `resume`, `sem_post`, `sem_wait`: a try at a lock in user
//!   space (`try_lock`) if nobody has to wait or to be woken; else `futex`.
//! * `wait`, `suspend`, `barrier`: `futex`.
//! * `timer`, each look at the clock of `runtime`: `clock`.
//! * `yield`: `yield`; `fork`: `fork`.
//!
//! `run` and `sleep` have no cost of their own; those of `mem`, `memrun` and `iorun` are in
//! [`Costs`](crate::Costs).

use super::{ANYBODY, Order, Vm};
use crate::program::Instr;

impl Vm {
    /// What the thread is to burn before the event at its place takes effect, ns; none: nothing, or
    /// it has.
    #[inline]
    pub(super) fn pay_before(&mut self, number: u32, instr: Instr) -> Option<u64> {
        let calls = self.calls?;
        if std::mem::take(&mut self.threads[number as usize].paid) {
            return None;
        }
        let ns = match instr {
            Instr::Unlock { .. }
            | Instr::Signal { .. }
            | Instr::Broad { .. }
            | Instr::Resume { .. }
            | Instr::ResumeThread { .. }
            | Instr::SemPost { .. } => match self.has_whom_to_wake(instr) {
                true => calls.futex_ns,
                false => calls.try_lock_ns,
            },
            Instr::Barrier { .. } => calls.futex_ns,
            Instr::Timer { .. } => calls.clock_ns,
            Instr::Yield => calls.yield_ns,
            Instr::Fork { .. } => calls.fork_ns,
            _ => 0,
        };
        self.threads[number as usize].paid = ns > 0;
        (ns > 0).then_some(ns)
    }

    /// The thread was or will be given what it asked for: what it burns then.
    pub(super) fn owe(&mut self, number: u32, waited: bool) {
        if let Some(calls) = self.calls {
            self.threads[number as usize].owes_ns +=
                if waited { calls.futex_ns } else { calls.try_lock_ns };
        }
    }

    /// What the thread has yet to burn for what it was given, ns.
    #[inline]
    pub(super) fn pay_after(&mut self, number: u32) -> Option<u64> {
        let owes_ns = std::mem::take(&mut self.threads[number as usize].owes_ns);
        (owes_ns > 0).then_some(owes_ns)
    }

    /// The next order that is left over from an event of the thread. Where operations take no time
    /// they are given in a row; where they do, others may come in between.
    #[inline]
    pub(super) fn pending_order(&mut self, number: u32) -> Option<Order> {
        if self.pending.is_empty() {
            return None;
        }
        let place = self.pending.iter().position(|&(by, _)| by == number || by == ANYBODY)?;
        self.pending.remove(place).map(|(_, order)| order)
    }

    pub(super) fn has_pending(&self, number: u32) -> bool {
        self.pending.iter().any(|&(by, _)| by == number || by == ANYBODY)
    }

    /// The thread was killed in the middle of an event: whom it has set free is woken all the same.
    pub(super) fn leave_orders(&mut self, number: u32) {
        self.pending.retain(|(by, order)| *by != number || !matches!(order, Order::Then(_)));
        for (by, _) in &mut self.pending {
            if *by == number {
                *by = ANYBODY;
            }
        }
    }
}
