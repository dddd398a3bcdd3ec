//! Objects that policies create, and the trees and lists that hold them.
//!
//! A tree is stored as its nodes in order. `add` calls the policy's comparison in a binary search.
//! A node that is equal to others is inserted after them.

use crate::act::Act;
use crate::memory::{self, address, code_number};
use crate::vm::{Fault, Outcome};

pub(super) fn obj_new(act: &mut Act<'_>, [ty, ..]: [u64; 5]) -> Outcome {
    let size = u32::try_from(ty).ok().and_then(|ty| act.w.image.btf.size_of(ty));
    let Some(size) = size.filter(|&size| size > 0) else {
        return Err(Fault::new(format!("bpf_obj_new of type {ty}, which has no size")));
    };
    let size = size.next_multiple_of(8);
    let free = act.w.heap_free.get_mut(&size).and_then(Vec::pop);
    let at = match free {
        Some(at) => at,
        None => {
            let end = act.w.vm.memory.size(memory::HEAP);
            if end + size as usize > 1 << 30 {
                return Ok(0);
            }
            act.w.vm.memory.grow(memory::HEAP, end + size as usize);
            address(memory::HEAP, end as u32)
        }
    };
    if let Some(place) = act.w.vm.memory.slice_mut(at, size as usize) {
        place.fill(0);
    }
    act.w.heap.insert(at, (size, 1));
    Ok(at)
}

pub(super) fn obj_drop(act: &mut Act<'_>, [at, ..]: [u64; 5]) -> Outcome {
    let Some((size, refs)) = act.w.heap.get_mut(&at) else {
        return Err(Fault::new(format!("bpf_obj_drop of {at:#x}, which is not an object")));
    };
    *refs -= 1;
    if *refs == 0 {
        let size = *size;
        act.w.heap.remove(&at);
        act.w.heap_free.entry(size).or_default().push(at);
    }
    Ok(0)
}

pub(super) fn refcount_acquire(act: &mut Act<'_>, [at, ..]: [u64; 5]) -> Outcome {
    match act.w.heap.get_mut(&at) {
        Some((_, refs)) => {
            *refs = refs.saturating_add(1);
            Ok(at)
        }
        None => Ok(0),
    }
}

pub(super) fn rbtree_add(act: &mut Act<'_>, [root, node, less, ..]: [u64; 5]) -> Outcome {
    let Some(less) = code_number(less) else {
        return Err(Fault::new(format!(
            "bpf_rbtree_add compares by {less:#x}, which is not a function"
        )));
    };
    if act.w.in_tree.contains_key(&node) {
        return Ok(crate::errno::EINVAL as u64);
    }
    let (mut low, mut high) = (0, act.w.nodes.get(&root).map_or(0, |nodes| nodes.len()));
    while low < high {
        let middle = low.midpoint(high);
        let Some(&other) = act.w.nodes.get(&root).and_then(|nodes| nodes.get(middle)) else {
            break;
        };
        act.p.work.levels += 1;
        if act.run(less, [node, other, 0, 0, 0])? & 0xff != 0 {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    let nodes = act.w.nodes.entry(root).or_default();
    nodes.insert(low.min(nodes.len()), node);
    act.w.in_tree.insert(node, root);
    Ok(0)
}

pub(super) fn rbtree_remove(act: &mut Act<'_>, [root, node, ..]: [u64; 5]) -> Outcome {
    if act.w.in_tree.get(&node) != Some(&root) {
        return Ok(0);
    }
    act.w.in_tree.remove(&node);
    let Some(nodes) = act.w.nodes.get_mut(&root) else { return Ok(0) };
    match nodes.iter().position(|&other| other == node) {
        Some(at) => {
            nodes.remove(at);
            Ok(node)
        }
        None => Ok(0),
    }
}

pub(super) fn first(act: &mut Act<'_>, [root, ..]: [u64; 5]) -> Outcome {
    Ok(act.w.nodes.get(&root).and_then(|nodes| nodes.front()).copied().unwrap_or(0))
}

pub(super) fn push_front(act: &mut Act<'_>, [head, node, ..]: [u64; 5]) -> Outcome {
    act.w.nodes.entry(head).or_default().push_front(node);
    Ok(0)
}

pub(super) fn push_back(act: &mut Act<'_>, [head, node, ..]: [u64; 5]) -> Outcome {
    act.w.nodes.entry(head).or_default().push_back(node);
    Ok(0)
}

pub(super) fn pop_front(act: &mut Act<'_>, [head, ..]: [u64; 5]) -> Outcome {
    Ok(act.w.nodes.get_mut(&head).and_then(|nodes| nodes.pop_front()).unwrap_or(0))
}

pub(super) fn pop_back(act: &mut Act<'_>, [head, ..]: [u64; 5]) -> Outcome {
    Ok(act.w.nodes.get_mut(&head).and_then(|nodes| nodes.pop_back()).unwrap_or(0))
}
