//! Reads the side file that `schedlab record` writes next to a trace: [`Side`]. A trace does not
//! contain policies, affinity, groups, topology and tunables. A replay that has them is nearer to
//! the recorded run.

use crate::program::Workload;
use crate::select::cpu_list;
use crate::trace::Trace;
use schedlab_core::Policy;
use schedlab_core::topology::{Place, Topology};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Schema of the files that are read.
pub const SCHEMA: &str = "schedlab-side/1";

/// Contents of a side file.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Side {
    /// Release of the kernel: `6.18.3-lab`.
    pub kernel: Option<String>,
    /// Tunables of the scheduler, by the kernel's names.
    pub tunables: BTreeMap<String, i64>,
    tasks: BTreeMap<u32, Row>,
    /// Process of each thread.
    processes: BTreeMap<u32, u32>,
    /// Groups by version and path: `v1:/build`.
    groups: BTreeMap<String, Map<String, Value>>,
    /// Core, package and node of each CPU, and the number of CPUs of its core.
    cpus: BTreeMap<u32, (u32, u32, u32)>,
}

/// Thread.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Row {
    policy: Option<Policy>,
    allowed: Option<Vec<u32>>,
    /// Key of its group in [`Side::groups`], if the group has a share.
    group: Option<String>,
}

/// Settings of groups, as lines of a file of groups.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GroupLines {
    /// All settings.
    pub all: String,
    /// Settings without quotas, for schedulers that have none.
    pub without_quotas: String,
}

impl Side {
    /// Parses the text of a side file.
    ///
    /// # Errors
    /// If the text is not a side file. The message gives the place.
    pub fn parse(text: &str) -> Result<Side, String> {
        let document: Value = serde_json::from_str(text.trim_start_matches('\u{feff}'))
            .map_err(|error| format!("{}:{}: {error}", error.line(), error.column()))?;
        let schema = document["schema"].as_str();
        if schema != Some(SCHEMA) {
            return Err(format!(
                "\"schema\" is {}, and must be \"{SCHEMA}\", as `schedlab record` writes it",
                schema.map_or("missing".into(), |schema| format!("\"{schema}\""))
            ));
        }
        let mut side =
            Side { kernel: document["kernel"].as_str().map(String::from), ..Side::default() };
        if let Value::Object(tunables) = &document["tunables"] {
            let numbers = tunables.iter();
            side.tunables =
                numbers.filter_map(|(name, value)| Some((name.clone(), value.as_i64()?))).collect();
        }
        if let Value::Object(groups) = &document["groups"] {
            let settings = groups.iter().filter_map(|(path, value)| match value {
                Value::Object(members) => Some((path.clone(), members.clone())),
                _ => None,
            });
            side.groups = settings.collect();
        }
        for (at, task) in document["tasks"].as_array().into_iter().flatten().enumerate() {
            let tid = task["tid"].as_u64().and_then(|tid| u32::try_from(tid).ok());
            let Some(tid) = tid else {
                return Err(format!("tasks[{at}].tid: a thread's number is missing"));
            };
            let process = task["pid"].as_u64().and_then(|process| u32::try_from(process).ok());
            if let Some(process) = process {
                side.processes.insert(tid, process);
            }
            let policy = match task["policy"].as_str() {
                Some("rr") => Some(Policy::RoundRobin),
                Some("batch") => Some(Policy::Batch),
                Some("idle") => Some(Policy::Idle),
                _ => None,
            };
            let allowed = task["allowed"].as_str().and_then(cpu_list);
            let paths = task["groups"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let group = side.share_of(&paths.collect::<Vec<_>>());
            side.tasks.insert(tid, Row { policy, allowed, group });
        }
        for cpu in document["cpus"].as_array().into_iter().flatten() {
            let number = |key: &str| cpu[key].as_u64().and_then(|it| u32::try_from(it).ok());
            if let Some(own) = number("cpu") {
                let package = number("physical_package_id").unwrap_or(0);
                let core = number("core_id").unwrap_or(own);
                side.cpus.insert(own, (core, package, number("node").unwrap_or(0)));
            }
        }
        Ok(side)
    }

    /// Returns the group in which a thread with these paths has its share: the nearest group,
    /// itself or above, for which the CPU controller is enabled. `None`: the root.
    fn share_of(&self, paths: &[&str]) -> Option<String> {
        for kind in ["v1", "v2"] {
            let own = paths.iter().filter_map(|path| path.split_once(':'));
            for (version, path) in own.filter(|(version, _)| *version == kind) {
                let mut part = path;
                while !part.trim_end_matches('/').is_empty() {
                    let key = format!("{version}:{part}");
                    let has = |name: &str| {
                        self.groups.get(&key).is_some_and(|members| members.contains_key(name))
                    };
                    if has("cpu.shares") || has("cpu.weight") {
                        return Some(key);
                    }
                    part = part.rsplit_once('/').map_or("", |(above, _)| above);
                }
            }
        }
        None
    }

    /// Sets the processes of the tasks of `trace`.
    pub fn set_processes(&self, trace: &mut Trace) {
        for task in &mut trace.tasks {
            if let Some(&process) = self.processes.get(&task.pid).filter(|_| task.incarnation == 0)
            {
                task.process = Some(process);
            }
        }
    }

    /// Applies the file to the tasks of `workload`: policies, affinity and groups. A task that did
    /// not exist when the snapshots were made is placed where its parent is. `with_groups`: `false`
    /// if the groups come from another source.
    pub fn apply(&self, workload: &mut Workload, trace: &Trace, with_groups: bool) -> GroupLines {
        let mut of_task: Vec<Option<&Row>> = vec![];
        for task in &trace.tasks {
            let parent = task.forked_by.and_then(|parent| of_task.get(parent).copied().flatten());
            of_task.push(self.tasks.get(&task.pid).or(parent));
        }
        let mut used = BTreeSet::new();
        for program in &mut workload.tasks {
            let Some(row) = of_task[program.task as usize] else { continue };
            let is_urgent = program.prio < 100;
            match row.policy {
                Some(Policy::RoundRobin) if is_urgent => {
                    program.set.policy = Some(Policy::RoundRobin);
                    program.set.priority = Some((99 - program.prio).clamp(1, 99));
                }
                Some(policy @ (Policy::Batch | Policy::Idle)) if !is_urgent => {
                    program.set.policy = Some(policy);
                    program.set.priority = Some((program.prio - 120).clamp(-20, 19));
                }
                _ => {}
            }
            if let Some(allowed) = &row.allowed {
                let here: Vec<u32> =
                    allowed.iter().copied().filter(|&cpu| cpu < trace.cpus).collect();
                if !here.is_empty() && here.len() < trace.cpus as usize {
                    program.set.cpus = Some(here);
                }
            }
            if with_groups && let Some(group) = &row.group {
                program.set.taskgroup = Some(path_of(group));
                let mut key = group.as_str();
                while key.contains('/') {
                    used.insert(key.to_string());
                    key = key.rsplit_once('/').map_or("", |(above, _)| above);
                }
            }
        }
        let mut lines = GroupLines::default();
        for key in used {
            let path = path_of(&key);
            if path.len() > 1
                && let Some(members) = self.groups.get(&key)
            {
                self.line(&path, members, &mut lines);
            }
        }
        lines
    }

    /// Writes the settings of a group.
    fn line(&self, path: &str, members: &Map<String, Value>, lines: &mut GroupLines) {
        let text = |name: &str| match members.get(name)? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        let mut shares = String::new();
        for name in ["cpu.shares", "cpu.weight", "cpu.idle"] {
            // `cpu.idle` 0 is the default, and some releases do not know the file.
            if let Some(value) =
                text(name).filter(|value| (name, value.as_str()) != ("cpu.idle", "0"))
            {
                let _ = write!(shares, " {name}={value}");
            }
        }
        let cpus = text("cpuset.cpus.effective");
        if let Some(cpus) = cpus.filter(|text| {
            cpu_list(text).is_some_and(|cpus| self.cpus.keys().any(|cpu| !cpus.contains(cpu)))
        }) {
            let _ = write!(shares, " cpuset.cpus={cpus}");
        }
        let mut quota = String::new();
        if let Some(max) = text("cpu.max").filter(|max| !max.starts_with("max")) {
            let _ = write!(quota, " cpu.max={max}");
        }
        if let Some(us) = text("cpu.cfs_quota_us").filter(|us| !us.starts_with('-')) {
            if let Some(period) = text("cpu.cfs_period_us") {
                let _ = write!(quota, " cpu.cfs_period_us={period}");
            }
            let _ = write!(quota, " cpu.cfs_quota_us={us}");
        }
        let _ = writeln!(lines.all, "{path}{shares}{quota}");
        let _ = writeln!(lines.without_quotas, "{path}{shares}");
    }

    /// Returns the topology of the recorded machine, if it differs from equal CPUs with one cache.
    pub fn topology(&self, cpus: u32) -> Option<Topology> {
        let of = |cpu: u32| self.cpus.get(&cpu).copied();
        let all: Vec<(u32, u32, u32)> = (0..cpus).map(of).collect::<Option<_>>()?;
        // Numbers cores without gaps, in the order of the CPUs and within packages.
        let mut cores: Vec<(u32, u32)> = vec![];
        let mut packages: Vec<u32> = vec![];
        let mut nodes: Vec<u32> = vec![];
        let mut places = vec![];
        for &(core, package, node) in &all {
            let package_at = number(&mut packages, package);
            places.push(Place {
                core: number(&mut cores, (package, core)),
                cache: package_at,
                package: package_at,
                node: number(&mut nodes, node),
            });
        }
        if cores.len() == all.len() && packages.len() == 1 && nodes.len() == 1 {
            return None;
        }
        Topology::new(places, &[]).ok()
    }

    /// Returns the number of threads in the file.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Whether the file has no threads.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }
}

/// Returns the index of `one` in `all`, and appends it if it is missing.
fn number<T: PartialEq>(all: &mut Vec<T>, one: T) -> u32 {
    let at = all.iter().position(|it| *it == one).unwrap_or_else(|| {
        all.push(one);
        all.len() - 1
    });
    at as u32
}

/// Returns the path of a group's key in the form that files of groups allow.
fn path_of(key: &str) -> String {
    let path = key.split_once(':').map_or(key, |(_, path)| path);
    let fits = |c: char| !c.is_whitespace() && !c.is_control() && !"#=\"'{}".contains(c);
    path.trim_end_matches('/').chars().map(|c| if fits(c) { c } else { '_' }).collect()
}
