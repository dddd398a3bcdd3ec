//! The state of a modelled machine: [`Modelled`].

use super::stops::Stops;
use crate::costs::caches::Residency;
use crate::costs::power::PowerMeter;
use crate::costs::walk::Walks;
use crate::costs::{Cost, KernelCosts, LatencyTable, Overheads, Setup};
use crate::order::SplitMix64;
use crate::queue::{NEVER, SlotQueue};
use schedlab_core::{BlockReason, CpuId, Locking, TaskId, Topology};

/// A runqueue lock.
#[derive(Clone, Copy, Debug)]
pub(in crate::machine) struct Lock {
    /// Time at which its holder releases it, ns.
    pub free_at_ns: u64,
    /// CPU that held it last.
    pub last_holder: Option<CpuId>,
}

/// A sleep that a task is about to begin.
#[derive(Clone, Copy, Debug)]
pub(in crate::machine) struct Sleep {
    /// End of the sleep, ns. [`NEVER`]: when the task is woken.
    pub until_ns: u64,
    /// Kind of sleep.
    pub reason: BlockReason,
}

/// A linear search for the next task that is under way.
#[derive(Clone, Copy, Debug)]
pub(in crate::machine) struct Search {
    /// CPU that searches and holds the lock.
    pub cpu: CpuId,
    /// End of the search, ns.
    pub ends_ns: u64,
    /// Number of tasks scanned.
    pub tasks: u64,
}

/// State that only a modelled machine keeps.
#[derive(Debug)]
pub(in crate::machine) struct Modelled {
    pub kernel: KernelCosts,
    /// Where CPUs take turns: `kernel` while one CPU is busy, while two are, and so on. Otherwise
    /// empty.
    pub turns: Vec<KernelCosts>,
    pub locking: Locking,
    pub nohz: bool,
    pub topology: Topology,
    pub caches: Residency,
    pub meter: Option<PowerMeter>,
    /// Time until which each CPU is in the kernel, ns. In the past: it is not in the kernel.
    pub busy_until_ns: Vec<u64>,
    /// Charged time below a nanosecond that is not yet spent, by CPU.
    pub carry_ps: Vec<u64>,
    /// One lock for all CPUs, or one for each CPU.
    pub locks: Vec<Lock>,
    /// Times at which busy CPUs will serve the reschedules that were requested.
    pub put_off: SlotQueue,
    /// Recorded times at which CPUs cannot reschedule.
    pub stops: Option<Stops>,
    /// By CPU: whether the current task has finished an operation and takes the next once the CPU
    /// is no longer busy.
    pub between_operations: Vec<bool>,
    /// Number of tasks that a scan finds in no cache. `None` if unknown.
    pub walks: Option<Walks>,
    /// Decides races for the one lock.
    pub random: SplitMix64,
    /// Latencies of timers, on a busy CPU and on an idle one.
    pub timer_latency: [Option<LatencyTable>; 2],
    /// Generator for draws from these tables.
    pub latencies: SplitMix64,
    /// Generator for the draws for timers of the scheduler.
    pub scheduler_latencies: SplitMix64,
    /// Latency of the timer whose wakeup is charged next, ps.
    pub late_ps: u64,
    /// By CPU: time since which its `schedule()` waits for the one lock, ns. [`NEVER`]: it does not
    /// wait.
    pub waits_since_ns: Vec<u64>,
    /// Number of CPUs that wait.
    pub waiting: u64,
    /// Search that is under way under the one lock.
    pub search: Option<Search>,
    /// By task: the sleep that it begins once it has searched for a successor, unless it is woken
    /// before.
    pub pending_sleeps: Vec<Option<Sleep>>,
    /// CPU on which each task last ran.
    pub last_cpu: Vec<Option<CpuId>>,
    /// Time that the last charged CPU took to leave its idle state, ns.
    pub awake_ns: u64,
    pub overheads: Overheads,
}

/// Returns the number of CPUs that have something to run. `cpu` counts in any case, if only because
/// it is in the kernel.
pub(in crate::machine) fn busy_cpus(current: &[Option<TaskId>], cpu: CpuId) -> usize {
    let others = current.iter().enumerate().filter(|&(other, _)| other != cpu.index());
    1 + others.filter(|(_, task)| task.is_some()).count()
}

/// Scales the next charge to `cpu` by the number of busy CPUs, where CPUs take turns.
#[inline]
pub(in crate::machine) fn scale_by_turns(
    costs: &mut Modelled,
    current: &[Option<TaskId>],
    cpu: CpuId,
) {
    if !costs.turns.is_empty() {
        costs.kernel = costs.turns[busy_cpus(current, cpu) - 1];
    }
}

/// Separates the draws of latencies from the draws of races.
pub(in crate::machine) const LATENCIES: u64 = 0x6c61_7465_6e63_7921;

/// Separates the draws for timers of the scheduler from those for wakeups.
const SCHEDULER_LATENCIES: u64 = 0x6872_7469_636b_2121;

impl Modelled {
    pub(in crate::machine) fn new(setup: Setup, locking: Locking) -> Modelled {
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
            scheduler_latencies: SplitMix64::new(setup.seed ^ SCHEDULER_LATENCIES),
            late_ps: 0,
            waits_since_ns: vec![NEVER; cpus],
            waiting: 0,
            search: None,
            pending_sleeps: Vec::new(),
            last_cpu: Vec::new(),
            awake_ns: 0,
            overheads: Overheads { cpus: vec![Default::default(); cpus], ..Overheads::default() },
        }
    }

    /// Draws the latency of a timer that the scheduler arms, ns. It is that of a busy CPU, because
    /// it is unknown on which CPU the timer fires.
    #[cold]
    pub(in crate::machine) fn draw_scheduler_latency_ns(
        &mut self,
        current: &[Option<TaskId>],
    ) -> u64 {
        let Some(table) = &self.timer_latency[0] else { return 0 };
        let late_ns = table.draw_ps(&mut self.scheduler_latencies).div_ceil(1000);
        match self.turns.is_empty() {
            true => late_ns,
            false => late_ns * current.iter().flatten().count().max(1) as u64,
        }
    }

    /// Returns the time that `task` needs, apart from the switch, to continue on its new CPU.
    pub(super) fn refill_ps(&mut self, cpu: CpuId, task: TaskId, footprint_kib: u32) -> u64 {
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
