//! The load of a CPU: the average weight of what is queued there.
//!
//! Up to 5.2 each CPU also keeps loads of several ages (`cpu_load`). At each tick the load of age
//! i moves a 2^i-th of the way to the present load. Balancing takes, of the present load and an old
//! one, the larger for its own group and the smaller for others (`LB_BIAS`), so that it does
//! not react to short peaks.

use crate::fair_6::class::Fair;
use crate::fair_6::ids::CfsRqId;
use crate::fair_6::lb_env::AgedLoads;
use crate::fair_6::pick_rule::PickRule;
use crate::fair_6::rule_state::{FairTunables as _, FairVersion as _};
use schedlab_core::CpuId;

/// Loads of several ages after another tick with the load `now`.
pub(in crate::fair_6) fn aged(loads: AgedLoads, now: u64) -> AgedLoads {
    let mut next = [now; 5];
    for (age, (next, old)) in next.iter_mut().zip(loads).enumerate().skip(1) {
        let others = (1 << age) - 1;
        // Rounded up while it rises, so that it reaches the present load.
        let now = if now > old { now + others } else { now };
        *next = (old * others + now) >> age;
    }
    next
}

impl<R: PickRule> Fair<R> {
    /// `weighted_cpuload`, `cpu_runnable_load`; since 5.7 `cpu_load`: the load of `cpu`.
    pub(in crate::fair_6) fn cpu_load(&self, cpu: CpuId) -> u64 {
        self.cpu_load_of(CfsRqId::of_cpu(cpu))
    }

    /// `target_load` of a CPU of the own group, `source_load` of others, for an age.
    pub(super) fn biased_load(&self, cpu: CpuId, age: u32, own: bool) -> u64 {
        let now = self.cpu_load(cpu);
        if age == 0 || self.balance.aged_loads.is_empty() || !self.tunables.lb_bias() {
            return now;
        }
        let old = self.balance.aged_loads[cpu.index()][age as usize - 1];
        if own { old.max(now) } else { old.min(now) }
    }

    /// `cpu_load_update_active`: a tick of `cpu` has been handled.
    #[inline]
    pub(in crate::fair_6) fn tick_ages_loads(&mut self, cpu: CpuId) {
        if self.version.loads_of_several_ages() && !self.balance.aged_loads.is_empty() {
            let now = self.cpu_load(cpu);
            let loads = &mut self.balance.aged_loads[cpu.index()];
            *loads = aged(*loads, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::aged;

    #[test]
    fn old_loads_follow_by_halves_quarters_and_so_on() {
        assert_eq!(aged([0; 5], 1024), [1024, 512, 256, 128, 64]);
        assert_eq!(aged([1024; 5], 0), [0, 512, 768, 896, 960]);
        // Rounded up while rising: 1 is reached.
        assert_eq!(aged([0; 5], 1), [1; 5]);
    }
}
