//! Simultaneous events in shuffled order: [`Due`].

use schedlab_core::{CpuId, TaskId, TimerKey, TimerPhase};

/// An event that is due now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Due {
    Completion(CpuId),
    Sleeper(TaskId),
    Timer(TimerPhase, TimerKey),
    Tick(CpuId),
}
