//! Tests that `docs/testing.md` names for the rules that they check: all of them exist.
//!
//! A name in backticks is a file if it ends in `.rs` (below `crates`), and a test if it consists of
//! words with `_` between them. (The test that replays the golden files checks their names.)

use crate::Finding;
use crate::repository::Repository;

const PAGE: &str = "docs/testing.md";

/// Finds names of files and tests that do not exist.
pub fn check(repository: &Repository) -> Vec<Finding> {
    let Some(page) = repository.files().find(|file| file.path == PAGE) else {
        return vec![];
    };
    let mut findings = vec![];
    for (number, line) in page.text.lines().enumerate() {
        for name in line.split('`').skip(1).step_by(2) {
            let is_there = if name.ends_with(".rs") && name.contains('/') {
                let path = format!("crates/{name}");
                repository.files().any(|file| file.path == name || file.path == path)
            } else if is_test(name) {
                let definition = format!("fn {name}(");
                repository.files().any(|file| file.is("rs") && file.text.contains(&definition))
            } else {
                true
            };
            if !is_there {
                let message = format!("`{name}` does not exist");
                findings.push(Finding::new(PAGE, number + 1, message));
            }
        }
    }
    findings
}

/// Whether a name has the form of a test's name.
fn is_test(name: &str) -> bool {
    let small = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    name.chars().all(small) && name.matches('_').count() >= 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_found() {
        let repository = Repository::of(&[
            (PAGE, "| `a/src/a.rs`: `one_and_one` | `b/src/b.rs` `one_and_two` `o_1` |\n"),
            ("crates/a/src/a.rs", "//! A.\nfn one_and_one() {}\n"),
        ]);
        let found: Vec<String> = check(&repository).iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("b/src/b.rs") && found[1].contains("one_and_two"));
    }
}
