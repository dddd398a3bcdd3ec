//! Births, wakeups, sleeps and ends of tasks.

use crate::act::Act;
use crate::kernel_types::{
    DEQ_SLEEP, ENQ_INITIAL, ENQ_NOCLOCK, SLICE_DFL, TASK_DEQD_FOR_SLEEP, WAKE_FORK,
};
use crate::map_def::MapKind;
use crate::memory::{self, address};
use crate::ops::{Callback, Context};
use crate::options::Profile;
use crate::rules;
use crate::task::{Holder, Task};
use schedlab_core::{CpuId, Parent, Question, TaskAttr, TaskId, Waker};

impl Act<'_> {
    /// Creates a task and starts it.
    pub(crate) fn fork(&mut self, task: TaskId, attr: &TaskAttr, parent: Parent) {
        let row = self.w.row(task);
        let (prev, near) = self.born(row, attr, parent);
        self.introduce(row);
        self.w.cpu = near.map_or(prev, |cpu| cpu.0);
        let cpu = self.place(row, prev, WAKE_FORK);
        self.activate_new(row, cpu);
    }

    /// Enqueues a new task on its CPU.
    pub(crate) fn activate_new(&mut self, row: u32, cpu: u32) {
        let initial = if self.w.profile >= Profile::V7_3 { ENQ_INITIAL } else { 0 };
        self.activate(row, cpu, ENQ_NOCLOCK | initial);
    }

    /// Adds a task. Returns the CPU to which it belongs, and its parent's CPU.
    pub(crate) fn born(
        &mut self,
        row: u32,
        attr: &TaskAttr,
        parent: Parent,
    ) -> (u32, Option<CpuId>) {
        let task = self.w.task_id(row);
        let (parent, near) = match parent {
            Parent::Task { task, cpu } => (Some(self.w.row(task)), Some(cpu)),
            Parent::External => (None, None),
        };
        self.w.add_task(row);
        let cpus = self.w.nr_cpus();
        let first = attr.allowed.first(cpus).unwrap_or(CpuId(0));
        let prev = near.filter(|&cpu| attr.allowed.contains(cpu)).unwrap_or(first).0;
        self.w.tasks[row as usize] = Task {
            is_alive: true,
            attr: attr.sched,
            allowed: attr.allowed.clone(),
            group: attr.group.0,
            cpu: prev,
            ..Task::default()
        };
        self.w.describe_task(row, &format!("task-{}", task.0), parent);
        let now = self.now();
        let mm = match attr.address_space {
            TaskAttr::NO_ADDRESS_SPACE => 0,
            space => address(memory::MM, space.saturating_add(1).saturating_mul(8)),
        };
        for (path, width, value) in [
            ("tgid", 4, 1000 + u64::from(attr.address_space)),
            ("mm", 8, mm),
            ("start_time", 8, now),
            ("thread_info.cpu", 4, u64::from(prev)),
        ] {
            let at = self.w.task_field(row, path);
            self.w.vm.memory.write(at, width, value);
        }
        self.w.add_thread(row);
        self.w.set_slice(row, SLICE_DFL);
        (prev, near)
    }

    /// Reports a task to the policy and gives it to it.
    fn introduce(&mut self, row: u32) {
        self.init_task(row, true);
        self.enable(row);
    }

    /// Lets the policy initialise a task, at its birth or when the policy is loaded.
    pub(crate) fn init_task(&mut self, row: u32, is_born: bool) {
        let types = self.w.image.types.clone();
        let args = address(memory::SCRATCH, 0);
        let field = |name| args + u64::from(types.offset("scx_init_task_args", name));
        let cgroup = self.w.cgroup(self.w.tasks[row as usize].group);
        self.w.vm.memory.write(field("fork"), 1, u64::from(is_born));
        self.w.vm.memory.write(field("cgroup"), 8, cgroup);
        let p = self.w.task_address(row);
        let result = self.call(Callback::INIT_TASK, Context::Sleepable, &[p, args]);
        if let Some(error) = result.map(|result| result as i32).filter(|&error| error != 0) {
            let name = self.w.task_name(row);
            self.w.callback = "init_task";
            self.error(format!("ops.init_task() failed ({error}) for {name}"));
            self.w.callback = "";
        }
    }

    /// Chooses the CPU of a task that becomes runnable.
    pub(crate) fn place(&mut self, row: u32, prev: u32, wake_flags: u64) -> u32 {
        let cpus = self.w.nr_cpus();
        let task = &self.w.tasks[row as usize];
        let (cpu, rule) = if task.nr_allowed > 1 {
            let rule = match self.has(Callback::SELECT_CPU) {
                true => rules::SELECTED,
                false => rules::BUILT_IN,
            };
            (self.select_cpu(row, prev, wake_flags), rule)
        } else {
            (task.allowed.first(cpus).map_or(prev, |cpu| cpu.0), rules::ONE_CPU)
        };
        self.p.by_rule(Question::SelectCpu, CpuId(cpu), rule);
        cpu
    }

    pub(crate) fn wake(&mut self, row: u32, waker: Waker) {
        let cpu = self.place_woken(row, waker);
        self.activate_woken(row, cpu);
    }

    pub(crate) fn block(&mut self, cpu: u32, row: u32, is_dead: bool) {
        let p = self.w.task_address(row);
        if self.w.cpus[cpu as usize].is_curr_gone {
            // In this very instant its affinity excluded this CPU, and it already waits for
            // another.
            self.give_back(row, DEQ_SLEEP | ENQ_NOCLOCK);
        } else {
            self.charge(cpu);
            self.call(Callback::STOPPING, Context::Other, &[p, 0]);
        }
        self.call(Callback::QUIESCENT, Context::Other, &[p, DEQ_SLEEP | ENQ_NOCLOCK]);
        self.w.set_runnable(row, false);
        self.w.set_task_flag(row, TASK_DEQD_FOR_SLEEP, true);
        self.w.set_task_u32(row, self.w.at.state, 1);
        self.w.cpus[cpu as usize].is_curr_gone = true;
        self.w.tasks[row as usize].is_dying = is_dead;
    }

    pub(crate) fn kill(&mut self, row: u32) {
        if self.w.tasks[row as usize].is_runnable {
            self.give_back(row, DEQ_SLEEP | ENQ_NOCLOCK);
            let args = [self.w.task_address(row), DEQ_SLEEP | ENQ_NOCLOCK];
            self.call(Callback::QUIESCENT, Context::Other, &args);
            self.w.set_runnable(row, false);
        }
        self.end_task(row);
    }

    /// Removes a waiting task from its holder. Reports that if the holder is the policy.
    pub(crate) fn give_back(&mut self, row: u32, deq_flags: u64) {
        let is_held = match self.w.tasks[row as usize].holder {
            Holder::Policy => true,
            Holder::Queue(queue, _) => self.w.profile >= Profile::V7_3 && queue > self.w.global(),
            Holder::None => false,
        };
        if is_held {
            let args = [self.w.task_address(row), deq_flags];
            self.call(Callback::DEQUEUE, Context::Other, &args);
        }
        self.take_out(row);
    }

    /// Ends a task.
    pub(crate) fn end_task(&mut self, row: u32) {
        let p = self.w.task_address(row);
        self.disable(row);
        let args = address(memory::SCRATCH, 0);
        self.w.vm.memory.write(args, 1, 0);
        self.call(Callback::EXIT_TASK, Context::Other, &[p, args]);
        for map in &mut self.w.maps {
            if map.def.kind == MapKind::TaskStorage {
                map.delete_storage(p);
            }
        }
        self.w.remove_thread(row);
        self.w.tasks[row as usize].is_alive = false;
        self.w.tasks[row as usize].is_dying = false;
    }
}
