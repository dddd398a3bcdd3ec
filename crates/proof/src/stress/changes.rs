//! Random changes from outside during a run: actions of an administrator, a shell or a control
//! daemon on existing tasks, groups and CPUs.

use super::world::{Kind, World};
use schedlab_core::Policy;
use schedlab_lab::select::Choice;
use schedlab_machine::SplitMix64;
use schedlab_workload::Timetable;

/// State while the changes of a world are made.
struct Maker<'a> {
    random: SplitMix64,
    world: &'a World,
    choice: &'a Choice,
}

/// Makes random changes to `world`, as lines of a timetable. Tasks that belong together (pairs,
/// crowds) are not killed, and stopped tasks are continued, so that all tasks of a finite world
/// still end.
pub fn random(random: SplitMix64, world: &World, choice: &Choice) -> Vec<String> {
    let mut maker = Maker { random, world, choice };
    let count = 1 + maker.below(12);
    let mut lines: Vec<String> = vec![];
    for _ in 0..count {
        // Most of a world's work is done in its first second or two.
        let at_us = match maker.below(4) {
            0 => 1_000 * maker.below(500),
            _ => maker.below(1_500_000),
        };
        maker.change(at_us, &mut lines);
    }
    for line in &lines {
        if let Err(diagnostic) = Timetable::parse("changes", line) {
            panic!("the generator made an invalid timetable: {diagnostic}");
        }
    }
    lines
}

impl Maker<'_> {
    fn below(&mut self, bound: u64) -> u64 {
        self.random.below(bound)
    }

    /// Returns a task, or all tasks of a key.
    fn task(&mut self) -> String {
        let tasks = &self.world.model.tasks;
        let place = self.random.below(tasks.len() as u64) as usize;
        let task = &tasks[place];
        match self.random.below(4) {
            0 if task.instances > 0 => {
                format!("{}-{}", task.key, self.random.below(u64::from(task.instances)))
            }
            _ => task.key.clone(),
        }
    }

    fn group(&mut self) -> Option<String> {
        let groups = &self.world.groups;
        let count = groups.len() as u64;
        (count > 0).then(|| groups[self.random.below(count) as usize].0.clone())
    }

    fn cpus(&mut self) -> String {
        let cpus = u64::from(self.world.cpus);
        let (one, other) = (self.below(cpus), self.below(cpus));
        format!("{}-{}", one.min(other), one.max(other))
    }

    fn change(&mut self, at_us: u64, lines: &mut Vec<String>) {
        let can = self.choice.release.can;
        let later_us = at_us + 1 + self.below(50_000);
        let at = format!("at {at_us}us");
        match self.below(16) {
            0..3 => {
                let nice = self.below(40) as i64 - 20;
                lines.push(format!("{at} renice {} {nice}", self.task()));
            }
            3..6 => {
                let policy = self.policy();
                lines.push(format!("{at} chrt {} {policy}", self.task()));
            }
            6..9 if can.affinity => {
                lines.push(format!("{at} taskset {} {}", self.task(), self.cpus()));
            }
            9 | 10 => {
                if let Some(group) = self.group() {
                    lines.push(format!("{at} move {} {group}", self.task()));
                }
            }
            11 | 12 => {
                if let Some(group) = self.group() {
                    let setting = self.setting();
                    lines.push(format!("{at} group {group} {setting}"));
                }
            }
            13 => {
                let task = self.task();
                lines.push(format!("{at} stop {task}"));
                lines.push(format!("at {later_us}us cont {task}"));
            }
            // A policy without callbacks for this is loaded again.
            14 if can.affinity && self.world.cpus > 1 => {
                let cpu = self.below(u64::from(self.world.cpus));
                lines.push(format!("{at} offline cpu {cpu}"));
                lines.push(format!("at {later_us}us online cpu {cpu}"));
            }
            15 if self.world.kind == Kind::Endless => {
                let alone = |key: &str| {
                    ["hog", "sleeper", "yielder", "periodic"]
                        .iter()
                        .any(|kind| key.starts_with(kind))
                };
                let task = self.task();
                if alone(&task) {
                    lines.push(format!("{at} kill {task}"));
                }
            }
            _ => {}
        }
    }

    /// Returns a policy in the syntax of `chrt`. Endless tasks do not become real-time tasks, as
    /// they would monopolise the CPU.
    fn policy(&mut self) -> String {
        let known = |policy| self.choice.release.policies.contains(&policy);
        let urgent = self.world.kind == Kind::Finite;
        let mut words = vec!["other".to_string()];
        let rt_priority = 1 + self.random.below(99);
        for (policy, word) in [
            (Policy::Batch, "batch".to_string()),
            (Policy::Idle, "idle".to_string()),
            (Policy::Iso, "iso".to_string()),
            (Policy::Fifo, format!("fifo {rt_priority}")),
            (Policy::RoundRobin, format!("rr {rt_priority}")),
        ] {
            if known(policy) && (urgent || !policy.is_realtime()) {
                words.push(word);
            }
        }
        words.swap_remove(self.random.below(words.len() as u64) as usize)
    }

    /// Returns a random setting of a group.
    fn setting(&mut self) -> String {
        let can = self.choice.release.can;
        match self.below(4) {
            0 if can.idle_groups => format!("cpu.idle={}", self.below(2)),
            // At least a quarter of a CPU, as from the start.
            1 if can.quotas && self.world.limits => {
                let period_us = 5_000 + self.below(95_000);
                let quota_us = period_us / 4 + self.below(2 * period_us);
                format!("cpu.max={} {period_us}", quota_us.max(1_250))
            }
            2 if can.quotas && self.world.limits => "cpu.max=max 100000".into(),
            3 if can.affinity => format!("cpuset.cpus={}", self.cpus()),
            _ => format!("cpu.shares={}", 2 + self.below(8192)),
        }
    }
}
