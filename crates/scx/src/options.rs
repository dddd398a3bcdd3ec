//! Options of a policy's scheduler.

use schedlab_core::Promises;

/// Action when a policy ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnEnd {
    /// The run stops. The hook unwinds with the message, and the code that catches a scheduler's
    /// panics reports it. Nothing is printed.
    #[default]
    Stop,
    /// The run continues. All tasks run first come, first served from one queue, in slices of 5 ms.
    /// (A kernel continues with its fair class.)
    GoOn,
}

/// The kernel whose class is emulated.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Profile {
    /// Linux 6.18.
    #[default]
    V6_18,
    /// Linux 7.3. `dequeue` is called whenever a task leaves the policy's custody, including when
    /// it is taken from one of the policy's queues to run. Changes and births carry separate flags.
    V7_3,
}

/// Options of a policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// Action when it ends.
    pub on_end: OnEnd,
    /// Whether its printed output is kept.
    pub keeps_printed: bool,
    /// Seed of `bpf_get_prandom_u32`.
    pub seed: u64,
    /// The kernel whose class is emulated.
    pub profile: Profile,
    /// Time for which a task that a CPU has put back into a queue stays invisible to another CPU
    /// whose own task can continue, ns. 0: an instant is atomic. In a kernel two CPUs whose slices
    /// end at the same tick reschedule at once, and neither finds the task that the other is about
    /// to put back.
    pub put_back_ns: u64,
    /// Promises of its author. `stress` checks them.
    pub promises: Promises,
}
