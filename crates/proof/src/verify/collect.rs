//! Finds golden schedules among files and directories.

use std::io;
use std::path::{Path, PathBuf};

/// A file that was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Collected {
    /// Path of the file.
    pub path: PathBuf,
    /// Whether the file itself was named, rather than a directory that contains it.
    pub named: bool,
    /// Known reason of its disagreement, if the [`DISAGREEMENTS`] of a directory that
    /// contains it list it.
    pub disagrees: Option<String>,
}

/// Name of the file in which a directory of golden schedules lists those that are known to
/// disagree: on each line the path below the directory, a tab, and what is known of the reason.
pub const DISAGREEMENTS: &str = "disagreements.tsv";

/// Reason why a directory could not be searched.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    /// The operating system refuses.
    #[error("{}: {error}", path.display())]
    Io {
        /// Path that could not be read.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
    /// A line of a list of disagreements is wrong.
    #[error("{}:{line}: {problem}", path.display())]
    Listed {
        /// The list.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Fault of the line, and its correction.
        problem: String,
    },
    /// The directory contains no golden schedule.
    #[error("{}: no .json, .json.gz or .json.xz file is in it or below it", path.display())]
    Empty {
        /// The directory.
        path: PathBuf,
    },
}

/// Returns the files among `paths`, and the golden schedules in and below the directories among
/// them, in the order of their names. Golden schedules have the extensions `.json`, `.json.gz` or
/// `.json.xz`. Files that were named are returned whatever their names are, and not opened.
///
/// # Errors
/// [`CollectError`].
pub fn collect(paths: &[PathBuf]) -> Result<Vec<Collected>, CollectError> {
    let mut found = Vec::new();
    for path in paths {
        if path.is_dir() {
            let before = found.len();
            walk(path, &mut vec![], &mut found)?;
            if found.len() == before {
                return Err(CollectError::Empty { path: path.clone() });
            }
        } else {
            found.push(Collected { path: path.clone(), named: true, disagrees: None });
        }
    }
    Ok(found)
}

/// Searches `directory`, which is below all of `above`. A link back to one of these, or to itself,
/// is not followed.
fn walk(
    directory: &Path,
    above: &mut Vec<PathBuf>,
    found: &mut Vec<Collected>,
) -> Result<(), CollectError> {
    let failed = |error| CollectError::Io { path: directory.into(), error };
    let canonical = directory.canonicalize().map_err(failed)?;
    if above.contains(&canonical) {
        return Ok(());
    }
    above.push(canonical);
    let before = found.len();
    let mut entries = std::fs::read_dir(directory)
        .and_then(Iterator::collect::<io::Result<Vec<_>>>)
        .map_err(failed)?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        if path.is_dir() {
            walk(&path, above, found)?;
        } else if is_golden_name(&path) {
            found.push(Collected { path, named: false, disagrees: None });
        }
    }
    above.pop();
    mark_disagreements(directory, &mut found[before..])
}

/// Marks each golden schedule in `found` that the list of disagreements of `directory`, the
/// directory above them, contains.
fn mark_disagreements(directory: &Path, found: &mut [Collected]) -> Result<(), CollectError> {
    let path = directory.join(DISAGREEMENTS);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(CollectError::Io { path, error }),
    };
    for (index, line) in text.lines().enumerate() {
        let wrong = |problem: String| {
            Err(CollectError::Listed { path: path.clone(), line: index + 1, problem })
        };
        let Some((name, reason)) = line.split_once('\t') else {
            return wrong("a line is the path of a golden schedule, a tab, and the reason".into());
        };
        let listed = directory.join(name);
        let Some(file) = found.iter_mut().find(|file| file.path == listed) else {
            return wrong(format!("{name}: there is no such golden schedule below the directory"));
        };
        file.disagrees = Some(reason.into());
    }
    Ok(())
}

fn is_golden_name(path: &Path) -> bool {
    let name = path.to_string_lossy();
    let name = name.strip_suffix(".xz").or(name.strip_suffix(".gz")).unwrap_or(&name);
    name.ends_with(".json")
}
