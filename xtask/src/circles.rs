//! Circles of files: files of a crate that use each other in a loop.
//!
//! A circle is allowed if the table of `ARCHITECTURE.md` under "Circles of files" has a row with
//! its files and a reason. There may be few such rows, and none without a circle.

use crate::Finding;
use crate::modules::{self, Edges};
use crate::repository::Repository;
use std::collections::{BTreeMap, BTreeSet};

/// Document with the table.
const DOCUMENT: &str = "ARCHITECTURE.md";

/// Maximum number of rows.
const ROWS_MAX: usize = 3;

/// Maximum number of names in a message about one use.
const NAMES_SHOWN: usize = 6;

/// A set of files.
type Files = BTreeSet<String>;

/// Finds circles without a row in the table, and rows without a circle.
pub fn check(repository: &Repository) -> Vec<Finding> {
    let rows = repository.text(DOCUMENT).map(table).unwrap_or_default();
    let mut findings = Vec::new();
    let mut found = BTreeSet::new();
    for edges in crates(repository).values() {
        for circle in circles(edges) {
            if !rows.iter().any(|row| row.files == circle) {
                findings.push(Finding::new(first(&circle), 0, describe(&circle, edges)));
            }
            found.insert(circle);
        }
    }
    for row in &rows {
        let message = if !found.contains(&row.files) {
            "these files are no circle: remove the row"
        } else if row.reason.is_empty() {
            "a circle needs a reason"
        } else {
            continue;
        };
        findings.push(Finding::new(DOCUMENT, row.line, message));
    }
    if let Some(row) = rows.get(ROWS_MAX) {
        let message = format!("{} circles are allowed; at most {ROWS_MAX} may be", rows.len());
        findings.push(Finding::new(DOCUMENT, row.line, message));
    }
    findings
}

/// Uses among the files of each crate, by the crate's directory.
fn crates(repository: &Repository) -> BTreeMap<String, Edges> {
    let mut crates: BTreeMap<String, Edges> = BTreeMap::new();
    for file in repository.files().filter(|file| file.is("rs")) {
        let Some((directory, name)) = file.path.rsplit_once('/') else { continue };
        let package = match directory.rsplit_once('/') {
            Some((package, "src" | "native" | "fuzz_targets")) => package,
            Some((source, "bin")) if source.ends_with("/src") => &source[..source.len() - 4],
            _ => continue,
        };
        let is_root = ["lib.rs", "main.rs"].contains(&name)
            || directory.ends_with("/src/bin")
            || directory.ends_with("/fuzz_targets");
        if is_root {
            let edges = crates.entry(package.to_string()).or_default();
            modules::add_edges(repository, &file.path, edges);
        }
    }
    crates
}

fn first(circle: &Files) -> &str {
    circle.first().map_or("", String::as_str)
}

/// Names the files of a circle and the uses that tie a shortest loop through the first of them.
fn describe(circle: &Files, edges: &Edges) -> String {
    let places = ["/src/", "/native/"].map(|place| first(circle).split_once(place));
    let inside = places.into_iter().flatten().next().map_or(0, |(_, inside)| inside.len());
    let directory = &first(circle)[..first(circle).len() - inside];
    let short = |path: &str| path.strip_prefix(directory).unwrap_or(path).to_string();
    let files: Vec<String> = circle.iter().map(|path| short(path)).collect();
    let mut message = format!("a circle of {} files: {}", files.len(), files.join(", "));
    for (from, to) in loop_through(first(circle), circle, edges) {
        let names = &edges[&(from.to_string(), to.to_string())];
        let names: Vec<&str> = names.iter().map(String::as_str).take(NAMES_SHOWN).collect();
        message.push_str(&format!("\n  {} -> {}: {}", short(from), short(to), names.join(", ")));
    }
    message
}

/// Returns a shortest loop from `start` back to it within `circle`.
fn loop_through<'a>(start: &'a str, circle: &Files, edges: &'a Edges) -> Vec<(&'a str, &'a str)> {
    let mut before: BTreeMap<&str, &str> = BTreeMap::new();
    let mut open = std::collections::VecDeque::from([start]);
    while let Some(at) = open.pop_front() {
        for (from, to) in edges.keys().filter(|(from, to)| from == at && circle.contains(to)) {
            if before.contains_key(to.as_str()) {
                continue;
            }
            before.insert(to, from);
            if to == start {
                let mut steps = vec![(from.as_str(), to.as_str())];
                while steps[0].0 != start {
                    let (at, _) = steps[0];
                    steps.insert(0, (before[at], at));
                }
                return steps;
            }
            open.push_back(to);
        }
    }
    vec![]
}

/// Returns the strongly connected components with more than one file.
fn circles(edges: &Edges) -> BTreeSet<Files> {
    let mut uses: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (from, to) in edges.keys() {
        uses.entry(from).or_default().push(to);
    }
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        uses.keys().map(|from| (*from, reachable(from, &uses))).collect();
    let circle = |(from, to): (&&str, &BTreeSet<&str>)| -> Option<Files> {
        let back = |file: &&&str| reached.get(**file).is_some_and(|back| back.contains(from));
        to.contains(from).then(|| to.iter().filter(back).map(ToString::to_string).collect())
    };
    reached.iter().filter_map(circle).collect()
}

fn reachable<'a>(from: &str, uses: &BTreeMap<&str, Vec<&'a str>>) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&str> = vec![from];
    while let Some(at) = open.pop() {
        for to in uses.get(at).into_iter().flatten() {
            if reached.insert(*to) {
                open.push(to);
            }
        }
    }
    reached
}

/// A row of the table.
#[derive(Debug)]
struct Row {
    files: Files,
    reason: String,
    line: usize,
}

/// Returns the rows under the line whose cells are `files` and `reason`.
fn table(document: &str) -> Vec<Row> {
    let mut rows = vec![];
    let mut is_inside = false;
    for (i, line) in document.lines().enumerate() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        match cells[..] {
            ["", "files", "reason", ""] => is_inside = true,
            ["", files, reason, ""] if is_inside => {
                let files: Files =
                    files.split('`').skip(1).step_by(2).map(str::to_string).collect();
                if !files.is_empty() {
                    rows.push(Row { files, reason: reason.to_string(), line: i + 1 });
                }
            }
            _ => is_inside = false,
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIB: (&str, &str) = ("crates/x/src/lib.rs", "mod a;\nmod b;\nmod c;\n");
    const A: (&str, &str) = ("crates/x/src/a.rs", "use crate::b::B;\npub struct A;\n");
    const B: (&str, &str) = ("crates/x/src/b.rs", "use crate::c::C;\npub struct B;\n");
    const C: (&str, &str) = ("crates/x/src/c.rs", "use crate::a::A;\npub struct C;\n");

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        check(&Repository::of(files)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_circle_is_found_with_the_names_that_tie_it() {
        let expected = "crates/x/src/a.rs: a circle of 3 files: a.rs, b.rs, c.rs\n  \
                        a.rs -> b.rs: B\n  b.rs -> c.rs: C\n  c.rs -> a.rs: A";
        assert_eq!(found(&[LIB, A, B, C]), [expected]);
        assert_eq!(found(&[LIB, A, B, ("crates/x/src/c.rs", "pub struct C;")]).len(), 0);
    }

    #[test]
    fn a_circle_with_a_reason_passes_and_a_row_without_a_circle_does_not() {
        let row = "| files | reason |\n|---|---|\n\
                   | `crates/x/src/a.rs`, `crates/x/src/b.rs`, `crates/x/src/c.rs` | why |\n";
        assert_eq!(found(&[LIB, A, B, C, (DOCUMENT, row)]).len(), 0);
        let rows = format!("{row}| `crates/x/src/a.rs`, `crates/x/src/b.rs` | why |\n");
        let messages = found(&[LIB, A, B, C, (DOCUMENT, &rows)]);
        assert_eq!(messages, ["ARCHITECTURE.md:4: these files are no circle: remove the row"]);
        let row = row.replace("why", "");
        let messages = found(&[LIB, A, B, C, (DOCUMENT, &row)]);
        assert_eq!(messages, ["ARCHITECTURE.md:3: a circle needs a reason"]);
    }

    #[test]
    fn circles_apart_are_two() {
        let edge = |a: &str, b: &str| ((a.to_string(), b.to_string()), BTreeSet::new());
        let edges = Edges::from([
            edge("a", "b"),
            edge("b", "a"),
            edge("b", "c"),
            edge("c", "d"),
            edge("d", "e"),
            edge("e", "c"),
            edge("e", "f"),
        ]);
        let found: Vec<Vec<String>> =
            circles(&edges).into_iter().map(|files| files.into_iter().collect()).collect();
        assert_eq!(found, [vec!["a", "b"], vec!["c", "d", "e"]]);
    }
}
