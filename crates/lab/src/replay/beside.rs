//! Files next to a recorded trace that supply what the trace lacks. All front ends use them
//! automatically, and have an option to ignore them.

use std::path::{Path, PathBuf};

/// Returns the file that specifies the groups of the tasks. It has the name of the trace
/// (`desk.groups` for `desk.xz` or `desk.txt.xz`). Ignoring groups is the largest avoidable error:
/// their weights determine half of the schedule.
pub fn groups(trace: &Path) -> Option<PathBuf> {
    let mut name = trace.to_path_buf();
    while name.extension().is_some() {
        name.set_extension("groups");
        if name != trace && name.is_file() {
            return Some(name);
        }
        name.set_extension("");
    }
    None
}

/// Returns the file that `schedlab record` wrote next to the trace: `desk.xz.side.json` for
/// `desk.xz`.
pub fn side(trace: &Path) -> Option<PathBuf> {
    let mut name = trace.as_os_str().to_os_string();
    name.push(".side.json");
    Some(PathBuf::from(name)).filter(|path| path.is_file())
}
