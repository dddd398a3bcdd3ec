//! Activity of each task, each CPU and the whole machine: [`Stats`].
//!
//! A task is always in one of four states, and its time is divided among them without gap or
//! overlap:
//!
//! ```text
//!            started                switched in
//!   (none) ----------> waiting <------------------> running
//!                        ^        switched out         |
//!                        | woken                       | blocked
//!                        +---------- blocked <---------+------> ended
//!
//!   turnaround = end - start = waiting + running + blocked
//! ```
//!
//! A task that is woken in the same nanosecond in which it blocked, and keeps its CPU, never
//! stopped running: its latency is 0.
//!
//! A **wait** lasts from the moment a task is runnable without a CPU until it runs, is no longer
//! runnable, or the run ends. An interval without length that leaves the task runnable (it gets a
//! CPU and is preempted, or yields, in the same nanosecond) ends no wait: it did not run.
//!
//! # Terms
//!
//! * **wakeup latency**: from a wakeup to the moment the task next has a CPU, even for no time, as
//!   tracepoints report it. The first time on a CPU after the start is counted separately, as the
//!   **start latency** (the textbooks' response time of a batch task).
//! * **burst response**: from a wakeup to the next time the task blocks or ends (the response time
//!   of an interactive task).
//! * **slowdown** of a burst: response / demand. A burst lasts from start or wakeup to the next
//!   time the task blocks or ends. The response is its length, and the demand is the CPU time of
//!   the task in it. 1: it never waited. A burst without CPU time has no slowdown. Neither has a
//!   burst that was not over when the run ended.
//! * **idle exit**: the part of a wakeup latency in which the CPU that the task then ran on, or the
//!   CPU with the interrupt that woke it, was leaving an idle state.
//! * **voluntary switch**: the task had blocked or ended; **involuntary**: it was still runnable. A
//!   yield counts as involuntary, as in the kernel.
//! * **queue migration**: the task moved from one CPU's runqueue to another's, as the scheduler
//!   reports. **CPU migration**: it got another CPU than its last one. With one runqueue for all
//!   CPUs there are only CPU migrations. A task that is moved away and back between two intervals
//!   has only queue migrations.

use crate::histogram::{BUCKETS, Histogram, Moments, bucket_of};
use schedlab_core::{BlockReason, CpuId, Event, Observer, TaskId, TaskTable, Waker};
use std::collections::BTreeMap;

/// Maximum number of keys with their own latency histograms. Later keys have count, sum and maximum
/// only.
pub const KEY_HISTOGRAMS_MAX: usize = 256;

/// Maximum number of tasks with their own latency histograms: the first of the initial tasks.
pub const TASK_HISTOGRAMS_MAX: usize = 256;

/// Slowdowns are counted in this fraction of 1.
pub const SLOWDOWN_PARTS: u64 = 1000;

/// Numbers the tasks' keys in the order of their first appearance, for [`Stats::new`].
pub fn key_numbers<'a>(keys: impl Iterator<Item = &'a str>) -> Vec<u32> {
    let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
    keys.map(|key| {
        let next = numbers.len() as u32;
        *numbers.entry(key).or_insert(next)
    })
    .collect()
}

/// Activity of a task.
#[derive(Clone, Debug, Default)]
pub struct TaskStats {
    /// Time of birth, ns. `None`: it was never born.
    pub start_ns: Option<u64>,
    /// First time on a CPU, ns.
    pub first_run_ns: Option<u64>,
    /// Time of its end, ns.
    pub end_ns: Option<u64>,
    /// Time on a CPU, ns.
    pub cpu_ns: u64,
    /// Time runnable without a CPU, ns.
    pub wait_ns: u64,
    /// Longest single wait, ns. A wait that was not over when the run ended counts up to then.
    pub wait_max_ns: u64,
    /// Length of a wait that was not over when the run ended, ns; `0`: it was not waiting.
    pub wait_open_ns: u64,
    /// Time asleep or stopped, ns.
    pub blocked_ns: u64,
    /// Number of wakeups.
    pub wakeups: u64,
    /// Number of wakeups after which it got a CPU: those with a known latency.
    pub latencies: u64,
    /// Sum of its wakeup latencies, ns.
    pub latency_sum_ns: u64,
    /// Largest wakeup latency, ns.
    pub latency_max_ns: u64,
    /// Number of times that it was given a CPU.
    pub switches_in: u64,
    /// Number of times that it left its CPU because it had blocked or ended.
    pub voluntary: u64,
    /// Number of times that it left its CPU although it was runnable.
    pub involuntary: u64,
    /// Number of moves from one runqueue to another.
    pub queue_migrations: u64,
    /// Number of times that it was given another CPU than its last one.
    pub cpu_migrations: u64,

    state: State,
    /// Time since which it has been in `state`, ns.
    since_ns: u64,
    /// Start of the current wait, ns. While the task runs: start of the wait that continues if it
    /// has run for no time.
    waits_ns: u64,
    /// Wakeup with a latency that is not yet known, ns.
    woken_ns: Option<u64>,
    /// Wakeup that began the current burst, ns.
    burst_ns: Option<u64>,
    /// Its CPU time and waiting when the current burst began (by a wakeup or its start), ns.
    before_burst_ns: (u64, u64),
    /// CPU with the interrupt that woke it.
    woken_on: Option<CpuId>,
    /// CPU on which it is current.
    on_cpu: Option<CpuId>,
    /// CPU that it had last.
    last_cpu: Option<CpuId>,
    /// Key under which its latencies are counted.
    key: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum State {
    #[default]
    Unborn,
    Waiting,
    Running,
    Blocked,
    Ended,
}

impl TaskStats {
    /// Returns the time from start to end, ns; `None` if it has not ended.
    pub fn turnaround_ns(&self) -> Option<u64> {
        Some(self.end_ns? - self.start_ns?)
    }

    /// Returns the time from start to its first time on a CPU, ns; `None` if it never had one.
    pub fn start_latency_ns(&self) -> Option<u64> {
        Some(self.first_run_ns? - self.start_ns?)
    }

    /// Adds the time in the current state, up to `now_ns`.
    #[inline]
    fn account(&mut self, now_ns: u64) {
        let passed_ns = now_ns - self.since_ns;
        match self.state {
            State::Running => self.cpu_ns += passed_ns,
            State::Blocked => self.blocked_ns += passed_ns,
            State::Waiting => {
                self.wait_ns += passed_ns;
                self.wait_max_ns = self.wait_max_ns.max(now_ns - self.waits_ns);
            }
            State::Unborn | State::Ended => {}
        }
        self.since_ns = now_ns;
    }
}

/// Activity of a CPU.
#[derive(Clone, Debug, Default)]
pub struct CpuStats {
    /// Time for which it ran tasks, ns.
    pub busy_ns: u64,
    /// Time for which it idled while online, ns.
    pub idle_ns: u64,
    /// Switches from one task to another, or from or to idle.
    pub switches: u64,
    /// Ticks.
    pub ticks: u64,

    current: Option<TaskId>,
    since_ns: u64,
    /// Start and end of its last exit from an idle state, ns.
    left_idle_ns: (u64, u64),
    is_offline: bool,
}

/// Latencies of tasks of one key.
#[derive(Clone, Debug, Default)]
pub struct KeyStats {
    /// Wakeup latencies.
    pub latency: Moments,
    /// Distribution of the latencies; `None` for keys beyond [`KEY_HISTOGRAMS_MAX`].
    pub histogram: Option<Histogram>,
}

/// Counts everything; an observer. Its figures are complete once the run is finished.
#[derive(Clone, Debug)]
pub struct Stats {
    tasks: TaskTable<TaskStats>,
    cpus: Vec<CpuStats>,
    keys: Vec<KeyStats>,
    latency: Histogram,
    start_latency: Histogram,
    burst: Histogram,
    slowdown: Histogram,
    idle_exit: Histogram,
    /// Wakeup latencies of the first tasks.
    task_latency: Vec<Histogram>,
    /// By bucket of `latency`: the idle exits of its latencies, ns. Empty as long as there are
    /// none.
    idle_exits_ns: Vec<u64>,
    end_ns: u64,
}

impl Stats {
    /// Creates an observer of a machine with `cpus` CPUs. `keys[i]` is the key of task i (any small
    /// number; tasks of one key share a latency histogram). Tasks beyond the end have no key,
    /// except that the children of tasks with keys have their parents' keys.
    pub fn new(cpus: u32, keys: &[u32]) -> Stats {
        let mut tasks = TaskTable::new();
        if let Some(last) = keys.len().checked_sub(1) {
            tasks.insert(TaskId(last as u32), TaskStats::default());
        }
        for (task, &key) in tasks.values_mut().zip(keys) {
            task.key = Some(key);
        }
        let key_count = keys.iter().max().map_or(0, |&most| most as usize + 1);
        let keys = (0..key_count)
            .map(|key| KeyStats {
                latency: Moments::default(),
                histogram: (key < KEY_HISTOGRAMS_MAX).then(Histogram::new),
            })
            .collect();
        Stats {
            tasks,
            cpus: vec![CpuStats::default(); cpus as usize],
            keys,
            latency: Histogram::new(),
            start_latency: Histogram::new(),
            burst: Histogram::new(),
            slowdown: Histogram::new(),
            idle_exit: Histogram::new(),
            task_latency: Vec::new(),
            idle_exits_ns: Vec::new(),
            end_ns: 0,
        }
    }

    /// Adds a latency histogram for each of the first [`TASK_HISTOGRAMS_MAX`] tasks with keys.
    pub fn with_task_histograms(mut self) -> Stats {
        let count = self.tasks.len().min(TASK_HISTOGRAMS_MAX);
        self.task_latency = (0..count).map(|_| Histogram::new()).collect();
        self
    }

    /// Iterates over all tasks, in ascending order.
    pub fn tasks(&self) -> impl Iterator<Item = (TaskId, &TaskStats)> {
        self.tasks.iter()
    }

    /// Returns a task; `None` if its number has not appeared.
    pub fn task(&self, task: TaskId) -> Option<&TaskStats> {
        (task.index() < self.tasks.len()).then(|| &self.tasks[task])
    }

    /// Returns one more than the largest task number that has appeared.
    pub fn task_count(&self) -> usize {
        self.tasks.len()
    }

    /// Returns all CPUs, in ascending order.
    pub fn cpus(&self) -> &[CpuStats] {
        &self.cpus
    }

    /// Returns the latencies by key.
    pub fn keys(&self) -> &[KeyStats] {
        &self.keys
    }

    /// Returns the key of a task, if it has one.
    pub fn key_of(&self, task: TaskId) -> Option<u32> {
        self.tasks[task].key
    }

    /// Returns the wakeup latencies of all tasks.
    pub fn latency(&self) -> &Histogram {
        &self.latency
    }

    /// Returns the start latencies: from each task's start to its first time on a CPU.
    pub fn start_latency(&self) -> &Histogram {
        &self.start_latency
    }

    /// Returns the burst responses: from each wakeup to the next time that the task blocked or
    /// ended.
    pub fn burst(&self) -> &Histogram {
        &self.burst
    }

    /// Returns the slowdowns of all bursts that ended, beyond 1, in thousandths
    /// ([`SLOWDOWN_PARTS`]), each rounded down: 500 means that the response was one and a half
    /// times the demand.
    pub fn slowdown(&self) -> &Histogram {
        &self.slowdown
    }

    /// Returns the wakeup latencies of a task; `None` if it has no separate histogram.
    pub fn task_latency(&self, task: TaskId) -> Option<&Histogram> {
        self.task_latency.get(task.index())
    }

    /// Returns the idle exits: the part of each wakeup latency in which a CPU was leaving an idle
    /// state. Empty if that never happened.
    pub fn idle_exit(&self) -> &Histogram {
        &self.idle_exit
    }

    /// Returns the mean idle exit, ns, of the wakeup latencies in the same bucket as this
    /// percentile of them; `None` if there are no idle exits at all.
    pub fn idle_exit_at(&self, numerator: u64, denominator: u64) -> Option<u64> {
        if self.idle_exits_ns.is_empty() {
            return None;
        }
        let (bucket, count) = self.latency.bucket_of_percentile(numerator, denominator)?;
        Some(self.idle_exits_ns[bucket] / count)
    }

    /// Returns the end of the run, ns. It began at 0.
    pub fn end_ns(&self) -> u64 {
        self.end_ns
    }

    /// Records `latency_ns` as the latency of the pending wakeup of `task`; `exit_ns` of it is idle
    /// exit.
    fn note_latency(&mut self, task: TaskId, latency_ns: u64, exit_ns: u64) {
        let stats = &mut self.tasks[task];
        stats.woken_ns = None;
        stats.latencies += 1;
        stats.latency_sum_ns += latency_ns;
        stats.latency_max_ns = stats.latency_max_ns.max(latency_ns);
        self.latency.note(latency_ns);
        if let Some(histogram) = self.task_latency.get_mut(task.index()) {
            histogram.note(latency_ns);
        }
        if !self.idle_exits_ns.is_empty() {
            self.idle_exit.note(exit_ns);
            self.idle_exits_ns[bucket_of(latency_ns)] += exit_ns;
        }
        if let Some(key) = stats.key {
            let key = &mut self.keys[key as usize];
            key.latency.note(latency_ns);
            if let Some(histogram) = &mut key.histogram {
                histogram.note(latency_ns);
            }
        }
    }

    /// Ends the burst of `task`, which was runnable or running.
    fn end_burst(&mut self, now_ns: u64, task: TaskId) {
        // It was woken while it ran, and never had to wait.
        if self.tasks[task].state == State::Running && self.tasks[task].woken_ns.is_some() {
            self.note_latency(task, 0, 0);
        }
        let stats = &mut self.tasks[task];
        stats.woken_ns = None;
        if matches!(stats.state, State::Waiting | State::Running) {
            let (cpu_before_ns, wait_before_ns) = stats.before_burst_ns;
            let (cpu_ns, wait_ns) = (stats.cpu_ns - cpu_before_ns, stats.wait_ns - wait_before_ns);
            if let Some(excess) = excess(cpu_ns, wait_ns) {
                self.slowdown.note(excess);
            }
        }
        if let Some(burst_ns) = stats.burst_ns.take() {
            self.burst.note(now_ns - burst_ns);
        }
    }

    fn switch_out(&mut self, now_ns: u64, cpu: CpuId, task: TaskId, runnable: bool) {
        let stats = &mut self.tasks[task];
        if runnable {
            stats.involuntary += 1;
        } else {
            stats.voluntary += 1;
        }
        if stats.on_cpu != Some(cpu) {
            return;
        }
        stats.on_cpu = None;
        if stats.state != State::Running {
            return;
        }
        if stats.since_ns < now_ns {
            stats.waits_ns = now_ns;
        }
        stats.account(now_ns);
        stats.state = State::Waiting;
        if stats.woken_ns.is_some_and(|woken_ns| woken_ns < now_ns) {
            self.note_latency(task, 0, 0);
        }
    }

    fn switch_in(&mut self, now_ns: u64, cpu: CpuId, task: TaskId) {
        let stats = &mut self.tasks[task];
        stats.account(now_ns);
        stats.state = State::Running;
        stats.on_cpu = Some(cpu);
        stats.switches_in += 1;
        if stats.last_cpu.is_some_and(|last| last != cpu) {
            stats.cpu_migrations += 1;
        }
        stats.last_cpu = Some(cpu);
        if stats.first_run_ns.is_none() {
            stats.first_run_ns = Some(now_ns);
            self.start_latency.note(now_ns - stats.start_ns.unwrap_or(now_ns));
        }
        if let Some(woken_ns) = stats.woken_ns {
            let exit_ns = if self.idle_exits_ns.is_empty() || woken_ns == now_ns {
                0
            } else {
                let woken_on = stats.woken_on.unwrap_or(cpu);
                let exits = [cpu, woken_on].map(|cpu| self.cpus[cpu.index()].left_idle_ns);
                overlap_ns((woken_ns, now_ns), exits)
            };
            self.note_latency(task, now_ns - woken_ns, exit_ns);
        }
    }

    /// Starts counting idle exits; there were none before.
    #[cold]
    fn begin_idle_exits(&mut self) {
        self.idle_exits_ns = vec![0; BUCKETS];
        for _ in 0..self.latency.moments().count {
            self.idle_exit.note(0);
        }
    }
}

/// Returns the slowdown of a burst beyond 1, in [`SLOWDOWN_PARTS`]; `None` if it had no CPU time.
#[inline]
fn excess(cpu_ns: u64, wait_ns: u64) -> Option<u64> {
    match wait_ns.checked_mul(SLOWDOWN_PARTS) {
        Some(parts) => parts.checked_div(cpu_ns),
        None => {
            let parts = u128::from(wait_ns) * u128::from(SLOWDOWN_PARTS);
            Some(u64::try_from(parts.checked_div(cpu_ns.into())?).unwrap_or(u64::MAX))
        }
    }
}

/// Returns the length of the part of `within` that lies in one of two other periods, or both.
fn overlap_ns(within: (u64, u64), others: [(u64, u64); 2]) -> u64 {
    let cut =
        |(from_ns, until_ns): (u64, u64), to: (u64, u64)| (from_ns.max(to.0), until_ns.min(to.1));
    let length_ns = |(from_ns, until_ns): (u64, u64)| until_ns.saturating_sub(from_ns);
    let [a, b] = others.map(|other| cut(other, within));
    length_ns(a) + length_ns(b) - length_ns(cut(a, b))
}

impl Observer for Stats {
    #[inline]
    fn on(&mut self, now_ns: u64, event: Event<'_>) {
        match event {
            Event::Born { task, parent, .. } => self.born(task, parent),
            Event::Started { task, .. } => self.started(now_ns, task),
            Event::Woken { task, waker, .. } => self.woken(now_ns, task, waker),
            Event::LeavesIdle { cpu, from_ns, until_ns } => {
                self.leaves_idle(cpu, from_ns, until_ns);
            }
            Event::Blocked { task, reason, .. } => self.blocked(now_ns, task, reason),
            Event::Killed { task } => self.killed(now_ns, task),
            Event::Switched { cpu, prev, prev_runnable, next, .. } => {
                self.switched(now_ns, cpu, prev, prev_runnable, next)
            }
            Event::Migrated { task, .. } => self.migrated(task),
            Event::Online { cpu, online } => self.online_changed(now_ns, cpu, online),
            Event::Ticked { cpu } => self.ticked(cpu),
            Event::Finished => self.finished(now_ns),
            _ => {}
        }
    }
}

impl Stats {
    fn born(&mut self, task: TaskId, parent: Option<TaskId>) {
        if task.index() >= self.tasks.len() {
            self.tasks.insert(task, TaskStats::default());
        }
        if let Some(parent) = parent
            && self.tasks[task].key.is_none()
        {
            self.tasks[task].key = self.tasks[parent].key;
        }
    }

    fn started(&mut self, now_ns: u64, task: TaskId) {
        if task.index() >= self.tasks.len() {
            self.tasks.insert(task, TaskStats::default());
        }
        let stats = &mut self.tasks[task];
        stats.start_ns = Some(now_ns);
        (stats.since_ns, stats.waits_ns) = (now_ns, now_ns);
        stats.state = State::Waiting;
    }

    fn woken(&mut self, now_ns: u64, task: TaskId, waker: Waker) {
        let stats = &mut self.tasks[task];
        stats.account(now_ns);
        stats.wakeups += 1;
        stats.waits_ns = now_ns;
        stats.woken_ns = Some(now_ns);
        stats.burst_ns = Some(now_ns);
        stats.before_burst_ns = (stats.cpu_ns, stats.wait_ns);
        stats.woken_on = match waker {
            Waker::Interrupt { cpu } => Some(cpu),
            Waker::Process { .. } | Waker::Task { .. } => None,
        };
        stats.state = if stats.on_cpu.is_some() { State::Running } else { State::Waiting };
    }

    fn blocked(&mut self, now_ns: u64, task: TaskId, reason: BlockReason) {
        self.tasks[task].account(now_ns);
        self.end_burst(now_ns, task);
        let stats = &mut self.tasks[task];
        stats.state = State::Blocked;
        if reason == BlockReason::Dead {
            stats.state = State::Ended;
            stats.end_ns = Some(now_ns);
        }
    }

    fn killed(&mut self, now_ns: u64, task: TaskId) {
        if task.index() >= self.tasks.len() {
            self.tasks.insert(task, TaskStats::default());
        }
        self.tasks[task].account(now_ns);
        self.end_burst(now_ns, task);
        let stats = &mut self.tasks[task];
        // A task that ended before it was born came and went at once.
        stats.start_ns = stats.start_ns.or(Some(now_ns));
        stats.end_ns = Some(now_ns);
        stats.state = State::Ended;
    }

    fn switched(
        &mut self,
        now_ns: u64,
        cpu: CpuId,
        prev: Option<TaskId>,
        prev_runnable: bool,
        next: Option<TaskId>,
    ) {
        self.cpus[cpu.index()].account(now_ns);
        let lane = &mut self.cpus[cpu.index()];
        lane.switches += 1;
        lane.current = next;
        if let Some(task) = prev {
            self.switch_out(now_ns, cpu, task, prev_runnable);
        }
        if let Some(task) = next {
            self.switch_in(now_ns, cpu, task);
        }
    }

    fn migrated(&mut self, task: TaskId) {
        self.tasks[task].queue_migrations += 1;
    }

    fn ticked(&mut self, cpu: CpuId) {
        self.cpus[cpu.index()].ticks += 1;
    }

    fn finished(&mut self, now_ns: u64) {
        self.end_ns = now_ns;
        for cpu in &mut self.cpus {
            cpu.account(now_ns);
        }
        for task in 0..self.tasks.len() {
            let task = TaskId(task as u32);
            let stats = &mut self.tasks[task];
            let has_just_a_cpu = stats.state == State::Running && stats.since_ns == now_ns;
            if stats.state == State::Waiting || has_just_a_cpu {
                stats.wait_open_ns = now_ns - stats.waits_ns;
            }
            stats.account(now_ns);
            if stats.state == State::Running && stats.woken_ns.is_some() {
                self.note_latency(task, 0, 0);
            }
        }
    }

    #[cold]
    fn online_changed(&mut self, now_ns: u64, cpu: CpuId, online: bool) {
        let stats = &mut self.cpus[cpu.index()];
        stats.account(now_ns);
        stats.is_offline = !online;
    }

    fn leaves_idle(&mut self, cpu: CpuId, from_ns: u64, until_ns: u64) {
        if self.idle_exits_ns.is_empty() {
            self.begin_idle_exits();
        }
        self.cpus[cpu.index()].left_idle_ns = (from_ns, until_ns);
    }
}

impl CpuStats {
    #[inline]
    fn account(&mut self, now_ns: u64) {
        let passed_ns = now_ns - self.since_ns;
        if self.current.is_some() {
            self.busy_ns += passed_ns;
        } else if !self.is_offline {
            self.idle_ns += passed_ns;
        }
        self.since_ns = now_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_core::{TaskAttr, Waker};

    const A: TaskId = TaskId(0);
    const B: TaskId = TaskId(1);
    const CPU0: CpuId = CpuId(0);
    const CPU1: CpuId = CpuId(1);
    const IRQ: Waker = Waker::Interrupt { cpu: CPU0 };
    const SLEEP: BlockReason = BlockReason::Interruptible;

    fn start(stats: &mut Stats, now_ns: u64, task: TaskId) {
        stats.on(now_ns, Event::Born { task, parent: None, attr: &TaskAttr::default() });
        stats.on(now_ns, Event::started(task, CPU0));
    }

    #[test]
    fn keys_are_numbered_as_they_come() {
        assert_eq!(key_numbers(["b", "a", "b", "c", "a"].into_iter()), [0, 1, 0, 2, 1]);
    }

    #[test]
    fn a_cpu_that_is_off_line_does_not_idle() {
        let mut stats = Stats::new(2, &[]);
        for (at_ns, online) in [(10, false), (30, true), (90, false)] {
            stats.on(at_ns, Event::Online { cpu: CpuId(1), online });
        }
        stats.on(100, Event::Finished);
        assert_eq!((stats.cpus[0].idle_ns, stats.cpus[1].idle_ns), (100, 70));
    }

    #[test]
    fn a_life_by_hand() {
        // A: starts at 10, runs 12..20, waits to 25, runs to 30, sleeps to 40, waits to 43, runs to
        // 50 and ends.
        let mut stats = Stats::new(1, &[0, 0]);
        start(&mut stats, 10, A);
        stats.on(12, Event::switched(CPU0, None, false, Some(A)));
        start(&mut stats, 20, B);
        stats.on(20, Event::switched(CPU0, Some(A), true, Some(B)));
        stats.on(25, Event::switched(CPU0, Some(B), true, Some(A)));
        stats.on(30, Event::blocked(A, CPU0, SLEEP));
        stats.on(30, Event::switched(CPU0, Some(A), false, Some(B)));
        stats.on(40, Event::woken(A, CPU0, IRQ));
        stats.on(43, Event::switched(CPU0, Some(B), true, Some(A)));
        stats.on(50, Event::blocked(A, CPU0, BlockReason::Dead));
        stats.on(50, Event::switched(CPU0, Some(A), false, None));
        stats.on(55, Event::Ticked { cpu: CPU0 });
        stats.on(60, Event::Finished);

        let a = &stats.tasks[A];
        assert_eq!((a.cpu_ns, a.wait_ns, a.blocked_ns), (8 + 5 + 7, 2 + 5 + 3, 10));
        assert_eq!(a.turnaround_ns(), Some(40));
        assert_eq!(a.start_latency_ns(), Some(2));
        assert_eq!((a.wait_max_ns, a.wait_open_ns), (5, 0));
        assert_eq!((a.wakeups, a.latencies, a.latency_sum_ns, a.latency_max_ns), (1, 1, 3, 3));
        assert_eq!((a.switches_in, a.voluntary, a.involuntary), (3, 2, 1));

        let b = &stats.tasks[B];
        assert_eq!((b.cpu_ns, b.wait_ns, b.turnaround_ns()), (5 + 13, 5 + 17, None));
        assert_eq!((b.wait_max_ns, b.wait_open_ns), (17, 17));

        let cpu = &stats.cpus[0];
        assert_eq!((cpu.busy_ns, cpu.idle_ns, cpu.switches, cpu.ticks), (38, 22, 6, 1));
        assert_eq!(stats.latency.percentile(50, 100), Some(3));
        assert_eq!(stats.keys[0].latency.count, 1);
        // B ran the moment it started, A two ns later.
        assert_eq!((stats.start_latency.moments().min, stats.start_latency.moments().max), (0, 2));
        // From the wakeup at 40 to the end at 50.
        assert_eq!(stats.burst.moments().max, 10);
    }

    #[test]
    fn slowdown_is_the_length_of_a_burst_by_its_cpu_time() {
        // A: starts at 0, waits 5, runs 10, waits 5, runs 10, sleeps: 30 / 20. Woken at 40, it has
        // its CPU for no time: no slowdown. Woken at 50, it runs at once: 1. The last burst never
        // ends.
        let mut stats = Stats::new(1, &[]);
        start(&mut stats, 0, A);
        let turn = |stats: &mut Stats, from_ns, until_ns| {
            stats.on(from_ns, Event::switched(CPU0, None, false, Some(A)));
            stats.on(until_ns, Event::switched(CPU0, Some(A), true, None));
        };
        turn(&mut stats, 5, 15);
        stats.on(20, Event::switched(CPU0, None, false, Some(A)));
        stats.on(30, Event::blocked(A, CPU0, SLEEP));
        stats.on(30, Event::switched(CPU0, Some(A), false, None));
        for (woken_ns, run_ns, blocked_ns) in [(40, 43, 43), (50, 50, 57)] {
            stats.on(woken_ns, Event::woken(A, CPU0, IRQ));
            stats.on(run_ns, Event::switched(CPU0, None, false, Some(A)));
            stats.on(blocked_ns, Event::blocked(A, CPU0, SLEEP));
            stats.on(blocked_ns, Event::switched(CPU0, Some(A), false, None));
        }
        stats.on(60, Event::woken(A, CPU0, IRQ));
        turn(&mut stats, 65, 70);
        stats.on(80, Event::Finished);
        let found: Vec<_> = stats.slowdown.filled().collect();
        assert_eq!(found, [(0, 0, 1), (500, 500, 1)]);
        assert_eq!(excess(u64::MAX, u64::MAX), Some(1000));
        assert_eq!((excess(1, u64::MAX), excess(0, 7)), (Some(u64::MAX), None));
    }

    #[test]
    fn the_part_of_a_latency_in_which_a_cpu_awoke() {
        let mut stats = Stats::new(2, &[0]).with_task_histograms();
        start(&mut stats, 0, A);
        stats.on(0, Event::switched(CPU0, None, false, Some(A)));
        let sleep = |stats: &mut Stats, now_ns, cpu| {
            stats.on(now_ns, Event::blocked(A, cpu, SLEEP));
            stats.on(now_ns, Event::switched(cpu, Some(A), false, None));
        };
        sleep(&mut stats, 5, CPU0);
        // At once, before any CPU was ever in an idle state that takes time to leave.
        stats.on(10, Event::woken(A, CPU0, IRQ));
        stats.on(10, Event::switched(CPU0, None, false, Some(A)));
        sleep(&mut stats, 12, CPU0);
        // CPU 0 takes the interrupt, and needs 20 to leave its state; CPU 1, on which the task
        // runs, needs 30.
        for (cpu, until_ns) in [(CPU0, 120), (CPU1, 130)] {
            stats.on(100, Event::LeavesIdle { cpu, from_ns: 100, until_ns });
        }
        stats.on(100, Event::woken(A, CPU1, IRQ));
        stats.on(132, Event::switched(CPU1, None, false, Some(A)));
        sleep(&mut stats, 140, CPU1);
        stats.on(200, Event::Finished);
        let found = |histogram: &Histogram| histogram.filled().collect::<Vec<_>>();
        assert_eq!(found(&stats.latency), [(0, 0, 1), (32, 32, 1)]);
        assert_eq!(found(&stats.idle_exit), [(0, 0, 1), (30, 30, 1)]);
        assert_eq!((stats.idle_exit_at(50, 100), stats.idle_exit_at(99, 100)), (Some(0), Some(30)));
        assert_eq!(stats.task_latency(A).and_then(|it| it.percentile(99, 100)), Some(32));
        assert_eq!(overlap_ns((10, 20), [(0, 12), (18, 30)]), 4);
    }

    #[test]
    fn a_task_woken_before_it_is_switched_away_has_not_waited() {
        let mut stats = Stats::new(1, &[]);
        start(&mut stats, 0, A);
        stats.on(0, Event::switched(CPU0, None, false, Some(A)));
        stats.on(5, Event::blocked(A, CPU0, SLEEP));
        stats.on(5, Event::woken(A, CPU0, IRQ));
        // It keeps the CPU: nothing is switched.
        stats.on(9, Event::blocked(A, CPU0, SLEEP));
        stats.on(9, Event::switched(CPU0, Some(A), false, None));
        stats.on(10, Event::Finished);
        let a = &stats.tasks[A];
        assert_eq!((a.cpu_ns, a.wait_ns, a.blocked_ns), (9, 0, 1));
        assert_eq!((a.wakeups, a.latencies, a.latency_max_ns), (1, 1, 0));
        assert_eq!(stats.burst.moments().max, 4);
    }

    #[test]
    fn a_task_woken_as_it_is_switched_away_waits_from_then_on() {
        let mut stats = Stats::new(1, &[]);
        start(&mut stats, 0, A);
        start(&mut stats, 0, B);
        stats.on(0, Event::switched(CPU0, None, false, Some(A)));
        stats.on(5, Event::blocked(A, CPU0, SLEEP));
        stats.on(5, Event::woken(A, CPU0, IRQ));
        stats.on(5, Event::switched(CPU0, Some(A), true, Some(B)));
        stats.on(8, Event::switched(CPU0, Some(B), true, Some(A)));
        stats.on(10, Event::Finished);
        let a = &stats.tasks[A];
        assert_eq!((a.cpu_ns, a.wait_ns, a.blocked_ns), (7, 3, 0));
        assert_eq!((a.latencies, a.latency_sum_ns, a.involuntary), (1, 3, 1));
    }

    /// An interval without length ends no wait, unless the task blocks in it.
    #[test]
    fn a_turn_of_no_length_ends_no_wait() {
        let mut stats = Stats::new(1, &[]);
        start(&mut stats, 0, A);
        start(&mut stats, 10, B);
        let switch = |stats: &mut Stats, now_ns, from: Option<TaskId>, to| {
            stats.on(now_ns, Event::switched(CPU0, from, from.is_some(), to));
        };
        // A has the CPU for no time at 20, 30 and 40, and runs from 50 to 60: it waited for 50.
        for (now_ns, preempted) in [(20, true), (30, true), (40, true), (50, false)] {
            switch(&mut stats, now_ns, None, Some(A));
            if preempted {
                switch(&mut stats, now_ns, Some(A), None);
            }
        }
        switch(&mut stats, 60, Some(A), Some(B));
        assert_eq!((stats.tasks[A].wait_ns, stats.tasks[A].wait_max_ns), (50, 50));
        // B ran at 60 for the first time. It blocks at 65, and is woken at 70. In its interval
        // without length at 90 it blocks and is woken again, so a wait ends there and another
        // begins.
        stats.on(65, Event::blocked(B, CPU0, SLEEP));
        stats.on(65, Event::switched(CPU0, Some(B), false, None));
        stats.on(70, Event::woken(B, CPU0, IRQ));
        switch(&mut stats, 90, None, Some(B));
        stats.on(90, Event::blocked(B, CPU0, SLEEP));
        stats.on(90, Event::woken(B, CPU0, IRQ));
        switch(&mut stats, 90, Some(B), None);
        // Both have a CPU for no time when the run ends: B since then, A no longer.
        switch(&mut stats, 200, None, Some(A));
        switch(&mut stats, 200, Some(A), Some(B));
        stats.on(200, Event::Finished);
        let (a, b) = (&stats.tasks[A], &stats.tasks[B]);
        assert_eq!((a.wait_ns, a.wait_max_ns, a.wait_open_ns), (50 + 140, 140, 140));
        assert_eq!((b.wait_ns, b.wait_max_ns, b.wait_open_ns), (50 + 20 + 110, 110, 110));
        // Every interval counts, whatever its length, and latencies end with it, as tracepoints
        // report.
        assert_eq!((a.switches_in, a.first_run_ns), (5, Some(20)));
        assert_eq!((b.latencies, b.latency_sum_ns), (2, 20 + 110));
    }

    #[test]
    fn both_kinds_of_migration() {
        let mut stats = Stats::new(2, &[]);
        start(&mut stats, 0, A);
        stats.on(0, Event::switched(CPU0, None, false, Some(A)));
        stats.on(5, Event::switched(CPU0, Some(A), true, None));
        // To the other queue and back, and it runs where it ran before.
        stats.on(6, Event::migrated(A, CPU0, CPU1));
        stats.on(7, Event::migrated(A, CPU1, CPU0));
        stats.on(8, Event::switched(CPU0, None, false, Some(A)));
        stats.on(9, Event::switched(CPU0, Some(A), true, None));
        // On another CPU, from one queue for all.
        stats.on(9, Event::switched(CPU1, None, false, Some(A)));
        stats.on(10, Event::Finished);
        let a = &stats.tasks[A];
        assert_eq!((a.queue_migrations, a.cpu_migrations), (2, 1));
    }

    #[test]
    fn a_forked_task_is_counted_under_its_parents_key() {
        let mut stats = Stats::new(1, &[3]);
        start(&mut stats, 0, A);
        stats.on(1, Event::Born { task: B, parent: Some(A), attr: &TaskAttr::default() });
        stats.on(1, Event::Born { task: TaskId(2), parent: None, attr: &TaskAttr::default() });
        assert_eq!((stats.key_of(B), stats.key_of(TaskId(2))), (Some(3), None));
    }

    #[test]
    fn ends_off_the_cpu() {
        let mut stats = Stats::new(1, &[]);
        start(&mut stats, 2, A);
        stats.on(9, Event::Killed { task: A });
        stats.on(9, Event::Killed { task: B });
        stats.on(20, Event::Finished);
        let (a, b) = (&stats.tasks[A], &stats.tasks[B]);
        assert_eq!((a.wait_ns, a.turnaround_ns(), a.start_latency_ns()), (7, Some(7), None));
        assert_eq!((b.wait_ns, b.turnaround_ns()), (0, Some(0)));
    }
}
