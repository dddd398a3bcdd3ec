//! Makes random worlds: a machine, its tunables, and a workload, all from one seed.

use super::changes;
use super::overload;
use super::structure::Structure;
use super::tasks::{Maker, phase, run};
use super::world::{Kind, WIDENED_FROM, World};
use schedlab_core::{Administer, Scheduler};
use schedlab_lab::select::{Choice, Needs};
use schedlab_machine::SplitMix64;
use schedlab_workload::model::{Action, Event, Global, Loops, Model, Properties, Task};
use std::borrow::Cow;

impl World {
    /// Returns the world that `seed` makes for `choice`.
    pub fn random(seed: u64, choice: &Choice) -> World {
        let mut random = SplitMix64::new(seed);
        // Neighbouring seeds should have nothing in common.
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
                // Each CPU has 0.2 to 1.5 seconds of work; in most worlds of wider kinds less, so
                // that more worlds can run.
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
                    session: None,
                    flat: true,
                });
                duration_ns = Some(5_000_000_000);
            }
        }
        let Maker { tasks, work_us, sleep_us, delay_us, .. } = maker;
        // Time that is enough if all work were done on one CPU, all sleeps happened one after the
        // other, and real-time tasks had three quarters of the time.
        let enough_us = 4 * work_us + sleep_us + delay_us + 10_000_000;
        // The smallest limit is a quarter of a CPU.
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

    /// Makes two of three worlds less simple: structure, `execve`, idle groups, forks that inherit,
    /// changes from outside. It has its own random stream, so that a seed's tasks are the same with
    /// and without these.
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
}

/// Returns the number of CPUs and of tasks: mostly small, so that many worlds can run, and
/// occasionally large. For some schedulers the cost of a tick grows with the number of CPUs, and a
/// large world takes as long as hundreds of small ones. From [`WIDENED_FROM`] on there are fewer
/// large worlds.
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
    // Only the author of a policy knows the valid values of its variables.
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
            // Real-time tasks have no limit, or a limit that leaves them some time before the world
            // ends.
            0..5 if tunable.name == "sched_rt_runtime_us" => -1,
            0..5 if tunable.name == "fair_server_runtime_ns" => 0,
            _ if tunable.name == "sched_rt_runtime_us" => 300_000 + random.below(700_000) as i64,
            _ if tunable.name == "sched_rt_period_us" => 1_000_000 + random.below(1_000_000) as i64,
            // Not so small that only the tunable's own timers would fire.
            0 => min.max((tunable.value / 64).min(tunable.value)),
            1 if max <= 1_000_000_000_000 => max,
            // Within a factor of 16 of the usual value.
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
        // The kernel refuses some values because of others.
        if scheduler.set_tunable(&mut platform, &tunable.name, value).is_ok() {
            set.push((tunable.name, value));
        }
    }
    set
}
