//! Placing: the vruntime at which newcomers and sleepers enter a queue.

use super::Cfs;
use super::features::Feature;
use super::ids::{CfsRqId, EntityId};
use super::load_weight::calc_delta_fair;

impl Cfs {
    /// `place_entity`: where a newcomer or a waking sleeper starts.
    ///
    /// A newcomer starts a slice after `min_vruntime`, as if it had just had a turn. A sleeper
    /// starts at most half a latency before it (a whole one before 2.6.32): that gets it the CPU
    /// soon, but not all the time that it has slept. A short sleep gains nothing: a sleeper whose
    /// vruntime is later than that keeps it.
    #[inline]
    pub(super) fn place_entity(&mut self, q: CfsRqId, e: EntityId, initial: bool) {
        let mut vruntime = self.queues[q].min_vruntime;
        if initial {
            if self.tunables.has(Feature::StartDebit) {
                vruntime += self.sched_vslice(e);
            }
        } else {
            vruntime = vruntime - self.sleeper_credit(e);
        }
        let entity = &mut self.entities[e];
        entity.vruntime = if initial && self.rules.place.initial_is_exact {
            vruntime
        } else {
            entity.vruntime.max(vruntime)
        };
    }

    /// How far before `min_vruntime` a sleeper is placed, virtual ns.
    #[inline]
    fn sleeper_credit(&self, e: EntityId) -> u64 {
        let entity = &self.entities[e];
        let tunables = &self.tunables;
        let on = tunables.has(Feature::FairSleepers) || tunables.has(Feature::NewFairSleepers);
        if !on || !(entity.is_task() || self.rules.place.groups_get_credit) {
            return 0;
        }
        let mut credit = tunables.latency_ns;
        if tunables.has(Feature::NormalizedSleeper)
            && (!entity.is_idle_policy || self.rules.place.normalize_idle_too)
        {
            credit = calc_delta_fair(credit, entity.load);
        }
        if tunables.has(Feature::GentleFairSleepers) {
            credit >>= 1;
        }
        credit
    }
}
