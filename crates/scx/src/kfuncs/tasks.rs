//! Lookups of tasks, groups and CPUs; messages; counting loops.

use super::dsq::task;
use super::idle::cpu;
use crate::act::Act;
use crate::errno::EINVAL;
use crate::helpers::formatted;
use crate::kernel_types::{EXIT_ERROR_BPF, EXIT_UNREG_BPF};
use crate::vm::{Fault, Outcome};
use schedlab_core::CpuId;

/// `SCX_CPUPERF_ONE`: full speed.
const FULL_SPEED: u64 = 1024;

/// First process id of a task.
const FIRST_PID: u64 = 1000;

pub(super) fn task_running(act: &mut Act<'_>, [p, ..]: [u64; 5]) -> Outcome {
    let row = task(act, p)?;
    let on_cpu = act.w.tasks[row as usize].on_cpu;
    Ok(u64::from(on_cpu.is_some_and(|cpu| !act.w.cpus[cpu as usize].is_curr_gone)))
}

pub(super) fn task_cpu(act: &mut Act<'_>, [p, ..]: [u64; 5]) -> Outcome {
    let row = task(act, p)?;
    Ok(u64::from(act.w.tasks[row as usize].cpu))
}

pub(super) fn cpu_rq(act: &mut Act<'_>, [number, ..]: [u64; 5]) -> Outcome {
    Ok(cpu(act, number).map_or(0, |cpu| act.w.rq(cpu)))
}

pub(super) fn cpu_curr(act: &mut Act<'_>, [number, ..]: [u64; 5]) -> Outcome {
    let Some(cpu) = cpu(act, number) else { return Ok(0) };
    Ok(act.w.task_address(act.w.cpus[cpu as usize].curr.unwrap_or(cpu)))
}

pub(super) fn locked_rq(act: &mut Act<'_>, _: [u64; 5]) -> Outcome {
    Ok(act.w.rq(act.w.cpu))
}

pub(super) fn task_cgroup(act: &mut Act<'_>, [p, ..]: [u64; 5]) -> Outcome {
    let row = task(act, p)?;
    Ok(act.w.cgroup(act.w.tasks[row as usize].group))
}

pub(super) fn task_set_slice(act: &mut Act<'_>, [p, slice, ..]: [u64; 5]) -> Outcome {
    let row = task(act, p)?;
    act.w.set_slice(row, slice);
    Ok(1)
}

pub(super) fn task_set_dsq_vtime(act: &mut Act<'_>, [p, vtime, ..]: [u64; 5]) -> Outcome {
    let row = task(act, p)?;
    act.w.set_task_u64(row, act.w.at.vtime, vtime);
    Ok(1)
}

pub(super) fn now(act: &mut Act<'_>, _: [u64; 5]) -> Outcome {
    act.p.work.clock_reads += 1;
    Ok(act.now())
}

pub(super) fn nr_cpu_ids(act: &mut Act<'_>, _: [u64; 5]) -> Outcome {
    Ok(u64::from(act.w.nr_cpus()))
}

fn node(act: &Act<'_>, cpu: u32) -> u64 {
    u64::from(act.w.topology.place(CpuId(cpu)).node)
}

pub(super) fn nr_node_ids(act: &mut Act<'_>, _: [u64; 5]) -> Outcome {
    Ok(1 + (0..act.w.nr_cpus()).map(|cpu| node(act, cpu)).max().unwrap_or(0))
}

pub(super) fn cpu_node(act: &mut Act<'_>, [number, ..]: [u64; 5]) -> Outcome {
    Ok(cpu(act, number).map_or(EINVAL as u64, |cpu| node(act, cpu)))
}

pub(super) fn cpuperf(act: &mut Act<'_>, [number, ..]: [u64; 5]) -> Outcome {
    Ok(cpu(act, number).map_or(FULL_SPEED, |_| FULL_SPEED))
}

/// Reports zero events: none of the events that the kernel counts happens here.
pub(super) fn events(act: &mut Act<'_>, [to, len, ..]: [u64; 5]) -> Outcome {
    let len = len as u32 as usize;
    if act.w.vm.memory.check_store(to, len).is_err() {
        return Err(Fault::new(format!("{len} bytes at {to:#x} are not writable memory")));
    }
    if let Some(place) = act.w.vm.memory.slice_mut(to, len) {
        place.fill(0);
    }
    Ok(0)
}

pub(super) fn error_bstr(act: &mut Act<'_>, [text, args, len, ..]: [u64; 5]) -> Outcome {
    let text = formatted(act, text, args, len)?;
    let now = act.now();
    act.w.end(EXIT_ERROR_BPF, 0, format!("scx_bpf_error ({text})"), now);
    Ok(0)
}

pub(super) fn exit_bstr(act: &mut Act<'_>, [code, text, args, len, _]: [u64; 5]) -> Outcome {
    let text = formatted(act, text, args, len)?;
    let now = act.now();
    let message = format!("scx_bpf_exit ({text}), code {:#x}", code);
    act.w.end(EXIT_UNREG_BPF, code as i64, message, now);
    Ok(0)
}

/// Adds to the dump. Outside the dump callbacks there is no dump.
pub(super) fn dump_bstr(act: &mut Act<'_>, [text, args, len, ..]: [u64; 5]) -> Outcome {
    let text = formatted(act, text, args, len)?;
    if act.w.dump.is_none() {
        act.error("scx_bpf_dump() must only be called from ops.dump() and friends");
        return Ok(0);
    }
    act.dump_text(&text);
    Ok(0)
}

pub(super) fn task_from_pid(act: &mut Act<'_>, [pid, ..]: [u64; 5]) -> Outcome {
    let row = u64::from(pid as u32).checked_sub(FIRST_PID);
    let row = row.map(|task| task + u64::from(act.w.nr_cpus()));
    let found = row.filter(|&row| act.w.tasks.get(row as usize).is_some_and(|task| task.is_alive));
    Ok(found.map_or(0, |row| act.w.task_address(row as u32)))
}

pub(super) fn cgroup_from_id(act: &mut Act<'_>, [id, ..]: [u64; 5]) -> Outcome {
    let group = id.checked_sub(1).filter(|&group| group < act.w.groups.len() as u64);
    Ok(group.map_or(0, |group| act.w.cgroup(group as u32)))
}

pub(super) fn cgroup_ancestor(act: &mut Act<'_>, [cgroup, level, ..]: [u64; 5]) -> Outcome {
    let Some(mut group) = act.w.group_at(cgroup) else {
        return Err(Fault::new(format!("{cgroup:#x} is not a control group")));
    };
    let level = level as i32;
    if level < 0 || level > act.w.groups[group as usize].level as i32 {
        return Ok(0);
    }
    while act.w.groups[group as usize].level as i32 > level {
        group = act.w.groups[group as usize].parent;
    }
    Ok(act.w.cgroup(group))
}

/// Begins an iteration. The iterator consists of two integers: the current number and the end.
pub(super) fn iter_num_new(act: &mut Act<'_>, [it, start, end, ..]: [u64; 5]) -> Outcome {
    let (start, end) = (start as i32, end as i32);
    let (cur, end, result) = match i64::from(end) - i64::from(start) {
        ..0 => (0, 0, EINVAL),
        // `BPF_MAX_LOOPS` and more.
        0x80_0001.. => (0, 0, crate::errno::E2BIG),
        _ => (start.wrapping_sub(1), end, 0),
    };
    let stored = act.w.vm.memory.store(it, 4, u64::from(cur as u32)).is_ok()
        && act.w.vm.memory.store(it + 4, 4, u64::from(end as u32)).is_ok();
    if !stored {
        return Err(Fault::new(format!("an iterator at {it:#x} is not in memory")));
    }
    Ok(result as u64)
}

pub(super) fn iter_num_next(act: &mut Act<'_>, [it, ..]: [u64; 5]) -> Outcome {
    let cur = act.w.vm.memory.u32(it) as i32;
    let end = act.w.vm.memory.u32(it.wrapping_add(4)) as i32;
    let next = cur.wrapping_add(1);
    if next >= end {
        // The iterator stays at its end: later calls return the same.
        return Ok(0);
    }
    act.w.vm.memory.write(it, 4, u64::from(next as u32));
    Ok(it)
}
