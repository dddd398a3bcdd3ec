//! `schedlab new-scheduler`: its package compiles, and existing files are not touched.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Makes an empty directory within this clone.
fn directory(name: &str) -> PathBuf {
    let directory = crate::support::root().join("target/tmp").join(name);
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).expect("the directory can be made");
    directory
}

fn schedlab(directory: &PathBuf, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_schedlab"));
    command.args(args).current_dir(directory).output().expect("the program starts")
}

#[test]
fn the_package_that_it_writes_passes_cargo_check() {
    let directory = directory("new-scheduler");
    let done = schedlab(&directory, &["new-scheduler", "my_own"]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let package = directory.join("my_own");
    for file in [
        "Cargo.toml",
        "src/main.rs",
        "src/my_own.rs",
        "src/inspect.rs",
        "src/rules.rs",
        "desktop.json",
    ] {
        assert!(package.join(file).is_file(), "{file}");
    }
    let checked = Command::new(env!("CARGO"))
        .args(["check", "--offline", "--quiet", "--all-targets"])
        .current_dir(&package)
        // The target directory of this build, where clippy has already checked the dependencies.
        .env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join(".."))
        .output()
        .expect("cargo starts");
    let said = String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success() && !said.contains("warning"), "{said}");
    let again = schedlab(&directory, &["new-scheduler", "my_own"]);
    assert_eq!(again.status.code(), Some(2));
    let said = String::from_utf8_lossy(&again.stderr);
    assert!(said.contains("my_own: it already exists"), "{said}");
}

#[test]
fn what_cannot_be_is_refused_and_nothing_is_written() {
    let directory = directory("no-scheduler");
    let cases: [(&[&str], &str); 4] = [
        (&["new-scheduler", "cfs"], "a scheduler of this name"),
        (&["new-scheduler", "My-Own"], "lower-case letters"),
        (&["new-scheduler", "../up"], "lower-case letters"),
        (&["new-scheduler", "mine", "--schedlab", "."], "not a clone of schedlab"),
    ];
    for (args, part) in cases {
        let done = schedlab(&directory, args);
        assert_eq!(done.status.code(), Some(2), "{args:?}");
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(said.contains(part), "{said}");
    }
    assert_eq!(fs::read_dir(&directory).expect("the directory exists").count(), 0);
}
