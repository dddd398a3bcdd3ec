//! Files that are not tidy yet: `xtask/debts.txt`, one line `check: path: count` for each.
//!
//! The findings of a check in a listed file are passed over if there are no more of them than its
//! count. A count that is too high is a finding itself, so that the list can only shrink.

use crate::repository::Repository;
use crate::{Check, Finding};
use std::collections::BTreeMap;
use std::process::ExitCode;

/// Path of the list.
const LIST: &str = "xtask/debts.txt";

/// Comment at the top of the list.
const HEAD: &str = "# Files in which `cargo xtask tidy` still finds something, and how often. \
                    Counts only fall;\n\
                    # `cargo xtask tidy --write-debts` writes the list again.\n";

/// Findings by check and path, as the beginning of a line in the list: `check: path`.
type ByFile = BTreeMap<String, Vec<Finding>>;

/// Returns all findings that the list does not cover, and lines of the list whose count is too
/// high.
pub fn findings(repository: &Repository, checks: &[(&str, Check)]) -> Vec<String> {
    let mut counts = BTreeMap::new();
    let mut findings = Vec::new();
    for line in repository.text(LIST).unwrap_or("").lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match line.rsplit_once(": ").map(|(debt, count)| (debt, count.parse::<usize>())) {
            Some((debt, Ok(count))) => {
                counts.insert(debt, count);
            }
            _ => findings.push(format!("{LIST}: `{line}` is not `check: path: count`")),
        }
    }
    let by_file = by_file(repository, checks);
    for (debt, found) in &by_file {
        let allowed = counts.get(debt.as_str()).copied().unwrap_or(0);
        let (check, _) = debt.split_once(": ").expect("a debt names its check first");
        if found.len() > allowed {
            findings.extend(found.iter().map(|finding| format!("{finding} [{check}]")));
            if allowed > 0 {
                findings.push(format!("{LIST}: `{debt}`: {} found, {allowed} listed", found.len()));
            }
        }
    }
    for (debt, count) in counts {
        let found = by_file.get(debt).map_or(0, Vec::len);
        if found == 0 {
            findings.push(format!("{LIST}: `{debt}` is paid: remove the line"));
        } else if found < count {
            findings.push(format!("{LIST}: `{debt}`: {found} found, {count} listed: lower it"));
        }
    }
    findings
}

/// Returns the findings of all checks.
fn by_file(repository: &Repository, checks: &[(&str, Check)]) -> ByFile {
    let mut by_file = ByFile::new();
    for (name, check) in checks {
        for finding in check(repository) {
            by_file.entry(format!("{name}: {}", finding.path)).or_default().push(finding);
        }
    }
    by_file
}

/// Writes the list for the repository as it is.
pub fn write(checks: &[(&str, Check)]) -> ExitCode {
    let written = Repository::read().and_then(|repository| {
        let by_file = by_file(&repository, checks);
        let line = |(debt, found): (&String, &Vec<Finding>)| format!("{debt}: {}\n", found.len());
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../").join(LIST);
        std::fs::write(path, HEAD.to_string() + &by_file.iter().map(line).collect::<String>())?;
        Ok((by_file.len(), by_file.values().map(Vec::len).sum::<usize>()))
    });
    match written {
        Ok((files, findings)) => {
            println!("{LIST}: {findings} findings in {files} lines");
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

    const CHECKS: [(&str, Check); 2] =
        [("file headers", headers::check), ("line width", lines::check)];

    #[test]
    fn debts_are_passed_over_and_paid_debts_are_found() {
        let repository = Repository::of(&[
            ("crates/a/src/a.rs", "// none"),
            ("crates/a/src/b.rs", "// none"),
            (
                LIST,
                "# head\nfile headers: crates/a/src/a.rs: 1\nline width: crates/a/src/a.rs: 1\n",
            ),
        ]);
        let found = findings(&repository, &CHECKS);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("crates/a/src/b.rs:1"), "{found:?}");
        assert!(found[1].contains("`line width: crates/a/src/a.rs` is paid"), "{found:?}");
    }

    #[test]
    fn a_count_is_neither_too_low_nor_too_high() {
        let wide = format!("//! {0}\n//! {0}\n", "x".repeat(100));
        let found = |count: &str| {
            let list = format!("line width: a.rs: {count}\n");
            findings(&Repository::of(&[("a.rs", &wide), (LIST, &list)]), &CHECKS)
        };
        assert_eq!(found("2").len(), 0);
        assert_eq!(found("1").len(), 3);
        assert_eq!(
            found("3"),
            ["xtask/debts.txt: `line width: a.rs`: 2 found, 3 listed: lower it"]
        );
        assert!(found("many")[0].contains("is not `check: path: count`"));
    }
}
