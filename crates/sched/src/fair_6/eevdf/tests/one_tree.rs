//! 7.3: one tree for all tasks of a CPU.

use super::{Bench, MS, nice};
use crate::fair_6::eevdf::Version;
use alloc::vec::Vec;
use schedlab_core::{Administer as _, GroupId, TaskAttr, TaskId};

/// The part of the CPU with which `task` competes, and the part that it would get now.
fn shares(bench: &Bench, task: TaskId) -> (i64, u64) {
    let fair = &bench.sched.fair;
    let e = fair.se_of(bench.pid(task));
    (fair.se[e].weight(), fair.share_of_cpu(e))
}

/// A task in the root group, and two of weights 1024 and 335 in a
/// group.
#[test]
fn a_task_competes_with_the_product_of_its_shares() {
    let mut bench = Bench::new(Version::V7_3, 1);
    let group = bench.sched.group_new(&mut bench.platform, GroupId::ROOT, 1024).unwrap();
    let within = |sched| TaskAttr { sched, group, ..TaskAttr::default() };
    let a = bench.fork(nice(0));
    let b = bench.fork_with(&within(nice(0)));
    assert_eq!(shares(&bench, b), (1 << 20, 1 << 20));
    let c = bench.fork_with(&within(nice(5)));
    let whole = 1024 + 335;
    assert_eq!(shares(&bench, a), (1 << 20, 1 << 20));
    assert_eq!(shares(&bench, c).0, (335 << 20) / whole);
    // b waits with the part that it had when it was queued, until it runs.
    let later = (1024 << 20) / whole;
    assert_eq!(shares(&bench, b), (1 << 20, later as u64));
    bench.schedule();
    let mut ran = Vec::new();
    for tick in 1..10 {
        ran.extend(bench.tick(tick * MS));
    }
    assert!(ran.contains(&b));
    assert_eq!(shares(&bench, b), (later, later as u64));
}
