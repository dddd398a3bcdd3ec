//! Kernel threads and daemons that run on an idle machine.
//!
//! The machines of published measurements ran a whole system next to the measured programs. This is
//! a model of such a system in the form of a table (`THREADS`) of the threads that wake up, how
//! often they wake, and for how long. It models a server of 2006 to 2010 under 2.6.18 or 2.6.32
//! (CentOS 5 and 6), and the additional threads of a desktop on a notebook.
//!
//! Where a source is named, periods are defaults stated in documentation. The selection of threads
//! and the other periods are from recollection of such systems. All lengths are **assumed**: they
//! were not measured on the machines in question. `docs/benchmarks` shows the table to readers.
//!
//! Each thread wakes at every multiple of its period, shifted by a phase that is drawn once, and
//! computes for half to three halves of its length, drawn each time. All draws depend on the seed.
//!
//! Left out: `ksoftirqd/N` and `kswapd` (they wake only under network or memory load),
//! `migration/N` (the schedulers move tasks themselves), `syslogd` and `klogd` (there are no log
//! messages), and device interrupts.

use crate::benchmark::Conditions;
use crate::parameter::{Parameter, Values};
use schedlab_core::{CpuId, CpuSet, Policy, SchedAttr};
use schedlab_workload::programs::{Context, Kernel, Program, Spawn, Step};
use std::rc::Rc;

/// Machine whose threads run next to a benchmark.
pub(crate) const NOISE: Parameter = Parameter::word(
    "noise",
    &["none", "server", "notebook"],
    "none",
    "kernel threads and daemons of such a machine run next to the loops",
);

/// Thread that wakes up by itself.
struct Thread {
    name: &'static str,
    /// Whether there is one on each CPU, bound to it.
    per_cpu: bool,
    /// Whether it exists only with a desktop.
    desktop: bool,
    attr: SchedAttr,
    period_ms: u64,
    /// Mean.
    run_us: u64,
}

const fn thread(name: &'static str, (period_ms, run_us): (u64, u64)) -> Thread {
    let attr = SchedAttr::nice(0);
    Thread { name, per_cpu: false, desktop: false, attr, period_ms, run_us }
}

const fn kernel(name: &'static str, attr: SchedAttr, times: (u64, u64)) -> Thread {
    Thread { per_cpu: true, attr, ..thread(name, times) }
}

const fn desktop(name: &'static str, times: (u64, u64)) -> Thread {
    Thread { desktop: true, ..thread(name, times) }
}

/// Period in ms, and length in us.
const THREADS: [Thread; 12] = [
    // Delayed work of each CPU: its counters of virtual memory each second (`vm.stat_interval`, 1 s
    // in Documentation/sysctl/vm.txt), the caches of its slabs every other second.
    kernel("events", SchedAttr::nice(-5), (1_000, 20)),
    // Shows that the CPU is not stuck.
    kernel("watchdog", SchedAttr::realtime(Policy::Fifo, 99), (1_000, 2)),
    // Commits every 5 s (ext3's `commit`, Documentation/filesystems/ext3.txt).
    thread("kjournald", (5_000, 200)),
    // Looks for old dirty pages every 5 s (`vm.dirty_writeback_centisecs`, 500 in
    // Documentation/sysctl/vm.txt).
    thread("pdflush", (5_000, 100)),
    // Checks whether there is a disk in the drive.
    thread("hald-addon-storage", (2_000, 200)),
    thread("ntpd", (1_000, 30)),
    // Every 10 s (its manual).
    thread("irqbalance", (10_000, 1_000)),
    // Each minute (its manual).
    thread("crond", (60_000, 1_000)),
    // A blinking cursor, a clock, and the server that draws them.
    desktop("X", (100, 300)),
    desktop("gnome-terminal", (600, 300)),
    desktop("gnome-panel", (1_000, 1_000)),
    desktop("NetworkManager", (6_000, 1_000)),
];

/// Whether there is any noise.
pub(crate) fn is_on(values: &Values) -> bool {
    values.word("noise") != "none"
}

/// Returns the policies of its threads other than SCHED_OTHER.
pub(crate) fn policies(values: &Values) -> Vec<Policy> {
    if is_on(values) { vec![Policy::Other, Policy::Fifo] } else { vec![Policy::Other] }
}

/// Starts all threads, which run until `ended` reports that the benchmark is over.
pub(crate) fn start(
    os: &mut Kernel,
    values: &Values,
    conditions: &Conditions,
    ended: impl Fn() -> bool + 'static,
) {
    let ended = Rc::new(ended);
    let has_desktop = values.word("noise") == "notebook";
    for thread in THREADS.iter().filter(|it| is_on(values) && (has_desktop || !it.desktop)) {
        let one = || {
            let ended = ended.clone();
            let times = (thread.period_ms * 1_000_000, thread.run_us * 1_000);
            Spawn::new(thread.name, wakes(times, move || ended())).attr(thread.attr)
        };
        match thread.per_cpu {
            true => (0..conditions.cpus).for_each(|cpu| {
                os.start(0, one().on(CpuSet::only(CpuId(cpu))));
            }),
            false => {
                os.start(0, one());
            }
        }
    }
}

/// Wakes up with this period, and computes for about this long.
fn wakes((period_ns, run_ns): (u64, u64), ended: impl Fn() -> bool) -> impl Program {
    let mut due_ns = None;
    let mut run = true;
    move |os: &mut Context<'_>| {
        run = !run;
        if run {
            return match ended() {
                true => Step::Exit,
                false => Step::Run(run_ns / 2 + os.random().below(run_ns + 1)),
            };
        }
        let due = match due_ns {
            None => 1 + os.random().below(period_ns),
            // Missed periods are skipped.
            Some(due_ns) => {
                let missed = os.now_ns().saturating_sub(due_ns) / period_ns;
                due_ns + (missed + 1) * period_ns
            }
        };
        due_ns = Some(due);
        Step::SleepUntil(due)
    }
}
