//! `/proc/sched_debug`; from 5.13 on `/sys/kernel/debug/sched/debug`.
//!
//! Only runnable tasks are listed: the scheduler's values of sleeping tasks are unknown.

use super::{Counters, CpuView, Entity, Split, TaskView, View, line};

/// Returns the contents of the file.
pub fn sched_debug(view: &View, counters: &Counters) -> String {
    let mut out = String::new();
    heading(&mut out, view);
    for (number, cpu) in view.cpus.iter().enumerate() {
        of_cpu(&mut out, view, counters, number, cpu);
    }
    out.push('\n');
    out
}

/// Appends `  .name : value`, padded as in the block of a CPU.
fn number(out: &mut String, name: &str, value: i64) {
    line(out, format_args!("  .{name:<30}: {value}"));
}

/// Like [`number`], for a time.
fn time(out: &mut String, view: &View, name: &str, ns: i64) {
    match view.kernel < (2, 6, 24) {
        true => number(out, name, ns),
        false => line(out, format_args!("  .{name:<30}: {}", Split(ns))),
    }
}

fn heading(out: &mut String, view: &View) {
    let release = &view.release;
    let at_ns = view.at_ns as i64;
    let version = match view.kernel {
        kernel if kernel < (2, 6, 24) => "v0.05-v20",
        kernel if kernel < (2, 6, 29) => "v0.07",
        kernel if kernel < (2, 6, 30) => "v0.08",
        kernel if kernel < (2, 6, 33) => "v0.09",
        kernel if kernel < (3, 14, 0) => "v0.10",
        _ => "v0.11",
    };
    line(out, format_args!("Sched Debug Version: {version}, {release} #1"));
    if view.kernel < (2, 6, 24) {
        line(out, format_args!("now at {at_ns} nsecs"));
        return;
    }
    if view.kernel >= (3, 14, 0) {
        for clock in ["ktime", "sched_clk", "cpu_clk"] {
            line(out, format_args!("{clock:<40}: {}", Split(at_ns)));
        }
        line(out, format_args!("{:<40}: {}", "jiffies", view.jiffies()));
        line(out, format_args!("\nsysctl_sched"));
    } else {
        line(out, format_args!("now at {} msecs", Split(at_ns)));
        if view.kernel >= (2, 6, 30) {
            line(out, format_args!("  .{:<40}: {}", "jiffies", view.jiffies()));
        }
    }
    let times = [
        ("sched_latency_ns", "sysctl_sched_latency"),
        ("sched_min_granularity_ns", "sysctl_sched_min_granularity"),
        ("sched_wakeup_granularity_ns", "sysctl_sched_wakeup_granularity"),
        ("sched_child_runs_first", "sysctl_sched_child_runs_first"),
        ("base_slice_ns", "sysctl_sched_base_slice"),
    ];
    for (tunable, name) in times {
        if let Some(value) = view.tunable(tunable) {
            line(out, format_args!("  .{name:<40}: {}", Split(value)));
        }
    }
}

fn of_cpu(out: &mut String, view: &View, counters: &Counters, number_: usize, cpu: &CpuView) {
    let counts = counters.cpus.get(number_).copied().unwrap_or_default();
    let tasks: Vec<(&Entity, &TaskView)> = cpu
        .entities
        .iter()
        .filter_map(|entity| {
            let pid = entity.pid?;
            Some((entity, view.tasks.iter().find(|task| task.pid == pid)?))
        })
        .collect();
    line(out, format_args!("\ncpu#{number_}, 1000.000 MHz"));
    number(out, "nr_running", tasks.len() as i64);
    if view.kernel < (6, 0, 0) {
        number(out, "load", load(&cpu.entities, 0));
    }
    number(out, "nr_switches", counts.switches as i64);
    number(out, "nr_uninterruptible", counts.uninterruptible);
    if view.kernel < (2, 6, 30) {
        number(out, "jiffies", view.jiffies() as i64);
    }
    number(out, "curr->pid", i64::from(cpu.current.unwrap_or(0)));
    time(out, view, "clock", view.at_ns as i64);
    if view.kernel >= (2, 6, 27) {
        number(out, "sched_goidle", counts.goidle as i64);
        number(out, "ttwu_count", counts.ttwu_count as i64);
        number(out, "ttwu_local", counts.ttwu_local as i64);
    }
    let mut groups: Vec<u32> = cpu.entities.iter().map(|entity| entity.within).collect();
    groups.push(0);
    groups.sort_unstable();
    groups.dedup();
    for group in groups {
        cfs_rq(out, view, counters, number_, cpu, group);
    }
    rows(out, view, counters, cpu, &tasks);
}

/// Returns the sum of the weights of the members of a group's queue.
fn load(entities: &[Entity], group: u32) -> i64 {
    let members = entities.iter().filter(|entity| entity.within == group);
    members.filter_map(|entity| entity.term("weight")).sum()
}

fn cfs_rq(
    out: &mut String,
    view: &View,
    counters: &Counters,
    number_: usize,
    cpu: &CpuView,
    group: u32,
) {
    let members: Vec<&Entity> =
        cpu.entities.iter().filter(|entity| entity.within == group).collect();
    let fair: Vec<&&Entity> =
        members.iter().filter(|entity| entity.term("weight").is_some()).collect();
    match view.kernel {
        kernel if kernel < (2, 6, 26) => line(out, format_args!("\ncfs_rq")),
        _ => line(out, format_args!("\ncfs_rq[{number_}]:{}", view.path(group))),
    }
    if group == 0 {
        let counts = counters.cpus.get(number_).copied().unwrap_or_default();
        let running_ns = counts.running.map_or(0, |(_, since_ns)| view.at_ns - since_ns);
        if view.kernel < (6, 0, 0) {
            time(out, view, "exec_clock", (counts.cpu_ns + running_ns) as i64);
        }
    }
    let queued =
        || fair.iter().filter(|entity| entity.pid.is_none_or(|pid| cpu.current != Some(pid)));
    if view.kernel < (2, 6, 24) {
        let waits = queued().filter_map(|entity| entity.term("wait_runtime_ns"));
        time(out, view, "wait_runtime_rq_sum", waits.sum());
        return;
    }
    // -1 ns: the tree is empty.
    let tree = |name: &str| queued().filter_map(|entity| entity.term(name)).collect::<Vec<_>>();
    let vruntimes = tree("vruntime_ns");
    let (min, max) = (vruntimes.iter().min().copied(), vruntimes.iter().max().copied());
    let spread = min.zip(max).map_or(0, |(min, max)| max - min);
    if view.kernel >= (6, 6, 0) {
        let left_deadline = tree("deadline_ns").into_iter().min().unwrap_or(-1);
        time(out, view, "left_deadline", left_deadline);
        time(out, view, "left_vruntime", min.unwrap_or(-1));
        let average = fair.iter().find_map(|e| Some(e.term("vruntime_ns")? + e.term("lag_ns")?));
        if let Some(average) = average {
            time(out, view, "avg_vruntime", average);
        }
        time(out, view, "right_vruntime", max.unwrap_or(-1));
    } else {
        time(out, view, "MIN_vruntime", min.unwrap_or(-1));
        time(out, view, "max_vruntime", max.unwrap_or(-1));
    }
    time(out, view, "spread", spread);
    let running = if view.kernel >= (6, 13, 0) { "nr_queued" } else { "nr_running" };
    number(out, running, fair.len() as i64);
    let unit = if view.kernel >= (4, 20, 0) { 1024 } else { 1 };
    number(out, "load", load(&cpu.entities, group) * unit);
}

/// Appends a row for each task.
fn rows(
    out: &mut String,
    view: &View,
    counters: &Counters,
    cpu: &CpuView,
    tasks: &[(&Entity, &TaskView)],
) {
    line(out, format_args!("\nrunnable tasks:"));
    let (heading, dashes) = match view.kernel {
        kernel if kernel < (2, 6, 24) => (
            "            task   PID        tree-key         delta       waiting  switches  prio        \
             sum-exec        sum-wait       sum-sleep    wait-overrun   wait-underrun",
            156,
        ),
        kernel if kernel < (4, 4, 0) => (
            "            task   PID         tree-key  switches  prio     exec-runtime         \
             sum-exec        sum-sleep",
            106,
        ),
        kernel if kernel < (6, 6, 0) => (
            " S           task   PID         tree-key  switches  prio     wait-time             \
             sum-exec        sum-sleep",
            107,
        ),
        _ => (
            " S            task   PID       vruntime   eligible    deadline             slice          \
             sum-exec      switches  prio         wait-time        sum-sleep       sum-block  node   \
             group-id  group-path",
            191,
        ),
    };
    line(out, format_args!("{heading}"));
    line(out, format_args!("{:-<dashes$}", ""));
    for (entity, task) in tasks {
        if entity.term("vruntime_ns").or(entity.term("fair_key")).is_none() {
            // A real-time task: this file has no values of its class.
            continue;
        }
        let runs = cpu.current == Some(task.pid);
        row(out, view, counters, entity, task, runs);
    }
}

fn row(
    out: &mut String,
    view: &View,
    counters: &Counters,
    entity: &Entity,
    task: &TaskView,
    runs: bool,
) {
    let counts = counters.task(task.pid);
    let TaskView { name, pid, prio, .. } = task;
    let name = crate::recorder::comm(name);
    let switches = counts.voluntary + counts.involuntary;
    let exec = Split(counts.exec_until(view.at_ns) as i64);
    let wait = Split(counts.wait_until(view.at_ns) as i64);
    let (sleep, block) = (Split(counts.sleep_ns as i64), Split(counts.block_ns as i64));
    let term = |name: &str| entity.term(name).unwrap_or(0);
    let vruntime = Split(term("vruntime_ns"));
    let mark = if runs { 'R' } else { ' ' };
    let path = view.path(task.group);
    match view.kernel {
        kernel if kernel < (2, 6, 24) => {
            let (key, waiting) = (term("fair_key"), term("wait_runtime_ns"));
            let (exec, wait) = (exec.0, wait.0);
            let sleep = sleep.0;
            line(
                out,
                format_args!(
                    "{mark}{name:>15} {pid:>5} {key:>15} {:>13} {waiting:>13} {switches:>9} \
                     {prio:>5} {exec:>15} {wait:>15} {sleep:>15} {:>15} {:>15}",
                    0, 0, 0
                ),
            );
        }
        kernel if kernel < (4, 4, 0) => {
            let path = if kernel >= (2, 6, 26) { format!(" {path}") } else { String::new() };
            line(
                out,
                format_args!(
                    "{mark}{name:>15} {pid:>5} {vruntime:>16} {switches:>9} {prio:>5} \
                     {vruntime:>16} {exec:>16} {sleep:>16}{path}"
                ),
            );
        }
        kernel if kernel < (6, 6, 0) => {
            let mark = if runs { '>' } else { ' ' };
            line(
                out,
                format_args!(
                    "{mark}R {name:>15} {pid:>5} {vruntime:>16} {switches:>9} {prio:>5} \
                     {wait:>16} {exec:>16} {sleep:>16} {path}"
                ),
            );
        }
        _ => {
            let mark = if runs { '>' } else { ' ' };
            let eligible = if term("eligible") != 0 { 'E' } else { 'N' };
            let (deadline, slice) = (Split(term("deadline_ns")), Split(term("slice_ns")));
            let group = task.group;
            line(
                out,
                format_args!(
                    "{mark}R {name:>15} {pid:>5} {vruntime:>16}   {eligible}   {deadline:>16}   \
                     {slice:>16} {exec:>16} {switches:>9}   {prio:>5} {wait:>16} {sleep:>16} \
                     {block:>16}   0      {group}        {path}"
                ),
            );
        }
    }
}
