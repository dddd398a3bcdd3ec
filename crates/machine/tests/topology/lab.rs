//! A small laboratory: programs, where they ran, and machines.

use schedlab_core::topology::Topology;
use schedlab_core::{BuildConfig, CpuId, CpuSet, Event, Release, Scheduler, TaskAttr, TaskId};
use schedlab_machine::description::{self, Description};
use schedlab_machine::{Config, Machine, NewTask, Observer, Op, Workload};
use schedlab_sched::registry;
use std::convert::Infallible;

pub const MS: u64 = 1_000_000;

/// Operations of a task in order. Then it ends.
pub type Program = Vec<Op>;

/// Tasks with their programs. Those after the initial ones are forked, in this order.
pub struct Programs {
    initial: Vec<NewTask>,
    programs: Vec<std::vec::IntoIter<Op>>,
    waiting: std::vec::IntoIter<Program>,
}

impl Programs {
    pub fn new(initial: Vec<(NewTask, Program)>, forked: Vec<Program>) -> Programs {
        let (initial, programs) =
            initial.into_iter().map(|(new, program)| (new, program.into_iter())).unzip();
        Programs { initial, programs, waiting: forked.into_iter() }
    }
}

impl Workload for Programs {
    type Error = Infallible;

    fn initial_tasks(&mut self) -> Vec<NewTask> {
        self.initial.clone()
    }

    fn next(&mut self, _now_ns: u64, task: TaskId, _cpu: CpuId) -> Result<Op, Infallible> {
        Ok(self.programs[task.index()].next().unwrap_or(Op::Exit))
    }

    fn forked(&mut self, _now_ns: u64, _parent: TaskId, child: TaskId) {
        assert_eq!(child.index(), self.programs.len());
        let program = self.waiting.next().expect("each fork has a program");
        self.programs.push(program.into_iter());
    }
}

/// Time of tasks on CPUs, by task and CPU, ns.
#[derive(Default)]
pub struct Ran {
    pub cpus: usize,
    pub ns: Vec<Vec<u64>>,
    since: Vec<Option<(TaskId, u64)>>,
}

impl Ran {
    pub fn new(cpus: u32) -> Ran {
        Ran { cpus: cpus as usize, ns: Vec::new(), since: vec![None; cpus as usize] }
    }

    pub fn stop(&mut self, now_ns: u64, cpu: usize) {
        if let Some((task, since)) = self.since[cpu].take() {
            if self.ns.len() <= task.index() {
                self.ns.resize(task.index() + 1, vec![0; self.cpus]);
            }
            self.ns[task.index()][cpu] += now_ns - since;
        }
    }

    /// Returns the CPUs on which `task` ran, and the time on each, ms.
    pub fn of(&self, task: usize) -> Vec<(usize, u64)> {
        let row = self.ns[task].iter().enumerate();
        row.filter(|(_, ns)| **ns > 0).map(|(cpu, ns)| (cpu, ns / MS)).collect()
    }
}

impl Observer for Ran {
    #[inline]
    fn on(&mut self, now_ns: u64, event: Event<'_>) {
        match event {
            Event::Switched { cpu, next, .. } => self.switched(now_ns, cpu, next),
            Event::Finished => self.finished(now_ns),
            _ => {}
        }
    }
}

impl Ran {
    fn switched(&mut self, now_ns: u64, cpu: CpuId, next: Option<TaskId>) {
        self.stop(now_ns, cpu.index());
        self.since[cpu.index()] = next.map(|next| (next, now_ns));
    }

    fn finished(&mut self, now_ns: u64) {
        for cpu in 0..self.cpus {
            self.stop(now_ns, cpu);
        }
    }
}

pub fn preset(name: &str) -> Topology {
    description::find(name).unwrap().topology
}

/// Returns a regular machine with these numbers of nodes, cores per node and threads per core, and
/// this numbering.
pub fn regular(nodes: u32, cores: u32, threads: u32, numbering: &str) -> Topology {
    let text = format!(
        r#"{{"format": 1, "name": "m", "topology": {{"regular":
            {{"nodes": {nodes}, "cores": {cores}, "threads": {threads}, "numbering": "{numbering}"}}}}}}"#
    );
    Description::parse("m", &text).unwrap().topology
}

pub fn build(release: &Release, topology: &Topology) -> Box<dyn Scheduler> {
    let config = BuildConfig { topology: topology.clone(), hz: release.hz_default };
    release.build(&config).expect("the release can be built")
}

pub fn scheduler(spec: &str, topology: &Topology) -> Box<dyn Scheduler> {
    build(registry::find(spec).unwrap().1, topology)
}

pub fn new_task(allowed: CpuSet, start_ms: u64) -> NewTask {
    NewTask { attr: TaskAttr { allowed, ..TaskAttr::default() }, start_ns: start_ms * MS }
}

pub const HOG: Op = Op::Run { ns: u64::MAX };

/// Runs tasks under a scheduler until a time, and returns where they ran.
pub fn run(spec: &str, topology: &Topology, programs: Programs, until_ms: u64) -> Ran {
    let (_, release) = registry::find(spec).unwrap();
    let config = Config::idealised(topology.cpus(), release.hz_default);
    let cpus = topology.cpus();
    let mut machine = Machine::new(config, scheduler(spec, topology), programs, Ran::new(cpus));
    let Ok(_) = machine.run(until_ms * MS);
    machine.scheduler().inspect().audit().unwrap();
    machine.into_parts().2
}

/// Returns a parent that forks `children` hogs, one per ms, and ends. The children stay where fork
/// puts them.
pub fn forks_hogs(children: usize) -> Programs {
    let mut parent = Vec::new();
    for _ in 0..children {
        let attr = Box::new(TaskAttr::default());
        parent.push(Op::Fork { attr, inherits: false, delay_ns: 0 });
        parent.push(Op::Run { ns: MS });
    }
    Programs::new(vec![(new_task(CpuSet::All, 0), parent)], vec![vec![HOG]; children])
}

/// Returns the spans of the domains with their groups, without parameters.
pub fn spans(spec: &str, topology: &Topology) -> Vec<String> {
    let text = scheduler(spec, topology).inspect().describe_domains().unwrap();
    text.lines()
        .map(|line| match line.split_once(": min_interval") {
            Some((level, _)) => level.into(),
            None => line.trim().into(),
        })
        .collect()
}

/// Returns the cores on which the hogs with these numbers ran most.
pub fn cores(ran: &Ran, topology: &Topology, hogs: std::ops::RangeInclusive<usize>) -> Vec<u32> {
    let last_core = |task: usize| {
        let most = ran.of(task).into_iter().max_by_key(|&(_, ms)| ms);
        topology.place(CpuId(most.expect("every hog ran").0 as u32)).core
    };
    hogs.map(last_core).collect()
}
