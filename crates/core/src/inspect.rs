//! Queries about a scheduler that do not change it: tunables, promises, reasons, audits.

use crate::errno::Errno;
use crate::reason::{Candidate, RuleDoc};
use crate::{CpuId, GroupId, GroupStats, Locking, Refused, Tunable};
use alloc::string::String;
use alloc::vec::Vec;

/// Promises of an algorithm, which the checks test on every scheduler. `None`: no promise of that
/// kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Promises {
    /// Longest time that a CPU may idle while a task that may run there waits elsewhere, ns.
    pub idle_beside_waiting_ns: Option<u64>,
    /// Longest time that a runnable task of an ordinary policy waits for a CPU under the load given
    /// to [`Inspect::promises`], in the absence of real-time and `SCHED_ISO` tasks, ns.
    pub wait_ns: Option<u64>,
    /// Largest difference between the CPU times of equal CPU hogs that share one CPU, ns.
    pub hog_spread_ns: Option<u64>,
    /// While a real-time task waits, no less urgent task runs on the CPU to which it belongs
    /// ([`Scheduler::cpu_of`](crate::Scheduler::cpu_of)), once an instant is over. (Except where
    /// limits on real-time tasks apply, such as `sched_rt_runtime_us`.)
    pub real_time_first: bool,
}

/// Properties of the load on which a scheduler's promises depend.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Load {
    /// Maximum number of tasks alive at the same time.
    pub tasks: u32,
    /// Number of CPUs.
    pub cpus: u32,
    /// The worst (largest) nice value among them.
    pub nice_max: i32,
    /// The best (smallest) nice value among them.
    pub nice_min: i32,
}

/// A difference between releases of a scheduler, as one of them has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// Its name, e.g. `first_request_is_half`.
    pub name: &'static str,
    /// The question that the releases answer differently: "Whether ...".
    pub text: &'static str,
    /// Whether it is in force.
    pub is_on: bool,
    /// Whether it can be switched, by the tunable [`RULE_PREFIX`] with its name, before the first
    /// task and group.
    pub can_switch: bool,
}

/// Beginning of the names of tunables that switch a [`Difference`]. They are in no kernel, and not
/// among [`Inspect::tunables`].
pub const RULE_PREFIX: &str = "rule.";

/// Queries about a scheduler. Each has a default answer. `()` gives the defaults.
pub trait Inspect {
    /// Returns all tunables with their current values.
    fn tunables(&self) -> Vec<Tunable> {
        Vec::new()
    }

    /// Returns the differences from its other releases that have a name.
    fn differences(&self) -> Vec<Difference> {
        Vec::new()
    }

    /// Returns the promises of the algorithm under `load`.
    fn promises(&self, load: &Load) -> Promises {
        let _ = load;
        Promises::default()
    }

    /// Returns the locking scheme of its queues. (The machine decides what a lock protects and for
    /// how long. Second locks are reported with
    /// [`Platform::double_lock`](crate::Platform::double_lock).)
    fn locking(&self) -> Locking {
        Locking::PerCpu
    }

    /// Returns the distance in KiB, if any, of which the addresses that its linear scans read (one
    /// for each task) are multiples. Such addresses compete for a few lines of a cache. `None`: the
    /// addresses are arbitrary.
    fn scanned_apart_kib(&self) -> Option<u32> {
        None
    }

    /// Returns the number of tasks that the linear scan of a pick would examine now, where that
    /// scan runs under the one lock with interrupts off. `0`: there is no such scan.
    fn scan_len(&self) -> u64 {
        0
    }

    /// Returns the rules of its decisions, which refer to them by number.
    fn rules(&self) -> Vec<&RuleDoc> {
        Vec::new()
    }

    /// Adds the candidates that `cpu` would choose from if it picked now, each with the key by
    /// which it would be compared (see [`Candidate::rank`]). Called only on request.
    fn candidates(&self, cpu: CpuId, out: &mut Vec<Candidate>) {
        let _ = (cpu, out);
    }

    /// Returns the usage and throttling statistics of a group so far.
    ///
    /// # Errors
    /// If the release has no task groups, or there is no such group.
    fn group_stats(&self, group: GroupId) -> Result<GroupStats, Refused> {
        let _ = group;
        Err(Errno::NotSupported.because("this scheduler has no task groups"))
    }

    /// Returns a description of the scheduling domains that it has built for the machine (the
    /// content of `/proc/sys/kernel/sched_domain`). `None`: it has no domains.
    fn describe_domains(&self) -> Option<String> {
        None
    }

    /// Returns remarks that a reader of the run's report should know.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }

    /// Checks its own data structures for consistency: counts against lists, trees against their
    /// order. The check is slow, and meant for tests and the stress driver.
    ///
    /// # Errors
    /// A description of the inconsistency.
    fn audit(&self) -> Result<(), String> {
        Ok(())
    }
}

impl Inspect for () {}
