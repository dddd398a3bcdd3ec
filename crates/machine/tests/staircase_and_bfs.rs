//! Con Kolivas's schedulers on the machine: worked examples, and their guarantees under random
//! loads.

use schedlab_core::{
    BlockReason, BuildConfig, CpuId, CpuSet, Event, Load, Policy, SchedAttr, Scheduler, TaskAttr,
    TaskId,
};
use schedlab_machine::order::{Order, SplitMix64};
use schedlab_machine::{Config, Machine, NewTask, Observer, Op, Workload};
use schedlab_sched::bfs::{self, Bfs};
use schedlab_sched::staircase::{Edition, Staircase};
use std::convert::Infallible;

const MS: u64 = 1_000_000;

/// Runs and sleeps alternate. Without sleep the task is a hog.
#[derive(Clone)]
struct Program {
    nice: i32,
    start_ms: u64,
    run_ns: u64,
    sleep_ns: u64,
}

const fn hog(nice: i32) -> Program {
    Program { nice, start_ms: 0, run_ns: u64::MAX / 4, sleep_ns: 0 }
}

struct Programs(Vec<(Program, bool)>);

impl Workload for Programs {
    type Error = Infallible;

    fn initial_tasks(&mut self) -> Vec<NewTask> {
        self.0
            .iter()
            .enumerate()
            .map(|(number, (program, _))| NewTask {
                attr: TaskAttr {
                    sched: SchedAttr::nice(program.nice),
                    address_space: number as u32,
                    ..TaskAttr::default()
                },
                start_ns: program.start_ms * MS,
            })
            .collect()
    }

    fn next(&mut self, now_ns: u64, task: TaskId, _cpu: CpuId) -> Result<Op, Infallible> {
        let (program, has_run) = &mut self.0[task.index()];
        *has_run = !*has_run;
        Ok(if *has_run {
            Op::Run { ns: program.run_ns }
        } else {
            Op::Sleep { until_ns: now_ns + program.sleep_ns, reason: BlockReason::Interruptible }
        })
    }
}

/// Slices in ms (cpu, from, to, task), adjoining ones merged; CPU times and longest waits.
#[derive(Default)]
struct Notes {
    slices: Vec<(u32, f64, f64, u32)>,
    ran_ns: Vec<u64>,
    longest_wait_ns: Vec<u64>,
    waits_since: Vec<Option<u64>>,
    runs_since: Vec<Option<u64>>,
}

impl Notes {
    fn row(&mut self, task: TaskId) -> usize {
        let rows = self.ran_ns.len().max(task.index() + 1);
        self.ran_ns.resize(rows, 0);
        self.longest_wait_ns.resize(rows, 0);
        self.waits_since.resize(rows, None);
        self.runs_since.resize(rows, None);
        task.index()
    }

    fn stops(&mut self, now_ns: u64, cpu: u32, row: usize) {
        let Some(since) = self.runs_since[row].take() else {
            return;
        };
        self.ran_ns[row] += now_ns - since;
        let (from, to) = (since as f64 / 1e6, now_ns as f64 / 1e6);
        match self.slices.iter_mut().rev().find(|slice| slice.0 == cpu) {
            Some(last) if last.3 == row as u32 && last.2 == from => last.2 = to,
            _ if since < now_ns => self.slices.push((cpu, from, to, row as u32)),
            _ => {}
        }
    }

    fn waited(&mut self, now_ns: u64, row: usize) {
        if let Some(since) = self.waits_since[row].take() {
            self.longest_wait_ns[row] = self.longest_wait_ns[row].max(now_ns - since);
        }
    }
}

impl Observer for Notes {
    #[inline]
    fn on(&mut self, now_ns: u64, event: Event<'_>) {
        match event {
            Event::Started { task, .. } => self.started(now_ns, task),
            Event::Woken { task, .. } => self.woken(now_ns, task),
            Event::Blocked { task, .. } => self.blocked(task),
            Event::Switched { cpu, prev, prev_runnable, next, .. } => {
                self.switched(now_ns, cpu, prev, prev_runnable, next)
            }
            Event::Finished => self.finished(now_ns),
            _ => {}
        }
    }
}

impl Notes {
    fn started(&mut self, now_ns: u64, task: TaskId) {
        let row = self.row(task);
        self.waits_since[row] = Some(now_ns);
    }

    fn woken(&mut self, now_ns: u64, task: TaskId) {
        let row = self.row(task);
        self.waits_since[row] = Some(now_ns);
    }

    fn blocked(&mut self, task: TaskId) {
        let row = self.row(task);
        self.waits_since[row] = None;
    }

    fn switched(
        &mut self,
        now_ns: u64,
        cpu: CpuId,
        prev: Option<TaskId>,
        prev_runnable: bool,
        next: Option<TaskId>,
    ) {
        if let Some(prev) = prev {
            let row = self.row(prev);
            self.stops(now_ns, cpu.0, row);
            if prev_runnable {
                self.waits_since[row] = Some(now_ns);
            }
        }
        if let Some(next) = next {
            let row = self.row(next);
            self.runs_since[row] = Some(now_ns);
            self.waited(now_ns, row);
        }
    }

    fn finished(&mut self, now_ns: u64) {
        for row in 0..self.ran_ns.len() {
            self.stops(now_ns, u32::MAX, row);
            self.waited(now_ns, row);
        }
    }
}

fn machine<S: Scheduler>(
    cpus: u32,
    scheduler: S,
    programs: &[Program],
) -> Machine<S, Programs, Notes> {
    let programs = Programs(programs.iter().map(|program| (program.clone(), false)).collect());
    Machine::new(Config::idealised(cpus, 1000), scheduler, programs, Notes::default())
}

fn run<S: Scheduler>(cpus: u32, scheduler: S, programs: &[Program], until_ms: u64) -> Notes {
    let mut machine = machine(cpus, scheduler, programs);
    let Ok(_) = machine.run(until_ms * MS);
    machine.scheduler().inspect().audit().unwrap();
    machine.into_parts().2
}

fn sd(cpus: u32) -> Staircase {
    Staircase::new(Edition::Sd, &BuildConfig::flat(cpus, 1000))
}

fn rsdl() -> Staircase {
    Staircase::new(Edition::Rsdl, &BuildConfig::flat(1, 1000))
}

fn bfs_404(cpus: u32) -> Bfs {
    Bfs::new(bfs::Version::V0_404, &BuildConfig::flat(cpus, 1000))
}

fn bfs_316(cpus: u32) -> Bfs {
    Bfs::new(bfs::Version::V0_316, &BuildConfig::flat(cpus, 1000))
}

/// Returns the slices of CPU 0 that begin in a period, as (from ms, to ms, task).
fn slices(notes: &Notes, from_ms: u64, to_ms: u64) -> Vec<(u64, u64, u32)> {
    notes
        .slices
        .iter()
        .filter(|slice| slice.0 == 0 && slice.1 >= from_ms as f64 && slice.1 < to_ms as f64)
        .map(|slice| (slice.1 as u64, slice.2 as u64, slice.3))
        .collect()
}

#[test]
fn sd_hogs_of_one_nice_level_take_turns() {
    let notes = run(1, sd(1), &[hog(0), hog(0)], 100);
    assert_eq!(slices(&notes, 0, 19), [(0, 6, 0), (6, 12, 1), (12, 18, 0), (18, 24, 1)]);
}

#[test]
fn sd_a_worse_nice_level_stands_between_the_slots_of_a_better_one() {
    let notes = run(1, sd(1), &[hog(0), hog(0), hog(10)], 100);
    assert_eq!(
        slices(&notes, 0, 40),
        [
            (0, 6, 0),
            (6, 12, 1),
            (12, 15, 2),
            (15, 21, 0),
            (21, 27, 1),
            (27, 33, 0),
            (33, 39, 1),
            (39, 42, 2)
        ]
    );
}

#[test]
fn sd_a_sleeper_sinks_by_what_it_runs_only() {
    let sleeper = Program { run_ns: 2 * MS, sleep_ns: 20 * MS, ..hog(0) };
    let mut machine = machine(1, sd(1), &[hog(0), sleeper]);
    let level = |machine: &Machine<Staircase, Programs, Notes>| machine.scheduler().prio(TaskId(1));
    let mut levels = vec![];
    for ms in [7, 30, 51, 73, 95, 117] {
        let Ok(_) = machine.run_to(ms * MS + 1);
        levels.push(level(&machine));
    }
    // Bursts at 6, 28, 50, 72, ... ms; three of them per slot.
    assert_eq!(levels, [101, 101, 101, 103, 103, 103]);
    let Ok(_) = machine.run(130 * MS);
    let notes = machine.into_parts().2;
    assert_eq!(
        slices(&notes, 28, 60),
        [(28, 30, 1), (30, 50, 0), (50, 52, 1), (52, 72, 0)],
        "at once"
    );
}

#[test]
fn sd_a_newcomer_has_one_rotation_before_an_old_hog() {
    let late = Program { start_ms: 100, ..hog(0) };
    let notes = run(1, sd(1), &[hog(0), late], 220);
    assert_eq!(
        slices(&notes, 0, 210),
        [(0, 100, 0), (100, 196, 1), (196, 198, 0), (198, 204, 1), (204, 210, 0)]
    );
    assert_eq!(notes.longest_wait_ns[0], 96 * MS);
}

#[test]
fn sd_rotations_of_hogs() {
    for (nice, ends_ms) in [(0, [240, 492, 744]), (19, [6, 18, 30])] {
        let mut machine = machine(1, sd(1), &[hog(nice), hog(nice)]);
        // The instant of the start leaves CPU 0 busy: rotations count from here.
        for (rotation, end_ms) in ends_ms.into_iter().enumerate() {
            let Ok(_) = machine.run_to(end_ms * MS);
            assert_eq!(
                machine.scheduler().prio_rotation(CpuId(0)),
                rotation as u64,
                "before {end_ms}"
            );
            let Ok(_) = machine.run_to(end_ms * MS + 1);
            assert_eq!(
                machine.scheduler().prio_rotation(CpuId(0)),
                rotation as u64 + 1,
                "at {end_ms}"
            );
        }
    }
}

#[test]
fn sd_overrun_is_carried_into_the_next_slot() {
    // Bursts from 6 ms on start and end at ticks. Each costs up to 1 µs more than 2 ms.
    let sleeper = Program { run_ns: 2 * MS, sleep_ns: 20 * MS, ..hog(0) };
    let mut machine = machine(1, sd(1), &[hog(0), sleeper]);
    let Ok(_) = machine.run_to(72 * MS);
    assert_eq!(machine.scheduler().time_slice_us(TaskId(1)), 5997);
}

#[test]
fn rsdl_worse_nice_levels_come_in_a_clump() {
    let notes = run(1, rsdl(), &[hog(0), hog(10)], 400);
    let mut expected = vec![(0, 60, 0)];
    expected.extend((0..20).map(|turn| (60 + 6 * turn, 66 + 6 * turn, 1 - (turn % 2) as u32)));
    // B's last turn ended at 174. A has the last level of this rotation and the first ten of the
    // next.
    *expected.last_mut().unwrap() = (174, 240, 0);
    assert_eq!(slices(&notes, 0, 200), expected);
    assert_eq!(notes.longest_wait_ns, [6 * MS, 66 * MS]);
}

#[test]
fn rsdl_hogs_of_one_nice_level_take_turns() {
    let notes = run(1, rsdl(), &[hog(0), hog(0)], 1000);
    assert_eq!(slices(&notes, 0, 13), [(0, 6, 0), (6, 12, 1), (12, 18, 0)]);
    assert_eq!(notes.longest_wait_ns, [6 * MS, 6 * MS]);
}

#[test]
fn bfs_deadlines_of_a_worse_nice_level_come_in_time() {
    for scheduler in [bfs_404(1), bfs_316(1)] {
        let notes = run(1, scheduler, &[hog(0), hog(0), hog(10)], 200);
        let of_c: Vec<_> =
            slices(&notes, 0, 160).into_iter().filter(|slice| slice.2 == 2).collect();
        assert_eq!(of_c, [(72, 78, 2), (150, 156, 2)]);
        assert_eq!(slices(&notes, 0, 13), [(0, 6, 0), (6, 12, 1), (12, 18, 0)]);
    }
}

#[test]
fn bfs_a_sticky_task_is_seen_early_on_its_own_cpu() {
    let notes = run(2, bfs_404(2), &[hog(0), hog(0), hog(10)], 100);
    assert_eq!(slices(&notes, 0, 70), [(0, 66, 0), (66, 72, 2)]);
}

#[test]
fn bfs_316_lets_a_task_run_on_until_another_is_due() {
    let notes = run(2, bfs_316(2), &[hog(0), hog(0), hog(10)], 300);
    assert_eq!(slices(&notes, 0, 270), [(0, 125, 0), (125, 137, 2), (137, 262, 0), (262, 274, 2)]);
}

#[test]
fn bfs_shares_by_nice() {
    for (nice, percent) in [(1, 50.0), (5, 81.0), (19, 97.2)] {
        let notes = run(1, bfs_404(1), &[hog(0), hog(nice)], 20_000);
        let share = notes.ran_ns[0] as f64 / 20_000.0 / MS as f64 * 100.0;
        assert!((share - percent).abs() < 0.6, "nice 0 against {nice}: {share} %");
    }
}

// Random loads: the accounting must be consistent, and guarantees hold.

/// Random operations of a task, from all that a task can do.
struct Chaos {
    random: SplitMix64,
    cpus: u32,
    tasks: u32,
    born: u32,
    nice: (i32, i32),
    ordinary: bool,
}

impl Chaos {
    fn attr(&mut self) -> SchedAttr {
        let (least, most) = self.nice;
        let nice = least + self.random.below((most - least + 1) as u64) as i32;
        if self.ordinary {
            return SchedAttr::nice(nice);
        }
        match self.random.below(10) {
            0 => SchedAttr::realtime(Policy::Fifo, 1 + self.random.below(99) as u32),
            1 => SchedAttr::realtime(Policy::RoundRobin, 1 + self.random.below(99) as u32),
            number => SchedAttr {
                policy: [Policy::Batch, Policy::Idle, Policy::Other][(number as usize - 2).min(2)],
                ..SchedAttr::nice(nice)
            },
        }
    }

    fn allowed(&mut self) -> CpuSet {
        match self.random.below(3) {
            0 => CpuSet::only(CpuId(self.random.below(u64::from(self.cpus)) as u32)),
            _ => CpuSet::All,
        }
    }
}

impl Workload for Chaos {
    type Error = Infallible;

    fn initial_tasks(&mut self) -> Vec<NewTask> {
        self.born = self.tasks;
        (0..self.tasks)
            .map(|number| NewTask {
                attr: TaskAttr {
                    sched: self.attr(),
                    address_space: number / 2,
                    ..TaskAttr::default()
                },
                start_ns: 0,
            })
            .collect()
    }

    fn next(&mut self, now_ns: u64, task: TaskId, _cpu: CpuId) -> Result<Op, Infallible> {
        let target = TaskId(self.random.below(u64::from(self.tasks)) as u32);
        let reason = if self.random.below(4) == 0 {
            BlockReason::Uninterruptible
        } else {
            BlockReason::Interruptible
        };
        // Sometimes whole milliseconds, so that events coincide with ticks and with each other.
        let grain = [1, 1000, MS][self.random.below(3) as usize];
        Ok(match self.random.below(if self.ordinary { 11 } else { 17 }) {
            0..=5 => Op::Run { ns: (1 + self.random.below(12 * MS) / grain) * grain },
            6..=8 => Op::Sleep {
                until_ns: now_ns + (1 + self.random.below(15 * MS) / grain) * grain,
                reason,
            },
            9 => Op::Yield,
            10 => Op::Wake { task: target, sync: self.random.below(2) == 0 },
            11..=12 => Op::SetAttr {
                task: if self.random.below(2) == 0 { task } else { target },
                attr: self.attr(),
            },
            13..=14 => Op::SetAffinity {
                task: if self.random.below(2) == 0 { task } else { target },
                allowed: self.allowed(),
            },
            15 if self.born < 4 * self.tasks => {
                self.born += 1;
                Op::Fork {
                    attr: Box::new(TaskAttr {
                        sched: self.attr(),
                        allowed: self.allowed(),
                        address_space: task.0 / 2,
                        ..TaskAttr::default()
                    }),
                    inherits: false,
                    delay_ns: 0,
                }
            }
            15..=16 if self.born > self.tasks && task.0 >= self.tasks => Op::Exit,
            _ => Op::Run { ns: MS },
        })
    }
}

fn stress(name: &str, build: &dyn Fn(&BuildConfig) -> Box<dyn Scheduler>, ordinary: bool) {
    for seed in 0..60 {
        let mut random = SplitMix64::new(seed);
        let cpus = [1, 1, 2, 3, 8][random.below(5) as usize];
        let tasks = 1 + random.below(4 * u64::from(cpus) + 3) as u32;
        let nice = [(-20, 19), (0, 0), (-5, 10)][random.below(3) as usize];
        let mut config = Config::idealised(cpus, [100, 250, 1000][random.below(3) as usize]);
        if random.below(2) == 0 {
            config.order = Order::Shuffled(SplitMix64::new(seed));
            let tick = 1_000_000_000 / u64::from(config.hz);
            config.tick_offsets_ns =
                (0..u64::from(cpus)).map(|cpu| tick * cpu / u64::from(cpus)).collect();
        }
        let scheduler = build(&BuildConfig::flat(cpus, config.hz));
        let chaos = Chaos { random, cpus, tasks, born: 0, nice, ordinary };
        let mut machine = Machine::new(config, scheduler, chaos, Notes::default());
        for step in 1..=40 {
            let Ok(_) = machine.run_to(step * 25 * MS + step * 7);
            if let Err(error) = machine.scheduler().inspect().audit() {
                panic!("{name}, seed {seed}, {} ns: {error}", machine.now_ns());
            }
        }
        if !ordinary {
            continue;
        }
        let Ok(_) = machine.run(1100 * MS);
        let load = Load { tasks, cpus, nice_max: nice.1, nice_min: nice.0 };
        if let Some(most) = machine.scheduler().inspect().promises(&load).wait_ns {
            let longest = *machine.observer().longest_wait_ns.iter().max().unwrap();
            assert!(longest <= most, "{name}, seed {seed}: waited {longest} ns, promised {most}");
        }
    }
}

#[test]
fn random_loads_leave_the_books_in_order() {
    for ordinary in [false, true] {
        stress("sd", &|config| Box::new(Staircase::new(Edition::Sd, config)), ordinary);
        stress("rsdl", &|config| Box::new(Staircase::new(Edition::Rsdl, config)), ordinary);
        stress("bfs 0.404", &|config| Box::new(Bfs::new(bfs::Version::V0_404, config)), ordinary);
        stress("bfs 0.316", &|config| Box::new(Bfs::new(bfs::Version::V0_316, config)), ordinary);
    }
}

#[test]
fn hogs_stay_together_as_promised() {
    for nice in [-20, -7, 0, 10, 19] {
        let programs = vec![hog(nice); 5];
        let load = Load { tasks: 5, cpus: 1, nice_max: nice, nice_min: nice };
        let check = |name: &str, scheduler: Box<dyn Scheduler>| {
            let most = scheduler
                .inspect()
                .promises(&load)
                .hog_spread_ns
                .expect("the spread on one CPU is bounded");
            let wait = scheduler
                .inspect()
                .promises(&load)
                .wait_ns
                .expect("the wait on one CPU is bounded");
            let notes = run(1, scheduler, &programs, 30_000);
            let spread = notes.ran_ns.iter().max().unwrap() - notes.ran_ns.iter().min().unwrap();
            assert!(spread <= most, "{name}, nice {nice}: {spread} > {most}");
            assert!(*notes.longest_wait_ns.iter().max().unwrap() <= wait, "{name}, nice {nice}");
        };
        check("sd", Box::new(sd(1)));
        check("rsdl", Box::new(rsdl()));
        check("bfs 0.404", Box::new(bfs_404(1)));
        check("bfs 0.316", Box::new(bfs_316(1)));
    }
}
