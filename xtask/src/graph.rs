//! The graph of crates: the dependencies in each `Cargo.toml`, compared with the table in
//! `ARCHITECTURE.md` and with the principles of the project.
//!
//! The table is read from the document, so the two cannot drift apart. A crate's row must name
//! exactly the crates that it uses.

use crate::Finding;
use crate::repository::Repository;
use std::collections::{BTreeMap, BTreeSet};

/// Document with the table.
const DOCUMENT: &str = "ARCHITECTURE.md";

/// Crates that contain no algorithm: `sched` is not among their direct or indirect dependencies.
const WITHOUT_ALGORITHMS: [&str; 5] = ["machine", "workload", "measure", "bench", "report"];

/// Crates that depend only on crates of this workspace, and use no standard library.
const BARE: [&str; 2] = ["core", "sched"];

/// Names of crates.
type Names = BTreeSet<String>;

/// Dependencies of a crate.
#[derive(Debug, Default, PartialEq, Eq)]
struct Uses {
    /// Crates of the workspace that it is built with.
    crates: Names,
    /// Crates of the workspace that only its tests use.
    tests: Names,
    /// Other crates that it is built with.
    foreign: Names,
    /// Line of the table from which this was read; `0`: read from a manifest.
    line: usize,
}

/// Finds dependencies that are not allowed, and rows of the table that are wrong.
pub fn check(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    let found = manifests(repository);
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

/// Dependencies of the crates under `crates/`, by the name of their directory.
fn manifests(repository: &Repository) -> BTreeMap<String, Uses> {
    let mut crates = BTreeMap::new();
    for file in repository.files() {
        let name = file.path.strip_prefix("crates/").and_then(|p| p.strip_suffix("/Cargo.toml"));
        if let Some(name) = name.filter(|name| !name.contains('/')) {
            let mut uses = uses(&file.text);
            // A crate may name itself to enable features for its tests.
            uses.tests.remove(name);
            crates.insert(name.to_string(), uses);
        }
    }
    crates
}

fn uses(manifest: &str) -> Uses {
    let ours = |names: &[String]| -> Names {
        names.iter().filter_map(|name| own(name)).map(str::to_string).collect()
    };
    let built_with =
        [keys(manifest, "dependencies"), keys(manifest, "build-dependencies")].concat();
    let crates = ours(&built_with);
    let tests = ours(&keys(manifest, "dev-dependencies")).difference(&crates).cloned().collect();
    let foreign = built_with.into_iter().filter(|name| own(name).is_none()).collect();
    Uses { crates, tests, foreign, line: 0 }
}

/// Keys of a table of a manifest: of the lines below `[TABLE]`, and of headers `[TABLE.KEY]`. Not
/// all of TOML is read, so that xtask depends on no crate.
fn keys(manifest: &str, table: &str) -> Vec<String> {
    let mut keys = vec![];
    let mut is_inside = false;
    let mut depth = 0;
    for line in manifest.lines() {
        let line = line.split('#').next().unwrap_or("").trim();
        if depth == 0 && line.starts_with('[') {
            let header = line.trim_matches(['[', ']']);
            is_inside = header == table;
            let key = header.strip_prefix(table).and_then(|rest| rest.strip_prefix('.'));
            keys.extend(key.map(str::to_string));
            continue;
        }
        if let (0, true, Some((key, _))) = (depth, is_inside, line.split_once('=')) {
            let key = key.trim().split('.').next().unwrap_or("").trim_matches('"');
            keys.push(key.to_string());
        }
        // A value may continue in the next lines.
        for c in line.chars() {
            match c {
                '[' | '{' => depth += 1,
                ']' | '}' => depth -= 1,
                _ => {}
            }
        }
    }
    keys
}

/// Returns the directory of a package of this workspace.
fn own(package: &str) -> Option<&str> {
    match package {
        "schedlab" => Some("schedlab"),
        package => package.strip_prefix("schedlab-"),
    }
}

/// Returns the table: the rows below the line whose first cells are `crate`, `uses` and `tests
/// also`.
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

/// Returns the words between backticks.
fn quoted(cell: &str) -> Names {
    cell.split('`').skip(1).step_by(2).map(str::to_string).collect()
}

/// Compares the dependencies with the table.
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

/// Checks the rules that the table cannot change.
fn principles(
    repository: &Repository,
    found: &BTreeMap<String, Uses>,
    findings: &mut Vec<Finding>,
) {
    let mut fault = |name: &str, message: String| {
        findings.push(Finding::new(&manifest(name), 0, message));
    };
    for (name, uses) in found {
        if uses.crates.contains("cli") && name != "schedlab" {
            fault(name, "uses the command line; only the façade `schedlab` may".to_string());
        }
        if BARE.contains(&name.as_str()) {
            if let Some(foreign) = uses.foreign.first() {
                fault(name, format!("uses `{foreign}`; only crates of this workspace are allowed"));
            }
            let root = format!("crates/{name}/src/lib.rs");
            if !repository.text(&root).is_some_and(|text| text.contains("#![no_std]")) {
                fault(name, format!("{root} must be `#![no_std]`"));
            }
        }
        if name == "core" && !uses.crates.is_empty() {
            fault(name, "the lowest crate must use no other crate".to_string());
        }
        let forbidden = WITHOUT_ALGORITHMS.contains(&name.as_str());
        if forbidden && reachable(found, name).contains("sched") {
            fault(name, "is built with `sched`; it must not know the algorithms".to_string());
        }
        if reachable(found, name).contains(name) {
            fault(name, "depends on itself through other crates".to_string());
        }
    }
}

/// Returns all direct and indirect dependencies of `name`.
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
    fn keys_of_a_manifest_are_read_from_its_lines() {
        let manifest = "[package]\nname = \"x\"\n[dependencies]\na = { features = [\n  \"b = c\",\n] }\n\
                        d.workspace = true # e = 1\n[dependencies.f]\nversion = \"1\"\n\
                        [target.'cfg(unix)'.dependencies]\ng = \"1\"\n";
        assert_eq!(keys(manifest, "dependencies"), ["a", "d", "f"]);
    }

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
        assert_eq!(found, ["uses `serde`; only crates of this workspace are allowed"]);
    }

    #[test]
    fn a_crate_without_a_row_and_a_row_without_a_crate_are_found() {
        let found = messages(DOC, &[("core", ""), ("sched", SCHED_TOML), ("other", "")]);
        assert!(found.iter().any(|m| m.contains("`other` has no row")), "{found:?}");
        assert!(found.iter().any(|m| m.contains("no crate `machine`")), "{found:?}");
    }
}
