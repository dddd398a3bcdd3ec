//! Facts of the machine in a side file: CPUs, tunables, the kernel and its build.

use super::proc::{members, numbered, text, value};
use serde_json::{Map, Value, json};
use std::fs;
use std::path::Path;

/// Returns the facts of the machine.
pub fn facts(root: &Path) -> Map<String, Value> {
    let sys = |path: &str| text(&root.join(path));
    let mut facts = Map::new();
    let kernel = sys("proc/sys/kernel/osrelease");
    let hz = hz(root, kernel.as_deref());
    facts.insert("kernel".into(), json!(kernel));
    facts.insert("cpus_online".into(), json!(sys("sys/devices/system/cpu/online")));
    facts.insert("cpus".into(), json!(cpus(root)));
    facts.insert("tunables".into(), Value::Object(tunables(root)));
    let os = sys("etc/os-release").or_else(|| sys("usr/lib/os-release")).unwrap_or_default();
    let distribution = os.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    // Without such CPUs, the file is empty or reads `(null)`.
    let list = |path: &str| sys(path).filter(|it| it.starts_with(|c: char| c.is_ascii_digit()));
    let more = [
        ("hz", json!(hz.map(|(hz, _)| hz))),
        ("hz_from", json!(hz.map(|(_, from)| from))),
        ("kernel_build", json!(sys("proc/version"))),
        // Ubuntu's name for its kernel, with the release on which it is based.
        ("kernel_signature", json!(sys("proc/version_signature"))),
        ("distribution", json!(distribution.map(|it| it.trim_matches('"')))),
        ("isolcpus", json!(list("sys/devices/system/cpu/isolated"))),
        ("nohz_full", json!(list("sys/devices/system/cpu/nohz_full"))),
        ("smt", json!(sys("sys/devices/system/cpu/smt/active").map(|it| it == "1"))),
    ];
    for (name, value) in more.into_iter().filter(|(_, value)| !value.is_null()) {
        facts.insert(name.into(), value);
    }
    facts
}

/// Returns the number of ticks per second and its source. The coarse clocks of this machine advance
/// at each tick, so their resolution is exactly one tick. The root of another machine offers only
/// the kernel configuration.
fn hz(root: &Path, kernel: Option<&str>) -> Option<(u32, &'static str)> {
    if root == Path::new("/")
        && let Some(hz) = hz_of_clock()
    {
        return Some((hz, "clock"));
    }
    let config = text(&root.join("boot").join(format!("config-{}", kernel?)))?;
    let hz = config.lines().find_map(|line| line.strip_prefix("CONFIG_HZ="))?;
    Some((hz.trim().parse().ok()?, "config"))
}

#[cfg(target_os = "linux")]
fn hz_of_clock() -> Option<u32> {
    let tick = rustix::time::clock_getres(rustix::time::ClockId::MonotonicCoarse);
    let tick_ns = u64::try_from(tick.tv_nsec).ok().filter(|_| tick.tv_sec == 0)?;
    // A kernel whose clock is not based on ticks reports a resolution of 1 ns.
    let hz = (1_000_000_000 + tick_ns / 2).checked_div(tick_ns)?;
    u32::try_from(hz).ok().filter(|hz| (10..=10_000).contains(hz))
}

#[cfg(not(target_os = "linux"))]
fn hz_of_clock() -> Option<u32> {
    None
}

fn cpus(root: &Path) -> Vec<Value> {
    let all = numbered(&root.join("sys/devices/system/cpu"), "cpu").into_iter();
    all.map(|(cpu, directory)| {
        let topology = directory.join("topology");
        let mut members = members(&topology, &["core_id", "physical_package_id", "die_id"]);
        // Lists stay lists, even with one element.
        for name in ["thread_siblings_list", "core_siblings_list"] {
            if let Some(list) = text(&topology.join(name)) {
                members.insert(name.into(), list.into());
            }
        }
        members.insert("cpu".into(), cpu.into());
        if let Some((node, _)) = numbered(&directory, "node").first() {
            members.insert("node".into(), (*node).into());
        }
        // CPUs that share the last cache.
        if let Some((_, cache)) = numbered(&directory.join("cache"), "index").last()
            && let Some(list) = text(&cache.join("shared_cpu_list"))
        {
            members.insert("llc_list".into(), list.into());
        }
        if let Some(capacity) = text(&directory.join("cpu_capacity")) {
            members.insert("capacity".into(), value(capacity));
        }
        Value::Object(members)
    })
    .collect()
}

fn tunables(root: &Path) -> Map<String, Value> {
    let mut tunables = Map::new();
    for directory in ["proc/sys/kernel", "sys/kernel/debug/sched"] {
        let Ok(entries) = fs::read_dir(root.join(directory)) else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_one = name.starts_with("sched_") || directory.starts_with("sys");
            if is_one
                && !["debug", "preempt", "verbose"].contains(&name.as_str())
                && let Some(text) = text(&entry.path()).filter(|text| text.len() < 2000)
            {
                tunables.insert(name, value(text));
            }
        }
    }
    // Since 6.12 each task shows its slice, which is the base slice unless it was set.
    if !tunables.contains_key("base_slice_ns")
        && let Some(sched) = text(&root.join("proc/self/sched"))
        && let Some(slice) = sched.lines().find_map(|line| line.strip_prefix("se.slice"))
        && let Ok(slice_ns) = slice.trim_start_matches([' ', ':']).parse::<i64>()
    {
        tunables.insert("base_slice_ns".into(), slice_ns.into());
    }
    tunables
}
