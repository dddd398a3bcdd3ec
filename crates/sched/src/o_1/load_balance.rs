//! 2.6.0: load balancing by number of tasks.
//!
//! A CPU with too few tasks looks for the longest queue and pulls from it. This happens when it is
//! about to go idle, at every tick while it is idle, and every 200 ms while it is busy. A busy CPU
//! acts on an imbalance only if it sees it twice: it compares with the smaller of a queue's length
//! now and at its previous attempt (`prev_cpu_load`). An idle CPU pulls one task at once.
//!
//! All of this happens within the CPU's memory node. [`nodes`](super::nodes) has the rules for
//! other nodes.
//!
//! # The ping-pong quirk
//!
//! The imbalance is halved and counted down to 0. With 3 tasks against 2, half of 1 is 0, the first
//! task taken makes it -1, and it never becomes 0 again: *all* tasks that can be taken are taken. 3
//! : 2 becomes 1 : 4, and later the other way round.

use super::loads::{Loads, NodeId};
use super::nodes::Nodes;
use super::task::{ArrayId, Pid};
use super::{O1, rules};
use alloc::vec;
use alloc::vec::Vec;
use schedlab_core::index::IndexVec;
use schedlab_core::{CpuId, Platform, Question, Rule, define_index};

define_index! {
    /// A view of a node: the queue lengths that one or several CPUs saw at their previous attempt.
    struct ViewId;
}

/// A view of a node.
#[derive(Debug)]
struct View {
    /// The queue length of each member.
    running: Vec<u32>,
    /// Number of CPUs that have this view.
    seen_by: u32,
}

/// The `nr_running` of the CPUs of one node, as each CPU saw it at its own previous attempt to
/// balance with them (`prev_cpu_load`).
///
/// In the kernel this is an array in each runqueue: CPUs x CPUs numbers in all, rewritten at every
/// tick of every idle CPU. CPUs that look while nothing changes see the same numbers, so here they
/// share a view. The contents are exactly the kernel's.
#[derive(Debug)]
pub(super) struct LoadHistory {
    /// The CPUs of the node, in ascending order.
    members: Vec<CpuId>,
    views: IndexVec<ViewId, View>,
    /// Views that no CPU has.
    free: Vec<ViewId>,
    /// By CPU: its view.
    of_cpu: Vec<ViewId>,
    /// The newest view, and the version of the loads that it shows.
    newest: Option<(u64, ViewId)>,
    /// The lowest CPU with the longest queue of more than one task, for a version of the loads.
    longest: (u64, Option<CpuId>),
}

impl LoadHistory {
    /// Creates the history for a node of these CPUs in a machine of `cpus`, before any CPU has
    /// looked: all saw 0 everywhere.
    pub(super) fn new(cpus: u32, members: &[CpuId]) -> LoadHistory {
        let mut views = IndexVec::new();
        let empty = views.push(View { running: vec![0; members.len()], seen_by: cpus });
        LoadHistory {
            members: members.to_vec(),
            views,
            free: Vec::new(),
            of_cpu: vec![empty; cpus as usize],
            newest: None,
            longest: (0, None),
        }
    }

    /// Returns the numbers that `cpu` saw at its previous attempt, member by member.
    pub(super) fn previous(&self, cpu: CpuId) -> &[u32] {
        &self.views[self.of_cpu[cpu.index()]].running
    }

    /// Records the present numbers as seen by `cpu`.
    pub(super) fn look(&mut self, cpu: CpuId, loads: &Loads) {
        let view = match self.newest {
            Some((shown, view)) if shown == loads.version() => view,
            _ => self.new_view(cpu, loads),
        };
        if self.of_cpu[cpu.index()] != view {
            self.forget(cpu);
            self.of_cpu[cpu.index()] = view;
            self.views[view].seen_by += 1;
        }
    }

    /// Makes a view of the present numbers, in place of one that is no longer needed.
    fn new_view(&mut self, cpu: CpuId, loads: &Loads) -> ViewId {
        let own = self.of_cpu[cpu.index()];
        let view = if self.views[own].seen_by == 1 {
            own
        } else if let Some(view) = self.free.pop() {
            view
        } else {
            self.views.push(View { running: vec![0; self.members.len()], seen_by: 0 })
        };
        for (length, &cpu) in self.views[view].running.iter_mut().zip(&self.members) {
            *length = loads.nr_running(cpu);
        }
        self.newest = Some((loads.version(), view));
        view
    }

    fn forget(&mut self, cpu: CpuId) {
        let view = self.of_cpu[cpu.index()];
        self.views[view].seen_by -= 1;
        if self.views[view].seen_by == 0 {
            self.free.push(view);
            if self.newest.is_some_and(|(_, newest)| newest == view) {
                self.newest = None;
            }
        }
    }

    /// Returns the CPU with the longest queue of more than one task, except `this`, the lowest
    /// among equals.
    pub(super) fn longest(&mut self, this: CpuId, loads: &Loads, nodes: &Nodes) -> Option<CpuId> {
        if self.longest.0 != loads.version() {
            self.longest = (loads.version(), self.longest_queue(loads, nodes, None));
        }
        match self.longest.1 {
            Some(cpu) if cpu == this => self.longest_queue(loads, nodes, Some(this)),
            found => found,
        }
    }

    /// Returns the members that have more than one task, in ascending order.
    fn overloaded<'a>(
        &self,
        loads: &'a Loads,
        nodes: &'a Nodes,
    ) -> impl Iterator<Item = CpuId> + use<'a> {
        let (first, last) = (self.members[0], self.members[self.members.len() - 1]);
        let node = nodes.of(first);
        loads.overloaded(first, last).filter(move |&cpu| nodes.of(cpu) == node)
    }

    fn longest_queue(&self, loads: &Loads, nodes: &Nodes, except: Option<CpuId>) -> Option<CpuId> {
        let (mut longest, mut most) = (None, 1);
        for cpu in self.overloaded(loads, nodes) {
            if loads.nr_running(cpu) > most && Some(cpu) != except {
                (longest, most) = (Some(cpu), loads.nr_running(cpu));
            }
        }
        longest
    }

    /// Returns the longest queue from the point of view of a busy CPU, which counts each queue as
    /// the smaller of its length now and at the previous attempt. It must have more than one task;
    /// the lowest CPU among equals; not `this`. Also returns that length.
    fn longest_for_busy(&self, loads: &Loads, nodes: &Nodes, this: CpuId) -> Option<(CpuId, u32)> {
        let previous = self.previous(this);
        let (mut longest, mut most) = (None, 1);
        for cpu in self.overloaded(loads, nodes) {
            let load = loads.nr_running(cpu).min(previous[nodes.rank(cpu)]);
            if load > most && cpu != this {
                (longest, most) = (Some((cpu, load)), load);
            }
        }
        longest
    }
}

impl O1 {
    /// `rebalance_tick`: balances if the interval is over.
    #[inline]
    pub(super) fn rebalance_tick(&mut self, platform: &mut Platform, this: CpuId, idle: bool) {
        if self.cpus == 1 {
            return;
        }
        let every = u64::from(if idle { self.params.hz / 1000 } else { self.params.hz / 5 });
        self.rebalance_nodes(platform, this, idle, every);
        if every <= 1 || platform.jiffies().is_multiple_of(every) {
            self.load_balance(platform, this, idle);
        }
    }

    /// Evens out the queues of the node in favour of `this` CPU.
    pub(super) fn load_balance(&mut self, platform: &mut Platform, this: CpuId, idle: bool) {
        self.balance_with(platform, this, idle, self.nodes.of(this));
    }

    /// Evens out the queues of a node's CPUs in favour of `this` one, which may belong to another
    /// node.
    pub(super) fn balance_with(
        &mut self,
        platform: &mut Platform,
        this: CpuId,
        idle: bool,
        node: NodeId,
    ) {
        platform.work.balances += 1;
        platform.work.queues += u64::from(self.cpus);
        let Some((busiest, imbalance)) = self.find_busiest_queue(this, idle, node) else {
            return;
        };
        platform.double_lock(this, busiest);
        let why = if idle { rules::IDLE_BALANCE } else { rules::BUSY_BALANCE };
        // This may be 0. Then no count ends the loop below.
        let mut left = imbalance / 2;
        let rq = &self.rqs[busiest.index()];
        let (active, expired) = (rq.active(), rq.expired());
        // Tasks in expired have cooled down longest. (For an empty array nothing happens.)
        for array in [expired, active] {
            let mut from = 0;
            while let Some(prio) = self.rqs[busiest.index()].array(array).next_list(from) {
                let mut at = self.rqs[busiest.index()].array(array).tail(prio);
                while let Some(p) = at {
                    at = self.tasks[p].prev;
                    if !self.can_migrate_task(platform, p, this, idle) {
                        continue;
                    }
                    self.pull_task(platform, why, p, this, self.rqs[this.index()].active());
                    left -= 1;
                    if idle || left == 0 {
                        return;
                    }
                }
                from = prio + 1;
            }
        }
    }

    /// Returns the longest queue of the node, and the number of tasks by which it exceeds this one,
    /// if that is worth a move.
    pub(super) fn find_busiest_queue(
        &mut self,
        this: CpuId,
        idle: bool,
        node: NodeId,
    ) -> Option<(CpuId, i64)> {
        let (loads, nodes) = (&self.loads, &self.nodes);
        let history = &mut self.history[node];
        let own_length = &mut self.own_length[this.index()];
        let mut mine = loads.nr_running(this);
        let found = if idle {
            let longest = history.longest(this, loads, nodes);
            longest.map(|cpu| (cpu, loads.nr_running(cpu)))
        } else {
            mine = mine.max(*own_length);
            history.longest_for_busy(loads, nodes, this)
        };
        history.look(this, loads);
        *own_length = loads.nr_running(this);

        let (busiest, most) = found?;
        let imbalance = i64::from(most) - i64::from(mine);
        // A busy CPU ignores an imbalance of less than a quarter.
        if !idle && imbalance * 4 < i64::from(most) {
            return None;
        }
        if loads.nr_running(busiest) <= mine {
            return None;
        }
        Some((busiest, imbalance))
    }

    /// Whether `this` CPU may take `p`: not the running task, not one that may not run here; and
    /// for a busy CPU not one that has just run (its data may still be in the other CPU's cache).
    fn can_migrate_task(&self, platform: &Platform, p: Pid, this: CpuId, idle: bool) -> bool {
        let task = &self.tasks[p];
        let cold = || {
            let since = self.params.long(platform.now_ns().wrapping_sub(task.timestamp));
            since > self.cache_decay_ticks * self.params.jiffy_ns
        };
        (idle || cold()) && !self.is_current(p) && self.tasks.may_run_on(p, this)
    }

    /// Moves the waiting task `p` to `this` CPU, into array `array`, by rule `why`.
    #[inline]
    pub(super) fn pull_task(
        &mut self,
        platform: &mut Platform,
        why: Rule,
        p: Pid,
        this: CpuId,
        array: ArrayId,
    ) {
        platform.work.moves += 1;
        let sched = &*self;
        platform.because(Question::Migrate, this, why, move |evidence| {
            sched.pull_terms(p, this, evidence);
        });
        self.deactivate_task(p);
        self.set_task_cpu(platform, p, this);
        self.enqueue_task(p, array);
        self.count_in(p);
        self.check_preempt(platform, p);
    }
}
