//! Golden schedules (`golden-schedule/1`): what a real kernel's scheduler did with a small workload.

use schedlab_machine::{NewTask, Op, Workload};
use schedlab_sched::{BlockReason, CpuId, CpuSet, GroupId, Policy, SchedAttr, TaskAttr, TaskId};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A golden file.
#[derive(Clone, Debug, serde::Deserialize)]
pub struct GoldenFile {
    /// `golden-schedule/1`.
    pub format: String,
    /// Release whose scheduler source was driven.
    pub kernel: String,
    /// Short name of the policy.
    pub scheduler: String,
    /// The machine.
    pub machine: GoldenMachine,
    /// What was set, in the kernel's own names.
    #[serde(default)]
    pub tunables: Map<String, Value>,
    /// Task groups.
    #[serde(default)]
    pub groups: Map<String, Value>,
    /// The workload.
    pub scenario: Value,
    /// What ran where.
    pub slices: Vec<(u32, u64, u64, String)>,
    /// When the run ends.
    pub end_ns: u64,
    /// What a reader must know to reproduce it.
    #[serde(default)]
    pub notes: String,
}

/// A golden file's machine.
#[derive(Clone, Debug, serde::Deserialize)]
pub struct GoldenMachine {
    /// CPUs.
    pub cpus: u32,
    /// Ticks a second.
    pub hz: u32,
    /// `per-key`: instances share an address space.
    #[serde(default)]
    pub address_space: Option<String>,
}

#[derive(Clone, Debug)]
enum Event {
    Run(u64),
    Sleep(u64),
    Yield,
    Suspend(String),
    Resume(String, bool),
    Nice(i32),
}

#[derive(Clone, Debug)]
struct Program {
    name: String,
    phases: Vec<(i64, Vec<Event>)>,
    loops: i64,
    attr: TaskAttr,
    start_ns: u64,
    // cursor
    round: i64,
    phase: usize,
    phase_round: i64,
    event: usize,
    tokens: u32,
    suspended: bool,
    yielded_last: bool,
    after_run: bool,
}

/// Conventions in which golden files differ by scheduler.
#[derive(Clone, Copy, Debug, Default)]
pub struct Conventions {
    /// A program that ends with a sleep exits at the end of it, unqueued; a nice value set after a sleep is set before the wakeup.
    pub act_before_wake: bool,
    /// After a yield the next event is taken at once.
    pub yield_goes_on: bool,
    /// All sleeps are uninterruptible.
    pub uninterruptible: bool,
}

/// The workload of a golden file.
#[derive(Clone, Debug)]
pub struct Scenario {
    programs: Vec<Program>,
    conventions: Conventions,
    by_name: BTreeMap<String, TaskId>,
}

fn strip(key: &str) -> &str {
    key.trim_end_matches(|c: char| c.is_ascii_digit())
}

fn events(map: &Map<String, Value>) -> Vec<Event> {
    let mut out = vec![];
    for (key, value) in map {
        match strip(key) {
            "run" => out.push(Event::Run(value.as_u64().unwrap() * 1000)),
            "sleep" => out.push(Event::Sleep(value.as_u64().unwrap() * 1000)),
            "yield" => out.push(Event::Yield),
            "suspend" => out.push(Event::Suspend(value.as_str().unwrap().into())),
            "resume" => out.push(Event::Resume(value.as_str().unwrap().into(), false)),
            "resume_sync" => out.push(Event::Resume(value.as_str().unwrap().into(), true)),
            _ => {}
        }
    }
    out
}

impl Scenario {
    /// Reads the scenario of `file`; `groups` tells the groups' numbers.
    pub fn new(file: &GoldenFile, groups: &BTreeMap<String, GroupId>, conventions: Conventions) -> Scenario {
        let tasks = file.scenario["tasks"].as_object().unwrap();
        let mut programs = vec![];
        let mut by_name = BTreeMap::new();
        let mut space = 0;
        for (key, task) in tasks {
            let task = task.as_object().unwrap();
            let get = |k: &str| task.get(k).and_then(Value::as_i64);
            let policy = match task
                .get("policy")
                .and_then(Value::as_str)
                .unwrap_or("SCHED_OTHER")
            {
                "SCHED_OTHER" => Policy::Other,
                "SCHED_BATCH" => Policy::Batch,
                "SCHED_IDLE" => Policy::Idle,
                "SCHED_FIFO" => Policy::Fifo,
                "SCHED_RR" => Policy::RoundRobin,
                "SCHED_DEADLINE" => Policy::Deadline,
                other => panic!("policy {other}"),
            };
            let mut sched = SchedAttr {
                policy,
                ..SchedAttr::default()
            };
            if policy.is_realtime() {
                sched.rt_priority = get("priority").unwrap_or(10) as u32;
            } else {
                sched.nice = get("priority").unwrap_or(0) as i32;
            }
            if policy == Policy::Deadline {
                sched.runtime_ns = get("dl-runtime").unwrap() as u64 * 1000;
                let period = get("dl-period");
                let deadline = get("dl-deadline");
                sched.deadline_ns = deadline.or(period).unwrap() as u64 * 1000;
                sched.period_ns = period.or(deadline).unwrap() as u64 * 1000;
            } else if let Some(slice) = get("slice") {
                sched.runtime_ns = slice as u64 * 1000;
            }
            let allowed = match task.get("cpus").and_then(Value::as_array) {
                None => CpuSet::All,
                Some(list) => CpuSet::from_cpus(list.iter().map(|c| CpuId(c.as_u64().unwrap() as u32))),
            };
            let group = match task.get("taskgroup").and_then(Value::as_str) {
                None | Some("") | Some("/") => GroupId::ROOT,
                Some(path) => groups[path],
            };
            let loops = get("loop").unwrap_or(-1);
            let (phases, loops) = match task.get("phases").and_then(Value::as_object) {
                None => (vec![(1, events(task))], loops),
                Some(phases) => (
                    phases
                        .values()
                        .map(|phase| {
                            let phase = phase.as_object().unwrap();
                            let mut list = events(phase);
                            if let Some(nice) = phase.get("priority").and_then(Value::as_i64) {
                                list.insert(0, Event::Nice(nice as i32));
                            }
                            (phase.get("loop").and_then(Value::as_i64).unwrap_or(1), list)
                        })
                        .collect(),
                    loops,
                ),
            };
            for instance in 0..get("instance").unwrap_or(1) {
                let name = format!("{key}-{instance}");
                by_name.insert(name.clone(), TaskId(programs.len() as u32));
                if file.machine.address_space.as_deref() != Some("per-key") || instance == 0 {
                    space += 1;
                }
                programs.push(Program {
                    name,
                    phases: phases.clone(),
                    loops,
                    attr: TaskAttr {
                        sched,
                        allowed: allowed.clone(),
                        group,
                        address_space: space,
                    },
                    start_ns: get("delay").unwrap_or(0) as u64 * 1000,
                    round: 0,
                    phase: 0,
                    phase_round: 0,
                    event: 0,
                    tokens: 0,
                    suspended: false,
                    yielded_last: false,
                    after_run: false,
                });
            }
        }
        Scenario {
            programs,
            conventions,
            by_name,
        }
    }

    /// The threads' names.
    pub fn names(&self) -> Vec<String> {
        self.programs.iter().map(|p| p.name.clone()).collect()
    }
}

impl Program {
    fn peek(&mut self) -> Option<&Event> {
        loop {
            if self.loops >= 0 && self.round >= self.loops {
                return None;
            }
            if self.phase >= self.phases.len() {
                self.phase = 0;
                self.round += 1;
                continue;
            }
            let (rounds, events) = &self.phases[self.phase];
            if *rounds >= 0 && self.phase_round >= *rounds {
                self.phase += 1;
                self.phase_round = 0;
                self.event = 0;
                continue;
            }
            if self.event >= events.len() {
                self.event = 0;
                self.phase_round += 1;
                continue;
            }
            return Some(&self.phases[self.phase].1[self.event]);
        }
    }
}

impl Workload for Scenario {
    type Error = std::convert::Infallible;

    fn initial_tasks(&mut self) -> Vec<NewTask> {
        self.programs
            .iter()
            .map(|p| NewTask {
                attr: p.attr.clone(),
                start_ns: p.start_ns,
            })
            .collect()
    }

    fn next(&mut self, now_ns: u64, task: TaskId, _cpu: CpuId) -> Result<Op, Self::Error> {
        let reason = if self.conventions.uninterruptible {
            BlockReason::Uninterruptible
        } else {
            BlockReason::Interruptible
        };
        let conventions = self.conventions;
        loop {
            let program = &mut self.programs[task.index()];
            program.suspended = false;
            let Some(event) = program.peek().cloned() else {
                return Ok(Op::Exit);
            };
            program.event += 1;
            match event {
                Event::Run(0) | Event::Sleep(0) => {}
                Event::Run(ns) => {
                    program.after_run = true;
                    return Ok(Op::Run { ns });
                }
                Event::Sleep(ns) => {
                    program.after_run = false;
                    return Ok(Op::Sleep {
                        until_ns: now_ns + ns,
                        reason,
                    });
                }
                Event::Yield => {
                    return Ok(if conventions.yield_goes_on {
                        Op::YieldAndGoOn
                    } else {
                        Op::Yield
                    });
                }
                Event::Suspend(_) => {
                    if program.tokens > 0 {
                        program.tokens -= 1;
                    } else {
                        program.suspended = true;
                        return Ok(Op::Block {
                            reason: BlockReason::Interruptible,
                        });
                    }
                }
                Event::Resume(name, sync) => {
                    let other = self.by_name[&name];
                    if self.programs[other.index()].suspended {
                        self.programs[other.index()].suspended = false;
                        return Ok(Op::Wake { task: other, sync });
                    }
                    self.programs[other.index()].tokens += 1;
                }
                Event::Nice(nice) => {
                    if program.after_run || conventions.act_before_wake {
                        return Ok(Op::SetAttr {
                            task,
                            attr: SchedAttr {
                                nice,
                                ..program.attr.sched
                            },
                        });
                    }
                }
            }
        }
    }

    fn take_run(&mut self, _now_ns: u64, task: TaskId) -> Option<u64> {
        let program = &mut self.programs[task.index()];
        if let Some(&Event::Run(ns)) = program.peek()
            && ns > 0
        {
            program.event += 1;
            program.after_run = true;
            return Some(ns);
        }
        None
    }

    fn before_wake(&mut self, _now_ns: u64, task: TaskId) -> Option<Op> {
        if !self.conventions.act_before_wake {
            return None;
        }
        let program = &mut self.programs[task.index()];
        match program.peek() {
            None => Some(Op::Exit),
            Some(&Event::Nice(nice)) => {
                program.event += 1;
                Some(Op::SetAttr {
                    task,
                    attr: SchedAttr {
                        nice,
                        ..program.attr.sched
                    },
                })
            }
            _ => None,
        }
    }
}
