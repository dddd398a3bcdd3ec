//! Packages as they would be published: `cargo xtask package`.
//!
//! Makes the packages of all crates that are published, unpacks them elsewhere into a separate
//! workspace, in which each finds the others, and runs README's first example with them. What a
//! package lacks (a file outside its directory, a version of a dependency) shows here.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Packages that are not published.
const PRIVATE: [&str; 2] = ["xtask", "schedlab-fuzz"];

/// File that README's first example runs.
const EXAMPLE: &str = "examples/desktop.json";

/// Packages, unpacks, builds and runs.
pub fn run() -> ExitCode {
    match try_run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn try_run() -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
    // cargo removes no package of an earlier version.
    let packages = target.join("package");
    match fs::remove_dir_all(&packages) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(describe(&packages, &error));
        }
        _ => {}
    }
    let mut package = cargo();
    package.args(["package", "--workspace", "--no-verify", "--allow-dirty", "--quiet"]);
    package.args(PRIVATE.iter().flat_map(|name| ["--exclude", name]));
    succeed(package.current_dir(&root))?;

    let elsewhere = std::env::temp_dir().join(format!("schedlab-package-{}", std::process::id()));
    let result = unpack(&packages, &elsewhere).and_then(|count| {
        println!("package: {count} packages, unpacked in {}", elsewhere.display());
        let mut example = cargo();
        example.args(["run", "--quiet", "--package", "schedlab", "--", "run"]);
        let file = root.join(EXAMPLE);
        // A separate directory is used: the repository's has other packages with the same names.
        example.arg(file).current_dir(&elsewhere).env("CARGO_TARGET_DIR", target.join("unpacked"));
        succeed(&mut example)
    });
    let _ = fs::remove_dir_all(&elsewhere);
    result
}

/// Unpacks the packages into a new directory and makes them a workspace. Returns their number.
fn unpack(packages: &Path, into: &Path) -> Result<usize, String> {
    fs::create_dir_all(into).map_err(|error| describe(into, &error))?;
    let entries = fs::read_dir(packages).map_err(|error| describe(packages, &error))?;
    let mut names = vec![];
    for entry in entries {
        let path = entry.map_err(|error| describe(packages, &error))?.path();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if path.extension().is_some_and(|extension| extension == "crate") {
            succeed(Command::new("tar").arg("-xzf").arg(&path).arg("-C").arg(into))?;
            names.push(stem);
        }
    }
    names.sort();
    let manifest = into.join("Cargo.toml");
    fs::write(&manifest, workspace(&names)).map_err(|error| describe(&manifest, &error))?;
    Ok(names.len())
}

/// Returns the manifest of a workspace of the directories `NAME-VERSION`.
fn workspace(directories: &[String]) -> String {
    let mut manifest = "[workspace]\nresolver = \"3\"\nmembers = [\"*\"]\n\n".to_string();
    // Not for speed: it is built once, for a run of milliseconds.
    manifest += "[profile.dev]\nopt-level = 0\ndebug = false\n\n[patch.crates-io]\n";
    for directory in directories {
        let name = directory.rsplit_once('-').map_or(directory.as_str(), |(name, _)| name);
        manifest += &format!("{name} = {{ path = \"{directory}\" }}\n");
    }
    manifest
}

fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Runs a command that must succeed.
fn succeed(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{name}: {status}")),
        Err(error) => Err(format!("{name}: {error}")),
    }
}

fn describe(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unpacked_package_replaces_the_published_one() {
        let manifest = workspace(&["schedlab-0.1.0".into(), "schedlab-core-0.1.0".into()]);
        assert!(manifest.contains("schedlab = { path = \"schedlab-0.1.0\" }\n"), "{manifest}");
        assert!(manifest.contains("schedlab-core = { path = \"schedlab-core-0.1.0\" }\n"));
    }
}
