//! Reads the side file that `schedlab record` writes next to a trace: [`Side`]. A trace does not
//! contain policies, affinity, groups, topology and tunables. A replay that has them is nearer to
//! the recorded run.

use crate::autogroup::{self, Membership};
use crate::program::Workload;
use crate::select::cpu_list;
use crate::trace::Trace;
use schedlab_core::Policy;
use schedlab_core::topology::{Place, Topology};
use schedlab_workload::groups;
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
    /// Place of each CPU.
    cpus: BTreeMap<u32, CpuPlace>,
    /// Ticks per second.
    pub hz: Option<u32>,
}

/// Place of a CPU by the kernel's numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct CpuPlace {
    /// First CPU of its core, or the core's number within the package in files without it.
    core: u32,
    package: u32,
    node: u32,
    /// First CPU that shares its last cache.
    cache: Option<u32>,
}

/// Thread.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Row {
    name: Option<String>,
    policy: Option<Policy>,
    allowed: Option<Vec<u32>>,
    /// Key of its group in [`Side::groups`], if the group has a share.
    group: Option<String>,
    /// Whether only moves between groups are known, and the rest is its parent's.
    is_partial: bool,
    /// Whether its group of the CPU controller is known.
    has_group: bool,
    membership: Option<Membership>,
    /// Number of its process, and of the parent of this process.
    process: Option<u32>,
    parent: Option<u32>,
}

impl Row {
    /// Fills in from the row of the parent what the row lacks.
    fn or_parent(&self, parent: Option<&Row>) -> Row {
        let mut row = self.clone();
        if let Some(parent) = parent.filter(|_| self.is_partial) {
            row.policy = parent.policy;
            row.allowed = row.allowed.or_else(|| parent.allowed.clone());
            row.membership = parent.membership;
            (row.process, row.parent) = (parent.process, parent.parent);
            if !row.has_group {
                row.group = parent.group.clone();
                row.has_group = parent.has_group;
            }
        }
        row
    }
}

/// Settings of groups, as lines of a file of groups.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GroupLines {
    /// All settings.
    pub all: String,
    /// Settings without quotas, for schedulers that have none.
    pub without_quotas: String,
    /// Notes for the user: the letter of their kind, and the text.
    pub notes: Vec<(char, String)>,
}

/// Maximum number of tasks that a note names.
const NAMED_MAX: usize = 5;

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
                "\"schema\" is {}; it must be \"{SCHEMA}\", as `schedlab record` writes it",
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
            let number = |key: &str| task[key].as_u64().and_then(|it| u32::try_from(it).ok());
            let process = number("pid");
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
            let paths: Vec<&str> = paths.collect();
            let membership = match (task["autogroup"].as_u64(), task["session"].as_u64()) {
                (Some(0), _) => Some(Membership::Root),
                (Some(id), _) => {
                    let nice = task["autogroup_nice"].as_i64().unwrap_or(0).clamp(-20, 19);
                    Some(Membership::Autogroup(id, nice as i32))
                }
                (None, Some(session)) => Some(Membership::Session(session)),
                (None, None) => None,
            };
            let row = Row {
                name: task["comm"].as_str().map(String::from),
                policy,
                allowed: allowed.or_else(|| side.cpuset_of(&paths)),
                group: side.share_of(&paths),
                is_partial: task.get("policy").is_none(),
                has_group: paths.iter().any(|path| !path.starts_with("cpuset:")),
                membership,
                process: number("pid"),
                parent: number("parent"),
            };
            side.tasks.insert(tid, row);
        }
        side.hz = document["hz"]
            .as_u64()
            .and_then(|hz| u32::try_from(hz).ok())
            .filter(|hz| (1..=10_000).contains(hz));
        for cpu in document["cpus"].as_array().into_iter().flatten() {
            let number = |key: &str| cpu[key].as_u64().and_then(|it| u32::try_from(it).ok());
            if let Some(own) = number("cpu") {
                let package = number("physical_package_id").unwrap_or(0);
                // Numbers of cores may repeat within a package. The lists of siblings do not lie.
                let siblings = first_of(&cpu["thread_siblings_list"]);
                let core = siblings.or_else(|| number("core_id")).unwrap_or(own);
                let (node, cache) = (number("node").unwrap_or(0), first_of(&cpu["llc_list"]));
                side.cpus.insert(own, CpuPlace { core, package, node, cache });
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

    /// Returns the CPUs of the cpuset (version 1) of a thread with these paths.
    fn cpuset_of(&self, paths: &[&str]) -> Option<Vec<u32>> {
        let key = paths.iter().find(|path| path.starts_with("cpuset:"))?;
        let members = self.groups.get(*key)?;
        let text = |name: &str| members.get(name)?.as_str().and_then(cpu_list);
        text("cpuset.effective_cpus").or_else(|| text("cpuset.cpus"))
    }

    /// Returns a thread of each name whose threads are all alike. `None`: they differ.
    fn namesakes(&self) -> BTreeMap<&str, Option<&Row>> {
        let mut found: BTreeMap<&str, Option<&Row>> = BTreeMap::new();
        for row in self.tasks.values().filter(|row| !row.is_partial) {
            let Some(name) = &row.name else { continue };
            let first = found.entry(name).or_insert(Some(row));
            *first = first.filter(|first| {
                let facts = |row: &'_ Row| (row.policy, row.membership, row.parent);
                facts(first) == facts(row)
                    && (&first.allowed, &first.group) == (&row.allowed, &row.group)
            });
        }
        found
    }

    /// Whether the recorded kernel grouped tasks by session.
    fn has_autogroups(&self) -> bool {
        self.tunables.get("sched_autogroup_enabled").is_some_and(|&it| it != 0)
            && self.kernel.as_deref().and_then(groups::autogroup::is_in) != Some(false)
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
        let namesakes = self.namesakes();
        let mut of_task: Vec<Option<Row>> = vec![];
        for task in &trace.tasks {
            let parent = task.forked_by.and_then(|parent| of_task.get(parent)?.as_ref());
            let row = match self.tasks.get(&task.pid) {
                Some(row) => Some(row.or_parent(parent)),
                None => parent.or_else(|| *namesakes.get(task.name.as_str())?).cloned(),
            };
            of_task.push(row);
        }
        let mut lines = GroupLines::default();
        let autogroups = self.autogroups(trace, &of_task, with_groups, &mut lines);
        let mut unknown = vec![];
        let mut used = BTreeSet::new();
        for program in &mut workload.tasks {
            let Some(row) = &of_task[program.task as usize] else {
                if !trace.tasks[program.task as usize].is_kernel {
                    unknown.push(program.key.clone());
                }
                continue;
            };
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
        let mut made: BTreeMap<String, i32> = BTreeMap::new();
        for program in workload.tasks.iter_mut().filter(|it| it.prio >= 100) {
            if let Some((path, nice)) = &autogroups[program.task as usize] {
                program.set.taskgroup = Some(path.clone());
                made.insert(path.clone(), *nice);
            }
        }
        for (path, nice) in made {
            let line = groups::autogroup::line(&path, nice);
            lines.all.push_str(&line);
            lines.without_quotas.push_str(&line);
        }
        if !unknown.is_empty() {
            let more = match unknown.len().saturating_sub(NAMED_MAX) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            unknown.truncate(NAMED_MAX);
            let text = format!(
                "{}{more}: neither the tasks nor their parents are in the side file, so their \
                 policy, affinity, session and group are unknown",
                unknown.join(", ")
            );
            lines.notes.push(('U', text));
        }
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

    /// Returns the autogroup of each task with its nice value, and adds a note about them.
    /// `None`: the task is in the root group, or in one of the CPU controller.
    fn autogroups(
        &self,
        trace: &Trace,
        rows: &[Option<Row>],
        with_groups: bool,
        lines: &mut GroupLines,
    ) -> Vec<Option<(String, i32)>> {
        let is_recorded = self.tasks.values().any(|row| row.membership.is_some());
        if !self.has_autogroups() || (!is_recorded && !with_groups) {
            return vec![None; rows.len()];
        }
        // A task in a group of the CPU controller is not in an autogroup.
        let in_root: Vec<Option<&Row>> = trace
            .tasks
            .iter()
            .zip(rows)
            .map(|(task, row)| row.as_ref().filter(|row| row.group.is_none() && !task.is_kernel))
            .collect();
        let found: Vec<Option<(String, i32)>> = match is_recorded {
            true => in_root.iter().map(|row| row.as_ref()?.membership?.group()).collect(),
            false => {
                let facts = in_root.iter().zip(&trace.tasks).map(|(row, task)| {
                    let row = row.as_ref()?;
                    Some((row.process?, row.parent?, task.prio?))
                });
                let guessed = autogroup::guess(&facts.collect::<Vec<_>>());
                guessed.into_iter().map(|path| Some((path?, 0))).collect()
            }
        };
        let groups: BTreeSet<&String> = found.iter().flatten().map(|(path, _)| path).collect();
        if groups.len() > 1 {
            let count = found.iter().flatten().count();
            let text = match is_recorded {
                true => format!(
                    "autogroup is on (sched_autogroup_enabled): {count} tasks of the root group \
                     compete in {} groups, one for each session, as recorded. A nice value counts \
                     only within its session",
                    groups.len()
                ),
                false => {
                    let tasks = trace.tasks.iter().zip(&found);
                    let names: BTreeSet<&str> = tasks
                        .filter(|(_, group)| group.is_some())
                        .map(|(task, _)| task.name.as_str())
                        .collect();
                    let shown: Vec<&str> = names.iter().copied().take(NAMED_MAX).collect();
                    let more = match names.len().saturating_sub(NAMED_MAX) {
                        0 => String::new(),
                        more => format!(" and {more} more"),
                    };
                    format!(
                        "autogroup is on (sched_autogroup_enabled), but the side file has no \
                         sessions. Jobs of shells are taken to have a session each: {}{more}. \
                         Their nice values have no effect on other sessions. If they share one \
                         (jobs of one terminal), give a group for each session with --groups; \
                         `schedlab record` of this version records the sessions",
                        shown.join(", ")
                    )
                }
            };
            lines.notes.push(('S', text));
        }
        found
    }

    /// Writes the settings of a group.
    fn line(&self, path: &str, members: &Map<String, Value>, lines: &mut GroupLines) {
        let text = |name: &str| match members.get(name)? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        let mut shares = String::new();
        // An idle group's weight is not its own, and reads as 0 in version 2.
        let is_idle = text("cpu.idle").is_some_and(|idle| idle == "1");
        let names = ["cpu.shares", "cpu.weight", "cpu.idle"];
        for name in if is_idle { &names[2..] } else { &names[..] } {
            // `cpu.idle` 0 is the default, and some releases do not know the file.
            if let Some(value) =
                text(name).filter(|value| (*name, value.as_str()) != ("cpu.idle", "0"))
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
            if let Some(us) = text("cpu.max.burst").filter(|us| us != "0") {
                let _ = write!(quota, " cpu.max.burst={us}");
            }
        }
        if let Some(us) = text("cpu.cfs_quota_us").filter(|us| !us.starts_with('-')) {
            if let Some(period) = text("cpu.cfs_period_us") {
                let _ = write!(quota, " cpu.cfs_period_us={period}");
            }
            let _ = write!(quota, " cpu.cfs_quota_us={us}");
            if let Some(us) = text("cpu.cfs_burst_us").filter(|us| us != "0") {
                let _ = write!(quota, " cpu.cfs_burst_us={us}");
            }
        }
        let _ = writeln!(lines.all, "{path}{shares}{quota}");
        let _ = writeln!(lines.without_quotas, "{path}{shares}");
    }

    /// Returns the topology of the recorded machine, if it differs from equal CPUs with one cache.
    pub fn topology(&self, cpus: u32) -> Option<Topology> {
        let of = |cpu: u32| self.cpus.get(&cpu).copied();
        let all: Vec<CpuPlace> = (0..cpus).map(of).collect::<Option<_>>()?;
        // Numbers cores without gaps, in the order of the CPUs and within packages.
        let mut cores: Vec<(u32, u32)> = vec![];
        let mut caches: Vec<(u32, Option<u32>)> = vec![];
        let mut packages: Vec<u32> = vec![];
        let mut nodes: Vec<u32> = vec![];
        let mut places = vec![];
        for place in &all {
            places.push(Place {
                core: number(&mut cores, (place.package, place.core)),
                cache: number(&mut caches, (place.package, place.cache)),
                package: number(&mut packages, place.package),
                node: number(&mut nodes, place.node),
            });
        }
        let is_one = caches.len() == 1 && packages.len() == 1 && nodes.len() == 1;
        if cores.len() == all.len() && is_one {
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

/// Returns the first CPU of a list of CPUs.
fn first_of(list: &Value) -> Option<u32> {
    list.as_str()?.split([',', '-']).next()?.trim().parse().ok()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Program;
    use crate::trace::Task;
    use schedlab_core::CpuId;
    use schedlab_workload::model::Properties;

    /// Trace of tasks, by number, name and parent in the trace.
    fn trace(tasks: &[(u32, &str, Option<usize>)]) -> (Trace, Workload) {
        let mut workload = Workload::default();
        let mut trace = Trace { cpus: 4, ..Trace::default() };
        for &(pid, name, forked_by) in tasks {
            let task = trace.tasks.len() as u32;
            let key = format!("{name}.{pid}");
            workload.tasks.push(Program {
                key,
                name: name.into(),
                task,
                is_forked: false,
                delay_ns: 0,
                prio: 120,
                steps: [].into(),
                is_exhausted: false,
                set: Properties::default(),
                nice_by: 0,
            });
            trace.tasks.push(Task { pid, name: name.into(), forked_by, ..Task::default() });
        }
        (trace, workload)
    }

    fn groups(workload: &Workload) -> Vec<Option<&str>> {
        workload.tasks.iter().map(|it| it.set.taskgroup.as_deref()).collect()
    }

    fn side(kernel: &str, tasks: &str) -> Side {
        let text = format!(
            r#"{{"schema": "schedlab-side/1", "kernel": "{kernel}", "hz": 300,
            "tunables": {{"sched_autogroup_enabled": 1}},
            "groups": {{"v1:/a": {{"cpu.shares": 3, "cpu.idle": 1, "cpu.cfs_burst_us": 5}},
                "v1:/q": {{"cpu.shares": 512, "cpu.cfs_quota_us": 50, "cpu.cfs_burst_us": 5}},
                "cpuset:/c": {{"cpuset.effective_cpus": "2-3"}}}},
            "tasks": [{tasks}]}}"#
        );
        Side::parse(&text).expect("a side file")
    }

    #[test]
    fn tasks_of_the_root_group_compete_in_their_autogroups() {
        let rows = r#"{"tid": 1, "session": 1, "autogroup": 0, "groups": ["v1:/"], "policy": "other"},
            {"tid": 10, "session": 8, "autogroup": 5, "autogroup_nice": 0, "groups": ["v1:/"], "policy": "other"},
            {"tid": 11, "session": 9, "autogroup": 6, "autogroup_nice": -3, "groups": ["v1:/"], "policy": "other"},
            {"tid": 12, "session": 9, "autogroup": 6, "groups": ["v1:/a"], "policy": "other"},
            {"tid": 13, "session": 13, "groups": ["v1:/"], "policy": "other"},
            {"tid": 14, "session": 9, "autogroup": 6, "groups": ["v1:/"], "policy": "fifo"}"#;
        let tasks = [
            (1, "init", None),
            (10, "a", None),
            (11, "b", None),
            (12, "c", None),
            (13, "d", None),
            (14, "e", None),
            (77, "child", Some(1)),
        ];
        let (trace, mut workload) = trace(&tasks);
        workload.tasks[5].prio = 50;
        let recorded = side("6.18.3", rows);
        assert_eq!(recorded.hz, Some(300));
        let lines = recorded.apply(&mut workload, &trace, true);
        let (five, six) = (Some("/autogroup-5"), Some("/autogroup-6"));
        let wanted = [None, five, six, Some("/a"), Some("/autogroup-s13"), None, five];
        assert_eq!(groups(&workload), wanted);
        assert!(lines.all.contains("/autogroup-5\n/autogroup-6 cpu.weight.nice=-3\n"), "{lines:?}");
        assert!(lines.all.contains("/a cpu.idle=1\n"), "an idle group has no weight: {lines:?}");
        assert_eq!(lines.notes.len(), 1, "{lines:?}");
        assert!(lines.notes[0].0 == 'S' && lines.notes[0].1.contains("as recorded"), "{lines:?}");
        // Groups from elsewhere take precedence, and earlier kernels have no sessions.
        for (kernel, with_groups, last) in
            [("6.18.3", false, five), ("2.6.37", true, None), ("2.6.37", false, None)]
        {
            workload.tasks.iter_mut().for_each(|it| it.set.taskgroup = None);
            side(kernel, rows).apply(&mut workload, &trace, with_groups);
            let c = if with_groups { Some("/a") } else { None };
            assert_eq!(groups(&workload)[3], c, "{kernel}");
            assert_eq!(groups(&workload)[6], last, "{kernel}");
        }
    }

    #[test]
    fn without_sessions_they_are_guessed_and_reported() {
        let rows = r#"{"tid": 7, "pid": 7, "parent": 1, "comm": "sh", "policy": "other", "groups": ["v1:/"]},
            {"tid": 8, "pid": 8, "parent": 7, "comm": "hogA", "policy": "other", "groups": ["v1:/"]},
            {"tid": 9, "pid": 9, "parent": 7, "comm": "hogB", "policy": "other", "groups": ["v1:/"]}"#;
        let rows = &format!(
            r#"{rows}, {{"tid": 60, "policy": "batch", "comm": "cc", "groups": ["v1:/q"]}},
            {{"tid": 61, "policy": "batch", "comm": "cc", "groups": ["v1:/q"]}}"#
        );
        let tasks = [(8, "hogA", None), (9, "hogB", None), (50, "cc", None), (51, "x", None)];
        let (mut trace, mut workload) = trace(&tasks);
        trace.tasks.iter_mut().for_each(|task| task.prio = Some(120));
        let lines = side("6.18.3", rows).apply(&mut workload, &trace, true);
        let (a, b) = (Some("/autogroup-p8"), Some("/autogroup-p9"));
        let wanted = [a, b, Some("/q"), None];
        assert_eq!(groups(&workload), wanted, "a task is like the others of its name");
        let codes: String = lines.notes.iter().map(|(code, _)| code).collect();
        assert_eq!(codes, "SU", "{lines:?}");
        assert!(lines.notes[0].1.contains("hogA, hogB") && lines.notes[1].1.contains("x.51"));
        workload.tasks.iter_mut().for_each(|it| it.set.taskgroup = None);
        side("6.18.3", rows).apply(&mut workload, &trace, false);
        assert_eq!(groups(&workload), [None; 4], "a file of groups is better than a guess");
    }

    #[test]
    fn a_task_that_only_its_moves_show_has_the_rest_from_its_parent() {
        let rows = r#"{"tid": 7, "policy": "batch", "allowed": "0-1", "groups": ["v1:/", "cpuset:/"]},
            {"tid": 8, "groups": ["v1:/q"]}, {"tid": 9, "groups": ["cpuset:/c"]}"#;
        let tasks = [(7, "sh", None), (8, "a", Some(0)), (9, "b", Some(1))];
        let (trace, mut workload) = trace(&tasks);
        let lines = side("2.6.32", rows).apply(&mut workload, &trace, true);
        assert_eq!(groups(&workload), [None, Some("/q"), Some("/q")]);
        let cpus: Vec<_> = workload.tasks.iter().map(|it| it.set.cpus.clone()).collect();
        assert_eq!(cpus, [Some(vec![0, 1]), Some(vec![0, 1]), Some(vec![2, 3])]);
        assert_eq!(workload.tasks[2].set.policy, Some(Policy::Batch));
        assert!(lines.all.contains("cpu.cfs_quota_us=50 cpu.cfs_burst_us=5"), "{lines:?}");
    }

    #[test]
    fn siblings_and_caches_make_the_topology() {
        let text = r#"{"schema": "schedlab-side/1", "cpus": [
            {"cpu": 0, "core_id": 0, "thread_siblings_list": "0,2", "llc_list": "0,2"},
            {"cpu": 1, "core_id": 0, "thread_siblings_list": "1,3", "llc_list": "1,3"},
            {"cpu": 2, "core_id": 0, "thread_siblings_list": "0,2", "llc_list": "0,2"},
            {"cpu": 3, "core_id": 0, "thread_siblings_list": "1,3", "llc_list": "1,3"}]}"#;
        let topology = Side::parse(text).expect("a side file").topology(4).expect("two cores");
        let at = |cpu| topology.place(CpuId(cpu));
        assert_eq!((at(0).core, at(1).core, at(2).core), (0, 1, 0));
        assert_eq!((at(0).cache, at(1).cache, at(3).cache), (0, 1, 1));
    }

    #[test]
    fn hostile_values_are_left_out() {
        let text = r#"{"schema": "schedlab-side/1", "hz": 99999999999, "kernel": 7,
            "tunables": {"sched_autogroup_enabled": -1},
            "cpus": [{"cpu": 0, "thread_siblings_list": "x", "llc_list": 7}, {"cpu": -1}, 3],
            "groups": {"cpuset:/": {"cpuset.cpus": "0-4000000000"}, "v1:/a": []},
            "tasks": [{"tid": 4294967295, "pid": 99999999999, "parent": -1, "session": -1,
                "autogroup": 18446744073709551615, "autogroup_nice": 9223372036854775807,
                "allowed": "9-1", "groups": [1, "", ":", "cpuset:/", "v1:", "v1:////"]},
                {"tid": 1, "session": 18446744073709551615, "autogroup": "x", "policy": 5}]}"#;
        let side = Side::parse(text).expect("a side file");
        assert_eq!(side.hz, None);
        let (trace, mut workload) = trace(&[(u32::MAX, "a", Some(0)), (1, "b", Some(9))]);
        let lines = side.apply(&mut workload, &trace, true);
        assert!(lines.all.contains("/autogroup-18446744073709551615 cpu.weight.nice=19"));
        assert!(side.topology(4).is_none());
    }
}
