//! Who was where: what can be said of a trace, be it of a real kernel or of a simulated one, when
//! the machine has several CPUs. Which task is where at which time is chaotic there; how often
//! tasks move, how many CPUs are busy, and what a wakeup chooses is not.

use schedlab_core::CpuId;
use schedlab_core::topology::Topology;

/// What traces call everything that is not of the workload.
pub const OTHER: &str = "other";

/// A stretch of time on a CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stay {
    /// Where.
    pub cpu: u32,
    /// From, ns.
    pub start_ns: u64,
    /// To, ns.
    pub end_ns: u64,
    /// Who, by its place in [`Trace::names`].
    pub task: u32,
}

/// A wakeup.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wakeup {
    /// When, ns.
    pub at_ns: u64,
    /// Whose.
    pub task: u32,
    /// To which CPU's queue.
    pub cpu: u32,
}

/// Who had which CPU, from the start on.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// For so long, ns.
    pub window_ns: u64,
    /// Threads.
    pub names: Vec<String>,
    /// By time.
    pub stays: Vec<Stay>,
    /// By time.
    pub wakeups: Vec<Wakeup>,
}

impl Trace {
    /// Whether others' time is in it.
    pub fn has_others(&self) -> bool {
        self.stays.iter().any(|stay| self.is_other(stay.task))
    }

    fn is_other(&self, task: u32) -> bool {
        self.names[task as usize] == OTHER
    }

    /// Others' time on `cpu`: from, to, ns. What is shorter than 1 us is left out, and what adjoins
    /// is one.
    pub fn others_on(&self, cpu: u32) -> Vec<(u64, u64)> {
        const LEAST_NS: u64 = 1_000;
        let mut found: Vec<(u64, u64)> = vec![];
        let on = self.stays.iter().filter(|stay| stay.cpu == cpu && self.is_other(stay.task));
        for stay in on {
            match found.last_mut() {
                Some(last) if stay.start_ns <= last.1 => last.1 = last.1.max(stay.end_ns),
                _ => found.push((stay.start_ns, stay.end_ns)),
            }
        }
        found.retain(|&(from_ns, to_ns)| to_ns - from_ns >= LEAST_NS);
        found
    }
}

/// What a trace says of places.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Places {
    /// CPU changes of threads that never sleep, of all together.
    pub hog_moves: u64,
    /// The same of all threads.
    pub moves: u64,
    /// Time of which this is, ns.
    pub window_ns: u64,
    /// CPUs that the workload keeps busy, in the mean.
    pub busy_cpus: f64,
    /// Share of the time in which a core has two busy threads, and another is idle as a whole.
    pub doubled: f64,
    /// Wakeups at which the last CPU idled, and of these those that kept it.
    pub last_idle: (u64, u64),
    /// Wakeups at which the last CPU did not idle but one that shares its cache did, and of these
    /// those that took such a one.
    pub near_idle: (u64, u64),
    /// Wakeups at which the last CPU did not idle but a core near it did as a whole, and of these
    /// those that took such a core.
    pub core_idle: (u64, u64),
}

/// What of a wakeup's moment cannot be told apart in a trace: who is put to sleep and who is woken
/// within it, ns.
const MOMENT_NS: u64 = 2_000;

impl Places {
    /// Of `trace` on a machine of this shape.
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
        for stay in trace.stays.iter().filter(|stay| !trace.is_other(stay.task)) {
            busy_ns += stay.end_ns.min(trace.window_ns).saturating_sub(stay.start_ns);
            let before = last[stay.task as usize].replace(stay.cpu);
            if before.is_some_and(|before| before != stay.cpu) {
                places.moves += 1;
                places.hog_moves += u64::from(!sleeps(stay.task));
            }
        }
        places.busy_cpus = busy_ns as f64 / trace.window_ns.max(1) as f64;
        places.doubled = doubled(trace, topology);
        let mut by_task: Vec<Vec<Stay>> = vec![vec![]; trace.names.len()];
        for stay in &trace.stays {
            by_task[stay.task as usize].push(*stay);
        }
        // By CPU when it is taken: who is there, and who has been woken to it and is not there yet.
        let mut taken: Vec<Vec<(u64, u64)>> = vec![vec![]; cpus];
        for stay in &trace.stays {
            taken[stay.cpu as usize].push((stay.start_ns, stay.end_ns));
        }
        for wakeup in &trace.wakeups {
            let own = &by_task[wakeup.task as usize];
            let next = own.partition_point(|stay| stay.start_ns < wakeup.at_ns);
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
            let next = own.partition_point(|stay| stay.start_ns < wakeup.at_ns);
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

    /// The sum of several traces; shares and means become means.
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

/// Share of the time in which some core has two busy threads while another idles as a whole.
fn doubled(trace: &Trace, topology: &Topology) -> f64 {
    let cpus = topology.cpus();
    let core = |cpu: u32| topology.place(CpuId(cpu)).core;
    let cores: std::collections::BTreeSet<u32> = (0..cpus).map(core).collect();
    if cores.len() == cpus as usize {
        return 0.0;
    }
    let mut changes: Vec<(u64, bool, u32)> = vec![];
    for stay in &trace.stays {
        changes.push((stay.start_ns, true, stay.cpu));
        changes.push((stay.end_ns, false, stay.cpu));
    }
    // Who leaves comes before who arrives.
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

    fn trace(stays: &[(u32, u64, u64, u32)], wakeups: &[(u64, u32, u32)]) -> Trace {
        Trace {
            window_ns: 1_000_000,
            names: vec!["a-0".into(), "b-0".into(), OTHER.into()],
            stays: stays
                .iter()
                .map(|&(cpu, start_ns, end_ns, task)| Stay { cpu, start_ns, end_ns, task })
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
        schedlab_machine::description::parse_topology(text).expect("it is a topology")
    }

    #[test]
    fn moves_busy_cpus_and_doubled_cores_are_counted() {
        // a on 0 and then on 2; b on 1 all the time: for 400 us they share core 0, and 1 idles.
        let stays = [(0, 0, 400_000, 0), (1, 0, 1_000_000, 1), (2, 400_000, 900_000, 0)];
        let places = Places::of(&trace(&stays, &[]), &threads());
        assert_eq!((places.moves, places.hog_moves), (1, 1));
        assert!((places.busy_cpus - 1.9).abs() < 1e-9);
        assert!((places.doubled - 0.4).abs() < 1e-9);
    }

    #[test]
    fn what_a_wakeup_found_and_took_is_told_apart() {
        let stays = [
            (0, 0, 100_000, 0),
            (0, 100_000, 500_000, 1),
            (1, 200_000, 300_000, 0),
            (1, 600_000, 700_000, 0),
        ];
        // At 200 us its last CPU is taken, and it goes to the idle sibling, though core 1 is idle
        // as a whole; at 600 us it keeps its last CPU, which idles.
        let wakeups = [(200_000, 0, 1), (600_000, 0, 1)];
        let places = Places::of(&trace(&stays, &wakeups), &threads());
        assert_eq!(places.near_idle, (1, 1));
        assert_eq!(places.core_idle, (1, 0));
        assert_eq!(places.last_idle, (1, 1));
    }

    #[test]
    fn others_are_joined_and_the_shortest_left_out() {
        let stays = [(0, 0, 500, 2), (0, 2_000, 5_000, 2), (0, 5_000, 9_000, 2), (1, 0, 50, 2)];
        let trace = trace(&stays, &[]);
        assert_eq!(trace.others_on(0), [(2_000, 9_000)]);
        assert!(trace.others_on(1).is_empty() && trace.has_others());
    }
}
