//! The preemption model for which a kernel was built.

use schedlab_core::Tunable;

/// Preemption model. The hidden build setting `preempt` has the same numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Preemption {
    /// `PREEMPT_NONE`: the kernel itself is never preempted.
    None = 0,
    /// `PREEMPT_VOLUNTARY`: only where it offers to be.
    Voluntary = 1,
    /// `PREEMPT`: almost everywhere.
    #[default]
    Full = 2,
    /// `PREEMPT_LAZY` (6.13 on): almost everywhere, but on behalf of a fair task only when the CPU
    /// next enters and leaves the kernel, at the latest at its tick: another CPU is not
    /// interrupted for it.
    Lazy = 3,
}

impl Preemption {
    /// Name of the build setting.
    pub const SETTING: &'static str = "preempt";

    /// The model with the number `value`. Other numbers than 0, 1 and 3 are full preemption.
    pub fn from_number(value: i64) -> Preemption {
        match value {
            0 => Preemption::None,
            1 => Preemption::Voluntary,
            3 => Preemption::Lazy,
            _ => Preemption::Full,
        }
    }

    /// Whether the kernel can be preempted while it balances (`CONFIG_PREEMPTION`): a newly idle
    /// CPU then stops after it has pulled one task.
    #[inline]
    pub fn preempts_kernel(self) -> bool {
        self as u8 >= Preemption::Full as u8
    }

    /// The build setting with the present value.
    pub fn setting(self) -> Tunable {
        Tunable {
            name: Preemption::SETTING.into(),
            value: self as i64,
            range: (0, 3),
            help: "preemption model: 0 none, 1 voluntary, 2 full, 3 lazy; up to voluntary, a \
                   newly idle CPU pulls all tasks that it should have, not only one; under lazy, \
                   a fair task preempts on another CPU of its cache when that CPU next enters the \
                   kernel",
        }
    }
}
