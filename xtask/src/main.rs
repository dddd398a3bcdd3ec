//! Checks and chores of the repository itself: `cargo xtask COMMAND`.
//!
//! * `tidy` compares the claims of `ARCHITECTURE.md` with the source: the crates that each crate
//!   may use, circles of files, code that is forbidden below the command line, file headers, line
//!   widths, words and phrases out of use, links of the documents. `cargo test` runs the same
//!   checks. Files that are not tidy yet are listed in `xtask/debts.txt`, with the number of
//!   findings, which can only fall. `tidy --write-debts` writes the list.
//! * `build-time` builds from nothing and prints CPU time, wall time and the dearest crates.
//! * `loops PROGRAM` counts the copies of the event loop in a program.
//! * `package` makes the packages, unpacks them elsewhere, and runs README's first example there.
//! * `copies` updates the files that a package needs inside its own directory.
//! * `man --out DIR` and `completions --out DIR` write man pages and shell completions.
//! * `wasm` type-checks all crates below `lab` for a machine without an operating system.
//! * `pictures` draws the pictures of the documents.
//! * `worlds` runs the next random worlds of the million that every release is to pass.
//! * `production` predicts what happened when settings of a real machine were changed, and prints
//!   prediction and measurement side by side.
//! * `mutants` changes the code in small ways and counts the changes that no test notices
//!   (`docs/testing.md`). It is a separate package, in `mutants`.

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
mod production;
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
    /// Path of the file, from the root of the repository.
    pub path: String,
    /// Number of the line, from 1; `0`: the whole file.
    pub line: usize,
    /// Description of the fault, and of what would be right.
    pub message: String,
}

impl Finding {
    /// Creates a fault in a line of a file.
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

/// A check: returns its findings in a repository.
type Check = fn(&Repository) -> Vec<Finding>;

/// All checks of `tidy`, with the names that are printed with their findings.
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
        ["production", ref arguments @ ..] => exit(production::run(arguments)),
        ["worlds", ref arguments @ ..] => exit(worlds::run(arguments)),
        _ => {
            eprintln!(
                "usage: cargo xtask tidy [--write-debts] | build-time [--tests] [-- ...] | \
                 loops PROGRAM | package | copies | man --out DIR | completions --out DIR | wasm | \
                 mutants [...] | worlds [...] | pictures [PROGRAM] | \
                 production [--check] [--program PATH] [--list FILE]"
            );
            ExitCode::from(2)
        }
    }
}

/// Returns the exit status of a check that holds, fails, or cannot be made.
fn exit(result: Result<bool, String>) -> ExitCode {
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("error: {message}");
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

/// Runs all checks and prints their findings.
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
