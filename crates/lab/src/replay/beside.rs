//! Files that lie beside a recorded trace and say what it does not hold. Every front end takes them
//! without being asked, and lets them be left out.

use std::path::{Path, PathBuf};

/// The file that says in which groups tasks were: it is called as the trace is (`desk.groups` for
/// `desk.xz` or `desk.txt.xz`). To leave groups out where they were is the largest mistake that can
/// be avoided: their weights are half of the schedule.
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

/// What `schedlab record` has written beside the trace: `desk.xz.side.json` for `desk.xz`.
pub fn side(trace: &Path) -> Option<PathBuf> {
    let mut name = trace.as_os_str().to_os_string();
    name.push(".side.json");
    Some(PathBuf::from(name)).filter(|path| path.is_file())
}
