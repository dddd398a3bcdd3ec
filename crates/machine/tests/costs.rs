//! Modelled machines: kernel time is spent where and when it should be, and nothing else changes.

mod support;

use schedlab_core::{
    BlockReason, BuildConfig, CpuId, CpuSet, Release, SchedAttr, TaskAttr, TaskId, Topology,
};
use schedlab_machine::costs::{Cost, CostModel, IdleState, Overhead, Power, Setup};
use schedlab_machine::{Config, Machine, NewTask, Op, Order, RunEnd, SplitMix64, Workload};
use schedlab_sched::registry;
use std::convert::Infallible;
use support::{Books, Boxed, MS, SECOND};

const US: u64 = 1_000;

fn releases(cpus: u32) -> impl Iterator<Item = (String, &'static Release)> {
    registry::ALL.iter().flat_map(move |entry| {
        let fit = entry.releases.iter().filter(move |release| release.cpus_max >= cpus);
        fit.map(|release| (format!("{}@{}", entry.name, release.version), release))
    })
}

fn release(spec: &str) -> &'static Release {
    registry::find(spec).expect("the release is registered").1
}

/// Operations of a task in order; then the task ends.
#[derive(Clone, Debug)]
enum Do {
    Run(u64),
    RunUntil(u64),
    SleepUntil(u64),
    Block,
    Wake(u32),
    Yield,
}

/// Tasks with programs: CPUs, nice value, operations and footprint.
#[derive(Clone, Debug, Default)]
struct Scripts {
    tasks: Vec<(CpuSet, i32, Vec<Do>)>,
    at: Vec<usize>,
    footprint_kib: u32,
    /// Whether successive wakeups are one system call.
    walks: bool,
    /// Times at which tasks took their n-th operations.
    taken: Vec<(u64, u32, usize)>,
}

impl Scripts {
    fn new(tasks: Vec<(CpuSet, i32, Vec<Do>)>) -> Scripts {
        Scripts { at: vec![0; tasks.len()], tasks, ..Scripts::default() }
    }

    /// Returns all work of the programs, ns.
    fn work_ns(&self) -> u64 {
        let all = self.tasks.iter().flat_map(|(_, _, program)| program);
        all.map(|what| if let Do::Run(ns) = what { *ns } else { 0 }).sum()
    }

    fn taken(&self, task: u32, operation: usize) -> u64 {
        let found = self.taken.iter().find(|&&(_, who, which)| (who, which) == (task, operation));
        found.expect("the operation was taken").0
    }
}

impl Workload for Scripts {
    type Error = Infallible;

    fn initial_tasks(&mut self) -> Vec<NewTask> {
        let attr = |(allowed, nice, _): &(CpuSet, i32, Vec<Do>)| TaskAttr {
            sched: SchedAttr::nice(*nice),
            allowed: allowed.clone(),
            ..TaskAttr::default()
        };
        self.tasks.iter().map(|task| NewTask { attr: attr(task), start_ns: 0 }).collect()
    }

    fn next(&mut self, now_ns: u64, task: TaskId, _cpu: CpuId) -> Result<Op, Infallible> {
        let at = self.at[task.index()];
        self.at[task.index()] += 1;
        self.taken.push((now_ns, task.0, at));
        Ok(match self.tasks[task.index()].2.get(at) {
            None => Op::Exit,
            Some(&Do::Run(ns)) => Op::Run { ns },
            Some(&Do::RunUntil(until_ns)) => Op::RunUntil { until_ns },
            Some(&Do::SleepUntil(until_ns)) => {
                Op::Sleep { until_ns, reason: BlockReason::Interruptible }
            }
            Some(Do::Block) => Op::Block { reason: BlockReason::Interruptible },
            Some(&Do::Wake(target)) => Op::Wake { task: TaskId(target), sync: false },
            Some(Do::Yield) => Op::Yield,
        })
    }

    fn footprint_kib(&self, _: TaskId) -> u32 {
        self.footprint_kib
    }

    fn in_a_call(&self, task: TaskId) -> bool {
        let next = self.tasks[task.index()].2.get(self.at[task.index()]);
        self.walks && matches!(next, Some(Do::Wake(_)))
    }
}

type Ran = Machine<Boxed, Scripts, Books>;

fn build(release: &Release, cpus: u32, hz: u32) -> Boxed {
    let build = BuildConfig::flat(cpus, hz);
    release.build(&build).expect("the release can be built")
}

fn machine(release: &Release, cpus: u32, hz: u32, scripts: Scripts, costs: Option<Setup>) -> Ran {
    let config = Config::idealised(cpus, hz);
    let mut machine = Machine::new(config, build(release, cpus, hz), scripts, Books::new(cpus));
    if let Some(costs) = costs {
        machine.set_costs(costs);
    }
    machine
}

/// Returns a model with these costs, in ns. All others are zero.
fn costs(set: &[(&str, f64)]) -> CostModel {
    let mut model = CostModel::default();
    for (name, ns) in set {
        model.set(name, *ns).expect("the cost exists");
    }
    model
}

fn setup(cpus: u32, set: &[(&str, f64)]) -> Setup {
    Setup::new(&costs(set), &Topology::flat(cpus), None, false)
}

/// Returns a setup in which every operation has a cost, an odd number.
fn dear(cpus: u32) -> Setup {
    let all: Vec<(&str, f64)> = Cost::ALL
        .iter()
        .enumerate()
        .map(|(at, cost)| (cost.name(), 37.3 + 91.7 * at as f64))
        .collect();
    let mut setup = setup(cpus, &all);
    setup.caches = vec![schedlab_machine::costs::CacheLevel {
        of: schedlab_machine::costs::CacheOf::Core,
        size_kib: 256,
        refill_kib_ps: 33_333,
        ways: Some(8),
    }];
    setup
}

/// Returns random programs: runs, sleeps, wakeups, yields, and waits to be woken, with a task that
/// wakes all at the end.
fn by_chance(seed: u64, cpus: u32) -> Scripts {
    let mut random = SplitMix64::new(seed);
    let count = 3 + random.below(12) as u32;
    let mut tasks = vec![];
    for _ in 0..count {
        let allowed = match random.below(4) {
            0 => CpuSet::from_cpus([CpuId(random.below(cpus.into()) as u32)]),
            _ => CpuSet::All,
        };
        let mut program = vec![];
        for _ in 0..4 + random.below(30) {
            program.push(match random.below(7) {
                0..=2 => Do::Run(1 + random.below(6 * MS)),
                3 => Do::SleepUntil(random.below(300 * MS)),
                4 | 5 => Do::Wake(random.below(count.into()) as u32),
                _ => Do::Yield,
            });
        }
        tasks.push((allowed, random.below(10) as i32 - 5, program));
    }
    Scripts { footprint_kib: 48, ..Scripts::new(tasks) }
}

#[test]
fn where_nothing_costs_anything_everything_happens_as_on_the_idealised_machine() {
    for cpus in [1, 2, 4] {
        for (name, release) in releases(cpus) {
            for seed in 0..6 {
                let run = |costs: Option<Setup>| {
                    let mut machine =
                        machine(release, cpus, release.hz_default, by_chance(seed, cpus), costs);
                    let end = machine.run(10 * SECOND).expect("the workload cannot fail");
                    (end, machine.now_ns(), machine.counts(), machine.into_parts())
                };
                let (end, at_ns, counts, (_, scripts, books)) = run(None);
                let (other_end, other_at_ns, other_counts, (_, other_scripts, other_books)) =
                    run(Some(Setup::free(&Topology::flat(cpus))));
                assert_eq!(
                    books.switches, other_books.switches,
                    "{name}, {cpus} CPUs, seed {seed}"
                );
                assert_eq!(scripts.taken, other_scripts.taken, "{name}, {cpus} CPUs, seed {seed}");
                assert_eq!((end, at_ns, counts), (other_end, other_at_ns, other_counts), "{name}");
            }
        }
    }
}

#[test]
fn work_and_kernel_time_make_up_all_the_time_that_cpus_are_had() {
    for cpus in [1, 2, 4] {
        for (name, release) in releases(cpus) {
            for seed in 0..8 {
                let scripts = by_chance(seed, cpus);
                let work_ns = scripts.work_ns();
                let mut machine =
                    machine(release, cpus, release.hz_default, scripts, Some(dear(cpus)));
                let end = machine.run(20 * SECOND);
                assert_eq!(end, Ok(RunEnd::AllEnded), "{name}, {cpus} CPUs, seed {seed}");
                let overheads = machine.overheads().expect("the machine is modelled");
                let with_tasks: u64 = overheads.cpus.iter().map(|cpu| cpu.with_task_ns).sum();
                let had_ns = machine.observer().all_ran(machine.now_ns());
                assert_eq!(had_ns, work_ns + with_tasks, "{name}, {cpus} CPUs, seed {seed}");
                // Operations that were under way when the last task ended are in the kinds, but not
                // in the sums.
                let kinds: u64 = Overhead::ALL.iter().map(|&kind| overheads.ns(kind)).sum();
                assert!(
                    kinds + 20 >= overheads.kernel_ns(),
                    "{name}: {kinds}, {}",
                    overheads.kernel_ns()
                );
                assert!(kinds <= overheads.kernel_ns() + u64::from(cpus) * 20 * US, "{name}");
            }
        }
    }
}

#[test]
fn the_same_run_again_is_the_same_in_any_order_of_events() {
    for (name, release) in releases(4) {
        let run = |order: Order| {
            let config = Config { order, ..Config::idealised(4, release.hz_default) };
            let scheduler = build(release, 4, release.hz_default);
            let mut machine = Machine::new(config, scheduler, by_chance(3, 4), Books::new(4));
            machine.set_costs(dear(4));
            assert_eq!(machine.run(20 * SECOND), Ok(RunEnd::AllEnded), "{name}");
            (machine.overheads(), machine.into_parts().2.switches)
        };
        assert_eq!(run(Order::Golden), run(Order::Golden), "{name}");
        let shuffled = || run(Order::Shuffled(SplitMix64::new(5)));
        assert_eq!(shuffled(), shuffled(), "{name}");
    }
}

#[test]
fn who_computes_until_a_time_is_done_at_it_or_when_its_cpu_is_out_of_the_kernel() {
    let set = [("tick", 10_000.0), ("interrupt", 5_000.0)];
    let taken = |until_ns, costs: Option<Setup>| {
        let programs = vec![(
            CpuSet::All,
            0,
            vec![Do::RunUntil(until_ns), Do::RunUntil(until_ns), Do::Run(MS)],
        )];
        let mut machine = machine(release("o_1"), 1, 100, Scripts::new(programs), costs);
        assert_eq!(machine.run(2 * SECOND), Ok(RunEnd::AllEnded));
        machine.workload().taken.iter().map(|&(at_ns, ..)| at_ns).collect::<Vec<u64>>()
    };
    // The time of ticks does not delay it. (The second task is over as it begins.)
    let until_ns = 25 * MS + 333;
    let expected = [0, until_ns, until_ns, until_ns + MS];
    assert_eq!(taken(until_ns, None), expected);
    assert_eq!(taken(until_ns, Some(setup(1, &set))), expected);
    // At this time the CPU is inside a tick.
    let until_ns = 20 * MS + 7 * US;
    let out_ns = 20 * MS + 15 * US;
    assert_eq!(taken(until_ns, None), [0, until_ns, until_ns, until_ns + MS]);
    assert_eq!(taken(until_ns, Some(setup(1, &set))), [0, out_ns, out_ns, out_ns + MS]);
}

#[test]
fn ticks_take_their_time_from_whoever_runs() {
    let script = Scripts::new(vec![(CpuSet::All, 0, vec![Do::Run(SECOND)])]);
    let set = [("tick", 10_000.0), ("interrupt", 5_000.0)];
    let mut machine = machine(release("o_1"), 1, 100, script, Some(setup(1, &set)));
    assert_eq!(machine.run(2 * SECOND), Ok(RunEnd::AllEnded));
    // 100 ticks fall in the first second. The hundredth falls on its end; 1.5 ms of work are left
    // after it, without another tick.
    assert_eq!(machine.now_ns(), SECOND + 100 * 15 * US);
    assert_eq!(
        machine.overheads().expect("the machine is modelled").ns(Overhead::Tick),
        100 * 15 * US
    );
}

/// Returns when two tasks, each bound to a CPU and woken at the same time by the timer of its CPU,
/// take their next operation.
fn two_woken(spec: &str, set: &[(&str, f64)]) -> [u64; 2] {
    let task =
        |cpu| (CpuSet::from_cpus([CpuId(cpu)]), 0, vec![Do::SleepUntil(15 * MS + 1), Do::Wake(9)]);
    let script = Scripts::new((0..10).map(|cpu| task(cpu % 2)).take(2).chain(idlers()).collect());
    let mut machine =
        machine(release(spec), 2, release(spec).hz_default, script, Some(setup(2, set)));
    machine.run(SECOND).expect("the workload cannot fail");
    [0, 1].map(|task| machine.workload().taken(task, 1) - (15 * MS + 1))
}

/// Returns eight more tasks that end at once.
fn idlers() -> impl Iterator<Item = (CpuSet, i32, Vec<Do>)> {
    (0..8).map(|_| (CpuSet::All, 0, vec![]))
}

#[test]
fn one_lock_for_all_is_had_by_one_after_the_other() {
    let set = [("enqueue", 10_000.0)];
    // When the first CPU wants to pick, the second one holds the lock.
    assert_eq!(two_woken("bfs", &set), [20 * US, 20 * US]);
    assert_eq!(two_woken("o_n@2.4.22", &set), [20 * US, 20 * US]);
    assert_eq!(two_woken("sd", &set), [10 * US, 10 * US], "each has its own queue's lock");
    assert_eq!(two_woken("cfs", &set), [10 * US, 10 * US]);
    // Work outside the lock happens in parallel.
    assert_eq!(two_woken("bfs", &[("wakeup", 10_000.0)]), [10 * US, 10 * US]);
}

/// Runs `tasks`, each bound to a CPU, under 2.4 with 1 us for each task that it scans.
fn searched(tasks: Vec<Vec<Do>>) -> Ran {
    let cpus = tasks.len() as u32;
    let bound = |(cpu, program)| (CpuSet::from_cpus([CpuId(cpu as u32)]), 0, program);
    let scripts = Scripts::new(tasks.into_iter().enumerate().map(bound).collect());
    let setup = setup(cpus, &[("scan", 1000.0)]);
    let mut machine = machine(release("o_n@2.4.19"), cpus, 100, scripts, Some(setup));
    machine.run(SECOND).expect("the workload cannot fail");
    machine
}

#[test]
fn of_those_that_wait_for_the_one_lock_who_has_waited_longest_is_next() {
    let long = || vec![Do::Run(100 * US)];
    let machine = searched(vec![vec![Do::Run(US), Do::Block], long(), long()]);
    let scripts = machine.workload();
    // CPU 0 searches until 3 us, CPU 1 until 6. CPU 0 requests the lock again at 4; CPU 2 has
    // waited since 0.
    assert_eq!([0, 1, 2].map(|task| scripts.taken(task, 1)), [4 * US, 106 * US, 109 * US]);
}

#[test]
fn who_is_woken_before_its_cpu_has_the_lock_does_not_sleep() {
    let sleeper = vec![Do::Run(10 * US), Do::Block, Do::Run(US)];
    // The three begin at 3, 6 and 9 us. At 12 the third calls to sleep, and searches until 14. At
    // 13 the first calls to sleep, and spins.
    let woken_after = |ns| {
        let waker = vec![Do::Run(ns), Do::Wake(0), Do::Run(100 * US)];
        let machine = searched(vec![sleeper.clone(), waker, vec![Do::Run(3 * US), Do::Block]]);
        (machine.workload().taken(0, 2), machine.counts().switches)
    };
    // Woken at 13.5 us, it passes through a search of two tasks without effect.
    let (in_time_ns, few) = woken_after(7500);
    assert_eq!(in_time_ns, 16 * US);
    // At 16 its CPU has scanned the task that is left, and idles.
    let (late_ns, more) = woken_after(10 * US);
    assert_eq!((late_ns, more), (18 * US, few + 2));
}

#[test]
fn a_tick_during_a_search_is_that_of_the_task_that_is_replaced() {
    let programs = vec![(CpuSet::All, 0, vec![Do::Run(9_995 * US), Do::Block]); 2];
    let setup = setup(1, &[("scan", 2000.0)]);
    let mut machine = machine(release("o_n@2.4.19"), 1, 100, Scripts::new(programs), Some(setup));
    // The first is found after 4 us. The search for the other lasts from 9,999 us to 10,001.
    machine.run(10_000 * US + 1).expect("the workload cannot fail");
    let first = machine.current(CpuId(0));
    machine.run(10_002 * US).expect("the workload cannot fail");
    assert_ne!(machine.current(CpuId(0)), first);
    let mut candidates = vec![];
    machine.scheduler().inspect().candidates(CpuId(0), &mut candidates);
    let [second] = &candidates[..] else { panic!("{candidates:?}") };
    let counter = second.terms.iter().find(|term| term.name == "counter").map(|term| term.value);
    assert_eq!(counter, Some(6), "it has lost none of its ticks");
}

#[test]
fn tasks_that_fall_into_one_set_are_in_no_cache_if_they_are_more_than_its_ways() {
    let first_begins_ns = |tasks: usize| {
        let programs = vec![(CpuSet::All, 0, vec![Do::Run(US)]); tasks];
        let mut setup = setup(1, &[("scan", 10.0), ("scan_miss", 100.0)]);
        // 64 KiB with 8 ways: data that lies 8 KiB apart falls into one set.
        setup.caches = vec![schedlab_machine::costs::CacheLevel {
            of: schedlab_machine::costs::CacheOf::Core,
            size_kib: 64,
            refill_kib_ps: 0,
            ways: Some(8),
        }];
        let scripts = Scripts::new(programs);
        let mut machine = machine(release("o_n@2.4.19"), 1, 100, scripts, Some(setup));
        machine.run(SECOND).expect("the workload cannot fail");
        machine.workload().taken.iter().map(|&(ns, _, _)| ns).min()
    };
    assert_eq!(first_begins_ns(8), Some(80));
    assert_eq!(first_begins_ns(9), Some(990));
}

#[test]
fn a_lock_that_another_cpu_had_costs_more() {
    let [first, second] = two_woken("bfs", &[("lock_remote", 500.0)]);
    assert!(second >= first + 500, "{first} {second}");
}

#[test]
fn the_next_operation_waits_until_the_one_before_is_done() {
    let script = Scripts::new(vec![
        (CpuSet::All, -5, vec![Do::Run(MS), Do::Wake(1), Do::Wake(2), Do::Run(MS)]),
        (CpuSet::All, 19, vec![Do::SleepUntil(SECOND)]),
        (CpuSet::All, 19, vec![Do::SleepUntil(SECOND)]),
    ]);
    // Tasks must sleep before they can be woken, so the other two start first.
    let mut tasks = script.tasks.clone();
    tasks[0].2.insert(0, Do::SleepUntil(20 * MS));
    let mut machine = machine(
        release("o_1"),
        1,
        1000,
        Scripts::new(tasks),
        Some(setup(1, &[("wakeup", 7_000.0)])),
    );
    machine.run(SECOND).expect("the workload cannot fail");
    let taken = |operation| machine.workload().taken(0, operation);
    assert_eq!(taken(3) - taken(2), 7 * US);
    assert_eq!(taken(4) - taken(3), 7 * US);
}

#[test]
fn who_is_preempted_in_a_wakeup_is_so_at_its_end_and_before_its_next_operation() {
    let script = Scripts::new(vec![
        (
            CpuSet::All,
            10,
            vec![Do::SleepUntil(20 * MS), Do::Run(MS), Do::Wake(1), Do::SleepUntil(SECOND)],
        ),
        (CpuSet::All, -10, vec![Do::Block, Do::Run(3 * MS)]),
    ]);
    let run = |set: &[(&str, f64)]| {
        let mut machine = machine(release("o_1"), 1, 1000, script.clone(), Some(setup(1, set)));
        machine.run(SECOND).expect("the workload cannot fail");
        let taken = |task, operation| machine.workload().taken(task, operation);
        [taken(0, 3) - taken(0, 2), taken(1, 1) - taken(0, 2)]
    };
    // Without costs both happen at one instant: the waker is asleep before any task can preempt it.
    assert_eq!(run(&[]), [0, 0]);
    assert_eq!(run(&[("wakeup", 7_000.0)]), [7 * US + 3 * MS, 7 * US]);
}

#[test]
fn who_is_preempted_in_a_call_is_so_at_its_end() {
    let woken = |_| (CpuSet::All, -10, vec![Do::Block, Do::Run(3 * MS)]);
    let waker = vec![
        Do::SleepUntil(20 * MS),
        Do::Run(MS),
        Do::Wake(1),
        Do::Wake(2),
        Do::SleepUntil(SECOND),
    ];
    let mut script =
        Scripts::new([(CpuSet::All, 10, waker)].into_iter().chain((1..3).map(woken)).collect());
    let mut run = |walks| {
        script.walks = walks;
        let setup = setup(1, &[("wakeup", 7_000.0)]);
        let mut machine = machine(release("o_1"), 1, 1000, script.clone(), Some(setup));
        machine.run(SECOND).expect("the workload cannot fail");
        let taken = |task, operation| machine.workload().taken(task, operation);
        [taken(0, 3) - taken(0, 2), taken(1, 1) - taken(0, 2), taken(0, 4) - taken(0, 3)]
    };
    assert_eq!(run(false), [7 * US + 3 * MS, 7 * US, 7 * US + 3 * MS], "two system calls");
    assert_eq!(run(true), [7 * US, 14 * US, 7 * US + 6 * MS], "one system call that wakes two");
}

#[test]
fn another_cpu_is_interrupted_once_and_the_switch_comes_after_it() {
    let on = |cpu| CpuSet::from_cpus([CpuId(cpu)]);
    let script = Scripts::new(vec![
        (on(0), 0, vec![Do::SleepUntil(20 * MS + 1), Do::Wake(1), Do::Run(MS)]),
        (on(1), 0, vec![Do::Block, Do::Yield]),
    ]);
    let set = [("ipi_send", 2_000.0), ("ipi_receive", 3_000.0), ("switch", 4_000.0)];
    let mut machine = machine(release("cfs"), 2, 1000, script, Some(setup(2, &set)));
    machine.run(SECOND).expect("the workload cannot fail");
    let taken = |task, operation| machine.workload().taken(task, operation);
    assert_eq!(taken(0, 2) - taken(0, 1), 2 * US, "the sender");
    assert_eq!(taken(1, 1) - taken(0, 1), 3 * US + 4 * US, "the receiver, and its switch");
    assert_eq!(machine.overheads().expect("the machine is modelled").interrupts, 1);
}

#[test]
fn cold_caches_are_filled_after_a_switch_to_another_working_set() {
    let run = |footprint_kib: u32, sizes: &[u32]| {
        let spin = || vec![Do::Run(MS), Do::Yield, Do::Run(MS), Do::Yield, Do::Run(MS)];
        let script = Scripts {
            footprint_kib,
            ..Scripts::new(vec![(CpuSet::All, 0, spin()), (CpuSet::All, 0, spin())])
        };
        let mut setup = setup(1, &[]);
        for &size_kib in sizes {
            setup.caches.push(schedlab_machine::costs::CacheLevel {
                of: schedlab_machine::costs::CacheOf::Core,
                size_kib,
                refill_kib_ps: 100_000,
                ways: None,
            });
        }
        let mut machine = machine(release("round_robin"), 1, 100, script, Some(setup));
        machine.run(SECOND).expect("the workload cannot fail");
        machine.overheads().expect("the machine is modelled").ns(Overhead::Refill)
    };
    assert_eq!(run(64, &[]), 0, "a machine without caches has no refills");
    assert_eq!(run(64, &[256]), 2 * 6_400, "both fit: one refill each");
    assert!(run(256, &[256]) >= 2 * 25_600);
    assert_eq!(run(0, &[256]), 0);
}

/// Returns the power of an idle machine, a package with two CPUs, over a second.
fn idle_watts(hz: u32, nohz: bool) -> f64 {
    let place = |core| schedlab_core::topology::Place { core, cache: 0, package: 0, node: 0 };
    let topology = Topology::new(vec![place(0), place(1)], &[]).expect("two cores are a topology");
    let state = |name: &str, watts, residency_ns, exit_ns| IdleState {
        name: name.into(),
        watts,
        residency_ns,
        exit_ns,
    };
    let mut model = costs(&[("tick", 2_000.0), ("interrupt", 1_000.0)]);
    model.power = Some(Power {
        base_watts: 50.0,
        cpu_watts: 20.0,
        cpu_idle: vec![state("C1", 6.0, 0, 2 * US), state("C6", 1.0, 800 * US, 100 * US)],
        package_watts: 10.0,
        package_idle: vec![state("PC6", 3.0, 2 * MS, 0)],
    });
    let script = Scripts::new(vec![(CpuSet::All, 0, vec![Do::SleepUntil(SECOND)])]);
    let setup = Setup::new(&model, &topology, None, nohz);
    let mut machine = machine(release("cfs"), 2, hz, script, Some(setup));
    assert_eq!(machine.run(SECOND - 1), Ok(RunEnd::TimeUp));
    machine.energy().expect("the power of the machine is known").mean_watts
}

#[test]
fn an_idle_machine_draws_the_more_the_more_often_it_ticks() {
    let [at_1000, at_250, at_100] = [1000, 250, 100].map(|hz| idle_watts(hz, false));
    let tickless = idle_watts(1000, true);
    assert!(
        at_1000 > at_250 && at_250 > at_100 && at_100 > tickless,
        "{at_1000} {at_250} {at_100} {tickless}"
    );
    // All are asleep all the time: base, package and two CPUs in their deepest states. (The only
    // task starts and goes to sleep at 0.)
    assert!((tickless - (50.0 + 3.0 + 2.0)).abs() < 0.01, "{tickless}");
}

#[test]
fn ticks_of_idle_cpus_cost_nothing_without_ticks() {
    let ticks = |nohz| {
        let script =
            Scripts::new(vec![(CpuSet::All, 0, vec![Do::Run(MS / 2), Do::SleepUntil(SECOND)])]);
        let model = costs(&[("tick", 2_000.0)]);
        let setup = Setup::new(&model, &Topology::flat(2), None, nohz);
        let mut machine = machine(release("cfs"), 2, 1000, script, Some(setup));
        machine.run(SECOND - 1).expect("the workload cannot fail");
        machine.overheads().expect("the machine is modelled").ns(Overhead::Tick)
    };
    assert_eq!(ticks(false), 2 * 999 * 2 * US);
    assert_eq!(ticks(true), 0);
}

#[test]
fn cpus_that_are_in_the_kernel_can_go_off_line() {
    use schedlab_machine::Action;
    for (name, release) in releases(4).filter(|(name, _)| !name.starts_with("o_n")) {
        let mut machine = support::machine(release, 4, support::World::hogs(9));
        machine.set_costs(dear(4));
        for turn in 1..40u64 {
            machine.run_to(turn * 10 * MS).expect("the workload cannot fail");
            let cpu = CpuId((turn % 4) as u32);
            let action =
                if machine.is_online(cpu) { Action::Offline(cpu) } else { Action::Online(cpu) };
            if machine.online_cpus() > 1 || action == Action::Online(cpu) {
                machine.act(&action).unwrap_or_else(|error| panic!("{name}: {error}"));
            }
            support::audit(&machine, &name);
        }
    }
}

#[test]
fn a_cpu_that_goes_off_line_forgets_what_it_is_busy_with() {
    use schedlab_machine::Action;
    // A tick each ms takes 0.4 ms. CPU 1 goes offline 0.1 ms after its fifth tick: it has spent
    // four and a quarter ticks.
    let (_, release) = registry::find("cfs").expect("the release is registered");
    assert_eq!(release.hz_default, 1000);
    let mut machine = support::machine(release, 2, support::World::hogs(2));
    machine.set_costs(setup(2, &[("tick", 400_000.0)]));
    machine.run_to(5 * MS + 100 * US).expect("the workload cannot fail");
    machine.act(&Action::Offline(CpuId(1))).expect("another CPU is online");
    machine.run_to(20 * MS).expect("the workload cannot fail");
    let overheads = machine.overheads().expect("the machine is modelled");
    assert_eq!(overheads.cpus[1].with_task_ns, 4 * 400 * US + 100 * US);
}

#[test]
fn who_sleeps_until_now_goes_on() {
    for (name, release) in releases(1) {
        let program = vec![Do::Run(MS), Do::SleepUntil(MS), Do::Run(MS)];
        let scripts = Scripts::new(vec![(CpuSet::All, 0, program)]);
        let mut machine = machine(release, 1, 1000.min(release.hz_range.1), scripts, None);
        assert_eq!(machine.run_to(SECOND), Ok(RunEnd::AllEnded), "{name}");
        let switches = &machine.observer().switches;
        assert_eq!(*switches, [(0, 0, Some(0)), (2 * MS, 0, None)], "{name}");
    }
}
