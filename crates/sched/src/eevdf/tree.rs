//! The tree of waiting entities: a red-black tree over an array, each node of which knows the minimum of its subtree.
//!
//! From 6.12 on it is ordered by deadline and knows the smallest vruntime below each node, so that "the earliest deadline
//! among the eligible" is found by going down once: a subtree whose smallest vruntime is not eligible has nobody to offer.
//! 6.6 has it the other way round: ordered by vruntime, knowing the earliest deadline. Equal keys: who came later goes right.
//!
//! The shape is that of the textbook algorithm, because two things depend on it. In 6.6 the choice among equal deadlines
//! does. And the smallest slice of a subtree, known since 6.12, rides along with the other minimum but is **not handed over
//! when a node takes another's place** (by rotation or deletion), so that for a while it may be too large or too small. With
//! [`Order::exact_slices`] it is handed over too, and always right.

use super::entity::{Entity, NONE, before, earlier};

/// A tree of entities.
#[derive(Clone, Copy, Debug)]
pub struct Tree {
    /// The top.
    pub root: u32,
    /// The first in order.
    pub leftmost: u32,
}

/// What the tree is ordered by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Order {
    /// By deadline (6.12 on), not by vruntime (6.6).
    pub by_deadline: bool,
    /// Subtrees' smallest slices are always exact, as they are in no release.
    pub exact_slices: bool,
}

impl Order {
    /// What entities are ordered by.
    #[inline]
    fn key(self, entity: &Entity) -> u64 {
        if self.by_deadline {
            entity.deadline
        } else {
            entity.vruntime
        }
    }

    /// What subtrees know the minimum of.
    #[inline]
    fn other(self, entity: &Entity) -> u64 {
        if self.by_deadline {
            entity.vruntime
        } else {
            entity.deadline
        }
    }
}

impl Tree {
    /// An empty one.
    pub const EMPTY: Tree = Tree {
        root: NONE,
        leftmost: NONE,
    };

    /// Whether nobody is in it.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.root == NONE
    }

    /// Puts `new` in.
    pub fn insert(&mut self, se: &mut [Entity], order: Order, new: u32) {
        let key = order.key(&se[new as usize]);
        let mut parent = NONE;
        let mut at = self.root;
        let mut first = true;
        let mut left = false;
        while at != NONE {
            parent = at;
            let node = &se[at as usize];
            left = before(key, order.key(node));
            if left {
                at = node.left;
            } else {
                at = node.right;
                first = false;
            }
        }
        let other = order.other(&se[new as usize]);
        let node = &mut se[new as usize];
        node.min_other = other;
        node.min_slice = node.slice;
        node.left = NONE;
        node.right = NONE;
        node.up = parent;
        node.red = true;
        if parent == NONE {
            self.root = new;
        } else if left {
            se[parent as usize].left = new;
        } else {
            se[parent as usize].right = new;
        }
        if first {
            self.leftmost = new;
        }
        recompute_upward(se, order, parent, NONE);
        self.rebalance_after_insertion(se, order, new);
    }

    /// Takes `old` out.
    pub fn remove(&mut self, se: &mut [Entity], order: Order, old: u32) {
        if self.leftmost == old {
            self.leftmost = next(se, old);
        }
        let Entity {
            left, right, up, red, ..
        } = se[old as usize];
        // `hole`: below which node a black one is missing, and on which side.
        let (from, hole) = if left == NONE || right == NONE {
            let child = if left == NONE { right } else { left };
            let on_left = up != NONE && se[up as usize].left == old;
            self.replace_child(se, up, old, child);
            if child != NONE {
                // The only child of a node is red, and takes its place in black.
                se[child as usize].up = up;
                se[child as usize].red = red;
                (up, None)
            } else {
                (up, (!red).then_some((up, on_left)))
            }
        } else {
            let successor = leftmost_of(se, right);
            let orphan = se[successor as usize].right;
            let direct = successor == right;
            let parent = if direct {
                successor
            } else {
                se[successor as usize].up
            };
            if !direct {
                se[parent as usize].left = orphan;
                se[successor as usize].right = right;
                se[right as usize].up = successor;
            }
            se[successor as usize].left = left;
            se[left as usize].up = successor;
            se[successor as usize].up = up;
            self.replace_child(se, up, old, successor);
            let hole = if orphan != NONE {
                se[orphan as usize].up = parent;
                se[orphan as usize].red = false;
                None
            } else {
                (!se[successor as usize].red).then_some((parent, !direct))
            };
            se[successor as usize].red = red;
            hand_over(se, order, old, successor);
            if !direct {
                recompute_upward(se, order, parent, successor);
            }
            (successor, hole)
        };
        recompute_upward(se, order, from, NONE);
        if let Some((parent, on_left)) = hole {
            self.rebalance_after_removal(se, order, parent, on_left);
        }
    }

    /// `old`'s parent gets `new` in its place.
    fn replace_child(&mut self, se: &mut [Entity], parent: u32, old: u32, new: u32) {
        if parent == NONE {
            self.root = new;
        } else if se[parent as usize].left == old {
            se[parent as usize].left = new;
        } else {
            se[parent as usize].right = new;
        }
    }

    /// Turns the edge between `old_top` and its child on the far side of `to_left`, so that the child comes to stand above.
    fn rotate(&mut self, se: &mut [Entity], order: Order, old_top: u32, to_left: bool) -> u32 {
        let new_top = child(se, old_top, !to_left);
        let between = child(se, new_top, to_left);
        set_child(se, old_top, !to_left, between);
        if between != NONE {
            se[between as usize].up = old_top;
        }
        let up = se[old_top as usize].up;
        se[new_top as usize].up = up;
        self.replace_child(se, up, old_top, new_top);
        set_child(se, new_top, to_left, old_top);
        se[old_top as usize].up = new_top;
        hand_over(se, order, old_top, new_top);
        recompute(se, order, old_top);
        new_top
    }

    fn rebalance_after_insertion(&mut self, se: &mut [Entity], order: Order, new: u32) {
        let mut node = new;
        loop {
            let parent = se[node as usize].up;
            if parent == NONE {
                se[node as usize].red = false;
                return;
            }
            if !se[parent as usize].red {
                return;
            }
            let grandparent = se[parent as usize].up;
            let parent_left = se[grandparent as usize].left == parent;
            let uncle = child(se, grandparent, !parent_left);
            if uncle != NONE && se[uncle as usize].red {
                se[parent as usize].red = false;
                se[uncle as usize].red = false;
                se[grandparent as usize].red = true;
                node = grandparent;
                continue;
            }
            let top = if child(se, parent, !parent_left) == node {
                self.rotate(se, order, parent, parent_left)
            } else {
                parent
            };
            self.rotate(se, order, grandparent, !parent_left);
            se[top as usize].red = false;
            se[grandparent as usize].red = true;
            return;
        }
    }

    fn rebalance_after_removal(&mut self, se: &mut [Entity], order: Order, parent: u32, on_left: bool) {
        let is_red = |se: &[Entity], node: u32| node != NONE && se[node as usize].red;
        let (mut parent, mut on_left) = (parent, on_left);
        while parent != NONE {
            let mut sibling = child(se, parent, !on_left);
            if se[sibling as usize].red {
                self.rotate(se, order, parent, on_left);
                se[sibling as usize].red = false;
                se[parent as usize].red = true;
                sibling = child(se, parent, !on_left);
            }
            let inner = child(se, sibling, on_left);
            let outer = child(se, sibling, !on_left);
            if !is_red(se, inner) && !is_red(se, outer) {
                se[sibling as usize].red = true;
                if se[parent as usize].red {
                    se[parent as usize].red = false;
                    return;
                }
                let node = parent;
                parent = se[node as usize].up;
                on_left = parent != NONE && se[parent as usize].left == node;
                continue;
            }
            if !is_red(se, outer) {
                self.rotate(se, order, sibling, !on_left);
                se[inner as usize].red = false;
                se[sibling as usize].red = true;
                sibling = inner;
            }
            self.rotate(se, order, parent, on_left);
            se[sibling as usize].red = se[parent as usize].red;
            se[parent as usize].red = false;
            let outer = child(se, sibling, !on_left);
            se[outer as usize].red = false;
            return;
        }
    }

    /// 6.12 on: the entity with the earliest deadline among those that `eligible` says yes to, of whom those of smaller
    /// vruntime are a part; the first in order among equals.
    #[inline]
    pub fn earliest_eligible(&self, se: &[Entity], eligible: impl Fn(u64) -> bool) -> u32 {
        if self.leftmost == NONE || eligible(se[self.leftmost as usize].vruntime) {
            return self.leftmost;
        }
        let mut node = self.root;
        while node != NONE {
            let entity = &se[node as usize];
            if entity.left != NONE && eligible(se[entity.left as usize].min_other) {
                node = entity.left;
            } else if eligible(entity.vruntime) {
                break;
            } else {
                node = entity.right;
            }
        }
        node
    }

    /// The same for 6.6's tree by vruntime, `curr` being a candidate if there is one. Among equal deadlines the shape of the
    /// tree decides.
    pub fn earliest_eligible_by_vruntime(
        &self,
        se: &[Entity],
        curr: u32,
        eligible: impl Fn(u64) -> bool,
    ) -> u32 {
        let deadline = |node: u32| se[node as usize].deadline;
        let minimum = |node: u32| se[node as usize].min_other;
        let mut best = curr;
        let mut best_subtree = NONE;
        let mut node = self.root;
        while node != NONE {
            let Entity {
                vruntime,
                left,
                right,
                ..
            } = se[node as usize];
            if !eligible(vruntime) {
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
            node = right;
        }
        if best_subtree == NONE || before(deadline(best), minimum(best_subtree)) {
            return best;
        }
        let mut node = best_subtree;
        while deadline(node) != minimum(node) {
            let Entity { left, right, .. } = se[node as usize];
            node = if left != NONE && minimum(left) == minimum(node) {
                left
            } else {
                right
            };
        }
        node
    }

    /// Everybody in it, in order.
    pub fn iter<'a>(&self, se: &'a [Entity]) -> impl Iterator<Item = u32> + 'a {
        let mut at = self.leftmost;
        core::iter::from_fn(move || {
            let here = at;
            if here == NONE {
                return None;
            }
            at = next(se, here);
            Some(here)
        })
    }

    /// Whether links, colours, order and minima are as they should be. `strict`: the smallest slices too.
    ///
    /// # Errors
    /// What is wrong.
    pub fn audit(&self, se: &[Entity], order: Order) -> Result<(), &'static str> {
        if self.root != NONE && (se[self.root as usize].red || se[self.root as usize].up != NONE) {
            return Err("the top of the tree is red or hangs below another");
        }
        let mut last: Option<u32> = None;
        for node in self.iter(se) {
            let entity = &se[node as usize];
            if last.is_some_and(|last| before(order.key(entity), order.key(&se[last as usize]))) {
                return Err("tree out of order");
            }
            let mut min = order.other(entity);
            let mut slice = entity.slice;
            for below in [entity.left, entity.right] {
                if below == NONE {
                    continue;
                }
                let child = &se[below as usize];
                if child.up != node || (entity.red && child.red) {
                    return Err("tree links or colours are wrong");
                }
                min = earlier(child.min_other, min);
                slice = slice.min(child.min_slice);
            }
            if min != entity.min_other {
                return Err("a subtree does not know its minimum");
            }
            if order.exact_slices && slice != entity.min_slice {
                return Err("a subtree does not know its smallest slice");
            }
            last = Some(node);
        }
        black_height(se, self.root).map(|_| ())
    }
}

fn black_height(se: &[Entity], node: u32) -> Result<u32, &'static str> {
    if node == NONE {
        return Ok(0);
    }
    let entity = &se[node as usize];
    let (left, right) = (black_height(se, entity.left)?, black_height(se, entity.right)?);
    if left != right {
        return Err("tree out of balance");
    }
    Ok(left + u32::from(!entity.red))
}

#[inline]
fn child(se: &[Entity], node: u32, left: bool) -> u32 {
    if left {
        se[node as usize].left
    } else {
        se[node as usize].right
    }
}

#[inline]
fn set_child(se: &mut [Entity], node: u32, left: bool, new: u32) {
    if left {
        se[node as usize].left = new;
    } else {
        se[node as usize].right = new;
    }
}

fn leftmost_of(se: &[Entity], mut node: u32) -> u32 {
    while se[node as usize].left != NONE {
        node = se[node as usize].left;
    }
    node
}

/// The next in order.
fn next(se: &[Entity], node: u32) -> u32 {
    let right = se[node as usize].right;
    if right != NONE {
        return leftmost_of(se, right);
    }
    let mut from = node;
    let mut up = se[node as usize].up;
    while up != NONE && se[up as usize].right == from {
        from = up;
        up = se[up as usize].up;
    }
    up
}

/// `new` takes the place of `old` above the same entities, or as many: the subtree's minimum stays what it was.
#[inline]
fn hand_over(se: &mut [Entity], order: Order, old: u32, new: u32) {
    se[new as usize].min_other = se[old as usize].min_other;
    if order.exact_slices {
        se[new as usize].min_slice = se[old as usize].min_slice;
    }
}

/// Both minima of `node` anew from itself and its children. Whether one changed.
#[inline]
fn recompute(se: &mut [Entity], order: Order, node: u32) -> bool {
    let entity = &se[node as usize];
    let mut min = order.other(entity);
    let mut slice = entity.slice;
    for below in [entity.left, entity.right] {
        if below != NONE {
            let child = &se[below as usize];
            min = earlier(child.min_other, min);
            slice = slice.min(child.min_slice);
        }
    }
    let changed = min != entity.min_other || slice != entity.min_slice;
    let entity = &mut se[node as usize];
    entity.min_other = min;
    entity.min_slice = slice;
    changed
}

/// Recomputes from `node` upward, to below `until`, or to the first where nothing changes.
pub fn recompute_upward(se: &mut [Entity], order: Order, node: u32, until: u32) {
    let mut node = node;
    while node != until && node != NONE {
        if !recompute(se, order, node) {
            return;
        }
        node = se[node as usize].up;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    struct Random(u64);

    impl Random {
        fn below(&mut self, bound: u64) -> u64 {
            self.0 = self
                .0
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (self.0 >> 33) % bound
        }
    }

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
    fn churn(order: Order, mut check: impl FnMut(&Tree, &[Entity], &[u32])) {
        for seed in 0..20 {
            let mut random = Random(seed);
            let mut se = entities(&mut random, 60);
            let mut tree = Tree::EMPTY;
            let mut members: Vec<u32> = Vec::new();
            for _ in 0..400 {
                let node = random.below(60) as u32;
                if let Some(at) = members.iter().position(|&member| member == node) {
                    members.remove(at);
                    tree.remove(&mut se, order, node);
                } else {
                    members.push(node);
                    tree.insert(&mut se, order, node);
                }
                tree.audit(&se, order).unwrap();
                check(&tree, &se, &members);
            }
        }
    }

    const BY_DEADLINE: Order = Order {
        by_deadline: true,
        exact_slices: false,
    };
    const EXACT: Order = Order {
        by_deadline: true,
        exact_slices: true,
    };
    const BY_VRUNTIME: Order = Order {
        by_deadline: false,
        exact_slices: false,
    };

    #[test]
    fn order_is_by_key_and_then_by_arrival() {
        for order in [BY_DEADLINE, BY_VRUNTIME] {
            churn(order, |tree, se, members| {
                let mut sorted = members.to_vec();
                sorted.sort_by_key(|&node| order.key(&se[node as usize]).wrapping_add(1 << 32));
                assert_eq!(tree.iter(se).collect::<Vec<_>>(), sorted);
            });
        }
    }

    #[test]
    fn the_earliest_deadline_among_the_eligible_is_found() {
        churn(BY_DEADLINE, |tree, se, _| {
            for limit in [-31, -10, 0, 5, 30] {
                let eligible = |vruntime: u64| vruntime as i64 <= limit;
                let expected = tree.iter(se).find(|&node| eligible(se[node as usize].vruntime));
                assert_eq!(tree.earliest_eligible(se, eligible), expected.unwrap_or(NONE));
            }
        });
    }

    #[test]
    fn in_the_tree_by_vruntime_too_up_to_equals() {
        churn(BY_VRUNTIME, |tree, se, _| {
            for limit in [-31, -10, 0, 5, 30] {
                let eligible = |vruntime: u64| vruntime as i64 <= limit;
                let deadline = |node: u32| se[node as usize].deadline as i64;
                let least = tree
                    .iter(se)
                    .filter(|&node| eligible(se[node as usize].vruntime))
                    .map(deadline)
                    .min();
                let found = tree.earliest_eligible_by_vruntime(se, NONE, eligible);
                assert_eq!((found != NONE).then(|| deadline(found)), least);
                assert!(found == NONE || eligible(se[found as usize].vruntime));
            }
        });
    }

    #[test]
    fn smallest_slices_are_exact_only_when_asked_for() {
        let smallest =
            |se: &[Entity], members: &[u32]| members.iter().map(|&node| se[node as usize].slice).min();
        let known = |tree: &Tree, se: &[Entity]| (!tree.is_empty()).then(|| se[tree.root as usize].min_slice);
        churn(EXACT, |tree, se, members| {
            assert_eq!(known(tree, se), smallest(se, members))
        });
        let (mut wrong, mut steps) = (0, 0);
        churn(BY_DEADLINE, |tree, se, members| {
            wrong += u32::from(known(tree, se) != smallest(se, members));
            steps += 1;
        });
        assert!(wrong > 0 && wrong < steps / 2, "{wrong} of {steps}");
    }

    #[test]
    fn a_rotation_leaves_the_new_top_with_its_old_smallest_slice() {
        // Three rising keys turn the tree once: b comes to stand on top, still knowing only itself and c.
        let mut se: Vec<Entity> = [5, 9, 7].map(Entity::new).into();
        for (key, entity) in se.iter_mut().enumerate() {
            entity.deadline = key as u64;
        }
        for (order, known) in [(BY_DEADLINE, 7), (EXACT, 5)] {
            let mut tree = Tree::EMPTY;
            for node in 0..3 {
                tree.insert(&mut se, order, node);
            }
            assert_eq!((tree.root, se[1].min_slice), (1, known));
        }
    }
}
