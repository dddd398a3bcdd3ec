//! Names of tasks as users write them.

use std::borrow::Cow;

/// Whether `task` is `name-N`: one of several instances of that name.
pub fn is_instance(task: &str, name: &str) -> bool {
    let number = task.strip_prefix(name).and_then(|rest| rest.strip_prefix('-'));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// Whether `wanted` selects a task: its number, its name, or the name without the number at its
/// end.
pub fn means(wanted: &str, pid: u32, name: &str) -> bool {
    wanted == name || is_instance(name, wanted) || wanted.parse() == Ok(pid)
}

/// Returns a name for tables: of a very long one the beginning. (The kernel keeps 15 bytes of a
/// name; names in a workload may have any length.)
pub fn cut(name: &str) -> Cow<'_, str> {
    const MOST: usize = 48;
    match name.char_indices().nth(MOST) {
        None => name.into(),
        Some(_) => {
            let end = name.char_indices().nth(MOST - 3).map_or(name.len(), |(at, _)| at);
            format!("{}...", &name[..end]).into()
        }
    }
}

/// Whether `comm` differs from `name` and from its first 15 bytes, so that the task has been
/// renamed.
pub fn is_other(name: &str, comm: &str) -> bool {
    name != comm && !(name.len() > comm.len() && comm.len() > 11 && name.starts_with(comm))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_name_the_beginning_is_shown() {
        let (fits, long) = ("ä".repeat(48), "ä".repeat(100_000));
        assert_eq!(cut(&fits), fits);
        assert_eq!(cut(&long), format!("{}...", "ä".repeat(45)));
    }

    #[test]
    fn a_task_is_meant_by_number_or_name() {
        assert!(means("3", 3, "video-0") && means("video", 3, "video-0"));
        assert!(means("video-0", 3, "video-0") && !means("video", 3, "videos-0"));
        assert!(!means("video", 3, "video-") && !means("video-1", 3, "video-10"));
    }
}
