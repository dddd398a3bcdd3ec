//! The worked examples of the algorithm's description, and rules that no golden schedule decides,
//! driven through the scheduler's hooks.

mod balance;
mod delay;
mod estimate;
mod exec;
mod hrtick;
mod protection;
mod second_look;

use super::EarliestDeadline;
use super::{Eevdf, Version, rules};
use crate::classes::{Pid, Rqs};
use crate::fair_6::class::Fair;
use crate::fair_6::entity::Vruntime;
use crate::fair_6::ids::CfsRqId;
use crate::random::Random;
use alloc::vec::Vec;
use schedlab_core::{
    Account, Administer, BlockReason, BuildConfig, CpuId, CpuSet, GroupId, Parent, Platform,
    Policy, Question, SchedAttr, Scheduler, TaskAttr, TaskId, Waker, Who,
};

const CPU: CpuId = CpuId(0);
const MS: u64 = 1_000_000;

/// The root group's queue of [`CPU`].
fn root_rq() -> CfsRqId {
    CfsRqId::of_cpu(CPU)
}

/// Puts `cpu` into an arbitrary state, as far as balancing and forks read it: fewer than `kinds`
/// threads, some of them fair and not delayed.
pub(crate) fn scramble(
    fair: &mut Fair<EarliestDeadline>,
    rqs: &mut Rqs,
    random: &mut Random,
    cpu: CpuId,
    kinds: u64,
) {
    let queue = &mut fair.cfs_rqs[CfsRqId::of_cpu(cpu)];
    queue.avg.load_avg = random.below(kinds) * 1024;
    queue.avg.runnable_avg = random.below(kinds) * random.below(1024);
    queue.avg.util_avg = random.below(kinds) * 400;
    queue.util_est = random.below(2) * random.below(1024);
    let nr_running = random.below(kinds) as u32;
    queue.h_nr_runnable = random.below(u64::from(nr_running) + 1) as u32;
    fair.invalidate(CfsRqId::of_cpu(cpu));
    let before = rqs.nr_running[cpu.index()];
    rqs.sub_nr_running(cpu, before);
    rqs.add_nr_running(cpu, nr_running);
    let leaves = nr_running > 0 || random.below(4) == 0;
    rqs.set_curr(cpu, if leaves { rqs.migration_thread(cpu) } else { rqs.idle_thread(cpu) });
}

/// A scheduler and its platform, driven by hand.
struct Bench {
    sched: Eevdf,
    platform: Platform,
    tasks: u32,
}

impl Bench {
    fn new(version: Version, cpus: u32) -> Bench {
        let build = BuildConfig::flat(cpus, 1000);
        let mut bench =
            Bench { sched: Eevdf::new(version, &build), platform: build.platform(), tasks: 0 };
        bench.tune("base_slice_ns", 2_800_000);
        bench
    }

    fn tune(&mut self, name: &str, value: i64) {
        self.sched.set_tunable(&mut self.platform, name, value).unwrap();
    }

    fn at(&mut self, now_ns: u64) {
        self.platform.set_now_ns(now_ns);
        self.platform.set_jiffies(now_ns / MS);
    }

    fn fork_with(&mut self, attr: &TaskAttr) -> TaskId {
        let task = TaskId(self.tasks);
        self.tasks += 1;
        self.sched.fork(&mut self.platform, task, attr, Parent::External);
        task
    }

    fn fork(&mut self, sched: SchedAttr) -> TaskId {
        self.fork_with(&TaskAttr { sched, ..TaskAttr::default() })
    }

    fn schedule(&mut self) -> Option<TaskId> {
        self.platform.clear_resched(CPU);
        self.sched.schedule(&mut self.platform, CPU)
    }

    /// A tick at `now_ns`. Returns the task that runs after it.
    fn tick(&mut self, now_ns: u64) -> Option<TaskId> {
        self.at(now_ns);
        self.sched.tick(&mut self.platform, CPU);
        self.settle()
    }

    /// Reschedules if that was requested. Returns the task that runs then.
    fn settle(&mut self) -> Option<TaskId> {
        if self.platform.resched_pending(CPU) {
            self.schedule();
        }
        self.sched.inspect().audit().unwrap();
        self.sched.core.task(self.sched.core.curr(CPU))
    }

    /// The account of the last pick.
    fn last_pick(&mut self) -> Account {
        let accounts = self.platform.take_accounts();
        accounts.into_iter().rfind(|account| account.question == Question::Pick).unwrap()
    }

    fn sleep(&mut self, task: TaskId) -> Option<TaskId> {
        self.sched.block(&mut self.platform, CPU, task, BlockReason::Interruptible);
        self.settle()
    }

    fn wake(&mut self, task: TaskId) -> Option<TaskId> {
        self.sched.wake(&mut self.platform, task, Waker::Interrupt { cpu: CPU });
        self.settle()
    }

    fn pid(&self, task: TaskId) -> Pid {
        self.sched.core.pid(task)
    }

    fn entity(&self, task: TaskId) -> &crate::fair_6::entity::Entity {
        &self.sched.fair.se[self.sched.fair.se_of(self.pid(task))]
    }

    /// Virtual runtime and deadline.
    fn times(&self, task: TaskId) -> (i64, i64) {
        let entity = self.entity(task);
        (entity.vruntime.0 as i64, entity.deadline.0 as i64)
    }

    /// V, shifted to the origin of the examples: the first task to be queued starts at -2^20.
    fn v(&self) -> i64 {
        self.sched.fair.cfs_rqs[root_rq()].avg_vruntime(&self.sched.fair.se).0 as i64
    }
}

/// The candidates of a pick, with the first three numbers of their ranks.
fn ranks(pick: &Account) -> Vec<(TaskId, [i64; 3])> {
    let candidates = pick.evidence.candidates.iter();
    candidates
        .map(|candidate| match candidate.who {
            Who::Task(task) => (task, [0, 1, 2].map(|at| candidate.rank[at])),
            who => panic!("{who:?} is not a task"),
        })
        .collect()
}

fn nice(nice: i32) -> SchedAttr {
    SchedAttr::nice(nice)
}

#[test]
fn two_hogs_of_nice_0() {
    // Example 12.1.
    let mut bench = Bench::new(Version::V6_18, 1);
    let (a, b) = (bench.fork(nice(0)), bench.fork(nice(0)));
    assert_eq!(bench.settle(), Some(a));
    assert_eq!((bench.times(a), bench.times(b)), ((-1_048_576, 351_424), (-1_048_576, 351_424)));
    assert_eq!(bench.entity(a).vlag, 351_424, "protected until its deadline");
    assert_eq!(bench.tick(MS), Some(a));
    assert_eq!(bench.times(a).0, -48_576);
    assert_eq!(bench.tick(2 * MS), Some(b));
    assert_eq!(bench.times(a), (951_424, 3_751_424));
    assert_eq!(bench.v(), -48_576);
    bench.tick(3 * MS);
    assert_eq!(bench.tick(4 * MS), Some(a));
    assert_eq!(bench.times(b), (951_424, 3_751_424));
    let runs: Vec<_> = (5..=13).map(|k| bench.tick(k * MS).unwrap()).collect();
    assert_eq!(runs, [a, a, b, b, b, a, a, a, b]);
}

#[test]
fn picks_and_wakeup_checks_say_why() {
    for version in [Version::V6_6, Version::V6_12, Version::V6_18] {
        // Example 12.1.
        let mut bench = Bench::new(version, 1);
        bench.platform.ask(true);
        let (a, b) = (bench.fork(nice(0)), bench.fork(nice(0)));
        assert_eq!(bench.settle(), Some(a));
        let pick = bench.last_pick();
        assert_eq!(pick.rule, rules::EARLIEST_ELIGIBLE);
        // Among equals the first arrival. The request is half as long, but in 6.6 that is lost.
        let request = if version == Version::V6_6 { 2_800_000 } else { 1_400_000 };
        let first = if version == Version::V6_6 { -1 } else { 0 };
        assert_eq!(ranks(&pick), [(a, [2, request, first]), (b, [2, request, 1])]);
        assert_eq!(pick.evidence.best(), Ok(Some(Who::Task(a))));
        // Eligible, and protected.
        assert_eq!(bench.schedule(), Some(a));
        let pick = bench.last_pick();
        assert_eq!(pick.rule, rules::PROTECTED);
        let place = if version == Version::V6_6 { -1 } else { 1 };
        assert_eq!(ranks(&pick), [(b, [2, request, 0]), (a, [1, request, place])]);
        // Only the running entity is protected, up to a time that is known from 6.18 on.
        let knows = |candidate: &schedlab_core::Candidate| {
            candidate.terms.iter().any(|term| term.name == "vprot_ns")
        };
        let protected = pick.evidence.candidates.iter().filter(|other| knows(other));
        let who: Vec<Who> = protected.map(|candidate| candidate.who).collect();
        let expected =
            if version == Version::V6_18 { alloc::vec![Who::Task(a)] } else { Vec::new() };
        assert_eq!(who, expected);
        // It has received too much.
        bench.at(MS);
        assert_eq!(bench.schedule(), Some(b));
        let pick = bench.last_pick();
        assert_eq!(pick.rule, rules::EARLIEST_ELIGIBLE);
        let standings: Vec<i64> = ranks(&pick).iter().map(|(_, rank)| rank[0]).collect();
        assert_eq!(standings, [2, 3]);
        assert_eq!(ranks(&pick)[1], (a, [3, 0, 1]), "the deadline does not matter then");
        // A new task finds the current one protected.
        bench.fork(nice(0));
        assert_eq!(bench.platform.rule(Question::Preempt), rules::CURR_PROTECTED);
        bench.fork(SchedAttr { policy: Policy::Batch, ..nice(0) });
        assert_eq!(bench.platform.rule(Question::Preempt), rules::NEVER_PREEMPTS);
    }
}

#[test]
fn the_members_of_a_group_are_candidates_within_it() {
    let mut bench = Bench::new(Version::V6_18, 1);
    bench.platform.ask(true);
    let group = bench.sched.group_new(&mut bench.platform, GroupId::ROOT, 1024).unwrap();
    let [member, other] =
        [0; 2].map(|_| bench.fork_with(&TaskAttr { group, ..TaskAttr::default() }));
    assert_eq!(bench.settle(), Some(member));
    let pick = bench.last_pick();
    let who: Vec<(GroupId, Who)> =
        pick.evidence.candidates.iter().map(|other| (other.within, other.who)).collect();
    let members = [member, other].map(|task| (group, Who::Task(task)));
    assert_eq!(who, [(GroupId::ROOT, Who::Group(group)), members[0], members[1]]);
    // Among the groups there was no choice.
    assert_eq!(pick.rule, rules::EARLIEST_ELIGIBLE);
    assert_eq!(pick.evidence.best(), Ok(Some(Who::Task(member))));
    let mut now = Vec::new();
    bench.sched.inspect().candidates(CPU, &mut now);
    assert_eq!(now.len(), 3);
}

#[test]
fn a_renewed_request_brings_no_new_protection() {
    // Example 12.2.
    let mut bench = Bench::new(Version::V6_18, 1);
    let (a, b) = (bench.fork(nice(0)), bench.fork(nice(5)));
    let runs: Vec<_> = (0..=12).map(|k| bench.tick(k * MS).unwrap()).collect();
    assert_eq!(runs, [a, a, b, b, a, a, a, a, a, b, b, b, a]);
    assert_eq!(bench.times(b), (14_235_004, 22_793_810));
    assert_eq!(bench.times(a), (5_951_424, 6_751_424));
}

#[test]
fn a_hog_and_an_interactive_task() {
    // Example 12.3.
    let mut bench = Bench::new(Version::V6_18, 1);
    let (hog, inter) = (bench.fork(nice(0)), bench.fork(nice(0)));
    let mut running = bench.settle();
    for k in 1..=26 {
        // Ends and wakeups come before the tick, the reschedule after it.
        bench.at(k * MS);
        match k {
            3 | 13 | 23 => {
                assert_eq!(running, Some(inter));
                bench.sched.block(&mut bench.platform, CPU, inter, BlockReason::Interruptible);
            }
            12 | 22 => bench.sched.wake(&mut bench.platform, inter, Waker::Interrupt { cpu: CPU }),
            _ => {}
        }
        match k {
            3 => {
                assert_eq!((bench.entity(inter).vlag, bench.entity(inter).on_rq), (500_000, false))
            }
            12 => assert_eq!(bench.times(inter), (8_951_424, 11_751_424)),
            13 => assert_eq!((bench.entity(inter).vlag, bench.entity(inter).on_rq), (0, false)),
            22 => {
                assert_eq!(
                    (bench.times(inter), bench.times(hog).1),
                    ((18_951_424, 21_751_424), 21_751_424)
                )
            }
            23 => {
                assert!(
                    bench.entity(inter).sched_delayed,
                    "it has received too much and stays \
                    queued"
                )
            }
            _ => {}
        }
        running = bench.tick(k * MS);
        if [2, 12, 22].contains(&k) {
            assert_eq!(running, Some(inter), "at {k} ms");
        }
    }
    // It was picked, dequeued for good, and the lag gained by waiting was cut off.
    assert_eq!(running, Some(hog));
    let entity = bench.entity(inter);
    assert!(!entity.on_rq && !entity.sched_delayed);
    assert_eq!(entity.vlag, 0);
}

#[test]
fn lag_survives_the_way_back() {
    // Section 6: two hogs at V = 1000000, a third returns with a lag of -600000.
    let mut bench = Bench::new(Version::V6_18, 1);
    let tasks = [bench.fork(nice(0)), bench.fork(nice(0)), bench.fork(nice(0))];
    let fair = &mut bench.sched.fair;
    let [a, b, c] = tasks.map(|task| fair.se_of(bench.sched.core.pid(task)));
    for e in [a, b, c] {
        fair.tree_remove(root_rq(), e);
    }
    for e in [a, b] {
        fair.se[e].vruntime = Vruntime(1_000_000);
        fair.tree_insert(root_rq(), e);
    }
    fair.cfs_rqs[root_rq()].nr_queued = 2;
    fair.se[c].vlag = -600_000;
    fair.place_entity(root_rq(), c, false);
    assert_eq!(fair.se[c].vruntime, Vruntime(1_900_000));
    fair.tree_insert(root_rq(), c);
    fair.cfs_rqs[root_rq()].nr_queued = 3;
    assert_eq!(fair.cfs_rqs[root_rq()].avg_vruntime(&fair.se), Vruntime(1_300_000));
    assert_eq!(fair.entity_lag(root_rq(), c), -600_000);
}

#[test]
fn delayed_tasks_need_eligibility_to_leave_and_only_since_6_12() {
    for (version, delays) in
        [(Version::V6_6, false), (Version::V6_12, true), (Version::V6_18, true)]
    {
        let mut bench = Bench::new(version, 1);
        let (a, _b) = (bench.fork(nice(0)), bench.fork(nice(0)));
        bench.settle();
        bench.at(MS);
        bench.sleep(a);
        assert_eq!(bench.entity(a).sched_delayed, delays, "{version:?}");
        assert_eq!(bench.sched.core.nr_running[0], if delays { 2 } else { 1 });
    }
}

#[test]
fn a_stop_is_never_delayed() {
    let mut bench = Bench::new(Version::V6_18, 1);
    let (a, _b) = (bench.fork(nice(0)), bench.fork(nice(0)));
    bench.settle();
    bench.at(MS);
    bench.sched.block(&mut bench.platform, CPU, a, BlockReason::Stopped);
    assert!(!bench.entity(a).on_rq);
}

#[test]
fn features_can_be_switched_off() {
    let mut bench = Bench::new(Version::V6_18, 1);
    bench.tune("DELAY_DEQUEUE", 0);
    bench.tune("PLACE_LAG", 0);
    let (a, b) = (bench.fork(nice(0)), bench.fork(nice(0)));
    bench.settle();
    bench.at(MS);
    bench.sleep(a);
    assert!(!bench.entity(a).on_rq);
    bench.at(2 * MS);
    bench.wake(a);
    // Placed at V, whatever its lag.
    assert_eq!(bench.times(a).0, bench.times(b).0);
    assert!(bench.sched.set_tunable(&mut bench.platform, "NO_SUCH", 1).is_err());
    let mut old = Bench::new(Version::V6_6, 1);
    assert!(old.sched.set_tunable(&mut old.platform, "DELAY_DEQUEUE", 0).is_err());
}

#[test]
fn base_slices_grow_with_the_cpus() {
    let slice = |cpus| {
        let build = BuildConfig::flat(cpus, 1000);
        Eevdf::new(Version::V6_18, &build).fair.tunables.base_slice
    };
    assert_eq!(
        [1, 2, 4, 7, 8, 64].map(slice),
        [700_000, 1_400_000, 2_100_000, 2_100_000, 2_800_000, 2_800_000]
    );
}

#[test]
fn custom_slices_are_clamped_and_6_6_has_none() {
    let mut bench = Bench::new(Version::V6_18, 1);
    let with = |runtime_ns| SchedAttr { runtime_ns, ..SchedAttr::default() };
    let tasks = [1, 5_000_000, 1_000_000_000].map(|runtime_ns| bench.fork(with(runtime_ns)));
    assert_eq!(tasks.map(|task| bench.entity(task).slice), [100_000, 5_000_000, 100_000_000]);
    bench.sched.set_attr(&mut bench.platform, tasks[1], &with(0), CPU);
    assert_eq!(bench.entity(tasks[1]).slice, 2_800_000);
    let mut old = Bench::new(Version::V6_6, 1);
    let task = old.fork(with(100_000));
    assert_eq!(old.entity(task).slice, 2_800_000);
}

#[test]
fn a_yield_forfeits_the_request_only_when_eligible() {
    let mut bench = Bench::new(Version::V6_18, 1);
    let (a, b) = (bench.fork(nice(0)), bench.fork(nice(0)));
    bench.settle();
    bench.sched.yield_now(&mut bench.platform, CPU, a);
    assert_eq!(bench.times(a), (351_424, 351_424 + 2_800_000));
    assert_eq!(bench.settle(), Some(b));
    // 6.6 only postpones the deadline.
    let mut old = Bench::new(Version::V6_6, 1);
    let (a, _) = (old.fork(nice(0)), old.fork(nice(0)));
    old.settle();
    old.sched.yield_now(&mut old.platform, CPU, a);
    assert_eq!(old.times(a), (-1_048_576, -1_048_576 + 2 * 2_800_000));
}

#[test]
fn a_woken_real_time_or_deadline_task_preempts_at_once() {
    let mut bench = Bench::new(Version::V6_18, 1);
    let hog = bench.fork(nice(-20));
    assert_eq!(bench.settle(), Some(hog));
    let fifo = bench.fork(SchedAttr::realtime(Policy::Fifo, 1));
    assert_eq!(bench.settle(), Some(fifo));
    let deadline = bench.fork(deadline_attr(2, 10));
    assert_eq!(bench.settle(), Some(deadline));
    bench.at(MS);
    assert_eq!(bench.sleep(deadline), Some(fifo));
    assert_eq!(bench.sleep(fifo), Some(hog));
}

fn deadline_attr(runtime_ms: u64, period_ms: u64) -> SchedAttr {
    SchedAttr {
        policy: Policy::Deadline,
        runtime_ns: runtime_ms * MS,
        deadline_ns: period_ms * MS,
        period_ns: period_ms * MS,
        ..SchedAttr::default()
    }
}

#[test]
fn deadline_tasks_that_do_not_fit_stay_what_they_were() {
    let mut bench = Bench::new(Version::V6_18, 1);
    let first = bench.fork(deadline_attr(9, 10));
    let second = bench.fork(deadline_attr(1, 10));
    let refused: Vec<_> =
        bench.platform.refusals.iter().map(|(task, why)| (*task, why.name())).collect();
    assert_eq!(refused, [(second, "EBUSY")]);
    assert_eq!(bench.sched.core.thread(bench.pid(second)).policy, Policy::Other);
    assert_eq!(bench.settle(), Some(first));
    // A mask that excludes a CPU is refused, too.
    let mut two = Bench::new(Version::V6_18, 2);
    let attr =
        TaskAttr { sched: deadline_attr(1, 10), allowed: CpuSet::only(CPU), ..TaskAttr::default() };
    two.fork_with(&attr);
    assert_eq!(two.platform.refusals[0].1.name(), "EPERM");
    // A deadline task's child is refused, too.
    let parent = Parent::Task { task: first, cpu: CPU };
    let attr = TaskAttr { sched: deadline_attr(1, 1000), ..TaskAttr::default() };
    bench.sched.fork(&mut bench.platform, TaskId(2), &attr, parent);
    assert_eq!(bench.platform.refusals[1].1.name(), "EAGAIN");
    bench.sched.inspect().audit().unwrap();
}

#[test]
fn bandwidth_is_free_again_at_zero_lag() {
    let mut bench = Bench::new(Version::V6_18, 1);
    bench.at(MS);
    let first = bench.fork(deadline_attr(8, 10));
    bench.settle();
    bench.platform.timer_orders.clear();
    bench.at(3 * MS);
    bench.sched.block(&mut bench.platform, CPU, first, BlockReason::Dead);
    bench.settle();
    bench.fork(deadline_attr(8, 10));
    assert_eq!(bench.platform.refusals.len(), 1, "still counted");
    // 6 ms were left until 11 ms: at 8 of 10 those last 7.5 ms.
    let armed = bench.platform.timer_orders.iter().find_map(|order| match order {
        schedlab_core::platform::TimerOrder::Arm { key, at_ns, .. } => Some((*key, *at_ns)),
        schedlab_core::platform::TimerOrder::Cancel { .. } => None,
    });
    let (key, at_ns) = armed.expect("the zero-lag timer");
    assert_eq!(at_ns, 3_500_000);
    bench.at(at_ns);
    bench.sched.timer(&mut bench.platform, key);
    bench.fork(deadline_attr(8, 10));
    assert_eq!(bench.platform.refusals.len(), 1);
    bench.sched.inspect().audit().unwrap();
}

#[test]
fn groups_share_by_shares_and_not_by_heads() {
    let mut bench = Bench::new(Version::V6_18, 1);
    let one = bench.sched.group_new(&mut bench.platform, GroupId::ROOT, 2048).unwrap();
    let two = bench.sched.group_new(&mut bench.platform, GroupId::ROOT, 1024).unwrap();
    let member = |group| TaskAttr { group, ..TaskAttr::default() };
    let tasks = [one, two, two, two].map(|group| bench.fork_with(&member(group)));
    bench.settle();
    let mut ran = [0u32; 4];
    let mut running = bench.settle();
    for k in 1..=3000 {
        ran[running.unwrap().index()] += 1;
        running = bench.tick(k * MS);
    }
    assert_eq!(tasks.map(|task| task.0), [0, 1, 2, 3]);
    assert!((1990..=2010).contains(&ran[0]), "{ran:?}");
    for others in &ran[1..] {
        assert!((328..=338).contains(others), "{ran:?}");
    }
    // Shares written later count from then on.
    bench.sched.group_set_shares(&mut bench.platform, one, 1024).unwrap();
    ran = [0; 4];
    for k in 3001..=6000 {
        ran[running.unwrap().index()] += 1;
        running = bench.tick(k * MS);
    }
    assert!((1490..=1510).contains(&ran[0]), "{ran:?}");
}

#[test]
fn moving_to_another_group_takes_the_task_along() {
    let mut bench = Bench::new(Version::V6_18, 1);
    let group = bench.sched.group_new(&mut bench.platform, GroupId::ROOT, 1024).unwrap();
    let tasks = [0, 0, 0].map(|value| bench.fork(nice(value)));
    bench.settle();
    for task in tasks {
        bench.sched.set_group(&mut bench.platform, task, group).unwrap();
        bench.settle();
    }
    assert_eq!(
        bench.sched.fair.cfs_rqs[root_rq()].nr_queued,
        1,
        "the group represents all of them"
    );
    bench.at(MS);
    let running = bench.settle().unwrap();
    bench.sched.set_group(&mut bench.platform, running, GroupId::ROOT).unwrap();
    bench.settle();
    assert_eq!(bench.sched.fair.cfs_rqs[root_rq()].nr_queued, 2);
}

#[test]
fn an_affinity_that_forbids_the_cpu_moves_the_task() {
    let mut bench = Bench::new(Version::V6_18, 2);
    let (a, b) = (bench.fork(nice(0)), bench.fork(nice(0)));
    assert_eq!([a, b].map(|task| bench.sched.cpu_of(task)), [CpuId(0), CpuId(1)]);
    for cpu in [0, 1] {
        bench.platform.clear_resched(CpuId(cpu));
        bench.sched.schedule(&mut bench.platform, CpuId(cpu));
    }
    // Running: it leaves when its CPU reschedules.
    bench.sched.set_affinity(&mut bench.platform, a, &CpuSet::only(CpuId(1)));
    assert!(bench.platform.resched_pending(CPU));
    assert_eq!(bench.schedule(), None);
    assert_eq!(bench.sched.cpu_of(a), CpuId(1));
    // Waiting: it leaves at once.
    bench.sched.set_affinity(&mut bench.platform, a, &CpuSet::only(CPU));
    assert_eq!(bench.sched.cpu_of(a), CPU);
    assert_eq!(bench.settle(), Some(a));
}

#[test]
fn places_of_the_dead_are_used_again() {
    let mut bench = Bench::new(Version::V6_18, 1);
    for _ in 0..50 {
        let task = bench.fork(nice(0));
        assert_eq!(bench.settle(), Some(task));
        bench.sched.block(&mut bench.platform, CPU, task, BlockReason::Dead);
        bench.settle();
        bench.sched.reap(&mut bench.platform, task, None);
        assert_eq!(bench.sched.fair.entity_of(bench.pid(task)), None);
    }
    assert_eq!(bench.sched.fair.se.len(), 1);
}

#[test]
fn the_short_way_to_an_idle_cpu_leads_to_the_same() {
    const CPUS: u32 = 130;
    let mut bench = Bench::new(Version::V6_18, CPUS);
    // Busy up to some CPU, with gaps. The last CPUs are idle.
    for number in 0..110 {
        let cpu = CpuId(number);
        if number % 7 == 3 {
            continue;
        }
        let attr = TaskAttr { allowed: CpuSet::only(cpu), ..TaskAttr::default() };
        bench.fork_with(&attr);
        bench.platform.clear_resched(cpu);
        bench.sched.schedule(&mut bench.platform, cpu);
    }
    let anywhere = bench.fork(nice(0));
    let (rqs, fair) = (&bench.sched.core, &mut bench.sched.fair);
    let pid = rqs.pid(anywhere);
    let mut found = 0;
    for looks in [0, 1, 3, 20, CPUS] {
        fair.balance.nr_idle_scan[0] = looks;
        for target in 0..CPUS {
            fair.idle_seen = false;
            let short = fair.scan_for_idle(rqs, pid, CpuId(target), CpuId(target));
            fair.idle_seen = true;
            assert_eq!(
                short,
                fair.scan_for_idle(rqs, pid, CpuId(target), CpuId(target)),
                "{looks} looks from {target}"
            );
            found += u32::from(short.is_some());
        }
    }
    assert!(found > CPUS && found < 4 * CPUS, "{found}");
}

#[test]
fn limits_below_what_is_promised_are_refused() {
    let mut bench = Bench::new(Version::V6_18, 1);
    bench.fork(deadline_attr(5, 10));
    let mut set = |name, value| bench.sched.set_tunable(&mut bench.platform, name, value).is_ok();
    // 55 % are reserved.
    assert!(!set("sched_rt_runtime_us", 540_000));
    assert!(set("sched_rt_runtime_us", 560_000));
    assert!(!set("fair_server_runtime_ns", 70_000_000));
    assert!(set("fair_server_runtime_ns", 0));
    assert!(set("sched_rt_runtime_us", 540_000));
    assert!(set("sched_rt_runtime_us", -1));
}
