//! Costs of calls. All times come from [`CallCosts`](schedlab_machine::costs::CallCosts).
//!
//! A call that wakes others, or forks, spends its cost first and then takes effect. A call that
//! waits spends its cost when it has what it waited for.
//!
//! | call | cost |
//! |---|---|
//! | write, read | `socket_write`, `pipe_write`; `socket_read`, `pipe_read`, and `message_remote`, and the time for which others keep the bus busy (`message_bus`) |
//! | lock, unlock (`MutexKind::{Urgency, Inherit}`) | `try_lock`; `futex` if it waits or wakes |
//! | lock, unlock (other mutexes) | nothing: it is part of what the program computes |
//! | trying a lock | `try_lock` |
//! | post, wait (`SemaphoreKind::Handed`) | `try_lock`; `futex` if it waits or wakes |
//! | post, wait (`SemaphoreKind::Syscall`), opening a latch | `futex` |
//! | signal, broadcast, resume, unpark | `try_lock`; `futex` if it wakes |
//! | waiting for a condition, at a barrier, to be resumed | `futex` |
//! | a timer, each reading of the clock by `runtime` | `clock` |
//! | yield, fork, exec | `yield`, `fork`, `exec` |
//! | a chunk of a file | `block_io` for each 4 KiB |
//!
//! Running and sleeping have no cost of their own.

use super::blocked::Blocked;
use super::device::CHUNK_KIB;
use super::kernel::Kernel;
use super::objects::Objects;
use super::semaphore::SemaphoreKind;
use super::step::Step;
use super::task::is_asleep;
use schedlab_machine::costs::CallCosts;

impl Kernel {
    /// Returns the time that a task must spend before `step` takes effect, ns, where calls are not
    /// free.
    pub(super) fn cost_before(&mut self, step: &Step) -> u64 {
        if let Step::Unlock(mutex) = *step {
            return match self.objects.mutexes[mutex.0 as usize].kind.is_futex() {
                true => {
                    let wakes = self.is_wanted(mutex);
                    futex_ns(&self.costs, wakes)
                }
                false => 0,
            };
        }
        let costs = &self.costs;
        match *step {
            Step::Signal(condition) | Step::Broadcast(condition) => {
                futex_ns(costs, !self.objects.conditions[condition.0 as usize].is_empty())
            }
            Step::Resume { name, .. } => {
                let suspended = &self.objects.suspensions[name.0 as usize];
                futex_ns(costs, suspended.has_sleepers(|sleeper| is_asleep(&self.tasks, sleeper)))
            }
            Step::Unpark { task, .. } => {
                futex_ns(costs, self.tasks[task.index()].blocked == Blocked::Suspended)
            }
            Step::Barrier(_) | Step::Open(_) => costs.futex_ns,
            Step::TryLock(_) => costs.try_lock_ns,
            Step::Timer { .. } => costs.clock_ns,
            Step::Fork(_) | Step::ForkScript { .. } => costs.fork_ns,
            Step::Exec => costs.exec_ns,
            Step::Yield => costs.yield_ns,
            Step::FileWrite(_) => self.chunk_cpu_ns(),
            _ => simple_cost_before(&self.objects, costs, step).unwrap_or(0),
        }
    }

    /// Returns the cost of copying a chunk of a file to or from the page cache, ns.
    pub(super) fn chunk_cpu_ns(&self) -> u64 {
        CHUNK_KIB / 4 * self.costs.block_io_ns
    }

    /// Charges a task that has or will have what it asked for with the cost of the call.
    #[inline]
    pub(super) fn owe_futex(&mut self, task: u32, waited: bool) {
        self.tasks[task as usize].owes_ns += futex_ns(&self.costs, waited);
    }
}

/// [`Kernel::cost_before`] for the most frequent steps; `None` for others.
#[inline]
pub(super) fn simple_cost_before(objects: &Objects, costs: &CallCosts, step: &Step) -> Option<u64> {
    match *step {
        Step::Run(_)
        | Step::RunUntil(_)
        | Step::Sleep(_)
        | Step::SleepUntil(_)
        | Step::Read(..)
        | Step::Wait(_)
        | Step::Lock(..) => Some(0),
        Step::Write(channel, bytes) => {
            let is_socket = objects.channels[channel.0 as usize].is_socket();
            let write_ns = if is_socket { costs.socket_write_ns } else { costs.pipe_write_ns };
            Some(write_ns + copying_ns(costs, bytes))
        }
        Step::Post(semaphore) => {
            let semaphore = &objects.semaphores[semaphore.0 as usize];
            let wakes = !semaphore.waiters.is_empty();
            Some(futex_ns(costs, wakes || semaphore.kind == SemaphoreKind::Syscall))
        }
        _ => None,
    }
}

/// Returns the cost of a call that enters the kernel or stays in user space, ns.
#[inline]
pub(super) fn futex_ns(costs: &CallCosts, enters_kernel: bool) -> u64 {
    if enters_kernel { costs.futex_ns } else { costs.try_lock_ns }
}

/// Returns the cost of copying the part of a message beyond 100 bytes, ns.
#[inline]
pub(super) fn copying_ns(costs: &CallCosts, bytes: u32) -> u64 {
    u64::from(bytes.saturating_sub(100)) * costs.copy_kib_ns / 1024
}
