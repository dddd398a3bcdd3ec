//! The parts of control groups that concern the machine rather than its scheduler: the CPUs of a
//! group (`cpuset.cpus`) and the freezer.
//!
//! * A task may use the CPUs that its owner allows, that its **group** has, and that are online. A
//!   group has the CPUs of its own set that its parent also has. If there are none (or none is
//!   online), it has its parent's CPUs. If a task's owner allows none of its group's CPUs, the task
//!   uses the group's. The owner's setting is remembered and applies again when the group changes,
//!   as in version 2 of control groups.
//! * A group is **frozen** if it or one of its ancestors was frozen. A task that enters such a
//!   group stops, and a task that leaves it continues.

use schedlab_core::{CpuSet, GroupId};

/// A control group as the machine knows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MachineGroup {
    /// Group that contains it, with a lower number.
    pub parent: GroupId,
    /// CPUs of its own; `None`: its parent's.
    pub cpus: Option<CpuSet>,
    /// Whether the group itself was frozen.
    pub frozen: bool,
}

/// All groups, and the CPUs that result for each.
#[derive(Clone, Debug, Default)]
pub(super) struct Groups {
    /// By number, the root first. Empty: no groups are known.
    pub rows: Vec<MachineGroup>,
    /// By number: the CPUs that tasks of the group may use now. Empty: all online CPUs, in every
    /// group.
    pub usable: Vec<CpuSet>,
}

impl Groups {
    /// Whether any group has CPUs of its own.
    pub fn has_cpusets(&self) -> bool {
        !self.usable.is_empty()
    }

    pub fn is_frozen(&self, group: GroupId) -> bool {
        let mut at = group;
        while let Some(row) = self.rows.get(at.0 as usize) {
            if row.frozen || at == GroupId::ROOT {
                return row.frozen;
            }
            at = row.parent;
        }
        false
    }

    /// Recomputes the CPUs of each group, out of `cpus` CPUs of which those in `online` can be
    /// used.
    pub fn settle(&mut self, cpus: u32, online: &CpuSet) {
        self.usable.clear();
        if self.rows.iter().all(|row| row.cpus.is_none()) {
            return;
        }
        // The CPUs that each group would have if all were online. Parents come first.
        let mut effective: Vec<CpuSet> = Vec::with_capacity(self.rows.len());
        for (number, row) in self.rows.iter().enumerate() {
            if number == 0 {
                effective.push(CpuSet::All);
                self.usable.push(online.clone());
                continue;
            }
            let above = effective[row.parent.0 as usize].clone();
            let own = row.cpus.as_ref().and_then(|own| common(cpus, own, &above)).unwrap_or(above);
            let usable = common(cpus, &own, online);
            self.usable.push(usable.unwrap_or_else(|| self.usable[row.parent.0 as usize].clone()));
            effective.push(own);
        }
    }
}

/// Returns the intersection of two sets; `None` if it is empty.
pub(super) fn common(cpus: u32, one: &CpuSet, other: &CpuSet) -> Option<CpuSet> {
    match (one, other) {
        (CpuSet::All, both) | (both, CpuSet::All) => both.first(cpus).map(|_| both.clone()),
        (one, other) => {
            let both = CpuSet::from_cpus(one.iter(cpus).filter(|&cpu| other.contains(cpu)));
            both.first(cpus).map(|_| both)
        }
    }
}
