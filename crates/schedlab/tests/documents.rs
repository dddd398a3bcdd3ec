//! Runs every command that a document shows, as a reader would paste it.
//!
//! A shell runs the commands of `README.md`, `CONTRIBUTING.md` and all files below `docs/`, which
//! are in blocks marked `sh` or `console` (there, after `$ `), line by line, in a temporary
//! directory with the repository's examples, experiments and golden schedules. `schedlab` and
//! `cargo run --release --` are the program under test. A command must end with status 0.
//!
//! A comment on the line before a block makes an exception:
//!
//! | comment | meaning |
//! |---|---|
//! | `<!-- file: NAME -->` | the block is a file, written before the document's commands are run |
//! | `<!-- test: status N -->` | the commands end with status N |
//! | `<!-- test: output -->` | the commands print what the block shows; a line `...` stands for any number of lines |
//! | `<!-- test: output N -->` | the same, with status N |
//! | `<!-- test: slow -->` | run only if `SCHEDLAB_DOCUMENTS=slow`: minutes without optimisation |
//! | `<!-- test: skip REASON -->` | not run |
//!
//! ```sh
//! SCHEDLAB_DOCUMENTS=slow cargo test --release -p schedlab --test documents
//! ```
#![cfg(unix)]

#[path = "documents/blocks.rs"]
mod blocks;

use blocks::{Block, Kind, blocks, first_wrong};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

/// Replacement of `cargo` during the test: `cargo run --release -- ...` runs the program, and with
/// a manifest the real cargo runs, without optimisation.
const CARGO: &str = r#"#!/bin/sh
case "$*" in
"run --release -- "*) shift 3; exec schedlab "$@" ;;
"run --release --manifest-path "*) shift 2; exec "$REAL_CARGO" run --quiet "$@" ;;
"test --manifest-path "*) exec "$REAL_CARGO" "$@" ;;
esac
echo "this test cannot run: cargo $*" >&2
exit 99
"#;

/// Directories that the documents' commands read.
const LENT: [&str; 4] = ["crates", "examples", "tests", "Cargo.toml"];

/// Returns the repository's root.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("there is a root")
}

#[test]
fn every_command_of_the_documents_works() {
    let root = root();
    let mut documents: Vec<PathBuf> = ["README.md", "CONTRIBUTING.md"].map(PathBuf::from).into();
    find_documents(&root, Path::new("docs"), &mut documents);
    assert!(documents.len() > 10, "the documents were not found");

    let failures = Mutex::new(Vec::new());
    let ran = Mutex::new(0);
    let waiting = Mutex::new(documents);
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let Some(document) = waiting.lock().unwrap().pop() else { break };
                    let (count, failed) = run_document(&root, &document);
                    *ran.lock().unwrap() += count;
                    failures.lock().unwrap().extend(failed);
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    let ran = ran.into_inner().unwrap();
    assert!(ran > 40, "only {ran} commands were found");
}

/// Collects all documents below `at`.
fn find_documents(root: &Path, at: &Path, documents: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(root.join(at)).expect("documents can be listed") {
        let entry = entry.expect("documents can be listed");
        let path = at.join(entry.file_name());
        if entry.path().is_dir() {
            find_documents(root, &path, documents);
        } else if path.extension().is_some_and(|ending| ending == "md") {
            documents.push(path);
        }
    }
}

/// Runs the commands of one document, and returns their number and the failures.
fn run_document(root: &Path, document: &Path) -> (usize, Vec<String>) {
    let text = fs::read_to_string(root.join(document)).expect("the document can be read");
    let name = document.display();
    let blocks = match blocks(&text) {
        Ok(blocks) => blocks,
        Err((line, message)) => return (0, vec![format!("{name}:{line}: {message}")]),
    };
    let place = Place::new(root, &document.to_string_lossy().replace(['/', '.'], "-"));
    for block in &blocks {
        if let Kind::File(file) = &block.kind {
            fs::write(place.work.join(file), &block.text).expect("a file can be written");
        }
    }
    let slow = std::env::var("SCHEDLAB_DOCUMENTS").is_ok_and(|value| value == "slow");
    let mut count = 0;
    let mut failures = Vec::new();
    for block in &blocks {
        let (status, is_checked) = match block.kind {
            Kind::Commands { status, slow: false, output } => (status, output),
            Kind::Commands { status, slow: true, output } if slow => (status, output),
            _ => continue,
        };
        for (line, command) in block.commands() {
            count += 1;
            match place.run(&command, status) {
                Err(what) => failures.push(format!("{name}:{line}: {command}\n{what}")),
                Ok(output) if is_checked => {
                    if let Some(wrong) = first_wrong(&block.shown(line), &output) {
                        failures.push(format!(
                            "{name}:{line}: {command}\ndoes not print: {wrong}\nbut:\n{output}"
                        ));
                    }
                }
                Ok(_) => {}
            }
        }
    }
    (count, failures)
}

/// Temporary directory in which the commands of one document run. It is removed when dropped.
struct Place {
    /// Temporary directory.
    top: PathBuf,
    /// Directory in which the commands run.
    work: PathBuf,
    /// Value of `PATH`.
    path: std::ffi::OsString,
    /// Target directory of the real cargo.
    target: PathBuf,
}

impl Place {
    fn new(root: &Path, name: &str) -> Self {
        let id = std::process::id();
        let top = std::env::temp_dir().join(format!("schedlab-documents-{id}-{name}"));
        let (work, bin) = (top.join("work"), top.join("bin"));
        fs::create_dir_all(&work).expect("a directory can be made");
        fs::create_dir_all(&bin).expect("a directory can be made");
        for lent in LENT {
            symlink(root.join(lent), work.join(lent)).expect("a link can be made");
        }
        symlink(env!("CARGO_BIN_EXE_schedlab"), bin.join("schedlab")).expect("a link can be made");
        let cargo = bin.join("cargo");
        fs::write(&cargo, CARGO).expect("a file can be written");
        fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755))
            .expect("permissions can be set");
        let old = std::env::var_os("PATH").unwrap_or_default();
        let dirs = std::iter::once(bin).chain(std::env::split_paths(&old));
        let path = std::env::join_paths(dirs).expect("PATH can be extended");
        Place { top, work, path, target: root.join("target") }
    }

    /// Runs one line, and returns what it prints, or an error if its status is not `wanted`.
    fn run(&self, command: &str, wanted: i32) -> Result<String, String> {
        let real = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new("sh")
            .args(["-c", command])
            .current_dir(&self.work)
            .env("PATH", &self.path)
            .env("REAL_CARGO", real)
            .env("CARGO_TARGET_DIR", &self.target)
            .env("TMPDIR", &self.top)
            .stdin(Stdio::null())
            .output()
            .expect("a shell");
        let errors = String::from_utf8_lossy(&output.stderr);
        match output.status.code() {
            Some(status) if status == wanted => {
                Ok(String::from_utf8_lossy(&output.stdout).into_owned())
            }
            Some(status) => Err(format!("status {status}, not {wanted}\n{errors}")),
            None => Err(format!("it was killed\n{errors}")),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.top);
    }
}

/// A test of this test: a failing command is found, with its document and line.
#[test]
fn a_command_that_fails_is_found() {
    let top = std::env::temp_dir().join(format!("schedlab-documents-{}", std::process::id()));
    fs::create_dir_all(&top).expect("a directory can be made");
    for lent in LENT {
        let _ = symlink(root().join(lent), top.join(lent));
    }
    let text = "<!-- file: w.json -->\n```json\n{\"tasks\": {\"a\": {\"loop\": 1, \"run\": 5}}}\n```\n\n\
                ```sh\nschedlab run w.json --scheduler cfs   # works\nschedlab run none.json\n```\n\
                <!-- test: status 2 -->\n```console\n$ schedlab run none.json\noutput\n```\n";
    fs::write(top.join("a.md"), text).expect("a file can be written");
    let (count, failures) = run_document(&top, Path::new("a.md"));
    let _ = fs::remove_dir_all(&top);
    assert_eq!(count, 3);
    assert_eq!(failures.len(), 1, "{failures:?}");
    assert!(failures[0].starts_with("a.md:8: schedlab run none.json"), "{failures:?}");
}

/// Output that a block shows is compared with what its command prints.
#[test]
fn output_that_is_not_printed_is_found() {
    let shown =
        blocks("<!-- test: output -->\n```console\n$ a \\\n  b\none\n...\nfour\n$ c\n```\n");
    let shown = shown.expect("good");
    assert_eq!(shown[0].shown(3), ["one", "...", "four"]);
    assert_eq!(shown[0].shown(8), [""; 0]);
    let wrong = |output| first_wrong(&shown[0].shown(3), output);
    assert_eq!(wrong("one\ntwo\nthree\nfour\nfive\n"), None);
    assert_eq!(wrong("one\nfour\n"), None);
    assert_eq!(wrong("zero\none\nfour\n"), Some("one"));
    assert_eq!(wrong("one\ntwo\n"), Some("four"));
    assert_eq!(first_wrong(&["one", "two"], "one\nthree\ntwo\n"), Some("two"));
}

/// Marks of blocks are checked without running them.
#[test]
fn marks_that_nobody_knows_are_errors() {
    let fault = |text: &str| blocks(text).expect_err("a fault").0;
    assert_eq!(fault("\n<!-- test: slwo -->\n```sh\na\n```\n"), 2);
    assert_eq!(fault("<!-- test: slow -->\n\ntext\n"), 1);
    assert_eq!(fault("<!-- test: skip -->\n```sh\na\n```\n"), 1);
    assert_eq!(fault("```sh\nnever closed\n"), 1);
    let kept = blocks("```sh\na \\\n  b\n# c\n\nd\n```\n").expect("good");
    let commands: Vec<_> = kept.iter().flat_map(Block::commands).collect();
    assert_eq!(commands, [(2, "a \\\n  b".to_string()), (6, "d".to_string())]);
}
