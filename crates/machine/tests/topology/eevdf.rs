//! EEVDF's fair class on machines that are not flat.

use crate::lab::*;
use schedlab_core::{BlockReason, CpuId, CpuSet, TaskId};
use schedlab_machine::Op;

const RELEASES: [&str; 3] = ["eevdf@6.6", "eevdf@6.12", "eevdf@6.18"];

/// Returns tasks that are bound for 1 ms to the CPUs that `first` returns, and may then run
/// anywhere.
fn bound_at_first(tasks: u32, first: impl Fn(u32) -> CpuSet) -> Programs {
    let program = |task: u32| {
        let free = Op::SetAffinity { task: TaskId(task), allowed: CpuSet::All };
        (new_task(first(task), 0), vec![Op::Run { ns: MS }, free, HOG])
    };
    Programs::new((0..tasks).map(program).collect(), Vec::new())
}

/// Returns how many ms these tasks ran on each node.
fn by_node(ran: &Ran, machine: &str, tasks: std::ops::RangeInclusive<usize>) -> [u64; 2] {
    let topology = preset(machine);
    let mut nodes = [0; 2];
    for (cpu, ms) in tasks.flat_map(|task| ran.of(task)) {
        nodes[topology.place(CpuId(cpu as u32)).node as usize] += ms;
    }
    nodes
}

#[test]
fn the_laptop_has_threads_and_one_cache() {
    let text = scheduler("eevdf", &preset("laptop")).inspect().describe_domains().unwrap();
    assert!(
        text.starts_with(
            "SMT: min_interval 2 max_interval 4 ms, busy_factor 16, imbalance_pct 110, cache_nice_tries 0, flags \
             BALANCE_NEWIDLE BALANCE_EXEC BALANCE_FORK WAKE_AFFINE SHARE_CPUCAPACITY SHARE_LLC PREFER_SIBLING\n  0-1: 0 | 1\n"
        ),
        "{text}"
    );
    let mc = "MC: min_interval 16 max_interval 32 ms, busy_factor 16, imbalance_pct 117, cache_nice_tries 1, flags \
              BALANCE_NEWIDLE BALANCE_EXEC BALANCE_FORK WAKE_AFFINE SHARE_LLC PREFER_SIBLING\n  0-15: 0-1 | 2-3 |";
    assert!(text.contains(mc), "{text}");
}

#[test]
fn the_server_has_nodes() {
    let spans = spans("eevdf", &preset("server-2node"));
    assert_eq!(spans[0], "SMT");
    assert_eq!(spans[33], "MC");
    assert_eq!(spans[36..], ["NUMA", "0-63: 0-15,32-47 | 16-31,48-63"]);
    assert_eq!(crate::lab::spans("eevdf", &preset("z800-2x6"))[3..], ["NUMA", "0-11: 0-5 | 6-11"]);
}

#[test]
fn hogs_that_are_forked_have_a_core_each() {
    for (machine, hogs) in [
        ("z800-2x6", 3),
        ("z800-2x6", 12),
        ("laptop", 8),
        ("server-2node", 5),
        ("server-2node", 32),
    ] {
        for spec in RELEASES {
            let topology = preset(machine);
            let ran = run(spec, &topology, forks_hogs(hogs), 400);
            let mut cores = cores(&ran, &topology, 1..=hogs);
            cores.sort_unstable();
            cores.dedup();
            assert_eq!(cores.len(), hogs, "{spec} on {machine}: {cores:?}");
        }
    }
}

#[test]
fn hogs_that_start_on_threads_of_a_core_part() {
    // Eight hogs on the eight threads of four cores. The other four cores idle. Active balancing
    // takes one of each pair.
    for spec in RELEASES {
        let topology = preset("laptop");
        let programs = bound_at_first(8, |task| CpuSet::only(CpuId(task)));
        let ran = run(spec, &topology, programs, 1500);
        let mut cores = cores(&ran, &topology, 0..=7);
        cores.sort_unstable();
        cores.dedup();
        assert_eq!(cores.len(), 8, "{spec}: {cores:?}");
    }
}

#[test]
fn a_crowded_node_gives_to_an_idle_one() {
    for spec in RELEASES {
        let programs = bound_at_first(12, |_| CpuSet::from_cpus((0..6).map(CpuId)));
        let ran = run(spec, &preset("z800-2x6"), programs, 2000);
        let [first, second] = by_node(&ran, "z800-2x6", 0..=11);
        assert!(first > 11_000 && second > 11_000, "{spec}: {first} and {second} of 12000 ms each");
    }
}

#[test]
fn two_tasks_more_in_a_node_are_let_be() {
    for spec in RELEASES {
        // An eighth of a node's 32 CPUs: up to 4 tasks may run there next to an idle node, if the
        // imbalance is only two tasks.
        let two = bound_at_first(2, |task| CpuSet::only(CpuId(task)));
        let ran = run(spec, &preset("server-2node"), two, 1000);
        assert_eq!(by_node(&ran, "server-2node", 0..=1)[1], 0, "{spec}");
        let six = bound_at_first(6, |task| CpuSet::only(CpuId(task)));
        // They are alone on their CPUs, so each is moved only after five failed attempts in a row,
        // 64 ms apart.
        let ran = run(spec, &preset("server-2node"), six, 2000);
        let [first, second] = by_node(&ran, "server-2node", 0..=5);
        assert!(second > 2000 && first > 7000, "{spec}: {first} and {second}");
    }
}

#[test]
fn a_pair_that_wakes_each_other_stays_in_one_cache() {
    // Each works, wakes the other, and waits. The second starts in the other node, and moves over.
    for spec in RELEASES {
        let blocks = Op::Block { reason: BlockReason::Interruptible };
        let turn = |other: u32| {
            let wake = Op::Wake { task: TaskId(other), sync: true };
            [Op::Run { ns: MS / 5 }, wake, blocks.clone()]
        };
        let player = |me: u32, first: u32| {
            let mut program = vec![Op::SetAffinity { task: TaskId(me), allowed: CpuSet::All }];
            program.extend((0..500).flat_map(|_| turn(1 - me)));
            (new_task(CpuSet::only(CpuId(first)), 0), program)
        };
        let topology = preset("server-2node");
        let programs = Programs::new(vec![player(0, 0), player(1, 20)], Vec::new());
        let ran = run(spec, &topology, programs, 150);
        let caches = |task: usize| {
            let mut ms = [0; 2];
            for (cpu, ns) in ran.ns[task].iter().enumerate() {
                ms[topology.place(CpuId(cpu as u32)).node as usize] += ns / 1000;
            }
            ms
        };
        let (a, b) = (caches(0), caches(1));
        let together =
            |node: usize| a[node] * 20 > 19 * (a[0] + a[1]) && b[node] * 20 > 19 * (b[0] + b[1]);
        assert!(together(0) || together(1), "{spec}: {a:?} {b:?} us by node");
    }
}

#[test]
fn a_wakeup_prefers_a_core_that_idles_altogether() {
    // A hog on CPU 0, and from 5 ms on another one that ran there last. CPU 1 is the sibling.
    for spec in RELEASES {
        let first = (new_task(CpuSet::only(CpuId(0)), 2), vec![HOG]);
        let sleep = Op::Sleep { until_ns: 5 * MS, reason: BlockReason::Interruptible };
        let second = (new_task(CpuSet::All, 0), vec![Op::Run { ns: MS }, sleep, HOG]);
        let programs = Programs::new(vec![second, first], Vec::new());
        let ran = run(spec, &preset("laptop"), programs, 105);
        assert_eq!(ran.of(0).last(), Some(&(2, 100)), "{spec}");
    }
}
