//! The text files of the repository, read once for all checks.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Directories without source: build results, version control, findings of fuzzers.
const PASSED_OVER: [&str; 5] = ["target", ".git", "corpus", "artifacts", "out"];

/// Extensions of the files that are read.
const ENDINGS: [&str; 11] =
    ["rs", "md", "py", "toml", "yml", "cff", "json", "css", "mix", "groups", "txt"];

/// A text file.
pub struct File {
    /// Path from the root of the repository, with `/`.
    pub path: String,
    /// Contents.
    pub text: String,
}

impl File {
    /// Whether the name ends in `.ENDING`.
    pub fn is(&self, ending: &str) -> bool {
        self.path.rsplit_once('.').is_some_and(|(_, found)| found == ending)
    }
}

/// All text files of the repository.
pub struct Repository {
    root: PathBuf,
    files: Vec<File>,
}

impl Repository {
    /// Reads the repository that this program was built from.
    pub fn read() -> io::Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut files = Vec::new();
        walk(&root, "", &mut files)?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Repository { root, files })
    }

    /// Returns a repository of the given files, for tests of the checks.
    #[cfg(test)]
    pub fn of(files: &[(&str, &str)]) -> Self {
        let files = files
            .iter()
            .map(|(path, text)| File { path: path.to_string(), text: text.to_string() })
            .collect();
        Repository { root: PathBuf::from("no such directory"), files }
    }

    /// Returns all files, by path.
    pub fn files(&self) -> impl Iterator<Item = &File> {
        self.files.iter()
    }

    /// Returns the text of one file.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.iter().find(|file| file.path == path).map(|file| file.text.as_str())
    }

    /// Whether a file or directory of any kind exists at `path`.
    pub fn exists(&self, path: &str) -> bool {
        self.text(path).is_some() || self.root.join(path).exists()
    }
}

/// Adds the text files of the directory `at` below `root`.
fn walk(root: &Path, at: &str, files: &mut Vec<File>) -> io::Result<()> {
    for entry in fs::read_dir(root.join(at))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if at.is_empty() { name.clone() } else { format!("{at}/{name}") };
        let kind = entry.file_type()?;
        if kind.is_dir() {
            // The golden schedules are data, but their README is a document.
            let golden = at == "tests/golden";
            if !PASSED_OVER.contains(&name.as_str()) && !golden {
                walk(root, &path, files)?;
            }
        } else if kind.is_file() {
            let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
            if ENDINGS.contains(&ending) || path == ".ci/run" {
                files.push(File { path, text: fs::read_to_string(entry.path())? });
            }
        }
    }
    Ok(())
}
