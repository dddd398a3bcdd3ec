//! A small sound scheduler, and variants of it with a fault: each check must find its fault.

use super::{Accounts, Fingerprint, Limits, RequestedWork, Rule, Violation, Watched};
use schedlab_core::{
    BlockReason, CpuId, CpuSet, Inspect, Load, Parent, Platform, Policy, Promises, SchedAttr,
    Scheduler, TaskAttr, TaskId, Waker,
};
use schedlab_lab::catch_panic;
use schedlab_machine::{Config, Machine, NewTask, Op, Workload};
use std::sync::atomic::{AtomicU32, Ordering};

/// The fault of the scheduler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    Sound,
    /// Runs tasks that sleep.
    RunsSleepers,
    /// Leaves a task that blocked on its CPU.
    KeepsBlocked,
    /// Takes tasks from CPUs that they have not left.
    RunsTwice,
    IgnoresAffinity,
    /// Ignores changes of affinity.
    IgnoresNewAffinity,
    /// Reports all tasks on CPU 0.
    WrongHome,
    /// Reports moves that it did not make.
    WrongMoves,
    IgnoresPolicy,
    /// Gives nothing to CPU 1.
    LeavesCpuIdle,
    /// Runs the newest task first.
    Starves,
    /// Forgets every seventh wakeup.
    LosesWakeups,
    AsksWithoutEnd,
    BadBooks,
    /// Decides by state outside the run.
    Moody,
    /// Gives every other task a double turn.
    Unfair,
    /// Lets the CPU idle at every tenth tick.
    TakesBreaks,
    Panics,
}

#[derive(Clone, Debug, Default)]
struct Task {
    runnable: bool,
    sched: SchedAttr,
    allowed: CpuSet,
    cpu: CpuIdOrNone,
    home: u32,
}

type CpuIdOrNone = Option<CpuId>;

/// A scheduler with one queue for all CPUs. The most urgent task comes first, then the one that has
/// waited longest. Turns last 10 ticks.
#[derive(Debug)]
pub struct Double {
    fault: Fault,
    tasks: Vec<Task>,
    queue: Vec<TaskId>,
    current: Vec<Option<TaskId>>,
    left: Vec<u32>,
    wakeups: u32,
    ticks: u32,
    pub promises_nothing: bool,
}

const TURN_TICKS: u32 = 10;
static MOOD: AtomicU32 = AtomicU32::new(0);

impl Double {
    pub fn new(fault: Fault, cpus: u32) -> Double {
        Double {
            fault,
            tasks: Vec::new(),
            queue: Vec::new(),
            current: vec![None; cpus as usize],
            left: vec![0; cpus as usize],
            wakeups: 0,
            ticks: 0,
            promises_nothing: false,
        }
    }

    fn urgency(&self, task: TaskId) -> u32 {
        if self.fault == Fault::IgnoresPolicy {
            return 0;
        }
        self.tasks[task.index()].sched.rt_priority
    }

    fn ask_all(&self, platform: &mut Platform) {
        for cpu in 0..self.current.len() {
            platform.resched(CpuId(cpu as u32));
        }
    }

    fn enqueue(&mut self, platform: &mut Platform, task: TaskId) {
        self.tasks[task.index()].runnable = true;
        self.wakeups += 1;
        if self.fault == Fault::LosesWakeups && self.wakeups.is_multiple_of(7) {
            return;
        }
        if self.tasks[task.index()].cpu.is_none() {
            if self.fault == Fault::Starves {
                self.queue.insert(0, task);
            } else {
                self.queue.push(task);
            }
        }
        self.ask_all(platform);
    }

    fn may_run(&self, task: TaskId, cpu: CpuId) -> bool {
        self.fault == Fault::IgnoresAffinity || self.tasks[task.index()].allowed.contains(cpu)
    }

    /// Returns the place of the best task for `cpu` in the queue.
    fn best(&self, cpu: CpuId) -> Option<usize> {
        let mut best: Option<usize> = None;
        for (place, &task) in self.queue.iter().enumerate() {
            let better =
                best.is_none_or(|best| self.urgency(task) > self.urgency(self.queue[best]));
            if better && self.may_run(task, cpu) {
                best = Some(place);
            }
        }
        best
    }

    fn turn(&self, task: TaskId) -> u32 {
        if self.fault == Fault::Unfair && task.0 % 2 == 1 { 3 * TURN_TICKS } else { TURN_TICKS }
    }
}

impl Scheduler for Double {
    fn fork(&mut self, platform: &mut Platform, task: TaskId, attr: &TaskAttr, _parent: Parent) {
        if task.index() >= self.tasks.len() {
            self.tasks.resize_with(task.index() + 1, Task::default);
        }
        self.tasks[task.index()] =
            Task { sched: attr.sched, allowed: attr.allowed.clone(), ..Task::default() };
        self.enqueue(platform, task);
    }

    fn wake(&mut self, platform: &mut Platform, task: TaskId, _waker: Waker) {
        self.enqueue(platform, task);
    }

    fn block(&mut self, _platform: &mut Platform, _cpu: CpuId, task: TaskId, _reason: BlockReason) {
        self.tasks[task.index()].runnable = false;
    }

    fn tick(&mut self, platform: &mut Platform, cpu: CpuId) {
        self.ticks += 1;
        let left = &mut self.left[cpu.index()];
        *left = left.saturating_sub(1);
        if *left == 0 || self.fault == Fault::TakesBreaks {
            platform.resched(cpu);
        }
        assert!(self.fault != Fault::Panics || self.ticks < 20, "out of ticks");
    }

    fn schedule(&mut self, platform: &mut Platform, cpu: CpuId) -> Option<TaskId> {
        let prev = self.current[cpu.index()];
        if self.fault == Fault::AsksWithoutEnd && self.ticks > 20 {
            platform.resched(cpu);
        }
        if self.fault == Fault::KeepsBlocked && prev.is_some_and(|task| task.0 == 1) {
            return prev;
        }
        let runnable = prev.filter(|task| self.tasks[task.index()].runnable);
        if let Some(task) = prev
            && runnable.is_none()
        {
            self.tasks[task.index()].cpu = None;
        }
        self.current[cpu.index()] = None;
        if self.fault == Fault::LeavesCpuIdle && cpu.0 == 1
            || self.fault == Fault::TakesBreaks && self.ticks.is_multiple_of(10)
        {
            if let Some(task) = runnable {
                self.tasks[task.index()].cpu = None;
                self.queue.push(task);
            }
            return None;
        }
        let best = self.best(cpu);
        let goes_on = runnable.filter(|&task| {
            let urgency = self.urgency(task);
            let other = best.map(|place| self.urgency(self.queue[place]));
            self.tasks[task.index()].allowed.contains(cpu)
                && match other {
                    None => true,
                    Some(other) if self.left[cpu.index()] > 0 => urgency >= other,
                    Some(other) => urgency > other,
                }
        });
        if let Some(task) = goes_on {
            self.current[cpu.index()] = Some(task);
            if self.left[cpu.index()] == 0 {
                self.left[cpu.index()] = self.turn(task);
            }
            return Some(task);
        }
        let mut next = best.map(|place| self.queue.remove(place));
        if let Some(task) = runnable {
            self.tasks[task.index()].cpu = None;
            self.queue.push(task);
            // It may be more urgent than the task that another CPU runs.
            for (other, current) in self.current.iter().enumerate() {
                if other != cpu.index()
                    && current.is_none_or(|current| self.urgency(current) < self.urgency(task))
                {
                    platform.resched(CpuId(other as u32));
                }
            }
        }
        if next.is_none() {
            next = match self.fault {
                Fault::RunsSleepers => {
                    let asleep = |number: &usize| {
                        let task = &self.tasks[*number];
                        !task.runnable && task.cpu.is_none() && task.allowed.contains(cpu)
                    };
                    (0..self.tasks.len()).find(asleep).map(|number| TaskId(number as u32))
                }
                Fault::RunsTwice => self.current.iter().flatten().next().copied(),
                _ => None,
            };
        }
        if self.fault == Fault::Moody
            && let Some(task) = next
            && MOOD.fetch_add(1, Ordering::Relaxed).is_multiple_of(50)
            && let Some(place) = self.best(cpu)
        {
            next = Some(std::mem::replace(&mut self.queue[place], task));
        }
        if let Some(task) = next {
            self.left[cpu.index()] = self.turn(task);
            let row = &mut self.tasks[task.index()];
            row.cpu = Some(cpu);
            if row.home != cpu.0 {
                platform.migrated(task, CpuId(row.home), cpu);
                row.home = cpu.0;
            }
            if self.fault == Fault::WrongMoves {
                platform.migrated(task, cpu, CpuId(1 - cpu.0));
            }
        }
        self.current[cpu.index()] = next;
        next
    }

    fn yield_now(&mut self, platform: &mut Platform, cpu: CpuId, _task: TaskId) {
        self.left[cpu.index()] = 0;
        platform.resched(cpu);
    }

    fn set_attr(&mut self, platform: &mut Platform, task: TaskId, attr: &SchedAttr, _by: CpuId) {
        self.tasks[task.index()].sched = *attr;
        self.ask_all(platform);
    }

    fn set_affinity(&mut self, platform: &mut Platform, task: TaskId, allowed: &CpuSet) {
        if self.fault != Fault::IgnoresNewAffinity {
            self.tasks[task.index()].allowed = allowed.clone();
            self.ask_all(platform);
        }
    }

    fn kill(&mut self, _platform: &mut Platform, task: TaskId) {
        self.tasks[task.index()].runnable = false;
        self.queue.retain(|&other| other != task);
    }

    fn cpu_of(&self, task: TaskId) -> CpuId {
        match self.fault {
            Fault::WrongHome => CpuId(0),
            _ => CpuId(self.tasks[task.index()].home),
        }
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}

impl Inspect for Double {
    fn promises(&self, load: &Load) -> Promises {
        if self.promises_nothing {
            return Promises::default();
        }
        let turn_ns = u64::from(TURN_TICKS) * 1_000_000;
        Promises {
            idle_beside_waiting_ns: Some(0),
            wait_ns: Some((u64::from(load.tasks) + 1) * turn_ns),
            hog_spread_ns: Some(2 * turn_ns),
            real_time_first: true,
        }
    }

    fn audit(&self) -> Result<(), String> {
        if self.fault == Fault::BadBooks && self.ticks > 30 {
            return Err("one queue too many".into());
        }
        Ok(())
    }
}

/// Tasks that each repeat a list of operations.
#[derive(Clone, Debug, Default)]
pub struct Script {
    pub tasks: Vec<(NewTask, Vec<Op>)>,
    /// Number of rounds through the list after which a task ends.
    pub rounds: usize,
    places: Vec<usize>,
}

impl Script {
    pub fn new(rounds: usize) -> Script {
        Script { rounds, ..Script::default() }
    }

    pub fn task(mut self, sched: SchedAttr, allowed: CpuSet, ops: &[Op]) -> Script {
        let attr = TaskAttr { sched, allowed, ..TaskAttr::default() };
        // More than a millisecond apart, so that tasks are not in step.
        let start_ns = self.tasks.len() as u64 * 1_300_000;
        self.tasks.push((NewTask { attr, start_ns }, ops.to_vec()));
        self.places.push(0);
        self
    }
}

pub fn run(ns: u64) -> Op {
    Op::Run { ns }
}

/// Returns a sleep of `ns` ns (the meaning of `until_ns` in a script).
pub fn sleep(ns: u64) -> Op {
    Op::Sleep { until_ns: ns, reason: BlockReason::Interruptible }
}

impl Workload for Script {
    type Error = std::convert::Infallible;

    fn initial_tasks(&mut self) -> Vec<NewTask> {
        self.tasks.iter().map(|(task, _)| task.clone()).collect()
    }

    fn next(&mut self, now_ns: u64, task: TaskId, _cpu: CpuId) -> Result<Op, Self::Error> {
        let ops = &self.tasks[task.index()].1;
        let place = &mut self.places[task.index()];
        if *place == ops.len() * self.rounds {
            return Ok(Op::Exit);
        }
        let mut op = ops[*place % ops.len()].clone();
        *place += 1;
        if let Op::Sleep { until_ns, .. } = &mut op {
            *until_ns += now_ns;
        }
        Ok(op)
    }
}

/// Returns a workload that exercises every rule: hogs, sleepers, pinned tasks, changes of affinity,
/// real-time tasks.
pub fn busy(realtime: bool) -> Script {
    let mut script = Script::new(40);
    for number in 0..6 {
        let allowed = match number {
            2 => CpuSet::only(CpuId(0)),
            3 => CpuSet::only(CpuId(1)),
            _ => CpuSet::All,
        };
        script = script.task(SchedAttr::nice(0), allowed, &[run(7_300_000), sleep(3_100_000)]);
    }
    script = script.task(SchedAttr::nice(0), CpuSet::All, &[run(20_000_000)]);
    script = script.task(
        SchedAttr::nice(0),
        CpuSet::All,
        &[
            run(12_000_000),
            Op::SetAffinity { task: TaskId(7), allowed: CpuSet::only(CpuId(1)) },
            run(12_000_000),
            Op::SetAffinity { task: TaskId(7), allowed: CpuSet::only(CpuId(0)) },
        ],
    );
    if realtime {
        let fifo = SchedAttr::realtime(Policy::Fifo, 50);
        script = script.task(fifo, CpuSet::All, &[run(2_000_000), sleep(9_000_000)]);
        script = script.task(fifo, CpuSet::only(CpuId(1)), &[run(1_000_000), sleep(11_000_000)]);
    }
    script
}

/// Returns equal hogs that exist from the beginning.
pub fn hogs(count: u32) -> Script {
    (0..count).fold(Script::new(1), |mut script, _| {
        script = script.task(SchedAttr::nice(0), CpuSet::All, &[run(u64::MAX)]);
        if let Some((task, _)) = script.tasks.last_mut() {
            task.start_ns = 0;
        }
        script
    })
}

/// Result of a watched run.
pub struct Outcome {
    pub violation: Option<Violation>,
    pub fingerprint: u64,
    pub task_ns: Vec<u64>,
}

/// Runs `script` under a double on two CPUs (or fewer), with all checks.
pub fn watch(scheduler: Double, script: Script, until_ns: u64) -> Outcome {
    let tasks = script.tasks.len();
    let ran = catch_panic(|| {
        let cpus = scheduler.current.len() as u32;
        let scheduler = Watched::new(scheduler, cpus, Limits::default());
        let observer = (Accounts::new(cpus), Fingerprint::default());
        let config = Config::idealised(cpus, 1000);
        let mut machine = Machine::new(config, scheduler, RequestedWork::new(script), observer);
        let Ok(_) = machine.run(until_ns);
        let end_ns = machine.now_ns();
        let (mut scheduler, asked, (accounts, fingerprint)) = machine.into_parts();
        let mut violation = scheduler.finish(end_ns).cloned();
        if violation.is_none() {
            violation = accounts.settle(end_ns, &asked).err();
        }
        if violation.is_none() {
            violation = asked.no_task_lost(end_ns).err();
        }
        Outcome {
            violation,
            fingerprint: fingerprint.value(),
            task_ns: (0..tasks as u32).map(|task| accounts.task_ns(TaskId(task))).collect(),
        }
    });
    ran.unwrap_or_else(|message| Outcome {
        violation: Some(Violation::new(Rule::Panic, 0, message)),
        fingerprint: 0,
        task_ns: vec![],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::shares;
    use schedlab_core::Event;
    use schedlab_machine::Observer;

    const LONG_ENOUGH_NS: u64 = 20_000_000_000;

    fn on_two(fault: Fault) -> Double {
        Double::new(fault, 2)
    }

    fn broken_rule(scheduler: Double, realtime: bool) -> Option<Rule> {
        let outcome = watch(scheduler, busy(realtime), LONG_ENOUGH_NS);
        outcome.violation.map(|violation| violation.rule)
    }

    #[test]
    fn a_sound_scheduler_breaks_no_rule() {
        for realtime in [false, true] {
            let outcome = watch(on_two(Fault::Sound), busy(realtime), LONG_ENOUGH_NS);
            assert_eq!(outcome.violation, None);
        }
    }

    #[test]
    fn each_fault_is_found_by_the_check_that_is_there_for_it() {
        for (fault, rule) in [
            (Fault::RunsSleepers, Rule::RunnableOnly),
            (Fault::KeepsBlocked, Rule::RunnableOnly),
            (Fault::RunsTwice, Rule::OneCpu),
            (Fault::IgnoresAffinity, Rule::Affinity),
            (Fault::IgnoresNewAffinity, Rule::Affinity),
            (Fault::WrongHome, Rule::Home),
            (Fault::WrongMoves, Rule::Home),
            (Fault::LeavesCpuIdle, Rule::Idle),
            (Fault::TakesBreaks, Rule::Idle),
            (Fault::Starves, Rule::Wait),
            (Fault::AsksWithoutEnd, Rule::Endless),
            (Fault::BadBooks, Rule::Audit),
            (Fault::Panics, Rule::Panic),
        ] {
            assert_eq!(broken_rule(on_two(fault), false), Some(rule), "{fault:?}");
        }
    }

    #[test]
    fn a_scheduler_that_knows_no_policies_makes_real_time_tasks_wait() {
        assert_eq!(broken_rule(on_two(Fault::IgnoresPolicy), true), Some(Rule::RealTime));
        // Without such tasks, there is nothing to ignore.
        assert_eq!(broken_rule(on_two(Fault::IgnoresPolicy), false), None);
    }

    #[test]
    fn a_lost_task_is_missed_even_if_nothing_was_promised() {
        for fault in [Fault::Sound, Fault::LosesWakeups] {
            let mut scheduler = on_two(fault);
            scheduler.promises_nothing = true;
            let lost = (fault == Fault::LosesWakeups).then_some(Rule::Lost);
            assert_eq!(broken_rule(scheduler, false), lost, "{fault:?}");
        }
    }

    #[test]
    fn a_moody_scheduler_gives_itself_away_by_its_fingerprint() {
        let fingerprints =
            |fault| [(); 4].map(|()| watch(on_two(fault), busy(true), LONG_ENOUGH_NS).fingerprint);
        let [first, others @ ..] = fingerprints(Fault::Sound);
        assert_eq!(others, [first; 3]);
        let [first, others @ ..] = fingerprints(Fault::Moody);
        assert_ne!(others, [first; 3]);
    }

    #[test]
    fn unequal_shares_of_equal_hogs_are_seen() {
        for (fault, fair) in [(Fault::Sound, true), (Fault::Unfair, false)] {
            let until_ns = 1_000_000_000;
            let outcome = watch(Double::new(fault, 1), hogs(3), until_ns);
            let shares = shares::equal_hogs(until_ns, &outcome.task_ns, 20_000_000);
            assert_eq!(shares.is_ok(), fair, "{:?}", outcome.task_ns);
        }
    }

    #[test]
    fn a_lone_hog_that_is_cut_short_is_seen() {
        for (fault, whole) in [(Fault::Sound, true), (Fault::TakesBreaks, false)] {
            let mut scheduler = Double::new(fault, 1);
            scheduler.promises_nothing = true;
            let outcome = watch(scheduler, hogs(1), 1_000_000_000);
            let whole_of_it = shares::lone_hog(0, 1_000_000_000, outcome.task_ns[0]);
            assert_eq!(whole_of_it.is_ok(), whole, "{:?}", outcome.task_ns);
        }
    }

    #[test]
    fn time_that_does_not_add_up_is_seen() {
        let (cpu, a, b) = (CpuId(0), TaskId(0), TaskId(1));
        let script = || RequestedWork::new(hogs(2));
        let asked = |ns: u64, ends: bool| {
            let script = Script::new(1).task(SchedAttr::nice(0), CpuSet::All, &[run(ns)]);
            let mut asked = RequestedWork::new(script);
            let Ok(_) = asked.next(0, a, cpu);
            if ends {
                let Ok(_) = asked.next(0, a, cpu);
            }
            asked
        };
        let had = |ns: u64| {
            let mut accounts = Accounts::new(1);
            accounts.on(0, Event::switched(cpu, None, false, Some(a)));
            accounts.on(ns, Event::switched(cpu, Some(a), false, None));
            accounts.on(100, Event::Finished);
            accounts
        };
        assert_eq!(had(10).settle(100, &asked(10, true)), Ok(()));
        assert_eq!(had(10).settle(100, &asked(20, false)), Ok(()));
        let rule = |result: Result<(), Violation>| result.map_err(|violation| violation.rule);
        let wrong = Err(Rule::Accounts);
        assert_eq!(rule(had(10).settle(100, &asked(20, true))), wrong, "too little");
        assert_eq!(rule(had(30).settle(100, &asked(20, true))), wrong, "too much");
        assert_eq!(rule(had(30).settle(99, &asked(30, true))), wrong, "not all of the time");
        let mut accounts = Accounts::new(1);
        accounts.on(0, Event::switched(cpu, None, false, Some(a)));
        accounts.on(5, Event::switched(cpu, Some(b), true, None));
        accounts.on(100, Event::Finished);
        assert_eq!(rule(accounts.settle(100, &script())), wrong, "another task left");
    }
}
