//! A small machine for the tests of this scheduler: time in whole milliseconds, and tasks that run
//! and sleep as scripted.

mod other_hz;
mod rules_of_2_6_0;
mod rules_of_2_6_22;
mod stress;

use super::task::{ArrayId, Pid, Task};
use super::{O1, Version};
use alloc::vec;
use alloc::vec::Vec;
use schedlab_core::{
    BlockReason, BuildConfig, CpuId, CpuSet, Parent, Platform, Policy, SchedAttr, Scheduler,
    TaskAttr, TaskId, Waker,
};

const MS: u64 = 1_000_000;
const CPU0: CpuId = CpuId(0);
const CPU1: CpuId = CpuId(1);
/// A run without an end.
const EVER: u64 = u64::MAX;

/// A step of a task, ms.
#[derive(Clone, Copy, Debug)]
enum Step {
    Run(u64),
    Sleep(u64),
}
use Step::{Run, Sleep};

#[derive(Clone, Debug)]
struct Program {
    attr: TaskAttr,
    steps: Vec<Step>,
    /// Whether to start over after the last step.
    repeat: bool,
    at: usize,
    /// Remaining work of the current run, ms.
    left: u64,
    /// Time at which it starts, or its sleep ends, ms.
    due: Option<u64>,
    born: bool,
}

/// A stretch of running: CPU, from and to (ms), task.
type Slice = (u32, u64, u64, u32);

struct Rig {
    sched: O1,
    platform: Platform,
    programs: Vec<Program>,
    current: Vec<Option<TaskId>>,
    now: u64,
    slices: Vec<Slice>,
}

impl Rig {
    fn new(version: Version, cpus: u32) -> Rig {
        let config = BuildConfig::flat(cpus, 1000);
        Rig {
            sched: O1::new(version, &config),
            platform: config.platform(),
            programs: Vec::new(),
            current: vec![None; cpus as usize],
            now: 0,
            slices: Vec::new(),
        }
    }

    /// Adds a task that starts now and exits after its last step.
    fn add(&mut self, sched: SchedAttr, allowed: CpuSet, steps: &[Step]) -> TaskId {
        let task = TaskId(self.programs.len() as u32);
        self.programs.push(Program {
            attr: TaskAttr { sched, allowed, address_space: task.0, ..TaskAttr::default() },
            steps: steps.to_vec(),
            repeat: false,
            at: 0,
            left: 0,
            due: Some(self.now),
            born: false,
        });
        task
    }

    fn hog(&mut self, nice: i32) -> TaskId {
        self.add(SchedAttr::nice(nice), CpuSet::All, &[Run(EVER)])
    }

    /// Returns a CPU-bound task that starts on `cpu` and may then run anywhere.
    fn hog_on(&mut self, nice: i32, cpu: u32) -> TaskId {
        let task = self.add(SchedAttr::nice(nice), CpuSet::only(CpuId(cpu)), &[Run(EVER)]);
        self.start(task);
        let p = self.sched.tasks.pid(task);
        self.sched.tasks.set_allowed(self.sched.tasks.task_id(p), CpuSet::All);
        task
    }

    /// Starts a task immediately.
    fn start(&mut self, task: TaskId) {
        let program = &mut self.programs[task.index()];
        program.due = None;
        program.born = true;
        let attr = program.attr.clone();
        self.sched.fork(&mut self.platform, task, &attr, Parent::External);
    }

    fn row(&mut self, task: TaskId) -> &mut Task {
        let p = self.sched.tasks.pid(task);
        &mut self.sched.tasks[p]
    }

    /// Handles everything of the current millisecond, including the tick if `tick` is set.
    fn instant(&mut self, tick: bool) {
        for cpu in 0..self.current.len() {
            if let Some(task) = self.current[cpu]
                && self.programs[task.index()].left == 0
            {
                self.next_step(cpu, task);
            }
        }
        for number in 0..self.programs.len() {
            let task = TaskId(number as u32);
            if self.programs[number].due == Some(self.now) {
                if self.programs[number].born {
                    self.programs[number].due = None;
                    let cpu = self.sched.cpu_of(task);
                    self.sched.wake(&mut self.platform, task, Waker::Interrupt { cpu });
                } else {
                    self.start(task);
                }
            }
        }
        if tick {
            self.platform.set_jiffies(self.now);
            for cpu in 0..self.current.len() as u32 {
                self.sched.tick(&mut self.platform, CpuId(cpu));
            }
        }
        self.reschedule();
    }

    /// Reschedules all CPUs that were asked to, round after round.
    fn reschedule(&mut self) {
        while self.platform.next_resched(0).is_some() {
            for number in 0..self.current.len() {
                let cpu = CpuId(number as u32);
                if !self.platform.resched_pending(cpu) {
                    continue;
                }
                self.platform.clear_resched(cpu);
                let next = self.sched.schedule(&mut self.platform, cpu);
                self.current[number] = next;
                if let Some(task) = next
                    && self.programs[task.index()].left == 0
                {
                    self.next_step(number, task);
                }
            }
        }
        self.sched.inspect().audit().unwrap();
    }

    /// Ends the step of `task`, which is current on `cpu`.
    fn next_step(&mut self, cpu: usize, task: TaskId) {
        let program = &mut self.programs[task.index()];
        if program.repeat && program.at == program.steps.len() {
            program.at = 0;
        }
        let step = program.steps.get(program.at).copied();
        program.at += 1;
        let reason = match step {
            Some(Run(ms)) => {
                program.left = ms;
                return;
            }
            Some(Sleep(ms)) => {
                program.due = Some(self.now + ms);
                BlockReason::Interruptible
            }
            None => BlockReason::Dead,
        };
        let cpu = CpuId(cpu as u32);
        self.sched.block(&mut self.platform, cpu, task, reason);
        self.platform.resched(cpu);
    }

    /// Runs up to and including the instant at `until` ms.
    fn run_to(&mut self, until: u64) {
        if self.now == 0 {
            self.instant(false);
        }
        while self.now < until {
            for cpu in 0..self.current.len() {
                if let Some(task) = self.current[cpu] {
                    self.note(cpu as u32, task.0);
                    let left = &mut self.programs[task.index()].left;
                    if *left != EVER {
                        *left -= 1;
                    }
                }
            }
            self.now += 1;
            self.platform.set_now_ns(self.now * MS);
            self.instant(true);
        }
    }

    fn note(&mut self, cpu: u32, task: u32) {
        let last = self.slices.iter_mut().rev().find(|slice| slice.0 == cpu);
        match last {
            Some(slice) if slice.3 == task && slice.2 == self.now => slice.2 += 1,
            _ => self.slices.push((cpu, self.now, self.now + 1, task)),
        }
    }

    /// Advances the clock by `ns`, without any event.
    fn pass(&mut self, ns: u64) {
        self.platform.set_now_ns(self.platform.now_ns() + ns);
    }

    fn running(&self, cpu: u32) -> Option<u32> {
        self.current[cpu as usize].map(|task| task.0)
    }

    /// Treats `task`, which is not queued, as having slept until now.
    fn recalc(&mut self, task: TaskId) {
        let now = self.platform.now_ns();
        let p = self.sched.tasks.pid(task);
        self.sched.params.recalc_task_prio(&mut self.sched.tasks[p], now);
    }

    /// Returns the weight on each CPU.
    fn weights(&self) -> Vec<u64> {
        let cpus = (0..self.current.len() as u32).map(CpuId);
        cpus.map(|cpu| self.sched.domains.load(cpu).raw_weighted_load()).collect()
    }

    /// Returns the order of the tasks in list `prio` of array `array` of `cpu`.
    fn list(&self, cpu: usize, array: ArrayId, prio: u8) -> Vec<u32> {
        let mut found = Vec::new();
        let rq = &self.sched.rqs[cpu];
        let mut each = |p: Pid, list: u8| {
            if list == prio {
                found.push(self.sched.tasks.task_id(p).0);
            }
            Ok(())
        };
        rq.array(array).audit(&self.sched.tasks, &mut each).unwrap();
        found
    }

    fn active(&self, cpu: usize, prio: u8) -> Vec<u32> {
        self.list(cpu, self.sched.rqs[cpu].active(), prio)
    }

    fn expired(&self, cpu: usize, prio: u8) -> Vec<u32> {
        self.list(cpu, self.sched.rqs[cpu].expired(), prio)
    }

    /// Lets `parent`, which runs on `cpu`, fork a task with the same attributes.
    fn fork(&mut self, parent: TaskId, cpu: u32, address_space: u32) -> TaskId {
        let child = TaskId(self.programs.len() as u32);
        let mut program = self.programs[parent.index()].clone();
        program.attr.address_space = address_space;
        program.due = None;
        program.left = EVER;
        let attr = program.attr.clone();
        self.programs.push(program);
        let parent = Parent::Task { task: parent, cpu: CpuId(cpu) };
        self.sched.fork(&mut self.platform, child, &attr, parent);
        child
    }

    /// Puts `task`, which runs on `cpu`, to sleep until it is woken.
    fn sleep(&mut self, task: TaskId, cpu: u32, reason: BlockReason) {
        self.sched.block(&mut self.platform, CpuId(cpu), task, reason);
        self.platform.resched(CpuId(cpu));
        self.reschedule();
    }
}

const NICE_0: SchedAttr = SchedAttr::nice(0);

fn fifo(rt_priority: u32) -> SchedAttr {
    SchedAttr::realtime(Policy::Fifo, rt_priority)
}

#[test]
fn an_account_of_a_pick_has_array_priority_and_place() {
    let mut rig = Rig::new(Version::V2_6_0, 1);
    let tasks = [0, 0, 10].map(|nice| rig.hog(nice));
    for task in tasks {
        rig.start(task);
    }
    rig.platform.ask(true);
    let next = rig.sched.schedule(&mut rig.platform, CPU0);
    let account = rig.platform.take_accounts().pop().expect("an account was requested");
    assert_eq!((next, account.rule), (Some(tasks[0]), super::rules::LIST_HEAD));
    let prio = |task| i64::from(rig.sched.prio(task));
    let ranks: Vec<_> = account.evidence.candidates.iter().map(|other| other.rank).collect();
    let expected =
        [[0, prio(tasks[0]), 0, 0], [0, prio(tasks[0]), 1, 0], [0, prio(tasks[2]), 0, 0]];
    assert_eq!(ranks, expected);
    let names: Vec<_> =
        account.evidence.candidates[0].terms.iter().map(|term| &term.name).collect();
    assert_eq!(names, ["expired", "prio", "static_prio", "bonus", "sleep_avg_ns", "time_slice"]);
}
