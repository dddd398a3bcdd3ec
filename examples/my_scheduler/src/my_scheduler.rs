//! One queue for the whole machine. Who becomes runnable goes to its end; a CPU that is free takes
//! the first task that may run there; after 10 ms a task goes to the end again. Nice values count
//! for nothing.

use schedlab_core::{BlockReason, CpuId, CpuSet, Inspect, Load, Parent, Platform, Promises};
use schedlab_core::{Scheduler, TaskAttr, TaskId, TaskTable, Waker};
use std::collections::VecDeque;

/// How long a task runs while others wait, ns. The tick looks, so that it may be up to a tick more.
const QUANTUM_NS: u64 = 10_000_000;

#[derive(Default)]
struct Task {
    runnable: bool,
    /// The CPU that it runs on, or ran on last.
    cpu: u32,
    allowed: CpuSet,
}

pub struct MyScheduler {
    tasks: TaskTable<Task>,
    /// Those that are runnable and not current.
    queue: VecDeque<TaskId>,
    /// Each CPU's current task, and since when.
    current: Vec<(Option<TaskId>, u64)>,
}

impl MyScheduler {
    pub fn new(cpus: u32) -> MyScheduler {
        let current = vec![(None, 0); cpus as usize];
        MyScheduler { tasks: TaskTable::new(), queue: VecDeque::new(), current }
    }

    /// Whether it is the current task of a CPU, which it stays for a moment after it blocked.
    fn is_current(&self, task: TaskId) -> bool {
        self.current[self.tasks[task].cpu as usize].0 == Some(task)
    }

    /// Puts `task` at the end of the queue.
    fn queue_up(&mut self, platform: &mut Platform, task: TaskId) {
        self.queue.push_back(task);
        self.ask_idle_cpus(platform);
    }

    /// Asks every CPU that idles and may run one of those that wait. A CPU that comes too late
    /// finds an empty queue and goes on idling.
    fn ask_idle_cpus(&self, platform: &mut Platform) {
        let idle = |cpu: &CpuId| self.current[cpu.index()].0.is_none();
        for cpu in (0..platform.cpus()).map(CpuId).filter(idle) {
            if self.queue.iter().any(|&task| self.tasks[task].allowed.contains(cpu)) {
                platform.resched(cpu);
            }
        }
    }
}

impl Scheduler for MyScheduler {
    fn fork(&mut self, platform: &mut Platform, task: TaskId, attr: &TaskAttr, _parent: Parent) {
        let cpu = attr.allowed.first(platform.cpus()).map_or(0, |cpu| cpu.0);
        self.tasks.insert(task, Task { runnable: true, cpu, allowed: attr.allowed.clone() });
        self.queue_up(platform, task);
    }
    fn wake(&mut self, platform: &mut Platform, task: TaskId, _waker: Waker) {
        self.tasks[task].runnable = true;
        if !self.is_current(task) {
            self.queue_up(platform, task);
        }
    }
    fn block(&mut self, _platform: &mut Platform, _cpu: CpuId, task: TaskId, _reason: BlockReason) {
        self.tasks[task].runnable = false;
    }
    fn tick(&mut self, platform: &mut Platform, cpu: CpuId) {
        if platform.now_ns() - self.current[cpu.index()].1 >= QUANTUM_NS {
            platform.resched(cpu);
        }
    }
    fn schedule(&mut self, platform: &mut Platform, cpu: CpuId) -> Option<TaskId> {
        let prev = self.current[cpu.index()].0;
        let may_run =
            |&task: &TaskId| self.tasks[task].runnable && self.tasks[task].allowed.contains(cpu);
        let next = match self.queue.iter().position(may_run) {
            Some(place) => self.queue.remove(place),
            None => prev.filter(may_run),
        };
        self.current[cpu.index()] = (next, platform.now_ns());
        if let Some(task) = prev.filter(|&task| prev != next && self.tasks[task].runnable) {
            self.queue_up(platform, task);
        }
        if let Some(task) = next {
            let from = std::mem::replace(&mut self.tasks[task].cpu, cpu.0);
            if from != cpu.0 {
                platform.migrated(task, CpuId(from), cpu);
            }
        }
        next
    }
    fn set_affinity(&mut self, platform: &mut Platform, task: TaskId, allowed: &CpuSet) {
        self.tasks[task].allowed = allowed.clone();
        if self.is_current(task) {
            platform.resched(CpuId(self.tasks[task].cpu));
        }
        self.ask_idle_cpus(platform);
    }
    fn kill(&mut self, _platform: &mut Platform, task: TaskId) {
        self.tasks[task].runnable = false;
        self.queue.retain(|&other| other != task);
    }
    fn cpu_of(&self, task: TaskId) -> CpuId {
        CpuId(self.tasks[task].cpu)
    }
    fn inspect(&self) -> &dyn Inspect {
        self
    }
}

impl Inspect for MyScheduler {
    fn promises(&self, load: &Load) -> Promises {
        let wait_ns = Some(u64::from(load.tasks) * 2 * QUANTUM_NS);
        Promises {
            idle_beside_waiting_ns: Some(0),
            wait_ns,
            hog_spread_ns: Some(4 * QUANTUM_NS),
            ..Promises::default()
        }
    }
}
