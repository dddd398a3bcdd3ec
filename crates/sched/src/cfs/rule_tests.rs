//! Rules in which the releases of CFS differ, or that only a corner case shows: the floor of
//! virtual time at a dequeue, the weight of `SCHED_IDLE`, yielding alone.

use super::load_weight::{LoadWeight, calc_delta_fair};
use super::{Cfs, Version, core_2_6};
use crate::classes::ClassList;
use crate::classes::rt::RtVersion;
use crate::classes::testing::{Bench, Life, MS, State};
use schedlab_core::{
    BuildConfig, CpuId, Parent, Policy, Question, SchedAttr, Scheduler, TaskAttr, TaskId,
};

type Machine = Bench<ClassList<Cfs>>;

const CPU: CpuId = CpuId(0);

fn machine(version: Version) -> Machine {
    let config = BuildConfig::flat(1, 1000);
    Bench::new(core_2_6(version, RtVersion::V2_6_25, &config), 1, 1000)
}

fn vruntime(m: &Machine, task: TaskId) -> i64 {
    m.sched.fair.vruntime(m.sched.core.pid(task)).ns() as i64
}

fn floor(m: &Machine) -> i64 {
    m.sched.fair.min_vruntime(CPU).ns() as i64
}

#[test]
fn the_floor_follows_a_departure_from_2_6_28_on() {
    // The floor is the smaller of the running and the leftmost entity's vruntime. When the leftmost
    // entity is removed, the floor is the running one's vruntime from that moment on. Before 2.6.28
    // only a charge moves the floor, and the charge comes before the removal.
    for (version, follows) in [
        (Version::V2_6_24, false),
        (Version::V2_6_28, true),
        (Version::V2_6_29, true),
        (Version::V2_6_31, true),
        (Version::V2_6_32, true),
    ] {
        let mut m = machine(version);
        let tasks = [m.nice(0, Life::Hog), m.nice(0, Life::Hog)];
        // Between two ticks, where the running entity has passed the waiting one and has not been
        // charged for it.
        let (runs, waits) = (1..)
            .find_map(|half: u64| {
                m.run_until(half * MS + MS / 2);
                let runs = m.current[0]?;
                let waits = tasks.into_iter().find(|&task| task != runs)?;
                (vruntime(&m, runs) > vruntime(&m, waits) + MS as i64).then_some((runs, waits))
            })
            .unwrap();
        let left = vruntime(&m, waits);
        m.sched.kill(&mut m.platform, waits);
        m.kill(waits);
        let expected = if follows { vruntime(&m, runs) } else { left };
        assert_eq!(floor(&m), expected, "{}", m.sched.fair.version.name);
    }
}

#[test]
fn sched_idle_weighs_2_and_from_2_6_29_on_3() {
    let idle = SchedAttr { policy: Policy::Idle, ..SchedAttr::default() };
    let new = LoadWeight { weight: 3, inverse: 1_431_655_765 };
    let old = LoadWeight { weight: 2, inverse: 0xFFFF_FFFF_8000_0000 };
    for (version, load) in [
        (Version::V2_6_24, old),
        (Version::V2_6_28, old),
        (Version::V2_6_29, new),
        (Version::V2_6_31, new),
        (Version::V2_6_32, new),
        (Version::V3_2, new),
    ] {
        let name = version.name;
        let mut m = machine(version);
        let attr = TaskAttr { sched: idle, ..TaskAttr::default() };
        let task = m.start(attr, Life::Hog, Parent::External);
        let e = m.sched.fair.entity_of(m.sched.core.pid(task));
        assert_eq!(m.sched.fair.entities[e].load, load, "{name}");
    }
    // A millisecond is 1024/3 virtual ms. With the old inverse, it is 1024 x 10^6 x -2^31 modulo
    // 2^64, over 2^32: 2^32 - 512 x 10^6.
    assert_eq!(calc_delta_fair(MS, new), 341_333_333);
    assert_eq!(calc_delta_fair(MS, old), (1 << 32) - 512_000_000);
}

#[test]
fn in_2_6_24_a_change_to_sched_idle_keeps_the_weight() {
    let idle = |nice| SchedAttr { policy: Policy::Idle, ..SchedAttr::nice(nice) };
    for (version, weights) in
        [(Version::V2_6_24, [655, 335, 2]), (Version::V2_6_28, [2; 3]), (Version::V2_6_32, [3; 3])]
    {
        let name = version.name;
        let mut m = machine(version);
        let task = m.nice(2, Life::Hog);
        let weight_as = |m: &mut Machine, task, attr: SchedAttr| {
            m.sched.set_attr(&mut m.platform, task, &attr, CPU);
            m.sched.inspect().audit().unwrap();
            let e = m.sched.fair.entity_of(m.sched.core.pid(task));
            m.sched.fair.entities[e].load.weight
        };
        // Neither the change of policy nor a later change of nice value gives it the weight.
        assert_eq!(weight_as(&mut m, task, idle(2)), weights[0], "{name}");
        assert_eq!(weight_as(&mut m, task, idle(5)), weights[1], "{name}");
        // A task that starts with the policy has it, and keeps it.
        let attr = TaskAttr { sched: idle(0), ..TaskAttr::default() };
        let task = m.start(attr, Life::Hog, Parent::External);
        assert_eq!(weight_as(&mut m, task, idle(5)), weights[2], "{name}");
        assert_eq!(weight_as(&mut m, task, SchedAttr::nice(0)), 1024, "{name}");
    }
}

#[test]
fn sched_idle_gets_three_in_a_thousand() {
    // 3 to 1024 from 2.6.29 on: 2.9 ms of 1000, in whole slices of at least a tick.
    let mut m = machine(Version::V2_6_32);
    m.nice(0, Life::Hog);
    let idle = SchedAttr { policy: Policy::Idle, ..SchedAttr::default() };
    let attr = TaskAttr { sched: idle, ..TaskAttr::default() };
    let task = m.start(attr, Life::Hog, Parent::External);
    m.run_until(100_000 * MS);
    let ran: u64 =
        m.slices.iter().filter(|slice| slice.3 == task.0).map(|slice| slice.2 - slice.1).sum();
    // 3/1027 of 100 s is 292 ms.
    assert!((282 * MS..=302 * MS).contains(&ran), "{ran}");
}

#[test]
fn who_yields_alone_is_not_even_charged() {
    for version in [Version::V2_6_24, Version::V2_6_28, Version::V2_6_32] {
        let mut m = machine(version);
        let alone = m.nice(0, Life::Hog);
        m.run_until(MS + MS / 2);
        let before = vruntime(&m, alone);
        m.sched.yield_now(&mut m.platform, CPU, alone);
        assert_eq!(vruntime(&m, alone), before);
        // With another task it is charged: half a millisecond since the last tick.
        let mut m = machine(m.sched.fair.version);
        let tasks = [m.nice(0, Life::Hog), m.nice(0, Life::Hog)];
        m.run_until(MS + MS / 2);
        let runs = m.current[0].unwrap();
        assert!(tasks.contains(&runs));
        let before = vruntime(&m, runs);
        m.sched.yield_now(&mut m.platform, CPU, runs);
        assert_eq!(vruntime(&m, runs), before + MS as i64 / 2);
    }
}

#[test]
fn another_ordinary_policy_is_no_worse_priority() {
    let mut m = machine(Version::V2_6_32);
    let (a, b) = (m.nice(0, Life::Hog), m.nice(0, Life::Hog));
    m.run_until(MS / 2);
    let runs = m.current[0].unwrap();
    let attr = SchedAttr { policy: Policy::Batch, ..SchedAttr::default() };
    m.sched.set_attr(&mut m.platform, runs, &attr, CPU);
    assert!(!m.platform.resched_pending(CPU), "it runs on");
    // With a higher nice value it may have to leave.
    let attr = SchedAttr { policy: Policy::Batch, ..SchedAttr::nice(5) };
    m.sched.set_attr(&mut m.platform, runs, &attr, CPU);
    assert!(m.platform.resched_pending(CPU));
    let _ = (a, b);
}

#[test]
fn a_buddy_that_is_alone_is_picked_as_the_only_one() {
    use super::rules;
    let mut m = machine(Version::V2_6_32);
    let (a, b) = (m.nice(0, Life::Hog), m.nice(0, Life::Hog));
    m.reschedule();
    let runs = m.current[0].unwrap();
    let waits = if runs == a { b } else { a };
    let q = super::ids::CfsRqId::root(CPU);
    let e = m.sched.fair.entity_of(m.sched.core.pid(waits));
    m.sched.fair.queues[q].next = Some(e);
    m.block(0, runs, true, u64::MAX);
    m.reschedule();
    assert_eq!(m.current[0], Some(waits));
    assert_eq!(m.platform.rule(Question::Pick), rules::ONLY);
}

#[test]
fn who_waits_at_first_was_forked_and_not_woken() {
    use super::rules;
    let mut m = machine(Version::V2_6_32);
    m.nice(-20, Life::Hog);
    m.reschedule();
    let child = m.nice(0, Life::Periodic { run: MS, sleep: MS / 10 });
    assert_eq!(m.platform.rule(Question::Preempt), rules::START_DEBIT);
    let sleeps = |m: &Machine| m.tasks[child.index()].state == State::Asleep;
    // It sleeps so briefly that the next time it is not far enough behind.
    let step = (1..).find(|step| {
        m.run_until(step * MS / 20);
        sleeps(&m)
    });
    m.wake(child, schedlab_core::Waker::Interrupt { cpu: CPU });
    assert_ne!(m.platform.rule(Question::Preempt), rules::START_DEBIT, "{step:?}");
}

#[test]
fn what_a_task_costs_is_counted() {
    let mut m = machine(Version::V2_6_32);
    let before = m.platform.work.enqueues;
    (0..3).for_each(|_| _ = m.nice(0, Life::Hog));
    assert_eq!(m.platform.work.enqueues - before, 3);
}
