//! Helpers, by their numbers in the BPF ABI.

use crate::act::Act;
use crate::dynptr;
use crate::errno::{E2BIG, EBUSY, EFAULT, EINVAL, ENOENT};
use crate::format::format;
use crate::memory::{self, address, code_number, map_handle, map_number};
use crate::ringbuf;
use crate::timers::{BpfTimer, Timer};
use crate::vm::{Fault, Outcome};
use schedlab_core::TimerPhase;

/// Maximum number of rounds of `bpf_loop` and similar helpers.
const LOOPS_MAX: u64 = 1 << 23;

/// Implementation of a helper.
type Run = fn(&mut Act<'_>, [u64; 5]) -> Outcome;

/// The helpers: number, name, implementation.
static HELPERS: &[(u32, &str, Run)] = &[
    (1, "map_lookup_elem", map_lookup_elem),
    (2, "map_update_elem", map_update_elem),
    (3, "map_delete_elem", map_delete_elem),
    (4, "probe_read", probe_read),
    (5, "ktime_get_ns", ktime),
    (6, "trace_printk", trace_printk),
    (7, "get_prandom_u32", |act, _| Ok(u64::from(act.w.next_random()))),
    (8, "get_smp_processor_id", |act, _| Ok(u64::from(act.w.cpu))),
    (14, "get_current_pid_tgid", current_pid_tgid),
    (16, "get_current_comm", current_comm),
    (35, "get_current_task", |act, _| Ok(current(act))),
    (42, "get_numa_node_id", |act, _| {
        let cpu = schedlab_core::CpuId(act.w.cpu);
        Ok(u64::from(act.w.topology.place(cpu).node))
    }),
    (55, "perf_event_read_value", |_, _| Ok(ENOENT as u64)),
    (87, "map_push_elem", map_push_elem),
    (88, "map_pop_elem", |act, args| map_next(act, args, true)),
    (89, "map_peek_elem", |act, args| map_next(act, args, false)),
    (93, "spin_lock", |_, _| Ok(0)),
    (94, "spin_unlock", |_, _| Ok(0)),
    (112, "probe_read_user", probe_read),
    (113, "probe_read_kernel", probe_read),
    (114, "probe_read_user_str", probe_read_str),
    (115, "probe_read_kernel_str", probe_read_str),
    (118, "jiffies64", |act, _| Ok(act.first_jiffy() + act.p.jiffies())),
    (125, "ktime_get_boot_ns", ktime),
    (130, "ringbuf_output", ringbuf::output),
    (131, "ringbuf_reserve", ringbuf::reserve),
    (132, "ringbuf_submit", ringbuf::submit),
    (133, "ringbuf_discard", ringbuf::discard),
    (134, "ringbuf_query", ringbuf::query),
    (153, "per_cpu_ptr", |act, [at, cpu, ..]| Ok(per_cpu(act, at, cpu))),
    (154, "this_cpu_ptr", |act, [at, ..]| Ok(per_cpu(act, at, u64::from(act.w.cpu)))),
    (156, "task_storage_get", storage_get),
    (157, "task_storage_delete", storage_delete),
    (158, "get_current_task_btf", |act, _| Ok(current(act))),
    (160, "ktime_get_coarse_ns", ktime),
    (164, "for_each_map_elem", for_each_map_elem),
    (165, "snprintf", snprintf),
    (169, "timer_init", timer_init),
    (170, "timer_set_callback", timer_set_callback),
    (171, "timer_start", timer_start),
    (172, "timer_cancel", timer_cancel),
    (177, "trace_vprintk", trace_vprintk),
    (181, "loop", bpf_loop),
    (182, "strncmp", strncmp),
    (194, "kptr_xchg", kptr_xchg),
    (195, "map_lookup_percpu_elem", map_lookup_percpu_elem),
    (197, "dynptr_from_mem", dynptr::from_mem),
    (198, "ringbuf_reserve_dynptr", dynptr::ringbuf_reserve),
    (199, "ringbuf_submit_dynptr", dynptr::ringbuf_submit),
    (200, "ringbuf_discard_dynptr", dynptr::ringbuf_discard),
    (201, "dynptr_read", dynptr::read),
    (202, "dynptr_write", dynptr::write),
    (203, "dynptr_data", dynptr::data),
    (208, "ktime_get_tai_ns", ktime),
    (209, "user_ringbuf_drain", dynptr::user_ringbuf_drain),
    (210, "cgrp_storage_get", storage_get),
    (211, "cgrp_storage_delete", storage_delete),
];

/// Calls a helper.
///
/// # Errors
/// If no helper has this number, or its arguments are wrong.
pub fn call(act: &mut Act<'_>, number: u32, args: [u64; 5]) -> Outcome {
    match HELPERS.binary_search_by_key(&number, |row| row.0) {
        Ok(row) => (HELPERS[row].2)(act, args),
        Err(_) => Err(Fault::new(format!("helper {number} is not emulated"))),
    }
}

/// Returns the name of a helper. `None` if it is not emulated.
pub fn name(number: u32) -> Option<&'static str> {
    HELPERS.iter().find(|row| row.0 == number).map(|row| row.1)
}

/// Returns the address of a CPU's copy of a kernel variable. Only the runqueues exist.
fn per_cpu(act: &Act<'_>, at: u64, cpu: u64) -> u64 {
    let cpu = u32::try_from(cpu).ok().filter(|&cpu| cpu < act.w.nr_cpus());
    match cpu {
        Some(cpu) if memory::place(at).0 == memory::RQS => act.w.rq(cpu),
        _ => 0,
    }
}

/// Returns a number that is an `int` or a `long` in C.
fn code(value: i64) -> Outcome {
    Ok(value as u64)
}

fn map_of(act: &Act<'_>, handle: u64) -> Result<usize, Box<Fault>> {
    map_number(handle)
        .filter(|&map| map < act.w.maps.len())
        .ok_or_else(|| Fault::new(format!("{handle:#x} is not a map")))
}

/// Reads bytes that a helper receives.
fn bytes(act: &Act<'_>, at: u64, len: u32, what: &str) -> Result<Vec<u8>, Box<Fault>> {
    act.w
        .vm
        .memory
        .slice(at, len as usize)
        .map(<[u8]>::to_vec)
        .ok_or_else(|| Fault::new(format!("the {what} of {len} bytes at {at:#x} is not in memory")))
}

/// A key or value passed to a helper. Most are short and need no allocation.
struct ShortBytes {
    bytes: [u8; 64],
    long: Vec<u8>,
    len: usize,
}

impl ShortBytes {
    fn new(act: &Act<'_>, at: u64, len: u32, what: &str) -> Result<ShortBytes, Box<Fault>> {
        let len = len as usize;
        let Some(found) = act.w.vm.memory.slice(at, len) else {
            return Err(Fault::new(format!(
                "the {what} of {len} bytes at {at:#x} is not in memory"
            )));
        };
        let mut short = ShortBytes { bytes: [0; 64], long: vec![], len };
        match short.bytes.get_mut(..len) {
            Some(place) => place.copy_from_slice(found),
            None => short.long = found.to_vec(),
        }
        Ok(short)
    }

    fn get(&self) -> &[u8] {
        if self.long.is_empty() { &self.bytes[..self.len] } else { &self.long }
    }
}

/// Writes bytes for the policy, if it may write there.
fn store(act: &mut Act<'_>, at: u64, bytes: &[u8]) -> Result<(), Box<Fault>> {
    let memory = &mut act.w.vm.memory;
    if memory.check_store(at, bytes.len()).is_err() {
        let len = bytes.len();
        return Err(Fault::new(format!("{len} bytes at {at:#x} are not writable memory")));
    }
    if let Some(place) = memory.slice_mut(at, bytes.len()) {
        place.copy_from_slice(bytes);
    }
    Ok(())
}

fn map_lookup_elem(act: &mut Act<'_>, [map, key, ..]: [u64; 5]) -> Outcome {
    let map = map_of(act, map)?;
    let cpu = act.w.cpu;
    lookup(act, map, key, cpu)
}

fn lookup(act: &mut Act<'_>, map: usize, key: u64, cpu: u32) -> Outcome {
    act.p.work.scx_maps += 1;
    let key = ShortBytes::new(act, key, act.w.maps[map].def.key_size, "key")?;
    Ok(act.w.maps[map].lookup(&act.w.vm.memory, key.get(), cpu))
}

fn map_lookup_percpu_elem(act: &mut Act<'_>, [map, key, cpu, ..]: [u64; 5]) -> Outcome {
    let map = map_of(act, map)?;
    match u32::try_from(cpu) {
        Ok(cpu) if cpu < act.w.nr_cpus() => lookup(act, map, key, cpu),
        _ => Ok(0),
    }
}

fn map_update_elem(act: &mut Act<'_>, [map, key, value, flags, _]: [u64; 5]) -> Outcome {
    act.p.work.scx_maps += 1;
    let map = map_of(act, map)?;
    let cpu = act.w.cpu;
    let def = &act.w.maps[map].def;
    let (key_size, value_size) = (def.key_size, def.value_size);
    let key = ShortBytes::new(act, key, key_size, "key")?;
    let value = ShortBytes::new(act, value, value_size, "value")?;
    let memory = &mut act.w.vm.memory;
    code(act.w.maps[map].update(memory, key.get(), value.get(), flags, cpu))
}

fn map_delete_elem(act: &mut Act<'_>, [map, key, ..]: [u64; 5]) -> Outcome {
    act.p.work.scx_maps += 1;
    let map = map_of(act, map)?;
    let key = ShortBytes::new(act, key, act.w.maps[map].def.key_size, "key")?;
    code(act.w.maps[map].delete(key.get()))
}

fn map_push_elem(act: &mut Act<'_>, [map, value, flags, ..]: [u64; 5]) -> Outcome {
    act.p.work.scx_maps += 1;
    let map = map_of(act, map)?;
    let value = ShortBytes::new(act, value, act.w.maps[map].def.value_size, "value")?;
    code(act.w.maps[map].push(&mut act.w.vm.memory, value.get(), flags))
}

fn map_next(act: &mut Act<'_>, [map, value, ..]: [u64; 5], take: bool) -> Outcome {
    act.p.work.scx_maps += 1;
    let map = map_of(act, map)?;
    let size = act.w.maps[map].def.value_size as usize;
    match act.w.maps[map].next(&act.w.vm.memory, take) {
        Some(found) => {
            store(act, value, &found)?;
            Ok(0)
        }
        None => {
            store(act, value, &vec![0; size])?;
            code(ENOENT)
        }
    }
}

fn storage_get(act: &mut Act<'_>, [map, object, value, flags, _]: [u64; 5]) -> Outcome {
    act.p.work.scx_maps += 1;
    let map = map_of(act, map)?;
    if object == 0 {
        return Ok(0);
    }
    let size = act.w.maps[map].def.value_size;
    let start = match value {
        0 => None,
        value => Some(ShortBytes::new(act, value, size, "value")?),
    };
    let start = start.as_ref().map(ShortBytes::get);
    Ok(act.w.maps[map].storage(&mut act.w.vm.memory, object, start, flags & 1 != 0))
}

fn storage_delete(act: &mut Act<'_>, [map, object, ..]: [u64; 5]) -> Outcome {
    act.p.work.scx_maps += 1;
    let map = map_of(act, map)?;
    code(act.w.maps[map].delete_storage(object))
}

fn function_of(at: u64) -> Result<usize, Box<Fault>> {
    code_number(at).ok_or_else(|| Fault::new(format!("{at:#x} is not a function")))
}

fn for_each_map_elem(
    act: &mut Act<'_>,
    [handle, callback, context, flags, _]: [u64; 5],
) -> Outcome {
    let map = map_of(act, handle)?;
    let callback = function_of(callback)?;
    if flags != 0 {
        return code(EINVAL);
    }
    let cpu = act.w.cpu;
    let mut count = 0;
    for slot in act.w.maps[map].slots() {
        let (key, value) = act.w.maps[map].entry(slot, cpu);
        let key = if act.w.maps[map].has_keys() { key } else { scratch_key(act, slot) };
        count += 1;
        act.w.vm.spend(1)?;
        if act.run(callback, [handle, key, value, context, 0])? != 0 {
            break;
        }
    }
    Ok(count)
}

/// Stores the index of an array's element in memory and returns the address.
fn scratch_key(act: &mut Act<'_>, number: u32) -> u64 {
    let at = address(memory::SCRATCH, 1024);
    act.w.vm.memory.write(at, 4, u64::from(number));
    at
}

fn bpf_loop(act: &mut Act<'_>, [count, callback, context, flags, _]: [u64; 5]) -> Outcome {
    let callback = function_of(callback)?;
    let count = u64::from(count as u32);
    if flags != 0 {
        return code(EINVAL);
    }
    if count > LOOPS_MAX {
        return code(E2BIG);
    }
    for index in 0..count {
        act.w.vm.spend(1)?;
        if act.run(callback, [index, context, 0, 0, 0])? != 0 {
            return Ok(index + 1);
        }
    }
    Ok(count)
}

fn probe_read(act: &mut Act<'_>, [to, len, from, ..]: [u64; 5]) -> Outcome {
    let len = len as u32;
    match act.w.vm.memory.slice(from, len as usize).map(<[u8]>::to_vec) {
        Some(found) => {
            store(act, to, &found)?;
            Ok(0)
        }
        None => {
            act.w.vm.memory.check_store(to, len as usize).map_err(|_| {
                Fault::new(format!("{len} bytes at {to:#x} are not writable memory"))
            })?;
            store(act, to, &vec![0; len as usize])?;
            code(EFAULT)
        }
    }
}

fn probe_read_str(act: &mut Act<'_>, [to, len, from, ..]: [u64; 5]) -> Outcome {
    let len = len as u32 as usize;
    if len == 0 {
        return Ok(0);
    }
    let found = act.w.vm.memory.text(from, len - 1).map(<[u8]>::to_vec);
    let Some(mut text) = found else {
        store(act, to, &[0])?;
        return code(EFAULT);
    };
    text.push(0);
    store(act, to, &text)?;
    Ok(text.len() as u64)
}

fn ktime(act: &mut Act<'_>, _: [u64; 5]) -> Outcome {
    act.p.work.clock_reads += 1;
    Ok(act.now())
}

/// Returns the task that runs on the acting CPU, or its idle task.
fn current(act: &Act<'_>) -> u64 {
    let cpu = act.w.cpu;
    act.w.task_address(act.w.cpus[cpu as usize].curr.unwrap_or(cpu))
}

fn current_pid_tgid(act: &mut Act<'_>, _: [u64; 5]) -> Outcome {
    let row = act.w.task_at(current(act)).unwrap_or(0);
    let memory = &act.w.vm.memory;
    let pid = memory.u32(act.w.task_field(row, "pid"));
    let tgid = memory.u32(act.w.task_field(row, "tgid"));
    Ok(u64::from(tgid) << 32 | u64::from(pid))
}

fn current_comm(act: &mut Act<'_>, [to, len, ..]: [u64; 5]) -> Outcome {
    let row = act.w.task_at(current(act)).unwrap_or(0);
    let comm = act.w.vm.memory.text(act.w.task_field(row, "comm"), 16).unwrap_or_default();
    let mut text = comm.to_vec();
    let len = len as u32 as usize;
    if len == 0 {
        return code(EINVAL);
    }
    text.truncate(len - 1);
    text.resize(len.min(4096), 0);
    store(act, to, &text)?;
    Ok(0)
}

fn print(act: &mut Act<'_>, text: String) -> Outcome {
    let len = text.len() as u64;
    let (now, cpu) = (act.now(), act.w.cpu);
    act.log_text("printk", || text.clone(), 0);
    if let Some(printed) = &mut act.w.printed {
        printed.push((now, cpu, text));
    }
    Ok(len)
}

/// Returns the words of a format's arguments.
fn words(act: &Act<'_>, at: u64, len: u64) -> Result<Vec<u64>, Box<Fault>> {
    let len = len as u32;
    if len == 0 {
        return Ok(vec![]);
    }
    let bytes = bytes(act, at, len, "argument block")?;
    Ok(bytes.chunks(8).map(memory::little_endian).collect())
}

/// Formats a text with its arguments.
///
/// # Errors
/// If the text or the arguments are not in memory.
pub fn formatted(act: &Act<'_>, text: u64, args: u64, len: u64) -> Result<String, Box<Fault>> {
    let words = words(act, args, len)?;
    let text = act.w.vm.memory.text(text, 4096);
    let text = text.ok_or_else(|| Fault::new("a format is not in memory"))?;
    Ok(format(&act.w.vm.memory, text, &words))
}

fn trace_printk(act: &mut Act<'_>, [text, len, a, b, c]: [u64; 5]) -> Outcome {
    if act.w.printed.is_none() && act.w.log.is_none() {
        return Ok(0);
    }
    let text = bytes(act, text, len as u32, "format")?;
    let text = text.split(|&byte| byte == 0).next().unwrap_or_default();
    let text = format(&act.w.vm.memory, text, &[a, b, c]);
    print(act, text)
}

fn trace_vprintk(act: &mut Act<'_>, [text, len, args, args_len, _]: [u64; 5]) -> Outcome {
    if act.w.printed.is_none() && act.w.log.is_none() {
        return Ok(0);
    }
    let words = words(act, args, args_len)?;
    let text = bytes(act, text, len as u32, "format")?;
    let text = text.split(|&byte| byte == 0).next().unwrap_or_default();
    let text = format(&act.w.vm.memory, text, &words);
    print(act, text)
}

fn snprintf(act: &mut Act<'_>, [to, len, text, args, args_len]: [u64; 5]) -> Outcome {
    let mut text = formatted(act, text, args, args_len)?.into_bytes();
    let whole = text.len() as u64 + 1;
    let len = len as u32 as usize;
    if len > 0 {
        text.truncate(len - 1);
        text.push(0);
        store(act, to, &text)?;
    }
    Ok(whole)
}

fn strncmp(act: &mut Act<'_>, [a, len, b, ..]: [u64; 5]) -> Outcome {
    let len = len as u32 as usize;
    let memory = &act.w.vm.memory;
    let (Some(a), Some(b)) = (memory.text(a, len), memory.text(b, len)) else {
        return Err(Fault::new("a text to be compared is not in memory"));
    };
    code(match a.cmp(b) {
        std::cmp::Ordering::Less => -1,
        std::cmp::Ordering::Equal => 0,
        std::cmp::Ordering::Greater => 1,
    })
}

fn kptr_xchg(act: &mut Act<'_>, [at, value, ..]: [u64; 5]) -> Outcome {
    let old = act.w.vm.memory.u64(at);
    store(act, at, &value.to_le_bytes())?;
    Ok(old)
}

/// Returns the index of the timer at an address.
fn timer_at(act: &Act<'_>, at: u64) -> Option<usize> {
    act.w.timer_of.get(&at).copied()
}

fn timer_init(act: &mut Act<'_>, [at, map, ..]: [u64; 5]) -> Outcome {
    let map = map_of(act, map)?;
    match timer_at(act, at) {
        Some(_) => code(EBUSY),
        None => {
            act.w.timer_of.insert(at, act.w.timers.len());
            act.w.timers.push(BpfTimer { at, map, callback: None, pending: None });
            Ok(0)
        }
    }
}

fn timer_set_callback(act: &mut Act<'_>, [at, callback, ..]: [u64; 5]) -> Outcome {
    let callback = function_of(callback)?;
    let Some(timer) = timer_at(act, at) else { return code(EINVAL) };
    act.w.timers[timer].callback = Some(callback);
    Ok(0)
}

fn timer_start(act: &mut Act<'_>, [at, delay, flags, ..]: [u64; 5]) -> Outcome {
    let Some(timer) = timer_at(act, at) else { return code(EINVAL) };
    if act.w.timers[timer].callback.is_none() || flags & !3 != 0 {
        return code(EINVAL);
    }
    let now = act.now();
    let due = if flags & 1 != 0 { delay } else { now.saturating_add(delay) };
    // A timer fires in a later instant. Otherwise a timer that restarts itself immediately would
    // keep time from advancing.
    let due = due.max(now + 1);
    act.w.timers[timer].pending = Some(act.w.cpu);
    act.p.arm_timer(Timer::Policy(timer).key(), TimerPhase::BeforeTicks, due);
    Ok(0)
}

fn timer_cancel(act: &mut Act<'_>, [at, ..]: [u64; 5]) -> Outcome {
    let Some(timer) = timer_at(act, at) else { return code(EINVAL) };
    let was_pending = act.w.timers[timer].pending.take().is_some();
    if was_pending {
        act.p.cancel_timer(Timer::Policy(timer).key());
    }
    Ok(u64::from(was_pending))
}

impl Act<'_> {
    /// Fires a timer of the policy, by its index.
    pub fn fire_timer(&mut self, number: usize) {
        let Some(timer) = self.w.timers.get_mut(number) else { return };
        let (Some(cpu), Some(callback)) = (timer.pending.take(), timer.callback) else { return };
        if self.w.ended.is_some() {
            return;
        }
        let BpfTimer { at, map, .. } = self.w.timers[number];
        let (slot, value) = self.w.maps[map].slot_of(at).unwrap_or((0, at));
        let key = match self.w.maps[map].has_keys() {
            true => self.w.maps[map].entry(slot, cpu).0,
            false => scratch_key(self, slot),
        };
        self.w.cpu = cpu;
        self.w.callback = "a timer";
        self.w.vm.begin();
        let before = self.w.vm.insns;
        let outcome = self.run(callback, [map_handle(map), key, value, 0, 0]);
        let insns = self.w.vm.insns - before;
        let counts = &mut self.w.counts.timers;
        counts.calls += 1;
        counts.insns += insns;
        counts.insns_max = counts.insns_max.max(insns);
        self.p.work.scx_insns += insns;
        self.log_text("timer", || self.w.image.place(callback), insns);
        if let Err(fault) = outcome {
            self.faulted(&fault);
        }
        self.w.callback = "";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_helpers_have_names() {
        assert!(HELPERS.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert_eq!(name(5), Some("ktime_get_ns"));
        assert_eq!(name(12), None, "there are no tail calls");
    }
}
