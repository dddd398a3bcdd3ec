//! Locks, turns and fractions of nanoseconds on a modelled machine.

use super::bill::{Bill, Work};
use super::modelled::{Lock, Modelled, scale_by_turns};
use crate::costs::{Cost, CostModel, Setup};
use schedlab_core::{CpuId, Locking, TaskId, Topology, WorkCounts};

fn modelled(locking: Locking) -> Modelled {
    let mut model = CostModel::default();
    model.set("lock", 1.0).expect("the cost exists");
    model.set("lock_remote", 10.0).expect("the cost exists");
    Modelled::new(Setup::new(&model, &Topology::flat(4), None, false), locking)
}

fn held_until(costs: &mut Modelled, cpu: usize, free_at_ns: u64) {
    costs.locks[cpu] = Lock { free_at_ns, last_holder: Some(CpuId(3)) };
}

#[test]
fn second_locks_are_waited_for_and_those_of_lower_cpus_make_one_let_go() {
    let mut costs = modelled(Locking::PerCpu);
    held_until(&mut costs, 0, 500);
    held_until(&mut costs, 2, 700);
    let cpu = CpuId(1);
    assert_eq!(costs.take_locks(cpu, 100, cpu, &[]), (0, 1000));
    // A higher one: waits and keeps its own.
    assert_eq!(costs.take_locks(cpu, 100, cpu, &[(cpu, CpuId(2))]), (600, 1000 + 11_000));
    // A lower one: takes its own a second time.
    assert_eq!(costs.take_locks(cpu, 100, cpu, &[(cpu, CpuId(0))]), (400, 1000 + 11_000 + 1000));
    assert_eq!(
        costs.take_locks(cpu, 600, cpu, &[(cpu, CpuId(0))]),
        (0, 1000 + 11_000),
        "the second lock is free"
    );
    // Both, one after the other.
    let both = [(cpu, CpuId(0)), (cpu, CpuId(2))];
    assert_eq!(costs.take_locks(cpu, 100, cpu, &both), (600, 1000 + 12_000 + 11_000));
}

#[test]
fn whether_a_wakeup_loses_the_one_lock_is_drawn_from_how_long_both_take() {
    let lost = |locking, waiting, again_ps| {
        let mut costs = modelled(locking);
        costs.waiting = waiting;
        (0..10_000).filter(|_| costs.loses_lock(again_ps)).count()
    };
    // Transferring a cache line takes 10 ns. Both times are drawn evenly up to twice their value:
    // the lock is lost half the time, and 7 times out of 8 if it is taken again after four times as
    // long.
    assert!((4_800..5_200).contains(&lost(Locking::Global, 3, 10_000)));
    assert!((8_600..8_900).contains(&lost(Locking::Global, 3, 40_000)));
    assert_eq!(lost(Locking::Global, 3, 0), 0, "the waker is back at once");
    assert_eq!(lost(Locking::Global, 0, 40_000), 0, "no CPU waits");
    assert_eq!(lost(Locking::PerCpu, 3, 40_000), 0);
}

/// The time at which the one lock is free and the time at which its holder leaves the kernel are
/// the same if nothing lies between, whatever fractions of nanoseconds there are.
#[test]
fn no_part_of_a_nanosecond_decides_a_race_for_the_one_lock() {
    let cpu = CpuId(0);
    for (before_ps, inside_ps, carry_ps) in [(600, 800, 0), (600, 200, 900), (1, 1, 999)] {
        let mut costs = modelled(Locking::Global);
        costs.carry_ps[0] = carry_ps;
        let bill = Bill { before_ps, inside_ps, needs_lock: true, ..Bill::default() };
        costs.spend(100, cpu, true, bill, cpu, &[]);
        assert_eq!(costs.locks[0].free_at_ns, costs.busy_until_ns[0]);
        let bill = Bill { after_ps: 5_500, ..bill };
        costs.spend(200, cpu, true, bill, cpu, &[]);
        let behind_ns = costs.busy_until_ns[0] - costs.locks[0].free_at_ns;
        assert!((4..=6).contains(&behind_ns), "{behind_ns}");
    }
}

#[test]
fn where_there_is_one_lock_there_is_no_second() {
    let mut costs = modelled(Locking::Global);
    held_until(&mut costs, 0, 500);
    let cpu = CpuId(1);
    assert_eq!(costs.take_locks(cpu, 100, CpuId(3), &[(cpu, CpuId(2))]), (400, 11_000));
}

#[test]
fn what_is_less_than_a_nanosecond_is_not_lost() {
    let mut costs = modelled(Locking::Global);
    let bill = Bill { before_ps: 400, ..Bill::default() };
    let mut spend = || costs.spend(0, CpuId(0), true, bill, CpuId(0), &[]);
    assert_eq!([spend(), spend(), spend(), spend(), spend()], [0, 0, 1, 0, 1]);
}

#[test]
fn who_touches_no_queue_takes_no_lock() {
    let mut costs = modelled(Locking::PerCpu);
    costs.kernel[Cost::Dequeue] = 5;
    let mut needs_lock = |counts: WorkCounts| costs.bill(CpuId(0), Work::Tick, &counts).needs_lock;
    assert!(!needs_lock(WorkCounts::default()));
    assert!(needs_lock(WorkCounts { dequeues: 1, ..WorkCounts::default() }));
}

#[test]
fn where_cpus_take_turns_everything_takes_as_long_as_many_are_busy() {
    let mut model = CostModel::default();
    model.set("tick", 5.0).expect("the cost exists");
    let run = |cpus_take_turns, current: &[Option<TaskId>], cpu| {
        let model = CostModel { cpus_take_turns, ..model.clone() };
        let setup = Setup::new(&model, &Topology::flat(4), None, false);
        let mut costs = Modelled::new(setup, Locking::PerCpu);
        scale_by_turns(&mut costs, current, CpuId(cpu));
        costs.kernel[Cost::Tick]
    };
    let busy = Some(TaskId(0));
    let current = [busy, None, busy, busy];
    assert_eq!(run(true, &current, 0), 15_000);
    assert_eq!(run(true, &current, 1), 20_000, "a CPU in the kernel counts as busy");
    assert_eq!(run(true, &[None; 4], 2), 5_000);
    assert_eq!(run(false, &current, 0), 5_000);
}

#[test]
fn who_stays_on_its_cpu_does_not_pay_for_a_move() {
    let mut costs = modelled(Locking::PerCpu);
    costs.kernel[Cost::MigrateNear] = 7;
    costs.kernel[Cost::MigrateFar] = 7;
    // It starts, stays, moves, and comes back.
    let paid = [0, 0, 1, 1, 0].map(|cpu| costs.refill_ps(CpuId(cpu), TaskId(3), 0));
    assert_eq!(paid, [0, 0, 7, 0, 7]);
}
