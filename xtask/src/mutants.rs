//! Mutation testing: a separate package, because its parser would slow every other check.

use std::path::Path;
use std::process::{Command, ExitCode};

/// Runs the package with these arguments.
pub fn run(arguments: &[String]) -> ExitCode {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mutants/Cargo.toml");
    let status = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--manifest-path"])
        .arg(manifest)
        .arg("--")
        .args(arguments)
        .status();
    match status {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: cargo: {error}");
            ExitCode::from(2)
        }
    }
}
