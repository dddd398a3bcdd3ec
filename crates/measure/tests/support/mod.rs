//! Support for tests that need a whole machine: programs written operation by operation, and a
//! simple scheduler with one queue for any number of CPUs.

use schedlab_core::{
    BlockReason, CpuId, CpuSet, Parent, Platform, SchedAttr, Scheduler, TaskAttr, TaskId, Waker,
};
use schedlab_machine::{NewTask, Op, Workload};
use std::collections::VecDeque;
use std::convert::Infallible;

/// Programs by task number. A task exits at the end of its program. Forked tasks run `child`.
#[derive(Clone, Debug)]
pub struct Script {
    /// By task: its start, its attributes and its operations. Sleeps are relative to their start.
    pub tasks: Vec<(u64, TaskAttr, Vec<Op>)>,
    /// Program of forked tasks.
    pub child: Vec<Op>,
    at: Vec<usize>,
}

impl Script {
    pub fn new(tasks: Vec<(u64, TaskAttr, Vec<Op>)>, child: Vec<Op>) -> Script {
        let at = vec![0; tasks.len()];
        Script { tasks, child, at }
    }
}

impl Workload for Script {
    type Error = Infallible;

    fn initial_tasks(&mut self) -> Vec<NewTask> {
        let new = |(start_ns, attr, _): &(u64, TaskAttr, Vec<Op>)| NewTask {
            attr: attr.clone(),
            start_ns: *start_ns,
        };
        self.tasks.iter().map(new).collect()
    }

    fn next(&mut self, now_ns: u64, task: TaskId, _cpu: CpuId) -> Result<Op, Infallible> {
        let at = self.at[task.index()];
        self.at[task.index()] += 1;
        let op = self.tasks[task.index()].2.get(at).cloned().unwrap_or(Op::Exit);
        Ok(match op {
            Op::Sleep { until_ns, reason } => Op::Sleep { until_ns: now_ns + until_ns, reason },
            // Only tasks that exist can be woken.
            Op::Wake { task, sync } => {
                Op::Wake { task: TaskId(task.0 % self.tasks.len() as u32), sync }
            }
            other => other,
        })
    }

    fn forked(&mut self, _now_ns: u64, _parent: TaskId, child: TaskId) {
        assert_eq!(child.index(), self.tasks.len());
        self.tasks.push((0, TaskAttr::default(), self.child.clone()));
        self.at.push(0);
    }
}

/// All tasks are in one queue. A task that has had a CPU for a tick goes to the end of the queue.
#[derive(Debug)]
pub struct OneQueue {
    queue: VecDeque<TaskId>,
    current: Vec<Option<TaskId>>,
    blocked: Vec<bool>,
}

impl OneQueue {
    pub fn new(cpus: u32) -> OneQueue {
        OneQueue { queue: VecDeque::new(), current: vec![None; cpus as usize], blocked: vec![] }
    }

    fn enqueue(&mut self, platform: &mut Platform, task: TaskId) {
        self.queue.push_back(task);
        if let Some(idle) = self.current.iter().position(Option::is_none) {
            platform.resched(CpuId(idle as u32));
        }
    }
}

impl Scheduler for OneQueue {
    fn fork(&mut self, platform: &mut Platform, task: TaskId, _attr: &TaskAttr, _parent: Parent) {
        if self.blocked.len() <= task.index() {
            self.blocked.resize(task.index() + 1, false);
        }
        self.enqueue(platform, task);
    }
    fn wake(&mut self, platform: &mut Platform, task: TaskId, _waker: Waker) {
        self.blocked[task.index()] = false;
        // A task that has just blocked is still current, and is queued when its CPU reschedules.
        if !self.current.contains(&Some(task)) {
            self.enqueue(platform, task);
        }
    }
    fn block(&mut self, _platform: &mut Platform, _cpu: CpuId, task: TaskId, _reason: BlockReason) {
        self.blocked[task.index()] = true;
    }
    fn tick(&mut self, platform: &mut Platform, cpu: CpuId) {
        if !self.queue.is_empty() {
            platform.resched(cpu);
        }
    }
    fn schedule(&mut self, _platform: &mut Platform, cpu: CpuId) -> Option<TaskId> {
        if let Some(task) = self.current[cpu.index()].take()
            && !self.blocked[task.index()]
        {
            self.queue.push_back(task);
        }
        let next = self.queue.pop_front();
        self.current[cpu.index()] = next;
        next
    }
    fn yield_now(&mut self, platform: &mut Platform, cpu: CpuId, _task: TaskId) {
        platform.resched(cpu);
    }
    fn set_attr(&mut self, _platform: &mut Platform, _task: TaskId, _attr: &SchedAttr, _by: CpuId) {
    }
    fn set_affinity(&mut self, _platform: &mut Platform, _task: TaskId, _allowed: &CpuSet) {}
    fn kill(&mut self, _platform: &mut Platform, task: TaskId) {
        self.queue.retain(|&other| other != task);
    }
    fn cpu_of(&self, task: TaskId) -> CpuId {
        let current = self.current.iter().position(|&current| current == Some(task));
        CpuId(current.unwrap_or(0) as u32)
    }
}
