//! Fills in the members of the kernel's structures that a policy can read.

use crate::group::Group;
use crate::memory::{self, address, place};
use crate::task::weight_of;
use crate::world::World;
use schedlab_core::Policy;
use std::sync::Arc;

impl World {
    /// Fills in the members of a task that rarely change.
    pub fn describe_task(&mut self, row: u32, name: &str, parent: Option<u32>) {
        let image = Arc::clone(&self.image);
        let base = self.task_address(row);
        let field = |path| base + u64::from(image.types.offset("task_struct", path));
        let is_idle = row < self.nr_cpus();
        let pid = if is_idle { 0 } else { 1000 + u64::from(row - self.nr_cpus()) };
        let parent = self.task_address(parent.unwrap_or(row));
        let cgroup = self.css_set(self.tasks[row as usize].group);
        let memory = &mut self.vm.memory;
        memory.write(field("pid"), 4, pid);
        memory.write(field("tgid"), 4, pid);
        memory.write(field("flags"), 4, if is_idle { 2 } else { 0 });
        memory.write(field("cpus_ptr"), 8, field("cpus_mask"));
        memory.write(field("real_parent"), 8, parent);
        memory.write(field("parent"), 8, parent);
        memory.write(field("group_leader"), 8, base);
        memory.write(field("cgroups"), 8, cgroup);
        self.describe_objects(row);
        let memory = &mut self.vm.memory;
        memory.write(field("scx.sticky_cpu"), 4, u64::from(u32::MAX));
        if let Some(comm) = memory.slice_mut(field("comm"), 16) {
            comm.fill(0);
            let len = name.len().min(15);
            comm[..len].copy_from_slice(&name.as_bytes()[..len]);
        }
        self.describe_attr(row);
        self.describe_mask(row);
    }

    /// Fills in policy, nice value and weight.
    pub fn describe_attr(&mut self, row: u32) {
        let image = Arc::clone(&self.image);
        let attr = self.tasks[row as usize].attr;
        let base = self.task_address(row);
        let field = |path| base + u64::from(image.types.offset("task_struct", path));
        let memory = &mut self.vm.memory;
        let usual = 120 + attr.nice;
        let prio = match attr.policy {
            Policy::Deadline => -1,
            Policy::Fifo | Policy::RoundRobin => 99 - attr.rt_priority as i32,
            Policy::Other | Policy::Batch | Policy::Idle | Policy::Iso => usual,
        };
        for (path, prio) in [("prio", prio), ("static_prio", usual), ("normal_prio", prio)] {
            memory.write(field(path), 4, prio as u64);
        }
        memory.write(field("policy"), 4, u64::from(attr.policy.number()));
        memory.write(field("rt_priority"), 4, u64::from(attr.rt_priority));
        let weight = self.at.weight;
        self.set_task_u32(row, weight, weight_of(&attr));
    }

    /// Fills in the CPUs that a task may use.
    pub fn describe_mask(&mut self, row: u32) {
        let image = Arc::clone(&self.image);
        let base = self.task_address(row);
        let cpus = self.nr_cpus();
        let mask = base + u64::from(image.types.offset("task_struct", "cpus_mask"));
        let allowed = self.tasks[row as usize].allowed.clone();
        for word in 0..image.types.mask_words() {
            let left = cpus - (word * 64).min(cpus);
            let there = if left >= 64 { u64::MAX } else { (1 << left) - 1 };
            let bits = allowed.word(word as usize) & there;
            self.vm.memory.write(mask + u64::from(word) * 8, 8, bits);
        }
        let count = allowed.count(cpus);
        self.tasks[row as usize].nr_allowed = count;
        let at = base + u64::from(image.types.offset("task_struct", "nr_cpus_allowed"));
        self.vm.memory.write(at, 4, u64::from(count));
    }

    /// Returns the address of a member of a task's structure.
    pub fn task_field(&self, row: u32, path: &str) -> u64 {
        self.task_address(row) + u64::from(self.image.types.offset("task_struct", path))
    }

    fn group_sizes(&self) -> (u32, u32, u32) {
        let size = |name| self.image.types.structure(name).map_or(0, |layout| layout.size);
        (size("css_set"), size("cgroup"), size("kernfs_node"))
    }

    /// Returns the address of a group's `css_set`.
    pub fn css_set(&self, group: u32) -> u64 {
        let (set, cgroup, node) = self.group_sizes();
        address(memory::GROUPS, group * (set + cgroup + node))
    }

    /// Returns the address of a group.
    pub fn cgroup(&self, group: u32) -> u64 {
        self.css_set(group) + u64::from(self.group_sizes().0)
    }

    /// Returns the group at an address. `None` if there is none.
    pub fn group_at(&self, at: u64) -> Option<u32> {
        let (set, cgroup, node) = self.group_sizes();
        let (region, offset) = place(at);
        let stride = set + cgroup + node;
        let group = offset / stride;
        let is_one = region == memory::GROUPS
            && offset % stride == set
            && (group as usize) < self.groups.len();
        is_one.then_some(group)
    }

    /// Creates a group and returns its number.
    pub fn add_group(&mut self, parent: u32, shares: u64) -> u32 {
        let group = self.groups.len() as u32;
        let level = match group {
            0 => 0,
            _ => self.groups.get(parent as usize).map_or(0, |parent| parent.level) + 1,
        };
        self.groups.push(Group { parent, level, shares });
        let (set, cgroup, node) = self.group_sizes();
        let size = (group as usize + 1) * (set + cgroup + node) as usize;
        self.vm.memory.grow(memory::GROUPS, size);
        let types = self.image.types.clone();
        let at = self.cgroup(group);
        let field = |path| at + u64::from(types.offset("cgroup", path));
        let kn = at + u64::from(cgroup);
        let css_parent = if group == 0 { 0 } else { self.cgroup(parent) };
        let set = self.css_set(group);
        let memory = &mut self.vm.memory;
        memory.write(set + u64::from(types.offset("css_set", "dfl_cgrp")), 8, at);
        memory.write(field("self.cgroup"), 8, at);
        // The state of the controller is the first member of a group.
        memory.write(field("self.parent"), 8, css_parent);
        memory.write(field("level"), 4, u64::from(level));
        memory.write(field("kn"), 8, kn);
        memory.write(field("dom_cgrp"), 8, at);
        memory.write(kn + u64::from(types.offset("kernfs_node", "id")), 8, u64::from(group) + 1);
        group
    }
}
