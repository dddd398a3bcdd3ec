//! Tasks that cannot run because a group of theirs has used up its limit: [`ThrottledGroups`].

use crate::experiment::Experiment;
use schedlab_core::platform::Throttling;
use schedlab_core::{CpuId, Event, GroupId, Policy, SchedAttr, TaskId, TaskTable};
use std::collections::BTreeMap;

/// A CPU's queue of a group that is throttled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThrottledQueue {
    /// Time since which it is throttled, ns.
    pub since_ns: u64,
    /// The group, its limit, and the next refill as of that time.
    pub change: Throttling,
}

/// Follows which queues are throttled, and which tasks that concerns.
///
/// It follows the events of a session that
/// [reports throttling](crate::session::Session::report_throttling).
#[derive(Clone, Debug, Default)]
pub struct ThrottledGroups {
    /// Parent of each group, by number.
    parents: Vec<GroupId>,
    /// Group of each task of the fair class. (Limits do not concern other classes.)
    groups: TaskTable<Option<GroupId>>,
    /// Group of each task.
    all: TaskTable<GroupId>,
    queues: BTreeMap<(CpuId, GroupId), ThrottledQueue>,
}

impl ThrottledGroups {
    /// Returns an observer for the groups of `experiment`.
    pub fn new(experiment: &Experiment) -> ThrottledGroups {
        let parent = |parent: Option<usize>| GroupId(parent.map_or(0, |place| place as u32 + 1));
        let own = experiment.groups.groups().iter().map(|group| parent(group.parent));
        let parents = std::iter::once(GroupId::ROOT).chain(own).collect();
        ThrottledGroups { parents, ..ThrottledGroups::default() }
    }

    /// Follows an event. The caller has handled what lasted until then.
    pub fn on(&mut self, now_ns: u64, event: &Event<'_>) {
        match *event {
            Event::Born { task, attr, .. } => {
                self.all.insert(task, attr.group);
                self.groups.insert(task, is_fair(&attr.sched).then_some(attr.group));
            }
            Event::GroupChanged { task, group } => {
                self.all[task] = group;
                self.groups[task] = self.groups[task].map(|_| group);
            }
            Event::AttrChanged { task, attr } => {
                self.groups[task] = is_fair(attr).then_some(self.all[task]);
            }
            Event::Throttled { change } => {
                let queue = (change.cpu, change.group);
                match change.is_throttled {
                    true => {
                        let row = ThrottledQueue { since_ns: now_ns, change: *change };
                        self.queues.insert(queue, row);
                    }
                    false => _ = self.queues.remove(&queue),
                }
            }
            _ => {}
        }
    }

    /// Returns the throttled queue that keeps `task` from running on `cpu`: that of its group, or
    /// of the nearest group above.
    pub fn of(&self, task: TaskId, cpu: CpuId) -> Option<&ThrottledQueue> {
        if self.queues.is_empty() {
            return None;
        }
        let mut group = self.groups[task]?;
        loop {
            if let Some(queue) = self.queues.get(&(cpu, group)) {
                return Some(queue);
            }
            if group == GroupId::ROOT {
                return None;
            }
            group = self.parents.get(group.index()).copied().unwrap_or(GroupId::ROOT);
        }
    }

    /// Returns the throttled queues of `cpu`.
    pub fn on_cpu(&self, cpu: CpuId) -> impl Iterator<Item = &ThrottledQueue> {
        let of_cpu = (cpu, GroupId::ROOT)..=(cpu, GroupId(u32::MAX));
        self.queues.range(of_cpu).map(|(_, queue)| queue)
    }
}

fn is_fair(attr: &SchedAttr) -> bool {
    !attr.policy.is_realtime() && attr.policy != Policy::Deadline
}
