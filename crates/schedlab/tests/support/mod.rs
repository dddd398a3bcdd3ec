//! Runs the program as a user would.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// Returns the repository's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("a repository")
}

/// Result of a command.
pub struct Outcome {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

/// Returns the program with `args`, in the repository's root.
pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_schedlab"));
    command.args(args).current_dir(root()).stdin(Stdio::null());
    // Messages must not depend on the terminal that the tests happen to run in.
    for name in ["RUST_BACKTRACE", "COLUMNS", "CLICOLOR", "CLICOLOR_FORCE", "NO_COLOR"] {
        command.env_remove(name);
    }
    command
}

/// Runs `schedlab ARGS`.
pub fn schedlab(args: &[&str]) -> Outcome {
    ran(command(args).output().expect("the program starts"))
}

/// Returns the result of a finished command.
pub fn ran(output: Output) -> Outcome {
    Outcome {
        status: output.status.code().expect("an exit status"),
        stdout: String::from_utf8(output.stdout).expect("text as output"),
        stderr: String::from_utf8(output.stderr).expect("text as output"),
    }
}

impl Outcome {
    /// Asserts success, and returns the output.
    #[track_caller]
    pub fn good(self) -> String {
        assert_eq!(self.status, 0, "{}", self.stderr);
        self.stdout
    }

    /// Asserts exit status 2 and a message with all of `parts`, without a panic, and returns the
    /// message.
    #[track_caller]
    pub fn error(self, parts: &[&str]) -> String {
        assert_eq!(self.status, 2, "{}{}", self.stdout, self.stderr);
        for part in parts {
            assert!(self.stderr.contains(part), "no \"{part}\" in: {}", self.stderr);
        }
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        self.stderr
    }
}

/// A temporary directory, which is removed at the end of the test.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Scratch {
        // Tests of several modules may choose the same name.
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("schedlab-test-{}-{number}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("temporary files can be written");
        Scratch(path)
    }

    /// Writes a file, and returns its path as an argument.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().expect("a file within the directory"))
            .expect("the directory can be made");
        std::fs::write(&path, content).expect("temporary files can be written");
        path.display().to_string()
    }

    pub fn path(&self) -> String {
        self.0.display().to_string()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
