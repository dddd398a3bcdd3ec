//! The observer that records a [`History`]: [`Recorder`].

use super::{History, IntervalEnd, RunInterval, RunIntervals, RunnableCause, TASK_ROWS};
use crate::fairness::Fairness;
use schedlab_core::{BlockReason, CpuId, Event, GroupId, Observer, Rule, TaskId, TaskTable, Waker};

/// Number of longest waits that are kept.
pub const WAITS_KEPT: usize = 50;

/// Period in which a task was runnable and did not run. An interval without length ends no wait, as
/// in [`stats`](crate::stats).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wait {
    /// Task.
    pub task: TaskId,
    /// Start, ns.
    pub from_ns: u64,
    /// End, ns.
    pub to_ns: u64,
    /// CPU that it got, or to which it last belonged.
    pub cpu: CpuId,
    /// Reason why it was runnable.
    pub cause: RunnableCause,
    /// Whether the run ended, or the task was killed, before it got a CPU.
    pub open: bool,
}

impl Wait {
    /// Returns the length, ns.
    pub fn length_ns(&self) -> u64 {
        self.to_ns - self.from_ns
    }
}

/// State of a task during the run.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    runnable: bool,
    running: bool,
    group: u32,
    cpu: u32,
    /// Time since which it waits, while it is runnable without a CPU.
    since_ns: u64,
    cause: RunnableCause,
    placed: Rule,
    preempts: Rule,
    blocked: Option<BlockReason>,
}

/// Current interval of a CPU.
#[derive(Clone, Copy, Debug)]
struct Current {
    turn: RunInterval,
    /// Time up to which it has been added to the sums, ns.
    charged_ns: u64,
}

/// Records a run for display; an observer.
#[derive(Clone, Debug)]
pub struct Recorder {
    history: History,
    current: Vec<Option<Current>>,
    tasks: TaskTable<Row>,
    runnable: u64,
    /// Time up to which runnable tasks have been counted, ns.
    counted_ns: u64,
    /// The longest waits, unordered. When there are twice as many as are kept, the shorter half is
    /// dropped.
    waits: Vec<Wait>,
    /// Only waits longer than this are kept, ns.
    wait_least_ns: u64,
    fairness: Option<Fairness>,
    /// Next time at which all lags are sampled, ns.
    next_look_ns: u64,
}

impl Recorder {
    /// Creates a recorder for a machine of `cpus` CPUs, with at most `most` intervals. `fairness`
    /// follows the ideal machine, if lags are to be recorded.
    pub fn new(cpus: u32, most: usize, fairness: Option<Fairness>) -> Recorder {
        Recorder {
            history: History {
                cpus,
                has_lags: fairness.is_some(),
                turns: RunIntervals::new(cpus, most),
                ..History::default()
            },
            current: vec![None; cpus as usize],
            tasks: TaskTable::new(),
            runnable: 0,
            counted_ns: 0,
            waits: Vec::with_capacity(2 * WAITS_KEPT),
            wait_least_ns: 0,
            fairness,
            next_look_ns: 0,
        }
    }

    /// Returns the record. Complete once the run is finished.
    pub fn into_history(mut self) -> History {
        self.keep_longest();
        let mut history = self.history;
        history.waits = self.waits;
        history.turns.sort();
        history
    }

    fn row(&mut self, task: TaskId) -> &mut Row {
        if task.index() >= self.tasks.len() {
            self.tasks.insert(task, Row::default());
        }
        &mut self.tasks[task]
    }

    fn keep_longest(&mut self) {
        self.waits.sort_by_key(|wait| (std::cmp::Reverse(wait.length_ns()), wait.from_ns));
        self.waits.truncate(WAITS_KEPT);
    }

    /// Records the end of a wait.
    fn note_wait(&mut self, wait: Wait) {
        let length_ns = wait.length_ns();
        let bucket = self.history.buckets.at(wait.to_ns);
        let most = &mut self.history.buckets.wait_max_ns[bucket];
        *most = length_ns.max(*most);
        if length_ns <= self.wait_least_ns {
            return;
        }
        self.waits.push(wait);
        if self.waits.len() == 2 * WAITS_KEPT {
            self.keep_longest();
            self.wait_least_ns = self.waits[WAITS_KEPT - 1].length_ns();
        }
    }

    /// Counts the runnable tasks up to now, before their number changes.
    fn count_runnable(&mut self, now_ns: u64) {
        self.history.buckets.runnable(self.runnable, self.counted_ns, now_ns);
        self.counted_ns = now_ns;
    }

    fn wakes(
        &mut self,
        now_ns: u64,
        task: TaskId,
        cpu: CpuId,
        cause: RunnableCause,
        rules: (Rule, Rule),
    ) {
        self.count_runnable(now_ns);
        let row = self.row(task);
        let was_runnable = std::mem::replace(&mut row.runnable, true);
        row.blocked = None;
        (row.cause, row.cpu) = (cause, cpu.0);
        (row.placed, row.preempts) = rules;
        if !row.running {
            row.since_ns = now_ns;
        }
        if !was_runnable {
            self.runnable += 1;
        }
    }

    fn sleeps(&mut self, now_ns: u64, task: TaskId, reason: BlockReason) {
        self.count_runnable(now_ns);
        let row = self.row(task);
        row.blocked = Some(reason);
        if std::mem::replace(&mut row.runnable, false) {
            self.runnable -= 1;
        }
    }

    /// Ends a task that is on no CPU.
    fn killed(&mut self, now_ns: u64, task: TaskId) {
        self.end_wait_in_vain(now_ns, task);
        self.sleeps(now_ns, task, BlockReason::Dead);
    }

    /// Ends the wait of `task`, if any, without a CPU.
    fn end_wait_in_vain(&mut self, now_ns: u64, task: TaskId) {
        let row = *self.row(task);
        if row.runnable && !row.running && row.since_ns < now_ns {
            self.note_wait(Wait {
                task,
                from_ns: row.since_ns,
                to_ns: now_ns,
                cpu: CpuId(row.cpu),
                cause: row.cause,
                open: true,
            });
        }
    }

    /// Adds the current interval of `cpu` so far to the sums of its task and group.
    fn charge(&mut self, now_ns: u64, cpu: CpuId) {
        let Some(current) = &mut self.current[cpu.index()] else { return };
        let since_ns = std::mem::replace(&mut current.charged_ns, now_ns);
        let task = current.turn.task;
        let group = GroupId(self.tasks[task].group);
        self.history.buckets.ran(task, group, since_ns, now_ns);
    }

    /// Ends the current interval of `cpu`, if any.
    fn close(&mut self, now_ns: u64, cpu: CpuId, end: IntervalEnd) {
        self.charge(now_ns, cpu);
        let Some(Current { mut turn, .. }) = self.current[cpu.index()].take() else { return };
        let task = turn.task;
        let row = &mut self.tasks[task];
        row.running = false;
        // An interval without length ends no wait: the wait continues unless the task blocked in
        // it.
        if turn.start_ns == now_ns && row.runnable && row.cause == RunnableCause::Runnable {
            row.since_ns = turn.start_ns - turn.wait_ns;
            row.cause = turn.cause;
            (row.placed, row.preempts) = (turn.placed, turn.preempts);
            return;
        }
        row.since_ns = now_ns;
        if turn.wait_ns > 0 {
            self.note_wait(Wait {
                task,
                from_ns: turn.start_ns - turn.wait_ns,
                to_ns: turn.start_ns,
                cpu,
                cause: turn.cause,
                open: false,
            });
        }
        if turn.start_ns == now_ns {
            return;
        }
        turn.end_ns = now_ns;
        turn.busy_ns = now_ns - turn.start_ns;
        turn.task_ns = turn.busy_ns;
        turn.end = end;
        self.history.turns.push(turn);
    }

    fn switched(
        &mut self,
        now_ns: u64,
        cpu: CpuId,
        prev_runnable: bool,
        next: Option<TaskId>,
        why: Rule,
    ) {
        let bucket = self.history.buckets.at(now_ns);
        self.history.buckets.switches[bucket] += 1;
        let end =
            match self.current[cpu.index()].map(|current| self.tasks[current.turn.task].blocked) {
                Some(Some(reason)) if !prev_runnable => IntervalEnd::Blocked(reason),
                _ if prev_runnable => IntervalEnd::Runnable,
                _ => IntervalEnd::Blocked(BlockReason::Interruptible),
            };
        self.close(now_ns, cpu, end);
        let Some(task) = next else { return };
        let row = self.row(task);
        let before = *row;
        let turn = RunInterval {
            cpu,
            task,
            start_ns: now_ns,
            end_ns: now_ns,
            busy_ns: 0,
            task_ns: 0,
            count: 1,
            wait_ns: now_ns - before.since_ns,
            cause: before.cause,
            why,
            placed: before.placed,
            preempts: before.preempts,
            end: IntervalEnd::Finished,
        };
        row.running = true;
        row.cpu = cpu.0;
        (row.cause, row.placed, row.preempts) = (RunnableCause::Runnable, Rule::NONE, Rule::NONE);
        self.current[cpu.index()] = Some(Current { turn, charged_ns: now_ns });
    }

    /// Records the lag of `task`.
    fn note_lag(&mut self, now_ns: u64, task: TaskId) {
        let Some(fairness) = &mut self.fairness else { return };
        let Some(lag_ns) = fairness.lag_ns(now_ns, task) else { return };
        let bucket = self.history.buckets.at(now_ns);
        let buckets = &mut self.history.buckets;
        let most = match lag_ns {
            0.. => &mut buckets.owed_max_ns[bucket],
            _ => &mut buckets.ahead_max_ns[bucket],
        };
        *most = lag_ns.unsigned_abs().max(*most);
    }

    /// Samples the lags of all tasks (if they are not too many), once per period, because tasks
    /// that wait for long are seen at no switch.
    fn note_lags(&mut self, now_ns: u64) {
        if self.fairness.is_none() || now_ns < self.next_look_ns || self.tasks.len() > TASK_ROWS {
            return;
        }
        for task in 0..self.tasks.len() {
            self.note_lag(now_ns, TaskId(task as u32));
        }
        let width_ns = self.history.buckets.width_ns();
        self.next_look_ns = (now_ns / width_ns + 1) * width_ns;
    }

    fn finished(&mut self, now_ns: u64) {
        self.count_runnable(now_ns);
        for cpu in 0..self.current.len() {
            self.close(now_ns, CpuId(cpu as u32), IntervalEnd::Finished);
        }
        for task in 0..self.tasks.len() {
            let task = TaskId(task as u32);
            // Tasks that ran to the end have waited for no time.
            self.end_wait_in_vain(now_ns, task);
        }
        self.history.end_ns = now_ns;
    }
}

impl Observer for Recorder {
    fn on(&mut self, now_ns: u64, event: Event<'_>) {
        if let Some(fairness) = &mut self.fairness {
            fairness.on(now_ns, event);
        }
        match event {
            Event::Born { task, parent, attr } => {
                self.row(task).group = attr.group.0;
                self.history.parents.insert(task, parent);
            }
            Event::GroupChanged { task, group } => {
                // Its CPU time so far belongs to its old group.
                let row = *self.row(task);
                if row.running {
                    self.charge(now_ns, CpuId(row.cpu));
                }
                self.row(task).group = group.0;
            }
            Event::Started { task, cpu, placed, preempts } => {
                self.wakes(now_ns, task, cpu, RunnableCause::Started, (placed, preempts));
            }
            Event::Woken { task, cpu, waker, placed, preempts } => {
                let bucket = self.history.buckets.at(now_ns);
                self.history.buckets.wakeups[bucket] += 1;
                let cause = match waker {
                    Waker::Interrupt { .. } => RunnableCause::Interrupt,
                    Waker::Process { .. } => RunnableCause::Process,
                    Waker::Task { task, .. } => RunnableCause::Task(task),
                };
                self.wakes(now_ns, task, cpu, cause, (placed, preempts));
            }
            Event::Blocked { task, reason, .. } => self.sleeps(now_ns, task, reason),
            Event::Killed { task } => self.killed(now_ns, task),
            Event::Switched { cpu, prev, prev_runnable, next, why } => {
                self.switched(now_ns, cpu, prev_runnable, next, why);
                for task in [prev, next].into_iter().flatten() {
                    self.note_lag(now_ns, task);
                }
                self.note_lags(now_ns);
            }
            Event::Migrated { task, to, .. } => {
                self.row(task).cpu = to.0;
                let bucket = self.history.buckets.at(now_ns);
                self.history.buckets.migrations[bucket] += 1;
            }
            Event::Finished => self.finished(now_ns),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// a runs and sleeps. b runs and wakes a, which preempts it. A third task never gets a CPU.
    #[test]
    fn turns_have_their_waits_wakers_and_ends() {
        let mut recorder = Recorder::new(2, 100, None);
        let (a, b, c, cpu) = (TaskId(0), TaskId(1), TaskId(2), CpuId(1));
        let mut on = |at, event| recorder.on(at, event);
        on(0, Event::started(a, cpu));
        on(0, Event::switched(cpu, None, false, Some(a)));
        on(10, Event::started(b, cpu));
        on(15, Event::started(c, cpu));
        on(30, Event::blocked(a, cpu, BlockReason::Uninterruptible));
        on(30, Event::switched(cpu, Some(a), false, Some(b)));
        on(50, Event::woken(a, cpu, Waker::Task { task: b, cpu, sync: false }));
        on(52, Event::switched(cpu, Some(b), true, Some(a)));
        // b gets the CPU for no time, and continues to wait.
        on(60, Event::switched(cpu, Some(a), true, Some(b)));
        on(60, Event::switched(cpu, Some(b), true, Some(a)));
        on(64, Event::Killed { task: c });
        on(70, Event::switched(cpu, Some(a), true, Some(b)));
        on(80, Event::Finished);
        let history = recorder.into_history();
        let rows: Vec<_> = history
            .turns
            .list()
            .iter()
            .map(|t| (t.task, t.start_ns, t.end_ns, t.wait_ns, t.cause, t.end))
            .collect();
        let asleep = IntervalEnd::Blocked(BlockReason::Uninterruptible);
        assert_eq!(
            rows,
            [
                (a, 0, 30, 0, RunnableCause::Started, asleep),
                (b, 30, 52, 20, RunnableCause::Started, IntervalEnd::Runnable),
                // Interrupted for no time at 60, so one interval.
                (a, 52, 70, 2, RunnableCause::Task(b), IntervalEnd::Runnable),
                (b, 70, 80, 18, RunnableCause::Runnable, IntervalEnd::Finished),
            ]
        );
        let waits: Vec<_> = history.waits.iter().map(|w| (w.task, w.length_ns(), w.open)).collect();
        assert_eq!(
            waits,
            [(c, 49, true), (b, 20, false), (b, 18, false), (a, 10, true), (a, 2, false),]
        );
        let sum = |row: &[u64]| row.iter().sum::<u64>();
        let of_tasks: Vec<u64> = history.buckets.tasks.rows().map(sum).collect();
        assert_eq!(of_tasks, [48, 32]);
        assert_eq!(sum(&history.buckets.switches), 6);
        // a 0-30 and 50-80, b 10-80, c 15-64.
        assert_eq!(sum(&history.buckets.runnable_ns), 60 + 70 + 49);
        assert_eq!(history.buckets.runnable_max.iter().max(), Some(&3));
        assert_eq!((history.cpus, history.end_ns), (2, 80));
    }

    /// One CPU, two equal tasks: the waiting task is owed half the time that passes, although it
    /// does not switch itself.
    #[test]
    fn who_waits_is_owed_more_and_more() {
        let weights = crate::fairness::Weights::new(&[1024; 40], 3);
        let fairness = Fairness::new(1, weights, &[], 3);
        let mut recorder = Recorder::new(1, 100, Some(fairness));
        let (cpu, attr) = (CpuId(0), schedlab_core::TaskAttr::default());
        for task in 0..2 {
            recorder.on(0, Event::Born { task: TaskId(task), parent: None, attr: &attr });
            recorder.on(0, Event::started(TaskId(task), cpu));
        }
        recorder.on(0, Event::switched(cpu, None, false, Some(TaskId(0))));
        // Idle for no time: the first task is sampled, and with it the second.
        for at in [512, 1024] {
            recorder.on(at, Event::switched(cpu, Some(TaskId(0)), true, None));
            recorder.on(at, Event::switched(cpu, None, false, Some(TaskId(0))));
        }
        recorder.on(1100, Event::Finished);
        let history = recorder.into_history();
        assert!(history.has_lags);
        assert_eq!(history.buckets.owed_max_ns.iter().max(), Some(&512));
        assert_eq!(history.buckets.ahead_max_ns.iter().max(), Some(&512));
    }

    #[test]
    fn the_longest_waits_are_kept_of_any_number() {
        let mut recorder = Recorder::new(1, 100, None);
        let (a, b, cpu) = (TaskId(0), TaskId(1), CpuId(0));
        recorder.on(0, Event::started(a, cpu));
        recorder.on(0, Event::started(b, cpu));
        let (mut at, mut who) = (0, (a, b));
        for turn in 1..1000 {
            recorder.on(at, Event::switched(cpu, Some(who.1), true, Some(who.0)));
            at += turn * 7919 % 1009;
            who = (who.1, who.0);
        }
        recorder.on(at, Event::Finished);
        let history = recorder.into_history();
        let mut all: Vec<u64> = (1..1000).map(|turn| turn * 7919 % 1009).collect();
        all.sort_unstable();
        all.reverse();
        let kept: Vec<u64> = history.waits.iter().map(Wait::length_ns).collect();
        assert_eq!(kept, all[..WAITS_KEPT]);
        assert!(history.turns.list().len() <= 100 && history.turns.count() == 999);
    }
}
