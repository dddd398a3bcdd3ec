//! The worked examples of the description, and rules that few golden schedules decide.

use super::bmq::Bmq;
use super::entity::RESCHED_NS;
use super::pds::Pds;
use super::*;
use crate::classes::testing::{Bench, Life, MS};
use schedlab_core::topology::Place;
use schedlab_core::{Administer, Policy, Topology};

const CPU0: CpuId = CpuId(0);
const CPU1: CpuId = CpuId(1);
/// A slice, ns.
const T: u64 = SLICE_NS as u64;

fn bench_on<R: Ranking>(topology: Topology) -> Bench<ProjectC<R>> {
    let cpus = topology.cpus();
    Bench::new(ProjectC::new(&BuildConfig { topology, hz: 1000 }), cpus, 1000)
}

fn bench<R: Ranking>(cpus: u32) -> Bench<ProjectC<R>> {
    bench_on(Topology::flat(cpus))
}

/// Starts a task that may use one CPU only.
fn bound<R: Ranking>(bench: &mut Bench<ProjectC<R>>, cpu: CpuId, life: Life) -> TaskId {
    let attr = TaskAttr { allowed: CpuSet::only(cpu), ..TaskAttr::default() };
    bench.start(attr, life, Parent::External)
}

fn set_affinity<R: Ranking>(bench: &mut Bench<ProjectC<R>>, task: TaskId, allowed: &CpuSet) {
    bench.sched.set_affinity(&mut bench.platform, task, allowed);
}

impl<R: Ranking> ProjectC<R> {
    fn entity(&self, task: TaskId) -> &entity::Entity {
        &self.entities[self.entities.node(task)]
    }

    fn level_of(&self, task: TaskId) -> u8 {
        self.level_on(self.entities.node(task), self.cpu_of(task))
    }
}

fn two_hogs<R: Ranking>() {
    let mut bench = bench::<R>(1);
    for _ in 0..2 {
        bench.nice(0, Life::Hog);
    }
    bench.run_until(4 * T);
    let expected = [(0, 0, T, 0), (0, T, 2 * T, 1), (0, 2 * T, 3 * T, 0), (0, 3 * T, 4 * T, 1)];
    assert_eq!(bench.slices, expected);
    bench.sched.audit().unwrap();
}

#[test]
fn two_hogs_take_turns_of_a_slice_under_both_policies() {
    two_hogs::<Bmq>();
    two_hogs::<Pds>();
}

/// A hog and a task that runs for 1 ms and sleeps for 9.
fn hog_and_sleeper<R: Ranking>() -> Bench<ProjectC<R>> {
    let mut bench = bench::<R>(1);
    bench.nice(0, Life::Hog);
    bench.nice(0, Life::Periodic { run: MS, sleep: 9 * MS });
    bench
}

/// The slices of the second task.
fn slices_of_1<R: Ranking>(bench: &Bench<ProjectC<R>>) -> Vec<(u64, u64)> {
    let own = bench.slices.iter().filter(|slice| slice.3 == 1);
    own.map(|&(_, from, to, _)| (from, to)).collect()
}

#[test]
fn in_bmq_a_sleeper_is_above_a_hog_from_its_first_sleep_on() {
    let mut bench = hog_and_sleeper::<Bmq>();
    bench.run_until(6 * MS);
    assert_eq!([0, 1].map(|task| bench.sched.entity(TaskId(task)).boost), [1, -1]);
    assert_eq!([0, 1].map(|task| bench.sched.level_of(TaskId(task))), [48, 47]);
    bench.run_until(40 * MS);
    let woken = [T, T + 10 * MS, T + 20 * MS, T + 30 * MS];
    assert_eq!(slices_of_1(&bench), woken.map(|at| (at, at + MS)));
}

#[test]
fn in_pds_a_sleeper_keeps_its_deadline_until_it_has_used_a_slice() {
    let mut bench = hog_and_sleeper::<Pds>();
    bench.run_until(44 * MS);
    assert_eq!(bench.sched.entity(TaskId(1)).deadline, 22);
    bench.run_until(50 * MS);
    // Four bursts leave 194304 ns of the slice; the fifth ends in its middle.
    assert_eq!(slices_of_1(&bench)[4], (44_194_304, 44_388_608));
    assert_eq!(bench.sched.entity(TaskId(1)).deadline, 5 + 22);
}

#[test]
fn in_pds_a_new_nice_value_waits_for_the_next_deadline() {
    let mut bench = bench::<Pds>(1);
    let [runs, waits] = [0, 0].map(|nice| bench.nice(nice, Life::Hog));
    bench.run_until(MS);
    bench.sched.set_attr(&mut bench.platform, waits, &SchedAttr::nice(19), CPU0);
    assert_eq!([runs, waits].map(|task| bench.sched.level_of(task)), [54, 54]);
    bench.run_until(2 * T + MS);
    // It has used its slice at 2 T, in slot 1: 31 slots ahead.
    assert_eq!((bench.sched.entity(waits).deadline, bench.sched.level_of(waits)), (32, 63));
}

#[test]
fn a_cpu_about_to_idle_takes_every_second_waiting_task() {
    let mut bench = bench::<Bmq>(2);
    bound(&mut bench, CPU1, Life::Work(MS));
    let hogs: Vec<TaskId> = (0..7).map(|_| bound(&mut bench, CPU0, Life::Hog)).collect();
    bench.run_until(MS);
    for &hog in &hogs {
        set_affinity(&mut bench, hog, &CpuSet::All);
    }
    bench.run_until(2 * MS);
    // Three, half of seven, are examined: the first, third and fifth behind the running one.
    let cpus: Vec<u32> = hogs.iter().map(|&hog| bench.sched.cpu_of(hog).0).collect();
    assert_eq!(cpus, [0, 1, 0, 1, 0, 1, 0]);
    assert_eq!(bench.current, [Some(hogs[0]), Some(hogs[1])]);
    bench.sched.audit().unwrap();
}

#[test]
fn an_idle_cpu_does_not_look_again() {
    let mut bench = bench::<Bmq>(2);
    let hogs = [(); 2].map(|()| bound(&mut bench, CPU0, Life::Hog));
    bench.run_until(MS);
    for hog in hogs {
        set_affinity(&mut bench, hog, &CpuSet::All);
    }
    bench.run_until(100 * MS);
    assert_eq!((bench.current[1], bench.sched.cpu_of(hogs[1])), (None, CPU0));
}

#[test]
fn a_waking_task_prefers_the_lowest_idle_cpu_to_its_own() {
    let mut bench = bench::<Pds>(3);
    let first = bench.nice(0, Life::Work(MS));
    let sleeper = bench.nice(0, Life::Periodic { run: 2 * MS, sleep: MS });
    bench.run_until(MS / 2);
    assert_eq!([first, sleeper].map(|task| bench.sched.cpu_of(task)), [CPU0, CPU1]);
    bench.run_until(4 * MS);
    assert_eq!(bench.sched.cpu_of(sleeper), CPU0);
}

#[test]
fn a_running_task_leaves_a_forbidden_cpu_by_the_stopper_and_a_waiting_one_at_once() {
    let mut bench = bench::<Bmq>(2);
    let [runs, waits] = [(); 2].map(|()| bound(&mut bench, CPU0, Life::Hog));
    bench.run_until(MS);
    set_affinity(&mut bench, waits, &CpuSet::only(CPU1));
    assert_eq!(bench.sched.cpu_of(waits), CPU1);
    bench.reschedule();
    assert_eq!(bench.current, [Some(runs), Some(waits)]);
    set_affinity(&mut bench, runs, &CpuSet::only(CPU1));
    assert_eq!(bench.sched.cpu_of(runs), CPU0, "the stopper has not run");
    bench.sched.audit().unwrap();
    bench.reschedule();
    assert_eq!(bench.sched.cpu_of(runs), CPU1);
    assert_eq!(bench.current, [None, Some(waits)]);
    bench.sched.audit().unwrap();
}

#[test]
fn parent_and_child_have_half_of_the_slice_each_and_a_child_of_little_gets_a_full_one() {
    let mut bench = bench::<Bmq>(1);
    let parent = bench.nice(0, Life::Hog);
    bench.run_until(MS / 2);
    let node = bench.sched.entities.node(parent);
    bench.sched.entities[node].boost = 3;
    let by_parent = Parent::Task { task: parent, cpu: CPU0 };
    let child = bench.start(TaskAttr::default(), Life::Hog, by_parent);
    // The time since the last charge does not count.
    assert_eq!([parent, child].map(|task| bench.sched.entity(task).time_slice), [SLICE_NS / 2; 2]);
    assert_eq!(bench.sched.entity(child).boost, 3);
    bench.sched.entities[node].time_slice = 2 * RESCHED_NS - 1;
    let child = bench.start(TaskAttr::default(), Life::Hog, by_parent);
    assert_eq!(bench.sched.entity(child).time_slice, SLICE_NS);
    assert!(bench.platform.resched_pending(CPU0));
}

#[test]
fn yielding_worsens_bmqs_boost_and_ends_a_slice_of_pds_if_another_task_waits() {
    let mut bmq = bench::<Bmq>(1);
    let mut pds = bench::<Pds>(1);
    let (in_bmq, in_pds) = (bmq.nice(0, Life::Hog), pds.nice(0, Life::Hog));
    bmq.run_until(MS / 2);
    bmq.sched.yield_now(&mut bmq.platform, CPU0, in_bmq);
    assert!(bmq.platform.resched_pending(CPU0));
    assert_eq!(bmq.sched.entity(in_bmq).boost, 0, "the task is alone");
    let other = bmq.nice(0, Life::Hog);
    bmq.sched.yield_now(&mut bmq.platform, CPU0, in_bmq);
    bmq.reschedule();
    assert_eq!((bmq.sched.entity(in_bmq).boost, bmq.current[0]), (12, Some(other)));

    pds.nice(0, Life::Hog);
    pds.run_until(MS / 2);
    pds.sched.set_tunable(&mut pds.platform, "yield_type", 0).unwrap();
    pds.sched.yield_now(&mut pds.platform, CPU0, in_pds);
    assert!(!pds.platform.resched_pending(CPU0));
    pds.sched.set_tunable(&mut pds.platform, "yield_type", 1).unwrap();
    pds.sched.yield_now(&mut pds.platform, CPU0, in_pds);
    pds.reschedule();
    assert_ne!(pds.current[0], Some(in_pds));
}

#[test]
fn four_real_time_priorities_share_a_list() {
    let mut bench = bench::<Bmq>(1);
    let life = Life::Work(MS);
    let [first, better] = [96, 99].map(|prio| bench.realtime(Policy::Fifo, prio, None, life));
    let worse = bench.realtime(Policy::Fifo, 95, None, life);
    assert_eq!([first, better, worse].map(|task| bench.sched.level_of(task)), [0, 0, 1]);
    bench.run_until(3 * MS);
    assert_eq!(bench.slices.iter().map(|slice| slice.3).collect::<Vec<u32>>(), [0, 1, 2]);
}

#[test]
fn of_two_busy_siblings_one_goes_to_a_core_that_becomes_idle() {
    let place = |cpu: u32| Place { core: cpu / 2, cache: 0, package: 0, node: 0 };
    let topology = Topology::new((0..4).map(place).collect(), &[]).unwrap();
    let mut bench = bench_on::<Bmq>(topology);
    let siblings = [(); 2].map(|()| bound(&mut bench, CPU0, Life::Hog));
    let short = bound(&mut bench, CpuId(2), Life::Work(MS));
    bench.run_until(MS / 2);
    set_affinity(&mut bench, siblings[1], &CpuSet::only(CPU1));
    bench.reschedule();
    for hog in siblings {
        set_affinity(&mut bench, hog, &CpuSet::All);
    }
    assert_eq!(bench.current[..3], [Some(siblings[0]), Some(siblings[1]), Some(short)]);
    bench.run_until(2 * MS);
    // CPU 2 looked from its own number on and found CPU 0 first.
    assert_eq!(bench.current, [None, Some(siblings[1]), Some(siblings[0]), None]);
    bench.sched.audit().unwrap();
}
