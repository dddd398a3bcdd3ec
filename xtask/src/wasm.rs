//! Type-checks the crates below `lab` for `wasm32-unknown-unknown`: no threads, no files, no clock.

use std::process::{Command, ExitCode};

const TARGET: &str = "wasm32-unknown-unknown";

/// All crates below `lab`.
const CRATES: [&str; 7] = [
    "schedlab-core",
    "schedlab-sched",
    "schedlab-machine",
    "schedlab-workload",
    "schedlab-measure",
    "schedlab-report",
    "schedlab-bench",
];

/// Runs `cargo check` for the target, which is installed first. If it cannot be installed, the
/// check is skipped, with a message.
pub fn check() -> ExitCode {
    if !is_installed() {
        let added = Command::new("rustup").args(["target", "add", TARGET]).status();
        if !added.is_ok_and(|status| status.success()) || !is_installed() {
            eprintln!(
                "wasm: SKIPPED: the target {TARGET} is not installed and cannot be installed here"
            );
            return ExitCode::SUCCESS;
        }
    }
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["check", "--quiet", "--target", TARGET]);
    // Machine descriptions, but no terminal: `report` without its feature of that name.
    cargo.args(["--no-default-features", "--features", "schedlab-machine/files"]);
    for name in CRATES {
        cargo.args(["--package", name]);
    }
    match cargo.status() {
        Ok(status) if status.success() => {
            println!("wasm: {} crates check for {TARGET}", CRATES.len());
            ExitCode::SUCCESS
        }
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: cargo cannot be run: {error}");
            ExitCode::from(2)
        }
    }
}

/// Whether the current toolchain has the standard library of the target.
fn is_installed() -> bool {
    Command::new("rustc")
        .args(["--print", "target-libdir", "--target", TARGET])
        .output()
        .ok()
        .and_then(|output| String::from_utf8(output.stdout).ok())
        .is_some_and(|path| std::path::Path::new(path.trim()).is_dir())
}
