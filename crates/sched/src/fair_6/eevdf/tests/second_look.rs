//! Balancing that searches again because all tasks of its source are pinned elsewhere.

use super::*;
use schedlab_core::topology::{Place, Topology};

/// Two caches of four CPUs. A CPU of the first cache, the only idle one or the first idle one,
/// balances the node. Its source is CPU 4, with a running task that may go to one other CPU of the
/// first cache (which becomes the destination, but has a task, and the running task has received
/// too much), and with a pinned one. So it searches again without CPU 4 if it is the new
/// destination's turn: not if another CPU is idle that has not been dropped, or if the new one is
/// not the group's first. A turn that is over counts as balanced, and the pass has not found out
/// that no other CPU has two tasks.
#[test]
fn whose_turn_it_is_is_asked_anew_before_a_second_look() {
    let place = |cpu: u32| Place { core: cpu, cache: cpu / 4, package: 0, node: 0 };
    // The busy CPUs of the first cache, the balancing CPU, the CPU to which the task may go, and
    // the result: whether there is a second search.
    let cases: [(&[u32], u32, u32, bool); 3] =
        [(&[1], 0, 1, false), (&[1, 2, 3], 0, 1, false), (&[0, 2, 3], 1, 0, true)];
    for (busy, here, other, looks_again) in cases {
        let topology = Topology::new((0..8).map(place).collect(), &[]).unwrap();
        let build = BuildConfig { topology, hz: 1000 };
        let mut bench = Bench {
            sched: Eevdf::new(Version::V6_18, &build),
            platform: build.platform(),
            tasks: 0,
        };
        let fork = |bench: &mut Bench, cpus: &[u32]| {
            let allowed = CpuSet::from_cpus(cpus.iter().copied().map(CpuId));
            let task = bench.fork_with(&TaskAttr { allowed, ..TaskAttr::default() });
            let cpu = bench.sched.cpu_of(task);
            if bench.platform.resched_pending(cpu) {
                bench.platform.clear_resched(cpu);
                bench.sched.schedule(&mut bench.platform, cpu);
            }
            (task, cpu)
        };
        busy.iter().chain(&[5, 6, 7]).for_each(|&cpu| {
            fork(&mut bench, &[cpu]);
        });
        let (runs, source) = fork(&mut bench, &[other, 4]);
        let (waits, _) = fork(&mut bench, &[4]);
        assert_eq!(source, CpuId(4));
        assert_eq!(bench.sched.core.curr(source), bench.pid(runs));
        bench.at(MS);
        bench.sched.tick(&mut bench.platform, source);

        let here = CpuId(here);
        let level = bench.sched.core.domains.of(here).last().unwrap();
        assert_eq!(bench.sched.fair.balance.domain(here, level).interval, 8);
        let looks = bench.platform.work.queues;
        bench.at(8 * MS);
        bench.sched.tick(&mut bench.platform, here);
        let looks = (bench.platform.work.queues - looks) / 8;
        // One of them is at the domain below.
        assert_eq!(looks, 2 + u64::from(looks_again), "{busy:?}");
        assert_eq!(bench.sched.fair.balance.overloaded, !looks_again, "{busy:?}");
        let state = *bench.sched.fair.balance.domain(here, level);
        assert_eq!((state.last_balance, state.interval, state.failures), (8, 16, 0), "{busy:?}");
        for task in [runs, waits] {
            assert_eq!(bench.sched.cpu_of(task), source);
        }
        bench.sched.inspect().audit().unwrap();
    }
}
