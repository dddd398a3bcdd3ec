//! The worked examples of the description, and rules that no golden schedule decides.

use super::levels::{IDLE_PRIO, ISO_PRIO};
use super::*;
use alloc::vec;
use schedlab_core::topology::Place;
use schedlab_core::{Administer, Topology};

const MS: u64 = 1_000_000;
const CPU0: CpuId = CpuId(0);
const CPU1: CpuId = CpuId(1);

/// A machine with its clock, and the timers that are pending.
struct World {
    muqss: Muqss,
    platform: Platform,
    timers: Vec<Option<u64>>,
    tick_ns: u64,
    next_tick: u64,
    /// Starts of turns: time in ns and task, on CPU 0.
    turns: Vec<(u64, u32)>,
}

fn ordinary(nice: i32) -> TaskAttr {
    TaskAttr { sched: SchedAttr::nice(nice), ..TaskAttr::default() }
}

fn with_policy(policy: Policy, rt_priority: u32) -> TaskAttr {
    let sched = SchedAttr { policy, rt_priority, ..SchedAttr::default() };
    TaskAttr { sched, ..TaskAttr::default() }
}

impl World {
    fn new(topology: Topology, hz: u32) -> World {
        let config = BuildConfig { topology, hz };
        let timers = vec![None; config.topology.cpus() as usize];
        let tick_ns = 1_000_000_000 / u64::from(hz);
        World {
            muqss: Muqss::new(&config),
            platform: config.platform(),
            timers,
            tick_ns,
            next_tick: 1,
            turns: vec![],
        }
    }

    fn start(&mut self, task: u32, attr: &TaskAttr) {
        self.muqss.fork(&mut self.platform, TaskId(task), attr, Parent::External);
    }

    /// Hogs of these nice values that start at 0, on one CPU.
    fn hogs(hz: u32, nices: &[i32]) -> World {
        let mut world = World::new(Topology::flat(1), hz);
        for (task, &nice) in (0..).zip(nices) {
            world.start(task, &ordinary(nice));
        }
        world.settle();
        world
    }

    fn follow_orders(&mut self) {
        for order in self.platform.timer_orders.drain(..) {
            match order {
                schedlab_core::platform::TimerOrder::Arm { key, at_ns, .. } => {
                    self.timers[key.0 as usize] = Some(at_ns);
                }
                schedlab_core::platform::TimerOrder::Cancel { key } => {
                    self.timers[key.0 as usize] = None;
                }
            }
        }
    }

    /// Reschedules until no CPU requests it.
    fn settle(&mut self) {
        let mut from = 0;
        let mut reschedules = 0;
        while let Some(cpu) =
            self.platform.next_resched(from).or_else(|| self.platform.next_resched(0))
        {
            reschedules += 1;
            assert!(reschedules < 1_000, "the CPUs reschedule endlessly");
            self.platform.clear_resched(cpu);
            let next = self.muqss.schedule(&mut self.platform, cpu);
            let turn = next.map(|task| (self.platform.now_ns(), task.0));
            if cpu == CPU0
                && let Some(turn) = turn
                && self.turns.last().is_none_or(|last| last.1 != turn.1)
            {
                self.turns.push(turn);
            }
            from = cpu.0 + 1;
        }
        self.follow_orders();
        self.muqss.audit().expect("the books are in order");
    }

    /// Lets all timers and ticks up to `until_ns` pass.
    fn run(&mut self, until_ns: u64) {
        loop {
            let tick_ns = self.next_tick * self.tick_ns;
            let timer_ns = self.timers.iter().flatten().min().copied().unwrap_or(u64::MAX);
            let now_ns = tick_ns.min(timer_ns);
            if now_ns > until_ns {
                return self.platform.set_now_ns(until_ns);
            }
            self.platform.set_now_ns(now_ns);
            for cpu in 0..self.timers.len() {
                if self.timers[cpu].take_if(|at_ns| *at_ns == now_ns).is_some() {
                    self.muqss.timer(&mut self.platform, TimerKey(cpu as u32));
                }
            }
            if tick_ns == now_ns {
                self.platform.set_jiffies(self.next_tick);
                self.next_tick += 1;
                for cpu in 0..self.timers.len() as u32 {
                    self.muqss.tick(&mut self.platform, CpuId(cpu));
                }
            }
            self.settle();
        }
    }

    fn task(&self, task: u32) -> &Task {
        &self.muqss.tasks[TaskId(task)]
    }

    fn curr(&self, cpu: CpuId) -> Option<u32> {
        self.muqss.cpus[cpu.index()].curr.map(|task| task.0)
    }

    fn block(&mut self, cpu: CpuId) {
        let task = self.muqss.cpus[cpu.index()].curr.expect("the CPU runs a task");
        self.muqss.block(&mut self.platform, cpu, task, BlockReason::Interruptible);
        self.platform.resched(cpu);
    }

    fn wake(&mut self, task: u32, cpu: CpuId) {
        self.muqss.wake(&mut self.platform, TaskId(task), Waker::Interrupt { cpu });
    }
}

#[test]
fn hogs_change_at_the_sixth_tick_at_1000_hz() {
    let mut world = World::hogs(1000, &[0, 0, 0]);
    world.run(20 * MS);
    assert_eq!(world.turns, [(0, 0), (6 * MS, 1), (12 * MS, 2), (18 * MS, 0)]);
    let mut world = World::hogs(1000, &[0, 0, 0]);
    world.run(5 * MS);
    assert_eq!(world.task(0).time_slice, 6144 - 5 * 1048);
    world.run(6 * MS);
    assert_eq!(world.task(0).deadline, 6_442_446 + 41_091_072);
}

#[test]
fn the_timer_ends_slices_at_250_hz_and_nearly_all_at_100() {
    let mut world = World::hogs(250, &[0, 0, 0]);
    world.run(19 * MS);
    assert_eq!(world.turns, [(0, 0), (6_291_456, 1), (12 * MS, 2), (18_291_456, 0)]);
    let mut world = World::hogs(100, &[0, 0, 0]);
    world.run(55 * MS);
    let by_timer = (0..8).map(|turn| (turn * 6_291_456, turn as u32 % 3));
    assert_eq!(world.turns, by_timer.chain([(50 * MS, 2)]).collect::<Vec<_>>());
}

#[test]
fn shares_of_nice_values() {
    let mut world = World::hogs(1000, &[-5, 0, 5]);
    world.run(53 * MS);
    let turns = [(0, 0), (18, 1), (24, 0), (42, 2), (48, 1)];
    assert_eq!(world.turns, turns.map(|(ms, task)| (ms * MS, task)));
}

#[test]
fn three_hogs_and_a_sleeper_on_two_cpus() {
    let mut world = World::new(Topology::flat(2), 1000);
    for task in 0..4 {
        world.start(task, &ordinary(0));
    }
    world.settle();
    assert_eq!([CPU0, CPU1].map(|cpu| world.curr(cpu)), [Some(0), Some(1)]);
    world.run(6 * MS);
    assert_eq!([CPU0, CPU1].map(|cpu| world.curr(cpu)), [Some(2), Some(3)]);
}

#[test]
fn the_earliest_deadline_of_all_queues_is_taken_and_clocks_are_levelled() {
    let mut world = World::new(Topology::flat(2), 1000);
    world.muqss.set_tunable(&mut world.platform, "rqshare", 0).expect("no task has started");
    for (task, nice) in [(0, 0), (1, 0), (2, 10), (3, -10)] {
        world.start(task, &ordinary(nice));
    }
    world.settle();
    // Task 3 was queued by CPU 1. Tasks 0 and 1 are equal: each CPU prefers its own queue.
    assert_eq!([CPU0, CPU1].map(|cpu| world.curr(cpu)), [Some(3), Some(1)]);
    assert_eq!([CPU0, CPU1].map(|cpu| world.muqss.queues.len(cpu)), [2, 0]);
    world.platform.set_now_ns(500_000);
    world.muqss.update_clock(&world.platform, CPU1);
    world.muqss.cpus[1].clock.niffies += 7;
    world.start(4, &ordinary(-20));
    assert_eq!(world.task(4).cpu, CPU1);
    world.platform.resched(CPU0);
    world.settle();
    assert_eq!(world.curr(CPU0), Some(4));
    assert_eq!(world.muqss.niffies(CPU0), 500_007, "CPU 0 has looked at the queue of CPU 1");
    let set = world.muqss.set_tunable(&mut world.platform, "rqshare", 2);
    assert!(set.is_err(), "rqshare is a boot parameter");
}

#[test]
fn the_best_key_of_a_leader_may_be_out_of_date() {
    // Two packages of two CPUs: two queues, with CPUs 0 and 2 as leaders.
    let place = |cpu: u32| Place { core: cpu, cache: cpu / 2, package: cpu / 2, node: 0 };
    let topology = Topology::new((0..4).map(place).collect(), &[]).expect("the machine is valid");
    let mut world = World::new(topology, 1000);
    let bound = |cpu, nice| TaskAttr { allowed: CpuSet::only(CpuId(cpu)), ..ordinary(nice) };
    for cpu in 0..4 {
        world.start(cpu, &bound(cpu, 0));
    }
    world.settle();
    // CPU 2 finds its queue empty. Then CPU 3, which leads none, queues task 4 there.
    world.platform.resched(CpuId(2));
    world.settle();
    world.start(4, &bound(3, 5));
    world.muqss.tasks[TaskId(4)].allowed = CpuSet::from_cpus([CPU0, CpuId(3)]);
    world.start(5, &bound(0, 10));
    world.block(CPU0);
    world.settle();
    assert_eq!(world.muqss.queues.first_key(CpuId(2)), world.task(4).deadline);
    assert_eq!(world.curr(CPU0), Some(5), "although task 4 has the earlier deadline");
}

#[test]
fn a_task_woken_before_its_cpu_has_left_it_wakes_afterwards() {
    let mut world = World::hogs(1000, &[0, 0]);
    world.block(CPU0);
    world.wake(0, CPU0);
    assert!(!world.task(0).runnable, "the wakeup waits");
    world.settle();
    assert!(world.task(0).runnable);
    assert_eq!(world.curr(CPU0), Some(1), "an equal deadline does not preempt");
}

#[test]
fn a_synchronous_wakeup_preempts_no_busy_cpu() {
    for (sync, expected) in [(true, 0), (false, 1)] {
        let mut world = World::hogs(1000, &[5, 0]);
        // Task 1 runs first, by its deadline, and sleeps.
        world.block(CPU0);
        world.settle();
        let waker = Waker::Task { task: TaskId(0), cpu: CPU0, sync };
        world.muqss.wake(&mut world.platform, TaskId(1), waker);
        world.settle();
        assert_eq!(world.curr(CPU0), Some(expected), "synchronous: {sync}");
    }
}

#[test]
fn the_highest_of_equal_idle_cpus_is_asked_unless_the_last_one_idles() {
    let mut world = World::new(Topology::flat(4), 1000);
    let mut bound = ordinary(0);
    bound.allowed = CpuSet::only(CPU0);
    world.start(0, &bound);
    world.settle();
    world.start(1, &TaskAttr { allowed: CpuSet::from_cpus([CPU0, CPU1, CpuId(2)]), ..ordinary(0) });
    assert_eq!(world.task(1).cpu, CPU1, "the CPU with the fewest tasks");
    world.settle();
    let allowed = CpuSet::from_cpus([CPU0, CpuId(2), CpuId(3)]);
    world.muqss.tasks[TaskId(0)].allowed = allowed;
    assert_eq!(world.muqss.resched_best_idle(&mut world.platform, TaskId(0), CPU0), Some(CpuId(3)));
    assert_eq!(
        world.muqss.resched_best_idle(&mut world.platform, TaskId(0), CpuId(2)),
        Some(CpuId(2))
    );
}

#[test]
fn a_child_shares_what_is_left_of_the_slice() {
    let mut world = World::hogs(1000, &[0]);
    world.run(2 * MS);
    let parent = Parent::Task { task: TaskId(0), cpu: CPU0 };
    world.muqss.fork(&mut world.platform, TaskId(1), &ordinary(0), parent);
    let half = (6144 - 2 * 1048) / 2;
    assert_eq!([0, 1].map(|task| world.task(task).time_slice), [half, half]);
    assert_eq!(world.task(0).deadline, world.task(1).deadline);
    assert!(world.platform.resched_pending(CPU0), "no CPU is idle for the child");
    // When too little is left, the child gets a full slice.
    world.muqss.tasks[TaskId(0)].time_slice = 150;
    world.muqss.fork(&mut world.platform, TaskId(2), &ordinary(0), parent);
    assert_eq!([0, 2].map(|task| world.task(task).time_slice), [75, 6144]);
    world.settle();
}

#[test]
fn yields_by_type() {
    for (yield_type, resched, slice) in [(0, false, 4048), (1, true, 4048), (2, true, 6144)] {
        let mut world = World::hogs(1000, &[0]);
        world.muqss.set_tunable(&mut world.platform, "yield_type", yield_type).expect("in range");
        world.run(2 * MS);
        world.muqss.yield_now(&mut world.platform, CPU0, TaskId(0));
        let after = (world.platform.resched_pending(CPU0), world.task(0).time_slice);
        assert_eq!(after, (resched, slice), "yield_type {yield_type}");
    }
}

#[test]
fn nice_moves_the_deadline_and_restarts_the_timer() {
    let mut world = World::hogs(1000, &[0, 0]);
    world.run(2 * MS);
    world.platform.set_now_ns(2_500_000);
    world.muqss.set_attr(&mut world.platform, TaskId(0), &SchedAttr::nice(-5), CPU0);
    world.follow_orders();
    assert_eq!(world.timers[0], Some(2_500_000 + (6144 - 2 * 1048) * 1024));
    assert_eq!(world.task(0).deadline, world.muqss.distances[15] as u64);
    assert!(!world.platform.resched_pending(CPU0));
    world.muqss.set_attr(&mut world.platform, TaskId(1), &SchedAttr::nice(-10), CPU0);
    world.settle();
    assert_eq!(world.curr(CPU0), Some(1), "the queued task preempts");
}

#[test]
fn a_task_moves_only_if_its_own_cpu_is_forbidden() {
    let mut world = World::new(Topology::flat(3), 1000);
    for task in 0..4 {
        world.start(task, &ordinary(0));
    }
    world.settle();
    let queued = (0..4).map(TaskId).find(|&task| world.muqss.queues.is_queued(task));
    let queued = queued.expect("one task of four waits");
    let own = world.muqss.cpu_of(queued);
    world.muqss.set_affinity(&mut world.platform, queued, &CpuSet::from_cpus([own]));
    assert_eq!(world.muqss.cpu_of(queued), own);
    let others: Vec<CpuId> = (0..3).map(CpuId).filter(|&cpu| cpu != own).collect();
    let lowest = others[0];
    world.muqss.set_affinity(&mut world.platform, queued, &CpuSet::from_cpus(others));
    assert_eq!(world.muqss.cpu_of(queued), lowest);
    let runs = world.muqss.cpus[own.index()].curr.expect("all CPUs are busy");
    world.muqss.set_affinity(&mut world.platform, runs, &CpuSet::only(lowest));
    world.settle();
    let (cpu, waits) = (world.muqss.cpu_of(runs), world.muqss.queues.is_queued(runs));
    assert!(
        cpu == lowest || cpu == own && waits,
        "it is passed over until an allowed CPU finds it"
    );
}

#[test]
fn levels_and_keys() {
    let mut world = World::hogs(1000, &[0]);
    world.start(1, &with_policy(Policy::Iso, 0));
    world.start(2, &with_policy(Policy::Idle, 0));
    world.start(3, &with_policy(Policy::Fifo, 30));
    let levels = [1, 2, 3].map(|task| world.task(task).prio);
    assert_eq!(levels, [ISO_PRIO, IDLE_PRIO, 70]);
    let keys: Vec<u64> = world.muqss.queues.iter(CPU0).map(|(key, _)| key).collect();
    assert_eq!(keys, [70, 101, 41_091_072 | 0xF000_0000_0000_0000]);
    world.settle();
    assert_eq!(world.curr(CPU0), Some(3));
    // When the share is used up, SCHED_ISO counts as ordinary.
    world.muqss.cpus[0].iso.refractory = true;
    world.muqss.dequeue(&mut world.platform, TaskId(1));
    world.muqss.enqueue(&mut world.platform, CPU0, TaskId(1));
    assert_eq!(world.task(1).prio, NORMAL_PRIO);
    let idle = &world.muqss.tasks[TaskId(2)];
    let as_ordinary = world.muqss.key(Policy::Idle, NORMAL_PRIO, idle.deadline);
    assert_eq!(as_ordinary, idle.deadline + 250_134_528);
}

#[test]
fn a_sibling_thread_holds_less_entitled_tasks_back() {
    let place = |_| Place { core: 0, cache: 0, package: 0, node: 0 };
    let topology = Topology::new((0..2).map(place).collect(), &[]).expect("the machine is valid");
    let mut world = World::new(topology, 1000);
    world.start(0, &ordinary(0));
    world.settle();
    assert_eq!(world.muqss.running[0].rq_smt_bias, 20);
    for (nice, bias, allowed) in [(0, 20, true), (1, 20, false), (19, 17, true), (-1, 20, true)] {
        world.muqss.running[0].rq_smt_bias = bias;
        world.start(10 + bias as u32 * 100 + (20 + nice) as u32, &ordinary(nice));
        let task = TaskId(10 + bias as u32 * 100 + (20 + nice) as u32);
        assert_eq!(world.muqss.smt_allows(task, CPU1), allowed, "nice {nice} beside bias {bias}");
    }
    world.muqss.running[0].rq_mm = false;
    assert!(
        world.muqss.smt_allows(TaskId(10 + 2000 + 21), CPU1),
        "a kernel thread holds none back"
    );
    // The bias falls by one with each slice, down to 1, and then begins again.
    let biases: Vec<i32> = (0..21)
        .map(|_| {
            world.muqss.set_smt_bias(TaskId(0));
            world.task(0).smt_bias
        })
        .collect();
    assert_eq!((biases[0], biases[18], biases[19], biases[20]), (19, 1, 20, 19));
}

#[test]
fn threads_of_a_core_do_not_drive_two_tasks_around_without_end() {
    let place = |_| Place { core: 0, cache: 0, package: 0, node: 0 };
    let topology = Topology::new((0..4).map(place).collect(), &[]).expect("the machine is valid");
    let mut world = World::new(topology, 1000);
    world.start(0, &ordinary(0));
    world.start(1, &ordinary(10));
    world.settle();
    assert_eq!(world.curr(CPU0), Some(0));
    // Both have had better nice values, and keep the biases of those. The second, which is held
    // back, is due first.
    world.muqss.tasks[TaskId(0)].smt_bias = 40;
    world.muqss.running[0].rq_smt_bias = 40;
    world.muqss.dequeue(&mut world.platform, TaskId(1));
    world.muqss.tasks[TaskId(1)].smt_bias = 20;
    world.muqss.tasks[TaskId(1)].deadline = 1_000;
    let cpu = world.task(1).cpu;
    world.muqss.enqueue(&mut world.platform, cpu, TaskId(1));
    world.platform.resched(CPU0);
    world.settle();
    let running = |world: &World| (0..4).filter_map(|cpu| world.curr(CpuId(cpu))).count();
    assert!(running(&world) > 0);
    // As soon as slices are refilled the biases fit again.
    world.run(100 * MS);
    assert!(running(&world) > 0);
}
