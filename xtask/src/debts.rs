//! Files that are not tidy yet: `xtask/debts.txt`, a check and a path a line.
//!
//! What a check finds in a file of the list is passed over. A line for which nothing is found any
//! more is a finding itself, so that the list can only become shorter by itself.

use crate::Check;
use crate::repository::Repository;
use std::collections::BTreeSet;
use std::process::ExitCode;

/// The list.
const LIST: &str = "xtask/debts.txt";

/// What stands at its top.
const HEAD: &str = "# Files in which `cargo xtask tidy` still finds something. \
                    A tidy file must leave this list;\n\
                    # `cargo xtask tidy --write-debts` writes it anew.\n";

/// All findings of the checks but those in the list, and lines of the list without a finding.
pub fn findings(repository: &Repository, checks: &[(&str, Check)]) -> Vec<String> {
    let text = repository.text(LIST).unwrap_or("");
    let list: BTreeSet<&str> =
        text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let mut needed = BTreeSet::new();
    let mut findings = Vec::new();
    for (name, check) in checks {
        for finding in check(repository) {
            let debt = format!("{name}: {}", finding.path);
            if !list.contains(debt.as_str()) {
                findings.push(format!("{finding} [{name}]"));
            }
            needed.insert(debt);
        }
    }
    for line in list.into_iter().filter(|line| !needed.contains(*line)) {
        findings.push(format!("{LIST}: `{line}` is paid: take the line out"));
    }
    findings
}

/// Writes the list anew.
pub fn write(checks: &[(&str, Check)]) -> ExitCode {
    let written = Repository::read().and_then(|repository| {
        let mut debts = BTreeSet::new();
        for (name, check) in checks {
            debts.extend(check(&repository).into_iter().map(|f| format!("{name}: {}\n", f.path)));
        }
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../").join(LIST);
        std::fs::write(path, debts.iter().fold(HEAD.to_string(), |text, debt| text + debt))?;
        Ok(debts.len())
    });
    match written {
        Ok(count) => {
            println!("{LIST}: {count} debts");
            ExitCode::SUCCESS
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
    use crate::{headers, lines};

    #[test]
    fn debts_are_passed_over_and_paid_debts_are_found() {
        let repository = Repository::of(&[
            ("crates/a/src/a.rs", "// none"),
            ("crates/a/src/b.rs", "// none"),
            (LIST, "# head\nfile headers: crates/a/src/a.rs\nline width: crates/a/src/a.rs\n"),
        ]);
        let checks: [(&str, Check); 2] =
            [("file headers", headers::check), ("line width", lines::check)];
        let found = findings(&repository, &checks);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("crates/a/src/b.rs:1"), "{found:?}");
        assert!(found[1].contains("`line width: crates/a/src/a.rs` is paid"), "{found:?}");
    }
}
