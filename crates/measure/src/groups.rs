//! CPU time of control groups, counted as in `cpuacct.usage` and `cpuacct.usage_percpu`: of all
//! tasks, of any policy, by the group that each was in at the time. A group includes all its
//! descendants.

use schedlab_core::{CpuId, Event, GroupId, Observer, TaskAttr, TaskId, TaskTable};

/// Sums CPU time by group.
#[derive(Clone, Debug)]
pub struct GroupUsage {
    /// Parent of each group, by number from 1.
    parents: Vec<GroupId>,
    cpus: usize,
    /// CPU time of the tasks in each group itself, ns. Each group has a row of all CPUs. The root
    /// is first.
    own_ns: Vec<u64>,
    group_of: TaskTable<GroupId>,
    /// By CPU: the running task with its group, and the time since which it has been counted.
    current: Vec<(Option<(TaskId, GroupId)>, u64)>,
}

impl GroupUsage {
    /// Creates a counter for `cpus` CPUs. `parents`: the parent of each group, from group 1;
    /// parents have lower numbers.
    pub fn new(cpus: u32, parents: Vec<GroupId>) -> GroupUsage {
        let cpus = cpus as usize;
        GroupUsage {
            own_ns: vec![0; (parents.len() + 1) * cpus],
            parents,
            cpus,
            group_of: TaskTable::new(),
            current: vec![(None, 0); cpus],
        }
    }

    /// Returns the CPU time on each CPU of all tasks that were in `group` or below it, ns.
    pub fn usage_percpu_ns(&self, group: GroupId) -> Vec<u64> {
        let mut usage = vec![0; self.cpus];
        for (number, own_ns) in self.own_ns.chunks(self.cpus).enumerate() {
            if self.is_within(GroupId(number as u32), group) {
                usage.iter_mut().zip(own_ns).for_each(|(sum, ns)| *sum += ns);
            }
        }
        usage
    }

    fn is_within(&self, mut group: GroupId, other: GroupId) -> bool {
        while group != other {
            let Some(above) = (group.0 as usize).checked_sub(1) else { return false };
            group = self.parents[above];
        }
        true
    }

    fn pass(&mut self, now_ns: u64, cpu: usize) {
        let (current, since_ns) = &mut self.current[cpu];
        if let Some((_, group)) = current {
            self.own_ns[group.0 as usize * self.cpus + cpu] += now_ns - *since_ns;
        }
        *since_ns = now_ns;
    }
}

impl Observer for GroupUsage {
    #[inline]
    fn on(&mut self, now_ns: u64, event: Event<'_>) {
        match event {
            Event::Born { task, attr, .. } => self.born(task, attr),
            Event::GroupChanged { task, group } => self.group_changed(now_ns, task, group),
            Event::Switched { cpu, next, .. } => self.switched(now_ns, cpu, next),
            Event::Finished => self.finished(now_ns),
            _ => {}
        }
    }
}

impl GroupUsage {
    fn born(&mut self, task: TaskId, attr: &TaskAttr) {
        self.group_of.insert(task, attr.group);
    }

    fn group_changed(&mut self, now_ns: u64, task: TaskId, group: GroupId) {
        self.group_of[task] = group;
        for cpu in 0..self.cpus {
            if matches!(self.current[cpu].0, Some((current, _)) if current == task) {
                self.pass(now_ns, cpu);
                self.current[cpu].0 = Some((task, group));
            }
        }
    }

    fn switched(&mut self, now_ns: u64, cpu: CpuId, next: Option<TaskId>) {
        self.pass(now_ns, cpu.index());
        self.current[cpu.index()].0 = next.map(|task| (task, self.group_of[task]));
    }

    fn finished(&mut self, now_ns: u64) {
        for cpu in 0..self.cpus {
            self.pass(now_ns, cpu);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_has_what_is_below_it_and_a_move_divides_the_time() {
        // Task 1 is in the root, 2 in group 1, 3 in the root.
        let mut usage = GroupUsage::new(2, vec![GroupId::ROOT, GroupId(1), GroupId::ROOT]);
        for (task, group) in [(0, 2), (1, 3)] {
            let attr = TaskAttr { group: GroupId(group), ..TaskAttr::default() };
            usage.on(0, Event::Born { task: TaskId(task), parent: None, attr: &attr });
        }
        usage.on(0, Event::switched(CpuId(0), None, false, Some(TaskId(0))));
        usage.on(5, Event::switched(CpuId(1), None, false, Some(TaskId(1))));
        usage.on(20, Event::GroupChanged { task: TaskId(1), group: GroupId(1) });
        usage.on(30, Event::switched(CpuId(0), Some(TaskId(0)), true, None));
        usage.on(100, Event::Finished);
        let all = [0, 1, 2, 3].map(|group| usage.usage_percpu_ns(GroupId(group)));
        assert_eq!(all, [[30, 95], [30, 80], [30, 0], [0, 15]]);
    }
}
