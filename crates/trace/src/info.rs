//! Contents of a recorded trace: [`Info`].

use crate::tracepoint::{Context, Record, Sink, Tracepoint};
use std::collections::{BTreeMap, BTreeSet};

/// Statistics of a CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CpuInfo {
    /// Number of events on it.
    pub events: u64,
    /// Time of the first event, ns.
    pub first_ns: u64,
    /// Time of the last event, ns.
    pub last_ns: u64,
    /// Time that tasks had it, between recorded switches, ns.
    pub busy_ns: u64,
    /// Time that it was idle, ns.
    pub idle_ns: u64,
    since: Option<(u64, u32)>,
}

/// Statistics of all tasks of a name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NameInfo {
    /// Number of tasks that had this name at their end.
    pub tasks: u64,
    /// CPU time under this name, ns.
    pub cpu_ns: u64,
    /// Number of times that a task of this name got a CPU.
    pub switches_in: u64,
    pids: BTreeSet<u32>,
}

/// Counts the contents of a trace.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Info {
    kinds: BTreeMap<&'static str, u64>,
    contexts: [u64; 4],
    cpus: BTreeMap<u32, CpuInfo>,
    names: BTreeMap<String, NameInfo>,
    running: BTreeMap<u32, String>,
}

impl Info {
    /// Returns the number of events by kind.
    pub fn kinds(&self) -> &BTreeMap<&'static str, u64> {
        &self.kinds
    }

    /// Returns the number of wakeups in a context.
    pub fn wakeups_in(&self, context: Context) -> u64 {
        self.contexts[context as usize]
    }

    /// Returns each CPU that had events.
    pub fn cpus(&self) -> &BTreeMap<u32, CpuInfo> {
        &self.cpus
    }

    /// Returns each name that had a CPU, except the idle tasks, in descending order of CPU time.
    pub fn names(&self) -> Vec<(&str, &NameInfo)> {
        let mut names: Vec<_> =
            self.names.iter().map(|(name, info)| (name.as_str(), info)).collect();
        names.sort_by_key(|(_, info)| std::cmp::Reverse(info.cpu_ns));
        names
    }

    /// Returns the questions that the trace can answer, each with what is missing for it.
    pub fn answers(&self) -> Vec<(&'static str, Option<&'static str>)> {
        let has = |kind: &str| self.kinds.contains_key(kind);
        let wakeups = has("sched_waking") || has("sched_wakeup");
        let contexts = self.contexts[Context::Unknown as usize] == 0;
        let missing = |there: bool, what: &'static str| (!there).then_some(what);
        let switches = missing(has("sched_switch"), "sched_switch");
        let woken = missing(wakeups, "sched_waking or sched_wakeup");
        vec![
            ("which task ran where and when (timehist, map, stats)", switches),
            ("how long tasks waited (latency, antagonists)", switches.or(woken)),
            ("how another scheduler would have run them (replay)", switches.or(woken)),
            (
                "whether a task or an interrupt caused a wakeup",
                missing(
                    contexts && wakeups,
                    "contexts: read perf.data or trace.dat itself, or ftrace's text with flags",
                ),
            ),
            ("parents of tasks", missing(has("sched_process_fork"), "sched_process_fork")),
            ("when programs start", missing(has("sched_process_exec"), "sched_process_exec")),
            (
                "on which CPU woken tasks were placed",
                missing(has("sched_wakeup"), "sched_wakeup (sched_waking only has the CPU before)"),
            ),
            (
                "nice values, affinity, groups, weights",
                Some("no trace has them: `schedlab record` writes them to a side file"),
            ),
        ]
    }
}

impl Sink for Info {
    fn record(&mut self, record: &Record<'_>) {
        let &Record { at_ns, cpu, context, tracepoint, .. } = record;
        *self.kinds.entry(tracepoint.name()).or_default() += 1;
        let info =
            self.cpus.entry(cpu).or_insert(CpuInfo { first_ns: at_ns, ..CpuInfo::default() });
        info.events += 1;
        info.last_ns = at_ns;
        match tracepoint {
            Tracepoint::Waking { .. } => self.contexts[context as usize] += 1,
            Tracepoint::Wakeup { .. } if !self.kinds.contains_key("sched_waking") => {
                self.contexts[context as usize] += 1;
            }
            Tracepoint::Switch { next, .. } => {
                // The time is charged to the task that the CPU was given to: where the chain of
                // switches breaks, the task that left is unknown.
                let since = info.since.replace((at_ns, next.pid));
                let name = self.running.entry(cpu).or_default();
                if let Some((since_ns, pid)) = since {
                    let ran_ns = at_ns - since_ns;
                    if pid == 0 {
                        info.idle_ns += ran_ns;
                    } else {
                        info.busy_ns += ran_ns;
                        if !self.names.contains_key(name.as_str()) {
                            self.names.insert(name.clone(), NameInfo::default());
                        }
                        if let Some(named) = self.names.get_mut(name.as_str()) {
                            named.cpu_ns += ran_ns;
                            named.switches_in += 1;
                            named.tasks += u64::from(named.pids.insert(pid));
                        }
                    }
                }
                name.clear();
                name.push_str(next.comm);
            }
            _ => {}
        }
    }

    fn lost(&mut self, _at_ns: u64, cpu: Option<u32>, _events: Option<u64>) {
        if let Some(info) = cpu.and_then(|cpu| self.cpus.get_mut(&cpu)) {
            info.since = None;
        }
    }
}
