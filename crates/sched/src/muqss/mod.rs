//! MuQSS, the Multiple Queue Skiplist Scheduler: the virtual deadlines of BFS in several queues.
//! The successor of BFS in Con Kolivas's patches, from 4.8 (2016) to 5.12 (2021).
//!
//! # The algorithm
//!
//! A task has a **slice** of `rr_interval`, the same for every nice level, and a **virtual
//! deadline**, which is set when the slice is filled:
//!
//! ```text
//! deadline = now + rr_interval * ratio[nice]          # the ratio grows by 10 % a nice level
//! ```
//!
//! Waiting tasks are in **queues sorted by key**: the level for real-time and `SCHED_ISO` tasks,
//! the deadline for all others, and a deadline behind all others for `SCHED_IDLEPRIO`. At boot it
//! is chosen which CPUs share a queue (`rqshare`): by default the CPUs of a package. A CPU that
//! needs a task looks at the **first tasks of all queues**, the nearest queue first, and takes the
//! one with the least key. So an early deadline is found wherever it waits, and there is no
//! balancing.
//!
//! When a slice is used up it is refilled, with a new deadline, and the task queues with the
//! others. A timer ends the slice, or a tick if that comes first. A task that sleeps keeps its
//! deadline and the rest of its slice. When it wakes, it takes the nearest idle CPU if there is
//! one. Otherwise it preempts the nearest CPU whose task has a later deadline.
//!
//! `SCHED_ISO` gives ordinary users something like real-time priority, as long as such tasks do not
//! use more than `iso_cpu` of a CPU.
//!
//! # Cost
//!
//! A pick looks at the first task of each queue: O(queues). Queueing is O(log tasks). A wakeup that
//! preempts looks at CPUs until it finds one: O(CPUs). A tick is O(1).
//!
//! # Where to look
//!
//! This file: [`Scheduler::schedule`]. `pick.rs`: queueing, and the pick; `queue.rs`: the queues.
//! `preempt.rs`: idle CPUs and preemption. `wakeup.rs`, `fork.rs`, `syscalls.rs`: what happens to
//! tasks. `clock.rs`: time, charges, the timer of a slice. `iso.rs`: the limit of `SCHED_ISO`.
//! `smt_nice.rs`: threads of a core. `nearness.rs`: the distances between CPUs, and which share a
//! queue. `idle_cpus.rs`: the set of idle CPUs. `settings.rs`: the tunables. `rules.rs`: the
//! decision rules, by number.
//!
//! # Not included
//!
//! Machines without high-resolution timers ("dither") and frequency scaling.
//!
//! Threads of a core can drive tasks from one to the other and back without end (`smt_nice.rs`). On
//! a real machine that takes time, after which something else has changed. Here a CPU checks its
//! sibling threads a limited number of times within a nanosecond.
//!
//! A task that forbids itself the CPU on which it runs leaves it by a path that is not described.
//! Here it moves as a waiting task does, when its CPU reschedules.

mod audit;
mod candidates;
mod clock;
mod fork;
mod idle_cpus;
mod iso;
mod levels;
mod nearness;
mod pick;
mod preempt;
mod queue;
mod releases;
mod rules;
mod settings;
mod smt_nice;
mod syscalls;
mod wakeup;

#[cfg(test)]
mod tests;

use self::clock::NiffyClock;
use self::idle_cpus::IdleCpus;
use self::iso::IsoAccount;
use self::levels::{NORMAL_PRIO, PRIO_LIMIT};
use self::nearness::Nearness;
use self::queue::Queues;
pub use self::releases::ENTRY;
use self::settings::Settings;
use alloc::string::String;
use alloc::vec::Vec;
use schedlab_core::{
    BlockReason, BuildConfig, Candidate, Command, ControlError, CpuId, CpuSet, Inspect, Load,
    Locking, Parent, Platform, Policy, Promises, Question, Reply, RuleDoc, SchedAttr, Scheduler,
    TaskAttr, TaskId, TaskTable, TimerKey, Tunable, Waker,
};

/// State of a task.
#[derive(Clone, Debug)]
struct Task {
    /// Time by which its slice should be used up, ns of niffies.
    deadline: u64,
    /// Niffies at which it was last charged.
    last_ran: u64,
    /// The rest of its slice, in units of 1024 ns.
    time_slice: i32,
    /// Its claim to run without less entitled tasks on the sibling threads.
    smt_bias: i32,
    /// The CPU that it belongs to.
    cpu: CpuId,
    /// Its level, 1 best.
    prio: u8,
    nice: i8,
    policy: Policy,
    rt_priority: u8,
    /// `TASK_RUNNING`.
    runnable: bool,
    /// Whether it is its CPU's current task, runnable or not.
    on_cpu: bool,
    /// Whether it has forbidden itself the CPU on which it runs.
    leaves_cpu: bool,
    /// Whether it has an address space: it is no kernel thread.
    has_memory: bool,
    allowed: CpuSet,
}

/// State of a CPU, except its `Running` record.
#[derive(Clone, Default, Debug)]
struct Cpu {
    clock: NiffyClock,
    /// The running task. `None`: the CPU is idle.
    curr: Option<TaskId>,
    /// The task for which it was last asked to reschedule, since its last pick.
    preempting: Option<TaskId>,
    /// The first key of its queue, when this CPU last changed it.
    best_key: u64,
    /// Number of tasks that belong to it and are queued or current.
    nr_running: i32,
    /// Number of tasks that belong to it and are runnable. Used to choose a start CPU.
    tasks: u32,
    iso: IsoAccount,
    /// Jiffies at its last tick.
    last_tick_jiffy: u64,
    /// Whether its timer is pending.
    timer_runs: bool,
    /// Time at which it last checked its sibling threads, ns, and how often it has done so at that
    /// time.
    siblings_checked: (u64, u32),
}

/// The running task as other CPUs see it: copies made at the last reschedule. Kept in a table of
/// its own, since a wakeup on a busy machine walks all of it.
#[derive(Clone, Copy, Debug)]
struct Running {
    rq_deadline: u64,
    rq_smt_bias: i32,
    /// [`PRIO_LIMIT`] when idle.
    rq_prio: u8,
    /// Whether it has an address space.
    rq_mm: bool,
}

/// MuQSS.
#[derive(Debug)]
pub struct Muqss {
    hz: u32,
    /// Time for which a tick stands, ns of niffies.
    jiffy_niffies: u64,
    settings: Settings,
    /// A full slice, in units of 1024 ns.
    slice: i32,
    /// Distance of a full slice's deadline, by nice from -20 to 19.
    distances: [i64; 40],
    tasks: TaskTable<Task>,
    queues: Queues,
    idle: IdleCpus,
    nearness: Nearness,
    cpus: Vec<Cpu>,
    running: Vec<Running>,
    /// Tasks that were woken before their CPU had switched away from them.
    early_wakeups: Vec<(TaskId, Waker)>,
}

impl Muqss {
    /// The scheduler on an idle machine.
    pub fn new(config: &BuildConfig) -> Muqss {
        let cpus = config.topology.cpus();
        let mut muqss = Muqss {
            hz: config.hz,
            jiffy_niffies: clock::jiffy_niffies(config.hz),
            settings: Settings::BOOT,
            slice: 0,
            distances: [0; 40],
            tasks: TaskTable::new(),
            queues: Queues::new(cpus),
            idle: IdleCpus::all(cpus),
            nearness: Nearness::new(&config.topology, Settings::BOOT.rqshare),
            cpus: alloc::vec![Cpu::default(); cpus as usize],
            running: alloc::vec![Running::IDLE; cpus as usize],
            early_wakeups: Vec::with_capacity(cpus as usize),
        };
        muqss.adopt(Settings::BOOT);
        muqss
    }

    /// Puts back `prev`, the current task of `cpu`.
    fn put_back(&mut self, platform: &mut Platform, cpu: CpuId, prev: TaskId) {
        self.charge(cpu, prev);
        if self.is_used_up(prev) || self.tasks[prev].policy == Policy::Batch {
            self.refill(prev, cpu);
        }
        let row = &mut self.tasks[prev];
        row.on_cpu = false;
        let leaves = core::mem::take(&mut row.leaves_cpu) && !row.allowed.contains(cpu);
        match row.runnable {
            true if leaves => self.queue_where_allowed(platform, prev),
            true => self.enqueue(platform, cpu, prev),
            false => (),
        }
    }

    /// Makes `next` the current task of `cpu`. `niffies`: the time at the beginning of the
    /// reschedule.
    fn set_current(
        &mut self,
        platform: &mut Platform,
        cpu: CpuId,
        next: Option<TaskId>,
        niffies: u64,
    ) {
        self.idle.set(&self.nearness, cpu, next.is_none());
        self.cpus[cpu.index()].curr = next;
        let Some(next) = next else {
            self.running[cpu.index()] = Running::IDLE;
            return self.stop_timer(platform, cpu);
        };
        self.set_rq_task(platform, cpu, next);
        let row = &mut self.tasks[next];
        row.on_cpu = true;
        row.last_ran = niffies;
    }

    /// After a switch: looks for another CPU for the task that lost this one, and at sibling
    /// threads.
    fn switched(
        &mut self,
        platform: &mut Platform,
        cpu: CpuId,
        prev: Option<TaskId>,
        next: Option<TaskId>,
    ) {
        if next != prev {
            match prev {
                None => self.cpus[cpu.index()].nr_running += 1,
                Some(prev) if self.tasks[prev].runnable => {
                    self.resched_best_idle(platform, prev, self.tasks[prev].cpu);
                }
                Some(_) => (),
            }
            if next.is_none() {
                self.cpus[cpu.index()].nr_running -= 1;
                return self.wake_smt_siblings(platform, cpu);
            }
        }
        self.check_smt_siblings(platform, cpu);
    }
}

impl Scheduler for Muqss {
    fn fork(&mut self, platform: &mut Platform, task: TaskId, attr: &TaskAttr, parent: Parent) {
        let (cpu, placed) = match parent {
            Parent::External => (self.start_cpu(&attr.allowed), rules::FEWEST_TASKS),
            Parent::Task { cpu, .. } if attr.allowed.contains(cpu) => (cpu, rules::PARENTS_CPU),
            Parent::Task { .. } => (self.first_allowed(&attr.allowed), rules::AFFINITY_FORCED),
        };
        platform.by_rule(Question::SelectCpu, cpu, placed);
        self.queues.admit(task);
        let row = Task {
            cpu,
            nice: attr.sched.nice as i8,
            policy: attr.sched.policy,
            rt_priority: attr.sched.rt_priority as u8,
            has_memory: attr.address_space != TaskAttr::NO_ADDRESS_SPACE,
            allowed: attr.allowed.clone(),
            ..Task::default()
        };
        self.tasks.insert(task, row);
        match parent {
            Parent::External => self.start(platform, task),
            Parent::Task { task: parent, cpu } => self.start_beside(platform, task, parent, cpu),
        }
    }

    fn wake(&mut self, platform: &mut Platform, task: TaskId, waker: Waker) {
        let Task { cpu, on_cpu, .. } = self.tasks[task];
        if on_cpu {
            platform.by_rule(Question::SelectCpu, cpu, rules::LAST_CPU);
            platform.by_rule(Question::Preempt, cpu, rules::STILL_CURRENT);
            self.early_wakeups.push((task, waker));
            return;
        }
        self.wake_up(platform, task, waker);
    }

    fn block(&mut self, _platform: &mut Platform, cpu: CpuId, task: TaskId, _reason: BlockReason) {
        // Everything else stays until the CPU reschedules.
        self.tasks[task].runnable = false;
        self.cpus[cpu.index()].tasks -= 1;
    }

    fn tick(&mut self, platform: &mut Platform, cpu: CpuId) {
        self.tick_of(platform, cpu);
    }

    fn timer(&mut self, platform: &mut Platform, key: TimerKey) {
        self.slice_ended(platform, CpuId(key.0));
    }

    fn schedule(&mut self, platform: &mut Platform, cpu: CpuId) -> Option<TaskId> {
        platform.work.clock_reads += 1;
        self.update_clock(platform, cpu);
        let niffies = self.niffies(cpu);
        let prev = self.cpus[cpu.index()].curr;
        if let Some(prev) = prev {
            self.put_back(platform, cpu, prev);
        }
        let next = self.earliest_deadline_task(platform, cpu);
        self.set_current(platform, cpu, next, niffies);
        self.switched(platform, cpu, prev, next);
        if let Some(prev) = prev
            && !self.early_wakeups.is_empty()
        {
            self.wake_early_ones(platform, prev);
        }
        next
    }

    fn yield_now(&mut self, platform: &mut Platform, cpu: CpuId, task: TaskId) {
        self.yields(platform, cpu, task);
    }

    fn exec(&mut self, _platform: &mut Platform, _cpu: CpuId, task: TaskId) {
        self.tasks[task].has_memory = true;
    }

    fn set_attr(&mut self, platform: &mut Platform, task: TaskId, attr: &SchedAttr, _by: CpuId) {
        let row = &self.tasks[task];
        let (nice, rt_priority) = (attr.nice as i8, attr.rt_priority as u8);
        if (row.policy, row.rt_priority) != (attr.policy, rt_priority) {
            self.set_policy(platform, task, attr.policy, rt_priority);
        }
        if self.tasks[task].nice != nice {
            self.set_user_nice(platform, task, nice);
        }
    }

    fn set_affinity(&mut self, platform: &mut Platform, task: TaskId, allowed: &CpuSet) {
        self.set_allowed(platform, task, allowed);
    }

    fn kill(&mut self, platform: &mut Platform, task: TaskId) {
        if self.tasks[task].runnable {
            self.dequeue(platform, task);
            let row = &mut self.tasks[task];
            row.runnable = false;
            self.cpus[row.cpu.index()].tasks -= 1;
        }
    }

    fn cpu_of(&self, task: TaskId) -> CpuId {
        self.tasks[task].cpu
    }

    fn control(
        &mut self,
        _platform: &mut Platform,
        command: Command<'_>,
    ) -> Result<Reply, ControlError> {
        match command {
            // Only the affinity of tasks decides which CPUs take part.
            Command::CpuOffline(_) | Command::CpuOnline(_) => {}
            Command::SetTunable { name, value } => self.write_tunable(name, value)?,
            other => return Err(other.unsupported()),
        }
        Ok(Reply::Done)
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}

impl Inspect for Muqss {
    fn locking(&self) -> Locking {
        if self.nearness.queues() == 1 { Locking::Global } else { Locking::PerCpu }
    }

    fn tunables(&self) -> Vec<Tunable> {
        self.list_tunables()
    }

    fn rules(&self) -> Vec<&'static RuleDoc> {
        rules::RULES.iter().collect()
    }

    fn candidates(&self, cpu: CpuId, out: &mut Vec<Candidate>) {
        self.list_candidates(cpu, self.curr_put_back(cpu), out);
    }

    fn promises(&self, load: &Load) -> Promises {
        let alone = self.cpus.len() == 1;
        let slice_ns =
            self.settings.rr_interval as u64 * (1 << 20) + 2_000_000_000 / u64::from(self.hz);
        let distance_ns = u64::try_from(self.settings.deadline_distance(load.nice_max));
        // With several queues a CPU may overlook a deadline (`best_key`), and a sibling thread may
        // hold a task back.
        let finds_all = self.nearness.queues() == 1 && !self.nearness.has_threads();
        let orders_all = finds_all && self.settings.deadline_distance(19) > 0;
        Promises {
            // Several tasks that wake at once may all ask the same idle CPU, which takes one.
            idle_beside_waiting_ns: alone.then_some(0),
            // Once its own deadline has passed, each other task can at most use up the slice that
            // belongs to an even earlier deadline.
            wait_ns: distance_ns
                .ok()
                .filter(|_| orders_all)
                .map(|distance_ns| distance_ns + (u64::from(load.tasks) + 1) * slice_ns),
            // Of two hogs one may end all its slices by the timer, and the other by ticks, which
            // are shorter. There is no limit to the difference.
            hog_spread_ns: None,
            // Queues have no classes, and two tasks that wake at once may choose the same CPU to
            // preempt.
            real_time_first: alone,
        }
    }

    fn audit(&self) -> Result<(), String> {
        self.audit_all()
    }
}

impl Running {
    /// The record of an idle CPU.
    const IDLE: Running =
        Running { rq_deadline: 0, rq_smt_bias: 0, rq_prio: PRIO_LIMIT, rq_mm: false };
}

impl Default for Task {
    fn default() -> Self {
        Task {
            deadline: 0,
            last_ran: 0,
            time_slice: 0,
            smt_bias: 0,
            cpu: CpuId(0),
            prio: NORMAL_PRIO,
            nice: 0,
            policy: Policy::Other,
            rt_priority: 0,
            runnable: false,
            on_cpu: false,
            leaves_cpu: false,
            has_memory: true,
            allowed: CpuSet::All,
        }
    }
}
