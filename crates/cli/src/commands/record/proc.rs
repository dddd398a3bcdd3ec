//! Reading `/proc` and `/sys`: small helpers, and the values of a thread, [`Thread`].

use serde_json::{Map, Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// Returns the trimmed text of a file that can be read.
pub fn text(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_string())
}

/// Returns `text` as a number if it is one, otherwise as a string.
pub fn value(text: String) -> Value {
    text.parse::<i64>().map_or(Value::String(text), Value::from)
}

/// Returns the files that can be read.
pub fn members(directory: &Path, names: &[&str]) -> Map<String, Value> {
    let read = |name: &&str| Some((name.to_string(), value(text(&directory.join(name))?)));
    names.iter().filter_map(read).collect()
}

/// Returns numbered entries such as `cpu0`, by number.
pub fn numbered(directory: &Path, prefix: &str) -> Vec<(u32, PathBuf)> {
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

/// Returns the kind of a hierarchy of groups with these controllers: `v1` if it divides CPU time,
/// `cpuset`, `v2`. `None`: it does not affect scheduling.
pub fn kind(controllers: &str) -> Option<&'static str> {
    let has = |name| controllers.split(',').any(|controller| controller == name);
    match controllers {
        "" => Some("v2"),
        _ if has("cpu") => Some("v1"),
        _ if has("cpuset") => Some("cpuset"),
        _ => None,
    }
}

/// Returns the lines of a `cgroup` file of `/proc`: number of the hierarchy, controllers, path.
pub fn memberships(text: &str) -> impl Iterator<Item = (u32, &str, &str)> {
    text.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':');
        Some((parts.next()?.parse().ok()?, parts.next()?, parts.next()?))
    })
}

/// Values of a thread.
#[derive(Clone, PartialEq, Debug)]
pub struct Thread {
    /// Values as the side file contains them, except the groups.
    pub values: Map<String, Value>,
    /// Groups: `v1:/build`.
    pub groups: Vec<String>,
    /// Start of the thread, in ticks of `/proc` since boot. A number that is used again differs in
    /// it.
    pub start: i64,
    /// Whether it has ended, and its parent has not yet waited for it.
    pub has_ended: bool,
}

impl Thread {
    /// Reads a thread from its directory. `process`: directory of its process.
    pub fn read(tid: u32, process: &Path, directory: &Path) -> Option<Thread> {
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
        // An ended thread that its parent has not yet waited for is in the root of each hierarchy
        // of version 1, which its group was not.
        let has_ended = matches!(fields.first(), Some(&"Z" | &"X"));
        let groups = memberships(&cgroup)
            .filter_map(|(_, controllers, path)| Some((kind(controllers)?, path)))
            .filter(|(kind, _)| !has_ended || *kind == "v2")
            .map(|(kind, path)| format!("{kind}:{}", path.trim_end_matches(" (deleted)")))
            .collect();
        let mut values = Map::new();
        let mut set = |key: &str, value: Value| values.insert(key.into(), value);
        set("tid", tid.into());
        set("pid", json!(line("Tgid:").and_then(|tgid| tgid.parse::<u32>().ok())));
        set("parent", json!(number(4)));
        set("session", json!(number(6)));
        set("comm", comm.into());
        set("policy", policy.into());
        set("nice", json!(number(19)));
        set("rt_priority", json!(number(40)));
        set("allowed", json!(line("Cpus_allowed_list:")));
        // Absent if the kernel has no autogroups.
        if let Some((id, nice)) = text(&process.join("autogroup")).and_then(|text| autogroup(&text))
        {
            set("autogroup", id.into());
            set("autogroup_nice", nice.into());
        }
        Some(Thread { values, groups, start: number(22).unwrap_or(0), has_ended })
    }

    /// Returns the process of the thread.
    pub fn process(&self) -> Option<u64> {
        self.values.get("pid")?.as_u64()
    }

    /// Puts the thread into a group instead of its group of the same hierarchy.
    pub fn attach(&mut self, group: &str) {
        let kind = |group: &str| group.split_once(':').map(|(kind, _)| kind.to_string());
        match self.groups.iter_mut().find(|it| kind(it) == kind(group)) {
            Some(own) => *own = group.into(),
            None => self.groups.push(group.into()),
        }
    }

    /// Returns the values with the groups.
    pub fn to_value(&self) -> Value {
        let mut values = self.values.clone();
        values.insert("groups".into(), json!(self.groups));
        Value::Object(values)
    }
}

/// Parses the number and nice value of an autogroup: `/autogroup-105 nice 0`. A task of the default
/// autogroup, whose file is empty, has number 0: it is in the root group.
fn autogroup(text: &str) -> Option<(u64, i64)> {
    if text.is_empty() {
        return Some((0, 0));
    }
    let (id, nice) = text.strip_prefix("/autogroup-")?.split_once(" nice ")?;
    Some((id.parse().ok()?, nice.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn autogroups_have_a_number_and_a_nice_value() {
        assert_eq!(autogroup("/autogroup-105 nice -3"), Some((105, -3)));
        assert_eq!(autogroup(""), Some((0, 0)), "the default autogroup is the root group");
        assert_eq!(autogroup("/autogroup-x nice 0"), None);
    }

    #[test]
    fn hierarchies_that_affect_scheduling_have_a_kind() {
        let lines = "12:cpuset:/c\n3:cpu,cpuacct:/a:b\n2:pids:/p\n0::/u\nbroken";
        let all: Vec<_> = memberships(lines).map(|(id, it, path)| (id, kind(it), path)).collect();
        assert_eq!(
            all,
            [
                (12, Some("cpuset"), "/c"),
                (3, Some("v1"), "/a:b"),
                (2, None, "/p"),
                (0, Some("v2"), "/u")
            ]
        );
    }
}
