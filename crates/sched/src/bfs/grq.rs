//! The global runqueue: one queue for the whole machine.
//!
//! The kernel keeps a linked list and a bit for each of 103 levels. Here the same order is kept in
//! another form. Real-time levels are linked lists, since only their heads matter. The levels that
//! are searched for the earliest deadline are arrays of deadlines, in the list's order, with a hole
//! where a task was removed. The search is the same O(queued tasks) walk, but it runs over
//! consecutive memory and reads a task's own record only when its bare deadline beats the best
//! found so far. (The offset for distance or stickiness that is added to a deadline is never
//! negative, so no other task can win.)

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use schedlab_core::index::TypedIndex;
use schedlab_core::{TaskId, TaskTable, define_index};

/// The level of `SCHED_NORMAL` and `SCHED_BATCH`.
pub(super) const NORMAL_PRIO: u8 = 101;
/// The level of `SCHED_IDLEPRIO`.
pub(super) const IDLE_PRIO: u8 = 102;
/// One more than the worst level: that of an idle CPU.
pub(super) const PRIO_LIMIT: u8 = 103;
/// Levels below this one are real-time.
pub(super) const MAX_RT_PRIO: u8 = 100;

/// The deadline of a hole: later than every other.
const HOLE: i64 = i64::MAX;

define_index! {
    /// A link to a task in the list of a real-time level.
    struct Link;
}

impl Link {
    #[inline]
    fn to(task: TaskId) -> Link {
        Link::new(task.index())
    }

    #[inline]
    fn task(self) -> TaskId {
        TaskId(self.index() as u32)
    }
}

define_index! {
    /// A slot in the array of a level that is searched by deadline.
    struct Slot;
}

/// The position of a task in the queue.
#[derive(Clone, Copy, Debug, Default)]
enum Place {
    #[default]
    NotQueued,
    /// In the list of a real-time level, between two neighbours.
    Realtime { level: u8, prev: Option<Link>, next: Option<Link> },
    /// In the array of a level that is searched by deadline.
    Timed { level: u8, slot: Slot },
}

/// A real-time level.
#[derive(Clone, Copy, Debug, Default)]
struct List {
    head: Option<Link>,
    tail: Option<Link>,
}

/// A level that is searched by deadline: two columns in the order of the list.
#[derive(Debug, Default)]
struct DeadlineList {
    deadlines: Vec<i64>,
    tasks: Vec<TaskId>,
    /// All slots before this one are holes.
    first: usize,
    holes: usize,
}

/// All runnable tasks that do not hold a CPU.
#[derive(Debug)]
pub(super) struct GlobalQueue {
    /// Bit l: level l has tasks.
    bitmap: u128,
    realtime: Vec<List>,
    /// The levels 101 and 102. (100 is that of `SCHED_ISO`, a policy that no task has here.)
    timed: [DeadlineList; 2],
    places: TaskTable<Place>,
    qnr: u32,
}

impl GlobalQueue {
    pub(super) fn new() -> GlobalQueue {
        GlobalQueue {
            bitmap: 0,
            realtime: alloc::vec![List::default(); MAX_RT_PRIO as usize],
            timed: [DeadlineList::default(), DeadlineList::default()],
            places: TaskTable::new(),
            qnr: 0,
        }
    }

    /// Makes room for a new task, so that queueing never has to allocate.
    pub(super) fn admit(&mut self, task: TaskId) {
        self.places.insert(task, Place::default());
        // Twice the number of tasks: see `compact`.
        let room = 2 * self.places.len() + 64;
        for list in &mut self.timed {
            list.deadlines.reserve(room.saturating_sub(list.deadlines.len()));
            list.tasks.reserve(room.saturating_sub(list.tasks.len()));
        }
    }

    /// `qnr`: returns the number of queued tasks.
    #[inline]
    pub(super) fn qnr(&self) -> u32 {
        self.qnr
    }

    #[inline]
    pub(super) fn is_queued(&self, task: TaskId) -> bool {
        !matches!(self.places[task], Place::NotQueued)
    }

    /// Returns the best level from `from` on that has tasks.
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
            let list = &mut self.realtime[usize::from(level)];
            let prev = list.tail.replace(Link::to(task));
            match prev {
                None => list.head = list.tail,
                Some(prev) => *self.next_of(prev) = Some(Link::to(task)),
            }
            self.places[task] = Place::Realtime { level, prev, next: None };
            return;
        }
        let list = &mut self.timed[timed_index(level)];
        if list.holes > 16 && list.holes * 2 > list.deadlines.len() {
            list.compact(level, &mut self.places);
        }
        self.places[task] = Place::Timed { level, slot: Slot::new(list.deadlines.len()) };
        list.deadlines.push(deadline);
        list.tasks.push(task);
    }

    /// Removes `task`.
    pub(super) fn remove(&mut self, task: TaskId) {
        let (level, is_empty) = match core::mem::take(&mut self.places[task]) {
            Place::NotQueued => unreachable!("task {} is not queued", task.0),
            Place::Realtime { level, prev, next } => {
                match prev {
                    None => self.realtime[usize::from(level)].head = next,
                    Some(prev) => *self.next_of(prev) = next,
                }
                match next {
                    None => self.realtime[usize::from(level)].tail = prev,
                    Some(next) => *self.prev_of(next) = prev,
                }
                (level, self.realtime[usize::from(level)].head.is_none())
            }
            Place::Timed { level, slot } => {
                let list = &mut self.timed[timed_index(level)];
                list.dig(slot);
                (level, list.deadlines.is_empty())
            }
        };
        self.qnr -= 1;
        if is_empty {
            self.bitmap &= !(1 << level);
        }
    }

    /// Returns the link from a queued real-time task to the one behind it.
    fn next_of(&mut self, link: Link) -> &mut Option<Link> {
        match &mut self.places[link.task()] {
            Place::Realtime { next, .. } => next,
            place => unreachable!("{link:?} is linked but its place is {place:?}"),
        }
    }

    /// Returns the link from a queued real-time task to the one before it.
    fn prev_of(&mut self, link: Link) -> &mut Option<Link> {
        match &mut self.places[link.task()] {
            Place::Realtime { prev, .. } => prev,
            place => unreachable!("{link:?} is linked but its place is {place:?}"),
        }
    }

    /// Returns the tasks of a real-time level, from head to tail.
    fn realtime_tasks(&self, level: u8) -> impl Iterator<Item = TaskId> + '_ {
        let head = self.realtime[usize::from(level)].head;
        core::iter::successors(head, |link| match self.places[link.task()] {
            Place::Realtime { next, .. } => next,
            _ => None,
        })
        .map(Link::task)
    }

    /// Calls `each` for every task of a level, from head to tail.
    pub(super) fn for_each(&self, level: u8, mut each: impl FnMut(TaskId)) {
        if level < MAX_RT_PRIO {
            self.realtime_tasks(level).for_each(each);
            return;
        }
        let list = &self.timed[timed_index(level)];
        for (&deadline, &task) in list.deadlines.iter().zip(&list.tasks) {
            if deadline != HOLE {
                each(task);
            }
        }
    }

    /// Returns the first task of a real-time level for which `may_run` holds.
    pub(super) fn first(&self, level: u8, may_run: impl Fn(TaskId) -> bool) -> Option<TaskId> {
        self.realtime_tasks(level).find(|&task| may_run(task))
    }

    /// Returns the task of a timed level with the earliest effective deadline, the first in the
    /// list among equals, and that deadline. But the first task whose effective deadline is before
    /// `overdue` is taken at once. `effective` adds the cost of a task's distance, at least 0, to
    /// its deadline. `None`: the task may not run there.
    pub(super) fn earliest(
        &self,
        level: u8,
        overdue: i64,
        effective: impl Fn(TaskId, i64) -> Option<i64>,
    ) -> Option<(i64, TaskId)> {
        let list = &self.timed[timed_index(level)];
        let mut earliest = HOLE;
        let mut found = None;
        for (&deadline, &task) in list.deadlines[list.first..].iter().zip(&list.tasks[list.first..])
        {
            if deadline < earliest
                && let Some(deadline) = effective(task, deadline)
                && deadline < earliest
            {
                earliest = deadline;
                found = Some(task);
                if deadline < overdue {
                    break;
                }
            }
        }
        found.map(|task| (earliest, task))
    }

    /// Checks counts, bits and places against each other.
    pub(super) fn audit(&self) -> Result<(), String> {
        let mut queued = 0;
        for level in 0..MAX_RT_PRIO {
            self.audit_bit(level, self.realtime[usize::from(level)].head.is_none())?;
            for task in self.realtime_tasks(level) {
                queued += 1;
                let here =
                    matches!(self.places[task], Place::Realtime { level: of, .. } if of == level);
                if !here || queued > self.qnr {
                    return Err(format!("level {level}: its list is damaged at task {}", task.0));
                }
            }
        }
        for level in [NORMAL_PRIO, IDLE_PRIO] {
            let list = &self.timed[timed_index(level)];
            self.audit_bit(level, list.deadlines.is_empty())?;
            let mut holes = 0;
            for (index, (&deadline, &task)) in list.deadlines.iter().zip(&list.tasks).enumerate() {
                if deadline == HOLE {
                    holes += 1;
                    continue;
                }
                match self.places[task] {
                    Place::Timed { level: of, slot } if of == level && slot.index() == index => {
                        queued += 1;
                    }
                    place => {
                        return Err(format!(
                            "level {level}: task {} is in slot {index}, its place is {place:?}",
                            task.0
                        ));
                    }
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

    fn audit_bit(&self, level: u8, is_empty: bool) -> Result<(), String> {
        let marked = self.bitmap >> level & 1 == 1;
        if marked == is_empty {
            return Err(format!("level {level}: its bit is {marked}, but it is empty: {is_empty}"));
        }
        Ok(())
    }
}

#[inline]
fn timed_index(level: u8) -> usize {
    usize::from(level - NORMAL_PRIO)
}

impl DeadlineList {
    /// Turns `slot` into a hole.
    fn dig(&mut self, slot: Slot) {
        let index = slot.index();
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

    /// Closes the holes. Done when they are more than half of the slots, so it costs O(1) for each
    /// task that was ever queued, and the array never grows beyond twice the number of tasks (and a
    /// few more).
    fn compact(&mut self, level: u8, places: &mut TaskTable<Place>) {
        let mut to = 0;
        for from in self.first..self.deadlines.len() {
            if self.deadlines[from] != HOLE {
                self.deadlines[to] = self.deadlines[from];
                self.tasks[to] = self.tasks[from];
                places[self.tasks[to]] = Place::Timed { level, slot: Slot::new(to) };
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
        assert_eq!(earliest(&queue), Some((7, TaskId(0))));
        queue.remove(TaskId(0));
        queue.push(TaskId(0), NORMAL_PRIO, 7);
        assert_eq!(earliest(&queue), Some((7, TaskId(1))), "it moved to the tail");
    }

    #[test]
    fn the_first_overdue_task_is_taken_though_a_later_one_is_earlier() {
        let mut queue = queue(3);
        for (task, deadline) in [(0, 9), (1, 4), (2, 3)] {
            queue.push(TaskId(task), NORMAL_PRIO, deadline);
        }
        let earliest = |overdue| queue.earliest(NORMAL_PRIO, overdue, |_, deadline| Some(deadline));
        assert_eq!(earliest(5), Some((4, TaskId(1))));
        assert_eq!(earliest(4), Some((3, TaskId(2))), "before, not at");
    }

    #[test]
    fn order_survives_holes_and_their_closing() {
        let mut queue = queue(100);
        let mut model: Vec<u32> = Vec::new();
        // An order of insertions and removals that leaves holes everywhere.
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
            assert_eq!(first.map(|(_, task)| task.0), model.first().copied());
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

    #[test]
    fn the_audit_finds_what_does_not_add_up() {
        let good = || {
            let mut good = queue(4);
            good.push(TaskId(0), NORMAL_PRIO, 7);
            good.push(TaskId(1), NORMAL_PRIO, 8);
            good.push(TaskId(2), IDLE_PRIO, 9);
            good.push(TaskId(3), 50, 0);
            good
        };
        assert_eq!(good().audit(), Ok(()));
        let at = |level, slot| Place::Timed { level, slot: Slot::new(slot) };
        let corruptions: [&dyn Fn(&mut GlobalQueue); 8] = [
            &|queue| queue.places[TaskId(1)] = at(NORMAL_PRIO, 0),
            &|queue| queue.places[TaskId(1)] = at(IDLE_PRIO, 1),
            &|queue| queue.places[TaskId(1)] = Place::NotQueued,
            &|queue| {
                queue.places[TaskId(3)] = Place::Realtime { level: 51, prev: None, next: None };
            },
            &|queue| queue.qnr += 1,
            &|queue| queue.bitmap |= 1,
            &|queue| queue.bitmap &= !(1 << 50),
            &|queue| queue.timed[0].holes += 1,
        ];
        for (number, corrupt) in corruptions.iter().enumerate() {
            let mut wrong = good();
            corrupt(&mut wrong);
            assert!(wrong.audit().is_err(), "corruption {number}");
        }
    }
}
