//! Random events of all kinds, in any order in which the machine may deliver them. The state must
//! stay consistent, and no task may run where it is not allowed or on two CPUs at once.

use super::*;
use crate::random::Random;
use schedlab_core::Load;

/// The driver's record of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Life {
    Runnable,
    Asleep,
    Dead,
}

struct Driver {
    sched: O1,
    platform: Platform,
    random: Random,
    cpus: u32,
    batch: bool,
    lives: Vec<Life>,
    attrs: Vec<TaskAttr>,
    current: Vec<Option<TaskId>>,
}

impl Driver {
    fn random_attr(&mut self) -> SchedAttr {
        match self.random.below(10) {
            0 => fifo(1 + self.random.below(99) as u32),
            1 => fifo(99),
            2 => SchedAttr::realtime(Policy::RoundRobin, 1 + self.random.below(99) as u32),
            3 if self.batch => SchedAttr { policy: Policy::Batch, ..NICE_0 },
            _ => SchedAttr::nice(self.random.below(40) as i32 - 20),
        }
    }

    fn random_mask(&mut self) -> CpuSet {
        if self.random.below(2) == 0 {
            return CpuSet::All;
        }
        let bits = 1 + self.random.below((1 << self.cpus) - 1);
        CpuSet::Low(bits)
    }

    fn random_task(&mut self) -> Option<TaskId> {
        let tasks = self.lives.len() as u64;
        (tasks > 0).then(|| TaskId(self.random.below(tasks) as u32))
    }

    /// Returns a task that has its CPU and has not just given it up.
    fn random_running(&mut self) -> Option<(CpuId, TaskId)> {
        let cpu = self.random.below(u64::from(self.cpus)) as u32;
        let task = self.current[cpu as usize]?;
        (self.lives[task.index()] == Life::Runnable).then_some((CpuId(cpu), task))
    }

    fn waker(&mut self) -> Waker {
        let cpu = CpuId(self.random.below(u64::from(self.cpus)) as u32);
        match (self.random.below(3), self.random_running()) {
            (0, Some((cpu, task))) => Waker::Task { task, cpu, sync: self.random.below(2) == 0 },
            (1, _) => Waker::Process { cpu },
            _ => Waker::Interrupt { cpu },
        }
    }

    fn born(&mut self, parent: Parent) {
        let task = TaskId(self.lives.len() as u32);
        let attr = TaskAttr {
            sched: self.random_attr(),
            allowed: self.random_mask(),
            address_space: self.random.below(4) as u32,
            ..TaskAttr::default()
        };
        self.lives.push(Life::Runnable);
        self.attrs.push(attr.clone());
        self.sched.fork(&mut self.platform, task, &attr, parent);
    }

    fn event(&mut self) {
        match self.random.below(12) {
            0 if self.lives.len() < 60 => self.born(Parent::External),
            1 if self.lives.len() < 60 => {
                if let Some((cpu, task)) = self.random_running() {
                    self.born(Parent::Task { task, cpu });
                }
            }
            2 | 3 => {
                if let Some((cpu, task)) = self.random_running() {
                    let (reason, life) = match self.random.below(20) {
                        0 => (BlockReason::Dead, Life::Dead),
                        1..8 => (BlockReason::Uninterruptible, Life::Asleep),
                        _ => (BlockReason::Interruptible, Life::Asleep),
                    };
                    self.lives[task.index()] = life;
                    self.sched.block(&mut self.platform, cpu, task, reason);
                    self.platform.resched(cpu);
                }
            }
            4..7 => {
                if let Some(task) = self.random_task()
                    && self.lives[task.index()] == Life::Asleep
                {
                    self.lives[task.index()] = Life::Runnable;
                    let waker = self.waker();
                    self.sched.wake(&mut self.platform, task, waker);
                }
            }
            7 => {
                if let Some((cpu, task)) = self.random_running() {
                    self.sched.yield_now(&mut self.platform, cpu, task);
                }
            }
            8 => {
                if let Some(task) = self.random_task() {
                    let attr = self.random_attr();
                    self.sched.set_attr(&mut self.platform, task, &attr, CpuId(0));
                }
            }
            9 => {
                if let Some(task) = self.random_task() {
                    let mask = self.random_mask();
                    self.attrs[task.index()].allowed = mask.clone();
                    self.sched.set_affinity(&mut self.platform, task, &mask);
                }
            }
            10 => {
                if let Some(task) = self.random_task()
                    && self.random.below(8) == 0
                    && self.lives[task.index()] != Life::Dead
                    && !self.current.contains(&Some(task))
                {
                    self.lives[task.index()] = Life::Dead;
                    self.sched.kill(&mut self.platform, task);
                    let parent = self.random_task();
                    self.sched.reap(&mut self.platform, task, parent);
                }
            }
            _ => {}
        }
    }

    fn instant(&mut self, jiffy: u64) {
        self.platform.set_now_ns(jiffy * MS + self.random.below(MS / 2));
        for _ in 0..self.random.below(6) {
            self.event();
        }
        if self.random.below(3) > 0 {
            self.platform.set_jiffies(jiffy);
            for cpu in 0..self.cpus {
                self.sched.tick(&mut self.platform, CpuId(cpu));
            }
        }
        let mut passes = 0;
        while let Some(cpu) = self.platform.next_resched(0) {
            self.platform.clear_resched(cpu);
            self.current[cpu.index()] = self.sched.schedule(&mut self.platform, cpu);
            passes += 1;
            assert!(passes < 1000, "the CPUs reschedule without end");
        }
        self.platform.migrations.clear();
        self.check();
    }

    fn check(&self) {
        self.sched.inspect().audit().unwrap();
        let mut on_cpu = vec![false; self.lives.len()];
        for (cpu, current) in self.current.iter().enumerate() {
            let Some(task) = *current else { continue };
            let cpu = CpuId(cpu as u32);
            assert_eq!(self.lives[task.index()], Life::Runnable);
            assert_eq!(self.sched.cpu_of(task), cpu);
            assert!(self.attrs[task.index()].allowed.contains(cpu));
            assert!(!core::mem::replace(&mut on_cpu[task.index()], true));
        }
        let runnable = self.lives.iter().filter(|&&life| life == Life::Runnable);
        let queued: u32 = self.sched.loads.all_running().iter().sum();
        // A migration thread may be waiting for a SCHED_FIFO task of its own priority.
        assert!(queued as usize >= runnable.count());
    }
}

#[test]
fn the_books_add_up_whatever_happens() {
    for version in [Version::V2_6_0, Version::V2_6_22] {
        for seed in 0..60 {
            let cpus = 1 + seed as u32 % 6;
            let hz = [1000, 100, 250, 1024][seed as usize / 6 % 4];
            let config = BuildConfig::flat(cpus, hz);
            let mut driver = Driver {
                sched: O1::new(version, &config),
                platform: config.platform(),
                random: Random(seed),
                cpus,
                batch: version == Version::V2_6_22,
                lives: Vec::new(),
                attrs: Vec::new(),
                current: vec![None; cpus as usize],
            };
            for jiffy in 1..1500 {
                driver.instant(jiffy);
            }
        }
    }
}

#[test]
fn equal_hogs_stay_as_close_as_promised() {
    for version in [Version::V2_6_0, Version::V2_6_22] {
        for nice in [-20, -16, -7, 0, 8, 19] {
            let mut rig = Rig::new(version, 1);
            let first = rig.hog(nice);
            rig.run_to(333);
            rig.slices.clear();
            let second = rig.hog(nice);
            rig.start(second);
            rig.reschedule();
            let (a, b) = (first.0, second.0);
            let load = Load { tasks: 2, cpus: 1, nice_max: nice, nice_min: nice };
            let promised_ns = rig.sched.inspect().promises(&load).hog_spread_ns.unwrap();
            let mut widest = 0;
            for step in 1..500 {
                rig.run_to(333 + 37 * step);
                let time = |task| -> u64 {
                    let own = rig.slices.iter().filter(|slice| slice.3 == task);
                    own.map(|slice| slice.2 - slice.1).sum()
                };
                widest = widest.max(time(a).abs_diff(time(b)));
            }
            assert!(widest * MS <= promised_ns, "{}, nice {nice}: {widest} ms", version.name);
            assert!(widest > 0, "nothing was measured");
        }
    }
}
