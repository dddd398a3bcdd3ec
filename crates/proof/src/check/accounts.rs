//! CPU time, added up from the machine's events, and the work that tasks request.

use super::{Rule, Violation};
use schedlab_core::{CpuId, Event, SchedAttr, TaskId};
use schedlab_machine::{NewTask, Observer, Op, Workload};

/// Adds up the CPU time of each task and CPU.
#[derive(Clone, Debug, Default)]
pub struct Accounts {
    cpus: Vec<Cpu>,
    /// CPU time of each task, ns.
    task_ns: Vec<u64>,
    violation: Option<Violation>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cpu {
    current: Option<TaskId>,
    since_ns: u64,
    busy_ns: u64,
    idle_ns: u64,
}

impl Accounts {
    /// Creates the accounts of `cpus` CPUs before a run.
    pub fn new(cpus: u32) -> Accounts {
        Accounts { cpus: vec![Cpu::default(); cpus as usize], ..Accounts::default() }
    }

    /// Returns the CPU time of `task`, ns.
    pub fn task_ns(&self, task: TaskId) -> u64 {
        self.task_ns.get(task.index()).copied().unwrap_or(0)
    }

    /// Returns the total time that CPUs were busy, ns.
    pub fn busy_ns(&self) -> u64 {
        self.cpus.iter().map(|cpu| cpu.busy_ns).sum()
    }

    fn pass(&mut self, cpu: CpuId, now_ns: u64) {
        let Cpu { current, since_ns, busy_ns, idle_ns } = &mut self.cpus[cpu.index()];
        let passed_ns = now_ns - *since_ns;
        *since_ns = now_ns;
        match current {
            None => *idle_ns += passed_ns,
            Some(task) => {
                *busy_ns += passed_ns;
                if task.index() >= self.task_ns.len() {
                    self.task_ns.resize(task.index() + 1, 0);
                }
                self.task_ns[task.index()] += passed_ns;
            }
        }
    }

    /// Checks after a run that ended at `now_ns` that all time adds up, and that every task got the
    /// work that it requested.
    ///
    /// # Errors
    /// Description of what does not add up.
    pub fn settle<W>(&self, now_ns: u64, asked: &RequestedWork<W>) -> Result<(), Violation> {
        if let Some(violation) = &self.violation {
            return Err(violation.clone());
        }
        let wrong = |what: String| Violation::new(Rule::Accounts, now_ns, what);
        for (number, cpu) in self.cpus.iter().enumerate() {
            if cpu.busy_ns + cpu.idle_ns != now_ns {
                let (busy_ns, idle_ns) = (cpu.busy_ns, cpu.idle_ns);
                return Err(wrong(format!(
                    "CPUs were busy for {busy_ns} ns and idle for {idle_ns} ns"
                ))
                .on(CpuId(number as u32)));
            }
        }
        let of_tasks_ns: u64 = self.task_ns.iter().sum();
        let of_cpus_ns = self.busy_ns();
        if of_tasks_ns != of_cpus_ns {
            return Err(wrong(format!(
                "tasks had {of_tasks_ns} ns of CPU time, CPUs were busy for {of_cpus_ns} ns"
            )));
        }
        for (number, asked) in asked.tasks.iter().enumerate() {
            let task = TaskId(number as u32);
            let (got_ns, asked_ns) = (self.task_ns(task), asked.asked_ns);
            if got_ns > asked_ns {
                return Err(
                    wrong(format!("it requested {asked_ns} ns and had {got_ns} ns")).of(task)
                );
            }
            if asked.ended && !asked.killed && got_ns < asked_ns {
                return Err(wrong(format!(
                    "it ended after {got_ns} ns of the {asked_ns} ns that it requested"
                ))
                .of(task));
            }
        }
        Ok(())
    }
}

impl Observer for Accounts {
    #[inline]
    fn on(&mut self, now_ns: u64, event: Event<'_>) {
        match event {
            Event::Switched { cpu, prev, next, .. } => self.switched(now_ns, cpu, prev, next),
            Event::Finished => self.finished(now_ns),
            _ => {}
        }
    }
}

impl Accounts {
    fn switched(&mut self, now_ns: u64, cpu: CpuId, prev: Option<TaskId>, next: Option<TaskId>) {
        if prev != self.cpus[cpu.index()].current {
            let what =
                format!("{prev:?} left the CPU, which {:?} had", self.cpus[cpu.index()].current);
            self.violation.get_or_insert(Violation::new(Rule::Accounts, now_ns, what).on(cpu));
        }
        self.pass(cpu, now_ns);
        self.cpus[cpu.index()].current = next;
    }

    fn finished(&mut self, now_ns: u64) {
        for cpu in 0..self.cpus.len() {
            self.pass(CpuId(cpu as u32), now_ns);
        }
    }
}

/// A workload that records the work that each task requests.
#[derive(Clone, Debug)]
pub struct RequestedWork<W> {
    workload: W,
    tasks: Vec<TaskRequest>,
}

#[derive(Clone, Copy, Debug, Default)]
struct TaskRequest {
    asked_ns: u64,
    ended: bool,
    /// Whether the task was killed, so that it did not get the work that it requested.
    killed: bool,
}

impl<W> RequestedWork<W> {
    /// Records the requests of `workload`.
    pub fn new(workload: W) -> RequestedWork<W> {
        RequestedWork { workload, tasks: Vec::new() }
    }

    /// Returns the workload.
    pub fn workload(&self) -> &W {
        &self.workload
    }

    /// Checks after a run that gave all tasks enough time that every task without endless work has
    /// ended.
    ///
    /// # Errors
    /// The first task that has not ended.
    pub fn no_task_lost(&self, now_ns: u64) -> Result<(), Violation> {
        let lost = |task: &TaskRequest| !task.ended && task.asked_ns < u64::MAX;
        match self.tasks.iter().position(lost) {
            None => Ok(()),
            Some(task) => {
                let what = "it never ended, although there was enough time".into();
                Err(Violation::new(Rule::Lost, now_ns, what).of(TaskId(task as u32)))
            }
        }
    }

    /// Whether `task` has ended.
    pub fn ended(&self, task: TaskId) -> bool {
        self.tasks.get(task.index()).is_some_and(|task| task.ended)
    }

    fn task(&mut self, task: TaskId) -> &mut TaskRequest {
        if task.index() >= self.tasks.len() {
            self.tasks.resize(task.index() + 1, TaskRequest::default());
        }
        &mut self.tasks[task.index()]
    }

    fn asks(&mut self, task: TaskId, ns: u64) {
        let asking = self.task(task);
        asking.asked_ns = asking.asked_ns.saturating_add(ns);
    }
}

impl<W: AsRef<K>, K> AsRef<K> for RequestedWork<W> {
    fn as_ref(&self) -> &K {
        self.workload.as_ref()
    }
}

impl<W: Workload> Workload for RequestedWork<W> {
    type Error = W::Error;

    fn initial_tasks(&mut self) -> Vec<NewTask> {
        let tasks = self.workload.initial_tasks();
        self.tasks.resize(tasks.len(), TaskRequest::default());
        tasks
    }

    fn next(&mut self, now_ns: u64, task: TaskId, cpu: CpuId) -> Result<Op, W::Error> {
        let op = self.workload.next(now_ns, task, cpu)?;
        match op {
            Op::Run { ns } => self.asks(task, ns),
            Op::Exit => self.task(task).ended = true,
            _ => {}
        }
        Ok(op)
    }

    fn take_run(&mut self, now_ns: u64, task: TaskId) -> Option<u64> {
        let ns = self.workload.take_run(now_ns, task)?;
        self.asks(task, ns);
        Some(ns)
    }

    fn before_wake(&mut self, now_ns: u64, task: TaskId) -> Option<Op> {
        let op = self.workload.before_wake(now_ns, task);
        if op == Some(Op::Exit) {
            self.task(task).ended = true;
        }
        op
    }

    fn footprint_kib(&self, task: TaskId) -> u32 {
        self.workload.footprint_kib(task)
    }

    fn in_a_call(&self, task: TaskId) -> bool {
        self.workload.in_a_call(task)
    }

    fn burst_ns(&self, task: TaskId) -> Option<u64> {
        self.workload.burst_ns(task)
    }

    fn killed(&mut self, now_ns: u64, task: TaskId) {
        let asking = self.task(task);
        asking.killed = true;
        asking.ended = true;
        self.workload.killed(now_ns, task);
    }

    fn fork_refused(&mut self, now_ns: u64, parent: TaskId) {
        self.workload.fork_refused(now_ns, parent);
    }

    fn attr_refused(&mut self, task: TaskId, in_force: &SchedAttr) {
        self.workload.attr_refused(task, in_force);
    }

    fn task_name(&self, task: TaskId) -> String {
        self.workload.task_name(task)
    }

    fn forked(&mut self, now_ns: u64, parent: TaskId, child: TaskId) {
        self.task(child);
        self.workload.forked(now_ns, parent, child);
    }
}
