//! The one queue of the whole machine.
//!
//! The kernel keeps a linked list and a bit for each of 103 levels. We keep the same order in
//! another form. Real-time levels are linked lists, since only their heads matter. The levels that
//! are searched for the earliest deadline are arrays of deadlines, in the list's order, with a hole
//! where a task was taken out: the search is the same O(queued tasks) walk, but it runs over
//! consecutive memory and looks at a task's own record only when the bare deadline beats the best
//! found so far. (What is added to a deadline for distance or stickiness is never negative, so
//! nothing else can win.)

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use schedlab_core::{TaskId, TaskTable};

/// The level of `SCHED_NORMAL` and `SCHED_BATCH`.
pub(super) const NORMAL_PRIO: u8 = 101;
/// The level of `SCHED_IDLEPRIO`.
pub(super) const IDLE_PRIO: u8 = 102;
/// One more than the worst level: that of a CPU that idles.
pub(super) const PRIO_LIMIT: u8 = 103;
/// Levels below this one are real-time.
pub(super) const MAX_RT_PRIO: u8 = 100;

const NONE: u32 = u32::MAX;
/// The deadline of a hole: later than every other.
const HOLE: i64 = i64::MAX;

/// Where a task stands in the queue.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Its level; [`PRIO_LIMIT`] = not queued.
    level: u8,
    /// Real time: the task after it. Otherwise: its index in the level's array.
    next: u32,
    /// Real time: the task before it.
    prev: u32,
}

impl Default for Place {
    fn default() -> Self {
        Place { level: PRIO_LIMIT, next: NONE, prev: NONE }
    }
}

/// A real-time level.
#[derive(Clone, Copy, Debug)]
struct List {
    head: u32,
    tail: u32,
}

/// A level that is searched by deadline: two columns in the order of the list.
#[derive(Debug, Default)]
struct DeadlineList {
    deadlines: Vec<i64>,
    tasks: Vec<u32>,
    /// Everything before this is a hole.
    first: usize,
    holes: usize,
}

/// All runnable tasks that hold no CPU.
#[derive(Debug)]
pub(super) struct GlobalQueue {
    /// Bit l: level l has tasks.
    bitmap: u128,
    realtime: Vec<List>,
    /// The levels 101 and 102. (100 is that of `SCHED_ISO`, which nobody can ask for here.)
    timed: [DeadlineList; 2],
    places: TaskTable<Place>,
    qnr: u32,
}

impl GlobalQueue {
    pub(super) fn new() -> GlobalQueue {
        GlobalQueue {
            bitmap: 0,
            realtime: alloc::vec![List { head: NONE, tail: NONE }; MAX_RT_PRIO as usize],
            timed: [DeadlineList::default(), DeadlineList::default()],
            places: TaskTable::new(),
            qnr: 0,
        }
    }

    /// Makes room for a new task, so that queueing never has to.
    pub(super) fn admit(&mut self, task: TaskId) {
        self.places.insert(task, Place::default());
        // Twice as many as there are tasks: see `compact`.
        let room = 2 * self.places.len() + 64;
        for list in &mut self.timed {
            list.deadlines.reserve(room.saturating_sub(list.deadlines.len()));
            list.tasks.reserve(room.saturating_sub(list.tasks.len()));
        }
    }

    /// `qnr`: how many tasks are queued.
    #[inline]
    pub(super) fn qnr(&self) -> u32 {
        self.qnr
    }

    #[inline]
    pub(super) fn is_queued(&self, task: TaskId) -> bool {
        self.places[task].level != PRIO_LIMIT
    }

    /// The best level from `from` on that has tasks.
    #[inline]
    pub(super) fn level_from(&self, from: u8) -> Option<u8> {
        let rest = self.bitmap & (u128::MAX << from);
        (rest != 0).then(|| rest.trailing_zeros() as u8)
    }

    /// Puts `task` at the tail of `level`.
    pub(super) fn push(&mut self, task: TaskId, level: u8, deadline: i64) {
        debug_assert!(!self.is_queued(task));
        self.bitmap |= 1 << level;
        self.qnr += 1;
        if level < MAX_RT_PRIO {
            let prev = core::mem::replace(&mut self.realtime[level as usize].tail, task.0);
            match prev {
                NONE => self.realtime[level as usize].head = task.0,
                prev => self.places[TaskId(prev)].next = task.0,
            }
            self.places[task] = Place { level, next: NONE, prev };
            return;
        }
        let list = &mut self.timed[timed_index(level)];
        if list.holes > 16 && list.holes * 2 > list.deadlines.len() {
            list.compact(&mut self.places);
        }
        self.places[task] = Place { level, next: list.deadlines.len() as u32, prev: NONE };
        list.deadlines.push(deadline);
        list.tasks.push(task.0);
    }

    /// Takes `task` out.
    pub(super) fn remove(&mut self, task: TaskId) {
        let Place { level, next, prev } = core::mem::take(&mut self.places[task]);
        debug_assert!(level != PRIO_LIMIT);
        self.qnr -= 1;
        let empty = if level < MAX_RT_PRIO {
            match prev {
                NONE => self.realtime[level as usize].head = next,
                prev => self.places[TaskId(prev)].next = next,
            }
            match next {
                NONE => self.realtime[level as usize].tail = prev,
                next => self.places[TaskId(next)].prev = prev,
            }
            self.realtime[level as usize].head == NONE
        } else {
            let list = &mut self.timed[timed_index(level)];
            list.dig(next as usize);
            list.deadlines.is_empty()
        };
        if empty {
            self.bitmap &= !(1 << level);
        }
    }

    /// The first task of a real-time level that `may_run`.
    pub(super) fn first(&self, level: u8, may_run: impl Fn(TaskId) -> bool) -> Option<TaskId> {
        let mut at = self.realtime[level as usize].head;
        while at != NONE {
            if may_run(TaskId(at)) {
                return Some(TaskId(at));
            }
            at = self.places[TaskId(at)].next;
        }
        None
    }

    /// The task of a timed level with the earliest effective deadline, the first in the list among
    /// equals; but the first that is effectively before `overdue` is taken at once. `effective`
    /// adds what a task's distance costs, at least 0, to its deadline; none = it may not run there.
    pub(super) fn earliest(
        &self,
        level: u8,
        overdue: i64,
        effective: impl Fn(TaskId, i64) -> Option<i64>,
    ) -> Option<TaskId> {
        let list = &self.timed[timed_index(level)];
        let mut earliest = HOLE;
        let mut found = None;
        for (&deadline, &task) in list.deadlines[list.first..].iter().zip(&list.tasks[list.first..])
        {
            if deadline < earliest
                && let Some(deadline) = effective(TaskId(task), deadline)
                && deadline < earliest
            {
                earliest = deadline;
                found = Some(TaskId(task));
                if deadline < overdue {
                    break;
                }
            }
        }
        found
    }

    /// Checks counts, bits and places against each other.
    pub(super) fn audit(&self) -> Result<(), String> {
        let mut queued = 0;
        for (level, list) in self.realtime.iter().enumerate() {
            let mut at = list.head;
            if (at != NONE) != (self.bitmap >> level & 1 == 1) {
                return Err(format!("level {level}: the bit does not say whether it has tasks"));
            }
            while at != NONE {
                queued += 1;
                if usize::from(self.places[TaskId(at)].level) != level || queued > self.qnr {
                    return Err(format!("level {level}: its list is damaged at task {at}"));
                }
                at = self.places[TaskId(at)].next;
            }
        }
        for level in [NORMAL_PRIO, IDLE_PRIO] {
            let list = &self.timed[timed_index(level)];
            if list.deadlines.is_empty() == (self.bitmap >> level & 1 == 1) {
                return Err(format!("level {level}: the bit does not say whether it has tasks"));
            }
            let mut holes = 0;
            for (index, (&deadline, &task)) in list.deadlines.iter().zip(&list.tasks).enumerate() {
                if deadline == HOLE {
                    holes += 1;
                } else if self.places[TaskId(task)].level != level
                    || self.places[TaskId(task)].next as usize != index
                {
                    return Err(format!("level {level}: task {task} is not where its place says"));
                } else {
                    queued += 1;
                }
            }
            if holes != list.holes {
                return Err(format!("level {level}: {holes} holes, counted {}", list.holes));
            }
        }
        if queued != self.qnr {
            return Err(format!("qnr is {}, but {queued} tasks are queued", self.qnr));
        }
        Ok(())
    }
}

#[inline]
fn timed_index(level: u8) -> usize {
    usize::from(level - NORMAL_PRIO)
}

impl DeadlineList {
    /// Leaves a hole at `index`.
    fn dig(&mut self, index: usize) {
        self.deadlines[index] = HOLE;
        self.holes += 1;
        if self.holes == self.deadlines.len() {
            self.deadlines.clear();
            self.tasks.clear();
            self.first = 0;
            self.holes = 0;
        } else if index == self.first {
            while self.deadlines[self.first] == HOLE {
                self.first += 1;
            }
        }
    }

    /// Closes the holes. Done when they are more than half, so it costs O(1) for each task that was
    /// ever queued, and the array never grows beyond twice the number of tasks (and a few).
    fn compact(&mut self, places: &mut TaskTable<Place>) {
        let mut to = 0;
        for from in self.first..self.deadlines.len() {
            if self.deadlines[from] != HOLE {
                self.deadlines[to] = self.deadlines[from];
                self.tasks[to] = self.tasks[from];
                places[TaskId(self.tasks[to])].next = to as u32;
                to += 1;
            }
        }
        self.deadlines.truncate(to);
        self.tasks.truncate(to);
        self.first = 0;
        self.holes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(tasks: u32) -> GlobalQueue {
        let mut queue = GlobalQueue::new();
        for task in 0..tasks {
            queue.admit(TaskId(task));
        }
        queue
    }

    #[test]
    fn the_first_of_equal_deadlines_is_found() {
        let mut queue = queue(3);
        for (task, deadline) in [(2, 8), (0, 7), (1, 7)] {
            queue.push(TaskId(task), NORMAL_PRIO, deadline);
        }
        let earliest = |queue: &GlobalQueue| {
            queue.earliest(NORMAL_PRIO, i64::MIN, |_, deadline| Some(deadline))
        };
        assert_eq!(earliest(&queue), Some(TaskId(0)));
        queue.remove(TaskId(0));
        queue.push(TaskId(0), NORMAL_PRIO, 7);
        assert_eq!(earliest(&queue), Some(TaskId(1)), "it went to the tail");
    }

    #[test]
    fn the_first_overdue_task_is_taken_though_a_later_one_is_earlier() {
        let mut queue = queue(3);
        for (task, deadline) in [(0, 9), (1, 4), (2, 3)] {
            queue.push(TaskId(task), NORMAL_PRIO, deadline);
        }
        let earliest = |overdue| queue.earliest(NORMAL_PRIO, overdue, |_, deadline| Some(deadline));
        assert_eq!(earliest(5), Some(TaskId(1)));
        assert_eq!(earliest(4), Some(TaskId(2)), "before, not at");
    }

    #[test]
    fn order_survives_holes_and_their_closing() {
        let mut queue = queue(100);
        let mut model: Vec<u32> = Vec::new();
        // Some order of comings and goings that leaves holes everywhere.
        let mut seed = 1_u32;
        for _ in 0..5000 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let task = (seed >> 16) % 100;
            if let Some(at) = model.iter().position(|&other| other == task) {
                model.remove(at);
                queue.remove(TaskId(task));
            } else {
                model.push(task);
                queue.push(TaskId(task), IDLE_PRIO, 5);
            }
            queue.audit().unwrap();
            let first = queue.earliest(IDLE_PRIO, i64::MIN, |_, deadline| Some(deadline));
            assert_eq!(first.map(|task| task.0), model.first().copied());
        }
    }

    #[test]
    fn a_real_time_level_is_first_in_first_out_among_those_who_may() {
        let mut queue = queue(4);
        for task in [3, 1, 2] {
            queue.push(TaskId(task), 40, 0);
        }
        assert_eq!(queue.first(40, |_| true), Some(TaskId(3)));
        assert_eq!(queue.first(40, |task| task.0 < 3), Some(TaskId(1)));
        queue.remove(TaskId(1));
        queue.audit().unwrap();
        assert_eq!(queue.first(40, |task| task.0 < 3), Some(TaskId(2)));
        assert_eq!(queue.first(40, |task| task.0 > 3), None);
    }
}
