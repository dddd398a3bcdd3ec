//! Idle CPUs: the built-in choice, masks, kicks.

use super::dsq::task;
use crate::act::Act;
use crate::cpu::{MASK_EMPTY, MASK_IDLE, MASK_IDLE_SMT, MASK_NODES, MASK_ONLINE, MASK_POSSIBLE};
use crate::errno::{EBUSY, EINVAL};
use crate::kernel_types::{KICK_IDLE, KICK_PREEMPT, OPS_IDLE_PER_NODE};
use crate::vm::{Fault, Outcome};
use schedlab_core::CpuId;

/// Whether the built-in tracking of idle CPUs is disabled. If so, the policy ends.
fn is_untracked(act: &mut Act<'_>) -> bool {
    if !act.w.tracks_idle {
        act.error("built-in idle tracking is disabled");
    }
    !act.w.tracks_idle
}

/// Checks the number of a CPU that a policy passed. The policy ends if there is no such CPU.
pub(super) fn cpu(act: &mut Act<'_>, number: u64) -> Option<u32> {
    let number = number as i32;
    let cpu = u32::try_from(number).ok().filter(|&cpu| cpu < act.w.nr_cpus());
    if cpu.is_none() {
        act.error(format!("invalid CPU {number}"));
    }
    cpu
}

pub(super) fn select_cpu_dfl(act: &mut Act<'_>, [p, prev, flags, found, _]: [u64; 5]) -> Outcome {
    let row = task(act, p)?;
    let Some(prev) = cpu(act, prev) else { return Ok(EINVAL as u64) };
    if is_untracked(act) {
        return Ok(u64::from(prev));
    }
    let idle = act.select_idle(row, prev, flags, None);
    if act.w.vm.memory.store(found, 1, u64::from(idle.is_some())).is_err() {
        return Err(Fault::new("scx_bpf_select_cpu_dfl cannot store whether it found an idle CPU"));
    }
    Ok(u64::from(idle.unwrap_or(prev)))
}

pub(super) fn select_cpu_and(act: &mut Act<'_>, [p, prev, flags, mask, _]: [u64; 5]) -> Outcome {
    let row = task(act, p)?;
    let Some(prev) = cpu(act, prev) else { return Ok(EINVAL as u64) };
    if is_untracked(act) {
        return Ok(EBUSY as u64);
    }
    let idle = act.select_idle(row, prev, flags, Some(mask));
    Ok(idle.map_or(EBUSY as u64, u64::from))
}

/// Flag: only CPUs of fully idle cores (`SCX_PICK_IDLE_CORE`).
const IDLE_CORE: u64 = 1;
/// Flag: only CPUs of the given node (`SCX_PICK_IDLE_IN_NODE`).
const IN_NODE: u64 = 2;

/// Takes an idle CPU of a mask, preferably of a fully idle core and, if a node is given, of that
/// node.
fn pick(act: &mut Act<'_>, mask: u64, node: Option<u32>, flags: u64) -> Option<u32> {
    let nodes = match node {
        Some(node) if flags & IN_NODE != 0 => vec![Some(node)],
        Some(node) => vec![Some(node), None],
        None => vec![None],
    };
    for node in nodes {
        if let Some(cpu) = act.pick_idle(mask, node, flags & IDLE_CORE != 0) {
            return Some(cpu);
        }
    }
    None
}

/// Whether the function called lacks a node although idle CPUs are tracked by node.
fn needs_node(act: &mut Act<'_>) -> bool {
    let by_node = act.w.image.ops.flags & OPS_IDLE_PER_NODE != 0;
    if by_node {
        act.error("SCX_OPS_BUILTIN_IDLE_PER_NODE enabled");
    }
    by_node
}

pub(super) fn pick_idle_cpu(act: &mut Act<'_>, [mask, flags, ..]: [u64; 5]) -> Outcome {
    if needs_node(act) || is_untracked(act) {
        return Ok(EBUSY as u64);
    }
    Ok(pick(act, mask, None, flags).map_or(EBUSY as u64, u64::from))
}

/// Checks a node that a policy passed. -1 stands for the acting CPU's node.
fn node(act: &mut Act<'_>, number: u64) -> Option<u32> {
    if act.w.image.ops.flags & OPS_IDLE_PER_NODE == 0 {
        act.error("per-node idle tracking is disabled");
        return None;
    }
    let number = number as i32;
    if number == -1 {
        return Some(act.w.topology.place(CpuId(act.w.cpu)).node);
    }
    let node = u32::try_from(number).ok().filter(|&node| node < act.w.nodes_of_memory);
    if node.is_none() {
        act.error(format!("invalid node {number}"));
    }
    node
}

pub(super) fn pick_idle_cpu_node(
    act: &mut Act<'_>,
    [mask, number, flags, ..]: [u64; 5],
) -> Outcome {
    let Some(node) = node(act, number) else { return Ok(EINVAL as u64) };
    if is_untracked(act) {
        return Ok(EBUSY as u64);
    }
    Ok(pick(act, mask, Some(node), flags).map_or(EBUSY as u64, u64::from))
}

pub(super) fn pick_any_cpu_node(act: &mut Act<'_>, [mask, number, flags, ..]: [u64; 5]) -> Outcome {
    let Some(node) = node(act, number) else { return Ok(EINVAL as u64) };
    let idle = if act.w.tracks_idle { pick(act, mask, Some(node), flags) } else { None };
    let any = idle.or_else(|| act.distribute(|act, cpu| act.w.mask_has(mask, cpu)));
    Ok(any.map_or(EBUSY as u64, u64::from))
}

pub(super) fn idle_cpumask_node(act: &mut Act<'_>, [number, ..]: [u64; 5]) -> Outcome {
    let Some(node) = node(act, number) else { return Ok(act.w.mask(MASK_EMPTY)) };
    is_untracked(act);
    Ok(act.w.mask(MASK_NODES + 2 * node))
}

pub(super) fn idle_smtmask_node(act: &mut Act<'_>, [number, ..]: [u64; 5]) -> Outcome {
    let Some(node) = node(act, number) else { return Ok(act.w.mask(MASK_EMPTY)) };
    is_untracked(act);
    Ok(act.w.mask(MASK_NODES + 2 * node + 1))
}

pub(super) fn pick_any_cpu(act: &mut Act<'_>, [mask, flags, ..]: [u64; 5]) -> Outcome {
    if needs_node(act) {
        return Ok(EBUSY as u64);
    }
    let idle = if act.w.tracks_idle { pick(act, mask, None, flags) } else { None };
    let any = idle.or_else(|| act.distribute(|act, cpu| act.w.mask_has(mask, cpu)));
    Ok(any.map_or(EBUSY as u64, u64::from))
}

pub(super) fn test_and_clear_cpu_idle(act: &mut Act<'_>, [number, ..]: [u64; 5]) -> Outcome {
    if is_untracked(act) {
        return Ok(0);
    }
    let Some(cpu) = cpu(act, number) else { return Ok(0) };
    Ok(u64::from(act.take_idle(cpu)))
}

pub(super) fn idle_cpumask(act: &mut Act<'_>, _: [u64; 5]) -> Outcome {
    if needs_node(act) {
        return Ok(act.w.mask(MASK_EMPTY));
    }
    is_untracked(act);
    Ok(act.w.mask(MASK_IDLE))
}

pub(super) fn idle_smtmask(act: &mut Act<'_>, _: [u64; 5]) -> Outcome {
    if needs_node(act) {
        return Ok(act.w.mask(MASK_EMPTY));
    }
    is_untracked(act);
    Ok(act.w.mask(MASK_IDLE_SMT))
}

pub(super) fn online_cpumask(act: &mut Act<'_>, _: [u64; 5]) -> Outcome {
    Ok(act.w.mask(MASK_ONLINE))
}

pub(super) fn possible_cpumask(act: &mut Act<'_>, _: [u64; 5]) -> Outcome {
    Ok(act.w.mask(MASK_POSSIBLE))
}

pub(super) fn kick_cpu(act: &mut Act<'_>, [number, flags, ..]: [u64; 5]) -> Outcome {
    let Some(cpu) = cpu(act, number) else { return Ok(0) };
    let curr = act.w.cpus[cpu as usize].curr;
    if flags & KICK_IDLE != 0 && flags & !KICK_IDLE != 0 {
        act.error(format!("PREEMPT/WAIT cannot be used with SCX_KICK_IDLE, flags {flags:#x}"));
        return Ok(0);
    }
    // A kick has no effect on a CPU that a class above uses: the CPU comes back without it.
    if act.w.cpus[cpu as usize].is_taken {
        return Ok(0);
    }
    if !act.w.cpus[cpu as usize].is_online || (flags & KICK_IDLE != 0 && curr.is_some()) {
        return Ok(0);
    }
    if flags & KICK_PREEMPT != 0
        && let Some(row) = curr
    {
        act.w.set_slice(row, 0);
    }
    act.p.resched(CpuId(cpu));
    Ok(0)
}
