//! A small machine for the tests of this crate. Its tasks run forever, or run and sleep
//! alternately, in the golden order of events, on a scheduler whose internals can be inspected.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use schedlab_core::platform::TimerOrder;
use schedlab_core::{
    BlockReason, CpuId, CpuSet, GroupId, Parent, Platform, Policy, SchedAttr, Scheduler, TaskAttr,
    TaskId, TimerKey, TimerPhase, Waker,
};

const NEVER: u64 = u64::MAX;
pub(crate) const MS: u64 = 1_000_000;

/// Behaviour of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Life {
    /// Runs forever.
    Hog,
    /// Runs and sleeps alternately, ns.
    Periodic { run: u64, sleep: u64 },
    /// Runs for this time and ends, ns.
    Work(u64),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    Running,
    Asleep,
    Dead,
}

#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub life: Life,
    pub state: State,
    remaining: u64,
    wake_at: u64,
}

/// The machine.
#[derive(Debug)]
pub(crate) struct Bench<S> {
    pub sched: S,
    pub platform: Platform,
    pub tasks: Vec<Task>,
    pub current: Vec<Option<TaskId>>,
    /// Time at which each CPU switched to its current task.
    since: Vec<u64>,
    timers: BTreeMap<TimerKey, (u64, TimerPhase)>,
    ticks: u64,
    /// The slices that ran: CPU, from, to (ns), task. Adjacent ones are joined.
    pub slices: Vec<(u32, u64, u64, u32)>,
}

impl<S: Scheduler> Bench<S> {
    pub fn new(sched: S, cpus: u32, hz: u32) -> Bench<S> {
        Bench {
            sched,
            platform: Platform::new(cpus, hz),
            tasks: Vec::new(),
            current: alloc::vec![None; cpus as usize],
            since: alloc::vec![0; cpus as usize],
            timers: BTreeMap::new(),
            ticks: 0,
            slices: Vec::new(),
        }
    }

    pub fn now(&self) -> u64 {
        self.platform.now_ns()
    }

    /// Creates a task now.
    pub fn start(&mut self, attr: TaskAttr, life: Life, parent: Parent) -> TaskId {
        let task = TaskId(self.tasks.len() as u32);
        let remaining = match life {
            Life::Hog => NEVER,
            Life::Periodic { run, .. } | Life::Work(run) => run,
        };
        self.tasks.push(Task { life, state: State::Running, remaining, wake_at: NEVER });
        self.sched.fork(&mut self.platform, task, &attr, parent);
        self.take_orders();
        task
    }

    /// Creates a task of an ordinary policy.
    pub fn nice(&mut self, nice: i32, life: Life) -> TaskId {
        let attr = TaskAttr { sched: SchedAttr::nice(nice), ..TaskAttr::default() };
        self.start(attr, life, Parent::External)
    }

    /// Creates a task in a group.
    pub fn in_group(&mut self, group: GroupId, life: Life) -> TaskId {
        let attr = TaskAttr { group, ..TaskAttr::default() };
        self.start(attr, life, Parent::External)
    }

    /// Creates a real-time task, optionally bound to one CPU.
    pub fn realtime(
        &mut self,
        policy: Policy,
        priority: u32,
        cpu: Option<u32>,
        life: Life,
    ) -> TaskId {
        let attr = TaskAttr {
            sched: SchedAttr::realtime(policy, priority),
            allowed: cpu.map_or(CpuSet::All, |cpu| CpuSet::only(CpuId(cpu))),
            ..TaskAttr::default()
        };
        self.start(attr, life, Parent::External)
    }

    fn take_orders(&mut self) {
        let now = self.platform.now_ns();
        for order in self.platform.timer_orders.drain(..) {
            match order {
                TimerOrder::Arm { key, phase, at_ns } => {
                    // A timer already due fires at once.
                    self.timers.insert(key, (at_ns.max(now), phase));
                }
                TimerOrder::Cancel { key } => {
                    self.timers.remove(&key);
                }
            }
        }
        self.platform.migrations.clear();
    }

    fn done_at(&self, cpu: usize) -> u64 {
        self.current[cpu].map_or(NEVER, |task| {
            self.since[cpu].saturating_add(self.tasks[task.index()].remaining)
        })
    }

    fn next_tick(&self) -> u64 {
        (self.ticks + 1) * 1_000_000_000 / u64::from(self.platform.hz())
    }

    /// Ends the running of `task` on `cpu`.
    pub fn block(&mut self, cpu: u32, task: TaskId, dead: bool, wake_at: u64) {
        self.account(cpu as usize);
        let row = &mut self.tasks[task.index()];
        row.state = if dead { State::Dead } else { State::Asleep };
        row.wake_at = wake_at;
        let reason = if dead { BlockReason::Dead } else { BlockReason::Interruptible };
        self.sched.block(&mut self.platform, CpuId(cpu), task, reason);
        self.platform.resched(CpuId(cpu));
        self.take_orders();
    }

    /// Wakes a sleeping task.
    pub fn wake(&mut self, task: TaskId, waker: Waker) {
        let row = &mut self.tasks[task.index()];
        assert_eq!(row.state, State::Asleep);
        row.state = State::Running;
        row.wake_at = NEVER;
        if let Life::Periodic { run, .. } = row.life {
            row.remaining = run;
        }
        self.sched.wake(&mut self.platform, task, waker);
        self.take_orders();
    }

    /// Records that a task has been killed.
    pub fn kill(&mut self, task: TaskId) {
        let row = &mut self.tasks[task.index()];
        row.state = State::Dead;
        row.wake_at = NEVER;
        self.take_orders();
    }

    /// Accounts for the time that the current task has run.
    fn account(&mut self, cpu: usize) {
        let now = self.now();
        if let Some(task) = self.current[cpu] {
            let row = &mut self.tasks[task.index()];
            if row.remaining != NEVER {
                row.remaining -= now - self.since[cpu];
            }
            let from = self.since[cpu];
            if now > from {
                match self.slices.iter_mut().rev().find(|slice| slice.0 == cpu as u32) {
                    Some(last) if last.2 == from && last.3 == task.0 => last.2 = now,
                    _ => self.slices.push((cpu as u32, from, now, task.0)),
                }
            }
        }
        self.since[cpu] = now;
    }

    /// Reschedules all CPUs that were asked to.
    pub fn reschedule(&mut self) {
        loop {
            let mut from = 0;
            let mut any = false;
            while let Some(cpu) = self.platform.next_resched(from) {
                any = true;
                from = cpu.0 + 1;
                self.account(cpu.index());
                self.platform.clear_resched(cpu);
                let next = self.sched.schedule(&mut self.platform, cpu);
                self.take_orders();
                if let Some(task) = next {
                    assert_eq!(
                        self.tasks[task.index()].state,
                        State::Running,
                        "{task:?} is not runnable"
                    );
                    let elsewhere = (0..self.current.len())
                        .find(|&other| other != cpu.index() && self.current[other] == Some(task));
                    assert_eq!(elsewhere, None, "{task:?} is about to run on {cpu:?} too");
                }
                self.current[cpu.index()] = next;
            }
            if !any {
                return;
            }
        }
    }

    fn fire(&mut self, phase: TimerPhase) {
        let now = self.now();
        let due = |timers: &BTreeMap<TimerKey, (u64, TimerPhase)>| {
            timers.iter().find(|&(_, &(at, when))| at <= now && when == phase).map(|(&key, _)| key)
        };
        while let Some(key) = due(&self.timers) {
            self.timers.remove(&key);
            self.sched.timer(&mut self.platform, key);
            self.take_orders();
        }
    }

    /// Runs until just before `until`.
    pub fn run_until(&mut self, until: u64) {
        self.reschedule();
        loop {
            let done = (0..self.current.len()).map(|cpu| self.done_at(cpu)).min().unwrap_or(NEVER);
            let woken = self.tasks.iter().map(|task| task.wake_at).min().unwrap_or(NEVER);
            let timer = self.timers.values().map(|&(at, _)| at).min().unwrap_or(NEVER);
            let next = done.min(woken).min(timer).min(self.next_tick());
            if next >= until {
                self.platform.set_now_ns(until);
                for cpu in 0..self.current.len() {
                    self.account(cpu);
                }
                return;
            }
            self.platform.set_now_ns(next);
            self.instant();
        }
    }

    fn instant(&mut self) {
        let now = self.now();
        for cpu in 0..self.current.len() {
            if self.done_at(cpu) != now {
                continue;
            }
            let task = self.current[cpu].expect("only a current task can finish its work");
            match self.tasks[task.index()].life {
                Life::Periodic { sleep, .. } => self.block(cpu as u32, task, false, now + sleep),
                Life::Work(_) | Life::Hog => self.block(cpu as u32, task, true, NEVER),
            }
        }
        self.fire(TimerPhase::BeforeWakeups);
        for number in 0..self.tasks.len() {
            if self.tasks[number].wake_at == now {
                let task = TaskId(number as u32);
                let cpu = self.sched.cpu_of(task);
                self.wake(task, Waker::Interrupt { cpu });
            }
        }
        self.fire(TimerPhase::BeforeTicks);
        if self.next_tick() == now {
            self.ticks += 1;
            self.platform.set_jiffies(self.ticks);
            for cpu in 0..self.current.len() {
                self.sched.tick(&mut self.platform, CpuId(cpu as u32));
                self.take_orders();
            }
        }
        self.reschedule();
    }

    /// Returns the slices of CPU 0 in ms, as (task, from, to).
    pub fn slices_ms(&self) -> Vec<(u32, f64, f64)> {
        let ms = |ns: u64| ns as f64 / MS as f64;
        self.slices.iter().map(|&(_, from, to, task)| (task, ms(from), ms(to))).collect()
    }
}
