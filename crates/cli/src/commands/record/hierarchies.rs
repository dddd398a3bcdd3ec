//! Hierarchies of control groups and where they are mounted, [`Hierarchies`], and the settings of a
//! group.

use super::proc::{kind, members, memberships, text};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Files of a group that are read, by the kind of its hierarchy.
const SETTINGS: [(&str, &[&str]); 3] = [
    (
        "v2",
        &[
            "cpu.weight",
            "cpu.weight.nice",
            "cpu.max",
            "cpu.max.burst",
            "cpu.idle",
            "cpuset.cpus.effective",
        ],
    ),
    (
        "v1",
        &[
            "cpu.shares",
            "cpu.cfs_quota_us",
            "cpu.cfs_period_us",
            "cpu.cfs_burst_us",
            "cpu.rt_runtime_us",
            "cpu.idle",
        ],
    ),
    ("cpuset", &["cpuset.cpus", "cpuset.effective_cpus"]),
];

/// Places where hierarchies are mounted unless `/proc/mounts` names others.
const USUAL: [(&str, &str); 6] = [
    ("v2", "sys/fs/cgroup"),
    ("v2", "sys/fs/cgroup/unified"),
    ("v1", "sys/fs/cgroup/cpu"),
    ("v1", "sys/fs/cgroup/cpu,cpuacct"),
    ("cpuset", "sys/fs/cgroup/cpuset"),
    ("cpuset", "dev/cpuset"),
];

/// Control group hierarchies of a machine.
#[derive(Debug, Default)]
pub struct Hierarchies {
    /// Kind and directory of each mounted hierarchy.
    mounts: Vec<(&'static str, PathBuf)>,
    /// Kind by hierarchy number, as in `/proc/self/cgroup` and in the kernel's events.
    kinds: BTreeMap<u32, &'static str>,
}

impl Hierarchies {
    /// Reads the hierarchies of the machine.
    pub fn read(root: &Path) -> Hierarchies {
        let mut mounts: Vec<(&'static str, PathBuf)> = vec![];
        for line in text(&root.join("proc/mounts")).unwrap_or_default().lines() {
            let mut words = line.split(' ').skip(1);
            let (Some(place), Some(form), Some(options)) =
                (words.next(), words.next(), words.next())
            else {
                continue;
            };
            let kind = match form {
                "cgroup2" => Some("v2"),
                "cgroup" => kind(options),
                _ => None,
            };
            if let Some(kind) = kind {
                mounts.push((kind, root.join(place.trim_start_matches('/'))));
            }
        }
        mounts.extend(USUAL.map(|(kind, place)| (kind, root.join(place))));
        let own = text(&root.join("proc/self/cgroup")).unwrap_or_default();
        let kinds = memberships(&own).filter_map(|(id, it, _)| Some((id, kind(it)?))).collect();
        Hierarchies { mounts, kinds }
    }

    /// Returns the kind of the hierarchy with this number, if it affects scheduling.
    pub fn kind(&self, id: u32) -> Option<&'static str> {
        self.kinds.get(&id).copied()
    }

    /// Returns the settings of a group: `v1:/build`.
    pub fn settings(&self, group: &str) -> Map<String, Value> {
        let (kind, path) = group.split_once(':').unwrap_or(("v2", group));
        let path = path.trim_start_matches('/');
        // A path from another namespace leads out of the hierarchy.
        if path.split('/').any(|part| part == "..") {
            return Map::new();
        }
        let names = SETTINGS.iter().find(|(it, _)| *it == kind).map_or(&[][..], |(_, names)| names);
        let places = self.mounts.iter().filter(|(it, _)| *it == kind);
        places
            .map(|(_, place)| members(&place.join(path), names))
            .find(|members| !members.is_empty())
            .unwrap_or_default()
    }
}
