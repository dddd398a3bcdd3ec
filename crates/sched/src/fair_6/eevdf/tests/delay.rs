//! The load that a queue publishes at a delayed dequeue.

use super::*;

/// Four CPU-bound tasks of a group on one of two CPUs. Each time one is removed, its queue's load
/// average drops by a quarter or more. When the dequeue of another one is delayed, and when that
/// one is woken before the dequeue has ended, the queue's averages are updated, but the group still
/// counts the load published before. The next tick publishes the new one.
#[test]
fn a_queue_does_not_tell_its_group_of_delays() {
    let mut bench = Bench::new(Version::V6_18, 2);
    let group = bench.sched.group_new(&mut bench.platform, GroupId::ROOT, 1024).unwrap();
    let attr = TaskAttr { group, allowed: CpuSet::only(CPU), ..TaskAttr::default() };
    let tasks = [0; 4].map(|_| bench.fork_with(&attr));
    let running = bench.settle().unwrap();
    let mut others = tasks.into_iter().filter(|&task| task != running);
    // The load of the queue, and the load published to its group.
    let loads = |bench: &Bench| {
        let fair = &bench.sched.fair;
        let q = fair.groups[group.index()].cfs_rq_on(CPU).unwrap();
        (fair.cfs_rqs[q].avg.load_avg, fair.groups[group.index()].load_avg)
    };
    let mut kill_another = |bench: &mut Bench| {
        let task = others.next().unwrap();
        bench.sched.kill(&mut bench.platform, task);
    };
    // After the first period: each counts as having always been there.
    bench.at(2 * MS);
    bench.sched.tick(&mut bench.platform, CPU);
    assert_eq!(loads(&bench), (4096, 4096));

    kill_another(&mut bench);
    bench.at(10 * MS);
    bench.sched.block(&mut bench.platform, CPU, running, BlockReason::Interruptible);
    assert!(bench.entity(running).sched_delayed);
    let (load, published) = loads(&bench);
    assert!(load < 3200 && published == 4096, "{load}, {published}");
    bench.tick(11 * MS);
    let (load, published) = loads(&bench);
    assert_eq!(published, load);

    kill_another(&mut bench);
    bench.at(20 * MS);
    assert!(bench.entity(running).sched_delayed);
    let waker = Waker::Interrupt { cpu: CPU };
    bench.sched.wake(&mut bench.platform, running, waker);
    assert!(!bench.entity(running).sched_delayed);
    let (load, still) = loads(&bench);
    assert!(load < published * 3 / 4 && still == published, "{load}, {still}, {published}");
    bench.tick(21 * MS);
    let (load, published) = loads(&bench);
    assert_eq!(published, load);
}
