//! The worked examples, and rules that no golden schedule decides.

use super::*;
use alloc::vec::Vec;
use schedlab_core::{Evidence, Who};

/// Ten milliseconds: a tick at HZ = 100.
const TICK_NS: u64 = 10_000_000;

const A: TaskId = TaskId(0);
const B: TaskId = TaskId(1);
const C: TaskId = TaskId(2);

/// A scheduler with just enough of a machine around it.
struct Bench {
    sched: OrderN,
    platform: Platform,
    /// The switches: CPU, ms, next task.
    switches: Vec<(u32, u64, Option<TaskId>)>,
}

fn bench(version: Version, cpus: u32) -> Bench {
    let config = BuildConfig::flat(cpus, 100);
    Bench {
        sched: OrderN::new(version, &config),
        platform: config.platform(),
        switches: Vec::new(),
    }
}

/// Returns an idle CPU 0 with a task for each nice value, all waiting in the runqueue.
fn waiting(version: Version, nices: &[i32]) -> Bench {
    let mut bench = bench(version, 1);
    for &nice in nices {
        bench.start(SchedAttr::nice(nice));
    }
    bench
}

impl Bench {
    fn attr(&self, sched: SchedAttr) -> (TaskId, TaskAttr) {
        let task = TaskId(self.sched.tasks.len() as u32);
        let attr = TaskAttr { sched, address_space: task.0, ..TaskAttr::default() };
        (task, attr)
    }

    fn start(&mut self, sched: SchedAttr) -> TaskId {
        let (task, attr) = self.attr(sched);
        self.sched.fork(&mut self.platform, task, &attr, Parent::External);
        task
    }

    fn start_on(&mut self, cpu: u32) -> TaskId {
        let (task, mut attr) = self.attr(SchedAttr::nice(0));
        attr.allowed = CpuSet::only(CpuId(cpu));
        self.sched.fork(&mut self.platform, task, &attr, Parent::External);
        task
    }

    fn fork(&mut self, parent: TaskId) -> TaskId {
        let (task, attr) = self.attr(SchedAttr::nice(0));
        let cpu = self.sched.tasks[parent].processor;
        self.sched.fork(&mut self.platform, task, &attr, Parent::Task { task: parent, cpu });
        task
    }

    /// Reschedules CPUs in ascending order, round after round, until none requests it.
    fn settle(&mut self) {
        let mut from = 0;
        loop {
            let Some(cpu) = self.platform.next_resched(from) else {
                if from == 0 {
                    break;
                }
                from = 0;
                continue;
            };
            from = cpu.0 + 1;
            self.platform.clear_resched(cpu);
            let prev = self.sched.cpus[cpu.index()].current;
            let next = self.sched.schedule(&mut self.platform, cpu);
            if next != prev {
                self.switches.push((cpu.0, self.platform.now_ns() / 1_000_000, next));
            }
        }
        self.sched.audit().expect("the state is consistent");
    }

    fn tick(&mut self) {
        let now_ns = self.platform.now_ns();
        self.platform.set_now_ns(now_ns - now_ns % TICK_NS + TICK_NS);
        for cpu in 0..self.platform.cpus() {
            self.sched.tick(&mut self.platform, CpuId(cpu));
        }
    }

    /// Advances the time up to and including the ticks at `ms`.
    fn run_to(&mut self, ms: u64) {
        self.settle();
        while self.platform.now_ns() + TICK_NS <= ms * 1_000_000 {
            self.tick();
            self.settle();
        }
        self.platform.set_now_ns(ms * 1_000_000);
    }

    fn block(&mut self, task: TaskId) {
        let cpu = self.sched.tasks[task].processor;
        self.sched.block(&mut self.platform, cpu, task, BlockReason::Interruptible);
        self.platform.resched(cpu);
    }

    fn wake(&mut self, task: TaskId) {
        let cpu = self.sched.cpu_of(task);
        self.sched.wake(&mut self.platform, task, Waker::Interrupt { cpu });
    }

    fn asks(&self) -> Vec<u32> {
        (0..self.platform.cpus()).filter(|&cpu| self.platform.resched_pending(CpuId(cpu))).collect()
    }

    fn change(&mut self, task: TaskId, change: impl FnOnce(&mut Task)) {
        change(&mut self.sched.tasks[task]);
        let queued = self.sched.queued(task);
        if let Some(copy) = self.sched.run_queue.get_mut(task) {
            *copy = queued;
        }
    }

    fn counters(&self) -> Vec<i32> {
        self.sched.tasks.iter().map(|(_, task)| task.counter).collect()
    }

    fn order(&self) -> Vec<TaskId> {
        self.sched.run_queue.iter().collect()
    }

    /// Returns the switches on `cpu`: ms, next task.
    fn on(&self, cpu: u32) -> Vec<(u64, TaskId)> {
        self.switches
            .iter()
            .filter(|switch| switch.0 == cpu)
            .map(|&(_, ms, next)| (ms, next.expect("the CPU is never idle")))
            .collect()
    }
}

const V2_4: Version = Version::V2_4_19;
const LATE: Version = Version::V2_4_22;

// ---- Slices and goodness ----

#[test]
fn slices_of_nice_values_at_100_hz() {
    let nices =
        [-20, -19, -16, -15, -12, -11, -8, -7, -4, -3, 0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 19];
    let slices = nices.map(|nice| V2_4.slice(100, nice));
    assert_eq!(slices, [11, 10, 10, 9, 9, 8, 8, 7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1]);
    assert_eq!([-20, 0, 19].map(|nice| Version::V2_2.slice(100, nice)), [40, 20, 1]);
}

#[test]
fn slices_follow_hz() {
    let slices = [100, 199, 200, 399, 400, 799, 800, 1024, 1599, 1600].map(|hz| V2_4.slice(hz, 0));
    assert_eq!(slices, [6, 6, 11, 11, 21, 21, 41, 41, 41, 81]);
}

#[test]
fn example_e_goodness_on_two_cpus() {
    let mut bench = bench(V2_4, 2);
    for nice in [0, 10, 5] {
        bench.start(SchedAttr::nice(nice));
    }
    bench.settle();
    bench.platform.clear_resched(CpuId(0));
    // Put the tasks on the CPUs of the example.
    let (zero, one) = (bench.sched.cpus[0].current.unwrap(), bench.sched.cpus[1].current.unwrap());
    let p = *[A, B, C].iter().find(|&&task| task != zero && task != one).unwrap();
    for (task, counter, nice) in [(zero, 3, 0), (one, 1, 10), (p, 4, 5)] {
        bench.change(task, |p| p.counter = counter);
        bench.change(task, |p| p.nice = nice);
    }
    bench.change(p, |p| p.processor = CpuId(1));
    let goodness = |task: TaskId, cpu: u32| {
        let mm = bench.sched.cpus[cpu as usize].active_mm;
        bench.sched.goodness(&bench.sched.queued(task), CpuId(cpu), mm)
    };
    assert_eq!((goodness(p, 1), goodness(p, 0)), (34, 19));
    assert_eq!((goodness(zero, 0), goodness(one, 1)), (39, 27));
    bench.sched.reschedule_idle(&mut bench.platform, p);
    assert_eq!(bench.asks(), [1]);
}

#[test]
fn goodness_of_the_special_cases() {
    let mut bench = waiting(V2_4, &[0]);
    bench.settle();
    let goodness =
        |bench: &Bench, mm| bench.sched.goodness(&bench.sched.queued(A), CpuId(0), Some(mm));
    assert_eq!((goodness(&bench, 0), goodness(&bench, 7)), (27, 26));
    bench.change(A, |p| p.counter = 0);
    assert_eq!(goodness(&bench, 0), 0);
    bench.change(A, |p| (p.policy, p.rt_priority) = (Policy::Fifo, 7));
    assert_eq!(goodness(&bench, 0), 1007);
    bench.change(A, |p| (p.policy, p.counter, p.yielded) = (Policy::Other, 6, true));
    assert_eq!(goodness(&bench, 0), -1);
    assert_eq!(bench.sched.tasks[A].weight(&Version::V2_2), 0);
}

// ---- Epochs ----

#[test]
fn example_a_two_hogs_alternate_by_two_slices() {
    let mut bench = waiting(V2_4, &[0, 0]);
    assert_eq!(bench.order(), [B, A]);
    bench.run_to(430);
    assert_eq!(bench.on(0), [(0, B), (60, A), (180, B), (300, A), (420, B)]);
}

#[test]
fn example_b_three_hogs() {
    let mut bench = waiting(V2_4, &[0, 0, 0]);
    bench.run_to(700);
    let expected =
        [(0, C), (60, B), (120, A), (240, C), (300, B), (420, C), (480, A), (600, C), (660, B)];
    assert_eq!(bench.on(0), expected);
}

#[test]
fn example_c_nice_19_gets_one_tick_an_epoch() {
    for (nice, period) in [(0, 70), (-20, 120)] {
        let mut bench = waiting(V2_4, &[19, nice]);
        bench.run_to(250);
        let expected =
            [(0, B), (period - 10, A), (period, B), (2 * period - 10, A), (2 * period, B)];
        assert_eq!(bench.on(0)[..5], expected);
    }
}

#[test]
fn example_d_a_sleeper_keeps_its_ticks_and_gets_more() {
    let (hog, inter) = (A, B);
    let mut bench = waiting(V2_4, &[0, 0]);
    bench.run_to(2);
    bench.block(inter);
    bench.run_to(60);
    assert_eq!(bench.counters(), [6, 9]);
    bench.run_to(99);
    bench.platform.set_now_ns(100_000_000);
    bench.wake(inter);
    assert_eq!(bench.asks(), [0]);
    bench.sched.tick(&mut bench.platform, CpuId(0));
    assert_eq!(bench.sched.counter(hog), 2);
    bench.settle();
    assert_eq!(bench.on(0), [(0, inter), (2, hog), (100, inter)]);
    bench.run_to(102);
    bench.block(inter);
    // Two more epochs: 10, 11, and there it stays.
    bench.run_to(400);
    assert_eq!(bench.sched.counter(inter), 11);
}

#[test]
fn example_f_rr_tasks_take_turns() {
    let mut bench = bench(V2_4, 1);
    bench.start(SchedAttr::realtime(Policy::RoundRobin, 10));
    bench.start(SchedAttr::realtime(Policy::RoundRobin, 10));
    bench.start(SchedAttr::nice(-20));
    bench.run_to(200);
    assert_eq!(bench.on(0), [(0, B), (60, A), (120, B), (180, A)]);
}

#[test]
fn example_g_three_hogs_on_two_cpus() {
    let mut bench = bench(V2_4, 2);
    for _ in 0..3 {
        bench.start(SchedAttr::nice(0));
    }
    assert_eq!([A, B, C].map(|task| bench.sched.cpu_of(task).0), [0, 1, 0]);
    bench.run_to(60);
    assert_eq!(bench.counters(), [9, 6, 6]);
    bench.run_to(220);
    assert_eq!(bench.on(0), [(0, C), (60, A), (210, B)]);
    assert_eq!(bench.on(1), [(0, B), (120, C)]);
    assert_eq!(bench.counters(), [6, 8, 6]);
}

#[test]
fn threads_of_the_running_process_have_the_bonus() {
    let mut bench = bench(V2_4, 1);
    let start = |bench: &mut Bench, address_space: u32| {
        let (task, mut attr) = bench.attr(SchedAttr::nice(0));
        attr.address_space = address_space;
        bench.sched.fork(&mut bench.platform, task, &attr, Parent::External);
    };
    start(&mut bench, 5);
    start(&mut bench, 9);
    start(&mut bench, 5);
    // The list is C B A. After C comes A, with the same address space, not B.
    bench.run_to(60);
    assert_eq!(bench.on(0), [(0, C), (60, A)]);
}

#[test]
fn an_idle_cpu_keeps_the_address_space_of_the_task_before() {
    for (version, first) in [(V2_4, A), (Version::V2_2, B)] {
        let mut bench = bench(version, 1);
        bench.start(SchedAttr::nice(0));
        bench.settle();
        bench.block(A);
        bench.settle();
        // While A sleeps the CPU is idle. Then A returns at the same time as B, which is before A
        // in the list.
        bench.wake(A);
        bench.start(SchedAttr::nice(0));
        bench.settle();
        assert_eq!(bench.sched.cpus[0].current, Some(first), "{}", version.name);
    }
}

// ---- Wakeup ----

#[test]
fn a_woken_task_must_be_better_with_the_runner_having_the_bonus_for_its_memory() {
    for (ahead, asks) in [(0, false), (1, false), (2, true)] {
        let mut bench = waiting(V2_4, &[0]);
        bench.settle();
        bench.start(SchedAttr::nice(0));
        bench.platform.clear_resched(CpuId(0));
        let counter = bench.sched.counter(A) + ahead;
        bench.change(B, |p| p.counter = counter);
        bench.sched.reschedule_idle(&mut bench.platform, B);
        assert_eq!(bench.platform.resched_pending(CpuId(0)), asks, "ahead by {ahead}");
    }
}

#[test]
fn two_that_wake_at_once_may_poke_the_same_idle_cpu() {
    let mut bench = bench(V2_4, 3);
    for cpu in [1, 1] {
        let task = bench.start_on(cpu);
        bench.sched.set_allowed(task, &CpuSet::All);
    }
    assert_eq!(bench.asks(), [1]);
    bench.settle();
    assert_eq!(bench.sched.cpus.iter().filter(|cpu| cpu.current.is_some()).count(), 1);
    // ... until the running task is preempted.
    bench.run_to(60);
    assert_eq!(bench.sched.busy_cpus, 2);
}

#[test]
fn the_cpu_that_has_been_idle_longest_is_taken() {
    let mut bench = bench(V2_4, 4);
    for cpu in 0..3 {
        bench.start_on(cpu);
    }
    bench.settle();
    bench.run_to(5);
    bench.start_on(3);
    bench.settle();
    for (ms, task) in [(6, 1), (7, 0), (8, 2), (9, 3)] {
        bench.run_to(ms);
        if task != 3 {
            bench.block(TaskId(task));
            bench.settle();
        }
    }
    // CPU 3 is busy; 1, 0, 2 have been idle since 6, 7, 8 ms.
    let newcomer = bench.start(SchedAttr::nice(0));
    bench.platform.clear_resched(CpuId(0));
    bench.change(newcomer, |p| p.processor = CpuId(3));
    bench.sched.reschedule_idle(&mut bench.platform, newcomer);
    assert_eq!(bench.asks(), [1]);
}

#[test]
fn an_idle_core_is_taken_before_the_cpu_that_has_been_idle_longest() {
    let mut bench = bench(V2_4, 5);
    let siblings = [Some(1), Some(0), Some(3), Some(2), None];
    bench.sched.siblings = siblings.map(|cpu| cpu.map(CpuId)).to_vec();
    bench.start_on(0);
    bench.start_on(4);
    bench.settle();
    for (cpu, since_ns) in [(1, 10), (2, 30), (3, 20)] {
        bench.sched.cpus[cpu].last_schedule_ns = since_ns;
    }
    // It waits, though it could run elsewhere.
    let p = bench.start_on(4);
    bench.sched.set_allowed(p, &CpuSet::All);
    bench.sched.reschedule_idle(&mut bench.platform, p);
    assert_eq!(bench.asks(), [2], "1 has been idle longer, but is half of a busy core");
    bench.platform.clear_resched(CpuId(2));
    bench.sched.siblings.clear();
    bench.sched.reschedule_idle(&mut bench.platform, p);
    assert_eq!(bench.asks(), [1], "without hyper-threading");
}

#[test]
fn after_a_synchronous_wakeup_nobody_is_asked() {
    let mut bench = waiting(V2_4, &[0, 0]);
    bench.settle();
    bench.block(B);
    bench.settle();
    bench.change(B, |p| p.counter = 11);
    let waker = |sync| Waker::Task { task: A, cpu: CpuId(0), sync };
    bench.sched.wake(&mut bench.platform, B, waker(true));
    assert_eq!((bench.asks(), bench.order()), (alloc::vec![], alloc::vec![B, A]));
    bench.sched.kill(&mut bench.platform, B);
    bench.sched.wake(&mut bench.platform, B, waker(false));
    assert_eq!(bench.asks(), [0]);
}

#[test]
fn a_synchronous_wakeup_of_a_task_that_may_not_run_here_asks_all_the_same() {
    let mut bench = bench(V2_4, 2);
    let waker = bench.start_on(0);
    let sleeper = bench.start_on(1);
    bench.settle();
    bench.block(sleeper);
    bench.settle();
    let waker = Waker::Task { task: waker, cpu: CpuId(0), sync: true };
    bench.sched.wake(&mut bench.platform, sleeper, waker);
    assert_eq!(bench.asks(), [1]);
}

#[test]
fn one_woken_before_it_was_put_away_stays_where_it_stands() {
    let mut bench = waiting(V2_4, &[0, 0]);
    bench.settle();
    bench.sched.move_last(B);
    bench.block(B);
    bench.wake(B);
    assert_eq!(bench.order(), [A, B]);
    bench.settle();
    assert_eq!(bench.sched.cpus[0].current, Some(B), "it has the bonus for its memory");
}

#[test]
fn a_fifo_task_loses_to_an_equal_newcomer_until_2_4_20() {
    for (version, then) in [(V2_4, B), (LATE, A)] {
        let mut bench = bench(version, 1);
        bench.start(SchedAttr::realtime(Policy::Fifo, 10));
        bench.settle();
        bench.start(SchedAttr::realtime(Policy::Fifo, 10));
        assert_eq!(bench.asks(), [0_u32; 0], "equal is not better");
        bench.run_to(100);
        assert_eq!(bench.sched.cpus[0].current, Some(then), "{}", version.name);
        assert_eq!(bench.sched.counter(A), 0, "ticks are counted in any case");
    }
}

// ---- Fork, exit, yield, changes ----

#[test]
fn a_fork_divides_the_ticks_and_a_reaped_child_gives_them_back() {
    let mut bench = waiting(V2_4, &[0]);
    bench.settle();
    bench.change(A, |p| p.counter = 11);
    bench.fork(A);
    assert_eq!(bench.counters(), [5, 6]);
    bench.fork(A);
    assert_eq!(bench.counters(), [2, 6, 3]);
    bench.platform.clear_resched(CpuId(0));
    bench.fork(A);
    assert_eq!((bench.counters()[0], bench.asks().len()), (1, 0));
    bench.fork(A);
    assert_eq!(bench.counters(), [0, 6, 3, 1, 1]);
    assert_eq!(bench.asks(), [0], "the parent has no ticks left");
    for child in [B, C] {
        bench.sched.kill(&mut bench.platform, child);
        bench.sched.reap(&mut bench.platform, child, Some(A));
    }
    assert_eq!(bench.sched.counter(A), 9);
    bench.change(A, |p| p.counter = 18);
    bench.change(TaskId(3), |p| p.counter = 5);
    bench.sched.kill(&mut bench.platform, TaskId(3));
    bench.sched.reap(&mut bench.platform, TaskId(3), Some(A));
    assert_eq!(bench.sched.counter(A), 20, "MAX_COUNTER");
    bench.sched.audit().expect("the task list has lost three");
    bench.sched.recalculate();
    assert_eq!(bench.counters()[..3], [16, 6, 3], "reaped tasks take no part in epochs");
}

#[test]
fn a_zombie_takes_part_in_epochs_until_it_is_reaped() {
    let mut bench = waiting(V2_4, &[0, 0]);
    bench.sched.kill(&mut bench.platform, B);
    bench.sched.recalculate();
    assert_eq!(bench.counters(), [9, 9]);
    bench.sched.reap(&mut bench.platform, B, None);
    bench.sched.recalculate();
    assert_eq!(bench.counters(), [10, 9]);
}

#[test]
fn a_yield_with_nobody_waiting_does_nothing() {
    let mut bench = bench(V2_4, 2);
    bench.start(SchedAttr::nice(0));
    bench.start(SchedAttr::nice(0));
    bench.settle();
    let order = bench.order();
    bench.sched.yield_now(&mut bench.platform, CpuId(0), A);
    assert_eq!((bench.asks(), bench.order()), (alloc::vec![], order));
}

#[test]
fn who_has_yielded_comes_behind_those_without_ticks_and_they_get_an_epoch() {
    let mut bench = waiting(V2_4, &[0, 0]);
    bench.settle();
    bench.change(A, |p| p.counter = 0);
    bench.sched.yield_now(&mut bench.platform, CpuId(0), B);
    assert_eq!((bench.asks(), bench.order()), (alloc::vec![0], alloc::vec![A, B]));
    bench.settle();
    assert_eq!(bench.sched.cpus[0].current, Some(A));
    assert_eq!(bench.counters(), [6, 9]);
    assert!(!bench.sched.tasks[B].yielded);
}

#[test]
fn yielding_alone_begins_no_epoch() {
    let mut bench = bench(V2_4, 2);
    let yielder = bench.start_on(0);
    bench.start_on(1);
    bench.start_on(1);
    bench.settle();
    bench.sched.yield_now(&mut bench.platform, CpuId(0), yielder);
    assert_eq!(bench.asks(), [0], "a task waits, if only for CPU 1");
    bench.settle();
    assert_eq!(bench.sched.cpus[0].current, Some(yielder));
    assert_eq!(bench.counters(), [6, 6, 6]);
    assert!(!bench.sched.tasks[yielder].yielded);
}

#[test]
fn a_realtime_task_that_yields_goes_last_among_its_equals() {
    let mut bench = bench(V2_4, 1);
    bench.start(SchedAttr::realtime(Policy::Fifo, 10));
    bench.start(SchedAttr::realtime(Policy::Fifo, 10));
    bench.start(SchedAttr::realtime(Policy::Fifo, 9));
    bench.settle();
    bench.sched.yield_now(&mut bench.platform, CpuId(0), B);
    assert!(!bench.sched.tasks[B].yielded);
    bench.settle();
    assert_eq!(bench.sched.cpus[0].current, Some(A));
}

#[test]
fn setpriority_is_for_the_next_epoch_and_setscheduler_moves_first() {
    for (version, order) in [(V2_4, [A, C, B]), (LATE, [A, B, C])] {
        let mut bench = waiting(version, &[0, 0, 0]);
        bench.settle();
        let before = bench.order();
        bench.sched.set_attr(&mut bench.platform, A, &SchedAttr::nice(5), CpuId(0));
        assert_eq!((bench.asks().len(), bench.order()), (0, before));
        assert_eq!(bench.sched.counter(A), 6);
        let rr = SchedAttr::realtime(Policy::RoundRobin, 1);
        bench.sched.set_attr(&mut bench.platform, A, &rr, CpuId(0));
        assert_eq!((bench.asks(), bench.order()), (alloc::vec![0], order.to_vec()));
    }
}

#[test]
fn a_task_leaves_a_cpu_that_is_forbidden_to_it() {
    let mut bench = bench(V2_4, 2);
    bench.start(SchedAttr::nice(0));
    bench.settle();
    assert_eq!(bench.sched.cpu_of(A), CpuId(0));
    bench.sched.set_affinity(&mut bench.platform, A, &CpuSet::only(CpuId(1)));
    assert_eq!(bench.asks(), [0]);
    bench.settle();
    assert_eq!((bench.sched.cpu_of(A), bench.sched.cpus[0].current), (CpuId(1), None));
}

#[test]
fn epochs_of_one_cpu_can_starve_a_task_that_is_bound_to_another() {
    let mut bench = bench(V2_4, 2);
    let hogs = [bench.start_on(0), bench.start_on(0)];
    // Alone on CPU 1, at nice 19: an epoch every one or two ticks.
    let feeder = bench.start_on(1);
    bench.change(feeder, |p| p.nice = 19);
    bench.change(feeder, |p| p.counter = 1);
    bench.settle();
    let running = bench.sched.cpus[0].current;
    assert!(hogs.map(Some).contains(&running));
    bench.run_to(60_000);
    assert_eq!(bench.on(0).len(), 1, "the other task has not run in a minute");
    let load = Load { tasks: 3, cpus: 2, nice_max: 19, nice_min: 0 };
    assert_eq!(bench.sched.promises(&load), Promises::default());
}

#[test]
fn promises_of_one_cpu() {
    let load = Load { tasks: 3, cpus: 1, nice_max: 0, nice_min: 0 };
    let promises = waiting(V2_4, &[0, 0]).sched.promises(&load);
    // A parent may hold 20 ticks after a child's death, plus one as a margin. This counts for three
    // tasks, twice, and the current tick is added.
    assert_eq!(promises.wait_ns, Some((2 * 3 * 21 + 1) * TICK_NS));
    assert_eq!(promises.idle_beside_waiting_ns, Some(0));
}

// ---- 2.2 ----

#[test]
fn in_2_2_twenty_ticks_last_twenty_one() {
    let mut bench = waiting(Version::V2_2, &[0, 0]);
    bench.run_to(300);
    assert_eq!(bench.on(0), [(0, B), (210, A)]);
}

#[test]
fn in_2_2_the_pick_is_not_repeated_after_an_epoch() {
    // The first in the list runs, although the other one now has four times the ticks.
    let mut bench = waiting(Version::V2_2, &[-20, 10]);
    for task in [A, B] {
        bench.change(task, |p| p.counter = 0);
    }
    bench.settle();
    assert_eq!((bench.order(), bench.on(0)), (alloc::vec![B, A], alloc::vec![(0, B)]));
    assert_eq!(bench.counters(), [40, 10]);
}

#[test]
fn in_2_2_a_woken_task_must_have_four_ticks_more_than_the_wakers() {
    for (ahead, asks) in [(3, alloc::vec![]), (4, alloc::vec![0])] {
        let mut bench = bench(Version::V2_2, 2);
        bench.start(SchedAttr::nice(0));
        bench.start(SchedAttr::nice(0));
        bench.settle();
        bench.start(SchedAttr::nice(0));
        bench.settle();
        assert_eq!(bench.sched.busy_cpus, 2);
        // CPU 1's task has no ticks left, but only the waker's task counts.
        bench.change(bench.sched.cpus[1].current.unwrap(), |p| p.counter = 1);
        let current = bench.sched.cpus[0].current.unwrap();
        let third = bench.order().into_iter().find(|&task| !bench.sched.tasks[task].on_cpu);
        let third = third.unwrap();
        let counter = bench.sched.counter(current) + ahead;
        bench.change(third, |p| p.counter = counter);
        bench.sched.reschedule_idle_2_2(&mut bench.platform, third, CpuId(0));
        assert_eq!(bench.asks(), asks);
    }
}

#[test]
fn in_2_2_an_idle_cpu_is_found_from_the_top() {
    let mut bench = bench(Version::V2_2, 4);
    bench.start(SchedAttr::nice(0));
    bench.settle();
    let child = bench.fork(A);
    assert_eq!(bench.asks(), [3], "as good as its parent is not better");
    bench.settle();
    bench.block(child);
    bench.settle();
    bench.change(child, |p| (p.processor, p.placed) = (CpuId(2), true));
    bench.change(child, |p| p.counter = 0);
    let waker = Waker::Process { cpu: CpuId(0) };
    bench.sched.wake(&mut bench.platform, child, waker);
    assert_eq!(bench.asks(), [2], "the CPU on which it ran last comes first");
}

#[test]
fn in_2_2_forks_lose_odd_ticks_and_the_dead_give_none_back() {
    let mut bench = waiting(Version::V2_2, &[0]);
    bench.settle();
    bench.change(A, |p| p.counter = 11);
    bench.fork(A);
    assert_eq!(bench.counters(), [5, 5]);
    bench.sched.kill(&mut bench.platform, B);
    bench.sched.reap(&mut bench.platform, B, Some(A));
    assert_eq!(bench.sched.counter(A), 5);
}

#[test]
fn in_2_2_a_yield_counts_as_no_ticks_and_can_begin_an_epoch() {
    let mut bench = waiting(Version::V2_2, &[0, 0]);
    bench.settle();
    bench.change(A, |p| p.counter = 0);
    bench.sched.yield_now(&mut bench.platform, CpuId(0), B);
    bench.settle();
    assert_eq!(bench.sched.cpus[0].current, Some(A));
    assert_eq!(bench.counters(), [20, 30]);

    let mut bench = waiting(Version::V2_2, &[0]);
    bench.settle();
    bench.sched.yield_now(&mut bench.platform, CpuId(0), A);
    assert_eq!(bench.asks(), [0], "waiting tasks do not count");
    bench.settle();
    assert_eq!(bench.counters(), [30], "alone, it begins an epoch with each yield");
}

#[test]
fn in_2_2_idle_tasks_but_the_first_lose_what_they_lack() {
    let mut bench = bench(Version::V2_2, 2);
    let idle = |bench: &Bench| [0, 1].map(|cpu: usize| bench.sched.cpus[cpu].idle_counter);
    let mut seen = alloc::vec![];
    for _ in 0..9 {
        bench.sched.recalculate();
        seen.push(idle(&bench)[1]);
    }
    assert_eq!(seen, [-50, -25, -13, -7, -4, -2, -1, -1, -1]);
    assert_eq!(idle(&bench)[0], IDLE_COUNTER);
    // From then on a task with few ticks is queued, and waits while its own CPU idles.
    bench.start(SchedAttr::nice(0));
    bench.settle();
    bench.start(SchedAttr::nice(0));
    bench.settle();
    bench.block(B);
    bench.settle();
    for (counter, asks) in [(2, alloc::vec![]), (3, alloc::vec![1])] {
        bench.change(B, |p| p.counter = counter);
        bench.sched.wake(&mut bench.platform, B, Waker::Interrupt { cpu: CpuId(1) });
        assert_eq!(bench.asks(), asks);
        bench.sched.kill(&mut bench.platform, B);
    }
}

#[test]
fn in_2_2_a_child_has_no_processor_until_it_runs() {
    let mut bench = bench(Version::V2_2, 2);
    bench.start(SchedAttr::nice(0));
    bench.settle();
    bench.start(SchedAttr::nice(0));
    bench.settle();
    let child = bench.fork(A);
    let (of_child, of_parent) = (bench.sched.queued(child), bench.sched.queued(A));
    assert_eq!((of_child.processor, of_parent.processor), (NO_CPU, CpuId(0)));
    assert_eq!(bench.sched.queued_on, [1, 1], "it counts nowhere");
    bench.sched.audit_all().expect("the counts are right");
    // On one CPU every task is CPU 0's.
    let mut bench = waiting(Version::V2_2, &[0]);
    bench.settle();
    let child = bench.fork(A);
    assert_eq!(bench.sched.queued(child).processor, CpuId(0));
}

#[test]
fn in_2_2_chrt_to_the_same_policy_moves_first() {
    let mut bench = waiting(Version::V2_2, &[0, 0]);
    assert_eq!(bench.order(), [B, A]);
    bench.sched.set_same_attr(&mut bench.platform, A, CpuId(0));
    assert_eq!(bench.order(), [A, B]);
    // A change of nice alone moves nothing.
    bench.sched.set_attr(&mut bench.platform, B, &SchedAttr::nice(5), CpuId(0));
    assert_eq!(bench.order(), [A, B]);
}

#[test]
fn in_2_2_who_blocks_in_this_instant_does_not_count_where_a_task_starts() {
    let mut bench = bench(Version::V2_2, 2);
    for _ in 0..2 {
        bench.start(SchedAttr::nice(0));
        bench.settle();
    }
    bench.sched.block(&mut bench.platform, CpuId(1), B, BlockReason::Interruptible);
    let started = bench.start(SchedAttr::nice(0));
    assert_eq!(bench.sched.cpu_of(started), CpuId(1));
}

#[test]
fn in_2_2_there_is_no_affinity() {
    let mut bench = bench(Version::V2_2, 2);
    bench.start_on(1);
    bench.settle();
    let release = |version| {
        crate::registry::find(&alloc::format!("o_n@{version}"))
            .expect("the release is registered")
            .1
    };
    assert!(!release("2.2").can.affinity && release("2.4.16").can.affinity);
    assert_eq!(bench.sched.cpu_of(A), CpuId(0));
    bench.sched.set_affinity(&mut bench.platform, A, &CpuSet::only(CpuId(1)));
    assert!(bench.asks().is_empty());
}

// ---- All of it ----

#[test]
fn the_books_stay_in_order_whatever_happens() {
    for version in [Version::V2_2, Version::V2_4_16, V2_4, LATE] {
        for cpus in [1, 2, 5] {
            riot(version, cpus, 4_000);
        }
    }
}

/// Calls hooks at random. `settle` checks the state.
fn riot(version: Version, cpus: u32, steps: u32) {
    let mut bench = bench(version, cpus);
    let mut state: u64 = 99 + u64::from(cpus);
    let mut random = move |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize % below
    };
    let mut asleep: Vec<TaskId> = Vec::new();
    for _ in 0..steps {
        let cpu = CpuId(random(cpus as usize) as u32);
        let current = (bench.sched.cpus[cpu.index()].current)
            .filter(|&task| bench.sched.tasks[task].state == State::Running);
        let sched = match random(6) {
            0 => SchedAttr::realtime(Policy::Fifo, 1 + random(3) as u32),
            1 => SchedAttr::realtime(Policy::RoundRobin, 1 + random(3) as u32),
            _ => SchedAttr::nice(random(40) as i32 - 20),
        };
        let mask = CpuSet::from_cpus([cpu, CpuId(random(cpus as usize) as u32)]);
        match (random(12), current) {
            (0, _) if bench.sched.task_list.len() < 20 => {
                bench.start(sched);
            }
            (1, Some(task)) if bench.sched.task_list.len() < 20 => {
                bench.fork(task);
            }
            (2, Some(task)) => {
                bench.block(task);
                asleep.push(task);
            }
            (3 | 4, _) if !asleep.is_empty() => {
                bench.wake(asleep.swap_remove(random(asleep.len())))
            }
            (5, Some(task)) => bench.sched.yield_now(&mut bench.platform, cpu, task),
            (6, Some(task)) => bench.sched.set_attr(&mut bench.platform, task, &sched, cpu),
            (7, Some(task)) => bench.sched.set_affinity(&mut bench.platform, task, &mask),
            (8, Some(task)) => {
                bench.sched.block(&mut bench.platform, cpu, task, BlockReason::Dead);
                bench.platform.resched(cpu);
                bench.settle();
                let parent = bench.sched.task_list.iter().copied().find(|&other| other != task);
                bench.sched.reap(&mut bench.platform, task, parent);
            }
            _ => bench.tick(),
        }
        // Sometimes much happens within a nanosecond.
        if random(3) > 0 {
            bench.settle();
            for (number, cpu) in bench.sched.cpus.iter().enumerate() {
                let lawful =
                    cpu.current.is_none_or(|task| bench.sched.may_run(task, CpuId(number as u32)));
                assert!(lawful, "CPU {number} runs a task that may not run there");
            }
        }
    }
}

#[test]
fn an_account_of_a_pick_has_the_goodness_of_each_task() {
    let mut bench = waiting(Version::V2_4_22, &[0, 19]);
    bench.platform.ask(true);
    let pick = |bench: &mut Bench| {
        bench.platform.clear_resched(CpuId(0));
        let next = bench.sched.schedule(&mut bench.platform, CpuId(0));
        let account = bench.platform.take_accounts().pop().expect("an account was requested");
        (next, account.rule, account.evidence)
    };
    fn terms(evidence: &Evidence, candidate: usize) -> Vec<(&str, i64)> {
        let terms = evidence.candidates[candidate].terms.iter();
        terms.map(|term| (&*term.name, term.value)).take(3).collect()
    }
    // 6 ticks + 20 - 0 against 1 tick + 20 - 19.
    let (next, rule, evidence) = pick(&mut bench);
    assert_eq!((next, rule), (Some(A), rules::LARGEST_GOODNESS));
    assert_eq!(terms(&evidence, 0), [("goodness", 26), ("counter", 6), ("nice", 0)]);
    assert_eq!(terms(&evidence, 1), [("goodness", 2), ("counter", 1), ("nice", 19)]);
    assert_eq!(evidence.candidates[1].rank, [-2, 1, 0, 0]);
    // No task has ticks left. A's address space is loaded now, which is worth one more.
    for task in bench.sched.tasks.values_mut() {
        task.counter = 0;
    }
    bench.sched.weigh_again(A);
    bench.sched.weigh_again(B);
    let mut before = Vec::new();
    bench.sched.candidates(CpuId(0), &mut before);
    let (next, rule, evidence) = pick(&mut bench);
    assert_eq!((next, rule), (Some(A), rules::NEW_EPOCH));
    assert_eq!(terms(&evidence, 0), [("goodness", 27), ("counter", 6), ("nice", 0)]);
    assert_eq!(before, evidence.candidates, "an earlier query gives the same answer");
    assert_eq!(evidence.best(), Ok(Some(Who::Task(A))));
}

#[test]
fn in_2_2_only_the_memory_of_who_has_not_exited_is_at_hand() {
    let mut bench = waiting(Version::V2_2, &[0]);
    bench.settle();
    let mm = bench.sched.tasks[A].mm;
    let at_hand = |bench: &Bench, prev| bench.sched.mm_at_hand(CpuId(0), prev);
    let kernels = Some(TaskAttr::NO_ADDRESS_SPACE);
    assert_eq!((at_hand(&bench, Some(A)), at_hand(&bench, None)), (Some(mm), kernels));
    bench.sched.block(&mut bench.platform, CpuId(0), A, BlockReason::Dead);
    assert_eq!(at_hand(&bench, Some(A)), kernels);
}
