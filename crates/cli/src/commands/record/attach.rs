//! Moves of tasks between control groups and new groups during a recording, from the kernel's
//! events: [`Attaches`]. A task that ends within milliseconds is in no look at `/proc`, but its
//! moves are events.

use super::instance::Instance;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// Events of the kernel.
const EVENTS: [&str; 2] = ["cgroup_attach_task", "cgroup_mkdir"];

/// Event about groups.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupEvent {
    /// Number of the hierarchy.
    pub hierarchy: u32,
    /// Path of the group.
    pub path: String,
    /// Task that moves into it, with its name. `None`: the group is new.
    pub task: Option<(u32, String)>,
}

/// Events as they arrive. They have an instance of tracefs of their own, so that the trace contains
/// only the scheduler's events, whatever program records it.
pub struct Attaches {
    // The order matters: an instance with an open pipe cannot be removed.
    pipe: File,
    /// Begin of a line whose end has not arrived.
    rest: String,
    _instance: Instance,
}

impl Attaches {
    /// Begins to listen. `None`: the kernel has no such events (before 3.17), or does not permit
    /// it.
    pub fn begin(tracefs: &Path) -> Option<Attaches> {
        if !tracefs.join("events/cgroup").join(EVENTS[0]).is_dir() {
            return None;
        }
        let place = tracefs.join(format!("instances/schedlab-groups-{}", std::process::id()));
        let instance = Instance::create(place).ok()?;
        instance.set("buffer_size_kb", "1024").ok()?;
        for event in EVENTS {
            instance.set(&format!("events/cgroup/{event}/enable"), "1").ok()?;
        }
        let pipe = non_blocking(&instance.file("trace_pipe")).ok()?;
        Some(Attaches { pipe, rest: String::new(), _instance: instance })
    }

    /// Returns the events that have arrived.
    pub fn take(&mut self) -> Vec<GroupEvent> {
        let mut bytes = vec![0; 1 << 16];
        loop {
            match self.pipe.read(&mut bytes) {
                Ok(0) => break,
                Ok(count) => self.rest.push_str(&String::from_utf8_lossy(&bytes[..count])),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // No event is left.
                Err(_) => break,
            }
        }
        let end = self.rest.rfind('\n').map_or(0, |end| end + 1);
        let lines: String = self.rest.drain(..end).collect();
        lines.lines().filter_map(event).collect()
    }
}

#[cfg(unix)]
fn non_blocking(path: &Path) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path)
}

#[cfg(not(unix))]
fn non_blocking(path: &Path) -> std::io::Result<File> {
    File::open(path)
}

/// Parses a line of tracefs. Fields that a release lacks (`dst_level`) are not needed.
fn event(line: &str) -> Option<GroupEvent> {
    let number = |text: &str, key: &str| -> Option<u32> {
        let rest = text.split(' ').find_map(|word| word.strip_prefix(key))?;
        rest.parse().ok()
    };
    if let Some((_, fields)) = line.split_once(" cgroup_mkdir: ") {
        let path = fields.split_once(" path=")?.1;
        return Some(GroupEvent {
            hierarchy: number(fields, "root=")?,
            path: path.trim_end().into(),
            task: None,
        });
    }
    let (_, fields) = line.split_once(" cgroup_attach_task: ")?;
    // The path and the name may contain anything. The name is the shorter one.
    let (begin, comm) = fields.rsplit_once(" comm=")?;
    let (begin, pid) = begin.rsplit_once(" pid=")?;
    let (begin, path) = begin.split_once(" dst_path=")?;
    Some(GroupEvent {
        hierarchy: number(begin, "dst_root=")?,
        path: path.into(),
        task: Some((pid.parse().ok()?, comm.trim_end().into())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_and_new_groups_are_parsed() {
        let attach = "   sh-77  [001] .....  5.1: cgroup_attach_task: dst_root=2 dst_id=9 \
                      dst_level=1 dst_path=/a b pid=77 comm=sh";
        let wanted =
            GroupEvent { hierarchy: 2, path: "/a b".into(), task: Some((77, "sh".into())) };
        assert_eq!(event(attach), Some(wanted));
        let made = "  mkdir-7  [000] .....  5.0: cgroup_mkdir: root=0 id=3 level=1 path=/x";
        assert_eq!(event(made), Some(GroupEvent { hierarchy: 0, path: "/x".into(), task: None }));
        for broken in ["", "cgroup_mkdir: path=/", "a cgroup_attach_task: dst_root=9", "x: y"] {
            assert_eq!(event(broken), None, "{broken}");
        }
    }
}
