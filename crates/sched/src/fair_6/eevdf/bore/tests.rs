//! The worked examples of the algorithm's description, and inheritance.

use super::burst::Burst;
use super::releases::{Patch, with_bore};
use super::settings::Settings;
use crate::classes::testing::{Bench, Life, MS};
use crate::fair_6::eevdf::Eevdf;
use alloc::vec::Vec;
use schedlab_core::{Administer, BuildConfig, CpuId, Parent, SchedAttr, TaskAttr, TaskId};

fn bench(patch: Patch) -> Bench<Eevdf> {
    Bench::new(with_bore(patch, &BuildConfig::flat(1, 1000)), 1, 1000)
}

/// Vruntime, deadline and weight of `task`.
fn position(bench: &Bench<Eevdf>, task: TaskId) -> (i64, i64, u32) {
    let fair = &bench.sched.fair;
    let entity = &fair.se[fair.se_of(bench.sched.core.pid(task))];
    (entity.vruntime.0 as i64, entity.deadline.0 as i64, entity.weight() as u32)
}

fn burst(bench: &Bench<Eevdf>, task: TaskId) -> Burst {
    bench.sched.fair.rule.bursts.of(bench.sched.core.pid(task))
}

/// `fork` or, if `address_space` is the parent's, a new thread.
fn fork(bench: &mut Bench<Eevdf>, parent: TaskId, address_space: u32) -> TaskId {
    let attr = TaskAttr { address_space, ..TaskAttr::default() };
    bench.start(attr, Life::Hog, Parent::Task { task: parent, cpu: CpuId(0) })
}

#[test]
fn two_hogs_take_their_first_step_of_the_score() {
    let mut bench = bench(Patch::V6_5_9);
    let hogs = [0, 0].map(|nice| bench.nice(nice, Life::Hog));
    let positions = |bench: &Bench<Eevdf>| hogs.map(|hog| position(bench, hog));
    assert_eq!(positions(&bench), [(-1_048_576, -48_576, 1024); 2]);
    bench.reschedule();
    bench.run_until(16 * MS + 1);
    assert_eq!(positions(&bench)[0], (7_951_424, 9_951_424, 1024));
    assert_eq!((burst(&bench, hogs[0]).time_ns, burst(&bench, hogs[0]).penalty), (9 * MS, 27));
    bench.run_until(27 * MS + 1);
    assert_eq!(positions(&bench)[0], (13_298_156, 14_546_936, 820));
    bench.run_until(28 * MS + 1);
    assert_eq!(positions(&bench)[1], (12_835_974, 14_084_754, 820));
    bench.run_until(29 * MS + 1);
    let turns: Vec<_> = bench.slices_ms().into_iter().take(3).collect();
    assert_eq!(turns, [(0, 0.0, 1.0), (1, 1.0, 2.0), (0, 2.0, 4.0)]);
    let last: Vec<_> = bench.slices_ms().into_iter().skip_while(|turn| turn.2 < 27.5).collect();
    assert_eq!(last.first(), Some(&(1, 27.0, 29.0)));
}

#[test]
fn a_process_inherits_from_the_hub_and_a_thread_from_its_process() {
    for patch in [Patch::V6_5_9, Patch::V6_7_3] {
        let settings = Settings::new(patch, 1000);
        let mut bench = bench(patch);
        let space = |address_space| TaskAttr { address_space, ..TaskAttr::default() };
        let hog = bench.start(space(0), Life::Hog, Parent::External);
        bench.reschedule();
        bench.run_until(50 * MS + 1);
        let early = fork(&mut bench, hog, 1);
        // The caches of the root were filled at time 0.
        assert_eq!(burst(&bench, early).penalty, 0, "{patch:?}");
        let thread = fork(&mut bench, hog, 0);
        assert_eq!(burst(&bench, thread).penalty, 0, "{patch:?}");
        bench.run_until(400 * MS + 1);
        let own = burst(&bench, hog).penalty;
        assert_eq!(own, settings.penalty(burst(&bench, hog).time_ns));
        // The hog has one child and is its own hub. Relatives count with the part that is not free.
        let scores = [burst(&bench, early).penalty].map(|penalty| settings.above(penalty));
        let expected = scores[0].max(settings.above(own)) + settings.threshold();
        let late = fork(&mut bench, hog, 2);
        assert_eq!(u32::from(burst(&bench, late).penalty), expected, "{patch:?}");
        // A thread inherits the average of the threads or, if it is larger, the main thread's.
        let sum = settings.above(own) + settings.above(burst(&bench, thread).penalty);
        let expected = (sum / 2).max(settings.above(own)) + settings.threshold();
        let later = fork(&mut bench, hog, 0);
        assert_eq!(u32::from(burst(&bench, later).penalty), expected, "{patch:?}");
    }
}

#[test]
fn the_switch_takes_the_weights_back_at_once() {
    let mut bench = bench(Patch::V6_7_3);
    let hogs = [0, 5].map(|nice| bench.nice(nice, Life::Hog));
    let idle = SchedAttr { policy: schedlab_core::Policy::Idle, ..SchedAttr::default() };
    let idle =
        bench.start(TaskAttr { sched: idle, ..TaskAttr::default() }, Life::Hog, Parent::External);
    bench.reschedule();
    bench.run_until(200 * MS + 1);
    let weights = |bench: &Bench<Eevdf>| [hogs[0], hogs[1], idle].map(|it| position(bench, it).2);
    let lighter = weights(&bench);
    assert!(lighter[0] < 655 && lighter[1] < 272 && lighter[2] == 3, "{lighter:?}");
    bench.sched.set_tunable(&mut bench.platform, "sched_bore", 0).unwrap();
    assert_eq!(weights(&bench), [1024, 335, 3]);
    bench.sched.set_tunable(&mut bench.platform, "sched_bore", 1).unwrap();
    assert_eq!(weights(&bench), lighter);
}
