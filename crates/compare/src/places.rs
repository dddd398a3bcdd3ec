//! Places of tasks: figures of a trace, of a real or a simulated kernel, on machines with several
//! CPUs. The place of each task at a given time is chaotic there; the number of moves, the number
//! of busy CPUs, and the choices at wakeups are not.

use schedlab_core::CpuId;
use schedlab_core::topology::Topology;

/// Name in traces of everything outside the workload.
pub const OTHER: &str = "other";

/// An interval in which a task has a CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunInterval {
    /// The CPU.
    pub cpu: u32,
    /// Begin, ns.
    pub start_ns: u64,
    /// End, ns.
    pub end_ns: u64,
    /// The task: an index of [`Trace::names`].
    pub task: u32,
}

/// A wakeup.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wakeup {
    /// Time, ns.
    pub at_ns: u64,
    /// The task.
    pub task: u32,
    /// CPU on whose runqueue it was put.
    pub cpu: u32,
}

/// The task that had each CPU, from the start.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Length of the trace, ns.
    pub window_ns: u64,
    /// Names of threads.
    pub names: Vec<String>,
    /// Intervals by time.
    pub intervals: Vec<RunInterval>,
    /// Wakeups by time.
    pub wakeups: Vec<Wakeup>,
}

impl Trace {
    /// Whether it contains the time of other programs.
    pub fn has_others(&self) -> bool {
        self.intervals.iter().any(|interval| self.is_other(interval.task))
    }

    fn is_other(&self, task: u32) -> bool {
        self.names[task as usize] == OTHER
    }

    /// Returns the beginning and end of other programs' time on `cpu`, ns. Intervals shorter than 1
    /// us are left out, and adjacent intervals are merged.
    pub fn others_on(&self, cpu: u32) -> Vec<(u64, u64)> {
        const LEAST_NS: u64 = 1_000;
        let mut found: Vec<(u64, u64)> = vec![];
        let on = self
            .intervals
            .iter()
            .filter(|interval| interval.cpu == cpu && self.is_other(interval.task));
        for interval in on {
            match found.last_mut() {
                Some(last) if interval.start_ns <= last.1 => last.1 = last.1.max(interval.end_ns),
                _ => found.push((interval.start_ns, interval.end_ns)),
            }
        }
        found.retain(|&(from_ns, to_ns)| to_ns - from_ns >= LEAST_NS);
        found
    }
}

/// Figures of places in a trace.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Places {
    /// CPU changes of all threads that never sleep.
    pub hog_moves: u64,
    /// CPU changes of all threads.
    pub moves: u64,
    /// Length of the trace, ns.
    pub window_ns: u64,
    /// Mean number of CPUs that the workload keeps busy.
    pub busy_cpus: f64,
    /// Share of the time in which a core has two busy threads while another core is idle.
    pub doubled: f64,
    /// Wakeups at which the last CPU was idle, and the number of these that kept it.
    pub last_idle: (u64, u64),
    /// Wakeups at which the last CPU was busy but a CPU that shares its cache was idle, and the
    /// number of these that took such a CPU.
    pub near_idle: (u64, u64),
    /// Wakeups at which the last CPU was busy but a whole core near it was idle, and the number of
    /// these that took such a core.
    pub core_idle: (u64, u64),
}

/// Time within which a trace cannot distinguish tasks that fall asleep and wake at the moment of a
/// wakeup, ns.
const MOMENT_NS: u64 = 2_000;

impl Places {
    /// Figures of `trace` on a machine of this topology.
    pub fn of(trace: &Trace, topology: &Topology) -> Places {
        let cpus = topology.cpus() as usize;
        let mut places = Places { window_ns: trace.window_ns, ..Places::default() };
        let mut wakes = vec![0_u32; trace.names.len()];
        for wakeup in &trace.wakeups {
            wakes[wakeup.task as usize] += 1;
        }
        // The wakeup with which a thread begins does not make it a sleeper.
        let sleeps = |task: u32| wakes[task as usize] > 1;
        let mut last: Vec<Option<u32>> = vec![None; trace.names.len()];
        let mut busy_ns = 0;
        for interval in trace.intervals.iter().filter(|interval| !trace.is_other(interval.task)) {
            busy_ns += interval.end_ns.min(trace.window_ns).saturating_sub(interval.start_ns);
            let before = last[interval.task as usize].replace(interval.cpu);
            if before.is_some_and(|before| before != interval.cpu) {
                places.moves += 1;
                places.hog_moves += u64::from(!sleeps(interval.task));
            }
        }
        places.busy_cpus = busy_ns as f64 / trace.window_ns.max(1) as f64;
        places.doubled = doubled(trace, topology);
        let mut by_task: Vec<Vec<RunInterval>> = vec![vec![]; trace.names.len()];
        for interval in &trace.intervals {
            by_task[interval.task as usize].push(*interval);
        }
        // Times at which each CPU is taken: by a task that runs there, or by a task that was woken
        // to it and has not arrived.
        let mut taken: Vec<Vec<(u64, u64)>> = vec![vec![]; cpus];
        for interval in &trace.intervals {
            taken[interval.cpu as usize].push((interval.start_ns, interval.end_ns));
        }
        for wakeup in &trace.wakeups {
            let own = &by_task[wakeup.task as usize];
            let next = own.partition_point(|interval| interval.start_ns < wakeup.at_ns);
            if let Some(next) = own.get(next).filter(|next| next.cpu == wakeup.cpu) {
                taken[wakeup.cpu as usize].push((wakeup.at_ns, next.start_ns));
            }
        }
        for of_cpu in &mut taken {
            of_cpu.sort_unstable();
            let mut until_ns = 0;
            for (_, end_ns) in of_cpu {
                until_ns = until_ns.max(*end_ns);
                *end_ns = until_ns;
            }
        }
        let idles = |cpu: u32, at_ns: u64| {
            let of_cpu = &taken[cpu as usize];
            let next = of_cpu.partition_point(|&(start_ns, _)| start_ns + MOMENT_NS <= at_ns);
            next == 0 || of_cpu[next - 1].1 <= at_ns
        };
        let place = |cpu: u32| topology.place(CpuId(cpu));
        for wakeup in &trace.wakeups {
            let own = &by_task[wakeup.task as usize];
            let next = own.partition_point(|interval| interval.start_ns < wakeup.at_ns);
            let Some(before) = next.checked_sub(1).map(|at| own[at]) else { continue };
            let prev = before.cpu;
            let is_idle = |cpu: u32| idles(cpu, wakeup.at_ns);
            if is_idle(prev) {
                places.last_idle.0 += 1;
                places.last_idle.1 += u64::from(wakeup.cpu == prev);
                continue;
            }
            let near = |cpu: u32| place(cpu).cache == place(prev).cache;
            let all = || (0..cpus as u32).filter(|&cpu| near(cpu));
            if all().any(is_idle) {
                places.near_idle.0 += 1;
                places.near_idle.1 += u64::from(near(wakeup.cpu) && is_idle(wakeup.cpu));
            }
            let core_idles = |cpu: u32| {
                let mut core = (0..cpus as u32).filter(|&it| place(it).core == place(cpu).core);
                core.all(is_idle)
            };
            let has_threads = (0..cpus as u32).any(|cpu| {
                (0..cpus as u32).any(|it| it != cpu && place(it).core == place(cpu).core)
            });
            if has_threads && all().any(core_idles) {
                places.core_idle.0 += 1;
                places.core_idle.1 += u64::from(near(wakeup.cpu) && core_idles(wakeup.cpu));
            }
        }
        places
    }

    /// Returns the total of several traces; shares and means become means.
    pub fn sum(all: &[Places]) -> Places {
        let add = |(a, b): (u64, u64), (c, d): (u64, u64)| (a + c, b + d);
        let mut sum = Places::default();
        for one in all {
            sum.hog_moves += one.hog_moves;
            sum.moves += one.moves;
            sum.window_ns += one.window_ns;
            sum.busy_cpus += one.busy_cpus / all.len() as f64;
            sum.doubled += one.doubled / all.len() as f64;
            sum.last_idle = add(sum.last_idle, one.last_idle);
            sum.near_idle = add(sum.near_idle, one.near_idle);
            sum.core_idle = add(sum.core_idle, one.core_idle);
        }
        sum
    }
}

/// Returns the share of the time in which a core has two busy threads while another core is idle.
fn doubled(trace: &Trace, topology: &Topology) -> f64 {
    let cpus = topology.cpus();
    let core = |cpu: u32| topology.place(CpuId(cpu)).core;
    let cores: std::collections::BTreeSet<u32> = (0..cpus).map(core).collect();
    if cores.len() == cpus as usize {
        return 0.0;
    }
    let mut changes: Vec<(u64, bool, u32)> = vec![];
    for interval in &trace.intervals {
        changes.push((interval.start_ns, true, interval.cpu));
        changes.push((interval.end_ns, false, interval.cpu));
    }
    // Tasks that leave come before tasks that arrive.
    changes.sort_unstable();
    let mut busy = std::collections::BTreeMap::<u32, u32>::new();
    let (mut since_ns, mut sum_ns) = (0, 0);
    for (at_ns, comes, cpu) in changes {
        let at_ns = at_ns.min(trace.window_ns);
        let twice = busy.values().any(|&threads| threads > 1);
        let idle = cores.iter().any(|core| busy.get(core).is_none_or(|&threads| threads == 0));
        if twice && idle {
            sum_ns += at_ns - since_ns;
        }
        since_ns = at_ns;
        let threads = busy.entry(core(cpu)).or_default();
        *threads = if comes { *threads + 1 } else { threads.saturating_sub(1) };
    }
    sum_ns as f64 / trace.window_ns.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(intervals: &[(u32, u64, u64, u32)], wakeups: &[(u64, u32, u32)]) -> Trace {
        Trace {
            window_ns: 1_000_000,
            names: vec!["a-0".into(), "b-0".into(), OTHER.into()],
            intervals: intervals
                .iter()
                .map(|&(cpu, start_ns, end_ns, task)| RunInterval { cpu, start_ns, end_ns, task })
                .collect(),
            wakeups: wakeups
                .iter()
                .map(|&(at_ns, task, cpu)| Wakeup { at_ns, task, cpu })
                .collect(),
        }
    }

    fn threads() -> Topology {
        description(r#"{"regular": {"cores": 2, "threads": 2, "numbering": "siblings_together"}}"#)
    }

    fn description(text: &str) -> Topology {
        schedlab_machine::description::parse_topology(text).expect("the text is a topology")
    }

    #[test]
    fn moves_busy_cpus_and_doubled_cores_are_counted() {
        // `a` is on 0 and then on 2; `b` is on 1 all the time. For 400 us they share core 0, and
        // core 1 is idle.
        let intervals = [(0, 0, 400_000, 0), (1, 0, 1_000_000, 1), (2, 400_000, 900_000, 0)];
        let places = Places::of(&trace(&intervals, &[]), &threads());
        assert_eq!((places.moves, places.hog_moves), (1, 1));
        assert!((places.busy_cpus - 1.9).abs() < 1e-9);
        assert!((places.doubled - 0.4).abs() < 1e-9);
    }

    #[test]
    fn what_a_wakeup_found_and_took_is_told_apart() {
        let intervals = [
            (0, 0, 100_000, 0),
            (0, 100_000, 500_000, 1),
            (1, 200_000, 300_000, 0),
            (1, 600_000, 700_000, 0),
        ];
        // At 200 us its last CPU is taken, and it moves to the idle sibling, although core 1 is
        // completely idle; at 600 us it keeps its last CPU, which is idle.
        let wakeups = [(200_000, 0, 1), (600_000, 0, 1)];
        let places = Places::of(&trace(&intervals, &wakeups), &threads());
        assert_eq!(places.near_idle, (1, 1));
        assert_eq!(places.core_idle, (1, 0));
        assert_eq!(places.last_idle, (1, 1));
    }

    #[test]
    fn others_are_joined_and_the_shortest_left_out() {
        let intervals = [(0, 0, 500, 2), (0, 2_000, 5_000, 2), (0, 5_000, 9_000, 2), (1, 0, 50, 2)];
        let trace = trace(&intervals, &[]);
        assert_eq!(trace.others_on(0), [(2_000, 9_000)]);
        assert!(trace.others_on(1).is_empty() && trace.has_others());
    }
}
