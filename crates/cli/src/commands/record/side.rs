//! Side file of a trace, [`Side`]. It holds facts that the trace does not contain: policies, nice
//! values, affinity and sessions of threads, their groups with weights and quotas, topology,
//! tunables, and the kernel's release and HZ.
//!
//! All facts are read from `/proc` and `/sys`. Those that do not exist or may not be read are left
//! out.

use super::attach::GroupEvent;
use super::hierarchies::Hierarchies;
use super::machine;
use super::proc::{Thread, numbered, text};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Schema of the file.
pub const SCHEMA: &str = "schedlab-side/1";

/// Maximum number of new numbers that a look reads one by one. If there are more, it lists all
/// threads.
const NUMBERS_MAX: u32 = 512;

/// Contents of a side file.
#[derive(Debug, Default)]
pub struct Side {
    hierarchies: Hierarchies,
    tasks: BTreeMap<u32, Known>,
    groups: BTreeMap<String, KnownGroup>,
    /// Moves of tasks into groups in their order: task, name, group.
    moves: Vec<(u32, String, String)>,
    /// Number of looks.
    looks: u64,
    /// Number that the kernel gave to the most recent thread.
    last_tid: Option<u32>,
}

/// Thread with the times at which it is read.
#[derive(Debug)]
struct Known {
    thread: Thread,
    /// Next look that reads it again, and its distance from this one. `None`: it existed before the
    /// recording, whose beginning determines its values.
    again: Option<(u64, u64)>,
}

/// Group with its settings.
#[derive(Debug, Default)]
struct KnownGroup {
    settings: Map<String, Value>,
    /// Whether it appeared during the recording. Its settings follow its creation.
    is_new: bool,
}

impl Side {
    /// Adds all current threads and their groups. Threads that existed before the first look keep
    /// the values that were read then.
    pub fn look(&mut self, root: &Path) {
        if self.looks == 0 {
            self.hierarchies = Hierarchies::read(root);
        }
        self.last_tid = last_tid(root);
        self.look_at_all(root);
        self.end_look();
    }

    /// Looks at what is new since the last look: threads that were created since, and earlier new
    /// ones after ever longer times. A thread begins with the values of its parent. It sets its
    /// own policy, affinity and group a moment later.
    pub fn look_again(&mut self, root: &Path, events: &[GroupEvent]) {
        for event in events {
            self.note(event);
        }
        let last = last_tid(root);
        match (self.last_tid, last) {
            (Some(before), Some(last)) if before == last => {}
            (Some(before), Some(last)) if before < last && last - before <= NUMBERS_MAX => {
                for tid in before + 1..=last {
                    let process = root.join("proc").join(tid.to_string());
                    self.read(tid, &process, &process.join("task").join(tid.to_string()));
                }
            }
            _ => self.look_at_all(root),
        }
        self.last_tid = last;
        let looks = self.looks;
        let is_due = |known: &Known| known.again.is_some_and(|(next, _)| next <= looks);
        let due: Vec<u32> =
            self.tasks.iter().filter(|(_, it)| is_due(it)).map(|(tid, _)| *tid).collect();
        for tid in due {
            let process = root.join("proc").join(tid.to_string());
            self.read(tid, &process, &process.join("task").join(tid.to_string()));
        }
        self.end_look();
    }

    fn end_look(&mut self) {
        let new: Vec<String> =
            self.groups.iter().filter(|(_, it)| it.is_new).map(|(key, _)| key.clone()).collect();
        for key in new {
            self.read_group(&key);
        }
        self.looks += 1;
    }

    fn look_at_all(&mut self, root: &Path) {
        for (_, process) in numbered(&root.join("proc"), "") {
            for (tid, directory) in numbered(&process.join("task"), "") {
                let is_old = self.tasks.get(&tid).is_some_and(|known| known.again.is_none());
                if !is_old || self.looks == 0 {
                    self.read(tid, &process, &directory);
                }
            }
        }
    }

    /// Reads a thread.
    fn read(&mut self, tid: u32, process: &Path, directory: &Path) {
        let looks = self.looks;
        let thread = Thread::read(tid, process, directory);
        let known = self.tasks.get_mut(&tid);
        let has_ended = thread.as_ref().is_none_or(|it| {
            it.has_ended && known.as_ref().is_some_and(|known| known.thread.start == it.start)
        });
        // It keeps its last values.
        if has_ended && let Some(Known { again: Some((next, _)), .. }) = known {
            *next = u64::MAX;
        }
        let Some(thread) = thread.filter(|_| !has_ended) else { return };
        for group in &thread.groups {
            self.add_group(group);
        }
        let first = Known { again: (looks > 0).then_some((looks + 1, 1)), thread };
        match self.tasks.get_mut(&tid) {
            Some(known) if known.thread.start == first.thread.start => {
                if let Some((next, distance)) = &mut known.again {
                    *distance *= 2;
                    *next = looks + *distance;
                    known.thread = first.thread;
                }
            }
            _ => {
                self.tasks.insert(tid, first);
            }
        }
    }

    /// Notes an event about groups.
    fn note(&mut self, event: &GroupEvent) {
        let Some(kind) = self.hierarchies.kind(event.hierarchy) else { return };
        let group = format!("{kind}:{}", event.path);
        self.add_group(&group);
        if let Some((tid, name)) = &event.task {
            self.moves.push((*tid, name.clone(), group));
        }
    }

    /// Adds a group and its ancestors, since they divide the CPU time that it gets.
    fn add_group(&mut self, group: &str) {
        let (kind, path) = group.split_once(':').unwrap_or(("v2", group));
        let is_new = self.looks > 0;
        let mut part = path;
        loop {
            let key = format!("{kind}:{part}");
            if !self.groups.contains_key(&key) {
                let settings = self.hierarchies.settings(&key);
                self.groups.insert(key, KnownGroup { settings, is_new });
            }
            match part.rsplit_once('/') {
                Some((above, _)) if !above.is_empty() => part = above,
                _ => break,
            }
        }
    }

    /// Reads the settings of a group again. A group that was removed keeps its last ones.
    fn read_group(&mut self, key: &str) {
        let settings = self.hierarchies.settings(key);
        if let Some(group) = self.groups.get_mut(key).filter(|_| !settings.is_empty()) {
            group.settings = settings;
        }
    }

    /// Returns the number of threads.
    pub fn tasks(&self) -> usize {
        self.tasks.len()
    }

    /// Returns whether the thread was seen.
    pub fn has(&self, tid: u32) -> bool {
        self.tasks.contains_key(&tid)
    }

    /// Returns the rows of the threads. A thread that appeared during the recording is in the group
    /// into which it moved last. A thread that only moves show has a row without other values.
    fn rows(&self) -> Vec<Value> {
        let mut last: BTreeMap<(u32, &str), (&str, &str)> = BTreeMap::new();
        for (tid, name, group) in &self.moves {
            let kind = group.split_once(':').map_or("", |(kind, _)| kind);
            last.insert((*tid, kind), (name, group));
        }
        let mut rows = vec![];
        for (tid, known) in &self.tasks {
            let mut thread = known.thread.clone();
            if known.again.is_some() {
                // The kernel names the process, with which all its threads move.
                let process = thread.process().and_then(|it| u32::try_from(it).ok());
                for one in process.into_iter().chain([*tid]) {
                    let own = last.range((one, "")..).take_while(|((it, _), _)| *it == one);
                    for (_, (_, group)) in own {
                        thread.attach(group);
                    }
                }
            }
            rows.push(thread.to_value());
        }
        let unseen: BTreeSet<u32> = last.keys().map(|(tid, _)| *tid).collect();
        for tid in unseen.into_iter().filter(|&tid| !self.has(tid)) {
            let own = last.range((tid, "")..).take_while(|((it, _), _)| *it == tid);
            let (names, groups): (Vec<&str>, Vec<&str>) = own.map(|(_, it)| *it).unzip();
            rows.push(json!({"tid": tid, "comm": names.first(), "groups": groups}));
        }
        rows
    }

    /// Returns the text of the file.
    pub fn to_json(&self, root: &Path, trace: Option<&str>) -> String {
        let mut document = Map::new();
        document.insert("schema".into(), SCHEMA.into());
        document.insert("trace".into(), json!(trace));
        document.extend(machine::facts(root));
        let groups = self.groups.iter();
        let groups: Map<String, Value> =
            groups.map(|(key, it)| (key.clone(), Value::Object(it.settings.clone()))).collect();
        document.insert("groups".into(), Value::Object(groups));
        document.insert("tasks".into(), Value::Array(self.rows()));
        serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
    }
}

/// Returns the number of the thread that was created last. If it has not changed, no thread is new.
fn last_tid(root: &Path) -> Option<u32> {
    text(&root.join("proc/loadavg"))?.split_whitespace().nth(4)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::PathBuf;

    /// Root with its own `/proc` and `/sys`.
    struct Root(PathBuf);

    impl Root {
        fn new(name: &str) -> Root {
            Root(std::env::temp_dir().join(format!("schedlab-side-{name}-{}", std::process::id())))
        }

        fn file(&self, path: &str, text: &str) {
            let path = self.0.join(path);
            fs::create_dir_all(path.parent().expect("a directory")).expect("it can be made");
            fs::write(path, text).expect("the file can be written");
        }

        /// Makes or changes a thread of its own process.
        fn thread(&self, tid: u32, stat: &str, groups: &str) {
            let directory = format!("proc/{tid}/task/{tid}");
            self.file(&format!("{directory}/stat"), stat);
            self.file(&format!("{directory}/status"), &format!("Tgid:\t{tid}\n"));
            self.file(&format!("{directory}/cgroup"), groups);
        }

        fn end(&self, tid: u32) {
            fs::remove_dir_all(self.0.join(format!("proc/{tid}"))).expect("the thread exists");
        }

        fn last_tid(&self, tid: u32) {
            self.file("proc/loadavg", &format!("0.1 0.1 0.1 1/9 {tid}\n"));
        }

        fn json(&self, side: &Side) -> Value {
            serde_json::from_str(&side.to_json(&self.0, Some("x.data"))).expect("valid JSON")
        }
    }

    impl Drop for Root {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).expect("the directory exists");
        }
    }

    /// Line of `/proc/TID/stat` of a thread of nice 10 and `SCHED_BATCH` in session 7.
    fn stat(tid: u32, name: &str, state: char, parent: u32, start: u32) -> String {
        format!(
            "{tid} ({name}) {state} {parent} 7 7 0 -1 4194304 1 0 0 0 1 2 0 0 30 10 1 0 {start} 1 \
             1 1 1 1 1 1 1 0 0 0 0 0 0 0 17 1 0 3 0 0 0"
        )
    }

    fn row(json: &Value, tid: u32) -> Option<&Value> {
        json["tasks"].as_array()?.iter().find(|task| task["tid"] == tid)
    }

    #[test]
    fn a_machine_is_noted() {
        let root = Root::new("machine");
        let file = |path: &str, text: &str| root.file(path, text);
        file("proc/7/task/7/stat", &stat(7, "a) b", 'S', 3, 5));
        file("proc/7/task/7/status", "Name:\ta\nTgid:\t7\nCpus_allowed_list:\t0-1\n");
        file("proc/7/task/7/cgroup", "2:cpu,cpuacct:/a/b\n0::/x\n");
        file("sys/fs/cgroup/cpu/a/b/cpu.shares", "2048\n");
        file("sys/fs/cgroup/x/cpu.max", "20000 100000\n");
        file("proc/sys/kernel/osrelease", "6.18.0\n");
        file("proc/sys/kernel/sched_rt_runtime_us", "950000\n");
        file("sys/devices/system/cpu/cpu1/topology/core_id", "0\n");
        file("sys/devices/system/cpu/cpu1/cache/index0/shared_cpu_list", "1\n");
        file("sys/devices/system/cpu/cpu1/cache/index3/shared_cpu_list", "0-1\n");
        file("sys/devices/system/cpu/isolated", "\n");
        file("sys/devices/system/cpu/nohz_full", "1\n");
        file("proc/7/autogroup", "/autogroup-105 nice 3\n");
        file("proc/self/sched", "a (7, #threads: 1)\nse.slice     :      2800000\n");
        file("boot/config-6.18.0", "CONFIG_HZ_300=y\nCONFIG_HZ=300\n");
        let mut side = Side::default();
        side.look(&root.0);
        let json = root.json(&side);
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
        assert_eq!((&task["session"], &task["autogroup"]), (&7.into(), &105.into()));
        assert_eq!((&task["autogroup_nice"], &json["hz"]), (&3.into(), &300.into()));
        assert_eq!(
            (&json["cpus"][0]["llc_list"], &json["nohz_full"]),
            (&"0-1".into(), &"1".into())
        );
        assert_eq!(json["tunables"]["base_slice_ns"], 2_800_000, "debugfs cannot be read");
        assert!(json.get("isolcpus").is_none());
    }

    #[test]
    fn tasks_that_come_and_go_during_the_recording_are_noted() {
        let root = Root::new("again");
        root.file("proc/mounts", "cgroup /grp cgroup rw,cpu,cpuacct 0 0\n");
        root.file("proc/self/cgroup", "4:cpu,cpuacct:/\n3:pids:/\n0::/\n");
        root.thread(1, &stat(1, "init", 'S', 0, 1), "4:cpu,cpuacct:/\n");
        root.last_tid(1);
        let mut side = Side::default();
        side.look(&root.0);
        // Task 2 appears in the group of its parent and moves later, with its settings.
        root.thread(2, &stat(2, "sh", 'R', 1, 50), "4:cpu,cpuacct:/\n");
        root.file("grp/new/cpu.shares", "1024\n");
        root.last_tid(2);
        side.look_again(&root.0, &[]);
        root.thread(2, &stat(2, "make", 'R', 1, 50), "4:cpu,cpuacct:/new\n");
        side.look_again(&root.0, &[]);
        root.file("grp/new/cpu.shares", "2048\n");
        // A move of a task from before the recording does not count, nor do other hierarchies.
        let event = |hierarchy, path: &str, task: Option<(u32, &str)>| GroupEvent {
            hierarchy,
            path: path.into(),
            task: task.map(|(tid, name)| (tid, name.into())),
        };
        let moves = [
            event(4, "/new", Some((1, "init"))),
            event(3, "/pids", Some((2, "make"))),
            event(4, "/gone", None),
            event(4, "/new", Some((9, "brief"))),
        ];
        side.look_again(&root.0, &moves);
        // Its zombie is in the root.
        root.thread(2, &stat(2, "make", 'Z', 1, 50), "4:cpu,cpuacct:/\n");
        for _ in 0..8 {
            side.look_again(&root.0, &[]);
        }
        root.end(2);
        fs::remove_dir_all(root.0.join("grp/new")).expect("the group exists");
        side.look_again(&root.0, &[]);
        let json = root.json(&side);
        assert_eq!(row(&json, 1).expect("a row")["groups"], json!(["v1:/"]));
        let make = row(&json, 2).expect("a row");
        assert_eq!((&make["comm"], &make["groups"]), (&"make".into(), &json!(["v1:/new"])));
        assert_eq!(json["groups"]["v1:/new"]["cpu.shares"], 2048);
        assert!(json["groups"].get("v1:/gone").is_some() && !side.has(9));
        let brief = json!({"tid": 9, "comm": "brief", "groups": ["v1:/new"]});
        assert_eq!(row(&json, 9), Some(&brief));
    }
}
