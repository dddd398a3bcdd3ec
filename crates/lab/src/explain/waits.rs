//! The longest waits of a run, and the tasks that had the CPU during them.

use crate::error::Error;
use crate::explain::names::Names;
use crate::explain::subject::Subject;
use crate::plan::{Contender, Prepared};
use crate::throttled::{ThrottledGroups, ThrottledQueue};
use schedlab_core::platform::Throttling;
use schedlab_core::{Account, CpuId, Event, Observer, Question, Rule, TaskId, TaskTable, Who};
use std::collections::BTreeMap;

/// A pick that a waiting task lost.
#[derive(Clone, Debug)]
pub struct LostPick {
    /// Time, ns.
    pub at_ns: u64,
    /// The candidates and their keys.
    pub account: Account,
}

/// Part of a wait during which the task could not run, because a group that contains it had used up
/// its limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThrottledWait {
    /// The group and its limit, with the refill that was due next when this began last.
    pub limit: Throttling,
    /// Total time, ns.
    pub ns: u64,
    /// Number of times that the group was throttled on the CPU.
    pub times: u32,
    /// Time since which the group had been throttled on the CPU the last time, ns.
    pub since_ns: u64,
    /// Time at which the group had runtime on the CPU again, ns. `None`: not before the wait ended.
    pub until_ns: Option<u64>,
}

/// A time during which a task was runnable without a CPU.
#[derive(Clone, Debug)]
pub struct Wait {
    /// Task that waited.
    pub task: TaskId,
    /// Begin, ns.
    pub start_ns: u64,
    /// End, ns.
    pub end_ns: u64,
    /// Whether it got a CPU then. Otherwise the run or the task ended.
    pub ran: bool,
    /// CPU of its runqueue at the end.
    pub cpu: CpuId,
    /// Parts during which it was throttled, by group.
    pub throttled: Vec<ThrottledWait>,
    /// Tasks that had the CPU of its runqueue at the time (`None`: the CPU was idle), with their
    /// CPU time (ns) and number of turns, the longest first. Times during which it was throttled
    /// are left out.
    pub meanwhile: Vec<(Option<TaskId>, u64, u32)>,
    /// Number of picks of that CPU that other tasks won while it could have been picked, by rule.
    pub lost: BTreeMap<Rule, u32>,
    /// The first of these picks.
    pub first: Option<LostPick>,
    /// The last of these picks.
    pub last: Option<LostPick>,
}

/// Observer that finds the longest waits.
struct LongestWaits {
    many: usize,
    only: Option<TaskId>,
    since: TaskTable<Option<u64>>,
    /// Task that runs on each CPU.
    running: Vec<Option<TaskId>>,
    /// Length, start and task of each wait. The longest comes first, of equal ones the earliest.
    found: Vec<(u64, u64, TaskId)>,
}

impl LongestWaits {
    fn close(&mut self, task: TaskId, now_ns: u64) {
        let Some(start_ns) = self.since[task].take() else { return };
        let length = now_ns - start_ns;
        if length == 0 || self.only.is_some_and(|only| only != task) {
            return;
        }
        let shortest = self.found.last().map_or(0, |&(length, ..)| length);
        if self.found.len() == self.many && length <= shortest {
            return;
        }
        let at = self.found.partition_point(|&(other, ..)| other >= length);
        self.found.insert(at, (length, start_ns, task));
        self.found.truncate(self.many);
    }
}

impl Observer for LongestWaits {
    fn on(&mut self, now_ns: u64, event: Event<'_>) {
        match event {
            Event::Born { task, .. } => self.since.insert(task, None),
            Event::Started { task, .. } => self.since[task] = Some(now_ns),
            Event::Woken { task, cpu, .. } => {
                // A task that blocked in this instant may still have its CPU.
                let runs = self.running[cpu.index()] == Some(task);
                self.since[task] = (!runs).then_some(now_ns);
            }
            Event::Blocked { task, .. } => self.since[task] = None,
            Event::Killed { task } => self.close(task, now_ns),
            Event::Switched { cpu, prev, prev_runnable, next, .. } => {
                self.running[cpu.index()] = next;
                if let Some(prev) = prev
                    && prev_runnable
                {
                    self.since[prev] = Some(now_ns);
                }
                if let Some(next) = next {
                    self.close(next, now_ns);
                }
            }
            Event::Finished => {
                for task in 0..self.since.len() as u32 {
                    self.close(TaskId(task), now_ns);
                }
            }
            _ => {}
        }
    }
}

/// Observer that follows the given waits.
struct WaitFollower {
    waits: Vec<Wait>,
    /// CPU of each waiting task's runqueue, by wait.
    place: Vec<CpuId>,
    /// Task that runs on each CPU, and since when.
    running: Vec<(Option<TaskId>, u64)>,
    throttled: ThrottledGroups,
}

impl Wait {
    fn is_during(&self, now_ns: u64) -> bool {
        self.start_ns <= now_ns && now_ns < self.end_ns
    }

    /// Adds `ns` during which `queue` was throttled.
    fn add_throttled(&mut self, queue: &ThrottledQueue, ns: u64) {
        let is_it = |row: &&mut ThrottledWait| row.limit.group == queue.change.group;
        match self.throttled.iter_mut().find(is_it) {
            Some(row) => {
                row.ns += ns;
                row.times += u32::from(row.since_ns != queue.since_ns);
                (row.limit, row.since_ns, row.until_ns) = (queue.change, queue.since_ns, None);
            }
            None => self.throttled.push(ThrottledWait {
                limit: queue.change,
                ns,
                times: 1,
                since_ns: queue.since_ns,
                until_ns: None,
            }),
        }
    }
}

impl WaitFollower {
    /// Adds the activity of `cpu` until `now_ns`, when a turn may end, to the waits for it.
    fn settle(&mut self, cpu: CpuId, now_ns: u64, turns: u32) {
        let (current, since_ns) = self.running[cpu.index()];
        for (wait, &place) in self.waits.iter_mut().zip(&self.place) {
            let from = since_ns.max(wait.start_ns);
            let to = now_ns.min(wait.end_ns);
            if place == cpu && from < to {
                if let Some(queue) = self.throttled.of(wait.task, cpu) {
                    wait.add_throttled(queue, to - from);
                    continue;
                }
                let known = wait.meanwhile.iter_mut().find(|(task, ..)| *task == current);
                match known {
                    Some((_, ns, all)) => (*ns, *all) = (*ns + (to - from), *all + turns),
                    None => wait.meanwhile.push((current, to - from, turns)),
                }
            }
        }
        self.running[cpu.index()].1 = now_ns;
    }

    fn place(&mut self, task: TaskId, cpu: CpuId, now_ns: u64) {
        for i in 0..self.waits.len() {
            if self.waits[i].task == task && self.place[i] != cpu {
                self.settle(self.place[i], now_ns, 0);
                self.settle(cpu, now_ns, 0);
                self.place[i] = cpu;
            }
        }
    }

    /// Adds what happened before `task` moves to another group or class.
    fn settle_task(&mut self, task: TaskId, now_ns: u64) {
        for i in 0..self.waits.len() {
            if self.waits[i].task == task {
                self.settle(self.place[i], now_ns, 0);
            }
        }
    }

    /// Handles a change of throttling.
    fn throttle(&mut self, change: &Throttling, now_ns: u64) {
        self.settle(change.cpu, now_ns, 0);
        if change.is_throttled {
            return;
        }
        for (wait, &place) in self.waits.iter_mut().zip(&self.place) {
            if place == change.cpu && wait.start_ns <= now_ns && now_ns <= wait.end_ns {
                let is_it = |row: &&mut ThrottledWait| row.limit.group == change.group;
                if let Some(row) = wait.throttled.iter_mut().find(is_it) {
                    row.until_ns = Some(now_ns);
                }
            }
        }
    }
}

impl Observer for WaitFollower {
    fn on(&mut self, now_ns: u64, event: Event<'_>) {
        match event {
            Event::Started { task, cpu, .. } | Event::Woken { task, cpu, .. } => {
                self.place(task, cpu, now_ns);
            }
            Event::Migrated { task, to, .. } => self.place(task, to, now_ns),
            Event::Decided { account } if account.question == Question::Pick => {
                for (wait, &place) in self.waits.iter_mut().zip(&self.place) {
                    let during = wait.is_during(now_ns)
                        && self.throttled.of(wait.task, account.cpu).is_none();
                    let competes = account
                        .evidence
                        .candidates
                        .iter()
                        .any(|candidate| candidate.who == Who::Task(wait.task));
                    if during && place == account.cpu && competes {
                        *wait.lost.entry(account.rule).or_default() += 1;
                        let lost = LostPick { at_ns: now_ns, account: account.clone() };
                        wait.first.get_or_insert_with(|| lost.clone());
                        wait.last = Some(lost);
                    }
                }
            }
            Event::Throttled { change } => self.throttle(change, now_ns),
            Event::GroupChanged { task, .. } | Event::AttrChanged { task, .. } => {
                self.settle_task(task, now_ns);
            }
            Event::Switched { cpu, next, .. } => {
                self.settle(cpu, now_ns, 1);
                self.running[cpu.index()] = (next, now_ns);
                for wait in &mut self.waits {
                    if next == Some(wait.task) && wait.end_ns == now_ns {
                        wait.ran = true;
                        wait.cpu = cpu;
                    }
                }
                if let Some(next) = next {
                    self.place(next, cpu, now_ns);
                }
            }
            Event::Finished => {
                for cpu in 0..self.running.len() as u32 {
                    self.settle(CpuId(cpu), now_ns, 1);
                }
            }
            _ => {}
        }
        self.throttled.on(now_ns, &event);
    }
}

/// Returns the `many` longest waits of a run, or of one task in it, the longest first.
///
/// # Errors
/// As for a run.
pub fn longest_waits(
    prepared: &Prepared,
    scheduler: &Contender,
    only: Option<TaskId>,
    many: usize,
) -> Result<(Vec<Wait>, Names), Error> {
    let subject = Subject::of(prepared, scheduler)?;
    let running = vec![None; subject.cpus() as usize];
    let mut longest = LongestWaits { many, only, since: TaskTable::new(), running, found: vec![] };
    let names = subject.observe(false, &mut longest)?;
    let wait = |&(length, start_ns, task): &(u64, u64, TaskId)| Wait {
        task,
        start_ns,
        end_ns: start_ns + length,
        ran: false,
        cpu: CpuId(0),
        throttled: vec![],
        meanwhile: vec![],
        lost: BTreeMap::new(),
        first: None,
        last: None,
    };
    let mut follow = WaitFollower {
        waits: longest.found.iter().map(wait).collect(),
        place: vec![CpuId(0); longest.found.len()],
        running: vec![(None, 0); subject.cpus() as usize],
        throttled: subject.throttled(),
    };
    subject.observe(true, &mut follow)?;
    for (wait, place) in follow.waits.iter_mut().zip(follow.place) {
        if !wait.ran {
            wait.cpu = place;
        }
        // A task that moved away during a turn has not seen its end.
        wait.meanwhile.iter_mut().for_each(|(_, _, turns)| *turns = (*turns).max(1));
        wait.meanwhile.sort_by_key(|&(task, ns, _)| (std::cmp::Reverse(ns), task));
    }
    Ok((follow.waits, names))
}
