//! A machine for tests: a very simple scheduler, and a record of the operations of the workload.

use schedlab_core::{
    BlockReason, Command, ControlError, CpuId, CpuSet, Event, Parent, Platform, Policy, Reply,
    SchedAttr, Scheduler, TaskAttr, TaskId, Waker,
};
use schedlab_machine::{Config, Machine, NewTask, Observer, Op, RunEnd, Workload};
use schedlab_workload::{Error, Kernel, Options, Target, rt_app};

/// One queue for all CPUs: real-time and deadline tasks before others, otherwise first come, first
/// served, without time slices.
#[derive(Default)]
pub struct Plain {
    tasks: Vec<Row>,
    cpus: Vec<Option<TaskId>>,
    turns: u64,
    /// Task that has yielded and not been picked since.
    yielded: Option<TaskId>,
}

#[derive(Clone, Default)]
struct Row {
    attr: SchedAttr,
    allowed: CpuSet,
    runnable: bool,
    on: Option<CpuId>,
    turn: u64,
}

impl Plain {
    fn urgency(attr: &SchedAttr) -> u32 {
        match attr.policy {
            Policy::Deadline => 0,
            Policy::Fifo | Policy::RoundRobin => 100 - attr.rt_priority,
            _ => 100,
        }
    }

    fn queue(&mut self, platform: &mut Platform, task: TaskId) {
        self.turns += 1;
        let row = &mut self.tasks[task.index()];
        row.runnable = true;
        row.turn = self.turns;
        Self::resched_all(platform);
    }

    fn resched_all(platform: &mut Platform) {
        for cpu in 0..platform.cpus() {
            platform.resched(CpuId(cpu));
        }
    }
}

impl Scheduler for Plain {
    fn fork(&mut self, platform: &mut Platform, task: TaskId, attr: &TaskAttr, _parent: Parent) {
        self.cpus.resize(platform.cpus() as usize, None);
        if task.index() >= self.tasks.len() {
            self.tasks.resize(task.index() + 1, Row::default());
        }
        self.tasks[task.index()].attr = attr.sched;
        self.tasks[task.index()].allowed = attr.allowed.clone();
        self.queue(platform, task);
    }
    fn wake(&mut self, platform: &mut Platform, task: TaskId, _waker: Waker) {
        self.queue(platform, task);
    }
    fn block(&mut self, _: &mut Platform, _: CpuId, task: TaskId, _: BlockReason) {
        self.tasks[task.index()].runnable = false;
    }
    fn tick(&mut self, _: &mut Platform, _: CpuId) {}
    fn schedule(&mut self, platform: &mut Platform, cpu: CpuId) -> Option<TaskId> {
        let prev = self.cpus[cpu.index()].take();
        if let Some(prev) = prev {
            self.tasks[prev.index()].on = None;
        }
        let rank = |number: usize, row: &Row| {
            let urgency = Self::urgency(&row.attr);
            // The running task continues before equals, unless it has yielded.
            let goes_on = prev == Some(TaskId(number as u32)) && self.yielded != prev;
            (urgency, !goes_on, row.turn)
        };
        let next = (0..self.tasks.len())
            .filter(|&number| {
                let row = &self.tasks[number];
                row.runnable && row.on.is_none() && row.allowed.contains(cpu)
            })
            .min_by_key(|&number| rank(number, &self.tasks[number]))
            .map(|number| TaskId(number as u32));
        self.cpus[cpu.index()] = next;
        if self.yielded == prev {
            self.yielded = None;
        }
        if let Some(next) = next {
            self.tasks[next.index()].on = Some(cpu);
        }
        if let Some(prev) = prev.filter(|&prev| Some(prev) != next)
            && self.tasks[prev.index()].runnable
        {
            // The task may find another CPU.
            for other in 0..platform.cpus() {
                if self.cpus[other as usize].is_none() {
                    platform.resched(CpuId(other));
                }
            }
        }
        next
    }
    fn yield_now(&mut self, platform: &mut Platform, cpu: CpuId, task: TaskId) {
        self.turns += 1;
        self.tasks[task.index()].turn = self.turns;
        self.yielded = Some(task);
        platform.resched(cpu);
    }
    fn set_attr(&mut self, platform: &mut Platform, task: TaskId, attr: &SchedAttr, _: CpuId) {
        self.tasks[task.index()].attr = *attr;
        Self::resched_all(platform);
    }
    fn set_affinity(&mut self, platform: &mut Platform, task: TaskId, allowed: &CpuSet) {
        self.tasks[task.index()].allowed = allowed.clone();
        Self::resched_all(platform);
    }
    fn kill(&mut self, _: &mut Platform, task: TaskId) {
        self.tasks[task.index()].runnable = false;
    }
    fn cpu_of(&self, task: TaskId) -> CpuId {
        self.tasks[task.index()].on.unwrap_or(CpuId(0))
    }
    fn control(&mut self, _: &mut Platform, command: Command<'_>) -> Result<Reply, ControlError> {
        match command {
            Command::MoveTask { .. } => Ok(Reply::Done),
            other => Err(other.unsupported()),
        }
    }
}

/// Records the operations of the workload.
pub struct Spy {
    pub vm: Kernel,
    pub ops: Vec<(u64, TaskId, Op)>,
    pub born: Vec<NewTask>,
}

impl Workload for Spy {
    type Error = Error;
    fn initial_tasks(&mut self) -> Vec<NewTask> {
        self.born = self.vm.initial_tasks();
        self.born.clone()
    }
    fn next(&mut self, now_ns: u64, task: TaskId, cpu: CpuId) -> Result<Op, Error> {
        let op = self.vm.next(now_ns, task, cpu)?;
        self.ops.push((now_ns, task, op.clone()));
        Ok(op)
    }
    fn take_run(&mut self, now_ns: u64, task: TaskId) -> Option<u64> {
        let ns = self.vm.take_run(now_ns, task)?;
        self.ops.push((now_ns, task, Op::Run { ns }));
        Some(ns)
    }
    fn before_wake(&mut self, now_ns: u64, task: TaskId) -> Option<Op> {
        self.vm.before_wake(now_ns, task)
    }
    fn forked(&mut self, now_ns: u64, parent: TaskId, child: TaskId) {
        self.vm.forked(now_ns, parent, child);
    }
}

/// Records which task ran where.
#[derive(Default)]
pub struct Slices {
    running: Vec<Option<(TaskId, u64)>>,
    done: Vec<(u32, u64, u64, TaskId)>,
}

impl Observer for Slices {
    #[inline]
    fn on(&mut self, now_ns: u64, event: Event<'_>) {
        match event {
            Event::Switched { cpu, next, .. } => self.switched(now_ns, cpu, next),
            Event::Finished => self.finished(now_ns),
            _ => {}
        }
    }
}

impl Slices {
    fn switched(&mut self, now_ns: u64, cpu: CpuId, next: Option<TaskId>) {
        if cpu.index() >= self.running.len() {
            self.running.resize(cpu.index() + 1, None);
        }
        let next = next.map(|task| (task, now_ns));
        if let Some((task, start_ns)) = std::mem::replace(&mut self.running[cpu.index()], next)
            && start_ns < now_ns
        {
            let last = self.done.iter_mut().rev().find(|slice| slice.0 == cpu.0);
            match last {
                Some(last) if last.2 == start_ns && last.3 == task => last.2 = now_ns,
                _ => self.done.push((cpu.0, start_ns, now_ns, task)),
            }
        }
    }

    fn finished(&mut self, now_ns: u64) {
        for cpu in 0..self.running.len() {
            self.switched(now_ns, CpuId(cpu as u32), None);
        }
    }
}

/// Results of a run.
pub struct Ran {
    pub end: Result<RunEnd, Error>,
    pub now_ns: u64,
    pub vm: Kernel,
    pub ops: Vec<(u64, TaskId, Op)>,
    pub born: Vec<NewTask>,
    slices: Vec<(u32, u64, u64, TaskId)>,
}

impl Ran {
    /// Returns the slices in order: `a-0 0..2000`, in µs. With more than one CPU, `@cpu` follows.
    pub fn slices(&self) -> String {
        let mut slices = self.slices.clone();
        slices.sort_by_key(|slice| (slice.1, slice.0));
        let several = slices.iter().any(|slice| slice.0 > 0);
        let slices: Vec<String> = slices
            .iter()
            .map(|&(cpu, start, end, task)| {
                let cpu = if several { format!("@{cpu}") } else { String::new() };
                format!("{} {}..{}{cpu}", self.vm.thread_name(task), us(start), us(end))
            })
            .collect();
        slices.join(", ")
    }

    /// Returns the operations other than runs and exits: `2000 a-0 sleep 10000`, in µs.
    pub fn ops(&self) -> String {
        let ops: Vec<String> = self
            .ops
            .iter()
            .filter_map(|(now, task, op)| {
                let what = match op {
                    Op::Run { .. } | Op::RunUntil { .. } | Op::Kill { .. } | Op::Exit => {
                        return None;
                    }
                    Op::Sleep { until_ns, .. } => format!("sleep {}", us(*until_ns)),
                    Op::Block { .. } => "block".into(),
                    Op::Wake { task, sync } => {
                        format!(
                            "wake{} {}",
                            if *sync { " sync" } else { "" },
                            self.vm.thread_name(*task)
                        )
                    }
                    Op::SetAttr { task, attr } => {
                        format!("{} is {}", self.vm.thread_name(*task), attr_text(attr))
                    }
                    Op::SetAffinity { allowed, .. } => {
                        let cpus: Vec<u32> = allowed.iter(8).map(|cpu| cpu.0).collect();
                        format!("cpus {cpus:?}")
                    }
                    Op::SetGroup { group, .. } => format!("group {}", group.0),
                    Op::Fork { .. } => "fork".into(),
                    Op::Exec => "exec".into(),
                    Op::ReadClock => "read clock".into(),
                    Op::Yield => "yield".into(),
                    Op::YieldAndGoOn => "yield and continue".into(),
                };
                Some(format!("{} {} {what}", us(*now), self.vm.thread_name(*task)))
            })
            .collect();
        ops.join(", ")
    }

    /// Returns the [`ops`](Ran::ops), with changes of attributes only.
    pub fn attr_changes(&self) -> String {
        let ops = self.ops();
        let changes: Vec<&str> = ops.split(", ").filter(|op| op.contains(" is ")).collect();
        changes.join(", ")
    }
}

pub fn attr_text(attr: &SchedAttr) -> String {
    match attr.policy {
        Policy::Fifo => format!("fifo {}", attr.rt_priority),
        Policy::RoundRobin => format!("rr {}", attr.rt_priority),
        Policy::Deadline => format!(
            "deadline {}/{}/{}",
            attr.runtime_ns / 1000,
            attr.deadline_ns / 1000,
            attr.period_ns / 1000
        ),
        Policy::Other | Policy::Batch | Policy::Idle | Policy::Iso => {
            let name = &attr.policy.name()["SCHED_".len()..];
            let slice = match attr.runtime_ns {
                0 => String::new(),
                ns => format!(" slice {}", ns / 1000),
            };
            format!("{} {}{slice}", name.to_lowercase(), attr.nice)
        }
    }
}

fn us(ns: u64) -> String {
    if ns.is_multiple_of(1000) {
        (ns / 1000).to_string()
    } else {
        format!("{}.{:03}", ns / 1000, ns % 1000)
    }
}

/// Runs `text` on `cpus` CPUs under [`Plain`] until its duration, or for 10 s.
pub fn run_on(cpus: u32, text: &str) -> Ran {
    run_with(cpus, text, Options::default())
}

/// Runs on one CPU.
pub fn run(text: &str) -> Ran {
    run_on(1, text)
}

/// Runs with options.
pub fn run_with(cpus: u32, text: &str, options: Options) -> Ran {
    let target = Target { cpus, limited: true };
    let model = rt_app::load("test.json", text, &target).unwrap_or_else(|error| panic!("{error}"));
    let vm = rt_app::prepare(&model, &target, options).unwrap_or_else(|error| panic!("{error}"));
    run_vm(cpus, vm)
}

/// Runs a prepared workload.
pub fn run_vm(cpus: u32, vm: Kernel) -> Ran {
    let until_ns = vm.duration_ns().unwrap_or(10_000_000_000);
    let spy = Spy { vm, ops: Vec::new(), born: Vec::new() };
    let mut machine =
        Machine::new(Config::idealised(cpus, 100), Plain::default(), spy, Slices::default());
    let end = machine.run(until_ns);
    let now_ns = machine.now_ns();
    let (_, spy, slices) = machine.into_parts();
    Ran { end, now_ns, vm: spy.vm, ops: spy.ops, born: spy.born, slices: slices.done }
}

/// Returns the error of a file that is refused.
pub fn refusal(text: &str) -> schedlab_workload::Diagnostic {
    match rt_app::load("test.json", text, &Target::new(2)) {
        Ok(_) => panic!("not refused: {text}"),
        Err(error) => error,
    }
}
