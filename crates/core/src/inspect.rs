//! What can be asked about a scheduler without changing it: tunables, promises, reasons, books.

use crate::errno::Errno;
use crate::reason::{Candidate, RuleDoc};
use crate::{CpuId, GroupId, GroupStats, Locking, Refused, Tunable};
use alloc::string::String;
use alloc::vec::Vec;

/// What an algorithm promises, for the checks that hold every scheduler to it. `None` = it promises
/// nothing of the kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Promises {
    /// The longest that a CPU may idle while a task that may run there waits elsewhere, ns.
    pub idle_beside_waiting_ns: Option<u64>,
    /// The longest that a runnable task of an ordinary policy waits for a CPU with the load given
    /// to [`Inspect::promises`], no real-time task being about, ns.
    pub wait_ns: Option<u64>,
    /// How far apart the CPU times of equal hogs that share one CPU may drift, ns.
    pub hog_spread_ns: Option<u64>,
    /// On the CPU to which a real-time task belongs while it waits
    /// ([`Scheduler::cpu_of`](crate::Scheduler::cpu_of)) nobody less urgent runs, once an instant
    /// is over. (Limits on real-time tasks apart, as `sched_rt_runtime_us`.)
    pub real_time_first: bool,
}

/// What a scheduler needs to know of the load to say what it promises.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Load {
    /// Tasks that were alive at the same time at most.
    pub tasks: u32,
    /// CPUs.
    pub cpus: u32,
    /// The worst (largest) nice value among them.
    pub nice_max: i32,
    /// The best (smallest) nice value among them.
    pub nice_min: i32,
}

/// What can be asked about a scheduler. Each answer has a default; `()` answers nothing else.
pub trait Inspect {
    /// All tunables with their present values.
    fn tunables(&self) -> Vec<Tunable> {
        Vec::new()
    }

    /// What the algorithm promises under `load`.
    fn promises(&self, load: &Load) -> Promises {
        let _ = load;
        Promises::default()
    }

    /// How its queues are locked. (What is behind a lock, and for how long, is the machine's
    /// affair; second locks are reported with
    /// [`Platform::double_lock`](crate::Platform::double_lock).)
    fn locking(&self) -> Locking {
        Locking::PerCpu
    }

    /// What its linear scans look at of each task lies at a multiple of so many KiB, if that is so:
    /// such places compete for a few lines of a cache. None: they lie anywhere.
    fn scanned_apart_kib(&self) -> Option<u32> {
        None
    }

    /// How many tasks the linear scan of a pick would look at now, where that scan is done under
    /// the one lock, with interrupts off. 0: it has none.
    fn scan_len(&self) -> u64 {
        0
    }

    /// The rules by which it decides, which its decisions name by number.
    fn rules(&self) -> Vec<&RuleDoc> {
        Vec::new()
    }

    /// Adds those among whom `cpu` would choose if it picked now, each with the key by which it
    /// would be compared (see [`Candidate::rank`]). Asked only when somebody looks.
    fn candidates(&self, cpu: CpuId, out: &mut Vec<Candidate>) {
        let _ = (cpu, out);
    }

    /// What a group has used and suffered so far.
    ///
    /// # Errors
    /// If the release has no task groups, or there is no such group.
    fn group_stats(&self, group: GroupId) -> Result<GroupStats, Refused> {
        let _ = group;
        Err(Errno::NotSupported.because("this scheduler has no task groups"))
    }

    /// The scheduling domains that it has built of the machine, in words (what
    /// `/proc/sys/kernel/sched_domain` shows); none for schedulers that have none.
    fn describe_domains(&self) -> Option<String> {
        None
    }

    /// What whoever reads a report of its run should know besides.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }

    /// Checks its own books: counts against lists, trees against their order. Slow; for tests and
    /// the stress driver.
    ///
    /// # Errors
    /// What does not add up.
    fn audit(&self) -> Result<(), String> {
        Ok(())
    }
}

impl Inspect for () {}
