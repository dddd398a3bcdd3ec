//! Contents of `/proc` and debugfs about the scheduler at a given time of the run: [`SnapshotDir`].
//!
//! The files have the format of the simulated release. They contain what can be known of a
//! simulated run. Where fields have names, an unknown field has no line; where they have positions,
//! it is 0. Times are exact, where a kernel charges at ticks.

mod counters;
mod pid;
mod sched_debug;
mod schedstat;

pub use counters::Counters;

use std::borrow::Cow;
use std::fmt::{self, Write};
use std::fs;
use std::path::{Path, PathBuf};

/// Version of a kernel.
pub type Kernel = (u32, u32, u32);

/// Parses `2.6.24`, `6.18` or `2.6.22-ck1`. `None`: the text is not a version.
pub fn kernel(text: &str) -> Option<Kernel> {
    let text = text.split(['-', ' ']).next()?;
    let mut numbers = text.split('.').map(|number| number.parse().ok());
    let major = numbers.next()??;
    let minor = numbers.next().unwrap_or(Some(0))?;
    Some((major, minor, numbers.next().unwrap_or(Some(0))?))
}

/// State of the machine at a given time.
#[derive(Clone, Debug)]
pub struct View {
    /// The time, ns.
    pub at_ns: u64,
    /// Ticks per second.
    pub hz: u32,
    /// Kernel version that determines the formats.
    pub kernel: Kernel,
    /// Name of the release.
    pub release: String,
    /// Whether the scheduler has the fair class and its files: CFS or EEVDF.
    pub is_fair: bool,
    /// Each CPU.
    pub cpus: Vec<CpuView>,
    /// Each task that was created, by number.
    pub tasks: Vec<TaskView>,
    /// Path of each group, by number.
    pub groups: Vec<String>,
    /// Tunables of the scheduler.
    pub tunables: Vec<(String, i64)>,
}

/// State of a CPU at a given time.
#[derive(Clone, Debug, Default)]
pub struct CpuView {
    /// Current task.
    pub current: Option<u32>,
    /// Candidates from which the scheduler would pick.
    pub entities: Vec<Entity>,
}

/// Candidate from which the scheduler would pick.
#[derive(Clone, Debug, Default)]
pub struct Entity {
    /// The task. `None`: a group.
    pub pid: Option<u32>,
    /// Number of the group in whose queue it is.
    pub within: u32,
    /// Values by which it is compared.
    pub terms: Vec<(Cow<'static, str>, i64)>,
}

impl Entity {
    /// Returns one of its values.
    pub fn term(&self, name: &str) -> Option<i64> {
        self.terms.iter().find(|term| term.0 == name).map(|term| term.1)
    }
}

/// State of a task at a given time.
#[derive(Clone, Debug, Default)]
pub struct TaskView {
    /// Number.
    pub pid: u32,
    /// Name.
    pub name: String,
    /// Letter of the state.
    pub state: char,
    /// Number of the policy.
    pub policy: u32,
    /// Priority, as tracepoints show it.
    pub prio: i32,
    /// Nice value.
    pub nice: i32,
    /// Real-time priority.
    pub rt_priority: u32,
    /// Number of the group.
    pub group: u32,
}

impl View {
    /// Returns the kernel's tick counter.
    fn jiffies(&self) -> u64 {
        let ticks = u128::from(self.at_ns) * u128::from(self.hz) / 1_000_000_000;
        // 2.6 starts the counter five minutes before its lower 32 bits wrap.
        let first = if self.kernel >= (2, 6, 0) { (1 << 32) - 300 * u64::from(self.hz) } else { 0 };
        first + ticks as u64
    }

    /// Returns the entity of `pid` if it is runnable and the values by which its class compares it
    /// are known.
    fn entity(&self, pid: u32) -> Option<&Entity> {
        let all = self.cpus.iter().flat_map(|cpu| &cpu.entities);
        all.into_iter().find(|entity| entity.pid == Some(pid))
    }

    fn path(&self, group: u32) -> &str {
        self.groups.get(group as usize).map_or("/", |path| path)
    }

    fn tunable(&self, name: &str) -> Option<i64> {
        self.tunables.iter().find(|tunable| tunable.0 == name).map(|tunable| tunable.1)
    }
}

/// Milliseconds with six decimals, in the kernel's format for nanoseconds since 2.6.24: the sign is
/// part of the integer, and lost where that is 0.
struct Split(i64);

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ms, ns) = (self.0 / 1_000_000, self.0.unsigned_abs() % 1_000_000);
        let text = format!("{ms}.{ns:06}");
        f.pad(&text)
    }
}

/// Directory to which snapshots are written, one for each time.
#[derive(Debug)]
pub struct SnapshotDir {
    path: PathBuf,
}

impl SnapshotDir {
    /// Creates the directory if it does not exist.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn create(path: &Path) -> Result<SnapshotDir, String> {
        fs::create_dir_all(path)
            .map_err(|error| format!("{}: cannot be created: {error}", path.display()))?;
        Ok(SnapshotDir { path: path.into() })
    }

    /// Writes the files of a given time.
    ///
    /// # Errors
    /// One of them cannot be written.
    pub fn write(&self, view: &View, counters: &Counters) -> Result<(), String> {
        for (name, text) in files(view, counters) {
            let at_s = format!("{}s", view.at_ns as f64 / 1e9);
            let path = self.path.join(at_s).join(name);
            let directory = path.parent().unwrap_or(&self.path);
            fs::create_dir_all(directory)
                .and_then(|()| fs::write(&path, text))
                .map_err(|error| format!("{}: cannot be written: {error}", path.display()))?;
        }
        Ok(())
    }
}

/// Returns the files of a given time: names and contents.
pub fn files(view: &View, counters: &Counters) -> Vec<(String, String)> {
    let mut files = vec![];
    if view.kernel >= (2, 6, 9) {
        files.push(("proc/schedstat".into(), schedstat::schedstat(view, counters)));
    }
    if view.is_fair {
        let name = match view.kernel >= (5, 13, 0) {
            true => "sys/kernel/debug/sched/debug",
            false => "proc/sched_debug",
        };
        files.push((name.into(), sched_debug::sched_debug(view, counters)));
    }
    for task in &view.tasks {
        let mut file = |name: &str, text: String| {
            files.push((format!("proc/{}/{name}", task.pid), text));
        };
        file("stat", pid::stat(view, counters, task));
        if view.kernel >= (2, 6, 9) {
            file("schedstat", pid::schedstat(view, counters, task));
        }
        if view.is_fair {
            file("sched", pid::sched(view, counters, task));
        }
    }
    files
}

/// Appends a line to a text.
fn line(out: &mut String, line: fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = writeln!(out, "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_times_are_the_kernels() {
        assert_eq!(kernel("2.6.22-ck1"), Some((2, 6, 22)));
        assert_eq!(kernel("6.18"), Some((6, 18, 0)));
        assert_eq!(kernel("1.0"), Some((1, 0, 0)));
        assert_eq!(kernel("textbook"), None);
        assert_eq!(Split(-1_500_000).to_string(), "-1.500000");
        assert_eq!(Split(-1).to_string(), "0.000001", "the sign is lost");
        assert_eq!(format!("{:>16}", Split(28_719_546_297)), "    28719.546297");
    }
}
