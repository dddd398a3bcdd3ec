//! Compiles the model to [`Scripts`], which the kernel of programs executes.

use super::costs::Costs;
use super::{Dialect, InForce, barriers, thread_of};
use crate::model::{Action, Event, Loops, Model, Phase, Properties, Task};
use crate::programs::{BarrierInfo, Instr, NONE, PhaseCode, Script, Scripts};
use schedlab_core::{CpuId, CpuSet, SchedAttr};
use std::collections::HashMap;

/// Returns the size of the largest piece of memory that an event of `task` touches, KiB.
fn footprint_kib(task: &Task) -> u32 {
    let bytes = |action: &Action| match action {
        Action::Mem(bytes) => *bytes,
        Action::MemRun(run) => run.size,
        _ => 0,
    };
    let events = task.phases.iter().flat_map(|phase| &phase.events);
    let most = events.map(|event| bytes(&event.action)).max().unwrap_or(0);
    u32::try_from(most.div_ceil(1024)).unwrap_or(u32::MAX)
}

/// Names that are numbered in the order of their first use.
#[derive(Default)]
struct Numbered {
    index: HashMap<String, u32>,
    names: Vec<String>,
}

impl Numbered {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.index.get(name) {
            return number;
        }
        let number = self.names.len() as u32;
        self.names.push(name.into());
        self.index.insert(name.into(), number);
        number
    }

    fn find(&self, name: &str) -> u32 {
        self.index.get(name).copied().unwrap_or(NONE)
    }
}

struct Compiler<'a> {
    model: &'a Model,
    dialect: Dialect,
    costs: &'a Costs,
    keys: HashMap<&'a str, u32>,
    /// By task: the number of its first thread.
    first_threads: Vec<u32>,
    attrs: Vec<SchedAttr>,
    attr_index: HashMap<[u64; 6], u32>,
    cpu_sets: Vec<CpuSet>,
    cpu_index: HashMap<Vec<u32>, u32>,
    groups: Numbered,
    mutexes: Numbered,
    conditions: Numbered,
    barriers: Numbered,
    semaphores: Numbered,
    suspensions: Numbered,
    timers: Numbered,
    places: Vec<String>,
}

/// Converts to a number of rounds.
fn rounds(loops: Loops) -> u64 {
    match loops {
        Loops::Forever => u64::MAX,
        Loops::Times(times) => times.min(u64::MAX - 1),
    }
}

/// Describes the position of an event of `phase`, or of the phase as a whole, for people.
fn place(task: &Task, phase: &Phase, event: Option<&Event>) -> String {
    match (task.flat, event) {
        (true, Some(event)) => format!("`{}`", event.key),
        (true, None) => "its events".into(),
        (false, Some(event)) => format!("`{}` in phase `{}`", event.key, phase.name),
        (false, None) => format!("phase `{}`", phase.name),
    }
}

/// Compiles a model that has passed the checks.
pub fn compile(model: &Model, dialect: Dialect, costs: &Costs) -> Scripts {
    let mut compiler = Compiler::new(model, dialect, costs);
    let scripts = model.tasks.iter().map(|task| compiler.program(task)).collect();
    let needed = barriers(model);
    let first_start_ns =
        model.tasks.iter().filter(|task| task.instances > 0).map(|task| task.delay_ns).min();
    let barriers = compiler
        .barriers
        .names
        .iter()
        .map(|name| BarrierInfo { name: name.clone(), needed: needed[name.as_str()] })
        .collect();
    Scripts {
        scripts,
        attrs: compiler.attrs,
        cpu_sets: compiler.cpu_sets,
        groups: compiler.groups.names,
        mutexes: compiler.mutexes.names,
        inherit: model.global.pi_enabled,
        conditions: compiler.conditions.names,
        barriers,
        semaphores: compiler.semaphores.names,
        suspensions: compiler.suspensions.names,
        timers: compiler.timers.names.len() as u32,
        disks: 1,
        places: compiler.places,
        duration_ns: model.global.duration_ns,
        first_start_ns: first_start_ns.unwrap_or(0),
        cumulative_slack: model.global.cumulative_slack,
    }
}

impl<'a> Compiler<'a> {
    fn new(model: &'a Model, dialect: Dialect, costs: &'a Costs) -> Compiler<'a> {
        let mut compiler = Compiler {
            model,
            dialect,
            costs,
            keys: HashMap::new(),
            first_threads: Vec::new(),
            attrs: Vec::new(),
            attr_index: HashMap::new(),
            cpu_sets: vec![CpuSet::All],
            cpu_index: HashMap::new(),
            groups: Numbered::default(),
            mutexes: Numbered::default(),
            conditions: Numbered::default(),
            barriers: Numbered::default(),
            semaphores: Numbered::default(),
            suspensions: Numbered::default(),
            timers: Numbered::default(),
            places: Vec::new(),
        };
        compiler.groups.number("");
        for path in model.group_paths() {
            compiler.groups.number(&path);
        }
        let mut threads = 0;
        for (number, task) in model.tasks.iter().enumerate() {
            compiler.keys.insert(&task.key, number as u32);
            compiler.first_threads.push(threads);
            threads += task.instances;
            for event in task.phases.iter().flat_map(|phase| &phase.events) {
                if let Action::Resume { name, .. } = &event.action {
                    compiler.suspensions.number(name);
                }
            }
        }
        compiler
    }

    fn attr(&mut self, in_force: &InForce) -> u32 {
        let attr = in_force.attr();
        let key = [
            attr.policy as u64,
            attr.nice as u64,
            u64::from(attr.rt_priority),
            attr.runtime_ns,
            attr.deadline_ns,
            attr.period_ns,
        ];
        *self.attr_index.entry(key).or_insert_with(|| {
            self.attrs.push(attr);
            self.attrs.len() as u32 - 1
        })
    }

    /// Returns the number of a set of CPUs; 0 is all of them.
    fn cpus(&mut self, cpus: Option<&Vec<u32>>) -> u32 {
        let Some(cpus) = cpus else { return 0 };
        let mut sorted = cpus.clone();
        sorted.sort_unstable();
        sorted.dedup();
        *self.cpu_index.entry(sorted).or_insert_with_key(|sorted| {
            self.cpu_sets.push(CpuSet::from_cpus(sorted.iter().copied().map(CpuId)));
            self.cpu_sets.len() as u32 - 1
        })
    }

    fn program(&mut self, task: &Task) -> Script {
        let mut in_force = InForce::new(self.model.global.default_policy);
        // The checks have verified that every property is valid.
        let _ = in_force.enter(&task.properties);
        let attr = self.attr(&in_force);
        let attrs = self.attrs_of_phases(task, in_force);
        let cpus = self.cpus(task.properties.cpus.as_ref());
        let moves = task.phases.iter().any(|phase| phase.properties.cpus.is_some());
        let does_nothing = task.phases.iter().all(|phase| phase.events.is_empty());
        let mut out = Output::default();
        for (number, phase) in task.phases.iter().enumerate() {
            let mut phase_rounds = rounds(phase.loops);
            if phase.events.is_empty() {
                phase_rounds = phase_rounds.min(1);
            }
            out.phases.push(PhaseCode { rounds: phase_rounds, begin: out.code.len() as u32 });
            if phase_rounds == 0 || task.loops == Loops::Times(0) {
                continue;
            }
            let of_phase = self.place(place(task, phase, None));
            out.place = of_phase;
            out.put(Instr::Begin { phase: number as u32 });
            if let Some((first, later)) = attrs[number] {
                out.put(Instr::Sched { first, later });
            }
            if let Some(path) = &phase.properties.taskgroup {
                let group = self.groups.number(path);
                out.put(Instr::Group { group });
            }
            if moves {
                let own = phase.properties.cpus.as_ref();
                let set = own.map_or(cpus, |own| self.cpus(Some(own)));
                out.put(Instr::Cpus { set });
            }
            let of_phase_us = phase.properties.clock_read_us;
            let every_us = of_phase_us.or(task.properties.clock_read_us).unwrap_or(0);
            out.clock_read_ns = every_us * 1000;
            self.events(task, phase, &mut out);
            out.place = of_phase;
            out.put(Instr::End { phase: number as u32 });
        }
        out.place = NONE;
        let task_rounds = rounds(task.loops);
        if !out.code.is_empty() {
            out.put(Instr::Round);
        }
        out.put(Instr::Exit);
        Script {
            name: task.key.clone(),
            instances: task.instances,
            code: out.code.into(),
            places: out.places.into(),
            phases: out.phases.into(),
            rounds: if does_nothing { task_rounds.min(1) } else { task_rounds },
            again: 0,
            attr,
            cpus,
            group: task.properties.taskgroup.as_ref().map_or(0, |path| self.groups.number(path)),
            delay_ns: task.delay_ns,
            unique_timers: out.unique_timers.names.len() as u32,
            footprint_kib: footprint_kib(task),
        }
    }

    /// Returns, for each phase that sets policy or priority, the attributes that are in force in
    /// the task's first round and in all later rounds.
    fn attrs_of_phases(&mut self, task: &Task, mut in_force: InForce) -> Vec<Option<(u32, u32)>> {
        let mut passes: Vec<Vec<u32>> = Vec::new();
        for _ in 0..2 {
            let mut pass = Vec::new();
            for phase in &task.phases {
                if phase.loops != Loops::Times(0) {
                    let _ = in_force.enter(&phase.properties);
                }
                pass.push(self.attr(&in_force));
            }
            passes.push(pass);
        }
        task.phases
            .iter()
            .enumerate()
            .map(|(number, phase)| {
                says_how_to_schedule(&phase.properties)
                    .then(|| (passes[0][number], passes[1][number]))
            })
            .collect()
    }

    fn place(&mut self, place: String) -> u32 {
        self.places.push(place);
        self.places.len() as u32 - 1
    }

    fn events(&mut self, task: &Task, phase: &Phase, out: &mut Output) {
        for event in &phase.events {
            out.place = self.place(place(task, phase, Some(event)));
            self.event(task, &event.action, out);
        }
    }

    fn event(&mut self, task: &Task, action: &Action, out: &mut Output) {
        match action {
            Action::Run(ns) => out.put(match out.clock_read_ns {
                0 => Instr::Run { ns: *ns },
                every_ns => Instr::RunReading { ns: *ns, every_ns },
            }),
            Action::Runtime(ns) => out.put(Instr::Runtime { ns: *ns }),
            Action::Sleep(ns) => out.put(Instr::Sleep { ns: *ns }),
            Action::Timer { name, period_ns, absolute } => {
                let unique = name.starts_with("unique");
                let names = if unique { &mut out.unique_timers } else { &mut self.timers };
                let timer = names.number(name);
                out.put(Instr::Timer { timer, unique, absolute: *absolute, period_ns: *period_ns });
            }
            Action::Lock(name) => {
                let mutex = self.mutexes.number(name);
                out.held.push(mutex);
                out.put(Instr::Lock { mutex });
            }
            Action::Unlock(name) => {
                let mutex = self.mutexes.number(name);
                out.held.retain(|&held| held != mutex);
                out.put(Instr::Unlock { mutex });
            }
            Action::Wait { condition, mutex } => {
                let (condition, mutex) =
                    (self.conditions.number(condition), self.mutexes.number(mutex));
                out.put(Instr::Wait { condition, mutex });
            }
            Action::Signal(name) => {
                let condition = self.conditions.number(name);
                out.put(Instr::Signal { condition });
            }
            Action::Broad(name) => {
                let condition = self.conditions.number(name);
                out.put(Instr::Broad { condition });
            }
            Action::Sync { condition, mutex } => {
                let (condition, mutex) =
                    (self.conditions.number(condition), self.mutexes.number(mutex));
                // In the meantime, a thread that does not hold the mutex takes it.
                let held = out.held.contains(&mutex);
                if !held {
                    out.put(Instr::Lock { mutex });
                }
                out.put(Instr::Signal { condition });
                out.put(Instr::Wait { condition, mutex });
                if !held {
                    out.put(Instr::Unlock { mutex });
                }
            }
            Action::Barrier(name) => {
                let barrier = self.barriers.number(name);
                out.put(Instr::Barrier { barrier });
            }
            Action::Suspend(_) if self.dialect == Dialect::Golden => out.put(Instr::Park),
            Action::Suspend(name) => {
                let key = self.suspensions.find(&task.key);
                let name = Some(name)
                    .filter(|name| **name != task.key)
                    .map_or(NONE, |name| self.suspensions.find(name));
                out.put(Instr::Suspend { key, name });
            }
            Action::Resume { name, sync } if self.dialect == Dialect::Golden => {
                let thread = self.thread(name);
                out.put(Instr::Unpark { thread, sync: *sync });
            }
            Action::Resume { name, sync } => {
                let name = self.suspensions.number(name);
                out.put(Instr::Resume { name, sync: *sync });
            }
            Action::SemPost(name) => {
                let semaphore = self.semaphores.number(name);
                out.put(Instr::SemPost { semaphore });
            }
            Action::SemWait(name) => {
                let semaphore = self.semaphores.number(name);
                out.put(Instr::SemWait { semaphore });
            }
            Action::Yield => out.put(Instr::Yield),
            Action::Exec => out.put(Instr::Exec),
            Action::Fork(name) | Action::Thread(name) => {
                let program = self.keys[name.as_str()];
                let thread = matches!(action, Action::Thread(_));
                out.put(Instr::Fork { program, thread });
            }
            Action::Mem(bytes) => out.put(Instr::Work { ns: self.costs.mem_ns(*bytes) }),
            Action::MemRun(run) => out.put(Instr::Work { ns: self.costs.mem_run_ns(run) }),
            Action::IoRun(bytes) => {
                out.put(Instr::Work { ns: self.costs.io_cpu_ns(*bytes) });
                out.put(Instr::Io { disk: 0, device_ns: self.costs.io_device_ns(*bytes) });
            }
        }
    }

    /// Returns the number of the thread `key-0`.
    fn thread(&self, name: &str) -> u32 {
        let find = |key: &str| self.keys.get(key).map(|&task| &self.model.tasks[task as usize]);
        let (task, instance) =
            thread_of(name, find).expect("the checks have verified that the thread exists");
        self.first_threads[self.keys[task.key.as_str()] as usize] + instance
    }
}

fn says_how_to_schedule(properties: &Properties) -> bool {
    properties.policy.is_some()
        || properties.priority.is_some()
        || properties.slice_us.is_some()
        || properties.dl_runtime_us.is_some()
        || properties.dl_deadline_us.is_some()
        || properties.dl_period_us.is_some()
}

/// A program under construction.
#[derive(Default)]
struct Output {
    code: Vec<Instr>,
    places: Vec<u32>,
    phases: Vec<PhaseCode>,
    /// Origin of the instructions that follow.
    place: u32,
    unique_timers: Numbered,
    /// CPU time between two readings of the thread's CPU clock, ns. `0`: there are none.
    clock_read_ns: u64,
    /// Mutexes that the thread holds at this point, in every round. See `mutex_use`.
    held: Vec<u32>,
}

impl Output {
    fn put(&mut self, instr: Instr) {
        self.code.push(instr);
        self.places.push(self.place);
    }
}
