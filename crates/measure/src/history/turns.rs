//! Turns on a CPU, and how there come to be fewer of them: [`Turn`], [`Turns`].

use super::Came;
use schedlab_core::{BlockReason, CpuId, Rule, TaskId};

/// How a turn ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Left {
    /// The task was still runnable: it was preempted, or it yielded.
    Runnable,
    /// It went to sleep, was stopped, or ended.
    Blocked(BlockReason),
    /// The run was over.
    Finished,
}

impl Left {
    /// As a number, for files: 0 still runnable, 1 asleep, 2 asleep and deaf to signals, 3 stopped,
    /// 4 ended, 5 the run was over.
    pub fn code(self) -> u8 {
        match self {
            Left::Runnable => 0,
            Left::Blocked(BlockReason::Interruptible) => 1,
            Left::Blocked(BlockReason::Uninterruptible) => 2,
            Left::Blocked(BlockReason::Stopped) => 3,
            Left::Blocked(BlockReason::Dead) => 4,
            Left::Finished => 5,
        }
    }
}

/// A stretch of time that a task had a CPU; or several such, put together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Turn {
    /// Where.
    pub cpu: CpuId,
    /// Who. Of several: one that had at least `task_ns` of it.
    pub task: TaskId,
    /// From, ns.
    pub start_ns: u64,
    /// To, ns; later than `start_ns`.
    pub end_ns: u64,
    /// Time that tasks had the CPU; less than the whole if there were gaps between several.
    pub busy_ns: u64,
    /// How much of it `task` had, at least. All of it, of a turn that is one.
    pub task_ns: u64,
    /// How many turns there were; more than 1: what follows is of the first.
    pub count: u32,
    /// How long the task had been runnable before it.
    pub wait_ns: u64,
    /// Why it was runnable.
    pub came: Came,
    /// By which rule it was picked.
    pub why: Rule,
    /// If it was woken or new: by which rule its CPU was chosen ...
    pub placed: Rule,
    /// ... and by which it preempted who ran there, or did not.
    pub preempts: Rule,
    /// How it ended.
    pub left: Left,
}

/// Turns in the order in which they began on their CPUs, at most so many.
///
/// If there are more, turns on one CPU that lie together within [`grain_ns`](Turns::grain_ns)
/// become one, and the grain is doubled until half of the room is free. What is longer than the
/// grain always stands for itself, no CPU is ever shown busy for longer than it was, and nothing is
/// left out.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    list: Vec<Turn>,
    most: usize,
    grain_ns: u64,
    /// Turns that there were.
    count: u64,
    /// Where in `list` the last turn of each CPU is.
    last: Vec<Option<usize>>,
}

/// The first grain: a microsecond.
const GRAIN_MIN_NS: u64 = 1_000;

impl Turns {
    /// None yet, and never more than `most` (at least two a CPU).
    pub fn new(cpus: u32, most: usize) -> Turns {
        let last = vec![None; cpus as usize];
        Turns { list: vec![], most: most.max(2 * last.len()), grain_ns: 0, count: 0, last }
    }

    /// The turns.
    pub fn list(&self) -> &[Turn] {
        &self.list
    }

    /// How many turns there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Turns of a CPU that lie together within this time are one, ns; 0: all are there.
    pub fn grain_ns(&self) -> u64 {
        self.grain_ns
    }

    /// Adds a turn, not earlier than those before it on its CPU.
    pub fn push(&mut self, turn: Turn) {
        self.count += 1;
        if let Some(last) = self.last[turn.cpu.index()] {
            let last = &mut self.list[last];
            let goes_on = turn.came == Came::Runnable
                && turn.wait_ns == 0
                && last.count == 1
                && (last.task, last.end_ns, last.left)
                    == (turn.task, turn.start_ns, Left::Runnable);
            if goes_on {
                // It lost the CPU for no time.
                self.count -= 1;
                last.end_ns = turn.end_ns;
                last.busy_ns += turn.busy_ns;
                last.task_ns += turn.task_ns;
                last.left = turn.left;
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

    /// Puts turns together until there are at most half as many as there may be.
    fn halve(&mut self) {
        self.thin(self.most / 2);
    }

    /// Puts turns together until there are at most `most` (or one a CPU).
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

    /// Puts them in the order of their starts, then CPUs.
    pub(super) fn sort(&mut self) {
        self.list.sort_unstable_by_key(|turn| (turn.start_ns, turn.cpu));
        for (at, turn) in self.list.iter().enumerate() {
            self.last[turn.cpu.index()] = Some(at);
        }
    }
}

/// Puts `next` to `turn` if both lie within `grain_ns`. Whether they do.
fn merge(turn: &mut Turn, next: &Turn, grain_ns: u64) -> bool {
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
    turn.left = next.left;
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn turn(cpu: u32, task: u32, start_ns: u64, end_ns: u64) -> Turn {
        let length_ns = end_ns - start_ns;
        Turn {
            cpu: CpuId(cpu),
            task: TaskId(task),
            start_ns,
            end_ns,
            busy_ns: length_ns,
            task_ns: length_ns,
            count: 1,
            wait_ns: 1,
            came: Came::Runnable,
            why: Rule::NONE,
            placed: Rule::NONE,
            preempts: Rule::NONE,
            left: Left::Runnable,
        }
    }

    #[test]
    fn short_neighbours_become_one_and_long_turns_stay() {
        let mut turns = Turns::new(1, 8);
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
        let mut turns = Turns::new(1, 10);
        turns.push(turn(0, 3, 0, 5));
        turns.push(Turn { wait_ns: 0, ..turn(0, 3, 5, 9) });
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
            let mut turns = Turns::new(3, most);
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
