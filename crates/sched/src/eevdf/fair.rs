//! The fair class: what the hooks of the kernel's `fair_sched_class` do, level by level of the groups.

use super::entity::{Entity, Info, NONE, WEIGHT_SHIFT, before, earlier};
use super::group::Group;
use super::load::Attach;
use super::queue::Queue;
use super::tree::{self, Order};
use super::version::{Features, Version};
use crate::classes::rbtree::Nodes;
use crate::classes::weights::{WEIGHT_IDLEPRIO, WMULT_IDLEPRIO, weight_of_nice, wmult_of_nice};
use crate::classes::{Core, Pid};
use crate::{CpuId, Platform, Policy, SchedAttr};
use alloc::vec::Vec;

/// The fair class on all CPUs.
#[derive(Debug)]
pub struct Fair {
    pub(super) version: Version,
    pub(super) features: Features,
    pub(super) order: Order,
    /// The default request length, ns.
    pub(super) base_slice: u32,
    /// The same before scaling by the number of CPUs.
    pub(super) base_slice_unscaled: u32,
    pub(super) tick_ns: u64,
    pub(super) cpus: u32,
    /// How many of them are on line.
    pub(super) online: u32,
    /// The base slice was written by an administrator.
    pub(super) base_slice_by_hand: bool,
    /// Entities: what the tree looks at.
    pub(super) se: Vec<Entity>,
    /// Entities: the rest.
    pub(super) info: Vec<Info>,
    /// Entities: their places in the trees.
    pub(super) nodes: Nodes,
    /// Entities that may be used again.
    pub(super) free: Vec<u32>,
    /// The CPUs' own queues by CPU, then groups' queues.
    pub(super) queues: Vec<Queue>,
    /// Task groups; 0 is the root.
    pub(super) groups: Vec<Group>,
    /// By thread.
    pub(super) tasks: Vec<FairTask>,
    /// What balancing keeps of each CPU.
    pub(super) balance: super::balance::Balance,
}

/// What the class keeps of a task besides its entity.
#[derive(Clone, Copy, Debug)]
pub struct FairTask {
    /// Its entity.
    pub se: u32,
    /// Its group.
    pub group: u32,
    /// Its neighbours on its CPU's list.
    pub newer: u32,
    /// Its neighbours on its CPU's list.
    pub older: u32,
    /// Estimated utilisation.
    pub util_est: u32,
    /// Its averages have been renewed since the estimate was.
    pub avg_renewed: bool,
    /// A CPU it has used lately.
    pub recent_used_cpu: u32,
    /// Whom it woke last, how often that changed lately, and when that was halved (jiffies).
    pub last_wakee: u32,
    /// See `last_wakee`.
    pub wakee_flips: u32,
    /// See `last_wakee`.
    pub wakee_flip_decay_ts: u64,
    /// It has exited.
    pub dead: bool,
    /// Its parent has taken note.
    pub reaped: bool,
}

impl Default for FairTask {
    fn default() -> FairTask {
        FairTask {
            se: NONE,
            group: 0,
            newer: NONE,
            older: NONE,
            util_est: 0,
            avg_renewed: false,
            recent_used_cpu: 0,
            last_wakee: NONE,
            wakee_flips: 0,
            wakee_flip_decay_ts: 0,
            dead: false,
            reaped: false,
        }
    }
}

/// Why something is dequeued.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Dequeue {
    /// It goes to sleep, or exits.
    pub sleep: bool,
    /// Into a state that knows no delay: stopped, dead.
    pub special: bool,
    /// The dequeue had been delayed and is now finished.
    pub finish: bool,
    /// It goes to another CPU.
    pub migrate: bool,
}

/// Why something is enqueued.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Enqueue {
    /// It is new.
    pub initial: bool,
}

impl Fair {
    pub(super) fn queue_of(&self, e: u32) -> u32 {
        self.info[e as usize].queue
    }

    pub(super) fn parent_of(&self, e: u32) -> u32 {
        self.info[e as usize].parent
    }

    fn is_task(&self, e: u32) -> bool {
        self.info[e as usize].my_q == NONE
    }

    pub(super) fn se_of(&self, task: Pid) -> u32 {
        self.tasks[task.index()].se
    }

    // ---- the tree ----

    pub(super) fn tree_insert(&mut self, q: u32, e: u32) {
        let queue = &mut self.queues[q as usize];
        queue.count_in(&self.se[e as usize]);
        tree::insert(&mut self.nodes, &mut queue.tree, &mut self.se, self.order, e);
    }

    pub(super) fn tree_remove(&mut self, q: u32, e: u32) {
        let queue = &mut self.queues[q as usize];
        queue.count_out(&self.se[e as usize]);
        tree::remove(&mut self.nodes, &mut queue.tree, &mut self.se, self.order, e);
    }

    // ---- one entity, one queue ----

    /// `set_next_entity`: `e` runs.
    fn set_next_entity(&mut self, core: &mut Core, platform: &mut Platform, q: u32, e: u32) {
        self.clear_buddies(e);
        if self.se[e as usize].on_rq {
            self.tree_remove(q, e);
            self.update_load_avg(platform.now_ns(), e, Attach::No);
            self.set_protection(q, e);
        }
        self.info[e as usize].exec_start = platform.now_ns();
        self.queues[q as usize].curr = e;
    }

    /// `put_prev_entity`: `e` no longer runs.
    fn put_prev_entity(&mut self, core: &mut Core, platform: &mut Platform, q: u32, e: u32) {
        if self.se[e as usize].on_rq {
            self.update_curr(core, platform, q);
            self.tree_insert(q, e);
            self.update_load_avg(platform.now_ns(), e, Attach::No);
        }
        self.queues[q as usize].curr = NONE;
    }

    fn enqueue_entity(&mut self, core: &mut Core, platform: &mut Platform, q: u32, e: u32, initial: bool) {
        let is_curr = self.queues[q as usize].curr == e;
        if is_curr {
            self.place(q, e, initial);
        }
        self.update_curr(core, platform, q);
        self.update_load_avg(platform.now_ns(), e, Attach::Attach);
        self.update_runnable(e);
        self.update_group_weight(core, platform, e);
        if !is_curr {
            self.place(q, e, initial);
        }
        let queue = &mut self.queues[q as usize];
        queue.load += self.info[e as usize].load;
        queue.nr_queued += 1;
        if !is_curr {
            self.tree_insert(q, e);
        }
        self.se[e as usize].on_rq = true;
    }

    /// False: it goes to sleep while it has had too much, and stays queued until that is no longer so.
    fn dequeue_entity(
        &mut self,
        core: &mut Core,
        platform: &mut Platform,
        q: u32,
        e: u32,
        why: Dequeue,
    ) -> bool {
        self.update_curr(core, platform, q);
        self.clear_buddies(e);
        let now_ns = platform.now_ns();
        if self.features.delay_dequeue
            && why.sleep
            && !why.special
            && !why.finish
            && !self.queues[q as usize].eligible(&self.se, self.se[e as usize].vruntime)
        {
            self.update_load_avg(now_ns, e, Attach::No);
            self.se[e as usize].sched_delayed = true;
            if self.is_task(e) {
                self.count_runnable(e, false);
            }
            return false;
        }
        let detach = why.migrate && self.is_task(e);
        self.update_load_avg(now_ns, e, if detach { Attach::Detach } else { Attach::No });
        self.update_runnable(e);
        let mut lag = self.lag(q, e);
        if why.finish && self.features.delay_zero {
            lag = lag.min(0);
        }
        let entity = &mut self.se[e as usize];
        entity.vlag = lag;
        if self.features.place_rel_deadline && !why.sleep {
            entity.deadline = entity.deadline.wrapping_sub(entity.vruntime);
            self.info[e as usize].rel_deadline = true;
        }
        if why.finish {
            entity.sched_delayed = false;
        }
        if self.queues[q as usize].curr != e {
            self.tree_remove(q, e);
        }
        self.se[e as usize].on_rq = false;
        let queue = &mut self.queues[q as usize];
        queue.load -= self.info[e as usize].load;
        queue.nr_queued -= 1;
        self.update_group_weight(core, platform, e);
        true
    }

    /// A delayed entity is wanted again before its dequeue was finished. If it is owed something by now it is placed afresh,
    /// with nothing. Nobody is charged first: V is as of the last charge.
    fn requeue_delayed(&mut self, core: &mut Core, platform: &mut Platform, e: u32) {
        let q = self.queue_of(e);
        if self.features.delay_zero {
            let lag = self.queues[q as usize]
                .avg_vruntime(&self.se)
                .wrapping_sub(self.se[e as usize].vruntime) as i64;
            if lag > 0 {
                let is_curr = self.queues[q as usize].curr == e;
                self.queues[q as usize].nr_queued -= 1;
                if !is_curr {
                    self.tree_remove(q, e);
                }
                self.se[e as usize].vlag = 0;
                self.place(q, e, false);
                if !is_curr {
                    self.tree_insert(q, e);
                }
                self.queues[q as usize].nr_queued += 1;
            }
        }
        self.update_load_avg(platform.now_ns(), e, Attach::No);
        self.se[e as usize].sched_delayed = false;
        if self.is_task(e) {
            self.count_runnable(e, true);
        }
    }

    /// A task that is queued becomes runnable, or no longer is, which all queues above it count.
    fn count_runnable(&mut self, e: u32, up: bool) {
        let mut e = e;
        while e != NONE {
            let queue = &mut self.queues[self.info[e as usize].queue as usize];
            queue.h_nr_runnable = if up {
                queue.h_nr_runnable + 1
            } else {
                queue.h_nr_runnable - 1
            };
            e = self.parent_of(e);
        }
    }

    /// `e` is queued and stays so, while something below it came or went: its averages, its weight and its slice anew.
    /// Returns the smallest slice of the queue it is on.
    fn refresh(&mut self, core: &mut Core, platform: &mut Platform, e: u32, slice: u32) -> u32 {
        let q = self.queue_of(e);
        self.update_load_avg(platform.now_ns(), e, Attach::No);
        self.update_runnable(e);
        self.update_group_weight(core, platform, e);
        if self.version.custom_slices() {
            self.se[e as usize].slice = slice;
            if self.queues[q as usize].curr != e {
                tree::slice_changed(&self.nodes, &mut self.se, self.order, e);
            }
        }
        self.queues[q as usize].min_slice(&self.se)
    }

    // ---- tasks ----

    /// `enqueue_task_fair`: `task` and those of its ancestors that are not yet queued.
    pub(super) fn enqueue_task(&mut self, core: &mut Core, platform: &mut Platform, task: Pid, why: Enqueue) {
        let first = self.se_of(task);
        let cpu = core.cpu_of(task);
        let runnable = u32::from(!self.se[first as usize].sched_delayed);
        let idle = u32::from(core.threads[task.index()].policy == Policy::Idle);
        if runnable == 1 {
            self.util_est_enqueue(cpu, task);
        }
        let mut initial = why.initial;
        let mut e = first;
        let mut slice = u32::MAX;
        while e != NONE {
            if self.se[e as usize].on_rq {
                if self.se[e as usize].sched_delayed {
                    self.requeue_delayed(core, platform, e);
                }
                break;
            }
            let q = self.queue_of(e);
            if e != first && self.version.custom_slices() {
                self.se[e as usize].slice = slice;
                self.info[e as usize].custom_slice = true;
            }
            self.enqueue_entity(core, platform, q, e, initial);
            let queue = &mut self.queues[q as usize];
            queue.h_nr_queued += 1;
            queue.h_nr_runnable += runnable;
            queue.h_nr_idle += idle;
            slice = queue.min_slice(&self.se);
            // Only the task is new, not the groups it brings onto their queues.
            initial = false;
            e = self.parent_of(e);
        }
        while e != NONE {
            slice = self.refresh(core, platform, e, slice);
            let queue = &mut self.queues[self.info[e as usize].queue as usize];
            queue.h_nr_queued += 1;
            queue.h_nr_runnable += runnable;
            queue.h_nr_idle += idle;
            e = self.parent_of(e);
        }
        core.threads[task.index()].on_rq = true;
        self.add_nr_running(core, cpu);
        self.list_add(cpu, task);
    }

    /// `dequeue_task_fair`. False: the dequeue is delayed, and the task still queued.
    pub(super) fn dequeue_task(
        &mut self,
        core: &mut Core,
        platform: &mut Platform,
        task: Pid,
        why: Dequeue,
    ) -> bool {
        let e = self.se_of(task);
        if !self.se[e as usize].sched_delayed {
            self.util_est_dequeue(core.cpu_of(task), task, why.sleep);
        }
        self.dequeue_entities(core, platform, e, why)
    }

    /// Takes `first` off its queue, and those of its ancestors whose queues are empty then.
    fn dequeue_entities(
        &mut self,
        core: &mut Core,
        platform: &mut Platform,
        first: u32,
        why: Dequeue,
    ) -> bool {
        let task = self.info[first as usize].task;
        let cpu = self.queues[self.queue_of(first) as usize].cpu;
        let queued = u32::from(task.is_some());
        let runnable = u32::from(task.is_some() && !self.se[first as usize].sched_delayed);
        let idle = u32::from(task.is_some_and(|task| core.threads[task.index()].policy == Policy::Idle));
        let was_sched_idle = self.is_sched_idle_rq(core, cpu);
        let count = |queue: &mut Queue| {
            queue.h_nr_queued -= queued;
            queue.h_nr_runnable -= runnable;
            queue.h_nr_idle -= idle;
        };
        let mut reason = why;
        let mut slice = u32::MAX;
        let mut e = first;
        while e != NONE {
            let q = self.queue_of(e);
            if !self.dequeue_entity(core, platform, q, e, reason) {
                if e == first && task.is_some() {
                    return false;
                }
                // A group that has had too much stays, with an empty queue, and takes a slice from its own neighbours.
                slice = self.queues[q as usize].min_slice(&self.se);
                break;
            }
            count(&mut self.queues[q as usize]);
            let others = self.queues[q as usize].load != 0;
            slice = self.queues[q as usize].min_slice(&self.se);
            e = self.parent_of(e);
            if others {
                // So that the group goes on, if it may, with another of its own.
                if why.sleep {
                    self.set_next_buddy(e);
                }
                break;
            }
            reason = Dequeue {
                sleep: true,
                ..Dequeue::default()
            };
        }
        while e != NONE {
            slice = self.refresh(core, platform, e, slice);
            count(&mut self.queues[self.info[e as usize].queue as usize]);
            e = self.parent_of(e);
        }
        if let Some(task) = task {
            core.threads[task.index()].on_rq = false;
            if self.tasks[task.index()].reaped {
                self.free
                    .push(core::mem::replace(&mut self.tasks[task.index()].se, NONE));
            }
            core.nr_running[cpu.index()] -= 1;
            self.list_remove(cpu, task);
            if !was_sched_idle && self.is_sched_idle_rq(core, cpu) {
                self.balance_soon(platform, cpu);
            }
        }
        true
    }

    /// Nominates `e` and its ancestors, as far up as they are queued and not idle.
    fn set_next_buddy(&mut self, e: u32) {
        let mut e = e;
        while e != NONE && self.se[e as usize].on_rq && !self.info[e as usize].idle {
            self.queues[self.info[e as usize].queue as usize].next = e;
            e = self.parent_of(e);
        }
    }

    /// A task that is queued, asleep in fact, is woken.
    pub(super) fn wake_delayed(&mut self, core: &mut Core, platform: &mut Platform, task: Pid) {
        self.util_est_enqueue(core.cpu_of(task), task);
        self.requeue_delayed(core, platform, self.se_of(task));
    }

    /// The dequeue of a delayed task is finished before it comes up.
    pub(super) fn finish_delayed(&mut self, core: &mut Core, platform: &mut Platform, task: Pid) {
        let why = Dequeue {
            sleep: true,
            finish: true,
            ..Dequeue::default()
        };
        self.dequeue_entities(core, platform, self.se_of(task), why);
    }

    pub(super) fn is_delayed(&self, task: Pid) -> bool {
        let e = self.se_of(task);
        e != NONE && self.se[e as usize].sched_delayed
    }

    /// `pick_task_fair`: whose turn it is on `cpu`. Delayed entities that come up are dequeued for good.
    pub(super) fn pick_task(&mut self, core: &mut Core, platform: &mut Platform, cpu: CpuId) -> Option<Pid> {
        'again: loop {
            let mut q = cpu.0;
            if self.queues[q as usize].nr_queued == 0 {
                return None;
            }
            loop {
                let queue = &self.queues[q as usize];
                if queue.curr != NONE && self.se[queue.curr as usize].on_rq {
                    self.update_curr(core, platform, q);
                }
                let e = self.pick_next_entity(q);
                if self.se[e as usize].sched_delayed {
                    self.dequeue_entities(
                        core,
                        platform,
                        e,
                        Dequeue {
                            sleep: true,
                            finish: true,
                            ..Dequeue::default()
                        },
                    );
                    continue 'again;
                }
                match self.info[e as usize].my_q {
                    NONE => return self.info[e as usize].task,
                    below => q = below,
                }
            }
        }
    }

    /// The nominated one if it is eligible, else [`pick_eevdf`](Fair::pick_eevdf).
    fn pick_next_entity(&self, q: u32) -> u32 {
        let queue = &self.queues[q as usize];
        let nominated = queue.next;
        let asked = self.features.pick_buddy || (self.version == Version::V6_6 && self.features.next_buddy);
        if asked && nominated != NONE && queue.eligible(&self.se, self.se[nominated as usize].vruntime) {
            return nominated;
        }
        self.pick_eevdf(q, true)
    }

    /// `put_prev_task_fair`: on every level.
    pub(super) fn put_prev_task(&mut self, core: &mut Core, platform: &mut Platform, task: Pid) {
        let mut e = self.se_of(task);
        while e != NONE {
            self.put_prev_entity(core, platform, self.queue_of(e), e);
            e = self.parent_of(e);
        }
    }

    /// `set_next_task_fair`: on every level.
    pub(super) fn set_next_task(&mut self, core: &mut Core, platform: &mut Platform, task: Pid) {
        let mut e = self.se_of(task);
        while e != NONE {
            self.set_next_entity(core, platform, self.queue_of(e), e);
            e = self.parent_of(e);
        }
        self.list_to_head(core, task);
    }

    /// From one fair task to another: only the levels that differ are put and set. What stands above both goes on running,
    /// protected as it was.
    pub(super) fn switch(&mut self, core: &mut Core, platform: &mut Platform, prev: Pid, next: Pid) {
        let (mut p, mut n) = (self.se_of(prev), self.se_of(next));
        while self.queue_of(p) != self.queue_of(n) {
            let (p_depth, n_depth) = (self.info[p as usize].depth, self.info[n as usize].depth);
            if n_depth <= p_depth {
                self.put_prev_entity(core, platform, self.queue_of(p), p);
                p = self.parent_of(p);
            }
            if n_depth >= p_depth {
                self.set_next_entity(core, platform, self.queue_of(n), n);
                n = self.parent_of(n);
            }
        }
        self.put_prev_entity(core, platform, self.queue_of(p), p);
        self.set_next_entity(core, platform, self.queue_of(n), n);
        self.list_to_head(core, next);
    }

    /// `task_tick_fair`: charges on every level; each may ask for a reschedule.
    pub(super) fn task_tick(&mut self, core: &mut Core, platform: &mut Platform, task: Pid) {
        let mut e = self.se_of(task);
        while e != NONE {
            let q = self.queue_of(e);
            self.update_curr(core, platform, q);
            self.update_load_avg(platform.now_ns(), e, Attach::No);
            self.update_group_weight(core, platform, e);
            e = self.parent_of(e);
        }
    }

    /// `check_preempt_wakeup_fair`: `task` has become runnable on a CPU where `curr` runs, both fair.
    pub(super) fn wakeup_preempt(
        &mut self,
        core: &mut Core,
        platform: &mut Platform,
        curr: Pid,
        task: Pid,
        fork: bool,
    ) {
        let cpu = core.cpu_of(curr);
        if curr == task || core.resched_pending(cpu) || !self.features.wakeup_preemption {
            return;
        }
        if self.features.next_buddy && !fork && !self.is_delayed(task) {
            self.set_next_buddy(self.se_of(task));
        }
        let (c, p) = self.find_matching(self.se_of(curr), self.se_of(task));
        let (c_idle, p_idle) = (self.info[c as usize].idle, self.info[p as usize].idle);
        if c_idle && !p_idle {
            if self.version > Version::V6_6 {
                self.cancel_protection(c);
            }
            core.resched_curr(platform, cpu);
            return;
        }
        if c_idle != p_idle || core.threads[task.index()].policy != Policy::Other {
            return;
        }
        let q = self.queue_of(c);
        self.update_curr(core, platform, q);
        let short = self.features.preempt_short && self.se[p as usize].slice < self.se[c as usize].slice;
        let wins = match self.version {
            Version::V6_6 => self.pick_eevdf(q, true) == p,
            Version::V6_12 => {
                let queue = &self.queues[q as usize];
                let [pe, ce] = [p, c].map(|e| &self.se[e as usize]);
                if short
                    && queue.eligible(&self.se, pe.vruntime)
                    && (before(pe.deadline, ce.deadline) || !queue.eligible(&self.se, ce.vruntime))
                {
                    self.cancel_protection(c);
                }
                self.pick_eevdf(q, true) == p
            }
            Version::V6_18 => {
                let wins = self.pick_eevdf(q, !short) == p;
                if short && wins {
                    self.cancel_protection(c);
                } else if short {
                    // Protected still, but no longer than the shortest request would take.
                    let shortest = self.queues[q as usize].min_slice(&self.se);
                    let curr = &mut self.se[c as usize];
                    let until = curr.vruntime.wrapping_add(curr.vt(u64::from(shortest)));
                    curr.vlag = earlier(curr.vlag as u64, until) as i64;
                }
                wins
            }
        };
        if wins {
            core.resched_curr(platform, cpu);
        }
    }

    /// The ancestors of `a` and `b` (or they themselves) that stand on the same queue.
    fn find_matching(&self, a: u32, b: u32) -> (u32, u32) {
        let (mut a, mut b) = (a, b);
        let depth = |e: u32| self.info[e as usize].depth;
        while depth(a) > depth(b) {
            a = self.parent_of(a);
        }
        while depth(b) > depth(a) {
            b = self.parent_of(b);
        }
        while self.queue_of(a) != self.queue_of(b) {
            a = self.parent_of(a);
            b = self.parent_of(b);
        }
        (a, b)
    }

    /// `yield_task_fair`: the running `task` forfeits what is left of its request (6.6: only puts its deadline off).
    pub(super) fn yield_task(&mut self, core: &mut Core, platform: &mut Platform, task: Pid) {
        if core.nr_running[core.cpu_of(task).index()] == 1 {
            return;
        }
        let e = self.se_of(task);
        let q = self.queue_of(e);
        self.clear_buddies(e);
        self.update_curr(core, platform, q);
        let entity = &self.se[e as usize];
        let request = entity.vt(u64::from(entity.slice));
        if !self.version.yield_forfeits() {
            self.se[e as usize].deadline = entity.deadline.wrapping_add(request);
        } else if self.queues[q as usize].eligible(&self.se, entity.vruntime) {
            let entity = &mut self.se[e as usize];
            entity.vruntime = entity.deadline;
            entity.deadline = entity.vruntime.wrapping_add(request);
            self.queues[q as usize].follow_curr(&self.se);
        }
    }

    // ---- weights ----

    /// Weight, idle policy and slice of a task as its attributes say. It is on no queue.
    pub(super) fn set_load_weight(
        &mut self,
        core: &mut Core,
        platform: &mut Platform,
        task: Pid,
        attr: &SchedAttr,
    ) {
        let e = self.se_of(task);
        let idle = attr.policy == Policy::Idle;
        let (weight, inverse) = if idle {
            (WEIGHT_IDLEPRIO, WMULT_IDLEPRIO)
        } else {
            (weight_of_nice(attr.nice), wmult_of_nice(attr.nice))
        };
        self.info[e as usize].idle = idle;
        self.reweight(
            core,
            platform,
            e,
            u64::from(weight) << WEIGHT_SHIFT,
            Some(inverse),
        );
        if self.version.custom_slices() {
            let custom = attr.runtime_ns != 0 && attr.policy != Policy::Deadline;
            self.info[e as usize].custom_slice = custom;
            self.se[e as usize].slice = if custom {
                attr.runtime_ns.clamp(100_000, 100_000_000) as u32
            } else {
                self.base_slice
            };
        }
    }

    /// `reweight_entity`: `e` gets another weight and keeps its lag in real time, and its distance to the deadline.
    pub(super) fn reweight(
        &mut self,
        core: &mut Core,
        platform: &mut Platform,
        e: u32,
        weight: u64,
        inverse: Option<u32>,
    ) {
        let q = self.queue_of(e);
        let old = self.info[e as usize].load;
        let scale = |value: i64| (i128::from(value) * i128::from(old) / i128::from(weight.max(1))) as i64;
        let queued = self.se[e as usize].on_rq;
        let mut waiting = false;
        let mut v = 0;
        if queued {
            self.update_curr(core, platform, q);
            waiting = self.queues[q as usize].curr != e;
            v = self.queues[q as usize].avg_vruntime(&self.se);
            let lag = self.lag(q, e);
            self.se[e as usize].vlag = if self.version.reweight_places() {
                lag
            } else {
                self.se[e as usize].vlag
            };
            if waiting {
                self.tree_remove(q, e);
            }
            let queue = &mut self.queues[q as usize];
            queue.load -= old;
            queue.nr_queued -= 1;
            if !self.version.reweight_places() {
                let entity = &mut self.se[e as usize];
                if entity.vruntime != v {
                    entity.vruntime = v.wrapping_sub(scale(lag) as u64);
                }
                let ahead = entity.deadline.wrapping_sub(v) as i64;
                entity.deadline = v.wrapping_add(scale(ahead) as u64);
            }
        }
        let _ = v;
        let entity = &mut self.se[e as usize];
        let mut ahead = 0;
        if !queued || self.version.reweight_places() {
            entity.vlag = scale(entity.vlag);
        }
        if queued && self.version.reweight_places() {
            ahead = scale(entity.deadline.wrapping_sub(entity.vruntime) as i64);
        }
        if !queued && self.info[e as usize].rel_deadline && self.version.reweight_places() {
            entity.deadline = scale(entity.deadline as i64) as u64;
        }
        self.reweight_load_avg(e, weight);
        self.se[e as usize].set_weight(weight, inverse);
        self.info[e as usize].load = weight;
        if queued {
            if self.version.reweight_places() {
                self.place(q, e, false);
                let entity = &mut self.se[e as usize];
                entity.deadline = entity.vruntime.wrapping_add(ahead as u64);
            }
            let queue = &mut self.queues[q as usize];
            queue.load += weight;
            queue.nr_queued += 1;
            if waiting {
                self.tree_insert(q, e);
            } else {
                self.queues[q as usize].follow_curr(&self.se);
            }
        }
    }
}
