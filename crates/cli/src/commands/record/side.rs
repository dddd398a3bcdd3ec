//! Side file of a trace, [`Side`]. It holds facts that the trace does not contain: policies, nice
//! values and affinity of threads, their groups with weights and quotas, topology, tunables, and
//! the kernel's release.
//!
//! All facts are read from `/proc` and `/sys`. Those that do not exist or may not be read are left
//! out.

use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Schema of the file.
pub const SCHEMA: &str = "schedlab-side/1";

/// Contents of a side file.
#[derive(Debug, Default)]
pub struct Side {
    tasks: BTreeMap<u32, Value>,
    groups: BTreeMap<String, Value>,
}

fn text(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_string())
}

/// Returns `text` as a number if it is one, otherwise as a string.
fn value(text: String) -> Value {
    text.parse::<i64>().map_or(Value::String(text), Value::from)
}

/// Returns the files that can be read.
fn members(directory: &Path, names: &[&str]) -> Map<String, Value> {
    let read = |name: &&str| Some((name.to_string(), value(text(&directory.join(name))?)));
    names.iter().filter_map(read).collect()
}

/// Returns numbered entries such as `cpu0`, by number.
fn numbered(directory: &Path, prefix: &str) -> Vec<(u32, PathBuf)> {
    let Ok(entries) = fs::read_dir(directory) else { return vec![] };
    let mut found: Vec<_> = entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            Some((name.strip_prefix(prefix)?.parse().ok()?, entry.path()))
        })
        .collect();
    found.sort();
    found
}

/// Returns the values of `stat` and `status` of a thread.
fn task(tid: u32, directory: &Path) -> Option<(Value, Vec<String>)> {
    let stat = text(&directory.join("stat"))?;
    // The name is in parentheses, and may itself contain parentheses.
    let (begin, rest) = stat.rsplit_once(')')?;
    let comm = begin.split_once('(')?.1;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let number = |field: usize| fields.get(field - 3)?.parse::<i64>().ok();
    let policy = match number(41)? {
        0 => "other",
        1 => "fifo",
        2 => "rr",
        3 => "batch",
        5 => "idle",
        6 => "deadline",
        7 => "ext",
        _ => "unknown",
    };
    let status = text(&directory.join("status")).unwrap_or_default();
    let line = |key: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(key));
        line.map(|line| line.trim().to_string())
    };
    let cgroup = text(&directory.join("cgroup")).unwrap_or_default();
    let groups: Vec<String> = cgroup
        .lines()
        .filter_map(|line| {
            let mut parts = line.splitn(3, ':');
            let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
            let is_cpu = controllers.split(',').any(|controller| controller == "cpu");
            // `0::/path` is cgroup version 2.
            (is_cpu || controllers.is_empty()).then(|| match controllers {
                "" => format!("v2:{path}"),
                _ => format!("v1:{path}"),
            })
        })
        .collect();
    let value = json!({
        "tid": tid,
        "pid": line("Tgid:").and_then(|tgid| tgid.parse::<u32>().ok()),
        "parent": number(4),
        "comm": comm,
        "policy": policy,
        "nice": number(19),
        "rt_priority": number(40),
        "allowed": line("Cpus_allowed_list:"),
        "groups": groups,
    });
    Some((value, groups))
}

impl Side {
    /// Adds all current threads and their groups. Threads that are already known keep the values
    /// that were read first.
    pub fn look(&mut self, root: &Path) {
        let mut paths = BTreeSet::new();
        for (_, process) in numbered(&root.join("proc"), "") {
            for (tid, thread) in numbered(&process.join("task"), "") {
                if let Some((value, groups)) = task(tid, &thread) {
                    self.tasks.entry(tid).or_insert(value);
                    paths.extend(groups);
                }
            }
        }
        for path in paths {
            // The ancestors of a group matter too, since they divide the CPU time that it gets.
            let (version, full) = path.split_once(':').unwrap_or(("v2", &path));
            let mut part = full;
            loop {
                let key = format!("{version}:{part}");
                self.groups.entry(key).or_insert_with(|| group(root, version, part));
                match part.rsplit_once('/') {
                    Some((above, _)) if !above.is_empty() => part = above,
                    _ => break,
                }
            }
        }
    }

    /// Returns the number of threads.
    pub fn tasks(&self) -> usize {
        self.tasks.len()
    }

    /// Returns the text of the file.
    pub fn to_json(&self, root: &Path, trace: Option<&str>) -> String {
        let sys = |path: &str| root.join(path);
        let cpus: Vec<Value> = numbered(&sys("sys/devices/system/cpu"), "cpu")
            .into_iter()
            .map(|(cpu, directory)| {
                let topology = directory.join("topology");
                let mut members = members(&topology, &["core_id", "physical_package_id"]);
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
                if let Some(capacity) = text(&directory.join("cpu_capacity")) {
                    members.insert("capacity".into(), value(capacity));
                }
                Value::Object(members)
            })
            .collect();
        let mut tunables = Map::new();
        for directory in ["proc/sys/kernel", "sys/kernel/debug/sched"] {
            let Ok(entries) = fs::read_dir(sys(directory)) else { continue };
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
        let document = json!({
            "schema": SCHEMA,
            "trace": trace,
            "kernel": text(&sys("proc/sys/kernel/osrelease")),
            "cpus_online": text(&sys("sys/devices/system/cpu/online")),
            "cpus": cpus,
            "tunables": tunables,
            "groups": self.groups,
            "tasks": self.tasks.values().collect::<Vec<_>>(),
        });
        serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
    }
}

/// Returns the settings of a group.
fn group(root: &Path, version: &str, path: &str) -> Value {
    let path = path.trim_start_matches('/');
    let found = match version {
        "v2" => members(
            &root.join("sys/fs/cgroup").join(path),
            &["cpu.weight", "cpu.weight.nice", "cpu.max", "cpu.idle", "cpuset.cpus.effective"],
        ),
        _ => ["cpu", "cpu,cpuacct"]
            .iter()
            .map(|controller| {
                members(
                    &root.join("sys/fs/cgroup").join(controller).join(path),
                    &["cpu.shares", "cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.rt_runtime_us"],
                )
            })
            .find(|members| !members.is_empty())
            .unwrap_or_default(),
    };
    Value::Object(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_noted() {
        let root = std::env::temp_dir().join(format!("schedlab-side-{}", std::process::id()));
        let file = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().expect("a directory")).expect("it can be made");
            fs::write(path, text).expect("the file can be written");
        };
        let stat = "7 (a) b) S 3 7 7 0 -1 4194304 1 0 0 0 1 2 0 0 30 10 1 0 5 1 1 1 1 1 1 1 1 0 0 \
                    0 0 0 0 0 17 1 0 3 0 0 0";
        file("proc/7/task/7/stat", stat);
        file("proc/7/task/7/status", "Name:\ta\nTgid:\t7\nCpus_allowed_list:\t0-1\n");
        file("proc/7/task/7/cgroup", "2:cpu,cpuacct:/a/b\n0::/x\n");
        file("sys/fs/cgroup/cpu/a/b/cpu.shares", "2048\n");
        file("sys/fs/cgroup/x/cpu.max", "20000 100000\n");
        file("proc/sys/kernel/osrelease", "6.18.0\n");
        file("proc/sys/kernel/sched_rt_runtime_us", "950000\n");
        file("sys/devices/system/cpu/cpu1/topology/core_id", "0\n");
        let mut side = Side::default();
        side.look(&root);
        let json: Value =
            serde_json::from_str(&side.to_json(&root, Some("x.data"))).expect("valid JSON");
        fs::remove_dir_all(&root).expect("the directory exists");
        let task = &json["tasks"][0];
        assert_eq!(
            (&task["comm"], &task["nice"], &task["policy"]),
            (&"a) b".into(), &10.into(), &"batch".into())
        );
        assert_eq!(
            (&task["allowed"], &task["pid"], &task["parent"]),
            (&"0-1".into(), &7.into(), &3.into())
        );
        assert_eq!(task["groups"], json!(["v1:/a/b", "v2:/x"]));
        assert_eq!(json["groups"]["v1:/a/b"]["cpu.shares"], 2048);
        assert_eq!(json["groups"]["v2:/x"]["cpu.max"], "20000 100000");
        assert_eq!(json["tunables"]["sched_rt_runtime_us"], 950_000);
        assert_eq!((&json["kernel"], &json["cpus"][0]["cpu"]), (&"6.18.0".into(), &1.into()));
    }
}
