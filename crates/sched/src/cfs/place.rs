//! Placement: the vruntime at which new tasks and sleepers enter a queue.

use super::cfs_rq::CfsRq;
use super::entity::Entity;
use super::features::Feature;
use super::ids::{CfsRqId, EntityId};
use super::load_weight::calc_delta_fair;
use super::releases::Version;
use super::vruntime::Vruntime;
use super::{Cfs, Tunables};

impl Cfs {
    /// Does the work of `place_entity` for a new task: the task starts a slice after
    /// `min_vruntime`, as if it had just used one.
    pub(super) fn place_newcomer(&mut self, q: CfsRqId, e: EntityId) {
        let mut vruntime = self.queues[q].min_vruntime;
        if self.tunables.has(Feature::StartDebit) {
            vruntime += self.sched_vslice(e);
        }
        let entity = &mut self.entities[e];
        entity.vruntime = if self.version.place.initial_is_exact {
            vruntime
        } else {
            entity.vruntime.max(vruntime)
        };
    }
}

/// Does the work of `place_entity` for a waking sleeper.
///
/// The sleeper starts at most half a latency before `min_vruntime` (a whole one before 2.6.32). It
/// thus gets the CPU soon, but not for all the time that it has slept. A short sleep gains nothing:
/// a sleeper whose vruntime is later than that keeps it.
#[inline]
pub(super) fn place_sleeper(
    version: &Version,
    tunables: &Tunables,
    queue: &CfsRq,
    entity: &Entity,
) -> Vruntime {
    entity.vruntime.max(queue.min_vruntime - sleeper_credit(version, tunables, entity))
}

/// Returns the distance before `min_vruntime` at which a sleeper is placed, virtual ns.
#[inline]
fn sleeper_credit(version: &Version, tunables: &Tunables, entity: &Entity) -> u64 {
    const FAIR_SLEEPERS: u32 = Feature::FairSleepers.bit() | Feature::NewFairSleepers.bit();
    if !tunables.has_any(FAIR_SLEEPERS) || !(entity.is_task() || version.place.groups_get_credit) {
        return 0;
    }
    let mut credit = tunables.latency_ns;
    if tunables.has(Feature::NormalizedSleeper)
        && (!entity.is_idle_policy || version.place.normalize_idle_too)
    {
        credit = calc_delta_fair(credit, entity.load);
    }
    if tunables.has(Feature::GentleFairSleepers) {
        credit >>= 1;
    }
    credit
}
