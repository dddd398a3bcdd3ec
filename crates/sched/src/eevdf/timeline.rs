//! The tree of waiting entities, and the search in it.
//!
//! From 6.12 on it is ordered by deadline and knows the smallest vruntime below each node, so that
//! "the earliest deadline among the eligible" is found by going down once: a subtree whose smallest
//! vruntime is not eligible has nobody to offer. 6.6 has it the other way round: ordered by
//! vruntime, knowing the earliest deadline. Equal keys: who came later goes right.
//!
//! The tree itself is [`rbtree`](crate::classes::rbtree), whose shape is the kernel's. Two things
//! depend on the shape. In 6.6 the choice among equal deadlines does. And the smallest slice of a
//! subtree, known since 6.12, rides along with the other minimum but is **not handed over when a
//! node takes another's place** (by rotation or deletion), so that for a while it may be too large
//! or too small. With [`Order::exact_slices`] it is handed over too, and always right.

use super::entity::{Entity, NONE, before, earlier};
use crate::classes::rbtree::{Augment, Nodes, Root};

/// What trees are ordered by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Order {
    /// By deadline (6.12 on), not by vruntime (6.6).
    pub by_deadline: bool,
    /// Subtrees' smallest slices are always exact, as they are in no release.
    pub exact_slices: bool,
}

impl Order {
    /// What an entity is ordered by.
    #[inline]
    fn key(self, entity: &Entity) -> u64 {
        if self.by_deadline { entity.deadline } else { entity.vruntime }
    }

    /// What subtrees know the minimum of.
    #[inline]
    fn other(self, entity: &Entity) -> u64 {
        if self.by_deadline { entity.vruntime } else { entity.deadline }
    }
}

/// What subtrees know.
struct Minima<'a> {
    se: &'a mut [Entity],
    order: Order,
}

impl Minima<'_> {
    /// `new` takes the place of `old`: the minimum of what stands there stays what it was.
    #[inline]
    fn hand_over(&mut self, old: u32, new: u32) {
        self.se[new as usize].min_other = self.se[old as usize].min_other;
        if self.order.exact_slices {
            self.se[new as usize].min_slice = self.se[old as usize].min_slice;
        }
    }
}

impl Augment for Minima<'_> {
    /// Both minima anew, from the node itself and its children.
    #[inline]
    fn recompute(&mut self, nodes: &Nodes, node: u32) -> bool {
        let entity = &self.se[node as usize];
        let mut min = self.order.other(entity);
        let mut slice = entity.slice;
        for below in [nodes.left(node), nodes.right(node)] {
            if below != NONE {
                let child = &self.se[below as usize];
                min = earlier(child.min_other, min);
                slice = slice.min(child.min_slice);
            }
        }
        let entity = &mut self.se[node as usize];
        let changed = min != entity.min_other || slice != entity.min_slice;
        entity.min_other = min;
        entity.min_slice = slice;
        changed
    }

    #[inline]
    fn replace(&mut self, old: u32, new: u32) {
        self.hand_over(old, new);
    }

    #[inline]
    fn rotate(&mut self, nodes: &Nodes, old_top: u32, top: u32) {
        self.hand_over(old_top, top);
        self.recompute(nodes, old_top);
    }
}

/// Puts `e` in.
pub fn insert(nodes: &mut Nodes, root: &mut Root, se: &mut [Entity], order: Order, e: u32) {
    let entity = &mut se[e as usize];
    entity.min_other = order.other(entity);
    entity.min_slice = entity.slice;
    let key = order.key(entity);
    nodes.insert(root, e, key, &mut Minima { se, order });
}

/// Takes `e` out.
pub fn remove(nodes: &mut Nodes, root: &mut Root, se: &mut [Entity], order: Order, e: u32) {
    nodes.remove(root, e, &mut Minima { se, order });
}

/// The slice of `e`, waiting in a tree, has changed.
pub fn slice_changed(nodes: &Nodes, se: &mut [Entity], order: Order, e: u32) {
    nodes.recompute_upward(e, NONE, &mut Minima { se, order });
}

/// Everybody in a tree, in order.
pub fn iter<'a>(nodes: &'a Nodes, root: &Root) -> impl Iterator<Item = u32> + 'a {
    let mut at = root.leftmost();
    core::iter::from_fn(move || {
        let here = at;
        if here == NONE {
            return None;
        }
        at = nodes.next(here);
        Some(here)
    })
}

/// 6.12 on: the entity with the earliest deadline among those that `eligible` says yes to, of whom
/// those of smaller vruntime are a part; the first in order among equals.
#[inline]
pub fn earliest_eligible(
    nodes: &Nodes,
    root: &Root,
    se: &[Entity],
    eligible: impl Fn(u64) -> bool,
) -> u32 {
    let first = root.leftmost();
    if first == NONE || eligible(se[first as usize].vruntime) {
        return first;
    }
    let mut node = root.top();
    while node != NONE {
        let left = nodes.left(node);
        if left != NONE && eligible(se[left as usize].min_other) {
            node = left;
        } else if eligible(se[node as usize].vruntime) {
            break;
        } else {
            node = nodes.right(node);
        }
    }
    node
}

/// The same for 6.6's tree by vruntime, `curr` being a candidate if there is one. Among equal
/// deadlines the shape of the tree decides.
pub fn earliest_eligible_by_vruntime(
    nodes: &Nodes,
    root: &Root,
    se: &[Entity],
    curr: u32,
    eligible: impl Fn(u64) -> bool,
) -> u32 {
    let deadline = |node: u32| se[node as usize].deadline;
    let minimum = |node: u32| se[node as usize].min_other;
    let mut best = curr;
    let mut best_subtree = NONE;
    let mut node = root.top();
    while node != NONE {
        let left = nodes.left(node);
        if !eligible(se[node as usize].vruntime) {
            node = left;
            continue;
        }
        if best == NONE || before(deadline(node), deadline(best)) {
            best = node;
        }
        // All to the left of an eligible one is eligible.
        if left != NONE {
            if best_subtree == NONE || before(minimum(left), minimum(best_subtree)) {
                best_subtree = left;
            }
            if minimum(left) == minimum(node) {
                break;
            }
        }
        if deadline(node) == minimum(node) {
            break;
        }
        node = nodes.right(node);
    }
    if best_subtree == NONE || before(deadline(best), minimum(best_subtree)) {
        return best;
    }
    let mut node = best_subtree;
    while deadline(node) != minimum(node) {
        let left = nodes.left(node);
        node =
            if left != NONE && minimum(left) == minimum(node) { left } else { nodes.right(node) };
    }
    node
}

/// Checks a tree and what it knows; returns how many are in it.
///
/// # Errors
/// What is wrong.
pub fn audit(
    nodes: &Nodes,
    root: &Root,
    se: &[Entity],
    order: Order,
) -> Result<usize, &'static str> {
    for node in iter(nodes, root) {
        let entity = &se[node as usize];
        let mut min = order.other(entity);
        let mut slice = entity.slice;
        for below in [nodes.left(node), nodes.right(node)] {
            if below != NONE {
                min = earlier(se[below as usize].min_other, min);
                slice = slice.min(se[below as usize].min_slice);
            }
        }
        if nodes.key(node) != order.key(entity) {
            return Err("a waiting entity's key has changed");
        }
        if min != entity.min_other {
            return Err("a subtree does not know its minimum");
        }
        if order.exact_slices && slice != entity.min_slice {
            return Err("a subtree does not know its smallest slice");
        }
    }
    nodes.audit(root)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use alloc::vec::Vec;

    fn entities(random: &mut Random, number: usize) -> Vec<Entity> {
        (0..number)
            .map(|_| {
                let mut entity = Entity::new(100 + random.below(20) as u32);
                // Around the point where u64s wrap, with many equal keys.
                entity.vruntime = random.below(60).wrapping_sub(30);
                entity.deadline = entity.vruntime.wrapping_add(random.below(40));
                entity
            })
            .collect()
    }

    /// Inserts and removes at random; `check` sees the tree and its members after each step.
    fn churn(order: Order, mut check: impl FnMut(&Nodes, &Root, &[Entity], &[u32])) {
        for seed in 0..20 {
            let mut random = Random(seed);
            let mut se = entities(&mut random, 60);
            let mut nodes = Nodes::new();
            nodes.make_room(60);
            let mut root = Root::default();
            let mut members: Vec<u32> = Vec::new();
            for _ in 0..400 {
                let node = random.below(60) as u32;
                if let Some(at) = members.iter().position(|&member| member == node) {
                    members.remove(at);
                    remove(&mut nodes, &mut root, &mut se, order, node);
                } else {
                    members.push(node);
                    insert(&mut nodes, &mut root, &mut se, order, node);
                }
                assert_eq!(audit(&nodes, &root, &se, order), Ok(members.len()));
                check(&nodes, &root, &se, &members);
            }
        }
    }

    const BY_DEADLINE: Order = Order { by_deadline: true, exact_slices: false };
    const EXACT: Order = Order { by_deadline: true, exact_slices: true };
    const BY_VRUNTIME: Order = Order { by_deadline: false, exact_slices: false };

    #[test]
    fn order_is_by_key_and_then_by_arrival() {
        for order in [BY_DEADLINE, BY_VRUNTIME] {
            churn(order, |nodes, root, se, members| {
                let mut sorted = members.to_vec();
                sorted.sort_by_key(|&node| order.key(&se[node as usize]).wrapping_add(1 << 32));
                assert_eq!(iter(nodes, root).collect::<Vec<_>>(), sorted);
            });
        }
    }

    #[test]
    fn the_earliest_deadline_among_the_eligible_is_found() {
        churn(BY_DEADLINE, |nodes, root, se, _| {
            for limit in [-31, -10, 0, 5, 30] {
                let eligible = |vruntime: u64| vruntime as i64 <= limit;
                let expected = iter(nodes, root).find(|&node| eligible(se[node as usize].vruntime));
                assert_eq!(earliest_eligible(nodes, root, se, eligible), expected.unwrap_or(NONE));
            }
        });
    }

    #[test]
    fn in_the_tree_by_vruntime_too_up_to_equals() {
        churn(BY_VRUNTIME, |nodes, root, se, _| {
            for limit in [-31, -10, 0, 5, 30] {
                let eligible = |vruntime: u64| vruntime as i64 <= limit;
                let deadline = |node: u32| se[node as usize].deadline as i64;
                let least = iter(nodes, root)
                    .filter(|&node| eligible(se[node as usize].vruntime))
                    .map(deadline)
                    .min();
                let found = earliest_eligible_by_vruntime(nodes, root, se, NONE, eligible);
                assert_eq!((found != NONE).then(|| deadline(found)), least);
                assert!(found == NONE || eligible(se[found as usize].vruntime));
            }
        });
    }

    #[test]
    fn smallest_slices_are_exact_only_when_asked_for() {
        let smallest = |se: &[Entity], members: &[u32]| {
            members.iter().map(|&node| se[node as usize].slice).min()
        };
        let known = |root: &Root, se: &[Entity]| {
            (!root.is_empty()).then(|| se[root.top() as usize].min_slice)
        };
        churn(EXACT, |_, root, se, members| assert_eq!(known(root, se), smallest(se, members)));
        let (mut wrong, mut steps) = (0, 0);
        churn(BY_DEADLINE, |_, root, se, members| {
            wrong += u32::from(known(root, se) != smallest(se, members));
            steps += 1;
        });
        assert!(wrong > 0 && wrong < steps / 2, "{wrong} of {steps}");
    }

    #[test]
    fn a_rotation_leaves_the_new_top_with_its_old_smallest_slice() {
        // Three rising keys turn the tree once: b comes to stand on top, still knowing only itself
        // and c.
        let mut se: Vec<Entity> = [5, 9, 7].map(Entity::new).into();
        for (key, entity) in se.iter_mut().enumerate() {
            entity.deadline = key as u64;
        }
        for (order, known) in [(BY_DEADLINE, 7), (EXACT, 5)] {
            let mut nodes = Nodes::new();
            nodes.make_room(3);
            let mut root = Root::default();
            for node in 0..3 {
                insert(&mut nodes, &mut root, &mut se, order, node);
            }
            assert_eq!((root.top(), se[1].min_slice), (1, known));
        }
    }
}
