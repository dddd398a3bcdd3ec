//! Random worlds: a machine, its tunables, and a workload, all from one seed.

use super::changes;
use super::overload;
use super::structure::Structure;
use schedlab_core::{Administer, Policy, Scheduler, Topology};
use schedlab_lab::RunConfig;
use schedlab_lab::select::{Choice, Needs};
use schedlab_machine::SplitMix64;
use schedlab_workload::Timetable;
use schedlab_workload::model::{Action, Event, Global, Loops, Model, Phase, Properties, Task};
use std::borrow::Cow;
use std::fmt;

/// From this seed on worlds are of wider kinds. Those below stay as they are, because past faults
/// are known by their seeds.
pub const WIDENED_FROM: u64 = 10_000;

/// What kind of world it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Tasks of all kinds, each of which comes to its end.
    Finite,
    /// Tasks of all kinds, some of which go on for ever.
    Endless,
    /// One hog with the machine to itself.
    LoneHog,
    /// Equal hogs on one CPU.
    EqualHogs,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Finite => "tasks that all come to their ends",
            Kind::Endless => "tasks some of which go on for ever",
            Kind::LoneHog => "a hog that is alone",
            Kind::EqualHogs => "equal hogs",
        })
    }
}

/// A random world. The same seed and scheduler make the same.
#[derive(Clone, Debug)]
pub struct World {
    /// What it was made from.
    pub seed: u64,
    /// What kind it is.
    pub kind: Kind,
    /// CPUs.
    pub cpus: u32,
    /// Ticks a second.
    pub hz: u32,
    /// Tunables that are set.
    pub tunables: Vec<(Cow<'static, str>, i64)>,
    /// Groups with their shares.
    pub groups: Vec<(String, u64)>,
    /// What else holds in groups, as options: `/g0:cpu.max=20000 50000`.
    pub group_settings: Vec<String>,
    /// Whether groups are limited.
    pub limits: bool,
    /// How the CPUs hang together; none: all are equally far from each other.
    pub structure: Option<Structure>,
    /// Whether forked tasks have their parents' attributes at that time, rather than those of their
    /// own program.
    pub forks_inherit: bool,
    /// What is done from outside while it runs: lines of a timetable.
    pub changes: Vec<String>,
    /// What tasks do.
    pub model: Model,
    /// When the run is stopped, ns. In finite worlds all tasks have had time enough by then, many
    /// times over.
    pub until_ns: u64,
}

/// What is kept while a world is made.
struct Maker {
    random: SplitMix64,
    cpus: u32,
    policies: Vec<Policy>,
    /// Whether tasks may be bound to CPUs.
    affinity: bool,
    /// Whether real-time and deadline tasks are about.
    urgent: bool,
    /// Whether numbers are round, so that much falls on the same nanosecond.
    round: bool,
    endless: bool,
    groups: Vec<String>,
    /// Work of a task, µs.
    budget_us: u64,
    /// All work and all sleep there is, µs.
    work_us: u64,
    sleep_us: u64,
    delay_us: u64,
    /// What deadline tasks ask for, in millionths of a CPU.
    booked: u64,
    tasks: Vec<Task>,
}

/// Computes for so many µs.
fn run(us: u64) -> Action {
    Action::Run(us * 1000)
}

/// Sleeps for so many µs.
fn sleep(us: u64) -> Action {
    Action::Sleep(us * 1000)
}

impl World {
    /// The world that `seed` makes for `choice`.
    pub fn random(seed: u64, choice: &Choice) -> World {
        let mut random = SplitMix64::new(seed);
        // Two seeds that are neighbours should have nothing in common.
        let mut random = SplitMix64::new(random.next_u64());
        let kind = match random.below(10) {
            0 => Kind::LoneHog,
            1 => Kind::EqualHogs,
            2 | 3 => Kind::Endless,
            _ => Kind::Finite,
        };
        let (cpus, tasks) = size(&mut random, choice, seed);
        let cpus = if kind == Kind::EqualHogs { 1 } else { cpus };
        let hz = random_hz(&mut random, choice);
        let tunables = random_tunables(&mut random, choice, cpus, hz);
        let mut maker = Maker {
            cpus,
            policies: choice.release.policies.to_vec(),
            affinity: choice.release.can.affinity,
            urgent: random.below(10) < 4,
            round: random.below(10) < 6,
            endless: kind == Kind::Endless,
            groups: vec![],
            budget_us: 0,
            work_us: 0,
            sleep_us: 0,
            delay_us: 0,
            booked: 0,
            tasks: vec![],
            random,
        };
        let (mut groups, mut group_settings, mut limits) = (vec![], vec![], false);
        if choice.release.can.groups
            && maker.chance(30)
            && matches!(kind, Kind::Finite | Kind::Endless)
        {
            groups = maker.make_groups();
            if choice.release.can.quotas && maker.chance(40) {
                group_settings = maker.limit_groups();
                limits = !group_settings.is_empty();
            }
            if maker.affinity && maker.chance(40) {
                group_settings.extend(maker.bind_groups());
            }
        }
        let mut duration_ns = None;
        match kind {
            Kind::Finite | Kind::Endless => {
                // In all a fifth to one and a half seconds of work for each CPU; in most worlds of
                // wider kinds less, so that more can be run.
                let brief = seed >= WIDENED_FROM && maker.chance(75);
                let (least_us, more_us) =
                    if brief { (15_000, 185_000) } else { (200_000, 1_300_000) };
                let work_us = u64::from(cpus) * (least_us + maker.random.below(more_us));
                maker.budget_us = (work_us / tasks).max(2_000);
                while (maker.tasks.len() as u64) < tasks {
                    maker.make_some();
                }
                if kind == Kind::Endless {
                    let least_ns = if brief { 100_000_000 } else { 1_000_000_000 };
                    duration_ns = Some(least_ns + maker.random.below(2 * least_ns));
                }
            }
            Kind::LoneHog | Kind::EqualHogs => {
                let hogs = if kind == Kind::LoneHog { 1 } else { tasks.clamp(2, 12) };
                let nice = maker.nice();
                let delay_us = if kind == Kind::LoneHog { maker.random.below(50_000) } else { 0 };
                maker.tasks.push(Task {
                    key: "hog".into(),
                    instances: hogs as u32,
                    delay_ns: delay_us * 1000,
                    loops: Loops::Forever,
                    properties: Properties {
                        priority: (nice != 0).then_some(nice),
                        ..Properties::default()
                    },
                    phases: vec![phase("", vec![run(1_000_000)])],
                    flat: true,
                });
                duration_ns = Some(5_000_000_000);
            }
        }
        let Maker { tasks, work_us, sleep_us, delay_us, .. } = maker;
        // Enough if all work were done on one CPU and all sleep slept one after the other, and
        // real-time tasks had three quarters of the time.
        let enough_us = 4 * work_us + sleep_us + delay_us + 10_000_000;
        // The least limit is a quarter of a CPU.
        let enough_us = if limits { 4 * enough_us } else { enough_us };
        let mut world = World {
            seed,
            kind,
            cpus,
            hz,
            tunables,
            groups,
            group_settings,
            limits,
            structure: None,
            forks_inherit: false,
            changes: vec![],
            model: Model {
                name: format!("seed-{seed}"),
                global: Global { duration_ns, ..Global::default() },
                tasks,
            },
            until_ns: duration_ns.unwrap_or(enough_us * 1000),
        };
        world.elaborate(choice);
        world
    }

    /// What makes two of three worlds less simple: structure, `execve`, idle groups, forks that
    /// inherit, changes from outside. Drawn apart from all else, so that a seed's tasks are the
    /// same with and without.
    fn elaborate(&mut self, choice: &Choice) {
        const APART: u64 = 0x57AC_7ED0;
        let mut random = SplitMix64::new(self.seed ^ APART);
        let mut random = SplitMix64::new(random.next_u64());
        if random.below(3) == 0 {
            return;
        }
        let mut chance = |percent: u64| random.below(100) < percent;
        let (structured, execs, idle, inherit, changed) =
            (chance(60), chance(40), chance(40), chance(50), chance(50));
        if structured && self.cpus > 1 {
            self.structure = Some(Structure::random(&mut random, self.cpus));
        }
        if !matches!(self.kind, Kind::Finite | Kind::Endless) {
            return;
        }
        self.forks_inherit = inherit;
        if execs {
            self.add_execs(&mut random);
        }
        if idle && choice.release.can.idle_groups {
            for (path, _) in &self.groups {
                if random.below(3) == 0 {
                    self.group_settings.push(format!("{path}:cpu.idle=1"));
                }
            }
        }
        if changed {
            self.changes = changes::random(random, self, choice);
        }
        if self.seed >= WIDENED_FROM {
            overload::add(self, choice);
        }
    }

    /// Lets some tasks call `execve` as a phase begins or ends.
    fn add_execs(&mut self, random: &mut SplitMix64) {
        for phase in self.model.tasks.iter_mut().flat_map(|task| &mut task.phases) {
            if random.below(3) == 0 {
                let exec = Event { key: "exec".into(), action: Action::Exec };
                let place = if random.below(2) == 0 { 0 } else { phase.events.len() };
                phase.events.insert(place, exec);
            }
        }
    }

    /// What it asks of a scheduler.
    pub fn needs(&self) -> Needs {
        Needs {
            cpus: self.cpus,
            hz: Some(self.hz),
            policies: self.policies(),
            groups: !self.groups.is_empty(),
            limits: self.limits,
            affinity: false,
        }
    }

    /// The policies that tasks have at some time.
    fn policies(&self) -> Vec<Policy> {
        let mut policies = self.model.policies();
        policies.extend(self.timetable().policies());
        policies
    }

    /// What is done from outside while it runs.
    pub fn timetable(&self) -> Timetable {
        let text = self.changes.join("\n");
        Timetable::parse("changes", &text).expect("its maker has read each line")
    }

    /// The machine and what is set about it.
    pub fn config(&self) -> RunConfig {
        let tunable = |(name, value): &(Cow<'static, str>, i64)| (name.to_string(), *value);
        RunConfig {
            hz: Some(self.hz),
            tunables: self.tunables.iter().map(tunable).collect(),
            machine: self.structure.as_ref().map(Structure::description),
            ..RunConfig::flat(self.cpus)
        }
    }

    /// How the CPUs hang together.
    pub fn topology(&self) -> Topology {
        let structure = self.structure.as_ref();
        structure.map_or(Topology::flat(self.cpus), |structure| structure.topology.clone())
    }

    /// The start of the lone hog, ns.
    pub fn first_start_ns(&self) -> u64 {
        self.model.tasks.first().map_or(0, |task| task.delay_ns)
    }
}

/// CPUs and tasks: mostly small, so that many can be run, now and then large. What a tick costs
/// some schedulers grows with the CPUs: a large world takes as long as hundreds of small ones. From
/// [`WIDENED_FROM`] on there are fewer of them.
fn size(random: &mut SplitMix64, choice: &Choice, seed: u64) -> (u32, u64) {
    let (of, [small, medium, large]) =
        if seed < WIDENED_FROM { (100, [75, 97, 99]) } else { (1000, [920, 996, 999]) };
    let (cpus, tasks) = match random.below(of) {
        place if place < small => (1 + random.below(8), 1 + random.below(16)),
        place if place < medium => (1 + random.below(32), 1 + random.below(100)),
        place if place < large => (1 + random.below(64), 1 + random.below(300)),
        _ => (1 + random.below(256), 1 + random.below(1000)),
    };
    ((cpus as u32).min(choice.release.cpus_max), tasks)
}

fn random_hz(random: &mut SplitMix64, choice: &Choice) -> u32 {
    let (min, max) = choice.release.hz_range;
    let usual = [choice.release.hz_default, 100, 250, 300, 1000, 1024];
    let hz = usual[random.below(usual.len() as u64) as usize];
    if (min..=max).contains(&hz) { hz } else { choice.release.hz_default }
}

fn random_tunables(
    random: &mut SplitMix64,
    choice: &Choice,
    cpus: u32,
    hz: u32,
) -> Vec<(Cow<'static, str>, i64)> {
    // What a policy's variables may be, only its author knows.
    if random.below(2) == 0 || schedlab_lab::scx::is_policy(choice) {
        return vec![];
    }
    let needs = Needs { cpus, hz: Some(hz), ..Needs::default() };
    let build = choice.build_config(&needs);
    let Ok(mut scheduler) = choice.build(&build) else { return vec![] };
    let mut platform = build.platform();
    let mut set = vec![];
    for tunable in scheduler.inspect().tunables() {
        if random.below(3) > 0 {
            continue;
        }
        let (min, max) = tunable.range;
        let value = match random.below(8) {
            // Real-time tasks without a limit; else with one that leaves them something before the
            // world ends.
            0..5 if tunable.name == "sched_rt_runtime_us" => -1,
            0..5 if tunable.name == "fair_server_runtime_ns" => 0,
            _ if tunable.name == "sched_rt_runtime_us" => 300_000 + random.below(700_000) as i64,
            _ if tunable.name == "sched_rt_period_us" => 1_000_000 + random.below(1_000_000) as i64,
            // Not so small that nothing but the tunable's own timers would happen.
            0 => min.max((tunable.value / 64).min(tunable.value)),
            1 if max <= 1_000_000_000_000 => max,
            // Within a factor of 16 of what is usual.
            _ => {
                let usual = match (tunable.value, tunable.name.as_ref()) {
                    (1.., _) => tunable.value.min(i64::MAX / 16),
                    (_, name) if name.ends_with("_ns") => 10_000_000,
                    (_, name) if name.ends_with("_us") => 10_000,
                    _ => 1,
                };
                (usual / 16 + random.below(usual as u64 * 4) as i64).clamp(min, max)
            }
        };
        // The kernel refuses some values for the sake of others.
        if scheduler.set_tunable(&mut platform, &tunable.name, value).is_ok() {
            set.push((tunable.name, value));
        }
    }
    set
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
            other => unreachable!("no world has {other:?}"),
        };
        events.push(Event { key: format!("{key}{number}"), action });
    }
    Phase { name: name.into(), events, ..Phase::default() }
}

impl Maker {
    /// True in `percent` of 100 cases.
    fn chance(&mut self, percent: u64) -> bool {
        self.random.below(100) < percent
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.random.below(from.len() as u64) as usize].clone()
    }

    /// A time between `min_us` and `max_us`: a round one if all are, so that it meets others and
    /// ticks.
    fn time_us(&mut self, min_us: u64, max_us: u64) -> u64 {
        let time_us = min_us + self.random.below(max_us - min_us + 1);
        if self.round && self.random.below(10) < 8 {
            let step_us = if time_us >= 10_000 { 5_000 } else { 1_000 };
            (time_us / step_us).max(1) * step_us
        } else {
            time_us
        }
    }

    fn make_groups(&mut self) -> Vec<(String, u64)> {
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

    /// A limit for every other group: from a quarter of a CPU to all of them.
    fn limit_groups(&mut self) -> Vec<String> {
        let mut settings = vec![];
        let mut limited: Vec<String> = vec![];
        for path in self.groups.clone() {
            // Some releases want less for a child than for its parent.
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

    /// CPUs of their own for every other group.
    fn bind_groups(&mut self) -> Vec<String> {
        let mut settings = vec![];
        for path in self.groups.clone() {
            if self.chance(50) {
                let cpus: Vec<String> = self.cpu_list().iter().map(u32::to_string).collect();
                settings.push(format!("{path}:cpuset.cpus={}", cpus.join(",")));
            }
        }
        settings
    }

    fn nice(&mut self) -> i32 {
        if self.chance(60) { 0 } else { self.random.below(40) as i32 - 20 }
    }

    /// A policy and what goes with it.
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
        let policy = if known.contains(&policy) { policy } else { Policy::Other };
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
            Policy::Other | Policy::Batch | Policy::Idle => {
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
        // Deadline tasks must be allowed everywhere.
        if self.affinity && properties.policy != Some(Policy::Deadline) && self.chance(25) {
            properties.cpus = Some(self.cpu_list());
        }
        if !self.groups.is_empty() && self.chance(60) {
            let groups = self.groups.clone();
            properties.taskgroup = Some(self.pick(&groups));
        }
        properties
    }

    /// How often work of `run_us` and sleep of `sleep_us` are repeated: until the task's budget is
    /// used up, and no more than two seconds are slept away.
    fn rounds(&mut self, run_us: u64, sleep_us: u64) -> u64 {
        let by_work = self.budget_us / run_us.max(1);
        let by_sleep = 2_000_000 / sleep_us.max(1);
        by_work.min(by_sleep).clamp(1, 2_000)
    }

    /// Puts a task of `instances` threads into the world that repeat `actions`.
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
        // A forked thread may be forked often.
        let threads = u64::from(instances.max(8));
        self.work_us += run_us * rounds * threads;
        self.sleep_us += sleep_us * rounds * threads;
        self.delay_us += delay_us;
        let urgent = !matches!(properties.policy, None | Some(Policy::Batch | Policy::Idle));
        // Nothing that is urgent goes on for ever: it would have the CPU for itself.
        let endless = self.endless && !urgent && rounds > 1 && self.chance(50);
        self.tasks.push(Task {
            key: format!("{name}{}", self.tasks.len()),
            instances,
            delay_ns: delay_us * 1000,
            loops: if endless { Loops::Forever } else { Loops::Times(rounds) },
            properties,
            phases: vec![phase("", actions)],
            flat: true,
        });
    }

    /// One more task, or a few that belong together.
    fn make_some(&mut self) {
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

    /// Two that take turns, each waking the other.
    fn make_pair(&mut self, properties: Properties) {
        let number = self.tasks.len();
        let (to, back) = (format!("to{number}"), format!("back{number}"));
        let (first_us, second_us) = (self.time_us(20, 4_000), self.time_us(20, 4_000));
        let rounds = self.rounds(first_us + second_us, 0).min(300);
        let first = vec![run(first_us), Action::SemPost(to.clone()), Action::SemWait(back.clone())];
        let second = vec![Action::SemWait(to), run(second_us), Action::SemPost(back)];
        let other = self.properties();
        // Both come to their ends or neither.
        let endless = std::mem::replace(&mut self.endless, false);
        self.add("ping", 1, properties, first, rounds);
        self.add("pong", 1, other, second, rounds);
        self.endless = endless;
    }

    /// Some that meet at a barrier or share a mutex.
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

    /// One that changes policy, priority and affinity as it goes.
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
        let task = self.tasks.last_mut().expect("it was added");
        task.phases = phases;
        task.flat = false;
        // Phases make the task urgent at times.
        task.loops = Loops::Times(rounds);
    }

    /// A parent that forks, and its children.
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
        let task = self.tasks.last_mut().expect("it was added");
        task.delay_ns = 0;
        let name = task.key.clone();
        let actions = vec![run(run_us), Action::Fork(name), sleep(2_000)];
        self.add("parent", 1, properties, actions, 1 + rounds % 8);
        self.endless = endless;
    }
}
