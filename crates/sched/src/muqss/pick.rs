//! Queueing, and the pick.

use super::clock;
use super::levels::{IDLE_PRIO, ISO_PRIO, MAX_RT_PRIO, NORMAL_PRIO, normal_prio};
use super::queue::NO_KEY;
use super::{Muqss, rules};
use schedlab_core::{CpuId, Platform, Policy, Question, Rule, TaskId};

/// The mark of idle-priority tasks in a key.
const IDLE_KEY: u64 = 0xF000_0000_0000_0000;

/// Whether a pick that has found nothing so far would look at a queue, and how far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Look {
    /// It looks for the first task that may run.
    Through,
    /// It looks at the first task only.
    AtFirst,
    /// It passes over the queue.
    Past,
    /// It ends here.
    End,
}

/// The state of a pick: what it has found so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Search {
    /// Number of queues visited.
    pub visited: usize,
    /// The key of the task found.
    pub best: u64,
    /// Length of the queue in which it was found.
    pub entries: u32,
    pub found: Option<TaskId>,
}

impl Search {
    pub(super) const START: Search = Search { visited: 0, best: NO_KEY, entries: 0, found: None };
}

impl Muqss {
    /// The level at which `task` queues on `cpu`.
    pub(super) fn level_on(&self, task: TaskId, cpu: CpuId) -> u8 {
        let row = &self.tasks[task];
        match row.policy {
            _ if row.prio < MAX_RT_PRIO => row.prio,
            Policy::Idle => IDLE_PRIO,
            Policy::Iso if !self.cpus[cpu.index()].iso.refractory => {
                normal_prio(row.policy, row.rt_priority)
            }
            _ => NORMAL_PRIO,
        }
    }

    /// The key by which a task of this policy queues at a level.
    pub(super) fn key(&self, policy: Policy, prio: u8, deadline: u64) -> u64 {
        match policy {
            _ if prio <= ISO_PRIO => prio.into(),
            Policy::Idle if prio == IDLE_PRIO => deadline | IDLE_KEY,
            Policy::Idle => deadline.wrapping_add(self.distances[39] as u64),
            _ => deadline,
        }
    }

    /// `enqueue_task`: queues `task`, which belongs to `cpu`. Only the `best_key` of that CPU is
    /// refreshed, although other CPUs may share the queue.
    pub(super) fn enqueue(&mut self, platform: &mut Platform, cpu: CpuId, task: TaskId) {
        debug_assert_eq!(self.tasks[task].cpu, cpu);
        let prio = self.level_on(task, cpu);
        let row = &mut self.tasks[task];
        row.prio = prio;
        let (policy, deadline) = (row.policy, row.deadline);
        let key = self.key(policy, prio, deadline);
        self.update_clock(platform, cpu);
        let leader = self.nearness.leader(cpu);
        self.queues.push(leader, task, key);
        platform.work.enqueues += 1;
        platform.work.tree(self.queues.len(leader));
        let here = &mut self.cpus[cpu.index()];
        here.best_key = self.queues.first_key(leader);
        here.nr_running += 1;
    }

    /// `dequeue_task`: removes `task` from its queue.
    pub(super) fn dequeue(&mut self, platform: &mut Platform, task: TaskId) {
        let cpu = self.tasks[task].cpu;
        let leader = self.nearness.leader(cpu);
        self.queues.remove(leader, task);
        platform.work.dequeues += 1;
        self.cpus[cpu.index()].best_key = self.queues.first_key(leader);
        self.update_clock(platform, cpu);
        self.cpus[cpu.index()].nr_running -= 1;
    }

    /// `activate_task`: makes `task` runnable on its CPU.
    pub(super) fn activate(&mut self, platform: &mut Platform, task: TaskId) {
        let row = &mut self.tasks[task];
        let cpu = row.cpu;
        if row.prio >= MAX_RT_PRIO {
            row.prio = normal_prio(row.policy, row.rt_priority);
        }
        row.runnable = true;
        self.cpus[cpu.index()].tasks += 1;
        if self.cpus[cpu.index()].curr.is_none() {
            platform.resched(cpu);
        }
        self.enqueue(platform, cpu, task);
    }

    /// `earliest_deadline_task`: takes the task that `cpu` should run: the first one that may run
    /// there of the queue that begins with the least key.
    pub(super) fn earliest_deadline_task(
        &mut self,
        platform: &mut Platform,
        cpu: CpuId,
    ) -> Option<TaskId> {
        let mut search = Search::START;
        let mut held_back = false;
        for visited in 0..self.nearness.queues() {
            let leader = self.nearness.queue_at(cpu, visited);
            search.visited = visited;
            let look = self.look_at(&search, cpu, leader);
            match look {
                Look::End => break,
                Look::Past => continue,
                Look::Through | Look::AtFirst => (),
            }
            if visited > 0 {
                platform.double_lock(cpu, leader);
                platform.work.queues += 1;
                self.level_clocks(cpu, leader);
            }
            held_back |= self.search_queue(platform, &mut search, look, cpu, leader);
            if self.is_preempting(cpu, search.found) {
                break;
            }
        }
        let Some(task) = search.found else {
            let rule = if held_back { rules::HELD_BACK } else { rules::IDLE };
            platform.by_rule(Question::Pick, cpu, rule);
            self.cpus[cpu.index()].preempting = None;
            return None;
        };
        self.explain_pick(platform, cpu, task);
        self.dequeue(platform, task);
        self.take(platform, task, cpu);
        self.cpus[cpu.index()].preempting = None;
        Some(task)
    }

    /// Whether and how the pick of `cpu` looks at the queue of `leader`. The `best_key` of the
    /// leader is as that CPU itself last set it, and may be out of date.
    pub(super) fn look_at(&self, search: &Search, cpu: CpuId, leader: CpuId) -> Look {
        let is_own = search.visited == 0;
        let entries = self.queues.len(leader);
        if self.settings.interactive {
            if entries == 0 {
                return Look::Past;
            }
        } else {
            if search.found.is_some() && self.nearness.is_distant(cpu, leader) {
                return Look::End;
            }
            if entries <= search.entries {
                return Look::Past;
            }
        }
        if !is_own && self.cpus[leader.index()].best_key >= search.best {
            return Look::Past;
        }
        if is_own || self.settings.interactive { Look::Through } else { Look::AtFirst }
    }

    /// Whether `found` is the task for which `cpu` was asked to reschedule.
    pub(super) fn is_preempting(&self, cpu: CpuId, found: Option<TaskId>) -> bool {
        found.is_some() && self.cpus[cpu.index()].preempting == found
    }

    /// Levels the clocks of two CPUs.
    fn level_clocks(&mut self, cpu: CpuId, leader: CpuId) {
        if let Ok([here, there]) = self.cpus.get_disjoint_mut([cpu.index(), leader.index()]) {
            clock::level(&mut here.clock, &mut there.clock);
        }
    }

    /// Looks for a better task in the queue of `leader`. Returns whether one was passed over for
    /// the sake of a sibling thread.
    fn search_queue(
        &self,
        platform: &mut Platform,
        search: &mut Search,
        look: Look,
        cpu: CpuId,
        leader: CpuId,
    ) -> bool {
        let mut held_back = false;
        for (key, task) in self.queues.iter(leader) {
            platform.work.scanned += 1;
            if key >= search.best {
                break;
            }
            let smt_allows = self.smt_allows(task, cpu);
            if smt_allows && self.tasks[task].allowed.contains(cpu) {
                search.best = key;
                search.found = Some(task);
                search.entries = self.queues.len(leader);
                break;
            }
            held_back |= !smt_allows;
            if look == Look::AtFirst {
                break;
            }
        }
        held_back
    }

    /// Records the rule of a pick that is about to be carried out.
    fn explain_pick(&self, platform: &mut Platform, cpu: CpuId, task: TaskId) {
        let rule = self.pick_rule(cpu, task);
        platform.because(Question::Pick, cpu, rule, move |evidence| {
            self.list_candidates(cpu, None, &mut evidence.candidates);
        });
    }

    fn pick_rule(&self, cpu: CpuId, task: TaskId) -> Rule {
        match self.tasks[task].prio {
            _ if self.is_preempting(cpu, Some(task)) => rules::PREEMPTING,
            IDLE_PRIO => rules::IDLE_PRIORITY,
            ISO_PRIO => rules::ISOCHRONOUS,
            prio if prio < MAX_RT_PRIO => rules::REAL_TIME,
            _ => rules::EARLIEST_DEADLINE,
        }
    }

    /// Moves `task`, which has left its queue, to `cpu`.
    fn take(&mut self, platform: &mut Platform, task: TaskId, cpu: CpuId) {
        let row = &mut self.tasks[task];
        let from = core::mem::replace(&mut row.cpu, cpu);
        if from != cpu {
            self.cpus[from.index()].tasks -= 1;
            self.cpus[cpu.index()].tasks += 1;
            platform.by_rule(Question::Migrate, cpu, rules::TAKEN);
            platform.migrated(task, from, cpu);
        }
    }
}
