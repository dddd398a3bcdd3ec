//! What operations cost: kernel time on a modelled machine.
//!
//! # How time is spent
//!
//! An operation of the kernel (a wakeup, a tick, a reschedule) **takes effect at the instant at
//! which it begins, and then burns its time**: its CPU is *busy* until then. (One lock for all
//! makes exceptions, below.) What a task that runs there has yet to do is put off by as much. Two
//! things wait until a CPU is no longer busy, because they happen on the way out of the kernel:
//!
//! * a task's **next operation**: two wakeups in a row take two wakeups' time;
//! * a **reschedule** that was asked for: requests that come meanwhile are served by one. It comes
//!   before the next operation, so a task that is preempted in a system call is preempted at its
//!   end. (A task that blocks is switched away at once, as it calls `schedule()` itself.)
//!
//! # Locks
//!
//! What touches runqueues does so under a lock ([`Locking`]): one for all, or one for each CPU's
//! queue. A lock is known by the time at which it will be free; a CPU that comes earlier spins
//! until then, and burns that time too. What is charged inside: looking at, queueing and moving
//! tasks. Outside: entering the kernel, the switch itself, filling caches. Since an operation takes
//! all its locks at its beginning, locks are had in the order in which operations begin. Of two
//! runqueue locks the kernel takes the one of the lower CPU first; a CPU that has only the higher
//! one, and finds the lower one held, lets go of its own and takes it again: that is charged.
//!
//! Where there is one lock for all, it may be waited for longer than a task runs, and a
//! `schedule()` that decided before it had the lock would decide by what has changed since. So
//! there a reschedule **waits for the lock first**, spinning, and takes effect when it has it; of
//! those that wait, who has waited longest is next. Until then the CPU keeps its task, and a task
//! that calls to sleep is still runnable: a wakeup that comes before it has the lock keeps it
//! awake, and it goes through `schedule()` for nothing, as in the kernel. Wakeups take effect at
//! once here, too, and wait only for who has the lock, not for those who wait for it: that is a
//! simplification, and a large one (docs/calibration.md). Handing the lock over takes a line's way
//! more for each CPU that waits. A task that wakes several others one after the other lets the lock
//! go in between: whether a CPU that waits has it first is a **race** between a line's way to that
//! CPU and the waker's way to the next wakeup. Nothing that is modelled decides it, so it is drawn
//! (`Modelled::loses_lock`), from [`Setup`]'s seed.
//!
//! A **linear search** ([`Inspect::scan_len`](schedlab_core::Inspect::scan_len)) takes effect when
//! it ends. The lock is held and interrupts are off meanwhile, so a tick finds the task that is
//! about to be replaced, and not the one that is found: a search may take a millisecond.
//!
//! # Late timers
//!
//! With a table of latencies each wakeup by a timer is late by an amount that is drawn from it: its
//! CPU spends that in the interrupt, before the wakeup's own time. A CPU that the wakeup interrupts
//! is in its interrupt for as much longer. The draws have a generator of their own, so that a run
//! without a table is what it was.
//!
//! # What is not charged
//!
//! Changes of attributes, affinity and groups; the scheduler's own timers, of which it is not known
//! where they fire; what comes from outside the machine. With tickless idling, ticks of idle CPUs:
//! their hooks still run, as a busy CPU does their balancing for them, but nobody pays for that.

use super::{Machine, TaskState};
use crate::costs::caches::Residency;
use crate::costs::power::PowerMeter;
use crate::costs::walk::Walks;
use crate::costs::{Cost, Energy, KernelCosts, LatencyTable, Overhead, Overheads, Setup};
use crate::order::SplitMix64;
use crate::queue::{NEVER, SlotQueue};
use crate::workload::Workload;
use schedlab_core::{
    BlockReason, CpuId, Event, Locking, Observer, Scheduler, TaskId, Topology, WorkCounts,
};

/// What the kernel does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Work {
    /// Wakes a task, from a task or from an interrupt.
    Wakeup { from_interrupt: bool },
    /// Brings a new task into being, for its parent.
    NewTask,
    /// Takes a task that blocks off its queue.
    Block,
    /// `sched_yield(2)`.
    Yield,
    /// The tick.
    Tick,
    /// `schedule()`, and the switch to another task or to idle.
    Schedule { switches: bool, refill_ps: u64 },
    /// An interrupt from another CPU.
    Interrupted,
}

/// A runqueue lock.
#[derive(Clone, Copy, Debug)]
struct Lock {
    /// When whoever has it lets it go, ns.
    free_at_ns: u64,
    /// Who had it last.
    last_holder: Option<CpuId>,
}

/// A sleep that a task is about to begin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sleep {
    /// When it ends, ns; [`NEVER`]: when somebody wakes the task.
    pub until_ns: u64,
    /// What kind of sleep.
    pub reason: BlockReason,
}

/// A linear search for the next task, which is under way.
#[derive(Clone, Copy, Debug)]
struct Search {
    /// Who searches, and has the lock.
    cpu: CpuId,
    /// Until when, ns.
    ends_ns: u64,
    /// How many tasks are looked at.
    tasks: u64,
}

/// An operation's time, picoseconds: before it takes its locks, while it has them, and after.
#[derive(Clone, Copy, Default)]
struct Bill {
    before_ps: u64,
    inside_ps: u64,
    after_ps: u64,
    needs_lock: bool,
}

/// What a modelled machine keeps beside what every machine keeps.
#[derive(Debug)]
pub(super) struct Modelled {
    kernel: KernelCosts,
    /// Where CPUs take turns: `kernel` while one CPU is busy, two ... Else empty.
    turns: Vec<KernelCosts>,
    locking: Locking,
    nohz: bool,
    topology: Topology,
    caches: Residency,
    meter: Option<PowerMeter>,
    /// Until when each CPU is in the kernel, ns. In the past: it is not.
    busy_until_ns: Vec<u64>,
    /// What was charged and is less than a nanosecond, by CPU.
    carry_ps: Vec<u64>,
    /// One for all, or one a CPU.
    locks: Vec<Lock>,
    /// When a CPU that is busy will see to the reschedule that it was asked for.
    put_off: SlotQueue,
    /// When CPUs cannot reschedule, where that was recorded.
    stops: Option<Stops>,
    /// By CPU: the current task has done an operation, and the next is due once the CPU is no
    /// longer busy.
    between_operations: Vec<bool>,
    /// How many tasks a scan finds in no cache; none if that is not known.
    walks: Option<Walks>,
    /// Decides races for the one lock.
    random: SplitMix64,
    /// How late timers come, on a CPU that is busy and on one that idles.
    timer_latency: [Option<LatencyTable>; 2],
    /// Draws from these.
    latencies: SplitMix64,
    /// How late the timer is whose wakeup is charged next, ps.
    late_ps: u64,
    /// By CPU: since when its `schedule()` waits for the one lock, ns; [`NEVER`]: it does not.
    waits_since_ns: Vec<u64>,
    /// How many of them wait.
    waiting: u64,
    /// The search that is under way under the one lock.
    search: Option<Search>,
    /// By task: the sleep that it will have begun once it has searched for a successor, if nobody
    /// wakes it before.
    falling_asleep: Vec<Option<Sleep>>,
    /// Where each task last ran.
    last_cpu: Vec<Option<CpuId>>,
    /// How long the CPU that spent time last took to get out of its idle state, ns.
    awake_ns: u64,
    overheads: Overheads,
}

/// When CPUs of another machine were stopped, by CPU.
#[derive(Debug)]
struct Stops {
    /// From when until when, ns, in rising order, and how many of them are over.
    times: Vec<(Vec<(u64, u64)>, usize)>,
}

impl Stops {
    /// When `cpu` can act, now or later. Times that are asked for do not fall.
    fn next_ns(&mut self, cpu: CpuId, now_ns: u64) -> u64 {
        let (times, over) = &mut self.times[cpu.index()];
        while times.get(*over).is_some_and(|&(_, until_ns)| until_ns <= now_ns) {
            *over += 1;
        }
        let stop = times.get(*over).filter(|&&(from_ns, _)| from_ns <= now_ns);
        stop.map_or(now_ns, |&(_, until_ns)| until_ns)
    }
}

/// How many CPUs have something to run; `cpu` does in any case, if only in the kernel.
fn busy_cpus(current: &[Option<TaskId>], cpu: CpuId) -> usize {
    let others = current.iter().enumerate().filter(|&(other, _)| other != cpu.index());
    1 + others.filter(|(_, task)| task.is_some()).count()
}

/// What is charged to `cpu` next takes as many times as long as CPUs are busy, where these take
/// turns.
#[inline]
fn takes_turns(costs: &mut Modelled, current: &[Option<TaskId>], cpu: CpuId) {
    if !costs.turns.is_empty() {
        costs.kernel = costs.turns[busy_cpus(current, cpu) - 1];
    }
}

/// So that latencies are drawn otherwise than races.
const LATENCIES: u64 = 0x6c61_7465_6e63_7921;

impl Modelled {
    fn new(setup: Setup, locking: Locking) -> Modelled {
        let cpus = setup.topology.cpus() as usize;
        let locks = if locking == Locking::Global { 1 } else { cpus };
        let times = |busy: usize| {
            let mut kernel = setup.kernel;
            kernel.scale(busy as f64);
            kernel
        };
        Modelled {
            kernel: setup.kernel,
            turns: match setup.cpus_take_turns {
                true => (1..=cpus).map(times).collect(),
                false => vec![],
            },
            locking,
            nohz: setup.nohz,
            caches: Residency::new(&setup.caches, &setup.topology),
            meter: setup.power.as_ref().map(|power| PowerMeter::new(power, &setup.topology)),
            topology: setup.topology,
            busy_until_ns: vec![0; cpus],
            carry_ps: vec![0; cpus],
            locks: vec![Lock { free_at_ns: 0, last_holder: None }; locks],
            put_off: SlotQueue::new(cpus),
            stops: None,
            between_operations: vec![false; cpus],
            walks: None,
            random: SplitMix64::new(setup.seed),
            timer_latency: {
                let idle = setup.idle_timer_latency.or_else(|| setup.timer_latency.clone());
                [setup.timer_latency, idle]
            },
            latencies: SplitMix64::new(setup.seed ^ LATENCIES),
            late_ps: 0,
            waits_since_ns: vec![NEVER; cpus],
            waiting: 0,
            search: None,
            falling_asleep: Vec::new(),
            last_cpu: Vec::new(),
            awake_ns: 0,
            overheads: Overheads { cpus: vec![Default::default(); cpus], ..Overheads::default() },
        }
    }

    /// Of the CPUs that wait for the lock and do nothing else at `now_ns`, the one that has waited
    /// longest, if that is since before `since_ns`.
    fn waits_longer(&self, now_ns: u64, since_ns: u64) -> Option<CpuId> {
        if self.waiting == 0 {
            return None;
        }
        let rows = self.waits_since_ns.iter().zip(&self.busy_until_ns).enumerate();
        let free = rows.filter(|&(_, (&since, &busy))| since < since_ns && busy <= now_ns);
        free.min_by_key(|&(_, (&since, _))| since).map(|(row, _)| CpuId(row as u32))
    }

    /// A wakeup lets the one lock go, and will want it again after `again_ps` if there is another
    /// task to wake: whether a CPU that waits for it has got it by then. Each of the two times,
    /// that and a line's way to the other CPU, is drawn between nothing and twice what it is.
    fn loses_lock(&mut self, again_ps: u64) -> bool {
        if self.locking == Locking::PerCpu || self.waiting == 0 {
            return false;
        }
        let again_ps = self.random.below(2 * again_ps + 1);
        let way_ps = self.overheads.charged.times(Cost::LockRemote, 1, &self.kernel);
        let way_ps = self.random.below(2 * way_ps + 1);
        way_ps < again_ps
    }

    /// How many of `tasks` that are looked at in a row are in no cache, in thousandths.
    fn missed_milli(&self, tasks: u64) -> u64 {
        self.walks.as_ref().map_or(0, |walks| walks.missed_milli(tasks))
    }

    /// What it takes to look at `tasks` in one search, ps.
    fn search_ps(&mut self, tasks: u64) -> u64 {
        let missed_milli = self.missed_milli(tasks);
        let charged = &mut self.overheads.charged;
        charged.times(Cost::Scan, tasks, &self.kernel)
            + charged.times(Cost::ScanMiss, missed_milli, &self.kernel) / 1000
    }

    /// `cpu` no longer waits for the lock.
    fn stops_waiting(&mut self, cpu: CpuId) {
        if std::mem::replace(&mut self.waits_since_ns[cpu.index()], NEVER) != NEVER {
            self.waiting -= 1;
        }
    }

    /// The time that `work` takes on `cpu`, for the steps in `counts`, by kind.
    fn bill(&mut self, cpu: CpuId, work: Work, counts: &WorkCounts) -> Bill {
        // What a search has taken that ends now was charged when it began.
        let found = match work {
            Work::Schedule { .. } => self.search.filter(|search| search.cpu == cpu),
            _ => None,
        };
        let scans = 1 + counts.rescans - u64::from(found.is_some());
        let scanned = counts.scanned.saturating_sub(found.map_or(0, |search| search.tasks));
        let missed_milli = self.missed_milli(counts.recalculated);
        let charged = &mut self.overheads.charged;
        let recalculating = charged.times(Cost::Recalculate, counts.recalculated, &self.kernel)
            + charged.times(Cost::ScanMiss, missed_milli, &self.kernel) / 1000;
        let scanning =
            scans * self.search_ps(scanned.checked_div(scans).unwrap_or(0)) + recalculating;
        let loses_lock =
            matches!(work, Work::Wakeup { .. }) && self.loses_lock(self.kernel[Cost::Wakeup]);
        let Overheads { cpus, charged, .. } = &mut self.overheads;
        let row = &mut cpus[cpu.index()];
        let mut times = |cost, times| charged.times(cost, times, &self.kernel);
        let mut bill = Bill::default();
        // Of what was counted, whatever the operation.
        let queueing = times(Cost::Enqueue, counts.enqueues)
            + times(Cost::Dequeue, counts.dequeues)
            + times(Cost::Level, counts.levels)
            + times(Cost::Word, counts.words)
            + times(Cost::Swap, counts.swaps)
            + times(Cost::Clock, counts.clock_reads)
            + times(Cost::ScxInsn, counts.scx_insns)
            + times(Cost::ScxHelper, counts.scx_helpers)
            + times(Cost::ScxKfunc, counts.scx_kfuncs)
            + times(Cost::ScxMap, counts.scx_maps)
            + times(Cost::ScxVtime, counts.scx_vtime_levels);
        let balancing = times(Cost::Balance, counts.balances)
            + times(Cost::Queue, counts.queues)
            + times(Cost::Move, counts.moves);
        bill.inside_ps = queueing + scanning + balancing;
        bill.needs_lock = bill.inside_ps > 0;
        row.add(Overhead::Pick, queueing);
        row.add(Overhead::Scan, scanning);
        row.add(Overhead::Balance, balancing);
        match work {
            Work::Wakeup { from_interrupt } => {
                bill.needs_lock = true;
                let wakeup_ps = times(Cost::Wakeup, 1);
                row.add(Overhead::Wakeup, wakeup_ps);
                // Where it loses the lock, its own time comes behind: others have it meanwhile.
                let part = if loses_lock { &mut bill.after_ps } else { &mut bill.before_ps };
                *part = wakeup_ps;
                if from_interrupt {
                    let interrupt_ps = times(Cost::Interrupt, 1) + self.late_ps;
                    bill.before_ps += interrupt_ps;
                    row.add(Overhead::Interrupt, interrupt_ps);
                }
            }
            Work::NewTask => {
                bill.needs_lock = true;
                bill.before_ps = times(Cost::NewTask, 1);
                row.add(Overhead::Wakeup, bill.before_ps);
            }
            Work::Block | Work::Yield => {}
            Work::Tick => {
                bill.before_ps = times(Cost::Tick, 1) + times(Cost::Interrupt, 1);
                row.add(Overhead::Tick, bill.before_ps);
            }
            Work::Schedule { switches, refill_ps } => {
                // After a search it takes the lock again only for a new epoch, and to find another
                // CPU for the task that was preempted.
                bill.needs_lock = found.is_none() || counts.rescans + counts.queues > 0;
                if found.is_none() {
                    let pick_ps = times(Cost::Pick, 1);
                    bill.inside_ps += pick_ps;
                    row.add(Overhead::Pick, pick_ps);
                }
                if switches {
                    let switch_ps = times(Cost::Switch, 1);
                    bill.after_ps = switch_ps + refill_ps;
                    row.add(Overhead::Switch, switch_ps);
                    row.add(Overhead::Refill, refill_ps);
                }
            }
            Work::Interrupted => {
                // What a late timer brings to another CPU comes late there, too.
                bill.before_ps = times(Cost::IpiReceive, 1) + self.late_ps;
                row.add(Overhead::Interrupt, bill.before_ps);
            }
        }
        bill
    }

    /// Index of the lock of the queue of `cpu`.
    fn lock_of(&self, cpu: CpuId) -> usize {
        match self.locking {
            Locking::Global => 0,
            Locking::PerCpu => cpu.index(),
        }
    }

    /// What it costs `cpu` to take a free lock, ps.
    fn taking_ps(&mut self, lock: usize, cpu: CpuId) -> u64 {
        let holder = self.locks[lock].last_holder;
        let far = holder.is_some_and(|holder| holder != cpu);
        // Whoever else waits for it reads it, too, when it is let go, and tries.
        let turns = u64::from(far) + self.waiting;
        let charged = &mut self.overheads.charged;
        charged.times(Cost::Lock, 1, &self.kernel)
            + charged.times(Cost::LockRemote, turns, &self.kernel)
    }

    /// `cpu` takes the lock of `queue`, and the second locks, from `at_ns` on: how long it spins,
    /// ns, and what taking them costs, ps.
    fn take_locks(
        &mut self,
        cpu: CpuId,
        at_ns: u64,
        queue: CpuId,
        seconds: &[(CpuId, CpuId)],
    ) -> (u64, u64) {
        let first = self.lock_of(queue);
        let mut had_ns = at_ns.max(self.locks[first].free_at_ns);
        let mut ps = self.taking_ps(first, cpu);
        if self.locking == Locking::PerCpu {
            for &(held, other) in seconds {
                let lock = self.lock_of(other);
                let free_at_ns = self.locks[lock].free_at_ns;
                ps += self.taking_ps(lock, cpu);
                if free_at_ns > had_ns && other < held {
                    // Out of order: lets go of its own, and takes it again behind the other.
                    ps += self.kernel[Cost::Lock];
                }
                had_ns = had_ns.max(free_at_ns);
            }
        }
        (had_ns - at_ns, ps)
    }

    /// `cpu` spends the time of `bill` from `now_ns` on, or from when it is no longer busy.
    /// `queue`: whose lock it needs. Returns by how long whatever runs there is put off, ns.
    fn spend(
        &mut self,
        now_ns: u64,
        cpu: CpuId,
        with_task: bool,
        bill: Bill,
        queue: CpuId,
        seconds: &[(CpuId, CpuId)],
    ) -> u64 {
        let begins_ns = self.busy_until_ns[cpu.index()].max(now_ns);
        let awake_ns = self.meter.as_mut().map_or(0, |meter| meter.wake(cpu, begins_ns));
        self.awake_ns = awake_ns;
        let mut spin_ns = 0;
        let mut total_ps =
            bill.before_ps + bill.inside_ps + bill.after_ps + self.carry_ps[cpu.index()];
        let starts_ns = begins_ns + awake_ns;
        let mut held_ps = bill.inside_ps;
        let row = cpu.index();
        if bill.needs_lock {
            let wants_ns = starts_ns + bill.before_ps / 1000;
            let (spins_ns, taking_ps) = self.take_locks(cpu, wants_ns, queue, seconds);
            spin_ns = spins_ns;
            total_ps += taking_ps;
            held_ps += taking_ps;
            self.overheads.cpus[row].add(Overhead::Pick, taking_ps);
            self.overheads.cpus[row].add(Overhead::Spin, spin_ns * 1000);
            self.overheads.contended += u64::from(spin_ns > 0);
            let mut free_at_ns = wants_ns + spin_ns + held_ps.div_ceil(1000);
            if self.locking == Locking::Global {
                // Who does nothing behind it is out of the kernel when the lock is free: that must
                // not hang on how parts of nanoseconds are rounded.
                let ends_ns = starts_ns + spin_ns + total_ps / 1000;
                free_at_ns = if bill.after_ps == 0 { ends_ns } else { free_at_ns.min(ends_ns) };
            }
            let free = Lock { free_at_ns, last_holder: Some(cpu) };
            let first = self.lock_of(queue);
            self.locks[first] = free;
            if self.locking == Locking::PerCpu {
                for &(_, other) in seconds {
                    self.locks[other.index()] = free;
                }
            }
        }
        self.overheads.cpus[row].add(Overhead::Awaken, awake_ns * 1000);
        self.carry_ps[row] = total_ps % 1000;
        let ends_ns = starts_ns + spin_ns + total_ps / 1000;
        self.busy_until_ns[row] = ends_ns;
        let spent_ns = ends_ns - begins_ns;
        if with_task {
            self.overheads.cpus[row].with_task_ns += spent_ns;
        } else {
            self.overheads.cpus[row].idle_ns += spent_ns;
            if let Some(meter) = &mut self.meter {
                meter.sleep(cpu, ends_ns);
            }
        }
        spent_ns
    }

    /// What it costs `task`, beside the switch, to go on where it now runs.
    fn refill_ps(&mut self, cpu: CpuId, task: TaskId, footprint_kib: u32) -> u64 {
        if task.index() >= self.last_cpu.len() {
            self.last_cpu.resize((task.index() + 1).next_power_of_two(), None);
        }
        let last = self.last_cpu[task.index()].replace(cpu);
        let moved = match last {
            Some(last) if last != cpu => {
                let (from, to) = (self.topology.place(last), self.topology.place(cpu));
                let near = from.core == to.core || from.cache == to.cache;
                let cost = if near { Cost::MigrateNear } else { Cost::MigrateFar };
                self.overheads.charged.times(cost, 1, &self.kernel)
            }
            _ => 0,
        };
        moved + self.caches.switch_in(cpu, task.index(), footprint_kib)
    }
}

impl<S: Scheduler, W: Workload, O: Observer> Machine<S, W, O> {
    /// Makes it a modelled machine, on which operations cost time. To be called before it runs.
    ///
    /// # Panics
    /// If `setup` is for another number of CPUs.
    pub fn set_costs(&mut self, setup: Setup) {
        assert_eq!(setup.topology.cpus(), self.platform.cpus(), "costs of another machine");
        let asked = self.scheduler.inspect();
        let (locking, apart_kib) = (asked.locking(), asked.scanned_apart_kib());
        let walks = apart_kib.and_then(|apart_kib| Walks::new(setup.caches.last()?, apart_kib));
        self.costs = Some(Box::new(Modelled { walks, ..Modelled::new(setup, locking) }));
    }

    /// CPUs are stopped when the CPUs of another machine were: `times`, by CPU, from when until
    /// when, ns. A reschedule that they are asked for meanwhile comes at the end. So do the virtual
    /// CPUs of an emulator that run in turn. On an idealised machine it is of no account.
    pub fn stop_as_recorded(&mut self, mut times: Vec<Vec<(u64, u64)>>) {
        times.resize(self.platform.cpus() as usize, vec![]);
        times.iter_mut().for_each(|times| times.sort_unstable_by_key(|&(_, until_ns)| until_ns));
        if let Some(costs) = &mut self.costs {
            let times = times.into_iter().map(|times| (times, 0)).collect();
            costs.stops = Some(Stops { times });
        }
    }

    /// What the kernel's time went into so far; none on an idealised machine.
    pub fn overheads(&self) -> Option<Overheads> {
        let costs = self.costs.as_ref()?;
        let mut overheads = costs.overheads.clone();
        for (cpu, row) in overheads.cpus.iter_mut().enumerate() {
            // Not what is still to come.
            let ahead_ns = costs.busy_until_ns[cpu].saturating_sub(self.now_ns);
            let part =
                if self.current[cpu].is_some() { &mut row.with_task_ns } else { &mut row.idle_ns };
            *part = part.saturating_sub(ahead_ns);
        }
        Some(overheads)
    }

    /// What was drawn so far; none if nothing is known of the machine's power.
    pub fn energy(&self) -> Option<Energy> {
        Some(self.costs.as_ref()?.meter.as_ref()?.energy(self.now_ns))
    }

    /// A timer fires on `cpu`: draws how late, which the wakeup that follows is charged with.
    #[inline]
    pub(super) fn draw_timer_latency(&mut self, cpu: CpuId) {
        let idles = self.current[cpu.index()].is_none();
        if let Some(costs) = &mut self.costs
            && let Some(table) = &costs.timer_latency[usize::from(idles)]
        {
            costs.late_ps = table.draw_ps(&mut costs.latencies);
            if !costs.turns.is_empty() {
                costs.late_ps *= busy_cpus(&self.current, cpu) as u64;
            }
        }
    }

    /// The wakeup by the timer is over.
    #[inline]
    pub(super) fn forget_timer_latency(&mut self) {
        if let Some(costs) = &mut self.costs {
            costs.late_ps = 0;
        }
    }

    /// The hooks that follow are executed on `cpu`, and are going to be charged.
    #[inline]
    pub(super) fn enter_kernel(&mut self, cpu: CpuId) {
        if self.costs.is_some() {
            self.enter_modelled(cpu);
        }
    }

    #[cold]
    fn enter_modelled(&mut self, cpu: CpuId) {
        self.platform.work = WorkCounts::default();
        self.platform.set_acting(Some(cpu));
    }

    /// `cpu` has done `work` in the hooks since [`enter_kernel`](Machine::enter_kernel), to the
    /// queue of `queue`: charges it, and the CPUs that it interrupted.
    #[inline]
    pub(super) fn charge(&mut self, cpu: CpuId, work: Work, queue: CpuId) {
        if self.costs.is_some() {
            self.charge_modelled(cpu, Some(work), queue);
        }
    }

    /// As [`charge`](Machine::charge); without `work` only the CPUs that it interrupted are
    /// charged.
    #[cold]
    fn charge_modelled(&mut self, cpu: CpuId, work: Option<Work>, queue: CpuId) {
        let Some(costs) = &mut self.costs else { return };
        self.platform.set_acting(None);
        let mut interrupts = std::mem::take(&mut self.platform.interrupts);
        costs.overheads.interrupts += interrupts.len() as u64;
        if let Some(work) = work {
            takes_turns(costs, &self.current, cpu);
            let mut bill = costs.bill(cpu, work, &self.platform.work);
            let sent = interrupts.len() as u64;
            let sending = costs.overheads.charged.times(Cost::IpiSend, sent, &costs.kernel);
            bill.after_ps += sending;
            costs.overheads.cpus[cpu.index()].add(Overhead::Interrupt, sending);
            self.spend(cpu, bill, queue);
        }
        self.platform.second_locks.clear();
        for &other in &interrupts {
            self.interrupt(other);
        }
        interrupts.clear();
        self.platform.interrupts = interrupts;
    }

    fn interrupt(&mut self, cpu: CpuId) {
        if let Some(costs) = &mut self.costs {
            takes_turns(costs, &self.current, cpu);
            let bill = costs.bill(cpu, Work::Interrupted, &WorkCounts::default());
            self.spend(cpu, bill, cpu);
        }
    }

    /// `cpu` spends the time of `bill`, and what its task has yet to do is put off.
    fn spend(&mut self, cpu: CpuId, bill: Bill, queue: CpuId) {
        let Some(costs) = &mut self.costs else { return };
        let with_task = self.current[cpu.index()].is_some();
        let spent_ns =
            costs.spend(self.now_ns, cpu, with_task, bill, queue, &self.platform.second_locks);
        let busy_until_ns = costs.busy_until_ns[cpu.index()];
        if costs.awake_ns > 0 {
            let from_ns = busy_until_ns - spent_ns;
            let until_ns = from_ns + costs.awake_ns;
            self.observer.on(self.now_ns, Event::LeavesIdle { cpu, from_ns, until_ns });
        }
        let done_ns = self.completions.get(cpu.index());
        if done_ns != NEVER && spent_ns > 0 {
            let by_clock =
                self.current[cpu.index()].is_some_and(|task| self.tasks[task.index()].by_clock);
            // One that would never end does not end later, nor does one that ends at a time, if the
            // CPU is out of the kernel by then.
            let later_ns = if by_clock {
                done_ns.max(busy_until_ns)
            } else {
                done_ns.saturating_add(spent_ns)
            };
            self.completions.set(cpu.index(), later_ns);
        }
    }

    /// The tick of `cpu` has been: charges it, unless the CPU idles and is spared its ticks.
    #[inline]
    pub(super) fn charge_tick(&mut self, cpu: CpuId) {
        if self.costs.is_some() {
            self.charge_modelled_tick(cpu);
        }
    }

    #[cold]
    fn charge_modelled_tick(&mut self, cpu: CpuId) {
        let Some(costs) = &self.costs else { return };
        if !(costs.nohz && self.current[cpu.index()].is_none()) {
            self.charge_modelled(cpu, Some(Work::Tick), cpu);
            return;
        }
        self.charge_modelled(cpu, None, cpu);
        if self.platform.resched_pending(cpu) {
            // Whoever balanced for it wakes it up.
            self.interrupt(cpu);
        }
    }

    /// `cpu` has called the scheduler, which picked `next`, in place of `prev`: charges it.
    #[cold]
    pub(super) fn charge_schedule(
        &mut self,
        cpu: CpuId,
        prev: Option<TaskId>,
        next: Option<TaskId>,
    ) {
        let now_ns = self.now_ns;
        let Some(costs) = &mut self.costs else { return };
        costs.put_off.set(cpu.index(), NEVER);
        costs.stops_waiting(cpu);
        costs.between_operations[cpu.index()] = false;
        // Kernel time that is still to come is the next one's.
        let ahead_ns = costs.busy_until_ns[cpu.index()].saturating_sub(now_ns);
        if ahead_ns > 0 && prev.is_some() != next.is_some() {
            let row = &mut costs.overheads.cpus[cpu.index()];
            if next.is_some() {
                row.idle_ns = row.idle_ns.saturating_sub(ahead_ns);
                row.with_task_ns += ahead_ns;
            } else {
                row.with_task_ns = row.with_task_ns.saturating_sub(ahead_ns);
                row.idle_ns += ahead_ns;
            }
        }
        let refill_ps = match next {
            Some(task) if prev != next => {
                costs.refill_ps(cpu, task, self.workload.footprint_kib(task))
            }
            _ => 0,
        };
        self.charge_modelled(cpu, Some(Work::Schedule { switches: prev != next, refill_ps }), cpu);
        self.search_ends(cpu);
    }

    /// What `cpu` searches, if it does, is no longer waited for.
    fn search_ends(&mut self, cpu: CpuId) {
        if let Some(costs) = &mut self.costs {
            costs.search = costs.search.filter(|search| search.cpu != cpu);
        }
    }

    /// When `cpu` gets round to user code: now, or when it is no longer busy.
    #[inline]
    pub(super) fn user_from_ns(&self, cpu: CpuId) -> u64 {
        match &self.costs {
            None => self.now_ns,
            Some(costs) => costs.busy_until_ns[cpu.index()].max(self.now_ns),
        }
    }

    /// Whether `cpu` is busy, so that its task's next operation has to wait; if so, sees to it that
    /// it will come.
    #[inline]
    pub(super) fn next_operation_waits(&mut self, cpu: CpuId) -> bool {
        let Some(costs) = &mut self.costs else { return false };
        let busy_until_ns = costs.busy_until_ns[cpu.index()];
        if busy_until_ns <= self.now_ns {
            return false;
        }
        costs.between_operations[cpu.index()] = true;
        self.completions.set(cpu.index(), busy_until_ns);
        true
    }

    /// Whether the current task of `cpu`, back from one operation and about to begin the next, is
    /// to be switched away first.
    #[inline]
    pub(super) fn is_preempted_between_operations(&mut self, cpu: CpuId) -> bool {
        let Some(costs) = &mut self.costs else { return false };
        std::mem::take(&mut costs.between_operations[cpu.index()])
            && self.platform.resched_pending(cpu)
    }

    /// The earliest time at which a reschedule that was put off is due.
    #[inline]
    pub(super) fn next_put_off_ns(&self) -> u64 {
        self.costs.as_ref().map_or(NEVER, |costs| costs.put_off.earliest())
    }

    /// Reschedules that are due now are asked for anyway; they are not put off any longer.
    #[inline]
    pub(super) fn take_due_reschedules(&mut self) {
        if let Some(costs) = &mut self.costs {
            while costs.put_off.earliest() <= self.now_ns {
                let slot = costs.put_off.earliest_slot();
                costs.put_off.set(slot, NEVER);
            }
        }
    }

    /// As [`reschedules`](Machine::reschedules), where CPUs that are busy put it off.
    #[cold]
    pub(super) fn reschedules_when_free(&mut self) {
        if let Some(Search { cpu, ends_ns, .. }) =
            self.costs.as_ref().and_then(|costs| costs.search)
            && ends_ns <= self.now_ns
        {
            self.reschedule_with_lock(cpu);
        }
        let (mut from, mut some) = (0, false);
        loop {
            match self.platform.next_resched(from) {
                Some(cpu) => match self.whose_turn(cpu) {
                    Some(first) => {
                        self.reschedule_with_lock(first);
                        some = true;
                        // One that had to let another go first asks again.
                        from = cpu.0 + u32::from(first == cpu);
                    }
                    None => from = cpu.0 + 1,
                },
                None if !some => break,
                None => (from, some) = (0, false),
            }
        }
    }

    fn reschedule_with_lock(&mut self, cpu: CpuId) {
        self.falls_asleep(cpu);
        self.reschedule(cpu);
        self.search_ends(cpu);
    }

    /// Which CPU reschedules now that `cpu` is asked to: it, or one that has waited longer for the
    /// lock. None: it is busy, and does so later. If its task has blocked it does so at once: the
    /// task itself called.
    fn whose_turn(&mut self, cpu: CpuId) -> Option<CpuId> {
        let Some(costs) = &mut self.costs else { return Some(cpu) };
        let now_ns = self.now_ns;
        let runs_on = self.current[cpu.index()]
            .is_none_or(|task| self.tasks[task.index()].state == TaskState::Running);
        let is_online = self.online.contains(cpu);
        if !runs_on || !is_online {
            return Some(cpu);
        }
        let busy_until_ns = costs.busy_until_ns[cpu.index()];
        if busy_until_ns > now_ns {
            costs.put_off.set(cpu.index(), busy_until_ns);
            return None;
        }
        if let Some(stops) = &mut costs.stops {
            let at_ns = stops.next_ns(cpu, now_ns);
            if at_ns > now_ns {
                costs.put_off.set(cpu.index(), at_ns);
                return None;
            }
        }
        if costs.locking == Locking::PerCpu {
            return Some(cpu);
        }
        let since_ns = costs.waits_since_ns[cpu.index()].min(now_ns);
        if costs.locks[0].free_at_ns <= now_ns {
            // Processors get the bus in turn.
            let first = costs.waits_longer(now_ns, since_ns).unwrap_or(cpu);
            if !self.searches(first) {
                return Some(first);
            }
            if first == cpu {
                return None;
            }
        }
        let Some(costs) = &mut self.costs else { return None };
        if std::mem::replace(&mut costs.waits_since_ns[cpu.index()], since_ns) == NEVER {
            costs.waiting += 1;
            costs.overheads.contended += 1;
        }
        let spin_ps = (costs.locks[0].free_at_ns - now_ns) * 1000;
        costs.overheads.cpus[cpu.index()].add(Overhead::Spin, spin_ps);
        self.spend(cpu, Bill { before_ps: spin_ps, ..Bill::default() }, cpu);
        if let Some(costs) = &mut self.costs {
            costs.put_off.set(cpu.index(), costs.busy_until_ns[cpu.index()]);
        }
        None
    }

    /// `cpu` has the one lock: if there is something to search it begins to, and reschedules when
    /// it has done. Interrupts are off until then: a tick finds the task that is going to be
    /// replaced.
    fn searches(&mut self, cpu: CpuId) -> bool {
        let leaves =
            self.current[cpu.index()].is_some_and(|task| self.coming_sleep(task).is_some());
        let tasks = self.scheduler.inspect().scan_len().saturating_sub(u64::from(leaves));
        let Some(costs) = &mut self.costs else { return false };
        let search_ps = costs.search_ps(tasks);
        if search_ps == 0 {
            return false;
        }
        costs.stops_waiting(cpu);
        let row = &mut costs.overheads.cpus[cpu.index()];
        row.add(Overhead::Scan, search_ps);
        let pick_ps = costs.overheads.charged.times(Cost::Pick, 1, &costs.kernel);
        row.add(Overhead::Pick, pick_ps);
        let inside_ps = search_ps + pick_ps;
        self.spend(cpu, Bill { inside_ps, needs_lock: true, ..Bill::default() }, cpu);
        if let Some(costs) = &mut self.costs {
            let ends_ns = costs.busy_until_ns[cpu.index()];
            costs.put_off.set(cpu.index(), ends_ns);
            costs.search = Some(Search { cpu, ends_ns, tasks });
        }
        true
    }

    /// `task`, which runs on `cpu`, calls `schedule()` to sleep: whether that has to wait for the
    /// lock. It is runnable until then, and whoever wakes it meanwhile keeps it from sleeping.
    #[inline]
    pub(super) fn sleep_waits(&mut self, cpu: CpuId, task: TaskId, sleep: Sleep) -> bool {
        let Some(costs) = &mut self.costs else { return false };
        let waits = costs.locking == Locking::Global
            && (costs.waiting > 0
                || costs.locks[0].free_at_ns > self.now_ns
                || costs.search_ps(self.scheduler.inspect().scan_len()) > 0);
        if waits {
            if task.index() >= costs.falling_asleep.len() {
                costs.falling_asleep.resize((task.index() + 1).next_power_of_two(), None);
            }
            costs.falling_asleep[task.index()] = Some(sleep);
            self.platform.resched(cpu);
        }
        waits
    }

    /// Takes the sleep that `task` is about to begin, if it is.
    #[inline]
    pub(super) fn take_sleep(&mut self, task: TaskId) -> Option<Sleep> {
        self.costs.as_mut()?.falling_asleep.get_mut(task.index())?.take()
    }

    /// The sleep that `task` is about to begin, if it is.
    pub(super) fn coming_sleep(&self, task: TaskId) -> Option<Sleep> {
        *self.costs.as_ref()?.falling_asleep.get(task.index())?
    }

    /// The task that runs on `cpu` has the lock: if it was about to sleep, and has not been woken
    /// since, it does.
    fn falls_asleep(&mut self, cpu: CpuId) {
        let Some(task) = self.current[cpu.index()] else { return };
        if let Some(Sleep { until_ns, reason }) = self.take_sleep(task)
            && until_ns > self.now_ns
        {
            if until_ns != NEVER {
                self.sleepers.set(task.0, until_ns);
            }
            self.block(cpu, task, reason);
        }
    }

    /// `cpu` is to reschedule in any case, as it goes off line: what it is busy with is forgotten.
    pub(super) fn free_at_once(&mut self, cpu: CpuId) {
        let now_ns = self.now_ns;
        if let Some(costs) = &mut self.costs {
            let busy = &mut costs.busy_until_ns[cpu.index()];
            let ahead_ns = busy.saturating_sub(now_ns);
            *busy = (*busy).min(now_ns);
            costs.stops_waiting(cpu);
            costs.search = costs.search.filter(|search| search.cpu != cpu);
            let row = &mut costs.overheads.cpus[cpu.index()];
            let part = if self.current[cpu.index()].is_some() {
                &mut row.with_task_ns
            } else {
                &mut row.idle_ns
            };
            *part = part.saturating_sub(ahead_ns);
            let done_ns = self.completions.get(cpu.index());
            if done_ns != NEVER {
                self.completions.set(cpu.index(), done_ns - ahead_ns);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::costs::CostModel;

    fn modelled(locking: Locking) -> Modelled {
        let mut model = CostModel::default();
        model.set("lock", 1.0).expect("it is there");
        model.set("lock_remote", 10.0).expect("it is there");
        Modelled::new(Setup::new(&model, &Topology::flat(4), None, false), locking)
    }

    fn held_until(costs: &mut Modelled, cpu: usize, free_at_ns: u64) {
        costs.locks[cpu] = Lock { free_at_ns, last_holder: Some(CpuId(3)) };
    }

    #[test]
    fn second_locks_are_waited_for_and_those_of_lower_cpus_make_one_let_go() {
        let mut costs = modelled(Locking::PerCpu);
        held_until(&mut costs, 0, 500);
        held_until(&mut costs, 2, 700);
        let cpu = CpuId(1);
        assert_eq!(costs.take_locks(cpu, 100, cpu, &[]), (0, 1000));
        // A higher one: waits with its own in hand.
        assert_eq!(costs.take_locks(cpu, 100, cpu, &[(cpu, CpuId(2))]), (600, 1000 + 11_000));
        // A lower one: takes its own a second time.
        assert_eq!(
            costs.take_locks(cpu, 100, cpu, &[(cpu, CpuId(0))]),
            (400, 1000 + 11_000 + 1000)
        );
        assert_eq!(
            costs.take_locks(cpu, 600, cpu, &[(cpu, CpuId(0))]),
            (0, 1000 + 11_000),
            "it is free"
        );
        // Both, one after the other.
        let both = [(cpu, CpuId(0)), (cpu, CpuId(2))];
        assert_eq!(costs.take_locks(cpu, 100, cpu, &both), (600, 1000 + 12_000 + 11_000));
    }

    #[test]
    fn whether_a_wakeup_loses_the_one_lock_is_drawn_from_how_long_both_take() {
        let lost = |locking, waiting, again_ps| {
            let mut costs = modelled(locking);
            costs.waiting = waiting;
            (0..10_000).filter(|_| costs.loses_lock(again_ps)).count()
        };
        // A line's way takes 10 ns. Evenly drawn up to twice of each: as likely as not, and 7 of 8
        // times if it would want the lock again after four times as long.
        assert!((4_800..5_200).contains(&lost(Locking::Global, 3, 10_000)));
        assert!((8_600..8_900).contains(&lost(Locking::Global, 3, 40_000)));
        assert_eq!(lost(Locking::Global, 3, 0), 0, "it is there at once");
        assert_eq!(lost(Locking::Global, 0, 40_000), 0, "nobody waits");
        assert_eq!(lost(Locking::PerCpu, 3, 40_000), 0);
    }

    /// The time at which the one lock is free, and that at which its holder is out of the kernel,
    /// are the same if nothing lies between, whatever parts of nanoseconds there are.
    #[test]
    fn no_part_of_a_nanosecond_decides_a_race_for_the_one_lock() {
        let cpu = CpuId(0);
        for (before_ps, inside_ps, carry_ps) in [(600, 800, 0), (600, 200, 900), (1, 1, 999)] {
            let mut costs = modelled(Locking::Global);
            costs.carry_ps[0] = carry_ps;
            let bill = Bill { before_ps, inside_ps, needs_lock: true, ..Bill::default() };
            costs.spend(100, cpu, true, bill, cpu, &[]);
            assert_eq!(costs.locks[0].free_at_ns, costs.busy_until_ns[0]);
            let bill = Bill { after_ps: 5_500, ..bill };
            costs.spend(200, cpu, true, bill, cpu, &[]);
            let behind_ns = costs.busy_until_ns[0] - costs.locks[0].free_at_ns;
            assert!((4..=6).contains(&behind_ns), "{behind_ns}");
        }
    }

    #[test]
    fn where_there_is_one_lock_there_is_no_second() {
        let mut costs = modelled(Locking::Global);
        held_until(&mut costs, 0, 500);
        let cpu = CpuId(1);
        assert_eq!(costs.take_locks(cpu, 100, CpuId(3), &[(cpu, CpuId(2))]), (400, 11_000));
    }

    #[test]
    fn what_is_less_than_a_nanosecond_is_not_lost() {
        let mut costs = modelled(Locking::Global);
        let bill = Bill { before_ps: 400, ..Bill::default() };
        let mut spend = || costs.spend(0, CpuId(0), true, bill, CpuId(0), &[]);
        assert_eq!([spend(), spend(), spend(), spend(), spend()], [0, 0, 1, 0, 1]);
    }

    #[test]
    fn who_touches_no_queue_takes_no_lock() {
        let mut costs = modelled(Locking::PerCpu);
        costs.kernel[Cost::Dequeue] = 5;
        let mut needs_lock =
            |counts: WorkCounts| costs.bill(CpuId(0), Work::Tick, &counts).needs_lock;
        assert!(!needs_lock(WorkCounts::default()));
        assert!(needs_lock(WorkCounts { dequeues: 1, ..WorkCounts::default() }));
    }

    #[test]
    fn where_cpus_take_turns_everything_takes_as_long_as_many_are_busy() {
        let mut model = CostModel::default();
        model.set("tick", 5.0).expect("it is there");
        let run = |cpus_take_turns, current: &[Option<TaskId>], cpu| {
            let model = CostModel { cpus_take_turns, ..model.clone() };
            let setup = Setup::new(&model, &Topology::flat(4), None, false);
            let mut costs = Modelled::new(setup, Locking::PerCpu);
            takes_turns(&mut costs, current, CpuId(cpu));
            costs.kernel[Cost::Tick]
        };
        let busy = Some(TaskId(0));
        let current = [busy, None, busy, busy];
        assert_eq!(run(true, &current, 0), 15_000);
        assert_eq!(run(true, &current, 1), 20_000, "in the kernel it is busy, too");
        assert_eq!(run(true, &[None; 4], 2), 5_000);
        assert_eq!(run(false, &current, 0), 5_000);
    }

    #[test]
    fn who_stays_on_its_cpu_does_not_pay_for_a_move() {
        let mut costs = modelled(Locking::PerCpu);
        costs.kernel[Cost::MigrateNear] = 7;
        costs.kernel[Cost::MigrateFar] = 7;
        // It starts, stays, goes, and comes back.
        let paid = [0, 0, 1, 1, 0].map(|cpu| costs.refill_ps(CpuId(cpu), TaskId(3), 0));
        assert_eq!(paid, [0, 0, 7, 0, 7]);
    }
}
