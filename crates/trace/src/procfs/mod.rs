//! What `/proc` and debugfs would have said of the scheduler at a time of the run:
//! [`SnapshotDir`].
//!
//! The files are those of the release that is simulated, in its format. They hold what can be known
//! of a simulated run. Where fields have names, one that cannot be known has no line; where they
//! have places, it is 0. Times are exact, where a kernel charges at ticks.

mod counters;
mod pid;
mod sched_debug;
mod schedstat;

pub use counters::Counters;

use std::borrow::Cow;
use std::fmt::{self, Write};
use std::fs;
use std::path::{Path, PathBuf};

/// The version of a kernel.
pub type Kernel = (u32, u32, u32);

/// `2.6.24`, `6.18` or `2.6.22-ck1` as numbers. None of what is no version.
pub fn kernel(text: &str) -> Option<Kernel> {
    let text = text.split(['-', ' ']).next()?;
    let mut numbers = text.split('.').map(|number| number.parse().ok());
    let major = numbers.next()??;
    let minor = numbers.next().unwrap_or(Some(0))?;
    Some((major, minor, numbers.next().unwrap_or(Some(0))?))
}

/// The machine at a time.
#[derive(Clone, Debug)]
pub struct View {
    /// When, ns.
    pub at_ns: u64,
    /// Ticks a second.
    pub hz: u32,
    /// Whose formats.
    pub kernel: Kernel,
    /// What the release is called.
    pub release: String,
    /// It has the fair class, and its files: CFS or EEVDF.
    pub is_fair: bool,
    /// Each CPU.
    pub cpus: Vec<CpuView>,
    /// Each task that was born, by number.
    pub tasks: Vec<TaskView>,
    /// The path of each group, by number.
    pub groups: Vec<String>,
    /// The scheduler's tunables.
    pub tunables: Vec<(String, i64)>,
}

/// A CPU at a time.
#[derive(Clone, Debug, Default)]
pub struct CpuView {
    /// Who runs there.
    pub current: Option<u32>,
    /// Among whom the scheduler would choose.
    pub entities: Vec<Entity>,
}

/// One of those among whom the scheduler would choose.
#[derive(Clone, Debug, Default)]
pub struct Entity {
    /// It is this task; none: a group.
    pub pid: Option<u32>,
    /// The number of the group in whose queue it stands.
    pub within: u32,
    /// The numbers by which it is compared.
    pub terms: Vec<(Cow<'static, str>, i64)>,
}

impl Entity {
    /// One of its numbers.
    pub fn term(&self, name: &str) -> Option<i64> {
        self.terms.iter().find(|term| term.0 == name).map(|term| term.1)
    }
}

/// A task at a time.
#[derive(Clone, Debug, Default)]
pub struct TaskView {
    /// Its number.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Its state's letter.
    pub state: char,
    /// Its policy's number.
    pub policy: u32,
    /// Its priority, as tracepoints show it.
    pub prio: i32,
    /// Its nice value.
    pub nice: i32,
    /// Its real-time priority.
    pub rt_priority: u32,
    /// Its group's number.
    pub group: u32,
}

impl View {
    /// The kernel's ticks since it began.
    fn jiffies(&self) -> u64 {
        let ticks = u128::from(self.at_ns) * u128::from(self.hz) / 1_000_000_000;
        // 2.6 begins five minutes before the counter of 32 bits wraps.
        let first = if self.kernel >= (2, 6, 0) { (1 << 32) - 300 * u64::from(self.hz) } else { 0 };
        first + ticks as u64
    }

    /// Where `pid` stands, if it is runnable and the scheduler's class is known to compare it.
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

/// Milliseconds with six digits, as the kernel prints nanoseconds since 2.6.24: the sign is on the
/// first part, and lost where that is 0.
struct Split(i64);

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ms, ns) = (self.0 / 1_000_000, self.0.unsigned_abs() % 1_000_000);
        let text = format!("{ms}.{ns:06}");
        f.pad(&text)
    }
}

/// A directory into which snapshots are written, one for each time.
#[derive(Debug)]
pub struct SnapshotDir {
    path: PathBuf,
}

impl SnapshotDir {
    /// Makes the directory, if there is none.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn create(path: &Path) -> Result<SnapshotDir, String> {
        fs::create_dir_all(path)
            .map_err(|error| format!("{}: cannot be made: {error}", path.display()))?;
        Ok(SnapshotDir { path: path.into() })
    }

    /// Writes the files of a time.
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

/// The files of a time: names, and what stands in them.
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

/// Adds a line to a text.
fn line(out: &mut String, line: fmt::Arguments<'_>) {
    // Writing into a string does not fail.
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
