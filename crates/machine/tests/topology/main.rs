//! Schedulers on machines that are not flat: the domains that they build, where they place tasks,
//! and that they lose none.

mod eevdf;
mod lab;

use lab::*;
use schedlab_core::topology::{Place, Topology};
use schedlab_core::{
    BlockReason, CpuId, CpuSet, Event, Policy, Release, SchedAttr, Scheduler, TaskId,
};
use schedlab_machine::description::Description;
use schedlab_machine::order::{Order, SplitMix64};
use schedlab_machine::{Config, Machine, Observer, Op, RunEnd};
use schedlab_sched::registry;

// ---- the domains of 2.6.32 ----

#[test]
fn the_8_way_of_2003_is_one_domain() {
    assert_eq!(
        spans("cfs", &preset("pentium3-700x8")),
        ["CPU", "0-7: 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7"]
    );
    assert_eq!(
        scheduler("cfs", &Topology::flat(2)).inspect().describe_domains().unwrap(),
        "CPU: min_interval 1 max_interval 4 ms, busy_factor 64, imbalance_pct 125, cache_nice_tries 1, busy_idx 2 idle_idx 1 \
         newidle_idx 0 wake_idx 0 forkexec_idx 0, flags BALANCE_NEWIDLE BALANCE_EXEC BALANCE_FORK WAKE_AFFINE \
         PREFER_SIBLING\n  0-1: 0 | 1\n"
    );
    assert_eq!(
        scheduler("cfs", &Topology::flat(1)).inspect().describe_domains().unwrap(),
        "no domains: nothing to balance\n"
    );
}

#[test]
fn a_laptop_has_threads_and_cores() {
    let pairs = "0-1 | 2-3 | 4-5 | 6-7 | 8-9 | 10-11 | 12-13 | 14-15";
    let mut expected = vec!["SMT".to_string()];
    expected.extend(pairs.split(" | ").map(|pair| format!("{pair}: {}", pair.replace('-', " | "))));
    expected.extend(["MC".into(), format!("0-15: {pairs}")]);
    // The CPU level would have the same span as MC.
    assert_eq!(spans("cfs", &preset("laptop")), expected);
    let text = scheduler("cfs", &preset("laptop")).inspect().describe_domains().unwrap();
    assert!(
        text.starts_with(
            "SMT: min_interval 1 max_interval 2 ms, busy_factor 64, imbalance_pct 110, cache_nice_tries 0, busy_idx 0 \
             idle_idx 0 newidle_idx 0 wake_idx 0 forkexec_idx 0, flags BALANCE_NEWIDLE BALANCE_EXEC BALANCE_FORK \
             WAKE_AFFINE SHARE_CPUPOWER, smt_gain 1178\n"
        ),
        "{text}"
    );
}

#[test]
fn the_workstation_has_cores_and_nodes() {
    assert_eq!(
        spans("cfs", &preset("z800-2x6")),
        [
            "MC",
            "0-5: 0 | 1 | 2 | 3 | 4 | 5",
            "6-11: 6 | 7 | 8 | 9 | 10 | 11",
            "NODE",
            "0-11: 0-5 | 6-11",
        ]
    );
    let text = scheduler("cfs", &preset("z800-2x6")).inspect().describe_domains().unwrap();
    assert!(
        text.contains(
            "NODE: min_interval 8 max_interval 32 ms, busy_factor 32, imbalance_pct 125, cache_nice_tries 2, busy_idx 3 \
             idle_idx 2 newidle_idx 0 wake_idx 0 forkexec_idx 0, flags BALANCE_NEWIDLE BALANCE_EXEC BALANCE_FORK \
             WAKE_AFFINE SERIALIZE\n"
        ),
        "{text}"
    );
}

#[test]
fn the_server_has_threads_cores_and_nodes() {
    let spans = spans("cfs", &preset("server-2node"));
    assert_eq!(spans.len(), 1 + 32 + 1 + 2 + 1 + 1);
    assert_eq!(spans[1], "0,32: 0 | 32");
    assert_eq!(spans[33], "MC");
    assert!(spans[34].starts_with("0-15,32-47: 0,32 | 1,33 | 2,34 | "), "{}", spans[34]);
    assert_eq!(spans[36..], ["NODE", "0-63: 0-15,32-47 | 16-31,48-63"]);
}

#[test]
fn more_than_16_nodes_need_a_domain_of_their_own() {
    let place = |cpu| Place { core: cpu, cache: cpu, package: cpu, node: cpu };
    let distance = |a: u32, b: u32| match (a == b, a / 6 == b / 6) {
        (true, _) => 10,
        (_, true) => 15,
        _ => 30,
    };
    let machine = |nodes: u32| {
        let table: Vec<Vec<u32>> =
            (0..nodes).map(|a| (0..nodes).map(|b| distance(a, b)).collect()).collect();
        Topology::new((0..nodes).map(place).collect(), &table).unwrap()
    };
    // Twelve nodes fit into one domain, near or far.
    let twelve = spans("cfs", &machine(12));
    assert_eq!(twelve, ["NODE", "0-11: 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11"]);
    let eighteen = spans("cfs", &machine(18));
    assert_eq!(eighteen[2], "6-11: 6 | 7 | 8 | 9 | 10 | 11");
    assert_eq!(eighteen[4..], ["ALLNODES", "0-17: 0-5 | 6-11 | 12-17"]);
    let text = scheduler("cfs", &machine(18)).inspect().describe_domains().unwrap();
    assert!(
        text.contains(
            "ALLNODES: min_interval 64 max_interval 1152 ms, busy_factor 128, imbalance_pct 133, cache_nice_tries 1, \
             busy_idx 3 idle_idx 3 newidle_idx 0 wake_idx 0 forkexec_idx 0, flags BALANCE_NEWIDLE SERIALIZE\n"
        ),
        "{text}"
    );
}

// ---- where tasks run ----

#[test]
fn two_forked_hogs_go_to_different_cores_under_2_6_32() {
    for numbering in ["siblings_together", "siblings_apart"] {
        let topology = regular(1, 2, 2, numbering);
        let ran = run("cfs", &topology, forks_hogs(2), 500);
        let mut cores = cores(&ran, &topology, 1..=2);
        cores.sort_unstable();
        assert_eq!(cores, [0, 1], "{numbering}");
    }
}

#[test]
fn two_hogs_on_sibling_threads_stay_there_under_2_6_32() {
    // A lone task weighs 1024 * 1024 / 589 = 1780 on a thread, more than the imbalance of one task
    // (1024), so find_busiest_queue skips both threads. (Fixed after the release.)
    let topology = regular(1, 2, 2, "siblings_together");
    let bound_at_first = |cpu: u32| {
        let allowed = CpuSet::from_cpus([CpuId(cpu)]);
        let free = Op::SetAffinity { task: TaskId(cpu), allowed: CpuSet::All };
        (new_task(allowed, 0), vec![Op::Run { ns: MS }, free, HOG])
    };
    let programs = Programs::new(vec![bound_at_first(0), bound_at_first(1)], Vec::new());
    let ran = run("cfs", &topology, programs, 500);
    assert_eq!([ran.of(0), ran.of(1)], [[(0, 500)], [(1, 500)]]);
}

#[test]
fn four_hogs_on_a_core_of_the_laptop_spread_over_cores() {
    // With two tasks on each of two threads there is work to pull. Other cores take it.
    let topology = preset("laptop");
    let bound_at_first = |task: u32| {
        let allowed = CpuSet::from_cpus([CpuId(task % 2)]);
        let free = Op::SetAffinity { task: TaskId(task), allowed: CpuSet::All };
        (new_task(allowed, 0), vec![Op::Run { ns: MS }, free, HOG])
    };
    let programs = Programs::new((0..4).map(bound_at_first).collect(), Vec::new());
    let ran = run("cfs", &topology, programs, 500);
    let mut cores = cores(&ran, &topology, 0..=3);
    cores.sort_unstable();
    cores.dedup();
    assert!(cores.len() >= 3, "{cores:?}");
}

#[test]
fn an_idle_node_takes_from_a_crowded_one() {
    // All twelve hogs start in the first node of the workstation and may then run anywhere.
    let topology = preset("z800-2x6");
    let first_node = || CpuSet::from_cpus((0..6).map(CpuId));
    let program = |task: u32| {
        let allowed = CpuSet::All;
        let free = Op::SetAffinity { task: TaskId(task), allowed };
        (new_task(first_node(), 0), vec![Op::Run { ns: MS }, free, HOG])
    };
    let programs = Programs::new((0..12).map(program).collect(), Vec::new());
    let ran = run("cfs", &topology, programs, 2000);
    let second_node: u64 = (0..12).map(|task| ran.ns[task][6..].iter().sum::<u64>() / MS).sum();
    assert!(second_node > 6 * 1700, "{second_node} ms of 12000");
}

#[test]
fn forked_hogs_are_dealt_out_to_both_nodes() {
    let topology = preset("z800-2x6");
    let ran = run("cfs", &topology, forks_hogs(12), 300);
    for node in 0..2 {
        let cpus = 6 * node..6 * node + 6;
        let ms: u64 =
            (1..=12).map(|task| ran.ns[task][cpus.clone()].iter().sum::<u64>() / MS).sum();
        assert!(ms > 6 * 250, "node {node}: {ms} ms");
    }
}

/// Returns where a second hog goes. A hog runs on CPU 0, and from 5 ms on another one that ran
/// there last.
fn second_hog(spec: &str, topology: &Topology) -> Vec<(usize, u64)> {
    let first = (new_task(CpuSet::only(CpuId(0)), 2), vec![HOG]);
    let sleep = Op::Sleep { until_ns: 5 * MS, reason: BlockReason::Interruptible };
    let second = (new_task(CpuSet::All, 0), vec![Op::Run { ns: MS }, sleep, HOG]);
    let programs = Programs::new(vec![second, first], Vec::new());
    run(spec, topology, programs, 105).of(0)
}

#[test]
fn from_2_4_17_on_a_wholly_idle_core_is_preferred() {
    // Without hyper-threading the first CPU of those that have idled equally long is taken.
    assert_eq!(second_hog("o_n@2.4.20", &Topology::flat(4)), [(0, 1), (1, 100)]);
    let threads = regular(1, 2, 2, "siblings_together");
    assert_eq!(second_hog("o_n@2.4.20", &threads), [(0, 1), (2, 100)]);
    let apart = regular(1, 2, 2, "siblings_apart");
    assert_eq!(second_hog("o_n@2.4.20", &apart), [(0, 1), (1, 100)]);
}

#[test]
fn bfs_looks_for_an_idle_cpu_near_by() {
    for spec in ["bfs@0.404", "bfs@0.316"] {
        // The nearest idle core: on the same node, although CPU 1 has the lower number.
        let two_nodes = r#"{"format": 1, "name": "m", "topology": {"cpus": [
            {"core": 0, "package": 0, "node": 0}, {"core": 1, "package": 1, "node": 1},
            {"core": 2, "package": 0, "node": 0}, {"core": 3, "package": 1, "node": 1}
        ]}}"#;
        let two_nodes = Description::parse("m", two_nodes).unwrap().topology;
        let where_to = |topology: &Topology| second_hog(spec, topology).last().map(|&(cpu, _)| cpu);
        assert_eq!(where_to(&two_nodes), Some(2), "{spec}");
        assert_eq!(where_to(&Topology::flat(4)), Some(1), "{spec}");
        // A thread of the busy core is worse than another core.
        assert_eq!(where_to(&regular(1, 2, 2, "siblings_together")), Some(2), "{spec}");
    }
}

#[test]
fn nodes_even_out_slowly_under_2_6_0() {
    // All twelve hogs start in the first node. Idle CPUs of the second node search every 5 ms.
    let topology = preset("z800-2x6");
    let program = |task: u32| {
        let mut program = vec![Op::Run { ns: MS / 2 }];
        if task == 0 {
            // The first task releases all of them.
            program.extend(
                (0..12).map(|task| Op::SetAffinity { task: TaskId(task), allowed: CpuSet::All }),
            );
        }
        program.push(HOG);
        (new_task(CpuSet::from_cpus((0..6).map(CpuId)), 0), program)
    };
    let programs = || Programs::new((0..12).map(program).collect(), Vec::new());
    let second_node = |until_ms| {
        let ran = run("o_1@2.6.0", &topology, programs(), until_ms);
        ran.ns.iter().map(|row| row[6..].iter().sum::<u64>() / MS).sum::<u64>()
    };
    assert_eq!(second_node(4), 0, "no CPU searches before 5 ms");
    assert!(second_node(10) > 0);
    assert!(second_node(200) > 6 * 150);
}

// ---- 2.6.22, and staircase deadline on top of it ----

const OF_2_6_22: [&str; 3] = ["o_1@2.6.22", "rsdl", "sd"];

#[test]
fn releases_around_2_6_22_have_levels_too() {
    for spec in OF_2_6_22 {
        let spans = spans(spec, &preset("server-2node"));
        assert_eq!(spans[..2], ["SMT", "0,32: 0 | 32"]);
        assert_eq!(spans[36..], ["NODE", "0-63: 0-15,32-47 | 16-31,48-63"]);
        let text = scheduler(spec, &preset("server-2node")).inspect().describe_domains().unwrap();
        let node = "NODE: min_interval 8 max_interval 32 ms, busy_factor 32, imbalance_pct 125, cache_nice_tries 2, busy_idx 3 \
                    idle_idx 2 newidle_idx 0 wake_idx 1 forkexec_idx 1, flags BALANCE_EXEC BALANCE_FORK BALANCE_WAKE SERIALIZE";
        assert!(text.contains(node), "{text}");
    }
}

#[test]
fn a_core_and_a_node_get_a_task_before_any_gets_two_under_2_6_22() {
    // Two hogs on the threads of one core: one is pushed away. Four in one node: two move to the
    // other.
    for spec in OF_2_6_22 {
        let topology = preset("laptop");
        let parts = |task: u32| {
            let free = Op::SetAffinity { task: TaskId(task), allowed: CpuSet::All };
            (new_task(CpuSet::only(CpuId(task)), 0), vec![Op::Run { ns: MS }, free, HOG])
        };
        let ran = run(spec, &topology, Programs::new(vec![parts(0), parts(1)], Vec::new()), 1500);
        let where_at_last = cores(&ran, &topology, 0..=1);
        assert_ne!(where_at_last[0], where_at_last[1], "{spec}");
        let ran = run(
            spec,
            &preset("z800-2x6"),
            Programs::new((0..4).map(parts).collect(), Vec::new()),
            3000,
        );
        let second: u64 = ran.ns.iter().map(|row| row[6..].iter().sum::<u64>() / MS).sum();
        assert!((5000..=6000).contains(&second), "{spec}: {second} ms of 12000");
    }
}

#[test]
fn who_has_no_domains_says_so() {
    for spec in ["bfs", "o_n", "round_robin"] {
        assert_eq!(scheduler(spec, &preset("laptop")).inspect().describe_domains(), None);
    }
}

// ---- no task is lost ----

/// Returns a random machine of up to 24 CPUs: parts of random sizes, CPUs numbered at random,
/// distances that do or do not divide it.
fn random_topology(random: &mut SplitMix64) -> Topology {
    let nodes = 1 + random.below(4) as u32;
    let mut places = Vec::new();
    let (mut core, mut cache, mut package) = (0, 0, 0);
    for node in 0..nodes {
        for _ in 0..1 + random.below(2) {
            package += 1;
            for _ in 0..1 + random.below(2) {
                cache += 1;
                for _ in 0..1 + random.below(3) {
                    core += 1;
                    for _ in 0..1 + random.below(2) {
                        places.push(Place { core, cache, package, node });
                    }
                }
            }
        }
    }
    places.truncate(24);
    random.shuffle(&mut places);
    let mut numbers: Vec<u32> = places.iter().map(|place| place.node).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let nodes = numbers.len();
    let mut distances = vec![vec![10; nodes]; nodes];
    let pairs = (0..nodes).flat_map(|a| (0..a).map(move |b| (a, b)));
    for (a, b) in pairs {
        let distance = 15 + 5 * random.below(3) as u32;
        (distances[a][b], distances[b][a]) = (distance, distance);
    }
    Topology::new(places, &distances).unwrap()
}

/// Returns a random program that ends after some ms of CPU time.
fn random_program(random: &mut SplitMix64, cpus: u32, tasks: u32, me: u32) -> Program {
    let mut program = Vec::new();
    for _ in 0..1 + random.below(6) {
        let ns = 1 + random.below(8 * MS);
        program.push(match random.below(8) {
            0 => Op::Wake {
                task: TaskId(random.below(tasks.into()) as u32),
                sync: random.below(2) == 0,
            },
            1 => Op::Yield,
            2 => Op::SetAffinity { task: TaskId(me), allowed: random_cpus(random, cpus) },
            _ => Op::Run { ns },
        });
        program.push(Op::Run { ns });
        program.push(Op::Sleep {
            // An absolute time: some lie in the past, and then it is no sleep.
            until_ns: random.below(100 * MS),
            reason: BlockReason::Interruptible,
        });
    }
    program
}

fn random_cpus(random: &mut SplitMix64, cpus: u32) -> CpuSet {
    if random.below(3) > 0 {
        return CpuSet::All;
    }
    let some = 1 + random.below(3);
    CpuSet::from_cpus((0..some).map(|_| CpuId(random.below(cpus.into()) as u32)))
}

/// Checks that no task runs outside its affinity. (Tasks whose affinity changes are not checked.)
struct Allowed {
    masks: Vec<Option<CpuSet>>,
}

impl Observer for Allowed {
    #[inline]
    fn on(&mut self, now_ns: u64, event: Event<'_>) {
        if let Event::Switched { cpu, next, .. } = event {
            self.switched(now_ns, cpu, next);
        }
    }
}

impl Allowed {
    fn switched(&mut self, now_ns: u64, cpu: CpuId, next: Option<TaskId>) {
        if let Some(next) = next
            && let Some(mask) = &self.masks[next.index()]
        {
            assert!(
                mask.contains(cpu),
                "{next:?} runs on {cpu:?} at {now_ns} ns, allowed: {mask:?}"
            );
        }
    }
}

fn random_run(release: &Release, name: &str, seed: u64) {
    let mut random = SplitMix64::new(seed);
    let topology = random_topology(&mut random);
    let cpus = topology.cpus();
    if cpus > release.cpus_max {
        return;
    }
    let tasks = 1 + random.below(40) as u32;
    let mut masks = Vec::new();
    let scheduler = build(release, &topology);
    let honours = release.can.affinity;
    let mut initial = Vec::new();
    for me in 0..tasks {
        let allowed = if honours { random_cpus(&mut random, cpus) } else { CpuSet::All };
        let mut program = random_program(&mut random, cpus, tasks, me);
        if !honours {
            program.retain(|op| !matches!(op, Op::SetAffinity { .. }));
        }
        let changes = program.iter().any(|op| matches!(op, Op::SetAffinity { .. }));
        masks.push((!changes).then(|| allowed.clone()));
        let mut new = new_task(allowed, random.below(50));
        new.attr.sched = SchedAttr::nice(random.below(40) as i32 - 20);
        if release.policies.contains(&Policy::Fifo) && random.below(8) == 0 {
            new.attr.sched.policy = Policy::Fifo;
            new.attr.sched.rt_priority = 1 + random.below(99) as u32;
        }
        initial.push((new, program));
    }
    let mut config = Config::idealised(cpus, release.hz_default);
    if random.below(2) == 0 {
        config.order = Order::Shuffled(random.clone());
    }
    let programs = Programs::new(initial, Vec::new());
    let mut machine = Machine::new(config, scheduler, programs, Allowed { masks });
    let what = || format!("{name}@{} seed {seed} on {topology:?}", release.version);
    for step in 1..=40 {
        let Ok(end) = machine.run_to(step * 25 * MS);
        if let Err(error) = machine.scheduler().inspect().audit() {
            panic!("{}: {error}", what());
        }
        if end == RunEnd::AllEnded {
            return;
        }
    }
    let Ok(end) = machine.run_to(60_000 * MS);
    assert_eq!(end, RunEnd::AllEnded, "{}", what());
}

#[test]
fn nobody_is_lost_on_any_machine() {
    for entry in registry::ALL {
        for release in entry.releases {
            for seed in 0..100 {
                random_run(release, &entry.name, seed);
            }
        }
    }
}
