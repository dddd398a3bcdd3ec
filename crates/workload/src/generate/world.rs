//! Random workloads that use the whole language, and cannot get stuck.
//!
//! A workload consists of a number of *plays*. Each play is a small set of related tasks: some that
//! only compute and sleep, a producer with consumers at a semaphore, threads that meet at a
//! barrier, and so on. They cannot get stuck, because:
//!
//! - mutexes are taken in ascending order, and released in the phase in which they were taken. In
//!   between, nothing waits for another thread except for mutexes of higher order;
//! - a task that posts, signals or resumes never waits for the tasks that it wakes, and runs
//!   forever;
//! - every endless loop contains a sleep or timer.

use super::{US, between, event, model};
use crate::model::{Action, Event, Loops, MemRun, MemRunKind, Model, Phase, Properties, Task};
use schedlab_core::Policy;
use schedlab_machine::order::SplitMix64;

/// Limits of a random workload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Number of CPUs. More than one allows affinity.
    pub cpus: u32,
    /// Policies that may occur. If [`Policy::Other`] is not among them, the first is the default
    /// policy.
    pub policies: Vec<Policy>,
    /// Whether there may be task groups.
    pub groups: bool,
    /// Whether tasks may be bound to CPUs.
    pub affinity: bool,
    /// Whether there may be `yield`.
    pub yields: bool,
    /// Whether there may be `fork`.
    pub forks: bool,
    /// Whether there may be mutexes, conditions, semaphores, barriers, `suspend` and `resume`.
    pub synchronisation: bool,
    /// Maximum number of plays, at least 1.
    pub plays: u32,
    /// Length of the run, µs.
    pub duration_us: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            cpus: 1,
            policies: vec![Policy::Other],
            groups: false,
            affinity: true,
            yields: true,
            forks: true,
            synchronisation: true,
            plays: 6,
            duration_us: 1_000_000,
        }
    }
}

/// Returns a random workload, the same for the same `seed` and `limits`. It has a duration, passes
/// all checks on a machine of [`Limits::cpus`], and cannot get stuck.
pub fn world(seed: u64, limits: &Limits) -> Model {
    let mut world = World { random: SplitMix64::new(seed), limits, tasks: Vec::new(), play: 0 };
    for play in 0..1 + world.below(u64::from(limits.plays.max(1))) {
        world.play = play;
        world.one_play();
    }
    let mut model = model(&format!("world-{seed}"), world.tasks);
    model.global.duration_ns = Some(limits.duration_us * 1000);
    if !limits.policies.contains(&Policy::Other) {
        model.global.default_policy = limits.policies.first().copied().unwrap_or_default();
    }
    model.global.pi_enabled = SplitMix64::new(!seed).below(3) == 0
        && limits.policies.iter().any(|policy| policy.is_realtime());
    // A default policy that needs figures needs them everywhere.
    if model.global.default_policy == Policy::Deadline {
        for task in &mut model.tasks {
            if task.properties.policy.is_none() {
                deadline_figures(&mut task.properties, 20_000);
            }
        }
    }
    model
}

struct World<'a> {
    random: SplitMix64,
    limits: &'a Limits,
    tasks: Vec<Task>,
    play: u64,
}

impl World<'_> {
    fn below(&mut self, bound: u64) -> u64 {
        self.random.below(bound)
    }

    /// Returns true once in `times` times, at random.
    fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    fn one_play(&mut self) {
        let kinds: u64 = if self.limits.synchronisation { 9 } else { 3 };
        match self.below(kinds) {
            0 => self.workers(),
            1 => self.ends(),
            2 if self.limits.forks => self.forks(),
            2 => self.workers(),
            3 => self.pipeline(),
            4 => self.barrier(),
            5 => self.mutexes(),
            6 => self.conditions(),
            7 => self.suspension(),
            _ => self.shared_timer(),
        }
    }

    /// Adds independent tasks.
    fn workers(&mut self) {
        let phases = (0..1 + self.below(3)).map(|number| {
            let mut events = Vec::new();
            for _ in 0..1 + self.below(4) {
                let key = format!("_{}", events.len());
                let one = self.some_work(&key);
                events.push(one);
            }
            events.push(self.some_rest());
            let loops = Loops::Times(1 + self.below(4));
            let mut phase = phase(&format!("p{number}"), loops, events);
            phase.properties = self.phase_properties();
            phase
        });
        let phases = phases.collect();
        let instances = 1 + self.below(3) as u32;
        self.add("work", instances, Loops::Forever, phases);
    }

    /// Adds a task that ends.
    fn ends(&mut self) {
        let mut events = vec![self.some_work("")];
        if self.once_in(2) {
            events.push(self.some_rest());
        }
        let loops = Loops::Times(self.below(20));
        self.add("end", 1, loops, vec![phase("p", Loops::Times(1), events)]);
    }

    /// Adds a task that starts others, a limited number of times.
    fn forks(&mut self) {
        let child = self.key("child");
        let work = vec![self.some_work(""), self.some_rest()];
        let loops = Loops::Times(1 + self.below(3));
        self.add("child", 0, loops, vec![phase("p", Loops::Times(1), work)]);
        let events = vec![self.some_work(""), event("fork", Action::Fork(child)), self.some_rest()];
        let loops = Loops::Times(1 + self.below(8));
        self.add("parent", 1, loops, vec![phase("p", Loops::Times(1), events)]);
    }

    /// Adds a producer, and consumers that pass on what they get.
    fn pipeline(&mut self) {
        let stages = 1 + self.below(3);
        let name = |play: u64, stage: u64| format!("sem{play}_{stage}");
        let posts = 1 + self.below(3);
        let mut events = vec![self.some_rest(), self.some_work("")];
        for post in 0..posts {
            events.push(event(&format!("sem_post{post}"), Action::SemPost(name(self.play, 0))));
        }
        self.add("source", 1, Loops::Forever, vec![phase("p", Loops::Times(1), events)]);
        for stage in 0..stages {
            let mut events = vec![
                event("sem_wait", Action::SemWait(name(self.play, stage))),
                event("run", Action::Run(between(&mut self.random, 1, 3_000) * US)),
            ];
            if stage + 1 < stages {
                events.push(event("sem_post", Action::SemPost(name(self.play, stage + 1))));
            }
            let instances = 1 + self.below(2) as u32;
            self.add(
                &format!("stage{stage}_"),
                instances,
                Loops::Forever,
                vec![phase("p", Loops::Times(1), events)],
            );
        }
    }

    /// Threads that meet at a barrier repeatedly.
    fn barrier(&mut self) {
        let name = format!("bar{}", self.play);
        for part in 0..1 + self.below(2) {
            let events = vec![
                self.some_work(""),
                self.some_rest(),
                event("barrier", Action::Barrier(name.clone())),
            ];
            let instances = 1 + self.below(4) as u32;
            self.add(
                &format!("meet{part}_"),
                instances,
                Loops::Forever,
                vec![phase("p", Loops::Times(1), events)],
            );
        }
    }

    /// Threads that share mutexes.
    fn mutexes(&mut self) {
        let count = 1 + self.below(3);
        for part in 0..1 + self.below(3) {
            let mut events = vec![self.some_rest()];
            let taken: Vec<u64> = (0..count).filter(|_| self.once_in(2)).collect();
            for mutex in &taken {
                let name = format!("m{}_{mutex}", self.play);
                events.push(event(&format!("lock{mutex}"), Action::Lock(name)));
                events.push(self.some_work(&format!("{mutex}")));
            }
            if self.once_in(3) {
                events.push(self.some_rest());
            }
            for mutex in taken.iter().rev() {
                let name = format!("m{}_{mutex}", self.play);
                events.push(event(&format!("unlock{mutex}"), Action::Unlock(name)));
            }
            let instances = 1 + self.below(3) as u32;
            self.add(
                &format!("lock{part}_"),
                instances,
                Loops::Forever,
                vec![phase("p", Loops::Times(1), events)],
            );
        }
    }

    /// Threads that wait for a condition, and one that signals it.
    fn conditions(&mut self) {
        let condition = format!("c{}", self.play);
        let mutex = format!("cm{}", self.play);
        let events = vec![
            event("lock", Action::Lock(mutex.clone())),
            event("wait", Action::Wait { condition: condition.clone(), mutex: mutex.clone() }),
            self.some_work(""),
            event("unlock", Action::Unlock(mutex.clone())),
        ];
        let instances = 1 + self.below(3) as u32;
        self.add("await", instances, Loops::Forever, vec![phase("p", Loops::Times(1), events)]);
        let wake = if self.once_in(2) {
            event("signal", Action::Signal(condition))
        } else {
            event("broad", Action::Broad(condition))
        };
        let mut events = vec![self.some_rest(), self.some_work("")];
        if self.once_in(2) {
            events.push(event("lock", Action::Lock(mutex.clone())));
            events.push(wake);
            events.push(event("unlock", Action::Unlock(mutex)));
        } else {
            events.push(wake);
        }
        self.add("signal", 1, Loops::Forever, vec![phase("p", Loops::Times(1), events)]);
    }

    /// Threads that suspend, and one that resumes them.
    fn suspension(&mut self) {
        let key = self.key("sleepy");
        let name = format!("nap{}", self.play);
        let events = vec![event("suspend", Action::Suspend(name.clone())), self.some_work("")];
        let instances = 1 + self.below(3) as u32;
        self.add("sleepy", instances, Loops::Forever, vec![phase("p", Loops::Times(1), events)]);
        let name = if self.once_in(2) { key } else { name };
        let sync = self.once_in(4);
        let event_key = if sync { "resume_sync" } else { "resume" };
        let events = vec![
            self.some_rest(),
            self.some_work(""),
            event(event_key, Action::Resume { name, sync }),
        ];
        self.add("rouse", 1, Loops::Forever, vec![phase("p", Loops::Times(1), events)]);
    }

    /// Threads that share a timer.
    fn shared_timer(&mut self) {
        let timer = Action::Timer {
            name: format!("tick{}", self.play),
            period_ns: between(&mut self.random, 500, 20_000) * US,
            absolute: self.once_in(2),
        };
        let events = vec![self.some_work(""), event("timer", timer), self.some_rest()];
        let instances = 1 + self.below(3) as u32;
        self.add("beat", instances, Loops::Forever, vec![phase("p", Loops::Times(1), events)]);
    }

    /// Returns an event that takes CPU time.
    fn some_work(&mut self, suffix: &str) -> Event {
        let long = self.once_in(8);
        let us = between(&mut self.random, 1, if long { 60_000 } else { 4_000 });
        let (key, action) = match self.below(12) {
            0 => ("runtime", Action::Runtime(us * US)),
            1 => ("mem", Action::Mem(us * 100)),
            2 => {
                let run = MemRun {
                    kind: MemRunKind::PointerChase,
                    size: 1 << (10 + self.below(12)),
                    count: us,
                    stride: None,
                    pattern: None,
                    buffer: None,
                };
                ("memrun", Action::MemRun(run))
            }
            3 => ("iorun", Action::IoRun(us)),
            4 if self.limits.yields => ("yield", Action::Yield),
            _ => ("run", Action::Run(us * US)),
        };
        event(&format!("{key}{suffix}"), action)
    }

    /// Returns an event that takes time without the CPU, so that a loop containing it takes time.
    fn some_rest(&mut self) -> Event {
        let us = between(&mut self.random, 1, 30_000);
        if self.once_in(4) {
            let period_ns = (us + 100) * US;
            let timer = Action::Timer { name: "unique".into(), period_ns, absolute: false };
            event("timer", timer)
        } else {
            event("sleep", Action::Sleep(us * US))
        }
    }

    /// Returns the name of a task of this play.
    fn key(&self, name: &str) -> String {
        format!("{name}{}", self.play)
    }

    fn add(&mut self, name: &str, instances: u32, loops: Loops, phases: Vec<Phase>) {
        let task = Task {
            key: self.key(name),
            instances,
            delay_ns: if self.once_in(3) { self.below(200_000) * US } else { 0 },
            loops,
            properties: self.task_properties(),
            phases,
            session: None,
            flat: false,
        };
        self.tasks.push(task);
    }

    fn task_properties(&mut self) -> Properties {
        let mut properties = Properties::default();
        if !self.limits.policies.is_empty() && self.once_in(2) {
            let policy =
                self.limits.policies[self.below(self.limits.policies.len() as u64) as usize];
            self.set_policy(&mut properties, policy);
        } else if self.limits.policies.contains(&Policy::Other) && self.once_in(2) {
            properties.priority = Some(self.below(40) as i32 - 20);
        }
        // Deadline tasks must not be bound to a part of the CPUs.
        if properties.policy != Some(Policy::Deadline) {
            properties.cpus = self.some_cpus();
        }
        properties.taskgroup = self.some_group();
        properties
    }

    /// Returns the properties that a phase changes. Policies stay, so that a priority fits.
    fn phase_properties(&mut self) -> Properties {
        let mut properties = Properties::default();
        if self.once_in(4) && self.limits.policies.contains(&Policy::Other) {
            self.set_policy(&mut properties, Policy::Other);
        }
        if self.once_in(4) && !self.limits.policies.contains(&Policy::Deadline) {
            properties.cpus = self.some_cpus();
        }
        if self.once_in(4) {
            properties.taskgroup = self.some_group();
        }
        properties
    }

    fn set_policy(&mut self, properties: &mut Properties, policy: Policy) {
        properties.policy = Some(policy);
        match policy {
            Policy::Other | Policy::Batch | Policy::Idle | Policy::Iso => {
                properties.priority = Some(self.below(40) as i32 - 20);
            }
            Policy::Fifo | Policy::RoundRobin => {
                properties.priority = Some(1 + self.below(99) as i32);
            }
            Policy::Deadline => {
                let period_us = between(&mut self.random, 5_000, 100_000);
                deadline_figures(properties, period_us);
            }
        }
    }

    fn some_cpus(&mut self) -> Option<Vec<u32>> {
        let cpus = self.limits.cpus;
        if !self.limits.affinity || cpus < 2 || !self.once_in(3) {
            return None;
        }
        let mut set: Vec<u32> = (0..cpus).filter(|_| self.once_in(2)).collect();
        if set.is_empty() {
            set.push(self.below(u64::from(cpus)) as u32);
        }
        Some(set)
    }

    fn some_group(&mut self) -> Option<String> {
        if !self.limits.groups || !self.once_in(2) {
            return None;
        }
        Some(match self.below(5) {
            0 => String::new(),
            1 => "/a".into(),
            2 => "/b".into(),
            3 => "/a/x".into(),
            _ => "/a/y".into(),
        })
    }
}

/// Sets a small share, so that many fit on a machine.
fn deadline_figures(properties: &mut Properties, period_us: u64) {
    properties.dl_runtime_us = Some(period_us / 50);
    properties.dl_deadline_us = Some(period_us / 2);
    properties.dl_period_us = Some(period_us);
}

fn phase(name: &str, loops: Loops, events: Vec<Event>) -> Phase {
    Phase { name: name.into(), loops, properties: Properties::default(), events }
}
