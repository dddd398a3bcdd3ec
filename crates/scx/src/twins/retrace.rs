//! Replays a log of decisions through another scheduler, to check that it decides alike.
//!
//! The scheduler is the original of the policy that wrote the log. It receives the events of the
//! log at their times. Where the policy decided, the scheduler also decides: which task runs next
//! and, at a wakeup or a tick, which CPU is asked to reschedule. Where the two differ, the
//! difference is recorded, the scheduler is made to follow the policy (by a moment of real-time
//! priority), and the replay continues.

use super::decision::{Decision, EventKind, TaskState};
use super::log::Log;
use super::report::{Divergence, Note, Question, Report};
use schedlab_core::{
    BlockReason, CpuId, CpuSet, Parent, Platform, Policy, SchedAttr, Scheduler, TaskAttr, TaskId,
    Waker,
};
use std::collections::BTreeMap;

/// Maximum number of consecutive ticks of an idle CPU that are replayed. Earlier ones are skipped.
const IDLE_TICKS: u64 = 1000;

/// Number of later records that are searched for the new state of a running task.
const AHEAD: usize = 64;

/// Maximum number of reschedules of a CPU if the scheduler requests them again and again.
const ROUNDS: u32 = 4;

/// Known state of a task.
#[derive(Clone, Copy, Debug)]
struct Row {
    pid: u32,
    about: TaskState,
    is_awake: bool,
}

/// State of a CPU as the scheduler sees it.
#[derive(Clone, Copy, Default, Debug)]
struct Cpu {
    current: Option<TaskId>,
    /// Whether the current task has gone to sleep and the CPU has not rescheduled yet.
    is_blocked: bool,
    last_tick_ns: u64,
}

/// Options of a replay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Maximum number of differences shown.
    pub shown: usize,
    /// Number of records shown before each.
    pub around: usize,
    /// Policies that the scheduler supports. Tasks with other policies become ordinary ones.
    /// Without `SCHED_FIFO` it cannot be made to follow.
    pub policies: &'static [Policy],
}

impl Default for Options {
    fn default() -> Options {
        Options { shown: 3, around: 12, policies: &[Policy::Other, Policy::Fifo] }
    }
}

struct Retrace<'a> {
    log: &'a Log,
    options: Options,
    scheduler: Box<dyn Scheduler>,
    platform: Platform,
    cpus: Vec<Cpu>,
    rows: Vec<Row>,
    of_pid: BTreeMap<u32, TaskId>,
    /// The scheduler's numbers of address spaces.
    spaces: BTreeMap<u64, u32>,
    /// CPUs that the policy asked to reschedule and that have not done so.
    asked: u64,
    /// Index of the current record.
    at: usize,
    report: Report,
}

/// Replays a log through a scheduler that was built for the log's CPUs and ticks.
pub fn retrace(log: &Log, scheduler: Box<dyn Scheduler>, options: Options) -> Report {
    let header = &log.header;
    let mut retrace = Retrace {
        log,
        options,
        scheduler,
        platform: Platform::new(header.cpus, header.hz),
        cpus: vec![Cpu::default(); header.cpus as usize],
        rows: vec![],
        of_pid: BTreeMap::new(),
        spaces: BTreeMap::new(),
        asked: 0,
        at: 0,
        report: Report::default(),
    };
    for at in 0..log.decisions.len() {
        retrace.at = at;
        retrace.step(&log.decisions[at]);
        retrace.settle();
    }
    let lost = log.lost();
    if lost > 0 {
        retrace.report.notes.insert(Note::Lost, lost);
    }
    retrace.report.records = log.decisions.len() as u64;
    retrace.report.tasks = retrace.rows.len() as u64;
    retrace.report.ns = retrace.platform.now_ns();
    retrace.report
}

impl Retrace<'_> {
    fn note(&mut self, note: Note) {
        *self.report.notes.entry(note).or_default() += 1;
    }

    /// Clears the platform's notes, which have no use here.
    fn settle(&mut self) {
        self.platform.take_pending();
        self.platform.timer_orders.clear();
        self.platform.migrations.clear();
        self.platform.refusals.clear();
        self.platform.interrupts.clear();
        self.platform.second_locks.clear();
    }

    fn set_of(&self, allowed: u64) -> CpuSet {
        let cpus = self.cpus.len() as u32;
        let set = CpuSet::from_cpus((0..cpus).filter(|cpu| allowed >> cpu & 1 == 1).map(CpuId));
        match set.count(cpus) == cpus {
            true => CpuSet::All,
            false => set,
        }
    }

    fn is_smp(&self) -> bool {
        self.cpus.len() > 1
    }

    fn attr(&self, about: &TaskState) -> SchedAttr {
        let policy = match about.policy {
            3 => Policy::Batch,
            5 => Policy::Idle,
            _ => Policy::Other,
        };
        let is_known = self.options.policies.contains(&policy);
        let policy = if is_known { policy } else { Policy::Other };
        SchedAttr { policy, ..SchedAttr::nice(about.nice) }
    }

    /// Returns the CPUs that the scheduler asked to reschedule, one bit each.
    fn pending(&self) -> u64 {
        let cpus = 0..self.cpus.len() as u32;
        cpus.filter(|&cpu| self.platform.resched_pending(CpuId(cpu)))
            .fold(0, |set, cpu| set | 1 << cpu)
    }

    /// Replaces the scheduler's requests to reschedule by the policy's.
    fn follow_asks(&mut self) {
        for cpu in 0..self.cpus.len() as u32 {
            match self.asked >> cpu & 1 {
                1 => self.platform.resched(CpuId(cpu)),
                _ => self.platform.clear_resched(CpuId(cpu)),
            }
        }
    }

    fn name_of(&self, task: Option<TaskId>) -> String {
        match task {
            None => "no task".into(),
            Some(task) => {
                let row = &self.rows[task.index()];
                format!("process {} (nice {})", row.pid, row.about.nice)
            }
        }
    }

    fn part(&mut self, d: &Decision, question: Question, policy: String, original: String) {
        if self.report.divergences.len() >= self.options.shown {
            return;
        }
        let from = self.at.saturating_sub(self.options.around);
        let records = self.log.decisions[from..=self.at].iter().map(Decision::to_string).collect();
        let (number, cpu, at_ns) = (d.number, d.cpu, self.platform.now_ns());
        let divergence = Divergence { number, at_ns, cpu, question, policy, original, records };
        self.report.divergences.push(divergence);
    }

    /// Replays ticks of an idle CPU, which no policy receives.
    fn idle_ticks(&mut self, cpu: CpuId, now_ns: u64) {
        let tick_ns = 1_000_000_000 / u64::from(self.platform.hz());
        let row = &mut self.cpus[cpu.index()];
        let missed = now_ns.saturating_sub(row.last_tick_ns) / tick_ns;
        row.last_tick_ns += missed.saturating_sub(IDLE_TICKS) * tick_ns;
        if row.current.is_some() {
            return;
        }
        for _ in 0..missed.min(IDLE_TICKS) {
            let at_ns = self.cpus[cpu.index()].last_tick_ns + tick_ns;
            self.cpus[cpu.index()].last_tick_ns = at_ns;
            self.platform.set_now_ns(at_ns.max(self.platform.now_ns()));
            self.scheduler.tick(&mut self.platform, cpu);
        }
        // The CPU would look for work and find what it has found.
        self.follow_asks();
    }

    fn step(&mut self, d: &Decision) {
        let first = &self.log.decisions[0];
        let cpu = CpuId(d.cpu);
        let now_ns = d.at_ns.saturating_sub(first.at_ns);
        if now_ns < self.platform.now_ns() {
            self.note(Note::TimeBack);
        }
        let now_ns = now_ns.max(self.platform.now_ns());
        self.idle_ticks(cpu, now_ns);
        self.platform.set_now_ns(now_ns);
        let jiffies = d.jiffies.saturating_sub(first.jiffies);
        self.platform.set_jiffies(jiffies.max(self.platform.jiffies()));
        self.platform.forget_rules();
        match (d.event, d.task) {
            (EventKind::Pick, _) => self.pick(d, cpu),
            (EventKind::Wake, Some(about)) => {
                self.wake(d, cpu, about);
                self.compare_asks(d);
            }
            (EventKind::Enqueue, Some(about)) => {
                match self.of_pid.get(&d.pid) {
                    Some(&task) if self.rows[task.index()].is_awake => self.renew(task, about, cpu),
                    _ => {
                        self.note(Note::Asleep);
                        self.wake(d, cpu, about);
                    }
                }
                self.compare_asks(d);
            }
            (EventKind::Tick, Some(about)) => {
                if self.follow(cpu, d.pid, about) {
                    self.scheduler.tick(&mut self.platform, cpu);
                }
                self.cpus[cpu.index()].last_tick_ns = now_ns;
                self.compare_asks(d);
            }
            (EventKind::Yield, Some(about)) => {
                if self.follow(cpu, d.pid, about)
                    && let Some(task) = self.cpus[cpu.index()].current
                {
                    self.scheduler.yield_now(&mut self.platform, cpu, task);
                }
                self.compare_asks(d);
            }
            (EventKind::Block, Some(about)) => {
                if self.follow(cpu, d.pid, about)
                    && let Some(task) = self.cpus[cpu.index()].current
                {
                    self.block(cpu, task);
                }
            }
            (EventKind::Run, Some(about)) => {
                self.follow(cpu, d.pid, about);
                // A running task that was changed only continues to run.
                self.compare_asks(d);
            }
            (EventKind::Nice, Some(about)) => {
                if let Some(&task) = self.of_pid.get(&d.pid) {
                    self.renew(task, about, cpu);
                }
            }
            (EventKind::Leave, _) => self.leave(d.pid),
            (EventKind::Exit, _) => {
                self.leave(d.pid);
                if let Some(task) = self.of_pid.remove(&d.pid)
                    && self.cpu_that_runs(task).is_none()
                {
                    self.kill(task);
                }
            }
            (EventKind::Init | EventKind::InitTask, _) | (_, None) => (),
        }
    }

    fn cpu_that_runs(&self, task: TaskId) -> Option<CpuId> {
        let cpu = self.cpus.iter().position(|cpu| cpu.current == Some(task))?;
        Some(CpuId(cpu as u32))
    }

    fn block(&mut self, cpu: CpuId, task: TaskId) {
        self.scheduler.block(&mut self.platform, cpu, task, BlockReason::Interruptible);
        self.cpus[cpu.index()].is_blocked = true;
        self.rows[task.index()].is_awake = false;
    }

    /// Ends a task that runs nowhere.
    fn kill(&mut self, task: TaskId) {
        self.scheduler.kill(&mut self.platform, task);
        self.scheduler.reap(&mut self.platform, task, None);
    }

    /// Wakes a sleeping task on a CPU.
    fn rouse(&mut self, task: TaskId, cpu: CpuId) {
        self.rows[task.index()].is_awake = true;
        if let Some(there) = self.cpu_that_runs(task) {
            self.cpus[there.index()].is_blocked = false;
        }
        self.scheduler.wake(&mut self.platform, task, Waker::Interrupt { cpu });
    }

    /// Applies changes of a task.
    fn renew(&mut self, task: TaskId, about: TaskState, by: CpuId) {
        let old = self.rows[task.index()].about;
        // A new address space is reported when the task runs.
        self.rows[task.index()].about = TaskState { mm: old.mm, ..about };
        if (old.nice, old.policy) != (about.nice, about.policy) {
            let attr = self.attr(&about);
            self.scheduler.set_attr(&mut self.platform, task, &attr, by);
        }
        let (before, now) = (self.set_of(old.allowed), self.set_of(about.allowed));
        if self.is_smp() && before != now {
            self.scheduler.set_affinity(&mut self.platform, task, &now);
        }
    }

    fn wake(&mut self, d: &Decision, cpu: CpuId, about: TaskState) {
        let Some(&task) = self.of_pid.get(&d.pid) else {
            return self.begin(d, cpu, about);
        };
        self.renew(task, about, cpu);
        if self.rows[task.index()].is_awake {
            return self.note(Note::Awake);
        }
        self.rouse(task, cpu);
    }

    /// Returns the number of an address space.
    fn space(&mut self, mm: u64) -> u32 {
        let next = 1 + self.spaces.len() as u32;
        match mm {
            0 => TaskAttr::NO_ADDRESS_SPACE,
            mm => *self.spaces.entry(mm).or_insert(next),
        }
    }

    /// Handles a running task that has another address space than in its last record: it has called
    /// `execve(2)`. (A task that exits has none any more, but schedulers receive no event for
    /// that.)
    fn exec(&mut self, cpu: CpuId, task: TaskId, mm: u64) {
        let old = &mut self.rows[task.index()].about.mm;
        if mm != 0 && *old != mm {
            *old = mm;
            self.spaces.insert(mm, TaskAttr::address_space_after_exec(task));
            self.scheduler.exec(&mut self.platform, cpu, task);
        }
    }

    /// A task that is put away has its record after the pick. Its new address space dates from
    /// before the pick.
    fn exec_before_pick(&mut self, cpu: CpuId) {
        let Some(task) = self.cpus[cpu.index()].current else { return };
        if let Some(Decision {
            event: EventKind::Enqueue, cpu: there, pid, task: Some(about), ..
        }) = self.log.decisions.get(self.at + 1)
            && *there == cpu.0
            && *pid == self.rows[task.index()].pid
        {
            self.exec(cpu, task, about.mm);
        }
    }

    /// A parent whose next record shows it in its child's address space was in it before the child.
    fn exec_before_fork(&mut self, cpu: CpuId, parent: TaskId, mm: u64) {
        let pid = self.rows[parent.index()].pid;
        let ahead = self.log.decisions[self.at + 1..].iter().take(AHEAD);
        let about = ahead.filter(|d| d.pid == pid).find_map(|d| d.task);
        if about.is_some_and(|about| about.mm == mm) {
            self.exec(cpu, parent, mm);
        }
    }

    /// Adds a task.
    fn begin(&mut self, d: &Decision, cpu: CpuId, about: TaskState) {
        let task = TaskId(self.rows.len() as u32);
        self.rows.push(Row { pid: d.pid, about, is_awake: true });
        self.of_pid.insert(d.pid, task);
        let here = self.cpus[cpu.index()];
        let parent = here.current.filter(|_| d.other != 0 && !here.is_blocked);
        let parent = parent.filter(|parent| self.rows[parent.index()].pid == d.other);
        if d.other != 0 && parent.is_none() {
            self.note(Note::Orphan);
        }
        if let Some(parent) = parent {
            self.exec_before_fork(cpu, parent, about.mm);
        }
        let allowed = match self.is_smp() {
            true => self.set_of(about.allowed),
            false => CpuSet::All,
        };
        // The kernel has chosen the CPU of a new task.
        let first = match self.is_smp() && parent.is_none() {
            true => CpuSet::only(CpuId(about.on)),
            false => allowed.clone(),
        };
        let is_moved = first != allowed;
        let attr = TaskAttr {
            sched: self.attr(&about),
            allowed: first,
            address_space: self.space(about.mm),
            ..TaskAttr::default()
        };
        let parent = match parent {
            Some(task) => Parent::Task { task, cpu },
            None => Parent::External,
        };
        self.scheduler.fork(&mut self.platform, task, &attr, parent);
        if is_moved {
            self.scheduler.set_affinity(&mut self.platform, task, &allowed);
        }
    }

    /// Removes a task from the policy.
    fn leave(&mut self, pid: u32) {
        let Some(&task) = self.of_pid.get(&pid) else { return };
        if !self.rows[task.index()].is_awake {
            return;
        }
        match self.cpu_that_runs(task) {
            Some(cpu) => self.block(cpu, task),
            None => {
                self.kill(task);
                self.rows[task.index()].is_awake = false;
                self.of_pid.remove(&pid);
            }
        }
    }

    /// Compares the requests to reschedule of the policy and of the scheduler after an event.
    fn compare_asks(&mut self, d: &Decision) {
        let before = self.asked;
        self.asked |= d.asks;
        let original = self.pending();
        if original != before || d.asks != 0 {
            let is_same = original == self.asked;
            self.report.asks.add(is_same);
            if !is_same {
                let names = |set: u64| match set {
                    0 => "no CPU".to_string(),
                    set => {
                        let cpus = (0..64).filter(|cpu| set >> cpu & 1 == 1);
                        let cpus: Vec<String> = cpus.map(|cpu| format!("CPU {cpu}")).collect();
                        cpus.join(", ")
                    }
                };
                self.part(d, Question::Resched, names(self.asked), names(original));
            }
        }
        self.follow_asks();
    }

    /// Reschedules a CPU.
    fn schedule(&mut self, cpu: CpuId) -> Option<TaskId> {
        let mut next = None;
        for _ in 0..ROUNDS {
            self.platform.clear_resched(cpu);
            next = self.scheduler.schedule(&mut self.platform, cpu);
            self.cpus[cpu.index()].current = next;
            self.cpus[cpu.index()].is_blocked = false;
            if !self.platform.resched_pending(cpu) {
                break;
            }
        }
        self.platform.clear_resched(cpu);
        next
    }

    fn pick(&mut self, d: &Decision, cpu: CpuId) {
        self.asked &= !(1 << cpu.0);
        self.exec_before_pick(cpu);
        let original = self.schedule(cpu);
        let policy = self.of_pid.get(&d.pid).copied();
        let is_same = original == policy && (d.pid == 0 || policy.is_some());
        self.report.picks.add(is_same);
        if !is_same {
            let (by_policy, by_original) = (
                match policy {
                    None if d.pid != 0 => format!("process {}, which is unknown", d.pid),
                    policy => self.name_of(policy),
                },
                self.name_of(original),
            );
            self.part(d, Question::Pick, by_policy, by_original);
            match policy {
                Some(task) => self.force(cpu, task),
                None => self.note(Note::Idled),
            }
        }
    }

    /// Makes the scheduler run the task that the kernel runs on a CPU. Returns whether it does.
    fn follow(&mut self, cpu: CpuId, pid: u32, about: TaskState) -> bool {
        let task = self.of_pid.get(&pid).copied();
        let here = self.cpus[cpu.index()];
        if let Some(task) = task
            && here.current == Some(task)
            && !here.is_blocked
        {
            self.exec(cpu, task, about.mm);
            return true;
        }
        self.note(Note::RanUnasked);
        let task = match task {
            Some(task) => task,
            None => {
                let d = Decision { pid, other: 0, ..self.log.decisions[self.at] };
                self.begin(&d, cpu, about);
                self.of_pid[&pid]
            }
        };
        self.force(cpu, task);
        let here = self.cpus[cpu.index()];
        here.current == Some(task) && !here.is_blocked
    }

    /// Makes the scheduler run a task on a CPU: the task gets the highest priority for a moment,
    /// and may run nowhere else.
    fn force(&mut self, cpu: CpuId, task: TaskId) {
        if !self.rows[task.index()].is_awake {
            self.note(Note::Asleep);
            self.rouse(task, cpu);
        }
        let about = self.rows[task.index()].about;
        let allowed = self.set_of(about.allowed);
        if self.is_smp() {
            self.scheduler.set_affinity(&mut self.platform, task, &CpuSet::only(cpu));
            if let Some(there) = self.cpu_that_runs(task).filter(|&there| there != cpu) {
                self.schedule(there);
            }
        }
        let here = self.cpus[cpu.index()];
        let runs = here.current == Some(task) && !here.is_blocked;
        if !runs && self.options.policies.contains(&Policy::Fifo) {
            let urgent = SchedAttr::realtime(Policy::Fifo, 99);
            self.scheduler.set_attr(&mut self.platform, task, &urgent, cpu);
            self.schedule(cpu);
            let attr = self.attr(&about);
            self.scheduler.set_attr(&mut self.platform, task, &attr, cpu);
        }
        if self.is_smp() {
            self.scheduler.set_affinity(&mut self.platform, task, &allowed);
        }
        if self.cpus[cpu.index()].current != Some(task) {
            self.note(Note::NotFollowed);
        }
        self.follow_asks();
    }
}
