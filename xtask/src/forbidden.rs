//! Code that is forbidden below the command line, and paths that no file of the repository names.
//!
//! The engine runs in long-lived processes and in browsers: it leaks nothing, has no state outside
//! its values, does not print and does not end the program.

use crate::Finding;
use crate::repository::Repository;
use crate::scan::{self, Part};

/// Code that is in no crate below `cli`, and the reason.
const CODE: [(&str, &str); 15] = [
    ("Box::leak", "a long-running process must not leak"),
    (".leak()", "a long-running process must not leak"),
    ("static mut", "no global state below cli"),
    ("thread_local!", "no global state below cli"),
    ("OnceLock", "no global state below cli"),
    ("OnceCell", "no global state below cli"),
    ("LazyLock", "no global state below cli"),
    ("println!", "nothing below cli prints"),
    ("print!", "nothing below cli prints"),
    ("eprintln!", "nothing below cli prints"),
    ("eprint!", "nothing below cli prints"),
    ("dbg!", "nothing below cli prints"),
    ("process::exit", "nothing below cli ends the program"),
    ("unsafe {", "unsafe code is in crates/host/src/sys alone"),
    ("unsafe fn", "unsafe code is in crates/host/src/sys alone"),
];

/// Exceptions: the beginning of a path, the code that is allowed there, the reason.
const EXCEPTIONS: [(&str, &str, &str); 1] =
    [("crates/host/src/sys/", "unsafe {", "system calls that no library wraps")];

/// Paths of one developer's machine. Written in two pieces, so that this file does not name them.
const PATHS: [&str; 5] = [
    concat!("/ho", "me/"),
    concat!("/Us", "ers/"),
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("../sha", "red/"),
];

/// Finds forbidden code and paths.
pub fn check(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in repository.files() {
        for (i, line) in file.text.lines().enumerate() {
            for path in PATHS.iter().filter(|path| names_path(line, path)) {
                let message = format!("`{path}`: a path of one developer's machine");
                findings.push(Finding::new(&file.path, i + 1, message));
            }
        }
        let below_cli = file.path.starts_with("crates/")
            && file.path.contains("/src/")
            && !file.path.starts_with("crates/cli/");
        if !(file.is("rs") && below_cli) {
            continue;
        }
        let code = scan::only(&file.text, &[Part::Code]);
        for (i, line) in code.lines().enumerate() {
            for (what, why) in CODE {
                let excepted = EXCEPTIONS
                    .iter()
                    .any(|(path, code, _)| file.path.starts_with(path) && *code == what);
                if has_token(line, what) && !excepted {
                    findings.push(Finding::new(&file.path, i + 1, format!("`{what}`: {why}")));
                }
            }
        }
    }
    findings
}

/// Whether `line` has the code `what`, not as the end of a longer name.
fn has_token(line: &str, what: &str) -> bool {
    line.match_indices(what).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !what.starts_with(|c: char| c.is_alphabetic())
            || !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}

/// Whether `line` names something in the directory `path`, not a part of a longer path.
fn names_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "_.-~/".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaks_state_and_output_are_found_in_code_only() {
        let source = "//! println! in a comment\nfn f() { eprintln!(\"a\"); Box::leak(b); }\n\
                      const A: &str = \"static mut\";\nstatic B: OnceLock<u8> = OnceLock::new();\n";
        let repository = Repository::of(&[
            ("crates/lab/src/a.rs", source),
            ("crates/cli/src/a.rs", source),
            ("docs/a.md", concat!("see /ho", "me/me/x and x/ho", "me/y\n")),
        ]);
        let found = check(&repository);
        let places: Vec<_> = found.iter().map(|f| (f.path.as_str(), f.line)).collect();
        let lab = "crates/lab/src/a.rs";
        assert_eq!(places, [(lab, 2), (lab, 2), (lab, 4), ("docs/a.md", 1)], "{found:?}");
    }
}
