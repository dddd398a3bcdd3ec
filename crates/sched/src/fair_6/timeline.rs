//! The tree of waiting entities, and the search in it.
//!
//! From 6.12 on the tree is ordered by deadline and stores the smallest vruntime below each node,
//! so that "the earliest deadline among the eligible entities" is found in one descent: a subtree
//! whose smallest vruntime is not eligible contains no candidate. In 6.6 it is the other way round:
//! the tree is ordered by vruntime and stores the earliest deadline. Among equal keys a later
//! arrival goes to the right.
//!
//! The tree itself is [`rbtree`], whose shape is the kernel's. Two things depend on the shape. One
//! is 6.6's choice among equal deadlines. The other is the smallest slice of a subtree, stored
//! since 6.12. It is updated together with the other minimum but is **not handed over when a node
//! takes another's place** (by rotation or deletion), so that it may be too large or too small for
//! a while. With [`Order::exact_slices`] it is handed over too and is always right.

use super::entity::{Entities, Entity, Vruntime};
use super::ids::EntityId;
use crate::classes::rbtree::{self, Links, Root, Rows, RowsMut};

/// The order of the trees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Order {
    /// Whether trees are ordered by deadline (6.12 on), not by vruntime (6.6).
    pub by_deadline: bool,
    /// Whether the smallest and longest slices of subtrees are always exact, as they are from 7.2
    /// on.
    pub exact_slices: bool,
    /// Whether all slices are equal and always were: then every subtree's smallest slice is that
    /// slice, exact or not.
    pub uniform_slices: bool,
    /// Whether subtrees store their longest slice, too (7.0 on).
    pub max_slices: bool,
}

/// The entities as seen by a tree. The two orders are two types, so that the descent need not test
/// the order at each node.
struct View<'a, const BY_DEADLINE: bool>(&'a Entities);

/// The entities as seen by a tree that is modified.
struct ViewMut<'a, const BY_DEADLINE: bool> {
    se: &'a mut Entities,
    order: Order,
}

/// The key of an entity.
#[inline]
fn key_of<const BY_DEADLINE: bool>(entity: &Entity) -> Vruntime {
    if BY_DEADLINE { entity.deadline } else { entity.vruntime }
}

/// The value whose minimum subtrees store.
#[inline]
fn other_of<const BY_DEADLINE: bool>(entity: &Entity) -> Vruntime {
    if BY_DEADLINE { entity.vruntime } else { entity.deadline }
}

/// The values that `e` should store for its subtree: both minima, of itself and its children.
#[inline]
fn minima<const BY_DEADLINE: bool>(se: &Entities, e: EntityId) -> (Vruntime, u32) {
    let entity = &se[e];
    let mut min = other_of::<BY_DEADLINE>(entity);
    let mut slice = entity.slice;
    let right = entity.links.right();
    if let Some(left) = entity.links.left() {
        let child = &se[left];
        min = child.min_other.earlier(min);
        slice = slice.min(child.min_slice);
    }
    if let Some(right) = right {
        let child = &se[right];
        min = child.min_other.earlier(min);
        slice = slice.min(child.min_slice);
    }
    (min, slice)
}

/// Recomputes the minima of the subtree of `e`, and its longest slice. Returns whether one changed.
/// Apart, so that releases without longest slices do not pay for it.
#[inline(never)]
fn recompute_all<const BY_DEADLINE: bool>(se: &mut Entities, e: EntityId) -> bool {
    let minima = minima::<BY_DEADLINE>(se, e);
    let entity = &mut se[e];
    let changed = minima != (entity.min_other, entity.min_slice);
    (entity.min_other, entity.min_slice) = minima;
    let links = &se[e].links;
    let below = [links.left(), links.right()].into_iter().flatten();
    let longest = below.map(|child| se.max_slices[child]).fold(se[e].slice, u32::max);
    let longest_changed = core::mem::replace(&mut se.max_slices[e], longest) != longest;
    changed | longest_changed
}

impl<const BY_DEADLINE: bool> Rows<EntityId> for View<'_, BY_DEADLINE> {
    #[inline]
    fn key(&self, e: EntityId) -> u64 {
        key_of::<BY_DEADLINE>(&self.0[e]).0
    }
    #[inline]
    fn links(&self, e: EntityId) -> &Links<EntityId> {
        &self.0[e].links
    }
    #[inline]
    fn is_red(&self, e: EntityId) -> bool {
        self.0[e].red
    }
}

impl<const BY_DEADLINE: bool> Rows<EntityId> for ViewMut<'_, BY_DEADLINE> {
    #[inline]
    fn key(&self, e: EntityId) -> u64 {
        key_of::<BY_DEADLINE>(&self.se[e]).0
    }
    #[inline]
    fn links(&self, e: EntityId) -> &Links<EntityId> {
        &self.se[e].links
    }
    #[inline]
    fn is_red(&self, e: EntityId) -> bool {
        self.se[e].red
    }
}

impl<const BY_DEADLINE: bool> RowsMut<EntityId> for ViewMut<'_, BY_DEADLINE> {
    #[inline]
    fn links_mut(&mut self, e: EntityId) -> &mut Links<EntityId> {
        &mut self.se[e].links
    }

    #[inline]
    fn set_red(&mut self, e: EntityId, red: bool) {
        self.se[e].red = red;
    }

    #[inline]
    fn recompute(&mut self, e: EntityId) -> bool {
        if self.order.max_slices {
            return recompute_all::<BY_DEADLINE>(self.se, e);
        }
        let (min, slice) = minima::<BY_DEADLINE>(self.se, e);
        let entity = &mut self.se[e];
        let changed = min != entity.min_other || slice != entity.min_slice;
        entity.min_other = min;
        entity.min_slice = slice;
        changed
    }

    /// With equal slices only the other minimum can change, and only to that of `new`. The children
    /// need not be read.
    #[inline]
    fn recompute_with(&mut self, e: EntityId, new: EntityId) -> bool {
        if !self.order.uniform_slices {
            return self.recompute(e);
        }
        let other = other_of::<BY_DEADLINE>(&self.se[new]);
        let entity = &mut self.se[e];
        let changed = other.is_before(entity.min_other);
        if changed {
            entity.min_other = other;
        }
        changed
    }

    /// With equal slices only the other minimum can change, and only if it was that of `old`.
    #[inline]
    fn recompute_without(&mut self, e: EntityId, old: EntityId) -> bool {
        if self.order.uniform_slices
            && other_of::<BY_DEADLINE>(&self.se[old]) != self.se[e].min_other
        {
            return false;
        }
        self.recompute(e)
    }

    #[inline]
    fn hand_over(&mut self, old: EntityId, new: EntityId) {
        let Entity { min_other, min_slice, .. } = self.se[old];
        let entity = &mut self.se[new];
        entity.min_other = min_other;
        if self.order.exact_slices {
            entity.min_slice = min_slice;
            if self.order.max_slices {
                self.se.max_slices[new] = self.se.max_slices[old];
            }
        }
    }
}

/// Inserts `e`.
#[inline]
pub fn insert(root: &mut Root<EntityId>, se: &mut Entities, order: Order, e: EntityId) {
    let entity = &mut se[e];
    entity.min_slice = entity.slice;
    if order.max_slices && order.exact_slices {
        // In 7.0 and 7.1 it stays what it was in the last tree, until it is recomputed.
        se.max_slices[e] = se[e].slice;
    }
    let entity = &mut se[e];
    if order.by_deadline {
        entity.min_other = entity.vruntime;
        rbtree::insert(&mut ViewMut::<true> { se, order }, root, e);
    } else {
        entity.min_other = entity.deadline;
        rbtree::insert(&mut ViewMut::<false> { se, order }, root, e);
    }
}

/// Removes `e`.
#[inline]
pub fn remove(root: &mut Root<EntityId>, se: &mut Entities, order: Order, e: EntityId) {
    if order.by_deadline {
        rbtree::remove(&mut ViewMut::<true> { se, order }, root, e);
    } else {
        rbtree::remove(&mut ViewMut::<false> { se, order }, root, e);
    }
}

/// Updates the tree after the slice of `e`, which waits in it, has changed.
pub fn slice_changed(se: &mut Entities, order: Order, e: EntityId) {
    if order.by_deadline {
        rbtree::recompute_upward(&mut ViewMut::<true> { se, order }, Some(e));
    } else {
        rbtree::recompute_upward(&mut ViewMut::<false> { se, order }, Some(e));
    }
}

/// All entities of a tree, in order.
pub fn iter<'a>(se: &'a Entities, root: &Root<EntityId>) -> impl Iterator<Item = EntityId> + 'a {
    // The iteration needs only the links, whatever the order.
    rbtree::iter(View::<true>(se), root)
}

/// The entity after `e`, which is in a tree.
pub fn next(se: &Entities, e: EntityId) -> Option<EntityId> {
    rbtree::next(&View::<true>(se), e)
}

/// 6.12 on: the entity with the earliest deadline among those for which `eligible` holds.
/// Eligibility must be monotonic: a smaller vruntime is eligible if a larger one is. Among equals
/// the first in order.
#[inline(always)]
pub fn earliest_eligible(
    root: &Root<EntityId>,
    se: &Entities,
    eligible: impl Fn(Vruntime) -> bool,
) -> Option<EntityId> {
    let first = root.leftmost()?;
    if eligible(se[first].vruntime) {
        return Some(first);
    }
    let mut node = root.top()?;
    loop {
        let entity = &se[node];
        node = match entity.links.left() {
            Some(left) if eligible(se[left].min_other) => left,
            _ if eligible(entity.vruntime) => return Some(node),
            _ => entity.links.right()?,
        };
    }
}

/// Like [`earliest_eligible`], for 6.6's tree by vruntime. `curr`, if given, is a candidate, too.
/// Among equal deadlines the shape of the tree decides.
pub fn earliest_eligible_by_vruntime(
    root: &Root<EntityId>,
    se: &Entities,
    curr: Option<EntityId>,
    eligible: impl Fn(Vruntime) -> bool,
) -> Option<EntityId> {
    let deadline = |e: EntityId| se[e].deadline;
    let minimum = |e: EntityId| se[e].min_other;
    let mut best = curr;
    let mut best_subtree: Option<EntityId> = None;
    let mut next = root.top();
    while let Some(node) = next {
        let left = se[node].links.left();
        if !eligible(se[node].vruntime) {
            next = left;
            continue;
        }
        if best.is_none_or(|best| deadline(node).is_before(deadline(best))) {
            best = next;
        }
        // All entities to the left of an eligible one are eligible.
        if let Some(left) = left {
            if best_subtree.is_none_or(|subtree| minimum(left).is_before(minimum(subtree))) {
                best_subtree = Some(left);
            }
            if minimum(left) == minimum(node) {
                break;
            }
        }
        if deadline(node) == minimum(node) {
            break;
        }
        next = se[node].links.right();
    }
    let mut node = match (best, best_subtree) {
        (Some(best), Some(subtree)) if !deadline(best).is_before(minimum(subtree)) => subtree,
        _ => return best,
    };
    while deadline(node) != minimum(node) {
        let left = se[node].links.left().filter(|&left| minimum(left) == minimum(node));
        match left.or(se[node].links.right()) {
            Some(below) => node = below,
            None => break,
        }
    }
    Some(node)
}

/// Checks a tree and the values it stores. Returns the number of its entities.
///
/// # Errors
///
/// The inconsistency found.
pub fn audit(root: &Root<EntityId>, se: &Entities, order: Order) -> Result<usize, &'static str> {
    for e in iter(se, root) {
        let (min, slice) =
            if order.by_deadline { minima::<true>(se, e) } else { minima::<false>(se, e) };
        if min != se[e].min_other {
            return Err("the stored minimum of a subtree is wrong");
        }
        if (order.exact_slices || order.uniform_slices) && slice != se[e].min_slice {
            return Err("the stored smallest slice of a subtree is wrong");
        }
    }
    if order.by_deadline {
        rbtree::audit(&View::<true>(se), root)
    } else {
        rbtree::audit(&View::<false>(se), root)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use alloc::vec::Vec;
    use schedlab_core::index::TypedIndex;

    fn entities(random: &mut Random, number: usize) -> Entities {
        (0..number)
            .map(|_| {
                let mut entity = Entity::new(100 + random.below(20) as u32);
                // Around the point where `u64` wraps, with many equal keys.
                entity.vruntime = Vruntime(random.below(60).wrapping_sub(30));
                entity.deadline = entity.vruntime.plus(random.below(40));
                entity
            })
            .collect()
    }

    /// Inserts and removes at random, and calls `check` with the tree and its members after each
    /// step.
    fn churn(order: Order, mut check: impl FnMut(&Root<EntityId>, &Entities, &[EntityId])) {
        for seed in 0..20 {
            let mut random = Random(seed);
            let mut se = entities(&mut random, 60);
            let mut root = Root::default();
            let mut members: Vec<EntityId> = Vec::new();
            for _ in 0..400 {
                let node = EntityId::new(random.below(60) as usize);
                if let Some(at) = members.iter().position(|&member| member == node) {
                    members.remove(at);
                    remove(&mut root, &mut se, order, node);
                } else {
                    members.push(node);
                    insert(&mut root, &mut se, order, node);
                }
                assert_eq!(audit(&root, &se, order), Ok(members.len()));
                check(&root, &se, &members);
            }
        }
    }

    const BY_DEADLINE: Order =
        Order { by_deadline: true, exact_slices: false, uniform_slices: false, max_slices: false };
    const EXACT: Order =
        Order { by_deadline: true, exact_slices: true, uniform_slices: false, max_slices: true };
    const BY_VRUNTIME: Order =
        Order { by_deadline: false, exact_slices: false, uniform_slices: false, max_slices: false };

    #[test]
    fn order_is_by_key_and_then_by_arrival() {
        for order in [BY_DEADLINE, BY_VRUNTIME] {
            let key = if order.by_deadline { key_of::<true> } else { key_of::<false> };
            churn(order, |root, se, members| {
                let mut sorted = members.to_vec();
                sorted.sort_by_key(|&node| key(&se[node]).0.wrapping_add(1 << 32));
                assert_eq!(iter(se, root).collect::<Vec<_>>(), sorted);
            });
        }
    }

    #[test]
    fn the_earliest_deadline_among_the_eligible_is_found() {
        churn(BY_DEADLINE, |root, se, _| {
            for limit in [-31, -10, 0, 5, 30] {
                let eligible = |vruntime: Vruntime| vruntime.0 as i64 <= limit;
                let expected = iter(se, root).find(|&node| eligible(se[node].vruntime));
                assert_eq!(earliest_eligible(root, se, eligible), expected);
            }
        });
    }

    #[test]
    fn in_the_tree_by_vruntime_too_up_to_equals() {
        churn(BY_VRUNTIME, |root, se, _| {
            for limit in [-31, -10, 0, 5, 30] {
                let eligible = |vruntime: Vruntime| vruntime.0 as i64 <= limit;
                let deadline = |node: EntityId| se[node].deadline.0 as i64;
                let least =
                    iter(se, root).filter(|&node| eligible(se[node].vruntime)).map(deadline).min();
                let found = earliest_eligible_by_vruntime(root, se, None, eligible);
                assert_eq!(found.map(deadline), least);
                assert!(found.is_none_or(|found| eligible(se[found].vruntime)));
            }
        });
    }

    #[test]
    fn equal_slices_need_no_look_at_children() {
        for order in [BY_DEADLINE, BY_VRUNTIME] {
            let uniform = Order { uniform_slices: true, exact_slices: true, ..order };
            for seed in 0..20 {
                let mut random = Random(seed);
                let mut se = entities(&mut random, 60);
                se.iter_mut().for_each(|entity| entity.slice = 100);
                let mut twin = se.clone();
                let [mut root, mut twin_root] = [Root::default(); 2];
                let mut members: Vec<EntityId> = Vec::new();
                for _ in 0..400 {
                    let e = EntityId::new(random.below(60) as usize);
                    if let Some(at) = members.iter().position(|&member| member == e) {
                        members.remove(at);
                        remove(&mut root, &mut se, uniform, e);
                        remove(&mut twin_root, &mut twin, order, e);
                    } else {
                        members.push(e);
                        insert(&mut root, &mut se, uniform, e);
                        insert(&mut twin_root, &mut twin, order, e);
                    }
                    assert_eq!(audit(&root, &se, uniform), Ok(members.len()));
                    assert_eq!(root, twin_root);
                    for &e in &members {
                        let [a, b] = [&se[e], &twin[e]];
                        assert_eq!((a.links, a.red, a.min_other), (b.links, b.red, b.min_other));
                    }
                }
            }
        }
    }

    #[test]
    fn smallest_slices_are_exact_only_when_asked_for() {
        let smallest =
            |se: &Entities, members: &[EntityId]| members.iter().map(|&node| se[node].slice).min();
        let known = |root: &Root<EntityId>, se: &Entities| root.top().map(|top| se[top].min_slice);
        churn(EXACT, |root, se, members| assert_eq!(known(root, se), smallest(se, members)));
        let (mut wrong, mut steps) = (0, 0);
        churn(BY_DEADLINE, |root, se, members| {
            wrong += u32::from(known(root, se) != smallest(se, members));
            steps += 1;
        });
        assert!(wrong > 0 && wrong < steps / 2, "{wrong} of {steps}");
    }

    #[test]
    fn a_rotation_leaves_the_new_top_with_its_old_smallest_slice() {
        // Three rising keys rotate the tree once: b becomes the root and still knows only itself
        // and c.
        let mut se: Entities = [5, 9, 7].map(Entity::new).into_iter().collect();
        for (key, entity) in se.iter_mut().enumerate() {
            entity.deadline = Vruntime(key as u64);
        }
        for (order, known) in [(BY_DEADLINE, 7), (EXACT, 5)] {
            let mut root = Root::default();
            for node in (0..3).map(EntityId::new) {
                insert(&mut root, &mut se, order, node);
            }
            let middle = EntityId::new(1);
            assert_eq!((root.top(), se[middle].min_slice), (Some(middle), known));
        }
    }
}
