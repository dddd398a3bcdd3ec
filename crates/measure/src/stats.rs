//! What each task, each CPU and the whole machine did: [`Stats`].
//!
//! A task is at every moment in one of four states, and its time is divided among them without gap
//! or overlap:
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
//! A task that is woken in the very nanosecond in which it blocked, and keeps its CPU, never
//! stopped running: its latency is 0.
//!
//! # Words
//!
//! * **wakeup latency**: from a wakeup to the moment the task next has a CPU. The first time on a
//!   CPU after the start is counted apart, as the **start latency** (the textbooks' response time
//!   of a batch task).
//! * **burst response**: from a wakeup to the next time the task blocks or ends (the response time
//!   of an interactive task).
//! * **voluntary switch**: the task had blocked or ended; **involuntary**: it was still runnable. A
//!   yield counts as involuntary, as in the kernel.
//! * **queue migration**: the task moved from one CPU's runqueue to another's, as the scheduler
//!   reports. **CPU migration**: it got another CPU than the one it had had last. With one runqueue
//!   for all CPUs there are only the latter; a task that is moved to and fro between two turns has
//!   only the former.

use crate::histogram::{Histogram, Moments};
use schedlab_core::{BlockReason, CpuId, Event, Observer, TaskId, TaskTable};
use std::collections::BTreeMap;

/// So many keys at most have a latency histogram of their own; those after them have count, sum and
/// maximum only.
pub const KEY_HISTOGRAMS_MAX: usize = 256;

/// Numbers the tasks' keys in the order in which they first appear: what [`Stats::new`] wants.
pub fn key_numbers<'a>(keys: impl Iterator<Item = &'a str>) -> Vec<u32> {
    let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
    keys.map(|key| {
        let next = numbers.len() as u32;
        *numbers.entry(key).or_insert(next)
    })
    .collect()
}

/// What a task did.
#[derive(Clone, Debug, Default)]
pub struct TaskStats {
    /// When it came into being, ns. None: it never did.
    pub start_ns: Option<u64>,
    /// When it first had a CPU, ns.
    pub first_run_ns: Option<u64>,
    /// When it ended, ns.
    pub end_ns: Option<u64>,
    /// Time on a CPU, ns.
    pub cpu_ns: u64,
    /// Time runnable without a CPU, ns.
    pub wait_ns: u64,
    /// The longest such wait in one piece, ns; one that had not ended with the run counts as far as
    /// it got.
    pub wait_max_ns: u64,
    /// Of a wait that had not ended with the run: how long it was by then, ns; 0 = it was not
    /// waiting.
    pub wait_open_ns: u64,
    /// Time asleep or stopped, ns.
    pub blocked_ns: u64,
    /// Times it was woken.
    pub wakeups: u64,
    /// Wakeups after which it got a CPU: those whose latency is known.
    pub latencies: u64,
    /// The sum of its wakeup latencies, ns.
    pub latency_sum_ns: u64,
    /// The largest wakeup latency, ns.
    pub latency_max_ns: u64,
    /// Times it was given a CPU.
    pub switches_in: u64,
    /// Times it left its CPU because it had blocked or ended.
    pub voluntary: u64,
    /// Times it left its CPU although it was runnable.
    pub involuntary: u64,
    /// Moves from one runqueue to another.
    pub queue_migrations: u64,
    /// Times it was given another CPU than it had had last.
    pub cpu_migrations: u64,

    state: State,
    /// Since when it has been in `state`, ns.
    since_ns: u64,
    /// The wakeup whose latency is not yet known, ns.
    woken_ns: Option<u64>,
    /// The wakeup that began the present burst, ns.
    burst_ns: Option<u64>,
    /// The CPU whose current task it is.
    on_cpu: Option<CpuId>,
    /// The CPU it had last.
    last_cpu: Option<CpuId>,
    /// What its latencies are counted under.
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
    /// From start to end, ns. None if it has not ended.
    pub fn turnaround_ns(&self) -> Option<u64> {
        Some(self.end_ns? - self.start_ns?)
    }

    /// From start to its first time on a CPU, ns. None if it never had one.
    pub fn start_latency_ns(&self) -> Option<u64> {
        Some(self.first_run_ns? - self.start_ns?)
    }

    /// Adds what has passed of the present state, up to `now_ns`.
    #[inline]
    fn account(&mut self, now_ns: u64) {
        let passed_ns = now_ns - self.since_ns;
        match self.state {
            State::Running => self.cpu_ns += passed_ns,
            State::Blocked => self.blocked_ns += passed_ns,
            State::Waiting => {
                self.wait_ns += passed_ns;
                self.wait_max_ns = self.wait_max_ns.max(passed_ns);
            }
            State::Unborn | State::Ended => {}
        }
        self.since_ns = now_ns;
    }
}

/// What a CPU did.
#[derive(Clone, Debug, Default)]
pub struct CpuStats {
    /// Time it ran tasks, ns.
    pub busy_ns: u64,
    /// Time it idled, ns.
    pub idle_ns: u64,
    /// Switches from one task to another, or to or from idle.
    pub switches: u64,
    /// Ticks.
    pub ticks: u64,

    current: Option<TaskId>,
    since_ns: u64,
}

/// Latencies of tasks of one key.
#[derive(Clone, Debug, Default)]
pub struct KeyStats {
    /// Wakeup latencies.
    pub latency: Moments,
    /// The same, spread. None for keys beyond [`KEY_HISTOGRAMS_MAX`].
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
    end_ns: u64,
}

impl Stats {
    /// For a machine of `cpus` CPUs. `keys[i]` is the key of task i (any small number; tasks of one
    /// key have a latency histogram in common). Tasks beyond the end have no key, but for those
    /// that a task with a key forks: they have their parent's.
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
            end_ns: 0,
        }
    }

    /// All tasks, rising.
    pub fn tasks(&self) -> impl Iterator<Item = (TaskId, &TaskStats)> {
        self.tasks.iter()
    }

    /// One task. None if its number was never seen.
    pub fn task(&self, task: TaskId) -> Option<&TaskStats> {
        (task.index() < self.tasks.len()).then(|| &self.tasks[task])
    }

    /// One more than the largest task number seen.
    pub fn task_count(&self) -> usize {
        self.tasks.len()
    }

    /// All CPUs, rising.
    pub fn cpus(&self) -> &[CpuStats] {
        &self.cpus
    }

    /// Latencies by key.
    pub fn keys(&self) -> &[KeyStats] {
        &self.keys
    }

    /// The key of a task, if it has one.
    pub fn key_of(&self, task: TaskId) -> Option<u32> {
        self.tasks[task].key
    }

    /// Wakeup latencies of all tasks.
    pub fn latency(&self) -> &Histogram {
        &self.latency
    }

    /// Start latencies: from each task's start to its first time on a CPU.
    pub fn start_latency(&self) -> &Histogram {
        &self.start_latency
    }

    /// Burst responses: from each wakeup to the next time that task blocked or ended.
    pub fn burst(&self) -> &Histogram {
        &self.burst
    }

    /// When the run ended, ns. It began at 0.
    pub fn end_ns(&self) -> u64 {
        self.end_ns
    }

    /// Notes that the latency of the pending wakeup of `task` is `latency_ns`.
    fn note_latency(&mut self, task: TaskId, latency_ns: u64) {
        let stats = &mut self.tasks[task];
        stats.woken_ns = None;
        stats.latencies += 1;
        stats.latency_sum_ns += latency_ns;
        stats.latency_max_ns = stats.latency_max_ns.max(latency_ns);
        self.latency.note(latency_ns);
        if let Some(key) = stats.key {
            let key = &mut self.keys[key as usize];
            key.latency.note(latency_ns);
            if let Some(histogram) = &mut key.histogram {
                histogram.note(latency_ns);
            }
        }
    }

    /// `task`, runnable or running, is so no longer.
    fn end_burst(&mut self, now_ns: u64, task: TaskId) {
        // Woken as it ran: it never had to wait.
        if self.tasks[task].state == State::Running && self.tasks[task].woken_ns.is_some() {
            self.note_latency(task, 0);
        }
        let stats = &mut self.tasks[task];
        stats.woken_ns = None;
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
        stats.account(now_ns);
        stats.state = State::Waiting;
        if stats.woken_ns.is_some_and(|woken_ns| woken_ns < now_ns) {
            self.note_latency(task, 0);
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
            self.note_latency(task, now_ns - woken_ns);
        }
    }
}

impl Observer for Stats {
    #[inline]
    fn on(&mut self, now_ns: u64, event: Event<'_>) {
        match event {
            Event::Born { task, parent, .. } => self.born(task, parent),
            Event::Started { task, .. } => self.started(now_ns, task),
            Event::Woken { task, .. } => self.woken(now_ns, task),
            Event::Blocked { task, reason, .. } => self.blocked(now_ns, task, reason),
            Event::Killed { task } => self.killed(now_ns, task),
            Event::Switched { cpu, prev, prev_runnable, next, .. } => {
                self.switched(now_ns, cpu, prev, prev_runnable, next)
            }
            Event::Migrated { task, .. } => self.migrated(task),
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
        stats.since_ns = now_ns;
        stats.state = State::Waiting;
    }

    fn woken(&mut self, now_ns: u64, task: TaskId) {
        let stats = &mut self.tasks[task];
        stats.account(now_ns);
        stats.wakeups += 1;
        stats.woken_ns = Some(now_ns);
        stats.burst_ns = Some(now_ns);
        stats.state = if stats.on_cpu.is_some() { State::Running } else { State::Waiting };
    }

    fn blocked(&mut self, now_ns: u64, task: TaskId, reason: BlockReason) {
        self.end_burst(now_ns, task);
        let stats = &mut self.tasks[task];
        stats.account(now_ns);
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
        self.end_burst(now_ns, task);
        let stats = &mut self.tasks[task];
        stats.account(now_ns);
        // One that was to end before it was born came and went at once.
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
            if stats.state == State::Waiting {
                stats.wait_open_ns = now_ns - stats.since_ns;
            }
            stats.account(now_ns);
            if stats.state == State::Running && stats.woken_ns.is_some() {
                self.note_latency(task, 0);
            }
        }
    }
}

impl CpuStats {
    #[inline]
    fn account(&mut self, now_ns: u64) {
        let passed_ns = now_ns - self.since_ns;
        if self.current.is_some() {
            self.busy_ns += passed_ns;
        } else {
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
        // B ran the moment it started; A two ns after.
        assert_eq!((stats.start_latency.moments().min, stats.start_latency.moments().max), (0, 2));
        // From the wakeup at 40 to the end at 50.
        assert_eq!(stats.burst.moments().max, 10);
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

    #[test]
    fn both_kinds_of_migration() {
        let mut stats = Stats::new(2, &[]);
        start(&mut stats, 0, A);
        stats.on(0, Event::switched(CPU0, None, false, Some(A)));
        stats.on(5, Event::switched(CPU0, Some(A), true, None));
        // To the other queue and back, and it runs where it ran.
        stats.on(6, Event::migrated(A, CPU0, CPU1));
        stats.on(7, Event::migrated(A, CPU1, CPU0));
        stats.on(8, Event::switched(CPU0, None, false, Some(A)));
        stats.on(9, Event::switched(CPU0, Some(A), true, None));
        // Elsewhere, out of one queue for all.
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
