//! Policies of `tests/objects` on the simulated machine.

#![allow(dead_code)]

use schedlab_core::{
    BlockReason, BuildConfig, CpuId, CpuSet, Event, Observer, SchedAttr, TaskAttr, TaskId,
};
use schedlab_machine::{Config, Machine, NewTask, Op, Workload};
use schedlab_scx::{Image, Object, ObjectError, OnEnd, Options, ScxScheduler, Setting, Target};
use std::convert::Infallible;
use std::sync::Arc;

pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1_000 * MS;
pub const HZ: u32 = 250;

/// Returns the bytes of an object.
pub fn bytes(name: &str) -> &'static [u8] {
    match name {
        "vtime" => include_bytes!("../../../../examples/scx/vtime.bpf.o"),
        "bfs" => include_bytes!("../../../../examples/scx/bfs.bpf.o"),
        "o_1" => include_bytes!("../../../../examples/scx/o_1.bpf.o"),
        "goodness" => include_bytes!("../../../../examples/scx/goodness.bpf.o"),
        "faults" => include_bytes!("../objects/faults.bpf.o"),
        "above" => include_bytes!("../objects/above.bpf.o"),
        "contexts" => include_bytes!("../objects/contexts.bpf.o"),
        "extras" => include_bytes!("../objects/extras.bpf.o"),
        "features" => include_bytes!("../objects/features.bpf.o"),
        "queues" => include_bytes!("../objects/queues.bpf.o"),
        "rounds" => include_bytes!("../objects/rounds.bpf.o"),
        "half" => include_bytes!("../objects/half.bpf.o"),
        "order" => include_bytes!("../objects/order.bpf.o"),
        "walk" => include_bytes!("../objects/walk.bpf.o"),
        other => panic!("there is no object {other}"),
    }
}

pub fn link(name: &str, cpus: u32, settings: &[&str]) -> Result<Image, ObjectError> {
    let object = Object::read(&format!("{name}.bpf.o"), bytes(name))?;
    let settings: Result<Vec<Setting>, ObjectError> =
        settings.iter().map(|text| Setting::read(text)).collect();
    object.link(Target { cpus, hz: HZ }, &settings?)
}

pub fn scheduler(name: &str, cpus: u32, settings: &[&str], on_end: OnEnd) -> ScxScheduler {
    let image = link(name, cpus, settings).unwrap_or_else(|error| panic!("{error}"));
    let options = Options { on_end, keeps_printed: true, ..Options::default() };
    ScxScheduler::new(Arc::new(image), &BuildConfig::flat(cpus, HZ), options)
}

/// Endless behaviour of a task: it runs, then sleeps. Without a sleep it is a hog.
#[derive(Clone, Debug)]
pub struct Script {
    pub nice: i32,
    pub allowed: CpuSet,
    pub run_ns: u64,
    pub sleep_ns: u64,
    /// Number of rounds after which it ends.
    pub rounds: u64,
}

impl Script {
    pub fn hog(nice: i32) -> Script {
        Script { nice, allowed: CpuSet::All, run_ns: u64::MAX, sleep_ns: 0, rounds: u64::MAX }
    }
    pub fn sleeper(run_ns: u64, sleep_ns: u64) -> Script {
        Script { run_ns, sleep_ns, ..Script::hog(0) }
    }
    pub fn on(self, cpu: u32) -> Script {
        Script { allowed: CpuSet::only(CpuId(cpu)), ..self }
    }
}

pub struct Scripts {
    scripts: Vec<Script>,
    steps: Vec<u64>,
}

impl Workload for Scripts {
    type Error = Infallible;
    fn initial_tasks(&mut self) -> Vec<NewTask> {
        let attr = |script: &Script| TaskAttr {
            sched: SchedAttr::nice(script.nice),
            allowed: script.allowed.clone(),
            ..TaskAttr::default()
        };
        self.scripts.iter().map(|script| NewTask { attr: attr(script), start_ns: 0 }).collect()
    }
    fn next(&mut self, now_ns: u64, task: TaskId, _cpu: CpuId) -> Result<Op, Infallible> {
        let script = &self.scripts[task.index()];
        let step = self.steps[task.index()];
        self.steps[task.index()] += 1;
        if step / 2 >= script.rounds {
            return Ok(Op::Exit);
        }
        Ok(match step % 2 {
            0 => Op::Run { ns: script.run_ns },
            _ => {
                Op::Sleep { until_ns: now_ns + script.sleep_ns, reason: BlockReason::Interruptible }
            }
        })
    }
}

/// CPU times by task, with a check of all runs against affinities.
#[derive(Default)]
pub struct Books {
    pub cpu_ns: Vec<u64>,
    pub allowed: Vec<CpuSet>,
    running: Vec<Option<(TaskId, u64)>>,
    pub faults: Vec<String>,
    pub switches: u64,
}

impl Books {
    fn leave(&mut self, now_ns: u64, cpu: CpuId) {
        if self.running.len() <= cpu.index() {
            self.running.resize(cpu.index() + 1, None);
        }
        if let Some((task, since)) = self.running[cpu.index()].take() {
            if self.cpu_ns.len() <= task.index() {
                self.cpu_ns.resize(task.index() + 1, 0);
            }
            self.cpu_ns[task.index()] += now_ns - since;
        }
    }
}

impl Observer for Books {
    fn on(&mut self, now_ns: u64, event: Event<'_>) {
        match event {
            Event::Switched { cpu, next, .. } => {
                self.leave(now_ns, cpu);
                self.switches += 1;
                let Some(task) = next else { return };
                if self.running.iter().flatten().any(|(other, _)| *other == task) {
                    self.faults.push(format!("{now_ns}: {task:?} runs on two CPUs"));
                }
                let allowed = self.allowed.get(task.index());
                if allowed.is_some_and(|allowed| !allowed.contains(cpu)) {
                    self.faults.push(format!("{now_ns}: {task:?} may not run on {cpu:?}"));
                }
                self.running[cpu.index()] = Some((task, now_ns));
            }
            Event::Born { task, attr, .. } => {
                if self.allowed.len() <= task.index() {
                    self.allowed.resize(task.index() + 1, CpuSet::All);
                }
                self.allowed[task.index()] = attr.allowed.clone();
            }
            Event::AffinityChanged { task, allowed } => {
                self.allowed[task.index()] = allowed.clone();
            }
            Event::Finished => {
                for cpu in 0..self.running.len() as u32 {
                    self.leave(now_ns, CpuId(cpu));
                }
            }
            _ => (),
        }
    }
}

pub type Run = Machine<ScxScheduler, Scripts, Books>;

/// Runs the policy with these tasks until a time.
pub fn run(scheduler: ScxScheduler, cpus: u32, scripts: Vec<Script>, until_ns: u64) -> Run {
    let workload = Scripts { steps: vec![0; scripts.len()], scripts };
    let config = Config::idealised(cpus, HZ);
    let mut machine = Machine::new(config, scheduler, workload, Books::default());
    let Ok(_) = machine.run(until_ns);
    assert_eq!(machine.observer().faults, Vec::<String>::new());
    machine
}
