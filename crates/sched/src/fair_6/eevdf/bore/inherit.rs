//! The inheritance of a new task: its parent's history or, if that is larger, an average over its
//! relatives, which is computed once in a while and kept by one of them.
//!
//! A new thread inherits from the other threads of its process. A new process inherits from the
//! children of its parent, or from the *hub*: the nearest ancestor that has several children. What
//! counts of a hub's children is what has become of them, the last of each chain of only children.
//! So all compiler runs of a build inherit from `make`, however many shells are between.

use super::burst::{Burst, Cache};
use super::kin::{Kin, ROOT};
use super::penalty::PENALTY_MAX;
use super::settings::{Inherit, Settings};
use crate::classes::{ClassId, Pid, Rqs};
use crate::fair_6::class::Fair;
use crate::fair_6::eevdf::EarliestDeadline;
use schedlab_core::{Platform, TaskAttr};

/// Maximum number of relatives that an average is made of.
const RELATIVES_MAX: u32 = 63;

/// The unit of the caches' times is 2^16 ns.
const CACHE_TIME_SHIFT: u32 = 16;

/// Which relatives a task inherits from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Relatives {
    /// The threads of its process.
    Threads,
    /// The children of its parent.
    Children,
    /// The ends of the chains that begin with the children of the hub.
    Descendants,
}

impl Fair<EarliestDeadline> {
    /// `parent`, or the root, has forked `child`, which has its class and is on no queue. It is a
    /// thread of its parent's process if they share an address space.
    pub(in crate::fair_6::eevdf) fn burst_of_child(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        child: Pid,
        parent: Option<Pid>,
    ) {
        let Some(bore) = self.tunables.bore else {
            return;
        };
        self.rule.bursts.make_room(child);
        let space = |task: Pid| rqs.settings[task.index()].address_space;
        let is_kernel_thread = space(child) == TaskAttr::NO_ADDRESS_SPACE;
        let is_thread =
            !is_kernel_thread && parent.is_some_and(|parent| space(parent) == space(child));
        let parent = parent.unwrap_or(ROOT);
        let mut row = Burst { stop_update: false, ..self.rule.bursts.of(parent) };
        *self.rule.bursts.row(child) = row;
        self.set_bore_weight(rqs, platform, child);
        // Its first load average is that of its parent's score.
        let e = self.se_of(child);
        self.info[e].avg.load_avg = self.se[e].weight() as u64;
        if bore.is_on && rqs.thread(child).class == ClassId::Fair {
            let inherited = self.inherited(&bore, rqs, platform.now_ns(), parent, is_thread);
            let prev_penalty = row.prev_penalty.max(inherited);
            row = Burst {
                time_ns: 0,
                curr_penalty: 0,
                prev_penalty,
                penalty: if is_kernel_thread { 0 } else { prev_penalty },
                futex_waiting: false,
                ..row
            };
        }
        *self.rule.bursts.row(child) = row;
        self.set_bore_weight(rqs, platform, child);
        match is_thread {
            true => self.rule.bursts.kin.add_thread(parent, child),
            false => self.rule.bursts.kin.add_process(parent, child),
        }
    }

    /// The penalty that a child of `parent` inherits.
    fn inherited(
        &mut self,
        bore: &Settings,
        rqs: &Rqs,
        now_ns: u64,
        parent: Pid,
        is_thread: bool,
    ) -> u16 {
        let kin = &self.rule.bursts.kin;
        let (owner, which) = match (is_thread, bore.inherit) {
            (true, _) => (kin.leader(parent), Relatives::Threads),
            (false, Inherit::Nothing) => return 0,
            (false, Inherit::Parent) => (parent, Relatives::Children),
            (false, Inherit::Hub) => (hub(kin, parent), Relatives::Descendants),
        };
        let row = self.rule.bursts.of(owner);
        let cache = if which == Relatives::Threads { row.group } else { row.subtree };
        let age_ns = now_ns.saturating_sub(cache.time << CACHE_TIME_SHIFT);
        if age_ns <= u64::from(bore.lifetime_ns) {
            return cache.penalty;
        }
        let average = self.average(bore, rqs, owner, which);
        let penalty = average.max(bore.above(row.penalty));
        let penalty = match bore.patch.penalty_is_whole() {
            true => penalty.min(PENALTY_MAX) + bore.threshold(),
            false => penalty,
        } as u16;
        let row = self.rule.bursts.row(owner);
        let cache = if which == Relatives::Threads { &mut row.group } else { &mut row.subtree };
        *cache = Cache { penalty, time: now_ns >> CACHE_TIME_SHIFT };
        penalty
    }

    /// The average of the parts of the relatives' penalties that count.
    fn average(&self, bore: &Settings, rqs: &Rqs, owner: Pid, which: Relatives) -> u32 {
        let bursts = &self.rule.bursts;
        let kin = &bursts.kin;
        let (mut sum, mut count) = (0, 0);
        let mut examine = |task: Pid| {
            if kin.is_alive(task) && rqs.thread(task).class == ClassId::Fair {
                sum += bore.above(bursts.of(task).penalty);
                count += 1;
            }
            count < RELATIVES_MAX
        };
        let most = bore.patch.relatives_examined() as usize;
        let _ = match which {
            Relatives::Threads => kin.threads(owner).take(most).all(examine),
            Relatives::Children => kin.children(owner).take(most).all(examine),
            Relatives::Descendants => {
                kin.children(owner).take(most).all(|child| examine(last_of_chain(kin, child)))
            }
        };
        sum / count.max(1)
    }
}

/// The hub of a task that `parent` forks: a task that has a child already is its own hub. From one
/// that forks for the first time the walk goes up to the first ancestor with more than one child.
fn hub(kin: &Kin, parent: Pid) -> Pid {
    let (mut at, mut limit) = (parent, 0);
    while at != ROOT && kin.children_up_to_two(at) <= limit {
        at = kin.parent(at);
        limit = 1;
    }
    at
}

/// The last of the chain of only children that begins with `task`.
fn last_of_chain(kin: &Kin, task: Pid) -> Pid {
    let mut at = task;
    while let Some(child) = kin.only_child(at) {
        at = child;
    }
    at
}
