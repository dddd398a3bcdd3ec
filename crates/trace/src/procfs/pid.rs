//! `/proc/PID/stat`, `/proc/PID/schedstat`, `/proc/PID/sched`.

use super::schedstat::in_units;
use super::{Counters, Split, TaskView, View, line};

/// Returns `/proc/PID/schedstat`: time on CPUs, time runnable and waiting, number of times that the
/// task got a CPU.
pub fn schedstat(view: &View, counters: &Counters, task: &TaskView) -> String {
    let counts = counters.task(task.pid);
    let exec = in_units(view, counts.exec_until(view.at_ns));
    let wait = in_units(view, counts.wait_until(view.at_ns));
    format!("{exec} {wait} {}\n", counts.switches_in)
}

/// Returns the priority in field 18.
fn priority(view: &View, task: &TaskView) -> i64 {
    let term = |name: &str| view.entity(task.pid).and_then(|entity| entity.term(name));
    if view.kernel < (2, 6, 0) {
        // 2.4 shows how much of its time slice is left.
        let full = 10 * i64::from(view.hz) / 100;
        return match term("counter") {
            Some(counter) if full > 0 => 20 - (counter * 10 + full / 2) / full,
            _ => 0,
        };
    }
    match task.policy {
        6 => -101,
        1 | 2 => -1 - i64::from(task.rt_priority),
        // O(1) and related schedulers: including the bonus, where it is known.
        _ => term("prio").filter(|_| !view.is_fair).unwrap_or(i64::from(task.prio)) - 100,
    }
}

/// Returns `/proc/PID/stat`. Unknown, and therefore 0: process groups, faults, memory, signals,
/// system time.
pub fn stat(view: &View, counters: &Counters, task: &TaskView) -> String {
    let counts = counters.task(task.pid);
    let ticks = |ns: u64| ns / 10_000_000;
    let fields: usize = if view.kernel < (2, 6, 0) { 39 } else { 44 };
    let mut values = vec![0i64; fields - 3];
    let mut set = |field: usize, value: i64| {
        if let Some(slot) = values.get_mut(field - 4) {
            *slot = value;
        }
    };
    set(4, i64::from(counts.parent));
    set(14, ticks(counts.exec_until(view.at_ns)) as i64);
    set(18, priority(view, task));
    set(19, i64::from(task.nice));
    if view.kernel >= (2, 6, 0) {
        let of_process =
            |other: &&TaskView| counters.task(other.pid).tgid == counts.tgid && other.state != 'Z';
        set(20, view.tasks.iter().filter(of_process).count() as i64);
        set(40, i64::from(task.rt_priority));
        set(41, i64::from(task.policy));
    }
    set(22, ticks(counts.start_ns) as i64);
    set(39, i64::from(counts.cpu));
    let values: Vec<String> = values.iter().map(ToString::to_string).collect();
    format!("{} ({}) {} {}\n", task.pid, task.name, task.state, values.join(" "))
}

/// Writer of the lines of `/proc/PID/sched`.
struct Keys {
    out: String,
    /// Width of the column of names.
    width: usize,
    /// Whether times are nanoseconds, as in 2.6.23.
    in_ns: bool,
}

impl Keys {
    fn number(&mut self, key: &str, value: i64) {
        let width = self.width;
        match self.in_ns {
            true => line(&mut self.out, format_args!("{key:<width$}:{value:>20}")),
            false => line(&mut self.out, format_args!("{key:<width$}:{value:>21}")),
        }
    }

    fn time(&mut self, key: &str, ns: i64) {
        let width = self.width;
        match self.in_ns {
            true => self.number(key, ns),
            false => line(&mut self.out, format_args!("{key:<width$}:{:>21}", Split(ns))),
        }
    }
}

/// Returns `/proc/PID/sched`.
pub fn sched(view: &View, counters: &Counters, task: &TaskView) -> String {
    let counts = counters.task(task.pid);
    let entity = view.entity(task.pid);
    let term = |name: &str| entity.and_then(|entity| entity.term(name));
    let (width, dashes) = match view.kernel {
        kernel if kernel < (2, 6, 24) => (25, 46),
        kernel if kernel < (3, 14, 0) => (35, 57),
        _ => (45, 67),
    };
    let threads =
        view.tasks.iter().filter(|other| counters.task(other.pid).tgid == counts.tgid).count();
    let mut keys = Keys {
        out: format!("{} ({}, #threads: {threads})\n{:-<dashes$}\n", task.name, task.pid, ""),
        width,
        in_ns: view.kernel < (2, 6, 24),
    };
    let now_ns = view.at_ns;
    let exec_ns = counts.exec_until(now_ns);
    let wait_max_ns =
        counts.wait_max_ns.max(counts.waits_since.map_or(0, |since_ns| now_ns - since_ns));
    let switches = counts.voluntary + counts.involuntary;
    // The statistics lost their prefix together with the structure that contained them.
    let stats = if view.kernel < (3, 14, 0) { "se." } else { "" };
    if view.kernel < (2, 6, 24) {
        if let Some(wait_runtime) = term("wait_runtime_ns") {
            keys.time("se.wait_runtime", wait_runtime);
        }
        keys.time("se.exec_start", counts.exec_start_ns as i64);
        keys.time("se.sum_exec_runtime", exec_ns as i64);
        keys.time("se.sleep_max", counts.sleep_max_ns as i64);
        keys.time("se.block_max", counts.block_max_ns as i64);
        keys.time("se.wait_max", wait_max_ns as i64);
    } else {
        keys.time("se.exec_start", counts.exec_start_ns as i64);
        if let Some(vruntime_ns) = term("vruntime_ns") {
            keys.time("se.vruntime", vruntime_ns);
        }
        keys.time("se.sum_exec_runtime", exec_ns as i64);
        if view.kernel >= (3, 14, 0) {
            keys.number("se.nr_migrations", counts.migrations as i64);
            keys.time("sum_sleep_runtime", counts.sleep_ns as i64);
            keys.time("sum_block_runtime", counts.block_ns as i64);
        }
        let since = |ns: Option<u64>| ns.unwrap_or(0) as i64;
        let sleeps = counts.sleeps_since.filter(|_| !counts.is_blocked);
        let blocks = counts.sleeps_since.filter(|_| counts.is_blocked);
        keys.time(&format!("{stats}wait_start"), since(counts.waits_since));
        keys.time(&format!("{stats}sleep_start"), since(sleeps));
        keys.time(&format!("{stats}block_start"), since(blocks));
        keys.time(&format!("{stats}sleep_max"), counts.sleep_max_ns as i64);
        keys.time(&format!("{stats}block_max"), counts.block_max_ns as i64);
        keys.time(&format!("{stats}wait_max"), wait_max_ns as i64);
        keys.time(&format!("{stats}wait_sum"), counts.wait_until(now_ns) as i64);
        keys.number(&format!("{stats}wait_count"), counts.waits as i64);
        if view.kernel < (3, 14, 0) {
            keys.number("se.nr_migrations", counts.migrations as i64);
        }
        keys.number(&format!("{stats}nr_wakeups"), counts.wakeups as i64);
        keys.number(&format!("{stats}nr_wakeups_migrate"), counts.wakeups_migrate as i64);
        keys.number(&format!("{stats}nr_wakeups_local"), counts.wakeups_local as i64);
        let remote = counts.wakeups - counts.wakeups_local;
        keys.number(&format!("{stats}nr_wakeups_remote"), remote as i64);
        let per = |count: u64| exec_ns.checked_div(count).map_or(-1, |ns| ns as i64);
        keys.time("avg_atom", per(switches));
        keys.time("avg_per_cpu", per(counts.migrations));
    }
    keys.number("nr_switches", switches as i64);
    if view.kernel >= (2, 6, 24) {
        keys.number("nr_voluntary_switches", counts.voluntary as i64);
        keys.number("nr_involuntary_switches", counts.involuntary as i64);
    }
    if let Some(weight) = term("weight") {
        // Since 4.20 at the latest, weights have ten more bits.
        let unit = if view.kernel >= (4, 20, 0) { 1024 } else { 1 };
        keys.number("se.load.weight", weight * unit);
    }
    keys.number("policy", i64::from(task.policy));
    keys.number("prio", i64::from(task.prio));
    if let Some(slice_ns) = term("slice_ns").filter(|_| view.kernel >= (6, 12, 0)) {
        keys.number("se.slice", slice_ns);
    }
    keys.out
}
