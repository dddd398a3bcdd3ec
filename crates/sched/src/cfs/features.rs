//! The scheduler's feature bits (`sched_features.h`), and those that each release has.

/// The scheduler's feature bits, by the kernel's names.
#[allow(missing_docs)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Feature {
    FairSleepers,
    NewFairSleepers,
    GentleFairSleepers,
    NormalizedSleeper,
    StartDebit,
    WakeupPreempt,
    AdaptiveGran,
    AsymGran,
    WakeupSync,
    WakeupOverlap,
    WakeupRunning,
    SyncWakeups,
    AffineWakeups,
    SyncLess,
    SyncMore,
    NextBuddy,
    LastBuddy,
    CacheHotBuddy,
    LbBias,
    LbSharesUpdate,
    AsymEffLoad,
    HrTick,
    DoubleTick,
    ArchPower,
    OwnerSpin,
    WakeupPreemption,
    NontaskPower,
    TtwuQueue,
    RtRuntimeShare,
    LbMin,
    ForceSdOverlap,
}

impl Feature {
    /// Returns its bit in a set of features.
    pub const fn bit(self) -> u32 {
        1 << self as u32
    }

    /// Returns its name and its effect.
    pub const fn describe(self) -> (&'static str, &'static str) {
        match self {
            Feature::FairSleepers => ("FAIR_SLEEPERS", "sleepers are placed behind the others"),
            Feature::NewFairSleepers => {
                ("NEW_FAIR_SLEEPERS", "sleepers are placed behind the others")
            }
            Feature::GentleFairSleepers => ("GENTLE_FAIR_SLEEPERS", "sleepers get half the credit"),
            Feature::NormalizedSleeper => {
                ("NORMALIZED_SLEEPER", "sleepers' credit depends on their weight")
            }
            Feature::StartDebit => ("START_DEBIT", "new tasks start a slice later"),
            Feature::WakeupPreempt => ("WAKEUP_PREEMPT", "woken tasks may preempt"),
            Feature::AdaptiveGran => {
                ("ADAPTIVE_GRAN", "smaller granularity for tasks that wake others soon")
            }
            Feature::AsymGran => {
                ("ASYM_GRAN", "granularity in the woken task's virtual time, not the running one's")
            }
            Feature::WakeupSync => ("WAKEUP_SYNC", "a synchronous wakeup always preempts"),
            Feature::WakeupOverlap => {
                ("WAKEUP_OVERLAP", "tasks that overlap little always preempt")
            }
            Feature::WakeupRunning => {
                ("WAKEUP_RUNNING", "a task with shorter runs always preempts")
            }
            Feature::SyncWakeups => ("SYNC_WAKEUPS", "the hint of synchronous wakeups is used"),
            Feature::AffineWakeups => {
                ("AFFINE_WAKEUPS", "a wakeup may pull the task to the waker's CPU")
            }
            Feature::SyncLess => {
                ("SYNC_LESS", "the sync hint is ignored for tasks that overlap much")
            }
            Feature::SyncMore => {
                ("SYNC_MORE", "wakeups between tasks that overlap little count as synchronous")
            }
            Feature::NextBuddy => ("NEXT_BUDDY", "a woken task is nominated"),
            Feature::LastBuddy => ("LAST_BUDDY", "a preempted task is nominated"),
            Feature::CacheHotBuddy => ("CACHE_HOT_BUDDY", "nominated tasks count as cache hot"),
            Feature::LbBias => {
                ("LB_BIAS", "the balancer compares decayed loads, biased against moving")
            }
            Feature::LbSharesUpdate => {
                ("LB_SHARES_UPDATE", "group shares are refreshed at wakeups")
            }
            Feature::HrTick => ("HRTICK", "a timer ends slices between ticks"),
            Feature::DoubleTick => ("DOUBLE_TICK", "with HRTICK the tick also checks slices"),
            Feature::ArchPower => {
                ("ARCH_POWER", "CPU power as reported by the architecture; all CPUs are equal here")
            }
            Feature::OwnerSpin => ("OWNER_SPIN", "mutexes spin; without effect here"),
            Feature::WakeupPreemption => ("WAKEUP_PREEMPTION", "woken tasks may preempt"),
            Feature::NontaskPower => {
                ("NONTASK_POWER", "interrupts take CPU power; without effect here")
            }
            Feature::TtwuQueue => {
                ("TTWU_QUEUE", "wakeups elsewhere are queued there; without effect here")
            }
            Feature::RtRuntimeShare => {
                ("RT_RUNTIME_SHARE", "real-time runtime is shared between CPUs; always so here")
            }
            Feature::LbMin => ("LB_MIN", "the balancer leaves very light tasks where they are"),
            Feature::ForceSdOverlap => {
                ("FORCE_SD_OVERLAP", "domains are built as overlapping ones; without effect here")
            }
            Feature::AsymEffLoad => {
                ("ASYM_EFF_LOAD", "no load added means none, whatever the shares")
            }
        }
    }
}

pub(super) const FEATURES_2_6_32: &[(Feature, bool)] = &[
    (Feature::FairSleepers, true),
    (Feature::GentleFairSleepers, true),
    (Feature::NormalizedSleeper, false),
    (Feature::StartDebit, true),
    (Feature::WakeupPreempt, true),
    (Feature::AdaptiveGran, true),
    (Feature::AsymGran, true),
    (Feature::WakeupSync, false),
    (Feature::WakeupOverlap, false),
    (Feature::WakeupRunning, false),
    (Feature::SyncWakeups, true),
    (Feature::AffineWakeups, true),
    (Feature::SyncLess, true),
    (Feature::SyncMore, false),
    (Feature::NextBuddy, false),
    (Feature::LastBuddy, true),
    (Feature::CacheHotBuddy, true),
    (Feature::ArchPower, false),
    (Feature::HrTick, false),
    (Feature::DoubleTick, false),
    (Feature::LbBias, true),
    (Feature::LbSharesUpdate, true),
    (Feature::AsymEffLoad, true),
    (Feature::OwnerSpin, true),
];

pub(super) const FEATURES_3_10: &[(Feature, bool)] = &[
    (Feature::GentleFairSleepers, true),
    (Feature::StartDebit, true),
    (Feature::NextBuddy, false),
    (Feature::LastBuddy, true),
    (Feature::CacheHotBuddy, true),
    (Feature::WakeupPreemption, true),
    (Feature::ArchPower, true),
    (Feature::LbBias, true),
    (Feature::NontaskPower, true),
    (Feature::TtwuQueue, true),
    (Feature::LbMin, false),
    (Feature::RtRuntimeShare, true),
    (Feature::ForceSdOverlap, false),
];

pub(super) const FEATURES_2_6_31: &[(Feature, bool)] = &[
    (Feature::FairSleepers, true),
    (Feature::NormalizedSleeper, false),
    (Feature::StartDebit, true),
    (Feature::WakeupPreempt, true),
    (Feature::AdaptiveGran, true),
    (Feature::AsymGran, true),
];

pub(super) const FEATURES_2_6_28: &[(Feature, bool)] = &[
    (Feature::NewFairSleepers, true),
    (Feature::NormalizedSleeper, true),
    (Feature::StartDebit, true),
    (Feature::WakeupPreempt, true),
];

pub(super) const FEATURES_2_6_24: &[(Feature, bool)] = &[
    (Feature::NewFairSleepers, true),
    (Feature::StartDebit, true),
    (Feature::WakeupPreempt, true),
];
