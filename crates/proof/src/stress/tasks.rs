//! Random tasks and groups of a world.

use schedlab_core::Policy;
use schedlab_machine::SplitMix64;
use schedlab_workload::model::{Action, Event, Loops, Phase, Properties, Task};

/// State while a world is made.
pub(super) struct Maker {
    pub random: SplitMix64,
    pub cpus: u32,
    pub policies: Vec<Policy>,
    /// Whether tasks may be bound to CPUs.
    pub affinity: bool,
    /// Whether there are real-time and deadline tasks.
    pub urgent: bool,
    /// Whether numbers are round, so that many events fall on the same nanosecond.
    pub round: bool,
    pub endless: bool,
    pub groups: Vec<String>,
    /// Work of a task, µs.
    pub budget_us: u64,
    /// Total work and total sleep, µs.
    pub work_us: u64,
    pub sleep_us: u64,
    pub delay_us: u64,
    /// Bandwidth of the deadline tasks, in millionths of a CPU.
    pub booked: u64,
    pub tasks: Vec<Task>,
}

/// Computes for `us` µs.
pub(super) fn run(us: u64) -> Action {
    Action::Run(us * 1000)
}

/// Sleeps for `us` µs.
fn sleep(us: u64) -> Action {
    Action::Sleep(us * 1000)
}

pub(super) fn phase(name: &str, actions: Vec<Action>) -> Phase {
    let mut events: Vec<Event> = vec![];
    for (number, action) in actions.into_iter().enumerate() {
        let key = match &action {
            Action::Run(_) => "run",
            Action::Sleep(_) => "sleep",
            Action::Timer { .. } => "timer",
            Action::Lock(_) => "lock",
            Action::Unlock(_) => "unlock",
            Action::Barrier(_) => "barrier",
            Action::SemPost(_) => "sem_post",
            Action::SemWait(_) => "sem_wait",
            Action::Yield => "yield",
            Action::Fork(_) => "fork",
            other => unreachable!("worlds do not contain {other:?}"),
        };
        events.push(Event { key: format!("{key}{number}"), action });
    }
    Phase { name: name.into(), events, ..Phase::default() }
}

impl Maker {
    /// Returns true in `percent` of 100 cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.random.below(100) < percent
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.random.below(from.len() as u64) as usize].clone()
    }

    /// Returns a time between `min_us` and `max_us`. If the world has round numbers it is mostly
    /// round, so that it coincides with other times and with ticks.
    fn time_us(&mut self, min_us: u64, max_us: u64) -> u64 {
        let time_us = min_us + self.random.below(max_us - min_us + 1);
        if self.round && self.random.below(10) < 8 {
            let step_us = if time_us >= 10_000 { 5_000 } else { 1_000 };
            (time_us / step_us).max(1) * step_us
        } else {
            time_us
        }
    }

    pub fn make_groups(&mut self) -> Vec<(String, u64)> {
        let mut groups: Vec<(String, u64)> = vec![];
        for number in 0..1 + self.random.below(4) {
            let above = match groups.len() as u64 {
                0 => String::new(),
                there if self.random.below(2) == 0 => {
                    groups[self.random.below(there) as usize].0.clone()
                }
                _ => String::new(),
            };
            let shares = match self.random.below(4) {
                0 => 2,
                1 => 1024,
                _ => 2 + self.random.below(8192),
            };
            groups.push((format!("{above}/g{number}"), shares));
        }
        self.groups = groups.iter().map(|(path, _)| path.clone()).collect();
        groups
    }

    /// Limits every other group: from a quarter of a CPU to all CPUs.
    pub fn limit_groups(&mut self) -> Vec<String> {
        let mut settings = vec![];
        let mut limited: Vec<String> = vec![];
        for path in self.groups.clone() {
            // Some releases require less for a child than for its parent.
            let below = limited.iter().any(|above| path.starts_with(&format!("{above}/")));
            if !below && self.chance(50) {
                limited.push(path.clone());
                let period_us = self.time_us(5_000, 100_000);
                let cpus = u64::from(self.cpus);
                let most_us = if self.chance(70) { period_us } else { period_us * cpus };
                let quota_us = period_us / 4 + self.random.below(most_us);
                settings.push(format!("{path}:cpu.max={} {period_us}", quota_us.max(1_250)));
            }
        }
        settings
    }

    /// Binds every other group to CPUs.
    pub fn bind_groups(&mut self) -> Vec<String> {
        let mut settings = vec![];
        for path in self.groups.clone() {
            if self.chance(50) {
                let cpus: Vec<String> = self.cpu_list().iter().map(u32::to_string).collect();
                settings.push(format!("{path}:cpuset.cpus={}", cpus.join(",")));
            }
        }
        settings
    }

    pub fn nice(&mut self) -> i32 {
        if self.chance(60) { 0 } else { self.random.below(40) as i32 - 20 }
    }

    /// Returns a policy and its parameters.
    fn policy(&mut self) -> Properties {
        let mut properties = Properties::default();
        let known: Vec<Policy> = self.policies.clone();
        let policy = match self.random.below(100) {
            0..6 => Policy::Batch,
            6..12 => Policy::Idle,
            12..30 if self.urgent => self.pick(&[Policy::Fifo, Policy::RoundRobin]),
            30..40 if self.urgent => Policy::Deadline,
            _ => Policy::Other,
        };
        let policy = match policy {
            Policy::Other if known.contains(&Policy::Iso) && self.chance(15) => Policy::Iso,
            policy if known.contains(&policy) => policy,
            _ => Policy::Other,
        };
        match policy {
            Policy::Fifo | Policy::RoundRobin => {
                properties.priority = Some(match self.random.below(3) {
                    0 => 50,
                    _ => 1 + self.random.below(99) as i32,
                });
            }
            Policy::Deadline => {
                let period_us = self.time_us(10_000, 100_000);
                let runtime_us = (period_us / 20).max(1_000) + self.random.below(period_us / 10);
                let part = runtime_us * 1_000_000 / period_us;
                if self.booked + part > 500_000 * u64::from(self.cpus) {
                    return properties;
                }
                self.booked += part;
                properties.dl_runtime_us = Some(runtime_us);
                properties.dl_period_us = Some(period_us);
                properties.dl_deadline_us =
                    Some(period_us - self.random.below((period_us - runtime_us) / 2));
            }
            Policy::Other | Policy::Batch | Policy::Idle | Policy::Iso => {
                let nice = self.nice();
                properties.priority = (nice != 0).then_some(nice);
            }
        }
        properties.policy = (policy != Policy::Other).then_some(policy);
        properties
    }

    fn cpu_list(&mut self) -> Vec<u32> {
        let cpus = u64::from(self.cpus);
        let mut list: Vec<u32> = if self.chance(50) {
            vec![self.random.below(cpus) as u32]
        } else {
            (0..self.cpus).filter(|_| self.random.below(2) == 0).collect()
        };
        if list.is_empty() {
            list.push(self.random.below(cpus) as u32);
        }
        list
    }

    fn properties(&mut self) -> Properties {
        let mut properties = self.policy();
        // Deadline tasks must be allowed on all CPUs.
        if self.affinity && properties.policy != Some(Policy::Deadline) && self.chance(25) {
            properties.cpus = Some(self.cpu_list());
        }
        if !self.groups.is_empty() && self.chance(60) {
            let groups = self.groups.clone();
            properties.taskgroup = Some(self.pick(&groups));
        }
        properties
    }

    /// Returns the number of repetitions of `run_us` of work and `sleep_us` of sleep that uses up
    /// the task's budget, with at most two seconds of sleep.
    fn rounds(&mut self, run_us: u64, sleep_us: u64) -> u64 {
        let by_work = self.budget_us / run_us.max(1);
        let by_sleep = 2_000_000 / sleep_us.max(1);
        by_work.min(by_sleep).clamp(1, 2_000)
    }

    /// Adds a task of `instances` threads that repeat `actions`.
    fn add(
        &mut self,
        name: &str,
        instances: u32,
        properties: Properties,
        actions: Vec<Action>,
        rounds: u64,
    ) {
        let delay_us = if self.chance(50) { 0 } else { self.time_us(0, 300_000) };
        let (mut run_us, mut sleep_us) = (0, 0);
        for action in &actions {
            match action {
                Action::Run(ns) => run_us += ns / 1000,
                Action::Sleep(ns) => sleep_us += ns / 1000,
                Action::Timer { period_ns, .. } => sleep_us += period_ns / 1000,
                _ => {}
            }
        }
        // A forked thread may be forked several times.
        let threads = u64::from(instances.max(8));
        self.work_us += run_us * rounds * threads;
        self.sleep_us += sleep_us * rounds * threads;
        self.delay_us += delay_us;
        let urgent = !matches!(properties.policy, None | Some(Policy::Batch | Policy::Idle));
        // Urgent tasks always end, as they would otherwise monopolise the CPU.
        let endless = self.endless && !urgent && rounds > 1 && self.chance(50);
        self.tasks.push(Task {
            key: format!("{name}{}", self.tasks.len()),
            instances,
            delay_ns: delay_us * 1000,
            loops: if endless { Loops::Forever } else { Loops::Times(rounds) },
            properties,
            phases: vec![phase("", actions)],
            session: None,
            flat: true,
        });
    }

    /// Adds another task, or several tasks that belong together.
    pub fn make_some(&mut self) {
        let properties = self.properties();
        let instances = if self.chance(70) { 1 } else { 1 + self.random.below(4) as u32 };
        match self.random.below(10) {
            0 | 1 => {
                let run_us = self.time_us(self.budget_us / 2 + 1, self.budget_us + 1);
                self.add("hog", instances, properties, vec![run(run_us)], 1);
            }
            2..=4 => {
                let (run_us, sleep_us) = (self.time_us(50, 8_000), self.time_us(100, 30_000));
                let rounds = self.rounds(run_us, sleep_us);
                let actions = vec![run(run_us), sleep(sleep_us)];
                self.add("sleeper", instances, properties, actions, rounds);
            }
            5 => {
                let run_us = self.time_us(100, 5_000);
                let rounds = self.rounds(run_us, 0).min(200);
                self.add(
                    "yielder",
                    instances,
                    properties,
                    vec![run(run_us), Action::Yield],
                    rounds,
                );
            }
            6 => {
                let period_us = self.time_us(2_000, 50_000);
                let run_us = self.time_us(100, period_us / 2);
                let rounds = self.rounds(run_us, period_us);
                let period_ns = period_us * 1000;
                let timer = Action::Timer { name: "unique".into(), period_ns, absolute: false };
                self.add("periodic", instances, properties, vec![run(run_us), timer], rounds);
            }
            7 => self.make_pair(properties),
            8 => self.make_crowd(properties),
            _ => match self.random.below(2) {
                0 => self.make_changing(properties),
                _ => self.make_family(properties),
            },
        }
    }

    /// Adds two tasks that take turns, each waking the other.
    fn make_pair(&mut self, properties: Properties) {
        let number = self.tasks.len();
        let (to, back) = (format!("to{number}"), format!("back{number}"));
        let (first_us, second_us) = (self.time_us(20, 4_000), self.time_us(20, 4_000));
        let rounds = self.rounds(first_us + second_us, 0).min(300);
        let first = vec![run(first_us), Action::SemPost(to.clone()), Action::SemWait(back.clone())];
        let second = vec![Action::SemWait(to), run(second_us), Action::SemPost(back)];
        let other = self.properties();
        // Either both end or neither.
        let endless = std::mem::replace(&mut self.endless, false);
        self.add("ping", 1, properties, first, rounds);
        self.add("pong", 1, other, second, rounds);
        self.endless = endless;
    }

    /// Adds tasks that meet at a barrier or share a mutex.
    fn make_crowd(&mut self, properties: Properties) {
        let number = self.tasks.len();
        let instances = 2 + self.random.below(4) as u32;
        let (run_us, sleep_us) = (self.time_us(100, 5_000), self.time_us(100, 10_000));
        let rounds = self.rounds(run_us, sleep_us).min(200);
        let endless = std::mem::replace(&mut self.endless, false);
        let actions = if self.chance(50) {
            vec![run(run_us), Action::Barrier(format!("all{number}")), sleep(sleep_us)]
        } else {
            let mutex = format!("mutex{}", self.random.below(3));
            vec![Action::Lock(mutex.clone()), run(run_us), Action::Unlock(mutex), sleep(sleep_us)]
        };
        self.add("crowd", instances, properties, actions, rounds);
        self.endless = endless;
    }

    /// Adds a task that changes policy, priority and affinity during its life.
    fn make_changing(&mut self, properties: Properties) {
        let run_us = self.time_us(100, 20_000);
        let rounds = self.rounds(3 * run_us, 0).min(50);
        let deadline = properties.policy == Some(Policy::Deadline);
        self.add("changing", 1, properties, vec![run(run_us)], rounds);
        let mut phases = vec![];
        for number in 0..2 + self.random.below(2) {
            let mut part = phase(&format!("p{number}"), vec![run(run_us), sleep(1_000)]);
            part.loops = Loops::Times(1 + self.random.below(3));
            if !deadline && self.chance(50) {
                part.properties = self.policy();
                if part.properties.policy == Some(Policy::Deadline) {
                    part.properties = Properties::default();
                } else {
                    part.properties.policy.get_or_insert(Policy::Other);
                }
            }
            if self.affinity && !deadline && self.chance(50) {
                part.properties.cpus = Some(self.cpu_list());
            }
            if !self.groups.is_empty() && self.chance(30) {
                let groups = self.groups.clone();
                part.properties.taskgroup = Some(self.pick(&groups));
            }
            phases.push(part);
        }
        self.work_us += 6 * run_us * rounds;
        self.sleep_us += 9 * 1_000 * rounds;
        let task = self.tasks.last_mut().expect("the task was added");
        task.phases = phases;
        task.flat = false;
        // Phases make the task urgent at times.
        task.loops = Loops::Times(rounds);
    }

    /// Adds a parent that forks, and its children.
    fn make_family(&mut self, properties: Properties) {
        let endless = std::mem::replace(&mut self.endless, false);
        let run_us = self.time_us(100, 10_000);
        let mut child = self.properties();
        if child.policy == Some(Policy::Deadline) {
            child = Properties::default();
        }
        let rounds = self.rounds(run_us, 0).min(20);
        let actions = vec![run(run_us), sleep(1_000)];
        self.add("child", 0, child, actions, 1 + rounds / 4);
        let task = self.tasks.last_mut().expect("the task was added");
        task.delay_ns = 0;
        let name = task.key.clone();
        let actions = vec![run(run_us), Action::Fork(name), sleep(2_000)];
        self.add("parent", 1, properties, actions, 1 + rounds % 8);
        self.endless = endless;
    }
}
