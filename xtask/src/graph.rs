//! The graph of crates: what each crate's `Cargo.toml` names, held against the table in
//! `ARCHITECTURE.md` and against what the project rests on.
//!
//! The table is read from the document, so that the two cannot drift apart. A crate's row must name
//! exactly the crates that it uses.

use crate::Finding;
use crate::repository::Repository;
use std::collections::{BTreeMap, BTreeSet};

/// The document with the table.
const DOCUMENT: &str = "ARCHITECTURE.md";

/// Crates that know no algorithm: there is no way from them to `sched`.
const WITHOUT_ALGORITHMS: [&str; 5] = ["machine", "workload", "measure", "bench", "report"];

/// Crates that stand on nothing but crates of this workspace, and have no standard library.
const BARE: [&str; 2] = ["core", "sched"];

/// Names of crates.
type Names = BTreeSet<String>;

/// What a crate uses.
#[derive(Debug, Default, PartialEq, Eq)]
struct Uses {
    /// Crates of the workspace that it is built with.
    crates: Names,
    /// Crates of the workspace that only its tests use.
    tests: Names,
    /// Crates from elsewhere that it is built with.
    foreign: Names,
    /// The line of the table it was read from, if it was.
    line: usize,
}

/// Finds crates that use what they must not.
pub fn check(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    let found = manifests(repository, &mut findings);
    let Some(document) = repository.text(DOCUMENT) else {
        findings.push(Finding::new(DOCUMENT, 0, "there is no such file"));
        return findings;
    };
    let allowed = table(document);
    compare(&found, &allowed, &mut findings);
    principles(repository, &found, &mut findings);
    findings
}

fn manifest(name: &str) -> String {
    format!("crates/{name}/Cargo.toml")
}

/// What the crates under `crates/` use, by the name of their directory.
fn manifests(repository: &Repository, findings: &mut Vec<Finding>) -> BTreeMap<String, Uses> {
    let mut crates = BTreeMap::new();
    for file in repository.files() {
        let name = file.path.strip_prefix("crates/").and_then(|p| p.strip_suffix("/Cargo.toml"));
        let Some(name) = name else { continue };
        match file.text.parse::<toml::Table>() {
            Ok(manifest) => {
                let mut uses = uses(&manifest);
                // A crate may name itself to enable features for its tests.
                uses.tests.remove(name);
                crates.insert(name.to_string(), uses);
            }
            Err(error) => findings.push(Finding::new(&file.path, 0, error.message())),
        }
    }
    crates
}

fn uses(manifest: &toml::Table) -> Uses {
    let names = |key: &str| -> Vec<String> {
        let table = manifest.get(key).and_then(toml::Value::as_table);
        table.into_iter().flat_map(|table| table.keys().cloned()).collect()
    };
    let ours = |names: &[String]| -> Names {
        names.iter().filter_map(|name| own(name)).map(str::to_string).collect()
    };
    let built_with = [names("dependencies"), names("build-dependencies")].concat();
    let crates = ours(&built_with);
    let tests = ours(&names("dev-dependencies")).difference(&crates).cloned().collect();
    let foreign = built_with.into_iter().filter(|name| own(name).is_none()).collect();
    Uses { crates, tests, foreign, line: 0 }
}

/// The directory of a package of this workspace; the program's is `cli`.
fn own(package: &str) -> Option<&str> {
    match package {
        "schedlab" => Some("cli"),
        package => package.strip_prefix("schedlab-"),
    }
}

/// The table: the rows behind the line whose first cells are `crate`, `uses` and `tests also`.
fn table(document: &str) -> BTreeMap<String, Uses> {
    let mut rows = BTreeMap::new();
    let mut inside = false;
    for (i, line) in document.lines().enumerate() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if !line.starts_with('|') {
            inside = false;
        } else if cells.get(1..4) == Some(&["crate", "uses", "tests also"]) {
            inside = true;
        } else if let (true, [_, name, crates, tests, ..]) = (inside, &cells[..])
            && let Some(name) = quoted(name).into_iter().next()
        {
            let (crates, tests) = (quoted(crates), quoted(tests));
            let foreign = Names::new();
            rows.insert(name, Uses { crates, tests, foreign, line: i + 1 });
        }
    }
    rows
}

/// What stands between backticks.
fn quoted(cell: &str) -> Names {
    cell.split('`').skip(1).step_by(2).map(str::to_string).collect()
}

/// Holds what is used against the table.
fn compare(
    found: &BTreeMap<String, Uses>,
    allowed: &BTreeMap<String, Uses>,
    findings: &mut Vec<Finding>,
) {
    for (name, uses) in found {
        let Some(row) = allowed.get(name) else {
            let message = format!("`{name}` has no row in the table of {DOCUMENT}");
            findings.push(Finding::new(&manifest(name), 0, message));
            continue;
        };
        let kinds = [("uses", &uses.crates, &row.crates), ("tests use", &uses.tests, &row.tests)];
        for (kind, is, may) in kinds {
            for extra in is.difference(may) {
                let message = format!("{kind} `{extra}`, which the table of {DOCUMENT} forbids");
                findings.push(Finding::new(&manifest(name), 0, message));
            }
            for missing in may.difference(is) {
                let message =
                    format!("`{name}` no longer {kind} `{missing}`: take it from the row");
                findings.push(Finding::new(DOCUMENT, row.line, message));
            }
        }
    }
    for (name, row) in allowed.iter().filter(|(name, _)| !found.contains_key(*name)) {
        findings.push(Finding::new(DOCUMENT, row.line, format!("there is no crate `{name}`")));
    }
}

/// What holds whatever the table says.
fn principles(
    repository: &Repository,
    found: &BTreeMap<String, Uses>,
    findings: &mut Vec<Finding>,
) {
    let mut fault = |name: &str, message: String| {
        findings.push(Finding::new(&manifest(name), 0, message));
    };
    for (name, uses) in found {
        if uses.crates.contains("cli") {
            fault(name, "uses the command line; nobody may".to_string());
        }
        if BARE.contains(&name.as_str()) {
            if let Some(foreign) = uses.foreign.first() {
                fault(name, format!("uses `{foreign}`; it must stand on nothing from elsewhere"));
            }
            let root = format!("crates/{name}/src/lib.rs");
            if !repository.text(&root).is_some_and(|text| text.contains("#![no_std]")) {
                fault(name, format!("{root} must be `#![no_std]`"));
            }
        }
        if name == "core" && !uses.crates.is_empty() {
            fault(name, "the ground floor must use no other crate".to_string());
        }
        let forbidden = WITHOUT_ALGORITHMS.contains(&name.as_str());
        if forbidden && reachable(found, name).contains("sched") {
            fault(name, "is built with `sched`; it must not know the algorithms".to_string());
        }
        if reachable(found, name).contains(name) {
            fault(name, "uses itself by way of others".to_string());
        }
    }
}

/// All crates that `name` is built with, directly or not.
fn reachable(found: &BTreeMap<String, Uses>, name: &str) -> Names {
    let mut reached = Names::new();
    let mut open = vec![name.to_string()];
    while let Some(name) = open.pop() {
        for used in found.get(&name).iter().flat_map(|uses| &uses.crates) {
            if reached.insert(used.clone()) {
                open.push(used.clone());
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    const CORE: (&str, &str) = ("crates/core/src/lib.rs", "#![no_std]");
    const SCHED: (&str, &str) = ("crates/sched/src/lib.rs", "#![no_std]");

    fn messages(document: &str, manifests: &[(&str, &str)]) -> Vec<String> {
        let manifests: Vec<(String, &str)> =
            manifests.iter().map(|(name, text)| (manifest(name), *text)).collect();
        let mut files = vec![CORE, SCHED, (DOCUMENT, document)];
        files.extend(manifests.iter().map(|(path, text)| (path.as_str(), *text)));
        check(&Repository::of(&files)).into_iter().map(|finding| finding.message).collect()
    }

    const DOC: &str = "| crate | uses | tests also | x |\n|---|---|---|---|\n| `core` | | | |\n\
                       | `sched` | `core` | | |\n| `machine` | `core` | `sched` | |\n\nafter\n";
    const SCHED_TOML: &str = "[dependencies]\nschedlab-core = { path = \"\" }\n";

    #[test]
    fn a_graph_as_in_the_table_passes() {
        let machine = "[dependencies]\nschedlab-core = {}\nserde = \"1\"\n\
                       [dev-dependencies]\nschedlab-sched = {}\n";
        let found = messages(DOC, &[("core", ""), ("sched", SCHED_TOML), ("machine", machine)]);
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn what_the_table_does_not_allow_is_found() {
        let machine = "[dependencies]\nschedlab-core = {}\nschedlab-sched = {}\n";
        let found = messages(DOC, &[("core", ""), ("sched", SCHED_TOML), ("machine", machine)]);
        assert!(found.iter().any(|m| m.contains("uses `sched`")), "{found:?}");
        assert!(found.iter().any(|m| m.contains("must not know the algorithms")), "{found:?}");
        assert!(found.iter().any(|m| m.contains("no longer tests use `sched`")), "{found:?}");
    }

    #[test]
    fn the_ground_floor_stands_on_nothing() {
        let core = "[dependencies]\nserde = \"1\"\n";
        let machine =
            "[dependencies]\nschedlab-core = {}\n[dev-dependencies]\nschedlab-sched = {}\n";
        let found = messages(DOC, &[("core", core), ("sched", SCHED_TOML), ("machine", machine)]);
        assert_eq!(found, ["uses `serde`; it must stand on nothing from elsewhere"]);
    }

    #[test]
    fn a_crate_without_a_row_and_a_row_without_a_crate_are_found() {
        let found = messages(DOC, &[("core", ""), ("sched", SCHED_TOML), ("other", "")]);
        assert!(found.iter().any(|m| m.contains("`other` has no row")), "{found:?}");
        assert!(found.iter().any(|m| m.contains("no crate `machine`")), "{found:?}");
    }
}
