//! One queue for all CPUs. A task that becomes runnable goes to its end; a free CPU takes the task
//! at its front; after 10 ms a task goes to the end again. Nice values and affinity are ignored.

use crate::rules::{FIRST, GO_ON};
use schedlab::scheduler::*;
use std::collections::VecDeque;

/// Time that a task runs while others wait, ns. Checked at ticks: it can be up to one tick longer.
pub const QUANTUM_NS: u64 = 10_000_000;

#[derive(Default)]
struct Task {
    runnable: bool,
    /// Number of the CPU that it runs on, or ran on last.
    cpu: u32,
}

pub struct MyScheduler {
    tasks: TaskTable<Task>,
    /// Tasks that are runnable and not current.
    pub queue: VecDeque<TaskId>,
    /// Each CPU's current task, and the time since which it runs, ns.
    current: Vec<(Option<TaskId>, u64)>,
}

impl MyScheduler {
    pub fn new(cpus: u32) -> MyScheduler {
        let current = vec![(None, 0); cpus as usize];
        MyScheduler { tasks: TaskTable::new(), queue: VecDeque::new(), current }
    }
    /// Whether it is the current task of a CPU. It remains so for a moment after it blocked.
    fn is_current(&self, task: TaskId) -> bool {
        self.current[self.tasks[task].cpu as usize].0 == Some(task)
    }
    /// The current task of `cpu`, if it can continue.
    pub fn can_go_on(&self, cpu: CpuId) -> Option<TaskId> {
        self.current[cpu.index()].0.filter(|&task| self.tasks[task].runnable)
    }
    fn queue_up(&mut self, platform: &mut Platform, task: TaskId) {
        self.queue.push_back(task);
        self.ask_idle_cpus(platform);
    }
    /// A CPU that finds the queue empty again stays idle.
    fn ask_idle_cpus(&self, platform: &mut Platform) {
        for cpu in (0..platform.cpus()).map(CpuId) {
            if self.current[cpu.index()].0.is_none() {
                platform.resched(cpu);
            }
        }
    }
}

impl Scheduler for MyScheduler {
    fn fork(&mut self, platform: &mut Platform, task: TaskId, _: &TaskAttr, _: Parent) {
        self.tasks.insert(task, Task { runnable: true, cpu: 0 });
        self.queue_up(platform, task);
    }
    fn wake(&mut self, platform: &mut Platform, task: TaskId, _: Waker) {
        self.tasks[task].runnable = true;
        if !self.is_current(task) {
            self.queue_up(platform, task);
        }
    }
    fn block(&mut self, _: &mut Platform, _: CpuId, task: TaskId, _: BlockReason) {
        self.tasks[task].runnable = false;
    }
    fn kill(&mut self, _: &mut Platform, task: TaskId) {
        self.queue.retain(|&other| other != task);
    }
    fn tick(&mut self, platform: &mut Platform, cpu: CpuId) {
        if platform.now_ns() - self.current[cpu.index()].1 >= QUANTUM_NS {
            platform.resched(cpu);
        }
    }
    fn schedule(&mut self, platform: &mut Platform, cpu: CpuId) -> Option<TaskId> {
        let rule = if self.queue.is_empty() { GO_ON } else { FIRST };
        platform.because(Question::Pick, cpu, rule, |e| self.candidates(cpu, &mut e.candidates));
        let prev = self.can_go_on(cpu);
        let next = self.queue.pop_front().or(prev);
        self.current[cpu.index()] = (next, platform.now_ns());
        if let Some(task) = prev.filter(|_| prev != next) {
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
    fn cpu_of(&self, task: TaskId) -> CpuId {
        CpuId(self.tasks[task].cpu)
    }
    fn inspect(&self) -> &dyn Inspect {
        self
    }
}
