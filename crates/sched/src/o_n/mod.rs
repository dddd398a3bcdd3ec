//! O(n): the scheduler of Linux 2.4 (January 2001), with that of 2.2 (January 1999) as a variant.
//!
//! # The algorithm
//!
//! All runnable tasks of all CPUs are in **one list**, without any order. Each task has a
//! `counter`: the ticks for which it may still run in the current *epoch*. To pick, a CPU walks the
//! whole list and computes how good each task would be for it, its **goodness**:
//!
//! ```text
//!   -1                     it has just yielded
//!   0                      it has no ticks left
//!   counter + 20 - nice    otherwise,  + 15 if it ran on this CPU last
//!                                      +  1 if it has the address space that is loaded here
//!   1000 + rt_priority     it is FIFO or RR
//! ```
//!
//! The largest goodness wins, the first in the list among equals. A running task stays in the list.
//! Tasks that run on other CPUs are skipped.
//!
//! When the best goodness is 0, all tasks that could run have used up their ticks, and a new epoch
//! begins. *Every* task in the system, asleep or not, keeps half of its remaining ticks and gets a
//! slice on top (6 ticks of 10 ms at nice 0, 11 at -20, 1 at 19). So a task that slept through
//! several epochs has up to twice its slice, and correspondingly more goodness than a CPU-bound
//! task. This is the whole interactivity heuristic.
//!
//! A tick takes one from the running task's counter, and requests a reschedule only when the
//! counter is 0. A woken task is compared with the tasks that the CPUs run at that moment, and asks
//! at most one CPU to reschedule. There is no balancing: the one list is the balance, and only the
//! 15 works against migration.
//!
//! # Cost
//!
//! Each pick costs O(runnable tasks), each epoch O(all tasks), and each wakeup O(CPUs), all under
//! one lock for the whole machine. The tick costs O(1).
//!
//! # Where to look
//!
//! This file: goodness, the pick, and the hooks. `task.rs`: the state of a task. `wakeup.rs`: which
//! CPU a woken task asks to reschedule. `releases.rs`: the releases, and a name for each difference
//! between them. `rules.rs`: the decision rules, by number. `runqueue.rs`: the list. `audit.rs`:
//! guarantees and consistency checks.

mod audit;
mod releases;
mod rules;
mod runqueue;
mod task;
#[cfg(test)]
mod tests;
mod wakeup;

pub use releases::{ENTRY, Slices, Version};

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use runqueue::{Queued, RunQueue};
use schedlab_core::{
    BlockReason, BuildConfig, Candidate, CpuId, CpuSet, Inspect, Load, Locking, Parent, Platform,
    Policy, Promises, Question, Rule, RuleDoc, SchedAttr, Scheduler, TaskAttr, TaskId, TaskTable,
    Waker,
};
use task::{REALTIME_BASE, Rest, State, Task};

/// Additional goodness for the CPU on which a task ran last. `PROC_CHANGE_PENALTY` of i386. It
/// exists only in an SMP build.
const PROC_CHANGE_PENALTY: i32 = 15;

/// Additional goodness of a task whose address space is loaded already.
const MM_BONUS: i32 = 1;

/// Distance between two tasks' structures: each lies at the bottom of a kernel stack of two pages.
const TASK_APART_KIB: u32 = 8;

/// The initial best goodness of a walk, that of the idle task: anything is better.
const NOTHING_FOUND: i32 = -1000;

/// The `processor` of tasks that have none (`NO_PROC_ID`).
const NO_CPU: CpuId = CpuId(u32::MAX);

/// Initial counter of an idle task.
const IDLE_COUNTER: i32 = -100;

/// State of a CPU.
#[derive(Clone, Copy, Debug)]
struct Cpu {
    /// The running task; `None` is the idle task.
    current: Option<TaskId>,
    /// The loaded address space. An idle task has no address space and keeps the one of the task
    /// before it. `None` before the first switch.
    active_mm: Option<u32>,
    /// Time of the last switch from one task to another, ns; 0 before the first one.
    last_schedule_ns: u64,
    /// Counter of its idle task: [`IDLE_COUNTER`], unless that takes part in epochs.
    idle_counter: i32,
}

impl Default for Cpu {
    fn default() -> Cpu {
        Cpu { current: None, active_mm: None, last_schedule_ns: 0, idle_counter: IDLE_COUNTER }
    }
}

/// Linux 2.4 or 2.2. On one CPU it is a UP build.
#[derive(Debug)]
pub struct OrderN {
    version: Version,
    hz: u32,
    /// [`PROC_CHANGE_PENALTY`], or 0 in a UP build.
    proc_change_penalty: i32,
    /// All tasks that have ever existed, by number.
    tasks: TaskTable<Task>,
    rest: TaskTable<Rest>,
    /// All existing tasks, zombies included, in any order: an epoch gives ticks to each.
    task_list: Vec<TaskId>,
    run_queue: RunQueue,
    cpus: Vec<Cpu>,
    /// Number of CPUs that are not idle.
    busy_cpus: usize,
    /// By CPU: number of tasks in the runqueue that have it as their `processor`. (Not in the
    /// kernel. Tasks from outside the workload start on the CPU with the fewest.)
    queued_on: Vec<u32>,
    /// By CPU: the other half of its hyper-threaded core. Empty if there are no such cores.
    siblings: Vec<Option<CpuId>>,
}

impl OrderN {
    /// Creates the scheduler on an idle machine.
    pub fn new(version: Version, config: &BuildConfig) -> OrderN {
        let cpus = config.topology.cpus() as usize;
        OrderN {
            version,
            hz: config.hz,
            proc_change_penalty: if cpus > 1 { PROC_CHANGE_PENALTY } else { 0 },
            tasks: TaskTable::new(),
            rest: TaskTable::new(),
            task_list: Vec::new(),
            run_queue: RunQueue::new(),
            cpus: vec![Cpu::default(); cpus],
            busy_cpus: 0,
            queued_on: vec![0; cpus],
            siblings: if version.knows_siblings {
                wakeup::siblings(&config.topology)
            } else {
                Vec::new()
            },
        }
    }

    /// Whether the kernel was built for several CPUs.
    #[inline]
    const fn smp(&self) -> bool {
        self.cpus.len() > 1
    }

    /// Returns the rule for the `processor` of forked children.
    fn rule_of_children(&self) -> schedlab_core::Rule {
        match self.smp() && !self.version.children_have_a_cpu {
            true => rules::NO_LAST_CPU,
            false => rules::PARENTS_CPU,
        }
    }

    /// Returns the ticks that `task` has left in this epoch.
    pub fn counter(&self, task: TaskId) -> i32 {
        self.tasks[task].counter
    }

    /// Returns the number of ticks that a task of this nice value gets in each epoch.
    fn slice(&self, nice: i32) -> i32 {
        self.version.slice(self.hz, nice)
    }

    /// Returns the largest number of ticks that a parent can have after it has taken over the ticks
    /// of a dead child (`MAX_COUNTER`): 200 ms.
    const fn max_counter(&self) -> i32 {
        (20 * self.hz / 100) as i32
    }

    // ---- Goodness ----

    /// Whether an address space is loaded where `at_hand` is loaded. A kernel thread borrows the
    /// loaded one.
    #[inline]
    fn is_loaded(&self, mm: u32, at_hand: Option<u32>) -> bool {
        at_hand == Some(mm) || (mm == TaskAttr::NO_ADDRESS_SPACE && self.version.has_lazy_mm)
    }

    /// Returns the goodness of `p` on `cpu`, where the address space `mm` is loaded.
    #[inline]
    fn goodness(&self, p: &Queued, cpu: CpuId, mm: Option<u32>) -> i32 {
        let mut bonus = 0;
        if p.processor == cpu {
            bonus += self.proc_change_penalty;
        }
        if self.is_loaded(p.mm, mm) {
            bonus += MM_BONUS;
        }
        // Only for ordinary tasks with ticks left. (They have at most about 900, where HZ is
        // largest.)
        if 0 < p.weight && p.weight < REALTIME_BASE { p.weight + bonus } else { p.weight }
    }

    /// Returns the walk's copy of `task`.
    #[inline]
    fn queued(&self, task: TaskId) -> Queued {
        let p = &self.tasks[task];
        let processor = if p.placed { p.processor } else { NO_CPU };
        Queued { task, weight: p.weight(&self.version), processor, mm: p.mm }
    }

    /// Updates the weight in the walk's copy of `task`, after a change of its ticks or attributes.
    #[inline]
    fn weigh_again(&mut self, task: TaskId) {
        let weight = self.tasks[task].weight(&self.version);
        if let Some(queued) = self.run_queue.get_mut(task) {
            queued.weight = weight;
        }
    }

    /// Whether affinity allows `task` to run on `cpu`.
    #[inline]
    fn may_run(&self, task: TaskId, cpu: CpuId) -> bool {
        !self.tasks[task].bound || self.rest[task].allowed.contains(cpu)
    }

    /// Whether `cpu` may take `task` now: no other CPU runs it.
    #[inline]
    fn can_schedule(&self, task: TaskId, cpu: CpuId) -> bool {
        let p = &self.tasks[task];
        (!p.on_cpu || p.processor == cpu) && self.may_run(task, cpu)
    }

    // ---- The runqueue ----

    fn enqueue(&mut self, task: TaskId) {
        let queued = self.queued(task);
        if self.version.enqueues_at_head {
            self.run_queue.push_head(queued);
        } else {
            self.run_queue.push_tail(queued);
        }
        if let Some(tasks) = self.queued_on.get_mut(queued.processor.index()) {
            *tasks += 1;
        }
    }

    fn dequeue(&mut self, task: TaskId) {
        let queued = self.run_queue.remove(task);
        if let Some(tasks) = self.queued_on.get_mut(queued.processor.index()) {
            *tasks -= 1;
        }
    }

    fn move_last(&mut self, task: TaskId) {
        self.run_queue.remove(task);
        self.run_queue.push_tail(self.queued(task));
    }

    fn move_first(&mut self, task: TaskId) {
        self.run_queue.remove(task);
        self.run_queue.push_head(self.queued(task));
    }

    // ---- schedule() ----

    /// Walks the runqueue. Returns the largest goodness for `cpu`, and the task that has it. `None`
    /// is the idle task.
    fn walk(&self, cpu: CpuId, mm: Option<u32>) -> (i32, Option<TaskId>) {
        let mut best = NOTHING_FOUND;
        let mut next = None;
        for p in self.run_queue.with_holes() {
            let goodness = self.goodness(p, cpu, mm);
            // Tested in this order because few tasks are better than the best so far.
            if goodness > best && self.can_schedule(p.task, cpu) {
                best = goodness;
                next = Some(p.task);
            }
        }
        (best, next)
    }

    /// Begins a new epoch: every existing task, wherever it runs or sleeps, keeps half of its
    /// remaining ticks and gets a slice on top. The counters of sleepers rise to 2 * slice - 1 and
    /// stay there.
    fn recalculate(&mut self) {
        for &task in &self.task_list {
            let p = &mut self.tasks[task];
            p.counter = (p.counter >> 1) + self.version.slice(self.hz, i32::from(p.nice));
        }
        for p in self.run_queue.iter_mut() {
            p.weight = self.tasks[p.task].weight(&self.version);
        }
        if self.version.idle_tasks_have_epochs {
            // Their slice is 0. The idle task of CPU 0, the very first task, is not in the task
            // list.
            for cpu in self.cpus.iter_mut().skip(1) {
                cpu.idle_counter >>= 1;
            }
        }
    }

    /// Returns the best task for `cpu`, on which `prev` has run so far. Begins a new epoch if no
    /// task has ticks left.
    fn pick(
        &mut self,
        platform: &mut Platform,
        cpu: CpuId,
        prev: Option<TaskId>,
    ) -> Option<TaskId> {
        platform.work.scanned += self.run_queue.len() as u64;
        let mm = self.mm_at_hand(cpu, prev);
        let (best, next) = self.walk(cpu, mm);
        if best != 0 {
            self.explain_pick(platform, cpu, Self::rule_of(best));
            return next;
        }
        if !self.version.picks_again_after_epoch {
            // The rule depends on the counters before the epoch.
            self.explain_pick(platform, cpu, rules::FIRST_OF_EPOCH);
        }
        platform.work.recalculated += self.task_list.len() as u64;
        self.recalculate();
        if !self.version.picks_again_after_epoch {
            return next;
        }
        platform.work.scanned += self.run_queue.len() as u64;
        platform.work.rescans += 1;
        let (_, next) = self.walk(cpu, mm);
        self.explain_pick(platform, cpu, rules::NEW_EPOCH);
        next
    }

    /// Returns the rule of a walk whose largest goodness is `best`, which is not 0.
    #[inline]
    const fn rule_of(best: i32) -> Rule {
        if best >= REALTIME_BASE {
            rules::REAL_TIME
        } else if best > 0 {
            rules::LARGEST_GOODNESS
        } else if best > NOTHING_FOUND {
            rules::ONLY_YIELDED
        } else {
            rules::IDLE
        }
    }

    #[inline]
    fn explain_pick(&self, platform: &mut Platform, cpu: CpuId, rule: Rule) {
        platform.because(Question::Pick, cpu, rule, move |evidence| {
            self.list_candidates(cpu, &mut evidence.candidates);
        });
    }

    /// Returns the address space that counts as loaded when `cpu` looks for a successor to `prev`.
    fn mm_at_hand(&self, cpu: CpuId, prev: Option<TaskId>) -> Option<u32> {
        if self.version.has_lazy_mm {
            return self.cpus[cpu.index()].active_mm;
        }
        // The address space of `prev` itself. The idle task has the kernel's, and so has a task
        // that exits.
        let own = prev.map(|prev| &self.tasks[prev]).filter(|prev| prev.state != State::Zombie);
        Some(own.map_or(TaskAttr::NO_ADDRESS_SPACE, |prev| prev.mm))
    }

    /// Makes `next` the current task of `cpu`.
    fn switch_to(&mut self, platform: &mut Platform, cpu: CpuId, next: Option<TaskId>) {
        let here = &mut self.cpus[cpu.index()];
        self.busy_cpus += usize::from(next.is_some());
        self.busy_cpus -= usize::from(here.current.is_some());
        here.current = next;
        here.last_schedule_ns = platform.now_ns();
        let Some(next) = next else { return };
        let p = &mut self.tasks[next];
        if p.mm != TaskAttr::NO_ADDRESS_SPACE {
            here.active_mm = Some(p.mm);
        }
        p.on_cpu = true;
        if p.processor != cpu || !p.placed {
            if p.placed {
                self.queued_on[p.processor.index()] -= 1;
            }
            self.queued_on[cpu.index()] += 1;
            if p.has_run {
                platform.by_rule(Question::Migrate, cpu, rules::PICKED_ELSEWHERE);
                platform.migrated(next, p.processor, cpu);
            }
            (p.processor, p.placed) = (cpu, true);
            self.run_queue[next].processor = cpu;
        }
        p.has_run = true;
    }

    /// Implements the tail of `schedule`, after the switch away from `prev`. Only now may other
    /// CPUs take `prev`. If it was preempted, it looks for a CPU, like a woken task.
    ///
    /// That cannot lead back to this CPU: `prev` was measured with the bonus for its address space
    /// when it lost, and would now be measured with that of its successor.
    fn put_previous(&mut self, platform: &mut Platform, prev: TaskId) {
        let p = &mut self.tasks[prev];
        p.on_cpu = false;
        let yielded = self.forget_yield(prev);
        let preempted = self.tasks[prev].state == State::Running && !yielded;
        if preempted && self.smp() && self.version.looks_at_all_cpus {
            self.reschedule_idle(platform, prev);
        }
    }

    /// Clears the mark of a task that has yielded. Returns whether it was set.
    fn forget_yield(&mut self, task: TaskId) -> bool {
        let yielded = core::mem::take(&mut self.tasks[task].yielded);
        if yielded {
            self.weigh_again(task);
        }
        yielded
    }

    /// Returns the allowed CPU with the fewest tasks in the runqueue, the lowest number among
    /// equals.
    fn emptiest(&self, allowed: &CpuSet) -> CpuId {
        let cpus = self.cpus.len() as u32;
        let allowed = (0..cpus).map(CpuId).filter(|&cpu| allowed.contains(cpu));
        allowed.min_by_key(|&cpu| self.tasks_of(cpu)).unwrap_or(CpuId(0))
    }

    /// Returns the number of tasks in the runqueue that have `cpu` as their `processor`, as it
    /// counts for tasks that start.
    fn tasks_of(&self, cpu: CpuId) -> u32 {
        let tasks = self.queued_on[cpu.index()];
        let blocks = || {
            let current = self.cpus[cpu.index()].current;
            current.is_some_and(|current| self.tasks[current].state != State::Running)
        };
        tasks - u32::from(!self.version.counts_who_blocks && blocks())
    }

    /// Implements `sched_setscheduler` on `cpu`, after `task` has its new attributes. The caller
    /// reschedules, not the task.
    fn set_scheduler(&mut self, platform: &mut Platform, task: TaskId, cpu: CpuId) {
        // The mark is a bit of the policy.
        self.tasks[task].yielded = false;
        self.weigh_again(task);
        if self.version.setscheduler_moves_first && self.run_queue.contains(task) {
            self.move_first(task);
        }
        platform.resched(cpu);
    }

    fn set_allowed(&mut self, task: TaskId, allowed: &CpuSet) {
        let cpus = self.cpus.len() as u32;
        self.tasks[task].bound = self.version.has_affinity && allowed.count(cpus) < cpus;
        self.rest[task].allowed = allowed.clone();
    }
}

impl Scheduler for OrderN {
    fn fork(&mut self, platform: &mut Platform, task: TaskId, attr: &TaskAttr, parent: Parent) {
        let (counter, processor, placed) = match parent {
            Parent::External => {
                let allowed = if self.version.has_affinity { &attr.allowed } else { &CpuSet::All };
                // The same amount as from a parent that has slept for long: half of 2 * slice - 1,
                // rounded up.
                (self.slice(attr.sched.nice), self.emptiest(allowed), rules::EMPTIEST_CPU)
            }
            Parent::Task { task: parent, cpu } => {
                let (kept, given) = self.version.divide(self.tasks[parent].counter);
                self.tasks[parent].counter = kept;
                self.weigh_again(parent);
                if kept == 0 && self.version.keeps_the_sum {
                    platform.resched(cpu);
                }
                (given, self.tasks[parent].processor, self.rule_of_children())
            }
        };
        platform.by_rule(Question::SelectCpu, processor, placed);
        self.tasks.insert(
            task,
            Task {
                counter,
                processor,
                mm: attr.address_space,
                nice: attr.sched.nice as i8,
                rt_priority: attr.sched.rt_priority as u8,
                policy: attr.sched.policy,
                placed: placed != rules::NO_LAST_CPU,
                ..Task::default()
            },
        );
        self.rest.insert(task, Rest { allowed: CpuSet::All, list_index: self.task_list.len() });
        self.set_allowed(task, &attr.allowed);
        self.task_list.push(task);
        self.run_queue.make_room(task, self.task_list.len());
        // The child is woken like any sleeper. It does not run before its parent.
        self.try_to_wake_up(platform, task, processor, false);
    }

    fn wake(&mut self, platform: &mut Platform, task: TaskId, waker: Waker) {
        platform.by_rule(Question::SelectCpu, self.tasks[task].processor, rules::LAST_CPU);
        self.try_to_wake_up(platform, task, waker.cpu(), waker.is_sync());
    }

    fn block(&mut self, _platform: &mut Platform, _cpu: CpuId, task: TaskId, reason: BlockReason) {
        // It is dequeued in schedule().
        self.tasks[task].state =
            if reason == BlockReason::Dead { State::Zombie } else { State::Asleep };
    }

    fn tick(&mut self, platform: &mut Platform, cpu: CpuId) {
        let Some(current) = self.cpus[cpu.index()].current else {
            return;
        };
        let p = &mut self.tasks[current];
        p.counter -= 1;
        if p.counter < self.version.least_counter {
            p.counter = 0;
            if p.policy != Policy::Fifo || self.version.tick_asks_fifo {
                platform.resched(cpu);
            }
        }
        self.weigh_again(current);
    }

    fn schedule(&mut self, platform: &mut Platform, cpu: CpuId) -> Option<TaskId> {
        let prev = self.cpus[cpu.index()].current;
        if let Some(prev) = prev {
            let Task { policy, counter, nice, .. } = self.tasks[prev];
            if policy == Policy::RoundRobin && counter == 0 {
                self.tasks[prev].counter = self.slice(i32::from(nice));
                self.move_last(prev);
            }
            if self.tasks[prev].state != State::Running {
                self.dequeue(prev);
                platform.work.dequeues += 1;
            }
        }
        let next = self.pick(platform, cpu, prev);
        if next != prev {
            self.switch_to(platform, cpu, next);
            if let Some(prev) = prev {
                self.put_previous(platform, prev);
            }
        } else if let Some(next) = next {
            self.forget_yield(next);
        }
        debug_assert!(
            !platform.resched_pending(cpu),
            "CPU {} asks itself again, though the task that it switched away from was worse",
            cpu.0
        );
        next
    }

    fn exec(&mut self, _platform: &mut Platform, cpu: CpuId, task: TaskId) {
        let mm = TaskAttr::address_space_after_exec(task);
        self.tasks[task].mm = mm;
        self.cpus[cpu.index()].active_mm = Some(mm);
        if let Some(queued) = self.run_queue.get_mut(task) {
            queued.mm = mm;
        }
    }

    fn yield_now(&mut self, platform: &mut Platform, cpu: CpuId, task: TaskId) {
        if self.version.yield_counts_waiting && self.run_queue.len() == self.busy_cpus {
            // No task waits.
            return;
        }
        if self.tasks[task].policy == Policy::Other {
            self.tasks[task].yielded = true;
        }
        self.move_last(task);
        platform.work.requeue();
        platform.resched(cpu);
    }

    fn set_attr(&mut self, platform: &mut Platform, task: TaskId, attr: &SchedAttr, by: CpuId) {
        let p = &mut self.tasks[task];
        let before = (p.policy, p.rt_priority);
        (p.policy, p.rt_priority) = (attr.policy, attr.rt_priority as u8);
        p.nice = attr.nice as i8;
        let setscheduler = before != (p.policy, p.rt_priority);
        if setscheduler {
            self.set_scheduler(platform, task, by);
        } else {
            // `setpriority`: the counter stays until the next epoch, and no CPU is asked to
            // reschedule.
            self.weigh_again(task);
        }
    }

    fn set_same_attr(&mut self, platform: &mut Platform, task: TaskId, by: CpuId) {
        self.set_scheduler(platform, task, by);
    }

    /// Does what the kernel itself can do with its threads (`set_cpus_allowed`), because there is
    /// no such system call yet: a running task must leave a forbidden CPU. A waiting one gets no
    /// help, even if a CPU is idle. 2.2 has no affinity at all.
    fn set_affinity(&mut self, platform: &mut Platform, task: TaskId, allowed: &CpuSet) {
        self.set_allowed(task, allowed);
        let Task { processor, on_cpu, .. } = self.tasks[task];
        if on_cpu && !self.may_run(task, processor) {
            platform.resched(processor);
        }
    }

    fn kill(&mut self, _platform: &mut Platform, task: TaskId) {
        if self.run_queue.contains(task) {
            self.dequeue(task);
        }
        self.tasks[task].state = State::Zombie;
    }

    fn reap(&mut self, _platform: &mut Platform, task: TaskId, parent: Option<TaskId>) {
        let inherited = self.tasks[task].counter;
        if let Some(parent) = parent
            && self.version.keeps_the_sum
        {
            let most = self.max_counter();
            let counter = &mut self.tasks[parent].counter;
            *counter = (*counter + inherited).min(most);
            self.weigh_again(parent);
        }
        self.tasks[task].state = State::Gone;
        let index = self.rest[task].list_index;
        self.task_list.swap_remove(index);
        if let Some(&moved) = self.task_list.get(index) {
            self.rest[moved].list_index = index;
        }
    }

    fn cpu_of(&self, task: TaskId) -> CpuId {
        self.tasks[task].processor
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}

impl Inspect for OrderN {
    fn locking(&self) -> Locking {
        Locking::Global
    }

    fn scanned_apart_kib(&self) -> Option<u32> {
        Some(TASK_APART_KIB)
    }

    fn scan_len(&self) -> u64 {
        self.run_queue.len() as u64
    }

    fn promises(&self, load: &Load) -> Promises {
        self.promises_under(load)
    }

    fn rules(&self) -> Vec<&'static RuleDoc> {
        rules::RULES.iter().collect()
    }

    fn candidates(&self, cpu: CpuId, out: &mut Vec<Candidate>) {
        self.list_candidates(cpu, out);
    }

    fn audit(&self) -> Result<(), String> {
        self.audit_all()
    }
}
