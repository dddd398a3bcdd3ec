//! A red-black tree over rows of a table: the timeline of the fair classes.
//!
//! # Why a tree, and why this one
//!
//! A fair class must find the entity that is furthest behind, insert another in its place in the
//! order, and remove any of them. Each costs O(log n). The leftmost entity is cached, so that
//! reading it costs nothing.
//!
//! Nodes are entities, identified by a typed index `I`. The class chooses the place of their
//! [`Links`], next to the other data that it reads on the way down ([`Rows`]). A tree consists only
//! of its [`Root`]. [`Nodes`] is a table for classes that keep nothing else in the tree. Keys are
//! virtual times, which wrap: `a` comes before `b` if the difference `a - b`, taken as signed, is
//! negative. An entity is inserted to the right of all entities with an equal key, so that equals
//! keep the order in which they came.
//!
//! # Augmentation
//!
//! A class may keep a value for each subtree, such as a minimum over it. [`RowsMut::recompute`] and
//! [`RowsMut::hand_over`] notify the class when a node's subtree has changed. The order of these
//! calls and the shape of the tree follow the textbook's algorithms (insertion and deletion by
//! recolouring and rotating; a node with two children is replaced by its in-order successor), as in
//! the kernel. Both are visible where a class keeps inexact minima or breaks ties by shape.

use schedlab_core::index::{IndexVec, TypedIndex};

/// An entity's position in its tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Links<I> {
    parent: Option<I>,
    left: Option<I>,
    right: Option<I>,
}

impl<I> Default for Links<I> {
    fn default() -> Links<I> {
        Links { parent: None, left: None, right: None }
    }
}

impl<I: Copy> Links<I> {
    /// Returns the left child, if any.
    #[inline]
    pub fn left(&self) -> Option<I> {
        self.left
    }

    /// Returns the right child, if any.
    #[inline]
    pub fn right(&self) -> Option<I> {
        self.right
    }

    #[inline]
    fn child(&self, left: bool) -> Option<I> {
        if left { self.left } else { self.right }
    }
}

/// A tree: its root, its first and its last node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Root<I> {
    root: Option<I>,
    leftmost: Option<I>,
    rightmost: Option<I>,
}

impl<I> Default for Root<I> {
    fn default() -> Root<I> {
        Root { root: None, leftmost: None, rightmost: None }
    }
}

impl<I: Copy> Root<I> {
    /// Returns the entity with the smallest key, the first to arrive among equals. `None` if the
    /// tree is empty.
    #[inline]
    pub fn leftmost(&self) -> Option<I> {
        self.leftmost
    }

    /// Returns the entity with the largest key, the last to arrive among equals. `None` if the tree
    /// is empty.
    #[inline]
    pub fn rightmost(&self) -> Option<I> {
        self.rightmost
    }

    /// Returns the topmost node. `None` if the tree is empty.
    #[inline]
    pub fn top(&self) -> Option<I> {
        self.root
    }
}

/// Read access of a tree to the table of its entities.
pub trait Rows<I> {
    /// Returns the key of `node`.
    fn key(&self, node: I) -> u64;

    /// Returns the links of `node`.
    fn links(&self, node: I) -> &Links<I>;

    /// Whether `node` is red.
    fn is_red(&self, node: I) -> bool;
}

/// Write access of a tree to the table of its entities, and the maintenance of values for each
/// subtree, of which there are none by default.
pub trait RowsMut<I>: Rows<I> {
    /// Returns the links of `node`.
    fn links_mut(&mut self, node: I) -> &mut Links<I>;

    /// Colours `node`.
    fn set_red(&mut self, node: I, red: bool);

    /// The children of `node`, or nodes below them, have changed: recomputes the value maintained
    /// for `node`. Returns whether it changed.
    #[inline]
    fn recompute(&mut self, node: I) -> bool {
        let _ = node;
        false
    }

    /// Does the work of [`recompute`](RowsMut::recompute) for a `node` below which only `new` has
    /// been added.
    #[inline]
    fn recompute_with(&mut self, node: I, new: I) -> bool {
        let _ = new;
        self.recompute(node)
    }

    /// Does the work of [`recompute`](RowsMut::recompute) for a `node` below which only `old` has
    /// been removed.
    #[inline]
    fn recompute_without(&mut self, node: I, old: I) -> bool {
        let _ = old;
        self.recompute(node)
    }

    /// Replaces `old` by `new`: the value maintained for the subtree there becomes that of `new`.
    #[inline]
    fn hand_over(&mut self, old: I, new: I) {
        let _ = (old, new);
    }
}

/// Returns the entity after `node` in the tree's order, if any.
pub fn next<I: TypedIndex>(rows: &impl Rows<I>, node: I) -> Option<I> {
    let links = rows.links(node);
    if let Some(right) = links.right {
        return Some(first_below(rows, right));
    }
    let mut node = node;
    let mut above = links.parent;
    loop {
        let parent = above?;
        let links = rows.links(parent);
        if links.left == Some(node) {
            return Some(parent);
        }
        (node, above) = (parent, links.parent);
    }
}

/// Returns the entity before `node` in the tree's order, if any.
fn previous<I: TypedIndex>(rows: &impl Rows<I>, node: I) -> Option<I> {
    let links = rows.links(node);
    if let Some(left) = links.left {
        let mut before = left;
        while let Some(right) = rows.links(before).right {
            before = right;
        }
        return Some(before);
    }
    let mut node = node;
    let mut above = links.parent;
    loop {
        let parent = above?;
        let links = rows.links(parent);
        if links.right == Some(node) {
            return Some(parent);
        }
        (node, above) = (parent, links.parent);
    }
}

#[inline]
fn first_below<I: TypedIndex>(rows: &impl Rows<I>, mut node: I) -> I {
    while let Some(left) = rows.links(node).left {
        node = left;
    }
    node
}

/// Returns all entities of a tree, in order.
pub fn iter<I: TypedIndex, R: Rows<I>>(
    rows: R,
    root: &Root<I>,
) -> impl Iterator<Item = I> + use<I, R> {
    let mut at = root.leftmost;
    core::iter::from_fn(move || {
        let here = at?;
        at = next(&rows, here);
        Some(here)
    })
}

/// Inserts `new` into the tree, to the right of equals. The value maintained for `new` must already
/// cover `new` itself.
#[inline]
pub fn insert<I: TypedIndex>(rows: &mut impl RowsMut<I>, root: &mut Root<I>, new: I) {
    let (parent, left) = place_of(rows, root, rows.key(new));
    *rows.links_mut(new) = Links { parent, left: None, right: None };
    let Some(parent) = parent else {
        rows.set_red(new, false);
        *root = Root { root: Some(new), leftmost: Some(new), rightmost: Some(new) };
        return;
    };
    rows.set_red(new, true);
    if left {
        rows.links_mut(parent).left = Some(new);
        if root.leftmost == Some(parent) {
            root.leftmost = Some(new);
        }
    } else {
        rows.links_mut(parent).right = Some(new);
        if root.rightmost == Some(parent) {
            root.rightmost = Some(new);
        }
    }
    let mut next = Some(parent);
    while let Some(above) = next
        && rows.recompute_with(above, new)
    {
        next = rows.links(above).parent;
    }
    if rows.is_red(parent) {
        insert_fixup(rows, root, new);
    }
}

/// Returns the node below which a new node with this key belongs, and on which side. Descending a
/// large tree costs a cache miss for each node, and many new nodes come last, so the ends are
/// examined first.
#[inline]
fn place_of<I: TypedIndex>(rows: &impl Rows<I>, root: &Root<I>, key: u64) -> (Option<I>, bool) {
    let is_before = |node: I| (key.wrapping_sub(rows.key(node)) as i64) < 0;
    if root.rightmost.is_none_or(|rightmost| !is_before(rightmost)) {
        return (root.rightmost, false);
    }
    let mut parent = None;
    let mut next = root.root;
    let mut left = false;
    while let Some(node) = next {
        parent = next;
        left = is_before(node);
        next = rows.links(node).child(left);
    }
    (parent, left)
}

/// Recomputes the values of `from` and its ancestors, as far up as anything changes.
#[inline]
pub fn recompute_upward<I: TypedIndex>(rows: &mut impl RowsMut<I>, from: Option<I>) {
    let mut next = from;
    while let Some(node) = next
        && rows.recompute(node)
    {
        next = rows.links(node).parent;
    }
}

/// Does the same as [`recompute_upward`] when only `old` has been removed below `from`. Stops below
/// `stop`.
#[inline]
fn recompute_without<I: TypedIndex>(
    rows: &mut impl RowsMut<I>,
    from: Option<I>,
    old: I,
    stop: Option<I>,
) {
    let mut next = from;
    while let Some(node) = next
        && next != stop
        && rows.recompute_without(node, old)
    {
        next = rows.links(node).parent;
    }
}

fn insert_fixup<I: TypedIndex>(rows: &mut impl RowsMut<I>, root: &mut Root<I>, mut node: I) {
    loop {
        let Some(parent) = rows.links(node).parent else {
            rows.set_red(node, false);
            return;
        };
        if !rows.is_red(parent) {
            return;
        }
        // The root is black: a red node has a parent.
        let Some(grandparent) = rows.links(parent).parent else {
            return;
        };
        let parent_is_left = rows.links(grandparent).left == Some(parent);
        if let Some(uncle) = rows.links(grandparent).child(!parent_is_left)
            && rows.is_red(uncle)
        {
            rows.set_red(parent, false);
            rows.set_red(uncle, false);
            rows.set_red(grandparent, true);
            node = grandparent;
            continue;
        }
        let mut top = parent;
        if rows.links(parent).child(!parent_is_left) == Some(node) {
            rotate(rows, root, parent, parent_is_left);
            top = node;
        }
        rows.set_red(top, false);
        rows.set_red(grandparent, true);
        rotate(rows, root, grandparent, !parent_is_left);
        return;
    }
}

/// Removes `node` from the tree.
#[inline]
pub fn remove<I: TypedIndex>(rows: &mut impl RowsMut<I>, root: &mut Root<I>, node: I) {
    if root.leftmost == Some(node) {
        root.leftmost = next(rows, node);
    }
    if root.rightmost == Some(node) {
        root.rightmost = previous(rows, node);
    }
    let Links { parent, left, right } = *rows.links(node);
    let red = rows.is_red(node);
    // The place where a black node is missing now: below `hole_parent`, on its left or right; and
    // the child that fills the gap.
    let (hole_parent, hole_is_left, filler, lost_black);
    match (left, right) {
        (Some(left), Some(right)) => {
            let successor = first_below(rows, right);
            let Links { parent: successor_parent, right: child, .. } = *rows.links(successor);
            lost_black = !rows.is_red(successor);
            filler = child;
            rows.hand_over(node, successor);
            if successor == right {
                hole_parent = Some(successor);
                hole_is_left = false;
            } else {
                hole_parent = successor_parent;
                hole_is_left = true;
                if let Some(above) = successor_parent {
                    rows.links_mut(above).left = child;
                }
                if let Some(child) = child {
                    rows.links_mut(child).parent = successor_parent;
                }
                rows.links_mut(successor).right = Some(right);
                rows.links_mut(right).parent = Some(successor);
            }
            rows.links_mut(successor).left = Some(left);
            rows.links_mut(left).parent = Some(successor);
            put_in_place(rows, root, node, parent, Some(successor));
            rows.set_red(successor, red);
            if hole_parent != Some(successor) {
                recompute_without(rows, hole_parent, successor, Some(successor));
            }
            if rows.recompute(successor) {
                recompute_without(rows, parent, node, None);
            }
        }
        (child, None) | (None, child) => {
            hole_is_left = parent.is_some_and(|parent| rows.links(parent).left == Some(node));
            put_in_place(rows, root, node, parent, child);
            hole_parent = parent;
            filler = child;
            lost_black = !red;
            recompute_without(rows, parent, node, None);
        }
    }
    if lost_black {
        match filler {
            Some(filler) if rows.is_red(filler) => rows.set_red(filler, false),
            _ => remove_fixup(rows, root, hole_parent, hole_is_left),
        }
    }
}

/// Puts `new` (or nothing) in the place of `old` below `parent`.
#[inline]
fn put_in_place<I: TypedIndex>(
    rows: &mut impl RowsMut<I>,
    root: &mut Root<I>,
    old: I,
    parent: Option<I>,
    new: Option<I>,
) {
    match parent {
        None => root.root = new,
        Some(parent) => {
            let links = rows.links_mut(parent);
            if links.left == Some(old) {
                links.left = new;
            } else {
                links.right = new;
            }
        }
    }
    if let Some(new) = new {
        rows.links_mut(new).parent = parent;
    }
}

/// Repairs the tree when the paths through the left (or right) child of `hole` lack a black node.
fn remove_fixup<I: TypedIndex>(
    rows: &mut impl RowsMut<I>,
    root: &mut Root<I>,
    hole: Option<I>,
    is_left: bool,
) {
    let (mut hole, mut is_left) = (hole, is_left);
    // Where a black node is missing on one side, there is a sibling on the other.
    while let Some(parent) = hole
        && let Some(mut sibling) = rows.links(parent).child(!is_left)
    {
        if rows.is_red(sibling) {
            rows.set_red(sibling, false);
            rows.set_red(parent, true);
            rotate(rows, root, parent, is_left);
            // A red node on such a path has two children.
            let Some(nephew) = rows.links(parent).child(!is_left) else {
                return;
            };
            sibling = nephew;
        }
        let is_red = |rows: &_, node: Option<I>| node.is_some_and(|node| Rows::is_red(rows, node));
        let links = *rows.links(sibling);
        if !is_red(rows, links.child(!is_left)) {
            let near = links.child(is_left).filter(|&near| rows.is_red(near));
            let Some(near) = near else {
                rows.set_red(sibling, true);
                if rows.is_red(parent) {
                    rows.set_red(parent, false);
                    return;
                }
                hole = rows.links(parent).parent;
                is_left = hole.is_some_and(|above| rows.links(above).left == Some(parent));
                continue;
            };
            rows.set_red(near, false);
            rows.set_red(sibling, true);
            rotate(rows, root, sibling, !is_left);
            sibling = near;
        }
        rows.set_red(sibling, rows.is_red(parent));
        rows.set_red(parent, false);
        if let Some(far) = rows.links(sibling).child(!is_left) {
            rows.set_red(far, false);
        }
        rotate(rows, root, parent, is_left);
        return;
    }
}

/// Rotates `top` down, to the left or to the right. The child that moves up must exist.
fn rotate<I: TypedIndex>(rows: &mut impl RowsMut<I>, root: &mut Root<I>, top: I, to_left: bool) {
    let links = rows.links_mut(top);
    let parent = links.parent;
    let Some(new_top) = links.child(!to_left) else {
        return;
    };
    links.parent = Some(new_top);
    let above = rows.links_mut(new_top);
    let middle = above.child(to_left);
    if to_left {
        above.left = Some(top);
        rows.links_mut(top).right = middle;
    } else {
        above.right = Some(top);
        rows.links_mut(top).left = middle;
    }
    if let Some(middle) = middle {
        rows.links_mut(middle).parent = Some(top);
    }
    put_in_place(rows, root, top, parent, Some(new_top));
    rows.hand_over(top, new_top);
    rows.recompute(top);
}

/// Checks that a tree is ordered, balanced and linked in both directions. Returns the number of
/// nodes.
///
/// # Errors
/// The invariant that does not hold.
pub fn audit<I: TypedIndex>(rows: &impl Rows<I>, root: &Root<I>) -> Result<usize, &'static str> {
    let mut count = 0;
    let mut at = root.root.map(|top| first_below(rows, top));
    if at != root.leftmost {
        return Err("the cached leftmost node is not the leftmost");
    }
    if root.root.is_some_and(|top| rows.is_red(top)) {
        return Err("the root is red");
    }
    black_height(rows, root.root)?;
    let mut last: Option<u64> = None;
    while let Some(node) = at {
        let key = rows.key(node);
        if last.is_some_and(|last| (key.wrapping_sub(last) as i64) < 0) {
            return Err("the tree is out of order");
        }
        last = Some(key);
        count += 1;
        at = next(rows, node);
    }
    Ok(count)
}

fn black_height<I: TypedIndex>(rows: &impl Rows<I>, top: Option<I>) -> Result<u32, &'static str> {
    let Some(node) = top else {
        return Ok(1);
    };
    let links = rows.links(node);
    for child in [links.left, links.right].into_iter().flatten() {
        if rows.links(child).parent != Some(node) {
            return Err("a child has a wrong parent link");
        }
        if rows.is_red(node) && rows.is_red(child) {
            return Err("a red node has a red child");
        }
    }
    let left = black_height(rows, links.left)?;
    if left != black_height(rows, links.right)? {
        return Err("paths differ in black nodes");
    }
    Ok(left + u32::from(!rows.is_red(node)))
}

/// A table of nodes for classes that keep nothing else in the tree: keys and links.
#[derive(Clone, Debug)]
pub struct Nodes<I> {
    nodes: IndexVec<I, Node<I>>,
}

/// A row of [`Nodes`]. Its alignment keeps it within one cache line: in a large tree every node on
/// the way down is a cache miss.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Node<I> {
    key: u64,
    links: Links<I>,
    red: bool,
}

impl<I: TypedIndex> Default for Nodes<I> {
    fn default() -> Nodes<I> {
        Nodes::new()
    }
}

impl<I: TypedIndex> Nodes<I> {
    /// Creates an empty table.
    pub const fn new() -> Nodes<I> {
        Nodes { nodes: IndexVec::new() }
    }

    /// Makes room for entities below `count`.
    pub fn make_room(&mut self, count: usize) {
        if self.nodes.len() < count {
            let idle = || Node { key: 0, links: Links::default(), red: false };
            self.nodes.resize_with(count, idle);
        }
    }

    /// Returns the key under which `node` was inserted.
    #[inline]
    pub fn key(&self, node: I) -> u64 {
        self.nodes[node].key
    }

    /// Returns the entity after `node` in the tree's order, if any.
    pub fn next(&self, node: I) -> Option<I> {
        next(self, node)
    }

    /// Inserts `node` at `key`, to the right of equals.
    #[inline]
    pub fn insert(&mut self, root: &mut Root<I>, node: I, key: u64) {
        self.nodes[node].key = key;
        insert(self, root, node);
    }

    /// Removes `node` from the tree.
    #[inline]
    pub fn remove(&mut self, root: &mut Root<I>, node: I) {
        remove(self, root, node);
    }

    /// Checks a tree. Returns the number of nodes.
    ///
    /// # Errors
    /// The invariant that does not hold.
    pub fn audit(&self, root: &Root<I>) -> Result<usize, &'static str> {
        audit(self, root)
    }
}

impl<I: TypedIndex> Rows<I> for Nodes<I> {
    #[inline]
    fn key(&self, node: I) -> u64 {
        self.nodes[node].key
    }
    #[inline]
    fn links(&self, node: I) -> &Links<I> {
        &self.nodes[node].links
    }
    #[inline]
    fn is_red(&self, node: I) -> bool {
        self.nodes[node].red
    }
}

impl<I: TypedIndex> RowsMut<I> for Nodes<I> {
    #[inline]
    fn links_mut(&mut self, node: I) -> &mut Links<I> {
        &mut self.nodes[node].links
    }
    #[inline]
    fn set_red(&mut self, node: I, red: bool) {
        self.nodes[node].red = red;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use alloc::vec::Vec;

    schedlab_core::define_index! {
        /// A node of the tests.
        struct NodeId;
    }

    /// Maintains the minimum of `own` for each subtree.
    struct Least {
        nodes: Nodes<NodeId>,
        own: IndexVec<NodeId, u64>,
        least: IndexVec<NodeId, u64>,
    }

    impl Rows<NodeId> for Least {
        fn key(&self, node: NodeId) -> u64 {
            self.nodes.key(node)
        }
        fn links(&self, node: NodeId) -> &Links<NodeId> {
            self.nodes.links(node)
        }
        fn is_red(&self, node: NodeId) -> bool {
            self.nodes.is_red(node)
        }
    }

    impl RowsMut<NodeId> for Least {
        fn links_mut(&mut self, node: NodeId) -> &mut Links<NodeId> {
            self.nodes.links_mut(node)
        }
        fn set_red(&mut self, node: NodeId, red: bool) {
            self.nodes.set_red(node, red);
        }
        fn recompute(&mut self, node: NodeId) -> bool {
            let mut least = self.own[node];
            let links = *self.nodes.links(node);
            for child in [links.left, links.right].into_iter().flatten() {
                least = least.min(self.least[child]);
            }
            core::mem::replace(&mut self.least[node], least) != least
        }
        fn hand_over(&mut self, old: NodeId, new: NodeId) {
            self.least[new] = self.least[old];
        }
    }

    #[test]
    fn a_tree_agrees_with_a_sorted_list_under_random_use() {
        let mut random = Random(1);
        let count = 300;
        let mut root = Root::default();
        let mut least = Least {
            nodes: Nodes::new(),
            own: (0..count as u64).map(|i| i * 7919 % 301).collect(),
            least: core::iter::repeat_n(0, count).collect(),
        };
        least.nodes.make_room(count);
        let mut model: Vec<(i64, NodeId)> = Vec::new();
        for _ in 0..20_000 {
            let node = NodeId::new(random.below(count as u64) as usize);
            if let Some(place) = model.iter().position(|&(_, other)| other == node) {
                remove(&mut least, &mut root, node);
                model.remove(place);
            } else {
                // Around 0, so that keys wrap.
                let key = random.below(40) as i64 - 20;
                least.least[node] = least.own[node];
                least.nodes.nodes[node].key = key as u64;
                insert(&mut least, &mut root, node);
                let place = model.partition_point(|&(other, _)| other <= key);
                model.insert(place, (key, node));
            }
            assert_eq!(audit(&least, &root), Ok(model.len()));
            assert_eq!(root.leftmost(), model.first().map(|&(_, node)| node));
            assert_eq!(root.rightmost(), model.last().map(|&(_, node)| node));
            let mut at = root.leftmost();
            for &(_, expected) in &model {
                assert_eq!(at, Some(expected));
                at = next(&least, expected);
            }
            let expected = model.iter().map(|&(_, node)| least.own[node]).min();
            assert_eq!(root.top().map(|top| least.least[top]), expected);
        }
    }
}
