//! The queue of a CPU: a list for each level, and a bitmap of the levels that have tasks.
//!
//! The lists of the 32 ordinary levels form a ring. Level 32 is the list at which the ring's start
//! points. With PDS the start moves on by one list for each slot of time, so that all waiting
//! tasks come nearer by a level. With BMQ it never moves.

use super::entity::{Entities, Node};
use super::ranking::{MAX_NORMAL_LEVEL, MIN_NORMAL_LEVEL};

/// Number of levels: 32 of real-time priorities, 32 ordinary ones.
pub(super) const LEVELS: u8 = MAX_NORMAL_LEVEL + 1;
/// Number of ordinary levels.
const RING: u8 = LEVELS - MIN_NORMAL_LEVEL;

/// The first and the last entity of a list.
#[derive(Clone, Copy, Debug)]
struct List {
    head: Node,
    tail: Node,
}

impl List {
    const EMPTY: List = List { head: Node::NONE, tail: Node::NONE };

    /// Appends `other`.
    fn append(&mut self, entities: &mut Entities, other: List) {
        if self.head == Node::NONE {
            *self = other;
        } else if other.head != Node::NONE {
            entities[self.tail].next = other.head;
            entities[other.head].prev = self.tail;
            self.tail = other.tail;
        }
    }
}

/// The queue.
#[derive(Clone, Debug)]
pub(super) struct RunQueue {
    lists: [List; LEVELS as usize],
    /// Levels that have tasks, one bit each.
    bitmap: u64,
    /// The list of level 32, counted from the first of the ring.
    start: u8,
}

impl RunQueue {
    pub(super) const fn new() -> RunQueue {
        RunQueue { lists: [List::EMPTY; LEVELS as usize], bitmap: 0, start: 0 }
    }

    /// The list of a level.
    #[inline]
    fn list_of(&self, level: u8) -> u8 {
        if level < MIN_NORMAL_LEVEL {
            level
        } else {
            MIN_NORMAL_LEVEL + (level - MIN_NORMAL_LEVEL + self.start) % RING
        }
    }

    /// The level of a list.
    #[inline]
    pub(super) fn level_of(&self, list: u8) -> u8 {
        if list < MIN_NORMAL_LEVEL {
            list
        } else {
            MIN_NORMAL_LEVEL + (list - MIN_NORMAL_LEVEL + RING - self.start) % RING
        }
    }

    /// The best level that has tasks; [`LEVELS`], that of the idle task, if there are none.
    #[inline]
    pub(super) fn best_level(&self) -> u8 {
        self.bitmap.trailing_zeros() as u8
    }

    /// Puts `node` at the tail of a level.
    pub(super) fn push(&mut self, entities: &mut Entities, node: Node, level: u8) {
        let number = self.list_of(level);
        let list = &mut self.lists[number as usize];
        let entity = &mut entities[node];
        (entity.list, entity.prev, entity.next) = (number, list.tail, Node::NONE);
        list.append(entities, List { head: node, tail: node });
        self.bitmap |= 1 << level;
    }

    /// Removes `node`.
    pub(super) fn remove(&mut self, entities: &mut Entities, node: Node) {
        let entity = &entities[node];
        let (number, prev, next) = (entity.list, entity.prev, entity.next);
        let list = &mut self.lists[number as usize];
        match prev {
            Node::NONE => list.head = next,
            _ => entities[prev].next = next,
        }
        match next {
            Node::NONE => list.tail = prev,
            _ => entities[next].prev = prev,
        }
        if list.head == Node::NONE {
            self.bitmap &= !(1 << self.level_of(number));
        }
    }

    /// Moves `node`, which is queued, to the head of its list.
    pub(super) fn move_to_head(&mut self, entities: &mut Entities, node: Node) {
        let number = entities[node].list;
        self.remove(entities, node);
        (entities[node].prev, entities[node].next) = (Node::NONE, Node::NONE);
        let mut list = List { head: node, tail: node };
        list.append(entities, self.lists[number as usize]);
        self.lists[number as usize] = list;
        self.bitmap |= 1 << self.level_of(number);
    }

    /// Whether `node`, which is queued, is the last of this level.
    pub(super) fn is_last(&self, node: Node, level: u8) -> bool {
        self.lists[self.list_of(level) as usize].tail == node
    }

    /// `sched_rq_first_task`: the first entity of the best level.
    #[inline]
    pub(super) fn first(&self) -> Option<Node> {
        self.first_from(0)
    }

    /// The first entity of the best level from `level` on.
    #[inline]
    fn first_from(&self, level: u8) -> Option<Node> {
        let from = u64::MAX.checked_shl(level.into()).unwrap_or(0);
        let best = (self.bitmap & from).trailing_zeros() as u8;
        (best < LEVELS).then(|| self.lists[self.list_of(best) as usize].head)
    }

    /// `sched_rq_next_task`: the entity behind `node`, or else the first of the next level that has
    /// any.
    #[inline]
    pub(super) fn next(&self, entities: &Entities, node: Node) -> Option<Node> {
        match entities[node].next {
            Node::NONE => self.first_from(self.level_of(entities[node].list) + 1),
            next => Some(next),
        }
    }

    /// Moves the start of the ring on by a number of slots. Tasks that fall due, level by level,
    /// come before those that were due already.
    pub(super) fn advance(&mut self, entities: &mut Entities, slots: u64) {
        let first = self.start;
        self.start = ((u64::from(first) + slots) % u64::from(RING)) as u8;
        let ordinary = (self.bitmap >> MIN_NORMAL_LEVEL) as u32;
        if ordinary == 0 {
            return;
        }
        let due = slots.min(RING.into()) as u8;
        let new_first = MIN_NORMAL_LEVEL + self.start;
        let mut chain = List::EMPTY;
        for step in (0..due).filter(|step| ordinary >> step & 1 == 1) {
            let number = MIN_NORMAL_LEVEL + (first + step) % RING;
            let list = core::mem::replace(&mut self.lists[number as usize], List::EMPTY);
            let mut node = list.head;
            while node != Node::NONE {
                entities[node].list = new_first;
                node = entities[node].next;
            }
            chain.append(entities, list);
        }
        let mut rest = ordinary.checked_shr(due.into()).unwrap_or(0);
        if chain.head != Node::NONE {
            let list = self.lists[new_first as usize];
            chain.append(entities, list);
            self.lists[new_first as usize] = chain;
            rest |= 1;
        }
        let real_time = self.bitmap & ((1 << MIN_NORMAL_LEVEL) - 1);
        self.bitmap = u64::from(rest) << MIN_NORMAL_LEVEL | real_time;
    }

    /// Calls `visit` with all entities in the order in which they would run, with their levels.
    pub(super) fn for_each(&self, entities: &Entities, mut visit: impl FnMut(Node, u8)) {
        let mut at = self.first();
        while let Some(node) = at {
            visit(node, self.level_of(entities[node].list));
            at = self.next(entities, node);
        }
    }

    /// Levels that have tasks, one bit each.
    pub(super) fn bitmap(&self) -> u64 {
        self.bitmap
    }
}

#[cfg(test)]
mod tests {
    use super::super::entity::Entity;
    use super::*;
    use alloc::vec::Vec;
    use schedlab_core::TaskId;

    /// A queue with a task on each of `levels`.
    fn queue(levels: &[u8]) -> (RunQueue, Entities) {
        let mut entities = Entities::new(1);
        let mut queue = RunQueue::new();
        for (number, &level) in levels.iter().enumerate() {
            let node = entities.insert(TaskId(number as u32), Entity::default());
            queue.push(&mut entities, node, level);
        }
        (queue, entities)
    }

    /// The tasks in order, with their levels.
    fn order(queue: &RunQueue, entities: &Entities) -> Vec<(u32, u8)> {
        let mut order = Vec::new();
        queue.for_each(entities, |node, level| {
            order.push((entities.task(node).map_or(99, |task| task.0), level));
        });
        order
    }

    #[test]
    fn levels_come_in_order_and_tasks_of_one_in_order_of_arrival() {
        let (mut queue, mut entities) = queue(&[40, 33, 40, 7, 63]);
        assert_eq!(order(&queue, &entities), [(3, 7), (1, 33), (0, 40), (2, 40), (4, 63)]);
        let [first, real_time] = [0, 3].map(|task| entities.node(TaskId(task)));
        assert!(queue.is_last(entities.node(TaskId(2)), 40) && !queue.is_last(first, 40));
        queue.remove(&mut entities, first);
        queue.remove(&mut entities, real_time);
        assert_eq!(order(&queue, &entities), [(1, 33), (2, 40), (4, 63)]);
        assert_eq!(queue.best_level(), 33);
    }

    #[test]
    fn what_falls_due_comes_before_what_was_due_already() {
        let (mut queue, mut entities) = queue(&[34, 32, 33, 35, 36, 3]);
        queue.advance(&mut entities, 2);
        // The lists of levels 32 and 33, then what was on level 34. Real-time levels stay.
        let due = [(5, 3), (1, 32), (2, 32), (0, 32), (3, 33), (4, 34)];
        assert_eq!(order(&queue, &entities), due);
        let late = entities.insert(TaskId(6), Entity::default());
        queue.push(&mut entities, late, 32);
        queue.advance(&mut entities, 1);
        // The list of level 32 again, with the new task; only then what was on level 33.
        let tasks: Vec<u32> = order(&queue, &entities).iter().map(|&(task, _)| task).collect();
        assert_eq!(tasks, [5, 1, 2, 0, 6, 3, 4]);
    }

    #[test]
    fn after_32_slots_all_are_due() {
        for slots in [31, 32, 33, 64, 1000] {
            let (mut queue, mut entities) = queue(&[63, 32, 40]);
            queue.advance(&mut entities, slots);
            assert_eq!(order(&queue, &entities), [(1, 32), (2, 32), (0, 32)], "{slots}");
            assert_eq!(queue.bitmap(), 1 << 32);
            queue.push(&mut entities, Node::stopper(schedlab_core::CpuId(0)), 63);
            assert_eq!(order(&queue, &entities)[3], (99, 63));
        }
    }
}
