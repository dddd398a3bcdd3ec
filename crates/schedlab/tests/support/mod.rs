//! Runs the program as a user would.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The repository's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("there is a root")
}

/// What came of a command.
pub struct Ran {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

/// The program with `args`, in the repository's root.
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
pub fn schedlab(args: &[&str]) -> Ran {
    ran(command(args).output().expect("the program starts"))
}

/// What came of it.
pub fn ran(output: Output) -> Ran {
    Ran {
        status: output.status.code().expect("it was not killed"),
        stdout: String::from_utf8(output.stdout).expect("it prints text"),
        stderr: String::from_utf8(output.stderr).expect("it prints text"),
    }
}

impl Ran {
    /// Must have gone well.
    #[track_caller]
    pub fn good(self) -> String {
        assert_eq!(self.status, 0, "{}", self.stderr);
        self.stdout
    }

    /// Must have failed with exit status 2 and a message that has all of `parts`, and without a
    /// panic.
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

/// A directory that is gone when the test is over.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Scratch {
        let path =
            std::env::temp_dir().join(format!("schedlab-test-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("there is room for temporary files");
        Scratch(path)
    }

    /// Writes a file; its path as an argument.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().expect("it is in the directory"))
            .expect("it can be made");
        std::fs::write(&path, content).expect("there is room for temporary files");
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
