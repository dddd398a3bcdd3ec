//! BORE's tunables, under the kernel's names.

use super::releases::Patch;
use alloc::vec::Vec;
use schedlab_core::Tunable;

/// The largest `min_base_slice_ns` that can be set here.
const MIN_BASE_SLICE_MAX_NS: i64 = 1_000_000_000;

/// Source of the history that a child inherits: `sched_burst_inherit_type`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inherit {
    /// 0: nothing beyond its parent's history.
    Nothing,
    /// 1: from the children of its parent.
    Parent,
    /// 2: from the ancestor that has several children, the hub.
    Hub,
}

/// The version and its tunables.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The version.
    pub patch: Patch,
    /// `sched_bore`: whether scores count. (Bursts are measured in any case.)
    pub is_on: bool,
    /// `sched_burst_inherit_type`.
    pub inherit: Inherit,
    /// `sched_burst_smoothness`: a growing penalty enters the history divided by 2^n.
    pub smoothness: u8,
    /// `sched_burst_penalty_offset`: number of bits of burst time, ns, that are free.
    pub offset: u8,
    /// `sched_burst_penalty_scale`: penalty of a bit, in 1/1024.
    pub scale: u16,
    /// `sched_burst_cache_lifetime`: time for which an average of relatives is used, ns.
    pub lifetime_ns: u32,
    /// `min_base_slice_ns`: the base slice is at least as long.
    min_base_slice_ns: u32,
    /// `RUN_TO_PARITY_BORE`: the running task is protected for the shortest slice of the others
    /// only.
    pub run_to_parity: bool,
    /// `PREEMPT_SHORT_BORE`: a woken task with a smaller penalty preempts.
    pub preempt_short: bool,
    /// Whether the kernel marks tasks that wait for a futex.
    pub marks_futex_waits: bool,
    /// Length of a tick, ns.
    tick_ns: u32,
}

impl Settings {
    /// The boot values.
    pub fn new(patch: Patch, hz: u32) -> Settings {
        Settings {
            patch,
            is_on: true,
            inherit: Inherit::Hub,
            smoothness: 1,
            offset: 24,
            scale: 1536,
            lifetime_ns: 75_000_000,
            min_base_slice_ns: 2_000_000,
            run_to_parity: false,
            preempt_short: patch.preempts_by_penalty(),
            marks_futex_waits: true,
            tick_ns: 1_000_000_000 / hz,
        }
    }

    /// `base_slice_ns`: the smallest multiple of the tick that is not below the minimum.
    pub fn base_slice(&self) -> u32 {
        self.tick_ns * self.min_base_slice_ns.div_ceil(self.tick_ns).max(1)
    }

    /// Whether the wakeup check compares penalties.
    #[inline]
    pub fn compares_penalties(&self) -> bool {
        self.is_on && self.preempt_short && self.patch.preempts_by_penalty()
    }

    /// Writes a tunable, whose value has been checked. Returns whether it is one of these.
    pub fn write(&mut self, name: &str, value: i64) -> bool {
        match name {
            "sched_bore" => self.is_on = value != 0,
            "sched_burst_inherit_type" => {
                self.inherit = match value {
                    0 => Inherit::Nothing,
                    1 => Inherit::Parent,
                    _ => Inherit::Hub,
                };
            }
            "sched_burst_smoothness" => self.smoothness = value as u8,
            "sched_burst_penalty_offset" => self.offset = value as u8,
            "sched_burst_penalty_scale" => self.scale = value as u16,
            "sched_burst_cache_lifetime" => self.lifetime_ns = value as u32,
            "min_base_slice_ns" => self.min_base_slice_ns = value as u32,
            "RUN_TO_PARITY_BORE" => self.run_to_parity = value != 0,
            "PREEMPT_SHORT_BORE" => self.preempt_short = value != 0,
            "futex" => self.marks_futex_waits = value != 0,
            _ => return false,
        }
        true
    }

    /// Whether a write of the tunable `name` reweights the processes' main threads.
    pub fn reweights(&self, name: &str) -> bool {
        match name {
            "sched_bore" => true,
            "sched_burst_penalty_offset" | "sched_burst_penalty_scale" => {
                self.patch.penalties_reweight()
            }
            _ => false,
        }
    }

    /// All tunables with their values.
    pub fn list(&self) -> Vec<Tunable> {
        let tunable = |name: &'static str, value: i64, max: i64, help: &'static str| Tunable {
            name: name.into(),
            value,
            range: (0, max),
            help,
        };
        let mut all = alloc::vec![
            tunable(
                "min_base_slice_ns",
                self.min_base_slice_ns.into(),
                MIN_BASE_SLICE_MAX_NS,
                "length of a request, ns, before it is rounded up to whole ticks",
            ),
            tunable("sched_bore", self.is_on.into(), 1, "scores of bursts count as nice values"),
            tunable(
                "sched_burst_inherit_type",
                self.inherit as i64,
                2,
                "a child inherits nothing (0), from its parent's children (1), or from the \
                 nearest ancestor that has several (2)",
            ),
            tunable(
                "sched_burst_smoothness",
                self.smoothness.into(),
                3,
                "a growing penalty enters the history divided by 2^n",
            ),
            tunable(
                "sched_burst_penalty_offset",
                self.offset.into(),
                63,
                "number of bits of burst time, ns, that are free",
            ),
            tunable(
                "sched_burst_penalty_scale",
                self.scale.into(),
                4095,
                "penalty of each further bit, in 1/1024",
            ),
            tunable(
                "sched_burst_cache_lifetime",
                self.lifetime_ns.into(),
                u32::MAX.into(),
                "time for which an average of relatives is used, ns",
            ),
            tunable(
                "futex",
                self.marks_futex_waits.into(),
                1,
                "a task that waited for a futex is due at once (a setting of golden schedules)",
            ),
        ];
        if self.patch.has_own_parity() {
            all.push(tunable(
                "RUN_TO_PARITY_BORE",
                self.run_to_parity.into(),
                1,
                "the running task is protected for the shortest slice of the others only",
            ));
        }
        if self.patch.preempts_by_penalty() {
            all.push(tunable(
                "PREEMPT_SHORT_BORE",
                self.preempt_short.into(),
                1,
                "a waking task with a smaller penalty preempts",
            ));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_slice_is_a_number_of_ticks() {
        for (hz, slice) in
            [(1000, 2_000_000), (300, 3_333_333), (250, 4_000_000), (100, 10_000_000)]
        {
            assert_eq!(Settings::new(Patch::V6_5_9, hz).base_slice(), slice, "HZ {hz}");
        }
        let mut settings = Settings::new(Patch::V6_5_9, 1000);
        for (min, slice) in [(0, 1_000_000), (1, 1_000_000), (2_500_001, 3_000_000)] {
            assert!(settings.write("min_base_slice_ns", min));
            assert_eq!(settings.base_slice(), slice, "at least {min}");
        }
    }
}
