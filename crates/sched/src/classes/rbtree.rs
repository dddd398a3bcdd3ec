//! A red-black tree over numbered rows: the timeline of the fair classes.
//!
//! # Why a tree, and why this one
//!
//! A fair class must find the entity that is furthest behind, put another in at its place, and take
//! any of them out: O(log n) each. The leftmost entity is cached, so that looking at it costs
//! nothing.
//!
//! Rows are entities, by number; the links of all trees stand in one pool ([`Nodes`]) and a tree is
//! no more than its [`Root`]. Keys are virtual times, which wrap: `a` comes before `b` if the
//! difference `a - b`, taken as signed, is negative. An entity goes to the right of all with an
//! equal key, so that equals keep the order in which they came.
//!
//! # Augmentation
//!
//! A class may keep something about each subtree (the smallest of something in it) in a table of
//! its own. [`Augment`] is told when a node's subtree has changed. The order of these calls, and
//! the shape of the tree, are those of the textbook's algorithms (insertion and deletion by
//! recolouring and rotating; a node with two children is replaced by its in-order successor), which
//! the kernel follows too: both are visible where a class keeps inexact minima or breaks ties by
//! shape.

use alloc::vec::Vec;

/// No node.
pub const NIL: u32 = u32::MAX;

/// Links of one entity. So aligned that none lies across two cache lines: in a large tree every
/// node on the way is a cache miss.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Node {
    key: u64,
    parent: u32,
    left: u32,
    right: u32,
    red: bool,
}

/// A tree: its root, its first and its last node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Root {
    root: u32,
    leftmost: u32,
    rightmost: u32,
}

impl Default for Root {
    fn default() -> Root {
        Root { root: NIL, leftmost: NIL, rightmost: NIL }
    }
}

impl Root {
    /// The entity with the smallest key, the one that came first among equals; [`NIL`] if the tree
    /// is empty.
    #[inline]
    pub fn leftmost(&self) -> u32 {
        self.leftmost
    }

    /// The entity with the largest key, the one that came last among equals; [`NIL`] if the tree is
    /// empty.
    #[inline]
    pub fn rightmost(&self) -> u32 {
        self.rightmost
    }

    /// The topmost node, [`NIL`] if the tree is empty.
    #[inline]
    pub fn top(&self) -> u32 {
        self.root
    }

    /// Whether nothing is in the tree.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.root == NIL
    }
}

/// What a class keeps about each subtree.
pub trait Augment {
    /// The children of `node`, or what is below them, have changed: works out anew what is kept
    /// about `node`. Whether that changed anything.
    fn recompute(&mut self, nodes: &Nodes, node: u32) -> bool;

    /// `new` has taken the place of `old`, with the children of `old` still to be handed over.
    fn replace(&mut self, old: u32, new: u32);

    /// `top` has been rotated into the place of `old_top`, which is now its child. Both have their
    /// new links.
    fn rotate(&mut self, nodes: &Nodes, old_top: u32, top: u32);
}

/// Nothing is kept.
impl Augment for () {
    #[inline]
    fn recompute(&mut self, _: &Nodes, _: u32) -> bool {
        false
    }
    #[inline]
    fn replace(&mut self, _: u32, _: u32) {}
    #[inline]
    fn rotate(&mut self, _: &Nodes, _: u32, _: u32) {}
}

/// The links of all entities, in whatever tree they are.
#[derive(Clone, Debug, Default)]
pub struct Nodes {
    nodes: Vec<Node>,
}

impl Nodes {
    /// No entities.
    pub const fn new() -> Nodes {
        Nodes { nodes: Vec::new() }
    }

    /// Makes room for entities below `count`.
    pub fn make_room(&mut self, count: usize) {
        if self.nodes.len() < count {
            self.nodes
                .resize(count, Node { key: 0, parent: NIL, left: NIL, right: NIL, red: false });
        }
    }

    /// The key under which `node` was inserted.
    #[inline]
    pub fn key(&self, node: u32) -> u64 {
        self.nodes[node as usize].key
    }

    /// The left child, or [`NIL`].
    #[inline]
    pub fn left(&self, node: u32) -> u32 {
        self.nodes[node as usize].left
    }

    /// The right child, or [`NIL`].
    #[inline]
    pub fn right(&self, node: u32) -> u32 {
        self.nodes[node as usize].right
    }

    /// The parent, or [`NIL`].
    #[inline]
    pub fn parent(&self, node: u32) -> u32 {
        self.nodes[node as usize].parent
    }

    /// The entity after `node` in the tree's order, or [`NIL`].
    pub fn next(&self, node: u32) -> u32 {
        let right = self.right(node);
        if right != NIL {
            return self.first_below(right);
        }
        let mut node = node;
        loop {
            let parent = self.parent(node);
            if parent == NIL || self.left(parent) == node {
                return parent;
            }
            node = parent;
        }
    }

    /// The entity before `node` in the tree's order, or [`NIL`].
    fn previous(&self, node: u32) -> u32 {
        let mut before = self.left(node);
        if before != NIL {
            while self.right(before) != NIL {
                before = self.right(before);
            }
            return before;
        }
        let mut node = node;
        loop {
            let parent = self.parent(node);
            if parent == NIL || self.right(parent) == node {
                return parent;
            }
            node = parent;
        }
    }

    fn first_below(&self, mut node: u32) -> u32 {
        while self.left(node) != NIL {
            node = self.left(node);
        }
        node
    }

    /// Puts `new` into the tree at `key`, to the right of equals. What is kept about `new` must
    /// already be its own.
    #[inline]
    pub fn insert(&mut self, root: &mut Root, new: u32, key: u64, augment: &mut impl Augment) {
        let (parent, left) = self.place_of(root, key);
        self.nodes[new as usize] = Node { key, parent, left: NIL, right: NIL, red: true };
        if parent == root.leftmost && (left || parent == NIL) {
            root.leftmost = new;
        }
        if parent == root.rightmost && !left {
            root.rightmost = new;
        }
        if parent == NIL {
            root.root = new;
        } else if left {
            self.nodes[parent as usize].left = new;
        } else {
            self.nodes[parent as usize].right = new;
        }
        self.recompute_upward(parent, NIL, augment);
        self.insert_fixup(root, new, augment);
    }

    /// Below which node, and whether on its left, one with this key belongs. Going down a large
    /// tree costs a cache miss for each node, and many come last, so that the ends are looked at
    /// first.
    #[inline]
    fn place_of(&self, root: &Root, key: u64) -> (u32, bool) {
        let is_before = |node: u32| (key.wrapping_sub(self.key(node)) as i64) < 0;
        if root.root == NIL || !is_before(root.rightmost) {
            return (root.rightmost, false);
        }
        let mut parent = NIL;
        let mut node = root.root;
        let mut left = false;
        while node != NIL {
            parent = node;
            left = is_before(node);
            node = if left { self.left(node) } else { self.right(node) };
        }
        (parent, left)
    }

    /// Works out anew what is kept about `node` and its ancestors below `stop`, as far up as
    /// anything changes.
    pub fn recompute_upward(&self, mut node: u32, stop: u32, augment: &mut impl Augment) {
        while node != stop && augment.recompute(self, node) {
            node = self.parent(node);
        }
    }

    fn insert_fixup(&mut self, root: &mut Root, mut node: u32, augment: &mut impl Augment) {
        loop {
            let parent = self.parent(node);
            if parent == NIL {
                self.nodes[node as usize].red = false;
                return;
            }
            if !self.is_red(parent) {
                return;
            }
            let grandparent = self.parent(parent);
            let parent_is_left = self.left(grandparent) == parent;
            let uncle = self.child(grandparent, !parent_is_left);
            if uncle != NIL && self.is_red(uncle) {
                self.nodes[parent as usize].red = false;
                self.nodes[uncle as usize].red = false;
                self.nodes[grandparent as usize].red = true;
                node = grandparent;
                continue;
            }
            let mut top = parent;
            if self.child(parent, !parent_is_left) == node {
                self.rotate(root, parent, parent_is_left, augment);
                top = node;
            }
            self.nodes[top as usize].red = false;
            self.nodes[grandparent as usize].red = true;
            self.rotate(root, grandparent, !parent_is_left, augment);
            return;
        }
    }

    /// Takes `node` out of the tree.
    #[inline]
    pub fn remove(&mut self, root: &mut Root, node: u32, augment: &mut impl Augment) {
        if root.leftmost == node {
            root.leftmost = self.next(node);
        }
        if root.rightmost == node {
            root.rightmost = self.previous(node);
        }
        let Node { parent, left, right, red, .. } = self.nodes[node as usize];
        // Where a black node is missing now: below `hole_parent`, on its left or right; and the
        // child that fills the gap.
        let (hole_parent, hole_is_left, filler, lost_black);
        if left == NIL || right == NIL {
            let child = if left == NIL { right } else { left };
            hole_is_left = parent != NIL && self.left(parent) == node;
            self.put_in_place(root, node, parent, child);
            hole_parent = parent;
            filler = child;
            lost_black = !red;
            self.recompute_upward(parent, NIL, augment);
        } else {
            let successor = self.first_below(right);
            let successor_parent = self.parent(successor);
            let child = self.right(successor);
            lost_black = !self.is_red(successor);
            filler = child;
            augment.replace(node, successor);
            if successor_parent == node {
                hole_parent = successor;
                hole_is_left = false;
            } else {
                hole_parent = successor_parent;
                hole_is_left = true;
                self.nodes[successor_parent as usize].left = child;
                if child != NIL {
                    self.nodes[child as usize].parent = successor_parent;
                }
                self.nodes[successor as usize].right = right;
                self.nodes[right as usize].parent = successor;
            }
            self.nodes[successor as usize].left = left;
            self.nodes[left as usize].parent = successor;
            self.put_in_place(root, node, parent, successor);
            self.nodes[successor as usize].red = red;
            if hole_parent != successor {
                self.recompute_upward(hole_parent, successor, augment);
            }
            self.recompute_upward(successor, NIL, augment);
        }
        if lost_black {
            if filler != NIL && self.is_red(filler) {
                self.nodes[filler as usize].red = false;
            } else {
                self.remove_fixup(root, hole_parent, hole_is_left, augment);
            }
        }
    }

    /// Makes `new` (or nothing) stand where `old` stood below `parent`.
    fn put_in_place(&mut self, root: &mut Root, old: u32, parent: u32, new: u32) {
        if parent == NIL {
            root.root = new;
        } else if self.left(parent) == old {
            self.nodes[parent as usize].left = new;
        } else {
            self.nodes[parent as usize].right = new;
        }
        if new != NIL {
            self.nodes[new as usize].parent = parent;
        }
    }

    /// The paths through the left (or right) child of `parent` lack a black node.
    fn remove_fixup(
        &mut self,
        root: &mut Root,
        parent: u32,
        is_left: bool,
        augment: &mut impl Augment,
    ) {
        let (mut parent, mut is_left) = (parent, is_left);
        while parent != NIL {
            let mut sibling = self.child(parent, !is_left);
            if self.is_red(sibling) {
                self.nodes[sibling as usize].red = false;
                self.nodes[parent as usize].red = true;
                self.rotate(root, parent, is_left, augment);
                sibling = self.child(parent, !is_left);
            }
            let far = self.child(sibling, !is_left);
            if far == NIL || !self.is_red(far) {
                let near = self.child(sibling, is_left);
                if near == NIL || !self.is_red(near) {
                    self.nodes[sibling as usize].red = true;
                    if self.is_red(parent) {
                        self.nodes[parent as usize].red = false;
                        return;
                    }
                    let above = self.parent(parent);
                    is_left = above != NIL && self.left(above) == parent;
                    parent = above;
                    continue;
                }
                self.nodes[near as usize].red = false;
                self.nodes[sibling as usize].red = true;
                self.rotate(root, sibling, !is_left, augment);
                sibling = near;
            }
            let far = self.child(sibling, !is_left);
            self.nodes[sibling as usize].red = self.is_red(parent);
            self.nodes[parent as usize].red = false;
            self.nodes[far as usize].red = false;
            self.rotate(root, parent, is_left, augment);
            return;
        }
    }

    #[inline]
    fn is_red(&self, node: u32) -> bool {
        self.nodes[node as usize].red
    }

    #[inline]
    fn child(&self, node: u32, left: bool) -> u32 {
        if left { self.left(node) } else { self.right(node) }
    }

    /// Rotates `top` down, to the left or to the right.
    fn rotate(&mut self, root: &mut Root, top: u32, to_left: bool, augment: &mut impl Augment) {
        let new_top = self.child(top, !to_left);
        let middle = self.child(new_top, to_left);
        if to_left {
            self.nodes[top as usize].right = middle;
            self.nodes[new_top as usize].left = top;
        } else {
            self.nodes[top as usize].left = middle;
            self.nodes[new_top as usize].right = top;
        }
        if middle != NIL {
            self.nodes[middle as usize].parent = top;
        }
        let parent = self.parent(top);
        self.put_in_place(root, top, parent, new_top);
        self.nodes[top as usize].parent = new_top;
        augment.rotate(self, top, new_top);
    }

    /// Checks that the tree is ordered, balanced and linked in both directions. Returns how many
    /// nodes it has.
    ///
    /// # Errors
    /// What is wrong.
    pub fn audit(&self, root: &Root) -> Result<usize, &'static str> {
        let mut count = 0;
        let mut node = if root.root == NIL { NIL } else { self.first_below(root.root) };
        if node != root.leftmost {
            return Err("the cached leftmost node is not the leftmost");
        }
        if root.root != NIL && self.is_red(root.root) {
            return Err("the root is red");
        }
        self.black_height(root.root)?;
        let mut last: Option<u64> = None;
        while node != NIL {
            if last.is_some_and(|last| (self.key(node).wrapping_sub(last) as i64) < 0) {
                return Err("the tree is out of order");
            }
            last = Some(self.key(node));
            count += 1;
            node = self.next(node);
        }
        Ok(count)
    }

    fn black_height(&self, node: u32) -> Result<u32, &'static str> {
        if node == NIL {
            return Ok(1);
        }
        for child in [self.left(node), self.right(node)] {
            if child != NIL && self.parent(child) != node {
                return Err("a child does not know its parent");
            }
            if child != NIL && self.is_red(node) && self.is_red(child) {
                return Err("a red node has a red child");
            }
        }
        let left = self.black_height(self.left(node))?;
        if left != self.black_height(self.right(node))? {
            return Err("paths differ in black nodes");
        }
        Ok(left + u32::from(!self.is_red(node)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Keeps the smallest of `own` in each subtree.
    struct Least {
        own: Vec<u64>,
        least: Vec<u64>,
    }

    impl Augment for Least {
        fn recompute(&mut self, nodes: &Nodes, node: u32) -> bool {
            let mut least = self.own[node as usize];
            for child in [nodes.left(node), nodes.right(node)] {
                if child != NIL {
                    least = least.min(self.least[child as usize]);
                }
            }
            core::mem::replace(&mut self.least[node as usize], least) != least
        }
        fn replace(&mut self, old: u32, new: u32) {
            self.least[new as usize] = self.least[old as usize];
        }
        fn rotate(&mut self, nodes: &Nodes, old_top: u32, top: u32) {
            self.least[top as usize] = self.least[old_top as usize];
            self.recompute(nodes, old_top);
        }
    }

    #[test]
    fn a_tree_agrees_with_a_sorted_list_under_random_use() {
        let mut random = Random(1);
        let count = 300;
        let mut nodes = Nodes::new();
        nodes.make_room(count);
        let mut root = Root::default();
        let mut least = Least {
            own: (0..count as u64).map(|i| i * 7919 % 301).collect(),
            least: alloc::vec![0; count],
        };
        let mut model: Vec<(i64, u32)> = Vec::new();
        for _ in 0..20_000 {
            let node = random.below(count as u64) as u32;
            if let Some(place) = model.iter().position(|&(_, other)| other == node) {
                nodes.remove(&mut root, node, &mut least);
                model.remove(place);
            } else {
                // Around 0, so that keys wrap.
                let key = random.below(40) as i64 - 20;
                least.least[node as usize] = least.own[node as usize];
                nodes.insert(&mut root, node, key as u64, &mut least);
                let place = model.partition_point(|&(other, _)| other <= key);
                model.insert(place, (key, node));
            }
            assert_eq!(nodes.audit(&root), Ok(model.len()));
            assert_eq!(root.leftmost(), model.first().map_or(NIL, |&(_, node)| node));
            assert_eq!(root.rightmost(), model.last().map_or(NIL, |&(_, node)| node));
            let mut node = root.leftmost();
            for &(_, expected) in &model {
                assert_eq!(node, expected);
                node = nodes.next(node);
            }
            if !root.is_empty() {
                let expected = model.iter().map(|&(_, node)| least.own[node as usize]).min();
                assert_eq!(Some(least.least[root.top() as usize]), expected);
            }
        }
    }
}
