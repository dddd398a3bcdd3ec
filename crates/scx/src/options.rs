//! Options of a policy's scheduler.

use schedlab_core::Promises;

/// What happens when a policy ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnEnd {
    /// The run ends: the hook unwinds with the message, and whoever catches a scheduler's panics
    /// reports it. Nothing is printed.
    #[default]
    Stop,
    /// The run goes on: all tasks run first come first served from one queue, in turns of 5 ms, as
    /// a kernel goes on with its fair class.
    GoOn,
}

/// The kernel whose class is played.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Profile {
    /// Linux 6.18.
    #[default]
    V6_18,
    /// Linux 7.3: `dequeue` is called whenever a task leaves the policy's custody, also when it is
    /// taken from one of the policy's queues to run; changes and births carry flags of their own.
    V7_3,
}

/// How a policy is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// What happens when it ends.
    pub on_end: OnEnd,
    /// Whether what it prints is kept.
    pub keeps_printed: bool,
    /// What `bpf_get_prandom_u32` starts from.
    pub seed: u64,
    /// The kernel whose class is played.
    pub profile: Profile,
    /// So long a task that a CPU has put back into a queue is not seen by another CPU that has a
    /// task to go on with, ns; 0: an instant is atomic. In a kernel two CPUs whose slices end at
    /// one tick reschedule at once, and neither finds what the other is about to put back.
    pub put_back_ns: u64,
    /// What its author promises; `stress` holds it to that.
    pub promises: Promises,
}
