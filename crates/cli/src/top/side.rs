//! Part of the model for one scheduler: its run, and the state at the moment that is shown.

use super::columns::{Column, Row};
use crate::escape;
use schedlab_core::{CpuId, Rule, TaskId};
use schedlab_lab::Error;
use schedlab_lab::plan::Contender;
use schedlab_lab::player::{Ended, Player};
use schedlab_measure::scene::{Doing, Note, Scene};

/// Maximum number of events simulated between two checks for keys.
pub const WORK: u64 = 60_000;

/// A run under a scheduler.
pub struct Side<'a> {
    /// The run.
    pub player: Player<'a>,
    /// Escaped paths of groups, by number. The root's is empty.
    groups: Vec<String>,
    /// State that is shown.
    pub frame: Frame,
}

/// State of a run at a moment.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    /// Time of the moment, ns; the end of the run, if it ended before the requested time.
    pub at_ns: u64,
    /// Length of the window before then over which shares are taken, ns.
    pub window_ns: u64,
    /// Rows of CPUs.
    pub cpus: Vec<CpuRow>,
    /// Rows of tasks that have existed, by number.
    pub rows: Vec<Row>,
    /// Number of switches so far.
    pub switches: u64,
    /// Last decisions until then, with their time in ns.
    pub last: Option<(u64, Vec<Note>)>,
}

/// Row of a CPU.
#[derive(Clone, Debug)]
pub struct CpuRow {
    /// Number of the CPU.
    pub cpu: CpuId,
    /// Busy time in the window, in 1/1000 of it.
    pub busy: u64,
    /// Running task.
    pub current: Option<TaskId>,
    /// Time for which it has been running, ns.
    pub for_ns: u64,
    /// Rule by which it was picked.
    pub why: Rule,
    /// Tasks that wait for it, the longest wait first.
    pub queue: Vec<TaskId>,
}

/// Returns `part` of `whole` in 1/1000, rounded.
fn share(part: u64, whole: u64) -> u64 {
    let (part, whole) = (u128::from(part), u128::from(whole.max(1)));
    ((part * 1000 + whole / 2) / whole) as u64
}

impl<'a> Side<'a> {
    /// Makes the side of a run whose groups have these paths, the root's first.
    pub fn new(player: Player<'a>, groups: &[String]) -> Side<'a> {
        let path = |(number, path): (usize, &String)| match number {
            0 => String::new(),
            _ => escape::name(path),
        };
        let groups = groups.iter().enumerate().map(path).collect();
        Side { player, groups, frame: Frame::default() }
    }

    /// Returns the scheduler.
    pub fn scheduler(&self) -> &'a Contender {
        self.player.scheduler()
    }

    /// Returns the escaped name of a task.
    pub fn name(&self, task: TaskId) -> String {
        escape::name(&self.player.name(task))
    }

    /// Returns the name of a rule.
    pub fn rule(&self, rule: Rule) -> &str {
        let named = self.player.rules().iter().find(|doc| doc.rule == rule);
        named.map_or("", |doc| &doc.name)
    }

    /// Simulates towards `at_ns`, and returns whether its state is shown.
    pub fn show(&mut self, at_ns: u64, window_ns: u64, work: u64) -> Result<bool, Error> {
        if !self.player.approach(at_ns, work)? {
            return Ok(false);
        }
        let at_ns = self.player.within(at_ns);
        // Earlier states may have been discarded. Then the window is shorter, and the display shows
        // that.
        let from_ns = at_ns.saturating_sub(window_ns).max(self.player.from_ns().min(at_ns));
        let (Some(scene), Some(before)) = (self.player.scene(at_ns), self.player.scene(from_ns))
        else {
            return Ok(false);
        };
        let last = self.player.last_decision(at_ns);
        let last = last.map(|when_ns| (when_ns, self.player.decisions_at(when_ns)));
        self.frame = Frame {
            at_ns,
            window_ns: at_ns - from_ns,
            cpus: self.cpus(at_ns, from_ns, &scene, &before),
            rows: self.rows(at_ns, from_ns, &scene, &before),
            switches: scene.cpus.iter().map(|cpu| cpu.switches).sum(),
            last,
        };
        Ok(true)
    }

    fn cpus(&self, at_ns: u64, from_ns: u64, scene: &Scene, before: &Scene) -> Vec<CpuRow> {
        let mut queues: Vec<Vec<(u64, TaskId)>> = vec![vec![]; scene.cpus.len()];
        for (task, row) in scene.tasks.iter().filter(|(_, row)| row.doing == Doing::Waiting) {
            if let Some(cpu) = row.cpu {
                queues[cpu.index()].push((row.since_ns, task));
            }
        }
        let all = scene.cpus.iter().zip(&before.cpus).zip(queues).enumerate();
        all.map(|(number, ((now, then), mut queue))| {
            queue.sort_unstable();
            let busy_ns = now.busy_ns(at_ns) - then.busy_ns(from_ns);
            CpuRow {
                cpu: CpuId(number as u32),
                busy: share(busy_ns, at_ns - from_ns),
                current: now.current,
                for_ns: at_ns - now.since_ns,
                why: now.why,
                queue: queue.into_iter().map(|(_, task)| task).collect(),
            }
        })
        .collect()
    }

    fn rows(&self, at_ns: u64, from_ns: u64, scene: &Scene, before: &Scene) -> Vec<Row> {
        let there = scene.tasks.iter().filter(|(_, row)| row.doing != Doing::NotThere);
        there
            .map(|(task, now)| {
                let then = before.task(task);
                let (cpu_then, wait_then) =
                    then.map_or((0, 0), |row| (row.cpu_ns(from_ns), row.wait_ns(from_ns)));
                let until_ns = if now.doing == Doing::Ended { now.since_ns } else { at_ns };
                let latency = |ns| (now.latencies > 0).then_some(ns);
                let (cpu_ns, wait_ns) = (now.cpu_ns(at_ns), now.wait_ns(at_ns));
                Row {
                    task,
                    name: self.name(task),
                    group: self.groups.get(now.group.index()).cloned().unwrap_or_default(),
                    doing: now.doing,
                    cpu: now.cpu,
                    prio: now.prio,
                    cpu_share: share(cpu_ns - cpu_then, at_ns - from_ns),
                    average: share(cpu_ns, until_ns - now.start_ns),
                    wait_share: share(wait_ns - wait_then, at_ns - from_ns),
                    cpu_ns,
                    wait_ns,
                    for_ns: at_ns - now.since_ns,
                    latency_ns: latency(now.latency_ns),
                    latency_max_ns: latency(now.latency_max_ns),
                    switches: now.switches,
                    preempted: now.involuntary,
                    moved: now.migrations,
                }
            })
            .collect()
    }

    /// Returns the number of tasks in each state, as text.
    pub fn counts(&self) -> String {
        let count = |doing: &[Doing]| {
            self.frame.rows.iter().filter(|row| doing.contains(&row.doing)).count()
        };
        format!(
            "{}: {} running, {} waiting, {} asleep, {} ended",
            crate::terminal::counted(self.frame.rows.len(), "task"),
            count(&[Doing::Running]),
            count(&[Doing::Waiting]),
            count(&[Doing::Sleeping, Doing::Uninterruptible, Doing::Stopped]),
            count(&[Doing::Ended])
        )
    }

    /// Returns how the run ended, if it has ended at the moment shown.
    pub fn over(&self) -> Option<String> {
        let (end_ns, how) = self.player.end()?;
        if self.frame.at_ns < end_ns {
            return None;
        }
        Some(match how {
            Ended::Well => "the run has ended".into(),
            Ended::Stuck => "the run has ended: no remaining task can ever run again".into(),
            Ended::Broken(why) => format!("the run was aborted: {}", escape::name(why)),
        })
    }

    /// Describes a decision.
    pub fn words(&self, note: &Note) -> String {
        let rules = |rules: &[Rule]| {
            let named: Vec<&str> =
                rules.iter().map(|&rule| self.rule(rule)).filter(|name| !name.is_empty()).collect();
            if named.is_empty() { String::new() } else { format!(" ({})", named.join(", ")) }
        };
        let who = |task: Option<TaskId>| task.map_or("idle".into(), |task| self.name(task));
        match *note {
            Note::Started { task, cpu, placed, preempts } => {
                format!("{} new on CPU {}{}", self.name(task), cpu.0, rules(&[placed, preempts]))
            }
            Note::Woken { task, cpu, by, placed, preempts } => format!(
                "{} woken{} on CPU {}{}",
                self.name(task),
                by.map_or(String::new(), |by| format!(" by {}", self.name(by))),
                cpu.0,
                rules(&[placed, preempts])
            ),
            Note::Switched { cpu, prev, next, why, .. } => {
                format!("CPU {}: {} -> {}{}", cpu.0, who(prev), who(next), rules(&[why]))
            }
            Note::Migrated { task, from, to, why } => {
                format!(
                    "{} moved from CPU {} to {}{}",
                    self.name(task),
                    from.0,
                    to.0,
                    rules(&[why])
                )
            }
            _ => String::new(),
        }
    }

    /// Returns the order of its tasks.
    pub fn order(&self, by: Column, reversed: bool, hide_idle: bool) -> Vec<TaskId> {
        let shown = |row: &&Row| !hide_idle || matches!(row.doing, Doing::Running | Doing::Waiting);
        let mut rows: Vec<&Row> = self.frame.rows.iter().filter(shown).collect();
        rows.sort_by(|a, b| a.compare(b, by, reversed));
        rows.into_iter().map(|row| row.task).collect()
    }

    /// Returns the row of a task, if the task has existed.
    pub fn row(&self, task: TaskId) -> Option<&Row> {
        let place = self.frame.rows.binary_search_by_key(&task, |row| row.task).ok()?;
        Some(&self.frame.rows[place])
    }
}
