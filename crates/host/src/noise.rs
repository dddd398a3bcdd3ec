//! CPU time that others used while a workload ran.

use crate::switches::{Slice, Why};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Source of the CPU time of all tasks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The root group's accounting for each CPU (cgroup v1), exact.
    Cpuacct,
    /// The root group's accounting of all CPUs together (cgroup v2), exact.
    CpuStat,
    /// `/proc/stat`, in steps of 10 ms.
    ProcStat,
}

impl Source {
    /// Returns the source in words.
    pub const fn name(self) -> &'static str {
        match self {
            Source::Cpuacct => "cpuacct.usage_percpu, exact",
            Source::CpuStat => "cpu.stat of the root group, exact",
            Source::ProcStat => "/proc/stat, in steps of 10 ms",
        }
    }
}

/// CPU time on the CPUs of a placement at a moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Reading {
    /// Time of the reading, ns.
    pub at_ns: u64,
    /// CPU time of all tasks and interrupts, ns.
    pub busy_ns: u64,
    /// Time that the hypervisor gave to other machines, ns.
    pub steal_ns: u64,
}

/// Noise in a repetition, as shares of the placement's CPUs.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Noise {
    /// CPU time of everything except the workload.
    pub foreign: f64,
    /// Time that the hypervisor gave to other machines.
    pub steal: f64,
}

impl Noise {
    /// Returns the noise between two readings on `cpus` CPUs, while the workload used
    /// `workload_ns`.
    pub fn between(before: Reading, after: Reading, workload_ns: u64, cpus: usize) -> Noise {
        let all = after.at_ns.saturating_sub(before.at_ns) as f64 * cpus as f64;
        let others = after.busy_ns.saturating_sub(before.busy_ns).saturating_sub(workload_ns);
        let share = |ns: u64| if all > 0.0 { ns as f64 / all } else { 0.0 };
        Noise {
            foreign: share(others),
            steal: share(after.steal_ns.saturating_sub(before.steal_ns)),
        }
    }

    /// Whether neither share exceeds `limit`.
    pub fn is_quiet(self, limit: f64) -> bool {
        self.foreign <= limit && self.steal <= limit
    }
}

/// Counts for each thread the number of times it was preempted without another thread of the
/// workload running on that CPU until it continued.
pub fn preempted_by_others(threads: &[&[Slice]]) -> Vec<u64> {
    // Beginnings of slices by CPU, with the thread.
    let mut starts: BTreeMap<u32, Vec<(u64, usize)>> = BTreeMap::new();
    for (thread, slices) in threads.iter().enumerate() {
        for slice in *slices {
            starts.entry(slice.cpu).or_default().push((slice.start_ns, thread));
        }
    }
    for list in starts.values_mut() {
        list.sort_unstable();
    }
    let of_thread = |(thread, slices): (usize, &&[Slice])| {
        let pairs = slices.iter().zip(slices.iter().skip(1));
        let by_others = |&(slice, next): &(&Slice, &Slice)| {
            let there = &starts[&slice.cpu];
            let from = there.partition_point(|&(at_ns, _)| at_ns < slice.end_ns);
            let until = there[from..].iter().take_while(|&&(at_ns, _)| at_ns < next.start_ns);
            slice.why == Why::Preempted && !until.into_iter().any(|&(_, who)| who != thread)
        };
        pairs.filter(by_others).count() as u64
    };
    threads.iter().enumerate().map(of_thread).collect()
}

/// Nanoseconds in a step of `/proc/stat` (USER_HZ is 100 on all relevant architectures).
const STEP_NS: u64 = 10_000_000;

/// Returns the busy time and steal time of these CPUs from the text of `/proc/stat`, ns. `None`: a
/// CPU is missing, or the text has another format.
pub fn of_proc_stat(text: &str, cpus: &[u32]) -> Option<(u64, u64)> {
    let mut sum = (0, 0);
    for cpu in cpus {
        let name = format!("cpu{cpu}");
        let mut words = text.lines().find_map(|line| {
            let mut words = line.split_ascii_whitespace();
            (words.next() == Some(&*name)).then_some(words)
        })?;
        let mut next = || words.next()?.parse::<u64>().ok();
        // user, nice, system, idle, iowait, irq, softirq, steal.
        let (user, nice, system) = (next()?, next()?, next()?);
        let (_idle, _iowait) = (next()?, next()?);
        let (irq, softirq, steal) = (next()?, next()?, next()?);
        sum.0 += (user + nice + system + irq + softirq) * STEP_NS;
        sum.1 += steal * STEP_NS;
    }
    Some(sum)
}

/// Returns the CPU time of these CPUs from the text of `cpuacct.usage_percpu`, ns.
pub fn of_usage_percpu(text: &str, cpus: &[u32]) -> Option<u64> {
    let all: Vec<u64> =
        text.split_ascii_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    cpus.iter().map(|&cpu| all.get(cpu as usize)).sum()
}

/// Returns the CPU time of all CPUs from the text of the root group's `cpu.stat`, ns.
pub fn of_cpu_stat(text: &str) -> Option<u64> {
    let us = text.lines().find_map(|line| line.strip_prefix("usage_usec "))?;
    us.trim().parse::<u64>().ok()?.checked_mul(1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_the_workloads_is_foreign() {
        let before = Reading { at_ns: 1_000, busy_ns: 500, steal_ns: 7 };
        let after = Reading { at_ns: 2_000, busy_ns: 2_000, steal_ns: 27 };
        let noise = Noise::between(before, after, 1_400, 2);
        assert_eq!(noise, Noise { foreign: 0.05, steal: 0.01 });
        assert!(noise.is_quiet(0.05) && !noise.is_quiet(0.049));
        // Steps of 10 ms may count less than was used.
        assert_eq!(Noise::between(before, after, 9_000, 2).foreign, 0.0);
        assert_eq!(Noise::between(before, before, 0, 2).foreign, 0.0);
        let stolen = Noise { foreign: 0.0, steal: 0.03 };
        assert!(!stolen.is_quiet(0.02));
    }

    #[test]
    fn who_is_preempted_by_its_own_is_not_preempted_by_others() {
        let slice = |cpu, start_ns, end_ns, why| Slice { cpu, start_ns, end_ns, why };
        let a = [
            slice(0, 0, 100, Why::Preempted),   // b runs
            slice(0, 200, 300, Why::Preempted), // no thread of the workload on CPU 0
            slice(0, 400, 450, Why::Blocked),
            slice(0, 500, 600, Why::End),
        ];
        let b = [slice(0, 100, 200, Why::Blocked), slice(1, 310, 390, Why::End)];
        assert_eq!(preempted_by_others(&[&a, &b]), [1, 0]);
    }

    #[test]
    fn the_kernels_accounts_are_read() {
        let stat = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 10 1 5 100 3 2 4 6 0 0\ncpu1 1 0 0 5 0 0 0 1\n";
        assert_eq!(of_proc_stat(stat, &[0]), Some((220_000_000, 60_000_000)));
        assert_eq!(of_proc_stat(stat, &[0, 1]), Some((230_000_000, 70_000_000)));
        assert_eq!(of_proc_stat(stat, &[2]), None);
        assert_eq!(of_usage_percpu("100 200 \n", &[1]), Some(200));
        assert_eq!(of_usage_percpu("100 200 \n", &[2]), None);
        assert_eq!(of_cpu_stat("usage_usec 17\nuser_usec 3\n"), Some(17_000));
        assert_eq!(of_cpu_stat("user_usec 3\n"), None);
    }
}
