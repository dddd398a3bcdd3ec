//! Groups on the host: one of great weight for all of the workload's threads, so that other threads
//! rarely interfere, and inside it the workload's own groups.
//!
//! Version 1: a directory of the `cpu` controller below the group of this process, with
//! `cpu.shares` 262144. Version 2: a threaded group below the group of this process (which must be
//! delegated and have the `cpu` controller), with `cpu.weight` 10000. Groups are removed when
//! [`MadeGroups`] is dropped. Groups left behind by an earlier run that was killed are removed when
//! the next run makes its own.

use schedlab_workload::Group;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// `cpu.shares` of the group of all threads: the maximum.
pub const LOAD_SHARES: u64 = 262_144;
/// `cpu.weight` of the group of all threads: the maximum.
pub const LOAD_WEIGHT: u64 = 10_000;
/// Time that real-time tasks in the group may use in each second, us.
const RT_RUNTIME_US: [u64; 4] = [800_000, 500_000, 200_000, 50_000];
/// Prefix of the directories' names. The process number follows.
const PREFIX: &str = "schedlab-host-";

/// Version of the hierarchy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// A hierarchy of the `cpu` controller.
    V1,
    /// The unified hierarchy.
    V2,
}

/// The place where groups can be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Home {
    /// Version of the hierarchy.
    pub version: Version,
    /// The directory of this process's group.
    pub directory: PathBuf,
}

/// A mount, as the file of mounts describes it.
struct Mount<'a> {
    point: &'a str,
    /// The part of the hierarchy that is mounted there.
    root: &'a str,
    kind: &'a str,
    options: &'a str,
}

/// Parses the mounts in the text of `/proc/self/mountinfo`.
fn mounts(text: &str) -> impl Iterator<Item = Mount<'_>> {
    text.lines().filter_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let mut before = before.split(' ').skip(3);
        let (root, point) = (before.next()?, before.next()?);
        let mut after = after.split(' ');
        let (kind, options) = (after.next()?, after.nth(1)?);
        Some(Mount { point, root, kind, options })
    })
}

/// Returns the path of a process in a hierarchy, from the text of `/proc/self/cgroup`. An empty
/// `controller` means the unified hierarchy.
fn path_in<'a>(text: &'a str, controller: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        controllers.split(',').any(|one| one == controller).then_some(path)
    })
}

/// Returns the directory of a group in a mounted hierarchy.
fn directory(mount: &Mount<'_>, path: &str) -> Option<PathBuf> {
    let inside = path.strip_prefix(mount.root.trim_end_matches('/'))?;
    Some(Path::new(mount.point).join(inside.trim_start_matches('/')))
}

/// Returns the mount of a version 1 controller.
fn find_v1<'a>(mountinfo: &'a str, controller: &str) -> Option<Mount<'a>> {
    mounts(mountinfo)
        .find(|m| m.kind == "cgroup" && m.options.split(',').any(|option| option == controller))
}

impl Home {
    /// Finds the place from the texts of `/proc/self/mountinfo` and `/proc/self/cgroup`. `None`: no
    /// hierarchy has the `cpu` controller.
    pub fn find(mountinfo: &str, cgroup: &str) -> Option<Home> {
        if let Some(mount) = find_v1(mountinfo, "cpu") {
            let directory = directory(&mount, path_in(cgroup, "cpu")?)?;
            return Some(Home { version: Version::V1, directory });
        }
        let mount = mounts(mountinfo).find(|mount| mount.kind == "cgroup2")?;
        let directory = directory(&mount, path_in(cgroup, "")?)?;
        let controllers = fs::read_to_string(directory.join("cgroup.controllers")).ok()?;
        let has_cpu = controllers.split_ascii_whitespace().any(|one| one == "cpu");
        has_cpu.then_some(Home { version: Version::V2, directory })
    }

    /// Returns the place of this process.
    pub fn of_this_process() -> Option<Home> {
        let mountinfo = fs::read_to_string("/proc/self/mountinfo").ok()?;
        Home::find(&mountinfo, &fs::read_to_string("/proc/self/cgroup").ok()?)
    }

    /// Returns a directory that the user names.
    ///
    /// # Errors
    /// The directory is not a group with the `cpu` controller.
    pub fn named(directory: &Path) -> Result<Home, String> {
        let version = if directory.join("cpu.shares").exists() {
            Version::V1
        } else if directory.join("cgroup.controllers").exists() {
            Version::V2
        } else {
            return Err(format!(
                "{} is not a control group: it has neither cpu.shares nor cgroup.controllers; name \
                 the directory of one below /sys/fs/cgroup",
                directory.display()
            ));
        };
        Ok(Home { version, directory: directory.to_path_buf() })
    }

    /// Returns the file to which the numbers of threads are written.
    pub const fn attach(&self) -> &'static str {
        match self.version {
            Version::V1 => "tasks",
            Version::V2 => "cgroup.threads",
        }
    }
}

/// Returns the file with the CPU time of all tasks, for each CPU (version 1) or in total (version
/// 2), if the root of its hierarchy is visible.
pub fn accounting_file(version: Version) -> Option<PathBuf> {
    let mountinfo = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let (mount, name) = match version {
        Version::V1 => (find_v1(&mountinfo, "cpuacct")?, "cpuacct.usage_percpu"),
        Version::V2 => (mounts(&mountinfo).find(|mount| mount.kind == "cgroup2")?, "cpu.stat"),
    };
    let file = Path::new(mount.point).join(name);
    (mount.root == "/" && fs::read_to_string(&file).is_ok()).then_some(file)
}

/// Groups that were made. They are removed when this is dropped.
#[derive(Debug)]
pub struct MadeGroups {
    home: Home,
    /// Their directories, in the order of creation.
    directories: Vec<PathBuf>,
    /// Whether the `cpu` controller was enabled for children of the home group.
    switched_on: bool,
    /// Time that real-time tasks in the group may use in each second, us; `None`: they need no
    /// budget.
    pub rt_runtime_us: Option<u64>,
}

fn write(path: &Path, value: &str) -> Result<(), String> {
    fs::write(path, value)
        .map_err(|error| format!("{}: `{value}` cannot be written: {error}", path.display()))
}

impl MadeGroups {
    /// Makes the group of all threads. `realtime`: real-time tasks will run in it.
    ///
    /// # Errors
    /// The step that is not permitted, in words; nothing is left behind.
    pub fn new(home: &Home, realtime: bool) -> Result<MadeGroups, String> {
        sweep(&home.directory);
        let mut made = MadeGroups {
            home: home.clone(),
            directories: vec![],
            switched_on: false,
            rt_runtime_us: None,
        };
        let load = home.directory.join(format!("{PREFIX}{}", std::process::id()));
        made.make(load.clone())?;
        match home.version {
            Version::V1 => write(&load.join("cpu.shares"), &LOAD_SHARES.to_string())?,
            Version::V2 => {
                // The parent becomes the root of a threaded subtree: processes may stay in it
                // although it has child groups.
                write(&load.join("cgroup.type"), "threaded")?;
                let control = home.directory.join("cgroup.subtree_control");
                let on = fs::read_to_string(&control).unwrap_or_default();
                if !on.split_ascii_whitespace().any(|one| one == "cpu") {
                    write(&control, "+cpu")?;
                    made.switched_on = true;
                }
                write(&load.join("cpu.weight"), &LOAD_WEIGHT.to_string())?;
            }
        }
        let limit = load.join("cpu.rt_runtime_us");
        if realtime && limit.exists() {
            let taken =
                RT_RUNTIME_US.into_iter().find(|us| fs::write(&limit, us.to_string()).is_ok());
            let Some(taken) = taken else {
                return Err(format!(
                    "{}: no real-time budget is left: the sibling groups have all \
                     that their parent has; lower one of theirs, or see --leave-out",
                    limit.display()
                ));
            };
            made.rt_runtime_us = Some(taken);
        }
        Ok(made)
    }

    /// Returns the group of all threads.
    pub fn load(&self) -> &Path {
        &self.directories[0]
    }

    /// Returns the directory, existing or future, of the workload's group with this path.
    pub fn directory(&self, path: &str) -> PathBuf {
        self.load().join(path.trim_start_matches('/'))
    }

    /// Makes the workload's groups, parents before children. `realtime`: paths of the groups that
    /// have real-time tasks. The groups above them count as well.
    ///
    /// # Errors
    /// The step that is not permitted.
    pub fn add(&mut self, groups: &[Group], realtime: &[String]) -> Result<(), String> {
        for group in groups {
            let directory = self.directory(&group.path);
            self.make(directory.clone())?;
            let of_group = |error: String| format!("group `{}`: {error}", group.path);
            match self.home.version {
                Version::V1 => {
                    write(&directory.join("cpu.shares"), &group.shares.to_string())
                        .map_err(of_group)?;
                    if let Some(quota_us) = group.quota.quota_us {
                        let period = group.quota.period_us.to_string();
                        write(&directory.join("cpu.cfs_period_us"), &period).map_err(of_group)?;
                        write(&directory.join("cpu.cfs_quota_us"), &quota_us.to_string())
                            .map_err(of_group)?;
                    }
                }
                Version::V2 => {
                    write(&directory.join("cgroup.type"), "threaded").map_err(of_group)?;
                    let parent = directory.parent().unwrap_or(&directory);
                    write(&parent.join("cgroup.subtree_control"), "+cpu").map_err(of_group)?;
                    write(&directory.join("cpu.weight"), &weight_of(group.shares).to_string())
                        .map_err(of_group)?;
                    if let Some(quota_us) = group.quota.quota_us {
                        let limit = format!("{quota_us} {}", group.quota.period_us);
                        write(&directory.join("cpu.max"), &limit).map_err(of_group)?;
                    }
                }
            }
            if group.idle {
                write(&directory.join("cpu.idle"), "1").map_err(of_group)?;
            }
        }
        self.give_realtime(groups, realtime)
    }

    /// Distributes the budget of real-time tasks among the groups that have them.
    fn give_realtime(&self, groups: &[Group], realtime: &[String]) -> Result<(), String> {
        let Some(all_us) = self.rt_runtime_us else { return Ok(()) };
        let with = |path: &str| {
            realtime
                .iter()
                .filter(|one| *one == path || one.starts_with(&format!("{path}/")))
                .count()
        };
        let each_us = all_us / realtime.len().max(1) as u64;
        for group in groups {
            let count = with(&group.path) as u64;
            if count > 0 {
                let file = self.directory(&group.path).join("cpu.rt_runtime_us");
                write(&file, &(count * each_us).to_string())?;
            }
        }
        Ok(())
    }

    fn make(&mut self, directory: PathBuf) -> Result<(), String> {
        fs::create_dir(&directory)
            .map_err(|error| format!("{} cannot be made: {error}", directory.display()))?;
        self.directories.push(directory);
        Ok(())
    }

    /// Returns the directories of all groups that were made.
    pub fn directories(&self) -> &[PathBuf] {
        &self.directories
    }
}

/// Returns the `cpu.weight` for `cpu.shares`: 100 for 1024, within 1 to 10000.
pub fn weight_of(shares: u64) -> u64 {
    ((shares * 100 + 512) / 1024).clamp(1, 10_000)
}

impl Drop for MadeGroups {
    fn drop(&mut self) {
        for directory in self.directories.iter().rev() {
            remove(directory);
        }
        if self.switched_on {
            // If another process uses it by now, it stays enabled.
            let _ = fs::write(self.home.directory.join("cgroup.subtree_control"), "-cpu");
        }
    }
}

/// Removes a group. The kernel may need some time to notice that its threads have ended.
fn remove(directory: &Path) {
    for _ in 0..200 {
        match fs::remove_dir(directory) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                std::thread::sleep(Duration::from_millis(10));
            }
            _ => return,
        }
    }
}

/// Removes groups that killed runs left behind: those named after a process that no longer exists.
fn sweep(home: &Path) {
    let Ok(entries) = fs::read_dir(home) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        let Some(process) = process.and_then(|number| number.parse::<u32>().ok()) else { continue };
        if !Path::new("/proc").join(process.to_string()).exists() {
            remove_below(&entry.path());
        }
    }
}

/// Removes a group and the groups below it.
fn remove_below(directory: &Path) {
    if let Ok(entries) = fs::read_dir(directory) {
        let below = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir());
        below.for_each(|path| remove_below(&path));
    }
    // The threads of a killed run may still be ending.
    remove(directory);
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_workload::{GroupPlan, GroupSettings};

    const V1: &str = "\
25 20 0:22 / /sys/fs/cgroup rw - tmpfs tmpfs rw
30 25 0:26 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct
31 25 0:27 /docker/1 /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
";

    #[test]
    fn the_group_of_a_process_is_found() {
        let cgroup = "4:memory:/docker/1/x\n2:cpu,cpuacct:/user/me\n0::/user.slice\n";
        let home = Home::find(V1, cgroup).unwrap();
        assert_eq!(home.directory, Path::new("/sys/fs/cgroup/cpu,cpuacct/user/me"));
        assert_eq!((home.version, home.attach()), (Version::V1, "tasks"));
        assert_eq!(Home::find("", cgroup), None);
        let memory = find_v1(V1, "memory").unwrap();
        let inside = directory(&memory, "/docker/1/x").unwrap();
        assert_eq!(inside, Path::new("/sys/fs/cgroup/memory/x"));
        assert_eq!(directory(&memory, "/other"), None, "it is outside of what is mounted");
    }

    #[test]
    fn weights_of_both_versions_correspond() {
        assert_eq!(weight_of(1024), 100);
        assert_eq!(weight_of(3072), 300);
        assert_eq!((weight_of(2), weight_of(262_144)), (1, 10_000));
    }

    fn scratch(name: &str) -> PathBuf {
        let path =
            std::env::temp_dir().join(format!("schedlab-groups-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        path
    }

    fn read(path: PathBuf) -> String {
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Checks the values written, in a directory that represents a hierarchy.
    #[test]
    fn groups_of_version_2_are_threaded_and_weighed() {
        let directory = scratch("v2");
        fs::write(directory.join("cgroup.subtree_control"), "memory\n").unwrap();
        let home = Home { version: Version::V2, directory: directory.clone() };
        let mut made = MadeGroups::new(&home, true).unwrap();
        assert_eq!(made.rt_runtime_us, None, "version 2 has no budgets");
        let load = made.load().to_path_buf();
        assert_eq!(read(load.join("cgroup.type")), "threaded");
        assert_eq!(read(load.join("cpu.weight")), "10000");
        assert_eq!(read(directory.join("cgroup.subtree_control")), "+cpu");
        let paths = ["/a".to_string(), "/a/b".to_string()];
        let plan = GroupPlan::new(&GroupSettings::default(), &paths, 2).unwrap();
        made.add(plan.groups(), &[]).unwrap();
        assert_eq!(read(load.join("a/b/cpu.weight")), "100");
        assert_eq!(read(load.join("a/b/cgroup.type")), "threaded");
        assert_eq!(read(load.join("a/cgroup.subtree_control")), "+cpu");
        drop(made);
        assert_eq!(read(directory.join("cgroup.subtree_control")), "-cpu");
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn what_a_killed_run_left_is_removed() {
        let directory = scratch("sweep");
        // No process has a number as high as this.
        fs::create_dir_all(directory.join(format!("{PREFIX}4294967295/a/b"))).unwrap();
        fs::create_dir_all(directory.join(format!("{PREFIX}{}", std::process::id()))).unwrap();
        fs::create_dir_all(directory.join("unrelated")).unwrap();
        sweep(&directory);
        let mut left: Vec<String> = fs::read_dir(&directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, [format!("{PREFIX}{}", std::process::id()), "unrelated".into()]);
        fs::remove_dir_all(directory).unwrap();
    }
}
