//! Checks of the repository itself: `cargo xtask tidy`, `cargo xtask wasm`, `cargo xtask mutants`,
//! `cargo xtask worlds`, `cargo xtask pictures`.
//!
//! `tidy` holds the claims of `ARCHITECTURE.md` against the source: which crate may use which, what
//! no crate below the command line does, how files begin, how wide lines are, which words are out
//! of use, and whether the links of the documents lead anywhere. `cargo test` runs the same checks.
//!
//! A file that is not tidy yet stands in `xtask/debts.txt`; one that has become tidy must leave it.
//! `cargo xtask tidy --write-debts` writes that list anew.
//!
//! `wasm` type-checks everything below `lab` for a machine without an operating system.
//!
//! `pictures` draws the pictures that the documents show.
//!
//! `worlds` runs the next random worlds of those that every release shall have been through.
//!
//! `mutants` puts small faults into the code and counts which of them the tests find
//! (`docs/testing.md`). It is a package of its own, in `mutants`.

mod build_time;
mod circles;
mod copies;
mod debts;
mod forbidden;
mod graph;
mod headers;
mod lines;
mod links;
mod loops;
mod man;
mod modules;
mod mutants;
mod package;
mod phrases;
mod pictures;
mod repository;
mod scan;
mod tests_named;
mod wasm;
mod words;
mod worlds;

use repository::Repository;
use std::fmt;
use std::process::ExitCode;

/// One fault: where it is and what is wrong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The file, from the root of the repository.
    pub path: String,
    /// The line, from 1; 0 if the whole file is meant.
    pub line: usize,
    /// What is wrong, and what would be right.
    pub message: String,
}

impl Finding {
    /// A fault in a line of a file.
    pub fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Finding { path: path.to_string(), line, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.message),
            line => write!(f, "{}:{line}: {}", self.path, self.message),
        }
    }
}

/// What a check looks at, and what it finds.
type Check = fn(&Repository) -> Vec<Finding>;

/// All checks of `tidy`, with the name under which their findings are printed.
const CHECKS: [(&str, Check); 10] = [
    ("graph of crates", graph::check),
    ("circles of files", circles::check),
    ("forbidden below the command line", forbidden::check),
    ("file headers", headers::check),
    ("line width", lines::check),
    ("words out of use", words::check),
    ("phrases", phrases::check),
    ("links", links::check),
    ("copies", copies::check),
    ("tests named in docs/testing.md", tests_named::check),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Ok(record) = std::env::var(build_time::RECORD) {
        return build_time::wrap(&record, &arguments);
    }
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tidy"] => tidy(),
        ["tidy", "--write-debts"] => debts::write(&CHECKS),
        ["build-time", ref arguments @ ..] => build_time::run(arguments),
        ["loops", program] => count_loops(program),
        ["copies"] => copies::make(),
        ["package"] => package::run(),
        ["man", "--out", directory] => man::pages(directory),
        ["completions", "--out", directory] => man::completions(directory),
        ["wasm"] => wasm::check(),
        ["mutants", ..] => mutants::run(&arguments[1..]),
        ["pictures"] => pictures::draw(None),
        ["pictures", program] => pictures::draw(Some(program)),
        ["worlds", ref arguments @ ..] => worlds::run(arguments),
        _ => {
            eprintln!(
                "usage: cargo xtask tidy [--write-debts] | wasm | mutants [...] | worlds [...] | \
                 pictures [PROGRAM]"
            );
            ExitCode::from(2)
        }
    }
}

/// Counts the copies of the event loop in a program, and fails if there are too many.
fn count_loops(program: &str) -> ExitCode {
    let bytes = std::fs::read(program).map_err(|error| error.to_string());
    match bytes.and_then(|bytes| loops::copies(&bytes)) {
        Ok(copies) => {
            println!(
                "{copies} copies of the event loop in {program}; at most {}",
                loops::COPIES_MAX
            );
            if copies <= loops::COPIES_MAX { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(message) => {
            eprintln!("error: {program}: {message}");
            ExitCode::from(2)
        }
    }
}

/// Runs all checks and prints what they find.
fn tidy() -> ExitCode {
    match Repository::read() {
        Ok(repository) => {
            let findings = debts::findings(&repository, &CHECKS);
            for finding in &findings {
                println!("{finding}");
            }
            println!("tidy: {} files, {} findings", repository.files().count(), findings.len());
            if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_tidy() {
        let repository = Repository::read().expect("the repository can be read");
        let findings = debts::findings(&repository, &CHECKS);
        assert!(findings.is_empty(), "{}", findings.join("\n"));
    }
}
