//! Intervals of tasks on CPUs, and how they are merged: [`RunInterval`], [`RunIntervals`].

use super::RunnableCause;
use schedlab_core::{BlockReason, CpuId, Rule, TaskId};

/// How an interval ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IntervalEnd {
    /// The task was still runnable: it was preempted, or it yielded.
    Runnable,
    /// The task went to sleep, was stopped, or ended.
    Blocked(BlockReason),
    /// The run ended.
    Finished,
}

impl IntervalEnd {
    /// Returns a number for files: 0 still runnable, 1 asleep, 2 asleep and uninterruptible, 3
    /// stopped, 4 ended, 5 the run ended.
    pub fn code(self) -> u8 {
        match self {
            IntervalEnd::Runnable => 0,
            IntervalEnd::Blocked(BlockReason::Interruptible | BlockReason::Futex) => 1,
            IntervalEnd::Blocked(BlockReason::Uninterruptible) => 2,
            IntervalEnd::Blocked(BlockReason::Stopped) => 3,
            IntervalEnd::Blocked(BlockReason::Dead) => 4,
            IntervalEnd::Finished => 5,
        }
    }
}

/// Period in which a task had a CPU, or several merged ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunInterval {
    /// CPU.
    pub cpu: CpuId,
    /// Task. Of a merged interval: a task that had at least `task_ns` of it.
    pub task: TaskId,
    /// Start, ns.
    pub start_ns: u64,
    /// End, ns; later than `start_ns`.
    pub end_ns: u64,
    /// Time that tasks had the CPU; less than the whole if there are gaps between merged intervals.
    pub busy_ns: u64,
    /// Time that `task` had at least. Equals the whole for a single interval.
    pub task_ns: u64,
    /// Number of merged intervals. If it exceeds 1, the fields below describe the first.
    pub count: u32,
    /// Time that the task had been runnable before it.
    pub wait_ns: u64,
    /// Reason why it was runnable.
    pub cause: RunnableCause,
    /// Rule by which it was picked.
    pub why: Rule,
    /// For a task that was woken or new: the rule by which its CPU was chosen ...
    pub placed: Rule,
    /// ... and the rule by which it preempted the current task there, or did not.
    pub preempts: Rule,
    /// How it ended.
    pub end: IntervalEnd,
}

/// Intervals in the order in which they began on their CPUs, up to a maximum number.
///
/// If there are more, intervals on one CPU that lie together within
/// [`grain_ns`](RunIntervals::grain_ns) are merged, and the grain is doubled until half of the room
/// is free. An interval longer than the grain is never merged, no CPU is ever shown busy for longer
/// than it was, and nothing is left out.
#[derive(Clone, Debug, Default)]
pub struct RunIntervals {
    list: Vec<RunInterval>,
    most: usize,
    grain_ns: u64,
    /// Number of intervals before merging.
    count: u64,
    /// By CPU: the index of its last interval in `list`.
    last: Vec<Option<usize>>,
}

/// Initial grain: one microsecond.
const GRAIN_MIN_NS: u64 = 1_000;

impl RunIntervals {
    /// Creates an empty list of at most `most` intervals (at least two per CPU).
    pub fn new(cpus: u32, most: usize) -> RunIntervals {
        let last = vec![None; cpus as usize];
        RunIntervals { list: vec![], most: most.max(2 * last.len()), grain_ns: 0, count: 0, last }
    }

    /// Returns the intervals.
    pub fn list(&self) -> &[RunInterval] {
        &self.list
    }

    /// Returns the number of intervals before merging.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the time within which intervals of a CPU are merged, ns; `0`: none was merged.
    pub fn grain_ns(&self) -> u64 {
        self.grain_ns
    }

    /// Adds an interval that is not earlier than those before it on its CPU.
    pub fn push(&mut self, turn: RunInterval) {
        self.count += 1;
        if let Some(last) = self.last[turn.cpu.index()] {
            let last = &mut self.list[last];
            let goes_on = turn.cause == RunnableCause::Runnable
                && turn.wait_ns == 0
                && last.count == 1
                && (last.task, last.end_ns, last.end)
                    == (turn.task, turn.start_ns, IntervalEnd::Runnable);
            if goes_on {
                // The task lost the CPU for no time.
                self.count -= 1;
                last.end_ns = turn.end_ns;
                last.busy_ns += turn.busy_ns;
                last.task_ns += turn.task_ns;
                last.end = turn.end;
                return;
            }
            if merge(last, &turn, self.grain_ns) {
                return;
            }
        }
        if self.list.len() >= self.most {
            self.halve();
        }
        self.last[turn.cpu.index()] = Some(self.list.len());
        self.list.push(turn);
    }

    /// Merges intervals until at most half of the maximum are left.
    fn halve(&mut self) {
        self.thin(self.most / 2);
    }

    /// Merges intervals until at most `most` (or one per CPU) are left.
    pub fn thin(&mut self, most: usize) {
        while self.list.len() > most.max(self.last.len()) {
            self.grain_ns = (2 * self.grain_ns).max(GRAIN_MIN_NS);
            self.last.fill(None);
            let mut kept = 0;
            for at in 0..self.list.len() {
                let turn = self.list[at];
                let last = &mut self.last[turn.cpu.index()];
                if let Some(last) = *last
                    && merge(&mut self.list[last], &turn, self.grain_ns)
                {
                    continue;
                }
                *last = Some(kept);
                self.list[kept] = turn;
                kept += 1;
            }
            self.list.truncate(kept);
        }
    }

    /// Sorts the intervals by start, then CPU.
    pub(super) fn sort(&mut self) {
        self.list.sort_unstable_by_key(|turn| (turn.start_ns, turn.cpu));
        for (at, turn) in self.list.iter().enumerate() {
            self.last[turn.cpu.index()] = Some(at);
        }
    }
}

/// Merges `next` into `turn` if both lie within `grain_ns`. Returns whether they do.
fn merge(turn: &mut RunInterval, next: &RunInterval, grain_ns: u64) -> bool {
    if next.end_ns - turn.start_ns > grain_ns {
        return false;
    }
    turn.end_ns = next.end_ns;
    turn.busy_ns += next.busy_ns;
    turn.count = turn.count.saturating_add(next.count);
    if turn.task == next.task {
        turn.task_ns += next.task_ns;
    } else if next.task_ns > turn.task_ns {
        (turn.task, turn.task_ns) = (next.task, next.task_ns);
    }
    turn.end = next.end;
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn turn(cpu: u32, task: u32, start_ns: u64, end_ns: u64) -> RunInterval {
        let length_ns = end_ns - start_ns;
        RunInterval {
            cpu: CpuId(cpu),
            task: TaskId(task),
            start_ns,
            end_ns,
            busy_ns: length_ns,
            task_ns: length_ns,
            count: 1,
            wait_ns: 1,
            cause: RunnableCause::Runnable,
            why: Rule::NONE,
            placed: Rule::NONE,
            preempts: Rule::NONE,
            end: IntervalEnd::Runnable,
        }
    }

    #[test]
    fn short_neighbours_become_one_and_long_turns_stay() {
        let mut turns = RunIntervals::new(1, 8);
        for (task, start_ns, end_ns) in
            [(0, 0, 400), (1, 400, 900), (2, 900, 9_000), (0, 9_000, 9_100), (1, 9_200, 9_300)]
        {
            turns.push(turn(0, task, start_ns, end_ns));
        }
        assert_eq!((turns.grain_ns(), turns.list().len()), (0, 5));
        turns.thin(4);
        assert_eq!((turns.grain_ns(), turns.count()), (1_000, 5));
        let rows: Vec<_> = turns
            .list()
            .iter()
            .map(|t| (t.start_ns, t.end_ns, t.busy_ns, t.task.0, t.task_ns, t.count))
            .collect();
        assert_eq!(
            rows,
            [
                (0, 900, 900, 1, 500, 2),
                (900, 9_000, 8_100, 2, 8_100, 1),
                (9_000, 9_300, 200, 0, 100, 2),
            ]
        );
    }

    #[test]
    fn a_task_that_loses_its_cpu_for_no_time_goes_on() {
        let mut turns = RunIntervals::new(1, 10);
        turns.push(turn(0, 3, 0, 5));
        turns.push(RunInterval { wait_ns: 0, ..turn(0, 3, 5, 9) });
        assert_eq!((turns.count(), turns.list()[0].end_ns, turns.list().len()), (1, 9, 1));
    }

    proptest! {
        #[test]
        fn thinning_loses_no_time_and_no_turn(
            lengths in prop::collection::vec(
                (0u32..3, 0u64..3, 1u64..100_000, 0u64..9_000),
                1..400,
            ),
            most in 8usize..60,
        ) {
            let mut turns = RunIntervals::new(3, most);
            let mut at = [0; 3];
            let mut busy = [0; 3];
            for (cpu, task, length, gap) in lengths.iter().copied() {
                let start = at[cpu as usize] + gap;
                at[cpu as usize] = start + length;
                busy[cpu as usize] += length;
                turns.push(turn(cpu, task as u32, start, start + length));
            }
            turns.thin(most);
            turns.sort();
            prop_assert!(turns.list().len() <= most);
            let mut end = [0; 3];
            let mut kept = [0; 3];
            let mut count = 0;
            for turn in turns.list() {
                let cpu = turn.cpu.index();
                prop_assert!(turn.start_ns >= end[cpu] && turn.end_ns > turn.start_ns);
                prop_assert!(turn.task_ns <= turn.busy_ns);
                prop_assert!(turn.busy_ns <= turn.end_ns - turn.start_ns);
                prop_assert!(turn.count == 1 || turn.end_ns - turn.start_ns <= turns.grain_ns());
                end[cpu] = turn.end_ns;
                kept[cpu] += turn.busy_ns;
                count += u64::from(turn.count);
            }
            prop_assert_eq!(kept, busy);
            prop_assert_eq!(end, at);
            prop_assert_eq!(count, lengths.len() as u64);
        }
    }
}
