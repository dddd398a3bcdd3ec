//! Dispatch queues: insertion, moves, iteration.

use crate::act::Act;
use crate::dsq::Walk;
use crate::errno::{EINVAL, ENOENT};
use crate::kernel_types::{ENQ_DSQ_PRIQ, ENQ_REENQ};
use crate::ops::Context;
use crate::vm::{Fault, Outcome};
use schedlab_core::CpuId;

/// Flag of an iteration from the end (`SCX_DSQ_ITER_REV`).
const REVERSED: u64 = 0x10000;

/// Returns the task at an address that a policy passed.
pub(super) fn task(act: &Act<'_>, at: u64) -> Result<u32, Box<Fault>> {
    act.w.task_at(at).ok_or_else(|| Fault::new(format!("{at:#x} is not a task")))
}

pub(super) fn create_dsq(act: &mut Act<'_>, [id, node, ..]: [u64; 5]) -> Outcome {
    let nodes = 1
        + (0..act.w.nr_cpus()).map(|cpu| act.w.topology.place(CpuId(cpu)).node).max().unwrap_or(0);
    let node = node as i32;
    if node >= nodes as i32 || node < -1 {
        return Ok(EINVAL as u64);
    }
    if act.w.context != Context::Sleepable {
        act.error(format!("scx_bpf_create_dsq() cannot be called from {}", act.w.callback));
        return Ok(EINVAL as u64);
    }
    Ok(act.create_dsq(id).err().unwrap_or(0) as u64)
}

pub(super) fn destroy_dsq(act: &mut Act<'_>, [id, ..]: [u64; 5]) -> Outcome {
    act.destroy_dsq(id);
    Ok(0)
}

pub(super) fn dsq_insert(act: &mut Act<'_>, [p, dsq, slice, flags, _]: [u64; 5]) -> Outcome {
    let row = task(act, p)?;
    act.insert(row, dsq, slice, None, flags);
    Ok(0)
}

pub(super) fn dsq_insert_vtime(
    act: &mut Act<'_>,
    [p, dsq, slice, vtime, flags]: [u64; 5],
) -> Outcome {
    let row = task(act, p)?;
    act.insert(row, dsq, slice, Some(vtime), flags);
    Ok(0)
}

/// Returns the policy's queue with an id, for functions that accept no built-in queue.
fn user_queue(act: &mut Act<'_>, id: u64) -> Option<u32> {
    let queue = act.w.queue_of.get(&id).copied();
    if queue.is_none() {
        act.error(format!("invalid DSQ ID {id:#018x}"));
    }
    queue
}

pub(super) fn move_to_local(act: &mut Act<'_>, [id, ..]: [u64; 5]) -> Outcome {
    if act.w.context != Context::Dispatch {
        let callback = act.w.callback;
        act.error(format!("scx_bpf_dsq_move_to_local() cannot be called from {callback}"));
        return Ok(0);
    }
    let cpu = act.w.cpu;
    act.flush(cpu);
    let Some(queue) = user_queue(act, id) else { return Ok(0) };
    Ok(u64::from(act.consume(queue, cpu)))
}

pub(super) fn nr_queued(act: &mut Act<'_>, [id, ..]: [u64; 5]) -> Outcome {
    use crate::kernel_types::{DSQ_BUILTIN, DSQ_GLOBAL, DSQ_LOCAL};
    let queue = match id {
        DSQ_LOCAL => Some(act.w.cpu),
        DSQ_GLOBAL => Some(act.w.global()),
        id if id & DSQ_BUILTIN != 0 => Some(id as u32).filter(|&cpu| cpu < act.w.nr_cpus()),
        id => act.w.queue_of.get(&id).copied(),
    };
    let cpu = act.w.cpu;
    let seen = |queue: u32| {
        let hidden = if act.w.put_backs.is_empty() {
            0
        } else {
            let entries = act.w.queues[queue as usize].iter();
            entries.filter(|entry| act.is_hidden(entry.task, cpu)).count()
        };
        (act.w.queues[queue as usize].len() - hidden) as u64
    };
    Ok(queue.map_or(ENOENT as u64, seen))
}

pub(super) fn peek(act: &mut Act<'_>, [id, ..]: [u64; 5]) -> Outcome {
    let Some(queue) = user_queue(act, id) else { return Ok(0) };
    let first = act.w.queues[queue as usize].front().map(|entry| entry.task);
    Ok(first.map_or(0, |row| act.w.task_address(row)))
}

pub(super) fn iter_new(act: &mut Act<'_>, [it, id, flags, ..]: [u64; 5]) -> Outcome {
    act.w.walks.remove(&it);
    if flags & !REVERSED != 0 {
        return Ok(EINVAL as u64);
    }
    let Some(&queue) = act.w.queue_of.get(&id) else { return Ok(ENOENT as u64) };
    let reversed = flags & REVERSED != 0;
    let stamp = act.w.stamps + 1;
    act.w.walks.insert(it, Walk { queue, stamp, reversed, at: None, slice: None, vtime: None });
    Ok(0)
}

pub(super) fn iter_next(act: &mut Act<'_>, [it, ..]: [u64; 5]) -> Outcome {
    loop {
        let Some(walk) = act.w.walks.get_mut(&it) else { return Ok(0) };
        let queue = &act.w.queues[walk.queue as usize];
        let Some(entry) = queue.next(walk.at, walk.stamp, walk.reversed).copied() else {
            return Ok(0);
        };
        act.p.work.scanned += 1;
        walk.at = Some(entry.key);
        if !act.is_hidden(entry.task, act.w.cpu) {
            return Ok(act.w.task_address(entry.task));
        }
    }
}

pub(super) fn iter_destroy(act: &mut Act<'_>, [it, ..]: [u64; 5]) -> Outcome {
    act.w.walks.remove(&it);
    Ok(0)
}

fn move_from(act: &mut Act<'_>, it: u64, p: u64, dsq: u64, flags: u64) -> Outcome {
    let row = task(act, p)?;
    let Some(walk) = act.w.walks.get_mut(&it) else {
        return Err(Fault::new("a task is moved by an iterator that is not on a queue"));
    };
    // The settings hold for one move.
    let (queue, slice, vtime) = (walk.queue, walk.slice.take(), walk.vtime.take());
    let is_there = matches!(
        act.w.tasks[row as usize].holder,
        crate::task::Holder::Queue(held, _) if held == queue
    );
    if !is_there {
        return Ok(0);
    }
    if let Some(slice) = slice {
        act.w.set_slice(row, slice);
    }
    if let Some(vtime) = vtime {
        act.w.set_task_u64(row, act.w.at.vtime, vtime);
    }
    Ok(u64::from(act.move_between(row, queue, dsq, flags)))
}

pub(super) fn dsq_move(act: &mut Act<'_>, [it, p, dsq, flags, _]: [u64; 5]) -> Outcome {
    move_from(act, it, p, dsq, flags)
}

pub(super) fn dsq_move_vtime(act: &mut Act<'_>, [it, p, dsq, flags, _]: [u64; 5]) -> Outcome {
    if dsq & crate::kernel_types::DSQ_BUILTIN != 0 {
        act.error(format!("cannot use vtime ordering for built-in DSQ {dsq:#x}"));
        return Ok(0);
    }
    move_from(act, it, p, dsq, flags | ENQ_DSQ_PRIQ)
}

pub(super) fn move_set_slice(act: &mut Act<'_>, [it, slice, ..]: [u64; 5]) -> Outcome {
    if let Some(walk) = act.w.walks.get_mut(&it) {
        walk.slice = Some(slice);
    }
    Ok(0)
}

pub(super) fn move_set_vtime(act: &mut Act<'_>, [it, vtime, ..]: [u64; 5]) -> Outcome {
    if let Some(walk) = act.w.walks.get_mut(&it) {
        walk.vtime = Some(vtime);
    }
    Ok(0)
}

pub(super) fn nr_slots(act: &mut Act<'_>, _: [u64; 5]) -> Outcome {
    Ok(act.slots_left())
}

pub(super) fn cancel(act: &mut Act<'_>, _: [u64; 5]) -> Outcome {
    if act.w.insertions.pop().is_none() {
        act.error("dispatch buffer underflow");
    }
    Ok(0)
}

/// Gives all tasks of the acting CPU's local queue to the policy again.
pub(super) fn reenqueue_local(act: &mut Act<'_>, _: [u64; 5]) -> Outcome {
    if act.w.context != Context::CpuRelease {
        let callback = act.w.callback;
        act.error(format!("scx_bpf_reenqueue_local() cannot be called from {callback}"));
        return Ok(0);
    }
    let cpu = act.w.cpu;
    let rows: Vec<u32> = act.w.queues[cpu as usize].iter().map(|entry| entry.task).collect();
    for &row in &rows {
        act.take_out(row);
        act.enqueue(row, ENQ_REENQ);
    }
    Ok(rows.len() as u64)
}
