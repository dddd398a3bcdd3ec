//! Costs of operations: kernel time on a modelled machine.
//!
//! # How time is spent
//!
//! An operation of the kernel (a wakeup, a tick, a reschedule) **takes effect at the instant at
//! which it begins, and then spends its time**. Its CPU is *busy* until then. (A single lock for
//! all CPUs makes exceptions; see below.) The remaining work of the task on that CPU is delayed by
//! the same time. Two things wait until a CPU is no longer busy, because they happen on the way out
//! of the kernel:
//!
//! * The **next operation** of a task: two wakeups in a row take the time of two wakeups.
//! * A **reschedule** that was requested: one reschedule serves all requests that arrive in the
//!   meantime. It comes before the next operation, so a task that is preempted in a system call is
//!   preempted at its end. (A task that blocks is switched away at once, because it calls
//!   `schedule()` itself.)
//!
//! # Locks
//!
//! Operations touch runqueues under a lock ([`Locking`]): one for all CPUs, or one for each CPU's
//! queue. A lock is described by the time at which it becomes free. A CPU that comes earlier spins
//! until then and also spends that time. Charged inside the lock: scanning, queueing and moving
//! tasks. Charged outside: entering the kernel, the switch itself, filling caches. An operation
//! takes all its locks at its beginning, so locks are granted in the order in which operations
//! begin. Of two runqueue locks, the kernel takes that of the lower CPU first. A CPU that holds
//! only the higher one and finds the lower one held releases its own and takes it again, and is
//! charged for that.
//!
//! With one lock for all CPUs, a CPU may wait for it longer than a task runs. A `schedule()` that
//! decided before it had the lock would decide on stale data. Here a reschedule therefore **waits
//! for the lock first**, spinning, and takes effect when it has it. The CPU that has waited longest
//! is next. Until then a CPU keeps its task, and a task that calls to sleep is still runnable. A
//! wakeup before the CPU has the lock keeps that task awake, and it passes through `schedule()`
//! without effect, as in the kernel. Even here, wakeups take effect at once. They wait only for the
//! holder of the lock, not for CPUs that wait for it. That is a simplification, and a large one
//! (docs/calibration.md). Each waiting CPU makes handing over the lock longer by one transfer of a
//! cache line. A task that wakes several others in a row releases the lock in between. Whether a
//! waiting CPU gets the lock first is a **race** between the transfer of a cache line to that CPU
//! and the waker's way to the next wakeup. Nothing in the model decides this race, so its winner is
//! drawn (`Modelled::loses_lock`), with the seed of [`Setup`].
//!
//! A **linear search** ([`Inspect::scan_len`](schedlab_core::Inspect::scan_len)) takes effect when
//! it ends. Until then the lock is held and interrupts are off, so a tick finds the task that is
//! about to be replaced, and not the one that is found. A search may take a millisecond.
//!
//! # Late timers
//!
//! With a table of latencies, each wakeup by a timer is late by an amount drawn from the table. Its
//! CPU spends that time in the interrupt, before the time of the wakeup itself. A CPU that the
//! wakeup interrupts is in its interrupt longer by the same amount. A timer that the scheduler arms
//! (the end of a turn or of a quota's period) fires later by such an amount. The draws have their
//! own generators, so a run without a table is unaffected.
//!
//! # What is not charged
//!
//! Changes of attributes, affinity and groups; the scheduler's own timers, because it is unknown on
//! which CPU they fire; actions from outside the machine. With tickless idling, ticks of idle CPUs:
//! their hooks still run, since a busy CPU balances for them, but no CPU is charged.

pub(super) mod bill;
mod charge;
mod locks;
pub(super) mod modelled;
mod put_off;
mod stops;
#[cfg(test)]
mod tests;
